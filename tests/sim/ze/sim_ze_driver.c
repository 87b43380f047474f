/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_ze_driver: what a loader asks a driver for: its functions, in tables.
 *
 * The 1.8 loader wants all tables that are not experimental, 46 of them, and takes no driver that lacks
 * one. A function that a table leaves out is an error code to the caller. Headers of this library may be
 * older than the loader, whose tables are then longer; it clears them before it asks.
 */
#include <string.h>

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include "sim_ze.h"

/* --- what there is -------------------------------------------------------------------------------- */

static ze_result_t check_version(ze_api_version_t version)
{
    return ZE_MAJOR_VERSION(version) == 1 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
}

ze_result_t zeGetGlobalProcAddrTable(ze_api_version_t version, ze_global_dditable_t *table)
{
    memset(table, 0, sizeof *table);
    table->pfnInit = zeInit;
    return check_version(version);
}

ze_result_t zeGetDriverProcAddrTable(ze_api_version_t version, ze_driver_dditable_t *table)
{
    memset(table, 0, sizeof *table);
    table->pfnGet = zeDriverGet;
    table->pfnGetApiVersion = zeDriverGetApiVersion;
    table->pfnGetProperties = zeDriverGetProperties;
    table->pfnGetExtensionProperties = zeDriverGetExtensionProperties;
    return check_version(version);
}

ze_result_t zeGetDeviceProcAddrTable(ze_api_version_t version, ze_device_dditable_t *table)
{
    memset(table, 0, sizeof *table);
    table->pfnGet = zeDeviceGet;
    table->pfnGetSubDevices = zeDeviceGetSubDevices;
    table->pfnGetProperties = zeDeviceGetProperties;
    table->pfnGetMemoryProperties = zeDeviceGetMemoryProperties;
    table->pfnGetMemoryAccessProperties = zeDeviceGetMemoryAccessProperties;
    table->pfnGetCommandQueueGroupProperties = zeDeviceGetCommandQueueGroupProperties;
    return check_version(version);
}

ze_result_t zeGetContextProcAddrTable(ze_api_version_t version, ze_context_dditable_t *table)
{
    memset(table, 0, sizeof *table);
    table->pfnCreate = zeContextCreate;
    table->pfnDestroy = zeContextDestroy;
    table->pfnMakeMemoryResident = zeContextMakeMemoryResident;
    return check_version(version);
}

ze_result_t zeGetCommandListProcAddrTable(ze_api_version_t version,
                                          ze_command_list_dditable_t *table)
{
    memset(table, 0, sizeof *table);
    table->pfnCreateImmediate = zeCommandListCreateImmediate;
    table->pfnDestroy = zeCommandListDestroy;
    table->pfnAppendBarrier = zeCommandListAppendBarrier;
    table->pfnAppendSignalEvent = zeCommandListAppendSignalEvent;
    table->pfnAppendWaitOnEvents = zeCommandListAppendWaitOnEvents;
    table->pfnAppendMemoryFill = zeCommandListAppendMemoryFill;
    table->pfnAppendMemoryCopy = zeCommandListAppendMemoryCopy;
    return check_version(version);
}

ze_result_t zeGetEventPoolProcAddrTable(ze_api_version_t version, ze_event_pool_dditable_t *table)
{
    memset(table, 0, sizeof *table);
    table->pfnCreate = zeEventPoolCreate;
    table->pfnDestroy = zeEventPoolDestroy;
    return check_version(version);
}

ze_result_t zeGetEventProcAddrTable(ze_api_version_t version, ze_event_dditable_t *table)
{
    memset(table, 0, sizeof *table);
    table->pfnCreate = zeEventCreate;
    table->pfnDestroy = zeEventDestroy;
    table->pfnHostSignal = zeEventHostSignal;
    table->pfnHostReset = zeEventHostReset;
    table->pfnHostSynchronize = zeEventHostSynchronize;
    table->pfnQueryStatus = zeEventQueryStatus;
    return check_version(version);
}

ze_result_t zeGetMemProcAddrTable(ze_api_version_t version, ze_mem_dditable_t *table)
{
    memset(table, 0, sizeof *table);
    table->pfnAllocDevice = zeMemAllocDevice;
    table->pfnAllocHost = zeMemAllocHost;
    table->pfnAllocShared = zeMemAllocShared;
    table->pfnFree = zeMemFree;
    table->pfnFreeExt = zeMemFreeExt;
    table->pfnGetAllocProperties = zeMemGetAllocProperties;
    table->pfnGetAddressRange = zeMemGetAddressRange;
    return check_version(version);
}

ze_result_t zeGetVirtualMemProcAddrTable(ze_api_version_t version, ze_virtual_mem_dditable_t *table)
{
    memset(table, 0, sizeof *table);
    table->pfnQueryPageSize = zeVirtualMemQueryPageSize;
    table->pfnReserve = zeVirtualMemReserve;
    table->pfnFree = zeVirtualMemFree;
    table->pfnMap = zeVirtualMemMap;
    table->pfnUnmap = zeVirtualMemUnmap;
    table->pfnSetAccessAttribute = zeVirtualMemSetAccessAttribute;
    return check_version(version);
}

ze_result_t zeGetPhysicalMemProcAddrTable(ze_api_version_t version,
                                          ze_physical_mem_dditable_t *table)
{
    memset(table, 0, sizeof *table);
    table->pfnCreate = zePhysicalMemCreate;
    table->pfnDestroy = zePhysicalMemDestroy;
    return check_version(version);
}

/* --- what there is not ----------------------------------------------------------------------------- */

#define EMPTY_TABLE(function, type)                                         \
    ze_result_t function(ze_api_version_t version, __typeof__(type) *table) \
    {                                                                       \
        memset(table, 0, sizeof *table);                                    \
        return check_version(version);                                      \
    }

EMPTY_TABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t)
EMPTY_TABLE(zeGetImageProcAddrTable, ze_image_dditable_t)
EMPTY_TABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t)
EMPTY_TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t)
EMPTY_TABLE(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t)
EMPTY_TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t)
EMPTY_TABLE(zeGetSamplerProcAddrTable, ze_sampler_dditable_t)
EMPTY_TABLE(zetGetDeviceProcAddrTable, zet_device_dditable_t)
EMPTY_TABLE(zetGetContextProcAddrTable, zet_context_dditable_t)
EMPTY_TABLE(zetGetCommandListProcAddrTable, zet_command_list_dditable_t)
EMPTY_TABLE(zetGetModuleProcAddrTable, zet_module_dditable_t)
EMPTY_TABLE(zetGetKernelProcAddrTable, zet_kernel_dditable_t)
EMPTY_TABLE(zetGetMetricGroupProcAddrTable, zet_metric_group_dditable_t)
EMPTY_TABLE(zetGetMetricProcAddrTable, zet_metric_dditable_t)
EMPTY_TABLE(zetGetMetricStreamerProcAddrTable, zet_metric_streamer_dditable_t)
EMPTY_TABLE(zetGetMetricQueryPoolProcAddrTable, zet_metric_query_pool_dditable_t)
EMPTY_TABLE(zetGetMetricQueryProcAddrTable, zet_metric_query_dditable_t)
EMPTY_TABLE(zetGetTracerExpProcAddrTable, zet_tracer_exp_dditable_t)
EMPTY_TABLE(zetGetDebugProcAddrTable, zet_debug_dditable_t)
EMPTY_TABLE(zesGetDriverProcAddrTable, zes_driver_dditable_t)
EMPTY_TABLE(zesGetDeviceProcAddrTable, zes_device_dditable_t)
EMPTY_TABLE(zesGetSchedulerProcAddrTable, zes_scheduler_dditable_t)
EMPTY_TABLE(zesGetPerformanceFactorProcAddrTable, zes_performance_factor_dditable_t)
EMPTY_TABLE(zesGetPowerProcAddrTable, zes_power_dditable_t)
EMPTY_TABLE(zesGetFrequencyProcAddrTable, zes_frequency_dditable_t)
EMPTY_TABLE(zesGetEngineProcAddrTable, zes_engine_dditable_t)
EMPTY_TABLE(zesGetStandbyProcAddrTable, zes_standby_dditable_t)
EMPTY_TABLE(zesGetFirmwareProcAddrTable, zes_firmware_dditable_t)
EMPTY_TABLE(zesGetMemoryProcAddrTable, zes_memory_dditable_t)
EMPTY_TABLE(zesGetFabricPortProcAddrTable, zes_fabric_port_dditable_t)
EMPTY_TABLE(zesGetTemperatureProcAddrTable, zes_temperature_dditable_t)
EMPTY_TABLE(zesGetPsuProcAddrTable, zes_psu_dditable_t)
EMPTY_TABLE(zesGetFanProcAddrTable, zes_fan_dditable_t)
EMPTY_TABLE(zesGetLedProcAddrTable, zes_led_dditable_t)
EMPTY_TABLE(zesGetRasProcAddrTable, zes_ras_dditable_t)
EMPTY_TABLE(zesGetDiagnosticsProcAddrTable, zes_diagnostics_dditable_t)
