/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_kernels: kernels allocate and free in device heaps, on a real device.
 *
 * Usage: test_heap_kernels [--small]
 *
 * Every object is written in full with a pattern of its own, and verified before it is freed: objects that lie in each
 * other, or in what manages them, show. After each test the heap is compared with itself, as tarn_device_heap_check
 * does. --small takes few threads, for compute-sanitizer.
 *
 * Exit status: 0 all is well, 1 it is not, 77 no device.
 */
#include <cstdint>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#include "checks.h"
#include "tarn/device_heap.cuh"
#include "tarn/device_heap.h"
#include "tarn/tarn.h"

namespace
{

constexpr uint32_t block_threads = 128;

/* What kernels found. */
struct findings {
    unsigned long long refused;    /* requests that got nothing */
    unsigned long long wrong;      /* bytes */
    unsigned long long misaligned; /* addresses */
    unsigned long long denied;     /* objects that the heap says are not its, or too small */
};

/* --- objects ---------------------------------------------------------------------------------------- */

struct object {
    unsigned char *bytes;
    uint32_t size;
    uint32_t seed;
};

__device__ uint32_t mixed(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ x >> 16;
}

/* Sizes from 1 byte to max, small ones more often. */
__device__ uint32_t any_size(uint32_t random, uint32_t max)
{
    uint32_t size = (1 + mixed(random) % max) >> random % 13;
    return size > 0 ? size : 1;
}

__device__ object make(const tarn_device_heap_handle &heap, uint32_t size, uint32_t seed,
                       findings *found)
{
    object object = { (unsigned char *)tarn_dmalloc(heap, size), size, seed };
    if (object.bytes == nullptr) {
        atomicAdd(&found->refused, 1ULL);
        return object;
    }
    if ((uintptr_t)object.bytes % 16 != 0) atomicAdd(&found->misaligned, 1ULL);
    if (!tarn_downs(heap, object.bytes) || tarn_dsize(heap, object.bytes) < size)
        atomicAdd(&found->denied, 1ULL);
    for (uint32_t i = 0; i < size; i++)
        object.bytes[i] = (unsigned char)(seed + i * 11);
    return object;
}

__device__ void end(const tarn_device_heap_handle &heap, const object &object, findings *found)
{
    if (object.bytes == nullptr) return;
    for (uint32_t i = 0; i < object.size; i++)
        if (object.bytes[i] != (unsigned char)(object.seed + i * 11))
            atomicAdd(&found->wrong, 1ULL);
    tarn_dfree(heap, object.bytes);
}

/* --- kernels ---------------------------------------------------------------------------------------- */

__device__ uint32_t thread_number()
{
    return blockIdx.x * block_threads + threadIdx.x;
}

__global__ void make_of_size(tarn_device_heap_handle heap, uint32_t size, object *objects,
                             uint32_t count, findings *found)
{
    uint32_t number = thread_number();
    if (number < count) objects[number] = make(heap, size, mixed(number), found);
}

__global__ void make_of_any_size(tarn_device_heap_handle heap, uint32_t max, object *objects,
                                 uint32_t count, findings *found)
{
    uint32_t number = thread_number();
    if (number < count)
        objects[number] = make(heap, any_size(mixed(number), max), mixed(number + 1), found);
}

/* By other threads than those that made them. */
__global__ void end_all(tarn_device_heap_handle heap, const object *objects, uint32_t count,
                        findings *found)
{
    uint32_t number = thread_number();
    if (number < count) end(heap, objects[count - 1 - number], found);
}

/* Each thread has four objects, and makes new ones in their place; lanes part in between. */
__global__ void keep_replacing(tarn_device_heap_handle heap, uint32_t max, uint32_t rounds,
                               findings *found)
{
    uint32_t number = thread_number();
    object held[4] = {};
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t random = mixed(number * 7919 + round);
        object &object = held[random % 4];
        end(heap, object, found);
        object = {};
        if (random & 64) object = make(heap, any_size(random, max), random, found);
    }
    for (const object &object : held)
        end(heap, object, found);
}

/* Waves have objects together. */
__global__ void objects_of_waves(tarn_device_heap_handle heap, uint32_t size, findings *found)
{
    uint32_t lane = threadIdx.x % 32;
    unsigned char *bytes = (unsigned char *)tarn_dmalloc_coop(heap, size);
    if (bytes == nullptr) {
        atomicAdd(&found->refused, 1ULL);
        return;
    }
    for (uint32_t i = lane; i < size; i += 32)
        bytes[i] = (unsigned char)(thread_number() / 32 + i);
    __syncwarp();
    for (uint32_t i = 31 - lane; i < size; i += 32)
        if (bytes[i] != (unsigned char)(thread_number() / 32 + i)) atomicAdd(&found->wrong, 1ULL);
    __syncwarp();
    if (lane == 31) tarn_dfree(heap, bytes);
}

/* Blocks write large objects together. */
__global__ void large_objects(tarn_device_heap_handle heap, uint32_t size, uint32_t rounds,
                              findings *found)
{
    __shared__ unsigned char *bytes;
    for (uint32_t round = 0; round < rounds; round++) {
        if (threadIdx.x == 0) bytes = (unsigned char *)tarn_dmalloc(heap, size);
        __syncthreads();
        if (bytes == nullptr) {
            if (threadIdx.x == 0) atomicAdd(&found->refused, 1ULL);
        } else {
            for (uint32_t i = threadIdx.x; i < size; i += block_threads)
                bytes[i] = (unsigned char)(blockIdx.x + i);
            __syncthreads();
            for (uint32_t i = threadIdx.x; i < size; i += block_threads)
                if (bytes[i] != (unsigned char)(blockIdx.x + i)) atomicAdd(&found->wrong, 1ULL);
            __syncthreads();
            if (threadIdx.x == 0) tarn_dfree(heap, bytes);
        }
        __syncthreads();
    }
}

__global__ void make_plainly(tarn_device_heap_handle heap, void **objects)
{
    objects[thread_number()] = tarn_dmalloc(heap, 100);
}

/* Every eighth also what is inside an object, and what is no heap's. */
__global__ void free_foreign(tarn_device_heap_handle heap, void *const *objects)
{
    if (thread_number() % 8 != 1) return;
    tarn_dfree(heap, (unsigned char *)objects[thread_number()] + 16);
    tarn_dfree(heap, (void *)&objects[thread_number()]);
}

__global__ void free_every_second(tarn_device_heap_handle heap, void *const *objects,
                                  uint32_t first)
{
    if (thread_number() % 2 == first) tarn_dfree(heap, objects[thread_number()]);
}

__global__ void write_behind(tarn_device_heap_handle heap)
{
    unsigned char *object = (unsigned char *)tarn_dmalloc(heap, 100);
    if (object == nullptr) return;
    if (threadIdx.x % 4 == 0) object[100] = 1;
    tarn_dfree(heap, object);
}

/* --- on the host ------------------------------------------------------------------------------------ */

bool is_small;

uint32_t few_or(uint32_t many)
{
    return is_small ? many / 32 : many;
}

unsigned blocks_for(uint32_t threads)
{
    return (threads + block_threads - 1) / block_threads;
}

class found_on_device
{
  public:
    found_on_device()
    {
        CUDA(cudaMalloc(&found_, sizeof *found_));
        CUDA(cudaMemset(found_, 0, sizeof *found_));
    }
    ~found_on_device()
    {
        CUDA(cudaFree(found_));
    }
    findings *get() const
    {
        return found_;
    }
    findings read() const
    {
        findings found;
        CUDA(cudaGetLastError());
        CUDA(cudaMemcpy(&found, found_, sizeof found, cudaMemcpyDeviceToHost));
        return found;
    }
    void expect_nothing() const
    {
        findings found = read();
        EXPECT(found.refused == 0);
        expect_no_damage(found);
    }
    static void expect_no_damage(const findings &found)
    {
        EXPECT(found.wrong == 0);
        EXPECT(found.misaligned == 0);
        EXPECT(found.denied == 0);
    }

  private:
    findings *found_ = nullptr;
};

class heap_of_pool
{
  public:
    explicit heap_of_pool(size_t size_bytes, const tarn_device_heap_options *options = nullptr,
                          bool is_contiguous = false)
    {
        tarn_pool_options pool_options = TARN_POOL_OPTIONS_INIT;
        pool_options.initial_bytes = size_bytes * 2;
        pool_options.contiguous = is_contiguous;
        TARN(tarn_pool_create(&pool_options, &pool_));
        TARN(tarn_device_heap_create(pool_, size_bytes, options, nullptr, &heap));
        handle = tarn_device_heap_get_handle(heap);
    }
    ~heap_of_pool()
    {
        TARN(tarn_device_heap_destroy(heap, nullptr));
        CUDA(cudaDeviceSynchronize());
        TARN(tarn_pool_destroy(pool_));
    }
    tarn_device_heap_stats stats() const
    {
        tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
        TARN(tarn_device_heap_get_stats(heap, nullptr, &stats));
        return stats;
    }
    void expect_empty() const
    {
        TARN(tarn_device_heap_check(heap, nullptr));
        EXPECT(stats().live_count == 0);
    }

    tarn_device_heap *heap = nullptr;
    tarn_device_heap_handle handle;

  private:
    tarn_pool *pool_ = nullptr;
};

class object_list
{
  public:
    explicit object_list(uint32_t object_count) : count(object_count)
    {
        CUDA(cudaMalloc(&get, count * sizeof *get));
        CUDA(cudaMemset(get, 0, count * sizeof *get));
    }
    ~object_list()
    {
        CUDA(cudaFree(get));
    }
    object *get = nullptr;
    uint32_t count;
};

/* --- tests ------------------------------------------------------------------------------------------ */

void objects_of_one_size()
{
    heap_of_pool heap((size_t)1 << 30);
    found_on_device found;
    for (uint32_t size : { 1U, 16U, 17U, 48U, 100U, 256U, 1000U, 4096U, 5000U, 32768U, 65536U }) {
        uint32_t count = few_or(size <= 4096 ? 1U << 16 : 1U << 12);
        object_list objects(count);
        for (int again = 0; again < 3; again++) {
            make_of_size<<<blocks_for(count), block_threads>>>(heap.handle, size, objects.get,
                                                               count, found.get());
            end_all<<<blocks_for(count), block_threads>>>(heap.handle, objects.get, count,
                                                          found.get());
        }
        found.expect_nothing();
        heap.expect_empty();
    }
}

void objects_of_any_size()
{
    heap_of_pool heap((size_t)2 << 30, nullptr, true);
    found_on_device found;
    object_list objects(few_or(1U << 17));
    for (uint32_t max : { 128U, 4096U, 65536U }) {
        make_of_any_size<<<blocks_for(objects.count), block_threads>>>(
            heap.handle, max, objects.get, objects.count, found.get());
        EXPECT(heap.stats().live_count == objects.count);
        TARN(tarn_device_heap_check(heap.heap, nullptr));
        end_all<<<blocks_for(objects.count), block_threads>>>(heap.handle, objects.get,
                                                              objects.count, found.get());
        found.expect_nothing();
        heap.expect_empty();
    }
}

void objects_that_come_and_go()
{
    heap_of_pool heap((size_t)2 << 30);
    found_on_device found;
    for (uint32_t max : { 64U, 4096U, 20000U }) {
        keep_replacing<<<blocks_for(few_or(1U << 16)), block_threads>>>(heap.handle, max, 64,
                                                                        found.get());
        found.expect_nothing();
        heap.expect_empty();
    }
}

void large_objects_of_many_sizes()
{
    heap_of_pool heap((size_t)2 << 30);
    found_on_device found;
    for (uint32_t size : { 65537U, 1U << 20, (5U << 20) + 1, 33U << 20 }) {
        large_objects<<<few_or(32) + 1, block_threads>>>(heap.handle, size, 2, found.get());
        found.expect_nothing();
        heap.expect_empty();
    }
}

void objects_of_whole_waves()
{
    heap_of_pool heap((size_t)1 << 30);
    found_on_device found;
    for (uint32_t size : { 64U, 3000U, 200000U }) {
        objects_of_waves<<<blocks_for(few_or(1U << 16)), block_threads>>>(heap.handle, size,
                                                                          found.get());
        found.expect_nothing();
        heap.expect_empty();
    }
}

/* At least 98 % of a heap can be had, and all of that again; of one of 8 MiB, of which metadata and the ends of slabs are
 * a larger part, 90 %. */
void memory_that_runs_out()
{
    size_t heap_bytes = (size_t)(is_small ? 8 : 256) << 20;
    for (uint32_t size : { 64U, 1000U, 16384U }) {
        heap_of_pool heap(heap_bytes);
        object_list objects((uint32_t)(heap_bytes / size) + 1000);
        unsigned long long refused_count = 0;
        for (int again = 0; again < 3; again++) {
            found_on_device found;
            make_of_size<<<blocks_for(objects.count), block_threads>>>(
                heap.handle, size, objects.get, objects.count, found.get());
            findings now = found.read();
            found_on_device::expect_no_damage(now);
            tarn_device_heap_stats stats = heap.stats();
            EXPECT(now.refused > 0);
            refused_count += now.refused;
            EXPECT(stats.failed_count == refused_count);
            EXPECT(stats.live_count == objects.count - now.refused);
            EXPECT((double)stats.live_bytes >= (is_small ? 0.9 : 0.98) * (double)heap_bytes);
            end_all<<<blocks_for(objects.count), block_threads>>>(heap.handle, objects.get,
                                                                  objects.count, found.get());
            found_on_device::expect_no_damage(found.read());
            heap.expect_empty();
        }
        /* And by another size. */
        found_on_device found;
        keep_replacing<<<4, block_threads>>>(heap.handle, 4096, 16, found.get());
        found.expect_nothing();
        heap.expect_empty();
    }
}

void a_heap_grows_between_kernels()
{
    tarn_device_heap_options options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    options.size_bytes_max = (size_t)64 << 20;
    heap_of_pool heap((size_t)16 << 20, &options);
    object_list objects(32000); /* of 1000 bytes: twice what there is at first */
    found_on_device first, second;
    make_of_size<<<blocks_for(objects.count), block_threads>>>(heap.handle, 1000, objects.get,
                                                               objects.count, first.get());
    EXPECT(first.read().refused > 0);
    end_all<<<blocks_for(objects.count), block_threads>>>(heap.handle, objects.get, objects.count,
                                                          first.get());
    TARN(tarn_device_heap_add(heap.heap, (size_t)32 << 20, nullptr));
    make_of_size<<<blocks_for(objects.count), block_threads>>>(heap.handle, 1000, objects.get,
                                                               objects.count, second.get());
    TARN(tarn_device_heap_check(heap.heap, nullptr));
    end_all<<<blocks_for(objects.count), block_threads>>>(heap.handle, objects.get, objects.count,
                                                          second.get());
    found_on_device::expect_no_damage(first.read());
    second.expect_nothing();
    heap.expect_empty();
}

void bad_frees_are_counted()
{
    constexpr uint32_t count = 4096;
    heap_of_pool heap((size_t)64 << 20);
    void **objects;
    CUDA(cudaMalloc(&objects, count * sizeof *objects));
    make_plainly<<<blocks_for(count), block_threads>>>(heap.handle, objects);
    free_foreign<<<blocks_for(count), block_threads>>>(heap.handle, objects);
    for (uint32_t first : { 0U, 0U, 1U })
        free_every_second<<<blocks_for(count), block_threads>>>(heap.handle, objects, first);
    CUDA(cudaGetLastError());
    tarn_device_heap_stats stats = heap.stats();
    EXPECT(stats.foreign_free_count == count / 4);
    EXPECT(stats.double_free_count == count / 2);
    heap.expect_empty();
    CUDA(cudaFree(objects));
}

void damage_is_counted()
{
    tarn_device_heap_options options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    options.checks = TARN_DEVICE_HEAP_CHECKS_CONTENTS;
    heap_of_pool heap((size_t)64 << 20, &options);
    write_behind<<<8, block_threads>>>(heap.handle);
    CUDA(cudaGetLastError());
    EXPECT(heap.stats().damaged_free_count == 8 * block_threads / 4);
    heap.expect_empty();
    found_on_device found;
    keep_replacing<<<blocks_for(1024), block_threads>>>(heap.handle, 2000, 16, found.get());
    found.expect_nothing();
    heap.expect_empty();
}

/* Each heap on a stream of its own, all at once, and destroyed while the kernels run. */
void many_heaps_at_once()
{
    constexpr int heap_count = 8;
    tarn_pool *pool;
    TARN(tarn_pool_create(nullptr, &pool));
    found_on_device found;
    cudaStream_t streams[heap_count];
    for (cudaStream_t &stream : streams) {
        CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        tarn_device_heap *heap;
        TARN(tarn_device_heap_create(pool, (size_t)32 << 20, nullptr, stream, &heap));
        keep_replacing<<<8, block_threads, 0, stream>>>(tarn_device_heap_get_handle(heap), 4096, 32,
                                                        found.get());
        CUDA(cudaGetLastError());
        TARN(tarn_device_heap_destroy(heap, stream));
    }
    CUDA(cudaDeviceSynchronize());
    found.expect_nothing();
    for (cudaStream_t stream : streams) {
        TARN(tarn_stream_retire(stream));
        CUDA(cudaStreamDestroy(stream));
    }
    TARN(tarn_pool_destroy(pool));
}

struct {
    const char *name;
    void (*run)();
} const tests[] = {
    { "objects of one size", objects_of_one_size },
    { "objects of any size", objects_of_any_size },
    { "objects that come and go", objects_that_come_and_go },
    { "large objects of many sizes", large_objects_of_many_sizes },
    { "objects of whole waves", objects_of_whole_waves },
    { "memory that runs out", memory_that_runs_out },
    { "a heap grows between kernels", a_heap_grows_between_kernels },
    { "bad frees are counted", bad_frees_are_counted },
    { "damage is counted", damage_is_counted },
    { "many heaps at once", many_heaps_at_once },
};

} // namespace

int main(int argument_count, char **arguments)
{
    is_small = argument_count == 2 && std::strcmp(arguments[1], "--small") == 0;
    if (argument_count > 1 && !is_small) {
        std::fprintf(stderr, "usage: %s [--small]\n", arguments[0]);
        return EXIT_USAGE;
    }
    expect_device();
    for (const auto &test : tests) {
        test.run();
        std::printf("%s: as it should be\n", test.name);
        std::fflush(stdout);
    }
    return 0;
}
