/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_slices: slices in a part of a pool: their chunks, their addresses and the counters.
 *
 *     alloc    the stream has a slab with a free slice? ── yes ──► its first free slice
 *                    │ no
 *                    ▼
 *              serve.c finds a free chunk and cuts it: its first slice
 *
 *     free     the slice becomes free; after the last live slice the slab is kept, or its chunk becomes free
 *
 * A chunk that is cut counts as used as a whole, and a slice adds nothing. So the used bytes are those of the
 * live regions, slabs included.
 *
 * Many programs allocate and free one small block again and again. To avoid cutting and freeing a chunk each
 * time, the part keeps a slab after its last slice is freed, one for each class and stream. The chunk of a kept
 * slab counts as free. tn_pool_lock_and_gather frees the kept slabs, so only allocations and frees see one.
 *
 * An arena has slabs of its own. They move to the pool together with the arena's regions.
 *
 * Requires: the lock of the part. Cost: O(1), and the cost of freeing a region.
 */
#ifndef TN_POOL_SLICES_H
#define TN_POOL_SLICES_H

#include "pool_labels.h"
#include "pool_struct.h"

/* Decides by the options whether the pool cuts chunks. */
void tn_pool_init_slices(struct tarn_pool *pool, const tarn_pool_options *options);

/* Allocates a slice in a slab of the stream. NULL: the stream can have none without waiting. */
static inline void *tn_pool_take_slice(struct tarn_pool *pool, struct tn_part *part,
                                       unsigned slice_class, size_t size_bytes, uint32_t stream);

/* Cuts the chunk of a free region that follows its first `lead` chunks. Requires room for a carve and for the
 * slab. Returns the slab, withheld. */
uint32_t tn_pool_cut_slab(struct tarn_pool *pool, struct tn_part *part, unsigned slice_class,
                          uint32_t region, uint32_t lead);

/* Allocates a slice of a slab, which may be withheld. */
void *tn_pool_hand_out_slice(struct tarn_pool *pool, struct tn_part *part, uint32_t slab,
                             size_t size_bytes);

/* Undoes tn_pool_hand_out_slice in the pool's own part. The slab is withheld, and goes back to `stream`. */
void tn_pool_put_slice_back(struct tarn_pool *pool, uint32_t slab, void *address, uint32_t stream);

/* Frees a live slice. Returns whether its chunk became free. */
static inline bool tn_pool_free_slice(struct tarn_pool *pool, struct tn_part *part, uint32_t slab,
                                      unsigned slice, struct tn_dependency dependency);

/* --- queries --- */

/* Requested bytes of the live slices of a slab of the pool's own part. */
size_t tn_pool_requested_of_slab(const struct tarn_pool *pool, uint32_t slab);

/* Frees the chunks of the kept slabs. */
void tn_pool_free_kept(struct tarn_pool *pool, struct tn_part *part);

/* Moves the slabs of an arena to the pool; their regions stay in the arena's index. Requires that the part
 * keeps no slab, and that the pool has promised room. Cost: O(slabs). */
void tn_pool_adopt_slabs(struct tarn_pool *pool, struct tn_part *part);

/* Compares the slabs with the regions. Returns NULL, or the first fault. */
const char *tn_pool_check_slices(const struct tarn_pool *pool);

/* --- the common case ------------------------------------------------------------------------- */

/* tn_pool_take_slice after the stream has no ready slab: takes over a slab of a stream that has ended, or uses
 * the slab of the stream that has waited longest, if the stream has waited for its pending slices since. */
void *tn_pool_take_covered_slice(struct tarn_pool *pool, struct tn_part *part, unsigned slice_class,
                                 size_t size_bytes, uint32_t stream);

/* Counts the chunk of a kept slab as used again. */
void tn_pool_use_kept_slab(const struct tarn_pool *pool, struct tn_part *part, uint32_t slab);

/* Keeps an empty slab, or frees its chunk. Returns whether it freed the chunk. */
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
    tn_pool_label(pool, part, address);
    return (void *)address;
}

static inline bool tn_pool_free_slice(struct tarn_pool *pool, struct tn_part *part, uint32_t slab,
                                      unsigned slice, struct tn_dependency dependency)
{
    uintptr_t address = tn_slices_address_of(&part->slices, slab, slice);
    uint32_t note = tn_slices_free(&part->slices, slab, slice, dependency);
    size_t size_bytes = tn_slice_note_size(note);
    tn_pool_forbid(pool, (void *)address, tn_slices_slice_bytes(&part->slices, slab));
    tn_stats_count_free(&part->stats, size_bytes, 0);
    tn_part_count_label_free(part, tn_slice_note_label(note), size_bytes);
    return TN_UNLIKELY(tn_slices_is_empty(&part->slices, slab)) &&
           tn_pool_end_slab(pool, part, slab);
}

#endif
