/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run: the front's way across the square, with arrays from one source, checked at every step. */
#include "run.h"

#include <inttypes.h>

#include "adapt.h"
#include "front.h"
#include "mesh_check.h"
#include "support.h"

static void check_step(struct adaptation *adaptation, struct run *run)
{
    const struct mesh_tables *tables = &adaptation->tables;
    mesh_check_device(tables, adaptation->space);
    mesh_check_area(tables);
    mesh_check_conforming(tables);
    mesh_check_linear_field(tables);

    run->integral_sum += mesh_integral(tables);
    if (tables->triangle_count < run->triangle_count_min) {
        run->triangle_count_min = tables->triangle_count;
    }
    if (tables->triangle_count > run->triangle_count_max) {
        run->triangle_count_max = tables->triangle_count;
    }
}

struct run run_steps(const tarn_backend *backend, enum array_source source,
                     const struct run_options *options, int32_t steps_run)
{
    struct run run = { .triangle_count_min = INT32_MAX };
    int64_t begin_ns = clock_ns();
    struct array_space space;
    struct adaptation adaptation;
    array_space_init(&space, backend, source, options->initial_bytes);
    adaptation_init(&adaptation, &space, options->depth);
    for (int32_t step = 0; step < steps_run; step++) {
        struct front front = front_at_step(step, options->step_count);
        adaptation_step(&adaptation, &front);
        check_step(&adaptation, &run);
    }
    run.pass_count = adaptation.pass_count;
    adaptation_fini(&adaptation);
    array_space_fini(&space);
    run.total_ns = clock_ns() - begin_ns;
    run.statistics = space.statistics;
    run.clock_cost_ns = clock_cost_ns();
    return run;
}

void run_expect_same_result(const struct run *raw, const struct run *tarn)
{
    if (raw->integral_sum != tarn->integral_sum || raw->pass_count != tarn->pass_count ||
        raw->statistics.alloc_count != tarn->statistics.alloc_count) {
        fail("the runs differ: integrals %.17g and %.17g, passes %" PRIu64 " and %" PRIu64
             ", arrays %" PRIu64 " and %" PRIu64,
             raw->integral_sum, tarn->integral_sum, raw->pass_count, tarn->pass_count,
             raw->statistics.alloc_count, tarn->statistics.alloc_count);
    }
}
