/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/record.h: records the allocations and frees of a process as a trace.
 *
 *     tarn_record_start("mesh.trace");
 *     ...
 *     tarn_record_stop();
 *
 * Without a change of the program: TARN_TRACE=mesh.trace in the environment records from the first pool to
 * the end of the process, unless something is being recorded already. If that recording cannot begin, a line on
 * standard error says why, and the program goes on. In the name %p stands for the number of the process, %r for
 * its rank, and %% for %.
 *
 * `tarn-bench replay mesh.trace` plays the trace on any allocator and machine. The file has events, whatever its name.
 * All tools of tarn read it as a trace. `tarn-record --recover mesh.trace` makes it text, compressed by gzip if the
 * name ends in .gz. docs/file_formats.md has the formats, docs/recording.md and docs/recording_details.md the rest.
 *
 * Contents: allocations and frees of all pools of the process, by any call that succeeds.
 *  - Zero bytes that got NULL: an allocation and its free at the same moment. Frees of NULL are left out.
 *  - A resize: a free and an allocation at the same moment.
 *  - Labels that tarn_label_push gave, in lines before their allocations.
 *  - A free after several streams: a free on the first of them.
 *  - tarn_pool_destroy_forced frees what is live; a pool that is abandoned leaves it live.
 *  - Frees of memory that was allocated before the recording are left out.
 *  - Threads and streams are numbered in the order in which they appear. Stream 0 is the default stream. The
 *    stream of a thread's own has another number in each thread.
 *  - Two pools over the same addresses are not told apart.
 *
 * Crashes: each event is 32 bytes in a mapped file. Whatever ends the process, the system keeps all calls that had
 * returned, and the file is whole.
 *
 * Cost: tens of nanoseconds an event. A program that does not record pays for one test a call.
 */
#ifndef TARN_RECORD_H
#define TARN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/export.h"
#include "tarn/init.h"
#include "tarn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begins to record into a file. A regular file that is there becomes PATH.old. A forked child records nothing; it may
 * begin a recording into another file.
 * Status:
 *  - INVALID_ARGUMENT: path is NULL or empty, or something is being recorded already.
 *  - FILE_ERROR: the file cannot be written, or another process is recording into it; the message says why.
 *  - OUT_OF_HOST_MEMORY.
 */
TARN_API tarn_status tarn_record_start(const char *path);

/*
 * Ends the recording. Calls of other threads meanwhile may be recorded or not. Does nothing in a child that was forked
 * during the recording. A recording that is not ended ends with the process, and its file is as good.
 * Status: INVALID_ARGUMENT: nothing is being recorded.
 * Cost: O(threads).
 */
TARN_API tarn_status tarn_record_stop(void);

/* The present recording, or the last one. */
typedef struct tarn_recording {
    size_t struct_bytes; /* in: sizeof(tarn_recording) */
    bool is_recording;
    uint64_t event_count; /* allocations and frees, also of memory from before the recording */
    /* Events without room: the disk is full, files are limited, or the program has closed all descriptors.
     * Also events of a signal's handler in the middle of another event. */
    uint64_t lost_count;
    uint64_t file_bytes; /* of the events, on the disk */
    size_t mapped_bytes; /* of the file's pages in this process: 64 KiB a thread that records */
    size_t host_bytes;   /* the recorder's other host memory */
} tarn_recording;

#define TARN_RECORDING_INIT TARN_SIZED_INIT(tarn_recording)

/* Writes how far the recording is. Status: INVALID_ARGUMENT: recording_out is NULL or its struct_bytes is
 * wrong.
 * Cost: O(threads). */
TARN_API tarn_status tarn_record_stats(tarn_recording *recording_out);

#ifdef __cplusplus
}
#endif

#endif
