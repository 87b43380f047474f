/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_slices: small requests in a pool: which chunk a slice lies in, what becomes of that chunk, and the
 * counters.
 *
 *     alloc    a slab of the stream's with something free? ── yes ──► its first free slice
 *                    │ no
 *                    ▼
 *              a chunk, which pool.c finds, is cut: its first slice
 *
 *     free     the slice is free; with the last of a slab its chunk is, too
 *
 * An allocation uses a chunk when it is cut, not when a further slice of it is handed out. So used bytes are
 * those of the live regions, slabs among them.
 *
 * Many programs have a small block at a time, again and again, and for each a chunk would be cut and freed. So a
 * slab whose last slice is freed is kept for its stream, where it has no other; that chunk is not used. It is the
 * short way's affair alone: whoever locks the pool for anything else frees what is kept first, as with arenas.
 *
 * An arena has slabs of its own, which become the pool's with the rest of it. What takes no part is the pool's
 * alone, and for when there are no arenas.
 *
 * Threads: under `lock`, be it as it is, resp. the arena's, but for the queries. Cost: O(1), and what freeing a
 * region costs.
 */
#ifndef TN_POOL_SLICES_H
#define TN_POOL_SLICES_H

#include "pool_struct.h"
#include "pool_watch.h"

/* Whether options cut chunks. */
void tn_pool_init_slices(struct tarn_pool *pool, const tarn_pool_options *options);

/* Makes a slice live that the stream may have, though it has pending ones of its own. NULL: there is none. */
static inline void *tn_pool_take_slice(struct tarn_pool *pool, struct tn_part part,
                                       unsigned slice_class, size_t size_bytes, uint32_t stream);

/* Cuts a chunk of a free region, the one after the first `lead`. Room for a carve and for the slab must be
 * reserved. Returns the slab, withheld. */
uint32_t tn_pool_cut_slab(struct tarn_pool *pool, struct tn_part part, unsigned slice_class,
                          uint32_t region, uint32_t lead);

/* A slab that somebody else has, or the stream itself but all of it pending, and that waits for no other streams than
 * it has waited for or, with may_wait, can be made to wait for; or TN_SLAB_NONE. The last under growth_lock. */
uint32_t tn_pool_find_other_slab(const struct tarn_pool *pool, unsigned slice_class,
                                 uint32_t stream, bool may_wait);

/* Makes a slice of a slab live, be it withheld. */
void *tn_pool_hand_out_slice(struct tarn_pool *pool, struct tn_part part, uint32_t slab,
                             size_t size_bytes);

/* Undoes that, of a slab which is withheld and was `stream`'s before. */
void tn_pool_put_slice_back(struct tarn_pool *pool, uint32_t slab, void *address, uint32_t stream);

enum tn_free_slice_result {
    TN_FREE_SLICE_RESULT_NOT_LIVE, /* there starts none that is live */
    TN_FREE_SLICE_RESULT_FREED,
    TN_FREE_SLICE_RESULT_SLAB_FREED /* and with it the chunk */
};
static inline enum tn_free_slice_result tn_pool_free_slice(struct tarn_pool *pool,
                                                           struct tn_part part, uint32_t slab,
                                                           uintptr_t address,
                                                           struct tn_dependency dependency);

/* Another size for the live slice that starts at the address. False: it is larger than the slice. */
bool tn_pool_resize_slice(struct tarn_pool *pool, const struct tn_static_pool *owner,
                          uintptr_t address, size_t size_bytes);

/* --- queries --- */

/* Where an allocation lies. */
struct tn_place {
    uintptr_t address;
    size_t size_bytes;   /* that were asked for */
    size_t usable_bytes; /* of its chunks or its slice */
    bool is_slice;
};

/* The live allocation, slice or not, that an address lies in. False: none. */
bool tn_pool_find_place(const struct tarn_pool *pool, const struct tn_static_pool *owner,
                        uintptr_t address, struct tn_place *place_out);

/* Bytes that were asked for of the slices of a slab. */
size_t tn_pool_requested_of_slab(const struct tarn_pool *pool, uint32_t slab);

/* Frees the chunks of slabs that are kept. */
void tn_pool_free_kept_in(struct tarn_pool *pool, struct tn_part part);

/* The slabs of a part, of which none is kept, are the pool's, but for their regions. Room is promised. Cost: O(slabs). */
void tn_pool_adopt_slabs(struct tarn_pool *pool, struct tn_part part);

/* NULL, or what is wrong with the slabs, and with what the region index has of them. */
const char *tn_pool_check_slices(const struct tarn_pool *pool);

/* --- the short way --------------------------------------------------------------------------- */

/* tn_pool_take_slice where the stream has no slab of which it knows that something is free. */
void *tn_pool_take_covered_slice(struct tarn_pool *pool, struct tn_part part, unsigned slice_class,
                                 size_t size_bytes, uint32_t stream);

/* The chunk of a kept slab is used again. */
void tn_pool_use_kept_slab(const struct tarn_pool *pool, struct tn_part part, uint32_t slab);

/* Keeps an empty slab, or gives its chunk up. */
enum tn_free_slice_result tn_pool_end_slab(struct tarn_pool *pool, struct tn_part part,
                                           uint32_t slab);

static inline void *tn_pool_take_slice(struct tarn_pool *pool, struct tn_part part,
                                       unsigned slice_class, size_t size_bytes, uint32_t stream)
{
    const struct tn_slice_class *c = &part.slices->classes[slice_class];
    uint32_t index = c->ready[tn_slab_list_of(stream)];
    if (TN_UNLIKELY(index == TN_SLAB_INDEX_NONE))
        return tn_pool_take_covered_slice(pool, part, slice_class, size_bytes, stream);
    const struct tn_slab *s = &c->slabs[index];
    if (TN_UNLIKELY(s->free == c->all))
        tn_pool_use_kept_slab(pool, part, slice_class << TN_SLAB_INDEX_BITS | index);
    unsigned slice = tn_slices_take_at(part.slices, slice_class, index, size_bytes);
    uintptr_t address = s->address + ((uintptr_t)slice << c->slice_log2);
    tn_stats_count_alloc(part.stats, size_bytes, 0);
    tn_pool_allow(pool, (void *)address, size_bytes);
    /* Here a device address becomes a pointer. */
    return (void *)address;
}

static inline enum tn_free_slice_result tn_pool_free_slice(struct tarn_pool *pool,
                                                           struct tn_part part, uint32_t slab,
                                                           uintptr_t address,
                                                           struct tn_dependency dependency)
{
    const struct tn_slice_class *c = tn_slices_class_of(part.slices, slab);
    uintptr_t offset = address - c->slabs[tn_slab_index(slab)].address;
    unsigned slice = (unsigned)(offset >> c->slice_log2);
    bool is_start = (uintptr_t)slice << c->slice_log2 == offset;
    if (TN_UNLIKELY(!is_start || !tn_slices_is_live(part.slices, slab, slice)))
        return TN_FREE_SLICE_RESULT_NOT_LIVE;
    size_t size_bytes = tn_slices_free(part.slices, slab, slice, dependency);
    tn_pool_forbid(pool, (void *)address, (size_t)1 << c->slice_log2);
    tn_stats_count_free(part.stats, size_bytes, 0);
    if (TN_LIKELY(!tn_slices_is_empty(part.slices, slab))) return TN_FREE_SLICE_RESULT_FREED;
    return tn_pool_end_slab(pool, part, slab);
}

#endif
