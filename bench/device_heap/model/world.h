/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* world: a heap of the model's device, kernels that use it, and the bump pointer that their times are
 * compared with. */
#ifndef TN_MODEL_WORLD_H
#define TN_MODEL_WORLD_H

#include <stdint.h>

#include <functional>

#include "model_tests.h"
#include "tarn/device_heap.h"
#include "tarn/host.h"
#include "tarn/tarn.h"

#define TARN_DEVICE_HEAP_EMULATION "model_device.h"
#include "tarn/device_heap.cuh"

/* A heap in host memory, whose objects are never touched. Any failure ends the program. */
class world
{
  public:
    world();
    ~world();
    world(const world &) = delete;
    world &operator=(const world &) = delete;

    void renew();

    /* Also expects that no call has failed, and compares every structure of the heap with every other. */
    tarn_device_heap_stats expect_live(uint64_t count);

    const tarn_device_heap_handle &handle() const
    {
        return handle_;
    }

  private:
    void wait();

    tarn_backend backend_;
    tarn_stream stream_;
    tarn_pool *pool_;
    tarn_device_heap *heap_;
    tarn_device_heap_handle handle_;
};

/* Whole waves; `body` is given the thread's number. */
model::outcome run_threads(uint32_t threads, const std::function<void(uint32_t)> &body);

/* Time of a bump pointer: one addition for each wave, all to one word. */
double bump_us(uint32_t threads);

#endif
