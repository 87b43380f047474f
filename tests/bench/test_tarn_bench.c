/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_tarn_bench: the program from outside: what it prints, what it writes, how it ends.
 *
 * Arguments: the program, the folder of the traces that come with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "allocators/allocator.h"
#include "program.h"
#include "scratch.h"
#include "tarn/version.h"
#include "tarn/backend.h"

static const char *trace_folder;

static bool has_vendor_pool(void)
{
    const char *backend = tarn_backend_name();
    return strcmp(backend, "cuda") == 0 || strcmp(backend, "hip") == 0;
}

/* --- bad command lines --------------------------------------------------------------------------- */

static void commands_are_checked(void **state)
{
    (void)state;
    struct outcome none = run((const char *const[]){ NULL });
    expect_usage_error(none, "a command is missing");
    expect_usage_error(RUN("fly"), "there is no command 'fly'");
    expect_usage_error(RUN(""), "there is no command ''");
    expect_usage_error(RUN("replay"), "replay needs the name of a trace");
    expect_usage_error(RUN("sweep", "more"), "'more' is one argument too many");
    expect_usage_error(RUN("threads", "4"), "'4' is one argument too many");
    expect_usage_error(RUN("--wrong", "sweep"), "unrecognized option '--wrong'");
    expect_usage_error(RUN("sweep", "--seed"), "option '--seed' requires an argument");
}

static void option_values_are_checked(void **state)
{
    (void)state;
    expect_usage_error(RUN("sweep", "--seed=-1"), "--seed -1: '-1' is not a number");
    expect_usage_error(RUN("sweep", "--seed=18446744073709551616"),
                       "18446744073709551616 is not from 0 to 18446744073709551615");
    expect_usage_error(RUN("sweep", "--seed=1,2"), "--seed 1,2: takes one number");
    expect_usage_error(RUN("sweep", "--repetitions=0"), "0 is not from 1 to 1000");
    expect_usage_error(RUN("sweep", "--repetitions=1001"), "1001 is not from 1 to 1000");
    expect_usage_error(RUN("sweep", "--time=0"), "--time 0: must be above 0");
    expect_usage_error(RUN("sweep", "--time=nan"), "--time nan: 'nan' is not a number");
    expect_usage_error(RUN("sweep", "--time=0x10"), "--time 0x10: '0x10' is not a number");
    expect_usage_error(RUN("sweep", "--time=1e-4000"), "--time 1e-4000: must be above 0");
    expect_usage_error(RUN("sweep", "--time=3601"), "at most 3600 seconds");
    expect_usage_error(RUN("sweep", "--time=1s"), "'1s' is not a number");
    expect_usage_error(RUN("sweep", "--device=x"), "--device x: 'x' is not a number");
    expect_usage_error(RUN("sweep", "--initial=64Q"), "--initial 64Q: '64Q' is not a number");
    expect_usage_error(RUN("sweep", "--sizes=1,0"), "--sizes 1,0: 0 is not from 1 to");
    expect_usage_error(RUN("sweep", "--sizes=1,,2"), "--sizes 1,,2: '' is not a number");
    expect_usage_error(RUN("live", "--counts=10000001"), "10000001 is not from 1 to 10000000");
    expect_usage_error(RUN("replay", "--step=1,2", "x"), "--step 1,2: takes one number");
    expect_usage_error(RUN("streams", "--stream-slack=25%"), "--stream-slack 25%: must be a share");
    expect_usage_error(RUN("streams", "--stream-slack=8.1"), "--stream-slack 8.1: must be a share");
    expect_usage_error(RUN("churn", "--live=0"), "--live 0: 0 is not from 1 to 10000000");
    expect_usage_error(RUN("threads", "--threads=0"), "--threads 0: 0 is not from 1 to 256");
    expect_usage_error(RUN("threads", "--threads=257"), "257 is not from 1 to 256");
    expect_usage_error(RUN("churn", "--size-range=1K"), "takes two sizes, the smaller first");
    expect_usage_error(RUN("churn", "--size-range=2K,1K"), "takes two sizes, the smaller first");
}

static void allocators_are_checked(void **state)
{
    (void)state;
    expect_usage_error(RUN("sweep", "--allocator=raw,bogus"), "there is no allocator 'bogus'");
    expect_usage_error(RUN("sweep", "--allocator="), "there is no allocator ''");
    expect_usage_error(RUN("sweep", "--allocator=null"), "there is no allocator 'null'");
    expect_usage_error(RUN("sweep", "--allocator=tarn,raw,tarn"), "'tarn' is named twice");
}

static void options_of_other_commands_are_refused(void **state)
{
    (void)state;
    expect_usage_error(RUN("live", "--sizes=1"), "--sizes is an option of sweep only");
    expect_usage_error(RUN("churn", "--counts=1"), "--counts is an option of live only");
    expect_usage_error(RUN("live", "--live=1"),
                       "--live is an option of churn, threads and streams only");
    expect_usage_error(RUN("hot", "--sizes=1"), "--sizes is an option of sweep only");
    expect_usage_error(RUN("churn", "--threads=1"), "--threads is an option of threads only");
    expect_usage_error(RUN("churn", "--shared"), "--shared is an option of threads only");
    expect_usage_error(RUN("live", "--one-stream"), "--one-stream is an option of threads only");
    expect_usage_error(
        RUN("sweep", "--size-range=1,2"),
        "--size-range is an option of live, churn, threads, streams and growth only");
}

static void help_is_no_error(void **state)
{
    (void)state;
    struct outcome by_command = RUN("help");
    struct outcome by_option = RUN("--help");
    assert_int_equal(by_command.exit_status, 0);
    assert_int_equal(by_option.exit_status, 0);
    assert_string_equal(by_command.output, by_option.output);
    assert_string_equal(by_command.errors, "");
    expect_part(by_command.output, "Exit status: 0");
    outcome_fini(&by_command);
    outcome_fini(&by_option);
}

static void a_command_has_its_own_help(void **state)
{
    (void)state;
    struct outcome behind = RUN("replay", "--help");
    struct outcome before = RUN("help", "replay");
    struct outcome growth = RUN("--help", "growth");
    assert_int_equal(behind.exit_status, 0);
    assert_string_equal(behind.output, before.output);
    expect_part(behind.output, "Usage: tarn-bench replay [OPTION...] TRACE...");
    expect_part(behind.output, "--faithful");
    expect_part(behind.output, "--force");
    assert_null(strstr(behind.output, "--until"));
    expect_part(growth.output, "--until");
    assert_null(strstr(growth.output, "--faithful"));
    outcome_fini(&behind);
    outcome_fini(&before);
    outcome_fini(&growth);
}

static void the_version_is_the_librarys(void **state)
{
    (void)state;
    char version[64];
    snprintf(version, sizeof version, "tarn-bench %d.%d.%d\n", TARN_VERSION_MAJOR,
             TARN_VERSION_MINOR, TARN_VERSION_PATCH);
    struct outcome outcome = RUN("--version");
    assert_int_equal(outcome.exit_status, 0);
    assert_string_equal(outcome.output, version);
    outcome_fini(&outcome);
}

static void a_misspelt_word_is_guessed(void **state)
{
    (void)state;
    expect_usage_error(RUN("repaly"), "there is no command 'repaly'; did you mean 'replay'?");
    expect_usage_error(RUN("hot", "--repititions=3"), "did you mean '--repetitions'?");
    expect_usage_error(RUN("hot", "--no-such-option"), "unrecognized option '--no-such-option'");
    struct outcome far = RUN("xyzzy");
    assert_int_equal(far.exit_status, 2);
    assert_null(strstr(far.errors, "did you mean"));
    outcome_fini(&far);
    /* The name of a file is no option. */
    expect_usage_error(RUN("--seed", "--tme", "hot"), "--seed --tme: '--tme' is not a number");
}

static void a_file_is_replaced_if_asked_for(void **state)
{
    (void)state;
    const char *path = scratch_write_text("mine.json", "mine");
    char json[512], csv[512];
    snprintf(json, sizeof json, "--json=%s", path);
    snprintf(csv, sizeof csv, "--csv=%s", path);
    expect_usage_error(RUN("hot", json), "exists already; --force replaces it");
    expect_usage_error(RUN("hot", csv), "exists already; --force replaces it");
    char *text = scratch_read(path);
    assert_string_equal(text, "mine");
    free(text);
    need_device();
    struct outcome outcome = RUN("hot", json, "--force", "--allocator=tarn", "--time=0.01");
    assert_int_equal(outcome.exit_status, 0);
    outcome_fini(&outcome);
    json_decref(load_json(path));
}

/* --- bad traces ---------------------------------------------------------------------------------- */

#define FIRST_LINE "# tarn-trace 1\n"
#define GOOD       FIRST_LINE "a 0 8 0 0 5\nf 0 0 0 6\n"

/* Nothing is replayed, not even a good trace that was named before. */
static void expect_bad_trace(const char *path, const char *message)
{
    const char *good = scratch_write_text("good.trace", GOOD);
    struct outcome outcome = RUN("replay", good, path);
    assert_int_equal(outcome.exit_status, 1);
    assert_string_equal(outcome.output, "");
    char expected[1024];
    snprintf(expected, sizeof expected, "tarn-bench: %s%s\n", path, message);
    assert_string_equal(outcome.errors, expected);
    outcome_fini(&outcome);
}

static void expect_bad_text(const char *text, const char *message)
{
    expect_bad_trace(scratch_write_text("bad.trace", text), message);
}

static void files_are_checked(void **state)
{
    (void)state;
    need_device();
    expect_bad_trace(scratch_path("absent.trace"), ": No such file or directory");
    expect_bad_trace(scratch_write_text("plain.trace.gz", GOOD),
                     ": is not gzip'd, though its name ends in .gz");
    expect_bad_text("", ": the file is empty");
    expect_bad_trace(trace_folder, ":1: cannot be read: Is a directory");
}

static void cut_and_damaged_files_are_found(void **state)
{
    (void)state;
    need_device();
    expect_bad_text(FIRST_LINE "a 0 8 0 0 5\nf 0 0 0 6",
                    ":3: the last line has no newline: the file is cut");
    expect_bad_text(FIRST_LINE "# events: 3\na 0 8 0 0 5\nf 0 0 0 6\n",
                    ": has 2 events and not 3 as its metadata says: the file is cut or was "
                    "changed");
    const char *cut = scratch_write_gzip("cut.trace.gz", GOOD);
    scratch_cut(cut, 1);
    expect_bad_trace(cut, ":4: the gzip'd data end here: the file is cut");
    scratch_cut(cut, 12);
    struct outcome outcome = RUN("replay", cut);
    assert_int_equal(outcome.exit_status, 1);
    expect_part(outcome.errors, "the gzip'd data end here: the file is cut");
    outcome_fini(&outcome);

    const char *damaged = scratch_write_gzip("damaged.trace.gz", GOOD);
    scratch_damage(damaged, 8); /* in the checksum */
    expect_bad_trace(damaged,
                     ": the gzip'd data are damaged at line 1 or after it: incorrect data check");
}

static void the_first_line_is_checked(void **state)
{
    (void)state;
    need_device();
    expect_bad_text("a 0 8 0 0 5\n",
                    ":1: the first line of a trace is '# tarn-trace 1', and not 'a 0 8 0 0 5'");
    expect_bad_text("# tarn-trace 2\n",
                    ":1: the first line of a trace is '# tarn-trace 1', and not '# tarn-trace 2'");
    expect_bad_text("\n", ":1: the first line of a trace is '# tarn-trace 1', and not ''");
}

static void metadata_are_checked(void **state)
{
    (void)state;
    need_device();
    expect_bad_text(FIRST_LINE "# remark\n", ":2: '# remark' is not a line '# key: value'");
    expect_bad_text(FIRST_LINE "#key: value\n", ":2: '#key: value' is not a line '# key: value'");
    expect_bad_text(FIRST_LINE "# : value\n", ":2: '# : value' is not a line '# key: value'");
    expect_bad_text(FIRST_LINE "# events: many\n",
                    ":2: the number of events 'many' is not a number");
    expect_bad_text(FIRST_LINE "# name: nothing\n", ": the trace has no events");
}

static void events_are_checked(void **state)
{
    (void)state;
    need_device();
    expect_bad_text(FIRST_LINE "x 0 8 0 0 5\n", ":2: 'x' is no event: they are 'a' and 'f'");
    expect_bad_text(FIRST_LINE "\n", ":2: '' is no event: they are 'a' and 'f'");
    expect_bad_text(FIRST_LINE "alloc 0 8 0 0 5\n",
                    ":2: 'alloc' is no event: they are 'a' and 'f'");
    expect_bad_text(FIRST_LINE "a 0 8 0 0\n",
                    ":2: has 5 fields where 'a id bytes stream thread time' has 6");
    expect_bad_text(FIRST_LINE "a 0 8 0 0 5 6 7\n",
                    ":2: has 8 fields where 'a id bytes stream thread time' has 6");
    expect_bad_text(FIRST_LINE "a 0 8 0 0 5\nf 0 0 0\n",
                    ":3: has 4 fields where 'f id stream thread time' has 5");
    expect_bad_text(FIRST_LINE "a 0 8 0 0 5\nf 0 0 0 6 \n",
                    ":3: has 6 fields where 'f id stream thread time' has 5");
    static const char zero_byte[] = FIRST_LINE "a 0 8\0 0 0 5\na 1 8 0 0 5\n";
    expect_bad_trace(scratch_write("zero.trace", zero_byte, sizeof zero_byte - 1),
                     ":2: the line has a zero byte");
}

static void numbers_are_checked(void **state)
{
    (void)state;
    need_device();
    expect_bad_text(FIRST_LINE "a x 8 0 0 5\n", ":2: the id 'x' is not a number");
    expect_bad_text(FIRST_LINE "a 0 -8 0 0 5\n", ":2: the size '-8' is not a number");
    expect_bad_text(FIRST_LINE "a 0  0 0 5\n", ":2: the size '' is not a number");
    expect_bad_text(FIRST_LINE "a 0 8 0x1 0 5\n", ":2: the stream '0x1' is not a number");
    expect_bad_text(FIRST_LINE "a 0 8 0 t 5\n", ":2: the thread 't' is not a number");
    expect_bad_text(FIRST_LINE "a 0 8 0 0 1e3\n", ":2: the time '1e3' is not a number");
    expect_bad_text(FIRST_LINE "a 0 8 0 0 5\r\r\n", ":2: the time '5\\x0d' is not a number");
    expect_bad_text(FIRST_LINE "a 0 8 0 0 \x1b[2J\n", ":2: the time '\\x1b[2J' is not a number");
    expect_bad_text(FIRST_LINE "a 18446744073709551616 8 0 0 5\n",
                    ":2: the id '18446744073709551616' does not fit in 64 bits");
    expect_bad_text(FIRST_LINE "a 0 8 0 0 5\nf 0 0 0 99999999999999999999\n",
                    ":3: the time '99999999999999999999' does not fit in 64 bits");
    expect_bad_text(FIRST_LINE "a 0 18446744073709551615 0 0 5\na 1 1 0 0 5\n",
                    ":3: with these 1 bytes, more are live than 64 bits can count");
}

static void the_story_is_checked(void **state)
{
    (void)state;
    need_device();
    expect_bad_text(FIRST_LINE "a 7 8 0 0 5\na 7 8 0 0 5\n",
                    ":3: allocates id 7, which is live since line 2");
    expect_bad_text(FIRST_LINE "f 7 0 0 5\n", ":2: frees id 7, which is not live");
    expect_bad_text(FIRST_LINE "a 7 8 0 0 5\nf 7 0 0 5\nf 7 0 0 5\n",
                    ":4: frees id 7, which is not live");
    expect_bad_text(FIRST_LINE "a 0 8 0 0 5\nf 0 0 0 4\n", ":3: time goes back from 5 to 4 ns");
}

static void a_line_has_an_end(void **state)
{
    (void)state;
    need_device();
    size_t length = (1 << 16) + 100;
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, 'x', length);
    text[length] = '\0';
    memcpy(text, FIRST_LINE "# a: ", strlen(FIRST_LINE "# a: "));
    expect_bad_text(text, ":2: the line is longer than 65534 bytes");
    free(text);
}

/* More than any allocator has: the trace is good, and the replay fails at its line. */
static void a_request_that_nobody_can_serve_names_its_line(void **state)
{
    (void)state;
    need_device();
    const char *path = scratch_write_text(
        "huge.trace", FIRST_LINE "a 0 8 0 0 5\na 1 18446744073709550000 0 0 6\nf 0 0 0 7\n");
    struct outcome outcome = RUN("replay", "--allocator=tarn,raw", path);
    assert_int_equal(outcome.exit_status, 1);
    char expected[600];
    snprintf(expected, sizeof expected, "tarn-bench: %s:3: tarn: TARN_STATUS_SIZE_TOO_LARGE", path);
    expect_part(outcome.errors, expected);
    snprintf(expected, sizeof expected, "tarn-bench: %s:3: raw: TARN_STATUS_OUT_OF_MEMORY", path);
    expect_part(outcome.errors, expected);
    outcome_fini(&outcome);

    /* As much as can be said: rounded up to whole chunks it is nothing. */
    if (tn_allocator_ordered_sets.missing_because) return;
    path = scratch_write_text("most.trace", FIRST_LINE "a 0 18446744073709551615 0 0 6\n");
    outcome = RUN("replay", "--allocator=ordered-sets", path);
    assert_int_equal(outcome.exit_status, 1);
    expect_part(outcome.errors, "most.trace:2: ordered-sets: TARN_STATUS_OUT_OF_MEMORY");
    outcome_fini(&outcome);
}

/* Neither the path, nor what is cut of it, need be UTF-8. */
static void a_failure_with_any_path_is_in_the_json_file(void **state)
{
    (void)state;
    need_device();
    const char *path =
        scratch_write_text("gr\xfc\xdf"
                           "e.trace",
                           FIRST_LINE "# name: odd\na 0 18446744073709550000 0 0 6\n");
    const char *json = scratch_path("odd.json");
    struct outcome outcome = RUN("replay", "--allocator=raw,tarn", "--json", json, path);
    assert_int_equal(outcome.exit_status, 1);
    assert_null(strstr(outcome.errors, "host memory"));
    outcome_fini(&outcome);
    json_t *root = load_json(json);
    json_t *results = json_object_get(root, "results");
    assert_int_equal(json_array_size(results), 2);
    for (size_t i = 0; i < 2; i++)
        expect_part(json_string_value(json_object_get(json_array_get(results, i), "error")),
                    "/gr\\xfc\\xdfe.trace:3: ");
    json_decref(root);
}

/* --- good runs ----------------------------------------------------------------------------------- */

static void expect_percentiles(json_t *row, const char *key)
{
    json_t *percentiles = json_object_get(row, key);
    assert_true(json_is_object(percentiles));
    json_int_t p50 = json_integer_value(json_object_get(percentiles, "p50"));
    json_int_t p99 = json_integer_value(json_object_get(percentiles, "p99"));
    json_int_t p999 = json_integer_value(json_object_get(percentiles, "p999"));
    json_int_t max = json_integer_value(json_object_get(percentiles, "max"));
    double mean = json_real_value(json_object_get(percentiles, "mean"));
    assert_true(p50 > 0 && p50 <= p99 && p99 <= p999 && p999 <= max);
    assert_true(mean > 0.0 && mean <= (double)max);
}

static void expect_integer(json_t *row, const char *key, json_int_t value)
{
    assert_true(json_is_integer(json_object_get(row, key)));
    assert_int_equal(json_integer_value(json_object_get(row, key)), value);
}

static void expect_row(json_t *row, const char *bench, const char *workload, const char *allocator)
{
    assert_string_equal(json_string_value(json_object_get(row, "bench")), bench);
    assert_string_equal(json_string_value(json_object_get(row, "workload")), workload);
    assert_string_equal(json_string_value(json_object_get(row, "allocator")), allocator);
    expect_integer(row, "threads", 1);
    expect_integer(row, "streams", 1);
    expect_integer(row, "failures", 0);
    assert_true(json_is_true(json_object_get(row, "verified")));
    expect_percentiles(row, "alloc_ns");
    expect_percentiles(row, "free_ns");
    double median = json_real_value(json_object_get(row, "ns_per_pair"));
    assert_true(median > 0.0);
    assert_true(json_real_value(json_object_get(row, "ns_per_pair_min")) <= median);
    assert_true(json_real_value(json_object_get(row, "ns_per_pair_max")) >= median);
    assert_true(json_integer_value(json_object_get(row, "peak_footprint_bytes")) >=
                json_integer_value(json_object_get(row, "peak_live_bytes")));
}

static void expect_machine(json_t *root)
{
    static const char *const texts[] = { "tarn_version", "backend",   "device_name", "cpu_model",
                                         "kernel",       "c_library", "compiler",    "build_type" };
    static const char *const numbers[] = { "driver_version", "runtime_version", "cores",
                                           "clock_cost_ns", "device_bytes" };
    json_t *machine = json_object_get(root, "machine");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_true(json_is_string(json_object_get(machine, texts[i])));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        assert_true(json_is_integer(json_object_get(machine, numbers[i])));
    char name[256] = "";
    assert_int_equal(gethostname(name, sizeof name - 1), 0);
    const char *key;
    json_t *value;
    json_object_foreach(machine, key, value)
    {
        if (json_is_string(value)) assert_string_not_equal(json_string_value(value), name);
    }
}

static void a_good_trace_passes(void **state)
{
    (void)state;
    need_device();
    const char *trace = scratch_write_text("tiny.trace", FIRST_LINE "# name: tiny\n"
                                                                    "a 0 1000 0 0 0\n"
                                                                    "a 1 0 0 0 1\n"
                                                                    "a 2 5000 0 0 2\n"
                                                                    "f 0 0 0 3\n"
                                                                    "a 3 1 0 0 4\n");
    const char *json = scratch_path("tiny.json");
    struct outcome outcome = RUN("replay", trace, "--allocator=raw,tarn", "--json", json,
                                 "--time=0.01", "--repetitions=2");
    assert_int_equal(outcome.exit_status, 0);
    expect_part(outcome.errors, "tarn-bench: wrote ");
    expect_part(outcome.output, "replay tiny: at most 6.00 KB live, at most 2 blocks");
    outcome_fini(&outcome);

    json_t *root = load_json(json);
    assert_int_equal(json_integer_value(json_object_get(root, "tarn_bench")), 1);
    expect_machine(root);
    json_t *results = json_object_get(root, "results");
    assert_int_equal(json_array_size(results), 2);
    expect_row(json_array_get(results, 0), "replay", "tiny", "raw");
    expect_row(json_array_get(results, 1), "replay", "tiny", "tarn");
    for (size_t i = 0; i < 2; i++) {
        expect_integer(json_array_get(results, i), "pairs", 4);
        expect_integer(json_array_get(results, i), "peak_live_bytes", 6000);
        expect_integer(json_array_get(results, i), "peak_live_count", 2);
    }
    expect_integer(json_array_get(results, 0), "vendor_calls", 6);
    expect_integer(json_array_get(results, 1), "vendor_calls", 1);
    assert_true(json_integer_value(json_object_get(json_array_get(results, 1), "metadata_bytes")) >
                0);
    json_decref(root);
}

static void expect_results(struct outcome outcome, const char *json, size_t count)
{
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    outcome_fini(&outcome);
    json_t *root = load_json(json);
    json_t *results = json_object_get(root, "results");
    json_t *skipped = json_object_get(root, "skipped");
    assert_int_equal(json_array_size(skipped), 0);
    assert_int_equal(json_array_size(results), count);
    size_t index;
    json_t *row;
    json_array_foreach(results, index, row)
    {
        assert_true(json_is_true(json_object_get(row, "verified")));
    }
    json_decref(root);
}

static void made_up_workloads_run(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("made_up.json");
    expect_results(RUN("sweep", "--sizes=1,1023,1K,1025,64M", "--allocator=raw,tarn", "--json",
                       json, "--time=0.01"),
                   json, 10);
    expect_results(
        RUN("live", "--counts=1,9,10,1000", "--allocator=raw,tarn", "--json", json, "--time=0.01"),
        json, 16);
    expect_results(RUN("churn", "--live=1,10,100", "--size-range=1K,1M", "--allocator=raw,tarn",
                       "--json", json, "--time=0.01", "--initial=1M"),
                   json, 6);
}

static void the_hot_block_is_one_of_a_kilobyte(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("hot.json");
    struct outcome outcome =
        RUN("hot", "--allocator=tarn", "--json", json, "--time=1", "--repetitions=1");
    assert_int_equal(outcome.exit_status, 0);
    expect_part(outcome.output, "hot 1K: at most 1.02 KB live, at most 1 block;");
    expect_part(outcome.output, "p50    p99  p99.9");
    outcome_fini(&outcome);
    json_t *root = load_json(json);
    json_t *row = json_array_get(json_object_get(root, "results"), 0);
    expect_row(row, "hot", "1K", "tarn");
    expect_integer(row, "pairs", 1000);
    expect_integer(row, "peak_live_bytes", 1024);
    json_decref(root);
}

static double get_real(json_t *row, const char *key)
{
    assert_true(json_is_real(json_object_get(row, key)));
    return json_real_value(json_object_get(row, key));
}

/* As near as nine digits in a file are. */
static void expect_near(double value, double expected)
{
    if (!(value > expected * 0.999999 && value < expected * 1.000001))
        fail_msg("%.9g is not %.9g", value, expected);
}

static void expect_rates(json_t *row, const char *allocator, json_int_t threads, json_int_t streams)
{
    assert_string_equal(json_string_value(json_object_get(row, "bench")), "threads");
    assert_string_equal(json_string_value(json_object_get(row, "allocator")), allocator);
    char workload[64];
    snprintf(workload, sizeof workload, "%d x 10 of 1K to 64K", (int)threads);
    assert_string_equal(json_string_value(json_object_get(row, "workload")), workload);
    expect_integer(row, "threads", threads);
    expect_integer(row, "streams", streams);
    expect_integer(row, "failures", 0);
    expect_integer(row, "repetitions", 2);
    assert_true(json_is_true(json_object_get(row, "verified")));
    double median = get_real(row, "pairs_per_second");
    assert_true(median > 0.0);
    assert_true(get_real(row, "pairs_per_second_min") <= median);
    assert_true(get_real(row, "pairs_per_second_max") >= median);
    assert_true(json_is_false(json_object_get(row, "shared")));
    double count = (double)threads;
    expect_near(get_real(row, "pairs_per_second_per_thread"), median / count);
    expect_near(get_real(row, "ns_per_pair"), count * 1e9 / median);
    assert_true(json_integer_value(json_object_get(row, "peak_live_count")) == 10 * threads);
}

static void threads_share_an_allocator(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("threads.json");
    struct outcome outcome =
        RUN("threads", "--threads=1,2,5", "--live=10", "--size-range=1K,64K",
            "--allocator=raw,tarn", "--json", json, "--time=0.02", "--repetitions=2");
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    expect_part(outcome.output, "threads 5 x 10 of 1K to 64K: about ");
    expect_part(outcome.output, "live, at most 50 blocks\n");
    outcome_fini(&outcome);
    json_t *root = load_json(json);
    json_t *results = json_object_get(root, "results");
    assert_int_equal(json_array_size(results), 6);
    static const json_int_t counts[] = { 1, 2, 5 };
    for (size_t i = 0; i < 6; i++) {
        json_t *row = json_array_get(results, i);
        bool is_raw = i % 2 == 0;
        json_int_t count = counts[i / 2];
        expect_rates(row, is_raw ? "raw" : "tarn", count, is_raw ? 1 : count);
        double one = get_real(json_array_get(results, i % 2), "pairs_per_second");
        expect_near(get_real(row, "ratio_to_one_thread"), get_real(row, "pairs_per_second") / one);
    }
    json_decref(root);
}

static void threads_may_be_on_one_stream(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("one_stream.json");
    struct outcome outcome =
        RUN("threads", "--threads=3", "--live=10", "--one-stream", "--json", json, "--time=0.02");
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    expect_part(outcome.output, "threads 3 x 10 of 1K to 16M, one stream: about ");
    outcome_fini(&outcome);
    json_t *root = load_json(json), *row;
    size_t index;
    json_array_foreach(json_object_get(root, "results"), index, row)
        expect_integer(row, "streams", 1);
    json_decref(root);
}

static void threads_share_their_blocks(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("shared.json");
    struct outcome outcome = RUN("threads", "--threads=1,3", "--live=10", "--shared",
                                 "--size-range=1K,64K", "--json", json, "--time=0.02");
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    expect_part(outcome.output, "threads 3 x 10 of 1K to 64K, shared: about ");
    outcome_fini(&outcome);
    json_t *root = load_json(json);
    json_t *row = json_array_get(json_object_get(root, "results"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "workload")),
                        "1 x 10 of 1K to 64K, shared");
    assert_true(json_is_true(json_object_get(row, "shared")));
    json_decref(root);
}

/* Every allocator that is there. One thread comes last, so there is no ratio before; and that of one number of
 * blocks is none for another. */
static void all_allocators_take_threads(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("all_threads.json");
    struct outcome outcome = RUN("threads", "--threads=3,1", "--live=7,8", "--size-range=16,4K",
                                 "--json", json, "--time=0.01", "--repetitions=1");
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    outcome_fini(&outcome);
    json_t *root = load_json(json);
    json_t *results = json_object_get(root, "results");
    size_t count = json_array_size(results);
    assert_true(count >= 8 && count % 4 == 0);
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_array_get(results, i);
        bool is_one = i / (count / 4) % 2 == 1;
        expect_integer(row, "threads", is_one ? 1 : 3);
        assert_int_equal(json_object_get(row, "ratio_to_one_thread") != NULL, is_one);
    }
    json_decref(root);
}

/* What is not said: 100 blocks, of sizes as in churn. */
static void threads_have_defaults(void **state)
{
    (void)state;
    need_device();
    struct outcome outcome =
        RUN("threads", "--threads=2", "--allocator=tarn", "--time=0.01", "--repetitions=1");
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    expect_part(outcome.output, "threads 2 x 100 of 1K to 16M: about ");
    assert_null(strstr(outcome.output, "threads 2 x 10 of"));
    outcome_fini(&outcome);
}

/* More addresses than any system has. */
static void what_the_vendor_cannot_do_with_threads_is_skipped(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("too_much.json");
    struct outcome outcome = RUN("threads", "--threads=2", "--live=10", "--size-range=16T,16T",
                                 "--allocator=raw", "--json", json, "--time=0.01");
    assert_int_equal(outcome.exit_status, 0);
    outcome_fini(&outcome);
    json_t *root = load_json(json);
    assert_int_equal(json_array_size(json_object_get(root, "skipped")), 1);
    assert_int_equal(json_array_size(json_object_get(root, "results")), 0);
    json_decref(root);
}

/* Steps of 1 MiB: six to begin with, then one for what they do not hold. */
static void a_contiguous_pool_maps_steps_of_the_size_that_is_said(void **state)
{
    (void)state;
    if (strcmp(tarn_backend_name(), "host") != 0) skip();
    const char *trace = scratch_write_text("steps.trace", "# tarn-trace 1\n"
                                                          "a 0 6291456 0 0 0\n"
                                                          "a 1 1 0 0 1\n"
                                                          "f 0 0 0 2\n"
                                                          "a 2 6291456 0 0 3\n");
    const char *json = scratch_path("steps.json");
    struct outcome outcome = RUN("replay", trace, "--allocator=tarn:contiguous", "--json", json,
                                 "--step=1M", "--initial=6M", "--repetitions=1");
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    outcome_fini(&outcome);
    json_t *root = load_json(json);
    json_t *row = json_array_get(json_object_get(root, "results"), 0);
    expect_integer(row, "vendor_calls", 7);
    expect_integer(row, "peak_footprint_bytes", 7 << 20);
    json_decref(root);
}

/* Free are 4 MiB in front and 1 MiB at the end. Only first fit cuts the front for 1 MiB, and has to grow for the
 * 4 MiB that are asked for then. */
static void a_policy_is_the_one_that_is_named(void **state)
{
    (void)state;
    need_device();
    const char *trace = scratch_write_text("policy.trace", "# tarn-trace 1\n"
                                                           "a 0 4194304 0 0 0\n"
                                                           "a 1 1048576 0 0 1\n"
                                                           "f 0 0 0 2\n"
                                                           "a 2 1048576 0 0 3\n"
                                                           "a 3 4194304 0 0 4\n");
    const char *json = scratch_path("policy.json");
    static const char allocators[] =
        "--allocator=tarn,tarn:first_fit,tarn:segregated_fit,tarn:tlsf";
    struct outcome outcome = RUN("replay", trace, allocators, "--json", json, "--initial=6M",
                                 "--repetitions=1", "--time=0.01");
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    outcome_fini(&outcome);
    json_t *root = load_json(json);
    json_t *results = json_object_get(root, "results");
    assert_int_equal(json_array_size(results), 4);
    for (size_t i = 0; i < 4; i++)
        expect_integer(json_array_get(results, i), "vendor_calls", i == 1 ? 2 : 1);
    expect_row(json_array_get(results, 1), "replay", "policy.trace", "tarn:first_fit");
    json_decref(root);
}

/* An allocator that is asked for and not there is named in both reports. */
static void a_missing_allocator_is_listed(void **state)
{
    (void)state;
    if (has_vendor_pool()) skip();
    need_device();
    const char *json = scratch_path("missing.json");
    struct outcome outcome = RUN("sweep", "--sizes=1,2", "--allocator=vendor-pool,tarn,cub",
                                 "--json", json, "--time=0.01");
    assert_int_equal(outcome.exit_status, 0);
    expect_part(outcome.output, "vendor-pool: not found: ");
    expect_part(outcome.output, "cub: not found: ");
    outcome_fini(&outcome);
    json_t *root = load_json(json);
    json_t *not_found = json_object_get(root, "not_found");
    assert_int_equal(json_array_size(not_found), 2);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(not_found, 0), "allocator")),
        "vendor-pool");
    assert_int_equal(json_array_size(json_object_get(root, "results")), 2);
    json_decref(root);
}

/* Each name that --allocator takes has its line. */
static void the_allocators_are_listed(void **state)
{
    (void)state;
    need_device();
    struct outcome outcome = RUN("allocators");
    if (outcome.exit_status != 0) fail_msg("%s%s", outcome.output, outcome.errors);
    for (size_t i = 0; tn_allocator_table[i]; i++) {
        const struct tn_allocator *allocator = tn_allocator_table[i];
        char line[700];
        snprintf(line, sizeof line, "  %-36s %s%s", allocator->name,
                 allocator->missing_because ? "not found: " : "",
                 allocator->missing_because ? allocator->missing_because : "");
        expect_part(outcome.output, line);
    }
    for (size_t i = 0; tn_allocator_variants[i]; i++)
        expect_part(outcome.output, tn_allocator_variants[i]->name);
    char there[64];
    snprintf(there, sizeof there, "  %-36s there\n", "tarn");
    expect_part(outcome.output, there);
    outcome_fini(&outcome);
    expect_usage_error(RUN("hot", "--json=x", "--csv=x"), "--json and --csv are both 'x'");
    expect_usage_error(RUN("allocators", "--json=x"), "--json is no option of allocators");
    expect_usage_error(RUN("allocators", "--csv=x"), "--csv is no option of allocators");
    expect_usage_error(RUN("replay", "a", "b", "--json=b"),
                       "--json is 'b', which is a trace to play");
    expect_usage_error(RUN("replay", "a", "b", "--csv=a"),
                       "--csv is 'a', which is a trace to play");
    expect_usage_error(RUN("allocators", "more"), "'more' is one argument too many");
}

/* What an allocator cannot tell is a dash in the table. */
static void the_hosts_allocators_play(void **state)
{
    (void)state;
    if (tn_allocator_must_be_named(&tn_allocator_libc_malloc)) skip();
    const char *json = scratch_path("host_peers.json");
    char list[128] = "--allocator=libc-malloc";
    size_t count = 1;
    const struct tn_allocator *const others[] = { &tn_allocator_jemalloc, &tn_allocator_mimalloc };
    for (size_t i = 0; i < 2; i++) {
        if (others[i]->missing_because) continue;
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, ",%s", others[i]->name);
        count++;
    }
    expect_results(RUN("sweep", "--sizes=1,8,9,1023,1K,1M", list, "--json", json, "--time=0.05"),
                   json, 6 * count);
    expect_results(
        RUN("churn", "--live=1,50", "--size-range=1,1M", list, "--json", json, "--time=0.05"), json,
        2 * count);
    expect_results(RUN("threads", "--threads=1,3", "--live=10", "--shared", list, "--json", json,
                       "--time=0.05"),
                   json, 2 * count);
    struct outcome outcome = RUN("hot", "--allocator=libc-malloc", "--time=0.01");
    expect_part(outcome.output, "     -       -      -      -      -\n");
    outcome_fini(&outcome);
}

static void the_vendors_pool_plays(void **state)
{
    (void)state;
    if (!has_vendor_pool()) skip();
    need_device();
    const char *json = scratch_path("vendor_pool.json");
    expect_results(RUN("churn", "--live=10", "--allocator=vendor-pool,vendor-pool:release",
                       "--json", json, "--time=0.01"),
                   json, 2);
    json_t *root = load_json(json);
    for (size_t i = 0; i < 2; i++) {
        json_t *row = json_array_get(json_object_get(root, "results"), i);
        json_int_t held_bytes = json_integer_value(json_object_get(row, "peak_footprint_bytes"));
        assert_true(held_bytes >= json_integer_value(json_object_get(row, "peak_live_bytes")));
    }
    json_decref(root);
}

enum {
    SWEEP_COUNT = 4
};

/* An allocator of CUDA's that keeps what is freed: of each size it takes so much, once. */
static void expect_keeping(const struct tn_allocator *allocator, const char *sizes,
                           const json_int_t held_bytes[SWEEP_COUNT])
{
    if (allocator->missing_because) skip();
    need_device();
    const char *json = scratch_path("keeping.json");
    char list[64];
    snprintf(list, sizeof list, "--allocator=%s", allocator->name);
    expect_results(RUN("sweep", sizes, list, "--json", json, "--time=0.1", "--repetitions=1"), json,
                   SWEEP_COUNT);
    json_t *root = load_json(json);
    for (size_t i = 0; i < SWEEP_COUNT; i++) {
        json_t *row = json_array_get(json_object_get(root, "results"), i);
        expect_integer(row, "peak_footprint_bytes", held_bytes[i]);
        expect_integer(row, "vendor_calls", 1);
    }
    json_decref(root);
    expect_results(
        RUN("churn", "--live=1,50", "--size-range=1,1M", list, "--json", json, "--time=0.1"), json,
        2);
    expect_results(RUN("threads", "--threads=1,3", "--live=10", "--size-range=1,1M", list, "--json",
                       json, "--time=0.1"),
                   json, 2);
    root = load_json(json);
    expect_integer(json_array_get(json_object_get(root, "results"), 1), "streams", 3);
    json_decref(root);
}

/* Its bins are powers of two from 512 bytes on. */
static void cubs_allocator_plays(void **state)
{
    static const json_int_t held_bytes[] = { 512, 512, 1024, 1 << 20 };
    (void)state;
    expect_keeping(&tn_allocator_cub, "--sizes=1,512,513,1M", held_bytes);
}

/* Sizes are rounded up to 512 bytes, and small blocks are cut from pieces of 2 MB. */
static void pytorchs_allocator_plays(void **state)
{
    static const json_int_t held_bytes[] = { 2 << 20, 2 << 20, 2 << 20, 64 << 20 };
    (void)state;
    expect_keeping(&tn_allocator_torch, "--sizes=1,513,1M,64M", held_bytes);
}

/* Only a simulated device can be told to have none. */
static void a_device_without_pools_is_no_failure(void **state)
{
    (void)state;
    if (!has_vendor_pool() || !getenv("TARN_SIM_EXPECT_CLEAN")) skip();
    setenv("TARN_SIM_POOLS", "0", 1);
    struct outcome outcome = RUN("sweep", "--sizes=1", "--allocator=vendor-pool", "--time=0.01");
    unsetenv("TARN_SIM_POOLS");
    assert_int_equal(outcome.exit_status, 0);
    expect_part(outcome.output, "ErrorNotSupported");
    outcome_fini(&outcome);
}

/* With so much time that no pass is cut. */
static void the_same_seed_gives_the_same_workload(void **state)
{
    (void)state;
    need_device();
    json_int_t live_bytes[3];
    static const char *const seeds[] = { "--seed=5", "--seed=5", "--seed=6" };
    for (size_t i = 0; i < 3; i++) {
        const char *json = scratch_path("seed.json");
        struct outcome outcome = RUN("churn", "--live=50", "--allocator=tarn", "--json", json,
                                     "--repetitions=1", "--time=60", seeds[i]);
        assert_int_equal(outcome.exit_status, 0);
        outcome_fini(&outcome);
        json_t *root = load_json(json);
        json_t *row = json_array_get(json_object_get(root, "results"), 0);
        live_bytes[i] = json_integer_value(json_object_get(row, "peak_live_bytes"));
        json_decref(root);
    }
    assert_int_equal(live_bytes[0], live_bytes[1]);
    assert_int_not_equal(live_bytes[0], live_bytes[2]);
}

static void the_traces_that_come_along_replay(void **state)
{
    (void)state;
    need_device();
    static const char *const names[] = { "examinimd-lj", "omegah-warp-3d-small-cut",
                                         "torch_resnet-cut" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s.trace.gz", trace_folder, names[i]);
        const char *json = scratch_path("shipped.json");
        expect_results(RUN("replay", path, "--allocator=tarn", "--json", json, "--time=0.01"), json,
                       1);
    }
}

/* --- files that cannot be written ---------------------------------------------------------------- */

static void a_file_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    need_device();
    struct outcome outcome = RUN("sweep", "--sizes=1", "--json=/nonexistent/results.json");
    assert_int_equal(outcome.exit_status, 1);
    assert_string_equal(outcome.output, "");
    assert_string_equal(outcome.errors, "tarn-bench: /nonexistent/results.json: cannot be written: "
                                        "No such file or directory\n");
    outcome_fini(&outcome);
    if (access("/dev/full", W_OK) != 0) skip();
    outcome = RUN("sweep", "--sizes=1", "--allocator=tarn", "--time=0.01", "--json=/dev/full");
    assert_int_equal(outcome.exit_status, 1);
    assert_string_equal(outcome.errors,
                        "tarn-bench: /dev/full: cannot be written: No space left on device\n");
    outcome_fini(&outcome);
    outcome = RUN("sweep", "--sizes=1", "--allocator=tarn", "--time=0.01", "--csv=/dev/full");
    assert_int_equal(outcome.exit_status, 1);
    assert_string_equal(outcome.errors,
                        "tarn-bench: /dev/full: cannot be written: No space left on device\n");
    outcome_fini(&outcome);
}

/* The tables are results, too. */
static void output_that_cannot_be_written_is_a_failure(void **state)
{
    (void)state;
    need_device();
    if (access("/dev/full", W_OK) != 0) skip();
    static const char *const commands[][5] = {
        { "hot", "--allocator=tarn", "--time=0.01", NULL },
        { "allocators", NULL },
        { "help", NULL },
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct outcome outcome = run_to("/dev/full", commands[i]);
        assert_int_equal(outcome.exit_status, 1);
        expect_part(outcome.errors, "tarn-bench: standard output: cannot be written: ");
        outcome_fini(&outcome);
    }
}

static void an_unknown_device_is_named(void **state)
{
    (void)state;
    need_device();
    struct outcome outcome = RUN("sweep", "--sizes=1", "--device=1023");
    assert_int_equal(outcome.exit_status, 1);
    assert_string_equal(outcome.output, "");
    expect_part(outcome.errors, "device 1023 of the ");
    outcome_fini(&outcome);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: test_tarn_bench PROGRAM TRACE_FOLDER\n");
        return EXIT_FAILURE;
    }
    program = argv[1];
    trace_folder = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_checked),
        cmocka_unit_test(option_values_are_checked),
        cmocka_unit_test(allocators_are_checked),
        cmocka_unit_test(options_of_other_commands_are_refused),
        cmocka_unit_test(help_is_no_error),
        cmocka_unit_test(a_command_has_its_own_help),
        cmocka_unit_test(the_version_is_the_librarys),
        cmocka_unit_test(a_misspelt_word_is_guessed),
        cmocka_unit_test(a_file_is_replaced_if_asked_for),
        cmocka_unit_test(files_are_checked),
        cmocka_unit_test(cut_and_damaged_files_are_found),
        cmocka_unit_test(the_first_line_is_checked),
        cmocka_unit_test(metadata_are_checked),
        cmocka_unit_test(events_are_checked),
        cmocka_unit_test(numbers_are_checked),
        cmocka_unit_test(the_story_is_checked),
        cmocka_unit_test(a_line_has_an_end),
        cmocka_unit_test(a_request_that_nobody_can_serve_names_its_line),
        cmocka_unit_test(a_failure_with_any_path_is_in_the_json_file),
        cmocka_unit_test(a_good_trace_passes),
        cmocka_unit_test(made_up_workloads_run),
        cmocka_unit_test(the_hot_block_is_one_of_a_kilobyte),
        cmocka_unit_test(threads_share_an_allocator),
        cmocka_unit_test(threads_may_be_on_one_stream),
        cmocka_unit_test(threads_share_their_blocks),
        cmocka_unit_test(all_allocators_take_threads),
        cmocka_unit_test(threads_have_defaults),
        cmocka_unit_test(what_the_vendor_cannot_do_with_threads_is_skipped),
        cmocka_unit_test(a_contiguous_pool_maps_steps_of_the_size_that_is_said),
        cmocka_unit_test(a_policy_is_the_one_that_is_named),
        cmocka_unit_test(a_missing_allocator_is_listed),
        cmocka_unit_test(the_allocators_are_listed),
        cmocka_unit_test(the_hosts_allocators_play),
        cmocka_unit_test(the_vendors_pool_plays),
        cmocka_unit_test(cubs_allocator_plays),
        cmocka_unit_test(pytorchs_allocator_plays),
        cmocka_unit_test(a_device_without_pools_is_no_failure),
        cmocka_unit_test(the_same_seed_gives_the_same_workload),
        cmocka_unit_test(the_traces_that_come_along_replay),
        cmocka_unit_test(a_file_that_cannot_be_written_is_named),
        cmocka_unit_test(output_that_cannot_be_written_is_a_failure),
        cmocka_unit_test(an_unknown_device_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_destroy);
}
