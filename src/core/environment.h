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
    unsigned limit_percent; /* of the device's memory; 0: options.limit_bytes says it in bytes */
};

/* Starts from the defaults and reads TARN_INITIAL, TARN_LIMIT, TARN_GROWTH, TARN_CHUNK and
 * TARN_DEVICE. INVALID_ENVIRONMENT names the one that does not parse. */
tarn_status tn_environment_read(struct tn_environment *environment_out);

#endif
