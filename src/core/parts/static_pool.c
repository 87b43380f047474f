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

/* Copies the description to host memory and gives it an id. NULL: no host memory. */
static struct tn_static_pool *create(const struct tn_static_pool *described)
{
    struct tn_static_pool *pool = tn_host_memory_alloc(sizeof *pool);
    if (!pool) return NULL;
    *pool = *described;
    pool->id = tn_static_pool_take_id();
    return pool;
}

struct tn_static_pool *tn_static_pool_create(void *backing, size_t backing_bytes,
                                             unsigned chunk_log2, uint32_t chunk_count_max)
{
    size_t chunk_bytes = (size_t)1 << chunk_log2;
    size_t lead = -(uintptr_t)backing & (chunk_bytes - 1);
    TN_ASSERT(backing_bytes >= lead + chunk_bytes);
    uint32_t chunk_count = (uint32_t)tn_min((backing_bytes - lead) >> chunk_log2, chunk_count_max);
    const struct tn_static_pool described = {
        .first_address = (uintptr_t)backing + lead,
        .end_address = (uintptr_t)backing + lead + ((uintptr_t)chunk_count << chunk_log2),
        .chunk_count = chunk_count,
        .chunk_log2 = chunk_log2,
        .backing = backing,
        .backing_bytes = backing_bytes,
    };
    return create(&described);
}

struct tn_static_pool *tn_static_pool_create_for_one(void *backing, size_t backing_bytes,
                                                     unsigned chunk_log2, uintptr_t address,
                                                     size_t size_bytes)
{
    TN_ASSERT(address >= (uintptr_t)backing);
    TN_ASSERT(address - (uintptr_t)backing + size_bytes <= backing_bytes);
    const struct tn_static_pool described = {
        .first_address = address,
        .end_address = address + size_bytes,
        .chunk_count = (uint32_t)tn_count_units(size_bytes, chunk_log2),
        .chunk_log2 = chunk_log2,
        .backing = backing,
        .backing_bytes = backing_bytes,
    };
    return create(&described);
}

void tn_static_pool_destroy(struct tn_static_pool *pool)
{
    tn_host_memory_free(pool);
}
