/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/contents: what the highest check level writes into objects.
 *
 *     | requested bytes | canary ... | requested size, 8 bytes |       at least TN_HEAP_CANARY_BYTES more than
 *      poison                                                          requested, up to the object's end
 *
 * The canary lies between the requested bytes and the object's last 8 bytes, and takes at least 8 bytes.
 */
#ifndef TARN_DEVICE_HEAP_CONTENTS_CUH
#define TARN_DEVICE_HEAP_CONTENTS_CUH

#include "tarn/device_heap/heap.cuh"

#define TN_CANARY        0xC5
#define TN_POISON_TAKEN  0xCD /* fills allocated memory */
#define TN_POISON_FREED  0xDD /* fills freed memory */

TN_DEVICE_SLOW void tn_contents_fill(uint64_t address, uint64_t size_bytes, uint8_t pattern)
{
    for (uint64_t i = 0; i < size_bytes; i++)
        ((uint8_t *)address)[i] = pattern;
}

TN_DEVICE uint64_t *tn_contents_size(uint64_t address, uint64_t object_bytes)
{
    return (uint64_t *)(address + object_bytes - 8);
}

/* Prepares an object for a request of `size_bytes`. */
TN_DEVICE_SLOW void tn_contents_prepare(uint64_t address, uint64_t object_bytes, uint64_t size_bytes)
{
    tn_contents_fill(address, size_bytes, TN_POISON_TAKEN);
    tn_contents_fill(address + size_bytes, object_bytes - 8 - size_bytes, TN_CANARY);
    *tn_contents_size(address, object_bytes) = size_bytes;
}

/* Returns the requested bytes of a live object, or 0 if the stored size was overwritten. */
TN_DEVICE uint64_t tn_contents_usable(uint64_t address, uint64_t object_bytes)
{
    uint64_t size_bytes = *tn_contents_size(address, object_bytes);
    return size_bytes <= object_bytes - TN_HEAP_CANARY_BYTES ? size_bytes : 0;
}

/* Poisons an object before it is freed. Returns whether its end is intact. */
TN_DEVICE_SLOW bool tn_contents_finish(uint64_t address, uint64_t object_bytes)
{
    uint64_t size_bytes = *tn_contents_size(address, object_bytes);
    bool is_intact = size_bytes <= object_bytes - TN_HEAP_CANARY_BYTES;
    for (uint64_t i = size_bytes; is_intact && i < object_bytes - 8; i++)
        is_intact = ((const uint8_t *)address)[i] == TN_CANARY;
    tn_contents_fill(address, object_bytes, TN_POISON_FREED);
    return is_intact;
}

#endif
