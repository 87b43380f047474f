/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * event_reader: the events of a file in the order of their times.
 *
 * Each writer (see event.h) wrote its events mostly in that order: only a user's function that was called in the
 * middle of a free makes exceptions. They are sorted in private copies of the pages; the file does not change. A
 * heap merges the writers. A damaged file may have any order.
 *
 * The file of a killed process is valid, since incomplete events do not count.
 *
 * Cost: O(log n) in writers for each event; O(log n) in events for each event of a writer that is far from order.
 * Memory: 8 bytes of host memory for each chunk of 64 KiB; 40 bytes for each event of such a writer, while it is sorted.
 */
#ifndef TN_EVENT_READER_H
#define TN_EVENT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/event.h"

#include "failure.h"

/* One writer's events. */
struct tn_event_run {
    struct tn_event_chunk *live;
    struct tn_event_chunk **chunks; /* the copies, and the live chunk if it counts */
    uint32_t chunk_count;
    uint32_t chunk_capacity;
    uint64_t count; /* events in all */
    uint64_t next;
    uint64_t thread; /* for the caller: the thread that did the events from `next` on */
    char *label;     /* for the caller: the text before them, in host memory, or NULL */
};

struct tn_event_reader {
    const struct tn_event_file_header *header;
    unsigned char *content; /* the file, mapped */
    size_t content_bytes;
    struct tn_event_run *runs;
    uint32_t run_count;
    uint32_t run_capacity;
    uint32_t *heap; /* runs that have events left, by the time of their next event */
    uint32_t heap_count;
};

/* Opens a file and puts its events in order. False: it cannot be read, is not a file of events, a process is writing it,
 * or there is no host memory. */
bool tn_event_reader_open(struct tn_event_reader *reader, const char *path,
                          struct tn_failure *failure);

/* Returns the run with the earliest remaining event, or NULL. */
struct tn_event_run *tn_event_reader_first(struct tn_event_reader *reader);

static inline struct tn_event *tn_event_run_at(const struct tn_event_run *run, uint64_t index)
{
    return &run->chunks[index / TN_EVENTS_PER_CHUNK]->events[index % TN_EVENTS_PER_CHUNK];
}

/* Advances the run that tn_event_reader_first returns by one event. */
void tn_event_reader_advance(struct tn_event_reader *reader);

void tn_event_reader_close(struct tn_event_reader *reader);

#endif
