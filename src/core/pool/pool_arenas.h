/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_arenas: a pool's dealings with its arenas; see arena.h. The other half is gather.h.
 *
 * Threads: as each says.
 */
#ifndef TN_POOL_ARENAS_H
#define TN_POOL_ARENAS_H

#include "../serve/serve.h"

/* So often must the pool's lock be waited for, with no thread alone with it in between, before arenas are made. */
#define TN_ARENA_WAITS 64

/* From now on threads take arenas. False: no host memory, or the pool is of a kind that has none. Under the
 * pool's lock. */
bool tn_arenas_want(struct tarn_pool *pool);

/* The calling thread has come to the pool's lock by the long way, and holds it: where it is waited for again and
 * again, arenas are wanted. */
void tn_arenas_note_wait(struct tarn_pool *pool);

/* Allocates out of the calling thread's arena, to which the pool lends more; or out of the pool itself, as it is. NULL:
 * the request is for the ladder. Requires that arenas are wanted, and no lock. */
void *tn_arena_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                     tarn_stream stream);

/* Frees an allocation wherever it is: in the thread's own arena, in another one, or in the pool. Requires that arenas are
 * there, and no lock. */
enum tn_free_result tn_arena_free(struct tarn_pool *pool, uintptr_t address,
                                  const size_t *told_bytes, const tarn_stream *streams,
                                  size_t stream_count);

#endif
