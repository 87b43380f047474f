/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_memory: filling memory with a pattern and looking whether it is still there, by the backend's own
 * operations, since the host may not be able to, and since work on streams may be under way.
 *
 * Threads: any, with no lock of the pool's or debug mode's held: what is waited for may be a function of the
 * user's that frees.
 * Cost: the vendor's calls, and a wait for the stream.
 */
#ifndef TN_DEBUG_MEMORY_H
#define TN_DEBUG_MEMORY_H

#include "../serve/pool_struct.h"

/* Whether the backend has what this takes. */
bool tn_debug_memory_is_supported(const tarn_backend *backend);

/* Waits for streams, which may be another device's. */
tarn_backend_result tn_debug_memory_wait(const tarn_backend *backend, const tarn_stream *streams,
                                         size_t stream_count);

/* In the stream's order; is not waited for. */
tarn_backend_result tn_debug_memory_fill(const tarn_backend *backend, uintptr_t address,
                                         unsigned char value, size_t size_bytes,
                                         tarn_stream stream);

/* Looks for the first byte that has another value: its offset, or size_bytes when there is none. Waits for
 * the stream. */
tarn_backend_result tn_debug_memory_compare(const tarn_backend *backend, uintptr_t address,
                                            unsigned char value, size_t size_bytes,
                                            tarn_stream stream, size_t *offset_out);

#endif
