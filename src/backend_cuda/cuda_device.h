/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_device: what CUDA's backend has besides backend_cuda_hip.
 *
 *     cuda_vendor.c    contexts, names of errors, numbers
 *     cuda_backend.c   the driver's library; opening
 *     cuda_watch.c     tells a tool which memory may be touched
 */
#ifndef TN_CUDA_DEVICE_H
#define TN_CUDA_DEVICE_H

#include "../backend_cuda_hip/gpu_device.h"

/* Of CUdevice_attribute. */
enum {
    TN_CUDA_TEXTURE_ALIGNMENT = 14,
    TN_CUDA_INTEGRATED = 18,
    TN_CUDA_CAN_MAP_HOST_MEMORY = 19,
    TN_CUDA_UNIFIED_ADDRESSING = 41,
    TN_CUDA_MANAGED_MEMORY = 83,
    TN_CUDA_CONCURRENT_MANAGED_ACCESS = 89,
    TN_CUDA_VIRTUAL_MEMORY_MANAGEMENT = 102,
    TN_CUDA_HANDLE_IS_FILE_DESCRIPTOR = 103,
    TN_CUDA_RDMA_WITH_VIRTUAL_MEMORY = 110
};

/* --- cuda_backend.c: for backends.c -------------------------------------------------------------- */

tarn_status tn_cuda_device_count(int *count_out);
tarn_status tn_cuda_current_device(int *device_out);

/* --- cuda_watch.c -------------------------------------------------------------------------------- */

/* Gives a device that is being opened its watch operations, if it has any. Its context is current. */
void tn_cuda_watch_open(struct tn_gpu_device *device);

#endif
