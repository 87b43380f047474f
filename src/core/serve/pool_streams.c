/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_streams: from a stream's handle to its number. */
#include "pool_streams.h"

#include "../../base/thread_number.h"

/* --- captures -------------------------------------------------------------------------------- */

/* Streams that are being captured, once for each pool that was told. */
static _Atomic uint32_t capturing_count;

bool tn_captures_are_under_way(void)
{
    return atomic_load_explicit(&capturing_count, memory_order_acquire) > 0;
}

void tn_captures_count_begin(void)
{
    atomic_fetch_add(&capturing_count, 1);
}

void tn_captures_count_end(uint32_t stream_count)
{
    atomic_fetch_sub(&capturing_count, stream_count);
}

void tn_captures_forget(void)
{
    atomic_store(&capturing_count, 0);
}

/* --- streams --------------------------------------------------------------------------------- */

struct tn_stream_name tn_pool_name_stream(const struct tarn_pool *pool, tarn_stream handle)
{
    struct tn_stream_name name = { handle, 0 };
    if (!handle) return name;
    if (handle == pool->default_stream_alias) name.handle = NULL;
    if (handle == pool->thread_stream) name.thread = tn_thread_number();
    return name;
}

static inline bool find_named(const struct tarn_pool *pool, struct tn_stream_name name,
                              uint32_t *stream_out)
{
    *stream_out = TN_STREAM_NONE;
    if (!pool->streams)
        return name.thread ? name.thread == pool->only_thread : name.handle == pool->only_stream;
    *stream_out = tn_stream_table_search(pool->streams, name);
    return *stream_out != TN_STREAM_NONE;
}

bool tn_pool_find_named_stream(const struct tarn_pool *pool, struct tn_stream_name name,
                               uint32_t *stream_out)
{
    return find_named(pool, name, stream_out);
}

bool tn_pool_find_introduced_stream(const struct tarn_pool *pool, tarn_stream handle,
                                    uint32_t *stream_out)
{
    return find_named(pool, tn_pool_name_stream(pool, handle), stream_out);
}

/* The handle of a callers' stream may stand for another stream by now, or other streams may wait for a record
 * on it. Both need a vendor call. */
bool tn_pool_find_stream_slowly(const struct tarn_pool *pool, struct tn_part *part,
                                tarn_stream handle, uint32_t *stream_out)
{
    if (!tn_pool_find_introduced_stream(pool, handle, stream_out)) return false;
    if (*stream_out == TN_STREAM_NONE) return true;
    part->last_stream = *stream_out;
    const struct tn_stream_entry *entry = &pool->streams->streams[*stream_out];
    if (entry->state != TN_STREAM_STATE_CALLERS) return true;
    return !tn_pool_records_frees(pool, handle) && !entry->is_wanted;
}

TN_COLD struct tn_dependency tn_pool_depend_as_captured(const struct tarn_pool *pool,
                                                        uint32_t owner,
                                                        struct tn_dependency dependency)
{
    uint32_t bit = (uint32_t)1 << (owner - 1);
    if (dependency.streams & bit)
        dependency.streams &= ~pool->streams->streams[owner - 1].paused_bit;
    dependency.streams |= bit;
    return dependency;
}

bool tn_pool_unite_dependencies(const struct tarn_pool *pool, struct tn_part *part,
                                const tarn_stream *streams, size_t stream_count,
                                bool are_introduced, struct tn_dependency *dependency_out)
{
    struct tn_dependency dependency = TN_DEPENDENCY_NONE;
    for (size_t i = 0; i < stream_count; i++) {
        uint32_t stream;
        bool is_known = are_introduced ? tn_pool_find_introduced_stream(pool, streams[i], &stream)
                                       : tn_pool_find_stream(pool, part, streams[i], &stream);
        if (!is_known && (!are_introduced || !pool->streams)) return false;
        /* A call that names more streams than there are numbers has evicted some of them. */
        if (!is_known) stream = pool->streams->evicted_number;
        dependency = tn_dependency_unite(dependency, tn_pool_depend(pool, stream));
    }
    *dependency_out = dependency;
    return true;
}

void tn_pool_note_completed(const struct tarn_pool *pool, struct tn_part *part)
{
    const struct tn_stream_table *table = pool->streams;
    TN_ASSERT(tn_pool_is_part_locked(pool, part));
    for (uint32_t stream = 0; table && stream < table->number_end; stream++) {
        uint32_t end = atomic_load_explicit(&table->completed_before[stream], memory_order_relaxed);
        if (end == 0) continue;
        tn_region_index_complete(&part->index, (uint32_t)1 << stream, end - 1);
        (void)tn_slices_complete(&part->slices, (uint32_t)1 << stream, end - 1);
    }
}
