/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_hip: HIP's face of the simulated devices.
 *
 *     sim_hip_runtime.c   those functions that CUDA has otherwise; the others are in sim_runtime.h
 *     sim_hip_range.c     ranges
 *
 * They are compiled against AMD's headers, so that prototypes are checked.
 */
#ifndef SIM_HIP_H
#define SIM_HIP_H

#include <hip/hip_runtime_api.h>

#include "../sim_device.h"

#if HIP_VERSION < 70200000 /* the first with streams' numbers */
hipError_t hipStreamGetId(hipStream_t stream, unsigned long long *id);
#endif

/* The names of sim_runtime.h. */
#define RUNTIME(name) hip##name
typedef hipError_t runtime_error;
typedef hipStream_t runtime_stream;
typedef hipEvent_t runtime_event;
typedef hipStreamCaptureMode runtime_capture_mode;
typedef hipMemPool_t runtime_pool;
typedef hipMemPoolAttr runtime_pool_attribute;
typedef hipMemPoolProps runtime_pool_properties;

#ifdef hipStreamLegacy
#define RUNTIME_STREAM_LEGACY hipStreamLegacy
#endif
#define RUNTIME_HAS_STREAM_ID      1
#define RUNTIME_NO_STREAM          hipErrorContextIsDestroyed
#define RUNTIME_UNKNOWN_NAME       "hipErrorUnknown"
#define RUNTIME_UNKNOWN_SENTENCE   "unknown error"
#define RUNTIME_ERROR_STAYS(error) ((error) != hipSuccess)

#define RUNTIME_CURRENT_DEVICE(without) (without)
#define RUNTIME_INITIALIZE()            ((void)0)
#define RUNTIME_ACTIVATE(device)        sim_context_activate(device)

/* HIP's sentences were the names up to 5.2, and are sentences since. */
#define RUNTIME_ERRORS(X)         \
    X(hipSuccess)                 \
    X(hipErrorInvalidValue)       \
    X(hipErrorOutOfMemory)        \
    X(hipErrorDeinitialized)      \
    X(hipErrorInsufficientDriver) \
    X(hipErrorNoDevice)           \
    X(hipErrorInvalidDevice)      \
    X(hipErrorInvalidHandle)      \
    X(hipErrorNotReady)           \
    X(hipErrorIllegalAddress)     \
    X(hipErrorLaunchTimeOut)      \
    X(hipErrorContextIsDestroyed) \
    X(hipErrorMapFailed)          \
    X(hipErrorECCNotCorrectable)  \
    X(hipErrorNotSupported)       \
    X(hipErrorStreamCaptureUnsupported)

#endif
