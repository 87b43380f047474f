/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sanitizer: which bytes the program may touch, for the address sanitizer. In other builds these functions
 * do nothing, except that `fill` and `move` are memset and memmove.
 *
 * A late use is work whose memory is not known, and which may run after the memory was freed in stream order. While one
 * is under way, nothing is forbidden anew.
 *
 * Threads: any.
 */
#ifndef TN_SANITIZER_H
#define TN_SANITIZER_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

#if TN_HAS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <stdatomic.h>

extern atomic_size_t tn_sanitizer_late_use_count;

static inline void tn_sanitizer_begin_late_use(void)
{
    atomic_fetch_add(&tn_sanitizer_late_use_count, 1);
}

static inline void tn_sanitizer_end_late_use(void)
{
    atomic_fetch_sub(&tn_sanitizer_late_use_count, 1);
}

/* For a forked child, where they do not end. */
static inline void tn_sanitizer_forget_late_uses(void)
{
    atomic_store(&tn_sanitizer_late_use_count, 0);
}

/* The sanitizer reports each later access to these bytes. */
static inline void tn_sanitizer_forbid(const void *address, size_t size_bytes)
{
    if (atomic_load(&tn_sanitizer_late_use_count) > 0) return;
    __asan_poison_memory_region(address, size_bytes);
}

static inline void tn_sanitizer_allow(const void *address, size_t size_bytes)
{
    __asan_unpoison_memory_region(address, size_bytes);
}

/* Reports the first forbidden byte, if there is one. */
static inline void tn_sanitizer_claim(const void *address, size_t size_bytes)
{
    const volatile char *forbidden = __asan_region_is_poisoned((void *)address, size_bytes);
    if (forbidden) (void)*forbidden;
}

/* fill and move accept forbidden bytes. Without volatile the compiler would call memset and memmove, which the sanitizer
 * checks. Words, of any alignment, are several times as fast as bytes. */
typedef uint64_t tn_unchecked_word __attribute__((may_alias, aligned(1)));

TN_UNCHECKED static inline void tn_sanitizer_fill(void *address, unsigned char value,
                                                  size_t size_bytes)
{
    volatile unsigned char *to = address;
    const tn_unchecked_word values = value * (UINT64_MAX / UCHAR_MAX);
    size_t i = 0;
    for (; size_bytes - i >= sizeof values; i += sizeof values)
        *(volatile tn_unchecked_word *)(to + i) = values;
    for (; i < size_bytes; i++)
        to[i] = value;
}

/* Each word is read before it may be overwritten, so the two may overlap. */
TN_UNCHECKED static inline void tn_sanitizer_move(void *to, const void *from, size_t size_bytes)
{
    volatile unsigned char *destination = to;
    const volatile unsigned char *source = from;
    const size_t word = sizeof(tn_unchecked_word);
    size_t i = 0;
    if ((const volatile unsigned char *)destination <= source) {
        for (; size_bytes - i >= word; i += word) {
            *(volatile tn_unchecked_word *)(destination + i) =
                *(const volatile tn_unchecked_word *)(source + i);
        }
        for (; i < size_bytes; i++)
            destination[i] = source[i];
    } else {
        for (i = size_bytes; i >= word; i -= word) {
            *(volatile tn_unchecked_word *)(destination + i - word) =
                *(const volatile tn_unchecked_word *)(source + i - word);
        }
        while (i-- > 0)
            destination[i] = source[i];
    }
}

#else
#include <string.h>

static inline void tn_sanitizer_begin_late_use(void)
{
}

static inline void tn_sanitizer_end_late_use(void)
{
}

static inline void tn_sanitizer_forget_late_uses(void)
{
}

static inline void tn_sanitizer_forbid(const void *address, size_t size_bytes)
{
    (void)address, (void)size_bytes;
}

static inline void tn_sanitizer_allow(const void *address, size_t size_bytes)
{
    (void)address, (void)size_bytes;
}

static inline void tn_sanitizer_claim(const void *address, size_t size_bytes)
{
    (void)address, (void)size_bytes;
}

static inline void tn_sanitizer_fill(void *address, unsigned char value, size_t size_bytes)
{
    memset(address, value, size_bytes);
}

static inline void tn_sanitizer_move(void *to, const void *from, size_t size_bytes)
{
    memmove(to, from, size_bytes);
}
#endif

#endif
