/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pools over memory that the caller has: of addresses that nothing can touch, so that nothing does. */
#include "harness/host_memory_faults.h"

#include "core/care/pool_registry.h"
#include "pool_fixture.h"

/* No system maps user memory here. */
static void *const memory = (void *)((uintptr_t)1 << 56);

static int set_up_over(void **state)
{
    begin_fixture(false);
    options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    return 0;
}

/* With the fixture's options. */
static void create_over(void *address, size_t size_bytes)
{
    expect_ok(tarn_pool_create_over(address, size_bytes, &options, &pool));
    expect_ok(tarn_pool_check(pool));
}

static void all_of_it_is_handed_out_and_no_more(void **state)
{
    create_over(memory, 64 * KIB);
    void *address, *small;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 64 * KIB + 1, &address));
    address = alloc(64 * KIB);
    assert_ptr_equal(address, memory);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 1, &small));
    expect_message("at most 64 KiB");
    assert_null(strstr(tarn_last_error().message, "limit_bytes"));
    free_one(address);
    small = alloc(1);
    assert_ptr_equal(small, memory);
    tarn_allocation found = found_at(small);
    assert_ptr_equal(found.static_pool_base, memory);
    assert_int_equal(found.static_pool_bytes, 64 * KIB);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.footprint_bytes, 64 * KIB);
    assert_int_equal(stats.vendor_alloc_count, 0);
    free_one(small);
}

static void nothing_of_it_goes_back(void **state)
{
    create_over(memory, 64 * KIB);
    size_t released = 77;
    expect_ok(tarn_pool_trim(pool, 0, &released));
    assert_int_equal(released, 0);
    void *half = alloc(32 * KIB), *address;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 33 * KIB, &address));
    free_one(half);
    expect_ok(tarn_pool_trim(pool, 0, &released));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 65 * KIB, &address));
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
    assert_int_equal(stats_of(pool).vendor_free_count, 0);
}

static void what_lies_beside_whole_chunks_is_not_used(void **state)
{
    for (size_t offset = 0; offset <= KIB; offset += 128) {
        for (size_t size = 4 * KIB - 1; size <= 4 * KIB + 1; size++) {
            size_t lead = (KIB - offset) % KIB;
            size_t whole = (size - lead) / KIB * KIB;
            create_over((char *)memory + offset, size);
            assert_int_equal(stats_of(pool).free_bytes, whole);
            char *address = alloc(whole);
            assert_int_equal((uintptr_t)address % KIB, 0);
            assert_true(address >= (char *)memory + offset);
            assert_true(address + whole <= (char *)memory + offset + size);
            free_one(address);
            destroy_empty();
        }
    }
}

static void expect_memory_refused(tarn_status status, void *address, size_t size_bytes,
                                  const char *part)
{
    expect_status(status, tarn_pool_create_over(address, size_bytes, &options, &pool));
    expect_message(part);
    assert_null(pool);
}

static void what_is_no_memory_is_refused(void **state)
{
    const tarn_status invalid = TARN_STATUS_INVALID_ARGUMENT;
    expect_memory_refused(invalid, NULL, KIB, "address is NULL");
    expect_memory_refused(invalid, memory, 0, "no whole chunk");
    expect_memory_refused(invalid, memory, KIB - 1, "no whole chunk of 1024");
    expect_memory_refused(invalid, (char *)memory + 1, 2 * KIB - 2, "no whole chunk");
    expect_memory_refused(invalid, memory, SIZE_MAX, "beyond the last address");
    expect_status(invalid, tarn_pool_create_over(memory, KIB, NULL, NULL));
    create_over(memory, KIB);
    destroy_empty();
    create_over((char *)memory + 1, 2 * KIB - 1);
}

static void bad_options_are_refused(void **state)
{
    const tarn_status invalid = TARN_STATUS_INVALID_OPTIONS;
    tarn_backend none = { NULL, NULL };
    options.chunk_bytes = 1000;
    expect_memory_refused(invalid, memory, 64 * KIB, "chunk_bytes");
    options.chunk_bytes = 64 * KIB;
    expect_memory_refused(TARN_STATUS_INVALID_ARGUMENT, memory, 64 * KIB - 1, "no whole chunk");
    options.backend = &none;
    expect_memory_refused(invalid, memory, 64 * KIB, "backend");
    options.struct_bytes--;
    expect_memory_refused(invalid, memory, 64 * KIB, "struct_bytes");
}

static void growth_options_do_nothing(void **state)
{
    options.initial_bytes = TARN_INITIAL_ALL;
    options.limit_bytes = 2 * KIB;
    options.limit_percent = 10;
    options.growth_bytes_max = KIB;
    options.release_threshold_bytes = 1;
    options.takes_initial_at_once = true;
    options.returns_when_empty = true;
    create_over(memory, 64 * KIB);
    free_one(alloc(64 * KIB));
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
}

/* Free are 2 KiB in front and 1 KiB at the end, of which a request for 1 KiB gets one. */
static void the_policy_holds_here_too(void **state)
{
    for (int i = 0; i < 2; i++) {
        options.fit = i == 0 ? TARN_FIT_BEST : TARN_FIT_FIRST;
        create_over(memory, 64 * KIB);
        char *front = alloc(2 * KIB), *middle = alloc(61 * KIB);
        free_one(front);
        char *third = alloc(KIB);
        assert_ptr_equal(third, i == 0 ? middle + 61 * KIB : front);
        free_one(third);
        free_one(middle);
        destroy_empty();
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
    options.on_static_pool_created = created;
    options.on_static_pool_destroyed = destroyed;
    options.user = &told;
    create_over(memory, 64 * KIB);
    assert_int_equal(told.created_count, 1);
    assert_int_equal(told.destroyed_count, 0);
    destroy_empty();
    assert_int_equal(told.destroyed_count, 1);
}

static void available_is_what_is_free(void **state)
{
    create_over(memory, 64 * KIB);
    void *address = alloc(10 * KIB);
    size_t available;
    expect_ok(tarn_pool_available(pool, &available));
    assert_int_equal(available, 54 * KIB);
    free_one(address);
}

static void one_pool_may_lie_in_another(void **state)
{
    create_over(memory, 64 * KIB);
    tarn_pool *outer = pool;
    void *block = alloc(32 * KIB);
    create_over(block, 32 * KIB);
    void *address = alloc(KIB);
    assert_ptr_equal(found_at(address).pool, pool);
    free_one(address);
    destroy_empty();
    pool = outer;
    free_one(block);
}

static void any_host_allocation_may_fail(void **state)
{
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        size_t resting = tn_pool_registry_resting_count();
        host_memory_faults_begin(n);
        tarn_status status = tarn_pool_create_over(memory, 64 * KIB, NULL, &pool);
        if (status == TARN_STATUS_OK) destroy_empty();
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
    create_over(memory, 64 * KIB);
    for (int i = 0; i < 10; i++) {
        void *address = alloc_on(64 * KIB, a);
        free_on(address, a);
    }
}

static void what_one_stream_freed_is_not_for_another(void **state)
{
    create_over(memory, 64 * KIB);
    void *first, *second, *third, *small;
    first = alloc_on(40 * KIB, a);
    second = alloc_on(20 * KIB, b);
    free_on(first, a);
    small = alloc_on(4 * KIB, b);
    for (int i = 0; i < 3; i++)
        expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(pool, 30 * KIB, b, &third));
    expect_ok(tarn_pool_check(pool));
    /* Not even for a moment. */
    assert_int_equal(stats_of(pool).live_count_max, 2);
    third = alloc_on(40 * KIB, a);
    assert_ptr_equal(third, first);
    /* The caller has waited. */
    free_after(third, NULL, 0);
    third = alloc_on(40 * KIB, b);
    free_after(third, NULL, 0);
    free_after(second, NULL, 0);
    free_after(small, NULL, 0);
    third = alloc_on(64 * KIB, b);
    free_on(third, b);
}

/* As on any pool, where others would be made to wait then. */
static void what_is_free_when_a_second_stream_comes_was_freed_on_the_first(void **state)
{
    create_over(memory, 64 * KIB);
    void *first, *second;
    first = alloc_on(KIB, a);
    free_on(first, a);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(pool, KIB, b, &second));
    first = alloc_on(64 * KIB, a);
    free_after(first, NULL, 0);
    second = alloc_on(64 * KIB, b);
    free_on(second, b);
}

/* The pool cannot tell when work on streams that it has no numbers for is done. Their frees succeed all the same. */
static void frees_on_many_streams_succeed(void **state)
{
    static char handles[100];
    create_over(memory, 64 * KIB);
    void *blocks[40];
    for (unsigned i = 0; i < 40; i++)
        blocks[i] = alloc_on(KIB, (tarn_stream)&handles[i]);
    for (unsigned i = 0; i < 40; i++)
        free_on(blocks[i], (tarn_stream)&handles[i]);
    free_on(alloc_on(KIB, (tarn_stream)&handles[39]), (tarn_stream)&handles[39]);
}

/* Uniting them would leave them to nobody. */
static void what_two_streams_freed_stays_apart(void **state)
{
    create_over(memory, 64 * KIB);
    void *first, *second, *all;
    first = alloc_on(32 * KIB, a);
    second = alloc_on(32 * KIB, b);
    free_on(first, a);
    free_on(second, b);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(pool, 64 * KIB, a, &all));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(pool, 64 * KIB, b, &all));
    first = alloc_on(32 * KIB, a);
    second = alloc_on(32 * KIB, b);
    free_on(first, a);
    free_on(second, b);
}

/* A stream's own and what waits for nothing are one for it. */
static void its_own_and_what_waits_for_nothing_are_united(void **state)
{
    create_over(memory, 64 * KIB);
    void *first, *second, *all;
    first = alloc_on(32 * KIB, a);
    second = alloc_on(32 * KIB, b);
    free_on(first, a);
    free_after(second, NULL, 0);
    all = alloc_on(64 * KIB, a);
    free_on(all, a);
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
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_over, tear_down_empty)
    const struct CMUnitTest tests[] = {
        CASE(all_of_it_is_handed_out_and_no_more),
        CASE(the_policy_holds_here_too),
        CASE(nothing_of_it_goes_back),
        CASE(pools_over_different_memory_are_no_neighbours),
        CASE(what_another_stream_has_freed_is_not_called_scattered),
        CASE(what_lies_beside_whole_chunks_is_not_used),
        CASE(what_is_no_memory_is_refused),
        CASE(bad_options_are_refused),
        CASE(growth_options_do_nothing),
        CASE(the_user_is_told),
        CASE(available_is_what_is_free),
        CASE(one_pool_may_lie_in_another),
        CASE(any_host_allocation_may_fail),
        CASE(one_stream_works_as_on_any_pool),
        CASE(what_one_stream_freed_is_not_for_another),
        CASE(what_is_free_when_a_second_stream_comes_was_freed_on_the_first),
        CASE(frees_on_many_streams_succeed),
        CASE(what_two_streams_freed_stays_apart),
        CASE(its_own_and_what_waits_for_nothing_are_united),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
