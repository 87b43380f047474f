/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* route: alloc and free for callers inside the library, and frees that need more than the metadata. */
#include "route.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../serve/any_stream.h"
#include "../arenas/gather.h"
#include "../arenas/pool_uses.h"
#include "../supply/pool_trim.h"
#include "../supply/stream_reuse.h"

#include "ladder.h"
#include "pending_bound.h"
#include "pool.h"
#include "pool_parts.h"

tarn_status tn_pool_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          tarn_stream stream, void **address_out)
{
    void *address = tn_pool_try_alloc(pool, size_bytes, alignment_bytes, stream);
    if (TN_UNLIKELY(!address))
        return tn_pool_climb(pool, size_bytes, alignment_bytes, stream, address_out);
    *address_out = address;
    return TARN_STATUS_OK;
}

/* --- frees on streams that are new to the pool ---------------------------------------------------- */

/* Waits with the calling thread for streams that the pool has no room for, and for the device if the allocation is used
 * on further ones. Then the freed memory waits for nothing. During a capture of the process no thread may wait. */
static tarn_backend_result synchronize_all(struct tarn_pool *pool, bool is_used,
                                           const tarn_stream *streams, size_t stream_count)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    tarn_backend_result result = { TARN_STATUS_OK, 0, NULL };
    if (is_used && !operations->synchronize) result.status = TARN_STATUS_NOT_SUPPORTED;
    for (size_t i = 0; i < stream_count && result.status == TARN_STATUS_OK; i++)
        result = tn_any_stream_synchronize(&pool->backend, streams[i]);
    if (is_used && result.status == TARN_STATUS_OK)
        result = operations->synchronize(pool->backend.state);
    return result;
}

/* Frees on streams that this call has introduced, and records events on those of them whose handles are valid only
 * during their callers' calls. */
static enum tn_free_result free_after_introduced(struct tarn_pool *pool, uintptr_t address,
                                                 const size_t *told_bytes,
                                                 const tarn_stream *streams, size_t stream_count)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    tn_pool_lock_and_gather(pool);
    size_t used_bytes = pool->own.stats.used_bytes;
    size_t requested_bytes = pool->own.stats.requested_bytes;
    enum tn_free_result freed =
        tn_serve_free_used(pool, &pool->own, address, told_bytes, streams, stream_count, true);
    used_bytes -= pool->own.stats.used_bytes; /* a slab that keeps other slices stays in use */
    requested_bytes -= pool->own.stats.requested_bytes;
    tn_pool_unlock(pool);
    if (freed == TN_FREE_RESULT_FREED || freed == TN_FREE_RESULT_RELEASE_IS_DUE)
        tn_stream_reuse_record_callers(pool, streams, stream_count,
                                       tn_max(tn_max(used_bytes, requested_bytes), 1));
    return freed;
}

static tarn_status introduce_and_free(struct tarn_pool *pool, uintptr_t address,
                                      const size_t *told_bytes, const tarn_stream *streams,
                                      size_t stream_count, enum tn_free_result *freed_out)
{
    tn_pool_lock_growth(pool);
    tarn_stream refused = NULL;
    tarn_backend_result result =
        tn_stream_reuse_introduce_users(pool, address, streams, stream_count, &refused);
    if (result.status == TARN_STATUS_OUT_OF_HOST_MEMORY && !tn_captures_are_under_way()) {
        result = synchronize_all(pool, tn_pool_is_used(pool, address), streams, stream_count);
        if (result.status == TARN_STATUS_OK) {
            tn_pool_remove_uses(pool, address);
            stream_count = 0;
        }
    }
    if (result.status == TARN_STATUS_OK) {
        *freed_out = free_after_introduced(pool, address, told_bytes, streams, stream_count);
        if (stream_count > 0 && streams[0] == TN_ANY_STREAM_FREES) tn_pending_bound_keep(pool);
    }
    tn_pool_unlock_growth(pool);
    return result.status == TARN_STATUS_OK ? TARN_STATUS_OK
                                           : tn_stream_reuse_fail(pool, refused, result);
}

void tn_pool_undo_alloc(struct tarn_pool *pool, void *address, tarn_stream stream)
{
    tarn_stream refused;
    uint32_t number;
    enum tn_free_result freed = TN_FREE_RESULT_UNKNOWN_STREAM;
    tn_pool_lock_growth(pool);
    tn_pool_lock(pool);
    bool is_known = tn_pool_find_introduced_stream(pool, stream, &number);
    tn_pool_unlock(pool);
    /* Another thread may have taken the stream's number since. */
    if (is_known || tn_stream_reuse_introduce(pool, &stream, 1, &refused).status == TARN_STATUS_OK)
        freed = free_after_introduced(pool, (uintptr_t)address, NULL, &stream, 1);
    tn_pool_unlock_growth(pool);
    if (freed == TN_FREE_RESULT_RELEASE_IS_DUE) tn_pool_release_after_free(pool);
}

/* --- completing a free ---------------------------------------------------------------------------- */

tarn_status tn_pool_fail_for_wrong_size(struct tarn_pool *pool, const void *address,
                                        size_t actual_bytes, size_t size_bytes)
{
    tn_pool_count_failure(pool);
    return tn_fail(TARN_STATUS_WRONG_SIZE, "%p is an allocation of %zu bytes, not of %zu", address,
                   actual_bytes, size_bytes);
}

/* Whether an allocation of another size starts at the address. Looks it up again, because another thread may
 * have freed it meanwhile. */
static bool has_other_size(struct tarn_pool *pool, uintptr_t address, size_t told_bytes,
                           size_t *actual_bytes_out)
{
    struct tn_allocation_sizes sizes;
    if (!tn_pool_find_sizes(pool, (const void *)address, &sizes)) return false;
    *actual_bytes_out = sizes.size_bytes;
    return sizes.size_bytes != told_bytes;
}

tarn_status tn_pool_finish_free(struct tarn_pool *pool, uintptr_t address, const size_t *told_bytes,
                                const tarn_stream *streams, size_t stream_count,
                                enum tn_free_result freed)
{
    size_t actual_bytes = 0;
    tarn_status status = TARN_STATUS_OK;
    /* A wrong size comes before a new stream. */
    bool may_have_other_size =
        freed == TN_FREE_RESULT_WRONG_SIZE || freed == TN_FREE_RESULT_UNKNOWN_STREAM;
    if (told_bytes && may_have_other_size &&
        has_other_size(pool, address, *told_bytes, &actual_bytes))
        return tn_pool_fail_for_wrong_size(pool, (const void *)address, actual_bytes, *told_bytes);
    if (freed == TN_FREE_RESULT_UNKNOWN_STREAM)
        status = introduce_and_free(pool, address, told_bytes, streams, stream_count, &freed);
    if (status == TARN_STATUS_OK && freed == TN_FREE_RESULT_RELEASE_IS_DUE)
        tn_pool_release_after_free(pool);
    else if (status == TARN_STATUS_OK && freed != TN_FREE_RESULT_FREED)
        status = TARN_STATUS_NOT_LIVE;
    if (status != TARN_STATUS_OK) tn_pool_count_failure(pool);
    return status;
}

/* tn_pool_try_free for an allocation that is used on further streams. */
static enum tn_free_result try_free_used(struct tarn_pool *pool, uintptr_t address,
                                         const size_t *told_bytes, const tarn_stream *streams,
                                         size_t stream_count)
{
    struct tn_part *part = tn_pool_lock_part_of(pool, address);
    enum tn_free_result freed =
        tn_serve_free_used(pool, part, address, told_bytes, streams, stream_count, false);
    tn_pool_unlock_part(pool, part);
    return freed;
}

tarn_status tn_pool_free(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                         const tarn_stream *streams, size_t stream_count)
{
    uintptr_t freed_address = (uintptr_t)address;
    enum tn_free_result freed =
        tn_pool_is_used(pool, freed_address)
            ? try_free_used(pool, freed_address, told_bytes, streams, stream_count)
            : tn_pool_try_free(pool, freed_address, told_bytes, streams, stream_count);
    if (TN_LIKELY(freed == TN_FREE_RESULT_FREED)) return TARN_STATUS_OK;
    return tn_pool_finish_free(pool, (uintptr_t)address, told_bytes, streams, stream_count, freed);
}
