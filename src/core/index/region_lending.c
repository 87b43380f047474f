/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* region_lending: live regions that are spans of another index, and their return, whole or piece by piece. */
#include "region_index.h"

/* --- promises ------------------------------------------------------------------------------- */

bool tn_region_index_promise(struct tn_region_index *index, uint32_t record_count)
{
    uint32_t needed = index->region_count + record_count;
    if (needed > index->reserved_count &&
        !tn_region_index_reserve_slowly(index, record_count, 0, 0))
        return false;
    index->promised_count += record_count;
    index->reserved_count -= record_count;
    return true;
}

void tn_region_index_take_promise_back(struct tn_region_index *index, uint32_t record_count)
{
    TN_ASSERT(record_count <= index->promised_count);
    index->promised_count -= record_count;
    index->reserved_count += record_count;
}

/* --- lending -------------------------------------------------------------------------------- */

uint32_t tn_region_index_lend(struct tn_region_index *index, uint32_t region, uint32_t chunk_count,
                              struct tn_region_index *borrower)
{
    struct tn_dependency dependency = tn_region_dependency(&index->regions[region]);
    uint32_t lent = tn_region_index_carve(index, region, 0, chunk_count, 0);
    uint32_t whole =
        tn_region_index_begin_span(borrower, index->regions[lent].first_chunk, chunk_count);
    tn_region_mark_free(&borrower->regions[whole], dependency);
    tn_region_index_insert_free(borrower, whole);
    return borrower->regions[whole].previous;
}

/* Coalesces a region anew, if it is free, with neighbours that it has got. */
static void coalesce_again(struct tn_region_index *index, uint32_t region)
{
    if (index->regions[region].state != TN_REGION_STATE_FREE) return;
    tn_region_index_remove_free(index, region);
    tn_region_index_coalesce(index, region);
}

/* Appends the ring of a span to the ring before it. */
static void join_spans(struct tn_region_index *index, uint32_t head, uint32_t joined_head)
{
    struct tn_region *regions = index->regions;
    uint32_t last = regions[head].previous;
    uint32_t first = regions[joined_head].next, end = regions[joined_head].previous;
    regions[last].next = first;
    regions[first].previous = last;
    regions[end].next = head;
    regions[head].previous = end;
    tn_region_index_give_record_back(index, joined_head);
    index->span_count--;
    coalesce_again(index, first);
}

void tn_region_index_join_lent(struct tn_region_index *index, uint32_t lent,
                               struct tn_region_index *borrower, uint32_t head_before,
                               uint32_t head)
{
    const struct tn_region *joined = &index->regions[lent];
    struct tn_region *before = &index->regions[joined->previous];
    tn_live_map_take(&index->live, index->regions, joined->first_chunk);
    before->chunk_count += joined->chunk_count;
    tn_region_index_forget_start(index, joined->first_chunk, before, &index->regions[joined->next]);
    tn_region_index_dissolve(index, lent);
    join_spans(borrower, head_before, head);
}

/* --- return, piece by piece ------------------------------------------------------------------- */

/* Makes chunks of a lent region free. Those before and after them stay lent. */
static void free_part(struct tn_region_index *index, uint32_t lent, uint32_t first_chunk,
                      uint32_t chunk_count, struct tn_dependency dependency)
{
    uint32_t lead = first_chunk - index->regions[lent].first_chunk, freed = lent;
    if (lead > 0)
        freed = tn_region_index_cut_back(index, lent, lead);
    else
        tn_live_map_take(&index->live, index->regions, first_chunk);
    if (index->regions[freed].chunk_count > chunk_count) {
        uint32_t rest = tn_region_index_cut_back(index, freed, chunk_count);
        tn_region_mark_live(&index->regions[rest], 0);
        tn_live_map_insert(&index->live, index->regions, rest);
    }
    tn_region_index_make_free(index, freed, dependency);
}

/* Takes a free region out of its span. What follows it in the span is a span of its own then, whose head is returned. */
static uint32_t split_span(struct tn_region_index *index, uint32_t head, uint32_t region)
{
    struct tn_region *regions = index->regions, *r = &regions[region];
    uint32_t previous = r->previous, next = r->next, last = regions[head].previous;
    if (previous != head && next != head) {
        regions[previous].next = head;
        regions[head].previous = previous;
        regions[next].previous = region;
        regions[last].next = region;
        r->previous = last;
        r->first_chunk += r->chunk_count;
        r->chunk_count = 0;
        tn_region_mark_void(r, false);
        index->span_count++;
        return region;
    }
    if (previous == head) regions[head].first_chunk = tn_region_end_chunk(r);
    tn_region_index_dissolve(index, region);
    if (previous != head) return TN_REGION_NONE;
    if (next != head) return head;
    tn_region_index_give_record_back(index, head);
    index->span_count--;
    return TN_REGION_NONE;
}

uint32_t tn_region_index_return(struct tn_region_index *index, uint32_t lent,
                                struct tn_region_index *borrower, uint32_t head, uint32_t region)
{
    const struct tn_region *r = &borrower->regions[region];
    uint32_t first_chunk = r->first_chunk, chunk_count = r->chunk_count;
    struct tn_dependency dependency = tn_region_dependency(r);
    tn_region_index_remove_free(borrower, region);
    borrower->chunk_count -= chunk_count;
    uint32_t head_after = split_span(borrower, head, region);
    free_part(index, lent, first_chunk, chunk_count, dependency);
    return head_after;
}

/* --- return as a whole ------------------------------------------------------------------------ */

/* Moves a region from the borrower to behind `previous` in the ring. It is in no free set yet. */
static uint32_t adopt_region(struct tn_region_index *index, uint32_t previous,
                             struct tn_region_index *borrower, uint32_t region)
{
    struct tn_region *lent = &borrower->regions[region];
    uint32_t adopted = tn_region_index_take_record(index);
    struct tn_region *a = &index->regions[adopted];
    *a = *lent;
    a->previous = previous;
    index->regions[previous].next = adopted;
    tn_region_index_note_start(index, a->first_chunk);
    tn_bit_tree_clear(&borrower->starts, tn_start_group_of(a->first_chunk));
    if (lent->state == TN_REGION_STATE_LIVE) {
        tn_live_map_take(&borrower->live, borrower->regions, lent->first_chunk);
        tn_live_map_insert(&index->live, index->regions, adopted);
    } else {
        tn_region_index_remove_free(borrower, region);
    }
    tn_region_index_give_record_back(borrower, region);
    return adopted;
}

void tn_region_index_adopt(struct tn_region_index *index, uint32_t lent,
                           struct tn_region_index *borrower, uint32_t head)
{
    uint32_t previous = index->regions[lent].previous, after = index->regions[lent].next;
    uint32_t last = previous;
    tn_live_map_take(&index->live, index->regions, index->regions[lent].first_chunk);
    tn_region_index_give_record_back(index, lent);
    borrower->chunk_count -= index->regions[lent].chunk_count;
    for (uint32_t region = borrower->regions[head].next; region != head;) {
        uint32_t next = borrower->regions[region].next;
        last = adopt_region(index, last, borrower, region);
        region = next;
    }
    tn_region_index_give_record_back(borrower, head);
    borrower->span_count--;
    index->regions[last].next = after;
    index->regions[after].previous = last;

    for (uint32_t region = index->regions[previous].next; region != after;) {
        uint32_t next = index->regions[region].next;
        if (index->regions[region].state == TN_REGION_STATE_FREE)
            tn_region_index_coalesce(index, region);
        region = next;
    }
}
