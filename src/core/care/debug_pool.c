/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_pool: a record for each block.
 *
 *     alloc ──► live ── free ──► quarantined ── let go ──► back in the pool
 *                 │  └───────────────────────────────────► back in the pool, without quarantine
 *                 └──────────► damaged ◄─┘
 *
 * A free first takes the record out of the table, so a second free finds none. It gives the block to the pool
 * last, so a block never has two records. In between it inspects and fills the memory with no lock held.
 *
 * Where a tool of the backend's watches the memory, debug mode tells the tool which memory is live, and
 * neither fills nor inspects: the tool would report that, and it finds more.
 */
#include "debug_pool.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../../base/host_memory.h"
#include "../../base/process.h"
#include "../serve/pool_streams.h"
#include "../arenas/pool_uses.h"
#include "../supply/debug_memory.h"
#include "../supply/pool_watch.h"

/* --- life ----------------------------------------------------------------------------------------- */

static TN_COLD tarn_status fail_for_host_memory(const char *what)
{
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory for %s", what);
}

tarn_status tn_debug_init(struct tarn_pool *pool, const tarn_pool_options *options)
{
    if (options->debug == 0) return TARN_STATUS_OK;
    if ((options->debug & TN_DEBUG_FLAGS_OF_MEMORY) &&
        !tn_debug_memory_is_supported(&pool->backend)) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "debug is 0x%x: zones, poison and quarantine need fill, copy and "
                       "stream_synchronize, which the %s backend lacks",
                       options->debug, pool->backend.operations->name);
    }
    struct tn_debug *debug = tn_host_memory_alloc_zeroed(sizeof *debug);
    if (!debug || !tn_debug_table_init(&debug->table)) {
        tn_host_memory_free(debug);
        return fail_for_host_memory("a pool's debug mode");
    }
    tn_mutex_init(&debug->lock);
    debug->flags = options->debug;
    debug->quarantine_bytes_max = options->quarantine_bytes;
    if (debug->flags & TARN_DEBUG_SITES) tn_call_site_prepare();
    pool->debug = debug;
    return TARN_STATUS_OK;
}

void tn_debug_fini(struct tarn_pool *pool)
{
    struct tn_debug *debug = pool->debug;
    if (!debug) return;
    pool->debug = NULL;
    tn_debug_table_fini(&debug->table);
    tn_label_stats_free(&debug->labels);
    tn_mutex_fini(&debug->lock);
    tn_host_memory_free(debug);
}

/* --- call sites ------------------------------------------------------------------------------------ */

void tn_debug_note_caller(const struct tarn_pool *pool, const void *caller)
{
    if (pool->debug->flags & TARN_DEBUG_SITES) tn_call_site_capture(tn_call_site_noted(), caller);
}

struct tn_call_site tn_debug_save_caller(void)
{
    return *tn_call_site_noted();
}

void tn_debug_restore_caller(const struct tn_call_site *site)
{
    *tn_call_site_noted() = *site;
}

static void note_origin(const struct tn_debug *debug, struct tn_debug_origin *origin)
{
    *origin = (struct tn_debug_origin){ .label = "" };
    if (debug->flags & TARN_DEBUG_SITES) origin->site = *tn_call_site_noted();
    memcpy(origin->label, tn_label_current_text(), TN_LABEL_BYTES);
}

/* --- records --------------------------------------------------------------------------------------- */

static size_t used_bytes_of(const struct tarn_pool *pool, const struct tn_debug_record *record)
{
    return tn_count_units(record->range.block_bytes, pool->chunk_log2) << pool->chunk_log2;
}

/* The label under which an allocation of the calling thread is counted. Without host memory it is not counted. */
static uint32_t label_to_count(struct tn_debug *debug)
{
    uint32_t label = tn_label_current();
    if (label == TN_LABEL_NONE || !tn_label_stats_ensure(&debug->labels)) return TN_LABEL_NONE;
    return label;
}

/* is_new: the block was just allocated; else a free of it has failed, and it is live again. */
static void count_live(struct tn_debug *debug, const struct tn_debug_record *record, bool is_new)
{
    size_t size_bytes = record->range.size_bytes;
    tn_stats_count_alloc(&debug->stats, size_bytes, 0);
    if (!is_new) debug->stats.size_histogram[tn_stats_histogram_bin(size_bytes)]--;
    if (record->label == TN_LABEL_NONE) return;
    struct tn_label_stats *labels = tn_label_stats_get(&debug->labels);
    tn_label_stats_count_alloc(labels, record->label, size_bytes);
    if (!is_new) labels->counts[record->label].alloc_count--;
}

static void count_taken(struct tn_debug *debug, const struct tn_debug_record *record)
{
    size_t size_bytes = record->range.size_bytes;
    tn_stats_count_free(&debug->stats, size_bytes, 0);
    if (record->label != TN_LABEL_NONE)
        tn_label_stats_count_free(tn_label_stats_get(&debug->labels), record->label, size_bytes);
}

/* is_new: as of count_live. */
static void insert_live(struct tn_debug *debug, struct tn_debug_record *record, bool is_new)
{
    tn_mutex_lock(&debug->lock);
    record->serial = ++debug->serial;
    tn_debug_table_insert(&debug->table, record);
    count_live(debug, record, is_new);
    tn_mutex_unlock(&debug->lock);
}

/* Takes the record of the live allocation that starts at an address, so that no other thread can free it.
 * NULL: there is none. */
static struct tn_debug_record *take_live(struct tarn_pool *pool, const void *address)
{
    struct tn_debug *debug = pool->debug;
    uintptr_t block;
    if (!tn_debug_find_block(pool, address, &block)) return NULL;
    tn_mutex_lock(&debug->lock);
    struct tn_debug_record *record = tn_debug_table_find(&debug->table, block);
    if (record && record->state == TN_DEBUG_STATE_LIVE &&
        record->range.address == (uintptr_t)address) {
        tn_debug_table_take(&debug->table, block);
        count_taken(debug, record);
    } else {
        record = NULL;
    }
    tn_mutex_unlock(&debug->lock);
    return record;
}

/* The program has freed the block, and the pool keeps it live. Requires: the lock of debug mode. */
static void insert_kept(struct tarn_pool *pool, struct tn_debug_record *record,
                        enum tn_debug_state state)
{
    record->state = state;
    tn_debug_table_insert(&pool->debug->table, record);
    pool->debug->stats.used_bytes += used_bytes_of(pool, record);
}

/* Reports the damage. The pool keeps the block for ever. */
static tarn_status keep_damaged(struct tarn_pool *pool, struct tn_debug_record *record)
{
    tarn_status status = tn_debug_fail_for_damage(record);
    tn_mutex_lock(&pool->debug->lock);
    insert_kept(pool, record, TN_DEBUG_STATE_DAMAGED);
    pool->debug->damaged_count++;
    tn_mutex_unlock(&pool->debug->lock);
    return status;
}

/* Frees a block whose record is out of the table. No check begins to read such a block, but one may be
 * reading it already. The device allows that until the memory goes back to the vendor, and a check holds
 * growth_lock against that. The address sanitizer does not allow it, so there the free waits for the check. */
static tarn_status free_block(struct tarn_pool *pool, const struct tn_debug_record *record,
                              const tarn_stream *streams, size_t stream_count)
{
    if (pool->forbids_free_memory) {
        tn_pool_lock_growth(pool);
        tn_pool_unlock_growth(pool);
    }
    return tn_pool_free(pool, (void *)record->range.block, NULL, streams, stream_count);
}

/* --- the quarantine -------------------------------------------------------------------------------- */

static void quarantine(struct tarn_pool *pool, struct tn_debug_record *record)
{
    struct tn_debug *debug = pool->debug;
    note_origin(debug, &record->freed);
    tn_mutex_lock(&debug->lock);
    insert_kept(pool, record, TN_DEBUG_STATE_QUARANTINED);
    record->newer = NULL;
    if (debug->newest) {
        debug->newest->newer = record;
    } else {
        debug->oldest = record;
    }
    debug->newest = record;
    debug->quarantine_count++;
    debug->quarantine_bytes += used_bytes_of(pool, record);
    tn_mutex_unlock(&debug->lock);
}

/* Takes the oldest record out of a quarantine of more than so many bytes. NULL: it has no more. */
static struct tn_debug_record *take_oldest(struct tarn_pool *pool, size_t bytes_max)
{
    struct tn_debug *debug = pool->debug;
    struct tn_debug_record *oldest = NULL;
    tn_mutex_lock(&debug->lock);
    if (debug->quarantine_bytes > bytes_max) {
        oldest = debug->oldest;
        debug->oldest = oldest->newer;
        if (!debug->oldest) debug->newest = NULL;
        debug->quarantine_count--;
        debug->quarantine_bytes -= used_bytes_of(pool, oldest);
        debug->stats.used_bytes -= used_bytes_of(pool, oldest);
        tn_debug_table_take(&debug->table, oldest->range.block);
    }
    tn_mutex_unlock(&debug->lock);
    return oldest;
}

/* Inspects a block that has left the quarantine, and frees it. All work on it was waited for, so it needs no
 * stream. */
static void let_go(struct tarn_pool *pool, struct tn_debug_record *record)
{
    bool is_damaged;
    tarn_backend_result result = tn_debug_inspect(pool, record, pool->default_stream, &is_damaged);
    if (result.status == TARN_STATUS_OK && is_damaged) {
        keep_damaged(pool, record);
        return;
    }
    free_block(pool, record, NULL, 0);
    tn_host_memory_free(record);
}

/* Lets the oldest blocks go until the quarantine has no more than so many bytes. False: none was let go. */
static bool let_go_all_above(struct tarn_pool *pool, size_t bytes_max)
{
    struct tn_debug_record *oldest = NULL;
    bool has_changed = false;
    while (!tn_captures_are_under_way() && (oldest = take_oldest(pool, bytes_max)) != NULL) {
        let_go(pool, oldest);
        has_changed = true;
    }
    return has_changed;
}

/* --- alloc ----------------------------------------------------------------------------------------- */

/* Where in its block the request lies; the address is an offset until the block is there. False: the sizes
 * overflow. */
static bool place(const struct tn_debug *debug, size_t size_bytes, size_t alignment_bytes,
                  struct tn_debug_range *range)
{
    bool has_zones = debug->flags & TARN_DEBUG_ZONES;
    size_t lead = has_zones ? tn_max(alignment_bytes, TARN_DEBUG_ZONE_BYTES) : 0;
    size_t trail = has_zones ? TARN_DEBUG_ZONE_BYTES : 0;
    *range = (struct tn_debug_range){ .address = lead, .size_bytes = size_bytes };
    return tn_add_fits(lead + trail, size_bytes, &range->block_bytes) && lead <= SIZE_MAX - trail;
}

/* Fills zones and memory, and waits. */
static tarn_backend_result fill_for_use(const struct tarn_pool *pool,
                                        const struct tn_debug_range *range, tarn_stream stream)
{
    const tarn_backend *backend = &pool->backend;
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    if (pool->debug->flags & TARN_DEBUG_ZONES) {
        result = tn_debug_memory_fill(backend, range->address - TARN_DEBUG_ZONE_BYTES,
                                      TARN_DEBUG_BYTE_ZONE, TARN_DEBUG_ZONE_BYTES, stream);
        if (result.status == TARN_STATUS_OK)
            result = tn_debug_memory_fill(backend, range->address + range->size_bytes,
                                          TARN_DEBUG_BYTE_ZONE, TARN_DEBUG_ZONE_BYTES, stream);
    }
    if (result.status == TARN_STATUS_OK && (pool->debug->flags & TARN_DEBUG_POISON))
        result = tn_debug_memory_fill(backend, range->address, TARN_DEBUG_BYTE_ALLOCATED,
                                      range->size_bytes, stream);
    if (result.status == TARN_STATUS_OK) result = tn_debug_memory_wait(backend, &stream, 1);
    return result;
}

static tarn_status alloc_block(struct tarn_pool *pool, size_t block_bytes, size_t alignment_bytes,
                               tarn_stream stream, void **block_out)
{
    tarn_status status = tn_pool_alloc(pool, block_bytes, alignment_bytes, stream, block_out);
    bool is_for_memory = status == TARN_STATUS_OUT_OF_MEMORY || status == TARN_STATUS_OVER_LIMIT;
    if (is_for_memory && let_go_all_above(pool, 0))
        status = tn_pool_alloc(pool, block_bytes, alignment_bytes, stream, block_out);
    return status;
}

static tarn_status undo_alloc(struct tarn_pool *pool, void *block, tarn_stream stream,
                              tarn_backend_result result)
{
    if (tn_pool_free(pool, block, NULL, &stream, 1) == TARN_STATUS_OK) {
        tn_mutex_lock(&pool->debug->lock);
        pool->debug->undone_count++;
        tn_mutex_unlock(&pool->debug->lock);
    }
    return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                          "the %s backend could not fill an allocation of debug mode",
                          pool->backend.operations->name);
}

static tarn_status alloc_recorded(struct tarn_pool *pool, struct tn_debug_record *record,
                                  size_t alignment_bytes, tarn_stream stream, void **address_out)
{
    void *block;
    struct tn_debug_range *range = &record->range;
    tarn_status status = alloc_block(pool, range->block_bytes, alignment_bytes, stream, &block);
    if (status != TARN_STATUS_OK) return status;
    range->block = (uintptr_t)block;
    range->address += range->block;
    record->is_filled = (pool->debug->flags & TN_DEBUG_FLAGS_OF_MEMORY) &&
                        !tn_pool_is_watched(pool, range->block) && !tn_captures_are_under_way();
    if (record->is_filled) {
        tarn_backend_result result = fill_for_use(pool, range, stream);
        record->is_filled = result.status == TARN_STATUS_OK;
        /* At the end of the process the vendor fails, and the pool still serves. */
        if (!record->is_filled && !tn_process_is_ending())
            return undo_alloc(pool, block, stream, result);
    }
    tn_pool_watch_allow(pool, range->address, range->size_bytes);
    *address_out = (void *)range->address;
    insert_live(pool->debug, record, true);
    return status;
}

tarn_status tn_debug_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                           tarn_stream stream, void **address_out)
{
    struct tn_debug_record *record = tn_host_memory_alloc_zeroed(sizeof *record);
    if (!record) return fail_for_host_memory("an allocation's record in debug mode");
    note_origin(pool->debug, &record->allocated);
    record->label = label_to_count(pool->debug);
    tarn_status status = TARN_STATUS_SIZE_TOO_LARGE;
    alignment_bytes = tn_max(alignment_bytes, pool->alignment_bytes);
    if (place(pool->debug, size_bytes, alignment_bytes, &record->range)) {
        status = alloc_recorded(pool, record, alignment_bytes, stream, address_out);
    } else {
        tn_fail(status, "%zu bytes with zones around them are too many", size_bytes);
    }
    if (status != TARN_STATUS_OK) tn_host_memory_free(record);
    return status;
}

/* --- free ------------------------------------------------------------------------------------------ */

enum outcome {
    UNSEEN, /* not inspected: it has no patterns, or the vendor failed */
    UNSURE, /* the zones are whole, but the vendor failed while it filled the block */
    SEEN, /* no work uses the block, and the zones are whole and the block is filled; or a tool watches */
    DAMAGED
};

/* Waits for the streams that the free names. If the block is used on further ones, waits for the device: handles of
 * these may end meanwhile, and one may be another thread's own stream. */
static tarn_backend_result wait_for_users(struct tarn_pool *pool,
                                          const struct tn_debug_record *record,
                                          const tarn_stream *streams, size_t stream_count)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    tarn_backend_result result = tn_debug_memory_wait(&pool->backend, streams, stream_count);
    if (result.status != TARN_STATUS_OK || !tn_pool_is_used(pool, record->range.block))
        return result;
    if (operations->synchronize) return operations->synchronize(pool->backend.state);
    result.status = TARN_STATUS_NOT_SUPPORTED;
    return result;
}

/* Waits for the streams, and inspects and fills the block of a free. */
static enum outcome see_off(struct tarn_pool *pool, struct tn_debug_record *record,
                            const tarn_stream *streams, size_t stream_count)
{
    const struct tn_debug_range *range = &record->range;
    tarn_stream stream = stream_count > 0 ? streams[0] : pool->default_stream;
    bool is_damaged;
    bool is_watched = tn_pool_is_watched(pool, range->block);
    if ((!record->is_filled && !is_watched) || tn_captures_are_under_way()) return UNSEEN;
    tarn_backend_result result = wait_for_users(pool, record, streams, stream_count);
    if (result.status != TARN_STATUS_OK) return UNSEEN;
    if (is_watched) return SEEN;
    result = tn_debug_inspect(pool, record, stream, &is_damaged);
    if (result.status != TARN_STATUS_OK) return UNSEEN;
    if (is_damaged) return DAMAGED;
    if (!(pool->debug->flags & TARN_DEBUG_POISON)) return SEEN;
    result = tn_debug_memory_fill(&pool->backend, range->block, TARN_DEBUG_BYTE_FREED,
                                  range->block_bytes, stream);
    if (result.status == TARN_STATUS_OK) result = tn_debug_memory_wait(&pool->backend, &stream, 1);
    return result.status == TARN_STATUS_OK ? SEEN : UNSURE;
}

static bool find_size(struct tarn_pool *pool, const void *address, size_t *size_bytes_out)
{
    tarn_allocation found;
    if (tn_debug_find(pool, address, &found) != TN_FIND_RESULT_FOUND) return false;
    *size_bytes_out = found.size_bytes;
    return found.address == address;
}

tarn_status tn_debug_free(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                          const tarn_stream *streams, size_t stream_count)
{
    struct tn_debug *debug = pool->debug;
    size_t actual_bytes;
    if (told_bytes && find_size(pool, address, &actual_bytes) && actual_bytes != *told_bytes)
        return tn_pool_fail_for_wrong_size(pool, address, actual_bytes, *told_bytes);
    struct tn_debug_record *record = take_live(pool, address);
    if (!record) {
        tn_pool_count_failure(pool);
        return TARN_STATUS_NOT_LIVE;
    }
    enum outcome outcome = see_off(pool, record, streams, stream_count);
    tn_pool_watch_forbid(pool, record->range.address);
    if (outcome == DAMAGED) {
        note_origin(debug, &record->freed);
        tn_pool_remove_uses(pool, record->range.block);
        return keep_damaged(pool, record);
    }
    if (outcome == SEEN && (debug->flags & TARN_DEBUG_QUARANTINE)) {
        tn_pool_remove_uses(pool, record->range.block);
        quarantine(pool, record);
        let_go_all_above(pool, debug->quarantine_bytes_max);
        return TARN_STATUS_OK;
    }
    tarn_status status = free_block(pool, record, streams, stream_count);
    if (status == TARN_STATUS_OK) {
        tn_host_memory_free(record);
    } else {
        bool is_filled_over = outcome != UNSEEN && (debug->flags & TARN_DEBUG_POISON);
        if (is_filled_over) record->is_filled = false;
        tn_pool_watch_allow(pool, record->range.address, record->range.size_bytes);
        insert_live(debug, record, false);
    }
    return status;
}

void tn_debug_empty_quarantine(struct tarn_pool *pool)
{
    if (pool->debug) let_go_all_above(pool, 0);
}

/* --- resize ---------------------------------------------------------------------------------------- */

static void count_resize(struct tn_debug *debug, const struct tn_debug_record *record,
                         size_t size_bytes)
{
    size_t old_bytes = record->range.size_bytes;
    tn_stats_count_resize(&debug->stats, old_bytes, 0, size_bytes, 0);
    if (record->label != TN_LABEL_NONE)
        tn_label_stats_count_resize(tn_label_stats_get(&debug->labels), record->label, old_bytes,
                                    size_bytes);
}

/* Another thread may have freed the allocation by now. */
static void note_size(struct tn_debug *debug, uintptr_t block, size_t size_bytes)
{
    tn_mutex_lock(&debug->lock);
    struct tn_debug_record *record = tn_debug_table_find(&debug->table, block);
    if (record && record->state == TN_DEBUG_STATE_LIVE) {
        count_resize(debug, record, size_bytes);
        record->range.size_bytes = record->range.block_bytes = size_bytes;
    }
    tn_mutex_unlock(&debug->lock);
}

tarn_status tn_debug_resize(struct tarn_pool *pool, void *address, size_t size_bytes,
                            tarn_stream stream)
{
    struct tn_debug *debug = pool->debug;
    size_t old_bytes;
    if (!find_size(pool, address, &old_bytes)) return TARN_STATUS_NOT_LIVE;
    if (old_bytes == size_bytes) return TARN_STATUS_OK;
    /* Zones, or a tool's late reports, refer to its present ends. */
    if ((debug->flags & TN_DEBUG_FLAGS_OF_MEMORY) || tn_pool_is_watched(pool, (uintptr_t)address)) {
        return tn_fail(TARN_STATUS_NOT_IN_PLACE,
                       "%p of %zu bytes cannot have %zu where it lies: debug mode watches its ends",
                       address, old_bytes, size_bytes);
    }
    tarn_status status = tn_pool_resize(pool, address, size_bytes, stream);
    if (status == TARN_STATUS_OK) note_size(debug, (uintptr_t)address, size_bytes);
    return status;
}
