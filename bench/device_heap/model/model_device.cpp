/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* model_device: events, fibers, and what each thing costs. */
#include "model_device.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

namespace
{

/* Nanoseconds of an H200. The first four are measured (300 cycles for the way there and back; 1.3 thousand million
 * additions a second to a word; 1.7 to a slice; the launch of a kernel that does nothing); the others are such that the
 * figures of bench/results/h200-heap-2026-11-23 come out as near as they will for the heap that was measured there. */
constexpr double ROUND_TRIP = 150;
constexpr double WORD_TURN = 0.77;
constexpr double SLICE_TURN = 0.6;
constexpr double LAUNCH = 5500;
constexpr double THINKING = 200;      /* of a wave before it asks for something */
constexpr double SENDING_OFF = 60;    /* and before it sends off what it does not wait for */
constexpr double STORING = 4;         /* in a row */
constexpr double MULTIPROCESSOR = 15; /* of which nobody else has it meanwhile */
constexpr double WAVE_BEGINS = 250;
constexpr double WAVE_BEGINS_ALONE = 20;
constexpr double FENCE = 500;
constexpr double WAKING_UP = 30;

constexpr uint32_t MULTIPROCESSORS = 132;
constexpr uint32_t BLOCKS_AT_ONCE = 6; /* of a multiprocessor, with 40 registers a thread */
constexpr uint32_t WAVES_OF_BLOCK = 8;
constexpr uint32_t SLICES = 64;
constexpr size_t STACK_BYTES = 16 << 10;

/* One group of a wave. */
struct fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    uint32_t wave, group, multiprocessor;
    bool is_done;
    double sent_until; /* when what it has sent off will be done */
    uint64_t answer;
    uint64_t random_state;
};

struct event {
    double when;
    uint64_t number; /* of those at the same time the first goes first */
    fiber *who;
    bool is_arrival; /* of an operation at its word; or else the fiber goes on */
    bool is_awaited;
    model::operation what;
    void *address;
    size_t size_bytes;
    uint64_t value, expected;
};

bool operator<(const event &a, const event &b)
{
    return a.when != b.when ? a.when > b.when : a.number > b.number;
}

struct device {
    double now = 0;
    uint64_t event_count = 0;
    std::priority_queue<event> events;
    std::unordered_map<uintptr_t, double> word_is_free;
    std::vector<double> slice_is_free = std::vector<double>(SLICES);
    std::vector<double> multiprocessor_is_free = std::vector<double>(MULTIPROCESSORS);
    std::vector<uint32_t> groups_left; /* of each wave */
    std::vector<uint32_t> waves_left;  /* of each block */
    std::vector<fiber *> idle;
    uint32_t next_block = 0;
    uint64_t operation_count = 0, pause_count = 0;
    const model::kernel *kernel = nullptr;
    fiber *current = nullptr;
    ucontext_t scheduler;
};

device *running; /* or null: outside of a kernel */

/* --- memory ----------------------------------------------------------------------------------------- */

uint64_t value_after(model::operation what, uint64_t before, uint64_t value, uint64_t expected)
{
    switch (what) {
    case model::operation::STORE:
        return value;
    case model::operation::ADD:
        return before + value;
    case model::operation::AND:
        return before & value;
    case model::operation::OR:
        return before | value;
    case model::operation::MAX:
        return std::max(before, value);
    case model::operation::COMPARE_EXCHANGE:
        return before == expected ? value : before;
    default:
        return before;
    }
}

uint64_t do_at_once(model::operation what, void *address, size_t size_bytes, uint64_t value,
                    uint64_t expected)
{
    if (size_bytes == sizeof(uint32_t)) {
        uint32_t *word = (uint32_t *)address, before = *word;
        *word = (uint32_t)value_after(what, before, value, expected);
        return before;
    }
    uint64_t *word = (uint64_t *)address, before = *word;
    *word = value_after(what, before, value, expected);
    return before;
}

void post(event event)
{
    event.number = running->event_count++;
    running->events.push(event);
}

void go_on_at(fiber *who, double when)
{
    event event = {};
    event.when = when;
    event.who = who;
    post(event);
}

/* An operation is at its word, and is done when those before it are. */
void arrive(const event &arrived)
{
    bool is_light =
        arrived.what == model::operation::LOAD || arrived.what == model::operation::STORE;
    uintptr_t line = (uintptr_t)arrived.address >> 7;
    double *slice = &running->slice_is_free[(line * 0x9E3779B97F4A7C15U) >> 58];
    double *word = &running->word_is_free[(uintptr_t)arrived.address >> 3];
    double begin = std::max({ running->now, *word, *slice });
    *word = begin + (is_light ? WORD_TURN / 2 : WORD_TURN);
    *slice = std::max(*slice, running->now) + SLICE_TURN;
    uint64_t before = do_at_once(arrived.what, arrived.address, arrived.size_bytes, arrived.value,
                                 arrived.expected);
    if (!arrived.is_awaited) return;
    arrived.who->answer = before;
    go_on_at(arrived.who, *word + ROUND_TRIP / 2);
}

/* --- waves ------------------------------------------------------------------------------------------ */

void give_way()
{
    fiber *own = running->current;
    swapcontext(&own->context, &running->scheduler);
}

void fiber_main()
{
    fiber *own = running->current;
    running->kernel->body(own->wave, own->group);
    own->is_done = true;
    give_way();
}

/* When the multiprocessor is free for so long, from now on. */
double multiprocessor_time(uint32_t number, double busy)
{
    double *is_free = &running->multiprocessor_is_free[number];
    double begin = std::max(running->now, *is_free);
    *is_free = begin + busy;
    return begin;
}

void begin_group(uint32_t wave, uint32_t group, uint32_t multiprocessor, double when)
{
    fiber *own;
    if (running->idle.empty()) {
        own = new fiber;
        own->stack.reset(new char[STACK_BYTES]);
    } else {
        own = running->idle.back();
        running->idle.pop_back();
    }
    own->wave = wave;
    own->group = group;
    own->multiprocessor = multiprocessor;
    own->is_done = false;
    own->sent_until = 0;
    own->random_state = 0x9E3779B97F4A7C15U * (wave * 64 + group + 1) | 1;
    getcontext(&own->context);
    own->context.uc_stack.ss_sp = own->stack.get();
    own->context.uc_stack.ss_size = STACK_BYTES;
    own->context.uc_link = nullptr;
    makecontext(&own->context, fiber_main, 0);
    go_on_at(own, when);
}

void begin_block(uint32_t multiprocessor)
{
    const model::kernel &kernel = *running->kernel;
    uint32_t block = running->next_block++;
    uint32_t first = block * WAVES_OF_BLOCK;
    if (first >= kernel.wave_count) return;
    uint32_t count = std::min(WAVES_OF_BLOCK, kernel.wave_count - first);
    running->waves_left[block] = count;
    for (uint32_t wave = first; wave < first + count; wave++) {
        uint32_t groups = kernel.groups_of(wave);
        double when = multiprocessor_time(multiprocessor, WAVE_BEGINS_ALONE) + WAVE_BEGINS;
        running->groups_left[wave] = groups;
        for (uint32_t group = 0; group < groups; group++)
            begin_group(wave, group, multiprocessor, when);
    }
}

void end_group(fiber *own)
{
    running->idle.push_back(own);
    if (--running->groups_left[own->wave] > 0) return;
    if (--running->waves_left[own->wave / WAVES_OF_BLOCK] > 0) return;
    begin_block(own->multiprocessor);
}

void go_on(fiber *own)
{
    running->current = own;
    swapcontext(&running->scheduler, &own->context);
    running->current = nullptr;
    if (own->is_done) end_group(own);
}

} // namespace

namespace model
{

outcome run(const kernel &kernel)
{
    device own;
    own.kernel = &kernel;
    own.groups_left.resize(kernel.wave_count);
    own.waves_left.resize(kernel.wave_count / WAVES_OF_BLOCK + 1);
    running = &own;
    for (uint32_t i = 0; i < BLOCKS_AT_ONCE * MULTIPROCESSORS; i++)
        begin_block(i % MULTIPROCESSORS);
    while (!own.events.empty()) {
        event next = own.events.top();
        own.events.pop();
        own.now = next.when;
        if (next.is_arrival)
            arrive(next);
        else
            go_on(next.who);
    }
    for (fiber *idle : own.idle)
        delete idle;
    running = nullptr;
    double waves = kernel.wave_count;
    return { (own.now + LAUNCH) / 1000, (double)own.operation_count / waves,
             (double)own.pause_count / waves };
}

uint64_t operate(operation what, void *address, size_t size_bytes, uint64_t value,
                 uint64_t expected)
{
    if (running == nullptr) return do_at_once(what, address, size_bytes, value, expected);
    fiber *own = running->current;
    double when =
        multiprocessor_time(own->multiprocessor, MULTIPROCESSOR) + THINKING + ROUND_TRIP / 2;
    running->operation_count++;
    post({ when, 0, own, true, true, what, address, size_bytes, value, expected });
    give_way();
    return own->answer;
}

void send_off(operation what, void *address, size_t size_bytes, uint64_t value)
{
    if (running == nullptr) {
        do_at_once(what, address, size_bytes, value, 0);
        return;
    }
    fiber *own = running->current;
    bool is_store = what == operation::STORE;
    double when = multiprocessor_time(own->multiprocessor, is_store ? STORING / 2 : MULTIPROCESSOR);
    when += is_store ? STORING : SENDING_OFF;
    running->operation_count++;
    own->sent_until = std::max(own->sent_until, when + ROUND_TRIP);
    post({ when + ROUND_TRIP / 2, 0, own, true, false, what, address, size_bytes, value, 0 });
    go_on_at(own, when);
    give_way();
}

void fence()
{
    if (running == nullptr) return;
    fiber *own = running->current;
    go_on_at(own, std::max(running->now + FENCE, own->sent_until));
    give_way();
}

/* From nothing to twice as long. */
void pause(uint32_t nanoseconds)
{
    if (running == nullptr) return;
    fiber *own = running->current;
    own->random_state ^= own->random_state << 13;
    own->random_state ^= own->random_state >> 7;
    own->random_state ^= own->random_state << 17;
    running->pause_count++;
    go_on_at(own, running->now + WAKING_UP +
                      2.0 * nanoseconds * (double)(own->random_state % 1024) / 1024);
    give_way();
}

uint32_t place()
{
    if (running == nullptr) return 0;
    uint32_t wave = running->current->wave;
    return wave / WAVES_OF_BLOCK ^ wave % WAVES_OF_BLOCK << 26;
}

} // namespace model
