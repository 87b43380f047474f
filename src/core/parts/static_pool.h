/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * static_pool: one piece of vendor memory, cut into chunks. Translates between addresses and the
 * pool's chunk numbers; what lies where is the region index's matter.
 *
 *     backing                                                       backing + backing_bytes
 *     ├────┬─────────┬─────────┬─────────┬─ ... ─┬─────────┬────────┤
 *          first_chunk         │                 last chunk
 *          └ first_address, a multiple of the chunk size
 *
 * Or one allocation has it all, when the pool passes through. Then it begins where the allocation does, and
 * ends where that does, amid the last chunk.
 *
 * Threads: none of it locks; the pool does. Cost: O(1).
 */
#ifndef TN_STATIC_POOL_H
#define TN_STATIC_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/assert.h"

struct tn_static_pool {
    uintptr_t first_address;
    uintptr_t end_address; /* of the last chunk, or of the one allocation */
    uint32_t first_chunk;  /* the chunks are numbered from here */
    uint32_t chunk_count;
    unsigned chunk_log2;
    uint32_t head; /* of its span in the region index */
    void *backing; /* as the backend gave it */
    size_t backing_bytes;
    uint64_t id; /* never used twice in a process */
    void *watch; /* a tarn_watch, or NULL: no tool watches it */
};

/* Describes backing memory of at least one chunk; at most chunk_count_max chunks of it. Its place
 * among the chunk numbers is not set yet. NULL: no host memory. */
struct tn_static_pool *tn_static_pool_create(void *backing, size_t backing_bytes,
                                             unsigned chunk_log2, uint32_t chunk_count_max);

/* Describes backing memory for one allocation, which lies in it from `address` on. NULL: no host memory. */
struct tn_static_pool *tn_static_pool_create_for_one(void *backing, size_t backing_bytes,
                                                     unsigned chunk_log2, uintptr_t address,
                                                     size_t size_bytes);

/* An id that nothing else has in this process: for what is told of as a static pool is. */
uint64_t tn_static_pool_take_id(void);

/* Forgets the static pool; the backing stays the caller's. NULL is allowed. */
void tn_static_pool_destroy(struct tn_static_pool *pool);

static inline uintptr_t tn_static_pool_address_of(const struct tn_static_pool *pool, uint32_t chunk)
{
    TN_ASSERT(chunk >= pool->first_chunk);
    return pool->first_address + ((uintptr_t)(chunk - pool->first_chunk) << pool->chunk_log2);
}

/* The number of the chunk that an address of this static pool lies in. */
static inline uint32_t tn_static_pool_chunk_of(const struct tn_static_pool *pool, uintptr_t address)
{
    TN_ASSERT(address >= pool->first_address && address < pool->end_address);
    return pool->first_chunk + (uint32_t)((address - pool->first_address) >> pool->chunk_log2);
}

/* How many chunks, counted from `chunk`, come before the first whose address is a multiple of
 * alignment_bytes, a power of two. */
static inline uint64_t tn_static_pool_lead_of(const struct tn_static_pool *pool, uint32_t chunk,
                                              size_t alignment_bytes)
{
    return (-tn_static_pool_address_of(pool, chunk) & (alignment_bytes - 1)) >> pool->chunk_log2;
}

#endif
