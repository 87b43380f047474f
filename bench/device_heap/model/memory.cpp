/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory: a word changes when a request arrives at it. Each word and each slice has its own queue. */
#include "memory.h"

#include <algorithm>

#include "costs.h"

namespace
{

uint64_t value_after(const model::request &asked, uint64_t before)
{
    switch (asked.what) {
    case fibers::operation::STORE:
        return asked.value;
    case fibers::operation::ADD:
        return before + asked.value;
    case fibers::operation::AND:
        return before & asked.value;
    case fibers::operation::OR:
        return before | asked.value;
    case fibers::operation::MAX:
        return std::max(before, asked.value);
    case fibers::operation::COMPARE_EXCHANGE:
        return before == asked.expected ? asked.value : before;
    default:
        return before;
    }
}

template <typename word> uint64_t change(const model::request &asked)
{
    word *at = (word *)asked.address, before = *at;
    *at = (word)value_after(asked, before);
    return before;
}

} // namespace

namespace model
{

uint64_t do_at_once(const request &asked)
{
    return asked.size_bytes == sizeof(uint32_t) ? change<uint32_t>(asked) : change<uint64_t>(asked);
}

cache::cache() : slice_is_free_(SLICES)
{
}

double cache::take_turn(const request &asked, double now)
{
    bool is_light = asked.what == fibers::operation::LOAD || asked.what == fibers::operation::STORE;
    uintptr_t line = (uintptr_t)asked.address >> 7;
    double *slice = &slice_is_free_[(line * 0x9E3779B97F4A7C15U) >> 58];
    double *word = &word_is_free_[(uintptr_t)asked.address >> 3];
    double begin = std::max({ now, *word, *slice });
    *word = begin + (is_light ? WORD_TURN / 2 : WORD_TURN);
    *slice = std::max(*slice, now) + SLICE_TURN;
    return *word;
}

} // namespace model
