/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * static_pool_list: the static pools of a pool in two orders: by chunk number, which decides ties in best
 * fit, and by address, to find the static pool of an address.
 *
 *     by chunk     [ 65536 │ ● ] [ 196608 │ ● ] [ 458752 │ ● ]     where each ends, and which it is
 *
 * The arrays hold the compared values themselves. Many pools have one static pool, which needs no search. For the
 * others each order is divided into groups of equal length, and each group knows the first place that may have its
 * values:
 *
 *     groups       │ 0 │ 0 │ 1 │ 1 │ 1 │ 2 │ 2 │ 2 │ 2 │ ...       mostly it is this place, or the one after it
 *
 * Many small static pools may lie in one group. Among them a binary search finds the place.
 *
 * Cost: find O(1), and O(log n) where three or more static pools share a group; insert and remove O(n) in static
 * pools, of which there are few.
 * Only reserve allocates. An insert requires reserved room and cannot fail.
 * Threads: no locking. The pool changes the list under both its locks, with its arenas gathered or frozen. It
 * reads the list under either lock, or in an active arena.
 * Always true: both orders have the same static pools; neither their chunks nor their addresses overlap.
 */
#ifndef TN_STATIC_POOL_LIST_H
#define TN_STATIC_POOL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/compiler.h"

#include "static_pool.h"

#define TN_STATIC_POOL_GROUP_COUNT 512

/* Behind the places that are used is one whose static pool is NULL, and which ends beyond all values. */
struct tn_static_pool_place {
    uint64_t end;   /* the first chunk number, or address, beyond it */
    uint64_t first; /* its first chunk number, or address */
    uintptr_t
        chunk_0_address; /* the address that chunk 0 would have: of chunk n it is n << chunk_log2 more */
    struct tn_static_pool *static_pool;
};

/* Where a search in an order begins. */
struct tn_static_pool_groups {
    uint64_t first;      /* value of the first group */
    unsigned value_log2; /* each group has so many values, a power of two */
    /* The first place that ends beyond the group's first value. */
    uint32_t places[TN_STATIC_POOL_GROUP_COUNT];
};

struct tn_static_pool_list {
    struct tn_static_pool_place *by_chunk;
    struct tn_static_pool_place *by_address;
    struct tn_static_pool_groups chunk_groups;
    struct tn_static_pool_groups address_groups;
    uint32_t count;
    uint32_t by_chunk_capacity;
    uint32_t by_address_capacity;
};

void tn_static_pool_list_init(struct tn_static_pool_list *list);
void tn_static_pool_list_fini(struct tn_static_pool_list *list);

/* Reserves room for one more. False: no host memory. */
bool tn_static_pool_list_reserve(struct tn_static_pool_list *list);

/* Adds a static pool whose chunk numbers are set. Requires: reserved room. */
void tn_static_pool_list_insert(struct tn_static_pool_list *list, struct tn_static_pool *added);

/* Removes all static pools whose pieces are leaving. Cost: O(n), however many they are. */
void tn_static_pool_list_remove_leaving(struct tn_static_pool_list *list);

/* Returns the first chunk number after those of all static pools. */
static inline uint32_t tn_static_pool_list_end_chunk(const struct tn_static_pool_list *list)
{
    return list->count == 0 ? 0 : (uint32_t)list->by_chunk[list->count - 1].end;
}

/* Finds the lowest chunk_count free chunk numbers in a row, from a multiple of `alignment` on, a power of
 * two. False: there are none below chunk_limit. */
bool tn_static_pool_list_find_numbers(const struct tn_static_pool_list *list, uint32_t chunk_count,
                                      uint32_t alignment, uint32_t chunk_limit,
                                      uint32_t *first_chunk_out);

/* Returns the most chunk numbers in a row that tn_static_pool_list_find_numbers would find. */
uint32_t tn_static_pool_list_longest_run(const struct tn_static_pool_list *list, uint32_t alignment,
                                         uint32_t chunk_limit);

/* Returns whether the memory overlaps a backing. Cost: O(n). */
bool tn_static_pool_list_overlaps(const struct tn_static_pool_list *list, uintptr_t address,
                                  size_t size_bytes);

/* Returns NULL, or the fault. Walks everything. */
const char *tn_static_pool_list_check(const struct tn_static_pool_list *list);

static inline uint64_t tn_static_pool_group_of(const struct tn_static_pool_groups *groups,
                                               uint64_t value)
{
    return (value - groups->first) >> groups->value_log2;
}

/* Returns the first place that ends beyond a value of the group. */
const struct tn_static_pool_place *tn_static_pool_list_search(
    const struct tn_static_pool_list *list, const struct tn_static_pool_place *places,
    const struct tn_static_pool_groups *groups, uint64_t group, uint64_t value);

/* tn_static_pool_list_search for a group in which few static pools end. */
static inline const struct tn_static_pool_place *tn_static_pool_list_look_up(
    const struct tn_static_pool_list *list, const struct tn_static_pool_place *places,
    const struct tn_static_pool_groups *groups, uint64_t group, uint64_t value)
{
    const struct tn_static_pool_place *place = places + groups->places[group];
    if (TN_LIKELY(value < place->end)) return place;
    place++;
    if (TN_LIKELY(value < place->end)) return place;
    return tn_static_pool_list_search(list, places, groups, group, value);
}

/* Returns the place of the static pool whose chunks contain the address, or NULL. */
static inline const struct tn_static_pool_place *tn_static_pool_list_place_of_address(
    const struct tn_static_pool_list *list, uintptr_t address)
{
    const struct tn_static_pool_place *place = list->by_address;
    if (list->count != 1) {
        uint64_t group = tn_static_pool_group_of(&list->address_groups, address);
        if (TN_UNLIKELY(group >= TN_STATIC_POOL_GROUP_COUNT)) return NULL;
        place = tn_static_pool_list_look_up(list, place, &list->address_groups, group, address);
    }
    bool is_in = address - place->first < place->end - place->first;
    return TN_LIKELY(is_in) ? place : NULL;
}

/* Returns the place of the static pool of a chunk. Requires: the chunk is in use. */
static inline const struct tn_static_pool_place *tn_static_pool_list_place_of_chunk(
    const struct tn_static_pool_list *list, uint32_t chunk)
{
    const struct tn_static_pool_place *place = list->by_chunk;
    if (list->count != 1) {
        uint64_t group = tn_static_pool_group_of(&list->chunk_groups, chunk);
        TN_ASSERT(group < TN_STATIC_POOL_GROUP_COUNT);
        place = tn_static_pool_list_look_up(list, place, &list->chunk_groups, group, chunk);
    }
    TN_ASSERT(place->static_pool && chunk >= place->first && chunk < place->end);
    return place;
}

/* Returns the static pool whose chunks contain the address, or NULL. */
static inline struct tn_static_pool *tn_static_pool_list_find_address(
    const struct tn_static_pool_list *list, uintptr_t address)
{
    const struct tn_static_pool_place *place = tn_static_pool_list_place_of_address(list, address);
    return place ? place->static_pool : NULL;
}

/* Returns the static pool of a chunk. Requires: the chunk is in use. */
static inline struct tn_static_pool *tn_static_pool_list_find_chunk(
    const struct tn_static_pool_list *list, uint32_t chunk)
{
    return tn_static_pool_list_place_of_chunk(list, chunk)->static_pool;
}

#endif
