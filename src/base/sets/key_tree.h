/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * key_tree: ordered sets of 31-bit keys, each with a 32-bit value: B+ trees with nodes of 128 bytes, many
 * trees in one store of nodes.
 *
 *                      [ 20 | 40 | - ]                keys: bounds between the nodes below the links
 *                     /      |      \
 *     [ 3 | 17 | 9 ]   [ 22 | 40 | 31 ]   [ 55 | 93 ]   leaves: keys with their values, the least one first
 *
 * All keys below a link are greater than the bound before it and at most its own bound. The last link has
 * no bound. Bounds need not be keys, so a removal leaves them unchanged. A leaf is unordered, except that
 * its least key comes first: most trees are one leaf, where an insert is an append and find_first reads the
 * first entry.
 *
 * The number of the root node identifies a tree, and stays the same while the tree grows and shrinks. The
 * keys of a node fill 64 bytes, so a search reads those alone and compares four at a time.
 *
 * After R. Bayer and E. McCreight, "Organization and maintenance of large ordered indexes", Acta
 * Informatica 1 (1972), in a single pass down: before it enters a node, an insert splits a full one, and a
 * remove refills one with the minimum of entries. Each node but a root has at least 5 entries, so a tree of
 * n keys has at most n / 5 leaves and n / 4 + 1 nodes.
 *
 * Cost: each call takes O(log n), with one or two cache misses a level. Only reserve allocates: insert
 * takes nodes that were reserved before.
 * Threads: no locking; the owner locks.
 * Always true: bounds ascend; the least key of a leaf is its first; all leaves are at level 0; only a root
 * has fewer than 5 entries; unused keys, and the bound of the last link, are TN_KEY_TREE_KEY_NONE.
 */
#ifndef TN_KEY_TREE_H
#define TN_KEY_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../assert.h"
#include "lanes.h"

#define TN_KEY_TREE_CAPACITY 15
#define TN_KEY_TREE_NONE     UINT32_MAX
#define TN_KEY_TREE_KEY_NONE INT32_MAX /* keys are 0 to one less */

struct tn_key_tree_node {
    int32_t keys[TN_KEY_TREE_CAPACITY + 1]; /* the last is never used */
    uint32_t links[TN_KEY_TREE_CAPACITY];   /* level 0: values; above: nodes */
    union {
        struct {
            uint16_t count;
            uint16_t level;
        };
        /* Count and level in one word, which for a leaf is its count: one comparison finds a leaf with
         * room. */
        uint32_t form;
    };
};

struct tn_key_tree_store {
    struct tn_key_tree_node *nodes;
    uint32_t capacity;
    uint32_t fresh;  /* nodes from this one on have never been used */
    uint32_t unused; /* first in the list of released nodes, or NONE */
    uint32_t used_count;
};

void tn_key_tree_store_init(struct tn_key_tree_store *store);
void tn_key_tree_store_fini(struct tn_key_tree_store *store);

/* Ensures that the trees of this store can have node_count nodes in total. False: no memory. */
bool tn_key_tree_store_reserve(struct tn_key_tree_store *store, uint32_t node_count);

/* Creates a tree with one key and returns its root. */
uint32_t tn_key_tree_create(struct tn_key_tree_store *store, int32_t key, uint32_t value);

/* Adds a key. Requires: the tree does not have it, and enough nodes are reserved. */
static inline void tn_key_tree_insert(struct tn_key_tree_store *store, uint32_t root, int32_t key,
                                      uint32_t value);

/* Removes a key. Requires: the tree has it, and at least one other. */
static inline void tn_key_tree_remove(struct tn_key_tree_store *store, uint32_t root, int32_t key);

/* Releases a tree. Requires: it is a single leaf; its keys do not matter. */
void tn_key_tree_discard(struct tn_key_tree_store *store, uint32_t root);

/* Returns the value of the least key. */
static inline uint32_t tn_key_tree_find_first(const struct tn_key_tree_store *store, uint32_t root);

/* Returns the value of the least key >= key, or NONE. */
uint32_t tn_key_tree_find_at_least(const struct tn_key_tree_store *store, uint32_t root,
                                   int32_t key);

/* Returns whether the tree is valid, and counts its keys. Walks everything. */
bool tn_key_tree_check(const struct tn_key_tree_store *store, uint32_t root, size_t *count_out);

/* --- fast path: trees of one leaf ------------------------------------------------------------ */

/* The slow paths. */
void tn_key_tree_insert_slowly(struct tn_key_tree_store *store, uint32_t root, int32_t key,
                               uint32_t value);
void tn_key_tree_remove_slowly(struct tn_key_tree_store *store, uint32_t root, int32_t key);

static inline bool tn_key_tree_is_leaf_with_room(const struct tn_key_tree_node *node)
{
    return node->form < TN_KEY_TREE_CAPACITY;
}

/* Appends the entry. If it is the least, it becomes the first, and the old first entry moves to the end. */
static inline void tn_key_tree_add_to_leaf(struct tn_key_tree_node *leaf, int32_t key,
                                           uint32_t value)
{
    TN_ASSERT(leaf->level == 0 && leaf->count > 0 && leaf->count < TN_KEY_TREE_CAPACITY);
    uint32_t place = leaf->form++;
    int32_t least = leaf->keys[0];
    uint32_t value_of_least = leaf->links[0];
    bool is_least = key < least;
    leaf->keys[0] = is_least ? key : least;
    leaf->links[0] = is_least ? value : value_of_least;
    leaf->keys[place] = is_least ? least : key;
    leaf->links[place] = is_least ? value_of_least : value;
}

/* Returns the place of a key that the leaf has. Compares all keys: a mispredicted early exit costs more. */
static inline unsigned tn_key_tree_place_in_leaf(const struct tn_key_tree_node *leaf, int32_t key)
{
    tn_lanes places = tn_lanes_equal(tn_lanes_at(leaf->keys), key) & (tn_lanes){ 0, 1, 2, 3 };
    places |= tn_lanes_equal(tn_lanes_at(leaf->keys + 4), key) & (tn_lanes){ 4, 5, 6, 7 };
    places |= tn_lanes_equal(tn_lanes_at(leaf->keys + 8), key) & (tn_lanes){ 8, 9, 10, 11 };
    places |= tn_lanes_equal(tn_lanes_at(leaf->keys + 12), key) & (tn_lanes){ 12, 13, 14, 15 };
    unsigned place = tn_lanes_sum(places);
    TN_ASSERT(leaf->keys[place] == key);
    return place;
}

/* Returns the place of the least key after the first. Requires: count >= 2. */
static inline unsigned tn_key_tree_second_in_leaf(const struct tn_key_tree_node *leaf,
                                                  unsigned count)
{
    unsigned place = 1;
    int32_t least = leaf->keys[1];
    for (unsigned i = 2; i < count; i++) {
        place = leaf->keys[i] < least ? i : place;
        least = leaf->keys[i] < least ? leaf->keys[i] : least;
    }
    return place;
}

/* Moves the last entry to the place that becomes free. If the first key goes, the next least becomes first. */
static inline void tn_key_tree_remove_from_leaf(struct tn_key_tree_node *leaf, int32_t key)
{
    TN_ASSERT(leaf->level == 0 && leaf->count > 1);
    unsigned place;
    if (leaf->keys[0] == key) {
        place = tn_key_tree_second_in_leaf(leaf, leaf->form);
        leaf->keys[0] = leaf->keys[place];
        leaf->links[0] = leaf->links[place];
    } else {
        place = tn_key_tree_place_in_leaf(leaf, key);
    }
    uint32_t last = --leaf->form;
    leaf->keys[place] = leaf->keys[last];
    leaf->links[place] = leaf->links[last];
    leaf->keys[last] = TN_KEY_TREE_KEY_NONE;
}

static inline void tn_key_tree_insert(struct tn_key_tree_store *store, uint32_t root, int32_t key,
                                      uint32_t value)
{
    struct tn_key_tree_node *node = &store->nodes[root];
    if (tn_key_tree_is_leaf_with_room(node)) {
        tn_key_tree_add_to_leaf(node, key, value);
    } else {
        tn_key_tree_insert_slowly(store, root, key, value);
    }
}

static inline void tn_key_tree_remove(struct tn_key_tree_store *store, uint32_t root, int32_t key)
{
    struct tn_key_tree_node *node = &store->nodes[root];
    if (node->level == 0) {
        tn_key_tree_remove_from_leaf(node, key);
    } else {
        tn_key_tree_remove_slowly(store, root, key);
    }
}

static inline uint32_t tn_key_tree_find_first(const struct tn_key_tree_store *store, uint32_t root)
{
    const struct tn_key_tree_node *node = &store->nodes[root];
    while (node->level > 0)
        node = &store->nodes[node->links[0]];
    return node->links[0];
}

#endif
