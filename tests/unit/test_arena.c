/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_arena: what threads get of their own, what becomes of it when it is gathered, and that nobody sees the
 * difference. Made by request here; that waiting brings arenas is the last test's.
 */
#include "core/pool/pool_arenas.h"

#include <pthread.h>

#include "core/pool/route.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"
#include "pool_fixture.h"
#include "tarn/host.h"

#define C ((tarn_stream)0xc0)

/* --- one thread ---------------------------------------------------------------------------------- */

static void an_alloc_takes_an_arena_and_frees_go_there(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    void *first = alloc(fixture, 3000);
    expect_active(fixture, 1);
    assert_int_equal(own_arena(fixture)->part.stats.alloc_count, 1);
    void *second = alloc(fixture, 5000);
    assert_true((uintptr_t)second - (uintptr_t)first == 3072);
    expect_ok(tarn_pool_free(fixture->pool, first));
    expect_ok(tarn_pool_free(fixture->pool, second));
    assert_int_equal(own_arena(fixture)->part.stats.free_count, 2);
    expect_active(fixture, 1);
}

static void looking_at_the_pool_gathers(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    tarn_stats before = stats_of(fixture->pool);
    void *addresses[5];
    for (size_t i = 0; i < 5; i++)
        addresses[i] = alloc(fixture, 1000 + i);
    expect_ok(tarn_pool_free(fixture->pool, addresses[2]));
    expect_active(fixture, 1);
    tarn_stats stats = stats_of(fixture->pool);
    expect_active(fixture, 0);
    assert_int_equal(stats.live_count, 4);
    assert_int_equal(stats.alloc_count, before.alloc_count + 5);
    assert_int_equal(stats.free_count, before.free_count + 1);
    assert_int_equal(stats.requested_bytes, 4000 + 0 + 1 + 3 + 4);
    assert_int_equal(stats.used_bytes, 4 * 1024);
    assert_int_equal(stats.footprint_bytes, before.footprint_bytes);
    assert_true(stats.metadata_bytes > before.metadata_bytes + 66 * 1024);
    expect_ok(tarn_pool_check(fixture->pool));

    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find((char *)addresses[4] + 7, &found));
    assert_ptr_equal(found.address, addresses[4]);
    for (size_t i = 0; i < 5; i++) {
        if (i != 2) expect_ok(tarn_pool_free(fixture->pool, addresses[i]));
    }
    /* All is one region again. */
    assert_int_equal(stats_of(fixture->pool).free_region_count, 1);
    assert_int_equal(fixture->pool->own.index.promised_count, 0);
}

static void what_is_not_live_is_refused(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    char *address = alloc(fixture, 3000);
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(fixture->pool, address + 1024));
    want_arenas(fixture); /* saying why has gathered them */
    void *again = alloc(fixture, 700);
    expect_ok(tarn_pool_free(fixture->pool, again));
    expect_active(fixture, 1);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(fixture->pool, again));
    int foreign;
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(fixture->pool, &foreign));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(fixture->pool, (void *)UINTPTR_MAX));
    expect_ok(tarn_pool_free(fixture->pool, address));
}

/* The first chunk of a loan is the first of a live region of the pool's own index. */
static void a_loan_cannot_be_freed(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    void *first = alloc(fixture, 1000), *second = alloc(fixture, 1000);
    expect_ok(tarn_pool_free(fixture->pool, first));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(fixture->pool, first));
    expect_ok(tarn_pool_free(fixture->pool, second));
}

/* One that is freed twice may have been lent between the look for arenas and the lock. */
static void a_loan_cannot_be_freed_by_who_saw_no_arenas(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    void *first = alloc(fixture, 1000), *second = alloc(fixture, 1000);
    expect_ok(tarn_pool_free(fixture->pool, first));
    atomic_store(&fixture->pool->arenas.active_count, 0);
    assert_int_equal(tn_pool_free(fixture->pool, first, NULL, &(tarn_stream){ NULL }, 1),
                     TARN_STATUS_NOT_LIVE);
    atomic_store(&fixture->pool->arenas.active_count, 1);
    expect_ok(tarn_pool_free(fixture->pool, second));
}

/* All that an arena has served is free again, and coalesces with what lies beside the loan. */
static void arenas_that_pay_stay_wanted(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    for (int i = 0; i < 100; i++)
        expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 1000)));
    gather(fixture);
    assert_true(tn_arenas_are_wanted(&fixture->pool->arenas));

    void *addresses[50]; /* fewer calls than there is to move */
    for (int i = 0; i < 50; i++)
        addresses[i] = alloc(fixture, 1000);
    fixture->pool->lock.wait_count = TN_ARENA_WAITS;
    gather(fixture);
    assert_false(tn_arenas_are_wanted(&fixture->pool->arenas));
    assert_int_equal(fixture->pool->lock.wait_count, 0);
    for (int i = 0; i < 50; i++)
        expect_ok(tarn_pool_free(fixture->pool, addresses[i]));
}

static void what_an_arena_lacks_it_borrows_or_the_pool_serves(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    void *addresses[20];
    size_t footprint_bytes = stats_of(fixture->pool).footprint_bytes; /* 64 MiB */
    for (size_t i = 0; i < 20; i++)
        addresses[i] = alloc(fixture, (MIB * 3) / 2);
    assert_true(own_arena(fixture)->loan_count > 1);
    assert_int_equal(stats_of(fixture->pool).footprint_bytes, footprint_bytes);
    for (size_t i = 0; i < 20; i++)
        expect_ok(tarn_pool_free(fixture->pool, addresses[i]));
}

/* As long as a third of what is held is used before it. */
static void for_its_arenas_a_pool_grows_within_bounds(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    void *addresses[40];
    for (size_t i = 0; i < 40; i++)
        addresses[i] = alloc(fixture, (MIB * 3) / 2);
    expect_active(fixture, 1);
    tarn_stats stats = stats_of(fixture->pool);
    assert_true(stats.footprint_bytes > 64 * MIB); /* 60 are live, in loans of a few each */
    assert_true(stats.footprint_bytes <= 3 * 64 * MIB);
    for (size_t i = 0; i < 40; i++)
        expect_ok(tarn_pool_free(fixture->pool, addresses[i]));
}

/* Free chunks of an arena and of the pool that only together are enough. */
static void nothing_is_out_of_memory_for_a_loan(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.capacity_bytes = 64 * MIB;
    warm_up(fixture);
    void *small = alloc(fixture, 1000);
    expect_active(fixture, 1);
    expect_ok(tarn_pool_free(fixture->pool, small));
    void *all = alloc(fixture, 64 * MIB);
    expect_active(fixture, 0);
    expect_ok(tarn_pool_free(fixture->pool, all));
}

static void loans_come_to_an_end(void **state)
{
    struct fixture *fixture = *state;
    enum {
        COUNT = 30
    };
    warm_up(fixture);
    void *addresses[COUNT];
    for (size_t i = 0; i < COUNT; i++) /* more and more */
        addresses[i] = alloc(fixture, (i + 1) * 400 * 1024);
    assert_true(own_arena(fixture)->loan_count <= TN_ARENA_LOANS_MAX);
    for (size_t i = 0; i < COUNT; i++)
        expect_ok(tarn_pool_free(fixture->pool, addresses[i]));
}

/* --- kinds of pools that have none ---------------------------------------------------------------- */

static void expect_no_arenas(struct fixture *fixture)
{
    expect_ok(tarn_pool_destroy(fixture->pool));
    fixture_create_pool(fixture);
    tn_biased_mutex_lock(&fixture->pool->lock);
    assert_false(tn_arenas_want(fixture->pool));
    tn_biased_mutex_unlock(&fixture->pool->lock);
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 1000)));
    expect_active(fixture, 0);
}

static void pools_whose_frees_do_more_have_none(void **state)
{
    struct fixture *fixture = *state;
    const tarn_pool_options plain = fixture->options;
    fixture->options.returns_when_empty = true;
    expect_no_arenas(fixture);
    fixture->options = plain;
    fixture->options.release_threshold_bytes = MIB;
    expect_no_arenas(fixture);
    fixture->options = plain;
    fixture->options.passes_through = true;
    expect_no_arenas(fixture);
    fixture->options = plain;
    fixture->options.debug = TARN_DEBUG_SITES;
    expect_no_arenas(fixture);
}

/* --- streams -------------------------------------------------------------------------------------- */

static void an_arena_keeps_the_order_of_streams(void **state)
{
    struct fixture *fixture = *state;
    void *on_a = alloc_on(fixture, 1000, A), *on_b = alloc_on(fixture, 1000, B);
    expect_ok(tarn_pool_free_on(fixture->pool, on_b, B));
    want_arenas(fixture);
    void *x = alloc_on(fixture, 2000, A);
    expect_active(fixture, 1);
    expect_ok(tarn_pool_free_on(fixture->pool, x, A));
    assert_ptr_equal(alloc_on(fixture, 2000, A), x); /* its own at once */
    expect_ok(tarn_pool_free_on(fixture->pool, x, A));
    void *y = alloc_on(fixture, 2000, B);
    assert_ptr_not_equal(y, x);
    expect_ok(tarn_pool_free_on(fixture->pool, y, B));
    expect_active(fixture, 1);
    assert_int_equal(fixture->backend.wait_count, 0);

    /* Gathered, what was freed on a still waits for a. */
    gather(fixture);
    tarn_stats stats = stats_of(fixture->pool);
    assert_int_equal(stats.pending_bytes, 2 * 2048 + 1024);
    expect_ok(tarn_pool_free_on(fixture->pool, on_a, A));
    expect_ok(tarn_pool_check(fixture->pool));
}

static void an_unknown_stream_is_introduced(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    void *address = alloc(fixture, 1000);
    expect_active(fixture, 1);
    expect_ok(tarn_pool_free_on(fixture->pool, address, B));
    address = alloc_on(fixture, 1000, A);
    const tarn_stream both[] = { A, B };
    expect_ok(tarn_pool_free_after(fixture->pool, address, both, 2));
    expect_ok(tarn_pool_check(fixture->pool));
}

/* A handle that has ended, and whose number is another stream's now. */
static void an_arena_forgets_streams_with_the_rest(void **state)
{
    struct fixture *fixture = *state;
    void *on_b = alloc_on(fixture, 1000, B);
    void *x = alloc_on(fixture, 1000, A);
    want_arenas(fixture);
    void *y = alloc_on(fixture, 2000, A);
    expect_active(fixture, 1);
    expect_ok(tarn_pool_free_after(fixture->pool, x, NULL, 0));
    expect_ok(tarn_pool_free_after(fixture->pool, y, NULL, 0));
    expect_ok(tarn_pool_free_after(fixture->pool, alloc_on(fixture, 2000, A), NULL, 0));
    expect_active(fixture, 1);
    expect_ok(tarn_stream_retire(A));
    test_backend_complete(&fixture->backend, A);
    /* What does not fit has the pool look for what has come to its end. */
    expect_ok(tarn_pool_free_on(fixture->pool, alloc_on(fixture, 100 * MIB, B), B));
    char *of_c = alloc_on(fixture, 8 * MIB, C);
    expect_ok(tarn_pool_free_on(fixture->pool, of_c, C));
    want_arenas(fixture);
    unsigned wait_count = fixture->backend.wait_count;
    char *z = alloc_on(fixture, 2000, A); /* a stream that nobody has seen */
    assert_int_equal(fixture->backend.wait_count, wait_count);
    assert_false(z >= of_c && z < of_c + 8 * MIB);
    expect_ok(tarn_pool_free_on(fixture->pool, z, A));
    expect_ok(tarn_pool_free_on(fixture->pool, on_b, B));
}

static void pass_on(struct fixture *fixture, uint32_t count)
{
    uint32_t before = fixture->pool->arenas.passed_on_count;
    char *address = alloc_on(fixture, 100 * KIB, A);
    assert_int_equal(fixture->pool->arenas.passed_on_count, before + 1);
    free_on(fixture, address, A);
    fixture->pool->arenas.passed_on_count = count;
}

/* What waits for a stream in pieces too small to be lent. */
static void a_pool_that_serves_too_much_looks_what_it_could_lend(void **state)
{
    struct fixture *fixture = *state;
    enum {
        COUNT = 512
    };
    static char *addresses[COUNT];
    void *on_b = alloc_on(fixture, 128 * KIB, B);
    addresses[0] = NULL;
    for (size_t i = 1; i < COUNT; i++)
        addresses[i] = alloc_on(fixture, 128 * KIB, A);
    for (size_t i = 1; i < COUNT; i += 2)
        free_on(fixture, addresses[i], A);
    want_arenas(fixture);
    free_on(fixture, alloc_on(fixture, 1100, A), A);
    expect_active(fixture, 1);
    const struct tn_arenas *arenas = &fixture->pool->arenas;
    pass_on(fixture, TN_ARENA_PASSED_ON_MAX - 1);
    assert_true(fixture->pool->own.index.pending_chunk_count > 20 * KIB);

    /* The stream has not come there: twice as many have to come before it is tried again. */
    free_on(fixture, alloc_on(fixture, 100 * KIB, A), A);
    assert_int_equal(arenas->passed_on_count, 0);
    assert_int_equal(arenas->passed_on_max, 2 * TN_ARENA_PASSED_ON_MAX);
    assert_true(fixture->pool->own.index.pending_chunk_count > 20 * KIB);

    /* Nor does anybody wait for who is at the vendor. */
    want_arenas(fixture);
    free_on(fixture, alloc_on(fixture, 1100, A), A);
    pass_on(fixture, 2 * TN_ARENA_PASSED_ON_MAX - 1);
    tn_mutex_lock(&fixture->pool->growth_lock);
    free_on(fixture, alloc_on(fixture, 100 * KIB, A), A);
    tn_mutex_unlock(&fixture->pool->growth_lock);
    expect_active(fixture, 1);

    test_backend_complete(&fixture->backend, A);
    want_arenas(fixture);
    free_on(fixture, alloc_on(fixture, 1100, A), A);
    pass_on(fixture, 2 * TN_ARENA_PASSED_ON_MAX - 1);
    free_on(fixture, alloc_on(fixture, 100 * KIB, A), A);
    assert_int_equal(arenas->passed_on_max, TN_ARENA_PASSED_ON_MAX);
    assert_true(fixture->pool->own.index.pending_chunk_count < KIB);

    free_on(fixture, on_b, B);
    for (size_t i = 2; i < COUNT; i += 2)
        free_on(fixture, addresses[i], A);
}

/* --- several threads ------------------------------------------------------------------------------ */

/* Nothing is gathered for a stream that the pool does not know, nor for an allocation or a free of the pool's own. */
static void the_pool_serves_what_no_arena_can(void **state)
{
    struct fixture *fixture = *state;
    tarn_stream stream = NULL;
    fixture->backend.capacity_bytes = 64 * MIB;
    char *pools = alloc(fixture, MIB);
    char *gap = alloc(fixture, 100 * KIB), *end = alloc(fixture, 63 * MIB - 100 * KIB);
    free_on(fixture, gap, NULL);
    want_arenas(fixture);
    free_on(fixture, alloc(fixture, 1000), NULL); /* borrows what there is, but for its edge */
    expect_active(fixture, 1);
    assert_null(tn_arena_alloc(fixture->pool, MIB, 1, A));
    expect_active(fixture, 1);

    assert_int_equal(tn_arena_free(fixture->pool, (uintptr_t)pools, NULL, &stream, 1),
                     TN_FREE_RESULT_FREED);
    assert_ptr_equal(tn_arena_alloc(fixture->pool, MIB, 1, NULL), pools);
    expect_active(fixture, 1);
    free_on(fixture, pools, NULL);
    free_on(fixture, end, NULL);
}

struct hand_over {
    struct fixture *fixture;
    void *to_free;
    void *allocated;
};

static void *free_and_alloc(void *argument)
{
    struct hand_over *hand_over = argument;
    expect_ok(tarn_pool_free(hand_over->fixture->pool, hand_over->to_free));
    hand_over->allocated = alloc(hand_over->fixture, 1000);
    return NULL;
}

static void another_threads_free_goes_to_the_arena(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    struct hand_over hand_over = { fixture, alloc(fixture, 1000), NULL };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_and_alloc, &hand_over), 0);
    pthread_join(thread, NULL);
    expect_active(fixture, 2);
    assert_int_equal(own_arena(fixture)->part.stats.free_count, 1);
    expect_ok(tarn_pool_free(fixture->pool, hand_over.allocated));
    assert_int_equal(own_arena(fixture)->part.stats.free_count, 1);
}

/* --- failing host memory -------------------------------------------------------------------------- */

static void every_host_allocation_may_fail(void **state)
{
    struct fixture *fixture = *state;
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        void *addresses[600];
        warm_up(fixture);
        host_memory_faults_begin(n);
        size_t count = 0;
        for (; count < 600; count++) {
            if (tarn_pool_alloc(fixture->pool, 1000, &addresses[count]) != TARN_STATUS_OK) break;
        }
        bool has_failed = host_memory_faults_end();
        expect_ok(tarn_pool_check(fixture->pool));
        assert_true(count == 600 || has_failed);
        for (size_t i = 0; i < count; i++)
            expect_ok(tarn_pool_free(fixture->pool, addresses[i]));
        assert_int_equal(stats_of(fixture->pool).live_count, 0);
        if (!has_failed) break;
        failures++;
        expect_ok(tarn_pool_destroy(fixture->pool));
        fixture_create_pool(fixture);
    }
    assert_true(failures > 5);
}

/* --- all at once ---------------------------------------------------------------------------------- */

enum {
    THREADS = 4,
    STEPS = 30000,
    SLOTS = 64
};

struct block {
    unsigned char *address;
    size_t size_bytes;
    unsigned char mark;
};

struct worker {
    struct fixture *fixture;
    pthread_mutex_t *lock;
    struct block *slots; /* shared by all */
    uint64_t seed;
    bool looks;
    size_t failures;
};

static struct block swap(struct worker *worker, size_t slot, struct block block)
{
    pthread_mutex_lock(worker->lock);
    struct block before = worker->slots[slot];
    worker->slots[slot] = block;
    pthread_mutex_unlock(worker->lock);
    return before;
}

static void free_block(struct worker *worker, struct block block)
{
    if (!block.address) return;
    worker->failures += block.address[0] != block.mark;
    worker->failures += block.address[block.size_bytes - 1] != block.mark;
    worker->failures += tarn_pool_free(worker->fixture->pool, block.address) != TARN_STATUS_OK;
}

/* Most frees are of blocks of other threads. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    tarn_pool *pool = worker->fixture->pool;
    struct random random = random_init(worker->seed);
    for (int step = 0; step < STEPS; step++) {
        struct block block = { NULL, (size_t)random_size(&random, 16), (unsigned char)step };
        void *address;
        if (tarn_pool_alloc(pool, block.size_bytes, &address) == TARN_STATUS_OK) {
            block.address = address;
            block.address[0] = block.mark;
            block.address[block.size_bytes - 1] = block.mark;
        } else {
            worker->failures++;
        }
        free_block(worker, swap(worker, (size_t)random_below(&random, SLOTS), block));
        if (worker->looks && step % 500 == 0)
            worker->failures += tarn_pool_check(pool) != TARN_STATUS_OK;
        if (worker->looks && step % 700 == 0) want_arenas(worker->fixture);
    }
    return NULL;
}

static void run_threads(struct fixture *fixture, bool looks)
{
    struct block slots[SLOTS] = { { NULL, 0, 0 } };
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint64_t seed = random_seed(11);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ fixture, &lock, slots, seed + i, looks, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    for (size_t slot = 0; slot < SLOTS; slot++)
        free_block(&workers[0], slots[slot]);
    assert_int_equal(workers[0].failures, 0);
}

/* Over memory that can be written. */
static void use_host_backend(struct fixture *fixture)
{
    expect_ok(tarn_pool_destroy(fixture->pool));
    tarn_backend_close(&fixture->handle);
    expect_ok(tarn_host_backend_open(NULL, &fixture->handle));
    fixture_create_pool(fixture);
}

static void threads_do_not_notice_arenas_coming_and_going(void **state)
{
    struct fixture *fixture = *state;
    use_host_backend(fixture);
    warm_up(fixture);
    run_threads(fixture, true);
    assert_int_equal(stats_of(fixture->pool).live_count, 0);
}

static void *alloc_and_free(void *argument)
{
    struct fixture *fixture = argument;
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 1000)));
    return NULL;
}

/* A thread that comes while the lock is held. Where the system was slow it may come later, so there are some turns
 * more than needed. */
static void let_one_thread_wait(struct fixture *fixture)
{
    pthread_t thread;
    tn_biased_mutex_lock(&fixture->pool->lock);
    assert_int_equal(pthread_create(&thread, NULL, alloc_and_free, fixture), 0);
    tn_thread_sleep_shortly();
    tn_biased_mutex_unlock(&fixture->pool->lock);
    pthread_join(thread, NULL);
}

static void waiting_brings_arenas(void **state)
{
    struct fixture *fixture = *state;
    int turn_count = 0;
    while (!tn_arenas_are_wanted(&fixture->pool->arenas)) {
        let_one_thread_wait(fixture);
        assert_true(++turn_count < 100 * TN_ARENA_WAITS);
    }
    assert_true(turn_count >= TN_ARENA_WAITS / 2);
    void *address = alloc(fixture, 1000);
    expect_active(fixture, 1);
    expect_ok(tarn_pool_free(fixture->pool, address));
}

static void threads_that_crowd_the_pool_leave_it_sound(void **state)
{
    struct fixture *fixture = *state;
    use_host_backend(fixture);
    run_threads(fixture, false);
    assert_int_equal(stats_of(fixture->pool).live_count, 0);
}

#define TEST(function) \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown_empty)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(an_alloc_takes_an_arena_and_frees_go_there),
        TEST(looking_at_the_pool_gathers),
        TEST(what_is_not_live_is_refused),
        TEST(a_loan_cannot_be_freed),
        TEST(a_loan_cannot_be_freed_by_who_saw_no_arenas),
        TEST(arenas_that_pay_stay_wanted),
        TEST(what_an_arena_lacks_it_borrows_or_the_pool_serves),
        TEST(for_its_arenas_a_pool_grows_within_bounds),
        TEST(nothing_is_out_of_memory_for_a_loan),
        TEST(loans_come_to_an_end),
        TEST(pools_whose_frees_do_more_have_none),
        TEST(an_arena_keeps_the_order_of_streams),
        TEST(an_unknown_stream_is_introduced),
        TEST(an_arena_forgets_streams_with_the_rest),
        TEST(a_pool_that_serves_too_much_looks_what_it_could_lend),
        TEST(the_pool_serves_what_no_arena_can),
        TEST(another_threads_free_goes_to_the_arena),
        TEST(every_host_allocation_may_fail),
        TEST(threads_do_not_notice_arenas_coming_and_going),
        TEST(waiting_brings_arenas),
        TEST(threads_that_crowd_the_pool_leave_it_sound),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
