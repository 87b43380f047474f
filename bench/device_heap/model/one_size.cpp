/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * one_size: each thread allocates an object of one size in a new heap, frees it, and does so again in the
 * used heap. A lane stands for its whole wave here, since all lanes ask for the same; so there are few
 * fibers, and 2^20 threads take seconds.
 */
#include <stdio.h>

#include <algorithm>

#include "model_tests.h"
#include "world.h"

namespace
{

constexpr int WARM_ROUNDS = 3;

/* What a wave has. */
struct part {
    uint32_t page;
    tn_objects objects;
};

class storm
{
  public:
    storm(world *world, uint32_t threads, uint32_t size_bytes)
        : world_(world), heap_(&world->handle().layout), threads_(threads), size_bytes_(size_bytes),
          parts_(threads / LANES)
    {
    }

    void run(double bump)
    {
        world_->renew();
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
        double warm_median = median(warm_us);
        printf(
            "%6u B  %7.1f us %4.1f  %5.1f %5.1f  %5.2f   %7.1f us %4.1f  %5.1f %5.1f  %5.2f   %7.1f us\n",
            size_bytes_, fresh.microseconds, fresh.microseconds / bump, fresh.operations,
            fresh.pauses, fresh_range, warm_median, warm_median / bump, warm.operations,
            warm.pauses, warm_range, median(free_us));
        fflush(stdout);
    }

  private:
    model::outcome run_kernel(const std::function<void(uint32_t, uint32_t)> &body)
    {
        return model::run({ (uint32_t)parts_.size(), 1, body });
    }

    /* Does what tn_lanes_malloc does for the one group of a wave. A group that fills a page or more makes its
     * own slab. */
    model::outcome take()
    {
        uint32_t size_class = tn_heap_class_of(size_bytes_);
        bool fills_pages = LANES * tn_heap_class_bytes(size_class) >= TN_HEAP_PAGE_BYTES;
        model::outcome outcome = run_kernel([&](uint32_t wave, uint32_t) {
            uint32_t place = tn_place(), pauses = TN_PLACE_PAUSES;
            uint32_t *slot = tn_slot(heap_, size_class, place);
            tn_hold hold = tn_hold_nothing();
            if (fills_pages) hold = tn_take_own_slab(heap_, size_class, LANES, place);
            uint32_t content = hold.credits == 0 ? tn_load(slot) : TN_PLACE_EMPTY;
            for (uint32_t left = LANES; left > 0;) {
                if (hold.credits == 0) {
                    tn_slot_look look = tn_slot_look_into(heap_, content, left);
                    hold = tn_take(heap_, size_class, left, place, look, pauses == 0);
                }
                if (hold.credits == 0 && !tn_hold_waits(hold)) break;
                while (hold.credits > 0) {
                    tn_objects objects = tn_objects_take(heap_, &hold);
                    parts_[wave].push_back({ hold.page, objects });
                    left -= tn_count_ones(objects.bits);
                }
                if (left > 0) content = tn_place_wait(slot, &pauses, TN_PLACE_PAUSE_NS_MAX);
            }
        });
        world_->expect_live(threads_);
        return outcome;
    }

    /* Does what tarn_dfree does for lanes that free objects of one word. */
    double give()
    {
        model::outcome outcome = run_kernel([&](uint32_t wave, uint32_t) {
            for (const part &part : parts_[wave]) {
                uint64_t label = tn_load(tn_label(heap_, part.page));
                uint32_t capacity =
                    tn_header_field(label, TN_HEAP_LABEL_CAPACITY_SHIFT, TN_HEAP_CAPACITY_BITS);
                tn_slab_give(heap_, part.page,
                             tn_objects_put(heap_, part.page, capacity, part.objects));
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

} // namespace

void test_one_size(uint32_t threads, const std::vector<uint32_t> &sizes_bytes)
{
    double bump = bump_us(threads);
    printf("foretold by a model, not measured; %u threads; a bump pointer takes %.1f us\n\n",
           threads, bump);
    printf(
        "          new heap                                used heap                               free\n");
    printf(
        "  size         time bump  ops pauses range             time bump  ops pauses range        time\n");
    world world;
    for (uint32_t size_bytes : sizes_bytes)
        storm(&world, threads, size_bytes).run(bump);
}
