/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_memory: the benchmark's own memory, by cudaMalloc: an array that is freed with its scope. */
#ifndef TN_HEAP_BENCH_DEVICE_MEMORY_H
#define TN_HEAP_BENCH_DEVICE_MEMORY_H

#include <cstddef>

#include "calls.h"

template <class T> class device_array
{
  public:
    explicit device_array(size_t count) : bytes_(count * sizeof(T))
    {
        CUDA(cudaMalloc(&data_, bytes_));
        clear();
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;
    ~device_array()
    {
        CUDA(cudaFree(data_));
    }

    void clear()
    {
        CUDA(cudaMemset(data_, 0, bytes_));
    }
    T *get() const
    {
        return data_;
    }
    /* Waits for the device. */
    T read(size_t index = 0) const
    {
        T value;
        CUDA(cudaMemcpy(&value, data_ + index, sizeof value, cudaMemcpyDeviceToHost));
        return value;
    }
    void write(const T &value)
    {
        CUDA(cudaMemcpy(data_, &value, sizeof value, cudaMemcpyHostToDevice));
    }

  private:
    T *data_ = nullptr;
    size_t bytes_;
};

#endif
