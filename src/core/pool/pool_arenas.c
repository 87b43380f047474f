/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_arenas: borrowing, alloc, growth for the arenas, free. */
#include "pool_arenas.h"

#include "../serve/arena_mail.h"
#include "../serve/gather.h"
#include "../supply/pool_members.h"
#include "../supply/stream_reuse.h"

#include "pool_parts.h"

enum {
    LOAN_CHUNKS_MIN = 4096,
    LOAN_REQUESTS = 2, /* a loan holds the request so many times */
    LOAN_PARTS = 4,    /* a loan is at most one of so many parts of the largest free region */
    FOOTPRINT_TO_USED_MAX = 3, /* the pool grows for its arenas only below this ratio */
    PENDING_PARTS =
        8, /* much is pending if it is more than one of so many parts of the footprint */
    PASSED_ON_LIMIT = 1 << 20, /* of passed_on_max */
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

/* --- borrowing --------------------------------------------------------------------------------- */

/* Promises room in the pool's index for all records that the arena's index has room for. On failure, the arena
 * gives up the room that is not promised. */
static bool promise_room(struct tarn_pool *pool, struct tn_arena *arena)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock));
    uint32_t added = arena->part.index.reserved_count - arena->promised_count;
    if (added > 0 && !tn_region_index_promise(&pool->own.index, added)) {
        arena->part.index.reserved_count = arena->promised_count;
        return false;
    }
    arena->promised_count += added;
    return true;
}

/* Promises room in the pool's slices for all slabs that the arena has room for, or else for one. */
static bool promise_slabs(struct tarn_pool *pool, struct tn_arena *arena, unsigned slice_class)
{
    struct tn_slice_class *c = &arena->part.slices.classes[slice_class];
    uint32_t *promised_count = &arena->promised_slab_counts[slice_class];
    uint32_t added = c->reserved_count - *promised_count;
    bool is_promised = added == 0 || tn_slices_promise(&pool->own.slices, slice_class, added);
    if (!is_promised) {
        added = 1;
        is_promised = tn_slices_promise(&pool->own.slices, slice_class, added);
    }
    if (is_promised) *promised_count += added;
    c->reserved_count = *promised_count;
    return is_promised;
}

static bool make_slab_room(struct tarn_pool *pool, struct tn_arena *arena,
                           const struct tn_request *request)
{
    return request->slice_class == TN_SLICE_CLASS_NONE ||
           (tn_slices_reserve(&arena->part.slices, request->slice_class) &&
            promise_slabs(pool, arena, request->slice_class));
}

static bool make_room(struct tarn_pool *pool, struct tn_arena *arena,
                      const struct tn_request *request)
{
    return tn_region_index_reserve(&arena->part.index) && promise_room(pool, arena) &&
           tn_region_index_has_room(&arena->part.index) && make_slab_room(pool, arena, request);
}

static void prepare_slices(const struct tarn_pool *pool, struct tn_arena *arena)
{
    if (!arena->has_slices)
        tn_slices_init(&arena->part.slices, pool->chunk_log2, pool->alignment_bytes);
    arena->has_slices = true;
}

/* Makes the arena's index, with a free set for each stream that has one in the pool's index. */
static bool prepare_index(const struct tarn_pool *pool, struct tn_arena *arena)
{
    if (!arena->has_index) {
        arena->has_index = tn_region_index_init(&arena->part.index, pool->own.index.fit);
        if (!arena->has_index) return false;
        arena->part.index.slack_mask = pool->own.index.slack_mask;
    }
    for (unsigned stream = 0; stream < TN_STREAM_COUNT_MAX; stream++) {
        if (tn_region_index_has_set(&pool->own.index, tn_free_set_of_stream(stream)) &&
            !tn_region_index_add_stream(&arena->part.index, stream))
            return false;
    }
    return true;
}

/* Finds a free region for a loan in which the request fits. Halves the wished size until a region has it. */
static uint32_t find_lender(const struct tarn_pool *pool, const struct tn_arena *arena,
                            uint32_t stream, uint32_t chunk_count, uint32_t *loan_count_out)
{
    uint64_t largest = tn_region_index_largest_free(&pool->own.index);
    uint64_t needed = (uint64_t)chunk_count * LOAN_REQUESTS;
    /* The first loan has half of the chunks that the arena had before the last gather. A further loan adds a
     * quarter. */
    uint64_t more = arena->loan_count == 0 ? arena->lent_before / 2 : arena->lent_chunk_count / 4;
    uint64_t wanted = tn_max(tn_max(needed, more), LOAN_CHUNKS_MIN);
    wanted = tn_max(tn_min(wanted, largest / LOAN_PARTS), needed);
    for (; wanted >= chunk_count; wanted /= 2) {
        /* A span starts at a multiple of TN_START_GROUP_CHUNKS. */
        uint64_t with_lead = wanted + TN_START_GROUP_CHUNKS - 1;
        if (with_lead > TN_CHUNK_COUNT_MAX) continue;
        const struct tn_request run = { .alignment_bytes = 1, .chunk_count = (uint32_t)with_lead };
        struct tn_fit found = tn_find_own_fit(pool, &pool->own.index, &run, stream);
        if (found.region == TN_REGION_NONE) continue;
        *loan_count_out = (uint32_t)wanted;
        return found.region;
    }
    return TN_REGION_NONE;
}

/* Adds the loan to the arena's index. It keeps the dependency of the region that it is cut from. */
static uint32_t add_loan_span(struct tn_arena *arena, uint32_t first_chunk, uint32_t chunk_count,
                              struct tn_dependency dependency)
{
    uint32_t head = tn_region_index_add_span(&arena->part.index, first_chunk, chunk_count);
    if (dependency.streams != 0)
        tn_region_index_change_dependency(&arena->part.index, arena->part.index.regions[head].next,
                                          dependency);
    return head;
}

/* Lends the arena a run of chunks that holds the request. False: nothing fits, no host memory, or the arena has
 * TN_ARENA_LOANS_MAX loans. */
static bool borrow(struct tarn_pool *pool, struct tn_arena *arena, uint32_t stream,
                   uint32_t chunk_count)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock));
    struct tn_arenas *arenas = &pool->arenas;
    uint32_t loan_count;
    if (arena->loan_count == TN_ARENA_LOANS_MAX) return false;
    uint32_t lender = find_lender(pool, arena, stream, chunk_count, &loan_count);
    if (lender == TN_REGION_NONE) return false;
    uint32_t lead = -pool->own.index.regions[lender].first_chunk % TN_START_GROUP_CHUNKS;
    uint32_t first_chunk = pool->own.index.regions[lender].first_chunk + lead;
    if (!tn_region_index_reserve_span(&arena->part.index, first_chunk, loan_count) ||
        !promise_room(pool, arena) || !tn_region_index_reserve(&pool->own.index))
        return false;

    struct tn_dependency dependency = tn_region_dependency(&pool->own.index.regions[lender]);
    tn_region_index_carve(&pool->own.index, lender, lead, loan_count, 0);
    uint32_t head = add_loan_span(arena, first_chunk, loan_count, dependency);
    tn_arenas_add_loan(
        arenas, (struct tn_loan){ first_chunk, loan_count, tn_arena_number(pool, arena), head });
    arena->loan_count++;
    arena->lent_chunk_count += loan_count;
    if (arena->loan_count == 1) {
        arena->is_active = arena->is_open = true;
        arena->part.stats = (struct tn_stats){ 0 };
        atomic_fetch_add_explicit(&arenas->active_count, 1, memory_order_release);
    }
    return true;
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
    bool is_small = request->slice_class != TN_SLICE_CLASS_NONE;
    if (!tn_pool_find_stream(pool, &arena->part, request->stream, &stream) ||
        tn_pool_is_capturing(pool))
        return TN_SERVED_UNKNOWN_STREAM;
    if (!prepare_index(pool, arena)) return TN_SERVED_NO_HOST_MEMORY;
    if (is_small) prepare_slices(pool, arena);
    if (arena->is_active && !make_slab_room(pool, arena, request)) return TN_SERVED_NO_HOST_MEMORY;
    /* Perhaps the arena lacked only room in its metadata, or chunks that kept slabs and posted frees hold. */
    void *address = NULL;
    if (arena->is_active) tn_arena_free_unused(pool, arena);
    if (arena->is_active && make_room(pool, arena, request))
        address = alloc_in(pool, arena, request, stream);
    if (!address && borrow(pool, arena, stream, request->chunk_count) &&
        make_room(pool, arena, request))
        address = alloc_in(pool, arena, request, stream);
    if (!address) return TN_SERVED_NOTHING_FITS;
    *address_out = address;
    return TN_SERVED;
}

static bool is_much_pending(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    /* Memory of captures becomes free for nobody else. */
    return pool->own.index.pending_chunk_count - tn_pool_sum_captured(pool).chunk_count >
           (pool->own.stats.footprint_bytes >> pool->chunk_log2) / PENDING_PARTS;
}

/* Whether the caller must call lend_more, because the pool has served passed_on_max requests itself. */
static bool take_turn_to_lend(struct tarn_pool *pool)
{
    struct tn_arenas *arenas = &pool->arenas;
    if (arenas->passed_on_count < arenas->passed_on_max) return false;
    arenas->passed_on_count = 0;
    if (is_much_pending(pool)) return true;
    arenas->passed_on_max = TN_ARENA_PASSED_ON_MAX;
    return false;
}

/* Serves the request from the arena, after a loan if needed, or else from the pool's own part. The pool's lock
 * is held all the time, so that no other thread takes the memory in between. *is_turn_out: the caller must call
 * lend_more. */
static enum tn_served alloc_or_borrow(struct tarn_pool *pool, struct tn_arena *arena,
                                      const struct tn_request *request, bool *is_turn_out,
                                      void **address_out)
{
    tn_pool_lock(pool);
    tn_biased_mutex_lock(&arena->lock);
    enum tn_served served = borrow_and_alloc(pool, arena, request, address_out);
    tn_biased_mutex_unlock(&arena->lock);
    if (served != TN_SERVED && tn_serve_making_room(pool, request, address_out) == TN_SERVED) {
        served = TN_SERVED;
        pool->arenas.passed_on_count++;
        *is_turn_out = take_turn_to_lend(pool);
    }
    tn_pool_unlock(pool);
    return served;
}

/* --- more to lend ------------------------------------------------------------------------------ */

/* Whether the pool uses enough of its footprint to grow for its arenas. Gathering could find free chunks
 * instead, but most of them wait for the streams of other threads. */
static bool may_grow(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    bool is_well_used =
        !pool->range && !pool->is_over_callers_memory &&
        pool->own.stats.footprint_bytes / FOOTPRINT_TO_USED_MAX < tn_arenas_sum_used(pool);
    tn_pool_unlock(pool);
    return is_well_used;
}

/* Adds a static pool without gathering the arenas. */
static bool grow(struct tarn_pool *pool, const struct tn_request *request)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    struct tn_static_pool *added;
    tarn_backend_result result = tn_pool_acquire(pool, request, &added);
    if (result.status != TARN_STATUS_OK) return false;
    tn_pool_announce(pool, added, request);
    tn_pool_lock(pool);
    tn_arenas_freeze(&pool->arenas);
    bool is_inserted = tn_pool_insert(pool, added);
    tn_arenas_thaw(&pool->arenas);
    tn_pool_unlock(pool);
    if (!is_inserted) tn_pool_withdraw(pool, added);
    return is_inserted;
}

/* Gathers, and finds the freed memory that waits for nothing any more: the pool can lend it to any thread. */
static bool let_all_lend(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    if (!pool->streams || tn_pool_is_capturing(pool)) return false;
    /* No thread borrows until arenas are wanted again. */
    tn_pool_lock_and_gather(pool);
    atomic_store_explicit(&pool->arenas.are_wanted, false, memory_order_relaxed);
    tn_pool_unlock(pool);
    tn_stream_reuse_settle(pool);
    tn_pool_lock_and_gather(pool);
    bool are_wanted = tn_arenas_want(pool);
    tn_pool_unlock(pool);
    return are_wanted;
}

/* Threads that free each other's blocks on streams of their own leave many pending regions in the pool. Each
 * serves only the thread of its stream, and is too small for a loan. So after the pool has served passed_on_max
 * requests itself, one thread finds out what the pool can lend. If much is pending still, that did not help,
 * and passed_on_max doubles. The thread does not wait for growth_lock: its own request is served already. */
static TN_COLD void lend_more(struct tarn_pool *pool)
{
    struct tn_arenas *arenas = &pool->arenas;
    if (!tn_pool_try_lock_growth(pool)) return;
    bool has_lent = let_all_lend(pool);
    tn_pool_lock(pool);
    arenas->passed_on_max = has_lent && is_much_pending(pool)
                                ? (uint32_t)tn_min(arenas->passed_on_max * 2, PASSED_ON_LIMIT)
                                : TN_ARENA_PASSED_ON_MAX;
    tn_pool_unlock(pool);
    tn_pool_unlock_growth(pool);
}

static void free_kept_of_pool(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    tn_pool_free_kept(pool, &pool->own);
    tn_pool_unlock(pool);
}

/* Makes the mailboxes, and a byte for each chunk. Without host memory, frees go on taking the lock of the
 * arena. */
static TN_COLD void cover_chunks(struct tarn_pool *pool)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    tn_pool_lock_and_gather(pool);
    /* Another thread may have made them. */
    if (tn_remote_frees_are_wanted(remote))
        (void)tn_remote_frees_cover(remote, tn_static_pool_list_end_chunk(&pool->list),
                                    TN_ARENA_COUNT);
    tn_pool_unlock(pool);
}

/* Allocates after the arena could not: by a loan, by the pool itself, or by growth for the arenas. */
static TN_COLD void *alloc_by_more(struct tarn_pool *pool, struct tn_arena *arena,
                                   const struct tn_request *request)
{
    /* A loan need not have the alignment that the request asks for. */
    if (request->is_too_large || !tn_request_fits_any_chunk(pool, request)) return NULL;
    bool is_turn = false;
    void *address = NULL;
    enum tn_served served = alloc_or_borrow(pool, arena, request, &is_turn, &address);
    if (served == TN_SERVED_NOTHING_FITS && tn_arenas_are_active(&pool->arenas)) {
        tn_pool_lock_growth(pool);
        free_kept_of_pool(pool);
        /* Another thread may have freed memory or grown the pool. */
        served = alloc_or_borrow(pool, arena, request, &is_turn, &address);
        if (served == TN_SERVED_NOTHING_FITS &&
            (may_grow(pool) ? grow(pool, request) : let_all_lend(pool)))
            alloc_or_borrow(pool, arena, request, &is_turn, &address);
        tn_pool_unlock_growth(pool);
    }
    if (is_turn) lend_more(pool);
    return address;
}

void *tn_arena_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                     tarn_stream handle)
{
    const struct tn_request request = tn_request_make(pool, size_bytes, alignment_bytes, handle);
    uint32_t stream;
    void *address = NULL;
    struct tn_arena *arena = tn_arena_own(pool);
    if (TN_UNLIKELY(tn_remote_frees_are_wanted(&pool->arenas.remote))) cover_chunks(pool);
    tn_biased_mutex_lock(&arena->lock);
    if (TN_UNLIKELY(++arena->call_count % CALLS_TO_MAIL == 0) && arena->is_active)
        tn_arena_empty_mailbox(pool, arena);
    if (TN_LIKELY(arena->is_active && !request.is_too_large &&
                  tn_pool_find_stream(pool, &arena->part, handle, &stream)))
        address = alloc_in(pool, arena, &request, stream);
    tn_biased_mutex_unlock(&arena->lock);
    return TN_LIKELY(address != NULL) ? address : alloc_by_more(pool, arena, &request);
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
