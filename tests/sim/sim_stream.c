/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_stream: streams that are queues of tasks, and events.
 *
 *     stream A    fill ── record r ── copy
 *                            ▲
 *     stream B    copy ── wait for r ── fill
 *
 * Submitting puts a task at the end of a queue and does nothing else. Whoever waits runs tasks until
 * what is awaited is done: each time the head of some stream that is not blocked, drawn from the
 * seed, whichever stream is awaited. So what was not waited for has run or has not, and streams
 * overtake each other.
 *
 * A RECORDS event refers to the mark of its latest record. A wait keeps the mark that was the latest
 * when it was submitted. Of all tasks that wait for marks alone the one submitted first is never
 * blocked, so there is an end. A FLAG event has no mark: a wait looks at the flag when it comes up,
 * and a flag that nobody sets blocks for ever, which is HANG.
 *
 * Threads: everything under the one lock, the tasks too.
 */
#include <stdlib.h>
#include <string.h>

#include "sim_state.h"

enum {
    PATTERN_BYTES_MAX = 128
};

enum task_kind {
    TASK_FILL,
    TASK_COPY,
    TASK_RECORD,    /* a mark is done */
    TASK_WAIT,      /* for a mark */
    TASK_SET_FLAG,  /* of an event */
    TASK_WAIT_FLAG, /* of an event */
};

/* A place in a stream's order. Referred to by its task, its event, and tasks that wait. */
struct mark {
    size_t reference_count;
    const sim_stream *stream; /* in whose order it is; may be gone */
    unsigned poll_count;      /* how often it was asked after */
    bool is_done;
};

/* A sim_event handle stands for one. */
struct event {
    struct sim_handle handle;
    sim_event_form form;
    struct mark *latest; /* RECORDS: the latest record; NULL: none */
    /* FLAG. */
    bool is_set;
    unsigned poll_count;
    size_t pending_signals;
    size_t pending_waits;
    bool is_destroyed; /* and goes with its last pending task */
};

struct task {
    struct task *next;
    enum task_kind kind;
    bool is_spoilt; /* what it works on was taken away */
    uintptr_t destination;
    uintptr_t source;
    size_t size_bytes;
    unsigned char pattern[PATTERN_BYTES_MAX];
    size_t pattern_bytes;
    struct mark *mark;
    struct event *event;
};

/* A sim_stream handle stands for one. */
struct stream {
    struct sim_handle handle;
    struct task *first;
    struct task *last;
    bool is_default;
    bool is_destroyed; /* and goes with its last task */
    unsigned long long id;
    uint64_t thread; /* whose own it is, or 0 */
};

enum {
    REUSABLE_MAX = 64
};

static struct sim_table streams;
static struct sim_table events;
static sim_stream *default_streams[SIM_DEVICES_MAX];
static unsigned long long last_id;
static uint64_t reusable_numbers[REUSABLE_MAX]; /* of handles that have ended */
static size_t reusable_count;

/* --- handles ----------------------------------------------------------------------------------- */

static bool is_reusable(const sim_stream *handle)
{
    for (size_t i = 0; i < reusable_count; i++) {
        struct sim_handle ended = { .number = reusable_numbers[i] };
        if (sim_handle_of(&ended) == handle) return true;
    }
    return false;
}

/* NULL also for one that was destroyed and still has work. */
static struct stream *stream_of(const sim_stream *handle)
{
    struct stream *stream = sim_table_find_locked(&streams, handle);
    if (stream && !stream->is_destroyed) return stream;
    if (is_reusable(handle)) sim_misuse_locked("a stream was used after its end");
    return NULL;
}

static struct event *event_of(const sim_event *handle)
{
    struct event *event = sim_table_find_locked(&events, handle);
    return event && !event->is_destroyed ? event : NULL;
}

static sim_status check(const struct sim_handle *handle)
{
    return handle ? sim_device_check_locked(handle->device) : SIM_STATUS_INVALID_HANDLE;
}

static void stream_forget_if_unused(struct stream *stream)
{
    if (!stream->is_destroyed || stream->first) return;
    sim_table_remove_locked(&streams, &stream->handle);
    free(stream);
}

static void event_forget_if_unused(struct event *event)
{
    if (!event->is_destroyed || event->pending_signals + event->pending_waits > 0) return;
    sim_table_remove_locked(&events, &event->handle);
    free(event);
}

/* --- marks ------------------------------------------------------------------------------------- */

static struct mark *mark_ref(struct mark *mark)
{
    mark->reference_count++;
    return mark;
}

/* NULL is allowed. */
static void mark_unref(struct mark *mark)
{
    if (mark && --mark->reference_count == 0) free(mark);
}

/* --- data -------------------------------------------------------------------------------------- */

static bool run_fill(const struct task *task, int device)
{
    for (size_t done = 0; done < task->size_bytes;) {
        unsigned char *bytes;
        size_t piece = sim_translate_locked(device, true, task->destination + done,
                                            task->size_bytes - done, &bytes);
        if (piece == 0) return false;
        if (task->pattern_bytes == 1) {
            memset(bytes, task->pattern[0], piece);
        } else {
            for (size_t i = 0; i < piece; i++)
                bytes[i] = task->pattern[(done + i) % task->pattern_bytes];
        }
        done += piece;
    }
    return true;
}

static bool run_copy(const struct task *task, int device)
{
    for (size_t done = 0; done < task->size_bytes;) {
        size_t left = task->size_bytes - done;
        unsigned char *from, *to;
        size_t readable = sim_translate_locked(device, false, task->source + done, left, &from);
        size_t writable = sim_translate_locked(device, true, task->destination + done, left, &to);
        size_t piece = readable < writable ? readable : writable;
        if (piece == 0) return false;
        memmove(to, from, piece);
        done += piece;
    }
    return true;
}

/* --- tasks ------------------------------------------------------------------------------------- */

static bool is_blocked(const struct task *task)
{
    if (task->kind == TASK_WAIT) return !task->mark->is_done;
    if (task->kind == TASK_WAIT_FLAG) return !task->event->is_set;
    return false;
}

static void task_destroy(struct task *task)
{
    mark_unref(task->mark);
    free(task);
}

static void run(const struct task *task, int device)
{
    bool is_good = !task->is_spoilt;
    switch (task->kind) {
    case TASK_FILL:
        is_good = is_good && run_fill(task, device);
        break;
    case TASK_COPY:
        is_good = is_good && run_copy(task, device);
        break;
    case TASK_RECORD:
        task->mark->is_done = true;
        break;
    case TASK_WAIT:
        break;
    case TASK_SET_FLAG:
        task->event->is_set = true;
        task->event->pending_signals--;
        event_forget_if_unused(task->event);
        break;
    case TASK_WAIT_FLAG:
        task->event->pending_waits--;
        event_forget_if_unused(task->event);
        break;
    }
    if (!is_good && sim_machine.device_state[device] == SIM_STATUS_OK)
        sim_machine.device_state[device] = SIM_STATUS_ACCESS_FAULT;
}

static void push(struct stream *stream, struct task *task)
{
    if (stream->first) {
        stream->last->next = task;
    } else {
        stream->first = task;
    }
    stream->last = task;
}

static struct task *submit(struct stream *stream, enum task_kind kind)
{
    struct task *task = sim_allocate(sizeof *task);
    task->kind = kind;
    push(stream, task);
    return task;
}

static void run_head(struct stream *stream)
{
    struct task *task = stream->first;
    stream->first = task->next;
    run(task, stream->handle.device);
    task_destroy(task);
    stream_forget_if_unused(stream);
}

/* Runs one task of any stream. False: there is none that can run. */
static bool run_any(void)
{
    struct stream *chosen = NULL;
    uint64_t candidate_count = 0;
    for (size_t i = 0; i < streams.count; i++) {
        struct stream *stream = (struct stream *)streams.items[i];
        if (!stream->first || is_blocked(stream->first)) continue;
        if (sim_random_locked() % ++candidate_count == 0) chosen = stream;
    }
    if (!chosen) return false;
    run_head(chosen);
    return true;
}

/* Runs tasks until the stream is empty. It may go with its last task. */
static sim_status finish(const sim_stream *handle)
{
    for (;;) {
        const struct stream *stream = sim_table_find_locked(&streams, handle);
        if (!stream || !stream->first) return SIM_STATUS_OK;
        if (!run_any()) {
            sim_misuse_locked("a wait for an event that nothing submitted will signal");
            return SIM_STATUS_HANG;
        }
    }
}

bool sim_spoil_work_on_locked(uintptr_t start, size_t size_bytes)
{
    bool found = false;
    for (size_t i = 0; i < streams.count; i++) {
        for (struct task *task = ((struct stream *)streams.items[i])->first; task;
             task = task->next) {
            bool writes = task->kind == TASK_FILL || task->kind == TASK_COPY;
            bool hits = (writes && task->destination < start + size_bytes &&
                         start < task->destination + task->size_bytes) ||
                        (task->kind == TASK_COPY && task->source < start + size_bytes &&
                         start < task->source + task->size_bytes);
            task->is_spoilt |= hits;
            found |= hits;
        }
    }
    return found;
}

/* Others that wait for a mark here go on. */
void sim_drop_work_locked(int device)
{
    for (size_t i = streams.count; i-- > 0;) {
        struct stream *stream = (struct stream *)streams.items[i];
        if (stream->handle.device != device) continue;
        while (stream->first) {
            struct task *task = stream->first;
            stream->first = task->next;
            if (task->kind == TASK_FILL || task->kind == TASK_COPY) task->kind = TASK_WAIT;
            run(task, device);
            task_destroy(task);
        }
        stream_forget_if_unused(stream);
    }
}

size_t sim_pending_count_locked(void)
{
    size_t count = 0;
    for (size_t i = 0; i < streams.count; i++) {
        for (const struct task *task = ((const struct stream *)streams.items[i])->first; task;
             task = task->next)
            count++;
    }
    return count;
}

/* --- streams ----------------------------------------------------------------------------------- */

static sim_stream *stream_create_locked(int device, bool is_default)
{
    struct stream *stream = sim_allocate(sizeof *stream);
    stream->is_default = is_default;
    stream->id = ++last_id;
    sim_table_insert_locked(&streams, &stream->handle, device);
    if (!is_default && reusable_count > 0)
        sim_table_renumber_locked(&streams, &stream->handle, reusable_numbers[--reusable_count]);
    return sim_handle_of(&stream->handle);
}

/* Its handle may come again at once, while its work goes on under another number. */
static void end_handle_locked(struct stream *stream)
{
    if (!sim_machine.settings.reuses_streams || reusable_count == REUSABLE_MAX) return;
    reusable_numbers[reusable_count++] = stream->handle.number;
    sim_table_renumber_locked(&streams, &stream->handle, 0);
}

sim_status sim_stream_create(int device, sim_stream **stream_out)
{
    sim_lock();
    sim_status status = sim_device_check_locked(device);
    if (status == SIM_STATUS_OK) *stream_out = stream_create_locked(device, false);
    sim_unlock();
    return status;
}

sim_status sim_stream_destroy(sim_stream *handle)
{
    sim_lock();
    struct stream *stream = stream_of(handle);
    sim_status status = check(stream ? &stream->handle : NULL);
    if (status == SIM_STATUS_OK && stream->is_default) status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) {
        stream->is_destroyed = true;
        end_handle_locked(stream);
        stream_forget_if_unused(stream);
    }
    sim_unlock();
    return status;
}

sim_stream *sim_stream_default(int device)
{
    if (device < 0 || device >= SIM_DEVICES_MAX) return NULL;
    sim_lock();
    if (!default_streams[device]) default_streams[device] = stream_create_locked(device, true);
    sim_stream *stream = default_streams[device];
    sim_unlock();
    return stream;
}

static uint64_t this_thread_locked(void)
{
    static uint64_t last;
    static _Thread_local uint64_t number;
    if (number == 0) number = ++last;
    return number;
}

sim_stream *sim_stream_of_thread(int device)
{
    if (device < 0 || device >= SIM_DEVICES_MAX) return NULL;
    sim_lock();
    uint64_t thread = this_thread_locked();
    sim_stream *handle = NULL;
    for (size_t i = 0; i < streams.count && !handle; i++) {
        const struct stream *stream = (const struct stream *)streams.items[i];
        if (stream->thread == thread && stream->handle.device == device)
            handle = sim_handle_of(&stream->handle);
    }
    if (!handle) {
        handle = stream_create_locked(device, true);
        ((struct stream *)sim_table_find_locked(&streams, handle))->thread = thread;
    }
    sim_unlock();
    return handle;
}

sim_status sim_stream_get_id(const sim_stream *handle, unsigned long long *id_out)
{
    sim_lock();
    const struct stream *stream = stream_of(handle);
    if (stream) *id_out = stream->id;
    sim_unlock();
    return stream ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

bool sim_stream_is_awaited(const sim_stream *handle)
{
    bool is_awaited = false;
    sim_lock();
    for (size_t i = 0; i < streams.count; i++) {
        const struct stream *stream = (const struct stream *)streams.items[i];
        if (sim_handle_of(&stream->handle) == handle) continue;
        for (const struct task *task = stream->first; task; task = task->next)
            is_awaited |= task->kind == TASK_WAIT && task->mark && task->mark->stream == handle;
    }
    sim_unlock();
    return is_awaited;
}

sim_status sim_stream_find(const sim_stream *handle, int *device_out)
{
    sim_lock();
    const struct stream *stream = stream_of(handle);
    if (stream) *device_out = stream->handle.device;
    sim_unlock();
    return stream ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

sim_status sim_stream_set_flags(sim_stream *handle, unsigned flags)
{
    sim_lock();
    struct stream *stream = stream_of(handle);
    if (stream) stream->handle.flags = flags;
    sim_unlock();
    return stream ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

sim_status sim_stream_get_flags(const sim_stream *handle, unsigned *flags_out)
{
    sim_lock();
    const struct stream *stream = stream_of(handle);
    if (stream) *flags_out = stream->handle.flags;
    sim_unlock();
    return stream ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

/* A fault of the work itself is the answer to the wait. */
static sim_status stream_synchronize_locked(const sim_stream *handle)
{
    const struct stream *stream = stream_of(handle);
    sim_status status = check(stream ? &stream->handle : NULL);
    if (status != SIM_STATUS_OK) return status;
    int device = stream->handle.device;
    status = finish(handle);
    return status == SIM_STATUS_OK ? sim_device_check_locked(device) : status;
}

sim_status sim_stream_synchronize(sim_stream *handle)
{
    sim_lock();
    sim_status status = stream_synchronize_locked(handle);
    sim_unlock();
    return status;
}

sim_status sim_stream_query(sim_stream *handle)
{
    sim_lock();
    const struct stream *stream = stream_of(handle);
    sim_status status = check(stream ? &stream->handle : NULL);
    if (status == SIM_STATUS_OK && stream->first) {
        run_any();
        status = SIM_STATUS_NOT_READY;
    }
    sim_unlock();
    return status;
}

static const sim_stream *busy_stream_of_device(int device)
{
    for (size_t i = 0; i < streams.count; i++) {
        const struct stream *stream = (const struct stream *)streams.items[i];
        if (stream->handle.device == device && stream->first) return sim_handle_of(&stream->handle);
    }
    return NULL;
}

sim_status sim_device_synchronize(int device)
{
    sim_lock();
    sim_status status = sim_device_check_locked(device);
    const sim_stream *busy;
    while (status == SIM_STATUS_OK && (busy = busy_stream_of_device(device)) != NULL)
        status = finish(busy);
    if (status == SIM_STATUS_OK) status = sim_device_check_locked(device);
    sim_unlock();
    return status;
}

static void submit_wait_locked(struct stream *stream, struct event *event)
{
    if (event->form == SIM_EVENT_FORM_FLAG) {
        submit(stream, TASK_WAIT_FLAG)->event = event;
        event->pending_waits++;
    } else if (event->latest && !event->latest->is_done) {
        submit(stream, TASK_WAIT)->mark = mark_ref(event->latest);
    }
}

sim_status sim_stream_wait_event(sim_stream *stream_handle, sim_event *event_handle)
{
    sim_lock();
    struct stream *stream = stream_of(stream_handle);
    struct event *event = event_of(event_handle);
    sim_status status = check(stream ? &stream->handle : NULL);
    if (status == SIM_STATUS_OK) status = check(event ? &event->handle : NULL);
    if (status == SIM_STATUS_OK) submit_wait_locked(stream, event);
    sim_unlock();
    return status;
}

/* --- data, in stream order ---------------------------------------------------------------------- */

sim_status sim_fill(sim_stream *handle, void *address, const void *pattern, size_t pattern_bytes,
                    size_t size_bytes)
{
    if (pattern_bytes == 0 || pattern_bytes > PATTERN_BYTES_MAX || size_bytes % pattern_bytes != 0)
        return SIM_STATUS_INVALID_SIZE;
    sim_lock();
    struct stream *stream = stream_of(handle);
    sim_status status = check(stream ? &stream->handle : NULL);
    if (status == SIM_STATUS_OK && size_bytes > 0) {
        struct task *task = submit(stream, TASK_FILL);
        task->destination = (uintptr_t)address;
        task->size_bytes = size_bytes;
        task->pattern_bytes = pattern_bytes;
        memcpy(task->pattern, pattern, pattern_bytes);
    }
    sim_unlock();
    return status;
}

sim_status sim_copy(sim_stream *handle, void *destination, const void *source, size_t size_bytes)
{
    sim_lock();
    struct stream *stream = stream_of(handle);
    sim_status status = check(stream ? &stream->handle : NULL);
    if (status == SIM_STATUS_OK && size_bytes > 0) {
        struct task *task = submit(stream, TASK_COPY);
        task->destination = (uintptr_t)destination;
        task->source = (uintptr_t)source;
        task->size_bytes = size_bytes;
    }
    sim_unlock();
    return status;
}

/* --- events ------------------------------------------------------------------------------------ */

sim_status sim_event_create(int device, sim_event_form form, sim_event **event_out)
{
    sim_lock();
    sim_status status = sim_device_check_locked(device);
    if (status == SIM_STATUS_OK) {
        struct event *event = sim_allocate(sizeof *event);
        event->form = form;
        *event_out = sim_table_insert_locked(&events, &event->handle, device);
    }
    sim_unlock();
    return status;
}

static void event_destroy_locked(struct event *event)
{
    if (event->pending_signals + event->pending_waits > 0)
        sim_misuse_locked("an event was destroyed under pending work");
    mark_unref(event->latest);
    event->latest = NULL;
    event->is_destroyed = true;
    event_forget_if_unused(event);
}

sim_status sim_event_destroy(sim_event *handle)
{
    sim_lock();
    struct event *event = event_of(handle);
    sim_status status = check(event ? &event->handle : NULL);
    if (status == SIM_STATUS_OK) event_destroy_locked(event);
    sim_unlock();
    return status;
}

sim_status sim_event_find(const sim_event *handle, int *device_out)
{
    sim_lock();
    const struct event *event = event_of(handle);
    if (event) *device_out = event->handle.device;
    sim_unlock();
    return event ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

sim_status sim_event_set_flags(sim_event *handle, unsigned flags)
{
    sim_lock();
    struct event *event = event_of(handle);
    if (event) event->handle.flags = flags;
    sim_unlock();
    return event ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

sim_status sim_event_get_flags(const sim_event *handle, unsigned *flags_out)
{
    sim_lock();
    const struct event *event = event_of(handle);
    if (event) *flags_out = event->handle.flags;
    sim_unlock();
    return event ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

static void record_locked(struct event *event, struct stream *stream)
{
    if (event->form == SIM_EVENT_FORM_FLAG) {
        submit(stream, TASK_SET_FLAG)->event = event;
        event->pending_signals++;
        return;
    }
    mark_unref(event->latest);
    event->latest = mark_ref(sim_allocate(sizeof *event->latest));
    event->latest->stream = sim_handle_of(&stream->handle);
    submit(stream, TASK_RECORD)->mark = mark_ref(event->latest);
}

sim_status sim_event_record(sim_event *event_handle, sim_stream *stream_handle)
{
    sim_lock();
    struct stream *stream = stream_of(stream_handle);
    struct event *event = event_of(event_handle);
    sim_status status = check(stream ? &stream->handle : NULL);
    if (status == SIM_STATUS_OK) status = check(event ? &event->handle : NULL);
    if (status == SIM_STATUS_OK && stream->handle.device != event->handle.device)
        status = SIM_STATUS_WRONG_DEVICE;
    if (status == SIM_STATUS_OK) record_locked(event, stream);
    sim_unlock();
    return status;
}

/* A stream without a handle of its own waits for a mark on each stream of the device, and goes with its last task. */
static void record_device_locked(struct event *event)
{
    int device = event->handle.device;
    struct stream *joined = stream_of(stream_create_locked(device, true)); /* reuses no handle */
    size_t count = streams.count;
    for (size_t i = 0; i < count; i++) {
        struct stream *stream = (struct stream *)streams.items[i];
        if (stream == joined || stream->handle.device != device || !stream->first) continue;
        struct mark *mark = mark_ref(sim_allocate(sizeof *mark));
        mark->stream = sim_handle_of(&stream->handle);
        submit(stream, TASK_RECORD)->mark = mark;
        submit(joined, TASK_WAIT)->mark = mark_ref(mark);
    }
    record_locked(event, joined);
    joined->is_default = false;
    joined->is_destroyed = true;
}

sim_status sim_event_record_device(sim_event *event_handle)
{
    sim_lock();
    struct event *event = event_of(event_handle);
    sim_status status = check(event ? &event->handle : NULL);
    if (status == SIM_STATUS_OK) record_device_locked(event);
    sim_unlock();
    return status;
}

static bool is_complete(const struct event *event)
{
    if (event->form == SIM_EVENT_FORM_FLAG) return event->is_set;
    return !event->latest || event->latest->is_done;
}

/* The first answers about what nobody waited for are always NOT_READY, and nothing runs meanwhile. */
static sim_status event_query_locked(struct event *event)
{
    sim_status status = check(event ? &event->handle : NULL);
    if (status != SIM_STATUS_OK || is_complete(event)) return status;
    unsigned *poll_count = event->latest ? &event->latest->poll_count : &event->poll_count;
    if (++*poll_count >= sim_machine.settings.event_delay_polls) run_any();
    return SIM_STATUS_NOT_READY;
}

sim_status sim_event_query(sim_event *handle)
{
    sim_lock();
    sim_status status = event_query_locked(event_of(handle));
    sim_unlock();
    return status;
}

static sim_status event_synchronize_locked(const struct event *event)
{
    sim_status status = check(event ? &event->handle : NULL);
    while (status == SIM_STATUS_OK && !is_complete(event)) {
        if (run_any()) continue;
        sim_misuse_locked("a wait for an event that nothing submitted will signal");
        return SIM_STATUS_HANG;
    }
    return status == SIM_STATUS_OK ? check(&event->handle) : status;
}

sim_status sim_event_synchronize(sim_event *handle)
{
    sim_lock();
    sim_status status = event_synchronize_locked(event_of(handle));
    sim_unlock();
    return status;
}

static sim_status set_flag_locked(struct event *event, bool is_set)
{
    sim_status status = check(event ? &event->handle : NULL);
    if (status != SIM_STATUS_OK) return status;
    if (event->form != SIM_EVENT_FORM_FLAG) return SIM_STATUS_INVALID_VALUE;
    if (!is_set && event->pending_signals > 0)
        sim_misuse_locked("an event was reset before its signal");
    event->is_set = is_set;
    if (!is_set) event->poll_count = 0;
    return SIM_STATUS_OK;
}

sim_status sim_event_host_reset(sim_event *handle)
{
    sim_lock();
    sim_status status = set_flag_locked(event_of(handle), false);
    sim_unlock();
    return status;
}

sim_status sim_event_host_signal(sim_event *handle)
{
    sim_lock();
    sim_status status = set_flag_locked(event_of(handle), true);
    sim_unlock();
    return status;
}

/* --- what is alive, and the end ------------------------------------------------------------------ */

size_t sim_stream_count_locked(void)
{
    size_t count = 0;
    for (size_t i = 0; i < streams.count; i++) {
        const struct stream *stream = (const struct stream *)streams.items[i];
        count += !stream->is_destroyed && !stream->is_default && !stream->handle.is_gone;
    }
    return count;
}

size_t sim_event_count_locked(void)
{
    size_t count = 0;
    for (size_t i = 0; i < events.count; i++) {
        const struct event *event = (const struct event *)events.items[i];
        count += !event->is_destroyed && !event->handle.is_gone;
    }
    return count;
}

void sim_streams_mark_gone_locked(int device)
{
    sim_table_mark_gone_locked(&streams, device);
    sim_table_mark_gone_locked(&events, device);
}

static void table_fini(struct sim_table *table)
{
    free(table->items);
    *table = (struct sim_table){ 0 };
}

void sim_stream_reset_locked(void)
{
    for (int device = 0; device < SIM_DEVICES_MAX; device++) {
        sim_drop_work_locked(device);
        default_streams[device] = NULL;
    }
    reusable_count = 0;
    for (size_t i = 0; i < streams.count; i++)
        free(streams.items[i]);
    for (size_t i = 0; i < events.count; i++) {
        mark_unref(((struct event *)events.items[i])->latest);
        free(events.items[i]);
    }
    table_fini(&streams);
    table_fini(&events);
}
