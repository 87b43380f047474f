/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* number_map: after a removal, later entries move up, but never before their own place. */
#include "number_map.h"

#include "base/arith.h"
#include "base/host_memory.h"

#define CAPACITY_MIN 64

/* Addresses differ in their middle or high bits, handles in their low ones. The product mixes all of them
 * into its high bits. */
static size_t place_of(const struct tn_number_map *map, uint64_t key)
{
    return (size_t)((key * 0x9e3779b97f4a7c15) >> (__builtin_clzll(map->capacity) + 1));
}

/* Returns the key's entry, or the empty entry where it would go. */
static struct tn_number_map_entry *search(const struct tn_number_map *map, uint64_t key)
{
    size_t place = place_of(map, key);
    while (map->entries[place].value_plus_one != 0 && map->entries[place].key != key)
        place = (place + 1) & (map->capacity - 1);
    return &map->entries[place];
}

void tn_number_map_fini(struct tn_number_map *map)
{
    tn_host_memory_free(map->entries);
    *map = (struct tn_number_map){ NULL, 0, 0 };
}

static bool grow(struct tn_number_map *map)
{
    struct tn_number_map grown = { .capacity = map->capacity ? 2 * map->capacity : CAPACITY_MIN,
                                   .count = map->count };
    size_t bytes;
    if (!tn_multiply_fits(grown.capacity, sizeof *grown.entries, &bytes)) return false;
    grown.entries = tn_host_memory_alloc_zeroed(bytes);
    if (!grown.entries) return false;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].value_plus_one != 0)
            *search(&grown, map->entries[i].key) = map->entries[i];
    }
    tn_host_memory_free(map->entries);
    *map = grown;
    return true;
}

bool tn_number_map_insert(struct tn_number_map *map, uint64_t key, uint64_t value)
{
    if (4 * (map->count + 1) > 3 * map->capacity && !grow(map)) return false;
    struct tn_number_map_entry *entry = search(map, key);
    TN_ASSERT(entry->value_plus_one == 0);
    *entry = (struct tn_number_map_entry){ key, value + 1 };
    map->count++;
    return true;
}

bool tn_number_map_find(const struct tn_number_map *map, uint64_t key, uint64_t *value_out)
{
    const struct tn_number_map_entry *entry = map->capacity ? search(map, key) : NULL;
    if (!entry || entry->value_plus_one == 0) return false;
    *value_out = entry->value_plus_one - 1;
    return true;
}

bool tn_number_map_take(struct tn_number_map *map, uint64_t key, uint64_t *value_out)
{
    if (!tn_number_map_find(map, key, value_out)) return false;
    size_t mask = map->capacity - 1;
    size_t hole = (size_t)(search(map, key) - map->entries);
    for (size_t next = (hole + 1) & mask; map->entries[next].value_plus_one != 0;
         next = (next + 1) & mask) {
        /* It may move to the hole unless its own place lies after the hole. */
        size_t distance = (next - place_of(map, map->entries[next].key)) & mask;
        if (distance < ((next - hole) & mask)) continue;
        map->entries[hole] = map->entries[next];
        hole = next;
    }
    map->entries[hole].value_plus_one = 0;
    map->count--;
    return true;
}
