/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* assert: the end of the road for a condition that cannot be false. */
#include "assert.h"

#include <stdio.h>
#include <stdlib.h>

void tn_assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: this must hold: %s\n", file, line, condition);
    abort();
}
