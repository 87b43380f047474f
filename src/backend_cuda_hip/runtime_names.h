/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * runtime_names: one set of names for the CUDA runtime and the HIP runtime.
 *
 * Both runtimes have the same calls with the same arguments: TN_RUNTIME(StreamDestroy) is
 * cudaStreamDestroy or hipStreamDestroy. A name that differs in more than its prefix is defined here
 * for each vendor. In this folder, only this file includes the header of a vendor or asks for which
 * vendor it is compiled.
 */
#ifndef TN_RUNTIME_NAMES_H
#define TN_RUNTIME_NAMES_H

/* A build for HIP names the platform of HIP. */
#if defined(__HIP_PLATFORM_AMD__) || defined(__HIP_PLATFORM_NVIDIA__)

/* On NVIDIA's platform the build makes the compiler read hip_over_cuda.h first. */
#include <hip/hip_runtime_api.h>

#define TN_RUNTIME(name)            hip##name
#define TN_RUNTIME_VENDOR           "HIP"
#define TN_RUNTIME_BACKEND_NAME     "hip"
#define TN_RUNTIME_HOST_ALLOC       hipHostMalloc
#define TN_RUNTIME_HOST_ALLOC_FLAGS (hipHostMallocPortable | hipHostMallocMapped)
#define TN_RUNTIME_HOST_FREE        hipHostFree

typedef hipDeviceProp_t tn_runtime_properties;
typedef hipStreamCaptureMode tn_runtime_capture_mode;

#ifdef hipStreamLegacy
#define TN_RUNTIME_STREAM_LEGACY hipStreamLegacy
#else
#define TN_RUNTIME_STREAM_LEGACY NULL
#endif

/* HIP numbers streams from 7.2 on. On NVIDIA's platform CUDA numbers them. */
#if HIP_VERSION >= 70200000 || defined(hipStreamGetId)
#define TN_RUNTIME_HAS_STREAM_IDS
#endif

#else

#include <cuda_runtime_api.h>

#define TN_RUNTIME(name)            cuda##name
#define TN_RUNTIME_VENDOR           "CUDA"
#define TN_RUNTIME_BACKEND_NAME     "cuda"
#define TN_RUNTIME_HOST_ALLOC       cudaHostAlloc
#define TN_RUNTIME_HOST_ALLOC_FLAGS (cudaHostAllocPortable | cudaHostAllocMapped)
#define TN_RUNTIME_HOST_FREE        cudaFreeHost
#define TN_RUNTIME_STREAM_LEGACY    cudaStreamLegacy

typedef struct cudaDeviceProp tn_runtime_properties;
typedef enum cudaStreamCaptureMode tn_runtime_capture_mode;

#if CUDART_VERSION >= 12000
#define TN_RUNTIME_HAS_STREAM_IDS
#endif

/* Events for all streams of a device. */
#if CUDART_VERSION >= 12050
#define TN_RUNTIME_HAS_DEVICE_EVENTS
#endif

/* The memory extension of NVTX, which not every toolkit has. */
#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExtMem.h>)
#define TN_RUNTIME_HAS_WATCH
#endif
#endif

#endif

typedef TN_RUNTIME(Error_t) tn_runtime_error;
typedef TN_RUNTIME(Stream_t) tn_runtime_stream;
typedef TN_RUNTIME(Event_t) tn_runtime_event;

#endif
