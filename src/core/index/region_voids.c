/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* region_voids: the chunks of an index that have no memory. */
#include "region_index.h"

/* Puts a void into the list of those at rest. */
static void list_void(struct tn_region_index *index, uint32_t region)
{
    uint32_t *link = &index->first_void;
    while (*link != TN_REGION_NONE &&
           index->regions[*link].first_chunk < index->regions[region].first_chunk)
        link = &index->regions[*link].link;
    tn_region_mark_void(&index->regions[region], false);
    index->regions[region].link = *link;
    *link = region;
    index->void_count++;
}

static void unlist_void(struct tn_region_index *index, uint32_t region)
{
    uint32_t *link = &index->first_void;
    while (*link != region)
        link = &index->regions[*link].link;
    *link = index->regions[region].link;
    index->void_count--;
}

uint32_t tn_region_index_add_void_span(struct tn_region_index *index, uint32_t first_chunk,
                                       uint32_t chunk_count)
{
    uint32_t whole = tn_region_index_begin_span(index, first_chunk, chunk_count);
    list_void(index, whole);
    return index->regions[whole].previous;
}

uint32_t tn_region_index_take_void(struct tn_region_index *index, uint32_t region,
                                   uint32_t first_chunk, uint32_t chunk_count)
{
    TN_ASSERT(index->region_count + 2 <= index->reserved_count);
    TN_ASSERT(tn_region_is_void_at_rest(&index->regions[region]));
    uint32_t lead = first_chunk - index->regions[region].first_chunk;
    unlist_void(index, region);
    if (lead > 0) list_void(index, tn_region_index_cut_front(index, region, lead));
    uint32_t taken = region;
    if (index->regions[region].chunk_count > chunk_count) {
        taken = tn_region_index_cut_front(index, region, chunk_count);
        list_void(index, region);
    }
    tn_region_mark_void(&index->regions[taken], true);
    index->void_count++;
    return taken;
}

/* Takes chunks from one free region that has them all. */
static uint32_t take_part(struct tn_region_index *index, uint32_t region, uint32_t first_chunk,
                          uint32_t chunk_count)
{
    const struct tn_region *r = &index->regions[region];
    struct tn_dependency dependency = tn_region_dependency(r);
    uint32_t lead = first_chunk - r->first_chunk;
    tn_region_index_remove_free(index, region);
    if (lead > 0) {
        uint32_t kept = tn_region_index_cut_front(index, region, lead);
        tn_region_mark_free(&index->regions[kept], dependency);
        tn_region_index_insert_free(index, kept);
    }
    uint32_t taken = region;
    if (r->chunk_count > chunk_count) {
        taken = tn_region_index_cut_front(index, region, chunk_count);
        tn_region_index_insert_free(index, region);
    }
    tn_region_mark_void(&index->regions[taken], true);
    index->void_count++;
    return taken;
}

/* Joins two voids that touch. */
static void join_voids(struct tn_region_index *index, uint32_t region, uint32_t next)
{
    struct tn_region *r = &index->regions[region];
    const struct tn_region *n = &index->regions[next];
    r->chunk_count += n->chunk_count;
    tn_region_index_forget_start(index, n->first_chunk, r, &index->regions[n->next]);
    tn_region_index_dissolve(index, next);
}

uint32_t tn_region_index_take_free(struct tn_region_index *index, uint32_t region,
                                   uint32_t first_chunk, uint32_t chunk_count,
                                   struct tn_dependency *dependency_out)
{
    TN_ASSERT(index->region_count + 2 <= index->reserved_count);
    *dependency_out = TN_DEPENDENCY_NONE;
    uint32_t end_chunk = first_chunk + chunk_count, taken = TN_REGION_NONE;
    while (first_chunk < end_chunk) {
        uint32_t part_end =
            (uint32_t)tn_min(end_chunk, tn_region_end_chunk(&index->regions[region]));
        *dependency_out =
            tn_dependency_unite(*dependency_out, tn_region_dependency(&index->regions[region]));
        uint32_t part = take_part(index, region, first_chunk, part_end - first_chunk);
        region = index->regions[part].next;
        if (taken == TN_REGION_NONE) {
            taken = part;
        } else {
            join_voids(index, taken, part);
            index->void_count--;
        }
        first_chunk = part_end;
    }
    return taken;
}

uint32_t tn_region_index_fill(struct tn_region_index *index, uint32_t taken)
{
    TN_ASSERT(!tn_region_is_void_at_rest(&index->regions[taken]));
    tn_region_mark_free(&index->regions[taken], TN_DEPENDENCY_NONE);
    index->void_count--;
    return tn_region_index_coalesce(index, taken);
}

void tn_region_index_rest(struct tn_region_index *index, uint32_t taken)
{
    uint32_t previous = index->regions[taken].previous, next = index->regions[taken].next;
    index->void_count--;
    if (tn_region_is_void_at_rest(&index->regions[next])) {
        unlist_void(index, next);
        join_voids(index, taken, next);
    }
    if (tn_region_is_void_at_rest(&index->regions[previous])) {
        join_voids(index, previous, taken);
    } else {
        list_void(index, taken);
    }
}
