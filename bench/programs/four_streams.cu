// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// four_streams: a program that moves from cudaMalloc, in four ways. It works on four streams: allocate, fill by one kernel,
// check by a slow one, free. Each way is timed, and wrong values are counted: memory that another stream still used.
//
//     cudaMalloc, cudaFree             the program as it was
//     tarn_cudaMalloc, tarn_cudaFree   of tarn/cuda_compat.h: no stream is named, and frees wait
//     tarn_malloc, tarn_free           the mistake: no stream is named, and frees do not wait
//     tarn_malloc_on, tarn_free_on     each call names its stream
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>
#include <tarn/cuda_compat.h>

namespace
{

constexpr int stream_count = 4, round_count = 400, repetition_count = 9, pair_count = 2000;
constexpr long long check_ns = 20000; // how long a check takes, at the least

#define CHECK(call)                                                                \
    do {                                                                           \
        cudaError_t error = (call);                                                \
        if (error != cudaSuccess) {                                                \
            std::fprintf(stderr, "%s: %s; %s\n", #call, cudaGetErrorString(error), \
                         tarn_last_error().message);                               \
            std::exit(1);                                                          \
        }                                                                          \
    } while (0)

__global__ void fill(int *values, int count, int value)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        values[i] = value;
}

__device__ long long now_ns()
{
    long long ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void check(const int *values, int count, int value, unsigned long long *wrong_count)
{
    long long start = now_ns();
    while (now_ns() - start < check_ns) {
    }
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        if (values[i] != value) atomicAdd(wrong_count, 1ULL);
    }
}

struct Way {
    const char *name;
    cudaError_t (*allocate)(int **, size_t, cudaStream_t);
    cudaError_t (*release)(int *, cudaStream_t);
};

const Way ways[] = {
    { "cudaMalloc, cudaFree",
      [](int **values, size_t bytes, cudaStream_t) { return cudaMalloc(values, bytes); },
      [](int *values, cudaStream_t) { return cudaFree(values); } },
    { "tarn_cudaMalloc, tarn_cudaFree",
      [](int **values, size_t bytes, cudaStream_t) { return tarn_cudaMalloc(values, bytes); },
      [](int *values, cudaStream_t) { return tarn_cudaFree(values); } },
    { "tarn_malloc, tarn_free: wrong",
      [](int **values, size_t bytes, cudaStream_t) {
          return tarn_cudaError(tarn_malloc(bytes, (void **)values));
      },
      [](int *values, cudaStream_t) { return tarn_cudaError(tarn_free(values)); } },
    { "tarn_malloc_on, tarn_free_on",
      [](int **values, size_t bytes, cudaStream_t stream) {
          return tarn_cudaError(tarn_malloc_on(bytes, stream, (void **)values));
      },
      [](int *values, cudaStream_t stream) {
          return tarn_cudaError(tarn_free_on(values, stream));
      } },
};

double now_us()
{
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// The microseconds of a round, with the kernels' time.
double time_rounds(const Way &way, const cudaStream_t *streams, unsigned long long *wrong_count)
{
    double start = now_us();
    for (int i = 0; i < round_count; i++) {
        int count = (1 << 18) + i * 7919 % 1000 * 64, *values;
        cudaStream_t stream = streams[i % stream_count];
        CHECK(way.allocate(&values, count * sizeof(int), stream));
        fill<<<64, 256, 0, stream>>>(values, count, i);
        check<<<64, 256, 0, stream>>>(values, count, i, wrong_count);
        CHECK(way.release(values, stream));
    }
    CHECK(cudaDeviceSynchronize());
    return (now_us() - start) / round_count;
}

// The microseconds of an allocation and its free, while the device has nothing to do.
double time_pairs(const Way &way, cudaStream_t stream)
{
    double start = now_us();
    for (int i = 0; i < pair_count; i++) {
        int *values;
        CHECK(way.allocate(&values, 1 << 20, stream));
        CHECK(way.release(values, stream));
    }
    return (now_us() - start) / pair_count;
}

template <class Time> void print(const char *unit, Time time)
{
    std::vector<double> times;
    time(); // the first brings the pool to its size
    for (int i = 0; i < repetition_count; i++)
        times.push_back(time());
    std::sort(times.begin(), times.end());
    std::printf("  %8.2f us %s (%.2f to %.2f)", times[times.size() / 2], unit, times.front(),
                times.back());
}

} // namespace

int main()
{
    cudaStream_t streams[stream_count];
    unsigned long long *wrong_count, wrong;
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&wrong_count, sizeof *wrong_count));
    for (const Way &way : ways) {
        CHECK(cudaMemset(wrong_count, 0, sizeof *wrong_count));
        CHECK(cudaDeviceSynchronize());
        std::printf("%-32s", way.name);
        print("a round", [&] { return time_rounds(way, streams, wrong_count); });
        print("a pair", [&] { return time_pairs(way, streams[0]); });
        CHECK(cudaMemcpy(&wrong, wrong_count, sizeof wrong, cudaMemcpyDeviceToHost));
        std::printf("  %llu wrong values\n", wrong);
    }
    return 0;
}
