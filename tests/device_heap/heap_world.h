/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* heap_world: a device heap of the host backend, and waves that work in it. */
#ifndef TN_HEAP_WORLD_H
#define TN_HEAP_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

extern "C" {
#include <cmocka.h>
}

#include <functional>
#include <thread>
#include <vector>

#include "tarn/device_heap.h"
#include "tarn/host.h"
#include "tarn/tarn.h"

#define TARN_DEVICE_HEAP_EMULATION "device_heap/emulation.h"
#include "tarn/device_heap.cuh"

struct heap_world {
    tarn_pool *pool;
    tarn_device_heap *heap;
    tarn_device_heap_handle handle;
    tarn_backend backend;
    tarn_stream stream;
};

static inline void expect_ok(tarn_status status)
{
    if (status != TARN_STATUS_OK)
        fail_msg("%s: %s", tarn_status_name(status), tarn_last_error().message);
}

/* What was submitted to a stream of the host backend runs when somebody waits. */
static inline void heap_world_wait(heap_world *world)
{
    expect_ok(
        world->backend.operations->stream_synchronize(world->backend.state, world->stream).status);
}

static inline void heap_world_init(heap_world *world, size_t size_bytes, size_t size_bytes_max,
                                   tarn_device_heap_checks checks)
{
    tarn_device_heap_options options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    tarn_pool_options pool_options = TARN_POOL_OPTIONS_INIT;
    expect_ok(tarn_host_backend_open(NULL, &world->backend));
    expect_ok(
        world->backend.operations->stream_create(world->backend.state, &world->stream).status);
    pool_options.backend = &world->backend;
    expect_ok(tarn_pool_create(&pool_options, &world->pool));
    options.size_bytes_max = size_bytes_max;
    options.checks = checks;
    expect_ok(
        tarn_device_heap_create(world->pool, size_bytes, &options, world->stream, &world->heap));
    heap_world_wait(world);
    world->handle = tarn_device_heap_get_handle(world->heap);
}

static inline void heap_world_fini(heap_world *world)
{
    expect_ok(tarn_device_heap_destroy(world->heap, world->stream));
    expect_ok(tarn_pool_destroy(world->pool));
    expect_ok(
        world->backend.operations->stream_destroy(world->backend.state, world->stream).status);
    tarn_backend_close(&world->backend);
}

/* One for the rest of its block. */
struct scoped_world : heap_world {
    scoped_world(size_t size_bytes, size_t size_bytes_max, tarn_device_heap_checks checks)
    {
        heap_world_init(this, size_bytes, size_bytes_max, checks);
    }
    ~scoped_world()
    {
        heap_world_fini(this);
    }
    scoped_world(const scoped_world &) = delete;
};

/* Every structure agrees with every other. Gives what the heap has. */
static inline tarn_device_heap_stats heap_world_check(heap_world *world)
{
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    expect_ok(tarn_device_heap_check(world->heap, world->stream));
    expect_ok(tarn_device_heap_get_stats(world->heap, world->stream, &stats));
    return stats;
}

static inline void *heap_malloc(heap_world *world, size_t size_bytes)
{
    return tarn_dmalloc(world->handle, size_bytes);
}

static inline void heap_free(heap_world *world, void *object)
{
    tarn_dfree(world->handle, object);
}

/* Runs a wave of one lane. */
static inline void with_lane(const std::function<void()> &body)
{
    emulation::run_wave(0, 1, 0, [&](uint32_t) { body(); });
}

/* Runs as many waves at the same time; `body` is given the wave's number and the lane's. */
static inline void with_waves(uint32_t wave_count, uint32_t lane_count, uint64_t seed,
                              const std::function<void(uint32_t, uint32_t)> &body)
{
    std::vector<std::thread> threads;
    for (uint32_t wave = 0; wave < wave_count; wave++)
        threads.emplace_back([&body, wave, lane_count, seed] {
            emulation::run_wave(wave, lane_count, seed,
                                [&body, wave](uint32_t lane) { body(wave, lane); });
        });
    for (std::thread &thread : threads)
        thread.join();
}

#endif
