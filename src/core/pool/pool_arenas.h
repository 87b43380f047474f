/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_arenas: a pool's dealings with its arenas; see arena.h. tn_arenas_gather is declared in
 * pool_struct.h, since all who lock a pool may have to.
 *
 * Threads: as each says.
 */
#ifndef TN_POOL_ARENAS_H
#define TN_POOL_ARENAS_H

#include "../serve/hand_out.h"
#include "../serve/pool_struct.h"

/* So often must the pool's lock be waited for, with no thread alone with it in between, before arenas are made. */
#define TN_ARENA_WAITS 64

/* From now on threads take arenas. False: no host memory, or the pool is of a kind that has none. Under the
 * pool's lock. */
bool tn_arenas_want(struct tarn_pool *pool);

/* The calling thread has come to the pool's lock by the long way, and holds it: where it is waited for again and
 * again, arenas are wanted. */
void tn_arenas_note_wait(struct tarn_pool *pool);

/* tn_pool_alloc out of the calling thread's arena: a slice of a class, or chunks if that is NONE. NULL: not this way;
 * *is_locked_out: and the pool's lock is the caller's, so that nobody else takes what the pool has for it. With no
 * lock held. */
void *tn_arena_alloc(struct tarn_pool *pool, size_t size_bytes, uint32_t chunk_count,
                     unsigned slice_class, tarn_stream handle, bool *is_locked_out);

/* tn_pool_free of what is in an arena. NO_ARENAS: it is in none, and the pool's lock is the caller's. With no lock
 * held. */
enum tn_free_result tn_arena_free(struct tarn_pool *pool, uintptr_t address,
                                  const tarn_stream *streams, size_t stream_count);

#endif
