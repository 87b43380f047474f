/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* capture: begin, end, release. */
#include "capture.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../arenas/gather.h"

#include "pool_watch.h"
#include "stream_reuse.h"

static _Atomic tarn_capture last_capture;

static tarn_status fail_for_capture(tarn_capture capture, const char *what)
{
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "capture %llu %s", (unsigned long long)capture,
                   what);
}

/* Whether the capture has a number in that state. */
static bool has_any(const struct tarn_pool *pool, enum tn_stream_state state, tarn_capture capture)
{
    for (uint32_t i = 0; pool->streams && i < TN_STREAM_COUNT_MAX; i++) {
        const struct tn_stream_entry *entry = &pool->streams->streams[i];
        if (entry->state == state && entry->capture == capture) return true;
    }
    return false;
}

/* --- begin -------------------------------------------------------------------------------------- */

/* The number that the stream had earlier in the capture, or a new one. TN_STREAM_NONE: there is no room. */
static uint32_t take_number(struct tarn_pool *pool, struct tn_stream_name name,
                            tarn_capture capture)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_stream_table *table = pool->streams;
    uint32_t number = tn_stream_table_find_captured(table, TN_STREAM_STATE_CAPTURED, capture, name);
    if (number != TN_STREAM_NONE) return number;
    if (!tn_stream_table_has_room(table)) return TN_STREAM_NONE;
    number = tn_stream_table_find_unused(table);
    if (!tn_region_index_add_stream(&pool->own.index, number)) return TN_STREAM_NONE;
    tn_stream_table_add(table, number, name);
    return number;
}

/* Makes room for the number of a capture, besides the stream's own. */
static void make_room(struct tarn_pool *pool, tarn_stream stream)
{
    uint32_t kept = 0,
             known = tn_stream_table_search(pool->streams, tn_pool_name_stream(pool, stream));
    if (known != TN_STREAM_NONE) kept = (uint32_t)1 << known;
    (void)tn_stream_evict_make_room(pool, &kept);
}

/* False: there is no room for one more number. */
static bool begin(struct tarn_pool *pool, struct tn_stream_name name, tarn_capture capture)
{
    struct tn_stream_table *table = pool->streams;
    uint32_t known = tn_stream_table_search(table, name);
    uint32_t number = take_number(pool, name, capture);
    if (known == TN_STREAM_NONE || number == TN_STREAM_NONE) return false;
    table->streams[known].state = TN_STREAM_STATE_PAUSED;
    table->streams[number].state = TN_STREAM_STATE_CAPTURING;
    table->streams[number].paused_bit = (uint32_t)1 << known;
    table->streams[number].capture = capture;
    table->capturing_count++;
    tn_captures_count_begin();
    return true;
}

tarn_status tn_capture_begin(struct tarn_pool *pool, tarn_stream stream, tarn_capture *capture)
{
    if (pool->identifies_streams) {
        return tn_fail(
            TARN_STATUS_NOT_SUPPORTED,
            "no stream of a pool with identifies_streams can be captured, because frees during a "
            "capture could not be recorded");
    }
    if (*capture != 0 && !has_any(pool, TN_STREAM_STATE_CAPTURED, *capture) &&
        !has_any(pool, TN_STREAM_STATE_CAPTURING, *capture)) {
        return fail_for_capture(*capture, "is not one of this pool, or has been released");
    }
    if (tn_is_any_stream(stream))
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "TARN_STREAM_ANY cannot be captured");
    tn_pool_lock(pool);
    uint32_t number;
    bool is_captured =
        tn_pool_find_introduced_stream(pool, stream, &number) && tn_pool_is_captured(pool, number);
    tn_pool_unlock(pool);
    if (is_captured) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "stream %p is being captured already", stream);
    }
    tarn_capture begun = *capture ? *capture : atomic_fetch_add(&last_capture, 1) + 1;
    bool has_begun = tn_stream_reuse_divide(pool);
    if (has_begun) {
        /* Memory that is freed in the capture waits for work before it, so that work needs a number, too. */
        tarn_stream refused = NULL;
        tarn_backend_result known = tn_stream_reuse_introduce(pool, &stream, 1, &refused);
        if (known.status != TARN_STATUS_OK) return tn_stream_reuse_fail(pool, refused, known);
        make_room(pool, stream);
    }
    tn_pool_lock_and_gather(pool);
    tn_pool_unlock(pool);
    tn_stream_reuse_settle(pool, 0);
    tn_pool_lock_and_gather(pool);
    has_begun = has_begun && begin(pool, tn_pool_name_stream(pool, stream), begun);
    tn_pool_unlock(pool);
    if (!has_begun) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "no room for one more capture: the host has no memory, or captures that are "
                       "not yet released have all %d numbers of the pool",
                       TN_STREAM_COUNT_MAX - 1);
    }
    /* A graph uses memory that is free. */
    tn_pool_watch_no_more(pool);
    *capture = begun;
    return TARN_STATUS_OK;
}

/* --- end ---------------------------------------------------------------------------------------- */

tarn_status tn_capture_end(struct tarn_pool *pool, tarn_capture capture)
{
    if (!has_any(pool, TN_STREAM_STATE_CAPTURING, capture))
        return fail_for_capture(capture, "is not under way in this pool");
    struct tn_stream_table *table = pool->streams;
    tn_pool_lock_and_gather(pool);
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        struct tn_stream_entry *entry = &table->streams[i];
        if (entry->state != TN_STREAM_STATE_CAPTURING || entry->capture != capture) continue;
        uint32_t paused = tn_lowest_bit(entry->paused_bit);
        entry->state = TN_STREAM_STATE_CAPTURED;
        entry->paused_bit = 0;
        table->capturing_count--;
        tn_captures_count_end(1);
        table->streams[paused].state =
            entry->name.thread ? TN_STREAM_STATE_CALLERS : TN_STREAM_STATE_KNOWN;
    }
    tn_pool_unlock(pool);
    return TARN_STATUS_OK;
}

/* --- release ------------------------------------------------------------------------------------ */

/* Makes the free memory of a capture's streams wait for the dependency alone, and forgets the streams. */
static void release(struct tarn_pool *pool, tarn_capture capture, struct tn_dependency dependency)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        const struct tn_stream_entry *entry = &pool->streams->streams[i];
        if (entry->state != TN_STREAM_STATE_CAPTURED || entry->capture != capture) continue;
        tn_region_index_disown(&pool->own.index, i, dependency);
        tn_slices_replace(&pool->own.slices, i, dependency);
        tn_slices_forget(&pool->own.slices, i);
        tn_stream_table_remove(pool->streams, i);
    }
}

tarn_status tn_capture_release(struct tarn_pool *pool, tarn_capture capture,
                               const tarn_stream *streams, size_t stream_count)
{
    if (has_any(pool, TN_STREAM_STATE_CAPTURING, capture))
        return fail_for_capture(capture, "is still under way");
    if (!has_any(pool, TN_STREAM_STATE_CAPTURED, capture))
        return fail_for_capture(capture, "is not one of this pool, or has been released");
    tarn_stream refused = NULL;
    tarn_backend_result known = tn_stream_reuse_introduce(pool, streams, stream_count, &refused);
    if (known.status != TARN_STATUS_OK) return tn_stream_reuse_fail(pool, refused, known);
    struct tn_dependency dependency;
    tn_pool_lock_and_gather(pool);
    bool are_known =
        tn_pool_find_dependency(pool, &pool->own, streams, stream_count, true, &dependency);
    TN_ASSERT(are_known);
    if (are_known) release(pool, capture, dependency);
    tn_pool_unlock(pool);
    tn_stream_reuse_record_callers(pool, streams, stream_count, SIZE_MAX);
    return TARN_STATUS_OK;
}
