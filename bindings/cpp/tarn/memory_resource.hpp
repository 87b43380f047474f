// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tarn/memory_resource.hpp: a pool of host-readable memory under the containers of std::pmr.
//
//     #include <tarn/memory_resource.hpp>
//
//     tarn::memory_resource pinned(tarn::device_pool(TARN_MEMORY_KIND_PINNED));
//     std::pmr::vector<double> staging(n, &pinned);             // cudaMemcpyAsync from it does not stop the host
//
// The pool's memory must be of kind HOST, PINNED or SHARED: containers write to it. The resource names the pool, and does
// not own it. The pool must outlive the resource's memory; see tarn/pool.hpp for what finds it if it does not.
//
// Streams. The host is no stream. An allocation gets memory that no work of the device uses any more; if there is no other,
// the calling thread waits. A free says that the host used the memory last. So if a copy or a kernel uses it, wait for that
// before the container ends or grows, as with memory of new.
//
// Threads. Any thread may use a resource at any time.
// Cost: that of tarn_pool_alloc_on and tarn_pool_free_after, and two virtual calls.
#ifndef TARN_MEMORY_RESOURCE_HPP
#define TARN_MEMORY_RESOURCE_HPP

#include <cstddef>
#include <memory_resource>

#include "tarn/pool.hpp"

namespace tarn
{

class memory_resource final : public std::pmr::memory_resource
{
  public:
    // The process-wide pool that pool_ref() stands for is found here, and stays the resource's. Of a pool over memory of the
    // caller's, the caller knows that the host can read it. Such a pool has no events: memory that a stream used must be
    // freed there after a wait alone, or the resource may get it too early.
    // Throws error, NOT_SUPPORTED: the host cannot read the pool's memory. INVALID_POOL: the pool has ended.
    explicit memory_resource(pool_ref pool) : pool_(pool.resolve())
    {
        const tarn_backend backend = backend_of(pool_);
        if (backend.operations && !properties_of(backend).is_host_accessible) {
            throw error(
                TARN_STATUS_NOT_SUPPORTED,
                "tarn::memory_resource: the host cannot read this pool's memory; use a pool "
                "of kind PINNED, SHARED or HOST");
        }
        if (has_any_stream(backend)) stream_ = TARN_STREAM_ANY;
    }

    pool_ref pool() const noexcept
    {
        return pool_;
    }

  private:
    // Throws bad_alloc, or error: the alignment is no power of two. Zero bytes have an address of their own.
    void *do_allocate(std::size_t size_bytes, std::size_t alignment_bytes) override
    {
        return pool_.allocate(size_bytes, stream_, alignment_bytes);
    }

    // Throws nothing. A free that is refused: see "Exceptions" of tarn/pool.hpp.
    void do_deallocate(void *address, std::size_t, std::size_t) noexcept override
    {
        check_free(tarn_pool_free_after(pool_.handle(), address, nullptr, 0));
    }

    // Resources of one pool free each other's memory.
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        auto *resource = dynamic_cast<const memory_resource *>(&other);
        return resource && resource->pool_ == pool_;
    }

    pool_ref pool_;
    tarn_stream stream_ =
        nullptr; // named by allocations; a pool without events has the default one alone
};

} // namespace tarn

#endif
