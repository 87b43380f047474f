/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* step_range: plans, and steps that come and go. */
#include "step_range.h"

#include "../../base/arith.h"
#include "../../base/host_memory.h"

/* --- sizes ---------------------------------------------------------------------------------- */

/* The common granularity of devices. Smaller units take more calls of the vendor to begin with. */
#define UNIT_BYTES_MAX         ((size_t)2 << 20)
#define UNITS_OF_A_LIMIT_MAX   2048
#define POWER_OF_TWO_BELOW(to) ((size_t)1 << tn_highest_bit(tn_max(to, 1)))

size_t tn_unit_bytes_for(size_t device_bytes, size_t limit_bytes, size_t floor_bytes)
{
    /* A limit smaller than that holds at least one unit. */
    size_t unit_bytes =
        tn_max(tn_min(UNIT_BYTES_MAX, POWER_OF_TWO_BELOW(limit_bytes)), floor_bytes);
    while (limit_bytes < device_bytes && limit_bytes % unit_bytes >= floor_bytes &&
           unit_bytes > floor_bytes && limit_bytes / unit_bytes < UNITS_OF_A_LIMIT_MAX / 2)
        unit_bytes /= 2;
    return unit_bytes;
}

/* --- life ----------------------------------------------------------------------------------- */

static size_t description_bytes(uint32_t unit_count)
{
    return sizeof(struct tn_step_range) + unit_count * sizeof(uint32_t);
}

struct tn_step_range *tn_step_range_create(void *reserved, size_t reserved_bytes, size_t unit_bytes,
                                           uint32_t unit_count, uint32_t unit_count_max,
                                           unsigned chunk_log2)
{
    uintptr_t first_address = tn_round_down((uintptr_t)reserved + unit_bytes - 1, unit_bytes);
    size_t range_bytes = unit_count * unit_bytes;
    TN_ASSERT(first_address + range_bytes <= (uintptr_t)reserved + reserved_bytes);
    struct tn_step_range *range = tn_host_memory_alloc_zeroed(description_bytes(unit_count));
    if (!range) return NULL;
    range->static_pool =
        tn_static_pool_create((void *)first_address, range_bytes, chunk_log2, TN_CHUNK_COUNT_MAX);
    if (!range->static_pool) {
        tn_host_memory_free(range);
        return NULL;
    }
    range->reserved = reserved;
    range->reserved_bytes = reserved_bytes;
    range->unit_bytes = unit_bytes;
    range->unit_chunk_log2 = tn_lowest_bit(unit_bytes) - chunk_log2;
    range->unit_count = unit_count;
    range->unit_count_max = unit_count_max;
    range->device_bytes = SIZE_MAX;
    range->first_unused = TN_STEP_NONE;
    return range;
}

void tn_step_range_destroy(struct tn_step_range *range)
{
    if (range) tn_host_memory_free(range->steps);
    tn_host_memory_free(range);
}

size_t tn_step_range_metadata_bytes(const struct tn_step_range *range)
{
    return description_bytes(range->unit_count) + range->step_capacity * sizeof *range->steps;
}

/* --- planning ------------------------------------------------------------------------------- */

/* The parameters of a search, and the best place so far. */
struct search {
    const struct tn_step_range *range;
    const struct tn_region_index *index;
    size_t alignment_bytes;
    uint32_t streams;
    struct tn_step_plan best; /* missing_count is UINT32_MAX if none was found */
};

/* Adjacent regions that are all available. */
struct stretch {
    uint32_t first;     /* region */
    uint32_t end;       /* the region after the last */
    uint32_t end_chunk; /* end of the last region */
};

static bool can_have(const struct search *search, uint32_t region)
{
    return tn_region_is_void_at_rest(&search->index->regions[region]) ||
           tn_region_index_is_free_for(search->index, region, search->streams);
}

static struct stretch stretch_around(const struct search *search, uint32_t region)
{
    const struct tn_region *regions = search->index->regions;
    struct stretch stretch = { .first = region, .end = region };
    while (can_have(search, regions[stretch.first].previous))
        stretch.first = regions[stretch.first].previous;
    while (can_have(search, stretch.end)) {
        stretch.end_chunk = tn_region_end_chunk(&regions[stretch.end]);
        stretch.end = regions[stretch.end].next;
    }
    return stretch;
}

/* Counts the missing units of a place, which begins in that region or behind it; or more than `most` of them. */
static uint32_t count_missing(const struct search *search, uint32_t region, uint32_t first_chunk,
                              uint32_t end_chunk, uint32_t most)
{
    const struct tn_step_range *range = search->range;
    const struct tn_region *regions = search->index->regions;
    size_t first_unit = tn_unit_of_chunk(range, first_chunk), missing_count = 0;
    size_t end_unit = tn_unit_of_chunk(range, end_chunk - 1) + 1;
    for (; regions[region].first_chunk < end_chunk && missing_count <= most;
         region = regions[region].next) {
        const struct tn_region *r = &regions[region];
        size_t from = tn_max(first_unit, tn_unit_of_chunk(range, r->first_chunk));
        size_t to = tn_min(end_unit, tn_unit_of_chunk(range, tn_region_end_chunk(r)));
        if (tn_region_is_void_at_rest(r) && to > from) missing_count += to - from;
        if (tn_region_end_chunk(r) >= end_chunk) break;
    }
    return (uint32_t)missing_count;
}

/* Tries the place from a chunk on, which lies in that region or behind it. No stretch contains a step that is taken or
 * refused, even in part. */
static void try_place(struct search *search, const struct stretch *stretch, uint32_t region,
                      uint64_t first_chunk)
{
    struct tn_step_plan *best = &search->best;
    if (first_chunk + best->chunk_count > stretch->end_chunk) return;
    uint32_t first = (uint32_t)first_chunk;
    uint32_t missing_count =
        count_missing(search, region, first, first + best->chunk_count, best->missing_count);
    if (missing_count > best->missing_count ||
        (missing_count == best->missing_count && first >= best->first_chunk))
        return;
    best->first_chunk = first;
    best->missing_count = missing_count;
}

/* Returns the first chunk from there on with the requested alignment. */
static uint64_t aligned_from(const struct search *search, uint64_t chunk)
{
    return chunk + tn_static_pool_lead_of(search->range->static_pool, (uint32_t)chunk,
                                          search->alignment_bytes);
}

/* Tries all aligned places of a stretch. Of those in one void the first is enough. */
static void try_aligned_places(struct search *search, const struct stretch *stretch)
{
    const struct tn_region *regions = search->index->regions;
    uint32_t region = stretch->first, chunk_count = search->best.chunk_count;
    uint64_t chunk = aligned_from(search, regions[region].first_chunk);
    while (chunk + chunk_count <= stretch->end_chunk) {
        while (tn_region_end_chunk(&regions[region]) <= chunk)
            region = regions[region].next;
        try_place(search, stretch, region, chunk);
        uint32_t end_chunk = tn_region_end_chunk(&regions[region]);
        bool is_in_void =
            tn_region_is_void_at_rest(&regions[region]) && chunk + chunk_count <= end_chunk;
        chunk = aligned_from(search, is_in_void ? end_chunk - chunk_count + 1 : chunk + 1);
    }
}

/* Returns the region of a stretch in which a chunk lies. */
static uint32_t region_of_chunk(const struct search *search, const struct stretch *stretch,
                                uint32_t chunk)
{
    const struct tn_region *regions = search->index->regions;
    uint32_t region = regions[stretch->end].previous;
    while (regions[region].first_chunk > chunk)
        region = regions[region].previous;
    return region;
}

/* Units count as a whole. So a place that begins inside a free region is no worse if it begins earlier in
 * that region, and a place that begins in a void is no worse at the edge of a unit. From there it is no worse
 * one unit later, as long as it fits: the unit that it leaves is missing, the unit that it reaches may be
 * mapped. So the first place in each region and the last place of all are enough. If the alignment skips
 * units, that does not hold, and all places are tried. */
static void try_stretch(struct search *search, const struct stretch *stretch)
{
    const struct tn_region *regions = search->index->regions;
    uint32_t chunk_count = search->best.chunk_count;
    uint32_t first_chunk = regions[stretch->first].first_chunk;
    if (stretch->end_chunk - first_chunk < chunk_count) return;
    if (search->alignment_bytes > search->range->unit_bytes) {
        try_aligned_places(search, stretch);
        return;
    }
    for (uint32_t region = stretch->first; region != stretch->end; region = regions[region].next)
        try_place(search, stretch, region, aligned_from(search, regions[region].first_chunk));
    uint32_t last = tn_unit_first_chunk(
        search->range, tn_unit_of_chunk(search->range, stretch->end_chunk - chunk_count));
    if (last >= first_chunk)
        try_place(search, stretch, region_of_chunk(search, stretch, last), last);
}

bool tn_step_range_plan(const struct tn_step_range *range, const struct tn_region_index *index,
                        uint32_t chunk_count, size_t alignment_bytes, uint32_t streams,
                        struct tn_step_plan *plan_out)
{
    struct search search = {
        .range = range,
        .index = index,
        .alignment_bytes = alignment_bytes,
        .streams = streams,
        .best = { UINT32_MAX, chunk_count, UINT32_MAX, TN_STEP_NONE },
    };
    uint32_t next_chunk = 0; /* end of the last stretch */
    for (uint32_t region = index->first_void; region != TN_REGION_NONE;
         region = index->regions[region].link) {
        if (index->regions[region].first_chunk < next_chunk) continue;
        struct stretch stretch = stretch_around(&search, region);
        try_stretch(&search, &stretch);
        next_chunk = stretch.end_chunk;
    }
    if (search.best.missing_count == UINT32_MAX) return false;
    *plan_out = search.best;
    return true;
}

/* --- coming --------------------------------------------------------------------------------- */

/* Returns the void at rest that a chunk lies in. */
static uint32_t find_void(const struct tn_region_index *index, uint32_t chunk)
{
    uint32_t region = index->first_void;
    while (chunk - index->regions[region].first_chunk >= index->regions[region].chunk_count)
        region = index->regions[region].link;
    return region;
}

uint32_t tn_step_range_count_gap(const struct tn_step_range *range,
                                 const struct tn_region_index *index, uint32_t unit)
{
    if (unit == range->unit_count || tn_unit_step(range, unit) != TN_STEP_NONE) return 0;
    uint32_t region = find_void(index, tn_unit_first_chunk(range, unit));
    return tn_unit_of_chunk(range, tn_region_end_chunk(&index->regions[region])) - unit;
}

/* Makes sure that there is a number that no step has. False: no host memory. */
static bool reserve_number(struct tn_step_range *range)
{
    void *steps = range->steps;
    bool has_room = range->first_unused != TN_STEP_NONE ||
                    tn_host_memory_grow_array(&steps, &range->step_capacity, range->step_count,
                                              range->step_count + 1, sizeof *range->steps);
    range->steps = steps;
    return has_room;
}

static uint32_t take_number(struct tn_step_range *range)
{
    uint32_t number = range->first_unused;
    if (number == TN_STEP_NONE) return range->step_count++;
    range->first_unused = range->steps[number].next;
    return number;
}

/* Notes a step, or TN_STEP_NONE, at units. */
static void set_unit_steps(struct tn_step_range *range, uint32_t first, uint32_t count,
                           uint32_t step)
{
    for (uint32_t unit = first; unit < first + count; unit++)
        range->unit_steps[unit] = step + 1;
}

uint32_t tn_step_range_take(struct tn_step_range *range, struct tn_region_index *index,
                            uint32_t first_unit, uint32_t unit_count)
{
    TN_ASSERT(unit_count > 0 && unit_count <= tn_step_range_count_gap(range, index, first_unit));
    if (!tn_region_index_reserve(index) || !reserve_number(range)) return TN_STEP_NONE;
    uint32_t chunk = tn_unit_first_chunk(range, first_unit), step = take_number(range);
    range->steps[step] = (struct tn_step){
        .first_unit = first_unit,
        .unit_count = unit_count,
        .region = tn_region_index_take_void(index, find_void(index, chunk), chunk,
                                            unit_count << range->unit_chunk_log2),
        .next = TN_STEP_NONE,
        .state = TN_STEP_STATE_TRANSIT,
        .dependency = TN_DEPENDENCY_NONE,
    };
    set_unit_steps(range, first_unit, unit_count, step);
    range->left_count++;
    return step;
}

uint32_t tn_step_range_arrive(struct tn_step_range *range, struct tn_region_index *index,
                              uint32_t step)
{
    struct tn_step *arrived = &range->steps[step];
    TN_ASSERT(arrived->state == TN_STEP_STATE_TRANSIT);
    arrived->state = TN_STEP_STATE_MAPPED;
    range->mapped_count++;
    range->mapped_unit_count += arrived->unit_count;
    range->left_count--;
    return tn_region_index_fill(index, arrived->region);
}

/* --- going ---------------------------------------------------------------------------------- */

/* Steps that are not held. */
struct step_sum {
    size_t count; /* of steps; 2 stands for more, too */
    size_t unit_count;
};

/* Sums up the steps that lie wholly in a free region. */
static struct step_sum sum_up_region(const struct tn_step_range *range, const struct tn_region *r)
{
    const struct step_sum none = { 0, 0 };
    uint32_t first = tn_unit_of_chunk(range, r->first_chunk);
    uint32_t end = tn_unit_of_chunk(range, tn_region_end_chunk(r));
    if (tn_unit_first_chunk(range, first) < r->first_chunk) first++;
    if (first >= end) return none;
    uint32_t step = tn_unit_step(range, first), last = tn_unit_step(range, end - 1);
    if (range->steps[step].first_unit < first) first = tn_step_end_unit(range, step);
    if (tn_step_end_unit(range, last) > end) end = range->steps[last].first_unit;
    if (first >= end) return none;
    step = tn_unit_step(range, first);
    struct step_sum sum = { tn_step_end_unit(range, step) == end ? 1 : 2, end - first };
    if (range->held_count == 0) return sum;
    sum = none;
    for (uint32_t unit = first; unit < end; unit = tn_step_end_unit(range, step)) {
        step = tn_unit_step(range, unit);
        if (range->steps[step].hold_count > 0) continue;
        sum.count++;
        sum.unit_count += range->steps[step].unit_count;
    }
    return sum;
}

bool tn_step_range_has_free(const struct tn_step_range *range, const struct tn_region_index *index,
                            uint32_t held, size_t bytes)
{
    struct step_sum all = { 0, 0 };
    uint32_t unit_chunks = (uint32_t)1 << range->unit_chunk_log2;
    for (unsigned set = 0; set < TN_FREE_SET_COUNT; set++) {
        if (!tn_region_index_has_set(index, set)) continue;
        for (uint32_t region = tn_free_set_find(&index->by_size[set], index->regions, unit_chunks);
             region != TN_REGION_NONE;
             region = tn_region_index_find_next_fit(index, region, unit_chunks)) {
            if (!tn_region_is_free_without(&index->regions[region], held)) continue;
            struct step_sum sum = sum_up_region(range, &index->regions[region]);
            all.count += sum.count;
            all.unit_count += sum.unit_count;
            if (all.count > 1 && all.unit_count * range->unit_bytes > bytes) return true;
        }
    }
    return false;
}

struct tn_free_step_walk tn_step_range_begin_walk(const struct tn_step_range *range, uint32_t held)
{
    return (struct tn_free_step_walk){ .held = held, .first = range->static_pool->head };
}

/* Goes on to the next lower run of free regions. False: there is none. */
static bool go_to_next_run(const struct tn_step_range *range, const struct tn_region_index *index,
                           struct tn_free_step_walk *walk)
{
    const struct tn_region *regions = index->regions;
    uint32_t last = regions[walk->first].previous, head = range->static_pool->head;
    while (last != head && !tn_region_is_free_without(&regions[last], walk->held))
        last = regions[last].previous;
    if (last == head) return false;
    walk->first = last;
    while (tn_region_is_free_without(&regions[regions[walk->first].previous], walk->held))
        walk->first = regions[walk->first].previous;
    walk->end_unit = tn_unit_of_chunk(range, tn_region_end_chunk(&regions[last]));
    return true;
}

uint32_t tn_step_range_walk(const struct tn_step_range *range, const struct tn_region_index *index,
                            struct tn_free_step_walk *walk)
{
    do {
        uint32_t first_chunk = index->regions[walk->first].first_chunk;
        while (walk->end_unit > 0 && tn_unit_first_chunk(range, walk->end_unit) > first_chunk) {
            uint32_t end_unit = walk->end_unit, step = tn_unit_step(range, end_unit - 1);
            const struct tn_step *s = &range->steps[step];
            walk->end_unit = s->first_unit;
            bool is_whole = tn_unit_first_chunk(range, s->first_unit) >= first_chunk &&
                            tn_step_end_unit(range, step) == end_unit;
            if (is_whole && s->hold_count == 0) return step;
        }
    } while (go_to_next_run(range, index, walk));
    return TN_STEP_NONE;
}

size_t tn_step_range_count_free(const struct tn_step_range *range,
                                const struct tn_region_index *index, uint32_t held)
{
    size_t bytes = 0;
    struct tn_free_step_walk walk = tn_step_range_begin_walk(range, held);
    uint32_t step;
    while ((step = tn_step_range_walk(range, index, &walk)) != TN_STEP_NONE)
        bytes += tn_step_bytes(range, step);
    return bytes;
}

bool tn_step_range_take_free(struct tn_step_range *range, struct tn_region_index *index,
                             struct tn_free_step_walk *walk)
{
    uint32_t step = tn_unit_step(range, walk->end_unit), region = walk->first;
    struct tn_step *taken = &range->steps[step];
    uint32_t chunk = tn_unit_first_chunk(range, taken->first_unit);
    if (!tn_region_index_reserve(index)) return false;
    while (tn_region_end_chunk(&index->regions[region]) <= chunk)
        region = index->regions[region].next;
    taken->region = tn_region_index_take_free(
        index, region, chunk, taken->unit_count << range->unit_chunk_log2, &taken->dependency);
    taken->state = TN_STEP_STATE_TRANSIT;
    taken->is_leaving = true;
    taken->next = TN_STEP_NONE;
    range->mapped_count--;
    range->mapped_unit_count -= taken->unit_count;
    range->left_count++;
    /* The walk goes on with the rest of the run. */
    walk->first = taken->region;
    walk->end_unit = 0;
    return true;
}

void tn_step_range_leave(struct tn_step_range *range, struct tn_region_index *index, uint32_t step)
{
    struct tn_step *left = &range->steps[step];
    TN_ASSERT(left->state == TN_STEP_STATE_TRANSIT);
    set_unit_steps(range, left->first_unit, left->unit_count, TN_STEP_NONE);
    range->left_count--;
    tn_region_index_rest(index, left->region);
    left->state = TN_STEP_STATE_UNUSED;
    left->next = range->first_unused;
    range->first_unused = step;
}

/* --- finding --------------------------------------------------------------------------------------- */

uint32_t tn_step_range_find(const struct tn_step_range *range, uint64_t id)
{
    for (uint32_t i = 0; i < range->step_count; i++) {
        const struct tn_step *step = &range->steps[i];
        bool is_there = step->state == TN_STEP_STATE_MAPPED ||
                        (step->state == TN_STEP_STATE_TRANSIT && !step->is_leaving);
        if (is_there && step->id == id) return i;
    }
    return TN_STEP_NONE;
}

/* --- refused ------------------------------------------------------------------------------------ */

void tn_step_range_refuse(struct tn_step_range *range, uint32_t step)
{
    TN_ASSERT(range->steps[step].state == TN_STEP_STATE_TRANSIT);
    range->steps[step].state = TN_STEP_STATE_REFUSED;
    range->refused_count++;
}

uint32_t tn_step_range_next_refused(const struct tn_step_range *range, uint32_t step)
{
    if (range->refused_count == 0) return TN_STEP_NONE;
    for (; step < range->step_count; step++) {
        if (range->steps[step].state == TN_STEP_STATE_REFUSED) return step;
    }
    return TN_STEP_NONE;
}

void tn_step_range_retry(struct tn_step_range *range, uint32_t step)
{
    TN_ASSERT(range->steps[step].state == TN_STEP_STATE_REFUSED);
    range->steps[step].state = TN_STEP_STATE_TRANSIT;
    range->refused_count--;
}

/* Whether the step's dependency has a meaning. */
static bool has_left(const struct tn_step *step)
{
    return step->state == TN_STEP_STATE_TRANSIT || step->state == TN_STEP_STATE_REFUSED;
}

uint32_t tn_step_range_streams(const struct tn_step_range *range)
{
    uint32_t streams = 0;
    for (uint32_t i = 0; i < range->step_count && range->left_count > 0; i++) {
        if (has_left(&range->steps[i])) streams |= range->steps[i].dependency.streams;
    }
    return streams;
}

void tn_step_range_complete(struct tn_step_range *range, uint32_t streams, uint32_t time)
{
    for (uint32_t i = 0; i < range->step_count && range->left_count > 0; i++) {
        if (has_left(&range->steps[i]))
            range->steps[i].dependency =
                tn_dependency_complete(range->steps[i].dependency, streams, time);
    }
}

void tn_step_range_replace(struct tn_step_range *range, uint32_t stream_bit,
                           struct tn_dependency dependency)
{
    for (uint32_t i = 0; i < range->step_count && range->left_count > 0; i++) {
        if (has_left(&range->steps[i]))
            range->steps[i].dependency =
                tn_dependency_replace(range->steps[i].dependency, stream_bit, dependency);
    }
}

void tn_step_range_begin_anew(struct tn_step_range *range)
{
    for (uint32_t i = 0; i < range->step_count && range->left_count > 0; i++)
        range->steps[i].dependency.time = 0;
}

/* --- check ---------------------------------------------------------------------------------- */

/* Checks that the units of a step are its own, and that no others are. */
static const char *check_step(const struct tn_step_range *range, uint32_t step)
{
    const struct tn_step *s = &range->steps[step];
    if (s->unit_count == 0 || s->first_unit >= range->unit_count ||
        s->unit_count > range->unit_count - s->first_unit)
        return "a step has no units, or such as the range lacks";
    for (uint32_t unit = s->first_unit; unit < tn_step_end_unit(range, step); unit++) {
        if (tn_unit_step(range, unit) != step) return "a unit does not know its step";
    }
    return NULL;
}

/* Checks that the void is units without a step, or one step that is not mapped. */
static const char *check_void(const struct tn_step_range *range,
                              const struct tn_region_index *index, uint32_t region)
{
    const struct tn_region *r = &index->regions[region];
    uint32_t end_chunk = tn_region_end_chunk(r);
    uint32_t first = tn_unit_of_chunk(range, r->first_chunk);
    uint32_t end = tn_unit_of_chunk(range, end_chunk);
    if (tn_unit_first_chunk(range, first) != r->first_chunk ||
        tn_unit_first_chunk(range, end) != end_chunk)
        return "a void is not whole units";
    uint32_t step = tn_unit_step(range, first);
    for (uint32_t unit = first; unit < end && tn_region_is_void_at_rest(r); unit++) {
        if (tn_unit_step(range, unit) != TN_STEP_NONE) return "a void at rest has a step";
    }
    if (tn_region_is_void_at_rest(r)) return NULL;
    if (step == TN_STEP_NONE) return "a taken void has no step";
    const struct tn_step *s = &range->steps[step];
    if (s->first_unit != first || s->unit_count != end - first)
        return "a taken void is not one step";
    if (s->state == TN_STEP_STATE_MAPPED) return "a mapped step is void";
    return s->region == region ? NULL : "a step's link to its void is wrong";
}

/* What the fields of a range count. */
struct step_counts {
    uint32_t mapped, mapped_units, left, refused, held, units;
};

/* Returns NULL or the first fault of a step. */
static const char *count_steps(const struct tn_step_range *range, struct step_counts *counts)
{
    for (uint32_t step = 0; step < range->step_count; step++) {
        const struct tn_step *s = &range->steps[step];
        if (s->state == TN_STEP_STATE_UNUSED) continue;
        const char *fault = check_step(range, step);
        if (fault) return fault;
        bool is_mapped = s->state == TN_STEP_STATE_MAPPED;
        counts->mapped += is_mapped;
        counts->mapped_units += is_mapped ? s->unit_count : 0;
        counts->left += !is_mapped;
        counts->refused += s->state == TN_STEP_STATE_REFUSED;
        counts->held += s->hold_count > 0;
        counts->units += s->unit_count;
    }
    return NULL;
}

const char *tn_step_range_check(const struct tn_step_range *range,
                                const struct tn_region_index *index)
{
    struct step_counts counts = { 0 };
    uint32_t head = range->static_pool->head, void_chunk_count = 0, unit_count = 0;
    const char *fault = count_steps(range, &counts);
    if (fault) return fault;
    for (uint32_t unit = 0; unit < range->unit_count; unit++)
        unit_count += tn_unit_step(range, unit) != TN_STEP_NONE;
    if (unit_count != counts.units) return "a unit has a step that is not there";
    if (counts.mapped != range->mapped_count || counts.mapped_units != range->mapped_unit_count)
        return "the count of mapped steps is wrong";
    if (counts.left != range->left_count || counts.refused != range->refused_count)
        return "the count of steps that have left is wrong";
    if (counts.held != range->held_count) return "the count of held steps is wrong";
    for (uint32_t region = index->regions[head].next; region != head;
         region = index->regions[region].next) {
        if (index->regions[region].state != TN_REGION_STATE_VOID) continue;
        fault = check_void(range, index, region);
        if (fault) return fault;
        void_chunk_count += index->regions[region].chunk_count;
    }
    return (range->unit_count - counts.mapped_units) << range->unit_chunk_log2 == void_chunk_count
               ? NULL
               : "a unit that is not mapped is not a void";
}
