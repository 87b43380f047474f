/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * elsewhere: frees and resizes of an address that a pool may not know: its fallbacks are asked in turn, and where none
 * knows the address, the last pool that was asked says why.
 *
 * Threads: any, without a lock. Cost: that of the pool that knows the address; to say why, a look into all pools.
 */
#ifndef TN_ELSEWHERE_H
#define TN_ELSEWHERE_H

#include "../pool/pool.h"

/* Debug mode, of the pool and of those that it falls back to, learns where the program called from. */
void tn_note_caller(const struct tarn_pool *pool, const void *caller);

/* Frees an allocation of the pool, or of a fallback. The address is not NULL. told_bytes: the
 * size that the free tells, or NULL. Errors:
 * those of tarn_pool_free_sized_on. */
tarn_status tn_free_anywhere(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                             const tarn_stream *streams, size_t stream_count);

/* The same after the pool itself has answered NOT_LIVE. */
tarn_status tn_free_elsewhere(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                              const tarn_stream *streams, size_t stream_count);

/* As tarn_pool_resize_on, of an address that is not NULL. */
tarn_status tn_resize_anywhere(struct tarn_pool *pool, void *address, size_t size_bytes,
                               tarn_stream stream);

/* Says that an address is in no pool, and that it is in another one. */
tarn_status tn_fail_for_foreign(const void *address);
tarn_status tn_fail_for_owner(const void *address, const struct tarn_pool *owner,
                              const struct tarn_pool *pool);

#endif
