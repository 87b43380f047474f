/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sliced_play: the time of passes over a list of operations, without the time that other programs took.
 *
 *     pass 1   | 0 | 1 | 2 | 3 |        A pass is cut into slices of some 200 us, each between two readings of
 *     pass 2   | 0 | 1 | x | 3 |        the clock; several short passes make one slice. A slice does not count
 *     pass 3   | 0 | 1 | 2 | y |        if the system took the processor from the thread, x, or if the machine
 *                                       was slower than it can be right before or after it, y (gauge.h).
 *
 * The time of a pass is the sum over its slices, each by the mean of those runs of it that count. If none
 * counts, the slice takes its time from the last run in which one did, or else is taken to be like the other
 * slices. If the machine was never quiet, that condition is dropped; if still nothing counts, everything
 * does. When an allocator waits by itself, that is its own time and counts: only involuntary switches are
 * left out.
 *
 * Threads: one.
 */
#ifndef TN_SLICED_PLAY_H
#define TN_SLICED_PLAY_H

#include "player.h"

struct tn_slice_times;

struct tn_sliced_play {
    size_t operation_count;       /* of a pass */
    size_t slice_operation_count; /* of a slice that is part of a pass */
    size_t slice_count;           /* of a pass; 1 also when a slice has several passes */
    size_t slice_pass_count;      /* of a slice: 1, or more where passes are short */
    struct tn_slice_times *times; /* one for each slice of a pass */
    bool (*is_quiet)(void);       /* tn_gauge_is_quiet, but for tests */
};

/* The result of a run. */
struct tn_sliced_time {
    double pass_ns;
    double counted_share; /* the share of slices that count, 0 to 1 */
};

/* For at most pass_count passes of about pass_ns each. False: no host memory. */
bool tn_sliced_play_init(struct tn_sliced_play *play, size_t operation_count, size_t pass_count,
                         double pass_ns);
void tn_sliced_play_fini(struct tn_sliced_play *play); /* all zero is allowed */

/* pass_count, rounded down to whole slices. */
size_t tn_sliced_play_round_passes(const struct tn_sliced_play *play, size_t pass_count);

/* Plays so many passes, a number rounded as above. False: it was stopped. */
bool tn_sliced_play_run(struct tn_sliced_play *play, struct tn_player *player,
                        const struct tn_operation *operations, size_t pass_count,
                        struct tn_sliced_time *time_out, struct tn_stop *stop_out);

#endif
