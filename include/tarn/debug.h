/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/debug.h: looking into a pool. For tests, bug reports and pictures, not for the hot path.
 */
#ifndef TARN_DEBUG_H
#define TARN_DEBUG_H

#include <stdio.h>

#include "tarn/export.h"
#include "tarn/stats.h"
#include "tarn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------ debug mode ----- */

/*
 * A pool in debug mode remembers more of each allocation, to tell who made it when it was not freed:
 *
 *     options.debug = TARN_DEBUG_SITES;
 *     ...
 *     tarn_label_push("mesh");
 *     refine(mesh);                                 allocates
 *     tarn_label_pop();
 *     ...
 *     tarn_pool_report_leaks(pool, stderr);
 *
 * The process-wide pool is set by TARN_DEBUG=sites,zones and the like in the environment.
 * What is remembered lies in host memory: an allocation that finds none for it fails with
 * OUT_OF_HOST_MEMORY; a free never does. All else is as without, but slower: an allocation costs
 * microseconds. A pool that is not in debug mode pays for one test.
 */

/* Flags of tarn_pool_options.debug, to be added up. With any of them the label is remembered. */
#define TARN_DEBUG_SITES      0x1u /* where in the program it was allocated, if the system can tell */
#define TARN_DEBUG_ZONES      0x2u /* writes before and after an allocation are found */
#define TARN_DEBUG_POISON     0x4u /* what is used before it is written, or after the free, is seen */
#define TARN_DEBUG_QUARANTINE 0x8u /* what was freed is not handed out again soon */

/*
 * With the last three a pool reads and writes the memory, by the backend's fill and copy, in the order of the
 * stream that the allocation or free names, and waits for that stream each time. So they need a backend that
 * has these: not memory of the caller's. What cannot be looked at, because a call of the vendor fails, is
 * freed without. While any stream of the pool is being captured nothing of this is done, and what was
 * allocated then is not looked at later.
 *
 * Zones: before and after each allocation lie TARN_DEBUG_ZONE_BYTES with a pattern. The one before may be
 * larger, to align. They are looked at by the free and by tarn_pool_check. A free that finds one written to
 * answers CORRUPT and says by whom it was allocated and which byte is wrong; the memory counts as freed, and
 * is never handed out again. tarn_pool_check answers CORRUPT from then on.
 *
 * Poison: memory is filled with one pattern when it is handed out, and with another when it is freed.
 *
 * Quarantine: what was freed is held back until it is more than quarantine_bytes, the pool would run short, or
 * it is trimmed. Freed twice, it is told by whom first. Alone it does not see a use after the free; with poison it
 * is looked at before it is let go: when it was written to after its free, it is never handed out again. The call
 * that notices answers what it would otherwise, with CORRUPT in tarn_last_error; tarn_pool_check answers CORRUPT
 * from then on, and looks at what is in quarantine, too: it is what to ask.
 *
 * Statistics count what the program asked for; used_bytes is with zones and quarantine. With any of the three
 * tarn_pool_resize answers NOT_IN_PLACE.
 *
 * Where the program runs under a tool that checks what kernels touch, and the backend knows it, as CUDA's knows
 * compute-sanitizer (--nvtx yes), a pool in debug mode with whatever flags tells it what is allocated. Then the tool
 * reports who touches anything else, and the pool itself fills and compares nothing. Each free waits for its streams.
 */
#define TARN_DEBUG_ZONE_BYTES     256
#define TARN_DEBUG_BYTE_ZONE      0xfd
#define TARN_DEBUG_BYTE_ALLOCATED 0xcd
#define TARN_DEBUG_BYTE_FREED     0xdd

/* Longer labels are cut. */
#define TARN_LABEL_BYTES_MAX 47

/*
 * What the calling thread allocates until the label is popped bears it, in pools in debug mode. The text
 * is copied; NULL is as "", no label. Labels nest, and the innermost counts; beyond 32 in one another the
 * 32nd does. To pop without a label does nothing. Cost: a copy of the text.
 */
TARN_API void tarn_label_push(const char *label);
TARN_API void tarn_label_pop(void);

/*
 * Writes what is live to `file`: how many allocations of how many bytes in all, and of them groups by label
 * and call site, the one with the most bytes first. A call site is a list of functions, the innermost first,
 * named where the system knows their names: shared libraries and programs linked with -rdynamic tell them;
 * for the others there is the file with an offset, as addr2line takes it.
 * Nothing is ever written unasked: call it before tarn_pool_destroy_forced to learn what leaks.
 * A pool that is not in debug mode tells the sums alone.
 * Errors: INVALID_POOL; INVALID_ARGUMENT for a NULL file, or one that does not take the text;
 * OUT_OF_HOST_MEMORY when the copy finds no room.
 * Any thread. Cost: O(n log n) in live allocations.
 */
TARN_API tarn_status tarn_pool_report_leaks(tarn_pool *pool, FILE *file);

/* ---------------------------------------------------------------------------- check and dump ----- */

/*
 * Walks all of the pool's metadata and compares every structure with every other.
 * In debug mode with zones or quarantine, waits for the device and looks at the memory, too.
 * Returns OK, or CORRUPT with the first fault found named in tarn_last_error().message.
 * Errors besides: INVALID_POOL; in debug mode OUT_OF_HOST_MEMORY and VENDOR_ERROR.
 * Any thread; others wait meanwhile. Cost: O(regions log regions).
 */
TARN_API tarn_status tarn_pool_check(tarn_pool *pool);

typedef enum tarn_dump_format {
    TARN_DUMP_FORMAT_TEXT = 0, /* for people: one line a region */
    TARN_DUMP_FORMAT_JSON = 1  /* for programs: {"tarn_dump": 1, "static_pools": [...], ...} */
} tarn_dump_format;

/*
 * Writes a map of the pool to `file`: its statistics, its static pools, and every region of them in
 * address order: live, free, or, in a contiguous pool, unmapped. Of a chunk that is cut into slices each live
 * one, and as "sliced" what is free of it. Of what was freed on streams and is not yet known to be done with, the
 * streams, by their numbers in the pool. In debug mode, the label and call site of what is live. The picture of the
 * regions is of one instant, copied under the lock and written without it.
 * Errors: INVALID_POOL; INVALID_ARGUMENT for a NULL file, an unknown format, or a file that does
 * not take the text; OUT_OF_HOST_MEMORY when the copy finds no room.
 * Any thread. Cost: O(regions).
 */
TARN_API tarn_status tarn_pool_dump(tarn_pool *pool, tarn_dump_format format, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
