/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_growth: how much, answers, would it help, messages. */
#include "pool_growth.h"

#include <stdio.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../arenas/gather.h"
#include "../serve/pool_log.h"
#include "../serve/pool_name.h"
#include "../serve/pool_streams.h"

/* --- how much -------------------------------------------------------------------------------------- */

size_t tn_pool_alignment_needed(const struct tarn_pool *pool, const struct tn_request *request)
{
    size_t least = pool->passes_through ? tn_max(TARN_CHUNK_BYTES_MIN, pool->alignment_bytes)
                                        : (size_t)1 << pool->chunk_log2;
    return tn_max(least, request->alignment_bytes);
}

bool tn_pool_ample_bytes(const struct tarn_pool *pool, const struct tn_request *request,
                         size_t *ample_out)
{
    size_t alignment = tn_pool_alignment_needed(pool, request);
    size_t lead =
        alignment > pool->backend_alignment_bytes ? alignment - pool->backend_alignment_bytes : 0;
    return tn_add_fits(tn_pool_tight_bytes(pool, request), lead, ample_out);
}

struct tn_growth_state tn_pool_growth_state_locked(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_growth_state state = {
        .footprint_bytes = pool->own.stats.footprint_bytes,
        .used_bytes = tn_arenas_sum_used(pool) +
                      ((size_t)tn_pool_sum_captured(pool).chunk_count << pool->chunk_log2),
        .used_bytes_max = pool->own.stats.used_bytes_max,
        .is_first = pool->pieces.joined_count == 0,
        .refused_bytes = pool->refused_bytes,
        .device_free_bytes = SIZE_MAX,
    };
    uint32_t numbers =
        tn_static_pool_list_longest_run(&pool->list, TN_START_GROUP_CHUNKS, TN_CHUNK_COUNT_MAX);
    if (!tn_multiply_fits(numbers, (size_t)1 << pool->chunk_log2, &state.numbered_bytes_max))
        state.numbered_bytes_max = SIZE_MAX;
    return state;
}

struct tn_growth_state tn_pool_growth_state(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    struct tn_growth_state state = tn_pool_growth_state_locked(pool);
    tn_pool_unlock(pool);
    return state;
}

size_t tn_pool_slack_bytes_max(struct tarn_pool *pool)
{
    if (!(pool->growth.stream_slack > 0.0)) return 0;
    struct tn_growth_state state = tn_pool_growth_state(pool);
    return tn_growth_slack_bytes_max(&pool->growth, &state);
}

size_t tn_pool_footprint_bytes(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    size_t bytes = pool->own.stats.footprint_bytes;
    tn_pool_unlock(pool);
    return bytes;
}

/* --- answers --------------------------------------------------------------------------------------- */

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

void tn_pool_count_vendor_alloc(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    pool->own.stats.vendor_alloc_count++;
    tn_pool_unlock(pool);
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

size_t tn_pool_excess_bytes(size_t footprint_bytes, size_t needed, size_t limit_bytes)
{
    size_t room = limit_bytes - needed;
    return footprint_bytes > room ? footprint_bytes - room : 1;
}

size_t tn_pool_missing_bytes(struct tarn_pool *pool, const struct tn_request *request,
                             tarn_backend_result result, const struct tn_arrival *arrival)
{
    bool is_lack =
        result.status == TARN_STATUS_OUT_OF_MEMORY || result.status == TARN_STATUS_OVER_LIMIT;
    return is_lack ? pool->supplier->count_missing(pool, request, result, arrival) : 0;
}

/* --- the log --------------------------------------------------------------------------------------- */

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
    struct tn_growth_state state = tn_pool_growth_state(pool);
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
    if (!tn_pool_ample_bytes(pool, request, &needed)) {
        return tn_fail(TARN_STATUS_SIZE_TOO_LARGE, "%zu bytes aligned to %zu are too many",
                       request->size_bytes, request->alignment_bytes);
    }
    struct tn_growth_state state = tn_pool_growth_state(pool);
    size_t limit = pool->growth.limit_bytes;
    struct tn_bytes_text size = tn_bytes_text(request->size_bytes);
    bool is_mapped = pool->range != NULL;
    if (!is_mapped && needed > pool->growth.allocation_bytes_max) {
        return tn_fail(TARN_STATUS_OUT_OF_MEMORY,
                       "%s%s need a piece of %s, and the %s backend's largest allocation is %s",
                       size.text, label.text, tn_bytes_text(needed).text,
                       pool->backend.operations->name,
                       tn_bytes_text(pool->growth.allocation_bytes_max).text);
    }
    if (is_mapped || needed > limit || state.footprint_bytes > limit - needed) {
        return tn_fail(TARN_STATUS_OVER_LIMIT,
                       "no free region holds %s%s, and the pool%s cannot %s %s %s this takes: it "
                       "holds %s of at most %s%s%s",
                       size.text, label.text, name.text,
                       is_mapped ? "map as many steps of" : "grow by the",
                       tn_bytes_text(is_mapped ? pool->range->unit_bytes : needed).text,
                       is_mapped ? "as" : "that", tn_bytes_text(state.footprint_bytes).text,
                       tn_bytes_text(limit).text, tell_limit(pool), tell_free(pool, request).text);
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
                              tn_bytes_text(tn_pool_growth_state(pool).footprint_bytes).text,
                              tell_free(pool, request).text);
    }
    return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                          "the %s backend failed to give memory for %s%s: %s", backend, size.text,
                          label.text, result.vendor_name ? result.vendor_name : "no reason");
}
