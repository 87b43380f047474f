/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/debug.h: a look into a pool, for tests, bug reports and pictures.
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
 * A pool in debug mode remembers more of each allocation, and can tell where leaked memory comes from:
 *
 *     options.debug = TARN_DEBUG_SITES;
 *     ...
 *     tarn_pool_report_leaks(pool, stderr);
 *
 * TARN_DEBUG=sites,zones in the environment sets the process-wide pool. The records are in host memory: an
 * allocation without room for one fails with OUT_OF_HOST_MEMORY; a free needs none. An allocation costs
 * microseconds. docs/semantics.md, "Debug mode", has drawings and examples.
 */

/* Flags of tarn_pool_options.debug, to be added up. */
#define TARN_DEBUG_SITES      0x1u /* remembers where the program allocates, if the system can tell */
#define TARN_DEBUG_ZONES      0x2u /* finds writes before and after an allocation */
#define TARN_DEBUG_POISON     0x4u /* fills memory, so that early and late uses show */
#define TARN_DEBUG_QUARANTINE 0x8u /* holds freed memory back */

/*
 * Zones, poison and quarantine read and write the memory, by the backend's fill and copy, in the order of the
 * stream that the call names, and wait for that stream. So a pool over memory of the caller's cannot have
 * them. If a call of the vendor fails, the memory is freed without a look at it. While a stream of the pool
 * is captured nothing of this is done, and memory that was allocated then is not looked at later.
 *  - Zones. TARN_DEBUG_ZONE_BYTES before and after each allocation hold a pattern; the one before may be
 *    larger, to align. The free and tarn_pool_check look at them. A free that finds a changed zone answers
 *    CORRUPT and names the allocation's label, site and first wrong byte.
 *  - Poison. One pattern fills memory when it is handed out, another when it is freed.
 *  - Quarantine. Freed memory is held back until there is more than quarantine_bytes of it, the pool would
 *    run short, or the pool is trimmed. A second free names the first. With poison, a write after the free is
 *    found when the memory leaves the quarantine: the call that notices has its usual status, and CORRUPT is
 *    in tarn_last_error. To be sure, ask tarn_pool_check.
 *  - Damaged memory counts as freed and is never handed out again. tarn_pool_check answers CORRUPT from then
 *    on.
 *  - Statistics count what the program asked for; used_bytes includes zones and quarantine. tarn_pool_resize
 *    answers NOT_IN_PLACE.
 *
 * With any flag, a pool over CUDA memory tells compute-sanitizer (--nvtx yes) what is allocated. The tool
 * then reports kernels that touch other memory, and the pool fills and compares nothing. Each free waits for
 * its streams.
 */
#define TARN_DEBUG_ZONE_BYTES     256
#define TARN_DEBUG_BYTE_ZONE      0xfd
#define TARN_DEBUG_BYTE_ALLOCATED 0xcd
#define TARN_DEBUG_BYTE_FREED     0xdd

/*
 * Writes live allocations to `file`: their number and bytes, then groups by label and call site, the one with
 * the most bytes first. Labels are pushed by tarn_label_push, see tarn/stats.h. A pool that is not in debug mode
 * knows no call sites.
 *
 * A call site is a list of functions, the innermost first. Shared libraries and programs linked with -rdynamic have
 * names for them; otherwise there is a file with an offset, for addr2line. Call it before tarn_pool_destroy_forced.
 * Status: INVALID_POOL, FORKED, and
 *  - INVALID_ARGUMENT: file is NULL, or does not take the text.
 *  - OUT_OF_HOST_MEMORY: there is no room for a copy of the records.
 * Cost: O(n log n) in live allocations.
 */
TARN_API tarn_status tarn_pool_report_leaks(tarn_pool *pool, FILE *file);

/* ---------------------------------------------------------------------------- check and dump ----- */

/*
 * Walks all of the pool's metadata and compares every structure with every other. In debug mode with zones or
 * quarantine it also waits for the device and looks at the memory.
 * Status: OK: no fault was found. INVALID_POOL, FORKED, and
 *  - CORRUPT: tarn_last_error().message names the first fault.
 *  - OUT_OF_HOST_MEMORY, VENDOR_ERROR: in debug mode, the look at the memory failed.
 * Threads: other threads wait meanwhile. Cost: O(regions log regions).
 */
TARN_API tarn_status tarn_pool_check(tarn_pool *pool);

typedef enum tarn_dump_format {
    TARN_DUMP_FORMAT_TEXT = 0, /* for people: one line a region */
    TARN_DUMP_FORMAT_JSON = 1  /* for programs: {"tarn_dump": 1, "static_pools": [...], ...} */
} tarn_dump_format;

/*
 * Writes a map of the pool to `file`: statistics with the parts of the footprint (tarn/stats.h), static pools, and every
 * region in address order. A region
 * is live, free, or, in a contiguous pool, unmapped. A chunk that is cut has a line for each live slice, and
 * "sliced" for its free ones. A pending region has the pool's numbers of the streams that it waits for. Live
 * regions have their label, and in debug mode their call site; as JSON then also the number of the allocation in
 * its pool, "serial". The regions are of one instant, copied under the lock and written without it. tarn-map draws
 * the JSON. Without a change of the program, TARN_MAP=FILE in the environment leaves the maps of all pools, in a list,
 * at the end of the process, and TARN_MAP=signal:FILE at each SIGUSR2: "The map at the end".
 * Status: INVALID_POOL, FORKED, and
 *  - INVALID_ARGUMENT: file is NULL or does not take the text, or the format is unknown.
 *  - OUT_OF_HOST_MEMORY: there is no room for the copy.
 * Cost: O(regions).
 */
TARN_API tarn_status tarn_pool_dump(tarn_pool *pool, tarn_dump_format format, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
