// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tarn/ginkgo.hpp: allocators of Ginkgo's that serve memory of tarn to executors.
//
//     #include <tarn/ginkgo.hpp>
//
//     auto device = gko::CudaExecutor::create(0, gko::OmpExecutor::create(),
//                                             std::make_shared<tarn::ginkgo_cuda_allocator>(stream), stream);
//     gko::array<double> field(device, 1000);       // in memory of tarn, for use on that stream
//
// ginkgo_cuda_allocator, ginkgo_hip_allocator: for CudaExecutor and HipExecutor. They take the executor's stream, null for
// the default stream, and allocate and free on it, as Ginkgo launches its kernels there. An executor on another stream is
// refused by Ginkgo when it is made; so is one on another device than that of a pool of your own. Give each executor an
// allocator with its stream; all may share a pool. Ginkgo copies between two executors on the source's stream: if that is
// another stream than the destination's, call synchronize() of the destination before the copy.
//
// ginkgo_cpu_allocator: plain host memory for OmpExecutor and ReferenceExecutor, so that a program runs alike without a GPU.
//
// Memory is that of the pool, by default the process-wide pool of the executor's device. A pool of your own must outlive
// the executor's data. Addresses are multiples of 256. Zero bytes have an address of their own.
//
// If memory is short, allocations throw tarn::bad_alloc, a std::bad_alloc, not gko::AllocationError. Other failures are
// tarn::error. A free throws nothing: see tarn/pool.hpp for a free that is refused.
//
// Threads: all may call at once. Before a stream is destroyed, call tarn_stream_retire.
#ifndef TARN_GINKGO_HPP
#define TARN_GINKGO_HPP

#include <ginkgo/core/base/memory.hpp>

#include "tarn/pool.hpp"

namespace tarn
{

// The common part of the allocators. Base is the interface of Ginkgo's for an executor.
template <class Base> class ginkgo_allocator : public Base
{
  public:
    ginkgo_allocator(pool_ref pool, tarn_stream stream) : pool_(pool), stream_(stream)
    {
    }

    void *allocate(gko::size_type size_bytes) override
    {
        return pool_.allocate(size_bytes, stream_);
    }

    void deallocate(void *address) override
    {
        pool_.deallocate(address, stream_);
    }

  protected:
    bool serves(int device, tarn_stream stream) const
    {
        if (stream != stream_) return false;
        if (pool_ == pool_ref()) return true;
        const tarn_backend own = backend_of(pool_);
        if (!own.operations) return true; // memory of the caller's
        const tarn_device_properties mine = properties_of(own);
        if (mine.memory_id == 0) return true;
        tarn_backend backend;
        tarn_device_properties theirs;
        check(tarn_backend_open(device, mine.kind, &backend));
        const tarn_status status =
            backend.operations->get_properties(backend.state, &theirs).status;
        tarn_backend_close(&backend);
        return status == TARN_STATUS_OK && mine.memory_id == theirs.memory_id;
    }

  private:
    pool_ref pool_;
    tarn_stream stream_;
};

class ginkgo_cuda_allocator : public ginkgo_allocator<gko::CudaAllocatorBase>
{
  public:
    explicit ginkgo_cuda_allocator(CUstream_st *stream = nullptr, pool_ref pool = {})
        : ginkgo_allocator(pool, stream)
    {
    }

  protected:
    bool check_environment(int device, CUstream_st *stream) const override
    {
        return serves(device, stream);
    }
};

class ginkgo_hip_allocator : public ginkgo_allocator<gko::HipAllocatorBase>
{
  public:
    explicit ginkgo_hip_allocator(GKO_HIP_STREAM_STRUCT *stream = nullptr, pool_ref pool = {})
        : ginkgo_allocator(pool, stream)
    {
    }

  protected:
    bool check_environment(int device, GKO_HIP_STREAM_STRUCT *stream) const override
    {
        return serves(device, stream);
    }
};

class ginkgo_cpu_allocator : public ginkgo_allocator<gko::CpuAllocatorBase>
{
  public:
    ginkgo_cpu_allocator() : ginkgo_cpu_allocator(host_pool())
    {
    }

    explicit ginkgo_cpu_allocator(pool_ref pool) : ginkgo_allocator(pool, nullptr)
    {
    }

  private:
    static tarn_pool *host_pool()
    {
        tarn_pool *pool = nullptr;
        check(tarn_device_pool(TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_HOST, &pool));
        return pool;
    }
};

} // namespace tarn

#endif
