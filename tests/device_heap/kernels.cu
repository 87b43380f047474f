/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * kernels: each function of tarn/device_heap.cuh in a kernel of its own, and all of them in one, as a program for
 * CUDA or HIP might have them. They are compiled by scripts/check_device_code, which looks at what they take of a
 * device; nothing runs them.
 */
#include "tarn/device_heap.cuh"

#if defined(__HIPCC__) && !defined(__CUDACC__)
/* Where it is not said how many threads a block has, registers are for 1024. */
#define KERNEL extern "C" __global__ void __launch_bounds__(256)
#else
#define KERNEL extern "C" __global__ void
#endif

/* HIP's blockIdx and its like may be calls into a library that is not linked in here; what a call takes would be
 * counted for the heap. */
static __device__ uint32_t thread_number()
{
#if defined(__HIPCC__) && !defined(__CUDACC__)
    return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
           __builtin_amdgcn_workitem_id_x();
#else
    return blockIdx.x * blockDim.x + threadIdx.x;
#endif
}

KERNEL kernel_malloc(tarn_device_heap_handle heap, void **objects, const size_t *sizes)
{
    uint32_t i = thread_number();
    objects[i] = tarn_dmalloc(heap, sizes[i]);
}

KERNEL kernel_malloc_wave(tarn_device_heap_handle heap, void **objects, size_t size_bytes)
{
    objects[thread_number()] = tarn_dmalloc_wave(heap, size_bytes);
}

KERNEL kernel_malloc_coop(tarn_device_heap_handle heap, void **objects, size_t size_bytes)
{
    objects[thread_number()] = tarn_dmalloc_coop(heap, size_bytes);
}

KERNEL kernel_free(tarn_device_heap_handle heap, void **objects)
{
    tarn_dfree(heap, objects[thread_number()]);
}

KERNEL kernel_size_and_owns(tarn_device_heap_handle heap, void **objects, size_t *sizes)
{
    uint32_t i = thread_number();
    sizes[i] = tarn_downs(heap, objects[i]) ? tarn_dsize(heap, objects[i]) : 0;
}

/* Grows objects that are too small; in divergent code, with all that a kernel of this kind keeps across the calls. */
KERNEL kernel_grow(tarn_device_heap_handle heap, uint64_t **objects, const size_t *counts,
                   uint32_t *failed_count)
{
    uint32_t i = thread_number();
    uint64_t *old = objects[i];
    size_t old_count = tarn_downs(heap, old) ? tarn_dsize(heap, old) / sizeof *old : 0;
    if (counts[i] <= old_count) return;
    uint64_t *grown = (uint64_t *)tarn_dmalloc(heap, counts[i] * sizeof *grown);
    if (grown == nullptr) {
        atomicAdd(failed_count, 1);
        return;
    }
    for (size_t k = 0; k < old_count; k++)
        grown[k] = old[k];
    tarn_dfree(heap, old);
    objects[i] = grown;
}
