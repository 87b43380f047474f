/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * dependency: the work that a free region waits for before other streams may have it.
 *
 * A pool's time counts the events that it has recorded. A region freed on stream a at time 5 depends on all
 * work submitted to a by then. An event recorded on a at time 5 or later covers that. So a dependency is a
 * set of streams and one time, eight bytes:
 *
 *     time    5            6            7
 *     a     ──free x───────────record───►           x: {a}, 5      the record covers 5 and 6
 *     b     ────────────────free y──────►           y: {b}, 6
 *
 *     x and y coalesced: {a, b}, 6
 *
 * A union takes the later time for all its streams. It may wait for more than needed, but never for less. It
 * needs no memory, so a free cannot fail for lack of memory.
 */
#ifndef TN_DEPENDENCY_H
#define TN_DEPENDENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/arith.h"

/* Stream numbers of a pool are below this: a free region's record has this many bits left. One is for evicted
 * streams. */
#define TN_STREAM_COUNT_MAX 30

/* The free sets of a pool: two for regions that wait for nothing, one of them in the newer spans (region_index.h), one for
 * each stream, and one for regions that wait for several streams. A mask has a bit for each. */
#define TN_FREE_SET_IDLE       0
#define TN_FREE_SET_SHARED     (TN_STREAM_COUNT_MAX + 1)
#define TN_FREE_SET_IDLE_NEWER (TN_STREAM_COUNT_MAX + 2)
#define TN_FREE_SET_COUNT      (TN_STREAM_COUNT_MAX + 3)
#define TN_FREE_SETS_IDLE      ((uint64_t)1 << TN_FREE_SET_IDLE | (uint64_t)1 << TN_FREE_SET_IDLE_NEWER)
#define TN_FREE_SETS_ALL       UINT64_MAX

struct tn_dependency {
    uint32_t streams; /* a bit each; 0: it waits for nothing, and the time has no meaning */
    uint32_t time;
};

#define TN_DEPENDENCY_NONE ((struct tn_dependency){ 0, 0 })

static inline struct tn_dependency tn_dependency_unite(struct tn_dependency a,
                                                       struct tn_dependency b)
{
    return (struct tn_dependency){ a.streams | b.streams, a.time > b.time ? a.time : b.time };
}

/* The rest of a dependency when these streams, a bit each, have completed their work up to a time. */
static inline struct tn_dependency tn_dependency_complete(struct tn_dependency dependency,
                                                          uint32_t streams, uint32_t time)
{
    if (dependency.time > time) return dependency;
    dependency.streams &= ~streams;
    /* Otherwise a later union would get a time that is too late. */
    return dependency.streams == 0 ? TN_DEPENDENCY_NONE : dependency;
}

/* The dependency with another one in place of a stream. */
static inline struct tn_dependency tn_dependency_replace(struct tn_dependency dependency,
                                                         uint32_t stream_bit,
                                                         struct tn_dependency in_place)
{
    if ((dependency.streams & stream_bit) == 0) return dependency;
    return tn_dependency_unite(tn_dependency_complete(dependency, stream_bit, UINT32_MAX),
                               in_place);
}

static inline unsigned tn_free_set_of_stream(unsigned stream)
{
    return stream + 1;
}

/* Returns the set for regions that depend on these streams; of none, in the older spans. */
static inline unsigned tn_free_set_of(uint32_t streams)
{
    if (streams == 0) return TN_FREE_SET_IDLE;
    if (tn_is_power_of_two(streams)) return tn_free_set_of_stream(tn_lowest_bit(streams));
    return TN_FREE_SET_SHARED;
}

#endif
