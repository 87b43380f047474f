/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory: operations on words, and how long they wait for each other in a device's cache. */
#ifndef TN_MODEL_MEMORY_H
#define TN_MODEL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <unordered_map>
#include <vector>

#include "device_heap/fiber_platform.h"

namespace model
{

struct request {
    fibers::operation what;
    void *address;
    size_t size_bytes;
    uint64_t value;
    uint64_t expected; /* of a compare and exchange */
};

/* Returns the previous value. */
uint64_t do_at_once(const request &asked);

/* The cache that all multiprocessors share. Times are in nanoseconds. */
class cache
{
  public:
    cache();

    /* The time at which a request that arrives now is done: after all earlier ones at its word and in its
     * slice. */
    double take_turn(const request &asked, double now);

  private:
    std::unordered_map<uintptr_t, double> word_is_free_;
    std::vector<double> slice_is_free_;
};

} // namespace model

#endif
