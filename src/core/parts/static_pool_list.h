/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * static_pool_list: the static pools of a pool in two orders: by chunk number, which decides ties in best
 * fit, and by address, to find the static pool of an address.
 *
 *     by chunk     [ 65536 │ ● ] [ 196608 │ ● ] [ 458752 │ ● ]     where each ends, and which it is
 *
 * The arrays hold the compared values themselves, so a search reads one or two cache lines. Many pools have
 * one static pool, which needs no search. Most others have at most four, which are all compared at once. With
 * more, a binary search leads to the right four. There are always at least that many places; unused ones end
 * beyond all values.
 *
 * A chain has them in the order in which they joined, for a trim, which gives the newest back first.
 *
 * Cost: find O(log n), insert and remove O(n) in static pools, of which there are few.
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

#define TN_STATIC_POOL_PLACES_MIN 5

struct tn_static_pool_place {
    uint64_t end; /* the first chunk number, or address, beyond it */
    struct tn_static_pool *static_pool;
};

/* Static pools in the order in which they were put in. */
struct tn_static_pool_chain {
    struct tn_static_pool *newest;
};

void tn_static_pool_chain_push(struct tn_static_pool_chain *chain, struct tn_static_pool *added);
void tn_static_pool_chain_remove(struct tn_static_pool_chain *chain,
                                 const struct tn_static_pool *removed);

struct tn_static_pool_list {
    struct tn_static_pool_chain chain;
    struct tn_static_pool_place *by_chunk;
    struct tn_static_pool_place *by_address;
    uint32_t count;
    /* First step of the binary search: a power of two, at least 4, of which the double is at least count. 0:
     * up to four places, compared at once. 1: one place, no search. */
    uint32_t first_step;
    uint32_t by_chunk_capacity;
    uint32_t by_address_capacity;
};

void tn_static_pool_list_init(struct tn_static_pool_list *list);
void tn_static_pool_list_fini(struct tn_static_pool_list *list);

/* Reserves room for one more. False: no host memory. */
bool tn_static_pool_list_reserve(struct tn_static_pool_list *list);

/* Adds a static pool whose chunk numbers are set. Requires: reserved room. */
void tn_static_pool_list_insert(struct tn_static_pool_list *list, struct tn_static_pool *added);

/* Takes a static pool out of the chain, and marks it as leaving. It leaves the orders with remove_leaving. */
void tn_static_pool_list_mark_leaving(struct tn_static_pool_list *list,
                                      struct tn_static_pool *leaving);

/* Removes all static pools that are marked. Cost: O(n), however many they are. */
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

/* Returns the first place that ends beyond `value`. The comparisons take no branches, which would be
 * unpredictable. */
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

/* Returns the static pool whose chunks contain the address, or NULL. */
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

/* Returns the static pool of a chunk. Requires: the chunk is in use. */
static inline struct tn_static_pool *tn_static_pool_list_find_chunk(
    const struct tn_static_pool_list *list, uint32_t chunk)
{
    const struct tn_static_pool_place *place = list->by_chunk;
    if (list->first_step != 1) place = tn_static_pool_list_search(list, place, chunk);
    TN_ASSERT(place->static_pool && chunk >= place->static_pool->first_chunk && chunk < place->end);
    return place->static_pool;
}

#endif
