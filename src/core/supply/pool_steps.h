/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_steps: the steps of a contiguous pool: mapping what a request misses, and unmapping what is free.
 *
 *     taken (a void, in transit) ── mapped ──► the user is told ── insert ──► free
 *     free ── taken ──► the user is told ── unmapped ──► may be mapped again
 *
 * A step counts as footprint from when it is mapped to when it is unmapped, as a static pool does.
 *
 * Threads: all of it under growth_lock, which is let go while the user is told; vendor calls are made
 * without `lock`. Cost: that of the vendor's calls.
 */
#ifndef TN_POOL_STEPS_H
#define TN_POOL_STEPS_H

#include "pool_backing.h"

/* Reserves the addresses of a contiguous pool, before anybody else knows it. Errors: NOT_SUPPORTED,
 * INVALID_OPTIONS, OUT_OF_MEMORY (no addresses), OUT_OF_HOST_MEMORY, VENDOR_ERROR. */
tarn_status tn_pool_reserve_range(struct tarn_pool *pool, const tarn_pool_options *options);

/* Maps the steps that a request misses, and as many as options ask for at first, and tells of them. Its status is
 * that of tn_pool_acquire_backing. The plan must be inserted. */
tarn_backend_result tn_pool_map_steps(struct tarn_pool *pool, const struct tn_request *request,
                                      struct tn_step_plan *plan_out);

/* Makes the steps free, and one region of the place that was planned, if nobody has taken of it. Under both
 * locks. */
void tn_pool_insert_steps(struct tarn_pool *pool, const struct tn_request *request,
                          const struct tn_step_plan *plan);

/* Exports the step that an address lies in. NOT_LIVE, without words: it has no memory here that anybody
 * could have; else VENDOR_ERROR, OUT_OF_MEMORY, OUT_OF_HOST_MEMORY. Of a shareable pool; takes growth_lock
 * itself. */
tarn_status tn_pool_export(struct tarn_pool *pool, const void *address,
                           tarn_exported_step *step_out);

/* Unmaps wholly free steps, the highest first. */
struct tn_giving_back tn_pool_release_free_steps(struct tarn_pool *pool,
                                                 const struct tn_release_rule *rule);

/* The program may touch all that is mapped again. */
void tn_pool_allow_steps(const struct tarn_pool *pool);

/* Unmaps everything, and gives up the addresses. At the end of the pool. */
void tn_pool_release_range(struct tarn_pool *pool);

#endif
