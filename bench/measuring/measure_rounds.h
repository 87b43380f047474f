/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_rounds: all allocators on several workloads, in rounds.
 *
 *     round 0 | a: raw tarn sets | b: raw tarn sets |      a, b: workloads, all measured by one method
 *     round 1 | a: raw tarn sets | b:     tarn sets |
 *     ...
 *
 * A round consists of visits: one allocator on one workload, on a new instance that is closed at its end. So
 * only one instance is open at a time. And each figure comes from several instances, at several times in the
 * run, with different addresses: if the machine slows down for a while, it does for a part of every figure,
 * and not for all of one.
 *
 *     first visit: open, first pass, warm up, repetitions, single calls, last pass, close, follow
 *     later ones:  open, warm up, repetitions, close
 *
 * The first warm-up settles the numbers of repetitions and visits: one visit for each repetition, or as many
 * as there is time for. Both are spread evenly over the rounds. If opening takes so long that there is only
 * one visit, its repetitions follow each other, as they do in recorded time.
 */
#ifndef TN_MEASURE_ROUNDS_H
#define TN_MEASURE_ROUNDS_H

#include "../common/machine.h"
#include "../workloads/options.h"
#include "../workloads/workload.h"
#include "result.h"

/* The wanted length of a repetition in most methods: so long that its first part, which is colder, weighs
 * little. */
#define TN_REPETITION_NS 12e6

/* The most figures of a repetition. */
#define TN_RUN_FIGURES_MAX 4

/* One allocator on one workload. */
struct tn_run {
    const struct tn_workload *workload;
    const struct tn_options *options;
    void *stage; /* the method's, of the workload; NULL where it has none, as the next */
    void *own;   /* the method's, of this run; all zero at first */
    struct tn_result *result;
    bool is_harness;   /* the benchmark's own share, which has no figures in the results */
    bool is_first;     /* the visit under way */
    bool is_one_visit; /* set by the method before the first repetition: no other follows */
    double repetition_ns_wanted; /* the wanted length of a repetition */
    size_t repetition_count;     /* that are planned, as the next */
    size_t visit_count;
    size_t visited_count;
    size_t done_count;                               /* of the repetitions */
    double visit_ns;                                 /* that the last visit took */
    double later_visits_ns;                          /* that all but the first took */
    double weight;                                   /* of the repetition under way */
    struct tn_weighted *figures[TN_RUN_FIGURES_MAX]; /* of each repetition, as the next */
    double *gauges_ns;                               /* what weights were found with */
};

/*
 * A method. A step that fails sets the outcome of the result to another than TN_OUTCOME_MEASURED; then only
 * `close` is still called for that run. NULL: there is no such step.
 */
struct tn_measure_method {
    const struct tn_allocator *harness; /* plays as the harness; NULL: there is none */
    double repetition_ns;   /* the wanted length of a repetition, if there is time for it */
    size_t visit_count_max; /* 0: as many as repetitions */
    size_t figure_count;    /* of a repetition; the first is the time of a pair */
    bool knows_weight;      /* `repeat` sets it; else it is 1, or 0 if the machine was disturbed */
    bool is_first_played_again; /* by warm_up in later visits, without verifying */
    size_t own_bytes;
    size_t stage_bytes;

    /* Shared by all allocators on a workload. */
    tarn_status (*stage_init)(void *stage, const struct tn_workload *workload,
                              const struct tn_options *options, const struct tn_machine *machine,
                              struct tn_reason *reason_out);
    void (*stage_fini)(void *stage);

    /* The steps of a visit, in their order; the first visit has all of them. */
    bool (*open)(struct tn_run *run); /* in every visit; true: `close` is to be called */
    void (*play_first)(struct tn_run *run);
    double (*warm_up)(struct tn_run *run); /* in every visit; returns the ns of a repetition */
    bool (*repeat)(struct tn_run *run, double *figures_out); /* in every visit; true: it is done */
    void (*time_single_calls)(struct tn_run *run);
    void (*play_last)(struct tn_run *run);
    void (*close)(struct tn_run *run);  /* in every visit */
    void (*follow)(struct tn_run *run); /* not for the harness */

    /* After the last round, also if the user has ended it: fills in all figures but pair_ns, which is there
     * already. The harness comes first. */
    void (*summarise)(struct tn_run *run, const struct tn_result *harness);
    void (*fini)(struct tn_run *run);
};

/* The number of passes in a repetition, if one pass takes pass_ns. */
size_t tn_run_count_passes(const struct tn_run *run, double pass_ns);

/* For a method's single calls: gives `play` room for as many samples as the body has operations, and notes
 * their percentiles. If `play` returns false, it has noted why. */
void tn_run_time_calls(struct tn_run *run,
                       bool (*play)(struct tn_run *run, struct tn_samples *samples));

/* For a method's calls from an empty allocator: notes their times in the result, or why the allocator did not open.
 * False: a call has stopped it, of which nothing is noted yet. */
bool tn_run_measure_latency(struct tn_run *run, const struct tn_latency_list *list,
                            const struct tn_allocator_settings *settings, struct tn_stop *stop_out);

/* Measures all results whose outcome is still TN_OUTCOME_MEASURED. They lie workload after workload, one for
 * each allocator of the options. Returns the number of workloads that have results: all, or those that had
 * begun when the user wanted to end. */
size_t tn_measure_rounds(const struct tn_measure_method *method,
                         const struct tn_workload *workloads, size_t workload_count,
                         const struct tn_options *options, const struct tn_machine *machine,
                         struct tn_result *results);

#endif
