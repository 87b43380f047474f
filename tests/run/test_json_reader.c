/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_json_reader: values as they are written, and texts that are damaged anywhere. */
#include <stdlib.h>
#include <string.h>

#include "harness/claims.h"

#include "../../recorders/launch.h"
#include "../../run/json_reader.h"

const char tn_launch_name[] = "test_json_reader";
const char tn_launch_usage[] = "";

static void expect_text(const char *json_text, const char *expected)
{
    struct tn_json json = tn_json_of(json_text);
    char *text = tn_json_read_text(&json);
    if (!tn_json_is_whole(&json) || strcmp(text, expected) != 0)
        fail_msg("%s is read as \"%s\", not \"%s\"", json_text, text, expected);
    free(text);
}

static void test_texts(void **state)
{
    expect_text("\"\"", "");
    expect_text(" \"cuMemAlloc_v2\" \n", "cuMemAlloc_v2");
    expect_text("\"  a b  \"", "  a b  ");
    expect_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    expect_text("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    expect_text("\"\xc3\xa9\"", "\xc3\xa9");
}

static void test_numbers(void **state)
{
    struct tn_json json = tn_json_of("[0, 7,18446744073709551615 ]");
    tn_json_enter(&json, '[');
    static const uint64_t expected[] = { 0, 7, UINT64_MAX };
    for (size_t i = 0; i < 3; i++) {
        assert_true(tn_json_next(&json, ']'));
        assert_int_equal(tn_json_read_number(&json), expected[i]);
    }
    assert_false(tn_json_next(&json, ']'));
    assert_true(tn_json_is_whole(&json));
}

/* Reads {"a": N, ...}, and skips what has another key. */
static bool read_object(const char *text, uint64_t *a_out)
{
    struct tn_json json = tn_json_of(text);
    tn_json_enter(&json, '{');
    while (tn_json_next(&json, '}')) {
        char *key = tn_json_read_key(&json);
        if (strcmp(key, "a") == 0)
            *a_out = tn_json_read_number(&json);
        else
            tn_json_skip(&json);
        free(key);
    }
    return tn_json_is_whole(&json);
}

static const char object[] =
    "{ \"x\": {\"y\": [1, -2.5e3, [], {}, true, null, \"}\\\"]\"], \"z\": {\"a\": 1}}, \"a\": 12, "
    "\"last\": [[]] }";

static void test_what_is_not_known_is_skipped(void **state)
{
    uint64_t a = 0;
    assert_true(read_object(object, &a));
    assert_int_equal(a, 12);
    assert_true(read_object("{}", &a));
}

static void test_every_beginning_is_damaged(void **state)
{
    uint64_t a;
    for (size_t length = 0; length < sizeof object - 1; length++) {
        char *text = strndup(object, length);
        if (read_object(text, &a)) fail_msg("this is taken for whole: %s", text);
        free(text);
    }
}

/* No byte that is changed makes the reader leave the text; the sanitizer sees it. */
static void test_every_byte_may_change(void **state)
{
    static const char bytes[] = "\"\\{}[],:u0\x01\xff";
    char *text = strdup(object);
    uint64_t a;
    for (size_t i = 0; i < sizeof object - 1; i++) {
        for (size_t j = 0; j < sizeof bytes; j++) {
            text[i] = bytes[j];
            (void)read_object(text, &a);
        }
        text[i] = object[i];
    }
    free(text);
}

static void test_damage(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"a\" 1}",
        "{\"a\": 1,}",
        "{\"a\": 1 \"b\": 2}",
        "{, }",
        "{\"a\": -1}",
        "{\"a\": 1.5}",
        "{\"a\": 1e3}",
        "{\"a\": 18446744073709551616}",
        "{a: 1}",
        "{} x",
        "{\"a\": \"1\"}",
        "{\"b\": ]}",
        "{\"\\x\": 1}",
        "{\"\\u12g4\": 1}",
        "{\"\\u0000\": 1}",
        "{\"\\ud800\": 1}",
        "{\"\\ud800\\u0041\": 1}",
        "{\"b\": }",
    };
    uint64_t a;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (read_object(texts[i], &a)) fail_msg("this is taken for whole: %s", texts[i]);
    }
}

static void test_depth_has_a_bound(void **state)
{
    enum {
        DEPTH = 100000
    };
    char *text = malloc(DEPTH + 1);
    memset(text, '[', DEPTH);
    text[DEPTH] = '\0';
    struct tn_json json = tn_json_of(text);
    tn_json_skip(&json);
    assert_false(tn_json_is_whole(&json));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_what_is_not_known_is_skipped),
        cmocka_unit_test(test_every_beginning_is_damaged),
        cmocka_unit_test(test_every_byte_may_change),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_depth_has_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
