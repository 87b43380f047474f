/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_streams: what an allocator costs a thread that submits work to several streams. */
#include "measure_streams.h"

#include <stdlib.h>

#include "interrupt.h"
#include "progress.h"
#include "stream_player.h"

static const double repetition_ns_min = 50e6;

enum {
    CHUNK_BYTES = 1024, /* what pools round to */
    STEP_BYTES = 2 << 20
};

/* One allocator on the workload, or the work alone. */
struct run {
    const struct tn_workload *workload;
    const struct tn_options *options;
    struct tn_allocator_settings settings;
    struct tn_device_work *work;
    struct tn_result *result;
    struct tn_stream_player player;
    bool is_work_alone;
    bool is_running;   /* the player is open */
    size_t body_count; /* operations of the body that are played */
    double *host_ns;   /* of a pair in each repetition */
    double *total_ns;
};

static double budget_ns(const struct run *run)
{
    return run->options->time_seconds * 1e9;
}

static void end_run(struct run *run)
{
    struct tn_reason why;
    run->is_running = false;
    if (tn_stream_player_fini(&run->player, &why) || run->result->outcome != TN_OUTCOME_MEASURED)
        return;
    run->result->outcome = TN_OUTCOME_FAILED;
    tn_reason_set(&run->result->reason, "%s: %s: freeing: %.350s", run->workload->name,
                  run->result->allocator->name, why.text);
}

static bool open_player(struct run *run, const struct tn_allocator_settings *settings)
{
    struct tn_stop stop = { .is_interrupted = false };
    tarn_status status = tn_stream_player_init(&run->player, run->result->allocator, settings,
                                               run->work, run->workload, &stop);
    run->is_running = status == TARN_STATUS_OK;
    if (run->is_running) return true;
    if (status == TARN_STATUS_NOT_SUPPORTED)
        tn_result_set_unopened(run->result, status, &stop.reason);
    else
        tn_result_set_stopped(run->result, &stop, 0);
    return false;
}

/* --- the pass that is verified ---------------------------------------------------------------------- */

static void count_calls(struct run *run, struct tn_stream_calls setup)
{
    struct tn_stream_figures *figures = &run->result->streams;
    struct tn_stream_calls all = tn_counted_backend_calls();
    figures->calls = (struct tn_stream_calls){
        .record_count = all.record_count - setup.record_count,
        .query_count = all.query_count - setup.query_count,
        .wait_count = all.wait_count - setup.wait_count,
        .block_count = all.block_count - setup.block_count + run->player.host_wait_count,
    };
    figures->counted_pair_count = run->body_count / 2;
}

/* Also decides how much of the body is played: all of it, unless it takes too long. */
static void verify(struct run *run)
{
    run->body_count = run->workload->body.count;
    if (run->is_work_alone) return;
    tarn_backend counted = tn_counted_backend_begin(&run->work->backend);
    struct tn_allocator_settings settings = run->settings;
    settings.backend = &counted;
    if (!open_player(run, &settings)) return;
    struct tn_stream_calls setup = tn_counted_backend_calls();
    struct tn_stop stop = { .is_interrupted = false };
    if (tn_stream_player_play_checked(&run->player, run->body_count, &stop)) {
        count_calls(run, setup);
        run->result->allocator->get_usage(run->player.state, &run->result->usage);
    } else {
        tn_result_set_stopped(run->result, &stop, run->workload->setup.count);
    }
    end_run(run);
}

/* --- what is timed ---------------------------------------------------------------------------------- */

static bool play(struct run *run, struct tn_stream_play *play_inout)
{
    struct tn_stop stop = { .is_interrupted = false };
    bool is_played =
        run->is_work_alone
            ? tn_stream_player_play_work(&run->player, run->body_count, play_inout, &stop)
            : tn_stream_player_play(&run->player, run->body_count, play_inout, &stop);
    if (is_played) return true;
    tn_result_set_stopped(run->result, &stop, run->workload->setup.count);
    end_run(run);
    return false;
}

static void warm_up(struct run *run)
{
    struct tn_stream_play once = { 0.0, 0.0 };
    if (!open_player(run, &run->settings) || !play(run, &once)) return;
    double wanted = (double)run->options->repetitions;
    double repetition_ns = budget_ns(run) / wanted;
    if (repetition_ns > repetition_ns_min) repetition_ns = repetition_ns_min;
    double passes = repetition_ns / (once.total_ns + 1.0);
    run->result->pass_count = passes > 1.0 ? (size_t)passes : 1;
}

/* At least once, and not again when the time would not do. */
static bool has_time(const struct run *run)
{
    size_t done = run->result->repetition_count;
    double pair_count = (double)run->result->pass_count * (double)run->body_count / 2.0;
    double duration_ns = 0.0;
    for (size_t i = 0; i < done; i++)
        duration_ns += run->total_ns[i] * pair_count;
    return done == 0 || duration_ns * (double)(done + 1) / (double)done <= budget_ns(run);
}

static void repeat(struct run *run)
{
    struct tn_stream_play all = { 0.0, 0.0 };
    if (!run->is_running || !has_time(run)) return;
    for (size_t i = 0; i < run->result->pass_count; i++)
        if (!play(run, &all)) return;
    size_t repetition = run->result->repetition_count++;
    double pair_count = (double)run->result->pass_count * (double)run->body_count / 2.0;
    run->host_ns[repetition] = all.host_ns / pair_count;
    run->total_ns[repetition] = all.total_ns / pair_count;
}

/* Also when the user has ended it, of what was done. */
static void finish_run(struct run *run)
{
    struct tn_result *result = run->result;
    if (run->is_running) end_run(run);
    result->pair_count = run->body_count / 2;
    result->pair_ns = tn_spread_compute(run->host_ns, result->repetition_count);
    result->streams.total_ns = tn_spread_compute(run->total_ns, result->repetition_count);
}

/* --- all of them ------------------------------------------------------------------------------------ */

typedef void (*run_step)(struct run *run);

static void take_turns(struct run *runs, size_t count, const char *what, run_step step)
{
    for (size_t i = 0; i < count; i++) {
        if (runs[i].result->outcome != TN_OUTCOME_MEASURED) continue;
        tn_progress_show("streams %s: %s: %s", runs[i].workload->name,
                         runs[i].is_work_alone ? "work alone" : runs[i].result->allocator->name,
                         what);
        if (!tn_interrupt_is_wanted())
            step(&runs[i]);
        else
            tn_result_set_interrupted(runs[i].result);
    }
}

/* runs[0] is the work alone. */
static void run_all(struct run *runs, size_t count, size_t repetition_count)
{
    take_turns(runs, count, "first pass", verify);
    take_turns(runs, count, "warming up", warm_up);
    for (size_t i = 0; i < repetition_count; i++) {
        tn_progress_set_share((double)i / (double)repetition_count);
        take_turns(runs, count, "repetitions", repeat);
    }
    for (size_t i = 0; i < count; i++)
        finish_run(&runs[i]);
    for (size_t i = 0; i < count; i++) {
        runs[i].result->harness_pair_ns = runs[0].result->pair_ns.median;
        runs[i].result->streams.work_total_ns = runs[0].result->streams.total_ns.median;
    }
}

/* A pool's first piece has room for what is live and no more, so that a stream that wants memory
 * finds only what was just freed. As far as the pool can be told, and does not round otherwise. A contiguous one maps
 * small steps for the same reason. */
static size_t tight_bytes(const struct tn_workload *workload, size_t bytes_max)
{
    size_t bytes = 0;
    for (size_t i = 0; i < workload->setup.count; i++)
        bytes +=
            (workload->setup.items[i].size_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
    return bytes < bytes_max ? bytes : bytes_max;
}

static bool init_run(struct run *run, const struct tn_workload *workload,
                     const struct tn_options *options, struct tn_device_work *work,
                     struct tn_result *result)
{
    *run = (struct run){
        .workload = workload,
        .options = options,
        .settings = options->settings,
        .work = work,
        .result = result,
        .host_ns = calloc(options->repetitions, sizeof run->host_ns[0]),
        .total_ns = calloc(options->repetitions, sizeof run->total_ns[0]),
    };
    run->settings.backend = &work->backend;
    run->settings.has_one_stream = false;
    run->settings.initial_bytes = tight_bytes(workload, options->settings.initial_bytes);
    if (run->settings.step_bytes == 0) run->settings.step_bytes = STEP_BYTES;
    result->stream_count = workload->stream_count;
    result->is_interleaved = true;
    return run->host_ns && run->total_ns;
}

static void run_on(struct tn_device_work *work, const struct tn_workload *workload,
                   const struct tn_options *options, struct tn_result *results)
{
    struct run runs[1 + TN_ALLOCATORS_MAX];
    struct tn_result alone = { .workload = workload, .allocator = &tn_allocator_raw };
    size_t count = 0;
    bool has_memory = init_run(&runs[count++], workload, options, work, &alone);
    runs[0].is_work_alone = true;
    for (size_t i = 0; i < options->allocator_count; i++)
        has_memory = init_run(&runs[count++], workload, options, work, &results[i]) && has_memory;
    if (has_memory) run_all(runs, count, options->repetitions);
    for (size_t i = 0; i < options->allocator_count; i++) {
        if (!has_memory) tn_result_set_no_memory(&results[i]);
        /* Without the work alone there is nothing to compare with. */
        if (alone.outcome == TN_OUTCOME_MEASURED || results[i].outcome != TN_OUTCOME_MEASURED)
            continue;
        results[i].outcome = alone.outcome;
        results[i].reason = alone.reason;
    }
    for (size_t i = 0; i < count; i++) {
        free(runs[i].host_ns);
        free(runs[i].total_ns);
    }
}

void tn_measure_streams(const struct tn_workload *workload, const struct tn_options *options,
                        struct tn_result *results)
{
    struct tn_device_work work;
    struct tn_reason reason;
    tarn_status status = tn_device_work_init(&work, options->settings.device, &reason);
    if (status == TARN_STATUS_OK) {
        run_on(&work, workload, options, results);
        tn_device_work_fini(&work);
        return;
    }
    for (size_t i = 0; i < options->allocator_count; i++)
        if (results[i].outcome == TN_OUTCOME_MEASURED)
            tn_result_set_unopened(&results[i], status, &reason);
}
