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
    THREADS_MAX = 256,
    STREAMS_MAX = 64
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
    KEY_STREAMS,
    KEY_UNTIL,
    KEY_SIZE_RANGE,
    KEY_CSV,
    KEY_FAITHFUL,
    KEY_ORDER,
    KEY_SPEED,
    KEY_TOUCH
};

#define STRING_OF(number)  STRING_OF_(number)
#define STRING_OF_(number) #number

const char *argp_program_version = "tarn-bench " STRING_OF(TARN_VERSION_MAJOR) "." STRING_OF(
    TARN_VERSION_MINOR) "." STRING_OF(TARN_VERSION_PATCH);

static const char arguments_text[] = "hot\nsweep\nlive\nchurn\nthreads\nstreams\ngrowth\n"
                                     "replay TRACE...\nall [TRACE...]\nhelp";

static const char manual[] =
    "Compares memory allocators for devices.\n"
    "\n"
    "Commands:\n"
    "  hot              one block of 1 KB\n"
    "  sweep            one block at a time, by size\n"
    "  live             tiny blocks and mixed ones, by the number of live ones\n"
    "  churn            random replacement among live blocks of all sizes\n"
    "  threads          churn by several threads at once on one allocator\n"
    "  streams          blocks that go round between streams, filled there\n"
    "  growth           from nothing to so many live bytes, and back\n"
    "  replay TRACE...  the allocations of a real program, from a recorded trace\n"
    "  all [TRACE...]   all of these, shorter, with the traces that come along unless some are named\n"
    "  help             prints this\n"
    "\n"
    "Allocators: raw (the vendor's own calls), tarn, "
    "tarn:contiguous (in one range of addresses), vendor-pool (the vendor's own pool), "
    "cub (the caching allocator of CUDA's CUB), "
    "ordered-sets (the pool of today's mesh codes, on the C++ library's sets). One that is not "
    "there is listed as not found. Both of tarn's can have a placement policy after a colon: "
    "tarn:first_fit, best_fit_last_freed, segregated_fit, tlsf; or, as tarn:cached, a thread cache. Those are compared "
    "only when named.\n"
    "\n"
    "Options:"
    "\v"
    "Sizes take the suffixes K, M, G and T, powers of 1024. Lists have commas and no spaces.\n"
    "\n"
    "A faithful replay has the threads and streams of the trace. Its order: depends, a free waits for its "
    "allocation and for nothing else in other threads; strict, each event waits for all before it. "
    "Its speed: max, as fast as possible; as-recorded; or times as fast as that, 0.001 to 1000.\n"
    "\n"
    "Ctrl-C, or SIGTERM, ends it with what was measured so far, in the table and the files; a second one "
    "ends it at once.\n"
    "\n"
    "Exit status: 0 everything was measured; 1 something failed, which is named (a bad trace, an "
    "allocator that failed, handed out memory twice or lost its contents, a file that cannot be "
    "written); 2 the command line is wrong; 130 it was interrupted.";

static const struct argp_option option_table[] = {
    { "allocator", KEY_ALLOCATOR, "LIST", 0, "Which to compare (default: all but policies)", 1 },
    { "repetitions", KEY_REPETITIONS, "N", 0, "Timed repetitions, 1 to 1000 (default 5)", 1 },
    { "time", KEY_TIME, "SECONDS", 0,
      "Fewer repetitions where they would take longer than this for one allocator on one workload "
      "(default 10; all: 1)",
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
    { "csv", KEY_CSV, "FILE", 0, "Write the results to FILE as well, one line each", 1 },
    { "touch", KEY_TOUCH, "SIZE", OPTION_ARG_OPTIONAL,
      "Write into each block after its allocation, and verify that before its free; of blocks larger "
      "than SIZE only so much, half at either end (default: memory is not touched)",
      1 },
    { "sizes", KEY_SIZES, "LIST", 0,
      "sweep: sizes (default: powers of 16, and the largest power of 2 that fits)", 2 },
    { "counts", KEY_COUNTS, "LIST", 0,
      "live: numbers of live blocks (default 10,100,1000,10000,100000)", 2 },
    { "live", KEY_LIVE, "LIST", 0,
      "churn: the same; of each thread (default 100), of each stream (default 16)", 2 },
    { "threads", KEY_THREADS, "LIST", 0, "threads: how many (default 1,2,4,8,16)", 2 },
    { "shared", KEY_SHARED, NULL, 0, "threads: each frees blocks of all, not its own", 2 },
    { "one-stream", KEY_ONE_STREAM, NULL, 0, "threads: all on one stream", 2 },
    { "streams", KEY_STREAMS, "LIST", 0, "streams: how many (default 1,2,4,8)", 2 },
    { "until", KEY_UNTIL, "LIST", 0, "growth: bytes live at the end (default 64M,256M,1G,4G)", 2 },
    { "size-range", KEY_SIZE_RANGE, "MIN,MAX", 0,
      "Sizes of blocks, not of hot, sweep and replay (default 1,10 and 1,64K for live, 4K,1M for "
      "streams, else 1K,16M)",
      2 },
    { "faithful", KEY_FAITHFUL, NULL, 0, "replay: in the threads and on the streams of the trace",
      2 },
    { "order", KEY_ORDER, "ORDER", 0,
      "replay --faithful: strict or depends, between threads (default depends)", 2 },
    { "speed", KEY_SPEED, "SPEED", 0,
      "replay --faithful: max, as-recorded or a factor (default max)", 2 },
    { NULL, 0, NULL, 0, NULL, 0 },
};

/* What is only known while parsing. */
struct parsing {
    struct tn_options *options;
    bool is_help;
    bool has_time;
    /* Names of options that fit some commands only, when they were given. */
    const char *sizes_option;
    const char *counts_option;
    const char *live_option;
    const char *threads_option;
    const char *shared_option;
    const char *one_stream_option;
    const char *streams_option;
    const char *until_option;
    const char *size_range_option;
    const char *faithful_option;
    const char *order_option;
    const char *speed_option;
    const char *touch_option;
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

static double parse_speed(struct argp_state *state, const char *text)
{
    if (strcmp(text, "max") == 0) return 0.0;
    if (strcmp(text, "as-recorded") == 0) return 1.0;
    char *end;
    double factor = strtod(text, &end);
    if (*text < '0' || *text > '9' || *end != '\0' || !(factor >= 0.001 && factor <= 1000.0))
        argp_error(state, "--speed %s: is max, as-recorded, or a factor from 0.001 to 1000", text);
    return factor;
}

static enum tn_order parse_order(struct argp_state *state, const char *text)
{
    if (strcmp(text, "strict") != 0 && strcmp(text, "depends") != 0)
        argp_error(state, "--order %s: is strict or depends", text);
    return strcmp(text, "strict") == 0 ? TN_ORDER_STRICT : TN_ORDER_DEPENDS;
}

static size_t parse_touch(struct argp_state *state, const char *text)
{
    if (!text) return SIZE_MAX;
    return (size_t)parse_one(state, "touch", text, tn_size_parse, 1, SIZE_BYTES_MAX);
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
                   "--allocator: there is no allocator '%s'; there are raw, tarn, "
                   "tarn:contiguous, vendor-pool, cub and ordered-sets, and tarn's with a "
                   "placement policy",
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
    if (options->command != &tn_command_replay && options->command != &tn_command_all)
        argp_error(state, "'%s' is one argument too many: only replay and all take any", text);
    /* All that is left are traces; the vector was sorted so that options have come before. */
    options->traces = (const char *const *)&state->argv[state->next - 1];
    options->trace_count = (size_t)state->argc - (size_t)state->next + 1;
    state->next = state->argc;
}

static void refuse(struct argp_state *state, const char *given, const char *commands)
{
    if (given) argp_error(state, "--%s is an option of %s only", given, commands);
}

static void check_faithful(struct argp_state *state, const struct parsing *parsing)
{
    const char *needs = parsing->order_option ? parsing->order_option : parsing->speed_option;
    const struct tn_command *command = parsing->options->command;
    if (command != &tn_command_replay && command != &tn_command_all)
        refuse(state, parsing->faithful_option, "replay");
    if (needs && !parsing->faithful_option)
        argp_error(state, "--%s is an option of replay --faithful only", needs);
}

/* Streams has work of its own on each block; the others of these have no place for it. */
static void check_touch(struct argp_state *state, const struct parsing *parsing)
{
    const struct tn_command *command = parsing->options->command;
    bool can_touch = command == &tn_command_hot || command == &tn_command_sweep ||
                     command == &tn_command_live || command == &tn_command_churn ||
                     command == &tn_command_replay || command == &tn_command_all;
    if (!can_touch) refuse(state, parsing->touch_option, "hot, sweep, live, churn and replay");
}

static void refuse_options_of_others(struct argp_state *state, const struct parsing *parsing)
{
    const struct tn_command *command = parsing->options->command;
    bool is_threads = command == &tn_command_threads;
    bool is_streams = command == &tn_command_streams;
    bool is_churn = command == &tn_command_churn;
    bool has_range = is_churn || is_threads || is_streams || command == &tn_command_live ||
                     command == &tn_command_growth;
    if (command != &tn_command_sweep) refuse(state, parsing->sizes_option, "sweep");
    if (command != &tn_command_live) refuse(state, parsing->counts_option, "live");
    if (!is_threads) refuse(state, parsing->threads_option, "threads");
    if (!is_threads) refuse(state, parsing->shared_option, "threads");
    if (!is_threads) refuse(state, parsing->one_stream_option, "threads");
    if (!is_streams) refuse(state, parsing->streams_option, "streams");
    if (command != &tn_command_growth) refuse(state, parsing->until_option, "growth");
    if (!is_churn && !is_threads && !is_streams)
        refuse(state, parsing->live_option, "churn, threads and streams");
    if (!has_range)
        refuse(state, parsing->size_range_option, "live, churn, threads, streams and growth");
}

/* The traces are those that come along, unless there are others. */
static void complete_all(const struct parsing *parsing)
{
    static const char *const shipped[] = { TN_BENCH_TRACES "/examinimd-lj.trace.gz",
                                           TN_BENCH_TRACES "/omegah-warp-3d-small-cut.trace.gz",
                                           TN_BENCH_TRACES "/torch_resnet-cut.trace.gz" };
    if (!parsing->has_time) parsing->options->time_seconds = 1.0;
    if (parsing->options->trace_count > 0) return;
    parsing->options->traces = shipped;
    parsing->options->trace_count = sizeof shipped / sizeof shipped[0];
}

static void check_command(struct argp_state *state, const struct parsing *parsing)
{
    const struct tn_command *command = parsing->options->command;
    if (parsing->is_help) {
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        exit(EXIT_SUCCESS);
    }
    if (!command)
        argp_error(state,
                   "a command is missing: hot, sweep, live, churn, threads, streams, growth, "
                   "replay, all or help");
    if (command == &tn_command_replay && parsing->options->trace_count == 0)
        argp_error(state, "replay needs the name of a trace");
    check_faithful(state, parsing);
    check_touch(state, parsing);
    if (command == &tn_command_all)
        complete_all(parsing);
    else
        refuse_options_of_others(state, parsing);
}

/* Options that only some commands take. */
static error_t parse_special_option(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct tn_options *options = parsing->options;
    switch (key) {
    case KEY_FAITHFUL:
        parsing->faithful_option = "faithful";
        options->is_faithful = true;
        return 0;
    case KEY_ORDER:
        parsing->order_option = "order";
        options->order = parse_order(state, text);
        return 0;
    case KEY_SPEED:
        parsing->speed_option = "speed";
        options->speed = parse_speed(state, text);
        return 0;
    case KEY_TOUCH:
        parsing->touch_option = "touch";
        options->touch_bytes = parse_touch(state, text);
        return 0;
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
        parse_list(state, "live", text, tn_number_parse, LIVE_COUNT_MAX, &options->live_counts);
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
    case KEY_STREAMS:
        parsing->streams_option = "streams";
        parse_list(state, "streams", text, tn_number_parse, STREAMS_MAX, &options->stream_counts);
        return 0;
    case KEY_UNTIL:
        parsing->until_option = "until";
        parse_list(state, "until", text, tn_size_parse, SIZE_BYTES_MAX, &options->growth_sizes);
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
    case KEY_CSV:
        options->csv_path = text;
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
        parsing->has_time = true;
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
