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

/*
 * Walks all of the pool's metadata and compares every structure with every other.
 * Returns OK, or CORRUPT with the first fault found named in tarn_last_error().message.
 * Errors besides: INVALID_POOL.
 * Any thread; others wait meanwhile. Cost: O(regions log regions).
 */
TARN_API tarn_status tarn_pool_check(tarn_pool *pool);

typedef enum tarn_dump_format {
    TARN_DUMP_FORMAT_TEXT = 0, /* for people: one line a region */
    TARN_DUMP_FORMAT_JSON = 1  /* for programs: {"tarn_dump": 1, "static_pools": [...], ...} */
} tarn_dump_format;

/*
 * Writes a map of the pool to `file`: its statistics, its static pools, and every region of them in
 * address order: live, free, or, in a contiguous pool, unmapped. The picture is of one instant, copied under the lock and written without it.
 * Errors: INVALID_POOL; INVALID_ARGUMENT for a NULL file, an unknown format, or a file that does
 * not take the text; OUT_OF_HOST_MEMORY when the copy finds no room.
 * Any thread. Cost: O(regions).
 */
TARN_API tarn_status tarn_pool_dump(tarn_pool *pool, tarn_dump_format format, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
