/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_cuda: CUDA's face of the simulated devices.
 *
 *     sim_cuda_runtime.c   those of libcudart's functions that HIP has otherwise; the others are in sim_runtime.h
 *     sim_cuda_driver.c    those of libcuda; both are in one library, which has both names
 *
 * They are compiled against the vendor's headers, so that prototypes are checked.
 */
#ifndef SIM_CUDA_H
#define SIM_CUDA_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "../sim_device.h"

/* The names of sim_runtime.h. Runtime and driver number their errors alike. */
#define RUNTIME(name) cuda##name
typedef cudaError_t runtime_error;
typedef cudaStream_t runtime_stream;
typedef cudaEvent_t runtime_event;
typedef enum cudaStreamCaptureMode runtime_capture_mode;
typedef cudaMemPool_t runtime_pool;
typedef enum cudaMemPoolAttr runtime_pool_attribute;
typedef struct cudaMemPoolProps runtime_pool_properties;

#define RUNTIME_STREAM_LEGACY      cudaStreamLegacy
#define RUNTIME_HAS_STREAM_ID      (CUDART_VERSION >= 12000)
#define RUNTIME_NO_STREAM          cudaErrorInvalidResourceHandle
#define RUNTIME_UNKNOWN_NAME       "unrecognized error code"
#define RUNTIME_UNKNOWN_SENTENCE   "unrecognized error code"
#define RUNTIME_ERROR_STAYS(error) ((error) != cudaSuccess && (error) != cudaErrorNotReady)

#define RUNTIME_ERRORS(X)                \
    X(cudaSuccess)                       \
    X(cudaErrorInvalidValue)             \
    X(cudaErrorMemoryAllocation)         \
    X(cudaErrorCudartUnloading)          \
    X(cudaErrorInsufficientDriver)       \
    X(cudaErrorNoDevice)                 \
    X(cudaErrorInvalidDevice)            \
    X(cudaErrorInvalidMemcpyDirection)   \
    X(cudaErrorECCUncorrectable)         \
    X(cudaErrorInvalidResourceHandle)    \
    X(cudaErrorNotReady)                 \
    X(cudaErrorIllegalAddress)           \
    X(cudaErrorLaunchTimeout)            \
    X(cudaErrorContextIsDestroyed)       \
    X(cudaErrorNotSupported)             \
    X(cudaErrorStreamCaptureUnsupported) \
    X(cudaErrorStreamCaptureInvalidated) \
    X(cudaErrorUnknown)

/* The device of the thread's current context; -1: none is current. */
int sim_cuda_current_device(void);

/* From now on the driver's calls work, as after cuInit. */
void sim_cuda_initialize(void);

/* Makes the device's primary context current in the thread, and keeps it. */
sim_status sim_cuda_make_current(int device);

/* Whether work of the current device may be asked for, as far as is known before it runs. */
sim_status sim_runtime_check_fill(cudaStream_t stream, const void *address, size_t size_bytes);
sim_status sim_runtime_check_copy(const void *destination, const void *source, size_t size_bytes);

/* For sim_runtime.c. */
#define RUNTIME_CURRENT_DEVICE(without) \
    (sim_cuda_current_device() >= 0 ? sim_cuda_current_device() : (without))
#define RUNTIME_INITIALIZE() sim_cuda_initialize()
#define RUNTIME_ACTIVATE(device) \
    (sim_cuda_current_device() >= 0 ? sim_device_check(device) : sim_cuda_make_current(device))

#endif
