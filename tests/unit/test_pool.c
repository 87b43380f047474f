/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A pool that grows, is refused memory, gives it back, and is damaged: with a backend that counts. */
#include <math.h>

#include "harness/host_memory_faults.h"

#include "core/pool/pool.h"
#include "core/care/pool_registry.h"
#include "pool_fixture.h"

/* What the backend was asked for, in KiB, from the first call on. */
#define expect_asked(...)                                                   \
    do {                                                                    \
        const size_t expected_[] = { __VA_ARGS__ };                         \
        size_t count_ = sizeof expected_ / sizeof expected_[0];             \
        assert_int_equal(backend.acquire_count, count_);                    \
        for (size_t i_ = 0; i_ < count_; i_++) {                            \
            assert_int_equal(backend.asked_bytes[i_] / KIB, expected_[i_]); \
        }                                                                   \
    } while (0)

/* --- growth ------------------------------------------------------------------------------------ */

static void grows_at_the_first_allocation_by_a_factor_of_two(void **state)
{
    create();
    assert_int_equal(backend.acquire_count, 0);
    for (int i = 0; i < 5; i++)
        alloc(64 * KIB);
    expect_asked(64, 64, 128, 256);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.footprint_bytes, 512 * KIB);
    assert_int_equal(stats.static_pool_count, 4);
    assert_int_equal(stats.vendor_alloc_count, 4);
}

/* Growth follows what is in use, not what is held. */
static void little_is_taken_when_much_is_free(void **state)
{
    create();
    void *most = alloc(56 * KIB);
    alloc(8 * KIB);
    free_one(most);
    alloc(60 * KIB); /* 56 are free */
    expect_asked(64, 60);
    alloc(60 * KIB); /* an eighth of what is held is less */
    expect_asked(64, 60, 60);
}

static void a_request_larger_than_the_growth_gets_its_own_size(void **state)
{
    create();
    alloc(1000 * KIB);
    expect_asked(1000);
}

static void no_initial_size_means_as_much_as_needed(void **state)
{
    options.initial_bytes = 0;
    create();
    alloc(1);
    expect_asked(4);
}

static void growth_stays_under_the_users_cap(void **state)
{
    options.growth_bytes_max = 100 * KIB;
    create();
    for (int i = 0; i < 3; i++)
        alloc(64 * KIB);
    alloc(60 * KIB);
    alloc(20 * KIB);
    alloc(200 * KIB);
    expect_asked(64, 64, 64, 60, 100, 200);
}

static void growth_stays_under_the_limit(void **state)
{
    options.limit_bytes = 150 * KIB;
    create();
    alloc(60 * KIB);
    alloc(85 * KIB);
    /* All that is left, although it is no whole pages. */
    expect_asked(64, 86);
    expect_refused(TARN_STATUS_OVER_LIMIT, 60 * KIB);
    expect_message("at most 150 KiB, which limit_bytes");
    assert_int_equal(backend.acquire_count, 2);
    assert_int_equal(stats_of(pool).failed_count, 1);
}

static void a_limit_below_the_request_is_told_without_asking_the_vendor(void **state)
{
    options.limit_bytes = 10 * KIB;
    create();
    expect_refused(TARN_STATUS_OVER_LIMIT, 11 * KIB);
    assert_int_equal(backend.acquire_count, 0);
}

static void a_request_above_the_vendors_largest_allocation_is_refused(void **state)
{
    backend.allocation_bytes_max = 256 * KIB;
    options.limit_bytes = 1024 * KIB;
    create();
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 300 * KIB);
    expect_message("largest allocation");
    assert_int_equal(backend.acquire_count, 0);
}

static void a_refused_wish_halves_down_to_the_need_and_is_not_repeated(void **state)
{
    options.initial_bytes = 1024 * KIB;
    backend.capacity_bytes = 200 * KIB;
    create();
    void *first = alloc(30 * KIB);
    expect_asked(1024, 512, 256, 128);
    alloc(98 * KIB);
    alloc(60 * KIB);
    /* Twice the need, and then the need. */
    expect_asked(1024, 512, 256, 128, 120, 60);
    /* 188 are in use, and 120 was refused. The wish is half of 188, in whole requests. */
    alloc(12 * KIB);
    expect_asked(1024, 512, 256, 128, 120, 60, 84, 36, 12);
    free_one(first);
}

static void when_memory_was_returned_the_wish_is_tried_again(void **state)
{
    options.initial_bytes = 1024 * KIB;
    backend.capacity_bytes = 600 * KIB;
    create();
    void *address = alloc(KIB);
    expect_asked(1024, 512);
    free_one(address);
    trim(0);
    alloc(KIB);
    expect_asked(1024, 512, 1024, 512);
}

static void no_vendor_call_where_memory_is_held(void **state)
{
    create();
    alloc(KIB);
    for (int i = 0; i < 1000; i++)
        free_one(alloc(50 * KIB));
    assert_int_equal(backend.acquire_count, 1);
    assert_int_equal(backend.release_count, 0);
}

static void out_of_memory_keeps_the_vendors_words(void **state)
{
    backend.capacity_bytes = 64 * KIB;
    create();
    alloc(60 * KIB);
    void *address = &backend;
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc(pool, 60 * KIB, &address));
    expect_message("the pool holds 64 KiB");
    assert_int_equal(tarn_last_error().vendor_code, -7);
    assert_string_equal(tarn_last_error().vendor_name, "testError");
    assert_ptr_equal(address, &backend);
}

static void free_static_pools_are_given_up_for_a_request_that_needs_them(void **state)
{
    backend.capacity_bytes = 300 * KIB;
    create();
    void *first = alloc(60 * KIB);
    void *second = alloc(120 * KIB);
    free_one(first);
    free_one(second);
    void *large = alloc(250 * KIB);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.static_pool_count, 1);
    assert_int_equal(stats.vendor_free_count, 2);
    free_one(large);
}

static void so_they_are_under_a_limit(void **state)
{
    options.limit_bytes = 300 * KIB;
    create();
    free_one(alloc(60 * KIB));
    free_one(alloc(280 * KIB));
    expect_refused(TARN_STATUS_OVER_LIMIT, 400 * KIB);
    /* No release could have helped that one, so none was made. */
    assert_int_equal(stats_of(pool).vendor_free_count, 1);
}

static void free_meanwhile(void *context)
{
    void **address = context;
    free_one(*address);
    *address = NULL;
}

static void what_is_freed_while_the_vendor_refuses_is_not_overlooked(void **state)
{
    backend.capacity_bytes = 64 * KIB;
    create();
    alloc(KIB);
    void *address = alloc(60 * KIB);
    backend.while_acquiring = free_meanwhile;
    backend.context = &address;
    alloc(50 * KIB);
    assert_null(address);
}

static void another_failure_of_the_vendor_is_passed_on(void **state)
{
    create();
    backend.failure = TARN_STATUS_VENDOR_ERROR;
    backend.fail_acquire_at = 1;
    expect_refused(TARN_STATUS_VENDOR_ERROR, KIB);
    assert_int_equal(backend.acquire_count, 1);
    alloc(KIB);
}

/* The piece is not given back: nobody knows what that would do. */
static void expect_piece_refused(const char *part)
{
    unsigned released = backend.release_count;
    expect_refused(TARN_STATUS_VENDOR_ERROR, 100 * KIB);
    expect_message(part);
    assert_int_equal(backend.release_count, released);
    expect_ok(tarn_pool_check(pool));
}

static void pieces_that_cannot_be_are_refused(void **state)
{
    backend.alignment_bytes = 4096;
    create();
    tarn_allocation held = found_at(alloc(KIB));

    backend.give_null = true;
    expect_piece_refused("NULL");
    backend.give_null = false;
    backend.give_address = ((uintptr_t)1 << 50) + 512;
    expect_piece_refused("less aligned than promised");
    backend.give_address = UINTPTR_MAX - 64 * KIB + 1;
    expect_piece_refused("beyond the last address");
    backend.give_address = (uintptr_t)held.static_pool_base + 8 * KIB;
    expect_piece_refused("overlaps");
    backend.give_address = (uintptr_t)held.static_pool_base - 64 * KIB;
    expect_piece_refused("overlaps");
    backend.give_address = 0;
    alloc(100 * KIB);
}

static void an_exact_fit_of_the_limit_succeeds(void **state)
{
    options.limit_bytes = 1024 * KIB;
    create();
    alloc(1024 * KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, 1024 * KIB);
}

static void where_the_tight_size_does_not_hold_the_request_more_is_asked_for(void **state)
{
    backend.misalignment_bytes = 256;
    options.initial_bytes = 0;
    create();
    alloc(8 * KIB);
    expect_asked(8, 12);
    assert_int_equal(backend.piece_count, 1);
}

static void a_backends_answers_are_translated(void **state)
{
    static const tarn_status answers[][2] = {
        { TARN_STATUS_OUT_OF_HOST_MEMORY, TARN_STATUS_OUT_OF_HOST_MEMORY },
        { TARN_STATUS_OVER_LIMIT, TARN_STATUS_OUT_OF_MEMORY },
        { TARN_STATUS_INVALID_POOL, TARN_STATUS_VENDOR_ERROR },
        { TARN_STATUS_NOT_READY, TARN_STATUS_VENDOR_ERROR },
        { (tarn_status)99, TARN_STATUS_VENDOR_ERROR },
    };
    options.initial_bytes = 0;
    create();
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        void *address;
        backend.failure = answers[i][0];
        backend.fail_acquire_at = 1;
        expect_status(answers[i][1], tarn_pool_alloc(pool, 4 * KIB, &address));
    }
}

static void a_refusal_is_forgotten_after_some_growth(void **state)
{
    options.initial_bytes = 1024 * KIB;
    options.growth_factor = 1.0;
    backend.capacity_bytes = 300 * KIB;
    create();
    alloc(60 * KIB);
    backend.capacity_bytes = 0;
    unsigned pieces = 0;
    size_t footprint = stats_of(pool).footprint_bytes;
    for (; pieces < 20 && stats_of(pool).footprint_bytes < footprint + 1024 * KIB; pieces++)
        alloc(250 * KIB);
    assert_in_range(pieces, 4, 12);
}

/* The limit holds, and the refused piece is given back, or used, when it is in the way. */
static void a_piece_that_the_vendor_refuses_counts_until_it_has_it_back(void **state)
{
    options.limit_bytes = 100 * KIB;
    create();
    void *first = alloc(60 * KIB);
    free_one(first);
    backend.fail_release = true;
    expect_refused(TARN_STATUS_OVER_LIMIT, 80 * KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
    assert_int_equal(stats_of(pool).unreleased_bytes, 64 * KIB);
    assert_int_equal(stats_of(pool).static_pool_count, 0);
    unsigned acquire_count = backend.acquire_count;
    assert_ptr_equal(alloc(60 * KIB), first);
    assert_int_equal(backend.acquire_count, acquire_count);
    assert_int_equal(stats_of(pool).unreleased_bytes, 0);
    free_one(first);
    expect_refused(TARN_STATUS_OVER_LIMIT, 80 * KIB);
    backend.fail_release = false;
    alloc(80 * KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, backend.held_bytes);
}

static void nothing_is_given_back_that_could_not_help(void **state)
{
    options.limit_bytes = 300 * KIB;
    create();
    void *free_later = alloc(60 * KIB);
    alloc(120 * KIB);
    free_one(free_later);
    expect_refused(TARN_STATUS_OVER_LIMIT, 200 * KIB);
    assert_int_equal(backend.release_count, 0);
}

/* Hangs where the pool holds its lock over a call of the vendor's. */
static void use_the_pool(void *context)
{
    free_one(alloc(KIB));
}

static void others_use_the_pool_while_the_vendor_is_busy(void **state)
{
    create();
    alloc(KIB);
    void *large = alloc(100 * KIB);
    free_one(large);
    backend.while_acquiring = use_the_pool;
    backend.while_releasing = use_the_pool;
    backend.context = &pool;
    large = alloc(500 * KIB);
    free_one(large);
    trim(0);
    assert_int_equal(backend.release_count, 2);
    backend.while_releasing = NULL;
}

static void statistics_tell_fragmentation_and_metadata(void **state)
{
    create();
    size_t empty = stats_of(pool).metadata_bytes;
    assert_true(empty > sizeof(struct tarn_pool));
    void *blocks[8];
    for (int i = 0; i < 8; i++)
        blocks[i] = alloc(8 * KIB);
    assert_true(stats_of(pool).metadata_bytes >= empty + 8 * 24);
    free_one(blocks[0]);
    assert_true(stats_of(pool).fragmentation == 0.0);
    for (int i = 2; i < 8; i += 2)
        free_one(blocks[i]);
    assert_true(stats_of(pool).fragmentation == 0.75);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, blocks[0]));
    assert_int_equal(stats_of(pool).failed_count, 1);
}

static void creations_that_fail_wake_no_resting_handle(void **state)
{
    create();
    tarn_pool *gone = pool, *never;
    destroy();
    backend.fail_properties = true;
    for (int i = 0; i < 2 * TN_POOL_REGISTRY_RESTING_MAX; i++)
        expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_create(&options, &never));
    backend.fail_properties = false;
    create();
    assert_ptr_not_equal(pool, gone);
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_check(gone));
}

static void misaligned_backing_is_cut_on_chunk_boundaries(void **state)
{
    backend.misalignment_bytes = 256;
    options.initial_bytes = 0;
    create();
    for (int i = 0; i < 20; i++) {
        void *address = alloc(8 * KIB);
        assert_int_equal((uintptr_t)address % 1024, 0);
        tarn_allocation found = found_at(address);
        assert_true((char *)address + 8 * KIB <=
                    (char *)found.static_pool_base + found.static_pool_bytes);
    }
}

static void an_infinite_growth_factor_takes_a_quarter_of_what_there_is(void **state)
{
    options.growth_factor = (double)INFINITY;
    options.limit_bytes = 1024 * KIB;
    create();
    alloc(64 * KIB);
    alloc(8 * KIB);
    expect_asked(64, 240);
}

/* --- trim -------------------------------------------------------------------------------------- */

static void trim_gives_back_the_newest_first_and_keeps_what_it_is_told(void **state)
{
    create();
    void *a = alloc(64 * KIB), *b = alloc(128 * KIB), *c = alloc(256 * KIB);
    size_t released;
    expect_ok(tarn_pool_trim(pool, 0, &released));
    assert_int_equal(released, 0);
    free_one(a);
    free_one(b);
    free_one(c);

    expect_ok(tarn_pool_trim(pool, 448 * KIB, &released));
    assert_int_equal(released, 0);
    expect_ok(tarn_pool_trim(pool, 100 * KIB, &released));
    /* The newest; not the one before it, which would leave 64; then the oldest. */
    assert_int_equal(released, (256 + 64) * KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, 128 * KIB);
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_pool_trim(pool, 0, &released));
    assert_int_equal(released, 128 * KIB);
    assert_int_equal(stats_of(pool).static_pool_count, 0);
    assert_int_equal(stats_of(pool).footprint_bytes_max, 448 * KIB);
    alloc(KIB);
}

static void a_new_static_pool_takes_the_numbers_of_one_that_left(void **state)
{
    create();
    void *a = alloc(60 * KIB);
    alloc(100 * KIB);
    free_one(a);
    trim(0);
    for (int i = 0; i < 50; i++) {
        void *large = alloc(1000 * KIB);
        free_one(large);
        trim(0);
        expect_ok(tarn_pool_check(pool));
    }
    assert_true(pool->list.by_chunk[pool->list.count - 1].static_pool->first_chunk < 4096);
}

static void a_piece_that_the_vendor_refuses_is_reported(void **state)
{
    create();
    free_one(alloc(KIB));
    backend.fail_release = true;
    size_t released = 77;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, &released));
    expect_message("0 bytes were given back");
    assert_int_equal(released, 77);
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
    assert_int_equal(stats_of(pool).vendor_refusal_count, 1);
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, &released));
    backend.fail_release = false;
    expect_ok(tarn_pool_trim(pool, 0, &released));
    assert_int_equal(released, 64 * KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    assert_int_equal(stats_of(pool).vendor_refusal_count, 2);
}

/* At the end the vendor is asked once more for each. */
static void a_refused_piece_goes_back_with_the_pool(void **state)
{
    create();
    free_one(alloc(KIB));
    backend.fail_release = true;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, NULL));
    backend.fail_release = false;
    destroy_empty();
    expect_nothing_left();
}

static void more_chunks_than_there_are_numbers_are_refused(void **state)
{
    options.chunk_bytes = 256;
    options.growth_factor = 1.0;
    create();
    size_t third = (size_t)INT32_MAX / 3 * 256;
    alloc(third);
    alloc(third);
    unsigned before = backend.acquire_count;
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, third * 3 / 2);
    expect_message("2147483647 chunks of 256 bytes in all");
    assert_int_equal(backend.acquire_count, before);
}

static void growth_makes_do_with_the_numbers_that_are_left(void **state)
{
    options.chunk_bytes = 256;
    create();
    size_t half = (size_t)INT32_MAX / 2 * 256;
    alloc(half);
    alloc(1024 * 1024 * KIB);
    assert_int_equal(backend.piece_count, 2);
}

/* --- every host allocation fails once ---------------------------------------------------------- */

/* Allocates and frees enough to grow every array and tree; any step may run out of host memory, and
 * then the same step must pass when tried again. */
static void scenario(void)
{
    enum {
        BLOCKS = 400
    };
    void *blocks[BLOCKS];
    tarn_status status = tarn_pool_create(&options, &pool);
    if (status == TARN_STATUS_OUT_OF_HOST_MEMORY) create();
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = (size_t)(i % 7 + 1) * KIB;
        size_t alignment = i % 11 == 0 ? 8 * KIB : 1;
        status = tarn_pool_alloc_aligned(pool, size, alignment, &blocks[i]);
        if (status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
            expect_ok(tarn_pool_check(pool));
            expect_ok(tarn_pool_alloc_aligned(pool, size, alignment, &blocks[i]));
        }
    }
    FILE *file = tmpfile();
    status = tarn_pool_dump(pool, TARN_DUMP_FORMAT_TEXT, file);
    if (status == TARN_STATUS_OUT_OF_HOST_MEMORY)
        expect_ok(tarn_pool_dump(pool, TARN_DUMP_FORMAT_TEXT, file));
    fclose(file);
    /* Every second one, so that as many regions as possible become free. */
    for (int i = 0; i < BLOCKS; i += 2)
        free_one(blocks[i]);
    expect_ok(tarn_pool_check(pool));
    for (int i = 1; i < BLOCKS; i += 2)
        free_one(blocks[i]);
    expect_ok(tarn_pool_check(pool));
    trim(0);
    destroy_empty();
}

static void every_host_allocation_may_fail(void **state)
{
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        size_t resting_before = tn_pool_registry_resting_count();
        host_memory_faults_begin(n);
        scenario();
        size_t handles = tn_pool_registry_resting_count() - resting_before;
        long outstanding = host_memory_faults_outstanding();
        has_failed = host_memory_faults_end();
        assert_int_equal(outstanding, handles);
        assert_int_equal(backend.piece_count, 0);
    }
    printf("%u host allocations failed, each once\n", n - 2);
    assert_true(n > 30);
}

static void freeing_allocates_no_host_memory(void **state)
{
    enum {
        BLOCKS = 5000
    };
    static void *blocks[BLOCKS];
    create();
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = alloc((size_t)(i % 3 + 1) * KIB);
    host_memory_faults_begin(1);
    for (int step = 0; step < 3; step++) {
        for (int i = step; i < BLOCKS; i += 3)
            free_one(blocks[i]);
    }
    assert_false(host_memory_faults_end());
}

/* --- check finds damage ------------------------------------------------------------------------ */

static void check_names_what_is_damaged(void **state)
{
    create();
    alloc(60 * KIB);
    alloc(60 * KIB);
    expect_ok(tarn_pool_check(pool));

    pool->own.stats.footprint_bytes++;
    expect_fault("footprint");
    pool->own.stats.footprint_bytes--;
    pool->own.stats.live_count++;
    expect_fault("live count");
    pool->own.stats.live_count--;
    pool->own.stats.used_bytes++;
    expect_fault("used bytes");
    pool->own.stats.used_bytes--;
    pool->own.stats.requested_bytes--;
    expect_fault("requested bytes");
    pool->own.stats.requested_bytes++;
    pool->own.stats.live_count_max = 1;
    expect_fault("high-water mark");
    pool->own.stats.live_count_max = 2;

    pool->own.index.span_count++;
    expect_fault("the counts of the region index are wrong");
    pool->own.index.span_count--;
    struct tn_static_pool_list *list = &pool->list;
    struct tn_static_pool_place first = list->by_address[0];
    list->by_address[0] = list->by_address[1];
    list->by_address[1] = first;
    expect_fault("order of their addresses");
    list->by_address[1] = list->by_address[0];
    list->by_address[0] = first;
    first = list->by_chunk[0];
    list->by_chunk[0] = list->by_chunk[1];
    list->by_chunk[1] = first;
    expect_fault("order of their chunks");
    list->by_chunk[1] = list->by_chunk[0];
    list->by_chunk[0] = first;

    list->by_chunk[0].static_pool->piece.chunk_count--;
    expect_fault("static pool ");
    list->by_chunk[0].static_pool->piece.chunk_count++;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_without_pool, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(grows_at_the_first_allocation_by_a_factor_of_two),
        CASE(little_is_taken_when_much_is_free),
        CASE(a_request_larger_than_the_growth_gets_its_own_size),
        CASE(no_initial_size_means_as_much_as_needed),
        CASE(growth_stays_under_the_users_cap),
        CASE(growth_stays_under_the_limit),
        CASE(a_limit_below_the_request_is_told_without_asking_the_vendor),
        CASE(a_request_above_the_vendors_largest_allocation_is_refused),
        CASE(a_refused_wish_halves_down_to_the_need_and_is_not_repeated),
        CASE(when_memory_was_returned_the_wish_is_tried_again),
        CASE(no_vendor_call_where_memory_is_held),
        CASE(out_of_memory_keeps_the_vendors_words),
        CASE(free_static_pools_are_given_up_for_a_request_that_needs_them),
        CASE(so_they_are_under_a_limit),
        CASE(what_is_freed_while_the_vendor_refuses_is_not_overlooked),
        CASE(another_failure_of_the_vendor_is_passed_on),
        CASE(pieces_that_cannot_be_are_refused),
        CASE(an_exact_fit_of_the_limit_succeeds),
        CASE(where_the_tight_size_does_not_hold_the_request_more_is_asked_for),
        CASE(a_backends_answers_are_translated),
        CASE(a_refusal_is_forgotten_after_some_growth),
        CASE(a_piece_that_the_vendor_refuses_counts_until_it_has_it_back),
        CASE(nothing_is_given_back_that_could_not_help),
        CASE(others_use_the_pool_while_the_vendor_is_busy),
        CASE(statistics_tell_fragmentation_and_metadata),
        CASE(creations_that_fail_wake_no_resting_handle),
        CASE(misaligned_backing_is_cut_on_chunk_boundaries),
        CASE(an_infinite_growth_factor_takes_a_quarter_of_what_there_is),
        CASE(trim_gives_back_the_newest_first_and_keeps_what_it_is_told),
        CASE(a_new_static_pool_takes_the_numbers_of_one_that_left),
        CASE(a_piece_that_the_vendor_refuses_is_reported),
        CASE(a_refused_piece_goes_back_with_the_pool),
        CASE(more_chunks_than_there_are_numbers_are_refused),
        CASE(growth_makes_do_with_the_numbers_that_are_left),
        CASE(every_host_allocation_may_fail),
        CASE(freeing_allocates_no_host_memory),
        CASE(check_names_what_is_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
