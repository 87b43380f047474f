/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_raw: the vendor's own calls, through the backend's acquire and release: cudaMalloc and
 * cudaFree and their like, or on the host the system's mmap and munmap.
 */
#include "allocator.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "backing.h"

struct raw_state {
    struct tn_backing backing; /* first: the calls of one thread alone use it as their state */
    atomic_size_t threads_footprint_bytes; /* of all threads' calls */
    atomic_size_t threads_footprint_bytes_max;
};

static tarn_status open_raw(const struct tn_allocator_settings *settings, void **state_out,
                            struct tn_reason *reason_out)
{
    struct raw_state *self = calloc(1, sizeof *self);
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    tarn_status status = tn_backing_init(&self->backing, settings, reason_out);
    if (status != TARN_STATUS_OK) {
        free(self);
        return status;
    }
    *state_out = self;
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
    const struct raw_state *self = state;
    size_t of_threads = atomic_load(&self->threads_footprint_bytes_max);
    size_t of_one = self->backing.footprint_bytes_max;
    *usage_out = (struct tn_allocator_usage){
        .footprint_bytes =
            self->backing.footprint_bytes + atomic_load(&self->threads_footprint_bytes),
        .footprint_bytes_max = of_threads > of_one ? of_threads : of_one,
        .vendor_calls = self->backing.vendor_calls,
    };
}

/* Each thread counts its own calls. The bytes are counted for all, since a thread may free another's block.
 * */
struct raw_thread {
    struct tn_backing backing; /* a copy; the whole closes the backend */
    struct raw_state *whole;
};

static tarn_status open_raw_thread(void *state, struct tn_allocator_thread *thread_inout,
                                   struct tn_reason *reason_out)
{
    struct raw_thread *self = malloc(sizeof *self);
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    self->whole = state;
    const struct tn_backing *backing = &self->whole->backing;
    self->backing = (struct tn_backing){ .backend = backing->backend,
                                         .granularity_bytes = backing->granularity_bytes };
    thread_inout->state = self;
    thread_inout->has_stream = false;
    return TARN_STATUS_OK;
}

/* Adds the change of this thread's count to the sum of all. A decrease wraps around, and the sum with it. */
static void count_for_all(struct raw_thread *self, size_t bytes_before)
{
    size_t change = self->backing.footprint_bytes - bytes_before;
    size_t bytes = atomic_fetch_add(&self->whole->threads_footprint_bytes, change) + change;
    size_t most = atomic_load(&self->whole->threads_footprint_bytes_max);
    while (bytes > most &&
           !atomic_compare_exchange_weak(&self->whole->threads_footprint_bytes_max, &most, bytes))
        ;
}

static tarn_status alloc_in_raw_thread(void *state, size_t size_bytes, void **address_out)
{
    struct raw_thread *self = state;
    size_t bytes_before = self->backing.footprint_bytes;
    tarn_status status = alloc_raw(&self->backing, size_bytes, address_out);
    if (status == TARN_STATUS_OK) count_for_all(self, bytes_before);
    return status;
}

static tarn_status free_in_raw_thread(void *state, void *address, size_t size_bytes)
{
    struct raw_thread *self = state;
    size_t bytes_before = self->backing.footprint_bytes;
    tarn_status status = free_raw(&self->backing, address, size_bytes);
    if (status == TARN_STATUS_OK) count_for_all(self, bytes_before);
    return status;
}

static void explain_in_raw_thread(void *state, tarn_status status, struct tn_reason *reason_out)
{
    explain_raw(&((struct raw_thread *)state)->backing, status, reason_out);
}

static void close_raw_thread(void *state)
{
    struct raw_thread *self = state;
    self->whole->backing.vendor_calls += self->backing.vendor_calls;
    free(self);
}

static void close_raw(void *state)
{
    struct raw_state *self = state;
    tn_backing_fini(&self->backing);
    free(self);
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
    .free_order = TN_FREE_WAITS,
};
