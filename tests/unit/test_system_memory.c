/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_system_memory: what any machine that runs this has. */
#include "backend_common/system_memory.h"

#include "harness/claims.h"

static void a_page_is_a_power_of_two(void **state)
{
    size_t page_bytes = tn_system_page_bytes();
    assert_true(page_bytes >= 4096);
    assert_int_equal(page_bytes & (page_bytes - 1), 0);
}

static void no_more_is_left_than_there_is(void **state)
{
    tarn_memory_info info = tn_system_memory_info();
    assert_true(info.total_bytes >= (size_t)1 << 20);
    assert_true(info.total_bytes < SIZE_MAX);
    assert_true(info.free_bytes <= info.total_bytes);
    assert_int_equal(info.total_bytes % tn_system_page_bytes(), 0);
    assert_int_equal(tn_system_memory_info().total_bytes, info.total_bytes);
}

/* This program takes some of it, to begin with. */
static void what_is_left_is_less(void **state)
{
    tarn_memory_info info = tn_system_memory_info();
    assert_true(info.free_bytes > 0);
    assert_true(info.free_bytes < info.total_bytes);
}

static void a_device_adds_its_own(void **state)
{
    tarn_memory_info system = tn_system_memory_info();
    tarn_memory_info both = tn_system_memory_with_device((tarn_memory_info){ 5000, 3000 });
    assert_int_equal(both.total_bytes, system.total_bytes + 5000);
    assert_true(both.free_bytes >= 3000);
    assert_true(both.free_bytes < both.total_bytes);
    both = tn_system_memory_with_device((tarn_memory_info){ SIZE_MAX, SIZE_MAX });
    assert_int_equal(both.total_bytes, SIZE_MAX);
    assert_int_equal(both.free_bytes, SIZE_MAX);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_a_power_of_two),
        cmocka_unit_test(no_more_is_left_than_there_is),
        cmocka_unit_test(what_is_left_is_less),
        cmocka_unit_test(a_device_adds_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
