/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_arenas: borrowing, allocating and freeing in arenas, gathering. */
#include "pool_arenas.h"

#include "../../base/host_memory.h"

#include "../serve/arena_mail.h"
#include "../supply/pool_members.h"

enum {
    LOAN_CHUNKS_MIN = 4096,
    /* An arena borrows so many times what it lacks, and leaves the pool so many parts of its largest
     * free region but one. */
    LOAN_REQUESTS = 2,
    LOAN_PARTS = 4,
    FOOTPRINT_TO_USED_MAX = 3, /* before a growth for the arenas */
    PENDING_PARTS = 8,         /* of what the pool holds must wait for streams, for it to be much */
    PASSED_ON_LIMIT = 1 << 20,
    CALLS_TO_MAIL = 16 /* allocs between two looks into the mailbox */
};

/* What a call asks an arena for. */
struct wish {
    size_t size_bytes;
    uint32_t chunk_count; /* of a slice: 1, in which it can lie */
    unsigned slice_class; /* or NONE */
    tarn_stream handle;
};

/* What each free may have to do, or each alloc to find out, needs the pool's lock. */
static bool may_have_arenas(const struct tarn_pool *pool)
{
    return !pool->debug && !pool->passes_through && !pool->releases_after_free &&
           !pool->identifies_streams;
}

bool tn_arenas_want(struct tarn_pool *pool)
{
    struct tn_arenas *arenas = &pool->arenas;
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

/* The arena's room beyond what is promised is given up, or promised too. Under both locks. */
static bool promise_room(struct tarn_pool *pool, struct tn_arena *arena)
{
    uint32_t added = arena->index.reserved_count - arena->promised_count;
    if (added > 0 && !tn_region_index_promise(&pool->index, added)) {
        arena->index.reserved_count = arena->promised_count;
        return false;
    }
    arena->promised_count += added;
    return true;
}

/* The same of room for slabs: for all that the arena has room for, or for one. */
static bool promise_slabs(struct tarn_pool *pool, struct tn_arena *arena, unsigned slice_class)
{
    struct tn_slice_class *c = &arena->slices->classes[slice_class];
    uint32_t *promised_count = &arena->promised_slab_counts[slice_class];
    uint32_t added = c->reserved_count - *promised_count;
    bool is_promised = added == 0 || tn_slices_promise(&pool->slices, slice_class, added);
    if (!is_promised) {
        added = 1;
        is_promised = tn_slices_promise(&pool->slices, slice_class, added);
    }
    if (is_promised) *promised_count += added;
    c->reserved_count = *promised_count;
    return is_promised;
}

/* In an active arena, as the next two. */
static bool make_slab_room(struct tarn_pool *pool, struct tn_arena *arena, const struct wish *wish)
{
    return wish->slice_class == TN_SLICE_CLASS_NONE ||
           (tn_slices_reserve(arena->slices, wish->slice_class) &&
            promise_slabs(pool, arena, wish->slice_class));
}

static bool make_room(struct tarn_pool *pool, struct tn_arena *arena, const struct wish *wish)
{
    return tn_region_index_reserve(&arena->index) && promise_room(pool, arena) &&
           tn_region_index_has_room(&arena->index) && make_slab_room(pool, arena, wish);
}

/* What nobody uses coalesces. */
static void free_unused(struct tarn_pool *pool, struct tn_arena *arena)
{
    tn_arena_empty_mailbox(pool, arena);
    if (arena->slices) tn_pool_free_kept_in(pool, tn_arena_part(arena));
}

static bool prepare_slices(const struct tarn_pool *pool, struct tn_arena *arena)
{
    if (arena->slices) return true;
    arena->slices = tn_host_memory_alloc(sizeof *arena->slices);
    if (arena->slices) tn_slices_init(arena->slices, pool->chunk_log2);
    return arena->slices != NULL;
}

/* An index with a free set for each stream for which the pool's has one. */
static bool prepare_index(const struct tarn_pool *pool, struct tn_arena *arena)
{
    if (!arena->has_index) arena->has_index = tn_region_index_init(&arena->index, pool->index.fit);
    if (!arena->has_index) return false;
    for (unsigned stream = 0; stream < TN_STREAM_COUNT_MAX; stream++) {
        if (tn_region_index_has_set(&pool->index, tn_free_set_of_stream(stream)) &&
            !tn_region_index_add_stream(&arena->index, stream))
            return false;
    }
    return true;
}

/* Chunks that are worth a loan for the request: fewer and fewer, as long as none has as many. */
static uint32_t find_lender(const struct tarn_pool *pool, const struct tn_arena *arena,
                            uint32_t stream, uint32_t chunk_count, uint32_t *loan_count_out)
{
    uint64_t largest = tn_region_index_largest_free(&pool->index);
    uint64_t needed = (uint64_t)chunk_count * LOAN_REQUESTS;
    /* Half of what it had before at first, later a quarter more. */
    uint64_t more = arena->loan_count == 0 ? arena->lent_before / 2 : arena->lent_chunk_count / 4;
    uint64_t wanted = tn_max(tn_max(needed, more), LOAN_CHUNKS_MIN);
    wanted = tn_max(tn_min(wanted, largest / LOAN_PARTS), needed);
    for (; wanted >= chunk_count; wanted /= 2) {
        /* A span starts at a whole group. */
        uint64_t with_lead = wanted + TN_START_GROUP_CHUNKS - 1;
        if (with_lead > TN_CHUNK_COUNT_MAX) continue;
        uint32_t found = tn_pool_find_own_fit(&pool->index, stream, (uint32_t)with_lead);
        if (found == TN_REGION_NONE) continue;
        *loan_count_out = (uint32_t)wanted;
        return found;
    }
    return TN_REGION_NONE;
}

/* The loan waits for what the lender waited for. */
static uint32_t add_loan_span(struct tn_arena *arena, uint32_t first_chunk, uint32_t chunk_count,
                              struct tn_dependency dependency)
{
    uint32_t head = tn_region_index_add_span(&arena->index, first_chunk, chunk_count);
    if (dependency.streams != 0)
        tn_region_index_change_dependency(&arena->index, arena->index.regions[head].next,
                                          dependency);
    return head;
}

/* Lends the arena chunks in which the request can lie. Under both locks. */
static bool borrow(struct tarn_pool *pool, struct tn_arena *arena, uint32_t stream,
                   uint32_t chunk_count)
{
    struct tn_arenas *arenas = &pool->arenas;
    uint32_t loan_count;
    if (arena->loan_count == TN_ARENA_LOANS_MAX) return false;
    uint32_t lender = find_lender(pool, arena, stream, chunk_count, &loan_count);
    if (lender == TN_REGION_NONE) return false;
    uint32_t lead = -pool->index.regions[lender].first_chunk % TN_START_GROUP_CHUNKS;
    uint32_t first_chunk = pool->index.regions[lender].first_chunk + lead;
    if (!tn_region_index_reserve_span(&arena->index, first_chunk, loan_count) ||
        !promise_room(pool, arena) || !tn_region_index_reserve(&pool->index))
        return false;

    struct tn_dependency dependency = tn_region_dependency(&pool->index.regions[lender]);
    tn_region_index_carve(&pool->index, lender, lead, loan_count, 0);
    uint32_t head = add_loan_span(arena, first_chunk, loan_count, dependency);
    tn_arenas_add_loan(
        arenas, (struct tn_loan){ first_chunk, loan_count, tn_arena_number(pool, arena), head });
    arena->loan_count++;
    arena->lent_chunk_count += loan_count;
    if (arena->loan_count == 1) {
        arena->is_active = arena->is_open = true;
        arena->stats = (struct tn_stats){ 0 };
        atomic_fetch_add_explicit(&arenas->active_count, 1, memory_order_release);
    }
    return true;
}

/* --- alloc ------------------------------------------------------------------------------------- */

/* The number of a stream that is known by its handle alone. The table is not to be changed here, so what was
 * found last is remembered by the arena. Under the arena's lock. */
static bool find_stream(const struct tarn_pool *pool, struct tn_arena *arena, tarn_stream handle,
                        uint32_t *stream_out)
{
    *stream_out = TN_STREAM_NONE;
    if (handle == pool->default_stream_alias) handle = NULL;
    if (!pool->streams) return handle == pool->only_stream;
    if (arena->last_stream == TN_STREAM_NONE || arena->last_handle != handle) {
        arena->last_stream = tn_stream_table_find_known(pool->streams, handle);
        arena->last_handle = handle;
    }
    *stream_out = arena->last_stream;
    return arena->last_stream != TN_STREAM_NONE;
}

static TN_COLD void *cut_in(struct tarn_pool *pool, struct tn_arena *arena, const struct wish *wish,
                            uint32_t stream)
{
    if (!tn_slices_has_room(arena->slices, wish->slice_class)) return NULL;
    return tn_pool_cut_and_take_slice(pool, tn_arena_part(arena), wish->slice_class,
                                      wish->size_bytes, stream);
}

/* A slice; otherwise as alloc_in. */
static void *alloc_small_in(struct tarn_pool *pool, struct tn_arena *arena, const struct wish *wish,
                            uint32_t stream)
{
    if (TN_UNLIKELY(!arena->slices)) return NULL;
    struct tn_part part = tn_arena_part(arena);
    void *address = tn_pool_take_slice(pool, part, wish->slice_class, wish->size_bytes, stream);
    return TN_LIKELY(address != NULL) ? address : cut_in(pool, arena, wish, stream);
}

static void *alloc_chunks_in(struct tarn_pool *pool, struct tn_arena *arena,
                             const struct wish *wish, uint32_t stream)
{
    if (TN_UNLIKELY(!tn_region_index_has_room(&arena->index))) return NULL;
    uint32_t fit = tn_pool_find_own_fit(&arena->index, stream, wish->chunk_count);
    if (TN_UNLIKELY(fit == TN_REGION_NONE)) return NULL;
    size_t used_bytes = (size_t)wish->chunk_count << pool->chunk_log2;
    uint32_t region = tn_region_index_carve(&arena->index, fit, 0, wish->chunk_count,
                                            (uint32_t)(used_bytes - wish->size_bytes));
    return tn_pool_hand_out(pool, tn_arena_part(arena), region, wish->size_bytes, used_bytes);
}

/* NULL: nothing fits, or there is no room. Under the arena's lock. */
static void *alloc_in(struct tarn_pool *pool, struct tn_arena *arena, const struct wish *wish,
                      uint32_t stream)
{
    if (wish->slice_class != TN_SLICE_CLASS_NONE) return alloc_small_in(pool, arena, wish, stream);
    void *address = alloc_chunks_in(pool, arena, wish, stream);
    if (TN_UNLIKELY(pool->arenas.remote.chunk_count > 0) && address)
        tn_arena_note_start(pool, arena, (uintptr_t)address);
    return address;
}

/* Whether the pool can serve the request itself. Under its lock. */
static bool is_for_pool(const struct tarn_pool *pool, const struct wish *wish, uint32_t stream)
{
    if (wish->slice_class != TN_SLICE_CLASS_NONE &&
        tn_slices_has_ready(&pool->slices, wish->slice_class, stream))
        return true;
    return tn_pool_find_own_fit(&pool->index, stream, wish->chunk_count) != TN_REGION_NONE;
}

/* NULL: it came to nothing. *is_pools_out: the pool can serve the request itself. Under both locks. */
static void *borrow_and_alloc(struct tarn_pool *pool, struct tn_arena *arena,
                              const struct wish *wish, bool *is_pools_out)
{
    uint32_t stream;
    *is_pools_out = true; /* or nobody can */
    /* Since it was active streams may have come and gone. */
    if (!arena->is_open) arena->last_stream = TN_STREAM_NONE;
    if (!find_stream(pool, arena, wish->handle, &stream) || tn_pool_is_capturing(pool) ||
        !prepare_index(pool, arena))
        return NULL;
    if (wish->slice_class != TN_SLICE_CLASS_NONE && !prepare_slices(pool, arena)) return NULL;
    /* More chunks are of no use to slabs that cannot be described. */
    if (arena->is_active && !make_slab_room(pool, arena, wish)) return NULL;
    /* The arena may have lacked room alone, or chunks that coalesce. */
    void *address = NULL;
    if (arena->is_active) free_unused(pool, arena);
    if (arena->is_active && make_room(pool, arena, wish))
        address = alloc_in(pool, arena, wish, stream);
    if (!address && borrow(pool, arena, stream, wish->chunk_count) && make_room(pool, arena, wish))
        address = alloc_in(pool, arena, wish, stream);
    *is_pools_out = is_for_pool(pool, wish, stream);
    return address;
}

/* *is_pools_out: the pool can serve the request itself, and its lock is the caller's, before others are faster. */
static void *lock_borrow_and_alloc(struct tarn_pool *pool, struct tn_arena *arena,
                                   const struct wish *wish, bool *is_pools_out)
{
    tn_pool_lock_as_it_is(pool);
    tn_biased_mutex_lock(&arena->lock);
    void *address = borrow_and_alloc(pool, arena, wish, is_pools_out);
    tn_biased_mutex_unlock(&arena->lock);
    *is_pools_out = *is_pools_out && !address;
    if (*is_pools_out) {
        pool->arenas.passed_on_count++;
    } else {
        tn_pool_unlock(pool);
    }
    return address;
}

/* Whether so much of what the pool holds is used that it may hold more, only for the arenas to last: gathering
 * would find free chunks here and there, but most of them wait for other threads' streams. */
static bool may_grow(struct tarn_pool *pool)
{
    struct tn_arenas *arenas = &pool->arenas;
    tn_pool_lock_as_it_is(pool);
    size_t used_bytes = pool->stats.used_bytes;
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++) {
        tn_biased_mutex_lock(&arenas->all[i].lock);
        if (arenas->all[i].is_active) {
            tn_arena_empty_mailbox(pool, &arenas->all[i]);
            used_bytes += arenas->all[i].stats.used_bytes;
        }
        tn_biased_mutex_unlock(&arenas->all[i].lock);
    }
    bool is_well_used = !pool->range && !pool->is_over_callers_memory &&
                        pool->stats.footprint_bytes / FOOTPRINT_TO_USED_MAX < used_bytes;
    tn_pool_unlock(pool);
    return is_well_used;
}

/* A static pool more, with the arenas left as they are. Under growth_lock. */
static bool grow(struct tarn_pool *pool, const struct tn_request *request)
{
    struct tn_backing backing;
    tarn_backend_result result = tn_pool_acquire_backing(pool, request, &backing);
    if (result.status != TARN_STATUS_OK) return false;
    struct tn_static_pool *added = tn_pool_announce(pool, &backing, request);
    if (!added) return false;
    tn_pool_lock_as_it_is(pool);
    tn_arenas_freeze(&pool->arenas);
    bool is_inserted = tn_pool_insert(pool, added);
    tn_arenas_thaw(&pool->arenas);
    tn_pool_unlock(pool);
    if (!is_inserted) tn_pool_withdraw(pool, added);
    return is_inserted;
}

/* Gathers, and finds out what of all that was freed waits for nothing any more: that can be lent to any thread.
 * Under growth_lock. */
static bool let_all_lend(struct tarn_pool *pool)
{
    if (!pool->streams || tn_pool_is_capturing(pool)) return false;
    /* Meanwhile nobody borrows. */
    tn_pool_lock(pool);
    atomic_store_explicit(&pool->arenas.are_wanted, false, memory_order_relaxed);
    tn_pool_unlock(pool);
    tn_stream_reuse_settle(pool);
    tn_pool_lock(pool);
    bool are_wanted = tn_arenas_want(pool);
    tn_pool_unlock(pool);
    return are_wanted;
}

/* Under the pool's lock. */
static bool is_much_pending(const struct tarn_pool *pool)
{
    return pool->index.pending_chunk_count >
           (pool->stats.footprint_bytes >> pool->chunk_log2) / PENDING_PARTS;
}

/* Whether it is the caller's turn to find out what the pool could lend, since that has served so much itself. Under
 * its lock. */
static bool take_turn_to_lend(struct tarn_pool *pool)
{
    struct tn_arenas *arenas = &pool->arenas;
    if (arenas->passed_on_count < arenas->passed_on_max) return false;
    arenas->passed_on_count = 0;
    if (is_much_pending(pool)) return true;
    arenas->passed_on_max = TN_ARENA_PASSED_ON_MAX;
    return false;
}

/* Threads that free each other's blocks on streams of their own leave the pool regions that wait, each good for the
 * thread of one stream and too small for a loan. Where streams do not come to an end it is of no use soon again.
 * Under growth_lock, which is given back. */
static TN_COLD void *lend_and_alloc(struct tarn_pool *pool, struct tn_arena *arena,
                                    const struct wish *wish, bool *is_pools_out)
{
    struct tn_arenas *arenas = &pool->arenas;
    bool has_lent = let_all_lend(pool);
    tn_pool_lock_as_it_is(pool);
    arenas->passed_on_max = has_lent && is_much_pending(pool)
                                ? (uint32_t)tn_min(arenas->passed_on_max * 2, PASSED_ON_LIMIT)
                                : TN_ARENA_PASSED_ON_MAX;
    tn_pool_unlock(pool);
    void *address = lock_borrow_and_alloc(pool, arena, wish, is_pools_out);
    tn_mutex_unlock(&pool->growth_lock);
    return address;
}

/* What nobody uses of the pool's own coalesces. */
static void free_unused_of_pool(struct tarn_pool *pool)
{
    tn_pool_lock_as_it_is(pool);
    if (pool->slices.kept_count > 0) tn_pool_free_kept(pool);
    tn_pool_unlock(pool);
}

/* What else there is to do before the request is the pool's, whose lock is the caller's then if it can serve, or
 * which gathers. */
static TN_COLD void *alloc_by_more(struct tarn_pool *pool, struct tn_arena *arena,
                                   const struct wish *wish, bool *is_pools_out)
{
    void *address = lock_borrow_and_alloc(pool, arena, wish, is_pools_out);
    if (address) return address;
    if (*is_pools_out) {
        /* Who waits for the vendor under growth_lock holds up nobody that can be served. */
        if (TN_LIKELY(!take_turn_to_lend(pool)) || !tn_mutex_try_lock(&pool->growth_lock))
            return NULL;
        tn_pool_unlock(pool);
        return lend_and_alloc(pool, arena, wish, is_pools_out);
    }
    if (!tn_arenas_are_active(&pool->arenas)) return NULL;

    struct tn_request request = { .size_bytes = wish->size_bytes,
                                  .alignment_bytes = 1,
                                  .stream = wish->handle,
                                  .chunk_count = wish->chunk_count,
                                  .slice_class = TN_SLICE_CLASS_NONE };
    tn_mutex_lock(&pool->growth_lock);
    free_unused_of_pool(pool);
    /* Another thread may have been faster. */
    address = lock_borrow_and_alloc(pool, arena, wish, is_pools_out);
    if (!address && !*is_pools_out && (may_grow(pool) ? grow(pool, &request) : let_all_lend(pool)))
        address = lock_borrow_and_alloc(pool, arena, wish, is_pools_out);
    tn_mutex_unlock(&pool->growth_lock);
    return address;
}

void *tn_arena_alloc(struct tarn_pool *pool, size_t size_bytes, uint32_t chunk_count,
                     unsigned slice_class, tarn_stream handle, bool *is_locked_out)
{
    *is_locked_out = false;
    const struct wish wish = { size_bytes, chunk_count, slice_class, handle };
    uint32_t stream;
    void *address = NULL;
    struct tn_arena *arena = tn_arena_own(pool);
    if (TN_UNLIKELY(tn_remote_frees_are_wanted(&pool->arenas.remote))) tn_arenas_cover_chunks(pool);
    tn_biased_mutex_lock(&arena->lock);
    if (TN_UNLIKELY(++arena->call_count % CALLS_TO_MAIL == 0) && arena->is_active)
        tn_arena_empty_mailbox(pool, arena);
    if (TN_LIKELY(arena->is_active && find_stream(pool, arena, handle, &stream)))
        address = alloc_in(pool, arena, &wish, stream);
    tn_biased_mutex_unlock(&arena->lock);
    return TN_LIKELY(address != NULL) ? address : alloc_by_more(pool, arena, &wish, is_locked_out);
}

/* --- free -------------------------------------------------------------------------------------- */

static bool find_dependency(const struct tarn_pool *pool, struct tn_arena *arena,
                            const tarn_stream *streams, size_t stream_count,
                            struct tn_dependency *dependency_out)
{
    struct tn_dependency dependency = TN_DEPENDENCY_NONE;
    for (size_t i = 0; i < stream_count; i++) {
        uint32_t stream;
        if (!find_stream(pool, arena, streams[i], &stream)) return false;
        dependency = tn_dependency_unite(dependency, tn_pool_depend(pool, stream));
    }
    *dependency_out = dependency;
    return true;
}

/* Under the lock of an active arena. */
static enum tn_free_result free_in(struct tarn_pool *pool, struct tn_arena *arena, bool is_own,
                                   uintptr_t address, const tarn_stream *streams,
                                   size_t stream_count)
{
    struct tn_dependency dependency;
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (!owner) return TN_FREE_RESULT_NOT_LIVE;
    if (!find_dependency(pool, arena, streams, stream_count, &dependency))
        return TN_FREE_RESULT_UNKNOWN_STREAM;
    if (!tn_arena_take_start(pool, arena, owner, address)) return TN_FREE_RESULT_NOT_LIVE;
    if (!is_own) return tn_arena_take_back_remotely(pool, arena, owner, address, dependency);
    return tn_pool_take_back(pool, tn_arena_part(arena), owner, address, dependency);
}

/* Frees what is another arena's. Under the lock of the thread's own, which is open. False: not this way. */
static bool post(struct tarn_pool *pool, struct tn_arena *own, uintptr_t address,
                 const tarn_stream *streams, size_t stream_count)
{
    struct tn_dependency dependency;
    return find_dependency(pool, own, streams, stream_count, &dependency) &&
           tn_arena_post(pool, own, address, dependency);
}

/* The thread's own arena is open. Under the pool's lock, while any is active. */
static void open_own(struct tarn_pool *pool)
{
    struct tn_arena *own = tn_arena_own(pool);
    tn_biased_mutex_lock(&own->lock);
    if (!own->is_open) own->last_stream = TN_STREAM_NONE;
    own->is_open = true;
    tn_biased_mutex_unlock(&own->lock);
}

/* The lock of the arena that the address is of, or NULL and the pool's lock. */
static struct tn_arena *lock_arena_of(struct tarn_pool *pool, uintptr_t address)
{
    struct tn_arena *arena = NULL;
    tn_pool_lock_as_it_is(pool);
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    uint32_t chunk = owner ? tn_static_pool_chunk_of(owner, address) : 0;
    const struct tn_loan *loan = owner ? tn_arenas_find_loan(&pool->arenas, chunk) : NULL;
    if (loan) {
        arena = &pool->arenas.all[loan->arena];
        open_own(pool);
        tn_biased_mutex_lock(&arena->lock);
        tn_arena_note_free_by_lock(pool, arena, chunk);
        tn_pool_unlock(pool);
    }
    return arena;
}

/* What is in the pool's index stays there: lent are only free chunks. */
enum tn_free_result tn_arena_free(struct tarn_pool *pool, uintptr_t address,
                                  const tarn_stream *streams, size_t stream_count)
{
    enum tn_free_result freed = TN_FREE_RESULT_NOT_LIVE;
    struct tn_arena *arena = tn_arena_own(pool);
    tn_biased_mutex_lock(&arena->lock);
    if (TN_LIKELY(arena->is_active))
        freed = free_in(pool, arena, true, address, streams, stream_count);
    if (freed == TN_FREE_RESULT_NOT_LIVE && arena->is_open &&
        post(pool, arena, address, streams, stream_count))
        freed = TN_FREE_RESULT_FREED;
    tn_biased_mutex_unlock(&arena->lock);
    if (TN_LIKELY(freed == TN_FREE_RESULT_FREED)) return freed;

    arena = lock_arena_of(pool, address);
    if (!arena) return TN_FREE_RESULT_NO_ARENAS;
    /* It may be full. */
    tn_arena_empty_mailbox(pool, arena);
    freed = free_in(pool, arena, false, address, streams, stream_count);
    tn_biased_mutex_unlock(&arena->lock);
    return freed;
}

/* --- gathering --------------------------------------------------------------------------------- */

/* From now on no thread touches what is in the arenas. Returns how many calls they have served. */
static uint64_t deactivate_all(struct tarn_pool *pool)
{
    struct tn_arenas *arenas = &pool->arenas;
    uint64_t call_count = 0;
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++) {
        struct tn_arena *arena = &arenas->all[i];
        tn_biased_mutex_lock(&arena->lock);
        if (arena->is_active) {
            call_count += arena->stats.alloc_count;
            free_unused(pool, arena);
        }
        arena->is_active = arena->is_open = false;
        tn_biased_mutex_unlock(&arena->lock);
    }
    atomic_store_explicit(&arenas->active_count, 0, memory_order_release);
    return call_count;
}

/* The slabs of the arena are the pool's; their regions will be with the loans that they lie in. */
static void give_slabs(struct tarn_pool *pool, struct tn_arena *arena)
{
    bool had_any = false;
    for (unsigned i = 0; i < TN_SLICE_CLASS_COUNT_MAX; i++)
        had_any |= arena->promised_slab_counts[i] > 0;
    if (!had_any) return;
    tn_pool_adopt_slabs(pool, tn_arena_part(arena));
    for (unsigned i = 0; i < TN_SLICE_CLASS_COUNT_MAX; i++) {
        tn_slices_take_promise_back(&pool->slices, i, arena->promised_slab_counts[i]);
        arena->promised_slab_counts[i] = 0;
    }
}

static void end_loan(struct tarn_pool *pool, const struct tn_loan *loan)
{
    struct tn_arena *arena = &pool->arenas.all[loan->arena];
    if (pool->arenas.remote.chunk_count > 0) tn_arena_forget_starts(pool, arena, loan->head);
    uint32_t lent = tn_live_map_find(&pool->index.live, pool->index.regions, loan->first_chunk);
    TN_ASSERT(lent != TN_REGION_NONE && arena->loan_count > 0);
    tn_region_index_adopt(&pool->index, lent, &arena->index, loan->head);
    if (--arena->loan_count > 0) return;
    tn_region_index_take_promise_back(&pool->index, arena->promised_count);
    arena->promised_count = 0;
    arena->index.reserved_count = 0; /* it is promised anew */
    arena->lent_before = arena->lent_chunk_count;
    arena->lent_chunk_count = 0;
    tn_stats_add(&pool->stats, &arena->stats);
}

void tn_arenas_gather(struct tarn_pool *pool)
{
    struct tn_arenas *arenas = &pool->arenas;
    uint32_t regions_before = pool->index.region_count;
    uint64_t call_count = deactivate_all(pool);
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++) {
        /* As long as any was open its thread could post. */
        tn_arena_empty_mailbox(pool, &arenas->all[i]);
        give_slabs(pool, &arenas->all[i]);
    }
    while (arenas->loan_count > 0)
        end_loan(pool, &arenas->loans[--arenas->loan_count]);
    /* Where arenas hardly last they do not pay: they have to be waited for again. */
    uint32_t regions_after = pool->index.region_count;
    uint64_t moved_count = regions_after > regions_before ? regions_after - regions_before : 0;
    if (call_count < 8 * moved_count) {
        atomic_store_explicit(&arenas->are_wanted, false, memory_order_relaxed);
        pool->lock.wait_count = 0;
    }
}
