/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* json_report: the runs as a file in the form of tarn-bench's results. */
#include "json_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        if ((unsigned char)*text >= ' ') fputc(*text, file);
    }
    fputc('"', file);
}

static void write_machine(FILE *file, const char *backend_name,
                          const tarn_device_properties *properties)
{
    fprintf(file,
            "  \"machine\": {\"tarn_version\": \"%d.%d.%d\", \"backend\": ", TARN_VERSION_MAJOR,
            TARN_VERSION_MINOR, TARN_VERSION_PATCH);
    write_text(file, backend_name);
    fputs(", \"device_name\": ", file);
    write_text(file, properties->device_name);
    fputs("},\n", file);
}

/* "8M", "100K" or bytes. */
static void write_size(FILE *file, size_t bytes)
{
    if (bytes % (1 << 20) == 0) {
        fprintf(file, "%zuM", bytes >> 20);
    } else if (bytes % (1 << 10) == 0) {
        fprintf(file, "%zuK", bytes >> 10);
    } else {
        fprintf(file, "%zu", bytes);
    }
}

static void write_run(FILE *file, enum array_source source, const struct comparison *comparison)
{
    const struct run_options *options = &comparison->options;
    const struct run *run = &comparison->run[source];
    const struct array_statistics *statistics = &run->statistics;
    fprintf(
        file,
        "    {\"bench\": \"adapt\", \"workload\": \"%d steps of depth %d with a first piece of ",
        options->step_count, options->depth);
    write_size(file, options->initial_bytes ? options->initial_bytes : TARN_INITIAL_BYTES_DEFAULT);
    fprintf(file,
            "\", \"allocator\": \"%s\", \"threads\": 1, \"streams\": 1, \"pairs\": %" PRIu64 ",\n",
            comparison_source_name(source), statistics->alloc_count);
    fprintf(file,
            "     \"ns_per_pair\": %.1f, \"program_ns\": %" PRId64 ", \"pool_ns\": %" PRId64
            ", \"transfer_ns\": %" PRId64 ",\n",
            comparison_pair_ns(run), run->total_ns, statistics->pool_ns, statistics->transfer_ns);
    fprintf(file,
            "     \"repetitions\": 1, \"peak_live_bytes\": %zu, \"peak_live_count\": %zu, "
            "\"peak_footprint_bytes\": %zu, \"vendor_calls\": %" PRIu64
            ", \"failures\": 0, \"verified\": true}",
            statistics->live_bytes_max, statistics->live_count_max, statistics->footprint_bytes_max,
            statistics->vendor_count);
}

static void write_runs(FILE *file, const struct comparison *comparison)
{
    const char *separator = "";
    fputs("  \"results\": [\n", file);
    for (int source = 0; source < ARRAY_SOURCE_COUNT; source++) {
        if (!comparison->is_made[source]) continue;
        fputs(separator, file);
        write_run(file, (enum array_source)source, comparison);
        separator = ",\n";
    }
    fputs("\n  ]\n", file);
}

void json_report_write(const char *path, const char *backend_name,
                       const tarn_device_properties *properties,
                       const struct comparison *comparison)
{
    FILE *file = fopen(path, "wx");
    if (!file) fail("%s: cannot be written: %s", path, strerror(errno));
    fputs("{\n  \"tarn_bench\": 1,\n", file);
    write_machine(file, backend_name, properties);
    write_runs(file, comparison);
    fputs("}\n", file);
    bool is_written = !ferror(file);
    if (fclose(file) != 0 || !is_written) fail("%s: cannot be written: %s", path, strerror(errno));
}
