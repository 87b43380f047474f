/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/platform: what the device heap needs of a device, from one of three files:
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
 *     tn_lane                         the number of this lane
 *     tn_place                        the wave's block in the lower 26 bits, its number in the block above
 *     tn_wave_whole                   all lanes of the wave that have not ended; all of them must call it
 *     tn_wave_active                  the lanes that are here together
 *     tn_wave_ballot(lanes, yes)      the lanes that say yes
 *     tn_wave_match(lanes, key)       the lanes that have the same key
 *     tn_wave_shuffle(lanes, x, lane) that lane's x; each lane may name another one
 *     tn_wave_or(lanes, group, bits)  the bits of all lanes of this lane's group
 *     tn_wave_sync(lanes)             after it, each lane sees what the others have written
 *     tn_load, tn_store, tn_fetch_add, tn_fetch_and, tn_fetch_or, tn_fetch_max, tn_compare_exchange
 *                                     atomic and relaxed, for the whole device, with 32 or 64 bits as needed;
 *                                     the last returns the old value
 *     tn_fence                        orders this lane's later changes of memory after its earlier accesses
 *     tn_store_release, tn_fence_release
 *                                     all that this lane has done is done before others see its next changes; after
 *                                     the fence, also before other lanes of its wave continue from where they meet.
 *                                     That devices wait there until it is done is more than PTX promises
 *     tn_fence_release_with(x)        tn_fence_release, and returns x of an earlier load, which arrives meanwhile
 *     tn_fence_acquire                the other side: later accesses use memory that was just obtained
 *     tn_pause                        waits for about that many nanoseconds
 *     tn_count_ones, tn_first_one, tn_leading_zeros
 *                                     of 64 bits; the last two require a value that is not 0
 *
 * All of `lanes` must call such a function together, with the same `lanes`: groups that called it separately
 * would take turns. No lane waits for another lane of its wave in any other way.
 *
 * On devices whose lanes do not run independently, lanes that leave a loop stand still until the last lane of
 * their wave has left it. So no lane waits at a busy slot alone, since other lanes of its wave may hold that
 * up. Lanes wait together, see malloc.cuh.
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

/* For platforms where the fence itself waits for an earlier load, or the compiler keeps the two together. */
#ifndef TN_HAS_FENCE_RELEASE_WITH
TN_DEVICE uint64_t tn_fence_release_with(uint64_t value)
{
    tn_fence_release();
    return value;
}
#endif

#endif
