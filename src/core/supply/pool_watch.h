/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_watch: tells a tool of the backend's which memory of a pool the program may touch. Memory that is
 * free, or beyond the requested bytes, is forbidden while it is in the pool.
 *
 * There are two kinds of tools. The address sanitizer is compiled in and sees accesses by the host; every
 * pool over host memory tells it, by tn_pool_forbid and tn_pool_allow. A tool of the backend's, such as
 * compute-sanitizer, sees accesses by kernels, late; pools in debug mode tell it, and wait for streams before
 * they forbid.
 *
 * Threads: any. The caller has the memory in hand: no other thread allocates or frees it meanwhile.
 * Cost: that of the tool's calls, under watch_lock.
 */
#ifndef TN_POOL_WATCH_H
#define TN_POOL_WATCH_H

#include "../serve/pool_struct.h"

/* A piece comes, all of it forbidden; or it is about to go. Require growth_lock, and no other lock. */
void tn_pool_watch_begin(struct tarn_pool *pool, struct tn_piece *coming);
void tn_pool_watch_end(const struct tarn_pool *pool, struct tn_piece *going);

/* Whether a tool watches the memory at the address. */
bool tn_pool_is_watched(struct tarn_pool *pool, uintptr_t address);

/* The program may touch the requested bytes; with the same address, it no longer may. Without a tool, do
 * nothing. The caller must hold no lock. */
void tn_pool_watch_allow(struct tarn_pool *pool, uintptr_t address, size_t size_bytes);
void tn_pool_watch_forbid(struct tarn_pool *pool, uintptr_t address);

/* The program may touch all memory of the pool from now on. Requires growth_lock. */
void tn_pool_watch_no_more(struct tarn_pool *pool);

#endif
