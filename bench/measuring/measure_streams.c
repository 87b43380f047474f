/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_streams: what an allocator costs a thread that submits work to several streams. */
#include "measure_streams.h"

#include <stdlib.h>

#include "../playing/stream_player.h"

enum {
    CHUNK_BYTES = 1024, /* what pools round to */
    STEP_BYTES = 2 << 20
};

/* The figures of a repetition. */
enum {
    TIME_HOST, /* of a pair, as the next */
    TIME_TOTAL,
    TIME_COUNT
};

/* Shared by all allocators: the device that does the work, and the source of memory. */
struct stage {
    struct tn_device_work work;
    bool has_work;
    struct tn_allocator_settings settings;
};

/* One allocator on the workload, or the work alone. */
struct own {
    struct tn_stream_player player;
    bool is_open; /* the player */
};

/* --- the stage -------------------------------------------------------------------------------------- */

/* A pool's first piece has room for the live blocks and no more, if the pool can be told and does not round
 * otherwise; whatever --initial says. So a stream that wants memory finds only what was just freed. A contiguous pool maps small steps
 * for the same reason. */
static size_t tight_bytes(const struct tn_workload *workload)
{
    size_t bytes = 0;
    for (size_t i = 0; i < workload->setup.count; i++)
        bytes +=
            (workload->setup.items[i].size_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
    return bytes;
}

static tarn_status stage_init(void *self, const struct tn_workload *workload,
                              const struct tn_options *options, const struct tn_machine *machine,
                              struct tn_reason *reason_out)
{
    struct stage *stage = self;
    (void)machine;
    tarn_status status = tn_device_work_init(&stage->work, options->settings.device, reason_out);
    stage->has_work = status == TARN_STATUS_OK;
    if (!stage->has_work) return status;
    stage->settings = options->settings;
    stage->settings.backend = &stage->work.backend;
    stage->settings.has_one_stream = false;
    stage->settings.initial_bytes = tight_bytes(workload);
    if (stage->settings.step_bytes == 0) stage->settings.step_bytes = STEP_BYTES;
    return TARN_STATUS_OK;
}

static void stage_fini(void *self)
{
    struct stage *stage = self;
    if (stage->has_work) tn_device_work_fini(&stage->work);
}

/* --- the instance ----------------------------------------------------------------------------------- */

static void close_run(struct tn_run *run)
{
    struct own *own = run->own;
    struct tn_reason why;
    if (!own->is_open) return;
    own->is_open = false;
    if (tn_stream_player_fini(&own->player, &why) || run->result->outcome != TN_OUTCOME_MEASURED)
        return;
    run->result->outcome = TN_OUTCOME_FAILED;
    tn_reason_set(&run->result->reason, "%s: %s: freeing: %.350s", run->workload->name,
                  run->result->allocator->name, why.text);
}

static bool open_player(struct tn_run *run, const struct tn_allocator_settings *settings)
{
    struct own *own = run->own;
    struct stage *stage = run->stage;
    struct tn_stop stop = { .is_interrupted = false };
    tarn_status status = tn_stream_player_init(&own->player, run->result->allocator, settings,
                                               &stage->work, run->workload, &stop);
    own->is_open = status == TARN_STATUS_OK;
    if (own->is_open) return true;
    if (status == TARN_STATUS_NOT_SUPPORTED)
        tn_result_set_unopened(run->result, status, &stop.reason);
    else
        tn_result_set_stopped(run->result, &stop, 0);
    return false;
}

/* --- the pass that is verified ---------------------------------------------------------------------- */

static void count_calls(struct tn_run *run, struct tn_stream_calls setup)
{
    const struct own *own = run->own;
    struct tn_stream_figures *figures = &run->result->streams;
    struct tn_stream_calls all = tn_counted_backend_calls();
    figures->calls = (struct tn_stream_calls){
        .record_count = all.record_count - setup.record_count,
        .query_count = all.query_count - setup.query_count,
        .wait_count = all.wait_count - setup.wait_count,
        .block_count = all.block_count - setup.block_count + own->player.host_wait_count,
    };
    figures->counted_pair_count = run->workload->body.count / 2;
}

static void play_first(struct tn_run *run)
{
    struct own *own = run->own;
    const struct stage *stage = run->stage;
    run->result->pair_count = run->workload->body.count / 2;
    if (run->is_harness) return;
    tarn_backend counted = tn_counted_backend_begin(&stage->work.backend);
    struct tn_allocator_settings settings = stage->settings;
    settings.backend = &counted;
    if (!open_player(run, &settings)) return;
    struct tn_stream_calls setup = tn_counted_backend_calls();
    struct tn_stop stop = { .is_interrupted = false };
    if (tn_stream_player_play_checked(&own->player, run->workload->body.count, &stop)) {
        count_calls(run, setup);
        run->result->allocator->get_usage(own->player.state, &run->result->usage);
    } else {
        tn_result_set_stopped(run->result, &stop, run->workload->setup.count);
    }
    close_run(run);
}

/* --- what is timed ---------------------------------------------------------------------------------- */

static bool play(struct tn_run *run, struct tn_stream_play *play_inout)
{
    struct own *own = run->own;
    struct tn_stop stop = { .is_interrupted = false };
    size_t count = run->workload->body.count;
    bool is_played = run->is_harness
                         ? tn_stream_player_play_work(&own->player, count, play_inout, &stop)
                         : tn_stream_player_play(&own->player, count, play_inout, &stop);
    if (!is_played) tn_result_set_stopped(run->result, &stop, run->workload->setup.count);
    return is_played;
}

static double warm_up(struct tn_run *run)
{
    const struct stage *stage = run->stage;
    struct tn_stream_play once = { 0.0, 0.0 };
    if (!open_player(run, &stage->settings) || !play(run, &once) || !run->is_first) return 0.0;
    run->result->pass_count = tn_run_count_passes(run, once.total_ns);
    return once.total_ns * (double)run->result->pass_count;
}

static bool repeat(struct tn_run *run, double *figures_out)
{
    struct tn_stream_play all = { 0.0, 0.0 };
    for (size_t i = 0; i < run->result->pass_count; i++)
        if (!play(run, &all)) return false;
    double pair_count = (double)run->result->pass_count * (double)run->result->pair_count;
    figures_out[TIME_HOST] = all.host_ns / pair_count;
    figures_out[TIME_TOTAL] = all.total_ns / pair_count;
    return true;
}

static bool play_single_calls(struct tn_run *run, struct tn_samples *samples)
{
    struct own *own = run->own;
    struct tn_stop stop = { .is_interrupted = false };
    size_t count = run->workload->body.count;
    if (tn_stream_player_play_timed(&own->player, count, samples, &stop)) return true;
    tn_result_set_stopped(run->result, &stop, run->workload->setup.count);
    return false;
}

/* For allocators; the work alone makes no calls to one. */
static void time_single_calls(struct tn_run *run)
{
    if (!run->is_harness) tn_run_time_calls(run, play_single_calls);
}

static void summarise(struct tn_run *run, const struct tn_result *harness)
{
    struct tn_result *result = run->result;
    result->streams.total_ns = tn_spread_compute(run->figures[TIME_TOTAL], run->done_count);
    result->streams.work_total_ns = harness->streams.total_ns.median;
    /* A result without the time of the work alone cannot be used. */
    if (result->outcome != TN_OUTCOME_MEASURED || harness->outcome == TN_OUTCOME_MEASURED) return;
    result->outcome = harness->outcome;
    result->reason = harness->reason;
}

/* The harness is the work alone, on blocks that raw gave at its start. */
const struct tn_measure_method tn_measure_streams = {
    .harness = &tn_allocator_raw,
    .repetition_ns = TN_REPETITION_NS,
    .figure_count = TIME_COUNT,
    .own_bytes = sizeof(struct own),
    .stage_bytes = sizeof(struct stage),
    .stage_init = stage_init,
    .stage_fini = stage_fini,
    .play_first = play_first,
    .warm_up = warm_up,
    .repeat = repeat,
    .time_single_calls = time_single_calls,
    .close = close_run,
    .summarise = summarise,
};
