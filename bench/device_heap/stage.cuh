/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stage: shared by the tests: a stopwatch, rounds, objects and their verification. */
#ifndef TN_HEAP_BENCH_STAGE_CUH
#define TN_HEAP_BENCH_STAGE_CUH

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "device_memory.h"
#include "heaps.cuh"
#include "kernels.cuh"
#include "report.h"

inline unsigned blocks_for(uint64_t threads)
{
    return (unsigned)((threads + block_threads - 1) / block_threads);
}

inline double seconds_now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* An idle device lowers its clocks, and then takes up to a third longer for the next work. */
constexpr unsigned wake_blocks = 1024;
constexpr long long wake_cycles = 200000;

/* Microseconds that the device takes for the submitted work, launch included, if it was busy just before. */
template <class Submit>
double device_us(Submit submit)
{
    cudaEvent_t start, end;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&end));
    spin<<<wake_blocks, block_threads>>>(wake_cycles);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaEventRecord(start));
    submit();
    CUDA(cudaGetLastError());
    CUDA(cudaEventRecord(end));
    CUDA(cudaEventSynchronize(end));
    float milliseconds;
    CUDA(cudaEventElapsedTime(&milliseconds, start, end));
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(end));
    return milliseconds * 1e3;
}

/* Runs the wanted number of rounds, or as many as patience lasts for, but at least one. */
template <class Round>
void repeat(const options &options, Round round)
{
    double end_s = seconds_now() + options.patience_s;
    for (unsigned i = 0; i < options.rounds && (i == 0 || seconds_now() < end_s); i++)
        round();
}

/* Decides which workloads of a test a heap still gets. */
class patience {
public:
    patience(const options &options, report &report)
        : limit_s_(options.patience_s), report_(report)
    {}

    /* Whether the heap is to be given this workload. */
    bool lasts_for(const subject &of)
    {
        if (longest_s_ <= limit_s_) return true;
        char why[96];
        std::snprintf(why, sizeof why, "one before took %.1f s", longest_s_);
        report_.skip(of, why);
        return false;
    }
    /* Notes how long the device took for a single step of a workload. */
    void note_us(double microseconds)
    {
        if (microseconds * 1e-6 > longest_s_) longest_s_ = microseconds * 1e-6;
    }

private:
    double limit_s_;
    double longest_s_ = 0.0;
    report &report_;
};

/* Objects that a heap has handed out, in device memory. */
struct objects {
    device_array<void *> addresses;
    device_array<unsigned long long> wrong{ 1 };
    device_array<survey> found{ 1 };
    uint32_t count;

    explicit objects(uint32_t object_count)
        : addresses(object_count), count(object_count)
    {}

    survey look_at(const sizes &of, const uint32_t *size_bytes = nullptr)
    {
        found.write({ 0, 0, ~0ULL, 0, 0 });
        look<<<blocks_for(count), block_threads>>>(addresses.get(), size_bytes, of, count, found.get());
        CUDA(cudaGetLastError());
        return found.read();
    }

    /* Writes all objects in full, and counts the words that have changed then. */
    unsigned long long count_wrong(const sizes &of, const uint32_t *size_bytes = nullptr)
    {
        unsigned blocks = blocks_for((uint64_t)count * 32);
        wrong.clear();
        patterns<true><<<blocks, block_threads>>>(addresses.get(), size_bytes, of, count, wrong.get());
        patterns<false><<<blocks, block_threads>>>(addresses.get(), size_bytes, of, count, wrong.get());
        CUDA(cudaGetLastError());
        return wrong.read();
    }

    /* Checks that all objects are there, aligned, and do not overlap. */
    void verify(const subject &subject, const sizes &of, report &report, const uint32_t *size_bytes = nullptr)
    {
        survey now = look_at(of, size_bytes);
        unsigned long long wrong_words = count_wrong(of, size_bytes);
        if (now.count != count) report.fault(subject, std::to_string(count - now.count) + " requests got nothing");
        if (now.misaligned != 0) report.fault(subject, std::to_string(now.misaligned) + " objects are not aligned");
        if (wrong_words != 0) report.fault(subject, std::to_string(wrong_words) + " words were written over");
    }
};

/* Calls run<Heap>(options, report) for each heap that is wanted. */
#define FOR_EACH_HEAP(run, options, report) \
    do { \
        if ((options).has_heap(bump_heap::name)) run<bump_heap>(options, report); \
        if ((options).has_heap(tarn_heap::name)) run<tarn_heap>(options, report); \
        if ((options).has_heap(cuda_heap::name)) run<cuda_heap>(options, report); \
    } while (0)

#endif
