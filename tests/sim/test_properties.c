/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_properties: what a backend says of its device, compared with the simulated one; what it leaves
 * where it fails; and what it refuses without asking the vendor.
 */
#include <stdbool.h>
#include <string.h>

#include "harness/claims.h"
#include "sim_control.h"
#include "sim_vendor.h"
#include "tarn/tarn.h"

#define MIB ((size_t)1 << 20)

static tarn_backend open_backend(int device, tarn_memory_kind kind,
                                 tarn_device_properties *properties_out)
{
    tarn_backend backend;
    if (tarn_backend_open(device, kind, &backend) != TARN_STATUS_OK)
        fail_msg("%s", tarn_last_error().message);
    expect_done(backend, get_properties, properties_out);
    return backend;
}

/* --- the device -------------------------------------------------------------------------------- */

/* Each simulated device has its number at the end of its name. */
static void a_device_has_its_own_name(void **state)
{
    sim_reset();
    for (int device = 0; device < 2; device++) {
        tarn_device_properties properties;
        tarn_backend backend = open_backend(device, TARN_MEMORY_KIND_DEVICE, &properties);
        size_t length = strlen(properties.device_name);
        assert_true(length > 0);
        assert_int_equal(properties.device_name[length - 1], '0' + device);
        tarn_backend_close(&backend);
    }
}

/* --- sizes ------------------------------------------------------------------------------------- */

/* A piece is asked for with the size that the caller wants: what that takes is a multiple of the
 * granularity, and no smaller granularity would do. */
static void sizes_are_counted_in_granules(void **state)
{
    static const struct {
        tarn_memory_kind kind;
        sim_memory_kind counted_as;
    } kinds[] = {
        { TARN_MEMORY_KIND_DEVICE, SIM_MEMORY_KIND_DEVICE },
        { TARN_MEMORY_KIND_PINNED, SIM_MEMORY_KIND_PINNED },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        sim_reset();
        tarn_device_properties properties;
        tarn_backend backend = open_backend(0, kinds[i].kind, &properties);
        size_t granule_bytes = properties.granularity_bytes;
        const size_t sizes[] = { 1, granule_bytes, granule_bytes + 1, 2 * granule_bytes };
        const size_t granule_counts[] = { 1, 1, 2, 2 };
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            void *address = NULL;
            expect_done(backend, acquire, sizes[k], &address);
            assert_int_equal(sim_held_bytes(0, kinds[i].counted_as),
                             granule_counts[k] * granule_bytes);
            expect_done(backend, release, address, sizes[k]);
            assert_int_equal(sim_held_bytes(0, kinds[i].counted_as), 0);
        }
        tarn_backend_close(&backend);
    }
}

/* More than the device has, in one piece and in several. */
static void shared_memory_spills_to_the_host(void **state)
{
    sim_reset();
    SIM_SET(memory_bytes, 64 * MIB);
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_SHARED, &properties);
    assert_true(properties.allocation_bytes_max > 100 * MIB);
    void *first = NULL, *second = NULL;
    expect_done(backend, acquire, 100 * MIB, &first);
    expect_done(backend, acquire, 100 * MIB, &second);
    expect_done(backend, release, second, 100 * MIB);
    expect_done(backend, release, first, 100 * MIB);
    tarn_memory_info info = { 0, 0 };
    tarn_status told = backend.operations->query_memory(backend.state, &info).status;
    if (told == TARN_STATUS_OK) {
        assert_true(info.total_bytes > 100 * MIB);
        assert_true(info.free_bytes > 64 * MIB);
    }
    tarn_backend_close(&backend);

    backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    if (told == TARN_STATUS_OK) expect_done(backend, query_memory, &info);
    assert_true(told != TARN_STATUS_OK || info.total_bytes == 64 * MIB);
    assert_int_equal(backend.operations->acquire(backend.state, 64 * MIB + 1, &first).status,
                     TARN_STATUS_OUT_OF_MEMORY);
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
}

static void a_pool_of_shared_memory_may_be_larger_than_the_device(void **state)
{
    sim_reset();
    SIM_SET(memory_bytes, 64 * MIB);
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_SHARED, &properties);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 100 * MIB;
    options.takes_initial_at_once = true;
    tarn_pool *pool;
    void *first, *second;
    expect_ok(tarn_pool_create(&options, &pool));
    expect_ok(tarn_pool_alloc(pool, 100 * MIB, &first));
    expect_ok(tarn_pool_alloc(pool, 150 * MIB, &second));
    size_t available_bytes = 0;
    tarn_status told = tarn_pool_available(pool, &available_bytes);
    if (told == TARN_STATUS_OK) assert_true(available_bytes > 0);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));

    options.initial_bytes = TARN_INITIAL_ALL;
    if (told == TARN_STATUS_OK) {
        expect_ok(tarn_pool_create(&options, &pool));
        expect_ok(tarn_pool_alloc(pool, 100 * MIB, &first));
        expect_ok(tarn_pool_destroy_forced(pool, NULL));
    }
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
}

/* Devices that hold all of their shared memory at once, or whose memory is the host's. */
static void shared_memory_that_cannot_spill_is_the_devices(void **state)
{
    sim_reset();
    SIM_SET(memory_bytes, 64 * MIB);
    SIM_SET(spills_to_host, false);
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_SHARED, &properties);
    assert_int_equal(properties.allocation_bytes_max, 64 * MIB);
    tarn_memory_info info = { 64 * MIB, 0 };
    (void)backend.operations->query_memory(backend.state, &info);
    assert_int_equal(info.total_bytes, 64 * MIB);
    tarn_backend_close(&backend);
}

static void ranges_are_reserved_and_mapped_as_large_as_asked(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(1, TARN_MEMORY_KIND_DEVICE, &properties);
    size_t granule_bytes = properties.range_granularity_bytes;
    assert_int_equal(granule_bytes % sim_get_settings().range_granularity_bytes, 0);
    void *range = NULL;
    tarn_mapping mapping = NULL;
    expect_done(backend, range_reserve, 3 * granule_bytes, &range);
    assert_int_equal(sim_held_bytes(1, SIM_MEMORY_KIND_DEVICE), 0);
    expect_done(backend, range_map, range, 3 * granule_bytes, &mapping);
    assert_int_equal(sim_held_bytes(1, SIM_MEMORY_KIND_DEVICE), 3 * granule_bytes);
    assert_int_equal(sim_held_bytes(0, SIM_MEMORY_KIND_DEVICE), 0);
    expect_done(backend, range_unmap, range, 3 * granule_bytes, mapping);
    assert_int_equal(sim_held_bytes(1, SIM_MEMORY_KIND_DEVICE), 0);
    expect_done(backend, range_release, range, 3 * granule_bytes);
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
}

/* --- outputs ----------------------------------------------------------------------------------- */

/* Where nothing may be written. */
static char untouched;

#define EXPECT_UNTOUCHED(output, call)                             \
    do {                                                           \
        (output) = (void *)&untouched;                             \
        sim_fail_calls(NULL, 1, SIZE_MAX - 1, SIM_STATUS_UNKNOWN); \
        assert_int_equal((call).status, TARN_STATUS_VENDOR_ERROR); \
        assert_true(sim_fault_count() > 0);                        \
        sim_forget_faults();                                       \
        assert_ptr_equal(output, &untouched);                      \
    } while (0)

/* The first call of the vendor fails, or each in turn until the operation goes well. */
static void what_fails_writes_no_output(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    const tarn_backend_operations *operations = backend.operations;
    void *device = backend.state, *output;
    size_t granule_bytes = properties.range_granularity_bytes;
    EXPECT_UNTOUCHED(output, operations->acquire(device, 1000, &output));
    EXPECT_UNTOUCHED(output, operations->stream_create(device, &output));
    if (!sim_vendor.events_are_tarns_own)
        EXPECT_UNTOUCHED(output, operations->event_create(device, &output));
    EXPECT_UNTOUCHED(output, operations->range_reserve(device, granule_bytes, &output));

    void *range = NULL;
    assert_int_equal(operations->range_reserve(device, granule_bytes, &range).status,
                     TARN_STATUS_OK);
    EXPECT_UNTOUCHED(output, operations->range_map(device, range, granule_bytes, &output));
    assert_int_equal(operations->range_release(device, range, granule_bytes).status,
                     TARN_STATUS_OK);

    tarn_memory_info info = { 1, 2 };
    sim_fail_calls(NULL, 1, SIZE_MAX - 1, SIM_STATUS_UNKNOWN);
    assert_int_not_equal(operations->query_memory(device, &info).status, TARN_STATUS_OK);
    sim_forget_faults();
    assert_int_equal(info.total_bytes, 1);
    assert_int_equal(info.free_bytes, 2);
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
}

/* Whichever call it is. */
static void a_backend_that_does_not_open_is_not_written(void **state)
{
    size_t failure_count = 0;
    for (size_t n = 1;; n++) {
        sim_reset();
        tarn_backend backend = { NULL, &untouched };
        sim_fail_calls(NULL, n, 1, SIM_STATUS_UNKNOWN);
        tarn_status status = tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend);
        bool has_failed = sim_fault_count() > 0;
        sim_forget_faults();
        if (status == TARN_STATUS_OK) {
            tarn_backend_close(&backend);
            if (!has_failed) break;
            continue;
        }
        failure_count++;
        assert_null(backend.operations);
        assert_ptr_equal(backend.state, &untouched);
    }
    assert_true(failure_count > 0);
    sim_reset();
}

/* --- refusals ---------------------------------------------------------------------------------- */

#define EXPECT_REFUSED(call)                                            \
    do {                                                                \
        tarn_backend_result refused = (call);                           \
        assert_int_equal(refused.status, TARN_STATUS_INVALID_ARGUMENT); \
        assert_int_equal(refused.vendor_code, 0);                       \
    } while (0)

#define EXPECT_OK(call) assert_int_equal((call).status, TARN_STATUS_OK)

static void what_cannot_be_is_refused_without_asking(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    const tarn_backend_operations *operations = backend.operations;
    void *device = backend.state, *address = NULL;
    size_t granule_bytes = properties.range_granularity_bytes;
    sim_forget_calls();
    EXPECT_REFUSED(operations->acquire(device, 0, &address));
    EXPECT_REFUSED(operations->acquire(device, 1000, NULL));
    EXPECT_REFUSED(operations->release(device, NULL, 1000));
    EXPECT_REFUSED(operations->range_reserve(device, 0, &address));
    EXPECT_REFUSED(operations->range_reserve(device, granule_bytes + 1, &address));
    EXPECT_REFUSED(operations->range_release(device, NULL, granule_bytes));
    EXPECT_REFUSED(operations->range_map(device, NULL, granule_bytes, &address));
    EXPECT_REFUSED(operations->range_unmap(device, NULL, granule_bytes, &untouched));
    EXPECT_REFUSED(operations->stream_destroy(device, NULL));
    EXPECT_REFUSED(operations->stream_wait_event(device, NULL, NULL));
    EXPECT_REFUSED(operations->event_destroy(device, NULL));
    EXPECT_REFUSED(operations->event_record(device, NULL, NULL));
    EXPECT_REFUSED(operations->event_query(device, NULL));
    EXPECT_REFUSED(operations->event_synchronize(device, NULL));
    EXPECT_REFUSED(operations->fill(device, NULL, 1, 1, NULL));
    EXPECT_REFUSED(operations->copy(device, NULL, &untouched, 1, NULL));
    EXPECT_REFUSED(operations->copy(device, &untouched, NULL, 1, NULL));
    /* No bytes are no mistake, wherever they are. */
    EXPECT_OK(operations->fill(device, NULL, 1, 0, NULL));
    EXPECT_OK(operations->copy(device, NULL, &untouched, 0, NULL));
    EXPECT_OK(operations->copy(device, &untouched, NULL, 0, NULL));
    if (sim_call_count(NULL) != 0) fail_msg("the vendor was asked: %s", sim_describe_calls());
    assert_null(address);
    tarn_backend_close(&backend);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_has_its_own_name),
        cmocka_unit_test(sizes_are_counted_in_granules),
        cmocka_unit_test(shared_memory_spills_to_the_host),
        cmocka_unit_test(a_pool_of_shared_memory_may_be_larger_than_the_device),
        cmocka_unit_test(shared_memory_that_cannot_spill_is_the_devices),
        cmocka_unit_test(ranges_are_reserved_and_mapped_as_large_as_asked),
        cmocka_unit_test(what_fails_writes_no_output),
        cmocka_unit_test(a_backend_that_does_not_open_is_not_written),
        cmocka_unit_test(what_cannot_be_is_refused_without_asking),
    };
    return cmocka_run_group_tests_name("properties and outputs", tests, NULL, NULL);
}
