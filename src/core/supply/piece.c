/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* piece: coming, holding, going, and the end. */
#include "piece.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../../base/host_memory.h"
#include "../arenas/footprint.h"
#include "../arenas/gather.h"
#include "../serve/pool_streams.h"

#include "pool_callbacks.h"
#include "pool_watch.h"
#include "stream_reuse.h"

/* --- coming ---------------------------------------------------------------------------------------- */

static void begin_life(struct tarn_pool *pool, struct tn_piece *piece)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    TN_ASSERT(tn_pool_is_locked(pool));
    piece->state = TN_PIECE_STATE_ARRIVING;
    piece->is_initial = tn_footprint_is_initial(pool, piece);
    piece->id = tn_static_pool_take_id();
    piece->told = 0;
    piece->is_idle = false;
    tn_piece_chain_push(&pool->pieces.arriving, piece);
}

void tn_piece_arrive(struct tarn_pool *pool, struct tn_piece *piece)
{
    tn_pool_lock(pool);
    begin_life(pool, piece);
    tn_stats_count_growth(&pool->own.stats, piece->size_bytes);
    pool->transit_bytes += piece->size_bytes;
    tn_footprint_note_growth(pool, piece);
    tn_pool_unlock(pool);
}

/* Lets pieces arrive again that the vendor has refused, that no work uses, and that are of use for the request. Returns
 * whether there are any. */
static bool take_back(struct tarn_pool *pool, const struct tn_request *request,
                      struct tn_arrival *arrival)
{
    bool (*can_reuse)(struct tarn_pool *, struct tn_piece *, const struct tn_request *,
                      const struct tn_arrival *) = pool->supplier->can_reuse;
    struct tn_piece **end = &arrival->first, *older;
    for (struct tn_piece *piece = pool->pieces.leaving.newest; piece; piece = older) {
        older = piece->older;
        if (piece->state != TN_PIECE_STATE_REFUSED || piece->dependency.streams != 0) continue;
        if (can_reuse && !can_reuse(pool, piece, request, arrival)) continue;
        tn_pool_lock_and_gather(pool);
        tn_piece_chain_remove(&pool->pieces.leaving, piece);
        pool->own.stats.unreleased_bytes -= piece->size_bytes;
        begin_life(pool, piece);
        tn_pool_unlock(pool);
        piece->next = NULL;
        *end = piece;
        end = &piece->next;
    }
    arrival->is_taken_back = arrival->first != NULL;
    return arrival->is_taken_back;
}

/* Tells the user of pieces that arrive, and then the tools. */
static void announce(struct tarn_pool *pool, struct tn_piece *first)
{
    tn_pool_tell_created(pool, first);
    for (struct tn_piece *piece = first; piece; piece = piece->next)
        tn_pool_watch_begin(pool, piece);
}

tarn_backend_result tn_piece_acquire(struct tarn_pool *pool, const struct tn_request *request,
                                     enum tn_purpose purpose, bool gathers, bool takes_back,
                                     struct tn_arrival *arrival_out)
{
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    *arrival_out = (struct tn_arrival){ .first = NULL };
    if (!takes_back || !take_back(pool, request, arrival_out))
        result = pool->supplier->acquire(pool, request, purpose, gathers, arrival_out);
    if (result.status == TARN_STATUS_OK) announce(pool, arrival_out->first);
    return result;
}

static void join(struct tarn_pool *pool, struct tn_piece *piece)
{
    struct tn_pieces *pieces = &pool->pieces;
    tn_piece_chain_remove(&pieces->arriving, piece);
    tn_piece_chain_push(&pieces->joined, piece);
    piece->state = TN_PIECE_STATE_JOINED;
    pieces->joined_count++;
    pieces->joined_bytes += piece->size_bytes;
    pieces->joined_chunk_count += piece->chunk_count;
    pool->transit_bytes -= piece->size_bytes;
    tn_pool_forbid(pool, piece->base, piece->size_bytes);
}

bool tn_piece_join(struct tarn_pool *pool, const struct tn_request *request,
                   const struct tn_arrival *arrival)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!pool->supplier->insert(pool, request, arrival)) return false;
    for (struct tn_piece *piece = arrival->first; piece; piece = piece->next)
        join(pool, piece);
    return true;
}

/* --- holding --------------------------------------------------------------------------------------- */

/* Returns the piece of that id. NULL: it is not in the pool, nor on its way into it. */
static struct tn_piece *find(const struct tarn_pool *pool, uint64_t id)
{
    struct tn_piece *found = tn_piece_chain_find(&pool->pieces.joined, id);
    return found ? found : tn_piece_chain_find(&pool->pieces.arriving, id);
}

static void set_hold_count(struct tarn_pool *pool, struct tn_piece *piece, uint32_t count)
{
    tn_pool_lock(pool);
    pool->pieces.held_count -= piece->hold_count > 0;
    piece->hold_count = count;
    pool->pieces.held_count += count > 0;
    tn_pool_unlock(pool);
}

static TN_COLD tarn_status fail_to_hold(const struct tarn_pool *pool, uint64_t id, const char *why)
{
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%s %llu %s", pool->supplier->piece_name,
                   (unsigned long long)id, why);
}

tarn_status tn_piece_hold(struct tarn_pool *pool, uint64_t id)
{
    tarn_status status = TARN_STATUS_OK;
    tn_pool_lock_growth(pool);
    struct tn_piece *piece = find(pool, id);
    if (!piece)
        status = fail_to_hold(pool, id, "is not in the pool");
    else if (piece->hold_count == UINT32_MAX)
        status = fail_to_hold(pool, id, "is held too often");
    else
        set_hold_count(pool, piece, piece->hold_count + 1);
    tn_pool_unlock_growth(pool);
    return status;
}

tarn_status tn_piece_unhold(struct tarn_pool *pool, uint64_t id)
{
    tarn_status status = TARN_STATUS_OK;
    tn_pool_lock_growth(pool);
    struct tn_piece *piece = find(pool, id);
    if (!piece) {
        status = fail_to_hold(pool, id, "is not in the pool");
    } else if (piece->hold_count == 0) {
        status = fail_to_hold(pool, id, "is not held");
    } else {
        set_hold_count(pool, piece, piece->hold_count - 1);
        pool->change_count++;
    }
    tn_pool_unlock_growth(pool);
    return status;
}

/* --- going: one piece ------------------------------------------------------------------------------ */

bool tn_piece_may_release(const struct tarn_pool *pool)
{
    return pool->is_ending || !tn_captures_are_under_way();
}

/* Moves a piece out of the chain that it is in. */
static void begin_to_leave(struct tarn_pool *pool, struct tn_piece_chain *chain,
                           struct tn_piece *piece)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    tn_piece_chain_remove(chain, piece);
    tn_piece_chain_push(&pool->pieces.leaving, piece);
    piece->state = TN_PIECE_STATE_LEAVING;
}

/* A piece leaves the pool, and is in transit. Its chunks are out of the index. While the pool knows one stream, free memory
 * may be in use. */
static void leave(struct tarn_pool *pool, struct tn_piece *piece)
{
    struct tn_pieces *pieces = &pool->pieces;
    begin_to_leave(pool, &pieces->joined, piece);
    piece->is_idle = pool->streams && piece->dependency.streams == 0;
    piece->told = pool->newest_observer;
    piece->next = NULL;
    pieces->joined_count--;
    pieces->joined_bytes -= piece->size_bytes;
    pieces->joined_chunk_count -= piece->chunk_count;
    pool->transit_bytes += piece->size_bytes;
}

/* A piece leaves that has not joined. No work uses it. */
static void turn_back(struct tarn_pool *pool, struct tn_piece *piece)
{
    TN_ASSERT(piece->state == TN_PIECE_STATE_ARRIVING);
    tn_pool_lock_and_gather(pool);
    pool->pieces.held_count -= piece->hold_count > 0;
    piece->hold_count = 0;
    piece->dependency = TN_DEPENDENCY_NONE;
    begin_to_leave(pool, &pool->pieces.arriving, piece);
    tn_pool_unlock(pool);
}

/* Counts the result of a release. NOT_READY: the vendor was not asked. */
static void count_release(struct tarn_pool *pool, const struct tn_piece *piece, bool was_refused,
                          tarn_backend_result result)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (result.status != TARN_STATUS_NOT_READY) {
        tn_stats_count_release(&pool->own.stats, piece->size_bytes, was_refused,
                               result.status != TARN_STATUS_OK);
    } else if (!was_refused) {
        pool->own.stats.unreleased_bytes += piece->size_bytes;
    }
    if (result.status == TARN_STATUS_OK) {
        pool->transit_bytes -= piece->size_bytes;
        pool->change_count++;
    }
}

/* Gives a piece that leaves back to the vendor, and frees it. If the vendor does not take it, it is refused. */
static tarn_backend_result release(struct tarn_pool *pool, struct tn_piece *leaving)
{
    bool was_refused = leaving->state == TN_PIECE_STATE_REFUSED;
    tn_pool_lock(pool);
    leaving->state = TN_PIECE_STATE_LEAVING;
    tn_pool_unlock(pool);
    tarn_backend_result result = { TARN_STATUS_NOT_READY, 0, NULL };
    if (tn_piece_may_release(pool)) {
        result = pool->supplier->release(pool, leaving);
        if (result.status == TARN_STATUS_NOT_READY) result.status = TARN_STATUS_VENDOR_ERROR;
    }
    bool is_released = result.status == TARN_STATUS_OK;
    tn_pool_lock_and_gather(pool);
    count_release(pool, leaving, was_refused, result);
    if (is_released) {
        tn_piece_chain_remove(&pool->pieces.leaving, leaving);
        if (pool->supplier->forget) pool->supplier->forget(pool, leaving);
    } else {
        leaving->state = TN_PIECE_STATE_REFUSED;
    }
    tn_pool_unlock(pool);
    if (!is_released) return result;
    pool->refused_bytes = SIZE_MAX;
    tn_host_memory_free(leaving);
    return result;
}

void tn_piece_undo(struct tarn_pool *pool, struct tn_piece *arrived)
{
    uint64_t change_count = pool->change_count;
    size_t refused_bytes = pool->refused_bytes;
    turn_back(pool, arrived);
    (void)release(pool, arrived);
    pool->change_count = change_count;
    pool->refused_bytes = refused_bytes;
}

/* Counts a piece that has left the pool, with the vendor's answer. */
static void count_given(struct tn_giving_back *given, size_t size_bytes, tarn_backend_result result)
{
    given->detached_bytes += size_bytes;
    if (result.status == TARN_STATUS_OK) {
        given->released_bytes += size_bytes;
    } else if (result.status != TARN_STATUS_NOT_READY) {
        given->refusal = result;
    }
}

struct tn_giving_back tn_piece_release_refused(struct tarn_pool *pool)
{
    struct tn_giving_back given = { 0, 0, TARN_BACKEND_RESULT_OK };
    if (!tn_piece_may_release(pool)) return given;
    for (struct tn_piece *piece = pool->pieces.leaving.newest, *older; piece; piece = older) {
        older = piece->older;
        if (piece->state != TN_PIECE_STATE_REFUSED) continue;
        size_t size_bytes = piece->size_bytes;
        count_given(&given, size_bytes, release(pool, piece));
    }
    return given;
}

/* Tells the user that these pieces go, and gives them back. */
static void withdraw(struct tarn_pool *pool, struct tn_piece *first, struct tn_giving_back *given)
{
    for (struct tn_piece *piece = first, *next; piece; piece = next) {
        size_t size_bytes = piece->size_bytes;
        next = piece->next;
        tn_pool_allow(pool, piece->base, piece->size_bytes);
        tn_pool_tell_destroyed(pool, piece);
        tn_pool_watch_end(pool, piece);
        count_given(given, size_bytes, release(pool, piece));
    }
}

void tn_piece_withdraw_arrival(struct tarn_pool *pool, const struct tn_arrival *arrival)
{
    struct tn_giving_back ignored = { 0, 0, TARN_BACKEND_RESULT_OK };
    for (struct tn_piece *piece = arrival->first; piece; piece = piece->next)
        turn_back(pool, piece);
    withdraw(pool, arrival->first, &ignored);
}

/* --- going: those that are wholly free --------------------------------------------------------------- */

/* What a rule may still let go. */
struct releasable {
    size_t held_bytes; /* by the pool */
    size_t free_bytes; /* of pieces that can leave */
    size_t free_count;
    size_t detached_bytes;
};

static struct releasable sum_up_releasable(const struct tarn_pool *pool, bool is_of_idle)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct releasable sum = { pool->own.stats.footprint_bytes - pool->transit_bytes, 0, 0, 0 };
    struct tn_free_walk walk = { .is_of_idle = is_of_idle };
    const struct tn_piece *piece;
    if (tn_pool_is_observed_anew(pool)) return sum;
    while ((piece = pool->supplier->find_free(pool, &walk)) != NULL) {
        sum.free_bytes += piece->size_bytes;
        sum.free_count++;
    }
    return sum;
}

size_t tn_piece_wholly_free_bytes(const struct tarn_pool *pool)
{
    return sum_up_releasable(pool, false).free_bytes;
}

/* Whether the rule has let enough go. */
static bool is_done(const struct releasable *left, const struct tn_release_rule *rule)
{
    return left->free_bytes <= rule->keep_free_bytes ||
           (rule->keeps_spare && left->free_count == 1) ||
           (rule->enough_bytes > 0 && left->detached_bytes >= rule->enough_bytes);
}

/* Detaches the pieces that the rule lets go. Returns the first; the others follow by `next`. */
static struct tn_piece *detach_all(struct tarn_pool *pool, const struct tn_release_rule *rule)
{
    struct tn_piece *first = NULL, **end = &first, *piece;
    struct tn_free_walk walk = { .is_of_idle = rule->is_of_idle, .place = rule->place };
    if (pool->is_over_callers_memory || tn_captures_are_under_way()) return NULL;
    if (rule->needs_empty && pool->own.stats.live_count > 0) return NULL;
    struct releasable left = sum_up_releasable(pool, rule->is_of_idle);
    while (!is_done(&left, rule) && (piece = pool->supplier->find_free(pool, &walk)) != NULL) {
        if (left.held_bytes - piece->size_bytes < rule->keep_bytes) continue;
        if (!pool->supplier->detach(pool, &walk, piece)) break;
        leave(pool, piece);
        *end = piece;
        end = &piece->next;
        left.held_bytes -= piece->size_bytes;
        left.free_bytes -= piece->size_bytes;
        left.detached_bytes += piece->size_bytes;
        left.free_count--;
    }
    tn_static_pool_list_remove_leaving(&pool->list);
    return first;
}

/* Pieces stay that were just detached: the user was not told. Returns NULL. */
static struct tn_piece *stay(struct tarn_pool *pool, struct tn_piece *first)
{
    const struct tn_arrival arrival = { .first = first };
    tn_pool_lock_and_gather(pool);
    for (struct tn_piece *piece = first; piece; piece = piece->next) {
        tn_piece_chain_remove(&pool->pieces.leaving, piece);
        tn_piece_chain_push(&pool->pieces.arriving, piece);
    }
    (void)tn_piece_join(pool, NULL, &arrival);
    tn_pool_unlock(pool);
    return NULL;
}

/* While the pool knows one stream, only an idle device shows that no work uses its free memory. It is asked once the pieces
 * are detached, so that no other thread frees memory in between. Returns those that may go. */
static struct tn_piece *keep_idle(struct tarn_pool *pool, struct tn_piece *first)
{
    if (!first || pool->streams) return first;
    if (!tn_stream_reuse_is_device_idle(pool)) return stay(pool, first);
    for (struct tn_piece *piece = first; piece; piece = piece->next)
        piece->is_idle = true;
    return first;
}

struct tn_giving_back tn_piece_release_free(struct tarn_pool *pool,
                                            const struct tn_release_rule *rule)
{
    struct tn_giving_back given = tn_piece_release_refused(pool);
    tn_pool_lock_and_gather(pool);
    struct tn_piece *detached = detach_all(pool, rule);
    tn_pool_unlock(pool);
    if (rule->asks_device) detached = keep_idle(pool, detached);
    withdraw(pool, detached, &given);
    return given;
}

/* --- the first --------------------------------------------------------------------------------------- */

/* Adds memory at the beginning of the pool. */
static tarn_status add(struct tarn_pool *pool, const struct tn_request *request,
                       const struct tn_arrival *arrival)
{
    size_t size_bytes = arrival->first->size_bytes;
    tn_pool_lock_and_gather(pool);
    bool has_joined = tn_piece_join(pool, request, arrival);
    tn_pool_unlock(pool);
    if (has_joined) return TARN_STATUS_OK;
    tn_piece_withdraw_arrival(pool, arrival);
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                   "the host has no memory to describe a static pool of %zu bytes", size_bytes);
}

tarn_status tn_piece_take_initial(struct tarn_pool *pool, size_t initial_bytes)
{
    if (initial_bytes == TARN_INITIAL_ALL) initial_bytes = 1;
    size_t chunk_bytes = (size_t)1 << pool->chunk_log2;
    size_t chunk_count = tn_count_units(initial_bytes, pool->chunk_log2);
    if (chunk_count > TN_CHUNK_COUNT_MAX) {
        return tn_fail(TARN_STATUS_SIZE_TOO_LARGE,
                       "initial_bytes is %zu, more than a static pool can have: %zu chunks of %zu "
                       "bytes",
                       initial_bytes, (size_t)TN_CHUNK_COUNT_MAX, chunk_bytes);
    }
    const struct tn_request request = {
        .size_bytes = tn_max(initial_bytes, chunk_bytes),
        .alignment_bytes = 1,
        .chunk_count = (uint32_t)chunk_count,
    };
    struct tn_arrival arrival;
    tn_pool_lock_growth(pool);
    tarn_backend_result result =
        tn_piece_acquire(pool, &request, TN_PURPOSE_INITIAL, true, false, &arrival);
    tarn_status status = result.status == TARN_STATUS_OK
                             ? add(pool, &request, &arrival)
                             : tn_pool_fail_growth(pool, &request, result);
    tn_pool_unlock_growth(pool);
    return status;
}

tarn_status tn_piece_take_over(struct tarn_pool *pool, void *address, size_t size_bytes)
{
    struct tn_static_pool *given = tn_static_pool_alloc();
    if (!given) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "the host has no memory to describe a static pool of %zu bytes", size_bytes);
    }
    given->piece.base = address;
    given->piece.size_bytes = size_bytes;
    tn_static_pool_describe(given, pool->chunk_log2, TN_CHUNK_COUNT_MAX);
    pool->is_over_callers_memory = true;
    const struct tn_arrival arrival = { .first = &given->piece };
    tn_pool_lock_growth(pool);
    tn_piece_arrive(pool, arrival.first);
    announce(pool, arrival.first);
    tarn_status status = add(pool, NULL, &arrival);
    tn_pool_unlock_growth(pool);
    return status;
}

/* --- the end of the pool ----------------------------------------------------------------------------- */

void tn_piece_tell_end(struct tarn_pool *pool)
{
    struct tn_piece *piece = pool->pieces.joined.newest;
    while (piece && piece->older)
        piece = piece->older;
    for (; piece; piece = piece->newer) {
        piece->told = pool->newest_observer;
        tn_pool_tell_destroyed(pool, piece);
    }
    tn_pool_end_observers(pool);
}

void tn_piece_allow_all(const struct tarn_pool *pool)
{
    for (const struct tn_piece *piece = pool->pieces.joined.newest; piece; piece = piece->older)
        tn_pool_allow(pool, piece->base, piece->size_bytes);
}

void tn_piece_release_all(struct tarn_pool *pool)
{
    struct tn_piece *piece;
    tn_piece_allow_all(pool);
    while ((piece = pool->pieces.joined.newest) != NULL) {
        tn_pool_watch_end(pool, piece);
        tn_pool_lock_and_gather(pool);
        leave(pool, piece);
        tn_pool_unlock(pool);
        (void)release(pool, piece);
    }
    (void)tn_piece_release_refused(pool);
    tn_pool_tell_lost(pool, pool->own.stats.unreleased_bytes);
    pool->list.count = 0;
    if (pool->supplier->end) pool->supplier->end(pool);
}

static void free_chain(struct tn_piece_chain *chain)
{
    struct tn_piece *freed;
    while ((freed = chain->newest) != NULL) {
        tn_piece_chain_remove(chain, freed);
        tn_host_memory_free(freed);
    }
}

void tn_piece_free_all(struct tarn_pool *pool)
{
    free_chain(&pool->pieces.joined);
    free_chain(&pool->pieces.leaving);
}
