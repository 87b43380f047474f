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

/* The name of a source of memory, as in the table. */
const char *comparison_source_name(enum array_source source);

/* The time of a pair of calls, without the clock and without the pool's creation and end. */
double comparison_pair_ns(const struct run *run);

bool comparison_is_complete(const struct comparison *comparison);

void comparison_print(const struct comparison *comparison);

#endif
