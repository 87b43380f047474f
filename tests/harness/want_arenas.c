/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "harness/want_arenas.h"

#include "core/pool_arenas.h"

void want_arenas(tarn_pool *pool)
{
    tn_pool_lock_as_it_is(pool);
    (void)tn_arenas_want(pool);
    tn_pool_unlock(pool);
}
