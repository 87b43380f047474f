/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * dump: a pool's map as text or JSON. Copies the map under the pool's lock and writes it without, because the
 * file may be a slow terminal.
 *
 * Threads: any, with no lock held. Cost: O(regions), and 40 bytes of host memory a region during the call.
 */
#ifndef TN_DUMP_H
#define TN_DUMP_H

#include "../pool/pool.h"

/* As tarn_pool_dump. */
tarn_status tn_dump_pool(struct tarn_pool *pool, tarn_dump_format format, FILE *file);

#endif
