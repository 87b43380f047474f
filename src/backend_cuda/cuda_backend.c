/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_backend: opening the CUDA backend, and the kinds of memory of a CUDA device. */
#include "tarn/cuda.h"

#include "cuda_device.h"

void tn_runtime_own_init(struct tn_runtime_device *device)
{
    tn_cuda_find_driver(&((struct tn_cuda_device *)device)->driver);
}

tn_runtime_error tn_runtime_find_kind(int number, const tn_runtime_properties *properties,
                                      tarn_memory_kind kind, bool *has_kind_out)
{
    (void)number;
    *has_kind_out = kind == TARN_MEMORY_KIND_DEVICE ||
                    (kind == TARN_MEMORY_KIND_PINNED && properties->canMapHostMemory &&
                     properties->unifiedAddressing) ||
                    (kind == TARN_MEMORY_KIND_SHARED && properties->managedMemory);
    return cudaSuccess;
}

tn_runtime_error tn_runtime_find_spilling(int number, const tn_runtime_properties *properties,
                                          bool *spills_to_host_out)
{
    (void)number;
    *spills_to_host_out = properties->concurrentManagedAccess && !properties->integrated;
    return cudaSuccess;
}

tarn_status tarn_cuda_backend_open(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    return tn_runtime_open("tarn_cuda_backend_open", sizeof(struct tn_cuda_device), device, kind,
                           backend_out);
}
