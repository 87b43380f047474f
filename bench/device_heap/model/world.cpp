/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* world: a pool of the host backend, with a heap in it. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

namespace
{

constexpr size_t HEAP_BYTES = (size_t)8 << 30;

void expect_ok(tarn_status status)
{
    if (status == TARN_STATUS_OK) return;
    fprintf(stderr, "device_heap_model: %s: %s\n", tarn_status_name(status),
            tarn_last_error().message);
    exit(1);
}

} // namespace

world::world()
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    tarn_device_heap_options heap_options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    expect_ok(tarn_host_backend_open(NULL, &backend_));
    expect_ok(backend_.operations->stream_create(backend_.state, &stream_).status);
    options.backend = &backend_;
    expect_ok(tarn_pool_create(&options, &pool_));
    expect_ok(tarn_device_heap_create(pool_, HEAP_BYTES, &heap_options, stream_, &heap_));
    wait();
    handle_ = tarn_device_heap_get_handle(heap_);
}

world::~world()
{
    expect_ok(tarn_device_heap_destroy(heap_, stream_));
    expect_ok(tarn_pool_destroy(pool_));
    expect_ok(backend_.operations->stream_destroy(backend_.state, stream_).status);
    tarn_backend_close(&backend_);
}

void world::renew()
{
    expect_ok(tarn_device_heap_reset(heap_, stream_));
    wait();
}

/* Work on a stream of the host backend runs when a thread waits for it. */
void world::wait()
{
    expect_ok(backend_.operations->stream_synchronize(backend_.state, stream_).status);
}

tarn_device_heap_stats world::expect_live(uint64_t count)
{
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    expect_ok(tarn_device_heap_check(heap_, stream_));
    expect_ok(tarn_device_heap_get_stats(heap_, stream_, &stats));
    uint64_t fault_count = stats.failed_count + stats.double_free_count + stats.foreign_free_count;
    if (stats.live_count == count && fault_count == 0) return stats;
    fprintf(stderr,
            "device_heap_model: %llu objects are live, and should be %llu; %llu calls went wrong\n",
            (unsigned long long)stats.live_count, (unsigned long long)count,
            (unsigned long long)fault_count);
    exit(1);
}

model::outcome run_threads(uint32_t threads, const std::function<void(uint32_t)> &body)
{
    return model::run({ threads / LANES, LANES,
                        [&](uint32_t wave, uint32_t lane) { body(wave * LANES + lane); } });
}

double bump_us(uint32_t threads)
{
    uint64_t word = 0;
    return model::run(
               { threads / LANES, 1,
                 [&](uint32_t, uint32_t) { (void)(uint64_t)tn_fetch_add(&word, (uint64_t)1); } })
        .microseconds;
}
