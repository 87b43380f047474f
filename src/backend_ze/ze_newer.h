/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_newer: declarations that came after Level Zero 1.4, the oldest version that tarn is built with.
 *
 * A program may run with a newer or older loader and driver than the headers that it was built with. So
 * the newer declarations are here, under names of our own, and the functions are looked up in the
 * process's loader. If the headers have the declarations, the compiler compares them.
 *
 *     1.7    lists that run in order
 *     1.8    the device of a list
 *     1.14   waiting for a whole device
 *     1.15   counter-based events; how much memory is left; properties of physical memory
 */
#ifndef TN_ZE_NEWER_H
#define TN_ZE_NEWER_H

#include <stddef.h>

#include <level_zero/ze_api.h>

/* --- functions; each is NULL if the loader does not have it --------------------------------------- */

struct tn_ze_event_counter_based_desc {
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t flags;
    ze_event_scope_flags_t signal;
    ze_event_scope_flags_t wait;
};

struct tn_ze_physical_mem_properties {
    ze_structure_type_t stype;
    void *pNext;
    uint64_t id;
    uint64_t size;
};

struct tn_ze_newer {
    ze_result_t (*device_get_root)(ze_device_handle_t device, ze_device_handle_t *root);
    ze_result_t (*device_synchronize)(ze_device_handle_t device);
    ze_result_t (*list_get_device)(ze_command_list_handle_t list, ze_device_handle_t *device);
    ze_result_t (*event_counter_based_create)(ze_context_handle_t context,
                                              ze_device_handle_t device,
                                              const struct tn_ze_event_counter_based_desc *desc,
                                              ze_event_handle_t *event);
    ze_result_t (*physical_get_properties)(ze_context_handle_t context,
                                           ze_physical_mem_handle_t physical,
                                           struct tn_ze_physical_mem_properties *properties);
};

/* --- numbers -------------------------------------------------------------------------------------- */

#define TN_ZE_API_VERSION_WITH_ORDER ZE_MAKE_VERSION(1, 7)

enum {
    TN_ZE_COMMAND_QUEUE_FLAG_IN_ORDER = 1 << 1,
    TN_ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE = 1 << 0,
    TN_ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE = 1 << 2,

    TN_ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC = 0x10016,
    TN_ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC = 0x2003A,
    TN_ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES = 0x20040,
    TN_ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES = 0x20041
};

/* --- properties ----------------------------------------------------------------------------------- */

#define TN_ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME "ZE_extension_relaxed_allocation_limits"
#define TN_ZE_DEVICE_USABLEMEM_SIZE_EXT_NAME     "ZE_extension_device_usablemem_size_properties"

struct tn_ze_device_usablemem_size_ext_properties {
    ze_structure_type_t stype;
    void *pNext;
    uint64_t currUsableMemSize;
};

/* --- comparison with the headers, if they have it ------------------------------------------------- */

#define TN_ZE_SAME(name) _Static_assert(TN_##name == (int)(name), "differs from the header")
#define TN_ZE_SAME_FIELD(ours, theirs, field)                                   \
    _Static_assert(sizeof(struct ours) == sizeof(theirs) &&                     \
                       offsetof(struct ours, field) == offsetof(theirs, field), \
                   "differs from the header")

#ifdef ZE_API_VERSION_CURRENT_M
#if ZE_API_VERSION_CURRENT_M >= ZE_MAKE_VERSION(1, 15)
TN_ZE_SAME(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
TN_ZE_SAME(ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE);
TN_ZE_SAME(ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE);
TN_ZE_SAME(ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC);
TN_ZE_SAME(ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES);
TN_ZE_SAME(ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES);
TN_ZE_SAME_FIELD(tn_ze_event_counter_based_desc, ze_event_counter_based_desc_t, wait);
TN_ZE_SAME_FIELD(tn_ze_physical_mem_properties, ze_physical_mem_properties_t, size);
TN_ZE_SAME_FIELD(tn_ze_device_usablemem_size_ext_properties,
                 ze_device_usablemem_size_ext_properties_t, currUsableMemSize);
#endif
#if ZE_API_VERSION_CURRENT_M >= ZE_MAKE_VERSION(1, 17)
TN_ZE_SAME(ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC);
#endif
#endif

#endif
