/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_device: the part of an open backend that only CUDA has.
 *
 *     cuda_backend.c   opening; the kinds of memory of a device
 *     cuda_event.c     an event for all streams of a device
 *     cuda_range.c     the driver's calls for ranges
 *     cuda_status.c    the driver's functions, status codes, calls where another device is current
 *     cuda_watch.c     tells a tool which memory may be touched
 *
 * Threads: the state does not change while the backend is open, so it needs no lock.
 */
#ifndef TN_CUDA_DEVICE_H
#define TN_CUDA_DEVICE_H

#include <cuda.h> /* types of the driver's functions; none of them is linked */

#include "../backend_cuda_hip/runtime_device.h"

/* Functions of the driver. The driver is not linked, so the runtime hands them out. A function is NULL
 * if the driver or the runtime does not have it. */
struct tn_cuda_driver {
    CUresult (*get_error_name)(CUresult error, const char **name);
    /* Tells whether a device has a context. */
    CUresult (*get_context_state)(CUdevice device, unsigned *flags, int *is_active);
    CUresult (*get_attribute)(int *value, CUdevice_attribute attribute, CUdevice device);
    CUresult (*get_granularity)(size_t *granularity_bytes, const CUmemAllocationProp *memory,
                                CUmemAllocationGranularity_flags option);
    CUresult (*address_reserve)(CUdeviceptr *address, size_t size_bytes, size_t alignment_bytes,
                                CUdeviceptr wanted, unsigned long long flags);
    CUresult (*address_free)(CUdeviceptr address, size_t size_bytes);
    CUresult (*create)(CUmemGenericAllocationHandle *mapping, size_t size_bytes,
                       const CUmemAllocationProp *memory, unsigned long long flags);
    CUresult (*release)(CUmemGenericAllocationHandle mapping);
    CUresult (*map)(CUdeviceptr address, size_t size_bytes, size_t offset_bytes,
                    CUmemGenericAllocationHandle mapping, unsigned long long flags);
    CUresult (*unmap)(CUdeviceptr address, size_t size_bytes);
    CUresult (*set_access)(CUdeviceptr address, size_t size_bytes, const CUmemAccessDesc *access,
                           size_t count);
    CUresult (*get_pointer_attribute)(void *value, CUpointer_attribute attribute,
                                      CUdeviceptr address);
    CUresult (*export_mapping)(void *shared, CUmemGenericAllocationHandle mapping,
                               CUmemAllocationHandleType type, unsigned long long flags);
    CUresult (*get_context)(CUcontext *context);
    CUresult (*record_context)(CUcontext context, CUevent event);
};

struct tn_cuda_device {
    struct tn_runtime_device runtime; /* first: a pointer to it is a pointer to the whole */
    struct tn_cuda_driver driver;
    void *watch_domain; /* an nvtxDomainHandle_t */
};

static inline const struct tn_cuda_driver *tn_cuda_driver_of(const struct tn_runtime_device *device)
{
    return &((const struct tn_cuda_device *)device)->driver;
}

/* --- cuda_status.c ----------------------------------------------------------------------------- */

tarn_backend_result tn_cuda_driver_result(const struct tn_runtime_device *device, CUresult error);

/* Asks the runtime for the driver's functions. A missing function is no failure. */
void tn_cuda_find_driver(struct tn_cuda_driver *driver_out);

#endif
