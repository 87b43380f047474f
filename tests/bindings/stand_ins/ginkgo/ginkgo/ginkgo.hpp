// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TARN_STAND_IN_GINKGO_HPP
#define TARN_STAND_IN_GINKGO_HPP

#include <memory>
#include <stdexcept>
#include <utility>

#include <ginkgo/core/base/memory.hpp>

namespace gko
{

class Executor
{
  public:
    explicit Executor(std::shared_ptr<Allocator> allocator) : allocator_(std::move(allocator))
    {
    }

    template <class T> T *alloc(size_type count) const
    {
        return static_cast<T *>(allocator_->allocate(count * sizeof(T)));
    }

    void free(void *address) const noexcept
    {
        allocator_->deallocate(address);
    }

  private:
    std::shared_ptr<Allocator> allocator_;
};

class ReferenceExecutor : public Executor
{
  public:
    using Executor::Executor;

    static std::shared_ptr<ReferenceExecutor> create(std::shared_ptr<CpuAllocatorBase> allocator)
    {
        return std::make_shared<ReferenceExecutor>(std::move(allocator));
    }
};

class CudaExecutor : public Executor
{
  public:
    using Executor::Executor;

    static std::shared_ptr<CudaExecutor> create(int device, std::shared_ptr<Executor>,
                                                std::shared_ptr<CudaAllocatorBase> allocator,
                                                CUstream_st *stream)
    {
        if (!allocator->check_environment(device, stream))
            throw std::runtime_error("Allocator uses incorrect stream or device ID.");
        return std::make_shared<CudaExecutor>(std::move(allocator));
    }
};

class HipExecutor : public Executor
{
  public:
    using Executor::Executor;

    static std::shared_ptr<HipExecutor> create(int device, std::shared_ptr<Executor>,
                                               std::shared_ptr<HipAllocatorBase> allocator,
                                               GKO_HIP_STREAM_STRUCT *stream)
    {
        if (!allocator->check_environment(device, stream))
            throw std::runtime_error("Allocator uses incorrect stream or device ID.");
        return std::make_shared<HipExecutor>(std::move(allocator));
    }
};

template <class T> class array
{
  public:
    array(std::shared_ptr<const Executor> executor, size_type size)
        : executor_(std::move(executor)), data_(executor_->alloc<T>(size))
    {
    }

    ~array()
    {
        executor_->free(data_);
    }

    array(const array &) = delete;
    array &operator=(const array &) = delete;

    T *get_data()
    {
        return data_;
    }

  private:
    std::shared_ptr<const Executor> executor_;
    T *data_;
};

} // namespace gko

#endif
