/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * model_device: how long a kernel might take on a device, as a queue of events.
 *
 * Lanes are fibers of this thread. Each operation on memory costs the wave some time on its multiprocessor, a
 * way to the cache, a wait behind other operations on the same word and in the same slice of the cache, and a
 * way back. It takes effect when its turn comes, so the memory goes through states that are possible on a
 * device. A block begins when another ends. Only the lengths of pauses are random, and those are the same in
 * every run.
 *
 * The model leaves out how many instructions lie between two operations (each costs the same), data on
 * stacks, instructions that the waves of a multiprocessor displace from its cache, and operations on objects.
 *
 * A kernel may have all lanes of a wave, or one lane, which works for a whole group. Lanes that ask for
 * something at the same time share an instruction: they go on together when the last answer is there, and
 * loads of the same 32 bytes are one. Diverged lanes come together at a meeting, when every lane of the wave
 * has reached a meeting or ended. On a device such lanes take turns, which is left out.
 *
 * This file and fiber_platform.h are the platform that tarn/device_heap/platform.cuh asks for, with its
 * names.
 */
#ifndef TN_MODEL_DEVICE_H
#define TN_MODEL_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <functional>

#include "device_heap/fiber_platform.h"
#include "memory.h"

namespace model
{

/* `body` gets the wave and the lane. */
struct kernel {
    uint32_t wave_count;
    uint32_t lane_count; /* of each wave, up to 64 */
    std::function<void(uint32_t, uint32_t)> body;
};

struct outcome {
    double microseconds; /* with the launch */
    double operations;   /* of all lanes of a wave, in the mean */
    double pauses;
};

outcome run(const kernel &kernel);

/* Waits for the answer and returns it; outside of a kernel it does not wait. */
uint64_t ask(const request &asked);

void fence();

} // namespace model

void tn_pause(uint32_t nanoseconds);

template <typename word> word fibers::operate(operation what, word *address, word value)
{
    return (word)model::ask({ what, address, sizeof(word), value, 0 });
}

template <typename word> word tn_load(const word *address)
{
    return fibers::operate<word>(fibers::operation::LOAD, (word *)address, 0);
}

template <typename word> void tn_store(word *address, word value)
{
    fibers::send_off(fibers::operation::STORE, address, sizeof(word), value);
}

template <typename word>
tn_answer<word, fibers::operation::MAX> tn_fetch_max(word *address, word value)
{
    return { address, value };
}

template <typename word> word tn_compare_exchange(word *address, word expected, word value)
{
    return (word)model::ask(
        { fibers::operation::COMPARE_EXCHANGE, address, sizeof(word), value, expected });
}

TN_DEVICE void tn_fence_acquire()
{
}

TN_DEVICE void tn_fence()
{
    model::fence();
}

TN_DEVICE void tn_fence_release()
{
    model::fence();
}

template <typename word> void tn_store_release(word *address, word value)
{
    model::fence();
    tn_store(address, value);
}

#endif
