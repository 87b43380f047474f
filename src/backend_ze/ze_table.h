/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_table: the functions, types and numbers of Level Zero that the backend uses.
 *
 * They are declared here, so tarn is built without the vendor's headers and without its loader. Names are the
 * specification's with tn_ or TN_ before them. A test compares the declarations with level_zero/ze_api.h: see
 * tests/sim/ze/check_types.c.
 *
 * The loader, libze_loader.so.1, is loaded when a backend is opened, and stays in the process. It must have all of Level
 * Zero 1.4. A newer function that it lacks is NULL:
 *
 *     1.7    lists that run in order; the root of a sub-device
 *     1.9    the device of a list
 *     1.14   waiting for a whole device
 *     1.15   counter-based events; how much memory is left; properties of physical memory
 */
#ifndef TN_ZE_TABLE_H
#define TN_ZE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "tarn/status.h"

/* --- results ------------------------------------------------------------------------------------- */

/* X(name after ZE_RESULT_, number, status of tarn). */
#define TN_ZE_RESULTS(X)                                                  \
    X(SUCCESS, 0, OK)                                                     \
    X(NOT_READY, 1, NOT_READY)                                            \
    X(ERROR_DEVICE_LOST, 0x70000001, VENDOR_ERROR)                        \
    X(ERROR_OUT_OF_HOST_MEMORY, 0x70000002, OUT_OF_HOST_MEMORY)           \
    X(ERROR_OUT_OF_DEVICE_MEMORY, 0x70000003, OUT_OF_MEMORY)              \
    X(ERROR_MODULE_BUILD_FAILURE, 0x70000004, VENDOR_ERROR)               \
    X(ERROR_MODULE_LINK_FAILURE, 0x70000005, VENDOR_ERROR)                \
    X(ERROR_DEVICE_REQUIRES_RESET, 0x70000006, VENDOR_ERROR)              \
    X(ERROR_DEVICE_IN_LOW_POWER_STATE, 0x70000007, VENDOR_ERROR)          \
    X(ERROR_INSUFFICIENT_PERMISSIONS, 0x70010000, VENDOR_ERROR)           \
    X(ERROR_NOT_AVAILABLE, 0x70010001, VENDOR_ERROR)                      \
    X(ERROR_DEPENDENCY_UNAVAILABLE, 0x70020000, VENDOR_ERROR)             \
    X(ERROR_UNINITIALIZED, 0x78000001, VENDOR_ERROR)                      \
    X(ERROR_UNSUPPORTED_VERSION, 0x78000002, NOT_SUPPORTED)               \
    X(ERROR_UNSUPPORTED_FEATURE, 0x78000003, NOT_SUPPORTED)               \
    X(ERROR_INVALID_ARGUMENT, 0x78000004, INVALID_ARGUMENT)               \
    X(ERROR_INVALID_NULL_HANDLE, 0x78000005, INVALID_ARGUMENT)            \
    X(ERROR_HANDLE_OBJECT_IN_USE, 0x78000006, VENDOR_ERROR)               \
    X(ERROR_INVALID_NULL_POINTER, 0x78000007, INVALID_ARGUMENT)           \
    X(ERROR_INVALID_SIZE, 0x78000008, INVALID_ARGUMENT)                   \
    X(ERROR_UNSUPPORTED_SIZE, 0x78000009, INVALID_ARGUMENT)               \
    X(ERROR_UNSUPPORTED_ALIGNMENT, 0x7800000a, INVALID_ARGUMENT)          \
    X(ERROR_INVALID_SYNCHRONIZATION_OBJECT, 0x7800000b, INVALID_ARGUMENT) \
    X(ERROR_INVALID_ENUMERATION, 0x7800000c, INVALID_ARGUMENT)            \
    X(ERROR_UNSUPPORTED_ENUMERATION, 0x7800000d, NOT_SUPPORTED)           \
    X(ERROR_INVALID_COMMAND_LIST_TYPE, 0x78000019, INVALID_ARGUMENT)      \
    X(ERROR_OVERLAPPING_REGIONS, 0x7800001a, INVALID_ARGUMENT)            \
    X(ERROR_SURVIVABILITY_MODE_DETECTED, 0x78000020, VENDOR_ERROR)        \
    X(ERROR_ADDRESS_NOT_FOUND, 0x78000021, INVALID_ARGUMENT)              \
    X(ERROR_UNKNOWN, 0x7ffffffe, VENDOR_ERROR)

typedef enum {
#define TN_ZE_ENUMERATOR(name, number, status) TN_ZE_RESULT_##name = (number),
    TN_ZE_RESULTS(TN_ZE_ENUMERATOR)
#undef TN_ZE_ENUMERATOR
} tn_ze_result_t;

/* --- numbers -------------------------------------------------------------------------------------- */

#define TN_ZE_API_VERSION_1_0        0x10000
#define TN_ZE_API_VERSION_WITH_ORDER 0x10007

#define TN_ZE_MEMORY_FREE_POLICIES_EXT_NAME      "ZE_extension_memory_free_policies"
#define TN_ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME "ZE_experimental_relaxed_allocation_limits"
#define TN_ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME "ZE_extension_relaxed_allocation_limits"
#define TN_ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_NAME \
    "ZE_extension_device_usablemem_size_properties"

enum {
    TN_ZE_MAX_DEVICE_NAME = 256,
    TN_ZE_MAX_EXTENSION_NAME = 256,
    TN_ZE_MAX_UUID_SIZE = 16,

    TN_ZE_INIT_FLAG_GPU_ONLY = 1 << 0,
    TN_ZE_DEVICE_TYPE_GPU = 1,
    TN_ZE_DEVICE_PROPERTY_FLAG_INTEGRATED = 1 << 0,
    TN_ZE_MEMORY_ACCESS_CAP_FLAG_RW = 1 << 0,
    TN_ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE = 1,
    TN_ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE = 1 << 0,
    TN_ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE = 1 << 0,
    TN_ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD = 1 << 0,
    TN_ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE = 1 << 0,
    TN_ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY = 1 << 1,
    TN_ZE_COMMAND_QUEUE_FLAG_IN_ORDER = 1 << 1,
    TN_ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS = 2,
    TN_ZE_COMMAND_QUEUE_PRIORITY_NORMAL = 0,
    TN_ZE_EVENT_POOL_FLAG_HOST_VISIBLE = 1 << 0,
    TN_ZE_EVENT_SCOPE_FLAG_DEVICE = 1 << 1,
    TN_ZE_EVENT_SCOPE_FLAG_HOST = 1 << 2,
    TN_ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE = 1 << 0,
    TN_ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE = 1 << 2,

    TN_ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES = 0x1,
    TN_ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES = 0x3,
    TN_ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES = 0x6,
    TN_ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES = 0x7,
    TN_ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES = 0x8,
    TN_ZE_STRUCTURE_TYPE_CONTEXT_DESC = 0xd,
    TN_ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC = 0xe,
    TN_ZE_STRUCTURE_TYPE_EVENT_POOL_DESC = 0x10,
    TN_ZE_STRUCTURE_TYPE_EVENT_DESC = 0x11,
    TN_ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC = 0x15,
    TN_ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC = 0x16,
    TN_ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC = 0x18,
    TN_ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD = 0x1a,
    TN_ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC = 0x20,
    TN_ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC = 0x1000a,
    TN_ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC = 0x10016,
    TN_ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC = 0x20001,
    TN_ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC = 0x2003a,
    TN_ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES = 0x20040,
    TN_ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES = 0x20041
};

/* --- types; the specification's enumerations and flags are 32-bit numbers ------------------------- */

typedef struct tn_ze_driver_handle *tn_ze_driver_handle_t;
typedef struct tn_ze_device_handle *tn_ze_device_handle_t;
typedef struct tn_ze_context_handle *tn_ze_context_handle_t;
typedef struct tn_ze_command_list_handle *tn_ze_command_list_handle_t;
typedef struct tn_ze_event_pool_handle *tn_ze_event_pool_handle_t;
typedef struct tn_ze_event_handle *tn_ze_event_handle_t;
typedef struct tn_ze_physical_mem_handle *tn_ze_physical_mem_handle_t;

/* Structures that the driver reads. */

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags;
} tn_ze_context_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags, ordinal;
} tn_ze_device_mem_alloc_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags;
} tn_ze_host_mem_alloc_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags;
} tn_ze_relaxed_allocation_limits_exp_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t freePolicy;
} tn_ze_memory_free_ext_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags;
    size_t size;
} tn_ze_physical_mem_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags;
} tn_ze_external_memory_export_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t ordinal, index, flags, mode, priority;
} tn_ze_command_queue_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags, count;
} tn_ze_event_pool_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t index, signal, wait;
} tn_ze_event_desc_t;

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags, signal, wait;
} tn_ze_event_counter_based_desc_t;

/* What the driver writes. */

typedef struct {
    uint32_t stype;
    const void *pNext;
    uint32_t flags;
    int fd;
} tn_ze_external_memory_export_fd_t;

typedef struct {
    char name[TN_ZE_MAX_EXTENSION_NAME];
    uint32_t version;
} tn_ze_driver_extension_properties_t;

typedef struct {
    uint32_t stype;
    void *pNext;
    uint8_t uuid[TN_ZE_MAX_UUID_SIZE];
    uint32_t driverVersion;
} tn_ze_driver_properties_t;

typedef struct {
    uint32_t stype;
    void *pNext;
    uint32_t type, vendorId, deviceId, flags, subdeviceId, coreClockRate;
    uint64_t maxMemAllocSize;
    uint32_t maxHardwareContexts, maxCommandQueuePriority, numThreadsPerEU, physicalEUSimdWidth;
    uint32_t numEUsPerSubslice, numSubslicesPerSlice, numSlices;
    uint64_t timerResolution;
    uint32_t timestampValidBits, kernelTimestampValidBits;
    uint8_t uuid[TN_ZE_MAX_UUID_SIZE];
    char name[TN_ZE_MAX_DEVICE_NAME];
} tn_ze_device_properties_t;

typedef struct {
    uint32_t stype;
    void *pNext;
    uint64_t currUsableMemSize;
} tn_ze_device_usablemem_size_ext_properties_t;

typedef struct {
    uint32_t stype;
    void *pNext;
    uint32_t flags, maxClockRate, maxBusWidth;
    uint64_t totalSize;
    char name[TN_ZE_MAX_DEVICE_NAME];
} tn_ze_device_memory_properties_t;

typedef struct {
    uint32_t stype;
    void *pNext;
    uint32_t hostAllocCapabilities, deviceAllocCapabilities;
    uint32_t sharedSingleDeviceAllocCapabilities, sharedCrossDeviceAllocCapabilities;
    uint32_t sharedSystemAllocCapabilities;
} tn_ze_device_memory_access_properties_t;

typedef struct {
    uint32_t stype;
    void *pNext;
    uint32_t flags;
    size_t maxMemoryFillPatternSize;
    uint32_t numQueues;
} tn_ze_command_queue_group_properties_t;

typedef struct {
    uint32_t stype;
    void *pNext;
    uint64_t id, size;
} tn_ze_physical_mem_properties_t;

/* --- functions ------------------------------------------------------------------------------------ */

/* X(is it required?, name after ze, parameters). */
#define TN_ZE_FUNCTIONS(X)                                                                        \
    X(REQUIRED, Init, (uint32_t flags))                                                           \
    X(REQUIRED, DriverGet, (uint32_t * count, tn_ze_driver_handle_t * drivers))                   \
    X(REQUIRED, DriverGetApiVersion, (tn_ze_driver_handle_t driver, uint32_t * version))          \
    X(REQUIRED, DriverGetProperties,                                                              \
      (tn_ze_driver_handle_t driver, tn_ze_driver_properties_t * properties))                     \
    X(REQUIRED, DriverGetExtensionProperties,                                                     \
      (tn_ze_driver_handle_t driver, uint32_t * count,                                            \
       tn_ze_driver_extension_properties_t * extensions))                                         \
    X(REQUIRED, DeviceGet,                                                                        \
      (tn_ze_driver_handle_t driver, uint32_t * count, tn_ze_device_handle_t * devices))          \
    X(REQUIRED, DeviceGetSubDevices,                                                              \
      (tn_ze_device_handle_t device, uint32_t * count, tn_ze_device_handle_t * parts))            \
    X(NEWER, DeviceGetRootDevice, (tn_ze_device_handle_t device, tn_ze_device_handle_t * root))   \
    X(REQUIRED, DeviceGetProperties,                                                              \
      (tn_ze_device_handle_t device, tn_ze_device_properties_t * properties))                     \
    X(REQUIRED, DeviceGetMemoryProperties,                                                        \
      (tn_ze_device_handle_t device, uint32_t * count,                                            \
       tn_ze_device_memory_properties_t * properties))                                            \
    X(REQUIRED, DeviceGetMemoryAccessProperties,                                                  \
      (tn_ze_device_handle_t device, tn_ze_device_memory_access_properties_t * properties))       \
    X(REQUIRED, DeviceGetCommandQueueGroupProperties,                                             \
      (tn_ze_device_handle_t device, uint32_t * count,                                            \
       tn_ze_command_queue_group_properties_t * properties))                                      \
    X(NEWER, DeviceSynchronize, (tn_ze_device_handle_t device))                                   \
    X(REQUIRED, ContextCreate,                                                                    \
      (tn_ze_driver_handle_t driver, const tn_ze_context_desc_t *desc,                            \
       tn_ze_context_handle_t *context))                                                          \
    X(REQUIRED, ContextDestroy, (tn_ze_context_handle_t context))                                 \
    X(REQUIRED, ContextMakeMemoryResident,                                                        \
      (tn_ze_context_handle_t context, tn_ze_device_handle_t device, void *address, size_t size)) \
    X(REQUIRED, MemAllocDevice,                                                                   \
      (tn_ze_context_handle_t context, const tn_ze_device_mem_alloc_desc_t *desc, size_t size,    \
       size_t alignment, tn_ze_device_handle_t device, void **address))                           \
    X(REQUIRED, MemAllocHost,                                                                     \
      (tn_ze_context_handle_t context, const tn_ze_host_mem_alloc_desc_t *desc, size_t size,      \
       size_t alignment, void **address))                                                         \
    X(REQUIRED, MemAllocShared,                                                                   \
      (tn_ze_context_handle_t context, const tn_ze_device_mem_alloc_desc_t *on_device,            \
       const tn_ze_host_mem_alloc_desc_t *on_host, size_t size, size_t alignment,                 \
       tn_ze_device_handle_t device, void **address))                                             \
    X(REQUIRED, MemFree, (tn_ze_context_handle_t context, void *address))                         \
    X(REQUIRED, MemFreeExt,                                                                       \
      (tn_ze_context_handle_t context, const tn_ze_memory_free_ext_desc_t *desc, void *address))  \
    X(REQUIRED, VirtualMemQueryPageSize,                                                          \
      (tn_ze_context_handle_t context, tn_ze_device_handle_t device, size_t size,                 \
       size_t * page_bytes))                                                                      \
    X(REQUIRED, VirtualMemReserve,                                                                \
      (tn_ze_context_handle_t context, const void *wanted, size_t size, void **address))          \
    X(REQUIRED, VirtualMemFree,                                                                   \
      (tn_ze_context_handle_t context, const void *address, size_t size))                         \
    X(REQUIRED, VirtualMemMap,                                                                    \
      (tn_ze_context_handle_t context, const void *address, size_t size,                          \
       tn_ze_physical_mem_handle_t physical, size_t offset, uint32_t access))                     \
    X(REQUIRED, VirtualMemUnmap,                                                                  \
      (tn_ze_context_handle_t context, const void *address, size_t size))                         \
    X(REQUIRED, PhysicalMemCreate,                                                                \
      (tn_ze_context_handle_t context, tn_ze_device_handle_t device,                              \
       tn_ze_physical_mem_desc_t * desc, tn_ze_physical_mem_handle_t * physical))                 \
    X(REQUIRED, PhysicalMemDestroy,                                                               \
      (tn_ze_context_handle_t context, tn_ze_physical_mem_handle_t physical))                     \
    X(NEWER, PhysicalMemGetProperties,                                                            \
      (tn_ze_context_handle_t context, tn_ze_physical_mem_handle_t physical,                      \
       tn_ze_physical_mem_properties_t * properties))                                             \
    X(REQUIRED, CommandListCreateImmediate,                                                       \
      (tn_ze_context_handle_t context, tn_ze_device_handle_t device,                              \
       const tn_ze_command_queue_desc_t *desc, tn_ze_command_list_handle_t *list))                \
    X(REQUIRED, CommandListDestroy, (tn_ze_command_list_handle_t list))                           \
    X(NEWER, CommandListGetDeviceHandle,                                                          \
      (tn_ze_command_list_handle_t list, tn_ze_device_handle_t * device))                         \
    X(REQUIRED, CommandListAppendBarrier,                                                         \
      (tn_ze_command_list_handle_t list, tn_ze_event_handle_t signalled, uint32_t count,          \
       tn_ze_event_handle_t * awaited))                                                           \
    X(REQUIRED, CommandListAppendMemoryFill,                                                      \
      (tn_ze_command_list_handle_t list, void *address, const void *pattern, size_t pattern_size, \
       size_t size, tn_ze_event_handle_t signalled, uint32_t count,                               \
       tn_ze_event_handle_t *awaited))                                                            \
    X(REQUIRED, CommandListAppendMemoryCopy,                                                      \
      (tn_ze_command_list_handle_t list, void *destination, const void *source, size_t size,      \
       tn_ze_event_handle_t signalled, uint32_t count, tn_ze_event_handle_t *awaited))            \
    X(REQUIRED, EventPoolCreate,                                                                  \
      (tn_ze_context_handle_t context, const tn_ze_event_pool_desc_t *desc, uint32_t count,       \
       tn_ze_device_handle_t *devices, tn_ze_event_pool_handle_t *pool))                          \
    X(REQUIRED, EventPoolDestroy, (tn_ze_event_pool_handle_t pool))                               \
    X(REQUIRED, EventCreate,                                                                      \
      (tn_ze_event_pool_handle_t pool, const tn_ze_event_desc_t *desc,                            \
       tn_ze_event_handle_t *event))                                                              \
    X(NEWER, EventCounterBasedCreate,                                                             \
      (tn_ze_context_handle_t context, tn_ze_device_handle_t device,                              \
       const tn_ze_event_counter_based_desc_t *desc, tn_ze_event_handle_t *event))                \
    X(REQUIRED, EventDestroy, (tn_ze_event_handle_t event))                                       \
    X(REQUIRED, EventHostReset, (tn_ze_event_handle_t event))                                     \
    X(REQUIRED, EventHostSynchronize, (tn_ze_event_handle_t event, uint64_t timeout_ns))          \
    X(REQUIRED, EventQueryStatus, (tn_ze_event_handle_t event))

struct tn_ze_table {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define TN_ZE_FIELD(need, name, parameters) tn_ze_result_t(*name) parameters;
    TN_ZE_FUNCTIONS(TN_ZE_FIELD)
#undef TN_ZE_FIELD
};

/*
 * Loads the loader, if no other part of the process has, and finds its functions. `number` is that of the device to be
 * opened, for the message.
 * Status: NO_DEVICE: there is no loader, or it lacks a required function. The message names the file or the function.
 * Threads: any. Cost: 2 to 4 us when the loader is in the process; to load it takes 0.1 to 2 ms.
 */
tarn_status tn_ze_table_load(int number, struct tn_ze_table *table_out);

#endif
