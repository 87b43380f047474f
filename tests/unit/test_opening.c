/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_opening: what opening a backend refuses, and in which words. */
#include "backend_common/opening.h"

#include "harness/claims.h"

static void expect_last_error(tarn_status status, const char *message)
{
    assert_int_equal(tarn_last_error().status, status);
    assert_string_equal(tarn_last_error().message, message);
}

static void every_kind_is_a_kind(void **state)
{
    tarn_backend backend;
    for (int kind = TARN_MEMORY_KIND_DEVICE; kind <= TARN_MEMORY_KIND_HOST; kind++) {
        assert_int_equal(tn_backend_check_open("f", (tarn_memory_kind)kind, &backend),
                         TARN_STATUS_OK);
    }
}

static void other_numbers_are_no_kind(void **state)
{
    tarn_backend backend;
    const int numbers[] = { -1, TARN_MEMORY_KIND_HOST + 1, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_int_equal(tn_backend_check_open("f", (tarn_memory_kind)numbers[i], &backend),
                         TARN_STATUS_INVALID_ARGUMENT);
    }
    tn_backend_check_open("tarn_x_open", (tarn_memory_kind)4, &backend);
    expect_last_error(TARN_STATUS_INVALID_ARGUMENT,
                      "tarn_x_open: 4 is no kind of memory: see tarn_memory_kind");
}

static void no_place_for_the_backend_is_refused(void **state)
{
    assert_int_equal(tn_backend_check_open("tarn_x_open", TARN_MEMORY_KIND_DEVICE, NULL),
                     TARN_STATUS_INVALID_ARGUMENT);
    expect_last_error(TARN_STATUS_INVALID_ARGUMENT, "tarn_x_open: backend_out is NULL");
}

static void devices_are_numbered_from_zero(void **state)
{
    assert_int_equal(tn_backend_check_number("X", 0, 1), TARN_STATUS_OK);
    assert_int_equal(tn_backend_check_number("X", 2, 3), TARN_STATUS_OK);
    const int numbers[] = { -1, 3, 4, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_int_equal(tn_backend_check_number("X", numbers[i], 3), TARN_STATUS_INVALID_DEVICE);
    assert_int_equal(tn_backend_check_number("X", 0, 0), TARN_STATUS_INVALID_DEVICE);
    tn_backend_check_number("X", 7, 3);
    expect_last_error(TARN_STATUS_INVALID_DEVICE,
                      "there is no X device 7; the number of devices is 3");
}

static void a_kind_is_called_by_its_name(void **state)
{
    const char *const messages[] = {
        "X device 1 has no device memory",
        "X device 1 has no pinned memory",
        "X device 1 has no shared memory",
        "X device 1 has no plain host memory",
    };
    for (int kind = 0; kind < 4; kind++) {
        assert_int_equal(tn_backend_fail_kind("X", 1, (tarn_memory_kind)kind),
                         TARN_STATUS_NOT_SUPPORTED);
        expect_last_error(TARN_STATUS_NOT_SUPPORTED, messages[kind]);
    }
}

static void no_host_memory_is_told_with_its_size(void **state)
{
    assert_int_equal(tn_backend_fail_host_memory("X", 320), TARN_STATUS_OUT_OF_HOST_MEMORY);
    expect_last_error(TARN_STATUS_OUT_OF_HOST_MEMORY,
                      "no host memory for the 320 bytes that describe an open X backend");
}

static void a_vendors_failure_keeps_its_code_and_name(void **state)
{
    tarn_backend_result result = { TARN_STATUS_NO_DEVICE, 35, "xErrorOldDriver" };
    assert_int_equal(tn_backend_fail_open("X", 2, result, "the driver is too old"),
                     TARN_STATUS_NO_DEVICE);
    expect_last_error(TARN_STATUS_NO_DEVICE,
                      "cannot open X device 2: there is no device, or no driver for one "
                      "(X: the driver is too old)");
    assert_int_equal(tarn_last_error().vendor_code, 35);
    assert_string_equal(tarn_last_error().vendor_name, "xErrorOldDriver");
}

static void a_vendor_without_sentences_has_names(void **state)
{
    tarn_backend_result result = { TARN_STATUS_VENDOR_ERROR, 7, "xError" };
    tn_backend_fail_open("X", 0, result, NULL);
    expect_last_error(TARN_STATUS_VENDOR_ERROR,
                      "cannot open X device 0: a call of the vendor's runtime failed (X: xError)");
    result.vendor_name = NULL;
    tn_backend_fail_open("X", 0, result, NULL);
    expect_last_error(TARN_STATUS_VENDOR_ERROR,
                      "cannot open X device 0: a call of the vendor's runtime failed (X: no name)");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_a_kind),
        cmocka_unit_test(other_numbers_are_no_kind),
        cmocka_unit_test(no_place_for_the_backend_is_refused),
        cmocka_unit_test(devices_are_numbered_from_zero),
        cmocka_unit_test(a_kind_is_called_by_its_name),
        cmocka_unit_test(no_host_memory_is_told_with_its_size),
        cmocka_unit_test(a_vendors_failure_keeps_its_code_and_name),
        cmocka_unit_test(a_vendor_without_sentences_has_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
