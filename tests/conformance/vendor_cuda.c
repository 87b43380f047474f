/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_cuda: CUDA's kinds of memory, and what only its runtime can tell. */
#include <string.h>

#include "vendor_runtime.h"

/* --- what the runtime tells -------------------------------------------------------------------- */

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

static bool has_context(int device)
{
    DRIVER_FUNCTION(cuDevicePrimaryCtxGetState);
    unsigned flags;
    int is_active = 0;
    assert_int_equal(driver_cuDevicePrimaryCtxGetState(device, &flags, &is_active), CUDA_SUCCESS);
    return is_active != 0;
}

/* Must be the first to use a device in the process, since a context of the runtime's stays. Tarn's own ends with the backend. */
static void no_other_device_gets_a_context(void **state)
{
    require_two_devices();
    assert_int_equal(current_device(), 0);
    assert_false(has_context(0));
    assert_false(has_context(1));
    tarn_backend backend;
    assert_int_equal(tarn_cuda_backend_open(1, TARN_MEMORY_KIND_DEVICE, &backend), TARN_STATUS_OK);
    use_device(1);
    assert_int_equal(current_device(), 0);
    assert_true(has_context(1));
    assert_false(has_context(0));
    tarn_backend_close(&backend);
    assert_false(has_context(1));
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
    .targets = runtime_targets,
    .target_count = sizeof runtime_targets / sizeof *runtime_targets,
    .current_device = current_device,
    .take_last_error = take_last_error,
    .run_own_tests = run_vendor_tests,
    .import_memory = import_memory,
    .forget_memory = forget_memory,
};
