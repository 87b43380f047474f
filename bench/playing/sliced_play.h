/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sliced_play: the time of passes over a list of operations, without what others took of it.
 *
 *     pass 1   | 0 | 1 | 2 | 3 |        A pass is cut into slices of some 200 us, each between two readings of
 *     pass 2   | 0 | 1 | x | 3 |        the clock; or so many short passes make one slice. Where the system gave
 *     pass 3   | 0 | 1 | 2 | y |        the processor to somebody else, x, or the machine did not run as fast as
 *                                       it can right before or after, y (gauge.h), the slice does not count.
 *
 * The time of a pass is the sum over its slices, of each the mean of those that count; for one of which none counts, what it
 * took in the last run in which one did; or else it is taken to be like the others. Where the machine was never quiet, that
 * is no matter; and where nothing counts even so, everything does. What an allocator waits for by itself is its own time and
 * counts: of switches only the involuntary ones are left out.
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

/* What a run has found. */
struct tn_sliced_time {
    double pass_ns;
    double counted_share; /* of all slices, those that count */
};

/* For so many passes at most, which take about so long each. False: no host memory. */
bool tn_sliced_play_init(struct tn_sliced_play *play, size_t operation_count, size_t pass_count,
                         double pass_ns);
void tn_sliced_play_fini(struct tn_sliced_play *play); /* all zero is allowed */

/* So many passes or the next number below that makes whole slices. */
size_t tn_sliced_play_round_passes(const struct tn_sliced_play *play, size_t pass_count);

/* Plays so many passes, a rounded number. False: something stopped it. */
bool tn_sliced_play_run(struct tn_sliced_play *play, struct tn_player *player,
                        const struct tn_operation *operations, size_t pass_count,
                        struct tn_sliced_time *time_out, struct tn_stop *stop_out);

#endif
