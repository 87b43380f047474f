/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What each adapter adds to tarn's own calls, which stand before it. The frameworks are the stand-ins, which cost nothing. */
#include <memory>

#include <AMReX_Arena.H>
#include <ginkgo/ginkgo.hpp>
#include <umpire/ResourceManager.hpp>

#include "bindings/pairs.hpp"
#include "tarn/amrex.hpp"
#include "tarn/ginkgo.hpp"
#include "tarn/memory_resource.hpp"
#include "tarn/pool.hpp"
#include "tarn/umpire.hpp"

namespace
{

constexpr std::size_t size_bytes = 4000;

void measure_calls(const char *name, tarn_pool *pool, tarn_stream alloc_stream, bool frees_after)
{
    measure_pairs(name, [=] {
        void *address = nullptr;
        tarn_pool_alloc_on(pool, size_bytes, alloc_stream, &address);
        if (frees_after)
            tarn_pool_free_after(pool, address, nullptr, 0);
        else
            tarn_pool_free_on(pool, address, nullptr);
    });
}

void measure_cpp(tarn_pool *pool)
{
    measure_calls("tarn's calls on a stream", pool, nullptr, false);
    measure_pairs("tarn::make_device on a stream",
                  [=] { tarn::make_device<char>(pool, size_bytes, nullptr); });
    tarn::ginkgo_cpu_allocator ginkgo(pool);
    measure_pairs("tarn::ginkgo_cpu_allocator",
                  [&] { ginkgo.deallocate(ginkgo.allocate(size_bytes)); });
    measure_pairs("tarn's plain calls", [=] {
        void *address = nullptr;
        tarn_pool_alloc(pool, size_bytes, &address);
        tarn_pool_free(pool, address);
    });
    measure_pairs("tarn::make_device", [=] { tarn::make_device<char>(pool, size_bytes); });
    auto &manager = umpire::ResourceManager::getInstance();
    umpire::Allocator umpire = manager.makeAllocator<tarn::umpire_strategy>(
        "TARN", manager.getAllocator("DEVICE"), tarn::pool_ref(pool));
    measure_pairs("tarn::umpire_strategy", [&] { umpire.deallocate(umpire.allocate(size_bytes)); });
}

/* These get memory that no stream uses, and have waited when they free. */
void measure_any(tarn_pool *pool)
{
    measure_calls("tarn's calls, any stream", pool, TARN_STREAM_ANY, true);
    tarn::memory_resource resource{ tarn::pool_ref(pool) };
    measure_pairs("tarn::memory_resource",
                  [&] { resource.deallocate(resource.allocate(size_bytes), size_bytes); });
    tarn::amrex_arena arena{ tarn::pool_ref(pool) };
    measure_pairs("tarn::amrex_arena", [&] { arena.free(arena.alloc(size_bytes)); });
}

} // namespace

int main() // NOLINT(bugprone-exception-escape): an exception ends it with its sentence
{
    tarn::pool first, second;
    measure_cpp(first.handle());
    measure_any(second.handle());
}
