/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * step_range: a range of addresses into which memory is mapped in steps. The range is cut into units of one size, and
 * a step is a run of them: the backend maps it with one call, and unmaps it with one.
 *
 *     unit      0   1   2   3   4   5   6   7   8   9  10  11
 *               ┌───┬───────┬───────┬───┬───┬───────────┬─ ... ─┐
 *     step      │ a │   b   │       │ c │ d │     e     │       │
 *               │ mapped    │       │ref│ mapped        │       │
 *               └───┴───────┴───────┴───┴───┴───────────┴─ ... ─┘
 *     regions   live │ free  at rest  taken   free        at rest
 *
 * Each unit knows its step.
 *
 * The range is one static pool and one span; unmapped units are voids in the region index. So free space
 * coalesces across the edges of steps, and no allocation lies where there is no memory. The range is larger
 * than all memory that will ever be mapped: addresses cost nothing, and a request needs contiguous ones.
 *
 * Cost: a plan takes O(r) with r voids and free regions between them, and at worst O(r^2). A walk over free steps takes
 * O(regions + steps).
 * Memory: 8 bytes a unit of the range, of which the host gives only the pages that are used; 112 bytes a step.
 * Threads: no locking. The pool changes steps under both its locks and reads them under either.
 * Always true: exactly the chunks of mapped steps are free or live. Chunks of units without a step are voids at
 * rest; each step that is not mapped is one taken void.
 */
#ifndef TN_STEP_RANGE_H
#define TN_STEP_RANGE_H

#include "tarn/backend.h"

#include "../index/region_index.h"
#include "growth.h"
#include "static_pool.h"

struct tn_step {
    struct tn_piece piece; /* its memory. It comes first */
    tarn_mapping mapping;
    uint32_t first_unit, unit_count;
    uint32_t region; /* its taken void, if it has one */
};

struct tn_step_range {
    void *reserved; /* address from the backend */
    size_t reserved_bytes;
    struct tn_static_pool *static_pool; /* from the first unit to the last */
    size_t unit_bytes;                  /* a power of two */
    unsigned unit_chunk_log2;
    uint32_t unit_count;
    uint32_t unit_count_max;      /* of a step */
    struct tn_growth_need need;   /* under growth_lock */
    size_t device_bytes;          /* all memory that there is; SIZE_MAX: unknown */
    struct tn_step *unit_steps[]; /* the step of each unit, mapped or not; NULL: it has none */
};

/* Returns the size of units for a device of device_bytes, of which the pool takes at most limit_bytes; SIZE_MAX:
 * unknown. 2 MiB, or floor_bytes, a power of two, if that is more. Less where whole units would not fill the limit: what
 * they leave of it is less than floor_bytes, or than a thousandth of it. */
size_t tn_unit_bytes_for(size_t device_bytes, size_t limit_bytes, size_t floor_bytes);

/* Describes a range of unit_count units without memory, within reserved addresses. A step has at most unit_count_max
 * units. NULL: no host memory. */
struct tn_step_range *tn_step_range_create(void *reserved, size_t reserved_bytes, size_t unit_bytes,
                                           uint32_t unit_count, uint32_t unit_count_max,
                                           unsigned chunk_log2);

/* Frees the description with that of the static pool. The addresses and the steps stay the caller's. NULL is allowed. */
void tn_step_range_destroy(struct tn_step_range *range);

/* Returns the step that a piece begins. */
static inline struct tn_step *tn_step_of(struct tn_piece *piece)
{
    return (struct tn_step *)piece;
}

static inline uint32_t tn_unit_first_chunk(const struct tn_step_range *range, uint32_t unit)
{
    return range->static_pool->first_chunk + (unit << range->unit_chunk_log2);
}

static inline uint32_t tn_unit_of_chunk(const struct tn_step_range *range, uint32_t chunk)
{
    return (chunk - range->static_pool->first_chunk) >> range->unit_chunk_log2;
}

static inline uint32_t tn_step_end_unit(const struct tn_step *step)
{
    return step->first_unit + step->unit_count;
}

/* The bytes of the description, with the static pool and without the steps. NULL: none. */
size_t tn_step_range_metadata_bytes(const struct tn_step_range *range);

/* A place for a request, if some units are mapped. */
struct tn_step_plan {
    uint32_t first_chunk;
    uint32_t chunk_count;
    uint32_t missing_count; /* number of its units that are not mapped */
};

/* Finds the place that misses the fewest units, among equals the lowest. All its chunks are voids at rest, or
 * free and waiting for no streams but these, a bit each. False: there is none. */
bool tn_step_range_plan(const struct tn_step_range *range, const struct tn_region_index *index,
                        uint32_t chunk_count, size_t alignment_bytes, uint32_t streams,
                        struct tn_step_plan *plan_out);

/* Returns how many units without a step there are, from `unit` on. Cost: O(voids). */
uint32_t tn_step_range_count_gap(const struct tn_step_range *range,
                                 const struct tn_region_index *index, uint32_t unit);

/* Makes a step of units that have none. It is a taken void from then on. NULL: no host memory. */
struct tn_step *tn_step_range_take(struct tn_step_range *range, struct tn_region_index *index,
                                   uint32_t first_unit, uint32_t unit_count);

/* Returns whether two steps or more are wholly free, do not wait for `held` streams, a bit each, and have more than `bytes`
 * in all, each within one region. has_holds: steps may be held, and these do not count. Cost: O(1) for each free region
 * of at least a unit, and for each step if some may be held. */
bool tn_step_range_has_free(const struct tn_step_range *range, const struct tn_region_index *index,
                            uint32_t held, bool has_holds, size_t bytes);

/* A walk over the steps that are wholly free, are not held, and do not wait for `held` streams. */
struct tn_free_step_walk {
    uint32_t held;
    bool is_upward;                         /* from the lowest up; else from the highest down */
    uint32_t left_out_unit, left_out_count; /* steps with such units are left out */
    uint32_t first; /* region with which the current run of free regions begins */
    uint32_t unit;  /* those before this one are to come in the run; upward, those from it on */
};

/* Begins a walk from the highest step down. */
struct tn_free_step_walk tn_step_range_begin_walk(const struct tn_step_range *range, uint32_t held);

/* Begins one from the lowest step up, without the steps in which a place lies, if only in part. */
struct tn_free_step_walk tn_step_range_begin_walk_outside(const struct tn_step_range *range,
                                                          uint32_t held,
                                                          const struct tn_step_plan *place);

/* Returns the next step, or NULL. The steps are as they were at the last call, but for a take_free. */
struct tn_step *tn_step_range_walk(const struct tn_step_range *range,
                                   const struct tn_region_index *index,
                                   struct tn_free_step_walk *walk);

/* Makes the step that the walk has just returned a taken void, and notes what it waits for. False: no host memory. */
bool tn_step_range_take_free(struct tn_step_range *range, struct tn_region_index *index,
                             struct tn_free_step_walk *walk, struct tn_step *taken);

/* Makes a taken step free. Returns the free region that it is part of then. */
uint32_t tn_step_range_arrive(struct tn_region_index *index, const struct tn_step *step);

/* Takes the units of a taken step from it, which has no memory. The step stays the caller's. */
void tn_step_range_leave(struct tn_step_range *range, struct tn_region_index *index,
                         const struct tn_step *step);

/* Returns NULL, or a contradiction between steps and regions. Walks everything. */
const char *tn_step_range_check(const struct tn_step_range *range,
                                const struct tn_region_index *index);

#endif
