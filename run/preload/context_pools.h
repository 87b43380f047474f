/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * context_pools: a pool of device memory for each context that allocates.
 *
 * A pool begins with the first allocation in its context. It ends with the context, whose memory the vendor takes back:
 * the pool is abandoned, and nothing of it is given to the vendor. At the end of the process pools stay as they are,
 * since the program may free memory until its very end. HIP's programs have devices in place of contexts.
 *
 *     thread ── current context ──► slot ──► pool ──► backend of that context
 *
 * Threads: any. An allocation, and a free in the current context's pool, take no lock of this module. Other frees do.
 * The vendor forbids to destroy a context while a thread calls it; that keeps the slot of a current context alive.
 */
#ifndef TN_CONTEXT_POOLS_H
#define TN_CONTEXT_POOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "tarn/tarn.h"

#include "notes.h"
#include "vendor.h"

/* Contexts that can have a pool at one time. Memory of further ones is the vendor's. */
#define TN_CONTEXTS_MAX 64

/* Writes the pool of the calling thread's current context, and makes it if there is none. Returns why there is none, or
 * TN_REASON_COUNT. */
enum tn_reason tn_context_pools_find(const struct tn_vendor *vendor, tarn_pool **pool_out);

/* The context gets no pool. */
void tn_context_pools_refuse(void *context);

/* A free in whichever pool has the address. FOREIGN_ADDRESS: none has it. */
tarn_status tn_context_pools_free(const struct tn_vendor *vendor, void *address);
tarn_status tn_context_pools_free_on(const struct tn_vendor *vendor, void *address,
                                     tarn_stream stream);

/* Waits for the work of the context whose pool an address lies in. For other addresses it does nothing. */
void tn_context_pools_wait_for(const struct tn_vendor *vendor, const void *address);

/* The live allocation that an address lies in. NOT_LIVE: the address is in a pool, FOREIGN_ADDRESS: in none. */
tarn_status tn_context_pools_find_allocation(const void *address, void **base_out,
                                             size_t *size_bytes_out);

/* Pools give the vendor what they do not need. False: nothing was given back. */
bool tn_context_pools_trim(void);

/* Bytes that are free in the pools on a device. */
size_t tn_context_pools_free_bytes(int device);
/* The device of the current context; -1: there is none. */
int tn_context_pools_current_device(const struct tn_vendor *vendor);

/* Gives the free memory of a pool back to the vendor, before its context ends: memory of a lean pool does not end with
 * the context. The context is the given one, or the primary one of a device. Waits for its work. Does nothing while a
 * stream is captured. If the vendor refuses, the memory stays in the pool. */
void tn_context_pools_trim_of(const void *context);
void tn_context_pools_trim_primary(int device);

/* A context is about to end: its pool leaves, and whatever memory it had is the vendor's. If the context stays after
 * all, put the pool back. */
struct tn_ending_pool {
    tarn_pool *pool; /* NULL: there is none */
    void *context;
    int device;
    bool is_primary;
};
struct tn_ending_pool tn_context_pools_take(void *context);
struct tn_ending_pool tn_context_pools_take_primary(int device);
void tn_context_pools_put_back(struct tn_ending_pool ending);
void tn_context_pools_abandon(struct tn_ending_pool ending);
/* Does one or the other by the answer of the call that ends the context, and returns the answer. */
tn_vendor_error tn_context_pools_end(struct tn_ending_pool ending, tn_vendor_error error);

/* Whether this process is a child of one that had pools, and so may not use them. */
bool tn_context_pools_are_of_parent(void);
/* Whether this process has made a pool, or has tried to. */
bool tn_context_pools_are_own(void);

/* The sums over all pools that exist. */
struct tn_pool_totals tn_context_pools_totals(void);

#endif
