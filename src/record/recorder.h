/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * recorder: the process's recording of allocations and frees. One recording at a time.
 *
 * Each thread writes events into its own chunk, without a lock. Their times order the events of different
 * threads. So read the time of a free before the free, while no other thread can get the memory. The time of
 * an allocation is read after it:
 *
 *     uint64_t begun_ns = tn_recorder_now();           tn_alloc(&address)
 *     tn_free(address);                                tn_recorder_note_alloc(address, ...);
 *     tn_recorder_note_free(address, stream, begun_ns);
 *
 * Threads: any, and signal handlers. A handler that interrupts an event, or its thread under the lock, loses
 * its events. A forked child records nothing until it starts its own recording.
 * Cost: an event takes a clock read and 32 bytes of memory; a chunk, every 2047 events, takes some system
 * calls.
 */
#ifndef TN_RECORDER_H
#define TN_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "tarn/status.h"

#define TN_RECORDER_LABEL_BYTES_MAX 512

extern atomic_bool tn_recorder_on;

/* Whether events are recorded. Callers ask before they make an event, so that a call costs nothing more while
 * recording is off. */
static inline bool tn_recorder_is_on(void)
{
    return atomic_load_explicit(&tn_recorder_on, memory_order_relaxed);
}

struct tn_recorder_counts {
    uint64_t event_count;
    uint64_t lost_count;
    uint64_t file_bytes;
    size_t mapped_bytes;
    size_t host_bytes;
};

/* Starts to write events of `source` into a new file of this name, as tn_event_file_open does.
 * INVALID_ARGUMENT: a recording is on. */
tarn_status tn_recorder_start(const char *path, const char *source, bool is_exclusive);

/* Stops recording and waits for threads that are writing an event. The file stays. False: recording was off.
 */
bool tn_recorder_stop(void);

/* Returns counts of the current recording, or of the last one. */
struct tn_recorder_counts tn_recorder_count(void);

/* Returns whether this is a child that was forked during its parent's recording. */
bool tn_recorder_was_forked(void);

static inline uint64_t tn_recorder_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns a stand-in for a per-thread stream, whose vendor handle is equal in all threads. It is odd, unlike
 * any handle. */
static inline const void *tn_recorder_stream_of(uint64_t thread)
{
    return (const void *)(uintptr_t)(thread << 1 | 1);
}

/* Records an allocation, with the first TN_RECORDER_LABEL_BYTES_MAX bytes of a label; "": it has none. address NULL: an
 * allocation of no bytes. */
void tn_recorder_note_alloc(const void *address, size_t size_bytes, const void *stream,
                            const char *label);

/* Records a free. address NULL: records nothing. */
void tn_recorder_note_free(const void *address, const void *stream, uint64_t begun_ns);

/* Records a free and an allocation with a label, both at the time at which the resize began. */
void tn_recorder_note_resize(const void *address, size_t size_bytes, const void *stream,
                             const char *label, uint64_t begun_ns);

/* Records that everything live in these bytes was freed. */
void tn_recorder_note_gone(const void *address, size_t size_bytes, uint64_t begun_ns);

#endif
