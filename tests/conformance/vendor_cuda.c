/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_cuda: CUDA's kinds of memory, and what only its runtime can tell. */
#include "conformance.h"

#include <string.h>

#include <cuda.h> /* types alone; the driver is not linked */
#include <cuda_runtime_api.h>

#include "tarn/cuda.h"

/* --- targets ----------------------------------------------------------------------------------- */

static tarn_status open_device(tarn_backend *backend_out)
{
    return tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, backend_out);
}

static tarn_status open_pinned(tarn_backend *backend_out)
{
    return tarn_cuda_backend_open(0, TARN_MEMORY_KIND_PINNED, backend_out);
}

static tarn_status open_shared(tarn_backend *backend_out)
{
    return tarn_cuda_backend_open(0, TARN_MEMORY_KIND_SHARED, backend_out);
}

static const struct target targets[] = {
    { .name = "cuda, device memory", .kind = TARN_MEMORY_KIND_DEVICE, .open = open_device },
    { .name = "cuda, pinned memory", .kind = TARN_MEMORY_KIND_PINNED, .open = open_pinned },
    { .name = "cuda, shared memory", .kind = TARN_MEMORY_KIND_SHARED, .open = open_shared },
};

/* --- what the runtime tells -------------------------------------------------------------------- */

static int current_device(void)
{
    int device;
    if (cudaGetDevice(&device) == cudaSuccess) return device;
    cudaGetLastError();
    return -1;
}

static const char *take_last_error(void)
{
    cudaError_t error = cudaGetLastError();
    /* Without a driver this is the answer to every question, the one just asked included. */
    if (error == cudaSuccess || error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice)
        return NULL;
    return cudaGetErrorName(error);
}

/* --- memory of another process ------------------------------------------------------------------ */

#if CUDART_VERSION >= 12050

static void find_driver_function(const char *name, void *function_out)
{
    enum cudaDriverEntryPointQueryResult found;
    void *entry = NULL;
    assert_int_equal(
        cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found),
        cudaSuccess);
    assert_int_equal(found, cudaDriverEntryPointSuccess);
    memcpy(function_out, &entry, sizeof entry);
}

/* Declares driver_NAME, a pointer to the driver's function, which is not linked. */
#define DRIVER_FUNCTION(name)        \
    __typeof__(name) *driver_##name; \
    find_driver_function(#name, (void *)&driver_##name)

static void *import_memory(int file_descriptor, size_t size_bytes)
{
    DRIVER_FUNCTION(cuMemImportFromShareableHandle);
    DRIVER_FUNCTION(cuMemAddressReserve);
    DRIVER_FUNCTION(cuMemMap);
    DRIVER_FUNCTION(cuMemRelease);
    DRIVER_FUNCTION(cuMemSetAccess);
    CUmemGenericAllocationHandle imported;
    CUdeviceptr address;
    const CUmemAccessDesc access = {
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    assert_int_equal(
        driver_cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)file_descriptor,
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        CUDA_SUCCESS);
    assert_int_equal(driver_cuMemAddressReserve(&address, size_bytes, 0, 0, 0), CUDA_SUCCESS);
    assert_int_equal(driver_cuMemMap(address, size_bytes, 0, imported, 0), CUDA_SUCCESS);
    assert_int_equal(driver_cuMemSetAccess(address, size_bytes, &access, 1), CUDA_SUCCESS);
    assert_int_equal(driver_cuMemRelease(imported), CUDA_SUCCESS);
    return (void *)(uintptr_t)address;
}

static void forget_memory(void *address, size_t size_bytes)
{
    DRIVER_FUNCTION(cuMemUnmap);
    DRIVER_FUNCTION(cuMemAddressFree);
    assert_int_equal(driver_cuMemUnmap((CUdeviceptr)(uintptr_t)address, size_bytes), CUDA_SUCCESS);
    assert_int_equal(driver_cuMemAddressFree((CUdeviceptr)(uintptr_t)address, size_bytes),
                     CUDA_SUCCESS);
}

#else

#define import_memory NULL
#define forget_memory NULL

#endif

/* --- devices other than the current one -------------------------------------------------------- */

#if CUDART_VERSION >= 12050

static void require_two_devices(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess && count >= 2) return;
    cudaGetLastError();
    print_message("cuda: needs two devices, and there are %d\n", count);
    skip();
}

static bool has_context(int device)
{
    CUresult (*get_state)(CUdevice, unsigned *, int *) = NULL;
    enum cudaDriverEntryPointQueryResult found;
    void *entry = NULL;
    assert_int_equal(cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &entry, 12000,
                                                      cudaEnableDefault, &found),
                     cudaSuccess);
    assert_int_equal(found, cudaDriverEntryPointSuccess);
    memcpy(&get_state, &entry, sizeof entry);
    unsigned flags;
    int is_active = 0;
    assert_int_equal(get_state(device, &flags, &is_active), CUDA_SUCCESS);
    return is_active != 0;
}

/* Uses every kind of operation on the device. */
static void use_device(int number)
{
    tarn_backend backend;
    assert_int_equal(tarn_cuda_backend_open(number, TARN_MEMORY_KIND_DEVICE, &backend),
                     TARN_STATUS_OK);
    struct target target = { .name = "cuda, another device" };
    fixture_set_target(&target);
    const struct fixture fixture = {
        .target = &target,
        .backend = backend,
        .operations = backend.operations,
        .state = backend.state,
    };
    size_t size_bytes = (size_t)1 << 20;
    void *address = acquire(&fixture, size_bytes);
    tarn_stream stream = create_stream(&fixture);
    tarn_event event = create_event(&fixture);
    fill(&fixture, address, 5, size_bytes, stream);
    record_event(&fixture, event, stream);
    make_wait(&fixture, NULL, event);
    expect_bytes(&fixture, address, size_bytes, 5);
    EXPECT_OK(fixture.operations->event_query(fixture.state, event));
    destroy_event(&fixture, event);
    destroy_stream(&fixture, stream);
    release(&fixture, address, size_bytes);
    tarn_backend_close(&backend);
}

/* Must be the first to use a device in the process, since a context stays. */
static void no_other_device_gets_a_context(void **state)
{
    require_two_devices();
    assert_int_equal(current_device(), 0);
    assert_false(has_context(0));
    assert_false(has_context(1));
    use_device(1);
    assert_int_equal(current_device(), 0);
    assert_true(has_context(1));
    assert_false(has_context(0));
}

static void expect_memory_of(int number)
{
    tarn_backend backend;
    assert_int_equal(tarn_cuda_backend_open(number, TARN_MEMORY_KIND_DEVICE, &backend),
                     TARN_STATUS_OK);
    void *address = NULL;
    assert_int_equal(backend.operations->acquire(backend.state, 4096, &address).status,
                     TARN_STATUS_OK);
    struct cudaPointerAttributes attributes;
    assert_int_equal(cudaPointerGetAttributes(&attributes, address), cudaSuccess);
    assert_int_equal(attributes.device, number);
    assert_int_equal(backend.operations->release(backend.state, address, 4096).status,
                     TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

static void another_current_device_stays_current(void **state)
{
    require_two_devices();
    for (int current = 0; current < 2; current++) {
        int other = 1 - current;
        assert_int_equal(cudaSetDevice(current), cudaSuccess);
        use_device(other);
        expect_memory_of(other);
        assert_int_equal(current_device(), current);
    }
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

static tarn_backend open_on(int number)
{
    tarn_backend backend;
    assert_int_equal(tarn_cuda_backend_open(number, TARN_MEMORY_KIND_DEVICE, &backend),
                     TARN_STATUS_OK);
    return backend;
}

static void a_stream_of_another_device_is_told(void **state)
{
    require_two_devices();
    tarn_backend backends[2] = { open_on(0), open_on(1) };
    tarn_stream streams[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            backends[i].operations->stream_create(backends[i].state, &streams[i]).status,
            TARN_STATUS_OK);
    for (int i = 0; i < 4; i++) {
        const tarn_backend *backend = &backends[i / 2];
        tarn_backend_result result =
            backend->operations->stream_check(backend->state, streams[i % 2]);
        bool is_own = i / 2 == i % 2;
        assert_int_equal(result.status, is_own ? TARN_STATUS_OK : TARN_STATUS_INVALID_ARGUMENT);
        assert_int_equal(result.vendor_name == NULL, is_own);
    }
    for (int i = 0; i < 2; i++) {
        backends[i].operations->stream_destroy(backends[i].state, streams[i]);
        tarn_backend_close(&backends[i]);
    }
}

static int run_vendor_tests(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_device_gets_a_context),
        cmocka_unit_test(another_current_device_stays_current),
        cmocka_unit_test(a_stream_of_another_device_is_told),
    };
    return cmocka_run_group_tests_name("cuda, two devices", tests, NULL, NULL);
}

#else

static int run_vendor_tests(void)
{
    print_message("cuda: whether a device has a context is asked with CUDA 12.5 or newer\n");
    return 0;
}

#endif

const struct vendor vendor = {
    .name = "cuda",
    .targets = targets,
    .target_count = sizeof targets / sizeof *targets,
    .current_device = current_device,
    .take_last_error = take_last_error,
    .run_own_tests = run_vendor_tests,
    .import_memory = import_memory,
    .forget_memory = forget_memory,
};
