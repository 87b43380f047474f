/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * log: messages for the program or its user, one line each.
 *
 *     if (tn_log_is_on(TARN_LOG_LEVEL_INFO)) tn_log(TARN_LOG_LEVEL_INFO, "grew by %zu bytes", size_bytes);
 *
 * A message is kept in the thread that it arises in, and delivered at once, or, while the thread holds locks of the
 * library, when it has released the last of them. Whoever takes a lock under which messages arise, or that the program's
 * function could want, calls tn_log_hold before and tn_log_release after. The library's other locks are never held
 * where a message arises.
 *
 * Around a delivery the last error, the noted call site and errno of the thread are kept: the function may call the
 * library.
 *
 * Threads: any. One lock, around the copy of two words; a fork waits for it.
 * Cost: tn_log_is_on is a load. A message costs microseconds; it needs no host memory. A thread keeps so many bytes of
 * messages, and drops further ones and counts them.
 */
#ifndef TN_LOG_H
#define TN_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/log.h"

#include "compiler.h"

/* Longer messages are cut. */
#define TN_LOG_MESSAGE_BYTES 512
#define TN_LOG_QUEUE_BYTES   2048

extern _Atomic int tn_log_level_now; /* a tarn_log_level */

static inline bool tn_log_is_on(tarn_log_level level)
{
    return TN_UNLIKELY(atomic_load_explicit(&tn_log_level_now, memory_order_relaxed) >= (int)level);
}

/* Tells a message. Bytes that are in no printable character become \xNN. Inside a function that takes messages, does
 * nothing. */
TN_COLD TN_PRINTF(2, 3) void tn_log(tarn_log_level level, const char *format, ...);

/* Between these calls, which may nest, messages of the calling thread wait. */
void tn_log_hold(void);
void tn_log_release(void);

/* Sets the level as TARN_LOG says, unless the program has called tarn_set_log. False: the host has no memory to watch
 * for forks. */
bool tn_log_set_by_environment(tarn_log_level level);

/* The time in nanoseconds, for messages of the level. 0: the level is off. */
uint64_t tn_log_clock_ns(tarn_log_level level);

/* A number of bytes for people: "1000 bytes", "64 MiB", "1.5 GiB". */
struct tn_bytes_text {
    char text[32];
};
struct tn_bytes_text tn_bytes_text(size_t bytes);

#endif
