/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* model_tests: the tests of device_heap_model. Each prints a table, and ends the program if the heap has a
 * fault. */
#ifndef TN_MODEL_TESTS_H
#define TN_MODEL_TESTS_H

#include <stdint.h>

#include <algorithm>
#include <vector>

constexpr uint32_t LANES = 32; /* of a wave */

void test_one_size(uint32_t threads, const std::vector<uint32_t> &sizes_bytes);

/* Threads are a power of two. */
void test_mixed(uint32_t threads);

void test_steady(uint32_t threads, uint32_t rounds);

inline double median(std::vector<double> of)
{
    std::sort(of.begin(), of.end());
    return of[of.size() / 2];
}

#endif
