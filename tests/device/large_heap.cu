/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * large_heap: a device heap of nine tenths of the memory that a device has free. It is filled, half of it is freed and
 * filled with another size, and then one object takes half of it. All that is handed out is written in full, with a pattern
 * of each object's own, and verified.
 *
 * Usage: test_large_heap [GIB]          no more than so many GiB
 *
 * Exit status: 0 all is well, 1 it is not, 2 usage, 77 no device.
 */
#include <cstdint>

#include <cuda_runtime.h>

#include "checks.h"
#include "tarn/device_heap.cuh"
#include "tarn/device_heap.h"
#include "tarn/tarn.h"

namespace
{

constexpr uint32_t block_threads = 256;
constexpr uint32_t large_bytes = 65536; /* of an object: a page each */
constexpr uint32_t small_bytes = 4096;
constexpr uint32_t words_of_wave = 1U << 17; /* of 8 bytes: a MiB */

struct findings {
    unsigned long long count;  /* objects that are there */
    unsigned long long lowest; /* address */
    unsigned long long highest;
    unsigned long long wrong; /* words */
};

/* --- kernels ---------------------------------------------------------------------------------------- */

__device__ uint64_t thread_number()
{
    return (uint64_t)blockIdx.x * block_threads + threadIdx.x;
}

__global__ void take(tarn_device_heap_handle heap, size_t size_bytes, uint64_t **objects,
                     uint64_t count)
{
    uint64_t number = thread_number();
    if (number < count) objects[number] = (uint64_t *)tarn_dmalloc(heap, size_bytes);
}

/* Every second group of 64. */
__device__ bool is_of_odd_group(uint64_t number)
{
    return number / 64 % 2 == 1;
}

__global__ void free_odd_groups(tarn_device_heap_handle heap, uint64_t **objects, uint64_t count)
{
    uint64_t number = thread_number();
    if (number >= count || !is_of_odd_group(number)) return;
    tarn_dfree(heap, objects[number]);
    objects[number] = nullptr;
}

__global__ void free_all(tarn_device_heap_handle heap, uint64_t *const *objects, uint64_t count)
{
    uint64_t number = thread_number();
    if (number < count) tarn_dfree(heap, objects[number]);
}

__global__ void look(uint64_t *const *objects, uint64_t count, size_t size_bytes, findings *found)
{
    uint64_t number = thread_number();
    if (number >= count || objects[number] == nullptr) return;
    unsigned long long address = (unsigned long long)(uintptr_t)objects[number];
    atomicAdd(&found->count, 1ULL);
    atomicMin(&found->lowest, address);
    atomicMax(&found->highest, address + size_bytes);
}

/* Each wave has a part of an object. */
template <bool is_written>
__global__ void patterns(uint64_t *const *objects, uint64_t count, uint64_t word_count,
                         uint64_t seed, findings *found)
{
    uint64_t parts = (word_count + words_of_wave - 1) / words_of_wave;
    uint64_t number = thread_number() / 32 / parts;
    uint64_t part = thread_number() / 32 % parts;
    if (number >= count || objects[number] == nullptr) return;
    uint64_t end =
        (part + 1) * words_of_wave < word_count ? (part + 1) * words_of_wave : word_count;
    for (uint64_t i = part * words_of_wave + threadIdx.x % 32; i < end; i += 32) {
        uint64_t word = (seed + number) * 0x9E3779B97F4A7C15ULL + i;
        if (is_written)
            objects[number][i] = word;
        else if (objects[number][i] != word)
            atomicAdd(&found->wrong, 1ULL);
    }
}

/* --- on the host ------------------------------------------------------------------------------------ */

unsigned blocks_for(uint64_t threads)
{
    return (unsigned)((threads + block_threads - 1) / block_threads);
}

class object_list
{
  public:
    object_list(uint64_t object_count, size_t object_bytes, uint64_t first_seed)
        : count(object_count), size_bytes(object_bytes), seed_(first_seed)
    {
        CUDA(cudaMalloc(&get, count * sizeof *get));
        CUDA(cudaMalloc(&found_, sizeof *found_));
    }
    object_list(const object_list &) = delete;
    object_list &operator=(const object_list &) = delete;
    ~object_list()
    {
        CUDA(cudaFree(get));
        CUDA(cudaFree(found_));
    }

    findings take_of(tarn_device_heap_handle heap)
    {
        take<<<blocks_for(count), block_threads>>>(heap, size_bytes, get, count);
        begin();
        look<<<blocks_for(count), block_threads>>>(get, count, size_bytes, found_);
        return found();
    }
    void write()
    {
        patterns<true><<<blocks(), block_threads>>>(get, count, size_bytes / 8, seed_, found_);
    }
    void expect_as_written()
    {
        begin();
        patterns<false><<<blocks(), block_threads>>>(get, count, size_bytes / 8, seed_, found_);
        EXPECT(found().wrong == 0);
    }

    uint64_t **get = nullptr;
    uint64_t count;
    size_t size_bytes;

  private:
    unsigned blocks() const
    {
        uint64_t parts = (size_bytes / 8 + words_of_wave - 1) / words_of_wave;
        return blocks_for(count * parts * 32);
    }
    void begin()
    {
        const findings nothing = { 0, ~0ULL, 0, 0 };
        CUDA(cudaMemcpy(found_, &nothing, sizeof nothing, cudaMemcpyHostToDevice));
    }
    findings found() const
    {
        findings found;
        CUDA(cudaGetLastError());
        CUDA(cudaMemcpy(&found, found_, sizeof found, cudaMemcpyDeviceToHost));
        return found;
    }

    uint64_t seed_;
    findings *found_ = nullptr;
};

tarn_device_heap_stats stats_of(tarn_device_heap *heap)
{
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    TARN(tarn_device_heap_get_stats(heap, nullptr, &stats));
    return stats;
}

void expect_live(tarn_device_heap *heap, uint64_t live_count)
{
    TARN(tarn_device_heap_check(heap, nullptr));
    tarn_device_heap_stats stats = stats_of(heap);
    EXPECT(stats.live_count == live_count);
    EXPECT(stats.double_free_count + stats.foreign_free_count == 0);
}

/* All of it, by pages; then half of it once more, by smaller objects, between those that are still there. */
void fill(tarn_device_heap *heap, size_t heap_bytes)
{
    tarn_device_heap_handle handle = tarn_device_heap_get_handle(heap);
    object_list pages(heap_bytes / large_bytes, large_bytes, 1);
    findings found = pages.take_of(handle);
    std::printf("%llu objects of %u bytes: %.2f %% of the heap, over %.2f %%\n", found.count,
                large_bytes, 100.0 * (double)found.count * large_bytes / (double)heap_bytes,
                100.0 * (double)(found.highest - found.lowest) / (double)heap_bytes);
    EXPECT((double)found.count * large_bytes >= 0.98 * (double)heap_bytes);
    EXPECT(stats_of(heap).failed_count == pages.count - found.count);
    pages.write();
    pages.expect_as_written();
    expect_live(heap, found.count);

    free_odd_groups<<<blocks_for(pages.count), block_threads>>>(handle, pages.get, pages.count);
    uint64_t kept_count = stats_of(heap).live_count;
    object_list small((found.count - kept_count) * (large_bytes / small_bytes), small_bytes,
                      pages.count + 1);
    findings small_found = small.take_of(handle);
    std::printf("%llu kept, and %llu of %llu objects of %u bytes between them\n",
                (unsigned long long)kept_count, small_found.count, (unsigned long long)small.count,
                small_bytes);
    EXPECT((double)small_found.count >= 0.98 * (double)small.count);
    small.write();
    pages.expect_as_written();
    small.expect_as_written();
    expect_live(heap, kept_count + small_found.count);

    free_all<<<blocks_for(pages.count), block_threads>>>(handle, pages.get, pages.count);
    free_all<<<blocks_for(small.count), block_threads>>>(handle, small.get, small.count);
    expect_live(heap, 0);
}

void one_object_of_half(tarn_device_heap *heap, size_t heap_bytes)
{
    tarn_device_heap_handle handle = tarn_device_heap_get_handle(heap);
    object_list half(1, heap_bytes / 2, 7);
    EXPECT(half.take_of(handle).count == 1);
    half.write();
    half.expect_as_written();
    expect_live(heap, 1);
    free_all<<<1, block_threads>>>(handle, half.get, half.count);
    expect_live(heap, 0);
    std::printf("an object of %.1f GiB\n", (double)half.size_bytes / (double)(1ULL << 30));
}

} // namespace

int main(int argument_count, char **arguments)
{
    char *end = nullptr;
    unsigned long gib_max = argument_count == 2 ? std::strtoul(arguments[1], &end, 10) : 1024;
    if (argument_count > 2 || (end != nullptr && *end != '\0') || gib_max == 0 || gib_max > 1024) {
        std::fprintf(stderr, "usage: %s [GIB]\n", arguments[0]);
        return EXIT_USAGE;
    }
    expect_device();
    size_t free_bytes, all_bytes;
    CUDA(cudaMemGetInfo(&free_bytes, &all_bytes));
    size_t heap_bytes = free_bytes / 10 * 9;
    if (heap_bytes >> 30 >= gib_max) heap_bytes = (size_t)gib_max << 30;
    heap_bytes = heap_bytes / large_bytes * large_bytes;
    std::printf("a heap of %.1f GiB\n", (double)heap_bytes / (double)(1ULL << 30));

    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.initial_bytes = heap_bytes;
    tarn_pool *pool;
    tarn_device_heap *heap;
    TARN(tarn_pool_create(&options, &pool));
    TARN(tarn_device_heap_create(pool, heap_bytes, nullptr, nullptr, &heap));
    fill(heap, heap_bytes);
    one_object_of_half(heap, heap_bytes);
    TARN(tarn_device_heap_destroy(heap, nullptr));
    TARN(tarn_pool_destroy(pool));
    return 0;
}
