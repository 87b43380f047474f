/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_replay: replay from outside, faithful and touched; what a CSV file has; and what an interrupted run leaves.
 *
 * Arguments: the program, the folder of the traces that come with it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "program.h"
#include "scratch.h"

static const char *trace_folder;

static const char *trace_path(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", trace_folder, name);
    return path;
}

/* Two threads on two streams; each frees what the other has, on the stream where it was allocated. */
static const char *write_trace(void)
{
    static char text[1 << 16];
    size_t length = (size_t)sprintf(text, "# tarn-trace 1\n# name: crossing\n");
    for (unsigned i = 0; i < 400; i++) {
        length += (size_t)sprintf(text + length, "a %u %u %u %u %u\n", i, 1 + i * 40 % 9000, i % 2,
                                  i % 2, i * 1000);
        if (i >= 20)
            length += (size_t)sprintf(text + length, "f %u %u %u %u\n", i - 20, i % 2, (i + 1) % 2,
                                      i * 1000);
    }
    return scratch_write_text("crossing.trace", text);
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static double number_of(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

/* --- command lines ------------------------------------------------------------------------------- */

static void options_are_checked(void **state)
{
    (void)state;
    expect_usage_error(RUN("hot", "--faithful"), "--faithful is an option of replay only");
    expect_usage_error(RUN("replay", "--order=strict", "x"),
                       "--order is an option of replay --faithful only");
    expect_usage_error(RUN("replay", "--speed=max", "x"),
                       "--speed is an option of replay --faithful only");
    expect_usage_error(RUN("replay", "--faithful", "--order=any", "x"),
                       "--order any: is strict or depends");
    expect_usage_error(RUN("replay", "--faithful", "--speed=0", "x"),
                       "--speed 0: is max, as-recorded, or a factor from 0.001 to 1000");
    expect_usage_error(RUN("replay", "--faithful", "--speed=-1", "x"), "--speed -1: is max");
    expect_usage_error(RUN("replay", "--faithful", "--speed=2x", "x"), "--speed 2x: is max");
    expect_usage_error(RUN("replay", "--faithful", "--speed=nan", "x"), "--speed nan: is max");
    expect_usage_error(RUN("replay", "--touch=0", "x"), "--touch 0: 0 is not from 1 to");
    expect_usage_error(RUN("replay", "--touch=64Q", "x"), "'64Q' is not a number");
    expect_usage_error(RUN("threads", "--touch"),
                       "--touch is an option of hot, sweep, live, churn and replay only");
}

/* --- faithful ------------------------------------------------------------------------------------ */

static json_t *replay_to_json(const char *const *arguments)
{
    const char *path = scratch_path("replay.json");
    const char *all[32] = { "replay", "--time=0.02", "--json", path };
    size_t count = 4;
    for (; *arguments; arguments++)
        all[count++] = *arguments;
    all[count] = NULL;
    struct outcome outcome = run(all);
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    outcome_fini(&outcome);
    return load_json(path);
}

#define REPLAY(...) replay_to_json((const char *const[]){ __VA_ARGS__, NULL })

/* Every allocator that is there plays it, in both orders, touched and untouched. */
static void all_allocators_play_faithfully(void **state)
{
    (void)state;
    need_device();
    static const char *const orders[] = { "depends", "strict" };
    const char *path = write_trace();
    for (size_t i = 0; i < 4; i++) {
        char order[32];
        snprintf(order, sizeof order, "--order=%s", orders[i % 2]);
        json_t *root = i < 2 ? REPLAY("--faithful", order, path)
                             : REPLAY("--faithful", order, "--touch", path);
        const json_t *results = json_object_get(root, "results");
        assert_true(json_array_size(results) >= 3);
        for (size_t k = 0; k < json_array_size(results); k++) {
            const json_t *row = json_array_get(results, k);
            assert_string_equal(text_of(row, "workload"), "crossing, faithful");
            assert_int_equal(number_of(row, "failures"), 0);
            assert_true(json_is_true(json_object_get(row, "verified")));
            assert_true(json_is_true(json_object_get(row, "faithful")));
            assert_string_equal(text_of(row, "order"), orders[i % 2]);
            assert_string_equal(text_of(row, "speed"), "max");
            assert_int_equal(number_of(row, "threads"), 2);
            assert_int_equal(number_of(row, "streams"), 2);
            assert_int_equal(number_of(row, "pairs"), 400);
            assert_true(number_of(row, "ns_per_pair") > 0.0);
            assert_int_equal(json_is_true(json_object_get(row, "touched")), i >= 2);
        }
        json_decref(root);
    }
}

static void the_traces_that_come_along_play_faithfully(void **state)
{
    (void)state;
    need_device();
    json_t *root =
        REPLAY("--faithful", "--allocator=raw,tarn", trace_path("torch_resnet-cut.trace.gz"));
    const json_t *row = json_array_get(json_object_get(root, "results"), 0);
    assert_int_equal(number_of(row, "threads"), 2);
    assert_int_equal(number_of(row, "streams"), 2);
    assert_int_equal(number_of(row, "pairs"), 10386);
    json_decref(root);
}

static void recorded_time_says_how_late_it_was(void **state)
{
    (void)state;
    need_device();
    const char *path = write_trace();
    json_t *root = REPLAY("--faithful", "--speed=2", "--allocator=tarn", path);
    const json_t *row = json_array_get(json_object_get(root, "results"), 0);
    assert_true(number_of(row, "speed") == 2.0);
    const json_t *late = json_object_get(row, "late_ns");
    assert_true(json_is_object(late));
    assert_true(number_of(late, "p50") <= number_of(late, "max"));
    json_decref(root);

    struct outcome outcome =
        RUN("replay", "--time=0.02", "--faithful", "--speed=as-recorded", "--allocator=tarn", path);
    assert_int_equal(outcome.exit_status, 0);
    expect_part(outcome.output, "2 threads, 2 streams, order depends, at 1 of the recorded speed");
    expect_part(outcome.output, "(tarn: events began late by ");
    outcome_fini(&outcome);
}

static void a_damaged_trace_names_its_line(void **state)
{
    (void)state;
    need_device();
    const char *path = scratch_write_text("bad.trace", "# tarn-trace 1\na 0 8 0 0 5\nf 0 0 1 4\n");
    struct outcome outcome = RUN("replay", "--faithful", path);
    assert_int_equal(outcome.exit_status, 1);
    assert_string_equal(outcome.output, "");
    expect_part(outcome.errors, "bad.trace:3: time goes back from 5 to 4 ns");
    outcome_fini(&outcome);
}

static void too_many_threads_are_named(void **state)
{
    (void)state;
    need_device();
    static char text[1 << 16];
    size_t length = (size_t)sprintf(text, "# tarn-trace 1\n");
    for (unsigned i = 0; i <= 1024; i++)
        length += (size_t)sprintf(text + length, "a %u 8 0 %u 0\n", i, i);
    const char *path = scratch_write_text("many.trace", text);
    struct outcome outcome = RUN("replay", "--faithful", path);
    assert_int_equal(outcome.exit_status, 1);
    expect_part(outcome.errors, "has 1025 threads and 1 streams; a faithful replay has at most");
    outcome_fini(&outcome);
    outcome = RUN("replay", "--time=0.02", "--allocator=tarn", path);
    assert_int_equal(outcome.exit_status, 0);
    outcome_fini(&outcome);
}

/* --- touched memory ------------------------------------------------------------------------------ */

static void the_table_says_whether_memory_is_touched(void **state)
{
    (void)state;
    need_device();
    const char *path = write_trace();
    struct outcome outcome = RUN("replay", "--time=0.02", "--allocator=tarn", path);
    expect_part(outcome.output, "memory is not touched\n");
    outcome_fini(&outcome);
    outcome = RUN("replay", "--time=0.02", "--touch", path);
    assert_int_equal(outcome.exit_status, 0);
    expect_part(outcome.output, "memory is written after each allocation, and verified");
    outcome_fini(&outcome);
    outcome = RUN("churn", "--time=0.02", "--touch=4000", "--live=10", "--size-range=1,100K");
    assert_int_equal(outcome.exit_status, 0);
    expect_part(outcome.output, "of each block up to 4.00 KB are written");
    outcome_fini(&outcome);
}

/* Host memory that is touched is really taken. */
static void touching_more_than_there_is_is_skipped(void **state)
{
    (void)state;
    need_device();
    const char *path = scratch_path("huge.json");
    struct outcome outcome =
        RUN("sweep", "--sizes=64T", "--touch", "--allocator=tarn", "--json", path);
    assert_int_equal(outcome.exit_status, 0);
    outcome_fini(&outcome);
    json_t *root = load_json(path);
    assert_int_equal(json_array_size(json_object_get(root, "results")), 0);
    assert_int_equal(json_array_size(json_object_get(root, "skipped")), 1);
    json_decref(root);
}

/* --- CSV ----------------------------------------------------------------------------------------- */

enum {
    FIELD_COUNT_MAX = 64
};

/* Cuts a line in place; quotes are taken off, and none is doubled here. */
static size_t split(char *line, char **fields)
{
    size_t count = 0;
    for (char *text = line; text; count++) {
        assert_true(count < FIELD_COUNT_MAX);
        char *end;
        if (*text == '"') {
            fields[count] = text + 1;
            end = strchr(text + 1, '"');
            assert_non_null(end);
            *end++ = '\0';
        } else {
            fields[count] = text;
            end = text + strcspn(text, ",");
        }
        text = *end == ',' ? end + 1 : NULL;
        *end = '\0';
    }
    return count;
}

static const char *field_of(char **heads, char **fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(heads[i], name) == 0) return fields[i];
    fail_msg("there is no column %s", name);
    return "";
}

static void expect_same_number(const json_t *row, const char *key, const char *text)
{
    double wanted = number_of(row, key);
    double read = strtod(text, NULL);
    if (read < wanted * 0.999999 || read > wanted * 1.000001)
        fail_msg("%s: %s and %f", key, text, wanted);
}

static const json_t *find_row(const json_t *results, const char *allocator)
{
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *row = json_array_get(results, i);
        if (strcmp(text_of(row, "allocator"), allocator) == 0) return row;
    }
    return NULL;
}

/* Every line has all columns, and the figures of the JSON file. */
static void a_csv_file_has_what_the_json_file_has(void **state)
{
    (void)state;
    need_device();
    const char *csv_path = scratch_path("replay.csv");
    json_t *root = REPLAY("--csv", csv_path, "--faithful", write_trace());
    const json_t *results = json_object_get(root, "results");
    char *csv = scratch_read(csv_path);
    char *heads[FIELD_COUNT_MAX] = { NULL };
    char *fields[FIELD_COUNT_MAX] = { NULL };
    char *rest = csv;
    size_t head_count = split(strsep(&rest, "\n"), heads);
    size_t measured_count = 0;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        assert_int_equal(split(line, fields), head_count);
        const char *allocator = field_of(heads, fields, head_count, "allocator");
        const json_t *row = find_row(results, allocator);
        const char *outcome = field_of(heads, fields, head_count, "outcome");
        assert_int_equal(strcmp(outcome, "measured") == 0, row != NULL);
        if (!row) continue;
        measured_count++;
        assert_string_equal(field_of(heads, fields, head_count, "workload"), "crossing, faithful");
        assert_string_equal(field_of(heads, fields, head_count, "order"), "depends");
        static const char *const keys[] = { "threads",     "streams",         "pairs",
                                            "ns_per_pair", "ns_per_pair_min", "ns_per_pair_max",
                                            "repetitions", "peak_live_bytes", "vendor_calls" };
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            expect_same_number(row, keys[i], field_of(heads, fields, head_count, keys[i]));
        expect_same_number(json_object_get(row, "alloc_ns"), "p99",
                           field_of(heads, fields, head_count, "alloc_ns_p99"));
        expect_same_number(json_object_get(row, "free_ns"), "max",
                           field_of(heads, fields, head_count, "free_ns_max"));
    }
    assert_int_equal(measured_count, json_array_size(results));
    free(csv);
    json_decref(root);
}

static void a_csv_file_that_cannot_be_written_is_a_failure(void **state)
{
    (void)state;
    need_device();
    struct outcome outcome = RUN("hot", "--csv", "/nowhere/at/all.csv");
    assert_int_equal(outcome.exit_status, 1);
    assert_string_equal(outcome.output, "");
    expect_part(outcome.errors, "/nowhere/at/all.csv: cannot be written: No such file");
    outcome_fini(&outcome);
}

/* --- interruption -------------------------------------------------------------------------------- */

/* Ends with the signal's status, and both files are whole: the first workload is measured, the last ones are not there, and what was
 * under way says so. */
static void expect_interrupted(int signal_number, const char *const *command)
{
    const char *json_path = scratch_path("interrupted.json");
    const char *csv_path = scratch_path("interrupted.csv");
    const char *arguments[32];
    size_t count = 0;
    for (; command[count]; count++)
        arguments[count] = command[count];
    const char *const files[] = { "--json",
                                  json_path,
                                  "--csv",
                                  csv_path,
                                  "--repetitions=1000",
                                  "--time=3600",
                                  "--allocator=raw,tarn" };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        arguments[count++] = files[i];
    arguments[count] = NULL;
    struct outcome outcome = run_and_signal(arguments, signal_number, 0.5);
    assert_int_equal(outcome.exit_status, 128 + signal_number);
    char written[512];
    snprintf(written, sizeof written, "tarn-bench: wrote %s\ntarn-bench: wrote %s\n", json_path,
             csv_path);
    assert_string_equal(outcome.errors, written);
    expect_part(outcome.output, "interrupted after ");
    expect_part(outcome.output, "Times are in ns unless a unit is given.");

    json_t *root = load_json(json_path);
    assert_true(json_is_true(json_object_get(root, "interrupted")));
    const json_t *results = json_object_get(root, "results");
    assert_true(json_array_size(results) >= 1);
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *row = json_array_get(results, i);
        assert_true(json_is_true(json_object_get(row, "interrupted")));
        if (number_of(row, "repetitions") > 0.0) assert_true(number_of(row, "ns_per_pair") > 0.0);
    }
    json_decref(root);
    char *csv = scratch_read(csv_path);
    expect_part(csv, "\"interrupted\",");
    free(csv);
    outcome_fini(&outcome);
}

#define EXPECT_INTERRUPTED(signal, ...) \
    expect_interrupted(signal, (const char *const[]){ __VA_ARGS__, NULL })

static void an_interrupted_run_leaves_what_was_measured(void **state)
{
    (void)state;
    need_device();
    const char *path = write_trace();
    EXPECT_INTERRUPTED(SIGINT, "replay", path);
    EXPECT_INTERRUPTED(SIGTERM, "replay", path);
    EXPECT_INTERRUPTED(SIGINT, "replay", path, "--faithful");
    EXPECT_INTERRUPTED(SIGINT, "replay", path, "--faithful", "--speed=0.001");
    EXPECT_INTERRUPTED(SIGINT, "hot");
    EXPECT_INTERRUPTED(SIGINT, "churn", "--live=1000");
    EXPECT_INTERRUPTED(SIGINT, "threads", "--threads=2");
    EXPECT_INTERRUPTED(SIGINT, "growth", "--until=64M", "--size-range=1K,2K");
    EXPECT_INTERRUPTED(SIGINT, "streams", "--streams=2");
}

/* The end of what was measured before stays as it was. */
static void workloads_that_were_done_are_kept(void **state)
{
    (void)state;
    need_device();
    const char *path = scratch_path("two.json");
    const char *trace = write_trace();
    /* Each takes half a second. */
    struct outcome outcome =
        run_and_signal((const char *const[]){ "replay", "--faithful", "--speed=0.002",
                                              "--repetitions=1", "--allocator=tarn", "--json", path,
                                              trace, trace, trace, trace, trace, trace, NULL },
                       SIGINT, 0.9);
    assert_int_equal(outcome.exit_status, 130);
    json_t *root = load_json(path);
    const json_t *results = json_object_get(root, "results");
    size_t count = json_array_size(results);
    assert_true(count >= 1 && count <= 6);
    assert_true(json_is_true(json_object_get(root, "interrupted")));
    for (size_t i = 0; i + 1 < count; i++) {
        const json_t *row = json_array_get(results, i);
        assert_int_equal(number_of(row, "pairs"), 400);
        assert_int_equal(number_of(row, "repetitions"), 1);
        assert_null(json_object_get(row, "interrupted"));
    }
    /* The last was under way, or had just come to its end. */
    const json_t *last = json_array_get(results, count - 1);
    bool is_whole = number_of(last, "repetitions") == 1;
    assert_true(is_whole || json_is_true(json_object_get(last, "interrupted")));
    json_decref(root);
    outcome_fini(&outcome);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s PROGRAM TRACES\n", argv[0]);
        return EXIT_FAILURE;
    }
    program = argv[1];
    trace_folder = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(all_allocators_play_faithfully),
        cmocka_unit_test(the_traces_that_come_along_play_faithfully),
        cmocka_unit_test(recorded_time_says_how_late_it_was),
        cmocka_unit_test(a_damaged_trace_names_its_line),
        cmocka_unit_test(too_many_threads_are_named),
        cmocka_unit_test(the_table_says_whether_memory_is_touched),
        cmocka_unit_test(touching_more_than_there_is_is_skipped),
        cmocka_unit_test(a_csv_file_has_what_the_json_file_has),
        cmocka_unit_test(a_csv_file_that_cannot_be_written_is_a_failure),
        cmocka_unit_test(an_interrupted_run_leaves_what_was_measured),
        cmocka_unit_test(workloads_that_were_done_are_kept),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_destroy);
}
