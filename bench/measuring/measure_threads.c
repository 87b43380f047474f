/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure_threads: how many pairs several threads do on one allocator at once. */
#include "measure_threads.h"

#include "../playing/thread_team.h"

/* So long that starting together weighs little. */
#define REPETITION_NS 25e6

/* The warm-up is as long as so many repetitions: an allocator's state for each of several threads takes long
 * to settle. Hence few instances. */
static const double warm_up_factor = 3.0;

enum {
    VISIT_COUNT_MAX = 3
};

/* One allocator on the workload. */
struct own {
    void *state; /* the allocator's */
    struct tn_thread_team *team;
};

/* If the vendor's own calls cannot play a made-up workload, it is skipped for them. All else is a failure. */
static void fail(struct tn_run *run, const struct tn_team_stop *stop)
{
    struct tn_result *result = run->result;
    if (result->allocator == &tn_allocator_raw && stop->status != TARN_STATUS_OK) {
        result->outcome = TN_OUTCOME_SKIPPED;
        tn_reason_set(&result->reason, "cannot run it: %.480s", stop->reason.text);
    } else {
        tn_results_fail(result, 1, stop->reason.text);
    }
}

static bool open_run(struct tn_run *run)
{
    struct own *own = run->own;
    struct tn_result *result = run->result;
    struct tn_team_stop stop;
    stop.status = result->allocator->open(&run->options->settings, &own->state, &stop.reason);
    if (stop.status != TARN_STATUS_OK) {
        tn_result_set_unopened(result, stop.status, &stop.reason);
        return false;
    }
    own->team = tn_thread_team_create(result->allocator, own->state, run->workload, &stop);
    if (!own->team) {
        fail(run, &stop);
        return true;
    }
    size_t stream_count = tn_thread_team_count_streams(own->team);
    if (stream_count > 0) result->stream_count = stream_count;
    return true;
}

static void verify(struct tn_run *run)
{
    const struct own *own = run->own;
    struct tn_verifier *verifier =
        tn_verifier_create(run->workload, run->result->allocator->alignment_bytes_max);
    struct tn_team_stop stop = { TARN_STATUS_OK,
                                 { "there is not enough host memory to verify it" } };
    if (!verifier || !tn_thread_team_verify(own->team, verifier, &stop.reason)) fail(run, &stop);
    tn_verifier_destroy(verifier);
}

static bool play(struct tn_run *run, double duration_ns, struct tn_team_play *play_out)
{
    const struct own *own = run->own;
    struct tn_team_stop stop;
    if (tn_thread_team_play(own->team, duration_ns / 1e9, play_out, &stop)) return true;
    fail(run, &stop);
    return false;
}

static double warm_up(struct tn_run *run)
{
    struct tn_team_play ignored;
    play(run, warm_up_factor * run->repetition_ns_wanted, &ignored);
    return run->repetition_ns_wanted;
}

/* The time of a pair is its thread's, while the other threads work too. */
static bool repeat(struct tn_run *run, double *figures_out)
{
    struct tn_team_play done;
    if (!play(run, run->repetition_ns_wanted, &done)) return false;
    double thread_ns = (double)run->workload->thread_count * done.duration_ns;
    figures_out[0] = thread_ns / (double)done.pair_count;
    return true;
}

static void close_run(struct tn_run *run)
{
    struct own *own = run->own;
    struct tn_result *result = run->result;
    struct tn_team_stop stop;
    bool is_ok = !own->team || tn_thread_team_destroy(own->team, &stop);
    own->team = NULL;
    if (!is_ok && result->outcome == TN_OUTCOME_MEASURED) fail(run, &stop);
    if (run->is_first) result->allocator->get_usage(own->state, &result->usage);
    result->allocator->close(own->state);
}

static void summarise(struct tn_run *run, const struct tn_result *harness)
{
    struct tn_result *result = run->result;
    double thread_ns = (double)run->workload->thread_count * 1e9;
    (void)harness;
    if (run->done_count == 0) return;
    result->pairs_per_s = (struct tn_spread){
        .min = thread_ns / result->pair_ns.max,
        .median = thread_ns / result->pair_ns.median,
        .max = thread_ns / result->pair_ns.min,
    };
}

const struct tn_measure_method tn_measure_threads = {
    .repetition_ns = REPETITION_NS,
    .figure_count = 1,
    .visit_count_max = VISIT_COUNT_MAX,
    .own_bytes = sizeof(struct own),
    .open = open_run,
    .play_first = verify,
    .warm_up = warm_up,
    .repeat = repeat,
    .play_last = verify,
    .close = close_run,
    .summarise = summarise,
};
