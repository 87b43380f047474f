/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stream_reuse: events, records, polling, ordering. */
#include "stream_reuse.h"

#include "../../base/arith.h"
#include "../../base/host_memory.h"
#include "../serve/any_stream.h"
#include "../arenas/gather.h"
#include "../arenas/pool_uses.h"

/* --- events ----------------------------------------------------------------------------------- */

bool tn_stream_reuse_has_events(const struct tarn_pool *pool)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    return operations->event_create && operations->event_destroy && operations->event_record &&
           operations->event_query && operations->stream_wait_event;
}

tarn_backend_result tn_stream_reuse_take_event(struct tarn_pool *pool, tarn_event *event_out)
{
    if (pool->spare_event_count == 0)
        return pool->backend.operations->event_create(pool->backend.state, event_out);
    *event_out = pool->spare_events[--pool->spare_event_count];
    return TARN_BACKEND_RESULT_OK;
}

void tn_stream_reuse_give_event_back(struct tarn_pool *pool, tarn_event event)
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
    tn_stream_reuse_give_event_back(pool, entry->records[0].event);
    entry->record_count--;
    entry->is_given_up = false;
    for (unsigned i = 0; i < entry->record_count; i++)
        entry->records[i] = entry->records[i + 1];
}

static void forget_records(struct tarn_pool *pool, struct tn_stream_entry *entry,
                           unsigned kept_count)
{
    while (entry->record_count > kept_count)
        forget_oldest_record(pool, entry);
}

void tn_stream_reuse_forget_records(struct tarn_pool *pool, struct tn_stream_entry *entry)
{
    forget_records(pool, entry, 0);
}

/* Whether a record covers memory of that time: freed on the record's stream, or united with such memory. */
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

/* All times begin anew. The pool forgets the records of known streams, because it can no longer tell what
 * they cover. The newest record of a retired stream covers memory of any time and stays. So does the newest
 * record of a callers' stream if it covers everything. */
static void begin_anew(struct tarn_pool *pool)
{
    struct tn_stream_table *table = pool->streams;
    tn_pool_lock_and_gather(pool);
    tn_region_index_begin_anew(&pool->own.index);
    tn_slices_begin_anew(&pool->own.slices);
    for (struct tn_piece *piece = pool->pieces.leaving.newest; piece; piece = piece->older)
        piece->dependency.time = 0;
    tn_pool_begin_uses_anew(pool);
    for (uint32_t i = 0; i < table->evicted_count; i++)
        table->evicted[i].time = 0;
    tn_stream_table_begin_anew(table);
    tn_pool_unlock(pool);
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        struct tn_stream_entry *entry = &table->streams[i];
        bool is_retired = entry->state == TN_STREAM_STATE_RETIRED;
        forget_records(pool, entry, is_retired || entry->is_all_recorded ? 1 : 0);
        if (entry->record_count > 0 && !is_retired) entry->records[0].time = 0;
    }
}

void tn_stream_reuse_begin_anew_if_due(struct tarn_pool *pool)
{
    if (pool->streams->now >= TN_STREAM_TIME_MAX) begin_anew(pool);
}

/* Takes the time of a record. Arenas keep what they have, but no thread frees meanwhile. */
static uint32_t take_time(struct tarn_pool *pool)
{
    tn_stream_reuse_begin_anew_if_due(pool);
    tn_pool_lock_and_freeze(pool);
    uint32_t time = tn_stream_table_advance(pool->streams);
    tn_pool_thaw_and_unlock(pool);
    return time;
}

/*
 * Records an event at the end of a stream. It covers memory that was freed there up to the time that was taken
 * before. A free by another thread in between gets a later time and is not covered, although its work may be.
 */
static tarn_backend_result record_at(struct tarn_pool *pool, struct tn_stream_entry *entry,
                                     uint32_t time)
{
    unsigned most =
        tn_is_any_stream(entry->name.handle) ? TN_UNNAMED_RECORDS_MAX : TN_STREAM_RECORDS_MAX;
    bool is_full = entry->record_count == most;
    tarn_event event;
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    if (is_full) {
        const struct tn_stream_record *newest = &entry->records[--entry->record_count];
        event = newest->event;
        (void)tn_add_fits(entry->unrecorded_bytes, newest->freed_bytes, &entry->unrecorded_bytes);
    } else {
        result = tn_stream_reuse_take_event(pool, &event);
    }
    if (result.status != TARN_STATUS_OK) return result;

    bool has_waited;
    result = tn_any_stream_record(&pool->backend, event, entry->name.handle, &has_waited);
    if (result.status == TARN_STATUS_OK) {
        entry->records_at_once = !has_waited;
        entry->is_late = false;
        entry->records[entry->record_count++] =
            (struct tn_stream_record){ event, time, entry->unrecorded_bytes };
        entry->unrecorded_bytes = 0;
    } else {
        tn_stream_reuse_give_event_back(pool, event);
    }
    return result;
}

static tarn_backend_result record(struct tarn_pool *pool, struct tn_stream_entry *entry)
{
    return record_at(pool, entry, take_time(pool));
}

/* Streams, a bit each, that memory waits for which has left the pool, and which the vendor may refuse. */
static uint32_t streams_of_leaving(const struct tarn_pool *pool)
{
    uint32_t streams = 0;
    for (const struct tn_piece *piece = pool->pieces.leaving.newest; piece; piece = piece->older)
        streams |= piece->dependency.streams;
    return streams;
}

/* Whether freed memory may depend on the stream, or live memory that was used on it before it ended. */
static bool is_depended_on(struct tarn_pool *pool, uint32_t stream)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    return tn_free_set_region_count(&pool->own.index.by_size[tn_free_set_of_stream(stream)]) > 0 ||
           tn_free_set_region_count(&pool->own.index.by_size[TN_FREE_SET_SHARED]) > 0 ||
           tn_slices_depend_on(&pool->own.slices, stream) ||
           ((streams_of_leaving(pool) | tn_pool_streams_of_uses(pool)) & (uint32_t)1 << stream) !=
               0;
}

tarn_backend_result tn_stream_reuse_record_needed(struct tarn_pool *pool, uint32_t stream)
{
    tn_pool_lock_and_gather(pool);
    bool is_needed = is_depended_on(pool, stream);
    tn_pool_unlock(pool);
    if (!is_needed) return TARN_BACKEND_RESULT_OK;
    if (!tn_stream_reuse_has_events(pool))
        return (tarn_backend_result){ TARN_STATUS_NOT_SUPPORTED, 0, NULL };
    return record(pool, &pool->streams->streams[stream]);
}

/* --- completion ------------------------------------------------------------------------------- */

bool tn_stream_reuse_complete(struct tarn_pool *pool, uint32_t streams, uint32_t time)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    tn_region_index_complete(&pool->own.index, streams, time);
    for (struct tn_piece *piece = pool->pieces.leaving.newest; piece; piece = piece->older)
        piece->dependency = tn_dependency_complete(piece->dependency, streams, time);
    tn_pool_complete_uses(pool, streams, time);
    pool->change_count++;
    return tn_slices_complete(&pool->own.slices, streams, time);
}

/* Gives the number of a stream back. Requires that no thread can free on the stream, and nothing depends on
 * it. */
static void forget(struct tarn_pool *pool, uint32_t stream)
{
    forget_records(pool, &pool->streams->streams[stream], 0);
    tn_pool_lock_and_gather(pool);
    tn_slices_forget(&pool->own.slices, stream);
    tn_stream_table_remove(pool->streams, stream);
    tn_pool_unlock(pool);
}

/* Nothing depends on a retired stream once its last record is complete. */
static bool is_complete(const struct tn_stream_entry *entry)
{
    return entry->state == TN_STREAM_STATE_RETIRED && entry->record_count == 0;
}

void tn_stream_reuse_forget_idle(struct tarn_pool *pool, uint32_t stream)
{
    struct tn_stream_entry *entry = &pool->streams->streams[stream];
    tn_pool_lock_and_gather(pool);
    bool is_idle = is_complete(entry) || !is_depended_on(pool, stream);
    if (is_idle) entry->state = TN_STREAM_STATE_RETIRED;
    tn_pool_unlock(pool);
    if (is_idle) forget(pool, stream);
}

/* Only success means complete. After an error, memory that depends on the record stays as it is. */
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
        uint32_t time = is_all ? TN_STREAM_TIME_MAX : entry->records[0].time;
        tn_pool_lock(pool);
        (void)tn_stream_reuse_complete(pool, (uint32_t)1 << stream, time);
        tn_stream_table_complete(pool->streams, stream, entry->records[0].time);
        tn_pool_unlock(pool);
        forget_oldest_record(pool, entry);
        has_completed = true;
    }
    /* Lost memory may have gone back to the vendor. */
    if (is_complete(entry) || entry->state == TN_STREAM_STATE_LOST)
        tn_stream_reuse_forget_idle(pool, stream);
    return has_completed;
}

/* --- callers' streams ------------------------------------------------------------------------- */

void tn_stream_reuse_want(struct tarn_pool *pool, uint32_t stream)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!tn_stream_reuse_has_events(pool)) return;
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        struct tn_stream_entry *entry = &pool->streams->streams[i];
        if (entry->state != TN_STREAM_STATE_CALLERS || i == stream) continue;
        if (!entry->is_all_recorded && is_depended_on(pool, i)) entry->is_wanted = true;
    }
}

/* A failed record leaves memory that was freed on the stream as it is. */
static void record_callers(struct tarn_pool *pool, struct tn_stream_entry *entry)
{
    entry->is_all_recorded = false;
    bool is_recorded = record(pool, entry).status == TARN_STATUS_OK;
    /* A thread frees on its own stream without growth_lock, so it may free more here at any time. */
    entry->is_all_recorded = is_recorded && tn_pool_records_frees(pool, entry->name.handle);
    tn_pool_lock_and_freeze(pool);
    entry->is_wanted = false;
    tn_pool_thaw_and_unlock(pool);
}

/* Unnamed frees share a record until they are this part of what the pool holds. */
#define UNRECORDED_PART 16

/* Notes unnamed frees. True: another free may record them, or an allocation that needs their memory. A record that waits
 * for the device is made at the free, where the vendor's own call waits. */
static bool put_off(const struct tarn_pool *pool, struct tn_stream_entry *entry, size_t freed_bytes)
{
    if (!tn_is_any_stream(entry->name.handle)) return false;
    size_t most = pool->own.stats.footprint_bytes / UNRECORDED_PART;
    if (!tn_add_fits(entry->unrecorded_bytes, freed_bytes, &entry->unrecorded_bytes)) return false;
    return entry->records_at_once && entry->unrecorded_bytes < most;
}

void tn_stream_reuse_record_callers(struct tarn_pool *pool, const tarn_stream *streams,
                                    size_t stream_count, size_t freed_bytes)
{
    bool has_freed = freed_bytes > 0;
    if (!pool->streams) return;
    for (size_t i = 0; i < stream_count; i++) {
        uint32_t stream;
        tn_pool_lock(pool);
        bool is_known = tn_pool_find_introduced_stream(pool, streams[i], &stream);
        tn_pool_unlock(pool);
        if (!is_known) continue; /* evicted by this call */
        struct tn_stream_entry *entry = &pool->streams->streams[stream];
        if (entry->state != TN_STREAM_STATE_CALLERS) continue;
        bool has_to_record = has_freed && tn_pool_records_frees(pool, streams[i]) &&
                             !put_off(pool, entry, freed_bytes);
        /* A capture of another stream bears a record. Where frees are not recorded later, it is made all the same. It
         * does not bear a record of the whole device. */
        bool may_record =
            !tn_captures_are_under_way() || (has_to_record && !tn_is_any_stream(streams[i]));
        if (has_freed) entry->is_all_recorded = false;
        if (!may_record || (!has_to_record && !entry->is_wanted)) continue;
        /* Otherwise allocations would pass over memory whose work is done, and split larger free regions. */
        if (tn_is_any_stream(streams[i])) (void)poll_stream(pool, stream);
        record_callers(pool, entry);
    }
}

uint32_t tn_stream_reuse_find_unnamed(const struct tarn_pool *pool)
{
    const struct tn_stream_name name = { TN_ANY_STREAM_FREES, 0 };
    return pool->streams ? tn_stream_table_search(pool->streams, name) : TN_STREAM_NONE;
}

bool tn_stream_reuse_record_unnamed(struct tarn_pool *pool)
{
    uint32_t number = tn_stream_reuse_find_unnamed(pool);
    if (number == TN_STREAM_NONE || tn_captures_are_under_way()) return false;
    struct tn_stream_entry *entry = &pool->streams->streams[number];
    if (entry->is_all_recorded) return false;
    record_callers(pool, entry);
    entry->is_late = entry->is_all_recorded;
    return entry->is_all_recorded;
}

bool tn_stream_reuse_is_late(const struct tarn_pool *pool)
{
    uint32_t number = tn_stream_reuse_find_unnamed(pool);
    return number != TN_STREAM_NONE && pool->streams->streams[number].is_late;
}

/* --- polling ---------------------------------------------------------------------------------- */

bool tn_stream_reuse_poll_numbers(struct tarn_pool *pool)
{
    bool has_completed = false;
    if (!pool->streams || tn_captures_are_under_way()) return false;
    for (uint32_t i = 0; i < pool->streams->number_end; i++) {
        if (poll_stream(pool, i)) has_completed = true;
    }
    return has_completed;
}

bool tn_stream_reuse_poll_unnamed(struct tarn_pool *pool)
{
    uint32_t number = tn_stream_reuse_find_unnamed(pool);
    return number != TN_STREAM_NONE && !tn_captures_are_under_way() && poll_stream(pool, number);
}

bool tn_stream_reuse_poll(struct tarn_pool *pool)
{
    if (!pool->streams || tn_captures_are_under_way()) return false;
    bool has_completed = tn_stream_evict_poll(pool);
    return tn_stream_reuse_poll_numbers(pool) || has_completed;
}

/* The stream whose oldest record is the oldest of all, but for those left out, a bit each. Or TN_STREAM_NONE. */
static uint32_t find_oldest_record(const struct tn_stream_table *table, uint32_t left_out)
{
    uint32_t oldest = TN_STREAM_NONE;
    for (uint32_t i = 0; i < table->number_end; i++) {
        const struct tn_stream_entry *entry = &table->streams[i];
        if (entry->record_count == 0 || (left_out & (uint32_t)1 << i) != 0) continue;
        if (oldest == TN_STREAM_NONE ||
            entry->records[0].time < table->streams[oldest].records[0].time)
            oldest = i;
    }
    return oldest;
}

/* Polls from the oldest record on, up to one that has not completed. Its stream is busy: it is not asked again before all
 * others were, so that a stream that works for long does not hide the others. */
bool tn_stream_reuse_poll_sparingly(struct tarn_pool *pool)
{
    struct tn_stream_table *table = pool->streams;
    bool has_completed = false, is_busy = false;
    if (!table || tn_captures_are_under_way()) return false;
    if (find_oldest_record(table, 0) == TN_STREAM_NONE) return false;
    if (!tn_poll_turns_take(&table->polls)) return false;
    if (find_oldest_record(table, table->busy_streams) == TN_STREAM_NONE) table->busy_streams = 0;
    while (!is_busy) {
        uint32_t stream = find_oldest_record(table, table->busy_streams);
        if (stream == TN_STREAM_NONE) {
            table->busy_streams = 0;
            break;
        }
        if (poll_stream(pool, stream)) has_completed = true;
        is_busy = table->streams[stream].record_count > 0;
        if (is_busy) table->busy_streams |= (uint32_t)1 << stream;
    }
    tn_poll_turns_note(&table->polls, has_completed);
    return has_completed;
}

void tn_stream_reuse_end(struct tarn_pool *pool, uint32_t stream, bool is_recorded)
{
    struct tn_stream_entry *entry = &pool->streams->streams[stream];
    tn_pool_lock_and_gather(pool);
    entry->state = is_recorded ? TN_STREAM_STATE_RETIRED : TN_STREAM_STATE_LOST;
    tn_pool_unlock(pool);
    /* All memory that depends on the stream was freed there before, also if uniting gave it a later time. */
    if (is_recorded && entry->record_count > 0)
        entry->records[entry->record_count - 1].time = TN_STREAM_TIME_MAX;
    if (!tn_captures_are_under_way()) poll_stream(pool, stream);
}

/* That number, if records cover all these frees, or TN_STREAM_NONE. */
static uint32_t find_any_frees(const struct tarn_pool *pool)
{
    uint32_t number = tn_stream_reuse_find_unnamed(pool);
    bool is_covered = number != TN_STREAM_NONE && pool->streams->streams[number].is_all_recorded;
    return is_covered ? number : TN_STREAM_NONE;
}

uint32_t tn_stream_reuse_any_frees(const struct tarn_pool *pool)
{
    uint32_t number = find_any_frees(pool);
    return number == TN_STREAM_NONE ? 0 : (uint32_t)1 << number;
}

/* Each sleep is 10 us longer than the one before, up to a millisecond, so that the wait ends late by a small part of its
 * length. A thread that yields instead may lose milliseconds, where there are more threads than processors. */
static void pause_after(unsigned look)
{
    enum {
        LOOKS_AT_ONCE = 200,
        SLEEP_STEP_NS = 10000,
        SLEEP_NS_MAX = 1000000
    };
    if (look < LOOKS_AT_ONCE) return;
    uint64_t nanoseconds = (uint64_t)(look - LOOKS_AT_ONCE + 1) * SLEEP_STEP_NS;
    tn_thread_sleep_ns((long)tn_min(nanoseconds, SLEEP_NS_MAX));
}

bool tn_stream_reuse_pause(struct tarn_pool *pool, unsigned look)
{
    const tarn_backend *backend = &pool->backend;
    uint32_t number = tn_stream_reuse_find_unnamed(pool);
    if (number == TN_STREAM_NONE || pool->streams->streams[number].record_count == 0) return false;
    tarn_event oldest = pool->streams->streams[number].records[0].event;
    if (backend->operations->event_query(backend->state, oldest).status != TARN_STATUS_NOT_READY)
        return false;
    tn_pool_unlock_growth(pool);
    pause_after(look);
    tn_pool_lock_growth(pool);
    return true;
}

void tn_stream_reuse_settle(struct tarn_pool *pool, uint32_t streams)
{
    if (!pool->streams || tn_captures_are_under_way() || !tn_stream_reuse_has_events(pool)) return;
    (void)tn_stream_reuse_record_unnamed(pool);
    uint32_t time = take_time(pool);
    for (uint32_t i = 0; i < pool->streams->number_end; i++) {
        struct tn_stream_entry *entry = &pool->streams->streams[i];
        if (entry->state != TN_STREAM_STATE_KNOWN || tn_is_any_stream(entry->name.handle)) continue;
        tn_pool_lock(pool);
        bool is_needed = (streams >> i & 1) != 0 || is_depended_on(pool, i);
        tn_pool_unlock(pool);
        if (is_needed) (void)record_at(pool, entry, time);
    }
    tn_stream_reuse_poll(pool);
}

/* The device has finished all work. Memory that was freed on a stream up to that time waits for nothing any
 * more; on a stream that has ended, memory of any time. True: a slice waits for less than before. */
static bool complete_all(struct tarn_pool *pool, uint32_t time)
{
    struct tn_stream_table *table = pool->streams;
    uint32_t known = tn_stream_table_in_state(table, TN_STREAM_STATE_KNOWN) |
                     tn_stream_table_in_state(table, TN_STREAM_STATE_CALLERS);
    uint32_t ended = tn_stream_table_in_state(table, TN_STREAM_STATE_RETIRED) |
                     tn_stream_table_in_state(table, TN_STREAM_STATE_LOST);
    bool has_changed = tn_stream_reuse_complete(pool, known | ended, time);
    return tn_stream_reuse_complete(pool, ended, TN_STREAM_TIME_MAX) || has_changed;
}

bool tn_stream_reuse_is_device_idle(struct tarn_pool *pool)
{
    const tarn_backend *backend = &pool->backend;
    tarn_event event;
    if (tn_captures_are_under_way() || !tn_stream_reuse_has_events(pool)) return false;
    if (tn_stream_reuse_take_event(pool, &event).status != TARN_STATUS_OK) return false;
    bool is_idle = tn_any_stream_record_device(backend, event).status == TARN_STATUS_OK &&
                   backend->operations->event_query(backend->state, event).status == TARN_STATUS_OK;
    tn_stream_reuse_give_event_back(pool, event);
    return is_idle;
}

bool tn_stream_reuse_synchronize(struct tarn_pool *pool)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    if (!pool->streams || tn_captures_are_under_way() || !operations->synchronize) return false;
    tn_stream_reuse_begin_anew_if_due(pool);
    tn_pool_lock_and_gather(pool);
    uint32_t of_leaving = streams_of_leaving(pool);
    bool is_needed =
        pool->own.index.pending_chunk_count > 0 || pool->own.slices.streams != 0 || of_leaving != 0;
    uint32_t time = is_needed ? tn_stream_table_advance(pool->streams) : 0;
    tn_pool_unlock(pool);
    if (!is_needed) return false;
    if (operations->synchronize(pool->backend.state).status != TARN_STATUS_OK) return false;

    tn_pool_lock_and_gather(pool);
    uint32_t before = pool->own.index.pending_chunk_count;
    bool has_changed = complete_all(pool, time);
    tn_pool_unlock(pool);
    if (tn_stream_evict_complete_all(pool)) has_changed = true;
    tn_pool_lock(pool);
    if (pool->own.index.pending_chunk_count < before || streams_of_leaving(pool) != of_leaving)
        has_changed = true;
    tn_pool_unlock(pool);
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        enum tn_stream_state state = pool->streams->streams[i].state;
        if (state == TN_STREAM_STATE_RETIRED || state == TN_STREAM_STATE_LOST) forget(pool, i);
    }
    return has_changed;
}

/* --- ordering --------------------------------------------------------------------------------- */

uint32_t tn_stream_reuse_reachable(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!tn_stream_reuse_has_events(pool)) return 0;
    uint32_t streams = tn_stream_table_reachable(pool->streams);
    for (uint32_t i = 0; i < pool->streams->number_end; i++) {
        const struct tn_stream_entry *entry = &pool->streams->streams[i];
        bool is_covered =
            (entry->state == TN_STREAM_STATE_CALLERS && entry->is_all_recorded) ||
            (entry->state == TN_STREAM_STATE_EVICTED && tn_stream_evict_are_recorded(pool));
        if (is_covered) streams |= (uint32_t)1 << i;
    }
    return streams;
}

uint32_t tn_stream_reuse_unrecorded(const struct tarn_pool *pool, uint32_t streams, uint32_t time)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t unrecorded = 0;
    for (uint32_t rest = streams; rest != 0; rest &= rest - 1) {
        const struct tn_stream_entry *entry = &pool->streams->streams[tn_lowest_bit(rest)];
        bool is_recorded = entry->state == TN_STREAM_STATE_CALLERS && find_record(entry, time);
        if (!is_recorded) unrecorded |= rest & -rest;
    }
    return unrecorded;
}

/* Makes a stream wait for memory that was freed on `awaited` up to a time. */
static tarn_backend_result order_after(struct tarn_pool *pool, tarn_stream handle, uint32_t stream,
                                       uint32_t awaited, uint32_t time)
{
    struct tn_stream_entry *entry = &pool->streams->streams[awaited];
    if (entry->state == TN_STREAM_STATE_EVICTED)
        return tn_stream_evict_order(pool, handle, stream, time);
    const struct tn_stream_record *covering = find_record(entry, time);
    if (!covering) {
        /* The record was there when the memory was found: times have begun anew since. */
        if (entry->state != TN_STREAM_STATE_KNOWN)
            return (tarn_backend_result){ TARN_STATUS_NOT_READY, 0, NULL };
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
    if (dependency.streams == 0) return TARN_BACKEND_RESULT_OK;
    tn_pool_lock(pool);
    bool is_known = tn_pool_find_introduced_stream(pool, handle, &stream);
    uint32_t rest = tn_stream_table_uncovered(pool->streams, stream, dependency);
    uint32_t others = rest & ~tn_stream_reuse_reachable(pool);
    TN_ASSERT(is_known && tn_stream_reuse_unrecorded(pool, others, dependency.time) == 0);
    tn_pool_unlock(pool);
    (void)is_known;
    (void)others;
    if (rest != 0 && !tn_stream_reuse_has_events(pool))
        return (tarn_backend_result){ TARN_STATUS_NOT_SUPPORTED, 0, NULL };
    for (; rest != 0; rest &= rest - 1) {
        tarn_backend_result result =
            order_after(pool, handle, stream, tn_lowest_bit(rest), dependency.time);
        if (result.status != TARN_STATUS_OK) return result;
    }
    return TARN_BACKEND_RESULT_OK;
}

/* --- end -------------------------------------------------------------------------------------- */

void tn_stream_reuse_fini(struct tarn_pool *pool)
{
    for (uint32_t i = 0; pool->streams && i < TN_STREAM_COUNT_MAX; i++)
        forget_records(pool, &pool->streams->streams[i], 0);
    if (pool->streams) tn_stream_evict_fini(pool);
    for (unsigned i = 0; i < pool->spare_event_count; i++)
        (void)pool->backend.operations->event_destroy(pool->backend.state, pool->spare_events[i]);
    tn_stream_reuse_abandon(pool);
}

void tn_stream_reuse_abandon(struct tarn_pool *pool)
{
    if (pool->streams) tn_stream_table_fini(pool->streams);
    tn_host_memory_free(pool->streams);
    pool->streams = NULL;
}
