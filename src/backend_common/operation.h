/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * operation: what operations of every backend refuse before the vendor is asked, so that the same
 * mistake has the same status everywhere, whatever a vendor makes of it.
 */
#ifndef TN_OPERATION_H
#define TN_OPERATION_H

#include <stddef.h>
#include <stdint.h>

#include "tarn/backend.h"

#include "../base/arith.h"

/* An answer in which the vendor has no say. */
static inline tarn_backend_result tn_backend_result(tarn_status status)
{
    return (tarn_backend_result){ status, 0, NULL };
}

/* The largest size is checked here because vendors do not: managed memory may be larger than the
 * device's, and host memory is pinned until nothing else on the machine runs. */
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

/* A range, or a part of one: for range_release and range_unmap. */
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

/* For range_map_shareable, whose size and place are then checked as range_map's, and for range_export. */
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
