/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A pool that grows, is refused memory, gives it back, and is damaged: with a backend that counts. */
#include <math.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/test_backend.h"

#include "core/pool/pool.h"
#include "core/care/pool_registry.h"

#define KIB ((size_t)1024)

struct fixture {
    struct test_backend backend;
    tarn_backend opened;
    tarn_pool_options options;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    test_backend_init(&fixture.backend);
    fixture.opened = test_backend_open(&fixture.backend);
    fixture.options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture.options.backend = &fixture.opened;
    fixture.options.initial_bytes = 64 * KIB;
    *state = &fixture;
    return 0;
}

static tarn_pool *create(struct fixture *fixture)
{
    tarn_pool *pool;
    expect_ok(tarn_pool_create(&fixture->options, &pool));
    return pool;
}

static void destroy(struct fixture *fixture, tarn_pool *pool)
{
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    assert_int_equal(fixture->backend.piece_count, 0);
}

static void *alloc(tarn_pool *pool, size_t size_bytes)
{
    void *address;
    expect_ok(tarn_pool_alloc(pool, size_bytes, &address));
    return address;
}

/* What the backend was asked for, in KiB, from the first call on. */
#define expect_asked(fixture, ...)                                                     \
    do {                                                                               \
        const size_t expected_[] = { __VA_ARGS__ };                                    \
        size_t count_ = sizeof expected_ / sizeof expected_[0];                        \
        assert_int_equal((fixture)->backend.acquire_count, count_);                    \
        for (size_t i_ = 0; i_ < count_; i_++) {                                       \
            assert_int_equal((fixture)->backend.asked_bytes[i_] / KIB, expected_[i_]); \
        }                                                                              \
    } while (0)

/* --- growth ------------------------------------------------------------------------------------ */

static void grows_at_the_first_allocation_by_a_factor_of_two(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    assert_int_equal(fixture->backend.acquire_count, 0);
    for (int i = 0; i < 4; i++) {
        alloc(pool, 60 * KIB);
    }
    expect_asked(fixture, 64, 128, 256);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.footprint_bytes, 448 * KIB);
    assert_int_equal(stats.static_pool_count, 3);
    assert_int_equal(stats.vendor_alloc_count, 3);
    destroy(fixture, pool);
}

static void a_request_larger_than_the_growth_gets_its_own_size(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    alloc(pool, 1000 * KIB);
    expect_asked(fixture, 1000);
    destroy(fixture, pool);
}

static void no_initial_size_means_as_much_as_needed(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = 0;
    tarn_pool *pool = create(fixture);
    alloc(pool, 1);
    expect_asked(fixture, 4);
    destroy(fixture, pool);
}

static void growth_stays_under_the_users_cap(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.growth_bytes_max = 100 * KIB;
    tarn_pool *pool = create(fixture);
    for (int i = 0; i < 3; i++) {
        alloc(pool, 60 * KIB);
    }
    alloc(pool, 200 * KIB);
    expect_asked(fixture, 64, 100, 100, 200);
    destroy(fixture, pool);
}

static void growth_stays_under_the_limit(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 150 * KIB;
    tarn_pool *pool = create(fixture);
    alloc(pool, 60 * KIB);
    alloc(pool, 60 * KIB);
    /* 86 KiB are left, of which 84 are whole pages. */
    expect_asked(fixture, 64, 84);
    void *address = fixture;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 60 * KIB, &address));
    expect_message("at most 153600");
    assert_ptr_equal(address, fixture);
    assert_int_equal(fixture->backend.acquire_count, 2);
    assert_int_equal(stats_of(pool).failed_count, 1);
    destroy(fixture, pool);
}

static void a_limit_below_the_request_is_told_without_asking_the_vendor(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 10 * KIB;
    tarn_pool *pool = create(fixture);
    void *address;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 11 * KIB, &address));
    assert_int_equal(fixture->backend.acquire_count, 0);
    destroy(fixture, pool);
}

static void a_request_above_the_vendors_largest_allocation_is_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.allocation_bytes_max = 256 * KIB;
    fixture->options.limit_bytes = 1024 * KIB;
    tarn_pool *pool = create(fixture);
    void *address;
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc(pool, 300 * KIB, &address));
    expect_message("largest allocation");
    assert_int_equal(fixture->backend.acquire_count, 0);
    destroy(fixture, pool);
}

static void a_refused_wish_halves_down_to_the_need_and_is_not_repeated(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = 1024 * KIB;
    fixture->backend.capacity_bytes = 200 * KIB;
    tarn_pool *pool = create(fixture);
    void *first = alloc(pool, 30 * KIB);
    expect_asked(fixture, 1024, 512, 256, 128);
    alloc(pool, 90 * KIB);
    alloc(pool, 60 * KIB);
    /* Twice 128 was refused before: half of it is the wish now, and then the need. */
    expect_asked(fixture, 1024, 512, 256, 128, 128, 64);
    expect_ok(tarn_pool_free(pool, first));
    destroy(fixture, pool);
}

static void when_memory_was_returned_the_wish_is_tried_again(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = 1024 * KIB;
    fixture->backend.capacity_bytes = 600 * KIB;
    tarn_pool *pool = create(fixture);
    void *address = alloc(pool, KIB);
    expect_asked(fixture, 1024, 512);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_trim(pool, 0, NULL));
    alloc(pool, KIB);
    expect_asked(fixture, 1024, 512, 1024, 512);
    destroy(fixture, pool);
}

static void no_vendor_call_where_memory_is_held(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    alloc(pool, KIB);
    for (int i = 0; i < 1000; i++) {
        expect_ok(tarn_pool_free(pool, alloc(pool, 50 * KIB)));
    }
    assert_int_equal(fixture->backend.acquire_count, 1);
    assert_int_equal(fixture->backend.release_count, 0);
    destroy(fixture, pool);
}

static void out_of_memory_keeps_the_vendors_words(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.capacity_bytes = 64 * KIB;
    tarn_pool *pool = create(fixture);
    alloc(pool, 60 * KIB);
    void *address = fixture;
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc(pool, 60 * KIB, &address));
    expect_message("the pool holds 65536 bytes");
    assert_int_equal(tarn_last_error().vendor_code, -7);
    assert_string_equal(tarn_last_error().vendor_name, "testError");
    assert_ptr_equal(address, fixture);
    destroy(fixture, pool);
}

static void free_static_pools_are_given_up_for_a_request_that_needs_them(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.capacity_bytes = 300 * KIB;
    tarn_pool *pool = create(fixture);
    void *first = alloc(pool, 60 * KIB);
    void *second = alloc(pool, 120 * KIB);
    expect_ok(tarn_pool_free(pool, first));
    expect_ok(tarn_pool_free(pool, second));
    void *large = alloc(pool, 250 * KIB);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.static_pool_count, 1);
    assert_int_equal(stats.vendor_free_count, 2);
    expect_ok(tarn_pool_free(pool, large));
    destroy(fixture, pool);
}

static void so_they_are_under_a_limit(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 300 * KIB;
    tarn_pool *pool = create(fixture);
    expect_ok(tarn_pool_free(pool, alloc(pool, 60 * KIB)));
    expect_ok(tarn_pool_free(pool, alloc(pool, 280 * KIB)));
    void *address;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 400 * KIB, &address));
    /* No release could have helped that one, so none was made. */
    assert_int_equal(stats_of(pool).vendor_free_count, 1);
    destroy(fixture, pool);
}

struct freeing {
    tarn_pool *pool;
    void *address;
};

static void free_meanwhile(void *context)
{
    struct freeing *freeing = context;
    if (freeing->address) expect_ok(tarn_pool_free(freeing->pool, freeing->address));
    freeing->address = NULL;
}

static void what_is_freed_while_the_vendor_refuses_is_not_overlooked(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.capacity_bytes = 64 * KIB;
    tarn_pool *pool = create(fixture);
    alloc(pool, KIB);
    struct freeing freeing = { pool, alloc(pool, 60 * KIB) };
    fixture->backend.while_acquiring = free_meanwhile;
    fixture->backend.context = &freeing;
    alloc(pool, 50 * KIB);
    assert_null(freeing.address);
    destroy(fixture, pool);
}

static void another_failure_of_the_vendor_is_passed_on(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    fixture->backend.failure = TARN_STATUS_VENDOR_ERROR;
    fixture->backend.fail_acquire_at = 1;
    void *address;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_alloc(pool, KIB, &address));
    assert_int_equal(fixture->backend.acquire_count, 1);
    alloc(pool, KIB);
    destroy(fixture, pool);
}

/* The piece is not given back: nobody knows what that would do. */
static void expect_piece_refused(struct fixture *fixture, tarn_pool *pool, const char *part)
{
    void *address = fixture;
    unsigned released = fixture->backend.release_count;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_alloc(pool, 100 * KIB, &address));
    expect_message(part);
    assert_ptr_equal(address, fixture);
    assert_int_equal(fixture->backend.release_count, released);
    expect_ok(tarn_pool_check(pool));
}

static void pieces_that_cannot_be_are_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.alignment_bytes = 4096;
    tarn_pool *pool = create(fixture);
    tarn_allocation held = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(alloc(pool, KIB), &held));

    fixture->backend.give_null = true;
    expect_piece_refused(fixture, pool, "NULL");
    fixture->backend.give_null = false;
    fixture->backend.give_address = ((uintptr_t)1 << 50) + 512;
    expect_piece_refused(fixture, pool, "less aligned than promised");
    fixture->backend.give_address = UINTPTR_MAX - 64 * KIB + 1;
    expect_piece_refused(fixture, pool, "beyond the last address");
    fixture->backend.give_address = (uintptr_t)held.static_pool_base + 8 * KIB;
    expect_piece_refused(fixture, pool, "overlaps");
    fixture->backend.give_address = (uintptr_t)held.static_pool_base - 64 * KIB;
    expect_piece_refused(fixture, pool, "overlaps");
    fixture->backend.give_address = 0;
    alloc(pool, 100 * KIB);
    destroy(fixture, pool);
}

static void an_exact_fit_of_the_limit_succeeds(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 1024 * KIB;
    tarn_pool *pool = create(fixture);
    alloc(pool, 1024 * KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, 1024 * KIB);
    destroy(fixture, pool);
}

static void where_the_tight_size_does_not_hold_the_request_more_is_asked_for(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.misalignment_bytes = 256;
    fixture->options.initial_bytes = 0;
    tarn_pool *pool = create(fixture);
    alloc(pool, 8 * KIB);
    expect_asked(fixture, 8, 12);
    assert_int_equal(fixture->backend.piece_count, 1);
    destroy(fixture, pool);
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
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = 0;
    tarn_pool *pool = create(fixture);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        void *address;
        fixture->backend.failure = answers[i][0];
        fixture->backend.fail_acquire_at = 1;
        expect_status(answers[i][1], tarn_pool_alloc(pool, 4 * KIB, &address));
    }
    destroy(fixture, pool);
}

static void a_refusal_is_forgotten_after_some_growth(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = 1024 * KIB;
    fixture->options.growth_factor = 1.0;
    fixture->backend.capacity_bytes = 300 * KIB;
    tarn_pool *pool = create(fixture);
    alloc(pool, 60 * KIB);
    fixture->backend.capacity_bytes = 0;
    unsigned pieces = 0;
    size_t footprint = stats_of(pool).footprint_bytes;
    for (; pieces < 20 && stats_of(pool).footprint_bytes < footprint + 1024 * KIB; pieces++) {
        alloc(pool, 250 * KIB);
    }
    assert_in_range(pieces, 4, 12);
    destroy(fixture, pool);
}

static void what_is_lost_at_a_refused_release_still_makes_room(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 100 * KIB;
    tarn_pool *pool = create(fixture);
    expect_ok(tarn_pool_free(pool, alloc(pool, 60 * KIB)));
    fixture->backend.fail_release = true;
    alloc(pool, 80 * KIB);
    fixture->backend.fail_release = false;
    destroy(fixture, pool);
}

static void nothing_is_given_back_that_could_not_help(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 300 * KIB;
    tarn_pool *pool = create(fixture);
    void *free_later = alloc(pool, 60 * KIB);
    alloc(pool, 120 * KIB);
    expect_ok(tarn_pool_free(pool, free_later));
    void *address;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 200 * KIB, &address));
    assert_int_equal(fixture->backend.release_count, 0);
    destroy(fixture, pool);
}

/* Hangs where the pool holds its lock over a call of the vendor's. */
static void use_the_pool(void *context)
{
    tarn_pool *pool = *(tarn_pool **)context;
    void *address;
    expect_ok(tarn_pool_alloc(pool, KIB, &address));
    expect_ok(tarn_pool_free(pool, address));
}

static void others_use_the_pool_while_the_vendor_is_busy(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    alloc(pool, KIB);
    void *large = alloc(pool, 100 * KIB);
    expect_ok(tarn_pool_free(pool, large));
    fixture->backend.while_acquiring = use_the_pool;
    fixture->backend.while_releasing = use_the_pool;
    fixture->backend.context = &pool;
    large = alloc(pool, 500 * KIB);
    expect_ok(tarn_pool_free(pool, large));
    expect_ok(tarn_pool_trim(pool, 0, NULL));
    assert_int_equal(fixture->backend.release_count, 2);
    fixture->backend.while_releasing = NULL;
    destroy(fixture, pool);
}

static void statistics_tell_fragmentation_and_metadata(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    size_t empty = stats_of(pool).metadata_bytes;
    assert_true(empty > sizeof(struct tarn_pool));
    void *blocks[8];
    for (int i = 0; i < 8; i++) {
        blocks[i] = alloc(pool, 8 * KIB);
    }
    assert_true(stats_of(pool).metadata_bytes >= empty + 8 * 24);
    expect_ok(tarn_pool_free(pool, blocks[0]));
    assert_true(stats_of(pool).fragmentation == 0.0);
    for (int i = 2; i < 8; i += 2) {
        expect_ok(tarn_pool_free(pool, blocks[i]));
    }
    assert_true(stats_of(pool).fragmentation == 0.75);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, blocks[0]));
    assert_int_equal(stats_of(pool).failed_count, 1);
    destroy(fixture, pool);
}

static void creations_that_fail_wake_no_resting_handle(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *gone = create(fixture), *never;
    expect_ok(tarn_pool_destroy(gone));
    fixture->backend.fail_properties = true;
    for (int i = 0; i < 2 * TN_POOL_REGISTRY_RESTING_MAX; i++) {
        expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_create(&fixture->options, &never));
    }
    fixture->backend.fail_properties = false;
    tarn_pool *next = create(fixture);
    assert_ptr_not_equal(next, gone);
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_check(gone));
    destroy(fixture, next);
}

static void misaligned_backing_is_cut_on_chunk_boundaries(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.misalignment_bytes = 256;
    fixture->options.initial_bytes = 0;
    tarn_pool *pool = create(fixture);
    for (int i = 0; i < 20; i++) {
        void *address = alloc(pool, 8 * KIB);
        assert_int_equal((uintptr_t)address % 1024, 0);
        tarn_allocation found = TARN_ALLOCATION_INIT;
        expect_ok(tarn_pool_find(address, &found));
        assert_true((char *)address + 8 * KIB <=
                    (char *)found.static_pool_base + found.static_pool_bytes);
    }
    destroy(fixture, pool);
}

static void an_infinite_growth_factor_takes_what_there_is(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.growth_factor = (double)INFINITY;
    fixture->options.limit_bytes = 1024 * KIB;
    tarn_pool *pool = create(fixture);
    alloc(pool, 60 * KIB);
    alloc(pool, 60 * KIB);
    expect_asked(fixture, 64, 960);
    destroy(fixture, pool);
}

/* --- trim -------------------------------------------------------------------------------------- */

static void trim_gives_back_the_newest_first_and_keeps_what_it_is_told(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    void *a = alloc(pool, 60 * KIB), *b = alloc(pool, 120 * KIB), *c = alloc(pool, 250 * KIB);
    size_t released;
    expect_ok(tarn_pool_trim(pool, 0, &released));
    assert_int_equal(released, 0);
    expect_ok(tarn_pool_free(pool, a));
    expect_ok(tarn_pool_free(pool, b));
    expect_ok(tarn_pool_free(pool, c));

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
    alloc(pool, KIB);
    destroy(fixture, pool);
}

static void a_new_static_pool_takes_the_numbers_of_one_that_left(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    void *a = alloc(pool, 60 * KIB);
    alloc(pool, 100 * KIB);
    expect_ok(tarn_pool_free(pool, a));
    expect_ok(tarn_pool_trim(pool, 0, NULL));
    for (int i = 0; i < 50; i++) {
        void *large = alloc(pool, 1000 * KIB);
        expect_ok(tarn_pool_free(pool, large));
        expect_ok(tarn_pool_trim(pool, 0, NULL));
        expect_ok(tarn_pool_check(pool));
    }
    assert_true(pool->list.by_chunk[pool->list.count - 1].static_pool->first_chunk < 4096);
    destroy(fixture, pool);
}

static void a_piece_that_the_vendor_refuses_is_reported(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    expect_ok(tarn_pool_free(pool, alloc(pool, KIB)));
    fixture->backend.fail_release = true;
    size_t released = 77;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, &released));
    expect_message("0 bytes were given back");
    assert_int_equal(released, 77);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    fixture->backend.fail_release = false;
    alloc(pool, KIB);
    destroy(fixture, pool);
}

static void more_chunks_than_there_are_numbers_are_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.chunk_bytes = 256;
    fixture->options.growth_factor = 1.0;
    tarn_pool *pool = create(fixture);
    size_t third = (size_t)INT32_MAX / 3 * 256;
    alloc(pool, third);
    alloc(pool, third);
    void *address;
    unsigned before = fixture->backend.acquire_count;
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc(pool, third * 3 / 2, &address));
    expect_message("2147483647 chunks of 256 bytes in all");
    assert_int_equal(fixture->backend.acquire_count, before);
    destroy(fixture, pool);
}

static void growth_makes_do_with_the_numbers_that_are_left(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.chunk_bytes = 256;
    tarn_pool *pool = create(fixture);
    size_t half = (size_t)INT32_MAX / 2 * 256;
    alloc(pool, half);
    alloc(pool, 1024 * 1024 * KIB);
    assert_int_equal(fixture->backend.piece_count, 2);
    destroy(fixture, pool);
}

/* --- every host allocation fails once ---------------------------------------------------------- */

/* Allocates and frees enough to grow every array and tree; any step may run out of host memory, and
 * then the same step must pass when tried again. */
static void scenario(struct fixture *fixture)
{
    enum {
        BLOCKS = 400
    };
    tarn_pool *pool;
    void *blocks[BLOCKS];
    tarn_status status = tarn_pool_create(&fixture->options, &pool);
    if (status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
        expect_ok(tarn_pool_create(&fixture->options, &pool));
    }
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
    if (status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
        expect_ok(tarn_pool_dump(pool, TARN_DUMP_FORMAT_TEXT, file));
    }
    fclose(file);
    /* Every second one, so that as many regions as possible become free. */
    for (int i = 0; i < BLOCKS; i += 2) {
        expect_ok(tarn_pool_free(pool, blocks[i]));
    }
    expect_ok(tarn_pool_check(pool));
    for (int i = 1; i < BLOCKS; i += 2) {
        expect_ok(tarn_pool_free(pool, blocks[i]));
    }
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_pool_trim(pool, 0, NULL));
    expect_ok(tarn_pool_destroy(pool));
}

static void every_host_allocation_may_fail(void **state)
{
    struct fixture *fixture = *state;
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        size_t resting_before = tn_pool_registry_resting_count();
        host_memory_faults_begin(n);
        scenario(fixture);
        size_t handles = tn_pool_registry_resting_count() - resting_before;
        long outstanding = host_memory_faults_outstanding();
        has_failed = host_memory_faults_end();
        assert_int_equal(outstanding, handles);
        assert_int_equal(fixture->backend.piece_count, 0);
    }
    printf("%u host allocations failed, each once\n", n - 2);
    assert_true(n > 30);
}

static void freeing_allocates_no_host_memory(void **state)
{
    struct fixture *fixture = *state;
    enum {
        BLOCKS = 5000
    };
    static void *blocks[BLOCKS];
    tarn_pool *pool = create(fixture);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = alloc(pool, (size_t)(i % 3 + 1) * KIB);
    }
    host_memory_faults_begin(1);
    for (int step = 0; step < 3; step++) {
        for (int i = step; i < BLOCKS; i += 3) {
            expect_ok(tarn_pool_free(pool, blocks[i]));
        }
    }
    assert_false(host_memory_faults_end());
    destroy(fixture, pool);
}

/* --- check finds damage ------------------------------------------------------------------------ */

static void expect_fault(tarn_pool *pool, const char *part)
{
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_check(pool));
    expect_message(part);
}

static void check_names_what_is_damaged(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    alloc(pool, 60 * KIB);
    alloc(pool, 60 * KIB);
    expect_ok(tarn_pool_check(pool));

    pool->own.stats.footprint_bytes++;
    expect_fault(pool, "footprint");
    pool->own.stats.footprint_bytes--;
    pool->own.stats.live_count++;
    expect_fault(pool, "live count");
    pool->own.stats.live_count--;
    pool->own.stats.used_bytes++;
    expect_fault(pool, "used bytes");
    pool->own.stats.used_bytes--;
    pool->own.stats.requested_bytes--;
    expect_fault(pool, "requested bytes");
    pool->own.stats.requested_bytes++;
    pool->own.stats.live_count_max = 1;
    expect_fault(pool, "high-water mark");
    pool->own.stats.live_count_max = 2;

    pool->index.span_count++;
    expect_fault(pool, "the counts of the region index are wrong");
    pool->index.span_count--;
    struct tn_static_pool_list *list = &pool->list;
    struct tn_static_pool_place first = list->by_address[0];
    list->by_address[0] = list->by_address[1];
    list->by_address[1] = first;
    expect_fault(pool, "order of their addresses");
    list->by_address[1] = list->by_address[0];
    list->by_address[0] = first;
    first = list->by_chunk[0];
    list->by_chunk[0] = list->by_chunk[1];
    list->by_chunk[1] = first;
    expect_fault(pool, "order of their chunks");
    list->by_chunk[1] = list->by_chunk[0];
    list->by_chunk[0] = first;

    list->by_chunk[0].static_pool->chunk_count--;
    expect_fault(pool, "static pool ");
    list->by_chunk[0].static_pool->chunk_count++;
    destroy(fixture, pool);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        CASE(grows_at_the_first_allocation_by_a_factor_of_two),
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
        CASE(what_is_lost_at_a_refused_release_still_makes_room),
        CASE(nothing_is_given_back_that_could_not_help),
        CASE(others_use_the_pool_while_the_vendor_is_busy),
        CASE(statistics_tell_fragmentation_and_metadata),
        CASE(creations_that_fail_wake_no_resting_handle),
        CASE(misaligned_backing_is_cut_on_chunk_boundaries),
        CASE(an_infinite_growth_factor_takes_what_there_is),
        CASE(trim_gives_back_the_newest_first_and_keeps_what_it_is_told),
        CASE(a_new_static_pool_takes_the_numbers_of_one_that_left),
        CASE(a_piece_that_the_vendor_refuses_is_reported),
        CASE(more_chunks_than_there_are_numbers_are_refused),
        CASE(growth_makes_do_with_the_numbers_that_are_left),
        CASE(every_host_allocation_may_fail),
        CASE(freeing_allocates_no_host_memory),
        CASE(check_names_what_is_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
