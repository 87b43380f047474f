/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options: what the user asked for on the command line, read by the C library's argp. */
#include "options.h"

#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/base/text/edits.h"
#include "commands.h"
#include "option_values.h"
#include "patterns.h"
#include "tarn/tarn.h"

enum {
    EXIT_BAD_USAGE = 2,
    REPETITIONS_MAX = 1000,
    DEVICE_MAX = 1023,
    THREADS_MAX = 256,
    STREAMS_MAX = 64
};

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
    KEY_STREAM_SLACK,
    KEY_ALIGNMENT,
    KEY_SIZES,
    KEY_COUNTS,
    KEY_LIVE,
    KEY_THREADS,
    KEY_SHARED,
    KEY_ONE_STREAM,
    KEY_STREAMS,
    KEY_UNTIL,
    KEY_FAMILY,
    KEY_VARIANT,
    KEY_DRAWS,
    KEY_SIZE_RANGE,
    KEY_CSV,
    KEY_FAITHFUL,
    KEY_ORDER,
    KEY_SPEED,
    KEY_TOUCH,
    KEY_LATENCY,
    KEY_FORCE,
    KEY_USAGE,
    KEY_END,
    KEY_HELP = '?',
    KEY_VERSION = 'V'
};

_Static_assert(KEY_END - KEY_ALLOCATOR <= 32, "a bit for each");

#define STRING_OF(number)  STRING_OF_(number)
#define STRING_OF_(number) #number

static const char version_text[] = "tarn-bench " STRING_OF(TARN_VERSION_MAJOR) "." STRING_OF(
    TARN_VERSION_MINOR) "." STRING_OF(TARN_VERSION_PATCH);

static const char allocators_text[] =
    "Allocators: raw (the vendor's own calls), tarn, "
    "tarn:contiguous (in one range of addresses), tarn:lean (of the lean preset), vendor-pool (the vendor's own pool), "
    "cub (the caching allocator of CUDA's CUB), "
    "torch (PyTorch's, native), ordered-sets (the pool of today's mesh codes, on the C++ library's sets), umpire, umf, "
    "and on the host jemalloc, mimalloc and libc-malloc. Missing ones are listed as not found. tarn and tarn:contiguous "
    "take a placement policy after a colon, as in tarn:tlsf: first_fit, segregated_fit, tlsf; or slack, with "
    "--stream-slack. With one of these they are compared only when named, and so is libc-malloc, the processor's malloc, beside a device.";

static const char faithful_text[] =
    "A faithful replay has the threads and streams of the trace. Its order: depends, a free waits only for its "
    "block's allocation in another thread; strict, each event waits for all before it. "
    "Its speed: max, as fast as possible; as-recorded; or a factor of the recorded speed, 0.001 to 1000.";

static const char ending[] =
    "Sizes take the suffixes K, M, G and T, powers of 1024. Lists have commas and no spaces.\n"
    "\n"
    "Ctrl-C or SIGTERM ends the run with what was measured so far, in the table and the files. A second one "
    "ends it at once.\n"
    "\n"
    "Exit status: 0 everything was measured; 1 something failed, and a message names it (a bad trace, an "
    "allocator that failed, handed out memory twice or lost its contents, a file that cannot be "
    "written); 2 the command line is wrong, or a file exists and --force is not given; 130 or 143 the run was "
    "interrupted.";

static const struct argp_option option_table[] = {
    { "allocator", KEY_ALLOCATOR, "LIST", 0,
      "Which to compare (default: all but policies and slack)", 1 },
    { "repetitions", KEY_REPETITIONS, "N", 0, "Timed repetitions, 1 to 1000 (default 15)", 1 },
    { "time", KEY_TIME, "SECONDS", 0,
      "The most that one allocator may take on one workload: fewer repetitions if needed (default 10; all: 1; "
      "patterns: 0.05)",
      1 },
    { "seed", KEY_SEED, "N", 0, "Seed of the random workloads (default 1)", 1 },
    { "device", KEY_DEVICE, "N", 0, "Number of the device (default 0)", 1 },
    { "initial", KEY_INITIAL, "SIZE", 0,
      "First piece that tarn and ordered-sets take; not tarn:lean (default 8M)", 1 },
    { "growth-max", KEY_GROWTH_MAX, "SIZE", 0,
      "The largest piece that tarn grows by (default 512M; 0: no cap)", 1 },
    { "step", KEY_STEP, "SIZE", 0,
      "What tarn:contiguous maps at a time, a power of 2 (default: a part of what it holds)", 1 },
    { "stream-slack", KEY_STREAM_SLACK, "SHARE", 0,
      "Of the bytes in use, what tarn:slack holds more rather than let a stream wait, 0 to 8 (default 0.25)",
      1 },
    { "alignment", KEY_ALIGNMENT, "SIZE", 0,
      "What tarn's addresses are multiples of, a power of 2 from 16 to 1K (default 256)", 1 },
    { "json", KEY_JSON, "FILE", 0, "Write the results to FILE as well", 1 },
    { "csv", KEY_CSV, "FILE", 0, "Write the results to FILE as well, one line each", 1 },
    { "force", KEY_FORCE, NULL, 0, "Replace the files of --json and --csv if they exist", 1 },
    { "touch", KEY_TOUCH, "SIZE", OPTION_ARG_OPTIONAL,
      "Write into each block after its allocation, and verify that before its free; at most SIZE of a "
      "block, half at either end (default: memory is not touched). On a device at most 16 KB of a "
      "block are verified",
      1 },
    { "latency", KEY_LATENCY, NULL, 0,
      "Note the time of each call of one thread, from an empty allocator on: over time, by size, and the "
      "worst, for the file of --json",
      1 },
    { "sizes", KEY_SIZES, "LIST", 0,
      "sweep: sizes (default: powers of 16, and the largest power of 2 that fits)", 2 },
    { "counts", KEY_COUNTS, "LIST", 0,
      "live: numbers of live blocks (default 10,100,1000,10000,100000)", 2 },
    { "live", KEY_LIVE, "LIST", 0,
      "churn: numbers of live blocks (default as live's); threads: of each thread (default 100); "
      "streams: of each stream (default 16)",
      2 },
    { "threads", KEY_THREADS, "LIST", 0, "threads: numbers of threads (default 1,2,4,8,16)", 2 },
    { "shared", KEY_SHARED, NULL, 0, "threads: each frees blocks of all threads", 2 },
    { "one-stream", KEY_ONE_STREAM, NULL, 0, "threads: all on one stream", 2 },
    { "streams", KEY_STREAMS, "LIST", 0, "streams: numbers of streams (default 1,2,4,8)", 2 },
    { "until", KEY_UNTIL, "LIST", 0,
      "growth: bytes live at the end (default 64M,256M,1G,4G); or full: until the device has no more",
      2 },
    { "family", KEY_FAMILY, "LIST", 0,
      "patterns: mesh, anew, copied, walk, refine, phases, rates, doubling, robson (default all)",
      2 },
    { "variant", KEY_VARIANT, "LIST", 0,
      "patterns: plain, lasting, streams, behind, threads (default all)", 2 },
    { "draws", KEY_DRAWS, "N", 0, "patterns: of each family and variant, 1 to 100 (default 5)", 2 },
    { "size-range", KEY_SIZE_RANGE, "MIN,MAX", 0,
      "Sizes of blocks, not of hot, sweep, patterns and replay (default 1,10 and 1,64K for live, 4K,1M for "
      "streams, else 1K,16M)",
      2 },
    { "faithful", KEY_FAITHFUL, NULL, 0, "replay: in the threads and on the streams of the trace",
      2 },
    { "order", KEY_ORDER, "ORDER", 0,
      "replay --faithful: strict or depends, between threads (default depends)", 2 },
    { "speed", KEY_SPEED, "SPEED", 0,
      "replay --faithful: max, as-recorded or a factor (default max)", 2 },
    { "help", KEY_HELP, NULL, 0, "Print this, or behind a command the help of that", -1 },
    { "usage", KEY_USAGE, NULL, 0, "Print a short usage message", -1 },
    { "version", KEY_VERSION, NULL, 0, "Print the version", -1 },
    { NULL, 0, NULL, 0, NULL, 0 },
};

/* What is only known while parsing. */
struct parsing {
    struct tn_options *options;
    bool is_help;
    bool replaces_files;
    uint32_t given; /* a bit for each option, by its key */
};

static uint32_t bit_of(int key)
{
    return (uint32_t)1 << (key - KEY_ALLOCATOR);
}

static bool is_given(const struct parsing *parsing, int key)
{
    return (parsing->given & bit_of(key)) != 0;
}

/* --- what may have been meant ---------------------------------------------------------------------- */

/* "; did you mean 'replay'?", or "". */
struct hint {
    char text[64];
};

static struct hint hint_at(const char *word, const char *known)
{
    struct hint hint = { "" };
    if (known && tn_edits_are_few(word, known))
        snprintf(hint.text, sizeof hint.text, "; did you mean '%s'?", known);
    return hint;
}

static void fail_for_command(struct argp_state *state, const char *name)
{
    const char *nearest = "help";
    for (size_t i = 0; tn_command_table[i]; i++)
        if (tn_edits_count(name, tn_command_table[i]->name) < tn_edits_count(name, nearest))
            nearest = tn_command_table[i]->name;
    argp_error(state, "there is no command '%s'%s", name, hint_at(name, nearest).text);
}

/* The option that begins so, or NULL; the one that is nearest to the name is written to *nearest_out. */
static const struct argp_option *find_option(const char *name, const char **nearest_out)
{
    size_t least = SIZE_MAX;
    for (const struct argp_option *option = option_table; option->name; option++) {
        if (strncmp(option->name, name, strlen(name)) == 0) return option;
        size_t edits = tn_edits_count(name, option->name);
        if (edits >= least) continue;
        least = edits;
        *nearest_out = option->name;
    }
    return NULL;
}

/* argp tells of unknown options by itself, but not what may have been meant. */
static void check_option_names(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char name[TN_EDITS_LENGTH_MAX + 2];
        const char *nearest = NULL;
        if (strncmp(argv[i], "--", 2) != 0) continue;
        size_t length = strcspn(argv[i] + 2, "=");
        snprintf(name, sizeof name, "%.*s", (int)length, argv[i] + 2);
        const struct argp_option *option = find_option(name, &nearest);
        bool takes_next = option && option->arg && (option->flags & OPTION_ARG_OPTIONAL) == 0 &&
                          argv[i][2 + length] != '=';
        if (takes_next) i++;
        if (option || hint_at(name, nearest).text[0] == '\0') continue;
        fprintf(stderr, "tarn-bench: there is no option '--%s'; did you mean '--%s'?\n", name,
                nearest);
        exit(EXIT_BAD_USAGE);
    }
}

static void parse_argument(struct argp_state *state, struct parsing *parsing, const char *text)
{
    struct tn_options *options = parsing->options;
    if (state->arg_num == 0 && strcmp(text, "help") == 0) {
        parsing->is_help = true;
        return;
    }
    if (!options->command) {
        options->command = tn_command_find(text);
        if (!options->command) fail_for_command(state, text);
        return;
    }
    if (options->command->arguments[0] == '\0')
        argp_error(state, "'%s' is one argument too many: only replay and all take any", text);
    /* The rest are traces: argp has moved the options before them. */
    options->traces = (const char *const *)&state->argv[state->next - 1];
    options->trace_count = (size_t)state->argc - (size_t)state->next + 1;
    state->next = state->argc;
}

/* --- what fits together -------------------------------------------------------------------------- */

/* An option of some commands, and of `all` if that has them. */
struct restriction {
    int key;
    const struct tn_command *commands[6]; /* ended by NULL */
};

static const struct restriction restrictions[] = {
    { KEY_SIZES, { &tn_command_sweep } },
    { KEY_COUNTS, { &tn_command_live } },
    { KEY_LIVE, { &tn_command_churn, &tn_command_threads, &tn_command_streams } },
    { KEY_THREADS, { &tn_command_threads } },
    { KEY_SHARED, { &tn_command_threads } },
    { KEY_ONE_STREAM, { &tn_command_threads } },
    { KEY_STREAMS, { &tn_command_streams } },
    { KEY_UNTIL, { &tn_command_growth } },
    { KEY_FAMILY, { &tn_command_patterns } },
    { KEY_VARIANT, { &tn_command_patterns } },
    { KEY_DRAWS, { &tn_command_patterns } },
    { KEY_SIZE_RANGE,
      { &tn_command_live, &tn_command_churn, &tn_command_threads, &tn_command_streams,
        &tn_command_growth } },
    { KEY_FAITHFUL, { &tn_command_replay } },
    /* Streams fills each block by itself; the other missing commands have no place for it. */
    { KEY_TOUCH,
      { &tn_command_hot, &tn_command_sweep, &tn_command_live, &tn_command_churn,
        &tn_command_replay } },
    { KEY_LATENCY,
      { &tn_command_sweep, &tn_command_live, &tn_command_churn, &tn_command_growth,
        &tn_command_replay } },
};

static const char *name_of(int key)
{
    const struct argp_option *option = option_table;
    while (option->key != key)
        option++;
    return option->name;
}

static bool allows(const struct restriction *restriction, const struct tn_command *command)
{
    for (size_t i = 0; restriction->commands[i]; i++)
        if (restriction->commands[i] == command) return true;
    return command == &tn_command_all && restriction->commands[0] != &tn_command_patterns;
}

/* "churn, threads and streams". */
static void list_commands(const struct restriction *restriction, char *text_out, size_t size)
{
    const struct tn_command *const *commands = restriction->commands;
    size_t length = 0;
    for (size_t i = 0; commands[i]; i++) {
        const char *before = i == 0 ? "" : commands[i + 1] ? ", " : " and ";
        length +=
            (size_t)snprintf(text_out + length, size - length, "%s%s", before, commands[i]->name);
    }
}

static void check_restrictions(struct argp_state *state, const struct parsing *parsing)
{
    for (size_t i = 0; i < sizeof restrictions / sizeof restrictions[0]; i++) {
        const struct restriction *restriction = &restrictions[i];
        if (!is_given(parsing, restriction->key) || allows(restriction, parsing->options->command))
            continue;
        char commands[128];
        list_commands(restriction, commands, sizeof commands);
        argp_error(state, "--%s is an option of %s only", name_of(restriction->key), commands);
    }
    static const int of_faithful[] = { KEY_ORDER, KEY_SPEED };
    for (size_t i = 0; i < sizeof of_faithful / sizeof of_faithful[0]; i++)
        if (is_given(parsing, of_faithful[i]) && !is_given(parsing, KEY_FAITHFUL))
            argp_error(state, "--%s is an option of replay --faithful only",
                       name_of(of_faithful[i]));
    static const int without_latency[] = { KEY_FAITHFUL, KEY_TOUCH };
    for (size_t i = 0; i < sizeof without_latency / sizeof without_latency[0]; i++)
        if (is_given(parsing, KEY_LATENCY) && is_given(parsing, without_latency[i]))
            argp_error(state, "--latency cannot be measured with --%s",
                       name_of(without_latency[i]));
    if (is_given(parsing, KEY_LATENCY) && !parsing->options->json_path)
        argp_error(state, "--latency goes to the file of --json, which is missing");
}

/* Writing the results would destroy the trace before it is played. */
static void check_not_a_trace(struct argp_state *state, const struct tn_options *options,
                              const char *option, const char *path)
{
    for (size_t i = 0; path && i < options->trace_count; i++)
        if (strcmp(options->traces[i], path) == 0)
            argp_error(state, "--%s is '%s', which is a trace to play", option, path);
}

static void check_does_not_exist(struct argp_state *state, const char *option, const char *path)
{
    struct stat status;
    if (path && stat(path, &status) == 0 && S_ISREG(status.st_mode))
        argp_error(state, "--%s: %s exists already; --force replaces it", option, path);
}

static void check_files(struct argp_state *state, const struct parsing *parsing)
{
    const struct tn_options *options = parsing->options;
    const char *json_path = options->json_path;
    const char *csv_path = options->csv_path;
    if (options->command == &tn_command_allocators && json_path)
        argp_error(state, "--json is no option of allocators");
    if (options->command == &tn_command_allocators && csv_path)
        argp_error(state, "--csv is no option of allocators");
    if (json_path && csv_path && strcmp(json_path, csv_path) == 0)
        argp_error(state, "--json and --csv are both '%s'", json_path);
    check_not_a_trace(state, options, "json", json_path);
    check_not_a_trace(state, options, "csv", csv_path);
    if (parsing->replaces_files) return;
    check_does_not_exist(state, "json", json_path);
    check_does_not_exist(state, "csv", csv_path);
}

/* The folder of the traces that come along: the installation's, or the source's. */
static void find_traces(char folder[PATH_MAX])
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    int written = snprintf(folder, PATH_MAX, "%s/%s", program, TN_BENCH_INSTALLED_TRACES);
    if (written < PATH_MAX && access(folder, R_OK) == 0) return;
    snprintf(folder, PATH_MAX, "%s", TN_BENCH_TRACES);
}

/* Takes the traces that come along unless the user named some. */
static void complete_all(const struct parsing *parsing)
{
    struct tn_options *options = parsing->options;
    static const char *const names[] = { "examinimd-lj", "omegah-warp-3d-small-cut",
                                         "torch_resnet-cut" };
    enum {
        COUNT = sizeof names / sizeof names[0]
    };
    static char paths[COUNT][PATH_MAX + 64];
    static const char *traces[COUNT];
    char folder[PATH_MAX];
    if (!is_given(parsing, KEY_TIME)) options->time_seconds = 1.0;
    if (options->trace_count > 0) return;
    find_traces(folder);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s.trace.gz", folder, names[i]);
        traces[i] = paths[i];
    }
    options->traces = traces;
    options->trace_count = COUNT;
}

/* --- help ------------------------------------------------------------------------------------------ */

static bool is_of_faithful(int key)
{
    return key == KEY_ORDER || key == KEY_SPEED || key == KEY_FAITHFUL;
}

/* Whether the help of a command has the option. */
static bool is_option_of(int key, const struct tn_command *command)
{
    if (!command) return true;
    if (is_of_faithful(key)) return command == &tn_command_replay || command == &tn_command_all;
    for (size_t i = 0; i < sizeof restrictions / sizeof restrictions[0]; i++)
        if (restrictions[i].key == key) return allows(&restrictions[i], command);
    return command != &tn_command_allocators || key == KEY_HELP || key == KEY_USAGE ||
           key == KEY_VERSION;
}

static void describe_commands(FILE *text)
{
    fprintf(text, "Compares memory allocators for devices.\n\nCommands:\n");
    for (size_t i = 0; tn_command_table[i]; i++) {
        const struct tn_command *command = tn_command_table[i];
        char words[32];
        snprintf(words, sizeof words, "%s %s", command->name, command->arguments);
        fprintf(text, "  %-15s  %s\n", words, command->summary);
    }
    fprintf(text,
            "  %-15s  prints this, or the help of a command\n\n%s\n\nOptions:", "help [COMMAND]",
            allocators_text);
}

/* The text before the options and, behind a \v, the text after them. NULL: no memory. */
static char *describe(const struct tn_command *command)
{
    char *described = NULL;
    size_t size;
    FILE *text = open_memstream(&described, &size);
    if (!text) return NULL;
    if (command)
        fprintf(text, "tarn-bench %s: %s.\n\nOptions:", command->name, command->summary);
    else
        describe_commands(text);
    fputc('\v', text);
    if (is_option_of(KEY_FAITHFUL, command)) fprintf(text, "%s\n\n", faithful_text);
    fputs(ending, text);
    return fclose(text) == 0 ? described : NULL;
}

/* Ends the process. command: NULL, or what to tell of. */
static void print_help(const struct tn_command *command, FILE *stream, unsigned flags)
{
    struct argp_option shown[sizeof option_table / sizeof option_table[0]];
    char name[32], *text = describe(command);
    size_t count = 0;
    for (const struct argp_option *option = option_table; option->name; option++)
        if (is_option_of(option->key, command)) shown[count++] = *option;
    shown[count] = (struct argp_option){ 0 };
    snprintf(name, sizeof name, "tarn-bench%s%s", command ? " " : "", command ? command->name : "");
    const struct argp parser = { shown, NULL, command ? command->arguments : "COMMAND", text, NULL,
                                 NULL,  NULL };
    argp_help(&parser, stream, flags & ~(unsigned)ARGP_HELP_EXIT_OK, name);
    free(text);
    exit(EXIT_SUCCESS);
}

static void fail_without_command(struct argp_state *state)
{
    char names[160];
    size_t length = 0;
    for (size_t i = 0; tn_command_table[i] && length < sizeof names; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s, ",
                                   tn_command_table[i]->name);
    argp_error(state, "a command is missing: %shelp", names);
}

static void check_command(struct argp_state *state, const struct parsing *parsing)
{
    const struct tn_command *command = parsing->options->command;
    if (parsing->is_help) print_help(command, stdout, ARGP_HELP_STD_HELP);
    if (!command) fail_without_command(state);
    if (command == &tn_command_replay && parsing->options->trace_count == 0)
        argp_error(state, "replay needs the name of a trace");
    check_files(state, parsing);
    check_restrictions(state, parsing);
    if (command == &tn_command_all) complete_all(parsing);
    if (command == &tn_command_patterns && !is_given(parsing, KEY_TIME))
        parsing->options->time_seconds = 0.05; /* there are many */
}

/* --- one option after the other ------------------------------------------------------------------- */

/* Options that only some commands take. */
static error_t parse_special_option(int key, const char *text, struct argp_state *state,
                                    struct tn_options *options)
{
    switch (key) {
    case KEY_FAITHFUL:
        options->is_faithful = true;
        return 0;
    case KEY_ORDER:
        options->order = tn_option_parse_order(state, text);
        return 0;
    case KEY_SPEED:
        options->speed = tn_option_parse_speed(state, text);
        return 0;
    case KEY_TOUCH:
        options->touch_bytes = tn_option_parse_touch(state, text);
        return 0;
    case KEY_SIZES:
        tn_option_parse_list(state, "sizes", text, tn_size_parse, TN_SIZE_BYTES_MAX,
                             &options->sizes);
        return 0;
    case KEY_COUNTS:
        tn_option_parse_list(state, "counts", text, tn_number_parse, TN_LIVE_COUNT_MAX,
                             &options->counts);
        return 0;
    case KEY_LIVE:
        tn_option_parse_list(state, "live", text, tn_number_parse, TN_LIVE_COUNT_MAX,
                             &options->live_counts);
        return 0;
    case KEY_THREADS:
        tn_option_parse_list(state, "threads", text, tn_number_parse, THREADS_MAX,
                             &options->thread_counts);
        return 0;
    case KEY_SHARED:
        options->is_shared = true;
        return 0;
    case KEY_ONE_STREAM:
        options->settings.has_one_stream = true;
        return 0;
    case KEY_STREAMS:
        tn_option_parse_list(state, "streams", text, tn_number_parse, STREAMS_MAX,
                             &options->stream_counts);
        return 0;
    case KEY_LATENCY:
        options->has_latency = true;
        return 0;
    case KEY_UNTIL:
        options->is_until_full = strcmp(text, "full") == 0;
        if (options->is_until_full) return 0;
        tn_option_parse_list(state, "until", text, tn_size_parse, TN_SIZE_BYTES_MAX,
                             &options->growth_sizes);
        return 0;
    case KEY_FAMILY:
        options->families = tn_option_parse_names(state, "family", text, tn_pattern_families);
        return 0;
    case KEY_VARIANT:
        options->variants = tn_option_parse_names(state, "variant", text, tn_pattern_variants);
        return 0;
    case KEY_DRAWS:
        options->draw_count = (size_t)tn_option_parse_one(state, "draws", text, tn_number_parse, 1,
                                                          TN_PATTERN_DRAWS_MAX);
        return 0;
    case KEY_SIZE_RANGE:
        tn_option_parse_size_range(state, text, &options->size_range);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct tn_options *options = parsing->options;
    if (key >= KEY_ALLOCATOR && key < KEY_END) parsing->given |= bit_of(key);
    switch (key) {
    case KEY_ALLOCATOR:
        tn_option_parse_allocators(state, text, options);
        return 0;
    case KEY_JSON:
        options->json_path = text;
        return 0;
    case KEY_CSV:
        options->csv_path = text;
        return 0;
    case KEY_FORCE:
        parsing->replaces_files = true;
        return 0;
    case KEY_HELP:
        parsing->is_help = true;
        return 0;
    case KEY_USAGE:
        print_help(NULL, stdout, ARGP_HELP_STD_USAGE & ~(unsigned)ARGP_HELP_EXIT_ERR);
        return 0;
    case KEY_VERSION:
        puts(version_text);
        exit(EXIT_SUCCESS);
    case KEY_SEED:
        options->seed = tn_option_parse_one(state, "seed", text, tn_number_parse, 0, UINT64_MAX);
        return 0;
    case KEY_REPETITIONS:
        options->repetitions = (size_t)tn_option_parse_one(state, "repetitions", text,
                                                           tn_number_parse, 1, REPETITIONS_MAX);
        return 0;
    case KEY_TIME:
        options->time_seconds = tn_option_parse_time(state, text);
        return 0;
    case KEY_DEVICE:
        options->settings.device =
            (int)tn_option_parse_one(state, "device", text, tn_number_parse, 0, DEVICE_MAX);
        return 0;
    case KEY_INITIAL:
        options->settings.initial_bytes = (size_t)tn_option_parse_one(
            state, "initial", text, tn_size_parse, 0, TN_SIZE_BYTES_MAX);
        return 0;
    case KEY_GROWTH_MAX:
        options->settings.growth_bytes_max = (size_t)tn_option_parse_one(
            state, "growth-max", text, tn_size_parse, 0, TN_SIZE_BYTES_MAX);
        return 0;
    case KEY_ALIGNMENT:
        options->settings.alignment_bytes =
            (size_t)tn_option_parse_one(state, "alignment", text, tn_size_parse,
                                        TARN_ALIGNMENT_BYTES_MIN, TARN_CHUNK_BYTES_DEFAULT);
        return 0;
    case KEY_STEP:
        options->settings.step_bytes =
            (size_t)tn_option_parse_one(state, "step", text, tn_size_parse, 0, TN_SIZE_BYTES_MAX);
        return 0;
    case KEY_STREAM_SLACK:
        options->settings.stream_slack = tn_option_parse_share(state, text);
        return 0;
    case ARGP_KEY_ARG:
        parse_argument(state, parsing, text);
        return 0;
    case ARGP_KEY_END:
        check_command(state, parsing);
        return 0;
    default:
        return parse_special_option(key, text, state, options);
    }
}

static void set_defaults(struct tn_options *options)
{
    *options = (struct tn_options){
        .seed = 1,
        .repetitions = 15,
        .time_seconds = 10.0,
        .settings = { .device = 0,
                      .initial_bytes = TARN_INITIAL_BYTES_DEFAULT,
                      .growth_bytes_max = TARN_GROWTH_BYTES_MAX_DEFAULT,
                      .alignment_bytes = TARN_ALIGNMENT_BYTES_DEFAULT,
                      .stream_slack = 0.25 },
    };
    for (size_t i = 0; tn_allocator_table[i]; i++)
        if (!tn_allocator_must_be_named(tn_allocator_table[i]))
            options->allocators[options->allocator_count++] = tn_allocator_table[i];
}

void tn_options_parse(int argc, char **argv, struct tn_options *options_out)
{
    static const struct argp parser = { option_table, parse_option, "COMMAND", NULL,
                                        NULL,         NULL,         NULL };
    set_defaults(options_out);
    struct parsing parsing = { .options = options_out };
    argp_err_exit_status = EXIT_BAD_USAGE;
    check_option_names(argc, argv);
    if (argp_parse(&parser, argc, argv, ARGP_NO_HELP, NULL, &parsing) != 0) exit(EXIT_BAD_USAGE);
}
