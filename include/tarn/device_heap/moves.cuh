/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/moves: memory that is on its way. Who takes several spans, or gives back slabs that are wholly free, has
 * more in its hands for a while than it will keep; and who puts the tree of free spans right may take out a span that
 * is free again meanwhile, and puts it back; so may who puts the tree of open spans right. Nobody else finds that. Who
 * finds no memory then has not seen all pages, and looks again. Who takes pages of one span has no more in its hands than it will keep, and that is no move.
 *
 *     word    | moves that were begun | moves under way |       32 bits each
 *
 * If none is under way before a look, and none has begun until after it, then the look has seen all of that. Not counted
 * is what is quicker, or smaller: hints in the trees of slabs that go away, slabs on their way between slots and trees, and
 * pages that a wave takes in part, for it hoped for more in a row, and puts back.
 */
#ifndef TARN_DEVICE_HEAP_MOVES_CUH
#define TARN_DEVICE_HEAP_MOVES_CUH

#include "tarn/device_heap/heap.cuh"
#include "tarn/device_heap/place.cuh"

#define TN_MOVES_BEGUN ((uint64_t)1 << 32)
#define TN_MOVES_LOOKS  16 /* until a wave takes what it has not found for not there */
#define TN_MOVES_PAUSES 16 /* before each */

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

/* Waits until none is under way, though not for ever: 15 us. Gives the word as it was then. */
TN_DEVICE uint64_t tn_moves_wait(tn_heap heap)
{
    uint32_t wait_ns = TN_PLACE_PAUSE_NS;
    uint64_t moves = tn_load(tn_moves(heap));
    for (uint32_t pauses = TN_MOVES_PAUSES; (uint32_t)moves != 0 && pauses > 0; pauses--) {
        tn_pause(wait_ns);
        if (wait_ns < TN_PLACE_PAUSE_NS_MAX) wait_ns *= 2;
        moves = tn_load(tn_moves(heap));
    }
    return moves;
}

/* Whether a look since then may have missed memory. */
TN_DEVICE bool tn_moves_missed(tn_heap heap, uint64_t before)
{
    return (uint32_t)before != 0 || tn_load(tn_moves(heap)) != before;
}

#endif
