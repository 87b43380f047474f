/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* recording: the public functions of record.h, and what pools have to do with them. */
#include "recording.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/error.h"
#include "../base/host_memory.h"
#include "../base/process.h"
#include "../base/sync.h"
#include "../record/recorder.h"
#include "../record/trace_writer.h"
#include "tarn/record.h"

#include "pool_registry.h"

/* What the trace says of itself. */
static const char source[] = "allocations and frees of all pools of a process, by tarn";

static struct tn_mutex lock = TN_MUTEX_INIT;
static char *trace_path;                /* absolute; under the lock; NULL: nothing is recorded */
static char *event_path;                /* likewise */
static atomic_bool environment_is_read; /* TARN_TRACE has had its recording */

static struct tn_once process_once = TN_ONCE_INIT;
static bool watches_process;

/* --- paths ------------------------------------------------------------------------------------------ */

static tarn_status fail_for_memory(void)
{
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory to record");
}

/* "a", "b" and "c" in one; NULL: no memory. */
static char *join(const char *a, const char *b, const char *c)
{
    size_t bytes = strlen(a) + strlen(b) + strlen(c) + 1;
    char *joined = tn_host_memory_alloc(bytes);
    if (joined) snprintf(joined, bytes, "%s%s%s", a, b, c);
    return joined;
}

/* The program may change its folder before the trace is written. */
static char *absolute_path(const char *path)
{
    char folder[PATH_MAX];
    if (path[0] == '/' || !getcwd(folder, sizeof folder)) return join(path, "", "");
    return join(folder, "/", path);
}

/* What would be known too late. */
static tarn_status check_trace_path(const char *path)
{
    struct stat status;
    int error = 0;
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            error = EISDIR;
        else if (access(path, W_OK) != 0)
            error = errno;
    }
    if (error == 0) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_FILE_ERROR, "%s cannot be written: %s", path, strerror(error));
}

/* --- pools ------------------------------------------------------------------------------------------ */

static void set_care(struct tarn_pool *pool)
{
    atomic_store_explicit(&pool->needs_care, pool->notes_callers || tn_recorder_is_on(),
                          memory_order_relaxed);
}

/* Those that are opened meanwhile see to it themselves. */
static void set_care_of_all(void)
{
    for (tarn_pool *pool = tn_pool_registry_pin_next(NULL); pool;
         pool = tn_pool_registry_pin_next(pool))
        set_care(pool);
}

void tn_recording_add_pool(struct tarn_pool *pool)
{
    set_care(pool);
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

/* What is being freed is nobody's any more, should another thread fork meanwhile. */
static void forget(char **path)
{
    char *forgotten = *path;
    *path = NULL;
    tn_host_memory_free(forgotten);
}

static void forget_paths(void)
{
    forget(&trace_path);
    forget(&event_path);
}

static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
    forget_paths();
}

/* Nobody is there to be told when it fails; then the events stay. */
static void stop_at_exit(void)
{
    if (tn_recorder_is_on()) (void)tarn_record_stop();
}

static void watch_process(void)
{
    watches_process =
        tn_process_call_around_forks(NULL, NULL, after_fork_in_child) && atexit(stop_at_exit) == 0;
}

/* Under the lock, with nothing recorded. */
static tarn_status start(const char *path)
{
    trace_path = absolute_path(path);
    event_path = trace_path ? join(trace_path, ".events", "") : NULL;
    tarn_status status = event_path ? check_trace_path(trace_path) : fail_for_memory();
    if (status == TARN_STATUS_OK) status = tn_recorder_start(event_path, source, false);
    if (status != TARN_STATUS_OK) {
        forget_paths();
        return status;
    }
    set_care_of_all();
    return TARN_STATUS_OK;
}

tarn_status tarn_record_start(const char *path)
{
    if (!path || path[0] == '\0') {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, path ? "the path is empty" : "path is NULL");
    }
    tn_once_call(&process_once, watch_process);
    if (!watches_process) return fail_for_memory();
    tn_mutex_lock(&lock);
    tarn_status status = trace_path ? tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                                              "%s is being recorded already", trace_path)
                                    : start(path);
    tn_mutex_unlock(&lock);
    return status;
}

/* Under the lock. */
static tarn_status write_trace(void)
{
    struct tn_trace_summary summary;
    tarn_status status = tn_trace_write(event_path, trace_path, &summary);
    if (status == TARN_STATUS_OK) {
        unlink(event_path);
        return status;
    }
    struct tn_saved_error saved = tn_error_save();
    return tn_fail(status, "%s; the events are kept in %s", saved.message, event_path);
}

tarn_status tarn_record_stop(void)
{
    tarn_status status = TARN_STATUS_OK;
    tn_mutex_lock(&lock);
    if (trace_path) {
        tn_recorder_stop();
        set_care_of_all();
        status = write_trace();
        forget_paths();
    } else if (!tn_recorder_was_forked()) {
        status = tn_fail(TARN_STATUS_INVALID_ARGUMENT, "nothing is being recorded");
    }
    tn_mutex_unlock(&lock);
    return status;
}

tarn_status tarn_record_stats(tarn_recording *recording_out)
{
    if (!recording_out) return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "recording_out is NULL");
    if (recording_out->struct_bytes != sizeof *recording_out) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "recording_out says it has %zu bytes, this library knows %zu: was it "
                       "initialised, and do header and library match?",
                       recording_out->struct_bytes, sizeof *recording_out);
    }
    struct tn_recorder_counts counts = tn_recorder_count();
    *recording_out =
        (tarn_recording){ sizeof *recording_out, tn_recorder_is_on(), counts.event_count,
                          counts.lost_count,     counts.file_bytes,   counts.mapped_bytes,
                          counts.host_bytes };
    return TARN_STATUS_OK;
}

/* --- environment ------------------------------------------------------------------------------------ */

/* The value with the process's number in the place of each %p; NULL: no memory. */
static char *expand(const char *value)
{
    char number[24];
    int length = snprintf(number, sizeof number, "%ld", (long)getpid());
    size_t bytes = strlen(value) + 1;
    for (const char *at = strstr(value, "%p"); at; at = strstr(at + 2, "%p"))
        bytes += (size_t)length;
    char *expanded = tn_host_memory_alloc(bytes);
    if (!expanded) return NULL;
    char *end = expanded;
    while (*value != '\0') {
        bool is_number = value[0] == '%' && value[1] == 'p';
        if (is_number) {
            memcpy(end, number, (size_t)length);
            end += length;
        } else {
            *end++ = *value;
        }
        value += is_number ? 2 : 1;
    }
    *end = '\0';
    return expanded;
}

static tarn_status start_by_environment(const char *value)
{
    char *path = expand(value);
    if (!path) return fail_for_memory();
    tarn_status status = tarn_record_start(path);
    tn_host_memory_free(path);
    if (status != TARN_STATUS_FILE_ERROR) return status;
    struct tn_saved_error saved = tn_error_save();
    return tn_fail(TARN_STATUS_INVALID_ENVIRONMENT, "TARN_TRACE: %s", saved.message);
}

tarn_status tn_recording_read_environment(void)
{
    if (atomic_load_explicit(&environment_is_read, memory_order_acquire)) return TARN_STATUS_OK;
    const char *value = getenv("TARN_TRACE");
    bool is_set = value && value[0] != '\0';
    /* A child would write over the parent's; and who has begun a recording by a call wants that one. */
    if (!is_set || tn_recorder_is_on() || tn_recorder_was_forked()) return TARN_STATUS_OK;
    tarn_status status = start_by_environment(value);
    if (status == TARN_STATUS_OK)
        atomic_store_explicit(&environment_is_read, true, memory_order_release);
    return status;
}
