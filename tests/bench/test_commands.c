/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_commands: the workloads that commands make, where options or machines are at their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/commands.h"

/* The sizes of a sweep on a machine with so much room, in their order. */
static void expect_sweep(uint64_t room_bytes, const uint64_t *sizes, size_t count)
{
    const struct tn_options options = { .seed = 1 };
    const struct tn_machine machine = { .device_free_bytes = (size_t)room_bytes };
    struct tn_workload_list list = { NULL, 0 };
    struct tn_reason reason;
    assert_true(tn_sweep_make_workloads(&options, &machine, &list, &reason));
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(list.items[i].body.items[0].size_bytes, sizes[i]);
    tn_workload_list_fini(&list);
}

#define EXPECT_SWEEP(room, ...)                           \
    expect_sweep(room, (const uint64_t[]){ __VA_ARGS__ }, \
                 sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void a_sweep_ends_with_the_largest_power_of_two(void **state)
{
    (void)state;
    EXPECT_SWEEP(0, 1);
    EXPECT_SWEEP(1, 1);
    EXPECT_SWEEP(2, 1, 2);
    EXPECT_SWEEP(15, 1, 8);
    EXPECT_SWEEP(16, 1, 16);
    EXPECT_SWEEP(31, 1, 16);
    EXPECT_SWEEP(32, 1, 16, 32);
    EXPECT_SWEEP(UINT64_MAX, 1, 0x10, 0x100, 0x1000, 0x10000, 0x100000, 0x1000000, 0x10000000,
                 0x100000000, 0x1000000000, 0x10000000000, 0x100000000000, 0x1000000000000,
                 0x10000000000000, 0x100000000000000, 0x1000000000000000, 0x8000000000000000);
}

static bool make_growth(uint64_t live_bytes, struct tn_workload_list *list,
                        struct tn_reason *reason)
{
    const struct tn_options options = { .seed = 1,
                                        .growth_sizes = { 1, { live_bytes } },
                                        .size_range = { 2, { 1, 1 } } };
    const struct tn_machine machine = { .is_host = true };
    *list = (struct tn_workload_list){ NULL, 0 };
    return tn_growth_make_workloads(&options, &machine, list, reason);
}

static void growth_has_not_endlessly_many_blocks(void **state)
{
    (void)state;
    struct tn_workload_list list;
    struct tn_reason reason = { "" };
    assert_true(make_growth(TN_LIVE_COUNT_MAX, &list, &reason));
    assert_int_equal(list.items[0].slot_count, TN_LIVE_COUNT_MAX);
    assert_int_equal(list.items[0].body.count, 2 * TN_LIVE_COUNT_MAX);
    tn_workload_list_fini(&list);
    assert_false(make_growth(TN_LIVE_COUNT_MAX + 1, &list, &reason));
    assert_string_equal(reason.text, "growth to 10000001 of 1 to 1 has more than 10000000 blocks");
    tn_workload_list_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_ends_with_the_largest_power_of_two),
        cmocka_unit_test(growth_has_not_endlessly_many_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
