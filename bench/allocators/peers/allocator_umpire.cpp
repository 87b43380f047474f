/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_umpire: two pools of Umpire, QuickPool and DynamicPoolList.
 *
 * Both cut allocations out of larger blocks and coalesce within a block. The blocks come from Umpire's own
 * resource: DEVICE::N, or on the host HOST, which is malloc. The first block is as large as tarn's first
 * piece, further ones have 1 MB or the size of the request. Addresses are aligned to 256. All else is
 * Umpire's default: it tracks each allocation, and when all of a pool is free it replaces the pool's blocks
 * by one of their total size. Here it does not if that is more than the machine's memory: malloc gives so
 * much in pieces but not as one block, and when it refuses, Umpire ends the process.
 *
 * An allocator of Umpire's lives as long as the process: closing gives its blocks back and leaves an empty
 * allocator. Its pools have no lock. Several threads take turns under one that is added here.
 */
#include "../allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <umpire/Allocator.hpp>
#include <umpire/ResourceManager.hpp>
#include <umpire/strategy/DynamicPoolList.hpp>
#include <umpire/strategy/QuickPool.hpp>
#include <umpire/util/error.hpp>
#include <umpire/util/wrap_allocator.hpp>
#include <unistd.h>

#include "tarn/backend.h"

namespace
{

constexpr std::size_t alignment_bytes = 256;

/* Umpire keeps the names of allocators for the whole process, so each opening needs a new one. */
std::atomic<unsigned> opening_count{ 0 };

template <typename Pool> struct umpire_pool {
    umpire::Allocator allocator;
    Pool *pool;
    std::mutex lock_of_threads;
    tn_reason last_reason;
};

/* The status for the exception being handled; keeps its text. */
template <typename Pool> tarn_status fail(umpire_pool<Pool> *self)
{
    try {
        throw;
    } catch (const umpire::out_of_memory_error &error) {
        tn_reason_set(&self->last_reason, "%s", error.what());
        return TARN_STATUS_OUT_OF_MEMORY;
    } catch (const std::bad_alloc &) {
        tn_reason_set(&self->last_reason, "%s",
                      tarn_status_sentence(TARN_STATUS_OUT_OF_HOST_MEMORY));
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    } catch (const std::exception &error) {
        tn_reason_set(&self->last_reason, "%s", error.what());
        return TARN_STATUS_VENDOR_ERROR;
    }
}

std::string resource_name(int device)
{
    bool is_host = std::strcmp(tarn_backend_name(), "host") == 0;
    return is_host ? "HOST" : "DEVICE::" + std::to_string(device);
}

/* The largest block that a resource gives as one. It may give more in pieces. */
std::size_t whole_bytes_max()
{
    if (std::strcmp(tarn_backend_name(), "host") != 0) return SIZE_MAX;
    long page_count = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    return page_count > 0 && page_bytes > 0
               ? static_cast<std::size_t>(page_count) * static_cast<std::size_t>(page_bytes)
               : 0;
}

/* Umpire's own rule, unless the resource would refuse the block: Umpire takes it where no exception may be
 * thrown. */
template <typename Pool> umpire::strategy::PoolCoalesceHeuristic<Pool> coalesce_when_free()
{
    auto usual = Pool::percent_releasable_hwm(100);
    std::size_t bytes_max = whole_bytes_max();
    return [=](const Pool &pool) -> std::size_t {
        std::size_t bytes = usual(pool);
        return bytes <= std::min(bytes_max, pool.getActualSize()) ? bytes : 0;
    };
}

template <typename Pool> void start(umpire_pool<Pool> *self, const tn_allocator_settings *settings)
{
    auto &manager = umpire::ResourceManager::getInstance();
    std::string name = "tarn-bench-" + std::to_string(opening_count++);
    self->allocator = manager.makeAllocator<Pool>(
        name, manager.getAllocator(resource_name(settings->device)),
        std::max(settings->initial_bytes, alignment_bytes), Pool::s_default_next_block_size,
        alignment_bytes, coalesce_when_free<Pool>());
    self->pool = umpire::util::unwrap_allocator<Pool>(self->allocator);
}

template <typename Pool>
tarn_status open_umpire(const tn_allocator_settings *settings, void **state_out,
                        tn_reason *reason_out)
{
    auto *self = new (std::nothrow) umpire_pool<Pool>{};
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    try {
        std::string resource = resource_name(settings->device);
        if (!umpire::ResourceManager::getInstance().isAllocator(resource)) {
            tn_reason_set(reason_out, "this build of Umpire has no resource %s", resource.c_str());
            delete self;
            return TARN_STATUS_NOT_SUPPORTED;
        }
        start(self, settings);
    } catch (...) {
        tarn_status status = fail(self);
        *reason_out = self->last_reason;
        delete self;
        return status;
    }
    *state_out = self;
    return TARN_STATUS_OK;
}

template <typename Pool>
tarn_status alloc_umpire(void *state, std::size_t size_bytes, void **address_out)
{
    auto *self = static_cast<umpire_pool<Pool> *>(state);
    try {
        *address_out = self->allocator.allocate(size_bytes);
        return TARN_STATUS_OK;
    } catch (...) {
        return fail(self);
    }
}

template <typename Pool> tarn_status free_umpire(void *state, void *address, std::size_t)
{
    auto *self = static_cast<umpire_pool<Pool> *>(state);
    try {
        self->allocator.deallocate(address);
        return TARN_STATUS_OK;
    } catch (...) {
        return fail(self);
    }
}

template <typename Pool> void explain_umpire(void *state, tarn_status, tn_reason *reason_out)
{
    *reason_out = static_cast<const umpire_pool<Pool> *>(state)->last_reason;
}

/* Umpire does not count its calls to the vendor. */
template <typename Pool> void get_usage_umpire(void *state, tn_allocator_usage *usage_out)
{
    *usage_out = {};
    const Pool *pool = static_cast<const umpire_pool<Pool> *>(state)->pool;
    usage_out->footprint_bytes = pool->getActualSize();
    usage_out->footprint_bytes_max = pool->getActualHighwaterMark();
}

template <typename Pool> tarn_status trim_umpire(void *state)
{
    auto *self = static_cast<umpire_pool<Pool> *>(state);
    try {
        self->allocator.release();
        return TARN_STATUS_OK;
    } catch (...) {
        return fail(self);
    }
}

template <typename Pool> void close_umpire(void *state)
{
    (void)trim_umpire<Pool>(state); /* nothing more can be done where it fails */
    delete static_cast<umpire_pool<Pool> *>(state);
}

/* Several threads have the same state. */

tarn_status open_umpire_thread(void *state, tn_allocator_thread *thread_inout, tn_reason *)
{
    thread_inout->state = state;
    thread_inout->has_stream = false;
    return TARN_STATUS_OK;
}

template <typename Pool>
tarn_status alloc_in_umpire_thread(void *state, std::size_t size_bytes, void **address_out)
{
    std::lock_guard<std::mutex> guard(static_cast<umpire_pool<Pool> *>(state)->lock_of_threads);
    return alloc_umpire<Pool>(state, size_bytes, address_out);
}

template <typename Pool>
tarn_status free_in_umpire_thread(void *state, void *address, std::size_t size_bytes)
{
    std::lock_guard<std::mutex> guard(static_cast<umpire_pool<Pool> *>(state)->lock_of_threads);
    return free_umpire<Pool>(state, address, size_bytes);
}

template <typename Pool>
void explain_in_umpire_thread(void *state, tarn_status status, tn_reason *reason_out)
{
    std::lock_guard<std::mutex> guard(static_cast<umpire_pool<Pool> *>(state)->lock_of_threads);
    explain_umpire<Pool>(state, status, reason_out);
}

void close_umpire_thread(void *)
{
}

template <typename Pool> constexpr tn_allocator adapter(const char *name)
{
    return {
        name,
        nullptr,
        open_umpire<Pool>,
        alloc_umpire<Pool>,
        free_umpire<Pool>,
        explain_umpire<Pool>,
        get_usage_umpire<Pool>,
        close_umpire<Pool>,
        open_umpire_thread,
        alloc_in_umpire_thread<Pool>,
        free_in_umpire_thread<Pool>,
        explain_in_umpire_thread<Pool>,
        close_umpire_thread,
        0,
        TN_FREE_NEEDS_WAIT,
        trim_umpire<Pool>,
    };
}

} /* namespace */

extern constexpr struct tn_allocator tn_allocator_umpire =
    adapter<umpire::strategy::QuickPool>("umpire");
extern constexpr struct tn_allocator tn_allocator_umpire_list =
    adapter<umpire::strategy::DynamicPoolList>("umpire:list");
