/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sim_hip: what AMD's runtimes do and no other vendor's, and how the backend asks for things. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hip/hip_runtime_api.h>

#include "../sim_control.h"
#include "tarn/hip.h"

static tarn_backend open_backend(tarn_device_properties *properties_out)
{
    tarn_backend backend;
    sim_reset();
    assert_int_equal(tarn_hip_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend), TARN_STATUS_OK);
    assert_int_equal(backend.operations->get_properties(backend.state, properties_out).status,
                     TARN_STATUS_OK);
    return backend;
}

static void close_backend(tarn_backend *backend)
{
    tarn_backend_close(backend);
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
}

/* The runtime says that it mapped, and did not. */
static void a_mapping_that_failed_silently_is_a_failure(void **state)
{
    tarn_device_properties properties;
    tarn_backend backend = open_backend(&properties);
    const tarn_backend_operations *operations = backend.operations;
    size_t size_bytes = properties.range_granularity_bytes;
    void *range = NULL;
    tarn_mapping mapping = NULL;
    assert_int_equal(operations->range_reserve(backend.state, size_bytes, &range).status,
                     TARN_STATUS_OK);

    sim_fail_calls("hipMemMap", 1, 1, SIM_STATUS_OUT_OF_HOST_MEMORY);
    tarn_backend_result result = operations->range_map(backend.state, range, size_bytes, &mapping);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(result.status, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(result.vendor_code, hipErrorMapFailed);
    assert_string_equal(result.vendor_name, "hipErrorMapFailed");
    assert_null(mapping);
    assert_int_equal(sim_alive(SIM_THING_PHYSICAL), 0);
    assert_int_equal(hipPeekAtLastError(), hipSuccess);

    assert_int_equal(operations->range_map(backend.state, range, size_bytes, &mapping).status,
                     TARN_STATUS_OK);
    assert_int_equal(operations->range_unmap(backend.state, range, size_bytes, mapping).status,
                     TARN_STATUS_OK);
    assert_int_equal(operations->range_release(backend.state, range, size_bytes).status,
                     TARN_STATUS_OK);
    close_backend(&backend);
}

/* A runtime that does not know the question has none. */
static void a_runtime_older_than_ranges_has_none(void **state)
{
    sim_reset();
    sim_settings settings = sim_get_settings();
    settings.driver = SIM_DRIVER_WITHOUT_EXTRAS;
    tarn_backend backend;
    tarn_device_properties properties;
    sim_set_settings(&settings);
    assert_int_equal(tarn_hip_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend), TARN_STATUS_OK);
    backend.operations->get_properties(backend.state, &properties);
    assert_int_equal(properties.range_granularity_bytes, 0);
    void *range = NULL;
    assert_int_equal(backend.operations->range_reserve(backend.state, 4096, &range).status,
                     TARN_STATUS_NOT_SUPPORTED);
    assert_int_equal(hipPeekAtLastError(), hipSuccess);
    close_backend(&backend);
}

/* The recommended one, which is larger, and where ranges begin. */
static void ranges_have_the_recommended_granularity(void **state)
{
    tarn_device_properties properties;
    tarn_backend backend = open_backend(&properties);
    size_t size_bytes = properties.range_granularity_bytes;
    void *ranges[4];
    assert_int_equal(size_bytes, 2 * sim_get_settings().range_granularity_bytes);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(
            backend.operations->range_reserve(backend.state, size_bytes, &ranges[i]).status,
            TARN_STATUS_OK);
        assert_int_equal((uintptr_t)ranges[i] % size_bytes, 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(
            backend.operations->range_release(backend.state, ranges[i], size_bytes).status,
            TARN_STATUS_OK);
    }
    close_backend(&backend);
}

/* Some runtime may call a size that is too large for it an invalid one. */
static void a_size_that_the_runtime_dislikes_is_too_large(void **state)
{
    tarn_device_properties properties;
    tarn_backend backend = open_backend(&properties);
    void *range = NULL;
    sim_fail_calls("hipMemAddressReserve", 1, 1, SIM_STATUS_INVALID_VALUE);
    tarn_backend_result result = backend.operations->range_reserve(
        backend.state, properties.range_granularity_bytes, &range);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(result.status, TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(result.vendor_code, hipErrorInvalidValue);
    assert_null(range);
    close_backend(&backend);
}

static void a_granularity_that_is_no_power_of_two_is_none(void **state)
{
    sim_reset();
    sim_settings settings = sim_get_settings();
    settings.range_granularity_bytes = 3 << 20;
    sim_set_settings(&settings);
    tarn_backend backend;
    tarn_device_properties properties;
    assert_int_equal(tarn_hip_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend), TARN_STATUS_OK);
    backend.operations->get_properties(backend.state, &properties);
    assert_int_equal(properties.range_granularity_bytes, 0);
    close_backend(&backend);
}

/* Coherent, since it is mapped, and nothing says otherwise. */
static void pinned_memory_is_for_all_devices_and_coherent(void **state)
{
    sim_reset();
    tarn_backend backend;
    void *address = NULL;
    unsigned flags = 0;
    assert_int_equal(tarn_hip_backend_open(0, TARN_MEMORY_KIND_PINNED, &backend), TARN_STATUS_OK);
    assert_int_equal(backend.operations->acquire(backend.state, 1000, &address).status,
                     TARN_STATUS_OK);
    assert_int_equal(hipHostGetFlags(&flags, address), hipSuccess);
    assert_int_equal(flags, hipHostMallocPortable | hipHostMallocMapped);
    assert_int_equal(backend.operations->release(backend.state, address, 1000).status,
                     TARN_STATUS_OK);
    close_backend(&backend);
}

static void streams_are_their_own_and_events_keep_no_time(void **state)
{
    tarn_device_properties properties;
    tarn_backend backend = open_backend(&properties);
    const tarn_backend_operations *operations = backend.operations;
    tarn_stream stream = NULL;
    tarn_event event = NULL;
    unsigned flags = 0;
    float milliseconds;
    assert_int_equal(operations->stream_create(backend.state, &stream).status, TARN_STATUS_OK);
    assert_int_equal(operations->event_create(backend.state, &event).status, TARN_STATUS_OK);
    assert_int_equal(hipStreamGetFlags(stream, &flags), hipSuccess);
    assert_int_equal(flags, hipStreamNonBlocking);
    assert_int_equal(hipEventElapsedTime(&milliseconds, event, event), hipErrorInvalidHandle);
    assert_int_equal(hipGetLastError(), hipErrorInvalidHandle);
    assert_int_equal(operations->event_destroy(backend.state, event).status, TARN_STATUS_OK);
    assert_int_equal(operations->stream_destroy(backend.state, stream).status, TARN_STATUS_OK);
    close_backend(&backend);
}

/* Each kind is asked for by an attribute of its own, of the device that is opened. */
static void a_device_is_asked_what_it_has_itself(void **state)
{
    static const tarn_memory_kind kinds[] = { TARN_MEMORY_KIND_PINNED, TARN_MEMORY_KIND_SHARED };
    for (int poor = 0; poor < 2; poor++) {
        sim_reset();
        sim_settings settings = sim_get_settings();
        settings.poor_device = poor;
        sim_set_settings(&settings);
        for (int device = 0; device < 2; device++) {
            tarn_backend backend;
            tarn_device_properties properties;
            for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
                backend = (tarn_backend){ NULL, NULL };
                assert_int_equal(tarn_hip_backend_open(device, kinds[i], &backend),
                                 device == poor ? TARN_STATUS_NOT_SUPPORTED : TARN_STATUS_OK);
                close_backend(&backend);
            }
            assert_int_equal(tarn_hip_backend_open(device, TARN_MEMORY_KIND_DEVICE, &backend),
                             TARN_STATUS_OK);
            backend.operations->get_properties(backend.state, &properties);
            assert_int_equal(properties.range_granularity_bytes == 0, device == poor);
            close_backend(&backend);
        }
    }
}

static void one_piece_is_no_larger_than_what_there_is(void **state)
{
    static const tarn_memory_kind kinds[] = { TARN_MEMORY_KIND_DEVICE, TARN_MEMORY_KIND_PINNED,
                                              TARN_MEMORY_KIND_SHARED };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        sim_reset();
        sim_settings settings = sim_get_settings();
        settings.memory_bytes = 123 << 20;
        sim_set_settings(&settings);
        tarn_backend backend;
        tarn_device_properties properties;
        tarn_memory_info info = { 0, 0 };
        assert_int_equal(tarn_hip_backend_open(0, kinds[i], &backend), TARN_STATUS_OK);
        backend.operations->get_properties(backend.state, &properties);
        assert_int_equal(backend.operations->query_memory(backend.state, &info).status,
                         TARN_STATUS_OK);
        assert_int_equal(info.total_bytes == 123 << 20, kinds[i] != TARN_MEMORY_KIND_PINNED);
        assert_int_equal(properties.allocation_bytes_max, info.total_bytes);
        close_backend(&backend);
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
    tarn_device_properties properties;
    tarn_backend backend = open_backend(&properties);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tarn_memory_info info;
        sim_fail_calls("hipMemGetInfo", 1, 1, SIM_STATUS_OF_VENDOR(rows[i].error));
        tarn_backend_result result = backend.operations->query_memory(backend.state, &info);
        assert_int_equal(sim_fault_count(), 1);
        assert_int_equal(result.status, rows[i].status);
        assert_int_equal(result.vendor_code, rows[i].error);
    }
    close_backend(&backend);
}

/* No memory is mapped again that there is not. */
static void a_mapping_that_is_none_is_refused(void **state)
{
    tarn_device_properties properties;
    tarn_backend backend = open_backend(&properties);
    const tarn_backend_operations *operations = backend.operations;
    size_t size_bytes = properties.range_granularity_bytes;
    void *range = NULL;
    tarn_mapping mapping = NULL;
    assert_int_equal(operations->range_reserve(backend.state, size_bytes, &range).status,
                     TARN_STATUS_OK);
    assert_int_equal(operations->range_map(backend.state, range, size_bytes, &mapping).status,
                     TARN_STATUS_OK);
    sim_forget_calls();
    assert_int_equal(operations->range_unmap(backend.state, range, size_bytes, NULL).status,
                     TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(sim_call_count("hipMemUnmap"), 1);
    assert_int_equal(sim_call_count("hipMemMap"), 0);
    assert_int_equal(hipPeekAtLastError(), hipSuccess);
    assert_int_equal(hipMemRelease(mapping), hipSuccess);
    assert_int_equal(operations->range_release(backend.state, range, size_bytes).status,
                     TARN_STATUS_OK);
    close_backend(&backend);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_that_failed_silently_is_a_failure),
        cmocka_unit_test(a_runtime_older_than_ranges_has_none),
        cmocka_unit_test(ranges_have_the_recommended_granularity),
        cmocka_unit_test(a_size_that_the_runtime_dislikes_is_too_large),
        cmocka_unit_test(a_granularity_that_is_no_power_of_two_is_none),
        cmocka_unit_test(a_mapping_that_is_none_is_refused),
        cmocka_unit_test(pinned_memory_is_for_all_devices_and_coherent),
        cmocka_unit_test(streams_are_their_own_and_events_keep_no_time),
        cmocka_unit_test(a_device_is_asked_what_it_has_itself),
        cmocka_unit_test(one_piece_is_no_larger_than_what_there_is),
        cmocka_unit_test(errors_have_their_status),
    };
    int failed_count = cmocka_run_group_tests_name("HIP's own ways", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
