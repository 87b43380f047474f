/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_raw: the vendor's own calls, through the backend's acquire and release: cudaMalloc and
 * cudaFree and their like, or on the host the system's mmap and munmap.
 */
#include "allocator.h"

#include <stdlib.h>

#include "backing.h"

static tarn_status open_raw(const struct tn_allocator_settings *settings, void **state_out,
                            struct tn_reason *reason_out)
{
    struct tn_backing *backing = malloc(sizeof *backing);
    if (!backing) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    tarn_status status = tn_backing_init(backing, settings->device, reason_out);
    if (status != TARN_STATUS_OK) {
        free(backing);
        return status;
    }
    *state_out = backing;
    return TARN_STATUS_OK;
}

static tarn_status alloc_raw(void *state, size_t size_bytes, void **address_out)
{
    if (size_bytes == 0) {
        *address_out = NULL;
        return TARN_STATUS_OK;
    }
    return tn_backing_acquire(state, size_bytes, address_out);
}

static tarn_status free_raw(void *state, void *address, size_t size_bytes)
{
    if (!address) return TARN_STATUS_OK;
    return tn_backing_release(state, address, size_bytes);
}

static void explain_raw(void *state, tarn_status status, struct tn_reason *reason_out)
{
    (void)status;
    tn_backing_explain(state, reason_out);
}

static void get_usage_raw(void *state, struct tn_allocator_usage *usage_out)
{
    const struct tn_backing *backing = state;
    *usage_out = (struct tn_allocator_usage){
        .footprint_bytes_max = backing->footprint_bytes_max,
        .vendor_calls = backing->vendor_calls,
    };
}

static void close_raw(void *state)
{
    tn_backing_fini(state);
    free(state);
}

const struct tn_allocator tn_allocator_raw = {
    .name = "raw",
    .open = open_raw,
    .alloc = alloc_raw,
    .free = free_raw,
    .explain = explain_raw,
    .get_usage = get_usage_raw,
    .close = close_raw,
};
