/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * churn: random replacement. A fixed number of blocks is live. Over and over, a random one is freed, and one
 * of a new random size is allocated in its place.
 *
 * Sizes are log-uniform: every doubling from the smallest to the largest is equally likely. After
 * two replacements for every live block the free memory is as fragmented as it gets; the first
 * pass, which is not timed, has at least as many.
 *
 * threads: several threads do this at once, each with blocks of its own, or, shared, with those of all.
 */
#include <stdio.h>

#include "../common/random.h"
#include "commands.h"

enum {
    PAIR_COUNT_MIN = 20000
};

/* One thread's part of the workload; the whole if there are no threads. */
struct part {
    size_t first_slot;
    size_t live_count;
    uint64_t min_bytes;
    uint64_t max_bytes;
};

static bool add_setup(struct tn_workload *workload, const struct part *part,
                      struct tn_random *random)
{
    for (size_t i = 0; i < part->live_count; i++)
        if (!tn_operations_add_alloc(
                &workload->setup, part->first_slot + i,
                tn_random_log_uniform(random, part->min_bytes, part->max_bytes)))
            return false;
    return true;
}

static bool add_body(struct tn_workload *workload, const struct part *part,
                     struct tn_random *random)
{
    size_t pair_count =
        2 * part->live_count > PAIR_COUNT_MIN ? 2 * part->live_count : PAIR_COUNT_MIN;
    for (size_t i = 0; i < pair_count; i++) {
        size_t slot = part->first_slot + tn_random_below(random, part->live_count);
        if (!tn_operations_add_free(&workload->body, slot) ||
            !tn_operations_add_alloc(
                &workload->body, slot,
                tn_random_log_uniform(random, part->min_bytes, part->max_bytes)))
            return false;
    }
    return true;
}

static bool fill_parts(struct tn_workload *workload, struct part part, size_t part_count,
                       uint64_t seed)
{
    workload->slot_count = part.live_count * part_count;
    struct tn_random random;
    tn_random_init(&random, seed);
    bool is_filled = true;
    for (size_t i = 0; i < part_count && is_filled; i++) {
        part.first_slot = i * part.live_count;
        is_filled = add_setup(workload, &part, &random);
    }
    for (size_t i = 0; i < part_count && is_filled; i++) {
        part.first_slot = i * part.live_count;
        is_filled = add_body(workload, &part, &random);
    }
    return is_filled;
}

static struct part choose_part(const struct tn_options *options, uint64_t live_count)
{
    struct part part = { 0, (size_t)live_count, (uint64_t)1 << 10, (uint64_t)16 << 20 };
    if (options->size_range.count == 2) {
        part.min_bytes = options->size_range.values[0];
        part.max_bytes = options->size_range.values[1];
    }
    return part;
}

/* thread_count: 0 for churn itself. */
static bool add_workload(const struct tn_options *options, uint64_t live_count,
                         uint64_t thread_count, struct tn_workload_list *list,
                         struct tn_reason *reason_out)
{
    struct part part = choose_part(options, live_count);
    size_t part_count = thread_count > 0 ? (size_t)thread_count : 1;
    struct tn_workload *workload = tn_workload_list_add(list);
    if (!workload || !fill_parts(workload, part, part_count, options->seed)) {
        tn_reason_set(reason_out, "there is not enough host memory for the workload");
        return false;
    }
    workload->bench = thread_count > 0 ? "threads" : "churn";
    workload->method = thread_count > 0 ? TN_METHOD_THREADS : TN_METHOD_PASSES;
    workload->shows_memory = thread_count == 0;
    workload->thread_count = (size_t)thread_count;
    workload->is_shared = thread_count > 0 && options->is_shared;
    workload->unit_count = 2;
    char threads[24] = "";
    if (thread_count > 0) snprintf(threads, sizeof threads, "%zu x ", part_count);
    snprintf(workload->name, sizeof workload->name, "%s%zu of %s to %s%s%s", threads,
             part.live_count, tn_size_show(part.min_bytes).text, tn_size_show(part.max_bytes).text,
             workload->is_shared ? ", shared" : "",
             thread_count > 0 && options->settings.has_one_stream ? ", one stream" : "");
    return true;
}

bool tn_churn_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                             struct tn_workload_list *list, struct tn_reason *reason_out)
{
    (void)machine;
    static const struct tn_number_list otherwise = { 5, { 10, 100, 1000, 10000, 100000 } };
    const struct tn_number_list *live = tn_number_list_or(&options->live_counts, &otherwise);
    for (size_t i = 0; i < live->count; i++)
        if (!add_workload(options, live->values[i], 0, list, reason_out)) return false;
    return true;
}

bool tn_threads_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                               struct tn_workload_list *list, struct tn_reason *reason_out)
{
    (void)machine;
    static const struct tn_number_list otherwise = { 1, { 100 } };
    static const struct tn_number_list otherwise_threads = { 5, { 1, 2, 4, 8, 16 } };
    const struct tn_number_list *live = tn_number_list_or(&options->live_counts, &otherwise);
    const struct tn_number_list *threads =
        tn_number_list_or(&options->thread_counts, &otherwise_threads);
    for (size_t i = 0; i < live->count; i++)
        for (size_t k = 0; k < threads->count; k++)
            if (!add_workload(options, live->values[i], threads->values[k], list, reason_out))
                return false;
    return true;
}
