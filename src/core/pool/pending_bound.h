/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pending_bound: a bound on the memory of unnamed frees whose work is not done.
 *
 *     host     free x   free y   free z  ╌╌╌╌╌ waits ╌╌╌╌╌┐
 *     events        ●        ●        ●                   │      x, y and z are more than pending_factor_max times the
 *     device   ─────── k(x) ─────────────────────────────►●      bytes in use
 *
 * An allocation waits before the pool grows, if the waiting memory would serve it. That is too late where small requests
 * have been cut from large regions, because the small regions waited. So the frees wait, and only those that record.
 *
 * Requires: growth_lock, which is let go during a wait. Threads: any.
 */
#ifndef TN_PENDING_BOUND_H
#define TN_PENDING_BOUND_H

#include "../serve/pool_struct.h"

/* After an unnamed free: if it has recorded, waits for the oldest records while more memory is under way than
 * pending_factor_max allows, and the pool holds more than it needs. It waits for a record some 50 ms at most, once: the
 * work may wait for the thread's next call. Cost: a few tens of nanoseconds, if it does not wait. */
void tn_pending_bound_keep(struct tarn_pool *pool);

#endif
