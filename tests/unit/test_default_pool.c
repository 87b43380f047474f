/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The process-wide pool: created on first use, from the environment, and destroyed on request. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"

/* These tests run on the backend that tarn was built for; without a device there is nothing to do. */
static int start_without_a_pool(void **state)
{
    static const char *const variables[] = {
        "TARN_INITIAL",   "TARN_LIMIT",  "TARN_GROWTH",    "TARN_CHUNK",        "TARN_DEVICE",
        "TARN_RANKS",     "TARN_VANISH", "TARN_KIND",      "TARN_DISABLE",      "TARN_CONTIGUOUS",
        "TARN_SHAREABLE", "TARN_SLICES", "TARN_ALIGNMENT", "TARN_ZERO_ADDRESS", "TARN_PRESET",
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    return tarn_default_pool_destroy() == TARN_STATUS_OK ? 0 : -1;
}

static tarn_pool *default_pool(void)
{
    tarn_pool *pool;
    expect_ok(tarn_default_pool(&pool));
    return pool;
}

static void *allocate(size_t size_bytes)
{
    void *address;
    expect_ok(tarn_malloc(size_bytes, &address));
    return address;
}

static tarn_memory_info memory_of_device(void)
{
    tarn_backend backend;
    tarn_memory_info info;
    expect_ok(tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend));
    expect_done(backend, query_memory, &info);
    tarn_backend_close(&backend);
    return info;
}

static bool has_device(void)
{
    tarn_pool *pool;
    bool is_there = tarn_default_pool(&pool) != TARN_STATUS_NO_DEVICE;
    expect_ok(tarn_default_pool_destroy());
    return is_there;
}

static void is_created_by_the_first_malloc(void **state)
{
    if (!has_device()) skip();
    void *address = allocate(1000);
    assert_int_equal((uintptr_t)address % 256, 0);
    tarn_pool *pool = default_pool(), *again = default_pool();
    assert_ptr_equal(pool, again);
    assert_int_equal(stats_of(pool).live_count, 1);
    assert_int_equal(stats_of(pool).footprint_bytes, TARN_INITIAL_BYTES_DEFAULT);
    expect_status(TARN_STATUS_LIVE_REGIONS, tarn_default_pool_destroy());
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_destroy(pool));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_destroy_forced(pool, NULL));
    expect_message("tarn_default_pool_destroy");
    expect_ok(tarn_free(address));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_free(address));
    expect_ok(tarn_default_pool_destroy());
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_check(pool));
}

static void is_disabled_by_the_environment(void **state)
{
    if (!has_device()) skip();
    setenv("TARN_DISABLE", "1", 1);
    void *one = allocate(1000), *other = allocate(3);
    tarn_pool *pool = default_pool();
    assert_int_equal(stats_of(pool).footprint_bytes, 1003);
    assert_int_equal(stats_of(pool).static_pool_count, 2);
    expect_ok(tarn_free(one));
    assert_int_equal(stats_of(pool).footprint_bytes, 3);
    expect_ok(tarn_free(other));
    assert_int_equal(stats_of(pool).vendor_free_count, 2);
    expect_ok(tarn_default_pool_destroy());
    setenv("TARN_DISABLE", "maybe", 1);
    expect_status(TARN_STATUS_INVALID_ENVIRONMENT, tarn_malloc(1000, &one));
    expect_message("TARN_DISABLE");
}

static void is_shareable_by_the_environment(void **state)
{
    setenv("TARN_CONTIGUOUS", "1", 1);
    setenv("TARN_SHAREABLE", "1", 1);
    tarn_pool *pool;
    void *address;
    tarn_status created = tarn_default_pool(&pool);
    if (created == TARN_STATUS_NO_DEVICE || created == TARN_STATUS_NOT_SUPPORTED) skip();
    expect_ok(created);
    address = allocate(1000);
    tarn_exported_step step = TARN_EXPORTED_STEP_INIT;
    expect_ok(tarn_pool_export(pool, address, &step));
    close(step.file_descriptor);
    expect_ok(tarn_free(address));
}

static void may_be_abandoned_and_created_anew(void **state)
{
    if (!has_device()) skip();
    tarn_pool *pool, *other;
    void *address = allocate(1000);
    pool = default_pool();
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_abandon(pool));
    expect_message("tarn_default_pool_abandon");
    expect_ok(tarn_default_pool_abandon());
    expect_ok(tarn_default_pool_abandon());
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_check(pool));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_free(address));
    address = allocate(1000);
    other = default_pool();
    assert_ptr_not_equal(pool, other);
    expect_ok(tarn_free(address));
}

static void freeing_before_there_is_a_pool_creates_none(void **state)
{
    expect_ok(tarn_free(NULL));
    int on_the_stack;
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_free(&on_the_stack));
    tarn_pool *other;
    if (tarn_pool_create(NULL, &other) != TARN_STATUS_OK) return;
    void *address = new_block(other, 1);
    expect_status(TARN_STATUS_WRONG_POOL, tarn_free(address));
    expect_ok(tarn_pool_destroy_forced(other, NULL));
    expect_ok(tarn_default_pool_destroy());
}

static void takes_its_options_from_the_environment(void **state)
{
    if (!has_device()) skip();
    setenv("TARN_INITIAL", "3M", 1);
    setenv("TARN_LIMIT", "8M", 1);
    setenv("TARN_GROWTH", "1", 1);
    setenv("TARN_CHUNK", "4K", 1);
    setenv("TARN_DEVICE", "0", 1);
    void *address, *more;
    address = allocate(1);
    tarn_pool *pool = default_pool();
    assert_int_equal(stats_of(pool).used_bytes, 4096);
    assert_in_range(stats_of(pool).footprint_bytes, (size_t)3 << 20, (size_t)4 << 20);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_malloc((size_t)7 << 20, &more));
    expect_ok(tarn_free(address));
}

static void a_limit_may_be_per_cent_of_the_device(void **state)
{
    if (!has_device()) skip();
    tarn_memory_info info = memory_of_device();
    setenv("TARN_LIMIT", "1%", 1);
    void *address;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_malloc(info.total_bytes / 50, &address));
    address = allocate(info.total_bytes / 200);
    expect_ok(tarn_free(address));
}

static void ranks_that_share_the_device_share_the_percentage(void **state)
{
    if (!has_device()) skip();
    tarn_memory_info info = memory_of_device();
    setenv("TARN_LIMIT", "4%", 1);
    setenv("TARN_RANKS", "4", 1);
    void *address;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_malloc(info.total_bytes / 50, &address));
    address = allocate(info.total_bytes / 200);
    expect_ok(tarn_free(address));
}

/* A thousandth, so that no test machine runs out. */
static void ranks_share_all_there_is(void **state)
{
    if (!has_device()) skip();
    setenv("TARN_INITIAL", "all", 1);
    setenv("TARN_RANKS", "1000", 1);
    tarn_memory_info info = memory_of_device();
    void *address = allocate(1);
    tarn_pool *pool = default_pool();
    assert_in_range(stats_of(pool).footprint_bytes, 1, info.total_bytes / 1000);
    setenv("TARN_LIMIT", "1M", 1);
    expect_ok(tarn_free(address));
    expect_ok(tarn_default_pool_destroy());
    address = allocate(1);
    pool = default_pool();
    assert_in_range(stats_of(pool).footprint_bytes, 1, (size_t)1 << 20);
    expect_ok(tarn_free(address));
}

static void small_requests_have_slices_unless_told_otherwise(void **state)
{
    if (!has_device()) skip();
    for (int slices = 0; slices < 2; slices++) {
        setenv("TARN_SLICES", slices ? "1" : "0", 1);
        void *first, *second;
        tarn_pool *pool;
        first = allocate(8);
        second = allocate(8);
        pool = default_pool();
        assert_int_equal(stats_of(pool).used_bytes, slices ? 1024 : 2048);
        expect_ok(tarn_free(first));
        expect_ok(tarn_free(second));
        expect_ok(tarn_default_pool_destroy());
    }
}

static void may_vanish_with_the_last_free(void **state)
{
    if (!has_device()) skip();
    setenv("TARN_VANISH", "1", 1);
    void *address;
    tarn_pool *pool;
    address = allocate(1);
    pool = default_pool();
    assert_int_equal(stats_of(pool).footprint_bytes, TARN_INITIAL_BYTES_DEFAULT);
    expect_ok(tarn_free(address));
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    address = allocate(1);
    expect_ok(tarn_free(address));
}

/* The messages about options and devices are written for programs, which know no variables. */
static void what_is_refused_names_the_variables(void **state)
{
    if (!has_device()) skip();
    void *address;
    setenv("TARN_DEVICE", "100000", 1);
    setenv("TARN_VANISH", "1", 1);
    expect_status(TARN_STATUS_INVALID_DEVICE, tarn_malloc(1, &address));
    expect_message("; set in the environment: TARN_VANISH, TARN_DEVICE");
    unsetenv("TARN_DEVICE");
    unsetenv("TARN_VANISH");
    setenv("TARN_LIMIT", "1%", 1);
    setenv("TARN_RANKS", "2000000000", 1);
    expect_status(TARN_STATUS_INVALID_OPTIONS, tarn_malloc(1, &address));
    expect_message("; set in the environment: TARN_LIMIT, TARN_RANKS");
    unsetenv("TARN_LIMIT");
    unsetenv("TARN_RANKS");
    setenv("TARN_SHAREABLE", "1", 1);
    expect_status(TARN_STATUS_INVALID_ENVIRONMENT, tarn_malloc(1, &address));
    expect_message("TARN_SHAREABLE is 1, but TARN_CONTIGUOUS is not");
}

/* The one kind that there is with every vendor, and without a device; and writable here. */
static void may_be_of_host_memory(void **state)
{
    setenv("TARN_KIND", "host", 1);
    setenv("TARN_DEVICE", "9999", 1);
    void *address = allocate(1000);
    memset(address, 1, 1000);
    expect_ok(tarn_free(address));
}

/* Without a vendor the host serves all of them. */
static void may_be_of_each_kind_without_a_device(void **state)
{
    static const char *const kinds[] = { "device", "pinned", "shared", "host" };
    if (strcmp(tarn_backend_name(), "host") != 0) skip();
    for (int kind = 0; kind <= TARN_MEMORY_KIND_HOST; kind++) {
        tarn_backend backend;
        tarn_device_properties properties;
        setenv("TARN_KIND", kinds[kind], 1);
        void *address = allocate(1000);
        expect_ok(tarn_pool_get_backend(default_pool(), &backend));
        expect_done(backend, get_properties, &properties);
        assert_int_equal(properties.kind, kind);
        expect_ok(tarn_free(address));
        expect_ok(tarn_default_pool_destroy());
    }
}

static void a_value_that_does_not_parse_is_named_by_every_call(void **state)
{
    setenv("TARN_INITIAL", "lots", 1);
    void *address = &address;
    tarn_pool *pool;
    expect_status(TARN_STATUS_INVALID_ENVIRONMENT, tarn_malloc(1, &address));
    expect_message("TARN_INITIAL is \"lots\"");
    expect_status(TARN_STATUS_INVALID_ENVIRONMENT, tarn_default_pool(&pool));
    assert_ptr_equal(address, &address);
    unsetenv("TARN_INITIAL");
    if (!has_device()) skip();
    address = allocate(1);
    expect_ok(tarn_free(address));
}

static void a_device_that_is_not_there_is_an_error(void **state)
{
    setenv("TARN_DEVICE", "9999", 1);
    void *address;
    tarn_status status = tarn_malloc(1, &address);
    assert_true(status == TARN_STATUS_INVALID_DEVICE || status == TARN_STATUS_NO_DEVICE);
}

static void a_failed_creation_leaves_nothing_behind(void **state)
{
    if (!has_device()) skip();
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        host_memory_faults_begin(n);
        void *address;
        tarn_status status = tarn_malloc(1, &address);
        has_failed = host_memory_faults_end();
        assert_int_equal(status, has_failed ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        if (status == TARN_STATUS_OK) expect_ok(tarn_free(address));
        expect_ok(tarn_default_pool_destroy());
    }
    assert_true(n > 5);
}

static void count_call(void *user, void *base, size_t size_bytes, uint64_t id)
{
    ++*(unsigned *)user;
}

/* Other threads may have got the pool while the function ran. */
static void a_creation_that_fails_after_a_function_has_run_leaves_a_pool_that_works(void **state)
{
    if (!has_device()) skip();
    unsigned told_count = 0, gone_count = 0, late_failure_count = 0;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.takes_initial_at_once = true;
    options.on_static_pool_destroyed = count_call;
    bool has_failed = true;
    for (unsigned n = 1; has_failed; n++) {
        void *address;
        options.on_static_pool_created = n % 2 ? count_call : NULL;
        options.user = n % 2 ? &told_count : &gone_count;
        expect_ok(tarn_default_pool_configure(&options));
        told_count = gone_count = 0;
        host_memory_faults_begin(n);
        tarn_status status = tarn_malloc(1, &address);
        has_failed = host_memory_faults_end();
        bool is_refused = status != TARN_STATUS_OK;
        assert_true(has_failed || !is_refused);
        bool is_gone = is_refused && (told_count == 2 || gone_count == 1);
        if (is_gone) {
            tarn_pool *pool = default_pool();
            late_failure_count++;
            expect_ok(tarn_pool_check(pool));
            assert_int_equal(stats_of(pool).footprint_bytes, 0);
        }
        if (is_refused) expect_ok(tarn_malloc(1, &address));
        expect_ok(tarn_free(address));
        expect_ok(tarn_default_pool_destroy());
    }
    assert_true(late_failure_count > 0);
    expect_ok(tarn_default_pool_configure(NULL));
}

static void null_is_refused(void **state)
{
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_default_pool(NULL));
}

static void *first_use(void *out)
{
    *(tarn_status *)out = tarn_default_pool(&(tarn_pool *){ NULL });
    return NULL;
}

static void threads_that_come_at_once_get_one_pool(void **state)
{
    if (!has_device()) skip();
    pthread_t threads[4];
    tarn_status statuses[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, first_use, &statuses[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(statuses[i], TARN_STATUS_OK);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start_without_a_pool, start_without_a_pool)
    const struct CMUnitTest tests[] = {
        CASE(is_created_by_the_first_malloc),
        CASE(is_disabled_by_the_environment),
        CASE(is_shareable_by_the_environment),
        CASE(may_be_abandoned_and_created_anew),
        CASE(freeing_before_there_is_a_pool_creates_none),
        CASE(takes_its_options_from_the_environment),
        CASE(a_limit_may_be_per_cent_of_the_device),
        CASE(ranks_that_share_the_device_share_the_percentage),
        CASE(ranks_share_all_there_is),
        CASE(small_requests_have_slices_unless_told_otherwise),
        CASE(may_vanish_with_the_last_free),
        CASE(what_is_refused_names_the_variables),
        CASE(may_be_of_host_memory),
        CASE(may_be_of_each_kind_without_a_device),
        CASE(a_value_that_does_not_parse_is_named_by_every_call),
        CASE(a_device_that_is_not_there_is_an_error),
        CASE(a_failed_creation_leaves_nothing_behind),
        CASE(a_creation_that_fails_after_a_function_has_run_leaves_a_pool_that_works),
        CASE(null_is_refused),
        CASE(threads_that_come_at_once_get_one_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
