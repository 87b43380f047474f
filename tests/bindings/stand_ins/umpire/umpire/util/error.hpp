// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TARN_STAND_IN_UMPIRE_ERROR_HPP
#define TARN_STAND_IN_UMPIRE_ERROR_HPP

#include <cstddef>
#include <stdexcept>
#include <string>

namespace umpire
{

class Allocator;

class runtime_error : public std::runtime_error
{
  public:
    runtime_error(const std::string &message, const std::string &file, int line)
        : std::runtime_error(file + ":" + std::to_string(line) + ": " + message)
    {
    }
};

class out_of_memory_error : public runtime_error
{
  public:
    using runtime_error::runtime_error;

    std::size_t requested_size()
    {
        return requested_;
    }

  private:
    void set_requested_size(std::size_t size)
    {
        requested_ = size;
    }

    std::size_t requested_ = 0;

    friend class Allocator;
};

} // namespace umpire

#endif
