/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * steady: threads hold objects, and over and over replace a random half of theirs, as the benchmark's
 * `steady` does. Prints how many are replaced in a second, and how far the objects lie apart, in the later
 * half of the rounds.
 */
#include <stdio.h>

#include "../sizes.cuh"
#include "held_objects.h"
#include "model_tests.h"
#include "world.h"

namespace
{

constexpr uint32_t HELD = 8;

class replacing
{
  public:
    replacing(world *world, uint32_t threads, const sizes &of)
        : world_(world), threads_(threads), of_(of), objects_((size_t)threads * HELD)
    {
    }

    void run(const char *name, uint32_t rounds)
    {
        std::vector<double> rates, ranges, used;
        model::outcome last = {};
        world_->renew();
        for (uint32_t round = 0; round < rounds; round++) {
            last = run_threads(threads_, [&](uint32_t number) { replace_half_of(number, round); });
            tarn_device_heap_stats stats = world_->expect_live(objects_.count());
            objects_.expect_apart();
            if (round < rounds / 2) continue;
            rates.push_back((double)threads_ * HELD / 2 / last.microseconds);
            ranges.push_back(objects_.range());
            used.push_back((double)stats.used_bytes / (double)objects_.bytes());
        }
        printf("%-20s  %8.0f M/s  %5.2f  %5.2f  %6.1f %6.1f\n", name, median(rates), median(ranges),
               median(used), last.operations, last.pauses);
        fflush(stdout);
        give_all();
    }

  private:
    /* Does what the benchmark's kernel replace_half does. */
    void replace_half_of(uint32_t number, uint32_t round)
    {
        for (uint32_t i = 0; i < HELD / 2; i++) {
            uint32_t random = mixed(number + threads_ * (round * HELD + i));
            uint32_t at = random % HELD * threads_ + number;
            uint32_t bytes = of_.of(random);
            tarn_dfree(world_->handle(), objects_.addresses[at]);
            objects_.addresses[at] = tarn_dmalloc(world_->handle(), bytes);
            objects_.size_bytes[at] = bytes;
        }
    }

    void give_all()
    {
        run_threads(threads_, [&](uint32_t number) {
            for (uint32_t i = 0; i < HELD; i++)
                tarn_dfree(world_->handle(), objects_.addresses[i * threads_ + number]);
        });
        world_->expect_live(0);
    }

    world *world_;
    uint32_t threads_;
    sizes of_;
    held_objects objects_;
};

} // namespace

void test_steady(uint32_t threads, uint32_t rounds)
{
    printf("foretold by a model, not measured; %u threads, %u objects each, %u rounds\n\n", threads,
           HELD, rounds);
    printf("%-20s  %12s  %5s  %5s  %6s %6s\n", "size", "replacements", "range", "used", "ops",
           "pauses");
    world world;
    replacing(&world, threads, { distribution::one, 64, 64 }).run("64 B", rounds);
    replacing(&world, threads, { distribution::log, 16, 4096 }).run("log 16 to 4096 B", rounds);
}
