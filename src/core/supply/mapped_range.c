/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mapped_range: the range of a contiguous pool at its beginning and at its end. */
#include "mapped.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../arenas/gather.h"

#include "pool_options.h"

/* --- reserving ------------------------------------------------------------------------------ */

/* The units of the range, by the options and the device. */
struct geometry {
    size_t unit_bytes;
    uint32_t unit_count;     /* wished for */
    uint32_t unit_count_max; /* of a step */
    size_t device_bytes;     /* SIZE_MAX: unknown */
};

/* Addresses from the backend, without memory. */
struct addresses {
    void *address;
    size_t size_bytes;
};

/* A table of an older backend may end before these two operations. */
static bool can_share(const tarn_backend_operations *operations)
{
    const size_t bytes_with_both =
        offsetof(tarn_backend_operations, range_export) + sizeof operations->range_export;
    return operations->struct_bytes >= bytes_with_both && operations->range_map_shareable &&
           operations->range_export;
}

static tarn_status check_ranges(const struct tarn_pool *pool)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    bool has_ranges = pool->range_granularity_bytes > 0 && operations->range_reserve &&
                      operations->range_release && operations->range_map && operations->range_unmap;
    if (!has_ranges) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "contiguous: the %s backend cannot map this kind of memory into a range of "
                       "addresses on this device",
                       operations->name);
    }
    if (!tn_is_power_of_two(pool->range_granularity_bytes)) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "the %s backend's properties make no sense: range granularity %zu bytes",
                       operations->name, pool->range_granularity_bytes);
    }
    if (pool->is_shareable && (!pool->has_shareable_ranges || !can_share(operations))) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "is_shareable: the %s backend cannot give what it maps into a range to "
                       "other processes, on this device and with this driver",
                       operations->name);
    }
    return TARN_STATUS_OK;
}

/* The range has many times the addresses that the pool can ever fill. If live regions lie scattered, no place
 * between them may be large enough for a request, although there is enough memory. Then there is one behind
 * them. */
#define RANGE_FACTOR 8

static uint32_t count_units(size_t bytes_max, size_t unit_bytes, unsigned chunk_log2)
{
    size_t unit_count_max = ((size_t)TN_CHUNK_COUNT_MAX << chunk_log2) / unit_bytes;
    return (uint32_t)tn_min(tn_max(bytes_max / unit_bytes, 1), unit_count_max / RANGE_FACTOR) *
           RANGE_FACTOR;
}

/* Returns the size of units. Steps of step_bytes are one unit each. */
static size_t find_unit_bytes(const struct tarn_pool *pool, const tarn_pool_options *options,
                              size_t device_bytes)
{
    size_t floor_bytes = tn_max(pool->range_granularity_bytes, options->chunk_bytes);
    size_t unit_bytes =
        options->step_bytes
            ? tn_max(options->step_bytes, floor_bytes)
            : tn_unit_bytes_for(device_bytes, pool->growth.limit_bytes, floor_bytes);
    while (unit_bytes > pool->growth.allocation_bytes_max && unit_bytes > floor_bytes)
        unit_bytes /= 2;
    return unit_bytes;
}

/* Returns the most units that a step ever has. */
static uint32_t find_unit_count_max(const struct tarn_pool *pool, const tarn_pool_options *options,
                                    size_t unit_bytes)
{
    size_t step_bytes_max = tn_growth_step_bytes_max(&pool->growth, SIZE_MAX, SIZE_MAX);
    if (options->step_bytes > 0) return 1;
    return (uint32_t)tn_min(tn_max(step_bytes_max / unit_bytes, 1), TN_CHUNK_COUNT_MAX);
}

static tarn_status find_geometry(const struct tarn_pool *pool, const tarn_pool_options *options,
                                 struct geometry *geometry_out)
{
    struct geometry geometry;
    tarn_memory_info info = { .total_bytes = SIZE_MAX };
    size_t limit_bytes = pool->growth.limit_bytes;
    tarn_status status = check_ranges(pool);
    if (status != TARN_STATUS_OK) return status;
    tarn_backend_result result = tn_query_memory(&pool->backend, &info);
    if (result.status != TARN_STATUS_OK && result.status != TARN_STATUS_NOT_SUPPORTED) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "the %s backend does not tell how much memory there is",
                              pool->backend.operations->name);
    }
    geometry.unit_bytes = find_unit_bytes(pool, options, info.total_bytes);
    if (geometry.unit_bytes > limit_bytes) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "the limit is %zu bytes, less than one step of %zu", limit_bytes,
                       geometry.unit_bytes);
    }
    geometry.unit_count =
        count_units(tn_min(limit_bytes, info.total_bytes), geometry.unit_bytes, pool->chunk_log2);
    geometry.unit_count_max = find_unit_count_max(pool, options, geometry.unit_bytes);
    geometry.device_bytes = info.total_bytes;
    *geometry_out = geometry;
    return TARN_STATUS_OK;
}

/* Asks for fewer and fewer addresses. The first unit must begin at a multiple of its size. The backend does
 * not promise that, so some addresses are added. */
static tarn_backend_result reserve(struct tarn_pool *pool, struct geometry *geometry,
                                   struct addresses *reserved)
{
    tarn_backend_result result = { TARN_STATUS_OUT_OF_MEMORY, 0, NULL };
    for (; geometry->unit_count > 0; geometry->unit_count /= 2) {
        reserved->size_bytes = geometry->unit_count * geometry->unit_bytes +
                               (geometry->unit_bytes - pool->range_granularity_bytes);
        result = tn_pool_meaning_of(pool->backend.operations->range_reserve(
            pool->backend.state, reserved->size_bytes, &reserved->address));
        if (result.status != TARN_STATUS_OUT_OF_MEMORY) break;
    }
    return result;
}

/* Makes the range the pool's one static pool. */
static bool insert_range(struct tarn_pool *pool, struct tn_step_range *range)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_static_pool *whole = range->static_pool;
    if (!tn_static_pool_list_reserve(&pool->list) ||
        !tn_region_index_reserve_span(&pool->own.index, 0, whole->piece.chunk_count))
        return false;
    whole->first_chunk = 0;
    whole->head = tn_region_index_add_void_span(&pool->own.index, 0, whole->piece.chunk_count);
    tn_static_pool_list_insert(&pool->list, whole);
    pool->range = range;
    pool->supplier = &tn_mapped_supplier;
    return true;
}

/* Requires: growth_lock. False: no host memory. */
static bool add_range(struct tarn_pool *pool, const struct geometry *geometry,
                      const struct addresses *reserved)
{
    struct tn_step_range *range =
        tn_step_range_create(reserved->address, reserved->size_bytes, geometry->unit_bytes,
                             geometry->unit_count, geometry->unit_count_max, pool->chunk_log2);
    if (!range) return false;
    range->device_bytes = geometry->device_bytes;
    tn_pool_lock_and_gather(pool);
    bool is_inserted = insert_range(pool, range);
    tn_pool_unlock(pool);
    if (is_inserted) return true;
    tn_step_range_destroy(range);
    return false;
}

tarn_status tn_mapped_reserve_range(struct tarn_pool *pool, const tarn_pool_options *options)
{
    struct geometry geometry = { 0 };
    struct addresses reserved = { NULL, 0 };
    tarn_status status = find_geometry(pool, options, &geometry);
    if (status != TARN_STATUS_OK) return status;
    tarn_backend_result result = reserve(pool, &geometry, &reserved);
    if (result.status != TARN_STATUS_OK) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "the %s backend reserved no range of addresses",
                              pool->backend.operations->name);
    }
    tn_pool_lock_growth(pool);
    bool is_added = add_range(pool, &geometry, &reserved);
    tn_pool_unlock_growth(pool);
    if (is_added) return TARN_STATUS_OK;
    pool->backend.operations->range_release(pool->backend.state, reserved.address,
                                            reserved.size_bytes);
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                   "the host has no memory to describe a range of %zu bytes", reserved.size_bytes);
}

/* --- the end --------------------------------------------------------------------------------- */

/* The addresses cannot be released before all steps are unmapped. */
void tn_mapped_release_range(struct tarn_pool *pool)
{
    if (pool->own.stats.unreleased_bytes > 0) return;
    pool->backend.operations->range_release(pool->backend.state, pool->range->reserved,
                                            pool->range->reserved_bytes);
}
