/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_torch: PyTorch's caching allocator, native: raw_alloc_with_stream and raw_delete of
 * c10::cuda::CUDACachingAllocator, without Python.
 *
 * It rounds sizes up to 512 bytes, cuts blocks of up to 1 MB from pieces of 2 MB, and larger ones from pieces
 * of 20 MB or of their own size. It keeps freed blocks for their stream and coalesces them within their
 * piece. A process has one, with a lock for each device; several threads share it as it is. The benchmark
 * makes it give back what it keeps when it opens and closes it.
 *
 * With expandable segments it maps memory into large ranges of addresses instead, in steps of 2 or 20 MB. That is a
 * setting, which may change while it holds nothing. Other settings are those of PYTORCH_ALLOC_CONF in the environment.
 */
#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <exception>
#include <new>
#include <string>
#include <vector>

#include "../allocator.h"
#include "cuda_user.hpp"

namespace torch_cache = c10::cuda::CUDACachingAllocator;

namespace
{

constexpr std::size_t aggregate =
    static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

struct torch_allocator;

/* One thread's share of the allocator. */
struct torch_user : tn_cuda_user {
    tn_reason last_reason;
    torch_allocator *expandable = nullptr; /* the whole, if its segments are */
};

struct torch_allocator {
    torch_user user;
    int64_t vendor_calls_before;
};

/* To be called while any exception is handled: turns it into a status and a reason. */
tarn_status status_of_exception(tn_reason *reason_out)
{
    tn_forget_cuda_errors();
    try {
        throw;
    } catch (const std::bad_alloc &) {
        tn_reason_set(reason_out, "%s", tarn_status_sentence(TARN_STATUS_OUT_OF_HOST_MEMORY));
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    } catch (const c10::OutOfMemoryError &error) {
        tn_reason_set(reason_out, "%s", error.what_without_backtrace());
        return TARN_STATUS_OUT_OF_MEMORY;
    } catch (const c10::Error &error) {
        tn_reason_set(reason_out, "%s", error.what_without_backtrace());
    } catch (const std::exception &error) {
        tn_reason_set(reason_out, "%s", error.what());
    }
    return TARN_STATUS_VENDOR_ERROR;
}

tarn_status status_of(cudaError_t error, tn_reason *reason_out)
{
    if (error == cudaSuccess) return TARN_STATUS_OK;
    tn_forget_cuda_errors();
    tn_reason_set(reason_out, "%s (%s, %d)", cudaGetErrorString(error), cudaGetErrorName(error),
                  static_cast<int>(error));
    return error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver
               ? TARN_STATUS_NO_DEVICE
               : TARN_STATUS_VENDOR_ERROR;
}

void explain_user(void *state, tarn_status, tn_reason *reason_out)
{
    *reason_out = static_cast<const torch_user *>(state)->last_reason;
}

tarn_status start_user(torch_user *user, tn_reason *reason_out)
{
    return status_of(tn_cuda_start(user), reason_out);
}

tarn_status alloc_by_user(void *state, std::size_t size_bytes, void **address_out)
{
    auto *user = static_cast<torch_user *>(state);
    try {
        *address_out = torch_cache::raw_alloc_with_stream(size_bytes, user->stream);
        return TARN_STATUS_OK;
    } catch (...) {
        return status_of_exception(&user->last_reason);
    }
}

tarn_status free_by_user(void *state, void *address, std::size_t)
{
    try {
        torch_cache::raw_delete(address);
        return TARN_STATUS_OK;
    } catch (...) {
        return status_of_exception(&static_cast<torch_user *>(state)->last_reason);
    }
}

/* --- the whole ------------------------------------------------------------------------------------ */

c10::CachingDeviceAllocator::DeviceStats stats_of(const torch_allocator *self)
{
    return torch_cache::getDeviceStats(static_cast<c10::DeviceIndex>(self->user.device));
}

int64_t vendor_calls_of(const c10::CachingDeviceAllocator::DeviceStats &stats)
{
    return stats.num_device_alloc + stats.num_device_free;
}

/* Of a setting that is named twice the last one counts. */
std::string settings_for(bool is_expandable)
{
    static const std::string of_environment = c10::CachingAllocator::getAllocatorSettings();
    return of_environment + (of_environment.empty() ? "" : ",") +
           (is_expandable ? "expandable_segments:True" : "expandable_segments:False");
}

/* Starts with an empty cache. */
tarn_status start_cache(torch_allocator *self, bool is_expandable, tn_reason *reason_out)
{
    try {
        torch_cache::init(c10::cuda::device_count());
        torch_cache::emptyCache();
        c10::CachingAllocator::setAllocatorSettings(settings_for(is_expandable));
        torch_cache::resetPeakStats(static_cast<c10::DeviceIndex>(self->user.device));
        self->vendor_calls_before = vendor_calls_of(stats_of(self));
        return TARN_STATUS_OK;
    } catch (...) {
        return status_of_exception(reason_out);
    }
}

tarn_status open_torch(const tn_allocator_settings *settings, bool is_expandable, void **state_out,
                       tn_reason *reason_out)
{
    auto *self = new (std::nothrow) torch_allocator{};
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    self->user.device = settings->device;
    self->user.has_one_stream = settings->has_one_stream;
    self->user.expandable = is_expandable ? self : nullptr;
    tarn_status status = start_user(&self->user, reason_out);
    if (status == TARN_STATUS_OK) {
        status = start_cache(self, is_expandable, reason_out);
        if (status != TARN_STATUS_OK) tn_cuda_end(&self->user);
    }
    if (status != TARN_STATUS_OK) {
        delete self;
        return status;
    }
    *state_out = self;
    return TARN_STATUS_OK;
}

template <bool is_expandable>
tarn_status open_variant(const tn_allocator_settings *settings, void **state_out,
                         tn_reason *reason_out)
{
    return open_torch(settings, is_expandable, state_out, reason_out);
}

tarn_status alloc_torch(void *state, std::size_t size_bytes, void **address_out)
{
    return alloc_by_user(&static_cast<torch_allocator *>(state)->user, size_bytes, address_out);
}

tarn_status free_torch(void *state, void *address, std::size_t size_bytes)
{
    return free_by_user(&static_cast<torch_allocator *>(state)->user, address, size_bytes);
}

void explain_torch(void *state, tarn_status status, tn_reason *reason_out)
{
    explain_user(&static_cast<torch_allocator *>(state)->user, status, reason_out);
}

void get_usage_torch(void *state, tn_allocator_usage *usage_out)
{
    const auto *self = static_cast<const torch_allocator *>(state);
    *usage_out = {};
    try {
        const auto stats = stats_of(self);
        usage_out->footprint_bytes =
            static_cast<std::size_t>(stats.reserved_bytes[aggregate].current);
        usage_out->footprint_bytes_max =
            static_cast<std::size_t>(stats.reserved_bytes[aggregate].peak);
        usage_out->vendor_calls =
            static_cast<uint64_t>(vendor_calls_of(stats) - self->vendor_calls_before);
    } catch (...) {
        tn_reason reason;
        (void)status_of_exception(&reason); /* nothing is known then */
    }
}

tarn_status trim_torch(void *state)
{
    try {
        torch_cache::emptyCache();
        return TARN_STATUS_OK;
    } catch (...) {
        return status_of_exception(&static_cast<torch_allocator *>(state)->user.last_reason);
    }
}

/* To unmap memory PyTorch waits for the stream that it was used on, so that must happen before the stream ends. Calls for
 * it do not count. */
void close_thread(void *state)
{
    torch_allocator *self = static_cast<torch_user *>(state)->expandable;
    try {
        if (self) {
            int64_t calls_before = vendor_calls_of(stats_of(self));
            torch_cache::emptyCache();
            self->vendor_calls_before += vendor_calls_of(stats_of(self)) - calls_before;
        }
    } catch (...) {
        tn_reason reason;
        (void)status_of_exception(&reason); /* it keeps what it has */
    }
    tn_cuda_close_thread<torch_allocator>(state);
}

/* The addresses of the live blocks on the device, piece by piece. */
std::vector<void *> live_addresses(int device)
{
    std::vector<void *> live;
    for (const auto &piece : torch_cache::snapshot().segments) {
        if (piece.device != device) continue;
        auto address = piece.address;
        for (const auto &block : piece.blocks) {
            if (block.allocated) live.push_back(reinterpret_cast<void *>(address));
            address += block.size;
        }
    }
    return live;
}

void close_torch(void *state)
{
    auto *self = static_cast<torch_allocator *>(state);
    try {
        for (void *address : live_addresses(self->user.device))
            torch_cache::raw_delete(address);
        torch_cache::emptyCache();
    } catch (...) {
        tn_reason reason;
        (void)status_of_exception(&reason); /* it keeps what it has */
    }
    tn_cuda_end(&self->user);
    delete self;
}

constexpr tn_allocator adapter(const char *name, decltype(tn_allocator::open) open)
{
    return {
        name,
        nullptr,
        open,
        alloc_torch,
        free_torch,
        explain_torch,
        get_usage_torch,
        close_torch,
        tn_cuda_open_thread<torch_allocator>,
        alloc_by_user,
        free_by_user,
        explain_user,
        close_thread,
        0,
        TN_FREE_IS_ORDERED,
        trim_torch,
    };
}

} /* namespace */

extern const struct tn_allocator tn_allocator_torch = adapter("torch", open_variant<false>);
extern const struct tn_allocator tn_allocator_torch_expandable =
    adapter("torch:expandable", open_variant<true>);
