/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_backend: opening the HIP backend, and the kinds of memory of a HIP device. */
#include "tarn/hip.h"

#include "../backend_cuda_hip/runtime_device.h"

void tn_runtime_own_init(struct tn_runtime_device *device)
{
    (void)device;
}

static hipError_t ask_whether(hipDeviceAttribute_t attribute, int number, bool *is_so_out)
{
    int value = 0;
    hipError_t error = hipDeviceGetAttribute(&value, attribute, number);
    *is_so_out = value != 0;
    return error;
}

/* Asks for attributes: the fields of the properties differ from version to version, and on NVIDIA's
 * platform some are never written. */
tn_runtime_error tn_runtime_find_kind(int number, const tn_runtime_properties *properties,
                                      tarn_memory_kind kind, bool *has_kind_out)
{
    (void)properties;
    if (kind == TARN_MEMORY_KIND_PINNED)
        return ask_whether(hipDeviceAttributeCanMapHostMemory, number, has_kind_out);
    if (kind == TARN_MEMORY_KIND_SHARED)
        return ask_whether(hipDeviceAttributeManagedMemory, number, has_kind_out);
    *has_kind_out = kind == TARN_MEMORY_KIND_DEVICE;
    return hipSuccess;
}

tn_runtime_error tn_runtime_find_spilling(int number, const tn_runtime_properties *properties,
                                          bool *spills_to_host_out)
{
    (void)properties;
    bool is_concurrent = false, is_integrated = false;
    hipError_t error =
        ask_whether(hipDeviceAttributeConcurrentManagedAccess, number, &is_concurrent);
    if (error == hipSuccess)
        error = ask_whether(hipDeviceAttributeIntegrated, number, &is_integrated);
    *spills_to_host_out = is_concurrent && !is_integrated;
    return error;
}

tarn_status tarn_hip_backend_open(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    return tn_runtime_open("tarn_hip_backend_open", sizeof(struct tn_runtime_device), device, kind,
                           backend_out);
}
