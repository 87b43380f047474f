/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stream_evict: room for more streams than a pool has numbers. See stream_table.h. */
#include "stream_reuse.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/host_memory.h"
#include "../../base/thread_number.h"
#include "../serve/any_stream.h"
#include "../arenas/gather.h"
#include "../serve/pool_log.h"
#include "../arenas/pool_uses.h"

/* --- events of evicted streams ------------------------------------------------------------------ */

/* Whether the handle means the stream in the calling thread. */
static bool is_callable(struct tn_stream_name name)
{
    return name.thread == 0 || name.thread == tn_thread_number();
}

/* Records on an evicted stream whose handle is good now. A failed record is tried again later. */
static void record(struct tarn_pool *pool, struct tn_evicted_stream *evicted)
{
    if (evicted->has_event || !tn_stream_reuse_has_events(pool)) return;
    /* Captures do not bear a record of the whole device. */
    if (tn_is_any_stream(evicted->name.handle) && tn_captures_are_under_way()) return;
    if (tn_stream_reuse_take_event(pool, &evicted->event).status != TARN_STATUS_OK) return;
    bool has_waited;
    tarn_backend_result result =
        tn_any_stream_record(&pool->backend, evicted->event, evicted->name.handle, &has_waited);
    evicted->has_event = result.status == TARN_STATUS_OK;
    if (!evicted->has_event) tn_stream_reuse_give_event_back(pool, evicted->event);
}

static void record_all(struct tarn_pool *pool)
{
    for (uint32_t i = 0; i < pool->streams->evicted_count; i++) {
        if (pool->streams->evicted[i].can_record) record(pool, &pool->streams->evicted[i]);
    }
}

/* A name means another stream once its handle has ended. */
static bool is_named(const struct tn_evicted_stream *evicted, struct tn_stream_name name)
{
    return (evicted->can_record || evicted->is_callers) && evicted->name.handle == name.handle &&
           evicted->name.thread == name.thread;
}

void tn_stream_evict_record_named(struct tarn_pool *pool, struct tn_stream_name name)
{
    if (!pool->streams || tn_captures_are_under_way() || !is_callable(name)) return;
    for (uint32_t i = 0; i < pool->streams->evicted_count; i++) {
        if (is_named(&pool->streams->evicted[i], name)) record(pool, &pool->streams->evicted[i]);
    }
}

bool tn_stream_evict_retire(struct tarn_pool *pool, struct tn_stream_name name)
{
    bool are_recorded = true;
    for (uint32_t i = 0; pool->streams && i < pool->streams->evicted_count; i++) {
        struct tn_evicted_stream *evicted = &pool->streams->evicted[i];
        if (!is_named(evicted, name)) continue;
        record(pool, evicted);
        evicted->can_record = evicted->is_callers = false;
        if (!evicted->has_event) are_recorded = false;
    }
    return are_recorded;
}

/* --- evicting ----------------------------------------------------------------------------------- */

/* The number that evicted streams share. TN_STREAM_NONE: no host memory, or no number. */
static uint32_t take_shared_number(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_stream_table *table = pool->streams;
    if (table->evicted_number != TN_STREAM_NONE) return table->evicted_number;
    uint32_t number = tn_stream_table_find_unused(table);
    if (number == TN_STREAM_NONE || !tn_region_index_add_stream(&pool->own.index, number))
        return TN_STREAM_NONE;
    tn_stream_table_add(table, number, (struct tn_stream_name){ NULL, 0 });
    table->streams[number].state = TN_STREAM_STATE_EVICTED;
    table->evicted_number = number;
    return number;
}

/* All memory that waits for the stream waits for the dependency from then on. */
static void replace(struct tarn_pool *pool, uint32_t stream, struct tn_dependency dependency)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t bit = (uint32_t)1 << stream;
    tn_region_index_replace(&pool->own.index, stream, dependency);
    tn_slices_replace(&pool->own.slices, stream, dependency);
    tn_slices_forget(&pool->own.slices, stream);
    for (struct tn_piece *piece = pool->pieces.leaving.newest; piece; piece = piece->older)
        piece->dependency = tn_dependency_replace(piece->dependency, bit, dependency);
    tn_pool_replace_in_uses(pool, bit, dependency);
}

static bool reserve(struct tn_stream_table *table)
{
    void *items = table->evicted;
    if (!tn_host_memory_grow_array(&items, &table->evicted_capacity, table->evicted_count,
                                   table->evicted_count + 1, sizeof *table->evicted))
        return false;
    table->evicted = items;
    return true;
}

/* Whether the records of a stream cover all frees on it. Without a record, nothing waits for such a stream. */
static bool is_covered(const struct tn_stream_entry *entry)
{
    return entry->state == TN_STREAM_STATE_RETIRED ||
           (entry->state == TN_STREAM_STATE_CALLERS && entry->is_all_recorded);
}

/* The stream as an evicted one. If its records cover all frees, the newest becomes its event; but not for a stream that
 * the running call names, because the call frees later. */
static struct tn_evicted_stream describe(const struct tarn_pool *pool,
                                         struct tn_stream_entry *entry, bool is_named)
{
    struct tn_evicted_stream evicted = { .name = entry->name };
    evicted.has_event = !is_named && is_covered(entry) && entry->record_count > 0;
    if (evicted.has_event) evicted.event = entry->records[--entry->record_count].event;
    evicted.can_record =
        entry->state == TN_STREAM_STATE_KNOWN || tn_is_any_stream(entry->name.handle);
    evicted.is_callers = entry->state == TN_STREAM_STATE_CALLERS && !pool->identifies_streams;
    return evicted;
}

/* The newest of those that go on for the same stream, and how many there are. */
static struct tn_evicted_stream *find_newest(const struct tn_stream_table *table,
                                             struct tn_stream_name name, unsigned *count_out)
{
    struct tn_evicted_stream *newest = NULL;
    *count_out = 0;
    for (uint32_t i = 0; i < table->evicted_count; i++) {
        if (!is_named(&table->evicted[i], name)) continue;
        newest = &table->evicted[i];
        ++*count_out;
    }
    return newest;
}

/* A stream that is not recorded on yet needs one event, however often it was evicted: that covers later frees, too. If
 * many of its events are pending, a new one replaces the newest. */
static void append(struct tarn_pool *pool, const struct tn_evicted_stream *evicted)
{
    struct tn_stream_table *table = pool->streams;
    unsigned count = 0;
    struct tn_evicted_stream *newest = NULL;
    TN_ASSERT(table->evicted && table->evicted_count < table->evicted_capacity);
    if (evicted->can_record) newest = find_newest(table, evicted->name, &count);
    if (newest && newest->has_event && count >= TN_STREAM_RECORDS_MAX) {
        tn_stream_reuse_give_event_back(pool, newest->event);
        newest->has_event = false;
    } else if (!newest || newest->has_event) {
        table->evicted[table->evicted_count++] = *evicted;
    }
}

/* Completed events are looked for when there are so many, and then when there are twice as many as were left. */
#define EVICTED_POLL_MIN 64

/* Frees after the number is gone need a new one, and growth_lock; so an event that is recorded afterwards covers all
 * frees before. False: no host memory, and nothing has changed. */
static bool evict(struct tarn_pool *pool, uint32_t stream, bool is_named)
{
    struct tn_stream_table *table = pool->streams;
    struct tn_stream_entry *entry = &table->streams[stream];
    if (!reserve(table)) return false;
    tn_stream_reuse_begin_anew_if_due(pool);
    tn_pool_lock_and_gather(pool);
    uint32_t shared = take_shared_number(pool);
    tn_pool_unlock(pool);
    if (shared == TN_STREAM_NONE) return false;
    bool waits_for_nothing = !is_named && is_covered(entry) && entry->record_count == 0;
    struct tn_evicted_stream evicted = describe(pool, entry, is_named);
    tn_stream_reuse_forget_records(pool, entry);
    tn_pool_lock_and_gather(pool);
    evicted.time = tn_stream_table_advance(table);
    replace(pool, stream, (struct tn_dependency){ (uint32_t)1 << shared, evicted.time });
    tn_stream_table_remove(table, stream);
    tn_pool_unlock(pool);
    if (!waits_for_nothing) append(pool, &evicted);
    if (is_named && !evicted.can_record && is_callable(evicted.name) &&
        (pool->identifies_streams || !tn_captures_are_under_way()))
        record(pool, &table->evicted[table->evicted_count - 1]);
    if (tn_captures_are_under_way()) return true;
    record_all(pool);
    if (table->evicted_count >= table->evicted_poll_at) {
        (void)tn_stream_evict_poll(pool);
        table->evicted_poll_at = (uint32_t)tn_max(2 * table->evicted_count, EVICTED_POLL_MIN);
    }
    return true;
}

static void tell_eviction(struct tarn_pool *pool)
{
    if (pool->has_told_eviction || !tn_log_is_on(TARN_LOG_LEVEL_INFO)) return;
    pool->has_told_eviction = true;
    tn_pool_log(pool, TARN_LOG_LEVEL_INFO,
                "has met more streams than it has numbers, %d: each further one takes the number "
                "of another, which may cost an event",
                TN_STREAM_COUNT_MAX - 1);
}

/* Evicts one of the streams, a bit each; each in its turn. */
static bool evict_one_of(struct tarn_pool *pool, uint32_t streams, bool are_named)
{
    struct tn_stream_table *table = pool->streams;
    if (streams == 0) return false;
    uint32_t later = streams & -((uint32_t)1 << table->next_victim);
    uint32_t victim = tn_lowest_bit(later != 0 ? later : streams);
    table->next_victim = (victim + 1) % TN_STREAM_COUNT_MAX;
    bool is_evicted = evict(pool, victim, are_named);
    if (is_evicted) tell_eviction(pool);
    return is_evicted;
}

/* --- room for a number --------------------------------------------------------------------------- */

/* Streams whose numbers the pool can have back once nothing depends on them: all but captures. */
static uint32_t forgettable(const struct tn_stream_table *table)
{
    return tn_stream_table_in_state(table, TN_STREAM_STATE_KNOWN) |
           tn_stream_table_in_state(table, TN_STREAM_STATE_CALLERS) |
           tn_stream_table_in_state(table, TN_STREAM_STATE_RETIRED) |
           tn_stream_table_in_state(table, TN_STREAM_STATE_LOST);
}

/* Streams that others can be made to wait for: memory that waits for them goes on being used. */
static uint32_t recordable(const struct tarn_pool *pool)
{
    const struct tn_stream_table *table = pool->streams;
    if (!tn_stream_reuse_has_events(pool)) return 0;
    uint32_t streams = tn_stream_table_reachable(table);
    for (uint32_t rest = tn_stream_table_in_state(table, TN_STREAM_STATE_CALLERS); rest != 0;
         rest &= rest - 1) {
        if (table->streams[tn_lowest_bit(rest)].is_all_recorded) streams |= rest & -rest;
    }
    return streams;
}

/* Whether the table has room, after the pool has forgotten all idle streams but the kept ones. A forgotten stream that
 * comes again is introduced again. */
static bool forget_idle(struct tarn_pool *pool, uint32_t kept_streams)
{
    if (tn_stream_table_has_room(pool->streams)) return true;
    for (uint32_t rest = forgettable(pool->streams) & ~kept_streams; rest != 0; rest &= rest - 1)
        tn_stream_reuse_forget_idle(pool, tn_lowest_bit(rest));
    return tn_stream_table_has_room(pool->streams);
}

/* Memory that waits for a stream on which nothing can be recorded is lost until the pool waits for the device, and so
 * is later memory of evicted streams. So such a stream is evicted last. A kept stream is evicted when a call names more
 * streams than there are numbers. */
bool tn_stream_evict_make_room(struct tarn_pool *pool, uint32_t *kept_streams)
{
    if (!pool->streams || tn_stream_table_has_room(pool->streams)) return true;
    (void)tn_stream_reuse_record_unnamed(pool);
    tn_stream_reuse_poll_numbers(pool);
    uint32_t others = forgettable(pool->streams) & ~*kept_streams;
    bool has_room = forget_idle(pool, *kept_streams) ||
                    evict_one_of(pool, recordable(pool) & others, false) ||
                    (tn_stream_reuse_synchronize(pool) && forget_idle(pool, *kept_streams)) ||
                    evict_one_of(pool, forgettable(pool->streams) & ~*kept_streams, false);
    if (has_room) return true;
    *kept_streams &= forgettable(pool->streams);
    has_room = evict_one_of(pool, *kept_streams, true);
    *kept_streams &= forgettable(pool->streams);
    return has_room;
}

/* --- waiting and completing ----------------------------------------------------------------------- */

bool tn_stream_evict_are_recorded(const struct tarn_pool *pool)
{
    for (uint32_t i = 0; i < pool->streams->evicted_count; i++) {
        if (!pool->streams->evicted[i].has_event) return false;
    }
    return true;
}

tarn_backend_result tn_stream_evict_order(struct tarn_pool *pool, tarn_stream handle,
                                          uint32_t stream, uint32_t time)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    struct tn_stream_table *table = pool->streams;
    for (uint32_t i = 0; i < table->evicted_count && table->evicted[i].time <= time; i++) {
        tarn_backend_result result =
            operations->stream_wait_event(pool->backend.state, handle, table->evicted[i].event);
        if (result.status != TARN_STATUS_OK) return result;
    }
    /* A stream that is evicted from now on has this time or a later one. */
    tn_pool_lock_and_gather(pool);
    tn_stream_table_cover(table, stream, table->evicted_number,
                          (uint32_t)tn_min(time, table->now - 1));
    tn_pool_unlock(pool);
    return TARN_BACKEND_RESULT_OK;
}

static bool is_complete(struct tarn_pool *pool, const struct tn_evicted_stream *evicted)
{
    return evicted->has_event &&
           pool->backend.operations->event_query(pool->backend.state, evicted->event).status ==
               TARN_STATUS_OK;
}

/* Forgets evicted streams: all of them, or those that have completed. */
static bool forget(struct tarn_pool *pool, bool all)
{
    struct tn_stream_table *table = pool->streams;
    uint32_t kept_count = 0, before = table->evicted_count;
    for (uint32_t i = 0; i < before; i++) {
        struct tn_evicted_stream *evicted = &table->evicted[i];
        if (!all && !is_complete(pool, evicted)) {
            table->evicted[kept_count++] = *evicted;
        } else if (evicted->has_event) {
            tn_stream_reuse_give_event_back(pool, evicted->event);
        }
    }
    table->evicted_count = kept_count;
    return kept_count < before;
}

/* Memory up to the time of the oldest that is left still waits for that one. */
static void complete(struct tarn_pool *pool)
{
    struct tn_stream_table *table = pool->streams;
    uint32_t number = table->evicted_number;
    tn_pool_lock_and_gather(pool);
    if (table->evicted_count == 0) {
        (void)tn_stream_reuse_complete(pool, (uint32_t)1 << number, TN_STREAM_TIME_MAX);
        tn_stream_table_remove(table, number);
        table->evicted_number = TN_STREAM_NONE;
    } else if (table->evicted[0].time > 0) {
        (void)tn_stream_reuse_complete(pool, (uint32_t)1 << number, table->evicted[0].time - 1);
    }
    tn_pool_unlock(pool);
}

bool tn_stream_evict_poll(struct tarn_pool *pool)
{
    if (pool->streams->evicted_count == 0) return false;
    record_all(pool);
    if (!forget(pool, false)) return false;
    complete(pool);
    return true;
}

bool tn_stream_evict_complete_all(struct tarn_pool *pool)
{
    if (pool->streams->evicted_number == TN_STREAM_NONE) return false;
    (void)forget(pool, true);
    complete(pool);
    return true;
}

void tn_stream_evict_fini(struct tarn_pool *pool)
{
    (void)forget(pool, true);
}
