/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* environment: a parser for each kind of value. A variable that is unset or empty changes nothing. */
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

/* All variables that tn_environment_read reads. */
static const char *const variables[] = {
    "TARN_PRESET",
    "TARN_INITIAL",
    "TARN_CHUNK",
    "TARN_LIMIT",
    "TARN_GROWTH_MAX",
    "TARN_GROWTH",
    "TARN_RELEASE",
    "TARN_VANISH",
    "TARN_CONTIGUOUS",
    "TARN_STEP",
    "TARN_SHAREABLE",
    "TARN_DISABLE",
    "TARN_IDENTIFY_STREAMS",
    "TARN_DEVICE",
    "TARN_KIND",
    "TARN_RANKS",
    "TARN_FIT",
    "TARN_DEBUG",
    "TARN_QUARANTINE",
    "TARN_SLICES",
    "TARN_ALIGNMENT",
    "TARN_ZERO_ADDRESS",
    "TARN_FREE",
    "TARN_STREAM_SLACK",
};

static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != '\0' ? value : NULL;
}

void tn_environment_name_set(char *text, size_t text_bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && length < text_bytes; i++) {
        if (!value_of(variables[i])) continue;
        length += (size_t)snprintf(text + length, text_bytes - length, "%s%s",
                                   length > 0 ? ", " : "", variables[i]);
    }
}

static tarn_status fail_for(const char *name, const char *value, const char *expected)
{
    return tn_fail(TARN_STATUS_INVALID_ENVIRONMENT, "%s is \"%.40s\", not %s", name, value,
                   expected);
}

static tarn_status read_bytes(const char *name, size_t *bytes)
{
    const char *value = value_of(name);
    if (!value || tn_size_text_parse_bytes(value, bytes)) return TARN_STATUS_OK;
    return fail_for(name, value, "a number of bytes such as 700M, with K, M, G or T");
}

static tarn_status read_initial(size_t *initial_bytes)
{
    const char *name = "TARN_INITIAL";
    const char *value = value_of(name);
    if (!value || tn_size_text_parse_bytes(value, initial_bytes)) return TARN_STATUS_OK;
    if (strcmp(value, "all") != 0)
        return fail_for(name, value,
                        "a number of bytes such as 700M, with K, M, G or T, nor \"all\"");
    *initial_bytes = TARN_INITIAL_ALL;
    return TARN_STATUS_OK;
}

static tarn_status read_switch(const char *name, bool *is_on)
{
    const char *value = value_of(name);
    if (!value) return TARN_STATUS_OK;
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0) return fail_for(name, value, "0 or 1");
    *is_on = value[0] == '1';
    return TARN_STATUS_OK;
}

/* Sets the options that the preset is about, whatever they were. The variables of single options are read later. */
static tarn_status read_preset(tarn_pool_options *options)
{
    const tarn_pool_options lean = TARN_POOL_OPTIONS_LEAN_INIT;
    const char *name = "TARN_PRESET";
    const char *value = value_of(name);
    if (!value) return TARN_STATUS_OK;
    if (strcmp(value, "lean") != 0) return fail_for(name, value, "lean");
    options->contiguous = lean.contiguous;
    options->initial_bytes = lean.initial_bytes;
    options->step_bytes = lean.step_bytes;
    options->stream_slack = lean.stream_slack;
    options->growth_bytes_max = lean.growth_bytes_max;
    return TARN_STATUS_OK;
}

/* Requires that the switches which it depends on were read before. */
static tarn_status read_shareable(tarn_pool_options *options)
{
    const char *name = "TARN_SHAREABLE";
    tarn_status status = read_switch(name, &options->is_shareable);
    if (status != TARN_STATUS_OK || !value_of(name) || !options->is_shareable ||
        options->contiguous || options->passes_through)
        return status;
    return tn_fail(TARN_STATUS_INVALID_ENVIRONMENT,
                   "%s is 1, but TARN_CONTIGUOUS is not, nor is TARN_PRESET \"lean\"", name);
}

static tarn_status read_limit(struct tn_environment *environment)
{
    const char *name = "TARN_LIMIT";
    const char *value = value_of(name);
    size_t bytes;
    if (!value) return TARN_STATUS_OK;
    if (tn_size_text_parse_percent(value, &environment->options.limit_percent)) {
        environment->options.limit_bytes = 0;
        return TARN_STATUS_OK;
    }
    if (!tn_size_text_parse_bytes(value, &bytes) || bytes < environment->options.chunk_bytes) {
        return fail_for(
            name, value,
            "a number of bytes such as 8G, with K, M, G or T, of a chunk or more; nor 1% to 100%");
    }
    environment->options.limit_bytes = bytes;
    environment->options.limit_percent = 0;
    return TARN_STATUS_OK;
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

static tarn_status read_growth(double *factor)
{
    const char *name = "TARN_GROWTH";
    const char *value = value_of(name);
    double number;
    if (!value) return TARN_STATUS_OK;
    if (!parse_factor(value, &number) || number < 1.0) {
        return fail_for(name, value, "a factor of 1 or more such as 1.5");
    }
    *factor = number;
    return TARN_STATUS_OK;
}

static tarn_status read_stream_slack(double *share)
{
    const char *name = "TARN_STREAM_SLACK";
    const char *value = value_of(name);
    double number;
    if (!value) return TARN_STATUS_OK;
    if (!parse_factor(value, &number) || number > TARN_STREAM_SLACK_MAX) {
        return fail_for(name, value, "a share from 0 to 8 such as 0.25");
    }
    *share = number;
    return TARN_STATUS_OK;
}

static tarn_status read_device(int *device)
{
    const char *name = "TARN_DEVICE";
    const char *value = value_of(name);
    if (!value) return TARN_STATUS_OK;
    size_t number;
    const char *rest;
    if (!tn_size_text_parse_number(value, &number, &rest) || *rest != '\0' || number > INT_MAX) {
        return fail_for(name, value, "the number of a device");
    }
    *device = (int)number;
    return TARN_STATUS_OK;
}

static tarn_status read_kind(tarn_memory_kind *kind)
{
    static const struct {
        const char *name;
        tarn_memory_kind kind;
    } kinds[] = {
        { "device", TARN_MEMORY_KIND_DEVICE }, { "pinned", TARN_MEMORY_KIND_PINNED },
        { "shared", TARN_MEMORY_KIND_SHARED }, { "managed", TARN_MEMORY_KIND_SHARED },
        { "host", TARN_MEMORY_KIND_HOST },
    };
    const char *name = "TARN_KIND";
    const char *value = value_of(name);
    if (!value) return TARN_STATUS_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(value, kinds[i].name) != 0) continue;
        *kind = kinds[i].kind;
        return TARN_STATUS_OK;
    }
    return fail_for(name, value, "device, pinned, shared, managed or host");
}

static tarn_status read_fit(tarn_fit *fit)
{
    const char *name = "TARN_FIT";
    const char *value = value_of(name);
    if (!value) return TARN_STATUS_OK;
    for (tarn_fit known = TARN_FIT_BEST; tn_fit_name(known); known++) {
        if (strcmp(value, tn_fit_name(known)) != 0) continue;
        *fit = known;
        return TARN_STATUS_OK;
    }
    return fail_for(name, value, "best_fit, first_fit, segregated_fit or tlsf");
}

static tarn_status read_free(bool *free_waits)
{
    const char *name = "TARN_FREE";
    const char *value = value_of(name);
    if (!value) return TARN_STATUS_OK;
    *free_waits = strcmp(value, "waits") == 0;
    if (*free_waits || strcmp(value, "orders") == 0) return TARN_STATUS_OK;
    return fail_for(name, value, "waits, or orders: in the order of one stream");
}

static tarn_status read_ranks(unsigned *rank_count)
{
    const char *name = "TARN_RANKS";
    const char *value = value_of(name);
    size_t number;
    const char *rest;
    if (!value) return TARN_STATUS_OK;
    if (!tn_size_text_parse_number(value, &number, &rest) || *rest != '\0' || number < 1 ||
        number > INT_MAX) {
        return fail_for(name, value, "a number of ranks, 1 or more");
    }
    *rank_count = (unsigned)number;
    return TARN_STATUS_OK;
}

static tarn_status read_chunk(size_t *chunk_bytes)
{
    tarn_status status = read_bytes("TARN_CHUNK", chunk_bytes);
    if (status != TARN_STATUS_OK || !value_of("TARN_CHUNK")) return status;
    if (tn_is_power_of_two(*chunk_bytes) && *chunk_bytes >= TARN_CHUNK_BYTES_MIN &&
        *chunk_bytes <= TARN_CHUNK_BYTES_MAX) {
        return TARN_STATUS_OK;
    }
    return fail_for("TARN_CHUNK", value_of("TARN_CHUNK"), "a power of two from 256 to 32M");
}

/* Requires that the chunk was read before. */
static tarn_status read_alignment(tarn_pool_options *options)
{
    const char *name = "TARN_ALIGNMENT";
    size_t *alignment_bytes = &options->alignment_bytes;
    tarn_status status = read_bytes(name, alignment_bytes);
    if (status != TARN_STATUS_OK || !value_of(name)) return status;
    if (tn_is_power_of_two(*alignment_bytes) && *alignment_bytes >= TARN_ALIGNMENT_BYTES_MIN &&
        *alignment_bytes <= options->chunk_bytes) {
        return TARN_STATUS_OK;
    }
    return fail_for(name, value_of(name), "a power of two from 16 to the bytes of a chunk");
}

static tarn_status read_step(size_t *step_bytes)
{
    const char *name = "TARN_STEP";
    tarn_status status = read_bytes(name, step_bytes);
    if (status != TARN_STATUS_OK || !value_of(name)) return status;
    if (*step_bytes == 0 || tn_is_power_of_two(*step_bytes)) return status;
    return fail_for(name, value_of(name), "a power of two such as 64M");
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

/* Parses a list of flags, separated by commas. */
static tarn_status read_debug(unsigned *debug)
{
    const char *name = "TARN_DEBUG";
    const char *value = value_of(name);
    unsigned flags = 0;
    if (!value) return TARN_STATUS_OK;
    for (const char *rest = value; rest; rest = *rest == ',' ? rest + 1 : NULL) {
        size_t length = strcspn(rest, ",");
        unsigned flag = debug_flag_of(rest, length);
        if (flag == 0)
            return fail_for(name, value,
                            "a list, with commas, of sites, zones, poison, quarantine");
        flags |= flag;
        rest += length;
    }
    *debug = flags;
    return TARN_STATUS_OK;
}

static tarn_status read_quarantine(size_t *quarantine_bytes)
{
    const char *name = "TARN_QUARANTINE";
    tarn_status status = read_bytes(name, quarantine_bytes);
    if (status != TARN_STATUS_OK || !value_of(name) || *quarantine_bytes > 0) return status;
    return fail_for(name, value_of(name), "1 byte or more");
}

tarn_status tn_environment_read_disable(bool *passes_through)
{
    bool is_on = false;
    tarn_status status = read_switch("TARN_DISABLE", &is_on);
    if (is_on) *passes_through = true;
    return status;
}

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

tarn_status tn_environment_read(struct tn_environment *given)
{
    struct tn_environment environment = *given;
    tn_variable_names_check(); /* before a name that is right fails for a value */
    tarn_status status = read_preset(&environment.options);
    if (status == TARN_STATUS_OK) status = read_initial(&environment.options.initial_bytes);
    if (status == TARN_STATUS_OK) status = read_chunk(&environment.options.chunk_bytes);
    if (status == TARN_STATUS_OK) status = read_alignment(&environment.options);
    if (status == TARN_STATUS_OK) status = read_limit(&environment);
    if (status == TARN_STATUS_OK)
        status = read_bytes("TARN_GROWTH_MAX", &environment.options.growth_bytes_max);
    if (status == TARN_STATUS_OK) status = read_growth(&environment.options.growth_factor);
    if (status == TARN_STATUS_OK)
        status = read_bytes("TARN_RELEASE", &environment.options.release_threshold_bytes);
    if (status == TARN_STATUS_OK)
        status = read_switch("TARN_VANISH", &environment.options.returns_when_empty);
    if (status == TARN_STATUS_OK)
        status = read_switch("TARN_CONTIGUOUS", &environment.options.contiguous);
    if (status == TARN_STATUS_OK) status = read_step(&environment.options.step_bytes);
    if (status == TARN_STATUS_OK)
        status = tn_environment_read_disable(&environment.options.passes_through);
    if (status == TARN_STATUS_OK) status = read_shareable(&environment.options);
    if (status == TARN_STATUS_OK)
        status = read_switch("TARN_IDENTIFY_STREAMS", &environment.options.identifies_streams);
    if (status == TARN_STATUS_OK) status = read_free(&environment.options.free_waits);
    if (status == TARN_STATUS_OK) status = read_stream_slack(&environment.options.stream_slack);
    if (status == TARN_STATUS_OK) status = read_device(&environment.location.device);
    if (status == TARN_STATUS_OK) status = read_kind(&environment.location.kind);
    if (status == TARN_STATUS_OK) status = read_ranks(&environment.options.rank_count);
    if (status == TARN_STATUS_OK) status = read_fit(&environment.options.fit);
    if (status == TARN_STATUS_OK) status = read_debug(&environment.options.debug);
    if (status == TARN_STATUS_OK) status = read_quarantine(&environment.options.quarantine_bytes);
    if (status == TARN_STATUS_OK) status = read_switch("TARN_SLICES", &environment.options.slices);
    if (status == TARN_STATUS_OK)
        status = read_switch("TARN_ZERO_ADDRESS", &environment.options.zero_has_address);
    if (status == TARN_STATUS_OK) *given = environment;
    return status;
}
