/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* life_log: the options and the last statistics in words. */
#include "life_log.h"

#include <stdarg.h>
#include <stdio.h>

#include "../base/arith.h"
#include "../core/index/free_set.h"

struct text {
    size_t length;
    char bytes[TN_LOG_MESSAGE_BYTES];
};

/* Text without room is cut. */
static TN_PRINTF(2, 3) void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(text->bytes + text->length, sizeof text->bytes - text->length, format, arguments);
    va_end(arguments);
    if (length > 0) text->length = tn_min(text->length + (size_t)length, sizeof text->bytes - 1);
}

/* --- beginning ------------------------------------------------------------------------------------- */

static void append_source(struct text *text, const struct tarn_pool *pool)
{
    tarn_device_properties properties;
    const tarn_backend *backend = &pool->backend;
    tarn_backend_result result = backend->operations->get_properties(backend->state, &properties);
    append(text, "%s backend", pool->backend_name);
    if (result.status == TARN_STATUS_OK && properties.device_name)
        append(text, ", %s", properties.device_name);
}

static void append_growth(struct text *text, const tarn_pool_options *options)
{
    double factor = options->growth_factor < 1e6 ? options->growth_factor : 1e6;
    unsigned hundredths = (unsigned)(factor * 100.0);
    if (options->initial_bytes == TARN_INITIAL_ALL)
        append(text, "; starts with all memory");
    else
        append(text, "; starts with %s", tn_bytes_text(options->initial_bytes).text);
    if (options->contiguous) return;
    append(text, ", grows by factor %u.%02u", hundredths / 100, hundredths % 100);
    if (options->growth_bytes_max > 0)
        append(text, " up to %s", tn_bytes_text(options->growth_bytes_max).text);
}

static void append_limit(struct text *text, const struct tarn_pool *pool)
{
    size_t limit_bytes = pool->growth.limit_bytes;
    if (limit_bytes == SIZE_MAX)
        append(text, ", no limit");
    else
        append(text, ", limit %s", tn_bytes_text(limit_bytes).text);
}

/* The options that differ from the defaults. */
static void append_rest(struct text *text, const struct tarn_pool *pool,
                        const tarn_pool_options *options)
{
    if (pool->range)
        append(text, ", contiguous in steps of %s%s", tn_bytes_text(pool->range->unit_bytes).text,
               pool->range->unit_count_max > 1 ? " and more" : "");
    if (options->is_shareable) append(text, ", shareable");
    if (options->release_threshold_bytes > 0)
        append(text, ", gives back above %s", tn_bytes_text(options->release_threshold_bytes).text);
    if (options->returns_when_empty) append(text, ", gives all back when empty");
    if (options->chunk_bytes != TARN_CHUNK_BYTES_DEFAULT)
        append(text, ", chunks of %s", tn_bytes_text(options->chunk_bytes).text);
    if (options->fit != TARN_FIT_BEST) append(text, ", %s", tn_fit_name(options->fit));
    if (!options->slices) append(text, ", no slices");
    if (options->identifies_streams) append(text, ", identifies streams");
    if (options->free_waits) append(text, ", frees wait");
    if (options->stream_slack > 0.0)
        append(text, ", slack for streams %u %%", (unsigned)(options->stream_slack * 100.0));
    if (options->pending_factor_max < 0.0)
        append(text, ", no bound on memory that waits");
    else if (options->pending_factor_max > 0.0)
        append(text, ", waiting memory up to %g times the used", options->pending_factor_max);
    if (options->debug != 0) append(text, ", debug 0x%x", options->debug);
    if (options->fallback)
        append(text, ", falls back to %s", tn_pool_title(options->fallback).text);
}

void tn_life_log_created(const struct tarn_pool *pool, const tarn_pool_options *options)
{
    struct text text = { .length = 0 };
    append(&text, "created at %p: ", (const void *)pool);
    append_source(&text, pool);
    if (options->passes_through)
        append(&text, "; passes through");
    else
        append_growth(&text, options);
    append_limit(&text, pool);
    if (!options->passes_through) append_rest(&text, pool, options);
    tn_pool_log(pool, TARN_LOG_LEVEL_INFO, "%s", text.bytes);
}

void tn_life_log_created_over(const struct tarn_pool *pool, const void *address, size_t size_bytes)
{
    tn_pool_log(pool, TARN_LOG_LEVEL_INFO, "created at %p: over %s of the caller's memory at %p",
                (const void *)pool, tn_bytes_text(size_bytes).text, address);
}

void tn_life_log_name_process_wide(struct tarn_pool *pool)
{
    if (tn_log_is_on(TARN_LOG_LEVEL_INFO))
        tn_pool_log(pool, TARN_LOG_LEVEL_INFO, "is a process-wide pool");
    atomic_store_explicit(&pool->is_for_process, true, memory_order_relaxed);
}

/* --- end ------------------------------------------------------------------------------------------- */

void tn_life_log_ended(const struct tn_pool_title *title, const tarn_stats *stats, const char *how)
{
    struct text text = { .length = 0 };
    append(&text, "%s after %llu allocations; at most %s live and %s held", how,
           (unsigned long long)stats->alloc_count, tn_bytes_text(stats->requested_bytes_max).text,
           tn_bytes_text(stats->footprint_bytes_max).text);
    if (stats->live_count > 0)
        append(&text, "; still live: %zu allocations, %s", stats->live_count,
               tn_bytes_text(stats->requested_bytes).text);
    tn_log(TARN_LOG_LEVEL_INFO, "%s: %s", title->text, text.bytes);
}
