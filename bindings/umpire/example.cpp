// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Umpire's allocator "TARN" serves memory of tarn.
#include <cstdio>
#include <exception>

#include <umpire/ResourceManager.hpp>

#include <tarn/umpire.hpp>

int main()
try {
    auto &manager = umpire::ResourceManager::getInstance();
    manager.makeAllocator<tarn::umpire_strategy>("TARN", manager.getAllocator("HOST"));

    umpire::Allocator allocator = manager.getAllocator("TARN");
    double *field = static_cast<double *>(allocator.allocate(1000 * sizeof(double)));
    field[0] = 1;
    allocator.deallocate(field);
    std::printf("the pool holds %zu bytes\n", allocator.getActualSize());
} catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
