/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_streams: the number of a stream in a pool, and the dependency of memory that is freed on it.
 *
 * These functions look streams up and make no vendor call. stream_reuse makes streams known.
 *
 * A pool that has seen one stream only has no table of streams. Then the number of its stream is
 * TN_STREAM_NONE, and freed memory waits for nothing.
 *
 * Requires: the lock of the part. Cost: O(1) for the stream that the part looked up last, else O(streams), at
 * most 30.
 */
#ifndef TN_POOL_STREAMS_H
#define TN_POOL_STREAMS_H

#include "../index/region_index.h"

#include "any_stream.h"
#include "pool_struct.h"
#include "request.h"

/* The name of the handle in the table of streams, for the calling thread. Requires no lock. */
struct tn_stream_name tn_pool_name_stream(const struct tarn_pool *pool, tarn_stream handle);

/* Finds the number of a stream that needs no vendor call before memory is allocated or freed on it. False: the
 * caller must introduce the stream, by tn_stream_reuse_introduce. */
static inline bool tn_pool_find_stream(const struct tarn_pool *pool, struct tn_part *part,
                                       tarn_stream handle, uint32_t *stream_out);

/* Finds the number of a stream that this call has introduced. Requires growth_lock and the pool's lock. False:
 * another stream has replaced it, while growth_lock was released for a function of the user. */
bool tn_pool_find_introduced_stream(const struct tarn_pool *pool, tarn_stream handle,
                                    uint32_t *stream_out);

/* Finds the number of the stream of that name, which any thread may have named. Requires the lock of the part. False:
 * the pool does not know it. */
bool tn_pool_find_named_stream(const struct tarn_pool *pool, struct tn_stream_name name,
                               uint32_t *stream_out);

/* Finds the number of the request's stream by one of the two, depending on is_introduced. False: as there. */
static inline bool tn_request_find_stream(const struct tarn_pool *pool, struct tn_part *part,
                                          const struct tn_request *request, uint32_t *stream_out);

/* Makes the dependency of memory that these streams may still use when it is freed. False: the caller must
 * introduce one of the streams. are_introduced: this call has introduced them, and has held growth_lock since. */
static inline bool tn_pool_find_dependency(const struct tarn_pool *pool, struct tn_part *part,
                                           const tarn_stream *streams, size_t stream_count,
                                           bool are_introduced,
                                           struct tn_dependency *dependency_out);

/* Ends what the memory of the part waits for where the table of streams says that the work is done. Cost: O(streams), and
 * O(regions that wait for them). */
void tn_pool_note_completed(const struct tarn_pool *pool, struct tn_part *part);

/* Whether frees on a callers' stream of that handle are recorded without being asked for. */
static inline bool tn_pool_records_frees(const struct tarn_pool *pool, tarn_stream handle)
{
    return pool->identifies_streams || handle == TN_ANY_STREAM_FREES;
}

/* The dependency of memory that is freed on the stream now. */
static inline struct tn_dependency tn_pool_depend(const struct tarn_pool *pool, uint32_t stream)
{
    return stream == TN_STREAM_NONE ? TN_DEPENDENCY_NONE
                                    : tn_stream_table_depend(pool->streams, stream);
}

/* --- captures -------------------------------------------------------------------------------- */

/* Whether a stream is being captured that any pool of the process was told of. Then no pool may query, wait, record or
 * give memory back: each of these calls can invalidate a capture of another thread. Only growth is allowed. Requires
 * no lock. */
bool tn_captures_are_under_way(void);

/* Count a stream whose capture begins, and streams whose captures end. */
void tn_captures_count_begin(void);
void tn_captures_count_end(uint32_t stream_count);

/* No capture is under way: the parent's are not those of a forked child. */
void tn_captures_forget(void);

/* Whether a stream of the pool is being captured. Requires growth_lock or the pool's lock. */
static inline bool tn_pool_is_capturing(const struct tarn_pool *pool)
{
    return pool->streams && pool->streams->capturing_count > 0;
}

/* Whether the stream is being captured. Then its allocations are whole chunks that belong to the capture. */
static inline bool tn_pool_is_captured(const struct tarn_pool *pool, uint32_t stream)
{
    return stream != TN_STREAM_NONE &&
           pool->streams->streams[stream].state == TN_STREAM_STATE_CAPTURING;
}

/* The dependency of a capture's memory that is freed with the given dependency. It stays the capture's. It also waits
 * for streams outside of the capture that it is freed on. Freed where it was allocated, it serves the capture again:
 * nothing used it before the capture. */
TN_COLD struct tn_dependency tn_pool_depend_as_captured(const struct tarn_pool *pool,
                                                        uint32_t owner,
                                                        struct tn_dependency dependency);

/* The dependency of a live region that is freed with the given dependency. */
static inline struct tn_dependency tn_pool_depend_as_owned(const struct tarn_pool *pool,
                                                           const struct tn_region *region,
                                                           struct tn_dependency dependency)
{
    uint32_t owner = tn_region_owner(region);
    if (TN_LIKELY(owner == 0)) return dependency;
    return tn_pool_depend_as_captured(pool, owner, dependency);
}

/* The captures of the pool, a bit each. A graph may use their memory, so it must not be given back. */
static inline uint32_t tn_pool_held_streams(const struct tarn_pool *pool)
{
    return pool->streams ? tn_stream_table_private(pool->streams) : 0;
}

/* The free regions of the pool's own part that belong to captures. They are free for nobody else. Requires the
 * pool's lock. Cost: nothing without a capture, else O(n) in these regions. */
static inline struct tn_free_sum tn_pool_sum_captured(const struct tarn_pool *pool)
{
    return tn_region_index_sum_dependents(&pool->own.index, tn_pool_held_streams(pool));
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
    if (TN_UNLIKELY(request->is_introduced)) {
        TN_ASSERT(tn_pool_is_growing(pool));
        return tn_pool_find_introduced_stream(pool, request->stream, stream_out);
    }
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
