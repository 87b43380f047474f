/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_trace_reader: what is read from a good trace. Damaged ones are in test_tarn_bench.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tarn/host.h>
#include <tarn/record.h>
#include <tarn/tarn.h>

#include "scratch.h"
#include "workloads/trace_reader.h"

static const char small_trace[] = "# tarn-trace 1\n"
                                  "# name: small\n"
                                  "# arguments: \n"
                                  "# events: 6\n"
                                  "a 18446744073709551615 1000 0 0 5\n"
                                  "a 7 0 1 2 5\n"
                                  "f 18446744073709551615 0 1 6\n"
                                  "# remark: between events\n"
                                  "a 3 20 0 0 7\n"
                                  "a 18446744073709551615 30 0 0 8\n"
                                  "f 3 0 0 9\n";

static struct tn_trace read_good(const char *path)
{
    struct tn_trace trace;
    struct tn_reason reason = { "" };
    if (!tn_trace_read(path, &trace, &reason)) fail_msg("%s", reason.text);
    return trace;
}

static void expect_alloc(const struct tn_trace *trace, size_t index, size_t slot, size_t size_bytes,
                         size_t line)
{
    const struct tn_operation *operation = &trace->operations.items[index];
    assert_int_equal(operation->is_alloc, 1);
    assert_int_equal(operation->slot, slot);
    assert_int_equal(operation->size_bytes, size_bytes);
    assert_int_equal(trace->lines[index], line);
}

static void expect_free(const struct tn_trace *trace, size_t index, size_t slot, size_t line)
{
    const struct tn_operation *operation = &trace->operations.items[index];
    assert_int_equal(operation->is_alloc, 0);
    assert_int_equal(operation->slot, slot);
    assert_int_equal(operation->size_bytes, 0);
    assert_int_equal(trace->lines[index], line);
}

/* Slots are dense and used again, ids may come back, and what is left is freed in the end. */
static void a_plain_trace_is_read(void **state)
{
    (void)state;
    struct tn_trace trace = read_good(scratch_write_text("small.trace", small_trace));
    assert_string_equal(trace.name, "small");
    assert_int_equal(trace.slot_count, 3);
    assert_int_equal(trace.left_live_count, 2);
    assert_int_equal(trace.operations.count, 8);
    expect_alloc(&trace, 0, 0, 1000, 5);
    expect_alloc(&trace, 1, 1, 0, 6);
    expect_free(&trace, 2, 0, 7);
    expect_alloc(&trace, 3, 0, 20, 9);
    expect_alloc(&trace, 4, 2, 30, 10);
    expect_free(&trace, 5, 0, 11);
    expect_free(&trace, 6, 1, 0);
    expect_free(&trace, 7, 2, 0);
    tn_trace_fini(&trace);
}

static void expect_origin(const struct tn_trace *trace, size_t index, uint32_t stream,
                          uint32_t thread, uint64_t time_ns)
{
    assert_int_equal(trace->origins[index].stream, stream);
    assert_int_equal(trace->origins[index].thread, thread);
    assert_int_equal(trace->origins[index].time_ns, time_ns);
}

/* Numbered as they come up; what is freed at the end is freed where it was allocated. */
static void threads_streams_and_times_are_read(void **state)
{
    (void)state;
    struct tn_trace trace =
        read_good(scratch_write_text("origins.trace", "# tarn-trace 1\n"
                                                      "a 0 8 18446744073709551615 7 5\n"
                                                      "a 1 8 0 7 6\n"
                                                      "f 0 0 4 8\n"
                                                      "a 2 8 18446744073709551615 4 9\n"));
    assert_int_equal(trace.thread_count, 2);
    assert_int_equal(trace.stream_count, 2);
    expect_origin(&trace, 0, 0, 0, 0);
    expect_origin(&trace, 1, 1, 0, 1);
    expect_origin(&trace, 2, 1, 1, 3);
    expect_origin(&trace, 3, 0, 1, 4);
    assert_int_equal(trace.left_live_count, 2);
    expect_origin(&trace, 4, 0, 1, 4); /* slot 0 is id 2's by then */
    expect_origin(&trace, 5, 1, 0, 4);
    tn_trace_fini(&trace);
}

/* As TARN_TRACE writes them, under a name that says otherwise. */
static void events_are_read_as_their_trace(void **state)
{
    (void)state;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    tarn_backend backend; /* of the host, which any machine has */
    tarn_pool *pool;
    void *a, *b;
    const char *path = scratch_write_text("events.trace.gz", "");
    assert_int_equal(tarn_host_backend_open(NULL, &backend), TARN_STATUS_OK);
    options.backend = &backend;
    assert_int_equal(tarn_pool_create(&options, &pool), TARN_STATUS_OK);
    assert_int_equal(tarn_record_start(path), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_alloc(pool, 1000, &a), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_alloc(pool, 2000, &b), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_free(pool, a), TARN_STATUS_OK);
    struct tn_trace trace;
    struct tn_reason reason = { "" };
    assert_false(tn_trace_read(path, &trace, &reason));
    assert_non_null(strstr(reason.text, "is still being written by a running process"));
    assert_int_equal(tarn_record_stop(), TARN_STATUS_OK);
    trace = read_good(path);
    assert_string_equal(trace.name, "test_trace_reader");
    assert_int_equal(trace.operations.count, 4);
    expect_alloc(&trace, 0, 0, 1000, 4);
    expect_alloc(&trace, 1, 1, 2000, 5);
    expect_free(&trace, 2, 0, 6);
    assert_int_equal(trace.left_live_count, 1);
    tn_trace_fini(&trace);
    assert_int_equal(tarn_pool_destroy_forced(pool, NULL), TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

static void a_gzipped_trace_is_the_same(void **state)
{
    (void)state;
    struct tn_trace plain = read_good(scratch_write_text("small.trace", small_trace));
    struct tn_trace zipped = read_good(scratch_write_gzip("small.trace.gz", small_trace));
    assert_int_equal(plain.operations.count, zipped.operations.count);
    for (size_t i = 0; i < plain.operations.count; i++) {
        assert_memory_equal(&plain.operations.items[i], &zipped.operations.items[i],
                            sizeof plain.operations.items[0]);
        assert_int_equal(plain.lines[i], zipped.lines[i]);
    }
    tn_trace_fini(&plain);
    tn_trace_fini(&zipped);
}

/* gzip's content counts, and a name without .gz promises nothing. */
static void a_gzipped_trace_may_have_any_name(void **state)
{
    (void)state;
    struct tn_trace trace = read_good(scratch_write_gzip("zipped.trace", small_trace));
    assert_int_equal(trace.operations.count, 8);
    tn_trace_fini(&trace);
}

static void without_a_name_the_file_gives_it(void **state)
{
    (void)state;
    struct tn_trace trace = read_good(
        scratch_write_text("na\xc3\xafve.trace", "# tarn-trace 1\na 0 8 0 0 0\nf 0 0 0 0\n"));
    assert_string_equal(trace.name, "na??ve.trace");
    assert_int_equal(trace.left_live_count, 0);
    tn_trace_fini(&trace);
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    char text[400];
    snprintf(text, sizeof text, "# tarn-trace 1\n# name: %0300d\na 0 8 0 0 0\n", 0);
    struct tn_trace trace = read_good(scratch_write_text("long", text));
    assert_int_equal(strlen(trace.name), TN_WORKLOAD_NAME_BYTES - 1);
    tn_trace_fini(&trace);
}

/* More live blocks and more events than the arrays start with. */
static void a_large_trace_is_read(void **state)
{
    (void)state;
    enum {
        COUNT = 3000
    };
    char *text = malloc(COUNT * 64 + 64);
    assert_non_null(text);
    size_t length = (size_t)sprintf(text, "# tarn-trace 1\n");
    for (int i = 0; i < COUNT; i++)
        length += (size_t)sprintf(text + length, "a %d %d 0 0 0\n", i, i + 1);
    for (int i = COUNT - 1; i >= 0; i--)
        length += (size_t)sprintf(text + length, "f %d 0 0 0\n", i);
    struct tn_trace trace = read_good(scratch_write_gzip("large.trace.gz", text));
    free(text);
    assert_int_equal(trace.slot_count, COUNT);
    assert_int_equal(trace.operations.count, 2 * COUNT);
    expect_alloc(&trace, COUNT - 1, COUNT - 1, COUNT, COUNT + 1);
    expect_free(&trace, 2 * COUNT - 1, 0, 2 * COUNT + 1);
    tn_trace_fini(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_trace_is_read),
        cmocka_unit_test(threads_streams_and_times_are_read),
        cmocka_unit_test(events_are_read_as_their_trace),
        cmocka_unit_test(a_gzipped_trace_is_the_same),
        cmocka_unit_test(a_gzipped_trace_may_have_any_name),
        cmocka_unit_test(without_a_name_the_file_gives_it),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(a_large_trace_is_read),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_destroy);
}
