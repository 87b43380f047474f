/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ladder: each rung tries to serve the request. The next rung is tried while nothing fits. If a rung has changed
 * something, such as finding that work has completed, the rungs under growth_lock are tried again.
 *
 *     the pool's own part, with room made in its metadata; then with the arenas gathered, and with memory freed
 *     on streams that this one has waited for
 *     ┌── growth_lock
 *     │   the pool's own part again: another thread may have grown the pool
 *     │   memory freed on other streams, where their work has completed
 *     │   with slack for streams: growth within it, if the next rung would serve the request
 *     │   memory freed on other streams, by making the stream wait
 *     │   slices of other classes and streams
 *     │   growth: the backend is asked for the wished size, for half of it, ..., for the needed size
 *     │   release of wholly free static pools: as much as growth misses, and then the same again, and so on
 *     │   a running function of the user may bring memory: wait for its end
 *     └── the rungs since growth_lock again, until none of them changes anything
 */
#include "ladder.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../arenas/gather.h"
#include "../supply/pool_callbacks.h"
#include "../supply/piece.h"
#include "../supply/pool_trim.h"
#include "../supply/stream_reuse.h"

static bool has_slack(const struct tarn_pool *pool)
{
    return pool->growth.stream_slack > 0.0;
}

static tarn_status fail_for_host_memory(const struct tn_request *request)
{
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                   "the host has no memory to describe an allocation of %zu bytes",
                   request->size_bytes);
}

TN_COLD tarn_status tn_pool_fail_for_size(const struct tarn_pool *pool, size_t size_bytes)
{
    return tn_fail(TARN_STATUS_SIZE_TOO_LARGE,
                   "%zu bytes are more than a static pool can have: %zu chunks of %zu bytes",
                   size_bytes, (size_t)TN_CHUNK_COUNT_MAX, (size_t)1 << pool->chunk_log2);
}

/* --- regions that wait for other streams ------------------------------------------------------- */

/* The regions that a search accepts although they wait for other streams. */
struct reach {
    uint32_t stream;   /* the request's */
    uint32_t awaited;  /* streams, a bit each, that the request's stream can be made to wait for */
    bool with_records; /* and for streams with an event on record; requires growth_lock */
};

static bool is_dependency_in_reach(const struct tarn_pool *pool, const struct reach *reach,
                                   struct tn_dependency dependency)
{
    if (dependency.streams == 0) return true;
    uint32_t rest = tn_stream_table_uncovered(pool->streams, reach->stream, dependency);
    rest &= ~reach->awaited;
    if (rest != 0 && reach->with_records)
        rest = tn_stream_reuse_unrecorded(pool, rest, dependency.time);
    return rest == 0;
}

static bool is_in_reach(const struct tarn_pool *pool, const void *context, uint32_t region)
{
    return is_dependency_in_reach(pool, context,
                                  tn_region_dependency(&pool->own.index.regions[region]));
}

/* The frees that the request's stream can be made to wait for. A made-up stream waits for frees of its kind alone: that
 * is where the vendor's free would have waited. */
static struct reach reach_of(const struct tarn_pool *pool, const struct tn_request *request,
                             uint32_t stream)
{
    if (tn_is_any_stream(request->stream))
        return (struct reach){ stream, tn_stream_reuse_any_frees(pool), false };
    return (struct reach){ stream, tn_stream_reuse_reachable(pool), true };
}

/* The free sets that may have regions, a bit each. */
static uint64_t sets_in_use(const struct tarn_pool *pool)
{
    uint64_t of_streams = ((uint64_t)1 << pool->streams->number_end) - 1;
    return of_streams << tn_free_set_of_stream(0) | TN_FREE_SETS_IDLE |
           (uint64_t)1 << TN_FREE_SET_SHARED;
}

/* The best fit in several free sets, a bit each. */
static struct tn_fit find_fit_in_reach(const struct tarn_pool *pool,
                                       const struct tn_request *request, const struct reach *reach,
                                       uint64_t sets)
{
    struct tn_fit best = TN_FIT_NONE;
    for (sets &= sets_in_use(pool); sets != 0; sets &= sets - 1) {
        unsigned set = tn_lowest_bit(sets);
        if (!tn_region_index_has_set(&pool->own.index, set)) continue;
        best = tn_better_fit(
            &pool->own.index, best,
            tn_find_fit_in_set(pool, &pool->own.index, request, set, is_in_reach, reach));
    }
    return best;
}

/* Finds adjacent free regions that hold the request only together. A region that waits for an unreachable stream stays
 * apart, because the united region would wait for that stream too. */
static struct tn_region_run find_run_for(const struct tarn_pool *pool,
                                         const struct tn_request *request, uint32_t reachable)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_region_run best = { TN_REGION_NONE, 0, UINT32_MAX };
    /* A chunk is aligned to its own size. For more, all but one chunk of an alignment may lie before the
     * request. */
    uint64_t alignment_chunks = tn_max(request->alignment_bytes >> pool->chunk_log2, 1);
    uint64_t wanted = request->chunk_count + alignment_chunks - 1;
    if (wanted > TN_CHUNK_COUNT_MAX) return best;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        struct tn_region_run run =
            tn_region_index_find_run(&pool->own.index, pool->list.by_chunk[i].static_pool->head,
                                     reachable, (uint32_t)wanted);
        if (run.first != TN_REGION_NONE && run.chunk_count < best.chunk_count) best = run;
    }
    return best;
}

/* The best fit among all regions that the stream can be made to wait for. Regions that hold the request only together
 * become one. */
static struct tn_fit find_awaited_fit(struct tarn_pool *pool, const struct tn_request *request,
                                      uint32_t stream)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    const struct reach reach = reach_of(pool, request, stream);
    uint32_t own = (uint32_t)1 << stream;
    struct tn_fit fit = find_fit_in_reach(pool, request, &reach, TN_FREE_SETS_ALL);
    if (fit.region != TN_REGION_NONE) return fit;
    struct tn_region_run run = find_run_for(pool, request, reach.awaited | own);
    if (run.first == TN_REGION_NONE) return fit;
    tn_region_index_unite_run(&pool->own.index, &run);
    return find_fit_in_reach(pool, request, &reach, TN_FREE_SETS_ALL);
}

/* Whether find_awaited_fit would find a fit. */
static bool has_awaited_fit(const struct tarn_pool *pool, const struct tn_request *request,
                            uint32_t stream)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    const struct reach reach = reach_of(pool, request, stream);
    uint32_t own = (uint32_t)1 << stream;
    return find_fit_in_reach(pool, request, &reach, TN_FREE_SETS_ALL).region != TN_REGION_NONE ||
           find_run_for(pool, request, reach.awaited | own).first != TN_REGION_NONE;
}

/* Memory that is taken for a request. It is live, so that no other thread gets it during the vendor's calls. */
struct taken {
    void *address;
    struct tn_dependency dependency; /* the request's stream must wait for it */
    uint32_t stream;      /* number of the request's stream; set before the memory is taken */
    uint32_t slab;        /* withheld, with the slice at the address; or TN_SLAB_NONE */
    uint32_t slab_stream; /* stream of the slab before */
};

/* Takes the chunks of a fit, or the first slice of a chunk. */
static enum tn_served take_fit(struct tarn_pool *pool, const struct tn_request *request,
                               struct tn_fit fit, struct taken *taken)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_part *part = &pool->own;
    if (fit.region == TN_REGION_NONE) return TN_SERVED_NOTHING_FITS;
    if (!tn_serve_make_room(pool, request, taken->stream)) return TN_SERVED_NO_HOST_MEMORY;
    taken->dependency = tn_region_dependency(&pool->own.index.regions[fit.region]);
    taken->slab = TN_SLAB_NONE;
    taken->slab_stream = TN_SLAB_STREAM_NOBODY;
    taken->address = tn_serve_can_cut(pool, request, taken->stream)
                         ? tn_serve_cut_fit(pool, part, request, fit, &taken->slab)
                         : tn_serve_fit(pool, part, request, taken->stream, fit);
    return TN_SERVED;
}

/* --- rung: the pool ------------------------------------------------------------------------------ */

/* Serves the request from memory that was freed on streams which the request's stream has waited for since. A
 * captured stream has waited for none. */
static enum tn_served serve_covered(struct tarn_pool *pool, const struct tn_request *request,
                                    void **address_out)
{
    struct taken taken;
    if (!tn_request_find_stream(pool, &pool->own, request, &taken.stream))
        return TN_SERVED_UNKNOWN_STREAM;
    if (taken.stream == TN_STREAM_NONE || tn_pool_is_captured(pool, taken.stream))
        return TN_SERVED_NOTHING_FITS;
    const struct reach reach = { taken.stream, 0, false };
    uint64_t other_sets = TN_FREE_SETS_ALL & ~tn_pool_own_sets(taken.stream);
    struct tn_fit fit = find_fit_in_reach(pool, request, &reach, other_sets);
    enum tn_served served = take_fit(pool, request, fit, &taken);
    if (served != TN_SERVED) return served;
    if (taken.slab != TN_SLAB_NONE)
        tn_slices_give(&pool->own.slices, taken.slab, taken.stream, true);
    *address_out = taken.address;
    return served;
}

static enum tn_served serve_locked(struct tarn_pool *pool, const struct tn_request *request,
                                   void **address_out)
{
    enum tn_served served = tn_serve_making_room(pool, request, address_out);
    return served == TN_SERVED_NOTHING_FITS ? serve_covered(pool, request, address_out) : served;
}

static enum tn_served serve_from_pool(struct tarn_pool *pool, const struct tn_request *request,
                                      void **address_out)
{
    tn_pool_lock_and_gather(pool);
    enum tn_served served = serve_locked(pool, request, address_out);
    tn_pool_unlock(pool);
    return served;
}

/* The pool's own part, while arenas keep what they have: perhaps only the metadata lacked room. */
static enum tn_served serve_without_gathering(struct tarn_pool *pool,
                                              const struct tn_request *request, void **address_out)
{
    tn_pool_lock(pool);
    enum tn_served served = tn_serve_making_room(pool, request, address_out);
    tn_pool_unlock(pool);
    return served;
}

/* --- rungs under growth_lock: other streams, and slabs ------------------------------------------- */

/* Frees taken memory again, with the dependency that it had. */
static void put_back(struct tarn_pool *pool, const struct tn_request *request,
                     const struct taken *taken)
{
    struct tn_freed freed = { 0 };
    struct tn_place place;
    struct tn_dependency dependency = taken->dependency;
    tn_pool_lock_and_gather(pool);
    if (taken->slab != TN_SLAB_NONE) {
        tn_pool_put_slice_back(pool, taken->slab, taken->address, taken->slab_stream);
        tn_pool_unlock(pool);
        return;
    }
    /* A later time than now: the pool has begun to count its times from 0 again since the take. */
    if (dependency.time > pool->streams->now) dependency.time = 0;
    bool is_freed = tn_place_locate(pool, (uintptr_t)taken->address, &place) &&
                    tn_region_index_free(&pool->own.index, place.chunk, dependency, &freed);
    TN_ASSERT(is_freed);
    (void)is_freed;
    tn_pool_forbid(pool, taken->address, request->size_bytes);
    tn_stats_take_alloc_back(&pool->own.stats, request->size_bytes,
                             tn_request_used_bytes(pool, request));
    tn_part_take_label_back(&pool->own, freed.label, request->size_bytes);
    tn_pool_unlock(pool);
}

/* Makes the request's stream wait for the work that the taken memory waits for, and serves the request. */
static enum tn_served hand_out(struct tarn_pool *pool, const struct tn_request *request,
                               const struct taken *taken, void **address_out)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    tarn_backend_result result = tn_stream_reuse_order(pool, request->stream, taken->dependency);
    if (result.status != TARN_STATUS_OK) {
        put_back(pool, request, taken);
        return TN_SERVED_NOTHING_FITS;
    }
    if (taken->slab != TN_SLAB_NONE) {
        tn_pool_lock_and_gather(pool);
        tn_slices_give(&pool->own.slices, taken->slab, taken->stream, true);
        tn_pool_unlock(pool);
    }
    *address_out = taken->address;
    return TN_SERVED;
}

/* Memory whose streams have completed their work since the pool last asked. With slack, the pool asks about less. Then
 * unnamed frees are recorded: they may be complete as well, and the next rungs reach recorded frees alone. */
static enum tn_served serve_from_completed(struct tarn_pool *pool, const struct tn_request *request,
                                           void **address_out)
{
    enum tn_served served = TN_SERVED_NOTHING_FITS;
    if (has_slack(pool) ? tn_stream_reuse_poll_sparingly(pool) : tn_stream_reuse_poll(pool))
        served = serve_from_pool(pool, request, address_out);
    if (served != TN_SERVED_NOTHING_FITS || !tn_stream_reuse_record_unnamed(pool)) return served;
    return tn_stream_reuse_poll(pool) ? serve_from_pool(pool, request, address_out) : served;
}

/* With slack, asks about all before the pool grows as usual or fails: some memory is had only once work is complete. */
static enum tn_served serve_from_all_completed(struct tarn_pool *pool,
                                               const struct tn_request *request, void **address_out)
{
    return has_slack(pool) && tn_stream_reuse_poll(pool)
               ? serve_from_pool(pool, request, address_out)
               : TN_SERVED_NOTHING_FITS;
}

/* Finds a slab with free or pending slices, of any stream, that is in reach. Returns TN_SLAB_NONE if there is none. */
static uint32_t find_other_slab(const struct tarn_pool *pool, unsigned slice_class,
                                const struct reach *reach)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t slab = TN_SLAB_NONE;
    do {
        slab = tn_slices_find_next(&pool->own.slices, slice_class, slab);
    } while (slab != TN_SLAB_NONE &&
             !is_dependency_in_reach(pool, reach, tn_slices_dependency(&pool->own.slices, slab)));
    return slab;
}

/* Whether pending slices would hold the request if their work were done. Those that wait for nothing are another rung's. */
static bool has_pending_slice(const struct tarn_pool *pool, const struct tn_request *request,
                              uint32_t stream)
{
    const struct reach waiting = reach_of(pool, request, stream), idle = { stream, 0, false };
    unsigned slice_class = request->slice_class;
    return slice_class != TN_SLICE_CLASS_NONE &&
           find_other_slab(pool, slice_class, &idle) == TN_SLAB_NONE &&
           find_other_slab(pool, slice_class, &waiting) != TN_SLAB_NONE;
}

/* Whether memory of unnamed frees would hold the request if its work were done. */
static bool is_worth_waiting(struct tarn_pool *pool, const struct tn_request *request)
{
    uint32_t stream;
    tn_pool_lock_and_gather(pool);
    bool would_fit = pool->streams &&
                     tn_pool_find_introduced_stream(pool, request->stream, &stream) &&
                     (find_awaited_fit(pool, request, stream).region != TN_REGION_NONE ||
                      has_pending_slice(pool, request, stream));
    tn_pool_unlock(pool);
    return would_fit;
}

/* For a made-up stream, which cannot be made to wait: the calling thread waits. It holds no lock meanwhile, because the
 * work may wait for other threads, which free and allocate. Memory that was freed on a named stream is recorded, so that
 * it serves once its work is done.
 *
 * A late record covers work that was submitted after the free. That work may wait for the thread's next call. So the
 * wait for it ends after some 50 ms, unless growth has brought nothing. */
static enum tn_served serve_after_waiting(struct tarn_pool *pool, const struct tn_request *request,
                                          void **address_out)
{
    tn_stream_reuse_settle(pool, 0);
    bool has_end = tn_stream_reuse_is_late(pool) && !request->is_last_resort;
    for (unsigned i = 0; !tn_captures_are_under_way(); i++) {
        enum tn_served served = serve_from_pool(pool, request, address_out);
        if (served != TN_SERVED_NOTHING_FITS || !is_worth_waiting(pool, request)) return served;
        if (has_end && i == TN_STREAM_LOOKS_MAX) return TN_SERVED_NOTHING_FITS;
        bool is_under_way = tn_stream_reuse_pause(pool, i);
        if (is_under_way)
            (void)tn_stream_reuse_record_unnamed(pool); /* by other threads, meanwhile */
        /* If nothing is under way and nothing has ended, the vendor fails to tell. Then nothing would end the wait. */
        if (!tn_stream_reuse_poll(pool) && !is_under_way) return TN_SERVED_NOTHING_FITS;
    }
    return TN_SERVED_NOTHING_FITS;
}

/* Memory freed on other streams that the request's stream can be made to wait for. */
static enum tn_served serve_from_awaited(struct tarn_pool *pool, const struct tn_request *request,
                                         void **address_out)
{
    struct taken taken;
    if (!pool->streams || tn_captures_are_under_way()) return TN_SERVED_NOTHING_FITS;
    if (tn_is_any_stream(request->stream)) return serve_after_waiting(pool, request, address_out);
    enum tn_served served = TN_SERVED_NOTHING_FITS;
    tn_pool_lock_and_gather(pool);
    if (tn_pool_find_introduced_stream(pool, request->stream, &taken.stream)) {
        served = take_fit(pool, request, find_awaited_fit(pool, request, taken.stream), &taken);
        if (served == TN_SERVED_NOTHING_FITS) tn_stream_reuse_want(pool, taken.stream);
    }
    tn_pool_unlock(pool);
    return served == TN_SERVED ? hand_out(pool, request, &taken, address_out) : served;
}

/* Takes a slice of a slab that find_other_slab finds. */
static bool take_awaited_slice(struct tarn_pool *pool, const struct tn_request *request,
                               unsigned slice_class, struct taken *taken)
{
    const struct reach waiting = reach_of(pool, request, taken->stream);
    const struct reach idle = { taken->stream, 0, false };
    uint32_t slab = find_other_slab(pool, slice_class, &idle);
    if (slab == TN_SLAB_NONE && !tn_is_any_stream(request->stream))
        slab = find_other_slab(pool, slice_class, &waiting);
    if (slab == TN_SLAB_NONE) return false;
    taken->slab = slab;
    taken->slab_stream = tn_slices_slab(&pool->own.slices, slab)->stream;
    taken->dependency = tn_slices_dependency(&pool->own.slices, slab);
    tn_slices_withhold(&pool->own.slices, slab);
    taken->address = tn_pool_hand_out_slice(pool, &pool->own, slab, request->size_bytes);
    return true;
}

/* Takes a slice that is large enough, of any class and of any stream. */
static bool take_any_slice(struct tarn_pool *pool, const struct tn_request *request,
                           struct taken *taken)
{
    if (!tn_pool_find_introduced_stream(pool, request->stream, &taken->stream)) return false;
    if (tn_pool_is_captured(pool, taken->stream)) return false;
    bool has_others = pool->streams && !tn_captures_are_under_way();
    for (unsigned i = request->slice_class; i < pool->own.slices.class_count; i++) {
        taken->slab = TN_SLAB_NONE;
        taken->dependency = TN_DEPENDENCY_NONE;
        taken->address =
            tn_pool_take_slice(pool, &pool->own, i, request->size_bytes, taken->stream);
        if (taken->address) return true;
        if (has_others && take_awaited_slice(pool, request, i, taken)) return true;
    }
    return false;
}

/* Free slices of other classes and streams, when no chunk is left to cut. */
static enum tn_served serve_from_slabs(struct tarn_pool *pool, const struct tn_request *request,
                                       void **address_out)
{
    struct taken taken;
    if (request->slice_class == TN_SLICE_CLASS_NONE) return TN_SERVED_NOTHING_FITS;
    tn_pool_lock_and_gather(pool);
    bool is_taken = take_any_slice(pool, request, &taken);
    tn_pool_unlock(pool);
    return is_taken ? hand_out(pool, request, &taken, address_out) : TN_SERVED_NOTHING_FITS;
}

/* --- rung under growth_lock: growth --------------------------------------------------------------- */

/* Serves the request from a static pool of its own, in a pool that passes through. On failure a release is
 * due: alloc_by_growth makes it. */
static TN_COLD enum tn_served serve_alone(struct tarn_pool *pool, struct tn_piece *added,
                                          const struct tn_request *request, void **address_out)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t stream;
    bool is_known = tn_pool_find_introduced_stream(pool, request->stream, &stream);
    if (!is_known || !tn_region_index_reserve(&pool->own.index)) {
        pool->is_release_due = true;
        return is_known ? TN_SERVED_NO_HOST_MEMORY : TN_SERVED_UNKNOWN_STREAM;
    }
    const uint32_t head = tn_static_pool_of(added)->head;
    const struct tn_fit whole = { pool->own.index.regions[head].next, 0 };
    *address_out = tn_serve_fit(pool, &pool->own, request, stream, whole);
    return TN_SERVED;
}

/* Makes the arrival part of the pool and serves the request. New steps may serve it only together with free memory beside
 * them, which another thread may have taken: then nothing fits. */
static enum tn_served join_and_serve(struct tarn_pool *pool, const struct tn_arrival *arrival,
                                     const struct tn_request *request, void **address_out)
{
    /* The lock is held until the request is served, so that no other thread takes the new chunks. */
    tn_pool_lock_and_gather(pool);
    enum tn_served served = TN_SERVED_NO_HOST_MEMORY;
    bool has_joined = tn_piece_join(pool, request, arrival);
    if (has_joined) {
        served = pool->passes_through ? serve_alone(pool, arrival->first, request, address_out)
                                      : serve_locked(pool, request, address_out);
    }
    tn_pool_unlock(pool);
    if (!has_joined) tn_piece_withdraw_arrival(pool, arrival);
    return served;
}

/* The vendor's answer to the request's stream. */
struct introduction {
    tarn_stream refused;
    tarn_backend_result result;
};

/* Serves the request from an arrival. Nothing fits: other threads took the memory, or functions of the user. */
static enum tn_served serve_from_arrival(struct tarn_pool *pool, const struct tn_arrival *arrival,
                                         const struct tn_request *request, void **address_out,
                                         struct introduction *introduction_out)
{
    /* Until something is allocated, a pool knows only the stream that was introduced last. Another thread may
     * have introduced its own while growth_lock was released for the user's function. */
    introduction_out->result =
        tn_stream_reuse_introduce(pool, &request->stream, 1, &introduction_out->refused);
    return join_and_serve(pool, arrival, request, address_out);
}

/* Does so for memory of the usual growth. NOT_READY: nothing fits. */
static tarn_status serve_from_new(struct tarn_pool *pool, const struct tn_arrival *arrival,
                                  const struct tn_request *request, void **address_out)
{
    struct introduction known = { .refused = NULL };
    enum tn_served served = serve_from_arrival(pool, arrival, request, address_out, &known);
    if (served == TN_SERVED) return TARN_STATUS_OK;
    if (served == TN_SERVED_NOTHING_FITS) return TARN_STATUS_NOT_READY;
    if (served == TN_SERVED_UNKNOWN_STREAM)
        return tn_stream_reuse_fail(pool, known.refused, known.result);
    return fail_for_host_memory(request);
}

/* --- rung under growth_lock: slack ---------------------------------------------------------------- */

/* Whether the request would have to wait for another stream, and may have new memory instead. */
static bool may_grow_for_streams(struct tarn_pool *pool, const struct tn_request *request)
{
    uint32_t stream;
    if (!pool->streams || tn_captures_are_under_way() || tn_pool_slack_bytes_max(pool) == 0)
        return false;
    tn_pool_lock_and_gather(pool);
    bool would_wait =
        tn_pool_find_introduced_stream(pool, request->stream, &stream) &&
        (has_awaited_fit(pool, request, stream) || has_pending_slice(pool, request, stream));
    tn_pool_unlock(pool);
    return would_wait;
}

/* New memory, so that the stream need not wait. If there is none, the stream waits. */
static enum tn_served serve_from_slack(struct tarn_pool *pool, const struct tn_request *request,
                                       void **address_out)
{
    struct tn_arrival arrival;
    struct introduction ignored = { .refused = NULL };
    if (!may_grow_for_streams(pool, request)) return TN_SERVED_NOTHING_FITS;
    tarn_backend_result result =
        tn_piece_acquire(pool, request, TN_PURPOSE_SLACK, true, false, &arrival);
    if (result.status != TARN_STATUS_OK) return TN_SERVED_NOTHING_FITS;
    enum tn_served served = serve_from_arrival(pool, &arrival, request, address_out, &ignored);
    return served == TN_SERVED ? served : TN_SERVED_NOTHING_FITS;
}

/* All rungs under growth_lock but growth. */
static enum tn_served serve_from_held(struct tarn_pool *pool, const struct tn_request *request,
                                      void **address_out)
{
    static enum tn_served (*const rungs[])(
        struct tarn_pool *, const struct tn_request *,
        void **) = { serve_from_pool,    serve_from_completed,     serve_from_slack,
                     serve_from_awaited, serve_from_all_completed, serve_from_slabs };
    enum tn_served served = TN_SERVED_NOTHING_FITS;
    if (pool->passes_through) return served;
    for (size_t i = 0; i < sizeof rungs / sizeof rungs[0] && served == TN_SERVED_NOTHING_FITS; i++)
        served = rungs[i](pool, request, address_out);
    return served;
}

/* Gives back what growth misses, and at least twice what this call has given back so far. So many small pieces take
 * few rounds, and few of them go that did not have to. */
static size_t give_back(struct tarn_pool *pool, size_t missing_bytes, size_t given_bytes)
{
    const struct tn_release_rule rule = { .enough_bytes = tn_max(missing_bytes, 2 * given_bytes) };
    if (missing_bytes == 0) return 0;
    const struct tn_giving_back given = tn_piece_release_free(pool, &rule);
    tn_pool_tell_given(pool, &given, "to have room for growth");
    return given.released_bytes;
}

/* The effects of one call's rounds. */
struct rounds {
    size_t given_bytes;  /* to the vendor */
    bool has_taken_back; /* memory that the vendor had refused */
};

/* After growth that brought nothing. NOT_READY: another round may serve the request, because something has changed since
 * the change count was `before`. */
static tarn_status recover(struct tarn_pool *pool, const struct tn_request *request,
                           tarn_backend_result result, size_t missing_bytes, uint64_t before,
                           struct rounds *rounds, void **address_out)
{
    rounds->given_bytes += give_back(pool, missing_bytes, rounds->given_bytes);
    struct tn_request last = *request;
    last.is_last_resort = true;
    /* Other threads may have freed enough during the vendor's calls, and work may have completed. */
    if (pool->change_count == before && serve_from_held(pool, &last, address_out) == TN_SERVED)
        return TARN_STATUS_OK;
    if (pool->change_count != before || tn_pool_await_callback(pool)) return TARN_STATUS_NOT_READY;
    return tn_pool_fail_growth(pool, request, result);
}

/* NOT_READY: none of the rungs serves the request, and something has changed. */
static tarn_status try_rungs(struct tarn_pool *pool, const struct tn_request *request,
                             struct rounds *rounds, void **address_out)
{
    uint64_t before = pool->change_count;
    struct tn_arrival arrival;
    tarn_stream refused = NULL;
    tarn_backend_result result = tn_stream_reuse_introduce(pool, &request->stream, 1, &refused);
    if (result.status != TARN_STATUS_OK) return tn_stream_reuse_fail(pool, refused, result);
    tn_stream_reuse_record_callers(pool, &request->stream, 1, 0);
    enum tn_served served = serve_from_held(pool, request, address_out);
    if (served == TN_SERVED) return TARN_STATUS_OK;
    if (served == TN_SERVED_NO_HOST_MEMORY) return fail_for_host_memory(request);

    result = tn_piece_acquire(pool, request, TN_PURPOSE_REQUEST, true, !rounds->has_taken_back,
                              &arrival);
    rounds->has_taken_back |= arrival.is_taken_back;
    if (result.status == TARN_STATUS_OK)
        return serve_from_new(pool, &arrival, request, address_out);
    size_t missing_bytes = tn_pool_missing_bytes(pool, request, result, &arrival);
    /* An error of the vendor's is no lack of memory: growth is not tried again for what changed before it. */
    if (missing_bytes == 0) before = pool->change_count;
    return recover(pool, request, result, missing_bytes, before, rounds, address_out);
}

/* A request is given up after so many rounds: other threads and functions of the user may change the pool for ever. */
#define ROUND_COUNT_MAX 100

static tarn_status grow_and_serve(struct tarn_pool *pool, const struct tn_request *request,
                                  void **address_out)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    struct rounds rounds = { 0, false };
    tarn_status status = TARN_STATUS_NOT_READY;
    for (unsigned round = 0; round < ROUND_COUNT_MAX && status == TARN_STATUS_NOT_READY; round++)
        status = try_rungs(pool, request, &rounds, address_out);
    if (status != TARN_STATUS_NOT_READY) return status;
    const tarn_backend_result out_of_memory = { TARN_STATUS_OUT_OF_MEMORY, 0, NULL };
    return tn_pool_fail_growth(pool, request, out_of_memory);
}

/* --- the ladder ---------------------------------------------------------------------------------- */

static tarn_status alloc_by_growth(struct tarn_pool *pool, const struct tn_request *request,
                                   void **address_out)
{
    struct tn_request introduced = *request;
    introduced.is_introduced = true;
    tn_pool_lock_growth(pool);
    tarn_status status = grow_and_serve(pool, &introduced, address_out);
    tn_pool_unlock_growth(pool);
    if (!pool->releases_after_free) return status;
    /* While this thread held growth_lock, frees of other threads could release nothing and left that to this
     * thread. The user's function may run here and set another error message. */
    struct tn_saved_error saved = tn_error_save();
    tn_pool_release_after_free(pool);
    tn_error_restore(&saved);
    return status;
}

tarn_status tn_pool_climb(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          tarn_stream stream, void **address_out)
{
    stream = tn_any_stream_of_alloc(stream);
    const struct tn_request request = tn_request_make(pool, size_bytes, alignment_bytes, stream);
    if (request.is_too_large) return tn_pool_fail_for_size(pool, size_bytes);
    if (!pool->passes_through &&
        (serve_without_gathering(pool, &request, address_out) == TN_SERVED ||
         serve_from_pool(pool, &request, address_out) == TN_SERVED))
        return TARN_STATUS_OK;
    return alloc_by_growth(pool, &request, address_out);
}
