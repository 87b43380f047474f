/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * key_tree: insert and remove go down once, remembering the way, and then up again: insert as far as
 * nodes split, remove to the root, since the greatest key of every node on the way may change.
 */
#include "key_tree.h"

#include "assert.h"
#include "host_memory.h"

enum {
    CAPACITY = TN_KEY_TREE_CAPACITY,
    COUNT_MIN = CAPACITY / 2,
    /* Seven to the 11th is almost as many keys as there are. */
    HEIGHT_MAX = 12,
    /* Up to so many keys in one leaf are moved one by one. */
    FEW = 6
};

_Static_assert(sizeof(struct tn_key_tree_node) == 128, "a node is two cache lines");

typedef struct tn_key_tree_node node;

/* The way from the root to a node: at each level the node, and which link was taken. */
struct way {
    uint32_t nodes[HEIGHT_MAX];
    unsigned slots[HEIGHT_MAX];
    unsigned length;
};

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
    n->count = 0;
    n->level = (uint16_t)level;
    for (unsigned i = 0; i <= CAPACITY; i++) {
        n->keys[i] = TN_KEY_TREE_KEY_NONE;
    }
    return id;
}

static void give_node_back(struct tn_key_tree_store *store, uint32_t id)
{
    store->nodes[id].links[0] = store->unused;
    store->unused = id;
    store->used_count--;
}

/* --- within a node -------------------------------------------------------------------------- */

/*
 * The three below look at all entries whatever the count, and choose by arithmetic rather than by
 * branches: where a key belongs cannot be predicted, and one wrong guess costs more than the few
 * vector operations that compilers make of them. Against memmove: 0.93 of the time of a whole pair
 * of calls, tarn-bench churn with 1000 live.
 */

/* The first slot whose key is `key` or more, or the count. */
static unsigned lower_bound(const node *n, int32_t key)
{
    unsigned slot = 0;
    for (unsigned i = 0; i <= CAPACITY; i++) {
        slot += n->keys[i] < key;
    }
    return slot;
}

static void insert_at(node *n, unsigned slot, int32_t key, uint32_t link)
{
    TN_ASSERT(n->count < CAPACITY && slot <= n->count);
    for (unsigned i = CAPACITY - 1; i > 0; i--) {
        int32_t before = n->keys[i - 1];
        n->keys[i] = i > slot ? before : n->keys[i];
    }
    for (unsigned i = CAPACITY - 1; i > 0; i--) {
        uint32_t before = n->links[i - 1];
        n->links[i] = i > slot ? before : n->links[i];
    }
    n->keys[slot] = key;
    n->links[slot] = link;
    n->count++;
}

static void remove_at(node *n, unsigned slot)
{
    TN_ASSERT(slot < n->count);
    for (unsigned i = 0; i < CAPACITY; i++) {
        int32_t behind = n->keys[i + 1];
        n->keys[i] = i >= slot ? behind : n->keys[i];
    }
    for (unsigned i = 0; i + 1 < CAPACITY; i++) {
        uint32_t behind = n->links[i + 1];
        n->links[i] = i >= slot ? behind : n->links[i];
    }
    n->count--;
}

/* The same for a few entries: fewer instructions, and of so few a wrong guess is rare. */
static void insert_among_few(node *n, int32_t key, uint32_t link)
{
    unsigned slot = n->count++;
    for (; slot > 0 && n->keys[slot - 1] > key; slot--) {
        n->keys[slot] = n->keys[slot - 1];
        n->links[slot] = n->links[slot - 1];
    }
    n->keys[slot] = key;
    n->links[slot] = link;
}

static void remove_from_few(node *n, int32_t key)
{
    unsigned slot = 0;
    while (n->keys[slot] != key)
        slot++;
    TN_ASSERT(slot < n->count);
    n->count--;
    for (; slot < n->count; slot++) {
        n->keys[slot] = n->keys[slot + 1];
        n->links[slot] = n->links[slot + 1];
    }
    n->keys[slot] = TN_KEY_TREE_KEY_NONE;
}

static bool is_leaf_of_few(const node *n)
{
    return n->level == 0 && n->count <= FEW;
}

static int32_t greatest_key(const node *n)
{
    return n->keys[n->count - 1];
}

/* Appends the entries of `from`, from slot `first` on, to `to`. */
static void move_entries(node *to, node *from, unsigned first)
{
    TN_ASSERT(to->count + from->count - first <= CAPACITY);
    for (unsigned i = first; i < from->count; i++) {
        to->keys[to->count] = from->keys[i];
        to->links[to->count] = from->links[i];
        to->count++;
        from->keys[i] = TN_KEY_TREE_KEY_NONE;
    }
    from->count = (uint16_t)first;
}

/* --- insert --------------------------------------------------------------------------------- */

uint32_t tn_key_tree_create(struct tn_key_tree_store *store, int32_t key, uint32_t value)
{
    uint32_t root = take_node(store, 0);
    node *n = &store->nodes[root];
    n->keys[0] = key;
    n->links[0] = value;
    n->count = 1;
    return root;
}

/* Goes down to the leaf where `key` is or belongs. A key beyond the greatest belongs to the last leaf,
 * whose separators on the way rise to it. */
static uint32_t descend_to_leaf(struct tn_key_tree_store *store, uint32_t root, int32_t key,
                                struct way *way)
{
    uint32_t id = root;
    way->length = 0;
    while (store->nodes[id].level > 0) {
        node *n = &store->nodes[id];
        unsigned slot = lower_bound(n, key);
        if (slot == n->count) {
            slot--;
            n->keys[slot] = key;
        }
        TN_ASSERT(way->length < HEIGHT_MAX);
        way->nodes[way->length] = id;
        way->slots[way->length] = slot;
        way->length++;
        id = n->links[slot];
    }
    return id;
}

/* Inserts into a node that may be full; if so returns the new right half, else NONE. */
static uint32_t insert_or_split(struct tn_key_tree_store *store, uint32_t id, unsigned slot,
                                int32_t key, uint32_t link)
{
    if (store->nodes[id].count < CAPACITY) {
        insert_at(&store->nodes[id], slot, key, link);
        return TN_KEY_TREE_NONE;
    }
    uint32_t right_id = take_node(store, store->nodes[id].level);
    node *left = &store->nodes[id];
    node *right = &store->nodes[right_id];
    move_entries(right, left, COUNT_MIN);
    if (slot <= COUNT_MIN) {
        insert_at(left, slot, key, link);
    } else {
        insert_at(right, slot - COUNT_MIN, key, link);
    }
    return right_id;
}

static uint32_t insert_slowly(struct tn_key_tree_store *store, uint32_t root, int32_t key,
                              uint32_t value)
{
    struct way way;
    uint32_t id = descend_to_leaf(store, root, key, &way);
    unsigned slot = lower_bound(&store->nodes[id], key);
    uint32_t right_id = insert_or_split(store, id, slot, key, value);

    while (right_id != TN_KEY_TREE_NONE && way.length > 0) {
        way.length--;
        uint32_t parent = way.nodes[way.length];
        slot = way.slots[way.length];
        store->nodes[parent].keys[slot] = greatest_key(&store->nodes[id]);
        right_id = insert_or_split(store, parent, slot + 1, greatest_key(&store->nodes[right_id]),
                                   right_id);
        id = parent;
    }
    if (right_id == TN_KEY_TREE_NONE) return root;

    uint32_t new_root = take_node(store, store->nodes[id].level + 1U);
    insert_at(&store->nodes[new_root], 0, greatest_key(&store->nodes[id]), id);
    insert_at(&store->nodes[new_root], 1, greatest_key(&store->nodes[right_id]), right_id);
    return new_root;
}

uint32_t tn_key_tree_insert(struct tn_key_tree_store *store, uint32_t root, int32_t key,
                            uint32_t value)
{
    if (!is_leaf_of_few(&store->nodes[root])) return insert_slowly(store, root, key, value);
    insert_among_few(&store->nodes[root], key, value);
    return root;
}

/* --- remove --------------------------------------------------------------------------------- */

/* Fills up the node below link `slot` of `parent`, which is one short of half full, from a
 * neighbour: by one entry if the neighbour can spare it, else by joining the two. */
static void refill(struct tn_key_tree_store *store, node *parent, unsigned slot)
{
    unsigned left_slot = slot > 0 ? slot - 1 : 0;
    uint32_t right_id = parent->links[left_slot + 1];
    node *left = &store->nodes[parent->links[left_slot]];
    node *right = &store->nodes[right_id];

    if (left->count + right->count < CAPACITY) {
        move_entries(left, right, 0);
        parent->keys[left_slot] = greatest_key(left);
        remove_at(parent, left_slot + 1);
        give_node_back(store, right_id);
        return;
    }
    if (left->count < right->count) {
        insert_at(left, left->count, right->keys[0], right->links[0]);
        remove_at(right, 0);
    } else {
        insert_at(right, 0, greatest_key(left), left->links[left->count - 1]);
        remove_at(left, left->count - 1U);
    }
    parent->keys[left_slot] = greatest_key(left);
}

static uint32_t remove_slowly(struct tn_key_tree_store *store, uint32_t root, int32_t key)
{
    struct way way;
    uint32_t id = descend_to_leaf(store, root, key, &way);
    node *n = &store->nodes[id];
    unsigned slot = lower_bound(n, key);
    TN_ASSERT(slot < n->count && n->keys[slot] == key);
    remove_at(n, slot);

    while (way.length > 0) {
        way.length--;
        node *parent = &store->nodes[way.nodes[way.length]];
        slot = way.slots[way.length];
        parent->keys[slot] = greatest_key(n);
        if (n->count < COUNT_MIN) refill(store, parent, slot);
        n = parent;
    }
    if (n->count > 1) return root;

    /* A root with one link is replaced by what it links to. */
    uint32_t new_root = n->links[0];
    give_node_back(store, root);
    return new_root;
}

uint32_t tn_key_tree_remove(struct tn_key_tree_store *store, uint32_t root, int32_t key)
{
    node *n = &store->nodes[root];
    if (!is_leaf_of_few(n)) return remove_slowly(store, root, key);
    remove_from_few(n, key);
    if (n->count > 0) return root;
    give_node_back(store, root);
    return TN_KEY_TREE_NONE;
}

void tn_key_tree_discard_leaf(struct tn_key_tree_store *store, uint32_t root)
{
    TN_ASSERT(store->nodes[root].level == 0);
    give_node_back(store, root);
}

/* --- find ----------------------------------------------------------------------------------- */

uint32_t tn_key_tree_find_at_least(const struct tn_key_tree_store *store, uint32_t root,
                                   int32_t key)
{
    const node *n = &store->nodes[root];
    unsigned slot = lower_bound(n, key);
    if (slot == n->count) return TN_KEY_TREE_NONE;
    while (n->level > 0) {
        n = &store->nodes[n->links[slot]];
        slot = lower_bound(n, key);
    }
    return n->links[slot];
}

uint32_t tn_key_tree_find_first(const struct tn_key_tree_store *store, uint32_t root)
{
    const node *n = &store->nodes[root];
    while (n->level > 0) {
        n = &store->nodes[n->links[0]];
    }
    return n->links[0];
}

/* --- check ---------------------------------------------------------------------------------- */

static bool keys_are_right(const node *n)
{
    for (unsigned i = 1; i < n->count; i++) {
        if (n->keys[i - 1] >= n->keys[i]) return false;
    }
    for (unsigned i = n->count; i <= CAPACITY; i++) {
        if (n->keys[i] != TN_KEY_TREE_KEY_NONE) return false;
    }
    return true;
}

/* A node of this level and all below it; counts the keys. Recursion ends at level 0. */
static bool check_node(const struct tn_key_tree_store *store, uint32_t id, unsigned level,
                       unsigned count_min, size_t *count)
{
    if (id >= store->fresh) return false;
    const node *n = &store->nodes[id];
    if (n->level != level || n->count < count_min || n->count > CAPACITY) return false;
    if (!keys_are_right(n)) return false;
    if (level == 0) {
        *count += n->count;
        return true;
    }
    for (unsigned i = 0; i < n->count; i++) {
        if (!check_node(store, n->links[i], level - 1, COUNT_MIN, count)) return false;
        const node *child = &store->nodes[n->links[i]];
        if (greatest_key(child) != n->keys[i]) return false;
        if (i > 0 && child->keys[0] <= n->keys[i - 1]) return false;
    }
    return true;
}

bool tn_key_tree_check(const struct tn_key_tree_store *store, uint32_t root, size_t *count_out)
{
    size_t count = 0;
    if (root >= store->fresh || store->nodes[root].level >= HEIGHT_MAX) return false;
    unsigned level = store->nodes[root].level;
    if (!check_node(store, root, level, level > 0 ? 2 : 1, &count)) return false;
    *count_out = count;
    return true;
}
