/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_api: the public functions of a device heap. Checks arguments, each with its own message, calls the
 * other modules, and undoes earlier steps if one fails.
 */
#include <inttypes.h>

#include "../base/arith.h"
#include "../base/error.h"
#include "../base/struct_size.h"
#include "tarn/tarn.h"

#include "heap_check.h"
#include "heap_object.h"
#include "heap_stats.h"

_Static_assert(TARN_DEVICE_HEAP_PAGE_BYTES == TN_HEAP_PAGE_BYTES, "as promised");
_Static_assert(TARN_DEVICE_HEAP_SIZE_BYTES_MAX == TN_HEAP_PAGES_MAX * TN_HEAP_PAGE_BYTES,
               "as promised");
_Static_assert(TARN_DEVICE_HEAP_PIECES_MAX == TN_HEAP_REGIONS_MAX, "as promised");
_Static_assert((int)TARN_DEVICE_HEAP_CHECKS_NONE == (int)TN_HEAP_CHECK_NONE &&
                   (int)TARN_DEVICE_HEAP_CHECKS_FREES == (int)TN_HEAP_CHECK_FREES &&
                   (int)TARN_DEVICE_HEAP_CHECKS_CONTENTS == (int)TN_HEAP_CHECK_CONTENTS,
               "the device reads the numbers of the options");

/* The least size of a table of operations: all needed operations lie before this offset. */
#define OPERATIONS_BYTES_MIN offsetof(tarn_backend_operations, range_map_shareable)

/* --- checks ---------------------------------------------------------------------------------------- */

static TN_COLD tarn_status fail_for_null(const char *argument)
{
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%s is NULL", argument);
}

static tarn_status check_options(const tarn_device_heap_options *options, size_t size_bytes)
{
    tarn_status status =
        tn_check_struct_bytes("tarn_device_heap_options", options->struct_bytes, sizeof *options,
                              sizeof *options, TARN_STATUS_INVALID_OPTIONS);
    if (status != TARN_STATUS_OK) return status;
    if (options->size_bytes_max != 0 && options->size_bytes_max < size_bytes) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "size_bytes_max is %zu, less than the %zu that the heap begins with",
                       options->size_bytes_max, size_bytes);
    }
    switch (options->checks) {
    case TARN_DEVICE_HEAP_CHECKS_NONE:
    case TARN_DEVICE_HEAP_CHECKS_FREES:
    case TARN_DEVICE_HEAP_CHECKS_CONTENTS:
        return TARN_STATUS_OK;
    }
    return tn_fail(TARN_STATUS_INVALID_OPTIONS, "checks is %d, which is not a level of checks",
                   (int)options->checks);
}

/* The layout of programs whose headers did not number layouts yet. */
#define LAYOUT_VERSION_FIRST 1

static tarn_status check_layout(uint32_t layout_version)
{
    if (layout_version == TN_HEAP_LAYOUT_VERSION) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                   "the program was compiled for layout %" PRIu32
                   " of device heaps, and this library "
                   "makes layout %d: compile it, and its kernels, with the headers of this library",
                   layout_version, TN_HEAP_LAYOUT_VERSION);
}

static tarn_status check_backend(const tarn_backend *backend)
{
    if (!backend) return fail_for_null("backend");
    if (!backend->operations) return fail_for_null("the backend's table of operations");
    if (backend->operations->struct_bytes < OPERATIONS_BYTES_MIN) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "the backend's table of operations says it has %zu bytes, not %zu",
                       backend->operations->struct_bytes, sizeof *backend->operations);
    }
    return backend->operations->name ? TARN_STATUS_OK : fail_for_null("the backend's name");
}

/* Checks a stream as a pool does. */
static tarn_status check_stream(const tarn_backend *backend, tarn_stream stream)
{
    if (!backend->operations->stream_check) return TARN_STATUS_OK;
    tarn_backend_result result = backend->operations->stream_check(backend->state, stream);
    if (result.status == TARN_STATUS_OK) return TARN_STATUS_OK;
    return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                          "the stream %p is not of the %s backend's device: %s", stream,
                          backend->operations->name, tarn_status_sentence(result.status));
}

/* Checks the caller's memory. */
static tarn_status check_memory(const void *address, size_t size_bytes)
{
    size_t end;
    if (!address) return fail_for_null("address");
    if ((uintptr_t)address % TARN_DEVICE_HEAP_ALIGNMENT_BYTES != 0) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "the address %p is not a multiple of %d",
                       address, TARN_DEVICE_HEAP_ALIGNMENT_BYTES);
    }
    if (!tn_add_fits((uintptr_t)address, size_bytes, &end)) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "%zu bytes from %p on reach beyond the last address", size_bytes, address);
    }
    return TARN_STATUS_OK;
}

/* Fails if the heap was made of a pool that no longer exists: then nothing of the heap may be used. */
static tarn_status check_heap(const tarn_device_heap *heap)
{
    tarn_backend backend;
    if (!heap) return fail_for_null("heap");
    return heap->pool ? tarn_pool_get_backend(heap->pool, &backend) : TARN_STATUS_OK;
}

/* Checks the heap and the stream of the next work. */
static tarn_status check_heap_and_stream(const tarn_device_heap *heap, tarn_stream stream)
{
    tarn_status status = check_heap(heap);
    return status == TARN_STATUS_OK ? check_stream(&heap->transfer.backend, stream) : status;
}

/* --- create ---------------------------------------------------------------------------------------- */

/* The memory that a heap is made of. */
struct source {
    tarn_pool *pool; /* NULL: the memory is the caller's */
    tarn_backend backend;
    void *address;
    size_t size_bytes;
};

/* Takes the caller's memory, or allocates from the pool. */
static tarn_status obtain(const struct source *source, tarn_stream stream,
                          struct tn_heap_piece *piece_out)
{
    struct tn_heap_piece piece = {
        source->address, source->size_bytes, source->pool != NULL, { 0 }
    };
    tarn_status status = TARN_STATUS_OK;
    if (source->pool)
        status = tarn_pool_alloc_on(source->pool, piece.size_bytes, stream, &piece.address);
    if (status == TARN_STATUS_OK) *piece_out = piece;
    return status;
}

/* Frees the piece after a failure, and keeps the last error. */
static void return_piece(tarn_pool *pool, const struct tn_heap_piece *piece, tarn_stream stream)
{
    if (!piece->is_from_pool) return;
    struct tn_saved_error saved = tn_error_save();
    (void)tarn_pool_free_on(pool, piece->address, stream);
    tn_error_restore(&saved);
}

/* Frees the host's part after a failure, and keeps the last error. If the wait for the backend fails, the
 * backend may still read that memory, so it stays allocated. */
static void discard(tarn_device_heap *heap, tarn_stream stream)
{
    struct tn_saved_error saved = tn_error_save();
    if (tn_heap_transfer_settle(&heap->transfer, stream) == TARN_STATUS_OK)
        tn_heap_object_free(heap, true);
    tn_error_restore(&saved);
}

/* Requires: checked arguments. */
static tarn_status create(const struct source *source, const tarn_device_heap_options *options,
                          tarn_stream stream, tarn_device_heap **heap_out)
{
    struct tn_heap_plan plan;
    struct tn_heap_piece piece;
    tarn_device_heap *heap;
    tarn_status status = tn_heap_plan_init(&plan, source->size_bytes, options->size_bytes_max);
    if (status != TARN_STATUS_OK) return status;
    status = tn_heap_object_create(&source->backend, &plan, &heap);
    if (status != TARN_STATUS_OK) return status;
    heap->pool = source->pool;
    heap->size_bytes_max = options->size_bytes_max;
    status = obtain(source, stream, &piece);
    if (status != TARN_STATUS_OK) goto no_piece;
    status = tn_heap_object_begin(heap, &piece, (enum tn_heap_check)options->checks, stream);
    if (status != TARN_STATUS_OK) goto no_heap;
    *heap_out = heap;
    return TARN_STATUS_OK;

no_heap:
    return_piece(source->pool, &piece, stream);
no_piece:
    discard(heap, stream);
    return status;
}

tarn_status tarn_device_heap_create_for_layout(uint32_t layout_version, tarn_pool *pool,
                                               size_t size_bytes,
                                               const tarn_device_heap_options *options,
                                               tarn_stream stream, tarn_device_heap **heap_out)
{
    const tarn_device_heap_options defaults = TARN_DEVICE_HEAP_OPTIONS_INIT;
    struct source source = { .pool = pool, .size_bytes = size_bytes };
    if (!heap_out) return fail_for_null("heap_out");
    if (!options) options = &defaults;
    tarn_status status = check_layout(layout_version);
    if (status == TARN_STATUS_OK) status = tarn_pool_get_backend(pool, &source.backend);
    if (status == TARN_STATUS_OK) status = check_options(options, size_bytes);
    return status == TARN_STATUS_OK ? create(&source, options, stream, heap_out) : status;
}

tarn_status tarn_device_heap_create_over_for_layout(uint32_t layout_version,
                                                    const tarn_backend *backend, void *address,
                                                    size_t size_bytes,
                                                    const tarn_device_heap_options *options,
                                                    tarn_stream stream, tarn_device_heap **heap_out)
{
    const tarn_device_heap_options defaults = TARN_DEVICE_HEAP_OPTIONS_INIT;
    if (!heap_out) return fail_for_null("heap_out");
    if (!options) options = &defaults;
    tarn_status status = check_layout(layout_version);
    if (status == TARN_STATUS_OK) status = check_backend(backend);
    if (status == TARN_STATUS_OK) status = check_memory(address, size_bytes);
    if (status == TARN_STATUS_OK) status = check_options(options, size_bytes);
    if (status == TARN_STATUS_OK) status = check_stream(backend, stream);
    if (status != TARN_STATUS_OK) return status;
    const struct source source = { NULL, *backend, address, size_bytes };
    return create(&source, options, stream, heap_out);
}

/* The functions behind the macros, for older programs and other languages. */

tarn_status(tarn_device_heap_create)(tarn_pool *pool, size_t size_bytes,
                                     const tarn_device_heap_options *options, tarn_stream stream,
                                     tarn_device_heap **heap_out)
{
    return tarn_device_heap_create_for_layout(LAYOUT_VERSION_FIRST, pool, size_bytes, options,
                                              stream, heap_out);
}

tarn_status(tarn_device_heap_create_over)(const tarn_backend *backend, void *address,
                                          size_t size_bytes,
                                          const tarn_device_heap_options *options,
                                          tarn_stream stream, tarn_device_heap **heap_out)
{
    return tarn_device_heap_create_over_for_layout(LAYOUT_VERSION_FIRST, backend, address,
                                                   size_bytes, options, stream, heap_out);
}

tarn_device_heap_handle tarn_device_heap_get_handle(const tarn_device_heap *heap)
{
    return heap ? tn_heap_object_handle(heap) : (tarn_device_heap_handle){ .layout = { 0 } };
}

/* --- between kernels -------------------------------------------------------------------------------- */

/* Requires: checked arguments. */
static tarn_status add(tarn_device_heap *heap, const struct source *source, tarn_stream stream)
{
    struct tn_heap_piece piece;
    tarn_status status = tn_heap_object_check_growth(heap, source->size_bytes);
    if (status == TARN_STATUS_OK) status = obtain(source, stream, &piece);
    if (status != TARN_STATUS_OK) return status;
    status = tn_heap_object_grow(heap, &piece, stream);
    if (status != TARN_STATUS_OK) return_piece(source->pool, &piece, stream);
    return status;
}

tarn_status tarn_device_heap_add(tarn_device_heap *heap, size_t size_bytes, tarn_stream stream)
{
    tarn_status status = check_heap(heap);
    if (status != TARN_STATUS_OK) return status;
    if (!heap->pool) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "the device heap was created over the caller's memory, and has no pool");
    }
    const struct source source = { .pool = heap->pool, .size_bytes = size_bytes };
    return add(heap, &source, stream);
}

/* Checks that the memory does not overlap a piece. */
static tarn_status check_apart(const tarn_device_heap *heap, const void *address, size_t size_bytes)
{
    uintptr_t begin = (uintptr_t)address, end = begin + size_bytes;
    for (uint32_t i = 0; i < heap->piece_count; i++) {
        const struct tn_heap_piece *piece = &heap->pieces[i];
        uintptr_t piece_begin = (uintptr_t)piece->address;
        if (begin >= piece_begin + piece->size_bytes || piece_begin >= end) continue;
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "the %zu bytes from %p on overlap memory of the device heap: it has %zu "
                       "from %p on",
                       size_bytes, address, piece->size_bytes, piece->address);
    }
    return TARN_STATUS_OK;
}

tarn_status tarn_device_heap_add_over(tarn_device_heap *heap, void *address, size_t size_bytes,
                                      tarn_stream stream)
{
    tarn_status status = check_heap(heap);
    if (status == TARN_STATUS_OK) status = check_memory(address, size_bytes);
    if (status == TARN_STATUS_OK) status = check_apart(heap, address, size_bytes);
    if (status == TARN_STATUS_OK) status = check_stream(&heap->transfer.backend, stream);
    if (status != TARN_STATUS_OK) return status;
    const struct source source = { .address = address, .size_bytes = size_bytes };
    return add(heap, &source, stream);
}

tarn_status tarn_device_heap_reset(tarn_device_heap *heap, tarn_stream stream)
{
    tarn_status status = check_heap_and_stream(heap, stream);
    return status == TARN_STATUS_OK ? tn_heap_object_prepare(heap, stream) : status;
}

/* --- statistics ------------------------------------------------------------------------------------- */

#define HEADERS_AT_ONCE 32768 /* read back at once, for 2 GiB: 4 MiB of host memory */

/* Adds the live counts of the first pages of a heap. */
static tarn_status add_live(tarn_device_heap *heap, uint64_t page_count, tarn_stream stream,
                            tarn_device_heap_stats *stats)
{
    tarn_status status = TARN_STATUS_OK;
    for (uint64_t page = 0; page < page_count && status == TARN_STATUS_OK;
         page += HEADERS_AT_ONCE) {
        uint64_t count = tn_min(page_count - page, HEADERS_AT_ONCE);
        const uint64_t *headers;
        status = tn_heap_object_read_headers(heap, page, count, stream, &headers);
        if (status == TARN_STATUS_OK) tn_heap_stats_add_live(headers, count, stats);
    }
    return status;
}

tarn_status tarn_device_heap_get_stats(tarn_device_heap *heap, tarn_stream stream,
                                       tarn_device_heap_stats *stats_out)
{
    struct tn_heap_view view;
    tarn_status status = check_heap_and_stream(heap, stream);
    if (status != TARN_STATUS_OK) return status;
    if (!stats_out) return fail_for_null("stats_out");
    status = tn_check_struct_bytes("stats_out", stats_out->struct_bytes, sizeof *stats_out,
                                   sizeof *stats_out, TARN_STATUS_INVALID_ARGUMENT);
    if (status != TARN_STATUS_OK) return status;
    status = tn_heap_object_read(heap, tn_heap_plan_summary_bytes(&heap->plan), stream, &view);
    if (status != TARN_STATUS_OK) return status;
    tarn_device_heap_stats stats = tn_heap_stats_of_summary(&view, heap->size_bytes);
    status = add_live(heap, tn_heap_view_used_page_end(&view), stream, &stats);
    if (status != TARN_STATUS_OK) return status;
    *stats_out = stats;
    return tn_heap_transfer_settle(&heap->transfer, stream);
}

tarn_status tarn_device_heap_check(tarn_device_heap *heap, tarn_stream stream)
{
    struct tn_heap_view view;
    tarn_status status = check_heap_and_stream(heap, stream);
    if (status != TARN_STATUS_OK) return status;
    status = tn_heap_object_read(heap, heap->plan.metadata_bytes, stream, &view);
    if (status != TARN_STATUS_OK) return status;
    status = tn_heap_check(&view);
    (void)tn_heap_transfer_settle(&heap->transfer, stream); /* no copy is pending: no wait */
    return status;
}

/* --- destroy ---------------------------------------------------------------------------------------- */

/* Frees the host's part of a heap whose pool is gone, or belongs to the parent process. */
static tarn_status abandon(tarn_device_heap *heap)
{
    tn_heap_object_free(heap, false);
    return TARN_STATUS_OK;
}

tarn_status tarn_device_heap_destroy(tarn_device_heap *heap, tarn_stream stream)
{
    if (!heap) return TARN_STATUS_OK;
    tarn_status status = check_heap(heap);
    if (status == TARN_STATUS_OK) status = tn_heap_transfer_settle(&heap->transfer, stream);
    if (status == TARN_STATUS_INVALID_POOL || status == TARN_STATUS_FORKED) return abandon(heap);
    if (status != TARN_STATUS_OK || !tn_heap_object_give_back(heap, stream, &status)) return status;
    tn_heap_object_free(heap, true);
    return status;
}
