/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_arenas: lending chunks to arenas, and alloc and free in arenas; see arena.h. gather.h ends the loans.
 *
 * Threads: any, with no lock held unless said.
 */
#ifndef TN_POOL_ARENAS_H
#define TN_POOL_ARENAS_H

#include "../serve/serve.h"

/* Arenas are wanted after so many waits for the pool's lock in which no thread had it to itself in between. */
#define TN_ARENA_WAITS 64

/* Makes threads use arenas from now on. Requires the pool's lock. False: no host memory, or the pool is of a
 * kind that has no arenas. */
bool tn_arenas_want(struct tarn_pool *pool);

/* Wants arenas after TN_ARENA_WAITS waits for the pool's lock. Called by a thread that holds the lock and does
 * not own it; see biased_mutex.h. */
void tn_arenas_note_wait(struct tarn_pool *pool);

/* Allocates in the calling thread's arena. The pool lends more chunks to it, or serves the request itself, or
 * grows so that the arenas last. Requires that arenas are wanted. NULL: call tn_pool_climb. */
void *tn_arena_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                     tarn_stream handle);

/* Frees an allocation of the thread's arena, of another arena, or of the pool. Requires that the arenas are
 * created. */
enum tn_free_result tn_arena_free(struct tarn_pool *pool, uintptr_t address,
                                  const size_t *told_bytes, const tarn_stream *streams,
                                  size_t stream_count);

#endif
