/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* latency: cycles of one call of each kind on an idle device, by one lane and by a whole wave. */
#include "stage.cuh"
#include "tests.h"

namespace
{

constexpr uint32_t calls_of_round = 64;

template <class Heap>
void run_lanes(const options &options, report &report, Heap &heap, unsigned lanes)
{
    subject subject{ "latency", lanes == 1 ? "64 B, one lane" : "64 B, 32 lanes", 0, Heap::name };
    device_array<unsigned long long> cycles(2);
    typename Heap::device_part device = heap.device();
    std::vector<double> gets, puts;
    auto call = [&] { time_calls<<<1, lanes>>>(device, 64, calls_of_round, cycles.get()); };
    call();
    repeat(options, [&] {
        call();
        CUDA(cudaGetLastError());
        gets.push_back((double)cycles.read(0) / calls_of_round);
        puts.push_back((double)cycles.read(1) / calls_of_round);
    });
    report.add(subject, "allocate", "cycles", gets);
    report.add(subject, "free", "cycles", puts);
}

template <class Heap> void run(const options &options, report &report)
{
    if (!Heap::can_free) return;
    Heap heap(options.heap_bytes);
    run_lanes(options, report, heap, 1);
    run_lanes(options, report, heap, 32);
}

} // namespace

void test_latency(const options &options, report &report)
{
    FOR_EACH_HEAP(run, options, report);
}
