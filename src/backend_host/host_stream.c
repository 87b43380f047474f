/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * host_stream: streams that are queues of tasks, and run late. They are the process's: each serves the memory of
 * all open host backends, as a stream of a GPU serves all kinds of memory there.
 *
 *     stream A    fill ── record r ── launch
 *                            ▲
 *     stream B    copy ── wait for r ── fill
 *
 * Submitting only puts a task at the end of a queue. Tasks run when a thread waits for them, in that
 * thread: synchronizing with a stream or an event runs the tasks before it and no others. Querying an
 * event runs at most one task, so that a loop of queries ends. A program that uses memory too early
 * therefore always finds the old content.
 *
 * A task stays at the head of its queue while it runs, with no lock held. Meanwhile other threads that need
 * the same stream wait for the task's end. A thread that runs a task cannot wait for others: that could
 * deadlock.
 *
 * A thread's own stream is created when the thread first uses it. It outlives the thread, since its
 * tasks may not have run. Once it is empty, another thread may get it.
 *
 * An event refers to the task of its latest record. A wait refers to the record that was the latest
 * when the wait was submitted. Recording the event again or destroying it does not change the wait.
 *
 * The memory of a fill or copy may be freed in stream order before the task runs. So the address sanitizer
 * checks the memory when the task is submitted, and not when it runs. Which memory a launched function uses
 * is not known. So memory that is freed while one has not run stays accessible.
 *
 * Each operation looks for its stream in the list of all. So a stream that has ended is found out, unless a new one
 * has its handle: then pools were not told of the end, see tarn_stream_retire.
 *
 * A forked child forgets the streams, since a thread of the parent may have been changing them.
 *
 * Cost: submitting allocates one small piece of host memory, and takes a step for each stream. Running a
 * task takes one step more for each stream that it has to wait for.
 * Threads: any.
 * Always true: a record is submitted before every wait that refers to it. So among the tasks that have
 * not run, the one submitted first is at the head of its queue and waits for nothing: there is always a
 * task that can run.
 */
#include "host_device.h"

#include <stddef.h>
#include <string.h>

#include "../backend_common/operation.h"
#include "../base/host_memory.h"
#include "../base/sanitizer.h"
#include "../base/thread_number.h"
#include "tarn/host.h"

enum task_kind {
    TASK_FILL,
    TASK_COPY,
    TASK_LAUNCH,
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

struct launch_task {
    void (*function)(void *argument);
    void *argument;
};

struct host_stream;

/* The lock guards it from its submission on. `of` does not change then. */
struct host_task {
    struct host_task *next;     /* in the queue */
    struct host_stream *stream; /* the stream of the queue; meaningless when it is done */
    uint64_t number;            /* of the submission, in the process */
    size_t reference_count;     /* the queue; of a record also its event and its waits */
    bool is_done;
    enum task_kind kind;
    union {
        struct fill_task fill;
        struct copy_task copy;
        struct launch_task launch;
        struct host_task *awaited; /* a wait's record */
    } of;
    _Alignas(max_align_t) unsigned char argument[]; /* a copy, for a launched function */
};

/* A queue of tasks that are not done. A tarn_stream points to such a struct. */
struct host_stream {
    struct host_stream *next; /* in the list of all */
    uint64_t id;              /* unique in the process for all time */
    uint64_t thread;          /* the thread that owns it; 0: created, or the default stream */
    struct host_task *first;  /* runs next, or is running; NULL: the queue is empty */
    struct host_task *last;   /* undefined if the queue is empty */
    bool is_running;          /* the first task is */
};

/* A tarn_event points to such a struct. */
struct host_event {
    struct host_task *record; /* the latest; NULL: never recorded */
    uint32_t generation;      /* of the process that created it */
};

#define DEFAULT_STREAM_ID 1

static struct tn_mutex lock = TN_MUTEX_INIT; /* guards what follows */
static struct tn_condition task_ended = TN_CONDITION_INIT;
static struct host_stream default_stream = { .id =
                                                 DEFAULT_STREAM_ID }; /* NULL; first in the list */
static uint64_t last_id = DEFAULT_STREAM_ID;
static uint64_t last_number; /* of a task */

static bool is_inherited; /* set only in a forked child, before it has threads */
/* The parent's streams, in a forked child: nothing reads them, but leak checkers find them here. */
static volatile struct host_stream of_parent;

static _Thread_local bool runs_task; /* the calling thread does */

/* --- begin and end ----------------------------------------------------------------------------- */

static struct tn_once begin_once = TN_ONCE_INIT;
static bool has_begun;

static void forget_in_child(void)
{
    tn_mutex_init(&lock);
    tn_condition_init(&task_ended);
    of_parent = default_stream;
    default_stream = (struct host_stream){ .id = DEFAULT_STREAM_ID };
    is_inherited = true;
    tn_sanitizer_forget_late_uses();
}

static void begin(void)
{
    has_begun =
        tn_process_watch_forks() && tn_process_call_around_forks(NULL, NULL, forget_in_child);
}

bool tn_host_streams_begin(void)
{
    tn_once_call(&begin_once, begin);
    return has_begun;
}

bool tn_host_streams_are_inherited(void)
{
    return is_inherited;
}

/* --- tasks ------------------------------------------------------------------------------------- */

static struct host_task *task_create(enum task_kind kind, size_t argument_bytes)
{
    size_t size_bytes;
    if (!tn_add_fits(sizeof(struct host_task), argument_bytes, &size_bytes)) return NULL;
    struct host_task *task = tn_host_memory_alloc_zeroed(size_bytes);
    if (!task) return NULL;
    task->kind = kind;
    task->reference_count = 1;
    return task;
}

static struct host_task *task_ref_locked(struct host_task *task)
{
    task->reference_count++;
    return task;
}

/* NULL is allowed. */
static void task_unref_locked(struct host_task *task)
{
    if (task && --task->reference_count == 0) tn_host_memory_free(task);
}

static bool task_is_blocked_locked(const struct host_task *task)
{
    return task->kind == TASK_WAIT && !task->of.awaited->is_done;
}

static void task_run(const struct host_task *task)
{
    switch (task->kind) {
    case TASK_FILL:
        tn_sanitizer_fill(task->of.fill.address, task->of.fill.value, task->of.fill.size_bytes);
        break;
    case TASK_COPY:
        tn_sanitizer_move(task->of.copy.destination, task->of.copy.source,
                          task->of.copy.size_bytes);
        break;
    case TASK_LAUNCH:
        task->of.launch.function(task->of.launch.argument);
        tn_sanitizer_end_late_use();
        break;
    case TASK_RECORD:
    case TASK_WAIT:
        break;
    }
}

/* --- queues ------------------------------------------------------------------------------------ */

static void stream_push_locked(struct host_stream *stream, struct host_task *task)
{
    task->stream = stream;
    task->number = ++last_number;
    if (stream->first) {
        stream->last->next = task;
    } else {
        stream->first = task;
    }
    stream->last = task;
}

static void stream_pop_locked(struct host_stream *stream)
{
    struct host_task *task = stream->first;
    stream->first = task->next;
    task->is_done = true;
    if (task->kind == TASK_WAIT) task_unref_locked(task->of.awaited);
    task_unref_locked(task);
    tn_condition_signal_all(&task_ended);
}

/* Runs the stream's first task, without the lock. False: the task has forked, and this is the child, where the
 * stream and its tasks are the parent's. */
static bool stream_run_first_locked(struct host_stream *stream)
{
    TN_ASSERT(!runs_task);
    TN_ASSERT(!stream->is_running);
    TN_ASSERT(!task_is_blocked_locked(stream->first));
    const struct host_task *task = stream->first;
    uint32_t generation = tn_process_generation();
    stream->is_running = true;
    runs_task = true;
    tn_mutex_unlock(&lock);
    task_run(task);
    tn_mutex_lock(&lock);
    runs_task = false;
    if (generation != tn_process_generation()) return false;
    stream->is_running = false;
    stream_pop_locked(stream);
    return true;
}

/* The stream whose first task must run next, so that this stream comes further. Each step leads to a task that was
 * submitted earlier, so the search ends. */
static struct host_stream *stream_find_next_locked(struct host_stream *stream)
{
    TN_ASSERT(stream->first);
    while (!stream->is_running && task_is_blocked_locked(stream->first))
        stream = stream->first->of.awaited->stream;
    return stream;
}

/* Runs one task, or waits for the end of one that another thread runs. False: see stream_run_first_locked. */
static bool stream_advance_locked(struct host_stream *stream)
{
    struct host_stream *next = stream_find_next_locked(stream);
    if (!next->is_running) return stream_run_first_locked(next);
    tn_condition_wait(&task_ended, &lock);
    return true;
}

/* Runs the stream's tasks up to that number. False: see stream_run_first_locked. */
static bool stream_finish_locked(struct host_stream *stream, uint64_t number)
{
    bool has_advanced = true;
    while (has_advanced && stream->first && stream->first->number <= number)
        has_advanced = stream_advance_locked(stream);
    return has_advanced;
}

static struct host_stream *find_unfinished_locked(uint64_t number)
{
    struct host_stream *stream = &default_stream;
    while (stream && !(stream->first && stream->first->number <= number))
        stream = stream->next;
    return stream;
}

/* Streams may come and go while a task runs, so the search begins anew after each. */
static bool finish_all_locked(void)
{
    const uint64_t number = last_number;
    struct host_stream *stream;
    bool has_advanced = true;
    while (has_advanced && (stream = find_unfinished_locked(number)) != NULL)
        has_advanced = stream_advance_locked(stream);
    return has_advanced;
}

/* Whether an operation of the backend may wait for tasks. */
static tarn_status check_waiting(const void *state)
{
    if (tn_host_is_forked(state)) return TARN_STATUS_FORKED;
    return runs_task ? TARN_STATUS_INVALID_ARGUMENT : TARN_STATUS_OK;
}

tarn_backend_result tn_host_synchronize(void *state)
{
    tarn_status status = check_waiting(state);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    tn_mutex_lock(&lock);
    bool is_finished = finish_all_locked();
    tn_mutex_unlock(&lock);
    return tn_backend_result(is_finished ? TARN_STATUS_OK : TARN_STATUS_FORKED);
}

/* --- which stream a handle means --------------------------------------------------------------- */

/* Makes a stream a new one. */
static void stream_begin_locked(struct host_stream *stream, uint64_t thread)
{
    stream->id = ++last_id;
    stream->thread = thread;
}

/* NULL: no host memory. */
static struct host_stream *stream_create_locked(uint64_t thread)
{
    struct host_stream *stream = tn_host_memory_alloc_zeroed(sizeof *stream);
    if (!stream) return NULL;
    stream_begin_locked(stream, thread);
    stream->next = default_stream.next;
    default_stream.next = stream;
    return stream;
}

/* NULL: no host memory. */
static struct host_stream *thread_stream_locked(void)
{
    uint64_t thread = tn_thread_number();
    struct host_stream *empty = NULL;
    for (struct host_stream *stream = default_stream.next; stream; stream = stream->next) {
        if (stream->thread == thread) return stream;
        if (stream->thread != 0 && !stream->first) empty = stream;
    }
    if (!empty) return stream_create_locked(thread);
    stream_begin_locked(empty, thread);
    return empty;
}

static bool is_created(tarn_stream stream)
{
    return stream && stream != TARN_HOST_STREAM_DEFAULT && stream != TARN_HOST_STREAM_PER_THREAD;
}

/* Searches all streams, so the handle may be invalid, as that of a stream that has ended. OUT_OF_HOST_MEMORY: for the
 * thread's own stream. */
static tarn_status find_stream_locked(tarn_stream handle, struct host_stream **stream_out)
{
    struct host_stream *stream = &default_stream;
    if (handle == TARN_HOST_STREAM_PER_THREAD) {
        stream = thread_stream_locked();
        if (!stream) return TARN_STATUS_OUT_OF_HOST_MEMORY;
    } else if (is_created(handle)) {
        do {
            stream = stream->next;
        } while (stream && stream != handle);
        if (!stream) return TARN_STATUS_INVALID_ARGUMENT;
    }
    *stream_out = stream;
    return TARN_STATUS_OK;
}

/* Owns the task, also when it fails. */
static tarn_backend_result submit_locked(tarn_stream handle, struct host_task *task)
{
    struct host_stream *stream;
    tarn_status status = find_stream_locked(handle, &stream);
    if (status == TARN_STATUS_OK) {
        stream_push_locked(stream, task);
    } else {
        tn_host_memory_free(task);
    }
    return tn_backend_result(status);
}

static tarn_backend_result submit(tarn_stream stream, struct host_task *task)
{
    tn_mutex_lock(&lock);
    tarn_backend_result result = submit_locked(stream, task);
    tn_mutex_unlock(&lock);
    return result;
}

/* --- streams ----------------------------------------------------------------------------------- */

tarn_backend_result tn_host_stream_create(void *state, tarn_stream *stream_out)
{
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tn_mutex_lock(&lock);
    struct host_stream *stream = stream_create_locked(0);
    tn_mutex_unlock(&lock);
    if (!stream) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    *stream_out = stream;
    return TARN_BACKEND_RESULT_OK;
}

static void stream_unlink_locked(struct host_stream *stream)
{
    struct host_stream *before = &default_stream;
    while (before->next != stream)
        before = before->next;
    before->next = stream->next;
}

tarn_backend_result tn_host_stream_destroy(void *state, tarn_stream stream)
{
    struct host_stream *ending = NULL;
    if (tn_host_is_forked(state)) return TARN_BACKEND_RESULT_OK;
    if (!is_created(stream) || runs_task) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tn_mutex_lock(&lock);
    tarn_status status = find_stream_locked(stream, &ending);
    bool is_finished = ending && stream_finish_locked(ending, UINT64_MAX);
    if (is_finished) stream_unlink_locked(ending);
    tn_mutex_unlock(&lock);
    if (is_finished) tn_host_memory_free(ending);
    return tn_backend_result(status);
}

tarn_backend_result tn_host_stream_check(void *state, tarn_stream stream)
{
    uint64_t id;
    return tn_host_stream_id(state, stream, &id);
}

tarn_backend_result tn_host_stream_id(void *state, tarn_stream stream, uint64_t *id_out)
{
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tn_mutex_lock(&lock);
    struct host_stream *known;
    tarn_status status = find_stream_locked(stream, &known);
    if (status == TARN_STATUS_OK) *id_out = known->id;
    tn_mutex_unlock(&lock);
    return tn_backend_result(status);
}

tarn_backend_result tn_host_stream_synchronize(void *state, tarn_stream stream)
{
    tarn_status status = check_waiting(state);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    tn_mutex_lock(&lock);
    struct host_stream *awaited;
    status = find_stream_locked(stream, &awaited);
    if (status == TARN_STATUS_OK && !stream_finish_locked(awaited, last_number))
        status = TARN_STATUS_FORKED;
    tn_mutex_unlock(&lock);
    return tn_backend_result(status);
}

/* --- events ------------------------------------------------------------------------------------ */

static tarn_status check_event(const void *state, const struct host_event *event)
{
    if (tn_host_is_forked(state)) return TARN_STATUS_FORKED;
    if (!event) return TARN_STATUS_INVALID_ARGUMENT;
    return event->generation == tn_process_generation() ? TARN_STATUS_OK : TARN_STATUS_FORKED;
}

tarn_backend_result tn_host_event_create(void *state, tarn_event *event_out)
{
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    struct host_event *event = tn_host_memory_alloc_zeroed(sizeof *event);
    if (!event) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    event->generation = tn_process_generation();
    *event_out = event;
    return TARN_BACKEND_RESULT_OK;
}

/* A queued record and the waits for it outlive the event: they do not need it. */
tarn_backend_result tn_host_event_destroy(void *state, tarn_event event)
{
    struct host_event *destroyed = event;
    tarn_status status = check_event(state, destroyed);
    if (status == TARN_STATUS_INVALID_ARGUMENT) return tn_backend_result(status);
    if (status == TARN_STATUS_OK) {
        tn_mutex_lock(&lock);
        task_unref_locked(destroyed->record);
        tn_mutex_unlock(&lock);
    }
    tn_host_memory_free(destroyed);
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_host_event_record(void *state, tarn_event event, tarn_stream stream)
{
    struct host_event *recorded = event;
    tarn_status status = check_event(state, recorded);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct host_task *task = task_create(TASK_RECORD, 0);
    if (!task) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);

    tn_mutex_lock(&lock);
    tarn_backend_result result = submit_locked(stream, task);
    if (result.status == TARN_STATUS_OK) {
        task_unref_locked(recorded->record);
        recorded->record = task_ref_locked(task);
    }
    tn_mutex_unlock(&lock);
    return result;
}

tarn_backend_result tn_host_stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    const struct host_event *waited = event;
    tarn_status status = check_event(state, waited);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct host_task *task = task_create(TASK_WAIT, 0);
    if (!task) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);

    tn_mutex_lock(&lock);
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    bool has_to_wait = waited->record && !waited->record->is_done;
    if (has_to_wait) {
        task->of.awaited = waited->record;
        result = submit_locked(stream, task);
    }
    if (has_to_wait && result.status == TARN_STATUS_OK) task_ref_locked(waited->record);
    tn_mutex_unlock(&lock);
    if (!has_to_wait) tn_host_memory_free(task);
    return result;
}

/* Answers first and runs a task then, so that the first answer about work that no thread has waited for
 * is always NOT_READY. */
tarn_backend_result tn_host_event_query(void *state, tarn_event event)
{
    const struct host_event *queried = event;
    tarn_status status = check_event(state, queried);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    tn_mutex_lock(&lock);
    bool is_complete = !queried->record || queried->record->is_done;
    if (!is_complete && !runs_task) {
        struct host_stream *next = stream_find_next_locked(queried->record->stream);
        if (!next->is_running) (void)stream_run_first_locked(next);
    }
    tn_mutex_unlock(&lock);
    return tn_backend_result(is_complete ? TARN_STATUS_OK : TARN_STATUS_NOT_READY);
}

tarn_backend_result tn_host_event_synchronize(void *state, tarn_event event)
{
    const struct host_event *awaited = event;
    tarn_status status = check_event(state, awaited);
    if (status == TARN_STATUS_OK) status = check_waiting(state);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    tn_mutex_lock(&lock);
    struct host_task *record = awaited->record ? task_ref_locked(awaited->record) : NULL;
    bool has_advanced = true;
    while (has_advanced && record && !record->is_done)
        has_advanced = stream_advance_locked(record->stream);
    task_unref_locked(record);
    tn_mutex_unlock(&lock);
    return tn_backend_result(has_advanced ? TARN_STATUS_OK : TARN_STATUS_FORKED);
}

/* --- work -------------------------------------------------------------------------------------- */

tarn_backend_result tn_host_fill(void *state, void *address, unsigned char value, size_t size_bytes,
                                 tarn_stream stream)
{
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!address) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tn_sanitizer_claim(address, size_bytes);
    struct host_task *task = task_create(TASK_FILL, 0);
    if (!task) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    task->of.fill = (struct fill_task){ address, size_bytes, value };
    return submit(stream, task);
}

tarn_backend_result tn_host_copy(void *state, void *destination, const void *source,
                                 size_t size_bytes, tarn_stream stream)
{
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!destination || !source) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tn_sanitizer_claim(destination, size_bytes);
    tn_sanitizer_claim(source, size_bytes);
    struct host_task *task = task_create(TASK_COPY, 0);
    if (!task) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    task->of.copy = (struct copy_task){ destination, source, size_bytes };
    return submit(stream, task);
}

tarn_backend_result tn_host_launch(void (*function)(void *argument), const void *argument,
                                   size_t argument_bytes, tarn_stream stream)
{
    struct host_task *task = task_create(TASK_LAUNCH, argument_bytes);
    if (!task) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    if (argument_bytes > 0) memcpy(task->argument, argument, argument_bytes);
    task->of.launch = (struct launch_task){
        .function = function,
        .argument = argument_bytes > 0 ? task->argument : (void *)(uintptr_t)argument,
    };
    tn_sanitizer_begin_late_use();
    tarn_backend_result result = submit(stream, task);
    if (result.status != TARN_STATUS_OK) tn_sanitizer_end_late_use();
    return result;
}
