/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn-run: runs a program that knows nothing of tarn with its device memory from tarn's pools.
 *
 * libtarn_run_cuda.so and libtarn_run_hip.so, which it preloads, do that in each process. Each does nothing in a process
 * without its vendor. Here are the options, which become variables of the environment, the programs that are refused, and
 * what is told of the libraries' reports.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/size_text.h"
#include "../recorders/launch.h"
#include "tarn/version.h"

#include "compare.h"
#include "explain.h"
#include "program_check.h"
#include "report.h"

enum {
    RUN_COUNT_MAX = 1000
};

const char tn_launch_name[] = "tarn-run";

const char tn_launch_usage[] =
    "Usage: tarn-run [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
    "       tarn-run --compare [--runs N] [--quiet] [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs a CUDA or HIP program that was not built with tarn, so that its device memory comes from\n"
    "tarn's pools. The program need not be changed, compiled or linked again. All processes that it\n"
    "starts are served, too.\n"
    "\n"
    "  --preset lean       pools that hold little more than is in use (TARN_PRESET)\n"
    "  --limit SIZE        the most that a pool holds, such as 8G or 50% (TARN_LIMIT)\n"
    "  --up-to SIZE        larger requests go to the driver, for example memory that is shared with\n"
    "                      other processes (TARN_RUN_UP_TO)\n"
    "  --sync-frees        cudaFree keeps the host until the work of its context is done, as it does\n"
    "                      without tarn (TARN_RUN_SYNC_FREES=1)\n"
    "  --stats             print what each pool did, at the end (TARN_STATS=exit)\n"
    "  --trace FILE        record the allocations as a trace (TARN_TRACE); %p in the name stands for\n"
    "                      the number of the process\n"
    "  --poison            fill memory with a pattern when it is allocated and freed, which finds\n"
    "                      programs that read memory they have not written (TARN_DEBUG=poison)\n"
    "  --log LEVEL         messages: off, warning or info (TARN_LOG)\n"
    "  --explain           print at the end which of the vendor's functions were caught, where and\n"
    "                      how, and which calls passed through to the driver, and why\n"
    "  --compare           run the program without tarn and with it, and print time, calls and\n"
    "                      memory side by side\n"
    "  --runs N            how often each, in alternating order (default 1)\n"
    "  --quiet             without the output and errors of the program\n"
    "  -h, --help\n"
    "      --version\n"
    "\n"
    "Exit status: the program's, or 128 + its signal's number if it was killed; 125 if tarn cannot\n"
    "serve the program, or if the command line is wrong; 126, 127 if the program cannot be run.\n"
    "With --compare: that of the first run that does not end with 0.\n";

/* --- arguments ---------------------------------------------------------------------------------------- */

struct arguments {
    bool explains, compares, is_quiet;
    unsigned run_count; /* 0: not given */
    char **command;
};

enum {
    OPTION_PRESET = 256,
    OPTION_LIMIT,
    OPTION_UP_TO,
    OPTION_SYNC_FREES,
    OPTION_STATS,
    OPTION_TRACE,
    OPTION_POISON,
    OPTION_LOG,
    OPTION_EXPLAIN,
    OPTION_COMPARE,
    OPTION_RUNS,
    OPTION_QUIET,
    OPTION_VERSION
};

static const struct option options[] = {
    { "preset", required_argument, NULL, OPTION_PRESET },
    { "limit", required_argument, NULL, OPTION_LIMIT },
    { "up-to", required_argument, NULL, OPTION_UP_TO },
    { "sync-frees", no_argument, NULL, OPTION_SYNC_FREES },
    { "stats", no_argument, NULL, OPTION_STATS },
    { "trace", required_argument, NULL, OPTION_TRACE },
    { "poison", no_argument, NULL, OPTION_POISON },
    { "log", required_argument, NULL, OPTION_LOG },
    { "explain", no_argument, NULL, OPTION_EXPLAIN },
    { "compare", no_argument, NULL, OPTION_COMPARE },
    { "runs", required_argument, NULL, OPTION_RUNS },
    { "quiet", no_argument, NULL, OPTION_QUIET },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, OPTION_VERSION },
    { NULL, 0, NULL, 0 },
};

static void set_preset(const char *value)
{
    if (strcmp(value, "lean") != 0) tn_launch_fail("--preset is \"%s\", not lean", value);
    tn_launch_set("TARN_PRESET", value);
}

static void set_limit(const char *value)
{
    size_t bytes;
    unsigned percent;
    if (!tn_size_text_parse_percent(value, &percent) &&
        (!tn_size_text_parse_bytes(value, &bytes) || bytes == 0)) {
        tn_launch_fail(
            "--limit is \"%s\", not a number of bytes such as 8G, with K, M, G or T, nor 1%% "
            "to 100%%",
            value);
    }
    tn_launch_set("TARN_LIMIT", value);
}

static void set_up_to(const char *value)
{
    size_t bytes;
    if (!tn_size_text_parse_bytes(value, &bytes))
        tn_launch_fail("--up-to is \"%s\", not a number of bytes such as 64M, with K, M, G or T",
                       value);
    tn_launch_set("TARN_RUN_UP_TO", value);
}

static void set_trace(const char *value)
{
    if (value[0] == '\0') tn_launch_fail("--trace needs the name of a file");
    tn_launch_set("TARN_TRACE", value);
}

static void set_log(const char *value)
{
    if (strcmp(value, "off") != 0 && strcmp(value, "warning") != 0 && strcmp(value, "info") != 0)
        tn_launch_fail("--log is \"%s\", not off, warning or info", value);
    tn_launch_set("TARN_LOG", value);
}

/* Other checks that the user has asked for stay. */
static void set_poison(void)
{
    const char *others = getenv("TARN_DEBUG");
    bool has_others = others && others[0] != '\0';
    char *flags = tn_launch_text("%s%spoison", has_others ? others : "", has_others ? "," : "");
    tn_launch_set("TARN_DEBUG", flags);
    free(flags);
}

static unsigned parse_run_count(const char *value)
{
    size_t number;
    const char *rest;
    if (!tn_size_text_parse_number(value, &number, &rest) || *rest != '\0' || number < 1 ||
        number > RUN_COUNT_MAX)
        tn_launch_fail("--runs is \"%s\", not a number from 1 to %d", value, RUN_COUNT_MAX);
    return (unsigned)number;
}

static void take_option(struct arguments *arguments, int option, char **argv)
{
    switch (option) {
    case OPTION_PRESET:
        set_preset(optarg);
        break;
    case OPTION_LIMIT:
        set_limit(optarg);
        break;
    case OPTION_UP_TO:
        set_up_to(optarg);
        break;
    case OPTION_SYNC_FREES:
        tn_launch_set("TARN_RUN_SYNC_FREES", "1");
        break;
    case OPTION_STATS:
        tn_launch_set("TARN_STATS", "exit");
        break;
    case OPTION_TRACE:
        set_trace(optarg);
        break;
    case OPTION_POISON:
        set_poison();
        break;
    case OPTION_LOG:
        set_log(optarg);
        break;
    case OPTION_EXPLAIN:
        arguments->explains = true;
        break;
    case OPTION_COMPARE:
        arguments->compares = true;
        break;
    case OPTION_RUNS:
        arguments->run_count = parse_run_count(optarg);
        break;
    case OPTION_QUIET:
        arguments->is_quiet = true;
        break;
    case 'h':
        fputs(tn_launch_usage, stdout);
        exit(EXIT_SUCCESS);
    case OPTION_VERSION:
        printf("tarn-run %d.%d.%d\n", TARN_VERSION_MAJOR, TARN_VERSION_MINOR, TARN_VERSION_PATCH);
        exit(EXIT_SUCCESS);
    default:
        tn_launch_fail_for_option(argv[optind - 1], options);
    }
}

static struct arguments parse(int argc, char **argv)
{
    struct arguments arguments = { 0 };
    int option;
    /* The plus: options after the program belong to the program. */
    while ((option = getopt_long(argc, argv, "+h", options, NULL)) != -1)
        take_option(&arguments, option, argv);
    arguments.command = argv + optind;
    if (optind == argc) tn_launch_fail_for_usage("there is no program");
    if (!arguments.compares && (arguments.run_count > 0 || arguments.is_quiet))
        tn_launch_fail_for_usage("--runs and --quiet are for --compare");
    if (arguments.compares && arguments.explains)
        tn_launch_fail_for_usage("--explain is for one run, and --compare has several");
    return arguments;
}

/* --- running ------------------------------------------------------------------------------------------ */

static int run(const struct arguments *arguments)
{
    tn_report_begin_run();
    int status = tn_launch_run(arguments->command, false);
    struct tn_reports reports = tn_reports_read();
    /* If the program could not be run, its message is enough. */
    if (status != TN_LAUNCH_EXIT_CANNOT_RUN && status != TN_LAUNCH_EXIT_NOT_FOUND)
        tn_explain_nothing(&reports, status);
    if (arguments->explains) tn_explain_print(&reports);
    tn_reports_fini(&reports);
    return status;
}

/* Which vendor a program uses shows when it runs. */
static void preload(const char *program)
{
    static const char *const names[] = { "libtarn_run_hip.so", "libtarn_run_cuda.so" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *library = tn_launch_library(names[i]);
        char *refusal = tn_program_check(program, library);
        if (refusal) tn_launch_fail("%s", refusal);
        tn_launch_preload(library);
        free(library);
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments = parse(argc, argv);
    preload(arguments.command[0]);
    (void)unsetenv(
        "TARN_FREE"); /* a program that does not name its streams needs frees that wait */
    tn_launch_watch_signals();
    tn_report_create_folder();
    if (!arguments.compares) return run(&arguments);
    return tn_compare(arguments.command, arguments.run_count > 0 ? arguments.run_count : 1,
                      arguments.is_quiet);
}
