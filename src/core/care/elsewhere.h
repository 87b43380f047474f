/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * elsewhere: what is done to an address by a pool that may not know it. What is not its own may be its fallback's;
 * and where nobody knows it, the last that was asked says why.
 *
 * Threads: any, without a lock. Cost: as of the pool that knows it; to say why, a look into all pools.
 */
#ifndef TN_ELSEWHERE_H
#define TN_ELSEWHERE_H

#include "../pool/pool.h"

/* Debug mode may be that of a pool which the program does not name. */
void tn_note_caller_of_fallbacks(const struct tarn_pool *pool, const void *caller);

/* Frees what the pool does not know. */
tarn_status tn_free_elsewhere(struct tarn_pool *pool, void *address, const tarn_stream *streams,
                              size_t stream_count);

/* As tarn_pool_free_sized_on and tarn_pool_resize_on, of an address that is not NULL. */
tarn_status tn_free_sized_anywhere(struct tarn_pool *pool, void *address, size_t size_bytes,
                                   tarn_stream stream);
tarn_status tn_resize_anywhere(struct tarn_pool *pool, void *address, size_t size_bytes,
                               tarn_stream stream);

/* Says that an address is in no pool, and that it is in another one. */
tarn_status tn_fail_for_foreign(const void *address);
tarn_status tn_fail_for_owner(const void *address, const struct tarn_pool *owner,
                              const struct tarn_pool *pool);

#endif
