/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/platform: what the device heap needs of a device, from one of three:
 *
 *     platform_cuda.cuh    NVIDIA: waves of 32 lanes, which may each go their own way
 *     platform_hip.cuh     AMD: waves of 32 or 64 lanes, which take the two sides of a branch one after the other
 *     an emulation         TARN_DEVICE_HEAP_EMULATION names the file: waves as a test wishes
 *
 * Each has the same functions:
 *
 *     TN_DEVICE, TN_DEVICE_SLOW       before a function: in line, or out of line
 *     TN_UNROLL_8                     before a loop: eight rounds at a time
 *     tn_mask                         a bit for each lane of a wave
 *     tn_lane                         the number of this one
 *     tn_place                        where this wave is: its block in the lower 26 bits, its number there above
 *     tn_wave_whole                   all lanes of the wave that have not ended, which all come to it
 *     tn_wave_active                  the lanes that are here together
 *     tn_wave_ballot(lanes, yes)      those of them that say yes
 *     tn_wave_match(lanes, key)       those of them that have the same key
 *     tn_wave_shuffle(lanes, x, lane) that lane's x; each may ask for another's
 *     tn_wave_or(lanes, group, bits)  the bits of all of this lane's group
 *     tn_wave_sync(lanes)             what each has written, the others see
 *     tn_load, tn_store, tn_fetch_add, tn_fetch_and, tn_fetch_or, tn_fetch_max, tn_compare_exchange
 *                                     atomic and relaxed, for the whole device, of 32 or 64 bits as they are needed;
 *                                     the last gives what was there
 *     tn_fence                        what this lane next changes in memory is changed after what it did before
 *     tn_store_release, tn_fence_release
 *                                     what this lane has done before is done when others see what it does next, and
 *                                     after the fence also when others of its wave go on from where they meet. That
 *                                     devices wait there until it is done is more than PTX promises
 *     tn_fence_release_with(x)        the same and x, of a load before: it comes while the fence takes its time
 *     tn_fence_acquire                the other side of that: what is done next uses what was just seen
 *     tn_pause                        about so many nanoseconds
 *     tn_count_ones, tn_first_one, tn_leading_zeros
 *                                     of 64 bits; the last two of what is not 0
 *
 * All of `lanes` come to such a function together, with the same `lanes`: groups that each went through one alone
 * would take turns. No lane waits for another of its wave in any other way.
 *
 * Where lanes cannot each go their own way, those that leave a loop stand still until the last one of their wave has
 * left it. So no lane waits at a slot by itself, which others of its wave may hold up: lanes wait together, see malloc.cuh.
 */
#ifndef TARN_DEVICE_HEAP_PLATFORM_CUH
#define TARN_DEVICE_HEAP_PLATFORM_CUH

#if defined(TARN_DEVICE_HEAP_EMULATION)
#include TARN_DEVICE_HEAP_EMULATION
#elif defined(__CUDACC__)
#include "tarn/device_heap/platform_cuda.cuh"
#elif defined(__HIPCC__)
#include "tarn/device_heap/platform_hip.cuh"
#else
#error "tarn/device_heap.cuh is for CUDA's and HIP's compilers; the host's side is tarn/device_heap.h"
#endif

/* Where a fence waits for a load before it by itself, or a compiler leaves the two together. */
#ifndef TN_HAS_FENCE_RELEASE_WITH
TN_DEVICE uint64_t tn_fence_release_with(uint64_t value)
{
    tn_fence_release();
    return value;
}
#endif

#endif
