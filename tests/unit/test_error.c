/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_error: the names and sentences of all statuses, and the last error of each thread. */
#include "base/error.h"

#include <pthread.h>
#include <string.h>

#include "harness/claims.h"

static const struct status_line {
    tarn_status status;
    const char *name;
} status_lines[] = {
#define STATUS_LINE(name, number, sentence) { TARN_STATUS_##name, "TARN_STATUS_" #name },
    TARN_STATUS_TABLE(STATUS_LINE)
#undef STATUS_LINE
};

enum {
    STATUS_COUNT = sizeof status_lines / sizeof status_lines[0]
};

static void expect_last_error(tarn_status status, int vendor_code, const char *vendor_name,
                              const char *message)
{
    tarn_error error = tarn_last_error();
    assert_int_equal(error.status, status);
    assert_int_equal(error.vendor_code, vendor_code);
    assert_string_equal(error.vendor_name, vendor_name);
    assert_string_equal(error.message, message);
}

/* --- names and sentences ------------------------------------------------------------------------ */

static void statuses_are_numbered_from_zero_without_gaps(void **state)
{
    assert_int_equal(TARN_STATUS_OK, 0);
    for (int i = 0; i < STATUS_COUNT; i++)
        assert_int_equal(status_lines[i].status, i);
}

static void each_status_has_its_enumerator_as_name(void **state)
{
    for (int i = 0; i < STATUS_COUNT; i++)
        assert_string_equal(tarn_status_name(status_lines[i].status), status_lines[i].name);
    assert_string_equal(tarn_status_name(TARN_STATUS_OUT_OF_MEMORY), "TARN_STATUS_OUT_OF_MEMORY");
}

static void each_status_has_a_sentence_of_its_own(void **state)
{
    for (int i = 0; i < STATUS_COUNT; i++) {
        const char *sentence = tarn_status_sentence((tarn_status)i);
        assert_true(strlen(sentence) > 0);
        assert_true(sentence[strlen(sentence) - 1] != '.');
        for (int j = 0; j < i; j++)
            assert_string_not_equal(sentence, tarn_status_sentence((tarn_status)j));
    }
}

static void a_number_that_is_no_status_is_said_to_be_none(void **state)
{
    assert_string_equal(tarn_status_name((tarn_status)STATUS_COUNT), "TARN_STATUS_UNKNOWN");
    assert_string_equal(tarn_status_sentence((tarn_status)STATUS_COUNT),
                        "this number is not a tarn_status");
}

/* --- the last error ----------------------------------------------------------------------------- */

static void *look_at_last_error(void *argument)
{
    *(tarn_error *)argument = tarn_last_error();
    return NULL;
}

static void a_thread_in_which_nothing_failed_has_an_empty_error(void **state)
{
    tn_fail(TARN_STATUS_CORRUPT, "here, not there");
    pthread_t thread;
    tarn_error error = { TARN_STATUS_CORRUPT, 1, NULL, NULL };
    assert_int_equal(pthread_create(&thread, NULL, look_at_last_error, &error), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(error.status, TARN_STATUS_OK);
    assert_int_equal(error.vendor_code, 0);
    assert_string_equal(error.vendor_name, "");
    assert_string_equal(error.message, "");
}

static void *fail_elsewhere(void *argument)
{
    tn_fail_vendor(TARN_STATUS_OUT_OF_MEMORY, 2, "vendorOutOfMemory", "there");
    *(tarn_error *)argument = tarn_last_error();
    return NULL;
}

static void a_failure_in_another_thread_leaves_this_one_alone(void **state)
{
    tn_fail(TARN_STATUS_NOT_LIVE, "here");
    pthread_t thread;
    tarn_error error;
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &error), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(error.status, TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(error.vendor_code, 2);
    expect_last_error(TARN_STATUS_NOT_LIVE, 0, "", "here");
}

static void failing_answers_the_status_and_remembers_the_values(void **state)
{
    assert_int_equal(tn_fail(TARN_STATUS_OVER_LIMIT, "%zu of %s", SIZE_MAX, "all"),
                     TARN_STATUS_OVER_LIMIT);
    expect_last_error(TARN_STATUS_OVER_LIMIT, 0, "", "18446744073709551615 of all");
}

static void a_vendors_failure_keeps_its_code_and_name(void **state)
{
    assert_int_equal(tn_fail_vendor(TARN_STATUS_VENDOR_ERROR, -7, "vendorError", "call %d", 3),
                     TARN_STATUS_VENDOR_ERROR);
    expect_last_error(TARN_STATUS_VENDOR_ERROR, -7, "vendorError", "call 3");
    tn_fail_vendor(TARN_STATUS_NO_DEVICE, 100, NULL, "no name");
    expect_last_error(TARN_STATUS_NO_DEVICE, 100, "", "no name");
    tn_fail(TARN_STATUS_INVALID_POOL, "ours again");
    expect_last_error(TARN_STATUS_INVALID_POOL, 0, "", "ours again");
}

/* A message of `length` letters is kept up to `kept` of them. */
static void expect_kept(size_t length, size_t kept)
{
    char text[400];
    memset(text, 'x', length);
    text[length] = '\0';
    tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%s", text);
    text[kept] = '\0';
    assert_string_equal(tarn_last_error().message, text);
}

static void a_message_is_cut_after_383_letters(void **state)
{
    expect_kept(0, 0);
    expect_kept(382, 382);
    expect_kept(383, 383);
    expect_kept(384, 383);
    expect_kept(399, 383);
}

/* A path may have any bytes, and a terminal must not obey them. */
static void what_is_not_printable_is_escaped(void **state)
{
    tn_fail(TARN_STATUS_FILE_ERROR, "%s cannot be read", "a\x1b[2J\nb\xff\xc3\xa9");
    assert_string_equal(tarn_last_error().message, "a\\x1b[2J\\x0ab\\xff\xc3\xa9 cannot be read");
    struct tn_saved_error saved = tn_error_save();
    tn_fail(TARN_STATUS_FILE_ERROR, "again: %s", saved.message);
    assert_string_equal(tarn_last_error().message,
                        "again: a\\x1b[2J\\x0ab\\xff\xc3\xa9 cannot be read");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_are_numbered_from_zero_without_gaps),
        cmocka_unit_test(each_status_has_its_enumerator_as_name),
        cmocka_unit_test(each_status_has_a_sentence_of_its_own),
        cmocka_unit_test(a_number_that_is_no_status_is_said_to_be_none),
        cmocka_unit_test(a_thread_in_which_nothing_failed_has_an_empty_error),
        cmocka_unit_test(a_failure_in_another_thread_leaves_this_one_alone),
        cmocka_unit_test(failing_answers_the_status_and_remembers_the_values),
        cmocka_unit_test(a_vendors_failure_keeps_its_code_and_name),
        cmocka_unit_test(a_message_is_cut_after_383_letters),
        cmocka_unit_test(what_is_not_printable_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
