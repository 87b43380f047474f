// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of Umpire that tarn/umpire.hpp is written against, with the signatures of version 2024.07.
#ifndef TARN_STAND_IN_UMPIRE_ALLOCATOR_HPP
#define TARN_STAND_IN_UMPIRE_ALLOCATOR_HPP

#include <umpire/strategy/AllocationStrategy.hpp>
#include <umpire/util/error.hpp>

namespace umpire
{

class Allocator
{
  public:
    explicit Allocator(strategy::AllocationStrategy *strategy) : strategy_(strategy)
    {
    }

    void *allocate(std::size_t bytes)
    {
        try {
            return strategy_->allocate(bytes);
        } catch (out_of_memory_error &error) {
            error.set_requested_size(bytes);
            throw;
        }
    }

    void deallocate(void *address)
    {
        strategy_->deallocate(address, 0);
    }

    void release()
    {
        strategy_->release();
    }

    std::size_t getActualSize() const
    {
        return strategy_->getActualSize();
    }

    Platform getPlatform()
    {
        return strategy_->getPlatform();
    }

    strategy::AllocationStrategy *getAllocationStrategy()
    {
        return strategy_;
    }

  private:
    strategy::AllocationStrategy *strategy_;
};

inline std::string to_string(const Allocator &)
{
    return "an allocator";
}

} // namespace umpire

#endif
