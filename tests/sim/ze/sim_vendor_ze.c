/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_vendor_ze: what the tests over the simulated devices must know of Level Zero. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <level_zero/ze_api.h>

#include "../sim_vendor.h"

#define ERROR(status, result)                \
    {                                        \
        SIM_STATUS_##status, result, #result \
    }

static const struct sim_vendor_error errors[] = {
    ERROR(OUT_OF_MEMORY, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY),
    ERROR(NO_DRIVER, ZE_RESULT_ERROR_UNINITIALIZED),
    ERROR(DRIVER_TOO_OLD, ZE_RESULT_ERROR_UNSUPPORTED_VERSION),
    ERROR(NO_DEVICE, ZE_RESULT_ERROR_UNINITIALIZED),
    ERROR(UNLOADING, ZE_RESULT_ERROR_UNINITIALIZED),
    ERROR(DEVICE_LOST, ZE_RESULT_ERROR_DEVICE_LOST),
    ERROR(CONTEXT_DESTROYED, ZE_RESULT_ERROR_DEVICE_LOST),
    ERROR(UNKNOWN, ZE_RESULT_ERROR_UNKNOWN),
    { 0, 0, NULL },
};

static const char *const optional_calls[] = {
    /* Retired events are asked after before new ones are made. */
    "zeEventQueryStatus",
    /* Or once more when none can be made. */
    "zeEventCreate",
    /* Without it events come from pools. */
    "open: zeEventCounterBasedCreate",
    /* Without it a list is not asked whose it is. */
    "open: zeDeviceGetRootDevice",
    /* A range is tried out, and whatever goes wrong says that there are none. */
    "open: zeVirtualMemQueryPageSize",
    "open: zeVirtualMemReserve",
    "open: zeVirtualMemFree",
    "open: zeVirtualMemMap",
    "open: zeVirtualMemUnmap",
    "stream_check: zeCommandListGetDeviceHandle",
    "open: zePhysicalMemCreate",
    "open: zePhysicalMemDestroy",
    "open: zePhysicalMemGetProperties",
    /* Work that cannot be waited for is none of the backend's any more. */
    "close: zeCommandListAppendBarrier",
    "close: zeEventHostSynchronize",
    "close: zeEventHostReset",
    NULL,
};

/* The 1.8 loader makes the driver's zeInit once before all other calls, and takes a failure for final.
 * So that comes before any script. */
static void __attribute__((constructor)) start_loader(void)
{
    zeInit(0);
}

#define OPEN_CALLS(init)                                                              \
    "zeCommandListCreateImmediate 1, zeContextCreate 1, zeDeviceGet 1, "              \
    "zeDeviceGetCommandQueueGroupProperties 1, zeDeviceGetMemoryAccessProperties 1, " \
    "zeDeviceGetMemoryProperties 1, zeDeviceGetProperties 2, zeDriverGet 1, "         \
    "zeDriverGetApiVersion 1, zeDriverGetExtensionProperties 2, "                     \
    "zeDriverGetProperties 1, zeEventCreate 1, zeEventPoolCreate 1, " init            \
    "zePhysicalMemCreate 1, zePhysicalMemDestroy 1, zeVirtualMemFree 1, "             \
    "zeVirtualMemMap 1, zeVirtualMemQueryPageSize 3, zeVirtualMemReserve 1, "         \
    "zeVirtualMemUnmap 1"

static const struct sim_vendor_calls calls[] = {
    /* The default stream's list, an event to wait for it, and a range that is tried out. Only older
     * loaders hand zeInit on when it was called before. */
    { "open", OPEN_CALLS("zeInit 1, ") },
    { "open", OPEN_CALLS("") },
    { "create a pool", "none" },
    { "first allocation", "zeContextMakeMemoryResident 1, zeMemAllocDevice 1" },
    { "a thousand hits", "none" },
    { "growth", "zeContextMakeMemoryResident 1, zeMemAllocDevice 1" },
    { "frees that empty the pool", "none" },
    { "trim of one static pool", "zeMemFreeExt 1" },
    { "destroy a pool of one static pool", "zeMemFreeExt 1" },
    { "close", "zeCommandListAppendBarrier 1, zeCommandListDestroy 1, zeContextDestroy 1, "
               "zeEventDestroy 1, zeEventHostSynchronize 1, zeEventPoolDestroy 1" },

    { "ten allocations that pass through", "zeContextMakeMemoryResident 10, zeMemAllocDevice 10" },
    { "ten frees that pass through", "zeMemFreeExt 10" },

    /* A pool's: one record and one wait hand over, and whether an older record is complete is asked
     * before. */
    { "first sight of a stream", "none" },
    { "hits on streams that need no wait", "none" },
    { "hit that another stream freed", "zeCommandListAppendBarrier 2, zeEventCreate 2" },
    { "hit that another stream freed, on a third one",
      "zeCommandListAppendBarrier 1, zeEventCreate 1, zeEventQueryStatus 2" },
    { "hit that another stream freed, whose work is done", "zeEventQueryStatus 1" },
    { "retire a stream on which nothing was freed", "none" },
    { "retire a stream", "zeCommandListAppendBarrier 1, zeEventHostReset 1, zeEventQueryStatus 1" },
    { "hit that a retired stream freed",
      "zeCommandListAppendBarrier 1, zeEventCreate 1, zeEventQueryStatus 1" },
    { "destroy a pool with an event", "zeMemFreeExt 1" },

    { "get_properties", "none" },
    { "acquire", "zeContextMakeMemoryResident 1, zeMemAllocDevice 1" },
    { "release", "zeMemFreeExt 1" },
    { "query_memory", "zeDeviceGetProperties 1" },
    { "acquire pinned", "zeContextMakeMemoryResident 1, zeMemAllocHost 1" },
    { "release pinned", "zeMemFreeExt 1" },
    { "query_memory pinned", "none" },          /* the host's, which the system tells */
    { "acquire shared", "zeMemAllocShared 1" }, /* moves by itself */
    { "release shared", "zeMemFreeExt 1" },
    { "query_memory shared", "zeDeviceGetProperties 1" },

    /* Waiting, here and below, is a barrier that sets an event, and waiting for that. An event is
     * made when none is free, and reset when it was used before. */
    { "synchronize", "none" }, /* this loader lacks the call */
    { "stream_create", "zeCommandListCreateImmediate 1, zeEventCreate 1" },
    { "stream_check", "none" }, /* this loader lacks the call */
    { "stream_check, the default stream", "none" },
    { "stream_synchronize", "zeCommandListAppendBarrier 1, zeEventCreate 1, "
                            "zeEventHostSynchronize 1, zeEventQueryStatus 1" },
    { "stream_wait_event", "zeCommandListAppendBarrier 1, zeEventCreate 1" },
    { "stream_destroy",
      "zeCommandListAppendBarrier 1, zeCommandListDestroy 1, zeEventHostSynchronize 1" },
    { "event_create", "none" },
    { "event_record", "zeCommandListAppendBarrier 1, zeEventCreate 1" },
    { "event_record again", "zeCommandListAppendBarrier 1, zeEventHostReset 1" },
    { "event_query, not ready", "zeEventQueryStatus 1" },
    { "event_query, complete", "none" }, /* which is remembered */
    { "event_synchronize", "zeEventHostSynchronize 1" },
    { "event_destroy", "none" },
    { "fill", "zeCommandListAppendMemoryFill 1" },
    { "copy", "zeCommandListAppendMemoryCopy 1" },

    { "range_reserve", "zeVirtualMemReserve 1" },
    { "range_map", "zePhysicalMemCreate 1, zeVirtualMemMap 1" },
    { "range_map_shareable", "none" }, /* this loader lacks the call, here and below */
    { "range_export", "none" },
    { "range_unmap", "zeCommandListAppendBarrier 1, zeEventHostSynchronize 1, "
                     "zePhysicalMemDestroy 1, zeVirtualMemUnmap 1" },
    { "range_release", "zeVirtualMemFree 1" },
    { NULL, NULL },
};

static bool tells_streams_apart(void)
{
    const char *lacks = getenv("TARN_SIM_ZE_LACKS");
    bool driver_tells = !lacks || !strstr(lacks, "newer");
    return driver_tells && dlsym(RTLD_DEFAULT, "zeCommandListGetDeviceHandle") != NULL;
}

const struct sim_vendor sim_vendor = {
    .name = "ze",
    .errors = errors,
    .optional_calls = optional_calls,
    .calls = calls,
    .tells_streams_apart = tells_streams_apart,
    .events_are_tarns_own = true,
};
