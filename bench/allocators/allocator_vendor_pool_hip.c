/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_vendor_pool_hip: HIP's own pool, hipMallocFromPoolAsync and hipFreeAsync.
 *
 * Not every runtime of AMD heeds the threshold (7.2 is reported not to), and the documents of some
 * versions say that pools have to be asked for, HIP_MEM_POOL_SUPPORT=1.
 */
#include <hip/hip_runtime_api.h>

typedef hipMemPoolProps vendor_pool_properties;
typedef hipMemPoolAttr vendor_pool_attribute;

#define VENDOR(name)         hip##name
#define VENDOR_OUT_OF_MEMORY hipErrorOutOfMemory
#define VENDOR_HAS_POOLS     hipDeviceAttributeMemoryPoolsSupported

#include "vendor_pool.h"
