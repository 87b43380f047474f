/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* process_recording: begins once in each process, and not again in its forks. */
#include "process_recording.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sync.h"
#include "base/thread_number.h"
#include "record/recorder.h"

/* A process that executes another program keeps its number, and the first program's file exists already. */
#define PROGRAMS_MAX 100

static struct tn_once once = TN_ONCE_INIT;
static const char *_Atomic first_source;
static bool has_begun;
static bool has_host;
static _Thread_local unsigned depth;

static bool start_with_number(const char *file, int number)
{
    char *path = NULL;
    int length = number == 1 ? asprintf(&path, "%s-%ld.events", file, (long)getpid())
                             : asprintf(&path, "%s-%ld-%d.events", file, (long)getpid(), number);
    if (length < 0) return false;
    bool is_taken = access(path, F_OK) == 0;
    bool is_started =
        !is_taken && tn_recorder_start(path, atomic_load(&first_source), true) == TARN_STATUS_OK;
    if (!is_taken && !is_started)
        fprintf(stderr, "tarn-record: nothing is recorded: %s\n", tarn_last_error().message);
    free(path);
    return is_started || (is_taken && number < PROGRAMS_MAX && start_with_number(file, number + 1));
}

static void begin(void)
{
    const char *file = getenv(TN_RECORD_FILE_VARIABLE);
    const char *host = getenv(TN_RECORD_HOST_VARIABLE);
    has_host = host && strcmp(host, "1") == 0;
    has_begun = file && file[0] != '\0' && start_with_number(file, 1);
}

bool tn_process_recording_begin(const char *source)
{
    if (tn_recorder_is_on()) return true;
    const char *none = NULL;
    (void)atomic_compare_exchange_strong(&first_source, &none, source);
    tn_once_call(&once, begin);
    return has_begun && tn_recorder_is_on();
}

bool tn_process_recording_has_host(void)
{
    return has_host;
}

struct tn_vendor_call tn_vendor_call_begin(const char *source)
{
    if (depth++ > 0 || !tn_process_recording_begin(source))
        return (struct tn_vendor_call){ 0, false };
    return (struct tn_vendor_call){ tn_recorder_now(), true };
}

/* For CUDA and HIP handle 1 is the default stream, as NULL is, and 2 is the per-thread default stream. */
static const void *stream_of(const void *handle)
{
    if (handle == (const void *)1) return NULL;
    return handle == TN_VENDOR_THREAD_STREAM ? tn_recorder_stream_of(tn_thread_number()) : handle;
}

void tn_vendor_call_end_alloc(struct tn_vendor_call call, bool is_done, const void *address,
                              size_t size_bytes, const void *stream)
{
    depth--;
    if (call.is_recorded && is_done)
        tn_recorder_note_alloc(address, size_bytes, stream_of(stream), "");
}

void tn_vendor_call_end_free(struct tn_vendor_call call, bool is_done, const void *address,
                             const void *stream)
{
    depth--;
    if (call.is_recorded && is_done)
        tn_recorder_note_free(address, stream_of(stream), call.begun_ns);
}
