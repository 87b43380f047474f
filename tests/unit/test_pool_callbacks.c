/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The user is told of static pools: each once, in time, with no lock held. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "harness/host_memory_faults.h"
#include "pool_fixture.h"

enum {
    STATIC_POOLS_MAX = 4096,
    THREADS = 4
};

/* What was told, and what the test wants done when it is. */
static struct told {
    pthread_mutex_t lock;
    struct piece {
        void *base;
        size_t size_bytes;
        uint64_t id;
        bool is_there;
    } pieces[STATIC_POOLS_MAX];
    size_t created_count, destroyed_count;
    void (*when_created)(const struct piece *piece);
    void (*when_destroyed)(const struct piece *piece);
    void *address;
    tarn_status status;
    unsigned nested_count;
    atomic_bool has_begun;
} told;

static struct piece *find_piece(uint64_t id)
{
    for (size_t i = 0; i < told.created_count; i++) {
        if (told.pieces[i].id == id) return &told.pieces[i];
    }
    return NULL;
}

static void created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    assert_ptr_equal(user, &told);
    pthread_mutex_lock(&told.lock);
    assert_null(find_piece(id));
    assert_true(told.created_count < STATIC_POOLS_MAX);
    struct piece piece = { base, size_bytes, id, true };
    told.pieces[told.created_count++] = piece;
    pthread_mutex_unlock(&told.lock);
    if (told.when_created) told.when_created(&piece);
}

static void destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    assert_ptr_equal(user, &told);
    pthread_mutex_lock(&told.lock);
    struct piece *piece = find_piece(id);
    assert_non_null(piece);
    assert_true(piece->is_there);
    assert_ptr_equal(piece->base, base);
    assert_int_equal(piece->size_bytes, size_bytes);
    piece->is_there = false;
    told.destroyed_count++;
    struct piece copy = *piece;
    pthread_mutex_unlock(&told.lock);
    if (told.when_destroyed) told.when_destroyed(&copy);
}

static int set_up_told(void **state)
{
    begin_fixture(false);
    options.initial_bytes = 64 * KIB;
    options.on_static_pool_created = created;
    options.on_static_pool_destroyed = destroyed;
    options.user = &told;
    memset(&told, 0, sizeof told);
    pthread_mutex_init(&told.lock, NULL);
    return 0;
}

static int tear_down_told(void **state)
{
    told.when_destroyed = NULL; /* the pool cannot be asked any more */
    if (pool) assert_int_equal(stats_of(pool).footprint_bytes, backend.held_bytes);
    tear_down(state);
    assert_int_equal(told.created_count, told.destroyed_count);
    return 0;
}

/* --- when ---------------------------------------------------------------------------------------- */

static void expect_nothing_handed_out(const struct piece *piece)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    assert_int_equal(tarn_pool_find(piece->base, &found), TARN_STATUS_FOREIGN_ADDRESS);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.footprint_bytes, backend.held_bytes);
    expect_ok(tarn_pool_check(pool));
}

static void each_static_pool_is_told_once_in_time(void **state)
{
    told.when_created = expect_nothing_handed_out;
    told.when_destroyed = expect_nothing_handed_out;
    create();
    assert_int_equal(told.created_count, 0);
    void *a = alloc(60 * KIB);
    tarn_allocation found = found_at(a);
    assert_int_equal(told.created_count, 1);
    assert_ptr_equal(found.static_pool_base, told.pieces[0].base);
    assert_int_equal(found.static_pool_bytes, told.pieces[0].size_bytes);
    assert_int_equal(found.static_pool_id, told.pieces[0].id);

    void *b = alloc(128 * KIB);
    free_one(b);
    assert_int_equal(told.created_count, 2);
    assert_int_equal(told.destroyed_count, 0);
    assert_int_equal(trim(0), 128 * KIB);
    assert_int_equal(told.destroyed_count, 1);
    assert_false(told.pieces[1].is_there);
}

static void either_function_may_be_left_out(void **state)
{
    options.on_static_pool_destroyed = NULL;
    create();
    free_one(alloc(KIB));
    trim(0);
    destroy();
    assert_int_equal(told.created_count, 1);
    options.on_static_pool_created = NULL;
    create();
    alloc(KIB);
    destroy();
    assert_int_equal(told.created_count, 1);
}

static void expect_closed(const struct piece *piece)
{
    void *address;
    assert_int_equal(tarn_pool_alloc(pool, 1, &address), TARN_STATUS_INVALID_POOL);
    assert_int_equal(backend.held_bytes, piece->size_bytes);
}

static void at_the_end_of_the_pool_it_cannot_be_used(void **state)
{
    create();
    free_one(alloc(KIB));
    told.when_destroyed = expect_closed;
    destroy();
    assert_int_equal(told.destroyed_count, 1);
}

static void a_piece_that_is_no_static_pool_is_not_told(void **state)
{
    backend.alignment_bytes = 256;
    backend.misalignment_bytes = 256;
    options.initial_bytes = 0;
    create();
    alloc(4 * KIB); /* the tight piece does not hold it, and goes back */
    assert_int_equal(backend.release_count, 1);
    assert_int_equal(told.created_count, 1);
    assert_int_equal(told.destroyed_count, 0);
}

/* --- calling back in ------------------------------------------------------------------------------- */

static void use_the_pool(const struct piece *piece)
{
    if (told.nested_count++ > 0) return;
    void *small = alloc(3 * KIB), *large = alloc(300 * KIB);
    free_one(small);
    expect_ok(tarn_pool_check(pool));
    free_one(large);
    trim(0);
}

static void the_functions_may_use_the_pool(void **state)
{
    told.when_created = use_the_pool;
    create();
    void *address = alloc(60 * KIB);
    /* While a static pool arrives others get just what they need. */
    assert_int_equal(backend.asked_bytes[0], 64 * KIB);
    assert_int_equal(backend.asked_bytes[1], 4 * KIB);
    assert_int_equal(backend.asked_bytes[2], 300 * KIB);
    /* Nor does anything go while one arrives. */
    assert_int_equal(told.destroyed_count, 0);
    assert_int_equal(stats_of(pool).footprint_bytes, 368 * KIB);
    trim(0);
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);

    told.when_created = NULL;
    told.when_destroyed = use_the_pool;
    told.nested_count = 0;
    free_one(address);
    assert_int_equal(trim(0), 64 * KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
}

static void ask_for_more(const struct piece *piece)
{
    if (told.nested_count++ == 0) told.status = tarn_pool_alloc(pool, KIB, &told.address);
}

static void a_call_from_within_a_function_fails_rather_than_waits(void **state)
{
    options.limit_bytes = 64 * KIB;
    told.when_created = ask_for_more;
    create();
    alloc(KIB);
    assert_int_equal(told.status, TARN_STATUS_OVER_LIMIT);
    told.when_created = NULL;
}

static void trim_with(const struct piece *piece)
{
    if (told.nested_count++ == 0) trim(128 * KIB);
}

static void two_trims_at_once_keep_what_they_are_told(void **state)
{
    create();
    void *a = alloc(64 * KIB), *b = alloc(128 * KIB), *c = alloc(256 * KIB);
    free_one(a);
    free_one(b);
    free_one(c);
    told.when_destroyed = trim_with;
    trim(128 * KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, 128 * KIB);
}

static void alloc_and_free_large(const struct piece *piece)
{
    if (told.nested_count++ < 100) free_one(alloc(500 * KIB));
}

/* Else a trim might never end. */
static void what_comes_during_a_trim_is_left_alone(void **state)
{
    create();
    free_one(alloc(KIB));
    told.when_destroyed = alloc_and_free_large;
    assert_int_equal(trim(0), 64 * KIB);
    assert_int_equal(told.nested_count, 1);
    assert_int_equal(stats_of(pool).static_pool_count, 1);
}

/* --- other threads --------------------------------------------------------------------------------- */

static void *alloc_and_free(void *context)
{
    void *address;
    told.status = tarn_pool_alloc(pool, 100 * KIB, &address);
    if (told.status == TARN_STATUS_OK) told.status = tarn_pool_free(pool, address);
    return NULL;
}

static void wait_for_another_thread(const struct piece *piece)
{
    if (told.nested_count++ > 0) return;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, alloc_and_free, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(told.status, TARN_STATUS_OK);
}

static void a_function_may_wait_for_another_threads_growth(void **state)
{
    told.when_created = wait_for_another_thread;
    create();
    void *address = alloc(KIB);
    assert_int_equal(told.nested_count, 2);
    told.when_created = NULL;
    told.when_destroyed = wait_for_another_thread;
    told.nested_count = 0;
    free_one(address);
    trim(0);
}

static void *alloc_meanwhile(void *context)
{
    while (!atomic_load(&told.has_begun))
        usleep(100);
    told.status = tarn_pool_alloc(pool, KIB, &told.address);
    return NULL;
}

static void take_long(const struct piece *piece)
{
    atomic_store(&told.has_begun, true);
    usleep(50000);
}

/* Only the static pool that is on its way can serve the second thread. */
static void who_finds_nothing_waits_for_what_arrives(void **state)
{
    options.limit_bytes = 64 * KIB;
    told.when_created = take_long;
    create();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, alloc_meanwhile, NULL), 0);
    alloc(KIB);
    pthread_join(thread, NULL);
    assert_int_equal(told.status, TARN_STATUS_OK);
    assert_int_equal(backend.acquire_count, 1);
    assert_int_equal(stats_of(pool).failed_count, 0);
}

/* The memory that it needs is on its way back. */
static void who_finds_nothing_waits_for_what_leaves(void **state)
{
    backend.capacity_bytes = 64 * KIB;
    create();
    free_one(alloc(KIB));
    told.when_destroyed = take_long;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, alloc_meanwhile, NULL), 0);
    trim(0);
    pthread_join(thread, NULL);
    assert_int_equal(told.status, TARN_STATUS_OK);
}

static void *alloc_on_another_stream(void *context)
{
    told.status = tarn_pool_alloc_on(pool, KIB, B, &told.address);
    return NULL;
}

static void let_another_stream_in(const struct piece *piece)
{
    if (told.nested_count++ > 0) return;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, alloc_on_another_stream, NULL), 0);
    pthread_join(thread, NULL);
}

static void another_stream_may_come_first(void **state)
{
    told.when_created = let_another_stream_in;
    create();
    alloc_on(KIB, A);
    assert_int_equal(told.status, TARN_STATUS_OK);
}

struct worker {
    unsigned number;
    unsigned success_count;
};

static void *churn(void *context)
{
    struct worker *worker = context;
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

static void dawdle(const struct piece *piece)
{
    usleep(20);
}

/* Each thread alone fits under the limit, all together do not. */
static void run_churn(void)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    options.limit_bytes = 200 * KIB;
    create();
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ .number = i };
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &workers[i]), 0);
    }
    /* One that the system holds back may find the memory taken each time. */
    unsigned success_count = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        success_count += workers[i].success_count;
    }
    assert_true(success_count > 0);
    assert_true(backend.held_bytes_max <= 200 * KIB);
    assert_true(stats_of(pool).footprint_bytes_max <= 200 * KIB);
    assert_int_equal(stats_of(pool).live_count, 0);
}

static void growth_by_several_threads_keeps_the_limit(void **state)
{
    told.when_created = dawdle;
    told.when_destroyed = dawdle;
    run_churn();
}

static void so_it_does_without_functions(void **state)
{
    options.on_static_pool_created = NULL;
    options.on_static_pool_destroyed = NULL;
    run_churn();
}

/* --- host memory ----------------------------------------------------------------------------------- */

static void what_cannot_be_inserted_is_taken_back(void **state)
{
    unsigned n = 1;
    size_t untold = 0, taken_back = 0;
    for (bool has_failed = true; has_failed; n++) {
        create();
        told.created_count = told.destroyed_count = 0;
        void *address = &backend;
        host_memory_faults_begin(n);
        tarn_status status = tarn_pool_alloc(pool, KIB, &address);
        has_failed = host_memory_faults_end();
        assert_int_equal(status, has_failed ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        if (has_failed) {
            assert_ptr_equal(address, &backend);
            untold += told.created_count == 0;
            taken_back += told.destroyed_count;
        }
        destroy();
    }
    assert_true(untold > 0);
    assert_true(taken_back > 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_told, tear_down_told)
    const struct CMUnitTest tests[] = {
        CASE(each_static_pool_is_told_once_in_time),
        cmocka_unit_test_setup_teardown(either_function_may_be_left_out, set_up_told, tear_down),
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
