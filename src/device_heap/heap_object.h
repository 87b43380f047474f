/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_object: the host's record of a device heap, and the preparation of the device's memory.
 *
 * heap_api has checked the arguments. Errors are reported by tn_fail.
 * Threads: one at a time.
 * Always true: `image` is the device's image of an empty heap with all pieces.
 */
#ifndef TN_HEAP_OBJECT_H
#define TN_HEAP_OBJECT_H

#include <stdbool.h>

#include "heap_plan.h"
#include "heap_transfer.h"
#include "heap_view.h"
#include "tarn/device_heap.h"

/* Memory of the heap: one region of its layout. The first piece starts with the metadata. */
struct tn_heap_piece {
    void *address;
    size_t size_bytes;
    bool is_from_pool; /* free it to the pool */
    struct tn_heap_spans spans;
};

struct tarn_device_heap {
    tarn_pool *pool; /* or NULL */
    struct tn_heap_plan plan;
    struct tn_heap_transfer transfer;
    size_t size_bytes;     /* of all pieces */
    size_t size_bytes_max; /* size_bytes once no more can be added */
    uint32_t piece_count;
    struct tn_heap_piece pieces[TN_HEAP_REGIONS_MAX];
    uint64_t image[];
};

/* Creates the host's part of a heap, without device memory. */
tarn_status tn_heap_object_create(const tarn_backend *backend, const struct tn_heap_plan *plan,
                                  struct tarn_device_heap **heap_out);

/* Frees the host's part. Requires: settled, or the device is gone. has_backend: also destroys the event. */
void tn_heap_object_free(struct tarn_device_heap *heap, bool has_backend);

/* Adds the first piece and prepares it, in the order of the stream. After a failure copies may be pending. */
tarn_status tn_heap_object_begin(struct tarn_device_heap *heap, const struct tn_heap_piece *piece,
                                 enum tn_heap_check check, tarn_stream stream);

/* Returns the argument for kernels. Requires: the heap has begun. */
tarn_device_heap_handle tn_heap_object_handle(const struct tarn_device_heap *heap);

/* Prepares all memory of the heap again. */
tarn_status tn_heap_object_prepare(struct tarn_device_heap *heap, tarn_stream stream);

/* Checks whether a piece of size_bytes can be added: OK, INVALID_ARGUMENT or OVER_LIMIT. */
tarn_status tn_heap_object_check_growth(const struct tarn_device_heap *heap, size_t size_bytes);

/* Adds a piece that passed that check, and waits for the stream. Requires: no kernel uses the heap. */
tarn_status tn_heap_object_grow(struct tarn_device_heap *heap, const struct tn_heap_piece *piece,
                                tarn_stream stream);

/* Reads the first bytes of the metadata and waits for the stream. The view is valid until
 * tn_heap_transfer_settle or the next read. */
tarn_status tn_heap_object_read(struct tarn_device_heap *heap, size_t size_bytes,
                                tarn_stream stream, struct tn_heap_view *view_out);

/* Reads the headers of consecutive pages and waits for the stream. They are valid until
 * tn_heap_transfer_settle or the next read. */
tarn_status tn_heap_object_read_headers(struct tarn_device_heap *heap, uint64_t first_page,
                                        uint64_t page_count, tarn_stream stream,
                                        const uint64_t **headers_out);

/* Frees the pieces from the pool. Returns whether all are freed, whatever the status. */
bool tn_heap_object_give_back(struct tarn_device_heap *heap, tarn_stream stream,
                              tarn_status *status_out);

#endif
