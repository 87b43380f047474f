/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_key_tree: ordered sets of keys around the sizes at which nodes split (15 and 16 keys) and fill up
 * or join (5 and 4), many trees in one store, compared with sorted arrays.
 */
#include "base/sets/key_tree.h"

#include <stdlib.h>
#include <string.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#define NONE TN_KEY_TREE_NONE

/* The greatest key that there can be. */
#define KEY_MAX (TN_KEY_TREE_KEY_NONE - 1)

/* --- one tree ----------------------------------------------------------------------------------- */

struct tree {
    struct tn_key_tree_store store;
    uint32_t root;
};

static struct tree no_tree(uint32_t node_count)
{
    struct tree tree = { .root = NONE };
    memset(&tree.store, 0x5a, sizeof tree.store);
    tn_key_tree_store_init(&tree.store);
    assert_true(tn_key_tree_store_reserve(&tree.store, node_count));
    return tree;
}

static uint32_t value_of(int32_t key)
{
    return (uint32_t)key * 2 + 1;
}

/* Returns the root, which there is from the first key on to the last. */
static uint32_t insert_into(struct tn_key_tree_store *store, uint32_t root, int32_t key)
{
    if (root == NONE) return tn_key_tree_create(store, key, value_of(key));
    tn_key_tree_insert(store, root, key, value_of(key));
    return root;
}

static uint32_t remove_from(struct tn_key_tree_store *store, uint32_t root, int32_t key)
{
    if (store->nodes[root].form > 1) {
        tn_key_tree_remove(store, root, key);
        return root;
    }
    assert_int_equal(store->nodes[root].keys[0], key);
    tn_key_tree_discard(store, root);
    return NONE;
}

static void insert_key(struct tree *tree, int32_t key)
{
    tree->root = insert_into(&tree->store, tree->root, key);
}

static void remove_key(struct tree *tree, int32_t key)
{
    tree->root = remove_from(&tree->store, tree->root, key);
}

/* The keys first, first + step, ... */
static struct tree tree_of(size_t count, int32_t first, int32_t step)
{
    struct tree tree = no_tree((uint32_t)count + 3);
    for (size_t i = 0; i < count; i++)
        insert_key(&tree, first + (int32_t)i * step);
    return tree;
}

static void expect_sound(const struct tree *tree, size_t count)
{
    size_t counted = 0;
    if (!tn_key_tree_check(&tree->store, tree->root, &counted)) fail_msg("the tree is damaged");
    assert_int_equal(counted, count);
}

/* Sound, and what is at least `key` has this value. */
static void expect_at_least(const struct tree *tree, int32_t key, uint32_t expected)
{
    uint32_t found = tn_key_tree_find_at_least(&tree->store, tree->root, key);
    if (found != expected) fail_msg("at least %d: %u, not %u", key, found, expected);
}

static const struct tn_key_tree_node *child_of(const struct tree *tree, unsigned slot)
{
    return &tree->store.nodes[tree->store.nodes[tree->root].links[slot]];
}

/* The root has two leaves with so many keys. */
static void expect_two_leaves(const struct tree *tree, unsigned left_count, unsigned right_count)
{
    expect_sound(tree, left_count + right_count);
    assert_int_equal(tree->store.used_count, 3);
    assert_int_equal(tree->store.nodes[tree->root].count, 2);
    assert_int_equal(child_of(tree, 0)->count, left_count);
    assert_int_equal(child_of(tree, 1)->count, right_count);
}

static void expect_one_leaf(const struct tree *tree, unsigned count)
{
    expect_sound(tree, count);
    assert_int_equal(tree->store.used_count, 1);
    assert_int_equal(tree->store.nodes[tree->root].level, 0);
}

static void fini(struct tree *tree)
{
    tn_key_tree_store_fini(&tree->store);
}

/* --- finding ------------------------------------------------------------------------------------ */

static void a_tree_of_one_key_finds_it(void **state)
{
    struct tree tree = tree_of(1, 100, 1);
    expect_one_leaf(&tree, 1);
    assert_int_equal(tn_key_tree_find_first(&tree.store, tree.root), value_of(100));
    expect_at_least(&tree, 0, value_of(100));
    expect_at_least(&tree, 99, value_of(100));
    expect_at_least(&tree, 100, value_of(100));
    expect_at_least(&tree, 101, NONE);
    fini(&tree);
}

static void the_outermost_keys_are_keys(void **state)
{
    struct tree tree = tree_of(1, 0, 1);
    insert_key(&tree, KEY_MAX);
    expect_sound(&tree, 2);
    expect_at_least(&tree, 0, value_of(0));
    expect_at_least(&tree, 1, value_of(KEY_MAX));
    expect_at_least(&tree, KEY_MAX - 1, value_of(KEY_MAX));
    expect_at_least(&tree, KEY_MAX, value_of(KEY_MAX));
    expect_at_least(&tree, TN_KEY_TREE_KEY_NONE, NONE);
    fini(&tree);
}

static void keys_are_found_between_their_neighbours(void **state)
{
    enum {
        COUNT = 1000
    };
    struct tree tree = tree_of(COUNT, 3, 3);
    expect_sound(&tree, COUNT);
    assert_int_equal(tn_key_tree_find_first(&tree.store, tree.root), value_of(3));
    for (int32_t key = 3; key <= 3 * COUNT; key += 3) {
        expect_at_least(&tree, key - 2, value_of(key));
        expect_at_least(&tree, key - 1, value_of(key));
        expect_at_least(&tree, key, value_of(key));
    }
    expect_at_least(&tree, 3 * COUNT + 1, NONE);
    fini(&tree);
}

/* --- splitting ---------------------------------------------------------------------------------- */

static void fifteen_keys_are_one_node_and_sixteen_are_three(void **state)
{
    for (size_t count = 1; count <= 15; count++) {
        struct tree tree = tree_of(count, 0, 1);
        expect_one_leaf(&tree, (unsigned)count);
        fini(&tree);
    }
    struct tree tree = tree_of(16, 0, 1);
    expect_two_leaves(&tree, 7, 9);
    insert_key(&tree, 16);
    expect_two_leaves(&tree, 7, 10);
    fini(&tree);
}

/* Keys 10, 20, ..., 150 fill a leaf; one more goes to either half. */
static void a_full_leaf_splits_wherever_the_key_belongs(void **state)
{
    for (int32_t slot = 0; slot <= 15; slot++) {
        struct tree tree = tree_of(15, 10, 10);
        int32_t key = slot * 10 + 5;
        insert_key(&tree, key);
        bool goes_left = slot < 7; /* 70 is the bound between the halves */
        expect_two_leaves(&tree, goes_left ? 8 : 7, goes_left ? 8 : 9);
        expect_at_least(&tree, key, value_of(key));
        expect_at_least(&tree, key + 1, slot < 15 ? value_of(key + 5) : NONE);
        fini(&tree);
    }
}

static void descending_keys_make_a_sound_tree(void **state)
{
    struct tree tree = no_tree(400);
    for (int32_t key = 2000; key-- > 0;) {
        insert_key(&tree, key);
        expect_sound(&tree, (size_t)(2000 - key));
        assert_int_equal(tn_key_tree_find_first(&tree.store, tree.root), value_of(key));
    }
    fini(&tree);
}

/* --- joining ------------------------------------------------------------------------------------ */

/* The keys 0, 10, ... in two leaves, with so many in each; 60 is the bound between them. */
static struct tree two_leaves_of(unsigned left_count, unsigned right_count)
{
    struct tree tree = tree_of(16, 0, 10);
    for (unsigned count = 9; count < right_count; count++)
        insert_key(&tree, 10 * (int32_t)(count + 7));
    for (unsigned count = 9; count > right_count; count--)
        remove_key(&tree, 10 * (int32_t)(count + 6));
    for (unsigned count = 7; count < left_count; count++)
        insert_key(&tree, 6 * (int32_t)(count - 7) + 1);
    for (unsigned count = 7; count > left_count; count--)
        remove_key(&tree, 10 * (int32_t)(count - 1));
    expect_two_leaves(&tree, left_count, right_count);
    return tree;
}

static void a_leaf_of_six_gives_one_away(void **state)
{
    struct tree tree = two_leaves_of(6, 6);
    remove_key(&tree, 0);
    expect_two_leaves(&tree, 5, 6);
    remove_key(&tree, 90);
    expect_two_leaves(&tree, 5, 5);
    expect_at_least(&tree, 0, value_of(10));
    expect_at_least(&tree, 81, value_of(100));
    fini(&tree);
}

/* One key goes out of the left leaf, resp. the right one, which has five. */
static void expect_joined(unsigned left_count, unsigned right_count, int32_t removed)
{
    struct tree tree = two_leaves_of(left_count, right_count);
    remove_key(&tree, removed);
    expect_one_leaf(&tree, left_count + right_count - 1);
    expect_at_least(&tree, 0, value_of(removed == 0 ? 10 : 0));
    expect_at_least(&tree, 41, left_count > 5 ? value_of(50) : value_of(removed == 70 ? 80 : 70));
    fini(&tree);
}

static void a_leaf_of_five_joins_where_fifteen_are_one_leaf(void **state)
{
    for (unsigned count = 5; count <= 10; count++) {
        expect_joined(5, count, 0);
        expect_joined(5, count, 40);
        expect_joined(count, 5, 70);
        expect_joined(count, 5, 110);
    }
}

static void a_leaf_of_five_takes_from_the_right(void **state)
{
    struct tree tree = two_leaves_of(5, 11);
    remove_key(&tree, 30);
    expect_two_leaves(&tree, 7, 8);
    expect_at_least(&tree, 21, value_of(40));
    expect_at_least(&tree, 41, value_of(70));
    expect_at_least(&tree, 90, value_of(90));
    expect_at_least(&tree, 91, value_of(100));
    fini(&tree);
    tree = two_leaves_of(5, 15);
    remove_key(&tree, 40);
    expect_two_leaves(&tree, 9, 10);
    fini(&tree);
}

static void a_leaf_of_five_takes_from_the_left(void **state)
{
    struct tree tree = two_leaves_of(11, 5);
    remove_key(&tree, 70); /* the least of its leaf */
    expect_two_leaves(&tree, 8, 7);
    expect_at_least(&tree, 61, value_of(80));
    expect_at_least(&tree, 46, value_of(50));
    fini(&tree);
    tree = two_leaves_of(15, 5);
    remove_key(&tree, 110);
    expect_two_leaves(&tree, 10, 9);
    fini(&tree);
}

/* The bound stays, and what is at least the key is beyond it. */
static void what_comes_after_a_leaf_is_found_in_the_next(void **state)
{
    struct tree tree = tree_of(1000, 0, 1);
    assert_true(tree.store.nodes[tree.root].level >= 2);
    for (int32_t key = 0; key < 1000; key++) {
        remove_key(&tree, key);
        expect_sound(&tree, 999);
        expect_at_least(&tree, key, key < 999 ? value_of(key + 1) : NONE);
        insert_key(&tree, key);
        expect_at_least(&tree, key, value_of(key));
    }
    fini(&tree);
}

static void removing_the_greatest_key_leaves_none_so_great(void **state)
{
    struct tree tree = tree_of(500, 0, 1);
    for (int32_t key = 499; key >= 1; key--) {
        remove_key(&tree, key);
        expect_sound(&tree, (size_t)key);
        expect_at_least(&tree, key, NONE);
    }
    fini(&tree);
}

static void removing_the_least_key_leaves_the_next(void **state)
{
    enum {
        COUNT = 500,
        STRIDE = 177
    };
    struct tree tree = no_tree(COUNT);
    for (int32_t i = 0; i < COUNT; i++)
        insert_key(&tree, i * STRIDE % COUNT);
    for (int32_t key = 0; key < COUNT - 1; key++) {
        remove_key(&tree, key);
        expect_sound(&tree, (size_t)(COUNT - 1 - key));
        assert_int_equal(tn_key_tree_find_first(&tree.store, tree.root), value_of(key + 1));
    }
    fini(&tree);
}

/* --- one leaf ----------------------------------------------------------------------------------- */

/* Every leaf of up to five keys in every order of arrival, and each of them removed. */
static void expect_leaf_without(const int32_t *keys, unsigned count, unsigned removed)
{
    struct tree tree = no_tree(3);
    int32_t least = INT32_MAX;
    for (unsigned i = 0; i < count; i++) {
        insert_key(&tree, keys[i]);
        expect_one_leaf(&tree, i + 1);
        if (i != removed && keys[i] < least) least = keys[i];
    }
    remove_key(&tree, keys[removed]);
    if (count > 1) {
        expect_one_leaf(&tree, count - 1);
        assert_int_equal(tn_key_tree_find_first(&tree.store, tree.root), value_of(least));
        for (unsigned i = 0; i < count; i++)
            if (i != removed) expect_at_least(&tree, keys[i], value_of(keys[i]));
    }
    fini(&tree);
}

static void a_leaf_takes_keys_in_any_order(void **state)
{
    for (unsigned count = 1; count <= 5; count++) {
        for (unsigned order = 0; order < 120; order++) {
            int32_t keys[5] = { 0, 10, 20, 30, 40 };
            unsigned rest = order;
            for (unsigned i = 0; i + 1 < count; i++) {
                unsigned other = i + rest % (count - i);
                rest /= count - i;
                int32_t key = keys[i];
                keys[i] = keys[other];
                keys[other] = key;
            }
            for (unsigned removed = 0; removed < count; removed++)
                expect_leaf_without(keys, count, removed);
        }
    }
}

/* A full leaf, of which one key is removed. */
static void a_full_leaf_gives_each_key_away(void **state)
{
    enum {
        COUNT = 15
    };
    for (int32_t stride = 1; stride < COUNT; stride++) {
        if (stride % 3 == 0 || stride % 5 == 0) continue;
        for (unsigned removed = 0; removed < COUNT; removed++) {
            int32_t keys[COUNT];
            for (int32_t i = 0; i < COUNT; i++)
                keys[i] = i * stride % COUNT;
            expect_leaf_without(keys, COUNT, removed);
        }
    }
}

/* --- taking apart ------------------------------------------------------------------------------- */

static void a_tree_can_be_taken_apart_in_any_order(void **state)
{
    enum {
        COUNT = 1009, /* a prime, so that every stride visits every key */
        STRIDE = 400
    };
    struct tree tree = tree_of(COUNT, 0, 1);
    for (int32_t i = 0, key = 0; i < COUNT; i++, key = (key + STRIDE) % COUNT) {
        remove_key(&tree, key);
        if (i + 1 < COUNT) expect_sound(&tree, (size_t)(COUNT - i - 1));
    }
    assert_int_equal(tree.root, NONE);
    assert_int_equal(tree.store.used_count, 0);
    fini(&tree);
}

/* --- the store ---------------------------------------------------------------------------------- */

static void nodes_that_were_given_back_are_taken_again(void **state)
{
    struct tree tree = tree_of(300, 0, 1);
    uint32_t fresh = tree.store.fresh;
    for (int32_t key = 0; key < 300; key++)
        remove_key(&tree, key);
    assert_int_equal(tree.store.used_count, 0);
    for (int32_t key = 0; key < 300; key++)
        insert_key(&tree, key);
    assert_int_equal(tree.store.fresh, fresh);
    expect_sound(&tree, 300);
    fini(&tree);
}

static void a_finished_store_can_be_used_again(void **state)
{
    struct tree tree = tree_of(100, 0, 1);
    fini(&tree);
    assert_true(tn_key_tree_store_reserve(&tree.store, 3));
    tree.root = NONE;
    insert_key(&tree, 5);
    expect_one_leaf(&tree, 1);
    fini(&tree);
}

static void a_leaf_is_discarded_whatever_it_holds(void **state)
{
    struct tree tree = tree_of(15, 0, 1);
    uint32_t discarded = tree.root;
    tn_key_tree_discard(&tree.store, discarded);
    assert_int_equal(tree.store.used_count, 0);
    assert_int_equal(tn_key_tree_create(&tree.store, 1, value_of(1)), discarded);
    fini(&tree);
}

static void reserving_keeps_the_trees(void **state)
{
    struct tree tree = tree_of(200, 0, 1);
    uint32_t capacity = tree.store.capacity;
    assert_true(tn_key_tree_store_reserve(&tree.store, capacity));
    assert_int_equal(tree.store.capacity, capacity);
    assert_true(tn_key_tree_store_reserve(&tree.store, capacity + 1));
    assert_true(tree.store.capacity > capacity);
    expect_sound(&tree, 200);
    expect_at_least(&tree, 100, value_of(100));
    fini(&tree);
}

static void reserving_without_host_memory_changes_nothing(void **state)
{
    host_memory_faults_begin(2);
    struct tree tree = no_tree(16);
    insert_key(&tree, 1);
    struct tn_key_tree_store before = tree.store;
    assert_false(tn_key_tree_store_reserve(&tree.store, 17));
    assert_memory_equal(&tree.store, &before, sizeof before);
    expect_one_leaf(&tree, 1);
    fini(&tree);
    assert_int_equal(host_memory_faults_outstanding(), 0);
    assert_true(host_memory_faults_end());
}

static void nothing_but_reserve_allocates(void **state)
{
    struct tree tree = no_tree(500);
    host_memory_faults_begin(1);
    for (int32_t key = 0; key < 1000; key++)
        insert_key(&tree, key);
    for (int32_t key = 0; key < 1000; key++)
        remove_key(&tree, key);
    assert_false(host_memory_faults_end());
    fini(&tree);
}

/* Ascending keys make leaves of seven, of which two are removed then: as many nodes as so many keys can
 * have. */
static void a_tree_has_at_most_a_quarter_as_many_nodes_as_keys(void **state)
{
    enum {
        COUNT = 7000
    };
    struct tree tree = no_tree(COUNT / 4 + 2);
    for (int32_t key = 0; key < COUNT; key++) {
        insert_key(&tree, key);
        uint32_t bound = ((uint32_t)key + 1) / 4 + 1;
        if (tree.store.used_count > bound)
            fail_msg("%d keys take %u nodes, more than %u", key + 1, tree.store.used_count, bound);
    }
    expect_sound(&tree, COUNT);
    for (int32_t key = 0; key < COUNT; key += 7) {
        remove_key(&tree, key);
        remove_key(&tree, key + 1);
    }
    expect_sound(&tree, COUNT / 7 * 5);
    assert_in_range(tree.store.used_count, COUNT / 7, COUNT / 7 * 5 / 4 + 1);
    fini(&tree);
}

/* --- against sorted arrays ---------------------------------------------------------------------- */

enum {
    TREE_COUNT = 8,
    KEYS_MAX = 6000
};

struct model {
    int32_t keys[KEYS_MAX];
    size_t count;
    uint32_t root;
    int32_t key_bound;
};

/* How many keys are less. */
static size_t place_of(const struct model *model, int32_t key)
{
    size_t low = 0, high = model->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (model->keys[middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint32_t model_at_least(const struct model *model, int32_t key)
{
    size_t place = place_of(model, key);
    return place < model->count ? value_of(model->keys[place]) : NONE;
}

static void insert_random(struct tn_key_tree_store *store, struct model *model,
                          struct random *random)
{
    int32_t key = (int32_t)random_below(random, (uint64_t)model->key_bound);
    size_t place = place_of(model, key);
    if (model->count == KEYS_MAX) return;
    if (place < model->count && model->keys[place] == key) return;
    memmove(&model->keys[place + 1], &model->keys[place],
            (model->count - place) * sizeof model->keys[0]);
    model->keys[place] = key;
    model->count++;
    model->root = insert_into(store, model->root, key);
}

static void remove_random(struct tn_key_tree_store *store, struct model *model,
                          struct random *random)
{
    if (model->count == 0) return;
    size_t place = random_below(random, model->count);
    model->root = remove_from(store, model->root, model->keys[place]);
    model->count--;
    memmove(&model->keys[place], &model->keys[place + 1],
            (model->count - place) * sizeof model->keys[0]);
}

static void expect_same_as_model(const struct tn_key_tree_store *store, const struct model *model,
                                 int32_t key)
{
    assert_int_equal(model->root == NONE, model->count == 0);
    if (model->count == 0) return;
    struct tree tree = { *store, model->root };
    expect_at_least(&tree, key, model_at_least(model, key));
    expect_at_least(&tree, 0, value_of(model->keys[0]));
    assert_int_equal(tn_key_tree_find_first(store, model->root), value_of(model->keys[0]));
}

static void expect_sound_as_model(const struct tn_key_tree_store *store, const struct model *model)
{
    struct tree tree = { *store, model->root };
    if (model->count > 0) expect_sound(&tree, model->count);
}

static uint32_t node_bound(const struct model *models)
{
    size_t bound = 0;
    for (int i = 0; i < TREE_COUNT; i++)
        bound += models[i].count > 0 ? models[i].count / 4 + 1 : 0;
    return (uint32_t)bound;
}

/* Grows the trees for a while, shrinks them for a while, and so on. */
static void compare_random_steps(struct tn_key_tree_store *store, struct model *models,
                                 struct random *random, int step_count)
{
    for (int step = 0; step < step_count; step++) {
        struct model *model = &models[random_below(random, TREE_COUNT)];
        uint64_t insert_percent = step / 4000 % 2 == 0 ? 85 : 20;
        if (random_below(random, 100) < insert_percent) {
            insert_random(store, model, random);
        } else {
            remove_random(store, model, random);
        }
        expect_same_as_model(store, model,
                             (int32_t)random_below(random, (uint64_t)model->key_bound));
        if (model->count < 40 || step % 16 == 0) expect_sound_as_model(store, model);
        assert_in_range(store->used_count, 0, node_bound(models));
    }
}

static void random_trees_are_those_of_sorted_arrays(void **state)
{
    static struct model models[TREE_COUNT];
    struct random random = random_init(random_seed(2));
    struct tree store = no_tree(TREE_COUNT * (KEYS_MAX / 4 + 1));
    for (int i = 0; i < TREE_COUNT; i++) {
        /* From a handful of keys, all of which are there at times, to all that there are. */
        models[i] = (struct model){ .root = NONE, .key_bound = i == 0 ? KEY_MAX : 8 << 2 * i };
    }
    compare_random_steps(&store.store, models, &random, 20000);
    for (int i = 0; i < TREE_COUNT; i++) {
        expect_sound_as_model(&store.store, &models[i]);
        while (models[i].count > 0)
            remove_random(&store.store, &models[i], &random);
    }
    assert_int_equal(store.store.used_count, 0);
    fini(&store);
}

static void one_random_tree_of_thousands_is_a_sorted_array(void **state)
{
    static struct model models[TREE_COUNT];
    struct random random = random_init(random_seed(3));
    struct tree store = no_tree(KEYS_MAX / 4 + 1);
    models[0] = (struct model){ .root = NONE, .key_bound = KEY_MAX };
    for (int step = 0; step < 5000; step++) {
        insert_random(&store.store, &models[0], &random);
        expect_same_as_model(&store.store, &models[0], (int32_t)random_below(&random, KEY_MAX));
        assert_in_range(store.store.used_count, 0, node_bound(models));
        if (step % 16 == 0) expect_sound_as_model(&store.store, &models[0]);
    }
    while (models[0].count > 0) {
        remove_random(&store.store, &models[0], &random);
        expect_same_as_model(&store.store, &models[0], (int32_t)random_below(&random, KEY_MAX));
        assert_in_range(store.store.used_count, 0, node_bound(models));
        if (models[0].count % 16 == 0) expect_sound_as_model(&store.store, &models[0]);
    }
    fini(&store);
}

/* --- the check finds damage --------------------------------------------------------------------- */

/* The node was damaged; the check must see it. Puts it back as it was. */
static void expect_damage_found(struct tree *tree, struct tn_key_tree_node *damaged,
                                struct tn_key_tree_node undamaged)
{
    size_t count = 12345;
    assert_false(tn_key_tree_check(&tree->store, tree->root, &count));
    assert_int_equal(count, 12345);
    *damaged = undamaged;
    assert_true(tn_key_tree_check(&tree->store, tree->root, &count));
}

static void damage_to_a_leaf_is_found(void **state)
{
    struct tree tree = tree_of(40, 10, 10);
    struct tn_key_tree_node *leaf = &tree.store.nodes[tree.store.nodes[tree.root].links[1]];
    struct tn_key_tree_node undamaged = *leaf;
    int32_t bound = tree.store.nodes[tree.root].keys[1];

    leaf->count = 0;
    expect_damage_found(&tree, leaf, undamaged);
    leaf->count = 16;
    expect_damage_found(&tree, leaf, undamaged);
    leaf->count = 4; /* too few */
    for (int i = 4; i < 15; i++)
        leaf->keys[i] = TN_KEY_TREE_KEY_NONE;
    expect_damage_found(&tree, leaf, undamaged);
    leaf->level = 1;
    expect_damage_found(&tree, leaf, undamaged);
    leaf->keys[leaf->count] = bound - 1; /* in an entry that is not in use */
    expect_damage_found(&tree, leaf, undamaged);
    leaf->keys[15] = bound - 1;
    expect_damage_found(&tree, leaf, undamaged);
    leaf->keys[1] = leaf->keys[0]; /* twice */
    expect_damage_found(&tree, leaf, undamaged);
    leaf->keys[2] = leaf->keys[1];
    expect_damage_found(&tree, leaf, undamaged);
    leaf->keys[0] = undamaged.keys[1]; /* the least is not the first */
    leaf->keys[1] = undamaged.keys[0];
    expect_damage_found(&tree, leaf, undamaged);
    leaf->keys[3] = TN_KEY_TREE_KEY_NONE;
    expect_damage_found(&tree, leaf, undamaged);
    leaf->keys[leaf->count - 1] = bound + 1;
    expect_damage_found(&tree, leaf, undamaged);
    leaf->keys[0] = tree.store.nodes[tree.root].keys[0]; /* belongs to the leaf before */
    expect_damage_found(&tree, leaf, undamaged);

    leaf = &tree.store.nodes[tree.store.nodes[tree.root].links[0]];
    undamaged = *leaf;
    leaf->keys[0] = -1;
    expect_damage_found(&tree, leaf, undamaged);
    fini(&tree);
}

static void damage_to_an_inner_node_is_found(void **state)
{
    struct tree tree = tree_of(200, 10, 10);
    struct tn_key_tree_node *root = &tree.store.nodes[tree.root];
    struct tn_key_tree_node undamaged = *root;
    assert_int_equal(root->level, 2);

    root->links[1] = tree.store.fresh; /* a node that has never been used */
    expect_damage_found(&tree, root, undamaged);
    root->links[1] = NONE;
    expect_damage_found(&tree, root, undamaged);
    root->links[1] = root->links[0];
    expect_damage_found(&tree, root, undamaged);
    root->links[1] = tree.store.nodes[root->links[1]].links[0]; /* leaves out a level */
    expect_damage_found(&tree, root, undamaged);
    root->level = 1;
    expect_damage_found(&tree, root, undamaged);
    root->level = 3;
    expect_damage_found(&tree, root, undamaged);
    root->level = UINT16_MAX; /* higher than any tree */
    expect_damage_found(&tree, root, undamaged);
    root->keys[0]--; /* below the greatest key that it is for */
    expect_damage_found(&tree, root, undamaged);
    root->keys[1] += 10; /* not below the least key after it */
    expect_damage_found(&tree, root, undamaged);
    root->keys[1] = root->keys[0];
    expect_damage_found(&tree, root, undamaged);
    root->keys[root->count - 1] = 1000000; /* the last link has no bound */
    expect_damage_found(&tree, root, undamaged);
    root->keys[root->count] = 1000000;
    expect_damage_found(&tree, root, undamaged);
    root->count = 1; /* a root with one link should have been replaced by it */
    for (int i = 0; i < 15; i++)
        root->keys[i] = TN_KEY_TREE_KEY_NONE;
    expect_damage_found(&tree, root, undamaged);
    fini(&tree);
}

static void a_node_that_links_to_itself_is_found(void **state)
{
    struct tree tree = tree_of(200, 10, 10);
    uint32_t inner = tree.store.nodes[tree.root].links[0];
    struct tn_key_tree_node *node = &tree.store.nodes[inner];
    struct tn_key_tree_node undamaged = *node;
    assert_int_equal(node->level, 1);
    node->links[0] = inner;
    expect_damage_found(&tree, node, undamaged);
    fini(&tree);
}

/* The first node that was never used looks like a leaf, but is none. */
static void a_node_that_was_never_used_is_found(void **state)
{
    struct tree tree = tree_of(40, 10, 10);
    struct tn_key_tree_node *root = &tree.store.nodes[tree.root];
    struct tn_key_tree_node undamaged = *root;
    tree.store.nodes[tree.store.fresh] = tree.store.nodes[root->links[0]];
    size_t count;
    assert_false(tn_key_tree_check(&tree.store, tree.store.fresh, &count));
    assert_false(tn_key_tree_check(&tree.store, NONE, &count));
    root->links[0] = tree.store.fresh;
    expect_damage_found(&tree, root, undamaged);
    fini(&tree);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_of_one_key_finds_it),
        cmocka_unit_test(the_outermost_keys_are_keys),
        cmocka_unit_test(keys_are_found_between_their_neighbours),
        cmocka_unit_test(fifteen_keys_are_one_node_and_sixteen_are_three),
        cmocka_unit_test(a_full_leaf_splits_wherever_the_key_belongs),
        cmocka_unit_test(descending_keys_make_a_sound_tree),
        cmocka_unit_test(a_leaf_of_six_gives_one_away),
        cmocka_unit_test(a_leaf_of_five_joins_where_fifteen_are_one_leaf),
        cmocka_unit_test(a_leaf_of_five_takes_from_the_right),
        cmocka_unit_test(a_leaf_of_five_takes_from_the_left),
        cmocka_unit_test(what_comes_after_a_leaf_is_found_in_the_next),
        cmocka_unit_test(removing_the_greatest_key_leaves_none_so_great),
        cmocka_unit_test(removing_the_least_key_leaves_the_next),
        cmocka_unit_test(a_leaf_takes_keys_in_any_order),
        cmocka_unit_test(a_full_leaf_gives_each_key_away),
        cmocka_unit_test(a_tree_can_be_taken_apart_in_any_order),
        cmocka_unit_test(nodes_that_were_given_back_are_taken_again),
        cmocka_unit_test(a_finished_store_can_be_used_again),
        cmocka_unit_test(a_leaf_is_discarded_whatever_it_holds),
        cmocka_unit_test(reserving_keeps_the_trees),
        cmocka_unit_test(reserving_without_host_memory_changes_nothing),
        cmocka_unit_test(nothing_but_reserve_allocates),
        cmocka_unit_test(a_tree_has_at_most_a_quarter_as_many_nodes_as_keys),
        cmocka_unit_test(random_trees_are_those_of_sorted_arrays),
        cmocka_unit_test(one_random_tree_of_thousands_is_a_sorted_array),
        cmocka_unit_test(damage_to_a_leaf_is_found),
        cmocka_unit_test(damage_to_an_inner_node_is_found),
        cmocka_unit_test(a_node_that_was_never_used_is_found),
        cmocka_unit_test(a_node_that_links_to_itself_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
