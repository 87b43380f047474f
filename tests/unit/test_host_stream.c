/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_host_stream: when the host backend's tasks run, one by one. What any backend promises about
 * streams is tested by the conformance suite; here is what programs rely on that want to be told
 * when they forget to wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tarn/host.h"

#include "base/host_memory.h"

/* --- host memory that is counted and can fail --------------------------------------------------- */

static size_t held_count;    /* pieces of host memory that were not given back */
static size_t alloc_count;   /* since the last reset */
static size_t failing_alloc; /* the number of the one that fails, from 1; 0: none does */

static void *counting_alloc(size_t size_bytes)
{
    if (++alloc_count == failing_alloc) return NULL;
    void *address = malloc(size_bytes);
    held_count += address != NULL;
    return address;
}

static void counting_free(void *address)
{
    held_count--;
    free(address);
}

static void fail_alloc(size_t number)
{
    alloc_count = 0;
    failing_alloc = number;
}

/* --- a device with two streams and some bytes --------------------------------------------------- */

enum {
    BYTE_COUNT = 64
};

struct device {
    tarn_backend backend;
    const tarn_backend_operations *operations;
    void *state;
    tarn_stream a, b;
    tarn_event event;
    unsigned char bytes[BYTE_COUNT]; /* tasks leave their marks here */
};

#define ASSERT_OK(result)            assert_int_equal((result).status, TARN_STATUS_OK)
#define ASSERT_NOT_READY(result)     assert_int_equal((result).status, TARN_STATUS_NOT_READY)
#define CALL(device, operation, ...) (device)->operations->operation((device)->state, __VA_ARGS__)

static int setup(void **state)
{
    static const struct tn_host_memory_hooks hooks = { counting_alloc, counting_free };
    static struct device device;
    held_count = 0;
    fail_alloc(0);
    tn_host_memory_set_hooks(&hooks);

    memset(&device, 0, sizeof device);
    assert_int_equal(tarn_host_backend_open(NULL, &device.backend), TARN_STATUS_OK);
    device.operations = device.backend.operations;
    device.state = device.backend.state;
    ASSERT_OK(CALL(&device, stream_create, &device.a));
    ASSERT_OK(CALL(&device, stream_create, &device.b));
    ASSERT_OK(CALL(&device, event_create, &device.event));
    *state = &device;
    return 0;
}

static int teardown(void **state)
{
    struct device *device = *state;
    ASSERT_OK(CALL(device, event_destroy, device->event));
    ASSERT_OK(CALL(device, stream_destroy, device->a));
    ASSERT_OK(CALL(device, stream_destroy, device->b));
    tarn_backend_close(&device->backend);
    tn_host_memory_set_hooks(NULL);
    assert_int_equal(held_count, 0);
    return 0;
}

/* A task that leaves a mark: byte number `place` becomes `place` + 1. */
static void submit_mark(struct device *device, size_t place, tarn_stream stream)
{
    ASSERT_OK(CALL(device, fill, &device->bytes[place], (unsigned char)(place + 1), 1, stream));
}

/* Exactly the marks from first_place to before end_place have been left. */
static void expect_marks(const struct device *device, size_t first_place, size_t end_place)
{
    for (size_t i = 0; i < BYTE_COUNT; i++) {
        unsigned char expected =
            i >= first_place && i < end_place ? (unsigned char)(i + 1) : (unsigned char)0;
        if (device->bytes[i] != expected)
            fail_msg("byte %zu is %d, not %d", i, device->bytes[i], expected);
    }
}

/* --- tasks run late ------------------------------------------------------------------------------ */

static void submitting_runs_nothing(void **state)
{
    struct device *device = *state;
    unsigned char copied = 0;
    submit_mark(device, 0, device->a);
    ASSERT_OK(CALL(device, copy, &copied, &device->bytes[0], 1, device->a));
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    ASSERT_OK(CALL(device, stream_wait_event, device->b, device->event));
    submit_mark(device, 1, device->b);
    submit_mark(device, 2, NULL);
    expect_marks(device, 0, 0);
    assert_int_equal(copied, 0);

    ASSERT_OK(CALL(device, stream_synchronize, device->a));
    assert_int_equal(copied, 1);
}

/* A copy takes what is there when it runs, not when it was submitted. */
static void copying_reads_late(void **state)
{
    struct device *device = *state;
    unsigned char source = 1, destination = 0;
    ASSERT_OK(CALL(device, copy, &destination, &source, 1, device->a));
    source = 2;
    ASSERT_OK(CALL(device, stream_synchronize, device->a));
    assert_int_equal(destination, 2);
}

static void copying_may_overlap(void **state)
{
    struct device *device = *state;
    for (size_t i = 0; i < 4; i++)
        submit_mark(device, i, device->a);
    ASSERT_OK(CALL(device, copy, &device->bytes[1], &device->bytes[0], 4, device->a));
    ASSERT_OK(CALL(device, stream_synchronize, device->a));
    const unsigned char expected[] = { 1, 1, 2, 3, 4, 0 };
    assert_memory_equal(device->bytes, expected, sizeof expected);
}

static void synchronizing_runs_one_stream(void **state)
{
    struct device *device = *state;
    submit_mark(device, 0, NULL);
    submit_mark(device, 1, device->a);
    submit_mark(device, 2, device->b);
    ASSERT_OK(CALL(device, stream_synchronize, device->a));
    expect_marks(device, 1, 2);
    ASSERT_OK(CALL(device, stream_synchronize, NULL));
    expect_marks(device, 0, 2);
    ASSERT_OK(CALL(device, stream_synchronize, NULL));
    expect_marks(device, 0, 2);
    ASSERT_OK(CALL(device, stream_synchronize, device->b));
    expect_marks(device, 0, 3);
}

static void an_event_runs_what_is_before_it(void **state)
{
    struct device *device = *state;
    submit_mark(device, 0, device->a);
    submit_mark(device, 1, device->a);
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    submit_mark(device, 2, device->a);
    ASSERT_OK(CALL(device, event_synchronize, device->event));
    expect_marks(device, 0, 2);
    ASSERT_OK(CALL(device, event_query, device->event));
    expect_marks(device, 0, 2);
}

/* --- asking makes bounded progress --------------------------------------------------------------- */

static void asking_runs_one_task(void **state)
{
    struct device *device = *state;
    for (size_t i = 0; i < 5; i++)
        submit_mark(device, i, device->a);
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    submit_mark(device, 5, device->a);
    for (size_t i = 0; i < 5; i++) {
        expect_marks(device, 0, i);
        ASSERT_NOT_READY(CALL(device, event_query, device->event));
    }
    expect_marks(device, 0, 5);
    ASSERT_NOT_READY(CALL(device, event_query, device->event)); /* runs the record */
    ASSERT_OK(CALL(device, event_query, device->event));
    ASSERT_OK(CALL(device, event_query, device->event));
    expect_marks(device, 0, 5);
}

static void even_work_that_is_nothing_is_not_ready_at_first(void **state)
{
    struct device *device = *state;
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    ASSERT_NOT_READY(CALL(device, event_query, device->event));
    ASSERT_OK(CALL(device, event_query, device->event));
}

/* B waits for A, so asking after B makes progress on A first. */
static void asking_makes_progress_where_it_is_needed(void **state)
{
    struct device *device = *state;
    tarn_event last;
    ASSERT_OK(CALL(device, event_create, &last));
    submit_mark(device, 0, device->a);
    submit_mark(device, 1, device->a);
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    submit_mark(device, 40, device->a);
    ASSERT_OK(CALL(device, stream_wait_event, device->b, device->event));
    submit_mark(device, 2, device->b);
    ASSERT_OK(CALL(device, event_record, last, device->b));

    const size_t marks_after[] = { 1, 2, 2 /* record */, 2 /* wait */, 3, 3 /* record */ };
    for (size_t i = 0; i < sizeof marks_after / sizeof *marks_after; i++) {
        ASSERT_NOT_READY(CALL(device, event_query, last));
        expect_marks(device, 0, marks_after[i]);
    }
    ASSERT_OK(CALL(device, event_query, last));
    ASSERT_OK(CALL(device, event_destroy, last));
}

/* --- which record is meant ----------------------------------------------------------------------- */

static void an_event_that_is_recorded_again_forgets_the_first(void **state)
{
    struct device *device = *state;
    submit_mark(device, 0, device->a);
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    submit_mark(device, 1, device->b);
    ASSERT_OK(CALL(device, event_record, device->event, device->b));
    ASSERT_OK(CALL(device, stream_synchronize, device->a)); /* completes the first */
    ASSERT_NOT_READY(CALL(device, event_query, device->event));
    ASSERT_OK(CALL(device, event_synchronize, device->event));
    expect_marks(device, 0, 2);
}

static void a_complete_event_that_is_recorded_again_is_not_ready(void **state)
{
    struct device *device = *state;
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    ASSERT_OK(CALL(device, event_synchronize, device->event));
    submit_mark(device, 0, device->a);
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    ASSERT_NOT_READY(CALL(device, event_query, device->event));
    ASSERT_OK(CALL(device, event_synchronize, device->event));
    expect_marks(device, 0, 1);
}

/* The wait was submitted after the first record and before the second: it waits for the first. */
static void a_wait_means_the_record_before_it(void **state)
{
    struct device *device = *state;
    submit_mark(device, 0, device->a);
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    ASSERT_OK(CALL(device, stream_wait_event, device->b, device->event));
    submit_mark(device, 1, device->b);
    submit_mark(device, 2, device->a);
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    ASSERT_OK(CALL(device, stream_synchronize, device->b));
    expect_marks(device, 0, 2);
    ASSERT_OK(CALL(device, event_synchronize, device->event));
    expect_marks(device, 0, 3);
}

static void a_wait_for_nothing_is_no_task(void **state)
{
    struct device *device = *state;
    size_t before = held_count;
    ASSERT_OK(CALL(device, stream_wait_event, device->b, device->event));
    assert_int_equal(held_count, before);
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    ASSERT_OK(CALL(device, stream_wait_event, device->a, device->event));
    ASSERT_OK(CALL(device, event_synchronize, device->event));
    ASSERT_OK(CALL(device, stream_synchronize, device->a));
    before = held_count;
    ASSERT_OK(CALL(device, stream_wait_event, device->b, device->event));
    assert_int_equal(held_count, before);
}

/* Each waits for what the other did before, back and forth: nobody waits for ever. */
static void two_streams_that_wait_for_each_other_come_to_an_end(void **state)
{
    struct device *device = *state;
    tarn_stream streams[] = { device->a, device->b };
    for (size_t i = 0; i < 40; i++) {
        ASSERT_OK(CALL(device, stream_wait_event, streams[i % 2], device->event));
        submit_mark(device, i, streams[i % 2]);
        ASSERT_OK(CALL(device, event_record, device->event, streams[i % 2]));
    }
    for (size_t done = 1; done <= 40; done++) {
        /* What stands between one mark and the next: a record, a wait. */
        for (int task = 0; task < 3 && device->bytes[done - 1] == 0; task++)
            ASSERT_NOT_READY(CALL(device, event_query, device->event));
        expect_marks(device, 0, done);
    }
}

/* Waiting runs no deeper than one stream, however many wait for each other. */
static void a_long_row_of_streams_comes_to_an_end(void **state)
{
    enum {
        STREAM_COUNT = 2000
    };
    struct device *device = *state;
    static tarn_stream streams[STREAM_COUNT];
    static unsigned char bytes[STREAM_COUNT + 1];
    memset(bytes, 0, sizeof bytes);
    bytes[0] = 1;
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        ASSERT_OK(CALL(device, stream_create, &streams[i]));
        ASSERT_OK(CALL(device, stream_wait_event, streams[i], device->event));
        ASSERT_OK(CALL(device, copy, &bytes[i + 1], &bytes[i], 1, streams[i]));
        ASSERT_OK(CALL(device, event_record, device->event, streams[i]));
    }
    ASSERT_OK(CALL(device, stream_synchronize, streams[STREAM_COUNT - 1]));
    assert_int_equal(bytes[STREAM_COUNT], 1);
    for (size_t i = 0; i < STREAM_COUNT; i++)
        ASSERT_OK(CALL(device, stream_destroy, streams[i]));
}

/* --- what goes while it is in use ----------------------------------------------------------------- */

static void a_destroyed_event_leaves_its_records(void **state)
{
    struct device *device = *state;
    tarn_event event;
    size_t before = held_count;
    ASSERT_OK(CALL(device, event_create, &event));
    submit_mark(device, 0, device->a);
    ASSERT_OK(CALL(device, event_record, event, device->a));
    ASSERT_OK(CALL(device, stream_wait_event, device->b, event));
    ASSERT_OK(CALL(device, event_record, event, device->a));
    submit_mark(device, 1, device->b);
    ASSERT_OK(CALL(device, event_destroy, event));
    ASSERT_OK(CALL(device, stream_synchronize, device->b));
    expect_marks(device, 0, 2);
    ASSERT_OK(CALL(device, stream_synchronize, device->a));
    assert_int_equal(held_count, before);
}

static void destroying_a_stream_runs_what_it_needs(void **state)
{
    struct device *device = *state;
    tarn_stream stream;
    ASSERT_OK(CALL(device, stream_create, &stream));
    submit_mark(device, 0, device->a);
    ASSERT_OK(CALL(device, event_record, device->event, device->a));
    submit_mark(device, 2, device->a);
    ASSERT_OK(CALL(device, stream_wait_event, stream, device->event));
    submit_mark(device, 1, stream);
    ASSERT_OK(CALL(device, stream_destroy, stream));
    expect_marks(device, 0, 2);
}

static void releasing_runs_everything(void **state)
{
    struct device *device = *state;
    void *piece;
    ASSERT_OK(CALL(device, acquire, 4096, &piece));
    submit_mark(device, 0, NULL);
    submit_mark(device, 1, device->a);
    submit_mark(device, 2, device->b);
    ASSERT_OK(CALL(device, fill, piece, 7, 4096, device->b));
    ASSERT_OK(CALL(device, copy, &device->bytes[3], piece, 1, device->b));
    assert_int_equal(CALL(device, release, piece, 4095).status, TARN_STATUS_INVALID_ARGUMENT);
    expect_marks(device, 0, 0);
    ASSERT_OK(CALL(device, release, piece, 4096));
    assert_int_equal(device->bytes[3], 7);
    device->bytes[3] = 0;
    expect_marks(device, 0, 3);
}

static void closing_finishes_the_default_stream(void **state)
{
    struct device *device = *state;
    tarn_backend other;
    assert_int_equal(tarn_host_backend_open(NULL, &other), TARN_STATUS_OK);
    ASSERT_OK(other.operations->fill(other.state, &device->bytes[0], 1, 1, NULL));
    expect_marks(device, 0, 0);
    tarn_backend_close(&other);
    expect_marks(device, 0, 1);
}

/* --- what is no stream -------------------------------------------------------------------------- */

static void what_is_no_stream_is_told(void **state)
{
    struct device *device = *state;
    int nothing;
    ASSERT_OK(CALL(device, stream_check, device->a));
    ASSERT_OK(CALL(device, stream_check, device->b));
    ASSERT_OK(CALL(device, stream_check, NULL));
    assert_int_equal(CALL(device, stream_check, &nothing).status, TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(CALL(device, stream_check, device).status, TARN_STATUS_INVALID_ARGUMENT);
}

/* --- no host memory ------------------------------------------------------------------------------- */

/* OK, or OUT_OF_HOST_MEMORY if it was this call that met the allocation that fails. */
static bool went_well(tarn_backend_result result)
{
    if (result.status != TARN_STATUS_OK)
        assert_int_equal(result.status, TARN_STATUS_OUT_OF_HOST_MEMORY);
    return result.status == TARN_STATUS_OK;
}

/* Uses everything that takes host memory, with streams and events of its own. What was submitted
 * happens, what was refused does not. Returns how many calls were refused. */
static size_t use_streams(struct device *device, tarn_stream stream, tarn_event event)
{
    bool is_filled = went_well(CALL(device, fill, &device->bytes[0], 1, 1, device->a));
    bool is_copied =
        went_well(CALL(device, copy, &device->bytes[1], &device->bytes[0], 1, device->a));
    bool is_recorded = went_well(CALL(device, event_record, event, device->a));
    bool is_waited = went_well(CALL(device, stream_wait_event, stream, event));
    bool is_filled_after = went_well(CALL(device, fill, &device->bytes[2], 3, 1, stream));
    ASSERT_OK(CALL(device, stream_synchronize, stream));
    assert_int_equal(device->bytes[0], is_filled && is_recorded && is_waited ? 1 : 0);
    assert_int_equal(device->bytes[2], is_filled_after ? 3 : 0);
    ASSERT_OK(CALL(device, stream_synchronize, device->a));
    assert_int_equal(device->bytes[0], is_filled ? 1 : 0);
    assert_int_equal(device->bytes[1], is_filled && is_copied ? 1 : 0);
    return (size_t)!is_filled + !is_copied + !is_recorded + !is_waited + !is_filled_after;
}

static size_t use_device(struct device *device)
{
    memset(device->bytes, 0, BYTE_COUNT);
    size_t refused_count = 0;
    tarn_stream stream = NULL;
    tarn_event event = NULL;
    void *piece = NULL;
    bool has_stream = went_well(CALL(device, stream_create, &stream));
    bool has_event = went_well(CALL(device, event_create, &event));
    bool has_piece = went_well(CALL(device, acquire, 100, &piece));
    assert_int_equal(has_stream, stream != NULL);
    assert_int_equal(has_event, event != NULL);
    assert_int_equal(has_piece, piece != NULL);
    refused_count += (size_t)!has_stream + !has_event + !has_piece;
    if (has_event) refused_count += use_streams(device, stream, event);
    if (has_piece) ASSERT_OK(CALL(device, release, piece, 100));
    if (has_event) ASSERT_OK(CALL(device, event_destroy, event));
    if (has_stream) ASSERT_OK(CALL(device, stream_destroy, stream));
    return refused_count;
}

static void no_host_memory_is_reported_and_changes_nothing(void **state)
{
    struct device *device = *state;
    size_t before = held_count;
    size_t number = 1;
    for (;; number++) {
        fail_alloc(number);
        size_t refused_count = use_device(device);
        bool has_failed = alloc_count >= number;
        fail_alloc(0);
        assert_int_equal(refused_count, has_failed);
        assert_int_equal(held_count, before);
        if (!has_failed) break;
    }
    assert_int_equal(number, 8 + 1); /* stream, event, piece and five tasks */
}

static void opening_without_host_memory_is_reported(void **state)
{
    tarn_backend backend = { NULL, &backend };
    size_t before = held_count;
    fail_alloc(1);
    assert_int_equal(tarn_host_backend_open(NULL, &backend), TARN_STATUS_OUT_OF_HOST_MEMORY);
    fail_alloc(0);
    assert_null(backend.operations);
    assert_ptr_equal(backend.state, &backend);
    assert_int_equal(held_count, before);
    assert_true(strlen(tarn_last_error().message) > 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(submitting_runs_nothing),
        TEST(copying_reads_late),
        TEST(copying_may_overlap),
        TEST(synchronizing_runs_one_stream),
        TEST(an_event_runs_what_is_before_it),
        TEST(asking_runs_one_task),
        TEST(even_work_that_is_nothing_is_not_ready_at_first),
        TEST(asking_makes_progress_where_it_is_needed),
        TEST(an_event_that_is_recorded_again_forgets_the_first),
        TEST(a_complete_event_that_is_recorded_again_is_not_ready),
        TEST(a_wait_means_the_record_before_it),
        TEST(a_wait_for_nothing_is_no_task),
        TEST(two_streams_that_wait_for_each_other_come_to_an_end),
        TEST(a_long_row_of_streams_comes_to_an_end),
        TEST(a_destroyed_event_leaves_its_records),
        TEST(destroying_a_stream_runs_what_it_needs),
        TEST(releasing_runs_everything),
        TEST(closing_finishes_the_default_stream),
        TEST(what_is_no_stream_is_told),
        TEST(no_host_memory_is_reported_and_changes_nothing),
        TEST(opening_without_host_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
