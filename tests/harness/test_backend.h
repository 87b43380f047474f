/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_backend: a source of memory for tests, of addresses that nothing can touch.
 *
 * The pool must never read or write what it manages, so this backend hands out address ranges
 * without memory behind them: a pool that touches one dies at once. Capacity, alignment and failures
 * are the test's to set, and every piece that is out is counted.
 *
 * With has_streams it also has streams and events. Any pointer is a stream. Work on one is never done
 * until the test says so, and every wait is written down. With has_ids streams have numbers: a handle that ends
 * and begins again has another one.
 *
 * With range_granularity_bytes it has ranges. What is mapped counts as held, and as a piece; what the backend would
 * have to refuse is misuse.
 *
 * Threads: any, but for the fields, which the test sets while nobody else is in the pool.
 */
#ifndef TEST_BACKEND_H
#define TEST_BACKEND_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/tarn.h"

enum {
    TEST_BACKEND_PIECES_MAX = 4096,
    TEST_BACKEND_EVENTS_MAX = 256,
    TEST_BACKEND_WAITS_MAX = 64,
    TEST_BACKEND_RANGES_MAX = 4
};

enum test_call {
    TEST_CALL_STREAM_CHECK,
    TEST_CALL_STREAM_ID,
    TEST_CALL_STREAM_SYNCHRONIZE,
    TEST_CALL_STREAM_WAIT_EVENT,
    TEST_CALL_SYNCHRONIZE,
    TEST_CALL_EVENT_CREATE,
    TEST_CALL_EVENT_DESTROY,
    TEST_CALL_EVENT_RECORD,
    TEST_CALL_EVENT_QUERY,
    TEST_CALL_EVENT_RECORD_DEVICE,
    TEST_CALL_OF_STREAMS_COUNT, /* all before are of streams and events, all after of ranges */
    TEST_CALL_RANGE_RESERVE = TEST_CALL_OF_STREAMS_COUNT,
    TEST_CALL_RANGE_RELEASE,
    TEST_CALL_RANGE_MAP,
    TEST_CALL_RANGE_UNMAP,
    TEST_CALL_RANGE_UNMAP_IDLE,
    TEST_CALL_RANGE_MAP_SHAREABLE,
    TEST_CALL_RANGE_EXPORT,
    TEST_CALL_COUNT
};

/* The stream of an event that was recorded for the whole device. */
#define TEST_BACKEND_DEVICE ((tarn_stream)(UINTPTR_MAX - 8))

/* A tarn_event of the test backend's points to one. */
struct test_event {
    bool is_there;
    bool is_complete;   /* or was never recorded */
    tarn_stream stream; /* on which it was recorded last */
    uint64_t thread;    /* by which */
    unsigned query_count;
};

struct test_backend {
    /* For the test to set before use. */
    size_t capacity_bytes;     /* acquire answers OUT_OF_MEMORY beyond; 0: no limit */
    size_t alignment_bytes;    /* what the properties promise */
    size_t misalignment_bytes; /* what addresses are off by from a multiple of 4 MiB */
    size_t granularity_bytes;
    size_t allocation_bytes_max;
    size_t range_granularity_bytes; /* 0: there are no ranges */
    bool has_idle_unmaps;           /* range_unmap_idle is there */
    bool has_sharing;               /* they can be exported: as /dev/null, opened anew */
    size_t range_bytes_max;         /* range_reserve answers OUT_OF_MEMORY beyond; 0: no limit */
    unsigned fail_acquire_at;       /* the n-th acquire from now on fails; 0: none */
    tarn_status failure;            /* with this */
    bool fail_release;              /* pieces stay out */
    uintptr_t give_address; /* acquire gives this one, whatever lies there; 0: a place of its own */
    bool give_null;         /* acquire gives NULL and says OK */
    bool fail_properties;
    size_t total_bytes;   /* of the device, as query_memory tells it; 0: it does not tell */
    size_t foreign_bytes; /* of these, what others hold */
    void (*while_acquiring)(void *context); /* called by acquire, as a slow vendor is waited for */
    void (*while_releasing)(void *context);
    void *context;
    bool has_streams;
    bool has_ids;
    bool has_synchronize;
    bool has_device_events;    /* test_backend_complete for TEST_BACKEND_DEVICE completes them */
    unsigned completes_after;  /* so many queries complete an event; 0: never */
    tarn_stream thread_stream; /* see tarn_device_properties, as the next */
    tarn_stream default_stream_alias;
    unsigned fail_call_at[TEST_CALL_COUNT]; /* the n-th such call from now on fails; 0: none */
    unsigned fail_call_count;   /* so many in a row do, once it has come to that; 0: one */
    tarn_status call_failure;   /* with this */
    tarn_stream foreign_stream; /* of another device; NULL: there is none */

    /* For the test to read. */
    size_t held_bytes;
    size_t held_bytes_max;
    size_t piece_count;
    unsigned acquire_count;
    unsigned release_count;
    size_t asked_bytes[64]; /* by the first acquires, failed ones included */
    unsigned call_counts[TEST_CALL_COUNT];
    unsigned failed_count; /* of them, by fail_call_at */
    unsigned event_count;  /* that are out */
    unsigned misuse_count; /* an event that is not there, a stream that has ended, a wrong range */
    unsigned range_count;  /* that are reserved */
    unsigned wait_count;
    struct test_wait {
        tarn_stream stream;
        tarn_stream awaited;
        uint64_t thread; /* of the calls */
        uint64_t awaited_thread;
    } waits[TEST_BACKEND_WAITS_MAX]; /* the first ones that went well */

    tarn_backend_operations operations; /* for the test to take some away from, once it is open */
    struct test_event events[TEST_BACKEND_EVENTS_MAX];
    tarn_stream ended_streams[16];
    unsigned ended_stream_count;
    tarn_stream begun_streams[64]; /* handles that had ended */
    unsigned begun_stream_count;
    pthread_mutex_t lock;
    uintptr_t next_address;
    struct test_piece {
        uintptr_t address;
        size_t size_bytes;
        bool is_shareable;
    } pieces[TEST_BACKEND_PIECES_MAX];
    struct test_piece ranges[TEST_BACKEND_RANGES_MAX];
};

/* 256-byte alignment, 4 KiB granularity, no limits, no failures. */
void test_backend_init(struct test_backend *state);

/* The backend to put into pool options. */
tarn_backend test_backend_open(struct test_backend *state);

/* All work that was submitted to the stream by now is done. */
void test_backend_complete(struct test_backend *state, tarn_stream stream);

/* The handle has ended: who uses it from now on is counted, until it begins again. */
void test_backend_end_stream(struct test_backend *state, tarn_stream stream);
void test_backend_begin_stream(struct test_backend *state, tarn_stream stream);

/* Calls of streams, events and ranges since the last time that this was asked. */
unsigned test_backend_take_calls(struct test_backend *state);

#endif
