/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/memory_resource.hpp: containers of std::pmr in a pool. */
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "bindings/death.hpp"
#include "bindings/support.hpp"
#include "tarn/memory_resource.hpp"

namespace
{

/* The host backend, under another name for what its memory is or can. */
class changed_backend
{
  public:
    explicit changed_backend(bool is_host_accessible, bool has_events)
    {
        tarn::check(tarn_host_backend_open(nullptr, &host_));
        accessible = is_host_accessible;
        host = host_;
        operations_ = *host_.operations;
        operations_.get_properties = get_properties;
        if (!has_events) {
            operations_.event_record = nullptr;
            operations_.stream_wait_event = nullptr;
        }
        changed_ = { &operations_, host_.state };
    }

    changed_backend(const changed_backend &) = delete;

    ~changed_backend()
    {
        tarn_backend_close(&host_);
    }

    tarn_pool_options options() const
    {
        tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
        options.backend = &changed_;
        return options;
    }

  private:
    static inline bool accessible;
    static inline tarn_backend host;

    static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
    {
        tarn_backend_result result = host.operations->get_properties(state, properties_out);
        properties_out->is_host_accessible = accessible;
        return result;
    }

    tarn_backend host_ = {};
    tarn_backend_operations operations_ = {};
    tarn_backend changed_ = {};
};

TEST_CASE("containers have their memory from the pool, and give it back")
{
    tarn::pool pool;
    tarn::memory_resource resource(pool);
    {
        std::pmr::vector<double> field(1000, 1.5, &resource);
        std::pmr::map<int, std::pmr::string> names(&resource);
        for (int i = 0; i < 100; i++)
            names[i] = std::string(static_cast<size_t>(i), 'x');
        field.resize(5000, 2.5);
        CHECK(field[0] == 1.5);
        CHECK(field[4999] == 2.5);
        CHECK(names[99].size() == 99);
        CHECK(live_count(pool) > 150);
    }
    CHECK(live_count(pool) == 0);
}

TEST_CASE("each kind that the host can read is served, and a pool over memory of the caller's")
{
    for (tarn_memory_kind kind :
         { TARN_MEMORY_KIND_HOST, TARN_MEMORY_KIND_PINNED, TARN_MEMORY_KIND_SHARED }) {
        tarn::memory_resource resource(tarn::device_pool(kind));
        std::pmr::vector<int> values(100, 7, &resource);
        CHECK(values[99] == 7);
        CHECK(live_count(resource.pool()) == 1);
    }
    std::vector<char> memory(1 << 20);
    tarn_pool *handle = nullptr;
    tarn::check(tarn_pool_create_over(memory.data(), memory.size(), nullptr, &handle));
    tarn::pool over = tarn::pool::adopt(handle);
    tarn::memory_resource resource(over);
    for (int i = 0; i < 10; i++) {
        std::pmr::vector<char> values(600000, 'x',
                                      &resource); /* no room for two: each is freed for the next */
        CHECK(values[599999] == 'x');
    }
}

TEST_CASE("a pool whose memory the host cannot read is refused")
{
    changed_backend device(false, true);
    tarn::pool pool(device.options());
    CHECK_THROWS_WITH_AS(tarn::memory_resource{ pool },
                         doctest::Contains("the host cannot read this pool's memory"), tarn::error);
}

TEST_CASE("a backend without events serves")
{
    changed_backend eventless(true, false);
    tarn::pool pool(eventless.options());
    tarn::memory_resource resource(pool);
    std::pmr::vector<int> values(100, 7, &resource);
    CHECK(values[99] == 7);
}

TEST_CASE("zero bytes have an address, and alignments are kept")
{
    tarn::pool pool;
    tarn::memory_resource resource(pool);
    void *first = resource.allocate(0), *second = resource.allocate(0);
    CHECK(first != nullptr);
    CHECK(first != second);
    resource.deallocate(first, 0);
    resource.deallocate(second, 0);
    for (size_t alignment_bytes = 1; alignment_bytes <= 8192; alignment_bytes *= 2) {
        void *address = resource.allocate(1, alignment_bytes);
        CHECK(reinterpret_cast<uintptr_t>(address) % alignment_bytes == 0);
        resource.deallocate(address, 1, alignment_bytes);
    }
    volatile size_t no_power_of_two = 24; /* which a compiler would warn of */
    CHECK_THROWS_AS((void)resource.allocate(1, no_power_of_two), tarn::error);
}

TEST_CASE("too much is a std::bad_alloc")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    tarn::pool pool(options);
    tarn::memory_resource resource(pool);
    CHECK_THROWS_AS(std::pmr::vector<char>(2 << 20, &resource), std::bad_alloc);
}

TEST_CASE("resources of one pool are equal")
{
    tarn::pool pool, other;
    tarn::memory_resource first(pool), second(pool), third(other);
    CHECK(first == second);
    CHECK(first != third);
    CHECK(first != *std::pmr::new_delete_resource());
    second.deallocate(first.allocate(100), 100);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("the process-wide pool is the same by its name and without one")
{
    tarn::memory_resource unnamed{ tarn::pool_ref() };
    tarn_pool *handle = nullptr;
    tarn::check(tarn_default_pool(&handle));
    CHECK(unnamed == tarn::memory_resource(handle));
}

struct fill {
    char *address;
    size_t size_bytes;
};

void write_ones(void *argument)
{
    const auto *filled = static_cast<fill *>(argument);
    std::memset(filled->address, 1, filled->size_bytes);
}

TEST_CASE("the host gets no memory that work on a stream still uses")
{
    const size_t size_bytes = 600000;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    tarn::pool pool(options);
    tarn_stream stream = nullptr;
    tarn::check(tarn_host_stream_create(&stream));
    for (tarn_stream used : { stream, tarn_stream(nullptr) }) {
        auto field = tarn::make_device<char>(pool, size_bytes, used);
        fill ones = { field.get(), size_bytes };
        tarn::check(tarn_host_launch(write_ones, &ones, sizeof ones, used));
        field.reset();

        tarn::memory_resource resource(pool);
        std::pmr::vector<char> values(size_bytes, 7, &resource);
        CHECK(static_cast<void *>(values.data()) == ones.address);
        tarn::check(tarn_host_synchronize());
        CHECK(values[0] == 7);
        CHECK(values[size_bytes - 1] == 7);
    }
    tarn_stream_retire(stream);
    tarn::check(tarn_host_stream_destroy(stream));
}

TEST_CASE("what the host frees serves any stream at once")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    tarn::pool pool(options);
    tarn::memory_resource resource(pool);
    tarn_stream stream = nullptr;
    tarn::check(tarn_host_stream_create(&stream));
    resource.deallocate(resource.allocate(600000), 600000);
    tarn::make_device<char>(pool, 600000, stream).reset();
    tarn_stats stats = TARN_STATS_INIT;
    tarn::check(tarn_pool_stats(pool.handle(), &stats));
    CHECK(stats.static_pool_count == 1);
    tarn_stream_retire(stream);
    tarn::check(tarn_host_stream_destroy(stream));
}

TEST_CASE("two threads use one resource")
{
    tarn::pool pool;
    tarn::memory_resource resource(pool);
    const auto work = [&resource] {
        for (size_t i = 0; i < 1000; i++) {
            std::pmr::vector<size_t> values(i + 1, i, &resource);
            if (values[i] != i) std::abort();
        }
    };
    std::thread other(work);
    work();
    other.join();
    CHECK(live_count(pool) == 0);
}

TEST_CASE("a container that outlives its pool is told of, and a resource serves nothing any more")
{
    const std::string words = last_words_of([] {
        tarn::pool pool;
        tarn::memory_resource resource(pool);
        std::pmr::vector<int> values(100, &resource);
        pool = tarn::pool();
    });
    CHECK(words.find("1 live allocation") != std::string::npos);

    tarn::pool pool;
    tarn::memory_resource resource(pool);
    pool = tarn::pool();
    CHECK_THROWS_AS((void)resource.allocate(100), tarn::error);
    tarn::pool_ref ended = resource.pool();
    CHECK_THROWS_AS(tarn::memory_resource{ ended }, tarn::error);
}

} // namespace
