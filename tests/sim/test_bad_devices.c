/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_bad_devices: no driver, an old one, no device, a device that breaks, a process that ends.
 *
 * Each has one status of tarn's, the same for all vendors, and the vendor's own code and name beside
 * it in tarn_last_error or in the operation's result.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/claims.h"
#include "sim_scenario.h"
#include "sim_vendor.h"
#include "tarn/debug.h"

#define MIB ((size_t)1 << 20)

/* --- claims ------------------------------------------------------------------------------------ */

static void expect_vendor(const char *what, tarn_status status, int code, const char *name,
                          sim_status cause)
{
    const struct sim_vendor_error *error = sim_vendor_error_of(cause);
    bool is_named = name && strcmp(name, error->name) == 0;
    bool is_status = (int)status == sim_vendor_tarn_status_of(cause);
    /* A vendor may have one code for a driver that is gone and one that never was. */
    if (cause == SIM_STATUS_UNLOADING && code == sim_vendor_error_of(SIM_STATUS_NO_DRIVER)->code)
        is_status = is_status || status == TARN_STATUS_NO_DEVICE;
    if (is_status && code == error->code && is_named) return;
    fail_msg("%s: %s, vendor code %d, %s; not %s, %d, %s", what, tarn_status_name(status), code,
             name ? name : "no name",
             tarn_status_name((tarn_status)sim_vendor_tarn_status_of(cause)), error->code,
             error->name);
}

/* A function of tarn's failed because of the vendor. */
static void expect_failure(const char *what, tarn_status status, sim_status cause)
{
    tarn_error error = tarn_last_error();
    assert_int_equal(error.status, status);
    assert_true(error.message[0] != '\0');
    expect_vendor(what, status, error.vendor_code, error.vendor_name, cause);
}

#define EXPECT_FAILURE(call, cause) expect_failure(#call, call, cause)

static void expect_result(const char *what, tarn_backend_result result, sim_status cause)
{
    expect_vendor(what, result.status, result.vendor_code, result.vendor_name, cause);
}

#define EXPECT_RESULT(call, cause) expect_result(#call, call, cause)

static void expect_no_trace(void)
{
    const char *left = sim_vendor.take_last_error ? sim_vendor.take_last_error() : NULL;
    if (left) fail_msg("%s was left in the vendor's last error", left);
    if (sim_misuse_count() > 0) fail_msg("misuse: %s", sim_first_misuse());
}

static tarn_backend open_backend(int device)
{
    tarn_backend backend;
    expect_ok(tarn_backend_open(device, TARN_MEMORY_KIND_DEVICE, &backend));
    return backend;
}

static tarn_pool *create_pool(const tarn_backend *backend)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = backend;
    options.initial_bytes = 2 * MIB;
    return new_pool(&options);
}

/* --- opening ----------------------------------------------------------------------------------- */

static const tarn_memory_kind kinds[] = { TARN_MEMORY_KIND_DEVICE, TARN_MEMORY_KIND_PINNED,
                                          TARN_MEMORY_KIND_SHARED };

/* Opening any kind on any device, and the process-wide pool, fail for the same reason. */
static void expect_nothing_opens(sim_status cause)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (int device = 0; device < 2; device++) {
            tarn_backend backend = { NULL, &backend };
            EXPECT_FAILURE(tarn_backend_open(device, kinds[i], &backend), cause);
            assert_null(backend.operations);
            assert_ptr_equal(backend.state, &backend);
        }
    }
    void *address = &address;
    EXPECT_FAILURE(tarn_malloc(1, &address), cause);
    assert_ptr_equal(address, &address);
    expect_no_trace();
    assert_int_equal(sim_alive_total(), 0);
}

static void set_driver(sim_driver driver)
{
    sim_reset();
    SIM_SET(driver, driver);
}

static void without_a_driver_nothing_opens(void **state)
{
    set_driver(SIM_DRIVER_ABSENT);
    expect_nothing_opens(SIM_STATUS_NO_DRIVER);
}

static void with_too_old_a_driver_nothing_opens(void **state)
{
    set_driver(SIM_DRIVER_TOO_OLD);
    expect_nothing_opens(SIM_STATUS_DRIVER_TOO_OLD);
}

static void without_a_device_nothing_opens(void **state)
{
    sim_reset();
    SIM_SET(device_count, 0);
    expect_nothing_opens(SIM_STATUS_NO_DEVICE);
}

/* tarn itself compares with the number of devices, so the vendor has no say. */
static void a_device_that_does_not_exist_is_refused(void **state)
{
    sim_reset();
    const int numbers[] = { -2, 2, 3, 99, INT_MAX, INT_MIN };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        tarn_backend backend = { NULL, NULL };
        assert_int_equal(tarn_backend_open(numbers[i], TARN_MEMORY_KIND_DEVICE, &backend),
                         TARN_STATUS_INVALID_DEVICE);
        char number[16];
        snprintf(number, sizeof number, "%d", numbers[i]);
        assert_non_null(strstr(tarn_last_error().message, number));
        assert_null(backend.state);
    }
    expect_no_trace();
}

static void a_kind_that_the_device_lacks_is_not_supported(void **state)
{
    for (size_t i = 1; i < sizeof kinds / sizeof *kinds; i++) {
        sim_reset();
        SIM_SET(has_kind[i], false);
        tarn_backend backend = { NULL, NULL };
        assert_int_equal(tarn_backend_open(0, kinds[i], &backend), TARN_STATUS_NOT_SUPPORTED);
        assert_null(backend.state);
        backend = open_backend(0);
        tarn_backend_close(&backend);
        expect_no_trace();
    }
}

/* --- what a device or an old driver lacks ------------------------------------------------------- */

static void judge_that_all_goes_well(const struct sim_scenario *scenario,
                                     const struct sim_step *step)
{
    if (step->result.status != TARN_STATUS_OK)
        fail_msg("%s: %s", step->text, tarn_status_name(step->result.status));
}

static void expect_no_ranges(void)
{
    tarn_backend backend = open_backend(0);
    tarn_device_properties properties;
    expect_done(backend, get_properties, &properties);
    assert_int_equal(properties.range_granularity_bytes, 0);
    char nowhere;
    void *range = &nowhere;
    tarn_mapping mapping = &nowhere;
    sim_forget_calls();
    expect_operation(TARN_STATUS_NOT_SUPPORTED, backend, range_reserve, 2 * MIB, &range);
    expect_operation(TARN_STATUS_NOT_SUPPORTED, backend, range_map, range, 2 * MIB, &mapping);
    expect_operation(TARN_STATUS_NOT_SUPPORTED, backend, range_unmap, range, 2 * MIB, mapping);
    expect_operation(TARN_STATUS_NOT_SUPPORTED, backend, range_release, range, 2 * MIB);
    assert_ptr_equal(range, &nowhere);
    assert_ptr_equal(mapping, &nowhere);
    assert_int_equal(sim_call_count(NULL), 0);
    tarn_backend_close(&backend);
}

static void expect_all_but_ranges(void)
{
    expect_no_ranges();
    struct sim_scenario scenario = { .judge = judge_that_all_goes_well };
    sim_scenario_run(&scenario);
    assert_false(scenario.had_ranges);
    sim_scenario_expect_nothing_leaked(&scenario);
    expect_no_trace();
}

static void an_old_driver_does_without_ranges(void **state)
{
    set_driver(SIM_DRIVER_WITHOUT_EXTRAS);
    expect_all_but_ranges();
    if (!sim_vendor.set_current_device) return;
    sim_vendor.set_current_device(1);
    expect_all_but_ranges();
    assert_int_equal(sim_vendor.current_device(), 1);
}

static void a_device_without_ranges_does_without(void **state)
{
    sim_reset();
    SIM_SET(has_ranges, false);
    expect_all_but_ranges();
}

/* --- a device that breaks ----------------------------------------------------------------------- */

struct place {
    tarn_backend backend;
    tarn_pool *pool;
    void *address;
    tarn_stream stream;
    tarn_event event;
    void *piece;
};

static struct place make_place(int device)
{
    struct place place = { .backend = open_backend(device) };
    const tarn_backend_operations *operations = place.backend.operations;
    place.pool = create_pool(&place.backend);
    expect_ok(tarn_pool_alloc(place.pool, MIB, &place.address));
    void *backend = place.backend.state;
    assert_int_equal(operations->stream_create(backend, &place.stream).status, TARN_STATUS_OK);
    assert_int_equal(operations->event_create(backend, &place.event).status, TARN_STATUS_OK);
    assert_int_equal(operations->acquire(backend, 1000, &place.piece).status, TARN_STATUS_OK);
    assert_int_equal(operations->fill(backend, place.piece, 1, 1000, place.stream).status,
                     TARN_STATUS_OK);
    assert_int_equal(operations->event_record(backend, place.event, place.stream).status,
                     TARN_STATUS_OK);
    return place;
}

static void end_place(struct place *place)
{
    const tarn_backend_operations *operations = place->backend.operations;
    void *backend = place->backend.state;
    assert_int_equal(operations->event_destroy(backend, place->event).status, TARN_STATUS_OK);
    assert_int_equal(operations->stream_destroy(backend, place->stream).status, TARN_STATUS_OK);
    assert_int_equal(operations->release(backend, place->piece, 1000).status, TARN_STATUS_OK);
    expect_ok(tarn_pool_free(place->pool, place->address));
    expect_ok(tarn_pool_destroy(place->pool));
    tarn_backend_close(&place->backend);
}

/* Every operation that needs the device says what became of it. */
static void expect_operations_fail(const struct place *place, sim_status cause)
{
    const tarn_backend_operations *operations = place->backend.operations;
    void *backend = place->backend.state, *address = NULL;
    tarn_stream stream = NULL;
    tarn_event event = NULL;
    tarn_memory_info info;
    EXPECT_RESULT(operations->acquire(backend, 1000, &address), cause);
    EXPECT_RESULT(operations->query_memory(backend, &info), cause);
    EXPECT_RESULT(operations->stream_create(backend, &stream), cause);
    EXPECT_RESULT(operations->stream_synchronize(backend, place->stream), cause);
    EXPECT_RESULT(operations->stream_wait_event(backend, place->stream, place->event), cause);
    if (!sim_vendor.events_are_tarns_own)
        EXPECT_RESULT(operations->event_create(backend, &event), cause);
    EXPECT_RESULT(operations->event_record(backend, place->event, place->stream), cause);
    EXPECT_RESULT(operations->event_query(backend, place->event), cause);
    EXPECT_RESULT(operations->event_synchronize(backend, place->event), cause);
    EXPECT_RESULT(operations->fill(backend, place->piece, 2, 1000, place->stream), cause);
    EXPECT_RESULT(operations->copy(backend, place->piece, &info, 1, place->stream), cause);
    assert_null(address);
    assert_null(stream);
    assert_null(event);
}

static void expect_giving_back_fails(const struct place *place, sim_status cause)
{
    const tarn_backend_operations *operations = place->backend.operations;
    void *backend = place->backend.state;
    EXPECT_RESULT(operations->release(backend, place->piece, 1000), cause);
    if (sim_vendor.events_are_tarns_own) {
        assert_int_equal(operations->event_destroy(backend, place->event).status, TARN_STATUS_OK);
    } else {
        EXPECT_RESULT(operations->event_destroy(backend, place->event), cause);
    }
    EXPECT_RESULT(operations->stream_destroy(backend, place->stream), cause);
}

/* What needs no vendor goes on; growth and trim say what became of the device; destroying ends it. */
static void expect_pool_to_end_well(struct place *place, sim_status cause)
{
    void *address, *more = NULL;
    expect_ok(tarn_pool_alloc(place->pool, 1000, &address));
    expect_ok(tarn_pool_free(place->pool, address));
    EXPECT_FAILURE(tarn_pool_alloc(place->pool, 64 * MIB, &more), cause);
    assert_null(more);
    expect_ok(tarn_pool_check(place->pool));
    expect_ok(tarn_pool_free(place->pool, place->address));
    EXPECT_FAILURE(tarn_pool_trim(place->pool, 0, NULL), cause);
    expect_ok(tarn_pool_check(place->pool));
    expect_ok(tarn_pool_destroy(place->pool));
    tarn_backend_close(&place->backend);
}

static void break_under_a_pool(void (*break_device)(int), sim_status cause)
{
    sim_reset();
    struct place broken = make_place(0), whole = make_place(1);
    break_device(0);
    expect_operations_fail(&broken, cause);
    expect_no_trace();
    expect_giving_back_fails(&broken, cause);
    expect_pool_to_end_well(&broken, cause);
    tarn_backend backend = { NULL, NULL };
    EXPECT_FAILURE(tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend), cause);
    expect_no_trace();

    /* The other device has nothing to do with it. */
    end_place(&whole);
    struct sim_scenario scenario = { .device = 1, .judge = judge_that_all_goes_well };
    sim_scenario_run(&scenario);
    sim_scenario_expect_nothing_leaked(&scenario);
    expect_no_trace();
}

static void a_lost_device_is_told(void **state)
{
    break_under_a_pool(sim_lose_device, SIM_STATUS_DEVICE_LOST);
}

static void a_destroyed_context_is_told(void **state)
{
    break_under_a_pool(sim_destroy_context, SIM_STATUS_CONTEXT_DESTROYED);
}

/* --- a stream of another device ----------------------------------------------------------------- */

static void a_stream_of_another_device_is_refused(void **state)
{
    if (sim_vendor.tells_streams_apart && !sim_vendor.tells_streams_apart()) skip();
    for (int current = 0; current < 2; current++) {
        sim_reset();
        if (sim_vendor.set_current_device) sim_vendor.set_current_device(current);
        struct place zero = make_place(0), one = make_place(1);
        const tarn_backend_operations *operations = zero.backend.operations;
        void *backend = zero.backend.state;
        tarn_backend_result result = operations->stream_check(backend, one.stream);
        assert_int_equal(result.status, TARN_STATUS_INVALID_ARGUMENT);
        if (!sim_vendor.tells_streams_apart)
            expect_result("stream_check", result, SIM_STATUS_WRONG_DEVICE);
        assert_int_equal(operations->stream_check(backend, zero.stream).status, TARN_STATUS_OK);
        assert_int_equal(operations->stream_check(backend, NULL).status, TARN_STATUS_OK);
        end_place(&zero);
        end_place(&one);
        expect_no_trace();
        assert_int_equal(sim_alive_total(), 0);
    }
}

/* --- without sharing ------------------------------------------------------------------------------ */

static void a_device_without_sharing_has_ranges_all_the_same(void **state)
{
    sim_reset();
    SIM_SET(has_sharing, false);
    tarn_backend backend;
    expect_ok(tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend));
    tarn_device_properties properties;
    expect_done(backend, get_properties, &properties);
    assert_true(properties.range_granularity_bytes > 0);
    assert_false(properties.has_shareable_ranges);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    tarn_pool *pool;
    options.backend = &backend;
    options.contiguous = true;
    options.is_shareable = true;
    assert_int_equal(tarn_pool_create(&options, &pool), TARN_STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(tarn_last_error().message, "is_shareable"));
    options.is_shareable = false;
    expect_ok(tarn_pool_create(&options, &pool));
    expect_ok(tarn_pool_destroy(pool));
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
}

/* --- from some call on, everything fails --------------------------------------------------------- */

static sim_status lasting;

static void judge_lasting_fault(const struct sim_scenario *scenario, const struct sim_step *step)
{
    const tarn_backend_result *result = &step->result;
    if (!step->met_fault) {
        assert_int_equal(result->status, TARN_STATUS_OK);
        return;
    }
    bool may_succeed = sim_vendor_is_optional(step->text, sim_fault_name()) ||
                       sim_step_has_other_way(step) || sim_step_cannot_fail(step) ||
                       (step->gives_back && lasting == SIM_STATUS_UNLOADING);
    if (result->status == TARN_STATUS_OK && may_succeed) return;
    expect_result(step->text, *result, lasting);
}

/* From the n-th call on, for n = 1, 2, ... */
static void everything_fails_from_some_call_on(void **state)
{
    static const sim_status lasting_ones[] = { SIM_STATUS_UNLOADING, SIM_STATUS_DEVICE_LOST };
    for (size_t i = 0; i < sizeof lasting_ones / sizeof *lasting_ones; i++) {
        lasting = lasting_ones[i];
        size_t n = 1;
        for (;; n++) {
            struct sim_scenario scenario = { .judge = judge_lasting_fault, .stays_broken = true };
            sim_reset();
            sim_fail_calls(NULL, n, SIZE_MAX - n, lasting);
            sim_scenario_run(&scenario);
            if (sim_fault_count() == 0) break;
        }
        assert_true(n > 50);
    }
    sim_reset();
}

/* --- the end of the process ---------------------------------------------------------------------- */

static void what_is_given_back_too_late_is_no_error(void **state)
{
    sim_reset();
    struct place place = make_place(0);
    const tarn_backend_operations *operations = place.backend.operations;
    void *backend = place.backend.state, *more = NULL, *range = NULL;
    tarn_mapping mapping = NULL;
    assert_int_equal(operations->range_reserve(backend, 4 * MIB, &range).status, TARN_STATUS_OK);
    assert_int_equal(operations->range_map(backend, range, 4 * MIB, &mapping).status,
                     TARN_STATUS_OK);
    sim_unload_driver();
    EXPECT_FAILURE(tarn_pool_alloc(place.pool, 64 * MIB, &more), SIM_STATUS_UNLOADING);
    EXPECT_RESULT(operations->event_query(backend, place.event), SIM_STATUS_UNLOADING);
    size_t released_bytes = 0;
    expect_ok(tarn_pool_trim(place.pool, 0, &released_bytes));
    assert_int_equal(operations->range_unmap(backend, range, 4 * MIB, mapping).status,
                     TARN_STATUS_OK);
    assert_int_equal(operations->range_release(backend, range, 4 * MIB).status, TARN_STATUS_OK);
    end_place(&place);
    sim_reset();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_driver_nothing_opens),
        cmocka_unit_test(with_too_old_a_driver_nothing_opens),
        cmocka_unit_test(without_a_device_nothing_opens),
        cmocka_unit_test(a_device_that_does_not_exist_is_refused),
        cmocka_unit_test(a_kind_that_the_device_lacks_is_not_supported),
        cmocka_unit_test(an_old_driver_does_without_ranges),
        cmocka_unit_test(a_device_without_ranges_does_without),
        cmocka_unit_test(a_lost_device_is_told),
        cmocka_unit_test(a_destroyed_context_is_told),
        cmocka_unit_test(a_stream_of_another_device_is_refused),
        cmocka_unit_test(a_device_without_sharing_has_ranges_all_the_same),
        cmocka_unit_test(everything_fails_from_some_call_on),
        cmocka_unit_test(what_is_given_back_too_late_is_no_error),
    };
    int failed_count = cmocka_run_group_tests_name("bad devices", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
