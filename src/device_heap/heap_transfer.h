/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_transfer: copies between the host and a heap's memory, in the order of a stream.
 *
 * A device may read or write the host's end of a copy long after the call. So host memory of a copy stays
 * allocated until tn_heap_transfer_settle has seen the copy complete. An event follows the writes, so that
 * the host waits only when it needs the memory. If the backend has no events, or its event fails, the host
 * waits for the stream at once.
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
    bool is_recorded;  /* the event follows the last copy */
    void *buffer;      /* the last read, or NULL */
};

/* NOT_SUPPORTED: the backend lacks a needed operation. Also fails with the backend's event_create. */
tarn_status tn_heap_transfer_init(struct tn_heap_transfer *transfer, const tarn_backend *backend);

/* Requires: settled. */
void tn_heap_transfer_fini(struct tn_heap_transfer *transfer);

tarn_status tn_heap_transfer_fill(struct tn_heap_transfer *transfer, void *address, uint8_t value,
                                  size_t size_bytes, tarn_stream stream);

tarn_status tn_heap_transfer_write(struct tn_heap_transfer *transfer, void *address,
                                   const void *source, size_t size_bytes, tarn_stream stream);

/* Must follow the last of several writes on one stream. Records an event, which tells later when they have
 * ended. If it cannot, it waits for the stream. If that fails, too, the writes count as not ended. */
void tn_heap_transfer_end_writes(struct tn_heap_transfer *transfer, tarn_stream stream);

/* Settles the transfer, then reads into a buffer and waits for it. The caller may change the buffer and write
 * from it; it stays until the next tn_heap_transfer_settle. */
tarn_status tn_heap_transfer_read(struct tn_heap_transfer *transfer, const void *address,
                                  size_t size_bytes, tarn_stream stream, void **buffer_out);

/* Waits until all copies are complete, then frees the buffer. Requires: the stream comes after all copies. */
tarn_status tn_heap_transfer_settle(struct tn_heap_transfer *transfer, tarn_stream stream);

#endif
