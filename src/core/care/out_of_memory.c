/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* out_of_memory: the device, other pools, the user; the report. */
#include "out_of_memory.h"

#include <string.h>

#include "../../base/error.h"
#include "../serve/gather.h"
#include "../supply/pool_members.h"
#include "../supply/stream_reuse.h"

#include "debug_pool.h"
#include "pool_registry.h"

/* --- other pools on the same memory ---------------------------------------------------------------- */

static bool share_memory(const struct tarn_pool *a, const struct tarn_pool *b)
{
    if (a->is_over_callers_memory || b->is_over_callers_memory) return false;
    if (strcmp(a->backend.operations->name, b->backend.operations->name) != 0) return false;
    return a->backend.state == b->backend.state ||
           (a->memory_id != 0 && a->memory_id == b->memory_id);
}

/* Sums up over the other open pools on the memory of this pool. */
static size_t sum_of_neighbours(const struct tarn_pool *pool,
                                size_t (*bytes_of)(struct tarn_pool *))
{
    size_t bytes = 0;
    struct tarn_pool *other = NULL;
    while ((other = tn_pool_registry_pin_next(other)) != NULL) {
        if (other != pool && share_memory(pool, other)) bytes += bytes_of(other);
    }
    return bytes;
}

static size_t trim(struct tarn_pool *pool)
{
    const struct tn_release_rule all = { 0 };
    tn_mutex_lock(&pool->growth_lock);
    size_t released_bytes = tn_pool_release_free(pool, &all).released_bytes;
    tn_mutex_unlock(&pool->growth_lock);
    return released_bytes;
}

static size_t footprint_bytes(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    size_t bytes = pool->own.stats.footprint_bytes;
    tn_pool_unlock(pool);
    return bytes;
}

/* --- rungs: each returns whether memory may be there now --------------------------------------------- */

/* A request that the pool cannot serve, and what has been tried for it. */
struct shortage {
    struct tarn_pool *pool;
    size_t size_bytes;
    size_t alignment_bytes;
    tarn_stream stream;
    unsigned attempt; /* how often the user's function has been asked */
};

/* Once the device has finished all work, no freed memory is pending. */
static bool wait_for_device(struct shortage *shortage)
{
    struct tarn_pool *pool = shortage->pool;
    tn_mutex_lock(&pool->growth_lock);
    bool has_changed = tn_stream_reuse_synchronize(pool);
    tn_mutex_unlock(&pool->growth_lock);
    return has_changed;
}

/* A user's function that runs short of memory itself is not called again. */
static bool ask_user(struct shortage *shortage)
{
    static _Thread_local bool is_asking;
    struct tarn_pool *pool = shortage->pool;
    if (!pool->on_out_of_memory || is_asking) return false;
    is_asking = true;
    bool has_changed =
        pool->on_out_of_memory(pool->user, pool, shortage->size_bytes, shortage->attempt++);
    is_asking = false;
    return has_changed;
}

static tarn_status try_again(const struct shortage *shortage, void **address_out)
{
    return tn_pool_alloc_any(shortage->pool, shortage->size_bytes, shortage->alignment_bytes,
                             shortage->stream, address_out);
}

static bool is_for_memory(tarn_status status)
{
    return status == TARN_STATUS_OUT_OF_MEMORY || status == TARN_STATUS_OVER_LIMIT;
}

/* `status` is that of the last attempt. The user is asked again after each yes. */
static tarn_status climb(struct shortage *shortage, tarn_status status, void **address_out)
{
    if (is_for_memory(status) && wait_for_device(shortage))
        status = try_again(shortage, address_out);
    if (status == TARN_STATUS_OUT_OF_MEMORY && sum_of_neighbours(shortage->pool, trim) > 0)
        status = try_again(shortage, address_out);
    while (is_for_memory(status)) {
        /* The user's function may call the library, which leaves another error and call site. */
        struct tn_saved_error saved = tn_error_save();
        struct tn_call_site caller = tn_debug_save_caller();
        bool has_changed = ask_user(shortage);
        tn_debug_restore_caller(&caller);
        tn_error_restore(&saved);
        if (!has_changed) break;
        status = try_again(shortage, address_out);
    }
    return status;
}

/* --- the report ---------------------------------------------------------------------------------- */

static _Thread_local tarn_shortage last_shortage = TARN_SHORTAGE_INIT;

static void note_pool(struct tarn_pool *pool, tarn_shortage *shortage)
{
    tarn_stats stats = TARN_STATS_INIT;
    tn_pool_lock_and_gather(pool);
    tn_pool_stats_locked(pool, &stats);
    shortage->private_bytes = (size_t)tn_stream_reuse_private_chunks(pool) << pool->chunk_log2;
    shortage->wholly_free_bytes = tn_pool_wholly_free_bytes_locked(pool);
    tn_pool_unlock(pool);
    shortage->footprint_bytes = stats.footprint_bytes;
    shortage->used_bytes = stats.used_bytes;
    shortage->free_bytes = stats.free_bytes;
    shortage->pending_bytes = stats.pending_bytes - shortage->private_bytes;
    shortage->largest_free_bytes = stats.largest_free_bytes;
}

static void note_device(struct tarn_pool *pool, tarn_shortage *shortage)
{
    tarn_memory_info info;
    const tarn_backend_operations *operations = pool->backend.operations;
    tn_pool_lock(pool);
    bool may_ask = operations->query_memory && !tn_pool_is_capturing(pool);
    tn_pool_unlock(pool);
    if (!may_ask) return;
    if (operations->query_memory(pool->backend.state, &info).status != TARN_STATUS_OK) return;
    shortage->device_free_bytes = info.free_bytes;
    shortage->device_total_bytes = info.total_bytes;
}

static void note(const struct shortage *shortage, tarn_status status)
{
    struct tarn_pool *pool = shortage->pool;
    tarn_shortage noted = TARN_SHORTAGE_INIT;
    noted.status = status;
    noted.size_bytes = shortage->size_bytes;
    noted.alignment_bytes = shortage->alignment_bytes;
    noted.stream = shortage->stream;
    noted.limit_bytes = pool->growth.limit_bytes == SIZE_MAX ? 0 : pool->growth.limit_bytes;
    note_pool(pool, &noted);
    note_device(pool, &noted);
    noted.other_pools_bytes = sum_of_neighbours(pool, footprint_bytes);
    noted.fits_if_in_one_piece = noted.largest_free_bytes < noted.size_bytes &&
                                 noted.free_bytes - noted.private_bytes >= noted.size_bytes;
    noted.fits_without_limit =
        status == TARN_STATUS_OVER_LIMIT && noted.device_free_bytes >= noted.size_bytes;
    last_shortage = noted;
}

tarn_status tarn_last_shortage(tarn_shortage *shortage_out)
{
    if (!shortage_out) return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "shortage_out is NULL");
    if (shortage_out->struct_bytes != sizeof *shortage_out) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "shortage_out says it has %zu bytes, this library knows %zu: was it "
                       "initialised, and do header and library match?",
                       shortage_out->struct_bytes, sizeof *shortage_out);
    }
    *shortage_out = last_shortage;
    return TARN_STATUS_OK;
}

/* --- allocating ---------------------------------------------------------------------------------- */

tarn_status tn_alloc_under_shortage(struct tarn_pool *pool, size_t size_bytes,
                                    size_t alignment_bytes, tarn_stream stream, tarn_status status,
                                    void **address_out)
{
    struct shortage shortage = {
        .pool = pool,
        .size_bytes = size_bytes,
        .alignment_bytes = alignment_bytes,
        .stream = stream,
    };
    status = climb(&shortage, status, address_out);
    if (status == TARN_STATUS_OK) return status;
    tn_pool_count_failure(pool);
    if (!is_for_memory(status)) return status;
    struct tarn_pool *fallback = pool->fallback;
    if (!tn_pool_is_open(fallback)) {
        note(&shortage, status);
        return status;
    }
    return tn_alloc(fallback, size_bytes, alignment_bytes, stream, address_out);
}

tarn_status tn_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                     tarn_stream stream, void **address_out)
{
    tarn_status status = tn_pool_alloc_any(pool, size_bytes, alignment_bytes, stream, address_out);
    if (status == TARN_STATUS_OK) return status;
    return tn_alloc_under_shortage(pool, size_bytes, alignment_bytes, stream, status, address_out);
}
