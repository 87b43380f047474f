/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* calls_kinds: memory that stays the driver's. The pools give way to it, and the calls are counted. */
#include <stdatomic.h>

#include "captures.h"
#include "context_pools.h"
#include "give_way.h"
#include "own_pools.h"
#include "pass.h"

/* While a stream is captured, nothing goes back: that would make the capture invalid. */
bool tn_give_way(tn_cuda_error error)
{
    if (error != TN_CUDA_OUT_OF_MEMORY || tn_pass_reason() != TN_REASON_COUNT) return false;
    tn_pass_enter_pool();
    bool has_released = tn_context_pools_trim();
    tn_pass_leave_pool();
    return has_released;
}

#define PASS(symbol, reason, parameters, arguments)                          \
    tn_cuda_error tn_call_##symbol parameters                                \
    {                                                                        \
        const struct tn_driver *driver = tn_driver_find();                   \
        if (!TN_DRIVER_HAS(driver, symbol)) return TN_CUDA_NOT_INITIALIZED;  \
        __typeof__(&tn_call_##symbol) next = TN_DRIVER_CALL(driver, symbol); \
        tn_notes_passed(TN_CALL_##symbol, TN_REASON_##reason);               \
        return TN_GIVE_WAY(next arguments);                                  \
    }

PASS(cuMemAlloc, OLD, (unsigned *address, unsigned size_bytes), (address, size_bytes))
/* Memory that cuMemFree frees, which counts it. */
#define PASS_ALLOC(symbol, parameters, arguments, size_bytes)                      \
    tn_cuda_error tn_call_##symbol parameters                                      \
    {                                                                              \
        const struct tn_driver *driver = tn_driver_find();                         \
        if (!TN_DRIVER_HAS(driver, symbol)) return TN_CUDA_NOT_INITIALIZED;        \
        __typeof__(&tn_call_##symbol) next = TN_DRIVER_CALL(driver, symbol);       \
        tn_notes_passed(TN_CALL_##symbol, TN_REASON_KIND);                         \
        tn_cuda_error error = TN_GIVE_WAY(next arguments);                         \
        if (error == TN_CUDA_SUCCESS) tn_notes_vendor_alloc(*address, size_bytes); \
        return error;                                                              \
    }

PASS_ALLOC(cuMemAllocPitch_v2,
           (tn_cuda_address * address, size_t *pitch, size_t width, size_t height,
            unsigned element),
           (address, pitch, width, height, element), *pitch *height)
PASS_ALLOC(cuMemAllocManaged, (tn_cuda_address * address, size_t size_bytes, unsigned flags),
           (address, size_bytes, flags), size_bytes)
PASS_ALLOC(cuMemAllocFromPoolAsync,
           (tn_cuda_address * address, size_t size_bytes, void *pool, void *stream),
           (address, size_bytes, pool, stream), size_bytes)
PASS_ALLOC(cuMemAllocFromPoolAsync_ptsz,
           (tn_cuda_address * address, size_t size_bytes, void *pool, void *stream),
           (address, size_bytes, pool, stream), size_bytes)
PASS(cuMemCreate, KIND,
     (uint64_t * handle, size_t size_bytes, const void *properties, uint64_t flags),
     (handle, size_bytes, properties, flags))
PASS(cuArrayCreate_v2, KIND, (void **array, const void *description), (array, description))
PASS(cuArray3DCreate_v2, KIND, (void **array, const void *description), (array, description))
PASS(cuMipmappedArrayCreate, KIND, (void **array, const void *description, unsigned level_count),
     (array, description, level_count))

/* --- pools of the driver's --------------------------------------------------------------------------- */

static atomic_bool are_seen;

bool tn_own_pools_are_seen(void)
{
    return atomic_load_explicit(&are_seen, memory_order_relaxed);
}

tn_cuda_error tn_call_cuDeviceSetMemPool(int device, void *pool)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuDeviceSetMemPool)) return TN_CUDA_NOT_INITIALIZED;
    atomic_store(&are_seen, true);
    return TN_DRIVER_CALL(driver, cuDeviceSetMemPool)(device, pool);
}

tn_cuda_error tn_call_cuMemPoolSetAccess(void *pool, const void *descriptions, size_t count)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuMemPoolSetAccess)) return TN_CUDA_NOT_INITIALIZED;
    atomic_store(&are_seen, true);
    return TN_DRIVER_CALL(driver, cuMemPoolSetAccess)(pool, descriptions, count);
}

tn_cuda_error tn_call_cuMemSetMemPool(void *location, int type, void *pool)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuMemSetMemPool)) return TN_CUDA_NOT_INITIALIZED;
    atomic_store(&are_seen, true);
    return TN_DRIVER_CALL(driver, cuMemSetMemPool)(location, type, pool);
}
