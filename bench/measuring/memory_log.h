/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * memory_log: bytes live and bytes held as a workload goes on, in a few hundred points out of millions.
 *
 * The events are cut into windows of equal length. Each window keeps three: the event with the most bytes
 * live, the one with the most bytes held, and the last. The first event of all is kept too. So no peak and no
 * end is lost.
 *
 * Threads: one at a time. Cost: O(1) an event.
 */
#ifndef TN_MEMORY_LOG_H
#define TN_MEMORY_LOG_H

#include <stdbool.h>
#include <stddef.h>

#define TN_MEMORY_POINTS_MAX 500

struct tn_memory_point {
    size_t event; /* so many have been played */
    size_t live_bytes;
    size_t held_bytes;
};

struct tn_memory_log {
    struct tn_memory_point points[TN_MEMORY_POINTS_MAX];
    size_t count;
    size_t window_events;
    struct tn_memory_point most_live, most_held, last; /* of the window that has begun */
    bool has_window;
};

/* For at most event_count_max events. NULL: no host memory. To be freed by free(). */
struct tn_memory_log *tn_memory_log_create(size_t event_count_max);

/* To be called after events, in their order; some may be left out. */
void tn_memory_log_add(struct tn_memory_log *log, struct tn_memory_point point);

/* To be called after the last event. */
void tn_memory_log_finish(struct tn_memory_log *log);

#endif
