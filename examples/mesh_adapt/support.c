/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* support: failing with a message, host memory, the clock. */
#include "support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tarn-mesh-adapt: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

void *host_alloc(size_t size_bytes)
{
    void *memory = malloc(size_bytes > 0 ? size_bytes : 1);
    if (!memory) fail("the host has no %zu bytes left", size_bytes);
    return memory;
}

void *host_grow(void *items, int32_t *capacity, int32_t needed, size_t item_bytes)
{
    if (needed <= *capacity) return items;
    int32_t target = *capacity <= INT32_MAX / 2 ? 2 * *capacity : INT32_MAX;
    if (target < needed) target = needed;
    void *larger = realloc(items, (size_t)target * item_bytes);
    if (!larger) fail("the host has no %zu bytes left", (size_t)target * item_bytes);
    *capacity = target;
    return larger;
}

int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_cost_ns(void)
{
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < 1000; i++) {
        int64_t begin_ns = clock_ns();
        int64_t passed_ns = clock_ns() - begin_ns;
        if (passed_ns < least_ns) least_ns = passed_ns;
    }
    return least_ns;
}
