/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_vendor_hip: what the tests over the simulated devices must know of HIP, on either platform. */

#include <hip/hip_runtime_api.h>

#include "harness/claims.h"
#include "sim_hip_calls.h"

#if defined(__HIP_PLATFORM_AMD__)
#define FILLS_ON_ANY_STREAM true
#else
#define FILLS_ON_ANY_STREAM false
#endif

/* For NVIDIA the names of errors are CUDA's, and calls are counted by CUDA's names. */
#define ERROR(status, hip, cuda)              \
    {                                         \
        SIM_STATUS_##status, hip, #hip, #cuda \
    }

static const struct sim_vendor_error errors[] = {
    ERROR(OUT_OF_MEMORY, hipErrorOutOfMemory, cudaErrorMemoryAllocation),
#if defined(__HIP_PLATFORM_AMD__)
    ERROR(NO_DRIVER, hipErrorNoDevice, ),
#else
    ERROR(NO_DRIVER, hipErrorInsufficientDriver, cudaErrorInsufficientDriver),
#endif
    ERROR(DRIVER_TOO_OLD, hipErrorInsufficientDriver, cudaErrorInsufficientDriver),
    ERROR(NO_DEVICE, hipErrorNoDevice, cudaErrorNoDevice),
    ERROR(WRONG_DEVICE, hipErrorInvalidHandle, cudaErrorInvalidResourceHandle),
    ERROR(UNLOADING, hipErrorDeinitialized, cudaErrorCudartUnloading),
    ERROR(DEVICE_LOST, hipErrorECCNotCorrectable, cudaErrorECCUncorrectable),
    ERROR(CONTEXT_DESTROYED, hipErrorContextIsDestroyed, cudaErrorContextIsDestroyed),
    ERROR(UNKNOWN, hipErrorUnknown, cudaErrorUnknown),
    { 0, 0, NULL, NULL },
};

static const char *const optional_calls[] = {
    /* Sets the thread's device back, too, which may fail when the call itself went well. */
    "hipSetDevice",
    "cudaSetDevice",
    /* Without it the call is made all the same, and a capture may refuse it. */
    "hipThreadExchangeStreamCaptureMode",
    "cudaThreadExchangeStreamCaptureMode",
    /* Memory that can be shared is tried out, and whatever goes wrong says that there is none. */
    "open: hipMemCreate",
    "open: hipMemExportToShareableHandle",
    "open: hipMemRelease",
    "open: cuMemCreate",
    "open: cuMemExportToShareableHandle",
    "open: cuMemRelease",
    "open: cudaGetDriverEntryPointByVersion", /* finds these three */
    NULL,
};

static const char *take_last_error(void)
{
    int count = 0;
    hipError_t error = hipGetLastError();
    if (error == hipSuccess || hipGetDeviceCount(&count) != hipSuccess) return NULL;
    return hipGetErrorName(error);
}

static void set_current_device(int device)
{
    assert_int_equal(hipSetDevice(device), hipSuccess);
}

static int current_device(void)
{
    int device = -1;
    assert_int_equal(hipGetDevice(&device), hipSuccess);
    return device;
}

const struct sim_vendor sim_vendor = {
    .shares = true,
    .synchronizes = true,
    .name = "hip",
    .errors = errors,
    .optional_calls = optional_calls,
    .calls = sim_hip_calls,
    .take_last_error = take_last_error,
    .set_current_device = set_current_device,
    .current_device = current_device,
};
