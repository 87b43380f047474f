/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * api: the public functions that allocate, free and resize. They check their arguments and call down.
 *
 * TN_CALLER is the return address of the function that it is compiled into. So each function that uses it is
 * inlined into the public functions.
 */
#include "../../base/arith.h"
#include "../../base/error.h"
#include "../care/batch.h"
#include "../care/careful.h"
#include "../care/elsewhere.h"
#include "../care/out_of_memory.h"
#include "../pool/ladder.h"
#include "../pool/route.h"

#include "checks.h"

/* --- alloc --------------------------------------------------------------------------------------- */

static TN_COLD tarn_status alloc_slowly(tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                        tarn_stream stream, void **address_out)
{
    tarn_status status = tn_pool_climb(pool, size_bytes, alignment_bytes, stream, address_out);
    if (status == TARN_STATUS_OK) return status;
    return tn_alloc_under_shortage(pool, size_bytes, alignment_bytes, stream, status, address_out);
}

/* The common case. Not inlined, so that all public functions share it by a tail call. */
static TN_NOINLINE tarn_status alloc(tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                     tarn_stream stream, void **address_out)
{
    void *address = tn_pool_try_alloc(pool, size_bytes, alignment_bytes, stream);
    if (TN_UNLIKELY(!address))
        return alloc_slowly(pool, size_bytes, alignment_bytes, stream, address_out);
    *address_out = address;
    return TARN_STATUS_OK;
}

static TN_COLD tarn_status check_and_alloc(tarn_pool *pool, size_t size_bytes,
                                           size_t alignment_bytes, tarn_stream stream,
                                           const void *caller, void **address_out)
{
    if (!address_out) return tn_fail_for_null("address_out");
    if (!tn_is_power_of_two(alignment_bytes)) {
        return tn_fail(TARN_STATUS_INVALID_ALIGNMENT, "the alignment %zu is not a power of two",
                       alignment_bytes);
    }
    return tn_careful_alloc(pool, size_bytes, alignment_bytes, stream, caller, address_out);
}

TN_HOT tarn_status alloc_on(tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                            tarn_stream stream, void **address_out)
{
    if (TN_UNLIKELY(!address_out || !tn_is_power_of_two(alignment_bytes) || size_bytes == 0 ||
                    tn_pool_needs_care(pool)))
        return check_and_alloc(pool, size_bytes, alignment_bytes, stream, TN_CALLER, address_out);
    return alloc(pool, size_bytes, alignment_bytes, stream, address_out);
}

tarn_status tarn_pool_alloc(tarn_pool *pool, size_t size_bytes, void **address_out)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return tn_fail_for_pool(pool);
    return alloc_on(pool, size_bytes, 1, pool->default_stream, address_out);
}

tarn_status tarn_pool_alloc_aligned(tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                    void **address_out)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return tn_fail_for_pool(pool);
    return alloc_on(pool, size_bytes, alignment_bytes, pool->default_stream, address_out);
}

tarn_status tarn_pool_alloc_on(tarn_pool *pool, size_t size_bytes, tarn_stream stream,
                               void **address_out)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return tn_fail_for_pool(pool);
    return alloc_on(pool, size_bytes, 1, stream, address_out);
}

tarn_status tarn_pool_alloc_aligned_on(tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                       tarn_stream stream, void **address_out)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return tn_fail_for_pool(pool);
    return alloc_on(pool, size_bytes, alignment_bytes, stream, address_out);
}

/* --- free ---------------------------------------------------------------------------------------- */

static TN_COLD tarn_status finish_free(tarn_pool *pool, void *address, const size_t *told_bytes,
                                       tarn_stream stream, enum tn_free_result freed)
{
    tarn_status status =
        tn_pool_finish_free(pool, (uintptr_t)address, told_bytes, &stream, 1, freed);
    if (status != TARN_STATUS_NOT_LIVE) return status;
    return tn_free_elsewhere(pool, address, told_bytes, &stream, 1);
}

/* The common case. Not inlined, so that all public functions share it by a tail call. */
static TN_NOINLINE tarn_status free_block(tarn_pool *pool, void *address, tarn_stream stream)
{
    enum tn_free_result freed = tn_pool_try_free(pool, (uintptr_t)address, NULL, &stream, 1);
    if (TN_LIKELY(freed == TN_FREE_RESULT_FREED)) return TARN_STATUS_OK;
    return finish_free(pool, address, NULL, stream, freed);
}

/* If an allocation of zero bytes counts as one byte, the common way has not freed it, since the told size is 0. */
static TN_COLD tarn_status finish_free_sized(tarn_pool *pool, void *address, size_t told_bytes,
                                             tarn_stream stream, enum tn_free_result freed)
{
    size_t served_bytes = tn_pool_served_bytes(pool, told_bytes);
    if (served_bytes != told_bytes)
        return tn_free_anywhere(pool, address, &served_bytes, &stream, 1);
    return finish_free(pool, address, &told_bytes, stream, freed);
}

static TN_NOINLINE tarn_status free_block_sized(tarn_pool *pool, void *address, size_t told_bytes,
                                                tarn_stream stream)
{
    enum tn_free_result freed = tn_pool_try_free(pool, (uintptr_t)address, &told_bytes, &stream, 1);
    if (TN_LIKELY(freed == TN_FREE_RESULT_FREED)) return TARN_STATUS_OK;
    return finish_free_sized(pool, address, told_bytes, stream, freed);
}

/* Takes the stream by value, so that the public functions need not store it in memory and can make tail calls. */
static TN_COLD tarn_status free_with_care(tarn_pool *pool, void *address, tarn_stream stream,
                                          const void *caller)
{
    return tn_careful_free(pool, address, NULL, &stream, 1, caller);
}

TN_HOT tarn_status free_on(tarn_pool *pool, void *address, tarn_stream stream)
{
    if (TN_UNLIKELY(!address || tn_pool_needs_care(pool)))
        return free_with_care(pool, address, stream, TN_CALLER);
    return free_block(pool, address, stream);
}

tarn_status tarn_pool_free(tarn_pool *pool, void *address)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return tn_return_to_pool(pool);
    return free_on(pool, address, pool->default_free_stream);
}

tarn_status tarn_pool_free_on(tarn_pool *pool, void *address, tarn_stream stream)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return tn_return_to_pool(pool);
    return free_on(pool, address, stream);
}

tarn_status tarn_pool_free_after(tarn_pool *pool, void *address, const tarn_stream *streams,
                                 size_t stream_count)
{
    if (!tn_pool_is_open(pool)) return tn_return_to_pool(pool);
    if (!streams && stream_count > 0) return tn_fail_for_null("streams");
    return tn_careful_free(pool, address, NULL, streams, stream_count, TN_CALLER);
}

static TN_COLD tarn_status check_and_free_sized(tarn_pool *pool, void *address, size_t size_bytes,
                                                tarn_stream stream, const void *caller)
{
    if (!address && size_bytes > 0) {
        return tn_fail(TARN_STATUS_WRONG_SIZE, "NULL is an allocation of 0 bytes, not of %zu",
                       size_bytes);
    }
    size_bytes = tn_pool_served_bytes(pool, size_bytes);
    return tn_careful_free(pool, address, &size_bytes, &stream, 1, caller);
}

TN_HOT tarn_status free_sized(tarn_pool *pool, void *address, size_t size_bytes, tarn_stream stream)
{
    if (TN_UNLIKELY(!address || tn_pool_needs_care(pool)))
        return check_and_free_sized(pool, address, size_bytes, stream, TN_CALLER);
    return free_block_sized(pool, address, size_bytes, stream);
}

tarn_status tarn_pool_free_sized(tarn_pool *pool, void *address, size_t size_bytes)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return tn_return_to_pool(pool);
    return free_sized(pool, address, size_bytes, pool->default_free_stream);
}

tarn_status tarn_pool_free_sized_on(tarn_pool *pool, void *address, size_t size_bytes,
                                    tarn_stream stream)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return tn_return_to_pool(pool);
    return free_sized(pool, address, size_bytes, stream);
}

/* --- resize -------------------------------------------------------------------------------------- */

TN_HOT tarn_status resize(tarn_pool *pool, void *address, size_t size_bytes, tarn_stream stream)
{
    if (!address) return tn_fail_for_null("address");
    if (size_bytes == 0) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "size_bytes is 0: free the allocation if it is not needed any more");
    }
    return tn_careful_resize(pool, address, size_bytes, stream, TN_CALLER);
}

tarn_status tarn_pool_resize(tarn_pool *pool, void *address, size_t size_bytes)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    return resize(pool, address, size_bytes, pool->default_stream);
}

tarn_status tarn_pool_resize_on(tarn_pool *pool, void *address, size_t size_bytes,
                                tarn_stream stream)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    return resize(pool, address, size_bytes, stream);
}

/* --- batches ------------------------------------------------------------------------------------- */

TN_HOT tarn_status alloc_many(tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                              tarn_stream stream, void **addresses_out)
{
    if (count == 0) return TARN_STATUS_OK;
    if (!sizes_bytes) return tn_fail_for_null("sizes_bytes");
    if (!addresses_out) return tn_fail_for_null("addresses_out");
    if (pool->notes_callers) tn_note_caller(pool, TN_CALLER);
    return tn_batch_alloc(pool, count, sizes_bytes, stream, addresses_out);
}

tarn_status tarn_pool_alloc_many(tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                                 void **addresses_out)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    return alloc_many(pool, count, sizes_bytes, pool->default_stream, addresses_out);
}

tarn_status tarn_pool_alloc_many_on(tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                                    tarn_stream stream, void **addresses_out)
{
    if (!tn_pool_is_open(pool)) return tn_fail_for_pool(pool);
    return alloc_many(pool, count, sizes_bytes, stream, addresses_out);
}

TN_HOT tarn_status free_many(tarn_pool *pool, size_t count, void *const *addresses,
                             tarn_stream stream)
{
    if (count == 0) return TARN_STATUS_OK;
    if (!addresses) return tn_fail_for_null("addresses");
    if (pool->notes_callers) tn_note_caller(pool, TN_CALLER);
    return tn_batch_free(pool, count, addresses, stream);
}

tarn_status tarn_pool_free_many(tarn_pool *pool, size_t count, void *const *addresses)
{
    if (!tn_pool_is_open(pool)) return tn_return_to_pool(pool);
    return free_many(pool, count, addresses, pool->default_free_stream);
}

tarn_status tarn_pool_free_many_on(tarn_pool *pool, size_t count, void *const *addresses,
                                   tarn_stream stream)
{
    if (!tn_pool_is_open(pool)) return tn_return_to_pool(pool);
    return free_many(pool, count, addresses, stream);
}
