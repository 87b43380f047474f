/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_pool_functions: functions of the program that are told of static pools while a process-wide pool is created or
 * destroyed. They run with no lock held, so they may use the process-wide pools and wait for threads that do. Each case
 * is a child: where a function waits for itself, the child's alarm ends it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "harness/child.h"
#include "harness/claims.h"

#define KIB ((size_t)1 << 10)

/* Far less than a sanitizer's build needs for all other cases together. */
#define CASE_SECONDS_MAX 20

static atomic_int created_count, destroyed_count;

/* What the function does that is told first; functions that it causes to run only count. NULL: nothing. */
static void (*_Atomic act)(void);

static void act_once(void)
{
    void (*mine)(void) = atomic_exchange(&act, NULL);
    if (mine) mine();
}

static void note_created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    CHILD_EXPECT(user == &created_count && base && size_bytes > 0 && id > 0);
    created_count++;
    act_once();
}

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    CHILD_EXPECT(user == &created_count && base && size_bytes > 0 && id > 0);
    destroyed_count++;
    act_once();
}

/* The vendor must not be asked before a child is made. Without a device there is nothing to do. */
static void begin_case(void)
{
    int device_count;
    alarm(CASE_SECONDS_MAX);
    if (tarn_backend_device_count(&device_count) == TARN_STATUS_NO_DEVICE) _exit(0);
}

/* Process-wide pools have their first memory at their creation from now on. */
static void configure(bool contiguous)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    begin_case();
    options.takes_initial_at_once = true;
    options.initial_bytes = 64 * KIB;
    options.contiguous = contiguous;
    options.on_static_pool_created = note_created;
    options.on_static_pool_destroyed = note_destroyed;
    options.user = &created_count;
    CHILD_EXPECT(tarn_default_pool_configure(&options) == TARN_STATUS_OK);
}

static void use(tarn_pool *pool)
{
    void *address;
    CHILD_EXPECT(tarn_pool_alloc(pool, 1000, &address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_free(address) == TARN_STATUS_OK);
}

static tarn_pool *pool_of(tarn_memory_kind kind)
{
    tarn_pool *pool = NULL;
    CHILD_EXPECT(tarn_device_pool(0, kind, &pool) == TARN_STATUS_OK);
    return pool;
}

static tarn_pool *default_pool(void)
{
    tarn_pool *pool = NULL;
    CHILD_EXPECT(tarn_default_pool(&pool) == TARN_STATUS_OK);
    return pool;
}

static void malloc_and_free(void)
{
    void *address;
    CHILD_EXPECT(tarn_malloc(1000, &address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_free(address) == TARN_STATUS_OK);
}

/* Vendors have no contiguous pools of pinned memory; that is told at once, too. */
static void use_pinned(void)
{
    tarn_pool *pool;
    tarn_status status = tarn_device_pool(0, TARN_MEMORY_KIND_PINNED, &pool);
    CHILD_EXPECT(status == TARN_STATUS_OK || status == TARN_STATUS_NOT_SUPPORTED);
    if (status == TARN_STATUS_OK) use(pool);
}

static void *in_thread(void *function)
{
    (*(void (**)(void))function)();
    return NULL;
}

static void wait_for_thread(void (*function)(void))
{
    pthread_t thread;
    CHILD_EXPECT(pthread_create(&thread, NULL, in_thread, &function) == 0);
    CHILD_EXPECT(pthread_join(thread, NULL) == 0);
}

static void wait_for_a_malloc(void)
{
    wait_for_thread(malloc_and_free);
}

static void wait_for_a_pinned_pool(void)
{
    wait_for_thread(use_pinned);
}

/* --- creation -------------------------------------------------------------------------------------- */

struct creation {
    void (*act)(void);
    bool contiguous;
};

static void create(void *argument)
{
    const struct creation *creation = argument;
    configure(creation->contiguous);
    act = creation->act;
    malloc_and_free();
    CHILD_EXPECT(act == NULL && created_count > 0);
    tarn_pool *pool = default_pool();
    CHILD_EXPECT(pool == pool_of(TARN_MEMORY_KIND_DEVICE));
    CHILD_EXPECT(tarn_pool_check(pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
    CHILD_EXPECT(created_count == destroyed_count);
}

static void expect_creation_with(void (*act_then)(void))
{
    expect_in_child(create, &(struct creation){ act_then, .contiguous = false });
    expect_in_child(create, &(struct creation){ act_then, .contiguous = true });
}

static void at_creation_a_function_may_ask_for_another_pool(void **state)
{
    expect_creation_with(use_pinned);
}

static void at_creation_a_function_may_use_the_new_pool(void **state)
{
    expect_creation_with(malloc_and_free);
}

static void at_creation_a_function_may_wait_for_a_threads_first_malloc(void **state)
{
    expect_creation_with(wait_for_a_malloc);
}

static void at_creation_a_function_may_wait_for_a_thread_that_asks_for_another_pool(void **state)
{
    expect_creation_with(wait_for_a_pinned_pool);
}

/* --- creation by several threads at once ----------------------------------------------------------- */

enum {
    THREAD_COUNT = 4
};

static pthread_barrier_t both_are_told;

/* Asks for both pools when the other thread is in such a function, too. */
static void meet_and_ask(void *user, void *base, size_t size_bytes, uint64_t id)
{
    static _Thread_local bool has_met;
    if (has_met) return;
    has_met = true;
    pthread_barrier_wait(&both_are_told);
    use(pool_of(TARN_MEMORY_KIND_DEVICE));
    use(pool_of(TARN_MEMORY_KIND_PINNED));
}

static void *create_of_kind(void *kind)
{
    use(pool_of(*(tarn_memory_kind *)kind));
    return NULL;
}

static void create_crosswise(void *unused)
{
    pthread_t threads[2];
    tarn_memory_kind kinds[2] = { TARN_MEMORY_KIND_DEVICE, TARN_MEMORY_KIND_PINNED };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    begin_case();
    options.takes_initial_at_once = true;
    options.on_static_pool_created = meet_and_ask;
    CHILD_EXPECT(tarn_default_pool_configure(&options) == TARN_STATUS_OK);
    CHILD_EXPECT(pthread_barrier_init(&both_are_told, NULL, 2) == 0);
    for (int i = 0; i < 2; i++)
        CHILD_EXPECT(pthread_create(&threads[i], NULL, create_of_kind, &kinds[i]) == 0);
    for (int i = 0; i < 2; i++)
        CHILD_EXPECT(pthread_join(threads[i], NULL) == 0);
    CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
}

static void two_functions_may_ask_for_each_others_pools(void **state)
{
    expect_in_child(create_crosswise, NULL);
}

static void *create_at_once(void *pool_out)
{
    *(tarn_pool **)pool_out = default_pool();
    malloc_and_free();
    return NULL;
}

static void create_in_threads(void *unused)
{
    pthread_t threads[THREAD_COUNT];
    tarn_pool *pools[THREAD_COUNT];
    configure(false);
    for (int round = 0; round < 20; round++) {
        act = use_pinned;
        for (int i = 0; i < THREAD_COUNT; i++)
            CHILD_EXPECT(pthread_create(&threads[i], NULL, create_at_once, &pools[i]) == 0);
        for (int i = 0; i < THREAD_COUNT; i++)
            CHILD_EXPECT(pthread_join(threads[i], NULL) == 0);
        for (int i = 0; i < THREAD_COUNT; i++)
            CHILD_EXPECT(pools[i] == pools[0] && pools[i] == default_pool());
        CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
        CHILD_EXPECT(created_count == destroyed_count);
    }
}

static void threads_that_come_at_once_get_one_pool(void **state)
{
    expect_in_child(create_in_threads, NULL);
}

/* --- destruction ----------------------------------------------------------------------------------- */

struct destruction {
    tarn_status (*destroy)(void);
    void (*act)(void);
    bool leaks;
};

static tarn_status destroy_by_force(void)
{
    return tarn_default_pool_destroy_forced(NULL, NULL);
}

/* A pool that the function asks for is a new one. */
static void destroy(void *argument)
{
    const struct destruction *destruction = argument;
    configure(false);
    malloc_and_free();
    if (destruction->leaks) CHILD_EXPECT(tarn_malloc(1000, &(void *){ NULL }) == TARN_STATUS_OK);
    tarn_pool *before = pool_of(TARN_MEMORY_KIND_PINNED);
    act = destruction->act;
    CHILD_EXPECT(destruction->destroy() == TARN_STATUS_OK);
    CHILD_EXPECT(act == NULL && destroyed_count == 2);
    CHILD_EXPECT(tarn_pool_check(before) == TARN_STATUS_INVALID_POOL);
    CHILD_EXPECT(created_count == 3);
    malloc_and_free();
    CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
    CHILD_EXPECT(created_count == destroyed_count);
}

static void expect_destruction_with(void (*act_then)(void))
{
    expect_in_child(destroy, &(struct destruction){ tarn_default_pool_destroy, act_then, false });
    expect_in_child(destroy, &(struct destruction){ destroy_by_force, act_then, true });
}

static void at_the_end_a_function_may_ask_for_another_pool(void **state)
{
    expect_destruction_with(use_pinned);
}

static void at_the_end_a_function_may_allocate(void **state)
{
    expect_destruction_with(malloc_and_free);
}

static void at_the_end_a_function_may_wait_for_a_threads_first_malloc(void **state)
{
    expect_destruction_with(wait_for_a_malloc);
}

/* --- the end of the process, and forks ------------------------------------------------------------- */

static void end_process(void)
{
    exit(0);
}

/* A vendor that is gone gives no memory. */
static void malloc_at_exit(void)
{
    void *address;
    if (tarn_malloc(1000, &address) == TARN_STATUS_OK) tarn_free(address);
}

static void exit_in_function(void *unused)
{
    configure(false);
    CHILD_EXPECT(atexit(malloc_at_exit) == 0);
    act = end_process;
    malloc_and_free();
    CHILD_EXPECT(false);
}

static void a_function_may_end_the_process(void **state)
{
    expect_in_child(exit_in_function, NULL);
}

static pid_t forked = -1;

static void fork_now(void)
{
    forked = fork();
    if (forked == 0) alarm(CASE_SECONDS_MAX);
}

/* In the child, the pool that is being created belongs to the parent. */
static void fork_in_function(void *unused)
{
    configure(false);
    act = fork_now;
    void *address = NULL;
    tarn_status status = tarn_malloc(1000, &address);
    if (forked == 0) {
        CHILD_EXPECT(status == TARN_STATUS_FORKED);
        if (strcmp(tarn_backend_name(), "host") != 0) _exit(0); /* vendors do not work there */
        tarn_pool *own = default_pool();
        malloc_and_free();
        CHILD_EXPECT(own == default_pool());
        _exit(0);
    }
    int ended;
    CHILD_EXPECT(status == TARN_STATUS_OK);
    CHILD_EXPECT(waitpid(forked, &ended, 0) == forked && ended == 0);
    CHILD_EXPECT(tarn_free(address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
}

static void a_function_may_fork(void **state)
{
    expect_in_child(fork_in_function, NULL);
}

/* --- refusals -------------------------------------------------------------------------------------- */

static void fail_to_create(void *unused)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    begin_case();
    options.takes_initial_at_once = true;
    options.initial_bytes = SIZE_MAX / 4;
    options.on_static_pool_created = note_created;
    options.user = &created_count;
    CHILD_EXPECT(tarn_default_pool_configure(&options) == TARN_STATUS_OK);
    for (int i = 0; i < 3; i++) {
        void *address = &address;
        tarn_status status = tarn_malloc(1000, &address);
        CHILD_EXPECT(status != TARN_STATUS_OK && address == &address);
        CHILD_EXPECT(tarn_last_error().status == status);
    }
    CHILD_EXPECT(created_count == 0);
    configure(false); /* so there is no process-wide pool */
    malloc_and_free();
}

static void without_its_first_memory_there_is_no_pool(void **state)
{
    expect_in_child(fail_to_create, NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_creation_a_function_may_ask_for_another_pool),
        cmocka_unit_test(at_creation_a_function_may_use_the_new_pool),
        cmocka_unit_test(at_creation_a_function_may_wait_for_a_threads_first_malloc),
        cmocka_unit_test(at_creation_a_function_may_wait_for_a_thread_that_asks_for_another_pool),
        cmocka_unit_test(two_functions_may_ask_for_each_others_pools),
        cmocka_unit_test(threads_that_come_at_once_get_one_pool),
        cmocka_unit_test(at_the_end_a_function_may_ask_for_another_pool),
        cmocka_unit_test(at_the_end_a_function_may_allocate),
        cmocka_unit_test(at_the_end_a_function_may_wait_for_a_threads_first_malloc),
        cmocka_unit_test(a_function_may_end_the_process),
        cmocka_unit_test(a_function_may_fork),
        cmocka_unit_test(without_its_first_memory_there_is_no_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
