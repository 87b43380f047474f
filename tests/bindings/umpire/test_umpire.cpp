/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/umpire.hpp: a strategy of Umpire's over pools of tarn. */
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <umpire/ResourceManager.hpp>

#include "bindings/support.hpp"
#include "tarn/umpire.hpp"

namespace
{

umpire::ResourceManager &manager()
{
    return umpire::ResourceManager::getInstance();
}

umpire::Allocator resource(const char *name = "HOST")
{
    return manager().getAllocator(name);
}

/* A name that no allocator has yet. */
std::string fresh_name()
{
    static int count;
    return "tarn_" + std::to_string(++count);
}

tarn_pool *host_pool()
{
    tarn_pool *pool;
    tarn::check(tarn_device_pool(TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_HOST, &pool));
    return pool;
}

/* A pool of plain host memory with options. */
class own_pool
{
  public:
    explicit own_pool(tarn_pool_options options = TARN_POOL_OPTIONS_INIT)
    {
        tarn::check(tarn_backend_open(TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_HOST, &backend_));
        options.backend = &backend_;
        tarn::check(tarn_pool_create(&options, &pool_));
    }

    own_pool(const own_pool &) = delete;

    ~own_pool()
    {
        tarn::check_free(tarn_pool_destroy(pool_));
        tarn_backend_close(&backend_);
    }

    operator tarn_pool *() const
    {
        return pool_;
    }

    operator tarn::pool_ref() const
    {
        return pool_;
    }

  private:
    tarn_backend backend_;
    tarn_pool *pool_ = nullptr;
};

TEST_CASE("by name, the process-wide pool of the parent's kind serves")
{
    const std::string name = fresh_name();
    manager().makeAllocator<tarn::umpire_strategy>(name, resource());
    umpire::Allocator allocator = manager().getAllocator(name);
    void *address = allocator.allocate(1000);
    CHECK(found_at(address).pool == host_pool());
    CHECK(found_at(address).size_bytes == 1000);
    allocator.deallocate(address);
    CHECK(live_count(host_pool()) == 0);
}

TEST_CASE("a pool of one's own serves alone")
{
    own_pool pool;
    auto allocator = manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource(),
                                                                    tarn::pool_ref(pool));
    void *address = allocator.allocate(1);
    CHECK(found_at(address).pool == static_cast<tarn_pool *>(pool));
    CHECK(reinterpret_cast<std::uintptr_t>(address) % 256 == 0);
    allocator.deallocate(address);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("the parent's platform and traits are passed on")
{
    auto allocator = manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource());
    CHECK(allocator.getPlatform() == resource().getPlatform());
    CHECK(allocator.getAllocationStrategy()->getTraits().resource ==
          umpire::MemoryResourceTraits::resource_type::host);
}

TEST_CASE("a shortage is Umpire's exception, with tarn's sentence")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    own_pool pool(options);
    auto allocator = manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource(),
                                                                    tarn::pool_ref(pool));
    try {
        allocator.allocate(2 << 20);
        FAIL("2 MiB were served from 1 MiB");
    } catch (umpire::out_of_memory_error &shortage) {
        CHECK(std::string(shortage.what()).find("limit") != std::string::npos);
        CHECK(shortage.requested_size() == size_t{ 2 } << 20);
    }
}

TEST_CASE("an address of another pool is refused, and stays live")
{
    own_pool pool;
    auto allocator = manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource(),
                                                                    tarn::pool_ref(pool));
    void *address = tarn::pool_ref(host_pool()).allocate(100);
    CHECK_THROWS_AS(allocator.deallocate(address), umpire::runtime_error);
    CHECK(live_count(host_pool()) == 1);
    tarn::pool_ref(host_pool()).deallocate(address);
}

TEST_CASE("a pool of another kind than the parent's is refused")
{
    tarn::pool device; /* of kind DEVICE, also over the host */
    CHECK_THROWS_WITH_AS(manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource(),
                                                                        tarn::pool_ref(device)),
                         doctest::Contains("another kind than HOST"), umpire::runtime_error);
}

TEST_CASE("with a stream named, another stream gets the memory only after that one")
{
    own_pool pool;
    tarn_stream first, second;
    tarn::check(tarn_host_stream_create(&first));
    tarn::check(tarn_host_stream_create(&second));
    auto on_first = manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource(),
                                                                   tarn::pool_ref(pool), first);
    void *address = on_first.allocate(5000);
    unsigned char *bytes = static_cast<unsigned char *>(address);
    bytes[4999] = 0;
    tarn::check(tarn_host_fill(bytes, 1, 5000, first)); /* has not run yet */
    on_first.deallocate(address);
    CHECK(on_first.allocate(5000) == address);
    on_first.deallocate(address);

    /* The second stream runs no work of its own, but waits for the first one's. */
    void *others = tarn::pool_ref(pool).allocate(5000, second);
    CHECK(others == address);
    CHECK(bytes[4999] == 0);
    tarn::check(tarn_host_stream_synchronize(second));
    CHECK(bytes[4999] == 1);
    tarn::pool_ref(pool).deallocate(others, second);
    tarn::check(tarn_stream_retire(first));
    tarn::check(tarn_stream_retire(second));
    tarn::check(tarn_host_stream_destroy(first));
    tarn::check(tarn_host_stream_destroy(second));
}

TEST_CASE("frees of a pool with free_waits wait for all streams")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.free_waits = true;
    options.initial_bytes = 10000; /* the free of a small part of a pool need not wait */
    own_pool pool(options);
    tarn_stream stream;
    tarn::check(tarn_host_stream_create(&stream));
    auto allocator = manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource(),
                                                                    tarn::pool_ref(pool));
    unsigned char is_done = 0;
    void *address = allocator.allocate(5000);
    tarn::check(tarn_host_fill(&is_done, 1, 1, stream));
    allocator.deallocate(address);
    CHECK(is_done == 1);
    tarn::check(tarn_stream_retire(stream));
    tarn::check(tarn_host_stream_destroy(stream));
}

TEST_CASE("a release gives the unused memory back")
{
    own_pool pool;
    auto allocator = manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource(),
                                                                    tarn::pool_ref(pool));
    allocator.deallocate(allocator.allocate(1000));
    CHECK(allocator.getActualSize() > 0);
    allocator.release();
    CHECK(allocator.getActualSize() == 0);
}

TEST_CASE("a second free is refused")
{
    auto allocator = manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource());
    void *address = allocator.allocate(1000);
    allocator.deallocate(address);
    CHECK_THROWS_AS(allocator.deallocate(address), umpire::runtime_error);
}

#ifdef TARN_STAND_IN
TEST_CASE("each kind of memory has its pool, and a file has none")
{
    const struct {
        const char *name;
        tarn_memory_kind kind;
    } kinds[] = { { "DEVICE", TARN_MEMORY_KIND_DEVICE },
                  { "PINNED", TARN_MEMORY_KIND_PINNED },
                  { "UM", TARN_MEMORY_KIND_SHARED } };
    for (const auto &wanted : kinds) {
        auto allocator =
            manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource(wanted.name));
        void *address = allocator.allocate(1000);
        tarn_pool *pool;
        tarn::check(tarn_device_pool(TARN_DEVICE_CURRENT, wanted.kind, &pool));
        CHECK(found_at(address).pool == pool);
        allocator.deallocate(address);
    }
    CHECK_THROWS_WITH_AS(
        manager().makeAllocator<tarn::umpire_strategy>(fresh_name(), resource("FILE")),
        doctest::Contains("FILE"), umpire::runtime_error);
}
#endif

} // namespace
