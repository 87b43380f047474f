/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * static_pool_list: the static pools of a pool, in two orders: by chunk number, which is the order
 * of best fit's ties, and by address, for finding the one that an address is in.
 *
 *     by chunk     [ 65536 │ ● ] [ 196608 │ ● ] [ 458752 │ ● ]     where each ends, and which it is
 *
 * What is compared stands in the array itself, so that a search looks at a cache line or two. Many pools have
 * one static pool, which is looked at without a search. Most others have four at most, which are all compared at
 * once; where there are more, steps lead to the four that matter. So many places there always are, and those that
 * are not in use end beyond everything.
 *
 * Cost: find O(log n), insert and remove O(n) in static pools, of which there are few.
 * Room must have been reserved before an insert, which cannot fail then.
 * Threads: none of it locks; the pool changes the list under both its locks, with its arenas gathered or frozen, and
 * reads it under either, or in an active arena.
 * Always true: the same static pools in both orders; neither chunks nor addresses of two overlap.
 */
#ifndef TN_STATIC_POOL_LIST_H
#define TN_STATIC_POOL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/compiler.h"

#include "static_pool.h"

#define TN_STATIC_POOL_PLACES_MIN 5

struct tn_static_pool_place {
    uint64_t end; /* number of the chunk, resp. address, that is the first beyond it */
    struct tn_static_pool *static_pool;
};

struct tn_static_pool_list {
    struct tn_static_pool_place *by_chunk;
    struct tn_static_pool_place *by_address;
    uint32_t count;
    /* Of a search: a power of two, 4 or more, of which the double is not less than the count. 0: up to four are
     * there, and are compared at once; 1: one is, which needs no search. */
    uint32_t first_step;
    uint32_t by_chunk_capacity;
    uint32_t by_address_capacity;
};

void tn_static_pool_list_init(struct tn_static_pool_list *list);
void tn_static_pool_list_fini(struct tn_static_pool_list *list);

/* Makes room for one more. False: no host memory. */
bool tn_static_pool_list_reserve(struct tn_static_pool_list *list);

/* Adds one whose chunks have their numbers. */
void tn_static_pool_list_insert(struct tn_static_pool_list *list, struct tn_static_pool *added);

/* Takes out one that is there. */
void tn_static_pool_list_remove(struct tn_static_pool_list *list,
                                const struct tn_static_pool *removed);

/* The first chunk number beyond those of all static pools. */
static inline uint32_t tn_static_pool_list_end_chunk(const struct tn_static_pool_list *list)
{
    return list->count == 0 ? 0 : (uint32_t)list->by_chunk[list->count - 1].end;
}

/* The lowest chunk_count chunk numbers in a row that no static pool has, from a multiple of
 * `alignment` on, a power of two. False: there are none below chunk_limit. */
bool tn_static_pool_list_find_numbers(const struct tn_static_pool_list *list, uint32_t chunk_count,
                                      uint32_t alignment, uint32_t chunk_limit,
                                      uint32_t *first_chunk_out);

/* The most chunk numbers in a row that tn_static_pool_list_find_numbers would find. */
uint32_t tn_static_pool_list_longest_run(const struct tn_static_pool_list *list, uint32_t alignment,
                                         uint32_t chunk_limit);

/* Whether a piece of memory shares a byte with the backing of any. Cost: O(n). */
bool tn_static_pool_list_overlaps(const struct tn_static_pool_list *list, uintptr_t address,
                                  size_t size_bytes);

/* NULL, or what is wrong with the orders. Walks everything. */
const char *tn_static_pool_list_check(const struct tn_static_pool_list *list);

/* The first place that ends beyond `value`. Without branches on the comparisons, which cannot be predicted. */
static inline const struct tn_static_pool_place *tn_static_pool_list_search(
    const struct tn_static_pool_list *list, const struct tn_static_pool_place *places,
    uint64_t value)
{
    for (uint32_t step = list->first_step; TN_UNLIKELY(step >= 4); step /= 2)
        places += step & -(uint32_t)(places[step - 1].end <= value);
    uint64_t before = 4;
    before -= value < places[0].end;
    before -= value < places[1].end;
    before -= value < places[2].end;
    before -= value < places[3].end;
    return places + before;
}

/* The static pool whose chunks the address is among, or NULL. */
static inline struct tn_static_pool *tn_static_pool_list_find_address(
    const struct tn_static_pool_list *list, uintptr_t address)
{
    const struct tn_static_pool_place *place = list->by_address;
    if (list->first_step == 1) {
        if (TN_UNLIKELY(address >= place->end)) return NULL;
    } else {
        place = tn_static_pool_list_search(list, place, address);
        if (TN_UNLIKELY(!place->static_pool)) return NULL;
    }
    struct tn_static_pool *found = place->static_pool;
    return address >= found->first_address ? found : NULL;
}

/* The static pool that a chunk in use is of. */
static inline struct tn_static_pool *tn_static_pool_list_find_chunk(
    const struct tn_static_pool_list *list, uint32_t chunk)
{
    const struct tn_static_pool_place *place = list->by_chunk;
    if (list->first_step != 1) place = tn_static_pool_list_search(list, place, chunk);
    TN_ASSERT(place->static_pool && chunk >= place->static_pool->first_chunk && chunk < place->end);
    return place->static_pool;
}

#endif
