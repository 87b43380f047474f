/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_heap/platform_cuda: NVIDIA's devices, from compute capability 7.0 on. See platform.cuh. */
#ifndef TARN_DEVICE_HEAP_PLATFORM_CUDA_CUH
#define TARN_DEVICE_HEAP_PLATFORM_CUDA_CUH

#include <stdint.h>

#define TN_DEVICE      static __device__ __forceinline__
#define TN_DEVICE_SLOW static __device__ __noinline__

typedef uint32_t tn_mask;

TN_DEVICE uint32_t tn_lane()
{
    uint32_t lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

TN_DEVICE uint32_t tn_place()
{
    uint32_t block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    return block ^ (thread / 32) << 26;
}

TN_DEVICE tn_mask tn_wave_active()
{
    return __activemask();
}

TN_DEVICE tn_mask tn_wave_whole()
{
    return __ballot_sync(~(tn_mask)0, true);
}

TN_DEVICE tn_mask tn_wave_ballot(tn_mask lanes, bool yes)
{
    return __ballot_sync(lanes, yes);
}

TN_DEVICE tn_mask tn_wave_match(tn_mask lanes, uint32_t key)
{
    return __match_any_sync(lanes, key);
}

TN_DEVICE uint32_t tn_wave_shuffle(tn_mask lanes, uint32_t value, uint32_t lane)
{
    return __shfl_sync(lanes, value, (int)lane);
}

/* Groups of different lanes would take turns at an instruction for groups, so that is for one group alone. */
TN_DEVICE uint64_t tn_wave_or(tn_mask lanes, tn_mask group, uint64_t bits)
{
#if __CUDA_ARCH__ >= 800
    if (group == lanes) {
        uint32_t low = __reduce_or_sync(lanes, (uint32_t)bits);
        uint32_t high = __reduce_or_sync(lanes, (uint32_t)(bits >> 32));
        return (uint64_t)high << 32 | low;
    }
#endif
    uint64_t all = 0;
    for (tn_mask rest = group; __any_sync(lanes, rest != 0); rest &= rest - 1) {
        int other = rest != 0 ? __ffs((int)rest) - 1 : 0;
        uint64_t theirs = __shfl_sync(lanes, (unsigned long long)bits, other);
        if (rest != 0) all |= theirs;
    }
    return all;
}

TN_DEVICE void tn_wave_sync(tn_mask lanes)
{
    __syncwarp(lanes);
}

TN_DEVICE bool tn_was_in_loop()
{
    return true;
}

TN_DEVICE uint32_t tn_load(const uint32_t *address)
{
    uint32_t value;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

TN_DEVICE uint64_t tn_load(const uint64_t *address)
{
    uint64_t value;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

TN_DEVICE void tn_store(uint32_t *address, uint32_t value)
{
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

TN_DEVICE uint32_t tn_fetch_add(uint32_t *address, uint32_t value)
{
    return atomicAdd(address, value);
}

TN_DEVICE uint64_t tn_fetch_add(uint64_t *address, uint64_t value)
{
    return atomicAdd((unsigned long long *)address, (unsigned long long)value);
}

TN_DEVICE uint64_t tn_fetch_and(uint64_t *address, uint64_t value)
{
    return atomicAnd((unsigned long long *)address, (unsigned long long)value);
}

TN_DEVICE uint64_t tn_fetch_or(uint64_t *address, uint64_t value)
{
    return atomicOr((unsigned long long *)address, (unsigned long long)value);
}

TN_DEVICE uint32_t tn_fetch_max(uint32_t *address, uint32_t value)
{
    return atomicMax(address, value);
}

TN_DEVICE uint32_t tn_compare_exchange(uint32_t *address, uint32_t expected, uint32_t value)
{
    return atomicCAS(address, expected, value);
}

TN_DEVICE uint64_t tn_compare_exchange(uint64_t *address, uint64_t expected, uint64_t value)
{
    return atomicCAS((unsigned long long *)address, (unsigned long long)expected, (unsigned long long)value);
}

/*
 * What is done next uses memory that an atomic operation before has given. It needs that operation's answer, so no
 * device begins it earlier; and stale lines of the first-level cache do not matter, since what was in the memory is
 * undefined. A fence would also throw that cache away, for all waves of the multiprocessor: it made allocations cost
 * twice as much.
 */
TN_DEVICE void tn_fence_acquire()
{
    asm volatile("" ::: "memory");
}

TN_DEVICE void tn_fence()
{
    __threadfence();
}

TN_DEVICE void tn_fence_release()
{
    __threadfence();
}

TN_DEVICE void tn_store_release(uint32_t *address, uint32_t value)
{
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

TN_DEVICE uint64_t tn_fetch_and_release(uint64_t *address, uint64_t value)
{
    uint64_t before;
    asm volatile("atom.release.gpu.and.b64 %0, [%1], %2;" : "=l"(before) : "l"(address), "l"(value) : "memory");
    return before;
}

TN_DEVICE void tn_pause(uint32_t nanoseconds)
{
    __nanosleep(nanoseconds);
}

TN_DEVICE uint32_t tn_count_ones(uint64_t bits)
{
    return (uint32_t)__popcll((long long)bits);
}

TN_DEVICE uint32_t tn_first_one(uint64_t bits)
{
    return (uint32_t)__ffsll((long long)bits) - 1;
}

TN_DEVICE uint32_t tn_leading_zeros(uint64_t bits)
{
    return (uint32_t)__clzll((long long)bits);
}

#endif
