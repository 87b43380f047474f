/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_steps: plan, map, export, unmap. The life of the range is in pool_range.c. */
#include "pool_steps.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../arenas/gather.h"
#include "../serve/place.h"
#include "../serve/pool_streams.h"

#include "pool_callbacks.h"

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
        tn_pool_meaning_of(map(pool->backend.state, tn_step_address(range, step),
                               tn_step_bytes(range, step), &range->steps[step].mapping));
    if (result.status != TARN_STATUS_OK) return result;
    range->steps[step].id = tn_static_pool_take_id();
    range->steps[step].told = 0;
    tn_pool_count_arrival(pool, tn_step_bytes(range, step));
    return result;
}

/* Unmaps a step in transit. If the vendor refuses, or must not be asked now, the step is refused. was_refused: it was
 * before. */
static tarn_backend_result unmap_step(struct tarn_pool *pool, uint32_t step, bool was_refused)
{
    struct tn_step_range *range = pool->range;
    tarn_backend_result result = { TARN_STATUS_NOT_READY, 0, NULL };
    tn_pool_allow(pool, tn_step_address(range, step), tn_step_bytes(range, step));
    if (tn_pool_may_release(pool)) {
        result = pool->backend.operations->range_unmap(
            pool->backend.state, tn_step_address(range, step), tn_step_bytes(range, step),
            range->steps[step].mapping);
        if (result.status == TARN_STATUS_NOT_READY) result.status = TARN_STATUS_VENDOR_ERROR;
    }
    tn_pool_lock_and_gather(pool);
    tn_pool_count_release(pool, tn_step_bytes(range, step), was_refused, result);
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
    tarn_observer told; /* steps may move while the user is told */
    tn_pool_tell_created(pool, tn_step_address(range, step), tn_step_bytes(range, step),
                         range->steps[step].id, &told);
    range->steps[step].told = told;
}

static void tell_destroyed(struct tarn_pool *pool, uint32_t step)
{
    const struct tn_step_range *range = pool->range;
    tn_pool_tell_destroyed(pool, tn_step_address(range, step), tn_step_bytes(range, step),
                           range->steps[step].id, range->steps[step].told);
}

/* Makes a step in transit free, which has memory. Returns the free region that it is part of then. */
static uint32_t arrive(struct tarn_pool *pool, uint32_t step)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_step_range *range = pool->range;
    tn_pool_forbid(pool, tn_step_address(range, step), tn_step_bytes(range, step));
    pool->transit_bytes -= tn_step_bytes(range, step);
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
        pool->own.stats.unreleased_bytes -= tn_step_bytes(range, step);
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
        size_t size_bytes = tn_step_bytes(range, step);
        tn_giving_back_count(given, size_bytes, unmap_step(pool, step, true));
    }
}

/* --- planning growth ------------------------------------------------------------------------ */

/* Steps in transit, in the order of addresses. */
struct step_list {
    uint32_t first, last; /* TN_STEP_NONE: it is empty */
};

/* Growth for one request. The counts are of units. */
struct growth {
    struct tn_step_plan plan;
    struct step_list steps;
    uint32_t end_unit;       /* of the place, or of the wish behind it */
    uint32_t wish_count;     /* at least as many as the plan misses */
    uint32_t step_count_max; /* the most in a step */
    uint32_t unit_count_max; /* the most in all */
    bool is_first;           /* the wish is the initial size */
};

/* Whole units in so many bytes, as far as the range has them. */
static uint32_t whole_units(const struct tn_step_range *range, size_t bytes)
{
    return (uint32_t)tn_min(bytes / range->unit_bytes, range->unit_count);
}

static uint32_t count_initial(const struct tarn_pool *pool)
{
    const struct tn_step_range *range = pool->range;
    if (pool->growth.takes_all) return range->unit_count;
    return (uint32_t)tn_min(
        tn_count_units(pool->growth.initial_bytes, tn_lowest_bit(range->unit_bytes)),
        range->unit_count);
}

/* While the user is told of steps, the pool grows by the need alone. */
static uint32_t count_wish(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    const struct tn_growth_state state = {
        .footprint_bytes = pool->own.stats.footprint_bytes,
        .used_bytes = tn_arenas_sum_used(pool) +
                      ((size_t)tn_pool_sum_captured(pool).chunk_count << pool->chunk_log2),
        .refused_bytes = pool->refused_bytes,
    };
    if (state.footprint_bytes == 0) return count_initial(pool);
    if (pool->range->unit_count_max == 1 || pool->arriving_count > 0) return 0;
    return whole_units(pool->range, tn_growth_steps_wish_bytes(&pool->growth, &state));
}

/* Units that the limit still allows. */
static uint32_t count_allowed(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    size_t left_bytes = pool->growth.limit_bytes - pool->own.stats.footprint_bytes;
    return whole_units(pool->range, left_bytes);
}

/* Units that the device has beside those of the pool. If more were mapped, the vendor would refuse the last of them, and
 * until then other programs would find no memory. */
static uint32_t count_on_device(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    size_t device_bytes = pool->range->device_bytes, held_bytes = pool->own.stats.footprint_bytes;
    return device_bytes > held_bytes ? whole_units(pool->range, device_bytes - held_bytes) : 0;
}

/* The most units in a step, if the pool grows by so many. */
static uint32_t count_in_step(const struct tarn_pool *pool, uint32_t wish_count)
{
    const struct tn_step_range *range = pool->range;
    size_t held_bytes = pool->own.stats.footprint_bytes + wish_count * range->unit_bytes;
    size_t step_bytes = tn_growth_step_bytes_max(&pool->growth, held_bytes, pool->refused_bytes);
    return (uint32_t)tn_min(tn_max(whole_units(range, step_bytes), 1), range->unit_count_max);
}

/* Sets what follows from the plan. The wish goes on behind the place, if the last unit of that is missing. */
static void plan_wish(struct tarn_pool *pool, uint32_t allowed_count, struct growth *growth)
{
    const struct tn_step_range *range = pool->range;
    const struct tn_step_plan *plan = &growth->plan;
    uint32_t end = tn_unit_of_chunk(range, plan->first_chunk + plan->chunk_count - 1) + 1;
    size_t wish_count = tn_min(count_wish(pool), allowed_count), more_count = 0;
    if (wish_count > plan->missing_count && tn_unit_step(range, end - 1) == TN_STEP_NONE)
        more_count = tn_min(wish_count - plan->missing_count,
                            tn_step_range_count_gap(range, &pool->own.index, end));
    growth->end_unit = end + (uint32_t)more_count;
    growth->wish_count = plan->missing_count + (uint32_t)more_count;
    growth->step_count_max = count_in_step(pool, growth->wish_count);
    growth->is_first = pool->own.stats.footprint_bytes == 0;
}

/* Streams, a bit each, whose free memory the request may have without a wait. */
static uint32_t own_streams(const struct tarn_pool *pool, const struct tn_request *request)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t stream;
    bool is_known = tn_pool_find_introduced_stream(pool, request->stream, &stream);
    return is_known && stream != TN_STREAM_NONE ? (uint32_t)1 << stream : 0;
}

/* OVER_LIMIT: the limit forbids it, or the most units that it may take. OUT_OF_MEMORY: the range has no such place, or the
 * device has not so much memory. */
static tarn_status plan(struct tarn_pool *pool, const struct tn_request *request,
                        struct growth *growth)
{
    size_t needed = (size_t)request->chunk_count << pool->chunk_log2;
    uint32_t allowed_count = (uint32_t)tn_min(count_allowed(pool), growth->unit_count_max);
    if (needed > pool->growth.limit_bytes) return TARN_STATUS_OVER_LIMIT;
    if (!tn_step_range_plan(pool->range, &pool->own.index, request->chunk_count,
                            request->alignment_bytes, own_streams(pool, request), &growth->plan))
        return pool->own.stats.used_bytes > pool->growth.limit_bytes - needed
                   ? TARN_STATUS_OVER_LIMIT
                   : TARN_STATUS_OUT_OF_MEMORY;
    if (growth->plan.missing_count > allowed_count) return TARN_STATUS_OVER_LIMIT;
    if (growth->plan.missing_count > count_on_device(pool)) return TARN_STATUS_OUT_OF_MEMORY;
    plan_wish(pool, allowed_count, growth);
    return TARN_STATUS_OK;
}

/* --- taking missing units ------------------------------------------------------------------- */

static void append(struct tn_step_range *range, struct step_list *list, uint32_t step)
{
    if (list->first == TN_STEP_NONE) {
        list->first = step;
    } else {
        range->steps[list->last].next = step;
    }
    list->last = step;
}

/* Undoes the take of steps that are not mapped: of a list from `first` on, after `before`. */
static void leave_from(struct tarn_pool *pool, struct step_list *list, uint32_t before,
                       uint32_t first)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_step_range *range = pool->range;
    for (uint32_t step = first, next; step != TN_STEP_NONE; step = next) {
        next = range->steps[step].next;
        tn_step_range_leave(range, &pool->own.index, step);
    }
    list->last = before;
    if (before == TN_STEP_NONE) {
        list->first = TN_STEP_NONE;
    } else {
        range->steps[before].next = TN_STEP_NONE;
    }
}

/* Takes units without a step from the beginning of the place on, and adds their steps to the list. Returns how many
 * units; fewer than `count` if there is no host memory. */
static uint32_t take_units(struct tarn_pool *pool, struct growth *growth, uint32_t count)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_step_range *range = pool->range;
    uint32_t taken_count = 0, unit = tn_unit_of_chunk(range, growth->plan.first_chunk);
    while (unit < growth->end_unit && taken_count < count) {
        uint32_t step = tn_unit_step(range, unit);
        if (step == TN_STEP_NONE) {
            size_t gap_count = tn_step_range_count_gap(range, &pool->own.index, unit);
            size_t wish_count = tn_min(growth->step_count_max, count - taken_count);
            wish_count = tn_min(wish_count, growth->end_unit - unit);
            step = tn_step_range_take(range, &pool->own.index, unit,
                                      (uint32_t)tn_min(gap_count, wish_count));
            if (step == TN_STEP_NONE) break;
            append(range, &growth->steps, step);
            taken_count += range->steps[step].unit_count;
        }
        unit = tn_step_end_unit(range, step);
    }
    return taken_count;
}

/* A status of plan, or OUT_OF_HOST_MEMORY. */
static tarn_status plan_and_take(struct tarn_pool *pool, const struct tn_request *request,
                                 struct growth *growth)
{
    tarn_status status = plan(pool, request, growth);
    if (status != TARN_STATUS_OK) return status;
    if (take_units(pool, growth, growth->wish_count) >= growth->plan.missing_count)
        return TARN_STATUS_OK;
    leave_from(pool, &growth->steps, TN_STEP_NONE, growth->steps.first);
    return TARN_STATUS_OUT_OF_HOST_MEMORY;
}

/* --- mapping -------------------------------------------------------------------------------- */

/* After the vendor's refusal of a step that has not mapped it or those behind it. Takes smaller steps instead, and fewer
 * beyond the need, but the initial size as far as it can be had. Returns the first new step. TN_STEP_NONE: there is
 * nothing to try. */
static uint32_t take_less(struct tarn_pool *pool, struct growth *growth, uint32_t refused,
                          uint32_t before, uint32_t mapped_count, tarn_backend_result result)
{
    struct tn_step_range *range = pool->range;
    uint32_t refused_count = range->steps[refused].unit_count;
    bool tries_again = result.status == TARN_STATUS_OUT_OF_MEMORY && refused_count > 1;
    if (tries_again) tn_pool_note_refusal(pool, tn_step_bytes(range, refused));
    growth->step_count_max = tries_again ? refused_count / 2 : 0;
    if (!growth->is_first || !tries_again)
        growth->wish_count =
            (uint32_t)tn_max(growth->plan.missing_count, mapped_count + growth->step_count_max);
    tn_pool_lock(pool);
    leave_from(pool, &growth->steps, before, refused);
    if (tries_again) take_units(pool, growth, growth->wish_count - mapped_count);
    tn_pool_unlock(pool);
    return before == TN_STEP_NONE ? growth->steps.first : range->steps[before].next;
}

/* Maps the steps of the list in order. After a failure only those that are mapped are left in it. Returns how many
 * units. */
static uint32_t map_all(struct tarn_pool *pool, struct growth *growth,
                        tarn_backend_result *result_out)
{
    struct tn_step_range *range = pool->range;
    struct tn_refusals refusals = { .count = 0 };
    uint32_t mapped_count = 0, before = TN_STEP_NONE, step = growth->steps.first;
    *result_out = TARN_BACKEND_RESULT_OK;
    while (step != TN_STEP_NONE) {
        *result_out = map_step(pool, step);
        if (result_out->status == TARN_STATUS_OK) {
            mapped_count += range->steps[step].unit_count;
            before = step;
            step = range->steps[step].next;
        } else {
            tn_refusals_count(&refusals, tn_step_bytes(range, step), *result_out);
            step = take_less(pool, growth, step, before, mapped_count, *result_out);
        }
    }
    tn_pool_tell_refusals(pool, &refusals);
    return mapped_count;
}

/* Undoes what the vendor has done of growth that brings nothing. */
static void unmap_all(struct tarn_pool *pool, uint32_t first)
{
    uint64_t before = pool->change_count;
    for (uint32_t step = first, next; step != TN_STEP_NONE; step = next) {
        next = pool->range->steps[step].next;
        (void)unmap_step(pool, step, false);
    }
    pool->change_count = before; /* all is as it was */
}

/* Takes at most so many units. gathers: the place may use what arenas have free. */
static tarn_backend_result map_steps(struct tarn_pool *pool, const struct tn_request *request,
                                     uint32_t unit_count_max, bool gathers,
                                     struct tn_step_plan *plan_out)
{
    const struct tn_step_range *range = pool->range;
    struct growth growth = { .steps = { TN_STEP_NONE, TN_STEP_NONE },
                             .unit_count_max = unit_count_max };
    tn_pool_lock(pool);
    if (gathers) tn_pool_gather(pool);
    tarn_backend_result result = { plan_and_take(pool, request, &growth), 0, NULL };
    tn_pool_unlock(pool);
    plan_out->missing_count = growth.plan.missing_count;
    if (result.status != TARN_STATUS_OK) return result;

    uint64_t begun_ns = tn_log_clock_ns(TARN_LOG_LEVEL_INFO);
    uint32_t mapped_count = map_all(pool, &growth, &result);
    if (mapped_count < growth.plan.missing_count) {
        unmap_all(pool, growth.steps.first);
        if (unit_count_max < UINT32_MAX) tn_pool_note_refusal(pool, range->unit_bytes);
        return result;
    }
    tn_pool_note_success(pool);
    tn_pool_tell_growth(pool, request->size_bytes, mapped_count * range->unit_bytes, begun_ns);
    for (uint32_t step = growth.steps.first; step != TN_STEP_NONE; step = range->steps[step].next)
        tell_created(pool, step);
    *plan_out = growth.plan;
    plan_out->first_step = growth.steps.first;
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_pool_map_steps(struct tarn_pool *pool, const struct tn_request *request,
                                      bool gathers, struct tn_step_plan *plan_out)
{
    return map_steps(pool, request, UINT32_MAX, gathers, plan_out);
}

tarn_backend_result tn_pool_map_slack_steps(struct tarn_pool *pool,
                                            const struct tn_request *request,
                                            struct tn_step_plan *plan_out)
{
    uint32_t unit_count = whole_units(pool->range, tn_pool_slack_bytes_max(pool));
    tarn_backend_result result = { TARN_STATUS_OVER_LIMIT, 0, NULL };
    return unit_count == 0 ? result : map_steps(pool, request, unit_count, true, plan_out);
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
    uint32_t step = tn_unit_step(range, tn_unit_of_chunk(range, place.chunk));
    bool has_memory = tn_place_find_live(pool, &place) ||
                      (step != TN_STEP_NONE && range->steps[step].state == TN_STEP_STATE_TRANSIT);
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
    tarn_backend_result result = tn_pool_meaning_of(pool->backend.operations->range_export(
        pool->backend.state, base, tn_step_bytes(range, step), range->steps[step].mapping,
        &file_descriptor));
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
        .size_bytes = tn_step_bytes(range, step),
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

/* What a rule may still let go. */
struct releasable {
    size_t held_bytes; /* by the pool */
    size_t free_bytes; /* of wholly free steps */
    size_t free_count;
    size_t taken_bytes;
};

static struct releasable sum_up_releasable(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    const struct tn_step_range *range = pool->range;
    struct releasable sum = { pool->own.stats.footprint_bytes - pool->transit_bytes, 0, 0, 0 };
    struct tn_free_step_walk walk = tn_step_range_begin_walk(range, tn_pool_held_streams(pool));
    uint32_t step;
    while ((step = tn_step_range_walk(range, &pool->own.index, &walk)) != TN_STEP_NONE) {
        sum.free_bytes += tn_step_bytes(range, step);
        sum.free_count++;
    }
    return sum;
}

/* Whether the rule has let enough go. */
static bool is_done(const struct releasable *left, const struct tn_release_rule *rule)
{
    return left->free_bytes <= rule->keep_free_bytes ||
           (rule->keeps_spare && left->free_count == 1) ||
           (rule->enough_bytes > 0 && left->taken_bytes >= rule->enough_bytes);
}

/* Takes the steps that the rule lets go, the highest first, and adds them to the list. */
static void take_releasable_locked(struct tarn_pool *pool, const struct tn_release_rule *rule,
                                   struct step_list *list)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_step_range *range = pool->range;
    struct tn_free_step_walk walk = tn_step_range_begin_walk(range, tn_pool_held_streams(pool));
    uint32_t step;
    if (tn_captures_are_under_way() || tn_pool_is_observed_anew(pool)) return;
    if (rule->needs_empty && pool->own.stats.live_count > 0) return;
    struct releasable left = sum_up_releasable(pool);
    while (!is_done(&left, rule) &&
           (step = tn_step_range_walk(range, &pool->own.index, &walk)) != TN_STEP_NONE) {
        size_t step_bytes = tn_step_bytes(range, step);
        if (left.held_bytes - step_bytes < rule->keep_bytes) continue;
        if (!tn_step_range_take_free(range, &pool->own.index, &walk)) break;
        range->steps[step].told = pool->newest_observer;
        pool->transit_bytes += step_bytes;
        append(range, list, step);
        left.held_bytes -= step_bytes;
        left.free_bytes -= step_bytes;
        left.taken_bytes += step_bytes;
        left.free_count--;
    }
}

static struct step_list take_releasable(struct tarn_pool *pool, const struct tn_release_rule *rule)
{
    struct step_list list = { TN_STEP_NONE, TN_STEP_NONE };
    tn_pool_lock_and_gather(pool);
    take_releasable_locked(pool, rule, &list);
    tn_pool_unlock(pool);
    return list;
}

struct tn_giving_back tn_pool_release_free_steps(struct tarn_pool *pool,
                                                 const struct tn_release_rule *rule)
{
    const struct tn_step_range *range = pool->range;
    struct tn_giving_back given = { 0, 0, TARN_BACKEND_RESULT_OK };
    release_refused(pool, &given);
    for (uint32_t step = take_releasable(pool, rule).first, next; step != TN_STEP_NONE;
         step = next) {
        tell_destroyed(pool, step);
        /* An unmapped step has no size, and its number may get into another list. */
        size_t step_bytes = tn_step_bytes(range, step);
        next = range->steps[step].next;
        tn_giving_back_count(&given, step_bytes, unmap_step(pool, step, false));
    }
    if (given.released_bytes > 0) pool->refused_bytes = SIZE_MAX;
    return given;
}

void tn_pool_tell_steps_end(struct tarn_pool *pool)
{
    for (uint32_t step = 0; step < pool->range->step_count; step++) {
        if (pool->range->steps[step].state != TN_STEP_STATE_MAPPED) continue;
        pool->range->steps[step].told = pool->newest_observer;
        tell_destroyed(pool, step);
    }
}
