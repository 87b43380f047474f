/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_cuda: CUDA's face of the simulated devices, in three files.
 *
 *     sim_cuda_runtime.c   libcudart's functions, and the runtime's state of each thread
 *     sim_cuda_pool.c      pools of the runtime's own
 *     sim_cuda_driver.c    the driver's functions, which the runtime hands out by name
 *
 * They are compiled against the vendor's headers, so that prototypes are checked.
 */
#ifndef SIM_CUDA_H
#define SIM_CUDA_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "../sim_device.h"

/* Runtime and driver number their errors alike. */
cudaError_t sim_cuda_error_of(sim_status status);

/* How every function of the runtime begins that needs a device, and how every function of it ends. */
sim_status sim_cuda_begin(const char *name);
cudaError_t sim_cuda_answer(sim_status status);

/* The same as the first for those that a capture may prohibit. */
sim_status sim_cuda_begin_unsafe(const char *name);

/* A stream, or that which a default stream means now. */
sim_stream *sim_cuda_stream(cudaStream_t stream);

/* The driver's function of that name; NULL: it has none. */
void *sim_cuda_find_driver_function(const char *name);

#endif
