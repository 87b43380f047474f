/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heaps: the heaps that are compared. Each has
 *
 *     name
 *     can_free      whether it hands out freed memory again
 *     can_renew     whether renew() makes all of it free
 *     device()      for kernels: get(bytes), get_alike(bytes) if all lanes ask for the same size, put(object)
 */
#ifndef TN_HEAP_BENCH_HEAPS_CUH
#define TN_HEAP_BENCH_HEAPS_CUH

#include <cstddef>
#include <cstdint>

#include "calls.h"
#include "tarn/device_heap.cuh"
#include "tarn/device_heap.h"
#include "tarn/tarn.h"

/* --- tarn: a device heap out of a pool -------------------------------------------------------------- */

struct tarn_heap {
    struct device_part {
        tarn_device_heap_handle handle;

        __device__ void *get(size_t size_bytes) const
        {
            return tarn_dmalloc(handle, size_bytes);
        }
        __device__ void *get_alike(size_t size_bytes) const
        {
            return tarn_dmalloc(handle, size_bytes);
        }
        __device__ void put(void *object) const
        {
            tarn_dfree(handle, object);
        }
    };

    static constexpr const char *name = "tarn";
    static constexpr bool can_free = true;
    static constexpr bool can_renew = true;
    tarn_pool *pool = nullptr;
    tarn_device_heap *heap = nullptr;

    explicit tarn_heap(size_t size_bytes)
    {
        tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
        options.initial_bytes = size_bytes;
        TARN(tarn_pool_create(&options, &pool));
        TARN(tarn_device_heap_create(pool, size_bytes, nullptr, nullptr, &heap));
    }
    tarn_heap(const tarn_heap &) = delete;
    tarn_heap &operator=(const tarn_heap &) = delete;
    ~tarn_heap()
    {
        TARN(tarn_device_heap_destroy(heap, nullptr));
        CUDA(cudaDeviceSynchronize());
        TARN(tarn_pool_destroy(pool));
    }

    void renew()
    {
        TARN(tarn_device_heap_reset(heap, nullptr));
    }
    device_part device() const
    {
        return { tarn_device_heap_get_handle(heap) };
    }
};

/* --- a bump pointer: the least that an allocation can cost, with nothing managed ---------------------- */

struct bump_heap {
    struct device_part {
        unsigned long long *used;
        unsigned char *begin;
        unsigned long long size_bytes;

        /* One addition for all 32 lanes. Each lane finds its own place from the sizes of the lanes before it.
         * */
        __device__ void *get(size_t size_bytes_asked) const
        {
            uint32_t mine = ((uint32_t)size_bytes_asked + 15) / 16 * 16;
            uint32_t upto = mine;
            for (uint32_t step = 1; step < 32; step *= 2) {
                uint32_t below = __shfl_up_sync(~0U, upto, step);
                if (threadIdx.x % 32 >= step) upto += below;
            }
            unsigned long long at = 0;
            if (threadIdx.x % 32 == 31) at = atomicAdd(used, (unsigned long long)upto);
            at = __shfl_sync(~0U, at, 31) + upto - mine;
            return at + mine <= size_bytes ? begin + at : nullptr;
        }
        __device__ void *get_alike(size_t size_bytes_asked) const
        {
            unsigned long long each = (size_bytes_asked + 15) / 16 * 16;
            uint32_t lanes = __activemask();
            uint32_t rank = (uint32_t)__popc(lanes & ((1U << threadIdx.x % 32) - 1));
            unsigned long long at = 0;
            if (rank == 0) at = atomicAdd(used, (uint32_t)__popc(lanes) * each);
            at = __shfl_sync(lanes, at, __ffs((int)lanes) - 1) + rank * each;
            return at + each <= size_bytes ? begin + at : nullptr;
        }
        __device__ void put(void *) const {}
    };

    static constexpr const char *name = "bump";
    static constexpr bool can_free = false;
    static constexpr bool can_renew = true;
    device_part part{};

    explicit bump_heap(size_t size_bytes)
    {
        part.size_bytes = size_bytes;
        CUDA(cudaMalloc(&part.begin, size_bytes));
        CUDA(cudaMalloc(&part.used, sizeof *part.used));
        renew();
    }
    bump_heap(const bump_heap &) = delete;
    bump_heap &operator=(const bump_heap &) = delete;
    ~bump_heap()
    {
        CUDA(cudaFree(part.begin));
        CUDA(cudaFree(part.used));
    }

    void renew()
    {
        CUDA(cudaMemsetAsync(part.used, 0, sizeof *part.used));
    }
    device_part device() const
    {
        return part;
    }
};

/* --- CUDA's own malloc in kernels: one heap of the process, whose size is set once ---------------------- */

struct cuda_heap {
    struct device_part {
        __device__ void *get(size_t size_bytes) const
        {
            return malloc(size_bytes);
        }
        __device__ void *get_alike(size_t size_bytes) const
        {
            return malloc(size_bytes);
        }
        __device__ void put(void *object) const
        {
            free(object);
        }
    };

    static constexpr const char *name = "cuda";
    static constexpr bool can_free = true;
    static constexpr bool can_renew = false;

    /* To be called before the first kernel of the process that allocates. */
    static void set_size(size_t size_bytes)
    {
        CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, size_bytes));
    }

    explicit cuda_heap(size_t) {}
    void renew() {}
    device_part device() const
    {
        return {};
    }
};

#endif
