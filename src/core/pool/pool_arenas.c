/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_arenas: borrowing, alloc, growth for the arenas, free. */
#include "pool_arenas.h"

#include "../arenas/arena_loans.h"
#include "../arenas/gather.h"
#include "../supply/piece.h"
#include "../supply/stream_reuse.h"

#include "pool_parts.h"

enum {
    FOOTPRINT_TO_USED_MAX = 3, /* the pool grows for its arenas only below this ratio */
    CALLS_TO_MAIL = 16         /* an arena empties its mailbox at one of so many allocs */
};

/* In the other pools each alloc or each free may need the pool's lock, so arenas would not help. */
static bool may_have_arenas(const struct tarn_pool *pool)
{
    return !pool->debug && !pool->passes_through && !pool->releases_after_free &&
           !pool->identifies_streams && pool->default_free_stream == NULL;
}

bool tn_arenas_want(struct tarn_pool *pool)
{
    struct tn_arenas *arenas = &pool->arenas;
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!may_have_arenas(pool) || !tn_arenas_create(arenas)) return false;
    atomic_store_explicit(&arenas->are_wanted, true, memory_order_release);
    return true;
}

void tn_arenas_note_wait(struct tarn_pool *pool)
{
    if (pool->lock.wait_count < TN_ARENA_WAITS || tn_arenas_are_wanted(&pool->arenas)) return;
    pool->lock.wait_count = 0;
    (void)tn_arenas_want(pool);
}

/* --- alloc ------------------------------------------------------------------------------------- */

/* Allocates in an active arena. NULL: nothing fits, or the metadata has no room. */
static void *alloc_in(struct tarn_pool *pool, struct tn_arena *arena,
                      const struct tn_request *request, uint32_t stream)
{
    bool is_small = request->slice_class != TN_SLICE_CLASS_NONE;
    if (is_small && TN_UNLIKELY(!arena->has_slices ||
                                !tn_slices_can_add(&arena->part.slices, request->slice_class)))
        return NULL;
    void *address = tn_serve_stream(pool, &arena->part, request, stream);
    if (TN_UNLIKELY(pool->arenas.remote.chunk_count > 0) && address && !is_small)
        tn_arena_note_start(pool, arena, (uintptr_t)address);
    return address;
}

/* Allocates in the arena, which first frees its unused chunks and then borrows more. NOTHING_FITS: a larger
 * pool would help. */
static enum tn_served borrow_and_alloc(struct tarn_pool *pool, struct tn_arena *arena,
                                       const struct tn_request *request, void **address_out)
{
    uint32_t stream;
    if (!tn_pool_find_stream(pool, &arena->part, request->stream, &stream) ||
        tn_pool_is_capturing(pool))
        return TN_SERVED_UNKNOWN_STREAM;
    if (!tn_arena_prepare(pool, arena, request)) return TN_SERVED_NO_HOST_MEMORY;
    /* Perhaps the arena lacked only room in its metadata, or chunks that kept slabs and posted frees hold. */
    void *address = NULL;
    if (arena->is_active) {
        tn_arena_free_unused(pool, arena);
        (void)tn_arena_note_completed(pool, arena);
        if (!tn_arena_make_room(pool, arena, request)) return TN_SERVED_NO_HOST_MEMORY;
        address = alloc_in(pool, arena, request, stream);
    }
    if (!address && tn_arena_borrow(pool, arena, stream, request->chunk_count) &&
        tn_arena_make_room(pool, arena, request))
        address = alloc_in(pool, arena, request, stream);
    if (!address) return TN_SERVED_NOTHING_FITS;
    *address_out = address;
    return TN_SERVED;
}

/* Serves the request from the arena, after a loan if needed, or else from the pool's own part. The pool's lock
 * is held all the time, so that no other thread takes the memory in between. */
static enum tn_served alloc_or_borrow(struct tarn_pool *pool, struct tn_arena *arena,
                                      const struct tn_request *request, void **address_out)
{
    tn_pool_lock(pool);
    tn_biased_mutex_lock(&arena->lock);
    enum tn_served served = borrow_and_alloc(pool, arena, request, address_out);
    tn_biased_mutex_unlock(&arena->lock);
    if (served != TN_SERVED && tn_serve_making_room(pool, request, address_out) == TN_SERVED)
        served = TN_SERVED;
    tn_pool_unlock(pool);
    return served;
}

/* --- more to lend ------------------------------------------------------------------------------ */

/* Whether the pool uses enough of its footprint to grow for its arenas. Gathering could find free chunks
 * instead, but most of them are scattered, or wait for the streams of other threads. */
static bool may_grow(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    bool is_well_used =
        !pool->is_over_callers_memory &&
        pool->own.stats.footprint_bytes / FOOTPRINT_TO_USED_MAX < tn_arenas_sum_used(pool);
    tn_pool_unlock(pool);
    return is_well_used;
}

/* Adds memory without gathering the arenas. */
static bool grow(struct tarn_pool *pool, const struct tn_request *request)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    struct tn_arrival arrival;
    tarn_backend_result result =
        tn_piece_acquire(pool, request, TN_PURPOSE_REQUEST, false, true, &arrival);
    if (result.status != TARN_STATUS_OK) return false;
    tn_pool_lock_and_freeze(pool);
    bool has_joined = tn_piece_join(pool, request, &arrival);
    tn_pool_thaw_and_unlock(pool);
    if (!has_joined) tn_piece_withdraw_arrival(pool, &arrival);
    return has_joined;
}

/* Finds out which memory waits for work that is done. `streams`: arenas have memory that waits for these. False: that
 * cannot be known now. */
static bool settle(struct tarn_pool *pool, uint32_t streams)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    if (!pool->streams || tn_pool_is_capturing(pool)) return false;
    tn_stream_reuse_settle(pool, streams);
    return true;
}

/* Gathers, and finds the freed memory that waits for nothing any more: the pool can lend it to any thread. */
static bool let_all_lend(struct tarn_pool *pool)
{
    /* No thread borrows until arenas are wanted again. */
    tn_pool_lock_and_gather(pool);
    atomic_store_explicit(&pool->arenas.are_wanted, false, memory_order_relaxed);
    tn_pool_unlock(pool);
    bool is_settled = settle(pool, 0);
    tn_pool_lock_and_gather(pool);
    bool are_wanted = tn_arenas_want(pool);
    tn_pool_unlock(pool);
    return is_settled && are_wanted;
}

/* Takes a region for the request from another arena, whatever streams it waits for, and finds out whether their work is
 * done. Then the pool can lend it. */
static bool take_back_for(struct tarn_pool *pool, const struct tn_arena *arena,
                          const struct tn_request *request)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    if (tn_pool_is_capturing(pool)) return false;
    tn_pool_lock(pool);
    bool is_taken = tn_arenas_take_fit_back(pool, arena, request->chunk_count);
    tn_pool_unlock(pool);
    if (is_taken) (void)settle(pool, 0);
    return is_taken;
}

/* Other threads have freed much in the arena on their streams. Finds out whether their work is done, unless another thread
 * has done so since. */
static TN_COLD void settle_posted(struct tarn_pool *pool, struct tn_arena *arena)
{
    uint32_t streams;
    tn_pool_lock_growth(pool);
    tn_biased_mutex_lock(&arena->lock);
    bool is_up_to_date = !arena->is_active || tn_arena_note_completed(pool, arena);
    streams = is_up_to_date ? 0 : tn_region_index_pending_streams(&arena->part.index);
    tn_biased_mutex_unlock(&arena->lock);
    if (streams != 0) (void)settle(pool, streams);
    tn_pool_unlock_growth(pool);
}

static void free_kept_of_pool(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    tn_pool_free_kept(pool, &pool->own);
    tn_pool_unlock(pool);
}

/* The chunk after the last that has memory. */
static uint32_t end_of_memory(const struct tarn_pool *pool)
{
    uint32_t end_chunk = tn_static_pool_list_end_chunk(&pool->list);
    if (!pool->range) return end_chunk;
    const struct tn_region *regions = pool->own.index.regions;
    const struct tn_region *last = &regions[regions[pool->range->static_pool->head].previous];
    return tn_region_is_void_at_rest(last) ? last->first_chunk : end_chunk;
}

/* Makes the mailboxes, and a byte for each chunk. Without host memory, frees go on taking the lock of the
 * arena. */
static TN_COLD void cover_chunks(struct tarn_pool *pool)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    tn_pool_lock_and_gather(pool);
    /* Another thread may have made them. */
    if (tn_remote_frees_are_wanted(remote))
        (void)tn_remote_frees_cover(remote, end_of_memory(pool), TN_ARENA_COUNT);
    tn_pool_unlock(pool);
}

/* The last resorts before the ladder: memory whose work is done, then what another arena has free, then growth. */
static enum tn_served alloc_by_growth(struct tarn_pool *pool, struct tn_arena *arena,
                                      const struct tn_request *request, void **address_out)
{
    free_kept_of_pool(pool);
    /* Another thread may have freed memory or grown the pool. */
    enum tn_served served = alloc_or_borrow(pool, arena, request, address_out);
    if (served == TN_SERVED_NOTHING_FITS && settle(pool, 0))
        served = alloc_or_borrow(pool, arena, request, address_out);
    if (served == TN_SERVED_NOTHING_FITS && take_back_for(pool, arena, request))
        served = alloc_or_borrow(pool, arena, request, address_out);
    if (served == TN_SERVED_NOTHING_FITS &&
        (may_grow(pool) ? grow(pool, request) : let_all_lend(pool)))
        served = alloc_or_borrow(pool, arena, request, address_out);
    return served;
}

/* Allocates after the arena could not: by a loan, by the pool itself, or by growth for the arenas. */
static TN_COLD void *alloc_by_more(struct tarn_pool *pool, struct tn_arena *arena,
                                   const struct tn_request *request)
{
    /* A loan need not have the alignment that the request asks for. */
    if (request->is_too_large || !tn_request_fits_any_chunk(pool, request)) return NULL;
    void *address = NULL;
    enum tn_served served = alloc_or_borrow(pool, arena, request, &address);
    if (served == TN_SERVED_NOTHING_FITS && tn_arenas_are_active(&pool->arenas)) {
        tn_pool_lock_growth(pool);
        (void)alloc_by_growth(pool, arena, request, &address);
        tn_pool_unlock_growth(pool);
    }
    return address;
}

static TN_COLD void give_excess_back(struct tarn_pool *pool, struct tn_arena *arena)
{
    tn_pool_lock(pool);
    tn_biased_mutex_lock(&arena->lock);
    tn_arena_give_excess_back(pool, arena);
    tn_biased_mutex_unlock(&arena->lock);
    tn_pool_unlock(pool);
}

/* What an arena does at one of CALLS_TO_MAIL allocs. Returns whether it has to give memory back. */
static bool take_turn(struct tarn_pool *pool, struct tn_arena *arena)
{
    if (!arena->is_active) return false;
    tn_arena_empty_mailbox(pool, arena);
    tn_arena_note_use(pool, arena);
    return tn_arena_has_excess(pool, arena);
}

void *tn_arena_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                     tarn_stream handle)
{
    const struct tn_request request = tn_request_make(pool, size_bytes, alignment_bytes, handle);
    uint32_t stream;
    void *address = NULL;
    struct tn_arena *arena = tn_arena_own(pool);
    bool has_excess = false;
    if (TN_UNLIKELY(tn_remote_frees_are_wanted(&pool->arenas.remote))) cover_chunks(pool);
    tn_biased_mutex_lock(&arena->lock);
    if (TN_UNLIKELY(++arena->call_count % CALLS_TO_MAIL == 0)) has_excess = take_turn(pool, arena);
    if (TN_LIKELY(arena->is_active && !request.is_too_large &&
                  tn_pool_find_stream(pool, &arena->part, handle, &stream)))
        address = alloc_in(pool, arena, &request, stream);
    bool has_to_settle = !address && arena->is_active && tn_arena_has_much_posted(arena);
    tn_biased_mutex_unlock(&arena->lock);
    if (TN_UNLIKELY(has_excess)) give_excess_back(pool, arena);
    if (TN_LIKELY(address != NULL)) return address;
    if (has_to_settle) settle_posted(pool, arena);
    return alloc_by_more(pool, arena, &request);
}

/* --- free -------------------------------------------------------------------------------------- */

/* The arguments of a free. */
struct freeing {
    uintptr_t address;
    const size_t *told_bytes; /* or NULL */
    const tarn_stream *streams;
    size_t stream_count;
};

/* Frees an allocation of an active arena. */
static enum tn_free_result free_in(struct tarn_pool *pool, struct tn_arena *arena,
                                   const struct freeing *freeing)
{
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock));
    struct tn_part *part = &arena->part;
    struct tn_place place;
    struct tn_dependency dependency;
    if (!tn_place_locate(pool, freeing->address, &place)) return TN_FREE_RESULT_NOT_LIVE;
    if (!tn_pool_find_dependency(pool, part, freeing->streams, freeing->stream_count, false,
                                 &dependency))
        return TN_FREE_RESULT_UNKNOWN_STREAM;
    return tn_arena_serve_free(pool, arena, &place, freeing->told_bytes, dependency);
}

/* Posts an allocation of another arena. Requires the lock of the thread's own arena, which is open. False: it
 * is freed by the lock of its arena, for example because its size must be checked. */
static bool post(struct tarn_pool *pool, struct tn_arena *own, const struct freeing *freeing)
{
    struct tn_place place;
    struct tn_dependency dependency;
    return !freeing->told_bytes && tn_place_locate(pool, freeing->address, &place) &&
           tn_pool_find_dependency(pool, &own->part, freeing->streams, freeing->stream_count, false,
                                   &dependency) &&
           tn_arena_post(pool, own, &place, dependency);
}

/* The other arena that has an allocation, by the byte of its first chunk. A free that tells a size cannot be posted,
 * but needs no look for the arena under the pool's lock. Requires the lock of the thread's own arena, which is open.
 * NULL: no byte names one. */
static struct tn_arena *find_other(struct tarn_pool *pool, const struct tn_arena *own,
                                   uintptr_t address)
{
    struct tn_place place;
    if (!tn_place_locate(pool, address, &place)) return NULL;
    uint8_t start = tn_arena_other_start(pool, own, &place);
    return start == TN_START_NOBODYS ? NULL : &pool->arenas.all[start - 1];
}

/* The arena may have been gathered since it was found. Then the answer is NOT_LIVE. */
static enum tn_free_result free_in_other(struct tarn_pool *pool, struct tn_arena *other,
                                         const struct freeing *freeing)
{
    enum tn_free_result freed = TN_FREE_RESULT_NOT_LIVE;
    tn_biased_mutex_lock(&other->lock);
    if (other->is_active) freed = free_in(pool, other, freeing);
    tn_biased_mutex_unlock(&other->lock);
    return freed;
}

/* Lets the thread's own arena borrow and post, until the next gather. */
static void open_own(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(tn_arenas_are_active(&pool->arenas));
    struct tn_arena *own = tn_arena_own(pool);
    tn_biased_mutex_lock(&own->lock);
    own->is_open = true;
    tn_biased_mutex_unlock(&own->lock);
}

/* Locks the arena that the address belongs to and returns it. Returns NULL with the pool locked if there is
 * none. */
static struct tn_arena *lock_arena_of(struct tarn_pool *pool, uintptr_t address)
{
    struct tn_place place;
    tn_pool_lock(pool);
    struct tn_arena *arena = tn_pool_find_arena_of(pool, address, &place);
    if (!arena) return NULL;
    open_own(pool);
    tn_biased_mutex_lock(&arena->lock);
    tn_arena_note_free_by_lock(pool, arena, place.chunk);
    tn_pool_unlock(pool);
    return arena;
}

/* Frees an allocation of another arena or of the pool. A live region of the pool's index is never lent, so it
 * stays there while the pool is locked. */
static enum tn_free_result free_elsewhere(struct tarn_pool *pool, const struct freeing *freeing)
{
    enum tn_free_result freed;
    struct tn_arena *arena = lock_arena_of(pool, freeing->address);
    if (arena) {
        tn_arena_empty_mailbox(pool, arena); /* a full mailbox may have refused the post */
        freed = free_in(pool, arena, freeing);
        tn_biased_mutex_unlock(&arena->lock);
    } else {
        freed = tn_serve_free_of_pool(pool, freeing->address, freeing->told_bytes, freeing->streams,
                                      freeing->stream_count, false);
        tn_pool_unlock(pool);
    }
    return freed;
}

enum tn_free_result tn_arena_free(struct tarn_pool *pool, uintptr_t address,
                                  const size_t *told_bytes, const tarn_stream *streams,
                                  size_t stream_count)
{
    const struct freeing freeing = { address, told_bytes, streams, stream_count };
    enum tn_free_result freed = TN_FREE_RESULT_NOT_LIVE;
    struct tn_arena *arena = tn_arena_own(pool), *other = NULL;
    tn_biased_mutex_lock(&arena->lock);
    if (TN_LIKELY(arena->is_active)) freed = free_in(pool, arena, &freeing);
    if (freed == TN_FREE_RESULT_NOT_LIVE && arena->is_open) {
        if (post(pool, arena, &freeing))
            freed = TN_FREE_RESULT_FREED;
        else if (told_bytes)
            other = find_other(pool, arena, address);
    }
    tn_biased_mutex_unlock(&arena->lock);
    if (other) freed = free_in_other(pool, other, &freeing);
    return TN_LIKELY(freed == TN_FREE_RESULT_FREED) ? freed : free_elsewhere(pool, &freeing);
}
