/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * environment: options of a pool from environment variables, and variables for all pools.
 *
 * Threads: any, while no other thread changes the environment. Cost: O(1).
 */
#ifndef TN_ENVIRONMENT_H
#define TN_ENVIRONMENT_H

#include "../core/serve/pool_struct.h"

struct tn_environment {
    tarn_pool_options options;
    struct tn_location location;
};

/* Reads all variables that docs/semantics.md lists. A variable that is not set changes nothing. Errors:
 * INVALID_ENVIRONMENT, whose message names the variable; then nothing is written. */
tarn_status tn_environment_read(struct tn_environment *given);

/* Writes the names of those variables that are set, with commas; "" if none is. A text without room is cut. */
void tn_environment_name_set(char *text, size_t text_bytes);

/* Reads TARN_DISABLE, which concerns every pool. Sets *passes_through if it is "1", else leaves it unchanged.
 * Errors: INVALID_ENVIRONMENT. */
tarn_status tn_environment_read_disable(bool *passes_through);

/* Reads the variables about what the process tells of all its pools, and does what they say; and names misspelt variables
 * on standard error, once. Errors:
 * INVALID_ENVIRONMENT, OUT_OF_HOST_MEMORY. */
tarn_status tn_environment_read_reports(void);

#endif
