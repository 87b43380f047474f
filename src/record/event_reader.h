/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * event_reader: the events of a file in the order of their times.
 *
 * Each writer's are in that order already, but where a function of the user's was called in the middle of a free;
 * then they are sorted, in the process's own copy of the pages. The writers are merged by a heap.
 *
 * A file of a process that was killed is as good as any: what is not whole is not there.
 *
 * Cost: O(log n) in writers for each event; host memory of 8 bytes for each chunk of 64 KiB.
 */
#ifndef TN_EVENT_READER_H
#define TN_EVENT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/status.h"

#include "event.h"

/* One writer's events. */
struct tn_event_run {
    struct tn_event_chunk *live;
    struct tn_event_chunk **chunks; /* the copies, and the live one where it counts */
    uint32_t chunk_count;
    uint32_t chunk_capacity;
    uint64_t count; /* events in all */
    uint64_t next;
    uint64_t thread; /* for who reads: whose events these are, from `next` on, and */
    char *label;     /* the text before them, of the host's memory; or NULL */
};

struct tn_event_reader {
    uint64_t device, inode; /* the file's */
    const struct tn_event_file_header *header;
    unsigned char *content; /* the file, mapped */
    size_t content_bytes;
    struct tn_event_run *runs;
    uint32_t run_count;
    uint32_t run_capacity;
    uint32_t *heap; /* of runs that have events left, by the time of the next */
    uint32_t heap_count;
};

/* FILE_ERROR: it cannot be read, is no such file, or a process is writing it; OUT_OF_HOST_MEMORY. */
tarn_status tn_event_reader_open(struct tn_event_reader *reader, const char *path);

/* The run with the earliest event left, or NULL. */
struct tn_event_run *tn_event_reader_first(struct tn_event_reader *reader);

static inline struct tn_event *tn_event_run_at(const struct tn_event_run *run, uint64_t index)
{
    return &run->chunks[index / TN_EVENTS_PER_CHUNK]->events[index % TN_EVENTS_PER_CHUNK];
}

/* Goes on in the run that was first, by one event. */
void tn_event_reader_advance(struct tn_event_reader *reader);

/* Whether the file has this name, too. */
bool tn_event_reader_is_of(const struct tn_event_reader *reader, const char *path);

void tn_event_reader_close(struct tn_event_reader *reader);

#endif
