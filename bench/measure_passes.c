/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_passes: what the allocators cost where one thread plays a workload over and over. */
#include "measure_passes.h"

#include <stdlib.h>

#include "clock.h"
#include "interrupt.h"
#include "memory_follow.h"
#include "progress.h"
#include "sliced_play.h"

/* A repetition lasts at least this long, so that the first, colder pass in it weighs little. */
static const double repetition_ns_min = 50e6;

/* More passes than this in one repetition add nothing. */
static const double pass_count_max = 1e6;

/* What all allocators have in common where memory is touched. */
struct stage {
    struct tn_touch touch;      /* bytes_max is 0: it is not */
    struct tn_device_work work; /* on a device, as the stream */
    tarn_stream stream;
    struct tn_allocator_settings settings;
};

/* One allocator on the workload. */
struct run {
    const struct tn_workload *workload;
    const struct tn_options *options;
    struct tn_result *result;
    struct tn_player player;
    struct tn_sliced_play sliced; /* for the repetitions */
    bool is_verified;             /* all but the allocator that does nothing */
    bool is_running;              /* false after a failure */
    bool is_open;                 /* the player */
    size_t body_count;            /* operations of the body that are played */
    double first_pass_ns;
    double *repetitions_ns; /* the time of a pair in each */
    size_t done_count;      /* of the repetitions */
    const struct stage *stage;
};

/* --- failure ------------------------------------------------------------------------------------- */

static void end_run(struct run *run)
{
    struct tn_reason ignored;
    run->is_running = false;
    if (!run->is_open) return;
    tn_player_free_all(&run->player, &ignored);
    tn_player_fini(&run->player);
    run->is_open = false;
}

static void fail_run(struct run *run, const char *text)
{
    run->result->outcome = TN_OUTCOME_FAILED;
    tn_reason_set(&run->result->reason, "%s: %s: %s", run->workload->name,
                  run->result->allocator->name, text);
    end_run(run);
}

/* The figures are of the repetitions that were done. */
static void note_done(struct run *run)
{
    run->result->repetition_count = run->done_count;
    run->result->pair_ns = tn_spread_compute(run->repetitions_ns, run->done_count);
}

static void interrupt_run(struct run *run)
{
    tn_result_set_interrupted(run->result);
    note_done(run);
    end_run(run);
}

static void fail_run_at(struct run *run, const struct tn_stop *stop, size_t first_place)
{
    tn_result_set_stopped(run->result, stop, first_place);
    if (stop->is_interrupted) note_done(run);
    end_run(run);
}

static double budget_ns(const struct run *run)
{
    return run->options->time_seconds * 1e9;
}

/* --- the steps of one run ------------------------------------------------------------------------ */

static bool add_live_blocks(const struct run *run, struct tn_verifier *verifier,
                            struct tn_reason *reason_out)
{
    for (size_t slot = 0; slot < run->player.slot_count; slot++) {
        const struct tn_block *block = &run->player.blocks[slot];
        if (block->address && !tn_verifier_add(verifier, slot, block->address, block->size_bytes,
                                               TN_VERIFIER_NO_PLACE, reason_out))
            return false;
    }
    return true;
}

/* The first pass also decides how much of the body is played: all of it, unless it takes too long
 * and may be cut. */
static bool play_first_body(struct run *run, struct tn_verifier *verifier)
{
    const struct tn_workload *workload = run->workload;
    uint64_t start_ns = tn_clock_now_ns();
    size_t done = 0;
    while (done < workload->body.count) {
        struct tn_stop stop;
        if (!tn_player_play_verified(&run->player, workload->body.items + done,
                                     workload->unit_count, verifier, workload->setup.count + done,
                                     &stop)) {
            fail_run_at(run, &stop, workload->setup.count + done);
            return false;
        }
        done += workload->unit_count;
        run->first_pass_ns = (double)(tn_clock_now_ns() - start_ns);
        if (run->first_pass_ns > budget_ns(run) / 4) break;
    }
    run->body_count = done;
    return true;
}

static bool play_first_pass(struct run *run, struct tn_verifier *verifier)
{
    const struct tn_workload *workload = run->workload;
    struct tn_stop stop;
    if (!tn_player_play_verified(&run->player, workload->setup.items, workload->setup.count,
                                 verifier, 0, &stop)) {
        fail_run_at(run, &stop, 0);
        return false;
    }
    return play_first_body(run, verifier);
}

static void verify_first_pass(struct run *run)
{
    struct tn_verifier *verifier =
        tn_verifier_create(run->workload, run->result->allocator->alignment_bytes_max);
    if (!verifier) {
        fail_run(run, "there is not enough host memory to verify it");
        return;
    }
    struct tn_reason why;
    if (play_first_pass(run, verifier) &&
        tn_player_get_usage(&run->player, &run->result->usage, &why) != TARN_STATUS_OK)
        fail_run(run, why.text);
    tn_verifier_destroy(verifier);
}

/* The allocator that does nothing has no addresses to verify. */
static void play_first_pass_unverified(struct run *run)
{
    struct tn_stop stop;
    run->body_count = run->workload->body.count;
    if (!tn_player_play(&run->player, run->workload->setup.items, run->workload->setup.count,
                        &stop))
        fail_run_at(run, &stop, 0);
}

static void play_last_pass(struct run *run, struct tn_verifier *verifier)
{
    struct tn_stop stop;
    struct tn_reason reason;
    if (!add_live_blocks(run, verifier, &reason))
        fail_run(run, reason.text);
    else if (!tn_player_play_verified(&run->player, run->workload->body.items, run->body_count,
                                      verifier, run->workload->setup.count, &stop))
        fail_run_at(run, &stop, run->workload->setup.count);
}

static void verify_last_pass(struct run *run)
{
    if (!run->is_verified) return;
    struct tn_verifier *verifier =
        tn_verifier_create(run->workload, run->result->allocator->alignment_bytes_max);
    if (!verifier) {
        fail_run(run, "there is not enough host memory to verify it");
        return;
    }
    play_last_pass(run, verifier);
    tn_verifier_destroy(verifier);
}

static void open_run(struct run *run)
{
    const struct tn_allocator *allocator = run->result->allocator;
    struct tn_reason why;
    tarn_status status = tn_player_init(&run->player, allocator, &run->stage->settings,
                                        run->workload->slot_count, &why);
    run->is_running = run->is_open = status == TARN_STATUS_OK;
    if (!run->is_running) {
        tn_result_set_unopened(run->result, status, &why);
        return;
    }
    /* The allocator that does nothing has no memory to touch. */
    if (run->stage->touch.bytes_max > 0 && run->is_verified &&
        tn_player_begin_touch(&run->player, &run->stage->touch, run->stage->stream, &why) !=
            TARN_STATUS_OK)
        fail_run(run, why.text);
}

static void start_run(struct run *run)
{
    open_run(run);
    if (!run->is_running) return;
    if (run->is_verified)
        verify_first_pass(run);
    else
        play_first_pass_unverified(run);
}

/* Plays the body once, and returns how long that took. */
static double play_body(struct run *run)
{
    struct tn_stop stop;
    uint64_t start_ns = tn_clock_now_ns();
    if (!tn_player_play(&run->player, run->workload->body.items, run->body_count, &stop)) {
        fail_run_at(run, &stop, run->workload->setup.count);
        return 0.0;
    }
    return (double)(tn_clock_now_ns() - start_ns);
}

static double clamp(double value, double min, double max)
{
    return value < min ? min : value > max ? max : value;
}

/* Chooses passes and repetitions so that they fill the time, and no more. */
static void plan_repetitions(struct run *run, double pass_ns)
{
    struct tn_result *result = run->result;
    double wanted = (double)run->options->repetitions;
    double repetition_ns = clamp(budget_ns(run) / wanted, 0.0, repetition_ns_min);
    pass_ns = clamp(pass_ns, 1.0, pass_ns);
    result->pass_count = (size_t)clamp(repetition_ns / pass_ns, 1.0, pass_count_max);
    if (!tn_sliced_play_init(&run->sliced, run->body_count, result->pass_count, pass_ns)) {
        fail_run(run, "there is not enough host memory to time it");
        return;
    }
    result->pass_count = tn_sliced_play_round_passes(&run->sliced, result->pass_count);
    result->repetition_count =
        (size_t)clamp(budget_ns(run) / ((double)result->pass_count * pass_ns), 1.0, wanted);
}

/* In the first pass an allocator also took from the vendor what it needs, which can be most of its time; only a long
 * trace, which cannot be cut, is not worth another pass. */
static void warm_up(struct run *run)
{
    double pass_ns = run->first_pass_ns;
    bool is_cut = run->body_count < run->workload->body.count;
    if (is_cut || run->first_pass_ns < budget_ns(run) / 2) pass_ns = play_body(run);
    if (run->is_running) plan_repetitions(run, pass_ns);
}

static void repeat(struct run *run, size_t repetition)
{
    struct tn_result *result = run->result;
    if (repetition >= result->repetition_count) return;
    struct tn_stop stop;
    double pass_ns;
    if (!tn_sliced_play_run(&run->sliced, &run->player, run->workload->body.items,
                            result->pass_count, &pass_ns, &stop)) {
        fail_run_at(run, &stop, run->workload->setup.count);
        return;
    }
    run->repetitions_ns[repetition] = pass_ns / (double)result->pair_count;
    run->done_count = repetition + 1;
}

static void play_single_calls(struct run *run, struct tn_samples *samples)
{
    struct tn_stop stop;
    if (!tn_player_play_timed(&run->player, run->workload->body.items, run->body_count, samples,
                              &stop)) {
        fail_run_at(run, &stop, run->workload->setup.count);
        return;
    }
    run->result->alloc_ns = tn_percentiles_compute(samples->alloc_ns, samples->alloc_count);
    run->result->free_ns = tn_percentiles_compute(samples->free_ns, samples->free_count);
}

static void time_single_calls(struct run *run)
{
    struct tn_samples samples = { NULL, NULL, 0, 0 };
    samples.alloc_ns = malloc(run->body_count * sizeof samples.alloc_ns[0]);
    samples.free_ns = malloc(run->body_count * sizeof samples.free_ns[0]);
    if (samples.alloc_ns && samples.free_ns)
        play_single_calls(run, &samples);
    else
        fail_run(run, "there is not enough host memory for the durations of its calls");
    free(samples.alloc_ns);
    free(samples.free_ns);
}

static void finish_run(struct run *run)
{
    struct tn_reason why;
    if (!tn_player_free_all(&run->player, &why)) {
        fail_run(run, why.text);
        return;
    }
    tn_player_fini(&run->player);
    run->is_running = run->is_open = false;
    run->result->pair_ns = tn_spread_compute(run->repetitions_ns, run->result->repetition_count);
    run->result->outcome = TN_OUTCOME_MEASURED;
}

static void play_followed(struct run *run, struct tn_memory_follow *follow)
{
    const struct tn_workload *workload = run->workload;
    struct tn_stop stop;
    if (!tn_memory_follow_play(follow, &run->player, workload->setup.items, workload->setup.count,
                               &stop))
        fail_run_at(run, &stop, 0);
    else if (!tn_memory_follow_play(follow, &run->player, workload->body.items, run->body_count,
                                    &stop))
        fail_run_at(run, &stop, workload->setup.count);
    else
        end_run(run);
    tn_memory_log_finish(follow->log);
}

/* On an instance of its own, as the first pass. */
static void follow(struct run *run)
{
    struct tn_memory_follow follow;
    open_run(run);
    if (!run->is_running) return;
    if (tn_memory_follow_init(&follow, run->workload->setup.count + run->body_count, NULL))
        play_followed(run, &follow);
    else
        fail_run(run, "there is not enough host memory to note what it holds");
    run->result->memory = follow.log;
}

/* --- all runs, taking turns ---------------------------------------------------------------------- */

static void count_pairs(struct run *run)
{
    struct tn_workload_extent extent;
    if (!tn_workload_measure(run->workload, run->body_count, &extent)) {
        fail_run(run, "there is not enough host memory to go through the workload");
        return;
    }
    run->result->pair_count = extent.alloc_count;
    run->result->live_bytes_max = extent.live_bytes_max;
    run->result->live_count_max = extent.live_count_max;
}

typedef void (*run_step)(struct run *run);

static void take_turns(struct run *runs, size_t count, const char *what, run_step step)
{
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].is_running) continue;
        tn_progress_show("%s %s: %s: %s", runs[i].workload->bench, runs[i].workload->name,
                         runs[i].result->allocator->name, what);
        if (tn_interrupt_is_wanted())
            interrupt_run(&runs[i]);
        else
            step(&runs[i]);
    }
}

static void repeat_in_turns(struct run *runs, size_t count, size_t repetition_count)
{
    for (size_t repetition = 0; repetition < repetition_count; repetition++) {
        tn_progress_set_share((double)repetition / (double)repetition_count);
        for (size_t i = 0; i < count; i++) {
            if (!runs[i].is_running) continue;
            tn_progress_show("%s %s: %s: repetition %zu of %zu", runs[i].workload->bench,
                             runs[i].workload->name, runs[i].result->allocator->name,
                             repetition + 1, runs[i].result->repetition_count);
            repeat(&runs[i], repetition);
        }
    }
}

static void follow_memory(struct run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (runs[i].result->outcome != TN_OUTCOME_MEASURED || !runs[i].is_verified) continue;
        tn_progress_show("%s %s: %s: memory over time", runs[i].workload->bench,
                         runs[i].workload->name, runs[i].result->allocator->name);
        follow(&runs[i]);
    }
}

static void run_together(struct run *runs, size_t count, size_t repetition_count)
{
    for (size_t i = 0; i < count; i++)
        runs[i].is_running = runs[i].result->outcome == TN_OUTCOME_MEASURED;
    take_turns(runs, count, "first pass", start_run);
    take_turns(runs, count, "counting", count_pairs);
    take_turns(runs, count, "warming up", warm_up);
    repeat_in_turns(runs, count, repetition_count);
    take_turns(runs, count, "single calls", time_single_calls);
    take_turns(runs, count, "last pass", verify_last_pass);
    take_turns(runs, count, "freeing", finish_run);
    if (runs[0].workload->shows_memory) follow_memory(runs, count);
}
/* --- one workload -------------------------------------------------------------------------------- */

/* runs[0] is the allocator that does nothing. */
static void run_all(struct run *runs, size_t run_count, size_t repetition_count,
                    bool is_interleaved)
{
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

static bool init_run(struct run *run, const struct tn_workload *workload,
                     const struct tn_options *options, const struct stage *stage,
                     struct tn_result *result)
{
    *run = (struct run){
        .workload = workload,
        .options = options,
        .stage = stage,
        .result = result,
        .is_verified = result->allocator != &tn_allocator_null,
        .repetitions_ns = calloc(options->repetitions, sizeof run->repetitions_ns[0]),
    };
    return run->repetitions_ns != NULL;
}

static void stage_fini(struct stage *stage)
{
    if (!stage->touch.work) return;
    if (stage->stream) tn_device_work_stream_destroy(&stage->work, stage->stream);
    tn_device_work_fini(&stage->work);
}

/* On a device, work is submitted to a stream, of the backend that memory is taken from. */
static bool stage_init(struct stage *stage, const struct tn_options *options, bool is_host,
                       struct tn_reason *reason_out)
{
    *stage = (struct stage){ .settings = options->settings };
    stage->touch.bytes_max = options->touch_bytes;
    if (is_host || options->touch_bytes == 0) return true;
    if (tn_device_work_init(&stage->work, options->settings.device, reason_out) != TARN_STATUS_OK)
        return false;
    stage->touch.work = &stage->work;
    stage->settings.backend = &stage->work.backend;
    tarn_backend_result result = tn_device_work_stream_create(&stage->work, &stage->stream);
    if (result.status == TARN_STATUS_OK) return true;
    tn_device_work_explain(result, reason_out);
    stage_fini(stage);
    return false;
}

static void run_allocators(const struct tn_workload *workload, const struct tn_options *options,
                           const struct stage *stage, struct tn_result *results,
                           bool is_interleaved)
{
    struct run runs[1 + TN_ALLOCATORS_MAX];
    struct tn_result harness = { .workload = workload, .allocator = &tn_allocator_null };
    size_t run_count = 0;
    bool has_memory = init_run(&runs[run_count++], workload, options, stage, &harness);
    for (size_t i = 0; i < options->allocator_count && has_memory; i++)
        has_memory = init_run(&runs[run_count++], workload, options, stage, &results[i]);

    if (has_memory)
        run_all(runs, run_count, options->repetitions, is_interleaved);
    else
        tn_results_fail(results, options->allocator_count, "there is not enough host memory");
    for (size_t i = 0; i < run_count; i++) {
        free(runs[i].repetitions_ns);
        tn_sliced_play_fini(&runs[i].sliced);
    }
}
void tn_measure_passes(const struct tn_workload *workload, const struct tn_options *options,
                       const struct tn_machine *machine, bool is_interleaved,
                       struct tn_result *results)
{
    struct stage stage;
    struct tn_reason reason;
    if (!stage_init(&stage, options, machine->is_host, &reason)) {
        tn_results_fail(results, options->allocator_count, reason.text);
        return;
    }
    run_allocators(workload, options, &stage, results, is_interleaved);
    stage_fini(&stage);
}
