/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * growth: from nothing to a given number of live bytes, and back.
 *
 * Blocks of all sizes are allocated until that many bytes are live, and then freed in a random order. Each
 * pass opens the allocator anew, so its first allocations are like those of a program that starts.
 *
 * Until full: the sum of all blocks is the memory that the device has free. An allocator ends where it refuses one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../common/random.h"
#include "commands.h"

static bool fail_memory(struct tn_reason *reason_out)
{
    tn_reason_set(reason_out, "there is not enough host memory for the workload");
    return false;
}

static bool add_allocs(struct tn_workload *workload, uint64_t live_bytes, uint64_t min_bytes,
                       uint64_t max_bytes, struct tn_random *random, struct tn_reason *reason_out)
{
    for (uint64_t bytes = 0; bytes < live_bytes;) {
        if (workload->slot_count == TN_LIVE_COUNT_MAX) {
            tn_reason_set(reason_out, "growth %s has more than %u blocks", workload->name,
                          TN_LIVE_COUNT_MAX);
            return false;
        }
        uint64_t size_bytes = tn_random_log_uniform(random, min_bytes, max_bytes);
        if (size_bytes > live_bytes - bytes) size_bytes = live_bytes - bytes;
        if (!tn_operations_add_alloc(&workload->body, workload->slot_count, (size_t)size_bytes))
            return fail_memory(reason_out);
        workload->slot_count++;
        bytes += size_bytes;
    }
    return true;
}

static bool add_frees(struct tn_workload *workload, struct tn_random *random,
                      struct tn_reason *reason_out)
{
    size_t *slots = malloc(workload->slot_count * sizeof slots[0]);
    if (!slots) return fail_memory(reason_out);
    for (size_t i = 0; i < workload->slot_count; i++)
        slots[i] = i;
    tn_random_shuffle(random, slots, workload->slot_count);
    bool is_filled = true;
    for (size_t i = 0; i < workload->slot_count && is_filled; i++)
        is_filled = tn_operations_add_free(&workload->body, slots[i]);
    free(slots);
    return is_filled || fail_memory(reason_out);
}

/* `until`: how the name says live_bytes. */
static bool add_workload(const struct tn_options *options, const char *until, uint64_t live_bytes,
                         struct tn_workload_list *list, struct tn_reason *reason_out)
{
    static const struct tn_number_list range = { 2, { 1 << 10, 16 << 20 } };
    const struct tn_number_list *sizes = tn_number_list_or(&options->size_range, &range);
    uint64_t min_bytes = sizes->values[0];
    uint64_t max_bytes = sizes->values[1];
    struct tn_workload *workload = tn_workload_list_add(list);
    if (!workload) return fail_memory(reason_out);
    workload->bench = "growth";
    workload->method = TN_METHOD_GROWTH;
    workload->is_until_full = options->is_until_full;
    snprintf(workload->name, sizeof workload->name, "to %s of %s to %s", until,
             tn_size_show(min_bytes).text, tn_size_show(max_bytes).text);
    struct tn_random random;
    tn_random_init(&random, options->seed);
    if (!add_allocs(workload, live_bytes, min_bytes, max_bytes, &random, reason_out) ||
        !add_frees(workload, &random, reason_out))
        return false;
    workload->unit_count = workload->body.count;
    return true;
}

bool tn_growth_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                              struct tn_workload_list *list, struct tn_reason *reason_out)
{
    static const struct tn_number_list to = {
        4, { (uint64_t)64 << 20, (uint64_t)256 << 20, (uint64_t)1 << 30, (uint64_t)4 << 30 }
    };
    if (options->is_until_full)
        return add_workload(options, "full", machine->device_free_bytes, list, reason_out);
    const struct tn_number_list *live_bytes = tn_number_list_or(&options->growth_sizes, &to);
    for (size_t i = 0; i < live_bytes->count; i++)
        if (!add_workload(options, tn_size_show(live_bytes->values[i]).text, live_bytes->values[i],
                          list, reason_out))
            return false;
    return true;
}
