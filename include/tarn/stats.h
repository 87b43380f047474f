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
 *     footprint   bytes that the pool holds from the vendor
 *
 * part_bytes tells why the pool holds each byte of the footprint: see tarn_footprint_part. The parts of one snapshot are
 * footprint_bytes together, at every moment.
 *
 * While several threads have arenas, the high-water marks of requested, used and live, and those of labels, are taken
 * only when the arenas are taken back, as for this snapshot. A peak in between may be missed.
 *
 * Labels tell which part of a program has the memory: see below.
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

/*
 * The parts of a footprint. Each byte is in one part, the first that fits it:
 *
 *     │◄─────────────── used_bytes ───────────────►│◄──────────────── free chunks ────────────────►│◄─ no chunks ─►│
 *     requested  rounding  slices  quarantined       captured  pending  arenas  shut_in  on_hold     edges
 *                                                    initial  wholly_free                            unreleased
 *                                                                                                    transit
 *
 * A piece is a static pool, or a step of a contiguous pool. It can go back to the vendor only as a whole.
 */
typedef enum tarn_footprint_part {
    TARN_FOOTPRINT_PART_REQUESTED = 0, /* live: the bytes that the program asked for */
    /* live: the rest of their chunks and slices, and zones of debug mode */
    TARN_FOOTPRINT_PART_ROUNDING = 1,
    TARN_FOOTPRINT_PART_SLICES = 2,      /* free slices of chunks with a live one */
    TARN_FOOTPRINT_PART_QUARANTINED = 3, /* freed, and kept by debug mode, or damaged */
    TARN_FOOTPRINT_PART_CAPTURED = 4,    /* for the graph of a capture, until its release */
    TARN_FOOTPRINT_PART_PENDING = 5,     /* waiting for the work of streams */
    TARN_FOOTPRINT_PART_ARENAS = 6,      /* lent to the arenas of threads */
    /* in pieces that cannot go back: something in them is live, captured or lent */
    TARN_FOOTPRINT_PART_SHUT_IN = 7,
    TARN_FOOTPRINT_PART_ON_HOLD = 8, /* in other pieces that tarn_static_pool_hold keeps */
    /* in the piece of initial_bytes, or of a pool over the caller's memory */
    TARN_FOOTPRINT_PART_INITIAL = 9,
    TARN_FOOTPRINT_PART_WHOLLY_FREE = 10, /* in all other pieces; a trim gives them back */
    TARN_FOOTPRINT_PART_EDGES = 11,       /* at the ends of pieces: too few for a chunk */
    TARN_FOOTPRINT_PART_UNRELEASED = 12,  /* left the pool, and refused by the vendor */
    TARN_FOOTPRINT_PART_TRANSIT = 13      /* on their way from the vendor, or to it */
} tarn_footprint_part;

/* Entries of an array of parts. Those without a part are 0. */
#define TARN_FOOTPRINT_PARTS_MAX 16

/* Returns the name of a part: "shut_in", for example; "unknown" for a number without one. Any thread, at any time. */
TARN_API const char *tarn_footprint_part_name(tarn_footprint_part part);

typedef struct tarn_stats {
    size_t struct_bytes; /* in: sizeof(tarn_stats) */

    size_t requested_bytes;     /* asked for and still live */
    size_t requested_bytes_max; /* its high-water mark since creation, or tarn_pool_reset_peaks */
    size_t used_bytes;          /* of the chunks of live allocations */
    size_t used_bytes_max;
    size_t footprint_bytes; /* held from the backend */
    size_t footprint_bytes_max;

    size_t live_count; /* allocations, slices too; of zero bytes only with zero_has_address */
    size_t live_count_max;

    size_t static_pool_count;  /* pieces of vendor memory; steps in a contiguous pool */
    size_t captured_bytes;     /* the part CAPTURED */
    size_t free_region_count;  /* in all static pools, without those of captures */
    size_t free_bytes;         /* the parts PENDING to WHOLLY_FREE together */
    size_t pending_bytes;      /* the part PENDING */
    size_t largest_free_bytes; /* the largest request that needs no growth, up to rounding */
    double fragmentation; /* external: 1 - largest_free_bytes / free_bytes; 0: nothing is free */

    uint64_t alloc_count; /* allocations that succeeded, those of zero bytes included */
    uint64_t free_count;  /* frees that succeeded, those of NULL included */
    /* Refused allocations and frees. An argument that is NULL, or no alignment, does not count. */
    uint64_t failed_count;
    uint64_t vendor_alloc_count;   /* calls for memory of the backend, failed ones included */
    uint64_t vendor_free_count;    /* calls that gave it back, refused ones included */
    uint64_t vendor_refusal_count; /* of these, the refused ones */
    /* The part UNRELEASED. It is given back at the next trim or growth or at the pool's end, or serves the pool again. */
    size_t unreleased_bytes;

    /* Host memory that describes the pool. Reserved parts of arrays count from their first use. */
    size_t metadata_bytes;

    /* Of all allocations so far of one byte or more. */
    uint64_t size_histogram[TARN_STATS_HISTOGRAM_BINS];

    /* By tarn_footprint_part: why the pool holds each byte of footprint_bytes now. */
    size_t part_bytes[TARN_FOOTPRINT_PARTS_MAX];

    /* The same of footprint_bytes_max, when the pool came to hold it: why the memory that was there did not do. TRANSIT
     * is the memory that came. In debug mode REQUESTED also has zones and quarantine. With passes_through all is in
     * TRANSIT. Where a look takes long, in a pool of more than 500 pieces for example, the other parts may be those of an
     * earlier growth. */
    size_t peak_part_bytes[TARN_FOOTPRINT_PARTS_MAX];
} tarn_stats;

#define TARN_STATS_INIT TARN_SIZED_INIT(tarn_stats)

/*
 * Writes a snapshot of the pool's statistics, taken at one instant.
 * Status: INVALID_POOL, FORKED; INVALID_ARGUMENT: stats_out is NULL or its struct_bytes is wrong.
 * Cost: O(pieces), under the pool's lock; in a contiguous pool also O(free regions), of a unit or more unless memory there
 * waits for streams. While there are captures, also O(n)
 * in free regions that belong to them or wait for several streams. Takes back the arenas of several threads, after it has
 * counted the part ARENAS.
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

/*
 * Makes the present values the high-water marks: those of tarn_stats and of labels. So each phase of a program can have
 * peaks of its own.
 * Status: INVALID_POOL, FORKED.
 * Cost: that of tarn_pool_stats.
 */
TARN_API tarn_status tarn_pool_reset_peaks(tarn_pool *pool);

/* ----------------------------------------------------------------------------------- labels ----- */

/*
 * A thread names what it allocates, and any pool tells how much that is:
 *
 *     tarn_label_push("mesh");
 *     refine(mesh);                                 allocates
 *     tarn_label_pop();
 *     ...
 *     tarn_label_stats mesh = TARN_LABEL_STATS_INIT;
 *     for (size_t i = 0; tarn_pool_label_stats(pool, i, &mesh) == TARN_STATUS_OK; i++)
 *         printf("%s: %zu bytes, at most %zu\n", mesh.label, mesh.live_bytes, mesh.live_bytes_max);
 *
 * tarn_pool_report_leaks, tarn_pool_dump and traces have the labels, too. "Labels" has the rest.
 */

/* Longer labels are cut. A label may have any bytes: reports and the text of a dump write those that are not
 * printable UTF-8 as \xNN, and JSON has a replacement for them. */
#define TARN_LABEL_BYTES_MAX 47

/*
 * Allocations of the calling thread have this label until it is popped, in all pools. Labels nest, and the innermost
 * counts; from the 33rd on the 32nd does. The text is copied. NULL is "", no label. A pop without a label does nothing.
 * An allocation keeps its label until it is freed, by whatever thread, also when it is resized.
 *
 * The process keeps up to 510 texts; allocations under further ones count as "other labels". None has a label in a
 * pool with chunks of more than 64 KiB that is not in debug mode, nor if the host has no memory for the counters.
 * Cost: a push and a pop take some nanoseconds, and so does the label in an allocation and its free.
 */
TARN_API void tarn_label_push(const char *label);
TARN_API void tarn_label_pop(void);

/* The allocations of one label in a pool. */
typedef struct tarn_label_stats {
    size_t struct_bytes; /* in: sizeof(tarn_label_stats) */
    char label[TARN_LABEL_BYTES_MAX + 1];
    size_t live_bytes;     /* asked for and still live */
    size_t live_bytes_max; /* its high-water mark, as in tarn_stats */
    size_t live_count;     /* allocations */
    uint64_t alloc_count;  /* allocations so far */
} tarn_label_stats;

#define TARN_LABEL_STATS_INIT TARN_SIZED_INIT(tarn_label_stats)

/*
 * Writes the statistics of one of the pool's labels. A label has the same index as long as the pool lives: the first
 * that was used has 0. So a loop from 0 on that ends with the first failure meets each label once. The rest of
 * tarn_stats, beyond the sum of all labels, has no label.
 * Status: INVALID_POOL, FORKED, and
 *  - INVALID_ARGUMENT: there are no more than `index` labels; or stats_out is NULL, or its struct_bytes is wrong.
 * Cost: O(1), under the pool's lock. Takes back the arenas of several threads.
 */
TARN_API tarn_status tarn_pool_label_stats(tarn_pool *pool, size_t index,
                                           tarn_label_stats *stats_out);

#ifdef __cplusplus
}
#endif

#endif
