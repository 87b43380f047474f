/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_host_memory: the hooks, and the array that grows. Sizes that no machine has are asked of a hook
 * that only writes down what it was asked.
 */
#include "base/host_memory.h"

#include <stdlib.h>
#include <string.h>

#include "harness/claims.h"

/* --- hooks that remember ------------------------------------------------------------------------ */

static size_t alloc_count, free_count;
static size_t held_count;  /* pieces given and not given back */
static size_t asked_bytes; /* by the last alloc */
static void *freed;        /* by the last free */
static size_t
    size_bytes_max; /* of what an alloc gives; above, it writes the size down and refuses */

/* What it gives is full of ones, so that what is zero was made zero. */
static void *recording_alloc(size_t size_bytes)
{
    alloc_count++;
    asked_bytes = size_bytes;
    void *address = size_bytes <= size_bytes_max ? malloc(size_bytes) : NULL;
    held_count += address != NULL;
    if (address) memset(address, 0xff, size_bytes);
    return address;
}

static void recording_free(void *address)
{
    free_count++;
    held_count--;
    freed = address;
    free(address);
}

static int set_hooks(void **state)
{
    static const struct tn_host_memory_hooks hooks = { recording_alloc, recording_free };
    alloc_count = free_count = held_count = asked_bytes = 0;
    freed = NULL;
    size_bytes_max = 1 << 20;
    tn_host_memory_set_hooks(&hooks);
    return 0;
}

/* What was given was given back. */
static int reset_hooks(void **state)
{
    tn_host_memory_set_hooks(NULL);
    assert_int_equal(held_count, 0);
    return 0;
}

static void expect_counts(size_t allocs, size_t frees)
{
    assert_int_equal(alloc_count, allocs);
    assert_int_equal(free_count, frees);
}

static void expect_all_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0) fail_msg("byte %zu is %d, not 0", i, bytes[i]);
    }
}

/* --- alloc and free ----------------------------------------------------------------------------- */

static void alloc_and_free_go_through_the_hooks(void **state)
{
    void *address = tn_host_memory_alloc(100);
    assert_non_null(address);
    assert_int_equal(asked_bytes, 100);
    expect_counts(1, 0);
    tn_host_memory_free(address);
    assert_ptr_equal(freed, address);
    expect_counts(1, 1);
}

static void zeroed_memory_from_a_hook_is_zero(void **state)
{
    unsigned char *bytes = tn_host_memory_alloc_zeroed(1000);
    assert_non_null(bytes);
    assert_int_equal(asked_bytes, 1000);
    expect_all_zero(bytes, 1000);
    tn_host_memory_free(bytes);
    expect_counts(1, 1);
}

static void a_hook_that_refuses_is_believed(void **state)
{
    size_bytes_max = 0;
    assert_null(tn_host_memory_alloc(1));
    assert_null(tn_host_memory_alloc_zeroed(1));
    expect_counts(2, 0);
}

static void freeing_null_asks_nobody(void **state)
{
    tn_host_memory_free(NULL);
    expect_counts(0, 0);
}

static void without_hooks_the_c_library_serves(void **state)
{
    tn_host_memory_set_hooks(NULL);
    void *address = tn_host_memory_alloc(100);
    unsigned char *zeroed = tn_host_memory_alloc_zeroed(100000);
    assert_non_null(address);
    assert_non_null(zeroed);
    expect_all_zero(zeroed, 100000);
    tn_host_memory_free(address);
    tn_host_memory_free(zeroed);
    tn_host_memory_free(NULL);
    expect_counts(0, 0);
}

/* --- the array that grows ----------------------------------------------------------------------- */

struct array {
    void *items;
    uint32_t capacity;
};

static bool grow(struct array *array, uint32_t used_count, uint32_t needed, size_t item_bytes)
{
    return tn_host_memory_grow_array(&array->items, &array->capacity, used_count, needed,
                                     item_bytes);
}

/* An array with room for so many items, none of which is in memory: nothing may be moved. */
static struct array fake_array(uint32_t capacity)
{
    return (struct array){ NULL, capacity };
}

static void an_array_with_room_stays(void **state)
{
    struct array array = fake_array(100);
    assert_true(grow(&array, 0, 0, 8));
    assert_true(grow(&array, 0, 99, 8));
    assert_true(grow(&array, 0, 100, 8));
    assert_int_equal(array.capacity, 100);
    expect_counts(0, 0);
    struct array none = fake_array(0);
    assert_true(grow(&none, 0, 0, 8));
    assert_null(none.items);
}

/* An array of from_capacity that needs `needed` gets room for `expected`. */
static void expect_capacity(uint32_t from_capacity, uint32_t needed, uint32_t expected)
{
    struct array array = fake_array(from_capacity);
    assert_true(grow(&array, 0, needed, 8));
    if (array.capacity != expected)
        fail_msg("from %u for %u: %u, not %u", from_capacity, needed, array.capacity, expected);
    assert_int_equal(asked_bytes, (size_t)expected * 8);
    tn_host_memory_free(array.items);
}

static void an_array_grows_by_an_eighth_or_to_the_need(void **state)
{
    expect_capacity(0, 1, 16);
    expect_capacity(0, 15, 16);
    expect_capacity(0, 16, 16);
    expect_capacity(0, 17, 17);
    expect_capacity(15, 16, 16);
    expect_capacity(16, 17, 18);
    expect_capacity(80, 81, 90);
    expect_capacity(80, 89, 90);
    expect_capacity(80, 90, 90);
    expect_capacity(80, 91, 91);
    expect_capacity(87, 88, 97);
    expect_capacity(88, 89, 99);
}

static void the_items_in_use_move_along(void **state)
{
    struct array array = fake_array(0);
    assert_true(grow(&array, 0, 16, sizeof(int)));
    int *items = array.items;
    for (int i = 0; i < 16; i++)
        items[i] = i * i;
    assert_true(grow(&array, 10, 17, sizeof(int)));
    assert_ptr_equal(freed, items);
    items = array.items;
    for (int i = 0; i < 10; i++)
        assert_int_equal(items[i], i * i);
    assert_int_equal(items[10], -1); /* as the hook gave it */
    tn_host_memory_free(array.items);
    expect_counts(2, 2);
}

/* Asks for so much, is refused it, and keeps what it has. */
static void expect_refused(uint32_t from_capacity, uint32_t needed, size_t item_bytes)
{
    int item;
    struct array array = { &item, from_capacity };
    assert_false(grow(&array, 1, needed, item_bytes));
    assert_ptr_equal(array.items, &item);
    assert_int_equal(array.capacity, from_capacity);
    assert_int_equal(free_count, 0);
}

static void an_array_without_memory_stays_as_it_is(void **state)
{
    size_bytes_max = 0;
    expect_refused(16, 17, 4);
    assert_int_equal(asked_bytes, 18 * 4);
    expect_counts(1, 0);
}

static void an_array_of_more_bytes_than_there_are_is_refused(void **state)
{
    expect_refused(1, 2, SIZE_MAX);
    expect_refused(1, 2, SIZE_MAX / 16 + 1);
    expect_refused(UINT32_MAX - 1, UINT32_MAX, SIZE_MAX / UINT32_MAX + 1);
    expect_counts(0, 0);
}

/* From 3817748707 on, an eighth more is UINT32_MAX and then beyond it. */
static void the_eighth_ends_where_the_count_would_overflow(void **state)
{
    const uint32_t last = 3817748707;
    expect_refused(last - 1, last, 1);
    assert_int_equal(asked_bytes, UINT32_MAX - 1);
    expect_refused(last, last + 1, 1);
    assert_int_equal(asked_bytes, UINT32_MAX);
    expect_refused(last + 1, last + 2, 1);
    assert_int_equal(asked_bytes, last + 2);
    expect_refused(UINT32_MAX - 2, UINT32_MAX - 1, 1);
    assert_int_equal(asked_bytes, UINT32_MAX - 1);
    expect_refused(UINT32_MAX - 1, UINT32_MAX, 1);
    assert_int_equal(asked_bytes, UINT32_MAX);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_hooks, reset_hooks)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(alloc_and_free_go_through_the_hooks),
        TEST(zeroed_memory_from_a_hook_is_zero),
        TEST(a_hook_that_refuses_is_believed),
        TEST(freeing_null_asks_nobody),
        TEST(without_hooks_the_c_library_serves),
        TEST(an_array_with_room_stays),
        TEST(an_array_grows_by_an_eighth_or_to_the_need),
        TEST(the_items_in_use_move_along),
        TEST(an_array_without_memory_stays_as_it_is),
        TEST(an_array_of_more_bytes_than_there_are_is_refused),
        TEST(the_eighth_ends_where_the_count_would_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
