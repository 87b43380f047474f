/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/platform_hip: AMD devices. See platform.cuh. Compiled only; this has never run on a device.
 *
 * Where HIP's headers call into a library of bitcode, this file uses the compiler's builtin functions. If
 * that library is not linked in before code generation, a call would cost more than the work itself.
 *
 * A wave has 64 lanes on gfx9, and 32 on gfx10 and later; masks have 64 bits on all. There is no match
 * instruction: groups are found one after the other, starting with the first lane's.
 */
#ifndef TARN_DEVICE_HEAP_PLATFORM_HIP_CUH
#define TARN_DEVICE_HEAP_PLATFORM_HIP_CUH

#include <hip/hip_runtime.h>
#include <stdint.h>

#define TN_DEVICE      static __device__ __forceinline__
#define TN_DEVICE_SLOW static __device__ __attribute__((noinline))
#define TN_UNROLL_8    _Pragma("unroll 8")

typedef uint64_t tn_mask; /* the lower half for waves of 32 lanes */

TN_DEVICE uint32_t tn_lane()
{
    return __lane_id();
}

/* The block's number alone distinguishes blocks well enough. Their count would take divisions. */
TN_DEVICE uint32_t tn_place()
{
    uint32_t block = __builtin_amdgcn_workgroup_id_x() + 0x9E3779B1U * __builtin_amdgcn_workgroup_id_y() +
                     0x85EBCA77U * __builtin_amdgcn_workgroup_id_z();
    uint32_t row = __builtin_amdgcn_workitem_id_y() + __builtin_amdgcn_workgroup_size_y() * __builtin_amdgcn_workitem_id_z();
    uint32_t thread = __builtin_amdgcn_workitem_id_x() + __builtin_amdgcn_workgroup_size_x() * row;
    return block ^ (thread / warpSize) << 26;
}

/* The compiler treats each call as a new value, so it cannot use a result from before a branch inside it. */
TN_DEVICE tn_mask tn_wave_active()
{
    int is_here = 1;
    asm volatile("" : "+v"(is_here));
    return __ballot(is_here);
}

/* All lanes come here, so the active lanes are all. */
TN_DEVICE tn_mask tn_wave_whole()
{
    return tn_wave_active();
}

TN_DEVICE tn_mask tn_wave_ballot(tn_mask lanes, bool yes)
{
    return __ballot(yes) & lanes;
}

TN_DEVICE uint32_t tn_wave_shuffle(tn_mask, uint32_t value, uint32_t lane)
{
    return (uint32_t)__shfl((int)value, (int)lane);
}

/* Each round serves all lanes with the key of the first unserved lane. */
TN_DEVICE tn_mask tn_wave_match(tn_mask lanes, uint32_t key)
{
    tn_mask rest = lanes, same = 0;
    while (rest != 0) {
        uint32_t first = (uint32_t)__builtin_ctzll(rest);
        bool is_same = tn_wave_shuffle(lanes, key, first) == key;
        tn_mask alike = __ballot(is_same) & lanes;
        if (is_same) same = alike;
        rest &= ~alike;
    }
    return same;
}

TN_DEVICE uint64_t tn_wave_or(tn_mask lanes, tn_mask group, uint64_t bits)
{
    uint64_t all = 0;
    for (tn_mask rest = group; (__ballot(rest != 0) & lanes) != 0; rest &= rest - 1) {
        int other = rest != 0 ? __builtin_ctzll(rest) : 0;
        uint32_t low = (uint32_t)__shfl((int)(uint32_t)bits, other);
        uint32_t high = (uint32_t)__shfl((int)(uint32_t)(bits >> 32), other);
        if (rest != 0) all |= (uint64_t)high << 32 | low;
    }
    return all;
}

TN_DEVICE void tn_wave_sync(tn_mask)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

#define TN_HIP_ATOMICS(type)                                                                     \
    TN_DEVICE type tn_load(const type *address)                                                  \
    {                                                                                            \
        return __hip_atomic_load(address, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);           \
    }                                                                                            \
    TN_DEVICE void tn_store(type *address, type value)                                           \
    {                                                                                            \
        __hip_atomic_store(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);          \
    }                                                                                            \
    TN_DEVICE void tn_store_release(type *address, type value)                                   \
    {                                                                                            \
        __hip_atomic_store(address, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);          \
    }                                                                                            \
    TN_DEVICE type tn_fetch_add(type *address, type value)                                       \
    {                                                                                            \
        return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
    }                                                                                            \
    TN_DEVICE type tn_fetch_and(type *address, type value)                                       \
    {                                                                                            \
        return __hip_atomic_fetch_and(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
    }                                                                                            \
    TN_DEVICE type tn_fetch_or(type *address, type value)                                        \
    {                                                                                            \
        return __hip_atomic_fetch_or(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
    }                                                                                            \
    TN_DEVICE type tn_fetch_max(type *address, type value)                                       \
    {                                                                                            \
        return __hip_atomic_fetch_max(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
    }                                                                                            \
    TN_DEVICE type tn_compare_exchange(type *address, type expected, type value)                 \
    {                                                                                            \
        __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED,        \
                                             __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);        \
        return expected;                                                                         \
    }
TN_HIP_ATOMICS(uint32_t)
TN_HIP_ATOMICS(uint64_t)
#undef TN_HIP_ATOMICS

TN_DEVICE void tn_fence_acquire()
{
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
}

TN_DEVICE void tn_fence()
{
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}

TN_DEVICE void tn_fence_release()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
}

TN_DEVICE void tn_pause(uint32_t nanoseconds)
{
    for (uint32_t done = 0; done < nanoseconds; done += 128)
        __builtin_amdgcn_s_sleep(4); /* 256 cycles */
}

TN_DEVICE uint32_t tn_count_ones(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

TN_DEVICE uint32_t tn_first_one(uint64_t bits)
{
    return (uint32_t)__builtin_ctzll(bits);
}

TN_DEVICE uint32_t tn_leading_zeros(uint64_t bits)
{
    return (uint32_t)__builtin_clzll(bits);
}

#endif
