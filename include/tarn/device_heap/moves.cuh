/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/moves: memory that is on its way. Who opens a free span, looks for several in a row or gives back slabs
 * that are wholly free has more in its hands for a while than it will keep, and nobody else can find that. Who finds no
 * memory meanwhile has not seen all of it, and looks again.
 *
 *     word    | moves that were begun | moves under way |       32 bits each
 *
 * If none is under way before a look, and none has begun after it, then the look missed nothing.
 */
#ifndef TARN_DEVICE_HEAP_MOVES_CUH
#define TARN_DEVICE_HEAP_MOVES_CUH

#include "tarn/device_heap/heap.cuh"
#include "tarn/device_heap/place.cuh"

#define TN_MOVES_BEGUN ((uint64_t)1 << 32)
#define TN_MOVES_LOOKS 16 /* until a wave takes what it has not found for not there */

TN_DEVICE uint64_t *tn_moves(tn_heap heap)
{
    return &tn_counters(heap)->moves;
}

/* Before memory is taken: others see that first. Gives how many moves are under way besides. */
TN_DEVICE uint32_t tn_move_begin(tn_heap heap)
{
    return (uint32_t)tn_fetch_add(tn_moves(heap), TN_MOVES_BEGUN + 1);
}

/* After the answers of all operations that put back what is not kept. */
TN_DEVICE void tn_move_end(tn_heap heap)
{
    tn_fetch_add(tn_moves(heap), ~(uint64_t)0);
}

/* Whether a look between these two readings may have missed memory. Waits for what was under way, though not for ever. */
TN_DEVICE bool tn_moves_look_again(tn_heap heap, uint64_t before, uint32_t *looks)
{
    uint64_t after = tn_look_again(tn_moves(heap));
    if (((uint32_t)before == 0 && after == before) || *looks == 0) return false;
    *looks -= 1;
    uint32_t wait_ns = TN_PLACE_PAUSE_NS;
    for (uint32_t pauses = TN_MOVES_LOOKS; (uint32_t)after != 0 && pauses > 0; pauses--) {
        tn_pause(wait_ns);
        if (wait_ns < TN_PLACE_PAUSE_NS_MAX) wait_ns *= 2;
        after = tn_load(tn_moves(heap));
    }
    return true;
}

#endif
