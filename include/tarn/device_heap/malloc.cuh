/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/malloc: the lanes of a wave that want objects of one class form a group, and get them together.
 * One of them, the leader, takes credits and bits and tells the bits; the other lanes pick theirs by rank.
 *
 *     in line      the wave takes all of a slab                  or each leader looks into its slot
 *                    | pages of its ticket not had                 | one has not got all that it wants
 *                    v                                             v
 *     out of line  pages_on ── no pages ───────────────────────> malloc_on:  a step of each leader that lacks credits
 *                                                                            those that have some use them up
 *                                                                            all lanes wait, if no leader can go on
 *
 * The code in line calls nothing: a value that lives across a call would stay in memory from its definition
 * on, on all paths. No lane waits at a busy slot except together with all lanes of its wave. So no lane holds
 * up another that has claimed what other waves wait for. A wave that has claimed a slot may wait for the slab
 * being prepared for it; the wave that prepares waits for nothing.
 */
#ifndef TARN_DEVICE_HEAP_MALLOC_CUH
#define TARN_DEVICE_HEAP_MALLOC_CUH

#include "tarn/device_heap/runs.cuh"
#include "tarn/device_heap/take.cuh"

TN_DEVICE uint32_t tn_lanes_before(tn_mask lanes)
{
    return tn_count_ones(lanes & (((tn_mask)1 << tn_lane()) - 1));
}

/* A leader tells its group a value. */
TN_DEVICE uint64_t tn_wave_tell(tn_mask lanes, uint64_t value, uint32_t leader)
{
    uint32_t low = tn_wave_shuffle(lanes, (uint32_t)value, leader);
    return (uint64_t)tn_wave_shuffle(lanes, (uint32_t)(value >> 32), leader) << 32 | low;
}

/* --- objects for a wave ----------------------------------------------------------------------------- */

/* A group of lanes that want objects of one class. */
struct tn_group {
    tn_mask lanes;
    uint32_t leader;
    uint32_t size_class;
};

TN_DEVICE bool tn_leads(const tn_group &group)
{
    return tn_lane() == group.leader;
}

/* Returns the objects that a leader takes for the waiting lanes of its group; 0 for other lanes. */
TN_DEVICE uint32_t tn_group_wanted(const tn_group &group, tn_mask waiting)
{
    return tn_leads(group) ? tn_count_ones(waiting & group.lanes) : 0;
}

/* Returns the content of the slot that this lane's group will mostly use. Each lane asks before it knows its
 * group, so that the result arrives meanwhile. */
TN_DEVICE uint32_t tn_lane_slot(tn_heap heap, uint32_t size_class)
{
    return tn_load(tn_slot(heap, size_class, tn_place()));
}

/* The leaders' first look into their slots. */
TN_DEVICE tn_slot_look tn_leader_look(tn_heap heap, const tn_group &group)
{
    if (!tn_leads(group)) return tn_slot_look_not_yet();
    return tn_slot_look_into(heap, tn_lane_slot(heap, group.size_class), tn_count_ones(group.lanes));
}

/* Objects of one word that a leader has taken for its group. */
struct tn_haul {
    uint64_t address; /* of the object of the word's lowest bit */
    uint64_t bits;    /* 0: none */
};

TN_DEVICE tn_haul tn_haul_take(tn_heap heap, uint32_t size_class, tn_hold *hold)
{
    tn_objects objects = tn_objects_take(heap, hold);
    uint64_t offset = (uint64_t)(objects.word * 64) * tn_heap_class_bytes(size_class);
    return { tn_page_address(heap, hold->page) + offset, objects.bits };
}

/* Returns an object for a waiting lane, if its leader has taken enough; else 0. */
TN_DEVICE uint64_t tn_lane_address(tn_mask lanes, const tn_group &group, tn_mask waiting, const tn_haul &haul)
{
    uint64_t first = tn_wave_tell(lanes, haul.address, group.leader);
    uint64_t bits = tn_wave_tell(lanes, haul.bits, group.leader);
    uint32_t rank = tn_lanes_before(waiting & group.lanes);
    return rank < tn_count_ones(bits) ? first + tn_nth_one(bits, rank) * tn_heap_class_bytes(group.size_class) : 0;
}

/* Uses up the credits that leaders hold: lanes with address 0 get objects. All groups do this together, so
 * that their leaders work at the same time. Returns the lanes that still have none. */
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

/* Waits until the slot of a waiting leader is no longer busy, or the wave has waited long. Returns the
 * content of this lane's slot. All lanes wait together, so none holds up another that has work to do.
 * Hundreds of waves may wait: they look less and less often, so that working waves do not queue behind them.
 */
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

/* Returns the lanes of groups whose leader says so. */
TN_DEVICE tn_mask tn_lanes_of_leaders(tn_mask lanes, const tn_group &group, bool says_so)
{
    tn_mask leaders = tn_wave_ballot(lanes, says_so);
    return leaders == 0 ? 0 : tn_wave_ballot(lanes, (leaders >> group.leader & 1) != 0);
}

/* A leader whose slot had too little, or that has not looked yet. Other lanes want nothing. */
struct tn_seeker {
    tn_slot_look look; /* the last one into its slot */
    uint32_t wanted;   /* objects */
    bool waits;        /* its slot was busy, and may be free by now */
    bool has_failed;   /* there is no memory */
};

/* Does one step after a look into the slot: returns credits, or none yet. A leader that has not looked makes
 * its own slab. */
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

/* For a wave in which some lanes got no object at once: their `address` is 0. `look`: the leader's look into
 * its slot. A group uses up its credits at once, even while others of the wave wait: objects held for long
 * are missing for other waves, which then take more pages. */
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

/* Allocates an object for each lane, or 0, from slots; `content` is that of this lane's slot. Most groups get
 * all in line. */
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

/* Returns this lane's object in a slab that the wave owns. */
TN_DEVICE uint64_t tn_own_address(tn_heap heap, tn_mask lanes, uint32_t size_class, uint32_t page)
{
    return tn_page_address(heap, page) + (uint64_t)tn_lanes_before(lanes) * tn_heap_class_bytes(size_class);
}

/* For a wave that did not get the pages of its ticket, or has more to do. */
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

/* Allocates an object for each lane, or 0. All lanes want one class and take all of a slab of few pages. Most
 * waves get the pages of their ticket in line. */
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

/* Allocates an object for each lane, in groups of one class each; 0 if there is no memory. */
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
