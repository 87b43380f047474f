/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* api_life: the public functions that create, destroy and abandon pools. */
#include "../base/error.h"
#include "../core/api/checks.h"
#include "../core/api/over_backend.h"
#include "../core/care/debug_pool.h"
#include "../core/care/pool_life.h"
#include "../core/care/recording.h"
#include "../core/serve/pool_name.h"

#include "create.h"
#include "environment.h"
#include "exit_summary.h"
#include "life_log.h"
#include "report.h"

tarn_status tarn_pool_create(const tarn_pool_options *given, tarn_pool **pool_out)
{
    tarn_pool_options options;
    struct tn_creation creation;
    if (!pool_out) return tn_fail_for_null("pool_out");
    tarn_status status = tn_complete_options(given, &options);
    if (status == TARN_STATUS_OK) status = tn_create_begin(&options, NULL, &creation);
    if (status != TARN_STATUS_OK) return status;
    status = tn_create_finish(&creation);
    if (status != TARN_STATUS_OK) {
        tn_pool_life_undo(creation.pool);
        return status;
    }
    if (tn_log_is_on(TARN_LOG_LEVEL_INFO)) tn_life_log_created(creation.pool, &creation.options);
    *pool_out = creation.pool;
    return TARN_STATUS_OK;
}

tarn_status tarn_pool_create_over(void *address, size_t size_bytes, const tarn_pool_options *given,
                                  tarn_pool **pool_out)
{
    tarn_pool_options options;
    if (!pool_out) return tn_fail_for_null("pool_out");
    tarn_status status = tn_complete_options(given, &options);
    if (status == TARN_STATUS_OK) status = tn_check_options(&options);
    if (status == TARN_STATUS_OK && options.backend) {
        status = tn_fail(TARN_STATUS_INVALID_OPTIONS,
                         "backend is set, but the memory comes from the caller");
    }
    if (status == TARN_STATUS_OK)
        status = tn_check_memory(address, size_bytes, options.chunk_bytes);
    if (status == TARN_STATUS_OK) status = tn_environment_read_reports();
    if (status != TARN_STATUS_OK) return status;
    tn_recording_read_environment();
    const tarn_backend backend = tn_over_backend();
    const tarn_pool_options over = tn_pool_life_options_over(&options, size_bytes);
    status = tn_pool_life_begin(&over, &backend, false, address, pool_out);
    if (status == TARN_STATUS_OK && tn_log_is_on(TARN_LOG_LEVEL_INFO))
        tn_life_log_created_over(*pool_out, address, size_bytes);
    return status;
}

/* Ends an open pool. The message has a copy of its figures: after the end the handle may be another pool's. */
static void end(tarn_pool *pool, void (*fini)(struct tarn_pool *pool), const char *how)
{
    bool is_told = tn_log_is_on(TARN_LOG_LEVEL_INFO);
    const struct tn_pool_title title = tn_pool_title(pool);
    tarn_stats stats = TARN_STATS_INIT;
    if (is_told) tn_debug_stats(pool, &stats);
    if (tn_report_is_table_requested()) tn_exit_summary_keep(pool);
    tn_pool_life_end(pool, fini);
    if (is_told) tn_life_log_ended(&title, &stats, how);
}

/* Refuses to end the process-wide pool, except from tarn_default_pool_destroy and tarn_default_pool_abandon:
 * tarn_malloc would keep a handle of a destroyed pool. */
static tarn_status check_endable(const tarn_pool *pool, const char *instead)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    if (pool->is_process_wide) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "this is the process-wide pool: use %s",
                       instead);
    }
    return TARN_STATUS_OK;
}

tarn_status tarn_pool_destroy(tarn_pool *pool)
{
    if (!pool) return TARN_STATUS_OK;
    if (tn_pool_is_forked(pool)) {
        tn_pool_life_end_forked(pool);
        return TARN_STATUS_OK;
    }
    tarn_status status = check_endable(pool, "tarn_default_pool_destroy");
    if (status != TARN_STATUS_OK) return status;
    size_t live_count = tn_debug_leaks(pool).allocation_count;
    if (live_count > 0) {
        return tn_fail(TARN_STATUS_LIVE_REGIONS, "the pool%s still has %zu live allocation%s",
                       tn_quote_pool(pool).text, live_count, live_count == 1 ? "" : "s");
    }
    end(pool, tn_pool_fini, "destroyed");
    return TARN_STATUS_OK;
}

tarn_status tarn_pool_destroy_forced(tarn_pool *pool, tarn_leaks *leaks_out)
{
    tarn_leaks leaks = TARN_LEAKS_INIT;
    tarn_status status = TARN_STATUS_OK;
    if (leaks_out)
        status = tn_check_struct_bytes("leaks_out", leaks_out->struct_bytes, sizeof *leaks_out,
                                       sizeof *leaks_out, TARN_STATUS_INVALID_ARGUMENT);
    bool is_ours = pool && !tn_pool_is_forked(pool);
    if (status == TARN_STATUS_OK && is_ours)
        status = check_endable(pool, "tarn_default_pool_destroy");
    if (status != TARN_STATUS_OK) return status;
    if (is_ours) {
        leaks = tn_debug_leaks(pool);
        tn_recording_note_destruction(pool);
        end(pool, tn_pool_fini, "destroyed by force");
    } else if (pool) {
        tn_pool_life_end_forked(pool);
    }
    if (leaks_out) *leaks_out = leaks;
    return TARN_STATUS_OK;
}

tarn_status tarn_pool_abandon(tarn_pool *pool)
{
    if (!pool) return TARN_STATUS_OK;
    if (tn_pool_is_forked(pool)) {
        tn_pool_life_end_forked(pool);
        return TARN_STATUS_OK;
    }
    tarn_status status = check_endable(pool, "tarn_default_pool_abandon");
    if (status == TARN_STATUS_OK) end(pool, tn_pool_abandon, "abandoned");
    return status;
}
