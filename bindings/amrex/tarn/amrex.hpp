// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tarn/amrex.hpp: arenas of AMReX's that serve memory of tarn.
//
//     #include <tarn/amrex.hpp>
//
//     tarn::amrex_arena arena;                                      // after amrex::Initialize
//     amrex::MultiFab field(boxes, distribution, 1, 0, amrex::MFInfo().SetArena(&arena));
//     for (amrex::MFIter i(field); i.isValid(); ++i) {
//         amrex::FArrayBox work(i.validbox(), 1, &arena);
//         ...                                                       // launch kernels on work
//         amrex::Gpu::streamSynchronize();                          // before work ends, as with The_Arena
//     }
//
// amrex_arena keeps the order of The_Arena. Memory is ready for all streams, and for the host if that can read it. A free
// comes when the work on the memory is done: after Gpu::streamSynchronize, after an MFIter loop that synchronizes, or by an
// Elixir. The memory then is free for all streams.
//
// amrex_async_arena keeps the order of The_Async_Arena. Memory is for use on Gpu::gpuStream(), and is freed on it, while
// kernels may still run. Its data must not be used on another stream.
//
// The_Arena itself is made by AMReX and cannot be replaced.
//
// Memory is that of the pool, by default the process-wide pool of the current device when the arena is made. isDevice,
// isManaged and isPinned follow the pool's kind of memory. A constructor throws tarn::error if there is no pool, or if
// AMReX was built for the CPU and the host cannot use the memory. amrex_arena needs a pool with streams: not one over memory
// of the caller's. The arena must outlive its data; so must the pool, if it is yours.
//
// Failures later on end the program by amrex::Abort with tarn's sentence, as in AMReX's own arenas: memory that is short,
// a second free, a stream of another device.
//
// Threads: all may call at once. An Elixir frees in a thread of the driver, where no call of the vendor is allowed. tarn makes
// none there, unless the pool gives memory back in a free: release_threshold_bytes, returns_when_empty, passes_through, debug.
//
// Addresses are multiples of 256. freeUnused() is tarn_pool_trim. Vectors grow and shrink in place where tarn_pool_resize can.
#ifndef TARN_AMREX_HPP
#define TARN_AMREX_HPP

#include <algorithm>
#include <cstddef>
#include <utility>

#include <AMReX.H>
#include <AMReX_Arena.H>
#include <AMReX_GpuDevice.H>

#include "tarn/pool.hpp"

namespace tarn
{

class amrex_arena : public amrex::Arena
{
  public:
    explicit amrex_arena(pool_ref pool = {}) : pool_(pool.resolve())
    {
        const tarn_backend backend = backend_of(pool_);
        if (!backend.operations) { // memory of the caller's, which only amrex_async_arena can serve
            arena_info.SetDeviceMemory();
            return;
        }
        const tarn_device_properties properties = properties_of(backend);
#ifndef AMREX_USE_GPU
        if (!properties.is_host_accessible)
            throw error(TARN_STATUS_NOT_SUPPORTED,
                        "AMReX was built for the CPU, and the host cannot use the pool's memory");
#endif
        if (properties.kind == TARN_MEMORY_KIND_DEVICE) arena_info.SetDeviceMemory();
        if (properties.kind == TARN_MEMORY_KIND_PINNED) arena_info.SetHostAlloc();
        if (properties.kind == TARN_MEMORY_KIND_HOST) arena_info.SetCpuMemory();
    }

    void *alloc(std::size_t size_bytes) override
    {
        void *address = nullptr;
        size_bytes = std::max<std::size_t>(size_bytes, 1);
        require(tarn_pool_alloc_on(pool_, size_bytes, stream(), &address));
        profile(nullptr, address, size_bytes);
        return address;
    }

    void free(void *address) override
    {
        if (!address) return;
        profile(address, nullptr, 0);
        require(release(address));
    }

    // Data at `address` grows to size_max bytes where it lies, else to size_min; else there is new memory of size_max
    // bytes, and the caller moves the data.
    std::pair<void *, std::size_t> alloc_in_place(void *address, std::size_t size_min,
                                                  std::size_t size_max) override
    {
        if (address && resizes(address, size_max)) return { address, size_max };
        if (address && resizes(address, size_min)) return { address, size_min };
        return { alloc(size_max), size_max };
    }

    void *shrink_in_place(void *address, std::size_t size_bytes) override
    {
        if (!address || size_bytes == 0) return nullptr;
        return resizes(address, size_bytes) ? address : alloc(size_bytes);
    }

    std::size_t freeUnused() override
    {
        std::size_t released_bytes = 0;
        require(tarn_pool_trim(pool_, 0, &released_bytes));
        return released_bytes;
    }

  protected:
    // For which stream memory is taken.
    virtual tarn_stream stream() const
    {
        return TARN_STREAM_ANY;
    }

    virtual tarn_status release(void *address)
    {
        return tarn_pool_free_after(pool_, address, nullptr, 0);
    }

    tarn_pool *pool_;

  private:
    static void require(tarn_status status)
    {
        if (status != TARN_STATUS_OK) amrex::Abort(tarn_last_error().message);
    }

    bool resizes(void *address, std::size_t size_bytes)
    {
        size_bytes = std::max<std::size_t>(size_bytes, 1);
        const tarn_status status = tarn_pool_resize_on(pool_, address, size_bytes, stream());
        if (status == TARN_STATUS_NOT_IN_PLACE) return false;
        require(status);
        profile(address, address, size_bytes);
        return true;
    }

    // For AMReX's profiler, after registerForProfiling.
    void profile([[maybe_unused]] void *freed, [[maybe_unused]] void *allocated,
                 [[maybe_unused]] std::size_t size_bytes)
    {
#ifdef AMREX_TINY_PROFILING
        if (freed) m_profiler.profile_free(freed);
        if (allocated) m_profiler.profile_alloc(allocated, size_bytes);
#endif
    }
};

#ifndef AMREX_USE_SYCL // its streams are queues
class amrex_async_arena : public amrex_arena
{
  public:
    using amrex_arena::amrex_arena;

#ifdef AMREX_USE_GPU
    bool isStreamOrderedArena() const override
    {
        return true;
    }
#endif

  protected:
    tarn_stream stream() const override
    {
#if defined(AMREX_USE_CUDA) || defined(AMREX_USE_HIP)
        return amrex::Gpu::gpuStream();
#else
        return nullptr;
#endif
    }

    tarn_status release(void *address) override
    {
        return tarn_pool_free_on(pool_, address, stream());
    }
};
#endif

} // namespace tarn

#endif
