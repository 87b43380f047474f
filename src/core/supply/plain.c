/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plain: the supplier whose pieces are static pools: for growth one, by the backend's acquire and release. */
#include "piece.h"

#include "../../base/arith.h"
#include "../arenas/gather.h"
#include "../serve/pool_streams.h"

#include "pool_options.h"

/* A request is small if it is at most one of so many parts of the most bytes in use. */
#define SMALL_PARTS 256

static const tarn_backend_result over_limit = { TARN_STATUS_OVER_LIMIT, 0, NULL };
static const tarn_backend_result out_of_host_memory = { TARN_STATUS_OUT_OF_HOST_MEMORY, 0, NULL };

/* --- the place of a request ------------------------------------------------------------------------ */

/* Where the request can lie in a piece. */
static uintptr_t place_in(const struct tarn_pool *pool, const struct tn_request *request,
                          const struct tn_piece *piece)
{
    uintptr_t address = (uintptr_t)piece->base;
    return address + (-address & (tn_pool_alignment_needed(pool, request) - 1));
}

static bool can_hold(const struct tarn_pool *pool, const struct tn_piece *piece,
                     const struct tn_request *request)
{
    size_t lead = place_in(pool, request, piece) - (uintptr_t)piece->base, needed;
    return tn_add_fits(tn_pool_tight_bytes(pool, request), lead, &needed) &&
           needed <= piece->size_bytes;
}

/* In a pool that passes through, the static pool is for the request alone. */
static void describe(const struct tarn_pool *pool, struct tn_static_pool *acquired,
                     const struct tn_request *request)
{
    if (pool->passes_through) {
        tn_static_pool_describe_for_one(acquired, pool->chunk_log2,
                                        place_in(pool, request, &acquired->piece),
                                        request->size_bytes);
    } else {
        tn_static_pool_describe(acquired, pool->chunk_log2, TN_CHUNK_COUNT_MAX);
    }
}

/* --- asking the backend ---------------------------------------------------------------------------- */

static tarn_backend_result ask(struct tarn_pool *pool, struct tn_piece *piece)
{
    tn_pool_count_vendor_alloc(pool);
    return tn_pool_meaning_of(
        pool->backend.operations->acquire(pool->backend.state, piece->size_bytes, &piece->base));
}

/* NULL, or why backing from the backend cannot be used. Such backing is not released, because the effect of
 * that is unknown. */
static const char *fault_of(struct tarn_pool *pool, const struct tn_piece *piece)
{
    uintptr_t address = (uintptr_t)piece->base;
    size_t end;
    if (address == 0) return "its address is NULL";
    if ((address & (pool->backend_alignment_bytes - 1)) != 0) {
        return "it is less aligned than promised";
    }
    if (!tn_add_fits(address, piece->size_bytes, &end)) {
        return "it reaches beyond the last address";
    }
    tn_pool_lock(pool);
    bool overlaps = tn_static_pool_list_overlaps(&pool->list, address, piece->size_bytes);
    tn_pool_unlock(pool);
    return overlaps ? "it overlaps memory that the pool holds" : NULL;
}

/* Takes over what the backend has given. */
static tarn_backend_result take_over(struct tarn_pool *pool, struct tn_piece *piece)
{
    const char *fault = fault_of(pool, piece);
    if (fault) return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, 0, fault };
    tn_piece_arrive(pool, piece);
    tn_pool_note_success(pool);
    return TARN_BACKEND_RESULT_OK;
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

/* The policy for a request of so many bytes. While the user is told of memory that is about to join, the pool grows by the
 * need alone. */
static struct tn_growth_policy policy_for(const struct tarn_pool *pool, size_t needed)
{
    struct tn_growth_policy policy = pool->growth;
    if (pool->arriving_count > 0) {
        policy.initial_bytes = 0;
        policy.takes_all = false;
        policy.growth_bytes_max = whole_pages(pool, needed);
    }
    if (pool->passes_through) {
        policy.growth_bytes_max = needed;
        policy.granularity_bytes = policy.common_granularity_bytes = 1;
    }
    return policy;
}

/* Asks the backend for less and less, down to the need. OVER_LIMIT: not even the need is allowed, and the
 * backend was not asked. */
static tarn_backend_result ask_for_less_and_less(struct tarn_pool *pool, size_t needed,
                                                 struct tn_piece *piece)
{
    struct tn_growth_state state = tn_pool_growth_state(pool);
    state.course = pool->growth_course;
    const struct tn_growth_policy policy = policy_for(pool, needed);
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    if (tn_growth_asks_device(&policy, &state, needed)) result = ask_for_free_bytes(pool, &state);
    if (tn_growth_wishes_all(&policy, &state) && result.status != TARN_STATUS_OK) return result;
    size_t *asked_bytes = &piece->size_bytes;
    *asked_bytes = tn_growth_first_bytes(&policy, &state, needed);
    result.status = TARN_STATUS_OVER_LIMIT;
    struct tn_refusals refusals = { .count = 0 };
    while (*asked_bytes != 0) {
        result = ask(pool, piece);
        if (result.status != TARN_STATUS_OK) tn_refusals_count(&refusals, *asked_bytes, result);
        if (result.status != TARN_STATUS_OUT_OF_MEMORY) break;
        if (*asked_bytes > needed) tn_pool_note_refusal(pool, *asked_bytes);
        *asked_bytes = tn_growth_next_bytes(&policy, &state, *asked_bytes, needed);
    }
    tn_pool_tell_refusals(pool, &refusals);
    return result;
}

/* Asks the backend once. */
static tarn_backend_result ask_for_slack(struct tarn_pool *pool, size_t size_bytes,
                                         struct tn_piece *piece)
{
    struct tn_refusals refusals = { .count = 0 };
    piece->size_bytes = size_bytes;
    tarn_backend_result result = ask(pool, piece);
    if (result.status == TARN_STATUS_OK) return result;
    tn_refusals_count(&refusals, size_bytes, result);
    tn_pool_tell_refusals(pool, &refusals);
    tn_pool_note_refusal(pool, size_bytes);
    return result;
}

/* Makes a piece of the memory that one of these functions gets. */
static tarn_backend_result acquire_by(tarn_backend_result (*ask_for)(struct tarn_pool *, size_t,
                                                                     struct tn_piece *),
                                      struct tarn_pool *pool, size_t size_bytes,
                                      struct tn_piece **acquired_out)
{
    struct tn_static_pool *acquired = tn_static_pool_alloc();
    if (!acquired) return out_of_host_memory;
    tarn_backend_result result = ask_for(pool, size_bytes, &acquired->piece);
    if (result.status == TARN_STATUS_OK) result = take_over(pool, &acquired->piece);
    if (result.status == TARN_STATUS_OK) {
        *acquired_out = &acquired->piece;
    } else {
        tn_static_pool_destroy(acquired);
    }
    return result;
}

/* --- acquiring ------------------------------------------------------------------------------------- */

static tarn_backend_result acquire_ample(struct tarn_pool *pool, const struct tn_request *request,
                                         size_t least_bytes, struct tn_piece **acquired_out)
{
    size_t ample;
    if (!tn_pool_ample_bytes(pool, request, &ample)) return over_limit;
    return acquire_by(ask_for_less_and_less, pool, tn_max(ample, least_bytes), acquired_out);
}

/* Acquires at least so many bytes that hold the request. Most vendors align better than they promise, so the
 * tight size is tried first; but not in a pool that passes through, where each allocation should be one vendor
 * call, nor while what does not fit could not be released. */
static tarn_backend_result acquire_fitting(struct tarn_pool *pool, const struct tn_request *request,
                                           size_t least_bytes, struct tn_piece **acquired_out)
{
    if (pool->passes_through || !tn_piece_may_release(pool))
        return acquire_ample(pool, request, least_bytes, acquired_out);
    size_t tight = tn_max(tn_pool_tight_bytes(pool, request), least_bytes);
    tarn_backend_result result = acquire_by(ask_for_less_and_less, pool, tight, acquired_out);
    if (result.status != TARN_STATUS_OK || can_hold(pool, *acquired_out, request)) return result;
    tn_piece_undo(pool, *acquired_out);
    pool->refused_bytes = SIZE_MAX;
    return acquire_ample(pool, request, least_bytes, acquired_out);
}

/* Memory in which the request finds no place, for its alignment, goes back. */
static tarn_backend_result acquire_slack(struct tarn_pool *pool, const struct tn_request *request,
                                         struct tn_piece **acquired_out)
{
    struct tn_growth_state state = tn_pool_growth_state(pool);
    size_t size_bytes =
        tn_growth_slack_bytes(&pool->growth, &state, tn_pool_tight_bytes(pool, request));
    if (size_bytes == 0) return over_limit;
    tarn_backend_result result = acquire_by(ask_for_slack, pool, size_bytes, acquired_out);
    if (result.status != TARN_STATUS_OK || can_hold(pool, *acquired_out, request)) return result;
    tn_piece_undo(pool, *acquired_out);
    tn_pool_note_refusal(pool, size_bytes);
    result.status = TARN_STATUS_OUT_OF_MEMORY;
    return result;
}

/* A chunk of the last bytes may not be whole, so the bytes count and not the chunks that hold them. */
static tarn_backend_result acquire_initial(struct tarn_pool *pool, size_t size_bytes,
                                           struct tn_piece **acquired_out)
{
    const struct tn_request one_chunk = {
        .size_bytes = (size_t)1 << pool->chunk_log2,
        .alignment_bytes = 1,
        .chunk_count = 1,
    };
    return acquire_fitting(pool, &one_chunk, size_bytes, acquired_out);
}

/* With the memory that the vendor refused to take back: it may go back the next time. */
static size_t wholly_free_bytes(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    size_t bytes = tn_piece_wholly_free_bytes(pool) + pool->own.stats.unreleased_bytes;
    tn_pool_unlock(pool);
    return bytes;
}

/* Whether the caps allow the need once so much has gone back. */
static bool may_grow_by(struct tarn_pool *pool, size_t needed, size_t given_bytes)
{
    size_t limit = pool->growth.limit_bytes;
    if (needed > limit || needed > pool->growth.allocation_bytes_max) return false;
    return tn_pool_footprint_bytes(pool) - given_bytes <= limit - needed;
}

/* Gives back what is wholly free, and so too small for the request: what no work may still use, and the rest as far as the
 * pool would hold more than its bound. */
static void make_way(struct tarn_pool *pool, const struct tn_request *request)
{
    const size_t needed = tn_pool_tight_bytes(pool, request);
    size_t free_bytes = wholly_free_bytes(pool);
    struct tn_release_rule rule = { .is_of_idle = true };
    if (pool->passes_through || pool->arriving_count > 0 || free_bytes == 0 ||
        !may_grow_by(pool, needed, free_bytes))
        return;
    do {
        const struct tn_giving_back given = tn_piece_release_free(pool, &rule);
        tn_pool_tell_given(pool, &given, "to have room for growth");
        if (given.released_bytes > 0) pool->growth_course = TN_GROWTH_COURSE_MADE_WAY;
        const struct tn_growth_state state = tn_pool_growth_state(pool);
        rule.enough_bytes = tn_growth_excess_bytes(&pool->growth, &state, needed);
        rule.is_of_idle = !rule.is_of_idle;
    } while (!rule.is_of_idle && rule.enough_bytes > 0);
}

static tarn_backend_result acquire_for_request(struct tarn_pool *pool,
                                               const struct tn_request *request,
                                               struct tn_piece **acquired_out)
{
    if (pool->growth_course != TN_GROWTH_COURSE_FOR_ARENAS) make_way(pool, request);
    return acquire_fitting(pool, request, 0, acquired_out);
}

static tarn_backend_result acquire(struct tarn_pool *pool, const struct tn_request *request,
                                   enum tn_purpose purpose, bool gathers,
                                   struct tn_arrival *arrival_out)
{
    uint64_t begun_ns = tn_log_clock_ns(TARN_LOG_LEVEL_INFO);
    pool->growth_course = gathers ? TN_GROWTH_COURSE_USUAL : TN_GROWTH_COURSE_FOR_ARENAS;
    tarn_backend_result result =
        purpose == TN_PURPOSE_INITIAL
            ? acquire_initial(pool, request->size_bytes, &arrival_out->first)
        : purpose == TN_PURPOSE_SLACK ? acquire_slack(pool, request, &arrival_out->first)
                                      : acquire_for_request(pool, request, &arrival_out->first);
    if (result.status != TARN_STATUS_OK) return result;
    describe(pool, tn_static_pool_of(arrival_out->first), request);
    tn_pool_tell_growth(pool, request->size_bytes, arrival_out->first->size_bytes, begun_ns);
    return result;
}

/* One that holds the request is enough. */
static bool can_reuse(struct tarn_pool *pool, struct tn_piece *refused,
                      const struct tn_request *request, const struct tn_arrival *arrival)
{
    if (arrival->first || !can_hold(pool, refused, request)) return false;
    describe(pool, tn_static_pool_of(refused), request);
    return true;
}

/* --- in the pool ----------------------------------------------------------------------------------- */

/* Before one more: the oldest alone is for small requests, until they find no room there. */
static void make_others_newer(struct tarn_pool *pool, const struct tn_request *request)
{
    struct tn_region_index *index = &pool->own.index;
    size_t used_bytes_max = pool->own.stats.used_bytes_max + tn_request_used_bytes(pool, request);
    index->small_chunk_count_max =
        (uint32_t)tn_min((used_bytes_max / SMALL_PARTS) >> pool->chunk_log2, TN_CHUNK_COUNT_MAX);
    for (uint32_t i = pool->list.count; i-- > 1;) {
        const struct tn_static_pool *static_pool = pool->list.by_chunk[i].static_pool;
        if (static_pool->first_chunk < index->newer_from)
            tn_region_index_make_newer(index, static_pool->head);
    }
    if (index->newer_from == UINT32_MAX) index->newer_from = (uint32_t)pool->list.by_chunk[0].end;
}

static bool insert(struct tarn_pool *pool, const struct tn_request *request,
                   const struct tn_arrival *arrival)
{
    struct tn_static_pool *added = tn_static_pool_of(arrival->first);
    struct tn_region_index *index = &pool->own.index;
    uint32_t first_chunk, chunk_count = added->piece.chunk_count;
    if (!tn_static_pool_list_find_numbers(&pool->list, chunk_count, TN_START_GROUP_CHUNKS,
                                          TN_CHUNK_COUNT_MAX, &first_chunk) ||
        !tn_static_pool_list_reserve(&pool->list) ||
        (pool->list.count > 0 && !tn_region_index_reserve_newer(index)) ||
        !tn_region_index_reserve_span(index, first_chunk, chunk_count))
        return false;
    if (pool->list.count > 0) make_others_newer(pool, request);
    added->first_chunk = first_chunk;
    added->head = tn_region_index_add_span(index, first_chunk, chunk_count);
    tn_static_pool_list_insert(&pool->list, added);
    return true;
}

static bool can_leave(const struct tarn_pool *pool, struct tn_piece *piece, uint32_t held_streams)
{
    return piece->hold_count == 0 &&
           tn_region_index_span_is_free(&pool->own.index, tn_static_pool_of(piece)->head,
                                        held_streams);
}

/* The newest leave first. */
static struct tn_piece *find_free(const struct tarn_pool *pool, struct tn_free_walk *walk)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t held_streams = walk->is_of_idle ? UINT32_MAX : tn_pool_held_streams(pool);
    struct tn_piece *piece = walk->has_begun ? walk->next : pool->pieces.joined.newest;
    while (piece && !can_leave(pool, piece, held_streams))
        piece = piece->older;
    walk->has_begun = true;
    walk->next = piece ? piece->older : NULL;
    return piece;
}

/* The static pool stays in the orders of the list until all that leave with it are detached. */
static bool detach(struct tarn_pool *pool, struct tn_free_walk *walk, struct tn_piece *piece)
{
    (void)walk;
    piece->dependency =
        tn_region_index_remove_span(&pool->own.index, tn_static_pool_of(piece)->head);
    return true;
}

static tarn_backend_result release(struct tarn_pool *pool, struct tn_piece *leaving)
{
    return pool->backend.operations->release(pool->backend.state, leaving->base,
                                             leaving->size_bytes);
}

/* --- would it help --------------------------------------------------------------------------------- */

static size_t count_missing(struct tarn_pool *pool, const struct tn_request *request,
                            tarn_backend_result result, const struct tn_arrival *arrival)
{
    (void)arrival;
    size_t needed = tn_pool_tight_bytes(pool, request), limit = pool->growth.limit_bytes;
    if (result.status == TARN_STATUS_OUT_OF_MEMORY) return needed;
    return may_grow_by(pool, needed, wholly_free_bytes(pool))
               ? tn_pool_excess_bytes(tn_pool_footprint_bytes(pool), needed, limit)
               : 0;
}

const struct tn_supplier tn_plain_supplier = {
    .piece_name = "static pool",
    .can_be_watched = true,
    .description_bytes = sizeof(struct tn_static_pool),
    .acquire = acquire,
    .can_reuse = can_reuse,
    .insert = insert,
    .find_free = find_free,
    .detach = detach,
    .release = release,
    .count_missing = count_missing,
};
