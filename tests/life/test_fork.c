/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_fork: in a forked child the pools and backends of the parent are dead, whatever the parent's other
 * threads were doing, and the child's own work.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "harness/child.h"
#include "harness/claims.h"

#include "tarn/host.h"

#define MIB ((size_t)1 << 20)

/* --- a pool of the parent's ----------------------------------------------------------------------- */

struct parent {
    tarn_backend backend;
    tarn_pool *pool;
    unsigned char *live; /* 1000 bytes of 0x5a */
};

static struct parent begin_parent(void)
{
    struct parent parent;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    expect_ok(tarn_host_backend_open(NULL, &parent.backend));
    options.backend = &parent.backend;
    options.initial_bytes = MIB;
    expect_ok(tarn_pool_create(&options, &parent.pool));
    void *address = new_block(parent.pool, 1000);
    parent.live = address;
    memset(parent.live, 0x5a, 1000);
    return parent;
}

/* A child changes nothing of it. */
static void end_parent(struct parent *parent)
{
    expect_ok(tarn_pool_check(parent->pool));
    assert_int_equal(stats_of(parent->pool).live_count, 1);
    assert_int_equal(parent->live[999], 0x5a);
    void *more = new_block(parent->pool, 4 * MIB);
    expect_ok(tarn_pool_free(parent->pool, more));
    expect_ok(tarn_pool_free(parent->pool, parent->live));
    expect_ok(tarn_pool_destroy(parent->pool));
    tarn_backend_close(&parent->backend);
}

static void allocate_in_vain(void *argument)
{
    struct parent *parent = argument;
    void *address = &address;
    CHILD_EXPECT(tarn_pool_alloc(parent->pool, 1, &address) == TARN_STATUS_FORKED);
    CHILD_EXPECT(strstr(tarn_last_error().message, "before the fork"));
    CHILD_EXPECT(tarn_pool_alloc(parent->pool, 0, &address) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_alloc(parent->pool, 64 * MIB, &address) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_alloc_aligned(parent->pool, 1, 4096, &address) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_alloc_on(parent->pool, 1, NULL, &address) == TARN_STATUS_FORKED);
    const size_t size = 1;
    CHILD_EXPECT(tarn_pool_alloc_many(parent->pool, 1, &size, &address) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_alloc_many_on(parent->pool, 1, &size, NULL, &address) ==
                 TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_resize(parent->pool, parent->live, 1) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_use_on(parent->pool, parent->live, NULL) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_static_pool_hold(parent->pool, 1) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_static_pool_unhold(parent->pool, 1) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_unobserve(parent->pool, 1) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_resize_on(parent->pool, parent->live, 1, NULL) == TARN_STATUS_FORKED);
    CHILD_EXPECT(address == &address);
}

static void give_back_in_silence(void *argument)
{
    struct parent *parent = argument;
    tarn_stream streams[1] = { NULL };
    size_t released_bytes = 1;
    for (int i = 0; i < 2; i++) {
        CHILD_EXPECT(tarn_pool_free(parent->pool, parent->live) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_free_on(parent->pool, parent->live, &i) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_free_after(parent->pool, parent->live, streams, 1) ==
                     TARN_STATUS_OK);
        void *const addresses[] = { parent->live };
        CHILD_EXPECT(tarn_pool_free_sized(parent->pool, parent->live, 1) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_free_sized_on(parent->pool, parent->live, 1, &i) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_free_many(parent->pool, 1, addresses) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_free_many_on(parent->pool, 1, addresses, &i) == TARN_STATUS_OK);
    }
    CHILD_EXPECT(tarn_pool_free(parent->pool, NULL) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_stream_retire(NULL) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_trim(parent->pool, 0, &released_bytes) == TARN_STATUS_OK);
    CHILD_EXPECT(released_bytes == 0);
    CHILD_EXPECT(parent->live[999] == 0x5a);
}

static void ask_in_vain(void *argument)
{
    struct parent *parent = argument;
    tarn_stats stats = TARN_STATS_INIT;
    tarn_allocation found = TARN_ALLOCATION_INIT;
    tarn_backend backend;
    CHILD_EXPECT(tarn_pool_stats(parent->pool, &stats) == TARN_STATUS_FORKED);
    tarn_label_stats label = TARN_LABEL_STATS_INIT;
    CHILD_EXPECT(tarn_pool_label_stats(parent->pool, 0, &label) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_reset_peaks(parent->pool) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_get_backend(parent->pool, &backend) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_check(parent->pool) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_dump(parent->pool, TARN_DUMP_FORMAT_TEXT, stderr) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_find(parent->live, &found) == TARN_STATUS_FOREIGN_ADDRESS);
}

static void destroy_in_silence(void *argument)
{
    struct parent *parent = argument;
    CHILD_EXPECT(tarn_pool_destroy(parent->pool) == TARN_STATUS_OK);
    CHILD_EXPECT(parent->live[999] == 0x5a);
    CHILD_EXPECT(tarn_pool_destroy(parent->pool) == TARN_STATUS_INVALID_POOL);
    CHILD_EXPECT(tarn_pool_free(parent->pool, parent->live) == TARN_STATUS_INVALID_POOL);
}

static void destroy_by_force_in_silence(void *argument)
{
    struct parent *parent = argument;
    tarn_leaks leaks = TARN_LEAKS_INIT;
    leaks.allocation_count = leaks.requested_bytes = 1; /* to be overwritten */
    CHILD_EXPECT(tarn_pool_destroy_forced(parent->pool, &leaks) == TARN_STATUS_OK);
    CHILD_EXPECT(leaks.allocation_count == 0 && leaks.requested_bytes == 0);
    CHILD_EXPECT(parent->live[999] == 0x5a);
    CHILD_EXPECT(tarn_pool_abandon(parent->pool) == TARN_STATUS_INVALID_POOL);
}

static void abandon_in_silence(void *argument)
{
    struct parent *parent = argument;
    CHILD_EXPECT(tarn_pool_abandon(parent->pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_check(parent->pool) == TARN_STATUS_INVALID_POOL);
}

static void in_a_child_the_parents_pool_is_dead(void **state)
{
    struct parent parent = begin_parent();
    expect_in_child(allocate_in_vain, &parent);
    expect_in_child(give_back_in_silence, &parent);
    expect_in_child(ask_in_vain, &parent);
    expect_in_child(destroy_in_silence, &parent);
    expect_in_child(destroy_by_force_in_silence, &parent);
    expect_in_child(abandon_in_silence, &parent);
    end_parent(&parent);
}

/* --- a backend of the parent's --------------------------------------------------------------------- */

static void use_backend_in_vain(void *argument)
{
    struct parent *parent = argument;
    const tarn_backend_operations *operations = parent->backend.operations;
    void *backend = parent->backend.state, *address = NULL;
    tarn_device_properties properties;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    tarn_pool *pool = NULL;
    options.backend = &parent->backend;
    CHILD_EXPECT(tarn_pool_create(&options, &pool) == TARN_STATUS_FORKED);
    CHILD_EXPECT(pool == NULL);
    CHILD_EXPECT(operations->get_properties(backend, &properties).status == TARN_STATUS_FORKED);
    CHILD_EXPECT(operations->acquire(backend, 1000, &address).status == TARN_STATUS_FORKED);
    CHILD_EXPECT(operations->stream_synchronize(backend, NULL).status == TARN_STATUS_FORKED);
    CHILD_EXPECT(operations->release(backend, parent->live, MIB).status == TARN_STATUS_OK);
    tarn_backend_close(&parent->backend);
    CHILD_EXPECT(parent->backend.state == NULL);
    CHILD_EXPECT(parent->live[999] == 0x5a);
}

static void in_a_child_the_parents_backend_is_dead(void **state)
{
    struct parent parent = begin_parent();
    expect_in_child(use_backend_in_vain, &parent);
    end_parent(&parent);
}

/* --- the child's own ------------------------------------------------------------------------------- */

static void work(void)
{
    tarn_backend backend;
    tarn_pool *pool;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    void *address;
    CHILD_EXPECT(tarn_host_backend_open(NULL, &backend) == TARN_STATUS_OK);
    options.backend = &backend;
    CHILD_EXPECT(tarn_pool_create(&options, &pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc(pool, 1000, &address) == TARN_STATUS_OK);
    memset(address, 1, 1000);
    CHILD_EXPECT(tarn_pool_destroy(pool) == TARN_STATUS_LIVE_REGIONS);
    CHILD_EXPECT(tarn_pool_free(pool, address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_check(pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_destroy(pool) == TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

static void work_beside_the_parents_pool(void *argument)
{
    struct parent *parent = argument;
    void *address;
    work();
    CHILD_EXPECT(tarn_pool_alloc(parent->pool, 1, &address) == TARN_STATUS_FORKED);
}

/* The same in a child of the child's, where both pools before it are dead. */
static void fork_once_more(void *argument)
{
    struct parent *parent = argument, own = { .pool = NULL };
    void *address;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    CHILD_EXPECT(tarn_host_backend_open(NULL, &own.backend) == TARN_STATUS_OK);
    options.backend = &own.backend;
    CHILD_EXPECT(tarn_pool_create(&options, &own.pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc(own.pool, 1, &address) == TARN_STATUS_OK);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        begin_child();
        CHILD_EXPECT(tarn_pool_alloc(own.pool, 1, &address) == TARN_STATUS_FORKED);
        CHILD_EXPECT(tarn_pool_alloc(parent->pool, 1, &address) == TARN_STATUS_FORKED);
        CHILD_EXPECT(tarn_pool_free(own.pool, address) == TARN_STATUS_OK);
        work();
        _exit(0);
    }
    int ended;
    CHILD_EXPECT(waitpid(child, &ended, 0) == child && ended == 0);
    CHILD_EXPECT(tarn_pool_free(own.pool, address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_destroy(own.pool) == TARN_STATUS_OK);
}

static void a_child_works_with_pools_of_its_own(void **state)
{
    struct parent parent = begin_parent();
    expect_in_child(work_beside_the_parents_pool, &parent);
    expect_in_child(fork_once_more, &parent);
    end_parent(&parent);
}

/* --- the process-wide pool --------------------------------------------------------------------------- */

static void free_without_a_pool(void *argument)
{
    int on_the_stack;
    CHILD_EXPECT(tarn_free(&on_the_stack) == TARN_STATUS_FOREIGN_ADDRESS);
}

static void use_a_new_process_wide_pool(void *inherited)
{
    tarn_pool *pool;
    void *address = NULL;
    CHILD_EXPECT(tarn_free(inherited) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
    if (strcmp(tarn_backend_name(), "host") != 0) {
        CHILD_EXPECT(tarn_malloc(1000, &address) == TARN_STATUS_FORKED);
        CHILD_EXPECT(strstr(tarn_last_error().message, "fork"));
        CHILD_EXPECT(tarn_free(inherited) == TARN_STATUS_OK);
        return;
    }
    CHILD_EXPECT(tarn_malloc(1000, &address) == TARN_STATUS_OK);
    memset(address, 1, 1000);
    CHILD_EXPECT(tarn_free(inherited) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_default_pool(&pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free_sized(pool, inherited, 1000) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free_many(pool, 1, &inherited) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_resize(pool, inherited, 500) == TARN_STATUS_FOREIGN_ADDRESS);
    CHILD_EXPECT(tarn_pool_check(pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_free((char *)address + 1) == TARN_STATUS_INTERIOR_ADDRESS);
    CHILD_EXPECT(tarn_free(address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_free(address) == TARN_STATUS_NOT_LIVE);
    CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_free(inherited) == TARN_STATUS_OK);
}

static void a_child_gets_a_process_wide_pool_of_its_own(void **state)
{
    void *address;
    expect_in_child(free_without_a_pool, NULL);
    if (tarn_malloc(1000, &address) == TARN_STATUS_NO_DEVICE) skip();
    expect_in_child(use_a_new_process_wide_pool, address);
    expect_ok(tarn_free(address));
    expect_ok(tarn_default_pool_destroy());
}

/* --- a thread that is inside at the fork -------------------------------------------------------------- */

/* A source of memory that takes its time, or forks itself as a driver may that loads its module. */
struct slow {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_inside;
    bool may_go_on;
    bool forks;
};

static tarn_backend_result slow_acquire(void *state, size_t size_bytes, void **address_out)
{
    struct slow *slow = state;
    if (slow->forks) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        int ended;
        waitpid(child, &ended, 0);
    } else {
        pthread_mutex_lock(&slow->lock);
        slow->is_inside = true;
        pthread_cond_broadcast(&slow->changed);
        while (!slow->may_go_on)
            pthread_cond_wait(&slow->changed, &slow->lock);
        pthread_mutex_unlock(&slow->lock);
    }
    void *address = aligned_alloc(4096, size_bytes);
    if (address) *address_out = address;
    return (tarn_backend_result){ address ? TARN_STATUS_OK : TARN_STATUS_OUT_OF_MEMORY, 0, NULL };
}

static tarn_backend_result slow_release(void *state, void *address, size_t size_bytes)
{
    free(address);
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result slow_get_properties(void *state, tarn_device_properties *properties_out)
{
    *properties_out = (tarn_device_properties){
        .device_name = "slow",
        .alignment_bytes = 4096,
        .granularity_bytes = 4096,
        .allocation_bytes_max = 64 * MIB,
    };
    return TARN_BACKEND_RESULT_OK;
}

static const tarn_backend_operations slow_operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = "slow",
    .acquire = slow_acquire,
    .release = slow_release,
    .get_properties = slow_get_properties,
};

static tarn_pool *create_slow_pool(struct slow *slow)
{
    tarn_backend backend = { &slow_operations, slow };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = MIB;
    return new_pool(&options);
}

static void *allocate_slowly(void *pool)
{
    void *address;
    if (tarn_pool_alloc(pool, 1000, &address) != TARN_STATUS_OK) return NULL;
    return address;
}

static void use_pool_that_grows(void *argument)
{
    tarn_pool *pool = argument;
    void *address;
    CHILD_EXPECT(tarn_pool_alloc(pool, 1000, &address) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_trim(pool, 0, NULL) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_stream_retire(NULL) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_destroy(pool) == TARN_STATUS_OK);
    work();
}

static void a_pool_that_was_growing_does_not_hold_the_child_up(void **state)
{
    struct slow slow = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0 };
    tarn_pool *pool = create_slow_pool(&slow);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, allocate_slowly, pool), 0);
    pthread_mutex_lock(&slow.lock);
    while (!slow.is_inside)
        pthread_cond_wait(&slow.changed, &slow.lock);
    pthread_mutex_unlock(&slow.lock);

    expect_in_child(use_pool_that_grows, pool);

    pthread_mutex_lock(&slow.lock);
    slow.may_go_on = true;
    pthread_cond_broadcast(&slow.changed);
    pthread_mutex_unlock(&slow.lock);
    void *address;
    pthread_join(thread, &address);
    assert_non_null(address);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_destroy(pool));
}

static void a_backend_may_fork(void **state)
{
    struct slow slow = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, true };
    tarn_pool *pool = create_slow_pool(&slow);
    void *address = new_block(pool, 1000);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_destroy(pool));
}

/* --- threads that do everything at once ---------------------------------------------------------------- */

enum {
    FORKS = 100
};

struct crowd {
    tarn_pool *pool;
    atomic_bool is_over;
    atomic_uint failure_count;
};

static void note(struct crowd *crowd, bool is_well)
{
    if (!is_well) atomic_fetch_add(&crowd->failure_count, 1);
}

static void *allocate_and_trim(void *argument)
{
    struct crowd *crowd = argument;
    for (size_t i = 0; !atomic_load(&crowd->is_over); i++) {
        void *address = NULL;
        note(crowd,
             tarn_pool_alloc(crowd->pool, 1 + i * 7919 % (3 * MIB), &address) == TARN_STATUS_OK);
        note(crowd, tarn_pool_free(crowd->pool, address) == TARN_STATUS_OK);
        if (i % 16 == 0) note(crowd, tarn_pool_trim(crowd->pool, 0, NULL) == TARN_STATUS_OK);
    }
    return NULL;
}

static void *look_addresses_up(void *argument)
{
    struct crowd *crowd = argument;
    while (!atomic_load(&crowd->is_over)) {
        tarn_allocation found = TARN_ALLOCATION_INIT;
        note(crowd, tarn_pool_find(crowd, &found) == TARN_STATUS_FOREIGN_ADDRESS);
        note(crowd, tarn_stream_retire(crowd) == TARN_STATUS_OK);
    }
    return NULL;
}

static void *create_and_destroy(void *argument)
{
    struct crowd *crowd = argument;
    while (!atomic_load(&crowd->is_over)) {
        tarn_backend backend;
        tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
        tarn_pool *pool = NULL;
        note(crowd, tarn_host_backend_open(NULL, &backend) == TARN_STATUS_OK);
        options.backend = &backend;
        note(crowd, tarn_pool_create(&options, &pool) == TARN_STATUS_OK);
        note(crowd, tarn_pool_destroy(pool) == TARN_STATUS_OK);
        tarn_backend_close(&backend);
    }
    return NULL;
}

static void *create_and_destroy_the_process_wide_pool(void *argument)
{
    struct crowd *crowd = argument;
    while (!atomic_load(&crowd->is_over)) {
        tarn_pool *pool;
        tarn_status status = tarn_default_pool(&pool);
        note(crowd, status == TARN_STATUS_OK || status == TARN_STATUS_NO_DEVICE);
        note(crowd, tarn_default_pool_destroy() == TARN_STATUS_OK);
    }
    return NULL;
}

/* The malloc of the address and of the thread sanitizer has locks of its own, which GCC 12's do not bring to rest around
 * a fork. So under them a child of several threads may not allocate host memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_MALLOC_OF_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_MALLOC_OF_SANITIZER true
#endif
#endif
#ifndef HAS_MALLOC_OF_SANITIZER
#define HAS_MALLOC_OF_SANITIZER false
#endif

static void live_on_alone(void *argument)
{
    struct crowd *crowd = argument;
    void *address = NULL;
    tarn_allocation found = TARN_ALLOCATION_INIT;
    CHILD_EXPECT(tarn_pool_alloc(crowd->pool, 1, &address) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_pool_free(crowd->pool, crowd) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_find(crowd, &found) == TARN_STATUS_FOREIGN_ADDRESS);
    CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_destroy(crowd->pool) == TARN_STATUS_OK);
    if (HAS_MALLOC_OF_SANITIZER) return;
    work();
    if (strcmp(tarn_backend_name(), "host") == 0) {
        CHILD_EXPECT(tarn_malloc(1000, &address) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_free(address) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
    }
}

static void a_fork_is_safe_whatever_other_threads_do(void **state)
{
    void *(*const bodies[])(void *) = { allocate_and_trim, look_addresses_up, create_and_destroy,
                                        create_and_destroy_the_process_wide_pool };
    pthread_t threads[sizeof bodies / sizeof *bodies];
    struct parent parent = begin_parent();
    struct crowd crowd = { .pool = parent.pool };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, bodies[i], &crowd), 0);
    for (int i = 0; i < FORKS; i++)
        expect_in_child(live_on_alone, &crowd);
    atomic_store(&crowd.is_over, true);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(crowd.failure_count, 0);
    end_parent(&parent);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_child_the_parents_pool_is_dead),
        cmocka_unit_test(in_a_child_the_parents_backend_is_dead),
        cmocka_unit_test(a_child_works_with_pools_of_its_own),
        cmocka_unit_test(a_child_gets_a_process_wide_pool_of_its_own),
        cmocka_unit_test(a_pool_that_was_growing_does_not_hold_the_child_up),
        cmocka_unit_test(a_backend_may_fork),
        cmocka_unit_test(a_fork_is_safe_whatever_other_threads_do),
    };
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
