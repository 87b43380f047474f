/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator: what the benchmark needs of an allocator. A table of a few calls; everything that is
 * compared fills one in, each in its own file allocator_*.
 *
 * Adding one: write the file, and name it in allocator_table.c. One that can only be built where
 * some library is has a second file *_none.c, which says why it is not there.
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
    int device;              /* as the vendor counts */
    size_t growth_bytes_max; /* the largest further piece of tarn's; 0: no cap */
    size_t initial_bytes;    /* the first piece that a pool takes, for pools that can be told */
    size_t step_bytes;       /* what tarn:contiguous maps at a time; 0: as it likes */
    bool has_one_stream;     /* all threads are on it */

    /* That memory is taken from, by allocators that take it from one; it outlives them. NULL: each
     * opens its own. */
    const tarn_backend *backend;
};

/* What an allocator has taken since it was opened. */
struct tn_allocator_usage {
    size_t footprint_bytes; /* held from the vendor now; 0 as well: it cannot tell */
    size_t
        footprint_bytes_max; /* most bytes that it ever held from the vendor; 0: it cannot tell */
    uint64_t vendor_calls;   /* that take memory or give it back; 0: it cannot tell */
    size_t metadata_bytes;   /* most host memory for its bookkeeping; 0: it cannot tell */
};

/* When a block that was freed may be another's, as long as a stream works on it. */
enum tn_free_order {
    TN_FREE_NEEDS_WAIT, /* at once: who frees has waited for the stream, unless there is but one */
    TN_FREE_WRITES,    /* at once, and writes into the block: who frees has waited for the stream */
    TN_FREE_WAITS,     /* the free itself waits for the device, as cudaFree does */
    TN_FREE_IS_ORDERED /* it keeps the order of the stream that its call is for */
};

static inline bool tn_free_needs_wait(enum tn_free_order order, size_t stream_count)
{
    return order == TN_FREE_WRITES || (order == TN_FREE_NEEDS_WAIT && stream_count > 1);
}

/* An allocator as one of several threads has it. */
struct tn_allocator_thread {
    void *state;
    bool has_stream; /* of its own */

    /* Given when it is opened: a stream of the caller's that the calls are for, in place of one of its own,
     * of the settings' backend or the vendor's. It outlives the state. NULL: none is given. */
    tarn_stream stream;
};

struct tn_allocator {
    const char *name;

    /* Why it is not there, or NULL. When it is not there, none of the calls below are. */
    const char *missing_because;

    /* Starts with nothing taken from the vendor. NOT_SUPPORTED: this machine cannot have it.
     * A failure writes the reason. */
    tarn_status (*open)(const struct tn_allocator_settings *settings, void **state_out,
                        struct tn_reason *reason_out);

    /* Zero bytes succeed, with any address. */
    tarn_status (*alloc)(void *state, size_t size_bytes, void **address_out);

    /* size_bytes is what was asked for. */
    tarn_status (*free)(void *state, void *address, size_t size_bytes);

    /* Why the last call of alloc or free failed. */
    void (*explain)(void *state, tarn_status status, struct tn_reason *reason_out);

    void (*get_usage)(void *state, struct tn_allocator_usage *usage_out);

    /* Gives everything back, as far as the allocator knows what it has handed out. */
    void (*close)(void *state);

    /*
     * Several threads on one allocator. Each opens a state of its own, which its calls take in place of
     * the other: with the stream that it was given, or else with one of its own where there are streams, unless
     * all are to be on one. A thread may have several states, one for each of its streams. An allocator
     * without a lock gets one in these calls.
     */
    tarn_status (*open_thread)(void *state, struct tn_allocator_thread *thread_inout,
                               struct tn_reason *reason_out);
    tarn_status (*alloc_in_thread)(void *state, size_t size_bytes, void **address_out);
    tarn_status (*free_in_thread)(void *state, void *address, size_t size_bytes);
    void (*explain_in_thread)(void *state, tarn_status status, struct tn_reason *reason_out);

    /* Called when all threads have ended, and before the usage of the whole is asked for. */
    void (*close_thread)(void *state);

    /* Its addresses are multiples of the block's size rounded up to a power of two, of 8 at least, and of no
     * more than this. 0: they are what verifier.h asks of all. */
    size_t alignment_bytes_max;

    enum tn_free_order free_order;

    /* Gives back to the vendor what is free. NULL: it cannot, or holds nothing that is free. */
    tarn_status (*trim)(void *state);
};

/* The adapters. */
extern const struct tn_allocator tn_allocator_raw;
extern const struct tn_allocator tn_allocator_tarn;
extern const struct tn_allocator tn_allocator_tarn_first;
extern const struct tn_allocator tn_allocator_tarn_segregated;
extern const struct tn_allocator tn_allocator_tarn_tlsf;
extern const struct tn_allocator tn_allocator_tarn_contiguous;
extern const struct tn_allocator tn_allocator_tarn_contiguous_first;
extern const struct tn_allocator tn_allocator_tarn_contiguous_segregated;
extern const struct tn_allocator tn_allocator_tarn_contiguous_tlsf;
extern const struct tn_allocator tn_allocator_vendor_pool;
extern const struct tn_allocator tn_allocator_vendor_pool_release;
extern const struct tn_allocator tn_allocator_cub;
extern const struct tn_allocator tn_allocator_torch;
extern const struct tn_allocator tn_allocator_ordered_sets;
extern const struct tn_allocator tn_allocator_umpire;
extern const struct tn_allocator tn_allocator_umpire_list;
extern const struct tn_allocator tn_allocator_umf;
extern const struct tn_allocator tn_allocator_jemalloc;
extern const struct tn_allocator tn_allocator_mimalloc;
extern const struct tn_allocator tn_allocator_libc_malloc;

/* Does nothing: what it costs is the benchmark's own share. Not for users, so not in the table. */
extern const struct tn_allocator tn_allocator_null;

/* What is compared unless the user asks for something else, in the order of the reports, ended by NULL. */
extern const struct tn_allocator *const tn_allocator_table[];

/* The others that a user can ask for, ended by NULL. */
extern const struct tn_allocator *const tn_allocator_variants[];

/* The one with this name in either, or NULL. */
const struct tn_allocator *tn_allocator_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
