/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_arena_loans: what an arena borrows, what it gives back piece by piece, and what it learns of streams; and how a
 * contiguous pool grows for its arenas. Nothing here may bring all arenas home.
 */
#include "core/arenas/arena_loans.h"

#include <pthread.h>

#include "core/supply/stream_reuse.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"
#include "pool_fixture.h"

static uint32_t lent_chunks(void)
{
    return own_arena()->lent_chunk_count;
}

/* --- borrowing and giving back ---------------------------------------------------------------------- */

static void loans_that_touch_are_one(void **state)
{
    void *addresses[30];
    warm_up();
    for (size_t i = 0; i < 30; i++)
        addresses[i] = alloc(MIB);
    expect_active(1);
    assert_true(lent_chunks() >= 30 * KIB);
    assert_int_equal(own_arena()->loan_count, 1);
    gather();
    for (size_t i = 0; i < 30; i++)
        free_one(addresses[i]);
}

/* The average falls slowly, so a moment with little in use gives nothing back. */
static void what_is_idle_for_long_goes_back(void **state)
{
    enum {
        COUNT = 48
    };
    void *addresses[COUNT];
    warm_up();
    for (size_t i = 0; i < COUNT; i++)
        addresses[i] = alloc(MIB);
    for (int i = 0; i < 10000; i++)
        free_one(alloc(5000));
    uint32_t lent = lent_chunks();
    for (size_t i = 0; i < COUNT; i++)
        if (i % 8 != 3) free_one(addresses[i]);
    for (int i = 0; i < 100; i++)
        free_one(alloc(5000));
    assert_int_equal(lent_chunks(), lent);
    for (int i = 0; i < 10000; i++)
        free_one(alloc(5000));
    expect_active(1);
    /* 6 MiB are live in it, in 6 places. */
    assert_in_range(lent_chunks(), 6 * KIB,
                    TN_ARENA_BYTES_MIN / KIB + 7 * KIB * TN_ARENA_USED_FACTOR);
    assert_true(tn_region_index_largest_free(&pool->own.index) >= 7 * KIB);
    for (size_t i = 3; i < COUNT; i += 8)
        free_one(addresses[i]);
    gather();
    assert_int_equal(stats_of(pool).free_region_count, 1);
}

struct request {
    size_t size_bytes;
    void *address;
};

static void *alloc_request(void *argument)
{
    struct request *request = argument;
    request->address = alloc(request->size_bytes);
    return NULL;
}

static void *alloc_in_another_thread(size_t size_bytes)
{
    struct request request = { size_bytes, NULL };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, alloc_request, &request), 0);
    pthread_join(thread, NULL);
    return request.address;
}

/* The pool has nothing free, and the other arena has it in its middle. */
static void an_arena_gives_up_what_another_one_needs(void **state)
{
    backend.capacity_bytes = 64 * MIB;
    warm_up();
    void *first = alloc(20 * MIB), *middle = alloc(20 * MIB), *last = alloc(23 * MIB);
    free_one(middle);
    assert_true(lent_chunks() >= 63 * KIB);
    void *others = alloc_in_another_thread(15 * MIB);
    expect_active(2);
    assert_ptr_equal(others, middle);
    assert_int_equal(own_arena()->loan_count, 2);
    assert_int_equal(backend.acquire_count, 1);
    void *of_rest = alloc(4 * MIB); /* 5 MiB are left of the middle */
    expect_active(2);
    gather();
    free_one(others);
    free_one(of_rest);
    free_one(first);
    free_one(last);
}

/* No false shortage: what is free in pieces between the live blocks of two threads serves a request that needs them all. */
static void all_that_is_free_serves_a_request(void **state)
{
    backend.capacity_bytes = 64 * MIB;
    warm_up();
    void *first = alloc(30 * MIB);
    void *others = alloc_in_another_thread(20 * MIB);
    free_one(first);
    expect_active(2);
    size_t free_bytes = 44 * MIB;
    char *all = alloc(others > first ? free_bytes - 14 * MIB : free_bytes);
    assert_int_equal(backend.acquire_count, 1);
    free_one(all);
    free_one(others);
}

/* --- streams ------------------------------------------------------------------------------------------ */

static void settle(uint32_t streams)
{
    tn_pool_lock_growth(pool);
    tn_stream_reuse_settle(pool, streams);
    tn_pool_unlock_growth(pool);
}

static bool note_completed(void)
{
    tn_biased_mutex_lock(&own_arena()->lock);
    bool is_news = tn_arena_note_completed(pool, own_arena());
    tn_biased_mutex_unlock(&own_arena()->lock);
    return is_news;
}

static uint32_t pending_streams(void)
{
    return tn_region_index_pending_streams(&own_arena()->part.index);
}

/* Blocks of the arena that were freed on another stream. */
static void an_arena_learns_which_work_is_done(void **state)
{
    void *of_b = alloc_on(MIB, B);
    void *of_a = alloc_on(MIB, A);
    want_arenas();
    void *blocks[2] = { alloc_on(MIB, A), alloc_on(MIB, A) };
    void *between = alloc_on(MIB, A);
    expect_active(1);
    free_on(blocks[0], B);
    uint32_t streams = pending_streams();
    assert_true(tn_is_power_of_two(streams));
    settle(streams);
    (void)note_completed();
    assert_int_equal(pending_streams(), streams); /* it is under way */

    free_on(blocks[1], B); /* after the record */
    test_backend_complete(&backend, B);
    settle(0);
    assert_true(note_completed());
    assert_false(note_completed());
    assert_int_equal(pending_streams(), streams); /* of the second block */
    assert_true(tn_region_index_find_best_fit(&own_arena()->part.index, 1, 1 * KIB) !=
                TN_REGION_NONE);
    settle(streams);
    test_backend_complete(&backend, B);
    settle(0);
    assert_true(note_completed());
    assert_int_equal(pending_streams(), 0);
    expect_active(1);
    free_on(between, A);
    free_on(of_a, A);
    free_on(of_b, B);
}

/* A number that another stream gets says nothing of that. */
static void what_was_done_is_not_said_of_the_next_stream(void **state)
{
    void *of_b = alloc_on(MIB, B);
    void *of_a = alloc_on(MIB, A);
    free_on(of_b, B);
    settle(0);
    test_backend_complete(&backend, B);
    settle(0);
    retire(B);
    want_arenas();
    free_on(alloc_on(MIB, C), C);
    want_arenas();
    void *block = alloc_on(MIB, A);
    free_on(block, C);
    expect_active(1);
    uint32_t streams = pending_streams();
    assert_int_not_equal(streams, 0);
    (void)note_completed();
    assert_int_equal(pending_streams(), streams);
    free_on(of_a, A);
}

/* The record is gone that said so, and no arena has asked. */
static void what_is_done_is_known_after_a_gather(void **state)
{
    void *of_b = alloc_on(MIB, B);
    void *of_a = alloc_on(MIB, A);
    want_arenas();
    void *block = alloc_on(MIB, A), *between = alloc_on(MIB, A);
    expect_active(1);
    free_on(block, B);
    settle(pending_streams());
    test_backend_complete(&backend, B);
    settle(0);
    expect_active(1);
    gather();
    expect_pending(0);
    free_on(between, A);
    free_on(of_a, A);
    free_on(of_b, B);
}

static int set_up_thread_stream(void **state)
{
    begin_fixture(true);
    backend.thread_stream = C;
    opened = test_backend_open(&backend);
    options.initial_bytes = 8 * MIB;
    create();
    return 0;
}

/* C names a stream of each thread's own. */
static void what_a_threads_own_stream_has_done_is_known(void **state)
{
    backend.capacity_bytes = 8 * MIB;
    void *a = alloc_on(MIB, A), *b = alloc_on(MIB, B), *c = alloc_on(6 * MIB, C);
    free_on(c, C);
    expect_refused_on(TARN_STATUS_OUT_OF_MEMORY, 2 * MIB, A); /* and asks for a record */
    void *recording = alloc_on(MIB, C);
    want_arenas();
    void *of_c = alloc_on(64 * KIB, C);
    expect_active(1);
    assert_int_not_equal(pending_streams(), 0);
    test_backend_complete(&backend, C);
    settle(0);
    assert_true(note_completed());
    assert_int_equal(pending_streams(), 0);
    gather();
    expect_pending(0);
    free_on(of_c, C);
    free_on(recording, C);
    free_on(a, A);
    free_on(b, B);
}

/* Of the sets of streams that an arena needs, none may stay missing that it frees into. */
static void host_memory_may_fail_while_an_arena_gets_its_sets(void **state)
{
    for (unsigned first = 1; first < 10; first++) {
        for (unsigned second = 1; second < 10; second++) {
            void *blocks[2];
            void *of_b = alloc_on(KIB, B), *of_a = alloc_on(KIB, A);
            want_arenas();
            for (int i = 0; i < 2; i++) {
                host_memory_faults_begin(i == 0 ? first : second);
                blocks[i] = NULL;
                (void)tarn_pool_alloc_on(pool, 2000, A, &blocks[i]);
                host_memory_faults_end();
            }
            void *block = alloc_on(2000, A);
            const tarn_stream both[] = { A, B };
            free_after(block, both, 2);
            for (int i = 0; i < 2; i++)
                if (blocks[i]) free_after(blocks[i], both, 2);
            free_on(of_a, A);
            free_on(of_b, B);
            create_anew();
        }
    }
}

/* --- contiguous pools ---------------------------------------------------------------------------------- */

static int set_up_contiguous(void **state)
{
    begin_fixture(true);
    backend.range_granularity_bytes = 64 * KIB;
    backend.total_bytes = 64 * MIB;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    options.step_bytes = MIB;
    options.initial_bytes = MIB;
    create();
    return 0;
}

static void a_contiguous_pool_grows_for_its_arenas(void **state)
{
    void *addresses[20];
    warm_up();
    addresses[0] = alloc(MIB);
    expect_active(1);
    for (size_t i = 1; i < 20; i++) {
        addresses[i] = alloc(i * 100 * KIB);
        expect_active(1);
    }
    assert_int_equal(own_arena()->loan_count, 1);
    void *others = alloc_in_another_thread(3 * MIB);
    expect_active(2);
    tarn_stats stats = stats_of(pool);
    assert_in_range(stats.footprint_bytes, stats.used_bytes, stats.used_bytes + 2 * MIB);
    expect_ok(tarn_pool_check(pool));
    for (size_t i = 0; i < 20; i++)
        free_one(addresses[i]);
    free_one(others);
    assert_int_equal(trim(0), stats.footprint_bytes);
}

enum {
    THREADS = 4,
    STEPS = 4000,
    SLOTS = 24
};

struct worker {
    uint64_t seed;
    size_t failures;
};

/* Two of three slots are filled, with blocks of 1 to 512 KiB: at most some 6 MiB for each thread. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct random random = random_init(worker->seed);
    tarn_stream stream = STREAM(worker->seed % THREADS);
    void *slots[SLOTS] = { NULL };
    for (int step = 0; step < STEPS; step++) {
        size_t i = (size_t)random_below(&random, SLOTS);
        if (slots[i])
            worker->failures += tarn_pool_free_on(pool, slots[i], stream) != TARN_STATUS_OK;
        slots[i] = NULL;
        if (random_below(&random, 3) == 0) continue;
        size_t size_bytes = (size_t)random_size(&random, 19);
        worker->failures +=
            tarn_pool_alloc_on(pool, size_bytes, stream, &slots[i]) != TARN_STATUS_OK;
    }
    for (size_t i = 0; i < SLOTS; i++)
        if (slots[i])
            worker->failures += tarn_pool_free_on(pool, slots[i], stream) != TARN_STATUS_OK;
    return NULL;
}

/* Each on its own stream, in a device that has twice what they may have at once. */
static void threads_find_all_that_there_is(void **state)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint64_t seed = random_seed(34);
    void *address = alloc_on(KIB, STREAM(0));
    free_on(address, STREAM(0));
    want_arenas();
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ seed * THREADS + i, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    assert_int_equal(stats_of(pool).live_count, 0);
    expect_ok(tarn_pool_check(pool));
}

/* --- exact capacity ------------------------------------------------------------------------------------ */

enum {
    BLOCKS = 256, /* that the device has memory for */
    BLOCK_BYTES = 64 * 1024,
    TURNS = 10000
};

/* As many may be live or about to be as the device has memory for. */
static _Atomic int blocks_left;
static atomic_bool were_all_taken;

static bool take_block(void)
{
    int left = atomic_load(&blocks_left);
    while (left > 0) {
        if (atomic_compare_exchange_weak(&blocks_left, &left, left - 1)) return true;
    }
    atomic_store(&were_all_taken, true);
    return false;
}

/* Fills its slots as far as there are blocks, and frees some now and then, on its own stream or on that of another. Goes
 * on until the threads have met: on few processors one may have its turns before the next begins. */
static void *use_all_that_there_is(void *argument)
{
    struct worker *worker = argument;
    struct random random = random_init(worker->seed);
    unsigned own = (unsigned)(worker->seed % THREADS);
    void *slots[BLOCKS] = { NULL };
    for (int turn = 0; turn < TURNS || !atomic_load(&were_all_taken); turn++) {
        size_t i = (size_t)random_below(&random, BLOCKS);
        if (slots[i]) {
            tarn_stream stream = STREAM(random_below(&random, 4) == 0 ? (own + 1) % THREADS : own);
            worker->failures += tarn_pool_free_on(pool, slots[i], stream) != TARN_STATUS_OK;
            slots[i] = NULL;
            atomic_fetch_add(&blocks_left, 1);
        } else if (take_block()) {
            worker->failures +=
                tarn_pool_alloc_on(pool, BLOCK_BYTES, STREAM(own), &slots[i]) != TARN_STATUS_OK;
        }
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (!slots[i]) continue;
        worker->failures += tarn_pool_free_on(pool, slots[i], STREAM(own)) != TARN_STATUS_OK;
        atomic_fetch_add(&blocks_left, 1);
    }
    return NULL;
}

static void expect_no_shortage(void)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint64_t seed = random_seed(35);
    create_anew();
    free_on(alloc_on(BLOCK_BYTES, STREAM(0)), STREAM(0));
    want_arenas();
    atomic_store(&blocks_left, BLOCKS);
    atomic_store(&were_all_taken, false);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ seed * THREADS + i, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, use_all_that_there_is, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    assert_true(atomic_load(&were_all_taken));
    assert_true(backend.held_bytes <= (size_t)BLOCKS * BLOCK_BYTES);
    assert_int_equal(stats_of(pool).live_count, 0);
    expect_ok(tarn_pool_check(pool));
}

/* Blocks of one size never lie so that one more does not fit. So whatever arenas hold, mailboxes keep, and streams have
 * still to do, each thread gets the block that is left for it. */
static void no_thread_is_short_of_what_is_left(void **state)
{
    backend.capacity_bytes = (size_t)BLOCKS * BLOCK_BYTES;
    backend.total_bytes = backend.capacity_bytes;
    options.initial_bytes = 0;
    options.growth_bytes_max = 16 * BLOCK_BYTES;
    for (int slack = 0; slack < 2; slack++) {
        options.stream_slack = slack * 0.25;
        options.contiguous = false;
        options.step_bytes = 0;
        expect_no_shortage();
        options.contiguous = true;
        options.step_bytes = MIB;
        expect_no_shortage();
        options.step_bytes = 0;
        expect_no_shortage();
    }
}

#define TEST(function) \
    cmocka_unit_test_setup_teardown(function, set_up_with_64_mib, tear_down_empty)
#define TEST_CONTIGUOUS(function) \
    cmocka_unit_test_setup_teardown(function, set_up_contiguous, tear_down_empty)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(loans_that_touch_are_one),
        TEST(what_is_idle_for_long_goes_back),
        TEST(an_arena_gives_up_what_another_one_needs),
        TEST(all_that_is_free_serves_a_request),
        TEST(an_arena_learns_which_work_is_done),
        TEST(what_was_done_is_not_said_of_the_next_stream),
        TEST(what_is_done_is_known_after_a_gather),
        cmocka_unit_test_setup_teardown(what_a_threads_own_stream_has_done_is_known,
                                        set_up_thread_stream, tear_down_empty),
        TEST(host_memory_may_fail_while_an_arena_gets_its_sets),
        TEST_CONTIGUOUS(a_contiguous_pool_grows_for_its_arenas),
        TEST_CONTIGUOUS(threads_find_all_that_there_is),
        TEST_CONTIGUOUS(no_thread_is_short_of_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
