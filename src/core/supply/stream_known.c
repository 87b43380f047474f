/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stream_known: the streams of a pool: dividing, making room, introducing, retiring. */
#include "stream_reuse.h"

#include "../../base/error.h"
#include "../../base/host_memory.h"
#include "../../base/process.h"
#include "../serve/any_stream.h"
#include "../arenas/gather.h"
#include "../serve/pool_log.h"
#include "../arenas/pool_uses.h"

/* --- one stream, then several ----------------------------------------------------------------- */

/* The handle of a pool's only stream when that is a thread's own: no caller passes it. */
static char no_stream;

static void set_only_stream(struct tarn_pool *pool, struct tn_stream_name name)
{
    pool->only_stream = name.thread ? &no_stream : name.handle;
    pool->only_thread = name.thread;
}

/* The pool has handed nothing out, so no stream has used any of its memory. */
static bool is_untouched(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    return !pool->streams && pool->own.stats.alloc_count == 0;
}

/* All memory that was freed so far was freed on the only stream. */
static void divide_free_regions(struct tarn_pool *pool)
{
    struct tn_dependency dependency = tn_stream_table_depend(pool->streams, 0);
    uint32_t region;
    if (pool->own.stats.free_count == 0 && !pool->own.has_shrunk) return;
    tn_slices_divide(&pool->own.slices, dependency);
    while ((region = tn_region_index_find_best_fit(
                &pool->own.index, TN_FREE_SETS_IDLE & tn_region_index_sets(&pool->own.index), 1)) !=
           TN_REGION_NONE) {
        tn_region_index_change_dependency(&pool->own.index, region, dependency);
    }
}

/* Gives a pool that knew one stream a table of streams. Memory freed so far waits for stream 0, that one. False: no
 * host memory, and nothing has changed. */
static bool divide(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_stream_table *table = tn_host_memory_alloc(sizeof *table);
    if (!table) return false;
    if (!tn_region_index_add_stream(&pool->own.index, 0)) {
        tn_host_memory_free(table);
        return false;
    }
    tn_stream_table_init(table);
    tn_stream_table_add(table, 0,
                        pool->only_thread
                            ? (struct tn_stream_name){ pool->thread_stream, pool->only_thread }
                            : (struct tn_stream_name){ pool->only_stream, 0 });
    pool->streams = table;
    divide_free_regions(pool);
    return true;
}

bool tn_stream_reuse_divide(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    bool is_divided = pool->streams || divide(pool);
    tn_pool_unlock(pool);
    return is_divided;
}

/* --- introducing ------------------------------------------------------------------------------ */

/* A stream as the pool and the vendor know it. */
struct identity {
    struct tn_stream_name name;
    bool is_callers;
    bool is_unsure; /* the vendor has gone: take it for the stream that had the handle last */
    uint64_t id;    /* 0 in a pool that does not identify streams */
};

static tarn_backend_result identify(const struct tarn_pool *pool, struct tn_stream_name name,
                                    struct identity *identity_out)
{
    bool frees_for_any = name.handle == TN_ANY_STREAM_FREES;
    *identity_out =
        (struct identity){ .name = name, .is_callers = name.thread != 0 || frees_for_any };
    if (!pool->identifies_streams || !name.handle || name.thread || tn_is_any_stream(name.handle))
        return TARN_BACKEND_RESULT_OK;
    identity_out->is_callers = true;
    return pool->backend.operations->stream_id(pool->backend.state, name.handle, &identity_out->id);
}

/* At the end of the process the vendor no longer answers, but frees go on. No work can be submitted then to
 * the memory that they free. */
static bool has_vendor_gone(tarn_backend_result result)
{
    return result.status == TARN_STATUS_VENDOR_ERROR && tn_process_is_ending();
}

/* Whether the pool knows the stream. If another stream has the handle now, the known one has ended. */
static bool recognise(struct tarn_pool *pool, const struct identity *identity, uint32_t *stream_out)
{
    tn_pool_lock(pool);
    bool is_known = tn_pool_find_named_stream(pool, identity->name, stream_out);
    tn_pool_unlock(pool);
    if (!is_known || *stream_out == TN_STREAM_NONE) return is_known;
    const struct tn_stream_entry *entry = &pool->streams->streams[*stream_out];
    if (identity->is_unsure) return true;
    if (entry->id != identity->id) {
        tn_stream_reuse_end(pool, *stream_out, entry->is_all_recorded);
        return false;
    }
    return true;
}

/* False: no host memory, or no number. */
static bool introduce_locked(struct tarn_pool *pool, const struct identity *identity)
{
    bool must_record_frees =
        identity->is_callers && tn_pool_records_frees(pool, identity->name.handle);
    if (is_untouched(pool) && !must_record_frees) {
        set_only_stream(pool, identity->name);
        return true;
    }
    if (!pool->streams && !divide(pool)) return false;
    if (!tn_stream_table_has_room(pool->streams)) return false;
    uint32_t stream = tn_stream_table_find_unused(pool->streams);
    if (!tn_region_index_add_stream(&pool->own.index, stream)) return false;
    tn_stream_table_add(pool->streams, stream, identity->name);
    struct tn_stream_entry *entry = &pool->streams->streams[stream];
    if (!must_record_frees) return true;
    entry->state = TN_STREAM_STATE_CALLERS;
    entry->id = identity->id;
    entry->is_all_recorded = true;
    return true;
}

/* is_checked: the stream is of the pool's device. */
static tarn_backend_result introduce(struct tarn_pool *pool, struct tn_stream_name name,
                                     bool is_checked, uint32_t *kept_streams)
{
    struct identity identity;
    uint32_t stream;
    tarn_backend_result result = identify(pool, name, &identity);
    identity.is_unsure = has_vendor_gone(result);
    if (result.status != TARN_STATUS_OK && !identity.is_unsure) return result;
    if (!recognise(pool, &identity, &stream)) {
        if (!is_checked) result = tn_any_stream_check(&pool->backend, name.handle);
        if (result.status != TARN_STATUS_OK && !has_vendor_gone(result)) return result;
        tn_stream_evict_record_named(pool, name);
        bool is_introduced = tn_stream_evict_make_room(pool, kept_streams);
        tn_pool_lock_and_gather(pool);
        is_introduced = is_introduced && introduce_locked(pool, &identity) &&
                        tn_pool_find_named_stream(pool, name, &stream);
        tn_pool_unlock(pool);
        if (!is_introduced) return (tarn_backend_result){ TARN_STATUS_OUT_OF_HOST_MEMORY, 0, NULL };
    }
    /* The only stream gets number 0 if another one follows. */
    *kept_streams |= (uint32_t)1 << (stream != TN_STREAM_NONE ? stream : 0);
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result introduce_all(struct tarn_pool *pool, const tarn_stream *streams,
                                         size_t stream_count, uint32_t *kept_streams,
                                         tarn_stream *refused_out)
{
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    for (size_t i = 0; i < stream_count && result.status == TARN_STATUS_OK; i++) {
        result = introduce(pool, tn_pool_name_stream(pool, streams[i]), false, kept_streams);
        if (result.status != TARN_STATUS_OK) *refused_out = streams[i];
    }
    return result;
}

tarn_backend_result tn_stream_reuse_introduce(struct tarn_pool *pool, const tarn_stream *streams,
                                              size_t stream_count, tarn_stream *refused_out)
{
    uint32_t kept_streams = 0;
    return introduce_all(pool, streams, stream_count, &kept_streams, refused_out);
}

tarn_backend_result tn_stream_reuse_introduce_users(struct tarn_pool *pool, uintptr_t address,
                                                    const tarn_stream *streams, size_t stream_count,
                                                    tarn_stream *refused_out)
{
    struct tn_stream_name name;
    uint32_t kept_streams = 0;
    tarn_backend_result result =
        introduce_all(pool, streams, stream_count, &kept_streams, refused_out);
    for (size_t i = 0; result.status == TARN_STATUS_OK && tn_pool_name_use(pool, address, i, &name);
         i++) {
        result = introduce(pool, name, true, &kept_streams);
        if (result.status != TARN_STATUS_OK) *refused_out = name.handle;
    }
    return result;
}

tarn_status tn_stream_reuse_fail(const struct tarn_pool *pool, tarn_stream stream,
                                 tarn_backend_result result)
{
    const char *backend = pool->backend.operations->name;
    if (result.status == TARN_STATUS_INVALID_ARGUMENT) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "%p is no stream of the %s backend's device, which %s is on", stream,
                              backend, tn_pool_title(pool).text);
    }
    if (result.status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "no room for stream %p: the host has no memory, or captures that are "
                              "not yet released have all %d numbers of the pool",
                              stream, TN_STREAM_COUNT_MAX - 1);
    }
    return tn_fail_vendor(TARN_STATUS_VENDOR_ERROR, result.vendor_code, result.vendor_name,
                          "the %s backend failed to look at stream %p", backend, stream);
}

/* --- retiring --------------------------------------------------------------------------------- */

/* Gives the only stream a number, 0, so that its memory can wait for it. An untouched pool forgets the stream
 * instead, and has no table afterwards. False: no host memory. */
static bool divide_or_forget_only_stream(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    bool is_divided = is_untouched(pool) || divide(pool);
    if (!pool->streams && is_divided)
        set_only_stream(pool, (struct tn_stream_name){ pool->default_stream, 0 });
    tn_pool_unlock(pool);
    return is_divided;
}

/* Waits with the calling thread for a stream that ends and that the pool has no number for. Then nothing is used on it
 * any more. */
static tarn_backend_result wait_for_uses(struct tarn_pool *pool, struct tn_stream_name name)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    tarn_backend_result result = { TARN_STATUS_OUT_OF_HOST_MEMORY, 0, NULL };
    bool may_wait = operations->stream_synchronize && !tn_captures_are_under_way();
    if (!may_wait) return result;
    if (operations->stream_synchronize(pool->backend.state, name.handle).status != TARN_STATUS_OK)
        return result;
    tn_pool_lock_and_gather(pool);
    tn_pool_remove_uses_on(pool, name);
    tn_pool_unlock(pool);
    return TARN_BACKEND_RESULT_OK;
}

/* Live memory that is used on the stream waits for its number from now on. The record that follows covers that. */
static void end_uses(struct tarn_pool *pool, struct tn_stream_name name, uint32_t stream)
{
    tn_pool_lock_and_gather(pool);
    tn_pool_end_uses(pool, name, tn_stream_table_depend(pool->streams, stream));
    tn_pool_unlock(pool);
}

/* Finds the number of a stream that ends. A pool that has forgotten it, and has memory that is used on it, gives it a
 * number again. Returns NOT_READY: the stream is being captured; or OUT_OF_HOST_MEMORY: nothing has changed. */
static tarn_backend_result find_ending(struct tarn_pool *pool, struct tn_stream_name name,
                                       bool *is_known_out, uint32_t *stream_out)
{
    uint32_t kept_streams = 0;
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    tn_pool_lock(pool);
    *is_known_out = tn_pool_find_named_stream(pool, name, stream_out);
    tn_pool_unlock(pool);
    if (*is_known_out && tn_pool_is_captured(pool, *stream_out))
        return (tarn_backend_result){ TARN_STATUS_NOT_READY, 0, NULL };
    if (*is_known_out || !tn_pool_has_uses_on(pool, name)) return result;
    result = introduce(pool, name, true, &kept_streams);
    if (result.status != TARN_STATUS_OK) return wait_for_uses(pool, name);
    tn_pool_lock(pool);
    *is_known_out = tn_pool_find_named_stream(pool, name, stream_out);
    tn_pool_unlock(pool);
    return result;
}

tarn_backend_result tn_stream_reuse_retire(struct tarn_pool *pool, tarn_stream handle)
{
    uint32_t stream;
    bool is_known;
    struct tn_stream_name name = tn_pool_name_stream(pool, handle);
    tarn_backend_result result = find_ending(pool, name, &is_known, &stream);
    if (result.status != TARN_STATUS_OK) return result;
    tarn_backend_result of_evicted = TARN_BACKEND_RESULT_OK;
    if (!tn_stream_evict_retire(pool, name)) of_evicted.status = TARN_STATUS_VENDOR_ERROR;
    if (!is_known) return of_evicted;
    if (stream == TN_STREAM_NONE) {
        if (!divide_or_forget_only_stream(pool))
            return (tarn_backend_result){ TARN_STATUS_OUT_OF_HOST_MEMORY, 0, NULL };
        if (!pool->streams) return TARN_BACKEND_RESULT_OK;
        stream = 0;
    }
    end_uses(pool, name, stream);
    const struct tn_stream_entry *entry = &pool->streams->streams[stream];
    if (pool->identifies_streams && entry->state == TN_STREAM_STATE_CALLERS) {
        /* Another stream may have the handle by now, so nothing can be recorded. */
        tn_stream_reuse_end(pool, stream, entry->is_all_recorded);
        return of_evicted;
    }
    result = tn_stream_reuse_record_needed(pool, stream);
    tn_stream_reuse_end(pool, stream, result.status == TARN_STATUS_OK);
    if (has_vendor_gone(result)) return TARN_BACKEND_RESULT_OK;
    if (result.status == TARN_STATUS_OK) return of_evicted;
    result.status = TARN_STATUS_VENDOR_ERROR;
    return result;
}
