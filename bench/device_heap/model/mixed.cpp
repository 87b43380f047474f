/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * mixed: each thread allocates an object of its own size, in a new heap and in a used one, and frees one, in
 * the same order and in another, as the benchmark's `mixed` does. Whole waves of lanes call tarn_dmalloc and
 * tarn_dfree.
 */
#include <stdio.h>

#include "../sizes.cuh"
#include "held_objects.h"
#include "model_tests.h"
#include "world.h"

namespace
{

class mixture
{
  public:
    mixture(world *world, uint32_t threads, const sizes &of)
        : world_(world), threads_(threads), objects_(threads)
    {
        for (uint32_t i = 0; i < threads; i++)
            objects_.size_bytes[i] = of.of(i);
    }

    void run(const char *name, double bump)
    {
        world_->renew();
        model::outcome fresh = take();
        double range = objects_.range();
        double same_us = give([](uint32_t number) { return number; });
        model::outcome warm = take();
        double any_us = give([this](uint32_t number) { return shuffled(number, threads_); });
        printf(
            "%-20s  %7.1f us %4.1f  %6.1f %6.1f %5.2f  %7.1f us %4.1f  %6.1f %6.1f  %7.1f us %4.1f  %7.1f us %4.1f\n",
            name, fresh.microseconds, fresh.microseconds / bump, fresh.operations, fresh.pauses,
            range, warm.microseconds, warm.microseconds / bump, warm.operations, warm.pauses,
            same_us, same_us / bump, any_us, any_us / bump);
        fflush(stdout);
    }

  private:
    model::outcome take()
    {
        model::outcome outcome = run_threads(threads_, [&](uint32_t number) {
            objects_.addresses[number] =
                tarn_dmalloc(world_->handle(), objects_.size_bytes[number]);
        });
        world_->expect_live(threads_);
        objects_.expect_apart();
        return outcome;
    }

    double give(const std::function<uint32_t(uint32_t)> &whose)
    {
        model::outcome outcome = run_threads(threads_, [&](uint32_t number) {
            tarn_dfree(world_->handle(), objects_.addresses[whose(number)]);
        });
        world_->expect_live(0);
        return outcome.microseconds;
    }

    world *world_;
    uint32_t threads_;
    held_objects objects_;
};

} // namespace

void test_mixed(uint32_t threads)
{
    double bump = bump_us(threads);
    printf("foretold by a model, not measured; %u threads; a bump pointer takes %.1f us\n\n",
           threads, bump);
    printf("%-20s  %-35s  %-30s  %-15s  %s\n", "", "new heap", "used heap", "free, same order",
           "any order");
    printf("%-20s  %10s %4s  %6s %6s %5s  %10s %4s  %6s %6s  %10s %4s  %10s %4s\n", "size", "time",
           "bump", "ops", "pauses", "range", "time", "bump", "ops", "pauses", "time", "bump",
           "time", "bump");
    world world;
    mixture(&world, threads, { distribution::uniform, 16, 128 }).run("uniform 16 to 128 B", bump);
    mixture(&world, threads, { distribution::log, 16, 4096 }).run("log 16 to 4096 B", bump);
    mixture(&world, threads, { distribution::uniform, 16, 4096 }).run("uniform 16 to 4096 B", bump);
}
