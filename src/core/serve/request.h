/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * request: an allocation that a caller asks for, in the pool's units. The common way makes it once. The ladder makes
 * it anew, so that the common way can keep its own in registers.
 *
 * Threads: any; requests are made without a lock. Cost: O(1).
 */
#ifndef TN_REQUEST_H
#define TN_REQUEST_H

#include "pool_struct.h"

struct tn_request {
    size_t size_bytes;      /* 1 or more */
    size_t alignment_bytes; /* a power of two */
    tarn_stream stream;     /* the first to use the memory */
    uint32_t chunk_count;   /* chunks that hold size_bytes; meaningless if is_too_large */
    unsigned slice_class;   /* class of the slices that hold it, or TN_SLICE_CLASS_NONE */
    bool is_too_large;      /* no static pool can have so many chunks */
    bool is_introduced;  /* this call has introduced the stream, and has held growth_lock since */
    bool is_last_resort; /* growth has brought nothing: memory is worth any wait */
};

TN_HOT struct tn_request tn_request_make(const struct tarn_pool *pool, size_t size_bytes,
                                         size_t alignment_bytes, tarn_stream stream)
{
    size_t chunk_count = ((size_bytes - 1) >> pool->chunk_log2) + 1;
    return (struct tn_request){
        .size_bytes = size_bytes,
        .alignment_bytes = alignment_bytes,
        .stream = stream,
        .chunk_count = (uint32_t)chunk_count,
        .slice_class = tn_slices_class_for(&pool->own.slices, size_bytes, alignment_bytes),
        .is_too_large = chunk_count > TN_CHUNK_COUNT_MAX,
    };
}

/* Returns the bytes that a request is served as, or that its free may tell. 0: the request gets NULL. */
static inline size_t tn_pool_served_bytes(const struct tarn_pool *pool, size_t size_bytes)
{
    return size_bytes == 0 && pool->zero_has_address ? 1 : size_bytes;
}

static inline size_t tn_request_used_bytes(const struct tarn_pool *pool,
                                           const struct tn_request *request)
{
    return (size_t)request->chunk_count << pool->chunk_log2;
}

/* Whether every chunk is aligned as the request asks. */
static inline bool tn_request_fits_any_chunk(const struct tarn_pool *pool,
                                             const struct tn_request *request)
{
    return request->alignment_bytes >> pool->chunk_log2 <= 1;
}

#endif
