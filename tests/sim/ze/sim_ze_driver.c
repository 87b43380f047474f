/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_ze_driver: what a loader asks a driver for: its functions, in tables.
 *
 * The 1.8 loader wants all tables that are not experimental, 46 of them, and takes no driver that lacks
 * one. A function that a table leaves out is an error code to the caller. Loaders that are newer than
 * these headers have longer tables; what is beyond the headers is left as the loader has it.
 */
#include <string.h>

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include "sim_ze.h"

/* --- what there is -------------------------------------------------------------------------------- */

/* A loader that is older than these headers has less room for a table than they say. */
static bool begin(ze_api_version_t version, void *table, size_t table_bytes)
{
    if (ZE_MAJOR_VERSION(version) != ZE_MAJOR_VERSION(ZE_API_VERSION_CURRENT) ||
        version < ZE_API_VERSION_CURRENT)
        return false;
    memset(table, 0, table_bytes);
    return true;
}

ze_result_t zeGetGlobalProcAddrTable(ze_api_version_t version, ze_global_dditable_t *table)
{
    if (!begin(version, table, sizeof *table)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    table->pfnInit = zeInit;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetDriverProcAddrTable(ze_api_version_t version, ze_driver_dditable_t *table)
{
    if (!begin(version, table, sizeof *table)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    table->pfnGet = zeDriverGet;
    table->pfnGetApiVersion = zeDriverGetApiVersion;
    table->pfnGetProperties = zeDriverGetProperties;
    table->pfnGetExtensionProperties = zeDriverGetExtensionProperties;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetDeviceProcAddrTable(ze_api_version_t version, ze_device_dditable_t *table)
{
    if (!begin(version, table, sizeof *table)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    table->pfnGet = zeDeviceGet;
    table->pfnGetSubDevices = zeDeviceGetSubDevices;
    table->pfnGetProperties = zeDeviceGetProperties;
    table->pfnGetMemoryProperties = zeDeviceGetMemoryProperties;
    table->pfnGetMemoryAccessProperties = zeDeviceGetMemoryAccessProperties;
    table->pfnGetCommandQueueGroupProperties = zeDeviceGetCommandQueueGroupProperties;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetContextProcAddrTable(ze_api_version_t version, ze_context_dditable_t *table)
{
    if (!begin(version, table, sizeof *table)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    table->pfnCreate = zeContextCreate;
    table->pfnDestroy = zeContextDestroy;
    table->pfnMakeMemoryResident = zeContextMakeMemoryResident;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetCommandListProcAddrTable(ze_api_version_t version,
                                          ze_command_list_dditable_t *table)
{
    if (!begin(version, table, sizeof *table)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    table->pfnCreateImmediate = zeCommandListCreateImmediate;
    table->pfnDestroy = zeCommandListDestroy;
    table->pfnAppendBarrier = zeCommandListAppendBarrier;
    table->pfnAppendSignalEvent = zeCommandListAppendSignalEvent;
    table->pfnAppendWaitOnEvents = zeCommandListAppendWaitOnEvents;
    table->pfnAppendMemoryFill = zeCommandListAppendMemoryFill;
    table->pfnAppendMemoryCopy = zeCommandListAppendMemoryCopy;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetEventPoolProcAddrTable(ze_api_version_t version, ze_event_pool_dditable_t *table)
{
    if (!begin(version, table, sizeof *table)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    table->pfnCreate = zeEventPoolCreate;
    table->pfnDestroy = zeEventPoolDestroy;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetEventProcAddrTable(ze_api_version_t version, ze_event_dditable_t *table)
{
    if (!begin(version, table, sizeof *table)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    table->pfnCreate = zeEventCreate;
    table->pfnDestroy = zeEventDestroy;
    table->pfnHostSignal = zeEventHostSignal;
    table->pfnHostReset = zeEventHostReset;
    table->pfnHostSynchronize = zeEventHostSynchronize;
    table->pfnQueryStatus = zeEventQueryStatus;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetMemProcAddrTable(ze_api_version_t version, ze_mem_dditable_t *table)
{
    if (!begin(version, table, sizeof *table)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    table->pfnAllocDevice = zeMemAllocDevice;
    table->pfnAllocHost = zeMemAllocHost;
    table->pfnAllocShared = zeMemAllocShared;
    table->pfnFree = zeMemFree;
    table->pfnFreeExt = zeMemFreeExt;
    table->pfnGetAllocProperties = zeMemGetAllocProperties;
    table->pfnGetAddressRange = zeMemGetAddressRange;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetVirtualMemProcAddrTable(ze_api_version_t version, ze_virtual_mem_dditable_t *table)
{
    if (!begin(version, table, sizeof *table)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    table->pfnQueryPageSize = zeVirtualMemQueryPageSize;
    table->pfnReserve = zeVirtualMemReserve;
    table->pfnFree = zeVirtualMemFree;
    table->pfnMap = zeVirtualMemMap;
    table->pfnUnmap = zeVirtualMemUnmap;
    table->pfnSetAccessAttribute = zeVirtualMemSetAccessAttribute;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeGetPhysicalMemProcAddrTable(ze_api_version_t version,
                                          ze_physical_mem_dditable_t *table)
{
    if (!begin(version, table, sizeof *table)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    table->pfnCreate = zePhysicalMemCreate;
    table->pfnDestroy = zePhysicalMemDestroy;
    return ZE_RESULT_SUCCESS;
}

/* --- what there is not ----------------------------------------------------------------------------- */

#define EMPTY_TABLE(function, type)                                               \
    ze_result_t function(ze_api_version_t version, __typeof__(type) *table)       \
    {                                                                             \
        bool is_good = begin(version, table, sizeof *table);                      \
        return is_good ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_VERSION; \
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
