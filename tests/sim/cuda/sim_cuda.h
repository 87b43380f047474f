/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_cuda: CUDA's face of the simulated devices, in two files.
 *
 *     sim_cuda_runtime.c   libcudart's functions, and the runtime's state of each thread
 *     sim_cuda_driver.c    the driver's functions, which the runtime hands out by name
 *
 * Both are compiled against the vendor's headers, so that prototypes are checked.
 */
#ifndef SIM_CUDA_H
#define SIM_CUDA_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "../sim_device.h"

/* Runtime and driver number their errors alike. */
cudaError_t sim_cuda_error_of(sim_status status);

/* The driver's function of that name; NULL: it has none. */
void *sim_cuda_find_driver_function(const char *name);

#endif
