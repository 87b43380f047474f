/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * mapped: the supplier whose pieces are steps in the range of a contiguous pool. It maps the steps that a request misses
 * and unmaps free ones. Before it maps, free steps make way, so that the pool holds in proportion to its peak: see growth.h.
 * The range itself is reserved and released in mapped_range.c.
 */
#include "mapped.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../../base/host_memory.h"
#include "../arenas/gather.h"
#include "../serve/place.h"
#include "../serve/pool_streams.h"

#include "stream_reuse.h"

/* A table of an older backend may end before the operation. */
static bool unmaps_idle(const struct tarn_pool *pool)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    const size_t bytes_with_it =
        offsetof(tarn_backend_operations, range_unmap_idle) + sizeof operations->range_unmap_idle;
    return operations->struct_bytes >= bytes_with_it && operations->range_unmap_idle;
}

/* --- planning growth ------------------------------------------------------------------------ */

/* Growth for one request. The counts are of units. */
struct growth {
    struct tn_step_plan plan;
    struct tn_piece *steps;  /* taken for it, in the order of addresses */
    uint32_t end_unit;       /* of the place, or of the wish behind it */
    uint32_t wish_count;     /* at least as many as the plan misses */
    uint32_t step_count_max; /* the most in a step */
    uint32_t unit_count_max; /* the most in all */
    bool is_first;           /* the wish is the initial size */
    bool is_bounded;         /* arenas need not keep what they have */
    size_t used_bytes;       /* by the pool, with the request */
    bool has_moved;          /* free steps have gone for it: there is no wish */
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
    const struct tn_growth_state state = tn_pool_growth_state_locked(pool);
    if (state.footprint_bytes == 0) return count_initial(pool);
    if (pool->range->unit_count_max == 1 || pool->arriving_count > 0) return 0;
    return whole_units(pool->range, tn_growth_steps_wish_bytes(&pool->growth, &state));
}

/* Also within what the device has. */
static struct tn_growth_bounds bounds_of(const struct tarn_pool *pool, const struct growth *growth)
{
    const struct tn_step_range *range = pool->range;
    struct tn_growth_bounds bounds =
        tn_growth_steps_bounds(&pool->growth, range->unit_bytes, &range->need, growth->used_bytes);
    bounds.held_bytes = tn_min(bounds.held_bytes, range->device_bytes);
    bounds.waiting_bytes = tn_min(bounds.waiting_bytes, range->device_bytes);
    return bounds;
}

/* Units that the pool may still take so that it holds at most so much. */
static uint32_t count_below(const struct tarn_pool *pool, size_t held_bytes_max)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    size_t held_bytes = pool->own.stats.footprint_bytes;
    return held_bytes < held_bytes_max ? whole_units(pool->range, held_bytes_max - held_bytes) : 0;
}

/* Units that the device has beside those of the pool. If more were mapped, the vendor would refuse the last of them, and
 * until then other programs would find no memory. */
static uint32_t count_on_device(const struct tarn_pool *pool)
{
    return count_below(pool, pool->range->device_bytes);
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
    size_t wish_count = growth->has_moved ? 0 : tn_min(count_wish(pool), allowed_count);
    size_t more_count = 0;
    if (wish_count > plan->missing_count && !range->unit_steps[end - 1])
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

/* Finds the place. OVER_LIMIT: the limit forbids it. OUT_OF_MEMORY: the range has no such place. */
static tarn_status find_place(struct tarn_pool *pool, const struct tn_request *request,
                              struct growth *growth)
{
    const struct tn_growth_state state = tn_pool_growth_state_locked(pool);
    size_t needed = tn_request_used_bytes(pool, request), limit_bytes = pool->growth.limit_bytes;
    if (needed > limit_bytes) return TARN_STATUS_OVER_LIMIT;
    growth->used_bytes = tn_max(state.used_bytes + needed, state.used_bytes_max);
    if (tn_step_range_plan(pool->range, &pool->own.index, request->chunk_count,
                           request->alignment_bytes, own_streams(pool, request), &growth->plan))
        return TARN_STATUS_OK;
    return pool->own.stats.used_bytes > limit_bytes - needed ? TARN_STATUS_OVER_LIMIT
                                                             : TARN_STATUS_OUT_OF_MEMORY;
}

/* OVER_LIMIT: the limit forbids it, or the most units that it may take. OUT_OF_MEMORY: the device has not so much. */
static tarn_status plan(struct tarn_pool *pool, struct growth *growth)
{
    const struct tn_growth_bounds bounds = bounds_of(pool, growth);
    uint32_t allowed_count =
        (uint32_t)tn_min(count_below(pool, pool->growth.limit_bytes), growth->unit_count_max);
    if (growth->plan.missing_count > allowed_count) return TARN_STATUS_OVER_LIMIT;
    if (growth->plan.missing_count > count_on_device(pool)) return TARN_STATUS_OUT_OF_MEMORY;
    if (pool->own.stats.footprint_bytes > 0 && growth->is_bounded)
        allowed_count = (uint32_t)tn_min(allowed_count, count_below(pool, bounds.held_bytes));
    plan_wish(pool, allowed_count, growth);
    return TARN_STATUS_OK;
}

/* --- making way ----------------------------------------------------------------------------- */

/* By how much the pool would hold more than so much with the missing units. */
static size_t excess_bytes(const struct tarn_pool *pool, const struct growth *growth,
                           size_t held_bytes_max)
{
    size_t held_bytes =
        pool->own.stats.footprint_bytes + growth->plan.missing_count * pool->range->unit_bytes;
    return held_bytes > held_bytes_max ? held_bytes - held_bytes_max : 0;
}

static void unmap_free(struct tarn_pool *pool, const struct growth *growth, size_t enough_bytes,
                       bool waits)
{
    const struct tn_release_rule rule = { .enough_bytes = enough_bytes,
                                          .is_of_idle = !waits,
                                          .asks_device = !waits,
                                          .place = &growth->plan };
    const struct tn_giving_back given = tn_piece_release_free(pool, &rule);
    tn_growth_note_moved(&pool->range->need, given.detached_bytes);
    tn_pool_tell_given(pool, &given, "to have room for growth");
}

/* Whether free steps are to make way. Not within the slack for streams, which the user has chosen; not where it is of no use;
 * and not while the user is told of steps that are to join, because their places could lose memory. */
static bool is_to_make_way(struct tarn_pool *pool, const struct growth *growth)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    size_t most = tn_min(pool->growth.limit_bytes, pool->range->device_bytes);
    return growth->unit_count_max == UINT32_MAX && pool->arriving_count == 0 &&
           !tn_captures_are_under_way() && growth->used_bytes <= most &&
           excess_bytes(pool, growth, bounds_of(pool, growth).held_bytes) > 0;
}

/* --- taking missing units ------------------------------------------------------------------- */

/* Undoes the take of steps without memory, from the link on. */
static void put_back(struct tarn_pool *pool, struct tn_piece **link)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    for (struct tn_piece *piece = *link, *next; piece; piece = next) {
        next = piece->next;
        tn_step_range_leave(pool->range, &pool->own.index, tn_step_of(piece));
        tn_host_memory_free(piece);
    }
    *link = NULL;
}

/* Takes units without a step from the beginning of the place on, and adds their steps at the end of the list. Returns how
 * many units; fewer than `count` if there is no host memory. */
static uint32_t take_units(struct tarn_pool *pool, struct growth *growth, struct tn_piece **end,
                           uint32_t count)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_step_range *range = pool->range;
    uint32_t taken_count = 0, unit = tn_unit_of_chunk(range, growth->plan.first_chunk);
    while (unit < growth->end_unit && taken_count < count) {
        struct tn_step *step = range->unit_steps[unit];
        if (!step) {
            size_t gap_count = tn_step_range_count_gap(range, &pool->own.index, unit);
            size_t wish_count = tn_min(growth->step_count_max, count - taken_count);
            wish_count = tn_min(wish_count, growth->end_unit - unit);
            step = tn_step_range_take(range, &pool->own.index, unit,
                                      (uint32_t)tn_min(gap_count, wish_count));
            if (!step) break;
            *end = &step->piece;
            end = &step->piece.next;
            taken_count += step->unit_count;
        }
        unit = tn_step_end_unit(step);
    }
    return taken_count;
}

/* Returns with the pool's lock. A status of find_place. */
static tarn_status lock_and_find_place(struct tarn_pool *pool, const struct tn_request *request,
                                       bool gathers, struct growth *growth)
{
    tn_pool_lock(pool);
    if (gathers) tn_pool_gather(pool);
    return find_place(pool, request, growth);
}

/* Free steps outside the place make way, so that the pool holds no more than it is to: those whose work is known to be done,
 * or others after a wait. Before, more is found out about the work, so that the place may use more of what is free.
 * Called with the pool's lock, and returns with it. A status of find_place. */
static tarn_status make_way(struct tarn_pool *pool, const struct tn_request *request, bool waits,
                            struct growth *growth)
{
    tn_pool_unlock(pool);
    if (waits) {
        (void)tn_stream_reuse_synchronize(pool);
    } else if (pool->streams) {
        tn_stream_reuse_settle(pool, 0);
    }
    tarn_status status = lock_and_find_place(pool, request, true, growth);
    size_t enough_bytes = excess_bytes(pool, growth, bounds_of(pool, growth).held_bytes);
    if (status != TARN_STATUS_OK || enough_bytes == 0) return status;
    tn_pool_unlock(pool);
    growth->has_moved = true;
    unmap_free(pool, growth, enough_bytes, waits);
    return lock_and_find_place(pool, request, true, growth);
}

/* Finds the place, and makes way for it, but not while arenas are to keep what they have. Returns with the pool's lock. A
 * status of find_place. */
static tarn_status find_place_within_bounds(struct tarn_pool *pool,
                                            const struct tn_request *request, bool gathers,
                                            struct growth *growth)
{
    tarn_status status = lock_and_find_place(pool, request, gathers, growth);
    growth->is_bounded = gathers;
    if (status != TARN_STATUS_OK || !gathers || !is_to_make_way(pool, growth)) return status;
    if (unmaps_idle(pool)) status = make_way(pool, request, false, growth);
    size_t held_bytes_max = bounds_of(pool, growth).waiting_bytes;
    if (status == TARN_STATUS_OK && excess_bytes(pool, growth, held_bytes_max) > 0)
        status = make_way(pool, request, true, growth);
    return status;
}

/* A status of find_place_within_bounds and plan, or OUT_OF_HOST_MEMORY. */
static tarn_status plan_and_take(struct tarn_pool *pool, const struct tn_request *request,
                                 bool gathers, struct growth *growth)
{
    tarn_status status = find_place_within_bounds(pool, request, gathers, growth);
    if (status == TARN_STATUS_OK) status = plan(pool, growth);
    if (status == TARN_STATUS_OK &&
        take_units(pool, growth, &growth->steps, growth->wish_count) < growth->plan.missing_count) {
        put_back(pool, &growth->steps);
        status = TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    tn_pool_unlock(pool);
    return status;
}

/* --- mapping -------------------------------------------------------------------------------- */

/* Maps a taken step. On failure the step is as it was. */
static tarn_backend_result map_step(struct tarn_pool *pool, struct tn_step *step)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    tarn_backend_result (*map)(void *, void *, size_t, tarn_mapping *) =
        pool->is_shareable ? operations->range_map_shareable : operations->range_map;
    tn_pool_count_vendor_alloc(pool);
    return tn_pool_meaning_of(
        map(pool->backend.state, step->piece.base, step->piece.size_bytes, &step->mapping));
}

/* After the vendor's refusal of the step at the link, without which those behind it are not mapped either. Takes smaller
 * steps instead, and fewer beyond the need, but the initial size as far as it can be had. */
static void take_less(struct tarn_pool *pool, struct growth *growth, struct tn_piece **link,
                      uint32_t mapped_count, tarn_backend_result result)
{
    uint32_t refused_count = tn_step_of(*link)->unit_count;
    bool tries_again = result.status == TARN_STATUS_OUT_OF_MEMORY && refused_count > 1;
    if (tries_again) tn_pool_note_refusal(pool, (*link)->size_bytes);
    growth->step_count_max = tries_again ? refused_count / 2 : 0;
    if (!growth->is_first || !tries_again)
        growth->wish_count =
            (uint32_t)tn_max(growth->plan.missing_count, mapped_count + growth->step_count_max);
    tn_pool_lock(pool);
    put_back(pool, link);
    if (tries_again) take_units(pool, growth, link, growth->wish_count - mapped_count);
    tn_pool_unlock(pool);
}

/* Maps the steps in order; each arrives with its memory. After a failure only those that are mapped are left in the list.
 * Returns how many units. */
static uint32_t map_all(struct tarn_pool *pool, struct growth *growth,
                        tarn_backend_result *result_out)
{
    struct tn_refusals refusals = { .count = 0 };
    struct tn_piece **link = &growth->steps;
    uint32_t mapped_count = 0;
    *result_out = TARN_BACKEND_RESULT_OK;
    while (*link) {
        struct tn_step *step = tn_step_of(*link);
        *result_out = map_step(pool, step);
        if (result_out->status == TARN_STATUS_OK) {
            tn_piece_arrive(pool, &step->piece);
            mapped_count += step->unit_count;
            link = &step->piece.next;
        } else {
            tn_refusals_count(&refusals, step->piece.size_bytes, *result_out);
            take_less(pool, growth, link, mapped_count, *result_out);
        }
    }
    tn_pool_tell_refusals(pool, &refusals);
    return mapped_count;
}

/* Undoes the mapping of growth that brings nothing. */
static void unmap_all(struct tarn_pool *pool, struct tn_piece *first)
{
    for (struct tn_piece *piece = first, *next; piece; piece = next) {
        next = piece->next;
        tn_piece_undo(pool, piece);
    }
}

/* Takes at most so many units. gathers: the place may use what arenas have free. */
static tarn_backend_result map_steps(struct tarn_pool *pool, const struct tn_request *request,
                                     uint32_t unit_count_max, bool gathers,
                                     struct tn_arrival *arrival_out)
{
    struct growth growth = { .steps = NULL, .unit_count_max = unit_count_max };
    tarn_backend_result result = { plan_and_take(pool, request, gathers, &growth), 0, NULL };
    arrival_out->plan.missing_count = growth.plan.missing_count;
    if (result.status != TARN_STATUS_OK) return result;

    uint64_t begun_ns = tn_log_clock_ns(TARN_LOG_LEVEL_INFO);
    uint32_t mapped_count = map_all(pool, &growth, &result);
    size_t unit_bytes = pool->range->unit_bytes;
    if (mapped_count < growth.plan.missing_count) {
        unmap_all(pool, growth.steps);
        if (unit_count_max < UINT32_MAX) tn_pool_note_refusal(pool, unit_bytes);
        return result;
    }
    tn_pool_note_success(pool);
    tn_growth_note_need(&pool->range->need, growth.used_bytes);
    tn_pool_tell_growth(pool, request->size_bytes, mapped_count * unit_bytes, begun_ns);
    arrival_out->first = growth.steps;
    arrival_out->plan = growth.plan;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result map_slack(struct tarn_pool *pool, const struct tn_request *request,
                                     bool gathers, struct tn_arrival *arrival_out)
{
    const tarn_backend_result over_limit = { TARN_STATUS_OVER_LIMIT, 0, NULL };
    uint32_t unit_count = whole_units(pool->range, tn_pool_slack_bytes_max(pool));
    return unit_count == 0 ? over_limit
                           : map_steps(pool, request, unit_count, gathers, arrival_out);
}

/* A limit that is no multiple of a step counts in whole steps, and so do initial bytes that are within it. */
static tarn_backend_result map_initial(struct tarn_pool *pool, const struct tn_request *request,
                                       bool gathers, struct tn_arrival *arrival_out)
{
    struct tn_request within = *request;
    size_t limit_bytes = pool->growth.limit_bytes;
    size_t whole_bytes = tn_round_down(limit_bytes, pool->range->unit_bytes);
    if (request->size_bytes <= limit_bytes)
        within.chunk_count =
            (uint32_t)tn_min(request->chunk_count, whole_bytes >> pool->chunk_log2);
    return map_steps(pool, &within, UINT32_MAX, gathers, arrival_out);
}

static tarn_backend_result acquire(struct tarn_pool *pool, const struct tn_request *request,
                                   enum tn_purpose purpose, bool gathers,
                                   struct tn_arrival *arrival_out)
{
    if (purpose == TN_PURPOSE_SLACK) return map_slack(pool, request, gathers, arrival_out);
    if (purpose == TN_PURPOSE_INITIAL) return map_initial(pool, request, gathers, arrival_out);
    return map_steps(pool, request, UINT32_MAX, gathers, arrival_out);
}

/* --- in the pool ---------------------------------------------------------------------------- */

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

/* Makes the steps free, and makes one region of the planned place, unless another thread has taken part of it. */
static bool insert(struct tarn_pool *pool, const struct tn_request *request,
                   const struct tn_arrival *arrival)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    const struct tn_step_plan *place = &arrival->plan;
    uint32_t region = pool->own.index.regions[pool->range->static_pool->head].next;
    for (struct tn_piece *piece = arrival->first; piece; piece = piece->next)
        region = tn_step_range_arrive(&pool->own.index, tn_step_of(piece));
    /* While the pool knows one stream, free regions that touch have coalesced. */
    if (pool->streams && place->chunk_count > 0)
        unite_place(pool, region, own_streams(pool, request), place);
    return true;
}

/* The highest leave first; those that make way for a place, the lowest. */
static struct tn_piece *find_free(const struct tarn_pool *pool, struct tn_free_walk *walk)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!walk->has_begun) {
        uint32_t held = walk->is_of_idle ? UINT32_MAX : tn_pool_held_streams(pool);
        walk->steps = walk->place ? tn_step_range_begin_walk_outside(pool->range, held, walk->place)
                                  : tn_step_range_begin_walk(pool->range, held);
    }
    walk->has_begun = true;
    struct tn_step *step = tn_step_range_walk(pool->range, &pool->own.index, &walk->steps);
    return step ? &step->piece : NULL;
}

static bool detach(struct tarn_pool *pool, struct tn_free_walk *walk, struct tn_piece *piece)
{
    return tn_step_range_take_free(pool->range, &pool->own.index, &walk->steps, tn_step_of(piece));
}

static tarn_backend_result release(struct tarn_pool *pool, struct tn_piece *leaving)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    tarn_backend_result (*unmap)(void *, void *, size_t, tarn_mapping) =
        leaving->is_idle && unmaps_idle(pool) ? operations->range_unmap_idle
                                              : operations->range_unmap;
    return unmap(pool->backend.state, leaving->base, leaving->size_bytes,
                 tn_step_of(leaving)->mapping);
}

/* At the end of the pool, steps leave with their chunks in the index. */
static void forget(struct tarn_pool *pool, struct tn_piece *released)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!pool->is_ending) tn_step_range_leave(pool->range, &pool->own.index, tn_step_of(released));
}

/* --- would it help -------------------------------------------------------------------------- */

static size_t used_bytes(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    size_t bytes = pool->own.stats.used_bytes;
    tn_pool_unlock(pool);
    return bytes;
}

static size_t count_missing(struct tarn_pool *pool, const struct tn_request *request,
                            tarn_backend_result result, const struct tn_arrival *arrival)
{
    size_t needed = tn_request_used_bytes(pool, request), limit = pool->growth.limit_bytes;
    size_t unit_bytes = pool->range->unit_bytes;
    if (needed > pool->range->device_bytes) return 0;
    if (result.status == TARN_STATUS_OUT_OF_MEMORY) return needed;
    if (needed > limit || used_bytes(pool) > limit - needed) return 0;
    /* Steps that are partly free may help too. How much is unknown before it is tried. */
    if (arrival->plan.missing_count == 0) return unit_bytes;
    size_t missing = tn_min(arrival->plan.missing_count * unit_bytes, limit);
    return tn_pool_excess_bytes(tn_pool_footprint_bytes(pool), missing, limit);
}

/* --- exporting ------------------------------------------------------------------------------ */

/* The step in which the address has memory, or NULL. Requires: growth_lock. Under growth_lock a step
 * in transit has memory too: it is mapped and unmapped without letting go of growth_lock, which is only let
 * go while the user is told. */
static const struct tn_step *find_step(const struct tarn_pool *pool, uintptr_t address)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    const struct tn_step_range *range = pool->range;
    struct tn_place place;
    if (!tn_place_locate(pool, address, &place)) return NULL;
    const struct tn_step *step = range->unit_steps[tn_unit_of_chunk(range, place.chunk)];
    bool is_in_transit = step && (step->piece.state == TN_PIECE_STATE_ARRIVING ||
                                  step->piece.state == TN_PIECE_STATE_LEAVING);
    return is_in_transit || tn_place_find_live(pool, &place) ? step : NULL;
}

/* Requires: growth_lock. */
static tarn_status export_locked(struct tarn_pool *pool, uintptr_t address,
                                 tarn_exported_step *step_out)
{
    tn_pool_lock_and_gather(pool);
    const struct tn_step *step = find_step(pool, address);
    tn_pool_unlock(pool);
    if (!step) return TARN_STATUS_NOT_LIVE;

    void *base = step->piece.base;
    int file_descriptor;
    tarn_backend_result result = tn_pool_meaning_of(pool->backend.operations->range_export(
        pool->backend.state, base, step->piece.size_bytes, step->mapping, &file_descriptor));
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
        .size_bytes = step->piece.size_bytes,
        .offset_bytes = address - (uintptr_t)base,
        .id = step->piece.id,
    };
    return TARN_STATUS_OK;
}

tarn_status tn_mapped_export(struct tarn_pool *pool, const void *address,
                             tarn_exported_step *step_out)
{
    tn_pool_lock_growth(pool);
    tarn_status status = export_locked(pool, (uintptr_t)address, step_out);
    tn_pool_unlock_growth(pool);
    return status;
}

const struct tn_supplier tn_mapped_supplier = {
    .piece_name = "step",
    .description_bytes = sizeof(struct tn_step),
    .acquire = acquire,
    .insert = insert,
    .find_free = find_free,
    .detach = detach,
    .release = release,
    .forget = forget,
    .end = tn_mapped_release_range,
    .count_missing = count_missing,
};
