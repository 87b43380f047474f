/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* static_pool_list: two sorted arrays, and groups of their values. */
#include "static_pool_list.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/host_memory.h"

#define NO_PLACE                                                                          \
    {                                                                                     \
        .end = UINT64_MAX, .first = UINT64_MAX, .chunk_0_address = 0, .static_pool = NULL \
    }

/* The place of a list without memory. */
static struct tn_static_pool_place no_place = NO_PLACE;

void tn_static_pool_list_init(struct tn_static_pool_list *list)
{
    *list = (struct tn_static_pool_list){
        .by_chunk = &no_place,
        .by_address = &no_place,
    };
}

void tn_static_pool_list_fini(struct tn_static_pool_list *list)
{
    if (list->by_chunk_capacity > 0) tn_host_memory_free(list->by_chunk);
    if (list->by_address_capacity > 0) tn_host_memory_free(list->by_address);
    tn_static_pool_list_init(list);
}

/* --- groups ------------------------------------------------------------------------------------- */

/* Divides the values from the first place's on into groups. With no place each group has the unused one. */
static void divide(struct tn_static_pool_groups *groups, const struct tn_static_pool_place *places,
                   uint32_t count)
{
    groups->first = count > 0 ? places[0].first : 0;
    groups->value_log2 = 0;
    uint64_t last_value = count > 0 ? places[count - 1].end - 1 - groups->first : 0;
    while (last_value >> groups->value_log2 >= TN_STATIC_POOL_GROUP_COUNT)
        groups->value_log2++;
    uint32_t place = 0;
    for (uint32_t i = 0; i < TN_STATIC_POOL_GROUP_COUNT; i++) {
        uint64_t first_of_group = groups->first + ((uint64_t)i << groups->value_log2);
        while (place < count && places[place].end <= first_of_group)
            place++;
        groups->places[i] = place;
    }
}

static void divide_all(struct tn_static_pool_list *list)
{
    divide(&list->chunk_groups, list->by_chunk, list->count);
    divide(&list->address_groups, list->by_address, list->count);
}

const struct tn_static_pool_place *tn_static_pool_list_search(
    const struct tn_static_pool_list *list, const struct tn_static_pool_place *places,
    const struct tn_static_pool_groups *groups, uint64_t group, uint64_t value)
{
    uint32_t first = groups->places[group], last = list->count;
    if (group + 1 < TN_STATIC_POOL_GROUP_COUNT) last = groups->places[group + 1];
    /* The place is one from `first` to `last`. */
    while (first < last) {
        uint32_t middle = first + (last - first) / 2;
        if (places[middle].end <= value) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return &places[first];
}

/* --- the orders --------------------------------------------------------------------------------- */

/* Reserves a place for one more than `count`, and the unused one behind it. */
static bool reserve_place(struct tn_static_pool_place **places, uint32_t *capacity, uint32_t count)
{
    void *items = *capacity == 0 ? NULL : *places;
    uint32_t old_capacity = *capacity;
    if (!tn_host_memory_grow_array(&items, capacity, count, count + 2, sizeof **places)) {
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
    uintptr_t chunk_0_address =
        added->first_address - ((uintptr_t)added->first_chunk << added->chunk_log2);
    insert_place(
        list->by_chunk, list->count,
        (struct tn_static_pool_place){ (uint64_t)added->first_chunk + added->piece.chunk_count,
                                       added->first_chunk, chunk_0_address, added });
    insert_place(list->by_address, list->count,
                 (struct tn_static_pool_place){ added->end_address, added->first_address,
                                                chunk_0_address, added });
    list->count++;
    divide_all(list);
}

static uint32_t keep_places(struct tn_static_pool_place *places, uint32_t count)
{
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool is_leaving = places[i].static_pool->piece.state == TN_PIECE_STATE_LEAVING;
        if (!is_leaving) places[kept_count++] = places[i];
    }
    for (uint32_t i = kept_count; i < count; i++)
        places[i] = (struct tn_static_pool_place)NO_PLACE;
    return kept_count;
}

void tn_static_pool_list_remove_leaving(struct tn_static_pool_list *list)
{
    uint32_t kept_count = keep_places(list->by_chunk, list->count);
    if (kept_count == list->count) return;
    list->count = keep_places(list->by_address, list->count);
    divide_all(list);
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
        uintptr_t backing = (uintptr_t)held->piece.base;
        if (address < backing + held->piece.size_bytes && backing < address + size_bytes)
            return true;
    }
    return false;
}

/* Returns the place of a value, or NULL if it is in no group. */
static const struct tn_static_pool_place *find(const struct tn_static_pool_list *list,
                                               const struct tn_static_pool_place *places,
                                               const struct tn_static_pool_groups *groups,
                                               uint64_t value)
{
    uint64_t group = tn_static_pool_group_of(groups, value);
    if (group >= TN_STATIC_POOL_GROUP_COUNT) return NULL;
    return tn_static_pool_list_look_up(list, places, groups, group, value);
}

/* Returns whether the first and the last value of a place are found there. */
static bool is_found(const struct tn_static_pool_list *list,
                     const struct tn_static_pool_place *places,
                     const struct tn_static_pool_groups *groups, uint32_t i)
{
    return find(list, places, groups, places[i].first) == &places[i] &&
           find(list, places, groups, places[i].end - 1) == &places[i];
}

static bool is_right(const struct tn_static_pool_place *place, uint64_t first, uint64_t end)
{
    const struct tn_static_pool *held = place->static_pool;
    return place->first == first && place->end == end &&
           place->chunk_0_address ==
               held->first_address - ((uintptr_t)held->first_chunk << held->chunk_log2);
}

static bool is_unused(const struct tn_static_pool_place *place)
{
    return place->end == UINT64_MAX && place->first == UINT64_MAX && !place->static_pool;
}

const char *tn_static_pool_list_check(const struct tn_static_pool_list *list)
{
    const struct tn_static_pool_place *by_chunk = list->by_chunk, *by_address = list->by_address;
    for (uint32_t i = 1; i < list->count; i++) {
        if (by_chunk[i - 1].end > by_chunk[i].static_pool->first_chunk)
            return "the static pools are not in the order of their chunks";
        if (by_address[i - 1].end > by_address[i].static_pool->first_address)
            return "the static pools are not in the order of their addresses";
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const struct tn_static_pool *of_chunk = by_chunk[i].static_pool;
        const struct tn_static_pool *of_address = by_address[i].static_pool;
        if (!is_right(&by_chunk[i], of_chunk->first_chunk,
                      (uint64_t)of_chunk->first_chunk + of_chunk->piece.chunk_count) ||
            !is_right(&by_address[i], of_address->first_address, of_address->end_address))
            return "a place of a static pool has wrong values";
        if (!is_found(list, by_chunk, &list->chunk_groups, i) ||
            !is_found(list, by_address, &list->address_groups, i))
            return "a search finds the wrong static pool";
        const struct tn_static_pool_place *place =
            find(list, by_chunk, &list->chunk_groups, of_address->first_chunk);
        if (!place || place->static_pool != of_address)
            return "the two orders have different static pools";
    }
    return is_unused(&by_chunk[list->count]) && is_unused(&by_address[list->count])
               ? NULL
               : "the place behind the last static pool looks used";
}
