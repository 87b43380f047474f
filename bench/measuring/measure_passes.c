/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_passes: what the allocators cost when one thread plays a workload over and over. */
#include "measure_passes.h"

#include <stdlib.h>

#include "../common/clock.h"
#include "../playing/sliced_play.h"
#include "memory_follow.h"

/* Short passes are repeated this long to warm up. */
static const double warm_up_ns = 1e6;

/* Shared by all allocators, if memory is touched. */
struct stage {
    struct tn_touch touch;      /* bytes_max is 0: it is not */
    struct tn_device_work work; /* on a device, as the stream */
    tarn_stream stream;
    struct tn_allocator_settings settings;
};

/* One allocator on the workload. */
struct own {
    struct tn_player player;
    struct tn_sliced_play sliced; /* for the repetitions */
    size_t body_count;            /* operations of the body that are played */
    double first_pass_ns;
};

/* --- the stage ----------------------------------------------------------------------------------- */

static void stage_fini(void *self)
{
    struct stage *stage = self;
    if (!stage->touch.work) return;
    if (stage->stream) tn_device_work_stream_destroy(&stage->work, stage->stream);
    tn_device_work_fini(&stage->work);
}

/* On a device, work is submitted to a stream, of the backend that the allocators take memory from. */
static tarn_status stage_init(void *self, const struct tn_workload *workload,
                              const struct tn_options *options, const struct tn_machine *machine,
                              struct tn_reason *reason_out)
{
    struct stage *stage = self;
    (void)workload;
    stage->settings = options->settings;
    stage->touch.bytes_max = options->touch_bytes;
    if (machine->is_host || options->touch_bytes == 0) return TARN_STATUS_OK;
    tarn_status status = tn_device_work_init(&stage->work, options->settings.device, reason_out);
    if (status != TARN_STATUS_OK) return status;
    stage->touch.work = &stage->work;
    stage->settings.backend = &stage->work.backend;
    tarn_backend_result result = tn_device_work_stream_create(&stage->work, &stage->stream);
    if (result.status == TARN_STATUS_OK) return TARN_STATUS_OK;
    tn_device_work_explain(result, reason_out);
    stage_fini(stage);
    return result.status;
}

/* --- the instance -------------------------------------------------------------------------------- */

static void fail(struct tn_run *run, const char *text)
{
    tn_results_fail(run->result, 1, text);
}

static double budget_ns(const struct tn_run *run)
{
    return run->options->time_seconds * 1e9;
}

/* The harness has no memory to touch. */
static bool open_run(struct tn_run *run)
{
    struct own *own = run->own;
    const struct stage *stage = run->stage;
    struct tn_reason why;
    tarn_status status = tn_player_init(&own->player, run->result->allocator, &stage->settings,
                                        run->workload->slot_count, &why);
    if (status != TARN_STATUS_OK) {
        tn_result_set_unopened(run->result, status, &why);
        return false;
    }
    if (stage->touch.bytes_max == 0 || run->is_harness) return true;
    status = tn_player_begin_touch(&own->player, &stage->touch, stage->stream, &why);
    if (status == TARN_STATUS_NOT_SUPPORTED)
        tn_result_set_unopened(run->result, status, &why);
    else if (status != TARN_STATUS_OK)
        fail(run, why.text);
    return true;
}

/* After a failure, live blocks are freed without further messages. */
static void close_run(struct tn_run *run)
{
    struct own *own = run->own;
    struct tn_reason why;
    if (!tn_player_free_all(&own->player, &why) && run->result->outcome == TN_OUTCOME_MEASURED)
        fail(run, why.text);
    tn_player_fini(&own->player);
}

static bool play_setup(struct tn_run *run)
{
    struct own *own = run->own;
    const struct tn_operations *setup = &run->workload->setup;
    struct tn_stop stop;
    if (tn_player_play(&own->player, setup->items, setup->count, &stop)) return true;
    tn_result_set_stopped(run->result, &stop, 0);
    return false;
}

/* Plays the body once, and returns how long that took. */
static double play_body(struct tn_run *run)
{
    struct own *own = run->own;
    struct tn_stop stop;
    uint64_t start_ns = tn_clock_now_ns();
    if (!tn_player_play(&own->player, run->workload->body.items, own->body_count, &stop)) {
        tn_result_set_stopped(run->result, &stop, run->workload->setup.count);
        return 0.0;
    }
    return (double)(tn_clock_now_ns() - start_ns);
}

/* --- the first pass ------------------------------------------------------------------------------ */

/* The first pass also decides how much of the body is played from then on: all, unless that takes too long
 * and the body may be cut. */
static bool play_first_body(struct tn_run *run, struct tn_verifier *verifier)
{
    struct own *own = run->own;
    const struct tn_workload *workload = run->workload;
    uint64_t start_ns = tn_clock_now_ns();
    size_t done = 0;
    while (done < workload->body.count) {
        struct tn_stop stop;
        if (!tn_player_play_verified(&own->player, workload->body.items + done,
                                     workload->unit_count, verifier, workload->setup.count + done,
                                     &stop)) {
            tn_result_set_stopped(run->result, &stop, workload->setup.count + done);
            return false;
        }
        done += workload->unit_count;
        own->first_pass_ns = (double)(tn_clock_now_ns() - start_ns);
        if (own->first_pass_ns > budget_ns(run) / 4) break;
    }
    own->body_count = done;
    return true;
}

static bool play_first_setup(struct tn_run *run, struct tn_verifier *verifier)
{
    struct own *own = run->own;
    const struct tn_operations *setup = &run->workload->setup;
    struct tn_stop stop;
    if (tn_player_play_verified(&own->player, setup->items, setup->count, verifier, 0, &stop))
        return true;
    tn_result_set_stopped(run->result, &stop, 0);
    return false;
}

/* Fills in the figures of the part of the body that is played. */
static void count_pairs(struct tn_run *run)
{
    const struct own *own = run->own;
    struct tn_workload_extent extent;
    if (!tn_workload_measure(run->workload, own->body_count, &extent)) {
        fail(run, "there is not enough host memory to go through the workload");
        return;
    }
    run->result->pair_count = extent.alloc_count;
    run->result->live_bytes_max = extent.live_bytes_max;
    run->result->live_count_max = extent.live_count_max;
}

static void play_verified(struct tn_run *run, struct tn_verifier *verifier)
{
    struct own *own = run->own;
    struct tn_reason why;
    if (!play_first_setup(run, verifier) || !play_first_body(run, verifier)) return;
    if (tn_player_get_usage(&own->player, &run->result->usage, &why) == TARN_STATUS_OK)
        count_pairs(run);
    else
        fail(run, why.text);
}

static struct tn_verifier *create_verifier(struct tn_run *run)
{
    struct tn_verifier *verifier =
        tn_verifier_create(run->workload, run->result->allocator->alignment_bytes_max);
    if (!verifier) fail(run, "there is not enough host memory to verify it");
    return verifier;
}

/* The harness has no addresses to verify. */
static void play_first(struct tn_run *run)
{
    struct own *own = run->own;
    if (run->is_harness) {
        own->body_count = run->workload->body.count;
        play_setup(run);
        return;
    }
    struct tn_verifier *verifier = create_verifier(run);
    if (verifier) play_verified(run, verifier);
    tn_verifier_destroy(verifier);
}

/* --- what is timed ------------------------------------------------------------------------------- */

/* Chooses the number of passes in a repetition, and returns how long one will take. */
static double plan_repetition(struct tn_run *run, double pass_ns)
{
    struct own *own = run->own;
    struct tn_result *result = run->result;
    result->pass_count = tn_run_count_passes(run, pass_ns);
    if (!tn_sliced_play_init(&own->sliced, own->body_count, result->pass_count, pass_ns)) {
        fail(run, "there is not enough host memory to time it");
        return 0.0;
    }
    result->pass_count = tn_sliced_play_round_passes(&own->sliced, result->pass_count);
    return (double)result->pass_count * pass_ns;
}

/* Plays passes until warm_up_ns are over, with before_ns already gone. Returns the shortest time, since the
 * first passes are colder, and in any the system may have taken the processor. */
static double play_warm(struct tn_run *run, double before_ns)
{
    double shortest_ns = before_ns;
    for (double all_ns = before_ns; all_ns < warm_up_ns;) {
        double pass_ns = play_body(run);
        if (run->result->outcome != TN_OUTCOME_MEASURED) break;
        if (all_ns <= 0.0 || pass_ns < shortest_ns) shortest_ns = pass_ns;
        all_ns += pass_ns + 1.0;
    }
    return shortest_ns;
}

/* Plays what the first visit plays, without the verifier. Then asks for the usage: some allocators count
 * until that call. */
static void warm_up_again(struct tn_run *run)
{
    struct own *own = run->own;
    struct tn_allocator_usage ignored;
    struct tn_reason why;
    if (!play_setup(run)) return;
    double pass_ns = play_body(run);
    if (run->result->outcome != TN_OUTCOME_MEASURED) return;
    if (tn_player_get_usage(&own->player, &ignored, &why) != TARN_STATUS_OK)
        fail(run, why.text);
    else
        play_warm(run, pass_ns);
}

/* In its first pass an allocator also took its memory from the vendor, which can be most of the time. So one
 * more pass warms up, except of a long trace, which cannot be cut. */
static double warm_up(struct tn_run *run)
{
    const struct own *own = run->own;
    if (!run->is_first) {
        warm_up_again(run);
        return 0.0;
    }
    double pass_ns = own->first_pass_ns;
    bool is_cut = own->body_count < run->workload->body.count;
    if (is_cut || own->first_pass_ns < budget_ns(run) / 2) pass_ns = play_warm(run, 0.0);
    return run->result->outcome == TN_OUTCOME_MEASURED ? plan_repetition(run, pass_ns) : 0.0;
}

static bool repeat(struct tn_run *run, double *figures_out)
{
    struct own *own = run->own;
    struct tn_stop stop;
    struct tn_sliced_time time;
    if (!tn_sliced_play_run(&own->sliced, &own->player, run->workload->body.items,
                            run->result->pass_count, &time, &stop)) {
        tn_result_set_stopped(run->result, &stop, run->workload->setup.count);
        return false;
    }
    figures_out[0] = time.pass_ns / (double)run->result->pair_count;
    run->weight = time.counted_share;
    return true;
}

/* --- what comes once ----------------------------------------------------------------------------- */

static bool play_single_calls(struct tn_run *run, struct tn_samples *samples)
{
    struct own *own = run->own;
    struct tn_stop stop;
    if (tn_player_play_timed(&own->player, run->workload->body.items, own->body_count, samples,
                             &stop))
        return true;
    tn_result_set_stopped(run->result, &stop, run->workload->setup.count);
    return false;
}

static void time_single_calls(struct tn_run *run)
{
    tn_run_time_calls(run, play_single_calls);
}

static bool add_live_blocks(const struct own *own, struct tn_verifier *verifier,
                            struct tn_reason *reason_out)
{
    for (size_t slot = 0; slot < own->player.slot_count; slot++) {
        const struct tn_block *block = &own->player.blocks[slot];
        if (block->address && !tn_verifier_add(verifier, slot, block->address, block->size_bytes,
                                               TN_VERIFIER_NO_PLACE, reason_out))
            return false;
    }
    return true;
}

static void play_last_verified(struct tn_run *run, struct tn_verifier *verifier)
{
    struct own *own = run->own;
    struct tn_stop stop;
    struct tn_reason reason;
    if (!add_live_blocks(own, verifier, &reason))
        fail(run, reason.text);
    else if (!tn_player_play_verified(&own->player, run->workload->body.items, own->body_count,
                                      verifier, run->workload->setup.count, &stop))
        tn_result_set_stopped(run->result, &stop, run->workload->setup.count);
}

static void play_last(struct tn_run *run)
{
    if (run->is_harness) return;
    struct tn_verifier *verifier = create_verifier(run);
    if (verifier) play_last_verified(run, verifier);
    tn_verifier_destroy(verifier);
}

static void play_followed(struct tn_run *run, struct tn_memory_follow *follow)
{
    struct own *own = run->own;
    const struct tn_workload *workload = run->workload;
    struct tn_stop stop;
    if (!tn_memory_follow_play(follow, &own->player, workload->setup.items, workload->setup.count,
                               &stop))
        tn_result_set_stopped(run->result, &stop, 0);
    else if (!tn_memory_follow_play(follow, &own->player, workload->body.items, own->body_count,
                                    &stop))
        tn_result_set_stopped(run->result, &stop, workload->setup.count);
    tn_memory_log_finish(follow->log);
}

static void measure_latency(struct tn_run *run)
{
    const struct own *own = run->own;
    const struct stage *stage = run->stage;
    const struct tn_workload *workload = run->workload;
    const struct tn_latency_list list = { workload->setup.items, workload->setup.count,
                                          workload->body.items, own->body_count,
                                          workload->slot_count };
    struct tn_stop stop;
    if (!tn_run_measure_latency(run, &list, &stage->settings, &stop))
        tn_result_set_stopped(run->result, &stop, 0);
}

/* Uses a new instance, as the first pass did. */
static void follow_memory(struct tn_run *run)
{
    const struct own *own = run->own;
    struct tn_memory_follow follow;
    if (!open_run(run)) return;
    if (run->result->outcome != TN_OUTCOME_MEASURED) {
        close_run(run);
        return;
    }
    if (tn_memory_follow_init(&follow, run->workload->setup.count + own->body_count, NULL))
        play_followed(run, &follow);
    else
        fail(run, "there is not enough host memory to note what it holds");
    run->result->held_by_peak_max = follow.held_by_peak_max;
    if (run->workload->shows_memory)
        run->result->memory = follow.log;
    else
        free(follow.log);
    close_run(run);
}

static void follow(struct tn_run *run)
{
    if (run->workload->shows_memory || run->workload->family) follow_memory(run);
    if (run->options->has_latency && run->result->outcome == TN_OUTCOME_MEASURED)
        measure_latency(run);
}

static void fini(struct tn_run *run)
{
    struct own *own = run->own;
    tn_sliced_play_fini(&own->sliced);
}

const struct tn_measure_method tn_measure_passes = {
    .harness = &tn_allocator_null,
    .repetition_ns = TN_REPETITION_NS,
    .figure_count = 1,
    .knows_weight = true,
    .is_first_played_again = true,
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
    .follow = follow,
    .fini = fini,
};
