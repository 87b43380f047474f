/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_devices: process-wide pools on two simulated devices. Memory comes from the current device, and goes back to the
 * device that it is of. Ranks spread and share as the launcher tells. Where threads have no current device, as with
 * Level Zero, device 0 serves all that names none.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness/child.h"
#include "harness/claims.h"
#include "sim_control.h"
#include "sim_vendor.h"
#include "tarn/tarn.h"

#define MIB ((size_t)1 << 20)

static const char *const variables[] = { "TARN_DEVICE", "TARN_KIND", "TARN_LIMIT", "TARN_INITIAL",
                                         "OMPI_COMM_WORLD_LOCAL_SIZE" };

static int set_up(void **state)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    sim_reset();
    if (sim_vendor.set_current_device) sim_vendor.set_current_device(0);
    return 0;
}

static int tear_down(void **state)
{
    set_up(state);
    expect_ok(tarn_default_pool_configure(NULL));
    return 0;
}

static bool has_current_device(void)
{
    return sim_vendor.set_current_device != NULL;
}

static void make_current(int device)
{
    if (has_current_device()) sim_vendor.set_current_device(device);
}

/* The device that serves a thread which has made `device` current. */
static int serving(int device)
{
    return has_current_device() ? device : 0;
}

static size_t held(int device)
{
    return sim_held_bytes(device, SIM_MEMORY_KIND_DEVICE);
}

static void *allocate(size_t size_bytes)
{
    void *address;
    expect_ok(tarn_malloc(size_bytes, &address));
    return address;
}

static tarn_pool *pool_of(int device, tarn_memory_kind kind)
{
    tarn_pool *pool;
    expect_ok(tarn_device_pool(device, kind, &pool));
    return pool;
}

/* --- following the current device ----------------------------------------------------------------- */

static void memory_comes_from_the_current_device(void **state)
{
    if (!has_current_device()) skip();
    void *first, *second, *again;
    first = allocate(1000);
    assert_true(held(0) > 0);
    assert_int_equal(held(1), 0);
    make_current(1);
    second = allocate(1000);
    assert_true(held(1) > 0);
    make_current(0);
    again = allocate(2000);
    tarn_pool *pool;
    expect_ok(tarn_default_pool(&pool));
    assert_ptr_equal(pool, pool_of(0, TARN_MEMORY_KIND_DEVICE));
    assert_int_equal(stats_of(pool).live_count, 2);
    assert_int_equal(stats_of(pool_of(1, TARN_MEMORY_KIND_DEVICE)).live_count, 1);

    expect_ok(tarn_free(second));
    make_current(1);
    expect_ok(tarn_free(first));
    expect_ok(tarn_free(again));
    assert_int_equal(sim_vendor.current_device(), 1);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_free(first));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_free(&first));
    expect_ok(tarn_default_pool_destroy());
    assert_int_equal(held(0) + held(1), 0);
}

static void a_variable_overrides_the_current_device(void **state)
{
    setenv("TARN_DEVICE", "1", 1);
    void *address = allocate(1000);
    assert_true(held(1) > 0);
    assert_int_equal(held(0), 0);
    assert_int_equal(stats_of(pool_of(1, TARN_MEMORY_KIND_DEVICE)).live_count, 1);
    expect_ok(tarn_free(address));
    expect_ok(tarn_default_pool_destroy());

    unsetenv("TARN_DEVICE");
    address = allocate(1000);
    assert_true(held(0) > 0);
    expect_ok(tarn_free(address));
    expect_ok(tarn_default_pool_destroy());
}

static void a_pool_of_ones_own_is_on_the_current_device(void **state)
{
    tarn_pool *pool;
    make_current(1);
    expect_ok(tarn_pool_create(NULL, &pool));
    void *address = new_block(pool, 1000);
    assert_true(held(serving(1)) > 0);
    assert_int_equal(held(1 - serving(1)), 0);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_destroy(pool));
}

static void the_environment_places_a_pool_that_asks_for_it(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    tarn_pool *pool;
    setenv("TARN_DEVICE", "1", 1);
    setenv("TARN_LIMIT", "8M", 1);
    options.reads_environment = true;
    options.limit_bytes = MIB;
    expect_ok(tarn_pool_create(&options, &pool));
    void *address = new_block(pool, 5 * MIB);
    assert_true(held(1) > 0);
    assert_int_equal(held(0), 0);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 9 * MIB, &address));
    expect_ok(tarn_pool_destroy_forced(pool, NULL));

    setenv("TARN_DEVICE", "7", 1);
    expect_status(TARN_STATUS_INVALID_DEVICE, tarn_pool_create(&options, &pool));
    expect_message("; set in the environment: TARN_LIMIT, TARN_DEVICE");
    options.reads_environment = false;
    expect_ok(tarn_pool_create(&options, &pool));
    expect_ok(tarn_pool_destroy(pool));
}

static void each_kind_has_a_pool(void **state)
{
    tarn_pool *pinned = pool_of(TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_PINNED);
    assert_ptr_equal(pinned, pool_of(0, TARN_MEMORY_KIND_PINNED));
    assert_ptr_not_equal(pinned, pool_of(0, TARN_MEMORY_KIND_DEVICE));
    assert_ptr_equal(pool_of(0, TARN_MEMORY_KIND_HOST), pool_of(1, TARN_MEMORY_KIND_HOST));
    void *of_host = new_block(pinned, 1000), *of_device = allocate(1000);
    memset(of_host, 1, 1000);
    expect_ok(tarn_free(of_host));
    expect_ok(tarn_free(of_device));
    tarn_pool *none = pinned;
    expect_status(TARN_STATUS_INVALID_DEVICE, tarn_device_pool(2, TARN_MEMORY_KIND_DEVICE, &none));
    expect_status(TARN_STATUS_INVALID_DEVICE, tarn_device_pool(-2, TARN_MEMORY_KIND_DEVICE, &none));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_device_pool(0, (tarn_memory_kind)9, &none));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_device_pool(0, TARN_MEMORY_KIND_DEVICE, NULL));
    assert_ptr_equal(none, pinned);
    expect_ok(tarn_default_pool_destroy());
}

static void the_vendors_devices_are_told(void **state)
{
    int count = 0, current = -1;
    expect_ok(tarn_backend_device_count(&count));
    assert_int_equal(count, 2);
    make_current(1);
    expect_ok(tarn_backend_current_device(&current));
    assert_int_equal(current, serving(1));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_backend_device_count(NULL));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_backend_current_device(NULL));
    sim_settings settings = sim_get_settings();
    settings.device_count = 0;
    sim_set_settings(&settings);
    expect_status(TARN_STATUS_NO_DEVICE, tarn_backend_device_count(&count));
    assert_int_equal(count, 2);
}

/* --- streams --------------------------------------------------------------------------------------- */

static void a_stream_serves_the_device_that_it_is_of(void **state)
{
    tarn_backend backend;
    tarn_stream stream;
    void *address, *again;
    make_current(1);
    expect_ok(tarn_backend_open(TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_DEVICE, &backend));
    expect_done(backend, stream_create, &stream);
    expect_ok(tarn_malloc_on(1000, stream, &address));
    expect_ok(tarn_free_on(address, stream));
    expect_ok(tarn_malloc_on(1000, stream, &again));
    assert_ptr_equal(again, address);
    make_current(0);
    expect_ok(tarn_free_on(again, stream));
    if (has_current_device() && sim_vendor.tells_streams_apart && sim_vendor.tells_streams_apart())
        expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_malloc_on(1000, stream, &address));
    expect_ok(tarn_stream_retire(stream));
    expect_done(backend, stream_destroy, stream);
    expect_ok(tarn_default_pool_destroy());
    tarn_backend_close(&backend);
}

/* --- threads --------------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    int device;
    void **given; /* allocated by the other thread */
    void *own[100];
    pthread_barrier_t *barrier;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    make_current(worker->device);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 100; i++)
            if (tarn_malloc((size_t)1 << (i % 17), &worker->own[i]) != TARN_STATUS_OK) return NULL;
        pthread_barrier_wait(worker->barrier);
        for (int i = 0; i < 100; i++)
            if (tarn_free(worker->given[i]) != TARN_STATUS_OK) return NULL;
        pthread_barrier_wait(worker->barrier);
    }
    return worker;
}

static void each_thread_has_its_device_and_may_free_for_another(void **state)
{
    pthread_barrier_t barrier;
    struct worker workers[2] = { { .device = 0 }, { .device = 1 } };
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    for (int i = 0; i < 2; i++) {
        workers[i].barrier = &barrier;
        workers[i].given = workers[1 - i].own;
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(workers[i].thread, &result);
        assert_non_null(result);
    }
    pthread_barrier_destroy(&barrier);
    for (int device = 0; device <= serving(1); device++) {
        tarn_pool *pool = pool_of(device, TARN_MEMORY_KIND_DEVICE);
        expect_ok(tarn_pool_check(pool));
        assert_int_equal(stats_of(pool).live_count, 0);
        assert_int_equal(stats_of(pool).failed_count, 0);
    }
    expect_ok(tarn_default_pool_destroy());
}

/* --- ranks ------------------------------------------------------------------------------------------ */

/* A rank of a program that sets its device as such programs do, and configures nothing else. */
static void run_rank(void *argument)
{
    int rank = *(int *)argument, device_count = sim_get_settings().device_count;
    void *address;
    tarn_pool *pool;
    int device = serving(rank % device_count);
    size_t ranks_on_device = (size_t)(4 / device_count);
    make_current(rank % device_count);
    CHILD_EXPECT(tarn_malloc(1000, &address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_default_pool(&pool) == TARN_STATUS_OK);
    tarn_stats stats = TARN_STATS_INIT;
    CHILD_EXPECT(tarn_pool_stats(pool, &stats) == TARN_STATUS_OK);
    CHILD_EXPECT(stats.footprint_bytes <= TARN_INITIAL_BYTES_DEFAULT / ranks_on_device);
    CHILD_EXPECT(stats.footprint_bytes > TARN_INITIAL_BYTES_DEFAULT / ranks_on_device / 2);
    CHILD_EXPECT(held(device) > 0);
    CHILD_EXPECT(device_count == 1 || held(1 - device) == 0);
    CHILD_EXPECT(tarn_free(address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
}

static void four_ranks_spread_over_the_devices_and_share_each(void **state)
{
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
    for (int device_count = 1; device_count <= 2; device_count++) {
        sim_settings settings = sim_get_settings();
        settings.device_count = device_count;
        sim_set_settings(&settings);
        for (int rank = 0; rank < 4; rank++)
            expect_in_child(run_rank, &rank);
    }
}

static void ranks_share_what_options_of_a_pool_say(void **state)
{
    static const unsigned counts[] = { 0, 1, 2, 4, TARN_RANKS_BY_LAUNCHER };
    static const size_t shares[] = { 1, 1, 2, 4, 4 }; /* eight ranks on two devices */
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "8", 1);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
        options.rank_count = counts[i];
        options.initial_bytes = 32 * MIB;
        options.growth_bytes_max = 64 * MIB;
        options.growth_factor = 100;
        options.limit_percent = 50;
        tarn_pool *pool;
        expect_ok(tarn_pool_create(&options, &pool));
        (void)new_block(pool, 1);
        assert_int_equal(stats_of(pool).footprint_bytes, 32 * MIB / shares[i]);
        (void)new_block(pool, 32 * MIB / shares[i]);
        assert_int_equal(stats_of(pool).footprint_bytes, 96 * MIB / shares[i]);
        void *address;
        size_t limit = sim_get_settings().memory_bytes / 2 / shares[i];
        expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, limit, &address));
        (void)new_block(pool, limit / 2);
        expect_ok(tarn_pool_destroy_forced(pool, NULL));
    }
}

static void a_limit_in_bytes_is_each_ranks_own(void **state)
{
    void *address;
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "8", 1);
    setenv("TARN_LIMIT", "8M", 1);
    address = allocate(6 * MIB);
    expect_ok(tarn_free(address));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_malloc(9 * MIB, &address));
    expect_ok(tarn_default_pool_destroy());
}

/* --- options and the end --------------------------------------------------------------------------- */

static void options_are_set_before_the_first_use(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    char name[] = "mesh";
    options.initial_bytes = 2 * MIB;
    options.name = name;
    expect_ok(tarn_default_pool_configure(&options));
    memset(name, 'x', 4);
    void *address = allocate(1);
    tarn_pool *pool;
    expect_ok(tarn_default_pool(&pool));
    assert_int_equal(stats_of(pool).footprint_bytes, 2 * MIB);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_default_pool_configure(&options));
    expect_message("already");
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_abandon(pool));
    expect_ok(tarn_free(address));
    expect_ok(tarn_default_pool_destroy());

    setenv("TARN_INITIAL", "4M", 1);
    address = allocate(1);
    expect_ok(tarn_default_pool(&pool));
    assert_int_equal(stats_of(pool).footprint_bytes, 4 * MIB);
    expect_ok(tarn_free(address));
    expect_ok(tarn_default_pool_destroy());

    options.growth_factor = 0;
    expect_status(TARN_STATUS_INVALID_OPTIONS, tarn_default_pool_configure(&options));
    options.growth_factor = 2;
    tarn_backend backend = { NULL, NULL };
    expect_ok(tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend));
    options.backend = &backend;
    expect_status(TARN_STATUS_INVALID_OPTIONS, tarn_default_pool_configure(&options));
    tarn_backend_close(&backend);
}

static void all_pools_end_or_none(void **state)
{
    make_current(0);
    void *address = allocate(1000), *pinned;
    pinned = new_block(pool_of(0, TARN_MEMORY_KIND_PINNED), 500);
    expect_ok(tarn_free(address));
    expect_status(TARN_STATUS_LIVE_REGIONS, tarn_default_pool_destroy());
    assert_true(held(0) > 0);
    expect_ok(tarn_free(pinned));
    expect_ok(tarn_default_pool_destroy());
    assert_int_equal(held(0), 0);
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_free(address));
}

static void a_forced_end_reports_and_gives_back(void **state)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    tarn_leaks leaks = TARN_LEAKS_INIT;
    (void)allocate(1000);
    (void)new_block(pool_of(0, TARN_MEMORY_KIND_PINNED), 500);
    (void)pool_of(1, TARN_MEMORY_KIND_DEVICE);
    leaks.struct_bytes--;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_default_pool_destroy_forced(file, &leaks));
    assert_true(held(0) > 0);
    leaks.struct_bytes++;
    expect_ok(tarn_default_pool_destroy_forced(file, &leaks));
    fclose(file);
    assert_int_equal(leaks.allocation_count, 2);
    assert_int_equal(leaks.requested_bytes, 1500);
    assert_non_null(strstr(text, "1000 bytes"));
    assert_non_null(strstr(text, "500 bytes"));
    free(text);
    assert_int_equal(held(0), 0);
    assert_int_equal(sim_held_bytes(0, SIM_MEMORY_KIND_PINNED), 0);
    expect_ok(tarn_default_pool_destroy_forced(NULL, NULL));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(
            four_ranks_spread_over_the_devices_and_share_each), /* first: forks before the vendor is used */
        CASE(memory_comes_from_the_current_device),
        CASE(a_variable_overrides_the_current_device),
        CASE(a_pool_of_ones_own_is_on_the_current_device),
        CASE(the_environment_places_a_pool_that_asks_for_it),
        CASE(each_kind_has_a_pool),
        CASE(the_vendors_devices_are_told),
        CASE(a_stream_serves_the_device_that_it_is_of),
        CASE(each_thread_has_its_device_and_may_free_for_another),
        CASE(ranks_share_what_options_of_a_pool_say),
        CASE(a_limit_in_bytes_is_each_ranks_own),
        CASE(options_are_set_before_the_first_use),
        CASE(all_pools_end_or_none),
        CASE(a_forced_end_reports_and_gives_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
