/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* want_arenas: brings arenas and mailboxes where threads would have to crowd a pool for them. */
#ifndef WANT_ARENAS_H
#define WANT_ARENAS_H

#include "tarn/tarn.h"

/* From now on threads have arenas in the pool, until what gathers them finds that they do not pay; and what they free
 * of each other's they post. */
void want_arenas(tarn_pool *pool);

#endif
