// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kokkos_views: a program of Kokkos's that knows nothing of tarn.
#include <Kokkos_Core.hpp>

int main(int argc, char **argv)
{
    Kokkos::initialize(argc, argv);
    {
        Kokkos::View<double *> coordinates("coordinates", 1000);
        Kokkos::View<double *> field("a field", 5000);
        coordinates = Kokkos::View<double *>("new coordinates", 2000);
    }
    Kokkos::finalize();
    return 0;
}
