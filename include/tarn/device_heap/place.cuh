/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/place: a word that says what many waves take from, a slab or a span, and that one of them replaces
 * when it is used up.
 *
 *     0 ── claim ──> busy ── fill ──> n + 1 ── claim ──> busy ── ...
 *
 * Who claims it works alone; the others look again now and then, but not for ever: who has waited long does
 * without. So nobody depends on a wave that does not go on.
 */
#ifndef TARN_DEVICE_HEAP_PLACE_CUH
#define TARN_DEVICE_HEAP_PLACE_CUH

#include "tarn/device_heap/platform.cuh"

#define TN_PLACE_EMPTY     0U
#define TN_PLACE_BUSY      0xFFFFFFFFU
#define TN_PLACE_PAUSES       4096 /* until a wave does without: some milliseconds */
#define TN_PLACE_PAUSE_NS     256
#define TN_PLACE_PAUSE_NS_MAX 1024
#define TN_PLACE_DEMAND       8 /* the word, in another sector, for what waits */
#define TN_PLACE_SIZE         9 /* the word for how much it was given the last time */
#define TN_PLACE_TAKEN        16 /* a word in a third sector, for what was taken */

TN_DEVICE bool tn_place_holds(uint32_t content)
{
    return content != TN_PLACE_EMPTY && content != TN_PLACE_BUSY;
}

/* Makes a place that has `content` busy; false when it has another by now. */
TN_DEVICE bool tn_place_claim(uint32_t *place, uint32_t content)
{
    return tn_compare_exchange(place, content, TN_PLACE_BUSY) == content;
}

/* Of the one who claimed it. What was done before is seen by who finds the content. */
TN_DEVICE void tn_place_fill(uint32_t *place, uint32_t content)
{
    tn_store_release(place, content);
}

/* Says that so much is wanted of what the place will have. */
TN_DEVICE void tn_place_ask(uint32_t *place, uint32_t wanted)
{
    tn_fetch_add(&place[TN_PLACE_DEMAND], wanted);
}

/* How much has been taken before this; waves that go on from there do not go for the same. */
TN_DEVICE uint32_t tn_place_count(uint32_t *place, uint32_t count)
{
    return tn_fetch_add(&place[TN_PLACE_TAKEN], count);
}

/* What was asked for since the last time. Of the one who claimed it. */
TN_DEVICE uint32_t tn_place_demand(uint32_t *place)
{
    uint32_t demand = tn_load(&place[TN_PLACE_DEMAND]);
    tn_store(&place[TN_PLACE_DEMAND], 0U);
    return demand;
}

/* Waits until it is not busy, and gives what it has then; BUSY after `pauses` have come down to 0. Hundreds of waves
 * may wait: they look less and less often, so that those who work do not queue behind them. */
TN_DEVICE uint32_t tn_place_wait(const uint32_t *place, uint32_t *pauses)
{
    uint32_t content;
    uint32_t wait_ns = TN_PLACE_PAUSE_NS;
    while ((content = tn_load(place)) == TN_PLACE_BUSY && *pauses > 0) {
        *pauses -= 1;
        tn_pause(wait_ns);
        if (wait_ns < TN_PLACE_PAUSE_NS_MAX) wait_ns *= 2;
    }
    return content;
}

#endif
