/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * arena: a part of a pool that a thread allocates from under a lock of its own, when several threads want the
 * pool at once.
 *
 * A pool has one index under one lock. Threads that wait for the lock are given arenas: an arena borrows a run
 * of free chunks, which is a live region of the pool's index meanwhile, and keeps an index of what becomes
 * of them:
 *
 *     pool's index     │ live │ free │ lent to arena 0     │ live │ lent to arena 1            │ free
 *                                    │                            │
 *     arena's index                  │ live │ free │ live  │      │ free │ live │ live │ free  │
 *
 * Arenas are for alloc and free, and for nothing else. Whoever locks the pool for anything else gathers first: each
 * arena gives back what it has, and its regions take the place of the lent one. So everywhere else there is
 * one index, as if there were no arenas. Threads that still wait for the lock get arenas again.
 *
 * A thread has the arena of its number, of all threads that ever were; two may share one. What an arena cannot serve the
 * pool serves, or lends it more. What another thread frees goes to the arena that it is of, by way of its mailbox where
 * that happens often: see remote_frees.h.
 *
 * Small requests have slices in an arena, too: it cuts chunks that it has borrowed. The slabs become the pool's as its
 * regions do, and with the masks, sizes and dependencies that they have; so nobody who frees a slice notices.
 * What is free in slabs that the pool has got so serves the pool alone.
 *
 * Cost: alloc and free as in the pool's index; lending O(log n); gathering O(regions of the arenas).
 * Memory: room for the slabs of an arena is there twice.
 * Threads: locks are taken in the order pool, arena; of arenas one at a time, or all by their numbers. Who holds an
 * open arena's lock may read the pool's list and streams: who changes them has gathered, or holds all of the arenas'
 * locks.
 * Always true: room for all regions of the arenas is promised in the pool's index, and for all slabs in its slices, so
 * gathering cannot fail; the loans are the pool's live regions of these chunks, and spans of their arenas.
 */
#ifndef TN_ARENA_H
#define TN_ARENA_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../base/biased_mutex.h"
#include "tarn/tarn.h"

#include "part.h"
#include "remote_frees.h"

#define TN_ARENA_COUNT     32
#define TN_ARENA_LOANS_MAX 256

/* So many requests may the pool serve before it finds out what it could lend. */
#define TN_ARENA_PASSED_ON_MAX 256

/* Chunks that an arena has borrowed. */
struct tn_loan {
    uint32_t first_chunk;
    uint32_t chunk_count;
    uint32_t arena;
    uint32_t head; /* of their span in the arena's index */
};

struct tn_arena {
    /* Two arenas share no cache line, nor a pair that is fetched together. */
    alignas(128) struct tn_biased_mutex lock;
    /* Nobody has gathered since its thread came: it may borrow and post. Changed under both locks, as the next. */
    bool is_open;
    bool is_active; /* it has borrowed chunks, and is open */
    bool has_index;
    bool has_slices;
    uint32_t call_count; /* allocs, from time to time of which the mailbox is emptied */
    struct tn_part
        part; /* index and slices are there if so said above; counts since it became active */
    uint32_t loan_count;
    uint32_t lent_chunk_count;
    uint32_t lent_before;    /* so many had been when it was gathered last */
    uint32_t promised_count; /* in the pool's index */
    uint32_t promised_slab_counts[TN_SLICE_CLASS_COUNT_MAX]; /* in the pool's slices */
};

/* Under the pool's lock, but for what is atomic. */
struct tn_arenas {
    atomic_bool are_wanted;
    _Atomic uint32_t active_count;
    struct tn_arena *all; /* TN_ARENA_COUNT of them; NULL until they were wanted */
    struct tn_remote_frees remote;
    struct tn_loan *loans; /* by first chunk; room for the most that there can be */
    uint32_t loan_count;
    void *memory; /* in which the arenas are */
    /* Requests that the pool served since all was lent last, though there are arenas; and so many are too many. */
    uint32_t passed_on_count;
    uint32_t passed_on_max;
};

void tn_arenas_init(struct tn_arenas *arenas);
void tn_arenas_fini(struct tn_arenas *arenas);

/* Makes the arenas, if they are not there yet. False: no host memory. */
bool tn_arenas_create(struct tn_arenas *arenas);

static inline bool tn_arenas_are_wanted(const struct tn_arenas *arenas)
{
    return atomic_load_explicit(&arenas->are_wanted, memory_order_acquire);
}

static inline bool tn_arenas_are_active(const struct tn_arenas *arenas)
{
    return atomic_load_explicit(&arenas->active_count, memory_order_acquire) > 0;
}

/* Bytes of host memory taken, besides the structure itself. While no arena is active. */
size_t tn_arenas_metadata_bytes(const struct tn_arenas *arenas);

/* Nobody is in an arena until the thaw. Under the pool's lock. */
void tn_arenas_freeze(struct tn_arenas *arenas);
void tn_arenas_thaw(struct tn_arenas *arenas);

/* Writes a loan down. Under the pool's lock, as the next. */
void tn_arenas_add_loan(struct tn_arenas *arenas, struct tn_loan loan);

/* The loan in which the chunk lies, or NULL. */
const struct tn_loan *tn_arenas_find_loan(const struct tn_arenas *arenas, uint32_t chunk);

#endif
