/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* static_pool: the layout of the chunks in a backing. */
#include "static_pool.h"

#include <stdatomic.h>

#include "../../base/arith.h"
#include "../../base/host_memory.h"

static _Atomic uint64_t last_id;

uint64_t tn_static_pool_take_id(void)
{
    return atomic_fetch_add(&last_id, 1) + 1;
}

struct tn_static_pool *tn_static_pool_alloc(void)
{
    return tn_host_memory_alloc_zeroed(sizeof(struct tn_static_pool));
}

void tn_static_pool_describe(struct tn_static_pool *pool, unsigned chunk_log2,
                             uint32_t chunk_count_max)
{
    const struct tn_piece *backing = &pool->piece;
    size_t chunk_bytes = (size_t)1 << chunk_log2;
    size_t lead = -(uintptr_t)backing->base & (chunk_bytes - 1);
    TN_ASSERT(backing->size_bytes >= lead + chunk_bytes);
    pool->chunk_log2 = chunk_log2;
    pool->piece.chunk_count =
        (uint32_t)tn_min((backing->size_bytes - lead) >> chunk_log2, chunk_count_max);
    pool->first_address = (uintptr_t)backing->base + lead;
    pool->end_address = pool->first_address + ((uintptr_t)backing->chunk_count << chunk_log2);
}

void tn_static_pool_describe_for_one(struct tn_static_pool *pool, unsigned chunk_log2,
                                     uintptr_t address, size_t size_bytes)
{
    TN_ASSERT(address >= (uintptr_t)pool->piece.base);
    TN_ASSERT(address - (uintptr_t)pool->piece.base + size_bytes <= pool->piece.size_bytes);
    pool->chunk_log2 = chunk_log2;
    pool->piece.chunk_count = (uint32_t)tn_count_units(size_bytes, chunk_log2);
    pool->first_address = address;
    pool->end_address = address + size_bytes;
}

struct tn_static_pool *tn_static_pool_create(void *backing, size_t backing_bytes,
                                             unsigned chunk_log2, uint32_t chunk_count_max)
{
    struct tn_static_pool *pool = tn_static_pool_alloc();
    if (!pool) return NULL;
    pool->piece.base = backing;
    pool->piece.size_bytes = backing_bytes;
    pool->piece.id = tn_static_pool_take_id();
    tn_static_pool_describe(pool, chunk_log2, chunk_count_max);
    return pool;
}

void tn_static_pool_destroy(struct tn_static_pool *pool)
{
    tn_host_memory_free(pool);
}
