/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * host_stream: streams that are queues of tasks, and run late.
 *
 *     stream A    fill ── record r ── copy
 *                            ▲
 *     stream B    copy ── wait for r ── fill
 *
 * Submitting only puts a task at the end of a queue. Tasks run when a thread waits for them, in that
 * thread: synchronizing with a stream or an event runs the tasks before it and no others. Querying an
 * event runs at most one task, so that a loop of queries ends. A program that uses memory too early
 * therefore always finds the old content.
 *
 * A thread's own stream is created when the thread first uses it. It outlives the thread, since its
 * tasks may not have run. Once it is empty, another thread may get it.
 *
 * An event refers to the task of its latest record. A wait refers to the record that was the latest
 * when the wait was submitted. Recording the event again or destroying it does not change the wait.
 *
 * The memory of a task may be freed in stream order before the task runs. So the address sanitizer
 * checks the memory when the task is submitted, and not when it runs.
 *
 * Cost: submitting allocates one small piece of host memory. Running a task takes one step more for
 * each stream that it has to wait for.
 * Threads: any. Tasks run under the device's lock. So a query may wait until another thread's task
 * ends, but never until one begins.
 * Always true: a record is submitted before every wait that refers to it. So among the tasks that have
 * not run, the one submitted first is at the head of its queue and waits for nothing: there is always a
 * task that can run.
 */
#include "host_device.h"

#include <stdatomic.h>

#include "../backend_common/operation.h"
#include "../base/host_memory.h"
#include "../base/sanitizer.h"
#include "../base/thread_number.h"
#include "tarn/host.h"

enum task_kind {
    TASK_FILL,
    TASK_COPY,
    TASK_RECORD,
    TASK_WAIT
};

struct fill_task {
    void *address;
    size_t size_bytes;
    unsigned char value;
};

struct copy_task {
    void *destination;
    const void *source;
    size_t size_bytes;
};

/* The device's lock guards it from its submission on. */
struct tn_host_task {
    struct tn_host_task *next;     /* in the queue */
    struct tn_host_stream *stream; /* the stream of the queue; meaningless when it is done */
    size_t reference_count;        /* the queue; of a record also its event and its waits */
    bool is_done;
    enum task_kind kind;
    union {
        struct fill_task fill;
        struct copy_task copy;
        struct tn_host_task *awaited; /* a wait's record */
    } of;
};

/* A tarn_event points to such a struct. */
struct tn_host_event {
    struct tn_host_task *record; /* the latest; NULL: never recorded */
};

/* --- tasks ------------------------------------------------------------------------------------- */

static struct tn_host_task *task_create(enum task_kind kind)
{
    struct tn_host_task *task = tn_host_memory_alloc_zeroed(sizeof *task);
    if (!task) return NULL;
    task->kind = kind;
    task->reference_count = 1;
    return task;
}

static struct tn_host_task *task_ref_locked(struct tn_host_task *task)
{
    task->reference_count++;
    return task;
}

/* NULL is allowed. */
static void task_unref_locked(struct tn_host_task *task)
{
    if (task && --task->reference_count == 0) tn_host_memory_free(task);
}

static bool task_is_blocked(const struct tn_host_task *task)
{
    return task->kind == TASK_WAIT && !task->of.awaited->is_done;
}

static void task_run_locked(struct tn_host_task *task)
{
    TN_ASSERT(!task->is_done);
    TN_ASSERT(!task_is_blocked(task));
    switch (task->kind) {
    case TASK_FILL:
        tn_sanitizer_fill(task->of.fill.address, task->of.fill.value, task->of.fill.size_bytes);
        break;
    case TASK_COPY:
        tn_sanitizer_move(task->of.copy.destination, task->of.copy.source,
                          task->of.copy.size_bytes);
        break;
    case TASK_RECORD:
        break;
    case TASK_WAIT:
        task_unref_locked(task->of.awaited);
        break;
    }
    task->is_done = true;
}

/* --- queues ------------------------------------------------------------------------------------ */

static void stream_push_locked(struct tn_host_stream *stream, struct tn_host_task *task)
{
    task->stream = stream;
    if (stream->first) {
        stream->last->next = task;
    } else {
        stream->first = task;
    }
    stream->last = task;
}

/* Runs one task: the stream's first. If that has to wait, it runs the first task of the awaited stream,
 * and so on. Each step leads to a task that was submitted earlier, so the search ends. */
static void stream_advance_locked(struct tn_host_stream *stream)
{
    TN_ASSERT(stream->first);
    while (task_is_blocked(stream->first))
        stream = stream->first->of.awaited->stream;

    struct tn_host_task *task = stream->first;
    stream->first = task->next;
    task_run_locked(task);
    task_unref_locked(task);
}

static void stream_finish_locked(struct tn_host_stream *stream)
{
    while (stream->first)
        stream_advance_locked(stream);
}

void tn_host_streams_finish_locked(struct tn_host_device *device)
{
    for (struct tn_host_stream *stream = &device->default_stream; stream; stream = stream->next)
        stream_finish_locked(stream);
}

/* --- which stream a handle means --------------------------------------------------------------- */

static _Atomic uint64_t last_id;

/* Makes a stream a new one. */
static void stream_begin(struct tn_host_stream *stream, uint64_t thread)
{
    stream->id = atomic_fetch_add(&last_id, 1) + 1;
    stream->thread = thread;
}

static struct tn_host_stream *stream_create_locked(struct tn_host_device *device, uint64_t thread)
{
    struct tn_host_stream *stream = tn_host_memory_alloc_zeroed(sizeof *stream);
    if (!stream) return NULL;
    stream_begin(stream, thread);
    stream->next = device->default_stream.next;
    device->default_stream.next = stream;
    return stream;
}

/* NULL: no host memory. */
static struct tn_host_stream *thread_stream_locked(struct tn_host_device *device)
{
    uint64_t thread = tn_thread_number();
    struct tn_host_stream *empty = NULL;
    for (struct tn_host_stream *stream = device->default_stream.next; stream;
         stream = stream->next) {
        if (stream->thread == thread) return stream;
        if (stream->thread != 0 && !stream->first) empty = stream;
    }
    if (!empty) return stream_create_locked(device, thread);
    stream_begin(empty, thread);
    return empty;
}

static bool is_created(tarn_stream stream)
{
    return stream && stream != TARN_HOST_STREAM_DEFAULT && stream != TARN_HOST_STREAM_PER_THREAD;
}

/* NULL: no host memory for the thread's own stream. */
static struct tn_host_stream *stream_of_locked(struct tn_host_device *device, tarn_stream stream)
{
    if (stream == TARN_HOST_STREAM_PER_THREAD) return thread_stream_locked(device);
    return is_created(stream) ? stream : &device->default_stream;
}

void tn_host_streams_init(struct tn_host_device *device)
{
    stream_begin(&device->default_stream, 0);
}

void tn_host_streams_fini_locked(struct tn_host_device *device)
{
    while (device->default_stream.next) {
        struct tn_host_stream *stream = device->default_stream.next;
        TN_ASSERT(stream->thread != 0);
        device->default_stream.next = stream->next;
        tn_host_memory_free(stream);
    }
}

/* Owns the task, also when it fails. */
static tarn_backend_result submit_locked(struct tn_host_device *device, tarn_stream stream,
                                         struct tn_host_task *task)
{
    struct tn_host_stream *target = stream_of_locked(device, stream);
    if (!target) {
        tn_host_memory_free(task);
        return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    }
    stream_push_locked(target, task);
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result submit(struct tn_host_device *device, tarn_stream stream,
                                  struct tn_host_task *task)
{
    tn_mutex_lock(&device->lock);
    tarn_backend_result result = submit_locked(device, stream, task);
    tn_mutex_unlock(&device->lock);
    return result;
}

/* --- streams ----------------------------------------------------------------------------------- */

tarn_backend_result tn_host_stream_create(void *state, tarn_stream *stream_out)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tn_mutex_lock(&device->lock);
    struct tn_host_stream *stream = stream_create_locked(device, 0);
    tn_mutex_unlock(&device->lock);
    if (!stream) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    *stream_out = stream;
    return TARN_BACKEND_RESULT_OK;
}

static void stream_unlink_locked(struct tn_host_device *device, struct tn_host_stream *stream)
{
    struct tn_host_stream *before = &device->default_stream;
    while (before->next != stream)
        before = before->next;
    before->next = stream->next;
}

tarn_backend_result tn_host_stream_destroy(void *state, tarn_stream stream)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return TARN_BACKEND_RESULT_OK;
    if (!is_created(stream)) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tn_mutex_lock(&device->lock);
    stream_finish_locked(stream);
    stream_unlink_locked(device, stream);
    tn_mutex_unlock(&device->lock);
    tn_host_memory_free(stream);
    return TARN_BACKEND_RESULT_OK;
}

/* Searches all streams, so the handle may be invalid. NULL: there is no such stream. */
static const struct tn_host_stream *find_stream_locked(struct tn_host_device *device,
                                                       tarn_stream stream)
{
    if (!is_created(stream)) return stream_of_locked(device, stream);
    const struct tn_host_stream *known = device->default_stream.next;
    while (known && known != stream)
        known = known->next;
    return known;
}

tarn_backend_result tn_host_stream_check(void *state, tarn_stream stream)
{
    uint64_t id;
    return tn_host_stream_id(state, stream, &id);
}

tarn_backend_result tn_host_stream_id(void *state, tarn_stream stream, uint64_t *id_out)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tn_mutex_lock(&device->lock);
    const struct tn_host_stream *known = find_stream_locked(device, stream);
    if (known) *id_out = known->id;
    tn_mutex_unlock(&device->lock);
    if (known) return TARN_BACKEND_RESULT_OK;
    return tn_backend_result(is_created(stream) ? TARN_STATUS_INVALID_ARGUMENT
                                                : TARN_STATUS_OUT_OF_HOST_MEMORY);
}

tarn_backend_result tn_host_stream_synchronize(void *state, tarn_stream stream)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tn_mutex_lock(&device->lock);
    struct tn_host_stream *awaited = stream_of_locked(device, stream);
    if (awaited) stream_finish_locked(awaited);
    tn_mutex_unlock(&device->lock);
    return tn_backend_result(awaited ? TARN_STATUS_OK : TARN_STATUS_OUT_OF_HOST_MEMORY);
}

tarn_backend_result tn_host_stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    struct tn_host_device *device = state;
    const struct tn_host_event *waited = event;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    if (!waited) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_host_task *task = task_create(TASK_WAIT);
    if (!task) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);

    tn_mutex_lock(&device->lock);
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    bool has_to_wait = waited->record && !waited->record->is_done;
    if (has_to_wait) {
        task->of.awaited = waited->record;
        result = submit_locked(device, stream, task);
    }
    if (has_to_wait && result.status == TARN_STATUS_OK) task_ref_locked(waited->record);
    tn_mutex_unlock(&device->lock);
    if (!has_to_wait) tn_host_memory_free(task);
    return result;
}

/* --- events ------------------------------------------------------------------------------------ */

tarn_backend_result tn_host_event_create(void *state, tarn_event *event_out)
{
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    struct tn_host_event *event = tn_host_memory_alloc_zeroed(sizeof *event);
    if (!event) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    *event_out = event;
    return TARN_BACKEND_RESULT_OK;
}

/* A queued record and the waits for it outlive the event: they do not need it. */
tarn_backend_result tn_host_event_destroy(void *state, tarn_event event)
{
    struct tn_host_device *device = state;
    struct tn_host_event *destroyed = event;
    if (!destroyed) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    if (!tn_host_is_forked(state)) {
        tn_mutex_lock(&device->lock);
        task_unref_locked(destroyed->record);
        tn_mutex_unlock(&device->lock);
    }
    tn_host_memory_free(destroyed);
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_host_event_record(void *state, tarn_event event, tarn_stream stream)
{
    struct tn_host_device *device = state;
    struct tn_host_event *recorded = event;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    if (!recorded) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_host_task *task = task_create(TASK_RECORD);
    if (!task) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);

    tn_mutex_lock(&device->lock);
    tarn_backend_result result = submit_locked(device, stream, task);
    if (result.status == TARN_STATUS_OK) {
        task_unref_locked(recorded->record);
        recorded->record = task_ref_locked(task);
    }
    tn_mutex_unlock(&device->lock);
    return result;
}

/* Answers first and runs a task then, so that the first answer about work that no thread has waited for
 * is always NOT_READY. */
tarn_backend_result tn_host_event_query(void *state, tarn_event event)
{
    struct tn_host_device *device = state;
    const struct tn_host_event *queried = event;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    if (!queried) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tn_mutex_lock(&device->lock);
    bool is_complete = !queried->record || queried->record->is_done;
    if (!is_complete) stream_advance_locked(queried->record->stream);
    tn_mutex_unlock(&device->lock);
    return tn_backend_result(is_complete ? TARN_STATUS_OK : TARN_STATUS_NOT_READY);
}

tarn_backend_result tn_host_event_synchronize(void *state, tarn_event event)
{
    struct tn_host_device *device = state;
    const struct tn_host_event *awaited = event;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    if (!awaited) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tn_mutex_lock(&device->lock);
    while (awaited->record && !awaited->record->is_done)
        stream_advance_locked(awaited->record->stream);
    tn_mutex_unlock(&device->lock);
    return TARN_BACKEND_RESULT_OK;
}

/* --- data -------------------------------------------------------------------------------------- */

tarn_backend_result tn_host_fill(void *state, void *address, unsigned char value, size_t size_bytes,
                                 tarn_stream stream)
{
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!address) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tn_sanitizer_claim(address, size_bytes);
    struct tn_host_task *task = task_create(TASK_FILL);
    if (!task) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    task->of.fill = (struct fill_task){ address, size_bytes, value };
    return submit(state, stream, task);
}

tarn_backend_result tn_host_copy(void *state, void *destination, const void *source,
                                 size_t size_bytes, tarn_stream stream)
{
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!destination || !source) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tn_sanitizer_claim(destination, size_bytes);
    tn_sanitizer_claim(source, size_bytes);
    struct tn_host_task *task = task_create(TASK_COPY);
    if (!task) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    task->of.copy = (struct copy_task){ destination, source, size_bytes };
    return submit(state, stream, task);
}
