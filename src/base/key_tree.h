/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * key_tree: ordered sets of 31-bit keys, each with a 32-bit value: B+ trees of 128 bytes a
 * node, many of them out of one store of nodes.
 *
 *                      [ 17 | 40 | 93 ]               keys: the greatest key below each link
 *                     /      |       \
 *     [ 3 | 9 | 17 ]   [ 22 | 31 | 40 ]   [ 55 | 93 ]   leaves: keys with their values
 *
 * Inner nodes and leaves have one form, since the greatest key below a link is both a separator and
 * a key. A tree is known by the number of its root node; the owner keeps that. The keys of a node
 * stand together in 64 bytes, so that a search looks at those alone and compares four at a time.
 *
 * After R. Bayer and E. McCreight, "Organization and maintenance of large ordered indexes", Acta
 * Informatica 1 (1972). A node other than a root has at least 7 entries, so a tree of n keys has at
 * most n / 7 leaves and n / 6 + 1 nodes in all.
 *
 * Cost: every call O(log n), one or two cache misses a level. No call but reserve allocates: insert
 * takes its nodes from the store, where they must have been reserved.
 * Threads: none of it locks; the owner does.
 * Always true: keys ascend within a node; links[i]'s greatest key is keys[i]; all leaves are at
 * level 0; only a root has fewer than 7 entries; entries not in use have the key
 * TN_KEY_TREE_KEY_NONE.
 */
#ifndef TN_KEY_TREE_H
#define TN_KEY_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TN_KEY_TREE_CAPACITY 15
#define TN_KEY_TREE_NONE     UINT32_MAX
#define TN_KEY_TREE_KEY_NONE INT32_MAX /* keys are 0 to one less */

struct tn_key_tree_node {
    int32_t keys[TN_KEY_TREE_CAPACITY + 1]; /* the last is never in use */
    uint32_t links[TN_KEY_TREE_CAPACITY];   /* level 0: values; above: nodes */
    uint16_t count;
    uint16_t level;
};

struct tn_key_tree_store {
    struct tn_key_tree_node *nodes;
    uint32_t capacity;
    uint32_t fresh;  /* nodes from here on have never been used */
    uint32_t unused; /* first of the list of nodes that were used once, or NONE */
    uint32_t used_count;
};

void tn_key_tree_store_init(struct tn_key_tree_store *store);
void tn_key_tree_store_fini(struct tn_key_tree_store *store);

/* Sees to it that the trees of this store can have node_count nodes in all. False: no memory. */
bool tn_key_tree_store_reserve(struct tn_key_tree_store *store, uint32_t node_count);

/* A new tree with one key. */
uint32_t tn_key_tree_create(struct tn_key_tree_store *store, int32_t key, uint32_t value);

/* Adds a key that is not there yet; returns the root, which may be another one now. */
uint32_t tn_key_tree_insert(struct tn_key_tree_store *store, uint32_t root, int32_t key,
                            uint32_t value);

/* Removes a key that is there; returns the root, or NONE when that was the last key. */
uint32_t tn_key_tree_remove(struct tn_key_tree_store *store, uint32_t root, int32_t key);

/* Gives back the root of a tree that is a single leaf, whatever it holds. */
void tn_key_tree_discard_leaf(struct tn_key_tree_store *store, uint32_t root);

/* The value of the least key. */
uint32_t tn_key_tree_find_first(const struct tn_key_tree_store *store, uint32_t root);

/* The value of the least key that is `key` or more, or NONE. */
uint32_t tn_key_tree_find_at_least(const struct tn_key_tree_store *store, uint32_t root,
                                   int32_t key);

/* Whether the tree is sound; counts its keys. Walks everything. */
bool tn_key_tree_check(const struct tn_key_tree_store *store, uint32_t root, size_t *count_out);

#endif
