/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * step_range: a range of addresses into which memory is mapped in steps of one size.
 *
 *     step      0        1        2        3        4        5
 *               ┌────────┬────────┬────────┬────────┬────────┬─ ... ─┐
 *               │ mapped │ mapped │        │ refused│ mapped │       │
 *               └────────┴────────┴────────┴────────┴────────┴─ ... ─┘
 *     regions   live │  free       at rest  taken    free     at rest
 *
 * The range is one static pool and one span; unmapped steps are voids in the region index. So free space
 * coalesces across the edges of steps, and no allocation lies where there is no memory. The range is larger
 * than all memory that will ever be mapped: addresses cost nothing, and a request needs contiguous ones.
 *
 * Cost: a plan takes O(voids and the free regions between them); a search for free steps takes O(regions).
 * Memory: 56 bytes a step of the range.
 * Threads: no locking. The pool changes steps under both its locks and reads them under either.
 * Always true: exactly the chunks of mapped steps are free or live. Chunks of unmapped steps are voids at
 * rest; each other step is one taken void.
 */
#ifndef TN_STEP_RANGE_H
#define TN_STEP_RANGE_H

#include "tarn/backend.h"

#include "../index/region_index.h"
#include "static_pool.h"

#define TN_STEP_NONE UINT32_MAX

enum tn_step_state {
    TN_STEP_STATE_UNMAPPED = 0,
    TN_STEP_STATE_MAPPED,
    TN_STEP_STATE_TRANSIT, /* on its way into the pool or out of it */
    TN_STEP_STATE_REFUSED  /* out of the pool, but the backend did not release it */
};

struct tn_step {
    tarn_mapping mapping; /* unless unmapped */
    uint64_t id;          /* unless unmapped; never reused in a process */
    uint64_t told; /* the newest observer that was told that it has come; 0: not all are yet */
    uint32_t hold_count; /* while it is held it does not leave */
    bool is_leaving;     /* on its way out of the pool, or refused */
    uint32_t region;     /* its taken void, if it has one */
    uint32_t next;       /* in a list of steps in transit, or TN_STEP_NONE */
    enum tn_step_state state;
    struct tn_dependency dependency; /* if it has left: work that may still use it */
};

struct tn_step_range {
    void *reserved; /* address from the backend */
    size_t reserved_bytes;
    struct tn_static_pool *static_pool; /* from the first step to the last */
    size_t step_bytes;                  /* a power of two */
    unsigned step_chunk_log2;
    uint32_t step_count;
    uint32_t mapped_count;
    uint32_t left_count; /* steps that have left, and are neither unmapped nor back */
    uint32_t refused_count;
    uint32_t held_count; /* steps that do not leave, because somebody holds them */
    struct tn_step steps[];
};

/* Returns the size of steps for a device of device_bytes, of which the pool takes at most limit_bytes;
 * SIZE_MAX: unknown. At least floor_bytes, a power of two. Whole steps fill the limit but for less than floor_bytes, or
 * than a thousandth of it. */
size_t tn_step_bytes_for(size_t device_bytes, size_t limit_bytes, size_t floor_bytes);

/* Describes a range of step_count unmapped steps within reserved addresses. NULL: no host memory. */
struct tn_step_range *tn_step_range_create(void *reserved, size_t reserved_bytes, size_t step_bytes,
                                           uint32_t step_count, unsigned chunk_log2);

/* Frees the description. The addresses and the static pool stay the caller's. NULL is allowed. */
void tn_step_range_destroy(struct tn_step_range *range);

static inline void *tn_step_address(const struct tn_step_range *range, uint32_t step)
{
    return (void *)(range->static_pool->first_address + step * range->step_bytes);
}

static inline uint32_t tn_step_first_chunk(const struct tn_step_range *range, uint32_t step)
{
    return range->static_pool->first_chunk + (step << range->step_chunk_log2);
}

static inline uint32_t tn_step_of_chunk(const struct tn_step_range *range, uint32_t chunk)
{
    return (chunk - range->static_pool->first_chunk) >> range->step_chunk_log2;
}

static inline size_t tn_step_mapped_bytes(const struct tn_step_range *range)
{
    return range->mapped_count * range->step_bytes;
}

/* A place for a request, if some steps are mapped. */
struct tn_step_plan {
    uint32_t first_chunk;
    uint32_t chunk_count;
    uint32_t missing_count; /* number of its steps that are not mapped */
    uint32_t first_step;    /* first in the list of steps taken for it, or TN_STEP_NONE */
};

/* Finds the place that misses the fewest steps, among equals the lowest. All its chunks are voids at rest, or
 * free and waiting for no streams but these, a bit each. False: there is none. */
bool tn_step_range_plan(const struct tn_step_range *range, const struct tn_region_index *index,
                        uint32_t chunk_count, size_t alignment_bytes, uint32_t streams,
                        struct tn_step_plan *plan_out);

/* Takes an unmapped step, which is in transit from then on. False: no host memory. */
bool tn_step_range_take(struct tn_step_range *range, struct tn_region_index *index, uint32_t step);

/* Returns how many steps are wholly free, are not held, and do not wait for `held` streams, a bit each. */
uint32_t tn_step_range_count_free(const struct tn_step_range *range,
                                  const struct tn_region_index *index, uint32_t held);

/* Returns whether more than `count` such steps are free, each within one region. Cost: a step for each free
 * region of at least a step's size. */
bool tn_step_range_has_free(const struct tn_step_range *range, const struct tn_region_index *index,
                            uint32_t held, uint32_t count);

/* Takes the highest of the steps that count_free counts, at most `count`. They are in transit from then on.
 * Returns their list, the highest first. Without host memory it takes fewer. */
uint32_t tn_step_range_take_free(struct tn_step_range *range, struct tn_region_index *index,
                                 uint32_t held, uint32_t count);

/* Makes a step in transit free. Returns the free region that it is part of then. */
uint32_t tn_step_range_arrive(struct tn_step_range *range, struct tn_region_index *index,
                              uint32_t step);

/* End the transit of a step: it is unmapped, or the backend has refused that. */
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
