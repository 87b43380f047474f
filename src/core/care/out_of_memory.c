/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* out_of_memory: the device, other pools, the user; the report. */
#include "out_of_memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../../base/struct_size.h"
#include "../arenas/gather.h"
#include "../serve/pool_log.h"
#include "../supply/piece.h"
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

/* A pool may give memory back as soon as its quarantine is empty. */
static size_t trim(struct tarn_pool *pool)
{
    const struct tn_release_rule all = { 0 };
    size_t before = tn_pool_footprint_bytes(pool);
    tn_debug_empty_quarantine(pool);
    tn_pool_lock_growth(pool);
    struct tn_giving_back given = { 0, 0, TARN_BACKEND_RESULT_OK };
    if (pool->arriving_count == 0) given = tn_piece_release_free(pool, &all);
    tn_pool_tell_given(pool, &given, "another pool is out of memory");
    tn_pool_unlock_growth(pool);
    size_t after = tn_pool_footprint_bytes(pool);
    return before > after ? before - after : 0;
}

/* --- rungs: each returns whether memory may be there now --------------------------------------------- */

/* A request that the pool cannot serve, and what has been tried for it. */
struct shortage {
    struct tarn_pool *pool;
    size_t size_bytes;
    size_t alignment_bytes;
    tarn_stream stream;
    tarn_status status; /* of the last attempt */
    unsigned attempt;   /* how often the user's function has been asked */
};

/* Once the device has finished all work, no freed memory is pending. */
static bool wait_for_device(struct shortage *shortage)
{
    struct tarn_pool *pool = shortage->pool;
    tn_pool_lock_growth(pool);
    bool has_changed = tn_stream_reuse_synchronize(pool);
    tn_pool_unlock_growth(pool);
    return has_changed;
}

/* The user's functions that the thread is in, the innermost last. */
#define ASKING_DEPTH_MAX 8

/* Words in the frame of ask_user that hold a number while the function runs. Frames of other calls that come to lie
 * there write at least one of so many. */
#define MARK_COUNT 64

struct asking {
    const struct tarn_pool *pool;
    uintptr_t frame; /* address of the frame of ask_user */
    const volatile uintptr_t *marks;
    uintptr_t number;
};

static _Thread_local struct asking asking[ASKING_DEPTH_MAX];
static _Thread_local unsigned asking_depth;

/* A function may be left by longjmp or by an exception. Then its frame lies beyond the top of the stack, or other calls
 * have used its place. A place far up the stack is not looked at: the function may have been left on a stack that is
 * gone. */
TN_UNCHECKED static bool has_ended(const struct asking *asked, uintptr_t frame)
{
    enum {
        NEAR_BYTES = 64 << 10
    };
    if (asked->frame <= frame) return true;
    if (asked->frame - frame >= NEAR_BYTES) return false;
    for (unsigned i = 0; i < MARK_COUNT; i++) {
        if (asked->marks[i] != asked->number) return true;
    }
    return false;
}

static bool is_asking(const struct tarn_pool *pool, uintptr_t frame)
{
    while (asking_depth > 0 && has_ended(&asking[asking_depth - 1], frame))
        asking_depth--;
    for (unsigned i = 0; i < asking_depth; i++) {
        if (asking[i].pool == pool) return true;
    }
    return asking_depth == ASKING_DEPTH_MAX;
}

/* A user's function that runs short of memory of the same pool is not called again. It may call the library, which
 * leaves another error and call site. */
static TN_NOINLINE bool ask_user(struct shortage *shortage)
{
    static _Atomic uintptr_t last_number;
    struct tarn_pool *pool = shortage->pool;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0), number;
    volatile uintptr_t marks[MARK_COUNT];
    if (!pool->on_out_of_memory || is_asking(pool, frame)) return false;
    number = atomic_fetch_add(&last_number, 1) + 1;
    for (unsigned i = 0; i < MARK_COUNT; i++)
        marks[i] = number;
    struct tn_saved_error saved = tn_error_save();
    struct tn_call_site caller = tn_debug_save_caller();
    unsigned depth = asking_depth++;
    asking[depth] = (struct asking){ pool, frame, marks, number };
    bool has_changed =
        pool->on_out_of_memory(pool->user, pool, shortage->size_bytes, shortage->attempt++);
    asking_depth = depth;
    tn_debug_restore_caller(&caller);
    tn_error_restore(&saved);
    return has_changed;
}

/* Trims the other pools on this memory. A limit of the pool's own forbids more whatever they hold. */
static bool trim_neighbours(struct shortage *shortage)
{
    return shortage->status == TARN_STATUS_OUT_OF_MEMORY &&
           sum_of_neighbours(shortage->pool, trim) > 0;
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

/* Other threads may go on for ever to free, and to grow other pools. */
#define CHANGE_COUNT_MAX 16

/* After a rung that has changed something, the pool is tried again, and then all rungs: the user's function may have
 * freed on a stream, or in another pool. */
static tarn_status climb(struct shortage *shortage, void **address_out)
{
    static bool (*const rungs[])(struct shortage *) = { wait_for_device, trim_neighbours,
                                                        ask_user };
    size_t rung = 0, change_count = 0;
    while (rung < sizeof rungs / sizeof rungs[0] && is_for_memory(shortage->status)) {
        if (!rungs[rung](shortage)) {
            rung++;
            continue;
        }
        change_count = rungs[rung] == ask_user ? 0 : change_count + 1;
        shortage->status = try_again(shortage, address_out);
        rung = change_count < CHANGE_COUNT_MAX ? 0 : rung + 1;
    }
    return shortage->status;
}

/* --- the report ---------------------------------------------------------------------------------- */

static _Thread_local tarn_shortage last_shortage = TARN_SHORTAGE_INIT;

static void note_pool(struct tarn_pool *pool, tarn_shortage *shortage)
{
    tarn_stats stats = TARN_STATS_INIT;
    tn_pool_lock_and_gather(pool);
    tn_pool_stats_locked(pool, &stats);
    shortage->wholly_free_bytes = tn_piece_wholly_free_bytes(pool);
    tn_pool_unlock(pool);
    shortage->footprint_bytes = stats.footprint_bytes;
    shortage->used_bytes = stats.used_bytes;
    shortage->free_bytes = stats.free_bytes;
    shortage->pending_bytes = stats.pending_bytes;
    shortage->captured_bytes = stats.captured_bytes;
    shortage->largest_free_bytes = stats.largest_free_bytes;
}

static void note_device(struct tarn_pool *pool, tarn_shortage *shortage)
{
    tarn_memory_info info;
    const tarn_backend_operations *operations = pool->backend.operations;
    if (!operations->query_memory || tn_captures_are_under_way()) return;
    if (operations->query_memory(pool->backend.state, &info).status != TARN_STATUS_OK) return;
    shortage->device_free_bytes = info.free_bytes;
    shortage->device_total_bytes = info.total_bytes;
}

static void tell(const struct tarn_pool *pool, const tarn_shortage *noted)
{
    if (!tn_log_is_on(TARN_LOG_LEVEL_WARNING)) return;
    char device[96] = "";
    if (noted->device_total_bytes > 0)
        snprintf(device, sizeof device, "; of the device's %s, %s are free",
                 tn_bytes_text(noted->device_total_bytes).text,
                 tn_bytes_text(noted->device_free_bytes).text);
    tn_pool_log(
        pool, TARN_LOG_LEVEL_WARNING,
        "out of memory: %s. Holds %s: used %s, free %s (the largest region %s, pending %s, "
        "wholly free %s), captured %s; other pools hold %s%s",
        tarn_last_error().message, tn_bytes_text(noted->footprint_bytes).text,
        tn_bytes_text(noted->used_bytes).text, tn_bytes_text(noted->free_bytes).text,
        tn_bytes_text(noted->largest_free_bytes).text, tn_bytes_text(noted->pending_bytes).text,
        tn_bytes_text(noted->wholly_free_bytes).text, tn_bytes_text(noted->captured_bytes).text,
        tn_bytes_text(noted->other_pools_bytes).text, device);
}

/* The function that takes messages may itself run short of memory, so the thread's report is stored after it. */
static void note(const struct shortage *shortage, tarn_status status)
{
    struct tarn_pool *pool = shortage->pool;
    tarn_shortage noted = TARN_SHORTAGE_INIT;
    noted.status = status;
    noted.size_bytes = shortage->size_bytes;
    noted.alignment_bytes = shortage->alignment_bytes;
    noted.stream = tn_is_any_stream(shortage->stream) ? TARN_STREAM_ANY : shortage->stream;
    noted.limit_bytes = pool->growth.limit_bytes == SIZE_MAX ? 0 : pool->growth.limit_bytes;
    note_pool(pool, &noted);
    note_device(pool, &noted);
    noted.other_pools_bytes = sum_of_neighbours(pool, tn_pool_footprint_bytes);
    noted.fits_if_in_one_piece =
        noted.largest_free_bytes < noted.size_bytes && noted.free_bytes >= noted.size_bytes;
    noted.fits_without_limit =
        status == TARN_STATUS_OVER_LIMIT && noted.device_free_bytes >= noted.size_bytes;
    tell(pool, &noted);
    last_shortage = noted;
}

tarn_status tarn_last_shortage(tarn_shortage *shortage_out)
{
    if (!shortage_out) return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "shortage_out is NULL");
    tarn_status status =
        tn_check_struct_bytes("shortage_out", shortage_out->struct_bytes, sizeof *shortage_out,
                              sizeof *shortage_out, TARN_STATUS_INVALID_ARGUMENT);
    if (status != TARN_STATUS_OK) return status;
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
        .status = status,
    };
    status = climb(&shortage, address_out);
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
