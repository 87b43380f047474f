/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * vendor_runtime: what is asked of CUDA's runtime and of HIP alike. RUNTIME(GetDevice) is cudaGetDevice in the one and
 * hipGetDevice in the other.
 */
#ifndef VENDOR_RUNTIME_H
#define VENDOR_RUNTIME_H

#include "conformance.h"

#if defined(__HIP_PLATFORM_AMD__) || defined(__HIP_PLATFORM_NVIDIA__)
#include <hip/hip_runtime_api.h>

#include "tarn/hip.h"

#define RUNTIME(name)   hip##name
#define RUNTIME_NAME    "hip"
#define open_backend_of tarn_hip_backend_open
typedef hipPointerAttribute_t runtime_pointer_attributes;
#else
#include <cuda.h> /* types alone; the driver is not linked */
#include <cuda_runtime_api.h>

#include "tarn/cuda.h"

#define RUNTIME(name)   cuda##name
#define RUNTIME_NAME    "cuda"
#define open_backend_of tarn_cuda_backend_open
typedef struct cudaPointerAttributes runtime_pointer_attributes;
#endif

extern const struct target runtime_targets[3];

int current_device(void);
int device_count(void);

/* --- with two devices ---------------------------------------------------------------------------- */

/* Skips the test where there are fewer. */
void require_two_devices(void);

/* Uses every kind of operation on the device. */
void use_device(int number);

void another_current_device_stays_current(void **state);
void a_stream_of_another_device_is_told(void **state);

#endif
