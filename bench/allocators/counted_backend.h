/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * counted_backend: a backend whose calls for streams are counted, for what allocators ask of the vendor so
 * that one stream's memory becomes another's.
 *
 * It is another table of operations over the same state, so memory, streams and events of both are one.
 * Since a table has no place for a count, there is one such backend at a time in the process.
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

/* Counts from 0, until the next call. The backend outlives it, and whoever uses it. */
tarn_backend tn_counted_backend_begin(const tarn_backend *backend);

struct tn_stream_calls tn_counted_backend_calls(void);

#endif
