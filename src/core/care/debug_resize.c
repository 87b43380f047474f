/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* debug_resize: what a pool in debug mode does about sizes: resizing, and frees that tell theirs. */
#include "debug_pool.h"

#include "../../base/error.h"

#include "../pool/pool_resize.h"
#include "../pool/pool_sized.h"
#include "../serve/pool_watch.h"

/* Whether a live allocation starts at the address, and what was asked for. */
static bool find_size(struct tarn_pool *pool, const void *address, size_t *size_bytes_out)
{
    tarn_allocation found;
    if (tn_debug_find(pool, address, &found) != TN_FIND_RESULT_FOUND) return false;
    *size_bytes_out = found.size_bytes;
    return found.address == address;
}

/* Another thread may have freed it by now. */
static void note_size(struct tn_debug *debug, uintptr_t block, size_t size_bytes)
{
    tn_mutex_lock(&debug->lock);
    struct tn_debug_record *record = tn_debug_table_find(&debug->table, block);
    if (record && record->state == TN_DEBUG_STATE_LIVE) {
        tn_stats_count_resize(&debug->stats, record->range.size_bytes, 0, size_bytes, 0);
        record->range.size_bytes = record->range.block_bytes = size_bytes;
    }
    tn_mutex_unlock(&debug->lock);
}

tarn_status tn_debug_resize(struct tarn_pool *pool, void *address, size_t size_bytes,
                            tarn_stream stream)
{
    struct tn_debug *debug = pool->debug;
    size_t old_bytes;
    if (!find_size(pool, address, &old_bytes)) return TARN_STATUS_NOT_LIVE;
    if (old_bytes == size_bytes) return TARN_STATUS_OK;
    /* Its ends are looked at by others, or late, where they were. */
    if ((debug->flags & TN_DEBUG_FLAGS_OF_MEMORY) || tn_pool_is_watched(pool, (uintptr_t)address)) {
        return tn_fail(TARN_STATUS_NOT_IN_PLACE,
                       "%p of %zu bytes cannot have %zu where it lies: debug mode watches its ends",
                       address, old_bytes, size_bytes);
    }
    tarn_status status = tn_pool_resize(pool, address, size_bytes, stream);
    if (status == TARN_STATUS_OK) note_size(debug, (uintptr_t)address, size_bytes);
    return status;
}

tarn_status tn_debug_free_sized(struct tarn_pool *pool, void *address, size_t size_bytes,
                                const tarn_stream *streams, size_t stream_count)
{
    size_t actual_bytes;
    if (find_size(pool, address, &actual_bytes) && actual_bytes != size_bytes)
        return tn_pool_fail_for_wrong_size(pool, address, actual_bytes, size_bytes);
    return tn_debug_free(pool, address, streams, stream_count);
}
