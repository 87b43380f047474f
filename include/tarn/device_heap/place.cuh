/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/place: a word that names the slab that many waves take from. When the slab is used up, one of
 * them replaces it.
 *
 *     0 ── claim ──> busy ── fill ──> n + 1 ── claim ──> busy ── ...
 *
 * The wave that claims it works alone. The others look again from time to time, but after a long wait they go
 * on without it. So no wave depends on another wave's progress.
 */
#ifndef TARN_DEVICE_HEAP_PLACE_CUH
#define TARN_DEVICE_HEAP_PLACE_CUH

#include "tarn/device_heap/platform.cuh"

#define TN_PLACE_EMPTY     0U
#define TN_PLACE_BUSY      0xFFFFFFFFU
#define TN_PLACE_UNKNOWN   0xFFFFFFFEU /* nobody has looked yet */
#define TN_PLACE_PAUSES       4096 /* until a wave goes on without it: some milliseconds */
#define TN_PLACE_PAUSE_NS     128
#define TN_PLACE_PAUSE_NS_MAX 1024
#define TN_PLACE_DEMAND       8 /* first word of the demand, in another sector; counts 32-bit words */

TN_DEVICE bool tn_place_holds(uint32_t content)
{
    return content != TN_PLACE_EMPTY && content < TN_PLACE_UNKNOWN;
}

/* Makes a place busy. False: it no longer has `content`. */
TN_DEVICE bool tn_place_claim(uint32_t *place, uint32_t content)
{
    return tn_compare_exchange(place, content, TN_PLACE_BUSY) == content;
}

/* Requires: the caller has claimed the place. A wave that finds the content sees all earlier changes. */
TN_DEVICE void tn_place_fill(uint32_t *place, uint32_t content)
{
    tn_store_release(place, content);
}

/* What waves tell the wave that fills the place, in a 64-bit word: how much they wait for, and above that the
 * size for which the last slab was made. */
struct tn_demand {
    uint32_t asked;
    uint32_t given;
};

TN_DEVICE uint64_t *tn_place_demand_word(uint32_t *place)
{
    return (uint64_t *)&place[TN_PLACE_DEMAND];
}

TN_DEVICE void tn_place_ask(uint32_t *place, uint32_t wanted)
{
    tn_fetch_add(tn_place_demand_word(place), (uint64_t)wanted);
}

TN_DEVICE tn_demand tn_place_demand(uint32_t *place)
{
    uint64_t word = tn_load(tn_place_demand_word(place));
    return { (uint32_t)word, (uint32_t)(word >> 32) };
}

TN_DEVICE void tn_place_give(uint32_t *place, uint32_t given)
{
    tn_store(tn_place_demand_word(place), (uint64_t)given << 32);
}

/* Waits until the place is not busy and returns its content. Returns BUSY once `pauses` has come down to 0. */
TN_DEVICE uint32_t tn_place_wait(const uint32_t *place, uint32_t *pauses, uint32_t pause_ns_max)
{
    uint32_t content;
    uint32_t wait_ns = TN_PLACE_PAUSE_NS;
    while ((content = tn_load(place)) == TN_PLACE_BUSY && *pauses > 0) {
        *pauses -= 1;
        tn_pause(wait_ns);
        if (wait_ns < pause_ns_max) wait_ns *= 2;
    }
    return content;
}

#endif
