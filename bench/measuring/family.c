/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* family: the results of one allocator on the draws of a family as one. */
#include "family.h"

#include <stdlib.h>

static double held_by_live_of(const struct tn_result *result)
{
    return (double)result->usage.footprint_bytes_max / (double)result->live_bytes_max;
}

static double held_by_peak_of(const struct tn_result *result)
{
    return result->held_by_peak_max;
}

static double vendor_calls_of(const struct tn_result *result)
{
    return (double)result->usage.vendor_calls;
}

static double pair_ns_of(const struct tn_result *result)
{
    return result->pair_ns.median;
}

static double alloc_p999_ns_of(const struct tn_result *result)
{
    return (double)result->alloc_ns.p999;
}

size_t tn_family_count_draws(const struct tn_workload *workloads, size_t count)
{
    size_t draw_count = 1;
    while (workloads[0].family && draw_count < count &&
           workloads[draw_count].family == workloads[0].family)
        draw_count++;
    return draw_count;
}

bool tn_family_summarise(const struct tn_result *results, size_t stride, size_t count,
                         struct tn_family_figures *figures_out)
{
    *figures_out = (struct tn_family_figures){ .measured_count = 0 };
    const struct {
        double (*of)(const struct tn_result *result);
        struct tn_spread *out;
    } figures[] = {
        { held_by_live_of, &figures_out->held_by_live },
        { held_by_peak_of, &figures_out->held_by_peak },
        { vendor_calls_of, &figures_out->vendor_calls },
        { pair_ns_of, &figures_out->pair_ns },
        { alloc_p999_ns_of, &figures_out->alloc_p999_ns },
    };
    struct tn_weighted *values = calloc(count, sizeof values[0]);
    if (!values) return false;
    for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++) {
        size_t measured_count = 0;
        for (size_t i = 0; i < count; i++)
            if (results[i * stride].outcome == TN_OUTCOME_MEASURED)
                values[measured_count++] =
                    (struct tn_weighted){ figures[k].of(&results[i * stride]), 1.0 };
        *figures[k].out = tn_spread_compute(values, measured_count);
        figures_out->measured_count = measured_count;
    }
    free(values);
    return true;
}
