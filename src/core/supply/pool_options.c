/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_options: asks the device, and computes. */
#include "pool_options.h"

#include <stdint.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../serve/pool_streams.h"

tarn_backend_result tn_query_memory(const tarn_backend *backend, tarn_memory_info *info_out)
{
    const tarn_backend_result unknown = { TARN_STATUS_NOT_SUPPORTED, 0, NULL };
    tarn_memory_info info = { 0, 0 };
    if (!backend->operations->query_memory) return unknown;
    tarn_backend_result result = backend->operations->query_memory(backend->state, &info);
    if (result.status != TARN_STATUS_OK) return result;
    if (info.total_bytes == 0) return unknown;
    *info_out = info;
    return result;
}

size_t tn_percent_of(size_t bytes, unsigned percent)
{
    return bytes / 100 * percent + bytes % 100 * percent / 100;
}

static tarn_status fail_for_memory(const tarn_backend *backend, tarn_backend_result result,
                                   const char *option)
{
    return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                          "%s needs to know how much memory there is, and the %s backend does not "
                          "tell",
                          option, backend->operations->name);
}

/* Stores the smaller of limit_bytes and limit_percent, in bytes. SIZE_MAX: no limit. Errors: INVALID_OPTIONS if
 * the limit is less than a chunk; NOT_SUPPORTED or VENDOR_ERROR if the device does not tell its memory. */
static tarn_status find_limit(const tarn_pool_options *options, const tarn_backend *backend,
                              size_t *limit_bytes_out)
{
    size_t limit_bytes = options->limit_bytes ? options->limit_bytes : SIZE_MAX;
    if (options->limit_percent > 0) {
        tarn_memory_info info;
        tarn_backend_result result = tn_query_memory(backend, &info);
        if (result.status != TARN_STATUS_OK)
            return fail_for_memory(backend, result, "limit_percent");
        limit_bytes = tn_min(limit_bytes, tn_percent_of(info.total_bytes, options->limit_percent));
        if (limit_bytes < options->chunk_bytes) {
            return tn_fail(
                TARN_STATUS_INVALID_OPTIONS,
                "limit_percent is %u: of the device's %zu bytes, that is less than one chunk "
                "of %zu",
                options->limit_percent, info.total_bytes, options->chunk_bytes);
        }
    }
    *limit_bytes_out = limit_bytes;
    return TARN_STATUS_OK;
}

/* A piece may start at any multiple of the backend's alignment, and a chunk starts at a multiple of its size. So a
 * smaller limit may leave no room for a chunk. A static pool for one allocation has no chunks, and steps are
 * aligned. Errors: INVALID_OPTIONS. */
static tarn_status check_limit(const tarn_pool_options *options, const tarn_backend *backend,
                               size_t alignment_bytes, size_t limit_bytes)
{
    size_t chunk_bytes = options->chunk_bytes;
    size_t lead = chunk_bytes > alignment_bytes ? chunk_bytes - alignment_bytes : 0;
    if (options->passes_through || options->contiguous || limit_bytes >= chunk_bytes + lead)
        return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                   "the limit is %zu bytes, too little for a chunk: the %s backend aligns to %zu "
                   "bytes, so a piece that surely holds a chunk of %zu has %zu",
                   limit_bytes, backend->operations->name, alignment_bytes, chunk_bytes,
                   chunk_bytes + lead);
}

/* Asks the vendor once, because the backend may have the operation over a vendor that is too old for it. */
static tarn_status check_identification(const tarn_backend *backend)
{
    const tarn_backend_operations *operations = backend->operations;
    tarn_backend_result result = { TARN_STATUS_NOT_SUPPORTED, 0, NULL };
    uint64_t id;
    bool has_events = operations->event_create && operations->event_destroy &&
                      operations->event_record && operations->event_query &&
                      operations->stream_wait_event;
    if (operations->stream_id && has_events)
        result = operations->stream_id(backend->state, NULL, &id);
    if (result.status == TARN_STATUS_OK) return TARN_STATUS_OK;
    return tn_fail_vendor(
        result.status, result.vendor_code, result.vendor_name,
        "identifies_streams needs stream numbers and events from the vendor, and the %s backend "
        "lacks one of them: use tarn_stream_retire",
        operations->name);
}

static tarn_status check_waiting(const tarn_pool_options *options, const tarn_backend *backend)
{
    const tarn_pool *fallback = options->fallback;
    bool can_fall_back = !fallback || tn_any_stream_has_operations(fallback->backend.operations);
    if (!can_fall_back) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "free_waits needs events, and the fallback has none");
    }
    if (tn_any_stream_has_operations(backend->operations) &&
        (tn_captures_are_under_way() || tn_any_stream_is_supported(backend)))
        return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                   "free_waits needs events, and a call that waits for the device: the %s backend "
                   "lacks one of them",
                   backend->operations->name);
}

tarn_status tn_pool_options_resolve(const tarn_pool_options *options, const tarn_backend *backend,
                                    const tarn_device_properties *properties,
                                    struct tn_growth_policy *policy_out)
{
    size_t limit_bytes = SIZE_MAX;
    tarn_status status = TARN_STATUS_OK;
    if (options->identifies_streams) status = check_identification(backend);
    if (status == TARN_STATUS_OK && options->free_waits) status = check_waiting(options, backend);
    if (status == TARN_STATUS_OK) status = find_limit(options, backend, &limit_bytes);
    if (status == TARN_STATUS_OK)
        status = check_limit(options, backend, properties->alignment_bytes, limit_bytes);
    if (status != TARN_STATUS_OK) return status;
    bool takes_all = options->initial_bytes == TARN_INITIAL_ALL;
    tarn_memory_info info;
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    if (takes_all) result = tn_query_memory(backend, &info);
    if (result.status != TARN_STATUS_OK)
        return fail_for_memory(backend, result, "TARN_INITIAL_ALL as initial_bytes");
    /* All of initial_bytes can be allocated if they are whole chunks. */
    size_t initial_bytes = options->initial_bytes;
    (void)tn_round_up_fits(initial_bytes, options->chunk_bytes, &initial_bytes);
    *policy_out = (struct tn_growth_policy){
        .initial_bytes = initial_bytes,
        .takes_all = takes_all,
        .factor = options->growth_factor,
        .stream_slack = options->stream_slack,
        .growth_bytes_max = options->growth_bytes_max ? options->growth_bytes_max : SIZE_MAX,
        .limit_bytes = limit_bytes,
        .allocation_bytes_max = properties->allocation_bytes_max,
        .granularity_bytes = properties->granularity_bytes,
        .common_granularity_bytes = TN_GROWTH_COMMON_GRANULARITY,
    };
    return TARN_STATUS_OK;
}
