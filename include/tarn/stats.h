/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/stats.h: what a pool has done and holds, as one coherent snapshot.
 *
 *     tarn_stats stats = TARN_STATS_INIT;
 *     tarn_pool_stats(pool, &stats);
 *     printf("%zu bytes live in %zu allocations\n", stats.requested_bytes, stats.live_count);
 *
 * Three sizes of the same thing, each at least as large as the one before:
 *     requested   what the program asked for and has not freed
 *     used        the same rounded up to whole chunks; a chunk that is cut into slices is used as long as one
 *                 of them is live
 *     footprint   what the pool holds from the vendor
 *
 * While several threads wait for each other at a pool, and so have parts of it of their own, the high-water
 * marks of what is requested, used and live are taken when those parts come back, as for this snapshot they do:
 * a peak between may be missed.
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

/* size_histogram[0] counts allocations of 1 byte; [i] those of 2^(i-1) + 1 to 2^i bytes; the last
 * those of everything larger too. */
#define TARN_STATS_HISTOGRAM_BINS 48

typedef struct tarn_stats {
    size_t struct_bytes; /* in: sizeof(tarn_stats), as TARN_STATS_INIT sets it */

    size_t requested_bytes;     /* bytes asked for and still live */
    size_t requested_bytes_max; /* the high-water mark of that, since creation */
    size_t used_bytes;          /* the chunks in which that lies, where there are such */
    size_t used_bytes_max;
    size_t footprint_bytes; /* bytes held from the backend */
    size_t footprint_bytes_max;

    size_t live_count; /* allocations, slices too; those of zero bytes are not counted */
    size_t live_count_max;

    size_t static_pool_count; /* pieces of vendor memory held; in a contiguous pool steps */
    size_t free_region_count; /* free regions in all of them */
    size_t
        free_bytes; /* bytes in free regions; what is free of a chunk that is cut is not counted */
    size_t pending_bytes; /* of these, what waits for the work of one stream or several */
    size_t
        largest_free_bytes; /* the largest request that succeeds without growth, up to rounding */
    double
        fragmentation; /* external: 1 - largest_free_bytes / free_bytes; 0 when nothing is free */

    uint64_t alloc_count;  /* allocations that succeeded, zero bytes included */
    uint64_t free_count;   /* frees that succeeded, NULL included */
    uint64_t failed_count; /* refused allocations, frees of what is not live here or of another
                            * size; an argument that is NULL or no alignment does not count */
    uint64_t vendor_alloc_count; /* calls that asked the backend for memory, failed ones included */
    uint64_t vendor_free_count;  /* calls that gave it back, refused ones included */

    /* Host memory that describes all this. The part of an array that is reserved, so that a free
     * cannot fail, and has never been used is not counted. */
    size_t metadata_bytes;

    /* Of every allocation of one byte or more so far. */
    uint64_t size_histogram[TARN_STATS_HISTOGRAM_BINS];
} tarn_stats;

#define TARN_STATS_INIT TARN_SIZED_INIT(tarn_stats)

/*
 * Writes a snapshot of the pool's statistics, taken at one instant.
 * Needs stats_out->struct_bytes as TARN_STATS_INIT sets it.
 * Errors: INVALID_POOL; INVALID_ARGUMENT when stats_out is NULL or its struct_bytes is another one.
 * On error nothing is written.
 * Any thread. Cost: O(static pools), under the pool's lock.
 */
TARN_API tarn_status tarn_pool_stats(tarn_pool *pool, tarn_stats *stats_out);

/*
 * Writes how many bytes can still be had: what is free in the pool, pending bytes included, and what the
 * device has free, as far as the pool's limit lets it grow. Not all of it in one piece, and only until
 * somebody else takes it: other pools on the device count their own free bytes, not each other's.
 * Errors: INVALID_POOL; INVALID_ARGUMENT (available_bytes_out is NULL); NOT_SUPPORTED (the pool may grow, and
 * the backend does not tell what the device has free); what else the backend answers. On error nothing is written.
 * Any thread. Cost: a call of the vendor's, without a lock.
 */
TARN_API tarn_status tarn_pool_available(tarn_pool *pool, size_t *available_bytes_out);

#ifdef __cplusplus
}
#endif

#endif
