/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_numbers: numbers, sizes and lists from text, at the edges of 64 bits and beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/numbers.h"

static void expect_number(const char *text, enum tn_number_result result, uint64_t number)
{
    uint64_t parsed = 77;
    assert_int_equal(tn_number_parse(text, strlen(text), &parsed), result);
    assert_int_equal(parsed, result == TN_NUMBER_OK ? number : 77);
}

static void expect_size(const char *text, enum tn_number_result result, uint64_t bytes)
{
    uint64_t parsed = 77;
    assert_int_equal(tn_size_parse(text, strlen(text), &parsed), result);
    assert_int_equal(parsed, result == TN_NUMBER_OK ? bytes : 77);
}

static void numbers_are_digits_alone(void **state)
{
    (void)state;
    expect_number("0", TN_NUMBER_OK, 0);
    expect_number("00012", TN_NUMBER_OK, 12);
    expect_number("", TN_NUMBER_MALFORMED, 0);
    expect_number("-1", TN_NUMBER_MALFORMED, 0);
    expect_number("+1", TN_NUMBER_MALFORMED, 0);
    expect_number(" 1", TN_NUMBER_MALFORMED, 0);
    expect_number("1 ", TN_NUMBER_MALFORMED, 0);
    expect_number("0x10", TN_NUMBER_MALFORMED, 0);
    expect_number("1e3", TN_NUMBER_MALFORMED, 0);
    expect_number("/", TN_NUMBER_MALFORMED, 0);
    expect_number(":", TN_NUMBER_MALFORMED, 0);
}

static void numbers_have_64_bits(void **state)
{
    (void)state;
    expect_number("18446744073709551614", TN_NUMBER_OK, UINT64_MAX - 1);
    expect_number("18446744073709551615", TN_NUMBER_OK, UINT64_MAX);
    expect_number("18446744073709551616", TN_NUMBER_OVERFLOW, 0);
    expect_number("18446744073709551620", TN_NUMBER_OVERFLOW, 0);
    expect_number("99999999999999999999999", TN_NUMBER_OVERFLOW, 0);
    expect_number("99999999999999999999999x", TN_NUMBER_MALFORMED, 0);
}

static void sizes_take_suffixes(void **state)
{
    (void)state;
    expect_size("5", TN_NUMBER_OK, 5);
    expect_size("5K", TN_NUMBER_OK, 5 << 10);
    expect_size("5M", TN_NUMBER_OK, 5 << 20);
    expect_size("5G", TN_NUMBER_OK, (uint64_t)5 << 30);
    expect_size("16777215T", TN_NUMBER_OK, (uint64_t)16777215 << 40);
    expect_size("16777216T", TN_NUMBER_OVERFLOW, 0);
    expect_size("K", TN_NUMBER_MALFORMED, 0);
    expect_size("", TN_NUMBER_MALFORMED, 0);
    expect_size("5k", TN_NUMBER_MALFORMED, 0);
    expect_size("5KB", TN_NUMBER_MALFORMED, 0);
    expect_size("5KK", TN_NUMBER_MALFORMED, 0);
}

static void sizes_are_shown_as_they_are_read(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 0,
                                      1,
                                      1023,
                                      1024,
                                      1025,
                                      (1 << 20) - 1,
                                      1 << 20,
                                      3 << 20,
                                      UINT64_MAX,
                                      UINT64_MAX - 1023,
                                      (uint64_t)1 << 63 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        expect_size(tn_size_show(sizes[i]).text, TN_NUMBER_OK, sizes[i]);
    assert_string_equal(tn_size_show(16 << 20).text, "16M");
    assert_string_equal(tn_size_show(1000).text, "1000");
}

static void expect_bad_list(const char *text, const char *part)
{
    struct tn_number_list list = { 1, { 5 } };
    struct tn_reason reason = { "" };
    assert_false(tn_number_list_parse(text, tn_number_parse, 1, 100, &list, &reason));
    assert_non_null(strstr(reason.text, part));
    assert_int_equal(list.count, 1);
}

static void lists_name_the_item_that_is_wrong(void **state)
{
    (void)state;
    struct tn_number_list list;
    struct tn_reason reason;
    assert_true(tn_number_list_parse("1,50,100", tn_number_parse, 1, 100, &list, &reason));
    assert_int_equal(list.count, 3);
    assert_int_equal(list.values[0], 1);
    assert_int_equal(list.values[1], 50);
    assert_int_equal(list.values[2], 100);
    expect_bad_list("", "'' is not a number");
    expect_bad_list("1,", "'' is not a number");
    expect_bad_list(",1", "'' is not a number");
    expect_bad_list("1,,2", "'' is not a number");
    expect_bad_list("1,x2,3", "'x2' is not a number");
    expect_bad_list("0", "0 is not from 1 to 100");
    expect_bad_list("7,101", "101 is not from 1 to 100");
    expect_bad_list("99999999999999999999", "99999999999999999999 is not from 1 to 100");
}

/* "1,1,1" of so many items. */
static bool parse_ones(size_t count, struct tn_number_list *list, struct tn_reason *reason)
{
    char text[2 * (TN_NUMBER_LIST_MAX + 1)];
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = '1';
        text[2 * i + 1] = i + 1 < count ? ',' : '\0';
    }
    return tn_number_list_parse(text, tn_number_parse, 1, 1, list, reason);
}

static void lists_have_an_end(void **state)
{
    (void)state;
    struct tn_number_list list;
    struct tn_reason reason;
    assert_true(parse_ones(TN_NUMBER_LIST_MAX, &list, &reason));
    assert_int_equal(list.count, TN_NUMBER_LIST_MAX);
    assert_false(parse_ones(TN_NUMBER_LIST_MAX + 1, &list, &reason));
    assert_string_equal(reason.text, "the list has more than 64 numbers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_digits_alone),
        cmocka_unit_test(numbers_have_64_bits),
        cmocka_unit_test(sizes_take_suffixes),
        cmocka_unit_test(sizes_are_shown_as_they_are_read),
        cmocka_unit_test(lists_name_the_item_that_is_wrong),
        cmocka_unit_test(lists_have_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
