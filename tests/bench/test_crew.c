/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_crew: each thread does each thing once, all at a time; where one thread does not start, none does anything. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "playing/crew.h"

enum {
    MEMBER_COUNT = 5
};

struct member {
    pthread_t thread;
    size_t first_count; /* so often it did the first thing, and so on */
    size_t second_count;
};

static struct member members[MEMBER_COUNT];
static atomic_size_t arrived_count;
static size_t failing_start; /* counted from 1; 0: none */
static size_t start_count;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

/* The linker puts this function in the place of pthread_create. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (++start_count == failing_start) return 11; /* EAGAIN */
    return __real_pthread_create(thread, attributes, start, argument);
}

/* Ends only when all have begun. */
static void meet(void *context)
{
    struct member *member = context;
    member->thread = pthread_self();
    member->first_count++;
    atomic_fetch_add(&arrived_count, 1);
    while (atomic_load(&arrived_count) % MEMBER_COUNT != 0)
        sched_yield();
}

static void count(void *context)
{
    ((struct member *)context)->second_count++;
}

static struct tn_crew *create(void)
{
    struct tn_reason reason = { "" };
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        members[i] = (struct member){ .first_count = 0 };
    atomic_store(&arrived_count, 0);
    start_count = 0;
    struct tn_crew *crew = tn_crew_create(members, sizeof members[0], MEMBER_COUNT, &reason);
    if (!crew) fail_msg("%s", reason.text);
    return crew;
}

static void all_do_the_same_at_a_time(void **state)
{
    (void)state;
    failing_start = 0;
    struct tn_crew *crew = create();
    tn_crew_begin(crew, meet);
    tn_crew_end(crew);
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        assert_int_equal(members[i].first_count, 1);
        assert_int_equal(members[i].second_count, 0);
        assert_false(pthread_equal(members[i].thread, pthread_self()));
        for (size_t k = 0; k < i; k++)
            assert_false(pthread_equal(members[i].thread, members[k].thread));
    }
    for (size_t i = 0; i < 100; i++) {
        tn_crew_begin(crew, count);
        tn_crew_end(crew);
    }
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        assert_int_equal(members[i].first_count, 1);
        assert_int_equal(members[i].second_count, 100);
    }
    tn_crew_destroy(crew);
}

static void a_crew_may_do_nothing(void **state)
{
    (void)state;
    failing_start = 0;
    tn_crew_destroy(create());
    tn_crew_destroy(NULL);
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        assert_int_equal(members[i].first_count + members[i].second_count, 0);
}

static void a_thread_that_does_not_start_is_a_reason(void **state)
{
    static const char *const reasons[] = { "the system has started 0 of 5 threads",
                                           "the system has started 1 of 5 threads",
                                           "the system has started 2 of 5 threads",
                                           "the system has started 3 of 5 threads",
                                           "the system has started 4 of 5 threads" };
    (void)state;
    for (failing_start = 1; failing_start <= MEMBER_COUNT; failing_start++) {
        struct tn_reason reason = { "" };
        start_count = 0;
        assert_null(tn_crew_create(members, sizeof members[0], MEMBER_COUNT, &reason));
        assert_string_equal(reason.text, reasons[failing_start - 1]);
        assert_int_equal(start_count, failing_start);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_do_the_same_at_a_time),
        cmocka_unit_test(a_crew_may_do_nothing),
        cmocka_unit_test(a_thread_that_does_not_start_is_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
