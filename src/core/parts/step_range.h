/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * step_range: a range of addresses that memory is mapped into in steps of one size.
 *
 *     step      0        1        2        3        4        5
 *               ┌────────┬────────┬────────┬────────┬────────┬─ ... ─┐
 *               │ mapped │ mapped │        │ lost   │ mapped │       │
 *               └────────┴────────┴────────┴────────┴────────┴─ ... ─┘
 *     regions   live │  free       at rest  taken    free     at rest
 *
 * It is one static pool and one span: what is not mapped is void in the region index. So free space
 * merges over the edges of steps, and nothing is handed out where there is no memory.
 * The range is larger than the memory that will ever be mapped: addresses cost nothing, and a request
 * needs as many in a row as it has bytes.
 *
 * Cost: to plan O(voids and the free regions between them); to find free steps O(regions).
 * Memory: 40 bytes a step of the range.
 * Threads: none of it locks. The pool changes steps under both its locks and reads them under either.
 * Always true: chunks of mapped steps, and only they, are free or live; those of steps that are not mapped
 * are voids at rest, all others taken voids, one each.
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
    TN_STEP_STATE_LOST     /* out of the pool, but the backend did not take it back */
};

struct tn_step {
    tarn_mapping mapping; /* where it is not unmapped */
    uint64_t id;          /* likewise; never used twice in a process */
    uint32_t region;      /* its taken void, where it has one */
    uint32_t next;        /* in a list of steps that go the same way, or TN_STEP_NONE */
    enum tn_step_state state;
};

struct tn_step_range {
    void *reserved; /* as the backend gave it */
    size_t reserved_bytes;
    struct tn_static_pool *static_pool; /* from the first step to the last */
    size_t step_bytes;                  /* a power of two */
    unsigned step_chunk_log2;
    uint32_t step_count;
    uint32_t mapped_count;
    struct tn_step steps[];
};

/* How large steps are on a device of so many bytes, of which the pool takes at most limit_bytes; either may be
 * SIZE_MAX, if nobody knows. No step is smaller than floor_bytes, a power of two. */
size_t tn_step_bytes_for(size_t device_bytes, size_t limit_bytes, size_t floor_bytes);

/* Describes a range of step_count steps within reserved addresses; nothing is mapped. NULL: no host memory. */
struct tn_step_range *tn_step_range_create(void *reserved, size_t reserved_bytes, size_t step_bytes,
                                           uint32_t step_count, unsigned chunk_log2);

/* The addresses stay the caller's, and so does the static pool. NULL is allowed. */
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

/* Where a request could lie if some steps were mapped. */
struct tn_step_plan {
    uint32_t first_chunk;
    uint32_t chunk_count;
    uint32_t missing_count; /* of its steps, those that are not mapped */
    uint32_t first_step;    /* of the list of steps that were taken for it, or TN_STEP_NONE */
};

/* The place that misses the fewest steps, among equals the lowest, between what is neither void at rest nor
 * free without waiting for other streams than these, a bit each. False: there is none. */
bool tn_step_range_plan(const struct tn_step_range *range, const struct tn_region_index *index,
                        uint32_t chunk_count, size_t alignment_bytes, uint32_t streams,
                        struct tn_step_plan *plan_out);

/* Takes a step that is unmapped: it is in transit from then on. False: no host memory. */
bool tn_step_range_take(struct tn_step_range *range, struct tn_region_index *index, uint32_t step);

/* How many steps are wholly free, whatever they wait for, but for `held` streams, a bit each. */
uint32_t tn_step_range_count_free(const struct tn_step_range *range,
                                  const struct tn_region_index *index, uint32_t held);

/* Whether more than `count` steps are free, each within one region. Cost: a step for each free region that is
 * as large as a step. */
bool tn_step_range_has_free(const struct tn_step_range *range, const struct tn_region_index *index,
                            uint32_t held, uint32_t count);

/* Takes the highest of those that count_free counts, at most `count`: they are in transit from then on.
 * Returns the list of them, the highest first. Fewer when there is no host memory. */
uint32_t tn_step_range_take_free(struct tn_step_range *range, struct tn_region_index *index,
                                 uint32_t held, uint32_t count);

/* A step in transit has arrived. Returns the free region that it is part of now. */
uint32_t tn_step_range_arrive(struct tn_step_range *range, struct tn_region_index *index,
                              uint32_t step);

/* A step in transit has left: it may be mapped again; or it is lost. */
void tn_step_range_leave(struct tn_step_range *range, struct tn_region_index *index, uint32_t step);
void tn_step_range_lose(struct tn_step_range *range, uint32_t step);

/* NULL, or how steps and regions contradict each other. Walks everything. */
const char *tn_step_range_check(const struct tn_step_range *range,
                                const struct tn_region_index *index);

#endif
