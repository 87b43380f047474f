/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_workloads: the program's growth, streams and all, from outside; memory over time; the commit.
 *
 * Argument: the program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocators/allocator.h"
#include "common/numbers.h"
#include "program.h"
#include "scratch.h"
#include "tarn/backend.h"

static const char tiny_trace[] = "# tarn-trace 1\n# name: tiny\n"
                                 "a 0 1000 0 0 0\na 1 5000 0 0 1\nf 0 0 0 2\na 2 1 0 0 3\n";

static json_int_t get_integer(const json_t *row, const char *key)
{
    if (!json_is_integer(json_object_get(row, key))) fail_msg("no integer '%s'", key);
    return json_integer_value(json_object_get(row, key));
}

static double get_number(const json_t *row, const char *key)
{
    if (!json_is_number(json_object_get(row, key))) fail_msg("no number '%s'", key);
    return json_number_value(json_object_get(row, key));
}

static const char *get_text(const json_t *row, const char *key)
{
    if (!json_is_string(json_object_get(row, key))) fail_msg("no text '%s'", key);
    return json_string_value(json_object_get(row, key));
}

/* What the run has in its JSON file, which was named in the arguments. */
static json_t *expect_good(struct outcome outcome, const char *json)
{
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    outcome_fini(&outcome);
    return load_json(json);
}

static json_t *find_row(const json_t *root, const char *workload, const char *allocator)
{
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(root, "results"), index, row)
    {
        if (strcmp(get_text(row, "workload"), workload) == 0 &&
            strcmp(get_text(row, "allocator"), allocator) == 0)
            return row;
    }
    fail_msg("no result for %s on %s", allocator, workload);
    return NULL;
}

/* --- memory over time ----------------------------------------------------------------------------- */

static json_int_t at(const json_t *points, size_t index, size_t column)
{
    return json_integer_value(json_array_get(json_array_get(points, index), column));
}

static json_int_t most(const json_t *points, size_t column)
{
    json_int_t most = 0;
    for (size_t i = 0; i < json_array_size(points); i++)
        if (at(points, i, column) > most) most = at(points, i, column);
    return most;
}

/* The peaks are those of the result, and what is live is held. */
static const json_t *expect_memory_over_time(const json_t *row, json_int_t events)
{
    const json_t *points = json_object_get(row, "memory_over_time");
    size_t count = json_array_size(points);
    assert_true(count > 1 && count <= 500);
    assert_int_equal(at(points, 0, 0), 0);
    assert_int_equal(at(points, 0, 1), 0);
    assert_int_equal(at(points, count - 1, 0), events);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(json_array_size(json_array_get(points, i)), 3);
        assert_true(i == 0 || at(points, i, 0) > at(points, i - 1, 0));
        assert_true(at(points, i, 2) >= at(points, i, 1));
    }
    assert_int_equal(most(points, 1), get_integer(row, "peak_live_bytes"));
    assert_int_equal(most(points, 2), get_integer(row, "peak_footprint_bytes"));
    return points;
}

static void churn_and_replay_show_memory_over_time(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("memory.json");
    json_t *root = expect_good(RUN("churn", "--live=20", "--allocator=raw,tarn,ordered-sets",
                                   "--json", json, "--time=60", "--repetitions=1"),
                               json);
    expect_memory_over_time(find_row(root, "20 of 1K to 16M", "tarn"), 20 + 2 * 20000);
    if (!tn_allocator_ordered_sets.missing_because)
        expect_memory_over_time(find_row(root, "20 of 1K to 16M", "ordered-sets"), 20 + 2 * 20000);
    json_decref(root);

    const char *trace = scratch_write_text("tiny.trace", tiny_trace);
    root = expect_good(
        RUN("replay", trace, "--allocator=raw,tarn", "--json", json, "--time=0.01", "--initial=2M"),
        json);
    static const json_int_t live_bytes[] = { 0, 1000, 6000, 5000, 5001, 1, 0 };
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = find_row(root, "tiny", i == 0 ? "raw" : "tarn");
        const json_t *points = expect_memory_over_time(row, 6);
        assert_int_equal(json_array_size(points), 7);
        for (size_t event = 0; event < 7; event++)
            if (event != 5) assert_int_equal(at(points, event, 1), live_bytes[event]);
        assert_int_equal(at(points, 6, 2), i == 0 ? 0 : 2 << 20);
    }
    json_decref(root);
}

/* A workload that holds the same all the time shows nothing. */
static void others_show_no_memory(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("no_memory.json");
    json_t *root = expect_good(RUN("hot", "--allocator=tarn", "--json", json, "--time=0.01"), json);
    assert_null(json_object_get(find_row(root, "1K", "tarn"), "memory_over_time"));
    json_decref(root);
}

/* Nor what somebody holds who cannot tell. */
static void who_cannot_tell_has_no_memory_over_time(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("cannot_tell.json");
    json_t *root = expect_good(
        RUN("churn", "--live=5", "--allocator=libc-malloc", "--json", json, "--time=0.01"), json);
    const json_t *row = find_row(root, "5 of 1K to 16M", "libc-malloc");
    assert_int_equal(get_integer(row, "peak_footprint_bytes"), 0);
    assert_null(json_object_get(row, "memory_over_time"));
    json_decref(root);
}

/* --- sweep ---------------------------------------------------------------------------------------- */

/* From one byte to the largest power of two that there is room for: twice as much there is not. */
static void sweep_goes_to_the_largest_that_fits(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("sweep.json");
    json_t *root = expect_good(
        RUN("sweep", "--allocator=tarn", "--json", json, "--time=0.001", "--repetitions=1"), json);
    uint64_t device_bytes = (uint64_t)get_integer(json_object_get(root, "machine"), "device_bytes");
    const json_t *results = json_object_get(root, "results");
    size_t count = json_array_size(results);
    assert_true(count >= 5);
    uint64_t size_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = get_text(json_array_get(results, i), "workload");
        uint64_t bytes_before = size_bytes;
        assert_int_equal(tn_size_parse(name, strlen(name), &size_bytes), TN_NUMBER_OK);
        assert_true(i == 0 ? size_bytes == 1 : size_bytes > bytes_before);
        assert_int_equal(get_integer(json_array_get(results, i), "peak_live_bytes"), size_bytes);
    }
    assert_true(size_bytes <= device_bytes);
    assert_true((size_bytes & (size_bytes - 1)) == 0);
    json_decref(root);
}

/* --- growth --------------------------------------------------------------------------------------- */

static void expect_growth(const json_t *row, json_int_t live_bytes)
{
    assert_string_equal(get_text(row, "bench"), "growth");
    assert_int_equal(get_integer(row, "failures"), 0);
    assert_true(json_is_true(json_object_get(row, "verified")));
    json_int_t repetitions = get_integer(row, "repetitions");
    assert_true(repetitions == 1 || repetitions == 2); /* fewer than two where they take long */
    json_int_t pairs = get_integer(row, "pairs");
    assert_int_equal(get_integer(row, "peak_live_bytes"), live_bytes);
    assert_int_equal(get_integer(row, "peak_live_count"), pairs);
    assert_true(get_integer(row, "peak_footprint_bytes") >= live_bytes);
    double first = get_number(row, "first_alloc_ns");
    assert_true(first > 0.0 && get_number(row, "first_alloc_ns_min") <= first);
    assert_true(get_number(row, "first_alloc_ns_max") >= first);
    assert_true(first <= get_number(row, "ns_per_alloc") * (double)pairs * 10.0);
    assert_true(get_number(row, "ns_per_free") > 0.0);
    assert_true(get_number(row, "ns_per_pair") > 0.0);
    expect_memory_over_time(row, 2 * pairs);
}

/* A pool of 2 MiB that doubles takes about 2, 2, 4 and 8 MiB for 10 MiB. */
static void growth_begins_with_nothing(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("growth.json");
    struct outcome outcome =
        RUN("growth", "--until=10M,16M", "--size-range=4K,64K", "--initial=2M",
            "--allocator=raw,tarn,ordered-sets", "--json", json, "--time=60", "--repetitions=2");
    expect_part(outcome.output, "growth to 10M of 4K to 64K: at most 10.5 MB live");
    json_t *root = expect_good(outcome, json);
    const json_t *raw = find_row(root, "to 10M of 4K to 64K", "raw");
    expect_growth(raw, 10 << 20);
    assert_int_equal(get_integer(raw, "vendor_calls"), get_integer(raw, "pairs"));
    assert_int_equal(get_integer(raw, "held_after_free_bytes"), 0);
    assert_null(json_object_get(raw, "held_after_trim_bytes"));

    const json_t *tarn = find_row(root, "to 10M of 4K to 64K", "tarn");
    expect_growth(tarn, 10 << 20);
    assert_int_equal(get_integer(tarn, "vendor_calls"), 4);
    json_int_t held_bytes = get_integer(tarn, "peak_footprint_bytes");
    assert_in_range(held_bytes, 14 << 20, 16 << 20);
    assert_int_equal(get_integer(tarn, "held_after_free_bytes"), held_bytes);
    assert_int_equal(get_integer(tarn, "held_after_trim_bytes"), 0);
    expect_growth(find_row(root, "to 16M of 4K to 64K", "tarn"), 16 << 20);
    json_decref(root);
}

/* More than any device has. */
static void growth_past_the_device_is_skipped(void **state)
{
    (void)state;
    need_device();
    if (strcmp(tarn_backend_name(), "host") == 0) skip();
    const char *json = scratch_path("too_much.json");
    json_t *root = expect_good(
        RUN("growth", "--until=32T", "--size-range=1T,1T", "--allocator=raw,tarn", "--json", json),
        json);
    assert_int_equal(json_array_size(json_object_get(root, "results")), 0);
    assert_int_equal(json_array_size(json_object_get(root, "skipped")), 2);
    json_decref(root);
}

static void expect_parts(const json_t *latency, const char *name, json_int_t pairs)
{
    const json_t *parts = json_object_get(latency, name);
    json_int_t allocs = 0;
    json_int_t frees = 0;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        assert_int_equal(json_array_size(json_array_get(parts, i)), 7);
        assert_true(i == 0 || at(parts, i, 0) > at(parts, i - 1, 0));
        assert_true(at(parts, i, 2) <= at(parts, i, 3) && at(parts, i, 5) <= at(parts, i, 6));
        allocs += at(parts, i, 1);
        frees += at(parts, i, 4);
    }
    assert_in_range(allocs, 1, pairs); /* a device may be full earlier when the calls are timed */
    assert_int_equal(frees, allocs);
    assert_int_equal(most(parts, 3), get_integer(latency, "alloc_worst_ns"));
    assert_int_equal(most(parts, 6), get_integer(latency, "free_worst_ns"));
}

/* No allocator has more than the device, and the calls of each are those that it could serve. */
static void growth_until_full_is_timed_call_by_call(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("full.json");
    json_t *root = expect_good(RUN("growth", "--until=full", "--size-range=1M,1G", "--latency",
                                   "--allocator=raw,tarn,libc-malloc", "--json", json, "--time=0.2",
                                   "--repetitions=1"),
                               json);
    json_int_t device_bytes = get_integer(json_object_get(root, "machine"), "device_bytes");
    static const char *const names[] = { "raw", "tarn", "libc-malloc" };
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = find_row(root, "to full of 1M to 1G", names[i]);
        assert_true(json_is_true(json_object_get(row, "until_full")));
        assert_in_range(get_integer(row, "peak_live_bytes"), device_bytes / 16, device_bytes);
        const json_t *latency = json_object_get(row, "latency");
        expect_parts(latency, "over_time", get_integer(row, "pairs"));
        expect_parts(latency, "by_size", get_integer(row, "pairs"));
    }
    json_decref(root);
}

/* From an empty allocator on: the setup is among the calls. */
static void churn_is_timed_call_by_call(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("latency.json");
    json_t *root = expect_good(RUN("churn", "--live=20", "--latency", "--allocator=raw,tarn",
                                   "--json", json, "--time=60", "--repetitions=1"),
                               json);
    const json_t *latency = json_object_get(find_row(root, "20 of 1K to 16M", "tarn"), "latency");
    const json_t *parts = json_object_get(latency, "over_time");
    assert_int_equal(json_array_size(parts), 200);
    assert_true(at(parts, 0, 1) >= 20);
    assert_true(at(parts, 0, 3) > at(parts, 0, 2)); /* the pool takes its first piece */
    json_decref(root);
}

/* --- streams -------------------------------------------------------------------------------------- */

static void expect_streams(const json_t *row, json_int_t streams, const char *mode,
                           const char *free_order)
{
    assert_string_equal(get_text(row, "bench"), "streams");
    assert_string_equal(get_text(row, "mode"), mode);
    assert_string_equal(get_text(row, "free_order"), free_order);
    assert_int_equal(get_integer(row, "streams"), streams);
    assert_int_equal(get_integer(row, "threads"), 1);
    assert_int_equal(get_integer(row, "peak_live_count"), 3 * streams + 1); /* one stays */
    assert_true(get_integer(row, "pairs") >= 1024);
    assert_true(json_is_true(json_object_get(row, "verified")));
    double median = get_number(row, "ns_per_pair"), work = get_number(row, "harness_ns_per_pair");
    assert_true(get_number(row, "ns_per_pair_min") <= median);
    assert_true(get_number(row, "ns_per_pair_max") >= median);
    double without = get_number(row, "allocator_ns_per_pair");
    assert_true(without > median - work - 0.01 && without < median - work + 0.01);
    assert_true(get_number(row, "total_ns_per_pair") >= median * 0.999);
    assert_true(get_number(row, "work_total_ns_per_pair") >= work * 0.999);
    const json_t *free_ns = json_object_get(row, "free_ns");
    assert_true(get_number(free_ns, "p50") > 0.0);
    assert_true(get_number(free_ns, "p999") >= get_number(free_ns, "p99"));
    assert_true(get_number(json_object_get(row, "alloc_ns"), "max") > 0.0);
    const json_t *calls = json_object_get(row, "calls_per_pair");
    bool needs_wait =
        strcmp(free_order, "writes") == 0 || (strcmp(free_order, "needs wait") == 0 && streams > 1);
    assert_true(get_number(calls, "host_waits") == (needs_wait ? 1.0 : 0.0));
    assert_true(get_number(calls, "records") >= 0.0 && get_number(calls, "queries") >= 0.0);
}

static void blocks_go_round_between_streams(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("streams.json");
    struct outcome outcome = RUN("streams", "--streams=1,3", "--live=3", "--size-range=1K,64K",
                                 "--allocator=raw,tarn,ordered-sets,libc-malloc", "--json", json,
                                 "--time=0.02", "--repetitions=2");
    expect_part(outcome.output, "streams 3 x 3 of 1K to 64K, handed on: at most ");
    expect_part(outcome.output, "; the work alone: ");
    json_t *root = expect_good(outcome, json);
    static const char *const names[] = { "1 x 3 of 1K to 64K, own", "3 x 3 of 1K to 64K, own",
                                         "3 x 3 of 1K to 64K, handed on" };
    bool has_sets = !tn_allocator_ordered_sets.missing_because;
    bool has_malloc = !tn_allocator_must_be_named(&tn_allocator_libc_malloc);
    assert_int_equal(json_array_size(json_object_get(root, "results")),
                     6 + (has_sets ? 3 : 0) + (has_malloc ? 3 : 0));
    for (size_t i = 0; i < 3; i++) {
        json_int_t streams = i == 0 ? 1 : 3;
        const char *mode = i == 2 ? "handed on" : "own";
        expect_streams(find_row(root, names[i], "raw"), streams, mode, "waits");
        expect_streams(find_row(root, names[i], "tarn"), streams, mode, "ordered");
        if (has_sets)
            expect_streams(find_row(root, names[i], "ordered-sets"), streams, mode, "needs wait");
        if (has_malloc)
            expect_streams(find_row(root, names[i], "libc-malloc"), streams, mode, "writes");
    }
    json_decref(root);
}

/* Each of two streams needs one block more than it has. */
static void with_slack_blocks_go_round_without_events(void **state)
{
    (void)state;
    if (strcmp(tarn_backend_name(), "host") != 0) skip();
    static const char name[] = "2 x 16 of 1M to 1M, handed on";
    const char *json = scratch_path("slack.json");
    struct outcome outcome = RUN("streams", "--streams=2", "--size-range=1M,1M", "--repetitions=1",
                                 "--time=0.01", "--allocator=tarn,tarn:slack,tarn:contiguous:slack",
                                 "--stream-slack=0.125", "--json", json);
    json_t *root = expect_good(outcome, json);
    static const char *const allocators[] = { "tarn", "tarn:slack", "tarn:contiguous:slack" };
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = find_row(root, name, allocators[i]);
        const json_t *calls = json_object_get(row, "calls_per_pair");
        assert_true(i == 0 ? get_number(calls, "records") >= 0.9
                           : get_number(calls, "records") <= 0.1);
        assert_true(get_number(row, "peak_footprint_bytes") <= 36.0 * (1 << 20));
    }
    json_decref(root);
}

/* The processor's malloc may stand beside a device's allocators, but no device may write into its blocks. */
static void a_device_does_not_fill_memory_of_the_host(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("fill.json");
    bool is_host = !tn_allocator_must_be_named(&tn_allocator_libc_malloc);
    json_t *root = expect_good(
        RUN("hot", "--allocator=tarn,libc-malloc", "--json", json, "--time=0.01"), json);
    assert_non_null(find_row(root, "1K", "libc-malloc"));
    json_decref(root);
    root = expect_good(
        RUN("hot", "--touch", "--allocator=tarn,libc-malloc", "--json", json, "--time=0.01"), json);
    assert_int_equal(json_array_size(json_object_get(root, "results")), is_host ? 2 : 1);
    assert_int_equal(json_array_size(json_object_get(root, "not_found")), is_host ? 0 : 1);
    json_decref(root);
}

/* --- all ------------------------------------------------------------------------------------------ */

#define COMMON \
    "--allocator=raw,tarn", "--json", json, "--time=0.01", "--repetitions=1", "--initial=1M"
#define RANGE "--size-range=1K,64K"

/* Appends what identifies each result, in their order. */
static void note_results(char *text, size_t size, struct outcome outcome, const char *json)
{
    json_t *root = expect_good(outcome, json);
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(root, "results"), index, row)
    {
        size_t length = strlen(text);
        int added =
            snprintf(text + length, size - length, "%s | %s | %s | %d | %d\n",
                     get_text(row, "bench"), get_text(row, "workload"), get_text(row, "allocator"),
                     (int)get_integer(row, "threads"), (int)get_integer(row, "streams"));
        assert_true(added > 0 && (size_t)added < size - length);
    }
    json_decref(root);
}

static void all_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("all.json");
    const char *trace = scratch_write_text("all.trace", tiny_trace);
    static char all[1 << 14], parts[1 << 14];
    all[0] = parts[0] = '\0';
    note_results(all, sizeof all,
                 RUN("all", trace, COMMON, RANGE, "--sizes=1,4K", "--counts=10,20", "--live=5",
                     "--threads=1,2", "--streams=1,2", "--until=1M"),
                 json);
    note_results(parts, sizeof parts, RUN("hot", COMMON), json);
    note_results(parts, sizeof parts, RUN("sweep", COMMON, "--sizes=1,4K"), json);
    note_results(parts, sizeof parts, RUN("live", COMMON, RANGE, "--counts=10,20"), json);
    note_results(parts, sizeof parts, RUN("churn", COMMON, RANGE, "--live=5"), json);
    note_results(parts, sizeof parts, RUN("threads", COMMON, RANGE, "--live=5", "--threads=1,2"),
                 json);
    note_results(parts, sizeof parts, RUN("streams", COMMON, RANGE, "--live=5", "--streams=1,2"),
                 json);
    note_results(parts, sizeof parts, RUN("growth", COMMON, RANGE, "--until=1M"), json);
    note_results(parts, sizeof parts, RUN("replay", trace, COMMON), json);
    assert_non_null(strstr(all, "growth | to 1M of 1K to 64K | tarn | 1 | 1"));
    assert_string_equal(all, parts);
}

/* The lists that nobody gave. Those that depend on the device are given here; one has no room on a small device. */
static void all_has_short_lists_and_the_traces_that_come_along(void **state)
{
    (void)state;
    if (strcmp(tarn_backend_name(), "host") != 0) skip();
    const char *json = scratch_path("short.json");
    static char all[1 << 14];
    all[0] = '\0';
    note_results(all, sizeof all,
                 RUN("all", "--allocator=tarn", "--json", json, "--time=0.001", "--repetitions=1",
                     "--sizes=1", "--until=1M"),
                 json);
    assert_string_equal(all, "hot | 1K | tarn | 1 | 1\n"
                             "sweep | 1 | tarn | 1 | 1\n"
                             "live | 10 of 1 to 10 | tarn | 1 | 1\n"
                             "live | 1000 of 1 to 10 | tarn | 1 | 1\n"
                             "live | 100000 of 1 to 10 | tarn | 1 | 1\n"
                             "live | 10 of 1 to 64K | tarn | 1 | 1\n"
                             "live | 1000 of 1 to 64K | tarn | 1 | 1\n"
                             "live | 100000 of 1 to 64K | tarn | 1 | 1\n"
                             "churn | 100 of 1K to 16M | tarn | 1 | 1\n"
                             "churn | 10000 of 1K to 16M | tarn | 1 | 1\n"
                             "threads | 1 x 100 of 1K to 16M | tarn | 1 | 1\n"
                             "threads | 2 x 100 of 1K to 16M | tarn | 2 | 2\n"
                             "threads | 4 x 100 of 1K to 16M | tarn | 4 | 4\n"
                             "streams | 1 x 16 of 4K to 1M, own | tarn | 1 | 1\n"
                             "streams | 4 x 16 of 4K to 1M, own | tarn | 1 | 4\n"
                             "streams | 4 x 16 of 4K to 1M, handed on | tarn | 1 | 4\n"
                             "growth | to 1M of 1K to 16M | tarn | 1 | 1\n"
                             "replay | examinimd-lj | tarn | 1 | 1\n"
                             "replay | omegah-warp-3d-small-cut | tarn | 1 | 1\n"
                             "replay | torch_resnet-cut | tarn | 1 | 1\n");
}

/* Each kind of table has its head and its legend, and only once. */
static void all_explains_every_table(void **state)
{
    (void)state;
    need_device();
    const char *trace = scratch_write_text("head.trace", tiny_trace);
    struct outcome outcome =
        RUN("all", trace, "--allocator=tarn", "--time=0.001", "--repetitions=1", "--sizes=1",
            "--counts=1", "--live=1", "--threads=1", "--streams=1", "--until=1M");
    assert_int_equal(outcome.exit_status, 0);
    expect_part(outcome.output, "p50    p99  p99.9");
    expect_part(outcome.output, "times one");
    expect_part(outcome.output, "first      ns/");
    expect_part(outcome.output, "without    until");
    static const char *const legends[] = { "\nns/pair: ", "\npairs/s: ", "\nfirst alloc, ",
                                           "\nthread ns/pair: ", "\nheld/live: " };
    for (size_t i = 0; i < sizeof legends / sizeof legends[0]; i++) {
        expect_part(outcome.output, legends[i]);
        assert_null(strstr(strstr(outcome.output, legends[i]) + 1, legends[i]));
    }
    outcome_fini(&outcome);
}

/* --- options and machine -------------------------------------------------------------------------- */

static void options_are_checked(void **state)
{
    (void)state;
    expect_usage_error(RUN("streams", "--streams=0"), "--streams 0: 0 is not from 1 to 64");
    expect_usage_error(RUN("streams", "--streams=65"), "65 is not from 1 to 64");
    expect_usage_error(RUN("growth", "--until=0"), "--until 0: 0 is not from 1 to");
    expect_usage_error(RUN("growth", "--until=full,1M"), "--until full,1M: 'full' is not a number");
    expect_usage_error(RUN("churn", "--latency"), "--latency goes to the file of --json");
    expect_usage_error(RUN("threads", "--latency", "--json=x"),
                       "--latency is an option of sweep, live, churn, growth and replay only");
    expect_usage_error(RUN("churn", "--latency", "--touch", "--json=x"),
                       "--latency cannot be measured with --touch");
    expect_usage_error(RUN("replay", "--latency", "--faithful", "x", "--json=y"),
                       "--latency cannot");
    expect_usage_error(RUN("growth", "--until=big"), "--until big: 'big' is not a number");
    expect_usage_error(RUN("churn", "--streams=1"), "--streams is an option of streams only");
    expect_usage_error(RUN("streams", "--until=1M"), "--until is an option of growth only");
    expect_usage_error(RUN("growth", "--live=1"),
                       "--live is an option of churn, threads and streams only");
    expect_usage_error(RUN("streams", "--threads=1"), "--threads is an option of threads only");
    expect_usage_error(RUN("growth", "more"), "'more' is one argument too many");
    expect_usage_error(RUN("streams", "more"), "'more' is one argument too many");
}

/* expect_commit says when it is which one. */
static void the_commit_is_named(void **state)
{
    (void)state;
    need_device();
    const char *json = scratch_path("commit.json");
    struct outcome outcome = RUN("hot", "--allocator=tarn", "--json", json, "--time=0.001");
    char line[200] = "";
    const char *begin = strstr(outcome.output, "\ncommit ");
    assert_non_null(begin);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(begin + 8, ","), begin + 8);
    json_t *root = expect_good(outcome, json);
    assert_string_equal(get_text(json_object_get(root, "machine"), "commit"), line);
    assert_true(strlen(line) >= 7);
    json_decref(root);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: test_workloads PROGRAM\n");
        return EXIT_FAILURE;
    }
    program = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(churn_and_replay_show_memory_over_time),
        cmocka_unit_test(who_cannot_tell_has_no_memory_over_time),
        cmocka_unit_test(others_show_no_memory),
        cmocka_unit_test(sweep_goes_to_the_largest_that_fits),
        cmocka_unit_test(growth_begins_with_nothing),
        cmocka_unit_test(growth_past_the_device_is_skipped),
        cmocka_unit_test(growth_until_full_is_timed_call_by_call),
        cmocka_unit_test(churn_is_timed_call_by_call),
        cmocka_unit_test(blocks_go_round_between_streams),
        cmocka_unit_test(with_slack_blocks_go_round_without_events),
        cmocka_unit_test(a_device_does_not_fill_memory_of_the_host),
        cmocka_unit_test(all_is_the_sum_of_its_parts),
        cmocka_unit_test(all_has_short_lists_and_the_traces_that_come_along),
        cmocka_unit_test(all_explains_every_table),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(the_commit_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_destroy);
}
