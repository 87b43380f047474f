/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* elsewhere: the fallbacks in turn, then the reason. */
#include "elsewhere.h"

#include "../../base/error.h"

#include "../pool/pool_use_on.h"

#include "debug_pool.h"
#include "pool_registry.h"

/* The open pool to ask next, or NULL. */
static struct tarn_pool *fallback_of(const struct tarn_pool *pool)
{
    return tn_pool_is_open(pool->fallback) ? pool->fallback : NULL;
}

/* Whether a free or resize through the pool reaches `owner`: the pool itself, or one of its fallbacks. */
static bool reaches(const struct tarn_pool *pool, const struct tarn_pool *owner)
{
    while (pool && pool != owner)
        pool = fallback_of(pool);
    return pool != NULL;
}

/* Whether the pool or one of its fallbacks takes unknown addresses for those of the parent process. */
static bool succeeds_parent(const struct tarn_pool *pool)
{
    while (pool && !pool->succeeds_parent)
        pool = fallback_of(pool);
    return pool != NULL;
}

void tn_note_caller(const struct tarn_pool *pool, const void *caller)
{
    do {
        if (pool->debug) tn_debug_note_caller(pool, caller);
    } while ((pool = fallback_of(pool)) != NULL);
}

/* --- failures -------------------------------------------------------------------------------------- */

TN_COLD tarn_status tn_fail_for_foreign(const void *address)
{
    return tn_fail(TARN_STATUS_FOREIGN_ADDRESS, "%p belongs to no pool", address);
}

TN_COLD tarn_status tn_fail_for_owner(const void *address, const struct tarn_pool *owner,
                                      const struct tarn_pool *pool)
{
    return tn_fail(TARN_STATUS_WRONG_POOL, "%p belongs to the pool%s at %p, not to the one%s at %p",
                   address, tn_pool_registry_quote(owner).text, (const void *)owner,
                   tn_quote_pool(pool).text, (const void *)pool);
}

/* Reports why no live allocation of the pool, or of a fallback, starts at the address. */
static TN_COLD tarn_status fail_for_address(struct tarn_pool *pool, const void *address)
{
    tarn_pool *owner;
    tarn_allocation found;
    enum tn_find_result result = tn_pool_registry_find(address, &owner, &found);
    if (result == TN_FIND_RESULT_FOREIGN) return tn_fail_for_foreign(address);
    if (!reaches(pool, owner)) return tn_fail_for_owner(address, owner, pool);
    if (result == TN_FIND_RESULT_FOUND && found.address != address) {
        return tn_fail(TARN_STATUS_INTERIOR_ADDRESS,
                       "%p lies inside the allocation of %zu bytes that starts at %p", address,
                       found.size_bytes, found.address);
    }
    if (tn_debug_fail_for_freed(owner, address)) return TARN_STATUS_NOT_LIVE;
    return tn_fail(TARN_STATUS_NOT_LIVE, "%p is not allocated: freed twice, or never handed out",
                   address);
}

/* Reports why the address cannot be freed. In a forked child, an address that no pool knows may be the
 * parent's: that is no failure. */
static TN_COLD tarn_status fail_to_free(struct tarn_pool *pool, const void *address)
{
    struct tn_saved_error saved = tn_error_save();
    tarn_status status = fail_for_address(pool, address);
    if (status != TARN_STATUS_FOREIGN_ADDRESS || !succeeds_parent(pool)) return status;
    tn_error_restore(&saved);
    return TARN_STATUS_OK;
}

/* --- asking ---------------------------------------------------------------------------------------- */

TN_COLD tarn_status tn_free_elsewhere(struct tarn_pool *pool, void *address,
                                      const size_t *told_bytes, const tarn_stream *streams,
                                      size_t stream_count)
{
    struct tarn_pool *asked = pool, *next;
    tarn_status status = TARN_STATUS_NOT_LIVE;
    while (status == TARN_STATUS_NOT_LIVE && (next = fallback_of(asked)) != NULL) {
        asked = next;
        status = tn_pool_free_any(asked, address, told_bytes, streams, stream_count);
    }
    return status == TARN_STATUS_NOT_LIVE ? fail_to_free(pool, address) : status;
}

tarn_status tn_free_anywhere(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                             const tarn_stream *streams, size_t stream_count)
{
    tarn_status status = tn_pool_free_any(pool, address, told_bytes, streams, stream_count);
    if (status != TARN_STATUS_NOT_LIVE) return status;
    return tn_free_elsewhere(pool, address, told_bytes, streams, stream_count);
}

tarn_status tn_resize_anywhere(struct tarn_pool *pool, void *address, size_t size_bytes,
                               tarn_stream stream)
{
    struct tarn_pool *asked = pool, *next;
    tarn_status status = tn_pool_resize_any(asked, address, size_bytes, stream);
    while (status == TARN_STATUS_NOT_LIVE && (next = fallback_of(asked)) != NULL) {
        asked = next;
        status = tn_pool_resize_any(asked, address, size_bytes, stream);
    }
    return status == TARN_STATUS_NOT_LIVE ? fail_for_address(pool, address) : status;
}

void tn_find_label_anywhere(struct tarn_pool *pool, const void *address,
                            char label_out[TN_LABEL_BYTES])
{
    while (pool && !tn_debug_find_label(pool, address, label_out))
        pool = fallback_of(pool);
    if (!pool) label_out[0] = '\0';
}

tarn_status tn_use_anywhere(struct tarn_pool *pool, const void *address, tarn_stream stream)
{
    uintptr_t block;
    struct tarn_pool *asked = pool;
    bool is_found = tn_debug_find_start(asked, address, &block);
    while (!is_found && (asked = fallback_of(asked)) != NULL)
        is_found = tn_debug_find_start(asked, address, &block);
    return is_found ? tn_pool_use_on(asked, block, stream) : fail_for_address(pool, address);
}

tarn_status tn_find_usable_bytes_anywhere(struct tarn_pool *pool, const void *address,
                                          size_t *usable_bytes_out)
{
    struct tarn_pool *asked = pool, *next;
    bool is_found = tn_debug_find_usable_bytes(asked, address, usable_bytes_out);
    while (!is_found && (next = fallback_of(asked)) != NULL) {
        asked = next;
        is_found = tn_debug_find_usable_bytes(asked, address, usable_bytes_out);
    }
    return is_found ? TARN_STATUS_OK : fail_for_address(pool, address);
}
