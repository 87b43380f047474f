/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * environment: the options of the process-wide pool from environment variables.
 *
 * Threads: any, while no other thread changes the environment. Cost: O(1).
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

/* Reads all variables that docs/semantics.md lists; a variable that is not set keeps its default. Errors:
 * INVALID_ENVIRONMENT, whose message names the variable. */
tarn_status tn_environment_read(struct tn_environment *environment_out);

/* Writes the names of those variables that are set, with commas; "" if none is. A text without room is cut. */
void tn_environment_name_set(char *text, size_t text_bytes);

/* Reads TARN_DISABLE, which concerns every pool. Sets *passes_through if it is "1", else leaves it unchanged.
 * Errors: INVALID_ENVIRONMENT. */
tarn_status tn_environment_read_disable(bool *passes_through);

#endif
