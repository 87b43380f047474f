/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_vendor_pool_cuda: CUDA's own pool, cudaMallocFromPoolAsync and cudaFreeAsync. */
#include <cuda_runtime_api.h>

typedef struct cudaMemPoolProps vendor_pool_properties;
typedef enum cudaMemPoolAttr vendor_pool_attribute;

#define VENDOR(name)         cuda##name
#define VENDOR_OUT_OF_MEMORY cudaErrorMemoryAllocation
#define VENDOR_HAS_POOLS     cudaDevAttrMemoryPoolsSupported

#include "vendor_pool.h"
