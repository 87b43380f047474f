/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * preload_ze: the functions of Level Zero's loader that allocate or free memory, with its own signatures:
 * handles are pointers, a result is a 32-bit number.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#include "next_function.h"
#include "process_recording.h"

#define EXPORT __attribute__((visibility("default")))

#define ZE_RESULT_ERROR_UNINITIALIZED 0x78000001

/* Finds the loader's function as a pointer `next`, or returns that there is none. */
#define FIND_NEXT(function)                                                          \
    static struct tn_next_function next_##function = { .name = #function };          \
    __typeof__(&(function)) next =                                                   \
        (__typeof__(&(function)))tn_next_function_find(&next_##function, TN_CALLER); \
    if (!next) return ZE_RESULT_ERROR_UNINITIALIZED

static const char source[] = "calls of Level Zero, by tarn-record";

static uint32_t end_alloc(struct tn_vendor_call call, uint32_t result, void *const *address,
                          size_t size_bytes)
{
    tn_vendor_call_end_alloc(call, result == 0, result == 0 ? *address : NULL, size_bytes, NULL);
    return result;
}

typedef uint32_t alloc_device(void *context, const void *description, size_t size_bytes,
                              size_t alignment, void *device, void **address);

EXPORT alloc_device zeMemAllocDevice;
EXPORT uint32_t zeMemAllocDevice(void *context, const void *description, size_t size_bytes,
                                 size_t alignment, void *device, void **address)
{
    FIND_NEXT(zeMemAllocDevice);
    struct tn_vendor_call call = tn_vendor_call_begin(source);
    uint32_t result = next(context, description, size_bytes, alignment, device, address);
    return end_alloc(call, result, address, size_bytes);
}

typedef uint32_t alloc_shared(void *context, const void *device_description,
                              const void *host_description, size_t size_bytes, size_t alignment,
                              void *device, void **address);

EXPORT alloc_shared zeMemAllocShared;
EXPORT uint32_t zeMemAllocShared(void *context, const void *device_description,
                                 const void *host_description, size_t size_bytes, size_t alignment,
                                 void *device, void **address)
{
    FIND_NEXT(zeMemAllocShared);
    struct tn_vendor_call call = tn_vendor_call_begin(source);
    uint32_t result =
        next(context, device_description, host_description, size_bytes, alignment, device, address);
    return end_alloc(call, result, address, size_bytes);
}

typedef uint32_t alloc_host(void *context, const void *description, size_t size_bytes,
                            size_t alignment, void **address);

EXPORT alloc_host zeMemAllocHost;
EXPORT uint32_t zeMemAllocHost(void *context, const void *description, size_t size_bytes,
                               size_t alignment, void **address)
{
    FIND_NEXT(zeMemAllocHost);
    struct tn_vendor_call call = tn_vendor_call_begin(source);
    uint32_t result = next(context, description, size_bytes, alignment, address);
    call.is_recorded = call.is_recorded && tn_process_recording_has_host();
    return end_alloc(call, result, address, size_bytes);
}

typedef uint32_t free_plainly(void *context, void *address);

EXPORT free_plainly zeMemFree;
EXPORT uint32_t zeMemFree(void *context, void *address)
{
    FIND_NEXT(zeMemFree);
    struct tn_vendor_call call = tn_vendor_call_begin(source);
    uint32_t result = next(context, address);
    tn_vendor_call_end_free(call, result == 0, address, NULL);
    return result;
}

typedef uint32_t free_by_policy(void *context, const void *description, void *address);

EXPORT free_by_policy zeMemFreeExt;
EXPORT uint32_t zeMemFreeExt(void *context, const void *description, void *address)
{
    FIND_NEXT(zeMemFreeExt);
    struct tn_vendor_call call = tn_vendor_call_begin(source);
    uint32_t result = next(context, description, address);
    tn_vendor_call_end_free(call, result == 0, address, NULL);
    return result;
}
