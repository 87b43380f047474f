/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * recorder: the process's recording of allocations and frees, one at a time.
 *
 * Each thread writes events into a chunk of its own, with no lock; what orders those of several threads is their
 * time. So the time of a free must have been read before the memory is anybody else's, and that of an allocation
 * after it was handed out:
 *
 *     uint64_t begun_ns = tn_recorder_now();           tn_alloc(&address)
 *     tn_free(address);                                tn_recorder_note_alloc(address, ...);
 *     tn_recorder_note_free(address, stream, begun_ns);
 *
 * Threads: any, signal handlers too, whose events are lost where they interrupt an event, or what their thread does
 * under the lock. A forked child records nothing until it starts on its own.
 * Cost: an event is a reading of the clock and 32 bytes of memory; a chunk, every 2047 events, some system calls.
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

/* Asked before each of the notes, so that nothing is done where nothing is recorded. */
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

/* Begins to write events of `source` into a new file of this name; see tn_event_file_open. INVALID_ARGUMENT when
 * one is being written. */
tarn_status tn_recorder_start(const char *path, const char *source, bool is_exclusive);

/* Ends it, and waits for threads that are writing an event. False: nothing was being recorded. The file stays. */
bool tn_recorder_stop(void);

/* Of what is being recorded, or was last. */
struct tn_recorder_counts tn_recorder_count(void);

/* Whether this is a child that was forked while its parent recorded. */
bool tn_recorder_was_forked(void);

static inline uint64_t tn_recorder_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What stands for a stream of this thread's own, since the vendors' handle is the same in all: odd, as no handle is. */
static inline const void *tn_recorder_stream_of(uint64_t thread)
{
    return (const void *)(uintptr_t)(thread << 1 | 1);
}

/* No address: nothing was asked for. */
void tn_recorder_note_alloc(const void *address, size_t size_bytes, const void *stream);

/* The same with a text, of which the first TN_RECORDER_LABEL_BYTES_MAX bytes are kept. */
void tn_recorder_note_labelled_alloc(const void *address, size_t size_bytes, const char *label);

/* Of NULL nothing is written. */
void tn_recorder_note_free(const void *address, const void *stream, uint64_t begun_ns);

/* Both at the time at which the resize was begun. */
void tn_recorder_note_resize(const void *address, size_t size_bytes, const void *stream,
                             uint64_t begun_ns);

/* All that is live in these bytes was freed. */
void tn_recorder_note_gone(const void *address, size_t size_bytes, uint64_t begun_ns);

#endif
