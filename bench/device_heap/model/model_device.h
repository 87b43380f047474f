/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * model_device: how long a kernel might take on a device, as a queue of events.
 *
 * Waves are fibers of this thread. Each operation on memory costs the wave some time on its multiprocessor, a way to
 * the cache, a wait behind other operations on the same word and in the same slice of the cache, and a way back; it is
 * done when its turn comes, so the memory goes through the states that it might on a device. Blocks begin as others
 * end. Nothing is random but how long a pause takes, and that is the same each time.
 *
 * What it leaves out: how many instructions there are between two operations (each costs the same), what is kept on
 * stacks, waves of one multiprocessor that displace each other's instructions, and operations on objects.
 *
 * This file is the platform of tarn/device_heap/platform.cuh, whose names it has: a lane stands for a whole group of a
 * wave, the one that works for it.
 */
#ifndef TN_MODEL_DEVICE_H
#define TN_MODEL_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <functional>

#define TN_DEVICE      static inline
#define TN_DEVICE_SLOW static inline
#define TN_UNROLL_8

typedef uint64_t tn_mask;

namespace model
{

/* Of a kernel with this many waves, of which each has as many groups as `groups_of` says. `body` is given the wave and
 * the group. */
struct kernel {
    uint32_t wave_count;
    std::function<uint32_t(uint32_t)> groups_of;
    std::function<void(uint32_t, uint32_t)> body;
};

struct outcome {
    double microseconds; /* with the launch */
    double operations;   /* of a wave, in the mean */
    double pauses;
};

outcome run(const kernel &kernel);

enum class operation {
    LOAD,
    STORE,
    ADD,
    AND,
    OR,
    MAX,
    COMPARE_EXCHANGE
};

/* Outside of a kernel these happen at once. The first waits for the answer. */
uint64_t operate(operation what, void *address, size_t size_bytes, uint64_t value,
                 uint64_t expected = 0);
void send_off(operation what, void *address, size_t size_bytes, uint64_t value);
void fence();
void pause(uint32_t nanoseconds);
uint32_t place();

} // namespace model

TN_DEVICE uint32_t tn_lane()
{
    return 0;
}

TN_DEVICE uint32_t tn_place()
{
    return model::place();
}

TN_DEVICE tn_mask tn_wave_whole()
{
    return 1;
}

TN_DEVICE tn_mask tn_wave_active()
{
    return 1;
}

TN_DEVICE tn_mask tn_wave_ballot(tn_mask, bool yes)
{
    return yes;
}

TN_DEVICE tn_mask tn_wave_match(tn_mask, uint32_t)
{
    return 1;
}

TN_DEVICE uint32_t tn_wave_shuffle(tn_mask, uint32_t value, uint32_t)
{
    return value;
}

TN_DEVICE uint64_t tn_wave_or(tn_mask, tn_mask, uint64_t bits)
{
    return bits;
}

TN_DEVICE void tn_wave_sync(tn_mask)
{
}

TN_DEVICE bool tn_was_in_loop()
{
    return true;
}

template <typename word> word tn_load(const word *address)
{
    return (word)model::operate(model::operation::LOAD, (void *)address, sizeof(word), 0);
}

template <typename word> void tn_store(word *address, word value)
{
    model::send_off(model::operation::STORE, address, sizeof(word), value);
}

/* An operation that is waited for if somebody looks at its answer. */
template <typename word, model::operation what> class tn_answer
{
    word *address;
    word value;
    bool is_open = true;

  public:
    tn_answer(word *at, word operand) : address(at), value(operand)
    {
    }

    tn_answer(tn_answer &&other) noexcept : address(other.address), value(other.value)
    {
        other.is_open = false;
    }

    ~tn_answer()
    {
        if (is_open) model::send_off(what, address, sizeof(word), value);
    }

    operator word()
    {
        is_open = false;
        return (word)model::operate(what, address, sizeof(word), value);
    }
};

template <typename word>
tn_answer<word, model::operation::ADD> tn_fetch_add(word *address, word value)
{
    return { address, value };
}

template <typename word>
tn_answer<word, model::operation::AND> tn_fetch_and(word *address, word value)
{
    return { address, value };
}

template <typename word>
tn_answer<word, model::operation::OR> tn_fetch_or(word *address, word value)
{
    return { address, value };
}

template <typename word>
tn_answer<word, model::operation::MAX> tn_fetch_max(word *address, word value)
{
    return { address, value };
}

template <typename word> word tn_compare_exchange(word *address, word expected, word value)
{
    return (word)model::operate(model::operation::COMPARE_EXCHANGE, address, sizeof(word), value,
                                expected);
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

template <typename word>
tn_answer<word, model::operation::AND> tn_fetch_and_release(word *address, word value)
{
    model::fence();
    return tn_fetch_and(address, value);
}

TN_DEVICE void tn_pause(uint32_t nanoseconds)
{
    model::pause(nanoseconds);
}

TN_DEVICE uint32_t tn_count_ones(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

TN_DEVICE uint32_t tn_first_one(uint64_t bits)
{
    return (uint32_t)__builtin_ctzll(bits);
}

TN_DEVICE uint32_t tn_leading_zeros(uint64_t bits)
{
    return (uint32_t)__builtin_clzll(bits);
}

#endif
