/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_number_map: compared with a plain array, while it grows and shrinks. */
#include <stdbool.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#include "../../recorders/convert/number_map.h"

#define KEYS 3000

static bool is_there[KEYS];

/* Keys of all magnitudes, zero among them, with many that share their low bits. */
static uint64_t key_of(unsigned index)
{
    return (uint64_t)index << (index % 5 * 12);
}

static void expect_same(const struct tn_number_map *map, unsigned index)
{
    uint64_t value;
    assert_int_equal(tn_number_map_find(map, key_of(index), &value), is_there[index]);
    if (is_there[index]) assert_int_equal(value, index);
}

static void test_random_keys(void **state)
{
    struct tn_number_map map = { 0 };
    struct random random = random_init(random_seed(1));
    uint64_t value;
    size_t count = 0;
    assert_false(tn_number_map_take(&map, 0, &value));
    for (unsigned step = 0; step < 200000; step++) {
        /* Each index has a key of its own. */
        unsigned index = (unsigned)random_below(&random, KEYS / 5) * 5 + step % 5;
        expect_same(&map, index);
        if (is_there[index]) {
            assert_true(tn_number_map_take(&map, key_of(index), &value));
            assert_int_equal(value, index);
            count--;
        } else {
            assert_true(tn_number_map_insert(&map, key_of(index), index));
            count++;
        }
        is_there[index] = !is_there[index];
        assert_int_equal(map.count, count);
    }
    for (unsigned index = 0; index < KEYS; index++)
        expect_same(&map, index);
    tn_number_map_fini(&map);
}

/* What was in it stays so, wherever there is no memory to grow. */
static void test_host_memory_fails(void **state)
{
    for (unsigned n = 1;; n++) {
        struct tn_number_map map = { 0 };
        uint64_t count = 0, value;
        host_memory_faults_begin(n);
        while (count < KEYS && tn_number_map_insert(&map, count << 30, count))
            count++;
        assert_int_equal(map.count, count);
        for (uint64_t i = 0; i < count; i++) {
            assert_true(tn_number_map_find(&map, i << 30, &value));
            assert_int_equal(value, i);
        }
        assert_false(tn_number_map_find(&map, count << 30, &value));
        tn_number_map_fini(&map);
        assert_int_equal(host_memory_faults_outstanding(), 0);
        if (!host_memory_faults_end()) break;
        assert_int_not_equal(count, KEYS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_keys),
        cmocka_unit_test(test_host_memory_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
