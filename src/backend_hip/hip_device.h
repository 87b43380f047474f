/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_device: what HIP's backend has besides backend_cuda_hip.
 *
 *     hip_vendor.c    devices in place of contexts, the last error, numbers
 *     hip_backend.c   the runtime's library; opening
 */
#ifndef TN_HIP_DEVICE_H
#define TN_HIP_DEVICE_H

#include "../backend_cuda_hip/gpu_device.h"

/* Of hipDeviceAttribute_t. HIP 5.2 has no name for the last one, and does not know it: it has no ranges. */
enum {
    TN_HIP_CAN_MAP_HOST_MEMORY = 3,
    TN_HIP_CONCURRENT_MANAGED_ACCESS = 9,
    TN_HIP_INTEGRATED = 16,
    TN_HIP_MANAGED_MEMORY = 24,
    TN_HIP_TEXTURE_ALIGNMENT = 81,
    TN_HIP_VIRTUAL_MEMORY_MANAGEMENT = 89
};

/* --- hip_backend.c: for backends.c --------------------------------------------------------------- */

tarn_status tn_hip_device_count(int *count_out);
tarn_status tn_hip_current_device(int *device_out);

#endif
