/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * capture: memory of streams that are being captured into a graph.
 *
 * The graph runs later, again and again, with the addresses that it was captured with. So what is
 * allocated on the stream meanwhile is the capture's own: it has a number among the pool's streams, and
 * free regions that wait for that number serve nobody else until the graph is gone.
 *
 *     stream s     known as 1 │ being captured: 4           │ known as 1 again
 *     number 4                │ capturing ─── alloc, free ── │ captured ─────── release: nobody's
 *                           begin                         end
 *
 * Threads: all of it under growth_lock, and `lock` for a change.
 * Cost: release O(regions), the others what introducing a stream costs.
 */
#ifndef TN_CAPTURE_H
#define TN_CAPTURE_H

#include "../serve/pool_struct.h"

/* Begins a capture, or if *capture is not 0 one more of the same. */
tarn_status tn_capture_begin(struct tarn_pool *pool, tarn_stream stream, tarn_capture *capture);
tarn_status tn_capture_end(struct tarn_pool *pool, tarn_capture capture);
tarn_status tn_capture_release(struct tarn_pool *pool, tarn_capture capture,
                               const tarn_stream *streams, size_t stream_count);

#endif
