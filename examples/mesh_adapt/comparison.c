/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* comparison: the table of what the runs did and what each spent. */
#include "comparison.h"

#include <inttypes.h>
#include <stdio.h>

#include "support.h"

static const char *const source_names[ARRAY_SOURCE_COUNT] = { "raw", "tarn" };

const char *comparison_source_name(enum array_source source)
{
    return source_names[source];
}

bool comparison_is_complete(const struct comparison *comparison)
{
    return comparison->is_made[ARRAY_SOURCE_RAW] && comparison->is_made[ARRAY_SOURCE_TARN];
}

/* --- the figures ---------------------------------------------------------------------------- */

static double pool_ms(const struct run *run)
{
    return (double)run->statistics.pool_ns * 1e-6;
}

static double array_ms(const struct run *run)
{
    return (double)(run->statistics.alloc_ns + run->statistics.free_ns) * 1e-6 + pool_ms(run);
}

static double clock_ms(const struct run *run)
{
    uint64_t call_count = run->statistics.alloc_count + run->statistics.free_count;
    return (double)call_count * (double)run->clock_cost_ns * 1e-6;
}

double comparison_pair_ns(const struct run *run)
{
    double calls_ms = array_ms(run) - pool_ms(run) - clock_ms(run);
    return calls_ms * 1e6 / (double)run->statistics.alloc_count;
}

static double transfer_ms(const struct run *run)
{
    return (double)run->statistics.transfer_ns * 1e-6;
}

static double total_ms(const struct run *run)
{
    return (double)run->total_ns * 1e-6;
}

static double rest_ms(const struct run *run)
{
    return total_ms(run) - array_ms(run) - transfer_ms(run);
}

static double held_mib(const struct run *run)
{
    return (double)run->statistics.footprint_bytes_max / (1 << 20);
}

static double vendor_calls(const struct run *run)
{
    return (double)run->statistics.vendor_count;
}

/* --- the table ------------------------------------------------------------------------------ */

/* A row has a figure for each run, and the ratio of the vendor's calls to tarn where that is meaningful. */
struct row {
    const char *label;
    double (*figure)(const struct run *run);
    int decimals;
    bool has_ratio;
};

static const struct row rows[] = {
    { "allocating and freeing, ms", array_ms, 3, true },
    { "  the pool's creation and end, ms", pool_ms, 3, false },
    { "  reading the clock, ms", clock_ms, 3, false },
    { "  a pair, without these, ns", comparison_pair_ns, 0, true },
    { "  calls that reached the vendor", vendor_calls, 0, false },
    { "  held from the vendor at most, MiB", held_mib, 1, false },
    { "copying and waiting, ms", transfer_ms, 1, true },
    { "mesh and checks on the host, ms", rest_ms, 1, true },
    { "total, ms", total_ms, 1, true },
};

static void print_head(const struct comparison *comparison)
{
    printf("\n  %-36s", "");
    for (int source = 0; source < ARRAY_SOURCE_COUNT; source++) {
        if (comparison->is_made[source]) printf("%12s", source_names[source]);
    }
    puts(comparison_is_complete(comparison) ? "    raw/tarn" : "");
}

static void print_row(const struct row *row, const struct comparison *comparison)
{
    printf("  %-36s", row->label);
    for (int source = 0; source < ARRAY_SOURCE_COUNT; source++) {
        if (comparison->is_made[source]) {
            printf("%12.*f", row->decimals, row->figure(&comparison->run[source]));
        }
    }
    if (row->has_ratio && comparison_is_complete(comparison)) {
        printf("%12.2f", row->figure(&comparison->run[ARRAY_SOURCE_RAW]) /
                             row->figure(&comparison->run[ARRAY_SOURCE_TARN]));
    }
    putchar('\n');
}

/* Prints which part of the program holds the pool's memory, and when. */
static void print_peaks(const struct array_statistics *statistics)
{
    printf("\n  %-36s%12s%12s\n", "live at most, KiB", "refining", "coarsening");
    for (size_t i = 0; i < statistics->peak_count; i++) {
        const struct array_peak *peak = &statistics->peaks[i];
        printf("  %-36s%12.1f%12.1f\n", peak->label,
               (double)peak->live_bytes_max[ARRAY_PHASE_REFINE] / 1024,
               (double)peak->live_bytes_max[ARRAY_PHASE_COARSEN] / 1024);
    }
}

/* Prints what is equal in all runs. */
static void print_workload(const struct run *run, const struct run_options *options)
{
    const struct array_statistics *statistics = &run->statistics;
    printf("  steps %d, passes %" PRIu64 ", depth %d, triangles %d to %d\n", options->step_count,
           run->pass_count, options->depth, run->triangle_count_min, run->triangle_count_max);
    printf("  arrays allocated %" PRIu64 " (%" PRIu64
           " of zero bytes), at most %zu live, %.1f MiB\n",
           statistics->alloc_count, statistics->zero_count, statistics->live_count_max,
           (double)statistics->live_bytes_max / (1 << 20));
}

void comparison_print(const struct comparison *comparison)
{
    enum array_source any =
        comparison->is_made[ARRAY_SOURCE_RAW] ? ARRAY_SOURCE_RAW : ARRAY_SOURCE_TARN;
    print_workload(&comparison->run[any], &comparison->options);
    print_head(comparison);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        print_row(&rows[i], comparison);
    }
    if (comparison->is_made[ARRAY_SOURCE_TARN]) {
        print_peaks(&comparison->run[ARRAY_SOURCE_TARN].statistics);
    }
    printf("\n  verified after each of %d steps: area 1, conforming, V - E + T = 1, linear field\n"
           "  exact, device arrays equal the host's%s\n",
           comparison->options.step_count,
           comparison_is_complete(comparison) ? "; both runs gave the same result" : "");
}
