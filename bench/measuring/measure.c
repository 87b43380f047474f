/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure: what the allocators cost on the workloads of a command. */
#include "measure.h"

#include <string.h>

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

/* The other methods have no place for writing into each block, or fill blocks themselves. */
static bool can_touch(const struct tn_workload *workload)
{
    return workload->method == TN_METHOD_PASSES || workload->method == TN_METHOD_FAITHFUL;
}

/* The most that one allocator is expected to hold: a pool that doubles holds up to twice the live bytes, and
 * fragmentation adds to that. */
static double expected_bytes(const struct tn_options *options, size_t live_bytes_max)
{
    return 2.5 * (double)live_bytes_max + (double)options->settings.initial_bytes;
}

/* Touched host memory is really taken. If there is not enough, the system ends some program. */
static bool fits_host(const struct tn_options *options, const struct tn_machine *machine,
                      size_t live_bytes_max, struct tn_reason *reason_out)
{
    double bytes = expected_bytes(options, live_bytes_max);
    if (bytes < (double)machine->device_free_bytes) return true;
    tn_reason_set(reason_out, "memory is touched: it may need %.1f GB, and %.1f GB are free",
                  bytes / 1e9, (double)machine->device_free_bytes / 1e9);
    return false;
}

/* A made-up workload that needs more memory than the device has is skipped for all allocators. A
 * recorded one is played, and may fail. */
static bool fits_device(const struct tn_workload *workload, const struct tn_options *options,
                        const struct tn_machine *machine, size_t live_bytes_max,
                        struct tn_reason *reason_out)
{
    if (machine->is_host && can_touch(workload) && options->touch_bytes > 0)
        return fits_host(options, machine, live_bytes_max, reason_out);
    if (machine->is_host || workload->is_recorded || live_bytes_max <= machine->device_free_bytes)
        return true;
    tn_reason_set(reason_out, "it has %.1f GB live, and the device has %.1f GB free",
                  (double)live_bytes_max / 1e9, (double)machine->device_free_bytes / 1e9);
    return false;
}

static size_t count_threads(const struct tn_workload *workload)
{
    if (workload->method == TN_METHOD_FAITHFUL) return workload->origin_thread_count;
    return workload->method == TN_METHOD_THREADS ? workload->thread_count : 1;
}

/* With threads the allocator may have more: measure_threads.c then counts them. */
static size_t count_streams(const struct tn_workload *workload)
{
    if (workload->method == TN_METHOD_FAITHFUL) return workload->origin_stream_count;
    return workload->method == TN_METHOD_STREAMS ? workload->stream_count : 1;
}

static void init_results(const struct tn_workload *workload, const struct tn_options *options,
                         struct tn_result *results)
{
    for (size_t i = 0; i < options->allocator_count; i++) {
        const struct tn_allocator *allocator = options->allocators[i];
        results[i] = (struct tn_result){
            .workload = workload,
            .allocator = allocator,
            .thread_count = count_threads(workload),
            .stream_count = count_streams(workload),
            .touch_bytes = can_touch(workload) ? options->touch_bytes : 0,
            .order = options->order,
            .speed = workload->method == TN_METHOD_FAITHFUL ? options->speed : 0.0,
        };
        if (!allocator->missing_because) continue;
        results[i].outcome = TN_OUTCOME_NOT_FOUND;
        tn_reason_set(&results[i].reason, "%s", allocator->missing_because);
    }
}

/* Fills in what is known before anything is played. */
static void prepare(const struct tn_workload *workload, const struct tn_options *options,
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
    for (size_t i = 0; i < options->allocator_count; i++) {
        results[i].live_bytes_max = extent.live_bytes_max;
        results[i].live_count_max = extent.live_count_max;
        results[i].pair_count = extent.alloc_count;
    }
}

size_t tn_measure_count_together(const struct tn_workload *workloads, size_t count)
{
    size_t together = 1;
    while (together < count && workloads[together].method == workloads[0].method &&
           strcmp(workloads[together].bench, workloads[0].bench) == 0)
        together++;
    return together;
}

size_t tn_measure(const struct tn_workload *workloads, size_t count,
                  const struct tn_options *options, const struct tn_machine *machine,
                  struct tn_result *results)
{
    static const struct tn_measure_method *const methods[] = {
        [TN_METHOD_PASSES] = &tn_measure_passes,     [TN_METHOD_THREADS] = &tn_measure_threads,
        [TN_METHOD_FAITHFUL] = &tn_measure_faithful, [TN_METHOD_GROWTH] = &tn_measure_growth,
        [TN_METHOD_STREAMS] = &tn_measure_streams,
    };
    for (size_t i = 0; i < count; i++)
        prepare(&workloads[i], options, machine, &results[i * options->allocator_count]);
    return tn_measure_rounds(methods[workloads[0].method], workloads, count, options, machine,
                             results);
}
