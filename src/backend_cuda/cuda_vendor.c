/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_vendor: what CUDA's driver has that HIP has otherwise: contexts, names of errors, numbers. */
#include "cuda_device.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* --- contexts ---------------------------------------------------------------------------------- */

static tn_gpu_error get_context(const struct tn_gpu_table *table, void **context_out)
{
    return table->get_context(context_out);
}

static tn_gpu_error enter(const struct tn_gpu_table *table, void *context)
{
    return table->push_context(context);
}

static void leave(const struct tn_gpu_table *table, void *previous)
{
    void *popped;
    (void)previous; /* the driver has it on its stack */
    (void)table->pop_context(&popped);
}

/* The primary context, which programs of the runtime use. It is created if there is none yet. */
static tn_gpu_error begin_context(struct tn_gpu_device *device)
{
    return device->table->retain_primary(&device->context, device->number);
}

/* Also after a reset of the device, which ends the context and releases it for nobody. */
static void end_context(struct tn_gpu_device *device)
{
    const struct tn_gpu_table *table = device->table;
    if (table->release_primary)
        (void)table->release_primary(device->number);
    else
        (void)table->release_primary_7(device->number);
}

/* --- data, answers ----------------------------------------------------------------------------- */

static tn_gpu_error copy(const struct tn_gpu_table *table, tn_gpu_address destination,
                         tn_gpu_address source, size_t size_bytes, void *stream)
{
    return table->copy(destination, source, size_bytes, stream);
}

/* The driver alone is called. */
static tn_gpu_error get_runtime_version(const struct tn_gpu_table *table, int *version_out)
{
    (void)table;
    *version_out = 0;
    return TN_ERROR_SUCCESS;
}

/* The driver keeps no last error. */
static const char *take_error(const struct tn_gpu_table *table, tn_gpu_error error)
{
    const char *name = NULL;
    (void)table->find_error_name(error, &name);
    return name;
}

static const char *error_text(const struct tn_gpu_table *table, tn_gpu_error error)
{
    const char *text = NULL;
    (void)table->find_error_text(error, &text);
    return text;
}

static tn_gpu_error find_sharing(const struct tn_gpu_device *device, size_t granularity_bytes,
                                 bool *can_share_out)
{
    (void)granularity_bytes;
    return tn_gpu_ask(device->table, TN_CUDA_HANDLE_IS_FILE_DESCRIPTOR, device->number,
                      can_share_out);
}

/* --- the table --------------------------------------------------------------------------------- */

#define SYMBOL_OF_BOTH(result, field, cuda, hip, is_required, parameters) \
    { offsetof(struct tn_gpu_table, field), cuda, is_required },
#define SYMBOL(result, field, symbol, is_required, parameters) \
    { offsetof(struct tn_gpu_table, field), symbol, is_required },
static const struct tn_gpu_symbol symbols[] = { TN_GPU_FUNCTIONS(SYMBOL_OF_BOTH)
                                                    TN_CUDA_FUNCTIONS(SYMBOL) };

const struct tn_gpu_vendor tn_cuda_vendor = {
    .name = "CUDA",
    .backend_name = "cuda",
    .unloading_name = "CUDA_ERROR_DEINITIALIZED",
    .symbols = symbols,
    .symbol_count = COUNT_OF(symbols),
    .can_map_host = TN_CUDA_CAN_MAP_HOST_MEMORY,
    .has_one_address = TN_CUDA_UNIFIED_ADDRESSING,
    .has_managed = TN_CUDA_MANAGED_MEMORY,
    .has_concurrent_managed = TN_CUDA_CONCURRENT_MANAGED_ACCESS,
    .is_integrated = TN_CUDA_INTEGRATED,
    .texture_alignment = TN_CUDA_TEXTURE_ALIGNMENT,
    .has_ranges = TN_CUDA_VIRTUAL_MEMORY_MANAGEMENT,
    .has_rdma = TN_CUDA_RDMA_WITH_VIRTUAL_MEMORY,
    .granularity = TN_GRANULARITY_MINIMUM,
    .aligns_reservations = true,
    .may_unmap_nothing = true,
    .unmaps_at_once = true, /* measured: docs/decisions/0033 */
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
