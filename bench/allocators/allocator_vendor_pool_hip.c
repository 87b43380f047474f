/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_vendor_pool_hip: HIP's own pool, hipMallocFromPoolAsync and hipFreeAsync.
 *
 * Some of AMD's runtimes ignore the threshold (reported of 7.2). Some need HIP_MEM_POOL_SUPPORT=1 for pools,
 * by their documentation.
 */
#include <hip/hip_runtime_api.h>

typedef hipMemPoolProps vendor_pool_properties;
typedef hipMemPoolAttr vendor_pool_attribute;

#define VENDOR(name)         hip##name
#define VENDOR_OUT_OF_MEMORY hipErrorOutOfMemory
#define VENDOR_HAS_POOLS     hipDeviceAttributeMemoryPoolsSupported

#include "vendor_pool.h"
