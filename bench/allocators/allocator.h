/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator: what the benchmark needs of an allocator: a table of a few calls. Each allocator fills one in,
 * in a file allocator_* of its own.
 *
 * To add one, write the file, and name it in allocator_table.c. If it needs a library to be built, add a
 * second file *_none.c, which says what is missing.
 *
 * Threads: the calls of one state come from one thread, and so do those of each thread's own state.
 */
#ifndef TN_ALLOCATOR_H
#define TN_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/reason.h"
#include "tarn/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_allocator_settings {
    int device;              /* the vendor's number */
    size_t growth_bytes_max; /* tarn's largest piece after the first; 0: no limit */
    size_t initial_bytes;    /* a pool's first piece, where the pool can be told */
    size_t step_bytes;       /* that tarn:contiguous maps at a time; 0: its default */
    size_t alignment_bytes;  /* of tarn's addresses; 0: its default */
    double stream_slack;     /* of tarn:slack */
    bool has_one_stream;     /* all threads share one stream */

    /* Where allocators that use a backend take memory from; it outlives them. NULL: each opens its own. */
    const tarn_backend *backend;
};

/* Since the allocator was opened. 0: it cannot tell, or there is none. */
struct tn_allocator_usage {
    size_t footprint_bytes;     /* held from the vendor now */
    size_t footprint_bytes_max; /* most ever held from the vendor */
    uint64_t vendor_calls;      /* that take memory or give it back */
    size_t metadata_bytes;      /* most host memory for bookkeeping */
};

/* When a freed block may be handed out again, while a stream still works on it. */
enum tn_free_order {
    TN_FREE_NEEDS_WAIT, /* at once: with several streams, the caller must wait for that of the block first */
    TN_FREE_WRITES,    /* at once, and the free writes into it: the caller must have waited */
    TN_FREE_WAITS,     /* the free itself waits for the device, as cudaFree does */
    TN_FREE_IS_ORDERED /* in the order of the stream that the free is for */
};

static inline bool tn_free_needs_wait(enum tn_free_order order, size_t stream_count)
{
    return order == TN_FREE_WRITES || (order == TN_FREE_NEEDS_WAIT && stream_count > 1);
}

/* One thread's share of an allocator that several use. */
struct tn_allocator_thread {
    void *state;
    bool has_stream; /* of its own */

    /* Set by the caller before opening: a stream, of the settings' backend or the vendor's, that all calls
     * are for. It outlives the state. NULL: the allocator makes one. */
    tarn_stream stream;
};

struct tn_allocator {
    const char *name;

    /* Why it is missing. NULL: it is there. A missing allocator has none of the calls below. */
    const char *missing_because;

    /* Opens with nothing held from the vendor. NOT_SUPPORTED: it does not run on this machine. A failure
     * writes the reason. */
    tarn_status (*open)(const struct tn_allocator_settings *settings, void **state_out,
                        struct tn_reason *reason_out);

    /* Zero bytes succeed, with any address. */
    tarn_status (*alloc)(void *state, size_t size_bytes, void **address_out);

    /* size_bytes is the size of the request. */
    tarn_status (*free)(void *state, void *address, size_t size_bytes);

    /* Why the last call of alloc or free failed. */
    void (*explain)(void *state, tarn_status status, struct tn_reason *reason_out);

    void (*get_usage)(void *state, struct tn_allocator_usage *usage_out);

    /* Gives everything back, live blocks too if the allocator knows them. */
    void (*close)(void *state);

    /*
     * Several threads on one allocator. Each thread opens a state of its own, which it passes to these calls.
     * The state is for the stream that the thread was given; or else for a new stream, if there are streams
     * and the threads do not share one. A thread may have several states, one for each stream. These calls
     * lock if the allocator does not.
     */
    tarn_status (*open_thread)(void *state, struct tn_allocator_thread *thread_inout,
                               struct tn_reason *reason_out);
    tarn_status (*alloc_in_thread)(void *state, size_t size_bytes, void **address_out);
    tarn_status (*free_in_thread)(void *state, void *address, size_t size_bytes);
    void (*explain_in_thread)(void *state, tarn_status status, struct tn_reason *reason_out);

    /* Called after all threads have ended and before get_usage. */
    void (*close_thread)(void *state);

    /* Addresses are aligned to the size rounded up to a power of two, at least to 8, at most to this. 0: as
     * verifier.h requires of all. */
    size_t alignment_bytes_max;

    enum tn_free_order free_order;

    /* Gives free memory back to the vendor. NULL: it cannot, or never holds any. */
    tarn_status (*trim)(void *state);
};

/* The adapters. */
extern const struct tn_allocator tn_allocator_raw;
extern const struct tn_allocator tn_allocator_tarn;
extern const struct tn_allocator tn_allocator_tarn_first;
extern const struct tn_allocator tn_allocator_tarn_segregated;
extern const struct tn_allocator tn_allocator_tarn_tlsf;
extern const struct tn_allocator tn_allocator_tarn_slack;
extern const struct tn_allocator tn_allocator_tarn_contiguous;
extern const struct tn_allocator tn_allocator_tarn_lean;
extern const struct tn_allocator tn_allocator_tarn_contiguous_first;
extern const struct tn_allocator tn_allocator_tarn_contiguous_segregated;
extern const struct tn_allocator tn_allocator_tarn_contiguous_tlsf;
extern const struct tn_allocator tn_allocator_tarn_contiguous_slack;
extern const struct tn_allocator tn_allocator_vendor_pool;
extern const struct tn_allocator tn_allocator_vendor_pool_release;
extern const struct tn_allocator tn_allocator_cub;
extern const struct tn_allocator tn_allocator_torch;
extern const struct tn_allocator tn_allocator_torch_expandable;
extern const struct tn_allocator tn_allocator_ordered_sets;
extern const struct tn_allocator tn_allocator_umpire;
extern const struct tn_allocator tn_allocator_umpire_list;
extern const struct tn_allocator tn_allocator_umf;
extern const struct tn_allocator tn_allocator_jemalloc;
extern const struct tn_allocator tn_allocator_mimalloc;
extern const struct tn_allocator tn_allocator_libc_malloc;

/* Does nothing: its time is the benchmark's own share. Not for users, so not in the table. */
extern const struct tn_allocator tn_allocator_null;

/* Compared by default, but for those that must be named; in the order of the reports, ended by NULL. */
extern const struct tn_allocator *const tn_allocator_table[];

/* Compared when the user names them, ended by NULL. */
extern const struct tn_allocator *const tn_allocator_variants[];

/* Whether it is one of tn_allocator_table that the user must name: with a device, what gives memory of the host. */
bool tn_allocator_must_be_named(const struct tn_allocator *allocator);

/* Whether work on the device may be given its blocks. False: it gives memory of the host, as the reason says. */
bool tn_allocator_can_be_filled(const struct tn_allocator *allocator, struct tn_reason *reason_out);

/* The allocator with this name, or NULL. */
const struct tn_allocator *tn_allocator_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
