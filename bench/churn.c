/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * churn: random replacement. So many blocks are live; one of them, chosen at random, is freed, and
 * one of a new random size is allocated in its place, over and over.
 *
 * Sizes are log-uniform: every doubling from the smallest to the largest is equally likely. After
 * two replacements for every live block the free memory is as fragmented as it gets; the first
 * pass, which is not timed, has at least as many.
 */
#include <stdio.h>

#include "commands.h"
#include "random.h"

enum {
    PAIR_COUNT_MIN = 20000
};

static bool fill_workload(struct tn_workload *workload, size_t live_count, uint64_t min_bytes,
                          uint64_t max_bytes, uint64_t seed)
{
    workload->bench = "churn";
    snprintf(workload->name, sizeof workload->name, "%zu of %s to %s", live_count,
             tn_size_show(min_bytes).text, tn_size_show(max_bytes).text);
    workload->slot_count = live_count;
    workload->unit_count = 2;

    struct tn_random random;
    tn_random_init(&random, seed);
    for (size_t slot = 0; slot < live_count; slot++)
        if (!tn_operations_add_alloc(&workload->setup, slot,
                                     tn_random_log_uniform(&random, min_bytes, max_bytes)))
            return false;

    size_t pair_count = 2 * live_count > PAIR_COUNT_MIN ? 2 * live_count : PAIR_COUNT_MIN;
    for (size_t i = 0; i < pair_count; i++) {
        size_t slot = tn_random_below(&random, live_count);
        if (!tn_operations_add_free(&workload->body, slot) ||
            !tn_operations_add_alloc(&workload->body, slot,
                                     tn_random_log_uniform(&random, min_bytes, max_bytes)))
            return false;
    }
    return true;
}

bool tn_churn_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                             struct tn_workload_list *list, struct tn_reason *reason_out)
{
    (void)machine;
    struct tn_number_list range = { 2, { (uint64_t)1 << 10, (uint64_t)16 << 20 } };
    if (options->size_range.count == 2) range = options->size_range;
    for (size_t i = 0; i < options->counts.count; i++) {
        struct tn_workload *workload = tn_workload_list_add(list);
        if (!workload || !fill_workload(workload, (size_t)options->counts.values[i],
                                        range.values[0], range.values[1], options->seed)) {
            tn_reason_set(reason_out, "there is not enough host memory for the workload");
            return false;
        }
    }
    return true;
}
