/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * number_map: from any 64-bit number to another. Open addressing with linear probing, at most three quarters
 * full, without tombstones.
 *
 * Cost: O(1). Insert can fail for memory; take cannot.
 */
#ifndef TN_NUMBER_MAP_H
#define TN_NUMBER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tn_number_map_entry {
    uint64_t key;
    uint64_t value_plus_one; /* 0: the entry is empty */
};

struct tn_number_map {
    struct tn_number_map_entry *entries;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

void tn_number_map_fini(struct tn_number_map *map);

/* Adds a key. Requires: the key is not in the map. False: no host memory. */
bool tn_number_map_insert(struct tn_number_map *map, uint64_t key, uint64_t value);

bool tn_number_map_find(const struct tn_number_map *map, uint64_t key, uint64_t *value_out);

/* Finds a key and removes it. */
bool tn_number_map_take(struct tn_number_map *map, uint64_t key, uint64_t *value_out);

#endif
