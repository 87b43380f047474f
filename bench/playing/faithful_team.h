/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * faithful_team: the threads of a recorded program at work again, each on its own events.
 *
 * It has as many threads and streams as the trace. A thread has one state of the allocator for each stream
 * that it uses, opened in that thread. The threads live as long as the team, begin each play together, and
 * wait for each other within it where the plan says so (gate.h).
 *
 * Threads: the calls of one team come from one thread outside the team.
 */
#ifndef TN_FAITHFUL_TEAM_H
#define TN_FAITHFUL_TEAM_H

#include <stdbool.h>
#include <stddef.h>

#include "../allocators/allocator.h"
#include "../common/percentiles.h"
#include "../workloads/faithful_plan.h"
#include "touch.h"
#include "verifier.h"

struct tn_faithful_team;

/* What stopped a team. */
struct tn_faithful_stop {
    tarn_status status;     /* the allocator's; OK if the stop has another cause */
    bool is_interrupted;    /* no failure: the user wants to end */
    struct tn_reason place; /* of the operation; empty if none is concerned */
    struct tn_reason reason;
};

struct tn_faithful_setup {
    const struct tn_allocator *allocator;
    void *state;                         /* the allocator's */
    const struct tn_faithful_plan *plan; /* any of those that are to be played */
    const tarn_backend *streams_from;
    size_t clocked_pass_count_max; /* how many passes are to be clocked, in the team's life */
};

/* Starts the threads, each with its states. All in the setup must outlive the team. NULL: the stop says why.
 * */
struct tn_faithful_team *tn_faithful_team_create(const struct tn_faithful_setup *setup,
                                                 struct tn_faithful_stop *stop_out);

/* How the threads go through the events. */
struct tn_faithful_play {
    const struct tn_faithful_plan *plan; /* of the same workload */
    size_t pass_count;
    struct tn_verifier
        *verifier; /* of as many slots as the plan has blocks; NULL: addresses are not checked */
    const struct tn_touch *touch; /* NULL: memory is not touched */
    bool verifies_contents;       /* before each free */
    bool is_clocked;              /* each call; then pass_count is 1 */
    double
        speed; /* clocked: events wait for their time, at so many times the recorded speed; 0: none does */
};

/* The duration is that of all passes, from the start of the first thread to the end of the last. False: the
 * team cannot play again. */
bool tn_faithful_team_play(struct tn_faithful_team *team, const struct tn_faithful_play *play,
                           double *duration_ns_out, struct tn_faithful_stop *stop_out);

/* Of all clocked passes. late: how long after its time an event began, if events waited for their times. */
struct tn_faithful_samples {
    struct tn_percentiles alloc_ns;
    struct tn_percentiles free_ns;
    struct tn_percentiles late_ns;
    double calls_ns; /* the sum of all calls */
};

/* False: no host memory. */
bool tn_faithful_team_collect(const struct tn_faithful_team *team,
                              struct tn_faithful_samples *samples_out);

/* Frees blocks that a stop left live, ends the threads, closes their states and streams. False: a free
 * failed. */
bool tn_faithful_team_destroy(struct tn_faithful_team *team, struct tn_faithful_stop *stop_out);

#endif
