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
    double a = ((const struct tn_weighted *)left)->value;
    double b = ((const struct tn_weighted *)right)->value;
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
    struct tn_percentiles result = { 0 };
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

static double sum_weights(const struct tn_weighted *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += values[i].weight;
    return sum;
}

/* Of sorted values that have so much weight together. */
static double find_median(const struct tn_weighted *values, size_t count, double all)
{
    double before = 0.0;
    size_t i = 0;
    while (i + 1 < count && 2.0 * (before + values[i].weight) < all)
        before += values[i++].weight;
    if (2.0 * (before + values[i].weight) > all) return values[i].value;
    size_t next = i + 1;
    while (next + 1 < count && values[next].weight <= 0.0)
        next++;
    return next < count ? (values[i].value + values[next].value) / 2.0 : values[i].value;
}

struct tn_spread tn_spread_compute(struct tn_weighted *values, size_t count)
{
    struct tn_spread spread = { 0.0, 0.0, 0.0 };
    if (count == 0) return spread;
    qsort(values, count, sizeof values[0], compare_values);
    double all = sum_weights(values, count);
    for (size_t i = 0; i < count && all <= 0.0; i++)
        values[i].weight = 1.0;
    spread.min = values[0].value;
    spread.median = find_median(values, count, sum_weights(values, count));
    spread.max = values[count - 1].value;
    return spread;
}
