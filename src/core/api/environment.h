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

/* Starts from the defaults and reads all the variables that docs/semantics.md lists.
 * INVALID_ENVIRONMENT names the one that does not parse. */
tarn_status tn_environment_read(struct tn_environment *environment_out);

/* Reads TARN_DISABLE, which concerns every pool. Where it is not "1" the option stays what it was. */
tarn_status tn_environment_read_disable(bool *passes_through);

#endif
