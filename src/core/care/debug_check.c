/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* debug_check: queries of a pool in debug mode, and inspection of its memory. */
#include "debug_pool.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../../base/host_memory.h"
#include "../serve/pool_streams.h"
#include "../supply/debug_memory.h"
#include "../supply/pool_watch.h"

/* --- finding --------------------------------------------------------------------------------------- */

bool tn_debug_find_block(struct tarn_pool *pool, const void *address, uintptr_t *block_out)
{
    tarn_allocation found;
    if (tn_pool_find(pool, address, &found) != TN_FIND_RESULT_FOUND) return false;
    *block_out = (uintptr_t)found.address;
    return true;
}

bool tn_debug_look_up(const struct tarn_pool *pool, uintptr_t block,
                      struct tn_debug_record *record_out)
{
    struct tn_debug *debug = pool->debug;
    if (!debug) return false;
    tn_mutex_lock(&debug->lock);
    const struct tn_debug_record *record = tn_debug_table_find(&debug->table, block);
    if (record) *record_out = *record;
    tn_mutex_unlock(&debug->lock);
    return record != NULL;
}

enum tn_find_result tn_debug_find(struct tarn_pool *pool, const void *address,
                                  tarn_allocation *found_out)
{
    struct tn_debug_record record;
    tarn_allocation found;
    if (!pool->debug) return tn_pool_find(pool, address, found_out);
    enum tn_find_result result = tn_pool_find(pool, address, &found);
    if (result != TN_FIND_RESULT_FOUND) return result;
    if (!tn_debug_look_up(pool, (uintptr_t)found.address, &record) ||
        record.state != TN_DEBUG_STATE_LIVE)
        return TN_FIND_RESULT_NOT_LIVE;
    if (pool->debug->flags & TARN_DEBUG_ZONES) {
        if ((uintptr_t)address - record.range.address >= record.range.size_bytes)
            return TN_FIND_RESULT_NOT_LIVE;
        found.address = (void *)record.range.address;
        found.size_bytes = found.usable_bytes = record.range.size_bytes;
    }
    if (tn_pool_is_watched(pool, (uintptr_t)found.address)) found.usable_bytes = found.size_bytes;
    *found_out = found;
    return TN_FIND_RESULT_FOUND;
}

bool tn_debug_find_usable_bytes(struct tarn_pool *pool, const void *address,
                                size_t *usable_bytes_out)
{
    tarn_allocation found;
    struct tn_allocation_sizes sizes;
    bool is_found = false;
    if (!pool->debug) {
        is_found = tn_pool_find_sizes(pool, address, &sizes);
        if (is_found) *usable_bytes_out = sizes.usable_bytes;
        return is_found;
    }
    is_found =
        tn_debug_find(pool, address, &found) == TN_FIND_RESULT_FOUND && found.address == address;
    if (is_found) *usable_bytes_out = found.usable_bytes;
    return is_found;
}

bool tn_debug_find_label(struct tarn_pool *pool, const void *address,
                         char label_out[TN_LABEL_BYTES])
{
    uintptr_t block;
    struct tn_debug_record record;
    struct tn_allocation_sizes sizes;
    if (!pool->debug) {
        bool is_found = tn_pool_find_sizes(pool, address, &sizes);
        if (is_found) memcpy(label_out, tn_label_text(sizes.label), TN_LABEL_BYTES);
        return is_found;
    }
    if (!tn_debug_find_block(pool, address, &block) || !tn_debug_look_up(pool, block, &record))
        return false;
    memcpy(label_out, record.allocated.label, TN_LABEL_BYTES);
    return record.state == TN_DEBUG_STATE_LIVE && record.range.address == (uintptr_t)address;
}

bool tn_debug_find_start(struct tarn_pool *pool, const void *address, uintptr_t *block_out)
{
    tarn_allocation found;
    struct tn_allocation_sizes sizes;
    if (!pool->debug) {
        *block_out = (uintptr_t)address;
        return tn_pool_find_sizes(pool, address, &sizes);
    }
    return tn_debug_find(pool, address, &found) == TN_FIND_RESULT_FOUND &&
           found.address == address && tn_debug_find_block(pool, address, block_out);
}

bool tn_debug_has_lost(struct tarn_pool *pool, const void *address)
{
    uintptr_t block;
    tarn_allocation found;
    return pool->debug && tn_debug_find_block(pool, address, &block) &&
           tn_debug_find(pool, address, &found) != TN_FIND_RESULT_FOUND;
}

/* The function that allocated or freed, or "" if it is not known. */
static const char *name_site(const struct tn_debug_origin *origin, char *text, size_t text_bytes)
{
    text[0] = '\0';
    if (origin->site.frame_count > 0)
        tn_call_site_describe(origin->site.frames[0], text, text_bytes);
    return text;
}

bool tn_debug_fail_for_freed(struct tarn_pool *pool, const void *address)
{
    struct tn_debug_record record;
    uintptr_t block;
    char text[128];
    if (!pool->debug || !tn_debug_find_block(pool, address, &block)) return false;
    if (!tn_debug_look_up(pool, block, &record) || record.state == TN_DEBUG_STATE_LIVE)
        return false;
    if (record.range.address != (uintptr_t)address) return false;
    const struct tn_debug_origin *freed = &record.freed;
    const char *site = name_site(freed, text, sizeof text);
    tn_fail(TARN_STATUS_NOT_LIVE, "%p of %zu bytes, label \"%s\", was freed before%s%s%s%s%s",
            address, record.range.size_bytes, record.allocated.label,
            freed->label[0] != '\0' ? ", under the label \"" : "", freed->label,
            freed->label[0] != '\0' ? "\"" : "", site[0] != '\0' ? ", by " : "", site);
    return true;
}

/* --- sums ------------------------------------------------------------------------------------------ */

tarn_leaks tn_debug_leaks(struct tarn_pool *pool)
{
    const struct tn_debug *debug = pool->debug;
    tn_debug_hold(pool);
    tarn_leaks leaks = tn_pool_leaks(pool);
    if (debug) {
        leaks.allocation_count = debug->stats.live_count;
        leaks.requested_bytes = debug->stats.requested_bytes;
        leaks.used_bytes -= debug->stats.used_bytes;
    }
    tn_debug_release(pool);
    return leaks;
}

tarn_status tn_debug_available(struct tarn_pool *pool, size_t *available_bytes_out)
{
    tarn_status status = tn_pool_available(pool, available_bytes_out);
    struct tn_debug *debug = pool->debug;
    if (!debug || status != TARN_STATUS_OK) return status;
    tn_mutex_lock(&debug->lock);
    *available_bytes_out += debug->quarantine_bytes;
    tn_mutex_unlock(&debug->lock);
    return status;
}

void tn_debug_hold(const struct tarn_pool *pool)
{
    if (pool->debug) tn_mutex_lock(&pool->debug->lock);
}

void tn_debug_release(const struct tarn_pool *pool)
{
    if (pool->debug) tn_mutex_unlock(&pool->debug->lock);
}

/* The used bytes are requested, quarantined, or rounding: in debug mode there are no slices. */
static void adjust_parts(const struct tn_stats *seen, tarn_stats *stats)
{
    size_t kept_bytes = tn_min(seen->used_bytes, stats->used_bytes - stats->requested_bytes);
    stats->part_bytes[TARN_FOOTPRINT_PART_REQUESTED] = stats->requested_bytes;
    stats->part_bytes[TARN_FOOTPRINT_PART_QUARANTINED] = kept_bytes;
    stats->part_bytes[TARN_FOOTPRINT_PART_ROUNDING] =
        stats->used_bytes - stats->requested_bytes - kept_bytes;
}

void tn_debug_adjust_stats(const struct tarn_pool *pool, tarn_stats *stats)
{
    const struct tn_debug *debug = pool->debug;
    if (!debug) return;
    TN_ASSERT(tn_mutex_is_held(&debug->lock));
    const struct tn_stats *seen = &debug->stats;
    /* Of an allocation that is being made smaller, the pool counts the new size first. */
    stats->requested_bytes = tn_min(seen->requested_bytes, stats->used_bytes);
    stats->requested_bytes_max = seen->requested_bytes_max;
    stats->live_count = seen->live_count;
    stats->live_count_max = seen->live_count_max;
    stats->alloc_count -= debug->undone_count;
    stats->free_count += debug->quarantine_count + debug->damaged_count;
    stats->free_count -= debug->undone_count;
    for (unsigned i = 0; i < TARN_STATS_HISTOGRAM_BINS; i++)
        stats->size_histogram[i] = seen->size_histogram[i];
    adjust_parts(seen, stats);
}

void tn_debug_stats(struct tarn_pool *pool, tarn_stats *stats_out)
{
    tn_debug_hold(pool);
    tn_pool_stats(pool, stats_out);
    tn_debug_adjust_stats(pool, stats_out);
    tn_debug_release(pool);
}

bool tn_debug_label_stats(struct tarn_pool *pool, size_t index, tarn_label_stats *stats_out)
{
    const struct tn_debug *debug = pool->debug;
    if (!debug) return tn_pool_label_stats(pool, index, stats_out);
    tn_debug_hold(pool);
    bool is_there = tn_label_stats_write(tn_label_stats_get(&debug->labels), index, stats_out);
    tn_debug_release(pool);
    return is_there;
}

void tn_debug_reset_peaks(struct tarn_pool *pool)
{
    struct tn_debug *debug = pool->debug;
    tn_debug_hold(pool);
    tn_pool_reset_peaks(pool);
    if (debug) {
        struct tn_label_stats *labels = tn_label_stats_get(&debug->labels);
        tn_stats_reset_peaks(&debug->stats);
        if (labels) tn_label_stats_reset_peaks(labels);
    }
    tn_debug_release(pool);
}

/* Copies at most count_max records. Returns how many there are. */
static size_t copy_records(const struct tarn_pool *pool, bool only_live, struct tn_debug_record *to,
                           size_t count_max)
{
    struct tn_debug *debug = pool->debug;
    size_t count = 0;
    tn_mutex_lock(&debug->lock);
    for (size_t i = 0; i < debug->table.bucket_count; i++) {
        const struct tn_debug_record *record = debug->table.buckets[i];
        for (; record; record = record->next) {
            if (only_live && record->state != TN_DEBUG_STATE_LIVE) continue;
            if (count < count_max) to[count] = *record;
            count++;
        }
    }
    tn_mutex_unlock(&debug->lock);
    return count;
}

struct tn_debug_record *tn_debug_copy_records(const struct tarn_pool *pool, bool only_live,
                                              size_t *count_out)
{
    size_t room = copy_records(pool, only_live, NULL, 0);
    for (;;) {
        /* A little more, because other threads may allocate before the copy. */
        room += room / 8 + 16;
        struct tn_debug_record *copies = tn_host_memory_alloc(room * sizeof *copies);
        if (!copies) {
            tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                    "no host memory for a copy of the pool's records");
            return NULL;
        }
        *count_out = copy_records(pool, only_live, copies, room);
        if (*count_out <= room) return copies;
        tn_host_memory_free(copies);
        room = *count_out;
    }
}

/* --- the memory ------------------------------------------------------------------------------------ */

tarn_status tn_debug_fail_for_damage(const struct tn_debug_record *record)
{
    const char *how = record->is_used_late      ? "after it was freed"
                      : record->first_wrong < 0 ? "before its start"
                                                : "beyond its end";
    char text[128];
    const char *who = name_site(&record->allocated, text, sizeof text);
    return tn_fail(
        TARN_STATUS_CORRUPT,
        "%p of %zu bytes, label \"%s\"%s%s, was written to %s: the first wrong byte is at "
        "offset %td",
        (void *)record->range.address, record->range.size_bytes, record->allocated.label,
        who[0] != '\0' ? ", allocated by " : "", who, how, record->first_wrong);
}

/* Finds the first byte of a part of the block that is not `value`. */
static tarn_backend_result inspect_part(const struct tarn_pool *pool,
                                        struct tn_debug_record *record, uintptr_t part,
                                        size_t part_bytes, unsigned char value, tarn_stream stream,
                                        bool *damaged_out)
{
    size_t offset;
    tarn_backend_result result =
        tn_debug_memory_compare(&pool->backend, part, value, part_bytes, stream, &offset);
    if (result.status != TARN_STATUS_OK) return result;
    *damaged_out = offset < part_bytes;
    if (*damaged_out) record->first_wrong = (ptrdiff_t)(part + offset - record->range.address);
    return result;
}

tarn_backend_result tn_debug_inspect(const struct tarn_pool *pool, struct tn_debug_record *record,
                                     tarn_stream stream, bool *damaged_out)
{
    const struct tn_debug_range *range = &record->range;
    unsigned flags = pool->debug->flags;
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    *damaged_out = false;
    if (!record->is_filled) return result;
    record->is_used_late = record->state == TN_DEBUG_STATE_QUARANTINED;
    if (record->is_used_late) {
        if (!(flags & TARN_DEBUG_POISON)) return result;
        return inspect_part(pool, record, range->block, range->block_bytes, TARN_DEBUG_BYTE_FREED,
                            stream, damaged_out);
    }
    if (!(flags & TARN_DEBUG_ZONES)) return result;
    result = inspect_part(pool, record, range->address - TARN_DEBUG_ZONE_BYTES,
                          TARN_DEBUG_ZONE_BYTES, TARN_DEBUG_BYTE_ZONE, stream, damaged_out);
    if (result.status != TARN_STATUS_OK || *damaged_out) return result;
    return inspect_part(pool, record, range->address + range->size_bytes, TARN_DEBUG_ZONE_BYTES,
                        TARN_DEBUG_BYTE_ZONE, stream, damaged_out);
}

static bool is_still_there(const struct tarn_pool *pool, const struct tn_debug_record *copy)
{
    struct tn_debug_record record;
    return tn_debug_look_up(pool, copy->range.block, &record) && record.serial == copy->serial &&
           record.state == copy->state;
}

/* Requires: growth_lock, so that no memory goes back to the vendor while it is read. Another thread may free
 * the block at any time, so damage only counts if the record is still there afterwards. */
static tarn_status check_record(const struct tarn_pool *pool, struct tn_debug_record *copy)
{
    bool is_damaged;
    if (copy->state == TN_DEBUG_STATE_DAMAGED) return tn_debug_fail_for_damage(copy);
    if (!copy->is_filled || !is_still_there(pool, copy)) return TARN_STATUS_OK;
    tarn_backend_result result = tn_debug_inspect(pool, copy, pool->default_stream, &is_damaged);
    if (result.status != TARN_STATUS_OK) {
        return tn_fail_vendor(TARN_STATUS_VENDOR_ERROR, result.vendor_code, result.vendor_name,
                              "the %s backend could not read the memory",
                              pool->backend.operations->name);
    }
    if (!is_damaged || !is_still_there(pool, copy)) return TARN_STATUS_OK;
    return tn_debug_fail_for_damage(copy);
}

/* Waits for the device first, if the vendor can, so that writes that are under way are seen. Requires:
 * growth_lock. */
static tarn_status check_records(struct tarn_pool *pool, struct tn_debug_record *copies,
                                 size_t count)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    tarn_status status = TARN_STATUS_OK;
    if (tn_captures_are_under_way()) return status;
    if (operations->synchronize) operations->synchronize(pool->backend.state);
    for (size_t i = 0; i < count && status == TARN_STATUS_OK; i++)
        status = check_record(pool, &copies[i]);
    return status;
}

/* Compares the counters of labels with the live records. */
static tarn_status check_labels(const struct tarn_pool *pool)
{
    struct tn_debug *debug = pool->debug;
    struct tn_label_sums sums = { { 0 }, { 0 } };
    tn_mutex_lock(&debug->lock);
    for (size_t i = 0; i < debug->table.bucket_count; i++) {
        const struct tn_debug_record *record = debug->table.buckets[i];
        for (; record; record = record->next) {
            if (record->state == TN_DEBUG_STATE_LIVE)
                tn_label_sums_add(&sums, record->label, record->range.size_bytes);
        }
    }
    const char *fault = tn_label_stats_check(tn_label_stats_get(&debug->labels), &sums);
    tn_mutex_unlock(&debug->lock);
    return fault ? tn_fail(TARN_STATUS_CORRUPT, "%s", fault) : TARN_STATUS_OK;
}

tarn_status tn_debug_check(struct tarn_pool *pool)
{
    size_t count;
    tarn_status status = tn_pool_check(pool);
    if (status != TARN_STATUS_OK || !pool->debug) return status;
    status = check_labels(pool);
    if (status != TARN_STATUS_OK) return status;
    if (!(pool->debug->flags & TN_DEBUG_FLAGS_OF_MEMORY)) return status;
    struct tn_debug_record *copies = tn_debug_copy_records(pool, false, &count);
    if (!copies) return TARN_STATUS_OUT_OF_HOST_MEMORY;
    tn_pool_lock_growth(pool);
    status = check_records(pool, copies, count);
    tn_pool_unlock_growth(pool);
    tn_host_memory_free(copies);
    return status;
}
