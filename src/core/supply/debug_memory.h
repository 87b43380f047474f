/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_memory: fills memory with a pattern, and compares it with the pattern later. Both use the backend's
 * operations, because the host may not reach the memory, and because streams may be busy.
 *
 * Threads: any. The caller must hold no lock of the pool or of debug mode: the stream may wait for a user's
 * function that frees.
 * Cost: the vendor's calls, and a wait for the stream.
 */
#ifndef TN_DEBUG_MEMORY_H
#define TN_DEBUG_MEMORY_H

#include "../serve/pool_struct.h"

/* Whether the backend has the operations for this. */
bool tn_debug_memory_is_supported(const tarn_backend *backend);

/* Waits for streams. Checks first whether they are of the backend's device, where the backend can tell. */
tarn_backend_result tn_debug_memory_wait(const tarn_backend *backend, const tarn_stream *streams,
                                         size_t stream_count);

/* Fills memory in the stream's order. Does not wait. */
tarn_backend_result tn_debug_memory_fill(const tarn_backend *backend, uintptr_t address,
                                         unsigned char value, size_t size_bytes,
                                         tarn_stream stream);

/* Finds the offset of the first byte that has another value; size_bytes: none has. Waits for the stream. */
tarn_backend_result tn_debug_memory_compare(const tarn_backend *backend, uintptr_t address,
                                            unsigned char value, size_t size_bytes,
                                            tarn_stream stream, size_t *offset_out);

#endif
