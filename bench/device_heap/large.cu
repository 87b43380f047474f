/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* large: threads allocate one large object each, all at once; then they free them. */
#include "stage.cuh"
#include "tests.h"

namespace
{

struct workload {
    const char *name;
    uint32_t size_kib;
    uint32_t threads;
};

const workload workloads[] = { { "64 KiB x 1024", 64, 1024 },     { "1 MiB x 256", 1 << 10, 256 },
                               { "16 MiB x 64", 16 << 10, 64 },   { "32 MiB x 64", 32 << 10, 64 },
                               { "128 MiB x 16", 128 << 10, 16 }, { "1 GiB x 4", 1 << 20, 4 } };

template <class Device>
TIMED_KERNEL void get_large(const __grid_constant__ Device heap, uint32_t size_kib, void **objects,
                            uint32_t count)
{
    uint32_t number = thread_number();
    if (number < count) objects[number] = heap.get((size_t)size_kib << 10);
}

template <class Heap> void run(const options &options, report &report)
{
    if (!Heap::can_free) return;
    Heap heap(options.heap_bytes);
    typename Heap::device_part device = heap.device();
    patience patience(options, report);
    for (const workload &workload : workloads) {
        subject subject{ "large", workload.name, 0, Heap::name };
        size_t bytes = (size_t)workload.size_kib << 10;
        if (bytes * workload.threads > options.heap_bytes / 2) {
            report.skip(subject, "the heap is too small for it");
            continue;
        }
        if (!patience.lasts_for(subject)) continue;
        objects objects(workload.threads);
        const sizes of{ distribution::one, 1U << 20, 1U << 20 }; /* the first MiB is looked at */
        const sizes part{ distribution::one, 1U << 16, 1U << 16 };
        std::vector<double> gets, puts;
        repeat(options, [&] {
            gets.push_back(device_us([&] {
                get_large<<<blocks_for(workload.threads), block_threads>>>(
                    device, workload.size_kib, objects.addresses.get(), workload.threads);
            }));
            patience.note_us(gets.back());
            if (gets.size() == 1) objects.verify(subject, bytes >= 1 << 20 ? of : part, report);
            puts.push_back(device_us([&] {
                put_all<<<blocks_for(workload.threads), block_threads>>>(
                    device, objects.addresses.get(), workload.threads);
            }));
        });
        report.add(subject, "allocate", "us", gets);
        report.add(subject, "free", "us", puts);
    }
}

} // namespace

void test_large(const options &options, report &report)
{
    FOR_EACH_HEAP(run, options, report);
}
