/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/stats.h: what a pool has done and holds, as one coherent snapshot.
 *
 *     tarn_stats stats = TARN_STATS_INIT;
 *     tarn_pool_stats(pool, &stats);
 *     printf("%zu bytes live in %zu allocations\n", stats.requested_bytes, stats.live_count);
 *
 * Three sizes, each at least as large as the one before:
 *     requested   bytes that the program asked for and has not freed
 *     used        the same in whole chunks; a chunk that is cut into slices is used while one of them is
 *                 live; with passes_through the same as requested
 *     footprint   bytes that the pool holds from the vendor; used_bytes, free_bytes and captured_bytes
 *                 together are at most these
 *
 * Each chunk of the pool counts once: used, free, or captured. Of the free ones, those that wait for the work of
 * streams are pending. Captured chunks are free and belong to a capture: until tarn_capture_release they serve
 * its streams alone.
 *     used_bytes + free_bytes + captured_bytes = all chunks; with passes_through all requested and freed bytes
 *
 * While several threads have arenas, the high-water marks of requested, used and live are taken only when
 * the arenas are taken back, as for this snapshot. A peak in between may be missed.
 */
#ifndef TARN_STATS_H
#define TARN_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "tarn/export.h"
#include "tarn/init.h"
#include "tarn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_pool tarn_pool;

/* size_histogram[0] counts allocations of 1 byte, [i] those of 2^(i-1) + 1 to 2^i bytes. The last one also
 * counts all larger ones. */
#define TARN_STATS_HISTOGRAM_BINS 48

typedef struct tarn_stats {
    size_t struct_bytes; /* in: sizeof(tarn_stats) */

    size_t requested_bytes;     /* asked for and still live */
    size_t requested_bytes_max; /* its high-water mark since creation */
    size_t used_bytes;          /* of the chunks of live allocations */
    size_t used_bytes_max;
    size_t footprint_bytes; /* held from the backend */
    size_t footprint_bytes_max;

    size_t live_count; /* allocations, slices too, but none of zero bytes */
    size_t live_count_max;

    size_t static_pool_count; /* pieces of vendor memory; steps in a contiguous pool */
    size_t captured_bytes;    /* in free regions that belong to captures */
    size_t free_region_count; /* in all static pools, without those of captures */
    /* In free regions without those of captures; free slices do not count. With passes_through: freed, and not yet
     * given back. */
    size_t free_bytes;
    size_t pending_bytes;      /* of these, waiting for the work of streams */
    size_t largest_free_bytes; /* the largest request that needs no growth, up to rounding */
    double fragmentation; /* external: 1 - largest_free_bytes / free_bytes; 0: nothing is free */

    uint64_t alloc_count; /* allocations that succeeded, those of zero bytes included */
    uint64_t free_count;  /* frees that succeeded, those of NULL included */
    /* Refused allocations and frees. An argument that is NULL, or no alignment, does not count. */
    uint64_t failed_count;
    uint64_t vendor_alloc_count;   /* calls for memory of the backend, failed ones included */
    uint64_t vendor_free_count;    /* calls that gave it back, refused ones included */
    uint64_t vendor_refusal_count; /* of these, the refused ones */
    /* Of footprint_bytes: memory that left the pool and that the vendor did not take back. It is given back at the next
     * trim or growth or at the pool's end, or serves the pool again. */
    size_t unreleased_bytes;

    /* Host memory that describes the pool. Reserved parts of arrays count from their first use. */
    size_t metadata_bytes;

    /* Of all allocations so far of one byte or more. */
    uint64_t size_histogram[TARN_STATS_HISTOGRAM_BINS];
} tarn_stats;

#define TARN_STATS_INIT TARN_SIZED_INIT(tarn_stats)

/*
 * Writes a snapshot of the pool's statistics, taken at one instant.
 * Status: INVALID_POOL, FORKED; INVALID_ARGUMENT: stats_out is NULL or its struct_bytes is wrong.
 * Cost: O(static pools), under the pool's lock; while there are captures, also O(n) in free regions that belong to
 * them or wait for several streams. Takes back the arenas of several threads.
 */
TARN_API tarn_status tarn_pool_stats(tarn_pool *pool, tarn_stats *stats_out);

/*
 * Writes how many bytes can still be had: the pool's free bytes, pending ones included and captured ones not, and
 * the device's free memory, as far as the pool's limit lets it grow. They are not in one piece, and other pools
 * and programs on the device may take them first.
 * Status:
 *  - INVALID_POOL, FORKED; INVALID_ARGUMENT: available_bytes_out is NULL.
 *  - NOT_SUPPORTED: the pool may grow, and the backend cannot tell what the device has free.
 *  - Any other failure of the backend's query_memory.
 * Cost: that of tarn_pool_stats, and a call of the vendor without a lock.
 */
TARN_API tarn_status tarn_pool_available(tarn_pool *pool, size_t *available_bytes_out);

#ifdef __cplusplus
}
#endif

#endif
