/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/pool.hpp: pools and memory with owners, and failures as exceptions. */
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstring>

#include "tarn/pool.hpp"

namespace
{

size_t live_count(tarn::pool_ref pool)
{
    tarn_stats stats = TARN_STATS_INIT;
    tarn::check(tarn_pool_stats(pool.resolve(), &stats));
    return stats.live_count;
}

tarn_pool_options limited(size_t limit_bytes)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = limit_bytes;
    return options;
}

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

TEST_CASE("without a pool the process-wide one serves")
{
    tarn::pool_ref everywhere;
    auto field = tarn::make_device<int>(everywhere, 10);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    REQUIRE(tarn_pool_find(field.get(), &found) == TARN_STATUS_OK);
    CHECK(found.pool == everywhere.resolve());
    CHECK(found.size_bytes == 10 * sizeof(int));
}

TEST_CASE("an allocation beyond the limit throws the pool's sentence")
{
    tarn::pool pool(limited(1 << 20));
    CHECK_THROWS_AS(tarn::make_device<char>(pool, 2 << 20), tarn::bad_alloc);
    try {
        (void)tarn::make_device<char>(pool, 2 << 20);
    } catch (const std::bad_alloc &shortage) {
        CHECK(std::strstr(shortage.what(), "limit"));
    }
}

TEST_CASE("a wrong option throws with its name")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.chunk_bytes = 1000;
    CHECK_THROWS_WITH_AS(tarn::pool{ options }, doctest::Contains("chunk_bytes"), tarn::error);
}

TEST_CASE("more elements than addresses are refused before the pool is asked")
{
    tarn::pool pool;
    CHECK_THROWS_AS(tarn::make_device<double>(pool, SIZE_MAX / 4), std::bad_array_new_length);
}

TEST_CASE("zero elements have an address of their own")
{
    tarn::pool pool;
    auto first = tarn::make_device<int>(pool, 0), second = tarn::make_device<int>(pool, 0);
    CHECK(first);
    CHECK(first != second);
}

TEST_CASE("a pool that is moved from owns nothing")
{
    tarn::pool first;
    tarn::pool second(std::move(first));
    CHECK(first.handle() == nullptr);
    first = std::move(second);
    CHECK(first.handle() != nullptr);
}

} // namespace
