/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_transfer: what goes between the host and a heap's memory, in the order of a stream.
 *
 * A device may read the host's end of a copy, or write it, long after the call. So host memory that was handed to
 * one stays until tn_heap_transfer_settle says that nothing is under way any more. Writes are followed by an event,
 * so that nobody has to wait for them before the memory is to go. A backend without events, or whose events fail, is
 * waited for.
 *
 * Errors are reported by tn_fail, with the vendor's code and name.
 * Threads: one at a time.
 */
#ifndef TN_HEAP_TRANSFER_H
#define TN_HEAP_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

#include "tarn/backend.h"

struct tn_heap_transfer {
    tarn_backend backend;
    bool has_event;
    tarn_event event;
    bool is_under_way; /* a copy may still use host memory */
    bool is_recorded;  /* and when the event has completed it does not */
    void *buffer;      /* what was read last; or NULL */
};

/* NOT_SUPPORTED where the backend lacks what is needed; the event fails. */
tarn_status tn_heap_transfer_init(struct tn_heap_transfer *transfer, const tarn_backend *backend);

/* When it is settled. */
void tn_heap_transfer_fini(struct tn_heap_transfer *transfer);

tarn_status tn_heap_transfer_fill(struct tn_heap_transfer *transfer, void *address, uint8_t value,
                                  size_t size_bytes, tarn_stream stream);

tarn_status tn_heap_transfer_write(struct tn_heap_transfer *transfer, void *address,
                                   const void *source, size_t size_bytes, tarn_stream stream);

/* Comes after the last of several writes on one stream. Waits for the stream where an event does not do; where that
 * fails, too, the writes stay under way. */
void tn_heap_transfer_end_writes(struct tn_heap_transfer *transfer, tarn_stream stream);

/* Reads into a buffer, and waits for it. The buffer may be changed and written from; it stays until the next
 * tn_heap_transfer_settle. The transfer is settled before. */
tarn_status tn_heap_transfer_read(struct tn_heap_transfer *transfer, const void *address,
                                  size_t size_bytes, tarn_stream stream, void **buffer_out);

/* Waits until nothing is under way, on a stream that comes after all that was. The buffer is gone then. */
tarn_status tn_heap_transfer_settle(struct tn_heap_transfer *transfer, tarn_stream stream);

#endif
