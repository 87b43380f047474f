/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* held_objects: their addresses alone; the model never reads or writes objects. */
#include "held_objects.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>

void held_objects::expect_apart() const
{
    std::vector<std::pair<uint64_t, uint64_t>> ranges; /* begin, end */
    for (size_t i = 0; i < addresses.size(); i++) {
        uint64_t begin = (uint64_t)(uintptr_t)addresses[i];
        if (begin != 0) ranges.push_back({ begin, begin + size_bytes[i] });
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 0; i < ranges.size(); i++) {
        bool is_apart = i == 0 || ranges[i - 1].second <= ranges[i].first;
        if (is_apart && ranges[i].first % 16 == 0) continue;
        fprintf(stderr, "device_heap_model: the object at %#llx lies in another, or askew\n",
                (unsigned long long)ranges[i].first);
        exit(1);
    }
}

uint64_t held_objects::count() const
{
    return addresses.size() -
           (uint64_t)std::count(addresses.begin(), addresses.end(), (void *)nullptr);
}

uint64_t held_objects::bytes() const
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < addresses.size(); i++)
        if (addresses[i] != nullptr) bytes += size_bytes[i];
    return bytes;
}

double held_objects::range() const
{
    uint64_t first = UINT64_MAX, end = 0;
    for (size_t i = 0; i < addresses.size(); i++) {
        uint64_t address = (uint64_t)(uintptr_t)addresses[i];
        if (address == 0) continue;
        first = std::min(first, address);
        end = std::max(end, address + size_bytes[i]);
    }
    return (double)(end - first) / (double)bytes();
}
