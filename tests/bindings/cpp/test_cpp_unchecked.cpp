/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/pool.hpp in a build that does not check frees: one that is refused changes nothing. */
#include <doctest/doctest.h>

#include "tarn/pool.hpp"

TEST_CASE("a pool with live memory stays")
{
    tarn::pool_ref stays;
    tarn::unique_device_ptr<int> field;
    {
        tarn::pool pool;
        stays = pool;
        field = tarn::make_device<int>(pool, 10);
    }
    field.reset();
    field = tarn::make_device<int>(stays, 10);
    CHECK(field);
    field.reset();
    CHECK(tarn_pool_destroy(stays.handle()) == TARN_STATUS_OK);
}

TEST_CASE("a second free changes nothing")
{
    tarn::pool pool;
    tarn::pool_ref ref = pool;
    void *kept = ref.allocate(100), *freed = ref.allocate(100);
    ref.deallocate(freed);
    ref.deallocate(freed);
    ref.deallocate(nullptr);
    tarn_stats stats = TARN_STATS_INIT;
    tarn::check(tarn_pool_stats(pool.handle(), &stats));
    CHECK(stats.live_count == 1);
    ref.deallocate(kept);
}
