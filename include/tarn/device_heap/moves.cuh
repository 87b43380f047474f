/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/moves: memory that is temporarily invisible. Three kinds of waves cause that. A wave that takes
 * several spans, or retires wholly free slabs, holds more for a while than it will keep. A wave that corrects
 * the tree of free spans may remove a span that is free again meanwhile, and puts it back. So may a wave that
 * corrects the tree of open spans. A wave that finds no memory meanwhile has not seen all pages, and looks
 * again. A wave that takes pages of one span holds only what it keeps: that is not a move.
 *
 *     word    | moves that were begun | moves under way |       32 bits each
 *
 * If no move is under way before a look, and none begins until after it, the look has seen all such memory.
 * Faster and smaller cases are not counted: hints of trees of slabs that go away, slabs between slots and
 * trees, and pages that a wave takes in part, because it hoped for more in a row, and puts back.
 */
#ifndef TARN_DEVICE_HEAP_MOVES_CUH
#define TARN_DEVICE_HEAP_MOVES_CUH

#include "tarn/device_heap/heap.cuh"
#include "tarn/device_heap/place.cuh"

#define TN_MOVES_BEGUN ((uint64_t)1 << 32)
#define TN_MOVES_LOOKS  16 /* until a wave concludes that there is no memory */
#define TN_MOVES_PAUSES 16 /* before each look */

TN_DEVICE uint64_t *tn_moves(tn_heap heap)
{
    return &tn_counters(heap)->moves;
}

/* Must come before memory is taken: others see it first. Returns how many other moves are under way. */
TN_DEVICE uint32_t tn_move_begin(tn_heap heap)
{
    return (uint32_t)tn_fetch_add(tn_moves(heap), TN_MOVES_BEGUN + 1);
}

/* Must come after the results of all operations that put memory back. */
TN_DEVICE void tn_move_end(tn_heap heap)
{
    tn_fetch_add(tn_moves(heap), ~(uint64_t)0);
}

/* Waits until no move is under way, but at most 15 us. Returns the word's last value. */
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

/* Returns whether a look since then may have missed memory. */
TN_DEVICE bool tn_moves_missed(tn_heap heap, uint64_t before)
{
    return (uint32_t)before != 0 || tn_load(tn_moves(heap)) != before;
}

#endif
