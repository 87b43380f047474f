/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_sized: look and free under one lock, so that it is the same allocation. */
#include "pool_sized.h"

#include "../../base/error.h"

#include "pool.h"
#include "pool_parts.h"
#include "../supply/pool_trim.h"

tarn_status tn_pool_fail_for_wrong_size(struct tarn_pool *pool, const void *address,
                                        size_t actual_bytes, size_t size_bytes)
{
    tn_pool_count_failure(pool);
    return tn_fail(TARN_STATUS_WRONG_SIZE, "%p is an allocation of %zu bytes, not of %zu", address,
                   actual_bytes, size_bytes);
}

/* Under `lock`. */
static bool has_size(const struct tarn_pool *pool, const void *address, size_t size_bytes,
                     size_t *actual_bytes_out)
{
    const struct tn_static_pool *owner;
    uint32_t region = tn_pool_find_start(pool, (uintptr_t)address, &owner);
    /* The free finds out why. */
    struct tn_place place;
    if (region == TN_REGION_NONE && !tn_pool_find_slice(pool, (uintptr_t)address, &owner, &place))
        return true;
    *actual_bytes_out =
        region == TN_REGION_NONE ? place.size_bytes : tn_pool_requested_bytes(pool, region);
    return *actual_bytes_out == size_bytes;
}

tarn_status tn_pool_free_sized(struct tarn_pool *pool, void *address, size_t size_bytes,
                               const tarn_stream *streams, size_t stream_count)
{
    size_t actual_bytes = 0;
    enum tn_free_result freed = TN_FREE_RESULT_NOT_LIVE;
    tn_pool_lock(pool);
    bool is_right = has_size(pool, address, size_bytes, &actual_bytes);
    if (is_right) freed = tn_pool_free_now(pool, address, streams, stream_count);
    tn_pool_unlock(pool);
    if (!is_right) return tn_pool_fail_for_wrong_size(pool, address, actual_bytes, size_bytes);
    switch (freed) {
    case TN_FREE_RESULT_FREED:
        return TARN_STATUS_OK;
    case TN_FREE_RESULT_RELEASE_IS_DUE:
        tn_pool_release_after_free(pool);
        return TARN_STATUS_OK;
    case TN_FREE_RESULT_UNKNOWN_STREAM:
        return tn_pool_free(pool, address, streams, stream_count);
    case TN_FREE_RESULT_NOT_LIVE:
    case TN_FREE_RESULT_NO_ARENAS:
        break;
    }
    tn_pool_count_failure(pool);
    return TARN_STATUS_NOT_LIVE;
}
