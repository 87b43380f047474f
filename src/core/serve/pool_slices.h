/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_slices: slices in a part of a pool: which chunk a slice lies in, what becomes of that chunk, and the counters.
 *
 *     alloc    the stream has a slab with a free slice? ── yes ──► its first free slice
 *                    │ no
 *                    ▼
 *              a free chunk, which serve.c finds, is cut: its first slice
 *
 *     free     the slice is free; when it was the last live one, so is the chunk
 *
 * A chunk counts as used from when it is cut, not once more for each slice. So used bytes are those of the live
 * regions, slabs among them.
 *
 * Many programs allocate and free one small block again and again. So that each does not cut and free a chunk, a slab
 * whose last slice is freed is kept for its stream, if the stream has no other. The chunk of a kept slab counts as free.
 * tn_pool_lock_and_gather frees the kept slabs, so only allocations and frees ever see one.
 *
 * An arena has slabs of its own. They become the pool's when the arena's regions do.
 *
 * Threads: the lock of the part. Cost: O(1), and what it costs to free a region.
 */
#ifndef TN_POOL_SLICES_H
#define TN_POOL_SLICES_H

#include "pool_struct.h"

/* Options say whether chunks are cut. */
void tn_pool_init_slices(struct tarn_pool *pool, const tarn_pool_options *options);

/* Makes a slice live that the stream may have, though it has pending ones of its own. NULL: there is none. */
static inline void *tn_pool_take_slice(struct tarn_pool *pool, struct tn_part *part,
                                       unsigned slice_class, size_t size_bytes, uint32_t stream);

/* Cuts a chunk of a free region, the one after the first `lead`. Room for a carve and for the slab must be
 * reserved. Returns the slab, withheld. */
uint32_t tn_pool_cut_slab(struct tarn_pool *pool, struct tn_part *part, unsigned slice_class,
                          uint32_t region, uint32_t lead);

/* Makes a slice of a slab live. The slab may be withheld. */
void *tn_pool_hand_out_slice(struct tarn_pool *pool, struct tn_part *part, uint32_t slab,
                             size_t size_bytes);

/* Undoes that, of a slab which is withheld and was `stream`'s before. */
void tn_pool_put_slice_back(struct tarn_pool *pool, uint32_t slab, void *address, uint32_t stream);

/* Frees a live slice. Whether its chunk is free with it. */
static inline bool tn_pool_free_slice(struct tarn_pool *pool, struct tn_part *part, uint32_t slab,
                                      unsigned slice, struct tn_dependency dependency);

/* --- queries --- */

/* Bytes that were asked for in the slices of a slab. */
size_t tn_pool_requested_of_slab(const struct tarn_pool *pool, uint32_t slab);

/* Frees the chunks of the kept slabs. */
void tn_pool_free_kept(struct tarn_pool *pool, struct tn_part *part);

/* Gives the slabs of an arena to the pool. Their regions stay where they are. Requires that none is kept, and that room is
 * promised. Cost: O(slabs). */
void tn_pool_adopt_slabs(struct tarn_pool *pool, struct tn_part *part);

/* NULL, or what is wrong with the slabs, and with what the region index has of them. */
const char *tn_pool_check_slices(const struct tarn_pool *pool);

/* --- the short way --------------------------------------------------------------------------- */

/* tn_pool_take_slice where the stream has no slab of which it knows that something is free. */
void *tn_pool_take_covered_slice(struct tarn_pool *pool, struct tn_part *part, unsigned slice_class,
                                 size_t size_bytes, uint32_t stream);

/* The chunk of a kept slab is used again. */
void tn_pool_use_kept_slab(const struct tarn_pool *pool, struct tn_part *part, uint32_t slab);

/* Keeps an empty slab, or frees its chunk. Whether it frees the chunk. */
bool tn_pool_end_slab(struct tarn_pool *pool, struct tn_part *part, uint32_t slab);

static inline void *tn_pool_take_slice(struct tarn_pool *pool, struct tn_part *part,
                                       unsigned slice_class, size_t size_bytes, uint32_t stream)
{
    const struct tn_slice_class *c = &part->slices.classes[slice_class];
    uint32_t index = c->ready[tn_slab_list_of(stream)];
    if (TN_UNLIKELY(index == TN_SLAB_INDEX_NONE))
        return tn_pool_take_covered_slice(pool, part, slice_class, size_bytes, stream);
    const struct tn_slab *s = &c->slabs[index];
    if (TN_UNLIKELY(s->free == c->all))
        tn_pool_use_kept_slab(pool, part, slice_class << TN_SLAB_INDEX_BITS | index);
    unsigned slice = tn_slices_take_at(&part->slices, slice_class, index, size_bytes);
    uintptr_t address = s->address + ((uintptr_t)slice << c->slice_log2);
    tn_stats_count_alloc(&part->stats, size_bytes, 0);
    tn_pool_allow(pool, (void *)address, size_bytes);
    /* Here a device address becomes a pointer. */
    return (void *)address;
}

static inline bool tn_pool_free_slice(struct tarn_pool *pool, struct tn_part *part, uint32_t slab,
                                      unsigned slice, struct tn_dependency dependency)
{
    uintptr_t address = tn_slices_address_of(&part->slices, slab, slice);
    size_t size_bytes = tn_slices_free(&part->slices, slab, slice, dependency);
    tn_pool_forbid(pool, (void *)address, tn_slices_slice_bytes(&part->slices, slab));
    tn_stats_count_free(&part->stats, size_bytes, 0);
    return TN_UNLIKELY(tn_slices_is_empty(&part->slices, slab)) &&
           tn_pool_end_slab(pool, part, slab);
}

#endif
