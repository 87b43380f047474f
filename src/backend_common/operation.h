/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * operation: the checks that the operations of every backend make before they call the vendor. So a
 * mistake has the same status everywhere, whatever a vendor answers to it.
 */
#ifndef TN_OPERATION_H
#define TN_OPERATION_H

#include <stddef.h>
#include <stdint.h>

#include "tarn/backend.h"

#include "../base/arith.h"

/* An answer that does not come from the vendor. */
static inline tarn_backend_result tn_backend_result(tarn_status status)
{
    return (tarn_backend_result){ status, 0, NULL };
}

/* Vendors do not check the largest size: managed memory may be larger than the device's memory, and
 * pinning too much host memory stops all other programs of the machine. */
static inline tarn_status tn_backend_check_acquire(const tarn_device_properties *properties,
                                                   size_t size_bytes, void *const *address_out)
{
    if (size_bytes == 0 || !address_out) return TARN_STATUS_INVALID_ARGUMENT;
    if (size_bytes > properties->allocation_bytes_max) return TARN_STATUS_OUT_OF_MEMORY;
    return TARN_STATUS_OK;
}

static inline tarn_status tn_backend_check_release(const void *address, size_t size_bytes)
{
    return address && size_bytes != 0 ? TARN_STATUS_OK : TARN_STATUS_INVALID_ARGUMENT;
}

static inline tarn_status tn_backend_check_range_reserve(const tarn_device_properties *properties,
                                                         size_t size_bytes,
                                                         void *const *address_out)
{
    size_t granularity_bytes = properties->range_granularity_bytes;
    if (granularity_bytes == 0) return TARN_STATUS_NOT_SUPPORTED;
    if (size_bytes == 0 || size_bytes % granularity_bytes != 0 || !address_out)
        return TARN_STATUS_INVALID_ARGUMENT;
    return TARN_STATUS_OK;
}

/* For range_release and range_unmap: checks a range or a part of one. */
static inline tarn_status tn_backend_check_range(const tarn_device_properties *properties,
                                                 const void *address, size_t size_bytes)
{
    size_t granularity_bytes = properties->range_granularity_bytes;
    size_t end;
    if (granularity_bytes == 0) return TARN_STATUS_NOT_SUPPORTED;
    if (!address || (uintptr_t)address % granularity_bytes != 0 || size_bytes == 0 ||
        size_bytes % granularity_bytes != 0 || !tn_add_fits((uintptr_t)address, size_bytes, &end))
        return TARN_STATUS_INVALID_ARGUMENT;
    return TARN_STATUS_OK;
}

static inline tarn_status tn_backend_check_range_map(const tarn_device_properties *properties,
                                                     const void *address, size_t size_bytes,
                                                     const tarn_mapping *mapping_out)
{
    tarn_status status = tn_backend_check_range(properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return status;
    if (!mapping_out) return TARN_STATUS_INVALID_ARGUMENT;
    if (size_bytes > properties->allocation_bytes_max) return TARN_STATUS_OUT_OF_MEMORY;
    return TARN_STATUS_OK;
}

/* For range_map_shareable, whose backends make the check of range_map beside it, and for range_export. */
static inline tarn_status tn_backend_check_shareable(const tarn_device_properties *properties)
{
    return properties->has_shareable_ranges ? TARN_STATUS_OK : TARN_STATUS_NOT_SUPPORTED;
}

static inline tarn_status tn_backend_check_range_export(const tarn_device_properties *properties,
                                                        const void *address, size_t size_bytes,
                                                        const int *file_descriptor_out)
{
    tarn_status status = tn_backend_check_shareable(properties);
    if (status == TARN_STATUS_OK) status = tn_backend_check_range(properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return status;
    return file_descriptor_out ? TARN_STATUS_OK : TARN_STATUS_INVALID_ARGUMENT;
}

#endif
