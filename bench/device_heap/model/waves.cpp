/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* waves: a block begins when another ends; events decide which lane goes on. */
#include "waves.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>

namespace model
{

device *running;

/* Idle lanes keep their stacks for later waves and kernels. */
static std::vector<std::unique_ptr<lane>> idle_lanes;

void post(double when, lane *who, request *asked)
{
    running->events.push({ when, running->event_count++, who, asked });
}

void go_on_at(lane *who, double when)
{
    post(when, who, nullptr);
}

/* --- multiprocessors ---------------------------------------------------------------------------------- */

/* The time from which on the multiprocessor is busy for `busy` ns. */
static double multiprocessor_time(uint32_t number, double busy)
{
    double *is_free = &running->multiprocessor_is_free[number];
    double begin = std::max(running->now, *is_free);
    *is_free = begin + busy;
    return begin;
}

double lane_time(const lane *own, double busy)
{
    wave *of = own->of;
    if (of->busy_at != running->now) {
        of->busy_at = running->now;
        of->busy_from = multiprocessor_time(of->multiprocessor, busy);
        of->busy_lanes = 1;
        return of->busy_from;
    }
    double *is_free = &running->multiprocessor_is_free[of->multiprocessor];
    *is_free = std::max(*is_free, of->busy_from + LANE_IN_STEP * of->busy_lanes++);
    return of->busy_from;
}

/* --- waves -------------------------------------------------------------------------------------------- */

void give_way()
{
    running->current->fiber.give_way();
}

/* Runs one lane after another. */
static void lane_body()
{
    for (;;) {
        lane *own = running->current;
        running->kernel.body(own->of->number, own->number);
        own->is_done = true;
        own->fiber.give_way();
    }
}

static std::unique_ptr<lane> idle_lane()
{
    if (idle_lanes.empty()) return std::unique_ptr<lane>(new lane(lane_body));
    std::unique_ptr<lane> last = std::move(idle_lanes.back());
    idle_lanes.pop_back();
    return last;
}

static void begin_lane(wave *of, uint32_t number, double when)
{
    std::unique_ptr<lane> own = idle_lane();
    own->of = of;
    own->number = number;
    own->is_done = false;
    own->sent_until = 0;
    own->random_state = 0x9E3779B97F4A7C15U * (of->number * 64 + number + 1) | 1;
    go_on_at(own.get(), when);
    of->lanes[number] = std::move(own);
}

static void begin_block(uint32_t multiprocessor)
{
    const kernel &kernel = running->kernel;
    uint32_t block = running->next_block++;
    uint32_t first = block * WAVES_OF_BLOCK;
    if (first >= kernel.wave_count) return;
    uint32_t count = std::min(WAVES_OF_BLOCK, kernel.wave_count - first);
    running->waves_left[block] = count;
    for (uint32_t number = first; number < first + count; number++) {
        double when = multiprocessor_time(multiprocessor, WAVE_BEGINS_ALONE) + WAVE_BEGINS;
        wave *own = new wave(number, kernel.lane_count, multiprocessor);
        running->waves[number].reset(own);
        for (uint32_t lane = 0; lane < kernel.lane_count; lane++)
            begin_lane(own, lane, when);
    }
}

/* If every remaining lane waits, holds the meeting of those that have come to the same one as this lane. */
static bool hold_meeting(wave *own, uint32_t number)
{
    tn_mask lanes = own->meetings.lanes_with(number);
    if (!own->meetings.is_complete(number, lanes)) return false;
    own->meetings.hold(lanes);
    for (tn_mask rest = lanes; rest != 0; rest &= rest - 1)
        go_on_at(own->lanes[tn_first_one(rest)].get(), running->now + MEETING);
    return true;
}

void hold_meetings(wave *own)
{
    tn_mask all = own->meetings.waiting();
    if (all == 0 || all != own->meetings.left()) return;
    bool is_any = false;
    for (tn_mask rest = all; rest != 0; rest &= own->meetings.waiting() & (rest - 1))
        is_any |= hold_meeting(own, tn_first_one(rest));
    if (is_any) return;
    fprintf(stderr, "model: wave %u: lanes wait for each other in different places\n", own->number);
    abort();
}

static void end_lane(lane *own)
{
    wave *of = own->of;
    of->meetings.end(own->number);
    idle_lanes.push_back(std::move(of->lanes[own->number]));
    hold_meetings(of);
    if (of->meetings.left() != 0) return;
    uint32_t block = of->number / WAVES_OF_BLOCK, multiprocessor = of->multiprocessor;
    running->waves[of->number].reset();
    if (--running->waves_left[block] == 0) begin_block(multiprocessor);
}

static void go_on(lane *own)
{
    running->current = own;
    own->fiber.go_on();
    running->current = nullptr;
    if (own->is_done) end_lane(own);
}

/* --- events ------------------------------------------------------------------------------------------- */

volley *join_volley(lane *own, fibers::operation what)
{
    wave *of = own->of;
    if (of->asked_at != running->now || of->asking->what != what) {
        of->asked_at = running->now;
        of->asking = new volley{ what, 0, 0, 0 };
    }
    of->asking->lanes |= (tn_mask)1 << own->number;
    return of->asking;
}

/* Whether another lane's load has brought what this one loads. */
static bool is_brought(const lane *own)
{
    if (own->with->what != fibers::operation::LOAD) return false;
    for (tn_mask rest = own->with->arrived; rest != 0; rest &= rest - 1) {
        const lane *other = own->of->lanes[tn_first_one(rest)].get();
        if ((uintptr_t)other->asked.address / LOAD_BYTES ==
            (uintptr_t)own->asked.address / LOAD_BYTES)
            return true;
    }
    return false;
}

static void arrive_awaited(lane *own)
{
    volley *with = own->with;
    if (!is_brought(own))
        with->done = std::max(with->done, running->cache.take_turn(own->asked, running->now));
    own->answer = do_at_once(own->asked);
    with->arrived |= (tn_mask)1 << own->number;
    if (with->arrived != with->lanes) return;
    for (tn_mask rest = with->lanes; rest != 0; rest &= rest - 1)
        go_on_at(own->of->lanes[tn_first_one(rest)].get(), with->done + ROUND_TRIP / 2);
    delete with;
}

static void arrive(request *asked)
{
    running->cache.take_turn(*asked, running->now);
    do_at_once(*asked);
    delete asked;
}

outcome run(const kernel &kernel)
{
    device own(kernel);
    running = &own;
    for (uint32_t i = 0; i < BLOCKS_AT_ONCE * MULTIPROCESSORS; i++)
        begin_block(i % MULTIPROCESSORS);
    while (!own.events.empty()) {
        event next = own.events.top();
        own.events.pop();
        own.now = next.when;
        if (next.who == nullptr)
            arrive(next.asked);
        else if (next.asked != nullptr)
            arrive_awaited(next.who);
        else
            go_on(next.who);
    }
    running = nullptr;
    double waves = kernel.wave_count;
    return { (own.now + LAUNCH) / 1000, (double)own.operation_count / waves,
             (double)own.pause_count / waves };
}

} // namespace model
