/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * plan: what the random program may do. Everything is on, until the command line leaves it out.
 */
#ifndef CORNERS_PLAN_H
#define CORNERS_PLAN_H

#include <stdbool.h>

/* Name on the command line, and what is left out with it. */
#define PART_TABLE(X)                                                                         \
    X(CAPTURES, "captures", "captured streams and graphs")                                    \
    X(FREES_INTO_GRAPHS, "frees_into_graphs", "frees in a capture of what is older")          \
    X(GRAPH_MEMORY_OUTSIDE, "graph_memory_outside",                                           \
      "uses of a graph's memory by other work, before the release")                           \
    X(MANY_STREAMS, "many_streams", "more than 12 streams")                                   \
    X(RETIRING, "retiring", "streams that end")                                               \
    X(HANGING, "hanging", "work that does not complete")                                      \
    X(USES, "uses", "users that the pool is told of before the free")                         \
    X(SECOND_POOL, "second_pool", "all pools but the first")                                  \
    X(OTHER_KIND, "other_kind", "a pool over managed memory")                                 \
    X(CALLERS_MEMORY, "callers_memory", "a pool over memory of the caller's")                 \
    X(FALLBACK, "fallback", "fallbacks")                                                      \
    X(CONTIGUOUS, "contiguous", "contiguous pools")                                           \
    X(PASS_THROUGH, "pass_through", "pools that pass through")                                \
    X(IDENTIFYING, "identifying", "pools that identify streams")                              \
    X(DEBUG, "debug", "debug mode")                                                           \
    X(ODD_SIZES, "odd_sizes", "limits, initial sizes and caps that are multiples of nothing") \
    X(LIMITS, "limits", "limits")                                                             \
    X(GIVING_BACK, "giving_back", "frees that give memory back")                              \
    X(INITIAL, "initial", "initial sizes")                                                    \
    X(OUT_OF_MEMORY, "out_of_memory", "on_out_of_memory")                                     \
    X(LEAVING, "leaving", "leaving on_out_of_memory by longjmp")                              \
    X(CREATED, "created", "acts in on_static_pool_created")                                   \
    X(DESTROYED, "destroyed", "acts in on_static_pool_destroyed")                             \
    X(TRIMMING_IN_CALLBACKS, "trimming_in_callbacks", "trims in all functions of the user's") \
    X(VENDOR_FAULTS, "vendor_faults", "calls of the vendor that fail")                        \
    X(REFUSED_RELEASES, "refused_releases", "memory that the vendor does not take back")      \
    X(HOST_FAULTS, "host_faults", "host memory that fails")                                   \
    X(BATCHES, "batches", "batches")                                                          \
    X(RESIZING, "resizing", "resizes")                                                        \
    X(TRIMMING, "trimming", "trims")                                                          \
    X(NEW_POOLS, "new_pools", "pools that end and begin")

enum part {
#define PART_ENUMERATOR(name, text, meaning) PART_##name,
    PART_TABLE(PART_ENUMERATOR)
#undef PART_ENUMERATOR
    PART_COUNT
};

/* False: there is no such part. */
bool plan_leave_out(const char *name);
bool plan_has(enum part part);

/* Lists the parts on standard output. */
void plan_print(void);

#endif
