/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* option_values: the values of options, from their texts. */
#include "option_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tarn/tarn.h"

enum {
    TIME_SECONDS_MAX = 3600
};

uint64_t tn_option_parse_one(struct argp_state *state, const char *name, const char *text,
                             tn_number_parser parse, uint64_t min, uint64_t max)
{
    struct tn_number_list list = { 0, { 0 } };
    struct tn_reason reason;
    if (!tn_number_list_parse(text, parse, min, max, &list, &reason))
        argp_error(state, "--%s %s: %s", name, text, reason.text);
    if (list.count != 1) argp_error(state, "--%s %s: takes one number", name, text);
    return list.values[0];
}

void tn_option_parse_list(struct argp_state *state, const char *name, const char *text,
                          tn_number_parser parse, uint64_t max, struct tn_number_list *list_out)
{
    struct tn_reason reason;
    if (!tn_number_list_parse(text, parse, 1, max, list_out, &reason))
        argp_error(state, "--%s %s: %s", name, text, reason.text);
}

void tn_option_parse_size_range(struct argp_state *state, const char *text,
                                struct tn_number_list *list_out)
{
    tn_option_parse_list(state, "size-range", text, tn_size_parse, TN_SIZE_BYTES_MAX, list_out);
    if (list_out->count != 2 || list_out->values[0] > list_out->values[1])
        argp_error(state, "--size-range %s: takes two sizes, the smaller first", text);
}

/* A number in decimal, with a point or an exponent. */
static bool parse_real(const char *text, double *value_out)
{
    if (*text < '0' || *text > '9' || text[strspn(text, "0123456789.eE+-")] != '\0') return false;
    char *end;
    *value_out = strtod(text, &end);
    return *end == '\0';
}

double tn_option_parse_time(struct argp_state *state, const char *text)
{
    double seconds = 0.0;
    if (!parse_real(text, &seconds))
        argp_error(state, "--time %s: '%s' is not a number", text, text);
    if (!(seconds > 0.0 && seconds <= TIME_SECONDS_MAX))
        argp_error(state, "--time %s: must be above 0 and at most %d seconds", text,
                   TIME_SECONDS_MAX);
    return seconds;
}

double tn_option_parse_share(struct argp_state *state, const char *text)
{
    double share = 0.0;
    if (!parse_real(text, &share) || !(share >= 0.0 && share <= TARN_STREAM_SLACK_MAX))
        argp_error(state, "--stream-slack %s: must be a share from 0 to %d, such as 0.25", text,
                   TARN_STREAM_SLACK_MAX);
    return share;
}

double tn_option_parse_speed(struct argp_state *state, const char *text)
{
    if (strcmp(text, "max") == 0) return 0.0;
    if (strcmp(text, "as-recorded") == 0) return 1.0;
    double factor = 0.0;
    if (!parse_real(text, &factor) || !(factor >= 0.001 && factor <= 1000.0))
        argp_error(state, "--speed %s: is max, as-recorded, or a factor from 0.001 to 1000", text);
    return factor;
}

enum tn_order tn_option_parse_order(struct argp_state *state, const char *text)
{
    if (strcmp(text, "strict") != 0 && strcmp(text, "depends") != 0)
        argp_error(state, "--order %s: is strict or depends", text);
    return strcmp(text, "strict") == 0 ? TN_ORDER_STRICT : TN_ORDER_DEPENDS;
}

size_t tn_option_parse_touch(struct argp_state *state, const char *text)
{
    if (!text) return SIZE_MAX;
    return (size_t)tn_option_parse_one(state, "touch", text, tn_size_parse, 1, TN_SIZE_BYTES_MAX);
}

static uint32_t parse_name(struct argp_state *state, const char *option, const char *name,
                           const char *const *known)
{
    char all[160] = "";
    for (size_t i = 0, length = 0; known[i]; i++) {
        if (strcmp(known[i], name) == 0) return (uint32_t)1 << i;
        length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", i > 0 ? ", " : "",
                                   known[i]);
    }
    argp_error(state, "--%s: there is no '%s'; there are %s", option, name, all);
    return 0;
}

uint32_t tn_option_parse_names(struct argp_state *state, const char *option, const char *text,
                               const char *const *known)
{
    char *names = strdup(text);
    if (!names) argp_error(state, "--%s: there is no host memory for the list", option);
    uint32_t bits = 0;
    char *rest = names;
    for (const char *name; (name = strsep(&rest, ","));) {
        uint32_t bit = parse_name(state, option, name, known);
        if (bits & bit) argp_error(state, "--%s: '%s' is named twice", option, name);
        bits |= bit;
    }
    free(names);
    return bits;
}

static bool is_in_list(const struct tn_options *options, const struct tn_allocator *allocator)
{
    for (size_t i = 0; i < options->allocator_count; i++)
        if (options->allocators[i] == allocator) return true;
    return false;
}

static void add_allocator(struct argp_state *state, struct tn_options *options, const char *name)
{
    const struct tn_allocator *allocator = tn_allocator_find(name);
    if (!allocator)
        argp_error(state,
                   "--allocator: there is no allocator '%s'; 'tarn-bench allocators' lists those "
                   "that there are",
                   name);
    if (is_in_list(options, allocator)) argp_error(state, "--allocator: '%s' is named twice", name);
    options->allocators[options->allocator_count++] = allocator;
}

void tn_option_parse_allocators(struct argp_state *state, const char *text,
                                struct tn_options *options)
{
    char *names = strdup(text);
    if (!names) argp_error(state, "--allocator: there is no host memory for the list");
    options->allocator_count = 0;
    char *rest = names;
    for (const char *name; (name = strsep(&rest, ","));)
        add_allocator(state, options, name);
    free(names);
}
