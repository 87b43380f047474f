/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For a program that has the library as its users have it: what is within is out of its reach. */
#include "harness/want_arenas.h"

void want_arenas(tarn_pool *pool)
{
}
