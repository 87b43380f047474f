/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * remote_frees: frees of another thread's memory, without the lock of its arena.
 *
 * `starts` has a byte for each chunk: the arena of the live region that starts there. Each arena has a
 * mailbox. A thread that frees memory of another arena takes the byte, posts the chunk, and is done. The
 * arena empties its mailbox from time to time:
 *
 *     thread of arena 0                        thread of arena 1
 *
 *     alloc    starts[7] = arena 0
 *                                              free     starts[7]: arena 0 -> posted
 *                                                       mailbox of arena 0 <- 7, what it waits for
 *     alloc    mailbox -> 7
 *              starts[7] = nobody's
 *              free in the index
 *
 * If two threads free the same region, one gets the byte. So a bad free is detected in the call that makes
 * it, as under the lock. The mailbox is a ring of places. Each says whether the poster or the taker is next,
 * after D. Vyukov, "Bounded MPMC queue", 2010, with one taker.
 *
 * Cost: O(1), and the taker pays only for its own frees. A free in the thread's own arena takes the byte,
 * too, which is an atomic operation. So `starts` exists only after a thread has freed memory of another
 * arena.
 * Memory: one byte a chunk and 4 KB an arena, of host memory.
 * Threads: see each function. The table changes while no thread is in an arena.
 * Always true, for chunks with a byte: it names an arena exactly if a live region of that arena, not a slab,
 * starts at the chunk. It says `posted` until the region is free; a posted region is in the mailbox once, or
 * about to be.
 */
#ifndef TN_REMOTE_FREES_H
#define TN_REMOTE_FREES_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../index/dependency.h"

/* A power of two. */
#define TN_MAILBOX_PLACES 256

/* This many frees must lack a mailbox before mailboxes are made. */
#define TN_REMOTE_FREES_MISSES 64

struct tn_mail {
    /* The number n of the next mail here, while the place is empty; n + 1 while it holds that mail. */
    _Atomic uint32_t turn;
    uint32_t chunk;
    struct tn_dependency dependency;
};

struct tn_mailbox {
    alignas(128) _Atomic uint32_t posted_count;
    alignas(128) struct tn_mail places[TN_MAILBOX_PLACES];
    uint32_t taken_count; /* the taker's own */
};

/* Values of a byte in `starts`, besides an arena's number plus 1. */
#define TN_START_NOBODYS 0
#define TN_START_POSTED  UINT8_MAX

struct tn_remote_frees {
    uint32_t chunk_count;    /* chunks 0 to chunk_count - 1 have a byte; 0: no memory */
    _Atomic uint8_t *starts; /* of live regions in arenas, except slabs */
    struct tn_mailbox *mailboxes;
    void *memory;
    uint32_t mailbox_count;
    uint32_t missed_count;  /* frees that had no mailbox, since their chunk had no byte */
    atomic_bool are_wanted; /* there were many misses, and no thread has handled them */
};

void tn_remote_frees_init(struct tn_remote_frees *frees);
void tn_remote_frees_fini(struct tn_remote_frees *frees);

/* Returns NULL, or the fault. Requires: no arena is active. Walks everything. */
const char *tn_remote_frees_check(const struct tn_remote_frees *frees);

/* Counts a free that had no mailbox. Requires: the pool's lock. */
void tn_remote_frees_note_miss(struct tn_remote_frees *frees);

static inline bool tn_remote_frees_are_wanted(const struct tn_remote_frees *frees)
{
    return atomic_load_explicit(&frees->are_wanted, memory_order_relaxed);
}

/* Gives chunk_count chunks a byte, all TN_START_NOBODYS, and mailbox_count empty mailboxes. Requires: no
 * thread is in an arena. False: no host memory; nothing has changed, except that are_wanted is false until
 * there are misses again. */
bool tn_remote_frees_cover(struct tn_remote_frees *frees, uint32_t chunk_count,
                           uint32_t mailbox_count);

size_t tn_remote_frees_bytes(const struct tn_remote_frees *frees);

static inline bool tn_remote_frees_covers(const struct tn_remote_frees *frees, uint32_t chunk)
{
    return chunk < frees->chunk_count;
}

/* Returns the byte of a chunk. Requires, as do the next two: the chunk has a byte. */
static inline uint8_t tn_remote_frees_who_has(const struct tn_remote_frees *frees, uint32_t chunk)
{
    return atomic_load_explicit(&frees->starts[chunk], memory_order_relaxed);
}

/* Sets the byte. Requires: the caller is in the arena of the region, has set it to `posted`, or has closed
 * all arenas. */
static inline void tn_remote_frees_set(struct tn_remote_frees *frees, uint32_t chunk, uint8_t whose)
{
    atomic_store_explicit(&frees->starts[chunk], whose, memory_order_relaxed);
}

/* Changes the byte if it is `from`. Returns whether it was. */
static inline bool tn_remote_frees_change(struct tn_remote_frees *frees, uint32_t chunk,
                                          uint8_t from, uint8_t to)
{
    return atomic_compare_exchange_strong_explicit(&frees->starts[chunk], &from, to,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/* Posts a region that the caller has set to `posted`. Threads: any thread in an arena. False: the mailbox is
 * full. */
bool tn_mailbox_post(struct tn_mailbox *mailbox, uint32_t chunk, struct tn_dependency dependency);

/* Takes one mail. Requires: the lock of the mailbox's arena. False: there is none, or it is still being
 * posted. */
bool tn_mailbox_take(struct tn_mailbox *mailbox, uint32_t *chunk_out,
                     struct tn_dependency *dependency_out);

#endif
