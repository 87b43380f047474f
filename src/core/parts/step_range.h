/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * step_range: a range of addresses into which memory is mapped in steps. The range is cut into units of one size, and
 * a step is a run of them: the backend maps it with one call, and unmaps it with one.
 *
 *     unit      0   1   2   3   4   5   6   7   8   9  10  11
 *               ┌───┬───────┬───────┬───┬───┬───────────┬─ ... ─┐
 *     step      │ 0 │   1   │       │ 4 │ 2 │     3     │       │
 *               │ mapped    │       │ref│ mapped        │       │
 *               └───┴───────┴───────┴───┴───┴───────────┴─ ... ─┘
 *     regions   live │ free  at rest  taken   free        at rest
 *
 * Steps are numbered in no order, and a number is used again. Each unit has the number of its step.
 *
 * The range is one static pool and one span; unmapped units are voids in the region index. So free space
 * coalesces across the edges of steps, and no allocation lies where there is no memory. The range is larger
 * than all memory that will ever be mapped: addresses cost nothing, and a request needs contiguous ones.
 *
 * Cost: a plan takes O(r) with r voids and free regions between them, and at worst O(r^2). A walk over free steps takes
 * O(regions + steps).
 * Memory: 4 bytes a unit of the range, of which the host gives only the pages that are used; 72 bytes a step.
 * Threads: no locking. The pool changes steps under both its locks and reads them under either.
 * Always true: exactly the chunks of mapped steps are free or live. Chunks of units without a step are voids at
 * rest; each step that is not mapped is one taken void.
 */
#ifndef TN_STEP_RANGE_H
#define TN_STEP_RANGE_H

#include "tarn/backend.h"

#include "../index/region_index.h"
#include "static_pool.h"

#define TN_STEP_NONE UINT32_MAX

enum tn_step_state {
    TN_STEP_STATE_UNUSED = 0, /* the number names no step */
    TN_STEP_STATE_MAPPED,
    TN_STEP_STATE_TRANSIT, /* on its way into the pool or out of it */
    TN_STEP_STATE_REFUSED  /* out of the pool, but the backend did not release it */
};

struct tn_step {
    tarn_mapping mapping;
    uint64_t id;   /* never reused in a process */
    uint64_t told; /* the newest observer that was told that it has come; 0: not all are yet */
    uint32_t first_unit, unit_count;
    uint32_t hold_count; /* while it is held it does not leave */
    uint32_t region;     /* its taken void, if it has one */
    uint32_t next;       /* in a list of steps in transit or of unused numbers, or TN_STEP_NONE */
    bool is_leaving;     /* on its way out of the pool, or refused */
    enum tn_step_state state;
    struct tn_dependency dependency; /* if it has left: work that may still use it */
};

struct tn_step_range {
    void *reserved; /* address from the backend */
    size_t reserved_bytes;
    struct tn_static_pool *static_pool; /* from the first unit to the last */
    size_t unit_bytes;                  /* a power of two */
    unsigned unit_chunk_log2;
    uint32_t unit_count;
    uint32_t unit_count_max; /* of a step */
    size_t device_bytes;     /* all memory that there is; SIZE_MAX: unknown */

    struct tn_step *steps; /* by number; may move when a step is taken */
    uint32_t step_capacity;
    uint32_t step_count;   /* numbers that have been used so far */
    uint32_t first_unused; /* first in the list of numbers that are used no more, or TN_STEP_NONE */

    uint32_t mapped_count;
    uint32_t mapped_unit_count;
    uint32_t left_count; /* steps that have left, and are neither unmapped nor back */
    uint32_t refused_count;
    uint32_t held_count;   /* steps that do not leave, because somebody holds them */
    uint32_t unit_steps[]; /* of each unit the number of its step plus 1; 0: it has none */
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

/* Frees the description. The addresses and the static pool stay the caller's. NULL is allowed. */
void tn_step_range_destroy(struct tn_step_range *range);

static inline uint32_t tn_unit_first_chunk(const struct tn_step_range *range, uint32_t unit)
{
    return range->static_pool->first_chunk + (unit << range->unit_chunk_log2);
}

static inline uint32_t tn_unit_of_chunk(const struct tn_step_range *range, uint32_t chunk)
{
    return (chunk - range->static_pool->first_chunk) >> range->unit_chunk_log2;
}

/* Returns the step of a unit, mapped or not, or TN_STEP_NONE. */
static inline uint32_t tn_unit_step(const struct tn_step_range *range, uint32_t unit)
{
    return range->unit_steps[unit] - 1;
}

static inline uint32_t tn_step_end_unit(const struct tn_step_range *range, uint32_t step)
{
    return range->steps[step].first_unit + range->steps[step].unit_count;
}

static inline void *tn_step_address(const struct tn_step_range *range, uint32_t step)
{
    return (void *)(range->static_pool->first_address +
                    range->steps[step].first_unit * range->unit_bytes);
}

static inline size_t tn_step_bytes(const struct tn_step_range *range, uint32_t step)
{
    return range->steps[step].unit_count * range->unit_bytes;
}

static inline size_t tn_step_mapped_bytes(const struct tn_step_range *range)
{
    return range->mapped_unit_count * range->unit_bytes;
}

size_t tn_step_range_metadata_bytes(const struct tn_step_range *range);

/* A place for a request, if some units are mapped. */
struct tn_step_plan {
    uint32_t first_chunk;
    uint32_t chunk_count;
    uint32_t missing_count; /* number of its units that are not mapped */
    uint32_t first_step;    /* first in the list of steps taken for it, or TN_STEP_NONE */
};

/* Finds the place that misses the fewest units, among equals the lowest. All its chunks are voids at rest, or
 * free and waiting for no streams but these, a bit each. False: there is none. */
bool tn_step_range_plan(const struct tn_step_range *range, const struct tn_region_index *index,
                        uint32_t chunk_count, size_t alignment_bytes, uint32_t streams,
                        struct tn_step_plan *plan_out);

/* Returns how many units without a step there are, from `unit` on. Cost: O(voids). */
uint32_t tn_step_range_count_gap(const struct tn_step_range *range,
                                 const struct tn_region_index *index, uint32_t unit);

/* Makes a step of units that have none. It is in transit from then on. Returns it, or TN_STEP_NONE: no host memory. */
uint32_t tn_step_range_take(struct tn_step_range *range, struct tn_region_index *index,
                            uint32_t first_unit, uint32_t unit_count);

/* Returns how many bytes of steps are wholly free, are not held, and do not wait for `held` streams, a bit each. */
size_t tn_step_range_count_free(const struct tn_step_range *range,
                                const struct tn_region_index *index, uint32_t held);

/* Returns whether two such steps or more are free, with more than `bytes` in all, each within one region. Cost: O(1) for
 * each free region of at least a unit. */
bool tn_step_range_has_free(const struct tn_step_range *range, const struct tn_region_index *index,
                            uint32_t held, size_t bytes);

/* A walk over the steps that count_free counts, from the highest down. */
struct tn_free_step_walk {
    uint32_t held;
    uint32_t first;    /* region with which the current run of free regions begins */
    uint32_t end_unit; /* the units of the run before this one are to come */
};

struct tn_free_step_walk tn_step_range_begin_walk(const struct tn_step_range *range, uint32_t held);

/* Returns the next step, or TN_STEP_NONE. The steps are as they were at the last call, but for a take_free. */
uint32_t tn_step_range_walk(const struct tn_step_range *range, const struct tn_region_index *index,
                            struct tn_free_step_walk *walk);

/* Takes the step that the walk has just returned. It is in transit from then on. False: no host memory. */
bool tn_step_range_take_free(struct tn_step_range *range, struct tn_region_index *index,
                             struct tn_free_step_walk *walk);

/* Makes a step in transit free. Returns the free region that it is part of then. */
uint32_t tn_step_range_arrive(struct tn_step_range *range, struct tn_region_index *index,
                              uint32_t step);

/* End the transit of a step: it is unmapped, and its number unused; or the backend has refused that. */
void tn_step_range_leave(struct tn_step_range *range, struct tn_region_index *index, uint32_t step);
void tn_step_range_refuse(struct tn_step_range *range, uint32_t step);

/* Returns the step of that id which is in the pool or on its way into it, or TN_STEP_NONE. Cost: O(steps). */
uint32_t tn_step_range_find(const struct tn_step_range *range, uint64_t id);

/* Returns the next refused step, `step` or after it, or TN_STEP_NONE. */
uint32_t tn_step_range_next_refused(const struct tn_step_range *range, uint32_t step);

/* Puts a refused step in transit again, to be unmapped or to become free. */
void tn_step_range_retry(struct tn_step_range *range, uint32_t step);

/* As in region_index, for steps that have left: the streams that they wait for, a bit each; what completes; and all
 * times set to 0. Cost: O(steps) while any has left. */
uint32_t tn_step_range_streams(const struct tn_step_range *range);
void tn_step_range_complete(struct tn_step_range *range, uint32_t streams, uint32_t time);
void tn_step_range_replace(struct tn_step_range *range, uint32_t stream_bit,
                           struct tn_dependency dependency);
void tn_step_range_begin_anew(struct tn_step_range *range);

/* Returns NULL, or a contradiction between steps and regions. Walks everything. */
const char *tn_step_range_check(const struct tn_step_range *range,
                                const struct tn_region_index *index);

#endif
