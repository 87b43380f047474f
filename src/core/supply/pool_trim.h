/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_trim: gives memory back to the vendor when the program asks for it, and after a free.
 *
 * After a free, nothing happens while another thread grows or trims the pool: a free never waits for another
 * thread's vendor call, because that call may wait for something that the freeing thread has yet to do.
 *
 * Threads: any, with no lock held. Cost: that of the vendor's calls.
 */
#ifndef TN_POOL_TRIM_H
#define TN_POOL_TRIM_H

#include "../serve/pool_struct.h"

/* As tarn_pool_trim. */
tarn_status tn_pool_trim(struct tarn_pool *pool, size_t keep_bytes, size_t *released_bytes_out);

/* If a free has made memory that the options let go, gives it back. A piece that the vendor refuses is counted, and
 * tried again at the next trim or growth. */
void tn_pool_release_after_free(struct tarn_pool *pool);

/* Gives back what a capture of the process has put off. */
void tn_pool_release_put_off(struct tarn_pool *pool);

/* In a pool that passes through: gives back free memory that a capture has held. */
void tn_pool_release_freed(struct tarn_pool *pool);

#endif
