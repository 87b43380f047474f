/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_vendor_pool_hip: HIP's own pool, hipMallocFromPoolAsync and hipFreeAsync on one stream.
 *
 * Each opening makes a pool of its own, so that it starts empty, and several do not get in each other's
 * way: the device's current pool stays as it is. vendor-pool keeps whatever was freed. vendor-pool:release
 * has a release threshold of 0, as pools have unless told otherwise: what is free goes back whenever
 * something synchronises, which makes the next calls far slower. Nothing synchronises between the calls.
 * Not every runtime of AMD heeds the threshold (7.2 is reported not to), and the documents of some
 * versions say that pools have to be asked for, HIP_MEM_POOL_SUPPORT=1.
 */
#include "allocator.h"

#include <hip/hip_runtime_api.h>
#include <stdlib.h>

struct vendor_pool {
    int device;
    hipMemPool_t pool;
    hipStream_t stream;
    uint64_t vendor_calls;
    bool has_one_stream; /* for all threads */
    hipError_t last_error;
};

/* The runtime keeps the last error of a thread, and others in the same program would take it for theirs: CUB
 * checks for it in every call. */
static void forget_errors(void)
{
    (void)hipGetLastError();
}

static tarn_status status_of(struct vendor_pool *self, hipError_t error)
{
    if (error == hipSuccess) return TARN_STATUS_OK;
    self->last_error = error;
    forget_errors();
    switch (error) {
    case hipErrorOutOfMemory:
        return TARN_STATUS_OUT_OF_MEMORY;
    case hipErrorNotSupported:
        return TARN_STATUS_NOT_SUPPORTED;
    case hipErrorNoDevice:
    case hipErrorInsufficientDriver:
        return TARN_STATUS_NO_DEVICE;
    case hipErrorInvalidDevice:
        return TARN_STATUS_INVALID_DEVICE;
    default:
        return TARN_STATUS_VENDOR_ERROR;
    }
}

static hipError_t check_device(const struct vendor_pool *self)
{
    int has_pools = 0;
    hipError_t error =
        hipDeviceGetAttribute(&has_pools, hipDeviceAttributeMemoryPoolsSupported, self->device);
    if (error == hipSuccess && !has_pools) error = hipErrorNotSupported;
    return error;
}

static hipError_t create_pool(struct vendor_pool *self, uint64_t threshold_bytes)
{
    hipMemPoolProps properties = { 0 };
    properties.allocType = hipMemAllocationTypePinned;
    properties.location.type = hipMemLocationTypeDevice;
    properties.location.id = self->device;
    hipError_t error = hipMemPoolCreate(&self->pool, &properties);
    if (error != hipSuccess) return error;

    error = hipMemPoolSetAttribute(self->pool, hipMemPoolAttrReleaseThreshold, &threshold_bytes);
    if (error != hipSuccess) hipMemPoolDestroy(self->pool);
    return error;
}

static hipError_t start(struct vendor_pool *self, uint64_t threshold_bytes)
{
    hipError_t error = hipSetDevice(self->device);
    if (error == hipSuccess) error = check_device(self);
    if (error == hipSuccess) error = hipStreamCreateWithFlags(&self->stream, hipStreamNonBlocking);
    if (error != hipSuccess) return error;
    error = create_pool(self, threshold_bytes);
    if (error != hipSuccess) hipStreamDestroy(self->stream);
    return error;
}

static void explain_vendor_pool(void *state, tarn_status status, struct tn_reason *reason_out)
{
    (void)status;
    hipError_t error = ((struct vendor_pool *)state)->last_error;
    tn_reason_set(reason_out, "%s (%s, %d)", hipGetErrorString(error), hipGetErrorName(error),
                  (int)error);
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
    return status_of(self,
                     hipMallocFromPoolAsync(address_out, size_bytes, self->pool, self->stream));
}

static tarn_status free_vendor_pool(void *state, void *address, size_t size_bytes)
{
    struct vendor_pool *self = state;
    (void)size_bytes;
    if (!address) return TARN_STATUS_OK;
    self->vendor_calls++;
    return status_of(self, hipFreeAsync(address, self->stream));
}

/* 0 where the vendor does not tell. */
static size_t get_reserved_bytes(const struct vendor_pool *self, hipMemPoolAttr which)
{
    uint64_t bytes = 0;
    hipError_t error = hipMemPoolGetAttribute(self->pool, which, &bytes);
    forget_errors();
    return error == hipSuccess ? (size_t)bytes : 0;
}

static void get_usage_vendor_pool(void *state, struct tn_allocator_usage *usage_out)
{
    const struct vendor_pool *self = state;
    *usage_out = (struct tn_allocator_usage){
        .footprint_bytes = get_reserved_bytes(self, hipMemPoolAttrReservedMemCurrent),
        .footprint_bytes_max = get_reserved_bytes(self, hipMemPoolAttrReservedMemHigh),
        .vendor_calls = self->vendor_calls,
    };
}

/* What was freed on the stream is free when the stream has come to it. */
static tarn_status trim_vendor_pool(void *state)
{
    struct vendor_pool *self = state;
    self->vendor_calls++;
    hipError_t error = hipStreamSynchronize(self->stream);
    if (error == hipSuccess) error = hipMemPoolTrimTo(self->pool, 0);
    return status_of(self, error);
}

/* --- one of several threads: the same pool, on a stream of its own ---------------------------------- */

struct vendor_pool_thread {
    struct vendor_pool own; /* stream, calls and last error are the thread's; the rest is a copy */
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
    hipError_t error = hipSetDevice(self->own.device);
    if (error == hipSuccess && self->owns_stream)
        error = hipStreamCreateWithFlags(&self->own.stream, hipStreamNonBlocking);
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
        hipStreamSynchronize(self->own.stream);
        hipStreamDestroy(self->own.stream);
        forget_errors();
    }
    free(self);
}

static void close_vendor_pool(void *state)
{
    struct vendor_pool *self = state;
    hipStreamSynchronize(self->stream);
    hipMemPoolDestroy(self->pool);
    hipStreamDestroy(self->stream);
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
