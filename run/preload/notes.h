/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * notes: what the library has caught and passed on, for the report at the end of the process.
 *
 * Threads: any. Cost: a linked symbol that was noted before costs a load, a call that is passed on an atomic addition.
 * Memory that the vendor serves costs a lock and a look-up: its call takes microseconds.
 */
#ifndef TN_NOTES_H
#define TN_NOTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intercepted.h"

/* How a program came to a function. */
enum tn_route {
    TN_ROUTE_LINKED,
    TN_ROUTE_DLSYM,
    TN_ROUTE_ADDRESS /* the vendor's own look-up */
};

/* Why a call went to the vendor. X(reason, text) */
#define TN_REASONS(X)                                                          \
    X(ASKED, "TARN_RUN_PASS is set")                                           \
    X(KIND, "memory of this kind stays the " TN_VENDOR_WORD "'s")              \
    X(OLD, "the 32-bit interface from before CUDA 3.2")                        \
    X(ZERO, "zero bytes, or nowhere to write the address")                     \
    X(LARGE, "larger than TARN_RUN_UP_TO")                                     \
    X(NO_CONTEXT, "no context is current")                                     \
    X(NO_POOL, "no pool could be made")                                        \
    X(FORKED, "the " TN_VENDOR_WORD " was in use before the fork")             \
    X(CAPTURE, "a stream is captured")                                         \
    X(NO_MEMORY, "the pool could not serve it")                                \
    X(NOT_OURS, "the " TN_VENDOR_WORD "'s own memory")                         \
    X(OWN_POOLS, "the program has set up the " TN_VENDOR_WORD "'s pools")      \
    X(HANDLE, "a handle for other processes stands for the whole static pool") \
    X(NESTED, "called while a pool calls the " TN_VENDOR_WORD)

enum tn_reason {
#define TN_REASON_ENUMERATOR(reason, text) TN_REASON_##reason,
    TN_REASONS(TN_REASON_ENUMERATOR)
#undef TN_REASON_ENUMERATOR
    TN_REASON_COUNT
};

/* Notes once for each function, route and library that the program got the function. `caller`: an address in the
 * program's code. */
void tn_notes_caught(enum tn_call call, enum tn_route route, const void *caller);

extern atomic_bool tn_notes_is_linked[TN_CALL_COUNT];

static inline void tn_notes_linked(enum tn_call call, const void *caller)
{
    if (atomic_load_explicit(&tn_notes_is_linked[call], memory_order_relaxed)) return;
    atomic_store_explicit(&tn_notes_is_linked[call], true, memory_order_relaxed);
    tn_notes_caught(call, TN_ROUTE_LINKED, caller);
}

void tn_notes_passed(enum tn_call call, enum tn_reason reason);

/* The purpose of a vendor's call, which a pool makes or the library passes on. Mapping counts as one call, unmapping,
 * too. */
enum tn_purpose {
    TN_PURPOSE_MEMORY,
    TN_PURPOSE_ORDER, /* streams, events, waits and copies of pools; the program's own are not counted */
    TN_PURPOSE_COUNT
};

void tn_notes_vendor_call(enum tn_purpose purpose);

/* Memory that the vendor serves. If the host has no memory to remember it, it does not count. */
void tn_notes_vendor_alloc(tn_vendor_address address, size_t size_bytes);
void tn_notes_vendor_free(tn_vendor_address address);

/* Adds up what pools have done that end before the process does. */
struct tn_pool_totals {
    uint64_t alloc_count, free_count;
    uint64_t pool_alloc_count; /* of these, by pools */
    size_t live_bytes_max, held_bytes_max;
};
void tn_notes_pool_ended(const struct tn_pool_totals *totals);

/* --- for the report ---------------------------------------------------------------------------------- */

struct tn_caught {
    enum tn_call call;
    enum tn_route route;
    const char *library;
};

size_t tn_notes_caught_count(void);
struct tn_caught tn_notes_get_caught(size_t index);
uint64_t tn_notes_passed_count(enum tn_call call, enum tn_reason reason);
uint64_t tn_notes_vendor_call_count(enum tn_purpose purpose);

/* The totals of pools that have ended, and of the memory that the vendor has served. */
struct tn_pool_totals tn_notes_totals(void);

#endif
