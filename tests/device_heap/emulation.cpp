/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* emulation: waves of fibers, and the functions that their lanes come to together. */
#include "emulation.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "meetings.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace
{

constexpr size_t STACK_BYTES = 256 << 10;
constexpr uint64_t STUMBLE_MASK = 63; /* one operation in 64 */

struct lane {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    void *tsan_fiber;
};

struct wave {
    wave(uint32_t wave_number, uint32_t lane_count, const std::function<void(uint32_t)> *of_lanes)
        : number(wave_number), lanes(lane_count), meetings(lane_count), body(of_lanes)
    {
    }

    uint32_t number;
    uint32_t current = 0;
    std::vector<lane> lanes;
    fibers::meetings meetings;
    ucontext_t scheduler;
    void *scheduler_fiber;
    const std::function<void(uint32_t)> *body;
};

thread_local wave *this_wave;
thread_local uint64_t random_state = 1;
thread_local uint64_t pauses;
thread_local bool may_stumble;
thread_local uint64_t operations_left; /* until it is interrupted, if it is to be */
thread_local uint64_t operations_more; /* and from then on until it is again */
thread_local std::function<void()> interruption;
thread_local std::function<void()> at_pauses;
thread_local std::function<void()> at_operations;

uint64_t next_random()
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* An operation that is under way. */
struct letter {
    fibers::operation what;
    void *address;
    size_t size_bytes;
    uint64_t value;
};

thread_local std::vector<letter> letters;
thread_local bool is_sending_off;

template <typename word> void deliver(word *address, const letter &one)
{
    word value = (word)one.value;
    if (one.what == fibers::operation::ADD) __atomic_fetch_add(address, value, __ATOMIC_ACQ_REL);
    if (one.what == fibers::operation::AND) __atomic_fetch_and(address, value, __ATOMIC_ACQ_REL);
    if (one.what == fibers::operation::OR) __atomic_fetch_or(address, value, __ATOMIC_ACQ_REL);
    if (one.what == fibers::operation::STORE) __atomic_store_n(address, value, __ATOMIC_RELEASE);
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
    own->meetings.end(number);
    switch_to(own->scheduler_fiber, &own->lanes[number].context, &own->scheduler);
}

void run_lane(wave *own, uint32_t number)
{
    own->current = number;
    switch_to(own->lanes[number].tsan_fiber, &own->scheduler, &own->lanes[number].context);
}

/* --- meetings --------------------------------------------------------------------------------------- */

/* Of those that ask who is here, now and then only some are said to be. */
tn_mask some_of(tn_mask lanes)
{
    if (next_random() % 4 != 0) return lanes;
    tn_mask some = lanes & next_random();
    return some != 0 ? some : lanes;
}

/* Every lane waits or is done. False when all are done. */
bool hold_any_meeting(wave *own)
{
    uint32_t count = (uint32_t)own->lanes.size();
    uint32_t first = (uint32_t)(next_random() % count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = (first + i) % count;
        if ((own->meetings.waiting() >> number & 1) == 0) continue;
        tn_mask lanes = own->meetings.lanes_with(number);
        if (!own->meetings.is_complete(number, lanes)) continue;
        bool is_of_any = own->meetings.of(number).what == fibers::meeting_kind::ACTIVE;
        own->meetings.hold(is_of_any ? some_of(lanes) : lanes);
        return true;
    }
    if (own->meetings.waiting() != 0) {
        fprintf(stderr, "emulation: wave %u: lanes wait for each other in different places\n",
                own->number);
        abort();
    }
    return false;
}

/* The lanes that can run do, one after the other, from the first one or the last one on. */
void run_lanes(wave *own)
{
    uint32_t count = (uint32_t)own->lanes.size();
    bool from_last = next_random() % 2 != 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = from_last ? count - 1 - i : i;
        tn_mask can_run = own->meetings.left() & ~own->meetings.waiting();
        if ((can_run >> number & 1) != 0) run_lane(own, number);
    }
}

void begin_lane(wave *own, uint32_t number)
{
    lane &self = own->lanes[number];
    self.stack.reset(new char[STACK_BYTES]);
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
    wave own(number, lane_count, &body);
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
    at_operations = nullptr;
    this_wave = nullptr;
}

uint64_t pause_count()
{
    return pauses;
}

void interrupt_at(uint64_t operation, const std::function<void()> &body, uint64_t again)
{
    operations_left = operation;
    operations_more = again;
    interruption = body;
}

bool was_interrupted()
{
    bool has_come_to_it = operations_left == 0;
    operations_left = operations_more = 0;
    interruption = nullptr;
    return has_come_to_it;
}

void on_pause(const std::function<void()> &body)
{
    at_pauses = body;
}

void on_operation(const std::function<void()> &body)
{
    at_operations = body;
}

void send_off_unanswered()
{
    is_sending_off = true;
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
    if (at_operations) at_operations();
    if (operations_left != 0 && --operations_left == 0) {
        std::thread(interruption).join();
        std::swap(operations_left, operations_more);
    }
    if (may_stumble && (next_random() & STUMBLE_MASK) == 0) sched_yield();
}

} // namespace emulation

namespace fibers
{

uint64_t meet(meeting_kind what, const char *file, int line, tn_mask lanes, uint64_t value,
              uint64_t wanted)
{
    wave *own = this_wave;
    if (own->lanes.size() == 1) return answer_alone(what, value, wanted);
    uint32_t number = own->current;
    bool is_for_any = what == meeting_kind::ACTIVE || what == meeting_kind::WHOLE;
    if (!is_for_any && (lanes >> number & 1) == 0) {
        fprintf(stderr, "emulation: lane %u comes to a meeting of others\n", number);
        abort();
    }
    own->meetings.come(number, { what, file, line, lanes, value, wanted });
    switch_to(own->scheduler_fiber, &own->lanes[number].context, &own->scheduler);
    return own->meetings.result(number);
}

/* Does it now, or keeps it for later. */
void send_off(operation what, void *address, size_t size_bytes, uint64_t value)
{
    emulation::stumble();
    letters.push_back({ what, address, size_bytes, value });
    if (!is_sending_off) emulation::arrive(nullptr);
}

} // namespace fibers

uint32_t tn_lane()
{
    return this_wave->current;
}

uint32_t tn_place()
{
    return this_wave->number;
}

void tn_pause(uint32_t)
{
    pauses++;
    if (at_pauses) at_pauses();
    sched_yield();
}
