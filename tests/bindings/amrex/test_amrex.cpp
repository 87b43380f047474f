/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/amrex.hpp: arenas of AMReX's over pools of tarn. */
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <memory>

#ifdef TARN_STAND_IN
#define TARN_STAND_IN_GPU
#endif
#include "bindings/support.hpp"
#include "tarn/amrex.hpp"
#ifndef TARN_STAND_IN
#include <AMReX_GpuContainers.H>
#include <AMReX_MultiFab.H>
#endif

namespace
{

TEST_CASE("an arena without a pool serves from the process-wide one")
{
    tarn::amrex_arena arena;
    void *address = arena.alloc(1000);
    CHECK(found_at(address).pool == tarn::pool_ref().resolve());
    CHECK(reinterpret_cast<std::uintptr_t>(address) % 256 == 0);
    arena.free(address);
    CHECK(live_count({}) == 0);
}

TEST_CASE("zero bytes have an address, and null is freed")
{
    tarn::pool pool;
    tarn::amrex_arena arena(pool);
    void *first = arena.alloc(0), *second = arena.alloc(0);
    CHECK(first);
    CHECK(first != second);
    arena.free(first);
    arena.free(second);
    arena.free(nullptr);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("data grows in place where memory behind is free")
{
    tarn::pool pool;
    tarn::amrex_arena arena(pool);
    void *address = arena.alloc(4096);
    auto grown = arena.alloc_in_place(address, 5000, 8192);
    CHECK(grown.first == address);
    CHECK(grown.second == 8192);
    CHECK(found_at(address).size_bytes == 8192);

    SUBCASE("only so far as it is free")
    {
        void *behind = arena.alloc(4096);
        REQUIRE(behind == static_cast<char *>(address) + 8192);
        void *further = arena.alloc(4096);
        arena.free(behind);
        grown = arena.alloc_in_place(address, 12000, 20000);
        CHECK(grown.first == address);
        CHECK(grown.second == 12000);
        CHECK(found_at(address).size_bytes == 12000);
        arena.free(further);
    }
    SUBCASE("else there is new memory, and the old stays")
    {
        void *behind = arena.alloc(4096);
        grown = arena.alloc_in_place(address, 9000, 10000);
        CHECK(grown.first != address);
        CHECK(grown.second == 10000);
        CHECK(found_at(address).size_bytes == 8192);
        arena.free(grown.first);
        arena.free(behind);
    }
    arena.free(address);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("without data to grow there is new memory")
{
    tarn::pool pool;
    tarn::amrex_arena arena(pool);
    auto made = arena.alloc_in_place(nullptr, 100, 200);
    CHECK(made.second == 200);
    CHECK(found_at(made.first).size_bytes == 200);
    arena.free(made.first);
}

TEST_CASE("data shrinks in place")
{
    tarn::pool pool;
    tarn::amrex_arena arena(pool);
    void *address = arena.alloc(100000);
    CHECK(arena.shrink_in_place(address, 1000) == address);
    CHECK(found_at(address).size_bytes == 1000);
    CHECK(arena.shrink_in_place(nullptr, 10) == nullptr);
    CHECK(arena.shrink_in_place(address, 0) == nullptr);
    arena.free(address);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("unused memory goes back")
{
    tarn::pool pool;
    tarn::amrex_arena arena(pool);
    arena.free(arena.alloc(1000));
    CHECK(arena.freeUnused() >= 1000);
    CHECK(arena.freeUnused() == 0);
}

TEST_CASE("failures are AMReX's abort, with tarn's sentence")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    tarn::pool pool(options);
    tarn::amrex_arena arena(pool);
    CHECK_THROWS_WITH_AS((void)arena.alloc(2 << 20), doctest::Contains("limit"),
                         std::runtime_error);
    void *address = arena.alloc(1000);
    arena.free(address);
    CHECK_THROWS_AS(arena.free(address), std::runtime_error);
    CHECK_THROWS_AS((void)arena.shrink_in_place(&options, 10), std::runtime_error);
}

#ifdef TARN_STAND_IN

TEST_CASE("an arena has the pool's kind of memory")
{
    tarn::amrex_arena device;
    CHECK(device.isDevice());
    const auto arena_of = [](tarn_memory_kind kind) {
        tarn_pool *pool;
        tarn::check(tarn_device_pool(TARN_DEVICE_CURRENT, kind, &pool));
        return std::make_unique<tarn::amrex_arena>(pool);
    };
    CHECK(arena_of(TARN_MEMORY_KIND_PINNED)->isPinned());
    CHECK(arena_of(TARN_MEMORY_KIND_SHARED)->isManaged());
    const auto host = arena_of(TARN_MEMORY_KIND_HOST);
    CHECK_FALSE(host->isDevice());
    CHECK_FALSE(host->isManaged());
    CHECK_FALSE(host->isPinned());
}

class stream : public basic_stream<tarn_stream>
{
  public:
    ~stream()
    {
        amrex::Gpu::current_stream = nullptr;
    }

    void make_current() const
    {
        amrex::Gpu::current_stream = handle;
    }
};

TEST_CASE("memory of another part's stream is ready when an arena hands it out")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.initial_bytes = options.limit_bytes = 64 << 10;
    tarn::pool pool(options);
    tarn::amrex_arena arena(pool);
    stream others;
    const tarn::pool_ref part(pool);
    void *keeps_the_piece = part.allocate(1000);
    unsigned char *bytes = static_cast<unsigned char *>(part.allocate(50000, others.handle));
    bytes[0] = 0;
    tarn::check(tarn_host_fill(bytes, 7, 50000, others.handle));
    part.deallocate(bytes, others.handle);

    void *address = arena.alloc(50000); /* the limit has no room beside it */
    CHECK(address == bytes);
    CHECK(bytes[0] == 7);
    arena.free(address);
    arena.free(keeps_the_piece);
}

TEST_CASE("freed memory of an arena is free for all streams at once")
{
    tarn::pool pool;
    tarn::amrex_arena arena(pool);
    stream first, second;
    first.make_current();
    unsigned char is_done = 0;
    tarn::check(tarn_host_fill(&is_done, 1, 1, first.handle));
    void *address = arena.alloc(5000);
    arena.free(address);
    second.make_current();
    CHECK(arena.alloc(5000) == address);
    CHECK(is_done == 0); /* nothing has waited for the first stream */
    arena.free(address);
    tarn::check(tarn_host_synchronize());
}

TEST_CASE("memory of an async arena is another stream's after a wait on the device")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.initial_bytes = options.limit_bytes = 64 << 10;
    tarn::pool pool(options);
    tarn::amrex_async_arena arena(pool);
    CHECK(arena.isStreamOrderedArena());
    stream first, second;
    second.make_current();
    void *keeps_the_piece = arena.alloc(1000);
    first.make_current();
    void *address = arena.alloc(50000);
    unsigned char *bytes = static_cast<unsigned char *>(address);
    bytes[0] = 0;
    tarn::check(tarn_host_fill(bytes, 7, 50000, first.handle));
    arena.free(address);
    CHECK(arena.alloc(50000) == address); /* on the same stream at once */
    CHECK(bytes[0] == 0);
    arena.free(address);

    second.make_current();
    CHECK(arena.alloc(50000) == address);
    CHECK(bytes[0] == 0);
    tarn::check(tarn_host_stream_synchronize(second.handle));
    CHECK(bytes[0] == 7);
    arena.free(address);
    arena.free(keeps_the_piece);
}

#else

TEST_CASE("a MultiFab lives in the arena")
{
    tarn::pool pool;
    tarn::amrex_arena arena(pool);
    {
        const amrex::Box domain(amrex::IntVect(0), amrex::IntVect(63));
        amrex::BoxArray boxes(domain);
        boxes.maxSize(16);
        amrex::MultiFab field(boxes, amrex::DistributionMapping(boxes), 2, 1,
                              amrex::MFInfo().SetArena(&arena));
        field.setVal(3.0);
        CHECK(live_count(pool) == boxes.size());
        CHECK(field.sum(0) == doctest::Approx(3.0 * 64));
    }
    CHECK(live_count(pool) == 0);
}

TEST_CASE("a vector grows and shrinks in the arena")
{
    tarn::pool pool;
    tarn::amrex_arena arena(pool);
    {
        amrex::PODVector<int, amrex::PolymorphicArenaAllocator<int>> vector;
        vector.setArena(&arena);
        for (int i = 0; i < 10000; i++) {
            vector.push_back(i);
        }
        vector.resize(100);
        vector.shrink_to_fit();
        CHECK(live_count(pool) == 1);
        for (int i = 0; i < 100; i++) {
            REQUIRE(vector[static_cast<size_t>(i)] == i);
        }
        CHECK(found_at(vector.data()).size_bytes == 400);
    }
    CHECK(live_count(pool) == 0);
}

#endif

} // namespace

int main(int argc, char **argv)
{
    int failures;
    amrex::Initialize(argc, argv);
    amrex::system::throw_exception = true;
    failures = doctest::Context(argc, argv).run();
    amrex::Finalize();
    return failures;
}
