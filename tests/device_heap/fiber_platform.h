/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fiber_platform: what two platforms of tarn/device_heap/platform.cuh have in common, emulation.h and the model of
 * bench/device_heap: lanes are fibers of the processor, and those of a wave meet where its lanes come together.
 *
 * Who includes this defines fibers::meet, fibers::operate and fibers::send_off, and the rest of the platform.
 */
#ifndef TN_FIBER_PLATFORM_H
#define TN_FIBER_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

#define TN_DEVICE      static inline
#define TN_DEVICE_SLOW static inline
#define TN_UNROLL_8

typedef uint64_t tn_mask;

namespace fibers
{

enum class meeting_kind {
    WHOLE,
    ACTIVE,
    BALLOT,
    MATCH,
    SHUFFLE,
    OR,
    SYNC
};

/* Waits until all of `lanes` are there. `wanted` is the lane of a shuffle, or the group of an or. */
uint64_t meet(meeting_kind what, const char *file, int line, tn_mask lanes, uint64_t value,
              uint64_t wanted);

enum class operation {
    LOAD,
    STORE,
    ADD,
    AND,
    OR,
    MAX,
    COMPARE_EXCHANGE
};

/* Does it and gives what was there. */
template <typename word> word operate(operation what, word *address, word value);

/* The same, of which nobody looks at the answer. */
void send_off(operation what, void *address, size_t size_bytes, uint64_t value);

} // namespace fibers

/* --- lanes that come together ----------------------------------------------------------------------- */

uint32_t tn_lane();
uint32_t tn_place();

/* Lanes come together where they are at one place in the source, given last; the compiler may make several places of
 * that one. */
#define TN_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

TN_DEVICE tn_mask tn_wave_whole(TN_SITE)
{
    return fibers::meet(fibers::meeting_kind::WHOLE, file, line, 0, 0, 0);
}

TN_DEVICE tn_mask tn_wave_active(TN_SITE)
{
    return fibers::meet(fibers::meeting_kind::ACTIVE, file, line, 0, 0, 0);
}

TN_DEVICE tn_mask tn_wave_ballot(tn_mask lanes, bool yes, TN_SITE)
{
    return fibers::meet(fibers::meeting_kind::BALLOT, file, line, lanes, yes, 0);
}

TN_DEVICE tn_mask tn_wave_match(tn_mask lanes, uint32_t key, TN_SITE)
{
    return fibers::meet(fibers::meeting_kind::MATCH, file, line, lanes, key, 0);
}

TN_DEVICE uint32_t tn_wave_shuffle(tn_mask lanes, uint32_t value, uint32_t lane, TN_SITE)
{
    return (uint32_t)fibers::meet(fibers::meeting_kind::SHUFFLE, file, line, lanes, value, lane);
}

TN_DEVICE uint64_t tn_wave_or(tn_mask lanes, tn_mask group, uint64_t bits, TN_SITE)
{
    return fibers::meet(fibers::meeting_kind::OR, file, line, lanes, bits, group);
}

TN_DEVICE void tn_wave_sync(tn_mask lanes, TN_SITE)
{
    fibers::meet(fibers::meeting_kind::SYNC, file, line, lanes, 0, 0);
}

/* --- operations whose answers somebody may look at -------------------------------------------------- */

/* The answer of an operation, which is done when somebody looks at it; or sent off when nobody has. */
template <typename word, fibers::operation what> class tn_answer
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
        if (is_open) fibers::send_off(what, address, sizeof(word), value);
    }

    operator word()
    {
        is_open = false;
        return fibers::operate<word>(what, address, value);
    }
};

template <typename word>
tn_answer<word, fibers::operation::ADD> tn_fetch_add(word *address, word value)
{
    return { address, value };
}

template <typename word>
tn_answer<word, fibers::operation::AND> tn_fetch_and(word *address, word value)
{
    return { address, value };
}

template <typename word>
tn_answer<word, fibers::operation::OR> tn_fetch_or(word *address, word value)
{
    return { address, value };
}

/* --- bits ------------------------------------------------------------------------------------------- */

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
