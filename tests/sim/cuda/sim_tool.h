/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_tool: a tool in place of compute-sanitizer. NVTX loads it, and it remembers which memory is a heap, and
 * which parts of the heap are regions.
 *
 * Tests find the object `sim_tool` by dlsym in the library that NVTX_INJECTION64_PATH names; it is not there when
 * the toolkit lacks the header of NVTX's extension.
 */
#ifndef SIM_TOOL_H
#define SIM_TOOL_H

#include <stdbool.h>
#include <stddef.h>

struct sim_tool {
    size_t (*heap_count)(void);
    size_t (*region_count)(void);
    /* Whether a kernel may touch all of it: it is in no heap, or in one region. */
    bool (*may_touch)(const void *address, size_t size_bytes);
    /* The first call that made no sense, or NULL. */
    const char *(*first_fault)(void);
    /* Forgets everything. */
    void (*reset)(void);
};

#endif
