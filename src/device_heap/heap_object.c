/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* heap_object: a heap's memory on the host and on the device: how it is written at first, when the heap grows,
 * and when pieces are given back. */
#include "heap_object.h"

#include "../base/arith.h"
#include "../base/error.h"
#include "../base/host_memory.h"
#include "tarn/tarn.h"

/* --- host memory ----------------------------------------------------------------------------------- */

tarn_status tn_heap_object_create(const tarn_backend *backend, const struct tn_heap_plan *plan,
                                  struct tarn_device_heap **heap_out)
{
    size_t heap_bytes = sizeof(struct tarn_device_heap) + tn_heap_plan_image_bytes(plan);
    struct tarn_device_heap *heap = tn_host_memory_alloc_zeroed(heap_bytes);
    if (!heap) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "the host has no memory for the %zu bytes of a device heap", heap_bytes);
    }
    heap->plan = *plan;
    tarn_status status = tn_heap_transfer_init(&heap->transfer, backend);
    if (status == TARN_STATUS_OK) {
        *heap_out = heap;
    } else {
        tn_host_memory_free(heap);
    }
    return status;
}

void tn_heap_object_free(struct tarn_device_heap *heap, bool has_backend)
{
    if (has_backend) tn_heap_transfer_fini(&heap->transfer);
    tn_host_memory_free(heap->transfer.buffer);
    tn_host_memory_free(heap);
}

/* --- the device's memory --------------------------------------------------------------------------- */

static char *metadata_of(const struct tarn_device_heap *heap)
{
    return heap->pieces[0].address;
}

/* Returns the host's copy of the control block. */
static const struct tn_heap_control *control_of(const struct tarn_device_heap *heap)
{
    return (const struct tn_heap_control *)heap->image;
}

/* Returns the address of a piece's first page. */
static uint64_t first_page_address(const struct tarn_device_heap *heap,
                                   const struct tn_heap_piece *piece)
{
    uint64_t address = (uint64_t)(uintptr_t)piece->address;
    return piece == &heap->pieces[0] ? address + heap->plan.metadata_bytes : address;
}

/* Writes that there are no spans from the piece's first one on. A piece that could not be added may have left
 * words there. */
static tarn_status clear_spans(struct tarn_device_heap *heap, const struct tn_heap_piece *piece,
                               tarn_stream stream)
{
    uint64_t *words = (uint64_t *)(metadata_of(heap) + heap->plan.span_pages);
    uint64_t first = piece->spans.first;
    return tn_heap_transfer_fill(&heap->transfer, words + first, 0,
                                 (heap->plan.span_max - first) * sizeof *words, stream);
}

/* Writes that the pages of a piece are free: all bits of the words of its whole spans, then a word with those of
 * the rest. Without a rest that word is 0, so no free page follows the piece. */
static tarn_status write_spans(struct tarn_device_heap *heap, const struct tn_heap_piece *piece,
                               tarn_stream stream)
{
    const struct tn_heap_spans *spans = &piece->spans;
    uint64_t *words = (uint64_t *)(metadata_of(heap) + heap->plan.span_pages) + spans->first;
    tarn_status status = TARN_STATUS_OK;
    if (spans->whole_count > 0)
        status = tn_heap_transfer_fill(&heap->transfer, words, UINT8_MAX,
                                       spans->whole_count * sizeof *words, stream);
    bool is_last = (uint64_t)spans->first + spans->whole_count == heap->plan.span_max;
    if (is_last || status != TARN_STATUS_OK) return status;
    return tn_heap_transfer_write(&heap->transfer, words + spans->whole_count, &spans->rest_pages,
                                  sizeof spans->rest_pages, stream);
}

/* Must be the last write: waves take pages only once the image names them. */
static tarn_status write_image(struct tarn_device_heap *heap, const void *image, tarn_stream stream)
{
    return tn_heap_transfer_write(&heap->transfer, metadata_of(heap), image,
                                  tn_heap_plan_image_bytes(&heap->plan), stream);
}

tarn_status tn_heap_object_prepare(struct tarn_device_heap *heap, tarn_stream stream)
{
    tarn_status status = tn_heap_transfer_fill(&heap->transfer, metadata_of(heap), 0,
                                               heap->plan.metadata_bytes, stream);
    for (uint32_t i = 0; i < heap->piece_count && status == TARN_STATUS_OK; i++)
        status = write_spans(heap, &heap->pieces[i], stream);
    if (status == TARN_STATUS_OK) status = write_image(heap, heap->image, stream);
    if (status == TARN_STATUS_OK) tn_heap_transfer_end_writes(&heap->transfer, stream);
    return status;
}

tarn_device_heap_handle tn_heap_object_handle(const struct tarn_device_heap *heap)
{
    return (tarn_device_heap_handle){ control_of(heap)->layout };
}

tarn_status tn_heap_object_begin(struct tarn_device_heap *heap, const struct tn_heap_piece *piece,
                                 enum tn_heap_check check, tarn_stream stream)
{
    struct tn_heap_piece *first = &heap->pieces[0];
    uint64_t page_count = tn_heap_plan_first_page_count(&heap->plan, piece->size_bytes);
    TN_ASSERT((uintptr_t)piece->address % TARN_DEVICE_HEAP_ALIGNMENT_BYTES == 0);
    *first = *piece;
    heap->piece_count = 1;
    heap->size_bytes = piece->size_bytes;
    tn_heap_plan_write_image(&heap->plan, (uint64_t)(uintptr_t)piece->address, check, heap->image);
    first->spans = tn_heap_plan_add_region(&heap->plan, heap->image,
                                           first_page_address(heap, first), page_count);
    return tn_heap_object_prepare(heap, stream);
}

/* --- growth ---------------------------------------------------------------------------------------- */

tarn_status tn_heap_object_check_growth(const struct tarn_device_heap *heap, size_t size_bytes)
{
    if (size_bytes < TN_HEAP_PAGE_BYTES) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "size_bytes is %zu, less than a page of %zu for a device heap", size_bytes,
                       TARN_DEVICE_HEAP_PAGE_BYTES);
    }
    if (heap->size_bytes >= heap->size_bytes_max ||
        size_bytes > heap->size_bytes_max - heap->size_bytes) {
        return tn_fail(TARN_STATUS_OVER_LIMIT,
                       "%zu more bytes for a device heap that has %zu and may have %zu in all, see "
                       "size_bytes_max of its options",
                       size_bytes, heap->size_bytes,
                       tn_max(heap->size_bytes, heap->size_bytes_max));
    }
    return tn_heap_plan_check_region(&heap->plan, heap->image, size_bytes / TN_HEAP_PAGE_BYTES);
}

/* Checks that nothing has overwritten the words that only the host writes. Regions are added to them. */
static tarn_status check_read_image(const struct tarn_device_heap *heap, const void *image)
{
    const struct tn_heap_view view = { &heap->plan, control_of(heap), image };
    if (tn_heap_view_is_intact(&view)) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_CORRUPT, "device heap: control block 0: it has been overwritten");
}

tarn_status tn_heap_object_grow(struct tarn_device_heap *heap, const struct tn_heap_piece *piece,
                                tarn_stream stream)
{
    struct tn_heap_piece *added = &heap->pieces[heap->piece_count];
    uint64_t page_count = piece->size_bytes / TN_HEAP_PAGE_BYTES;
    void *image;
    tarn_status status = tn_heap_transfer_read(
        &heap->transfer, metadata_of(heap), tn_heap_plan_image_bytes(&heap->plan), stream, &image);
    if (status == TARN_STATUS_OK) status = check_read_image(heap, image);
    if (status != TARN_STATUS_OK) return status;
    *added = *piece;
    uint64_t address = first_page_address(heap, added);
    added->spans = tn_heap_plan_add_region(&heap->plan, image, address, page_count);
    status = clear_spans(heap, added, stream);
    if (status == TARN_STATUS_OK) status = write_spans(heap, added, stream);
    if (status == TARN_STATUS_OK) status = write_image(heap, image, stream);
    if (status != TARN_STATUS_OK) return status;
    (void)tn_heap_plan_add_region(&heap->plan, heap->image, address, page_count);
    heap->piece_count++;
    heap->size_bytes += piece->size_bytes;
    tn_heap_transfer_end_writes(&heap->transfer, stream);
    return TARN_STATUS_OK;
}

/* --- looking ---------------------------------------------------------------------------------------- */

tarn_status tn_heap_object_read(struct tarn_device_heap *heap, size_t size_bytes,
                                tarn_stream stream, struct tn_heap_view *view_out)
{
    void *words;
    tarn_status status =
        tn_heap_transfer_read(&heap->transfer, metadata_of(heap), size_bytes, stream, &words);
    if (status == TARN_STATUS_OK)
        *view_out = (struct tn_heap_view){ &heap->plan, control_of(heap), words };
    return status;
}

tarn_status tn_heap_object_read_headers(struct tarn_device_heap *heap, uint64_t first_page,
                                        uint64_t page_count, tarn_stream stream,
                                        const uint64_t **headers_out)
{
    const size_t header_bytes = TN_HEAP_HEADER_WORDS * sizeof(uint64_t);
    const char *first = metadata_of(heap) + heap->plan.headers + first_page * header_bytes;
    void *headers;
    tarn_status status =
        tn_heap_transfer_read(&heap->transfer, first, page_count * header_bytes, stream, &headers);
    if (status == TARN_STATUS_OK) *headers_out = headers;
    return status;
}

/* --- giving back ------------------------------------------------------------------------------------ */

/* Returns whether the memory is still allocated after a free with this status. */
static bool is_left(tarn_status status)
{
    return status == TARN_STATUS_INVALID_ARGUMENT || status == TARN_STATUS_VENDOR_ERROR ||
           status == TARN_STATUS_OUT_OF_HOST_MEMORY;
}

bool tn_heap_object_give_back(struct tarn_device_heap *heap, tarn_stream stream,
                              tarn_status *status_out)
{
    *status_out = TARN_STATUS_OK;
    for (uint32_t i = heap->piece_count; i-- > 0;) {
        struct tn_heap_piece *piece = &heap->pieces[i];
        if (!piece->is_from_pool) continue;
        tarn_status status = tarn_pool_free_on(heap->pool, piece->address, stream);
        if (status != TARN_STATUS_OK) *status_out = status;
        if (is_left(status)) return false;
        piece->is_from_pool = false;
    }
    return true;
}
