/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* churn: as many threads as the device holds at once allocate, write, read and free, over and over. */
#include "stage.cuh"
#include "tests.h"

namespace
{

constexpr uint32_t pairs_of_thread = 16;

uint32_t threads_at_once()
{
    cudaDeviceProp device;
    CUDA(cudaGetDeviceProperties(&device, 0));
    return (uint32_t)device.multiProcessorCount * (uint32_t)device.maxThreadsPerMultiProcessor;
}

template <class Heap>
void run_workload(const options &options, report &report, Heap &heap, patience &patience,
                  const char *name, const sizes &of)
{
    subject subject{ "churn", name, 0, Heap::name };
    if (!patience.lasts_for(subject)) return;
    uint32_t threads = threads_at_once();
    device_array<unsigned long long> counts(2);
    std::vector<double> rates;
    heap.renew();
    typename Heap::device_part device = heap.device();
    repeat(options, [&] {
        double us = device_us([&] {
            churn<<<blocks_for(threads), block_threads>>>(device, of, pairs_of_thread, counts.get(),
                                                          counts.get() + 1);
        });
        patience.note_us(us);
        rates.push_back((double)threads * pairs_of_thread / us);
    });
    report.add(subject, "pairs", "M/s", rates);
    if (counts.read(0) != 0)
        report.fault(subject, std::to_string(counts.read(0)) + " requests got nothing");
    if (counts.read(1) != 0)
        report.fault(subject, std::to_string(counts.read(1)) + " words were written over");
}

template <class Heap> void run(const options &options, report &report)
{
    if (!Heap::can_free) return;
    Heap heap(options.heap_bytes);
    patience patience(options, report);
    run_workload(options, report, heap, patience, "64 B", { distribution::one, 64, 64 });
    run_workload(options, report, heap, patience, "log 16 to 4096 B",
                 { distribution::log, 16, 4096 });
}

} // namespace

void test_churn(const options &options, report &report)
{
    FOR_EACH_HEAP(run, options, report);
}
