/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options: what the user asked for on the command line, read by the C library's argp. */
#include "options.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "tarn/version.h"

enum {
    EXIT_BAD_USAGE = 2,
    REPETITIONS_MAX = 1000,
    DEVICE_MAX = 1023,
    TIME_SECONDS_MAX = 3600,
    THREADS_MAX = 256
};

#define LIVE_COUNT_MAX 10000000U
#define SIZE_BYTES_MAX ((uint64_t)1 << 46)

/* Keys of options that have no short form lie above all characters. */
enum option_key {
    KEY_ALLOCATOR = 256,
    KEY_JSON,
    KEY_SEED,
    KEY_REPETITIONS,
    KEY_TIME,
    KEY_DEVICE,
    KEY_INITIAL,
    KEY_GROWTH_MAX,
    KEY_STEP,
    KEY_SIZES,
    KEY_COUNTS,
    KEY_LIVE,
    KEY_THREADS,
    KEY_SHARED,
    KEY_ONE_STREAM,
    KEY_SIZE_RANGE
};

#define STRING_OF(number)  STRING_OF_(number)
#define STRING_OF_(number) #number

const char *argp_program_version = "tarn-bench " STRING_OF(TARN_VERSION_MAJOR) "." STRING_OF(
    TARN_VERSION_MINOR) "." STRING_OF(TARN_VERSION_PATCH);

static const char arguments_text[] =
    "hot\nsweep\nlive\nchurn\nthreads\nreplay TRACE...\nallocators\nhelp";

static const char manual[] =
    "Compares memory allocators for devices.\n"
    "\n"
    "Commands:\n"
    "  hot              one block of 1 KB\n"
    "  sweep            one block at a time, by size\n"
    "  live             small blocks, by the number of live ones\n"
    "  churn            random replacement among live blocks of all sizes\n"
    "  threads          churn by several threads at once on one allocator\n"
    "  replay TRACE...  the allocations of a real program, from a recorded trace\n"
    "  allocators       lists the allocators, and why one is not there\n"
    "  help             prints this\n"
    "\n"
    "Allocators: raw (the vendor's own calls), tarn, "
    "tarn:contiguous (in one range of addresses), vendor-pool (the vendor's own pool), "
    "cub (the caching allocator of CUDA's CUB), "
    "ordered-sets (the pool of today's mesh codes, on the C++ library's sets), umpire, umf, and on the "
    "host jemalloc, mimalloc and libc-malloc. One that is not there is listed as not found. Both of tarn's can have a placement policy after a colon: "
    "tarn:first_fit, best_fit_last_freed, segregated_fit, tlsf; or, as tarn:cached, a thread cache. Those are compared "
    "only when named.\n"
    "\n"
    "Options:"
    "\v"
    "Sizes take the suffixes K, M, G and T, powers of 1024. Lists have commas and no spaces.\n"
    "\n"
    "Exit status: 0 everything was measured; 1 something failed, which is named (a bad trace, an "
    "allocator that failed or handed out memory twice, a file that cannot be written); 2 the "
    "command line is wrong.";

static const struct argp_option option_table[] = {
    { "allocator", KEY_ALLOCATOR, "LIST", 0, "Which to compare (default: all but policies)", 1 },
    { "repetitions", KEY_REPETITIONS, "N", 0, "Timed repetitions, 1 to 1000 (default 5)", 1 },
    { "time", KEY_TIME, "SECONDS", 0,
      "Fewer repetitions where they would take longer than this for one allocator on one workload "
      "(default 10)",
      1 },
    { "seed", KEY_SEED, "N", 0, "Of the random workloads (default 1)", 1 },
    { "device", KEY_DEVICE, "N", 0, "Number of the device (default 0)", 1 },
    { "initial", KEY_INITIAL, "SIZE", 0,
      "First piece that tarn and ordered-sets take (default 64M)", 1 },
    { "growth-max", KEY_GROWTH_MAX, "SIZE", 0,
      "The largest piece that tarn grows by (default 1G; 0: no cap)", 1 },
    { "step", KEY_STEP, "SIZE", 0,
      "What tarn:contiguous maps at a time, a power of 2 (default: by the device, at most 64M)",
      1 },
    { "json", KEY_JSON, "FILE", 0, "Write the results to FILE as well", 1 },
    { "sizes", KEY_SIZES, "LIST", 0,
      "sweep: sizes (default: powers of 16, and the largest power of 2 that fits)", 2 },
    { "counts", KEY_COUNTS, "LIST", 0,
      "live: numbers of live blocks (default 10,100,1000,10000,100000)", 2 },
    { "live", KEY_LIVE, "LIST", 0, "churn: the same; threads: of each thread (default 100)", 2 },
    { "threads", KEY_THREADS, "LIST", 0, "threads: how many (default 1,2,4,8,16)", 2 },
    { "shared", KEY_SHARED, NULL, 0, "threads: each frees blocks of all, not its own", 2 },
    { "one-stream", KEY_ONE_STREAM, NULL, 0, "threads: all on one stream", 2 },
    { "size-range", KEY_SIZE_RANGE, "MIN,MAX", 0,
      "live, churn, threads: sizes of blocks (default 1,10 for live, else 1K,16M)", 2 },
    { NULL, 0, NULL, 0, NULL, 0 },
};

/* What is only known while parsing. */
struct parsing {
    struct tn_options *options;
    bool is_help;
    /* Names of options that fit some commands only, when they were given. */
    const char *sizes_option;
    const char *counts_option;
    const char *live_option;
    const char *threads_option;
    const char *shared_option;
    const char *one_stream_option;
    const char *size_range_option;
};

static uint64_t parse_one(struct argp_state *state, const char *name, const char *text,
                          tn_number_parser parse, uint64_t min, uint64_t max)
{
    struct tn_number_list list = { 0, { 0 } };
    struct tn_reason reason;
    if (!tn_number_list_parse(text, parse, min, max, &list, &reason))
        argp_error(state, "--%s %s: %s", name, text, reason.text);
    if (list.count != 1) argp_error(state, "--%s %s: takes one number", name, text);
    return list.values[0];
}

static void parse_list(struct argp_state *state, const char *name, const char *text,
                       tn_number_parser parse, uint64_t max, struct tn_number_list *list_out)
{
    struct tn_reason reason;
    if (!tn_number_list_parse(text, parse, 1, max, list_out, &reason))
        argp_error(state, "--%s %s: %s", name, text, reason.text);
}

static void parse_size_range(struct argp_state *state, const char *text,
                             struct tn_number_list *list_out)
{
    parse_list(state, "size-range", text, tn_size_parse, SIZE_BYTES_MAX, list_out);
    if (list_out->count != 2 || list_out->values[0] > list_out->values[1])
        argp_error(state, "--size-range %s: takes two sizes, the smaller first", text);
}

static double parse_time(struct argp_state *state, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0')
        argp_error(state, "--time %s: '%s' is not a number", text, text);
    if (!(seconds > 0.0 && seconds <= TIME_SECONDS_MAX))
        argp_error(state, "--time %s: must be above 0 and at most %d seconds", text,
                   TIME_SECONDS_MAX);
    return seconds;
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

static void parse_allocators(struct argp_state *state, const char *text, struct tn_options *options)
{
    char *names = strdup(text);
    if (!names) argp_error(state, "--allocator: there is no host memory for the list");
    options->allocator_count = 0;
    char *rest = names;
    for (const char *name; (name = strsep(&rest, ","));)
        add_allocator(state, options, name);
    free(names);
}

static void parse_argument(struct argp_state *state, struct parsing *parsing, const char *text)
{
    struct tn_options *options = parsing->options;
    if (state->arg_num == 0) {
        parsing->is_help = strcmp(text, "help") == 0;
        options->command = tn_command_find(text);
        if (!options->command && !parsing->is_help)
            argp_error(state, "there is no command '%s'", text);
        return;
    }
    if (options->command != &tn_command_replay)
        argp_error(state, "'%s' is one argument too many: only replay takes any", text);
    /* All that is left are traces; the vector was sorted so that options have come before. */
    options->traces = (const char *const *)&state->argv[state->next - 1];
    options->trace_count = (size_t)state->argc - (size_t)state->next + 1;
    state->next = state->argc;
}

static void refuse(struct argp_state *state, const char *given, const char *commands)
{
    if (given) argp_error(state, "--%s is an option of %s only", given, commands);
}

static void check_command(struct argp_state *state, const struct parsing *parsing)
{
    const struct tn_command *command = parsing->options->command;
    if (parsing->is_help) {
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        exit(EXIT_SUCCESS);
    }
    if (!command)
        argp_error(state, "a command is missing: hot, sweep, live, churn, threads, replay, "
                          "allocators or help");
    if (command == &tn_command_allocators && parsing->options->json_path)
        argp_error(state, "--json is no option of allocators");
    if (command == &tn_command_replay && parsing->options->trace_count == 0)
        argp_error(state, "replay needs the name of a trace");
    if (command != &tn_command_sweep) refuse(state, parsing->sizes_option, "sweep");
    if (command != &tn_command_live) refuse(state, parsing->counts_option, "live");
    if (command != &tn_command_threads) refuse(state, parsing->threads_option, "threads");
    if (command != &tn_command_threads) refuse(state, parsing->shared_option, "threads");
    if (command != &tn_command_threads) refuse(state, parsing->one_stream_option, "threads");
    if (command != &tn_command_churn && command != &tn_command_threads)
        refuse(state, parsing->live_option, "churn and threads");
    if (command != &tn_command_live && command != &tn_command_churn &&
        command != &tn_command_threads)
        refuse(state, parsing->size_range_option, "live, churn and threads");
    if (command == &tn_command_threads && !parsing->live_option)
        parsing->options->counts = (struct tn_number_list){ 1, { 100 } };
}

/* Options that only some commands take. */
static error_t parse_special_option(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct tn_options *options = parsing->options;
    switch (key) {
    case KEY_SIZES:
        parsing->sizes_option = "sizes";
        parse_list(state, "sizes", text, tn_size_parse, SIZE_BYTES_MAX, &options->sizes);
        return 0;
    case KEY_COUNTS:
        parsing->counts_option = "counts";
        parse_list(state, "counts", text, tn_number_parse, LIVE_COUNT_MAX, &options->counts);
        return 0;
    case KEY_LIVE:
        parsing->live_option = "live";
        parse_list(state, "live", text, tn_number_parse, LIVE_COUNT_MAX, &options->counts);
        return 0;
    case KEY_THREADS:
        parsing->threads_option = "threads";
        parse_list(state, "threads", text, tn_number_parse, THREADS_MAX, &options->thread_counts);
        return 0;
    case KEY_SHARED:
        parsing->shared_option = "shared";
        options->is_shared = true;
        return 0;
    case KEY_ONE_STREAM:
        parsing->one_stream_option = "one-stream";
        options->settings.has_one_stream = true;
        return 0;
    case KEY_SIZE_RANGE:
        parsing->size_range_option = "size-range";
        parse_size_range(state, text, &options->size_range);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct tn_options *options = parsing->options;
    switch (key) {
    case KEY_ALLOCATOR:
        parse_allocators(state, text, options);
        return 0;
    case KEY_JSON:
        options->json_path = text;
        return 0;
    case KEY_SEED:
        options->seed = parse_one(state, "seed", text, tn_number_parse, 0, UINT64_MAX);
        return 0;
    case KEY_REPETITIONS:
        options->repetitions =
            (size_t)parse_one(state, "repetitions", text, tn_number_parse, 1, REPETITIONS_MAX);
        return 0;
    case KEY_TIME:
        options->time_seconds = parse_time(state, text);
        return 0;
    case KEY_DEVICE:
        options->settings.device =
            (int)parse_one(state, "device", text, tn_number_parse, 0, DEVICE_MAX);
        return 0;
    case KEY_INITIAL:
        options->settings.initial_bytes =
            (size_t)parse_one(state, "initial", text, tn_size_parse, 0, SIZE_BYTES_MAX);
        return 0;
    case KEY_GROWTH_MAX:
        options->settings.growth_bytes_max =
            (size_t)parse_one(state, "growth-max", text, tn_size_parse, 0, SIZE_BYTES_MAX);
        return 0;
    case KEY_STEP:
        options->settings.step_bytes =
            (size_t)parse_one(state, "step", text, tn_size_parse, 0, SIZE_BYTES_MAX);
        return 0;
    case ARGP_KEY_ARG:
        parse_argument(state, parsing, text);
        return 0;
    case ARGP_KEY_END:
        check_command(state, parsing);
        return 0;
    default:
        return parse_special_option(key, text, state);
    }
}

static void set_defaults(struct tn_options *options)
{
    *options = (struct tn_options){
        .seed = 1,
        .repetitions = 5,
        .time_seconds = 10.0,
        .settings = { .device = 0,
                      .initial_bytes = (size_t)64 << 20,
                      .growth_bytes_max = (size_t)1 << 30 },
        .counts = { 5, { 10, 100, 1000, 10000, 100000 } },
        .thread_counts = { 5, { 1, 2, 4, 8, 16 } },
    };
    for (size_t i = 0; tn_allocator_table[i]; i++)
        options->allocators[options->allocator_count++] = tn_allocator_table[i];
}

void tn_options_parse(int argc, char **argv, struct tn_options *options_out)
{
    static const struct argp parser = { option_table, parse_option, arguments_text, manual, NULL,
                                        NULL,         NULL };
    set_defaults(options_out);
    struct parsing parsing = { .options = options_out };
    argp_err_exit_status = EXIT_BAD_USAGE;
    if (argp_parse(&parser, argc, argv, 0, NULL, &parsing) != 0) exit(EXIT_BAD_USAGE);
}
