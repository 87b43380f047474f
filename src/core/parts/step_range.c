/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* step_range: plans, and steps that come and go. */
#include "step_range.h"

#include "../../base/arith.h"
#include "../../base/host_memory.h"

/* --- sizes ---------------------------------------------------------------------------------- */

/* Mapping a step costs about 30 us on a large device, for 2 MiB as for 64 MiB. Smaller steps take longer for
 * the same memory, larger ones leave more of it unused. Under a limit that is lost to the pool. */
#define STEP_BYTES_MAX         ((size_t)64 << 20)
#define STEP_BYTES_MIN         ((size_t)2 << 20)
#define STEPS_OF_A_DEVICE      512
#define STEPS_OF_A_LIMIT_MIN   256
#define STEPS_OF_A_LIMIT_MAX   2048
#define POWER_OF_TWO_BELOW(to) ((size_t)1 << tn_highest_bit(tn_max(to, 1)))

size_t tn_step_bytes_for(size_t device_bytes, size_t limit_bytes, size_t floor_bytes)
{
    size_t wish = tn_min(device_bytes / STEPS_OF_A_DEVICE, limit_bytes / STEPS_OF_A_LIMIT_MIN);
    size_t step_bytes = tn_max(tn_min(POWER_OF_TWO_BELOW(wish), STEP_BYTES_MAX), STEP_BYTES_MIN);
    /* A limit smaller than that holds at least one step. */
    step_bytes = tn_max(tn_min(step_bytes, POWER_OF_TWO_BELOW(limit_bytes)), floor_bytes);
    while (limit_bytes < device_bytes && limit_bytes % step_bytes >= floor_bytes &&
           step_bytes > floor_bytes && limit_bytes / step_bytes < STEPS_OF_A_LIMIT_MAX / 2)
        step_bytes /= 2;
    return step_bytes;
}

/* --- life ----------------------------------------------------------------------------------- */

struct tn_step_range *tn_step_range_create(void *reserved, size_t reserved_bytes, size_t step_bytes,
                                           uint32_t step_count, unsigned chunk_log2)
{
    uintptr_t first_address = tn_round_down((uintptr_t)reserved + step_bytes - 1, step_bytes);
    size_t range_bytes = step_count * step_bytes;
    TN_ASSERT(first_address + range_bytes <= (uintptr_t)reserved + reserved_bytes);
    struct tn_step_range *range =
        tn_host_memory_alloc_zeroed(sizeof *range + step_count * sizeof range->steps[0]);
    if (!range) return NULL;
    range->static_pool =
        tn_static_pool_create((void *)first_address, range_bytes, chunk_log2, TN_CHUNK_COUNT_MAX);
    if (!range->static_pool) {
        tn_host_memory_free(range);
        return NULL;
    }
    range->reserved = reserved;
    range->reserved_bytes = reserved_bytes;
    range->step_bytes = step_bytes;
    range->step_chunk_log2 = tn_lowest_bit(step_bytes) - chunk_log2;
    range->step_count = step_count;
    return range;
}

void tn_step_range_destroy(struct tn_step_range *range)
{
    tn_host_memory_free(range);
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

/* Tries the place from a chunk on. No stretch contains a step that is taken or refused, even in part. */
static void try_place(struct search *search, const struct stretch *stretch, uint64_t first_chunk)
{
    const struct tn_step_range *range = search->range;
    struct tn_step_plan *best = &search->best;
    if (first_chunk + best->chunk_count > stretch->end_chunk) return;
    uint32_t last = tn_step_of_chunk(range, (uint32_t)first_chunk + best->chunk_count - 1);
    uint32_t missing_count = 0;
    for (uint32_t step = tn_step_of_chunk(range, (uint32_t)first_chunk);
         step <= last && missing_count <= best->missing_count; step++)
        missing_count += range->steps[step].state == TN_STEP_STATE_UNMAPPED;
    if (missing_count > best->missing_count ||
        (missing_count == best->missing_count && first_chunk >= best->first_chunk))
        return;
    best->first_chunk = (uint32_t)first_chunk;
    best->missing_count = missing_count;
}

/* Returns the first chunk from there on with the requested alignment. */
static uint64_t aligned_from(const struct search *search, uint64_t chunk)
{
    return chunk + tn_static_pool_lead_of(search->range->static_pool, (uint32_t)chunk,
                                          search->alignment_bytes);
}

/* Steps count as a whole. So a place that begins inside a free region is no worse if it begins earlier in
 * that region, and a place that begins in a void is no worse at the edge of a step. From there it is no worse
 * one step later, as long as it fits: the step that it leaves is missing, the step that it reaches may be
 * mapped. So the first place in each region and the last place of all are enough. If the alignment skips
 * steps, that does not hold, and all places are tried. */
static void try_stretch(struct search *search, const struct stretch *stretch)
{
    const struct tn_region *regions = search->index->regions;
    uint32_t chunk_count = search->best.chunk_count;
    uint32_t first_chunk = regions[stretch->first].first_chunk;
    if (stretch->end_chunk - first_chunk < chunk_count) return;
    if (search->alignment_bytes > search->range->step_bytes) {
        uint64_t stride = search->alignment_bytes >> search->range->static_pool->chunk_log2;
        for (uint64_t chunk = aligned_from(search, first_chunk);
             chunk + chunk_count <= stretch->end_chunk; chunk += stride)
            try_place(search, stretch, chunk);
        return;
    }
    for (uint32_t region = stretch->first; region != stretch->end; region = regions[region].next)
        try_place(search, stretch, aligned_from(search, regions[region].first_chunk));
    uint32_t last = tn_step_first_chunk(
        search->range, tn_step_of_chunk(search->range, stretch->end_chunk - chunk_count));
    if (last >= first_chunk) try_place(search, stretch, last);
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

bool tn_step_range_take(struct tn_step_range *range, struct tn_region_index *index, uint32_t step)
{
    struct tn_step *taken = &range->steps[step];
    TN_ASSERT(taken->state == TN_STEP_STATE_UNMAPPED);
    if (!tn_region_index_reserve(index)) return false;
    uint32_t chunk = tn_step_first_chunk(range, step);
    taken->region = tn_region_index_take_void(index, find_void(index, chunk), chunk,
                                              (uint32_t)1 << range->step_chunk_log2);
    taken->state = TN_STEP_STATE_TRANSIT;
    taken->dependency = TN_DEPENDENCY_NONE;
    taken->is_leaving = false;
    range->left_count++;
    return true;
}

uint32_t tn_step_range_arrive(struct tn_step_range *range, struct tn_region_index *index,
                              uint32_t step)
{
    struct tn_step *arrived = &range->steps[step];
    TN_ASSERT(arrived->state == TN_STEP_STATE_TRANSIT);
    arrived->state = TN_STEP_STATE_MAPPED;
    range->mapped_count++;
    range->left_count--;
    return tn_region_index_fill(index, arrived->region);
}

/* --- going ---------------------------------------------------------------------------------- */

/* Counts the steps among these that are not held. */
static uint32_t count_unheld(const struct tn_step_range *range, uint32_t first, uint32_t count)
{
    uint32_t unheld_count = count;
    for (uint32_t i = 0; i < count && range->held_count > 0; i++)
        unheld_count -= range->steps[first + i].hold_count > 0;
    return unheld_count;
}

/* Free regions that do not wait for a held stream, from `first` to before `end`. */
struct free_run {
    uint32_t first, end;
    uint32_t first_step, step_count; /* the steps wholly inside */
};

/* Counts the steps that lie wholly in a range of chunks. */
static uint32_t count_whole_steps(const struct tn_step_range *range, uint32_t first_chunk,
                                  uint32_t end_chunk, uint32_t *first_step_out)
{
    uint32_t first = tn_step_of_chunk(range, first_chunk), end = tn_step_of_chunk(range, end_chunk);
    if (tn_step_first_chunk(range, first) < first_chunk) first++;
    *first_step_out = first;
    return end > first ? end - first : 0;
}

/* Returns the run that ends before `end`. It may be empty. */
static struct free_run run_before(const struct tn_step_range *range,
                                  const struct tn_region_index *index, uint32_t end, uint32_t held)
{
    struct free_run run = { .first = end, .end = end };
    while (tn_region_is_free_without(&index->regions[index->regions[run.first].previous], held))
        run.first = index->regions[run.first].previous;
    if (run.first == end) return run;
    uint32_t last = index->regions[end].previous;
    run.step_count = count_whole_steps(range, index->regions[run.first].first_chunk,
                                       tn_region_end_chunk(&index->regions[last]), &run.first_step);
    return run;
}

uint32_t tn_step_range_count_free(const struct tn_step_range *range,
                                  const struct tn_region_index *index, uint32_t held)
{
    uint32_t count = 0, head = range->static_pool->head, end = head;
    do {
        struct free_run run = run_before(range, index, end, held);
        count += count_unheld(range, run.first_step, run.step_count);
        end = run.first == end ? index->regions[end].previous : run.first;
    } while (end != head);
    return count;
}

bool tn_step_range_has_free(const struct tn_step_range *range, const struct tn_region_index *index,
                            uint32_t held, uint32_t count)
{
    uint32_t free_count = 0, first_step, step_chunks = (uint32_t)1 << range->step_chunk_log2;
    for (unsigned set = 0; set < TN_FREE_SET_COUNT; set++) {
        if (!tn_region_index_has_set(index, set)) continue;
        for (uint32_t region = tn_free_set_find(&index->by_size[set], index->regions, step_chunks);
             region != TN_REGION_NONE;
             region = tn_region_index_find_next_fit(index, region, step_chunks)) {
            const struct tn_region *r = &index->regions[region];
            if (!tn_region_is_free_without(r, held)) continue;
            uint32_t step_count =
                count_whole_steps(range, r->first_chunk, tn_region_end_chunk(r), &first_step);
            free_count += count_unheld(range, first_step, step_count);
            if (free_count > count) return true;
        }
    }
    return false;
}

/* The last step of a run that is not held, or TN_STEP_NONE. */
static uint32_t find_last_unheld(const struct tn_step_range *range, const struct free_run *run)
{
    for (uint32_t i = run->step_count; i-- > 0;) {
        if (range->steps[run->first_step + i].hold_count == 0) return run->first_step + i;
    }
    return TN_STEP_NONE;
}

/* Takes a step of a run that ends with that region. False: no host memory. */
static bool take_free(struct tn_step_range *range, struct tn_region_index *index, uint32_t step,
                      uint32_t last)
{
    uint32_t chunk = tn_step_first_chunk(range, step), region = last;
    if (!tn_region_index_reserve(index)) return false;
    while (index->regions[region].first_chunk > chunk)
        region = index->regions[region].previous;
    struct tn_step *taken = &range->steps[step];
    taken->region = tn_region_index_take_free(
        index, region, chunk, (uint32_t)1 << range->step_chunk_log2, &taken->dependency);
    taken->state = TN_STEP_STATE_TRANSIT;
    taken->is_leaving = true;
    range->mapped_count--;
    range->left_count++;
    return true;
}

uint32_t tn_step_range_take_free(struct tn_step_range *range, struct tn_region_index *index,
                                 uint32_t held, uint32_t count)
{
    uint32_t head = range->static_pool->head, end = head;
    uint32_t first = TN_STEP_NONE, *link = &first;
    do {
        struct free_run run = run_before(range, index, end, held);
        uint32_t step = count > 0 ? find_last_unheld(range, &run) : TN_STEP_NONE;
        if (step != TN_STEP_NONE) {
            if (!take_free(range, index, step, index->regions[end].previous)) break;
            range->steps[step].next = TN_STEP_NONE;
            *link = step;
            link = &range->steps[step].next;
            count--;
            /* Continue with the rest of the run. */
            end = range->steps[step].region;
        } else {
            end = run.first == end ? index->regions[end].previous : run.first;
        }
    } while (end != head && count > 0);
    return first;
}

void tn_step_range_leave(struct tn_step_range *range, struct tn_region_index *index, uint32_t step)
{
    TN_ASSERT(range->steps[step].state == TN_STEP_STATE_TRANSIT);
    range->steps[step].state = TN_STEP_STATE_UNMAPPED;
    range->left_count--;
    tn_region_index_rest(index, range->steps[step].region);
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

/* Checks that the void consists of whole steps in a matching state. */
static const char *check_void(const struct tn_step_range *range,
                              const struct tn_region_index *index, uint32_t region)
{
    const struct tn_region *r = &index->regions[region];
    uint32_t first_step;
    uint32_t step_count =
        count_whole_steps(range, r->first_chunk, tn_region_end_chunk(r), &first_step);
    if (step_count << range->step_chunk_log2 != r->chunk_count) return "a void is not whole steps";
    bool is_at_rest = tn_region_is_void_at_rest(r);
    if (!is_at_rest && step_count != 1) return "a taken void is not one step";
    for (uint32_t step = first_step; step < first_step + step_count; step++) {
        const struct tn_step *s = &range->steps[step];
        if (s->state == TN_STEP_STATE_MAPPED) return "a mapped step is void";
        if (is_at_rest != (s->state == TN_STEP_STATE_UNMAPPED))
            return "a step that is not mapped is in the wrong kind of void";
        if (!is_at_rest && s->region != region) return "a step's link to its void is wrong";
    }
    return NULL;
}

const char *tn_step_range_check(const struct tn_step_range *range,
                                const struct tn_region_index *index)
{
    uint32_t mapped_count = 0, held_count = 0, void_chunk_count = 0;
    uint32_t head = range->static_pool->head;
    for (uint32_t step = 0; step < range->step_count; step++) {
        mapped_count += range->steps[step].state == TN_STEP_STATE_MAPPED;
        held_count += range->steps[step].hold_count > 0;
    }
    if (mapped_count != range->mapped_count) return "the count of mapped steps is wrong";
    if (held_count != range->held_count) return "the count of held steps is wrong";
    for (uint32_t region = index->regions[head].next; region != head;
         region = index->regions[region].next) {
        if (index->regions[region].state != TN_REGION_STATE_VOID) continue;
        const char *fault = check_void(range, index, region);
        if (fault) return fault;
        void_chunk_count += index->regions[region].chunk_count;
    }
    return (range->step_count - mapped_count) << range->step_chunk_log2 == void_chunk_count
               ? NULL
               : "a step that is not mapped is not a void";
}
