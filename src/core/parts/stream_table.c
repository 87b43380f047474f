/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stream_table: searches and coverage. */
#include "stream_table.h"

#include <string.h>

#include "../../base/host_memory.h"

void tn_stream_table_init(struct tn_stream_table *table)
{
    *table = (struct tn_stream_table){ .now = 0, .evicted_number = TN_STREAM_NONE };
}

void tn_stream_table_fini(struct tn_stream_table *table)
{
    tn_host_memory_free(table->evicted);
}

static bool is_of_name(const struct tn_stream_entry *entry, struct tn_stream_name name)
{
    return entry->name.handle == name.handle && entry->name.thread == name.thread;
}

uint32_t tn_stream_table_search(const struct tn_stream_table *table, struct tn_stream_name name)
{
    for (uint32_t i = 0; i < table->number_end; i++) {
        const struct tn_stream_entry *entry = &table->streams[i];
        bool takes_part = entry->state == TN_STREAM_STATE_KNOWN ||
                          entry->state == TN_STREAM_STATE_CALLERS ||
                          entry->state == TN_STREAM_STATE_CAPTURING;
        if (takes_part && is_of_name(entry, name)) return i;
    }
    return TN_STREAM_NONE;
}

bool tn_stream_table_has_room(const struct tn_stream_table *table)
{
    uint32_t unused = tn_stream_table_in_state(table, TN_STREAM_STATE_UNUSED);
    if (table->evicted_number == TN_STREAM_NONE) unused &= unused - 1;
    return unused != 0;
}

uint32_t tn_stream_table_find_unused(const struct tn_stream_table *table)
{
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        if (table->streams[i].state == TN_STREAM_STATE_UNUSED) return i;
    }
    return TN_STREAM_NONE;
}

void tn_stream_table_add(struct tn_stream_table *table, uint32_t stream, struct tn_stream_name name)
{
    TN_ASSERT(table->streams[stream].state == TN_STREAM_STATE_UNUSED);
    if (table->number_end <= stream) table->number_end = stream + 1;
    table->streams[stream] = (struct tn_stream_entry){
        .name = name,
        .state = name.thread ? TN_STREAM_STATE_CALLERS : TN_STREAM_STATE_KNOWN,
    };
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++)
        table->streams[i].covered_below[stream] = 0;
}

void tn_stream_table_remove(struct tn_stream_table *table, uint32_t stream)
{
    TN_ASSERT(table->streams[stream].record_count == 0);
    table->streams[stream].state = TN_STREAM_STATE_UNUSED;
    atomic_store_explicit(&table->completed_before[stream], 0, memory_order_relaxed);
}

void tn_stream_table_complete(struct tn_stream_table *table, uint32_t stream, uint32_t time)
{
    enum tn_stream_state state = table->streams[stream].state;
    if (state != TN_STREAM_STATE_KNOWN && state != TN_STREAM_STATE_CALLERS) return;
    atomic_store_explicit(&table->completed_before[stream], time + 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&table->completed_count, 1, memory_order_release);
}

void tn_stream_table_begin_anew(struct tn_stream_table *table)
{
    table->now = 1;
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        memset(table->streams[i].covered_below, 0, sizeof table->streams[i].covered_below);
        atomic_store_explicit(&table->completed_before[i], 0, memory_order_relaxed);
    }
}

uint32_t tn_stream_table_uncovered(const struct tn_stream_table *table, uint32_t stream,
                                   struct tn_dependency dependency)
{
    uint32_t uncovered = 0;
    for (uint32_t rest = dependency.streams; rest != 0; rest &= rest - 1) {
        unsigned awaited = tn_lowest_bit(rest);
        if (awaited == stream) continue;
        bool is_covered = stream != TN_STREAM_NONE &&
                          dependency.time < table->streams[stream].covered_below[awaited];
        if (!is_covered) uncovered |= (uint32_t)1 << awaited;
    }
    return uncovered;
}

void tn_stream_table_cover(struct tn_stream_table *table, uint32_t stream, uint32_t awaited,
                           uint32_t time)
{
    uint32_t *covered_below = &table->streams[stream].covered_below[awaited];
    if (*covered_below <= time) *covered_below = time + 1;
}

uint32_t tn_stream_table_in_state(const struct tn_stream_table *table, enum tn_stream_state state)
{
    uint32_t streams = 0;
    uint32_t end = state == TN_STREAM_STATE_UNUSED ? TN_STREAM_COUNT_MAX : table->number_end;
    for (uint32_t i = 0; i < end; i++) {
        if (table->streams[i].state == state) streams |= (uint32_t)1 << i;
    }
    return streams;
}

uint32_t tn_stream_table_reachable(const struct tn_stream_table *table)
{
    return tn_stream_table_in_state(table, TN_STREAM_STATE_KNOWN) |
           tn_stream_table_in_state(table, TN_STREAM_STATE_RETIRED);
}

uint32_t tn_stream_table_private(const struct tn_stream_table *table)
{
    return tn_stream_table_in_state(table, TN_STREAM_STATE_CAPTURING) |
           tn_stream_table_in_state(table, TN_STREAM_STATE_CAPTURED);
}

uint32_t tn_stream_table_find_captured(const struct tn_stream_table *table,
                                       enum tn_stream_state state, tarn_capture capture,
                                       struct tn_stream_name name)
{
    for (uint32_t i = 0; i < table->number_end; i++) {
        const struct tn_stream_entry *entry = &table->streams[i];
        if (entry->state == state && entry->capture == capture && is_of_name(entry, name)) return i;
    }
    return TN_STREAM_NONE;
}

uint32_t tn_stream_table_advance(struct tn_stream_table *table)
{
    TN_ASSERT(table->now < TN_STREAM_TIME_MAX);
    return table->now++;
}
