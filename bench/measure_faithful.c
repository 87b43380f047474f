/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_faithful: what the allocators cost in a recorded program's own threads, on its own streams. */
#include "measure_faithful.h"

#include <stdlib.h>

#include "faithful_team.h"
#include "interrupt.h"
#include "plain_host_backend.h"
#include "progress.h"

/* As in measure_passes.c. */
static const double repetition_ns_min = 50e6;
static const double pass_count_max = 1e6;

/* What all allocators have in common. */
struct scene {
    const struct tn_workload *workload;
    const struct tn_options *options;
    struct tn_faithful_plan *strict;
    struct tn_faithful_plan *wanted; /* in the order asked for; may be the same */
    struct tn_device_work work;      /* when has_work */
    bool has_work;                   /* there are real streams */
    tarn_backend streams_from;
    struct tn_allocator_settings settings;
    struct tn_touch touch; /* bytes_max is 0: memory is not touched */
};

/* One allocator. */
struct run {
    const struct scene *scene;
    struct tn_result *result;
    void *state; /* the allocator's */
    struct tn_faithful_team *team;
    bool is_running;
    bool is_open;     /* the allocator */
    bool is_verified; /* all but the allocator that does nothing */
    double *repetitions_ns;
    size_t done_count;
};

/* --- the scene ------------------------------------------------------------------------------------ */

static void scene_fini(struct scene *scene)
{
    if (scene->has_work) tn_device_work_fini(&scene->work);
    if (scene->wanted != scene->strict) tn_faithful_plan_destroy(scene->wanted);
    tn_faithful_plan_destroy(scene->strict);
}

/* On the host nothing runs on streams, and the processor touches memory: the queues of tarn's host backend run when
 * somebody waits for them, so that what was written there would be written just before it is verified. */
static bool open_streams(struct scene *scene, bool is_host, struct tn_reason *reason_out)
{
    scene->streams_from = tn_plain_host_backend();
    if (is_host) return true;
    tarn_status status =
        tn_device_work_init(&scene->work, scene->options->settings.device, reason_out);
    scene->has_work = status == TARN_STATUS_OK;
    if (!scene->has_work) return false;
    scene->streams_from = scene->work.backend;
    scene->settings.backend = &scene->work.backend;
    return true;
}

static bool scene_init(struct scene *scene, const struct tn_workload *workload,
                       const struct tn_options *options, bool is_host, struct tn_reason *reason_out)
{
    *scene =
        (struct scene){ .workload = workload, .options = options, .settings = options->settings };
    scene->strict = tn_faithful_plan_create(workload, TN_ORDER_STRICT);
    scene->wanted = options->order == TN_ORDER_STRICT
                        ? scene->strict
                        : tn_faithful_plan_create(workload, options->order);
    tn_reason_set(reason_out, "there is not enough host memory");
    if (scene->strict && scene->wanted && open_streams(scene, is_host, reason_out)) {
        scene->touch =
            (struct tn_touch){ scene->has_work ? &scene->work : NULL, options->touch_bytes };
        return true;
    }
    scene_fini(scene);
    return false;
}

/* --- failure ------------------------------------------------------------------------------------- */

static void end_run(struct run *run)
{
    struct tn_faithful_stop ignored;
    if (run->team) tn_faithful_team_destroy(run->team, &ignored);
    run->team = NULL;
    if (run->is_open) run->result->allocator->close(run->state);
    run->is_running = run->is_open = false;
}

static void interrupt_run(struct run *run)
{
    run->result->outcome = TN_OUTCOME_INTERRUPTED;
    run->result->repetition_count = run->done_count;
    run->result->pair_ns = tn_spread_compute(run->repetitions_ns, run->done_count);
    end_run(run);
}

static void fail_run(struct run *run, const struct tn_faithful_stop *stop)
{
    if (stop->is_interrupted) {
        interrupt_run(run);
        return;
    }
    run->result->outcome = TN_OUTCOME_FAILED;
    const char *place = stop->place.text[0] ? stop->place.text : run->result->workload->name;
    tn_reason_set(&run->result->reason, "%.150s: %s: %.300s", place, run->result->allocator->name,
                  stop->reason.text);
    end_run(run);
}

static void fail_run_for_memory(struct run *run, const char *what)
{
    struct tn_faithful_stop stop = { .status = TARN_STATUS_OK };
    tn_reason_set(&stop.reason, "there is not enough host memory %s", what);
    fail_run(run, &stop);
}

/* --- the steps of one run ------------------------------------------------------------------------ */

static bool create_team(struct run *run)
{
    const struct scene *scene = run->scene;
    bool is_timed = scene->options->speed > 0.0;
    struct tn_faithful_setup setup = {
        .allocator = run->result->allocator,
        .state = run->state,
        .plan = scene->strict,
        .streams_from = &scene->streams_from,
        .clocked_pass_count_max = is_timed ? run->result->repetition_count : 1,
    };
    struct tn_faithful_stop stop;
    run->team = tn_faithful_team_create(&setup, &stop);
    if (!run->team) fail_run(run, &stop);
    return run->team != NULL;
}

static bool play(struct run *run, const struct tn_faithful_play *how, double *duration_ns_out)
{
    struct tn_faithful_stop stop;
    if (tn_faithful_team_play(run->team, how, duration_ns_out, &stop)) return true;
    fail_run(run, &stop);
    return false;
}

/* The verifier names blocks by the plan's numbers. */
static bool play_verified(struct run *run, const struct tn_faithful_plan *plan)
{
    struct tn_workload view = *run->scene->workload;
    view.slot_count = plan->block_count;
    struct tn_verifier *verifier = tn_verifier_create(&view);
    if (!verifier) {
        fail_run_for_memory(run, "to verify it");
        return false;
    }
    bool is_touched = run->scene->touch.bytes_max > 0;
    struct tn_faithful_play how = { .plan = plan,
                                    .pass_count = 1,
                                    .verifier = verifier,
                                    .touch = is_touched ? &run->scene->touch : NULL,
                                    .verifies_contents = is_touched };
    double ignored;
    bool is_ok = play(run, &how, &ignored);
    tn_verifier_destroy(verifier);
    return is_ok;
}

/* What is timed. The allocator that does nothing has no memory to touch. */
static struct tn_faithful_play timed_play(const struct run *run)
{
    bool is_touched = run->is_verified && run->scene->touch.bytes_max > 0;
    return (struct tn_faithful_play){ .plan = run->scene->wanted,
                                      .pass_count = 1,
                                      .touch = is_touched ? &run->scene->touch : NULL };
}

static bool end_team(struct run *run)
{
    struct tn_faithful_stop stop;
    bool is_ok = tn_faithful_team_destroy(run->team, &stop);
    run->team = NULL;
    if (!is_ok) fail_run(run, &stop);
    return is_ok;
}

/* What the threads have counted is known when they have ended. */
static void verify_first_pass(struct run *run)
{
    if (!create_team(run) || !play_verified(run, run->scene->strict) || !end_team(run)) return;
    run->result->allocator->get_usage(run->state, &run->result->usage);
}

static void start_run(struct run *run)
{
    struct tn_result *result = run->result;
    struct tn_reason why;
    result->pass_count = 1;
    result->repetition_count = 1;
    tarn_status status = result->allocator->open(&run->scene->settings, &run->state, &why);
    run->is_running = run->is_open = status == TARN_STATUS_OK;
    if (run->is_running && run->is_verified)
        verify_first_pass(run);
    else if (!run->is_running)
        tn_result_set_unopened(result, status, &why);
}

static double clamp(double value, double min, double max)
{
    return value < min ? min : value > max ? max : value;
}

/* As many as fill the time, and no more. */
static void plan_repetitions(struct run *run, double pass_ns)
{
    const struct tn_options *options = run->scene->options;
    struct tn_result *result = run->result;
    double wanted = (double)options->repetitions;
    double budget_ns = options->time_seconds * 1e9;
    double repetition_ns = clamp(budget_ns / wanted, 0.0, repetition_ns_min);
    if (options->speed <= 0.0)
        result->pass_count = (size_t)clamp(repetition_ns / pass_ns, 1.0, pass_count_max);
    result->repetition_count =
        (size_t)clamp(budget_ns / ((double)result->pass_count * pass_ns), 1.0, wanted);
}

/* How long a pass takes in recorded time. */
static double recorded_ns(const struct scene *scene)
{
    const struct tn_workload *workload = scene->workload;
    return (double)workload->origins[workload->body.count - 1].time_ns / scene->options->speed;
}

/* In recorded time the team is made anew, with room for the calls of so many repetitions. */
static void warm_up(struct run *run)
{
    double pass_ns = run->scene->options->speed > 0.0 ? recorded_ns(run->scene) : 0.0;
    plan_repetitions(run, clamp(pass_ns, 1.0, pass_ns));
    if (!create_team(run)) return;
    struct tn_faithful_play how = timed_play(run);
    double duration_ns;
    if (play(run, &how, &duration_ns) && run->scene->options->speed <= 0.0)
        plan_repetitions(run, duration_ns);
}

/* The sum of the calls of all repetitions so far. */
static double sum_calls(const struct run *run)
{
    struct tn_faithful_samples samples;
    return tn_faithful_team_collect(run->team, &samples) ? samples.calls_ns : 0.0;
}

static void repeat(struct run *run)
{
    struct tn_result *result = run->result;
    if (run->done_count >= result->repetition_count) return;
    struct tn_faithful_play how = timed_play(run);
    how.speed = run->scene->options->speed;
    how.is_clocked = how.speed > 0.0;
    how.pass_count = result->pass_count;
    double before_ns = how.is_clocked ? sum_calls(run) : 0.0;
    double duration_ns;
    if (!play(run, &how, &duration_ns)) return;
    if (how.is_clocked) duration_ns = sum_calls(run) - before_ns;
    run->repetitions_ns[run->done_count++] =
        duration_ns / (double)(result->pass_count * result->pair_count);
}

static void time_single_calls(struct run *run)
{
    struct tn_faithful_play how = timed_play(run);
    how.is_clocked = true;
    double ignored;
    if (run->scene->options->speed <= 0.0 && !play(run, &how, &ignored)) return;
    struct tn_faithful_samples samples;
    if (!tn_faithful_team_collect(run->team, &samples)) {
        fail_run_for_memory(run, "for the durations of its calls");
        return;
    }
    run->result->alloc_ns = samples.alloc_ns;
    run->result->free_ns = samples.free_ns;
    run->result->late_ns = samples.late_ns;
}

static void verify_last_pass(struct run *run)
{
    if (run->is_verified) play_verified(run, run->scene->wanted);
}

static void finish_run(struct run *run)
{
    if (!end_team(run)) return;
    run->result->pair_ns = tn_spread_compute(run->repetitions_ns, run->done_count);
    run->result->outcome = TN_OUTCOME_MEASURED;
    end_run(run);
}

/* --- all runs, taking turns ---------------------------------------------------------------------- */

typedef void (*run_step)(struct run *run);

static void take_turns(struct run *runs, size_t count, const char *what, run_step step)
{
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].is_running) continue;
        tn_progress_show("replay %s: %s: %s", runs[i].scene->workload->name,
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
    take_turns(runs, count, "first pass", start_run);
    take_turns(runs, count, "warming up", warm_up);
    for (size_t i = 0; i < repetition_count; i++) {
        tn_progress_set_share((double)i / (double)repetition_count);
        take_turns(runs, count, "repetitions", repeat);
    }
    take_turns(runs, count, "single calls", time_single_calls);
    take_turns(runs, count, "last pass", verify_last_pass);
    take_turns(runs, count, "freeing", finish_run);
}

/* runs[0] is the allocator that does nothing. */
static void run_all(struct run *runs, size_t run_count, bool is_interleaved)
{
    size_t repetition_count = runs[0].scene->options->repetitions;
    if (is_interleaved) {
        run_together(runs, run_count, repetition_count);
    } else {
        for (size_t i = 0; i < run_count; i++)
            run_together(&runs[i], 1, repetition_count);
    }
    for (size_t i = 0; i < run_count; i++) {
        runs[i].result->harness_pair_ns = runs[0].result->pair_ns.median;
        runs[i].result->is_interleaved = is_interleaved;
    }
}

static void measure_in(const struct scene *scene, struct tn_result *results, bool is_interleaved)
{
    const struct tn_options *options = scene->options;
    struct tn_result harness = results[0];
    harness.allocator = &tn_allocator_null;
    harness.outcome = TN_OUTCOME_MEASURED;
    size_t run_count = 1 + options->allocator_count;
    struct run runs[1 + TN_ALLOCATORS_MAX];
    double *times_ns = calloc(run_count * options->repetitions, sizeof times_ns[0]);
    if (!times_ns) {
        tn_results_fail(results, options->allocator_count, "there is not enough host memory");
        return;
    }
    for (size_t i = 0; i < run_count; i++)
        runs[i] = (struct run){ .scene = scene,
                                .result = i == 0 ? &harness : &results[i - 1],
                                .is_verified = i > 0,
                                .repetitions_ns = &times_ns[i * options->repetitions] };
    run_all(runs, run_count, is_interleaved);
    free(times_ns);
}

void tn_measure_faithful(const struct tn_workload *workload, const struct tn_options *options,
                         const struct tn_machine *machine, bool is_interleaved,
                         struct tn_result *results)
{
    struct scene scene;
    struct tn_reason reason;
    if (!scene_init(&scene, workload, options, machine->is_host, &reason)) {
        tn_results_fail(results, options->allocator_count, reason.text);
        return;
    }
    measure_in(&scene, results, is_interleaved);
    scene_fini(&scene);
}
