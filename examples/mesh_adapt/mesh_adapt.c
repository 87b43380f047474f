/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * mesh_adapt: a small mesh code that is run twice, once with the vendor's own calls and once with
 * tarn, and prints what each run spent on allocation.
 *
 * A circle moves across a triangulated square; the mesh is refined where it arrives and coarsened
 * where it has been. After every step mesh, fields and device arrays are checked, and both runs
 * must end with the very same numbers.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tarn/tarn.h>

#include "comparison.h"
#include "device_array.h"
#include "json_report.h"
#include "run.h"
#include "support.h"

/* --- options -------------------------------------------------------------------------------- */

enum {
    STEP_COUNT_DEFAULT = 60,
    STEP_COUNT_MAX = 1000000,
    STEP_COUNT_WARM_UP = 5,
    DEPTH_DEFAULT = 18,
    DEPTH_MAX = 30 /* some two million triangles */
};

static const struct argp_option option_table[] = {
    { "steps", 's', "N", 0, "positions of the front (default 60)", 0 },
    { "depth", 'd', "N", 0, "most bisections of a triangle, 1 to 30 (default 18)", 0 },
    { "allocator", 'a', "NAME", 0, "tarn, raw (the vendor's own calls), or both (default)", 0 },
    { "initial", 'i', "SIZE", 0, "the pool's first piece, with the suffix K, M or G (default 8M)",
      0 },
    { "json", 'j', "FILE", 0, "write the results to FILE as well, for tarn-report", 0 },
    { 0 },
};

struct parsed {
    struct comparison comparison;
    const char *json_path; /* NULL: none */
};

static int32_t parse_number(struct argp_state *state, const char *name, const char *text,
                            int32_t max)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > max) {
        argp_error(state, "--%s is '%s', not a number from 1 to %d", name, text, max);
    }
    return (int32_t)value;
}

static void parse_allocator(struct argp_state *state, bool *is_made, const char *text)
{
    bool is_both = strcmp(text, "both") == 0;
    is_made[ARRAY_SOURCE_RAW] = is_both || strcmp(text, "raw") == 0;
    is_made[ARRAY_SOURCE_TARN] = is_both || strcmp(text, "tarn") == 0;
    if (!is_made[ARRAY_SOURCE_RAW] && !is_made[ARRAY_SOURCE_TARN]) {
        argp_error(state, "--allocator is '%s', not tarn, raw or both", text);
    }
}

static size_t parse_size(struct argp_state *state, const char *name, const char *text)
{
    static const char suffixes[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
    int shift = suffix ? 10 * (int)(suffix - suffixes + 1) : 0;
    if (suffix) end++;
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || value == 0 ||
        value > SIZE_MAX >> shift) {
        argp_error(state, "--%s is '%s', not a size such as 100K or 700M", name, text);
    }
    return (size_t)value << shift;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct parsed *parsed = state->input;
    struct comparison *comparison = &parsed->comparison;
    switch (key) {
    case 's':
        comparison->options.step_count = parse_number(state, "steps", text, STEP_COUNT_MAX);
        return 0;
    case 'd':
        comparison->options.depth = parse_number(state, "depth", text, DEPTH_MAX);
        return 0;
    case 'a':
        parse_allocator(state, comparison->is_made, text);
        return 0;
    case 'i':
        comparison->options.initial_bytes = parse_size(state, "initial", text);
        return 0;
    case 'j':
        parsed->json_path = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = parse_option,
    .doc = "Adapts a triangle mesh to a moving front and compares tarn with the vendor's calls.",
};

/* --- main ----------------------------------------------------------------------------------- */

static tarn_backend open_backend(void)
{
    tarn_backend backend;
    tarn_status status = tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend);
    if (status != TARN_STATUS_OK) {
        fail("backend %s: %s: %s", tarn_backend_name(), tarn_status_name(status),
             tarn_last_error().message);
    }
    return backend;
}

static tarn_device_properties get_properties(const tarn_backend *backend)
{
    tarn_device_properties properties;
    tarn_backend_result result = backend->operations->get_properties(backend->state, &properties);
    if (result.status != TARN_STATUS_OK) {
        fail("the device's properties: %s", tarn_status_sentence(result.status));
    }
    return properties;
}

/* Keeps the device's first use and the C library's first growth out of both runs. */
static void warm_up(const tarn_backend *backend, const struct run_options *options)
{
    bool is_short = options->step_count < STEP_COUNT_WARM_UP;
    run_steps(backend, ARRAY_SOURCE_RAW, options,
              is_short ? options->step_count : STEP_COUNT_WARM_UP);
}

static void make_runs(struct comparison *comparison, const tarn_backend *backend)
{
    const struct run_options *options = &comparison->options;
    for (int source = 0; source < ARRAY_SOURCE_COUNT; source++) {
        if (comparison->is_made[source]) {
            comparison->run[source] =
                run_steps(backend, (enum array_source)source, options, options->step_count);
        }
    }
}

int main(int argc, char **argv)
{
    struct parsed parsed = {
        .comparison = { .options = { .step_count = STEP_COUNT_DEFAULT, .depth = DEPTH_DEFAULT },
                        .is_made = { true, true } },
    };
    argp_parse(&argp, argc, argv, 0, NULL, &parsed);
    struct comparison *comparison = &parsed.comparison;

    tarn_backend backend = open_backend();
    tarn_device_properties properties = get_properties(&backend);
    printf("tarn-mesh-adapt on %s (backend %s)\n", properties.device_name,
           backend.operations->name);
    warm_up(&backend, &comparison->options);
    make_runs(comparison, &backend);

    if (comparison_is_complete(comparison)) {
        run_expect_same_result(&comparison->run[ARRAY_SOURCE_RAW],
                               &comparison->run[ARRAY_SOURCE_TARN]);
    }
    comparison_print(comparison);
    if (parsed.json_path) {
        json_report_write(parsed.json_path, tarn_backend_name(), &properties, comparison);
    }
    tarn_backend_close(&backend); /* the properties' texts end here */
    return EXIT_SUCCESS;
}
