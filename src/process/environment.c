/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* environment: a parser for each kind of value, and a table of the variables. One that is unset or empty changes nothing. */
#include "environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arith.h"
#include "../base/error.h"
#include "../base/log.h"
#include "../base/text/size_text.h"
#include "../core/index/free_set.h"

#include "report.h"
#include "variable_names.h"

static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != '\0' ? value : NULL;
}

static tarn_status fail_for(const char *name, const char *value, const char *expected)
{
    return tn_fail(TARN_STATUS_INVALID_ENVIRONMENT, "%s is \"%.40s\", not %s", name, value,
                   expected);
}

/* --- parsers: false, unless the value is one that the table describes ---------------------------------- */

static bool parse_bytes(const char *value, void *bytes)
{
    return tn_size_text_parse_bytes(value, bytes);
}

static bool parse_quarantine(const char *value, void *bytes)
{
    return tn_size_text_parse_bytes(value, bytes) && *(size_t *)bytes > 0;
}

static bool parse_initial(const char *value, void *bytes)
{
    if (strcmp(value, "all") != 0) return tn_size_text_parse_bytes(value, bytes);
    *(size_t *)bytes = TARN_INITIAL_ALL;
    return true;
}

static bool parse_switch(const char *value, void *is_on)
{
    *(bool *)is_on = value[0] == '1';
    return strcmp(value, "0") == 0 || strcmp(value, "1") == 0;
}

/* Every pool reads it. "0" leaves the pool's own wish. */
static bool parse_disable(const char *value, void *passes_through)
{
    bool is_on;
    if (!parse_switch(value, &is_on)) return false;
    if (is_on) *(bool *)passes_through = true;
    return true;
}

/* Sets the options that the preset is about, whatever they were. The variables of single options are read later. */
static bool parse_preset(const char *value, void *options_of_pool)
{
    const tarn_pool_options lean = TARN_POOL_OPTIONS_LEAN_INIT;
    tarn_pool_options *options = options_of_pool;
    options->contiguous = lean.contiguous;
    options->initial_bytes = lean.initial_bytes;
    options->step_bytes = lean.step_bytes;
    options->stream_slack = lean.stream_slack;
    options->growth_bytes_max = lean.growth_bytes_max;
    return strcmp(value, "lean") == 0;
}

static bool parse_power_of_two(const char *value, size_t min, size_t max, size_t *bytes)
{
    return tn_size_text_parse_bytes(value, bytes) && tn_is_power_of_two(*bytes) && *bytes >= min &&
           *bytes <= max;
}

static bool parse_chunk(const char *value, void *bytes)
{
    return parse_power_of_two(value, TARN_CHUNK_BYTES_MIN, TARN_CHUNK_BYTES_MAX, bytes);
}

static bool parse_step(const char *value, void *bytes)
{
    return tn_size_text_parse_bytes(value, bytes) &&
           (*(size_t *)bytes == 0 || tn_is_power_of_two(*(size_t *)bytes));
}

/* Requires that the chunk was read before. */
static bool parse_alignment(const char *value, void *options_of_pool)
{
    tarn_pool_options *options = options_of_pool;
    return parse_power_of_two(value, TARN_ALIGNMENT_BYTES_MIN, options->chunk_bytes,
                              &options->alignment_bytes);
}

/* Requires that the chunk was read before. */
static bool parse_limit(const char *value, void *options_of_pool)
{
    tarn_pool_options *options = options_of_pool;
    bool is_percent = tn_size_text_parse_percent(value, &options->limit_percent);
    if (is_percent) {
        options->limit_bytes = 0;
        return true;
    }
    options->limit_percent = 0;
    return tn_size_text_parse_bytes(value, &options->limit_bytes) &&
           options->limit_bytes >= options->chunk_bytes;
}

/* Parses 2, 1.5. Not by strtod, which uses the decimal point of the program's locale. */
static bool parse_factor(const char *text, double *factor_out)
{
    size_t whole, fraction = 0;
    const char *rest;
    double scale = 1.0;
    if (!tn_size_text_parse_number(text, &whole, &rest)) return false;
    if (rest[0] == '.') {
        const char *digits = rest + 1;
        if (!tn_size_text_parse_number(digits, &fraction, &rest)) return false;
        for (; digits < rest; digits++) {
            scale *= 10.0;
        }
    }
    *factor_out = (double)whole + (double)fraction / scale;
    return *rest == '\0';
}

static bool parse_growth(const char *value, void *factor)
{
    return parse_factor(value, factor) && *(double *)factor >= 1.0;
}

static bool parse_stream_slack(const char *value, void *share)
{
    return parse_factor(value, share) && *(double *)share <= TARN_STREAM_SLACK_MAX;
}

static bool parse_pending(const char *value, void *factor)
{
    if (strcmp(value, "none") == 0) {
        *(double *)factor = -1.0;
        return true;
    }
    return parse_factor(value, factor) && *(double *)factor > 0.0;
}

static bool parse_int(const char *value, void *number_out)
{
    size_t number;
    const char *rest;
    if (!tn_size_text_parse_number(value, &number, &rest) || *rest != '\0' || number > INT_MAX)
        return false;
    *(int *)number_out = (int)number;
    return true;
}

static bool parse_ranks(const char *value, void *rank_count)
{
    int number;
    if (!parse_int(value, &number) || number < 1) return false;
    *(unsigned *)rank_count = (unsigned)number;
    return true;
}

static bool parse_kind(const char *value, void *kind)
{
    static const struct {
        const char *name;
        tarn_memory_kind kind;
    } kinds[] = {
        { "device", TARN_MEMORY_KIND_DEVICE }, { "pinned", TARN_MEMORY_KIND_PINNED },
        { "shared", TARN_MEMORY_KIND_SHARED }, { "managed", TARN_MEMORY_KIND_SHARED },
        { "host", TARN_MEMORY_KIND_HOST },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(value, kinds[i].name) != 0) continue;
        *(tarn_memory_kind *)kind = kinds[i].kind;
        return true;
    }
    return false;
}

static bool parse_fit(const char *value, void *fit)
{
    tarn_fit known = TARN_FIT_BEST;
    while (tn_fit_name(known) && strcmp(value, tn_fit_name(known)) != 0)
        known++;
    *(tarn_fit *)fit = known;
    return tn_fit_name(known) != NULL;
}

static bool parse_free(const char *value, void *free_waits)
{
    *(bool *)free_waits = strcmp(value, "waits") == 0;
    return *(bool *)free_waits || strcmp(value, "orders") == 0;
}

static unsigned debug_flag_of(const char *name, size_t length)
{
    static const struct {
        const char *name;
        unsigned flag;
    } flags[] = {
        { "sites", TARN_DEBUG_SITES },
        { "zones", TARN_DEBUG_ZONES },
        { "poison", TARN_DEBUG_POISON },
        { "quarantine", TARN_DEBUG_QUARANTINE },
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strlen(flags[i].name) == length && strncmp(name, flags[i].name, length) == 0)
            return flags[i].flag;
    }
    return 0;
}

/* A list of flags, separated by commas. */
static bool parse_debug(const char *value, void *debug)
{
    unsigned flags = 0;
    for (const char *rest = value; rest; rest = *rest == ',' ? rest + 1 : NULL) {
        size_t length = strcspn(rest, ",");
        unsigned flag = debug_flag_of(rest, length);
        if (flag == 0) return false;
        flags |= flag;
        rest += length;
    }
    *(unsigned *)debug = flags;
    return true;
}

/* --- options of a pool --------------------------------------------------------------------------------- */

#define OPTIONS       offsetof(struct tn_environment, options)
#define OPTION(field) offsetof(struct tn_environment, options.field)
#define BYTES         "a number of bytes such as 700M, with K, M, G or T"
#define SWITCH        "0 or 1"

/* In the order in which they are read. */
static const struct variable {
    const char *name;
    bool (*parse)(const char *value, void *target);
    size_t target; /* in struct tn_environment */
    const char *expected;
} variables[] = {
    { "TARN_PRESET", parse_preset, OPTIONS, "lean" },
    { "TARN_INITIAL", parse_initial, OPTION(initial_bytes), BYTES ", nor \"all\"" },
    { "TARN_CHUNK", parse_chunk, OPTION(chunk_bytes), "a power of two from 256 to 32M" },
    { "TARN_ALIGNMENT", parse_alignment, OPTIONS,
      "a power of two from 16 to the bytes of a chunk" },
    { "TARN_LIMIT", parse_limit, OPTIONS,
      "a number of bytes such as 8G, with K, M, G or T, of a chunk or more; nor 1% to 100%" },
    { "TARN_GROWTH_MAX", parse_bytes, OPTION(growth_bytes_max), BYTES },
    { "TARN_GROWTH", parse_growth, OPTION(growth_factor), "a factor of 1 or more such as 1.5" },
    { "TARN_RELEASE", parse_bytes, OPTION(release_threshold_bytes), BYTES },
    { "TARN_VANISH", parse_switch, OPTION(returns_when_empty), SWITCH },
    { "TARN_CONTIGUOUS", parse_switch, OPTION(contiguous), SWITCH },
    { "TARN_STEP", parse_step, OPTION(step_bytes), "a power of two such as 64M" },
    { "TARN_DISABLE", parse_disable, OPTION(passes_through), SWITCH },
    { "TARN_SHAREABLE", parse_switch, OPTION(is_shareable), SWITCH },
    { "TARN_IDENTIFY_STREAMS", parse_switch, OPTION(identifies_streams), SWITCH },
    { "TARN_FREE", parse_free, OPTION(free_waits), "waits, or orders: in the order of one stream" },
    { "TARN_STREAM_SLACK", parse_stream_slack, OPTION(stream_slack),
      "a share from 0 to 8 such as 0.25" },
    { "TARN_PENDING_MAX", parse_pending, OPTION(pending_factor_max),
      "a factor above 0 such as 1.5, nor \"none\"" },
    { "TARN_DEVICE", parse_int, offsetof(struct tn_environment, location.device),
      "the number of a device" },
    { "TARN_KIND", parse_kind, offsetof(struct tn_environment, location.kind),
      "device, pinned, shared, managed or host" },
    { "TARN_RANKS", parse_ranks, OPTION(rank_count), "a number of ranks, 1 or more" },
    { "TARN_FIT", parse_fit, OPTION(fit), "best_fit, first_fit, segregated_fit or tlsf" },
    { "TARN_DEBUG", parse_debug, OPTION(debug),
      "a list, with commas, of sites, zones, poison, quarantine" },
    { "TARN_QUARANTINE", parse_quarantine, OPTION(quarantine_bytes), "1 byte or more" },
    { "TARN_SLICES", parse_switch, OPTION(slices), SWITCH },
    { "TARN_ZERO_ADDRESS", parse_switch, OPTION(zero_has_address), SWITCH },
};

enum {
    VARIABLE_COUNT = sizeof variables / sizeof variables[0]
};

void tn_environment_name_set(char *text, size_t text_bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < VARIABLE_COUNT && length < text_bytes; i++) {
        if (!value_of(variables[i].name)) continue;
        length += (size_t)snprintf(text + length, text_bytes - length, "%s%s",
                                   length > 0 ? ", " : "", variables[i].name);
    }
}

static tarn_status check_shareable(const tarn_pool_options *options)
{
    if (!value_of("TARN_SHAREABLE") || !options->is_shareable || options->contiguous ||
        options->passes_through)
        return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_INVALID_ENVIRONMENT,
                   "TARN_SHAREABLE is 1, but TARN_CONTIGUOUS is not, nor is TARN_PRESET \"lean\"");
}

tarn_status tn_environment_read(struct tn_environment *given)
{
    struct tn_environment environment = *given;
    tn_variable_names_check(); /* before a name that is right fails for a value */
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        const struct variable *variable = &variables[i];
        const char *value = value_of(variable->name);
        if (value && !variable->parse(value, (char *)&environment + variable->target))
            return fail_for(variable->name, value, variable->expected);
    }
    tarn_status status = check_shareable(&environment.options);
    if (status == TARN_STATUS_OK) *given = environment;
    return status;
}

tarn_status tn_environment_read_disable(bool *passes_through)
{
    const char *name = "TARN_DISABLE", *value = value_of(name);
    return !value || parse_disable(value, passes_through) ? TARN_STATUS_OK
                                                          : fail_for(name, value, SWITCH);
}

/* --- reports ------------------------------------------------------------------------------------------- */

static tarn_status read_log(void)
{
    static const struct {
        const char *name;
        tarn_log_level level;
    } levels[] = {
        { "off", TARN_LOG_LEVEL_OFF },
        { "warning", TARN_LOG_LEVEL_WARNING },
        { "info", TARN_LOG_LEVEL_INFO },
    };
    const char *name = "TARN_LOG";
    const char *value = value_of(name);
    if (!value) return TARN_STATUS_OK;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (strcmp(value, levels[i].name) != 0) continue;
        if (tn_log_set_by_environment(levels[i].level)) return TARN_STATUS_OK;
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory to watch for forks");
    }
    return fail_for(name, value, "off, warning or info");
}

static tarn_status read_stats(void)
{
    const char *name = "TARN_STATS";
    const char *value = value_of(name);
    const char *file = value && strncmp(value, "exit:", 5) == 0 ? value + 5 : NULL;
    if (!value) return TARN_STATUS_OK;
    if (strcmp(value, "exit") != 0 && (!file || file[0] == '\0'))
        return fail_for(name, value, "exit, nor exit: and the name of a file");
    tn_report_request_table(file);
    return TARN_STATUS_OK;
}

static tarn_status read_map(void)
{
    const char *name = "TARN_MAP";
    const char *value = value_of(name);
    if (!value) return TARN_STATUS_OK;
    bool at_signal = strncmp(value, "signal:", 7) == 0;
    bool at_exit = strncmp(value, "exit:", 5) == 0;
    const char *file = at_signal ? value + 7 : at_exit ? value + 5 : value;
    if (file[0] == '\0')
        return fail_for(name, value, "the name of a file, nor exit: or signal: and one");
    tn_report_request_map(file, at_signal);
    return TARN_STATUS_OK;
}

tarn_status tn_environment_read_reports(void)
{
    tn_variable_names_check();
    tarn_status status = read_log();
    if (status == TARN_STATUS_OK) status = read_stats();
    return status == TARN_STATUS_OK ? read_map() : status;
}
