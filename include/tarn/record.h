/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/record.h: writing down what a process allocates and frees, as a trace.
 *
 *     tarn_record_start("mesh.trace.gz");
 *     ...
 *     tarn_record_stop();
 *
 * or, with nothing changed in the program, TARN_TRACE=mesh.trace.gz in the environment: then recording
 * begins with the first pool, unless something is being recorded by then, and ends with the process.
 * `tarn-bench replay mesh.trace.gz` plays the trace on any allocator and machine; bench/README.md has the format,
 * docs/recording.md the rest of the story.
 *
 * What is recorded: allocations and frees of all pools of the process, by any of the calls. A call that fails is
 * not. A request of zero bytes is, with its free at the same moment: it gets NULL, by which no free could be known as
 * its own, so frees of NULL are not. A resize is a free and an allocation at the same moment. A pool that is
 * destroyed by tarn_pool_destroy_forced frees what is live; one that is abandoned leaves it so. A free after several
 * streams is one on the first of them. Frees of what was allocated before the recording are left out.
 * Threads and streams are numbered in the order in which they come up. Stream 0 is the default stream; the stream that
 * each thread has of its own is another one in each.
 * Allocations of two pools over the same addresses, which no two have unless they were made up, are not
 * told apart.
 *
 * How: an event is 32 bytes in a file next to the trace, PATH.events, whose pages are mapped, each thread's of its
 * own. So whatever becomes of the process, killed or crashed, the system keeps what was recorded but for calls that
 * had not returned. tarn_record_stop, and the end of the process, make the trace of it and remove it; after a crash
 * `tarn-record --recover PATH.events` does. When the end of the process cannot write the trace, the events stay, too;
 * that is said, in a line on standard error, of a recording by TARN_TRACE alone. Tens of nanoseconds an event, and
 * nothing at all while nothing is recorded.
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
 * Begins to record into a file, which becomes a trace when the recording ends; compressed by gzip if its name ends
 * in .gz. What was left behind by a recording that never ended is kept as PATH.events.old.
 * A forked child records nothing, and may begin a recording of its own, of another file.
 * Errors: INVALID_ARGUMENT (path is NULL or empty; something is being recorded already); FILE_ERROR (the file
 * cannot be written, or another process is recording into it; the message says why); OUT_OF_HOST_MEMORY.
 */
TARN_API tarn_status tarn_record_start(const char *path);

/*
 * Ends the recording and writes the trace. What other threads do meanwhile is recorded or not. In a child that was
 * forked during the recording it does nothing.
 * Errors: INVALID_ARGUMENT (nothing is being recorded); FILE_ERROR (the trace cannot be written; the message says
 * why, and names the file that still has all events); OUT_OF_HOST_MEMORY (likewise).
 * Cost: 0.1 to 0.5 microseconds an event, the most with gzip, and meanwhile some 40 bytes of host memory for each live
 * allocation.
 */
TARN_API tarn_status tarn_record_stop(void);

/* What is being recorded, or was last. */
typedef struct tarn_recording {
    size_t struct_bytes; /* in: sizeof(tarn_recording), as TARN_RECORDING_INIT sets it */
    bool is_recording;
    uint64_t event_count; /* allocations and frees, of what was allocated earlier, too */
    /* Those for which there was no room: the disk is full, a limit on files is reached, or the program has closed all
     * descriptors, that of the events too. And those that a signal's handler made in the middle of another. */
    uint64_t lost_count;
    uint64_t file_bytes; /* of the events, on the disk */
    size_t mapped_bytes; /* of the file's pages in this process: 64 KiB a thread that records */
    size_t host_bytes;   /* other host memory of the recorder's */
} tarn_recording;

#define TARN_RECORDING_INIT TARN_SIZED_INIT(tarn_recording)

/* Errors: INVALID_ARGUMENT (recording_out is NULL or its struct_bytes is wrong). Cost: O(threads). */
TARN_API tarn_status tarn_record_stats(tarn_recording *recording_out);

#ifdef __cplusplus
}
#endif

#endif
