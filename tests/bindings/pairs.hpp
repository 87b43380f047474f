/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pairs: nanoseconds for an allocation and its end, as medians of 21 rounds. For programs that are run by hand. */
#ifndef TEST_PAIRS_HPP
#define TEST_PAIRS_HPP

#include <algorithm>
#include <chrono>
#include <cstdio>

template <class Pair> void measure_pairs(const char *name, Pair pair)
{
    constexpr int pairs = 20000, rounds = 21;
    double ns[rounds];
    for (double &result : ns) {
        auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < pairs; i++)
            pair();
        auto spent = std::chrono::steady_clock::now() - begin;
        result = std::chrono::duration<double, std::nano>(spent).count() / pairs;
    }
    std::sort(ns, ns + rounds);
    std::printf("  %-40s %7.1f   (%.1f to %.1f)\n", name, ns[rounds / 2], ns[0], ns[rounds - 1]);
}

#endif
