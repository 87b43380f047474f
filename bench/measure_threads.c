/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_threads: how many pairs several threads do on one allocator at once. */
#include "measure_threads.h"

#include <stdlib.h>

#include "interrupt.h"
#include "progress.h"
#include "thread_team.h"

/* Long enough that starting together weighs little. */
static const double play_seconds_max = 0.1;

/* One allocator on the workload. */
struct run {
    const struct tn_workload *workload;
    const struct tn_options *options;
    struct tn_result *result;
    void *state; /* the allocator's */
    struct tn_thread_team *team;
    bool is_running;     /* false after a failure */
    bool is_open;        /* the allocator */
    double *pairs_per_s; /* in each repetition */
};

static void end_run(struct run *run)
{
    struct tn_team_stop ignored;
    if (run->team) tn_thread_team_destroy(run->team, &ignored);
    run->team = NULL;
    if (run->is_open) run->result->allocator->close(run->state);
    run->is_running = run->is_open = false;
}

/* The vendor's own calls may be unable to play what was made up; nothing else may. */
static void fail_run(struct run *run, const struct tn_team_stop *stop)
{
    struct tn_result *result = run->result;
    if (result->allocator == &tn_allocator_raw && stop->status != TARN_STATUS_OK) {
        result->outcome = TN_OUTCOME_SKIPPED;
        tn_reason_set(&result->reason, "cannot run it: %.480s", stop->reason.text);
    } else {
        result->outcome = TN_OUTCOME_FAILED;
        tn_reason_set(&result->reason, "%s: %s: %.350s", run->workload->name,
                      result->allocator->name, stop->reason.text);
    }
    end_run(run);
}

/* The time of a pair is that of its thread, during which the others are at work too. */
static void compute_figures(struct run *run)
{
    struct tn_result *result = run->result;
    double thread_ns = (double)run->workload->thread_count * 1e9;
    result->pairs_per_s = tn_spread_compute(run->pairs_per_s, result->repetition_count);
    result->pair_ns = (struct tn_spread){
        .min = thread_ns / result->pairs_per_s.max,
        .median = thread_ns / result->pairs_per_s.median,
        .max = thread_ns / result->pairs_per_s.min,
    };
}

/* The user wants to end: what was done so far is kept. */
static void interrupt_run(struct run *run)
{
    run->result->outcome = TN_OUTCOME_INTERRUPTED;
    if (run->result->repetition_count > 0) compute_figures(run);
    end_run(run);
}

static double play_seconds(const struct run *run)
{
    double seconds = run->options->time_seconds / (double)run->options->repetitions;
    return seconds < play_seconds_max ? seconds : play_seconds_max;
}

static void verify(struct run *run)
{
    struct tn_verifier *verifier = tn_verifier_create(run->workload);
    struct tn_team_stop stop = { TARN_STATUS_OK,
                                 { "there is not enough host memory to verify it" } };
    if (!verifier || !tn_thread_team_verify(run->team, verifier, &stop.reason))
        fail_run(run, &stop);
    tn_verifier_destroy(verifier);
}

static void start_run(struct run *run)
{
    struct tn_result *result = run->result;
    struct tn_team_stop stop;
    stop.status = result->allocator->open(&run->options->settings, &run->state, &stop.reason);
    run->is_running = run->is_open = stop.status == TARN_STATUS_OK;
    if (!run->is_running) {
        tn_result_set_unopened(result, stop.status, &stop.reason);
        return;
    }
    run->team = tn_thread_team_create(result->allocator, run->state, run->workload, &stop);
    if (!run->team) {
        fail_run(run, &stop);
        return;
    }
    size_t stream_count = tn_thread_team_count_streams(run->team);
    if (stream_count > 0) result->stream_count = stream_count;
    verify(run);
}

static bool play(struct run *run, struct tn_team_play *play_out)
{
    struct tn_team_stop stop;
    if (tn_thread_team_play(run->team, play_seconds(run), play_out, &stop)) return true;
    fail_run(run, &stop);
    return false;
}

static void warm_up(struct run *run)
{
    struct tn_team_play ignored;
    play(run, &ignored);
}

static void repeat(struct run *run)
{
    struct tn_team_play done;
    if (!play(run, &done)) return;
    run->pairs_per_s[run->result->repetition_count++] =
        (double)done.pair_count * 1e9 / done.duration_ns;
}

static void finish_run(struct run *run)
{
    struct tn_team_stop stop;
    bool is_ok = tn_thread_team_destroy(run->team, &stop);
    run->team = NULL;
    if (!is_ok) {
        fail_run(run, &stop);
        return;
    }
    run->result->allocator->get_usage(run->state, &run->result->usage);
    end_run(run);
    compute_figures(run);
}

typedef void (*run_step)(struct run *run);

static void take_turns(struct run *runs, size_t count, const char *what, run_step step)
{
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].is_running) continue;
        tn_progress_show("threads %s: %s: %s", runs[i].workload->name,
                         runs[i].result->allocator->name, what);
        if (tn_interrupt_is_wanted())
            interrupt_run(&runs[i]);
        else
            step(&runs[i]);
    }
}

static void run_together(struct run *runs, size_t count, size_t repetition_count)
{
    for (size_t i = 0; i < count; i++)
        runs[i].is_running = runs[i].result->outcome == TN_OUTCOME_MEASURED;
    take_turns(runs, count, "setup", start_run);
    take_turns(runs, count, "warming up", warm_up);
    for (size_t i = 0; i < repetition_count; i++) {
        tn_progress_set_share((double)i / (double)repetition_count);
        take_turns(runs, count, "repetitions", repeat);
    }
    take_turns(runs, count, "verifying", verify);
    take_turns(runs, count, "freeing", finish_run);
}

static void run_all(struct run *runs, size_t run_count, size_t repetition_count,
                    bool is_interleaved)
{
    if (is_interleaved) {
        run_together(runs, run_count, repetition_count);
    } else {
        for (size_t i = 0; i < run_count; i++)
            run_together(&runs[i], 1, repetition_count);
    }
}

void tn_measure_threads(const struct tn_workload *workload, const struct tn_options *options,
                        bool is_interleaved, struct tn_result *results)
{
    struct run runs[TN_ALLOCATORS_MAX];
    size_t run_count = options->allocator_count;
    double *pairs_per_s = calloc(run_count * options->repetitions, sizeof pairs_per_s[0]);
    for (size_t i = 0; i < run_count; i++) {
        runs[i] = (struct run){ .workload = workload, .options = options, .result = &results[i] };
        results[i].is_interleaved = is_interleaved;
        if (pairs_per_s) {
            runs[i].pairs_per_s = &pairs_per_s[i * options->repetitions];
        } else if (results[i].outcome == TN_OUTCOME_MEASURED) {
            results[i].outcome = TN_OUTCOME_FAILED;
            tn_reason_set(&results[i].reason, "%s: there is not enough host memory",
                          workload->name);
        }
    }
    run_all(runs, run_count, options->repetitions, is_interleaved);
    free(pairs_per_s);
}
