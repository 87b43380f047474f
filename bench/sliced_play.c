/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sliced_play: the time of passes, without what the system took of it for others. */
#include "sliced_play.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"

/* Long against a reading of the clock, and short against the time that a system leaves a thread alone. */
static const double slice_ns = 200e3;

struct tn_slice_times {
    double counted_ns; /* of those that count */
    double all_ns;
    size_t counted_count;
    size_t all_count;
};

bool tn_sliced_play_init(struct tn_sliced_play *play, size_t operation_count, size_t pass_count,
                         double pass_ns)
{
    *play = (struct tn_sliced_play){ .operation_count = operation_count,
                                     .slice_operation_count = operation_count,
                                     .slice_count = 1,
                                     .slice_pass_count = 1 };
    if (pass_ns < slice_ns) {
        play->slice_pass_count = (size_t)(slice_ns / (pass_ns < 1.0 ? 1.0 : pass_ns)) + 1;
        if (play->slice_pass_count > pass_count) play->slice_pass_count = pass_count;
    } else if (operation_count > 1) {
        double operation_ns = pass_ns / (double)operation_count;
        play->slice_operation_count = (size_t)(slice_ns / operation_ns) + 1;
        play->slice_count =
            (operation_count + play->slice_operation_count - 1) / play->slice_operation_count;
    }
    play->times = calloc(play->slice_count, sizeof play->times[0]);
    return play->times != NULL;
}

void tn_sliced_play_fini(struct tn_sliced_play *play)
{
    free(play->times);
    play->times = NULL;
}

size_t tn_sliced_play_round_passes(const struct tn_sliced_play *play, size_t pass_count)
{
    return pass_count / play->slice_pass_count * play->slice_pass_count;
}

/* How often the system has taken the processor from this thread. */
static long count_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static bool play_slice(struct tn_sliced_play *play, struct tn_player *player,
                       const struct tn_operation *operations, size_t index,
                       struct tn_stop *stop_out)
{
    struct tn_slice_times *times = &play->times[index];
    size_t first = index * play->slice_operation_count;
    size_t count = play->operation_count - first;
    if (count > play->slice_operation_count) count = play->slice_operation_count;
    long switches = count_switches();
    uint64_t start_ns = tn_clock_now_ns();
    for (size_t i = 0; i < play->slice_pass_count; i++) {
        if (tn_player_play(player, operations + first, count, stop_out)) continue;
        stop_out->index += first;
        return false;
    }
    double duration_ns = (double)(tn_clock_now_ns() - start_ns);
    times->all_ns += duration_ns;
    times->all_count++;
    if (count_switches() != switches) return true;
    times->counted_ns += duration_ns;
    times->counted_count++;
    return true;
}

/* Slices are alike in length but for the last, and in a program's trace more or less in time. */
static double compute_pass_ns(const struct tn_sliced_play *play)
{
    double counted_ns = 0.0;
    double all_ns = 0.0;
    size_t counted_count = 0;
    for (size_t i = 0; i < play->slice_count; i++) {
        const struct tn_slice_times *times = &play->times[i];
        all_ns += times->all_ns / (double)times->all_count;
        if (times->counted_count == 0) continue;
        counted_ns += times->counted_ns / (double)times->counted_count;
        counted_count++;
    }
    double sum_ns = counted_count == 0
                        ? all_ns
                        : counted_ns * (double)play->slice_count / (double)counted_count;
    return sum_ns / (double)play->slice_pass_count;
}

bool tn_sliced_play_run(struct tn_sliced_play *play, struct tn_player *player,
                        const struct tn_operation *operations, size_t pass_count,
                        double *pass_ns_out, struct tn_stop *stop_out)
{
    memset(play->times, 0, play->slice_count * sizeof play->times[0]);
    for (size_t pass = 0; pass < pass_count; pass += play->slice_pass_count)
        for (size_t i = 0; i < play->slice_count; i++)
            if (!play_slice(play, player, operations, i, stop_out)) return false;
    *pass_ns_out = compute_pass_ns(play);
    return true;
}
