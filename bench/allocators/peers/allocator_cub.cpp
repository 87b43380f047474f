/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_cub: the caching allocator of CUB, which comes with CUDA's toolkit, through its header.
 *
 * It rounds sizes up to powers of two, from 512 bytes on, keeps all freed blocks, and reuses a block for the
 * same power alone. It splits none. Blocks of more than 32 GiB are not kept. A block belongs to the stream of
 * its allocation; the free names no stream.
 *
 * It has a lock, and several threads share it as it is.
 */
#include <cub/util_allocator.cuh>

#include <new>

#include "../allocator.h"
#include "cuda_user.hpp"

namespace
{

constexpr unsigned bin_growth = 2;
constexpr unsigned min_bin = 9;
constexpr unsigned max_bin = 35;

/* One thread's share of the allocator. */
struct cub_user : tn_cuda_user {
    cub::CachingDeviceAllocator *cache = nullptr;
    cudaError_t last_error = cudaSuccess;
};

struct cub_allocator {
    cub_user user; /* its cache is the next field */
    cub::CachingDeviceAllocator cache{ bin_growth, min_bin, max_bin };
};

/* CUB checks the runtime's last error in every call: an old one would make a good call fail. */
tarn_status status_of(cub_user *user, cudaError_t error)
{
    if (error == cudaSuccess) return TARN_STATUS_OK;
    user->last_error = error;
    tn_forget_cuda_errors();
    switch (error) {
    case cudaErrorMemoryAllocation:
        return TARN_STATUS_OUT_OF_MEMORY;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
        return TARN_STATUS_NO_DEVICE;
    case cudaErrorInvalidDevice:
        return TARN_STATUS_INVALID_DEVICE;
    default:
        return TARN_STATUS_VENDOR_ERROR;
    }
}

void explain_user(void *state, tarn_status status, tn_reason *reason_out)
{
    if (status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
        tn_reason_set(reason_out, "%s", tarn_status_sentence(status));
        return;
    }
    cudaError_t error = static_cast<const cub_user *>(state)->last_error;
    tn_reason_set(reason_out, "%s (%s, %d)", cudaGetErrorString(error), cudaGetErrorName(error),
                  static_cast<int>(error));
}

tarn_status start_user(cub_user *user, tn_reason *reason_out)
{
    tarn_status status = status_of(user, tn_cuda_start(user));
    if (status != TARN_STATUS_OK) explain_user(user, status, reason_out);
    return status;
}

/* Leaves out the device's number, with which every free would set the device twice. */
tarn_status alloc_by_user(void *state, std::size_t size_bytes, void **address_out)
{
    auto *user = static_cast<cub_user *>(state);
    try {
        void *address = nullptr;
        tarn_status status =
            status_of(user, user->cache->DeviceAllocate(&address, size_bytes, user->stream));
        if (status == TARN_STATUS_OK) *address_out = address;
        return status;
    } catch (const std::bad_alloc &) {
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
}

tarn_status free_by_user(void *state, void *address, std::size_t)
{
    auto *user = static_cast<cub_user *>(state);
    try {
        return status_of(user, user->cache->DeviceFree(address));
    } catch (const std::bad_alloc &) {
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
}

/* --- the whole ------------------------------------------------------------------------------------ */

tarn_status open_cub(const tn_allocator_settings *settings, void **state_out, tn_reason *reason_out)
{
    auto *self = new (std::nothrow) cub_allocator{};
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    self->user.device = settings->device;
    self->user.has_one_stream = settings->has_one_stream;
    self->user.cache = &self->cache;
    tarn_status status = start_user(&self->user, reason_out);
    if (status != TARN_STATUS_OK) {
        delete self;
        return status;
    }
    *state_out = self;
    return TARN_STATUS_OK;
}

tarn_status alloc_cub(void *state, std::size_t size_bytes, void **address_out)
{
    return alloc_by_user(&static_cast<cub_allocator *>(state)->user, size_bytes, address_out);
}

tarn_status free_cub(void *state, void *address, std::size_t size_bytes)
{
    return free_by_user(&static_cast<cub_allocator *>(state)->user, address, size_bytes);
}

void explain_cub(void *state, tarn_status status, tn_reason *reason_out)
{
    explain_user(&static_cast<cub_allocator *>(state)->user, status, reason_out);
}

/* Each of its blocks was one cudaMalloc; blocks that it gave back when the device was full are not counted.
 * */
void get_usage_cub(void *state, tn_allocator_usage *usage_out)
{
    const cub::CachingDeviceAllocator &cache = static_cast<const cub_allocator *>(state)->cache;
    *usage_out = {};
    for (const auto &device : cache.cached_bytes)
        usage_out->footprint_bytes += device.second.free + device.second.live;
    usage_out->footprint_bytes_max = usage_out->footprint_bytes;
    usage_out->vendor_calls = cache.cached_blocks.size() + cache.live_blocks.size();
}

/* Nothing else gives memory back, so until then CUB holds the most that it ever held. */
tarn_status trim_cub(void *state)
{
    auto *self = static_cast<cub_allocator *>(state);
    return status_of(&self->user, self->cache.FreeAllCached());
}

/* CUB's destructor leaves live blocks behind. */
void free_live_blocks(cub_user *user)
{
    const auto &live = user->cache->live_blocks;
    while (!live.empty())
        if (free_by_user(user, live.begin()->d_ptr, 0) != TARN_STATUS_OK) return;
}

void close_cub(void *state)
{
    auto *self = static_cast<cub_allocator *>(state);
    free_live_blocks(&self->user);
    tn_cuda_end(&self->user);
    delete self;
}

} /* namespace */

extern const struct tn_allocator tn_allocator_cub = {
    "cub",
    nullptr,
    open_cub,
    alloc_cub,
    free_cub,
    explain_cub,
    get_usage_cub,
    close_cub,
    tn_cuda_open_thread<cub_allocator>,
    alloc_by_user,
    free_by_user,
    explain_user,
    tn_cuda_close_thread<cub_allocator>,
    0,
    TN_FREE_IS_ORDERED,
    trim_cub,
};
