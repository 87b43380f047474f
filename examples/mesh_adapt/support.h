/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* support: what every file here needs: giving up with a sentence, host memory, the clock. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Prints "tarn-mesh-adapt: " and the sentence on stderr and ends the program with a failure. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Host memory, never NULL, also for zero bytes: the program ends when there is none left. Give it
 * back with free(). */
void *host_alloc(size_t size_bytes);

/* `items` with room for `needed` of item_bytes each, its contents kept. *capacity is the room that
 * there is, and doubles, so that n insertions cost O(n). */
void *host_grow(void *items, int32_t *capacity, int32_t needed, size_t item_bytes);

/* Nanoseconds of a clock that never goes back. */
int64_t clock_ns(void);

#endif
