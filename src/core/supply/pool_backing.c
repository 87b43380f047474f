/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_backing: how much, acquire, release, would it help, failures. */
#include "pool_backing.h"

#include <stdio.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../arenas/gather.h"
#include "../serve/pool_log.h"
#include "../serve/pool_name.h"
#include "../serve/pool_streams.h"

#include "pool_callbacks.h"
#include "pool_options.h"

/* --- how much -------------------------------------------------------------------------------------- */

/* Bytes of backing that hold the request if the backing is aligned as the request and a chunk need. A static
 * pool for one allocation has only the requested bytes. */
static size_t tight_bytes(const struct tarn_pool *pool, const struct tn_request *request)
{
    if (pool->passes_through) return request->size_bytes;
    return (size_t)request->chunk_count << pool->chunk_log2;
}

static size_t alignment_needed(const struct tarn_pool *pool, const struct tn_request *request)
{
    size_t least = pool->passes_through ? tn_max(TARN_CHUNK_BYTES_MIN, pool->alignment_bytes)
                                        : (size_t)1 << pool->chunk_log2;
    return tn_max(least, request->alignment_bytes);
}

uintptr_t tn_pool_place_in_backing(const struct tarn_pool *pool, const struct tn_request *request,
                                   const struct tn_static_pool *backed)
{
    uintptr_t address = (uintptr_t)backed->backing;
    return address + (-address & (alignment_needed(pool, request) - 1));
}

/* Bytes that hold the request at any alignment that the backend may return, which is at least the one it
 * promises. False: there is no such size. */
static bool ample_bytes(const struct tarn_pool *pool, const struct tn_request *request,
                        size_t *ample_out)
{
    size_t alignment = alignment_needed(pool, request);
    size_t lead =
        alignment > pool->backend_alignment_bytes ? alignment - pool->backend_alignment_bytes : 0;
    return tn_add_fits(tight_bytes(pool, request), lead, ample_out);
}

static struct tn_growth_state growth_state(struct tarn_pool *pool)
{
    struct tn_growth_state state = {
        .refused_bytes = pool->refused_bytes,
        .device_free_bytes = SIZE_MAX,
    };
    tn_pool_lock(pool);
    state.footprint_bytes = pool->own.stats.footprint_bytes;
    state.used_bytes = tn_arenas_sum_used(pool) +
                       ((size_t)tn_pool_sum_captured(pool).chunk_count << pool->chunk_log2);
    state.used_bytes_max = pool->own.stats.used_bytes_max;
    state.is_first = pool->list.count == 0;
    uint32_t numbers =
        tn_static_pool_list_longest_run(&pool->list, TN_START_GROUP_CHUNKS, TN_CHUNK_COUNT_MAX);
    tn_pool_unlock(pool);
    if (!tn_multiply_fits(numbers, (size_t)1 << pool->chunk_log2, &state.numbered_bytes_max)) {
        state.numbered_bytes_max = SIZE_MAX;
    }
    return state;
}

/* --- the log ------------------------------------------------------------------------------------ */

/* The vendor's name of a result, in brackets and after a blank. */
struct reason {
    char text[80];
};

static struct reason reason_of(tarn_backend_result result)
{
    struct reason reason = { "" };
    if (result.vendor_name) snprintf(reason.text, sizeof reason.text, " (%s)", result.vendor_name);
    return reason;
}

size_t tn_pool_footprint_bytes(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    size_t bytes = pool->own.stats.footprint_bytes;
    tn_pool_unlock(pool);
    return bytes;
}

void tn_pool_tell_growth(struct tarn_pool *pool, size_t requested_bytes, size_t grown_bytes,
                         uint64_t begun_ns)
{
    if (begun_ns == 0 || pool->passes_through || !tn_log_is_on(TARN_LOG_LEVEL_INFO)) return;
    uint64_t vendor_us = (tn_log_clock_ns(TARN_LOG_LEVEL_INFO) - begun_ns) / 1000;
    tn_pool_log(pool, TARN_LOG_LEVEL_INFO,
                "grew by %s for a request of %s, and holds %s; the vendor took %llu us",
                tn_bytes_text(grown_bytes).text, tn_bytes_text(requested_bytes).text,
                tn_bytes_text(tn_pool_footprint_bytes(pool)).text, (unsigned long long)vendor_us);
}

void tn_pool_tell_given(struct tarn_pool *pool, const struct tn_giving_back *given, const char *why)
{
    bool is_refused = given->refusal.status != TARN_STATUS_OK;
    if (given->released_bytes > 0 && !pool->passes_through && tn_log_is_on(TARN_LOG_LEVEL_INFO))
        tn_pool_log(pool, TARN_LOG_LEVEL_INFO, "gave %s back (%s), and holds %s",
                    tn_bytes_text(given->released_bytes).text, why,
                    tn_bytes_text(tn_pool_footprint_bytes(pool)).text);
    if (is_refused && tn_log_is_on(TARN_LOG_LEVEL_WARNING))
        tn_pool_log(pool, TARN_LOG_LEVEL_WARNING,
                    "the %s backend did not take %s back%s: the pool keeps them",
                    pool->backend_name,
                    tn_bytes_text(given->detached_bytes - given->released_bytes).text,
                    reason_of(given->refusal).text);
}

void tn_pool_tell_refusals(const struct tarn_pool *pool, const struct tn_refusals *refusals)
{
    struct reason reason = reason_of(refusals->last);
    if (refusals->count == 0 || !tn_log_is_on(TARN_LOG_LEVEL_WARNING)) return;
    if (refusals->count == 1)
        tn_pool_log(pool, TARN_LOG_LEVEL_WARNING, "the %s backend refused %s of memory%s",
                    pool->backend_name, tn_bytes_text(refusals->last_bytes).text, reason.text);
    else
        tn_pool_log(pool, TARN_LOG_LEVEL_WARNING,
                    "the %s backend refused memory %zu times, from %s down to %s%s",
                    pool->backend_name, refusals->count, tn_bytes_text(refusals->first_bytes).text,
                    tn_bytes_text(refusals->last_bytes).text, reason.text);
}

void tn_pool_tell_lost(const struct tarn_pool *pool, size_t lost_bytes)
{
    if (lost_bytes == 0 || !tn_log_is_on(TARN_LOG_LEVEL_WARNING)) return;
    tn_pool_log(pool, TARN_LOG_LEVEL_WARNING,
                "the %s backend did not take %s back at the end of the pool: they are lost",
                pool->backend_name, tn_bytes_text(lost_bytes).text);
}

/* --- asking ------------------------------------------------------------------------------------ */

tarn_backend_result tn_pool_meaning_of(tarn_backend_result result)
{
    switch (result.status) {
    case TARN_STATUS_OK:
    case TARN_STATUS_OUT_OF_MEMORY:
    case TARN_STATUS_OUT_OF_HOST_MEMORY:
    case TARN_STATUS_FORKED:
        break;
    case TARN_STATUS_OVER_LIMIT:
        result.status = TARN_STATUS_OUT_OF_MEMORY;
        break;
    default:
        result.status = TARN_STATUS_VENDOR_ERROR;
    }
    return result;
}

static tarn_backend_result acquire(struct tarn_pool *pool, struct tn_static_pool *acquired)
{
    tn_pool_lock(pool);
    pool->own.stats.vendor_alloc_count++;
    tn_pool_unlock(pool);
    return tn_pool_meaning_of(pool->backend.operations->acquire(
        pool->backend.state, acquired->backing_bytes, &acquired->backing));
}

void tn_pool_count_arrival(struct tarn_pool *pool, size_t size_bytes)
{
    tn_pool_lock(pool);
    tn_stats_count_growth(&pool->own.stats, size_bytes);
    pool->transit_bytes += size_bytes;
    tn_pool_unlock(pool);
}

/* NULL, or why backing from the backend cannot be used. Such backing is not released, because the effect of
 * that is unknown. */
static const char *fault_of(struct tarn_pool *pool, const struct tn_static_pool *acquired)
{
    uintptr_t address = (uintptr_t)acquired->backing;
    size_t end;
    if (address == 0) return "its address is NULL";
    if ((address & (pool->backend_alignment_bytes - 1)) != 0) {
        return "it is less aligned than promised";
    }
    if (!tn_add_fits(address, acquired->backing_bytes, &end)) {
        return "it reaches beyond the last address";
    }
    tn_pool_lock(pool);
    bool overlaps = tn_static_pool_list_overlaps(&pool->list, address, acquired->backing_bytes);
    tn_pool_unlock(pool);
    return overlaps ? "it overlaps memory that the pool holds" : NULL;
}

void tn_pool_note_success(struct tarn_pool *pool)
{
    enum {
        GROWTHS_REMEMBERED = 8
    };
    if (++pool->growths_since_refusal >= GROWTHS_REMEMBERED) pool->refused_bytes = SIZE_MAX;
}

void tn_pool_note_refusal(struct tarn_pool *pool, size_t size_bytes)
{
    pool->refused_bytes = size_bytes;
    pool->growths_since_refusal = 0;
}

static tarn_backend_result ask_for_free_bytes(struct tarn_pool *pool, struct tn_growth_state *state)
{
    tarn_memory_info info;
    tarn_backend_result result = tn_pool_meaning_of(tn_query_memory(&pool->backend, &info));
    if (result.status == TARN_STATUS_OK) state->device_free_bytes = info.free_bytes;
    return result;
}

/* Bytes that the vendor takes for so many bytes; if these do not fit a size_t, so many bytes. */
static size_t whole_pages(const struct tarn_pool *pool, size_t size_bytes)
{
    size_t rounded;
    bool fits = tn_round_up_fits(size_bytes, pool->growth.granularity_bytes, &rounded);
    return fits ? rounded : size_bytes;
}

/* Takes over what the backend has given. */
static tarn_backend_result count_acquired(struct tarn_pool *pool,
                                          const struct tn_static_pool *acquired)
{
    const char *fault = fault_of(pool, acquired);
    if (fault) return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, 0, fault };
    tn_pool_count_arrival(pool, acquired->backing_bytes);
    tn_pool_note_success(pool);
    return TARN_BACKEND_RESULT_OK;
}

/* Asks the backend for less and less, down to the need. OVER_LIMIT: not even the need is allowed, and the
 * backend was not asked. */
static tarn_backend_result acquire_backing(struct tarn_pool *pool, size_t needed,
                                           struct tn_static_pool *acquired)
{
    struct tn_growth_state state = growth_state(pool);
    struct tn_growth_policy policy = pool->growth;
    if (pool->arriving_count > 0) {
        policy.initial_bytes = 0;
        policy.takes_all = false;
        policy.growth_bytes_max = whole_pages(pool, needed);
    }
    if (pool->passes_through) {
        policy.growth_bytes_max = needed;
        policy.granularity_bytes = policy.common_granularity_bytes = 1;
    }
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    if (tn_growth_asks_device(&policy, &state, needed)) result = ask_for_free_bytes(pool, &state);
    if (tn_growth_wishes_all(&policy, &state) && result.status != TARN_STATUS_OK) return result;
    size_t *asked_bytes = &acquired->backing_bytes;
    *asked_bytes = tn_growth_first_bytes(&policy, &state, needed);
    result.status = TARN_STATUS_OVER_LIMIT;
    struct tn_refusals refusals = { .count = 0 };
    while (*asked_bytes != 0) {
        result = acquire(pool, acquired);
        if (result.status != TARN_STATUS_OK) tn_refusals_count(&refusals, *asked_bytes, result);
        if (result.status != TARN_STATUS_OUT_OF_MEMORY) break;
        if (*asked_bytes > needed) tn_pool_note_refusal(pool, *asked_bytes);
        *asked_bytes = tn_growth_next_bytes(&policy, &state, *asked_bytes, needed);
    }
    tn_pool_tell_refusals(pool, &refusals);
    return result.status == TARN_STATUS_OK ? count_acquired(pool, acquired) : result;
}

static bool can_hold(const struct tarn_pool *pool, const struct tn_static_pool *backed,
                     const struct tn_request *request)
{
    size_t lead = tn_pool_place_in_backing(pool, request, backed) - (uintptr_t)backed->backing;
    size_t needed;
    return tn_add_fits(tight_bytes(pool, request), lead, &needed) &&
           needed <= backed->backing_bytes;
}

static tarn_backend_result acquire_new(struct tarn_pool *pool, size_t needed,
                                       struct tn_static_pool **acquired_out)
{
    struct tn_static_pool *acquired = tn_static_pool_alloc();
    if (!acquired) return (tarn_backend_result){ TARN_STATUS_OUT_OF_HOST_MEMORY, 0, NULL };
    tarn_backend_result result = acquire_backing(pool, needed, acquired);
    if (result.status == TARN_STATUS_OK) {
        *acquired_out = acquired;
    } else {
        tn_static_pool_destroy(acquired);
    }
    return result;
}

static tarn_backend_result acquire_ample(struct tarn_pool *pool, const struct tn_request *request,
                                         size_t least_bytes, struct tn_static_pool **acquired_out)
{
    size_t ample;
    if (!ample_bytes(pool, request, &ample))
        return (tarn_backend_result){ TARN_STATUS_OVER_LIMIT, 0, NULL };
    return acquire_new(pool, tn_max(ample, least_bytes), acquired_out);
}

/* Acquires at least so many bytes that hold the request. Most vendors align better than they promise, so the
 * tight size is tried first; but not in a pool that passes through, where each allocation should be one vendor
 * call, nor while what does not fit could not be released. */
static tarn_backend_result acquire_fitting(struct tarn_pool *pool, const struct tn_request *request,
                                           size_t least_bytes, struct tn_static_pool **acquired_out)
{
    if (pool->passes_through || !tn_pool_may_release(pool))
        return acquire_ample(pool, request, least_bytes, acquired_out);
    size_t tight = tn_max(tight_bytes(pool, request), least_bytes);
    tarn_backend_result result = acquire_new(pool, tight, acquired_out);
    if (result.status != TARN_STATUS_OK || can_hold(pool, *acquired_out, request)) return result;
    uint64_t before = pool->change_count;
    tn_pool_release(pool, *acquired_out);
    pool->change_count = before; /* all is as it was */
    return acquire_ample(pool, request, least_bytes, acquired_out);
}

static tarn_backend_result acquire_for(struct tarn_pool *pool, const struct tn_request *request,
                                       size_t least_bytes, struct tn_static_pool **acquired_out)
{
    uint64_t begun_ns = tn_log_clock_ns(TARN_LOG_LEVEL_INFO);
    tarn_backend_result result = acquire_fitting(pool, request, least_bytes, acquired_out);
    if (result.status == TARN_STATUS_OK)
        tn_pool_tell_growth(pool, tn_max(request->size_bytes, least_bytes),
                            (*acquired_out)->backing_bytes, begun_ns);
    return result;
}

/* Takes back memory that holds the request, that the vendor has refused, and that no work uses. NULL: there is none. */
static struct tn_static_pool *take_unreleased(struct tarn_pool *pool,
                                              const struct tn_request *request)
{
    struct tn_static_pool *found = pool->leaving.newest;
    while (found && !(found->is_unreleased && found->dependency.streams == 0 &&
                      can_hold(pool, found, request)))
        found = found->older;
    if (!found) return NULL;
    tn_pool_lock_and_gather(pool);
    tn_static_pool_chain_remove(&pool->leaving, found);
    pool->own.stats.unreleased_bytes -= found->backing_bytes;
    tn_pool_unlock(pool);
    return found;
}

tarn_backend_result tn_pool_acquire(struct tarn_pool *pool, const struct tn_request *request,
                                    struct tn_static_pool **acquired_out)
{
    struct tn_static_pool *taken_back = take_unreleased(pool, request);
    if (taken_back) {
        *acquired_out = taken_back;
        return TARN_BACKEND_RESULT_OK;
    }
    struct tn_giving_back given = tn_pool_release_unreleased(pool);
    tn_pool_tell_given(pool, &given, "before growth");
    return acquire_for(pool, request, 0, acquired_out);
}

tarn_backend_result tn_pool_acquire_bytes(struct tarn_pool *pool, size_t size_bytes,
                                          struct tn_static_pool **acquired_out)
{
    const struct tn_request one_chunk = {
        .size_bytes = (size_t)1 << pool->chunk_log2,
        .alignment_bytes = 1,
        .chunk_count = 1,
    };
    return acquire_for(pool, &one_chunk, size_bytes, acquired_out);
}

/* --- slack for streams --------------------------------------------------------------------------- */

size_t tn_pool_slack_bytes_max(struct tarn_pool *pool)
{
    if (!(pool->growth.stream_slack > 0.0)) return 0;
    struct tn_growth_state state = growth_state(pool);
    return tn_growth_slack_bytes_max(&pool->growth, &state);
}

/* Asks the backend once. Memory in which the request finds no place, for its alignment, goes back. */
static tarn_backend_result acquire_once(struct tarn_pool *pool, const struct tn_request *request,
                                        struct tn_static_pool *acquired)
{
    struct tn_refusals refusals = { .count = 0 };
    tarn_backend_result result = acquire(pool, acquired);
    if (result.status != TARN_STATUS_OK) {
        tn_refusals_count(&refusals, acquired->backing_bytes, result);
        tn_pool_tell_refusals(pool, &refusals);
        tn_pool_note_refusal(pool, acquired->backing_bytes);
        tn_static_pool_destroy(acquired);
        return result;
    }
    result = count_acquired(pool, acquired);
    if (result.status != TARN_STATUS_OK) {
        tn_static_pool_destroy(acquired);
    } else if (!can_hold(pool, acquired, request)) {
        size_t size_bytes = acquired->backing_bytes;
        uint64_t before = pool->change_count;
        tn_pool_release(pool, acquired);
        pool->change_count = before; /* all is as it was */
        tn_pool_note_refusal(pool, size_bytes);
        result.status = TARN_STATUS_OUT_OF_MEMORY;
    }
    return result;
}

tarn_backend_result tn_pool_acquire_slack(struct tarn_pool *pool, const struct tn_request *request,
                                          struct tn_static_pool **acquired_out)
{
    struct tn_growth_state state = growth_state(pool);
    size_t size_bytes = tn_growth_slack_bytes(&pool->growth, &state, tight_bytes(pool, request));
    if (size_bytes == 0) return (tarn_backend_result){ TARN_STATUS_OVER_LIMIT, 0, NULL };
    struct tn_static_pool *acquired = tn_static_pool_alloc();
    if (!acquired) return (tarn_backend_result){ TARN_STATUS_OUT_OF_HOST_MEMORY, 0, NULL };
    uint64_t begun_ns = tn_log_clock_ns(TARN_LOG_LEVEL_INFO);
    acquired->backing_bytes = size_bytes;
    tarn_backend_result result = acquire_once(pool, request, acquired);
    if (result.status != TARN_STATUS_OK) return result;
    tn_pool_tell_growth(pool, request->size_bytes, size_bytes, begun_ns);
    *acquired_out = acquired;
    return result;
}

/* --- releasing ------------------------------------------------------------------------------------- */

bool tn_pool_may_release(const struct tarn_pool *pool)
{
    return pool->is_ending || !tn_captures_are_under_way();
}

void tn_pool_count_release(struct tarn_pool *pool, size_t size_bytes, bool was_unreleased,
                           tarn_backend_result result)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (result.status != TARN_STATUS_NOT_READY) {
        tn_stats_count_release(&pool->own.stats, size_bytes, was_unreleased,
                               result.status != TARN_STATUS_OK);
    } else if (!was_unreleased) {
        pool->own.stats.unreleased_bytes += size_bytes;
    }
    if (result.status == TARN_STATUS_OK) {
        pool->transit_bytes -= size_bytes;
        pool->change_count++;
    }
}

/* Memory that is not in the chain of those that leave has been in no list, so no work uses it. */
tarn_backend_result tn_pool_release(struct tarn_pool *pool, struct tn_static_pool *leaving)
{
    pool->refused_bytes = SIZE_MAX;
    tn_pool_lock_and_gather(pool);
    if (!leaving->is_leaving) {
        leaving->is_leaving = true;
        leaving->dependency = TN_DEPENDENCY_NONE;
        tn_static_pool_chain_push(&pool->leaving, leaving);
    }
    tn_pool_unlock(pool);
    tarn_backend_result result = { TARN_STATUS_NOT_READY, 0, NULL };
    if (tn_pool_may_release(pool)) {
        result = pool->backend.operations->release(pool->backend.state, leaving->backing,
                                                   leaving->backing_bytes);
        if (result.status == TARN_STATUS_NOT_READY) result.status = TARN_STATUS_VENDOR_ERROR;
    }
    bool is_released = result.status == TARN_STATUS_OK;
    tn_pool_lock_and_gather(pool);
    tn_pool_count_release(pool, leaving->backing_bytes, leaving->is_unreleased, result);
    leaving->is_unreleased = !is_released;
    if (is_released) tn_static_pool_chain_remove(&pool->leaving, leaving);
    tn_pool_unlock(pool);
    if (is_released) tn_static_pool_destroy(leaving);
    return result;
}

struct tn_giving_back tn_pool_release_unreleased(struct tarn_pool *pool)
{
    struct tn_giving_back given = { 0, 0, TARN_BACKEND_RESULT_OK };
    if (!tn_pool_may_release(pool)) return given;
    for (struct tn_static_pool *leaving = pool->leaving.newest, *older; leaving; leaving = older) {
        older = leaving->older;
        if (!leaving->is_unreleased) continue;
        size_t size_bytes = leaving->backing_bytes;
        tn_giving_back_count(&given, size_bytes, tn_pool_release(pool, leaving));
    }
    return given;
}

/* --- would it help --------------------------------------------------------------------------------- */

bool tn_pool_can_leave(const struct tarn_pool *pool, const struct tn_static_pool *held)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    return held->hold_count == 0 && !tn_pool_is_observed_anew(pool) &&
           tn_region_index_span_is_free(&pool->own.index, held->head, tn_pool_held_streams(pool));
}

size_t tn_pool_wholly_free_bytes_locked(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    size_t bytes = 0;
    if (pool->range) {
        if (tn_pool_is_observed_anew(pool)) return 0;
        return tn_step_range_count_free(pool->range, &pool->own.index, tn_pool_held_streams(pool));
    }
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *held = pool->list.by_chunk[i].static_pool;
        if (tn_pool_can_leave(pool, held)) bytes += held->backing_bytes;
    }
    return bytes;
}

/* With the memory that the vendor refused to take back: it may go back the next time. */
static size_t wholly_free_bytes(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    size_t bytes = tn_pool_wholly_free_bytes_locked(pool) + pool->own.stats.unreleased_bytes;
    tn_pool_unlock(pool);
    return bytes;
}

static size_t used_bytes(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    size_t bytes = pool->own.stats.used_bytes;
    tn_pool_unlock(pool);
    return bytes;
}

/* The largest request that the vendor's calls can serve. Steps serve any size. */
static size_t piece_bytes_max(const struct tarn_pool *pool)
{
    return pool->range ? SIZE_MAX : pool->growth.allocation_bytes_max;
}

/* Bytes beyond the limit, if the pool held so much more; at least 1. */
static size_t excess_bytes(size_t footprint_bytes, size_t needed, size_t limit_bytes)
{
    size_t room = limit_bytes - needed;
    return footprint_bytes > room ? footprint_bytes - room : 1;
}

size_t tn_pool_missing_bytes(struct tarn_pool *pool, const struct tn_request *request,
                             tarn_backend_result result, uint32_t missing_unit_count)
{
    size_t needed = tight_bytes(pool, request), limit = pool->growth.limit_bytes;
    if (pool->range && needed > pool->range->device_bytes) return 0;
    if (result.status == TARN_STATUS_OUT_OF_MEMORY) return needed;
    if (result.status != TARN_STATUS_OVER_LIMIT) return 0;
    if (needed > limit || needed > piece_bytes_max(pool)) return 0;
    struct tn_growth_state state = growth_state(pool);
    if (pool->range) {
        /* Steps that are partly free may help too. How much is unknown before it is tried. */
        size_t unit_bytes = pool->range->unit_bytes;
        size_t missing = tn_min(missing_unit_count * unit_bytes, limit);
        if (used_bytes(pool) > limit - needed) return 0;
        return missing_unit_count == 0 ? unit_bytes
                                       : excess_bytes(state.footprint_bytes, missing, limit);
    }
    size_t left = state.footprint_bytes - wholly_free_bytes(pool);
    return left <= limit - needed ? excess_bytes(state.footprint_bytes, needed, limit) : 0;
}

/* --- failing ------------------------------------------------------------------------------------ */

/* "; of 54 MiB free, the largest region has 10 MiB". "": nothing is free, or there are no regions. */
struct free_text {
    char text[160];
};

/* The option that may help where free memory is scattered. */
static const char *tell_contiguous(const struct tarn_pool *pool)
{
    return pool->reads_environment ? ", and TARN_CONTIGUOUS=1 may join them"
                                   : ", and the option contiguous may join them";
}

/* The bytes that are free, of which the request may find none that it fits into. */
static struct free_text tell_free(struct tarn_pool *pool, const struct tn_request *request)
{
    struct free_text told = { "" };
    if (pool->passes_through) return told;
    struct tn_growth_state state = growth_state(pool);
    tn_pool_lock_and_gather(pool);
    size_t largest_count =
        tn_region_index_largest_free_without(&pool->own.index, tn_pool_held_streams(pool));
    tn_pool_unlock(pool);
    if (largest_count == 0 || state.used_bytes >= state.footprint_bytes) return told;
    size_t free_bytes = state.footprint_bytes - state.used_bytes;
    bool would_fit = !pool->range && free_bytes >= request->size_bytes;
    snprintf(told.text, sizeof told.text, "; of %s free, the largest region has %s%s",
             tn_bytes_text(free_bytes).text, tn_bytes_text(largest_count << pool->chunk_log2).text,
             would_fit ? tell_contiguous(pool) : "");
    return told;
}

/* The option or variable to change. */
static const char *tell_limit(const struct tarn_pool *pool)
{
    if (pool->is_over_callers_memory) return "";
    return pool->reads_environment ? ", which limit_bytes or TARN_LIMIT sets"
                                   : ", which limit_bytes sets";
}

/* Reports why the pool may not ask for even the least size. */
static tarn_status fail_for_caps(struct tarn_pool *pool, const struct tn_request *request)
{
    size_t needed;
    struct tn_quote name = tn_quote_pool(pool), label = tn_quote_label();
    if (!ample_bytes(pool, request, &needed)) {
        return tn_fail(TARN_STATUS_SIZE_TOO_LARGE, "%zu bytes aligned to %zu are too many",
                       request->size_bytes, request->alignment_bytes);
    }
    struct tn_growth_state state = growth_state(pool);
    size_t limit = pool->growth.limit_bytes;
    struct tn_bytes_text size = tn_bytes_text(request->size_bytes);
    if (needed > piece_bytes_max(pool)) {
        return tn_fail(TARN_STATUS_OUT_OF_MEMORY,
                       "%s%s need a piece of %s, and the %s backend's largest allocation is %s",
                       size.text, label.text, tn_bytes_text(needed).text,
                       pool->backend.operations->name,
                       tn_bytes_text(pool->growth.allocation_bytes_max).text);
    }
    if (pool->range) {
        return tn_fail(TARN_STATUS_OVER_LIMIT,
                       "no free region holds %s%s, and the pool%s cannot map as many steps of %s "
                       "as this takes: it holds %s of at most %s%s%s",
                       size.text, label.text, name.text,
                       tn_bytes_text(pool->range->unit_bytes).text,
                       tn_bytes_text(state.footprint_bytes).text, tn_bytes_text(limit).text,
                       tell_limit(pool), tell_free(pool, request).text);
    }
    if (needed > limit || state.footprint_bytes > limit - needed) {
        return tn_fail(TARN_STATUS_OVER_LIMIT,
                       "no free region holds %s%s, and the pool%s cannot grow by the %s that this "
                       "takes: it holds %s of at most %s%s%s",
                       size.text, label.text, name.text, tn_bytes_text(needed).text,
                       tn_bytes_text(state.footprint_bytes).text, tn_bytes_text(limit).text,
                       tell_limit(pool), tell_free(pool, request).text);
    }
    return tn_fail(TARN_STATUS_OUT_OF_MEMORY,
                   "no free region holds %s%s, and the pool%s cannot grow: it can have %zu chunks "
                   "of %s in all, which chunk_bytes or TARN_CHUNK sets",
                   size.text, label.text, name.text, (size_t)TN_CHUNK_COUNT_MAX,
                   tn_bytes_text((size_t)1 << pool->chunk_log2).text);
}

tarn_status tn_pool_fail_growth(struct tarn_pool *pool, const struct tn_request *request,
                                tarn_backend_result result)
{
    const char *backend = pool->backend.operations->name;
    struct tn_quote name = tn_quote_pool(pool), label = tn_quote_label();
    struct tn_bytes_text size = tn_bytes_text(request->size_bytes);
    if (result.status == TARN_STATUS_OVER_LIMIT) return fail_for_caps(pool, request);
    if (result.status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "the %s backend has no host memory to allocate %s%s", backend,
                              size.text, label.text);
    }
    if (result.status == TARN_STATUS_OUT_OF_MEMORY) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "no free region holds %s%s, and the %s backend has no more "
                              "memory%s: the pool%s holds %s%s",
                              size.text, label.text, backend,
                              pool->range ? ", or its range no more addresses" : "", name.text,
                              tn_bytes_text(growth_state(pool).footprint_bytes).text,
                              tell_free(pool, request).text);
    }
    return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                          "the %s backend failed to give memory for %s%s: %s", backend, size.text,
                          label.text, result.vendor_name ? result.vendor_name : "no reason");
}
