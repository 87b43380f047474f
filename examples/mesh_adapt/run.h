/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run: the front's way across the square, with arrays from one source, checked at every step. */
#ifndef RUN_H
#define RUN_H

#include <stdint.h>

#include <tarn/tarn.h>

#include "device_array.h"

struct run_options {
    int32_t step_count;   /* positions of the front, from one side of the square to the other */
    int32_t depth;        /* most bisections of a triangle */
    size_t initial_bytes; /* the pool's first piece; 0: its default */
};

struct run {
    struct array_statistics statistics;
    int64_t total_ns;      /* including the checks */
    int64_t clock_cost_ns; /* of one reading of the clock */
    uint64_t pass_count;
    int32_t triangle_count_min; /* at the end of a step */
    int32_t triangle_count_max;
    double integral_sum; /* of the solution, over all steps: the run's fingerprint */
};

/* Runs the first steps_run steps of the way. A fault ends the program with a message. */
struct run run_steps(const tarn_backend *backend, enum array_source source,
                     const struct run_options *options, int32_t steps_run);

/* Two runs with the same options must agree to the last bit, wherever their memory came from. */
void run_expect_same_result(const struct run *raw, const struct run *tarn);

#endif
