/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_watch: tells the address sanitizer what of a pool the program may touch. Memory that is free, or beyond
 * what was asked for, is forbidden from when it joins the pool until it leaves.
 *
 * Threads: any, by whoever has the memory in hand.
 */
#ifndef TN_POOL_WATCH_H
#define TN_POOL_WATCH_H

#include "../base/sanitizer.h"

#include "pool_struct.h"

static inline void tn_pool_forbid(const struct tarn_pool *pool, const void *address,
                                  size_t size_bytes)
{
    if (TN_HAS_ADDRESS_SANITIZER && pool->forbids_free_memory)
        tn_sanitizer_forbid(address, size_bytes);
}

static inline void tn_pool_allow(const struct tarn_pool *pool, const void *address,
                                 size_t size_bytes)
{
    if (TN_HAS_ADDRESS_SANITIZER && pool->forbids_free_memory)
        tn_sanitizer_allow(address, size_bytes);
}

#endif
