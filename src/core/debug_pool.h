/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_pool: a pool in debug mode: what is done besides when it allocates and frees. It stands between the
 * public functions and the pool, which knows nothing of it but that there is one.
 *
 *     api ──► debug_pool ──► pool        pools in debug mode
 *         └────────────────► pool        all others
 *
 * Threads: any; a lock of its own, taken with no other held, and held while no other is taken.
 * Cost: microseconds.
 */
#ifndef TN_DEBUG_POOL_H
#define TN_DEBUG_POOL_H

#include "../base/compiler.h"

#include "debug_table.h"
#include "pool.h"

/* Puts a pool that nobody knows yet into debug mode, if the options say so. Errors: OUT_OF_HOST_MEMORY. */
tarn_status tn_debug_init(struct tarn_pool *pool, const tarn_pool_options *options);

/* After the pool's own end. */
void tn_debug_fini(struct tarn_pool *pool);

/* Whom the allocations that follow in this thread are put down to: who called the library. */
void tn_debug_note_caller(const struct tarn_pool *pool, const void *caller);

/* The same kept aside, for where the user's code runs in between. */
struct tn_call_site tn_debug_save_caller(void);
void tn_debug_restore_caller(const struct tn_call_site *site);

/* As tn_pool_alloc and tn_pool_free, in a pool that is in debug mode. */
tarn_status tn_debug_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                           tarn_stream stream, void **address_out);
tarn_status tn_debug_free(struct tarn_pool *pool, void *address, const tarn_stream *streams,
                          size_t stream_count);

/* Whichever the pool needs. */
static inline tarn_status tn_pool_alloc_any(struct tarn_pool *pool, size_t size_bytes,
                                            size_t alignment_bytes, tarn_stream stream,
                                            void **address_out)
{
    if (TN_UNLIKELY(pool->debug != NULL))
        return tn_debug_alloc(pool, size_bytes, alignment_bytes, stream, address_out);
    return tn_pool_alloc(pool, size_bytes, alignment_bytes, stream, address_out);
}

/* What is remembered of an allocation. False: nothing. */
bool tn_debug_look_up(const struct tarn_pool *pool, uintptr_t address,
                      struct tn_debug_record *record_out);

/* Copies of all records of one instant, as many as count_max; returns how many there are. */
size_t tn_debug_copy_records(const struct tarn_pool *pool, struct tn_debug_record *to,
                             size_t count_max);

#endif
