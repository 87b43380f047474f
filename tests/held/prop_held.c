/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The memory that a pool holds, for programs that are drawn: those of tarn-bench patterns, with other seeds than the results have, and
 * programs of no family.
 *
 * Usage: prop_held [--operations N] [--vendor] [--survey]
 *
 * A round has a seed, and plays each family and variant once, with both presets, and some programs of no family. Rounds
 * follow until N operations have been played. A finding prints the seed of its round, which TARN_SEED repeats as the first
 * one; where threads meet it may come out otherwise. --vendor: over the vendor's simulated device instead of the host.
 * --survey: prints the worst of each family, also where nothing is wrong.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/random.h"
#include "playing.h"
#include "random_program.h"
#include "workloads/commands.h"
#include "workloads/patterns.h"

enum {
    PRESET_COUNT = 2,
    PLAIN = 0, /* the variants, as in patterns.h */
    LASTING,
    STREAMS,
    BEHIND,
    THREADS,
    VARIANT_COUNT,
    FAMILY_COUNT = 9,
    ROBSON = 8,
    RANDOM_PROGRAMS_IN_ROUND = 30,
    FINDINGS_MAX = 1000,
    FAMILIES_SHOWN = 64
};

/*
 * The promise. In the families of patterns, all but robson, a pool with the default options holds at most 2.25 times the
 * most bytes used after each growth, and one of the lean preset 1.36 times. That is for the variant `plain`, and for the
 * default also for `behind`. Besides these bytes a pool may hold the first ones, which are initial_bytes or 8 MiB, whichever
 * is more, and memory that waits for the device.
 * Repeated, few programs make calls of the vendor from the 8th time on.
 *
 * For every program, also of several streams: after a growth, the pool holds more than the first bytes and twice the most
 * bytes used, lean 1.36 times, only in pieces that live blocks keep, and in what the request needed.
 *
 * Not promised, but kept as it is: the same with small blocks that last, several streams, and threads that contend.
 * There, and below a limit, live blocks keep more; the figures here are a little beyond the worst of 350 draws of each. Lean
 * pools with small blocks that last are not kept to a figure: at worst they held 7 times.
 */
static const struct promise {
    const char *preset;
    double held_by_used_max[VARIANT_COUNT];
    double peak_factor;
    double refused_part_min[STREAMS +
                            1];    /* of the limit: used and request where a request is refused */
    unsigned restless_percent_max; /* of the programs */
} promises[PRESET_COUNT] = {
    { "default", { 2.25, 3.5, 3.5, 2.25, 3.5 }, 2.0, { 0.3, 0.25, 0.25 }, 1 },
    { "lean", { 1.36, INFINITY, 1.75, 1.75, 3.0 }, 1.36, { 0.75, 0.6, 0.65 }, 10 },
};

/* Over Level Zero a few lean pools in a thousand hold up to 1.07 times what the equation allows. Why is not known. */
static const double lean_over_vendor_max = 1.1;

static const size_t first_bytes_min = (size_t)8 << 20; /* granules decide in a pool of a few */
static const size_t memory_bytes = (size_t)64 << 30;

/* The worst of a family and variant with one preset. */
struct worst {
    const char *family;
    struct played played;
    unsigned program_count;
    unsigned finding_count;
};

static struct {
    uint64_t operations;
    bool is_over_vendor, is_survey;

    uint64_t seed; /* of the round */
    struct random random;
    uint64_t done_operations;
    struct worst worst[PRESET_COUNT][FAMILIES_SHOWN];
    unsigned steady_count[PRESET_COUNT]; /* programs that were repeated so often */
    unsigned restless_count[PRESET_COUNT];
    unsigned finding_count;
} run;

/* --- findings ----------------------------------------------------------------------------------- */

/* Families are told apart by their texts' addresses. */
static struct worst *worst_of(const struct tn_workload *workload, size_t preset)
{
    struct worst *worst = run.worst[preset];
    while (worst->family && worst->family != workload->family)
        worst++;
    worst->family = workload->family;
    return worst;
}

static void find(const struct tn_workload *workload, size_t preset, const char *what, double is,
                 double limit)
{
    printf("TARN_SEED=%" PRIu64 ": %s (%s), %s pool: %s %.3g, not %.3g\n", run.seed,
           workload->family, workload->name, promises[preset].preset, what, is, limit);
    run.finding_count++;
    worst_of(workload, preset)->finding_count++;
}

/* --- one program -------------------------------------------------------------------------------- */

/* Below a limit as the default options say, and in half of the other pools with pieces. */
static size_t draw_initial_bytes(bool is_lean, bool is_limited)
{
    if (is_lean) return 0;
    if (is_limited || random_below(&run.random, 2) == 0) return TARN_INITIAL_BYTES_DEFAULT;
    return ((size_t)64 << 10) << random_below(&run.random, 13);
}

static struct played play_with(const struct tn_workload *workload, size_t preset, size_t limit,
                               bool is_limit_of_pool, size_t repetitions)
{
    bool is_lean = preset > 0;
    size_t initial_bytes = draw_initial_bytes(is_lean, limit > 0);
    const struct setting setting = {
        .is_over_vendor = run.is_over_vendor,
        .is_lean = is_lean,
        .initial_bytes = initial_bytes,
        .first_bytes = initial_bytes > first_bytes_min ? initial_bytes : first_bytes_min,
        .memory_bytes = limit > 0 && !is_limit_of_pool ? limit : memory_bytes,
        .limit_bytes = is_limit_of_pool ? limit : 0,
        .repetitions = repetitions,
        .peak_factor = promises[preset].peak_factor,
    };
    struct played played = play(workload, &setting);
    run.done_operations += played.operation_count;
    if (played.status != TARN_STATUS_OK)
        find(workload, preset, tarn_status_name(played.status), 1, 0);
    return played;
}

/* Played on one stream, until it should be steady if it comes to that, and on several twice. */
static void look_at_program(const struct tn_workload *workload, size_t preset,
                            double held_by_used_max, bool comes_to_rest)
{
    bool is_steady = comes_to_rest && !workload->origins;
    const struct played played =
        play_with(workload, preset, 0, false, is_steady ? STEADY_REPETITION + 2 : 2);
    if (played.held_by_used > held_by_used_max)
        find(workload, preset, "held by used is", played.held_by_used, held_by_used_max);
    if (played.refused_part > 0)
        find(workload, preset, "refused at this part of the device", played.refused_part, 1);
    double allowed_max = run.is_over_vendor && preset > 0 ? lean_over_vendor_max : 1;
    if (played.held_by_allowed > allowed_max)
        find(workload, preset, "held by what peak and live blocks allow is", played.held_by_allowed,
             allowed_max);
    if (is_steady) {
        run.steady_count[preset]++;
        run.restless_count[preset] += played.late_call_count > 0;
    }

    struct worst *worst = worst_of(workload, preset);
    worst->program_count++;
    if (played.held_by_used > worst->played.held_by_used)
        worst->played.held_by_used = played.held_by_used;
    if (played.held_by_allowed > worst->played.held_by_allowed)
        worst->played.held_by_allowed = played.held_by_allowed;
    worst->played.late_call_count += played.late_call_count;
}

/* The limit is 0.7 to 3 times the most bytes live, of the pool or of the device. */
static void look_at_limit(const struct tn_workload *workload, size_t preset, size_t variant)
{
    struct tn_workload_extent extent;
    if (!tn_workload_measure(workload, workload->body.count, &extent)) abort();
    size_t limit = extent.live_bytes_max / 100 * (70 + random_below(&run.random, 231));
    limit = (limit >> 21) << 21; /* vendors give whole pages */
    const struct played played =
        play_with(workload, preset, limit, random_below(&run.random, 2) == 0, 2);
    double part = promises[preset].refused_part_min[variant];
    if (played.refused_part == 0) return;
    if (played.refused_part <= part)
        find(workload, preset, "refused, used and request by limit are", played.refused_part, part);
    struct worst *worst = worst_of(workload, preset);
    if (worst->played.refused_part == 0 || played.refused_part < worst->played.refused_part)
        worst->played.refused_part = played.refused_part;
}

/* --- a round ------------------------------------------------------------------------------------ */

static void look_at_patterns(size_t preset, size_t family, size_t variant)
{
    const struct tn_options options = { .seed = run.seed,
                                        .families = UINT32_C(1) << family,
                                        .variants = UINT32_C(1) << variant,
                                        .draw_count = 1 };
    const struct tn_machine machine = { .is_host = true };
    struct tn_workload_list list = { NULL, 0 };
    struct tn_reason reason;
    if (!tn_patterns_make_workloads(&options, &machine, &list, &reason)) abort();
    bool is_robson = family == ROBSON;
    double held_by_used_max = is_robson ? INFINITY : promises[preset].held_by_used_max[variant];
    look_at_program(&list.items[0], preset, held_by_used_max, !is_robson);
    if (!is_robson && variant <= STREAMS) look_at_limit(&list.items[0], preset, variant);
    tn_workload_list_fini(&list);
}

static void look_at_random_program(size_t preset, uint64_t seed)
{
    struct tn_workload_list list = { NULL, 0 };
    random_program_make(&list, seed);
    look_at_program(&list.items[0], preset, INFINITY, true);
    tn_workload_list_fini(&list);
}

static void play_round(void)
{
    run.random = random_init(run.seed);
    for (size_t preset = 0; preset < PRESET_COUNT; preset++) {
        for (size_t family = 0; family < FAMILY_COUNT; family++)
            for (size_t variant = 0; variant < VARIANT_COUNT; variant++)
                look_at_patterns(preset, family, variant);
        for (uint64_t i = 0; i < RANDOM_PROGRAMS_IN_ROUND; i++)
            look_at_random_program(preset, run.seed * RANDOM_PROGRAMS_IN_ROUND + i);
    }
}

/* --- the run ------------------------------------------------------------------------------------ */

/* Of all programs together: three standard deviations beyond what is usual. */
static void look_at_restless(void)
{
    for (size_t i = 0; i < PRESET_COUNT; i++) {
        double usual = run.steady_count[i] * (promises[i].restless_percent_max / 100.0);
        if (run.restless_count[i] <= usual + 3 * sqrt(usual)) continue;
        printf("%s pool: %u of %u programs call the vendor in steady state, not %.1f\n",
               promises[i].preset, run.restless_count[i], run.steady_count[i], usual);
        run.finding_count++;
    }
}

static void print_survey(void)
{
    printf("%-8s %-18s %8s %8s %8s %8s %8s %8s\n", "pool", "family", "programs", "findings", "held",
           "allowed", "calls", "refused");
    for (size_t i = 0; i < PRESET_COUNT; i++)
        for (const struct worst *worst = run.worst[i]; worst->family; worst++)
            printf("%-8s %-18s %8u %8u %8.2f %8.2f %8" PRIu64 " %8.2f\n", promises[i].preset,
                   worst->family, worst->program_count, worst->finding_count,
                   worst->played.held_by_used, worst->played.held_by_allowed,
                   worst->played.late_call_count, worst->played.refused_part);
}

static bool take_argument(const char *name, const char *value, int *index)
{
    if (strcmp(name, "--vendor") == 0) return run.is_over_vendor = true;
    if (strcmp(name, "--survey") == 0) return run.is_survey = true;
    ++*index;
    return strcmp(name, "--operations") == 0 && value &&
           (run.operations = strtoull(value, NULL, 10)) > 0;
}

int main(int argc, char **argv)
{
    run.operations = 1;
    for (int i = 1; i < argc; i++)
        if (!take_argument(argv[i], i + 1 < argc ? argv[i + 1] : NULL, &i)) {
            printf("usage: prop_held [--operations N] [--vendor] [--survey]\n");
            return 2;
        }
    for (run.seed = random_seed(20261201);
         run.done_operations < run.operations && run.finding_count < FINDINGS_MAX; run.seed++)
        play_round();
    look_at_restless();
    if (run.is_survey) print_survey();
    printf("%" PRIu64 " operations, %u findings\n", run.done_operations, run.finding_count);
    return run.finding_count > 0;
}
