/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* large: threads allocate one large object each, all at once; then they free them. */
#include "stage.cuh"
#include "tests.h"

namespace
{

struct workload {
    const char *name;
    uint32_t least_kib;
    uint32_t most_kib;
    uint32_t threads;
};

/* The last one takes longest for an allocator that searches all its memory. */
const workload workloads[] = { { "64 KiB x 1024", 64, 64, 1024 },
                               { "1 MiB x 256", 1 << 10, 1 << 10, 256 },
                               { "16 MiB x 64", 16 << 10, 16 << 10, 64 },
                               { "32 MiB x 64", 32 << 10, 32 << 10, 64 },
                               { "128 MiB x 16", 128 << 10, 128 << 10, 16 },
                               { "1 GiB x 4", 1 << 20, 1 << 20, 4 },
                               { "4 to 64 KiB x 65536", 4, 64, 65536 } };

__device__ uint32_t kib_of(const workload &workload, uint32_t number)
{
    return workload.least_kib + mixed(number) % (workload.most_kib - workload.least_kib + 1);
}

template <class Device>
TIMED_KERNEL void get_large(const __grid_constant__ Device heap, const workload workload,
                            void **objects)
{
    uint32_t number = thread_number();
    if (number < workload.threads)
        objects[number] = heap.get((size_t)kib_of(workload, number) << 10);
}

/* The part of each object that is verified: the first MiB at most. */
__global__ void note_parts(const workload workload, uint32_t *bytes)
{
    uint32_t number = thread_number();
    if (number < workload.threads) bytes[number] = min(kib_of(workload, number), 1U << 10) << 10;
}

template <class Heap>
void run_workload(const options &options, report &report, Heap &heap, const subject &subject,
                  const workload &workload, patience &patience)
{
    typename Heap::device_part device = heap.device();
    unsigned blocks = blocks_for(workload.threads);
    objects objects(workload.threads);
    device_array<uint32_t> parts(workload.threads);
    note_parts<<<blocks, block_threads>>>(workload, parts.get());
    std::vector<double> gets, puts;
    repeat(options, [&] {
        gets.push_back(device_us([&] {
            get_large<<<blocks, block_threads>>>(device, workload, objects.addresses.get());
        }));
        patience.note_us(gets.back());
        if (gets.size() == 1) objects.verify(subject, {}, report, parts.get());
        puts.push_back(device_us([&] {
            put_all<<<blocks, block_threads>>>(device, objects.addresses.get(), workload.threads);
        }));
    });
    report.add(subject, "allocate", "us", gets);
    report.add(subject, "free", "us", puts);
}

template <class Heap> void run(const options &options, report &report)
{
    if (!Heap::can_free) return;
    Heap heap(options.heap_bytes);
    patience patience(options, report);
    for (const workload &workload : workloads) {
        subject subject{ "large", workload.name, 0, Heap::name };
        uint64_t most_bytes = ((uint64_t)workload.most_kib << 10) * workload.threads;
        if (most_bytes > options.heap_bytes / 2)
            report.skip(subject, "the heap is too small for it");
        else if (patience.lasts_for(subject))
            run_workload(options, report, heap, subject, workload, patience);
    }
}

} // namespace

void test_large(const options &options, report &report)
{
    FOR_EACH_HEAP(run, options, report);
}
