/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * out_of_memory: more threads than the heap has room for allocate one object each. Measured are the share of
 * the heap that they get, the time it takes, and whether the heap gives as much again after all was freed.
 */
#include "stage.cuh"
#include "tests.h"

namespace
{

/* Lets the threads allocate; returns the bytes that they got, and times it. */
template <class Heap> double fill(Heap &heap, objects &objects, uint32_t size_bytes, double *us_out)
{
    typename Heap::device_part device = heap.device();
    *us_out = device_us([&] {
        get_alike<<<blocks_for(objects.count), block_threads>>>(
            device, size_bytes, objects.addresses.get(), objects.count);
    });
    return (double)objects.look_at({ distribution::one, size_bytes, size_bytes }).bytes;
}

void run_workload(const options &options, report &report, const char *name, size_t heap_bytes,
                  uint32_t size_bytes)
{
    subject subject{ "oom", name, (double)size_bytes, tarn_heap::name };
    const sizes of{ distribution::one, size_bytes, size_bytes };
    tarn_heap heap(heap_bytes);
    objects objects((uint32_t)(heap_bytes / size_bytes / 100 * 101));
    std::vector<double> shares, shares_again, times, frees;
    double us;
    repeat(options, [&] {
        heap.renew();
        shares.push_back(fill(heap, objects, size_bytes, &us) / (double)heap_bytes * 100.0);
        times.push_back(us);
        if (objects.count_wrong(of) != 0) report.fault(subject, "objects overlap");
        frees.push_back(device_us([&] {
            put_all<<<blocks_for(objects.count), block_threads>>>(
                heap.device(), objects.addresses.get(), objects.count);
        }));
        shares_again.push_back(fill(heap, objects, size_bytes, &us) / (double)heap_bytes * 100.0);
        put_all<<<blocks_for(objects.count), block_threads>>>(
            heap.device(), objects.addresses.get(), objects.count);
    });
    TARN(tarn_device_heap_check(heap.heap, nullptr));
    report.add(subject, "share handed out", "%", shares);
    report.add(subject, "share after freeing all", "%", shares_again);
    report.add(subject, "allocate until there is none", "us", times);
    report.add(subject, "free", "us", frees);
}

} // namespace

/* CUDA's heap has one size for the whole process, and a bump pointer gives nothing back. */
void test_out_of_memory(const options &options, report &report)
{
    if (!options.has_heap(tarn_heap::name)) return;
    run_workload(options, report, "1024 B, 512 MiB", (size_t)512 << 20, 1024);
    run_workload(options, report, "64 B, 512 MiB", (size_t)512 << 20, 64);
    if (options.heap_bytes >= (size_t)2 << 30)
        run_workload(options, report, "64 B, 2 GiB", (size_t)2 << 30, 64);
}
