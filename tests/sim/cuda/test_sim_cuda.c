/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sim_cuda: what CUDA does and no other vendor, and how the backend asks CUDA for things. */
#include <string.h>

#include <cuda.h>
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
    sim_fail_calls("cuStreamSynchronize", 1, 1, SIM_STATUS_UNKNOWN);
    expect_operation(TARN_STATUS_VENDOR_ERROR, backend, stream_destroy, stream);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(sim_alive(SIM_THING_STREAM), 0);
}

/* --- what it says of the device ---------------------------------------------------------------- */

static void the_version_is_the_drivers(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    int version = 0;
    assert_int_equal(cuDriverGetVersion(&version), CUDA_SUCCESS);
    assert_int_equal(properties.driver_version, version);
    assert_int_equal(properties.runtime_version, 0);
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
        CUresult error;
        tarn_status status;
    } rows[] = {
        { CUDA_ERROR_OUT_OF_MEMORY, TARN_STATUS_OUT_OF_MEMORY },
        { CUDA_ERROR_NOT_READY, TARN_STATUS_NOT_READY },
        { CUDA_ERROR_NO_DEVICE, TARN_STATUS_NO_DEVICE },
        { CUDA_ERROR_STUB_LIBRARY, TARN_STATUS_NO_DEVICE },
        { CUDA_ERROR_SYSTEM_NOT_READY, TARN_STATUS_NO_DEVICE },
        { CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, TARN_STATUS_NO_DEVICE },
        { CUDA_ERROR_INVALID_DEVICE, TARN_STATUS_INVALID_DEVICE },
        { CUDA_ERROR_INVALID_VALUE, TARN_STATUS_INVALID_ARGUMENT },
        { CUDA_ERROR_INVALID_HANDLE, TARN_STATUS_INVALID_ARGUMENT },
        { CUDA_ERROR_NOT_SUPPORTED, TARN_STATUS_NOT_SUPPORTED },
        { CUDA_ERROR_DEINITIALIZED, TARN_STATUS_VENDOR_ERROR },
        { CUDA_ERROR_ECC_UNCORRECTABLE, TARN_STATUS_VENDOR_ERROR },
        { CUDA_ERROR_CONTEXT_IS_DESTROYED, TARN_STATUS_VENDOR_ERROR },
        { CUDA_ERROR_INVALID_CONTEXT, TARN_STATUS_VENDOR_ERROR },
        { CUDA_ERROR_ILLEGAL_ADDRESS, TARN_STATUS_VENDOR_ERROR },
        { CUDA_ERROR_NOT_INITIALIZED, TARN_STATUS_VENDOR_ERROR },
        { CUDA_ERROR_UNKNOWN, TARN_STATUS_VENDOR_ERROR },
    };
    sim_reset();
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tarn_memory_info info;
        sim_fail_calls("cuMemGetInfo", 1, 1, SIM_STATUS_OF_VENDOR(rows[i].error));
        tarn_backend_result result = backend.operations->query_memory(backend.state, &info);
        assert_int_equal(sim_fault_count(), 1);
        assert_int_equal(result.status, rows[i].status);
        assert_int_equal(result.vendor_code, rows[i].error);
        sim_forget_faults();
    }
}

/* One that the driver has no name for still has its code. */
static void an_error_may_have_no_name(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    void *range = NULL;
    sim_fail_calls("cuMemAddressReserve", 1, 1, SIM_STATUS_OF_VENDOR(12345));
    tarn_backend_result result = backend.operations->range_reserve(backend.state, 2 * MIB, &range);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(result.status, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(result.vendor_code, 12345);
    assert_null(result.vendor_name);
}

static void opening_tells_the_vendors_sentence(void **state)
{
    const char *sentence;
    SIM_SET(device_count, 0);
    expect_opening(TARN_STATUS_NO_DEVICE, 0, TARN_MEMORY_KIND_DEVICE);
    assert_int_equal(cuGetErrorString(CUDA_ERROR_NO_DEVICE, &sentence), CUDA_SUCCESS);
    assert_non_null(strstr(tarn_last_error().message, sentence));
}

/* What the application did wrong before is for the application to find, and what tarn's calls were answered is not. */
static void an_error_of_the_applications_stays(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    void *address = NULL;
    assert_int_equal(cudaSetDevice(99), cudaErrorInvalidDevice);
    expect_done(backend, acquire, 1000, &address);
    expect_done(backend, release, address, 1000);
    sim_fail_calls("cuMemAlloc", 1, 1, SIM_STATUS_OUT_OF_MEMORY);
    expect_operation(TARN_STATUS_OUT_OF_MEMORY, backend, acquire, 1000, &address);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
}

/* --- contexts ---------------------------------------------------------------------------------- */

static CUcontext current_context(void)
{
    CUcontext context = NULL;
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuCtxGetCurrent(&context), CUDA_SUCCESS);
    return context;
}

static bool has_context(int device)
{
    unsigned flags;
    int is_active = 0;
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxGetState(device, &flags, &is_active), CUDA_SUCCESS);
    return is_active != 0;
}

static void the_context_is_kept_while_the_backend_is_open(void **state)
{
    assert_false(has_context(1));
    open_backend(1, TARN_MEMORY_KIND_DEVICE);
    assert_true(has_context(1));
    assert_false(has_context(0));
    close_backend();
    assert_false(has_context(1));
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    open_backend(1, TARN_MEMORY_KIND_DEVICE);
    close_backend();
    assert_true(has_context(1)); /* the program's */
}

/* Opening that fails gives the context back. */
static void what_is_not_opened_keeps_nothing(void **state)
{
    sim_fail_calls("cuDeviceTotalMem", 1, 1, SIM_STATUS_UNKNOWN);
    expect_opening(TARN_STATUS_VENDOR_ERROR, 0, TARN_MEMORY_KIND_DEVICE);
    assert_int_equal(sim_fault_count(), 1);
    assert_false(has_context(0));
}

static void a_thread_keeps_its_context_and_its_lack_of_one(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    void *address = NULL;
    int device = -1;
    expect_done(backend, acquire, 1000, &address);
    assert_null(current_context());
    expect_ok(tarn_backend_current_device(&device));
    assert_int_equal(device, 0);
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    CUcontext context = current_context();
    expect_done(backend, release, address, 1000);
    expect_operation(TARN_STATUS_INVALID_ARGUMENT, backend, release, address, 1000);
    assert_ptr_equal(current_context(), context);
    expect_ok(tarn_backend_current_device(&device));
    assert_int_equal(device, 1);
}

static CUcontext make_green_current(void)
{
    CUgreenCtx green;
    CUcontext context;
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuGreenCtxCreate(&green, NULL, 0, 0), CUDA_SUCCESS);
    assert_int_equal(cuCtxFromGreenCtx(&context, green), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(context), CUDA_SUCCESS);
    return context;
}

/* The work is the primary context's, and an event of the green one would not cover it. */
static void an_event_for_all_streams_is_of_the_primary_context(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    tarn_stream stream = NULL;
    tarn_event event = NULL;
    void *address = NULL;
    expect_done(backend, stream_create, &stream);
    expect_done(backend, acquire, 1000, &address);
    CUcontext green = make_green_current();
    expect_done(backend, event_create, &event);
    expect_done(backend, fill, address, 1, 1000, stream);
    expect_done(backend, event_record_device, event);
    assert_int_equal(sim_pending_count() > 0, 1);
    expect_done(backend, event_synchronize, event);
    unsigned char first = 0;
    assert_true(sim_peek(&first, address, 1));
    assert_int_equal(first, 1);
    assert_ptr_equal(current_context(), green);
    expect_done(backend, event_destroy, event);
    expect_done(backend, stream_destroy, stream);
    expect_done(backend, release, address, 1000);
}

/* The same with a pool: what nobody has named a stream for serves again when the primary context's work is done. */
static void unnamed_frees_wait_for_the_primary_context(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.free_waits = true;
    options.initial_bytes = MIB;
    options.limit_bytes = MIB;
    tarn_pool *pool = new_pool(&options);
    tarn_stream stream = NULL;
    expect_done(backend, stream_create, &stream);
    void *block = NULL, *again = NULL;
    (void)make_green_current();
    expect_ok(tarn_pool_alloc(pool, MIB, &block));
    expect_done(backend, fill, block, 1, MIB, stream);
    expect_ok(tarn_pool_free(pool, block));
    expect_ok(tarn_pool_alloc(pool, MIB, &again));
    unsigned char first = 0;
    assert_true(sim_peek(&first, again, 1));
    assert_int_equal(first, 1);
    expect_ok(tarn_pool_free(pool, again));
    expect_ok(tarn_pool_destroy(pool));
    expect_done(backend, stream_destroy, stream);
}

/* A reset ends the context for all who had retained it. The next one is others'. */
static void a_reset_releases_a_context_for_nobody(void **state)
{
    open_backend(0, TARN_MEMORY_KIND_DEVICE);
    assert_int_equal(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    assert_false(has_context(0));
    void *address = NULL;
    tarn_backend_result result = backend.operations->acquire(backend.state, 1000, &address);
    assert_int_equal(result.status, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(result.vendor_code, CUDA_ERROR_CONTEXT_IS_DESTROYED);

    tarn_backend next;
    expect_ok(tarn_cuda_backend_open(0, TARN_MEMORY_KIND_DEVICE, &next));
    close_backend();
    assert_true(has_context(0));
    expect_done(next, acquire, 1000, &address);
    expect_done(next, release, address, 1000);
    tarn_backend_close(&next);
    assert_false(has_context(0));
}

/* --- ranges ------------------------------------------------------------------------------------ */

static void memory_of_ranges_is_for_rdma_where_the_device_has_it(void **state)
{
    for (int has_rdma = 0; has_rdma < 2; has_rdma++) {
        sim_reset();
        SIM_SET(has_rdma, has_rdma);
        open_backend(0, TARN_MEMORY_KIND_DEVICE);
        void *range = NULL;
        tarn_mapping mapping = NULL;
        expect_done(backend, range_reserve, 2 * MIB, &range);
        expect_done(backend, range_map, range, 2 * MIB, &mapping);
        assert_int_equal(sim_call_count("cuMemCreate"), 1);
        assert_int_equal(sim_call_count("cuMemCreate for RDMA"), has_rdma);
        expect_done(backend, range_unmap, range, 2 * MIB, mapping);
        expect_done(backend, range_release, range, 2 * MIB);
        close_backend();
    }
}

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(streams_do_not_wait_for_the_default_one),
        TEST(events_keep_no_time),
        TEST(pinned_memory_is_for_all_devices),
        TEST(a_stream_goes_though_its_work_failed),
        TEST(the_version_is_the_drivers),
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
        TEST(the_context_is_kept_while_the_backend_is_open),
        TEST(what_is_not_opened_keeps_nothing),
        TEST(a_thread_keeps_its_context_and_its_lack_of_one),
        TEST(an_event_for_all_streams_is_of_the_primary_context),
        TEST(unnamed_frees_wait_for_the_primary_context),
        TEST(a_reset_releases_a_context_for_nobody),
        TEST(memory_of_ranges_is_for_rdma_where_the_device_has_it),
        TEST(a_size_that_the_driver_dislikes_is_too_large),
        TEST(a_mapping_that_is_none_is_refused),
    };
    int failed_count = cmocka_run_group_tests_name("CUDA's own ways", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
