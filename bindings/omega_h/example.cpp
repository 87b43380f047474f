// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program with Omega_h whose arrays come from tarn: the first line is all that changes. Run it with --osh-pool.
#include <tarn/omega_h.hpp>

int main() // NOLINT(bugprone-exception-escape): an exception ends it with its sentence
{
    Kokkos::initialize(); // as Omega_h::Library does
    Omega_h::KokkosPool &arrays = Omega_h::KokkosPool::getGlobalPool();
    auto lengths = arrays.allocateView<double>(1000); // as an array does
    arrays.deallocateView<double>(lengths);
    Omega_h::KokkosPool::destroyGlobalPool();
    Kokkos::finalize();
}
