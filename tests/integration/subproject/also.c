/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* also: a second file that includes what program.c does, and the rest. */
#include <tarn/debug.h>
#include <tarn/record.h>
#include <tarn/tarn.h>

#if TARN_VERSION < 100
#error "a macro of the headers is not what it says"
#endif
