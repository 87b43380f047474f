/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_streams: the number of a stream in a pool, and what memory waits for that is freed on it. A look, and no vendor
 * call: streams become known in stream_reuse.
 *
 * A pool that has seen one stream has no table of them: then a stream has no number, TN_STREAM_NONE, and nothing waits.
 *
 * Threads: the pool's lock, or that of an open arena.
 * Cost: O(1) for the stream that the part looked up last, else O(streams), at most 30.
 */
#ifndef TN_POOL_STREAMS_H
#define TN_POOL_STREAMS_H

#include "pool_struct.h"
#include "request.h"

/* The name under which the table knows the handle in the calling thread. */
struct tn_stream_name tn_pool_name_stream(const struct tarn_pool *pool, tarn_stream handle);

/* The number of a stream that the pool knows, and that needs no vendor call before memory changes hands on it. False:
 * introduce it, by tn_stream_reuse_introduce. */
static inline bool tn_pool_find_stream(const struct tarn_pool *pool, struct tn_part *part,
                                       tarn_stream handle, uint32_t *stream_out);

/* The number of a stream that this call has introduced. False: another stream has taken its place since. Requires
 * growth_lock since the stream was introduced, and the pool's lock. */
bool tn_pool_find_introduced_stream(const struct tarn_pool *pool, tarn_stream handle,
                                    uint32_t *stream_out);

/* Whichever the request needs. */
static inline bool tn_request_find_stream(const struct tarn_pool *pool, struct tn_part *part,
                                          const struct tn_request *request, uint32_t *stream_out);

/* What memory waits for that is freed while these streams use it. False: one is unknown, as above. are_introduced:
 * this call has introduced them. */
static inline bool tn_pool_find_dependency(const struct tarn_pool *pool, struct tn_part *part,
                                           const tarn_stream *streams, size_t stream_count,
                                           bool are_introduced,
                                           struct tn_dependency *dependency_out);

/* What memory waits for that is freed on the stream now. */
static inline struct tn_dependency tn_pool_depend(const struct tarn_pool *pool, uint32_t stream)
{
    return stream == TN_STREAM_NONE ? TN_DEPENDENCY_NONE
                                    : tn_stream_table_depend(pool->streams, stream);
}

/* --- captures -------------------------------------------------------------------------------- */

/* Whether some stream of the pool is being captured: then no vendor call may ask the device anything. Requires
 * growth_lock or the pool's lock. */
static inline bool tn_pool_is_capturing(const struct tarn_pool *pool)
{
    return pool->streams && pool->streams->capturing_count > 0;
}

/* Whether the stream is being captured: then it gets memory of its own, in whole chunks. */
static inline bool tn_pool_is_captured(const struct tarn_pool *pool, uint32_t stream)
{
    return stream != TN_STREAM_NONE &&
           pool->streams->streams[stream].state == TN_STREAM_STATE_CAPTURING;
}

/* Captures, a bit each. A graph uses their memory, so it cannot be given back. */
static inline uint32_t tn_pool_held_streams(const struct tarn_pool *pool)
{
    return pool->streams ? tn_stream_table_private(pool->streams) : 0;
}

/* --- the common case ------------------------------------------------------------------------- */

bool tn_pool_find_stream_slowly(const struct tarn_pool *pool, struct tn_part *part,
                                tarn_stream handle, uint32_t *stream_out);
bool tn_pool_unite_dependencies(const struct tarn_pool *pool, struct tn_part *part,
                                const tarn_stream *streams, size_t stream_count,
                                bool are_introduced, struct tn_dependency *dependency_out);

static inline bool tn_pool_find_stream(const struct tarn_pool *pool, struct tn_part *part,
                                       tarn_stream handle, uint32_t *stream_out)
{
    *stream_out = TN_STREAM_NONE;
    if (TN_LIKELY(!pool->streams)) {
        if (TN_LIKELY(handle == pool->only_stream)) return true;
    } else if (TN_LIKELY(tn_stream_table_is_known(pool->streams, part->last_stream, handle))) {
        *stream_out = part->last_stream;
        return true;
    }
    uint32_t found;
    bool is_known = tn_pool_find_stream_slowly(pool, part, handle, &found);
    *stream_out = found;
    return is_known;
}

static inline bool tn_request_find_stream(const struct tarn_pool *pool, struct tn_part *part,
                                          const struct tn_request *request, uint32_t *stream_out)
{
    if (TN_UNLIKELY(request->is_introduced))
        return tn_pool_find_introduced_stream(pool, request->stream, stream_out);
    return tn_pool_find_stream(pool, part, request->stream, stream_out);
}

static inline bool tn_pool_find_dependency(const struct tarn_pool *pool, struct tn_part *part,
                                           const tarn_stream *streams, size_t stream_count,
                                           bool are_introduced,
                                           struct tn_dependency *dependency_out)
{
    if (TN_LIKELY(stream_count == 1 && !are_introduced)) {
        uint32_t stream;
        bool is_known = tn_pool_find_stream(pool, part, streams[0], &stream);
        *dependency_out = is_known ? tn_pool_depend(pool, stream) : TN_DEPENDENCY_NONE;
        return is_known;
    }
    struct tn_dependency united = TN_DEPENDENCY_NONE;
    bool are_known =
        tn_pool_unite_dependencies(pool, part, streams, stream_count, are_introduced, &united);
    *dependency_out = united;
    return are_known;
}

#endif
