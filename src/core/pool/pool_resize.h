/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_resize: makes a live allocation larger or smaller where it lies.
 *
 *     larger     │ live ────── │ free ────────── │          smaller    │ live ───────────────── │
 *                │ live ──────────────── │ free ─│                     │ live ── │ freed on the stream
 *
 * Threads: any, with no lock held.
 * Cost: that of a free. Only where the chunks behind the allocation may be another arena's, the arenas are
 * gathered, at O(regions of the arenas). The only vendor calls introduce a stream that is new to the pool.
 */
#ifndef TN_POOL_RESIZE_H
#define TN_POOL_RESIZE_H

#include "../serve/pool_struct.h"

/* Resizes the allocation that starts at the address. Errors: NOT_LIVE, without a message; NOT_IN_PLACE,
 * SIZE_TOO_LARGE, OUT_OF_HOST_MEMORY; and for a stream that is new to the pool INVALID_ARGUMENT and
 * VENDOR_ERROR. */
tarn_status tn_pool_resize(struct tarn_pool *pool, void *address, size_t size_bytes,
                           tarn_stream stream);

#endif
