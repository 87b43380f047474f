/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_pool: a record for each allocation.
 *
 * A free takes the record before the pool frees: from then on a second free finds none, and until then the
 * address is nobody else's, so that no two records are ever of one address.
 */
#include "debug_pool.h"

#include <string.h>

#include "../base/error.h"
#include "../base/host_memory.h"

struct tn_debug {
    unsigned flags; /* the same from init to fini */
    struct tn_mutex lock;
    struct tn_debug_table table; /* under the lock */
};

static _Thread_local struct tn_call_site caller_site;

/* --- life ----------------------------------------------------------------------------------------- */

static TN_COLD tarn_status fail_for_host_memory(const char *what)
{
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory for %s", what);
}

tarn_status tn_debug_init(struct tarn_pool *pool, const tarn_pool_options *options)
{
    if (options->debug == 0) return TARN_STATUS_OK;
    struct tn_debug *debug = tn_host_memory_alloc_zeroed(sizeof *debug);
    if (!debug) return fail_for_host_memory("a pool's debug mode");
    if (!tn_debug_table_init(&debug->table)) {
        tn_host_memory_free(debug);
        return fail_for_host_memory("a pool's debug mode");
    }
    tn_mutex_init(&debug->lock);
    debug->flags = options->debug;
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
    tn_mutex_fini(&debug->lock);
    tn_host_memory_free(debug);
}

/* --- call sites ------------------------------------------------------------------------------------ */

void tn_debug_note_caller(const struct tarn_pool *pool, const void *caller)
{
    if (pool->debug->flags & TARN_DEBUG_SITES) tn_call_site_capture(&caller_site, caller);
}

struct tn_call_site tn_debug_save_caller(void)
{
    return caller_site;
}

void tn_debug_restore_caller(const struct tn_call_site *site)
{
    caller_site = *site;
}

/* --- alloc and free -------------------------------------------------------------------------------- */

static void insert(struct tn_debug *debug, struct tn_debug_record *record)
{
    tn_mutex_lock(&debug->lock);
    tn_debug_table_insert(&debug->table, record);
    tn_mutex_unlock(&debug->lock);
}

static void describe(const struct tn_debug *debug, struct tn_debug_record *record,
                     size_t size_bytes)
{
    *record = (struct tn_debug_record){ .size_bytes = size_bytes };
    if (debug->flags & TARN_DEBUG_SITES) record->site = caller_site;
    memcpy(record->label, tn_label_current(), strlen(tn_label_current()));
}

tarn_status tn_debug_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                           tarn_stream stream, void **address_out)
{
    struct tn_debug_record *record = tn_host_memory_alloc(sizeof *record);
    if (!record) return fail_for_host_memory("an allocation's record in debug mode");
    describe(pool->debug, record, size_bytes);
    tarn_status status = tn_pool_alloc(pool, size_bytes, alignment_bytes, stream, address_out);
    if (status == TARN_STATUS_OK) {
        record->address = (uintptr_t)*address_out;
        insert(pool->debug, record);
    } else {
        tn_host_memory_free(record);
    }
    return status;
}

tarn_status tn_debug_free(struct tarn_pool *pool, void *address, const tarn_stream *streams,
                          size_t stream_count)
{
    struct tn_debug *debug = pool->debug;
    tn_mutex_lock(&debug->lock);
    struct tn_debug_record *record = tn_debug_table_take(&debug->table, (uintptr_t)address);
    tn_mutex_unlock(&debug->lock);
    if (!record) {
        tn_pool_count_failure(pool);
        return TARN_STATUS_NOT_LIVE;
    }
    tarn_status status = tn_pool_free(pool, address, streams, stream_count);
    if (status == TARN_STATUS_OK) {
        tn_host_memory_free(record);
    } else {
        insert(debug, record);
    }
    return status;
}

/* --- queries --------------------------------------------------------------------------------------- */

bool tn_debug_look_up(const struct tarn_pool *pool, uintptr_t address,
                      struct tn_debug_record *record_out)
{
    struct tn_debug *debug = pool->debug;
    if (!debug) return false;
    tn_mutex_lock(&debug->lock);
    const struct tn_debug_record *record = tn_debug_table_find(&debug->table, address);
    if (record) *record_out = *record;
    tn_mutex_unlock(&debug->lock);
    return record != NULL;
}

size_t tn_debug_copy_records(const struct tarn_pool *pool, struct tn_debug_record *to,
                             size_t count_max)
{
    struct tn_debug *debug = pool->debug;
    size_t count = 0;
    tn_mutex_lock(&debug->lock);
    for (size_t i = 0; i < debug->table.bucket_count; i++) {
        const struct tn_debug_record *record = debug->table.buckets[i];
        for (; record; record = record->next, count++) {
            if (count < count_max) to[count] = *record;
        }
    }
    tn_mutex_unlock(&debug->lock);
    return count;
}
