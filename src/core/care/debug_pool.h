/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_pool: a pool in debug mode: checks and records around its allocations and frees. It stands between
 * the public functions and the pool. The pool only knows that it is there.
 *
 *     api ──► care ──► debug_pool ──► pool        pools in debug mode
 *         └─────────────────────────► pool        all others
 *
 * debug_pool allocates a block from the pool, which has room for the zones too:
 *
 *     block     │ zone before │ requested bytes │ zone after │ rest of the last chunk │
 *                             ▲ the program's address
 *
 * Threads: any. The lock of debug mode is never taken under the pool's lock, but the pool's may be taken under it: what
 * is read under both is of one instant. No vendor call and no user's function runs under it.
 * Cost: microseconds; with zones, poison or quarantine, waits for streams.
 */
#ifndef TN_DEBUG_POOL_H
#define TN_DEBUG_POOL_H

#include "../../base/compiler.h"

#include "../pool/pool.h"
#include "../pool/pool_resize.h"
#include "../pool/route.h"

#include "debug_table.h"

/* Flags of checks that read or write the memory. */
#define TN_DEBUG_FLAGS_OF_MEMORY (TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE)

struct tn_debug {
    /* Constant from init to fini: */
    unsigned flags;
    size_t quarantine_bytes_max;

    struct tn_mutex lock; /* guards the fields below */
    struct tn_debug_table table;
    uint64_t serial; /* of the newest record */
    struct tn_stats
        stats; /* the program's allocations; used bytes: quarantined and damaged blocks */
    tn_label_stats_pointer labels; /* of the program's allocations */
    uint64_t undone_count;         /* blocks that the pool has counted and the program never had */
    struct tn_debug_record *oldest, *newest; /* the quarantine */
    size_t quarantine_bytes;
    size_t quarantine_count;
    uint64_t damaged_count;
};

/* Puts a pool into debug mode if the options say so, before another thread knows the pool. Errors:
 * OUT_OF_HOST_MEMORY; NOT_SUPPORTED (the message names `debug`). */
tarn_status tn_debug_init(struct tarn_pool *pool, const tarn_pool_options *options);

/* Ends debug mode, after tn_pool_fini. */
void tn_debug_fini(struct tarn_pool *pool);

/* Notes where the program called the library: the call site of the records that this thread makes next. */
void tn_debug_note_caller(const struct tarn_pool *pool, const void *caller);

/* Save and restore the noted call site, around a user's function that may call the library. */
struct tn_call_site tn_debug_save_caller(void);
void tn_debug_restore_caller(const struct tn_call_site *site);

/* As tn_pool_alloc, tn_pool_free and tn_pool_resize, in a pool in debug mode. Also CORRUPT: the allocation is
 * damaged. It is freed for the program, and the pool keeps its block. */
tarn_status tn_debug_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                           tarn_stream stream, void **address_out);
tarn_status tn_debug_free(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                          const tarn_stream *streams, size_t stream_count);
tarn_status tn_debug_resize(struct tarn_pool *pool, void *address, size_t size_bytes,
                            tarn_stream stream);

/* Frees all blocks in quarantine, if the pool has one. */
void tn_debug_empty_quarantine(struct tarn_pool *pool);

/* tn_debug_... in a pool in debug mode, else tn_pool_...: */
static inline tarn_status tn_pool_alloc_any(struct tarn_pool *pool, size_t size_bytes,
                                            size_t alignment_bytes, tarn_stream stream,
                                            void **address_out)
{
    if (TN_UNLIKELY(pool->debug != NULL))
        return tn_debug_alloc(pool, size_bytes, alignment_bytes, stream, address_out);
    return tn_pool_alloc(pool, size_bytes, alignment_bytes, stream, address_out);
}

static inline tarn_status tn_pool_free_any(struct tarn_pool *pool, void *address,
                                           const size_t *told_bytes, const tarn_stream *streams,
                                           size_t stream_count)
{
    if (TN_UNLIKELY(pool->debug != NULL))
        return tn_debug_free(pool, address, told_bytes, streams, stream_count);
    return tn_pool_free(pool, address, told_bytes, streams, stream_count);
}

static inline tarn_status tn_pool_resize_any(struct tarn_pool *pool, void *address,
                                             size_t size_bytes, tarn_stream stream)
{
    if (TN_UNLIKELY(pool->debug != NULL)) return tn_debug_resize(pool, address, size_bytes, stream);
    return tn_pool_resize(pool, address, size_bytes, stream);
}

/* --- debug_check.c: queries, of any pool -------------------------------------------------------------- */

/* As tn_pool_find, tn_pool_find_sizes, tn_pool_leaks, tn_pool_stats, tn_pool_label_stats, tn_pool_reset_peaks,
 * tn_pool_available and tn_pool_check, with the allocations that the program has. */
enum tn_find_result tn_debug_find(struct tarn_pool *pool, const void *address,
                                  tarn_allocation *found_out);
bool tn_debug_find_usable_bytes(struct tarn_pool *pool, const void *address,
                                size_t *usable_bytes_out);
tarn_leaks tn_debug_leaks(struct tarn_pool *pool);
void tn_debug_stats(struct tarn_pool *pool, tarn_stats *stats_out);
bool tn_debug_label_stats(struct tarn_pool *pool, size_t index, tarn_label_stats *stats_out);
void tn_debug_reset_peaks(struct tarn_pool *pool);
tarn_status tn_debug_available(struct tarn_pool *pool, size_t *available_bytes_out);
tarn_status tn_debug_check(struct tarn_pool *pool);

/* Copies the label of the live allocation that starts at an address, "" for none. False: none starts there. */
bool tn_debug_find_label(struct tarn_pool *pool, const void *address,
                         char label_out[TN_LABEL_BYTES]);

/* Lock and unlock debug mode, if the pool is in it. Require that the pool is not locked. */
void tn_debug_hold(const struct tarn_pool *pool);
void tn_debug_release(const struct tarn_pool *pool);

/* Turns the pool's statistics into those of the program's allocations. Requires that debug mode is held, since before
 * the pool's statistics were taken: an allocation counts in the pool first, and a free there last. */
void tn_debug_adjust_stats(const struct tarn_pool *pool, tarn_stats *stats);

/* Copies the record of the block that starts there. False: there is none. */
bool tn_debug_look_up(const struct tarn_pool *pool, uintptr_t block,
                      struct tn_debug_record *record_out);

/* Copies of all records, or of the live ones, at one instant. The caller frees them by tn_host_memory_free.
 * NULL: no host memory, reported. */
struct tn_debug_record *tn_debug_copy_records(const struct tarn_pool *pool, bool only_live,
                                              size_t *count_out);

/* Whether an address is live for the pool and not for the program: in a zone, or in a block that the pool
 * keeps after its free. */
bool tn_debug_has_lost(struct tarn_pool *pool, const void *address);

/* Reports that an address was freed before, and where, if there is a record of that. False: there is none. */
bool tn_debug_fail_for_freed(struct tarn_pool *pool, const void *address);

/* Compares the zones of a live record, or all of a quarantined block, with the pattern. Writes *damaged_out,
 * and first_wrong and is_used_late of the record. */
tarn_backend_result tn_debug_inspect(const struct tarn_pool *pool, struct tn_debug_record *record,
                                     tarn_stream stream, bool *damaged_out);

/* Reports CORRUPT with the damage of a record. */
tarn_status tn_debug_fail_for_damage(const struct tn_debug_record *record);

/* Finds the block of the live allocation that starts at an address, in any pool. False: there is none. */
bool tn_debug_find_start(struct tarn_pool *pool, const void *address, uintptr_t *block_out);

/* Finds the block that an address lies in; the program may have freed it. False: there is none. */
bool tn_debug_find_block(struct tarn_pool *pool, const void *address, uintptr_t *block_out);

#endif
