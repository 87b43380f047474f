/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* system_memory: the answers of sysconf, in bytes. */
#include "system_memory.h"

#include <stdint.h>
#include <unistd.h>

#include "../base/arith.h"

size_t tn_system_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Asks the system for a number of pages. Returns it in bytes. */
static size_t system_bytes(int name)
{
    long page_count = sysconf(name);
    size_t bytes;
    if (page_count < 0 || !tn_multiply_fits((size_t)page_count, tn_system_page_bytes(), &bytes))
        return SIZE_MAX;
    return bytes;
}

tarn_memory_info tn_system_memory_info(void)
{
    size_t total_bytes = system_bytes(_SC_PHYS_PAGES);
    size_t left_bytes = system_bytes(_SC_AVPHYS_PAGES);
    return (tarn_memory_info){ total_bytes, tn_min(left_bytes, total_bytes) };
}

static size_t sum_or_max(size_t a, size_t b)
{
    size_t sum;
    return tn_add_fits(a, b, &sum) ? sum : SIZE_MAX;
}

tarn_memory_info tn_system_memory_with_device(tarn_memory_info device)
{
    tarn_memory_info system = tn_system_memory_info();
    return (tarn_memory_info){
        .total_bytes = sum_or_max(device.total_bytes, system.total_bytes),
        .free_bytes = sum_or_max(device.free_bytes, system.free_bytes),
    };
}
