/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stream_table: the streams that a pool knows, and what each of them has waited for.
 *
 * The time counts the events that were recorded; see dependency.h. When b has waited for an event that
 * was recorded on a at time 5, all that b is given from now on comes after what was freed on a up to
 * then: b covers a below 6. So one wait serves for all earlier frees of a.
 *
 *     covered_below[a]     a   b   c
 *     of a                 -   0   0
 *     of b                 6   -   0        b may have what was freed on a at time 5 or before
 *     of c                 0   0   -
 *
 * A stream whose handle is about to end is retired: its last record stays until it is complete, and the
 * same handle is another stream from then on.
 *
 * Not every handle may be used at any time. One that stands for a stream of each thread's own means the right
 * one in that thread alone, and in a pool whose streams end unannounced a handle may have ended since the last
 * call that named it. Such a stream is the callers': nobody else records on it.
 *
 * Threads: the pool's lock guards all but the records, which growth_lock guards.
 * Cost: search O(streams), at most 30.
 */
#ifndef TN_STREAM_TABLE_H
#define TN_STREAM_TABLE_H

#include "../../base/compiler.h"
#include "tarn/tarn.h"

#include "../index/dependency.h"

#define TN_STREAM_NONE UINT32_MAX

/* With so many records under way a further one takes the place of the newest. The oldest stays, so
 * that it is seen to complete. */
#define TN_STREAM_RECORDS_MAX 4

/* An event that was recorded on a stream, and not yet seen to be complete. */
struct tn_stream_record {
    tarn_event event;
    uint32_t time; /* it covers what was freed on the stream at this time or before */
};

enum tn_stream_state {
    TN_STREAM_STATE_UNUSED = 0,
    TN_STREAM_STATE_KNOWN,
    TN_STREAM_STATE_CALLERS, /* known, and its handle is good in calls that name it, and only there */
    TN_STREAM_STATE_RETIRED,   /* the handle has ended; a record is under way */
    TN_STREAM_STATE_LOST,      /* the handle has ended, and nothing was recorded */
    TN_STREAM_STATE_PAUSED,    /* one of the two, and is being captured under another number */
    TN_STREAM_STATE_CAPTURING, /* what is allocated and freed on it is the capture's own */
    TN_STREAM_STATE_CAPTURED   /* the same from the end of the capture on, until it is released */
};

/* What a stream is known by. */
struct tn_stream_name {
    tarn_stream handle;
    uint64_t thread; /* whose it is, where each thread has one of that handle; else 0 */
};

struct tn_stream_entry {
    struct tn_stream_name name;
    enum tn_stream_state state;
    /* Of callers' streams. */
    uint64_t id;          /* the vendor's number, in a pool whose streams end unannounced */
    bool is_all_recorded; /* the newest record covers all that was freed here, if anything was */
    bool is_wanted;       /* others want what was freed here: the next call that names it records */
    tarn_capture capture; /* when it is being captured, or was */
    uint32_t covered_below[TN_STREAM_COUNT_MAX];
    struct tn_stream_record records[TN_STREAM_RECORDS_MAX]; /* the oldest first */
    unsigned record_count;
};

struct tn_stream_table {
    uint32_t now;
    uint32_t capturing_count; /* streams that are being captured */
    struct tn_stream_entry streams[TN_STREAM_COUNT_MAX];
};

void tn_stream_table_init(struct tn_stream_table *table);

/* The stream of that name that is known, the callers' or being captured, or TN_STREAM_NONE. */
uint32_t tn_stream_table_search(const struct tn_stream_table *table, struct tn_stream_name name);

/* Whether the stream of that number is known by that handle alone. */
static inline bool tn_stream_table_is_known(const struct tn_stream_table *table, uint32_t stream,
                                            tarn_stream handle)
{
    const struct tn_stream_entry *entry = &table->streams[stream];
    return entry->name.handle == handle && entry->state == TN_STREAM_STATE_KNOWN;
}

/* A number that no stream has, or TN_STREAM_NONE. */
uint32_t tn_stream_table_find_unused(const struct tn_stream_table *table);

/* Makes a stream of that name known under a number that none has; a thread's own is the callers'. */
void tn_stream_table_add(struct tn_stream_table *table, uint32_t stream,
                         struct tn_stream_name name);

/* Nothing depends on the stream any more: its number may become another's. */
void tn_stream_table_remove(struct tn_stream_table *table, uint32_t stream);

/* What is freed on the stream now depends on. */
static inline struct tn_dependency tn_stream_table_depend(const struct tn_stream_table *table,
                                                          uint32_t stream)
{
    return (struct tn_dependency){ (uint32_t)1 << stream, table->now };
}

/* Those of the dependency's streams that `stream` has not waited for. TN_STREAM_NONE has waited for
 * none. */
uint32_t tn_stream_table_uncovered(const struct tn_stream_table *table, uint32_t stream,
                                   struct tn_dependency dependency);

/* The stream has waited for an event that was recorded on `awaited` at that time. */
void tn_stream_table_cover(struct tn_stream_table *table, uint32_t stream, uint32_t awaited,
                           uint32_t time);

/* The streams in that state, a bit each. */
uint32_t tn_stream_table_in_state(const struct tn_stream_table *table, enum tn_stream_state state);

/* Streams that another can be made to wait for at any time, a bit each: those that are known or retired. */
uint32_t tn_stream_table_reachable(const struct tn_stream_table *table);

/* Numbers of captures, a bit each, whose memory is nobody else's. */
uint32_t tn_stream_table_private(const struct tn_stream_table *table);

/* The number with that state and capture, and of that name, or TN_STREAM_NONE. */
uint32_t tn_stream_table_find_captured(const struct tn_stream_table *table,
                                       enum tn_stream_state state, tarn_capture capture,
                                       struct tn_stream_name name);

/* The stream of that name in that state, or TN_STREAM_NONE. */
uint32_t tn_stream_table_find_in_state(const struct tn_stream_table *table,
                                       enum tn_stream_state state, struct tn_stream_name name);

/* No time comes after this one: before it is reached all times begin anew. */
#define TN_STREAM_TIME_MAX (UINT32_MAX - 1)

/* Takes the time for a record: what is freed from now on comes after it. */
uint32_t tn_stream_table_advance(struct tn_stream_table *table);

#endif
