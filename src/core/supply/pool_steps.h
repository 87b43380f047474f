/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_steps: the steps of a contiguous pool: maps the steps that a request misses, and unmaps free ones.
 *
 *     taken (a void, in transit) ── mapped ──► the user is told ── insert ──► free
 *     free ── taken ──► the user is told ─┬─ unmapped ──► may be mapped again
 *                                         └─ refused ──► unmapped later, or free again
 *
 * A step counts as footprint from map to unmap.
 *
 * Requires: growth_lock, which is let go while the user is told; exceptions are said below. The functions
 * take the pool's lock themselves, and call the vendor without it. Cost: that of the vendor's calls.
 */
#ifndef TN_POOL_STEPS_H
#define TN_POOL_STEPS_H

#include "pool_backing.h"

/* Reserves the addresses of a contiguous pool, before another thread knows the pool. Takes growth_lock
 * itself. Errors, reported: NOT_SUPPORTED, INVALID_OPTIONS, OUT_OF_MEMORY (no addresses), OUT_OF_HOST_MEMORY,
 * VENDOR_ERROR. */
tarn_status tn_pool_reserve_range(struct tarn_pool *pool, const tarn_pool_options *options);

/* Maps the steps that a request misses, and as many as the options ask for at first. Tells the user. The
 * caller must insert the plan. Returns a status that tn_pool_acquire may return. After OVER_LIMIT and OUT_OF_MEMORY,
 * the plan has only missing_count; 0: the range has no place for the request. gathers: the place may hold what arenas have
 * free; else they keep what they have. */
tarn_backend_result tn_pool_map_steps(struct tarn_pool *pool, const struct tn_request *request,
                                      bool gathers, struct tn_step_plan *plan_out);

/* Maps the steps that a request misses within the slack for streams, see growth.h, and nothing more. Returns what
 * tn_pool_map_steps returns; OVER_LIMIT: the slack does not allow it, or the backend has refused a step, and since then
 * none has gone back or come otherwise. */
tarn_backend_result tn_pool_map_slack_steps(struct tarn_pool *pool,
                                            const struct tn_request *request,
                                            struct tn_step_plan *plan_out);

/* Makes the steps free, and makes one region of the planned place, unless another thread has taken part of
 * it. Also requires the pool's lock, and the arenas gathered if they were for the plan. */
void tn_pool_insert_steps(struct tarn_pool *pool, const struct tn_request *request,
                          const struct tn_step_plan *plan);

/* Exports the step of a shareable pool that an address lies in. Takes growth_lock itself. Errors: NOT_LIVE,
 * not reported: the program has no memory there; VENDOR_ERROR, OUT_OF_MEMORY and OUT_OF_HOST_MEMORY,
 * reported. */
tarn_status tn_pool_export(struct tarn_pool *pool, const void *address,
                           tarn_exported_step *step_out);

/* Makes the steps free that the vendor has refused to unmap, and that no work uses. Tells the user. False: there are
 * none. */
bool tn_pool_take_refused_steps_back(struct tarn_pool *pool);

/* Unmaps what the vendor has refused before, and then wholly free steps by the rule, the highest first. */
struct tn_giving_back tn_pool_release_free_steps(struct tarn_pool *pool,
                                                 const struct tn_release_rule *rule);

/* Lets the program touch all mapped steps again. Requires no lock, at the end of the pool. */
void tn_pool_allow_steps(const struct tarn_pool *pool);

/* Tells the user that all steps go, at the end of the pool. */
void tn_pool_tell_steps_end(struct tarn_pool *pool);

/* Unmaps everything and releases the addresses, at the end of the pool. */
void tn_pool_release_range(struct tarn_pool *pool);

#endif
