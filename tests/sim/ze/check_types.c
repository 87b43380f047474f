/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * check_types: what src/backend_ze declares of Level Zero is as in the vendor's header. It compiles, or not. A header that
 * is older than 1.17 does not have all of it; then only the rest is compared.
 */
#include <stddef.h>

#include <level_zero/ze_api.h>

#include "backend_ze/ze_table.h"

#if defined(ZE_API_VERSION_CURRENT_M) && ZE_API_VERSION_CURRENT_M >= ZE_MAKE_VERSION(1, 17)
#define IS_NEW      1
#define IF_NEW(...) __VA_ARGS__
#else
#define IS_NEW 0
#define IF_NEW(...)
#define ZE_RESULT_ERROR_SURVIVABILITY_MODE_DETECTED TN_ZE_RESULT_ERROR_SURVIVABILITY_MODE_DETECTED
#define ZE_RESULT_ERROR_ADDRESS_NOT_FOUND           TN_ZE_RESULT_ERROR_ADDRESS_NOT_FOUND
#endif

/* --- numbers -------------------------------------------------------------------------------------- */

#define SAME(name) _Static_assert((long long)TN_##name == (long long)(name), #name)

#define SAME_RESULT(name, number, status) SAME(ZE_RESULT_##name);
TN_ZE_RESULTS(SAME_RESULT)

SAME(ZE_API_VERSION_1_0);
_Static_assert(TN_ZE_API_VERSION_WITH_ORDER == ZE_MAKE_VERSION(1, 7), "the version with order");
SAME(ZE_MAX_DEVICE_NAME);
SAME(ZE_MAX_EXTENSION_NAME);
_Static_assert(TN_ZE_MAX_UUID_SIZE == sizeof(ze_driver_uuid_t), "a driver's identifier");
_Static_assert(TN_ZE_MAX_UUID_SIZE == sizeof(ze_device_uuid_t), "a device's identifier");
SAME(ZE_INIT_FLAG_GPU_ONLY);
SAME(ZE_DEVICE_TYPE_GPU);
SAME(ZE_DEVICE_PROPERTY_FLAG_INTEGRATED);
SAME(ZE_MEMORY_ACCESS_CAP_FLAG_RW);
SAME(ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
SAME(ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE);
SAME(ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE);
SAME(ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD);
SAME(ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
SAME(ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY);
IF_NEW(SAME(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);)
SAME(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
SAME(ZE_COMMAND_QUEUE_PRIORITY_NORMAL);
SAME(ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
SAME(ZE_EVENT_SCOPE_FLAG_DEVICE);
SAME(ZE_EVENT_SCOPE_FLAG_HOST);
IF_NEW(SAME(ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE);)
IF_NEW(SAME(ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE);)
SAME(ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
SAME(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
SAME(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
SAME(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES);
SAME(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
SAME(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
SAME(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
SAME(ZE_STRUCTURE_TYPE_EVENT_DESC);
SAME(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
SAME(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
SAME(ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC);
SAME(ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD);
SAME(ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC);
SAME(ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC);
IF_NEW(SAME(ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC);)
SAME(ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
IF_NEW(SAME(ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC);)
IF_NEW(SAME(ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES);)
IF_NEW(SAME(ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES);)

#define SAME_TEXT(name) _Static_assert(__builtin_strcmp(TN_##name, name) == 0, #name)
SAME_TEXT(ZE_MEMORY_FREE_POLICIES_EXT_NAME);
SAME_TEXT(ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME);
IF_NEW(SAME_TEXT(ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME);)
IF_NEW(SAME_TEXT(ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_NAME);)

/* --- structs -------------------------------------------------------------------------------------- */

#define SAME_SIZE(type) _Static_assert(sizeof(tn_##type) == sizeof(type), #type)
#define SAME_FIELD(type, field)                                                       \
    _Static_assert(offsetof(tn_##type, field) == offsetof(type, field) &&             \
                       sizeof(((tn_##type *)0)->field) == sizeof(((type *)0)->field), \
                   #type "." #field)
#define SAME_HEAD(type)      \
    SAME_SIZE(type);         \
    SAME_FIELD(type, stype); \
    SAME_FIELD(type, pNext)

SAME_HEAD(ze_context_desc_t);
SAME_FIELD(ze_context_desc_t, flags);
SAME_HEAD(ze_device_mem_alloc_desc_t);
SAME_FIELD(ze_device_mem_alloc_desc_t, flags);
SAME_FIELD(ze_device_mem_alloc_desc_t, ordinal);
SAME_HEAD(ze_host_mem_alloc_desc_t);
SAME_FIELD(ze_host_mem_alloc_desc_t, flags);
SAME_HEAD(ze_relaxed_allocation_limits_exp_desc_t);
SAME_FIELD(ze_relaxed_allocation_limits_exp_desc_t, flags);
SAME_HEAD(ze_memory_free_ext_desc_t);
SAME_FIELD(ze_memory_free_ext_desc_t, freePolicy);
SAME_HEAD(ze_physical_mem_desc_t);
SAME_FIELD(ze_physical_mem_desc_t, flags);
SAME_FIELD(ze_physical_mem_desc_t, size);
SAME_HEAD(ze_external_memory_export_desc_t);
SAME_FIELD(ze_external_memory_export_desc_t, flags);
SAME_HEAD(ze_command_queue_desc_t);
SAME_FIELD(ze_command_queue_desc_t, ordinal);
SAME_FIELD(ze_command_queue_desc_t, index);
SAME_FIELD(ze_command_queue_desc_t, flags);
SAME_FIELD(ze_command_queue_desc_t, mode);
SAME_FIELD(ze_command_queue_desc_t, priority);
SAME_HEAD(ze_event_pool_desc_t);
SAME_FIELD(ze_event_pool_desc_t, flags);
SAME_FIELD(ze_event_pool_desc_t, count);
SAME_HEAD(ze_event_desc_t);
SAME_FIELD(ze_event_desc_t, index);
SAME_FIELD(ze_event_desc_t, signal);
SAME_FIELD(ze_event_desc_t, wait);
IF_NEW(SAME_HEAD(ze_event_counter_based_desc_t); SAME_FIELD(ze_event_counter_based_desc_t, flags);
       SAME_FIELD(ze_event_counter_based_desc_t, signal);
       SAME_FIELD(ze_event_counter_based_desc_t, wait);)
SAME_HEAD(ze_external_memory_export_fd_t);
SAME_FIELD(ze_external_memory_export_fd_t, flags);
SAME_FIELD(ze_external_memory_export_fd_t, fd);
SAME_SIZE(ze_driver_extension_properties_t);
SAME_FIELD(ze_driver_extension_properties_t, name);
SAME_FIELD(ze_driver_extension_properties_t, version);
SAME_HEAD(ze_driver_properties_t);
SAME_FIELD(ze_driver_properties_t, uuid);
SAME_FIELD(ze_driver_properties_t, driverVersion);
SAME_HEAD(ze_device_properties_t);
SAME_FIELD(ze_device_properties_t, type);
SAME_FIELD(ze_device_properties_t, vendorId);
SAME_FIELD(ze_device_properties_t, deviceId);
SAME_FIELD(ze_device_properties_t, flags);
SAME_FIELD(ze_device_properties_t, subdeviceId);
SAME_FIELD(ze_device_properties_t, coreClockRate);
SAME_FIELD(ze_device_properties_t, maxMemAllocSize);
SAME_FIELD(ze_device_properties_t, maxHardwareContexts);
SAME_FIELD(ze_device_properties_t, maxCommandQueuePriority);
SAME_FIELD(ze_device_properties_t, numThreadsPerEU);
SAME_FIELD(ze_device_properties_t, physicalEUSimdWidth);
SAME_FIELD(ze_device_properties_t, numEUsPerSubslice);
SAME_FIELD(ze_device_properties_t, numSubslicesPerSlice);
SAME_FIELD(ze_device_properties_t, numSlices);
SAME_FIELD(ze_device_properties_t, timerResolution);
SAME_FIELD(ze_device_properties_t, timestampValidBits);
SAME_FIELD(ze_device_properties_t, kernelTimestampValidBits);
SAME_FIELD(ze_device_properties_t, uuid);
SAME_FIELD(ze_device_properties_t, name);
IF_NEW(SAME_HEAD(ze_device_usablemem_size_ext_properties_t);
       SAME_FIELD(ze_device_usablemem_size_ext_properties_t, currUsableMemSize);)
SAME_HEAD(ze_device_memory_properties_t);
SAME_FIELD(ze_device_memory_properties_t, flags);
SAME_FIELD(ze_device_memory_properties_t, maxClockRate);
SAME_FIELD(ze_device_memory_properties_t, maxBusWidth);
SAME_FIELD(ze_device_memory_properties_t, totalSize);
SAME_FIELD(ze_device_memory_properties_t, name);
SAME_HEAD(ze_device_memory_access_properties_t);
SAME_FIELD(ze_device_memory_access_properties_t, hostAllocCapabilities);
SAME_FIELD(ze_device_memory_access_properties_t, deviceAllocCapabilities);
SAME_FIELD(ze_device_memory_access_properties_t, sharedSingleDeviceAllocCapabilities);
SAME_FIELD(ze_device_memory_access_properties_t, sharedCrossDeviceAllocCapabilities);
SAME_FIELD(ze_device_memory_access_properties_t, sharedSystemAllocCapabilities);
SAME_HEAD(ze_command_queue_group_properties_t);
SAME_FIELD(ze_command_queue_group_properties_t, flags);
SAME_FIELD(ze_command_queue_group_properties_t, maxMemoryFillPatternSize);
SAME_FIELD(ze_command_queue_group_properties_t, numQueues);
IF_NEW(SAME_HEAD(ze_physical_mem_properties_t); SAME_FIELD(ze_physical_mem_properties_t, id);
       SAME_FIELD(ze_physical_mem_properties_t, size);)

/* --- functions ------------------------------------------------------------------------------------ */

/* From here on the names of our types are those of the vendor's: the table then has the vendor's prototypes. */
#define tn_ze_result_t                             ze_result_t
#define tn_ze_driver_handle_t                      ze_driver_handle_t
#define tn_ze_device_handle_t                      ze_device_handle_t
#define tn_ze_context_handle_t                     ze_context_handle_t
#define tn_ze_command_list_handle_t                ze_command_list_handle_t
#define tn_ze_event_pool_handle_t                  ze_event_pool_handle_t
#define tn_ze_event_handle_t                       ze_event_handle_t
#define tn_ze_physical_mem_handle_t                ze_physical_mem_handle_t
#define tn_ze_context_desc_t                       ze_context_desc_t
#define tn_ze_device_mem_alloc_desc_t              ze_device_mem_alloc_desc_t
#define tn_ze_host_mem_alloc_desc_t                ze_host_mem_alloc_desc_t
#define tn_ze_relaxed_allocation_limits_exp_desc_t ze_relaxed_allocation_limits_exp_desc_t
#define tn_ze_memory_free_ext_desc_t               ze_memory_free_ext_desc_t
#define tn_ze_physical_mem_desc_t                  ze_physical_mem_desc_t
#define tn_ze_external_memory_export_desc_t        ze_external_memory_export_desc_t
#define tn_ze_command_queue_desc_t                 ze_command_queue_desc_t
#define tn_ze_event_pool_desc_t                    ze_event_pool_desc_t
#define tn_ze_event_desc_t                         ze_event_desc_t
#define tn_ze_external_memory_export_fd_t          ze_external_memory_export_fd_t
#define tn_ze_driver_extension_properties_t        ze_driver_extension_properties_t
#define tn_ze_driver_properties_t                  ze_driver_properties_t
#define tn_ze_device_properties_t                  ze_device_properties_t
#define tn_ze_device_memory_properties_t           ze_device_memory_properties_t
#define tn_ze_device_memory_access_properties_t    ze_device_memory_access_properties_t
#define tn_ze_command_queue_group_properties_t     ze_command_queue_group_properties_t

/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration */
#define SAME_REQUIRED(name, parameters) \
    static __attribute__((unused)) ze_result_t(*const same_##name) parameters = ze##name;
/* NOLINTEND(bugprone-macro-parentheses) */
#if IS_NEW
#define tn_ze_device_usablemem_size_ext_properties_t ze_device_usablemem_size_ext_properties_t
#define tn_ze_event_counter_based_desc_t             ze_event_counter_based_desc_t
#define tn_ze_physical_mem_properties_t              ze_physical_mem_properties_t
#define SAME_NEWER                                   SAME_REQUIRED
#else
#define SAME_NEWER(name, parameters)
#endif
#define SAME_FUNCTION(need, name, parameters) SAME_##need(name, parameters)
TN_ZE_FUNCTIONS(SAME_FUNCTION)
