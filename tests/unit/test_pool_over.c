/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pools over memory that the caller has: of addresses that nothing can touch, so that nothing does. */
#include "harness/claims.h"
#include "harness/host_memory_faults.h"

#include "core/care/pool_registry.h"

#define KIB ((size_t)1024)

/* No system maps user memory here. */
static void *const memory = (void *)((uintptr_t)1 << 56);

static tarn_pool *create(void *address, size_t size_bytes)
{
    tarn_pool *pool;
    expect_ok(tarn_pool_create_over(address, size_bytes, NULL, &pool));
    expect_ok(tarn_pool_check(pool));
    return pool;
}

static void destroy(tarn_pool *pool)
{
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_pool_destroy(pool));
}

static void *alloc(tarn_pool *pool, size_t size_bytes)
{
    void *address;
    expect_ok(tarn_pool_alloc(pool, size_bytes, &address));
    return address;
}

static void all_of_it_is_handed_out_and_no_more(void **state)
{
    tarn_pool *pool = create(memory, 64 * KIB);
    void *address, *small;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 64 * KIB + 1, &address));
    address = alloc(pool, 64 * KIB);
    assert_ptr_equal(address, memory);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 1, &small));
    expect_message("at most 65536");
    expect_ok(tarn_pool_free(pool, address));
    small = alloc(pool, 1);
    assert_ptr_equal(small, memory);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(small, &found));
    assert_ptr_equal(found.static_pool_base, memory);
    assert_int_equal(found.static_pool_bytes, 64 * KIB);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.footprint_bytes, 64 * KIB);
    assert_int_equal(stats.vendor_alloc_count, 0);
    expect_ok(tarn_pool_free(pool, small));
    destroy(pool);
}

static void nothing_of_it_goes_back(void **state)
{
    tarn_pool *pool = create(memory, 64 * KIB);
    size_t released = 77;
    expect_ok(tarn_pool_trim(pool, 0, &released));
    assert_int_equal(released, 0);
    void *half = alloc(pool, 32 * KIB), *address;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 33 * KIB, &address));
    expect_ok(tarn_pool_free(pool, half));
    expect_ok(tarn_pool_trim(pool, 0, &released));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 65 * KIB, &address));
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
    assert_int_equal(stats_of(pool).vendor_free_count, 0);
    destroy(pool);
}

static void what_lies_beside_whole_chunks_is_not_used(void **state)
{
    for (size_t offset = 0; offset <= KIB; offset += 128) {
        for (size_t size = 4 * KIB - 1; size <= 4 * KIB + 1; size++) {
            size_t lead = (KIB - offset) % KIB;
            size_t whole = (size - lead) / KIB * KIB;
            tarn_pool *pool = create((char *)memory + offset, size);
            assert_int_equal(stats_of(pool).free_bytes, whole);
            char *address = alloc(pool, whole);
            assert_int_equal((uintptr_t)address % KIB, 0);
            assert_true(address >= (char *)memory + offset);
            assert_true(address + whole <= (char *)memory + offset + size);
            expect_ok(tarn_pool_free(pool, address));
            destroy(pool);
        }
    }
}

static void expect_refused(tarn_status status, void *address, size_t size_bytes,
                           const tarn_pool_options *options, const char *part)
{
    tarn_pool *pool = NULL;
    expect_status(status, tarn_pool_create_over(address, size_bytes, options, &pool));
    expect_message(part);
    assert_null(pool);
}

static void what_is_no_memory_is_refused(void **state)
{
    const tarn_status invalid = TARN_STATUS_INVALID_ARGUMENT;
    expect_refused(invalid, NULL, KIB, NULL, "address is NULL");
    expect_refused(invalid, memory, 0, NULL, "no whole chunk");
    expect_refused(invalid, memory, KIB - 1, NULL, "no whole chunk of 1024");
    expect_refused(invalid, (char *)memory + 1, 2 * KIB - 2, NULL, "no whole chunk");
    expect_refused(invalid, memory, SIZE_MAX, NULL, "beyond the last address");
    expect_status(invalid, tarn_pool_create_over(memory, KIB, NULL, NULL));
    destroy(create(memory, KIB));
    destroy(create((char *)memory + 1, 2 * KIB - 1));
}

static void bad_options_are_refused(void **state)
{
    const tarn_status invalid = TARN_STATUS_INVALID_OPTIONS;
    tarn_backend backend = { NULL, NULL };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.chunk_bytes = 1000;
    expect_refused(invalid, memory, 64 * KIB, &options, "chunk_bytes");
    options.chunk_bytes = 64 * KIB;
    expect_refused(TARN_STATUS_INVALID_ARGUMENT, memory, 64 * KIB - 1, &options, "no whole chunk");
    options.backend = &backend;
    expect_refused(invalid, memory, 64 * KIB, &options, "backend");
    options.struct_bytes--;
    expect_refused(invalid, memory, 64 * KIB, &options, "struct_bytes");
}

static void growth_options_do_nothing(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.initial_bytes = TARN_INITIAL_ALL;
    options.limit_bytes = 2 * KIB;
    options.limit_percent = 10;
    options.growth_bytes_max = KIB;
    options.release_threshold_bytes = 1;
    options.takes_initial_at_once = true;
    options.returns_when_empty = true;
    tarn_pool *pool;
    expect_ok(tarn_pool_create_over(memory, 64 * KIB, &options, &pool));
    expect_ok(tarn_pool_free(pool, alloc(pool, 64 * KIB)));
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
    destroy(pool);
}

/* Free are 2 KiB in front and 1 KiB at the end, of which a request for 1 KiB gets one. */
static void the_policy_holds_here_too(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    for (int i = 0; i < 2; i++) {
        options.fit = i == 0 ? TARN_FIT_BEST : TARN_FIT_FIRST;
        tarn_pool *pool;
        expect_ok(tarn_pool_create_over(memory, 64 * KIB, &options, &pool));
        char *front = alloc(pool, 2 * KIB), *middle = alloc(pool, 61 * KIB);
        expect_ok(tarn_pool_free(pool, front));
        char *third = alloc(pool, KIB);
        assert_ptr_equal(third, i == 0 ? middle + 61 * KIB : front);
        expect_ok(tarn_pool_free(pool, third));
        expect_ok(tarn_pool_free(pool, middle));
        destroy(pool);
    }
}

struct told {
    unsigned created_count, destroyed_count;
};

static void created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    assert_ptr_equal(base, memory);
    assert_int_equal(size_bytes, 64 * KIB);
    ((struct told *)user)->created_count++;
}

static void destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    assert_ptr_equal(base, memory);
    assert_int_equal(size_bytes, 64 * KIB);
    ((struct told *)user)->destroyed_count++;
}

static void the_user_is_told(void **state)
{
    struct told told = { 0, 0 };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.on_static_pool_created = created;
    options.on_static_pool_destroyed = destroyed;
    options.user = &told;
    tarn_pool *pool;
    expect_ok(tarn_pool_create_over(memory, 64 * KIB, &options, &pool));
    assert_int_equal(told.created_count, 1);
    assert_int_equal(told.destroyed_count, 0);
    destroy(pool);
    assert_int_equal(told.destroyed_count, 1);
}

static void available_is_what_is_free(void **state)
{
    tarn_pool *pool = create(memory, 64 * KIB);
    void *address = alloc(pool, 10 * KIB);
    size_t available;
    expect_ok(tarn_pool_available(pool, &available));
    assert_int_equal(available, 54 * KIB);
    expect_ok(tarn_pool_free(pool, address));
    destroy(pool);
}

static void one_pool_may_lie_in_another(void **state)
{
    tarn_pool *outer = create(memory, 64 * KIB);
    void *block = alloc(outer, 32 * KIB);
    tarn_pool *inner = create(block, 32 * KIB);
    void *address = alloc(inner, KIB);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(address, &found));
    assert_ptr_equal(found.pool, inner);
    expect_ok(tarn_pool_free(inner, address));
    destroy(inner);
    expect_ok(tarn_pool_free(outer, block));
    destroy(outer);
}

static void any_host_allocation_may_fail(void **state)
{
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        tarn_pool *pool;
        size_t resting = tn_pool_registry_resting_count();
        host_memory_faults_begin(n);
        tarn_status status = tarn_pool_create_over(memory, 64 * KIB, NULL, &pool);
        if (status == TARN_STATUS_OK) expect_ok(tarn_pool_destroy(pool));
        long outstanding = host_memory_faults_outstanding();
        has_failed = host_memory_faults_end();
        assert_int_equal(status, has_failed ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        assert_int_equal(outstanding, tn_pool_registry_resting_count() - resting);
    }
    assert_true(n > 5);
}

/* --- streams --------------------------------------------------------------------------------------- */

static const tarn_stream a = (tarn_stream)(uintptr_t)0x10, b = (tarn_stream)(uintptr_t)0x20;

static void one_stream_works_as_on_any_pool(void **state)
{
    tarn_pool *pool = create(memory, 64 * KIB);
    for (int i = 0; i < 10; i++) {
        void *address;
        expect_ok(tarn_pool_alloc_on(pool, 64 * KIB, a, &address));
        expect_ok(tarn_pool_free_on(pool, address, a));
    }
    destroy(pool);
}

static void what_one_stream_freed_is_not_for_another(void **state)
{
    tarn_pool *pool = create(memory, 64 * KIB);
    void *first, *second, *third, *small;
    expect_ok(tarn_pool_alloc_on(pool, 40 * KIB, a, &first));
    expect_ok(tarn_pool_alloc_on(pool, 20 * KIB, b, &second));
    expect_ok(tarn_pool_free_on(pool, first, a));
    expect_ok(tarn_pool_alloc_on(pool, 4 * KIB, b, &small));
    for (int i = 0; i < 3; i++)
        expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(pool, 30 * KIB, b, &third));
    expect_ok(tarn_pool_check(pool));
    /* Not even for a moment. */
    assert_int_equal(stats_of(pool).live_count_max, 2);
    expect_ok(tarn_pool_alloc_on(pool, 40 * KIB, a, &third));
    assert_ptr_equal(third, first);
    /* The caller has waited. */
    expect_ok(tarn_pool_free_after(pool, third, NULL, 0));
    expect_ok(tarn_pool_alloc_on(pool, 40 * KIB, b, &third));
    expect_ok(tarn_pool_free_after(pool, third, NULL, 0));
    expect_ok(tarn_pool_free_after(pool, second, NULL, 0));
    expect_ok(tarn_pool_free_after(pool, small, NULL, 0));
    expect_ok(tarn_pool_alloc_on(pool, 64 * KIB, b, &third));
    expect_ok(tarn_pool_free_on(pool, third, b));
    destroy(pool);
}

/* As on any pool, where others would be made to wait then. */
static void what_is_free_when_a_second_stream_comes_was_freed_on_the_first(void **state)
{
    tarn_pool *pool = create(memory, 64 * KIB);
    void *first, *second;
    expect_ok(tarn_pool_alloc_on(pool, KIB, a, &first));
    expect_ok(tarn_pool_free_on(pool, first, a));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(pool, KIB, b, &second));
    expect_ok(tarn_pool_alloc_on(pool, 64 * KIB, a, &first));
    expect_ok(tarn_pool_free_after(pool, first, NULL, 0));
    expect_ok(tarn_pool_alloc_on(pool, 64 * KIB, b, &second));
    expect_ok(tarn_pool_free_on(pool, second, b));
    destroy(pool);
}

/* Uniting them would leave them to nobody. */
static void what_two_streams_freed_stays_apart(void **state)
{
    tarn_pool *pool = create(memory, 64 * KIB);
    void *first, *second, *all;
    expect_ok(tarn_pool_alloc_on(pool, 32 * KIB, a, &first));
    expect_ok(tarn_pool_alloc_on(pool, 32 * KIB, b, &second));
    expect_ok(tarn_pool_free_on(pool, first, a));
    expect_ok(tarn_pool_free_on(pool, second, b));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(pool, 64 * KIB, a, &all));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(pool, 64 * KIB, b, &all));
    expect_ok(tarn_pool_alloc_on(pool, 32 * KIB, a, &first));
    expect_ok(tarn_pool_alloc_on(pool, 32 * KIB, b, &second));
    expect_ok(tarn_pool_free_on(pool, first, a));
    expect_ok(tarn_pool_free_on(pool, second, b));
    destroy(pool);
}

/* A stream's own and what waits for nothing are one for it. */
static void its_own_and_what_waits_for_nothing_are_united(void **state)
{
    tarn_pool *pool = create(memory, 64 * KIB);
    void *first, *second, *all;
    expect_ok(tarn_pool_alloc_on(pool, 32 * KIB, a, &first));
    expect_ok(tarn_pool_alloc_on(pool, 32 * KIB, b, &second));
    expect_ok(tarn_pool_free_on(pool, first, a));
    expect_ok(tarn_pool_free_after(pool, second, NULL, 0));
    expect_ok(tarn_pool_alloc_on(pool, 64 * KIB, a, &all));
    expect_ok(tarn_pool_free_on(pool, all, a));
    destroy(pool);
}

/* It is not the pieces that keep it from the other stream. */
static void what_another_stream_has_freed_is_not_called_scattered(void **state)
{
    static char lent[8192], streams[2];
    tarn_pool *over;
    void *address;
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    expect_ok(tarn_pool_create_over(lent, sizeof lent, NULL, &over));
    expect_ok(tarn_pool_alloc_on(over, 1024, &streams[0], &address));
    expect_ok(tarn_pool_free_on(over, address, &streams[0]));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(over, 1024, &streams[1], &address));
    expect_ok(tarn_last_shortage(&shortage));
    assert_int_equal(shortage.pending_bytes, shortage.free_bytes);
    assert_true(shortage.largest_free_bytes >= 1024);
    assert_false(shortage.fits_if_in_one_piece);
    expect_ok(tarn_pool_destroy(over));
}

static void pools_over_different_memory_are_no_neighbours(void **state)
{
    static char first[8192], second[8192];
    tarn_pool *pools[2];
    void *address;
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    expect_ok(tarn_pool_create_over(first, sizeof first, NULL, &pools[0]));
    expect_ok(tarn_pool_create_over(second, sizeof second, NULL, &pools[1]));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pools[0], 8193, &address));
    expect_ok(tarn_last_shortage(&shortage));
    assert_int_equal(shortage.other_pools_bytes, 0);
    expect_ok(tarn_pool_destroy(pools[0]));
    expect_ok(tarn_pool_destroy(pools[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_handed_out_and_no_more),
        cmocka_unit_test(the_policy_holds_here_too),
        cmocka_unit_test(nothing_of_it_goes_back),
        cmocka_unit_test(pools_over_different_memory_are_no_neighbours),
        cmocka_unit_test(what_another_stream_has_freed_is_not_called_scattered),
        cmocka_unit_test(what_lies_beside_whole_chunks_is_not_used),
        cmocka_unit_test(what_is_no_memory_is_refused),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(growth_options_do_nothing),
        cmocka_unit_test(the_user_is_told),
        cmocka_unit_test(available_is_what_is_free),
        cmocka_unit_test(one_pool_may_lie_in_another),
        cmocka_unit_test(any_host_allocation_may_fail),
        cmocka_unit_test(one_stream_works_as_on_any_pool),
        cmocka_unit_test(what_one_stream_freed_is_not_for_another),
        cmocka_unit_test(what_is_free_when_a_second_stream_comes_was_freed_on_the_first),
        cmocka_unit_test(what_two_streams_freed_stays_apart),
        cmocka_unit_test(its_own_and_what_waits_for_nothing_are_united),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
