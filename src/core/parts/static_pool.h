/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * static_pool: one backing, cut into chunks. Translates between addresses and the pool's chunk numbers; the
 * region index knows the regions.
 *
 *     backing                                                       backing + backing_bytes
 *     ├────┬─────────┬─────────┬─────────┬─ ... ─┬─────────┬────────┤
 *          first_chunk         │                 last chunk
 *          └ first_address, a multiple of the chunk size
 *
 * If the pool passes a request through, one allocation has all of the backing. Then the static pool starts
 * and ends where the allocation does, inside the last chunk.
 *
 * Threads: no locking; the pool locks. Cost: O(1).
 */
#ifndef TN_STATIC_POOL_H
#define TN_STATIC_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/assert.h"
#include "pieces.h"

struct tn_static_pool {
    struct tn_piece piece; /* the backing. It comes first */
    uintptr_t first_address;
    uintptr_t end_address; /* end of the last chunk, or of the one allocation */
    uint32_t first_chunk;  /* number of the first chunk */
    uint32_t head;         /* head of its span in the region index */
    unsigned chunk_log2;
};

/* Makes a static pool without a backing: the base and the size of its piece are to be set. NULL: no host memory. */
struct tn_static_pool *tn_static_pool_alloc(void);

/* Describes the backing of at least one chunk: at most chunk_count_max chunks. The chunk numbers are not set yet. */
void tn_static_pool_describe(struct tn_static_pool *pool, unsigned chunk_log2,
                             uint32_t chunk_count_max);

/* Does the same for a backing that is for one allocation, which starts at `address`. */
void tn_static_pool_describe_for_one(struct tn_static_pool *pool, unsigned chunk_log2,
                                     uintptr_t address, size_t size_bytes);

/* Makes a static pool that has an id, and describes it. NULL: no host memory. */
struct tn_static_pool *tn_static_pool_create(void *backing, size_t backing_bytes,
                                             unsigned chunk_log2, uint32_t chunk_count_max);

/* Returns an id that no other piece of this process has, nor had. */
uint64_t tn_static_pool_take_id(void);

/* Frees the description; the backing stays the caller's. NULL is allowed. */
void tn_static_pool_destroy(struct tn_static_pool *pool);

/* Returns the static pool that a piece begins. */
static inline struct tn_static_pool *tn_static_pool_of(struct tn_piece *piece)
{
    return (struct tn_static_pool *)piece;
}

static inline uintptr_t tn_static_pool_address_of(const struct tn_static_pool *pool, uint32_t chunk)
{
    TN_ASSERT(chunk >= pool->first_chunk);
    return pool->first_address + ((uintptr_t)(chunk - pool->first_chunk) << pool->chunk_log2);
}

/* Returns the number of the chunk that an address of this static pool lies in. */
static inline uint32_t tn_static_pool_chunk_of(const struct tn_static_pool *pool, uintptr_t address)
{
    TN_ASSERT(address >= pool->first_address && address < pool->end_address);
    return pool->first_chunk + (uint32_t)((address - pool->first_address) >> pool->chunk_log2);
}

/* Returns how many chunks, from `chunk` on, come before the first with an aligned address. Requires:
 * alignment_bytes is a power of two. */
static inline uint64_t tn_static_pool_lead_of(const struct tn_static_pool *pool, uint32_t chunk,
                                              size_t alignment_bytes)
{
    return (-tn_static_pool_address_of(pool, chunk) & (alignment_bytes - 1)) >> pool->chunk_log2;
}

#endif
