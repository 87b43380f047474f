/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/size_class: the sizes that objects of a device heap are rounded up to. Multiples of 16 bytes up
 * to 64, then four sizes for each doubling, so that rounding loses less than a fifth of an object:
 *
 *     16 32 48 64 | 80 96 112 128 | 160 192 224 256 | ... | 40 K 48 K 56 K 64 K
 *
 * A size is mantissa << shift, with a mantissa of 1 to 8. A slab of as many pages as the mantissa has no
 * rest.
 */
#ifndef TARN_DEVICE_HEAP_SIZE_CLASS_H
#define TARN_DEVICE_HEAP_SIZE_CLASS_H

#include <stdbool.h>

#include "tarn/device_heap/layout.h"

/* For the host, and for the device if a device compiler reads this. */
#if defined(__CUDACC__) || defined(__HIPCC__)
#define TN_HEAP_BOTH static __host__ __device__ inline
#else
#define TN_HEAP_BOTH static inline
#endif

#define TN_HEAP_CLASSES_LINEAR 4 /* the multiples of 16 */

/* Returns the place of the highest bit. Requires: value != 0. */
TN_HEAP_BOTH uint32_t tn_heap_log2(uint32_t value)
{
#if defined(__CUDA_ARCH__)
    return 31 - (uint32_t)__clz((int)value);
#else
    return 31 - (uint32_t)__builtin_clz(value);
#endif
}

/* Requires: 1 <= size_bytes <= TN_HEAP_OBJECT_MAX. */
TN_HEAP_BOTH uint32_t tn_heap_class_of(uint32_t size_bytes)
{
    uint32_t last = size_bytes - 1;
    if (size_bytes <= 64) return last / 16;
    uint32_t log2 = tn_heap_log2(last);
    return TN_HEAP_CLASSES_LINEAR + (log2 - 6) * 4 + (last >> (log2 - 2) & 3);
}

TN_HEAP_BOTH uint32_t tn_heap_class_mantissa(uint32_t size_class)
{
    return size_class < TN_HEAP_CLASSES_LINEAR ? size_class + 1 : 5 + size_class % 4;
}

TN_HEAP_BOTH uint32_t tn_heap_class_shift(uint32_t size_class)
{
    return size_class < TN_HEAP_CLASSES_LINEAR ? 4 : size_class / 4 + 3;
}

TN_HEAP_BOTH uint32_t tn_heap_class_bytes(uint32_t size_class)
{
    /* clang's analyzer takes any number for a class. NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    return tn_heap_class_mantissa(size_class) << tn_heap_class_shift(size_class);
}

/* Returns the index of the object at an offset into a slab, which must be less than a span. Each size is 5 to
 * 8 times a power of two, so a multiplication replaces the division. Its fraction of 2^32 is up to 4 too
 * large, an error below the distance to the next quotient for dividends less than 2^21. */
TN_HEAP_BOTH uint32_t tn_heap_class_index(uint32_t size_class, uint32_t offset_bytes)
{
    bool is_linear = size_class < TN_HEAP_CLASSES_LINEAR;
    uint32_t quarter = !is_linear ? size_class % 4 : size_class == 2 ? 1 : 3;
    uint32_t shift = !is_linear ? size_class / 4 + 3 : size_class < 2 ? size_class + 1 : 3;
    uint32_t reciprocal = quarter == 0   ? 0x33333334
                          : quarter == 1 ? 0x2AAAAAAB
                          : quarter == 2 ? 0x24924925
                                         : 0x20000000;
    return (uint32_t)((uint64_t)(offset_bytes >> shift) * reciprocal >> 32);
}

/* A bit for each class that would waste more than 1/64 of a slab of one page. */
#define TN_HEAP_CLASSES_OF_SEVERAL_PAGES 0x77731000000ULL

/* Returns the pages of the smallest slab that wastes no more than that. */
TN_HEAP_BOTH uint32_t tn_heap_class_unit_pages(uint32_t size_class)
{
    uint32_t is_one = (uint32_t)(~TN_HEAP_CLASSES_OF_SEVERAL_PAGES >> size_class) & 1;
    return is_one ? 1 : tn_heap_class_mantissa(size_class);
}

/* A bit for each class that may have all slots: those of more than 256 bytes up to 1 KiB, where many
 * concurrent waves use up slab after slab, and those of more than 4 KiB, whose slabs have few objects. More
 * slots for the other classes would leave more of the heap in slabs that few waves use. */
#define TN_HEAP_CLASSES_OF_ALL_SLOTS 0xFFFF00FF000ULL

/* Returns the slots of a class in a heap with up to slot_count for each. */
TN_HEAP_BOTH uint32_t tn_heap_class_slots(uint32_t size_class, uint32_t slot_count)
{
    uint32_t has_all = (uint32_t)(TN_HEAP_CLASSES_OF_ALL_SLOTS >> size_class) & 1;
    return has_all || slot_count < TN_HEAP_SLOTS_SOME ? slot_count : TN_HEAP_SLOTS_SOME;
}

#endif
