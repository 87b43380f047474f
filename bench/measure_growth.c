/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_growth: what it costs an allocator to grow from nothing, and what it gives back. */
#include "measure_growth.h"

#include <stdlib.h>

#include "clock.h"
#include "memory_follow.h"
#include "player.h"
#include "interrupt.h"
#include "progress.h"

/* One allocator on the workload. */
struct run {
    const struct tn_workload *workload;
    const struct tn_options *options;
    struct tn_result *result;
    bool is_verified; /* all but the allocator that does nothing */
    double *times[4]; /* of each repetition: a pair, the first allocation, an allocation, a free */
    double duration_ns; /* of all repetitions so far */
};

enum {
    TIME_PAIR,
    TIME_FIRST,
    TIME_ALLOC,
    TIME_FREE
};

static size_t alloc_count(const struct run *run)
{
    return run->workload->body.count / 2;
}

static bool open_player(struct run *run, struct tn_player *player)
{
    struct tn_reason why;
    tarn_status status = tn_player_init(player, run->result->allocator, &run->options->settings,
                                        run->workload->slot_count, &why);
    if (status == TARN_STATUS_OK) return true;
    tn_result_set_unopened(run->result, status, &why);
    return false;
}

/* After a failure, what is live is freed without a word. */
static void close_player(struct tn_player *player)
{
    struct tn_reason ignored;
    tn_player_free_all(player, &ignored);
    tn_player_fini(player);
}

/* --- the pass that is verified ---------------------------------------------------------------------- */

static bool trim(struct run *run, struct tn_player *player)
{
    struct tn_growth_figures *growth = &run->result->growth;
    struct tn_allocator_usage usage = { .footprint_bytes = 0 };
    player->allocator->get_usage(player->state, &usage);
    growth->held_after_free_bytes = usage.footprint_bytes;
    growth->can_trim = player->allocator->trim != NULL;
    if (!growth->can_trim) return true;

    tarn_status status = player->allocator->trim(player->state);
    if (status != TARN_STATUS_OK) {
        struct tn_reason why;
        player->allocator->explain(player->state, status, &why);
        run->result->outcome = TN_OUTCOME_FAILED;
        tn_reason_set(&run->result->reason, "%s: %s: giving back what is free: %s: %.300s",
                      run->workload->name, player->allocator->name, tarn_status_name(status),
                      why.text);
        return false;
    }
    player->allocator->get_usage(player->state, &usage);
    growth->held_after_trim_bytes = usage.footprint_bytes;
    return true;
}

static void play_verified(struct run *run, struct tn_player *player,
                          struct tn_memory_follow *follow)
{
    const struct tn_operation *body = run->workload->body.items;
    size_t count = alloc_count(run);
    struct tn_stop stop;
    if (!tn_memory_follow_play(follow, player, body, count, &stop)) {
        tn_result_set_stopped(run->result, &stop, 0);
        return;
    }
    player->allocator->get_usage(player->state, &run->result->usage);
    if (!tn_memory_follow_play(follow, player, body + count, count, &stop)) {
        tn_result_set_stopped(run->result, &stop, count);
        return;
    }
    tn_memory_log_finish(follow->log);
    trim(run, player);
}

static void verify(struct run *run)
{
    struct tn_player player;
    struct tn_memory_follow follow = { .log = NULL };
    if (!run->is_verified || !open_player(run, &player)) return;
    struct tn_verifier *verifier =
        tn_verifier_create(run->workload, run->result->allocator->alignment_bytes_max);
    if (verifier && tn_memory_follow_init(&follow, run->workload->body.count, verifier))
        play_verified(run, &player, &follow);
    else
        tn_result_set_no_memory(run->result);
    run->result->memory = follow.log;
    tn_verifier_destroy(verifier);
    close_player(&player);
}

/* --- the others ------------------------------------------------------------------------------------- */

static void play_single_calls(struct run *run, struct tn_player *player, struct tn_samples *samples)
{
    struct tn_stop stop;
    if (!tn_player_play_timed(player, run->workload->body.items, run->workload->body.count, samples,
                              &stop)) {
        tn_result_set_stopped(run->result, &stop, 0);
        return;
    }
    run->result->alloc_ns = tn_percentiles_compute(samples->alloc_ns, samples->alloc_count);
    run->result->free_ns = tn_percentiles_compute(samples->free_ns, samples->free_count);
}

static void time_single_calls(struct run *run)
{
    struct tn_player player;
    if (!open_player(run, &player)) return;
    struct tn_samples samples = { NULL, NULL, 0, 0 };
    samples.alloc_ns = calloc(alloc_count(run), sizeof samples.alloc_ns[0]);
    samples.free_ns = calloc(alloc_count(run), sizeof samples.free_ns[0]);
    if (samples.alloc_ns && samples.free_ns)
        play_single_calls(run, &player, &samples);
    else
        tn_result_set_no_memory(run->result);
    free(samples.alloc_ns);
    free(samples.free_ns);
    close_player(&player);
}

static bool play_part(struct run *run, struct tn_player *player, size_t first, size_t count)
{
    struct tn_stop stop;
    if (tn_player_play(player, run->workload->body.items + first, count, &stop)) return true;
    tn_result_set_stopped(run->result, &stop, first);
    return false;
}

static void play_repetition(struct run *run, struct tn_player *player)
{
    size_t count = alloc_count(run);
    uint64_t start_ns = tn_clock_now_ns();
    if (!play_part(run, player, 0, 1)) return;
    uint64_t first_ns = tn_clock_now_ns();
    if (!play_part(run, player, 1, count - 1)) return;
    uint64_t grown_ns = tn_clock_now_ns();
    if (!play_part(run, player, count, count)) return;
    uint64_t end_ns = tn_clock_now_ns();

    size_t repetition = run->result->repetition_count++;
    run->times[TIME_PAIR][repetition] = (double)(end_ns - start_ns) / (double)count;
    run->times[TIME_FIRST][repetition] = (double)(first_ns - start_ns);
    run->times[TIME_ALLOC][repetition] = (double)(grown_ns - start_ns) / (double)count;
    run->times[TIME_FREE][repetition] = (double)(end_ns - grown_ns) / (double)count;
    run->duration_ns += (double)(end_ns - start_ns);
}

/* At least once, and not again when the time would not do. */
static void repeat(struct run *run)
{
    struct tn_player player;
    size_t done = run->result->repetition_count;
    double next_ns = done > 0 ? run->duration_ns / (double)done : 0.0;
    if (run->duration_ns + next_ns > run->options->time_seconds * 1e9) return;
    if (!open_player(run, &player)) return;
    play_repetition(run, &player);
    close_player(&player);
}

/* Also when the user has ended it, of what was done. */
static void compute_figures(struct run *run)
{
    struct tn_result *result = run->result;
    size_t count = result->repetition_count;
    result->pair_count = alloc_count(run);
    result->pass_count = 1;
    result->pair_ns = tn_spread_compute(run->times[TIME_PAIR], count);
    result->growth.first_alloc_ns = tn_spread_compute(run->times[TIME_FIRST], count);
    result->growth.alloc_ns = tn_spread_compute(run->times[TIME_ALLOC], count);
    result->growth.free_ns = tn_spread_compute(run->times[TIME_FREE], count);
}

/* --- all of them ------------------------------------------------------------------------------------ */

typedef void (*run_step)(struct run *run);

static void take_turns(struct run *runs, size_t count, const char *what, run_step step)
{
    for (size_t i = 0; i < count; i++) {
        if (runs[i].result->outcome != TN_OUTCOME_MEASURED) continue;
        tn_progress_show("growth %s: %s: %s", runs[i].workload->name,
                         runs[i].result->allocator->name, what);
        if (!tn_interrupt_is_wanted())
            step(&runs[i]);
        else
            tn_result_set_interrupted(runs[i].result);
    }
}

static void run_all(struct run *runs, size_t count, size_t repetition_count)
{
    take_turns(runs, count, "first pass", verify);
    take_turns(runs, count, "single calls", time_single_calls);
    for (size_t i = 0; i < repetition_count; i++) {
        tn_progress_set_share((double)i / (double)repetition_count);
        take_turns(runs, count, "repetitions", repeat);
    }
    for (size_t i = 0; i < count; i++)
        compute_figures(&runs[i]);
    for (size_t i = 0; i < count; i++)
        runs[i].result->harness_pair_ns = runs[0].result->pair_ns.median;
}

static bool init_run(struct run *run, const struct tn_workload *workload,
                     const struct tn_options *options, struct tn_result *result)
{
    *run = (struct run){ .workload = workload,
                         .options = options,
                         .result = result,
                         .is_verified = result->allocator != &tn_allocator_null };
    result->is_interleaved = true;
    bool is_ok = true;
    for (size_t i = 0; i < 4; i++) {
        run->times[i] = calloc(options->repetitions, sizeof run->times[i][0]);
        is_ok = run->times[i] && is_ok;
    }
    return is_ok;
}

void tn_measure_growth(const struct tn_workload *workload, const struct tn_options *options,
                       struct tn_result *results)
{
    struct run runs[1 + TN_ALLOCATORS_MAX];
    struct tn_result harness = { .workload = workload, .allocator = &tn_allocator_null };
    size_t count = 0;
    bool has_memory = init_run(&runs[count++], workload, options, &harness);
    for (size_t i = 0; i < options->allocator_count; i++)
        has_memory = init_run(&runs[count++], workload, options, &results[i]) && has_memory;
    if (has_memory) {
        run_all(runs, count, options->repetitions);
    } else {
        for (size_t i = 0; i < options->allocator_count; i++)
            tn_result_set_no_memory(&results[i]);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < 4; k++)
            free(runs[i].times[k]);
}
