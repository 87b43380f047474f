/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * turns: waves of one lane each, of which one runs at a time. A plan says after how many atomic operations it gives way to
 * the next one, again and again; it also does when it pauses, and when it ends.
 *
 *     plan { 3, 2 }     wave 0  ───┐        ┌─────────────> end ─┐
 *                       wave 1     └── ── ──┘                    └────────> end
 */
#ifndef TN_TURNS_H
#define TN_TURNS_H

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "heap_world.h"

class turns
{
  public:
    turns(size_t wave_count, const std::vector<uint64_t> &plan) : plan_(plan), is_over_(wave_count)
    {
    }

    void wait(size_t wave)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return whose_ == wave; });
    }

    void before_operation(size_t wave)
    {
        if (next_ == plan_.size() || plan_[next_]-- > 1) return;
        next_++;
        give_way(wave);
    }

    void give_way(size_t wave)
    {
        size_t next = wave;
        do
            next = (next + 1) % is_over_.size();
        while (next != wave && is_over_[next]);
        if (next == wave) return;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            whose_ = next;
        }
        changed_.notify_all();
        if (!is_over_[wave]) wait(wave);
    }

    void end(size_t wave)
    {
        is_over_[wave] = true;
        give_way(wave);
    }

    /* Of the plan's numbers so many have come about. */
    size_t count() const
    {
        return next_;
    }

  private:
    std::vector<uint64_t> plan_;
    size_t next_ = 0;
    std::vector<char> is_over_;
    size_t whose_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
};

/* Runs such waves; where they send off what they need no answer of, that comes late. Gives what turns::count does. */
static inline size_t take_turns(const std::vector<std::function<void()>> &waves,
                                const std::vector<uint64_t> &plan, bool sends_off)
{
    turns order(waves.size(), plan);
    with_waves((uint32_t)waves.size(), 1, 0, [&](uint32_t wave, uint32_t) {
        order.wait(wave);
        emulation::on_operation([&order, wave] { order.before_operation(wave); });
        emulation::on_pause([&order, wave] { order.give_way(wave); });
        if (sends_off) emulation::send_off_unanswered();
        waves[wave]();
        emulation::on_operation(nullptr);
        emulation::arrive(nullptr);
        order.end(wave);
    });
    return order.count();
}

#endif
