/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * counted_backend: a backend that counts the calls for streams and events, which allocators make to pass
 * memory from stream to stream.
 *
 * It is another table of operations over the same state, so both share memory, streams and events. A table
 * has no place for a count: there is one such backend at a time in the process.
 *
 * Threads: those of the backend; counts are exact when one thread calls.
 */
#ifndef TN_COUNTED_BACKEND_H
#define TN_COUNTED_BACKEND_H

#include <stdint.h>

#include "tarn/backend.h"

struct tn_stream_calls {
    uint64_t record_count; /* of an event */
    uint64_t query_count;  /* whether one has completed */
    uint64_t wait_count;   /* that a stream was told to wait for one */
    uint64_t block_count;  /* that the host waited, for an event, a stream or the device */
};

/* Starts again at 0. The backend must outlive the counted one and its users. */
tarn_backend tn_counted_backend_begin(const tarn_backend *backend);

struct tn_stream_calls tn_counted_backend_calls(void);

#endif
