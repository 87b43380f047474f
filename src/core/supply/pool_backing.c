/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_backing: how much, acquire and release, would it help, failures. */
#include "pool_backing.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../serve/gather.h"
#include "../serve/pool_streams.h"

#include "pool_options.h"

/* --- how much -------------------------------------------------------------------------------------- */

/* Bytes of backing that hold the request if the backing is aligned as the request and a chunk need. A static
 * pool for one allocation has only the requested bytes. */
static size_t tight_bytes(const struct tarn_pool *pool, const struct tn_request *request)
{
    if (pool->passes_through) return request->size_bytes;
    return (size_t)request->chunk_count << pool->chunk_log2;
}

static size_t alignment_needed(const struct tarn_pool *pool, const struct tn_request *request)
{
    size_t least = pool->passes_through ? TARN_CHUNK_BYTES_MIN : (size_t)1 << pool->chunk_log2;
    return tn_max(least, request->alignment_bytes);
}

uintptr_t tn_pool_place_in_backing(const struct tarn_pool *pool, const struct tn_request *request,
                                   const struct tn_backing *backing)
{
    uintptr_t address = (uintptr_t)backing->address;
    return address + (-address & (alignment_needed(pool, request) - 1));
}

/* Bytes that hold the request at any alignment that the backend may return, which is at least the one it
 * promises. False: there is no such size. */
static bool ample_bytes(const struct tarn_pool *pool, const struct tn_request *request,
                        size_t *ample_out)
{
    size_t alignment = alignment_needed(pool, request);
    size_t lead =
        alignment > pool->backend_alignment_bytes ? alignment - pool->backend_alignment_bytes : 0;
    return tn_add_fits(tight_bytes(pool, request), lead, ample_out);
}

static struct tn_growth_state growth_state(struct tarn_pool *pool)
{
    struct tn_growth_state state = { .refused_bytes = pool->refused_bytes };
    tn_pool_lock(pool);
    state.footprint_bytes = pool->own.stats.footprint_bytes;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *static_pool = pool->list.by_chunk[i].static_pool;
        state.largest_bytes = tn_max(state.largest_bytes, static_pool->backing_bytes);
    }
    uint32_t numbers =
        tn_static_pool_list_longest_run(&pool->list, TN_START_GROUP_CHUNKS, TN_CHUNK_COUNT_MAX);
    tn_pool_unlock(pool);
    if (!tn_multiply_fits(numbers, (size_t)1 << pool->chunk_log2, &state.numbered_bytes_max)) {
        state.numbered_bytes_max = SIZE_MAX;
    }
    return state;
}

/* --- asking ------------------------------------------------------------------------------------ */

tarn_backend_result tn_pool_meaning_of(tarn_backend_result result)
{
    switch (result.status) {
    case TARN_STATUS_OK:
    case TARN_STATUS_OUT_OF_MEMORY:
    case TARN_STATUS_OUT_OF_HOST_MEMORY:
    case TARN_STATUS_FORKED:
        break;
    case TARN_STATUS_OVER_LIMIT:
        result.status = TARN_STATUS_OUT_OF_MEMORY;
        break;
    default:
        result.status = TARN_STATUS_VENDOR_ERROR;
    }
    return result;
}

static tarn_backend_result acquire(struct tarn_pool *pool, struct tn_backing *backing)
{
    tn_pool_lock(pool);
    pool->own.stats.vendor_alloc_count++;
    tn_pool_unlock(pool);
    return tn_pool_meaning_of(pool->backend.operations->acquire(
        pool->backend.state, backing->size_bytes, &backing->address));
}

tarn_backend_result tn_pool_release_backing(struct tarn_pool *pool,
                                            const struct tn_backing *backing)
{
    pool->refused_bytes = SIZE_MAX;
    tn_pool_lock(pool);
    pool->own.stats.vendor_free_count++;
    tn_pool_unlock(pool);
    tarn_backend_result result = pool->backend.operations->release(
        pool->backend.state, backing->address, backing->size_bytes);
    tn_pool_lock(pool);
    tn_stats_count_shrinkage(&pool->own.stats, backing->size_bytes);
    pool->transit_bytes -= backing->size_bytes;
    tn_pool_unlock(pool);
    return result;
}

void tn_pool_count_arrival(struct tarn_pool *pool, const struct tn_backing *backing)
{
    tn_pool_lock(pool);
    tn_stats_count_growth(&pool->own.stats, backing->size_bytes);
    pool->transit_bytes += backing->size_bytes;
    tn_pool_unlock(pool);
}

/* NULL, or why backing from the backend cannot be used. Such backing is not released, because the effect of
 * that is unknown. */
static const char *fault_of(struct tarn_pool *pool, const struct tn_backing *backing)
{
    uintptr_t address = (uintptr_t)backing->address;
    size_t end;
    if (address == 0) return "its address is NULL";
    if ((address & (pool->backend_alignment_bytes - 1)) != 0) {
        return "it is less aligned than promised";
    }
    if (!tn_add_fits(address, backing->size_bytes, &end)) {
        return "it reaches beyond the last address";
    }
    tn_pool_lock(pool);
    bool overlaps = tn_static_pool_list_overlaps(&pool->list, address, backing->size_bytes);
    tn_pool_unlock(pool);
    return overlaps ? "it overlaps memory that the pool holds" : NULL;
}

/* The pool remembers a refusal until it has returned memory. But other programs return memory too, unseen. So
 * the pool forgets a refusal after a few successes. */
static void note_success(struct tarn_pool *pool)
{
    enum {
        GROWTHS_REMEMBERED = 8
    };
    if (++pool->growths_since_refusal >= GROWTHS_REMEMBERED) pool->refused_bytes = SIZE_MAX;
}

static void note_refusal(struct tarn_pool *pool, size_t size_bytes)
{
    pool->refused_bytes = size_bytes;
    pool->growths_since_refusal = 0;
}

static tarn_backend_result ask_for_free_bytes(struct tarn_pool *pool, struct tn_growth_state *state)
{
    tarn_memory_info info;
    tarn_backend_result result = tn_pool_meaning_of(tn_query_memory(&pool->backend, &info));
    if (result.status == TARN_STATUS_OK) state->device_free_bytes = info.free_bytes;
    return result;
}

/* Bytes that the vendor takes for so many bytes; if these do not fit a size_t, so many bytes. */
static size_t whole_pages(const struct tarn_pool *pool, size_t size_bytes)
{
    size_t rounded;
    bool fits = tn_round_up_fits(size_bytes, pool->growth.granularity_bytes, &rounded);
    return fits ? rounded : size_bytes;
}

/* Asks the backend for less and less, down to the need. OVER_LIMIT: not even the need is allowed, and the
 * backend was not asked. */
static tarn_backend_result acquire_backing(struct tarn_pool *pool, size_t needed,
                                           struct tn_backing *backing_out)
{
    struct tn_growth_state state = growth_state(pool);
    struct tn_growth_policy policy = pool->growth;
    if (pool->arriving_count > 0) {
        policy.initial_bytes = 0;
        policy.takes_all = false;
        policy.growth_bytes_max = whole_pages(pool, needed);
    }
    if (pool->passes_through) {
        policy.growth_bytes_max = needed;
        policy.granularity_bytes = 1;
    }
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    if (tn_growth_wishes_all(&policy, &state)) result = ask_for_free_bytes(pool, &state);
    if (result.status != TARN_STATUS_OK) return result;
    struct tn_backing backing = { NULL, tn_growth_first_bytes(&policy, &state, needed) };
    result.status = TARN_STATUS_OVER_LIMIT;
    while (backing.size_bytes != 0) {
        result = acquire(pool, &backing);
        if (result.status != TARN_STATUS_OUT_OF_MEMORY) break;
        if (backing.size_bytes > needed) note_refusal(pool, backing.size_bytes);
        backing.size_bytes = tn_growth_next_bytes(&policy, &state, backing.size_bytes, needed);
    }
    if (result.status != TARN_STATUS_OK) return result;
    const char *fault = fault_of(pool, &backing);
    if (fault) return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, 0, fault };
    tn_pool_count_arrival(pool, &backing);
    note_success(pool);
    *backing_out = backing;
    return result;
}

static bool can_hold(const struct tarn_pool *pool, const struct tn_backing *backing,
                     const struct tn_request *request)
{
    size_t lead = tn_pool_place_in_backing(pool, request, backing) - (uintptr_t)backing->address;
    size_t needed;
    return tn_add_fits(tight_bytes(pool, request), lead, &needed) && needed <= backing->size_bytes;
}

static tarn_backend_result acquire_ample(struct tarn_pool *pool, const struct tn_request *request,
                                         struct tn_backing *backing_out)
{
    size_t ample;
    if (!ample_bytes(pool, request, &ample))
        return (tarn_backend_result){ TARN_STATUS_OVER_LIMIT, 0, NULL };
    return acquire_backing(pool, ample, backing_out);
}

/* Most vendors align better than they promise, so the tight size is tried first; but not in a pool that
 * passes through, where each allocation should be one vendor call. */
tarn_backend_result tn_pool_acquire_backing(struct tarn_pool *pool,
                                            const struct tn_request *request,
                                            struct tn_backing *backing_out)
{
    if (pool->passes_through) return acquire_ample(pool, request, backing_out);
    tarn_backend_result result = acquire_backing(pool, tight_bytes(pool, request), backing_out);
    if (result.status != TARN_STATUS_OK || can_hold(pool, backing_out, request)) return result;
    tn_pool_release_backing(pool, backing_out);
    return acquire_ample(pool, request, backing_out);
}

/* --- would it help --------------------------------------------------------------------------------- */

size_t tn_pool_wholly_free_bytes_locked(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    size_t bytes = 0;
    if (pool->range) {
        return pool->range->step_bytes *
               tn_step_range_count_free(pool->range, &pool->own.index, tn_pool_held_streams(pool));
    }
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *held = pool->list.by_chunk[i].static_pool;
        if (tn_region_index_span_is_free(&pool->own.index, held->head, tn_pool_held_streams(pool)))
            bytes += held->backing_bytes;
    }
    return bytes;
}

static size_t wholly_free_bytes(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    size_t bytes = tn_pool_wholly_free_bytes_locked(pool);
    tn_pool_unlock(pool);
    return bytes;
}

static size_t used_bytes(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    size_t bytes = pool->own.stats.used_bytes;
    tn_pool_unlock(pool);
    return bytes;
}

/* The largest request that the vendor's calls can serve. Steps serve any size. */
static size_t piece_bytes_max(const struct tarn_pool *pool)
{
    return pool->range ? SIZE_MAX : pool->growth.allocation_bytes_max;
}

bool tn_pool_may_pass_later(struct tarn_pool *pool, const struct tn_request *request,
                            tarn_backend_result result)
{
    size_t needed = tight_bytes(pool, request);
    if (result.status == TARN_STATUS_OUT_OF_MEMORY) return true;
    if (result.status != TARN_STATUS_OVER_LIMIT) return false;
    if (needed > pool->growth.limit_bytes || needed > piece_bytes_max(pool)) return false;
    /* Steps that are partly free may help too. How much is unknown before it is tried. */
    size_t left = pool->range ? used_bytes(pool)
                              : growth_state(pool).footprint_bytes - wholly_free_bytes(pool);
    return left <= pool->growth.limit_bytes - needed;
}

/* --- failing ------------------------------------------------------------------------------------ */

/* Reports why the pool may not ask for even the least size. */
static tarn_status fail_for_caps(struct tarn_pool *pool, const struct tn_request *request)
{
    size_t needed;
    if (!ample_bytes(pool, request, &needed)) {
        return tn_fail(TARN_STATUS_SIZE_TOO_LARGE, "%zu bytes aligned to %zu are too many",
                       request->size_bytes, request->alignment_bytes);
    }
    struct tn_growth_state state = growth_state(pool);
    size_t limit = pool->growth.limit_bytes;
    if (needed > piece_bytes_max(pool)) {
        return tn_fail(TARN_STATUS_OUT_OF_MEMORY,
                       "%zu bytes need a piece of %zu, and the %s backend's largest allocation is "
                       "%zu bytes",
                       request->size_bytes, needed, pool->backend.operations->name,
                       pool->growth.allocation_bytes_max);
    }
    if (pool->range) {
        return tn_fail(TARN_STATUS_OVER_LIMIT,
                       "no free region holds %zu bytes, and the pool cannot map as many steps of "
                       "%zu as they need: it holds %zu of at most %zu bytes",
                       request->size_bytes, pool->range->step_bytes, state.footprint_bytes, limit);
    }
    if (needed > limit || state.footprint_bytes > limit - needed) {
        return tn_fail(TARN_STATUS_OVER_LIMIT,
                       "no free region holds %zu bytes, and the pool cannot grow by the %zu that "
                       "they need: it holds %zu of at most %zu bytes",
                       request->size_bytes, needed, state.footprint_bytes, limit);
    }
    return tn_fail(TARN_STATUS_OUT_OF_MEMORY,
                   "no free region holds %zu bytes, and the pool cannot grow: it can have %zu "
                   "chunks of %zu bytes in all",
                   request->size_bytes, (size_t)TN_CHUNK_COUNT_MAX, (size_t)1 << pool->chunk_log2);
}

tarn_status tn_pool_fail_growth(struct tarn_pool *pool, const struct tn_request *request,
                                tarn_backend_result result)
{
    const char *backend = pool->backend.operations->name;
    if (result.status == TARN_STATUS_OVER_LIMIT) return fail_for_caps(pool, request);
    if (result.status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "the %s backend has no host memory to allocate %zu bytes", backend,
                              request->size_bytes);
    }
    if (result.status == TARN_STATUS_OUT_OF_MEMORY) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "no free region holds %zu bytes, and the %s backend has no more "
                              "memory%s: the pool holds %zu bytes",
                              request->size_bytes, backend,
                              pool->range ? ", or its range no more addresses" : "",
                              growth_state(pool).footprint_bytes);
    }
    return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                          "the %s backend failed to give memory for %zu bytes: %s", backend,
                          request->size_bytes,
                          result.vendor_name ? result.vendor_name : "no reason");
}
