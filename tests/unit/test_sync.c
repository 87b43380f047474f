/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sync: the holder of a mutex, in builds with assertions. Excluding and waiting are those of the C library. */
#include "base/sync.h"

#include "harness/claims.h"

static void skip_without_assertions(void)
{
    if ((TN_CHECK_LEVEL) == 0) skip();
}

static void the_thread_that_locks_a_mutex_holds_it(void **state)
{
    (void)state;
    skip_without_assertions();
    struct tn_mutex mutex = TN_MUTEX_INIT;
    assert_false(tn_mutex_is_held(&mutex));
    tn_mutex_lock(&mutex);
    assert_true(tn_mutex_is_held(&mutex));
    tn_mutex_unlock(&mutex);
    assert_false(tn_mutex_is_held(&mutex));
    assert_true(tn_mutex_try_lock(&mutex));
    assert_true(tn_mutex_is_held(&mutex));
    assert_false(tn_mutex_try_lock(&mutex));
    assert_true(tn_mutex_is_held(&mutex));
    tn_mutex_unlock(&mutex);
    tn_mutex_fini(&mutex);
}

/* A forked child initialises a mutex that the forking thread may have held. */
static void init_forgets_the_holder(void **state)
{
    (void)state;
    skip_without_assertions();
    struct tn_mutex mutex = TN_MUTEX_INIT;
    atomic_store(&mutex.holder, tn_thread_token());
    tn_mutex_init(&mutex);
    assert_false(tn_mutex_is_held(&mutex));
    tn_mutex_fini(&mutex);
}

struct shared {
    struct tn_mutex mutex;
    struct tn_condition changed;
    bool is_confused; /* the second thread held it before it locked it, or not afterwards */
    bool has_changed;
};

static void *change(void *argument)
{
    struct shared *shared = argument;
    bool was_held = tn_mutex_is_held(&shared->mutex);
    tn_mutex_lock(&shared->mutex);
    shared->is_confused = was_held || !tn_mutex_is_held(&shared->mutex);
    shared->has_changed = true;
    tn_condition_signal_all(&shared->changed);
    tn_mutex_unlock(&shared->mutex);
    return NULL;
}

static void a_thread_that_waits_holds_the_mutex_when_it_returns(void **state)
{
    (void)state;
    skip_without_assertions();
    struct shared shared = { .mutex = TN_MUTEX_INIT, .changed = TN_CONDITION_INIT };
    pthread_t thread;
    tn_mutex_lock(&shared.mutex);
    assert_int_equal(pthread_create(&thread, NULL, change, &shared), 0);
    while (!shared.has_changed)
        tn_condition_wait(&shared.changed, &shared.mutex);
    assert_true(tn_mutex_is_held(&shared.mutex));
    tn_mutex_unlock(&shared.mutex);
    pthread_join(thread, NULL);
    assert_false(shared.is_confused);
    tn_condition_fini(&shared.changed);
    tn_mutex_fini(&shared.mutex);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_thread_that_locks_a_mutex_holds_it),
        cmocka_unit_test(init_forgets_the_holder),
        cmocka_unit_test(a_thread_that_waits_holds_the_mutex_when_it_returns),
    };
    return cmocka_run_group_tests_name("sync", tests, NULL, NULL);
}
