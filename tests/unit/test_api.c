/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The public functions of a pool: what each takes, what it refuses, and that a refusal changes
 * nothing. */
#include <math.h>

#include "core/care/pool_registry.h"
#include "pool_fixture.h"

/* Where the options of the first version ended. */
#define FIRST_OPTIONS_BYTES offsetof(tarn_pool_options, name)
#define FIRST_STATS_BYTES   offsetof(tarn_stats, part_bytes)

/* --- options ----------------------------------------------------------------------------------- */

static void refuses_absurd_chunks(void **state)
{
    static const size_t absurd[] = { 0,       1, 255, 257, 128, 1023, 1025, 3000, (size_t)128 << 20,
                                     SIZE_MAX };
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        options.chunk_bytes = absurd[i];
        expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "chunk_bytes");
    }
}

static void takes_the_smallest_and_the_largest_chunk(void **state)
{
    static const size_t edges[] = { TARN_CHUNK_BYTES_MIN, TARN_CHUNK_BYTES_MAX };
    for (size_t i = 0; i < 2; i++) {
        options.chunk_bytes = edges[i];
        create_anew();
        alloc(1);
        assert_int_equal(stats_of(pool).used_bytes, edges[i]);
    }
}

static void refuses_growth_below_one(void **state)
{
    const double absurd[] = { 0.999, 0.0, -2.0, (double)NAN, -(double)INFINITY };
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        options.growth_factor = absurd[i];
        expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "growth_factor");
    }
}

static void refuses_a_policy_that_is_none(void **state)
{
    static const int absurd[] = { -1, TARN_FIT_TLSF + 1, 1000 };
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        options.fit = (tarn_fit)absurd[i];
        expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "fit is");
    }
}

static void refuses_a_limit_below_a_chunk(void **state)
{
    options.limit_bytes = 1023;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "limit_bytes");
}

static void refuses_options_of_another_size(void **state)
{
    options.struct_bytes = 0;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "struct_bytes");
    options.struct_bytes = sizeof options + 8;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "struct_bytes");
    options.struct_bytes = FIRST_OPTIONS_BYTES - 8;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "struct_bytes");
}

/* All that lies behind the first version's options is not theirs. */
static void takes_options_of_the_first_version(void **state)
{
    union {
        tarn_pool_options options;
        char bytes[sizeof(tarn_pool_options)];
    } older;
    memset(&older, 0xff, sizeof older);
    memcpy(&older, &options, FIRST_OPTIONS_BYTES);
    older.options.struct_bytes = FIRST_OPTIONS_BYTES;
    tarn_pool *created;
    expect_ok(tarn_pool_create(&older.options, &created));
    assert_string_equal(created->name, "");
    assert_int_equal(created->alignment_bytes, TARN_ALIGNMENT_BYTES_DEFAULT);
    expect_ok(tarn_pool_destroy(created));
}

static void keeps_a_copy_of_the_name(void **state)
{
    char name[] = "halo of the mesh that is much too long for a name of a pool";
    options.name = name;
    tarn_pool *created;
    expect_ok(tarn_pool_create(&options, &created));
    memset(name, 'x', sizeof name - 1);
    assert_string_equal(created->name, "halo of the mesh that is much too long for a na");
    expect_ok(tarn_pool_destroy(created));
}

static void refuses_a_backend_that_lacks_something(void **state)
{
    tarn_backend_operations operations = backend.operations;
    opened.operations = &operations;
    operations.acquire = NULL;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "acquire");
    operations = backend.operations;
    operations.release = NULL;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "release");
    operations = backend.operations;
    operations.get_properties = NULL;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "get_properties");
    operations = backend.operations;
    operations.name = NULL;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "name");
    operations = backend.operations;
    operations.struct_bytes = 8;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "table of operations");
    opened.operations = NULL;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "table of operations");
    opened.operations = &backend.operations;
}

static void refuses_properties_that_make_no_sense(void **state)
{
    struct test_backend before = backend;
    backend.alignment_bytes = 0;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "alignment 0");
    backend = before;
    backend.granularity_bytes = 3000;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "granularity 3000");
    backend = before;
    backend.allocation_bytes_max = 0;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "largest allocation 0");
    backend = before;

    backend.fail_properties = true;
    expect_options_refused(TARN_STATUS_VENDOR_ERROR, "");
    assert_int_equal(tarn_last_error().vendor_code, -7);
    assert_string_equal(tarn_last_error().vendor_name, "testError");
    backend.fail_properties = false;
}

static void creates_on_the_default_backend(void **state)
{
    destroy();
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_create(NULL, NULL));
    tarn_status status = tarn_pool_create(NULL, &pool);
    if (status == TARN_STATUS_NO_DEVICE) skip();
    assert_int_equal(status, TARN_STATUS_OK);
    free_one(alloc(100));
}

/* --- alloc ------------------------------------------------------------------------------------- */

static void zero_bytes_succeed_with_null(void **state)
{
    void *address = &address;
    address = alloc(0);
    assert_null(address);
    free_one(NULL);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.alloc_count, 1);
    assert_int_equal(stats.free_count, 1);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(backend.acquire_count, 0);
}

static void refuses_sizes_that_overflow(void **state)
{
    static const size_t huge[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 2, SIZE_MAX / 2,
                                   ((size_t)INT32_MAX << 10) + 1 };
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++)
        expect_refused(TARN_STATUS_SIZE_TOO_LARGE, huge[i]);
    assert_int_equal(backend.acquire_count, 0);
    assert_int_equal(stats_of(pool).failed_count, 5);
}

static void refuses_alignments_that_overflow(void **state)
{
    void *address = &backend;
    backend.alignment_bytes = 256;
    size_t huge = (size_t)1 << 63;
    tarn_status status = tarn_pool_alloc_aligned(pool, (size_t)INT32_MAX << 10, huge, &address);
    assert_int_not_equal(status, TARN_STATUS_OK);
    assert_ptr_equal(address, &backend);
}

static void refuses_alignments_that_are_no_power_of_two(void **state)
{
    static const size_t wrong[] = { 0, 3, 255, 257, SIZE_MAX };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        void *address;
        expect_status(TARN_STATUS_INVALID_ALIGNMENT,
                      tarn_pool_alloc_aligned(pool, 1, wrong[i], &address));
    }
}

static void aligns_as_asked(void **state)
{
    for (size_t alignment = 1; alignment <= (size_t)1 << 24; alignment *= 2) {
        void *address;
        expect_ok(tarn_pool_alloc_aligned(pool, 3000, alignment, &address));
        assert_int_equal((uintptr_t)address % alignment, 0);
        assert_int_equal((uintptr_t)address % 256, 0);
        expect_ok(tarn_pool_check(pool));
    }
}

static void an_aligned_request_leaves_what_is_before_it_free(void **state)
{
    char *first = alloc(1024);
    void *aligned;
    expect_ok(tarn_pool_alloc_aligned(pool, 1024, 16384, &aligned));
    assert_ptr_equal(aligned, first + 16384);
    assert_ptr_equal(alloc(15 * 1024), first + 1024);
}

static void rounds_to_chunks_in_threes(void **state)
{
    static const size_t sizes[][2] = { { 1, 1 },    { 1023, 1 }, { 1024, 1 }, { 1025, 2 },
                                       { 2047, 2 }, { 2048, 2 }, { 2049, 3 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t before = stats_of(pool).used_bytes;
        void *address = alloc(sizes[i][0]);
        tarn_stats stats = stats_of(pool);
        assert_int_equal(stats.used_bytes - before, sizes[i][1] * 1024);
        assert_int_equal(stats.requested_bytes, sizes[i][0]);
        free_one(address);
    }
}

static void takes_the_best_fit_and_the_lowest_of_equals(void **state)
{
    /* Holes of 8, 3, 5 and 3 chunks, with one live chunk behind each. */
    static const size_t holes[] = { 8, 3, 5, 3 };
    char *hole[4];
    for (int i = 0; i < 4; i++) {
        hole[i] = alloc(holes[i] * 1024);
        alloc(1024);
    }
    for (int i = 0; i < 4; i++)
        free_one(hole[i]);
    assert_ptr_equal(alloc(3 * 1024), hole[1]);
    assert_ptr_equal(alloc(2 * 1024), hole[3]);
    assert_ptr_equal(alloc(4 * 1024), hole[2]);
    assert_ptr_equal(alloc(1024), hole[2] + 4 * 1024);
    assert_ptr_equal(alloc(1024), hole[3] + 2 * 1024);
    assert_ptr_equal(alloc(6 * 1024), hole[0]);
}

/* --- free -------------------------------------------------------------------------------------- */

static void refuses_to_free_what_is_not_its_own(void **state)
{
    tarn_pool *other = new_pool(&options);
    void *foreign_to_this = new_block(other, 4096);
    char *address = alloc(4096);
    int on_the_stack;

    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, address + 1));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, address + 1024));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, address + 4095));
    expect_message("4096 bytes");
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, address + 4096));
    expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free(pool, foreign_to_this));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, &on_the_stack));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, (void *)1));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, (void *)UINTPTR_MAX));
    assert_int_equal(stats_of(pool).live_count, 1);
    expect_ok(tarn_pool_check(pool));

    free_one(address);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, address));
    expect_ok(tarn_pool_free(other, foreign_to_this));
    expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free(pool, foreign_to_this));
    expect_ok(tarn_pool_destroy(other));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, foreign_to_this));
}

/* --- destroy ----------------------------------------------------------------------------------- */

static void refuses_to_destroy_with_live_allocations(void **state)
{
    void *address = alloc(1);
    expect_status(TARN_STATUS_LIVE_REGIONS, tarn_pool_destroy(pool));
    expect_message("1 live");
    assert_int_equal(backend.release_count, 0);
    free_one(address);
}

static void a_forced_destroy_tells_what_leaked(void **state)
{
    tarn_leaks leaks = TARN_LEAKS_INIT;
    alloc(1000);
    free_one(alloc(5));
    alloc(3000);

    leaks.struct_bytes--;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_destroy_forced(pool, &leaks));
    expect_message("leaks_out");
    expect_ok(tarn_pool_check(pool));
    leaks.struct_bytes++;
    expect_ok(tarn_pool_destroy_forced(pool, &leaks));
    assert_int_equal(leaks.allocation_count, 2);
    assert_int_equal(leaks.requested_bytes, 4000);
    assert_int_equal(leaks.used_bytes, 4 * 1024);

    pool = NULL;
    create();
    expect_ok(tarn_pool_destroy_forced(pool, &leaks));
    pool = NULL;
    assert_int_equal(leaks.allocation_count, 0);
    assert_int_equal(leaks.requested_bytes, 0);
    assert_int_equal(leaks.used_bytes, 0);
    assert_int_equal(backend.piece_count, 0);
}

static void abandoning_a_pool_leaves_the_vendor_alone(void **state)
{
    void *address = alloc(1000), *more = alloc(1000000);
    free_one(more);
    tarn_pool *gone = pool;
    pool = NULL;
    expect_ok(tarn_pool_abandon(gone));
    create();
    assert_int_equal(backend.piece_count, 2);
    assert_int_equal(backend.release_count, 0);
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_alloc(gone, 1, &more));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free(gone, address));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_abandon(gone));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_destroy(gone));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, address));
    backend.piece_count = 0; /* they are the vendor's problem now */
    backend.held_bytes = 0;
}

static void every_call_on_a_destroyed_pool_is_refused(void **state)
{
    tarn_pool *gone;
    void *address = &gone;
    size_t released;
    tarn_stats stats = TARN_STATS_INIT;
    expect_ok(tarn_pool_create(&options, &gone));
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
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, address));
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
    tarn_pool *first, *later;
    expect_ok(tarn_pool_create(&options, &first));
    expect_ok(tarn_pool_destroy(first));
    for (int i = 0; i < TN_POOL_REGISTRY_RESTING_MAX; i++) {
        expect_ok(tarn_pool_create(&options, &later));
        assert_ptr_not_equal(later, first);
        expect_ok(tarn_pool_destroy(later));
        expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_check(first));
    }
}

/* --- arguments of the rest --------------------------------------------------------------------- */

static void null_outputs_are_refused(void **state)
{
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_alloc(pool, 1, NULL));
    expect_message("address_out");
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_stats(pool, NULL));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_find(&backend, NULL));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_dump(pool, TARN_DUMP_FORMAT_TEXT, NULL));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_dump(pool, (tarn_dump_format)7, stdout));
    expect_ok(tarn_pool_trim(pool, 0, NULL));
}

static void structures_of_another_size_are_refused(void **state)
{
    tarn_stats stats = TARN_STATS_INIT;
    stats.struct_bytes = FIRST_STATS_BYTES - 8;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_stats(pool, &stats));
    expect_message("stats_out");
    stats.struct_bytes = sizeof stats + 8;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_stats(pool, &stats));
    tarn_allocation found = TARN_ALLOCATION_INIT;
    found.struct_bytes = 0;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_find(&backend, &found));
    expect_message("found_out");
}

/* Of an older program's struct no more is written than it has. */
static void writes_statistics_of_the_first_version(void **state)
{
    tarn_stats stats;
    memset(&stats, 0xff, sizeof stats);
    stats.struct_bytes = FIRST_STATS_BYTES;
    alloc(1000);
    expect_ok(tarn_pool_stats(pool, &stats));
    assert_int_equal(stats.struct_bytes, FIRST_STATS_BYTES);
    assert_int_equal(stats.requested_bytes, 1000);
    assert_int_equal(stats.size_histogram[10], 1);
    const unsigned char *behind = (const unsigned char *)&stats + FIRST_STATS_BYTES;
    for (size_t i = 0; i < sizeof stats - FIRST_STATS_BYTES; i++)
        assert_int_equal(behind[i], 0xff);
}

static void finds_what_an_address_lies_in(void **state)
{
    char *small = alloc(1);
    char *large = alloc(300 * 1024);
    tarn_allocation found = found_at(large + 200 * 1024 + 13);
    assert_ptr_equal(found.pool, pool);
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
    static uint64_t memory[1024];
    tarn_backend told = { NULL, NULL }, other = { NULL, NULL };
    tarn_pool *over;
    expect_ok(tarn_pool_get_backend(pool, &told));
    assert_ptr_equal(told.operations, opened.operations);
    assert_ptr_equal(told.state, opened.state);
    expect_ok(tarn_pool_create_over(memory, sizeof memory, NULL, &over));
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_pool_get_backend(over, &other));
    expect_message("memory of the caller's");
    expect_ok(tarn_pool_destroy(over));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_get_backend(over, &other));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_get_backend(NULL, &other));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_get_backend(pool, NULL));
    expect_message("backend_out is NULL");
    assert_null(other.operations);
}

static void histogram_counts_by_powers_of_two(void **state)
{
    static const size_t sizes[] = { 1, 2, 3, 4, 5, 1024, 1025 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        alloc(sizes[i]);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.size_histogram[0], 1);
    assert_int_equal(stats.size_histogram[1], 1);
    assert_int_equal(stats.size_histogram[2], 2);
    assert_int_equal(stats.size_histogram[3], 1);
    assert_int_equal(stats.size_histogram[10], 1);
    assert_int_equal(stats.size_histogram[11], 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_without_streams, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(refuses_absurd_chunks),
        CASE(takes_the_smallest_and_the_largest_chunk),
        CASE(refuses_growth_below_one),
        CASE(refuses_a_policy_that_is_none),
        CASE(refuses_a_limit_below_a_chunk),
        CASE(refuses_options_of_another_size),
        CASE(takes_options_of_the_first_version),
        CASE(keeps_a_copy_of_the_name),
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
        CASE(writes_statistics_of_the_first_version),
        CASE(finds_what_an_address_lies_in),
        CASE(tells_the_backend_of_a_pool),
        CASE(histogram_counts_by_powers_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
