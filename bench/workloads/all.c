/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * all: the workloads of every other command but patterns, which take minutes, in the order of a report: by
 * size, by number, over time, with threads, with streams, from nothing, and real programs.
 *
 * Each part takes the options that were given. For the others it has its own defaults, or shorter ones from
 * here.
 */
#include "commands.h"

/* Fills in the lists that were not given, for a run of a few minutes. */
static struct tn_options with_short_lists(const struct tn_options *options)
{
    static const struct tn_number_list counts = { 3, { 10, 1000, 100000 } };
    static const struct tn_number_list thread_counts = { 3, { 1, 2, 4 } };
    static const struct tn_number_list stream_counts = { 2, { 1, 4 } };
    static const struct tn_number_list growth_sizes = {
        2, { (uint64_t)256 << 20, (uint64_t)1 << 30 }
    };
    struct tn_options all = *options;
    all.counts = *tn_number_list_or(&options->counts, &counts);
    all.thread_counts = *tn_number_list_or(&options->thread_counts, &thread_counts);
    all.stream_counts = *tn_number_list_or(&options->stream_counts, &stream_counts);
    all.growth_sizes = *tn_number_list_or(&options->growth_sizes, &growth_sizes);
    return all;
}

/* Churn has the same option as threads and streams, but another default. */
static struct tn_options with_churn_list(const struct tn_options *options)
{
    static const struct tn_number_list live_counts = { 2, { 100, 10000 } };
    struct tn_options churn = *options;
    churn.live_counts = *tn_number_list_or(&options->live_counts, &live_counts);
    return churn;
}

bool tn_all_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                           struct tn_workload_list *list, struct tn_reason *reason_out)
{
    struct tn_options all = with_short_lists(options);
    struct tn_options churn = with_churn_list(options);
    return tn_hot_make_workloads(&all, machine, list, reason_out) &&
           tn_sweep_make_workloads(&all, machine, list, reason_out) &&
           tn_live_make_workloads(&all, machine, list, reason_out) &&
           tn_churn_make_workloads(&churn, machine, list, reason_out) &&
           tn_threads_make_workloads(&all, machine, list, reason_out) &&
           tn_streams_make_workloads(&all, machine, list, reason_out) &&
           tn_growth_make_workloads(&all, machine, list, reason_out) &&
           tn_replay_make_workloads(&all, machine, list, reason_out);
}
