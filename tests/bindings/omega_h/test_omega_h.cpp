/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/omega_h.hpp on the host: the functions of Omega_h's pool, from before Kokkos begins until after its end. */
#include <doctest/doctest.h>

#include <tarn/omega_h.hpp>

namespace
{

using Omega_h::KokkosPool;

// Kokkos is there for the scope.
class kokkos_scope
{
  public:
    kokkos_scope()
    {
        Kokkos::initialize();
    }

    ~kokkos_scope()
    {
        Kokkos::finalize();
    }
};

TEST_CASE("without Kokkos there is no pool, and its end is nothing")
{
    KokkosPool::destroyGlobalPool();
    CHECK_THROWS_WITH_AS((void)KokkosPool::getGlobalPool().allocate(8),
                         doctest::Contains("Kokkos::initialize"), std::logic_error);
}

TEST_CASE("views come from the process-wide pool of host memory")
{
    kokkos_scope kokkos;
    KokkosPool &pool = KokkosPool::getGlobalPool();
    auto view = pool.allocateView<double>(1000);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    REQUIRE(tarn_pool_find(view.data(), &found) == TARN_STATUS_OK);
    CHECK(found.size_bytes == 8000);
    tarn_pool *host = nullptr;
    REQUIRE(tarn_device_pool(0, TARN_MEMORY_KIND_HOST, &host) == TARN_STATUS_OK);
    CHECK(found.pool == host);
    CHECK(reinterpret_cast<std::uintptr_t>(view.data()) % 256 == 0);
    pool.deallocateView<double>(view);
    CHECK(tarn_pool_find(view.data(), &found) == TARN_STATUS_NOT_LIVE);
}

TEST_CASE("views of zero elements exist, each at an address of its own")
{
    kokkos_scope kokkos;
    KokkosPool &pool = KokkosPool::getGlobalPool();
    auto first = pool.allocateView<int>(0), second = pool.allocateView<int>(0);
    CHECK(first.data());
    CHECK(second.data());
    CHECK(first.data() != second.data());
    pool.deallocateView<int>(first);
    pool.deallocateView<int>(second);
}

TEST_CASE("the counts are those of tarn's pool")
{
    kokkos_scope kokkos;
    KokkosPool &pool = KokkosPool::getGlobalPool();
    REQUIRE(pool.getNumAllocations() == 0);
    CHECK(pool.getChunkSize() == 1024);
    auto view = pool.allocateView<char>(10 * 1024);
    CHECK(pool.getNumAllocations() == 1);
    CHECK(pool.getNumAllocatedChunks() == 10);
    CHECK(pool.getNumFreeChunks() == pool.getNumChunks() - 10);
    CHECK(pool.getNumFreeFragments() == 1);
    pool.deallocateView<char>(view);
    CHECK(pool.getNumAllocations() == 0);
}

TEST_CASE("a second free and a wrong address throw tarn's sentence")
{
    kokkos_scope kokkos;
    KokkosPool &pool = KokkosPool::getGlobalPool();
    void *address = pool.allocate(100);
    pool.deallocate(address);
    CHECK_THROWS_AS(pool.deallocate(address), tarn::error);
    int on_the_stack = 0;
    CHECK_THROWS_AS(pool.deallocate(&on_the_stack), tarn::error);
    pool.deallocate(nullptr);
}

TEST_CASE("more than there is throws std::bad_alloc")
{
    kokkos_scope kokkos;
    CHECK_THROWS_AS((void)KokkosPool::getGlobalPool().allocate(SIZE_MAX / 2), std::bad_alloc);
}

TEST_CASE("the end of the global pool gives unused memory back, and arrays stay")
{
    kokkos_scope kokkos;
    KokkosPool &pool = KokkosPool::getGlobalPool();
    void *stays = pool.allocate(100);
    void *large = pool.allocate(100 << 20);
    pool.deallocate(large);
    CHECK(pool.getNumChunks() >= 100 << 10);
    KokkosPool::destroyGlobalPool();
    CHECK(pool.getNumChunks() < 100 << 10);
    pool.deallocate(stays);
    KokkosPool::destroyGlobalPool();
    CHECK(pool.getNumChunks() == 0);
}

TEST_CASE("an array may be freed after Kokkos' end")
{
    Kokkos::initialize();
    KokkosPool &pool = KokkosPool::getGlobalPool();
    void *address = pool.allocate(100);
    Kokkos::finalize();
    pool.deallocate(address);
    CHECK(pool.getNumAllocations() == 0);
}

} // namespace
