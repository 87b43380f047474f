/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_query: statistics, the allocation at an address, and the check of all metadata. */
#include "pool.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../arenas/gather.h"
#include "../serve/place.h"
#include "../serve/pool_labels.h"
#include "../serve/pool_streams.h"
#include "../arenas/pool_uses.h"
#include "../arenas/footprint.h"
#include "../supply/pool_options.h"
#include "../supply/supplier.h"

#include "pool_parts.h"

/* --- queries ----------------------------------------------------------------------------------- */

/* The counters. They count whole chunks, but an allocation of a pool that passes through uses only the
 * requested bytes. */
static struct tn_stats counted_stats(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_stats stats = pool->own.stats;
    if (!pool->passes_through) return stats;
    stats.used_bytes = stats.requested_bytes;
    stats.used_bytes_max = stats.requested_bytes_max;
    return stats;
}

static tarn_leaks leaks_locked(const struct tarn_pool *pool)
{
    tarn_leaks leaks = TARN_LEAKS_INIT;
    const struct tn_stats stats = counted_stats(pool);
    leaks.allocation_count = stats.live_count;
    leaks.requested_bytes = stats.requested_bytes;
    leaks.used_bytes = stats.used_bytes;
    return leaks;
}

tarn_leaks tn_pool_leaks(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    const tarn_leaks leaks = leaks_locked(pool);
    tn_pool_unlock(pool);
    return leaks;
}

tarn_leaks tn_pool_leaks_by_label(struct tarn_pool *pool, struct tn_label_stats *stats_out)
{
    tn_pool_lock_and_gather(pool);
    const tarn_leaks leaks = leaks_locked(pool);
    const struct tn_label_stats *stats = tn_label_stats_get(&pool->own.labels);
    if (stats)
        *stats_out = *stats;
    else
        stats_out->listed_count = 0;
    tn_pool_unlock(pool);
    return leaks;
}

bool tn_pool_label_stats(struct tarn_pool *pool, size_t index, tarn_label_stats *stats_out)
{
    tn_pool_lock_and_gather(pool);
    bool is_there = tn_label_stats_write(tn_label_stats_get(&pool->own.labels), index, stats_out);
    tn_pool_unlock(pool);
    return is_there;
}

void tn_pool_reset_peaks(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    struct tn_label_stats *stats = tn_label_stats_get(&pool->own.labels);
    tn_stats_reset_peaks(&pool->own.stats);
    tn_footprint_reset_peak(pool);
    if (stats) tn_label_stats_reset_peaks(stats);
    tn_pool_unlock(pool);
}

/* The address sanitizer reports an access behind the requested bytes. */
static size_t usable_bytes(const struct tarn_pool *pool, const struct tn_place *place)
{
    if (TN_HAS_ADDRESS_SANITIZER && pool->forbids_free_memory)
        return tn_place_size_bytes(pool, place);
    return tn_place_usable_bytes(pool, place);
}

static enum tn_find_result find_locked(struct tarn_pool *pool, uintptr_t address,
                                       tarn_allocation *found_out)
{
    struct tn_place place;
    if (!tn_place_locate(pool, address, &place)) {
        /* A few bytes of backing may lie before and after the chunks. */
        bool is_held = tn_static_pool_list_overlaps(&pool->list, address, 1);
        return is_held ? TN_FIND_RESULT_NOT_LIVE : TN_FIND_RESULT_FOREIGN;
    }
    if (!tn_place_find_live(pool, &place)) return TN_FIND_RESULT_NOT_LIVE;
    *found_out = (tarn_allocation){
        .struct_bytes = sizeof *found_out,
        .pool = pool,
        .address = (void *)tn_place_start(pool, &place),
        .size_bytes = tn_place_size_bytes(pool, &place),
        .usable_bytes = usable_bytes(pool, &place),
        .static_pool_base = place.owner->piece.base,
        .static_pool_bytes = place.owner->piece.size_bytes,
        .static_pool_id = place.owner->piece.id,
    };
    return TN_FIND_RESULT_FOUND;
}

enum tn_find_result tn_pool_find(struct tarn_pool *pool, const void *address,
                                 tarn_allocation *found_out)
{
    tn_pool_lock_and_gather(pool);
    enum tn_find_result result = find_locked(pool, (uintptr_t)address, found_out);
    tn_pool_unlock(pool);
    return result;
}

bool tn_pool_holds(struct tarn_pool *pool, const void *address)
{
    struct tn_place place;
    struct tn_part *part = tn_pool_lock_part_of(pool, (uintptr_t)address);
    bool is_found = tn_place_locate(pool, (uintptr_t)address, &place);
    tn_pool_unlock_part(pool, part);
    return is_found;
}

bool tn_pool_find_sizes(struct tarn_pool *pool, const void *address,
                        struct tn_allocation_sizes *sizes_out)
{
    struct tn_place place;
    struct tn_part *part = tn_pool_lock_part_of(pool, (uintptr_t)address);
    bool is_found = tn_place_locate(pool, (uintptr_t)address, &place) &&
                    tn_place_find_start(pool, part, &place);
    if (is_found) {
        sizes_out->size_bytes = tn_place_size_bytes(pool, &place);
        sizes_out->usable_bytes = usable_bytes(pool, &place);
        sizes_out->label = tn_place_label(&place);
    }
    tn_pool_unlock_part(pool, part);
    return is_found;
}

/* Of a pool that passes through, whose allocations end inside their last chunks. */
static size_t largest_passed_through_bytes(const struct tarn_pool *pool)
{
    const struct tn_region *regions = pool->own.index.regions;
    uint32_t captures = tn_pool_held_streams(pool);
    size_t largest_bytes = 0;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *owner = pool->list.by_chunk[i].static_pool;
        const struct tn_region *region = &regions[regions[owner->head].next];
        if (tn_region_is_free_without(region, captures))
            largest_bytes = tn_max(largest_bytes, tn_footprint_bytes_of(pool, owner, region));
    }
    return largest_bytes;
}

static size_t largest_free_bytes(const struct tarn_pool *pool)
{
    if (pool->passes_through) return largest_passed_through_bytes(pool);
    size_t count =
        tn_region_index_largest_free_without(&pool->own.index, tn_pool_held_streams(pool));
    return count << pool->chunk_log2;
}

static void sum_up_free(const struct tarn_pool *pool, tarn_stats *stats)
{
    stats->free_region_count =
        tn_region_index_free_count(&pool->own.index) - tn_pool_sum_captured(pool).region_count;
    stats->captured_bytes = stats->part_bytes[TARN_FOOTPRINT_PART_CAPTURED];
    stats->pending_bytes = stats->part_bytes[TARN_FOOTPRINT_PART_PENDING];
    stats->free_bytes = tn_footprint_free_bytes(stats->part_bytes);
    stats->largest_free_bytes = largest_free_bytes(pool);
    stats->fragmentation = stats->free_bytes > 0
                               ? 1.0 - (double)stats->largest_free_bytes / (double)stats->free_bytes
                               : 0.0;
}

static size_t metadata_bytes(const struct tarn_pool *pool)
{
    size_t list_bytes = ((size_t)pool->list.by_chunk_capacity + pool->list.by_address_capacity) *
                        sizeof *pool->list.by_chunk;
    size_t piece_bytes = pool->pieces.joined_count * pool->supplier->description_bytes;
    return sizeof *pool + list_bytes + tn_step_range_metadata_bytes(pool->range) + piece_bytes +
           tn_region_index_metadata_bytes(&pool->own.index) +
           tn_slices_metadata_bytes(&pool->own.slices) + tn_label_stats_bytes(&pool->own.labels) +
           tn_arenas_metadata_bytes(&pool->arenas);
}

void tn_pool_stats_locked(const struct tarn_pool *pool, tarn_stats *stats_out)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(!tn_arenas_are_active(&pool->arenas));
    const struct tn_stats counted = counted_stats(pool);
    *stats_out = (tarn_stats){
        .struct_bytes = sizeof *stats_out,
        .requested_bytes = counted.requested_bytes,
        .requested_bytes_max = counted.requested_bytes_max,
        .used_bytes = counted.used_bytes,
        .used_bytes_max = counted.used_bytes_max,
        .footprint_bytes = counted.footprint_bytes,
        .footprint_bytes_max = counted.footprint_bytes_max,
        .live_count = counted.live_count,
        .live_count_max = counted.live_count_max,
        .static_pool_count = pool->pieces.joined_count,
        .alloc_count = counted.alloc_count,
        .free_count = counted.free_count,
        .failed_count = counted.failed_count,
        .vendor_alloc_count = counted.vendor_alloc_count,
        .vendor_free_count = counted.vendor_free_count,
        .vendor_refusal_count = counted.vendor_refusal_count,
        .unreleased_bytes = counted.unreleased_bytes,
        .metadata_bytes = metadata_bytes(pool),
    };
    for (unsigned i = 0; i < TARN_STATS_HISTOGRAM_BINS; i++) {
        stats_out->size_histogram[i] = counted.size_histogram[i];
    }
    tn_footprint_sum(pool, stats_out->part_bytes);
    memcpy(stats_out->peak_part_bytes, pool->peak.part_bytes, sizeof pool->peak.part_bytes);
    sum_up_free(pool, stats_out);
}

void tn_pool_stats(struct tarn_pool *pool, tarn_stats *stats_out)
{
    size_t part_bytes[TARN_FOOTPRINT_PARTS_MAX];
    tn_pool_lock(pool);
    bool has_arenas = tn_arenas_are_active(&pool->arenas);
    if (has_arenas) {
        tn_arenas_close(pool);
        tn_footprint_sum(pool, part_bytes);
        tn_arenas_gather(pool);
    }
    tn_pool_gather(pool);
    tn_pool_stats_locked(pool, stats_out);
    tn_pool_unlock(pool);
    if (has_arenas) memcpy(stats_out->part_bytes, part_bytes, sizeof part_bytes);
}

/* The free bytes of the pool, and the bytes by which its limit lets it grow. */
static void sum_up_room(struct tarn_pool *pool, size_t *free_bytes_out, size_t *growth_bytes_out)
{
    size_t part_bytes[TARN_FOOTPRINT_PARTS_MAX];
    tn_pool_lock_and_gather(pool);
    tn_footprint_sum(pool, part_bytes);
    *growth_bytes_out = pool->growth.limit_bytes - pool->own.stats.footprint_bytes;
    tn_pool_unlock(pool);
    *free_bytes_out = tn_footprint_free_bytes(part_bytes);
}

tarn_status tn_pool_available(struct tarn_pool *pool, size_t *available_bytes_out)
{
    tarn_memory_info info = { 0 };
    size_t free_bytes, growth_bytes;
    sum_up_room(pool, &free_bytes, &growth_bytes);
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    if (growth_bytes > 0) result = tn_query_memory(&pool->backend, &info);
    if (result.status != TARN_STATUS_OK) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "the %s backend does not tell how much memory is free",
                              pool->backend.operations->name);
    }
    *available_bytes_out = free_bytes + tn_min(info.free_bytes, growth_bytes);
    return TARN_STATUS_OK;
}

/* --- check ------------------------------------------------------------------------------------- */

/* Compares the sums over the pieces of the pool with them. */
static const char *check_pieces(const struct tarn_pool *pool)
{
    struct tn_pieces sums = { .joined_count = 0 };
    for (const struct tn_piece *piece = pool->pieces.joined.newest; piece; piece = piece->older) {
        if (piece->state != TN_PIECE_STATE_JOINED)
            return "a piece of the pool looks as if it were not";
        sums.joined_count++;
        sums.joined_bytes += piece->size_bytes;
        sums.joined_chunk_count += piece->chunk_count;
        sums.held_count += piece->hold_count > 0;
    }
    if (sums.joined_count != pool->pieces.joined_count || sums.held_count > pool->pieces.held_count)
        return "the count of pieces is wrong";
    if (sums.joined_bytes != pool->pieces.joined_bytes ||
        sums.joined_chunk_count != pool->pieces.joined_chunk_count)
        return "the sums over the pieces are wrong";
    return NULL;
}

/* A part that is too large has taken its bytes from another one, which then wraps. */
static const char *check_parts(const struct tarn_pool *pool)
{
    size_t part_bytes[TARN_FOOTPRINT_PARTS_MAX], bytes = 0;
    tn_footprint_sum(pool, part_bytes);
    for (size_t part = 0; part < TN_FOOTPRINT_PART_COUNT; part++) {
        if (part_bytes[part] > pool->own.stats.footprint_bytes)
            return "a part of the footprint is larger than the footprint";
        bytes += part_bytes[part];
    }
    return bytes == pool->own.stats.footprint_bytes
               ? NULL
               : "the parts of the footprint are not the footprint";
}

/* Compares the counters with the pieces and the live regions. */
static const char *check_sums(const struct tarn_pool *pool)
{
    const struct tn_region_index *index = &pool->own.index;
    size_t used = 0, requested = 0;
    for (uint32_t region = 0; region < index->fresh; region++) {
        const struct tn_region *r = &index->regions[region];
        if (r->state != TN_REGION_STATE_LIVE) continue;
        size_t chunk_bytes = (size_t)r->chunk_count << pool->chunk_log2;
        used += chunk_bytes;
        requested += tn_region_is_slab(r)
                         ? tn_pool_requested_of_slab(pool, tn_region_slab(r))
                         : chunk_bytes - tn_region_slack_bytes(r, index->slack_mask);
    }
    if (pool->pieces.joined_bytes + pool->transit_bytes != pool->own.stats.footprint_bytes)
        return "the footprint is not the sum of the static pools";
    if (tn_live_map_live_count(&index->live) - pool->own.slices.slab_count +
            tn_slices_live_count(&pool->own.slices) !=
        pool->own.stats.live_count)
        return "the live count is wrong";
    if (used != pool->own.stats.used_bytes)
        return "the used bytes are not those of the live regions";
    if (requested != pool->own.stats.requested_bytes) return "the requested bytes do not add up";
    const struct tn_stats exact = counted_stats(pool);
    const char *fault = tn_stats_check(&exact);
    return fault ? fault : check_parts(pool);
}

/* Returns NULL or the first fault, and in *id_out the static pool that has it, or 0. */
static const char *check_locked(struct tarn_pool *pool, uint64_t *id_out)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(!tn_arenas_are_active(&pool->arenas));
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *static_pool = pool->list.by_chunk[i].static_pool;
        *id_out = static_pool->piece.id;
        const char *fault =
            tn_region_index_check_span(&pool->own.index, static_pool->head,
                                       static_pool->first_chunk, static_pool->piece.chunk_count);
        if (fault) return fault;
    }
    *id_out = 0;
    const char *fault = tn_region_index_check(&pool->own.index);
    if (!fault) fault = tn_pool_check_slices(pool);
    if (!fault) fault = tn_static_pool_list_check(&pool->list);
    if (!fault) fault = check_pieces(pool);
    if (!fault && pool->range) fault = tn_step_range_check(pool->range, &pool->own.index);
    if (!fault) fault = tn_remote_frees_check(&pool->arenas.remote);
    if (!fault) fault = tn_pool_check_uses(pool);
    if (fault) return fault;
    if (pool->own.index.span_count != pool->list.count) {
        return "the list of static pools and the region index have lost count";
    }
    fault = check_sums(pool);
    return fault ? fault : tn_pool_check_labels(pool);
}

tarn_status tn_pool_check(struct tarn_pool *pool)
{
    uint64_t id = 0;
    tn_pool_lock_and_gather(pool);
    const char *fault = check_locked(pool, &id);
    tn_pool_unlock(pool);
    if (!fault) return TARN_STATUS_OK;
    if (id == 0) return tn_fail(TARN_STATUS_CORRUPT, "%s", fault);
    return tn_fail(TARN_STATUS_CORRUPT, "static pool %llu: %s", (unsigned long long)id, fault);
}
