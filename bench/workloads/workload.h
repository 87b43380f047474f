/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * workload: a sequence of allocations and frees, made before anything is timed.
 *
 * The setup runs once, the body over and over: it leaves live blocks in the same slots as it
 * found. A slot is a place for one live block; slots are dense, so that a player needs one
 * array and no lookup.
 *
 * Each file that makes workloads (sweep.c, live.c, patterns.c, replay.c) has one function, named in
 * the table of commands in commands.c.
 */
#ifndef TN_WORKLOAD_H
#define TN_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/reason.h"

struct tn_operation {
    size_t size_bytes; /* 0 for a free */
    uint32_t slot;
    uint32_t is_alloc;
};

struct tn_operations {
    struct tn_operation *items;
    size_t count;
    size_t capacity;
};

/* Where and when an operation was recorded. Threads and streams are numbered from 0 in the order in which
 * they come up. */
struct tn_origin {
    uint64_t time_ns; /* since the first operation */
    uint32_t thread;
    uint32_t stream;
};

#define TN_WORKLOAD_NAME_BYTES 96

/* How a workload is measured. */
enum tn_method {
    TN_METHOD_PASSES,   /* measure_passes.h */
    TN_METHOD_THREADS,  /* measure_threads.h; thread_count is not 0 */
    TN_METHOD_FAITHFUL, /* measure_faithful.h; it has origins */
    TN_METHOD_GROWTH,   /* measure_growth.h; the body is allocations, and as many frees */
    TN_METHOD_STREAMS   /* measure_streams.h; the body is frees and allocations by turns */
};

struct tn_workload {
    const char *bench; /* the command that it belongs to; static text */
    char name[TN_WORKLOAD_NAME_BYTES];

    /* Workloads in a row with one family differ in what was drawn; reports summarise them. NULL: it has none. */
    const char *family;
    struct tn_operations setup;
    struct tn_operations body;
    size_t slot_count;
    enum tn_method method;
    bool
        is_until_full; /* of TN_METHOD_GROWTH: ends where the allocator refuses a block for lack of memory */
    bool shows_memory; /* live and held bytes are noted after its events */

    size_t stream_count; /* of TN_METHOD_STREAMS */
    bool hands_on;       /* a block is replaced by one on the next stream */

    /* 0: one thread plays all. Otherwise setup, body and slots consist of this many equal parts, one after
     * the other, one for each thread. */
    size_t thread_count;
    bool is_shared; /* a thread also frees blocks in other threads' slots */

    /* The body may be stopped after any multiple of this many operations; body.count: only at its end. */
    size_t unit_count;

    /* Of TN_METHOD_FAITHFUL: the device has done what was submitted when another so many bytes have been allocated
     * (late_backend.h). 0: as fast as it does. */
    size_t lag_bytes;

    /* Recorded from a program. An allocator that cannot play it has failed. */
    bool is_recorded;
    char *source;  /* recorded: the file that it comes from; else NULL */
    size_t *lines; /* recorded: the line of each operation of the body, 0 for one that was added */

    struct tn_origin
        *origins; /* of TN_METHOD_FAITHFUL, or recorded: of each operation of the body */
    size_t origin_thread_count;
    size_t origin_stream_count;
};

struct tn_workload_list {
    struct tn_workload *items;
    size_t count;
};

/* False: no host memory. */
bool tn_operations_add_alloc(struct tn_operations *operations, size_t slot, size_t size_bytes);
bool tn_operations_add_free(struct tn_operations *operations, size_t slot);

/* A new empty workload at the end of the list, or NULL: no host memory. */
struct tn_workload *tn_workload_list_add(struct tn_workload_list *list);
void tn_workload_list_fini(struct tn_workload_list *list);

struct tn_workload_extent {
    size_t alloc_count;    /* in the body: pairs of an allocation and a free */
    size_t live_bytes_max; /* most bytes live at a time, in setup and body, as asked for */
    size_t live_count_max; /* most blocks of one byte or more live at a time */
};

/* The extent of the setup and the first body_count operations of the body. False: no host memory. */
bool tn_workload_measure(const struct tn_workload *workload, size_t body_count,
                         struct tn_workload_extent *extent_out);

/* Names an operation for a message: "FILE:LINE", or its number; 150 bytes at most. `place` counts the
 * operations of the setup and then those of the body. */
void tn_workload_describe_place(const struct tn_workload *workload, size_t place,
                                struct tn_reason *text_out);

#endif
