/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_thread_number: no two threads have one number, whenever they live. */
#include "base/thread_number.h"

#include <pthread.h>

#include "harness/claims.h"

static void *tell(void *argument)
{
    uint64_t *number = argument;
    *number = tn_thread_number();
    if (tn_thread_number() != *number) *number = 0;
    return NULL;
}

/* One after the other, so that the system gives each the name and the place of the one before. */
static void every_thread_has_a_number_of_its_own(void **state)
{
    uint64_t numbers[20];
    numbers[0] = tn_thread_number();
    for (int i = 1; i < 20; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, tell, &numbers[i]), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(tn_thread_number(), numbers[0]);
    for (int i = 0; i < 20; i++) {
        assert_true(numbers[i] != 0);
        for (int j = 0; j < i; j++)
            assert_true(numbers[i] != numbers[j]);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_has_a_number_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
