/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_dependency: uniting, and the set of each dependency. */
#include "core/index/dependency.h"

#include "harness/claims.h"

static void expect_dependency(struct tn_dependency found, uint32_t streams, uint32_t time)
{
    assert_int_equal(found.streams, streams);
    assert_int_equal(found.time, time);
}

static void uniting_takes_all_streams_and_the_later_time(void **state)
{
    const struct tn_dependency a5 = { 1, 5 }, b6 = { 2, 6 }, top = { (uint32_t)1 << 29, 0 };
    expect_dependency(tn_dependency_unite(a5, b6), 3, 6);
    expect_dependency(tn_dependency_unite(b6, a5), 3, 6);
    expect_dependency(tn_dependency_unite(a5, a5), 1, 5);
    expect_dependency(tn_dependency_unite(a5, TN_DEPENDENCY_NONE), 1, 5);
    expect_dependency(tn_dependency_unite(TN_DEPENDENCY_NONE, a5), 1, 5);
    expect_dependency(tn_dependency_unite(a5, top), (uint32_t)1 << 29 | 1, 5);
    expect_dependency(tn_dependency_unite(TN_DEPENDENCY_NONE, TN_DEPENDENCY_NONE), 0, 0);
}

static void each_stream_has_a_set_and_several_share_one(void **state)
{
    uint64_t seen = (uint64_t)1 << TN_FREE_SET_IDLE_NEWER;
    assert_int_equal(tn_free_set_of(0), TN_FREE_SET_IDLE);
    for (unsigned stream = 0; stream < TN_STREAM_COUNT_MAX; stream++) {
        unsigned set = tn_free_set_of((uint32_t)1 << stream);
        assert_int_equal(set, tn_free_set_of_stream(stream));
        assert_int_not_equal(set, TN_FREE_SET_IDLE);
        assert_int_not_equal(set, TN_FREE_SET_SHARED);
        assert_in_range(set, 0, TN_FREE_SET_COUNT - 1);
        assert_int_equal(seen >> set & 1, 0);
        seen |= (uint64_t)1 << set;
        if (stream > 0)
            assert_int_equal(tn_free_set_of((uint32_t)1 << stream | 1), TN_FREE_SET_SHARED);
    }
    assert_int_equal(tn_free_set_of(((uint32_t)1 << TN_STREAM_COUNT_MAX) - 1), TN_FREE_SET_SHARED);
    seen |= (uint64_t)1 << TN_FREE_SET_IDLE | (uint64_t)1 << TN_FREE_SET_SHARED;
    assert_int_equal(seen, ((uint64_t)1 << TN_FREE_SET_COUNT) - 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniting_takes_all_streams_and_the_later_time),
        cmocka_unit_test(each_stream_has_a_set_and_several_share_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
