/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * vendor_pool: the adapters of a vendor's own pool, MallocFromPoolAsync and FreeAsync on one stream. CUDA's
 * and HIP's calls differ in their names alone.
 *
 * Each opening makes a new pool, which starts empty; the device's current pool is left alone. vendor-pool
 * keeps all freed memory. vendor-pool:release has a release threshold of 0, the vendors' default: free memory
 * goes back whenever something synchronises, and the next calls are far slower. Nothing synchronises between
 * the calls here.
 *
 * The file that includes it has included the vendor's header, and defines:
 *     VENDOR(name)                                     a call, a type or a constant, "cuda" or "hip" before the name
 *     VENDOR_OUT_OF_MEMORY, VENDOR_HAS_POOLS           an error, and an attribute of a device
 *     vendor_pool_properties, vendor_pool_attribute    types
 */
#ifndef TN_VENDOR_POOL_H
#define TN_VENDOR_POOL_H

#include <stdlib.h>

#include "allocator.h"

typedef VENDOR(Error_t) vendor_error;
typedef VENDOR(Stream_t) vendor_stream;

struct vendor_pool {
    int device;
    VENDOR(MemPool_t) pool;
    vendor_stream stream;
    uint64_t vendor_calls;
    bool has_one_stream; /* for all threads */
    vendor_error last_error;
};

/* The runtime keeps a thread's last error, and other code in the program would take it for its own: CUB
 * checks for it in every call. */
static void forget_errors(void)
{
    (void)VENDOR(GetLastError)();
}

static tarn_status status_of(struct vendor_pool *self, vendor_error error)
{
    if (error == VENDOR(Success)) return TARN_STATUS_OK;
    self->last_error = error;
    forget_errors();
    switch (error) {
    case VENDOR_OUT_OF_MEMORY:
        return TARN_STATUS_OUT_OF_MEMORY;
    case VENDOR(ErrorNotSupported):
        return TARN_STATUS_NOT_SUPPORTED;
    case VENDOR(ErrorNoDevice):
    case VENDOR(ErrorInsufficientDriver):
        return TARN_STATUS_NO_DEVICE;
    case VENDOR(ErrorInvalidDevice):
        return TARN_STATUS_INVALID_DEVICE;
    default:
        return TARN_STATUS_VENDOR_ERROR;
    }
}

static vendor_error check_device(const struct vendor_pool *self)
{
    int has_pools = 0;
    vendor_error error = VENDOR(DeviceGetAttribute)(&has_pools, VENDOR_HAS_POOLS, self->device);
    if (error == VENDOR(Success) && !has_pools) error = VENDOR(ErrorNotSupported);
    return error;
}

static vendor_error create_pool(struct vendor_pool *self, uint64_t threshold_bytes)
{
    vendor_pool_properties properties = { 0 };
    properties.allocType = VENDOR(MemAllocationTypePinned);
    properties.location.type = VENDOR(MemLocationTypeDevice);
    properties.location.id = self->device;
    vendor_error error = VENDOR(MemPoolCreate)(&self->pool, &properties);
    if (error != VENDOR(Success)) return error;

    error = VENDOR(MemPoolSetAttribute)(self->pool, VENDOR(MemPoolAttrReleaseThreshold),
                                        &threshold_bytes);
    if (error != VENDOR(Success)) VENDOR(MemPoolDestroy)(self->pool);
    return error;
}

static vendor_error start(struct vendor_pool *self, uint64_t threshold_bytes)
{
    vendor_error error = VENDOR(SetDevice)(self->device);
    if (error == VENDOR(Success)) error = check_device(self);
    if (error == VENDOR(Success))
        error = VENDOR(StreamCreateWithFlags)(&self->stream, VENDOR(StreamNonBlocking));
    if (error != VENDOR(Success)) return error;
    error = create_pool(self, threshold_bytes);
    if (error != VENDOR(Success)) VENDOR(StreamDestroy)(self->stream);
    return error;
}

static void explain_vendor_pool(void *state, tarn_status status, struct tn_reason *reason_out)
{
    (void)status;
    vendor_error error = ((struct vendor_pool *)state)->last_error;
    tn_reason_set(reason_out, "%s (%s, %d)", VENDOR(GetErrorString)(error),
                  VENDOR(GetErrorName)(error), (int)error);
}

static tarn_status open_with_threshold(const struct tn_allocator_settings *settings,
                                       uint64_t threshold_bytes, void **state_out,
                                       struct tn_reason *reason_out)
{
    struct vendor_pool *self = calloc(1, sizeof *self);
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    self->device = settings->device;
    self->has_one_stream = settings->has_one_stream;
    tarn_status status = status_of(self, start(self, threshold_bytes));
    if (status != TARN_STATUS_OK) {
        explain_vendor_pool(self, status, reason_out);
        free(self);
        return status;
    }
    *state_out = self;
    return TARN_STATUS_OK;
}

static tarn_status open_that_keeps(const struct tn_allocator_settings *settings, void **state_out,
                                   struct tn_reason *reason_out)
{
    return open_with_threshold(settings, UINT64_MAX, state_out, reason_out);
}

static tarn_status open_that_releases(const struct tn_allocator_settings *settings,
                                      void **state_out, struct tn_reason *reason_out)
{
    return open_with_threshold(settings, 0, state_out, reason_out);
}

static tarn_status alloc_vendor_pool(void *state, size_t size_bytes, void **address_out)
{
    struct vendor_pool *self = state;
    if (size_bytes == 0) {
        *address_out = NULL;
        return TARN_STATUS_OK;
    }
    self->vendor_calls++;
    return status_of(
        self, VENDOR(MallocFromPoolAsync)(address_out, size_bytes, self->pool, self->stream));
}

static tarn_status free_vendor_pool(void *state, void *address, size_t size_bytes)
{
    struct vendor_pool *self = state;
    (void)size_bytes;
    if (!address) return TARN_STATUS_OK;
    self->vendor_calls++;
    return status_of(self, VENDOR(FreeAsync)(address, self->stream));
}

/* 0: the vendor does not tell. */
static size_t get_reserved_bytes(const struct vendor_pool *self, vendor_pool_attribute which)
{
    uint64_t bytes = 0;
    vendor_error error = VENDOR(MemPoolGetAttribute)(self->pool, which, &bytes);
    forget_errors();
    return error == VENDOR(Success) ? (size_t)bytes : 0;
}

static void get_usage_vendor_pool(void *state, struct tn_allocator_usage *usage_out)
{
    const struct vendor_pool *self = state;
    *usage_out = (struct tn_allocator_usage){
        .footprint_bytes = get_reserved_bytes(self, VENDOR(MemPoolAttrReservedMemCurrent)),
        .footprint_bytes_max = get_reserved_bytes(self, VENDOR(MemPoolAttrReservedMemHigh)),
        .vendor_calls = self->vendor_calls,
    };
}

/* The stream must reach its frees before the pool can give that memory back. */
static tarn_status trim_vendor_pool(void *state)
{
    struct vendor_pool *self = state;
    self->vendor_calls++;
    vendor_error error = VENDOR(StreamSynchronize)(self->stream);
    if (error == VENDOR(Success)) error = VENDOR(MemPoolTrimTo)(self->pool, 0);
    return status_of(self, error);
}

/* --- one of several threads: the same pool, on a stream of its own ---------------------------------- */

struct vendor_pool_thread {
    struct vendor_pool own; /* its own stream, calls and last error; the rest is a copy */
    struct vendor_pool *whole;
    bool owns_stream;
};

static tarn_status open_vendor_pool_thread(void *state, struct tn_allocator_thread *thread_inout,
                                           struct tn_reason *reason_out)
{
    struct vendor_pool_thread *self = calloc(1, sizeof *self);
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    self->whole = state;
    self->own = *self->whole;
    self->own.vendor_calls = 0;
    self->owns_stream = !thread_inout->stream && !self->whole->has_one_stream;
    if (thread_inout->stream) self->own.stream = thread_inout->stream;
    vendor_error error = VENDOR(SetDevice)(self->own.device);
    if (error == VENDOR(Success) && self->owns_stream)
        error = VENDOR(StreamCreateWithFlags)(&self->own.stream, VENDOR(StreamNonBlocking));
    tarn_status status = status_of(&self->own, error);
    if (status != TARN_STATUS_OK) {
        explain_vendor_pool(&self->own, status, reason_out);
        free(self);
        return status;
    }
    thread_inout->state = self;
    thread_inout->has_stream = self->owns_stream;
    return TARN_STATUS_OK;
}

static tarn_status alloc_in_vendor_pool_thread(void *state, size_t size_bytes, void **address_out)
{
    return alloc_vendor_pool(&((struct vendor_pool_thread *)state)->own, size_bytes, address_out);
}

static tarn_status free_in_vendor_pool_thread(void *state, void *address, size_t size_bytes)
{
    return free_vendor_pool(&((struct vendor_pool_thread *)state)->own, address, size_bytes);
}

static void explain_in_vendor_pool_thread(void *state, tarn_status status,
                                          struct tn_reason *reason_out)
{
    explain_vendor_pool(&((struct vendor_pool_thread *)state)->own, status, reason_out);
}

static void close_vendor_pool_thread(void *state)
{
    struct vendor_pool_thread *self = state;
    self->whole->vendor_calls += self->own.vendor_calls;
    if (self->owns_stream) {
        VENDOR(StreamSynchronize)(self->own.stream);
        VENDOR(StreamDestroy)(self->own.stream);
        forget_errors();
    }
    free(self);
}

static void close_vendor_pool(void *state)
{
    struct vendor_pool *self = state;
    VENDOR(StreamSynchronize)(self->stream);
    VENDOR(MemPoolDestroy)(self->pool);
    VENDOR(StreamDestroy)(self->stream);
    forget_errors();
    free(self);
}

#define VENDOR_POOL(pool_name, open_pool)                                                       \
    {                                                                                           \
        .name = (pool_name), .open = (open_pool), .alloc = alloc_vendor_pool,                   \
        .free = free_vendor_pool, .explain = explain_vendor_pool,                               \
        .get_usage = get_usage_vendor_pool, .close = close_vendor_pool,                         \
        .open_thread = open_vendor_pool_thread, .alloc_in_thread = alloc_in_vendor_pool_thread, \
        .free_in_thread = free_in_vendor_pool_thread,                                           \
        .explain_in_thread = explain_in_vendor_pool_thread,                                     \
        .close_thread = close_vendor_pool_thread, .free_order = TN_FREE_IS_ORDERED,             \
        .trim = trim_vendor_pool,                                                               \
    }

const struct tn_allocator tn_allocator_vendor_pool = VENDOR_POOL("vendor-pool", open_that_keeps);
const struct tn_allocator tn_allocator_vendor_pool_release =
    VENDOR_POOL("vendor-pool:release", open_that_releases);

#endif
