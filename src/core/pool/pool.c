/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool: init, fini, retiring a stream, and the counters of calls that do nothing else. */
#include "pool.h"

#include <stdio.h>
#include <string.h>

#include "../../base/error.h"
#include "../serve/any_stream.h"
#include "../serve/pool_slices.h"
#include "../supply/piece.h"
#include "../supply/pool_callbacks.h"
#include "../supply/pool_options.h"
#include "../supply/pool_watch.h"
#include "../supply/stream_reuse.h"

/* --- life ----------------------------------------------------------------------------------- */

static uint64_t take_number(void)
{
    static _Atomic uint64_t last_number;
    return atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
}

tarn_status tn_pool_init(struct tarn_pool *pool, const tarn_pool_options *options,
                         const tarn_backend *backend, bool owns_backend)
{
    tarn_device_properties properties = { 0 };
    tarn_backend_result result = backend->operations->get_properties(backend->state, &properties);
    if (result.status != TARN_STATUS_OK) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "the %s backend failed to tell its properties",
                              backend->operations->name);
    }
    if (!tn_is_power_of_two(properties.alignment_bytes) ||
        !tn_is_power_of_two(properties.granularity_bytes) || properties.allocation_bytes_max == 0) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "the %s backend has impossible properties: alignment %zu, granularity %zu, "
                       "largest allocation %zu bytes",
                       backend->operations->name, properties.alignment_bytes,
                       properties.granularity_bytes, properties.allocation_bytes_max);
    }

    tarn_status status = tn_pool_options_resolve(options, backend, &properties, &pool->growth);
    if (status != TARN_STATUS_OK) return status;
    if (!tn_region_index_init(&pool->own.index, options->fit)) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory for a pool's index");
    }
    tn_biased_mutex_init(&pool->lock);
    tn_mutex_init(&pool->growth_lock);
    tn_mutex_init(&pool->watch_lock);
    tn_mutex_init(&pool->use_lock);
    tn_use_table_init(&pool->uses);
    pool->is_unwatched = false;
    pool->chunk_log2 = tn_lowest_bit(options->chunk_bytes);
    pool->alignment_bytes = options->alignment_bytes;
    pool->zero_has_address = options->zero_has_address;
    pool->pending_factor_max = options->pending_factor_max != 0.0 ? options->pending_factor_max
                                                                  : TARN_PENDING_FACTOR_MAX_DEFAULT;
    pool->release_threshold_bytes = options->release_threshold_bytes;
    pool->returns_when_empty = options->returns_when_empty;
    pool->passes_through = options->passes_through;
    pool->is_shareable = options->is_shareable;
    pool->releases_after_free = options->release_threshold_bytes > 0 ||
                                options->returns_when_empty || options->passes_through;
    if (pool->chunk_log2 <= TN_REGION_LABEL_SHIFT) tn_region_index_allow_labels(&pool->own.index);
    atomic_init(&pool->own.labels, NULL);
    tn_static_pool_list_init(&pool->list);
    tn_arenas_init(&pool->arenas);
    tn_pool_init_slices(pool, options);
    pool->own.stats = (struct tn_stats){ 0 };
    pool->debug = NULL;
    pool->notes_callers = false;
    atomic_store_explicit(&pool->needs_care, 0, memory_order_relaxed);
    /* The host backend tells the sanitizer of the device work on its memory. With another backend, threads that
     * the pool does not know may touch memory after its free. */
    pool->forbids_free_memory = TN_HAS_ADDRESS_SANITIZER &&
                                strcmp(backend->operations->name, "host") == 0 &&
                                properties.is_host_accessible;
    pool->refused_bytes = SIZE_MAX;
    pool->growths_since_refusal = 0;
    pool->backend_alignment_bytes = properties.alignment_bytes;
    pool->range_granularity_bytes = properties.range_granularity_bytes;
    pool->has_shareable_ranges = properties.has_shareable_ranges;
    pool->memory_id = properties.memory_id;
    pool->fallback = options->fallback;
    pool->on_out_of_memory = options->on_out_of_memory;
    pool->user = options->user;
    pool->backend = *backend;
    (void)snprintf(pool->name, sizeof pool->name, "%s", options->name ? options->name : "");
    pool->owns_backend = owns_backend;
    pool->is_over_callers_memory = false;
    pool->reads_environment = options->reads_environment;
    pool->identifies_streams = options->identifies_streams;
    pool->thread_stream = properties.thread_stream;
    pool->default_stream_alias = properties.default_stream_alias;
    pool->default_stream = options->free_waits ? TN_ANY_STREAM_ALLOCATES : NULL;
    pool->default_free_stream = options->free_waits ? TN_ANY_STREAM_FREES : NULL;
    pool->only_stream = pool->default_stream;
    pool->own.last_stream = 0;
    pool->only_thread = 0;
    pool->streams = NULL;
    pool->spare_event_count = 0;
    pool->range = NULL;
    pool->supplier = &tn_plain_supplier;
    pool->is_process_wide = false;
    pool->next_process_wide = NULL;
    pool->is_ending = false;
    pool->succeeds_parent = false;
    tn_pool_init_observers(pool, options);
    pool->transit_bytes = 0;
    pool->is_release_due = false;
    pool->own.has_shrunk = false;
    pool->callback_count = 0;
    pool->arriving_count = 0;
    pool->callback_end_count = 0;
    pool->change_count = 0;
    pool->pieces = (struct tn_pieces){ .joined_count = 0 };
    tn_condition_init(&pool->callback_ended);
    pool->has_told_eviction = false;
    pool->number = take_number();
    atomic_store_explicit(&pool->is_for_process, false, memory_order_relaxed);
    (void)snprintf(pool->backend_name, sizeof pool->backend_name, "%s", backend->operations->name);
    return TARN_STATUS_OK;
}

static void metadata_fini(struct tarn_pool *pool)
{
    tn_pool_end_observers(pool);
    tn_piece_free_all(pool);
    tn_step_range_destroy(pool->range);
    tn_arenas_fini(&pool->arenas);
    tn_slices_fini(&pool->own.slices);
    tn_label_stats_free(&pool->own.labels);
    tn_region_index_fini(&pool->own.index);
    tn_static_pool_list_fini(&pool->list);
    tn_condition_fini(&pool->callback_ended);
    tn_use_table_fini(&pool->uses);
    tn_mutex_fini(&pool->use_lock);
    tn_mutex_fini(&pool->watch_lock);
    tn_mutex_fini(&pool->growth_lock);
    tn_biased_mutex_fini(&pool->lock);
}

void tn_pool_tell_end(struct tarn_pool *pool)
{
    tn_pool_lock_growth(pool);
    tn_piece_tell_end(pool);
    tn_pool_unlock_growth(pool);
}

void tn_pool_fini(struct tarn_pool *pool)
{
    pool->is_ending = true;
    tn_stream_reuse_fini(pool);
    tn_pool_lock_growth(pool);
    tn_piece_tell_end(pool);
    tn_piece_release_all(pool);
    tn_pool_unlock_growth(pool);
    if (pool->owns_backend) tarn_backend_close(&pool->backend);
    metadata_fini(pool);
}

/* The backend stays open, because closing it would call the vendor. */
void tn_pool_abandon(struct tarn_pool *pool)
{
    tn_stream_reuse_abandon(pool);
    tn_piece_allow_all(pool);
    metadata_fini(pool);
}

/* --- streams and counts -------------------------------------------------------------------------- */

void tn_pool_count_failure(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    pool->own.stats.failed_count++;
    tn_pool_unlock(pool);
}

tarn_status tn_pool_retire_stream(struct tarn_pool *pool, tarn_stream stream)
{
    tn_pool_lock_growth(pool);
    tarn_backend_result result = tn_stream_reuse_retire(pool, stream);
    tn_pool_unlock_growth(pool);
    if (result.status == TARN_STATUS_OK) return TARN_STATUS_OK;
    if (result.status == TARN_STATUS_NOT_READY)
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "stream %p is being captured", stream);
    if (result.status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
        return tn_fail(result.status, "the host has no memory to record the end of stream %p",
                       stream);
    }
    return tn_fail_vendor(TARN_STATUS_VENDOR_ERROR, result.vendor_code, result.vendor_name,
                          "the %s backend could not record the end of stream %p: memory that was "
                          "freed on it is not used again",
                          pool->backend.operations->name, stream);
}

void tn_pool_count_empty_alloc(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    pool->own.stats.alloc_count++;
    tn_pool_unlock(pool);
}

void tn_pool_count_empty_free(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    pool->own.stats.free_count++;
    tn_pool_unlock(pool);
}
