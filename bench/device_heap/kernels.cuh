/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * kernels: the kernels that are timed, and those that check their results.
 *
 * Kernels that allocate have a limit of registers, so that five blocks of 256 threads fit on a
 * multiprocessor, as in a program that waits for memory. Without a limit the compiler takes more registers,
 * and fewer blocks fit. BLOCKS chooses another number. Kernels that only free need fewer registers, and fill
 * a multiprocessor.
 */
#ifndef TN_HEAP_BENCH_KERNELS_CUH
#define TN_HEAP_BENCH_KERNELS_CUH

#include "sizes.cuh"

#ifndef TN_HEAP_BENCH_BLOCKS
#define TN_HEAP_BENCH_BLOCKS 5
#endif
#ifndef TN_HEAP_BENCH_FREE_BLOCKS
#define TN_HEAP_BENCH_FREE_BLOCKS 8
#endif

constexpr uint32_t block_threads = 256;

#define TIMED_KERNEL __global__ __launch_bounds__(block_threads, TN_HEAP_BENCH_BLOCKS) static
#define FREE_KERNEL  __global__ __launch_bounds__(block_threads, TN_HEAP_BENCH_FREE_BLOCKS) static

__device__ inline uint32_t thread_number()
{
    return blockIdx.x * block_threads + threadIdx.x;
}

/* --- timed ------------------------------------------------------------------------------------------ */

template <class Device>
TIMED_KERNEL void get_alike(const __grid_constant__ Device heap, uint32_t size_bytes, void **objects, uint32_t count)
{
    uint32_t number = thread_number();
    if (number < count) objects[number] = heap.get_alike(size_bytes);
}

template <class Device>
TIMED_KERNEL void get_mixed(const __grid_constant__ Device heap, sizes of, void **objects, uint32_t count)
{
    uint32_t number = thread_number();
    if (number < count) objects[number] = heap.get(of.of(number));
}

template <class Device>
FREE_KERNEL void put_all(const __grid_constant__ Device heap, void **objects, uint32_t count)
{
    uint32_t number = thread_number();
    if (number < count) heap.put(objects[number]);
}

/* Frees in another order than that of the allocations. */
template <class Device>
FREE_KERNEL void put_shuffled(const __grid_constant__ Device heap, void **objects, uint32_t count)
{
    uint32_t number = thread_number();
    if (number < count) heap.put(objects[shuffled(number, count)]);
}

/* Each thread gets an object, writes both its ends, checks them and puts the object back, over and over. */
template <class Device>
TIMED_KERNEL void churn(const __grid_constant__ Device heap, sizes of, uint32_t rounds, unsigned long long *failed,
                        unsigned long long *wrong)
{
    uint32_t number = thread_number();
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t size_bytes = of.of(number * rounds + i);
        volatile uint32_t *words = (volatile uint32_t *)heap.get(size_bytes);
        if (words == nullptr) {
            atomicAdd(failed, 1ULL);
            continue;
        }
        uint32_t last = size_bytes / 4 - 1;
        words[0] = number;
        words[last] = number ^ i << 24;
        if (words[last] != (number ^ i << 24)) atomicAdd(wrong, 1ULL);
        if (last > 0 && words[0] != number) atomicAdd(wrong, 1ULL);
        heap.put((void *)words);
    }
}

/* Each thread holds `held` objects, and replaces a random half of them. */
template <class Device>
TIMED_KERNEL void replace_half(const __grid_constant__ Device heap, sizes of, uint32_t round, uint32_t held,
                               uint32_t threads, void **objects, uint32_t *size_bytes)
{
    uint32_t number = thread_number();
    if (number >= threads) return;
    for (uint32_t i = 0; i < held / 2; i++) {
        uint32_t random = mixed(number + threads * (round * held + i));
        uint32_t at = random % held * threads + number;
        uint32_t bytes = of.of(random);
        heap.put(objects[at]);
        objects[at] = heap.get(bytes);
        size_bytes[at] = bytes;
    }
}

/* Cycles of `rounds` calls of each kind, by the first lanes of one wave: until an object's address is there,
 * and until the call that frees it has returned. */
template <class Device>
TIMED_KERNEL void time_calls(const __grid_constant__ Device heap, uint32_t size_bytes, uint32_t rounds,
                             unsigned long long *cycles)
{
    unsigned long long get_cycles = 0;
    unsigned long long put_cycles = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        long long start = clock64();
        void *object = heap.get(size_bytes);
        if (object == nullptr) break;
        long long middle = clock64();
        heap.put(object);
        get_cycles += (unsigned long long)(middle - start);
        put_cycles += (unsigned long long)(clock64() - middle);
    }
    if (threadIdx.x != 0) return;
    cycles[0] = get_cycles;
    cycles[1] = put_cycles;
}

/* --- not timed -------------------------------------------------------------------------------------- */

__global__ static void spin(long long cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

/* Sums over many objects. */
struct survey {
    unsigned long long count;  /* not null */
    unsigned long long bytes;  /* as asked for */
    unsigned long long lowest; /* address */
    unsigned long long highest;
    unsigned long long misaligned;
};

__global__ static void look(void *const *objects, const uint32_t *size_bytes, sizes of, uint32_t count, survey *found)
{
    uint32_t number = thread_number();
    if (number >= count || objects[number] == nullptr) return;
    unsigned long long address = (unsigned long long)(uintptr_t)objects[number];
    uint32_t bytes = size_bytes != nullptr ? size_bytes[number] : of.of(number);
    atomicAdd(&found->count, 1ULL);
    atomicAdd(&found->bytes, (unsigned long long)bytes);
    atomicMin(&found->lowest, address);
    atomicMax(&found->highest, address + bytes);
    if (address % 16 != 0) atomicAdd(&found->misaligned, 1ULL);
}

/* A wave writes all words of an object, or checks whether they are still there. */
template <bool is_written>
__global__ static void patterns(void *const *objects, const uint32_t *size_bytes, sizes of, uint32_t count,
                                unsigned long long *wrong)
{
    uint32_t number = thread_number() / 32;
    if (number >= count || objects[number] == nullptr) return;
    uint32_t *words = (uint32_t *)objects[number];
    uint32_t word_count = (size_bytes != nullptr ? size_bytes[number] : of.of(number)) / 4;
    uint32_t seed = mixed(number);
    for (uint32_t i = threadIdx.x % 32; i < word_count; i += 32) {
        if (is_written)
            words[i] = seed + i;
        else if (words[i] != seed + i)
            atomicAdd(wrong, 1ULL);
    }
}

#endif
