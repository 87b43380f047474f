/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The user is told of static pools: each once, in time, with no lock held. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/test_backend.h"

#define KIB ((size_t)1024)

enum {
    STATIC_POOLS_MAX = 4096,
    THREADS = 4
};

/* What was told, and what the test wants done when it is. */
struct told {
    pthread_mutex_t lock;
    struct piece {
        void *base;
        size_t size_bytes;
        uint64_t id;
        bool is_there;
    } pieces[STATIC_POOLS_MAX];
    size_t created_count, destroyed_count;
    void (*when_created)(struct told *told, const struct piece *piece);
    void (*when_destroyed)(struct told *told, const struct piece *piece);
    struct test_backend *backend;
    tarn_pool *pool;
    void *address;
    tarn_status status;
    unsigned nested_count;
    atomic_bool has_begun;
};

struct fixture {
    struct test_backend backend;
    tarn_backend opened;
    tarn_pool_options options;
    struct told told;
};

static struct piece *find_piece(struct told *told, uint64_t id)
{
    for (size_t i = 0; i < told->created_count; i++) {
        if (told->pieces[i].id == id) return &told->pieces[i];
    }
    return NULL;
}

static void created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct told *told = user;
    pthread_mutex_lock(&told->lock);
    assert_null(find_piece(told, id));
    assert_true(told->created_count < STATIC_POOLS_MAX);
    struct piece piece = { base, size_bytes, id, true };
    told->pieces[told->created_count++] = piece;
    pthread_mutex_unlock(&told->lock);
    if (told->when_created) told->when_created(told, &piece);
}

static void destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct told *told = user;
    pthread_mutex_lock(&told->lock);
    struct piece *piece = find_piece(told, id);
    assert_non_null(piece);
    assert_true(piece->is_there);
    assert_ptr_equal(piece->base, base);
    assert_int_equal(piece->size_bytes, size_bytes);
    piece->is_there = false;
    told->destroyed_count++;
    struct piece copy = *piece;
    pthread_mutex_unlock(&told->lock);
    if (told->when_destroyed) told->when_destroyed(told, &copy);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    test_backend_init(&fixture.backend);
    fixture.opened = test_backend_open(&fixture.backend);
    fixture.options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture.options.backend = &fixture.opened;
    fixture.options.initial_bytes = 64 * KIB;
    fixture.options.on_static_pool_created = created;
    fixture.options.on_static_pool_destroyed = destroyed;
    fixture.options.user = &fixture.told;
    fixture.told.backend = &fixture.backend;
    pthread_mutex_init(&fixture.told.lock, NULL);
    *state = &fixture;
    return 0;
}

static tarn_pool *create(struct fixture *fixture)
{
    expect_ok(tarn_pool_create(&fixture->options, &fixture->told.pool));
    return fixture->told.pool;
}

static void destroy(struct fixture *fixture, tarn_pool *pool)
{
    expect_ok(tarn_pool_check(pool));
    assert_int_equal(stats_of(pool).footprint_bytes, fixture->backend.held_bytes);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    assert_int_equal(fixture->backend.piece_count, 0);
    assert_int_equal(fixture->told.created_count, fixture->told.destroyed_count);
}

static void *alloc(tarn_pool *pool, size_t size_bytes)
{
    void *address;
    expect_ok(tarn_pool_alloc(pool, size_bytes, &address));
    return address;
}

/* --- when ---------------------------------------------------------------------------------------- */

static void expect_nothing_handed_out(struct told *told, const struct piece *piece)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    assert_int_equal(tarn_pool_find(piece->base, &found), TARN_STATUS_FOREIGN_ADDRESS);
    tarn_stats stats = stats_of(told->pool);
    assert_int_equal(stats.footprint_bytes, told->backend->held_bytes);
    expect_ok(tarn_pool_check(told->pool));
}

static void each_static_pool_is_told_once_in_time(void **state)
{
    struct fixture *fixture = *state;
    struct told *told = &fixture->told;
    told->when_created = expect_nothing_handed_out;
    told->when_destroyed = expect_nothing_handed_out;
    tarn_pool *pool = create(fixture);
    assert_int_equal(told->created_count, 0);
    void *a = alloc(pool, 60 * KIB);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(a, &found));
    assert_int_equal(told->created_count, 1);
    assert_ptr_equal(found.static_pool_base, told->pieces[0].base);
    assert_int_equal(found.static_pool_bytes, told->pieces[0].size_bytes);
    assert_int_equal(found.static_pool_id, told->pieces[0].id);

    void *b = alloc(pool, 60 * KIB);
    expect_ok(tarn_pool_free(pool, b));
    assert_int_equal(told->created_count, 2);
    assert_int_equal(told->destroyed_count, 0);
    size_t released;
    expect_ok(tarn_pool_trim(pool, 0, &released));
    assert_int_equal(released, 128 * KIB);
    assert_int_equal(told->destroyed_count, 1);
    assert_false(told->pieces[1].is_there);
    told->when_destroyed = NULL; /* the pool cannot be asked any more */
    destroy(fixture, pool);
}

static void either_function_may_be_left_out(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.on_static_pool_destroyed = NULL;
    tarn_pool *pool = create(fixture);
    expect_ok(tarn_pool_free(pool, alloc(pool, KIB)));
    expect_ok(tarn_pool_trim(pool, 0, NULL));
    expect_ok(tarn_pool_destroy(pool));
    assert_int_equal(fixture->told.created_count, 1);
    fixture->options.on_static_pool_created = NULL;
    pool = create(fixture);
    alloc(pool, KIB);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    assert_int_equal(fixture->told.created_count, 1);
    assert_int_equal(fixture->backend.piece_count, 0);
}

static void expect_closed(struct told *told, const struct piece *piece)
{
    void *address;
    assert_int_equal(tarn_pool_alloc(told->pool, 1, &address), TARN_STATUS_INVALID_POOL);
    assert_int_equal(told->backend->held_bytes, piece->size_bytes);
}

static void at_the_end_of_the_pool_it_cannot_be_used(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    expect_ok(tarn_pool_free(pool, alloc(pool, KIB)));
    fixture->told.when_destroyed = expect_closed;
    destroy(fixture, pool);
    assert_int_equal(fixture->told.destroyed_count, 1);
}

static void a_piece_that_is_no_static_pool_is_not_told(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.alignment_bytes = 256;
    fixture->backend.misalignment_bytes = 256;
    fixture->options.initial_bytes = 0;
    tarn_pool *pool = create(fixture);
    alloc(pool, 4 * KIB); /* the tight piece does not hold it, and goes back */
    assert_int_equal(fixture->backend.release_count, 1);
    assert_int_equal(fixture->told.created_count, 1);
    assert_int_equal(fixture->told.destroyed_count, 0);
    destroy(fixture, pool);
}

/* --- calling back in ------------------------------------------------------------------------------- */

static void use_the_pool(struct told *told, const struct piece *piece)
{
    if (told->nested_count++ > 0) return;
    void *small = alloc(told->pool, 3 * KIB), *large = alloc(told->pool, 300 * KIB);
    expect_ok(tarn_pool_free(told->pool, small));
    expect_ok(tarn_pool_check(told->pool));
    expect_ok(tarn_pool_free(told->pool, large));
    expect_ok(tarn_pool_trim(told->pool, 0, NULL));
}

static void the_functions_may_use_the_pool(void **state)
{
    struct fixture *fixture = *state;
    fixture->told.when_created = use_the_pool;
    tarn_pool *pool = create(fixture);
    void *address = alloc(pool, 60 * KIB);
    /* While a static pool arrives others get just what they need. */
    assert_int_equal(fixture->backend.asked_bytes[0], 64 * KIB);
    assert_int_equal(fixture->backend.asked_bytes[1], 4 * KIB);
    assert_int_equal(fixture->backend.asked_bytes[2], 300 * KIB);
    assert_int_equal(fixture->told.destroyed_count, 2);
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);

    fixture->told.when_created = NULL;
    fixture->told.when_destroyed = use_the_pool;
    fixture->told.nested_count = 0;
    expect_ok(tarn_pool_free(pool, address));
    size_t released;
    expect_ok(tarn_pool_trim(pool, 0, &released));
    assert_int_equal(released, 64 * KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    fixture->told.when_destroyed = NULL;
    destroy(fixture, pool);
}

static void ask_for_more(struct told *told, const struct piece *piece)
{
    if (told->nested_count++ == 0) told->status = tarn_pool_alloc(told->pool, KIB, &told->address);
}

static void a_call_from_within_a_function_fails_rather_than_waits(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 64 * KIB;
    fixture->told.when_created = ask_for_more;
    tarn_pool *pool = create(fixture);
    alloc(pool, KIB);
    assert_int_equal(fixture->told.status, TARN_STATUS_OVER_LIMIT);
    fixture->told.when_created = NULL;
    destroy(fixture, pool);
}

static void trim_with(struct told *told, const struct piece *piece)
{
    if (told->nested_count++ == 0) expect_ok(tarn_pool_trim(told->pool, 128 * KIB, NULL));
}

static void two_trims_at_once_keep_what_they_are_told(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    void *a = alloc(pool, 60 * KIB), *b = alloc(pool, 120 * KIB), *c = alloc(pool, 250 * KIB);
    expect_ok(tarn_pool_free(pool, a));
    expect_ok(tarn_pool_free(pool, b));
    expect_ok(tarn_pool_free(pool, c));
    fixture->told.when_destroyed = trim_with;
    expect_ok(tarn_pool_trim(pool, 128 * KIB, NULL));
    assert_int_equal(stats_of(pool).footprint_bytes, 128 * KIB);
    fixture->told.when_destroyed = NULL;
    destroy(fixture, pool);
}

static void alloc_and_free_large(struct told *told, const struct piece *piece)
{
    if (told->nested_count++ < 100)
        expect_ok(tarn_pool_free(told->pool, alloc(told->pool, 500 * KIB)));
}

/* Else a trim might never end. */
static void what_comes_during_a_trim_is_left_alone(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    expect_ok(tarn_pool_free(pool, alloc(pool, KIB)));
    fixture->told.when_destroyed = alloc_and_free_large;
    size_t released;
    expect_ok(tarn_pool_trim(pool, 0, &released));
    assert_int_equal(released, 64 * KIB);
    assert_int_equal(fixture->told.nested_count, 1);
    assert_int_equal(stats_of(pool).static_pool_count, 1);
    fixture->told.when_destroyed = NULL;
    destroy(fixture, pool);
}

/* --- other threads --------------------------------------------------------------------------------- */

static void *alloc_and_free(void *context)
{
    struct told *told = context;
    void *address;
    told->status = tarn_pool_alloc(told->pool, 100 * KIB, &address);
    if (told->status == TARN_STATUS_OK) told->status = tarn_pool_free(told->pool, address);
    return NULL;
}

static void wait_for_another_thread(struct told *told, const struct piece *piece)
{
    if (told->nested_count++ > 0) return;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, alloc_and_free, told), 0);
    pthread_join(thread, NULL);
    assert_int_equal(told->status, TARN_STATUS_OK);
}

static void a_function_may_wait_for_another_threads_growth(void **state)
{
    struct fixture *fixture = *state;
    fixture->told.when_created = wait_for_another_thread;
    tarn_pool *pool = create(fixture);
    void *address = alloc(pool, KIB);
    assert_int_equal(fixture->told.nested_count, 2);
    fixture->told.when_created = NULL;
    fixture->told.when_destroyed = wait_for_another_thread;
    fixture->told.nested_count = 0;
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_trim(pool, 0, NULL));
    fixture->told.when_destroyed = NULL;
    destroy(fixture, pool);
}

static void *alloc_meanwhile(void *context)
{
    struct told *told = context;
    while (!atomic_load(&told->has_begun))
        usleep(100);
    told->status = tarn_pool_alloc(told->pool, KIB, &told->address);
    return NULL;
}

static void take_long(struct told *told, const struct piece *piece)
{
    atomic_store(&told->has_begun, true);
    usleep(50000);
}

/* Only the static pool that is on its way can serve the second thread. */
static void who_finds_nothing_waits_for_what_arrives(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 64 * KIB;
    fixture->told.when_created = take_long;
    tarn_pool *pool = create(fixture);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, alloc_meanwhile, &fixture->told), 0);
    alloc(pool, KIB);
    pthread_join(thread, NULL);
    assert_int_equal(fixture->told.status, TARN_STATUS_OK);
    assert_int_equal(fixture->backend.acquire_count, 1);
    assert_int_equal(stats_of(pool).failed_count, 0);
    destroy(fixture, pool);
}

/* The memory that it needs is on its way back. */
static void who_finds_nothing_waits_for_what_leaves(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.capacity_bytes = 64 * KIB;
    tarn_pool *pool = create(fixture);
    expect_ok(tarn_pool_free(pool, alloc(pool, KIB)));
    fixture->told.when_destroyed = take_long;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, alloc_meanwhile, &fixture->told), 0);
    expect_ok(tarn_pool_trim(pool, 0, NULL));
    pthread_join(thread, NULL);
    assert_int_equal(fixture->told.status, TARN_STATUS_OK);
    destroy(fixture, pool);
}

static void *alloc_on_another_stream(void *context)
{
    struct told *told = context;
    told->status =
        tarn_pool_alloc_on(told->pool, KIB, (tarn_stream)(uintptr_t)0x20, &told->address);
    return NULL;
}

static void let_another_stream_in(struct told *told, const struct piece *piece)
{
    if (told->nested_count++ > 0) return;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, alloc_on_another_stream, told), 0);
    pthread_join(thread, NULL);
}

static void another_stream_may_come_first(void **state)
{
    struct fixture *fixture = *state;
    fixture->told.when_created = let_another_stream_in;
    tarn_pool *pool = create(fixture);
    void *address;
    expect_ok(tarn_pool_alloc_on(pool, KIB, (tarn_stream)(uintptr_t)0x10, &address));
    assert_int_equal(fixture->told.status, TARN_STATUS_OK);
    destroy(fixture, pool);
}

struct worker {
    struct fixture *fixture;
    unsigned number;
    unsigned success_count;
};

static void *churn(void *context)
{
    struct worker *worker = context;
    tarn_pool *pool = worker->fixture->told.pool;
    for (unsigned i = 0; i < 300; i++) {
        void *address;
        size_t size_bytes = ((worker->number + i) * 7919 % 90 + 1) * KIB;
        tarn_status status = tarn_pool_alloc(pool, size_bytes, &address);
        if (status == TARN_STATUS_OK) {
            worker->success_count++;
            if (i % 3 == 0) usleep(10);
            if (tarn_pool_free(pool, address) != TARN_STATUS_OK) break;
        }
        if (i % 5 == 0) (void)tarn_pool_trim(pool, 0, NULL);
    }
    return NULL;
}

static void dawdle(struct told *told, const struct piece *piece)
{
    usleep(20);
}

/* Each thread alone fits under the limit, all together do not. */
static void run_churn(struct fixture *fixture)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    fixture->options.limit_bytes = 200 * KIB;
    tarn_pool *pool = create(fixture);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ fixture, i, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &workers[i]), 0);
    }
    /* One that the system holds back may find the memory taken each time. */
    unsigned success_count = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        success_count += workers[i].success_count;
    }
    assert_true(success_count > 0);
    assert_true(fixture->backend.held_bytes_max <= 200 * KIB);
    assert_true(stats_of(pool).footprint_bytes_max <= 200 * KIB);
    assert_int_equal(stats_of(pool).live_count, 0);
    destroy(fixture, pool);
}

static void growth_by_several_threads_keeps_the_limit(void **state)
{
    struct fixture *fixture = *state;
    fixture->told.when_created = dawdle;
    fixture->told.when_destroyed = dawdle;
    run_churn(fixture);
}

static void so_it_does_without_functions(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.on_static_pool_created = NULL;
    fixture->options.on_static_pool_destroyed = NULL;
    run_churn(fixture);
}

/* --- host memory ----------------------------------------------------------------------------------- */

static void what_cannot_be_inserted_is_taken_back(void **state)
{
    struct fixture *fixture = *state;
    unsigned n = 1;
    size_t untold = 0, taken_back = 0;
    for (bool has_failed = true; has_failed; n++) {
        tarn_pool *pool = create(fixture);
        fixture->told.created_count = fixture->told.destroyed_count = 0;
        void *address = fixture;
        host_memory_faults_begin(n);
        tarn_status status = tarn_pool_alloc(pool, KIB, &address);
        has_failed = host_memory_faults_end();
        assert_int_equal(status, has_failed ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        if (has_failed) {
            assert_ptr_equal(address, fixture);
            untold += fixture->told.created_count == 0;
            taken_back += fixture->told.destroyed_count;
        }
        destroy(fixture, pool);
    }
    assert_true(untold > 0);
    assert_true(taken_back > 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        CASE(each_static_pool_is_told_once_in_time),
        CASE(either_function_may_be_left_out),
        CASE(at_the_end_of_the_pool_it_cannot_be_used),
        CASE(a_piece_that_is_no_static_pool_is_not_told),
        CASE(the_functions_may_use_the_pool),
        CASE(a_call_from_within_a_function_fails_rather_than_waits),
        CASE(two_trims_at_once_keep_what_they_are_told),
        CASE(what_comes_during_a_trim_is_left_alone),
        CASE(a_function_may_wait_for_another_threads_growth),
        CASE(who_finds_nothing_waits_for_what_arrives),
        CASE(who_finds_nothing_waits_for_what_leaves),
        CASE(another_stream_may_come_first),
        CASE(growth_by_several_threads_keeps_the_limit),
        CASE(so_it_does_without_functions),
        CASE(what_cannot_be_inserted_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
