/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * dump: a pool's map as text or JSON. Copies under the pool's lock, writes without it: the file may
 * be a slow terminal.
 *
 * Threads: any. Cost: O(regions), and 24 bytes of host memory a region meanwhile.
 */
#ifndef TN_DUMP_H
#define TN_DUMP_H

#include "../pool/pool.h"

tarn_status tn_dump_pool(struct tarn_pool *pool, tarn_dump_format format, FILE *file);

#endif
