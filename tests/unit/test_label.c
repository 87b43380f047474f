/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_label: numbers of texts, and the stack of a thread. Numbers are the process's, so each test has texts of its
 * own, and the last one uses up all that are left.
 */
#include "core/parts/label.h"

#include <pthread.h>
#include <stdio.h>

#include "harness/claims.h"

static uint32_t number_of(const char *label)
{
    tarn_label_push(label);
    uint32_t number = tn_label_current();
    assert_string_equal(tn_label_current_text(), label);
    tarn_label_pop();
    return number;
}

static void a_text_has_one_number(void **state)
{
    char copy[] = "mesh";
    uint32_t mesh = number_of("mesh"), solver = number_of("solver");
    assert_int_not_equal(mesh, TN_LABEL_NONE);
    assert_int_not_equal(mesh, TN_LABEL_OTHER);
    assert_int_not_equal(solver, mesh);
    assert_int_equal(number_of(copy), mesh);
    assert_string_equal(tn_label_text(mesh), "mesh");
    assert_string_equal(tn_label_text(solver), "solver");
}

/* Each is the beginning of the next, and all bytes count. */
static void texts_of_any_length_are_told_apart(void **state)
{
    char text[TN_LABEL_BYTES], other[TN_LABEL_BYTES];
    uint32_t numbers[TN_LABEL_BYTES];
    for (size_t length = 1; length < TN_LABEL_BYTES; length++) {
        memset(text, '\xff', length);
        text[length] = '\0';
        numbers[length] = number_of(text);
        for (size_t i = 1; i < length; i++)
            assert_int_not_equal(numbers[i], numbers[length]);
        memcpy(other, text, sizeof other);
        other[length - 1] = 'x';
        assert_int_not_equal(number_of(other), numbers[length]);
    }
}

static void a_long_text_is_cut(void **state)
{
    char text[100];
    memset(text, 'c', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tarn_label_push(text);
    uint32_t number = tn_label_current();
    assert_int_equal(strlen(tn_label_current_text()), TARN_LABEL_BYTES_MAX);
    tarn_label_pop();
    text[TARN_LABEL_BYTES_MAX] = '\0';
    assert_int_equal(number_of(text), number);
}

static void labels_nest(void **state)
{
    assert_int_equal(tn_label_current(), TN_LABEL_NONE);
    assert_string_equal(tn_label_current_text(), "");
    tarn_label_pop(); /* none is there */
    tarn_label_push("outer");
    uint32_t outer = tn_label_current();
    tarn_label_push(NULL);
    assert_int_equal(tn_label_current(), TN_LABEL_NONE);
    tarn_label_push("inner");
    assert_string_equal(tn_label_current_text(), "inner");
    tarn_label_pop();
    assert_int_equal(tn_label_current(), TN_LABEL_NONE);
    tarn_label_push("");
    assert_int_equal(tn_label_current(), TN_LABEL_NONE);
    tarn_label_pop();
    tarn_label_pop();
    assert_int_equal(tn_label_current(), outer);
    tarn_label_pop();
    assert_int_equal(tn_label_current(), TN_LABEL_NONE);
}

/* From one more than the stack keeps, the last that it keeps counts. */
static void a_deep_stack_has_the_innermost_that_it_keeps(void **state)
{
    char text[32];
    for (int depth = 1; depth <= TN_LABEL_DEPTH_MAX + 2; depth++) {
        snprintf(text, sizeof text, "at depth %d", depth);
        tarn_label_push(text);
        if (depth <= TN_LABEL_DEPTH_MAX) assert_string_equal(tn_label_current_text(), text);
    }
    for (int depth = TN_LABEL_DEPTH_MAX + 2; depth >= 1; depth--) {
        snprintf(text, sizeof text, "at depth %d",
                 depth < TN_LABEL_DEPTH_MAX ? depth : TN_LABEL_DEPTH_MAX);
        assert_string_equal(tn_label_current_text(), text);
        tarn_label_pop();
    }
    assert_int_equal(tn_label_current(), TN_LABEL_NONE);
}

/* --- threads ------------------------------------------------------------------------------------- */

enum {
    THREADS = 8,
    SHARED_TEXTS = 60
};

static pthread_barrier_t together;

static void *push_all(void *argument)
{
    uint32_t *numbers = argument;
    char text[32];
    for (int i = 0; i < SHARED_TEXTS; i++) {
        snprintf(text, sizeof text, "shared %d", i);
        if (i % 4 == 0) pthread_barrier_wait(&together);
        tarn_label_push(text);
        numbers[i] = tn_label_current();
        tarn_label_pop();
    }
    return NULL;
}

static void threads_that_meet_a_text_at_once_agree(void **state)
{
    static uint32_t numbers[THREADS][SHARED_TEXTS];
    pthread_t threads[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, push_all, numbers[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    for (int text = 0; text < SHARED_TEXTS; text++) {
        assert_int_not_equal(numbers[0][text], TN_LABEL_OTHER);
        for (int i = 1; i < THREADS; i++)
            assert_int_equal(numbers[i][text], numbers[0][text]);
    }
}

static void labels_are_the_threads_own(void **state)
{
    static uint32_t numbers[SHARED_TEXTS];
    pthread_t thread;
    tarn_label_push("mine");
    pthread_barrier_init(&together, NULL, 1);
    pthread_create(&thread, NULL, push_all, numbers);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&together);
    assert_string_equal(tn_label_current_text(), "mine");
    tarn_label_pop();
}

/* --- more texts than numbers ---------------------------------------------------------------------- */

/* No number was lost, to threads that met a text at once for example: a text of two numbers would show that. */
static void expect_all_numbers_in_use(void)
{
    for (uint32_t number = 1; number < TN_LABEL_OTHER; number++) {
        assert_string_not_equal(tn_label_text(number), "");
        assert_int_equal(number_of(tn_label_text(number)), number);
    }
}

static void further_texts_share_a_number(void **state)
{
    char text[32];
    uint32_t mesh = number_of("mesh"), number = TN_LABEL_NONE;
    for (uint32_t count = 0; number != TN_LABEL_OTHER; count++) {
        snprintf(text, sizeof text, "one of many: %u", count);
        number = number_of(text);
        assert_true(count < TN_LABEL_COUNT);
    }
    expect_all_numbers_in_use();
    assert_string_equal(tn_label_text(TN_LABEL_OTHER), "other labels");
    assert_int_equal(number_of("and one more"), TN_LABEL_OTHER);
    /* Half of the table's places have a text that begins with each of these. */
    for (size_t length = 1; length < strlen("one of many: "); length++) {
        snprintf(text, sizeof text, "%.*s", (int)length, "one of many: ");
        assert_int_equal(number_of(text), TN_LABEL_OTHER);
    }
    assert_int_equal(number_of("mesh"), mesh);
    assert_string_equal(tn_label_text(mesh), "mesh");

    /* The thread still knows its own. */
    tarn_label_push("a text too many");
    tarn_label_push("mesh");
    tarn_label_push("another text too many");
    assert_string_equal(tn_label_current_text(), "another text too many");
    tarn_label_pop();
    assert_int_equal(tn_label_current(), mesh);
    tarn_label_pop();
    assert_string_equal(tn_label_current_text(), "a text too many");
    tarn_label_pop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_one_number),
        cmocka_unit_test(texts_of_any_length_are_told_apart),
        cmocka_unit_test(a_long_text_is_cut),
        cmocka_unit_test(labels_nest),
        cmocka_unit_test(a_deep_stack_has_the_innermost_that_it_keeps),
        cmocka_unit_test(threads_that_meet_a_text_at_once_agree),
        cmocka_unit_test(labels_are_the_threads_own),
        cmocka_unit_test(further_texts_share_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
