/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/malloc: the lanes of a wave that want objects of one class are a group, and get them together: one of them,
 * the leader, takes credits and bits, and says which bits they are; the others count themselves off.
 *
 *     in line      the wave takes all of a slab                  or each leader looks into its slot
 *                    | pages of its ticket not had                 | one has not got all that it wants
 *                    v                                             v
 *     out of line  pages_on ── no pages ───────────────────────> malloc_on:  a step of each leader that lacks credits
 *                                                                            those that have some use them up
 *                                                                            all lanes wait, if no leader can go on
 *
 * What is in line calls nothing: whatever lives across a call would lie in memory from where it begins, on all ways. And
 * no lane waits at a busy slot but together with all others of its wave: so none holds another up that has claimed what third
 * ones wait for. Who has claimed a slot may wait for what is being prepared for it, whose maker waits for nothing.
 */
#ifndef TARN_DEVICE_HEAP_MALLOC_CUH
#define TARN_DEVICE_HEAP_MALLOC_CUH

#include "tarn/device_heap/runs.cuh"
#include "tarn/device_heap/take.cuh"

TN_DEVICE uint32_t tn_lanes_before(tn_mask lanes)
{
    return tn_count_ones(lanes & (((tn_mask)1 << tn_lane()) - 1));
}

/* What a leader says to its group. */
TN_DEVICE uint64_t tn_wave_tell(tn_mask lanes, uint64_t value, uint32_t leader)
{
    uint32_t low = tn_wave_shuffle(lanes, (uint32_t)value, leader);
    return (uint64_t)tn_wave_shuffle(lanes, (uint32_t)(value >> 32), leader) << 32 | low;
}

/* --- objects for a wave ----------------------------------------------------------------------------- */

/* Objects of a group of lanes with one class. */
struct tn_group {
    tn_mask lanes;
    uint32_t leader;
    uint32_t size_class;
};

TN_DEVICE bool tn_leads(const tn_group &group)
{
    return tn_lane() == group.leader;
}

/* Objects that a leader takes for those of its group that wait; other lanes take none. */
TN_DEVICE uint32_t tn_group_wanted(const tn_group &group, tn_mask waiting)
{
    return tn_leads(group) ? tn_count_ones(waiting & group.lanes) : 0;
}

/* What the slot has from which this lane's group will take, most often. Each lane asks before it knows its group: so the
 * answer comes while groups are found. */
TN_DEVICE uint32_t tn_lane_slot(tn_heap heap, uint32_t size_class)
{
    return tn_load(tn_slot(heap, size_class, tn_place()));
}

/* The first look of leaders into their slots. */
TN_DEVICE tn_slot_look tn_leader_look(tn_heap heap, const tn_group &group)
{
    if (!tn_leads(group)) return tn_slot_look_not_yet();
    return tn_slot_look_into(heap, tn_lane_slot(heap, group.size_class), tn_count_ones(group.lanes));
}

/* Objects of one word that a leader has taken for its group. */
struct tn_haul {
    uint64_t address; /* of what the lowest bit of the word stands for */
    uint64_t bits;    /* 0: none */
};

TN_DEVICE tn_haul tn_haul_take(tn_heap heap, uint32_t size_class, tn_hold *hold)
{
    tn_objects objects = tn_objects_take(heap, hold);
    uint64_t offset = (uint64_t)(objects.word * 64) * tn_heap_class_bytes(size_class);
    return { tn_page_address(heap, hold->page) + offset, objects.bits };
}

/* An object for a lane that waits for one, as long as its leader has taken some; 0 when there is none for it. */
TN_DEVICE uint64_t tn_lane_address(tn_mask lanes, const tn_group &group, tn_mask waiting, const tn_haul &haul)
{
    uint64_t first = tn_wave_tell(lanes, haul.address, group.leader);
    uint64_t bits = tn_wave_tell(lanes, haul.bits, group.leader);
    uint32_t rank = tn_lanes_before(waiting & group.lanes);
    return rank < tn_count_ones(bits) ? first + tn_nth_one(bits, rank) * tn_heap_class_bytes(group.size_class) : 0;
}

/* Objects for the credits that leaders hold; lanes without one have the address 0. All groups go through this together,
 * so that their leaders work at the same time. Gives who has none still. */
TN_DEVICE tn_mask tn_lanes_use_up(tn_heap heap, tn_mask lanes, const tn_group &group, tn_mask waiting, tn_hold hold,
                                  uint64_t *address)
{
    do {
        tn_haul haul = { 0, 0 };
        if (hold.credits > 0) haul = tn_haul_take(heap, group.size_class, &hold);
        tn_wave_sync(lanes);
        uint64_t got = tn_lane_address(lanes, group, waiting, haul);
        if (*address == 0) *address = got;
        waiting = tn_wave_ballot(lanes, *address == 0);
    } while (waiting != 0 && tn_wave_ballot(lanes, hold.credits > 0) != 0);
    tn_fence_acquire();
    return waiting;
}

/* Until the slot of a leader that waits is no longer busy, or all have waited long; gives what the slot of this lane's class
 * has. All lanes wait together: so none stands still for another that has something to do. Hundreds of waves may wait: they
 * look less and less often, so that those who work do not queue behind them. */
TN_DEVICE uint32_t tn_lanes_wait(tn_mask lanes, const uint32_t *slot, bool waits, uint32_t *pauses)
{
    uint32_t wait_ns = TN_PLACE_PAUSE_NS;
    for (;;) {
        uint32_t content = tn_load(slot);
        if (tn_wave_ballot(lanes, waits && content != TN_PLACE_BUSY) != 0 || *pauses == 0) return content;
        *pauses -= 1;
        tn_pause(wait_ns);
        if (wait_ns < TN_PLACE_PAUSE_NS_MAX) wait_ns *= 2;
    }
}

/* The lanes of groups whose leader says so. */
TN_DEVICE tn_mask tn_lanes_of_leaders(tn_mask lanes, const tn_group &group, bool says_so)
{
    tn_mask leaders = tn_wave_ballot(lanes, says_so);
    return leaders == 0 ? 0 : tn_wave_ballot(lanes, (leaders >> group.leader & 1) != 0);
}

/* A leader whose slot had not all that it wanted, or that has not looked there; other lanes want nothing. */
struct tn_seeker {
    tn_slot_look look; /* the last one into its slot */
    uint32_t wanted;   /* objects */
    bool waits;        /* it has been told to; its slot may be busy no longer */
    bool has_failed;   /* there is no memory */
};

/* A step of a seeker after a look into its slot: credits, or none yet. Who has not looked makes a slab of its own. */
TN_DEVICE tn_hold tn_seeker_step(tn_heap heap, uint32_t size_class, uint32_t place, bool is_late, tn_seeker *seeker)
{
    bool is_own = seeker->look.content == TN_PLACE_UNKNOWN;
    if (seeker->waits && seeker->look.content == TN_PLACE_BUSY && !is_late) return tn_hold_nothing();
    tn_hold hold = is_own ? tn_take_own_slab(heap, size_class, seeker->wanted, place)
                          : tn_take(heap, size_class, seeker->wanted, place, seeker->look, is_late);
    seeker->waits = tn_hold_waits(hold);
    seeker->has_failed = hold.credits == 0 && !seeker->waits && !is_own;
    if (seeker->has_failed) tn_fetch_add(&tn_counters(heap)->failed, (uint64_t)seeker->wanted);
    return hold;
}

/* For a wave in which some have not got an object at once: `address` is 0 for those. `look` is what a leader has seen of
 * its slot. Who gets credits uses them up at once, also while others of the wave wait: what is held for long is not there
 * for others, who then take more pages. */
TN_DEVICE_SLOW uint64_t tn_lanes_malloc_on(tn_heap heap, tn_mask lanes, tn_group group, tn_slot_look look,
                                           uint64_t address)
{
    uint32_t place = tn_place();
    uint32_t *slot = tn_slot(heap, group.size_class, place);
    uint32_t pauses = TN_PLACE_PAUSES;
    tn_mask waiting = tn_wave_ballot(lanes, address == 0), failed = 0;
    tn_seeker seeker = { look, tn_group_wanted(group, waiting), false, false };
    for (;;) {
        tn_hold hold = tn_hold_nothing();
        if (seeker.wanted > 0) hold = tn_seeker_step(heap, group.size_class, place, pauses == 0, &seeker);
        tn_wave_sync(lanes); /* or what follows is done twice, by leaders and by the others */
        if (tn_wave_ballot(lanes, hold.credits > 0 || seeker.has_failed) != 0) {
            failed |= tn_lanes_of_leaders(lanes, group, seeker.has_failed);
            seeker.has_failed = false;
            waiting = tn_lanes_use_up(heap, lanes, group, waiting, hold, &address) & ~failed;
            if (waiting == 0) return address;
            seeker.wanted = tn_group_wanted(group, waiting);
        }
        bool has_work = tn_wave_ballot(lanes, seeker.wanted > 0 && !seeker.waits) != 0;
        uint32_t content = has_work ? tn_load(slot) : tn_lanes_wait(lanes, slot, seeker.wanted > 0, &pauses);
        if (seeker.wanted > 0) seeker.look = tn_slot_look_into(heap, content, seeker.wanted);
    }
}

/* An object for each of the lanes, or 0, out of slots, of which this lane's has `content`: most groups get all in line. */
TN_DEVICE uint64_t tn_lanes_malloc_of_slots(tn_heap heap, tn_mask lanes, const tn_group &group, uint32_t content,
                                            bool fills_pages)
{
    tn_slot_look look = tn_slot_look_not_yet();
    tn_hold hold = tn_hold_nothing();
    uint64_t address = 0;
    if (tn_leads(group) && !fills_pages) {
        uint32_t wanted = tn_count_ones(group.lanes);
        look = tn_slot_look_into(heap, content, wanted);
        if (tn_slot_had(look, group.size_class, wanted) == wanted) hold = tn_slot_hold(look, wanted);
    }
    if (tn_lanes_use_up(heap, lanes, group, lanes, hold, &address) != 0)
        address = tn_lanes_malloc_on(tn_out_of_line(heap), lanes, group, look, address);
    return address;
}

/* Of a slab of which each lane has an object. */
TN_DEVICE uint64_t tn_own_address(tn_heap heap, tn_mask lanes, uint32_t size_class, uint32_t page)
{
    return tn_page_address(heap, page) + (uint64_t)tn_lanes_before(lanes) * tn_heap_class_bytes(size_class);
}

/* For a wave that has not got the pages of its ticket, or has more to do. */
TN_DEVICE_SLOW uint64_t tn_lanes_malloc_pages_on(tn_heap heap, tn_mask lanes, tn_group group, uint32_t pages,
                                                 tn_pages_look look)
{
    uint32_t page = TN_NO_PAGE;
    if (tn_leads(group)) {
        page = tn_pages_take_on(heap, pages, look);
        if (page != TN_NO_PAGE) tn_slab_make_full(heap, page, pages, group.size_class, tn_count_ones(lanes));
    }
    page = tn_wave_shuffle(lanes, page, group.leader);
    if (page == TN_NO_PAGE) return tn_lanes_malloc_on(heap, lanes, group, tn_leader_look(heap, group), 0);
    tn_fence_acquire();
    return tn_own_address(heap, lanes, group.size_class, page);
}

/* An object for each of the lanes, or 0, which all want one class and take all of a slab of few pages: most waves get the
 * pages of their ticket in line. */
TN_DEVICE uint64_t tn_lanes_malloc_of_pages(tn_heap heap, tn_mask lanes, const tn_group &group, uint32_t pages)
{
    tn_pages_look look = { { 0, 0, 0 }, 0 };
    uint32_t page = TN_NO_PAGE;
    uint64_t address;
    if (tn_leads(group)) {
        look = tn_pages_look_for(heap, pages, tn_place() & (heap->cursor_count - 1));
        page = tn_pages_looked_at(heap, pages, look);
        if (page != TN_NO_PAGE) tn_slab_make_full(heap, page, pages, group.size_class, tn_count_ones(lanes));
    }
    page = tn_wave_shuffle(lanes, page, group.leader);
    tn_fence_acquire();
    if (page == TN_NO_PAGE)
        address = tn_lanes_malloc_pages_on(tn_out_of_line(heap), lanes, group, pages, look);
    else
        address = tn_own_address(heap, lanes, group.size_class, page);
    tn_wave_sync(lanes);
    return address;
}

/* An object for each of the lanes, in groups of one class each; 0 for those for which there was no memory. */
TN_DEVICE uint64_t tn_lanes_malloc(tn_heap heap, tn_mask lanes, tn_mask group_lanes, uint32_t size_class, uint32_t content)
{
    tn_group group = { group_lanes, tn_first_one(group_lanes), size_class };
    uint32_t wanted = tn_count_ones(group_lanes);
    uint32_t bytes = wanted * tn_heap_class_bytes(size_class);
    uint32_t pages = tn_pages_for(size_class, wanted);
    bool is_own = bytes + tn_heap_class_bytes(size_class) > pages * TN_HEAP_PAGE_BYTES;
    if (group_lanes == lanes && is_own && pages <= TN_PAGES_FEW) return tn_lanes_malloc_of_pages(heap, lanes, group, pages);
    return tn_lanes_malloc_of_slots(heap, lanes, group, content, bytes >= TN_HEAP_PAGE_BYTES);
}

TN_DEVICE_SLOW uint64_t tn_run_malloc(tn_heap heap, uint64_t pages, uint32_t rank)
{
    uint64_t address = tn_run_create(heap, pages, tn_place(), rank);
    tn_looks looks = { 0, false, 0 };
    while (address == 0 && tn_look_once_more(heap, &looks))
        address = tn_run_create(heap, pages, tn_place(), rank);
    if (address == 0) tn_fetch_add(&tn_counters(heap)->failed, (uint64_t)1);
    tn_fence_acquire();
    return address;
}

#endif
