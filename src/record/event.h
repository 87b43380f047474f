/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * event: the format of a file of events.
 *
 *     │ header, 4 KiB │ chunk, 64 KiB │ chunk │ ...         chunk:  │ whose │ event │ event │ ... │ nothing yet │
 *
 * Each chunk belongs to one writer, and each writer to one thread at a time. A writer has one live chunk, its
 * first in the file, which is mapped and takes its events. When the live chunk is full, the writer copies it
 * to the end of the file and empties it. Each writer numbers its chunks; the live one comes after the copies.
 * A live chunk with the number of a copy replaces that copy, which may be incomplete.
 *
 * The stamp of an event is written last, and the event counts when its stamp is not zero. So however the
 * process ends, each chunk holds whole events followed by nothing.
 */
#ifndef TN_EVENT_H
#define TN_EVENT_H

#include <stdatomic.h>
#include <stdint.h>

#define TN_EVENT_FILE_MAGIC        "tarn-events 1\n"
#define TN_EVENT_FILE_HEADER_BYTES 4096
#define TN_EVENT_CHUNK_BYTES       65536
#define TN_EVENT_CHUNK_READY       0x6b6e756863 /* "chunk" */

enum tn_event_kind {
    TN_EVENT_NONE = 0,
    TN_EVENT_ALLOC,
    TN_EVENT_FREE,
    TN_EVENT_GONE,   /* everything live in size_bytes from address on is freed */
    TN_EVENT_THREAD, /* thread number `address` does the events that follow */
    TN_EVENT_LABEL /* 24 bytes of text before their allocation, zero padded; longer texts take several */
};

#define TN_EVENT_LABEL_BYTES 24

struct tn_event {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t stream;
    _Atomic uint64_t stamp; /* time in ns since the start, and the kind in the lowest byte */
};

#define TN_EVENTS_PER_CHUNK (TN_EVENT_CHUNK_BYTES / sizeof(struct tn_event) - 1)

struct tn_event_chunk {
    uint64_t writer;
    uint64_t number;
    uint64_t reserved;
    _Atomic uint64_t ready; /* TN_EVENT_CHUNK_READY when the other fields are valid */
    struct tn_event events[TN_EVENTS_PER_CHUNK];
};

_Static_assert(sizeof(struct tn_event_chunk) == TN_EVENT_CHUNK_BYTES, "no padding");

struct tn_event_file_header {
    char magic[16];
    uint32_t event_bytes;
    uint32_t chunk_bytes;
    uint64_t process;
    _Atomic uint64_t lost_count;
    char name[64];    /* of the program */
    char source[128]; /* whose calls are recorded */
};

_Static_assert(sizeof(struct tn_event_file_header) <= TN_EVENT_FILE_HEADER_BYTES, "fits");

static inline uint64_t tn_event_stamp(uint64_t time_ns, enum tn_event_kind kind)
{
    return time_ns << 8 | (uint64_t)kind;
}

static inline uint64_t tn_event_stamp_of(const struct tn_event *event)
{
    return atomic_load_explicit(&event->stamp, memory_order_relaxed);
}

static inline enum tn_event_kind tn_event_kind_of(uint64_t stamp)
{
    return (enum tn_event_kind)(stamp & 0xff);
}

static inline uint64_t tn_event_time_ns(uint64_t stamp)
{
    return stamp >> 8;
}

#endif
