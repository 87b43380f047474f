/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_pool: a pool in debug mode: what is done besides when it allocates and frees. It stands between the
 * public functions and the pool, which knows nothing of it but that there is one.
 *
 *     api ──► debug_pool ──► pool        pools in debug mode
 *         └────────────────► pool        all others
 *
 * The pool is asked for a block, which holds the zones too:
 *
 *     block     │ zone before │ what was asked for │ zone after │ rest of the last chunk │
 *                             ▲ the program's address
 *
 * Threads: any. `lock` is taken with no lock of the hot path held, and no call of the vendor and no code of
 * the user's runs under it.
 * Cost: microseconds; with zones, poison or quarantine, waits for streams.
 */
#ifndef TN_DEBUG_POOL_H
#define TN_DEBUG_POOL_H

#include "../../base/compiler.h"

#include "debug_table.h"
#include "../pool/pool.h"
#include "../pool/pool_resize.h"
#include "../pool/route.h"

/* What reads or writes the memory. */
#define TN_DEBUG_FLAGS_OF_MEMORY (TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE)

struct tn_debug {
    /* The same from init to fini. */
    unsigned flags;
    size_t quarantine_bytes_max;

    struct tn_mutex lock; /* guards what follows */
    struct tn_debug_table table;
    uint64_t serial;       /* of the newest record */
    struct tn_stats stats; /* what the program has; of used bytes, what is quarantined or damaged */
    uint64_t undone_count; /* blocks that the pool counts and the program never had */
    struct tn_debug_record *oldest, *newest; /* the quarantine */
    size_t quarantine_bytes;
    size_t quarantine_count;
    uint64_t damaged_count;
};

/* Puts a pool that nobody knows yet into debug mode, if the options say so. Errors: OUT_OF_HOST_MEMORY;
 * NOT_SUPPORTED (the message names `debug`). */
tarn_status tn_debug_init(struct tarn_pool *pool, const tarn_pool_options *options);

/* After the pool's own end. */
void tn_debug_fini(struct tarn_pool *pool);

/* Whom what follows in this thread is put down to: who called the library. */
void tn_debug_note_caller(const struct tarn_pool *pool, const void *caller);

/* The same kept aside, for where the user's code runs in between. */
struct tn_call_site tn_debug_save_caller(void);
void tn_debug_restore_caller(const struct tn_call_site *site);

/* As tn_pool_alloc, tn_pool_free and tn_pool_resize, in a pool that is in debug mode. CORRUPT: the allocation was
 * damaged, and is freed. */
tarn_status tn_debug_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                           tarn_stream stream, void **address_out);
tarn_status tn_debug_free(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                          const tarn_stream *streams, size_t stream_count);
tarn_status tn_debug_resize(struct tarn_pool *pool, void *address, size_t size_bytes,
                            tarn_stream stream);

/* Lets the whole quarantine go, if the pool has one. */
void tn_debug_empty_quarantine(struct tarn_pool *pool);

/* Whichever the pool needs. */
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

/* As tn_pool_find, tn_pool_leaks, tn_pool_available and tn_pool_check: what the program sees. */
enum tn_find_result tn_debug_find(struct tarn_pool *pool, const void *address,
                                  tarn_allocation *found_out);
tarn_leaks tn_debug_leaks(struct tarn_pool *pool);
tarn_status tn_debug_available(struct tarn_pool *pool, size_t *available_bytes_out);
tarn_status tn_debug_check(struct tarn_pool *pool);

/* Makes the pool's statistics the program's. */
void tn_debug_adjust_stats(const struct tarn_pool *pool, tarn_stats *stats);

/* What is remembered of the block that starts there. False: nothing. */
bool tn_debug_look_up(const struct tarn_pool *pool, uintptr_t block,
                      struct tn_debug_record *record_out);

/* Copies of the records of one instant, of all or of the live ones, to be given to tn_host_memory_free. NULL: no host
 * memory, which is said. */
struct tn_debug_record *tn_debug_copy_records(const struct tarn_pool *pool, bool only_live,
                                              size_t *count_out);

/* Whether an address that the pool counts as live is not the program's: in a zone, or held back after its free. */
bool tn_debug_has_lost(struct tarn_pool *pool, const void *address);

/* Says that an address was freed before, and by whom, if it is known. False: it is not. */
bool tn_debug_fail_for_freed(struct tarn_pool *pool, const void *address);

/* Whether the zones of a live record are whole, or a quarantined one is as it was filled: writes to *damaged_out and
 * to the record's first_wrong and is_used_late. */
tarn_backend_result tn_debug_inspect(const struct tarn_pool *pool, struct tn_debug_record *record,
                                     tarn_stream stream, bool *damaged_out);

/* Says what is wrong with a record. */
tarn_status tn_debug_fail_for_damage(const struct tn_debug_record *record);

/* Whether some stream is being captured: then nothing may be filled, copied or waited for. */
bool tn_debug_is_capturing(struct tarn_pool *pool);

/* The block that an address lies in, which need not be live for the program. False: in none. */
bool tn_debug_find_block(struct tarn_pool *pool, const void *address, uintptr_t *block_out);

#endif
