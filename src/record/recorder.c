/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * recorder: each thread that records has a writer.
 *
 * A writer sets is_busy before it checks whether recording is on. The thread that stops recording waits until
 * no writer is busy, and then has the file to itself. Writers are never released: when a thread has ended,
 * the next new thread continues its writer in the middle of the chunk.
 */
#include "recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../base/compiler.h"
#include "../base/error.h"
#include "../base/host_memory.h"
#include "../base/process.h"
#include "../base/sync.h"
#include "../base/thread_number.h"

#include "event_file.h"

/* A thread is busy for this long if the disk hangs or the thread is stopped. */
#define BUSY_WAIT_MS_MAX 2000

struct writer {
    atomic_bool is_busy;
    struct tn_event *next; /* place of the next event; to `thread`: for the owning thread alone */
    struct tn_event *end;  /* end of the room; equal to `next` if the slow path is needed */
    struct tn_event_chunk *chunk;
    uint64_t recording; /* the recording that the chunk belongs to */
    uint64_t thread;    /* the thread of the following events, as far as the file knows; 0: none */
    _Atomic uint64_t event_count;
    uint64_t number;
    bool is_taken;          /* under `lock` */
    uint64_t given_back_ns; /* under `lock`; no event of the earlier thread is later than this */
    struct writer *next_writer; /* set under `lock`, then constant */
};

atomic_bool tn_recorder_on;

static struct tn_mutex lock = TN_MUTEX_INIT; /* for starting, stopping, taking writers */
static struct tn_event_file file = { .descriptor = -1 };
static struct writer *writers;      /* all writers; under `lock` */
static uint64_t writer_count;       /* under `lock` */
static _Atomic uint64_t recording;  /* number of the current recording, or of the last one */
static _Atomic uint64_t started_ns; /* start of the current recording */
static _Atomic uint64_t lost_count;
static uint64_t file_bytes; /* of the last ended recording; under `lock` */
static atomic_bool was_forked;

static _Thread_local struct writer *own_writer;
static _Thread_local atomic_bool is_locking; /* the thread waits for `lock` or holds it */
static pthread_key_t own_writer_key;         /* its destructor returns the writer */

static struct tn_once prepare_once = TN_ONCE_INIT;
static bool is_prepared;

/* --- the lock --------------------------------------------------------------------------------------- */

/* is_locking is set first: a signal handler that tried to lock would deadlock with its own thread. */
static void lock_writers(void)
{
    atomic_store(&is_locking, true);
    tn_mutex_lock(&lock);
}

static void unlock_writers(void)
{
    tn_mutex_unlock(&lock);
    atomic_store(&is_locking, false);
}

/* --- the process ------------------------------------------------------------------------------------ */

/* The child has no other threads, and the parent's chunks are not mapped here. */
static void after_fork_in_child(void)
{
    if (atomic_load(&tn_recorder_on)) atomic_store(&was_forked, true);
    atomic_store(&tn_recorder_on, false);
    tn_mutex_init(&lock);
    tn_event_file_forget(&file);
    for (struct writer *writer = writers; writer; writer = writer->next_writer) {
        atomic_store(&writer->is_busy, false);
        writer->is_taken = writer == own_writer;
        writer->next = writer->end = NULL;
        writer->chunk = NULL;
        writer->recording = 0;
    }
}

static void give_back_writer(void *taken)
{
    struct writer *writer = taken;
    own_writer = NULL;
    lock_writers();
    writer->given_back_ns = tn_recorder_now();
    writer->is_taken = false;
    unlock_writers();
}

static void prepare(void)
{
    is_prepared = pthread_key_create(&own_writer_key, give_back_writer) == 0 &&
                  tn_process_call_around_forks(NULL, NULL, after_fork_in_child);
}

/* --- writers ---------------------------------------------------------------------------------------- */

/* Returns an idle writer for an event at begun_ns. A thread may read the clock and then pause while another
 * one lives and ends. Its event must not follow the other thread's in one chunk: in the order of time it
 * would count as the other's. */
static struct writer *find_idle_writer(uint64_t begun_ns)
{
    for (struct writer *writer = writers; writer; writer = writer->next_writer)
        if (!writer->is_taken && writer->given_back_ns <= begun_ns) return writer;
    return NULL;
}

static struct writer *create_writer(void)
{
    struct writer *writer = tn_host_memory_alloc_zeroed(sizeof *writer);
    if (!writer) return NULL;
    writer->number = ++writer_count;
    writer->next_writer = writers;
    writers = writer;
    return writer;
}

/* Takes a writer for the calling thread. NULL: no host memory, or a signal handler has interrupted its thread
 * under the lock. */
static TN_COLD struct writer *take_writer(uint64_t begun_ns)
{
    if (atomic_load(&is_locking)) return NULL;
    lock_writers();
    struct writer *writer = find_idle_writer(begun_ns);
    if (!writer) writer = create_writer();
    if (writer) {
        writer->is_taken = true;
        writer->end = writer->next;                /* forces a THREAD event before the next event */
        atomic_signal_fence(memory_order_release); /* a signal handler may use it from here on */
        own_writer = writer;
    }
    unlock_writers();
    if (writer) (void)pthread_setspecific(own_writer_key, writer);
    return writer;
}

static void put(struct writer *writer, const struct tn_event *event, uint64_t stamp)
{
    struct tn_event *place = writer->next++;
    place->address = event->address;
    place->size_bytes = event->size_bytes;
    place->stream = event->stream;
    atomic_store_explicit(&place->stamp, stamp, memory_order_release);
}

/* Gets a live chunk of this recording, with room. */
static bool make_chunk(struct writer *writer, bool is_fresh)
{
    struct tn_event_chunk *chunk = writer->chunk;
    if (is_fresh) {
        chunk = tn_event_file_add_chunk(&file, writer->number);
        if (!chunk) return false;
        writer->chunk = chunk;
    } else if (!tn_event_file_turn_chunk(&file, chunk)) {
        return false;
    }
    writer->next = chunk->events;
    return true;
}

static TN_COLD void count_lost(void)
{
    atomic_fetch_add(&lost_count, 1);
}

/* A process need not stop recording. Requires: the thread's writer is busy, so that the header stays mapped while
 * recording is on. */
static TN_COLD void write_lost_count(void)
{
    if (atomic_load(&tn_recorder_on))
        atomic_store(&file.header->lost_count, atomic_load(&lost_count));
}

/* Makes room for one event, in a chunk that names the thread. */
static TN_COLD bool make_room(struct writer *writer, uint64_t time_ns)
{
    uint64_t current = atomic_load(&recording);
    bool is_fresh = writer->recording != current;
    bool is_full = is_fresh || writer->next == writer->chunk->events + TN_EVENTS_PER_CHUNK;
    if (is_full && !make_chunk(writer, is_fresh)) return false;
    writer->recording = current;
    writer->end = writer->chunk->events + TN_EVENTS_PER_CHUNK;
    uint64_t thread = tn_thread_number();
    if (is_fresh) writer->thread = 0;
    if (writer->thread == thread) return true;
    writer->thread = thread;
    write_lost_count(); /* a handler may have interrupted the thread before it had a writer */
    put(writer, &(struct tn_event){ .address = thread }, tn_event_stamp(time_ns, TN_EVENT_THREAD));
    return writer->next < writer->end || make_room(writer, time_ns);
}

static void leave(struct writer *writer)
{
    atomic_store_explicit(&writer->is_busy, false, memory_order_release);
}

/* Returns the thread's writer for an event at begun_ns, and sets it busy. NULL: nothing can be written. */
static struct writer *enter(uint64_t begun_ns)
{
    struct writer *writer = own_writer;
    if (TN_UNLIKELY(!writer)) {
        writer = take_writer(begun_ns);
        if (!writer) {
            count_lost();
            return NULL;
        }
    }
    if (TN_UNLIKELY(atomic_load_explicit(&writer->is_busy, memory_order_relaxed))) {
        count_lost(); /* a signal handler has interrupted an event */
        write_lost_count();
        return NULL;
    }
    atomic_store(&writer->is_busy, true);
    if (TN_LIKELY(atomic_load(&tn_recorder_on))) return writer;
    leave(writer);
    return NULL;
}

/* An event that began before the recording gets the time of its start. */
static uint64_t since_start(uint64_t time_ns)
{
    uint64_t started = atomic_load_explicit(&started_ns, memory_order_relaxed);
    return time_ns > started ? time_ns - started : 0;
}

static bool write_event(struct writer *writer, const struct tn_event *event, uint64_t time_ns,
                        enum tn_event_kind kind)
{
    if (TN_UNLIKELY(writer->next == writer->end ||
                    writer->recording != atomic_load_explicit(&recording, memory_order_relaxed)) &&
        !make_room(writer, time_ns)) {
        count_lost();
        write_lost_count();
        return false;
    }
    put(writer, event, tn_event_stamp(time_ns, kind));
    return true;
}

static void count_event(struct writer *writer)
{
    uint64_t count = atomic_load_explicit(&writer->event_count, memory_order_relaxed);
    atomic_store_explicit(&writer->event_count, count + 1, memory_order_relaxed);
}

static void note(const struct tn_event *event, uint64_t time_ns, enum tn_event_kind kind)
{
    struct writer *writer = enter(time_ns);
    if (!writer) return;
    if (write_event(writer, event, since_start(time_ns), kind)) count_event(writer);
    leave(writer);
}

/* --- events ----------------------------------------------------------------------------------------- */

/* Writes the label first: if a crash cuts it off, the allocation is missing as well. */
static bool write_label(struct writer *writer, const char *label, uint64_t time_ns)
{
    size_t length = strnlen(label, TN_RECORDER_LABEL_BYTES_MAX);
    for (size_t begin = 0; begin < length; begin += TN_EVENT_LABEL_BYTES) {
        struct tn_event event = { 0 };
        char text[TN_EVENT_LABEL_BYTES] = "";
        size_t left = length - begin;
        memcpy(text, label + begin, left < sizeof text ? left : sizeof text);
        memcpy(&event.address, text, 8);
        memcpy(&event.size_bytes, text + 8, 8);
        memcpy(&event.stream, text + 16, 8);
        if (!write_event(writer, &event, time_ns, TN_EVENT_LABEL)) return false;
    }
    return true;
}

static void note_alloc(const struct tn_event *event, const char *label, uint64_t alloc_ns)
{
    struct writer *writer = enter(alloc_ns);
    if (!writer) return;
    uint64_t time_ns = since_start(alloc_ns);
    if (write_label(writer, label, time_ns) && write_event(writer, event, time_ns, TN_EVENT_ALLOC))
        count_event(writer);
    leave(writer);
}

void tn_recorder_note_alloc(const void *address, size_t size_bytes, const void *stream,
                            const char *label)
{
    const struct tn_event event = { (uintptr_t)address, size_bytes, (uintptr_t)stream, 0 };
    note_alloc(&event, label, tn_recorder_now());
}

void tn_recorder_note_free(const void *address, const void *stream, uint64_t begun_ns)
{
    if (!address) return; /* an allocation of no bytes is freed at once */
    const struct tn_event event = { (uintptr_t)address, 0, (uintptr_t)stream, 0 };
    note(&event, begun_ns, TN_EVENT_FREE);
}

void tn_recorder_note_resize(const void *address, size_t size_bytes, const void *stream,
                             const char *label, uint64_t begun_ns)
{
    const struct tn_event event = { (uintptr_t)address, size_bytes, (uintptr_t)stream, 0 };
    note(&event, begun_ns, TN_EVENT_FREE);
    note_alloc(&event, label, begun_ns);
}

void tn_recorder_note_gone(const void *address, size_t size_bytes, uint64_t begun_ns)
{
    const struct tn_event event = { (uintptr_t)address, size_bytes, 0, 0 };
    note(&event, begun_ns, TN_EVENT_GONE);
}

/* --- start and stop --------------------------------------------------------------------------------- */

/* Requires: `lock`, recording off. */
static tarn_status start(const char *path, const char *source, bool is_exclusive)
{
    tarn_status status = tn_event_file_open(&file, path, source, is_exclusive);
    if (status != TARN_STATUS_OK) return status;
    for (struct writer *writer = writers; writer; writer = writer->next_writer)
        atomic_store_explicit(&writer->event_count, 0, memory_order_relaxed);
    atomic_store(&lost_count, 0);
    atomic_store(&started_ns, tn_recorder_now());
    atomic_fetch_add(&recording, 1);
    atomic_store(&tn_recorder_on, true);
    return TARN_STATUS_OK;
}

tarn_status tn_recorder_start(const char *path, const char *source, bool is_exclusive)
{
    tn_once_call(&prepare_once, prepare);
    if (!is_prepared)
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory to record");
    int cancel_state = tn_thread_begin_uncancelled();
    lock_writers();
    tarn_status status;
    if (file.descriptor >= 0) {
        status = tn_fail(TARN_STATUS_INVALID_ARGUMENT, "a recording is already on");
    } else {
        status = start(path, source, is_exclusive);
    }
    unlock_writers();
    tn_thread_end_uncancelled(cancel_state);
    return status;
}

/* False: the writer stays busy, or the waiting thread has interrupted it. */
static bool wait_for(const struct writer *writer)
{
    for (int waited_ms = 0; atomic_load(&writer->is_busy); waited_ms++) {
        if (writer == own_writer || waited_ms == BUSY_WAIT_MS_MAX) return false;
        tn_thread_sleep_shortly();
    }
    return true;
}

/* Requires: `lock`. A writer that stays busy keeps its chunk. */
static bool bring_writers_to_rest(void)
{
    bool are_idle = true;
    for (struct writer *writer = writers; writer; writer = writer->next_writer) {
        if (!wait_for(writer)) {
            are_idle = false;
            continue;
        }
        tn_event_file_leave_chunk(writer->chunk);
        writer->chunk = NULL;
        writer->next = writer->end = NULL;
        writer->recording = 0;
    }
    return are_idle;
}

bool tn_recorder_stop(void)
{
    if (!atomic_load(&tn_recorder_on)) return false;
    int cancel_state = tn_thread_begin_uncancelled();
    lock_writers();
    bool was_on = atomic_exchange(&tn_recorder_on, false);
    if (was_on) {
        bool are_idle = bring_writers_to_rest();
        file_bytes = tn_event_file_bytes(&file);
        atomic_store(&file.header->lost_count, atomic_load(&lost_count));
        /* A busy writer still needs the file, which then stays open and locked. */
        if (are_idle)
            tn_event_file_close(&file);
        else
            file.descriptor = -1;
    }
    unlock_writers();
    tn_thread_end_uncancelled(cancel_state);
    return was_on;
}

struct tn_recorder_counts tn_recorder_count(void)
{
    struct tn_recorder_counts counts = { .lost_count = atomic_load(&lost_count) };
    lock_writers();
    bool is_open = file.descriptor >= 0;
    counts.file_bytes = is_open ? tn_event_file_bytes(&file) : file_bytes;
    counts.mapped_bytes = is_open ? TN_EVENT_FILE_HEADER_BYTES : 0;
    for (const struct writer *writer = writers; writer; writer = writer->next_writer) {
        counts.event_count += atomic_load_explicit(&writer->event_count, memory_order_relaxed);
        counts.host_bytes += sizeof *writer;
        if (is_open) counts.mapped_bytes += TN_EVENT_CHUNK_BYTES;
    }
    unlock_writers();
    return counts;
}

bool tn_recorder_was_forked(void)
{
    return atomic_load(&was_forked);
}
