/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* region_lending: live regions that are spans of another index, and their return. */
#include "region_index.h"

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
