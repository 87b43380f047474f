/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* recording: the public functions of record.h, and the pools' part in them. */
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../../base/error.h"
#include "../../base/host_memory.h"
#include "../../base/process.h"
#include "../../base/struct_size.h"
#include "../../base/sync.h"
#include "../../record/trace_path.h"
#include "tarn/record.h"

#include "pool_registry.h"

/* The source that the trace names. */
static const char source[] = "allocations and frees of all pools of a process, by tarn";

static struct tn_mutex lock = TN_MUTEX_INIT; /* for starting and stopping */
static atomic_bool
    environment_is_read; /* TARN_TRACE has had its recording, or its user knows why not */

static struct tn_once process_once = TN_ONCE_INIT;
static bool watches_process;

/* Files are opened and written under the lock, so a cancelled thread would keep it. */
static int lock_uncancelled(void)
{
    int cancel_state = tn_thread_begin_uncancelled();
    tn_mutex_lock(&lock);
    return cancel_state;
}

static void unlock(int cancel_state)
{
    tn_mutex_unlock(&lock);
    tn_thread_end_uncancelled(cancel_state);
}

/* --- pools ------------------------------------------------------------------------------------------ */

/* If a recording begins or ends meanwhile, its thread may also set the reason: then look again. */
void tn_recording_set_care(struct tarn_pool *pool)
{
    bool is_on;
    do {
        is_on = atomic_load(&tn_recorder_on);
        tn_pool_set_care(pool, TN_CARE_RECORDING, is_on);
    } while (is_on != atomic_load(&tn_recorder_on));
}

/* A pool that is opened meanwhile sets the reason itself. */
static void set_care_of_all(void)
{
    for (tarn_pool *pool = tn_pool_registry_pin_next(NULL); pool;
         pool = tn_pool_registry_pin_next(pool))
        tn_recording_set_care(pool);
}

void tn_recording_note_destruction(struct tarn_pool *pool)
{
    if (!tn_recorder_is_on()) return;
    uint64_t now_ns = tn_recorder_now();
    tn_pool_lock(pool);
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *gone = pool->list.by_address[i].static_pool;
        tn_recorder_note_gone((const void *)gone->first_address,
                              gone->end_address - gone->first_address, now_ns);
    }
    tn_pool_unlock(pool);
}

/* --- start and stop --------------------------------------------------------------------------------- */

static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
}

static void watch(void)
{
    watches_process = tn_process_call_around_forks(NULL, NULL, after_fork_in_child);
}

static tarn_status fail_for_memory(void)
{
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory to record");
}

/* Called before the lock is held, so that a child that is forked meanwhile gets an open lock. */
static tarn_status watch_process(void)
{
    tn_once_call(&process_once, watch);
    return watches_process ? TARN_STATUS_OK : fail_for_memory();
}

/* Requires: the lock. */
static tarn_status start(const char *path)
{
    tarn_status status = tn_recorder_start(path, source, false);
    if (status == TARN_STATUS_OK) set_care_of_all();
    return status;
}

tarn_status tarn_record_start(const char *path)
{
    if (!path || path[0] == '\0') {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, path ? "the path is empty" : "path is NULL");
    }
    tarn_status status = watch_process();
    if (status != TARN_STATUS_OK) return status;
    int cancel_state = lock_uncancelled();
    status = start(path);
    unlock(cancel_state);
    return status;
}

tarn_status tarn_record_stop(void)
{
    int cancel_state = lock_uncancelled();
    bool was_on = tn_recorder_stop();
    if (was_on) set_care_of_all();
    unlock(cancel_state);
    return was_on || tn_recorder_was_forked()
               ? TARN_STATUS_OK
               : tn_fail(TARN_STATUS_INVALID_ARGUMENT, "nothing is being recorded");
}

tarn_status tarn_record_stats(tarn_recording *recording_out)
{
    if (!recording_out) return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "recording_out is NULL");
    tarn_status status =
        tn_check_struct_bytes("recording_out", recording_out->struct_bytes, sizeof *recording_out,
                              sizeof *recording_out, TARN_STATUS_INVALID_ARGUMENT);
    if (status != TARN_STATUS_OK) return status;
    struct tn_recorder_counts counts = tn_recorder_count();
    *recording_out = (tarn_recording){
        .struct_bytes = sizeof *recording_out,
        .is_recording = tn_recorder_is_on(),
        .event_count = counts.event_count,
        .lost_count = counts.lost_count,
        .file_bytes = counts.file_bytes,
        .mapped_bytes = counts.mapped_bytes,
        .host_bytes = counts.host_bytes,
    };
    return TARN_STATUS_OK;
}

/* --- environment ------------------------------------------------------------------------------------ */

/* Requires: the lock. */
static tarn_status start_by_pattern(const char *pattern)
{
    char *path = tn_trace_path_expand(pattern);
    if (!path) return fail_for_memory();
    tarn_status status = start(path);
    tn_host_memory_free(path);
    return status;
}

/* A program must not fail because a diagnosis cannot be written. Another copy of the library in the process may record
 * all the same. */
static void tell_that_nothing_is_recorded(void)
{
    struct tn_saved_error saved = tn_error_save();
    fprintf(stderr, "tarn: TARN_TRACE: process %ld is not recorded by this copy of tarn: %s\n",
            (long)getpid(), saved.message);
}

/* If several threads create the first pools at once, one of them starts the recording, or tells why not. */
static void start_once_by_pattern(const char *pattern)
{
    tarn_status status = watch_process();
    int cancel_state = lock_uncancelled();
    bool is_read = atomic_load_explicit(&environment_is_read, memory_order_relaxed);
    /* A recording that the program has started goes first. */
    bool is_due = !is_read && !tn_recorder_is_on();
    if (is_due && status == TARN_STATUS_OK) status = start_by_pattern(pattern);
    if (is_due && status != TARN_STATUS_OK) tell_that_nothing_is_recorded();
    atomic_store_explicit(&environment_is_read, true, memory_order_release);
    unlock(cancel_state);
}

void tn_recording_read_environment(void)
{
    if (atomic_load_explicit(&environment_is_read, memory_order_acquire)) return;
    const char *value = getenv("TARN_TRACE");
    bool is_set = value && value[0] != '\0';
    /* A child would write over the parent's file. A program with raised rights must not write where its user
     * says. */
    if (!is_set || tn_recorder_was_forked() || getauxval(AT_SECURE) != 0) return;
    start_once_by_pattern(value);
}
