/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * careful: allocations and frees that debug mode or a recording must hear of: debug mode notes the call site,
 * a recording notes the call. So do frees in a pool of which some allocation is used on further streams. Rare calls
 * also come here: zero bytes, NULL, frees after several streams, resizes.
 *
 * `caller` is the return address of the public function.
 *
 * Threads: any, with no lock held. Errors: those of the public functions.
 */
#ifndef TN_CAREFUL_H
#define TN_CAREFUL_H

#include "../pool/pool.h"

/* Whether each call of the pool must come here. */
static inline bool tn_pool_needs_care(const struct tarn_pool *pool)
{
    return atomic_load_explicit(&pool->needs_care, memory_order_relaxed) != 0;
}

/* Zero bytes give NULL, or an address if the pool has zero_has_address. A recording has the zero. */
tarn_status tn_careful_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                             tarn_stream stream, const void *caller, void **address_out);

/* The address may be NULL. told_bytes: the size that the free tells, or NULL: it tells none. */
tarn_status tn_careful_free(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                            const tarn_stream *streams, size_t stream_count, const void *caller);

/* Requires an address that is not NULL. */
tarn_status tn_careful_resize(struct tarn_pool *pool, void *address, size_t size_bytes,
                              tarn_stream stream, const void *caller);

#endif
