/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_life: the order in which a pool's parts come and go. */
#include "pool_life.h"

#include "../../base/error.h"
#include "../serve/pool_streams.h"
#include "../supply/mapped.h"
#include "../supply/pool_trim.h"

#include "debug_pool.h"
#include "pool_registry.h"
#include "recording.h"

tarn_status tn_pool_life_begin(const tarn_pool_options *options, const tarn_backend *backend,
                               bool owns_backend, void *address, tarn_pool **pool_out)
{
    tarn_pool *pool = tn_pool_registry_take_handle();
    if (!pool) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory for a pool");
    }
    tarn_status status = tn_pool_init(pool, options, backend, owns_backend);
    if (status != TARN_STATUS_OK) goto no_pool;
    status = tn_debug_init(pool, options);
    if (status != TARN_STATUS_OK) goto no_memory;
    pool->notes_callers = pool->debug || pool->fallback;
    tn_pool_set_care(pool, TN_CARE_CALLERS, pool->notes_callers);
    if (options->contiguous) status = tn_mapped_reserve_range(pool, options);
    if (status != TARN_STATUS_OK) goto no_memory;
    if (address) status = tn_piece_take_over(pool, address, options->initial_bytes);
    if (status != TARN_STATUS_OK) goto no_memory;
    tn_pool_registry_open(pool);
    tn_recording_set_care(pool);
    *pool_out = pool;
    return TARN_STATUS_OK;

no_memory:
    pool->owns_backend = false; /* it stays the caller's */
    tn_pool_fini(pool);
    tn_debug_fini(pool);
no_pool:
    tn_pool_registry_return_handle(pool);
    return status;
}

tarn_status tn_pool_life_take_initial(tarn_pool *pool, const tarn_pool_options *options)
{
    return options->takes_initial_at_once ? tn_piece_take_initial(pool, options->initial_bytes)
                                          : TARN_STATUS_OK;
}

void tn_pool_life_undo(tarn_pool *pool)
{
    tn_pool_registry_close(pool);
    tn_pool_fini(pool);
    tn_debug_fini(pool);
    tn_pool_registry_return_handle(pool);
}

tarn_pool_options tn_pool_life_options_passing_through(const tarn_pool_options *options)
{
    tarn_pool_options passing = *options;
    passing.passes_through = true;
    passing.initial_bytes = 0;
    passing.takes_initial_at_once = false;
    passing.release_threshold_bytes = 0;
    passing.returns_when_empty = false;
    passing.contiguous = false;
    passing.is_shareable = false;
    passing.debug &= TARN_DEBUG_SITES;
    return passing;
}

tarn_pool_options tn_pool_life_options_over(const tarn_pool_options *options, size_t size_bytes)
{
    tarn_pool_options over = TARN_POOL_OPTIONS_INIT;
    over.chunk_bytes = options->chunk_bytes;
    over.alignment_bytes = options->alignment_bytes;
    over.zero_has_address = options->zero_has_address;
    over.initial_bytes = size_bytes;
    over.limit_bytes = size_bytes;
    over.debug = options->debug;
    over.quarantine_bytes = options->quarantine_bytes;
    over.fit = options->fit;
    over.slices = options->slices;
    over.on_static_pool_created = options->on_static_pool_created;
    over.on_static_pool_destroyed = options->on_static_pool_destroyed;
    over.user = options->user;
    over.name = options->name;
    return over;
}

static void end(struct tarn_pool *pool, void (*fini)(struct tarn_pool *pool))
{
    fini(pool);
    tn_debug_fini(pool);
    tn_pool_registry_rest_handle(pool);
}

/* A backend of the caller's may be closed as soon as the pool is destroyed, so such a pool ends at once. */
void tn_pool_life_end(tarn_pool *pool, void (*fini)(struct tarn_pool *pool))
{
    uint32_t capturing_count = pool->streams ? pool->streams->capturing_count : 0;
    tn_pool_registry_close(pool);
    tn_captures_count_end(capturing_count);
    if (fini == tn_pool_fini && pool->owns_backend && tn_captures_are_under_way()) {
        tn_pool_tell_end(pool);
        tn_pool_registry_postpone(pool);
        capturing_count = 1; /* the last capture may have ended meanwhile */
    } else {
        end(pool, fini);
    }
    if (capturing_count > 0) tn_pool_life_catch_up();
}

void tn_pool_life_catch_up(void)
{
    struct tarn_pool *pool;
    while (!tn_captures_are_under_way() && (pool = tn_pool_registry_take_postponed()) != NULL)
        end(pool, tn_pool_fini);
    if (tn_captures_are_under_way()) return;
    for (pool = tn_pool_registry_pin_next(NULL); pool; pool = tn_pool_registry_pin_next(pool))
        tn_pool_release_put_off(pool);
}

void tn_pool_life_end_forked(tarn_pool *pool)
{
    atomic_store_explicit(&pool->state, TN_POOL_STATE_CLOSED, memory_order_release);
}
