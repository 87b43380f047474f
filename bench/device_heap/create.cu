/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* create: the time that the host takes to make a heap out of a pool, and that the device takes to prepare it.
 * */
#include "stage.cuh"
#include "tests.h"

namespace
{

double us_since(double start_s)
{
    return (seconds_now() - start_s) * 1e6;
}

/* The pool holds its memory already, as in a running program. */
void run_size(const options &options, report &report, size_t heap_bytes)
{
    subject subject{ "create", std::to_string(heap_bytes >> 30) + " GiB", (double)heap_bytes,
                     tarn_heap::name };
    std::vector<double> calls, waits, resets;
    tarn_heap first(heap_bytes);
    tarn_device_heap *heap = nullptr;
    repeat(options, [&] {
        TARN(tarn_device_heap_destroy(first.heap, nullptr));
        CUDA(cudaDeviceSynchronize());
        double start_s = seconds_now();
        TARN(tarn_device_heap_create(first.pool, heap_bytes, nullptr, nullptr, &heap));
        calls.push_back(us_since(start_s));
        CUDA(cudaDeviceSynchronize());
        waits.push_back(us_since(start_s));
        resets.push_back(device_us([&] { TARN(tarn_device_heap_reset(heap, nullptr)); }));
        first.heap = heap;
    });
    report.add(subject, "the call", "us", calls);
    report.add(subject, "until the device is done", "us", waits);
    report.add(subject, "reset, on the device", "us", resets);
}

} // namespace

void test_create(const options &options, report &report)
{
    if (!options.has_heap(tarn_heap::name)) return;
    run_size(options, report, (size_t)1 << 30);
    run_size(options, report, options.heap_bytes);
    size_t free_bytes, all_bytes;
    CUDA(cudaMemGetInfo(&free_bytes, &all_bytes));
    const size_t large_bytes = (size_t)64 << 30;
    if (free_bytes > large_bytes + large_bytes / 8) run_size(options, report, large_bytes);
}
