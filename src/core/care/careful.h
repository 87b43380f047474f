/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * careful: allocation and free that somebody is told of: debug mode learns who calls, and recordings what is done. Also
 * the calls that programs make seldom: zero bytes, NULL, frees that tell their size, resizes.
 *
 * `caller` is where the public function returns to.
 *
 * Threads: any, without a lock. Errors: those of the public functions.
 */
#ifndef TN_CAREFUL_H
#define TN_CAREFUL_H

#include "../pool/pool.h"

/* Whether each call of the pool must come here. */
static inline bool tn_pool_needs_care(const struct tarn_pool *pool)
{
    return atomic_load_explicit(&pool->needs_care, memory_order_relaxed);
}

tarn_status tn_careful_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                             tarn_stream stream, const void *caller, void **address_out);

/* The address may be NULL. told_bytes: the size that the free tells, or NULL. */
tarn_status tn_careful_free(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                            const tarn_stream *streams, size_t stream_count, const void *caller);

/* The address is not NULL. */
tarn_status tn_careful_resize(struct tarn_pool *pool, void *address, size_t size_bytes,
                              tarn_stream stream, const void *caller);

#endif
