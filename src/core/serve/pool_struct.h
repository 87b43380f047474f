/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_struct: the fields of a pool, and the lock that guards each.
 *
 * `lock` guards the regions and the counters. A thread holds it for tens of nanoseconds, or longer while the
 * arrays of the metadata grow or the free regions are divided by stream. No vendor call and no user function
 * runs under it. It is a biased mutex, because one thread uses most pools most of the time. Pools that many
 * threads use have arenas.
 *
 * `growth_lock` lets one thread at a time change the list of static pools. Vendor calls run under growth_lock
 * and without `lock`, so other threads allocate and free meanwhile. The user's functions run under neither.
 *
 * Order of locking: the registry's lock, growth_lock, lock, the locks of arenas by their numbers, watch_lock or
 * use_lock.
 */
#ifndef TN_POOL_STRUCT_H
#define TN_POOL_STRUCT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/biased_mutex.h"
#include "../../base/log.h"
#include "../../base/sanitizer.h"
#include "../../base/sync.h"
#include "../parts/arena.h"
#include "../parts/growth.h"
#include "../parts/static_pool_list.h"
#include "../parts/step_range.h"
#include "../parts/stream_table.h"
#include "../parts/use_table.h"
#include "tarn/tarn.h"

/* Further events go back to the vendor. */
#define TN_POOL_SPARE_EVENTS_MAX 16

/* Where memory lies. */
struct tn_location {
    int device; /* or TARN_DEVICE_CURRENT */
    tarn_memory_kind kind;
};

enum tn_pool_state {
    TN_POOL_STATE_CLOSED = 0,
    /* A magic number, which stray memory is unlikely to hold. */
    TN_POOL_STATE_OPEN = 0x7461726e,
    TN_POOL_STATE_FORKED = 0x666f726b /* a pool of the parent process: only its state may be read */
};

/* Why each call of a pool must take the careful path, see careful.h. The sum of the reasons. */
enum tn_care {
    TN_CARE_CALLERS = 1,   /* the call notes its caller */
    TN_CARE_RECORDING = 2, /* a recording notes the call */
    TN_CARE_USES = 4       /* a free may have to wait for further streams, see pool_uses.h */
};

/* Is told of static pools, see pool_callbacks.h. */
struct tn_observer {
    struct tn_observer *next;               /* the next newer one */
    tarn_observer number;                   /* newer ones have larger numbers */
    tarn_static_pool_callback on_created;   /* or NULL */
    tarn_static_pool_callback on_destroyed; /* or NULL */
    void *user;
    bool has_ended;     /* it is in no list any more */
    unsigned use_count; /* the list, its functions that run, and threads that wait for these */
};

/* Why the pool held each byte of its largest footprint, see footprint.h. */
struct tn_footprint_peak {
    size_t part_bytes[TARN_FOOTPRINT_PARTS_MAX]; /* by tarn_footprint_part */
    uint64_t alloc_count;                        /* of the pool's own part, at the last look */
};

struct tarn_pool {
    /* A handle outlives its pool, so the state can be read after the pool is destroyed. */
    _Atomic uint32_t state;
    struct tarn_pool *next_handle; /* under the registry's lock */
    _Atomic unsigned pin_count; /* walks that stand at the pool; grows under the registry's lock */

    _Atomic uint8_t needs_care; /* the sum of the reasons, TN_CARE_ each; 0: none */

    /* Constant from init to fini, read without a lock. */
    unsigned chunk_log2;
    size_t alignment_bytes; /* of every address; at most a chunk */
    bool
        zero_has_address; /* a request of zero bytes is served as one of one byte; else it gets NULL */
    bool releases_after_free; /* a free may give static pools back */
    bool returns_when_empty;
    bool forbids_free_memory;  /* tells the address sanitizer; false in builds without it */
    struct tn_debug *debug;    /* NULL: the pool is not in debug mode */
    bool notes_callers;        /* the pool is in debug mode, or has a fallback, which may be */
    bool passes_through;       /* each allocation has a static pool of its own, released with it */
    bool is_shareable;         /* steps are mapped so that they can be exported */
    double pending_factor_max; /* less than 0: frees do not wait. See pending_bound.h */
    size_t release_threshold_bytes;
    struct tn_growth_policy growth;
    size_t backend_alignment_bytes;
    size_t range_granularity_bytes; /* this and the next two: see tarn_device_properties */
    bool has_shareable_ranges;
    uint64_t memory_id;
    struct tarn_pool *fallback;
    tarn_out_of_memory_function on_out_of_memory;
    void *user;
    tarn_backend backend;
    const struct tn_supplier *supplier; /* where its pieces come from */
    bool owns_backend;
    bool is_over_callers_memory;         /* the pool has one static pool from init to fini */
    char name[TARN_LABEL_BYTES_MAX + 1]; /* "": none */
    bool is_process_wide;                /* tarn_default_pool_destroy ends it */
    struct tn_location location;         /* of a process-wide pool */
    struct tarn_pool *next_process_wide; /* an older one, or NULL */
    bool is_ending;                      /* all memory goes back, whatever is under way */
    bool succeeds_parent; /* frees of unknown addresses succeed: they may be the parent's */

    bool reads_environment; /* variables may have set its options */
    bool identifies_streams;
    tarn_stream thread_stream;        /* see tarn_device_properties */
    tarn_stream default_stream_alias; /* see tarn_device_properties */

    /* Of calls that name no stream: NULL, or with free_waits those of any_stream.h. */
    tarn_stream default_stream;
    tarn_stream default_free_stream;

    /* Changed under both locks and with the arenas gathered or frozen. Read under either lock, or under the
     * lock of an active arena. */
    struct tn_static_pool_list list;
    struct tn_stream_table
        *streams; /* NULL while the pool knows one stream; its records are under growth_lock */
    tarn_stream only_stream; /* while there is no table; equals no handle if only_thread is set */
    uint64_t only_thread;    /* the thread that the one stream belongs to, or 0 */

    struct tn_arenas arenas;

    /* Threads in arenas read the fields above, while the holder of the lock writes those below. */
    char cache_lines_between[128];

    struct tn_biased_mutex lock;
    struct tn_part own;          /* all chunks that no arena has borrowed */
    struct tn_step_range *range; /* the addresses of a contiguous pool, or NULL */
    bool is_release_due;         /* a free left something to give back */
    size_t transit_bytes;        /* counted in the footprint, but of no piece that has joined */
    struct tn_footprint_peak peak;
    struct tn_pieces pieces; /* the memory from the backend; pieces.h says what guards it */

    struct tn_mutex watch_lock; /* held while a tool is told */
    bool is_unwatched;          /* no tool is told any more; under watch_lock */

    struct tn_mutex use_lock;
    struct tn_use_table uses; /* under use_lock */

    struct tn_mutex growth_lock;
    tarn_event spare_events[TN_POOL_SPARE_EVENTS_MAX]; /* ready to be recorded */
    unsigned spare_event_count;
    size_t refused_bytes;                /* see tn_growth_state */
    enum tn_growth_course growth_course; /* of the growth under way */
    unsigned growths_since_refusal;
    struct tn_observer first_observer; /* of the options; in the list if they name functions */
    struct tn_observer *observers;     /* by their numbers */
    tarn_observer newest_observer;     /* the number that was given last */
    unsigned
        observing_count; /* threads that tell a new observer of the static pools that are there; changed under
                                * both locks */
    unsigned callback_count;     /* functions of the user that run now */
    unsigned arriving_count;     /* threads that tell of pieces that have come */
    uint64_t callback_end_count; /* functions of the user that have returned since init */
    uint64_t change_count; /* of what may let an allocation succeed that has failed: see ladder.c */
    struct tn_condition callback_ended;
    bool has_told_eviction; /* the log has said that the pool evicts streams */

    /* Constant from init to fini. */
    uint64_t number; /* of the pool among all of the process, from 1 */
    atomic_bool
        is_for_process; /* the pool was made for tarn_malloc, and stays its own to the end */
    char backend_name
        [48]; /* a copy: the backend of the user's may have gone at the end of the process */
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

/* --- care --------------------------------------------------------------------------------------- */

/* Sets or clears one reason; the others stay. */
static inline void tn_pool_set_care(struct tarn_pool *pool, enum tn_care reason, bool is_given)
{
    if (is_given) {
        atomic_fetch_or(&pool->needs_care, (uint8_t)reason);
    } else {
        atomic_fetch_and(&pool->needs_care, (uint8_t) ~(unsigned)reason);
    }
}

/* --- the lock ---------------------------------------------------------------------------------- */

/* For calls that allocate, free or count. Calls that look at all of the pool, or change static pools or
 * streams, take tn_pool_lock_and_gather of gather.h. */
static inline void tn_pool_lock(struct tarn_pool *pool)
{
    tn_biased_mutex_lock(&pool->lock);
}

static inline void tn_pool_unlock(struct tarn_pool *pool)
{
    tn_biased_mutex_unlock(&pool->lock);
}

/* --- growth_lock: messages of the log wait until it is released ----------------------------------- */

static inline void tn_pool_lock_growth(struct tarn_pool *pool)
{
    tn_log_hold();
    tn_mutex_lock(&pool->growth_lock);
}

static inline bool tn_pool_try_lock_growth(struct tarn_pool *pool)
{
    if (!tn_mutex_try_lock(&pool->growth_lock)) return false;
    tn_log_hold();
    return true;
}

/* Delivers the thread's messages, unless it holds another lock that they wait for. The program's function may run. */
static inline void tn_pool_unlock_growth(struct tarn_pool *pool)
{
    tn_mutex_unlock(&pool->growth_lock);
    tn_log_release();
}

/* --- for assertions: whether the calling thread holds the locks -------------------------------- */

static inline bool tn_pool_is_locked(const struct tarn_pool *pool)
{
    return tn_biased_mutex_is_held(&pool->lock);
}

static inline bool tn_pool_is_growing(const struct tarn_pool *pool)
{
    return tn_mutex_is_held(&pool->growth_lock);
}

/* The lock of the part: the pool's for its own part and for an arena that is not active, else the arena's. */
static inline bool tn_pool_is_part_locked(const struct tarn_pool *pool, const struct tn_part *part)
{
    if (part == &pool->own) return tn_pool_is_locked(pool);
    const struct tn_arena *arena = tn_arena_of_part(part);
    return tn_biased_mutex_is_held(&arena->lock) || (tn_pool_is_locked(pool) && !arena->is_active);
}

/* --- the address sanitizer --------------------------------------------------------------------- */

/* Tells it that the program must not touch these bytes, in a pool over host memory. */
static inline void tn_pool_forbid(const struct tarn_pool *pool, const void *address,
                                  size_t size_bytes)
{
    if (TN_HAS_ADDRESS_SANITIZER && pool->forbids_free_memory)
        tn_sanitizer_forbid(address, size_bytes);
}

/* Tells it that the program may touch these bytes again. */
static inline void tn_pool_allow(const struct tarn_pool *pool, const void *address,
                                 size_t size_bytes)
{
    if (TN_HAS_ADDRESS_SANITIZER && pool->forbids_free_memory)
        tn_sanitizer_allow(address, size_bytes);
}

#endif
