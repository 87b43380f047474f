/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fit_first: the region at the lowest index that is large enough, even if another one fits better.
 *
 * A treap: a binary tree by first chunk in which no region has a higher rank than its parent. A rank is a
 * hash of the record's number, which is independent of addresses. So the tree is as deep as one filled in
 * random order. Each node knows the largest count in its subtree:
 *
 *                  first 40, 8 chunks │ most 100
 *                    /                        \
 *     first 3, 20 chunks │ most 20      first 60, 4 chunks │ most 100
 *                                                       \
 *                                               first 90, 100 chunks │ most 100
 *
 * So a search for 21 turns right at once, and never has to turn back.
 *
 * After R. Seidel and C. Aragon, "Randomized search trees", Algorithmica 16 (1996); the counts as in C.
 * Stephenson, "Fast fits", SOSP 1983.
 *
 * Cost: every call takes O(log n) in free regions, expected: 2 ln n steps. Splitting and coalescing keep the
 * order, so they only climb until the count is right.
 * Not promised: large regions stay whole. A small request may split the largest region, if that lies lowest.
 * Always true: parents and children link to each other; first chunks ascend from left to right; ranks do not
 * ascend downwards; chunk_count_max is the region's own count or a child's.
 */
#include "free_set.h"

#define NONE TN_REGION_NONE

/* Different records have different ranks: an odd product and a shifted xor can be undone. */
static uint32_t rank_of(uint32_t region)
{
    uint32_t hash = region * UINT32_C(0x9E3779B1);
    hash ^= hash >> 15;
    return hash * UINT32_C(0x85EBCA6B);
}

static uint32_t max_of(const union tn_free_node *nodes, uint32_t region)
{
    return region == NONE ? 0 : nodes[region].chunk_count_max;
}

/* Returns the right value of chunk_count_max. */
static uint32_t compute_max(const union tn_free_node *nodes, const struct tn_region *regions,
                            uint32_t region)
{
    uint32_t max = regions[region].chunk_count;
    uint32_t left = max_of(nodes, nodes[region].left), right = max_of(nodes, nodes[region].right);
    if (left > max) max = left;
    return right > max ? right : max;
}

/* Corrects the maxima from a region upwards, as far as they are wrong. */
static void update_upwards(union tn_free_node *nodes, const struct tn_region *regions,
                           uint32_t region)
{
    while (region != NONE) {
        uint32_t max = compute_max(nodes, regions, region);
        if (nodes[region].chunk_count_max == max) return;
        nodes[region].chunk_count_max = max;
        region = nodes[region].parent;
    }
}

/* --- life ------------------------------------------------------------------------------------ */

static bool init(struct tn_free_set *set)
{
    set->root = NONE;
    return true;
}

static void fini(struct tn_free_set *set)
{
    (void)set;
}

static bool reserve(struct tn_free_set *set, uint32_t region_count, uint32_t chunk_count)
{
    (void)set;
    (void)region_count;
    (void)chunk_count;
    return true;
}

/* --- insert and remove ----------------------------------------------------------------------- */

/* Returns the address of the parent's link to the region. */
static uint32_t *link_to(struct tn_free_set *set, uint32_t region)
{
    union tn_free_node *nodes = set->nodes->nodes;
    uint32_t parent = nodes[region].parent;
    if (parent == NONE) return &set->root;
    return nodes[parent].left == region ? &nodes[parent].left : &nodes[parent].right;
}

/* Swaps the region with its parent, which becomes its child:
 *
 *         parent              region
 *        /      \            /      \
 *     region     c    ──►   a      parent
 *     /    \                       /    \
 *    a      b                     b      c
 */
static void rotate_up(struct tn_free_set *set, const struct tn_region *regions, uint32_t region)
{
    union tn_free_node *nodes = set->nodes->nodes;
    uint32_t parent = nodes[region].parent, *link = link_to(set, parent), middle;
    if (nodes[parent].left == region) {
        middle = nodes[region].right;
        nodes[parent].left = middle;
        nodes[region].right = parent;
    } else {
        middle = nodes[region].left;
        nodes[parent].right = middle;
        nodes[region].left = parent;
    }
    if (middle != NONE) nodes[middle].parent = parent;
    *link = region;
    nodes[region].parent = nodes[parent].parent;
    nodes[parent].parent = region;
    nodes[region].chunk_count_max = nodes[parent].chunk_count_max;
    nodes[parent].chunk_count_max = compute_max(nodes, regions, parent);
}

static void insert(struct tn_free_set *set, const struct tn_region *regions, uint32_t region)
{
    TN_ASSERT(region < set->nodes->capacity);
    union tn_free_node *nodes = set->nodes->nodes;
    uint32_t first_chunk = regions[region].first_chunk, chunk_count = regions[region].chunk_count;
    uint32_t parent = NONE, *link = &set->root;
    while (*link != NONE) {
        parent = *link;
        if (nodes[parent].chunk_count_max < chunk_count)
            nodes[parent].chunk_count_max = chunk_count;
        link =
            first_chunk < regions[parent].first_chunk ? &nodes[parent].left : &nodes[parent].right;
    }
    *link = region;
    nodes[region].parent = parent;
    nodes[region].left = NONE;
    nodes[region].right = NONE;
    nodes[region].chunk_count_max = chunk_count;
    uint32_t rank = rank_of(region);
    while (nodes[region].parent != NONE && rank_of(nodes[region].parent) < rank)
        rotate_up(set, regions, region);
}

/* While the region has two children, the one of higher rank rises above it. Its record may have changed
 * already. While it moves, the maxima must match the records. */
static void remove_region(struct tn_free_set *set, const struct tn_region *regions, uint32_t region,
                          uint32_t chunk_count)
{
    (void)chunk_count;
    union tn_free_node *nodes = set->nodes->nodes;
    update_upwards(nodes, regions, region);
    while (nodes[region].left != NONE && nodes[region].right != NONE) {
        uint32_t left = nodes[region].left, right = nodes[region].right;
        rotate_up(set, regions, rank_of(left) > rank_of(right) ? left : right);
    }
    uint32_t child = nodes[region].left != NONE ? nodes[region].left : nodes[region].right;
    *link_to(set, region) = child;
    if (child != NONE) nodes[child].parent = nodes[region].parent;
    update_upwards(nodes, regions, nodes[region].parent);
}

static void change(struct tn_free_set *set, const struct tn_region *regions, uint32_t region,
                   uint32_t old_chunk_count)
{
    (void)old_chunk_count;
    update_upwards(set->nodes->nodes, regions, region);
}

/* --- queries --------------------------------------------------------------------------------- */

/* Returns the leftmost region of at least chunk_count chunks in a subtree that has one. */
static uint32_t find_leftmost(const union tn_free_node *nodes, const struct tn_region *regions,
                              uint32_t region, uint32_t chunk_count)
{
    for (;;) {
        if (max_of(nodes, nodes[region].left) >= chunk_count) {
            region = nodes[region].left;
        } else if (regions[region].chunk_count >= chunk_count) {
            return region;
        } else {
            region = nodes[region].right;
        }
    }
}

static uint32_t find(const struct tn_free_set *set, const struct tn_region *regions,
                     uint32_t chunk_count)
{
    const union tn_free_node *nodes = set->nodes->nodes;
    if (max_of(nodes, set->root) < chunk_count) return NONE;
    return find_leftmost(nodes, regions, set->root, chunk_count);
}

/* To the right of a region lie its right subtree, the ancestors whose left subtree it is in, and their right
 * subtrees. */
static uint32_t find_after(const struct tn_free_set *set, const struct tn_region *regions,
                           uint32_t region, uint32_t chunk_count)
{
    const union tn_free_node *nodes = set->nodes->nodes;
    for (;;) {
        uint32_t right = nodes[region].right;
        if (max_of(nodes, right) >= chunk_count)
            return find_leftmost(nodes, regions, right, chunk_count);
        uint32_t child;
        do {
            child = region;
            region = nodes[child].parent;
        } while (region != NONE && nodes[region].right == child);
        if (region == NONE || regions[region].chunk_count >= chunk_count) return region;
    }
}

static uint32_t find_largest(const struct tn_free_set *set, const struct tn_region *regions)
{
    if (set->root == NONE) return NONE;
    return find(set, regions, max_of(set->nodes->nodes, set->root));
}

static bool is_better(const struct tn_free_set *set, const struct tn_region *regions, uint32_t a,
                      uint32_t b)
{
    (void)set;
    return regions[a].first_chunk < regions[b].first_chunk;
}

static size_t metadata_bytes(const struct tn_free_set *set)
{
    (void)set;
    return 0;
}

/* --- check ----------------------------------------------------------------------------------- */

static const char *check_node(const struct tn_free_set *set, const struct tn_region *regions,
                              uint32_t region)
{
    const union tn_free_node *nodes = set->nodes->nodes, *node = &nodes[region];
    uint32_t children[] = { node->left, node->right };
    for (int i = 0; i < 2; i++) {
        uint32_t child = children[i];
        if (child == NONE) continue;
        if (child >= set->nodes->capacity || nodes[child].parent != region)
            return "a child's link to its parent is wrong in the free set";
        if (rank_of(child) > rank_of(region)) return "the ranks of the free set are not in order";
    }
    if (regions[region].state != TN_REGION_STATE_FREE)
        return "a region in the free set is not free";
    if (node->chunk_count_max != compute_max(nodes, regions, region))
        return "a largest count in the free set is wrong";
    return NULL;
}

/* Walks from left to right, by the parents. */
static const char *check(const struct tn_free_set *set, const struct tn_region *regions)
{
    const union tn_free_node *nodes = set->nodes->nodes;
    uint32_t region = set->root, came_from = NONE, count = 0;
    uint64_t end_chunk = 0;
    if (region != NONE && nodes[region].parent != NONE) return "the root has a parent";
    while (region != NONE) {
        const union tn_free_node *node = &nodes[region];
        if (came_from == node->parent) {
            const char *fault = check_node(set, regions, region);
            if (fault) return fault;
            if (count++ == set->region_count) return "the count of the free set is wrong";
        }
        uint32_t next = node->parent;
        if (came_from == node->parent && node->left != NONE) {
            next = node->left;
        } else if (came_from == node->parent || came_from == node->left) {
            if (regions[region].first_chunk < end_chunk) return "the free set is not in order";
            end_chunk = tn_region_end_chunk(&regions[region]);
            if (node->right != NONE) next = node->right;
        }
        came_from = region;
        region = next;
    }
    return count == set->region_count ? NULL : "the count of the free set is wrong";
}

const struct tn_fit_operations tn_fit_first = {
    .init = init,
    .fini = fini,
    .reserve = reserve,
    .insert = insert,
    .remove = remove_region,
    .change = change,
    .find = find,
    .find_after = find_after,
    .find_largest = find_largest,
    .is_better = is_better,
    .metadata_bytes = metadata_bytes,
    .check = check,
};
