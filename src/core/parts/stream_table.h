/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stream_table: the streams that a pool knows, and what each of them has waited for.
 *
 * The time counts the recorded events; see dependency.h. If b has waited for an event recorded on a at time 5,
 * all that is submitted to b from then on comes after everything freed on a up to that time: b covers a below
 * 6. So one wait serves all earlier frees of a.
 *
 *     covered_below[a]     a   b   c
 *     of a                 -   0   0
 *     of b                 6   -   0        b may have what was freed on a at time 5 or before
 *     of c                 0   0   -
 *
 * There are more streams than numbers. A stream that must give its number up is evicted: an event is recorded on it, and
 * memory that waits for it waits from then on for a number that all evicted streams share:
 *
 *     memory that waits for it at time 7 waits for the events of all streams that were evicted at time 7 or before
 *
 * An evicted stream that comes again gets a new number, and has waited for nothing.
 *
 * A stream whose handle is about to end is retired: its last record stays until it is complete. From then on
 * the handle means another stream.
 *
 * Some handles cannot be used at all times. A per-thread handle means the right stream only in its thread. In a
 * pool whose streams end unannounced, a handle may have ended since the last call that named it. Such a
 * stream is in state CALLERS: only calls that name it record on it.
 *
 * Threads: growth_lock guards the records, the pool's lock all else.
 * Cost: search takes O(streams known at once so far), at most 30.
 */
#ifndef TN_STREAM_TABLE_H
#define TN_STREAM_TABLE_H

#include "../../base/arith.h"
#include "../../base/compiler.h"
#include "tarn/tarn.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../index/dependency.h"

#define TN_STREAM_NONE UINT32_MAX

/* If this many records are pending, another one replaces the newest. The oldest stays, so that it is seen to
 * complete. */
#define TN_STREAM_RECORDS_MAX 4

/* If this many records of unnamed frees are pending, another one replaces the newest. Each record covers a sixteenth of
 * the pool's memory or more, unless an allocation needed less. So they mostly cover all free memory. */
#define TN_UNNAMED_RECORDS_MAX 16

/* An event recorded on a stream and not yet known to be complete. */
struct tn_stream_record {
    tarn_event event;
    uint32_t time;      /* covers frees on the stream at this time or before */
    size_t freed_bytes; /* of unnamed frees: since the record before */
};

enum tn_stream_state {
    TN_STREAM_STATE_UNUSED = 0,
    TN_STREAM_STATE_KNOWN,
    TN_STREAM_STATE_CALLERS,   /* known, but its handle is valid only in calls that name it */
    TN_STREAM_STATE_RETIRED,   /* the handle has ended; a record is pending */
    TN_STREAM_STATE_LOST,      /* the handle has ended, and nothing was recorded */
    TN_STREAM_STATE_PAUSED,    /* was KNOWN or CALLERS; being captured under another number */
    TN_STREAM_STATE_CAPTURING, /* its allocations and frees belong to the capture */
    TN_STREAM_STATE_CAPTURED,  /* the capture has ended; its memory is not yet released */
    TN_STREAM_STATE_EVICTED    /* the number that all evicted streams share */
};

/* The identity of a stream. */
struct tn_stream_name {
    tarn_stream handle;
    uint64_t thread; /* the stream's thread if the handle is per thread; else 0 */
};

struct tn_stream_entry {
    struct tn_stream_name name;
    enum tn_stream_state state;
    /* For state CALLERS only: */
    uint64_t id;          /* the vendor's number, in a pool whose streams end unannounced */
    bool is_all_recorded; /* the newest record covers all frees on the stream */
    bool is_wanted;       /* others need its frees: the next call that names it records */
    /* Of unnamed frees; see any_stream.h: */
    size_t unrecorded_bytes; /* freed since the newest record */
    bool records_at_once;    /* the newest record has not waited for the device */
    bool is_late;            /* the newest record was made when memory was needed */
    bool is_given_up;        /* a free has waited for the oldest record as long as it may */
    tarn_capture capture;    /* if it is or was captured */
    uint32_t
        paused_bit; /* while it is captured: the stream's number outside of the capture, as a bit */
    uint32_t covered_below[TN_STREAM_COUNT_MAX];
    struct tn_stream_record records[TN_UNNAMED_RECORDS_MAX]; /* oldest first */
    unsigned record_count;
};

/* A stream that has lost its number while memory waited for it. That memory waits for the shared number, up to `time`
 * or later. */
struct tn_evicted_stream {
    struct tn_stream_name name; /* if can_record or is_callers */
    tarn_event event;           /* if has_event: covers all frees on the stream */
    uint32_t time;
    bool has_event;
    bool can_record; /* the handle is good at any time */
    bool is_callers; /* the handle is good in a call that names it */
};

/*
 * Turns: whether a poll that is due is made. After a poll that found nothing complete one turn is left out, after the next
 * such poll three, then seven, up to TN_POLL_TURNS_MAX. After one that found something the next turn is a poll again.
 *
 *     turns    poll  -  poll  -  -  -  poll  -  -  -  -  -  -  -  poll  poll
 *     found    no       no             no                         yes
 *
 * All zero: the first turn is a poll.
 */
#define TN_POLL_TURNS_MAX 63

struct tn_poll_turns {
    unsigned left_out_count; /* after the last poll */
    unsigned left_count;     /* of these, still to come */
};

/* Takes a turn. Returns whether it is a poll; tn_poll_turns_note must follow then. */
static inline bool tn_poll_turns_take(struct tn_poll_turns *turns)
{
    if (turns->left_count == 0) return true;
    turns->left_count--;
    return false;
}

static inline void tn_poll_turns_note(struct tn_poll_turns *turns, bool has_found)
{
    unsigned more = (unsigned)tn_min(2 * turns->left_out_count + 1, TN_POLL_TURNS_MAX);
    turns->left_out_count = turns->left_count = has_found ? 0 : more;
}

struct tn_stream_table {
    uint32_t now;
    uint32_t number_end;      /* numbers from this one on have never been used */
    uint32_t capturing_count; /* streams that are being captured */
    uint32_t evicted_number;  /* the number that evicted streams share, or TN_STREAM_NONE */
    uint32_t next_victim;     /* the number that is evicted next, if it can be */
    struct tn_evicted_stream *evicted; /* in the order of their times; under growth_lock */
    uint32_t evicted_count;
    uint32_t evicted_capacity;
    uint32_t evicted_poll_at; /* when there are so many, completed ones are looked for */
    struct tn_poll_turns
        polls;             /* of tn_stream_reuse_poll_sparingly; under growth_lock, as the next */
    uint32_t busy_streams; /* a bit each: had not completed when it was asked about last */
    struct tn_stream_entry streams[TN_STREAM_COUNT_MAX];
    /* For arenas, which read them under their own locks. Memory that was freed on a stream in state KNOWN or CALLERS before that time
     * waits for nothing. The count says how often such a time has changed. */
    _Atomic uint32_t completed_before[TN_STREAM_COUNT_MAX];
    _Atomic uint32_t completed_count;
};

void tn_stream_table_init(struct tn_stream_table *table);
void tn_stream_table_fini(struct tn_stream_table *table);

/* Returns the stream of that name in state KNOWN, CALLERS or CAPTURING, or TN_STREAM_NONE. */
uint32_t tn_stream_table_search(const struct tn_stream_table *table, struct tn_stream_name name);

/* Returns whether the stream of that number has that handle and state KNOWN. */
static inline bool tn_stream_table_is_known(const struct tn_stream_table *table, uint32_t stream,
                                            tarn_stream handle)
{
    const struct tn_stream_entry *entry = &table->streams[stream];
    return entry->name.handle == handle && entry->state == TN_STREAM_STATE_KNOWN;
}

/* Returns whether there is a number for one more stream or capture. One is kept for evicted streams. */
bool tn_stream_table_has_room(const struct tn_stream_table *table);

/* Returns an unused number, or TN_STREAM_NONE. */
uint32_t tn_stream_table_find_unused(const struct tn_stream_table *table);

/* Adds a stream under an unused number, in state KNOWN, or CALLERS if it has a thread. */
void tn_stream_table_add(struct tn_stream_table *table, uint32_t stream,
                         struct tn_stream_name name);

/* Makes the number unused. Requires: nothing depends on the stream. */
void tn_stream_table_remove(struct tn_stream_table *table, uint32_t stream);

/* Returns the dependency of a free on the stream now. In a capture that includes the work that was submitted to
 * the stream before. */
static inline struct tn_dependency tn_stream_table_depend(const struct tn_stream_table *table,
                                                          uint32_t stream)
{
    uint32_t paused_bit = table->streams[stream].paused_bit;
    return (struct tn_dependency){ (uint32_t)1 << stream | paused_bit, table->now };
}

/* Returns the streams of the dependency that `stream` has not waited for. TN_STREAM_NONE has waited for none.
 */
uint32_t tn_stream_table_uncovered(const struct tn_stream_table *table, uint32_t stream,
                                   struct tn_dependency dependency);

/* Notes that the stream has waited for an event recorded on `awaited` at that time. */
void tn_stream_table_cover(struct tn_stream_table *table, uint32_t stream, uint32_t awaited,
                           uint32_t time);

/* Notes that the work of a stream in state KNOWN or CALLERS is done up to that time. */
void tn_stream_table_complete(struct tn_stream_table *table, uint32_t stream, uint32_t time);

/* Sets the time to 1, and forgets who has waited for whom, and which work is done. Requires: no arena is active. */
void tn_stream_table_begin_anew(struct tn_stream_table *table);

/* Returns the streams in that state, a bit each. */
uint32_t tn_stream_table_in_state(const struct tn_stream_table *table, enum tn_stream_state state);

/* Returns the streams that others can wait for at any time, a bit each: those in state KNOWN or RETIRED. */
uint32_t tn_stream_table_reachable(const struct tn_stream_table *table);

/* Returns the numbers of captures, a bit each, whose memory is private. */
uint32_t tn_stream_table_private(const struct tn_stream_table *table);

/* Returns the number with that state, capture and name, or TN_STREAM_NONE. */
uint32_t tn_stream_table_find_captured(const struct tn_stream_table *table,
                                       enum tn_stream_state state, tarn_capture capture,
                                       struct tn_stream_name name);

/* The last time: before it is reached, all times start again from 0. */
#define TN_STREAM_TIME_MAX (UINT32_MAX - 1)

/* Returns the time for a record. Later frees come after it. */
uint32_t tn_stream_table_advance(struct tn_stream_table *table);

#endif
