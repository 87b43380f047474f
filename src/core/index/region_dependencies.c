/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* region_dependencies: changes of what free regions wait for; sums of the regions that wait for a stream; and runs,
 * which are adjacent free regions with different dependencies, that hold a request only together. */
#include "region_index.h"

/* --- dependencies --------------------------------------------------------------------------- */

void tn_region_index_change_dependency(struct tn_region_index *index, uint32_t region,
                                       struct tn_dependency dependency)
{
    struct tn_region *r = &index->regions[region];
    tn_region_index_remove_free(index, region);
    tn_region_set_dependency(r, dependency);
    tn_region_index_coalesce(index, region);
}

/* Returns the first region of a set, from `region` on, that depends on one of the streams up to the time. */
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

/* Gives a region of the set another dependency, on none of the streams. Returns the next region that depends
 * on one of them. Finds it first, since the region loses its place in the set. The next region keeps its
 * place: it depends on one of the streams, so it does not coalesce with this one. */
static uint32_t change_dependent(struct tn_region_index *index, unsigned set, uint32_t region,
                                 struct tn_dependency dependency, uint32_t streams, uint32_t time)
{
    TN_ASSERT((dependency.streams & streams) == 0);
    uint32_t next = tn_free_set_find_after(&index->by_size[set], index->regions, region, 1);
    next = find_dependent(index, set, next, streams, time);
    tn_region_index_change_dependency(index, region, dependency);
    return next;
}

/* Removes the streams from all dependencies of one set up to the time. */
static void complete_in_set(struct tn_region_index *index, unsigned set, uint32_t streams,
                            uint32_t time)
{
    uint32_t region = first_dependent(index, set, streams, time);
    while (region != TN_REGION_NONE) {
        struct tn_dependency dependency =
            tn_dependency_complete(tn_region_dependency(&index->regions[region]), streams, time);
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

/* Replaces the stream by the dependency, in all regions of the set that wait for it. */
static void replace_in_set(struct tn_region_index *index, unsigned set, uint32_t stream_bit,
                           struct tn_dependency dependency)
{
    uint32_t region = first_dependent(index, set, stream_bit, UINT32_MAX);
    while (region != TN_REGION_NONE) {
        struct tn_dependency changed = tn_dependency_replace(
            tn_region_dependency(&index->regions[region]), stream_bit, dependency);
        region = change_dependent(index, set, region, changed, stream_bit, UINT32_MAX);
    }
}

void tn_region_index_disown(struct tn_region_index *index, unsigned stream,
                            struct tn_dependency dependency)
{
    for (uint32_t region = 0; region < index->fresh; region++) {
        struct tn_region *r = &index->regions[region];
        if (r->state == TN_REGION_STATE_LIVE && tn_region_owner(r) == stream + 1)
            tn_region_set_owner(r, 0);
    }
    tn_region_index_replace(index, stream, dependency);
}

void tn_region_index_replace(struct tn_region_index *index, unsigned stream,
                             struct tn_dependency dependency)
{
    uint32_t stream_bit = (uint32_t)1 << stream;
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

/* --- sums ----------------------------------------------------------------------------------- */

struct tn_free_sum tn_region_index_sum_dependents(const struct tn_region_index *index,
                                                  uint32_t streams)
{
    struct tn_free_sum sum = { 0, 0 };
    if (streams == 0) return sum;
    for (unsigned set = TN_FREE_SET_IDLE + 1; set <= TN_FREE_SET_SHARED; set++) {
        bool is_of_others = set != TN_FREE_SET_SHARED &&
                            (streams & (uint32_t)1 << (set - tn_free_set_of_stream(0))) == 0;
        if (is_of_others || !tn_region_index_has_set(index, set)) continue;
        for (uint32_t region = first_dependent(index, set, streams, UINT32_MAX);
             region != TN_REGION_NONE;) {
            sum.region_count++;
            sum.chunk_count += index->regions[region].chunk_count;
            region = tn_free_set_find_after(&index->by_size[set], index->regions, region, 1);
            region = find_dependent(index, set, region, streams, UINT32_MAX);
        }
    }
    return sum;
}

/* The set of regions that depend on several streams is searched one by one, since a region of another stream may
 * be larger. */
static uint32_t largest_shared_without(const struct tn_region_index *index, uint32_t streams)
{
    const struct tn_free_set *set = &index->by_size[TN_FREE_SET_SHARED];
    uint32_t largest = 0;
    for (uint32_t region = tn_free_set_find(set, index->regions, 1); region != TN_REGION_NONE;
         region = tn_free_set_find_after(set, index->regions, region, 1)) {
        if (tn_region_is_free_without(&index->regions[region], streams))
            largest = (uint32_t)tn_max(largest, index->regions[region].chunk_count);
    }
    return largest;
}

uint32_t tn_region_index_largest_free_without(const struct tn_region_index *index, uint32_t streams)
{
    uint32_t largest = 0;
    for (uint64_t sets = index->sets; sets != 0; sets &= sets - 1) {
        unsigned set = tn_lowest_bit(sets);
        if (set == TN_FREE_SET_SHARED && streams != 0) {
            largest = (uint32_t)tn_max(largest, largest_shared_without(index, streams));
            continue;
        }
        uint32_t region = tn_free_set_find_largest(&index->by_size[set], index->regions);
        /* All regions of another set depend on the same streams. */
        if (region == TN_REGION_NONE ||
            !tn_region_is_free_without(&index->regions[region], streams))
            continue;
        largest = (uint32_t)tn_max(largest, index->regions[region].chunk_count);
    }
    return largest;
}

/* --- runs ----------------------------------------------------------------------------------- */

struct tn_region_run tn_region_index_find_run(const struct tn_region_index *index, uint32_t head,
                                              uint32_t streams, uint32_t chunk_count)
{
    struct tn_region_run best = { TN_REGION_NONE, 0, UINT32_MAX }, run = { TN_REGION_NONE, 0, 0 };
    for (uint32_t region = index->regions[head].next; region != head;
         region = index->regions[region].next) {
        const struct tn_region *r = &index->regions[region];
        if (!tn_region_is_free_without(r, ~streams)) {
            run = (struct tn_region_run){ TN_REGION_NONE, 0, 0 };
            continue;
        }
        if (run.region_count == 0) run.first = region;
        run.region_count++;
        run.chunk_count += r->chunk_count;
        /* Keeps only as many regions at its front as it needs. */
        while (run.chunk_count - index->regions[run.first].chunk_count >= chunk_count) {
            run.chunk_count -= index->regions[run.first].chunk_count;
            run.first = index->regions[run.first].next;
            run.region_count--;
        }
        if (run.chunk_count >= chunk_count && run.chunk_count < best.chunk_count) best = run;
    }
    return best;
}

/* The joined region waits for everything that both waited for. */
static void unite_dependencies(struct tn_region *grown, const struct tn_region *joined)
{
    struct tn_dependency mine = tn_region_dependency(grown);
    tn_region_set_dependency(grown, tn_dependency_unite(mine, tn_region_dependency(joined)));
}

void tn_region_index_unite_run(struct tn_region_index *index, const struct tn_region_run *run)
{
    struct tn_region *first = &index->regions[run->first];
    tn_region_index_remove_free(index, run->first);
    for (uint32_t i = 1; i < run->region_count; i++) {
        uint32_t joined = first->next;
        const struct tn_region *j = &index->regions[joined];
        tn_region_index_remove_free(index, joined);
        unite_dependencies(first, j);
        first->chunk_count += j->chunk_count;
        tn_region_index_forget_start(index, j->first_chunk, first, &index->regions[j->next]);
        tn_region_index_dissolve(index, joined);
    }
    tn_region_index_coalesce(index, run->first);
}

uint32_t tn_region_index_pending_streams(const struct tn_region_index *index)
{
    uint32_t streams = 0;
    for (uint64_t sets = index->sets & ~TN_FREE_SETS_IDLE; sets != 0; sets &= sets - 1) {
        unsigned set = tn_lowest_bit(sets);
        if (tn_free_set_region_count(&index->by_size[set]) == 0) continue;
        streams |= set == TN_FREE_SET_SHARED ? UINT32_MAX
                                             : (uint32_t)1 << (set - tn_free_set_of_stream(0));
    }
    return streams;
}
