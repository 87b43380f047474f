/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stream_reuse: introducing streams, polling, recording and waiting, retiring. */
#include "stream_reuse.h"

#include <string.h>

#include "../../base/error.h"
#include "../../base/host_memory.h"
#include "../../base/process.h"
#include "../serve/gather.h"

static tarn_backend_result fail(tarn_status status)
{
    return (tarn_backend_result){ status, 0, NULL };
}

#define OK ((tarn_backend_result){ TARN_STATUS_OK, 0, NULL })

/* --- events ----------------------------------------------------------------------------------- */

bool tn_stream_reuse_has_events(const struct tarn_pool *pool)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    return operations->event_create && operations->event_destroy && operations->event_record &&
           operations->event_query && operations->stream_wait_event;
}

static tarn_backend_result take_event(struct tarn_pool *pool, tarn_event *event_out)
{
    if (pool->spare_event_count == 0)
        return pool->backend.operations->event_create(pool->backend.state, event_out);
    *event_out = pool->spare_events[--pool->spare_event_count];
    return OK;
}

static void give_event_back(struct tarn_pool *pool, tarn_event event)
{
    if (pool->spare_event_count < TN_POOL_SPARE_EVENTS_MAX) {
        pool->spare_events[pool->spare_event_count++] = event;
    } else {
        (void)pool->backend.operations->event_destroy(pool->backend.state, event);
    }
}

/* --- records ---------------------------------------------------------------------------------- */

static void forget_oldest_record(struct tarn_pool *pool, struct tn_stream_entry *entry)
{
    give_event_back(pool, entry->records[0].event);
    entry->record_count--;
    for (unsigned i = 0; i < entry->record_count; i++)
        entry->records[i] = entry->records[i + 1];
}

/* Whether a record covers what was freed on its stream, or united with that, at a time. */
static bool covers(const struct tn_stream_entry *entry, unsigned record, uint32_t time)
{
    if (entry->records[record].time >= time) return true;
    return entry->is_all_recorded && record == entry->record_count - 1;
}

/* The oldest record that covers a time, or NULL. */
static const struct tn_stream_record *find_record(const struct tn_stream_entry *entry,
                                                  uint32_t time)
{
    for (unsigned i = 0; i < entry->record_count; i++) {
        if (covers(entry, i, time)) return &entry->records[i];
    }
    return NULL;
}

/* All times begin anew. Records of known streams go, since nobody could tell any more what they cover;
 * that of a stream that has ended covers all in any time, and a callers' one may have one that covers all. */
static void begin_anew(struct tarn_pool *pool)
{
    struct tn_stream_table *table = pool->streams;
    tn_pool_lock_and_gather(pool);
    tn_region_index_begin_anew(&pool->own.index);
    tn_slices_begin_anew(&pool->own.slices);
    table->now = 1;
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++)
        memset(table->streams[i].covered_below, 0, sizeof table->streams[i].covered_below);
    tn_pool_unlock(pool);
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        struct tn_stream_entry *entry = &table->streams[i];
        bool is_retired = entry->state == TN_STREAM_STATE_RETIRED;
        unsigned kept_count = is_retired || entry->is_all_recorded ? 1 : 0;
        while (entry->record_count > kept_count)
            forget_oldest_record(pool, entry);
        if (entry->record_count > 0 && !is_retired) entry->records[0].time = 0;
    }
}

/*
 * Records an event at the end of a stream. It covers what was freed there up to the time that is taken
 * here, before the record: a free that another thread makes in between is stamped later, and is not
 * covered, though its work may be.
 */
static tarn_backend_result record(struct tarn_pool *pool, struct tn_stream_entry *entry)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    if (pool->streams->now >= TN_STREAM_TIME_MAX) begin_anew(pool);
    bool is_full = entry->record_count == TN_STREAM_RECORDS_MAX;
    tarn_event event;
    tarn_backend_result result = OK;
    if (is_full) {
        event = entry->records[--entry->record_count].event;
    } else {
        result = take_event(pool, &event);
    }
    if (result.status != TARN_STATUS_OK) return result;

    tn_pool_lock_and_gather(pool);
    uint32_t time = tn_stream_table_advance(pool->streams);
    tn_pool_unlock(pool);
    result = operations->event_record(pool->backend.state, event, entry->name.handle);
    if (result.status == TARN_STATUS_OK) {
        entry->records[entry->record_count++] = (struct tn_stream_record){ event, time };
    } else {
        give_event_back(pool, event);
    }
    return result;
}

/* Of a stream that has ended: whatever depends on it was freed there before, also where uniting made it
 * later. */
static void let_newest_cover_all(struct tn_stream_entry *entry)
{
    entry->records[entry->record_count - 1].time = TN_STREAM_TIME_MAX;
}

/* Nothing depends on these streams any more, a bit each, up to that time. Whether a slice did. Under `lock`. */
static bool complete_locked(struct tarn_pool *pool, uint32_t streams, uint32_t time)
{
    tn_region_index_complete(&pool->own.index, streams, time);
    return tn_slices_complete(&pool->own.slices, streams, time);
}

static void complete(struct tarn_pool *pool, uint32_t stream, uint32_t time)
{
    tn_pool_lock_and_gather(pool);
    (void)complete_locked(pool, (uint32_t)1 << stream, time);
    tn_pool_unlock(pool);
}

/* Whether a free region or slice may depend on the stream. Under `lock`. */
static bool is_depended_on(struct tarn_pool *pool, uint32_t stream)
{
    return tn_free_set_region_count(&pool->own.index.by_size[tn_free_set_of_stream(stream)]) > 0 ||
           tn_free_set_region_count(&pool->own.index.by_size[TN_FREE_SET_SHARED]) > 0 ||
           tn_slices_depend_on(&pool->own.slices, stream);
}

/* The number may become another stream's. */
static void forget(struct tarn_pool *pool, uint32_t stream)
{
    tn_pool_lock_and_gather(pool);
    tn_slices_forget(&pool->own.slices, stream);
    tn_stream_table_remove(pool->streams, stream);
    tn_pool_unlock(pool);
}

/* The number of a stream that has ended becomes another's when nothing can depend on it any more: the
 * last record is complete; or what was lost has gone back to the vendor. */
static void forget_if_ended(struct tarn_pool *pool, uint32_t stream)
{
    struct tn_stream_entry *entry = &pool->streams->streams[stream];
    bool is_lost = entry->state == TN_STREAM_STATE_LOST;
    if (!is_lost && (entry->state != TN_STREAM_STATE_RETIRED || entry->record_count > 0)) return;
    tn_pool_lock_and_gather(pool);
    bool is_over = !is_lost || !is_depended_on(pool, stream);
    tn_pool_unlock(pool);
    if (!is_over) return;
    while (entry->record_count > 0)
        forget_oldest_record(pool, entry);
    forget(pool, stream);
}

/* Only success means complete: an error says nothing, and what depends on it stays as it is. */
static bool poll_stream(struct tarn_pool *pool, uint32_t stream)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    struct tn_stream_entry *entry = &pool->streams->streams[stream];
    bool has_completed = false;
    while (entry->record_count > 0) {
        tarn_backend_result result =
            operations->event_query(pool->backend.state, entry->records[0].event);
        if (result.status != TARN_STATUS_OK) break;
        bool is_all = covers(entry, 0, TN_STREAM_TIME_MAX);
        complete(pool, stream, is_all ? TN_STREAM_TIME_MAX : entry->records[0].time);
        forget_oldest_record(pool, entry);
        has_completed = true;
    }
    forget_if_ended(pool, stream);
    return has_completed;
}

bool tn_stream_reuse_poll(struct tarn_pool *pool)
{
    bool has_completed = false;
    if (!pool->streams || tn_pool_is_capturing(pool)) return false;
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        if (poll_stream(pool, i)) has_completed = true;
    }
    return has_completed;
}

void tn_stream_reuse_settle(struct tarn_pool *pool)
{
    if (!pool->streams || tn_pool_is_capturing(pool) || !tn_stream_reuse_has_events(pool)) return;
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        struct tn_stream_entry *entry = &pool->streams->streams[i];
        if (entry->state != TN_STREAM_STATE_KNOWN) continue;
        tn_pool_lock_and_gather(pool);
        bool has_to_record = is_depended_on(pool, i);
        tn_pool_unlock(pool);
        /* What cannot be recorded stays as it is. */
        if (has_to_record) (void)record(pool, entry);
    }
    tn_stream_reuse_poll(pool);
}

/* All that was freed before the device had nothing to do waits for nothing any more: up to that time on
 * streams that still are, and at any time on those that have ended. Whether a slice did. Under `lock`. */
static bool complete_all(struct tarn_pool *pool, uint32_t time)
{
    struct tn_stream_table *table = pool->streams;
    uint32_t known = tn_stream_table_in_state(table, TN_STREAM_STATE_KNOWN) |
                     tn_stream_table_in_state(table, TN_STREAM_STATE_CALLERS);
    uint32_t ended = tn_stream_table_in_state(table, TN_STREAM_STATE_RETIRED) |
                     tn_stream_table_in_state(table, TN_STREAM_STATE_LOST);
    bool has_changed = complete_locked(pool, known | ended, time);
    return complete_locked(pool, ended, TN_STREAM_TIME_MAX) || has_changed;
}

bool tn_stream_reuse_synchronize(struct tarn_pool *pool)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    if (!pool->streams || tn_pool_is_capturing(pool) || !operations->synchronize) return false;
    if (pool->streams->now >= TN_STREAM_TIME_MAX) begin_anew(pool);
    tn_pool_lock_and_gather(pool);
    bool is_needed = pool->own.index.pending_chunk_count > 0 || pool->own.slices.streams != 0;
    uint32_t time = is_needed ? tn_stream_table_advance(pool->streams) : 0;
    tn_pool_unlock(pool);
    if (!is_needed) return false;
    if (operations->synchronize(pool->backend.state).status != TARN_STATUS_OK) return false;

    tn_pool_lock_and_gather(pool);
    uint32_t before = pool->own.index.pending_chunk_count;
    bool has_changed = complete_all(pool, time);
    if (pool->own.index.pending_chunk_count < before) has_changed = true;
    tn_pool_unlock(pool);
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        struct tn_stream_entry *entry = &pool->streams->streams[i];
        if (entry->state != TN_STREAM_STATE_RETIRED && entry->state != TN_STREAM_STATE_LOST)
            continue;
        while (entry->record_count > 0)
            forget_oldest_record(pool, entry);
        forget(pool, i);
    }
    return has_changed;
}

/* --- ordering --------------------------------------------------------------------------------- */

uint32_t tn_stream_reuse_reachable(const struct tarn_pool *pool)
{
    if (!tn_stream_reuse_has_events(pool)) return 0;
    uint32_t streams = tn_stream_table_reachable(pool->streams);
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        const struct tn_stream_entry *entry = &pool->streams->streams[i];
        bool is_covered = entry->state == TN_STREAM_STATE_CALLERS && entry->is_all_recorded;
        if (is_covered) streams |= (uint32_t)1 << i;
    }
    return streams;
}

uint32_t tn_stream_reuse_unrecorded(const struct tarn_pool *pool, uint32_t streams, uint32_t time)
{
    uint32_t unrecorded = 0;
    for (uint32_t rest = streams; rest != 0; rest &= rest - 1) {
        const struct tn_stream_entry *entry = &pool->streams->streams[tn_lowest_bit(rest)];
        bool is_recorded = entry->state == TN_STREAM_STATE_CALLERS && find_record(entry, time);
        if (!is_recorded) unrecorded |= rest & -rest;
    }
    return unrecorded;
}

void tn_stream_reuse_want(struct tarn_pool *pool, uint32_t stream)
{
    if (!tn_stream_reuse_has_events(pool)) return;
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        struct tn_stream_entry *entry = &pool->streams->streams[i];
        if (entry->state != TN_STREAM_STATE_CALLERS || i == stream) continue;
        if (!entry->is_all_recorded && is_depended_on(pool, i)) entry->is_wanted = true;
    }
}

/* Makes a stream wait for what was freed on `awaited` up to a time. */
static tarn_backend_result order_after(struct tarn_pool *pool, tarn_stream handle, uint32_t stream,
                                       uint32_t awaited, uint32_t time)
{
    struct tn_stream_entry *entry = &pool->streams->streams[awaited];
    const struct tn_stream_record *covering = find_record(entry, time);
    if (!covering) {
        /* Times have begun anew since it was found. */
        if (entry->state != TN_STREAM_STATE_KNOWN) return fail(TARN_STATUS_NOT_READY);
        tarn_backend_result result = record(pool, entry);
        if (result.status != TARN_STATUS_OK) return result;
        covering = &entry->records[entry->record_count - 1];
    }
    tarn_backend_result result =
        pool->backend.operations->stream_wait_event(pool->backend.state, handle, covering->event);
    if (result.status != TARN_STATUS_OK) return result;
    tn_pool_lock_and_gather(pool);
    tn_stream_table_cover(pool->streams, stream, awaited, covering->time);
    tn_pool_unlock(pool);
    return result;
}

tarn_backend_result tn_stream_reuse_order(struct tarn_pool *pool, tarn_stream handle,
                                          struct tn_dependency dependency)
{
    uint32_t stream;
    if (dependency.streams == 0) return OK;
    tn_pool_lock_and_gather(pool);
    bool is_known = tn_pool_find_introduced_stream(pool, handle, &stream);
    uint32_t rest = tn_stream_table_uncovered(pool->streams, stream, dependency);
    uint32_t others = rest & ~tn_stream_reuse_reachable(pool);
    TN_ASSERT(is_known && tn_stream_reuse_unrecorded(pool, others, dependency.time) == 0);
    tn_pool_unlock(pool);
    (void)is_known;
    (void)others;
    if (rest != 0 && !tn_stream_reuse_has_events(pool)) return fail(TARN_STATUS_NOT_SUPPORTED);
    for (; rest != 0; rest &= rest - 1) {
        tarn_backend_result result =
            order_after(pool, handle, stream, tn_lowest_bit(rest), dependency.time);
        if (result.status != TARN_STATUS_OK) return result;
    }
    return OK;
}

/* Stands in the place of a pool's only stream when that is one thread's. */
static char no_stream;

/* --- introducing ------------------------------------------------------------------------------ */

/* Under `lock`. Nothing was handed out yet, so nothing that is free was ever used. */
static bool is_untouched(const struct tarn_pool *pool)
{
    return !pool->streams && pool->own.stats.alloc_count == 0;
}

/* What was freed so far was freed on the only stream. Under `lock`. */
static void divide_free_regions(struct tarn_pool *pool)
{
    struct tn_dependency dependency = tn_stream_table_depend(pool->streams, 0);
    uint32_t region;
    if (pool->own.stats.free_count == 0 && !pool->has_shrunk) return;
    tn_slices_divide(&pool->own.slices, dependency);
    while ((region = tn_region_index_find_best_fit(&pool->own.index, (uint32_t)1 << TN_FREE_SET_IDLE,
                                                   1)) != TN_REGION_NONE) {
        tn_region_index_change_dependency(&pool->own.index, region, dependency);
    }
}

/* From one stream to several. False: no host memory, and all is as it was. Under `lock`. */
static bool divide(struct tarn_pool *pool)
{
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

/* What the vendor tells of a stream besides its handle. */
struct identity {
    struct tn_stream_name name;
    bool is_callers;
    bool is_unsure; /* the vendor has gone: it is taken for the stream that had the handle last */
    uint64_t id;    /* 0 in a pool that asks for none */
};

static void set_only_stream(struct tarn_pool *pool, struct tn_stream_name name)
{
    pool->only_stream = name.thread ? &no_stream : name.handle;
    pool->only_thread = name.thread;
}

/* Under `lock`. */
static bool introduce_locked(struct tarn_pool *pool, const struct identity *identity)
{
    bool must_record_frees = pool->identifies_streams && identity->is_callers;
    if (is_untouched(pool) && !must_record_frees) {
        set_only_stream(pool, identity->name);
        return true;
    }
    if (!pool->streams && !divide(pool)) return false;
    uint32_t stream = tn_stream_table_find_unused(pool->streams);
    if (stream == TN_STREAM_NONE || !tn_region_index_add_stream(&pool->own.index, stream)) return false;
    tn_stream_table_add(pool->streams, stream, identity->name);
    struct tn_stream_entry *entry = &pool->streams->streams[stream];
    if (!must_record_frees) return true;
    entry->state = TN_STREAM_STATE_CALLERS;
    entry->id = identity->id;
    entry->is_all_recorded = true;
    return true;
}

/* A stream that ends unannounced has come to its end. What could not be recorded there is lost. */
static void end_unannounced(struct tarn_pool *pool, uint32_t stream)
{
    struct tn_stream_entry *entry = &pool->streams->streams[stream];
    tn_pool_lock_and_gather(pool);
    entry->state = entry->is_all_recorded ? TN_STREAM_STATE_RETIRED : TN_STREAM_STATE_LOST;
    tn_pool_unlock(pool);
    if (entry->is_all_recorded && entry->record_count > 0) let_newest_cover_all(entry);
    poll_stream(pool, stream);
}

/* Streams whose numbers the pool can have back once nothing depends on them: all but captures. */
static uint32_t forgettable(const struct tn_stream_table *table)
{
    return tn_stream_table_in_state(table, TN_STREAM_STATE_KNOWN) |
           tn_stream_table_in_state(table, TN_STREAM_STATE_CALLERS) |
           tn_stream_table_in_state(table, TN_STREAM_STATE_RETIRED) |
           tn_stream_table_in_state(table, TN_STREAM_STATE_LOST);
}

/* Whether the pool has a number to spare, after forgetting such streams that nothing depends on, but
 * for these. Who comes again is introduced again. */
static bool make_room(struct tarn_pool *pool, uint32_t kept_streams)
{
    struct tn_stream_table *table = pool->streams;
    if (tn_stream_table_find_unused(table) != TN_STREAM_NONE) return true;
    for (uint32_t rest = forgettable(table) & ~kept_streams; rest != 0; rest &= rest - 1) {
        uint32_t stream = tn_lowest_bit(rest);
        struct tn_stream_entry *entry = &table->streams[stream];
        tn_pool_lock_and_gather(pool);
        bool is_idle = !is_depended_on(pool, stream);
        if (is_idle) entry->state = TN_STREAM_STATE_RETIRED;
        tn_pool_unlock(pool);
        while (is_idle && entry->record_count > 0)
            forget_oldest_record(pool, entry);
        forget_if_ended(pool, stream);
    }
    return tn_stream_table_find_unused(table) != TN_STREAM_NONE;
}

/* Of what was freed on them nothing waits any more once the device has nothing to do. */
static void make_room_by_waiting(struct tarn_pool *pool, uint32_t kept_streams)
{
    if (!pool->streams || make_room(pool, kept_streams)) return;
    if ((forgettable(pool->streams) & ~kept_streams) == 0) return;
    tn_stream_reuse_synchronize(pool);
    make_room(pool, kept_streams);
}

static tarn_backend_result identify(const struct tarn_pool *pool, tarn_stream handle,
                                    struct identity *identity_out)
{
    *identity_out = (struct identity){ .name = tn_pool_name_stream(pool, handle) };
    struct tn_stream_name name = identity_out->name;
    identity_out->is_callers = name.thread != 0;
    if (!pool->identifies_streams || !name.handle || name.thread) return OK;
    identity_out->is_callers = true;
    return pool->backend.operations->stream_id(pool->backend.state, handle, &identity_out->id);
}

/* At the end of the process a vendor is not asked any more, and frees go on. No work can be submitted to what is
 * freed then. */
static bool has_vendor_gone(tarn_backend_result result)
{
    return result.status == TARN_STATUS_VENDOR_ERROR && tn_process_is_ending();
}

/* Whether the pool knows the stream, once it is clear that it is still the same one. */
static bool recognise(struct tarn_pool *pool, const struct identity *identity, uint32_t *stream_out)
{
    tn_pool_lock_and_gather(pool);
    bool is_known = tn_pool_find_introduced_stream(pool, identity->name.handle, stream_out);
    tn_pool_unlock(pool);
    if (!is_known || *stream_out == TN_STREAM_NONE) return is_known;
    struct tn_stream_entry *entry = &pool->streams->streams[*stream_out];
    if (identity->is_unsure) return true;
    if (entry->id != identity->id) {
        end_unannounced(pool, *stream_out);
        return false;
    }
    return true;
}

static tarn_backend_result introduce(struct tarn_pool *pool, tarn_stream handle,
                                     uint32_t *kept_streams)
{
    struct identity identity;
    uint32_t stream;
    tarn_backend_result result = identify(pool, handle, &identity);
    identity.is_unsure = has_vendor_gone(result);
    if (result.status != TARN_STATUS_OK && !identity.is_unsure) return result;
    if (!recognise(pool, &identity, &stream)) {
        const tarn_backend_operations *operations = pool->backend.operations;
        if (operations->stream_check)
            result = operations->stream_check(pool->backend.state, identity.name.handle);
        if (result.status != TARN_STATUS_OK && !has_vendor_gone(result)) return result;
        tn_stream_reuse_poll(pool); /* which may end a retirement */
        make_room_by_waiting(pool, *kept_streams);
        tn_pool_lock_and_gather(pool);
        bool is_introduced = introduce_locked(pool, &identity) &&
                             tn_pool_find_introduced_stream(pool, handle, &stream);
        tn_pool_unlock(pool);
        if (!is_introduced) return fail(TARN_STATUS_OUT_OF_HOST_MEMORY);
    }
    if (stream != TN_STREAM_NONE) *kept_streams |= (uint32_t)1 << stream;
    return OK;
}

tarn_backend_result tn_stream_reuse_introduce(struct tarn_pool *pool, const tarn_stream *streams,
                                              size_t stream_count, tarn_stream *refused_out)
{
    tarn_backend_result result = OK;
    uint32_t kept_streams = 0;
    for (size_t i = 0; i < stream_count && result.status == TARN_STATUS_OK; i++) {
        result = introduce(pool, streams[i], &kept_streams);
        if (result.status != TARN_STATUS_OK) *refused_out = streams[i];
    }
    return result;
}

/* What cannot be recorded stays as it is. */
static void record_callers(struct tarn_pool *pool, struct tn_stream_entry *entry)
{
    entry->is_all_recorded = false;
    bool is_recorded = record(pool, entry).status == TARN_STATUS_OK;
    /* In other pools the thread frees without growth_lock, so more may be freed here at any time. */
    entry->is_all_recorded = is_recorded && pool->identifies_streams;
    tn_pool_lock_and_gather(pool);
    entry->is_wanted = false;
    tn_pool_unlock(pool);
}

void tn_stream_reuse_record_callers(struct tarn_pool *pool, const tarn_stream *streams,
                                    size_t stream_count, bool has_freed)
{
    if (!pool->streams || tn_pool_is_capturing(pool)) return;
    bool has_to_record = has_freed && pool->identifies_streams;
    for (size_t i = 0; i < stream_count; i++) {
        uint32_t stream;
        tn_pool_lock_and_gather(pool);
        bool is_known = tn_pool_find_introduced_stream(pool, streams[i], &stream);
        tn_pool_unlock(pool);
        TN_ASSERT(is_known);
        if (!is_known) continue;
        struct tn_stream_entry *entry = &pool->streams->streams[stream];
        if (entry->state != TN_STREAM_STATE_CALLERS) continue;
        if (has_to_record || entry->is_wanted) record_callers(pool, entry);
    }
}

tarn_status tn_stream_reuse_fail(const struct tarn_pool *pool, tarn_stream stream,
                                 tarn_backend_result result)
{
    const char *backend = pool->backend.operations->name;
    if (result.status == TARN_STATUS_INVALID_ARGUMENT) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "%p is no stream of the %s backend's device", stream, backend);
    }
    if (result.status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "no room for one more stream beside the %d at most that a pool knows",
                              TN_STREAM_COUNT_MAX);
    }
    return tn_fail_vendor(TARN_STATUS_VENDOR_ERROR, result.vendor_code, result.vendor_name,
                          "the %s backend failed to look at stream %p", backend, stream);
}

bool tn_stream_reuse_divide(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    bool is_divided = pool->streams || divide(pool);
    tn_pool_unlock(pool);
    return is_divided;
}

/* --- retiring --------------------------------------------------------------------------------- */

tarn_backend_result tn_stream_reuse_retire(struct tarn_pool *pool, tarn_stream handle)
{
    uint32_t stream;
    tn_pool_lock_and_gather(pool);
    bool is_known = tn_pool_find_introduced_stream(pool, handle, &stream);
    tn_pool_unlock(pool);
    if (!is_known) return OK;
    if (tn_pool_is_captured(pool, stream)) return fail(TARN_STATUS_NOT_READY);
    if (stream == TN_STREAM_NONE) {
        /* The only stream: dividing tells what was freed on it from what was not. */
        tn_pool_lock_and_gather(pool);
        bool is_divided = is_untouched(pool) || divide(pool);
        if (!pool->streams && is_divided)
            set_only_stream(pool, (struct tn_stream_name){ pool->default_stream, 0 });
        tn_pool_unlock(pool);
        if (!is_divided) return fail(TARN_STATUS_OUT_OF_HOST_MEMORY);
        if (!pool->streams) return OK;
        stream = 0;
    }
    struct tn_stream_entry *entry = &pool->streams->streams[stream];
    if (pool->identifies_streams && entry->state == TN_STREAM_STATE_CALLERS) {
        /* The handle may be another stream's by now. */
        end_unannounced(pool, stream);
        return OK;
    }
    tn_pool_lock_and_gather(pool);
    bool has_to_record = is_depended_on(pool, stream);
    tn_pool_unlock(pool);
    tarn_backend_result result = OK;
    if (has_to_record)
        result = tn_stream_reuse_has_events(pool) ? record(pool, entry)
                                                  : fail(TARN_STATUS_NOT_SUPPORTED);
    if (has_to_record && result.status == TARN_STATUS_OK) let_newest_cover_all(entry);
    tn_pool_lock_and_gather(pool);
    entry->state = result.status == TARN_STATUS_OK ? TN_STREAM_STATE_RETIRED : TN_STREAM_STATE_LOST;
    tn_pool_unlock(pool);
    if (!tn_pool_is_capturing(pool)) poll_stream(pool, stream);
    if (has_vendor_gone(result)) return OK;
    if (result.status != TARN_STATUS_OK) result.status = TARN_STATUS_VENDOR_ERROR;
    return result;
}

/* --- queries ---------------------------------------------------------------------------------- */

uint32_t tn_stream_reuse_private_chunks(const struct tarn_pool *pool)
{
    uint32_t chunk_count = 0;
    if (!pool->streams) return 0;
    uint32_t private_streams = tn_stream_table_private(pool->streams);
    for (uint32_t region = 0; region < pool->own.index.fresh; region++) {
        const struct tn_region *r = &pool->own.index.regions[region];
        if (r->state != TN_REGION_STATE_FREE) continue;
        if (tn_region_dependency(r).streams & private_streams) chunk_count += r->chunk_count;
    }
    return chunk_count;
}

/* --- end -------------------------------------------------------------------------------------- */

void tn_stream_reuse_fini(struct tarn_pool *pool)
{
    if (!pool->streams) return;
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        struct tn_stream_entry *entry = &pool->streams->streams[i];
        while (entry->record_count > 0)
            forget_oldest_record(pool, entry);
    }
    for (unsigned i = 0; i < pool->spare_event_count; i++)
        (void)pool->backend.operations->event_destroy(pool->backend.state, pool->spare_events[i]);
    tn_stream_reuse_abandon(pool);
}

void tn_stream_reuse_abandon(struct tarn_pool *pool)
{
    tn_host_memory_free(pool->streams);
    pool->streams = NULL;
}
