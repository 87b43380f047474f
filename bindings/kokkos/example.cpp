// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Kokkos View whose memory comes from the process-wide pool.
#include <cstdio>
#include <tarn/kokkos.hpp>

int main(int argc, char **argv)
{
    Kokkos::ScopeGuard kokkos(argc, argv);
    using Space = tarn::PoolSpace<Kokkos::DefaultExecutionSpace::memory_space>;
    Kokkos::View<double *, Space> field("field", 1000);
    Kokkos::parallel_for(
        "fill", 1000, KOKKOS_LAMBDA(int i) { field(i) = i; });
    double sum = 0;
    Kokkos::parallel_reduce(
        "sum", 1000, KOKKOS_LAMBDA(int i, double &part) { part += field(i); }, sum);
    std::printf("sum %g\n", sum);
}
