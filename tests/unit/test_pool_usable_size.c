/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn_pool_usable_size: of slices, chunks, fallbacks and debug mode, in arenas and beside them. */
#include "core/pool/pool_arenas.h"

#include <pthread.h>

#include "pool_fixture.h"

static void expect_usable(tarn_pool *asked, const void *address, size_t usable_bytes)
{
    size_t bytes = 77;
    expect_ok(tarn_pool_usable_size(asked, address, &bytes));
    assert_int_equal(bytes, usable_bytes);
}

/* What tarn_pool_find says of it. */
static void expect_as_found(const void *address)
{
    expect_usable(pool, address, found_at(address).usable_bytes);
}

static void a_block_has_its_chunks(void **state)
{
    static const struct {
        size_t size_bytes, usable_bytes;
    } blocks[] = {
        { 1, 16 },
        { 16, 16 },
        { 17, 32 },
        { 511, 512 },
        { 512, 512 },
        { 513, KIB },
        { 1023, KIB },
        { 1024, KIB },
        { 1025, 2 * KIB },
        { 5000, 5 * KIB },
        { 8 * KIB - 1, 8 * KIB },
        { 8 * KIB, 8 * KIB },
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        void *address = alloc(blocks[i].size_bytes);
        expect_usable(pool, address, blocks[i].usable_bytes);
        expect_as_found(address);
    }
    expect_usable(pool, NULL, 0);
}

static void a_resized_block_has_what_it_has_then(void **state)
{
    void *address = alloc(3 * KIB);
    expect_ok(tarn_pool_resize(pool, address, 9 * KIB - 1));
    expect_usable(pool, address, 9 * KIB);
    expect_ok(tarn_pool_resize(pool, address, 100));
    expect_usable(pool, address, KIB);
}

static void what_is_no_start_is_told_apart(void **state)
{
    char *address = alloc(5000), *small = alloc(30);
    size_t bytes = 77;
    int foreign;
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_usable_size(pool, address + 1, &bytes));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS,
                  tarn_pool_usable_size(pool, address + 1024, &bytes));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_usable_size(pool, small + 1, &bytes));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_usable_size(pool, small + 32, &bytes));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_usable_size(pool, &foreign, &bytes));
    tarn_pool *other = new_pool(&options);
    expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_usable_size(other, address, &bytes));
    expect_ok(tarn_pool_destroy(other));
    free_one(address);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_usable_size(pool, address, &bytes));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_usable_size(pool, small, NULL));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_usable_size(NULL, small, &bytes));
    assert_int_equal(bytes, 77);
    assert_int_equal(stats_of(pool).failed_count, 0);
}

static void a_fallback_is_asked(void **state)
{
    tarn_pool *fallback = new_pool(&options);
    options.fallback = fallback;
    options.limit_bytes = 64 * KIB;
    create_anew();
    void *address = alloc(100 * KIB - 1);
    expect_usable(pool, address, 100 * KIB);
    expect_usable(fallback, address, 100 * KIB);
    free_one(address);
    size_t bytes;
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_usable_size(pool, address, &bytes));
    options.fallback = NULL;
    create_anew();
    expect_ok(tarn_pool_destroy(fallback));
}

static void a_pool_that_passes_through_has_what_the_vendor_gave(void **state)
{
    options.passes_through = true;
    create_anew();
    void *address = alloc(5000);
    expect_as_found(address);
    free_one(address);
}

static void zones_are_not_to_be_used(void **state)
{
    destroy();
    tarn_backend host = new_host_backend(NULL);
    options.backend = &host;
    options.debug = TARN_DEBUG_ZONES;
    create();
    char *address = alloc(5000);
    size_t bytes;
    expect_usable(pool, address, 5000);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_usable_size(pool, address - 1, &bytes));
    destroy();
    options.debug = TARN_DEBUG_SITES;
    create();
    expect_as_found(alloc(5000));
    destroy();
    options.debug = 0;
    options.backend = &opened;
    tarn_backend_close(&host);
    create();
}

/* --- arenas -------------------------------------------------------------------------------------- */

static void arenas_keep_what_they_have(void **state)
{
    void *of_pool = alloc(7000);
    warm_up();
    void *large = alloc(3000), *small = alloc(100);
    expect_active(1);
    expect_usable(pool, large, 3 * KIB);
    expect_usable(pool, small, 128);
    expect_usable(pool, of_pool, 7 * KIB);
    expect_active(1);
    free_one(large);
    size_t bytes;
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_usable_size(pool, large, &bytes));
    free_one(small);
    free_one(of_pool);
}

static void *look_elsewhere(void *argument)
{
    void **addresses = argument;
    expect_usable(pool, addresses[0], 3 * KIB);
    expect_usable(pool, addresses[1], 128);
    return NULL;
}

static void another_arenas_block_is_found(void **state)
{
    warm_up();
    void *addresses[] = { alloc(3000), alloc(100) };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, look_elsewhere, addresses), 0);
    pthread_join(thread, NULL);
    expect_active(1);
    free_one(addresses[0]);
    free_one(addresses[1]);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define CASE_IN_ARENAS(name) \
    cmocka_unit_test_setup_teardown(name, set_up_with_default_options, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_block_has_its_chunks),
        CASE(a_resized_block_has_what_it_has_then),
        CASE(what_is_no_start_is_told_apart),
        CASE(a_fallback_is_asked),
        CASE(a_pool_that_passes_through_has_what_the_vendor_gave),
        CASE(zones_are_not_to_be_used),
        CASE_IN_ARENAS(arenas_keep_what_they_have),
        CASE_IN_ARENAS(another_arenas_block_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
