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
    tarn_status status = tn_backing_init(backing, settings, reason_out);
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

/* Each of several threads counts for itself. */
struct raw_thread {
    struct tn_backing backing; /* a copy: what is open belongs to the whole */
    struct tn_backing *whole;
};

static tarn_status open_raw_thread(void *state, struct tn_allocator_thread *thread_out,
                                   struct tn_reason *reason_out)
{
    struct raw_thread *self = malloc(sizeof *self);
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    self->whole = state;
    self->backing = (struct tn_backing){ .backend = self->whole->backend,
                                         .granularity_bytes = self->whole->granularity_bytes };
    *thread_out = (struct tn_allocator_thread){ self, false };
    return TARN_STATUS_OK;
}

static tarn_status alloc_in_raw_thread(void *state, size_t size_bytes, void **address_out)
{
    return alloc_raw(&((struct raw_thread *)state)->backing, size_bytes, address_out);
}

static tarn_status free_in_raw_thread(void *state, void *address, size_t size_bytes)
{
    return free_raw(&((struct raw_thread *)state)->backing, address, size_bytes);
}

static void explain_in_raw_thread(void *state, tarn_status status, struct tn_reason *reason_out)
{
    explain_raw(&((struct raw_thread *)state)->backing, status, reason_out);
}

/* The most that all held at a time is taken to be the sum of what each held at most. */
static void close_raw_thread(void *state)
{
    struct raw_thread *self = state;
    self->whole->footprint_bytes_max += self->backing.footprint_bytes_max;
    self->whole->vendor_calls += self->backing.vendor_calls;
    free(self);
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
    .open_thread = open_raw_thread,
    .alloc_in_thread = alloc_in_raw_thread,
    .free_in_thread = free_in_raw_thread,
    .explain_in_thread = explain_in_raw_thread,
    .close_thread = close_raw_thread,
};
