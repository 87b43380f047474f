/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn-record: records a program's allocations from its vendor's runtime, or from Kokkos, as a trace.
 *
 * It runs the program with a preloaded library that writes events to a file for each process. When the
 * program has ended, in whatever way, it makes traces of the files. So the program itself does nothing at its
 * end.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host_memory.h"
#include "record/trace_path.h"
#include "tarn/version.h"

#include "launch.h"
#include "process_recording.h"
#include "run_files.h"
#include "trace_file.h"

struct arguments {
    const char *trace_path;
    const char *recovered_path; /* a file of events; NULL: run a command */
    bool is_kokkos;
    bool has_host;
    bool replaces;
    char **command;
};

const char tn_launch_name[] = "tarn-record";

const char tn_launch_usage[] =
    "Usage: tarn-record [-o TRACE] [--host] [--kokkos] [--] COMMAND [ARGUMENT...]\n"
    "       tarn-record --recover EVENTS [-o TRACE]\n"
    "\n"
    "Runs a command and records its allocations and frees on devices as a trace, which\n"
    "`tarn-bench replay` plays on any allocator. It records calls of libcuda, libamdhip64\n"
    "and Level Zero's loader, by the command and all processes that it starts. Of a\n"
    "process that uses tarn it records what that asks of tarn, by TARN_TRACE.\n"
    "\n"
    "  -o, --output TRACE  the trace (default trace.gz); compressed if it ends in .gz. If several\n"
    "                      processes allocate, the other traces have the process's number before\n"
    "                      the ending. %p stands for the number of tarn-record's own process, %r for\n"
    "                      the rank that a launcher of MPI gives it\n"
    "      --host          also record page-locked host memory\n"
    "      --kokkos        record the allocations of Kokkos, with labels, instead of vendor calls:\n"
    "                      in device spaces, or in those of TARN_KOKKOS_SPACES (a comma-separated\n"
    "                      list, or all)\n"
    "      --force         replace a trace that exists\n"
    "      --recover EVENTS  make the trace of a file of events, which TARN_TRACE, tarn_record_start\n"
    "                      or a killed tarn-record has left. The trace takes the place of the events,\n"
    "                      without an ending .events. With -o the events stay; `-o -` is standard\n"
    "                      output\n"
    "  -h, --help\n"
    "      --version\n"
    "\n"
    "Exit status: the command's, or 128 + its signal's number if it was killed; 125 if the\n"
    "command ended with 0 and there is no trace, since nothing was recorded or it cannot be written,\n"
    "or if it exists and --force is not given, or if the command line is wrong; 126, 127 if the\n"
    "command cannot be run.\n";

/* --- arguments ---------------------------------------------------------------------------------------- */

static const struct option options[] = {
    { "output", required_argument, NULL, 'o' },  { "force", no_argument, NULL, 'f' },
    { "host", no_argument, NULL, 'H' },          { "kokkos", no_argument, NULL, 'k' },
    { "recover", required_argument, NULL, 'r' }, { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },       { NULL, 0, NULL, 0 },
};

static struct arguments parse(int argc, char **argv)
{
    struct arguments arguments = { 0 };
    int option;
    /* The plus: options after the command belong to the command. */
    while ((option = getopt_long(argc, argv, "+o:h", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            arguments.trace_path = optarg;
            break;
        case 'f':
            arguments.replaces = true;
            break;
        case 'H':
            arguments.has_host = true;
            break;
        case 'k':
            arguments.is_kokkos = true;
            break;
        case 'r':
            arguments.recovered_path = optarg;
            break;
        case 'h':
            fputs(tn_launch_usage, stdout);
            exit(EXIT_SUCCESS);
        case 'V':
            printf("tarn-record %d.%d.%d\n", TARN_VERSION_MAJOR, TARN_VERSION_MINOR,
                   TARN_VERSION_PATCH);
            exit(EXIT_SUCCESS);
        default:
            tn_launch_fail_for_option(argv[optind - 1], options);
        }
    }
    arguments.command = argv + optind;
    if (arguments.recovered_path && optind < argc)
        tn_launch_fail_for_usage("--recover takes no command");
    if (!arguments.recovered_path && optind == argc)
        tn_launch_fail_for_usage("there is no command");
    if (arguments.is_kokkos && arguments.has_host)
        tn_launch_fail_for_usage(
            "--host is for vendor calls, which --kokkos does not record; for Kokkos\n"
            "use TARN_KOKKOS_SPACES=Host");
    return arguments;
}

static bool ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), ending_length = strlen(ending);
    return length > ending_length && strcmp(text + length - ending_length, ending) == 0;
}

/* --- traces ------------------------------------------------------------------------------------------- */

/* Keeps devices and pipes, which existed before. */
static void remove_plain(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) unlink(path);
}

enum outcome {
    OUTCOME_FAILED, /* a message was printed */
    OUTCOME_EMPTY,  /* there were no events, and there is no trace */
    OUTCOME_WRITTEN
};

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Makes the trace and removes the events, unless keeps_events. */
static enum outcome write_trace(const char *event_path, const char *trace_path, bool keeps_events)
{
    struct tn_trace_summary summary;
    struct tn_failure failure;
    signal(SIGXFSZ, SIG_IGN); /* the write fails */
    if (!tn_trace_file_make(event_path, trace_path, keeps_events, &summary, &failure)) {
        fprintf(stderr, "tarn-record: %s\n", failure.text);
        return OUTCOME_FAILED;
    }
    if (summary.alloc_count + summary.free_count == 0) return OUTCOME_EMPTY;
    fprintf(stderr,
            "tarn-record: %s: %" PRIu64 " allocation%s and %" PRIu64 " free%s of process %" PRIu64
            ", %" PRIu64 " thread%s, %" PRIu64 " stream%s besides the default one\n",
            trace_path, summary.alloc_count, plural(summary.alloc_count), summary.free_count,
            plural(summary.free_count), summary.process, summary.thread_count,
            plural(summary.thread_count), summary.stream_count, plural(summary.stream_count));
    if (summary.lost_count > 0) {
        fprintf(stderr,
                "tarn-record: lost %" PRIu64
                " event%s: the disk was full, their file was closed, or a signal handler\n"
                "interrupted another event\n",
                summary.lost_count, plural(summary.lost_count));
    }
    return OUTCOME_WRITTEN;
}

/* A recording of an earlier day would be lost. */
static bool is_kept(const struct arguments *arguments, const char *trace_path)
{
    struct stat status;
    return !arguments->replaces && stat(trace_path, &status) == 0 && S_ISREG(status.st_mode);
}

static void keep_trace(const struct arguments *arguments, const char *trace_path)
{
    if (!is_kept(arguments, trace_path)) return;
    fprintf(stderr, "tarn-record: %s exists already; --force replaces it\n", trace_path);
    exit(TN_LAUNCH_EXIT_OURS);
}

static enum outcome take_file(const struct tn_run_file *file, const char *trace_path)
{
    enum outcome outcome = write_trace(file->path, trace_path, false);
    if (outcome == OUTCOME_EMPTY) remove_plain(trace_path);
    if (file->is_tarns && outcome == OUTCOME_WRITTEN)
        fprintf(stderr,
                "tarn-record: process %s uses tarn: %s has what it asked of tarn, by TARN_TRACE\n",
                file->process, trace_path);
    return outcome;
}

static bool are_same(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Files of events that tarn-record left end in .events. Those of TARN_TRACE have the name that the user gave. */
static char *recovered_trace_path(const char *events)
{
    size_t length = strlen(events);
    if (ends_in(events, ".events")) length -= strlen(".events");
    return tn_launch_text("%.*s", (int)length, events);
}

static int recover(const struct arguments *arguments)
{
    const char *events = arguments->recovered_path;
    char *trace_path = arguments->trace_path ? tn_launch_text("%s", arguments->trace_path)
                                             : recovered_trace_path(events);
    if (!are_same(events, trace_path)) keep_trace(arguments, trace_path);
    enum outcome outcome = write_trace(events, trace_path, arguments->trace_path != NULL);
    if (outcome == OUTCOME_EMPTY) fprintf(stderr, "tarn-record: %s has no events\n", events);
    free(trace_path);
    return outcome == OUTCOME_FAILED ? TN_LAUNCH_EXIT_OURS : EXIT_SUCCESS;
}

/* If the command could not be run, its message is enough. */
static void tell_that_there_is_nothing(const struct arguments *arguments, int status)
{
    if (status == TN_LAUNCH_EXIT_CANNOT_RUN || status == TN_LAUNCH_EXIT_NOT_FOUND) return;
    if (arguments->is_kokkos) {
        fprintf(
            stderr,
            "tarn-record: nothing was recorded. Possible reasons: the command does not use Kokkos; Kokkos\n"
            "called no tool (before 3.0 it has none); or it allocated only in spaces that are not\n"
            "recorded: host space has to be requested with TARN_KOKKOS_SPACES.\n");
        return;
    }
    fprintf(
        stderr,
        "tarn-record: nothing was recorded: no call of libcuda, libamdhip64 or Level Zero's loader was\n"
        "seen. Possible reasons:\n"
        " - %s does not allocate on a device, or uses another runtime;\n"
        " - it looks up Level Zero's functions by dlsym, or by the loader's tables;\n"
        " - it is statically linked, runs with other rights than you, or drops LD_PRELOAD.\n",
        arguments->command[0]);
}

/* Returns the number of traces. Failures were reported. */
static size_t write_traces(const struct arguments *arguments, int status, const char *trace_path,
                           const char *prefix, bool *is_whole_out)
{
    struct tn_run_files files;
    size_t count = 0;
    *is_whole_out = tn_run_files_find(&files, prefix);
    if (!*is_whole_out) {
        fprintf(stderr, "tarn-record: %s cannot be written: its folder cannot be read: %s\n",
                trace_path, strerror(errno));
    }
    /* Another tarn-record of the same launcher may have written its trace meanwhile. */
    bool is_taken = is_kept(arguments, trace_path);
    for (size_t i = 0; i < files.count; i++) {
        char *path =
            count == 0 && !is_taken
                ? tn_launch_text("%s", trace_path)
                : tn_launch_require(tn_run_files_trace_path(trace_path, files.files[i].process));
        enum outcome outcome = take_file(&files.files[i], path);
        count += outcome == OUTCOME_WRITTEN;
        *is_whole_out = *is_whole_out && outcome != OUTCOME_FAILED;
        free(path);
    }
    tn_run_files_fini(&files);
    if (count == 0 && *is_whole_out) tell_that_there_is_nothing(arguments, status);
    return count;
}

/* --- running ------------------------------------------------------------------------------------------ */

/* For processes that use tarn, unless the user has a place for their traces. */
static void set_trace(const char *file)
{
    const char *users = getenv("TARN_TRACE");
    if (users && users[0] != '\0') return;
    char *pattern = tn_launch_require(malloc(2 * strlen(file) + 1)), *to = pattern;
    for (const char *from = file; *from != '\0'; from++) {
        if (*from == '%') *to++ = '%';
        *to++ = *from;
    }
    *to = '\0';
    char *trace = tn_launch_text("%s-%%p" TN_RUN_FILES_TARN, pattern);
    tn_launch_set("TARN_TRACE", trace);
    free(trace);
    free(pattern);
}

/* Level Zero's calls are recorded by a library of tarn-record's own, those of CUDA and HIP by the libraries of tarn-run. */
static const char *const preloaded[] = {
    "libtarn_record_preload.so",
#if TN_HAS_RUN
    "libtarn_run_hip.so",
    "libtarn_run_cuda.so",
#endif
};

static void set_environment(const struct arguments *arguments, const char *file)
{
    tn_launch_set(TN_RECORD_FILE_VARIABLE, file);
    tn_launch_set(TN_RECORD_HOST_VARIABLE, arguments->has_host ? "1" : "0");
    if (arguments->is_kokkos) {
        char *library = tn_launch_library("libtarn_record_kokkos.so");
        tn_launch_set("KOKKOS_TOOLS_LIBS", library);
        tn_launch_set("KOKKOS_PROFILE_LIBRARY", library);
        free(library);
    } else {
        set_trace(file);
        for (size_t i = 0; i < sizeof preloaded / sizeof *preloaded; i++) {
            char *library = tn_launch_library(preloaded[i]);
            tn_launch_preload(library);
            free(library);
        }
    }
}

/* Returns the absolute path, after a check that it can be written once the command has ended. */
static char *path_of_trace(const struct arguments *arguments)
{
    const char *pattern = arguments->trace_path ? arguments->trace_path : "trace.gz";
    char *path = tn_launch_require(tn_trace_path_expand(pattern)), *absolute = NULL;
    tarn_status status = tn_trace_path_absolute(path, &absolute);
    if (status == TARN_STATUS_OK) status = tn_trace_path_check(absolute);
    if (status != TARN_STATUS_OK) {
        fprintf(stderr, "tarn-record: %s\n", tarn_last_error().message);
        exit(TN_LAUNCH_EXIT_OURS);
    }
    keep_trace(arguments, absolute);
    tn_host_memory_free(path);
    return absolute;
}

static bool has_files(const char *prefix)
{
    struct tn_run_files files;
    bool is_read = tn_run_files_find(&files, prefix);
    bool is_there = is_read && files.count > 0;
    tn_run_files_fini(&files);
    return is_there;
}

/* Returns the prefix of this run's files of events. It differs from those that a killed tarn-record with the
 * same number has left: in containers the numbers are often the same. */
static char *name_of_run(const char *trace_path)
{
    for (int attempt = 1;; attempt++) {
        char *file = attempt == 1
                         ? tn_launch_text("%s.%ld", trace_path, (long)getpid())
                         : tn_launch_text("%s.%ld.%d", trace_path, (long)getpid(), attempt);
        char *prefix = tn_launch_text("%s-", file);
        bool is_taken = has_files(prefix);
        free(prefix);
        if (!is_taken) return file;
        free(file);
    }
}

static int run(const struct arguments *arguments)
{
    char *trace_path = path_of_trace(arguments);
    char *file = name_of_run(trace_path);
    set_environment(arguments, file);
    tn_launch_watch_signals();
    int status = tn_launch_run(arguments->command, false);

    bool is_whole = true;
    char *prefix = tn_launch_text("%s-", file);
    size_t count = write_traces(arguments, status, trace_path, prefix, &is_whole);
    free(prefix);
    free(file);
    tn_host_memory_free(trace_path);
    if (status != EXIT_SUCCESS) return status;
    return count > 0 && is_whole ? EXIT_SUCCESS : TN_LAUNCH_EXIT_OURS;
}

int main(int argc, char **argv)
{
    struct arguments arguments = parse(argc, argv);
    return arguments.recovered_path ? recover(&arguments) : run(&arguments);
}
