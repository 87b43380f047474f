/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * arena: a part of a pool with its own lock, for a thread that allocates while other threads use the pool.
 *
 * A pool has one index under one lock. Threads that wait for the lock get arenas. An arena borrows a run of
 * free chunks, which is a live region of the pool's index meanwhile, and keeps its own index of these chunks:
 *
 *     pool's index     │ live │ free │ lent to arena 0     │ live │ lent to arena 1            │ free
 *                                    │                            │
 *     arena's index                  │ live │ free │ live  │      │ free │ live │ live │ free  │
 *
 * Arenas serve alloc and free, a resize in place, and the look-up of an address where an allocation starts. Free
 * regions go back to the pool one by one, see arena_loans.h. Any other call gathers first: each arena returns all its
 * chunks, and its regions replace the lent ones. So all other code sees one index, as if there were no arenas. Threads
 * that still wait for the lock get arenas again.
 *
 * A thread has the arena of its number, counted over all threads that ever were; two threads may share one.
 * If an arena cannot serve a request, the pool lends it more, or serves the request itself. If another thread frees
 * memory of an arena, it goes to that arena; if that is frequent, through its mailbox: see remote_frees.h.
 *
 * An arena serves small requests from slices of chunks that it has borrowed. Gathering gives its slabs to the
 * pool, with their masks, sizes and dependencies, so a free of a slice is unaffected. Free slices in gathered
 * slabs serve the pool alone.
 *
 * Cost: alloc and free as in the pool's index; lending O(log n); gathering O(regions of the arenas).
 * Memory: room for the slabs of an arena exists twice.
 * Threads: lock order is pool, then arena. A thread locks one arena at a time, or all in order of their
 * numbers. The holder of an open arena's lock may read the pool's list and streams: a thread that changes
 * them has gathered, or holds the locks of all arenas.
 * Always true: room for all regions of the arenas is promised in the pool's index, and for all slabs in its
 * slices, so gathering cannot fail. Each loan is a live region of the pool's index and a span of its arena.
 */
#ifndef TN_ARENA_H
#define TN_ARENA_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/biased_mutex.h"
#include "../index/region_index_parts.h"
#include "tarn/tarn.h"

#include "label_stats.h"
#include "remote_frees.h"
#include "slices.h"
#include "stats.h"

#define TN_ARENA_COUNT     32
#define TN_ARENA_LOANS_MAX 1024

/* A part of a pool in which allocations and frees work: the pool's own, or an arena. It has an index of its chunks, slices
 * of some of them, and counters. Under the lock of the pool, or of the arena. */
struct tn_part {
    struct tn_region_index index;
    struct tn_slices slices;
    struct tn_stats stats;
    tn_label_stats_pointer labels; /* if those of an arena exist, those of the pool's own part do */
    uint32_t last_stream;          /* number of the stream that was looked up last */
    bool has_shrunk;               /* a resize freed chunks; it does not count as a free */
};

/* Chunks lent to an arena. */
struct tn_loan {
    uint32_t first_chunk;
    uint32_t chunk_count;
    uint32_t arena;
    uint32_t head; /* head of their span in the arena's index */
};

struct tn_arena {
    /* Arenas share no cache line, nor a pair of lines that is fetched together. */
    alignas(128) struct tn_biased_mutex lock;
    /* Not gathered since its thread came: it may borrow and post. is_open and is_active change under both
     * locks. */
    bool is_open;
    bool is_active; /* it is open and has borrowed chunks */
    bool has_index;
    bool has_slices;
    uint32_t call_count; /* counts allocs, to empty the mailbox from time to time */
    struct tn_part part; /* counts since the arena became active */
    uint32_t loan_count;
    uint32_t lent_chunk_count;
    uint32_t average_chunk_count; /* of what is live in it, over some thousand calls */
    uint32_t
        posted_chunk_count; /* what others have freed in it since it noted last which work is done */
    uint32_t completed_count; /* that of the streams, when it noted last */
    uint32_t promised_count;  /* in the pool's index */
    uint32_t promised_slab_counts[TN_SLICE_CLASS_COUNT_MAX]; /* in the pool's slices */
};

/* Returns the arena that has the part. */
static inline struct tn_arena *tn_arena_of_part(const struct tn_part *part)
{
    return (struct tn_arena *)((uintptr_t)part - offsetof(struct tn_arena, part));
}

/* Under the pool's lock, except the atomic fields. */
struct tn_arenas {
    atomic_bool are_wanted;
    _Atomic uint32_t active_count;
    struct tn_arena *all; /* TN_ARENA_COUNT of them; NULL until they are wanted */
    struct tn_remote_frees remote;
    struct tn_loan *loans; /* by first chunk; room for the maximum */
    uint32_t loan_count;
    uint64_t closed_call_count; /* allocations that the arenas served which were closed last */
    void *memory;               /* holds the arenas */
};

void tn_arenas_init(struct tn_arenas *arenas);
void tn_arenas_fini(struct tn_arenas *arenas);

/* Creates the arenas if there are none yet. False: no host memory. */
bool tn_arenas_create(struct tn_arenas *arenas);

static inline bool tn_arenas_are_wanted(const struct tn_arenas *arenas)
{
    return atomic_load_explicit(&arenas->are_wanted, memory_order_acquire);
}

static inline bool tn_arenas_are_active(const struct tn_arenas *arenas)
{
    return atomic_load_explicit(&arenas->active_count, memory_order_acquire) > 0;
}

/* Returns bytes of host memory in use, without the structure itself. Requires: no arena is active. */
size_t tn_arenas_metadata_bytes(const struct tn_arenas *arenas);

/* Keeps all threads out of the arenas until the thaw. Requires: the pool's lock. */
void tn_arenas_freeze(struct tn_arenas *arenas);
void tn_arenas_thaw(struct tn_arenas *arenas);

/* Adds a loan. Requires: the pool's lock. */
void tn_arenas_add_loan(struct tn_arenas *arenas, struct tn_loan loan);

/* Returns the loan that contains the chunk, or NULL. Requires: the pool's lock. */
struct tn_loan *tn_arenas_find_loan(const struct tn_arenas *arenas, uint32_t chunk);

/* Removes a loan. Requires: the pool's lock. */
void tn_arenas_remove_loan(struct tn_arenas *arenas, struct tn_loan *loan);

#endif
