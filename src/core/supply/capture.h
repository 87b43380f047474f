/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * capture: memory of streams that are being captured into a graph.
 *
 * The graph runs later, again and again, with the addresses that it was captured with. So memory that is
 * allocated on the stream during the capture belongs to the capture. The capture has a number among the
 * pool's streams; free regions that wait for this number serve no other stream until the graph is gone.
 *
 *     stream s     known as 1 │ being captured: 4            │ known as 1 again
 *     number 4                │ capturing ─── alloc, free ── │ captured ─────── release: unused
 *                           begin                          end
 *
 * Requires: growth_lock. The functions take the pool's lock themselves. They report failures.
 * Cost: release O(regions), the others that of introducing a stream.
 */
#ifndef TN_CAPTURE_H
#define TN_CAPTURE_H

#include "../serve/pool_struct.h"

/* Begins a new capture and writes its number to *capture. If *capture is not 0, the stream joins that
 * capture. Errors: NOT_SUPPORTED (a pool with identifies_streams), INVALID_ARGUMENT, OUT_OF_HOST_MEMORY. */
tarn_status tn_capture_begin(struct tarn_pool *pool, tarn_stream stream, tarn_capture *capture);

/* Ends the capture on all its streams. Error: INVALID_ARGUMENT. */
tarn_status tn_capture_end(struct tarn_pool *pool, tarn_capture capture);

/* The graph will not be launched again: memory that it used waits for these streams, which may run it still. Errors:
 * INVALID_ARGUMENT, and those of introducing a stream. */
tarn_status tn_capture_release(struct tarn_pool *pool, tarn_capture capture,
                               const tarn_stream *streams, size_t stream_count);

#endif
