/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* support: failing with a message, host memory, the clock. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Prints "tarn-mesh-adapt: " and the message on stderr and ends the program with a failure. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns host memory, never NULL, even for zero bytes: without memory the program ends. Free it with free().
 */
void *host_alloc(size_t size_bytes);

/* Returns `items` with room for `needed` items of item_bytes, contents kept. *capacity is the current room,
 * and doubles, so that n insertions cost O(n). */
void *host_grow(void *items, int32_t *capacity, int32_t needed, size_t item_bytes);

/* Nanoseconds of a clock that never goes back. */
int64_t clock_ns(void);

/* The time that one reading of the clock adds to a time between two readings: the least of many. */
int64_t clock_cost_ns(void);

#endif
