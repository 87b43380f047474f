/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arena_loans: room, borrowing, giving back. */
#include "arena_loans.h"

#include "../index/region_index.h"
#include "gather.h"

enum {
    LOAN_USED_PARTS = 8, /* a loan holds one of so many parts of the usual chunks */
    LOAN_PARTS =
        4, /* beyond the request, a loan is at most one of so many parts of the largest free region */
    PIECE_BYTES_MIN = 64 << 10, /* smaller free regions are not given back */
};

/* --- room -------------------------------------------------------------------------------------- */

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

bool tn_arena_make_room(struct tarn_pool *pool, struct tn_arena *arena,
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

static bool prepare_index(const struct tarn_pool *pool, struct tn_arena *arena)
{
    if (!arena->has_index) {
        arena->has_index = tn_region_index_init(&arena->part.index, pool->own.index.fit);
        if (!arena->has_index) return false;
        arena->part.index.slack_mask = pool->own.index.slack_mask;
    }
    uint64_t missing =
        tn_region_index_sets(&pool->own.index) & ~tn_region_index_sets(&arena->part.index);
    for (unsigned stream = 0; missing != 0 && stream < TN_STREAM_COUNT_MAX; stream++) {
        bool is_missing = (missing >> tn_free_set_of_stream(stream) & 1) != 0;
        if (is_missing && !tn_region_index_add_stream(&arena->part.index, stream)) return false;
    }
    return true;
}

bool tn_arena_prepare(const struct tarn_pool *pool, struct tn_arena *arena,
                      const struct tn_request *request)
{
    if (!prepare_index(pool, arena)) return false;
    if (request->slice_class != TN_SLICE_CLASS_NONE) prepare_slices(pool, arena);
    return true;
}

/* --- what waits for nothing any more ------------------------------------------------------------- */

bool tn_arena_note_completed(const struct tarn_pool *pool, struct tn_arena *arena)
{
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock) && arena->is_active);
    if (!pool->streams) return true;
    uint32_t count = atomic_load_explicit(&pool->streams->completed_count, memory_order_acquire);
    if (count == arena->completed_count) return false;
    arena->completed_count = count;
    arena->posted_chunk_count = 0;
    tn_pool_note_completed(pool, &arena->part);
    return true;
}

/* --- borrowing --------------------------------------------------------------------------------- */

/* Chunks that the arena wishes to borrow: an eighth of what is live in it, and at most half of the rest that it may keep. */
static uint32_t wished_chunks(const struct tarn_pool *pool, const struct tn_arena *arena)
{
    uint32_t most = tn_arena_lent_chunks_max(pool, arena), lent = arena->lent_chunk_count;
    uint32_t used = tn_arena_usual_chunks(pool, arena);
    return lent < most ? (uint32_t)tn_min((most - lent) / 2,
                                          tn_max((size_t)TN_ARENA_BYTES_MIN >> pool->chunk_log2,
                                                 used / LOAN_USED_PARTS))
                       : 0;
}

/* Finds a free region for a loan of as many requests as the arena wishes for, or of half as many, and so on. So blocks of
 * one size leave no gaps at the ends of loans. */
static uint32_t find_lender(struct tarn_pool *pool, const struct tn_arena *arena, uint32_t stream,
                            uint32_t chunk_count, uint32_t *loan_count_out)
{
    uint32_t largest = tn_region_index_largest_free(&pool->own.index);
    uint32_t wished = (uint32_t)tn_min(wished_chunks(pool, arena), largest / LOAN_PARTS);
    for (uint32_t count = (uint32_t)tn_max(wished / chunk_count, 1);; count /= 2) {
        const struct tn_request run = { .alignment_bytes = 1, .chunk_count = count * chunk_count };
        struct tn_fit found = tn_find_own_fit(pool, &pool->own.index, &run, stream);
        *loan_count_out = run.chunk_count;
        if (found.region != TN_REGION_NONE || count == 1) return found.region;
    }
}

/* Joins a loan to the one right before it, if the same arena has that in the same static pool. */
static void join_to_previous(struct tarn_pool *pool, struct tn_arena *arena, struct tn_loan *loan)
{
    struct tn_arenas *arenas = &pool->arenas;
    const struct tn_region *regions = pool->own.index.regions;
    if (loan == arenas->loans) return;
    struct tn_loan *before = loan - 1;
    if (before->arena != loan->arena ||
        before->first_chunk + before->chunk_count != loan->first_chunk)
        return;
    uint32_t lent = tn_live_map_find(&pool->own.index.live, regions, loan->first_chunk);
    if (regions[regions[lent].previous].first_chunk != before->first_chunk ||
        tn_region_is_head(&regions[regions[lent].previous]))
        return;
    tn_region_index_join_lent(&pool->own.index, lent, &arena->part.index, before->head, loan->head);
    before->chunk_count += loan->chunk_count;
    tn_arenas_remove_loan(arenas, loan);
    arena->loan_count--;
}

/* Joins a loan to its neighbours. */
static void join(struct tarn_pool *pool, struct tn_arena *arena, uint32_t first_chunk)
{
    struct tn_arenas *arenas = &pool->arenas;
    struct tn_loan *loan = tn_arenas_find_loan(arenas, first_chunk);
    if (loan + 1 < arenas->loans + arenas->loan_count) join_to_previous(pool, arena, loan + 1);
    join_to_previous(pool, arena, loan);
}

static void note_loan(struct tarn_pool *pool, struct tn_arena *arena, struct tn_loan loan)
{
    tn_arenas_add_loan(&pool->arenas, loan);
    arena->loan_count++;
    arena->lent_chunk_count += loan.chunk_count;
}

bool tn_arena_borrow(struct tarn_pool *pool, struct tn_arena *arena, uint32_t stream,
                     uint32_t chunk_count)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock));
    uint32_t loan_count;
    if (arena->loan_count == TN_ARENA_LOANS_MAX) return false;
    if (!arena->is_active) arena->part.stats = (struct tn_stats){ 0 };
    uint32_t lender = find_lender(pool, arena, stream, chunk_count, &loan_count);
    if (lender == TN_REGION_NONE) return false;
    uint32_t first_chunk = pool->own.index.regions[lender].first_chunk;
    if (!tn_region_index_reserve_span(&arena->part.index, first_chunk, loan_count) ||
        !promise_room(pool, arena) || !tn_region_index_reserve(&pool->own.index))
        return false;

    uint32_t head = tn_region_index_lend(&pool->own.index, lender, loan_count, &arena->part.index);
    note_loan(pool, arena,
              (struct tn_loan){ first_chunk, loan_count, tn_arena_number(pool, arena), head });
    join(pool, arena, first_chunk);
    if (!arena->is_active) {
        arena->is_active = arena->is_open = true;
        arena->posted_chunk_count = 0;
        atomic_fetch_add_explicit(&pool->arenas.active_count, 1, memory_order_release);
    }
    return true;
}

/* --- giving back --------------------------------------------------------------------------------- */

/* Gives a free region back. False: no host memory, too many loans, or it is the arena's last loan: that comes back with
 * the next gather. */
static bool give_back(struct tarn_pool *pool, struct tn_arena *arena, uint32_t region)
{
    struct tn_arenas *arenas = &pool->arenas;
    const struct tn_region *r = &arena->part.index.regions[region];
    uint32_t first_chunk = r->first_chunk, end_chunk = tn_region_end_chunk(r);
    struct tn_loan *loan = tn_arenas_find_loan(arenas, first_chunk);
    uint32_t loan_end = loan->first_chunk + loan->chunk_count;
    bool is_first = first_chunk == loan->first_chunk, is_last = end_chunk == loan_end;
    if (is_first && is_last && arena->loan_count == 1) return false;
    if (!is_first && !is_last && arena->loan_count == TN_ARENA_LOANS_MAX) return false;
    if (!tn_region_index_reserve(&pool->own.index)) return false;

    uint32_t lent =
        tn_live_map_find(&pool->own.index.live, pool->own.index.regions, loan->first_chunk);
    uint32_t head_after =
        tn_region_index_return(&pool->own.index, lent, &arena->part.index, loan->head, region);
    arena->lent_chunk_count -= end_chunk - first_chunk;
    struct tn_loan after = { end_chunk, loan_end - end_chunk, loan->arena, head_after };
    if (is_first && is_last) {
        tn_arenas_remove_loan(arenas, loan);
        arena->loan_count--;
    } else if (is_first) {
        *loan = after;
    } else {
        loan->chunk_count = first_chunk - loan->first_chunk;
        if (is_last) return true;
        tn_arenas_add_loan(arenas, after);
        arena->loan_count++;
    }
    return true;
}

/* The largest free region of the arena, or TN_REGION_NONE. */
static uint32_t find_largest(const struct tn_arena *arena)
{
    const struct tn_region_index *index = &arena->part.index;
    uint32_t largest = TN_REGION_NONE;
    for (uint64_t sets = tn_region_index_sets(index); sets != 0; sets &= sets - 1) {
        uint32_t found =
            tn_free_set_find_largest(&index->by_size[tn_lowest_bit(sets)], index->regions);
        if (found == TN_REGION_NONE) continue;
        if (largest == TN_REGION_NONE ||
            index->regions[found].chunk_count > index->regions[largest].chunk_count)
            largest = found;
    }
    return largest;
}

void tn_arena_give_excess_back(struct tarn_pool *pool, struct tn_arena *arena)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock));
    if (!arena->is_active || !tn_arena_has_excess(pool, arena)) return;
    tn_arena_free_unused(pool, arena);
    tn_pool_note_completed(pool, &arena->part); /* the pool does not ask for that again */
    uint32_t kept = tn_arena_lent_chunks_max(pool, arena) / 8 * 7;
    while (arena->lent_chunk_count > kept) {
        uint32_t region = find_largest(arena);
        if (region == TN_REGION_NONE ||
            arena->part.index.regions[region].chunk_count < (uint32_t)PIECE_BYTES_MIN >>
                pool->chunk_log2 ||
            !give_back(pool, arena, region))
            return;
    }
}

/* Takes a region of so many chunks back from the arena. Requires the pool's lock. False: it has none. */
static bool take_fit_back(struct tarn_pool *pool, struct tn_arena *arena, uint32_t chunk_count)
{
    bool is_taken = false;
    tn_biased_mutex_lock(&arena->lock);
    if (arena->is_active) {
        tn_arena_empty_mailbox(pool, arena);
        tn_pool_note_completed(pool, &arena->part);
        const struct tn_region_index *index = &arena->part.index;
        uint32_t region =
            tn_region_index_find_best_fit(index, tn_region_index_sets(index), chunk_count);
        is_taken = region != TN_REGION_NONE && give_back(pool, arena, region);
    }
    tn_biased_mutex_unlock(&arena->lock);
    return is_taken;
}

bool tn_arenas_take_fit_back(struct tarn_pool *pool, const struct tn_arena *own,
                             uint32_t chunk_count)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t first = tn_arena_number(pool, own);
    for (uint32_t i = 1; i < TN_ARENA_COUNT; i++) {
        struct tn_arena *other = &pool->arenas.all[(first + i) % TN_ARENA_COUNT];
        if (other->lent_chunk_count < chunk_count) continue;
        if (take_fit_back(pool, other, chunk_count)) return true;
    }
    return false;
}
