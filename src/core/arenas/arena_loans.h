/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * arena_loans: chunks go from the pool's index to an arena, and come back piece by piece, while the other arenas go on.
 *
 *     pool's index     │ free │ lent to arena 0                 │ live │
 *     arena's index           │ live │ free              │ live │
 *
 *                                     give back
 *
 *     pool's index     │ free │ lent │ free              │ lent │ live │
 *     arena's index           │ live │                   │ live │
 *
 * An arena keeps free chunks, so that most of its calls need nothing from the pool. All in all it has at most three times
 * the bytes that are usually live in it, and 4 MiB more; it gives back what is above. Usual is the average over its last
 * thousand allocations, or what is live now if that is more. Where the pool has nothing for a request, it takes a region
 * that fits back from another arena, before it grows.
 *
 * Memory that other threads have freed in an arena waits for their streams. The arena learns from the table of streams which
 * work is done, under its own lock.
 *
 * Requires: the locks of the pool and of the arena, unless a function says otherwise.
 * Cost: O(log n) in free regions for each piece, and O(loans) to note it.
 */
#ifndef TN_ARENA_LOANS_H
#define TN_ARENA_LOANS_H

#include "arena_mail.h"

/* Makes the arena's index, with a free set for each stream that has one in the pool's index, and its slices if the request
 * has any. False: no host memory. */
bool tn_arena_prepare(const struct tarn_pool *pool, struct tn_arena *arena,
                      const struct tn_request *request);

/* Makes room in the arena's metadata for one more allocation, and for all of that in the pool's. False: no host memory. */
bool tn_arena_make_room(struct tarn_pool *pool, struct tn_arena *arena,
                        const struct tn_request *request);

/* Lends the arena a run of chunks that holds the request. False: nothing fits, no host memory, or the arena has
 * TN_ARENA_LOANS_MAX loans. */
bool tn_arena_borrow(struct tarn_pool *pool, struct tn_arena *arena, uint32_t stream,
                     uint32_t chunk_count);

/* Whether the arena has more free chunks than it may keep. Requires the arena's lock alone; the arena is active. Cost:
 * O(1). */
static inline bool tn_arena_has_excess(const struct tarn_pool *pool, const struct tn_arena *arena);

/* Gives back what the arena has above seven eighths of its bound, the largest regions first. */
void tn_arena_give_excess_back(struct tarn_pool *pool, struct tn_arena *arena);

/* Takes a region of so many chunks back from an arena that is not `own`, whatever streams it waits for. False: none has
 * one. Requires the pool's lock, and no arena's. */
bool tn_arenas_take_fit_back(struct tarn_pool *pool, const struct tn_arena *own,
                             uint32_t chunk_count);

/* Notes for the arena's memory which streams have completed their work. False: that is not known better than at the last
 * call. Requires the arena's lock alone; the arena is active. */
bool tn_arena_note_completed(const struct tarn_pool *pool, struct tn_arena *arena);

/* --- inline ------------------------------------------------------------------------------------------ */

enum {
    TN_ARENA_BYTES_MIN = 4 << 20,
    TN_ARENA_USED_FACTOR = 3,   /* an arena has at most so many times what is usually live in it */
    TN_ARENA_POSTED_PARTS = 64, /* much is posted: more than one of so many parts of the arena */
    TN_ARENA_USE_TURNS = 64,    /* the average of what is live is over so many turns */
};

static inline uint32_t tn_arena_used_chunks(const struct tarn_pool *pool,
                                            const struct tn_arena *arena)
{
    return (uint32_t)(arena->part.stats.used_bytes >> pool->chunk_log2);
}

/* Notes what is live in the arena now. */
static inline void tn_arena_note_use(const struct tarn_pool *pool, struct tn_arena *arena)
{
    int64_t change = (int64_t)tn_arena_used_chunks(pool, arena) - arena->average_chunk_count;
    arena->average_chunk_count += (uint32_t)(change / TN_ARENA_USE_TURNS);
}

/* The chunks that are usually live in the arena: the average, or what is live now if that is more. */
static inline uint32_t tn_arena_usual_chunks(const struct tarn_pool *pool,
                                             const struct tn_arena *arena)
{
    return (uint32_t)tn_max(tn_arena_used_chunks(pool, arena), arena->average_chunk_count);
}

static inline uint32_t tn_arena_lent_chunks_max(const struct tarn_pool *pool,
                                                const struct tn_arena *arena)
{
    uint64_t usual = tn_arena_usual_chunks(pool, arena);
    return (uint32_t)tn_min((TN_ARENA_BYTES_MIN >> pool->chunk_log2) + usual * TN_ARENA_USED_FACTOR,
                            TN_CHUNK_COUNT_MAX);
}

static inline bool tn_arena_has_excess(const struct tarn_pool *pool, const struct tn_arena *arena)
{
    return arena->lent_chunk_count > tn_arena_lent_chunks_max(pool, arena);
}

/* Whether other threads have freed much on their streams since the arena noted last which work is done. Requires the
 * arena's lock; the arena is active. */
static inline bool tn_arena_has_much_posted(const struct tn_arena *arena)
{
    return arena->posted_chunk_count > arena->lent_chunk_count / TN_ARENA_POSTED_PARTS;
}

#endif
