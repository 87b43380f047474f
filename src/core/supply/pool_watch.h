/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_watch: tells tools what of a pool the program may touch. Memory that is free, or beyond what was asked
 * for, is forbidden from when it joins the pool until it leaves.
 *
 * There are two kinds of tools. The address sanitizer is compiled in, sees what the host does, and is told by
 * every pool over host memory. A tool that the backend knows, such as compute-sanitizer, sees what kernels do,
 * late, and is told by pools in debug mode, which wait for streams before they forbid.
 *
 * Threads: any, by whoever has the memory in hand.
 */
#ifndef TN_POOL_WATCH_H
#define TN_POOL_WATCH_H

#include "../serve/pool_struct.h"

/* A static pool comes, and nothing of it may be touched; and it is about to go. Under growth_lock alone. */
void tn_pool_watch_begin(struct tarn_pool *pool, struct tn_static_pool *coming);
void tn_pool_watch_end(const struct tarn_pool *pool, const struct tn_static_pool *going);

/* Whether a tool watches the memory at the address, which the caller has in hand. */
bool tn_pool_is_watched(struct tarn_pool *pool, uintptr_t address);

/* What was asked for may be touched; and, with the same address, no longer. Nothing where no tool watches. With
 * no lock held. */
void tn_pool_watch_allow(struct tarn_pool *pool, uintptr_t address, size_t size_bytes);
void tn_pool_watch_forbid(struct tarn_pool *pool, uintptr_t address);

/* From now on everything may be touched. Under growth_lock. */
void tn_pool_watch_no_more(struct tarn_pool *pool);

#endif
