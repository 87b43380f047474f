/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_trim: on request, and after a free. */
#include "pool_trim.h"

#include <stdint.h>

#include "../../base/error.h"
#include "../serve/pool_streams.h"

#include "pool_callbacks.h"
#include "piece.h"

tarn_status tn_pool_trim(struct tarn_pool *pool, size_t keep_bytes, size_t *released_bytes_out)
{
    const struct tn_release_rule rule = { .keep_bytes = keep_bytes };
    struct tn_giving_back given = { 0, 0, TARN_BACKEND_RESULT_OK };
    tn_pool_lock_growth(pool);
    /* A function that is told of new memory must not take away what it is to join: the growth would never end. */
    if (pool->arriving_count == 0) given = tn_piece_release_free(pool, &rule);
    tn_pool_tell_given(pool, &given, "tarn_pool_trim");
    tn_pool_unlock_growth(pool);
    if (given.refusal.status != TARN_STATUS_OK) {
        return tn_fail_vendor(TARN_STATUS_VENDOR_ERROR, given.refusal.vendor_code,
                              given.refusal.vendor_name,
                              "the %s backend did not take memory back; %zu bytes were given back",
                              pool->backend.operations->name, given.released_bytes);
    }
    *released_bytes_out = given.released_bytes;
    return TARN_STATUS_OK;
}

static bool take_due_release(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    bool is_due = pool->is_release_due;
    pool->is_release_due = false;
    tn_pool_unlock(pool);
    return is_due;
}

/* Requires: growth_lock. */
static void release_by(struct tarn_pool *pool, const struct tn_release_rule *rule, const char *why)
{
    const struct tn_giving_back given = tn_piece_release_free(pool, rule);
    tn_pool_tell_given(pool, &given, why);
}

/* Requires: growth_lock. */
static void release(struct tarn_pool *pool)
{
    const struct tn_release_rule above_threshold = {
        .keep_free_bytes = pool->release_threshold_bytes,
        .keeps_spare = true,
    };
    const struct tn_release_rule all_when_empty = { .needs_empty = true };
    const struct tn_release_rule all = { 0 };
    if (pool->release_threshold_bytes > 0)
        release_by(pool, &above_threshold, "release_threshold_bytes");
    if (pool->returns_when_empty) release_by(pool, &all_when_empty, "returns_when_empty");
    if (pool->passes_through) release_by(pool, &all, "after a free");
}

/* If another thread holds growth_lock after its own free, that thread also does this release. The growth that brings a
 * static pool does it for functions that are told of that, and the end of captures for frees during them. */
void tn_pool_release_after_free(struct tarn_pool *pool)
{
    bool is_due = !tn_captures_are_under_way();
    while (is_due && tn_pool_try_lock_growth(pool)) {
        bool may_release = pool->arriving_count == 0 && !tn_pool_is_observed_anew(pool),
             was_due = may_release && take_due_release(pool);
        if (was_due) release(pool);
        tn_pool_unlock_growth(pool);
        bool is_put_off = tn_captures_are_under_way();
        tn_pool_lock(pool);
        if (was_due && is_put_off) pool->is_release_due = true;
        is_due = may_release && pool->is_release_due && !tn_captures_are_under_way();
        tn_pool_unlock(pool);
    }
}

void tn_pool_release_put_off(struct tarn_pool *pool)
{
    const struct tn_release_rule none = { .keep_bytes = SIZE_MAX };
    tn_pool_lock_growth(pool);
    release_by(pool, &none, "put off during a capture");
    tn_pool_unlock_growth(pool);
    tn_pool_release_after_free(pool);
}

void tn_pool_release_freed(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    pool->is_release_due = true;
    tn_pool_unlock(pool);
    tn_pool_release_after_free(pool);
}
