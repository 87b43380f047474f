/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/omega_h.hpp where Kokkos runs on a device: which stream each call names. Kokkos' Cuda is the stand-in's; the host
 * backend passes for CUDA's. Compiled twice: for device memory, and for memory that the host can access.
 */
#include <doctest/doctest.h>

#define STAND_IN_CUDA
#define tarn_backend_name  pretended_backend_name
#define tarn_stream_retire watched_stream_retire
#include <tarn/omega_h.hpp>
#undef tarn_backend_name
#undef tarn_stream_retire

extern "C" tarn_status tarn_stream_retire(tarn_stream stream);

namespace
{

using Omega_h::KokkosPool;

const char *pretended_name = "host";
tarn_stream retired = nullptr;

constexpr std::size_t size_bytes = 5000;

void set_flag(void *argument)
{
    bool *flag = nullptr;
    std::memcpy(&flag, argument, sizeof(flag));
    *flag = true;
}

// Submits work that sets the flag when the host backend runs it.
void launch_on_kokkos(bool &flag)
{
    bool *address = &flag;
    REQUIRE(tarn_host_launch(set_flag, &address, sizeof(address), Kokkos::stand_in::stream) ==
            TARN_STATUS_OK);
}

tarn_pool *pool_of(void *address)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    REQUIRE(tarn_pool_find(address, &found) == TARN_STATUS_OK);
    return found.pool;
}

} // namespace

extern "C" const char *pretended_backend_name(void)
{
    return pretended_name;
}

extern "C" tarn_status watched_stream_retire(tarn_stream stream)
{
    retired = stream;
    return tarn_stream_retire(stream);
}

TEST_CASE("arrays in the order of Kokkos' stream, until its end and after")
{
    Kokkos::initialize();
    KokkosPool &arrays = KokkosPool::getGlobalPool();

    // A tarn that was built for another vendor is refused.
    CHECK_THROWS_WITH_AS((void)arrays.allocate(1), doctest::Contains("TARN_BACKEND"),
                         std::logic_error);
    pretended_name = "cuda";

    void *first = arrays.allocate(size_bytes);
    tarn_pool *pool = pool_of(first);
    tarn_pool *expected = nullptr;
#ifdef OMEGA_H_MEM_SPACE_SHARED
    REQUIRE(tarn_device_pool(0, TARN_MEMORY_KIND_SHARED, &expected) == TARN_STATUS_OK);
#else
    REQUIRE(tarn_device_pool(0, TARN_MEMORY_KIND_DEVICE, &expected) == TARN_STATUS_OK);
#endif
    CHECK(pool == expected);

    // The free does not wait for the kernel. Nor does the next array, unless the host can write to it at once.
    bool has_run = false;
    launch_on_kokkos(has_run);
    arrays.deallocate(first);
    CHECK_FALSE(has_run);
    void *second = arrays.allocate(size_bytes);
#ifdef OMEGA_H_MEM_SPACE_SHARED
    CHECK((second != first || has_run));
#else
    CHECK(second == first);
    CHECK_FALSE(has_run);
#endif

    // Another stream that gets the memory waits for Kokkos' stream.
    has_run = false;
    launch_on_kokkos(has_run);
    arrays.deallocate(second);
    void *elsewhere = nullptr;
    REQUIRE(tarn_pool_alloc_on(pool, size_bytes, nullptr, &elsewhere) == TARN_STATUS_OK);
    REQUIRE(tarn_host_stream_synchronize(nullptr) == TARN_STATUS_OK);
    CHECK((elsewhere != second || has_run));
    REQUIRE(tarn_pool_free_on(pool, elsewhere, nullptr) == TARN_STATUS_OK);

    // Kokkos ends its stream, which the pools are told before. Then an array that is left may go.
    void *left = arrays.allocate(size_bytes);
    Kokkos::finalize();
    CHECK(retired != nullptr);
    CHECK(retired == Kokkos::stand_in::stream);
    arrays.deallocate(left);
    tarn_stats stats = TARN_STATS_INIT;
    REQUIRE(tarn_pool_stats(pool, &stats) == TARN_STATUS_OK);
    CHECK(stats.live_count == 0);
    KokkosPool::destroyGlobalPool();
    REQUIRE(tarn_pool_stats(pool, &stats) == TARN_STATUS_OK);
    CHECK(stats.footprint_bytes == 0);
}
