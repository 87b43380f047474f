/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* emulation: waves of fibers, and the functions that their lanes come to together. */
#include "emulation.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <memory>
#include <thread>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace
{

constexpr size_t STACK_BYTES = 256 << 10;
constexpr uint64_t STUMBLE_MASK = 63; /* one operation in 64 */

enum class kind {
    WHOLE,
    ACTIVE,
    BALLOT,
    MATCH,
    SHUFFLE,
    OR,
    SYNC
};

/* What a lane has come to. */
struct meeting {
    kind what;
    const char *file; /* where in the source */
    int line;
    tn_mask lanes; /* who comes */
    uint64_t value;
    uint64_t wanted; /* the lane of a shuffle, the group of an or */
    uint64_t result;
};

struct lane {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool is_done;
    bool is_waiting;
    meeting at;
    void *tsan_fiber;
};

struct wave {
    uint32_t number;
    uint32_t current;
    std::vector<lane> lanes;
    ucontext_t scheduler;
    void *scheduler_fiber;
    const std::function<void(uint32_t)> *body;
};

thread_local wave *this_wave;
thread_local uint64_t random_state = 1;
thread_local uint64_t pauses;
thread_local bool may_stumble;
thread_local uint64_t operations_left; /* until it is interrupted, if it is to be */
thread_local std::function<void()> interruption;
thread_local std::function<void()> at_pauses;

uint64_t next_random()
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* An operation that is under way. */
struct letter {
    emulation::sent what;
    void *address;
    size_t size_bytes;
    uint64_t value;
};

thread_local std::vector<letter> letters;
thread_local bool is_sending_off;

template <typename word> void deliver(word *address, const letter &one)
{
    word value = (word)one.value;
    if (one.what == emulation::sent::ADD) __atomic_fetch_add(address, value, __ATOMIC_ACQ_REL);
    if (one.what == emulation::sent::AND) __atomic_fetch_and(address, value, __ATOMIC_ACQ_REL);
    if (one.what == emulation::sent::OR) __atomic_fetch_or(address, value, __ATOMIC_ACQ_REL);
    if (one.what == emulation::sent::SET) __atomic_store_n(address, value, __ATOMIC_RELEASE);
}

void switch_to(void *tsan_fiber, ucontext_t *from, const ucontext_t *to)
{
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(tsan_fiber, 0);
#else
    (void)tsan_fiber;
#endif
    swapcontext(from, to);
}

void lane_main()
{
    wave *own = this_wave;
    uint32_t number = own->current;
    (*own->body)(number);
    own->lanes[number].is_done = true;
    switch_to(own->scheduler_fiber, &own->lanes[number].context, &own->scheduler);
}

void run_lane(wave *own, uint32_t number)
{
    own->current = number;
    switch_to(own->lanes[number].tsan_fiber, &own->scheduler, &own->lanes[number].context);
}

/* --- meetings --------------------------------------------------------------------------------------- */

bool is_same_meeting(const meeting &a, const meeting &b)
{
    return a.what == b.what && a.line == b.line && a.lanes == b.lanes &&
           strcmp(a.file, b.file) == 0;
}

/* Lanes that have come to the same meeting as this one. */
tn_mask lanes_at(const wave &own, const meeting &at)
{
    tn_mask lanes = 0;
    for (uint32_t i = 0; i < own.lanes.size(); i++)
        if (own.lanes[i].is_waiting && is_same_meeting(own.lanes[i].at, at))
            lanes |= (tn_mask)1 << i;
    return lanes;
}

uint64_t answer(const wave &own, tn_mask lanes, const meeting &asked)
{
    if (asked.what == kind::ACTIVE || asked.what == kind::WHOLE) return lanes;
    if (asked.what == kind::SHUFFLE) return own.lanes[asked.wanted].at.value;
    uint64_t result = 0;
    for (tn_mask rest = lanes; rest != 0; rest &= rest - 1) {
        uint32_t other = tn_first_one(rest);
        uint64_t value = own.lanes[other].at.value;
        if (asked.what == kind::OR && (asked.wanted >> other & 1) != 0) result |= value;
        if (asked.what == kind::BALLOT && value != 0) result |= (uint64_t)1 << other;
        if (asked.what == kind::MATCH && value == asked.value) result |= (uint64_t)1 << other;
    }
    return result;
}

void hold_meeting(wave *own, tn_mask lanes)
{
    for (tn_mask rest = lanes; rest != 0; rest &= rest - 1) {
        meeting &asked = own->lanes[tn_first_one(rest)].at;
        asked.result = answer(*own, lanes, asked);
    }
    for (tn_mask rest = lanes; rest != 0; rest &= rest - 1)
        own->lanes[tn_first_one(rest)].is_waiting = false;
}

/* Of those that ask who is here, now and then only some are said to be. */
tn_mask some_of(tn_mask lanes)
{
    if (next_random() % 4 != 0) return lanes;
    tn_mask some = lanes & next_random();
    return some != 0 ? some : lanes;
}

tn_mask lanes_left(const wave &own)
{
    tn_mask lanes = 0;
    for (uint32_t i = 0; i < own.lanes.size(); i++)
        if (!own.lanes[i].is_done) lanes |= (tn_mask)1 << i;
    return lanes;
}

/* Every lane waits or is done. False when all are done. */
bool hold_any_meeting(wave *own)
{
    bool is_any = false;
    uint32_t count = (uint32_t)own->lanes.size();
    uint32_t first = (uint32_t)(next_random() % count);
    for (uint32_t i = 0; i < count; i++) {
        const lane &one = own->lanes[(first + i) % count];
        if (!one.is_waiting) continue;
        is_any = true;
        tn_mask lanes = lanes_at(*own, one.at);
        if (one.at.what == kind::ACTIVE)
            lanes = some_of(lanes);
        else if (lanes != (one.at.what == kind::WHOLE ? lanes_left(*own) : one.at.lanes))
            continue;
        hold_meeting(own, lanes);
        return true;
    }
    if (is_any) {
        fprintf(stderr, "emulation: wave %u: lanes wait for each other in different places\n",
                own->number);
        abort();
    }
    return false;
}

uint64_t meet(kind what, const char *file, int line, tn_mask lanes, uint64_t value, uint64_t wanted)
{
    wave *own = this_wave;
    if (own->lanes.size() == 1) {
        own->lanes[0].at.value = value;
        meeting asked = { what, file, line, 1, value, wanted, 0 };
        return answer(*own, 1, asked);
    }
    lane &self = own->lanes[own->current];
    uint32_t number = own->current;
    if (what != kind::ACTIVE && what != kind::WHOLE && (lanes >> number & 1) == 0) {
        fprintf(stderr, "emulation: lane %u comes to a meeting of others\n", number);
        abort();
    }
    self.at = { what, file, line, lanes, value, wanted, 0 };
    self.is_waiting = true;
    switch_to(own->scheduler_fiber, &self.context, &own->scheduler);
    return self.at.result;
}

/* The lanes that can run do, one after the other, from the first one or the last one on. */
void run_lanes(wave *own)
{
    uint32_t count = (uint32_t)own->lanes.size();
    bool from_last = next_random() % 2 != 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = from_last ? count - 1 - i : i;
        if (!own->lanes[number].is_done && !own->lanes[number].is_waiting) run_lane(own, number);
    }
}

void begin_lane(wave *own, uint32_t number)
{
    lane &self = own->lanes[number];
    self.stack.reset(new char[STACK_BYTES]);
    self.is_done = self.is_waiting = false;
    getcontext(&self.context);
    self.context.uc_stack.ss_sp = self.stack.get();
    self.context.uc_stack.ss_size = STACK_BYTES;
    self.context.uc_link = nullptr;
    makecontext(&self.context, lane_main, 0);
#if defined(__SANITIZE_THREAD__)
    self.tsan_fiber = __tsan_create_fiber(0);
#endif
}

void run_fibers(wave *own)
{
#if defined(__SANITIZE_THREAD__)
    own->scheduler_fiber = __tsan_get_current_fiber();
#endif
    for (uint32_t i = 0; i < own->lanes.size(); i++)
        begin_lane(own, i);
    do
        run_lanes(own);
    while (hold_any_meeting(own));
#if defined(__SANITIZE_THREAD__)
    for (lane &one : own->lanes)
        __tsan_destroy_fiber(one.tsan_fiber);
#endif
}

} // namespace

namespace emulation
{

void run_wave(uint32_t number, uint32_t lane_count, uint64_t seed,
              const std::function<void(uint32_t)> &body)
{
    wave own;
    own.number = number;
    own.current = 0;
    own.lanes.resize(lane_count);
    own.body = &body;
    this_wave = &own;
    may_stumble = seed != 0;
    random_state = seed * 0x9E3779B97F4A7C15U + number + 1;
    if (lane_count == 1)
        body(0);
    else
        run_fibers(&own);
    arrive(nullptr);
    is_sending_off = false;
    at_pauses = nullptr;
    this_wave = nullptr;
}

uint64_t pause_count()
{
    return pauses;
}

void interrupt_at(uint64_t operation, const std::function<void()> &body)
{
    operations_left = operation;
    interruption = body;
}

bool was_interrupted()
{
    bool has_come_to_it = operations_left == 0;
    operations_left = 0;
    interruption = nullptr;
    return has_come_to_it;
}

void on_pause(const std::function<void()> &body)
{
    at_pauses = body;
}

void send_off_unanswered()
{
    is_sending_off = true;
}

void send_off(sent what, void *address, size_t size_bytes, uint64_t value)
{
    stumble();
    letters.push_back({ what, address, size_bytes, value });
    if (!is_sending_off) arrive(nullptr);
}

void arrive(const void *address)
{
    if (letters.empty()) return;
    std::vector<letter> rest;
    for (const letter &one : letters) {
        if (address != nullptr && one.address != address)
            rest.push_back(one);
        else if (one.size_bytes == sizeof(uint32_t))
            deliver((uint32_t *)one.address, one);
        else
            deliver((uint64_t *)one.address, one);
    }
    letters = rest;
}

void stumble()
{
    if (operations_left != 0 && --operations_left == 0) std::thread(interruption).join();
    if (may_stumble && (next_random() & STUMBLE_MASK) == 0) sched_yield();
}

} // namespace emulation

uint32_t tn_lane()
{
    return this_wave->current;
}

uint32_t tn_place()
{
    return this_wave->number;
}

tn_mask tn_wave_whole(const char *file, int line)
{
    return meet(kind::WHOLE, file, line, 0, 0, 0);
}

tn_mask tn_wave_active(const char *file, int line)
{
    return meet(kind::ACTIVE, file, line, 0, 0, 0);
}

tn_mask tn_wave_ballot(tn_mask lanes, bool yes, const char *file, int line)
{
    return meet(kind::BALLOT, file, line, lanes, yes, 0);
}

tn_mask tn_wave_match(tn_mask lanes, uint32_t key, const char *file, int line)
{
    return meet(kind::MATCH, file, line, lanes, key, 0);
}

uint32_t tn_wave_shuffle(tn_mask lanes, uint32_t value, uint32_t lane, const char *file, int line)
{
    return (uint32_t)meet(kind::SHUFFLE, file, line, lanes, value, lane);
}

uint64_t tn_wave_or(tn_mask lanes, tn_mask group, uint64_t bits, const char *file, int line)
{
    return meet(kind::OR, file, line, lanes, bits, group);
}

void tn_wave_sync(tn_mask lanes, const char *file, int line)
{
    meet(kind::SYNC, file, line, lanes, 0, 0);
}

void tn_pause(uint32_t)
{
    pauses++;
    if (at_pauses) at_pauses();
    sched_yield();
}
