/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sweep: latency by size. One block at a time: allocated, freed, and again.
 *
 * This is the best case of every pool, and the usual figure for a vendor's own calls. The first
 * allocation, which makes a pool grow, falls into the first pass and is not timed.
 *
 * hot: one size alone, 1 KB.
 */
#include <stdio.h>

#include "commands.h"

enum {
    PAIR_COUNT = 1000
};

static bool fill_workload(struct tn_workload *workload, const char *bench, uint64_t size_bytes)
{
    workload->bench = bench;
    snprintf(workload->name, sizeof workload->name, "%s", tn_size_show(size_bytes).text);
    workload->slot_count = 1;
    workload->unit_count = 2;
    for (size_t i = 0; i < PAIR_COUNT; i++)
        if (!tn_operations_add_alloc(&workload->body, 0, (size_t)size_bytes) ||
            !tn_operations_add_free(&workload->body, 0))
            return false;
    return true;
}

/* Powers of 16, and last the largest power of two that the device has room for. Always begins with 1. */
static struct tn_number_list choose_sizes(const struct tn_machine *machine)
{
    struct tn_number_list sizes = { 1, { 1 } };
    uint64_t room_bytes = machine->device_free_bytes;
    uint64_t size_bytes = 1;
    for (; size_bytes <= room_bytes / 16; sizes.values[sizes.count++] = size_bytes)
        size_bytes *= 16;
    uint64_t largest_bytes = size_bytes;
    while (largest_bytes <= room_bytes / 2)
        largest_bytes *= 2;
    if (largest_bytes != size_bytes) sizes.values[sizes.count++] = largest_bytes;
    return sizes;
}

static bool add_workloads(const char *bench, const struct tn_number_list *sizes,
                          struct tn_workload_list *list, struct tn_reason *reason_out)
{
    for (size_t i = 0; i < sizes->count; i++) {
        struct tn_workload *workload = tn_workload_list_add(list);
        if (!workload || !fill_workload(workload, bench, sizes->values[i])) {
            tn_reason_set(reason_out, "there is not enough host memory for the workload");
            return false;
        }
    }
    return true;
}

bool tn_sweep_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                             struct tn_workload_list *list, struct tn_reason *reason_out)
{
    struct tn_number_list sizes = options->sizes;
    if (sizes.count == 0) sizes = choose_sizes(machine);
    return add_workloads("sweep", &sizes, list, reason_out);
}

bool tn_hot_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                           struct tn_workload_list *list, struct tn_reason *reason_out)
{
    (void)options;
    (void)machine;
    struct tn_number_list sizes = { 1, { 1024 } };
    return add_workloads("hot", &sizes, list, reason_out);
}
