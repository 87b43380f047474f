/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * checks: arguments of public functions. Each function says what is wrong, and gives back the status to return.
 */
#ifndef TN_CHECKS_H
#define TN_CHECKS_H

#include "../pool/pool.h"

/* The pool is not open. */
TN_COLD tarn_status tn_fail_for_pool(const tarn_pool *pool);

/* The same for a call that gives something back: in a forked child there is nothing to give back, and it succeeds. */
TN_COLD tarn_status tn_return_to_pool(const tarn_pool *pool);

TN_COLD tarn_status tn_fail_for_null(const char *argument);

/* An output struct has the size that this library knows. */
tarn_status tn_check_struct_bytes(const char *name, size_t struct_bytes, size_t expected);

tarn_status tn_check_options(const tarn_pool_options *options);

/* Memory for a pool over the caller's own: at least one whole chunk. */
tarn_status tn_check_memory(const void *address, size_t size_bytes, size_t chunk_bytes);

#endif
