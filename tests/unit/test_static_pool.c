/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_static_pool: which chunks a piece of backing has, and the way between chunk numbers and
 * addresses. The addresses have no memory behind them: a static pool never touches it.
 */
#include "core/parts/static_pool.h"

#include "harness/claims.h"
#include "harness/host_memory_faults.h"

#define CHUNK_BYTES ((size_t)1024)
#define NO_MAX      UINT32_MAX

enum {
    CHUNK_LOG2 = 10
};

static const uintptr_t base = (uintptr_t)1 << 40;

static struct tn_static_pool *create(uintptr_t address, size_t size_bytes, uint32_t chunk_count_max)
{
    struct tn_static_pool *pool =
        tn_static_pool_create((void *)address, size_bytes, CHUNK_LOG2, chunk_count_max);
    assert_non_null(pool);
    assert_ptr_equal(pool->piece.base, (void *)address);
    assert_int_equal(pool->piece.size_bytes, size_bytes);
    return pool;
}

/* --- which chunks there are --------------------------------------------------------------------- */

/* The chunks lie from `lead_bytes` on in the backing. */
static void expect_chunks(uintptr_t address, size_t size_bytes, uint32_t chunk_count_max,
                          size_t lead_bytes, uint32_t chunk_count)
{
    struct tn_static_pool *pool = create(address, size_bytes, chunk_count_max);
    assert_int_equal(pool->first_address, address + lead_bytes);
    assert_int_equal(pool->first_address % CHUNK_BYTES, 0);
    assert_int_equal(pool->piece.chunk_count, chunk_count);
    assert_int_equal(pool->end_address, pool->first_address + chunk_count * CHUNK_BYTES);
    assert_true(pool->end_address <= address + size_bytes);
    tn_static_pool_destroy(pool);
}

static void aligned_backing_is_all_chunks_but_a_rest(void **state)
{
    expect_chunks(base, 1024, NO_MAX, 0, 1);
    expect_chunks(base, 2047, NO_MAX, 0, 1);
    expect_chunks(base, 2048, NO_MAX, 0, 2);
    expect_chunks(base, 2049, NO_MAX, 0, 2);
    expect_chunks(base, (size_t)1 << 30, NO_MAX, 0, 1 << 20);
}

static void the_first_chunk_is_aligned_where_the_backing_is_not(void **state)
{
    expect_chunks(base + 1, 2047, NO_MAX, 1023, 1);
    expect_chunks(base + 1, 3070, NO_MAX, 1023, 1);
    expect_chunks(base + 1, 3071, NO_MAX, 1023, 2);
    expect_chunks(base + 512, 1536, NO_MAX, 512, 1);
    expect_chunks(base + 1023, 1025, NO_MAX, 1, 1);
    expect_chunks(base + 1024, 1024, NO_MAX, 0, 1);
}

static void there_are_no_more_chunks_than_may_be_numbered(void **state)
{
    expect_chunks(base, 10 * 1024, 9, 0, 9);
    expect_chunks(base, 10 * 1024, 10, 0, 10);
    expect_chunks(base, 10 * 1024, 11, 0, 10);
    expect_chunks(base + 1, (size_t)1 << 42, INT32_MAX, 1023, INT32_MAX);
}

/* --- addresses ---------------------------------------------------------------------------------- */

static void expect_at(const struct tn_static_pool *pool, uint32_t chunk, uintptr_t address)
{
    assert_int_equal(tn_static_pool_address_of(pool, chunk), address);
    assert_int_equal(tn_static_pool_chunk_of(pool, address), chunk);
    assert_int_equal(tn_static_pool_chunk_of(pool, address + 1), chunk);
    assert_int_equal(tn_static_pool_chunk_of(pool, address + CHUNK_BYTES - 1), chunk);
}

static void chunks_are_numbered_from_the_first(void **state)
{
    struct tn_static_pool *pool = create(base + 512, 100 * 1024 + 512, NO_MAX);
    pool->first_chunk = 6400;
    expect_at(pool, 6400, base + 1024);
    expect_at(pool, 6401, base + 2048);
    expect_at(pool, 6499, base + 100 * 1024);
    assert_int_equal(tn_static_pool_chunk_of(pool, pool->end_address - 1), 6499);
    tn_static_pool_destroy(pool);
}

static void the_highest_chunk_numbers_have_addresses(void **state)
{
    struct tn_static_pool *pool = create(base, (size_t)1 << 42, INT32_MAX);
    expect_at(pool, 0, base);
    expect_at(pool, INT32_MAX - 1, base + (uintptr_t)(INT32_MAX - 1) * CHUNK_BYTES);
    tn_static_pool_destroy(pool);
}

static void the_lead_is_counted_to_the_next_aligned_chunk(void **state)
{
    struct tn_static_pool *pool = create(base + 3 * 1024, 100 * 1024, NO_MAX);
    pool->first_chunk = 640;
    assert_int_equal(tn_static_pool_lead_of(pool, 640, 1), 0);
    assert_int_equal(tn_static_pool_lead_of(pool, 640, 512), 0);
    assert_int_equal(tn_static_pool_lead_of(pool, 640, 1024), 0);
    assert_int_equal(tn_static_pool_lead_of(pool, 640, 2048), 1);
    assert_int_equal(tn_static_pool_lead_of(pool, 640, 4096), 1);
    assert_int_equal(tn_static_pool_lead_of(pool, 641, 4096), 0);
    assert_int_equal(tn_static_pool_lead_of(pool, 642, 4096), 3);
    assert_int_equal(tn_static_pool_lead_of(pool, 640, 1 << 20), 1021);
    assert_int_equal(tn_static_pool_lead_of(pool, 640, (size_t)1 << 40), ((uint64_t)1 << 30) - 3);
    assert_int_equal(tn_static_pool_lead_of(pool, 640, (size_t)1 << 63),
                     (((uint64_t)1 << 63) - base - 3072) >> 10);
    tn_static_pool_destroy(pool);
}

/* --- life --------------------------------------------------------------------------------------- */

static void ids_are_never_used_twice(void **state)
{
    uint64_t last_id = 0;
    for (int i = 0; i < 100; i++) {
        struct tn_static_pool *pool = create(base, 4096, NO_MAX);
        assert_true(pool->piece.id > last_id);
        last_id = pool->piece.id;
        tn_static_pool_destroy(pool);
    }
}

static void without_host_memory_there_is_no_static_pool(void **state)
{
    host_memory_faults_begin(1);
    assert_null(tn_static_pool_create((void *)base, 4096, CHUNK_LOG2, NO_MAX));
    struct tn_static_pool *pool = create(base, 4096, NO_MAX);
    assert_int_equal(host_memory_faults_outstanding(), 1);
    tn_static_pool_destroy(pool);
    tn_static_pool_destroy(NULL);
    assert_int_equal(host_memory_faults_outstanding(), 0);
    assert_true(host_memory_faults_end());
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned_backing_is_all_chunks_but_a_rest),
        cmocka_unit_test(the_first_chunk_is_aligned_where_the_backing_is_not),
        cmocka_unit_test(there_are_no_more_chunks_than_may_be_numbered),
        cmocka_unit_test(chunks_are_numbered_from_the_first),
        cmocka_unit_test(the_highest_chunk_numbers_have_addresses),
        cmocka_unit_test(the_lead_is_counted_to_the_next_aligned_chunk),
        cmocka_unit_test(ids_are_never_used_twice),
        cmocka_unit_test(without_host_memory_there_is_no_static_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
