/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * emulation: a device of the processor, for the device heap's kernels. Each wave is a thread, and its lanes are
 * fibers of it that run one after the other: a lane runs until it comes to a function that its group has to come to
 * together, and only when all lanes have come to one or ended does any go on. That is harder than what a device does:
 * a lane that waits for another of its wave waits for ever, and is found. Waves of one lane are plain threads.
 *
 * Which lane runs first, who is said to be here together, and where a thread gives way to others is drawn from a
 * seed. Memory order is the processor's, with each operation acquiring and releasing: what too weak an order would
 * break on a device this does not show; but for operations whose answers nobody looks at, which come late where a test
 * asks for that.
 *
 * This file, with fiber_platform.h, is the platform of tarn/device_heap/platform.cuh, whose names it has.
 */
#ifndef TN_EMULATION_H
#define TN_EMULATION_H

#include <stddef.h>
#include <stdint.h>

#include <functional>

#include "fiber_platform.h"

namespace emulation
{

/* Runs the lanes of a wave in this thread, until all have ended. Ends the program when they wait for each other. With
 * a seed of 0 it never gives way to other threads by itself. */
void run_wave(uint32_t number, uint32_t lane_count, uint64_t seed,
              const std::function<void(uint32_t)> &body);

/* Times that lanes of this thread have paused since it began. */
uint64_t pause_count();

/* Before as many more atomic operations of this thread, counted from 1, runs `body` in another thread, and waits for its
 * end: a lane that stands still there while others do much. And once more before the one that is `again` later. */
void interrupt_at(uint64_t operation, const std::function<void()> &body, uint64_t again = 0);

/* Forgets that; whether it has come to it, each time. */
bool was_interrupted();

/* From now on, until the wave ends: an atomic operation of this thread whose answer nobody looks at is done late, when
 * this thread comes to a fence, to a release or to the same word, as on a device that sends it off and goes on. */
void send_off_unanswered();

/* What this thread does at each pause from now on, until its wave ends. */
void on_pause(const std::function<void()> &body);

/* And before each atomic operation. */
void on_operation(const std::function<void()> &body);

/* Does what was kept for this word; for NULL, all. */
void arrive(const void *address);

/* Before each atomic operation: now and then gives way to another thread. */
void stumble();

} // namespace emulation

void tn_pause(uint32_t nanoseconds);

template <typename word> word tn_load(const word *address)
{
    emulation::stumble();
    emulation::arrive(address);
    return __atomic_load_n(address, __ATOMIC_ACQUIRE);
}

template <typename word> void tn_store(word *address, word value)
{
    emulation::arrive(address);
    fibers::send_off(fibers::operation::STORE, address, sizeof(word), value);
}

template <typename word> word fibers::operate(operation what, word *address, word value)
{
    emulation::stumble();
    emulation::arrive(address);
    if (what == operation::ADD) return __atomic_fetch_add(address, value, __ATOMIC_ACQ_REL);
    if (what == operation::AND) return __atomic_fetch_and(address, value, __ATOMIC_ACQ_REL);
    return __atomic_fetch_or(address, value, __ATOMIC_ACQ_REL);
}

template <typename word> word tn_compare_exchange(word *address, word expected, word value)
{
    emulation::stumble();
    emulation::arrive(address);
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    return expected;
}

template <typename word> word tn_fetch_max(word *address, word value)
{
    word before = tn_load(address);
    while (before < value) {
        word seen = tn_compare_exchange(address, before, value);
        if (seen == before) break;
        before = seen;
    }
    return before;
}

TN_DEVICE void tn_fence_acquire()
{
}

TN_DEVICE void tn_fence()
{
    emulation::stumble();
    emulation::arrive(nullptr);
}

TN_DEVICE void tn_fence_release()
{
    emulation::stumble();
    emulation::arrive(nullptr);
}

template <typename word> void tn_store_release(word *address, word value)
{
    emulation::arrive(nullptr);
    tn_store(address, value);
}

#endif
