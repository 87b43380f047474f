/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* static_pool_list: two sorted arrays. */
#include "static_pool_list.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/host_memory.h"

#define NO_PLACE                               \
    {                                          \
        .end = UINT64_MAX, .static_pool = NULL \
    }

/* The places of a list without memory. */
static struct tn_static_pool_place no_places[TN_STATIC_POOL_PLACES_MIN] = { NO_PLACE, NO_PLACE,
                                                                            NO_PLACE, NO_PLACE,
                                                                            NO_PLACE };

void tn_static_pool_list_init(struct tn_static_pool_list *list)
{
    *list = (struct tn_static_pool_list){
        .by_chunk = no_places,
        .by_address = no_places,
    };
}

void tn_static_pool_list_fini(struct tn_static_pool_list *list)
{
    if (list->by_chunk_capacity > 0) tn_host_memory_free(list->by_chunk);
    if (list->by_address_capacity > 0) tn_host_memory_free(list->by_address);
    tn_static_pool_list_init(list);
}

/* --- the chain ---------------------------------------------------------------------------------- */

void tn_static_pool_chain_push(struct tn_static_pool_chain *chain, struct tn_static_pool *added)
{
    added->newer = NULL;
    added->older = chain->newest;
    if (chain->newest) chain->newest->newer = added;
    chain->newest = added;
}

void tn_static_pool_chain_remove(struct tn_static_pool_chain *chain,
                                 const struct tn_static_pool *removed)
{
    if (removed->older) removed->older->newer = removed->newer;
    if (removed->newer) {
        removed->newer->older = removed->older;
    } else {
        chain->newest = removed->older;
    }
}

/* --- the orders --------------------------------------------------------------------------------- */

static uint32_t first_step_for(uint32_t count)
{
    if (count <= 4) return count == 1;
    uint32_t step = 4;
    while (step * 2 < count)
        step *= 2;
    return step;
}

/* Returns how many places a search may read, plus one more. */
static uint32_t place_count_for(uint32_t count)
{
    return (uint32_t)tn_max((size_t)first_step_for(count) * 2, 4) + 1;
}

/* Reserves a place for one more than `count`, and all places that a search among them may read. */
static bool reserve_place(struct tn_static_pool_place **places, uint32_t *capacity, uint32_t count)
{
    void *items = *capacity == 0 ? NULL : *places;
    uint32_t old_capacity = *capacity;
    if (!tn_host_memory_grow_array(&items, capacity, count, place_count_for(count + 1),
                                   sizeof **places)) {
        return false;
    }
    *places = items;
    if (*capacity == old_capacity) return true;
    for (uint32_t i = count; i < *capacity; i++)
        (*places)[i] = (struct tn_static_pool_place)NO_PLACE;
    return true;
}

bool tn_static_pool_list_reserve(struct tn_static_pool_list *list)
{
    return reserve_place(&list->by_chunk, &list->by_chunk_capacity, list->count) &&
           reserve_place(&list->by_address, &list->by_address_capacity, list->count);
}

static void insert_place(struct tn_static_pool_place *places, uint32_t count,
                         struct tn_static_pool_place added)
{
    uint32_t place = count;
    for (; place > 0 && places[place - 1].end > added.end; place--) {
        places[place] = places[place - 1];
    }
    places[place] = added;
}

void tn_static_pool_list_insert(struct tn_static_pool_list *list, struct tn_static_pool *added)
{
    uint64_t end_chunk = (uint64_t)added->first_chunk + added->chunk_count;
    insert_place(list->by_chunk, list->count, (struct tn_static_pool_place){ end_chunk, added });
    insert_place(list->by_address, list->count,
                 (struct tn_static_pool_place){ added->end_address, added });
    tn_static_pool_chain_push(&list->chain, added);
    list->count++;
    list->first_step = first_step_for(list->count);
}

static uint32_t keep_places(struct tn_static_pool_place *places, uint32_t count)
{
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!places[i].static_pool->is_leaving) places[kept_count++] = places[i];
    }
    for (uint32_t i = kept_count; i < count; i++)
        places[i] = (struct tn_static_pool_place)NO_PLACE;
    return kept_count;
}

void tn_static_pool_list_mark_leaving(struct tn_static_pool_list *list,
                                      struct tn_static_pool *leaving)
{
    tn_static_pool_chain_remove(&list->chain, leaving);
    leaving->is_leaving = true;
}

void tn_static_pool_list_remove_leaving(struct tn_static_pool_list *list)
{
    keep_places(list->by_chunk, list->count);
    list->count = keep_places(list->by_address, list->count);
    list->first_step = first_step_for(list->count);
}

bool tn_static_pool_list_find_numbers(const struct tn_static_pool_list *list, uint32_t chunk_count,
                                      uint32_t alignment, uint32_t chunk_limit,
                                      uint32_t *first_chunk_out)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (first + chunk_count <= list->by_chunk[i].static_pool->first_chunk) break;
        first = tn_round_down(list->by_chunk[i].end + alignment - 1, alignment);
    }
    if (first + chunk_count > chunk_limit) return false;
    *first_chunk_out = (uint32_t)first;
    return true;
}

uint32_t tn_static_pool_list_longest_run(const struct tn_static_pool_list *list, uint32_t alignment,
                                         uint32_t chunk_limit)
{
    uint64_t first = 0, longest = 0;
    for (uint32_t i = 0; i <= list->count; i++) {
        uint64_t end = i < list->count ? list->by_chunk[i].static_pool->first_chunk : chunk_limit;
        if (end > first && end - first > longest) longest = end - first;
        if (i == list->count) break;
        first = tn_round_down(list->by_chunk[i].end + alignment - 1, alignment);
    }
    return (uint32_t)longest;
}

bool tn_static_pool_list_overlaps(const struct tn_static_pool_list *list, uintptr_t address,
                                  size_t size_bytes)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct tn_static_pool *held = list->by_address[i].static_pool;
        uintptr_t backing = (uintptr_t)held->backing;
        if (address < backing + held->backing_bytes && backing < address + size_bytes) return true;
    }
    return false;
}

/* Returns whether a search for the last value in the place finds it. */
static bool is_found(const struct tn_static_pool_list *list,
                     const struct tn_static_pool_place *places, uint32_t i)
{
    return tn_static_pool_list_search(list, places, places[i].end - 1) == &places[i];
}

const char *tn_static_pool_list_check(const struct tn_static_pool_list *list)
{
    for (uint32_t i = 1; i < list->count; i++) {
        if (list->by_chunk[i - 1].end > list->by_chunk[i].static_pool->first_chunk) {
            return "the static pools are not in the order of their chunks";
        }
        if (list->by_address[i - 1].end > list->by_address[i].static_pool->first_address) {
            return "the static pools are not in the order of their addresses";
        }
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (!is_found(list, list->by_chunk, i) || !is_found(list, list->by_address, i))
            return "a search finds the wrong static pool";
        const struct tn_static_pool *by_address = list->by_address[i].static_pool;
        const struct tn_static_pool_place *place =
            tn_static_pool_list_search(list, list->by_chunk, by_address->first_chunk);
        if (place->static_pool != by_address) return "the two orders have different static pools";
    }
    uint32_t place_count = place_count_for(list->count);
    for (uint32_t i = list->count; i < place_count; i++) {
        if (list->by_chunk[i].end != UINT64_MAX || list->by_chunk[i].static_pool ||
            list->by_address[i].end != UINT64_MAX || list->by_address[i].static_pool)
            return "an unused place of a static pool looks used";
    }
    return NULL;
}
