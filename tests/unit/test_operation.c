/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_operation: what every backend refuses before its vendor is asked, at the edges. */
#include "backend_common/operation.h"

#include "harness/claims.h"

#define UNIT ((size_t)4096)

static const tarn_device_properties properties = {
    .allocation_bytes_max = 10 * UNIT,
    .range_granularity_bytes = UNIT,
};
static const tarn_device_properties without_ranges = { .allocation_bytes_max = 10 * UNIT };

static void *out;
static tarn_mapping mapping_out;

static void an_answer_of_tarn_has_no_vendors_code(void **state)
{
    tarn_backend_result result = tn_backend_result(TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(result.status, TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(result.vendor_code, 0);
    assert_null(result.vendor_name);
}

static void a_piece_has_a_size_and_a_limit(void **state)
{
    assert_int_equal(tn_backend_check_acquire(&properties, 0, &out), TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(tn_backend_check_acquire(&properties, 1, NULL), TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(tn_backend_check_acquire(&properties, 1, &out), TARN_STATUS_OK);
    assert_int_equal(tn_backend_check_acquire(&properties, 10 * UNIT, &out), TARN_STATUS_OK);
    assert_int_equal(tn_backend_check_acquire(&properties, 10 * UNIT + 1, &out),
                     TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(tn_backend_check_acquire(&properties, SIZE_MAX, &out),
                     TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(tn_backend_check_release(&out, 1), TARN_STATUS_OK);
    assert_int_equal(tn_backend_check_release(NULL, 1), TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(tn_backend_check_release(&out, 0), TARN_STATUS_INVALID_ARGUMENT);
}

static void without_ranges_none_of_it_is_supported(void **state)
{
    void *place = (void *)UNIT;
    assert_int_equal(tn_backend_check_range_reserve(&without_ranges, UNIT, &out),
                     TARN_STATUS_NOT_SUPPORTED);
    assert_int_equal(tn_backend_check_range(&without_ranges, place, UNIT),
                     TARN_STATUS_NOT_SUPPORTED);
    assert_int_equal(tn_backend_check_range_map(&without_ranges, place, UNIT, &mapping_out),
                     TARN_STATUS_NOT_SUPPORTED);
}

/* The three checks must agree on sizes. */
static void expect_size(size_t size_bytes, tarn_status status, tarn_status map_status)
{
    void *place = (void *)UNIT;
    assert_int_equal(tn_backend_check_range_reserve(&properties, size_bytes, &out), status);
    assert_int_equal(tn_backend_check_range(&properties, place, size_bytes), status);
    assert_int_equal(tn_backend_check_range_map(&properties, place, size_bytes, &mapping_out),
                     map_status);
}

static void sizes_of_ranges_are_multiples(void **state)
{
    const size_t wrong[] = { 0, 1, UNIT / 2, UNIT - 1, UNIT + 1, 2 * UNIT - 1, SIZE_MAX };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_size(wrong[i], TARN_STATUS_INVALID_ARGUMENT, TARN_STATUS_INVALID_ARGUMENT);
    expect_size(UNIT, TARN_STATUS_OK, TARN_STATUS_OK);
    expect_size(10 * UNIT, TARN_STATUS_OK, TARN_STATUS_OK);
    expect_size(11 * UNIT, TARN_STATUS_OK, TARN_STATUS_OUT_OF_MEMORY);
    expect_size(SIZE_MAX - 3 * UNIT + 1, TARN_STATUS_OK, TARN_STATUS_OUT_OF_MEMORY);
}

static void places_in_ranges_are_multiples(void **state)
{
    const uintptr_t wrong[] = { 0, 1, UNIT - 1, UNIT + 1, UNIT + UNIT / 2, UINTPTR_MAX };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        void *place = (void *)wrong[i];
        assert_int_equal(tn_backend_check_range(&properties, place, UNIT),
                         TARN_STATUS_INVALID_ARGUMENT);
        assert_int_equal(tn_backend_check_range_map(&properties, place, UNIT, &mapping_out),
                         TARN_STATUS_INVALID_ARGUMENT);
    }
}

/* The last granule of all addresses has no end that could be told. */
static void no_range_goes_past_the_last_address(void **state)
{
    void *last = (void *)(UINTPTR_MAX - UNIT + 1);
    void *last_but_one = (void *)(UINTPTR_MAX - 2 * UNIT + 1);
    assert_int_equal(tn_backend_check_range(&properties, last, UNIT), TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(tn_backend_check_range(&properties, last_but_one, UNIT), TARN_STATUS_OK);
    assert_int_equal(tn_backend_check_range(&properties, last_but_one, 2 * UNIT),
                     TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(tn_backend_check_range(&properties, last_but_one, 3 * UNIT),
                     TARN_STATUS_INVALID_ARGUMENT);
}

static void no_place_for_the_answer_is_refused(void **state)
{
    assert_int_equal(tn_backend_check_range_reserve(&properties, UNIT, NULL),
                     TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(tn_backend_check_range_map(&properties, (void *)UNIT, UNIT, NULL),
                     TARN_STATUS_INVALID_ARGUMENT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_of_tarn_has_no_vendors_code),
        cmocka_unit_test(a_piece_has_a_size_and_a_limit),
        cmocka_unit_test(without_ranges_none_of_it_is_supported),
        cmocka_unit_test(sizes_of_ranges_are_multiples),
        cmocka_unit_test(places_in_ranges_are_multiples),
        cmocka_unit_test(no_range_goes_past_the_last_address),
        cmocka_unit_test(no_place_for_the_answer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
