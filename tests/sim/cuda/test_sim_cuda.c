/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sim_cuda: what CUDA does and no other vendor, and how the backend asks CUDA for things. */
#define _GNU_SOURCE /* pthread_setattr_default_np */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "../sim_control.h"
#include "tarn/cuda.h"
#include "tarn/tarn.h"

#define MIB ((size_t)1 << 20)

static tarn_backend open_backend(int device, tarn_memory_kind kind,
                                 tarn_device_properties *properties_out)
{
    tarn_backend backend;
    assert_int_equal(tarn_cuda_backend_open(device, kind, &backend), TARN_STATUS_OK);
    assert_int_equal(backend.operations->get_properties(backend.state, properties_out).status,
                     TARN_STATUS_OK);
    return backend;
}

static void close_backend(tarn_backend *backend)
{
    tarn_backend_close(backend);
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
}

static void expect_opening(tarn_status expected, int device, tarn_memory_kind kind)
{
    tarn_backend backend = { NULL, NULL };
    assert_int_equal(tarn_cuda_backend_open(device, kind, &backend), expected);
    tarn_backend_close(&backend);
}

/* --- how things are asked for ------------------------------------------------------------------ */

static void streams_do_not_wait_for_the_default_one(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    tarn_stream stream = NULL;
    unsigned flags = 0;
    assert_int_equal(backend.operations->stream_create(backend.state, &stream).status,
                     TARN_STATUS_OK);
    assert_int_equal(cudaStreamGetFlags(stream, &flags), cudaSuccess);
    assert_int_equal(flags, cudaStreamNonBlocking);
    assert_int_equal(backend.operations->stream_destroy(backend.state, stream).status,
                     TARN_STATUS_OK);
    close_backend(&backend);
}

static void events_keep_no_time(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    const tarn_backend_operations *operations = backend.operations;
    tarn_event event = NULL;
    float milliseconds;
    assert_int_equal(operations->event_create(backend.state, &event).status, TARN_STATUS_OK);
    assert_int_equal(operations->event_record(backend.state, event, NULL).status, TARN_STATUS_OK);
    assert_int_equal(operations->event_synchronize(backend.state, event).status, TARN_STATUS_OK);
    assert_int_equal(cudaEventElapsedTime(&milliseconds, event, event),
                     cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    assert_int_equal(operations->event_destroy(backend.state, event).status, TARN_STATUS_OK);
    close_backend(&backend);
}

static void pinned_memory_is_for_all_devices(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_PINNED, &properties);
    void *address = NULL;
    unsigned flags = 0;
    assert_int_equal(backend.operations->acquire(backend.state, 1000, &address).status,
                     TARN_STATUS_OK);
    assert_int_equal(cudaHostGetFlags(&flags, address), cudaSuccess);
    assert_int_equal(flags, cudaHostAllocPortable | cudaHostAllocMapped);
    assert_int_equal(backend.operations->release(backend.state, address, 1000).status,
                     TARN_STATUS_OK);
    close_backend(&backend);
}

/* Its work failed, and it was waited for. */
static void a_stream_goes_though_its_work_failed(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    tarn_stream stream = NULL;
    assert_int_equal(backend.operations->stream_create(backend.state, &stream).status,
                     TARN_STATUS_OK);
    sim_fail_calls("cudaStreamSynchronize", 1, 1, SIM_STATUS_UNKNOWN);
    assert_int_equal(backend.operations->stream_destroy(backend.state, stream).status,
                     TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(sim_alive(SIM_THING_STREAM), 0);
    close_backend(&backend);
}

/* --- what it says of the device ---------------------------------------------------------------- */

static void versions_are_the_drivers_and_the_runtimes(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    int driver = 0, runtime = 0;
    assert_int_equal(cudaDriverGetVersion(&driver), cudaSuccess);
    assert_int_equal(cudaRuntimeGetVersion(&runtime), cudaSuccess);
    assert_int_not_equal(driver, runtime);
    assert_int_equal(properties.driver_version, driver);
    assert_int_equal(properties.runtime_version, runtime);
    close_backend(&backend);
}

/* The programming guide promises 256, and a device that does no better shows whether more is said. */
static void addresses_are_no_better_than_promised(void **state)
{
    sim_reset();
    sim_settings settings = sim_get_settings();
    settings.alignment_bytes = 256;
    sim_set_settings(&settings);
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    void *address = NULL;
    assert_int_equal(backend.operations->acquire(backend.state, 1000, &address).status,
                     TARN_STATUS_OK);
    assert_int_equal((uintptr_t)address % 512, 256);
    assert_int_equal((uintptr_t)address % properties.alignment_bytes, 0);
    assert_int_equal(backend.operations->release(backend.state, address, 1000).status,
                     TARN_STATUS_OK);
    close_backend(&backend);
}

static void one_piece_is_no_larger_than_what_there_is(void **state)
{
    static const tarn_memory_kind kinds[] = { TARN_MEMORY_KIND_DEVICE, TARN_MEMORY_KIND_PINNED,
                                              TARN_MEMORY_KIND_SHARED };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        sim_reset();
        sim_settings settings = sim_get_settings();
        settings.memory_bytes = 123 * MIB;
        sim_set_settings(&settings);
        tarn_device_properties properties;
        tarn_backend backend = open_backend(0, kinds[i], &properties);
        tarn_memory_info info = { 0, 0 };
        assert_int_equal(backend.operations->query_memory(backend.state, &info).status,
                         TARN_STATUS_OK);
        /* Pinned memory is the host's, and what the host has differs from the device's. */
        assert_int_equal(info.total_bytes == 123 * MIB, kinds[i] != TARN_MEMORY_KIND_PINNED);
        assert_int_equal(properties.allocation_bytes_max, info.total_bytes);
        close_backend(&backend);
    }
}

static void a_device_is_asked_what_it_has_itself(void **state)
{
    for (int poor = 0; poor < 2; poor++) {
        sim_reset();
        sim_settings settings = sim_get_settings();
        settings.poor_device = poor;
        sim_set_settings(&settings);
        for (int device = 0; device < 2; device++) {
            bool is_poor = device == poor;
            tarn_status expected = is_poor ? TARN_STATUS_NOT_SUPPORTED : TARN_STATUS_OK;
            expect_opening(expected, device, TARN_MEMORY_KIND_PINNED);
            expect_opening(expected, device, TARN_MEMORY_KIND_SHARED);
            tarn_device_properties properties;
            tarn_backend backend = open_backend(device, TARN_MEMORY_KIND_DEVICE, &properties);
            assert_int_equal(properties.range_granularity_bytes == 0, is_poor);
            close_backend(&backend);
        }
    }
}

static void pinned_memory_has_one_address_or_is_not_supported(void **state)
{
    sim_reset();
    sim_settings settings = sim_get_settings();
    settings.has_one_address = false;
    sim_set_settings(&settings);
    expect_opening(TARN_STATUS_NOT_SUPPORTED, 0, TARN_MEMORY_KIND_PINNED);
    expect_opening(TARN_STATUS_OK, 0, TARN_MEMORY_KIND_DEVICE);
    expect_opening(TARN_STATUS_OK, 0, TARN_MEMORY_KIND_SHARED);
}

/* The smallest; the face recommends a larger one. */
static void ranges_have_the_smallest_granularity(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    assert_int_equal(properties.range_granularity_bytes,
                     sim_get_settings().range_granularity_bytes);
    close_backend(&backend);
}

static void a_granularity_that_is_no_power_of_two_is_none(void **state)
{
    sim_reset();
    sim_settings settings = sim_get_settings();
    settings.range_granularity_bytes = 3 * MIB;
    sim_set_settings(&settings);
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    assert_int_equal(properties.range_granularity_bytes, 0);
    close_backend(&backend);
}

/* --- errors ------------------------------------------------------------------------------------ */

/* Those that no simulated device answers with, too. */
static void errors_have_their_status(void **state)
{
    static const struct {
        cudaError_t error;
        tarn_status status;
    } rows[] = {
        { cudaErrorMemoryAllocation, TARN_STATUS_OUT_OF_MEMORY },
        { cudaErrorNotReady, TARN_STATUS_NOT_READY },
        { cudaErrorNoDevice, TARN_STATUS_NO_DEVICE },
        { cudaErrorInsufficientDriver, TARN_STATUS_NO_DEVICE },
        { cudaErrorStubLibrary, TARN_STATUS_NO_DEVICE },
        { cudaErrorInvalidDevice, TARN_STATUS_INVALID_DEVICE },
        { cudaErrorInvalidValue, TARN_STATUS_INVALID_ARGUMENT },
        { cudaErrorInvalidResourceHandle, TARN_STATUS_INVALID_ARGUMENT },
        { cudaErrorNotSupported, TARN_STATUS_NOT_SUPPORTED },
        { cudaErrorCudartUnloading, TARN_STATUS_VENDOR_ERROR },
        { cudaErrorECCUncorrectable, TARN_STATUS_VENDOR_ERROR },
        { cudaErrorContextIsDestroyed, TARN_STATUS_VENDOR_ERROR },
        { cudaErrorIllegalAddress, TARN_STATUS_VENDOR_ERROR },
        { cudaErrorInitializationError, TARN_STATUS_VENDOR_ERROR },
        { cudaErrorUnknown, TARN_STATUS_VENDOR_ERROR },
    };
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tarn_memory_info info;
        sim_fail_calls("cudaMemGetInfo", 1, 1, SIM_STATUS_OF_VENDOR(rows[i].error));
        tarn_backend_result result = backend.operations->query_memory(backend.state, &info);
        assert_int_equal(sim_fault_count(), 1);
        assert_int_equal(result.status, rows[i].status);
        assert_int_equal(result.vendor_code, rows[i].error);
    }
    close_backend(&backend);
}

/* A driver that does not tell the name of an error still has its code. */
static void an_error_may_have_no_name(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    sim_fail_calls("cudaGetDriverEntryPointByVersion", 1, 1, SIM_STATUS_UNKNOWN);
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    assert_int_equal(sim_fault_count(), 1);
    void *range = NULL;
    sim_fail_calls("cuMemAddressReserve", 1, 1, SIM_STATUS_UNKNOWN);
    tarn_backend_result result = backend.operations->range_reserve(backend.state, 2 * MIB, &range);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(result.status, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(result.vendor_code, cudaErrorUnknown);
    assert_null(result.vendor_name);
    close_backend(&backend);
}

static void opening_tells_the_vendors_sentence(void **state)
{
    sim_reset();
    sim_settings settings = sim_get_settings();
    settings.device_count = 0;
    sim_set_settings(&settings);
    expect_opening(TARN_STATUS_NO_DEVICE, 0, TARN_MEMORY_KIND_DEVICE);
    assert_non_null(strstr(tarn_last_error().message, cudaGetErrorString(cudaErrorNoDevice)));
}

/* What the application did wrong before is for the application to find. */
static void an_error_of_the_applications_stays(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    void *address = NULL;
    assert_int_equal(cudaSetDevice(99), cudaErrorInvalidDevice);
    assert_int_equal(backend.operations->acquire(backend.state, 1000, &address).status,
                     TARN_STATUS_OK);
    assert_int_equal(backend.operations->release(backend.state, address, 1000).status,
                     TARN_STATUS_OK);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
    close_backend(&backend);
}

/* --- ranges ------------------------------------------------------------------------------------ */

static void *reserve(const tarn_backend *backend, size_t size_bytes)
{
    void *range = NULL;
    assert_int_equal(backend->operations->range_reserve(backend->state, size_bytes, &range).status,
                     TARN_STATUS_OK);
    return range;
}

/* Some driver may call a size that is too large for it an invalid one. */
static void a_size_that_the_driver_dislikes_is_too_large(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    void *range = NULL;
    sim_fail_calls("cuMemAddressReserve", 1, 1, SIM_STATUS_INVALID_VALUE);
    tarn_backend_result result = backend.operations->range_reserve(backend.state, 2 * MIB, &range);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(result.status, TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(result.vendor_code, cudaErrorInvalidValue);
    assert_null(range);
    close_backend(&backend);
}

/* The driver does not survive that memory which is gone is mapped. */
static void a_mapping_that_is_none_is_refused(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(0, TARN_MEMORY_KIND_DEVICE, &properties);
    const tarn_backend_operations *operations = backend.operations;
    void *device = backend.state;
    unsigned char *range = reserve(&backend, 4 * MIB);
    tarn_mapping stale = NULL, mapping = NULL;
    assert_int_equal(operations->range_map(device, range, 2 * MIB, &stale).status, TARN_STATUS_OK);
    assert_int_equal(operations->range_unmap(device, range, 2 * MIB, stale).status, TARN_STATUS_OK);
    assert_int_equal(operations->range_map(device, range, 2 * MIB, &mapping).status,
                     TARN_STATUS_OK);
    assert_int_equal(operations->range_unmap(device, range, 2 * MIB, stale).status,
                     TARN_STATUS_INVALID_ARGUMENT);
    tarn_backend_close(&backend);
    sim_reset(); /* whose memory it was nobody knows any more */
}

/* --- a thread of its own ----------------------------------------------------------------------- */

/* The second case of cuda_status.c, with stacks that are larger than all addresses. */
static void where_no_thread_can_be_made_nothing_is_called(void **state)
{
    sim_reset();
    tarn_device_properties properties;
    tarn_backend backend = open_backend(1, TARN_MEMORY_KIND_DEVICE, &properties);
    pthread_attr_t before, huge;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, SIZE_MAX / 4), 0);
    bool may_be_set = pthread_setattr_default_np(&huge) == 0;
    char nowhere;
    void *address = &nowhere;
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    sim_forget_calls();
    if (may_be_set) {
        result = backend.operations->acquire(backend.state, 1000, &address);
        assert_int_equal(pthread_setattr_default_np(&before), 0);
    }
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&before);
    size_t call_count = sim_call_count("cudaMalloc");
    close_backend(&backend);
    if (!may_be_set) skip();
    assert_int_equal(result.status, TARN_STATUS_OUT_OF_HOST_MEMORY);
    assert_ptr_equal(address, &nowhere);
    assert_int_equal(call_count, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_do_not_wait_for_the_default_one),
        cmocka_unit_test(events_keep_no_time),
        cmocka_unit_test(pinned_memory_is_for_all_devices),
        cmocka_unit_test(a_stream_goes_though_its_work_failed),
        cmocka_unit_test(versions_are_the_drivers_and_the_runtimes),
        cmocka_unit_test(addresses_are_no_better_than_promised),
        cmocka_unit_test(one_piece_is_no_larger_than_what_there_is),
        cmocka_unit_test(a_device_is_asked_what_it_has_itself),
        cmocka_unit_test(pinned_memory_has_one_address_or_is_not_supported),
        cmocka_unit_test(ranges_have_the_smallest_granularity),
        cmocka_unit_test(a_granularity_that_is_no_power_of_two_is_none),
        cmocka_unit_test(errors_have_their_status),
        cmocka_unit_test(an_error_may_have_no_name),
        cmocka_unit_test(opening_tells_the_vendors_sentence),
        cmocka_unit_test(an_error_of_the_applications_stays),
        cmocka_unit_test(a_size_that_the_driver_dislikes_is_too_large),
        cmocka_unit_test(a_mapping_that_is_none_is_refused),
        cmocka_unit_test(where_no_thread_can_be_made_nothing_is_called),
    };
    int failed_count = cmocka_run_group_tests_name("CUDA's own ways", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
