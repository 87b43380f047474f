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
#include "tarn/host.h"
#include "pool_fixture.h"

/* --- one thread ---------------------------------------------------------------------------------- */

static void an_alloc_takes_an_arena_and_frees_go_there(void **state)
{
    warm_up();
    void *first = alloc(3000);
    expect_active(1);
    assert_int_equal(own_arena()->part.stats.alloc_count, 1);
    void *second = alloc(5000);
    assert_true((uintptr_t)second - (uintptr_t)first == 3072);
    free_one(first);
    free_one(second);
    assert_int_equal(own_arena()->part.stats.free_count, 2);
    expect_active(1);
}

static void looking_at_the_pool_gathers(void **state)
{
    warm_up();
    tarn_stats before = stats_of(pool);
    void *addresses[5];
    for (size_t i = 0; i < 5; i++)
        addresses[i] = alloc(1000 + i);
    free_one(addresses[2]);
    expect_active(1);
    tarn_stats stats = stats_of(pool);
    expect_active(0);
    assert_int_equal(stats.live_count, 4);
    assert_int_equal(stats.alloc_count, before.alloc_count + 5);
    assert_int_equal(stats.free_count, before.free_count + 1);
    assert_int_equal(stats.requested_bytes, 4000 + 0 + 1 + 3 + 4);
    assert_int_equal(stats.used_bytes, 4 * 1024);
    assert_int_equal(stats.footprint_bytes, before.footprint_bytes);
    assert_true(stats.metadata_bytes > before.metadata_bytes + 66 * 1024);
    expect_ok(tarn_pool_check(pool));

    tarn_allocation found = found_at((char *)addresses[4] + 7);
    assert_ptr_equal(found.address, addresses[4]);
    for (size_t i = 0; i < 5; i++) {
        if (i != 2) free_one(addresses[i]);
    }
    /* All is one region again. */
    assert_int_equal(stats_of(pool).free_region_count, 1);
    assert_int_equal(pool->own.index.promised_count, 0);
}

static void what_is_not_live_is_refused(void **state)
{
    warm_up();
    char *address = alloc(3000);
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, address + 1024));
    want_arenas(); /* saying why has gathered them */
    void *again = alloc(700);
    free_one(again);
    expect_active(1);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, again));
    int foreign;
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, &foreign));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, (void *)UINTPTR_MAX));
    free_one(address);
}

/* The first chunk of a loan is the first of a live region of the pool's own index. */
static void a_loan_cannot_be_freed(void **state)
{
    warm_up();
    void *first = alloc(1000), *second = alloc(1000);
    free_one(first);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, first));
    free_one(second);
}

/* One that is freed twice may have been lent between the look for arenas and the lock. */
static void a_loan_cannot_be_freed_by_who_saw_no_arenas(void **state)
{
    warm_up();
    void *first = alloc(1000), *second = alloc(1000);
    free_one(first);
    atomic_store(&pool->arenas.active_count, 0);
    assert_int_equal(tn_pool_free(pool, first, NULL, &(tarn_stream){ NULL }, 1),
                     TARN_STATUS_NOT_LIVE);
    atomic_store(&pool->arenas.active_count, 1);
    free_one(second);
}

/* All that an arena has served is free again, and coalesces with what lies beside the loan. */
static void arenas_that_pay_stay_wanted(void **state)
{
    warm_up();
    for (int i = 0; i < 100; i++)
        free_one(alloc(1000));
    gather();
    assert_true(tn_arenas_are_wanted(&pool->arenas));

    void *addresses[50]; /* fewer calls than there is to move */
    for (int i = 0; i < 50; i++)
        addresses[i] = alloc(1000);
    pool->lock.wait_count = TN_ARENA_WAITS;
    gather();
    assert_false(tn_arenas_are_wanted(&pool->arenas));
    assert_int_equal(pool->lock.wait_count, 0);
    for (int i = 0; i < 50; i++)
        free_one(addresses[i]);
}

static void what_an_arena_lacks_it_borrows_or_the_pool_serves(void **state)
{
    warm_up();
    void *addresses[20];
    size_t footprint_bytes = stats_of(pool).footprint_bytes; /* 64 MiB */
    addresses[0] = alloc((MIB * 3) / 2);
    uint32_t lent_chunk_count = own_arena()->lent_chunk_count;
    for (size_t i = 1; i < 20; i++)
        addresses[i] = alloc((MIB * 3) / 2);
    assert_true(own_arena()->lent_chunk_count > lent_chunk_count);
    assert_int_equal(stats_of(pool).footprint_bytes, footprint_bytes);
    for (size_t i = 0; i < 20; i++)
        free_one(addresses[i]);
}

/* As long as a third of what is held is used before it. */
static void for_its_arenas_a_pool_grows_within_bounds(void **state)
{
    warm_up();
    void *addresses[50];
    for (size_t i = 0; i < 50; i++)
        addresses[i] = alloc((MIB * 3) / 2);
    expect_active(1);
    tarn_stats stats = stats_of(pool);
    assert_true(stats.footprint_bytes > 64 * MIB);
    /* Growth counts what the arenas use. */
    assert_in_range(backend.asked_bytes[1], 32 * MIB, 64 * MIB);
    assert_true(stats.footprint_bytes <= 3 * 64 * MIB);
    for (size_t i = 0; i < 50; i++)
        free_one(addresses[i]);
}

/* Free chunks of an arena and of the pool that only together are enough. */
static void nothing_is_out_of_memory_for_a_loan(void **state)
{
    backend.capacity_bytes = 64 * MIB;
    warm_up();
    void *small = alloc(1000);
    expect_active(1);
    free_one(small);
    void *all = alloc(64 * MIB);
    expect_active(0);
    free_one(all);
}

static void loans_come_to_an_end(void **state)
{
    enum {
        COUNT = 30
    };
    warm_up();
    void *addresses[COUNT];
    for (size_t i = 0; i < COUNT; i++) /* more and more */
        addresses[i] = alloc((i + 1) * 400 * 1024);
    assert_true(own_arena()->loan_count <= TN_ARENA_LOANS_MAX);
    for (size_t i = 0; i < COUNT; i++)
        free_one(addresses[i]);
}

/* --- kinds of pools that have none ---------------------------------------------------------------- */

static void expect_no_arenas(void)
{
    create_anew();
    tn_biased_mutex_lock(&pool->lock);
    assert_false(tn_arenas_want(pool));
    tn_biased_mutex_unlock(&pool->lock);
    free_one(alloc(1000));
    expect_active(0);
}

static void pools_whose_frees_do_more_have_none(void **state)
{
    const tarn_pool_options plain = options;
    options.returns_when_empty = true;
    expect_no_arenas();
    options = plain;
    options.release_threshold_bytes = MIB;
    expect_no_arenas();
    options = plain;
    options.passes_through = true;
    expect_no_arenas();
    options = plain;
    options.debug = TARN_DEBUG_SITES;
    expect_no_arenas();
}

/* --- streams -------------------------------------------------------------------------------------- */

static void an_arena_keeps_the_order_of_streams(void **state)
{
    void *on_a = alloc_on(1000, A), *on_b = alloc_on(1000, B);
    free_on(on_b, B);
    want_arenas();
    void *x = alloc_on(2000, A);
    expect_active(1);
    free_on(x, A);
    assert_ptr_equal(alloc_on(2000, A), x); /* its own at once */
    free_on(x, A);
    void *y = alloc_on(2000, B);
    assert_ptr_not_equal(y, x);
    free_on(y, B);
    expect_active(1);
    assert_int_equal(backend.wait_count, 0);

    /* Gathered, what was freed on a still waits for a. */
    gather();
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.pending_bytes, 2 * 2048 + 1024);
    free_on(on_a, A);
}

static void an_unknown_stream_is_introduced(void **state)
{
    warm_up();
    void *address = alloc(1000);
    expect_active(1);
    free_on(address, B);
    address = alloc_on(1000, A);
    const tarn_stream both[] = { A, B };
    free_after(address, both, 2);
}

/* A handle that has ended, and whose number is another stream's now. */
static void an_arena_forgets_streams_with_the_rest(void **state)
{
    void *on_b = alloc_on(1000, B);
    void *x = alloc_on(1000, A);
    want_arenas();
    void *y = alloc_on(2000, A);
    expect_active(1);
    free_after(x, NULL, 0);
    free_after(y, NULL, 0);
    free_after(alloc_on(2000, A), NULL, 0);
    expect_active(1);
    expect_ok(tarn_stream_retire(A));
    test_backend_complete(&backend, A);
    /* What does not fit has the pool look for what has come to its end. */
    free_on(alloc_on(100 * MIB, B), B);
    char *of_c = alloc_on(8 * MIB, C);
    free_on(of_c, C);
    want_arenas();
    unsigned wait_count = backend.wait_count;
    char *z = alloc_on(2000, A); /* a stream that nobody has seen */
    assert_int_equal(backend.wait_count, wait_count);
    assert_false(z >= of_c && z < of_c + 8 * MIB);
    free_on(z, A);
    free_on(on_b, B);
}

/* --- several threads ------------------------------------------------------------------------------ */

/* Nothing is gathered for a stream that the pool does not know, nor for an allocation or a free of the pool's own. */
static void the_pool_serves_what_no_arena_can(void **state)
{
    tarn_stream stream = NULL;
    backend.capacity_bytes = 64 * MIB;
    char *pools = alloc(MIB);
    char *gap = alloc(100 * KIB), *end = alloc(63 * MIB - 100 * KIB);
    free_on(gap, NULL);
    want_arenas();
    free_on(alloc(1000), NULL); /* borrows what there is, but for its edge */
    expect_active(1);
    assert_null(tn_arena_alloc(pool, MIB, 1, A));
    expect_active(1);

    assert_int_equal(tn_arena_free(pool, (uintptr_t)pools, NULL, &stream, 1), TN_FREE_RESULT_FREED);
    assert_ptr_equal(tn_arena_alloc(pool, MIB, 1, NULL), pools);
    expect_active(1);
    free_on(pools, NULL);
    free_on(end, NULL);
}

/* An alignment beyond the chunk's, sizes that frees tell, and batches bring no arena home. */
static void nothing_unusual_gathers(void **state)
{
    static const size_t sizes[3] = { 1000, 70, 5000 };
    void *aligned, *batch[3];
    warm_up();
    char *first = alloc(20 * KIB);
    expect_active(1);
    uint64_t served_count = own_arena()->part.stats.alloc_count;
    expect_ok(tarn_pool_alloc_aligned(pool, 3000, 16 * KIB, &aligned));
    assert_int_equal((uintptr_t)aligned % (16 * KIB), 0);
    assert_int_equal(own_arena()->part.stats.alloc_count, served_count + 1);
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, first, 1000));
    char *again = alloc(1000);
    expect_active(1);
    expect_ok(tarn_pool_free_sized(pool, aligned, 3000));
    expect_ok(tarn_pool_alloc_many(pool, 3, sizes, batch));
    expect_ok(tarn_pool_free_many(pool, 3, batch));
    expect_active(1);
    expect_ok(tarn_pool_free_sized(pool, first, 20 * KIB));
    expect_ok(tarn_pool_free_sized(pool, again, 1000));
    expect_active(1);
}

static void expect_resized(void *address, size_t size_bytes)
{
    expect_ok(tarn_pool_resize(pool, address, size_bytes));
}

/* Which the pool itself does not know. */
static void a_fallbacks_memory_brings_no_arena_home(void **state)
{
    tarn_pool *fallback = new_pool(&options);
    options.fallback = fallback;
    create_anew();
    warm_up();
    void *block = alloc(1000), *of_fallback;
    size_t usable_bytes;
    expect_active(1);
    expect_ok(tarn_pool_alloc(fallback, 3000, &of_fallback));
    expect_ok(tarn_pool_usable_size(pool, of_fallback, &usable_bytes));
    expect_resized(of_fallback, 2000);
    expect_ok(tarn_pool_free_sized(pool, of_fallback, 2000));
    expect_active(1);
    free_one(block);
    options.fallback = NULL;
    create_anew();
    expect_ok(tarn_pool_destroy(fallback));
}

static void expect_not_resized(void *address, size_t size_bytes)
{
    expect_status(TARN_STATUS_NOT_IN_PLACE, tarn_pool_resize(pool, address, size_bytes));
}

/* In the thread's arena and in the pool's own part, whether it succeeds or not. */
static void a_resize_leaves_the_arenas_alone(void **state)
{
    void *of_pool = alloc(20 * KIB), *fence_of_pool = alloc(KIB);
    warm_up();
    char *block = alloc(20 * KIB), *fence = alloc(KIB), *small = alloc(30);
    expect_active(1);
    expect_resized(block, 5 * KIB);
    expect_resized(block, 12 * KIB);
    expect_resized(block, 11 * KIB + 1);
    expect_resized(block, 20 * KIB);
    expect_not_resized(block, 20 * KIB + 1);
    expect_resized(small, 20);
    expect_resized(small, 32);
    expect_not_resized(small, 33);
    expect_resized(of_pool, 10 * KIB);
    expect_resized(of_pool, 15 * KIB);
    expect_not_resized(of_pool, 21 * KIB);
    expect_active(1);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.requested_bytes, (15 + 1 + 20 + 1) * KIB + 32);
    assert_int_equal(stats.used_bytes, (15 + 1 + 20 + 1 + 1) * KIB);
    expect_ok(tarn_pool_check(pool));
    free_one(block);
    free_one(fence);
    free_one(small);
    free_one(of_pool);
    free_one(fence_of_pool);
}

/* A chunk that is cut and has no live slice is free for it. */
static void a_resize_takes_a_kept_chunk(void **state)
{
    warm_up();
    char *block = alloc(3000), *small = alloc(8);
    assert_ptr_equal(small, block + 3 * KIB);
    free_one(small);
    assert_int_equal(own_arena()->part.slices.kept_count, 1);
    expect_resized(block, 4 * KIB);
    expect_active(1);
    free_one(block);
}

/* Behind the chunks that the arena has borrowed lie those of the pool. */
static void a_resize_that_reaches_the_end_of_a_loan_gathers(void **state)
{
    warm_up();
    void *first = alloc(KIB);
    size_t rest_bytes = tn_region_index_largest_free(&own_arena()->part.index) * KIB;
    void *last = alloc(rest_bytes);
    expect_active(1);
    assert_int_equal(tn_region_index_largest_free(&own_arena()->part.index), 0);
    expect_resized(last, rest_bytes + 1);
    expect_active(0);
    expect_ok(tarn_pool_check(pool));
    free_one(first);
    free_one(last);
}

/* An arena has no more records than are promised in the pool's index. */
static void a_resize_without_records_gathers(void **state)
{
    enum {
        COUNT = 3000
    };
    static void *blocks[COUNT];
    warm_up();
    for (size_t i = 0; i < COUNT; i++)
        blocks[i] = alloc(2 * KIB);
    expect_active(1);
    for (size_t i = 0; i < COUNT; i++)
        expect_resized(blocks[i], KIB);
    expect_active(0);
    assert_int_equal(stats_of(pool).used_bytes, COUNT * KIB);
    expect_ok(tarn_pool_check(pool));
    for (size_t i = 0; i < COUNT; i++)
        free_one(blocks[i]);
}

static void *resize_it(void *argument)
{
    expect_resized(argument, 7 * KIB);
    return NULL;
}

static void another_threads_resize_goes_to_the_arena(void **state)
{
    warm_up();
    void *block = alloc(5 * KIB);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, resize_it, block), 0);
    pthread_join(thread, NULL);
    expect_active(1);
    assert_int_equal(own_arena()->part.stats.requested_bytes, 7 * KIB);
    free_one(block);
}

/* What a resize has freed belongs to its stream when a second one comes, as what a free has freed does. */
static void what_a_resize_freed_in_an_arena_is_its_streams(void **state)
{
    void *block = alloc_on(MIB, A);
    want_arenas();
    void *inside = alloc_on(20 * KIB, A);
    expect_active(1);
    expect_ok(tarn_pool_resize_on(pool, inside, KIB, A));
    void *of_b = alloc_on(KIB, B);
    assert_true(stats_of(pool).pending_bytes >= 19 * KIB);
    free_on(of_b, B);
    free_on(inside, A);
    free_on(block, A);
}

struct hand_over {
    void *to_free;
    void *allocated;
};

static void *free_and_alloc(void *argument)
{
    struct hand_over *hand_over = argument;
    expect_ok(tarn_pool_free(pool, hand_over->to_free));
    hand_over->allocated = alloc(1000);
    return NULL;
}

static void another_threads_free_goes_to_the_arena(void **state)
{
    warm_up();
    struct hand_over hand_over = { alloc(1000), NULL };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_and_alloc, &hand_over), 0);
    pthread_join(thread, NULL);
    expect_active(2);
    assert_int_equal(own_arena()->part.stats.free_count, 1);
    free_one(hand_over.allocated);
    assert_int_equal(own_arena()->part.stats.free_count, 1);
}

/* --- failing host memory -------------------------------------------------------------------------- */

static void every_host_allocation_may_fail(void **state)
{
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        void *addresses[600];
        warm_up();
        host_memory_faults_begin(n);
        size_t count = 0;
        for (; count < 600; count++) {
            if (tarn_pool_alloc(pool, 1000, &addresses[count]) != TARN_STATUS_OK) break;
        }
        bool has_failed = host_memory_faults_end();
        expect_ok(tarn_pool_check(pool));
        assert_true(count == 600 || has_failed);
        for (size_t i = 0; i < count; i++)
            free_one(addresses[i]);
        assert_int_equal(stats_of(pool).live_count, 0);
        if (!has_failed) break;
        failures++;
        destroy_empty();
        create();
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
    worker->failures += tarn_pool_free(pool, block.address) != TARN_STATUS_OK;
}

/* Most frees are of blocks of other threads. */
static void *work(void *argument)
{
    struct worker *worker = argument;
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
        if (worker->looks && step % 700 == 0) want_arenas();
    }
    return NULL;
}

static void run_threads(bool looks)
{
    struct block slots[SLOTS] = { { NULL, 0, 0 } };
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint64_t seed = random_seed(11);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ &lock, slots, seed + i, looks, 0 };
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

static void threads_do_not_notice_arenas_coming_and_going(void **state)
{
    create_over_host_memory();
    warm_up();
    run_threads(true);
    assert_int_equal(stats_of(pool).live_count, 0);
}

static void *alloc_and_free(void *argument)
{
    free_one(alloc(1000));
    return NULL;
}

/* A thread that comes while the lock is held. Where the system was slow it may come later, so there are some turns
 * more than needed. */
static void let_one_thread_wait(void)
{
    pthread_t thread;
    tn_biased_mutex_lock(&pool->lock);
    assert_int_equal(pthread_create(&thread, NULL, alloc_and_free, NULL), 0);
    tn_thread_sleep_shortly();
    tn_biased_mutex_unlock(&pool->lock);
    pthread_join(thread, NULL);
}

static void waiting_brings_arenas(void **state)
{
    int turn_count = 0;
    while (!tn_arenas_are_wanted(&pool->arenas)) {
        let_one_thread_wait();
        assert_true(++turn_count < 100 * TN_ARENA_WAITS);
    }
    assert_true(turn_count >= TN_ARENA_WAITS / 2);
    void *address = alloc(1000);
    expect_active(1);
    free_one(address);
}

static void threads_that_crowd_the_pool_leave_it_sound(void **state)
{
    create_over_host_memory();
    run_threads(false);
    assert_int_equal(stats_of(pool).live_count, 0);
}

#define TEST(function) \
    cmocka_unit_test_setup_teardown(function, set_up_with_64_mib, tear_down_empty)

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
        TEST(the_pool_serves_what_no_arena_can),
        TEST(nothing_unusual_gathers),
        TEST(a_fallbacks_memory_brings_no_arena_home),
        TEST(a_resize_leaves_the_arenas_alone),
        TEST(a_resize_takes_a_kept_chunk),
        TEST(a_resize_that_reaches_the_end_of_a_loan_gathers),
        TEST(a_resize_without_records_gathers),
        TEST(another_threads_resize_goes_to_the_arena),
        TEST(what_a_resize_freed_in_an_arena_is_its_streams),
        TEST(another_threads_free_goes_to_the_arena),
        TEST(every_host_allocation_may_fail),
        TEST(threads_do_not_notice_arenas_coming_and_going),
        TEST(waiting_brings_arenas),
        TEST(threads_that_crowd_the_pool_leave_it_sound),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
