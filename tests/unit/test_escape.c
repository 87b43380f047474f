/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_escape: which characters are printable, and how others are written. */
#include "base/text/escape.h"

#include <string.h>

#include "harness/claims.h"

static void expect_escaped(const char *text, const char *expected)
{
    char escaped[200];
    tn_escape_text(escaped, sizeof escaped, text);
    assert_string_equal(escaped, expected);
}

static void printable_text_stays(void **state)
{
    expect_escaped("", "");
    expect_escaped("a path/with \\ and \"~\"", "a path/with \\ and \"~\"");
    /* The least and the greatest character of each length, and those beside the surrogates. */
    static const char *const characters[] = {
        " ",
        "~",
        "\xc2\xa0",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
    };
    for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++) {
        assert_int_equal(tn_escape_printable_bytes(characters[i]), strlen(characters[i]));
        expect_escaped(characters[i], characters[i]);
    }
}

static void control_characters_are_escaped(void **state)
{
    assert_int_equal(tn_escape_printable_bytes(""), 0);
    expect_escaped("\x1b[2Jred\r\n\t\x7f", "\\x1b[2Jred\\x0d\\x0a\\x09\\x7f");
    expect_escaped("\xc2\x9b"
                   "31m",
                   "\\xc2\\x9b31m"); /* the control characters above ASCII */
    expect_escaped("\xc2\x80\xc2\x9f", "\\xc2\\x80\\xc2\\x9f");
}

static void bytes_that_are_not_utf_8_are_escaped(void **state)
{
    expect_escaped("caf\xe9!", "caf\\xe9!");
    expect_escaped("\x80\xbf", "\\x80\\xbf"); /* nothing begins so */
    expect_escaped("\xc3", "\\xc3");          /* it ends too soon */
    expect_escaped("\xe2\x82", "\\xe2\\x82");
    expect_escaped("\xf0\x9f\x98"
                   "x",
                   "\\xf0\\x9f\\x98x");
    expect_escaped("\xc0\xaf", "\\xc0\\xaf"); /* too many bytes for it */
    expect_escaped("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");
    expect_escaped("\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf");
    expect_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* half of a pair */
    expect_escaped("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond the last */
    expect_escaped("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80");
    expect_escaped("\xff", "\\xff");
}

static void a_copy_ends_before_what_has_no_room(void **state)
{
    char escaped[6];
    tn_escape_text(escaped, 1, "x");
    assert_string_equal(escaped, "");
    tn_escape_text(escaped, 5, "\n");
    assert_string_equal(escaped, "\\x0a");
    tn_escape_text(escaped, 4, "\n");
    assert_string_equal(escaped, "");
    tn_escape_text(escaped, 3, "a\xc3\xa9");
    assert_string_equal(escaped, "a");
    tn_escape_text(escaped, 6, "abcdefg");
    assert_string_equal(escaped, "abcde");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(printable_text_stays),
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(bytes_that_are_not_utf_8_are_escaped),
        cmocka_unit_test(a_copy_ends_before_what_has_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
