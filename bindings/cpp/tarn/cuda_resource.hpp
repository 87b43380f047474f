// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tarn/cuda_resource.hpp: a pool as a memory resource of CCCL's cuda::mr, for CUB, cuda::buffer and RMM.
//
//     #include <tarn/cuda_resource.hpp>
//
//     tarn::cuda_resource resource(pool);
//     void *field = resource.allocate(stream, 8 * n);        // stream is a cudaStream_t or a cuda::stream_ref
//     resource.deallocate(stream, field, 8 * n);             // at once, while kernels on that stream still run
//
// Needs CCCL 3.1 or newer: the one of CUDA 13.1, or of the package nvidia-cuda-cccl on PyPI. It calls
// nothing of CUDA's itself; CCCL's headers want the runtime library.
//
//     tarn::cuda_resource         cuda::mr::device_accessible: over a pool of kind DEVICE, PINNED or SHARED
//     tarn::cuda_host_resource    also cuda::mr::host_accessible: over a pool of kind PINNED or SHARED
//
// Both meet cuda::mr::resource. They name the pool, and do not own it: copies are equal, and free each other's memory. The
// pool must outlive their memory; see tarn/pool.hpp for what finds it if it does not.
//
// Streams. allocate and deallocate are in the order of their stream, as tarn_pool_alloc_on and tarn_pool_free_on.
// The calls with _sync name TARN_STREAM_ANY: any stream may use the memory at once. Its free waits for all work that was
// submitted to the device before, on any stream, as cudaFree does. Memory of one kind of call may be freed by the other.
// Before a stream is destroyed, call tarn_stream_retire.
//
// Threads. Any thread may use a resource at any time.
// Cost: that of tarn_pool_alloc_aligned_on and tarn_pool_free_on. A pair of _sync calls takes a lock and calls the vendor.
#ifndef TARN_CUDA_RESOURCE_HPP
#define TARN_CUDA_RESOURCE_HPP

#include <cstddef>
#include <type_traits>

#include <cuda/version>

#include "tarn/pool.hpp"

#if CCCL_VERSION < 3001000
#error \
    "tarn/cuda_resource.hpp needs CCCL 3.1 or newer, as of CUDA 13.1 or of PyPI's nvidia-cuda-cccl"
#else

#include <cuda/memory_resource>
#include <cuda/stream_ref>

namespace tarn
{

template <class... Properties> class basic_cuda_resource
{
    template <class Property>
    static constexpr bool has = (std::is_same_v<Property, Properties> || ...);

  public:
#if CCCL_VERSION >= 3002000
    using default_queries =
        cuda::mr::properties_list<Properties...>; // what cuda::make_buffer asks for
#endif

    // The process-wide pool that pool_ref() stands for is found here, that of the current device, and stays the resource's.
    // Throws error, NOT_SUPPORTED: the pool's memory lacks a property, or its backend lacks events, or the memory is the
    // caller's. INVALID_POOL: the pool has ended.
    explicit basic_cuda_resource(pool_ref pool) : pool_(pool.resolve())
    {
        const tarn_backend backend = backend_of(pool_);
        if (!has_any_stream(backend)) {
            refuse(
                "tarn::cuda_resource: this pool cannot tell when work on a stream is done, since "
                "it has no backend with events");
        }
        const tarn_device_properties memory = properties_of(backend);
        if (has<cuda::mr::device_accessible> && memory.kind == TARN_MEMORY_KIND_HOST) {
            refuse("tarn::cuda_resource: the device cannot use this pool's memory, of kind HOST");
        }
        if (has<cuda::mr::host_accessible> && !memory.is_host_accessible) {
            refuse(
                "tarn::cuda_host_resource: the host cannot read this pool's memory; use a pool of "
                "kind PINNED or SHARED, or tarn::cuda_resource");
        }
    }

    pool_ref pool() const noexcept
    {
        return pool_;
    }

    // Throws bad_alloc, or error: the alignment is no power of two, or the stream is of another device. Zero bytes have an
    // address of their own.
    void *allocate(cuda::stream_ref stream, std::size_t size_bytes,
                   std::size_t alignment_bytes = cuda::mr::default_cuda_malloc_alignment) const
    {
        return pool_.allocate(size_bytes, stream.get(), alignment_bytes);
    }

    // A free that is refused: see "Exceptions" of tarn/pool.hpp.
    void deallocate(cuda::stream_ref stream, void *address, std::size_t,
                    std::size_t = cuda::mr::default_cuda_malloc_alignment) const noexcept
    {
        pool_.deallocate(address, stream.get());
    }

    void *allocate_sync(std::size_t size_bytes,
                        std::size_t alignment_bytes = cuda::mr::default_cuda_malloc_alignment) const
    {
        return pool_.allocate(size_bytes, TARN_STREAM_ANY, alignment_bytes);
    }

    void deallocate_sync(void *address, std::size_t,
                         std::size_t = cuda::mr::default_cuda_malloc_alignment) const noexcept
    {
        pool_.deallocate(address, TARN_STREAM_ANY);
    }

    // Equal resources free each other's memory.
    friend bool operator==(const basic_cuda_resource &left,
                           const basic_cuda_resource &right) noexcept
    {
        return left.pool_ == right.pool_;
    }

    friend bool operator!=(const basic_cuda_resource &left,
                           const basic_cuda_resource &right) noexcept
    {
        return !(left == right);
    }

    template <class Property, std::enable_if_t<has<Property>, int> = 0>
    friend constexpr void get_property(const basic_cuda_resource &, Property) noexcept
    {
    }

  private:
    [[noreturn]] static void refuse(const char *message)
    {
        throw error(TARN_STATUS_NOT_SUPPORTED, message);
    }

    pool_ref pool_;
};

using cuda_resource = basic_cuda_resource<cuda::mr::device_accessible>;
using cuda_host_resource =
    basic_cuda_resource<cuda::mr::device_accessible, cuda::mr::host_accessible>;

} // namespace tarn

#endif
#endif
