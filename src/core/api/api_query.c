/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* api_query: the public functions about streams, captures, trimming, statistics, dumps and exports. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../base/error.h"
#include "../care/debug_pool.h"
#include "../care/dump.h"
#include "../care/elsewhere.h"
#include "../care/leak_report.h"
#include "../care/pool_life.h"
#include "../care/pool_registry.h"
#include "../serve/pool_log.h"
#include "../serve/pool_name.h"
#include "../supply/capture.h"
#include "../supply/pool_callbacks.h"
#include "../supply/mapped.h"
#include "../supply/pool_trim.h"

#include "checks.h"

int tarn_version(void)
{
    return TARN_VERSION;
}

/* --- streams ------------------------------------------------------------------------------------- */

/* Continues after a pool has failed: the other pools must not keep a handle that is about to end. */
tarn_status tarn_stream_retire(tarn_stream stream)
{
    tarn_status status = TARN_STATUS_OK;
    if (stream == TARN_STREAM_ANY)
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "TARN_STREAM_ANY is no stream, and never ends");
    for (tarn_pool *pool = tn_pool_registry_pin_next(NULL); pool;
         pool = tn_pool_registry_pin_next(pool)) {
        tarn_status retired = tn_pool_retire_stream(pool, stream);
        if (retired != TARN_STATUS_OK) status = retired;
    }
    return status;
}

tarn_status tarn_pool_use_on(tarn_pool *pool, void *address, tarn_stream stream)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    return address ? tn_use_anywhere(pool, address, stream) : TARN_STATUS_OK;
}

/* Returns the status of what was done to the capture. */
static tarn_status tell_capture(const tarn_pool *pool, tarn_capture capture, tarn_stream stream,
                                const char *done, tarn_status status)
{
    if (status != TARN_STATUS_OK || !tn_log_is_on(TARN_LOG_LEVEL_INFO)) return status;
    char of_stream[48] = "";
    if (stream) snprintf(of_stream, sizeof of_stream, " of stream %p", stream);
    tn_pool_log(pool, TARN_LOG_LEVEL_INFO, "capture %llu%s %s", (unsigned long long)capture,
                of_stream, done);
    return status;
}

tarn_status tarn_capture_begin(tarn_pool *pool, tarn_stream stream, tarn_capture *capture)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    if (!capture) return tn_fail_for_null("capture");
    tn_pool_lock_growth(pool);
    tarn_status status = tn_capture_begin(pool, stream, capture);
    tn_pool_unlock_growth(pool);
    return tell_capture(pool, *capture, stream, "has begun", status);
}

tarn_status tarn_capture_end(tarn_pool *pool, tarn_capture capture)
{
    if (!tn_pool_is_open(pool)) return tn_return_to_pool(pool);
    tn_pool_lock_growth(pool);
    tarn_status status = tn_capture_end(pool, capture);
    tn_pool_unlock_growth(pool);
    (void)tell_capture(pool, capture, NULL, "has ended", status);
    if (status == TARN_STATUS_OK) tn_pool_life_catch_up();
    return status;
}

tarn_status tarn_capture_release(tarn_pool *pool, tarn_capture capture, const tarn_stream *streams,
                                 size_t stream_count)
{
    if (!tn_pool_is_open(pool)) return tn_return_to_pool(pool);
    if (!streams && stream_count > 0) return tn_fail_for_null("streams");
    tn_pool_lock_growth(pool);
    tarn_status status = tn_capture_release(pool, capture, streams, stream_count);
    tn_pool_unlock_growth(pool);
    if (pool->passes_through) tn_pool_release_freed(pool);
    return tell_capture(pool, capture, NULL, "was released", status);
}

tarn_status tarn_pool_trim(tarn_pool *pool, size_t keep_bytes, size_t *released_bytes_out)
{
    size_t released_bytes = 0;
    tarn_status status;
    if (tn_pool_is_open(pool)) {
        tn_debug_empty_quarantine(pool);
        status = tn_pool_trim(pool, keep_bytes, &released_bytes);
    } else {
        status = tn_return_to_pool(pool);
    }
    if (status == TARN_STATUS_OK && released_bytes_out) *released_bytes_out = released_bytes;
    return status;
}

/* --- observers ----------------------------------------------------------------------------------- */

/* While the observer was told, no memory could go back. The pool gives it back now. */
tarn_status tarn_pool_observe(tarn_pool *pool, tarn_static_pool_callback on_created,
                              tarn_static_pool_callback on_destroyed, void *user,
                              tarn_observer *observer_out)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    if (!on_created && !on_destroyed) return tn_fail_for_null("on_created and on_destroyed");
    if (!observer_out) return tn_fail_for_null("observer_out");
    tarn_status status = tn_pool_observe(pool, on_created, on_destroyed, user, observer_out);
    if (status == TARN_STATUS_OK && pool->releases_after_free) tn_pool_release_after_free(pool);
    return status;
}

tarn_status tarn_pool_unobserve(tarn_pool *pool, tarn_observer observer)
{
    if (!tn_pool_is_open(pool)) return tn_return_to_pool(pool);
    return tn_pool_unobserve(pool, observer);
}

tarn_status tarn_static_pool_hold(tarn_pool *pool, uint64_t id)
{
    return tn_pool_is_open(pool) ? tn_piece_hold(pool, id) : tn_fail_for_pool(pool);
}

tarn_status tarn_static_pool_unhold(tarn_pool *pool, uint64_t id)
{
    if (!tn_pool_is_open(pool)) return tn_return_to_pool(pool);
    tarn_status status = tn_piece_unhold(pool, id);
    if (status == TARN_STATUS_OK && pool->releases_after_free) tn_pool_release_freed(pool);
    return status;
}

/* --- queries ------------------------------------------------------------------------------------- */

/* Of a struct that has not grown yet: requires today's size. */
static tarn_status check_output(const char *name, size_t struct_bytes, size_t today_bytes)
{
    return tn_check_struct_bytes(name, struct_bytes, today_bytes, today_bytes,
                                 TARN_STATUS_INVALID_ARGUMENT);
}

tarn_status tarn_pool_find(const void *address, tarn_allocation *found_out)
{
    if (!found_out) return tn_fail_for_null("found_out");
    tarn_status status = check_output("found_out", found_out->struct_bytes, sizeof *found_out);
    if (status != TARN_STATUS_OK) return status;
    switch (tn_pool_registry_find(address, NULL, found_out)) {
    case TN_FIND_RESULT_FOUND:
        return TARN_STATUS_OK;
    case TN_FIND_RESULT_NOT_LIVE:
        return tn_fail(TARN_STATUS_NOT_LIVE, "%p is in a pool but in no live allocation", address);
    case TN_FIND_RESULT_FOREIGN:
        break;
    }
    return tn_fail_for_foreign(address);
}

tarn_status tarn_pool_usable_size(tarn_pool *pool, const void *address, size_t *usable_bytes_out)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    if (!usable_bytes_out) return tn_fail_for_null("usable_bytes_out");
    if (address) return tn_find_usable_bytes_anywhere(pool, address, usable_bytes_out);
    *usable_bytes_out = 0;
    return TARN_STATUS_OK;
}

tarn_status tarn_pool_get_backend(const tarn_pool *pool, tarn_backend *backend_out)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    if (!backend_out) return tn_fail_for_null("backend_out");
    if (pool->is_over_callers_memory) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "the pool is over memory of the caller's and has no backend");
    }
    *backend_out = pool->backend;
    return TARN_STATUS_OK;
}

/* Fails an export of an address that is in no live allocation of the pool. */
static tarn_status fail_to_export(const tarn_pool *pool, const void *address)
{
    tarn_pool *owner;
    tarn_allocation found;
    if (tn_pool_registry_find(address, &owner, &found) == TN_FIND_RESULT_FOREIGN)
        return tn_fail_for_foreign(address);
    if (owner != pool) return tn_fail_for_owner(address, owner, pool);
    return tn_fail(TARN_STATUS_NOT_LIVE, "%p is in no live allocation", address);
}

tarn_status tarn_pool_export(tarn_pool *pool, const void *address, tarn_exported_step *step_out)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    if (!step_out) return tn_fail_for_null("step_out");
    tarn_status status = check_output("step_out", step_out->struct_bytes, sizeof *step_out);
    if (status != TARN_STATUS_OK) return status;
    if (!pool->is_shareable) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       pool->passes_through ? "the pool passes through and has no steps to share"
                                            : "the pool was created without is_shareable");
    }
    status = tn_debug_has_lost(pool, address) ? TARN_STATUS_NOT_LIVE
                                              : tn_mapped_export(pool, address, step_out);
    return status == TARN_STATUS_NOT_LIVE ? fail_to_export(pool, address) : status;
}

tarn_status tarn_pool_stats(tarn_pool *pool, tarn_stats *stats_out)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    if (!stats_out) return tn_fail_for_null("stats_out");
    tarn_stats stats;
    const size_t struct_bytes = stats_out->struct_bytes;
    tarn_status status =
        tn_check_struct_bytes("stats_out", struct_bytes, offsetof(tarn_stats, part_bytes),
                              sizeof stats, TARN_STATUS_INVALID_ARGUMENT);
    if (status != TARN_STATUS_OK) return status;
    tn_debug_stats(pool, &stats);
    stats.struct_bytes = struct_bytes;
    memcpy(stats_out, &stats, struct_bytes);
    return status;
}

tarn_status tarn_pool_label_stats(tarn_pool *pool, size_t index, tarn_label_stats *stats_out)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    if (!stats_out) return tn_fail_for_null("stats_out");
    tarn_status status = check_output("stats_out", stats_out->struct_bytes, sizeof *stats_out);
    if (status != TARN_STATUS_OK) return status;
    if (tn_debug_label_stats(pool, index, stats_out)) return status;
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "index is %zu, and the pool%s has no more labels",
                   index, tn_quote_pool(pool).text);
}

tarn_status tarn_pool_reset_peaks(tarn_pool *pool)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    tn_debug_reset_peaks(pool);
    return TARN_STATUS_OK;
}

tarn_status tarn_pool_available(tarn_pool *pool, size_t *available_bytes_out)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    if (!available_bytes_out) return tn_fail_for_null("available_bytes_out");
    return tn_debug_available(pool, available_bytes_out);
}

tarn_status tarn_pool_check(tarn_pool *pool)
{
    return tn_pool_is_open(pool) ? tn_debug_check(pool) : tn_fail_for_pool(pool);
}

tarn_status tarn_pool_dump(tarn_pool *pool, tarn_dump_format format, FILE *file)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    if (!file) return tn_fail_for_null("file");
    if (format != TARN_DUMP_FORMAT_TEXT && format != TARN_DUMP_FORMAT_JSON) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "format is %d, which is no dump format",
                       (int)format);
    }
    return tn_dump_pool(pool, format, file);
}

tarn_status tarn_pool_report_leaks(tarn_pool *pool, FILE *file)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    return file ? tn_leak_report_write(pool, file) : tn_fail_for_null("file");
}
