/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_record: recycles the vendor's events.
 *
 * An event of Level Zero is a flag in a pool with a fixed number of places. The device sets the flag when
 * a list reaches it. The host must reset the flag before the next use. A wait looks at the flag only when
 * the device reaches the wait. So each record and each wait gets a flag of its own. A flag is reset only
 * when
 *
 *   - it has no reference: no event of the user and no running call refers to it;
 *   - the device has set it;
 *   - the device has finished every wait for it.
 *
 * To show the last, a wait sets a flag of its own when it ends:
 *
 *     list A    work ── barrier: sets r                     r: retired when its event moves on,
 *                                │                             free when w is set
 *     list B    work ── barrier: waits for r, sets w        w: retired at once, free when it is set
 *
 * The appends for signals and waits would be cheaper. But a barrier keeps its place in the order even of
 * a list that does not run in order.
 *
 * Newer drivers have counter-based events. A list sets them to the number of its last command. A wait
 * remembers the number that was current when it was appended. They are never reset, waits need no flag,
 * and a record is free as soon as it has no reference. But a wait reads the number in memory of the list
 * that sets it. When a list is destroyed, Intel's driver gives that memory to the next list, which counts
 * from the start. So a finished list is not destroyed: the next stream gets it and counts on.
 *
 * Cost: a record is one append, and so is a wait. If no record is free, the retired ones are queried, but
 * only when they are twice as many as were pending the last time. So each record is queried twice on
 * average, even if many are pending on a list that stands still. And there are never more than about
 * twice as many records as were pending at once.
 * Threads: any. The vendor's calls that create, query and destroy events are made under the device's
 * lock, those that wait are not.
 */
#include "ze_device.h"

#include "../backend_common/operation.h"
#include "../base/arith.h"
#include "../base/host_memory.h"

enum {
    POOL_COUNT_MIN = 16,
    POOL_COUNT_MAX = 1024
};

static bool is_counter_based(const struct tn_ze_device *device)
{
    return device->ze.EventCounterBasedCreate != NULL;
}

/* --- making ------------------------------------------------------------------------------------ */

/* The host and other lists see what the device wrote before. */
#define SIGNAL_SCOPE TN_ZE_EVENT_SCOPE_FLAG_HOST
#define WAIT_SCOPE   TN_ZE_EVENT_SCOPE_FLAG_DEVICE

static tn_ze_result_t event_create(struct tn_ze_device *device, tn_ze_event_pool_handle_t pool,
                                   unsigned index, tn_ze_event_handle_t *event_out)
{
    if (is_counter_based(device)) {
        const tn_ze_event_counter_based_desc_t desc = {
            .stype = TN_ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
            .flags = TN_ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE |
                     TN_ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE,
            .signal = SIGNAL_SCOPE,
            .wait = WAIT_SCOPE,
        };
        return device->ze.EventCounterBasedCreate(device->context, device->handle, &desc,
                                                  event_out);
    }
    const tn_ze_event_desc_t desc = {
        .stype = TN_ZE_STRUCTURE_TYPE_EVENT_DESC,
        .index = index,
        .signal = SIGNAL_SCOPE,
        .wait = WAIT_SCOPE,
    };
    return device->ze.EventCreate(pool, &desc, event_out);
}

static tn_ze_result_t pool_create(struct tn_ze_device *device, unsigned capacity,
                                  tn_ze_event_pool_handle_t *pool_out)
{
    if (is_counter_based(device)) return TN_ZE_RESULT_SUCCESS;
    const tn_ze_event_pool_desc_t desc = {
        .stype = TN_ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = TN_ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
        .count = capacity,
    };
    return device->ze.EventPoolCreate(device->context, &desc, 1, &device->handle, pool_out);
}

/* Each pool is as large as all earlier pools together, within limits. */
static tarn_backend_result pool_add_locked(struct tn_ze_device *device)
{
    struct tn_ze_records *records = &device->records;
    unsigned capacity =
        (unsigned)tn_min(tn_max(records->total_count, POOL_COUNT_MIN), POOL_COUNT_MAX);
    struct tn_ze_record_pool *pool =
        tn_host_memory_alloc_zeroed(sizeof *pool + capacity * sizeof *pool->records);
    if (!pool) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    pool->capacity = capacity;
    tn_ze_result_t error = pool_create(device, capacity, &pool->pool);
    if (error != TN_ZE_RESULT_SUCCESS) {
        tn_host_memory_free(pool);
        return tn_ze_result(error);
    }
    pool->next = records->pools;
    records->pools = pool;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result record_make_locked(struct tn_ze_device *device,
                                              struct tn_ze_record **record_out)
{
    struct tn_ze_records *records = &device->records;
    if (!records->pools || records->pools->count == records->pools->capacity) {
        tarn_backend_result result = pool_add_locked(device);
        if (result.status != TARN_STATUS_OK) return result;
    }
    struct tn_ze_record_pool *pool = records->pools;
    struct tn_ze_record *record = &pool->records[pool->count];
    tn_ze_result_t error = event_create(device, pool->pool, pool->count, &record->event);
    if (error != TN_ZE_RESULT_SUCCESS) return tn_ze_result(error);
    pool->count++;
    records->total_count++;
    *record_out = record;
    return TARN_BACKEND_RESULT_OK;
}

/* --- recycling --------------------------------------------------------------------------------- */

/* Returns the record's reference to the record that it waited for, or NULL. */
static struct tn_ze_record *record_free_locked(struct tn_ze_device *device,
                                               struct tn_ze_record *record)
{
    struct tn_ze_record *awaited = record->awaited;
    *record = (struct tn_ze_record){
        .next = device->records.free,
        .event = record->event,
        .is_used = record->is_used || record->is_submitted,
    };
    device->records.free = record;
    return awaited;
}

static void record_retire_locked(struct tn_ze_device *device, struct tn_ze_record *record)
{
    record->next = device->records.retired;
    device->records.retired = record;
    device->records.retired_count++;
}

/* NULL is allowed. */
static void record_unref_locked(struct tn_ze_device *device, struct tn_ze_record *record)
{
    while (record && --record->reference_count == 0) {
        if (record->is_submitted && !record->is_done && !is_counter_based(device)) {
            record_retire_locked(device, record);
            return;
        }
        record = record_free_locked(device, record);
    }
}

/* Queries all retired records, and frees those that are done. */
static void reclaim_locked(struct tn_ze_device *device)
{
    struct tn_ze_records *records = &device->records;
    struct tn_ze_record *record = records->retired;
    records->retired = NULL;
    records->retired_count = 0;
    while (record) {
        struct tn_ze_record *next = record->next;
        if (device->ze.EventQueryStatus(record->event) == TN_ZE_RESULT_SUCCESS) {
            if (record->awaited) record->awaited->is_done = true;
            record_unref_locked(device, record_free_locked(device, record));
        } else {
            record_retire_locked(device, record);
        }
        record = next;
    }
    records->pending_count = records->retired_count;
}

/* If no record can be created, the retired ones are queried, also when few are likely to be done. */
static tarn_backend_result record_find_locked(struct tn_ze_device *device,
                                              struct tn_ze_record **record_out)
{
    struct tn_ze_records *records = &device->records;
    bool is_worthwhile = records->retired_count / 2 >= records->pending_count;
    if (!records->free && is_worthwhile) reclaim_locked(device);
    if (!records->free) {
        tarn_backend_result result = record_make_locked(device, record_out);
        if (result.status == TARN_STATUS_OK) return result;
        if (!is_worthwhile) reclaim_locked(device);
        if (!records->free) return result;
    }
    *record_out = records->free;
    records->free = (*record_out)->next;
    return TARN_BACKEND_RESULT_OK;
}

/* Resets the flag after an earlier use. Requires that the caller has the only reference. */
static tarn_backend_result record_reset(struct tn_ze_device *device, struct tn_ze_record *record)
{
    if (record->is_used && !is_counter_based(device)) {
        tn_ze_result_t error = device->ze.EventHostReset(record->event);
        if (error != TN_ZE_RESULT_SUCCESS) return tn_ze_result(error);
    }
    record->is_used = false;
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_ze_record_take(struct tn_ze_device *device, struct tn_ze_record **record_out)
{
    struct tn_ze_record *record = NULL;
    tn_mutex_lock(&device->lock);
    tarn_backend_result result = record_find_locked(device, &record);
    tn_mutex_unlock(&device->lock);
    if (!record) return result;

    record->next = NULL;
    record->reference_count = 1;
    result = record_reset(device, record);
    if (result.status == TARN_STATUS_OK) {
        *record_out = record;
    } else {
        tn_ze_record_unref(device, record);
    }
    return result;
}

void tn_ze_record_unref(struct tn_ze_device *device, struct tn_ze_record *record)
{
    tn_mutex_lock(&device->lock);
    record_unref_locked(device, record);
    tn_mutex_unlock(&device->lock);
}

tarn_backend_result tn_ze_record_renew(struct tn_ze_device *device, struct tn_ze_record *record)
{
    TN_ASSERT(record->reference_count == 1);
    if (record->is_submitted) {
        tarn_backend_result result = tn_ze_record_synchronize(device, record);
        if (result.status != TARN_STATUS_OK) return result;
        record->is_submitted = false;
        record->is_done = false;
        record->is_used = true;
    }
    return record_reset(device, record);
}

/* --- use --------------------------------------------------------------------------------------- */

static tarn_backend_result append_barrier(const struct tn_ze_device *device,
                                          tn_ze_command_list_handle_t list,
                                          tn_ze_event_handle_t signalled,
                                          tn_ze_event_handle_t awaited)
{
    struct tn_mutex *lock = tn_ze_list_lock(list);
    tn_mutex_lock(lock);
    tn_ze_result_t error = device->ze.CommandListAppendBarrier(list, signalled, awaited ? 1 : 0,
                                                               awaited ? &awaited : NULL);
    tn_mutex_unlock(lock);
    return tn_ze_result(error);
}

tarn_backend_result tn_ze_record_submit(const struct tn_ze_device *device,
                                        struct tn_ze_record *record,
                                        tn_ze_command_list_handle_t list)
{
    TN_ASSERT(!record->is_submitted);
    tarn_backend_result result = append_barrier(device, list, record->event, NULL);
    record->is_submitted = result.status == TARN_STATUS_OK;
    return result;
}

tarn_backend_result tn_ze_record_await(struct tn_ze_device *device,
                                       tn_ze_command_list_handle_t list,
                                       struct tn_ze_record *awaited)
{
    if (is_counter_based(device)) return append_barrier(device, list, NULL, awaited->event);
    struct tn_ze_record *wait = NULL;
    tarn_backend_result result = tn_ze_record_take(device, &wait);
    if (!wait) return result;

    tn_mutex_lock(&device->lock);
    awaited->reference_count++;
    tn_mutex_unlock(&device->lock);
    wait->awaited = awaited;
    result = append_barrier(device, list, wait->event, awaited->event);
    wait->is_submitted = result.status == TARN_STATUS_OK;
    tn_ze_record_unref(device, wait);
    return result;
}

static bool is_done(struct tn_ze_device *device, const struct tn_ze_record *record)
{
    tn_mutex_lock(&device->lock);
    bool done = record->is_done;
    tn_mutex_unlock(&device->lock);
    return done;
}

static tarn_backend_result note_answer(struct tn_ze_device *device, struct tn_ze_record *record,
                                       tn_ze_result_t error)
{
    if (error != TN_ZE_RESULT_SUCCESS) return tn_ze_result(error);
    tn_mutex_lock(&device->lock);
    record->is_done = true;
    tn_mutex_unlock(&device->lock);
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_ze_record_query(struct tn_ze_device *device, struct tn_ze_record *record)
{
    if (is_done(device, record)) return TARN_BACKEND_RESULT_OK;
    return note_answer(device, record, device->ze.EventQueryStatus(record->event));
}

tarn_backend_result tn_ze_record_synchronize(struct tn_ze_device *device,
                                             struct tn_ze_record *record)
{
    if (is_done(device, record)) return TARN_BACKEND_RESULT_OK;
    return note_answer(device, record, device->ze.EventHostSynchronize(record->event, UINT64_MAX));
}

/* --- life -------------------------------------------------------------------------------------- */

/* The loader may have counter-based events and the driver not. Creating the first one shows it. */
tarn_backend_result tn_ze_records_init(struct tn_ze_device *device)
{
    struct tn_ze_record *record = NULL;
    if (!device->lists_are_in_order) device->ze.EventCounterBasedCreate = NULL;
    if (!is_counter_based(device)) return TARN_BACKEND_RESULT_OK;
    tarn_backend_result result = tn_ze_record_take(device, &record);
    if (record) {
        tn_ze_record_unref(device, record);
    } else if (result.vendor_code != 0) {
        tn_ze_records_fini(device, true);
        device->ze.EventCounterBasedCreate = NULL;
        result = TARN_BACKEND_RESULT_OK;
    }
    return result;
}

bool tn_ze_records_need_lists(const struct tn_ze_device *device)
{
    return is_counter_based(device);
}

static void pool_empty(const struct tn_ze_device *device, const struct tn_ze_record_pool *pool)
{
    for (unsigned i = 0; i < pool->count; i++)
        device->ze.EventDestroy(pool->records[i].event);
    if (pool->pool) device->ze.EventPoolDestroy(pool->pool);
}

void tn_ze_records_fini(struct tn_ze_device *device, bool gives_events_back)
{
    struct tn_ze_records *records = &device->records;
    while (records->pools) {
        struct tn_ze_record_pool *pool = records->pools;
        records->pools = pool->next;
        if (gives_events_back) pool_empty(device, pool);
        tn_host_memory_free(pool);
    }
}
