/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * event: what a file of events consists of.
 *
 *     │ header, 4 KiB │ chunk, 64 KiB │ chunk │ ...         chunk:  │ whose │ event │ event │ ... │ nothing yet │
 *
 * A chunk belongs to one writer, which a thread has to itself. Each writer has one live chunk, mapped, in which it
 * writes events, the first in the file; when that is full, a copy is written to the end of the file, and the live one
 * begins anew. The chunks of a writer are numbered, the live one after those copied; with the number of a copy it is the
 * better one, since the copy may have been cut. An event counts once its stamp is not zero, which is written last.
 * So whatever ends the process, each chunk has whole events and behind them nothing.
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
    TN_EVENT_GONE,   /* all that is live from address on, size_bytes far, is freed */
    TN_EVENT_THREAD, /* what follows is done by thread number `address` */
    TN_EVENT_LABEL /* 24 bytes of text before their allocation, padded with zeros; longer ones take several */
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
    _Atomic uint64_t ready; /* TN_EVENT_CHUNK_READY when the rest is so */
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
    char source[128]; /* whose allocations these are */
};

_Static_assert(sizeof(struct tn_event_file_header) <= TN_EVENT_FILE_HEADER_BYTES, "fits");

static inline uint64_t tn_event_stamp(uint64_t time_ns, enum tn_event_kind kind)
{
    return time_ns << 8 | (uint64_t)kind;
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
