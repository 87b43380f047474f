/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * steady: threads hold objects, and over and over replace a random half of theirs. Measured are the rate, and
 * the range from the first byte of the objects to the last, by the bytes that they have: the long-run cost of
 * fragmentation.
 */
#include "stage.cuh"
#include "tests.h"

namespace
{

constexpr uint32_t thread_count_max = 65536;
constexpr uint32_t held = 8;
constexpr unsigned round_count = 64;

template <class Heap>
void run_workload(const options &options, report &report, patience &patience, const char *name,
                  const sizes &of, size_t heap_bytes)
{
    subject subject{ "steady", name, 0, Heap::name };
    if (!patience.lasts_for(subject)) return;
    uint32_t threads = options.threads < thread_count_max ? options.threads : thread_count_max;
    Heap heap(heap_bytes);
    objects objects(threads * held);
    device_array<uint32_t> size_bytes(threads * held);
    typename Heap::device_part device = heap.device();
    std::vector<double> rates, ranges;
    for (unsigned round = 0; round < round_count && patience.lasts_for(subject); round++) {
        double us = device_us([&] {
            replace_half<<<blocks_for(threads), block_threads>>>(
                device, of, round, held, threads, objects.addresses.get(), size_bytes.get());
        });
        patience.note_us(us);
        rates.push_back((double)threads * held / 2 / us);
        survey now = objects.look_at(of, size_bytes.get());
        if (round >= round_count / 2)
            ranges.push_back((double)(now.highest - now.lowest) / (double)now.bytes);
    }
    /* By then nearly all slots have been asked for. */
    unsigned long long wrong = objects.count_wrong(of, size_bytes.get());
    if (wrong != 0) report.fault(subject, std::to_string(wrong) + " words were written over");
    report.add(subject, "replacements", "M/s", rates);
    report.add(subject, "range over live", "times", ranges);
    put_all<<<blocks_for(threads * held), block_threads>>>(device, objects.addresses.get(),
                                                           threads * held);
    CUDA(cudaDeviceSynchronize());
}

template <class Heap> void run(const options &options, report &report)
{
    if (!Heap::can_free) return;
    patience patience(options, report);
    run_workload<Heap>(options, report, patience, "64 B", { distribution::one, 64, 64 },
                       options.heap_bytes);
    run_workload<Heap>(options, report, patience, "log 16 to 4096 B",
                       { distribution::log, 16, 4096 }, options.heap_bytes);
    if (Heap::can_renew) /* the other heaps have one size */
        run_workload<Heap>(options, report, patience, "log 16 to 4096 B, a quarter of the heap",
                           { distribution::log, 16, 4096 }, options.heap_bytes / 4);
}

} // namespace

void test_steady(const options &options, report &report)
{
    FOR_EACH_HEAP(run, options, report);
}
