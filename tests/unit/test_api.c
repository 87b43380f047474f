/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The public functions of a pool: what each takes, what it refuses, and that a refusal changes
 * nothing. */
#include <math.h>

#include "harness/claims.h"
#include "harness/test_backend.h"

#include "core/care/pool_registry.h"

struct fixture {
    struct test_backend backend;
    tarn_backend opened;
    tarn_pool_options options;
    tarn_pool *pool;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    test_backend_init(&fixture.backend);
    fixture.opened = test_backend_open(&fixture.backend);
    fixture.options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture.options.backend = &fixture.opened;
    fixture.options.initial_bytes = 64 * 1024;
    if (tarn_pool_create(&fixture.options, &fixture.pool) != TARN_STATUS_OK) return -1;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    expect_ok(tarn_pool_check(fixture->pool));
    expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
    assert_int_equal(fixture->backend.piece_count, 0);
    return 0;
}

static void *alloc(struct fixture *fixture, size_t size_bytes)
{
    void *address;
    expect_ok(tarn_pool_alloc(fixture->pool, size_bytes, &address));
    return address;
}

/* --- options ----------------------------------------------------------------------------------- */

static void expect_refused(struct fixture *fixture, const tarn_pool_options *options,
                           const char *part)
{
    tarn_pool *pool = fixture->pool;
    expect_status(TARN_STATUS_INVALID_OPTIONS, tarn_pool_create(options, &pool));
    expect_message(part);
    assert_ptr_equal(pool, fixture->pool);
    assert_int_equal(fixture->backend.acquire_count, 0);
}

static void refuses_absurd_chunks(void **state)
{
    static const size_t absurd[] = { 0,       1, 255, 257, 128, 1023, 1025, 3000, (size_t)128 << 20,
                                     SIZE_MAX };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        tarn_pool_options options = fixture->options;
        options.chunk_bytes = absurd[i];
        expect_refused(fixture, &options, "chunk_bytes");
    }
}

static void takes_the_smallest_and_the_largest_chunk(void **state)
{
    static const size_t edges[] = { TARN_CHUNK_BYTES_MIN, TARN_CHUNK_BYTES_MAX };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < 2; i++) {
        tarn_pool_options options = fixture->options;
        options.chunk_bytes = edges[i];
        tarn_pool *pool;
        void *address;
        expect_ok(tarn_pool_create(&options, &pool));
        expect_ok(tarn_pool_alloc(pool, 1, &address));
        assert_int_equal(stats_of(pool).used_bytes, edges[i]);
        expect_ok(tarn_pool_free(pool, address));
        expect_ok(tarn_pool_destroy(pool));
    }
}

static void refuses_growth_below_one(void **state)
{
    const double absurd[] = { 0.999, 0.0, -2.0, (double)NAN, -(double)INFINITY };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        tarn_pool_options options = fixture->options;
        options.growth_factor = absurd[i];
        expect_refused(fixture, &options, "growth_factor");
    }
}

static void refuses_a_policy_that_is_none(void **state)
{
    static const int absurd[] = { -1, TARN_FIT_TLSF + 1, 1000 };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        tarn_pool_options options = fixture->options;
        options.fit = (tarn_fit)absurd[i];
        expect_refused(fixture, &options, "fit is");
    }
}

static void refuses_a_limit_below_a_chunk(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool_options options = fixture->options;
    options.limit_bytes = 1023;
    expect_refused(fixture, &options, "limit_bytes");
}

static void refuses_options_of_another_size(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool_options options = fixture->options;
    options.struct_bytes = 0;
    expect_refused(fixture, &options, "struct_bytes");
    options.struct_bytes = sizeof options + 8;
    expect_refused(fixture, &options, "struct_bytes");
}

static void refuses_a_backend_that_lacks_something(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool_options options = fixture->options;
    tarn_backend_operations operations = *fixture->opened.operations;
    tarn_backend backend = { &operations, &fixture->backend };
    options.backend = &backend;

    operations.acquire = NULL;
    expect_refused(fixture, &options, "acquire");
    operations = *fixture->opened.operations;
    operations.release = NULL;
    expect_refused(fixture, &options, "release");
    operations = *fixture->opened.operations;
    operations.get_properties = NULL;
    expect_refused(fixture, &options, "get_properties");
    operations = *fixture->opened.operations;
    operations.name = NULL;
    expect_refused(fixture, &options, "name");
    operations = *fixture->opened.operations;
    operations.struct_bytes = 8;
    expect_refused(fixture, &options, "table of operations");
    backend.operations = NULL;
    expect_refused(fixture, &options, "table of operations");
}

static void refuses_properties_that_make_no_sense(void **state)
{
    struct fixture *fixture = *state;
    struct test_backend before = fixture->backend;
    fixture->backend.alignment_bytes = 0;
    expect_refused(fixture, &fixture->options, "alignment 0");
    fixture->backend = before;
    fixture->backend.granularity_bytes = 3000;
    expect_refused(fixture, &fixture->options, "granularity 3000");
    fixture->backend = before;
    fixture->backend.allocation_bytes_max = 0;
    expect_refused(fixture, &fixture->options, "largest allocation 0");
    fixture->backend = before;

    fixture->backend.fail_properties = true;
    tarn_pool *pool;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_create(&fixture->options, &pool));
    assert_int_equal(tarn_last_error().vendor_code, -7);
    assert_string_equal(tarn_last_error().vendor_name, "testError");
    fixture->backend.fail_properties = false;
}

static void creates_on_the_default_backend(void **state)
{
    tarn_pool *pool;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_create(NULL, NULL));
    tarn_status status = tarn_pool_create(NULL, &pool);
    if (status == TARN_STATUS_NO_DEVICE) skip();
    assert_int_equal(status, TARN_STATUS_OK);
    void *address;
    expect_ok(tarn_pool_alloc(pool, 100, &address));
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_destroy(pool));
}

/* --- alloc ------------------------------------------------------------------------------------- */

static void zero_bytes_succeed_with_null(void **state)
{
    struct fixture *fixture = *state;
    void *address = &address;
    expect_ok(tarn_pool_alloc(fixture->pool, 0, &address));
    assert_null(address);
    expect_ok(tarn_pool_free(fixture->pool, NULL));
    tarn_stats stats = stats_of(fixture->pool);
    assert_int_equal(stats.alloc_count, 1);
    assert_int_equal(stats.free_count, 1);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(fixture->backend.acquire_count, 0);
}

static void refuses_sizes_that_overflow(void **state)
{
    static const size_t huge[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 2, SIZE_MAX / 2,
                                   ((size_t)INT32_MAX << 10) + 1 };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        void *address = fixture;
        expect_status(TARN_STATUS_SIZE_TOO_LARGE,
                      tarn_pool_alloc(fixture->pool, huge[i], &address));
        assert_ptr_equal(address, fixture);
    }
    assert_int_equal(fixture->backend.acquire_count, 0);
    assert_int_equal(stats_of(fixture->pool).failed_count, 5);
}

static void refuses_alignments_that_overflow(void **state)
{
    struct fixture *fixture = *state;
    void *address = fixture;
    fixture->backend.alignment_bytes = 256;
    size_t huge = (size_t)1 << 63;
    tarn_status status =
        tarn_pool_alloc_aligned(fixture->pool, (size_t)INT32_MAX << 10, huge, &address);
    assert_int_not_equal(status, TARN_STATUS_OK);
    assert_ptr_equal(address, fixture);
}

static void refuses_alignments_that_are_no_power_of_two(void **state)
{
    static const size_t wrong[] = { 0, 3, 255, 257, SIZE_MAX };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        void *address;
        expect_status(TARN_STATUS_INVALID_ALIGNMENT,
                      tarn_pool_alloc_aligned(fixture->pool, 1, wrong[i], &address));
    }
}

static void aligns_as_asked(void **state)
{
    struct fixture *fixture = *state;
    for (size_t alignment = 1; alignment <= (size_t)1 << 24; alignment *= 2) {
        void *address;
        expect_ok(tarn_pool_alloc_aligned(fixture->pool, 3000, alignment, &address));
        assert_int_equal((uintptr_t)address % alignment, 0);
        assert_int_equal((uintptr_t)address % 256, 0);
        expect_ok(tarn_pool_check(fixture->pool));
    }
}

static void an_aligned_request_leaves_what_is_before_it_free(void **state)
{
    struct fixture *fixture = *state;
    char *first = alloc(fixture, 1024);
    void *aligned;
    expect_ok(tarn_pool_alloc_aligned(fixture->pool, 1024, 16384, &aligned));
    assert_ptr_equal(aligned, first + 16384);
    assert_ptr_equal(alloc(fixture, 15 * 1024), first + 1024);
}

static void rounds_to_chunks_in_threes(void **state)
{
    static const size_t sizes[][2] = { { 1, 1 },    { 1023, 1 }, { 1024, 1 }, { 1025, 2 },
                                       { 2047, 2 }, { 2048, 2 }, { 2049, 3 } };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t before = stats_of(fixture->pool).used_bytes;
        void *address = alloc(fixture, sizes[i][0]);
        tarn_stats stats = stats_of(fixture->pool);
        assert_int_equal(stats.used_bytes - before, sizes[i][1] * 1024);
        assert_int_equal(stats.requested_bytes, sizes[i][0]);
        expect_ok(tarn_pool_free(fixture->pool, address));
    }
}

static void takes_the_best_fit_and_the_lowest_of_equals(void **state)
{
    struct fixture *fixture = *state;
    /* Holes of 8, 3, 5 and 3 chunks, with one live chunk behind each. */
    static const size_t holes[] = { 8, 3, 5, 3 };
    char *hole[4];
    for (int i = 0; i < 4; i++) {
        hole[i] = alloc(fixture, holes[i] * 1024);
        alloc(fixture, 1024);
    }
    for (int i = 0; i < 4; i++) {
        expect_ok(tarn_pool_free(fixture->pool, hole[i]));
    }
    assert_ptr_equal(alloc(fixture, 3 * 1024), hole[1]);
    assert_ptr_equal(alloc(fixture, 2 * 1024), hole[3]);
    assert_ptr_equal(alloc(fixture, 4 * 1024), hole[2]);
    assert_ptr_equal(alloc(fixture, 1024), hole[2] + 4 * 1024);
    assert_ptr_equal(alloc(fixture, 1024), hole[3] + 2 * 1024);
    assert_ptr_equal(alloc(fixture, 6 * 1024), hole[0]);
}

/* --- free -------------------------------------------------------------------------------------- */

static void refuses_to_free_what_is_not_its_own(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *other;
    void *foreign_to_this;
    expect_ok(tarn_pool_create(&fixture->options, &other));
    expect_ok(tarn_pool_alloc(other, 4096, &foreign_to_this));
    char *address = alloc(fixture, 4096);
    int on_the_stack;

    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(fixture->pool, address + 1));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(fixture->pool, address + 1024));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(fixture->pool, address + 4095));
    expect_message("4096 bytes");
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(fixture->pool, address + 4096));
    expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free(fixture->pool, foreign_to_this));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(fixture->pool, &on_the_stack));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(fixture->pool, (void *)1));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(fixture->pool, (void *)UINTPTR_MAX));
    assert_int_equal(stats_of(fixture->pool).live_count, 1);
    expect_ok(tarn_pool_check(fixture->pool));

    expect_ok(tarn_pool_free(fixture->pool, address));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(fixture->pool, address));
    expect_ok(tarn_pool_free(other, foreign_to_this));
    expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free(fixture->pool, foreign_to_this));
    expect_ok(tarn_pool_destroy(other));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(fixture->pool, foreign_to_this));
}

/* --- destroy ----------------------------------------------------------------------------------- */

static void refuses_to_destroy_with_live_allocations(void **state)
{
    struct fixture *fixture = *state;
    void *address = alloc(fixture, 1);
    expect_status(TARN_STATUS_LIVE_REGIONS, tarn_pool_destroy(fixture->pool));
    expect_message("1 live");
    assert_int_equal(fixture->backend.release_count, 0);
    expect_ok(tarn_pool_free(fixture->pool, address));
}

static void a_forced_destroy_tells_what_leaked(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool;
    tarn_leaks leaks = TARN_LEAKS_INIT;
    void *address, *freed;
    expect_ok(tarn_pool_create(&fixture->options, &pool));
    expect_ok(tarn_pool_alloc(pool, 1000, &address));
    expect_ok(tarn_pool_alloc(pool, 5, &freed));
    expect_ok(tarn_pool_alloc(pool, 3000, &address));
    expect_ok(tarn_pool_free(pool, freed));

    leaks.struct_bytes--;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_destroy_forced(pool, &leaks));
    expect_message("leaks_out");
    expect_ok(tarn_pool_check(pool));
    leaks.struct_bytes++;
    expect_ok(tarn_pool_destroy_forced(pool, &leaks));
    assert_int_equal(leaks.allocation_count, 2);
    assert_int_equal(leaks.requested_bytes, 4000);
    assert_int_equal(leaks.used_bytes, 4 * 1024);

    expect_ok(tarn_pool_create(&fixture->options, &pool));
    expect_ok(tarn_pool_destroy_forced(pool, &leaks));
    assert_int_equal(leaks.allocation_count, 0);
    assert_int_equal(leaks.requested_bytes, 0);
    assert_int_equal(leaks.used_bytes, 0);
    assert_int_equal(fixture->backend.piece_count, 0);
}

static void abandoning_a_pool_leaves_the_vendor_alone(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool;
    void *address, *more;
    expect_ok(tarn_pool_create(&fixture->options, &pool));
    expect_ok(tarn_pool_alloc(pool, 1000, &address));
    expect_ok(tarn_pool_alloc(pool, 1000000, &more));
    expect_ok(tarn_pool_free(pool, more));
    expect_ok(tarn_pool_abandon(pool));
    assert_int_equal(fixture->backend.piece_count, 2);
    assert_int_equal(fixture->backend.release_count, 0);
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_alloc(pool, 1, &more));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free(pool, address));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_abandon(pool));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_destroy(pool));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(fixture->pool, address));
    fixture->backend.piece_count = 0; /* they are the vendor's problem now */
}

static void every_call_on_a_destroyed_pool_is_refused(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *gone;
    void *address = &gone;
    size_t released;
    tarn_stats stats = TARN_STATS_INIT;
    expect_ok(tarn_pool_create(&fixture->options, &gone));
    expect_ok(tarn_pool_alloc(gone, 1, &address));
    expect_ok(tarn_pool_destroy_forced(gone, NULL));

    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_alloc(gone, 1, &address));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_alloc_aligned(gone, 0, 1, &address));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free(gone, address));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free(gone, NULL));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_trim(gone, 0, &released));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_stats(gone, &stats));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_check(gone));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_dump(gone, TARN_DUMP_FORMAT_TEXT, stdout));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_destroy(gone));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_destroy_forced(gone, NULL));
    expect_message("has been destroyed");
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(fixture->pool, address));
}

static void null_pools_are_refused_but_for_destroy(void **state)
{
    void *address;
    tarn_stats stats = TARN_STATS_INIT;
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_alloc(NULL, 1, &address));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free(NULL, NULL));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_trim(NULL, 0, NULL));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_stats(NULL, &stats));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_check(NULL));
    expect_message("NULL");
    expect_ok(tarn_pool_destroy(NULL));
    expect_ok(tarn_pool_destroy_forced(NULL, NULL));
    expect_ok(tarn_pool_abandon(NULL));
}

static void handles_are_used_again_only_after_a_rest(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *first, *later;
    expect_ok(tarn_pool_create(&fixture->options, &first));
    expect_ok(tarn_pool_destroy(first));
    for (int i = 0; i < TN_POOL_REGISTRY_RESTING_MAX; i++) {
        expect_ok(tarn_pool_create(&fixture->options, &later));
        assert_ptr_not_equal(later, first);
        expect_ok(tarn_pool_destroy(later));
        expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_check(first));
    }
}

/* --- arguments of the rest --------------------------------------------------------------------- */

static void null_outputs_are_refused(void **state)
{
    struct fixture *fixture = *state;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_alloc(fixture->pool, 1, NULL));
    expect_message("address_out");
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_stats(fixture->pool, NULL));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_find(fixture, NULL));
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_pool_dump(fixture->pool, TARN_DUMP_FORMAT_TEXT, NULL));
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_pool_dump(fixture->pool, (tarn_dump_format)7, stdout));
    expect_ok(tarn_pool_trim(fixture->pool, 0, NULL));
}

static void structures_of_another_size_are_refused(void **state)
{
    struct fixture *fixture = *state;
    tarn_stats stats = TARN_STATS_INIT;
    stats.struct_bytes -= 8;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_stats(fixture->pool, &stats));
    tarn_allocation found = TARN_ALLOCATION_INIT;
    found.struct_bytes = 0;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_find(fixture, &found));
    expect_message("found_out");
}

static void finds_what_an_address_lies_in(void **state)
{
    struct fixture *fixture = *state;
    char *small = alloc(fixture, 1);
    char *large = alloc(fixture, 300 * 1024);
    tarn_allocation found = TARN_ALLOCATION_INIT;

    expect_ok(tarn_pool_find(large + 200 * 1024 + 13, &found));
    assert_ptr_equal(found.pool, fixture->pool);
    assert_ptr_equal(found.address, large);
    assert_int_equal(found.size_bytes, 300 * 1024);
    assert_true((char *)found.static_pool_base <= large);
    assert_true(large + found.usable_bytes <=
                (char *)found.static_pool_base + found.static_pool_bytes);
    uint64_t id = found.static_pool_id;

    expect_ok(tarn_pool_find(small, &found));
    assert_int_equal(found.size_bytes, 1);
    assert_int_equal(found.usable_bytes, 16);
    assert_int_not_equal(found.static_pool_id, id);

    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(small + 16, &found));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(small + 1024, &found));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_find(&found, &found));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_find(NULL, &found));
}

static void tells_the_backend_of_a_pool(void **state)
{
    struct fixture *fixture = *state;
    static uint64_t memory[1024];
    tarn_backend backend = { NULL, NULL }, other = { NULL, NULL };
    tarn_pool *over;
    expect_ok(tarn_pool_get_backend(fixture->pool, &backend));
    assert_ptr_equal(backend.operations, fixture->opened.operations);
    assert_ptr_equal(backend.state, fixture->opened.state);
    expect_ok(tarn_pool_create_over(memory, sizeof memory, NULL, &over));
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_pool_get_backend(over, &other));
    expect_message("memory of the caller's");
    expect_ok(tarn_pool_destroy(over));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_get_backend(over, &other));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_get_backend(NULL, &other));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_get_backend(fixture->pool, NULL));
    expect_message("backend_out is NULL");
    assert_null(other.operations);
}

static void histogram_counts_by_powers_of_two(void **state)
{
    struct fixture *fixture = *state;
    static const size_t sizes[] = { 1, 2, 3, 4, 5, 1024, 1025 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        alloc(fixture, sizes[i]);
    }
    tarn_stats stats = stats_of(fixture->pool);
    assert_int_equal(stats.size_histogram[0], 1);
    assert_int_equal(stats.size_histogram[1], 1);
    assert_int_equal(stats.size_histogram[2], 2);
    assert_int_equal(stats.size_histogram[3], 1);
    assert_int_equal(stats.size_histogram[10], 1);
    assert_int_equal(stats.size_histogram[11], 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(refuses_absurd_chunks),
        CASE(takes_the_smallest_and_the_largest_chunk),
        CASE(refuses_growth_below_one),
        CASE(refuses_a_policy_that_is_none),
        CASE(refuses_a_limit_below_a_chunk),
        CASE(refuses_options_of_another_size),
        CASE(refuses_a_backend_that_lacks_something),
        CASE(refuses_properties_that_make_no_sense),
        CASE(creates_on_the_default_backend),
        CASE(zero_bytes_succeed_with_null),
        CASE(refuses_sizes_that_overflow),
        CASE(refuses_alignments_that_overflow),
        CASE(refuses_alignments_that_are_no_power_of_two),
        CASE(aligns_as_asked),
        CASE(an_aligned_request_leaves_what_is_before_it_free),
        CASE(rounds_to_chunks_in_threes),
        CASE(takes_the_best_fit_and_the_lowest_of_equals),
        CASE(refuses_to_free_what_is_not_its_own),
        CASE(refuses_to_destroy_with_live_allocations),
        CASE(a_forced_destroy_tells_what_leaked),
        CASE(abandoning_a_pool_leaves_the_vendor_alone),
        CASE(every_call_on_a_destroyed_pool_is_refused),
        CASE(null_pools_are_refused_but_for_destroy),
        CASE(handles_are_used_again_only_after_a_rest),
        CASE(null_outputs_are_refused),
        CASE(structures_of_another_size_are_refused),
        CASE(finds_what_an_address_lies_in),
        CASE(tells_the_backend_of_a_pool),
        CASE(histogram_counts_by_powers_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
