/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* key_tree: trees of several nodes. */
#include "key_tree.h"

#include "../compiler.h"
#include "../host_memory.h"

enum {
    CAPACITY = TN_KEY_TREE_CAPACITY,
    /* Less than half of the capacity, so that the halves of a split leaf are not refilled at once: this
     * gives a third as many splits and refills as 7. */
    COUNT_MIN = 5,
    /* 5^13 is more than half the number of possible keys. */
    HEIGHT_MAX = 14
};

_Static_assert(sizeof(struct tn_key_tree_node) == 128, "a node is two cache lines");

typedef struct tn_key_tree_node node;

/* --- store ---------------------------------------------------------------------------------- */

void tn_key_tree_store_init(struct tn_key_tree_store *store)
{
    *store = (struct tn_key_tree_store){ .unused = TN_KEY_TREE_NONE };
}

void tn_key_tree_store_fini(struct tn_key_tree_store *store)
{
    tn_host_memory_free(store->nodes);
    tn_key_tree_store_init(store);
}

bool tn_key_tree_store_reserve(struct tn_key_tree_store *store, uint32_t node_count)
{
    void *nodes = store->nodes;
    if (!tn_host_memory_grow_array(&nodes, &store->capacity, store->fresh, node_count,
                                   sizeof(node))) {
        return false;
    }
    store->nodes = nodes;
    return true;
}

/* Takes a node; the caller writes its entries. */
static uint32_t take_node(struct tn_key_tree_store *store, unsigned level)
{
    uint32_t id = store->unused;
    if (id != TN_KEY_TREE_NONE) {
        store->unused = store->nodes[id].links[0];
    } else {
        TN_ASSERT(store->fresh < store->capacity);
        id = store->fresh++;
    }
    store->used_count++;
    node *n = &store->nodes[id];
    n->level = (uint16_t)level;
    return id;
}

static void give_node_back(struct tn_key_tree_store *store, uint32_t id)
{
    store->nodes[id].links[0] = store->unused;
    store->unused = id;
    store->used_count--;
}

/* --- entries of one or two nodes ------------------------------------------------------------ */

struct entries {
    uint64_t items[2 * CAPACITY]; /* key and, below it, link */
    unsigned count;
};

static int32_t key_of(uint64_t item)
{
    return (int32_t)(item >> 32);
}

/* Appends all entries of a node. `bound` is the bound of its last link. */
static void gather(struct entries *entries, const node *n, int32_t bound)
{
    for (unsigned i = 0; i < n->count; i++)
        entries->items[entries->count++] = (uint64_t)n->keys[i] << 32 | n->links[i];
    if (n->level > 0)
        entries->items[entries->count - 1] = (uint64_t)bound << 32 | n->links[n->count - 1U];
}

static void sort(struct entries *entries)
{
    for (unsigned i = 1; i < entries->count; i++) {
        uint64_t item = entries->items[i];
        unsigned place = i;
        for (; place > 0 && entries->items[place - 1] > item; place--)
            entries->items[place] = entries->items[place - 1];
        entries->items[place] = item;
    }
}

/* Makes these the only entries of the node. */
static void scatter(node *n, const uint64_t *items, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        n->keys[i] = key_of(items[i]);
        n->links[i] = (uint32_t)items[i];
    }
    for (unsigned i = count; i <= CAPACITY; i++)
        n->keys[i] = TN_KEY_TREE_KEY_NONE;
    n->count = (uint16_t)count;
    if (n->level > 0) n->keys[count - 1] = TN_KEY_TREE_KEY_NONE;
}

/* Writes the lower half to the left node and the rest to the right one. Returns the bound between them. */
static int32_t scatter_halves(struct entries *entries, node *left, node *right)
{
    if (left->level == 0) sort(entries);
    unsigned half = entries->count / 2;
    scatter(left, entries->items, half);
    scatter(right, entries->items + half, entries->count - half);
    return key_of(entries->items[half - 1]);
}

/* --- within an inner node ------------------------------------------------------------------- */

/* Returns the link below which `key` belongs. Compares all bounds, since the place cannot be predicted. */
static unsigned slot_for(const node *n, int32_t key)
{
    tn_lanes before = tn_lanes_less(tn_lanes_at(n->keys), key);
    before += tn_lanes_less(tn_lanes_at(n->keys + 4), key);
    before += tn_lanes_less(tn_lanes_at(n->keys + 8), key);
    before += tn_lanes_less(tn_lanes_at(n->keys + 12), key);
    unsigned slot = tn_lanes_sum(-before);
    TN_ASSERT(slot < n->count);
    return slot;
}

/* Inserts the link to the right part of the node below `slot`, which was split at `bound`. */
static void insert_link_after(node *n, unsigned slot, int32_t bound, uint32_t link)
{
    TN_ASSERT(n->count < CAPACITY && slot < n->count);
    for (unsigned i = CAPACITY - 1; i > 0; i--) {
        int32_t before = n->keys[i - 1];
        n->keys[i] = i > slot ? before : n->keys[i];
    }
    for (unsigned i = CAPACITY - 1; i > 0; i--) {
        uint32_t before = n->links[i - 1];
        n->links[i] = i > slot ? before : n->links[i];
    }
    n->keys[slot] = bound;
    n->links[slot + 1] = link;
    n->count++;
}

/* Removes the link after `slot`, whose entries are now below `slot`. */
static void remove_link_after(node *n, unsigned slot)
{
    TN_ASSERT(slot + 1 < n->count);
    for (unsigned i = 0; i < CAPACITY; i++) {
        int32_t behind = n->keys[i + 1];
        n->keys[i] = i >= slot ? behind : n->keys[i];
    }
    for (unsigned i = 0; i + 1 < CAPACITY; i++) {
        uint32_t behind = n->links[i + 1];
        n->links[i] = i > slot ? behind : n->links[i];
    }
    n->count--;
}

/* --- insert --------------------------------------------------------------------------------- */

uint32_t tn_key_tree_create(struct tn_key_tree_store *store, int32_t key, uint32_t value)
{
    uint32_t root = take_node(store, 0);
    uint64_t item = (uint64_t)key << 32 | value;
    scatter(&store->nodes[root], &item, 1);
    return root;
}

static bool is_full(const node *n)
{
    return n->count == CAPACITY;
}

/* Splits the node below a link. Requires: the parent has room. */
static TN_NOINLINE void split_below(struct tn_key_tree_store *store, node *parent, unsigned slot)
{
    node *left = &store->nodes[parent->links[slot]];
    uint32_t right_id = take_node(store, left->level);
    struct entries entries;
    entries.count = 0;
    gather(&entries, left, TN_KEY_TREE_KEY_NONE);
    int32_t bound = scatter_halves(&entries, left, &store->nodes[right_id]);
    insert_link_after(parent, slot, bound, right_id);
}

/* Moves the root's entries to a new node below it. */
static TN_NOINLINE void raise_root(struct tn_key_tree_store *store, uint32_t root)
{
    unsigned level = store->nodes[root].level;
    uint32_t below = take_node(store, level);
    node *n = &store->nodes[root];
    store->nodes[below] = *n;
    uint64_t item = (uint64_t)TN_KEY_TREE_KEY_NONE << 32 | below;
    n->level = (uint16_t)(level + 1);
    scatter(n, &item, 1);
}

void tn_key_tree_insert_slowly(struct tn_key_tree_store *store, uint32_t root, int32_t key,
                               uint32_t value)
{
    node *n = &store->nodes[root];
    if (is_full(n)) raise_root(store, root);
    while (n->level > 0) {
        unsigned slot = slot_for(n, key);
        if (is_full(&store->nodes[n->links[slot]])) {
            split_below(store, n, slot);
            slot += key > n->keys[slot];
        }
        n = &store->nodes[n->links[slot]];
    }
    tn_key_tree_add_to_leaf(n, key, value);
}

/* --- remove --------------------------------------------------------------------------------- */

/* Refills the node below link `slot` of `parent` from a neighbour, or joins the two. */
static TN_NOINLINE void refill(struct tn_key_tree_store *store, node *parent, unsigned slot)
{
    unsigned left_slot = slot > 0 ? slot - 1 : 0;
    uint32_t right_id = parent->links[left_slot + 1];
    node *left = &store->nodes[parent->links[left_slot]];
    node *right = &store->nodes[right_id];

    struct entries entries;
    entries.count = 0;
    gather(&entries, left, parent->keys[left_slot]);
    gather(&entries, right, TN_KEY_TREE_KEY_NONE);
    if (entries.count > CAPACITY) {
        parent->keys[left_slot] = scatter_halves(&entries, left, right);
        return;
    }
    /* The least key of both nodes is already the left node's first. */
    scatter(left, entries.items, entries.count);
    remove_link_after(parent, left_slot);
    give_node_back(store, right_id);
}

/* Replaces a root that has one link by the node below it. */
static TN_NOINLINE void lower_root(struct tn_key_tree_store *store, uint32_t root)
{
    uint32_t below = store->nodes[root].links[0];
    store->nodes[root] = store->nodes[below];
    give_node_back(store, below);
}

void tn_key_tree_remove_slowly(struct tn_key_tree_store *store, uint32_t root, int32_t key)
{
    node *n = &store->nodes[root];
    while (n->level > 0) {
        unsigned slot = slot_for(n, key);
        if (store->nodes[n->links[slot]].count == COUNT_MIN) {
            refill(store, n, slot);
            if (n->count == 1) {
                lower_root(store, root);
                continue;
            }
            slot = slot_for(n, key);
        }
        n = &store->nodes[n->links[slot]];
    }
    tn_key_tree_remove_from_leaf(n, key);
}

void tn_key_tree_discard(struct tn_key_tree_store *store, uint32_t root)
{
    TN_ASSERT(store->nodes[root].level == 0);
    give_node_back(store, root);
}

/* --- find ----------------------------------------------------------------------------------- */

/* Returns the place of a leaf's least key >= key, or the leaf's count. */
static unsigned at_least_in_leaf(const node *leaf, int32_t key)
{
    unsigned found = leaf->count;
    for (unsigned i = 0; i < leaf->count; i++) {
        if (leaf->keys[i] < key) continue;
        if (found == leaf->count || leaf->keys[i] < leaf->keys[found]) found = i;
    }
    return found;
}

uint32_t tn_key_tree_find_at_least(const struct tn_key_tree_store *store, uint32_t root,
                                   int32_t key)
{
    const node *n = &store->nodes[root];
    /* The first leaf below this node follows the leaf that the search enters. */
    uint32_t later = TN_KEY_TREE_NONE;
    while (n->level > 0) {
        unsigned slot = slot_for(n, key);
        if (slot + 1 < n->count) later = n->links[slot + 1];
        n = &store->nodes[n->links[slot]];
    }
    unsigned place = at_least_in_leaf(n, key);
    if (place < n->count) return n->links[place];
    return later == TN_KEY_TREE_NONE ? TN_KEY_TREE_NONE : tn_key_tree_find_first(store, later);
}

/* --- check ---------------------------------------------------------------------------------- */

/* The keys that may be below a node. */
struct range {
    int32_t above; /* exclusive; -1: all */
    int32_t to;
};

static bool are_unused(const node *n, unsigned first)
{
    for (unsigned i = first; i <= CAPACITY; i++) {
        if (n->keys[i] != TN_KEY_TREE_KEY_NONE) return false;
    }
    return true;
}

static bool check_leaf(const node *n, struct range range)
{
    for (unsigned i = 0; i < n->count; i++) {
        if (n->keys[i] <= range.above || n->keys[i] > range.to) return false;
        if (i > 0 && n->keys[i] <= n->keys[0]) return false;
        if (n->keys[i] == TN_KEY_TREE_KEY_NONE) return false;
        for (unsigned j = 1; j < i; j++) {
            if (n->keys[j] == n->keys[i]) return false;
        }
    }
    return are_unused(n, n->count);
}

/* Checks a node of this level and all below it, and counts the keys. Recursion ends at level 0. */
static bool check_node(const struct tn_key_tree_store *store, uint32_t id, unsigned level,
                       unsigned count_min, struct range range, size_t *count)
{
    if (id >= store->fresh) return false;
    const node *n = &store->nodes[id];
    if (n->level != level || n->count < count_min || n->count > CAPACITY) return false;
    if (level == 0) {
        *count += n->count;
        return check_leaf(n, range);
    }
    struct range below = range;
    for (unsigned i = 0; i < n->count; i++) {
        below.to = i + 1U < n->count ? n->keys[i] : range.to;
        if (below.to <= below.above || below.to > range.to) return false;
        if (!check_node(store, n->links[i], level - 1, COUNT_MIN, below, count)) return false;
        below.above = below.to;
    }
    return are_unused(n, n->count - 1U);
}

bool tn_key_tree_check(const struct tn_key_tree_store *store, uint32_t root, size_t *count_out)
{
    size_t count = 0;
    if (root >= store->fresh || store->nodes[root].level >= HEIGHT_MAX) return false;
    unsigned level = store->nodes[root].level;
    struct range all = { -1, TN_KEY_TREE_KEY_NONE };
    if (!check_node(store, root, level, level > 0 ? 2 : 1, all, &count)) return false;
    *count_out = count;
    return true;
}
