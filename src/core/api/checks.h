/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * checks: the arguments of public functions. Each function returns the status for the public function to
 * return, and sets the error message.
 *
 * Threads: any. Cost: O(1).
 */
#ifndef TN_CHECKS_H
#define TN_CHECKS_H

#include "../../base/struct_size.h"
#include "../pool/pool.h"

/* Fails a call on a pool that is not open: INVALID_POOL or FORKED. */
TN_COLD tarn_status tn_fail_for_pool(const tarn_pool *pool);

/* tn_fail_for_pool for a call that gives memory back. On a pool of the parent process it succeeds and does
 * nothing. */
TN_COLD tarn_status tn_return_to_pool(const tarn_pool *pool);

/* Fails with INVALID_ARGUMENT: the argument of this name is NULL. */
TN_COLD tarn_status tn_fail_for_null(const char *argument);

/* Copies options of any version so far, or the defaults if `given` is NULL. Fields that an older version lacks have
 * their defaults. Errors: INVALID_OPTIONS: the size is of no version. */
tarn_status tn_complete_options(const tarn_pool_options *given, tarn_pool_options *options_out);

/* INVALID_OPTIONS unless each option and their combination is valid on any device; pool_options.h checks the
 * rest. */
tarn_status tn_check_options(const tarn_pool_options *options);

/* INVALID_ARGUMENT unless memory of the caller's holds at least one whole chunk. */
tarn_status tn_check_memory(const void *address, size_t size_bytes, size_t chunk_bytes);

#endif
