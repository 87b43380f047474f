/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_over_cudart: AMD's HIP runtime, each call of which is one of CUDA's runtime, in three files.
 *
 *     hip_over_cudart.c         memory, streams, events, and what answers mean
 *     hip_over_cudart_range.c   ranges, over the driver's functions
 *     hip_over_cudart_pool.c    the runtime's own pools
 *
 * A program that was built for AMD runs over it on an NVIDIA device, unchanged. Numbers of errors and
 * attributes are translated by tables, since some differ; flags are compared when this is compiled.
 */
#ifndef HIP_OVER_CUDART_H
#define HIP_OVER_CUDART_H

#include <hip/hip_runtime_api.h>

/* Both vendors have a header of vectors, with the same names and layouts: HIP's serve for both. */
#define __VECTOR_TYPES_H__
#include <cuda.h> /* types of the driver's functions; none of them is linked */
#include <cuda_runtime_api.h>

/* The runtime's and the driver's errors, which have the same numbers. */
hipError_t hip_over_cudart_error(int cuda_error);

/* Writes the driver's function of that name to the pointer to a function that function_out points
 * to, or answers why there is none. */
hipError_t hip_over_cudart_find(const char *name, void *function_out);

#endif
