/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * initial_values: every initialiser of the public headers, of static and of local objects, in the
 * language that this is compiled as. Fails unless the values are the defaults that the headers name.
 * Needs no library.
 */
#include <stdio.h>

#include <tarn/device_heap.h>
#include <tarn/host.h>
#include <tarn/tarn.h>
#include <tarn/ze.h>

static int failed_count;

static void expect(bool holds, const char *claim)
{
    if (holds) return;
    printf("does not hold: %s\n", claim);
    failed_count++;
}

#define EXPECT(condition) expect(condition, #condition)

/* After it the local object has the initial values once more. */
#define EXPECT_SIZE(type, object, INIT)                   \
    static type static_##object = INIT;                   \
    type object = INIT;                                   \
    EXPECT(static_##object.struct_bytes == sizeof(type)); \
    EXPECT(object.struct_bytes == sizeof(type));          \
    object = static_##object

static void check_pool_options(void)
{
    EXPECT_SIZE(tarn_pool_options, options, TARN_POOL_OPTIONS_INIT);
    EXPECT(options.backend == NULL);
    EXPECT(options.chunk_bytes == TARN_CHUNK_BYTES_DEFAULT);
    EXPECT(options.alignment_bytes == TARN_ALIGNMENT_BYTES_DEFAULT && !options.zero_has_address);
    EXPECT(options.initial_bytes == TARN_INITIAL_BYTES_DEFAULT);
    EXPECT(options.growth_factor >= 2.0 && options.growth_factor <= 2.0);
    EXPECT(options.growth_bytes_max == TARN_GROWTH_BYTES_MAX_DEFAULT);
    EXPECT(options.limit_bytes == 0 && options.limit_percent == 0);
    EXPECT(options.release_threshold_bytes == 0 && options.step_bytes == 0);
    EXPECT(!options.takes_initial_at_once && !options.returns_when_empty && !options.contiguous);
    EXPECT(!options.is_shareable && !options.passes_through && !options.identifies_streams);
    EXPECT(!options.on_static_pool_created && !options.on_static_pool_destroyed);
    EXPECT(!options.on_out_of_memory && !options.fallback && !options.user);
    EXPECT(options.debug == 0 && options.quarantine_bytes == TARN_QUARANTINE_BYTES_DEFAULT);
    EXPECT(options.fit == TARN_FIT_BEST && options.slices);
    EXPECT(options.stream_slack >= 0.0 && options.stream_slack <= 0.0);
    EXPECT(options.pending_factor_max >= 0.0 && options.pending_factor_max <= 0.0);

    EXPECT_SIZE(tarn_pool_options, omega_h, TARN_POOL_OPTIONS_OMEGA_H_INIT);
    EXPECT(omega_h.initial_bytes == 700000000 && omega_h.growth_bytes_max == 0);
    EXPECT(omega_h.chunk_bytes == options.chunk_bytes && omega_h.slices);
    EXPECT(omega_h.growth_factor >= 2.0 && omega_h.growth_factor <= 2.0);

    EXPECT_SIZE(tarn_pool_options, lean, TARN_POOL_OPTIONS_LEAN_INIT);
    EXPECT(lean.contiguous && lean.initial_bytes == 0 && lean.step_bytes == 0);
    EXPECT(lean.stream_slack == 0.25);
    EXPECT(lean.growth_bytes_max == TARN_GROWTH_BYTES_MAX_DEFAULT && lean.slices);
    EXPECT(lean.chunk_bytes == options.chunk_bytes && lean.limit_bytes == 0);
}

static void check_other_options(void)
{
    EXPECT_SIZE(tarn_host_options, host, TARN_HOST_OPTIONS_INIT);
    EXPECT(host.memory_bytes == 0 && host.allocation_bytes_max == 0);
    EXPECT_SIZE(tarn_ze_options, ze, TARN_ZE_OPTIONS_INIT);
    EXPECT(!ze.context && !ze.device && !ze.has_relaxed_limits);
    EXPECT_SIZE(tarn_device_heap_options, heap, TARN_DEVICE_HEAP_OPTIONS_INIT);
    EXPECT(heap.size_bytes_max == 0 && heap.checks == TARN_DEVICE_HEAP_CHECKS_FREES);
}

static void check_results(void)
{
    EXPECT_SIZE(tarn_stats, stats, TARN_STATS_INIT);
    EXPECT(stats.live_count == 0 && stats.size_histogram[TARN_STATS_HISTOGRAM_BINS - 1] == 0);
    EXPECT_SIZE(tarn_label_stats, label, TARN_LABEL_STATS_INIT);
    EXPECT(label.label[0] == '\0' && label.live_bytes_max == 0 && label.alloc_count == 0);
    EXPECT_SIZE(tarn_leaks, leaks, TARN_LEAKS_INIT);
    EXPECT(leaks.allocation_count == 0 && leaks.used_bytes == 0);
    EXPECT_SIZE(tarn_shortage, shortage, TARN_SHORTAGE_INIT);
    EXPECT(shortage.status == TARN_STATUS_OK && !shortage.fits_without_limit);
    EXPECT_SIZE(tarn_allocation, allocation, TARN_ALLOCATION_INIT);
    EXPECT(!allocation.pool && !allocation.address && allocation.static_pool_id == 0);
    EXPECT_SIZE(tarn_exported_step, step, TARN_EXPORTED_STEP_INIT);
    EXPECT(step.file_descriptor == -1 && !step.base && step.id == 0);
    EXPECT_SIZE(tarn_recording, recording, TARN_RECORDING_INIT);
    EXPECT(!recording.is_recording && recording.host_bytes == 0);
    EXPECT_SIZE(tarn_device_heap_stats, heap, TARN_DEVICE_HEAP_STATS_INIT);
    EXPECT(heap.size_bytes == 0 && heap.classes[TARN_DEVICE_HEAP_CLASS_COUNT - 1].slab_bytes == 0);

    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    EXPECT(result.status == TARN_STATUS_OK && result.vendor_code == 0 && !result.vendor_name);
}

int main(void)
{
    check_pool_options();
    check_other_options();
    check_results();
    return failed_count == 0 ? 0 : 1;
}
