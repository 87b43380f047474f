/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap_model: what the device heap's waves wait for, foretold without a device.
 *
 * Usage: device_heap_model [THREADS [SIZE...]]
 *
 * THREADS (1048576, and a multiple of 32) allocate an object each, of one SIZE (16 to 4096 bytes, powers of two), in a
 * new heap; free it; and do so again in the used heap. Prints times, also as multiples of a bump pointer's, operations
 * and pauses of a wave, and the range of pages by what was asked for. After each, the heap's structures are compared.
 */
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

#include "tarn/device_heap.h"
#include "tarn/host.h"
#include "tarn/tarn.h"

#define TARN_DEVICE_HEAP_EMULATION "model_device.h"
#include "tarn/device_heap.cuh"

namespace
{

constexpr uint32_t LANES = 32;
constexpr size_t HEAP_BYTES = (size_t)8 << 30;
constexpr int WARM_ROUNDS = 3;

void expect_ok(tarn_status status)
{
    if (status == TARN_STATUS_OK) return;
    fprintf(stderr, "device_heap_model: %s: %s\n", tarn_status_name(status),
            tarn_last_error().message);
    exit(1);
}

/* A heap in host memory; nobody touches its objects. */
struct world {
    tarn_backend backend;
    tarn_stream stream;
    tarn_pool *pool;
    tarn_device_heap *heap;
    tarn_device_heap_handle handle;

    world()
    {
        tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
        tarn_device_heap_options heap_options = TARN_DEVICE_HEAP_OPTIONS_INIT;
        expect_ok(tarn_host_backend_open(NULL, &backend));
        expect_ok(backend.operations->stream_create(backend.state, &stream).status);
        options.backend = &backend;
        expect_ok(tarn_pool_create(&options, &pool));
        expect_ok(tarn_device_heap_create(pool, HEAP_BYTES, &heap_options, stream, &heap));
        wait();
        handle = tarn_device_heap_get_handle(heap);
    }

    ~world()
    {
        expect_ok(tarn_device_heap_destroy(heap, stream));
        expect_ok(tarn_pool_destroy(pool));
        expect_ok(backend.operations->stream_destroy(backend.state, stream).status);
        tarn_backend_close(&backend);
    }

    void wait()
    {
        expect_ok(backend.operations->stream_synchronize(backend.state, stream).status);
    }

    void expect_live(uint64_t count)
    {
        tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
        expect_ok(tarn_device_heap_check(heap, stream));
        expect_ok(tarn_device_heap_get_stats(heap, stream, &stats));
        if (stats.live_count == count) return;
        fprintf(stderr, "device_heap_model: %llu objects are live, and should be %llu\n",
                (unsigned long long)stats.live_count, (unsigned long long)count);
        exit(1);
    }
};

/* What a wave has. */
struct part {
    uint32_t page;
    tn_objects objects;
};

class storm
{
  public:
    storm(world *world, uint32_t threads, uint32_t size_bytes)
        : world_(world), heap_(&world->handle.layout), threads_(threads), size_bytes_(size_bytes),
          parts_(threads / LANES)
    {
    }

    void run(double bump)
    {
        expect_ok(tarn_device_heap_reset(world_->heap, world_->stream));
        world_->wait();
        model::outcome fresh = take();
        double fresh_range = range();
        std::vector<double> warm_us, free_us;
        model::outcome warm = fresh;
        for (int i = 0; i < WARM_ROUNDS; i++) {
            free_us.push_back(give());
            warm = take();
            warm_us.push_back(warm.microseconds);
        }
        double warm_range = range();
        free_us.push_back(give());
        std::sort(warm_us.begin(), warm_us.end());
        std::sort(free_us.begin(), free_us.end());
        double median = warm_us[warm_us.size() / 2];
        printf(
            "%6u B  %7.1f us %4.1f  %5.1f %5.1f  %5.2f   %7.1f us %4.1f  %5.1f %5.1f  %5.2f   %7.1f us\n",
            size_bytes_, fresh.microseconds, fresh.microseconds / bump, fresh.operations,
            fresh.pauses, fresh_range, median, median / bump, warm.operations, warm.pauses,
            warm_range, free_us[free_us.size() / 2]);
        fflush(stdout);
    }

  private:
    model::outcome run_kernel(const std::function<void(uint32_t, uint32_t)> &body)
    {
        return model::run({ (uint32_t)parts_.size(), [](uint32_t) { return 1U; }, body });
    }

    /* As tn_lanes_malloc does for the one group of a wave. */
    model::outcome take()
    {
        uint32_t size_class = tn_heap_class_of(size_bytes_);
        model::outcome outcome = run_kernel([&](uint32_t wave, uint32_t) {
            tn_hold hold = tn_hold_nothing();
            for (uint32_t left = LANES; left > 0;) {
                tn_objects objects = tn_leader_take(heap_, size_class, left, &hold);
                if (objects.bits == 0) break;
                parts_[wave].push_back({ hold.page, objects });
                left -= tn_count_ones(objects.bits);
            }
        });
        world_->expect_live(threads_);
        return outcome;
    }

    /* As tarn_dfree does for lanes that free objects of one word each. */
    double give()
    {
        model::outcome outcome = run_kernel([&](uint32_t wave, uint32_t) {
            for (const part &part : parts_[wave]) {
                tn_load(tn_label(heap_, part.page));
                tn_slab_give(heap_, part.page, tn_objects_put(heap_, part.page, part.objects));
            }
            parts_[wave].clear();
        });
        world_->expect_live(0);
        return outcome.microseconds;
    }

    /* From the first page that was taken to the last, by the bytes asked for. */
    double range()
    {
        uint32_t object_bytes = tn_heap_class_bytes(tn_heap_class_of(size_bytes_));
        uint64_t first = UINT64_MAX, end = 0;
        for (const std::vector<part> &parts : parts_)
            for (const part &part : parts) {
                uint64_t slab = part.page * TN_HEAP_PAGE_BYTES;
                uint64_t begin = slab + (uint64_t)part.objects.word * 64 * object_bytes;
                first = std::min(first, begin);
                end = std::max(end, begin + 64 * object_bytes);
            }
        return (double)(end - first) / ((double)threads_ * size_bytes_);
    }

    world *world_;
    tn_heap heap_;
    uint32_t threads_, size_bytes_;
    std::vector<std::vector<part>> parts_;
};

/* One addition for each wave, all to one word. */
double bump_us(uint32_t threads)
{
    uint64_t word = 0;
    return model::run(
               { threads / LANES, [](uint32_t) { return 1U; },
                 [&](uint32_t, uint32_t) { (void)(uint64_t)tn_fetch_add(&word, (uint64_t)1); } })
        .microseconds;
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<uint32_t> numbers;
    for (int i = 1; i < argc; i++)
        numbers.push_back((uint32_t)strtoul(argv[i], NULL, 10));
    uint32_t threads = argc > 1 ? numbers[0] : 1 << 20;
    std::vector<uint32_t> sizes(numbers.begin() + (argc > 1), numbers.end());
    for (uint32_t size = 16; argc < 3 && size <= 4096; size *= 2)
        sizes.push_back(size);
    bool is_wrong = threads == 0 || threads % LANES != 0 || threads > 1 << 20;
    for (uint32_t size : sizes)
        is_wrong = is_wrong || size < 16 || size > 4096 || (size & (size - 1)) != 0;
    if (is_wrong) {
        fprintf(
            stderr,
            "usage: device_heap_model [THREADS [SIZE...]]: threads up to 1048576, multiples of 32; sizes 16 to "
            "4096, powers of two\n");
        return 2;
    }
    double bump = bump_us(threads);
    printf("foretold by a model, not measured; %u threads; a bump pointer takes %.1f us\n\n",
           threads, bump);
    printf(
        "          new heap                                used heap                               free\n");
    printf(
        "  size         time bump  ops pauses range             time bump  ops pauses range        time\n");
    world world;
    for (uint32_t size : sizes)
        storm(&world, threads, size).run(bump);
    return 0;
}
