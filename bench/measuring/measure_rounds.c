/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_rounds: all allocators on several workloads, in rounds. */
#include "measure_rounds.h"

#include <stdlib.h>
#include <string.h>

#include "../common/clock.h"
#include "../common/gauge.h"
#include "../common/interrupt.h"
#include "../common/progress.h"

/* Repetitions become shorter so that they take no more than this share of the time. The rest is for opening
 * again, which may take one second or twice the time of the repetitions, whichever is more. */
static const double repetitions_share = 0.5;
static const double reopening_ns_max = 1e9;
static const double reopening_factor_max = 2.0;

/* More passes in one repetition would add nothing. */
static const double pass_count_max = 1e6;

enum {
    /* If passes are long there are fewer repetitions, but at least this part of those in the options. */
    LEAST_SHARE = 3,
    /* For the estimate of the time left: a first visit takes about as long as so many later ones. */
    FIRST_VISIT_WEIGHT = 6
};

struct rounds {
    const struct tn_measure_method *method;
    const struct tn_workload *workloads;
    size_t workload_count;
    const struct tn_options *options;
    struct tn_result *results;
    size_t runs_of_workload;
    struct tn_run *runs;         /* of each workload in a row, the harness first */
    struct tn_result *harnesses; /* one for each workload; NULL: the method has no harness */
    unsigned char *stages;       /* one for each workload; NULL: the method has none */
};

static struct tn_run *runs_of(const struct rounds *rounds, size_t workload)
{
    return &rounds->runs[workload * rounds->runs_of_workload];
}

static void *stage_of(const struct rounds *rounds, size_t workload)
{
    return rounds->stages + workload * rounds->method->stage_bytes;
}

static struct tn_result *results_of(const struct rounds *rounds, size_t workload)
{
    return &rounds->results[workload * rounds->options->allocator_count];
}

/* Whether nothing has gone wrong so far. */
static bool is_measured(const struct tn_run *run)
{
    return run->result->outcome == TN_OUTCOME_MEASURED;
}

static double clamp(double value, double min, double max)
{
    return value < min ? min : value > max ? max : value;
}

/* --- for methods --------------------------------------------------------------------------------- */

size_t tn_run_count_passes(const struct tn_run *run, double pass_ns)
{
    return (size_t)clamp(run->repetition_ns_wanted / (pass_ns + 1.0), 1.0, pass_count_max);
}

void tn_run_time_calls(struct tn_run *run,
                       bool (*play)(struct tn_run *run, struct tn_samples *samples))
{
    size_t count_max = run->workload->body.count;
    struct tn_samples samples = { 0 };
    samples.alloc_ns = malloc(count_max * sizeof samples.alloc_ns[0]);
    samples.free_ns = malloc(count_max * sizeof samples.free_ns[0]);
    if (!samples.alloc_ns || !samples.free_ns) {
        tn_results_fail(run->result, 1,
                        "there is not enough host memory for the durations of its calls");
    } else if (play(run, &samples)) {
        run->result->alloc_ns = tn_percentiles_compute(samples.alloc_ns, samples.alloc_count);
        run->result->free_ns = tn_percentiles_compute(samples.free_ns, samples.free_count);
    }
    free(samples.alloc_ns);
    free(samples.free_ns);
}

bool tn_run_measure_latency(struct tn_run *run, const struct tn_latency_list *list,
                            const struct tn_allocator_settings *settings, struct tn_stop *stop_out)
{
    tarn_status status;
    run->result->latency =
        tn_latency_measure(list, run->result->allocator, settings, &status, stop_out);
    if (status != TARN_STATUS_OK) tn_result_set_unopened(run->result, status, &stop_out->reason);
    return run->result->latency || status != TARN_STATUS_OK;
}

/* --- one visit ----------------------------------------------------------------------------------- */

/* The time for the repetitions and for opening again. */
static double budget_ns(const struct tn_run *run)
{
    return run->options->time_seconds * 1e9;
}

/* The number in the options, or fewer, so that they take as long as planned; but at least a part of them, and
 * no more than there is time for. */
static size_t plan_repetitions(const struct tn_run *run, double repetition_ns)
{
    double wanted = (double)run->options->repetitions;
    double least = run->is_one_visit ? wanted : (wanted + LEAST_SHARE - 1) / LEAST_SHARE;
    double count = clamp(wanted * run->repetition_ns_wanted / repetition_ns, least, wanted);
    return (size_t)clamp(budget_ns(run) / repetition_ns, 1.0, count);
}

static size_t plan_visits(const struct tn_run *run, const struct tn_measure_method *method,
                          double repetition_ns, double opening_ns)
{
    double repetitions_ns = (double)run->repetition_count * repetition_ns;
    double most_ns = reopening_factor_max * repetitions_ns;
    if (most_ns < reopening_ns_max) most_ns = reopening_ns_max;
    double left_ns = clamp(budget_ns(run) - repetitions_ns, 0.0, most_ns);
    size_t most = run->repetition_count;
    if (method->visit_count_max > 0 && method->visit_count_max < most)
        most = method->visit_count_max;
    return run->is_one_visit
               ? 1
               : 1 + (size_t)clamp(left_ns / (opening_ns + 1.0), 0.0, (double)(most - 1));
}

/* How many of `count` come before part number `part` of `part_count`. */
static size_t count_before(size_t part, size_t part_count, size_t count)
{
    return part * count / part_count;
}

/* Whether the next step is to be taken. */
static bool goes_on(const struct tn_run *run, const char *what)
{
    if (!is_measured(run)) return false;
    tn_progress_show("%s %s: %s: %s", run->workload->bench, run->workload->name,
                     run->is_harness ? "the harness" : run->result->allocator->name, what);
    if (tn_interrupt_is_wanted()) tn_result_set_interrupted(run->result);
    return is_measured(run);
}

static void take_step(struct tn_run *run, const char *what, void (*step)(struct tn_run *run))
{
    if (step && goes_on(run, what)) step(run);
}

/* If the machine was disturbed, the repetition has no weight. */
static void repeat(struct tn_run *run, const struct tn_measure_method *method)
{
    double figures[TN_RUN_FIGURES_MAX];
    bool was_quiet = tn_gauge_is_quiet();
    run->weight = 1.0;
    if (!method->repeat(run, figures)) return;
    if (!method->knows_weight && (!was_quiet || !tn_gauge_is_quiet())) run->weight = 0.0;
    for (size_t i = 0; i < method->figure_count; i++)
        run->figures[i][run->done_count] = (struct tn_weighted){ figures[i], run->weight };
    run->gauges_ns[run->done_count] = tn_gauge_least_ns();
    run->done_count++;
}

/* The repetitions that fall to this visit. */
static void repeat_by_plan(struct tn_run *run, const struct tn_measure_method *method)
{
    size_t end = count_before(run->visited_count + 1, run->visit_count, run->repetition_count);
    while (run->done_count < end && goes_on(run, "repetitions"))
        repeat(run, method);
}

/* In the first visit, also plans the repetitions and visits. */
static void play_warm(struct tn_run *run, const struct tn_measure_method *method, double opening_ns)
{
    uint64_t start_ns = tn_clock_now_ns();
    if (!goes_on(run, "warming up")) return;
    double repetition_ns = method->warm_up(run);
    opening_ns += (double)(tn_clock_now_ns() - start_ns);
    if (!is_measured(run) || !run->is_first) return;
    repetition_ns = clamp(repetition_ns, 1.0, repetition_ns);
    run->repetition_count = plan_repetitions(run, repetition_ns);
    run->visit_count = plan_visits(run, method, repetition_ns, opening_ns);
}

static void play(struct tn_run *run, const struct tn_measure_method *method, double opening_ns)
{
    uint64_t start_ns = tn_clock_now_ns();
    if (run->is_first) take_step(run, "first pass", method->play_first);
    if (method->is_first_played_again) opening_ns += (double)(tn_clock_now_ns() - start_ns);
    play_warm(run, method, opening_ns);
    if (is_measured(run)) repeat_by_plan(run, method);
    if (!run->is_first) return;
    take_step(run, "single calls", method->time_single_calls);
    take_step(run, "last pass", method->play_last);
}

/* Drops the remaining visits if the time is over: closing may take longer than was known when they were
 * planned. */
static void end_when_time_is_over(struct tn_run *run)
{
    if (run->visited_count < 2 || run->later_visits_ns + run->visit_ns <= budget_ns(run)) return;
    run->repetition_count = run->done_count;
    run->visit_count = run->visited_count;
}

static void visit(struct tn_run *run, const struct tn_measure_method *method)
{
    uint64_t start_ns = tn_clock_now_ns();
    run->is_first = run->visited_count == 0;
    if (!goes_on(run, "opening")) return;
    if (!method->open || method->open(run)) {
        play(run, method, (double)(tn_clock_now_ns() - start_ns));
        if (method->close) method->close(run);
    }
    if (run->is_first && !run->is_harness)
        take_step(run, "memory and calls over time", method->follow);
    run->visited_count++;
    run->visit_ns = (double)(tn_clock_now_ns() - start_ns);
    if (!run->is_first) run->later_visits_ns += run->visit_ns;
    end_when_time_is_over(run);
}

/* --- all of them --------------------------------------------------------------------------------- */

/* The visits are spread over the rounds evenly. */
static bool is_due(const struct tn_run *run, size_t round)
{
    if (!is_measured(run)) return false;
    if (round == 0) return true;
    size_t round_count = run->options->repetitions;
    return run->visited_count < run->visit_count &&
           count_before(round, round_count, run->visit_count) !=
               count_before(round - 1, round_count, run->visit_count);
}

static void show_share(const struct rounds *rounds, size_t round, size_t workload)
{
    double done = (double)workload / (double)rounds->workload_count;
    double before = round == 0 ? 0.0 : (double)(round - 1 + FIRST_VISIT_WEIGHT);
    double all = (double)(rounds->options->repetitions - 1 + FIRST_VISIT_WEIGHT);
    tn_progress_set_share((before + done * (round == 0 ? FIRST_VISIT_WEIGHT : 1)) / all);
}

static void play_round(const struct rounds *rounds, size_t round)
{
    for (size_t i = 0; i < rounds->workload_count && !tn_interrupt_is_wanted(); i++) {
        struct tn_run *runs = runs_of(rounds, i);
        show_share(rounds, round, i);
        for (size_t k = 0; k < rounds->runs_of_workload; k++)
            if (is_due(&runs[k], round)) visit(&runs[k], rounds->method);
    }
}

/* If the machine turned out later to be faster than known before, earlier repetitions that seemed quiet lose
 * their weight. Returns the mean weight. */
static double settle_weights(struct tn_run *run, size_t figure_count)
{
    double sum = 0.0;
    for (size_t i = 0; i < run->done_count; i++) {
        for (size_t k = 0; k < figure_count; k++)
            if (!tn_gauge_still_holds(run->gauges_ns[i])) run->figures[k][i].weight = 0.0;
        sum += run->figures[0][i].weight;
    }
    return run->done_count > 0 ? sum / (double)run->done_count : 0.0;
}

static void summarise(const struct rounds *rounds, struct tn_run *run,
                      const struct tn_result *harness)
{
    struct tn_result *result = run->result;
    bool is_complete = run->visited_count > 0 && run->done_count == run->repetition_count;
    if (is_measured(run) && !is_complete) tn_result_set_interrupted(result);
    result->repetition_count = run->done_count;
    result->instance_count = run->visited_count;
    result->is_interleaved = run->visit_count > 1 || run->repetition_count == 1;
    result->counted_share = settle_weights(run, rounds->method->figure_count);
    result->pair_ns = tn_spread_compute(run->figures[0], run->done_count);
    if (harness) result->harness_pair_ns = harness->pair_ns.median;
    if (rounds->method->summarise) rounds->method->summarise(run, harness);
}

/* The number of workloads, from the first on, that have begun. */
static size_t count_begun(const struct rounds *rounds)
{
    if (!tn_interrupt_is_wanted()) return rounds->workload_count;
    size_t begun_count = 0;
    for (size_t i = 0; i < rounds->workload_count; i++)
        for (size_t k = 0; k < rounds->runs_of_workload; k++)
            if (runs_of(rounds, i)[k].visited_count > 0) begun_count = i + 1;
    return begun_count;
}

static size_t play_all(const struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->options->repetitions; i++)
        play_round(rounds, i);
    for (size_t i = 0; i < rounds->workload_count; i++)
        for (size_t k = 0; k < rounds->runs_of_workload; k++)
            summarise(rounds, &runs_of(rounds, i)[k],
                      rounds->harnesses ? &rounds->harnesses[i] : NULL);
    return count_begun(rounds);
}

/* --- before and after ---------------------------------------------------------------------------- */

static bool run_init(struct tn_run *run, const struct rounds *rounds, size_t workload,
                     struct tn_result *result)
{
    const struct tn_measure_method *method = rounds->method;
    const struct tn_options *options = rounds->options;
    double longest_ns =
        options->time_seconds * 1e9 * repetitions_share / (double)options->repetitions;
    *run = (struct tn_run){
        .workload = &rounds->workloads[workload],
        .options = options,
        .stage = rounds->stages ? stage_of(rounds, workload) : NULL,
        .own = method->own_bytes > 0 ? calloc(1, method->own_bytes) : NULL,
        .result = result,
        .is_harness = rounds->harnesses && result == &rounds->harnesses[workload],
        .repetition_ns_wanted = clamp(longest_ns, 0.0, method->repetition_ns),
    };
    run->gauges_ns = calloc(options->repetitions, sizeof run->gauges_ns[0]);
    bool has_memory = run->gauges_ns && (run->own || method->own_bytes == 0);
    for (size_t i = 0; i < method->figure_count; i++) {
        run->figures[i] = calloc(options->repetitions, sizeof run->figures[i][0]);
        has_memory = run->figures[i] && has_memory;
    }
    return has_memory;
}

static void run_fini(struct tn_run *run, const struct tn_measure_method *method)
{
    if (method->fini && run->own) method->fini(run);
    free(run->own);
    free(run->gauges_ns);
    for (size_t i = 0; i < TN_RUN_FIGURES_MAX; i++)
        free(run->figures[i]);
}

static bool has_work(const struct tn_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (results[i].outcome == TN_OUTCOME_MEASURED) return true;
    return false;
}

/* If no allocator has anything to measure, neither has the harness. */
static void harness_init(struct tn_result *harness, const struct tn_allocator *allocator,
                         const struct tn_result *results, size_t count)
{
    *harness = results[0];
    harness->allocator = allocator;
    harness->outcome = has_work(results, count) ? TN_OUTCOME_MEASURED : TN_OUTCOME_SKIPPED;
}

static void init_stage(const struct rounds *rounds, size_t workload,
                       const struct tn_machine *machine)
{
    const struct tn_measure_method *method = rounds->method;
    struct tn_result *results = results_of(rounds, workload);
    size_t count = rounds->options->allocator_count;
    struct tn_reason reason;
    if (!method->stage_init || !has_work(results, count)) return;
    void *stage = stage_of(rounds, workload);
    tarn_status status =
        method->stage_init(stage, &rounds->workloads[workload], rounds->options, machine, &reason);
    if (status == TARN_STATUS_OK) return;
    memset(stage, 0, method->stage_bytes);
    for (size_t i = 0; i < count; i++)
        if (results[i].outcome == TN_OUTCOME_MEASURED)
            tn_result_set_unopened(&results[i], status, &reason);
}

/* The harness comes first, if there is one. */
static struct tn_result *result_of(const struct rounds *rounds, size_t workload, size_t run)
{
    if (!rounds->harnesses) return &results_of(rounds, workload)[run];
    return run == 0 ? &rounds->harnesses[workload] : &results_of(rounds, workload)[run - 1];
}

static void init_runs(const struct rounds *rounds, size_t workload)
{
    struct tn_result *results = results_of(rounds, workload);
    struct tn_run *runs = runs_of(rounds, workload);
    size_t count = rounds->options->allocator_count;
    bool has_memory = true;
    if (rounds->harnesses)
        harness_init(&rounds->harnesses[workload], rounds->method->harness, results, count);
    for (size_t i = 0; i < rounds->runs_of_workload; i++)
        has_memory =
            run_init(&runs[i], rounds, workload, result_of(rounds, workload, i)) && has_memory;
    if (has_memory) return;
    tn_results_fail(results, count, "there is not enough host memory");
    if (rounds->harnesses) rounds->harnesses[workload].outcome = TN_OUTCOME_SKIPPED;
}

/* False: no host memory. */
static bool rounds_init(struct rounds *rounds)
{
    const struct tn_measure_method *method = rounds->method;
    size_t count = rounds->workload_count;
    rounds->runs_of_workload = rounds->options->allocator_count + (method->harness ? 1 : 0);
    rounds->runs = calloc(count * rounds->runs_of_workload, sizeof rounds->runs[0]);
    if (method->harness) rounds->harnesses = calloc(count, sizeof rounds->harnesses[0]);
    if (method->stage_bytes > 0) rounds->stages = calloc(count, method->stage_bytes);
    return rounds->runs && (rounds->harnesses || !method->harness) &&
           (rounds->stages || method->stage_bytes == 0);
}

static void rounds_fini(struct rounds *rounds)
{
    size_t run_count = rounds->runs ? rounds->workload_count * rounds->runs_of_workload : 0;
    for (size_t i = 0; i < run_count; i++)
        run_fini(&rounds->runs[i], rounds->method);
    for (size_t i = 0; rounds->stages && i < rounds->workload_count; i++)
        rounds->method->stage_fini(stage_of(rounds, i));
    free(rounds->runs);
    free(rounds->harnesses);
    free(rounds->stages);
}

size_t tn_measure_rounds(const struct tn_measure_method *method,
                         const struct tn_workload *workloads, size_t workload_count,
                         const struct tn_options *options, const struct tn_machine *machine,
                         struct tn_result *results)
{
    struct rounds rounds = { .method = method,
                             .workloads = workloads,
                             .workload_count = workload_count,
                             .options = options,
                             .results = results };
    size_t begun_count = workload_count;
    if (rounds_init(&rounds)) {
        for (size_t i = 0; i < workload_count; i++) {
            init_stage(&rounds, i, machine);
            init_runs(&rounds, i);
        }
        begun_count = play_all(&rounds);
    } else {
        tn_results_fail(results, workload_count * options->allocator_count,
                        "there is not enough host memory");
    }
    rounds_fini(&rounds);
    return begun_count;
}
