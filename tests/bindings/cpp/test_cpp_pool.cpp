/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/pool.hpp: pools and memory with owners, and failures as exceptions. */
#include <doctest/doctest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "bindings/death.hpp"
#include "bindings/support.hpp"

namespace
{

using stream = basic_stream<tarn_stream>;

tarn_pool_options limited(size_t limit_bytes)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = limit_bytes;
    return options;
}

bool contains(const std::string &text, const char *part)
{
    return text.find(part) != std::string::npos;
}

/* --- memory ----------------------------------------------------------------------------------- */

TEST_CASE("an array is freed at the end of its scope")
{
    tarn::pool pool;
    {
        auto field = tarn::make_device<double>(pool, 1000);
        CHECK(field);
        CHECK(live_count(pool) == 1);
    }
    CHECK(live_count(pool) == 0);
}

TEST_CASE("an array that is moved is freed once, and one that is assigned to frees what it had")
{
    tarn::pool pool;
    auto first = tarn::make_device<double>(pool, 1000);
    auto second = tarn::make_device<double>(pool, 1000);
    CHECK(live_count(pool) == 2);
    second = std::move(first);
    CHECK(!first);
    CHECK(live_count(pool) == 1);
    second.reset();
    CHECK(live_count(pool) == 0);
}

TEST_CASE("without a pool the process-wide one serves")
{
    tarn::pool_ref everywhere;
    auto field = tarn::make_device<int>(everywhere, 10);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    REQUIRE(tarn_pool_find(field.get(), &found) == TARN_STATUS_OK);
    CHECK(found.pool == everywhere.resolve());
    CHECK(found.size_bytes == 10 * sizeof(int));
}

TEST_CASE("each kind of memory has a process-wide pool")
{
    tarn::pool_ref pinned = tarn::device_pool(TARN_MEMORY_KIND_PINNED);
    CHECK(pinned != tarn::device_pool(TARN_MEMORY_KIND_HOST));
    CHECK(pinned == tarn::device_pool(TARN_MEMORY_KIND_PINNED, 0));
    CHECK(tarn::properties_of(tarn::backend_of(pinned)).kind == TARN_MEMORY_KIND_PINNED);
    CHECK_THROWS_AS(tarn::device_pool(TARN_MEMORY_KIND_PINNED, 1000), tarn::error);
}

TEST_CASE("zero elements have an address of their own")
{
    tarn::pool pool;
    auto first = tarn::make_device<int>(pool, 0), second = tarn::make_device<int>(pool, 0);
    CHECK(first);
    CHECK(first != second);
}

TEST_CASE("an address is a multiple of the alignment that is asked for, and of 256")
{
    tarn::pool owned;
    for (tarn::pool_ref pool : { tarn::pool_ref(owned), tarn::pool_ref() }) {
        for (size_t alignment_bytes = 1; alignment_bytes <= 1 << 20; alignment_bytes *= 2) {
            CAPTURE(alignment_bytes);
            void *small = pool.allocate(1, nullptr, alignment_bytes);
            void *address = pool.allocate(1, nullptr, alignment_bytes);
            CHECK(reinterpret_cast<uintptr_t>(address) % alignment_bytes == 0);
            CHECK(reinterpret_cast<uintptr_t>(address) % 256 == 0);
            pool.deallocate(small);
            pool.deallocate(address);
        }
    }
    struct alignas(4096) page {
        char bytes[4096];
    };
    auto filler = tarn::make_device<char>(owned, 1);
    auto pages = tarn::make_device<page>(owned, 3);
    CHECK(reinterpret_cast<uintptr_t>(pages.get()) % 4096 == 0);
}

TEST_CASE("a pool with a smaller alignment gives at least the one that is asked for")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.alignment_bytes = 16;
    tarn::pool pool(options);
    auto filler = tarn::make_device<char>(pool, 1);
    tarn::pool_ref ref = pool;
    for (size_t alignment_bytes : { size_t{ 1 }, size_t{ 16 }, size_t{ 32 }, size_t{ 256 } }) {
        void *address = ref.allocate(1, nullptr, alignment_bytes);
        CHECK(reinterpret_cast<uintptr_t>(address) % alignment_bytes == 0);
        ref.deallocate(address);
    }
}

/* --- failures --------------------------------------------------------------------------------- */

TEST_CASE("an allocation beyond the limit throws the pool's sentence")
{
    tarn::pool pool(limited(1 << 20));
    CHECK_THROWS_AS(tarn::make_device<char>(pool, 2 << 20), tarn::bad_alloc);
    try {
        (void)tarn::make_device<char>(pool, 2 << 20);
    } catch (const std::bad_alloc &shortage) {
        CHECK(std::strstr(shortage.what(), "limit"));
    }
    try {
        (void)tarn::make_device<char>(pool, 2 << 20);
    } catch (const tarn::bad_alloc &shortage) {
        CHECK(shortage.status() == TARN_STATUS_OVER_LIMIT);
    }
}

bool throw_out(void *, tarn_pool *, size_t, unsigned)
{
    throw std::domain_error("the program's own");
}

TEST_CASE("an exception of on_out_of_memory passes through")
{
    tarn_pool_options options = limited(1 << 20);
    options.on_out_of_memory = throw_out;
    tarn::pool pool(options);
    CHECK_THROWS_AS(tarn::make_device<char>(pool, 2 << 20), std::domain_error);
    CHECK_THROWS_AS(tarn::make_device<char>(pool, 2 << 20, nullptr), std::domain_error);
    CHECK_THROWS_AS(tarn::pool_ref(pool).allocate(2 << 20, nullptr, 4096), std::domain_error);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("a wrong option throws with its name")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.chunk_bytes = 1000;
    CHECK_THROWS_WITH_AS(tarn::pool{ options }, doctest::Contains("chunk_bytes"), tarn::error);
}

TEST_CASE("an alignment that is no power of two is refused")
{
    tarn::pool owned;
    for (tarn::pool_ref pool : { tarn::pool_ref(owned), tarn::pool_ref() }) {
        for (size_t alignment_bytes : { size_t{ 0 }, size_t{ 3 }, size_t{ 24 }, SIZE_MAX }) {
            CAPTURE(alignment_bytes);
            try {
                (void)pool.allocate(100, nullptr, alignment_bytes);
                CHECK(false);
            } catch (const tarn::error &refused) {
                CHECK(refused.status() == TARN_STATUS_INVALID_ALIGNMENT);
            }
        }
    }
    CHECK(live_count(owned) == 0);
}

TEST_CASE("more elements than addresses are refused before the pool is asked")
{
    tarn::pool pool;
    CHECK_THROWS_AS(tarn::make_device<double>(pool, SIZE_MAX / 4), std::bad_array_new_length);
}

TEST_CASE("a pool that has ended serves nothing")
{
    tarn::pool_ref ended;
    {
        tarn::pool pool;
        ended = pool;
    }
    CHECK_THROWS_AS(ended.allocate(100), tarn::error);
    CHECK_THROWS_AS(tarn::backend_of(ended), tarn::error);
}

/* --- owners of pools -------------------------------------------------------------------------- */

TEST_CASE("a pool that is moved from owns nothing")
{
    tarn::pool first;
    tarn::pool &moved = first;
    tarn_pool *handle = first.handle();
    tarn::pool second(std::move(first));
    CHECK(second.handle() == handle);
    CHECK(moved.handle() == nullptr);
    tarn::pool &moved_back = second;
    moved = std::move(second);
    CHECK(moved.handle() == handle);
    CHECK(moved_back.handle() == nullptr);
}

TEST_CASE("a pool that is moved from does not become the process-wide one")
{
    tarn::pool first;
    tarn::pool &moved = first;
    tarn::pool second(std::move(first));
    CHECK_THROWS_AS(tarn::make_device<int>(moved, 10), std::logic_error);
}

TEST_CASE("an assignment ends the pool that was there, and one to itself does nothing")
{
    tarn::pool first, second;
    tarn::pool_ref ended = first;
    tarn_pool *handle = second.handle();
    first = std::move(second);
    CHECK_THROWS_AS(ended.allocate(100), tarn::error);
    tarn::pool &same = first;
    first = std::move(same);
    CHECK(first.handle() == handle);
    CHECK(live_count(first) == 0);
}

TEST_CASE("a pool over memory of the caller's can be adopted and released")
{
    std::vector<char> memory(1 << 20);
    tarn_pool *handle = nullptr;
    tarn::check(tarn_pool_create_over(memory.data(), memory.size(), nullptr, &handle));
    tarn::pool pool = tarn::pool::adopt(handle);
    auto field = tarn::make_device<char>(pool, 1000);
    CHECK(field.get() >= memory.data());
    CHECK(field.get() < memory.data() + memory.size());
    CHECK(tarn::backend_of(pool).operations == nullptr);
    field.reset();
    CHECK(pool.release() == handle);
    CHECK(tarn_pool_destroy(handle) == TARN_STATUS_OK);
}

/* --- streams and threads ---------------------------------------------------------------------- */

struct step {
    int *counter;
    int *at;
};

void note(void *argument)
{
    const auto *noted = static_cast<step *>(argument);
    *noted->at = ++*noted->counter;
}

TEST_CASE("memory that is freed on a stream serves another one after its work")
{
    stream a, b;
    tarn::pool pool(limited(1 << 20));
    int counter = 0, first_at = 0, second_at = 0;
    auto first = tarn::make_device<char>(pool, 600000, a);
    const char *address = first.get();
    step at_first = { &counter, &first_at };
    tarn::check(tarn_host_launch(note, &at_first, sizeof at_first, a));
    first.reset();

    auto second = tarn::make_device<char>(pool, 600000, b); /* the limit leaves no other memory */
    CHECK(second.get() == address);
    CHECK(second.get_deleter().stream() == b);
    step at_second = { &counter, &second_at };
    tarn::check(tarn_host_launch(note, &at_second, sizeof at_second, b));
    tarn::check(tarn_host_stream_synchronize(b));
    CHECK(first_at == 1);
    CHECK(second_at == 2);
}

TEST_CASE("a label names what its scope allocates, in messages too")
{
    tarn_pool_options options = limited(1 << 20);
    tarn::pool pool(options);
    tarn::label outer("mesh");
    {
        tarn::label inner("halo");
        CHECK_THROWS_WITH_AS(tarn::make_device<char>(pool, 2 << 20), doctest::Contains("\"halo\""),
                             tarn::bad_alloc);
    }
    tarn::label none(""); /* leaves the one that is there */
    CHECK_THROWS_WITH_AS(tarn::make_device<char>(pool, 2 << 20), doctest::Contains("\"mesh\""),
                         tarn::bad_alloc);
}

/* On the host a free that waits has waited when it returns, unless it is a small part of the pool. */
TEST_CASE("an array without a stream is freed as the pool's option free_waits says")
{
    stream a;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.free_waits = true;
    options.initial_bytes = 10000;
    tarn::pool pool(options);
    int counter = 0, used_at = 0;
    step at_use = { &counter, &used_at };
    tarn::check(tarn_host_launch(note, &at_use, sizeof at_use, a));
    tarn::make_device<char>(pool, 1000, nullptr).reset(); /* the default stream, by its name */
    CHECK(used_at == 0);
    tarn::make_device<char>(pool, 1000).reset();
    CHECK(used_at == 1);
}

TEST_CASE("an array is freed on the stream that its owner was told of")
{
    stream a, b;
    tarn::pool pool(limited(1 << 20));
    int counter = 0, used_at = 0;
    auto field = tarn::make_device<char>(pool, 600000, a);
    field.get_deleter().set_stream(b);
    step at_use = { &counter, &used_at };
    tarn::check(tarn_host_launch(note, &at_use, sizeof at_use, b));
    field.reset();

    field = tarn::make_device<char>(pool, 600000, a);
    tarn::check(tarn_host_stream_synchronize(a));
    CHECK(used_at == 1);
}

TEST_CASE("two threads share a pool, and one frees what the other has allocated")
{
    tarn::pool pool;
    std::vector<tarn::unique_device_ptr<double>> fields(1000);
    std::thread other([&] {
        for (size_t i = 0; i < fields.size(); i += 2)
            fields[i] = tarn::make_device<double>(pool, i + 1);
    });
    for (size_t i = 1; i < fields.size(); i += 2)
        fields[i] = tarn::make_device<double>(pool, i + 1);
    other.join();
    CHECK(live_count(pool) == 1000);
    std::thread frees([&] {
        for (size_t i = 0; i < fields.size() / 2; i++)
            fields[i].reset();
    });
    for (size_t i = fields.size() / 2; i < fields.size(); i++)
        fields[i].reset();
    frees.join();
    CHECK(live_count(pool) == 0);
}

/* --- checked builds --------------------------------------------------------------------------- */

TEST_CASE("a pool that ends before its memory is told of")
{
    const std::string words = last_words_of([] {
        tarn::unique_device_ptr<int> outlives;
        tarn::pool pool;
        tarn::label label("field");
        outlives = tarn::make_device<int>(pool, 10);
    });
    CHECK(contains(words, "1 live allocation"));
    CHECK(contains(words, "\"field\""));
}

TEST_CASE("an exception reaches its handler though a pool ends too early")
{
    const std::string words = last_words_of([] {
        try {
            tarn::pool pool;
            (void)tarn::make_device<int>(pool, 10).release();
            throw std::domain_error("the cause");
        } catch (const std::domain_error &) {
            return; /* to the end, without an abort */
        }
    });
    CHECK(words.empty());
}

TEST_CASE("memory that is freed after its pool is told of")
{
    const std::string words = last_words_of([] {
        tarn::pool pool;
        auto outlives = tarn::make_device<int>(pool, 10);
        tarn_pool_destroy_forced(pool.release(), nullptr);
    });
    CHECK(contains(words, "a free was refused"));
    CHECK(contains(words, "destroyed"));
}

TEST_CASE("a second free is told of")
{
    const std::string words = last_words_of([] {
        tarn::pool pool;
        auto field = tarn::make_device<int>(pool, 10);
        tarn::pool_ref(pool).deallocate(field.get());
    });
    CHECK(contains(words, "a free was refused"));
}

TEST_CASE("a free to the wrong pool is told of")
{
    const std::string words = last_words_of([] {
        tarn::pool pool, other;
        auto field = tarn::make_device<int>(pool, 10);
        tarn::pool_ref(other).deallocate(field.get());
    });
    CHECK(contains(words, "a free was refused"));
}

TEST_CASE("the end of an assigned pool is told of, too")
{
    const std::string words = last_words_of([] {
        tarn::pool pool;
        auto field = tarn::make_device<int>(pool, 10);
        pool = tarn::pool();
        field.release();
    });
    CHECK(contains(words, "1 live allocation"));
}

} // namespace
