/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * live: latency by the number of live blocks, which are tiny or of mixed sizes.
 *
 * A fixed number of blocks is live. A tenth of them, at random places, is freed. Then, over and over, as
 * many are allocated, and freed in another random order. So allocations meet
 * many free places of about one size, and freed blocks have live neighbours.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../common/random.h"
#include "commands.h"

enum {
    PAIR_COUNT_MIN = 20000,
    HOLE_COUNT_MAX = 10000
};

static size_t count_holes(size_t live_count)
{
    size_t hole_count = live_count / 10;
    if (hole_count > HOLE_COUNT_MAX) hole_count = HOLE_COUNT_MAX;
    return hole_count > 0 ? hole_count : 1;
}

/* Allocates all blocks, and then frees those in slots[0] to slots[hole_count - 1]. */
static bool add_setup(struct tn_workload *workload, const size_t *slots, size_t hole_count,
                      uint64_t min_bytes, uint64_t max_bytes, struct tn_random *random)
{
    for (size_t slot = 0; slot < workload->slot_count; slot++)
        if (!tn_operations_add_alloc(&workload->setup, slot,
                                     tn_random_log_uniform(random, min_bytes, max_bytes)))
            return false;
    for (size_t i = 0; i < hole_count; i++)
        if (!tn_operations_add_free(&workload->setup, slots[i])) return false;
    return true;
}

static bool add_round(struct tn_workload *workload, size_t *slots, size_t hole_count,
                      uint64_t min_bytes, uint64_t max_bytes, struct tn_random *random)
{
    for (size_t i = 0; i < hole_count; i++)
        if (!tn_operations_add_alloc(&workload->body, slots[i],
                                     tn_random_log_uniform(random, min_bytes, max_bytes)))
            return false;
    tn_random_shuffle(random, slots, hole_count);
    for (size_t i = 0; i < hole_count; i++)
        if (!tn_operations_add_free(&workload->body, slots[i])) return false;
    return true;
}

static bool fill_workload(struct tn_workload *workload, size_t live_count, uint64_t min_bytes,
                          uint64_t max_bytes, uint64_t seed)
{
    workload->bench = "live";
    snprintf(workload->name, sizeof workload->name, "%zu of %s to %s", live_count,
             tn_size_show(min_bytes).text, tn_size_show(max_bytes).text);
    workload->slot_count = live_count;
    size_t *slots = malloc(live_count * sizeof slots[0]);
    if (!slots) return false;

    struct tn_random random;
    tn_random_init(&random, seed);
    for (size_t i = 0; i < live_count; i++)
        slots[i] = i;
    tn_random_shuffle(&random, slots, live_count);

    size_t hole_count = count_holes(live_count);
    workload->unit_count = 2 * hole_count;
    bool is_filled = add_setup(workload, slots, hole_count, min_bytes, max_bytes, &random);
    for (size_t i = 0; i < PAIR_COUNT_MIN && is_filled; i += hole_count)
        is_filled = add_round(workload, slots, hole_count, min_bytes, max_bytes, &random);
    free(slots);
    return is_filled;
}

static bool add_workloads(const struct tn_options *options, const struct tn_number_list *range,
                          struct tn_workload_list *list, struct tn_reason *reason_out)
{
    static const struct tn_number_list otherwise = { 5, { 10, 100, 1000, 10000, 100000 } };
    const struct tn_number_list *counts = tn_number_list_or(&options->counts, &otherwise);
    for (size_t i = 0; i < counts->count; i++) {
        struct tn_workload *workload = tn_workload_list_add(list);
        if (!workload || !fill_workload(workload, (size_t)counts->values[i], range->values[0],
                                        range->values[1], options->seed)) {
            tn_reason_set(reason_out, "there is not enough host memory for the workload");
            return false;
        }
    }
    return true;
}

/* Tiny blocks, and blocks of mixed sizes, unless the user gave the sizes. */
bool tn_live_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                            struct tn_workload_list *list, struct tn_reason *reason_out)
{
    static const struct tn_number_list tiny = { 2, { 1, 10 } };
    static const struct tn_number_list mixed = { 2, { 1, 64 << 10 } };
    (void)machine;
    if (options->size_range.count > 0)
        return add_workloads(options, &options->size_range, list, reason_out);
    return add_workloads(options, &tiny, list, reason_out) &&
           add_workloads(options, &mixed, list, reason_out);
}
