/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* comparison: the table that shows what the runs did and what each spent. */
#ifndef COMPARISON_H
#define COMPARISON_H

#include <stdbool.h>

#include "run.h"

/* The runs, at least one; is_made and run are indexed by enum array_source. */
struct comparison {
    struct run_options options;
    bool is_made[ARRAY_SOURCE_COUNT];
    struct run run[ARRAY_SOURCE_COUNT];
};

bool comparison_is_complete(const struct comparison *comparison);

void comparison_print(const struct comparison *comparison);

#endif
