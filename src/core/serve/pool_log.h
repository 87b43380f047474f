/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_log: messages about one pool.
 *
 *     if (tn_log_is_on(TARN_LOG_LEVEL_INFO)) tn_pool_log(pool, TARN_LOG_LEVEL_INFO, "gave %s back", text);
 *
 * Threads: any. Requires no lock; under growth_lock the message waits until that is released.
 */
#ifndef TN_POOL_LOG_H
#define TN_POOL_LOG_H

#include "pool_struct.h"

/* The pool for a reader: "pool 3", with its name in quotes behind if it has one; or "process-wide pool of device 1, pinned". */
struct tn_pool_title {
    char text[TARN_LABEL_BYTES_MAX + 32];
};

struct tn_pool_title tn_pool_title(const struct tarn_pool *pool);

/* Tells a message that begins with the pool's title. */
TN_COLD TN_PRINTF(3, 4) void tn_pool_log(const struct tarn_pool *pool, tarn_log_level level,
                                         const char *format, ...);

#endif
