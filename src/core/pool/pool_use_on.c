/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_use_on: host memory first, then the stream, then the use. */
#include "pool_use_on.h"

#include "../../base/error.h"
#include "../arenas/pool_uses.h"
#include "../supply/stream_reuse.h"

/* Makes the stream known, so that a stream of another device is refused here, and the free mostly finds its number. */
static tarn_status introduce(struct tarn_pool *pool, tarn_stream stream)
{
    uint32_t number;
    tarn_stream refused = NULL;
    tn_pool_lock(pool);
    bool is_known = tn_pool_find_introduced_stream(pool, stream, &number);
    tn_pool_unlock(pool);
    if (is_known) return TARN_STATUS_OK;
    tn_pool_lock_growth(pool);
    tarn_backend_result result = tn_stream_reuse_introduce(pool, &stream, 1, &refused);
    tn_pool_unlock_growth(pool);
    return result.status == TARN_STATUS_OK ? TARN_STATUS_OK
                                           : tn_stream_reuse_fail(pool, refused, result);
}

tarn_status tn_pool_use_on(struct tarn_pool *pool, uintptr_t address, tarn_stream stream)
{
    struct tn_stream_name name = tn_pool_name_stream(pool, stream);
    if (tn_is_any_stream(stream)) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "%p cannot be noted as used on TARN_STREAM_ANY: name that in its free",
                       (void *)address);
    }
    if (pool->identifies_streams && name.handle) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "in a pool with identifies_streams, stream %p may end before the free of %p "
                       "without a call of tarn_stream_retire",
                       stream, (void *)address);
    }
    if (tn_pool_is_used_on(pool, address, name)) return TARN_STATUS_OK;
    struct tn_use *use = tn_pool_prepare_uses(pool) ? tn_use_create(address, name) : NULL;
    if (!use) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "the host has no memory to note that %p is used on stream %p",
                       (void *)address, stream);
    }
    tarn_status status = introduce(pool, stream);
    if (status == TARN_STATUS_OK) {
        tn_pool_insert_use(pool, use);
    } else {
        tn_use_destroy(use);
    }
    return status;
}
