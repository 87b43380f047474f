/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure: what the allocators cost on one workload. */
#include "measure.h"

#include "measure_faithful.h"
#include "measure_growth.h"
#include "measure_passes.h"
#include "measure_streams.h"
#include "measure_threads.h"

static void skip_all(struct tn_result *results, size_t count, const struct tn_reason *reason)
{
    for (size_t i = 0; i < count; i++)
        if (results[i].outcome == TN_OUTCOME_MEASURED) {
            results[i].outcome = TN_OUTCOME_SKIPPED;
            results[i].reason = *reason;
        }
}

/* What one allocator is expected to hold at most: pools that double hold up to twice what is live, and
 * fragmentation adds to it. */
static double expected_bytes(const struct tn_options *options, size_t live_bytes_max)
{
    return 2.5 * (double)live_bytes_max + (double)options->settings.initial_bytes;
}

/* Host memory that is touched is really taken, and where there is not enough, the system ends some program. */
static bool fits_host(const struct tn_options *options, const struct tn_machine *machine,
                      size_t live_bytes_max, struct tn_reason *reason_out)
{
    double bytes = expected_bytes(options, live_bytes_max);
    if (bytes < (double)machine->device_free_bytes) return true;
    tn_reason_set(reason_out, "memory is touched, it may take %.1f GB, and %.1f GB are free",
                  bytes / 1e9, (double)machine->device_free_bytes / 1e9);
    return false;
}

/* Made-up workloads that ask for more than the device has are left out, for every allocator. A
 * recorded one is played: its failure is the answer. */
static bool fits_device(const struct tn_workload *workload, const struct tn_options *options,
                        const struct tn_machine *machine, size_t live_bytes_max,
                        struct tn_reason *reason_out)
{
    if (machine->is_host && options->touch_bytes > 0)
        return fits_host(options, machine, live_bytes_max, reason_out);
    if (machine->is_host || workload->is_recorded || live_bytes_max <= machine->device_free_bytes)
        return true;
    tn_reason_set(reason_out, "it has %.1f GB live, and the device has %.1f GB free",
                  (double)live_bytes_max / 1e9, (double)machine->device_free_bytes / 1e9);
    return false;
}

/* Whether the device has room for every allocator at once. */
static bool can_interleave(const struct tn_options *options, const struct tn_machine *machine,
                           size_t live_bytes_max)
{
    if (machine->is_host && options->touch_bytes == 0) return true;
    return expected_bytes(options, live_bytes_max) * (double)options->allocator_count <
           (double)machine->device_free_bytes;
}
static void init_results(const struct tn_workload *workload, const struct tn_options *options,
                         struct tn_result *results)
{
    for (size_t i = 0; i < options->allocator_count; i++) {
        const struct tn_allocator *allocator = options->allocators[i];
        bool is_faithful = workload->method == TN_METHOD_FAITHFUL;
        bool can_touch = is_faithful || workload->method == TN_METHOD_PASSES;
        results[i] = (struct tn_result){
            .workload = workload,
            .allocator = allocator,
            .thread_count = is_faithful                  ? workload->origin_thread_count
                            : workload->thread_count > 0 ? workload->thread_count
                                                         : 1,
            .stream_count = is_faithful ? workload->origin_stream_count : 1,
            .touch_bytes = can_touch ? options->touch_bytes : 0,
            .order = options->order,
            .speed = is_faithful ? options->speed : 0.0,
        };
        if (!allocator->missing_because) continue;
        results[i].outcome = TN_OUTCOME_NOT_FOUND;
        tn_reason_set(&results[i].reason, "%s", allocator->missing_because);
    }
}
void tn_measure(const struct tn_workload *workload, const struct tn_options *options,
                const struct tn_machine *machine, struct tn_result *results)
{
    init_results(workload, options, results);
    struct tn_workload_extent extent;
    if (!tn_workload_measure(workload, workload->body.count, &extent)) {
        tn_results_fail(results, options->allocator_count, "there is not enough host memory");
        return;
    }
    struct tn_reason reason;
    if (!fits_device(workload, options, machine, extent.live_bytes_max, &reason)) {
        skip_all(results, options->allocator_count, &reason);
        return;
    }
    bool is_interleaved = can_interleave(options, machine, extent.live_bytes_max);
    for (size_t i = 0; i < options->allocator_count; i++) {
        results[i].live_bytes_max = extent.live_bytes_max;
        results[i].live_count_max = extent.live_count_max;
        results[i].pair_count = extent.alloc_count;
    }
    switch (workload->method) {
    case TN_METHOD_PASSES:
        tn_measure_passes(workload, options, machine, is_interleaved, results);
        break;
    case TN_METHOD_THREADS:
        tn_measure_threads(workload, options, is_interleaved, results);
        break;
    case TN_METHOD_FAITHFUL:
        tn_measure_faithful(workload, options, machine, is_interleaved, results);
        break;
    case TN_METHOD_GROWTH:
        tn_measure_growth(workload, options, results);
        break;
    case TN_METHOD_STREAMS:
        tn_measure_streams(workload, options, results);
        break;
    }
}
