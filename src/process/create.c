/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* create: the steps from options to a pool. */
#include "create.h"

#include "../base/arith.h"
#include "../base/error.h"
#include "../core/api/checks.h"
#include "../core/care/pool_life.h"
#include "../core/care/recording.h"
#include "../core/supply/pool_options.h"

#include "ranks.h"

/* Ends the message with the variables that are set, if the failure may come from them: the messages about options and
 * devices name no variables, and the user may have set nothing else. */
static tarn_status fail_with_variables(tarn_status status)
{
    char variables[120];
    struct tn_saved_error saved = tn_error_save();
    if (status != TARN_STATUS_INVALID_OPTIONS && status != TARN_STATUS_NOT_SUPPORTED &&
        status != TARN_STATUS_INVALID_DEVICE)
        return status;
    tn_environment_name_set(variables, sizeof variables);
    if (variables[0] == '\0') return status;
    return tn_fail_vendor(status, saved.error.vendor_code, saved.error.vendor_name,
                          "%s; set in the environment: %s", saved.message, variables);
}

/* --- the share of a rank -------------------------------------------------------------------------- */

static unsigned count_ranks(unsigned rank_count)
{
    int device_count = 1;
    if (rank_count != TARN_RANKS_BY_LAUNCHER) return rank_count;
    struct tn_saved_error saved = tn_error_save();
    if (tarn_backend_device_count(&device_count) != TARN_STATUS_OK) tn_error_restore(&saved);
    return tn_ranks_on_device((unsigned)device_count);
}

/* All that there is, and per cent of it, become a limit in bytes. */
static tarn_status share_memory(const tarn_backend *backend, unsigned rank_count,
                                tarn_pool_options *options)
{
    unsigned percent = options->limit_percent ? options->limit_percent : 100;
    tarn_memory_info info;
    tarn_backend_result result = tn_query_memory(backend, &info);
    if (result.status != TARN_STATUS_OK) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "%u ranks share the device's memory, but the %s backend does not "
                              "tell how much there is",
                              rank_count, backend->operations->name);
    }
    /* Not 0, which would mean no limit. 1 byte is less than a chunk, so the pool is refused, with the reason. */
    size_t share_bytes = tn_max(tn_percent_of(info.total_bytes / rank_count, percent), 1);
    options->limit_bytes =
        options->limit_bytes ? tn_min(options->limit_bytes, share_bytes) : share_bytes;
    options->limit_percent = 0;
    return TARN_STATUS_OK;
}

/* The share of sizes that only guide growth, a chunk at least. 0 keeps its meaning. */
static void share_size(unsigned rank_count, size_t chunk_bytes, size_t *size_bytes)
{
    if (*size_bytes > 0) *size_bytes = tn_max(*size_bytes / rank_count, chunk_bytes);
}

static tarn_status share_device(const tarn_backend *backend, tarn_pool_options *options)
{
    unsigned rank_count = options->rank_count > 1 ? count_ranks(options->rank_count) : 1;
    bool takes_all = options->initial_bytes == TARN_INITIAL_ALL;
    if (rank_count <= 1 || options->passes_through) return TARN_STATUS_OK;
    share_size(rank_count, options->chunk_bytes, &options->growth_bytes_max);
    if (!takes_all) share_size(rank_count, options->chunk_bytes, &options->initial_bytes);
    if (!takes_all && options->limit_percent == 0) return TARN_STATUS_OK;
    return share_memory(backend, rank_count, options);
}

/* --- creating ------------------------------------------------------------------------------------- */

static tarn_status share_and_open(tarn_pool_options *options, const tarn_backend *backend,
                                  bool owns_backend, tarn_pool **pool_out)
{
    tarn_status status = share_device(backend, options);
    if (status != TARN_STATUS_OK) return status;
    return tn_pool_life_begin(options, backend, owns_backend, NULL, pool_out);
}

static tarn_status open_with_backend(tarn_pool_options *options, const struct tn_location *location,
                                     tarn_pool **pool_out)
{
    if (options->backend) return share_and_open(options, options->backend, false, pool_out);
    tarn_backend backend;
    tarn_status status = tarn_backend_open(location->device, location->kind, &backend);
    if (status != TARN_STATUS_OK) return status;
    status = share_and_open(options, &backend, true, pool_out);
    if (status != TARN_STATUS_OK) tarn_backend_close(&backend);
    return status;
}

static tarn_status check_and_open(tarn_pool_options *options, const struct tn_location *location,
                                  tarn_pool **pool_out)
{
    tarn_status status = tn_check_options(options);
    if (status == TARN_STATUS_OK) status = tn_environment_read_reports();
    if (status != TARN_STATUS_OK) return status;
    tn_recording_read_environment();
    if (options->passes_through) *options = tn_pool_life_options_passing_through(options);
    return open_with_backend(options, location, pool_out);
}

tarn_status tn_create_begin(const tarn_pool_options *options, const struct tn_location *location,
                            struct tn_creation *creation_out)
{
    struct tn_environment environment = {
        .options = *options,
        .location = { TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_DEVICE },
    };
    tarn_status status = options->reads_environment
                             ? tn_environment_read(&environment)
                             : tn_environment_read_disable(&environment.options.passes_through);
    if (status != TARN_STATUS_OK) return status;
    status = check_and_open(&environment.options, location ? location : &environment.location,
                            &creation_out->pool);
    creation_out->options = environment.options;
    return options->reads_environment ? fail_with_variables(status) : status;
}

tarn_status tn_create_finish(const struct tn_creation *creation)
{
    const tarn_pool_options *options = &creation->options;
    tarn_status status = tn_pool_life_take_initial(creation->pool, options);
    return options->reads_environment ? fail_with_variables(status) : status;
}
