/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * environment: options of the process-wide pool from environment variables.
 *
 * Threads: reads the environment, so no other thread may be changing it. Cost: O(1).
 */
#ifndef TN_ENVIRONMENT_H
#define TN_ENVIRONMENT_H

#include "tarn/tarn.h"

struct tn_environment {
    tarn_pool_options options; /* without a backend */
    int device;
    tarn_memory_kind kind;
    unsigned rank_count; /* ranks that share the device, this one included */
};

/* Starts from the defaults and reads TARN_INITIAL, TARN_LIMIT, TARN_GROWTH, TARN_RELEASE,
 * TARN_VANISH, TARN_CHUNK, TARN_DEVICE, TARN_KIND, TARN_RANKS, TARN_DEBUG and
 * TARN_QUARANTINE. INVALID_ENVIRONMENT names the
 * one that does not parse. */
tarn_status tn_environment_read(struct tn_environment *environment_out);

#endif
