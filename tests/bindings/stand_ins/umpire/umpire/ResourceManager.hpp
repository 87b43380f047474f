// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TARN_STAND_IN_UMPIRE_RESOURCE_MANAGER_HPP
#define TARN_STAND_IN_UMPIRE_RESOURCE_MANAGER_HPP

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <umpire/Allocator.hpp>

namespace umpire
{

class ResourceManager
{
  public:
    static ResourceManager &getInstance()
    {
        static ResourceManager manager;
        return manager;
    }

    Allocator getAllocator(const std::string &name)
    {
        return Allocator(strategies_.at(name).get());
    }

    bool isAllocator(const std::string &name)
    {
        return strategies_.count(name) != 0;
    }

    template <class Strategy, class... Arguments>
    Allocator makeAllocator(const std::string &name, Arguments &&...arguments)
    {
        if (isAllocator(name)) throw runtime_error(name + " is registered", __FILE__, __LINE__);
        auto strategy =
            std::make_unique<Strategy>(name, ++last_id_, std::forward<Arguments>(arguments)...);
        (log(arguments), ...);
        strategies_[name] = std::move(strategy);
        return getAllocator(name);
    }

  private:
    class Resource : public strategy::AllocationStrategy
    {
      public:
        Resource(const std::string &name, MemoryResourceTraits::resource_type type)
            : AllocationStrategy(name, 0, nullptr, "resource"), type_(type)
        {
        }

        Platform getPlatform() noexcept override
        {
            return Platform::host;
        }

        MemoryResourceTraits getTraits() const noexcept override
        {
            MemoryResourceTraits traits;
            traits.resource = type_;
            return traits;
        }

      private:
        void *allocate(std::size_t bytes) override
        {
            return ::operator new(bytes);
        }

        void deallocate(void *address, std::size_t) override
        {
            ::operator delete(address);
        }

        MemoryResourceTraits::resource_type type_;
    };

    ResourceManager()
    {
        using type = MemoryResourceTraits::resource_type;
        add("HOST", type::host);
        add("DEVICE", type::device);
        add("PINNED", type::pinned);
        add("UM", type::um);
        add("FILE", type::file);
    }

    void add(const std::string &name, MemoryResourceTraits::resource_type type)
    {
        strategies_[name] = std::make_unique<Resource>(name, type);
    }

    // Umpire's log takes what is a void *, text, a number, or has a to_string.
    template <class T> static std::string log(const T &value)
    {
        if constexpr (std::is_convertible_v<T, const void *>) {
            return "an address";
        } else {
            using std::to_string;
            return to_string(value);
        }
    }

    std::map<std::string, std::unique_ptr<strategy::AllocationStrategy>> strategies_;
    int last_id_ = 0;
};

} // namespace umpire

#endif
