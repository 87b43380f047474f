// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An array of AMReX's in memory of tarn.
#include <cstdio>
#include <exception>

#include <AMReX.H>
#include <AMReX_FArrayBox.H>

#include <tarn/amrex.hpp>

int main(int argc, char **argv)
try {
    amrex::Initialize(argc, argv);
    {
        tarn::amrex_arena arena;
        amrex::Box box(amrex::IntVect(0), amrex::IntVect(99));
        amrex::FArrayBox work(box, 1, &arena);
        work.dataPtr()[0] = 1;
        std::printf("the array is at %p\n", static_cast<void *>(work.dataPtr()));
    }
    amrex::Finalize();
} catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
