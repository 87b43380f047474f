/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * place: the static pool, the chunk and the live allocation at an address.
 *
 *     tn_place_locate       static pool and chunk
 *     tn_place_find_start   the live allocation that starts at a located address
 *     tn_place_find_live    the live allocation that holds a located address
 *
 * A free needs only the first: it looks the chunk up in the live map itself, see serve.h.
 *
 * Threads: locate requires the pool's lock, or the lock of an open arena. The live allocation requires the lock
 * of the part that has the address.
 * Cost: locate O(1), mostly: see static_pool_list.h; find_start O(1); find_live O(1), with at most 128 probes of the live map.
 */
#ifndef TN_PLACE_H
#define TN_PLACE_H

#include "pool_struct.h"

struct tn_place {
    const struct tn_static_pool *owner;
    uintptr_t address;
    uint32_t chunk;        /* holds the address */
    uint32_t offset_bytes; /* of the address in the chunk */
    /* The live allocation. Set by tn_place_find_start and tn_place_find_live: */
    const struct tn_part *part;
    uint32_t region; /* in the index of the part */
    uint32_t slab;   /* number of the slab that the region is, or TN_SLAB_NONE */
    unsigned slice;  /* number of the slice in the slab */
};

/* Finds the chunk that holds an address. False: no chunk of the pool does. */
TN_HOT bool tn_place_locate(const struct tarn_pool *pool, uintptr_t address,
                            struct tn_place *place_out)
{
    const struct tn_static_pool_place *found =
        tn_static_pool_list_place_of_address(&pool->list, address);
    if (TN_UNLIKELY(!found)) return false;
    uintptr_t offset = address - found->chunk_0_address;
    place_out->owner = found->static_pool;
    place_out->address = address;
    place_out->chunk = (uint32_t)(offset >> pool->chunk_log2);
    place_out->offset_bytes = (uint32_t)(offset & (((uintptr_t)1 << pool->chunk_log2) - 1));
    return true;
}

/* The place where a chunk of the pool starts. Requires that a static pool has it. */
static inline struct tn_place tn_place_of_chunk(const struct tarn_pool *pool, uint32_t chunk)
{
    const struct tn_static_pool_place *found =
        tn_static_pool_list_place_of_chunk(&pool->list, chunk);
    const struct tn_static_pool *owner = found->static_pool;
    TN_ASSERT(owner != NULL);
    return (struct tn_place){
        .owner = owner,
        .address = found->chunk_0_address + ((uintptr_t)chunk << pool->chunk_log2),
        .chunk = chunk,
    };
}

TN_HOT bool tn_place_is_at_chunk(const struct tn_place *place)
{
    return place->offset_bytes == 0;
}

/* Finds the live allocation of the part that starts at a located address. False: none does. */
bool tn_place_find_start(const struct tarn_pool *pool, const struct tn_part *part,
                         struct tn_place *place);

/* Finds the live allocation that holds a located address. Requires the pool's lock, with the arenas gathered.
 * False: none does. */
bool tn_place_find_live(const struct tarn_pool *pool, struct tn_place *place);

/* The live allocation of a place: its first address, the bytes that were asked for, and the bytes that may be
 * used, of its chunks or of its slice. */
uintptr_t tn_place_start(const struct tarn_pool *pool, const struct tn_place *place);
size_t tn_place_size_bytes(const struct tarn_pool *pool, const struct tn_place *place);
size_t tn_place_usable_bytes(const struct tarn_pool *pool, const struct tn_place *place);

/* Its label, or TN_LABEL_NONE. */
uint32_t tn_place_label(const struct tn_place *place);

#endif
