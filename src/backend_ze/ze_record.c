/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_record: the vendor's events, recycled.
 *
 * An event of Level Zero is a flag in a pool of a fixed number of places. It is set by the device when
 * a list comes to it, and must be reset by the host before it can be used again. A wait that the
 * device has not come to yet looks at the flag as it will be then. So each record, and each wait, gets
 * a flag of its own, and none is reset before
 *
 *   - nobody refers to it: no event of the backend's user, no call that asks after it;
 *   - the device has set it;
 *   - the device is through with every wait for it.
 *
 * For the last, a wait sets a flag itself when it is over:
 *
 *     list A    work ── barrier: sets r                     r: retired when its event moves on,
 *                                │                             free when w is set
 *     list B    work ── barrier: waits for r, sets w        w: retired at once, free when it is set
 *
 * Barriers, and not the lighter appends for signals and waits: a barrier has its place in a list's
 * order even where the list as a whole has none.
 *
 * Newer drivers have counter-based events. A list sets them to the number of its last command, and a
 * wait remembers the number that was current when it was appended. They are never reset, waits need no
 * flag, and a record is free as soon as nobody refers to it. But the number itself is the list's: a
 * wait looks at it in memory that goes with the list, and that Intel's driver gives to the next one,
 * to count from the start. So a list that has finished is not destroyed; the next stream gets it, and
 * counts on.
 *
 * Cost: a record is one append; a wait too. When no record is free the retired ones are asked after,
 * but only when they have become twice as many as were still pending the last time. So each of them
 * is asked after twice, on average, however many are pending on a list that stands still; and there are
 * never more than about twice as many as were pending at once.
 * Threads: any. Vendor's calls that make, query and destroy events are made under the device's lock,
 * those that wait are not.
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
    return device->newer.event_counter_based_create != NULL;
}

/* --- making ------------------------------------------------------------------------------------ */

/* What the device did before is seen by the host and by other lists. */
#define SIGNAL_SCOPE ((ze_event_scope_flags_t)ZE_EVENT_SCOPE_FLAG_HOST)
#define WAIT_SCOPE   ((ze_event_scope_flags_t)ZE_EVENT_SCOPE_FLAG_DEVICE)

static ze_result_t event_create(struct tn_ze_device *device, ze_event_pool_handle_t pool,
                                unsigned index, ze_event_handle_t *event_out)
{
    if (is_counter_based(device)) {
        const struct tn_ze_event_counter_based_desc desc = {
            .stype = (ze_structure_type_t)TN_ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
            .flags = TN_ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE |
                     TN_ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE,
            .signal = SIGNAL_SCOPE,
            .wait = WAIT_SCOPE,
        };
        return device->newer.event_counter_based_create(device->context, device->handle, &desc,
                                                        event_out);
    }
    const ze_event_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
        .index = index,
        .signal = SIGNAL_SCOPE,
        .wait = WAIT_SCOPE,
    };
    return zeEventCreate(pool, &desc, event_out);
}

static ze_result_t pool_create(struct tn_ze_device *device, unsigned capacity,
                               ze_event_pool_handle_t *pool_out)
{
    if (is_counter_based(device)) return ZE_RESULT_SUCCESS;
    const ze_event_pool_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
        .count = capacity,
    };
    return zeEventPoolCreate(device->context, &desc, 1, &device->handle, pool_out);
}

/* Each pool is as large as all before it together. */
static tarn_backend_result pool_add_locked(struct tn_ze_device *device)
{
    struct tn_ze_records *records = &device->records;
    unsigned capacity =
        (unsigned)tn_min(tn_max(records->total_count, POOL_COUNT_MIN), POOL_COUNT_MAX);
    struct tn_ze_record_pool *pool =
        tn_host_memory_alloc_zeroed(sizeof *pool + capacity * sizeof *pool->records);
    if (!pool) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    pool->capacity = capacity;
    ze_result_t error = pool_create(device, capacity, &pool->pool);
    if (error != ZE_RESULT_SUCCESS) {
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
    ze_result_t error = event_create(device, pool->pool, pool->count, &record->event);
    if (error != ZE_RESULT_SUCCESS) return tn_ze_result(error);
    pool->count++;
    records->total_count++;
    *record_out = record;
    return TARN_BACKEND_RESULT_OK;
}

/* --- recycling --------------------------------------------------------------------------------- */

/* Hands the reference to what it waited for over to the caller; NULL: to nothing. */
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

/* Asks after all that are retired, and frees those that the device is through with. */
static void reclaim_locked(struct tn_ze_device *device)
{
    struct tn_ze_records *records = &device->records;
    struct tn_ze_record *record = records->retired;
    records->retired = NULL;
    records->retired_count = 0;
    while (record) {
        struct tn_ze_record *next = record->next;
        if (zeEventQueryStatus(record->event) == ZE_RESULT_SUCCESS) {
            if (record->awaited) record->awaited->is_done = true;
            record_unref_locked(device, record_free_locked(device, record));
        } else {
            record_retire_locked(device, record);
        }
        record = next;
    }
    records->pending_count = records->retired_count;
}

/* When none can be made, whoever is through meanwhile will do, worthwhile or not. */
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

/* Clears what an earlier life left. The record is the caller's alone. */
static tarn_backend_result record_reset(struct tn_ze_device *device, struct tn_ze_record *record)
{
    if (record->is_used && !is_counter_based(device)) {
        ze_result_t error = zeEventHostReset(record->event);
        if (error != ZE_RESULT_SUCCESS) return tn_ze_result(error);
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

static tarn_backend_result append_barrier(ze_command_list_handle_t list,
                                          ze_event_handle_t signalled, ze_event_handle_t awaited)
{
    struct tn_mutex *lock = tn_ze_list_lock(list);
    tn_mutex_lock(lock);
    ze_result_t error =
        zeCommandListAppendBarrier(list, signalled, awaited ? 1 : 0, awaited ? &awaited : NULL);
    tn_mutex_unlock(lock);
    return tn_ze_result(error);
}

tarn_backend_result tn_ze_record_submit(struct tn_ze_record *record, ze_command_list_handle_t list)
{
    TN_ASSERT(!record->is_submitted);
    tarn_backend_result result = append_barrier(list, record->event, NULL);
    record->is_submitted = result.status == TARN_STATUS_OK;
    return result;
}

tarn_backend_result tn_ze_record_await(struct tn_ze_device *device, ze_command_list_handle_t list,
                                       struct tn_ze_record *awaited)
{
    if (is_counter_based(device)) return append_barrier(list, NULL, awaited->event);
    struct tn_ze_record *wait = NULL;
    tarn_backend_result result = tn_ze_record_take(device, &wait);
    if (!wait) return result;

    tn_mutex_lock(&device->lock);
    awaited->reference_count++;
    tn_mutex_unlock(&device->lock);
    wait->awaited = awaited;
    result = append_barrier(list, wait->event, awaited->event);
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
                                       ze_result_t error)
{
    if (error != ZE_RESULT_SUCCESS) return tn_ze_result(error);
    tn_mutex_lock(&device->lock);
    record->is_done = true;
    tn_mutex_unlock(&device->lock);
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_ze_record_query(struct tn_ze_device *device, struct tn_ze_record *record)
{
    if (is_done(device, record)) return TARN_BACKEND_RESULT_OK;
    return note_answer(device, record, zeEventQueryStatus(record->event));
}

tarn_backend_result tn_ze_record_synchronize(struct tn_ze_device *device,
                                             struct tn_ze_record *record)
{
    if (is_done(device, record)) return TARN_BACKEND_RESULT_OK;
    return note_answer(device, record, zeEventHostSynchronize(record->event, UINT64_MAX));
}

/* --- life -------------------------------------------------------------------------------------- */

/* A loader may have counter-based events and the driver not, which the first one shows. It is kept. */
tarn_backend_result tn_ze_records_init(struct tn_ze_device *device)
{
    struct tn_ze_record *record = NULL;
    if (!device->lists_are_in_order) device->newer.event_counter_based_create = NULL;
    if (!is_counter_based(device)) return TARN_BACKEND_RESULT_OK;
    tarn_backend_result result = tn_ze_record_take(device, &record);
    if (record) {
        tn_ze_record_unref(device, record);
    } else if (result.vendor_code != 0) {
        tn_ze_records_fini(device, true);
        device->newer.event_counter_based_create = NULL;
        result = TARN_BACKEND_RESULT_OK;
    }
    return result;
}

bool tn_ze_records_need_lists(const struct tn_ze_device *device)
{
    return is_counter_based(device);
}

static void pool_empty(const struct tn_ze_record_pool *pool)
{
    for (unsigned i = 0; i < pool->count; i++)
        zeEventDestroy(pool->records[i].event);
    if (pool->pool) zeEventPoolDestroy(pool->pool);
}

void tn_ze_records_fini(struct tn_ze_device *device, bool gives_events_back)
{
    struct tn_ze_records *records = &device->records;
    while (records->pools) {
        struct tn_ze_record_pool *pool = records->pools;
        records->pools = pool->next;
        if (gives_events_back) pool_empty(pool);
        tn_host_memory_free(pool);
    }
}
