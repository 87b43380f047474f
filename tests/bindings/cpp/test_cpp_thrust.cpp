/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/thrust.hpp: Thrust's vectors and scratch memory in a pool. Thrust's device is the host here. */
#include <doctest/doctest.h>

#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/system/cpp/execution_policy.h>

#include "bindings/death.hpp"
#include "tarn/thrust.hpp"

using allocator = tarn::thrust_allocator<double>;
using vector = thrust::device_vector<double, allocator>;

namespace
{

tarn_stats stats_of(tarn::pool_ref pool)
{
    tarn_stats stats = TARN_STATS_INIT;
    tarn::check(tarn_pool_stats(pool.resolve(), &stats));
    return stats;
}

TEST_CASE("a vector has its memory from the pool, through copies, moves and growth")
{
    tarn::pool pool;
    {
        vector field(1000, allocator(pool));
        thrust::sequence(field.begin(), field.end());
        CHECK(stats_of(pool).live_count == 1);
        vector copy(field), other{ allocator(pool) };
        other = field;
        CHECK(stats_of(pool).live_count == 3);
        other = std::move(copy);
        other.resize(5000);
        CHECK(stats_of(pool).live_count == 2);
        other[4999] = 5.0;
        CHECK(other[4999] == 5.0);
        CHECK(thrust::reduce(field.begin(), field.end()) == 499500.0);
    }
    CHECK(stats_of(pool).live_count == 0);
}

TEST_CASE("vectors of two pools keep their memory with its pool")
{
    tarn::pool pool, other;
    vector first(1000, 1.0, allocator(pool)), second(10, 2.0, allocator(other));
    second.swap(first);
    CHECK(second.get_allocator() == allocator(pool));
    CHECK(second.size() == 1000);
    first = std::move(second);
    CHECK(stats_of(pool).live_count == 1);
    CHECK(stats_of(other).live_count == 0);
    vector third(10, 2.0, allocator(other));
    third = first;
    CHECK(third.get_allocator() == first.get_allocator());
    CHECK(stats_of(pool).live_count == 2);
    CHECK(stats_of(other).live_count == 0);
}

TEST_CASE("an allocator made of nothing is the process-wide pool's")
{
    const size_t before = stats_of(tarn::pool_ref()).live_count;
    thrust::device_vector<int, tarn::thrust_allocator<int>> values(100, 7);
    CHECK(stats_of(tarn::pool_ref()).live_count == before + 1);
    CHECK(values[99] == 7);
}

TEST_CASE("an algorithm has its scratch memory from the pool")
{
    tarn::pool pool;
    tarn::thrust_allocator<char> scratch(pool, nullptr);
    vector field(10000, allocator(pool));
    thrust::sequence(field.begin(), field.end());
    const auto before = stats_of(pool).alloc_count;
    thrust::stable_sort(thrust::cpp::par(scratch), field.begin(), field.end(),
                        [](double left, double right) { return left > right; });
    CHECK(stats_of(pool).alloc_count > before);
    CHECK(stats_of(pool).live_count == 1);
    CHECK(field[0] == 9999.0);
}

TEST_CASE("allocators are equal if they free each other's memory in the same order")
{
    tarn::pool pool, other;
    CHECK(allocator(pool) == allocator(pool));
    CHECK(allocator(pool) != allocator(other));
    CHECK(allocator(pool) != allocator(pool, nullptr));
    CHECK(allocator(tarn::thrust_allocator<char>(pool, nullptr)) == allocator(pool, nullptr));
}

TEST_CASE("too much throws")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    tarn::pool pool(options);
    CHECK_THROWS_AS(vector(1 << 20, allocator(pool)), std::bad_alloc);
    CHECK_THROWS_AS(allocator(pool).allocate(SIZE_MAX / 4), std::bad_array_new_length);
    CHECK(stats_of(pool).live_count == 0);
}

TEST_CASE("a vector that outlives its pool is told of")
{
    const std::string words = last_words_of([] {
        tarn::pool pool;
        vector field(1000, 1.0, allocator(pool));
        tarn_pool_destroy_forced(pool.release(), nullptr);
    });
    CHECK(words.find("a free was refused") != std::string::npos);
}

} // namespace
