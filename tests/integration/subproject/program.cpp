/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program: a pool and its statistics, from C++. Exits 0 when all worked. */
#include <cstdio>

#include <tarn/device_heap.h>
#include <tarn/host.h>
#include <tarn/tarn.h>

tarn_pool_options options_of_also();

static int fail(const char *call)
{
    std::fprintf(stderr, "%s: %s\n", call, tarn_last_error().message);
    return 1;
}

int main()
{
    tarn_pool_options options = options_of_also();
    tarn_backend backend = {};
    if (tarn_host_backend_open(nullptr, &backend) != TARN_STATUS_OK)
        return fail("tarn_host_backend_open");
    options.backend = &backend;
    tarn_pool *pool = nullptr;
    if (tarn_pool_create(&options, &pool) != TARN_STATUS_OK) return fail("tarn_pool_create");
    void *field = nullptr;
    if (tarn_pool_alloc(pool, 100000, &field) != TARN_STATUS_OK) return fail("tarn_pool_alloc");
    tarn_stats stats = TARN_STATS_INIT;
    if (tarn_pool_stats(pool, &stats) != TARN_STATUS_OK) return fail("tarn_pool_stats");
    if (stats.live_count != 1) return 1;
    if (tarn_pool_free(pool, field) != TARN_STATUS_OK) return fail("tarn_pool_free");
    if (tarn_pool_destroy(pool) != TARN_STATUS_OK) return fail("tarn_pool_destroy");
    tarn_backend_close(&backend);
    return 0;
}
