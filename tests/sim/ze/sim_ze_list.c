/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_ze_list: lists of commands, and events.
 *
 * A list in order is one simulated stream. A list without order has lanes that take its commands in
 * turn, and run out of step as streams do; a barrier holds them all back, as the specification says:
 *
 *     without events to wait for     all lanes ──► barrier ──► all lanes
 *     with                           events    ──► barrier ──► all lanes
 *
 * An event of a pool is a flag. A counter-based event stands for the latest place in a list that it
 * was given to.
 */
#include "sim_ze.h"

#define FLAG_IN_ORDER 2 /* newer than the headers */

enum {
    BARRIER_LANE = SIM_ZE_LANE_COUNT
};

/* --- lists ---------------------------------------------------------------------------------------- */

static int lane_count(const struct sim_ze_object *list)
{
    return list->is_in_order ? 1 : SIM_ZE_LANE_COUNT + 1;
}

static sim_status lanes_create(struct sim_ze_object *list)
{
    sim_status status = SIM_STATUS_OK;
    for (int i = 0; status == SIM_STATUS_OK && i < lane_count(list); i++) {
        status = sim_stream_create(list->device, &list->lanes[i]);
        if (status == SIM_STATUS_OK && !list->is_in_order)
            status = sim_event_create(list->device, SIM_EVENT_FORM_RECORDS, &list->lane_ends[i]);
    }
    return status;
}

static void lanes_destroy(struct sim_ze_object *list)
{
    for (int i = 0; i < lane_count(list); i++) {
        sim_stream_destroy(list->lanes[i]);
        if (list->lane_ends[i]) sim_event_destroy(list->lane_ends[i]);
    }
}

ze_result_t zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t handle,
                                         const ze_command_queue_desc_t *desc,
                                         ze_command_list_handle_t *created)
{
    sim_status status = sim_ze_enter(__func__);
    const struct sim_ze_device *device = sim_ze_device_of(handle);
    if (status == SIM_STATUS_OK) status = sim_ze_check_context(context);
    if (status == SIM_STATUS_OK && !device) status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) status = sim_ze_check_context_of(context, device);
    if (status == SIM_STATUS_OK && (desc->ordinal > 1 || desc->index > 0))
        status = SIM_STATUS_INVALID_VALUE;
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);

    struct sim_ze_object *list =
        sim_ze_object_create(SIM_ZE_LIST, (uintptr_t)context, device->number);
    list->part = device->part;
    /* A driver that knows no order does not look at the flag. */
    list->is_in_order = (desc->flags & FLAG_IN_ORDER) != 0 && sim_ze_has(SIM_ZE_ORDER);
    status = lanes_create(list);
    if (status == SIM_STATUS_OK) {
        *created = (ze_command_list_handle_t)list->number;
    } else {
        sim_ze_object_destroy(list);
    }
    return sim_ze_answer(status);
}

/* The list of a call that appends to it, which no other thread may do at the same time. */
static sim_status begin(const char *name, ze_command_list_handle_t handle,
                        struct sim_ze_object **list_out)
{
    sim_status status = sim_ze_enter(name);
    if (status != SIM_STATUS_OK) return status;
    struct sim_ze_object *list = sim_ze_object_find(SIM_ZE_LIST, handle);
    if (!list) return SIM_STATUS_INVALID_HANDLE;
    sim_ze_object_begin(list);
    *list_out = list;
    return SIM_STATUS_OK;
}

/* Does not wait. Work that is pending is the caller's mistake, unless waiting was refused; and so is
 * another list's wait for a counter-based event, since the counter is this list's memory. */
ze_result_t zeCommandListDestroy(ze_command_list_handle_t handle)
{
    struct sim_ze_object *list;
    sim_status status = sim_ze_enter_destroy(__func__, SIM_ZE_LIST, handle, &list);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    bool is_pending = false;
    for (int i = 0; i < lane_count(list); i++)
        is_pending |= sim_stream_query(list->lanes[i]) == SIM_STATUS_NOT_READY;
    if (is_pending && sim_fault_count() == 0)
        sim_misuse("a list was destroyed with work pending on it");
    if (list->is_in_order && sim_stream_is_awaited(list->lanes[0]) && sim_fault_count() == 0)
        sim_misuse("a list was destroyed while others wait for its counter");
    lanes_destroy(list);
    sim_ze_object_destroy(list);
    return ZE_RESULT_SUCCESS;
}

/* --- what is appended -------------------------------------------------------------------------------- */

/* The event, if this list's device may touch it. */
static sim_status find_event(const struct sim_ze_object *list, ze_event_handle_t handle,
                             struct sim_ze_object **event_out)
{
    struct sim_ze_object *event = sim_ze_object_find(SIM_ZE_EVENT, handle);
    if (!event) return SIM_STATUS_INVALID_HANDLE;
    if (event->device != list->device) return SIM_STATUS_WRONG_DEVICE;
    *event_out = event;
    return SIM_STATUS_OK;
}

/* All events that a command names must be good before anything is done. */
static sim_status check_events(const struct sim_ze_object *list, ze_event_handle_t signalled,
                               uint32_t count, const ze_event_handle_t *awaited)
{
    struct sim_ze_object *event;
    sim_status status = SIM_STATUS_OK;
    if (signalled) status = find_event(list, signalled, &event);
    if (status == SIM_STATUS_OK && signalled && event->is_counter_based && !list->is_in_order)
        status = SIM_STATUS_INVALID_VALUE;
    for (uint32_t i = 0; status == SIM_STATUS_OK && i < count; i++)
        status = find_event(list, awaited[i], &event);
    return status;
}

static sim_status wait_for(const struct sim_ze_object *list, sim_stream *lane, uint32_t count,
                           const ze_event_handle_t *awaited)
{
    struct sim_ze_object *event;
    sim_status status = SIM_STATUS_OK;
    for (uint32_t i = 0; status == SIM_STATUS_OK && i < count; i++) {
        status = find_event(list, awaited[i], &event);
        if (status == SIM_STATUS_OK) status = sim_stream_wait_event(lane, event->event);
    }
    return status;
}

static sim_status signal(const struct sim_ze_object *list, sim_stream *lane,
                         ze_event_handle_t signalled)
{
    struct sim_ze_object *event;
    if (!signalled) return SIM_STATUS_OK;
    sim_status status = find_event(list, signalled, &event);
    return status == SIM_STATUS_OK ? sim_event_record(event->event, lane) : status;
}

/* Lane `to` goes on when lane `from` has come to this place. */
static sim_status chain(const struct sim_ze_object *list, int from, int to)
{
    sim_status status = sim_event_record(list->lane_ends[from], list->lanes[from]);
    return status == SIM_STATUS_OK ? sim_stream_wait_event(list->lanes[to], list->lane_ends[from])
                                   : status;
}

/* The lane for the next command, held back by the last barrier if it was not yet. Only now, so that a
 * list whose last barrier is done has nothing pending. */
static sim_status next_lane(struct sim_ze_object *list, sim_stream **lane_out)
{
    unsigned lane = list->is_in_order ? 0 : list->turn++ % SIM_ZE_LANE_COUNT;
    *lane_out = list->lanes[lane];
    if (!list->is_held_back[lane]) return SIM_STATUS_OK;
    list->is_held_back[lane] = false;
    return sim_stream_wait_event(list->lanes[lane], list->lane_ends[BARRIER_LANE]);
}

static sim_status append_barrier(struct sim_ze_object *list, ze_event_handle_t signalled,
                                 uint32_t count, const ze_event_handle_t *awaited)
{
    sim_stream *lane = list->lanes[list->is_in_order ? 0 : BARRIER_LANE];
    sim_status status = check_events(list, signalled, count, awaited);
    if (!list->is_in_order && count == 0) {
        for (int i = 0; status == SIM_STATUS_OK && i < BARRIER_LANE; i++)
            status = chain(list, i, BARRIER_LANE);
    }
    if (status == SIM_STATUS_OK) status = wait_for(list, lane, count, awaited);
    if (status == SIM_STATUS_OK && !list->is_in_order) {
        status = sim_event_record(list->lane_ends[BARRIER_LANE], lane);
        for (int i = 0; i < BARRIER_LANE; i++)
            list->is_held_back[i] = true;
    }
    return status == SIM_STATUS_OK ? signal(list, lane, signalled) : status;
}

ze_result_t zeCommandListAppendBarrier(ze_command_list_handle_t handle, ze_event_handle_t signalled,
                                       uint32_t count, ze_event_handle_t *awaited)
{
    struct sim_ze_object *list;
    sim_status status = begin(__func__, handle, &list);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    status = append_barrier(list, signalled, count, awaited);
    sim_ze_object_end(list);
    return sim_ze_answer(status);
}

ze_result_t zeCommandListAppendSignalEvent(ze_command_list_handle_t handle, ze_event_handle_t event)
{
    struct sim_ze_object *list;
    sim_stream *lane;
    sim_status status = begin(__func__, handle, &list);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    status = check_events(list, event, 0, NULL);
    if (status == SIM_STATUS_OK) status = next_lane(list, &lane);
    if (status == SIM_STATUS_OK) status = signal(list, lane, event);
    sim_ze_object_end(list);
    return sim_ze_answer(status);
}

ze_result_t zeCommandListAppendWaitOnEvents(ze_command_list_handle_t handle, uint32_t count,
                                            ze_event_handle_t *awaited)
{
    struct sim_ze_object *list;
    sim_status status = begin(__func__, handle, &list);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    status = append_barrier(list, NULL, count, awaited);
    sim_ze_object_end(list);
    return sim_ze_answer(status);
}

/* Memory that is used by a list must be of the list's context; host memory is of none. */
static void check_owner(const struct sim_ze_object *list, const void *address)
{
    sim_memory memory;
    if (sim_memory_find(address, &memory) && memory.owner &&
        (uintptr_t)sim_ze_context_of(memory.owner) != list->parent)
        sim_misuse("a list touches memory of another context than its own");
}

ze_result_t zeCommandListAppendMemoryFill(ze_command_list_handle_t handle, void *address,
                                          const void *pattern, size_t pattern_bytes, size_t size,
                                          ze_event_handle_t signalled, uint32_t count,
                                          ze_event_handle_t *awaited)
{
    struct sim_ze_object *list;
    sim_status status = begin(__func__, handle, &list);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    sim_stream *lane;
    check_owner(list, address);
    status = check_events(list, signalled, count, awaited);
    if (status == SIM_STATUS_OK) status = next_lane(list, &lane);
    if (status == SIM_STATUS_OK) status = wait_for(list, lane, count, awaited);
    if (status == SIM_STATUS_OK) status = sim_fill(lane, address, pattern, pattern_bytes, size);
    if (status == SIM_STATUS_OK) status = signal(list, lane, signalled);
    sim_ze_object_end(list);
    return sim_ze_answer(status);
}

ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t handle, void *destination,
                                          const void *source, size_t size,
                                          ze_event_handle_t signalled, uint32_t count,
                                          ze_event_handle_t *awaited)
{
    struct sim_ze_object *list;
    sim_status status = begin(__func__, handle, &list);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    sim_stream *lane;
    check_owner(list, destination);
    check_owner(list, source);
    status = check_events(list, signalled, count, awaited);
    if (status == SIM_STATUS_OK) status = next_lane(list, &lane);
    if (status == SIM_STATUS_OK) status = wait_for(list, lane, count, awaited);
    if (status == SIM_STATUS_OK) status = sim_copy(lane, destination, source, size);
    if (status == SIM_STATUS_OK) status = signal(list, lane, signalled);
    sim_ze_object_end(list);
    return sim_ze_answer(status);
}

/* --- pools of events -------------------------------------------------------------------------------- */

ze_result_t zeEventPoolCreate(ze_context_handle_t context, const ze_event_pool_desc_t *desc,
                              uint32_t count, ze_device_handle_t *handles,
                              ze_event_pool_handle_t *created)
{
    sim_status status = sim_ze_enter(__func__);
    if (status == SIM_STATUS_OK) status = sim_ze_check_context(context);
    if (status == SIM_STATUS_OK && desc->count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
    int number = 0;
    if (status == SIM_STATUS_OK && count > 0) {
        const struct sim_ze_device *device = sim_ze_device_of(handles[0]);
        if (device) number = device->number;
        if (!device) status = SIM_STATUS_INVALID_HANDLE;
    }
    if (status == SIM_STATUS_OK) status = sim_device_check(number);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    struct sim_ze_object *pool = sim_ze_object_create(SIM_ZE_POOL, (uintptr_t)context, number);
    pool->count = desc->count;
    sim_alive_change(SIM_THING_EVENT_POOL, 1);
    *created = (ze_event_pool_handle_t)pool->number;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t handle)
{
    struct sim_ze_object *pool;
    sim_status status = sim_ze_enter_destroy(__func__, SIM_ZE_POOL, handle, &pool);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    if (sim_ze_object_count_children(pool->number, NULL) > 0)
        sim_misuse("a pool of events was destroyed before its events");
    sim_ze_object_destroy(pool);
    sim_alive_change(SIM_THING_EVENT_POOL, -1);
    return ZE_RESULT_SUCCESS;
}

/* --- events ------------------------------------------------------------------------------------------ */

sim_status sim_ze_event_create(uintptr_t parent, int device, sim_event_form form, uint32_t index,
                               ze_event_handle_t *created)
{
    sim_event *made;
    sim_status status = sim_event_create(device, form, &made);
    if (status != SIM_STATUS_OK) return status;
    struct sim_ze_object *event = sim_ze_object_create(SIM_ZE_EVENT, parent, device);
    event->event = made;
    event->index = index;
    event->is_counter_based = form == SIM_EVENT_FORM_RECORDS;
    *created = (ze_event_handle_t)event->number;
    return SIM_STATUS_OK;
}

ze_result_t zeEventCreate(ze_event_pool_handle_t handle, const ze_event_desc_t *desc,
                          ze_event_handle_t *created)
{
    sim_status status = sim_ze_enter(__func__);
    struct sim_ze_object *pool = sim_ze_object_find(SIM_ZE_POOL, handle);
    if (status == SIM_STATUS_OK && !pool) status = SIM_STATUS_INVALID_HANDLE;
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    sim_ze_object_begin(pool);
    if (desc->index >= pool->count) {
        status = SIM_STATUS_INVALID_VALUE;
    } else {
        if (sim_ze_object_count_children(pool->number, &desc->index) > 0)
            sim_misuse("two events in one place of a pool");
        status = sim_ze_event_create(pool->number, pool->device, SIM_EVENT_FORM_FLAG, desc->index,
                                     created);
    }
    sim_ze_object_end(pool);
    return sim_ze_answer(status);
}

static sim_status enter_event(const char *name, ze_event_handle_t handle,
                              struct sim_ze_object **event_out)
{
    sim_status status = sim_ze_enter(name);
    if (status != SIM_STATUS_OK) return status;
    *event_out = sim_ze_object_find(SIM_ZE_EVENT, handle);
    return *event_out ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

ze_result_t zeEventDestroy(ze_event_handle_t handle)
{
    struct sim_ze_object *event;
    sim_status status = sim_ze_enter_destroy(__func__, SIM_ZE_EVENT, handle, &event);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    sim_event_destroy(event->event);
    sim_ze_object_destroy(event);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventHostSignal(ze_event_handle_t handle)
{
    struct sim_ze_object *event;
    sim_status status = enter_event(__func__, handle, &event);
    return sim_ze_answer(status == SIM_STATUS_OK ? sim_event_host_signal(event->event) : status);
}

ze_result_t zeEventHostReset(ze_event_handle_t handle)
{
    struct sim_ze_object *event;
    sim_status status = enter_event(__func__, handle, &event);
    return sim_ze_answer(status == SIM_STATUS_OK ? sim_event_host_reset(event->event) : status);
}

ze_result_t zeEventQueryStatus(ze_event_handle_t handle)
{
    struct sim_ze_object *event;
    sim_status status = enter_event(__func__, handle, &event);
    return sim_ze_answer(status == SIM_STATUS_OK ? sim_event_query(event->event) : status);
}

ze_result_t zeEventHostSynchronize(ze_event_handle_t handle, uint64_t timeout_ns)
{
    struct sim_ze_object *event;
    sim_status status = enter_event(__func__, handle, &event);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    return sim_ze_answer(timeout_ns == 0 ? sim_event_query(event->event)
                                         : sim_event_synchronize(event->event));
}
