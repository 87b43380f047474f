/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* assert: reports the failed condition and aborts. */
#include "assert.h"

#include <stdio.h>
#include <stdlib.h>

void tn_assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: this must hold: %s\n", file, line, condition);
    abort();
}
