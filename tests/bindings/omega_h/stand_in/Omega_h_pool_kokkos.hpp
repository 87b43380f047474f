/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The class that tarn/omega_h.hpp defines the functions of, with Omega_h's names and signatures. */
#ifndef STAND_IN_OMEGA_H_POOL_KOKKOS_HPP
#define STAND_IN_OMEGA_H_POOL_KOKKOS_HPP

#include <cstddef>
#include <list>
#include <map>

#include "Kokkos_Core.hpp"

namespace Omega_h
{

using ExecSpace = Kokkos::DefaultExecutionSpace;
#ifdef OMEGA_H_MEM_SPACE_SHARED
class Space
{
};
#else
using Space = ExecSpace::memory_space;
#endif

template <class T> using View = Kokkos::View<T>;

// Its destructor is not defined: a program that links tarn first has no file of Omega_h's that does.
class StaticKokkosPool
{
  public:
    ~StaticKokkosPool();
};

class KokkosPool
{
  public:
    explicit KokkosPool(std::size_t bytesPerChunks);

    auto allocate(std::size_t n) -> void *;
    void deallocate(void *data);

    template <typename DataType> auto allocateView(std::size_t n) -> View<DataType *>
    {
        return View<DataType *>(static_cast<DataType *>(allocate(n * sizeof(DataType))), n);
    }

    template <typename DataType> void deallocateView(View<DataType *> view)
    {
        deallocate(view.data());
    }

    auto getNumAllocations() const -> unsigned;
    auto getNumFreeChunks() const -> unsigned;
    auto getNumAllocatedChunks() const -> unsigned;
    auto getNumChunks() const -> unsigned;
    auto getNumFreeFragments() const -> unsigned;
    auto getChunkSize() const -> std::size_t;

    static auto getGlobalPool() -> KokkosPool &;
    static auto destroyGlobalPool() -> void;

  private:
    using PoolListT = std::list<StaticKokkosPool>;

    std::size_t chunkSize;
    PoolListT pools;
    std::map<void *, PoolListT::iterator> allocations;
};

} // namespace Omega_h

#endif
