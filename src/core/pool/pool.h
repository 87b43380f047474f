/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool: what the user holds: a list of static pools on one device, with locking, growth and
 * statistics.
 *
 * The callers have checked the arguments. Failures are reported by tn_fail.
 *
 * Threads: any; pool_struct.h says what the two locks are for.
 * Cost: alloc and free O(log n) in free regions; what a vendor's call costs where the pool grows.
 */
#ifndef TN_POOL_H
#define TN_POOL_H

#include "../serve/pool_struct.h"

/* Fills in a handle from the registry. On success the pool owns the backend if so told. Errors:
 * INVALID_OPTIONS, NOT_SUPPORTED, OUT_OF_HOST_MEMORY, and what the backend answers. */
tarn_status tn_pool_init(struct tarn_pool *pool, const tarn_pool_options *options,
                         const tarn_backend *backend, bool owns_backend);

/* Gives everything back, whatever is live. */
void tn_pool_fini(struct tarn_pool *pool);

/* Gives everything up that is not the vendor's, and leaves that. */
void tn_pool_abandon(struct tarn_pool *pool);

/* What was freed on the stream no longer needs its handle. */
tarn_status tn_pool_retire_stream(struct tarn_pool *pool, tarn_stream stream);

/* Counts an allocation that came to nothing, which tn_pool_alloc leaves to its caller. */
void tn_pool_count_failure(struct tarn_pool *pool);

/* Counts an allocation of zero bytes, resp. a free of NULL, which need nothing else. */
void tn_pool_count_empty_alloc(struct tarn_pool *pool);
void tn_pool_count_empty_free(struct tarn_pool *pool);

/* What is live at this moment. */
tarn_leaks tn_pool_leaks(struct tarn_pool *pool);

void tn_pool_stats(struct tarn_pool *pool, tarn_stats *stats_out);

/* NOT_SUPPORTED, or what else the backend answers, in words. */
tarn_status tn_pool_available(struct tarn_pool *pool, size_t *available_bytes_out);

/* The statistics for a caller that holds `lock`. */
void tn_pool_stats_locked(const struct tarn_pool *pool, tarn_stats *stats_out);

enum tn_find_result {
    TN_FIND_RESULT_FOUND,
    TN_FIND_RESULT_NOT_LIVE, /* the address is among the pool's chunks */
    TN_FIND_RESULT_FOREIGN   /* it is not */
};
enum tn_find_result tn_pool_find(struct tarn_pool *pool, const void *address,
                                 tarn_allocation *found_out);

/* OK, or CORRUPT with the first fault found in the last error. */
tarn_status tn_pool_check(struct tarn_pool *pool);

#endif
