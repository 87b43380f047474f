/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * faithful_plan: a recorded workload, cut into the steps of each of its threads, with the waits between them.
 *
 *     thread 0   a 0 ──── a 1 ─────────────── f 0
 *                           ╲ (depends)
 *     thread 1               f 1 ──── a 2
 *
 * Each thread keeps its own order. Across threads there are two orders. In `depends`, a free waits for the
 * allocation of its block, and nothing else waits: threads may run ahead of each other as they might have in
 * the program. In `strict`, every event waits for all that were recorded before it. In both, a step waits for
 * at most one other thread, whose own waits cover the rest.
 */
#ifndef TN_FAITHFUL_PLAN_H
#define TN_FAITHFUL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workload.h"

#define TN_FAITHFUL_THREADS_MAX 1024
#define TN_FAITHFUL_STREAMS_MAX 1024

enum tn_order {
    TN_ORDER_DEPENDS,
    TN_ORDER_STRICT
};

/* Its name in the options. */
const char *tn_order_name(enum tn_order order);

/* An event, as its thread plays it. Small, since a list of steps is walked through while the clock runs. */
struct tn_step {
    size_t size_bytes;    /* of the block, of a free as well */
    uint32_t block;       /* that no other allocation has */
    uint32_t wait_count;  /* so many steps of wait_thread must be done before; 0: none */
    uint16_t wait_thread; /* never its own */
    uint16_t lane;        /* of its thread: which of the thread's streams */
    bool is_alloc;
    bool is_awaited; /* by a step of another thread */
};

struct tn_plan_thread {
    struct tn_step *steps;
    uint32_t *places; /* of each step, in the body of the workload */
    size_t step_count;
    size_t first_step;      /* in those of all threads */
    uint16_t *lane_streams; /* which stream each lane is */
    size_t lane_count;
    uint32_t first_block; /* the blocks that it allocates are so many in a row */
    uint32_t block_count;
};

struct tn_faithful_plan {
    const struct tn_workload *workload;
    size_t block_count;
    size_t stream_count;
    size_t thread_count;
    struct tn_step *steps; /* of all threads, as the next two: each has a part */
    uint32_t *places;
    uint16_t *lane_streams;
    struct tn_plan_thread threads[];
};

/* Whether there can be a plan. False: the reason says why not. */
bool tn_faithful_plan_is_possible(const struct tn_workload *workload, struct tn_reason *reason_out);

/* The workload is recorded, outlives the plan, and is possible. NULL: no host memory. */
struct tn_faithful_plan *tn_faithful_plan_create(const struct tn_workload *workload,
                                                 enum tn_order order);
void tn_faithful_plan_destroy(struct tn_faithful_plan *plan); /* NULL is allowed */

#endif
