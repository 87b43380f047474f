/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sim_cuda: what CUDA does and no other vendor, and how the backend asks CUDA for things. */
#define _GNU_SOURCE /* pthread_setattr_default_np */
#include <pthread.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "harness/claims.h"
#include "../sim_control.h"
#include "tarn/cuda.h"

#define MIB ((size_t)1 << 20)

static tarn_backend backend; /* the test's, and closed at its end */
static tarn_device_properties properties;

static void open_backend(int device, tarn_memory_kind kind)
{
    expect_ok(tarn_cuda_backend_open(device, kind, &backend));
    expect_done(backend, get_properties, &properties);
}

static void close_backend(void)
{
    tarn_backend_close(&backend);
    backend = (tarn_backend){ NULL, NULL };
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
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

static void expect_opening(tarn_status expected, int device, tarn_memory_kind kind)
{
    tarn_backend opened = { NULL, NULL };
    assert_int_equal(tarn_cuda_backend_open(device, kind, &opened), expected);
    tarn_backend_close(&opened);
}

/* --- how things are asked for ------------------------------------------------------------------ */

static void streams_do_not_wait_for_the_default_one(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    tarn_stream stream = NULL;
    unsigned flags = 0;
    expect_done(backend, stream_create, &stream);
    assert_int_equal(cudaStreamGetFlags(stream, &flags), cudaSuccess);
    assert_int_equal(flags, cudaStreamNonBlocking);
    expect_done(backend, stream_destroy, stream);
}

static void events_keep_no_time(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    tarn_event event = NULL;
    float milliseconds;
    expect_done(backend, event_create, &event);
    expect_done(backend, event_record, event, NULL);
    expect_done(backend, event_synchronize, event);
    assert_int_equal(cudaEventElapsedTime(&milliseconds, event, event),
                     cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    expect_done(backend, event_destroy, event);
}

static void pinned_memory_is_for_all_devices(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_PINNED);
    void *address = NULL;
    unsigned flags = 0;
    expect_done(backend, acquire, 1000, &address);
    assert_int_equal(cudaHostGetFlags(&flags, address), cudaSuccess);
    assert_int_equal(flags, cudaHostAllocPortable | cudaHostAllocMapped);
    expect_done(backend, release, address, 1000);
}

/* Its work failed, and it was waited for. */
static void a_stream_goes_though_its_work_failed(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    tarn_stream stream = NULL;
    expect_done(backend, stream_create, &stream);
    sim_fail_calls("cudaStreamSynchronize", 1, 1, SIM_STATUS_UNKNOWN);
    expect_operation(TARN_STATUS_VENDOR_ERROR, backend, stream_destroy, stream);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(sim_alive(SIM_THING_STREAM), 0);
}

/* --- what it says of the device ---------------------------------------------------------------- */

static void versions_are_the_drivers_and_the_runtimes(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    int driver = 0, runtime = 0;
    assert_int_equal(cudaDriverGetVersion(&driver), cudaSuccess);
    assert_int_equal(cudaRuntimeGetVersion(&runtime), cudaSuccess);
    assert_int_not_equal(driver, runtime);
    assert_int_equal(properties.driver_version, driver);
    assert_int_equal(properties.runtime_version, runtime);
}

/* The programming guide promises 256, and a device that does no better shows whether more is said. */
static void addresses_are_no_better_than_promised(void **state)
{
    SIM_SET(alignment_bytes, 256);
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    void *address = NULL;
    expect_done(backend, acquire, 1000, &address);
    assert_int_equal((uintptr_t)address % 512, 256);
    assert_int_equal((uintptr_t)address % properties.alignment_bytes, 0);
    expect_done(backend, release, address, 1000);
}

static void one_piece_is_no_larger_than_what_there_is(void **state)
{
    static const tarn_memory_kind kinds[] = { TARN_MEMORY_KIND_DEVICE, TARN_MEMORY_KIND_PINNED,
                                              TARN_MEMORY_KIND_SHARED };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        sim_reset();
        SIM_SET(memory_bytes, 123 * MIB);
        open_backend(0, kinds[i]);
        tarn_memory_info info = { 0, 0 };
        expect_done(backend, query_memory, &info);
        /* Pinned memory is the host's, and shared memory may lie in either. */
        assert_int_equal(info.total_bytes == 123 * MIB, kinds[i] == TARN_MEMORY_KIND_DEVICE);
        assert_int_equal(properties.allocation_bytes_max, info.total_bytes);
        close_backend();
    }
}

static void a_device_is_asked_what_it_has_itself(void **state)
{
    for (int poor = 0; poor < 2; poor++) {
        sim_reset();
        SIM_SET(poor_device, poor);
        for (int device = 0; device < 2; device++) {
            bool is_poor = device == poor;
            tarn_status expected = is_poor ? TARN_STATUS_NOT_SUPPORTED : TARN_STATUS_OK;
            expect_opening(expected, device, TARN_MEMORY_KIND_PINNED);
            expect_opening(expected, device, TARN_MEMORY_KIND_SHARED);
            open_backend(device, TARN_MEMORY_KIND_DEVICE);
            assert_int_equal(properties.range_granularity_bytes == 0, is_poor);
            close_backend();
        }
    }
}

static void pinned_memory_has_one_address_or_is_not_supported(void **state)
{
    SIM_SET(has_one_address, false);
    expect_opening(TARN_STATUS_NOT_SUPPORTED, 0, TARN_MEMORY_KIND_PINNED);
    expect_opening(TARN_STATUS_OK, 0, TARN_MEMORY_KIND_DEVICE);
    expect_opening(TARN_STATUS_OK, 0, TARN_MEMORY_KIND_SHARED);
}

/* The smallest; the face recommends a larger one. */
static void ranges_have_the_smallest_granularity(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    assert_int_equal(properties.range_granularity_bytes,
                     sim_get_settings().range_granularity_bytes);
}

static void a_granularity_that_is_no_power_of_two_is_none(void **state)
{
    SIM_SET(range_granularity_bytes, 3 * MIB);
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    assert_int_equal(properties.range_granularity_bytes, 0);
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
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tarn_memory_info info;
        sim_fail_calls("cudaMemGetInfo", 1, 1, SIM_STATUS_OF_VENDOR(rows[i].error));
        tarn_backend_result result = backend.operations->query_memory(backend.state, &info);
        assert_int_equal(sim_fault_count(), 1);
        assert_int_equal(result.status, rows[i].status);
        assert_int_equal(result.vendor_code, rows[i].error);
    }
}

/* A driver that does not tell the name of an error still has its code. */
static void an_error_may_have_no_name(void **state)
{
    sim_fail_calls("cudaGetDriverEntryPointByVersion", 1, 1, SIM_STATUS_UNKNOWN);
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    assert_int_equal(sim_fault_count(), 1);
    void *range = NULL;
    sim_fail_calls("cuMemAddressReserve", 1, 1, SIM_STATUS_UNKNOWN);
    tarn_backend_result result = backend.operations->range_reserve(backend.state, 2 * MIB, &range);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(result.status, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(result.vendor_code, cudaErrorUnknown);
    assert_null(result.vendor_name);
}

static void opening_tells_the_vendors_sentence(void **state)
{
    SIM_SET(device_count, 0);
    expect_opening(TARN_STATUS_NO_DEVICE, 0, TARN_MEMORY_KIND_DEVICE);
    assert_non_null(strstr(tarn_last_error().message, cudaGetErrorString(cudaErrorNoDevice)));
}

/* What the application did wrong before is for the application to find. */
static void an_error_of_the_applications_stays(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    void *address = NULL;
    assert_int_equal(cudaSetDevice(99), cudaErrorInvalidDevice);
    expect_done(backend, acquire, 1000, &address);
    expect_done(backend, release, address, 1000);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
}

/* --- ranges ------------------------------------------------------------------------------------ */

static void *reserve(size_t size_bytes)
{
    void *range = NULL;
    expect_done(backend, range_reserve, size_bytes, &range);
    return range;
}

/* Some driver may call a size that is too large for it an invalid one. */
static void a_size_that_the_driver_dislikes_is_too_large(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    void *range = NULL;
    sim_fail_calls("cuMemAddressReserve", 1, 1, SIM_STATUS_INVALID_VALUE);
    tarn_backend_result result = backend.operations->range_reserve(backend.state, 2 * MIB, &range);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(result.status, TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(result.vendor_code, cudaErrorInvalidValue);
    assert_null(range);
}

/* The driver does not survive that memory which is gone is mapped. */
static void a_mapping_that_is_none_is_refused(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    const tarn_backend_operations *operations = backend.operations;
    void *device = backend.state;
    unsigned char *range = reserve(4 * MIB);
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
    open_backend(1, TARN_MEMORY_KIND_DEVICE);
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
    close_backend();
    if (!may_be_set) skip();
    assert_int_equal(result.status, TARN_STATUS_OUT_OF_HOST_MEMORY);
    assert_ptr_equal(address, &nowhere);
    assert_int_equal(call_count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(streams_do_not_wait_for_the_default_one),
        TEST(events_keep_no_time),
        TEST(pinned_memory_is_for_all_devices),
        TEST(a_stream_goes_though_its_work_failed),
        TEST(versions_are_the_drivers_and_the_runtimes),
        TEST(addresses_are_no_better_than_promised),
        TEST(one_piece_is_no_larger_than_what_there_is),
        TEST(a_device_is_asked_what_it_has_itself),
        TEST(pinned_memory_has_one_address_or_is_not_supported),
        TEST(ranges_have_the_smallest_granularity),
        TEST(a_granularity_that_is_no_power_of_two_is_none),
        TEST(errors_have_their_status),
        TEST(an_error_may_have_no_name),
        TEST(opening_tells_the_vendors_sentence),
        TEST(an_error_of_the_applications_stays),
        TEST(a_size_that_the_driver_dislikes_is_too_large),
        TEST(a_mapping_that_is_none_is_refused),
        TEST(where_no_thread_can_be_made_nothing_is_called),
    };
    int failed_count = cmocka_run_group_tests_name("CUDA's own ways", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
