/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sim_hip: what AMD's runtimes do and no other vendor's, and how the backend asks for things. */
#include <hip/hip_runtime_api.h>

#include "harness/claims.h"
#include "../sim_control.h"
#include "tarn/hip.h"

static tarn_backend backend; /* the test's, and closed at its end */
static tarn_device_properties properties;

static void open_backend(int device, tarn_memory_kind kind)
{
    expect_ok(tarn_hip_backend_open(device, kind, &backend));
    expect_done(backend, get_properties, &properties);
}

static void close_backend(void)
{
    tarn_backend_close(&backend);
    backend = (tarn_backend){ NULL, NULL };
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
}

static int set_up(void **state)
{
    sim_reset();
    return 0;
}

static int tear_down(void **state)
{
    close_backend();
    return 0;
}

/* The runtime says that it mapped, and did not. */
static void a_mapping_that_failed_silently_is_a_failure(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    const tarn_backend_operations *operations = backend.operations;
    size_t size_bytes = properties.range_granularity_bytes;
    void *range = NULL;
    tarn_mapping mapping = NULL;
    expect_done(backend, range_reserve, size_bytes, &range);

    sim_fail_calls("hipMemMap", 1, 1, SIM_STATUS_OUT_OF_HOST_MEMORY);
    tarn_backend_result result = operations->range_map(backend.state, range, size_bytes, &mapping);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(result.status, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(result.vendor_code, hipErrorMapFailed);
    assert_string_equal(result.vendor_name, "hipErrorMapFailed");
    assert_null(mapping);
    assert_int_equal(sim_alive(SIM_THING_PHYSICAL), 0);
    assert_int_equal(hipPeekAtLastError(), hipSuccess);

    expect_done(backend, range_map, range, size_bytes, &mapping);
    expect_done(backend, range_unmap, range, size_bytes, mapping);
    expect_done(backend, range_release, range, size_bytes);
}

/* A runtime that does not know the question has none. */
static void a_runtime_older_than_ranges_has_none(void **state)
{
    SIM_SET(driver, SIM_DRIVER_WITHOUT_EXTRAS);
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    assert_int_equal(properties.range_granularity_bytes, 0);
    void *range = NULL;
    expect_operation(TARN_STATUS_NOT_SUPPORTED, backend, range_reserve, 4096, &range);
    assert_int_equal(hipPeekAtLastError(), hipSuccess);
}

/* The recommended one, which is larger, and where ranges begin. */
static void ranges_have_the_recommended_granularity(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    size_t size_bytes = properties.range_granularity_bytes;
    void *ranges[4];
    assert_int_equal(size_bytes, 2 * sim_get_settings().range_granularity_bytes);
    for (size_t i = 0; i < 4; i++) {
        expect_done(backend, range_reserve, size_bytes, &ranges[i]);
        assert_int_equal((uintptr_t)ranges[i] % size_bytes, 0);
    }
    for (size_t i = 0; i < 4; i++)
        expect_done(backend, range_release, ranges[i], size_bytes);
}

/* Some runtime may call a size that is too large for it an invalid one. */
static void a_size_that_the_runtime_dislikes_is_too_large(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    void *range = NULL;
    sim_fail_calls("hipMemAddressReserve", 1, 1, SIM_STATUS_INVALID_VALUE);
    tarn_backend_result result = backend.operations->range_reserve(
        backend.state, properties.range_granularity_bytes, &range);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(result.status, TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(result.vendor_code, hipErrorInvalidValue);
    assert_null(range);
}

static void a_granularity_that_is_no_power_of_two_is_none(void **state)
{
    SIM_SET(range_granularity_bytes, 3 << 20);
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    assert_int_equal(properties.range_granularity_bytes, 0);
}

/* Coherent, since it is mapped, and nothing says otherwise. */
static void pinned_memory_is_for_all_devices_and_coherent(void **state)
{
    void *address = NULL;
    unsigned flags = 0;
    open_backend(0, TARN_MEMORY_KIND_PINNED);
    expect_done(backend, acquire, 1000, &address);
    assert_int_equal(hipHostGetFlags(&flags, address), hipSuccess);
    assert_int_equal(flags, hipHostMallocPortable | hipHostMallocMapped);
    expect_done(backend, release, address, 1000);
}

static void streams_are_their_own_and_events_keep_no_time(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    tarn_stream stream = NULL;
    tarn_event event = NULL;
    unsigned flags = 0;
    float milliseconds;
    expect_done(backend, stream_create, &stream);
    expect_done(backend, event_create, &event);
    assert_int_equal(hipStreamGetFlags(stream, &flags), hipSuccess);
    assert_int_equal(flags, hipStreamNonBlocking);
    assert_int_equal(hipEventElapsedTime(&milliseconds, event, event), hipErrorInvalidHandle);
    assert_int_equal(hipGetLastError(), hipErrorInvalidHandle);
    expect_done(backend, event_destroy, event);
    expect_done(backend, stream_destroy, stream);
}

/* Each kind is asked for by an attribute of its own, of the device that is opened. */
static void a_device_is_asked_what_it_has_itself(void **state)
{
    static const tarn_memory_kind kinds[] = { TARN_MEMORY_KIND_PINNED, TARN_MEMORY_KIND_SHARED };
    for (int poor = 0; poor < 2; poor++) {
        sim_reset();
        SIM_SET(poor_device, poor);
        for (int device = 0; device < 2; device++) {
            for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
                backend = (tarn_backend){ NULL, NULL };
                assert_int_equal(tarn_hip_backend_open(device, kinds[i], &backend),
                                 device == poor ? TARN_STATUS_NOT_SUPPORTED : TARN_STATUS_OK);
                close_backend();
            }
            open_backend(device, TARN_MEMORY_KIND_DEVICE);
            assert_int_equal(properties.range_granularity_bytes == 0, device == poor);
            close_backend();
        }
    }
}

static void one_piece_is_no_larger_than_what_there_is(void **state)
{
    static const tarn_memory_kind kinds[] = { TARN_MEMORY_KIND_DEVICE, TARN_MEMORY_KIND_PINNED,
                                              TARN_MEMORY_KIND_SHARED };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        sim_reset();
        SIM_SET(memory_bytes, 123 << 20);
        tarn_memory_info info = { 0, 0 };
        open_backend(0, kinds[i]);
        expect_done(backend, query_memory, &info);
        /* Pinned memory is the host's, and shared memory may lie in either. */
        assert_int_equal(info.total_bytes == 123 << 20, kinds[i] == TARN_MEMORY_KIND_DEVICE);
        assert_int_equal(properties.allocation_bytes_max, info.total_bytes);
        close_backend();
    }
}

/* Those that no simulated device answers with, too. */
static void errors_have_their_status(void **state)
{
    static const struct {
        hipError_t error;
        tarn_status status;
    } rows[] = {
        { hipErrorOutOfMemory, TARN_STATUS_OUT_OF_MEMORY },
        { hipErrorNotReady, TARN_STATUS_NOT_READY },
        { hipErrorNoDevice, TARN_STATUS_NO_DEVICE },
        { hipErrorInsufficientDriver, TARN_STATUS_NO_DEVICE },
        { hipErrorInvalidDevice, TARN_STATUS_INVALID_DEVICE },
        { hipErrorInvalidValue, TARN_STATUS_INVALID_ARGUMENT },
        { hipErrorInvalidHandle, TARN_STATUS_INVALID_ARGUMENT },
        { hipErrorInvalidDevicePointer, TARN_STATUS_INVALID_ARGUMENT },
        { hipErrorNotSupported, TARN_STATUS_NOT_SUPPORTED },
        { hipErrorDeinitialized, TARN_STATUS_VENDOR_ERROR },
        { hipErrorECCNotCorrectable, TARN_STATUS_VENDOR_ERROR },
        { hipErrorContextIsDestroyed, TARN_STATUS_VENDOR_ERROR },
        { hipErrorMapFailed, TARN_STATUS_VENDOR_ERROR },
        { hipErrorUnknown, TARN_STATUS_VENDOR_ERROR },
    };
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tarn_memory_info info;
        sim_fail_calls("hipMemGetInfo", 1, 1, SIM_STATUS_OF_VENDOR(rows[i].error));
        tarn_backend_result result = backend.operations->query_memory(backend.state, &info);
        assert_int_equal(sim_fault_count(), 1);
        assert_int_equal(result.status, rows[i].status);
        assert_int_equal(result.vendor_code, rows[i].error);
    }
}

/* No memory is mapped again that there is not. */
static void a_mapping_that_is_none_is_refused(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    size_t size_bytes = properties.range_granularity_bytes;
    void *range = NULL;
    tarn_mapping mapping = NULL;
    expect_done(backend, range_reserve, size_bytes, &range);
    expect_done(backend, range_map, range, size_bytes, &mapping);
    sim_forget_calls();
    expect_operation(TARN_STATUS_INVALID_ARGUMENT, backend, range_unmap, range, size_bytes, NULL);
    assert_int_equal(sim_call_count("hipMemUnmap"), 1);
    assert_int_equal(sim_call_count("hipMemMap"), 0);
    assert_int_equal(hipPeekAtLastError(), hipSuccess);
    assert_int_equal(hipMemRelease(mapping), hipSuccess);
    expect_done(backend, range_release, range, size_bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(a_mapping_that_failed_silently_is_a_failure),
        TEST(a_runtime_older_than_ranges_has_none),
        TEST(ranges_have_the_recommended_granularity),
        TEST(a_size_that_the_runtime_dislikes_is_too_large),
        TEST(a_granularity_that_is_no_power_of_two_is_none),
        TEST(a_mapping_that_is_none_is_refused),
        TEST(pinned_memory_is_for_all_devices_and_coherent),
        TEST(streams_are_their_own_and_events_keep_no_time),
        TEST(a_device_is_asked_what_it_has_itself),
        TEST(one_piece_is_no_larger_than_what_there_is),
        TEST(errors_have_their_status),
    };
    int failed_count = cmocka_run_group_tests_name("HIP's own ways", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
