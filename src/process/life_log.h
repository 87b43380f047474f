/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * life_log: messages about the beginning and end of pools.
 *
 * Threads: any, with no lock held. Cost: a query of the backend's properties, which the backend keeps; formatting.
 */
#ifndef TN_LIFE_LOG_H
#define TN_LIFE_LOG_H

#include "../core/serve/pool_log.h"

/* Tell that a pool was created, on a backend or over the caller's memory. `options` are complete. */
void tn_life_log_created(const struct tarn_pool *pool, const tarn_pool_options *options);
void tn_life_log_created_over(const struct tarn_pool *pool, const void *address, size_t size_bytes);

/* Calls the pool the process-wide pool from now on, and tells so. */
void tn_life_log_name_process_wide(struct tarn_pool *pool);

/* Tells that a pool has ended, with what it was before. `how`: "destroyed", for example. */
void tn_life_log_ended(const struct tn_pool_title *title, const tarn_stats *stats, const char *how);

#endif
