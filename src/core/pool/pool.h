/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool: how a pool begins and ends, and questions about it. A pool is a list of static pools on one device,
 * with locks, growth and statistics. route.h allocates and frees.
 *
 * The callers have checked the arguments. A function that fails has set the error message by tn_fail.
 *
 * Threads: any, with no lock held unless said; pool_struct.h tells what the two locks guard.
 * Cost: O(1) unless said. Queries gather, which costs O(regions) where there are arenas.
 */
#ifndef TN_POOL_H
#define TN_POOL_H

#include "../serve/pool_struct.h"

/* Makes a handle from the registry a pool. The pool closes the backend at its end if owns_backend. Errors:
 * INVALID_OPTIONS, NOT_SUPPORTED, OUT_OF_HOST_MEMORY, and errors of the backend. */
tarn_status tn_pool_init(struct tarn_pool *pool, const tarn_pool_options *options,
                         const tarn_backend *backend, bool owns_backend);

/* Tells the user that all static pools go, before tn_pool_fini, which then tells nothing. */
void tn_pool_tell_end(struct tarn_pool *pool);

/* Releases all memory to the vendor, live allocations included, and frees the metadata. */
void tn_pool_fini(struct tarn_pool *pool);

/* Frees the metadata without a vendor call: device memory, events and the backend stay as they are. */
void tn_pool_abandon(struct tarn_pool *pool);

/* Records the end of a stream, so that reuse of memory freed on it no longer needs the handle. Errors:
 * INVALID_ARGUMENT (the stream is being captured), OUT_OF_HOST_MEMORY, VENDOR_ERROR. */
tarn_status tn_pool_retire_stream(struct tarn_pool *pool, tarn_stream stream);

/* Counts a failed call. tn_pool_alloc does not: its caller may still find memory elsewhere. */
void tn_pool_count_failure(struct tarn_pool *pool);

/* Count an allocation of zero bytes, and a free of NULL. */
void tn_pool_count_empty_alloc(struct tarn_pool *pool);
void tn_pool_count_empty_free(struct tarn_pool *pool);

/* Counts the live allocations and their bytes. */
tarn_leaks tn_pool_leaks(struct tarn_pool *pool);

/* Cost: O(static pools), and O(n) in free regions that belong to captures. */
void tn_pool_stats(struct tarn_pool *pool, tarn_stats *stats_out);

/* tn_pool_stats for a caller that has locked and gathered the pool. */
void tn_pool_stats_locked(const struct tarn_pool *pool, tarn_stats *stats_out);

/* Makes the high-water marks the present values. */
void tn_pool_reset_peaks(struct tarn_pool *pool);

/* Writes the counters of the label that was listed after so many others. False: there is none. */
bool tn_pool_label_stats(struct tarn_pool *pool, size_t index, tarn_label_stats *stats_out);

/* Copies the counters of all labels, and the live allocations as tn_pool_leaks, at one instant. */
tarn_leaks tn_pool_leaks_by_label(struct tarn_pool *pool, struct tn_label_stats *stats_out);

/* Bytes that the pool could allocate: free ones, and growth by its limits and the device's free memory. Errors:
 * NOT_SUPPORTED and other errors of the backend. */
tarn_status tn_pool_available(struct tarn_pool *pool, size_t *available_bytes_out);

enum tn_find_result {
    TN_FIND_RESULT_FOUND,
    TN_FIND_RESULT_NOT_LIVE, /* the address is in the pool, but in no live allocation */
    TN_FIND_RESULT_FOREIGN   /* the address is not in the pool */
};

/* Describes the live allocation that holds an address. Writes *found_out only if FOUND. */
enum tn_find_result tn_pool_find(struct tarn_pool *pool, const void *address,
                                 tarn_allocation *found_out);

/* Returns whether an address is in memory of the pool. Cost: that of a look-up; the arenas keep what they have. */
bool tn_pool_holds(struct tarn_pool *pool, const void *address);

struct tn_allocation_sizes {
    size_t size_bytes;   /* that were asked for */
    size_t usable_bytes; /* see tarn_allocation */
    uint32_t label;      /* see label.h */
};

/* Finds the sizes and the label of the live allocation that starts at an address. False: none does. Cost: that of a free; the
 * arenas keep what they have. */
bool tn_pool_find_sizes(struct tarn_pool *pool, const void *address,
                        struct tn_allocation_sizes *sizes_out);

/* Compares all metadata of the pool with each other. Errors: CORRUPT, whose message names the first fault.
 * Cost: O(n) in regions. */
tarn_status tn_pool_check(struct tarn_pool *pool);

#endif
