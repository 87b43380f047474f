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
    return sizeof(struct tn_step_range) + unit_count * sizeof(struct tn_step *);
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
    return range;
}

void tn_step_range_destroy(struct tn_step_range *range)
{
    if (range) tn_static_pool_destroy(range->static_pool);
    tn_host_memory_free(range);
}

size_t tn_step_range_metadata_bytes(const struct tn_step_range *range)
{
    return range ? description_bytes(range->unit_count) + sizeof *range->static_pool : 0;
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
        .best = { UINT32_MAX, chunk_count, UINT32_MAX },
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
    if (unit == range->unit_count || range->unit_steps[unit]) return 0;
    uint32_t region = find_void(index, tn_unit_first_chunk(range, unit));
    return tn_unit_of_chunk(range, tn_region_end_chunk(&index->regions[region])) - unit;
}

/* Notes a step, or NULL, at units. */
static void set_unit_steps(struct tn_step_range *range, uint32_t first, uint32_t count,
                           struct tn_step *step)
{
    for (uint32_t unit = first; unit < first + count; unit++)
        range->unit_steps[unit] = step;
}

struct tn_step *tn_step_range_take(struct tn_step_range *range, struct tn_region_index *index,
                                   uint32_t first_unit, uint32_t unit_count)
{
    TN_ASSERT(unit_count > 0 && unit_count <= tn_step_range_count_gap(range, index, first_unit));
    if (!tn_region_index_reserve(index)) return NULL;
    struct tn_step *step = tn_host_memory_alloc_zeroed(sizeof *step);
    if (!step) return NULL;
    uint32_t chunk = tn_unit_first_chunk(range, first_unit);
    step->piece.base = (void *)(range->static_pool->first_address + first_unit * range->unit_bytes);
    step->piece.size_bytes = unit_count * range->unit_bytes;
    step->piece.chunk_count = unit_count << range->unit_chunk_log2;
    step->first_unit = first_unit;
    step->unit_count = unit_count;
    step->region =
        tn_region_index_take_void(index, find_void(index, chunk), chunk, step->piece.chunk_count);
    set_unit_steps(range, first_unit, unit_count, step);
    return step;
}

uint32_t tn_step_range_arrive(struct tn_region_index *index, const struct tn_step *step)
{
    return tn_region_index_fill(index, step->region);
}

/* --- going ---------------------------------------------------------------------------------- */

/* Steps that are not held. */
struct step_sum {
    size_t count; /* of steps; 2 stands for more, too */
    size_t unit_count;
};

/* Sums up the steps that lie wholly in a free region. */
static struct step_sum sum_up_region(const struct tn_step_range *range, const struct tn_region *r,
                                     bool has_holds)
{
    const struct step_sum none = { 0, 0 };
    uint32_t first = tn_unit_of_chunk(range, r->first_chunk);
    uint32_t end = tn_unit_of_chunk(range, tn_region_end_chunk(r));
    if (tn_unit_first_chunk(range, first) < r->first_chunk) first++;
    if (first >= end) return none;
    const struct tn_step *step = range->unit_steps[first], *last = range->unit_steps[end - 1];
    if (step->first_unit < first) first = tn_step_end_unit(step);
    if (tn_step_end_unit(last) > end) end = last->first_unit;
    if (first >= end) return none;
    step = range->unit_steps[first];
    struct step_sum sum = { tn_step_end_unit(step) == end ? 1 : 2, end - first };
    if (!has_holds) return sum;
    sum = none;
    for (uint32_t unit = first; unit < end; unit = tn_step_end_unit(step)) {
        step = range->unit_steps[unit];
        if (step->piece.hold_count > 0) continue;
        sum.count++;
        sum.unit_count += step->unit_count;
    }
    return sum;
}

bool tn_step_range_has_free(const struct tn_step_range *range, const struct tn_region_index *index,
                            uint32_t held, bool has_holds, size_t bytes)
{
    struct step_sum all = { 0, 0 };
    uint32_t unit_chunks = (uint32_t)1 << range->unit_chunk_log2;
    for (unsigned set = 0; set < TN_FREE_SET_COUNT; set++) {
        if (!tn_region_index_has_set(index, set)) continue;
        for (uint32_t region = tn_free_set_find(&index->by_size[set], index->regions, unit_chunks);
             region != TN_REGION_NONE;
             region = tn_region_index_find_next_fit(index, region, unit_chunks)) {
            if (!tn_region_is_free_without(&index->regions[region], held)) continue;
            struct step_sum sum = sum_up_region(range, &index->regions[region], has_holds);
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

struct tn_free_step_walk tn_step_range_begin_walk_outside(const struct tn_step_range *range,
                                                          uint32_t held,
                                                          const struct tn_step_plan *place)
{
    struct tn_free_step_walk walk = tn_step_range_begin_walk(range, held);
    uint32_t last_chunk = place->first_chunk + place->chunk_count - 1;
    walk.is_upward = true;
    walk.left_out_unit = tn_unit_of_chunk(range, place->first_chunk);
    walk.left_out_count = tn_unit_of_chunk(range, last_chunk) + 1 - walk.left_out_unit;
    return walk;
}

/* Whether a step lies between these chunks, and may go. */
static bool is_in_walk(const struct tn_step_range *range, const struct tn_free_step_walk *walk,
                       const struct tn_step *step, uint32_t first_chunk, uint32_t end_chunk)
{
    uint32_t end_unit = tn_step_end_unit(step);
    bool is_left_out = step->first_unit < walk->left_out_unit + walk->left_out_count &&
                       end_unit > walk->left_out_unit;
    return tn_unit_first_chunk(range, step->first_unit) >= first_chunk &&
           tn_unit_first_chunk(range, end_unit) <= end_chunk && !is_left_out &&
           step->piece.hold_count == 0;
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
    walk->unit = tn_unit_of_chunk(range, tn_region_end_chunk(&regions[last]));
    return true;
}

static struct tn_step *walk_down(const struct tn_step_range *range,
                                 const struct tn_region_index *index,
                                 struct tn_free_step_walk *walk)
{
    do {
        uint32_t first_chunk = index->regions[walk->first].first_chunk;
        uint32_t end_chunk = tn_unit_first_chunk(range, walk->unit);
        while (walk->unit > 0 && tn_unit_first_chunk(range, walk->unit) > first_chunk) {
            struct tn_step *step = range->unit_steps[walk->unit - 1];
            walk->unit = step->first_unit;
            if (is_in_walk(range, walk, step, first_chunk, end_chunk)) return step;
        }
    } while (go_to_next_run(range, index, walk));
    return NULL;
}

/* Returns the region behind the run that begins with the first, which may be empty. */
static uint32_t find_run_end(const struct tn_region_index *index,
                             const struct tn_free_step_walk *walk)
{
    uint32_t region = walk->first;
    while (tn_region_is_free_without(&index->regions[region], walk->held))
        region = index->regions[region].next;
    return region;
}

static struct tn_step *walk_up(const struct tn_step_range *range,
                               const struct tn_region_index *index, struct tn_free_step_walk *walk)
{
    const struct tn_region *regions = index->regions;
    uint32_t head = range->static_pool->head;
    if (walk->first == head) walk->first = regions[head].next;
    while (walk->first != head) {
        uint32_t end = find_run_end(index, walk);
        uint32_t first_chunk = regions[walk->first].first_chunk;
        uint32_t end_chunk =
            end == walk->first ? first_chunk : tn_region_end_chunk(&regions[regions[end].previous]);
        walk->unit = (uint32_t)tn_max(walk->unit, tn_unit_of_chunk(range, first_chunk));
        while (tn_unit_first_chunk(range, walk->unit) < end_chunk) {
            struct tn_step *step = range->unit_steps[walk->unit];
            walk->unit = tn_step_end_unit(step);
            if (is_in_walk(range, walk, step, first_chunk, end_chunk)) return step;
        }
        walk->first = end == head ? head : regions[end].next;
    }
    return NULL;
}

struct tn_step *tn_step_range_walk(const struct tn_step_range *range,
                                   const struct tn_region_index *index,
                                   struct tn_free_step_walk *walk)
{
    return walk->is_upward ? walk_up(range, index, walk) : walk_down(range, index, walk);
}

bool tn_step_range_take_free(struct tn_step_range *range, struct tn_region_index *index,
                             struct tn_free_step_walk *walk, struct tn_step *taken)
{
    uint32_t chunk = tn_unit_first_chunk(range, taken->first_unit), region = walk->first;
    if (!tn_region_index_reserve(index)) return false;
    while (tn_region_end_chunk(&index->regions[region]) <= chunk)
        region = index->regions[region].next;
    taken->region = tn_region_index_take_free(index, region, chunk, taken->piece.chunk_count,
                                              &taken->piece.dependency);
    /* The walk goes on with the rest of the run. */
    walk->first = taken->region;
    walk->unit = 0;
    return true;
}

void tn_step_range_leave(struct tn_step_range *range, struct tn_region_index *index,
                         const struct tn_step *step)
{
    set_unit_steps(range, step->first_unit, step->unit_count, NULL);
    tn_region_index_rest(index, step->region);
}

/* --- check ---------------------------------------------------------------------------------- */

/* Checks that the units of a step are its own. */
static const char *check_step(const struct tn_step_range *range, const struct tn_step *step)
{
    if (step->unit_count == 0 || step->first_unit >= range->unit_count ||
        step->unit_count > range->unit_count - step->first_unit)
        return "a step has no units, or such as the range lacks";
    for (uint32_t unit = step->first_unit; unit < tn_step_end_unit(step); unit++) {
        if (range->unit_steps[unit] != step) return "a unit does not know its step";
    }
    return NULL;
}

/* Checks that the void is units without a step, or one step that is not in the pool. */
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
    const struct tn_step *step = range->unit_steps[first];
    for (uint32_t unit = first; unit < end && tn_region_is_void_at_rest(r); unit++) {
        if (range->unit_steps[unit]) return "a void at rest has a step";
    }
    if (tn_region_is_void_at_rest(r)) return NULL;
    if (!step) return "a taken void has no step";
    if (step->first_unit != first || step->unit_count != end - first)
        return "a taken void is not one step";
    if (step->piece.state == TN_PIECE_STATE_JOINED) return "a step of the pool is void";
    return step->region == region ? NULL : "a step's link to its void is wrong";
}

/* Returns NULL or the first fault of a step. Counts the units of those in the pool. */
static const char *check_steps(const struct tn_step_range *range, uint32_t *joined_count_out)
{
    const char *fault = NULL;
    *joined_count_out = 0;
    for (uint32_t unit = 0; unit < range->unit_count && !fault; unit++) {
        const struct tn_step *step = range->unit_steps[unit];
        if (!step) continue;
        fault = step->first_unit <= unit && unit - step->first_unit < step->unit_count
                    ? NULL
                    : "a unit has a step that is elsewhere";
        if (unit == step->first_unit || step->unit_count == 0) fault = check_step(range, step);
        *joined_count_out += step->piece.state == TN_PIECE_STATE_JOINED;
    }
    return fault;
}

const char *tn_step_range_check(const struct tn_step_range *range,
                                const struct tn_region_index *index)
{
    uint32_t head = range->static_pool->head, void_chunk_count = 0, joined_count;
    const char *fault = check_steps(range, &joined_count);
    if (fault) return fault;
    for (uint32_t region = index->regions[head].next; region != head;
         region = index->regions[region].next) {
        if (index->regions[region].state != TN_REGION_STATE_VOID) continue;
        fault = check_void(range, index, region);
        if (fault) return fault;
        void_chunk_count += index->regions[region].chunk_count;
    }
    return (range->unit_count - joined_count) << range->unit_chunk_log2 == void_chunk_count
               ? NULL
               : "a unit that is not mapped is not a void";
}
