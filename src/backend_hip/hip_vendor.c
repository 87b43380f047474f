/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_vendor: what HIP's runtime has that CUDA's driver has otherwise: devices in place of contexts, a last error, numbers.
 *
 * The runtime keeps an error for the program's next hipGetLastError, mostly after a kernel, which must not find one of tarn's.
 * So it is taken out. An earlier error of the program's is then lost, too, since the runtime keeps only one. Before HIP 7,
 * NotReady is kept too, and a call that succeeds clears an earlier error, which no caller can prevent.
 */
#include "hip_device.h"

#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#define COPY_DEFAULT 4 /* hipMemcpyDefault: the runtime finds out by the addresses */

/* --- devices in place of contexts -------------------------------------------------------------- */

/* A handle that is never NULL. */
static void *context_of(int device)
{
    return (void *)((uintptr_t)device + 1);
}

static int device_of(const void *context)
{
    return (int)((uintptr_t)context - 1);
}

static tn_gpu_error get_context(const struct tn_gpu_table *table, void **context_out)
{
    int device = 0;
    tn_gpu_error error = table->get_device(&device);
    if (error == TN_ERROR_SUCCESS) *context_out = context_of(device);
    return error;
}

/* Setting a device creates nothing on it. */
static tn_gpu_error enter(const struct tn_gpu_table *table, void *context)
{
    return table->set_device(device_of(context));
}

/* The device was current before, so it can be again. If a kernel has failed there, this may answer with that kernel's error.
 * The program learns of the kernel from its own calls. */
static void leave(const struct tn_gpu_table *table, void *previous)
{
    (void)tn_gpu_succeeds(table, table->set_device(device_of(previous)));
}

static tn_gpu_error begin_context(struct tn_gpu_device *device)
{
    device->context = context_of(device->number);
    return TN_ERROR_SUCCESS;
}

static void end_context(struct tn_gpu_device *device)
{
    (void)device;
}

/* --- data, answers ----------------------------------------------------------------------------- */

static tn_gpu_error copy(const struct tn_gpu_table *table, tn_gpu_address destination,
                         tn_gpu_address source, size_t size_bytes, void *stream)
{
    return table->copy_kind(destination, source, size_bytes, COPY_DEFAULT, stream);
}

static tn_gpu_error get_runtime_version(const struct tn_gpu_table *table, int *version_out)
{
    return table->get_runtime_version(version_out);
}

static const char *take_error(const struct tn_gpu_table *table, tn_gpu_error error)
{
    (void)table->get_last_error();
    return table->get_error_name(error);
}

static const char *error_text(const struct tn_gpu_table *table, tn_gpu_error error)
{
    return table->get_error_text(error);
}

/* No attribute tells it. ROCm 5 refuses to create such memory. Later versions create it, and some of them fail to export it.
 * So it is tried out. Any failure means that memory cannot be shared. */
static tn_gpu_error find_sharing(const struct tn_gpu_device *device, size_t granularity_bytes,
                                 bool *can_share_out)
{
    const struct tn_gpu_table *table = device->table;
    uint64_t handle = 0;
    int file_descriptor = -1;
    if (!tn_gpu_succeeds(table, tn_gpu_create_memory(device, granularity_bytes, true, &handle)))
        return TN_ERROR_SUCCESS;
    bool is_exported =
        tn_gpu_succeeds(table, tn_gpu_export_memory(table, handle, &file_descriptor));
    if (is_exported) close(file_descriptor);
    *can_share_out = tn_gpu_succeeds(table, table->release(handle)) && is_exported;
    return TN_ERROR_SUCCESS;
}

/* --- the table --------------------------------------------------------------------------------- */

#define SYMBOL_OF_BOTH(result, field, cuda, hip, is_required, parameters) \
    { offsetof(struct tn_gpu_table, field), hip, is_required },
#define SYMBOL(result, field, symbol, is_required, parameters) \
    { offsetof(struct tn_gpu_table, field), symbol, is_required },
static const struct tn_gpu_symbol symbols[] = { TN_GPU_FUNCTIONS(SYMBOL_OF_BOTH)
                                                    TN_HIP_FUNCTIONS(SYMBOL) };

const struct tn_gpu_vendor tn_hip_vendor = {
    .name = "HIP",
    .backend_name = "hip",
    .unloading_name = "hipErrorDeinitialized",
    .symbols = symbols,
    .symbol_count = COUNT_OF(symbols),
    .can_map_host = TN_HIP_CAN_MAP_HOST_MEMORY,
    .has_one_address = TN_GPU_TRUE,
    .has_managed = TN_HIP_MANAGED_MEMORY,
    .has_concurrent_managed = TN_HIP_CONCURRENT_MANAGED_ACCESS,
    .is_integrated = TN_HIP_INTEGRATED,
    .texture_alignment = TN_HIP_TEXTURE_ALIGNMENT,
    .has_ranges = TN_HIP_VIRTUAL_MEMORY_MANAGEMENT,
    .has_rdma = TN_GPU_FALSE,
    /* The larger where there are two, which makes for fewer mappings. Without an alignment the runtime may align to a page, or
     * to the smaller one. */
    .granularity = TN_GRANULARITY_RECOMMENDED,
    .has_legacy_stream_since = 70000000, /* where an older one has it, NULL and it count as two */
    .aligns_reservations = false,
    .may_unmap_nothing = false,
    .unmaps_at_once = false, /* not known */
    .get_context = get_context,
    .enter = enter,
    .leave = leave,
    .begin_context = begin_context,
    .end_context = end_context,
    .copy = copy,
    .get_runtime_version = get_runtime_version,
    .take_error = take_error,
    .error_text = error_text,
    .find_sharing = find_sharing,
};
