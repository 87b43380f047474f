/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * remote_frees: what threads free of each other's arenas, without the lock of the arena.
 *
 * `starts` has a byte for each chunk: in whose arena a live region starts there. An arena has a mailbox. Whoever frees
 * what is another's takes the byte, posts the chunk, and is done; the arena empties its mailbox every so often:
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
 * Of two that free the same, one gets the byte. So a bad free is known where it is made, as under the lock.
 * The mailbox is a ring of places that each say whose turn it is, the poster's or the taker's, after D. Vyukov,
 * "Bounded MPMC queue", 2010, with one taker.
 *
 * Cost: O(1), and none for the taker but its own work. A free in one's own arena takes the byte, too, which is an
 * atomic operation: so there are no starts before somebody frees what is another's.
 * Memory: a byte a chunk and 4 KB an arena, of host memory.
 * Threads: as each says. The table is changed while no thread is in an arena.
 * Always true, of chunks that have a byte: it says an arena just when a live region of that arena starts at the chunk which
 * is no slab, and `posted` until the region is free; a posted region is once in the mailbox, or
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

/* So many frees must miss the way by a mailbox before there are mailboxes. */
#define TN_REMOTE_FREES_MISSES 64

struct tn_mail {
    /* Its number, if it is to be filled with the mail of that number; one more, if that is to be taken. */
    _Atomic uint32_t turn;
    uint32_t chunk;
    struct tn_dependency dependency;
};

struct tn_mailbox {
    alignas(128) _Atomic uint32_t posted_count;
    alignas(128) struct tn_mail places[TN_MAILBOX_PLACES];
    uint32_t taken_count; /* the taker's */
};

/* What the byte of a chunk says, besides an arena's number plus 1. */
#define TN_START_NOBODYS 0
#define TN_START_POSTED  UINT8_MAX

struct tn_remote_frees {
    uint32_t chunk_count;    /* those from 0 on have a byte; 0: nothing is there */
    _Atomic uint8_t *starts; /* of the live regions that are in arenas, and are no slabs */
    struct tn_mailbox *mailboxes;
    void *memory;
    uint32_t mailbox_count;
    uint32_t missed_count;  /* frees that would have been posted, had their chunk had a byte */
    atomic_bool are_wanted; /* there were many of these, and nobody has seen to it */
};

void tn_remote_frees_init(struct tn_remote_frees *frees);
void tn_remote_frees_fini(struct tn_remote_frees *frees);

/* NULL, or what is wrong while no arena is active. Looks at all of it. */
const char *tn_remote_frees_check(const struct tn_remote_frees *frees);

/* A free that missed the way by a mailbox. Under the pool's lock. */
void tn_remote_frees_note_miss(struct tn_remote_frees *frees);

static inline bool tn_remote_frees_are_wanted(const struct tn_remote_frees *frees)
{
    return atomic_load_explicit(&frees->are_wanted, memory_order_relaxed);
}

/* Gives so many chunks a byte, none of them anybody's, and all mailboxes are empty. While no thread is in an arena.
 * False: no host memory, and all is as it was, but that nobody wants more until there are misses again. */
bool tn_remote_frees_cover(struct tn_remote_frees *frees, uint32_t chunk_count,
                           uint32_t mailbox_count);

size_t tn_remote_frees_bytes(const struct tn_remote_frees *frees);

static inline bool tn_remote_frees_covers(const struct tn_remote_frees *frees, uint32_t chunk)
{
    return chunk < frees->chunk_count;
}

/* Of a chunk that has a byte, as the next three. */
static inline uint8_t tn_remote_frees_who_has(const struct tn_remote_frees *frees, uint32_t chunk)
{
    return atomic_load_explicit(&frees->starts[chunk], memory_order_relaxed);
}

/* For who has it: the arena in which the region is, the thread that has made it `posted`, or who has closed all arenas. */
static inline void tn_remote_frees_set(struct tn_remote_frees *frees, uint32_t chunk, uint8_t whose)
{
    atomic_store_explicit(&frees->starts[chunk], whose, memory_order_relaxed);
}

/* Whether what starts at the chunk was `from` until now and is `to`. */
static inline bool tn_remote_frees_change(struct tn_remote_frees *frees, uint32_t chunk,
                                          uint8_t from, uint8_t to)
{
    return atomic_compare_exchange_strong_explicit(&frees->starts[chunk], &from, to,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/* Posts what the caller has made `posted`. Any thread that is in an arena. False: the mailbox is full. */
bool tn_mailbox_post(struct tn_mailbox *mailbox, uint32_t chunk, struct tn_dependency dependency);

/* Under the lock of the mailbox's arena. False: there is nothing, or it is on its way. */
bool tn_mailbox_take(struct tn_mailbox *mailbox, uint32_t *chunk_out,
                     struct tn_dependency *dependency_out);

#endif
