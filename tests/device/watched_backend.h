/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* watched_backend: what a pool asks of its backend, counted, and answered wrongly on demand. */
#ifndef TEST_WATCHED_BACKEND_H
#define TEST_WATCHED_BACKEND_H

#include <atomic>
#include <cstdint>

#include "tarn/tarn.h"

/* CUDA's, with two calls counted and two that can be made to lie. The table has no place for a state
 * of its own. */
struct watched_backend {
    tarn_backend inner;
    tarn_backend_operations operations;
    std::atomic<uint64_t> record_count;
    std::atomic<uint64_t> wait_count;
    bool skips_waits;
    bool completes_early;
};

extern struct watched_backend watched;

/* Opens it on device 0. Closed with tarn_backend_close. */
tarn_backend open_watched_backend();

#endif
