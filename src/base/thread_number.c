/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* thread_number: a thread gets its number at its first call. */
#include "thread_number.h"

#include <stdatomic.h>

static _Atomic uint64_t last_number;
static _Thread_local uint64_t number;

uint64_t tn_thread_number(void)
{
    if (number == 0) number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    return number;
}
