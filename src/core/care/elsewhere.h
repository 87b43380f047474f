/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * elsewhere: frees, resizes, uses and looks up an address that may belong to a fallback of the pool. Asks the pool, then
 * its fallbacks in turn. If none knows the address, reports why.
 *
 * Threads: any, with no lock held. Cost: that of the pool that knows the address; to report why, a look into
 * all pools.
 */
#ifndef TN_ELSEWHERE_H
#define TN_ELSEWHERE_H

#include "../pool/pool.h"

/* Tells the debug mode of the pool and of its fallbacks where the program called. */
void tn_note_caller(const struct tarn_pool *pool, const void *caller);

/* Frees an allocation of the pool or of a fallback. Requires an address that is not NULL. told_bytes: the
 * size that the free tells, or NULL: it tells none. Errors: those of tarn_pool_free_sized_on. */
tarn_status tn_free_anywhere(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                             const tarn_stream *streams, size_t stream_count);

/* The rest of tn_free_anywhere, after the pool itself has answered NOT_LIVE. */
tarn_status tn_free_elsewhere(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                              const tarn_stream *streams, size_t stream_count);

/* As tarn_pool_resize_on. Requires an address that is not NULL. */
tarn_status tn_resize_anywhere(struct tarn_pool *pool, void *address, size_t size_bytes,
                               tarn_stream stream);

/* Copies the label of the live allocation that starts at an address of the pool or of a fallback, or "". */
void tn_find_label_anywhere(struct tarn_pool *pool, const void *address,
                            char label_out[TN_LABEL_BYTES]);

/* As tarn_pool_use_on. Requires an address that is not NULL. */
tarn_status tn_use_anywhere(struct tarn_pool *pool, const void *address, tarn_stream stream);

/* As tarn_pool_usable_size. Requires an address that is not NULL. */
tarn_status tn_find_usable_bytes_anywhere(struct tarn_pool *pool, const void *address,
                                          size_t *usable_bytes_out);

/* Report that an address is in no pool, and that it is in another pool. */
tarn_status tn_fail_for_foreign(const void *address);
tarn_status tn_fail_for_owner(const void *address, const struct tarn_pool *owner,
                              const struct tarn_pool *pool);

#endif
