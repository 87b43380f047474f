/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_host_stream: when the host backend's tasks run, one by one. What any backend promises about
 * streams is tested by the conformance suite; here is what programs rely on that want to be told
 * when they forget to wait.
 */
#include <stdbool.h>

#include <stdlib.h>
#include <string.h>

#include "harness/claims.h"
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

static tarn_backend backend;
static const tarn_backend_operations *operations;
static tarn_stream a, b;
static tarn_event event;
static unsigned char bytes[BYTE_COUNT]; /* tasks leave their marks here */

#define ASSERT_OK(result)        assert_int_equal((result).status, TARN_STATUS_OK)
#define ASSERT_NOT_READY(result) assert_int_equal((result).status, TARN_STATUS_NOT_READY)
#define CALL(operation, ...)     operations->operation(backend.state, __VA_ARGS__)

static int setup(void **state)
{
    static const struct tn_host_memory_hooks hooks = { counting_alloc, counting_free };
    held_count = 0;
    fail_alloc(0);
    tn_host_memory_set_hooks(&hooks);

    memset(&backend, 0, sizeof backend);
    memset(&operations, 0, sizeof operations);
    memset(&state, 0, sizeof state);
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    memset(&event, 0, sizeof event);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(tarn_host_backend_open(NULL, &backend), TARN_STATUS_OK);
    operations = backend.operations;
    ASSERT_OK(CALL(stream_create, &a));
    ASSERT_OK(CALL(stream_create, &b));
    ASSERT_OK(CALL(event_create, &event));
    return 0;
}

static int teardown(void **state)
{
    ASSERT_OK(CALL(event_destroy, event));
    ASSERT_OK(CALL(stream_destroy, a));
    ASSERT_OK(CALL(stream_destroy, b));
    tarn_backend_close(&backend);
    tn_host_memory_set_hooks(NULL);
    assert_int_equal(held_count, 0);
    return 0;
}

/* A task that leaves a mark: byte number `place` becomes `place` + 1. */
static void submit_mark(size_t place, tarn_stream stream)
{
    ASSERT_OK(CALL(fill, &bytes[place], (unsigned char)(place + 1), 1, stream));
}

/* Exactly the marks from first_place to before end_place have been left. */
static void expect_marks(size_t first_place, size_t end_place)
{
    for (size_t i = 0; i < BYTE_COUNT; i++) {
        unsigned char expected =
            i >= first_place && i < end_place ? (unsigned char)(i + 1) : (unsigned char)0;
        if (bytes[i] != expected) fail_msg("byte %zu is %d, not %d", i, bytes[i], expected);
    }
}

/* --- tasks run late ------------------------------------------------------------------------------ */

static void submitting_runs_nothing(void **state)
{
    unsigned char copied = 0;
    submit_mark(0, a);
    ASSERT_OK(CALL(copy, &copied, &bytes[0], 1, a));
    ASSERT_OK(CALL(event_record, event, a));
    ASSERT_OK(CALL(stream_wait_event, b, event));
    submit_mark(1, b);
    submit_mark(2, NULL);
    expect_marks(0, 0);
    assert_int_equal(copied, 0);

    ASSERT_OK(CALL(stream_synchronize, a));
    assert_int_equal(copied, 1);
}

/* A copy takes what is there when it runs, not when it was submitted. */
static void copying_reads_late(void **state)
{
    unsigned char source = 1, destination = 0;
    ASSERT_OK(CALL(copy, &destination, &source, 1, a));
    source = 2;
    ASSERT_OK(CALL(stream_synchronize, a));
    assert_int_equal(destination, 2);
}

static void copying_may_overlap(void **state)
{
    for (size_t i = 0; i < 4; i++)
        submit_mark(i, a);
    ASSERT_OK(CALL(copy, &bytes[1], &bytes[0], 4, a));
    ASSERT_OK(CALL(stream_synchronize, a));
    const unsigned char expected[] = { 1, 1, 2, 3, 4, 0 };
    assert_memory_equal(bytes, expected, sizeof expected);
}

static void synchronizing_runs_one_stream(void **state)
{
    submit_mark(0, NULL);
    submit_mark(1, a);
    submit_mark(2, b);
    ASSERT_OK(CALL(stream_synchronize, a));
    expect_marks(1, 2);
    ASSERT_OK(CALL(stream_synchronize, NULL));
    expect_marks(0, 2);
    ASSERT_OK(CALL(stream_synchronize, NULL));
    expect_marks(0, 2);
    ASSERT_OK(CALL(stream_synchronize, b));
    expect_marks(0, 3);
}

static void an_event_runs_what_is_before_it(void **state)
{
    submit_mark(0, a);
    submit_mark(1, a);
    ASSERT_OK(CALL(event_record, event, a));
    submit_mark(2, a);
    ASSERT_OK(CALL(event_synchronize, event));
    expect_marks(0, 2);
    ASSERT_OK(CALL(event_query, event));
    expect_marks(0, 2);
}

/* --- asking makes bounded progress --------------------------------------------------------------- */

static void asking_runs_one_task(void **state)
{
    for (size_t i = 0; i < 5; i++)
        submit_mark(i, a);
    ASSERT_OK(CALL(event_record, event, a));
    submit_mark(5, a);
    for (size_t i = 0; i < 5; i++) {
        expect_marks(0, i);
        ASSERT_NOT_READY(CALL(event_query, event));
    }
    expect_marks(0, 5);
    ASSERT_NOT_READY(CALL(event_query, event)); /* runs the record */
    ASSERT_OK(CALL(event_query, event));
    ASSERT_OK(CALL(event_query, event));
    expect_marks(0, 5);
}

static void even_work_that_is_nothing_is_not_ready_at_first(void **state)
{
    ASSERT_OK(CALL(event_record, event, a));
    ASSERT_NOT_READY(CALL(event_query, event));
    ASSERT_OK(CALL(event_query, event));
}

/* B waits for A, so asking after B makes progress on A first. */
static void asking_makes_progress_where_it_is_needed(void **state)
{
    tarn_event last;
    ASSERT_OK(CALL(event_create, &last));
    submit_mark(0, a);
    submit_mark(1, a);
    ASSERT_OK(CALL(event_record, event, a));
    submit_mark(40, a);
    ASSERT_OK(CALL(stream_wait_event, b, event));
    submit_mark(2, b);
    ASSERT_OK(CALL(event_record, last, b));

    const size_t marks_after[] = { 1, 2, 2 /* record */, 2 /* wait */, 3, 3 /* record */ };
    for (size_t i = 0; i < sizeof marks_after / sizeof *marks_after; i++) {
        ASSERT_NOT_READY(CALL(event_query, last));
        expect_marks(0, marks_after[i]);
    }
    ASSERT_OK(CALL(event_query, last));
    ASSERT_OK(CALL(event_destroy, last));
}

/* --- which record is meant ----------------------------------------------------------------------- */

static void an_event_that_is_recorded_again_forgets_the_first(void **state)
{
    submit_mark(0, a);
    ASSERT_OK(CALL(event_record, event, a));
    submit_mark(1, b);
    ASSERT_OK(CALL(event_record, event, b));
    ASSERT_OK(CALL(stream_synchronize, a)); /* completes the first */
    ASSERT_NOT_READY(CALL(event_query, event));
    ASSERT_OK(CALL(event_synchronize, event));
    expect_marks(0, 2);
}

static void a_complete_event_that_is_recorded_again_is_not_ready(void **state)
{
    ASSERT_OK(CALL(event_record, event, a));
    ASSERT_OK(CALL(event_synchronize, event));
    submit_mark(0, a);
    ASSERT_OK(CALL(event_record, event, a));
    ASSERT_NOT_READY(CALL(event_query, event));
    ASSERT_OK(CALL(event_synchronize, event));
    expect_marks(0, 1);
}

/* The wait was submitted after the first record and before the second: it waits for the first. */
static void a_wait_means_the_record_before_it(void **state)
{
    submit_mark(0, a);
    ASSERT_OK(CALL(event_record, event, a));
    ASSERT_OK(CALL(stream_wait_event, b, event));
    submit_mark(1, b);
    submit_mark(2, a);
    ASSERT_OK(CALL(event_record, event, a));
    ASSERT_OK(CALL(stream_synchronize, b));
    expect_marks(0, 2);
    ASSERT_OK(CALL(event_synchronize, event));
    expect_marks(0, 3);
}

static void a_wait_for_nothing_is_no_task(void **state)
{
    size_t before = held_count;
    ASSERT_OK(CALL(stream_wait_event, b, event));
    assert_int_equal(held_count, before);
    ASSERT_OK(CALL(event_record, event, a));
    ASSERT_OK(CALL(stream_wait_event, a, event));
    ASSERT_OK(CALL(event_synchronize, event));
    ASSERT_OK(CALL(stream_synchronize, a));
    before = held_count;
    ASSERT_OK(CALL(stream_wait_event, b, event));
    assert_int_equal(held_count, before);
}

/* Each waits for what the other did before, back and forth: nobody waits for ever. */
static void two_streams_that_wait_for_each_other_come_to_an_end(void **state)
{
    tarn_stream streams[] = { a, b };
    for (size_t i = 0; i < 40; i++) {
        ASSERT_OK(CALL(stream_wait_event, streams[i % 2], event));
        submit_mark(i, streams[i % 2]);
        ASSERT_OK(CALL(event_record, event, streams[i % 2]));
    }
    for (size_t done = 1; done <= 40; done++) {
        /* What stands between one mark and the next: a record, a wait. */
        for (int task = 0; task < 3 && bytes[done - 1] == 0; task++)
            ASSERT_NOT_READY(CALL(event_query, event));
        expect_marks(0, done);
    }
}

/* Waiting runs no deeper than one stream, however many wait for each other. */
static void a_long_row_of_streams_comes_to_an_end(void **state)
{
    enum {
        STREAM_COUNT = 2000
    };
    static tarn_stream streams[STREAM_COUNT];
    static unsigned char chain[STREAM_COUNT + 1];
    memset(chain, 0, sizeof chain);
    chain[0] = 1;
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        ASSERT_OK(CALL(stream_create, &streams[i]));
        ASSERT_OK(CALL(stream_wait_event, streams[i], event));
        ASSERT_OK(CALL(copy, &chain[i + 1], &chain[i], 1, streams[i]));
        ASSERT_OK(CALL(event_record, event, streams[i]));
    }
    ASSERT_OK(CALL(stream_synchronize, streams[STREAM_COUNT - 1]));
    assert_int_equal(chain[STREAM_COUNT], 1);
    for (size_t i = 0; i < STREAM_COUNT; i++)
        ASSERT_OK(CALL(stream_destroy, streams[i]));
}

/* --- what goes while it is in use ----------------------------------------------------------------- */

static void a_destroyed_event_leaves_its_records(void **state)
{
    tarn_event own_event;
    size_t before = held_count;
    ASSERT_OK(CALL(event_create, &own_event));
    submit_mark(0, a);
    ASSERT_OK(CALL(event_record, own_event, a));
    ASSERT_OK(CALL(stream_wait_event, b, own_event));
    ASSERT_OK(CALL(event_record, own_event, a));
    submit_mark(1, b);
    ASSERT_OK(CALL(event_destroy, own_event));
    ASSERT_OK(CALL(stream_synchronize, b));
    expect_marks(0, 2);
    ASSERT_OK(CALL(stream_synchronize, a));
    assert_int_equal(held_count, before);
}

static void destroying_a_stream_runs_what_it_needs(void **state)
{
    tarn_stream stream;
    ASSERT_OK(CALL(stream_create, &stream));
    submit_mark(0, a);
    ASSERT_OK(CALL(event_record, event, a));
    submit_mark(2, a);
    ASSERT_OK(CALL(stream_wait_event, stream, event));
    submit_mark(1, stream);
    ASSERT_OK(CALL(stream_destroy, stream));
    expect_marks(0, 2);
}

static void releasing_runs_everything(void **state)
{
    void *piece;
    ASSERT_OK(CALL(acquire, 4096, &piece));
    submit_mark(0, NULL);
    submit_mark(1, a);
    submit_mark(2, b);
    ASSERT_OK(CALL(fill, piece, 7, 4096, b));
    ASSERT_OK(CALL(copy, &bytes[3], piece, 1, b));
    assert_int_equal(CALL(release, piece, 4095).status, TARN_STATUS_INVALID_ARGUMENT);
    expect_marks(0, 0);
    ASSERT_OK(CALL(release, piece, 4096));
    assert_int_equal(bytes[3], 7);
    bytes[3] = 0;
    expect_marks(0, 3);
}

static void closing_finishes_the_default_stream(void **state)
{
    tarn_backend other;
    assert_int_equal(tarn_host_backend_open(NULL, &other), TARN_STATUS_OK);
    ASSERT_OK(other.operations->fill(other.state, &bytes[0], 1, 1, NULL));
    expect_marks(0, 0);
    tarn_backend_close(&other);
    expect_marks(0, 1);
}

/* --- what is no stream -------------------------------------------------------------------------- */

static void what_is_no_stream_is_told(void **state)
{
    int nothing;
    ASSERT_OK(CALL(stream_check, a));
    ASSERT_OK(CALL(stream_check, b));
    ASSERT_OK(CALL(stream_check, NULL));
    assert_int_equal(CALL(stream_check, &nothing).status, TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(CALL(stream_check, &backend).status, TARN_STATUS_INVALID_ARGUMENT);
}

static void what_is_a_stream_no_more_is_refused(void **state)
{
    const tarn_status refused = TARN_STATUS_INVALID_ARGUMENT;
    tarn_stream ended;
    ASSERT_OK(CALL(stream_create, &ended));
    ASSERT_OK(CALL(stream_destroy, ended));
    ASSERT_OK(CALL(event_record, event, a));
    size_t before = held_count;
    assert_int_equal(CALL(fill, bytes, 1, 1, ended).status, refused);
    assert_int_equal(CALL(copy, bytes, bytes, 1, ended).status, refused);
    assert_int_equal(CALL(event_record, event, ended).status, refused);
    assert_int_equal(CALL(stream_wait_event, ended, event).status, refused);
    assert_int_equal(CALL(stream_synchronize, ended).status, refused);
    assert_int_equal(CALL(stream_destroy, ended).status, refused);
    assert_int_equal(held_count, before);
    expect_marks(0, 0);
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
static size_t use_streams(tarn_stream stream, tarn_event own_event)
{
    bool is_filled = went_well(CALL(fill, &bytes[0], 1, 1, a));
    bool is_copied = went_well(CALL(copy, &bytes[1], &bytes[0], 1, a));
    bool is_recorded = went_well(CALL(event_record, own_event, a));
    bool is_waited = went_well(CALL(stream_wait_event, stream, own_event));
    bool is_filled_after = went_well(CALL(fill, &bytes[2], 3, 1, stream));
    ASSERT_OK(CALL(stream_synchronize, stream));
    assert_int_equal(bytes[0], is_filled && is_recorded && is_waited ? 1 : 0);
    assert_int_equal(bytes[2], is_filled_after ? 3 : 0);
    ASSERT_OK(CALL(stream_synchronize, a));
    assert_int_equal(bytes[0], is_filled ? 1 : 0);
    assert_int_equal(bytes[1], is_filled && is_copied ? 1 : 0);
    return (size_t)!is_filled + !is_copied + !is_recorded + !is_waited + !is_filled_after;
}

static size_t use_device(void)
{
    memset(bytes, 0, BYTE_COUNT);
    size_t refused_count = 0;
    tarn_stream stream = NULL;
    tarn_event own_event = NULL;
    void *piece = NULL;
    bool has_stream = went_well(CALL(stream_create, &stream));
    bool has_event = went_well(CALL(event_create, &own_event));
    bool has_piece = went_well(CALL(acquire, 100, &piece));
    assert_int_equal(has_stream, stream != NULL);
    assert_int_equal(has_event, own_event != NULL);
    assert_int_equal(has_piece, piece != NULL);
    refused_count += (size_t)!has_stream + !has_event + !has_piece;
    if (has_event) refused_count += use_streams(stream, own_event);
    if (has_piece) ASSERT_OK(CALL(release, piece, 100));
    if (has_event) ASSERT_OK(CALL(event_destroy, own_event));
    if (has_stream) ASSERT_OK(CALL(stream_destroy, stream));
    return refused_count;
}

static void no_host_memory_is_reported_and_changes_nothing(void **state)
{
    size_t before = held_count;
    size_t number = 1;
    for (;; number++) {
        fail_alloc(number);
        size_t refused_count = use_device();
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
    tarn_backend refused = { NULL, &refused };
    size_t before = held_count;
    fail_alloc(1);
    assert_int_equal(tarn_host_backend_open(NULL, &refused), TARN_STATUS_OUT_OF_HOST_MEMORY);
    fail_alloc(0);
    assert_null(refused.operations);
    assert_ptr_equal(refused.state, &refused);
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
        TEST(what_is_a_stream_no_more_is_refused),
        TEST(no_host_memory_is_reported_and_changes_nothing),
        TEST(opening_without_host_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
