/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sliced_play: the time of passes, without the time that other programs took. */
#include "sliced_play.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "../common/clock.h"
#include "../common/gauge.h"

/* Much longer than a reading of the clock, and much shorter than a thread's usual time slice. */
static const double slice_ns = 200e3;

/* Which slices count: those of the first level that has any. */
enum level {
    LEVEL_QUIET, /* the machine was quiet, and the thread had the processor throughout */
    LEVEL_OWN,   /* the thread had the processor throughout */
    LEVEL_ALL,
    LEVEL_COUNT
};

/* One slice of a pass. known_ns is from all runs so far, the rest from the last one. */
struct tn_slice_times {
    double known_ns; /* the mean of those that count, in the last run that had any; 0: none had */
    double sums_ns[LEVEL_COUNT];
    size_t counts[LEVEL_COUNT];
};

bool tn_sliced_play_init(struct tn_sliced_play *play, size_t operation_count, size_t pass_count,
                         double pass_ns)
{
    *play = (struct tn_sliced_play){ .operation_count = operation_count,
                                     .slice_operation_count = operation_count,
                                     .slice_count = 1,
                                     .slice_pass_count = 1,
                                     .is_quiet = tn_gauge_is_quiet };
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

static void note(struct tn_slice_times *times, enum level best, double duration_ns)
{
    for (unsigned level = best; level < LEVEL_COUNT; level++) {
        times->sums_ns[level] += duration_ns;
        times->counts[level]++;
    }
}

/* `was_quiet`: whether the machine was quiet before the slice; set to whether it is after it. */
static bool play_slice(struct tn_sliced_play *play, struct tn_player *player,
                       const struct tn_operation *operations, size_t index, bool *was_quiet_inout,
                       struct tn_stop *stop_out)
{
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
    bool is_own = count_switches() == switches;
    bool was_quiet = *was_quiet_inout;
    *was_quiet_inout = play->is_quiet();
    bool is_quiet = was_quiet && *was_quiet_inout;
    note(&play->times[index],
         !is_own    ? LEVEL_ALL
         : is_quiet ? LEVEL_QUIET
                    : LEVEL_OWN,
         duration_ns);
    return true;
}

static void begin_run(struct tn_sliced_play *play)
{
    for (size_t i = 0; i < play->slice_count; i++)
        play->times[i] = (struct tn_slice_times){ .known_ns = play->times[i].known_ns };
}

static double mean_ns(const struct tn_slice_times *times, enum level level)
{
    return times->counts[level] > 0 ? times->sums_ns[level] / (double)times->counts[level] : 0.0;
}

static void end_run(struct tn_sliced_play *play)
{
    for (size_t i = 0; i < play->slice_count; i++)
        if (play->times[i].counts[LEVEL_QUIET] > 0)
            play->times[i].known_ns = mean_ns(&play->times[i], LEVEL_QUIET);
}

static size_t sum_counts(const struct tn_sliced_play *play, enum level level)
{
    size_t sum = 0;
    for (size_t i = 0; i < play->slice_count; i++)
        sum += play->times[i].counts[level];
    return sum;
}

/* All slices but the last have the same length, and take about the same time, also in a trace. */
static double compute_pass_ns(const struct tn_sliced_play *play, enum level level)
{
    double sum_ns = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < play->slice_count; i++) {
        const struct tn_slice_times *times = &play->times[i];
        double duration_ns = level == LEVEL_QUIET ? times->known_ns : mean_ns(times, level);
        sum_ns += duration_ns;
        count += duration_ns > 0.0;
    }
    if (count == 0) return 0.0;
    return sum_ns * (double)play->slice_count / (double)count / (double)play->slice_pass_count;
}

static struct tn_sliced_time compute_time(const struct tn_sliced_play *play)
{
    enum level level = LEVEL_QUIET;
    while (level < LEVEL_ALL && sum_counts(play, level) == 0)
        level++;
    return (struct tn_sliced_time){
        .pass_ns = compute_pass_ns(play, level),
        .counted_share =
            (double)sum_counts(play, LEVEL_QUIET) / (double)sum_counts(play, LEVEL_ALL),
    };
}

bool tn_sliced_play_run(struct tn_sliced_play *play, struct tn_player *player,
                        const struct tn_operation *operations, size_t pass_count,
                        struct tn_sliced_time *time_out, struct tn_stop *stop_out)
{
    begin_run(play);
    bool was_quiet = play->is_quiet();
    for (size_t pass = 0; pass < pass_count; pass += play->slice_pass_count)
        for (size_t i = 0; i < play->slice_count; i++)
            if (!play_slice(play, player, operations, i, &was_quiet, stop_out)) return false;
    end_run(play);
    *time_out = compute_time(play);
    return true;
}
