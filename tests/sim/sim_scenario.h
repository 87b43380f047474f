/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_scenario: everything that a backend and a pool can do, once, for tests in which it goes wrong.
 *
 * The scenario opens a backend, makes a pool grow over it, another hand memory over between streams, uses
 * streams, events, data, ranges, a contiguous pool and one that passes through, and gives all back. It goes on after a failure as a careful program would: it tries once more, and
 * leaves out what it cannot have. After every step a judge says whether the outcome is right.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

#include "tarn/tarn.h"

#include "sim_control.h"

/* One operation of the backend, or function of the pool, and what came of it. */
struct sim_step {
    const char *text;           /* the call as it stands in the source */
    bool gives_back;            /* a release, a destroy, a trim */
    bool met_fault;             /* a scripted fault, or one of host memory, fell into this step */
    tarn_backend_result result; /* of a function of the pool: what tarn_last_error tells */
};

struct sim_scenario {
    /* For the test to set. */
    int device;
    int current_device; /* the thread's, where threads have one */
    tarn_memory_kind kind;
    /* Fails the test when the step's outcome is not right. */
    void (*judge)(const struct sim_scenario *scenario, const struct sim_step *step);
    bool (*has_host_fault)(void); /* whether host memory was refused so far; NULL: never */
    bool stays_broken; /* one fault is followed by others, so nothing can be said of what is left */

    /* For the test to read: what the vendor refused to take back, and is alive for that reason. */
    size_t lost[SIM_THING_COUNT];
    bool had_ranges;
    bool had_sharing;
};

/* Whatever the vendor says, these answer OK. */
bool sim_step_cannot_fail(const struct sim_step *step);

/* The pool need not tell of a failure in this step, since it can do without: it grows instead of waiting,
 * or asks later. */
bool sim_step_has_other_way(const struct sim_step *step);

/* Whatever the vendor says, a pool that cannot look at a stream, or record its end, has one status. */
bool sim_step_is_of_stream(const struct sim_step *step);

/* Everything is given back at its end but for what is `lost`. Fails the test when data is wrong, or
 * a check of the pool. */
void sim_scenario_run(struct sim_scenario *scenario);

/* Nothing is alive but what was lost, and nothing was misused. */
void sim_scenario_expect_nothing_leaked(const struct sim_scenario *scenario);

#endif
