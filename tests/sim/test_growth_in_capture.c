/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_growth_in_capture: what takes memory does so while a stream is captured into a graph, spoils no
 * capture, and leaves the thread's mode as it was.
 */
#include <pthread.h>
#include <stdbool.h>

#include "harness/claims.h"
#include "sim_control.h"
#include "sim_vendor.h"
#include "tarn/backend.h"

#define MIB ((size_t)1 << 20)

static const tarn_memory_kind kinds[] = { TARN_MEMORY_KIND_DEVICE, TARN_MEMORY_KIND_PINNED,
                                          TARN_MEMORY_KIND_SHARED };
static const sim_capture_mode modes[] = { SIM_CAPTURE_MODE_GLOBAL, SIM_CAPTURE_MODE_THREAD_LOCAL,
                                          SIM_CAPTURE_MODE_RELAXED };

enum {
    KIND_COUNT = sizeof kinds / sizeof *kinds,
    MODE_COUNT = sizeof modes / sizeof *modes
};

static tarn_backend open_backend(int device, tarn_memory_kind kind)
{
    tarn_backend backend;
    if (tarn_backend_open(device, kind, &backend) != TARN_STATUS_OK)
        fail_msg("%s", tarn_last_error().message);
    return backend;
}

static void expect_no_last_error(void)
{
    const char *left = sim_vendor.take_last_error();
    if (left) fail_msg("left %s behind", left);
}

/* The strictest. */
static void begin_capture(void)
{
    assert_true(sim_capture_begin(SIM_CAPTURE_MODE_GLOBAL));
}

static void expect_whole_capture(void)
{
    assert_int_equal(sim_capture_end(), SIM_CAPTURE_VALID);
}

/* Exchanged and set back, since there is no other way to ask. */
static sim_capture_mode thread_mode(void)
{
    sim_capture_mode mode = sim_capture_exchange_mode(SIM_CAPTURE_MODE_GLOBAL);
    sim_capture_exchange_mode(mode);
    return mode;
}

/* Either is the face's. */
static void fail_exchanges(size_t first, size_t count)
{
    sim_fail_calls("cuThreadExchangeStreamCaptureMode", first, count, SIM_STATUS_UNKNOWN);
    sim_fail_calls("hipThreadExchangeStreamCaptureMode", first, count, SIM_STATUS_UNKNOWN);
}

/* --- memory ------------------------------------------------------------------------------------ */

static void acquire_and_query(const tarn_backend *backend, tarn_status acquired)
{
    tarn_memory_info info;
    void *address = NULL;
    begin_capture();
    tarn_backend_result result = backend->operations->acquire(backend->state, MIB, &address);
    assert_int_equal(result.status, acquired);
    expect_done(*backend, query_memory, &info);
    expect_whole_capture();
    expect_no_last_error();
    if (address) expect_done(*backend, release, address, MIB);
}

static void memory_of_each_kind_is_acquired(void **state)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        sim_reset();
        tarn_backend backend = open_backend(0, kinds[i]);
        for (size_t k = 0; k < MODE_COUNT; k++) {
            sim_capture_exchange_mode(modes[k]);
            acquire_and_query(&backend, TARN_STATUS_OK);
            assert_int_equal(thread_mode(), modes[k]);
        }
        tarn_backend_close(&backend);
        assert_int_equal(sim_alive_total(), 0);
    }
}

static void a_failure_sets_the_mode_back_too(void **state)
{
    static const char *const names[] = { "cuMemAlloc", "cuMemHostAlloc", "cuMemAllocManaged",
                                         "hipMalloc",  "hipHostMalloc",  "hipMallocManaged" };
    for (size_t i = 0; i < KIND_COUNT; i++) {
        sim_reset();
        tarn_backend backend = open_backend(0, kinds[i]);
        for (size_t k = 0; k < MODE_COUNT; k++) {
            sim_capture_exchange_mode(modes[k]);
            for (size_t n = 0; n < sizeof names / sizeof *names; n++)
                sim_fail_calls(names[n], 1, 1, SIM_STATUS_OUT_OF_MEMORY);
            acquire_and_query(&backend, TARN_STATUS_OUT_OF_MEMORY);
            assert_int_equal(sim_fault_count(), 1);
            assert_int_equal(thread_mode(), modes[k]);
            sim_forget_faults();
        }
        tarn_backend_close(&backend);
    }
}

/* The runtime's refusal is then all that comes of it, and it does not stay as the last error. */
static void without_an_exchange_the_call_is_made_all_the_same(void **state)
{
    sim_reset();
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE);
    const tarn_backend_operations *operations = backend.operations;
    void *address = NULL;
    sim_capture_exchange_mode(SIM_CAPTURE_MODE_THREAD_LOCAL);
    fail_exchanges(1, 2);
    expect_done(backend, acquire, MIB, &address);
    assert_int_equal(sim_fault_count(), 1); /* what was not changed is not set back */
    assert_int_equal(thread_mode(), SIM_CAPTURE_MODE_THREAD_LOCAL);
    expect_no_last_error();
    begin_capture();
    void *none = NULL;
    tarn_backend_result result = operations->acquire(backend.state, MIB, &none);
    assert_int_equal(result.status, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(result.vendor_code, 900);
    assert_null(none);
    assert_int_equal(sim_capture_end(), SIM_CAPTURE_SPOILT);
    assert_int_equal(thread_mode(), SIM_CAPTURE_MODE_THREAD_LOCAL);
    expect_no_last_error();
    expect_done(backend, release, address, MIB);
    tarn_backend_close(&backend);
}

/* Setting the mode back may fail when the memory is there. */
static void memory_is_acquired_though_the_mode_stays(void **state)
{
    sim_reset();
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE);
    void *address = NULL;
    fail_exchanges(2, 1);
    expect_done(backend, acquire, MIB, &address);
    assert_int_equal(sim_fault_count(), 1);
    expect_no_last_error();
    expect_done(backend, release, address, MIB);
    tarn_backend_close(&backend);
}

/* What waits for the device would wait for the capture. */
static void what_is_given_back_is_refused(void **state)
{
    sim_reset();
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE);
    void *address = NULL;
    expect_done(backend, acquire, MIB, &address);
    begin_capture();
    tarn_backend_result result = backend.operations->release(backend.state, address, MIB);
    assert_int_equal(result.status, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(result.vendor_code, 900);
    assert_int_equal(sim_capture_end(), SIM_CAPTURE_SPOILT);
    expect_no_last_error();
    expect_done(backend, release, address, MIB);
    tarn_backend_close(&backend);
}

static void a_backend_opens(void **state)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        sim_reset();
        begin_capture();
        tarn_backend backend = open_backend(0, kinds[i]);
        expect_whole_capture();
        assert_int_equal(thread_mode(), SIM_CAPTURE_MODE_GLOBAL);
        expect_no_last_error();
        tarn_backend_close(&backend);
    }
}

/* --- ranges ------------------------------------------------------------------------------------ */

static void ranges_are_reserved_and_mapped(void **state)
{
    sim_reset();
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE);
    tarn_device_properties properties;
    expect_done(backend, get_properties, &properties);
    size_t size_bytes = properties.range_granularity_bytes;
    for (size_t k = 0; k < MODE_COUNT; k++) {
        void *range = NULL;
        tarn_mapping mapping = NULL;
        sim_capture_exchange_mode(modes[k]);
        begin_capture();
        expect_done(backend, range_reserve, size_bytes, &range);
        assert_int_equal(thread_mode(), modes[k]);
        expect_done(backend, range_map, range, size_bytes, &mapping);
        assert_int_equal(thread_mode(), modes[k]);
        expect_whole_capture();
        expect_done(backend, range_unmap, range, size_bytes, mapping);
        expect_done(backend, range_release, range, size_bytes);
    }
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
}

/* What was done is undone under the same mode. */
static void a_mapping_that_fails_spoils_nothing(void **state)
{
    static const char *const names[] = { "cuMemCreate",  "cuMemMap",  "cuMemSetAccess",
                                         "hipMemCreate", "hipMemMap", "hipMemSetAccess" };
    sim_reset();
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE);
    const tarn_backend_operations *operations = backend.operations;
    tarn_device_properties properties;
    expect_done(backend, get_properties, &properties);
    size_t size_bytes = properties.range_granularity_bytes, fault_count = 0;
    void *range = NULL;
    tarn_mapping mapping = NULL;
    expect_done(backend, range_reserve, size_bytes, &range);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        sim_fail_calls(names[n], 1, 1, SIM_STATUS_OUT_OF_MEMORY);
        begin_capture();
        bool is_mapped = operations->range_map(backend.state, range, size_bytes, &mapping).status ==
                         TARN_STATUS_OK;
        expect_whole_capture();
        assert_int_equal(thread_mode(), SIM_CAPTURE_MODE_GLOBAL);
        expect_no_last_error();
        assert_int_equal(sim_fault_count(), !is_mapped);
        fault_count += sim_fault_count();
        sim_forget_faults();
        if (is_mapped) expect_done(backend, range_unmap, range, size_bytes, mapping);
        assert_int_equal(sim_alive(SIM_THING_PHYSICAL), 0);
    }
    assert_int_equal(fault_count, 3);
    expect_done(backend, range_release, range, size_bytes);
    tarn_backend_close(&backend);
}

/* --- devices and threads ----------------------------------------------------------------------- */

static void another_device_is_current(void **state)
{
    /* Without a context, and with one. */
    for (int with_context = 0; with_context < 2; with_context++) {
        sim_reset();
        int current = with_context ? 1 : 0;
        if (with_context) sim_vendor.set_current_device(1);
        tarn_backend backend = open_backend(1 - current, TARN_MEMORY_KIND_DEVICE);
        for (size_t k = 0; k < MODE_COUNT; k++) {
            sim_capture_exchange_mode(modes[k]);
            acquire_and_query(&backend, TARN_STATUS_OK);
            assert_int_equal(thread_mode(), modes[k]);
            assert_int_equal(sim_vendor.current_device(), current);
        }
        tarn_backend_close(&backend);
    }
}

static void *acquire_in_thread(void *backend)
{
    static void *address;
    address = NULL;
    tarn_backend *of = backend;
    of->operations->acquire(of->state, MIB, &address);
    return address;
}

static void another_thread_captures(void **state)
{
    sim_reset();
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE);
    pthread_t thread;
    void *address = NULL;
    begin_capture();
    assert_int_equal(pthread_create(&thread, NULL, acquire_in_thread, &backend), 0);
    assert_int_equal(pthread_join(thread, &address), 0);
    assert_non_null(address);
    expect_whole_capture();
    expect_done(backend, release, address, MIB);
    tarn_backend_close(&backend);
}

/* --- the pool ---------------------------------------------------------------------------------- */

static void a_pool_grows(void **state)
{
    sim_reset();
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE);
    tarn_pool *pool;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 4 * MIB;
    assert_int_equal(tarn_pool_create(&options, &pool), TARN_STATUS_OK);
    void *addresses[8];
    begin_capture();
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(tarn_pool_alloc(pool, 4 * MIB, &addresses[i]), TARN_STATUS_OK);
    assert_true(sim_alive(SIM_THING_MEMORY) > 1);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(tarn_pool_free(pool, addresses[i]), TARN_STATUS_OK);
    expect_whole_capture();
    expect_no_last_error();
    assert_int_equal(tarn_pool_destroy(pool), TARN_STATUS_OK);
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
}

/* Where there is less than it would like it asks for less, several times. */
static void a_pool_grows_though_memory_is_short(void **state)
{
    sim_reset();
    SIM_SET(memory_bytes, 64 * MIB);
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE);
    tarn_pool *pool;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 48 * MIB;
    assert_int_equal(tarn_pool_create(&options, &pool), TARN_STATUS_OK);
    void *first = NULL, *second = NULL;
    begin_capture();
    assert_int_equal(tarn_pool_alloc(pool, 40 * MIB, &first), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_alloc(pool, 12 * MIB, &second), TARN_STATUS_OK);
    assert_int_equal(sim_alive(SIM_THING_MEMORY), 2);
    assert_int_equal(thread_mode(), SIM_CAPTURE_MODE_GLOBAL);
    expect_whole_capture();
    expect_no_last_error();
    assert_int_equal(tarn_pool_free(pool, first), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_free(pool, second), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_destroy(pool), TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

/* What another stream has freed, and what could be given back, is left alone. */
static void a_captured_stream_is_served(void **state)
{
    sim_reset();
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE);
    tarn_stream captured, other;
    tarn_pool *pool;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 4 * MIB;
    expect_done(backend, stream_create, &captured);
    expect_done(backend, stream_create, &other);
    assert_int_equal(tarn_pool_create(&options, &pool), TARN_STATUS_OK);
    void *freed, *spare, *first, *second, *third;
    assert_int_equal(tarn_pool_alloc_on(pool, 4 * MIB, other, &freed), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_alloc_on(pool, 4 * MIB, other, &spare), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_free_on(pool, freed, other), TARN_STATUS_OK);

    tarn_capture capture = 0;
    assert_int_equal(tarn_capture_begin(pool, captured, &capture), TARN_STATUS_OK);
    begin_capture();
    size_t static_pool_count = sim_alive(SIM_THING_MEMORY);
    assert_int_equal(tarn_pool_alloc_on(pool, 4 * MIB, captured, &first), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_alloc_on(pool, 64 * MIB, captured, &second), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_alloc_on(pool, 128 * MIB, other, &third), TARN_STATUS_OK);
    assert_true(sim_alive(SIM_THING_MEMORY) > static_pool_count);
    assert_int_equal(tarn_pool_free_on(pool, first, captured), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_free_on(pool, second, captured), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_free_on(pool, third, other), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_trim(pool, 0, NULL), TARN_STATUS_OK);
    expect_whole_capture();
    expect_no_last_error();

    assert_int_equal(tarn_capture_end(pool, capture), TARN_STATUS_OK);
    assert_int_equal(tarn_capture_release(pool, capture, NULL, 0), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_free_on(pool, spare, other), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_destroy(pool), TARN_STATUS_OK);
    expect_done(backend, stream_destroy, captured);
    expect_done(backend, stream_destroy, other);
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_each_kind_is_acquired),
        cmocka_unit_test(a_failure_sets_the_mode_back_too),
        cmocka_unit_test(without_an_exchange_the_call_is_made_all_the_same),
        cmocka_unit_test(memory_is_acquired_though_the_mode_stays),
        cmocka_unit_test(what_is_given_back_is_refused),
        cmocka_unit_test(a_backend_opens),
        cmocka_unit_test(ranges_are_reserved_and_mapped),
        cmocka_unit_test(a_mapping_that_fails_spoils_nothing),
        cmocka_unit_test(another_device_is_current),
        cmocka_unit_test(another_thread_captures),
        cmocka_unit_test(a_pool_grows),
        cmocka_unit_test(a_pool_grows_though_memory_is_short),
        cmocka_unit_test(a_captured_stream_is_served),
    };
    int failed_count = cmocka_run_group_tests_name("growth in a capture", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
