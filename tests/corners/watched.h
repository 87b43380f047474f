/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * watched: the backends of the random program's pools, all on one device.
 *
 *     pool 0          pool 1          pool 2
 *     watched         watched         watched      what each one holds; calls that fail; rules of captures
 *        │  ╲            │  ╲            │  ╲
 *        │   ╲───────────│───╲───────────│───── streams, events ──► order_checker ──► host or vendor
 *        └── memory ─────┴── memory      └── memory of another kind
 *
 * A call that fails does nothing, but for a query, record or wait, of which the pool learns nothing. A stream that
 * hangs does not complete what is recorded on it, until the program or the pool waits for it. While a stream is being
 * captured, a call that CUDA would call the capture off for is a finding.
 */
#ifndef CORNERS_WATCHED_H
#define CORNERS_WATCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "streams/order_checker.h"
#include "tarn/tarn.h"

enum {
    HANGING_MAX = 128,
    CAPTURED_MAX = 16,
    PIECES_MAX = 4096,
    RANGES_MAX = 4,
    /* Of the vendor in one call of a pool: it has no end. A device of 8 GiB has 2 million steps of a page. */
    CALLS_MAX = 5000000
};

#define FAULT_TABLE(X)                \
    X(ACQUIRE, "acquire")             \
    X(ACQUIRE_ERROR, "acquire_error") \
    X(RELEASE, "release")             \
    X(RESERVE, "reserve")             \
    X(MAP, "map")                     \
    X(UNMAP, "unmap")                 \
    X(STREAM_CHECK, "stream_check")   \
    X(STREAM_ID, "stream_id")         \
    X(EVENT_CREATE, "event_create")   \
    X(RECORD, "record")               \
    X(WAIT, "wait")                   \
    X(QUERY, "query")                 \
    X(SYNCHRONIZE, "synchronize")

enum fault {
#define FAULT_ENUMERATOR(name, text) FAULT_##name,
    FAULT_TABLE(FAULT_ENUMERATOR)
#undef FAULT_ENUMERATOR
    FAULT_COUNT
};

const char *fault_name(enum fault fault);

/* The device that all pools share. */
struct device {
    struct order_checker *checker;
    tarn_backend streams; /* the checker's: the program's own calls go here, past all faults */
    bool is_simulated;    /* a vendor's, over the simulated devices */
    bool can_synchronize; /* there is a call that waits for all work */

    enum fault armed;     /* which call is to fail */
    unsigned armed_after; /* the n-th one; 0: none */
    unsigned fired_count; /* how many have failed since device_begin_call */
    uint64_t call_count;  /* of the vendor, since then */
    bool
        has_lost_record; /* a record has failed: where only a call that names the stream can record, it is lost */
    uint64_t serial;         /* counts records */
    unsigned captured_count; /* streams that are being captured, by the vendor */
    tarn_stream captured[CAPTURED_MAX];
    unsigned hanging_count;
    struct hanging {
        tarn_stream stream;
        uint64_t serial; /* what is recorded later does not complete */
    } hanging[HANGING_MAX];
};

/* One piece that the vendor says is out. */
struct piece {
    uintptr_t start;
    size_t size_bytes;
    tarn_mapping mapping;
    bool is_mapped;  /* in a range */
    bool is_refused; /* the vendor has refused to take it back */
};

struct watched {
    struct device *device;
    tarn_backend memory;     /* where pieces come from */
    uint64_t told_memory_id; /* 0: its own */
    bool
        is_of_other_device; /* the memory is another host's, and told as managed memory of this device */
    tarn_backend_operations operations;
    size_t held_bytes; /* in pieces, the refused ones too */
    size_t piece_count;
    struct piece pieces[PIECES_MAX];
    unsigned range_count;
    struct piece ranges[RANGES_MAX];
};

/* `inner` is closed with the device. False: no memory. */
bool device_init(struct device *device, tarn_backend inner, uint64_t seed, bool is_simulated);
void device_fini(struct device *device);

/* What fails, and what is counted, begins anew. */
void device_begin_call(struct device *device);
void device_arm(struct device *device, enum fault fault, unsigned after);
void device_disarm(struct device *device);

/* Work on the stream hangs from now on; or all of it is done, as far as the vendor tells. */
void device_hang(struct device *device, tarn_stream stream);
void device_go_on(struct device *device, tarn_stream stream);

/* The program waits for all work. False: the vendor has no such call. */
bool device_synchronize(struct device *device);

/* The vendor begins and ends to capture a stream. */
void device_begin_capture(struct device *device, tarn_stream stream);
void device_end_capture(struct device *device, tarn_stream stream);
bool device_is_capturing(const struct device *device);

/* The program's own calls do not mind captures: as a thread that has relaxed its mode. Returns what ends it. */
int device_relax(const struct device *device);
void device_end_relaxing(const struct device *device, int mode);

/* The program makes the first stream wait for the second. */
void device_order(struct device *device, tarn_stream after, tarn_stream before);

void watched_init(struct watched *watched, struct device *device, tarn_backend memory);
tarn_backend watched_backend(struct watched *watched);

/* What the pool has lost is given back, so that nothing is left on the device. */
void watched_fini(struct watched *watched);

/* In pieces that the vendor has refused to take back. */
size_t watched_refused_bytes(const struct watched *watched);

/* NULL: no piece of it. */
const struct piece *watched_find(const struct watched *watched, const void *address);

#endif
