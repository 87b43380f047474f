/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory_log: bytes live and bytes held as a workload goes on. */
#include "memory_log.h"

#include <stdlib.h>

enum {
    POINTS_OF_WINDOW = 3,
    /* One more begins with event 0. */
    WINDOW_COUNT_MAX = TN_MEMORY_POINTS_MAX / POINTS_OF_WINDOW - 2
};

struct tn_memory_log *tn_memory_log_create(size_t event_count_max)
{
    struct tn_memory_log *log = calloc(1, sizeof *log);
    if (!log) return NULL;
    log->window_events = event_count_max / WINDOW_COUNT_MAX + 1;
    return log;
}

/* An event that a window keeps twice is put into the list once. */
static void put(struct tn_memory_log *log, struct tn_memory_point point)
{
    if (log->count > 0 && log->points[log->count - 1].event >= point.event) return;
    if (log->count < TN_MEMORY_POINTS_MAX) log->points[log->count++] = point;
}

void tn_memory_log_finish(struct tn_memory_log *log)
{
    if (!log->has_window) return;
    bool is_live_first = log->most_live.event <= log->most_held.event;
    put(log, is_live_first ? log->most_live : log->most_held);
    put(log, is_live_first ? log->most_held : log->most_live);
    put(log, log->last);
    log->has_window = false;
}

static void begin_window(struct tn_memory_log *log, struct tn_memory_point point)
{
    log->most_live = log->most_held = log->last = point;
    log->has_window = true;
}

void tn_memory_log_add(struct tn_memory_log *log, struct tn_memory_point point)
{
    if (log->has_window && point.event / log->window_events != log->last.event / log->window_events)
        tn_memory_log_finish(log);
    if (!log->has_window) {
        if (log->count == 0) put(log, point);
        begin_window(log, point);
        return;
    }
    if (point.live_bytes > log->most_live.live_bytes) log->most_live = point;
    if (point.held_bytes > log->most_held.held_bytes) log->most_held = point;
    log->last = point;
}
