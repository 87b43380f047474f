/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * latency: the time of each call of a workload, from an empty allocator on: over time, by size, and the worst.
 *
 * The calls are played TN_LATENCY_PASSES times, each time on a new instance, with the clock read around each
 * call. The time of a call is its shortest. So a call is slow only if it was slow in each pass: an allocator that
 * does the same each time is slow at the same calls, and the system takes the processor away at others. The worst
 * call of a single pass is kept too.
 *
 * Calls are summarised in parts: stretches of equal length over time, and powers of 4 by size.
 *
 * Cost: O(n log n) for n calls, and some 40 bytes of host memory a call.
 */
#ifndef TN_LATENCY_H
#define TN_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../allocators/allocator.h"
#include "../common/percentiles.h"
#include "../playing/player.h"
#include "../workloads/workload.h"

#define TN_LATENCY_PASSES    3
#define TN_LATENCY_PARTS_MAX 200
#define TN_LATENCY_SIZES_MAX 32

/* Allocations or frees of one part. All zero if it has none. */
struct tn_latency_calls {
    size_t count;
    uint64_t p50_ns;
    uint64_t worst_ns;
};

struct tn_latency_part {
    uint64_t first; /* over time: number of calls before it; by size: its smallest size */
    struct tn_latency_calls alloc;
    struct tn_latency_calls free;
};

struct tn_latency {
    size_t pass_count;
    struct tn_latency_part over_time[TN_LATENCY_PARTS_MAX];
    size_t over_time_count;
    struct tn_latency_part by_size[TN_LATENCY_SIZES_MAX]; /* sizes without calls are left out */
    size_t by_size_count;
    struct tn_latency_calls alloc; /* all allocations */
    struct tn_latency_calls free;  /* all frees */
    uint64_t alloc_worst_once_ns;  /* the slowest in any pass */
    uint64_t free_worst_once_ns;
};

/* The calls to play: `setup` and then `body`. */
struct tn_latency_list {
    const struct tn_operation *setup;
    size_t setup_count;
    const struct tn_operation *body;
    size_t body_count;
    size_t slot_count;
};

/*
 * Plays and summarises the calls. The result is to be freed by free(). NULL:
 *   status_out is not OK: the allocator did not open, and stop_out->reason says why
 *   status_out is OK: a call has failed, the user wants to end, or there is not enough host memory, as stop_out says
 * stop_out->index counts the calls of the setup and then those of the body.
 */
struct tn_latency *tn_latency_measure(const struct tn_latency_list *list,
                                      const struct tn_allocator *allocator,
                                      const struct tn_allocator_settings *settings,
                                      tarn_status *status_out, struct tn_stop *stop_out);

#endif
