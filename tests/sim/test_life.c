/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_life: after a fork, once the process has begun to end, and for a pool that is abandoned, the vendor
 * is not called. Counted.
 */
#include <stdbool.h>
#include <string.h>

#include "harness/child.h"
#include "harness/claims.h"

#include "sim_vendor.h"

#define MIB ((size_t)1 << 20)

/* One of each; static, as what a program does not give back would be. */
static struct {
    tarn_backend backend;
    tarn_pool *pool;
    void *of_pool;
    void *of_process;
    tarn_stream stream;
    tarn_event event;
    void *piece;
    void *range;
    tarn_mapping mapping;
    tarn_pool *debugged;
    void *of_debugged;
    tarn_pool *identifying; /* NULL: the vendor has no numbers of streams */
    void *of_stream[2];
    void *of_new_stream; /* of `pool`, which has not seen the stream */
    tarn_stream new_stream;
} place;

static void begin(void)
{
    CHILD_EXPECT(tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &place.backend) == TARN_STATUS_OK);
    const tarn_backend_operations *operations = place.backend.operations;
    void *backend = place.backend.state;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &place.backend;
    options.initial_bytes = 2 * MIB;
    CHILD_EXPECT(tarn_pool_create(&options, &place.pool) == TARN_STATUS_OK);
    CHILD_EXPECT(operations->stream_create(backend, &place.stream).status == TARN_STATUS_OK);
    CHILD_EXPECT(operations->event_create(backend, &place.event).status == TARN_STATUS_OK);
    CHILD_EXPECT(operations->event_record(backend, place.event, place.stream).status ==
                 TARN_STATUS_OK);
    CHILD_EXPECT(operations->range_reserve(backend, 4 * MIB, &place.range).status ==
                 TARN_STATUS_OK);
    CHILD_EXPECT(operations->range_map(backend, place.range, 4 * MIB, &place.mapping).status ==
                 TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc(place.pool, 1000, &place.of_pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc_on(place.pool, 1000, place.stream, &place.piece) ==
                 TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free_on(place.pool, place.piece, place.stream) == TARN_STATUS_OK);
    /* Records on one stream and waits on the other. */
    CHILD_EXPECT(tarn_pool_alloc(place.pool, 2 * MIB - 1024, &place.piece) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free(place.pool, place.piece) == TARN_STATUS_OK);
    CHILD_EXPECT(operations->acquire(backend, 1000, &place.piece).status == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_malloc(1000, &place.of_process) == TARN_STATUS_OK);
    CHILD_EXPECT(operations->stream_create(backend, &place.new_stream).status == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc(place.pool, 1000, &place.of_new_stream) == TARN_STATUS_OK);
    options.debug = TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE;
    CHILD_EXPECT(tarn_pool_create(&options, &place.debugged) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc(place.debugged, 1000, &place.of_debugged) == TARN_STATUS_OK);
    options.debug = 0;
    options.identifies_streams = true;
    place.identifying = NULL;
    if (tarn_pool_create(&options, &place.identifying) != TARN_STATUS_OK) return;
    for (int i = 0; i < 2; i++)
        CHILD_EXPECT(tarn_pool_alloc_on(place.identifying, 1000, place.stream,
                                        &place.of_stream[i]) == TARN_STATUS_OK);
}

/* What was used on streams that nobody can ask after. */
static void give_back_on_streams(void)
{
    CHILD_EXPECT(tarn_pool_free_on(place.pool, place.of_new_stream, place.new_stream) ==
                 TARN_STATUS_OK);
    if (!place.identifying) return;
    CHILD_EXPECT(tarn_pool_free_on(place.identifying, place.of_stream[0], place.stream) ==
                 TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free(place.identifying, place.of_stream[1]) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_destroy(place.identifying) == TARN_STATUS_OK);
}

/* All that gives something back. */
static void give_all_back(void)
{
    const tarn_backend_operations *operations = place.backend.operations;
    void *backend = place.backend.state;
    CHILD_EXPECT(operations->range_unmap(backend, place.range, 4 * MIB, place.mapping).status ==
                 TARN_STATUS_OK);
    CHILD_EXPECT(operations->range_release(backend, place.range, 4 * MIB).status == TARN_STATUS_OK);
    CHILD_EXPECT(operations->release(backend, place.piece, 1000).status == TARN_STATUS_OK);
    CHILD_EXPECT(operations->event_destroy(backend, place.event).status == TARN_STATUS_OK);
    give_back_on_streams();
    CHILD_EXPECT(tarn_stream_retire(place.stream) == TARN_STATUS_OK);
    CHILD_EXPECT(operations->stream_destroy(backend, place.stream).status == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_stream_retire(place.new_stream) == TARN_STATUS_OK);
    CHILD_EXPECT(operations->stream_destroy(backend, place.new_stream).status == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_free(place.of_process) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free(place.pool, place.of_pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free(place.debugged, place.of_debugged) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_destroy(place.debugged) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_trim(place.pool, 0, NULL) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_destroy(place.pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
    tarn_backend_close(&place.backend);
}

/* All that takes something answers this. */
static void take_in_vain(tarn_status expected)
{
    const tarn_backend_operations *operations = place.backend.operations;
    void *backend = place.backend.state, *address = NULL;
    tarn_stream stream = NULL;
    tarn_event event = NULL;
    tarn_mapping mapping = NULL;
    tarn_memory_info info;
    CHILD_EXPECT(operations->acquire(backend, 1000, &address).status == expected);
    CHILD_EXPECT(operations->range_reserve(backend, 4 * MIB, &address).status == expected);
    CHILD_EXPECT(operations->range_map(backend, place.range, 4 * MIB, &mapping).status == expected);
    CHILD_EXPECT(operations->query_memory(backend, &info).status == expected);
    CHILD_EXPECT(operations->stream_create(backend, &stream).status == expected);
    CHILD_EXPECT(operations->stream_check(backend, place.stream).status == expected);
    CHILD_EXPECT(operations->stream_synchronize(backend, place.stream).status == expected);
    CHILD_EXPECT(operations->stream_wait_event(backend, place.stream, place.event).status ==
                 expected);
    CHILD_EXPECT(operations->event_create(backend, &event).status == expected);
    CHILD_EXPECT(operations->event_record(backend, place.event, place.stream).status == expected);
    CHILD_EXPECT(operations->event_query(backend, place.event).status == expected);
    CHILD_EXPECT(operations->event_synchronize(backend, place.event).status == expected);
    CHILD_EXPECT(operations->fill(backend, place.piece, 1, 10, place.stream).status == expected);
    CHILD_EXPECT(operations->copy(backend, place.piece, &info, 1, place.stream).status == expected);
    CHILD_EXPECT(tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &(tarn_backend){ NULL, NULL }) ==
                 expected);
    CHILD_EXPECT(tarn_pool_alloc(place.pool, 64 * MIB, &address) == expected);
    CHILD_EXPECT(!address && !stream && !event && !mapping);
}

/* --- fork -------------------------------------------------------------------------------------------- */

static void live_in_a_child(void *unused)
{
    void *address = NULL;
    tarn_device_properties properties;
    size_t alive = sim_alive_total();
    sim_forget_calls();
    take_in_vain(TARN_STATUS_FORKED);
    CHILD_EXPECT(
        place.backend.operations->get_properties(place.backend.state, &properties).status ==
        TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_malloc(1000, &address) == TARN_STATUS_FORKED);
    give_all_back();
    CHILD_EXPECT(tarn_malloc(1000, &address) == TARN_STATUS_FORKED);
    if (sim_call_count(NULL) > 0) fprintf(stderr, "in a child: %s\n", sim_describe_calls());
    CHILD_EXPECT(sim_call_count(NULL) == 0);
    CHILD_EXPECT(sim_alive_total() == alive);
}

static void a_child_calls_no_vendor(void **state)
{
    sim_reset();
    begin();
    expect_in_child(live_in_a_child, NULL);
    give_all_back();
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
}

/* --- exit -------------------------------------------------------------------------------------------- */

static bool has_ended;

static void serve_from_what_is_held(tarn_pool *pool)
{
    void *address;
    CHILD_EXPECT(tarn_pool_alloc(pool, 1000, &address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free(pool, address) == TARN_STATUS_OK);
}

/* Runs after the library has seen the end begin. */
static void end_late(void)
{
    sim_forget_calls();
    take_in_vain(TARN_STATUS_VENDOR_ERROR);
    CHILD_EXPECT(tarn_last_error().vendor_code == sim_vendor_error_of(SIM_STATUS_UNLOADING)->code);
    serve_from_what_is_held(place.pool);
    serve_from_what_is_held(place.debugged);
    give_all_back();
    if (sim_call_count(NULL) > 0) fprintf(stderr, "at the end: %s\n", sim_describe_calls());
    CHILD_EXPECT(sim_call_count(NULL) == 0);
    has_ended = true;
}

/* Runs before, and finds a vendor that works. */
static void end_early(void)
{
    give_all_back();
    CHILD_EXPECT(sim_alive_total() == 0);
    CHILD_EXPECT(sim_misuse_count() == 0);
    has_ended = true;
}

static void (*end)(void);

static void expect_to_have_ended(void)
{
    if (end && !has_ended) _exit(3);
}

/* The vendor's library begins to unload at the exit as of when it was first used. */
static void use_until_unloading(void)
{
    SIM_SET(unloads_at_exit, true);
    begin();
}

static int run(const char *what)
{
    setenv("TARN_SIM_EXPECT_CLEAN", "0", 1); /* what is given back too late stays alive */
    atexit(expect_to_have_ended);
    if (strcmp(what, "late") == 0) {
        end = end_late;
        atexit(end);
        use_until_unloading();
    } else {
        use_until_unloading();
        end = end_early;
        atexit(end);
    }
    return 0;
}

static void what_is_given_back_late_is_left_alone(void **state)
{
    expect_program_to_end_well("late");
}

static void what_is_given_back_early_is_given_back(void **state)
{
    expect_program_to_end_well("early");
}

/* --- a device that has gone ------------------------------------------------------------------------- */

/* What a backend keeps for the events of a pool that is abandoned stays, by contract: Level Zero's alone
 * keeps something. The leak sanitizer asks for this. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:tn_ze_event_create\n";
}

/* The test's own sim_reset stands for the vendor, who frees all with the device. */
static void expect_to_be_abandoned(void)
{
    size_t alive = sim_alive_total();
    void *address;
    sim_forget_calls();
    assert_int_equal(tarn_pool_abandon(place.pool), TARN_STATUS_OK);
    assert_int_equal(tarn_default_pool_abandon(), TARN_STATUS_OK);
    if (sim_call_count(NULL) > 0) fail_msg("abandoning called %s", sim_describe_calls());
    assert_int_equal(sim_alive_total(), alive);
    assert_int_equal(tarn_pool_alloc(place.pool, 1, &address), TARN_STATUS_INVALID_POOL);
    assert_int_equal(tarn_pool_free(place.pool, place.of_pool), TARN_STATUS_INVALID_POOL);
    assert_int_equal(tarn_free(place.of_process), TARN_STATUS_FOREIGN_ADDRESS);
}

static void a_pool_of_a_device_that_was_reset_is_abandoned(void **state)
{
    sim_reset();
    begin();
    sim_destroy_context(0);
    expect_to_be_abandoned();
    sim_reset();
    begin();
    give_all_back();
    assert_int_equal(sim_alive_total(), 0);
}

static void a_pool_of_a_device_that_is_well_is_abandoned(void **state)
{
    sim_reset();
    begin();
    expect_to_be_abandoned();
    sim_reset();
}

int main(int argc, char **argv)
{
    if (argc == 2) return run(argv[1]);
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_calls_no_vendor),
        cmocka_unit_test(what_is_given_back_late_is_left_alone),
        cmocka_unit_test(what_is_given_back_early_is_given_back),
        cmocka_unit_test(a_pool_of_a_device_that_was_reset_is_abandoned),
        cmocka_unit_test(a_pool_of_a_device_that_is_well_is_abandoned),
    };
    int failed_count = cmocka_run_group_tests_name("life", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
