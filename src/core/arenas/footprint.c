/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* footprint: used chunks, free chunks by piece, the sum, the peak. */
#include "footprint.h"

#include <string.h>

#include "../../base/arith.h"
#include "../serve/pool_streams.h"

#define PART(name) TARN_FOOTPRINT_PART_##name

/* --- used chunks, and chunks lent ------------------------------------------------------------------ */

/* Adds the live allocations of a part. Returns the bytes that they use. */
static size_t add_used(const struct tarn_pool *pool, const struct tn_part *part, size_t *part_bytes)
{
    size_t requested_bytes = part->stats.requested_bytes;
    size_t used_bytes = pool->passes_through ? requested_bytes : part->stats.used_bytes;
    size_t slice_bytes = tn_slices_free_bytes(&part->slices);
    part_bytes[PART(REQUESTED)] += requested_bytes;
    part_bytes[PART(SLICES)] += slice_bytes;
    part_bytes[PART(ROUNDING)] += used_bytes - requested_bytes - slice_bytes;
    return used_bytes;
}

/* Adds what an arena has borrowed. Returns how many bytes that is. */
static size_t add_arena(const struct tarn_pool *pool, struct tn_arena *arena, size_t *part_bytes)
{
    tn_biased_mutex_lock(&arena->lock);
    size_t lent_bytes = (size_t)arena->lent_chunk_count << pool->chunk_log2;
    size_t pending_bytes = (size_t)arena->part.index.pending_chunk_count << pool->chunk_log2;
    size_t used_bytes = add_used(pool, &arena->part, part_bytes);
    part_bytes[PART(PENDING)] += pending_bytes;
    part_bytes[PART(ARENAS)] += lent_bytes - used_bytes - pending_bytes;
    tn_biased_mutex_unlock(&arena->lock);
    return lent_bytes;
}

static size_t add_arenas(const struct tarn_pool *pool, size_t *part_bytes)
{
    size_t lent_bytes = 0;
    for (uint32_t i = 0; pool->arenas.loan_count > 0 && i < TN_ARENA_COUNT; i++) {
        struct tn_arena *arena = &pool->arenas.all[i];
        if (arena->loan_count > 0) lent_bytes += add_arena(pool, arena, part_bytes);
    }
    return lent_bytes;
}

/* --- free chunks of pieces that nothing shuts in ----------------------------------------------------- */

/* The part of free bytes in a piece that is wholly free. */
static tarn_footprint_part part_of_free(const struct tn_piece *piece)
{
    return piece->hold_count > 0 ? PART(ON_HOLD)
           : piece->is_initial   ? PART(INITIAL)
                                 : PART(WHOLLY_FREE);
}

size_t tn_footprint_bytes_of(const struct tarn_pool *pool, const struct tn_static_pool *owner,
                             const struct tn_region *region)
{
    uintptr_t address = tn_static_pool_address_of(owner, region->first_chunk);
    return tn_min((size_t)region->chunk_count << pool->chunk_log2, owner->end_address - address);
}

/* Returns the bytes of all chunks of the static pool. */
static size_t add_static_pool(const struct tarn_pool *pool, const struct tn_static_pool *owner,
                              uint32_t captures, size_t *part_bytes)
{
    const struct tn_region *regions = pool->own.index.regions;
    size_t chunk_bytes = owner->end_address - owner->first_address;
    part_bytes[PART(EDGES)] += owner->piece.size_bytes - chunk_bytes;
    if (!tn_region_index_span_is_free(&pool->own.index, owner->head, captures)) return chunk_bytes;
    for (uint32_t r = regions[owner->head].next; r != owner->head; r = regions[r].next) {
        if (tn_region_dependency(&regions[r]).streams == 0)
            part_bytes[part_of_free(&owner->piece)] +=
                tn_footprint_bytes_of(pool, owner, &regions[r]);
    }
    return chunk_bytes;
}

static size_t add_static_pools(const struct tarn_pool *pool, uint32_t captures, size_t *part_bytes)
{
    size_t chunk_bytes = 0;
    for (uint32_t i = 0; i < pool->list.count; i++)
        chunk_bytes +=
            add_static_pool(pool, pool->list.by_chunk[i].static_pool, captures, part_bytes);
    return chunk_bytes;
}

/* Whether all chunks of a step are free and no capture's. Its chunks in the region are. */
static bool is_step_free(const struct tarn_pool *pool, const struct tn_step *step, uint32_t region,
                         uint32_t captures)
{
    const struct tn_region *regions = pool->own.index.regions;
    uint32_t first_chunk = tn_unit_first_chunk(pool->range, step->first_unit);
    uint32_t end_chunk = first_chunk + step->piece.chunk_count, r = region;
    while (regions[r].first_chunk > first_chunk) {
        r = regions[r].previous;
        if (!tn_region_is_free_without(&regions[r], captures)) return false;
    }
    for (r = region; tn_region_end_chunk(&regions[r]) < end_chunk;) {
        r = regions[r].next;
        if (!tn_region_is_free_without(&regions[r], captures)) return false;
    }
    return true;
}

static void add_region_of_steps(const struct tarn_pool *pool, uint32_t region, uint32_t captures,
                                size_t *part_bytes)
{
    const struct tn_step_range *range = pool->range;
    const struct tn_region *r = &pool->own.index.regions[region];
    uint32_t chunk = r->first_chunk, end_chunk = tn_region_end_chunk(r);
    while (chunk < end_chunk) {
        const struct tn_step *step = range->unit_steps[tn_unit_of_chunk(range, chunk)];
        uint32_t step_end = tn_unit_first_chunk(range, step->first_unit) + step->piece.chunk_count;
        uint32_t next = (uint32_t)tn_min(end_chunk, step_end);
        if (is_step_free(pool, step, region, captures))
            part_bytes[part_of_free(&step->piece)] += (size_t)(next - chunk) << pool->chunk_log2;
        chunk = next;
    }
}

/* Whether free memory waits that is no capture's. Else each wholly free step lies in one region. */
static bool has_waiting(const struct tarn_pool *pool)
{
    return pool->own.index.pending_chunk_count > tn_pool_sum_captured(pool).chunk_count;
}

/* Looks at regions that wait for nothing. */
static size_t add_steps(const struct tarn_pool *pool, uint32_t captures, size_t *part_bytes)
{
    const struct tn_region_index *index = &pool->own.index;
    uint32_t least = has_waiting(pool) ? 1 : (uint32_t)1 << pool->range->unit_chunk_log2;
    uint64_t sets = tn_region_index_sets(index) & TN_FREE_SETS_IDLE;
    for (; sets != 0; sets &= sets - 1) {
        const struct tn_free_set *idle = &index->by_size[tn_lowest_bit(sets)];
        for (uint32_t region = tn_free_set_find(idle, index->regions, least);
             region != TN_REGION_NONE;
             region = tn_free_set_find_after(idle, index->regions, region, least))
            add_region_of_steps(pool, region, captures, part_bytes);
    }
    return (size_t)pool->pieces.joined_chunk_count << pool->chunk_log2;
}

/* --- the sum --------------------------------------------------------------------------------------- */

static void add_waiting(const struct tarn_pool *pool, size_t *part_bytes)
{
    uint32_t captured_count = tn_pool_sum_captured(pool).chunk_count;
    uint32_t pending_count = pool->own.index.pending_chunk_count - captured_count;
    part_bytes[PART(CAPTURED)] += (size_t)captured_count << pool->chunk_log2;
    part_bytes[PART(PENDING)] += (size_t)pending_count << pool->chunk_log2;
}

/* Its chunks may end beyond its memory, so regions are looked at one by one. */
static void add_waiting_passed_through(const struct tarn_pool *pool, uint32_t captures,
                                       size_t *part_bytes)
{
    const struct tn_region *regions = pool->own.index.regions;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *owner = pool->list.by_chunk[i].static_pool;
        const struct tn_region *region = &regions[regions[owner->head].next];
        if (region->state != TN_REGION_STATE_FREE) continue;
        size_t bytes = tn_footprint_bytes_of(pool, owner, region);
        if (!tn_region_is_free_without(region, captures))
            part_bytes[PART(CAPTURED)] += bytes;
        else if (tn_region_dependency(region).streams != 0)
            part_bytes[PART(PENDING)] += bytes;
    }
}

/* Bytes of free chunks, those of captures too. */
static size_t free_bytes(const size_t *part_bytes)
{
    size_t bytes = 0;
    for (size_t part = PART(CAPTURED); part <= PART(WHOLLY_FREE); part++)
        bytes += part_bytes[part];
    return bytes;
}

size_t tn_footprint_free_bytes(const size_t part_bytes[TARN_FOOTPRINT_PARTS_MAX])
{
    return free_bytes(part_bytes) - part_bytes[PART(CAPTURED)];
}

void tn_footprint_sum(const struct tarn_pool *pool, size_t part_bytes[TARN_FOOTPRINT_PARTS_MAX])
{
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t captures = tn_pool_held_streams(pool);
    memset(part_bytes, 0, TARN_FOOTPRINT_PARTS_MAX * sizeof *part_bytes);
    size_t chunk_bytes = pool->range ? add_steps(pool, captures, part_bytes)
                                     : add_static_pools(pool, captures, part_bytes);
    if (pool->passes_through)
        add_waiting_passed_through(pool, captures, part_bytes);
    else
        add_waiting(pool, part_bytes);
    size_t own_used_bytes = add_used(pool, &pool->own, part_bytes);
    size_t own_free_bytes = free_bytes(part_bytes);
    size_t lent_bytes = add_arenas(pool, part_bytes);
    part_bytes[PART(SHUT_IN)] = chunk_bytes - own_used_bytes - lent_bytes - own_free_bytes;
    part_bytes[PART(UNRELEASED)] = pool->own.stats.unreleased_bytes;
    part_bytes[PART(TRANSIT)] = pool->transit_bytes - pool->own.stats.unreleased_bytes;
}

/* --- the largest footprint --------------------------------------------------------------------------- */

bool tn_footprint_is_initial(const struct tarn_pool *pool, const struct tn_piece *arriving)
{
    const struct tn_growth_policy *growth = &pool->growth;
    if (pool->pieces.joined_count > 0 || pool->passes_through) return false;
    if (pool->is_over_callers_memory || growth->takes_all) return true;
    size_t bytes = arriving->size_bytes;
    for (const struct tn_piece *piece = pool->pieces.arriving.newest; piece; piece = piece->older)
        bytes += piece->size_bytes;
    size_t initial_bytes = growth->initial_bytes;
    size_t granule_bytes = pool->range ? pool->range->unit_bytes : growth->granularity_bytes;
    return initial_bytes > 0 && (bytes <= initial_bytes || bytes - initial_bytes < granule_bytes);
}

/* A look costs up to 70 ns for each piece and each region looked at. Each allocation pays for a part of one. */
static bool is_look_cheap(const struct tarn_pool *pool)
{
    enum {
        COUNT_ALWAYS = 500,
        ALLOCS_FOR_ONE = 16
    };
    uint64_t alloc_count = pool->own.stats.alloc_count - pool->peak.alloc_count;
    uint64_t count = pool->pieces.joined_count;
    if (pool->range && has_waiting(pool)) count += tn_region_index_free_count(&pool->own.index);
    return !pool->passes_through && count <= COUNT_ALWAYS + alloc_count / ALLOCS_FOR_ONE;
}

static void look(struct tarn_pool *pool)
{
    tn_footprint_sum(pool, pool->peak.part_bytes);
    pool->peak.alloc_count = pool->own.stats.alloc_count;
}

void tn_footprint_note_growth(struct tarn_pool *pool, const struct tn_piece *arrived)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    const struct tn_stats *stats = &pool->own.stats;
    if (stats->footprint_bytes < stats->footprint_bytes_max) return;
    /* Of pieces that come by one call, the first is looked at. */
    if (!arrived->older && is_look_cheap(pool)) look(pool);
    size_t bytes = 0;
    for (size_t part = 0; part < TN_FOOTPRINT_PART_COUNT; part++)
        bytes += pool->peak.part_bytes[part];
    pool->peak.part_bytes[PART(TRANSIT)] += stats->footprint_bytes - bytes;
}

void tn_footprint_reset_peak(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    look(pool);
}
