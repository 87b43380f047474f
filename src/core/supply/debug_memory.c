/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* debug_memory: copies memory to the host piece by piece; without host memory for a piece, to the stack. */
#include "debug_memory.h"

#include "../../base/arith.h"
#include "../../base/host_memory.h"
#include "../serve/any_stream.h"

/* Large enough that the fixed cost of a copy does not matter. */
#define PIECE_BYTES ((size_t)1 << 20)

/* Enough for a zone. */
#define SMALL_PIECE_BYTES 512
_Static_assert(SMALL_PIECE_BYTES >= TARN_DEBUG_ZONE_BYTES, "a zone needs no host memory");

bool tn_debug_memory_is_supported(const tarn_backend *backend)
{
    const tarn_backend_operations *operations = backend->operations;
    return operations->fill && operations->copy && operations->stream_synchronize;
}

tarn_backend_result tn_debug_memory_wait(const tarn_backend *backend, const tarn_stream *streams,
                                         size_t stream_count)
{
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    for (size_t i = 0; i < stream_count && result.status == TARN_STATUS_OK; i++) {
        result = tn_any_stream_check(backend, streams[i]);
        if (result.status == TARN_STATUS_OK)
            result = tn_any_stream_synchronize(backend, streams[i]);
    }
    return result;
}

tarn_backend_result tn_debug_memory_fill(const tarn_backend *backend, uintptr_t address,
                                         unsigned char value, size_t size_bytes, tarn_stream stream)
{
    tarn_backend_result result = backend->operations->fill(
        backend->state, (void *)address, value, size_bytes, tn_any_stream_of_vendor(stream));
    /* Any stream may use the memory next, and none of them waits for the default stream. */
    if (result.status == TARN_STATUS_OK && tn_is_any_stream(stream))
        result = backend->operations->stream_synchronize(backend->state, NULL);
    return result;
}

/* Without the wait for the stream the copy may still be under way, into memory that is about to go: then the device is
 * waited for. If that fails, too, the device does nothing more. */
static tarn_backend_result copy_and_wait(const tarn_backend *backend, void *to, uintptr_t from,
                                         size_t size_bytes, tarn_stream stream)
{
    const tarn_backend_operations *operations = backend->operations;
    tarn_backend_result result = operations->copy(backend->state, to, (const void *)from,
                                                  size_bytes, tn_any_stream_of_vendor(stream));
    if (result.status != TARN_STATUS_OK) return result;
    result = tn_any_stream_synchronize(backend, stream);
    if (result.status != TARN_STATUS_OK && operations->synchronize)
        (void)operations->synchronize(backend->state);
    return result;
}

static size_t find_other(const unsigned char *bytes, unsigned char value, size_t size_bytes)
{
    size_t i = 0;
    while (i < size_bytes && bytes[i] == value)
        i++;
    return i;
}

static tarn_backend_result compare_by_pieces(const tarn_backend *backend, uintptr_t address,
                                             unsigned char value, size_t size_bytes,
                                             tarn_stream stream, unsigned char *piece,
                                             size_t piece_bytes, size_t *offset_out)
{
    size_t offset = 0;
    while (offset < size_bytes) {
        size_t count = tn_min(piece_bytes, size_bytes - offset);
        tarn_backend_result result = copy_and_wait(backend, piece, address + offset, count, stream);
        if (result.status != TARN_STATUS_OK) return result;
        size_t other = find_other(piece, value, count);
        offset += other;
        if (other < count) break;
    }
    *offset_out = offset;
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_debug_memory_compare(const tarn_backend *backend, uintptr_t address,
                                            unsigned char value, size_t size_bytes,
                                            tarn_stream stream, size_t *offset_out)
{
    unsigned char small[SMALL_PIECE_BYTES];
    size_t piece_bytes = tn_min(size_bytes, PIECE_BYTES);
    unsigned char *piece = piece_bytes > sizeof small ? tn_host_memory_alloc(piece_bytes) : NULL;
    tarn_backend_result result =
        compare_by_pieces(backend, address, value, size_bytes, stream, piece ? piece : small,
                          piece ? piece_bytes : sizeof small, offset_out);
    tn_host_memory_free(piece);
    return result;
}
