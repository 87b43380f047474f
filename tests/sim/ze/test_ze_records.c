/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_ze_records: the vendor's events are recycled, none too early and none too late.
 *
 * An event of Level Zero is used up by each record and by each wait, so tarn keeps them in pools and
 * takes the same ones again. Here lists stand still for as long as the test likes: they wait for an
 * event of the application's, which the host signals in the end. The simulated devices find out when an
 * event is reset or destroyed before its time, and count those that are alive.
 */
#include <stdbool.h>

#include <pthread.h>

#include <level_zero/ze_api.h>

#include "harness/claims.h"
#include "../sim_control.h"
#include "tarn/ze.h"

enum {
    EVENTS_AT_REST = 16, /* what the first pool has room for */
    ROUND_COUNT = 2000
};

/* A backend in the application's context, and an event there that stops lists. */
struct scene {
    ze_context_handle_t context;
    ze_event_pool_handle_t pool;
    ze_event_handle_t gate;
    tarn_backend backend;
    const tarn_backend_operations *operations;
    void *state;
    tarn_stream a, b;
};

#define EXPECT_SUCCESS(call) assert_int_equal(call, ZE_RESULT_SUCCESS)
#define EXPECT_OK(call)      assert_int_equal((call).status, TARN_STATUS_OK)

static void open_gate(struct scene *scene, ze_driver_handle_t driver)
{
    const ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    const ze_event_pool_desc_t pool = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
        .count = 1,
    };
    const ze_event_desc_t event = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
    EXPECT_SUCCESS(zeContextCreate(driver, &context, &scene->context));
    EXPECT_SUCCESS(zeEventPoolCreate(scene->context, &pool, 0, NULL, &scene->pool));
    EXPECT_SUCCESS(zeEventCreate(scene->pool, &event, &scene->gate));
}

static struct scene scene_begin(void)
{
    struct scene scene = { .operations = NULL };
    ze_driver_handle_t driver;
    uint32_t count = 1;
    sim_reset();
    EXPECT_SUCCESS(zeInit(0));
    EXPECT_SUCCESS(zeDriverGet(&count, &driver));
    open_gate(&scene, driver);
    tarn_ze_options options = TARN_ZE_OPTIONS_INIT;
    options.context = scene.context;
    assert_int_equal(tarn_ze_backend_open(0, TARN_MEMORY_KIND_DEVICE, &options, &scene.backend),
                     TARN_STATUS_OK);
    scene.operations = scene.backend.operations;
    scene.state = scene.backend.state;
    expect_done(scene, stream_create, &scene.a);
    expect_done(scene, stream_create, &scene.b);
    return scene;
}

static void scene_end(struct scene *scene)
{
    expect_done(*scene, stream_destroy, scene->a);
    expect_done(*scene, stream_destroy, scene->b);
    tarn_backend_close(&scene->backend);
    EXPECT_SUCCESS(zeEventDestroy(scene->gate));
    EXPECT_SUCCESS(zeEventPoolDestroy(scene->pool));
    EXPECT_SUCCESS(zeContextDestroy(scene->context));
    if (sim_misuse_count() > 0) fail_msg("misuse: %s", sim_first_misuse());
    if (sim_alive_total() > 0) fail_msg("alive: %s", sim_describe_alive());
}

static void stop(const struct scene *scene, tarn_stream stream)
{
    ze_event_handle_t gate = scene->gate;
    EXPECT_SUCCESS(zeCommandListAppendWaitOnEvents(stream, 1, &gate));
}

static void let_go(const struct scene *scene)
{
    EXPECT_SUCCESS(zeEventHostSignal(scene->gate));
}

static tarn_event create(const struct scene *scene)
{
    tarn_event event = NULL;
    expect_done(*scene, event_create, &event);
    return event;
}

static tarn_event record(const struct scene *scene, tarn_event event, tarn_stream stream)
{
    expect_done(*scene, event_record, event, stream);
    return event;
}

static void await(const struct scene *scene, tarn_stream stream, tarn_event event)
{
    expect_done(*scene, stream_wait_event, stream, event);
}

static void destroy(const struct scene *scene, tarn_event event)
{
    expect_done(*scene, event_destroy, event);
}

/* Asking does not bring about what nothing will bring about, however often. */
static void expect_pending(const struct scene *scene, tarn_event event)
{
    for (int i = 0; i < 50; i++)
        expect_operation(TARN_STATUS_NOT_READY, *scene, event_query, event);
}

static void expect_complete(const struct scene *scene, tarn_event event)
{
    expect_done(*scene, event_synchronize, event);
    expect_done(*scene, event_query, event);
}

/* Besides the gate. */
static size_t event_count(void)
{
    return sim_alive(SIM_THING_EVENT) - 1;
}

/* Counter-based events, which flags of pools are the others to. */
static bool has_counters(void)
{
    return sim_call_count("zeEventCounterBasedCreate") > 0;
}

/* --- how many there are ------------------------------------------------------------------------ */

static void what_is_done_is_used_again(void **state)
{
    struct scene scene = scene_begin();
    tarn_event event = create(&scene);
    for (int round = 0; round < ROUND_COUNT; round++) {
        record(&scene, event, scene.a);
        await(&scene, scene.b, event);
        record(&scene, event, scene.b);
        await(&scene, scene.a, event);
        if (round % 3 == 0) expect_complete(&scene, event);
    }
    assert_in_range(event_count(), 1, 4 * EVENTS_AT_REST);
    destroy(&scene, event);
    scene_end(&scene);
}

/* One list stands still, with many records and waits that nobody can use again. The other needs no
 * more events for that than before. */
static void a_list_that_stands_still_costs_what_is_pending(void **state)
{
    enum {
        PENDING_COUNT = 300
    };
    struct scene scene = scene_begin();
    tarn_event event = create(&scene);
    stop(&scene, scene.a);
    for (int i = 0; i < PENDING_COUNT; i++) {
        record(&scene, event, scene.b);
        await(&scene, scene.a, event);
        record(&scene, event, scene.a);
    }
    tarn_event other = create(&scene);
    for (int round = 0; round < ROUND_COUNT; round++)
        expect_complete(&scene, record(&scene, other, scene.b));
    /* Each round above took three: a record on B, which a wait refers to, the wait, a record on A. */
    assert_in_range(event_count(), 1, 2 * 3 * PENDING_COUNT + 4 * EVENTS_AT_REST);
    expect_pending(&scene, event);

    let_go(&scene);
    expect_complete(&scene, event);
    size_t before = event_count();
    for (int round = 0; round < ROUND_COUNT; round++)
        expect_complete(&scene, record(&scene, other, scene.a));
    assert_int_equal(event_count(), before);
    destroy(&scene, event);
    destroy(&scene, other);
    scene_end(&scene);
}

/* Asking after what is pending for every record would make each of them as slow as all together. */
static void taking_one_asks_few_questions(void **state)
{
    enum {
        PENDING_COUNT = 500
    };
    struct scene scene = scene_begin();
    stop(&scene, scene.a);
    tarn_event event = create(&scene);
    for (int i = 0; i < PENDING_COUNT; i++)
        record(&scene, event, scene.a);
    sim_forget_calls();
    tarn_event other = create(&scene);
    for (int round = 0; round < ROUND_COUNT; round++)
        record(&scene, other, scene.b);
    assert_in_range(sim_call_count("zeEventQueryStatus"), 0, 4 * ROUND_COUNT);
    let_go(&scene);
    destroy(&scene, event);
    destroy(&scene, other);
    scene_end(&scene);
}

/* A stream has an event of its own, to wait for it. */
static void a_stream_gives_its_event_back(void **state)
{
    struct scene scene = scene_begin();
    for (int round = 0; round < ROUND_COUNT; round++) {
        tarn_stream stream = NULL;
        tarn_stream none;
        expect_done(scene, stream_create, &stream);
        sim_fail_calls("zeCommandListCreateImmediate", 1, 1, SIM_STATUS_UNKNOWN);
        expect_operation(TARN_STATUS_VENDOR_ERROR, scene, stream_create, &none);
        sim_forget_faults();
        expect_done(scene, stream_destroy, stream);
    }
    assert_in_range(event_count(), 1, EVENTS_AT_REST);
    scene_end(&scene);
}

/* However many were pending when they were last asked after. What records takes two in turn. */
static void what_is_done_will_do_when_none_can_be_made(void **state)
{
    const char *const calls[] = { "zeEventCreate", "zeEventPoolCreate",
                                  "zeEventCounterBasedCreate" };
    for (int pending_count = 2; pending_count <= 3 * EVENTS_AT_REST; pending_count++) {
        struct scene scene = scene_begin();
        SIM_SET(event_delay_polls, 0);
        tarn_event event = create(&scene);
        stop(&scene, scene.a);
        for (int i = 0; i < pending_count; i++)
            record(&scene, event, scene.a);
        let_go(&scene);
        expect_complete(&scene, event);
        destroy(&scene, event);
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            sim_fail_calls(calls[i], 1, ROUND_COUNT, SIM_STATUS_OUT_OF_HOST_MEMORY);
        tarn_event other = create(&scene);
        for (int round = 0; round < 3 * EVENTS_AT_REST; round++)
            expect_complete(&scene, record(&scene, other, scene.b));
        sim_forget_faults();
        destroy(&scene, other);
        scene_end(&scene);
    }
}

/* --- when they may be used again --------------------------------------------------------------- */

/* B waits for the first record. That the event moves on, and others come and go, does not let B go. */
static void a_wait_keeps_its_record(void **state)
{
    struct scene scene = scene_begin();
    tarn_event event = create(&scene), after = create(&scene);
    stop(&scene, scene.a);
    record(&scene, event, scene.a);
    await(&scene, scene.b, event);
    record(&scene, after, scene.b);
    for (int i = 0; i < 10 * EVENTS_AT_REST; i++)
        expect_complete(&scene, record(&scene, event, NULL));
    destroy(&scene, event);
    for (int i = 0; i < 10 * EVENTS_AT_REST; i++) {
        tarn_event passing = create(&scene);
        expect_complete(&scene, record(&scene, passing, NULL));
        destroy(&scene, passing);
    }
    expect_pending(&scene, after);
    let_go(&scene);
    expect_complete(&scene, after);
    destroy(&scene, after);
    scene_end(&scene);
}

/* The record is done, and its event too, but B has not come to its wait yet. */
static void a_record_that_is_done_may_still_be_waited_for(void **state)
{
    struct scene scene = scene_begin();
    tarn_event event = create(&scene), after = create(&scene);
    record(&scene, event, scene.a);
    stop(&scene, scene.b);
    await(&scene, scene.b, event);
    record(&scene, after, scene.b);
    expect_complete(&scene, event);
    destroy(&scene, event);
    for (int i = 0; i < 10 * EVENTS_AT_REST; i++) {
        tarn_event passing = create(&scene);
        expect_complete(&scene, record(&scene, passing, scene.a));
        destroy(&scene, passing);
    }
    expect_pending(&scene, after);
    let_go(&scene);
    expect_complete(&scene, after);
    destroy(&scene, after);
    scene_end(&scene);
}

/* A list that has finished is destroyed, but B has not come to its wait for an event of that. */
static void a_stream_may_go_while_another_waits_for_it(void **state)
{
    struct scene scene = scene_begin();
    tarn_event event = create(&scene), after = create(&scene);
    stop(&scene, scene.b);
    for (int i = 0; i < 3; i++) {
        record(&scene, event, scene.a);
        await(&scene, scene.b, event);
        record(&scene, after, scene.b);
        expect_done(scene, stream_destroy, scene.a);
        expect_done(scene, stream_create, &scene.a);
        expect_complete(&scene, event);
        expect_pending(&scene, after);
    }
    destroy(&scene, event);
    let_go(&scene);
    expect_complete(&scene, after);
    destroy(&scene, after);
    scene_end(&scene);
}

/* As many lists as there were streams at once, however many came and went. */
static void lists_are_used_again(void **state)
{
    struct scene scene = scene_begin();
    size_t list_count = sim_alive(SIM_THING_STREAM);
    tarn_stream streams[5];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 5; i++)
            expect_done(scene, stream_create, &streams[i]);
        for (int i = 0; i < 5; i++)
            expect_done(scene, stream_destroy, streams[i]);
        expect_operation(TARN_STATUS_INVALID_ARGUMENT, scene, stream_destroy, streams[0]);
    }
    assert_int_equal(sim_alive(SIM_THING_STREAM), has_counters() ? list_count + 5 : list_count);
    scene_end(&scene);
}

static void closing_waits_for_what_is_pending(void **state)
{
    struct scene scene = scene_begin();
    tarn_event event = create(&scene);
    for (int i = 0; i < 100; i++) {
        record(&scene, event, scene.a);
        await(&scene, scene.b, event);
        await(&scene, NULL, event);
    }
    destroy(&scene, event);
    scene_end(&scene);
}

/* A stream that is left has not come to its waits for the default stream's events. */
static void closing_destroys_no_list_before_all_have_finished(void **state)
{
    struct scene scene = scene_begin();
    tarn_stream left = NULL;
    expect_done(scene, stream_create, &left);
    tarn_event event = create(&scene);
    for (int i = 0; i < 100; i++) {
        record(&scene, event, NULL);
        await(&scene, left, event);
    }
    destroy(&scene, event);
    scene_end(&scene);
}

/* --- threads ------------------------------------------------------------------------------------- */

enum {
    THREAD_COUNT = 4
};

struct worker {
    pthread_t thread;
    const struct scene *scene;
    tarn_event event; /* of all */
    bool has_failed;
};

static void *record_and_await(void *argument)
{
    struct worker *worker = argument;
    const tarn_backend_operations *operations = worker->scene->operations;
    void *backend = worker->scene->state;
    tarn_stream stream;
    if (operations->stream_create(backend, &stream).status != TARN_STATUS_OK) return NULL;
    bool is_good = true;
    for (int round = 0; round < ROUND_COUNT / THREAD_COUNT && is_good; round++) {
        is_good =
            operations->event_record(backend, worker->event, stream).status == TARN_STATUS_OK &&
            operations->stream_wait_event(backend, stream, worker->event).status ==
                TARN_STATUS_OK &&
            operations->event_synchronize(backend, worker->event).status == TARN_STATUS_OK;
    }
    is_good = operations->stream_destroy(backend, stream).status == TARN_STATUS_OK && is_good;
    worker->has_failed = !is_good;
    return NULL;
}

/* Each record takes the place of another thread's, which others may be waiting for. Who takes it
 * without the lock is seen by the thread sanitizer. */
static void threads_record_one_event(void **state)
{
    struct scene scene = scene_begin();
    tarn_event event = create(&scene);
    static struct worker workers[THREAD_COUNT];
    for (int i = 0; i < THREAD_COUNT; i++) {
        workers[i] = (struct worker){ .scene = &scene, .event = event, .has_failed = true };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, record_and_await, &workers[i]),
                         0);
    }
    for (int i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    for (int i = 0; i < THREAD_COUNT; i++)
        assert_false(workers[i].has_failed);
    destroy(&scene, event);
    scene_end(&scene);
}

/* --- a stream that cannot be waited for ---------------------------------------------------------- */

/* What is submitted may not be pulled away under the device: who cannot wait now may be able to later. */
static void a_stream_that_cannot_be_waited_for_stays(void **state)
{
    const struct {
        sim_status cause;
        tarn_status status;
    } rows[] = { { SIM_STATUS_OUT_OF_MEMORY, TARN_STATUS_OUT_OF_MEMORY },
                 { SIM_STATUS_OUT_OF_HOST_MEMORY, TARN_STATUS_OUT_OF_HOST_MEMORY } };
    const char *const calls[] = { "zeCommandListAppendBarrier", "zeEventHostSynchronize" };
    struct scene scene = scene_begin();
    tarn_event event = create(&scene);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
            tarn_stream stream;
            expect_done(scene, stream_create, &stream);
            record(&scene, event, stream);
            size_t stream_count = sim_alive(SIM_THING_STREAM);
            sim_fail_calls(calls[k], 1, 1, rows[i].cause);
            assert_int_equal(scene.operations->stream_destroy(scene.state, stream).status,
                             rows[i].status);
            assert_int_equal(sim_alive(SIM_THING_STREAM), stream_count);
            expect_done(scene, stream_destroy, stream);
            if (!has_counters()) assert_in_range(sim_alive(SIM_THING_STREAM), 0, stream_count - 1);
            expect_complete(&scene, event);
        }
    }
    destroy(&scene, event);
    scene_end(&scene);
}

/* Closing cannot say no. All that work may come back to stays then, the context too. */
static void closing_leaves_what_cannot_be_waited_for(void **state)
{
    const char *const calls[] = { "zeCommandListAppendBarrier", "zeEventHostSynchronize" };
    const char *const destroyers[] = { "zeCommandListDestroy", "zeEventDestroy",
                                       "zeEventPoolDestroy", "zeContextDestroy" };
    for (size_t i = 0; i < 2 * sizeof calls / sizeof *calls; i++) {
        bool is_lasting = i % 2 == 0;
        tarn_backend backend;
        tarn_stream stream;
        sim_reset();
        assert_int_equal(tarn_ze_backend_open(0, TARN_MEMORY_KIND_DEVICE, NULL, &backend),
                         TARN_STATUS_OK);
        expect_done(backend, stream_create, &stream);
        sim_fail_calls(calls[i / 2], 1, is_lasting ? SIZE_MAX : 1, SIM_STATUS_OUT_OF_HOST_MEMORY);
        sim_forget_calls();
        tarn_backend_close(&backend);
        for (size_t k = 0; is_lasting && k < sizeof destroyers / sizeof *destroyers; k++)
            assert_int_equal(sim_call_count(destroyers[k]), 0);
        if (!is_lasting && sim_alive_total() > 0) fail_msg("alive: %s", sim_describe_alive());
    }
    sim_reset();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_done_is_used_again),
        cmocka_unit_test(a_list_that_stands_still_costs_what_is_pending),
        cmocka_unit_test(taking_one_asks_few_questions),
        cmocka_unit_test(a_stream_gives_its_event_back),
        cmocka_unit_test(what_is_done_will_do_when_none_can_be_made),
        cmocka_unit_test(a_wait_keeps_its_record),
        cmocka_unit_test(a_record_that_is_done_may_still_be_waited_for),
        cmocka_unit_test(a_stream_may_go_while_another_waits_for_it),
        cmocka_unit_test(lists_are_used_again),
        cmocka_unit_test(closing_waits_for_what_is_pending),
        cmocka_unit_test(closing_destroys_no_list_before_all_have_finished),
        cmocka_unit_test(threads_record_one_event),
        cmocka_unit_test(a_stream_that_cannot_be_waited_for_stays),
        cmocka_unit_test(closing_leaves_what_cannot_be_waited_for),
    };
    return cmocka_run_group_tests_name("Level Zero's events, recycled", tests, NULL, NULL);
}
