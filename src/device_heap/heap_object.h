/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_object: what the host keeps of a device heap, and how it prepares the device's memory.
 *
 * Arguments were checked by heap_api. Errors are reported by tn_fail.
 * Threads: one at a time.
 * Always true: `image` is what the device's would be if nothing were live, with all pieces.
 */
#ifndef TN_HEAP_OBJECT_H
#define TN_HEAP_OBJECT_H

#include <stdbool.h>

#include "heap_plan.h"
#include "heap_transfer.h"
#include "heap_view.h"
#include "tarn/device_heap.h"

/* Memory of the heap: a region of its layout, the first one with the metadata before it. */
struct tn_heap_piece {
    void *address;
    size_t size_bytes;
    bool is_from_pool; /* and goes back there */
    struct tn_heap_spans spans;
};

struct tarn_device_heap {
    tarn_pool *pool; /* or NULL */
    struct tn_heap_plan plan;
    struct tn_heap_transfer transfer;
    size_t size_bytes;     /* of all pieces */
    size_t size_bytes_max; /* the same when no more can be added */
    uint32_t piece_count;
    struct tn_heap_piece pieces[TN_HEAP_REGIONS_MAX];
    uint64_t image[];
};

/* The host's part of a heap without memory. */
tarn_status tn_heap_object_create(const tarn_backend *backend, const struct tn_heap_plan *plan,
                                  struct tarn_device_heap **heap_out);

/* Frees it. When it is settled, or the device is gone; with or without the event. */
void tn_heap_object_free(struct tarn_device_heap *heap, bool has_backend);

/* Gives it its first piece, and prepares that in the order of the stream. After a failure copies may be under way. */
tarn_status tn_heap_object_begin(struct tarn_device_heap *heap, const struct tn_heap_piece *piece,
                                 enum tn_heap_check check, tarn_stream stream);

/* What the device is given of a heap that has begun. */
tarn_device_heap_handle tn_heap_object_handle(const struct tarn_device_heap *heap);

/* Prepares all of its memory anew. */
tarn_status tn_heap_object_prepare(struct tarn_device_heap *heap, tarn_stream stream);

/* Whether a piece of so many bytes can be added: OK, INVALID_ARGUMENT or OVER_LIMIT. */
tarn_status tn_heap_object_check_growth(const struct tarn_device_heap *heap, size_t size_bytes);

/* Adds one that can, while no kernel uses the heap. Waits for the stream. */
tarn_status tn_heap_object_grow(struct tarn_device_heap *heap, const struct tn_heap_piece *piece,
                                tarn_stream stream);

/* Reads the first bytes of the metadata; the view is good until tn_heap_transfer_settle. Waits for the stream. */
tarn_status tn_heap_object_read(struct tarn_device_heap *heap, size_t size_bytes,
                                tarn_stream stream, struct tn_heap_view *view_out);

/* Reads the headers of pages in a row, which are good as long. What was read before is gone then. */
tarn_status tn_heap_object_read_headers(struct tarn_device_heap *heap, uint64_t first_page,
                                        uint64_t page_count, tarn_stream stream,
                                        const uint64_t **headers_out);

/* Gives the pieces back that are the pool's. Whether all of them are gone, with whatever status. */
bool tn_heap_object_give_back(struct tarn_device_heap *heap, tarn_stream stream,
                              tarn_status *status_out);

#endif
