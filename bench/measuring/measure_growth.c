/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_growth: what it costs an allocator to grow from nothing, and what it gives back. */
#include "measure_growth.h"

#include <stdlib.h>

#include "../common/clock.h"
#include "../playing/player.h"
#include "memory_follow.h"

/* The figures of a repetition. */
enum {
    TIME_PAIR,
    TIME_FIRST, /* of the first allocation */
    TIME_ALLOC,
    TIME_FREE,
    TIME_COUNT
};

struct own {
    /* The calls without those that the allocator refused. Empty: it refused none. */
    struct tn_operations cut;

    /* A pass was refused an earlier block than those before: it is to be played again. */
    bool is_cut_anew;
};

/* The calls that are played. */
static const struct tn_operations *calls(const struct tn_run *run)
{
    const struct own *own = run->own;
    return own->cut.count > 0 ? &own->cut : &run->workload->body;
}

static size_t alloc_count(const struct tn_run *run)
{
    return calls(run)->count / 2;
}

/* Keeps the first allocations, and their frees. False: no host memory. */
static bool cut(struct tn_run *run, size_t kept_count)
{
    struct own *own = run->own;
    const struct tn_operations *body = &run->workload->body;
    bool is_cut = true;
    own->cut.count = 0;
    for (size_t i = 0; i < body->count && is_cut; i++) {
        const struct tn_operation *operation = &body->items[i];
        if (operation->slot >= kept_count) continue;
        is_cut = operation->is_alloc
                     ? tn_operations_add_alloc(&own->cut, operation->slot, operation->size_bytes)
                     : tn_operations_add_free(&own->cut, operation->slot);
    }
    return is_cut;
}

/* Whether the calls stopped because the device is full, and that is what the workload ends with. */
static bool ends_when_full(struct tn_run *run, const struct tn_stop *stop)
{
    if (!run->workload->is_until_full || stop->status != TARN_STATUS_OUT_OF_MEMORY) return false;
    return stop->index > 0 && stop->index < alloc_count(run) && cut(run, stop->index);
}

static bool open_player(struct tn_run *run, struct tn_player *player)
{
    struct tn_reason why;
    tarn_status status = tn_player_init(player, run->result->allocator, &run->options->settings,
                                        run->workload->slot_count, &why);
    if (status == TARN_STATUS_OK) return true;
    tn_result_set_unopened(run->result, status, &why);
    return false;
}

/* After a failure, live blocks are freed without further messages. */
static void close_player(struct tn_player *player)
{
    struct tn_reason ignored;
    tn_player_free_all(player, &ignored);
    tn_player_fini(player);
}

/* --- the pass that is verified ---------------------------------------------------------------------- */

static void trim(struct tn_run *run, struct tn_player *player)
{
    struct tn_growth_figures *growth = &run->result->growth;
    struct tn_allocator_usage usage = { .footprint_bytes = 0 };
    player->allocator->get_usage(player->state, &usage);
    growth->held_after_free_bytes = usage.footprint_bytes;
    growth->can_trim = player->allocator->trim != NULL;
    if (!growth->can_trim) return;

    tarn_status status = player->allocator->trim(player->state);
    if (status != TARN_STATUS_OK) {
        struct tn_reason why;
        player->allocator->explain(player->state, status, &why);
        run->result->outcome = TN_OUTCOME_FAILED;
        tn_reason_set(&run->result->reason, "%s: %s: giving back what is free: %s: %.300s",
                      run->workload->name, player->allocator->name, tarn_status_name(status),
                      why.text);
        return;
    }
    player->allocator->get_usage(player->state, &usage);
    growth->held_after_trim_bytes = usage.footprint_bytes;
}

static void play_verified(struct tn_run *run, struct tn_player *player,
                          struct tn_memory_follow *follow)
{
    struct tn_stop stop;
    if (!tn_memory_follow_play(follow, player, calls(run)->items, alloc_count(run), &stop) &&
        !ends_when_full(run, &stop)) {
        tn_result_set_stopped(run->result, &stop, 0);
        return;
    }
    player->allocator->get_usage(player->state, &run->result->usage);
    size_t count = alloc_count(run);
    run->result->pair_count = count;
    run->result->live_count_max = count;
    run->result->live_bytes_max = follow->live_bytes;
    if (!tn_memory_follow_play(follow, player, calls(run)->items + count, count, &stop)) {
        tn_result_set_stopped(run->result, &stop, count);
        return;
    }
    tn_memory_log_finish(follow->log);
    trim(run, player);
}

static void play_first(struct tn_run *run)
{
    struct tn_player player;
    struct tn_memory_follow follow = { .log = NULL };
    run->result->pair_count = alloc_count(run);
    run->result->pass_count = 1;
    if (run->is_harness || !open_player(run, &player)) return;
    struct tn_verifier *verifier =
        tn_verifier_create(run->workload, run->result->allocator->alignment_bytes_max);
    if (verifier && tn_memory_follow_init(&follow, run->workload->body.count, verifier))
        play_verified(run, &player, &follow);
    else
        tn_results_fail(run->result, 1, "there is not enough host memory");
    run->result->memory = follow.log;
    tn_verifier_destroy(verifier);
    close_player(&player);
}

/* --- what is timed ---------------------------------------------------------------------------------- */

static bool play_part(struct tn_run *run, struct tn_player *player, size_t first, size_t count)
{
    struct own *own = run->own;
    struct tn_stop stop;
    if (tn_player_play(player, calls(run)->items + first, count, &stop)) return true;
    stop.index += first;
    own->is_cut_anew = ends_when_full(run, &stop);
    if (!own->is_cut_anew) tn_result_set_stopped(run->result, &stop, 0);
    return false;
}

static bool play_timed(struct tn_run *run, struct tn_player *player, void *out)
{
    double *figures_out = out;
    size_t count = alloc_count(run);
    uint64_t start_ns = tn_clock_now_ns();
    if (!play_part(run, player, 0, 1)) return false;
    uint64_t first_ns = tn_clock_now_ns();
    if (!play_part(run, player, 1, count - 1)) return false;
    uint64_t grown_ns = tn_clock_now_ns();
    if (!play_part(run, player, count, count)) return false;
    uint64_t end_ns = tn_clock_now_ns();

    figures_out[TIME_PAIR] = (double)(end_ns - start_ns) / (double)count;
    figures_out[TIME_FIRST] = (double)(first_ns - start_ns);
    figures_out[TIME_ALLOC] = (double)(grown_ns - start_ns) / (double)count;
    figures_out[TIME_FREE] = (double)(end_ns - grown_ns) / (double)count;
    return true;
}

/* Plays on a new instance; again where the calls were cut. */
static bool play_anew(struct tn_run *run,
                      bool (*play)(struct tn_run *run, struct tn_player *player, void *out),
                      void *out)
{
    struct own *own = run->own;
    bool is_played;
    do {
        struct tn_player player;
        own->is_cut_anew = false;
        if (!open_player(run, &player)) return false;
        is_played = play(run, &player, out);
        close_player(&player);
    } while (own->is_cut_anew);
    return is_played;
}

static bool repeat(struct tn_run *run, double *figures_out)
{
    return play_anew(run, play_timed, figures_out);
}

/* Nothing stays warm, since each pass begins with a new instance: this pass only shows how long one takes. */
static double warm_up(struct tn_run *run)
{
    double figures[TIME_COUNT];
    if (!run->is_first || !repeat(run, figures)) return 0.0;
    return figures[TIME_PAIR] * (double)alloc_count(run);
}

static bool play_calls(struct tn_run *run, struct tn_player *player, void *out)
{
    struct own *own = run->own;
    struct tn_samples *samples = out;
    struct tn_stop stop;
    samples->alloc_count = samples->free_count = 0;
    if (tn_player_play_timed(player, calls(run)->items, calls(run)->count, samples, &stop))
        return true;
    own->is_cut_anew = ends_when_full(run, &stop);
    if (!own->is_cut_anew) tn_result_set_stopped(run->result, &stop, 0);
    return false;
}

static bool play_single_calls(struct tn_run *run, struct tn_samples *samples)
{
    return play_anew(run, play_calls, samples);
}

static void time_single_calls(struct tn_run *run)
{
    tn_run_time_calls(run, play_single_calls);
}

static void follow(struct tn_run *run)
{
    struct tn_stop stop = { .index = 0 };
    bool is_measured = !run->options->has_latency;
    while (!is_measured) {
        const struct tn_latency_list list = { .body = calls(run)->items,
                                              .body_count = calls(run)->count,
                                              .slot_count = run->workload->slot_count };
        is_measured = tn_run_measure_latency(run, &list, &run->options->settings, &stop);
        if (is_measured || ends_when_full(run, &stop)) continue;
        tn_result_set_stopped(run->result, &stop, 0);
        return;
    }
}

static void summarise(struct tn_run *run, const struct tn_result *harness)
{
    struct tn_growth_figures *growth = &run->result->growth;
    (void)harness;
    growth->first_alloc_ns = tn_spread_compute(run->figures[TIME_FIRST], run->done_count);
    growth->alloc_ns = tn_spread_compute(run->figures[TIME_ALLOC], run->done_count);
    growth->free_ns = tn_spread_compute(run->figures[TIME_FREE], run->done_count);
}

static void fini(struct tn_run *run)
{
    struct own *own = run->own;
    free(own->cut.items);
}

const struct tn_measure_method tn_measure_growth = {
    .harness = &tn_allocator_null,
    .repetition_ns = TN_REPETITION_NS,
    .figure_count = TIME_COUNT,
    .own_bytes = sizeof(struct own),
    .play_first = play_first,
    .warm_up = warm_up,
    .repeat = repeat,
    .time_single_calls = time_single_calls,
    .follow = follow,
    .summarise = summarise,
    .fini = fini,
};
