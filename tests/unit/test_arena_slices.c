/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_arena_slices: small requests in arenas: whose slabs they are while the arenas last, and that nobody sees the
 * difference when they are the pool's. What runs before what is for stress.streams_small_in_arenas.
 */
#include "core/pool/pool_arenas.h"

#include <pthread.h>

#include "core/pool/pool.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"
#include "pool_fixture.h"

/* Live slices. */
static void expect_slices(uint64_t in_arena, uint64_t in_pool)
{
    assert_int_equal(tn_slices_live_count(&own_arena()->part.slices), in_arena);
    assert_int_equal(tn_slices_live_count(&pool->own.slices), in_pool);
}

static void gather_slabs(void)
{
    gather();
    for (unsigned i = 0; i < TN_SLICE_CLASS_COUNT_MAX; i++)
        assert_int_equal(pool->own.slices.classes[i].promised_count, 0);
}

static bool share_a_chunk(const void *a, const void *b)
{
    return (uintptr_t)a / KIB == (uintptr_t)b / KIB;
}

/* --- one thread ---------------------------------------------------------------------------------- */

static void small_requests_are_served_in_the_arena(void **state)
{
    warm_up();
    char *first = alloc(100), *second = alloc(65), *large = alloc(1000);
    expect_active(1);
    expect_slices(2, 0);
    assert_int_equal(second - first, 128);
    assert_false(share_a_chunk(first, large));
    assert_int_equal(own_arena()->part.stats.alloc_count, 3);
    assert_int_equal(own_arena()->part.stats.used_bytes, 2 * KIB);
    free_on(first, NULL);
    assert_ptr_equal(alloc(128), first);
    free_on(first, NULL);
    free_on(second, NULL);
    /* The slab is kept, and its chunk is not used. */
    assert_int_equal(own_arena()->part.slices.kept_count, 1);
    assert_int_equal(own_arena()->part.stats.used_bytes, KIB);
    assert_ptr_equal(alloc(70), first);
    assert_int_equal(own_arena()->part.stats.used_bytes, 2 * KIB);
    free_on(first, NULL);
    free_on(large, NULL);
    expect_active(1);
    gather_slabs();
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.requested_bytes, 0);
    assert_int_equal(stats.free_region_count, 1);
    assert_int_equal(stats.alloc_count, 1 + 5);
    assert_int_equal(stats.free_count, 1 + 5);
    assert_int_equal(pool->own.slices.slab_count, 0);
}

enum {
    MANY = 2000
};

static size_t size_of(size_t i)
{
    return 1 + i * 7 % 600;
}

/* Of all classes, some slabs full and some not, and chunks among them. */
static void gathering_changes_nothing_that_is_seen(void **state)
{
    static char *blocks[MANY];
    size_t requested_bytes = 0;
    warm_up();
    for (size_t i = 0; i < MANY; i++)
        blocks[i] = alloc(size_of(i));
    for (size_t i = 0; i < MANY; i += 3) {
        free_on(blocks[i], NULL);
        blocks[i] = NULL;
    }
    expect_active(1);
    gather_slabs();
    tarn_allocation found = TARN_ALLOCATION_INIT;
    for (size_t i = 0; i < MANY; i++) {
        if (!blocks[i]) continue;
        expect_ok(tarn_pool_find(blocks[i] + size_of(i) - 1, &found));
        assert_ptr_equal(found.address, blocks[i]);
        assert_int_equal(found.size_bytes, size_of(i));
        requested_bytes += size_of(i);
    }
    assert_int_equal(stats_of(pool).requested_bytes, requested_bytes);
    assert_int_equal(stats_of(pool).live_count, MANY - (MANY + 2) / 3);
    /* Some are freed in the pool, some while there are arenas again. */
    for (size_t i = 0; i < MANY; i++) {
        if (i == MANY / 2) {
            want_arenas();
            free_on(alloc(2000), NULL);
            expect_active(1);
        }
        if (blocks[i]) free_on(blocks[i], NULL);
    }
    gather_slabs();
    assert_int_equal(stats_of(pool).used_bytes, 0);
    assert_int_equal(stats_of(pool).free_region_count, 1);
    assert_int_equal(pool->own.slices.slab_count, 0);
}

/* Slabs come to the pool again and again. */
static void arenas_come_and_go_with_their_slabs(void **state)
{
    static char *blocks[MANY];
    warm_up();
    for (size_t i = 0; i < MANY; i++) {
        if (i % 100 == 0) {
            gather_slabs();
            expect_slices(0, i);
            want_arenas();
        }
        blocks[i] = alloc(1 + i % 16);
    }
    expect_slices(100, MANY - 100);
    gather_slabs();
    /* A slice that is free in the pool serves the pool: here, the only one of a slab. */
    atomic_store(&pool->arenas.are_wanted, false);
    free_on(blocks[7], NULL);
    assert_ptr_equal(alloc(5), blocks[7]);
    for (size_t i = 0; i < MANY; i++)
        free_on(blocks[i], NULL);
    assert_int_equal(stats_of(pool).free_region_count, 1);
}

static void what_is_not_live_in_a_slab_is_refused(void **state)
{
    warm_up();
    char *first = alloc(100), *second = alloc(100);
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, second + 1));
    expect_slices(0, 2); /* saying why has gathered */
    want_arenas();
    char *third = alloc(100);
    expect_slices(1, 2);
    assert_false(share_a_chunk(first, third));
    free_on(third, NULL);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, third));
    want_arenas();
    third = alloc(100);
    expect_active(1);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, third + 128));
    free_on(first, NULL);
    free_on(second, NULL);
    free_on(third, NULL);
    assert_int_equal(stats_of(pool).used_bytes, 0);
}

static void an_alignment_makes_the_slice_larger(void **state)
{
    void *address;
    warm_up();
    alloc(8);
    expect_ok(tarn_pool_alloc_aligned(pool, 8, 512, &address));
    assert_int_equal((uintptr_t)address % 512, 0);
    expect_active(1);
    expect_slices(2, 0);
}

static void arenas_without_small_requests_take_no_memory_for_them(void **state)
{
    warm_up();
    alloc(1000);
    assert_false(own_arena()->has_slices);
    size_t before = stats_of(pool).metadata_bytes;
    want_arenas();
    alloc(8);
    size_t added = stats_of(pool).metadata_bytes - before;
    assert_true(added >= sizeof(struct tn_slices) && added < sizeof(struct tn_slices) + 8 * KIB);
}

static void pools_without_slices_have_chunks_in_arenas(void **state)
{
    options.slices = false;
    create_anew();
    warm_up();
    assert_false(share_a_chunk(alloc(8), alloc(8)));
    expect_active(1);
    assert_false(own_arena()->has_slices);
}

/* With as many slabs as there may be, a request has a slice of the pool's, or a chunk. */
static void numbers_that_the_pool_lacks_an_arena_has_not(void **state)
{
    warm_up();
    pool->own.slices.slab_count_max = 3;
    char *blocks[20];
    for (size_t i = 0; i < 20; i++)
        blocks[i] = alloc(512);
    gather_slabs();
    assert_int_equal(stats_of(pool).live_count, 20);
    assert_true(pool->own.slices.slab_count <= 3);
    for (size_t i = 0; i < 20; i++)
        free_on(blocks[i], NULL);
    assert_int_equal(stats_of(pool).used_bytes, 0);
}

/* --- streams -------------------------------------------------------------------------------------- */

/* Both streams are known, and the arena has a full slab of a's: two slices. */
static void fill_slab(char **slices)
{
    free_on(alloc_on(MIB, A), A);
    free_on(alloc_on(MIB, B), B);
    want_arenas();
    slices[0] = alloc_on(512, A);
    slices[1] = alloc_on(512, A);
    assert_true(share_a_chunk(slices[0], slices[1]));
    expect_slices(2, 0);
}

static void what_another_stream_freed_waits_in_the_arena_and_after(void **state)
{
    char *slices[2];
    fill_slab(slices);
    unsigned wait_count = backend.wait_count;
    free_on(slices[0], B);
    char *other = alloc_on(512, A);
    assert_false(share_a_chunk(other, slices[0]));
    expect_active(1);
    gather_slabs();
    atomic_store(&pool->arenas.are_wanted, false);
    free_on(other, A);
    assert_ptr_equal(alloc_on(512, A), other);
    assert_false(share_a_chunk(alloc_on(512, A), slices[0]));
    assert_int_equal(backend.wait_count, wait_count);
    assert_true(tn_slices_depend_on(&pool->own.slices, 1));
}

static void what_its_stream_freed_it_has_again_in_the_arena_and_after(void **state)
{
    char *slices[2];
    fill_slab(slices);
    free_on(slices[1], A);
    assert_ptr_equal(alloc_on(512, A), slices[1]);
    free_on(slices[1], A);
    /* b has a chunk of its own. */
    assert_false(share_a_chunk(alloc_on(512, B), slices[0]));
    gather_slabs();
    atomic_store(&pool->arenas.are_wanted, false);
    assert_ptr_equal(alloc_on(512, A), slices[1]);
}

static void a_chunk_of_an_arenas_slab_waits_for_all_that_was_freed_of_it(void **state)
{
    char *slices[2];
    fill_slab(slices);
    gather_slabs();
    size_t pending_bytes = stats_of(pool).pending_bytes;
    want_arenas();
    slices[0] = alloc_on(256, A);
    slices[1] = alloc_on(256, A);
    expect_active(1);
    free_on(slices[0], A);
    free_on(slices[1], B);
    /* Nobody may have it without waiting for both. */
    assert_int_equal(own_arena()->part.slices.slab_count, 0);
    gather_slabs();
    assert_true(stats_of(pool).pending_bytes >= pending_bytes);
    bool is_shared = tn_free_set_region_count(&pool->own.index.by_size[TN_FREE_SET_SHARED]) == 1;
    assert_true(is_shared);
}

static void a_stream_that_ends_leaves_what_the_arena_had_of_it(void **state)
{
    char *slices[2];
    fill_slab(slices);
    free_on(slices[1], A);
    expect_ok(tarn_stream_retire(A));
    expect_active(0);
    test_backend_complete(&backend, A);
    expect_ok(tarn_pool_check(pool));
    want_arenas();
    free_on(slices[0], B);
    expect_ok(tarn_pool_check(pool));
    assert_int_equal(stats_of(pool).used_bytes, 0);
}

/* --- several threads ------------------------------------------------------------------------------ */

struct hand_over {
    void *to_free;
    char *allocated;
};

static void *free_and_alloc(void *argument)
{
    struct hand_over *hand_over = argument;
    free_on(hand_over->to_free, NULL);
    hand_over->allocated = alloc(8);
    return NULL;
}

static void another_threads_free_goes_to_the_arenas_slab(void **state)
{
    warm_up();
    char *first = alloc(8), *second = alloc(8);
    struct hand_over hand_over = { first, NULL };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_and_alloc, &hand_over), 0);
    pthread_join(thread, NULL);
    expect_active(2);
    assert_int_equal(own_arena()->part.stats.free_count, 1);
    assert_false(share_a_chunk(hand_over.allocated, second));
    assert_ptr_equal(alloc(8), first);
    free_on(hand_over.allocated, NULL);
    gather_slabs();
    expect_slices(0, 2);
}

static void *alloc_and_free(void *argument)
{
    free_on(alloc(8), NULL);
    return NULL;
}

/* A thread that comes while the lock is held; where the system was slow it may come later. */
static void let_one_thread_wait(void)
{
    pthread_t thread;
    tn_pool_lock(pool);
    assert_int_equal(pthread_create(&thread, NULL, alloc_and_free, NULL), 0);
    tn_thread_sleep_shortly();
    tn_pool_unlock(pool);
    pthread_join(thread, NULL);
}

static void waiting_with_small_requests_brings_arenas(void **state)
{
    int turn_count = 0;
    while (!tn_arenas_are_wanted(&pool->arenas)) {
        let_one_thread_wait();
        assert_true(++turn_count < 100 * TN_ARENA_WAITS);
    }
    alloc(8);
    expect_active(1);
    expect_slices(1, 0);
}

/* --- failing host memory -------------------------------------------------------------------------- */

static void every_host_allocation_may_fail(void **state)
{
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        static void *addresses[1200];
        warm_up();
        host_memory_faults_begin(n);
        size_t count = 0;
        for (; count < 1200; count++) {
            if (tarn_pool_alloc(pool, 500, &addresses[count]) != TARN_STATUS_OK) break;
        }
        bool has_failed = host_memory_faults_end();
        expect_ok(tarn_pool_check(pool));
        assert_true(count == 1200 || has_failed);
        for (size_t i = 0; i < count; i++)
            free_one(addresses[i]);
        assert_int_equal(stats_of(pool).live_count, 0);
        assert_int_equal(stats_of(pool).used_bytes, 0);
        if (!has_failed) break;
        failures++;
        destroy_empty();
        create();
    }
    assert_true(failures > 20);
}

/* --- what an arena borrows for ---------------------------------------------------------------------- */

/* More chunks are of no use where no slab can be had. */
static void nothing_is_borrowed_for_want_of_slabs(void **state)
{
    char *of_pool = alloc(16);
    pool->own.slices.slab_count_max = 1;
    warm_up();
    void *addresses[40];
    for (size_t i = 0; i < 40; i++)
        addresses[i] = alloc(16);
    assert_true(own_arena()->loan_count <= 1);
    expect_slices(0, 41);
    for (size_t i = 0; i < 40; i++)
        free_on(addresses[i], NULL);
    free_on(of_pool, NULL);
}

/* Room that an arena had in better days is more than the pool can promise again. */
static void an_arena_is_content_with_room_for_one(void **state)
{
    void *addresses[400];
    warm_up();
    for (size_t i = 0; i < 400; i++)
        addresses[i] = alloc(512);
    expect_slices(400, 0);
    uint32_t capacity = own_arena()->part.slices.classes[5].slab_capacity;
    gather_slabs();
    pool->own.slices.slab_count_max = capacity + 5; /* 200 slabs are there */
    want_arenas();
    char *more = alloc(512);
    expect_slices(1, 400);
    for (size_t i = 0; i < 400; i++)
        free_on(addresses[i], NULL);
    free_on(more, NULL);
}

/* An empty slab that is kept is in nobody's way. */
static void a_kept_slab_is_given_up_before_more_is_borrowed(void **state)
{
    warm_up();
    free_on(alloc(8), NULL);
    expect_active(1);
    assert_int_equal(own_arena()->loan_count, 1);
    size_t lent_bytes = own_arena()->lent_chunk_count * KIB;
    char *all = alloc(lent_bytes);
    assert_int_equal(own_arena()->loan_count, 1);
    free_on(all, NULL);
}

/* A slice cannot have the alignment; a chunk of the arena has it. */
static void a_small_request_may_be_aligned_to_a_chunk(void **state)
{
    warm_up();
    free_on(alloc(8), NULL);
    void *address = NULL;
    expect_ok(tarn_pool_alloc_aligned(pool, 100, KIB, &address));
    assert_int_equal((uintptr_t)address % KIB, 0);
    expect_active(1);
    assert_int_equal(own_arena()->part.stats.requested_bytes, 100);
    free_on(address, NULL);
    expect_active(1);
}

#define TEST(function) \
    cmocka_unit_test_setup_teardown(function, set_up_with_default_options, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(nothing_is_borrowed_for_want_of_slabs),
        TEST(an_arena_is_content_with_room_for_one),
        TEST(a_kept_slab_is_given_up_before_more_is_borrowed),
        TEST(a_small_request_may_be_aligned_to_a_chunk),
        TEST(small_requests_are_served_in_the_arena),
        TEST(gathering_changes_nothing_that_is_seen),
        TEST(arenas_come_and_go_with_their_slabs),
        TEST(what_is_not_live_in_a_slab_is_refused),
        TEST(an_alignment_makes_the_slice_larger),
        TEST(arenas_without_small_requests_take_no_memory_for_them),
        TEST(pools_without_slices_have_chunks_in_arenas),
        TEST(numbers_that_the_pool_lacks_an_arena_has_not),
        TEST(what_another_stream_freed_waits_in_the_arena_and_after),
        TEST(what_its_stream_freed_it_has_again_in_the_arena_and_after),
        TEST(a_chunk_of_an_arenas_slab_waits_for_all_that_was_freed_of_it),
        TEST(a_stream_that_ends_leaves_what_the_arena_had_of_it),
        TEST(another_threads_free_goes_to_the_arenas_slab),
        TEST(waiting_with_small_requests_brings_arenas),
        TEST(every_host_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("arena_slices", tests, NULL, NULL);
}
