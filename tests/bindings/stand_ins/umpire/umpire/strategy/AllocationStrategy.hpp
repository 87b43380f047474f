// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TARN_STAND_IN_UMPIRE_STRATEGY_HPP
#define TARN_STAND_IN_UMPIRE_STRATEGY_HPP

#include <cstddef>
#include <string>

namespace umpire
{

enum class Platform {
    undefined = 0,
    host = 1,
    cuda = 2,
    omp_target = 4,
    hip = 8,
    sycl = 16
};

struct MemoryResourceTraits {
    enum class resource_type {
        unknown,
        host,
        device,
        device_const,
        pinned,
        um,
        file,
        shared
    };

    int id = 0;
    resource_type resource = resource_type::unknown;
};

class Allocator;
class ResourceManager;

namespace strategy
{

class AllocationStrategy
{
    friend class umpire::ResourceManager;
    friend class umpire::Allocator;

  public:
    AllocationStrategy(const std::string &name, int id, AllocationStrategy *parent,
                       const std::string &strategy_name) noexcept
        : m_name(name), m_strategy_name(strategy_name), m_id(id), m_parent(parent)
    {
    }

    virtual ~AllocationStrategy() = default;

    virtual void release()
    {
    }

    virtual std::size_t getActualSize() const noexcept
    {
        return 0;
    }

    virtual Platform getPlatform() noexcept = 0;

    const std::string &getName() noexcept
    {
        return m_name;
    }

    virtual MemoryResourceTraits getTraits() const noexcept
    {
        return {};
    }

  protected:
    std::string m_name;
    std::string m_strategy_name;
    int m_id;
    AllocationStrategy *m_parent;

  private:
    virtual void *allocate(std::size_t bytes) = 0;
    virtual void deallocate(void *address, std::size_t size = 0) = 0;
};

} // namespace strategy
} // namespace umpire

#endif
