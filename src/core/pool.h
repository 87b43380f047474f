/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool: what the user holds: a list of static pools on one device, with locking, growth and
 * statistics.
 *
 * Two locks. `lock` guards the regions and counters. It is held for tens of nanoseconds, and longer
 * where the arrays of the metadata grow; no vendor call and no user code runs under it.
 * `growth_lock` lets one thread at a time change the list of static pools; vendor calls run under it
 * alone, so that others allocate and free meanwhile. Order: registry lock, growth_lock, lock.
 *
 * What these functions are handed was checked by api.c. They report their failures by tn_fail, but
 * for tn_pool_free, whose caller has more to say.
 */
#ifndef TN_POOL_H
#define TN_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/sync.h"
#include "tarn/tarn.h"

#include "growth.h"
#include "region_index.h"
#include "static_pool_list.h"
#include "stats.h"

enum tn_pool_state {
    TN_POOL_STATE_CLOSED = 0,
    TN_POOL_STATE_OPEN = 0x7461726e /* not what stray memory holds */
};

struct tarn_pool {
    /* Handles outlive their pools, so that this can be read after a destroy. */
    _Atomic uint32_t state;
    struct tarn_pool *next_handle; /* under the registry's lock */

    /* The same from init to fini, and read without a lock. */
    unsigned chunk_log2;
    struct tn_growth_policy growth;
    size_t backend_alignment_bytes;
    tarn_backend backend;
    bool owns_backend;
    bool is_process_wide; /* tarn_malloc's, which has a destroy of its own */

    struct tn_mutex lock;
    struct tn_static_pool_list list; /* changed under both locks, read under either */
    struct tn_region_index index;
    struct tn_stats stats;

    struct tn_mutex growth_lock;
    size_t refused_bytes; /* see tn_growth_state */
};

/* Fills in a handle from the registry. On success the pool owns the backend if so told. Errors:
 * INVALID_OPTIONS, OUT_OF_HOST_MEMORY, and what the backend answers. */
tarn_status tn_pool_init(struct tarn_pool *pool, const tarn_pool_options *options,
                         const tarn_backend *backend, bool owns_backend);

/* Gives everything back, whatever is live. */
void tn_pool_fini(struct tarn_pool *pool);

tarn_status tn_pool_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          void **address_out);
tarn_status tn_pool_free(struct tarn_pool *pool, void *address);

/* Counts an allocation of zero bytes, resp. a free of NULL, which need nothing else. */
void tn_pool_count_empty_alloc(struct tarn_pool *pool);
void tn_pool_count_empty_free(struct tarn_pool *pool);

tarn_status tn_pool_trim(struct tarn_pool *pool, size_t keep_bytes, size_t *released_bytes_out);

size_t tn_pool_live_count(struct tarn_pool *pool);
void tn_pool_stats(struct tarn_pool *pool, tarn_stats *stats_out);

/* The same for a caller that holds `lock`. */
void tn_pool_stats_locked(const struct tarn_pool *pool, tarn_stats *stats_out);

enum tn_find_result {
    TN_FIND_RESULT_FOUND,
    TN_FIND_RESULT_NOT_LIVE, /* the address is among the pool's chunks */
    TN_FIND_RESULT_FOREIGN   /* it is not */
};
enum tn_find_result tn_pool_find(struct tarn_pool *pool, const void *address,
                                 tarn_allocation *found_out);

/* OK, or CORRUPT with the first fault found in the last error. */
tarn_status tn_pool_check(struct tarn_pool *pool);

static inline bool tn_pool_is_open(const struct tarn_pool *pool)
{
    return pool != NULL &&
           atomic_load_explicit(&pool->state, memory_order_acquire) == TN_POOL_STATE_OPEN;
}

#endif
