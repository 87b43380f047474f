/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The part of Kokkos that tarn/omega_h.hpp uses, with Kokkos' names and signatures. Its default space is Serial, or with
 * STAND_IN_CUDA a Cuda whose stream is one of the host backend's.
 */
#ifndef STAND_IN_KOKKOS_CORE_HPP
#define STAND_IN_KOKKOS_CORE_HPP

#include <functional>
#include <utility>
#include <vector>

#include "tarn/host.h"

namespace Kokkos
{

class HostSpace
{
};

class Serial
{
  public:
    using memory_space = HostSpace;
};

namespace stand_in
{
inline bool is_initialized = false;
inline std::vector<std::function<void()>> finalize_hooks;
inline tarn_stream stream = nullptr;
} // namespace stand_in

#ifdef STAND_IN_CUDA

#define KOKKOS_ENABLE_CUDA

class CudaSpace
{
};

class Cuda
{
  public:
    using memory_space = CudaSpace;

    int cuda_device() const
    {
        return 0;
    }

    tarn_stream cuda_stream() const
    {
        return stand_in::stream;
    }
};

using DefaultExecutionSpace = Cuda;

#else

using DefaultExecutionSpace = Serial;

#endif

inline bool is_initialized()
{
    return stand_in::is_initialized;
}

inline void push_finalize_hook(std::function<void()> hook)
{
    stand_in::finalize_hooks.push_back(std::move(hook));
}

inline void initialize()
{
#ifdef STAND_IN_CUDA
    tarn_host_stream_create(&stand_in::stream);
#endif
    stand_in::is_initialized = true;
}

inline void finalize()
{
    while (!stand_in::finalize_hooks.empty()) {
        stand_in::finalize_hooks.back()();
        stand_in::finalize_hooks.pop_back();
    }
#ifdef STAND_IN_CUDA
    tarn_host_stream_destroy(stand_in::stream);
#endif
    stand_in::is_initialized = false;
}

// Memory that its maker owns, and the number of elements.
template <class Data> class View;

template <class Element> class View<Element *>
{
  public:
    View(Element *data, std::size_t count) : data_(data), count_(count)
    {
    }

    Element *data() const
    {
        return data_;
    }

    std::size_t size() const
    {
        return count_;
    }

  private:
    Element *data_;
    std::size_t count_;
};

} // namespace Kokkos

#endif
