// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of Ginkgo that tarn/ginkgo.hpp is written against, with the signatures of version 1.12.
#ifndef TARN_STAND_IN_GINKGO_MEMORY_HPP
#define TARN_STAND_IN_GINKGO_MEMORY_HPP

#include <cstddef>

struct CUstream_st;
struct ihipStream_t;
#define GKO_HIP_STREAM_STRUCT ihipStream_t

namespace gko
{

using size_type = std::size_t;

class Allocator
{
  public:
    virtual ~Allocator() = default;
    virtual void *allocate(size_type num_bytes) = 0;
    virtual void deallocate(void *ptr) = 0;
};

class CpuAllocatorBase : public Allocator
{
};

class CudaAllocatorBase : public Allocator
{
    friend class CudaExecutor;

  protected:
    virtual bool check_environment(int, CUstream_st *) const
    {
        return true;
    }
};

class HipAllocatorBase : public Allocator
{
    friend class HipExecutor;

  protected:
    virtual bool check_environment(int, GKO_HIP_STREAM_STRUCT *) const
    {
        return true;
    }
};

} // namespace gko

#endif
