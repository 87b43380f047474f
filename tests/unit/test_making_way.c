/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A contiguous pool in which sizes creep: free steps make way before it grows, so that it holds in proportion to the most
 * bytes in use. Which steps go, when the pool waits for the device, and what happens when that fails. The bounds themselves
 * are in test_growth, and random programs in prop_contiguous.
 */
#include "core/parts/step_range.h"
#include "harness/host_memory_faults.h"
#include "pool_fixture.h"

#define UNIT (2 * MIB)

/* Two arrays are live at a time: the old one is freed once the new one is made. */
#define FIRST_BYTES (32 * UNIT)
#define LAST_BYTES  (64 * UNIT)

static unsigned created_count, destroyed_count;
static char *first_gone;

static void note_created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    created_count++;
}

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    if (destroyed_count++ == 0) first_gone = base;
}

static void open_backend(void)
{
    opened = test_backend_open(&backend);
}

static int set_up_lean(void **state)
{
    begin_fixture(true);
    backend.range_granularity_bytes = UNIT;
    backend.total_bytes = 1024 * UNIT;
    backend.has_synchronize = backend.has_device_events = backend.has_idle_unmaps = true;
    backend.completes_after = 1;
    open_backend();
    options.contiguous = true;
    options.initial_bytes = 0;
    options.growth_bytes_max = TARN_GROWTH_BYTES_MAX_DEFAULT;
    options.on_static_pool_created = note_created;
    options.on_static_pool_destroyed = note_destroyed;
    checks_every_step = true;
    created_count = destroyed_count = 0;
    return 0;
}

static size_t held_bytes(void)
{
    return stats_of(pool).footprint_bytes;
}

static unsigned count_unmaps(enum test_call call)
{
    return backend.call_counts[call];
}

/* Makes a new array by 3 % larger than the old one, frees that, and so on. Returns the last, which is live. */
static char *creep_on(size_t size_bytes, size_t last_bytes, tarn_stream stream)
{
    char *old = alloc_on(size_bytes, stream);
    while ((size_bytes += size_bytes / 32) <= last_bytes) {
        char *made = alloc_on(size_bytes, stream);
        free_on(old, stream);
        old = made;
    }
    return old;
}

static void creep(void)
{
    free_on(creep_on(FIRST_BYTES, LAST_BYTES, A), A);
}

/* In parts of a hundred of the most in use; units are whole. */
static void expect_held_max(size_t parts)
{
    assert_true(backend.held_bytes_max <= stats_of(pool).used_bytes_max / 100 * parts + UNIT);
}

/* --- in proportion ------------------------------------------------------------------------------ */

static void creeping_sizes_hold_little_more_than_is_used(void **state)
{
    create();
    creep();
    expect_held_max(125);
    assert_true(count_unmaps(TEST_CALL_RANGE_UNMAP_IDLE) > 0);
    assert_int_equal(count_unmaps(TEST_CALL_RANGE_UNMAP), 0);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 0);
    assert_int_equal(destroyed_count, count_unmaps(TEST_CALL_RANGE_UNMAP_IDLE));
}

static void a_small_pool_is_let_be(void **state)
{
    create();
    free_one(creep_on(KIB, UNIT, A));
    assert_int_equal(destroyed_count, 0);
}

/* What the program holds as its first step is beside the bound. */
static void the_initial_size_stays(void **state)
{
    options.initial_bytes = 64 * UNIT;
    create();
    char *kept = alloc(UNIT), *first = alloc(31 * UNIT), *second = alloc(UNIT);
    alloc(30 * UNIT);
    free_one(first);
    free_one(kept);
    alloc(33 * UNIT);
    assert_int_equal(destroyed_count, 0);
    free_one(second);
}

static void the_same_again_calls_nobody(void **state)
{
    create();
    checks_every_step = false;
    for (unsigned i = 0; i < 8; i++)
        creep();
    unsigned maps = backend.call_counts[TEST_CALL_RANGE_MAP], unmaps = destroyed_count;
    for (unsigned i = 0; i < 8; i++)
        creep();
    assert_int_equal(backend.call_counts[TEST_CALL_RANGE_MAP], maps);
    assert_int_equal(destroyed_count, unmaps);
    expect_held_max(135);
}

/* A request that no pool could serve is no need of the program's. */
static void a_request_that_fails_raises_no_bound(void **state)
{
    create();
    checks_every_step = false;
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 1023 * UNIT + 1024 * UNIT);
    backend.capacity_bytes = 900 * UNIT;
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 901 * UNIT);
    backend.capacity_bytes = backend.held_bytes_max = 0;
    creep();
    expect_held_max(125);
}

/* The lowest first, and none of those in which the request is to lie. */
static void steps_in_the_place_stay(void **state)
{
    create();
    char *blocks[8];
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = alloc(4 * UNIT);
    free_one(blocks[0]);
    free_one(blocks[2]);
    free_one(blocks[7]);
    unsigned maps = backend.call_counts[TEST_CALL_RANGE_MAP];
    assert_ptr_equal(alloc(18 * UNIT), blocks[7]);
    /* 32 are held, of 20 in use; 14 are missing: 45 may be. */
    assert_int_equal(backend.call_counts[TEST_CALL_RANGE_MAP] - maps, 14);
    assert_int_equal(destroyed_count, 0);
    free_one(blocks[6]);
    assert_ptr_equal(alloc(6 * UNIT), (char *)blocks[7] + 18 * UNIT);
    assert_in_range(destroyed_count, 1, 8);
    assert_ptr_equal(first_gone, blocks[0]);
}

/* --- work that is under way --------------------------------------------------------------------- */

static void while_the_device_works_steps_stay_up_to_the_second_bound(void **state)
{
    create();
    backend.completes_after = 0;
    creep();
    expect_held_max(135);
    assert_int_equal(count_unmaps(TEST_CALL_RANGE_UNMAP_IDLE), 0);
    assert_true(count_unmaps(TEST_CALL_RANGE_UNMAP) > 0);
}

static void without_such_an_operation_the_second_bound_holds(void **state)
{
    backend.has_idle_unmaps = false;
    open_backend();
    create();
    creep();
    expect_held_max(135);
    assert_true(count_unmaps(TEST_CALL_RANGE_UNMAP) > 0);
}

static void a_table_may_end_before_the_operation(void **state)
{
    backend.operations.struct_bytes = offsetof(tarn_backend_operations, range_unmap_idle);
    create();
    creep();
    expect_held_max(135);
    assert_int_equal(count_unmaps(TEST_CALL_RANGE_UNMAP_IDLE), 0);
}

/* Memory that waits for a stream stays, and goes once its work is known to be done. No request fits into a part of it. */
static void with_streams_only_what_waits_for_nothing_goes_at_once(void **state)
{
    char *blocks[10];
    create();
    backend.completes_after = 0;
    for (unsigned i = 0; i < 10; i++) {
        blocks[i] = alloc_on(4 * UNIT, B);
        alloc_on(UNIT, A);
    }
    alloc_on(16 * UNIT, A);
    for (unsigned i = 0; i < 10; i++)
        free_on(blocks[i], B);
    alloc_on(14 * UNIT, A); /* within the first bound */
    alloc_on(6 * UNIT, A);  /* between the two */
    assert_int_equal(destroyed_count, 0);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 0);
    /* Beyond the second: after one wait for the device nothing waits any more. */
    alloc_on(7 * UNIT, A);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 1);
    assert_true(count_unmaps(TEST_CALL_RANGE_UNMAP_IDLE) > 0);
    assert_int_equal(count_unmaps(TEST_CALL_RANGE_UNMAP), 0);
    expect_held_max(135);
}

static void during_a_capture_no_step_goes(void **state)
{
    create();
    tarn_capture capture = 0;
    free_on(creep_on(FIRST_BYTES, LAST_BYTES / 2, A), A);
    expect_ok(tarn_capture_begin(pool, B, &capture));
    unsigned before = destroyed_count;
    free_on(creep_on(FIRST_BYTES, LAST_BYTES, A), A);
    assert_int_equal(destroyed_count, before);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
}

/* --- steps that cannot go ----------------------------------------------------------------------- */

static uint64_t held_id;

static void hold_the_first(void *user, void *base, size_t size_bytes, uint64_t id)
{
    if (created_count++ == 0) held_id = id;
}

static void refuse_the_held(void *user, void *base, size_t size_bytes, uint64_t id)
{
    assert_int_not_equal(id, held_id);
    destroyed_count++;
}

static void held_steps_stay(void **state)
{
    options.on_static_pool_created = hold_the_first;
    options.on_static_pool_destroyed = refuse_the_held;
    create();
    char *first = alloc(UNIT);
    expect_ok(tarn_static_pool_hold(pool, held_id));
    free_one(first);
    creep();
    assert_true(destroyed_count > 0);
    expect_ok(tarn_static_pool_unhold(pool, held_id));
    held_id = 0;
}

/* The pool goes on counting what the vendor keeps, uses it or tries again. */
static void the_vendor_may_keep_steps(void **state)
{
    static const enum test_call calls[] = { TEST_CALL_RANGE_UNMAP_IDLE, TEST_CALL_RANGE_UNMAP };
    for (unsigned i = 0; i < 2; i++) {
        backend.has_idle_unmaps = i == 0;
        open_backend();
        create();
        backend.call_failure = TARN_STATUS_VENDOR_ERROR;
        backend.fail_call_at[calls[i]] = 2;
        backend.fail_call_count = 3;
        creep();
        assert_int_equal(stats_of(pool).vendor_refusal_count, 3);
        assert_int_equal(backend.held_bytes, held_bytes());
        trim(0);
        assert_int_equal(held_bytes(), 0);
        destroy();
    }
}

/* Of a limit nothing is lost to steps in the wrong places. */
static void a_limit_is_used(void **state)
{
    create();
    size_t most = stats_of(pool).used_bytes_max;
    creep();
    most = stats_of(pool).used_bytes_max;
    options.limit_bytes = most / 3 * 4 / UNIT * UNIT;
    create_anew();
    creep();
    assert_true(backend.held_bytes_max <= options.limit_bytes);
    /* A request that the limit forbids moves nothing. */
    char *kept = alloc(UNIT);
    size_t held = held_bytes();
    expect_refused(TARN_STATUS_OVER_LIMIT, options.limit_bytes);
    assert_int_equal(held_bytes(), held);
    free_one(kept);
}

/* New arrays that are larger than the old ones, with a small block that lasts at each step, until there is no memory. */
static void creep_to_the_end(tarn_status expected, size_t most_bytes)
{
    size_t size_bytes = 4 * UNIT;
    void *old = alloc(size_bytes), *made;
    tarn_status status;
    checks_every_step = false;
    do {
        size_bytes += size_bytes / 32;
        status = tarn_pool_alloc(pool, size_bytes, &made);
        if (status != TARN_STATUS_OK) break;
        free_one(old);
        old = made;
        alloc(4 * KIB);
    } while (size_bytes < most_bytes);
    assert_int_equal(status, expected);
    assert_true(stats_of(pool).used_bytes + size_bytes > most_bytes / 4 * 3);
    assert_true(backend.held_bytes_max <= most_bytes);
}

static void memory_ends_only_when_most_of_it_is_used(void **state)
{
    for (size_t most = 64 * UNIT; most <= 512 * UNIT; most += 37 * UNIT) {
        backend.total_bytes = most;
        options.limit_bytes = 0;
        backend.held_bytes_max = 0;
        create();
        creep_to_the_end(TARN_STATUS_OUT_OF_MEMORY, most);
        destroy();
        backend.total_bytes = 1024 * UNIT;
        options.limit_bytes = most;
        backend.held_bytes_max = 0;
        create();
        creep_to_the_end(TARN_STATUS_OVER_LIMIT, most);
        destroy();
    }
}

/* --- the user and the host ---------------------------------------------------------------------- */

static bool ends; /* the test does */

/* A function that is told of a step that goes allocates. */
static void allocate_inside(void *user, void *base, size_t size_bytes, uint64_t id)
{
    static bool is_inside;
    destroyed_count++;
    if (is_inside || ends) return;
    is_inside = true;
    void *address;
    if (tarn_pool_alloc(pool, 3 * UNIT, &address) == TARN_STATUS_OK)
        expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_check(pool));
    is_inside = false;
}

static void a_function_that_is_told_may_allocate(void **state)
{
    options.on_static_pool_destroyed = allocate_inside;
    create();
    creep();
    ends = true;
    assert_true(destroyed_count > 0);
    expect_held_max(135);
}

static void each_host_allocation_may_fail(void **state)
{
    checks_every_step = false;
    for (unsigned n = 1;; n++) {
        host_memory_faults_begin(n);
        bool is_well = tarn_pool_create(&options, &pool) == TARN_STATUS_OK;
        void *old = NULL;
        for (size_t size = FIRST_BYTES; is_well && size <= LAST_BYTES; size += size / 8) {
            void *made = NULL;
            if (tarn_pool_alloc(pool, size, &made) != TARN_STATUS_OK) continue;
            if (old) expect_ok(tarn_pool_free(pool, old));
            old = made;
        }
        if (is_well) {
            expect_ok(tarn_pool_check(pool));
            destroy();
        }
        pool = NULL;
        expect_nothing_left();
        if (!host_memory_faults_end()) break;
    }
}

static void arenas_give_their_free_memory_back_first(void **state)
{
    create();
    warm_up();
    want_arenas();
    creep();
    expect_held_max(135);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_lean, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(creeping_sizes_hold_little_more_than_is_used),
        TEST(a_small_pool_is_let_be),
        TEST(the_initial_size_stays),
        TEST(the_same_again_calls_nobody),
        TEST(a_request_that_fails_raises_no_bound),
        TEST(steps_in_the_place_stay),
        TEST(while_the_device_works_steps_stay_up_to_the_second_bound),
        TEST(without_such_an_operation_the_second_bound_holds),
        TEST(a_table_may_end_before_the_operation),
        TEST(with_streams_only_what_waits_for_nothing_goes_at_once),
        TEST(during_a_capture_no_step_goes),
        TEST(held_steps_stay),
        TEST(the_vendor_may_keep_steps),
        TEST(a_limit_is_used),
        TEST(memory_ends_only_when_most_of_it_is_used),
        TEST(a_function_that_is_told_may_allocate),
        TEST(each_host_allocation_may_fail),
        TEST(arenas_give_their_free_memory_back_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
