/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * place: what lies at an address of a pool. An address is looked up once, into this.
 *
 *     tn_place_locate          static pool and chunk: all that an arena needs to know whose it is
 *     tn_place_find            also the live allocation that the address lies in
 *
 * A free does not need the second: it looks the chunk up in the live map as it takes it out; see serve.h.
 *
 * Threads: locate needs the pool's lock, or that of an open arena. The others need the pool's lock, and the arenas
 * gathered.
 * Cost: locate O(log static pools); find O(1), and at most 128 looks into the live map.
 */
#ifndef TN_PLACE_H
#define TN_PLACE_H

#include "pool_struct.h"

struct tn_place {
    const struct tn_static_pool *owner;
    uintptr_t address;
    uint32_t chunk;        /* in which the address lies */
    uint32_t offset_bytes; /* of the address in that chunk */
    /* Of the live allocation: */
    uint32_t region;
    uint32_t slab;  /* that the region is cut into, or TN_SLAB_NONE */
    unsigned slice; /* of the slab */
};

/* False: the address is in no chunk of the pool. */
TN_HOT bool tn_place_locate(const struct tarn_pool *pool, uintptr_t address,
                            struct tn_place *place_out)
{
    place_out->owner = tn_static_pool_list_find_address(&pool->list, address);
    if (TN_UNLIKELY(!place_out->owner)) return false;
    uintptr_t offset = address - place_out->owner->first_address;
    place_out->address = address;
    place_out->chunk = place_out->owner->first_chunk + (uint32_t)(offset >> pool->chunk_log2);
    place_out->offset_bytes = (uint32_t)(offset & (((uintptr_t)1 << pool->chunk_log2) - 1));
    return true;
}

/* The place where a chunk of the pool starts. */
static inline struct tn_place tn_place_of_chunk(const struct tarn_pool *pool, uint32_t chunk)
{
    const struct tn_static_pool *owner = tn_static_pool_list_find_chunk(&pool->list, chunk);
    return (struct tn_place){
        .owner = owner,
        .address = tn_static_pool_address_of(owner, chunk),
        .chunk = chunk,
    };
}

TN_HOT bool tn_place_is_at_chunk(const struct tn_place *place)
{
    return place->offset_bytes == 0;
}

/* The live allocation that a located address lies in. False: it lies in none. */
bool tn_place_find_live(const struct tarn_pool *pool, struct tn_place *place);

/* Both. */
static inline bool tn_place_find(const struct tarn_pool *pool, uintptr_t address,
                                 struct tn_place *place_out)
{
    return tn_place_locate(pool, address, place_out) && tn_place_find_live(pool, place_out);
}

/* Of the live allocation: where it starts, how many bytes were asked for, and how many its chunks or its slice have. */
uintptr_t tn_place_start(const struct tarn_pool *pool, const struct tn_place *place);
size_t tn_place_size_bytes(const struct tarn_pool *pool, const struct tn_place *place);
size_t tn_place_usable_bytes(const struct tarn_pool *pool, const struct tn_place *place);

#endif
