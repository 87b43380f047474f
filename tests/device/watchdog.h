/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* watchdog: a thread that ends a program in which nothing goes on any more. */
#ifndef TEST_WATCHDOG_H
#define TEST_WATCHDOG_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>

#include "checks.h"

/* Ends the process, from a thread that calls neither CUDA nor tarn, when nothing goes on any more. */
class watchdog
{
  public:
    watchdog(const std::atomic<uint64_t> &watched_progress, std::chrono::seconds wanted_patience)
        : progress(watched_progress), patience(wanted_patience), thread([this] { watch(); })
    {
    }

    ~watchdog()
    {
        {
            std::lock_guard<std::mutex> lock(mutex);
            is_done = true;
        }
        is_done_changed.notify_one();
        thread.join();
    }

  private:
    void watch()
    {
        std::unique_lock<std::mutex> lock(mutex);
        uint64_t seen = progress;
        auto since = std::chrono::steady_clock::now();
        while (
            !is_done_changed.wait_for(lock, std::chrono::seconds(1), [this] { return is_done; })) {
            uint64_t now = progress;
            if (now != seen) since = std::chrono::steady_clock::now();
            seen = now;
            if (std::chrono::steady_clock::now() - since < patience) continue;
            std::fprintf(stderr, "nothing has gone on for %lld seconds\n",
                         (long long)patience.count());
            die(EXIT_STUCK);
        }
    }

    const std::atomic<uint64_t> &progress; /* any change counts */
    const std::chrono::seconds patience;
    std::mutex mutex;
    std::condition_variable is_done_changed;
    bool is_done = false;
    std::thread thread; /* the last member: it uses the others */
};

#endif
