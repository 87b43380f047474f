/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* checks: of pools, pointers, structs, options and memory. */
#include "checks.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../serve/pool_name.h"

#define DEBUG_FLAGS_ALL \
    (TARN_DEBUG_SITES | TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE)

TN_COLD tarn_status tn_fail_for_pool(const tarn_pool *pool)
{
    if (!pool) return tn_fail(TARN_STATUS_INVALID_POOL, "the pool is NULL");
    if (tn_pool_is_forked(pool)) {
        return tn_fail(TARN_STATUS_FORKED,
                       "the pool%s at %p was created before the fork and belongs to the parent",
                       tn_quote_pool(pool).text, (const void *)pool);
    }
    return tn_fail(TARN_STATUS_INVALID_POOL,
                   "there is no pool at %p: it has been destroyed, or never was one",
                   (const void *)pool);
}

TN_COLD tarn_status tn_return_to_pool(const tarn_pool *pool)
{
    return tn_pool_is_forked(pool) ? TARN_STATUS_OK : tn_fail_for_pool(pool);
}

TN_COLD tarn_status tn_fail_for_null(const char *argument)
{
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%s is NULL", argument);
}

/* The first version's size: this field was the first to be added. It lies behind all padding, so no struct of that
 * version seems to have it. */
#define OPTIONS_BYTES_FIRST offsetof(tarn_pool_options, name)

_Static_assert(sizeof(void *) != 8 || OPTIONS_BYTES_FIRST == 184, "fields of old versions stay");

/* The size of the smallest table that is accepted: it ends before the functions for sharing. */
#define OPERATIONS_BYTES_MIN offsetof(tarn_backend_operations, range_map_shareable)

static tarn_status check_backend(const tarn_backend *backend)
{
    const tarn_backend_operations *operations = backend->operations;
    if (!operations) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "the backend's table of operations is NULL");
    }
    if (operations->struct_bytes < OPERATIONS_BYTES_MIN) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "the backend's table of operations says it has %zu bytes, not %zu",
                       operations->struct_bytes, sizeof *operations);
    }
    if (!operations->name || !operations->acquire || !operations->release ||
        !operations->get_properties) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "the backend lacks a name, acquire, release or get_properties");
    }
    return TARN_STATUS_OK;
}

tarn_status tn_complete_options(const tarn_pool_options *given, tarn_pool_options *options_out)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    if (given) {
        tarn_status status =
            tn_check_struct_bytes("tarn_pool_options", given->struct_bytes, OPTIONS_BYTES_FIRST,
                                  sizeof *given, TARN_STATUS_INVALID_OPTIONS);
        if (status != TARN_STATUS_OK) return status;
        memcpy(&options, given, given->struct_bytes);
        options.struct_bytes = sizeof options;
    }
    *options_out = options;
    return TARN_STATUS_OK;
}

tarn_status tn_check_options(const tarn_pool_options *options)
{
    size_t chunk_bytes = options->chunk_bytes;
    if (!tn_is_power_of_two(chunk_bytes) || chunk_bytes < TARN_CHUNK_BYTES_MIN ||
        chunk_bytes > TARN_CHUNK_BYTES_MAX) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "chunk_bytes is %zu, not a power of two from %d to %zu", chunk_bytes,
                       TARN_CHUNK_BYTES_MIN, TARN_CHUNK_BYTES_MAX);
    }
    if (!tn_is_power_of_two(options->alignment_bytes) ||
        options->alignment_bytes < TARN_ALIGNMENT_BYTES_MIN ||
        options->alignment_bytes > chunk_bytes) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "alignment_bytes is %zu, not a power of two from %d to chunk_bytes, %zu",
                       options->alignment_bytes, TARN_ALIGNMENT_BYTES_MIN, chunk_bytes);
    }
    /* Negated, so that a NaN is refused too. */
    if (!(options->growth_factor >= 1.0)) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "growth_factor is %g, not 1 or more",
                       options->growth_factor);
    }
    if (!(options->stream_slack >= 0.0 && options->stream_slack <= TARN_STREAM_SLACK_MAX)) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "stream_slack is %g, not 0 to %d",
                       options->stream_slack, TARN_STREAM_SLACK_MAX);
    }
    bool is_number = options->pending_factor_max >= 0.0 || options->pending_factor_max < 0.0;
    if (!is_number)
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "pending_factor_max is not a number");
    if (options->limit_bytes != 0 && options->limit_bytes < chunk_bytes) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "limit_bytes is %zu, less than one chunk of %zu bytes", options->limit_bytes,
                       chunk_bytes);
    }
    if (options->takes_initial_at_once && options->initial_bytes == 0) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "takes_initial_at_once is set, but initial_bytes is 0");
    }
    if (options->step_bytes != 0 && !tn_is_power_of_two(options->step_bytes)) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "step_bytes is %zu, not 0 or a power of two",
                       options->step_bytes);
    }
    if (options->is_shareable && !options->contiguous && !options->passes_through) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "is_shareable is set, but contiguous is not: share the memory of other "
                       "pools by the vendor's handles");
    }
    if (options->limit_percent > 100) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "limit_percent is %u, not 0 to 100",
                       options->limit_percent);
    }
    if ((options->debug & ~DEBUG_FLAGS_ALL) != 0) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "debug is 0x%x, which has unknown flags",
                       options->debug);
    }
    if ((options->debug & TARN_DEBUG_QUARANTINE) && options->quarantine_bytes == 0)
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "quarantine_bytes is 0");
    if (!tn_fit_name(options->fit)) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "fit is %d, which is no placement policy",
                       (int)options->fit);
    }
    return options->backend ? check_backend(options->backend) : TARN_STATUS_OK;
}

tarn_status tn_check_memory(const void *address, size_t size_bytes, size_t chunk_bytes)
{
    size_t lead = -(uintptr_t)address & (chunk_bytes - 1), needed, end;
    if (!address) return tn_fail_for_null("address");
    if (!tn_add_fits((uintptr_t)address, size_bytes, &end)) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "%zu bytes at %p reach beyond the last address", size_bytes, address);
    }
    if (!tn_add_fits(lead, chunk_bytes, &needed) || size_bytes < needed) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "the %zu bytes at %p hold no whole chunk of %zu bytes", size_bytes, address,
                       chunk_bytes);
    }
    return TARN_STATUS_OK;
}
