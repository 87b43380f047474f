/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_resize: a live allocation becomes larger or smaller where it lies.
 *
 *     larger     │ live ────── │ free ────────── │          smaller    │ live ───────────────── │
 *                │ live ──────────────── │ free ─│                     │ live ── │ freed on the stream
 *
 * Threads: any, without a lock. What has to be introduced goes the long way, as with a free.
 * Cost: O(log n) in free regions, and never a call of the vendor's, but to introduce a stream.
 */
#ifndef TN_POOL_RESIZE_H
#define TN_POOL_RESIZE_H

#include "../serve/pool_struct.h"

/* NOT_LIVE, of which the caller has more to say. It says NOT_IN_PLACE, SIZE_TOO_LARGE, OUT_OF_HOST_MEMORY, and what
 * is wrong with the stream. */
tarn_status tn_pool_resize(struct tarn_pool *pool, void *address, size_t size_bytes,
                           tarn_stream stream);

#endif
