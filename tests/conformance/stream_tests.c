/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stream_tests: the order of work, shown by the data that it leaves.
 *
 * A device may run everything at once or late, so a claim that holds for each says what must have
 * happened, never what must not. What has not happened yet is sure on the host backend alone, whose
 * queues run when somebody waits.
 */
#include "conformance.h"

#include <string.h>
#include <time.h>

/* Large enough that a device takes a while, small enough for many rounds under the sanitizers. */
#define AREA_BYTES ((size_t)1 << 20)

/* Rounds are also the values that they leave. */
#define ROUND_COUNT ((unsigned char)50)

/* Streams A and B, and two areas X and Y of the backend's memory, all zero. */
struct scene {
    const struct fixture *fixture;
    tarn_stream a, b;
    tarn_event event;
    unsigned char *x, *y;
};

static struct scene scene_begin(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    require_streams(fixture);
    struct scene scene = {
        .fixture = fixture,
        .a = create_stream(fixture),
        .b = create_stream(fixture),
        .event = create_event(fixture),
        .x = acquire(fixture, AREA_BYTES),
        .y = acquire(fixture, AREA_BYTES),
    };
    assert_ptr_not_equal(scene.a, scene.b);
    fill(fixture, scene.x, 0, AREA_BYTES, NULL);
    fill(fixture, scene.y, 0, AREA_BYTES, NULL);
    synchronize_stream(fixture, NULL);
    return scene;
}

static void scene_end(const struct scene *scene)
{
    destroy_event(scene->fixture, scene->event);
    destroy_stream(scene->fixture, scene->a);
    destroy_stream(scene->fixture, scene->b);
    release(scene->fixture, scene->x, AREA_BYTES);
    release(scene->fixture, scene->y, AREA_BYTES);
}

/* Gives the stream some work on X and leaves `value` there. */
static void submit_work(const struct scene *scene, tarn_stream stream, unsigned char value)
{
    for (int i = 0; i < 4; i++)
        fill(scene->fixture, scene->x, (unsigned char)~value, AREA_BYTES, stream);
    fill(scene->fixture, scene->x, value, AREA_BYTES, stream);
}

static tarn_status query(const struct scene *scene, tarn_event event)
{
    const tarn_backend_operations *operations = scene->fixture->operations;
    tarn_backend_result result = operations->event_query(scene->fixture->state, event);
    if (result.status != TARN_STATUS_NOT_READY) EXPECT_OK(result);
    return result.status;
}

static void synchronize_event(const struct scene *scene, tarn_event event)
{
    const tarn_backend_operations *operations = scene->fixture->operations;
    EXPECT_OK(operations->event_synchronize(scene->fixture->state, event));
    assert_int_equal(query(scene, event), TARN_STATUS_OK);
}

/* --- data -------------------------------------------------------------------------------------- */

static void data_moves_both_ways(void **state)
{
    struct scene scene = scene_begin(state);
    static unsigned char sent[AREA_BYTES], received[AREA_BYTES];
    for (size_t i = 0; i < AREA_BYTES; i++)
        sent[i] = (unsigned char)(i * 31 + i / 256);
    memset(received, 0, AREA_BYTES);
    copy(scene.fixture, scene.x, sent, AREA_BYTES, scene.a);
    copy(scene.fixture, scene.y, scene.x, AREA_BYTES, scene.a);
    copy(scene.fixture, received, scene.y, AREA_BYTES, scene.a);
    synchronize_stream(scene.fixture, scene.a);
    assert_memory_equal(received, sent, AREA_BYTES);
    scene_end(&scene);
}

static void fill_and_copy_keep_to_their_bytes(void **state)
{
    struct scene scene = scene_begin(state);
    fill(scene.fixture, scene.x, 7, AREA_BYTES, scene.a);
    fill(scene.fixture, scene.x + 1001, 8, 3, scene.a);
    copy(scene.fixture, scene.y + 5, scene.x + 1000, 5, scene.a);
    synchronize_stream(scene.fixture, scene.a);
    expect_bytes(scene.fixture, scene.x, 1001, 7);
    expect_bytes(scene.fixture, scene.x + 1001, 3, 8);
    expect_bytes(scene.fixture, scene.x + 1004, AREA_BYTES - 1004, 7);
    expect_bytes(scene.fixture, scene.y, 5, 0);
    expect_bytes(scene.fixture, scene.y + 5, 1, 7);
    expect_bytes(scene.fixture, scene.y + 6, 3, 8);
    expect_bytes(scene.fixture, scene.y + 9, 1, 7);
    expect_bytes(scene.fixture, scene.y + 10, AREA_BYTES - 10, 0);
    scene_end(&scene);
}

static void zero_bytes_do_nothing(void **state)
{
    struct scene scene = scene_begin(state);
    fill(scene.fixture, scene.x, 1, 0, scene.a);
    fill(scene.fixture, NULL, 1, 0, scene.a);
    copy(scene.fixture, scene.x, scene.y, 0, scene.a);
    copy(scene.fixture, NULL, NULL, 0, scene.a);
    synchronize_stream(scene.fixture, scene.a);
    expect_bytes(scene.fixture, scene.x, AREA_BYTES, 0);
    scene_end(&scene);
}

/* --- streams ----------------------------------------------------------------------------------- */

static void one_stream_runs_in_order(void **state)
{
    struct scene scene = scene_begin(state);
    tarn_stream streams[] = { NULL, scene.a };
    for (size_t i = 0; i < 2; i++) {
        for (unsigned char round = 1; round <= ROUND_COUNT; round++) {
            submit_work(&scene, streams[i], round);
            copy(scene.fixture, scene.y + round, scene.x, 1, streams[i]);
        }
        synchronize_stream(scene.fixture, streams[i]);
        for (unsigned char round = 1; round <= ROUND_COUNT; round++)
            expect_bytes(scene.fixture, scene.y + round, 1, round);
        expect_bytes(scene.fixture, scene.x, AREA_BYTES, ROUND_COUNT);
    }
    scene_end(&scene);
}

static void two_streams_do_not_wait_for_each_other(void **state)
{
    struct scene scene = scene_begin(state);
    submit_work(&scene, scene.a, 1);
    record_event(scene.fixture, scene.event, scene.a);
    fill(scene.fixture, scene.y, 2, AREA_BYTES, scene.b);
    synchronize_stream(scene.fixture, scene.b);
    expect_bytes(scene.fixture, scene.y, AREA_BYTES, 2);
    if (scene.fixture->target->is_host) {
        assert_int_equal(scene.x[0], 0);
        assert_int_equal(query(&scene, scene.event), TARN_STATUS_NOT_READY);
    }
    synchronize_stream(scene.fixture, scene.a);
    expect_bytes(scene.fixture, scene.x, AREA_BYTES, 1);
    scene_end(&scene);
}

static void a_destroyed_stream_has_finished(void **state)
{
    struct scene scene = scene_begin(state);
    tarn_stream stream = create_stream(scene.fixture);
    submit_work(&scene, stream, 3);
    destroy_stream(scene.fixture, stream);
    expect_bytes(scene.fixture, scene.x, AREA_BYTES, 3);
    scene_end(&scene);
}

/* The piece may not go while a stream still uses it. */
static void release_waits_for_work(void **state)
{
    struct scene scene = scene_begin(state);
    unsigned char *piece = acquire(scene.fixture, AREA_BYTES);
    fill(scene.fixture, piece, 9, AREA_BYTES, scene.a);
    copy(scene.fixture, scene.y, piece, AREA_BYTES, scene.a);
    release(scene.fixture, piece, AREA_BYTES);
    expect_bytes(scene.fixture, scene.y, AREA_BYTES, 9);
    scene_end(&scene);
}

/* --- events ------------------------------------------------------------------------------------ */

static void an_event_that_was_never_recorded_is_complete(void **state)
{
    struct scene scene = scene_begin(state);
    submit_work(&scene, scene.a, 1);
    assert_int_equal(query(&scene, scene.event), TARN_STATUS_OK);
    synchronize_event(&scene, scene.event);
    make_wait(scene.fixture, scene.b, scene.event);
    fill(scene.fixture, scene.y, 2, AREA_BYTES, scene.b);
    synchronize_stream(scene.fixture, scene.b);
    expect_bytes(scene.fixture, scene.y, AREA_BYTES, 2);
    scene_end(&scene);
}

static void asking_again_comes_to_an_end(void **state)
{
    struct scene scene = scene_begin(state);
    submit_work(&scene, scene.a, 4);
    record_event(scene.fixture, scene.event, scene.a);
    tarn_status first = query(&scene, scene.event);
    if (scene.fixture->target->is_host) assert_int_equal(first, TARN_STATUS_NOT_READY);

    time_t give_up = time(NULL) + 60;
    while (query(&scene, scene.event) != TARN_STATUS_OK) {
        if (time(NULL) > give_up) fail_msg("the event is not complete after a minute");
    }
    expect_bytes(scene.fixture, scene.x, AREA_BYTES, 4);
    assert_int_equal(query(&scene, scene.event), TARN_STATUS_OK);
    scene_end(&scene);
}

static void waiting_for_an_event_waits_for_what_was_before(void **state)
{
    struct scene scene = scene_begin(state);
    submit_work(&scene, scene.a, 5);
    record_event(scene.fixture, scene.event, scene.a);
    fill(scene.fixture, scene.y, 6, AREA_BYTES, scene.a);
    synchronize_event(&scene, scene.event);
    if (scene.fixture->target->is_host) {
        assert_int_equal(scene.x[0], 5);
        assert_int_equal(scene.y[0], 0);
    }
    expect_bytes(scene.fixture, scene.x, AREA_BYTES, 5);
    synchronize_stream(scene.fixture, scene.a);
    scene_end(&scene);
}

static void an_event_means_its_latest_record(void **state)
{
    struct scene scene = scene_begin(state);
    for (unsigned char round = 1; round <= ROUND_COUNT; round++) {
        submit_work(&scene, scene.a, (unsigned char)~round);
        record_event(scene.fixture, scene.event, scene.a);
        submit_work(&scene, scene.a, round);
        record_event(scene.fixture, scene.event, scene.a);
        synchronize_event(&scene, scene.event);
        expect_bytes(scene.fixture, scene.x, AREA_BYTES, round);
    }
    scene_end(&scene);
}

/* Recorded on A and then on B: what was before on A says nothing about it any more. */
static void an_event_moves_to_another_stream(void **state)
{
    struct scene scene = scene_begin(state);
    submit_work(&scene, scene.a, 1);
    record_event(scene.fixture, scene.event, scene.a);
    fill(scene.fixture, scene.y, 2, AREA_BYTES, scene.b);
    record_event(scene.fixture, scene.event, scene.b);
    synchronize_event(&scene, scene.event);
    expect_bytes(scene.fixture, scene.y, AREA_BYTES, 2);
    synchronize_stream(scene.fixture, scene.a);
    expect_bytes(scene.fixture, scene.x, AREA_BYTES, 1);
    scene_end(&scene);
}

/* A writes X, B reads it into Y, A overwrites it: in this order, without the host in between. */
static void a_wait_orders_two_streams(void **state)
{
    struct scene scene = scene_begin(state);
    const struct fixture *fixture = scene.fixture;
    tarn_event read = create_event(fixture);
    for (unsigned char round = 1; round <= ROUND_COUNT; round++) {
        make_wait(fixture, scene.a, read);
        submit_work(&scene, scene.a, round);
        record_event(fixture, scene.event, scene.a);
        make_wait(fixture, scene.b, scene.event);
        copy(fixture, scene.y + round, scene.x + AREA_BYTES - 1, 1, scene.b);
        record_event(fixture, read, scene.b);
    }
    synchronize_stream(fixture, scene.b);
    for (unsigned char round = 1; round <= ROUND_COUNT; round++)
        expect_bytes(fixture, scene.y + round, 1, round);
    destroy_event(fixture, read);
    scene_end(&scene);
}

/* The wait means the record that was there when it was submitted. */
static void a_wait_does_not_notice_a_later_record(void **state)
{
    struct scene scene = scene_begin(state);
    const struct fixture *fixture = scene.fixture;
    tarn_stream c = create_stream(fixture);
    submit_work(&scene, scene.a, 1);
    record_event(fixture, scene.event, scene.a);
    make_wait(fixture, scene.b, scene.event);
    copy(fixture, scene.y, scene.x, AREA_BYTES, scene.b);
    record_event(fixture, scene.event, c);
    synchronize_stream(fixture, scene.b);
    expect_bytes(fixture, scene.y, AREA_BYTES, 1);
    destroy_stream(fixture, c);
    scene_end(&scene);
}

static void an_event_may_go_while_others_wait_for_it(void **state)
{
    struct scene scene = scene_begin(state);
    const struct fixture *fixture = scene.fixture;
    tarn_event event = create_event(fixture);
    submit_work(&scene, scene.a, 1);
    record_event(fixture, event, scene.a);
    make_wait(fixture, scene.b, event);
    destroy_event(fixture, event);
    copy(fixture, scene.y, scene.x, AREA_BYTES, scene.b);
    synchronize_stream(fixture, scene.b);
    expect_bytes(fixture, scene.y, AREA_BYTES, 1);
    scene_end(&scene);
}

/* A stream that another one waits for goes first. */
static void a_stream_may_go_while_others_wait_for_it(void **state)
{
    struct scene scene = scene_begin(state);
    const struct fixture *fixture = scene.fixture;
    tarn_stream stream = create_stream(fixture);
    submit_work(&scene, stream, 1);
    record_event(fixture, scene.event, stream);
    make_wait(fixture, scene.b, scene.event);
    destroy_stream(fixture, stream);
    assert_int_equal(query(&scene, scene.event), TARN_STATUS_OK);
    copy(fixture, scene.y, scene.x, AREA_BYTES, scene.b);
    synchronize_stream(fixture, scene.b);
    expect_bytes(fixture, scene.y, AREA_BYTES, 1);
    scene_end(&scene);
}

/* Also one that has the handle of one that was destroyed. */
static void no_two_streams_have_one_number(void **state)
{
    enum {
        COUNT = 20
    };
    require_stream_ids(fixture_of(state));
    struct scene scene = scene_begin(state);
    const tarn_backend_operations *operations = scene.fixture->operations;
    uint64_t ids[COUNT + 2], again;
    EXPECT_OK(operations->stream_id(scene.fixture->state, scene.a, &ids[COUNT]));
    EXPECT_OK(operations->stream_id(scene.fixture->state, NULL, &ids[COUNT + 1]));
    for (int i = 0; i < COUNT; i++) {
        tarn_stream stream = create_stream(scene.fixture);
        EXPECT_OK(operations->stream_id(scene.fixture->state, stream, &ids[i]));
        submit_work(&scene, stream, 1);
        EXPECT_OK(operations->stream_id(scene.fixture->state, stream, &again));
        assert_int_equal(again, ids[i]);
        destroy_stream(scene.fixture, stream);
    }
    for (int i = 0; i < COUNT + 2; i++) {
        for (int j = 0; j < i; j++)
            assert_true(ids[i] != ids[j]);
    }
    EXPECT_OK(operations->stream_id(scene.fixture->state, scene.a, &again));
    assert_int_equal(again, ids[COUNT]);
    scene_end(&scene);
}

static void the_default_stream_has_one_order_under_both_names(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    tarn_stream other_name = fixture->properties.default_stream_alias;
    fixture_require(fixture, other_name != NULL, "a second name of the default stream");
    struct scene scene = scene_begin(state);
    for (int i = 0; i < 10; i++) {
        submit_work(&scene, i % 2 ? NULL : other_name, (unsigned char)(i + 1));
        copy(fixture, scene.y, scene.x, AREA_BYTES, i % 2 ? other_name : NULL);
        synchronize_stream(fixture, i % 3 ? NULL : other_name);
        expect_bytes(fixture, scene.y, AREA_BYTES, (unsigned char)(i + 1));
    }
    scene_end(&scene);
}

static void a_stream_of_the_device_will_do(void **state)
{
    struct scene scene = scene_begin(state);
    const tarn_backend_operations *operations = scene.fixture->operations;
    submit_work(&scene, scene.a, 1);
    EXPECT_OK(operations->stream_check(scene.fixture->state, scene.a));
    EXPECT_OK(operations->stream_check(scene.fixture->state, scene.b));
    EXPECT_OK(operations->stream_check(scene.fixture->state, NULL));
    scene_end(&scene);
}

static void waiting_for_the_device_waits_for_all_streams(void **state)
{
    struct scene scene = scene_begin(state);
    const tarn_backend_operations *operations = scene.fixture->operations;
    require_synchronize(scene.fixture);
    submit_work(&scene, scene.a, 1);
    fill(scene.fixture, scene.y, 2, AREA_BYTES, NULL);
    tarn_backend_result result = operations->synchronize(scene.fixture->state);
    if (result.status != TARN_STATUS_NOT_SUPPORTED) {
        EXPECT_OK(result);
        fill(scene.fixture, scene.x, 3, 1, scene.b); /* not overwritten by what was on the other */
        synchronize_stream(scene.fixture, scene.b);
        expect_bytes(scene.fixture, (char *)scene.x + 1, AREA_BYTES - 1, 1);
        expect_bytes(scene.fixture, scene.y, AREA_BYTES, 2);
    }
    synchronize_stream(scene.fixture, scene.a);
    scene_end(&scene);
}

/* An event for the device comes after the work on each of its streams. */
static void an_event_of_the_device_covers_all_streams(void **state)
{
    REQUIRE_OPERATION(fixture_of(state), event_record_device);
    struct scene scene = scene_begin(state);
    const tarn_backend_operations *operations = scene.fixture->operations;
    const tarn_stream streams[] = { NULL, scene.a, scene.b };
    for (unsigned char round = 1; round <= ROUND_COUNT; round++) {
        submit_work(&scene, streams[round % 3], round);
        tarn_backend_result result =
            operations->event_record_device(scene.fixture->state, scene.event);
        if (result.status == TARN_STATUS_NOT_SUPPORTED) break; /* an older driver */
        EXPECT_OK(result);
        if (round % 2 == 0) {
            synchronize_event(&scene, scene.event);
            expect_bytes(scene.fixture, scene.x, AREA_BYTES, round);
        } else {
            tarn_stream after = streams[(round + 1) % 3];
            EXPECT_OK(operations->stream_wait_event(scene.fixture->state, after, scene.event));
            copy(scene.fixture, scene.y, scene.x, AREA_BYTES, after);
            synchronize_stream(scene.fixture, after);
            expect_bytes(scene.fixture, scene.y, AREA_BYTES, round);
        }
    }
    EXPECT_STATUS(operations->event_record_device(scene.fixture->state, NULL),
                  TARN_STATUS_INVALID_ARGUMENT);
    scene_end(&scene);
}

/* --- bad input --------------------------------------------------------------------------------- */

static void no_handle_is_refused(void **state)
{
    struct scene scene = scene_begin(state);
    const tarn_backend_operations *operations = scene.fixture->operations;
    void *device = scene.fixture->state;
    EXPECT_STATUS(operations->stream_destroy(device, NULL), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->stream_wait_event(device, scene.a, NULL),
                  TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->event_destroy(device, NULL), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->event_record(device, NULL, scene.a), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->event_query(device, NULL), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->event_synchronize(device, NULL), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->fill(device, NULL, 1, 1, scene.a), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->copy(device, NULL, scene.x, 1, scene.a),
                  TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->copy(device, scene.x, NULL, 1, scene.a),
                  TARN_STATUS_INVALID_ARGUMENT);
    scene_end(&scene);
}

/* --- the group --------------------------------------------------------------------------------- */

int run_stream_tests(const struct target *target)
{
    static const struct CMUnitTest tests[] = {
        TEST(data_moves_both_ways),
        TEST(fill_and_copy_keep_to_their_bytes),
        TEST(zero_bytes_do_nothing),
        TEST(one_stream_runs_in_order),
        TEST(two_streams_do_not_wait_for_each_other),
        TEST(a_destroyed_stream_has_finished),
        TEST(release_waits_for_work),
        TEST(an_event_that_was_never_recorded_is_complete),
        TEST(asking_again_comes_to_an_end),
        TEST(waiting_for_an_event_waits_for_what_was_before),
        TEST(an_event_means_its_latest_record),
        TEST(an_event_moves_to_another_stream),
        TEST(a_wait_orders_two_streams),
        TEST(a_wait_does_not_notice_a_later_record),
        TEST(an_event_may_go_while_others_wait_for_it),
        TEST(a_stream_may_go_while_others_wait_for_it),
        TEST(no_two_streams_have_one_number),
        TEST(the_default_stream_has_one_order_under_both_names),
        TEST(a_stream_of_the_device_will_do),
        TEST(waiting_for_the_device_waits_for_all_streams),
        TEST(an_event_of_the_device_covers_all_streams),
        TEST(no_handle_is_refused),
    };
    fixture_set_target(target);
    return cmocka_run_group_tests_name(target->name, tests, NULL, NULL);
}
