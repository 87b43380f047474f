/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_uses: the further streams that live allocations of a pool are used on, and the free of such an allocation.
 *
 *     tarn_pool_use_on ── insert ──┐
 *                                  ▼
 *     free ──────────── add what the uses wait for ── free ── remove the uses      under the lock of the part
 *     smaller ───────── add what the uses wait for ── free the end
 *     stream retires ── the uses of its name get its number                        under the pool's lock, gathered
 *
 * A free reads the uses and frees under one lock. So no stream can end in between, and a use of a stream that has not
 * ended has a good handle as long as growth_lock is held.
 *
 * The pool's other calls do not ask for uses while TN_CARE_USES is not set.
 *
 * Locks: use_lock guards the table, and is taken after all other locks. The functions take it themselves.
 * Cost: O(1) in the uses of one address. Functions that follow a stream are O(uses of the pool), or nothing if no
 * stream of a use has ended.
 */
#ifndef TN_POOL_USES_H
#define TN_POOL_USES_H

#include "../serve/pool_streams.h"
#include "../serve/serve.h"

/* Whether any allocation of the pool is used on further streams. */
static inline bool tn_pool_has_uses(const struct tarn_pool *pool)
{
    return TN_UNLIKELY(atomic_load_explicit(&pool->needs_care, memory_order_relaxed) &
                       TN_CARE_USES);
}

/* Whether the allocation at the address is. */
bool tn_pool_is_used(struct tarn_pool *pool, uintptr_t address);

/* Whether the allocation is used on the stream of that name. */
bool tn_pool_is_used_on(struct tarn_pool *pool, uintptr_t address, struct tn_stream_name name);

/* Makes room for the uses of the pool. False: no host memory. */
bool tn_pool_prepare_uses(struct tarn_pool *pool);

/* Adds a use of a live allocation, of which there is none yet. Requires that the table is prepared. */
void tn_pool_insert_use(struct tarn_pool *pool, struct tn_use *use);

/* Removes the uses of an allocation that is free, or that nothing uses any more. */
void tn_pool_remove_uses(struct tarn_pool *pool, uintptr_t address);

/* Copies the name of the use of that number, from 0 on, that has not ended. False: there are fewer. */
bool tn_pool_name_use(struct tarn_pool *pool, uintptr_t address, size_t number,
                      struct tn_stream_name *name_out);

/* Adds to the dependency of memory that is freed what its uses wait for. Requires the lock of the part. False, and
 * nothing has changed: the caller must introduce one of the streams. are_introduced: see tn_pool_find_dependency. */
bool tn_pool_add_uses(struct tarn_pool *pool, uintptr_t address, bool are_introduced,
                      struct tn_dependency *dependency);

/* Frees the allocation of the part that starts at the address, after the streams and its uses, and removes those.
 * Requires the lock of the part, which is the pool's own or an arena that no mail waits for. */
enum tn_free_result tn_serve_free_used(struct tarn_pool *pool, struct tn_part *part,
                                       uintptr_t address, const size_t *told_bytes,
                                       const tarn_stream *streams, size_t stream_count,
                                       bool are_introduced);

/* --- streams: these require the pool's lock, with the arenas gathered --------------------------------- */

/* Whether an allocation is used on the stream of that name. Requires no lock. */
bool tn_pool_has_uses_on(struct tarn_pool *pool, struct tn_stream_name name);

/* As in use_table.h. */
void tn_pool_end_uses(struct tarn_pool *pool, struct tn_stream_name name,
                      struct tn_dependency dependency);
void tn_pool_remove_uses_on(struct tarn_pool *pool, struct tn_stream_name name);
uint32_t tn_pool_streams_of_uses(struct tarn_pool *pool);
void tn_pool_complete_uses(struct tarn_pool *pool, uint32_t streams, uint32_t time);
void tn_pool_replace_in_uses(struct tarn_pool *pool, uint32_t stream_bit,
                             struct tn_dependency in_place);
void tn_pool_begin_uses_anew(struct tarn_pool *pool);

/* Returns NULL, or the fault: a use of an address where no allocation starts. */
const char *tn_pool_check_uses(struct tarn_pool *pool);

#endif
