// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nanoseconds for an allocation and its end: by tarn alone, over a pool, over HostSpace.
#include <cstdio>

#include <tarn/kokkos.hpp>

#include "bindings/pairs.hpp"

namespace
{

template <class Space> void measure_views(const char *name, const Space &space, std::size_t count)
{
    measure_pairs(name, [&] {
        Kokkos::View<double *, Space> view(
            Kokkos::view_alloc(space, "a label", Kokkos::WithoutInitializing), count);
    });
}

void measure_size(std::size_t count)
{
    using Pool = tarn::PoolSpace<Kokkos::HostSpace>;
    std::size_t size_bytes = count * sizeof(double);
    std::printf("%zu bytes\n", size_bytes);
    tarn::pool owned;
    tarn_pool *pool = owned.handle();
    measure_pairs("tarn, in a label", [&] {
        void *address = nullptr;
        tarn_label_push("a label");
        tarn_pool_alloc_on(pool, size_bytes, nullptr, &address);
        tarn_label_pop();
        tarn_pool_free_on(pool, address, nullptr);
    });
    measure_pairs("tarn, without one", [&] {
        void *address = nullptr;
        tarn_pool_alloc_on(pool, size_bytes, nullptr, &address);
        tarn_pool_free_on(pool, address, nullptr);
    });
    measure_pairs("Kokkos::fence", [&] { tarn::kokkos_detail::fence(); });
    Pool own(owned), process_wide;
    measure_pairs("PoolSpace, allocate and deallocate", [&] {
        own.deallocate("a label", own.allocate("a label", size_bytes), size_bytes);
    });
    measure_pairs("HostSpace, allocate and deallocate", [&] {
        Kokkos::HostSpace space;
        space.deallocate("a label", space.allocate("a label", size_bytes), size_bytes);
    });
    measure_views("View, a pool of its own", own, count);
    measure_views("View, process-wide pool", process_wide, count);
    measure_views("View, HostSpace", Kokkos::HostSpace(), count);
    measure_pairs("pool_view", [&] {
        tarn::pool_view<Kokkos::View<double *, Kokkos::HostSpace>> work(own, "a label", count);
    });
}

} // namespace

int main(int argc, char **argv)
{
    Kokkos::ScopeGuard kokkos(argc, argv);
    measure_size(100);
    measure_size(100000);
}
