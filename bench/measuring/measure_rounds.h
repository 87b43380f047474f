/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_rounds: all allocators on several workloads, in rounds.
 *
 *     round 0 | a: raw tarn sets | b: raw tarn sets |      a, b: workloads, all measured by one method
 *     round 1 | a: raw tarn sets | b:     tarn sets |
 *     ...
 *
 * What stands in a round is a visit: one allocator on one workload, on a new instance that is closed at its end. So
 * one is open at a time, whatever the number of workloads and allocators, and a figure comes from instances at
 * several times in the run, each with its own addresses: a machine that slows down for a while does so for a part of
 * every figure, and not for all of one.
 *
 *     first visit: open, first pass, warm up, repetitions, single calls, last pass, close, follow
 *     others:      open, warm up, repetitions, close
 *
 * How many repetitions and visits there are is settled after the first warm-up: one visit for each repetition, or as many
 * as there is time for. Both are spread evenly over the rounds. Where opening takes so long that there is but
 * one visit, the repetitions come one after the other, as they do in recorded time.
 */
#ifndef TN_MEASURE_ROUNDS_H
#define TN_MEASURE_ROUNDS_H

#include "../common/machine.h"
#include "../workloads/options.h"
#include "../workloads/workload.h"
#include "result.h"

/* How long a repetition of most methods is to be: so long that its first part, which is colder, weighs little. */
#define TN_REPETITION_NS 12e6

/* A repetition has so many figures at most. */
#define TN_RUN_FIGURES_MAX 4

/* One allocator on one workload. */
struct tn_run {
    const struct tn_workload *workload;
    const struct tn_options *options;
    void *stage; /* the method's, of the workload; NULL where it has none, as the next */
    void *own;   /* the method's, of this run; all zero at first */
    struct tn_result *result;
    bool is_harness;   /* what the others are compared with: it has no figures of its own */
    bool is_first;     /* the visit under way */
    bool is_one_visit; /* set by the method before the first repetition: there is to be no other */
    double repetition_ns_wanted; /* how long a repetition is to be */
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
 * A method. A step that fails notes it in the result, which is then no more TN_OUTCOME_MEASURED; nothing more is done
 * with that run but to close it. NULL: there is no such step.
 */
struct tn_measure_method {
    const struct tn_allocator *harness; /* which takes part; NULL: nothing does */
    double repetition_ns;   /* how long one is to be, unless there is no time for that */
    size_t visit_count_max; /* 0: as many as repetitions */
    size_t figure_count;    /* of a repetition; the first is the time of a pair */
    bool knows_weight;      /* repeat sets it; else it is 1, or 0 where the machine was disturbed */
    bool is_first_played_again; /* by warm_up of other visits, without what it verifies */
    size_t own_bytes;
    size_t stage_bytes;

    /* What all allocators have in common on a workload. */
    tarn_status (*stage_init)(void *stage, const struct tn_workload *workload,
                              const struct tn_options *options, const struct tn_machine *machine,
                              struct tn_reason *reason_out);
    void (*stage_fini)(void *stage);

    /* The steps of a visit, in their order: of the first, or of all. */
    bool (*open)(struct tn_run *run); /* of all; true: it is to be closed */
    void (*play_first)(struct tn_run *run);
    double (*warm_up)(
        struct tn_run *run); /* of all; returns how long a repetition will take, in ns */
    bool (*repeat)(struct tn_run *run, double *figures_out); /* of all; true: it is done */
    void (*time_single_calls)(struct tn_run *run);
    void (*play_last)(struct tn_run *run);
    void (*close)(struct tn_run *run);  /* of all */
    void (*follow)(struct tn_run *run); /* not of the harness */

    /* After the last round, also when the user has ended it: the figures but pair_ns, which is there. The harness comes
     * first. */
    void (*summarise)(struct tn_run *run, const struct tn_result *harness);
    void (*fini)(struct tn_run *run);
};

/* How many passes make a repetition, when one takes so long. */
size_t tn_run_count_passes(const struct tn_run *run, double pass_ns);

/* For a method's single calls: gives `play` room for as many samples as the body has operations, and notes their
 * percentiles. False of `play`: it has noted why. */
void tn_run_time_calls(struct tn_run *run,
                       bool (*play)(struct tn_run *run, struct tn_samples *samples));

/* Measures what is still to be measured of the results: those of each workload in a row, one for each allocator of
 * the options. Returns of how many workloads, from the first on: all, or those that had begun when the user wanted to
 * end. */
size_t tn_measure_rounds(const struct tn_measure_method *method,
                         const struct tn_workload *workloads, size_t workload_count,
                         const struct tn_options *options, const struct tn_machine *machine,
                         struct tn_result *results);

#endif
