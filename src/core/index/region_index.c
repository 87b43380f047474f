/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* region_index: life, room, spans, carve and free, resizing, queries. */
#include "region_index.h"

#include "../../base/arith.h"
#include "../../base/host_memory.h"

/* --- life and room -------------------------------------------------------------------------- */

static bool add_set(struct tn_region_index *index, unsigned set)
{
    if (tn_region_index_has_set(index, set)) return true;
    if (!tn_free_set_init(&index->by_size[set], index->fit, &index->trees, &index->free_nodes))
        return false;
    index->sets |= (uint64_t)1 << set;
    return true;
}

bool tn_region_index_init(struct tn_region_index *index, tarn_fit fit)
{
    *index = (struct tn_region_index){
        .unused = TN_REGION_NONE,
        .first_void = TN_REGION_NONE,
        .fit = fit,
        .newer_from = UINT32_MAX,
        .small_chunk_count_max = UINT32_MAX,
        .slack_mask = TN_REGION_SLACK_MASK_UNLABELLED,
    };
    tn_live_map_init(&index->live);
    tn_key_tree_store_init(&index->trees);
    tn_free_nodes_init(&index->free_nodes);
    if (!add_set(index, TN_FREE_SET_IDLE)) return false;
    if (tn_bit_tree_init(&index->starts, 1)) return true;
    tn_free_set_fini(&index->by_size[TN_FREE_SET_IDLE]);
    return false;
}

void tn_region_index_fini(struct tn_region_index *index)
{
    tn_live_map_fini(&index->live);
    tn_bit_tree_fini(&index->starts);
    for (unsigned set = 0; set < TN_FREE_SET_COUNT; set++) {
        if (tn_region_index_has_set(index, set)) tn_free_set_fini(&index->by_size[set]);
    }
    tn_key_tree_store_fini(&index->trees);
    tn_free_nodes_fini(&index->free_nodes);
    tn_host_memory_free(index->regions);
    *index = (struct tn_region_index){ 0 };
}

/* Reserves room in all free sets. With one set, a free never adds a region, and a live region lies between
 * two free ones of a span. So of r regions in s spans at most (r + s) / 2 can become free. With several sets
 * all can. */
static bool reserve_free_sets(struct tn_region_index *index, uint32_t span_count,
                              uint32_t chunk_count)
{
    uint32_t free_count_max =
        index->is_divided ? index->region_capacity : (index->region_capacity + span_count) / 2;
    uint32_t set_count = tn_bit_count(index->sets);
    for (uint64_t sets = index->sets; sets != 0; sets &= sets - 1) {
        if (!tn_free_set_reserve(&index->by_size[tn_lowest_bit(sets)], set_count, free_count_max,
                                 chunk_count, index->region_capacity))
            return false;
    }
    return true;
}

bool tn_region_index_reserve_slowly(struct tn_region_index *index, uint32_t added_regions,
                                    uint32_t added_spans, uint32_t added_chunks)
{
    void *regions = index->regions;
    if (!tn_host_memory_grow_array(&regions, &index->region_capacity, index->fresh,
                                   index->region_count + index->promised_count + added_regions,
                                   sizeof *index->regions)) {
        return false;
    }
    index->regions = regions;
    if (!reserve_free_sets(index, index->span_count + added_spans,
                           index->chunk_count + added_chunks)) {
        return false;
    }
    if (!tn_live_map_reserve(&index->live, index->region_capacity)) return false;
    index->reserved_count = index->region_capacity - index->promised_count;
    return true;
}

bool tn_region_index_reserve(struct tn_region_index *index)
{
    return TN_LIKELY(tn_region_index_has_room(index)) ||
           tn_region_index_reserve_slowly(index, 2, 0, 0);
}

bool tn_region_index_reserve_span(struct tn_region_index *index, uint32_t first_chunk,
                                  uint32_t chunk_count)
{
    TN_ASSERT(chunk_count > 0 && chunk_count <= TN_CHUNK_COUNT_MAX - first_chunk);
    uint32_t group_count = (first_chunk + chunk_count - 1) / TN_START_GROUP_CHUNKS + 1;
    return tn_bit_tree_grow(&index->starts, group_count) &&
           tn_region_index_reserve_slowly(index, 4, 1, chunk_count);
}

bool tn_region_index_add_stream(struct tn_region_index *index, unsigned stream)
{
    index->is_divided = true;
    /* The shared set first: where that of a stream is there, it is, too. */
    return add_set(index, TN_FREE_SET_SHARED) && add_set(index, tn_free_set_of_stream(stream)) &&
           reserve_free_sets(index, index->span_count, index->chunk_count);
}

/* --- free sets ------------------------------------------------------------------------------ */

void tn_region_index_insert_free(struct tn_region_index *index, uint32_t region)
{
    const struct tn_region *r = &index->regions[region];
    uint32_t streams = tn_region_dependency(r).streams;
    if (streams != 0) index->pending_chunk_count += r->chunk_count;
    tn_free_set_insert(tn_region_index_set_for(index, streams, r->first_chunk), index->regions,
                       region);
}

void tn_region_index_remove_free(struct tn_region_index *index, uint32_t region)
{
    const struct tn_region *r = &index->regions[region];
    uint32_t streams = tn_region_dependency(r).streams;
    if (streams != 0) index->pending_chunk_count -= r->chunk_count;
    tn_free_set_remove(tn_region_index_set_for(index, streams, r->first_chunk), index->regions,
                       region, r->chunk_count, r->first_chunk);
}

void tn_region_index_change_free(struct tn_region_index *index, uint32_t region,
                                 uint32_t old_chunk_count, uint32_t old_first_chunk)
{
    const struct tn_region *r = &index->regions[region];
    uint32_t streams = tn_region_dependency(r).streams;
    if (streams != 0) index->pending_chunk_count += r->chunk_count - old_chunk_count;
    tn_free_set_change(tn_region_index_set_for(index, streams, r->first_chunk), index->regions,
                       region, old_chunk_count, old_first_chunk);
}

/* --- spans ---------------------------------------------------------------------------------- */

uint32_t tn_region_index_begin_span(struct tn_region_index *index, uint32_t first_chunk,
                                    uint32_t chunk_count)
{
    uint32_t head = tn_region_index_take_record(index), whole = tn_region_index_take_record(index);
    index->regions[head] = (struct tn_region){
        .first_chunk = first_chunk,
        .previous = whole,
        .next = whole,
        .state = TN_REGION_STATE_VOID,
    };
    index->regions[whole] = (struct tn_region){
        .first_chunk = first_chunk,
        .chunk_count = chunk_count,
        .previous = head,
        .next = head,
        .state = TN_REGION_STATE_UNUSED,
    };
    tn_region_index_note_start(index, first_chunk);
    index->span_count++;
    index->chunk_count += chunk_count;
    return whole;
}

uint32_t tn_region_index_add_span(struct tn_region_index *index, uint32_t first_chunk,
                                  uint32_t chunk_count)
{
    TN_ASSERT(first_chunk % TN_START_GROUP_CHUNKS == 0);
    uint32_t whole = tn_region_index_begin_span(index, first_chunk, chunk_count);
    uint32_t end_chunk = first_chunk + chunk_count;
    /* The border lies between spans. */
    if (first_chunk < index->newer_from && index->newer_from < end_chunk)
        index->newer_from = end_chunk;
    tn_region_mark_free(&index->regions[whole], TN_DEPENDENCY_NONE);
    tn_region_index_insert_free(index, whole);
    return index->regions[whole].previous;
}

bool tn_region_index_span_is_free(const struct tn_region_index *index, uint32_t head, uint32_t held)
{
    uint32_t region = index->regions[head].next;
    while (tn_region_is_free_without(&index->regions[region], held))
        region = index->regions[region].next;
    return region == head;
}

struct tn_dependency tn_region_index_remove_span(struct tn_region_index *index, uint32_t head)
{
    TN_ASSERT(tn_region_index_span_is_free(index, head, 0));
    struct tn_dependency dependency = TN_DEPENDENCY_NONE;
    uint32_t region = index->regions[head].next;
    while (region != head) {
        const struct tn_region *r = &index->regions[region];
        uint32_t next = r->next;
        dependency = tn_dependency_unite(dependency, tn_region_dependency(r));
        index->chunk_count -= r->chunk_count;
        tn_region_index_remove_free(index, region);
        tn_bit_tree_clear(&index->starts, tn_start_group_of(r->first_chunk));
        tn_region_index_give_record_back(index, region);
        region = next;
    }
    tn_region_index_give_record_back(index, head);
    index->span_count--;
    return dependency;
}

/* --- older and newer spans ------------------------------------------------------------------ */

bool tn_region_index_reserve_newer(struct tn_region_index *index)
{
    return add_set(index, TN_FREE_SET_IDLE_NEWER) &&
           reserve_free_sets(index, index->span_count, index->chunk_count);
}

/* Moves the border; the idle regions of the span lie between its old place and the new one. */
static void move_border(struct tn_region_index *index, uint32_t head, uint32_t newer_from)
{
    struct tn_free_set *from = tn_region_index_set_for(index, 0, index->regions[head].first_chunk);
    index->newer_from = newer_from;
    struct tn_free_set *to = tn_region_index_set_for(index, 0, index->regions[head].first_chunk);
    TN_ASSERT(from != to);
    for (uint32_t region = index->regions[head].next; region != head;
         region = index->regions[region].next) {
        const struct tn_region *r = &index->regions[region];
        if (!tn_region_is_free_on(r, 0)) continue;
        tn_free_set_remove(from, index->regions, region, r->chunk_count, r->first_chunk);
        tn_free_set_insert(to, index->regions, region);
    }
}

void tn_region_index_make_newer(struct tn_region_index *index, uint32_t head)
{
    TN_ASSERT(tn_region_index_has_set(index, TN_FREE_SET_IDLE_NEWER));
    move_border(index, head, index->regions[head].first_chunk);
}

void tn_region_index_make_older(struct tn_region_index *index, uint32_t head)
{
    const struct tn_region *last = &index->regions[index->regions[head].previous];
    move_border(index, head, tn_region_end_chunk(last));
}

/* --- carve ---------------------------------------------------------------------------------- */

uint32_t tn_region_index_find_next_fit(const struct tn_region_index *index, uint32_t region,
                                       uint32_t chunk_count)
{
    const struct tn_region *r = &index->regions[region];
    unsigned set = tn_region_index_set_of(index, tn_region_dependency(r).streams, r->first_chunk);
    return tn_free_set_find_after(&index->by_size[set], index->regions, region, chunk_count);
}

TN_COLD void tn_region_index_split_off_lead(struct tn_region_index *index, uint32_t region,
                                            uint32_t lead)
{
    uint32_t old_chunk_count = index->regions[region].chunk_count;
    uint32_t old_first_chunk = index->regions[region].first_chunk;
    uint32_t before = tn_region_index_cut_front(index, region, lead);
    tn_region_index_change_free(index, region, old_chunk_count, old_first_chunk);
    tn_region_mark_free(&index->regions[before], tn_region_dependency(&index->regions[region]));
    tn_region_index_insert_free(index, before);
}

uint32_t tn_region_index_carve(struct tn_region_index *index, uint32_t region, uint32_t lead,
                               uint32_t chunk_count, uint32_t slack_bytes)
{
    return tn_region_index_carve_inline(index, region, lead, chunk_count, slack_bytes);
}

/* --- free ----------------------------------------------------------------------------------- */

uint32_t tn_region_index_make_free(struct tn_region_index *index, uint32_t region,
                                   struct tn_dependency dependency)
{
    return tn_region_index_make_free_inline(index, region, dependency);
}

bool tn_region_index_free(struct tn_region_index *index, uint32_t first_chunk,
                          struct tn_dependency dependency, struct tn_freed *freed_out)
{
    uint32_t *place = tn_live_map_find_place(&index->live, index->regions, first_chunk);
    if (!place || tn_region_owner(&index->regions[*place]) == TN_REGION_OWNER_SLAB) return false;
    const struct tn_region *r = &index->regions[*place];
    *freed_out = (struct tn_freed){ r->chunk_count, tn_region_slack_bytes(r, index->slack_mask),
                                    tn_region_label(r, index->slack_mask) };
    tn_region_index_free_at(index, place, dependency);
    return true;
}

/* --- resize --------------------------------------------------------------------------------- */

/* Gives the front of a free region to the region before it. */
static void give_front(struct tn_region_index *index, uint32_t region, uint32_t chunk_count)
{
    struct tn_region *r = &index->regions[region];
    uint32_t old_chunk_count = r->chunk_count, old_first_chunk = r->first_chunk;
    r->first_chunk += chunk_count;
    r->chunk_count -= chunk_count;
    tn_region_index_forget_start(index, old_first_chunk, &index->regions[r->previous], r);
    tn_region_index_note_start(index, r->first_chunk);
    tn_region_index_change_free(index, region, old_chunk_count, old_first_chunk);
}

/* Gives all of a free region to the region before it. */
static void give_whole(struct tn_region_index *index, uint32_t region)
{
    const struct tn_region *r = &index->regions[region];
    tn_region_index_remove_free(index, region);
    tn_region_index_forget_start(index, r->first_chunk, &index->regions[r->previous],
                                 &index->regions[r->next]);
    tn_region_index_dissolve(index, region);
}

void tn_region_index_extend(struct tn_region_index *index, uint32_t region, uint32_t chunk_count,
                            uint32_t slack_bytes)
{
    struct tn_region *r = &index->regions[region];
    uint32_t added = chunk_count - r->chunk_count;
    const struct tn_region *next = &index->regions[r->next];
    TN_ASSERT(r->state == TN_REGION_STATE_LIVE && next->state == TN_REGION_STATE_FREE);
    TN_ASSERT(added > 0 && added <= next->chunk_count);
    if (next->chunk_count > added) {
        give_front(index, r->next, added);
    } else {
        give_whole(index, r->next);
    }
    r->chunk_count = chunk_count;
    tn_region_set_slack(r, index->slack_mask, slack_bytes);
}

uint32_t tn_region_index_cut_back(struct tn_region_index *index, uint32_t region,
                                  uint32_t chunk_count)
{
    uint32_t back = tn_region_index_take_record(index);
    struct tn_region *r = &index->regions[region];
    struct tn_region *b = &index->regions[back];
    TN_ASSERT(chunk_count > 0 && chunk_count < r->chunk_count);
    b->first_chunk = r->first_chunk + chunk_count;
    b->chunk_count = r->chunk_count - chunk_count;
    b->previous = region;
    b->next = r->next;
    index->regions[r->next].previous = back;
    r->next = back;
    r->chunk_count = chunk_count;
    tn_region_index_note_start(index, b->first_chunk);
    return back;
}

void tn_region_index_shorten(struct tn_region_index *index, uint32_t region, uint32_t chunk_count,
                             uint32_t slack_bytes, struct tn_dependency dependency)
{
    TN_ASSERT(index->region_count + 1 <= index->reserved_count);
    uint32_t back = tn_region_index_cut_back(index, region, chunk_count);
    tn_region_set_slack(&index->regions[region], index->slack_mask, slack_bytes);
    tn_region_mark_free(&index->regions[back], dependency);
    tn_region_index_coalesce(index, back);
}

/* --- queries -------------------------------------------------------------------------------- */

/* Returns the last live region of a group that starts at or before `chunk`, or TN_REGION_NONE. Tries each
 * chunk, since the live map knows first chunks only. */
static uint32_t find_last_start(const struct tn_region_index *index, uint32_t group, uint32_t chunk)
{
    uint32_t first = group * TN_START_GROUP_CHUNKS;
    uint32_t start = (uint32_t)tn_min(chunk, first + TN_START_GROUP_CHUNKS - 1);
    for (;; start--) {
        uint32_t region = tn_live_map_find(&index->live, index->regions, start);
        if (region != TN_REGION_NONE || start == first) return region;
    }
}

/* The region of a chunk starts in the chunk's group, or in the last earlier group in which a region starts.
 * If no live region starts there, a free one covers the chunk. */
uint32_t tn_region_index_find_live(const struct tn_region_index *index, uint32_t chunk)
{
    uint32_t group = tn_start_group_of(chunk);
    uint32_t region = find_last_start(index, group, chunk);
    if (region == TN_REGION_NONE && group > 0) {
        group = tn_bit_tree_find_previous(&index->starts, group - 1);
        if (group != TN_BIT_TREE_NONE) region = find_last_start(index, group, chunk);
    }
    if (region == TN_REGION_NONE) return TN_REGION_NONE;
    const struct tn_region *r = &index->regions[region];
    return chunk - r->first_chunk < r->chunk_count ? region : TN_REGION_NONE;
}

uint32_t tn_region_index_free_count(const struct tn_region_index *index)
{
    return index->region_count - index->span_count - tn_live_map_live_count(&index->live) -
           index->void_count;
}

size_t tn_region_index_metadata_bytes(const struct tn_region_index *index)
{
    size_t sets_bytes = 0;
    for (unsigned set = 0; set < TN_FREE_SET_COUNT; set++) {
        if (tn_region_index_has_set(index, set))
            sets_bytes += tn_free_set_metadata_bytes(&index->by_size[set]);
    }
    return (size_t)index->fresh * sizeof *index->regions + sets_bytes +
           (size_t)index->trees.fresh * sizeof *index->trees.nodes +
           tn_min(index->fresh, index->free_nodes.capacity) * sizeof *index->free_nodes.nodes +
           tn_live_map_metadata_bytes(&index->live) + tn_bit_tree_metadata_bytes(&index->starts);
}
