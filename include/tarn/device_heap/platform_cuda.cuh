/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_heap/platform_cuda: NVIDIA devices from compute capability 7.0 on. See platform.cuh. */
#ifndef TARN_DEVICE_HEAP_PLATFORM_CUDA_CUH
#define TARN_DEVICE_HEAP_PLATFORM_CUDA_CUH

#include <stdint.h>

#define TN_DEVICE      static __device__ __forceinline__
#define TN_DEVICE_SLOW static __device__ __noinline__
#define TN_UNROLL_8    _Pragma("unroll 8")

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

/* Different groups would take turns at a group instruction, so that is used for one group only. */
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

/*
 * All memory is in the global space, and the instructions say so. For a generic address the compiler adds a
 * check, and a loop for memory shared within a block.
 */
TN_DEVICE uint64_t tn_global(const void *address)
{
    return (uint64_t)__cvta_generic_to_global(address);
}

TN_DEVICE uint32_t tn_load(const uint32_t *address)
{
    uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(tn_global(address)) : "memory");
    return value;
}

TN_DEVICE uint64_t tn_load(const uint64_t *address)
{
    uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(tn_global(address)) : "memory");
    return value;
}

TN_DEVICE void tn_store(uint32_t *address, uint32_t value)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(tn_global(address)), "r"(value) : "memory");
}

TN_DEVICE void tn_store(uint64_t *address, uint64_t value)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(tn_global(address)), "l"(value) : "memory");
}

/* Defines an atomic operation that returns the old value. */
#define TN_CUDA_ATOMIC(name, word, instruction, constraint)                                                          \
    TN_DEVICE word name(word *address, word value)                                                                   \
    {                                                                                                                \
        word before;                                                                                                 \
        asm volatile("atom." instruction " %0, [%1], %2;"                                                            \
                     : "=" constraint(before)                                                                        \
                     : "l"(tn_global(address)), constraint(value)                                                    \
                     : "memory");                                                                                    \
        return before;                                                                                               \
    }

TN_CUDA_ATOMIC(tn_fetch_add, uint32_t, "relaxed.gpu.global.add.u32", "r")
TN_CUDA_ATOMIC(tn_fetch_add, uint64_t, "relaxed.gpu.global.add.u64", "l")
TN_CUDA_ATOMIC(tn_fetch_and, uint64_t, "relaxed.gpu.global.and.b64", "l")
TN_CUDA_ATOMIC(tn_fetch_or, uint64_t, "relaxed.gpu.global.or.b64", "l")
TN_CUDA_ATOMIC(tn_fetch_max, uint32_t, "relaxed.gpu.global.max.u32", "r")
TN_CUDA_ATOMIC(tn_fetch_max, uint64_t, "relaxed.gpu.global.max.u64", "l")

#define TN_CUDA_COMPARE_EXCHANGE(word, bits, constraint)                                                             \
    TN_DEVICE word tn_compare_exchange(word *address, word expected, word value)                                     \
    {                                                                                                                \
        word before;                                                                                                 \
        asm volatile("atom.relaxed.gpu.global.cas." bits " %0, [%1], %2, %3;"                                        \
                     : "=" constraint(before)                                                                        \
                     : "l"(tn_global(address)), constraint(expected), constraint(value)                              \
                     : "memory");                                                                                    \
        return before;                                                                                               \
    }

TN_CUDA_COMPARE_EXCHANGE(uint32_t, "b32", "r")
TN_CUDA_COMPARE_EXCHANGE(uint64_t, "b64", "l")

/*
 * Later accesses use memory that an earlier atomic operation has returned. They need its result, so no device
 * starts them earlier. Stale lines of the first-level cache do not matter, since the memory's content is
 * undefined. A fence would also invalidate that cache for all waves of the multiprocessor: it doubled the
 * cost of allocations.
 */
TN_DEVICE void tn_fence_acquire()
{
    asm volatile("" ::: "memory");
}

/*
 * For the same reason no fence here acquires, as __threadfence() does: that would invalidate the first-level
 * cache, with the stacks of waves in it. The metadata is read by tn_load and atomic operations, which bypass
 * that cache.
 */
TN_DEVICE void tn_fence_release()
{
#if __CUDA_ARCH__ >= 900 && (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 7))
    asm volatile("fence.release.gpu;" ::: "memory");
#else
    asm volatile("fence.acq_rel.gpu;" ::: "memory"); /* all that older devices and compilers have */
#endif
}

/* The clock is read after the fence, and its highest bit is never set. The compiler does not know that, so
 * the fence does not wait for the value. */
#define TN_HAS_FENCE_RELEASE_WITH
TN_DEVICE uint64_t tn_fence_release_with(uint64_t value)
{
    uint64_t cycles;
    tn_fence_release();
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
    return value | cycles >> 63;
}

TN_DEVICE void tn_fence()
{
    tn_fence_release();
}

TN_DEVICE void tn_store_release(uint32_t *address, uint32_t value)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(tn_global(address)), "r"(value) : "memory");
}

TN_DEVICE void tn_store_release(uint64_t *address, uint64_t value)
{
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(tn_global(address)), "l"(value) : "memory");
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
