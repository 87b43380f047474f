/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* percentiles: what a set of measurements looks like. */
#include "percentiles.h"

#include <stdlib.h>

static int compare_samples(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static int compare_values(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The nearest rank, counted from 0, of so many thousandths. */
static size_t rank_of(size_t count, size_t thousandths)
{
    size_t whole = count / 1000 * thousandths;
    size_t rest = (count % 1000 * thousandths + 999) / 1000;
    return whole + rest - 1;
}

struct tn_percentiles tn_percentiles_compute(uint64_t *samples, size_t count)
{
    struct tn_percentiles result = { 0, 0, 0, 0, 0.0 };
    if (count == 0) return result;
    qsort(samples, count, sizeof samples[0], compare_samples);

    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += (double)samples[i];
    result.p50 = samples[rank_of(count, 500)];
    result.p99 = samples[rank_of(count, 990)];
    result.p999 = samples[rank_of(count, 999)];
    result.max = samples[count - 1];
    result.mean = sum / (double)count;
    return result;
}

struct tn_spread tn_spread_compute(double *values, size_t count)
{
    struct tn_spread spread = { 0.0, 0.0, 0.0 };
    if (count == 0) return spread;
    qsort(values, count, sizeof values[0], compare_values);
    spread.min = values[0];
    spread.median = (values[(count - 1) / 2] + values[count / 2]) / 2.0;
    spread.max = values[count - 1];
    return spread;
}
