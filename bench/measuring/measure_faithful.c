/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_faithful: what the allocators cost in a recorded program's own threads, on its own streams. */
#include "measure_faithful.h"

#include "../allocators/late_backend.h"
#include "../allocators/plain_host_backend.h"
#include "../playing/faithful_team.h"

/* Shared by all allocators. */
struct stage {
    struct tn_faithful_plan *strict;
    struct tn_faithful_plan *wanted; /* in the order of the options; may be `strict` */
    struct tn_device_work work;      /* when has_work */
    bool has_work;                   /* there are real streams */
    tarn_backend streams_from;
    struct tn_allocator_settings settings;
    struct tn_touch touch; /* bytes_max is 0: memory is not touched */
};

/* One allocator. */
struct own {
    void *state;       /* the allocator's */
    tarn_backend late; /* that it is opened on, if the device is to be behind */
    struct tn_faithful_team *team;
    double clocked_ns; /* in recorded time: of all calls so far */
};

/* --- the stage ----------------------------------------------------------------------------------- */

static void stage_fini(void *self)
{
    struct stage *stage = self;
    if (stage->has_work) tn_device_work_fini(&stage->work);
    if (stage->wanted != stage->strict) tn_faithful_plan_destroy(stage->wanted);
    tn_faithful_plan_destroy(stage->strict);
}

/* On the host nothing runs on streams, and the processor touches memory. The queues of tarn's host backend
 * would not do: they run only when a thread waits for them, so a fill would run just before it is verified.
 * */
static tarn_status open_streams(struct stage *stage, bool is_host, struct tn_reason *reason_out)
{
    stage->streams_from = tn_plain_host_backend();
    if (is_host) return TARN_STATUS_OK;
    tarn_status status = tn_device_work_init(&stage->work, stage->settings.device, reason_out);
    stage->has_work = status == TARN_STATUS_OK;
    if (!stage->has_work) return status;
    stage->streams_from = stage->work.backend;
    stage->settings.backend = &stage->work.backend;
    return TARN_STATUS_OK;
}

static tarn_status stage_init(void *self, const struct tn_workload *workload,
                              const struct tn_options *options, const struct tn_machine *machine,
                              struct tn_reason *reason_out)
{
    struct stage *stage = self;
    stage->settings = options->settings;
    stage->strict = tn_faithful_plan_create(workload, TN_ORDER_STRICT);
    stage->wanted = options->order == TN_ORDER_STRICT
                        ? stage->strict
                        : tn_faithful_plan_create(workload, options->order);
    tn_reason_set(reason_out, "there is not enough host memory");
    tarn_status status = stage->strict && stage->wanted
                             ? open_streams(stage, machine->is_host, reason_out)
                             : TARN_STATUS_OUT_OF_HOST_MEMORY;
    if (status == TARN_STATUS_OK)
        stage->touch =
            (struct tn_touch){ stage->has_work ? &stage->work : NULL, options->touch_bytes };
    else
        stage_fini(stage);
    return status;
}

/* --- the instance -------------------------------------------------------------------------------- */

static bool has_recorded_time(const struct tn_run *run)
{
    return run->options->speed > 0.0;
}

static void fail(struct tn_run *run, const struct tn_faithful_stop *stop)
{
    if (stop->is_interrupted) {
        tn_result_set_interrupted(run->result);
        return;
    }
    run->result->outcome = TN_OUTCOME_FAILED;
    const char *place = stop->place.text[0] ? stop->place.text : run->workload->name;
    tn_reason_set(&run->result->reason, "%.150s: %s: %.300s", place, run->result->allocator->name,
                  stop->reason.text);
}

static bool open_run(struct tn_run *run)
{
    struct own *own = run->own;
    const struct stage *stage = run->stage;
    struct tn_allocator_settings settings = stage->settings;
    struct tn_reason why;
    if (run->workload->lag_bytes > 0) {
        own->late = tn_late_backend_begin(&stage->streams_from, run->workload->lag_bytes);
        settings.backend = &own->late;
    }
    tarn_status status = run->result->allocator->open(&settings, &own->state, &why);
    if (status == TARN_STATUS_OK) return true;
    tn_result_set_unopened(run->result, status, &why);
    return false;
}

static void create_team(struct tn_run *run, size_t clocked_count)
{
    struct own *own = run->own;
    const struct stage *stage = run->stage;
    struct tn_faithful_setup setup = {
        .allocator = run->result->allocator,
        .state = own->state,
        .plan = stage->strict,
        .streams_from = &stage->streams_from,
        .clocked_pass_count_max = clocked_count,
    };
    struct tn_faithful_stop stop;
    own->team = tn_faithful_team_create(&setup, &stop);
    if (!own->team) fail(run, &stop);
}

static void end_team(struct tn_run *run)
{
    struct own *own = run->own;
    struct tn_faithful_stop stop;
    bool is_ok = !own->team || tn_faithful_team_destroy(own->team, &stop);
    own->team = NULL;
    if (!is_ok && run->result->outcome == TN_OUTCOME_MEASURED) fail(run, &stop);
}

static void close_run(struct tn_run *run)
{
    const struct own *own = run->own;
    end_team(run);
    run->result->allocator->close(own->state);
}

static bool play(struct tn_run *run, const struct tn_faithful_play *how, double *duration_ns_out)
{
    const struct own *own = run->own;
    struct tn_faithful_stop stop;
    if (tn_faithful_team_play(own->team, how, duration_ns_out, &stop)) return true;
    fail(run, &stop);
    return false;
}

/* --- passes that are verified -------------------------------------------------------------------- */

/* The verifier's slots are the plan's block numbers. */
static void play_verified(struct tn_run *run, const struct tn_faithful_plan *plan)
{
    const struct stage *stage = run->stage;
    struct tn_workload view = *run->workload;
    view.slot_count = plan->block_count;
    struct tn_verifier *verifier =
        tn_verifier_create(&view, run->result->allocator->alignment_bytes_max);
    if (!verifier) {
        tn_results_fail(run->result, 1, "there is not enough host memory to verify it");
        return;
    }
    bool is_touched = stage->touch.bytes_max > 0;
    struct tn_faithful_play how = { .plan = plan,
                                    .pass_count = 1,
                                    .verifier = verifier,
                                    .touch = is_touched ? &stage->touch : NULL,
                                    .verifies_contents = is_touched };
    double ignored;
    play(run, &how, &ignored);
    tn_verifier_destroy(verifier);
}

/* Ends the threads before it asks for the usage, since the threads' counts are only known then. */
static void play_first(struct tn_run *run)
{
    const struct own *own = run->own;
    const struct stage *stage = run->stage;
    if (run->is_harness) return;
    create_team(run, 0);
    if (own->team) play_verified(run, stage->strict);
    end_team(run);
    if (run->result->outcome == TN_OUTCOME_MEASURED)
        run->result->allocator->get_usage(own->state, &run->result->usage);
}

/* Threads of a pattern may hold more in later passes: in the first none meets another. */
static void play_last(struct tn_run *run)
{
    const struct own *own = run->own;
    const struct stage *stage = run->stage;
    if (run->is_harness) return;
    play_verified(run, stage->wanted);
    if (run->workload->is_recorded || run->workload->origin_thread_count == 1) return;
    end_team(run);
    struct tn_allocator_usage usage = { .footprint_bytes_max = 0 };
    run->result->allocator->get_usage(own->state, &usage);
    run->result->usage.footprint_bytes_max = usage.footprint_bytes_max;
}

/* --- what is timed ------------------------------------------------------------------------------- */

/* The harness has no memory to touch. */
static struct tn_faithful_play timed_play(const struct tn_run *run)
{
    const struct stage *stage = run->stage;
    bool is_touched = !run->is_harness && stage->touch.bytes_max > 0;
    return (struct tn_faithful_play){ .plan = stage->wanted,
                                      .pass_count = 1,
                                      .touch = is_touched ? &stage->touch : NULL };
}

static double clamp(double value, double min, double max)
{
    return value < min ? min : value > max ? max : value;
}

/* The duration of a pass in recorded time. */
static double recorded_ns(const struct tn_run *run)
{
    const struct tn_workload *workload = run->workload;
    double last_ns = (double)workload->origins[workload->body.count - 1].time_ns;
    return clamp(last_ns / run->options->speed, 1.0, last_ns / run->options->speed);
}

/* The number of passes with clocked calls: the one for single calls, or all repetitions that there is time
 * for. */
static size_t count_clocked(const struct tn_run *run)
{
    if (!has_recorded_time(run)) return 1;
    double budget_ns = run->options->time_seconds * 1e9;
    return (size_t)clamp(budget_ns / recorded_ns(run), 1.0, (double)run->options->repetitions);
}

static double warm_up(struct tn_run *run)
{
    const struct own *own = run->own;
    struct tn_faithful_play how = timed_play(run);
    double pass_ns;
    create_team(run, count_clocked(run));
    if (!own->team || !play(run, &how, &pass_ns) || !run->is_first) return 0.0;
    run->is_one_visit = has_recorded_time(run);
    run->result->pass_count = 1;
    if (has_recorded_time(run)) return recorded_ns(run);
    run->result->pass_count = tn_run_count_passes(run, pass_ns);
    return (double)run->result->pass_count * pass_ns;
}

static bool collect(struct tn_run *run, struct tn_faithful_samples *samples_out)
{
    const struct own *own = run->own;
    if (tn_faithful_team_collect(own->team, samples_out)) return true;
    tn_results_fail(run->result, 1,
                    "there is not enough host memory for the durations of its calls");
    return false;
}

/* The duration is the sum of all calls. */
static bool repeat_in_recorded_time(struct tn_run *run, double *duration_ns_out)
{
    struct own *own = run->own;
    struct tn_faithful_play how = timed_play(run);
    struct tn_faithful_samples samples;
    double ignored;
    how.speed = run->options->speed;
    how.is_clocked = true;
    if (!play(run, &how, &ignored) || !collect(run, &samples)) return false;
    *duration_ns_out = samples.calls_ns - own->clocked_ns;
    own->clocked_ns = samples.calls_ns;
    return true;
}

static bool repeat(struct tn_run *run, double *figures_out)
{
    const struct tn_result *result = run->result;
    struct tn_faithful_play how = timed_play(run);
    double duration_ns;
    how.pass_count = result->pass_count;
    bool is_played = has_recorded_time(run) ? repeat_in_recorded_time(run, &duration_ns)
                                            : play(run, &how, &duration_ns);
    if (is_played) figures_out[0] = duration_ns / (double)(result->pass_count * result->pair_count);
    return is_played;
}

/* In recorded time the repetitions have clocked the calls. */
static void time_single_calls(struct tn_run *run)
{
    struct tn_faithful_play how = timed_play(run);
    struct tn_faithful_samples samples;
    double ignored;
    how.is_clocked = true;
    if (!has_recorded_time(run) && !play(run, &how, &ignored)) return;
    if (!collect(run, &samples)) return;
    run->result->alloc_ns = samples.alloc_ns;
    run->result->free_ns = samples.free_ns;
    run->result->late_ns = samples.late_ns;
}

const struct tn_measure_method tn_measure_faithful = {
    .harness = &tn_allocator_null,
    .repetition_ns = TN_REPETITION_NS,
    .figure_count = 1,
    .own_bytes = sizeof(struct own),
    .stage_bytes = sizeof(struct stage),
    .stage_init = stage_init,
    .stage_fini = stage_fini,
    .open = open_run,
    .play_first = play_first,
    .warm_up = warm_up,
    .repeat = repeat,
    .time_single_calls = time_single_calls,
    .play_last = play_last,
    .close = close_run,
};
