/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_steps: reserve, map, export, unmap. */
#include "pool_steps.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../arenas/gather.h"
#include "../serve/place.h"
#include "../serve/pool_streams.h"

#include "pool_callbacks.h"
#include "pool_options.h"

/* --- reserving ------------------------------------------------------------------------------ */

/* The steps of the range, by the options and the device. */
struct geometry {
    size_t step_bytes;
    uint32_t step_count; /* wished for */
};

/* Addresses from the backend, without memory. */
struct addresses {
    void *address;
    size_t size_bytes;
};

/* A table of an older backend may end before these two operations. */
static bool can_share(const tarn_backend_operations *operations)
{
    const size_t bytes_with_both =
        offsetof(tarn_backend_operations, range_export) + sizeof operations->range_export;
    return operations->struct_bytes >= bytes_with_both && operations->range_map_shareable &&
           operations->range_export;
}

static tarn_status check_ranges(const struct tarn_pool *pool)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    bool has_ranges = pool->range_granularity_bytes > 0 && operations->range_reserve &&
                      operations->range_release && operations->range_map && operations->range_unmap;
    if (!has_ranges) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "contiguous: the %s backend cannot map this kind of memory into a range of "
                       "addresses on this device",
                       operations->name);
    }
    if (!tn_is_power_of_two(pool->range_granularity_bytes)) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "the %s backend's properties make no sense: range granularity %zu bytes",
                       operations->name, pool->range_granularity_bytes);
    }
    if (pool->is_shareable && (!pool->has_shareable_ranges || !can_share(operations))) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "is_shareable: the %s backend cannot give what it maps into a range to "
                       "other processes, on this device and with this driver",
                       operations->name);
    }
    return TARN_STATUS_OK;
}

/* The range has many times the addresses that the pool can ever fill. If live regions lie scattered, no place
 * between them may be large enough for a request, although there is enough memory. Then there is one behind
 * them. */
#define RANGE_FACTOR 8

static uint32_t count_steps(size_t bytes_max, size_t step_bytes, unsigned chunk_log2)
{
    size_t step_count_max = ((size_t)TN_CHUNK_COUNT_MAX << chunk_log2) / step_bytes;
    return (uint32_t)tn_min(tn_max(bytes_max / step_bytes, 1), step_count_max / RANGE_FACTOR) *
           RANGE_FACTOR;
}

static tarn_status find_geometry(const struct tarn_pool *pool, const tarn_pool_options *options,
                                 struct geometry *geometry_out)
{
    struct geometry geometry;
    tarn_memory_info info = { .total_bytes = SIZE_MAX };
    size_t limit_bytes = pool->growth.limit_bytes;
    tarn_status status = check_ranges(pool);
    if (status != TARN_STATUS_OK) return status;
    tarn_backend_result result = tn_query_memory(&pool->backend, &info);
    if (result.status != TARN_STATUS_OK && result.status != TARN_STATUS_NOT_SUPPORTED) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "the %s backend does not tell how much memory there is",
                              pool->backend.operations->name);
    }
    size_t floor_bytes = tn_max(pool->range_granularity_bytes, options->chunk_bytes);
    geometry.step_bytes = options->step_bytes
                              ? tn_max(options->step_bytes, floor_bytes)
                              : tn_step_bytes_for(info.total_bytes, limit_bytes, floor_bytes);
    while (geometry.step_bytes > pool->growth.allocation_bytes_max &&
           geometry.step_bytes > floor_bytes)
        geometry.step_bytes /= 2;
    if (geometry.step_bytes > limit_bytes) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "the limit is %zu bytes, less than one step of %zu", limit_bytes,
                       geometry.step_bytes);
    }
    geometry.step_count =
        count_steps(tn_min(limit_bytes, info.total_bytes), geometry.step_bytes, pool->chunk_log2);
    *geometry_out = geometry;
    return TARN_STATUS_OK;
}

/* Asks for fewer and fewer addresses. The first step must begin at a multiple of its size. The backend does
 * not promise that, so some addresses are added. */
static tarn_backend_result reserve(struct tarn_pool *pool, struct geometry *geometry,
                                   struct addresses *reserved)
{
    tarn_backend_result result = { TARN_STATUS_OUT_OF_MEMORY, 0, NULL };
    for (; geometry->step_count > 0; geometry->step_count /= 2) {
        reserved->size_bytes = geometry->step_count * geometry->step_bytes +
                               (geometry->step_bytes - pool->range_granularity_bytes);
        result = tn_pool_meaning_of(pool->backend.operations->range_reserve(
            pool->backend.state, reserved->size_bytes, &reserved->address));
        if (result.status != TARN_STATUS_OUT_OF_MEMORY) break;
    }
    return result;
}

/* Makes the range the pool's one static pool. */
static bool insert_range(struct tarn_pool *pool, struct tn_step_range *range)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_static_pool *whole = range->static_pool;
    if (!tn_static_pool_list_reserve(&pool->list) ||
        !tn_region_index_reserve_span(&pool->own.index, 0, whole->chunk_count))
        return false;
    whole->first_chunk = 0;
    whole->head = tn_region_index_add_void_span(&pool->own.index, 0, whole->chunk_count);
    tn_static_pool_list_insert(&pool->list, whole);
    pool->range = range;
    return true;
}

/* Requires: growth_lock. False: no host memory. */
static bool add_range(struct tarn_pool *pool, const struct geometry *geometry,
                      const struct addresses *reserved)
{
    struct tn_step_range *range =
        tn_step_range_create(reserved->address, reserved->size_bytes, geometry->step_bytes,
                             geometry->step_count, pool->chunk_log2);
    if (!range) return false;
    tn_pool_lock_and_gather(pool);
    bool is_inserted = insert_range(pool, range);
    tn_pool_unlock(pool);
    if (is_inserted) return true;
    tn_static_pool_destroy(range->static_pool);
    tn_step_range_destroy(range);
    return false;
}

tarn_status tn_pool_reserve_range(struct tarn_pool *pool, const tarn_pool_options *options)
{
    struct geometry geometry = { 0, 0 };
    struct addresses reserved = { NULL, 0 };
    tarn_status status = find_geometry(pool, options, &geometry);
    if (status != TARN_STATUS_OK) return status;
    tarn_backend_result result = reserve(pool, &geometry, &reserved);
    if (result.status != TARN_STATUS_OK) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "the %s backend reserved no range of addresses",
                              pool->backend.operations->name);
    }
    tn_pool_lock_growth(pool);
    bool is_added = add_range(pool, &geometry, &reserved);
    tn_pool_unlock_growth(pool);
    if (is_added) return TARN_STATUS_OK;
    pool->backend.operations->range_release(pool->backend.state, reserved.address,
                                            reserved.size_bytes);
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                   "the host has no memory to describe a range of %zu bytes", reserved.size_bytes);
}

/* --- one step ------------------------------------------------------------------------------- */

/* Maps a taken step and counts it. On failure the step is as it was. */
static tarn_backend_result map_step(struct tarn_pool *pool, uint32_t step)
{
    struct tn_step_range *range = pool->range;
    tn_pool_lock(pool);
    pool->own.stats.vendor_alloc_count++;
    tn_pool_unlock(pool);
    const tarn_backend_operations *operations = pool->backend.operations;
    tarn_backend_result (*map)(void *, void *, size_t, tarn_mapping *) =
        pool->is_shareable ? operations->range_map_shareable : operations->range_map;
    tarn_backend_result result =
        tn_pool_meaning_of(map(pool->backend.state, tn_step_address(range, step), range->step_bytes,
                               &range->steps[step].mapping));
    if (result.status != TARN_STATUS_OK) return result;
    range->steps[step].id = tn_static_pool_take_id();
    range->steps[step].told = 0;
    tn_pool_count_arrival(pool, range->step_bytes);
    return result;
}

/* Unmaps a step in transit. If the vendor refuses, or must not be asked now, the step is refused. was_refused: it was
 * before. */
static tarn_backend_result unmap_step(struct tarn_pool *pool, uint32_t step, bool was_refused)
{
    struct tn_step_range *range = pool->range;
    tarn_backend_result result = { TARN_STATUS_NOT_READY, 0, NULL };
    tn_pool_allow(pool, tn_step_address(range, step), range->step_bytes);
    if (tn_pool_may_release(pool)) {
        result =
            pool->backend.operations->range_unmap(pool->backend.state, tn_step_address(range, step),
                                                  range->step_bytes, range->steps[step].mapping);
        if (result.status == TARN_STATUS_NOT_READY) result.status = TARN_STATUS_VENDOR_ERROR;
    }
    tn_pool_lock_and_gather(pool);
    tn_pool_count_release(pool, range->step_bytes, was_refused, result);
    if (result.status == TARN_STATUS_OK) {
        tn_step_range_leave(range, &pool->own.index, step);
    } else {
        tn_step_range_refuse(range, step);
    }
    tn_pool_unlock(pool);
    return result;
}

static void tell_created(struct tarn_pool *pool, uint32_t step)
{
    struct tn_step_range *range = pool->range;
    tn_pool_tell_created(pool, tn_step_address(range, step), range->step_bytes,
                         range->steps[step].id, &range->steps[step].told);
}

static void tell_destroyed(struct tarn_pool *pool, uint32_t step)
{
    const struct tn_step_range *range = pool->range;
    tn_pool_tell_destroyed(pool, tn_step_address(range, step), range->step_bytes,
                           range->steps[step].id, range->steps[step].told);
}

/* Makes a step in transit free, which has memory. Returns the free region that it is part of then. */
static uint32_t arrive(struct tarn_pool *pool, uint32_t step)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_step_range *range = pool->range;
    tn_pool_forbid(pool, tn_step_address(range, step), range->step_bytes);
    pool->transit_bytes -= range->step_bytes;
    return tn_step_range_arrive(range, &pool->own.index, step);
}

/* --- refused steps -------------------------------------------------------------------------- */

bool tn_pool_take_refused_steps_back(struct tarn_pool *pool)
{
    struct tn_step_range *range = pool->range;
    bool has_taken = false;
    uint32_t step = 0;
    while ((step = tn_step_range_next_refused(range, step)) != TN_STEP_NONE) {
        if (range->steps[step].dependency.streams != 0) {
            step++;
            continue;
        }
        tn_pool_lock_and_gather(pool);
        tn_step_range_retry(range, step);
        pool->own.stats.unreleased_bytes -= range->step_bytes;
        tn_pool_unlock(pool);
        range->steps[step].id = tn_static_pool_take_id();
        range->steps[step].told = 0;
        range->steps[step].is_leaving = false;
        tell_created(pool, step);
        tn_pool_lock_and_gather(pool);
        arrive(pool, step);
        tn_pool_unlock(pool);
        has_taken = true;
    }
    return has_taken;
}

static void release_refused(struct tarn_pool *pool, struct tn_giving_back *given)
{
    struct tn_step_range *range = pool->range;
    uint32_t step = 0;
    if (!tn_pool_may_release(pool)) return;
    for (; (step = tn_step_range_next_refused(range, step)) != TN_STEP_NONE; step++) {
        tn_pool_lock_and_gather(pool);
        tn_step_range_retry(range, step);
        tn_pool_unlock(pool);
        tn_giving_back_count(given, range->step_bytes, unmap_step(pool, step, true));
    }
}

/* --- taking missing steps ------------------------------------------------------------------- */

/* Steps that the options ask for at first. */
static uint32_t count_initial(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    const struct tn_step_range *range = pool->range;
    if (pool->own.stats.footprint_bytes > 0) return 0;
    if (pool->growth.takes_all) return range->step_count;
    return (uint32_t)tn_min(
        tn_count_units(pool->growth.initial_bytes, tn_lowest_bit(range->step_bytes)),
        range->step_count);
}

/* Steps that the limit still allows. */
static uint32_t count_allowed(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    size_t left_bytes = pool->growth.limit_bytes - pool->own.stats.footprint_bytes;
    return (uint32_t)tn_min(left_bytes / pool->range->step_bytes, TN_CHUNK_COUNT_MAX);
}

/* Takes the unmapped steps in [first, end), at most `count`, and adds them to a list. Returns how many; fewer
 * if there is no host memory. */
static uint32_t take_steps(struct tarn_pool *pool, uint32_t first, uint32_t end, uint32_t count,
                           uint32_t **link)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_step_range *range = pool->range;
    uint32_t taken_count = 0;
    for (uint32_t step = first; step < end && taken_count < count; step++) {
        if (range->steps[step].state != TN_STEP_STATE_UNMAPPED) continue;
        if (!tn_step_range_take(range, &pool->own.index, step)) break;
        range->steps[step].next = TN_STEP_NONE;
        **link = step;
        *link = &range->steps[step].next;
        taken_count++;
    }
    return taken_count;
}

/* Undoes the take of a list of steps that are not mapped. */
static void leave_all(struct tarn_pool *pool, uint32_t first)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    for (uint32_t step = first; step != TN_STEP_NONE; step = pool->range->steps[step].next)
        tn_step_range_leave(pool->range, &pool->own.index, step);
}

/* Streams, a bit each, whose free memory the request may have without a wait. */
static uint32_t own_streams(const struct tarn_pool *pool, const struct tn_request *request)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t stream;
    bool is_known = tn_pool_find_introduced_stream(pool, request->stream, &stream);
    return is_known && stream != TN_STREAM_NONE ? (uint32_t)1 << stream : 0;
}

/* Takes the steps that the plan misses, then those that the options ask for at first. */
static tarn_status take_planned(struct tarn_pool *pool, struct tn_step_plan *plan)
{
    struct tn_step_range *range = pool->range;
    uint32_t *link = &plan->first_step, allowed_count = count_allowed(pool);
    uint32_t first = tn_step_of_chunk(range, plan->first_chunk);
    uint32_t end = tn_step_of_chunk(range, plan->first_chunk + plan->chunk_count - 1) + 1;
    if (plan->missing_count > allowed_count) return TARN_STATUS_OVER_LIMIT;
    uint32_t initial_count = count_initial(pool);
    if (take_steps(pool, first, end, plan->missing_count, &link) < plan->missing_count) {
        leave_all(pool, plan->first_step);
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    uint32_t more_count = (uint32_t)tn_min(initial_count, allowed_count);
    if (more_count > plan->missing_count)
        take_steps(pool, end, range->step_count, more_count - plan->missing_count, &link);
    return TARN_STATUS_OK;
}

/* OVER_LIMIT: the limit forbids it. OUT_OF_MEMORY: the range has no such place. OUT_OF_HOST_MEMORY. */
static tarn_status plan_and_take(struct tarn_pool *pool, const struct tn_request *request,
                                 struct tn_step_plan *plan)
{
    size_t needed = (size_t)request->chunk_count << pool->chunk_log2;
    if (needed > pool->growth.limit_bytes) return TARN_STATUS_OVER_LIMIT;
    if (!tn_step_range_plan(pool->range, &pool->own.index, request->chunk_count,
                            request->alignment_bytes, own_streams(pool, request), plan))
        return pool->own.stats.used_bytes > pool->growth.limit_bytes - needed
                   ? TARN_STATUS_OVER_LIMIT
                   : TARN_STATUS_OUT_OF_MEMORY;
    return take_planned(pool, plan);
}

/* --- mapping -------------------------------------------------------------------------------- */

/* Maps the steps of a list in order, up to the first failure. The others leave the list again. Returns how
 * many are mapped. */
static uint32_t map_all(struct tarn_pool *pool, uint32_t *first, tarn_backend_result *result_out)
{
    uint32_t *link = first, mapped_count = 0;
    *result_out = TARN_BACKEND_RESULT_OK;
    while (*link != TN_STEP_NONE) {
        *result_out = map_step(pool, *link);
        if (result_out->status != TARN_STATUS_OK) break;
        link = &pool->range->steps[*link].next;
        mapped_count++;
    }
    tn_pool_lock(pool);
    leave_all(pool, *link);
    tn_pool_unlock(pool);
    *link = TN_STEP_NONE;
    return mapped_count;
}

tarn_backend_result tn_pool_map_steps(struct tarn_pool *pool, const struct tn_request *request,
                                      struct tn_step_plan *plan_out)
{
    const struct tn_step_range *range = pool->range;
    struct tn_step_plan plan = { .first_step = TN_STEP_NONE };
    tn_pool_lock(pool);
    tarn_backend_result result = { plan_and_take(pool, request, &plan), 0, NULL };
    tn_pool_unlock(pool);
    plan_out->missing_count = plan.missing_count;
    if (result.status != TARN_STATUS_OK) return result;

    uint64_t begun_ns = tn_log_clock_ns(TARN_LOG_LEVEL_INFO);
    uint32_t mapped_count = map_all(pool, &plan.first_step, &result);
    struct tn_refusals refusals = { .count = 0 };
    if (result.status != TARN_STATUS_OK) tn_refusals_count(&refusals, range->step_bytes, result);
    tn_pool_tell_refusals(pool, &refusals);
    if (mapped_count < plan.missing_count) {
        uint64_t before = pool->change_count;
        for (uint32_t step = plan.first_step, next; step != TN_STEP_NONE; step = next) {
            next = range->steps[step].next;
            (void)unmap_step(pool, step, false);
        }
        pool->change_count = before; /* all is as it was */
        return result;
    }
    tn_pool_tell_growth(pool, request->size_bytes, mapped_count * range->step_bytes, begun_ns);
    for (uint32_t step = plan.first_step; step != TN_STEP_NONE; step = range->steps[step].next)
        tell_created(pool, step);
    *plan_out = plan;
    return TARN_BACKEND_RESULT_OK;
}

/* The region in which a chunk of the range lies. Walks there from a region near it. */
static uint32_t find_region(const struct tarn_pool *pool, uint32_t region, uint32_t chunk)
{
    const struct tn_region *regions = pool->own.index.regions;
    while (regions[region].first_chunk > chunk)
        region = regions[region].previous;
    while (tn_region_end_chunk(&regions[region]) <= chunk)
        region = regions[region].next;
    return region;
}

/* Makes one region of the free regions in the planned place, if together they hold it. */
static void unite_place(struct tarn_pool *pool, uint32_t near, uint32_t streams,
                        const struct tn_step_plan *plan)
{
    const struct tn_region *regions = pool->own.index.regions;
    uint32_t region = find_region(pool, near, plan->first_chunk);
    uint32_t end_chunk = plan->first_chunk + plan->chunk_count;
    struct tn_region_run run = { .first = region };
    while (tn_region_index_is_free_for(&pool->own.index, region, streams)) {
        run.region_count++;
        run.chunk_count += regions[region].chunk_count;
        if (tn_region_end_chunk(&regions[region]) >= end_chunk) {
            if (run.region_count > 1) tn_region_index_unite_run(&pool->own.index, &run);
            return;
        }
        region = regions[region].next;
    }
}

void tn_pool_insert_steps(struct tarn_pool *pool, const struct tn_request *request,
                          const struct tn_step_plan *plan)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_step_range *range = pool->range;
    uint32_t region = pool->own.index.regions[range->static_pool->head].next;
    for (uint32_t step = plan->first_step; step != TN_STEP_NONE; step = range->steps[step].next)
        region = arrive(pool, step);
    /* While the pool knows one stream, free regions that touch have coalesced. */
    if (pool->streams) unite_place(pool, region, own_streams(pool, request), plan);
}

/* --- exporting ------------------------------------------------------------------------------ */

/* The step in which the address has memory, or TN_STEP_NONE. Requires: growth_lock. Under growth_lock a step
 * in transit has memory too: it is mapped and unmapped without letting go of growth_lock, which is only let
 * go while the user is told. */
static uint32_t find_step(const struct tarn_pool *pool, uintptr_t address)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    const struct tn_step_range *range = pool->range;
    struct tn_place place;
    if (!tn_place_locate(pool, address, &place)) return TN_STEP_NONE;
    uint32_t step = tn_step_of_chunk(range, place.chunk);
    bool has_memory =
        tn_place_find_live(pool, &place) || range->steps[step].state == TN_STEP_STATE_TRANSIT;
    return has_memory ? step : TN_STEP_NONE;
}

/* Requires: growth_lock. */
static tarn_status export_locked(struct tarn_pool *pool, uintptr_t address,
                                 tarn_exported_step *step_out)
{
    const struct tn_step_range *range = pool->range;
    tn_pool_lock_and_gather(pool);
    uint32_t step = find_step(pool, address);
    tn_pool_unlock(pool);
    if (step == TN_STEP_NONE) return TARN_STATUS_NOT_LIVE;

    void *base = tn_step_address(range, step);
    int file_descriptor;
    tarn_backend_result result = tn_pool_meaning_of(
        pool->backend.operations->range_export(pool->backend.state, base, range->step_bytes,
                                               range->steps[step].mapping, &file_descriptor));
    if (result.status != TARN_STATUS_OK) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "the %s backend gave no file descriptor of the step at %p: %s",
                              pool->backend.operations->name, base,
                              result.vendor_name ? result.vendor_name : "no reason");
    }
    *step_out = (tarn_exported_step){
        .struct_bytes = sizeof *step_out,
        .file_descriptor = file_descriptor,
        .base = base,
        .size_bytes = range->step_bytes,
        .offset_bytes = address - (uintptr_t)base,
        .id = range->steps[step].id,
    };
    return TARN_STATUS_OK;
}

tarn_status tn_pool_export(struct tarn_pool *pool, const void *address,
                           tarn_exported_step *step_out)
{
    tn_pool_lock_growth(pool);
    tarn_status status = export_locked(pool, (uintptr_t)address, step_out);
    tn_pool_unlock_growth(pool);
    return status;
}

/* --- unmapping ------------------------------------------------------------------------------ */

/* How many of the wholly free steps the rule lets go. */
static uint32_t count_releasable(const struct tarn_pool *pool, const struct tn_release_rule *rule)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    size_t step_bytes = pool->range->step_bytes;
    size_t held_bytes = pool->own.stats.footprint_bytes - pool->transit_bytes;
    if (tn_captures_are_under_way() || tn_pool_is_observed_anew(pool)) return 0;
    if (held_bytes <= rule->keep_bytes) return 0;
    if (rule->needs_empty && pool->own.stats.live_count > 0) return 0;
    size_t free_count =
        tn_step_range_count_free(pool->range, &pool->own.index, tn_pool_held_streams(pool));
    size_t kept_count = tn_max(rule->keep_free_bytes / step_bytes, rule->keeps_spare ? 1 : 0);
    if (free_count <= kept_count) return 0;
    size_t count = tn_min(free_count - kept_count, (held_bytes - rule->keep_bytes) / step_bytes);
    if (rule->enough_bytes > 0)
        count = tn_min(count, tn_count_units(rule->enough_bytes, tn_lowest_bit(step_bytes)));
    return (uint32_t)count;
}

/* Takes the steps that the rule lets go. Returns their list. */
static uint32_t take_releasable(struct tarn_pool *pool, const struct tn_release_rule *rule)
{
    tn_pool_lock_and_gather(pool);
    uint32_t count = count_releasable(pool, rule), first = TN_STEP_NONE;
    if (count > 0) {
        first = tn_step_range_take_free(pool->range, &pool->own.index, tn_pool_held_streams(pool),
                                        count);
    }
    for (uint32_t step = first; step != TN_STEP_NONE; step = pool->range->steps[step].next) {
        pool->range->steps[step].told = pool->newest_observer;
        pool->transit_bytes += pool->range->step_bytes;
    }
    tn_pool_unlock(pool);
    return first;
}

struct tn_giving_back tn_pool_release_free_steps(struct tarn_pool *pool,
                                                 const struct tn_release_rule *rule)
{
    const struct tn_step_range *range = pool->range;
    struct tn_giving_back given = { 0, 0, TARN_BACKEND_RESULT_OK };
    release_refused(pool, &given);
    for (uint32_t step = take_releasable(pool, rule), next; step != TN_STEP_NONE; step = next) {
        tell_destroyed(pool, step);
        /* An unmapped step may get into another list. */
        next = range->steps[step].next;
        tn_giving_back_count(&given, range->step_bytes, unmap_step(pool, step, false));
    }
    return given;
}

void tn_pool_allow_steps(const struct tarn_pool *pool)
{
    const struct tn_step_range *range = pool->range;
    for (uint32_t step = 0; step < range->step_count; step++) {
        if (range->steps[step].state == TN_STEP_STATE_MAPPED)
            tn_pool_allow(pool, tn_step_address(range, step), range->step_bytes);
    }
}

void tn_pool_tell_steps_end(struct tarn_pool *pool)
{
    for (uint32_t step = 0; step < pool->range->step_count; step++) {
        if (pool->range->steps[step].state != TN_STEP_STATE_MAPPED) continue;
        pool->range->steps[step].told = pool->newest_observer;
        tell_destroyed(pool, step);
    }
}

/* Unmaps a step at the end of the pool. Returns whether it has no memory. */
static bool unmap_at_end(struct tarn_pool *pool, uint32_t step)
{
    struct tn_step *ending = &pool->range->steps[step];
    if (ending->state != TN_STEP_STATE_MAPPED && ending->state != TN_STEP_STATE_REFUSED)
        return true;
    tarn_backend_result result = pool->backend.operations->range_unmap(
        pool->backend.state, tn_step_address(pool->range, step), pool->range->step_bytes,
        ending->mapping);
    if (result.status != TARN_STATUS_OK) return false;
    ending->state = TN_STEP_STATE_UNMAPPED;
    return true;
}

/* The addresses cannot be released before all steps are unmapped. So a step that the vendor refuses twice keeps the
 * addresses. */
void tn_pool_release_range(struct tarn_pool *pool)
{
    struct tn_step_range *range = pool->range;
    uint32_t unmapped_count = 0;
    tn_pool_allow_steps(pool);
    for (unsigned attempt = 0; attempt < 2 && unmapped_count < range->step_count; attempt++) {
        unmapped_count = 0;
        for (uint32_t step = 0; step < range->step_count; step++)
            unmapped_count += unmap_at_end(pool, step);
    }
    tn_pool_tell_lost(pool, (range->step_count - unmapped_count) * range->step_bytes);
    if (unmapped_count < range->step_count) return;
    pool->backend.operations->range_release(pool->backend.state, range->reserved,
                                            range->reserved_bytes);
}
