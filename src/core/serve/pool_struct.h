/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_struct: what a pool consists of, and which lock guards what.
 *
 * Two locks. `lock` guards the regions and counters. It is held for tens of nanoseconds, and longer
 * where the arrays of the metadata grow or the free regions divide; no vendor call and no user code runs under it.
 * Most pools are used by one thread most of the time, so it is biased; for those that many use there are
 * arenas.
 * `growth_lock` lets one thread at a time change the list of static pools; vendor calls run under it
 * alone, so that others allocate and free meanwhile. The user's functions run under neither.
 * Order: registry lock, growth_lock, lock, the locks of arenas by their numbers.
 */
#ifndef TN_POOL_STRUCT_H
#define TN_POOL_STRUCT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/biased_mutex.h"
#include "../../base/sanitizer.h"
#include "../../base/sync.h"
#include "tarn/tarn.h"

#include "../parts/arena.h"
#include "../parts/growth.h"
#include "../parts/part.h"
#include "../parts/static_pool_list.h"
#include "../parts/step_range.h"
#include "../parts/stream_table.h"

/* More than that are given back to the vendor. */
#define TN_POOL_SPARE_EVENTS_MAX 16

enum tn_pool_state {
    TN_POOL_STATE_CLOSED = 0,
    /* What stray memory does not hold. */
    TN_POOL_STATE_OPEN = 0x7461726e,
    TN_POOL_STATE_FORKED = 0x666f726b /* the parent's: only the state may be looked at */
};

struct tarn_pool {
    /* Handles outlive their pools, so that this can be read after a destroy. */
    _Atomic uint32_t state;
    struct tarn_pool *next_handle; /* under the registry's lock */
    unsigned pin_count;            /* likewise: walks that stand at the pool */

    atomic_bool needs_care; /* each call is told to somebody: notes_callers, or a recording */

    /* The same from init to fini, and read without a lock. */
    unsigned chunk_log2;
    size_t slice_bytes_max;   /* of the requests that have slices; 0: none has */
    bool releases_after_free; /* a free may give static pools back */
    bool returns_when_empty;
    bool forbids_free_memory; /* tells the address sanitizer; false in builds without it */
    struct tn_debug *debug;   /* NULL: the pool is not in debug mode */
    bool notes_callers;       /* it, or what it falls back to, may want to know who called */
    bool passes_through;      /* each allocation is a static pool, which goes with it */
    bool is_shareable;        /* steps are mapped so that they can be exported */
    size_t release_threshold_bytes;
    struct tn_growth_policy growth;
    size_t backend_alignment_bytes;
    size_t range_granularity_bytes; /* see tarn_device_properties, as the next two */
    bool has_shareable_ranges;
    uint64_t memory_id;
    struct tarn_pool *fallback;
    tarn_out_of_memory_function on_out_of_memory;
    void *user;
    tarn_backend backend;
    bool owns_backend;
    bool is_over_callers_memory; /* which is one static pool, to the end */
    bool is_process_wide;        /* tarn_malloc's, which has a destroy of its own */
    bool succeeds_parent; /* it is also asked to free what the parent's process-wide pool gave */
    tarn_static_pool_callback on_static_pool_created; /* or NULL, as the next */
    tarn_static_pool_callback on_static_pool_destroyed;

    bool identifies_streams;
    tarn_stream thread_stream; /* see tarn_device_properties, as the next */
    tarn_stream default_stream_alias;

    tarn_stream default_stream; /* of what is allocated and freed without one */

    /* Changed under both locks and with the arenas gathered or frozen; read under either, or in an arena. */
    struct tn_static_pool_list list;
    struct tn_stream_table *streams; /* its records are under growth_lock */
    tarn_stream only_stream; /* as long as there is no table; no stream's, where it is a thread's */
    uint64_t only_thread;    /* that thread, or 0 */

    struct tn_arenas arenas;

    /* Threads in arenas read what is above, while others write what is below. */
    char cache_lines_between[128];

    struct tn_biased_mutex lock;
    struct tn_part own;          /* all chunks but those that arenas have borrowed */
    struct tn_step_range *range; /* the one static pool of a contiguous pool; NULL: it is none */
    bool is_release_due;         /* a free has left something to give back */
    bool has_shrunk;             /* a resize has, which counts as no free, freed chunks */
    size_t transit_bytes;        /* counted in the footprint, but in no static pool of the list */

    struct tn_mutex watch_lock; /* comes after the others; held while a tool is told */
    bool is_unwatched;          /* for ever, though there be a tool; under watch_lock */

    struct tn_mutex growth_lock;
    tarn_event spare_events[TN_POOL_SPARE_EVENTS_MAX]; /* ready to be recorded */
    unsigned spare_event_count;
    size_t refused_bytes; /* see tn_growth_state */
    unsigned growths_since_refusal;
    unsigned callback_count;     /* functions of the user's that run now */
    unsigned arriving_count;     /* of these, those that are told of a created static pool */
    uint64_t callback_end_count; /* those that have returned since init */
    struct tn_condition callback_ended;
};

static inline bool tn_pool_is_open(const struct tarn_pool *pool)
{
    return pool != NULL &&
           atomic_load_explicit(&pool->state, memory_order_acquire) == TN_POOL_STATE_OPEN;
}

static inline bool tn_pool_is_forked(const struct tarn_pool *pool)
{
    return pool != NULL &&
           atomic_load_explicit(&pool->state, memory_order_acquire) == TN_POOL_STATE_FORKED;
}

/* --- the lock ---------------------------------------------------------------------------------- */

/* For calls that allocate, free or count. Calls that look at everything in the pool, or change static pools or
 * streams, need tn_pool_lock_and_gather of gather.h. */
static inline void tn_pool_lock(struct tarn_pool *pool)
{
    tn_biased_mutex_lock(&pool->lock);
}

static inline void tn_pool_unlock(struct tarn_pool *pool)
{
    tn_biased_mutex_unlock(&pool->lock);
}

/* For assertions: whether the calling thread holds the lock. */
static inline bool tn_pool_is_locked(const struct tarn_pool *pool)
{
    return tn_biased_mutex_is_held(&pool->lock);
}

/* --- what the address sanitizer is told ---------------------------------------------------------- */

/* The program may no longer touch this memory of a pool over host memory. */
static inline void tn_pool_forbid(const struct tarn_pool *pool, const void *address,
                                  size_t size_bytes)
{
    if (TN_HAS_ADDRESS_SANITIZER && pool->forbids_free_memory)
        tn_sanitizer_forbid(address, size_bytes);
}

/* It may from now on. */
static inline void tn_pool_allow(const struct tarn_pool *pool, const void *address,
                                 size_t size_bytes)
{
    if (TN_HAS_ADDRESS_SANITIZER && pool->forbids_free_memory)
        tn_sanitizer_allow(address, size_bytes);
}

#endif
