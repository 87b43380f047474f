/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* region_index: records, spans, splitting and coalescing. */
#include "region_index.h"

#include "../base/arith.h"
#include "../base/host_memory.h"

#include "region_index_parts.h"

/* --- life and room -------------------------------------------------------------------------- */

static bool add_set(struct tn_region_index *index, unsigned set)
{
    return tn_region_index_has_set(index, set) ||
           tn_free_set_init(&index->by_size[set], index->fit, &index->trees, &index->free_nodes);
}

bool tn_region_index_init(struct tn_region_index *index, tarn_fit fit)
{
    *index = (struct tn_region_index){
        .unused = TN_REGION_NONE,
        .first_void = TN_REGION_NONE,
        .fit = fit,
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

/* Room in all free sets. While there is one set, frees alone never make more regions, and between two
 * free ones of a span lies a live one; so of r regions in s spans at most (r + s) / 2 can become free. In
 * several sets all can. */
static bool reserve_free_sets(struct tn_region_index *index, uint32_t span_count,
                              uint32_t chunk_count)
{
    uint32_t free_count_max =
        index->is_divided ? index->region_capacity : (index->region_capacity + span_count) / 2;
    uint32_t set_count = 0;
    for (unsigned set = 0; set < TN_FREE_SET_COUNT; set++)
        set_count += tn_region_index_has_set(index, set);
    for (unsigned set = 0; set < TN_FREE_SET_COUNT; set++) {
        if (!tn_region_index_has_set(index, set)) continue;
        if (!tn_free_set_reserve(&index->by_size[set], set_count, free_count_max, chunk_count,
                                 index->region_capacity))
            return false;
    }
    return true;
}

/* Room for added_regions more records and added_chunks more chunks in added_spans more spans. */
static TN_COLD bool reserve_slowly(struct tn_region_index *index, uint32_t added_regions,
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
    return TN_LIKELY(tn_region_index_has_room(index)) || reserve_slowly(index, 2, 0, 0);
}

bool tn_region_index_reserve_span(struct tn_region_index *index, uint32_t first_chunk,
                                  uint32_t chunk_count)
{
    TN_ASSERT(chunk_count > 0 && chunk_count <= TN_CHUNK_COUNT_MAX - first_chunk);
    uint32_t group_count = (first_chunk + chunk_count - 1) / TN_START_GROUP_CHUNKS + 1;
    return tn_bit_tree_grow(&index->starts, group_count) &&
           reserve_slowly(index, 4, 1, chunk_count);
}

bool tn_region_index_add_stream(struct tn_region_index *index, unsigned stream)
{
    index->is_divided = true;
    return add_set(index, tn_free_set_of_stream(stream)) && add_set(index, TN_FREE_SET_SHARED) &&
           reserve_free_sets(index, index->span_count, index->chunk_count);
}

/* --- spans ---------------------------------------------------------------------------------- */

/* A span of one region, which is neither free nor void yet. Returns that region. */
static uint32_t add_span(struct tn_region_index *index, uint32_t first_chunk, uint32_t chunk_count)
{
    TN_ASSERT(first_chunk % TN_START_GROUP_CHUNKS == 0);
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
    uint32_t whole = add_span(index, first_chunk, chunk_count);
    tn_region_mark_free(&index->regions[whole], TN_DEPENDENCY_NONE);
    tn_region_index_insert_free(index, index->regions, whole);
    return index->regions[whole].previous;
}

static bool is_free_without(const struct tn_region *region, uint32_t held)
{
    return region->state == TN_REGION_STATE_FREE &&
           (tn_region_dependency(region).streams & held) == 0;
}

bool tn_region_index_span_is_free(const struct tn_region_index *index, uint32_t head, uint32_t held)
{
    uint32_t region = index->regions[head].next;
    while (is_free_without(&index->regions[region], held))
        region = index->regions[region].next;
    return region == head;
}

void tn_region_index_remove_span(struct tn_region_index *index, uint32_t head)
{
    TN_ASSERT(tn_region_index_span_is_free(index, head, 0));
    uint32_t region = index->regions[head].next;
    while (region != head) {
        const struct tn_region *r = &index->regions[region];
        uint32_t next = r->next;
        index->chunk_count -= r->chunk_count;
        tn_region_index_remove_free(index, index->regions, region, r->chunk_count, r->first_chunk);
        tn_bit_tree_clear(&index->starts, tn_start_group_of(r->first_chunk));
        tn_region_index_give_record_back(index, region);
        region = next;
    }
    tn_region_index_give_record_back(index, head);
    index->span_count--;
}

/* --- carve ---------------------------------------------------------------------------------- */

uint32_t tn_region_index_find_next_fit(const struct tn_region_index *index, uint32_t region,
                                       uint32_t chunk_count)
{
    unsigned set = tn_free_set_of(tn_region_dependency(&index->regions[region]).streams);
    return tn_free_set_find_after(&index->by_size[set], index->regions, region, chunk_count);
}

/* Makes the first chunks of a free region one of their own, which depends on the same. */
static TN_COLD void split_off_lead(struct tn_region_index *index, uint32_t region, uint32_t lead)
{
    uint32_t old_chunk_count = index->regions[region].chunk_count;
    uint32_t old_first_chunk = index->regions[region].first_chunk;
    uint32_t before = tn_region_index_cut_front(index, region, lead);
    tn_region_index_change_free(index, index->regions, region, old_chunk_count, old_first_chunk);
    tn_region_mark_free(&index->regions[before], tn_region_dependency(&index->regions[region]));
    tn_region_index_insert_free(index, index->regions, before);
}

uint32_t tn_region_index_carve(struct tn_region_index *index, uint32_t region, uint32_t lead,
                               uint32_t chunk_count, uint32_t slack_bytes)
{
    TN_ASSERT(index->region_count + 2 <= index->reserved_count);
    TN_ASSERT((uint64_t)lead + chunk_count <= index->regions[region].chunk_count);
    if (TN_UNLIKELY(lead > 0)) split_off_lead(index, region, lead);

    return tn_region_index_carve_front(index, region, chunk_count, slack_bytes);
}

/* --- free ----------------------------------------------------------------------------------- */

/* What grows waits for what both waited for. */
TN_HOT void unite_dependencies(struct tn_region *grown, const struct tn_region *joined)
{
    struct tn_dependency mine = tn_region_dependency(grown);
    tn_region_set_dependency(grown, tn_dependency_unite(mine, tn_region_dependency(joined)));
}

uint32_t tn_region_index_make_free(struct tn_region_index *index, uint32_t region,
                                   struct tn_dependency dependency)
{
    return tn_region_index_make_free_inline(index, region, dependency);
}

static uint32_t coalesce(struct tn_region_index *index, uint32_t region)
{
    return tn_region_index_make_free(index, region, tn_region_dependency(&index->regions[region]));
}

bool tn_region_index_free(struct tn_region_index *index, uint32_t first_chunk,
                          struct tn_dependency dependency, struct tn_freed *freed_out)
{
    uint32_t *place = tn_live_map_find_place(&index->live, index->regions, first_chunk);
    if (!place || tn_region_owner(&index->regions[*place]) == TN_REGION_OWNER_SLAB) return false;
    tn_region_index_free_at(index, place, dependency, freed_out);
    return true;
}

/* --- resize --------------------------------------------------------------------------------- */

/* The front of a free region goes to the region before it. */
static void give_front(struct tn_region_index *index, uint32_t region, uint32_t chunk_count)
{
    struct tn_region *r = &index->regions[region];
    uint32_t old_chunk_count = r->chunk_count, old_first_chunk = r->first_chunk;
    r->first_chunk += chunk_count;
    r->chunk_count -= chunk_count;
    tn_region_index_forget_start(index, old_first_chunk, &index->regions[r->previous], r);
    tn_region_index_note_start(index, r->first_chunk);
    tn_region_index_change_free(index, index->regions, region, old_chunk_count, old_first_chunk);
}

/* All of it does. */
static void give_whole(struct tn_region_index *index, uint32_t region)
{
    const struct tn_region *r = &index->regions[region];
    tn_region_index_remove_free(index, index->regions, region, r->chunk_count, r->first_chunk);
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
    tn_region_set_slack(r, slack_bytes);
}

/* Cuts what lies behind the first chunk_count chunks off a live region. It gets a new record, neither free nor live
 * yet. */
static uint32_t cut_back(struct tn_region_index *index, uint32_t region, uint32_t chunk_count)
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
    uint32_t owner = tn_region_owner(&index->regions[region]);
    if (owner != 0) dependency.streams = (uint32_t)1 << (owner - 1);
    uint32_t back = cut_back(index, region, chunk_count);
    tn_region_set_slack(&index->regions[region], slack_bytes);
    tn_region_mark_free(&index->regions[back], dependency);
    coalesce(index, back);
}

/* --- dependencies --------------------------------------------------------------------------- */

void tn_region_index_change_dependency(struct tn_region_index *index, uint32_t region,
                                       struct tn_dependency dependency)
{
    struct tn_region *r = &index->regions[region];
    tn_region_index_remove_free(index, index->regions, region, r->chunk_count, r->first_chunk);
    tn_region_set_dependency(r, dependency);
    coalesce(index, region);
}

/* The first region of a set, from one on, that depends on one of the streams up to the time. */
static uint32_t find_dependent(const struct tn_region_index *index, unsigned set, uint32_t region,
                               uint32_t streams, uint32_t time)
{
    while (region != TN_REGION_NONE) {
        struct tn_dependency dependency = tn_region_dependency(&index->regions[region]);
        if ((dependency.streams & streams) != 0 && dependency.time <= time) break;
        region = tn_free_set_find_after(&index->by_size[set], index->regions, region, 1);
    }
    return region;
}

static uint32_t first_dependent(const struct tn_region_index *index, unsigned set, uint32_t streams,
                                uint32_t time)
{
    uint32_t first = tn_free_set_find(&index->by_size[set], index->regions, 1);
    return find_dependent(index, set, first, streams, time);
}

/* Gives a region of the set another dependency, on none of the streams. Returns the next one that depends on
 * one of them. To be found before, since the region's place is lost; it keeps its own, since nothing that
 * depends on the streams coalesces with what does not. */
static uint32_t change_dependent(struct tn_region_index *index, unsigned set, uint32_t region,
                                 struct tn_dependency dependency, uint32_t streams, uint32_t time)
{
    TN_ASSERT((dependency.streams & streams) == 0);
    uint32_t next = tn_free_set_find_after(&index->by_size[set], index->regions, region, 1);
    next = find_dependent(index, set, next, streams, time);
    tn_region_index_change_dependency(index, region, dependency);
    return next;
}

/* The regions of one set that depend on the streams up to the time depend on the others alone. */
static void complete_in_set(struct tn_region_index *index, unsigned set, uint32_t streams,
                            uint32_t time)
{
    uint32_t region = first_dependent(index, set, streams, time);
    while (region != TN_REGION_NONE) {
        struct tn_dependency dependency = tn_region_dependency(&index->regions[region]);
        dependency.streams &= ~streams;
        /* Or what it is united with one day would be later than it is. */
        if (dependency.streams == 0) dependency = TN_DEPENDENCY_NONE;
        region = change_dependent(index, set, region, dependency, streams, time);
    }
}

void tn_region_index_complete(struct tn_region_index *index, uint32_t streams, uint32_t time)
{
    for (uint32_t rest = streams; rest != 0; rest &= rest - 1) {
        unsigned set = tn_free_set_of_stream(tn_lowest_bit(rest));
        if (tn_region_index_has_set(index, set)) complete_in_set(index, set, streams, time);
    }
    if (tn_region_index_has_set(index, TN_FREE_SET_SHARED))
        complete_in_set(index, TN_FREE_SET_SHARED, streams, time);
}

/* Regions that wait for the stream in the set wait for the dependency in its place. */
static void replace_in_set(struct tn_region_index *index, unsigned set, uint32_t stream_bit,
                           struct tn_dependency dependency)
{
    uint32_t region = first_dependent(index, set, stream_bit, UINT32_MAX);
    while (region != TN_REGION_NONE) {
        struct tn_dependency changed = tn_region_dependency(&index->regions[region]);
        changed.streams &= ~stream_bit;
        if (changed.streams == 0) changed = TN_DEPENDENCY_NONE;
        changed = tn_dependency_unite(changed, dependency);
        region = change_dependent(index, set, region, changed, stream_bit, UINT32_MAX);
    }
}

void tn_region_index_disown(struct tn_region_index *index, unsigned stream,
                            struct tn_dependency dependency)
{
    uint32_t stream_bit = (uint32_t)1 << stream;
    for (uint32_t region = 0; region < index->fresh; region++) {
        struct tn_region *r = &index->regions[region];
        if (r->state == TN_REGION_STATE_LIVE && tn_region_owner(r) == stream + 1)
            tn_region_set_owner(r, 0);
    }
    replace_in_set(index, tn_free_set_of_stream(stream), stream_bit, dependency);
    replace_in_set(index, TN_FREE_SET_SHARED, stream_bit, dependency);
}

void tn_region_index_begin_anew(struct tn_region_index *index)
{
    for (uint32_t region = 0; region < index->fresh; region++) {
        struct tn_region *r = &index->regions[region];
        if (r->state != TN_REGION_STATE_FREE) continue;
        tn_region_set_dependency(r, (struct tn_dependency){ tn_region_dependency(r).streams, 0 });
    }
}

/* --- runs ----------------------------------------------------------------------------------- */

struct tn_region_run tn_region_index_find_run(const struct tn_region_index *index, uint32_t head,
                                              uint32_t streams, uint32_t chunk_count)
{
    struct tn_region_run best = { TN_REGION_NONE, 0, UINT32_MAX }, run = { TN_REGION_NONE, 0, 0 };
    for (uint32_t region = index->regions[head].next; region != head;
         region = index->regions[region].next) {
        const struct tn_region *r = &index->regions[region];
        if (!is_free_without(r, ~streams)) {
            run = (struct tn_region_run){ TN_REGION_NONE, 0, 0 };
            continue;
        }
        if (run.region_count == 0) run.first = region;
        run.region_count++;
        run.chunk_count += r->chunk_count;
        /* No more at its front than it needs. */
        while (run.chunk_count - index->regions[run.first].chunk_count >= chunk_count) {
            run.chunk_count -= index->regions[run.first].chunk_count;
            run.first = index->regions[run.first].next;
            run.region_count--;
        }
        if (run.chunk_count >= chunk_count && run.chunk_count < best.chunk_count) best = run;
    }
    return best;
}

void tn_region_index_unite_run(struct tn_region_index *index, const struct tn_region_run *run)
{
    struct tn_region *first = &index->regions[run->first];
    tn_region_index_remove_free(index, index->regions, run->first, first->chunk_count,
                                first->first_chunk);
    for (uint32_t i = 1; i < run->region_count; i++) {
        uint32_t joined = first->next;
        const struct tn_region *j = &index->regions[joined];
        tn_region_index_remove_free(index, index->regions, joined, j->chunk_count, j->first_chunk);
        unite_dependencies(first, j);
        first->chunk_count += j->chunk_count;
        tn_region_index_forget_start(index, j->first_chunk, first, &index->regions[j->next]);
        tn_region_index_dissolve(index, joined);
    }
    coalesce(index, run->first);
}

/* --- lending --------------------------------------------------------------------------------- */

bool tn_region_index_promise(struct tn_region_index *index, uint32_t record_count)
{
    uint32_t needed = index->region_count + record_count;
    if (needed > index->reserved_count && !reserve_slowly(index, record_count, 0, 0)) return false;
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

/* Takes a region as the borrower has it, behind `previous` in the ring, and forgets it there. It is in no
 * free set yet. */
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
        tn_region_index_remove_free(borrower, borrower->regions, region, lent->chunk_count,
                                    lent->first_chunk);
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
        if (index->regions[region].state == TN_REGION_STATE_FREE) coalesce(index, region);
        region = next;
    }
}

/* --- chunks without memory ------------------------------------------------------------------ */

/* Puts a void at rest into the list. */
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
    uint32_t whole = add_span(index, first_chunk, chunk_count);
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

/* Takes chunks out of one free region, which has them all. */
static uint32_t take_part(struct tn_region_index *index, uint32_t region, uint32_t first_chunk,
                          uint32_t chunk_count)
{
    const struct tn_region *r = &index->regions[region];
    struct tn_dependency dependency = tn_region_dependency(r);
    uint32_t lead = first_chunk - r->first_chunk;
    tn_region_index_remove_free(index, index->regions, region, r->chunk_count, r->first_chunk);
    if (lead > 0) {
        uint32_t kept = tn_region_index_cut_front(index, region, lead);
        tn_region_mark_free(&index->regions[kept], dependency);
        tn_region_index_insert_free(index, index->regions, kept);
    }
    uint32_t taken = region;
    if (r->chunk_count > chunk_count) {
        taken = tn_region_index_cut_front(index, region, chunk_count);
        tn_region_index_insert_free(index, index->regions, region);
    }
    tn_region_mark_void(&index->regions[taken], true);
    index->void_count++;
    return taken;
}

/* Makes one void of two that touch. */
static void join_voids(struct tn_region_index *index, uint32_t region, uint32_t next)
{
    struct tn_region *r = &index->regions[region];
    const struct tn_region *n = &index->regions[next];
    r->chunk_count += n->chunk_count;
    tn_region_index_forget_start(index, n->first_chunk, r, &index->regions[n->next]);
    tn_region_index_dissolve(index, next);
}

uint32_t tn_region_index_take_free(struct tn_region_index *index, uint32_t region,
                                   uint32_t first_chunk, uint32_t chunk_count)
{
    TN_ASSERT(index->region_count + 2 <= index->reserved_count);
    uint32_t end_chunk = first_chunk + chunk_count, taken = TN_REGION_NONE;
    while (first_chunk < end_chunk) {
        uint32_t part_end =
            (uint32_t)tn_min(end_chunk, tn_region_end_chunk(&index->regions[region]));
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
    return coalesce(index, taken);
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

/* --- queries -------------------------------------------------------------------------------- */

/* The last live region of a group of chunks that starts at `chunk` or before, or TN_REGION_NONE.
 * Tries each chunk: the live map knows only first chunks. */
static uint32_t find_last_start(const struct tn_region_index *index, uint32_t group, uint32_t chunk)
{
    uint32_t first = group * TN_START_GROUP_CHUNKS;
    uint32_t start = (uint32_t)tn_min(chunk, first + TN_START_GROUP_CHUNKS - 1);
    for (;; start--) {
        uint32_t region = tn_live_map_find(&index->live, index->regions, start);
        if (region != TN_REGION_NONE || start == first) return region;
    }
}

/*
 * What a chunk lies in starts in the chunk's own group or in the last one before it in which any
 * region starts. Where no live region starts there, a free one covers the chunk.
 */
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

uint32_t tn_region_index_largest_free(const struct tn_region_index *index)
{
    uint32_t largest = 0;
    for (unsigned set = 0; set < TN_FREE_SET_COUNT; set++) {
        if (!tn_region_index_has_set(index, set)) continue;
        uint32_t region = tn_free_set_find_largest(&index->by_size[set], index->regions);
        if (region == TN_REGION_NONE) continue;
        largest = (uint32_t)tn_max(largest, index->regions[region].chunk_count);
    }
    return largest;
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

/* --- check ---------------------------------------------------------------------------------- */

/* Whether the region's group has its bit, and no group up to the next region's has one. */
static bool starts_are_right(const struct tn_region_index *index, const struct tn_region *region)
{
    uint32_t group = tn_start_group_of(region->first_chunk);
    if (!tn_bit_tree_has(&index->starts, group)) return false;
    uint32_t next_start = tn_bit_tree_find_next(&index->starts, group + 1);
    const struct tn_region *next = &index->regions[region->next];
    if (tn_region_is_head(next)) {
        return next_start == TN_BIT_TREE_NONE ||
               next_start >=
                   tn_start_group_of(tn_region_end_chunk(region) + TN_START_GROUP_CHUNKS - 1);
    }
    return tn_start_group_of(next->first_chunk) == group ||
           next_start == tn_start_group_of(next->first_chunk);
}

static const char *check_region(const struct tn_region_index *index, uint32_t region,
                                uint32_t previous, uint32_t chunks_left)
{
    const struct tn_region *r = &index->regions[region];
    if (r->state == TN_REGION_STATE_UNUSED) return "an unused record is among the regions";
    if (r->chunk_count == 0 || r->chunk_count > chunks_left) {
        return "a region is empty or reaches beyond its static pool";
    }
    if (r->previous != previous) return "a region does not know the one before it";
    if (r->state == TN_REGION_STATE_FREE &&
        tn_region_is_free_on(&index->regions[previous], tn_region_dependency(r).streams)) {
        return "two free regions that depend on the same streams touch";
    }
    if (tn_region_is_void_at_rest(r) && tn_region_is_void_at_rest(&index->regions[previous])) {
        return "two voids at rest touch";
    }
    return NULL;
}

const char *tn_region_index_check_span(const struct tn_region_index *index, uint32_t head,
                                       uint32_t first_chunk, uint32_t chunk_count)
{
    uint32_t chunk = first_chunk, end_chunk = first_chunk + chunk_count, previous = head;
    if (!tn_region_is_head(&index->regions[head])) return "a head is none";
    for (uint32_t region = index->regions[head].next; region != head;
         region = index->regions[region].next) {
        if (region >= index->fresh) return "a region links to a record that does not exist";
        if (index->regions[region].first_chunk != chunk) {
            return "a region does not start where the one before it ends";
        }
        const char *fault = check_region(index, region, previous, end_chunk - chunk);
        if (fault) return fault;
        if (index->regions[region].next >= index->fresh) {
            return "a region links to a record that does not exist";
        }
        if (!starts_are_right(index, &index->regions[region])) {
            return "the groups in which regions start are wrong";
        }
        chunk = tn_region_end_chunk(&index->regions[region]);
        previous = region;
    }
    if (index->regions[head].previous != previous) return "a head does not know the last region";
    return chunk == end_chunk ? NULL : "the regions do not tile their static pool";
}

/* Whether every free region is in the set of its dependency. */
static const char *check_free_sets(const struct tn_region_index *index, uint32_t free_count)
{
    uint32_t counts[TN_FREE_SET_COUNT] = { 0 }, pending_chunk_count = 0;
    for (uint32_t region = 0; region < index->fresh; region++) {
        const struct tn_region *r = &index->regions[region];
        if (r->state != TN_REGION_STATE_FREE) continue;
        unsigned set = tn_free_set_of(tn_region_dependency(r).streams);
        counts[set]++;
        if (set != TN_FREE_SET_IDLE) pending_chunk_count += r->chunk_count;
    }
    for (unsigned set = 0; set < TN_FREE_SET_COUNT; set++) {
        bool is_there = tn_region_index_has_set(index, set);
        const char *fault =
            is_there ? tn_free_set_check(&index->by_size[set], index->regions) : NULL;
        if (fault) return fault;
        if (counts[set] != (is_there ? tn_free_set_region_count(&index->by_size[set]) : 0))
            return "a free region is not in the free set by size of its dependency";
        free_count -= counts[set];
    }
    if (free_count != 0) return "a free region is in no free set by size";
    return pending_chunk_count == index->pending_chunk_count
               ? NULL
               : "the count of pending chunks is wrong";
}

/* Whether the list has the voids at rest, so many, and in order. */
static const char *check_voids(const struct tn_region_index *index, uint32_t resting_count)
{
    uint64_t end_chunk = 0;
    for (uint32_t region = index->first_void; region != TN_REGION_NONE;
         region = index->regions[region].link) {
        if (region >= index->fresh || !tn_region_is_void_at_rest(&index->regions[region]))
            return "the list of voids holds what is none";
        if (index->regions[region].first_chunk < end_chunk) return "the voids are not in order";
        end_chunk = tn_region_end_chunk(&index->regions[region]);
        if (resting_count-- == 0) break;
    }
    return resting_count == 0 ? NULL : "a void is not in the list of voids";
}

const char *tn_region_index_check(const struct tn_region_index *index)
{
    if (!tn_bit_tree_check(&index->starts)) return "the starts' bit tree contradicts itself";
    uint32_t free_count = 0, live_count = 0, void_count = 0, resting_count = 0;
    for (uint32_t region = 0; region < index->fresh; region++) {
        const struct tn_region *r = &index->regions[region];
        free_count += r->state == TN_REGION_STATE_FREE;
        live_count += r->state == TN_REGION_STATE_LIVE;
        void_count += r->state == TN_REGION_STATE_VOID;
        resting_count += tn_region_is_void_at_rest(r);
    }
    if (free_count + live_count + void_count != index->region_count ||
        void_count != index->void_count + index->span_count) {
        return "the region index has lost count";
    }
    const char *fault = check_voids(index, resting_count);
    if (fault) return fault;
    fault = check_free_sets(index, free_count);
    if (fault) return fault;
    fault = tn_live_map_check(&index->live, index->regions);
    if (fault) return fault;
    return tn_live_map_live_count(&index->live) == live_count
               ? NULL
               : "a live region is not in the live map";
}
