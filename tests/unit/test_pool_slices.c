/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Small requests in pools: how many bytes they take, where they lie, whose they are, and when their chunks are free. */
#include "core/serve/pool_slices.h"
#include "core/supply/stream_reuse.h"

#include "harness/host_memory_faults.h"
#include "harness/random.h"
#include "pool_fixture.h"

/* With room for so many chunks. */
static void create_with_chunks(size_t chunk_count)
{
    backend.granularity_bytes = KIB;
    backend.alignment_bytes = KIB;
    options.initial_bytes = chunk_count * KIB;
    options.limit_bytes = chunk_count * KIB;
    create_anew();
}

static void free_done(void *address)
{
    free_after(address, NULL, 0);
}

static bool share_a_chunk(const void *a, const void *b)
{
    return (uintptr_t)a / KIB == (uintptr_t)b / KIB;
}

/* --- how much they take ------------------------------------------------------------------------- */

enum {
    MANY = 100000
};

static void *addresses[MANY];

static void a_hundred_thousand_of_8_bytes_take_2_mb(void **state)
{
    struct random dice = random_init(random_seed(20261123));
    checks_every_step = false;
    options.initial_bytes = 2000000;
    options.limit_bytes = 2000000;
    create_anew();
    for (size_t i = 0; i < MANY; i++)
        addresses[i] = alloc(8);
    expect_ok(tarn_pool_check(pool));
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.live_count, MANY);
    assert_int_equal(stats.requested_bytes, 8 * MANY);
    assert_int_equal(stats.used_bytes, (MANY + 63) / 64 * KIB);
    assert_true(stats.footprint_bytes <= 2000000);
    assert_true(stats.metadata_bytes <= 32 * MANY / 4);
    for (size_t left = MANY; left > 0; left--) {
        size_t i = (size_t)random_below(&dice, left);
        free_one(addresses[i]);
        addresses[i] = addresses[left - 1];
        if (left % 5000 == 0) expect_ok(tarn_pool_check(pool));
    }
    stats = stats_of(pool);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.requested_bytes, 0);
    assert_int_equal(stats.free_region_count, 1);
    trim(0);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    assert_int_equal(backend.held_bytes, 0);
}

static void a_block_costs_little_host_memory(void **state)
{
    static const size_t sizes[] = { 16, 32, 64, 128, 256 };
    checks_every_step = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        options.initial_bytes = 32 << 20;
        options.limit_bytes = 0;
        create_anew();
        alloc(1024);
        size_t before = stats_of(pool).metadata_bytes;
        for (size_t k = 0; k < MANY; k++)
            alloc(sizes[i]);
        size_t after = stats_of(pool).metadata_bytes;
        assert_true(after - before <= 32 * MANY);
    }
}

static void a_chunk_is_used_when_it_is_cut(void **state)
{
    char *first = alloc(100), *second = alloc(65), *large = alloc(513);
    tarn_stats stats = stats_of(pool);
    assert_true(share_a_chunk(first, second));
    assert_false(share_a_chunk(first, large));
    assert_int_equal(second - first, 128);
    assert_int_equal(stats.live_count, 3);
    assert_int_equal(stats.requested_bytes, 678);
    assert_int_equal(stats.used_bytes, 2 * KIB);
    assert_int_equal(stats.free_bytes, 62 * KIB);
    assert_int_equal(stats.size_histogram[7], 2);
    free_on(first, NULL);
    stats = stats_of(pool);
    assert_int_equal(stats.requested_bytes, 578);
    assert_int_equal(stats.used_bytes, 2 * KIB);
    free_on(second, NULL);
    stats = stats_of(pool);
    assert_int_equal(stats.live_count, 1);
    assert_int_equal(stats.used_bytes, KIB);
    assert_int_equal(stats.used_bytes_max, 2 * KIB);
    assert_int_equal(stats.alloc_count, 3);
    assert_int_equal(stats.free_count, 2);
    tarn_leaks leaks = TARN_LEAKS_INIT;
    alloc(1);
    expect_ok(tarn_pool_destroy_forced(pool, &leaks));
    assert_int_equal(leaks.allocation_count, 2);
    assert_int_equal(leaks.requested_bytes, 514);
    assert_int_equal(leaks.used_bytes, 2 * KIB);
    pool = NULL;
}

/* --- what is kept ------------------------------------------------------------------------------- */

static void expect_kept(uint32_t count)
{
    assert_int_equal(pool->own.slices.kept_count, count);
}

/* Without a look at the pool in between, and from here on. */
static void *alloc_and_free(size_t size_bytes, tarn_stream stream)
{
    checks_every_step = false;
    void *address = alloc_on(size_bytes, stream);
    free_on(address, stream);
    return address;
}

static void a_small_block_again_and_again_keeps_its_chunk(void **state)
{
    void *again, *first = alloc_and_free(100, NULL);
    expect_kept(1);
    assert_int_equal(pool->own.stats.used_bytes, 0);
    again = alloc(128);
    assert_ptr_equal(again, first);
    expect_kept(0);
    assert_int_equal(pool->own.stats.used_bytes, KIB);
    free_one(again);
    /* Each class has its own. */
    alloc_and_free(512, NULL);
    expect_kept(2);
    assert_int_equal(pool->own.slices.slab_count, 2);
    /* Whoever looks finds nothing of it. */
    tarn_stats stats = stats_of(pool);
    expect_kept(0);
    assert_int_equal(pool->own.slices.slab_count, 0);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.used_bytes_max, KIB);
    assert_int_equal(stats.free_region_count, 1);
    assert_int_equal(stats.alloc_count, 3);
    assert_int_equal(stats.free_count, 3);
}

static void a_kept_chunk_is_there_for_who_needs_it(void **state)
{
    void *all;
    for (size_t size = 16; size <= 512; size *= 2)
        alloc_and_free(size, NULL);
    expect_kept(6);
    all = alloc(64 * KIB);
    expect_kept(0);
    expect_ok(tarn_pool_check(pool));
    free_on(all, NULL);
    /* Another class may need it. */
    create_with_chunks(1);
    void *first = alloc_and_free(16, NULL);
    assert_ptr_equal(alloc_and_free(512, NULL), first);
    assert_ptr_equal(alloc(KIB), first);
}

static void each_stream_has_its_kept_chunk(void **state)
{
    alloc_on(KIB, A);
    alloc_on(KIB, B);
    void *of_a = alloc_and_free(8, A), *of_b = alloc_and_free(8, B), *address;
    expect_kept(2);
    assert_ptr_equal(alloc_and_free(8, A), of_a);
    assert_ptr_equal(alloc_and_free(8, B), of_b);
    /* What others freed is not. */
    address = alloc_on(8, A);
    free_on(address, B);
    expect_kept(1);
    expect_ok(tarn_pool_check(pool));
    expect_kept(0);
    /* The chunk waits as if it had never been kept. */
    create_with_chunks(1);
    of_a = alloc_and_free(8, A);
    expect_kept(1);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(KIB, B), of_a);
    assert_int_equal(backend.wait_count, 1);
}

static void nothing_is_kept_where_a_free_may_release(void **state)
{
    options.release_threshold_bytes = 1;
    create_anew();
    assert_true(pool->releases_after_free);
    alloc_and_free(8, NULL);
    expect_kept(0);
    assert_int_equal(pool->own.slices.slab_count, 0);
}

/* --- where they lie ----------------------------------------------------------------------------- */

static void a_slice_is_aligned_to_its_size(void **state)
{
    backend.misalignment_bytes = 768;
    static const size_t chunks[] = { 256, 512, 1024, 4096, 65536, 131072 };
    options.limit_bytes = 0;
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        options.chunk_bytes = chunks[i];
        options.initial_bytes = 4096 * chunks[i];
        create_anew();
        for (size_t size = 1; size <= chunks[i]; size += 1 + size / 8) {
            for (size_t alignment = 1; alignment <= 2 * chunks[i]; alignment *= 4) {
                void *address;
                size_t needed = 16;
                expect_ok(tarn_pool_alloc_aligned(pool, size, alignment, &address));
                while (needed < size && needed < 256)
                    needed *= 2;
                if (alignment > needed) needed = alignment;
                if ((uintptr_t)address % needed != 0)
                    fail_msg("%zu bytes aligned to %zu are at %p", size, alignment, address);
            }
        }
        expect_ok(tarn_pool_check(pool));
    }
}

static void the_lowest_free_slice_is_taken(void **state)
{
    char *slices[64];
    for (int i = 0; i < 64; i++) {
        slices[i] = alloc(16);
        assert_ptr_equal(slices[i], slices[0] + 16 * i);
    }
    assert_false(share_a_chunk(alloc(16), slices[0]));
    free_on(slices[50], NULL);
    free_on(slices[7], NULL);
    free_on(slices[8], NULL);
    assert_ptr_equal(alloc(3), slices[7]);
    assert_ptr_equal(alloc(3), slices[8]);
    assert_ptr_equal(alloc(3), slices[50]);
}

static void finds_a_slice_by_any_address_inside(void **state)
{
    char *first = alloc(100), *second = alloc(120);
    tarn_allocation found = found_at(second + 127);
    assert_ptr_equal(found.address, second);
    assert_ptr_equal(found.pool, pool);
    assert_int_equal(found.size_bytes, 120);
    assert_int_equal(found.usable_bytes, 128);
    assert_ptr_equal(found.static_pool_base, first);
    expect_ok(tarn_pool_find(first, &found));
    assert_int_equal(found.size_bytes, 100);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(second + 128, &found));
    free_on(first, NULL);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(first, &found));
    expect_ok(tarn_pool_find(second, &found));
}

static void bad_frees_are_told_apart(void **state)
{
    char *first = alloc(100), *second = alloc(100), *large = alloc(3000);
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, second + 1));
    expect_message("inside the allocation of 100 bytes");
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, first + 64));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, large + 128));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, large + KIB));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, second + 128));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, second + 129));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, large + 3 * KIB));
    free_on(first, NULL);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, first));
    expect_message("freed twice");
    free_on(second, NULL);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, second));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, second + 1));
    assert_int_equal(stats_of(pool).live_count, 1);
    assert_int_equal(stats_of(pool).failed_count, 10);
}

static void wrong_pools_are_told(void **state)
{
    tarn_pool *other = new_pool(&options);
    char *small = alloc(8);
    expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free(other, small));
    expect_ok(tarn_pool_destroy(other));
}

/* --- other calls -------------------------------------------------------------------------------- */

static void a_slice_is_resized_within_itself(void **state)
{
    char *first = alloc(100), *second = alloc(100);
    for (int i = 0; i < 2; i++) {
        char *slice = i == 0 ? first : second;
        expect_ok(tarn_pool_resize(pool, slice, 128));
        expect_status(TARN_STATUS_NOT_IN_PLACE, tarn_pool_resize(pool, slice, 129));
        expect_message("room for 128");
        expect_ok(tarn_pool_resize(pool, slice, 1));
        expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_resize(pool, slice + 1, 2));
        expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_resize(pool, first + 256, 2));
        expect_ok(tarn_pool_check(pool));
    }
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.requested_bytes, 2);
    assert_int_equal(stats.requested_bytes_max, 228);
    assert_int_equal(stats.used_bytes, KIB);
    free_on(first, NULL);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_resize(pool, first, 2));
    /* A chunk stays one. */
    char *chunk = alloc(1000);
    expect_ok(tarn_pool_resize(pool, chunk, 8));
    expect_ok(tarn_pool_resize(pool, chunk, 1024));
}

static void a_free_may_tell_the_size_of_a_slice(void **state)
{
    char *first = alloc(100), *second = alloc(101);
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, first, 128));
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, second, 100));
    expect_message("101 bytes, not of 100");
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free_sized(pool, second + 1, 101));
    expect_ok(tarn_pool_free_sized(pool, first, 100));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_sized(pool, first, 100));
    expect_ok(tarn_pool_free_sized(pool, second, 101));
    assert_int_equal(stats_of(pool).used_bytes, 0);
}

static void a_batch_has_slices(void **state)
{
    static const size_t sizes[] = { 8, 2000, 8, 0, 513, 100 };
    enum {
        COUNT = sizeof sizes / sizeof *sizes
    };
    void *blocks[COUNT];
    expect_ok(tarn_pool_alloc_many(pool, COUNT, sizes, blocks));
    expect_ok(tarn_pool_check(pool));
    assert_ptr_equal(blocks[2], (char *)blocks[0] + 16);
    assert_int_equal(stats_of(pool).used_bytes, 5 * KIB);
    expect_ok(tarn_pool_free_many(pool, COUNT, blocks));
    assert_int_equal(stats_of(pool).used_bytes, 0);
    expect_ok(tarn_pool_check(pool));
    /* All or nothing. */
    static const size_t too_much[] = { 8, 100, 65 * 1024 };
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_many(pool, 3, too_much, blocks));
    assert_int_equal(stats_of(pool).used_bytes, 0);
}

/* --- whose they are ----------------------------------------------------------------------------- */

static void a_stream_has_its_own_again_at_once(void **state)
{
    char *of_b = alloc_on(8, B), *first = alloc_on(8, A);
    char *second = alloc_on(8, A);
    test_backend_take_calls(&backend);
    assert_false(share_a_chunk(first, of_b));
    free_on(first, A);
    char *more = alloc_on(8, B);
    assert_ptr_equal(more, of_b + 16);
    assert_ptr_equal(alloc_on(8, A), first);
    expect_no_calls();
    (void)second;
}

static void what_another_stream_freed_is_not_handed_out(void **state)
{
    char *slices[64];
    alloc_on(8, B);
    for (int i = 0; i < 64; i++)
        slices[i] = alloc_on(8, A);
    test_backend_take_calls(&backend);
    free_on(slices[5], B);
    assert_false(share_a_chunk(alloc_on(8, A), slices[0]));
    expect_no_calls();
    /* Nor what several use. */
    const tarn_stream both[] = { A, B };
    free_after(slices[6], both, 2);
    assert_false(share_a_chunk(alloc_on(8, A), slices[0]));
    /* But what nobody uses any more. */
    free_done(slices[7]);
    for (int i = 0; i < 61; i++)
        assert_false(alloc_on(8, A) == slices[5]);
    expect_no_calls();
}

/* Two chunks; A has one in slices, B the other. */
static void share_two_chunks(char *of_a[2], char *of_b[2])
{
    create_with_chunks(2);
    for (int i = 0; i < 2; i++) {
        of_a[i] = alloc_on(512, A);
        of_b[i] = alloc_on(512, B);
    }
    assert_true(share_a_chunk(of_a[0], of_a[1]));
    assert_true(share_a_chunk(of_b[0], of_b[1]));
    test_backend_take_calls(&backend);
}

static void where_no_chunk_is_left_a_stream_waits_for_another(void **state)
{
    char *of_a[2], *of_b[2];
    share_two_chunks(of_a, of_b);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 512, A);
    expect_no_calls();
    free_on(of_b[1], B);
    assert_ptr_equal(alloc_on(500, A), of_b[1]);
    assert_int_equal(backend.wait_count, 1);
    assert_ptr_equal(backend.waits[0].stream, A);
    assert_ptr_equal(backend.waits[0].awaited, B);
    /* The slab is A's now: what B frees of it B has not at once. */
    free_on(of_b[0], B);
    test_backend_take_calls(&backend);
    free_on(of_b[1], A);
    assert_int_equal(stats_of(pool).used_bytes, KIB);
    assert_ptr_equal(alloc_on(512, A), of_b[0]);
}

static void a_wait_serves_for_what_was_freed_before(void **state)
{
    char *of_a[2], *of_b[2];
    share_two_chunks(of_a, of_b);
    free_on(of_a[0], B);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 1024, A);
    assert_ptr_equal(alloc_on(512, A), of_a[0]);
    assert_int_equal(backend.wait_count, 1);
    /* The next one waits for a later record. */
    free_on(of_a[1], B);
    assert_ptr_equal(alloc_on(512, A), of_a[1]);
    assert_int_equal(backend.wait_count, 2);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 2);
}

static void what_a_stream_has_waited_for_it_finds_without_a_call(void **state)
{
    create_with_chunks(4);
    char *of_a[2] = { alloc_on(512, A), alloc_on(512, A) };
    char *chunks[3];
    for (int i = 0; i < 3; i++)
        chunks[i] = alloc_on(1024, B);
    free_on(of_a[0], B);
    free_on(chunks[0], B);
    assert_ptr_equal(alloc_on(1024, A), chunks[0]);
    assert_int_equal(backend.wait_count, 1);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(512, A), of_a[0]);
    expect_no_calls();
}

static void what_is_done_with_is_found_by_asking(void **state)
{
    char *of_a[2], *of_b[2];
    share_two_chunks(of_a, of_b);
    free_on(of_a[0], B);
    assert_ptr_equal(alloc_on(512, A), of_a[0]);
    free_on(of_a[0], C);
    expect_ok(tarn_stream_retire(C));
    test_backend_complete(&backend, C);
    assert_ptr_equal(alloc_on(512, A), of_a[0]);
    assert_int_equal(backend.wait_count, 1);
}

static void a_wait_that_fails_leaves_all_as_it_was(void **state)
{
    static const enum test_call calls[] = { TEST_CALL_EVENT_CREATE, TEST_CALL_EVENT_RECORD,
                                            TEST_CALL_STREAM_WAIT_EVENT };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char *of_a[2], *of_b[2];
        share_two_chunks(of_a, of_b);
        free_on(of_b[1], B);
        backend.call_failure = TARN_STATUS_VENDOR_ERROR;
        backend.fail_call_at[calls[i]] = 1;
        backend.fail_call_count = 2;
        tarn_stats before = stats_of(pool);
        expect_refused_on(TARN_STATUS_OVER_LIMIT, 512, A);
        tarn_stats after = stats_of(pool);
        assert_int_equal(after.live_count, before.live_count);
        assert_int_equal(after.requested_bytes, before.requested_bytes);
        assert_int_equal(after.alloc_count, before.alloc_count);
        /* B has it at once. */
        backend.fail_call_at[calls[i]] = 0;
        unsigned waits = backend.wait_count;
        assert_ptr_equal(alloc_on(512, B), of_b[1]);
        assert_int_equal(backend.wait_count, waits);
    }
}

/* The same of a chunk that would have been cut. */
static void a_chunk_that_could_not_be_had_stays_whole(void **state)
{
    create_with_chunks(2);
    char *of_a = alloc_on(1024, A), *of_b = alloc_on(1024, B);
    free_on(of_b, B);
    backend.call_failure = TARN_STATUS_VENDOR_ERROR;
    backend.fail_call_at[TEST_CALL_STREAM_WAIT_EVENT] = 1;
    backend.fail_call_count = 4;
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 8, A);
    assert_int_equal(stats_of(pool).free_bytes, KIB);
    assert_int_equal(stats_of(pool).pending_bytes, KIB);
    backend.fail_call_at[TEST_CALL_STREAM_WAIT_EVENT] = 0;
    assert_ptr_equal(alloc_on(1024, B), of_b);
    (void)of_a;
}

static void a_chunk_waits_for_all_that_was_freed_of_it(void **state)
{
    create_with_chunks(2);
    char *kept = alloc_on(1024, C);
    char *first = alloc_on(512, A), *second = alloc_on(512, A);
    free_on(first, B);
    free_on(second, A);
    assert_int_equal(stats_of(pool).pending_bytes, KIB);
    assert_ptr_equal(alloc_on(1024, C), first);
    assert_int_equal(backend.wait_count, 2);
    (void)kept;
}

/* What was never handed out of a slab is still what the chunk was before. */
static void the_rest_of_a_slab_waits_for_what_the_chunk_waited_for(void **state)
{
    create_with_chunks(2);
    char *kept = alloc_on(1024, C), *chunk = alloc_on(1024, A);
    free_on(chunk, A);
    assert_ptr_equal(alloc_on(512, A), chunk);
    free_done(chunk);
    assert_int_equal(stats_of(pool).pending_bytes, KIB);
    assert_ptr_equal(alloc_on(512, C), chunk);
    assert_int_equal(backend.wait_count, 1);
    (void)kept;
}

static void a_second_stream_does_not_find_what_the_only_one_freed(void **state)
{
    create_with_chunks(1);
    char *first = alloc_on(512, A), *second = alloc_on(512, A);
    free_on(first, A);
    assert_ptr_equal(alloc_on(512, B), first);
    assert_int_equal(backend.wait_count, 1);
    (void)second;
}

static void what_was_never_freed_needs_no_wait(void **state)
{
    create_with_chunks(1);
    char *first = alloc_on(512, A);
    assert_ptr_equal(alloc_on(512, B), first + 512);
    assert_int_equal(backend.wait_count, 0);
}

static void larger_slices_serve_where_there_is_nothing_else(void **state)
{
    create_with_chunks(1);
    char *first = alloc(512);
    assert_ptr_equal(alloc(8), first + 512);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 8, NULL);
    free_on(first + 512, NULL);
    assert_ptr_equal(alloc(300), first + 512);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    free_on(first, NULL);
    assert_ptr_equal(alloc(100), first);
    expect_ok(tarn_pool_find(first + 511, &found));
    assert_int_equal(found.size_bytes, 100);
    assert_int_equal(found.usable_bytes, 512);
}

static void a_chunk_is_preferred_to_a_larger_slice(void **state)
{
    char *first = alloc(512);
    assert_false(share_a_chunk(alloc(8), first));
}

static void the_device_is_waited_for_where_events_do_not_help(void **state)
{
    char *of_a[2], *of_b[2];
    backend.has_synchronize = true;
    share_two_chunks(of_a, of_b);
    free_on(of_b[1], B);
    backend.call_failure = TARN_STATUS_VENDOR_ERROR;
    backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    backend.fail_call_count = 100;
    assert_ptr_equal(alloc_on(512, A), of_b[1]);
    assert_int_equal(backend.wait_count, 0);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 1);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 512, A);
    backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 0;
}

/* --- streams that end --------------------------------------------------------------------------- */

static void slabs_outlive_their_stream(void **state)
{
    char *of_a[2], *of_b[2];
    share_two_chunks(of_a, of_b);
    free_on(of_b[1], B);
    expect_ok(tarn_stream_retire(B));
    test_backend_end_stream(&backend, B);
    expect_ok(tarn_pool_check(pool));
    /* By a wait for the record, and that of the chunk's other half too. */
    assert_ptr_equal(alloc_on(512, A), of_b[1]);
    assert_int_equal(backend.wait_count, 1);
    free_on(of_b[0], A);
    assert_ptr_equal(alloc_on(512, A), of_b[0]);
}

static void slabs_of_a_stream_that_is_done_serve_the_next(void **state)
{
    char *of_a[2], *of_b[2];
    share_two_chunks(of_a, of_b);
    free_on(of_b[1], B);
    expect_ok(tarn_stream_retire(B));
    test_backend_complete(&backend, B);
    assert_ptr_equal(alloc_on(512, A), of_b[1]);
    assert_int_equal(backend.wait_count, 0);
}

/* The handle is given to the next stream, to which the slabs of the old one are foreign. */
static void a_new_stream_with_the_old_handle_has_no_slabs(void **state)
{
    char *of_a[2], *of_b[2];
    share_two_chunks(of_a, of_b);
    free_on(of_b[1], B);
    expect_ok(tarn_stream_retire(B));
    assert_ptr_equal(alloc_on(512, B), of_b[1]);
    assert_int_equal(backend.wait_count, 1);
}

static void what_could_not_be_recorded_is_nobodys(void **state)
{
    char *of_a[2], *of_b[2];
    backend.has_synchronize = true;
    share_two_chunks(of_a, of_b);
    free_on(of_b[1], B);
    backend.call_failure = TARN_STATUS_VENDOR_ERROR;
    backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    backend.fail_call_at[TEST_CALL_SYNCHRONIZE] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(B));
    test_backend_end_stream(&backend, B);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 512, A);
    assert_ptr_equal(alloc_on(512, A), of_b[1]);
    assert_int_equal(backend.wait_count, 0);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 2);
}

/* A live slice keeps no stream's number. */
static void more_streams_than_numbers_have_slices(void **state)
{
    char *slices[50];
    for (int i = 0; i < 50; i++)
        slices[i] = alloc_on(8, STREAM(i));
    for (int i = 0; i < 50; i++)
        free_on(slices[i], STREAM(i));
    assert_int_equal(stats_of(pool).used_bytes, 0);
}

/* When the pool forgets a stream for another, what that stream had waited for is under way for others. */
static void a_stream_that_is_forgotten_had_waited_for_itself_alone(void **state)
{
    create_with_chunks(3);
    char *slices[4], *chunk = alloc_on(1024, B);
    for (int i = 0; i < 4; i++)
        slices[i] = alloc_on(256, A);
    free_on(slices[1], B);
    free_on(slices[2], B);
    char *other = alloc_on(1024, B);
    free_on(other, B);
    assert_ptr_equal(alloc_on(1024, A), other);
    assert_int_equal(backend.wait_count, 1);
    assert_ptr_equal(alloc_on(256, A), slices[1]);
    free_done(other);
    uint32_t number, none;
    assert_true(tn_pool_find_stream(pool, &pool->own, A, &number));
    for (int i = 2; i < 40; i++)
        free_done(alloc_on(1024, STREAM(i)));
    assert_false(tn_pool_find_stream(pool, &pool->own, A, &none));
    /* The one that has its number now. */
    tarn_stream next = pool->streams->streams[number].name.handle;
    assert_ptr_not_equal(next, A);
    alloc_on(1024, next);
    assert_int_equal(backend.wait_count, 1);
    assert_ptr_equal(alloc_on(256, next), slices[2]);
    assert_int_equal(backend.wait_count, 2);
    assert_ptr_equal(backend.waits[1].awaited, B);
    (void)chunk;
}

/* The last records of this time: what comes after is told by the next. */
static void times_begin_anew(void **state)
{
    for (uint32_t records_left = 0; records_left < 3; records_left++) {
        char *of_a[2], *of_b[2];
        share_two_chunks(of_a, of_b);
        pool->streams->now = TN_STREAM_TIME_MAX - records_left;
        for (int i = 0; i < 3; i++) {
            unsigned waits = backend.wait_count;
            free_on(of_a[0], B);
            assert_ptr_equal(alloc_on(512, A), of_a[0]);
            assert_int_equal(backend.wait_count, waits + 1);
            free_on(of_b[1], B);
            assert_ptr_equal(alloc_on(512, B), of_b[1]);
            assert_int_equal(backend.wait_count, waits + 1);
        }
        assert_true(pool->streams->now < 10);
    }
}

/* What was freed in the old time is covered by the first record of the new one. */
static void what_was_freed_before_is_covered_after(void **state)
{
    create_with_chunks(3);
    char *of_a[2] = { alloc_on(512, A), alloc_on(512, A) };
    char *of_b = alloc_on(1024, B), *of_c = alloc_on(1024, C);
    pool->streams->now = TN_STREAM_TIME_MAX;
    free_on(of_a[0], B);
    free_on(of_c, C);
    assert_ptr_equal(alloc_on(1024, A), of_c);
    assert_true(pool->streams->now < 10);
    free_on(of_b, B);
    assert_ptr_equal(alloc_on(1024, A), of_b);
    assert_int_equal(backend.wait_count, 2);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(512, A), of_a[0]);
    expect_no_calls();
}

/* Frees of streams that end unannounced are recorded, those of slices, too. */
static void a_stream_may_end_unannounced(void **state)
{
    char *of_a[2], *of_b[2];
    backend.has_ids = true;
    options.identifies_streams = true;
    share_two_chunks(of_a, of_b);
    free_on(of_b[1], B);
    test_backend_end_stream(&backend, B);
    assert_ptr_equal(alloc_on(512, A), of_b[1]);
    assert_int_equal(backend.wait_count, 1);
    /* The handle's next stream does not find what the old one had. */
    test_backend_begin_stream(&backend, B);
    free_on(of_a[0], A);
    assert_ptr_equal(alloc_on(512, B), of_a[0]);
    assert_int_equal(backend.wait_count, 2);
}

/* --- captures ----------------------------------------------------------------------------------- */

static void a_capture_has_whole_chunks(void **state)
{
    tarn_capture capture = 0;
    char *before = alloc_on(8, A);
    expect_ok(tarn_capture_begin(pool, A, &capture));
    char *captured = alloc_on(8, A), *second = alloc_on(8, A);
    assert_false(share_a_chunk(captured, before));
    assert_false(share_a_chunk(captured, second));
    /* Others go on. */
    char *of_b = alloc_on(8, B);
    assert_ptr_equal(alloc_on(8, B), of_b + 16);
    free_on(captured, A);
    assert_ptr_equal(alloc_on(8, A), captured);
    expect_ok(tarn_capture_end(pool, capture));
    assert_ptr_equal(alloc_on(8, A), before + 16);
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
}

/* The graph uses it whenever it is launched. */
static void what_a_capture_frees_waits_for_its_release(void **state)
{
    tarn_capture capture = 0;
    create_with_chunks(1);
    char *first = alloc_on(512, A), *second = alloc_on(512, A);
    expect_ok(tarn_capture_begin(pool, A, &capture));
    free_on(first, A);
    expect_ok(tarn_capture_end(pool, capture));
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 512, A);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 512, B);
    const tarn_stream launched_on = B;
    expect_ok(tarn_capture_release(pool, capture, &launched_on, 1));
    expect_ok(tarn_pool_check(pool));
    assert_ptr_equal(alloc_on(512, A), first);
    assert_int_equal(backend.wait_count, 1);
    assert_ptr_equal(backend.waits[0].awaited, B);
    (void)second;
}

/* --- pools without slices ----------------------------------------------------------------------- */

static void expect_whole_chunks(void)
{
    create_anew();
    char *first = alloc(8), *second = alloc(8);
    assert_false(share_a_chunk(first, second));
    assert_int_equal(pool->own.slices.slab_count, 0);
}

static void some_pools_have_none(void **state)
{
    options.slices = false;
    expect_whole_chunks();
    options.slices = true;
    options.debug = TARN_DEBUG_SITES;
    expect_whole_chunks();
    options.debug = 0;
    options.limit_bytes = 0;
    options.chunk_bytes = 128 * KIB;
    options.initial_bytes = 1024 * KIB;
    expect_whole_chunks();
    options.chunk_bytes = KIB;
    options.passes_through = true;
    expect_whole_chunks();
}

static void where_numbers_run_out_a_request_has_a_chunk(void **state)
{
    pool->own.slices.slab_count_max = 1;
    char *first = alloc(512), *second = alloc(512), *third = alloc(512);
    assert_true(share_a_chunk(first, second));
    assert_false(share_a_chunk(first, third));
    tarn_allocation found = found_at(third);
    assert_int_equal(found.usable_bytes, KIB);
    /* Also of what others have freed. */
    create_with_chunks(1);
    pool->own.slices.slab_count_max = 0;
    char *chunk = alloc_on(1024, A);
    free_on(chunk, A);
    assert_ptr_equal(alloc_on(512, B), chunk);
    expect_ok(tarn_pool_find(chunk, &found));
    assert_int_equal(found.usable_bytes, KIB);
}

static void memory_of_the_callers_is_cut_too(void **state)
{
    void *memory = (void *)((uintptr_t)1 << 40);
    options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    for (int i = 0; i < 2; i++) {
        destroy();
        options.slices = i == 0;
        expect_ok(tarn_pool_create_over(memory, 8 * KIB, &options, &pool));
        void *first = alloc(8), *second = alloc(8);
        assert_int_equal(share_a_chunk(first, second), options.slices);
    }
}

/* --- giving back -------------------------------------------------------------------------------- */

static void with_the_last_slice_everything_goes_back(void **state)
{
    options.returns_when_empty = true;
    create_anew();
    char *first = alloc(8), *second = alloc(8), *third = alloc(100);
    free_on(second, NULL);
    free_on(third, NULL);
    assert_int_equal(backend.piece_count, 1);
    free_on(first, NULL);
    assert_int_equal(backend.piece_count, 0);
}

static void the_threshold_holds_for_static_pools_of_slabs(void **state)
{
    grow_by_pieces_of(16 * KIB);
    options.limit_bytes = 0;
    options.release_threshold_bytes = 1;
    create_anew();
    char *slices[64];
    for (int i = 0; i < 64; i++)
        slices[i] = alloc(512);
    assert_int_equal(backend.piece_count, 2);
    for (int i = 0; i < 64; i++)
        free_on(slices[i], NULL);
    assert_int_equal(backend.piece_count, 1);
    trim(0);
    assert_int_equal(backend.piece_count, 0);
}

static void a_contiguous_pool_cuts_chunks(void **state)
{
    backend.range_granularity_bytes = 4 * KIB;
    options.contiguous = true;
    options.step_bytes = 4 * KIB;
    options.initial_bytes = 0;
    create_anew();
    char *slices[20];
    for (int i = 0; i < 20; i++)
        slices[i] = alloc(512);
    assert_int_equal(stats_of(pool).footprint_bytes, 12 * KIB);
    for (int i = 0; i < 20; i++)
        free_on(slices[i], NULL);
    trim(0);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
}

/* --- host memory, check ------------------------------------------------------------------------- */

/* Whatever fails changes nothing; and no free fails. */
static void use_host_memory(void)
{
    static void *blocks[600];
    size_t count = 0;
    for (size_t i = 0; i < 600; i++) {
        tarn_stream stream = STREAM(i / 200);
        tarn_status status = tarn_pool_alloc_on(pool, 1 + i * 7 % 600, stream, &blocks[count]);
        if (status == TARN_STATUS_OK) {
            count++;
        } else {
            assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
            expect_ok(tarn_pool_check(pool));
        }
    }
    expect_ok(tarn_pool_check(pool));
    for (size_t i = 0; i < count; i++)
        free_after(blocks[i], NULL, 0);
    expect_ok(tarn_pool_check(pool));
    assert_int_equal(stats_of(pool).live_count, 0);
    assert_int_equal(stats_of(pool).used_bytes, 0);
}

static void each_host_allocation_fails_once(void **state)
{
    checks_every_step = false;
    options.initial_bytes = 512 * KIB;
    options.limit_bytes = 0;
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        create_anew();
        host_memory_faults_begin(n);
        use_host_memory();
        has_failed = host_memory_faults_end();
    }
    assert_true(n > 20);
}

/* Frees of slices allocate nothing. */
static void a_free_needs_no_host_memory(void **state)
{
    char *slices[200];
    for (int i = 0; i < 200; i++)
        slices[i] = alloc_on(100, STREAM(i % 3));
    host_memory_faults_begin(1);
    for (int i = 0; i < 200; i++)
        free_on(slices[i * 77 % 200], STREAM(i % 3));
    assert_false(host_memory_faults_end());
    assert_int_equal(stats_of(pool).used_bytes, 0);
}

static void check_names_what_is_wrong(void **state)
{
    char *small = alloc(100);
    struct tn_slices *slices = &pool->own.slices;
    struct tn_slab *s = &slices->classes[3].slabs[0];
    const struct tn_slab good = *s;
    s->free |= 1;
    expect_fault("no live slices");
    *s = good;
    slices->slab_count++;
    expect_fault("the counts of slabs are wrong");
    slices->slab_count--;
    slices->live_counts[3]++;
    expect_fault("the count of live slices is wrong");
    slices->live_counts[3]--;
    s->pending = 2;
    expect_fault("free and pending");
    *s = good;
    s->address += 1024;
    expect_fault("not where its region is");
    *s = good;
    slices->classes[3].notes[0] = 99;
    expect_fault("requested bytes");
    slices->classes[3].notes[0] = 129;
    expect_fault("smaller than its requested size");
    slices->classes[3].notes[0] = 100;
    expect_ok(tarn_pool_check(pool));
    free_on(small, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_that_cannot_grow, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_hundred_thousand_of_8_bytes_take_2_mb),
        TEST(a_block_costs_little_host_memory),
        TEST(a_chunk_is_used_when_it_is_cut),
        TEST(a_small_block_again_and_again_keeps_its_chunk),
        TEST(a_kept_chunk_is_there_for_who_needs_it),
        TEST(each_stream_has_its_kept_chunk),
        TEST(nothing_is_kept_where_a_free_may_release),
        TEST(a_slice_is_aligned_to_its_size),
        TEST(the_lowest_free_slice_is_taken),
        TEST(finds_a_slice_by_any_address_inside),
        TEST(bad_frees_are_told_apart),
        TEST(wrong_pools_are_told),
        TEST(a_slice_is_resized_within_itself),
        TEST(a_free_may_tell_the_size_of_a_slice),
        TEST(a_batch_has_slices),
        TEST(a_stream_has_its_own_again_at_once),
        TEST(what_another_stream_freed_is_not_handed_out),
        TEST(where_no_chunk_is_left_a_stream_waits_for_another),
        TEST(a_wait_serves_for_what_was_freed_before),
        TEST(what_a_stream_has_waited_for_it_finds_without_a_call),
        TEST(what_is_done_with_is_found_by_asking),
        TEST(a_wait_that_fails_leaves_all_as_it_was),
        TEST(a_chunk_that_could_not_be_had_stays_whole),
        TEST(a_chunk_waits_for_all_that_was_freed_of_it),
        TEST(the_rest_of_a_slab_waits_for_what_the_chunk_waited_for),
        TEST(a_second_stream_does_not_find_what_the_only_one_freed),
        TEST(what_was_never_freed_needs_no_wait),
        TEST(larger_slices_serve_where_there_is_nothing_else),
        TEST(a_chunk_is_preferred_to_a_larger_slice),
        TEST(the_device_is_waited_for_where_events_do_not_help),
        TEST(slabs_outlive_their_stream),
        TEST(slabs_of_a_stream_that_is_done_serve_the_next),
        TEST(a_new_stream_with_the_old_handle_has_no_slabs),
        TEST(what_could_not_be_recorded_is_nobodys),
        TEST(more_streams_than_numbers_have_slices),
        TEST(a_stream_that_is_forgotten_had_waited_for_itself_alone),
        TEST(times_begin_anew),
        TEST(what_was_freed_before_is_covered_after),
        TEST(a_stream_may_end_unannounced),
        TEST(a_capture_has_whole_chunks),
        TEST(what_a_capture_frees_waits_for_its_release),
        TEST(some_pools_have_none),
        TEST(where_numbers_run_out_a_request_has_a_chunk),
        TEST(memory_of_the_callers_is_cut_too),
        TEST(with_the_last_slice_everything_goes_back),
        TEST(the_threshold_holds_for_static_pools_of_slabs),
        TEST(a_contiguous_pool_cuts_chunks),
        TEST(each_host_allocation_fails_once),
        TEST(a_free_needs_no_host_memory),
        TEST(check_names_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
