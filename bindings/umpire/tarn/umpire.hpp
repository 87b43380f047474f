// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tarn/umpire.hpp: a strategy of Umpire's that serves memory of tarn. MFEM, hypre, CHAI and others take it by its name.
//
//     #include <tarn/umpire.hpp>
//
//     auto &manager = umpire::ResourceManager::getInstance();
//     manager.makeAllocator<tarn::umpire_strategy>("TARN", manager.getAllocator("DEVICE"));
//     ...
//     umpire::Allocator allocator = manager.getAllocator("TARN");
//     double *field = static_cast<double *>(allocator.allocate(bytes));
//     allocator.deallocate(field);
//
// Memory. The parent tells the kind, and serves nothing itself. The memory is that of tarn's process-wide pool: device memory
// of the parent's device, pinned memory for PINNED, managed memory for UM, plain host memory for HOST. Another argument
// names a pool of your own, as a tarn::pool_ref, whose kind must be the parent's. It must outlive the allocations.
//
// Streams. Umpire's calls name none. If all work on the memory is on one stream, whichever it is, nothing is to be done. If
// that is not the default stream, and other parts of the program use the pool too, pass the stream as the last argument, as
// tarn_stream(stream); before it stands the pool, tarn::pool_ref() for the process-wide one. A program with several streams
// sets TARN_FREE=waits, or the option free_waits of its own pool. Umpire's own pools
// never wait: what is right with them, in a pool that Umpire uses alone, is right here.
//
// Threads. tarn may be called by all at once. Umpire's books of an allocator may not, unless a ThreadSafeAllocator lies above.
//
// Exceptions. umpire::out_of_memory_error if memory is short; else umpire::runtime_error. The sentence is that of
// tarn_last_error. They also come from a free that is refused, and from a parent of another kind or with a wrong pool.
//
// Addresses are multiples of 256. release() gives unused memory back to the vendor. getActualSize() is what the pool
// holds, for all its users.
#ifndef TARN_UMPIRE_HPP
#define TARN_UMPIRE_HPP

#include <cstddef>
#include <string>

#include <umpire/Allocator.hpp>
#include <umpire/strategy/AllocationStrategy.hpp>
#include <umpire/util/error.hpp>

#include "tarn/pool.hpp"

namespace tarn
{

// Umpire writes the arguments of makeAllocator into its log.
inline std::string to_string(pool_ref pool)
{
    return pool == pool_ref() ? "process-wide" : std::to_string(std::uintptr_t(pool.handle()));
}

class umpire_strategy : public umpire::strategy::AllocationStrategy
{
  public:
    umpire_strategy(const std::string &name, int id, umpire::Allocator parent, pool_ref pool = {},
                    tarn_stream stream = nullptr)
        : AllocationStrategy(name, id, parent.getAllocationStrategy(), "tarn"),
          pool_(pool_like(*parent.getAllocationStrategy(), pool)), stream_(stream)
    {
    }

    umpire::Platform getPlatform() noexcept override
    {
        return m_parent->getPlatform();
    }

    umpire::MemoryResourceTraits getTraits() const noexcept override
    {
        return m_parent->getTraits();
    }

    std::size_t getActualSize() const noexcept override
    {
        tarn_stats stats = TARN_STATS_INIT;
        return tarn_pool_stats(pool_, &stats) == TARN_STATUS_OK ? stats.footprint_bytes : 0;
    }

    void release() override
    {
        require(tarn_pool_trim(pool_, 0, nullptr));
    }

  private:
    void *allocate(std::size_t size_bytes) override
    {
        void *address = nullptr;
        require(stream_ ? tarn_pool_alloc_on(pool_, size_bytes, stream_, &address)
                        : tarn_pool_alloc(pool_, size_bytes, &address));
        return address;
    }

    void deallocate(void *address, std::size_t) override
    {
        require(stream_ ? tarn_pool_free_on(pool_, address, stream_)
                        : tarn_pool_free(pool_, address));
    }

    static void require(tarn_status status)
    {
        if (status == TARN_STATUS_OK) return;
        const tarn_error failure = tarn_last_error();
        if (is_shortage(status))
            throw umpire::out_of_memory_error(failure.message, __FILE__, __LINE__);
        fail(failure.message);
    }

    [[noreturn]] static void fail(const std::string &sentence)
    {
        throw umpire::runtime_error(sentence, __FILE__, __LINE__);
    }

    static tarn_memory_kind kind_of(umpire::strategy::AllocationStrategy &parent)
    {
        using type = umpire::MemoryResourceTraits::resource_type;
        switch (parent.getTraits().resource) {
        case type::host:
            return TARN_MEMORY_KIND_HOST;
        case type::device:
            return TARN_MEMORY_KIND_DEVICE;
        case type::pinned:
            return TARN_MEMORY_KIND_PINNED;
        case type::um:
            return TARN_MEMORY_KIND_SHARED;
        default:
            fail("tarn has no memory of the kind of " + parent.getName() +
                 ", only HOST, DEVICE, PINNED and UM");
        }
    }

    // Umpire numbers CUDA's and HIP's devices as these do, and the memory of no other resource.
    static int device_of(umpire::strategy::AllocationStrategy &parent, tarn_memory_kind kind)
    {
        const umpire::Platform platform = parent.getPlatform();
        const bool is_numbered =
            platform == umpire::Platform::cuda || platform == umpire::Platform::hip;
        return is_numbered && kind == TARN_MEMORY_KIND_DEVICE ? parent.getTraits().id
                                                              : TARN_DEVICE_CURRENT;
    }

    static tarn_pool *pool_like(umpire::strategy::AllocationStrategy &parent, pool_ref wanted)
    {
        const tarn_memory_kind kind = kind_of(parent);
        tarn_pool *pool = wanted.handle();
        if (!pool) {
            require(tarn_device_pool(device_of(parent, kind), kind, &pool));
            return pool;
        }
        const tarn_backend backend = backend_of(pool);
        if (backend.operations && properties_of(backend).kind != kind)
            fail("the pool's memory is of another kind than " + parent.getName());
        return pool;
    }

    tarn_pool *pool_;
    tarn_stream stream_;
};

} // namespace tarn

#endif
