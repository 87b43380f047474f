/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * thread_team: several threads at work on one allocator, each on its part of a workload.
 *
 * The threads live as long as the team, so an allocator's state for a thread stays warm between two plays.
 * They wait at a barrier, begin together, and end together; between the calls below none of them runs. In a
 * shared workload a thread puts each new block in the place of a block of another part, all parts in turn,
 * and frees the block from there. So with N threads, N - 1 of N frees are of blocks that another thread has
 * allocated.
 *
 * Threads: the calls of one team come from one thread outside the team.
 */
#ifndef TN_THREAD_TEAM_H
#define TN_THREAD_TEAM_H

#include <stdbool.h>
#include <stddef.h>

#include "../allocators/allocator.h"
#include "../workloads/workload.h"
#include "verifier.h"

struct tn_thread_team;

/* What stopped a team. */
struct tn_team_stop {
    tarn_status status; /* the allocator's; OK if the stop has another cause */
    struct tn_reason reason;
};

/* Starts workload->thread_count threads. Each opens its own state of the allocator and plays its part of
 * the setup. The caller keeps `state`, the allocator's. NULL: the stop says why. */
struct tn_thread_team *tn_thread_team_create(const struct tn_allocator *allocator, void *state,
                                             const struct tn_workload *workload,
                                             struct tn_team_stop *stop_out);

struct tn_team_play {
    size_t pair_count;  /* of all threads, one each at least */
    double duration_ns; /* from the start of the first to the end of the last */
};

/* All threads play their parts of the body, over and over, for so many seconds. The next play goes on from
 * where they stop. */
bool tn_thread_team_play(struct tn_thread_team *team, double seconds, struct tn_team_play *play_out,
                         struct tn_team_stop *stop_out);

/* Adds all live blocks to the verifier. False: it found a fault, which the reason names. */
bool tn_thread_team_verify(const struct tn_thread_team *team, struct tn_verifier *verifier,
                           struct tn_reason *reason_out);

/* How many have a stream of their own. */
size_t tn_thread_team_count_streams(const struct tn_thread_team *team);

/* Frees all blocks, each by its thread, and ends the threads. False: a free failed. */
bool tn_thread_team_destroy(struct tn_thread_team *team, struct tn_team_stop *stop_out);

#endif
