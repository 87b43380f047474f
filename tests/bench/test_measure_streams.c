/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_measure_streams: what the benchmark finds out about allocators that give memory from stream to stream.
 *
 * The planted allocator has one piece of memory and gives what was freed last, whichever stream freed it. Whether
 * that is wrong depends on what it says of its frees, and on who wants the memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocators/allocator.h"
#include "allocators/backing.h"
#include "common/clock.h"
#include "measuring/measure.h"
#include "workloads/commands.h"

/* --- the planted allocator ----------------------------------------------------------------------- */

enum {
    SIZE_BYTES_MAX = 64 << 10, /* of a block that goes round */
    BLOCK_BYTES = 2 << 20,     /* which the one that stays may need */
    BLOCK_COUNT = 16
};

static struct {
    bool gives_twice;     /* one block to two */
    size_t fail_alloc_at; /* counted from 1 since opening; 0: never */
    size_t fail_free_at;  /* likewise */
    uint64_t free_ns;     /* that a free takes at least */
    size_t open_count;    /* opened and not closed, threads too */
    size_t initial_bytes; /* of the settings */
    size_t alloc_count;
    size_t free_count;
    struct tn_backing backing;
    unsigned char *base;
    unsigned char *idle[BLOCK_COUNT];
    size_t idle_count;
} planted;

static tarn_status open_planted(const struct tn_allocator_settings *settings, void **state_out,
                                struct tn_reason *reason_out)
{
    void *base;
    tarn_status status = tn_backing_init(&planted.backing, settings, reason_out);
    if (status != TARN_STATUS_OK) return status;
    status = tn_backing_acquire(&planted.backing, (size_t)BLOCK_BYTES * BLOCK_COUNT, &base);
    assert_int_equal(status, TARN_STATUS_OK);
    planted.base = base;
    planted.initial_bytes = settings->initial_bytes;
    planted.idle_count = 0;
    planted.alloc_count = planted.free_count = 0;
    for (size_t i = BLOCK_COUNT; i > 0; i--)
        planted.idle[planted.idle_count++] = planted.base + (i - 1) * BLOCK_BYTES;
    planted.open_count++;
    *state_out = &planted;
    return TARN_STATUS_OK;
}

static tarn_status alloc_planted(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    assert_true(size_bytes <= BLOCK_BYTES && planted.idle_count > 0);
    if (++planted.alloc_count == planted.fail_alloc_at) return TARN_STATUS_OUT_OF_MEMORY;
    *address_out = planted.idle[--planted.idle_count];
    if (planted.gives_twice && planted.alloc_count % 51 == 0) {
        *address_out = planted.base;
        planted.idle_count++;
    }
    return TARN_STATUS_OK;
}

static tarn_status free_planted(void *state, void *address, size_t size_bytes)
{
    (void)state;
    (void)size_bytes;
    uint64_t end_ns = tn_clock_now_ns() + planted.free_ns;
    while (planted.free_ns > 0 && tn_clock_now_ns() < end_ns)
        ;
    if (++planted.free_count == planted.fail_free_at) return TARN_STATUS_NOT_LIVE;
    if (planted.idle_count < BLOCK_COUNT) planted.idle[planted.idle_count++] = address;
    return TARN_STATUS_OK;
}

static void explain_planted(void *state, tarn_status status, struct tn_reason *reason_out)
{
    (void)state;
    (void)status;
    tn_reason_set(reason_out, "as planted");
}

static void get_usage_planted(void *state, struct tn_allocator_usage *usage_out)
{
    (void)state;
    *usage_out = (struct tn_allocator_usage){ .footprint_bytes_max = 1, .vendor_calls = 1 };
}

static void close_planted(void *state)
{
    (void)state;
    planted.open_count--;
    tn_backing_release(&planted.backing, planted.base, (size_t)BLOCK_BYTES * BLOCK_COUNT);
    tn_backing_fini(&planted.backing);
}

static tarn_status open_planted_thread(void *state, struct tn_allocator_thread *thread_inout,
                                       struct tn_reason *reason_out)
{
    (void)reason_out;
    assert_non_null(thread_inout->stream);
    thread_inout->state = state;
    planted.open_count++;
    return TARN_STATUS_OK;
}

static void close_planted_thread(void *state)
{
    (void)state;
    planted.open_count--;
}

static struct tn_allocator planted_allocator = {
    .name = "planted",
    .open = open_planted,
    .alloc = alloc_planted,
    .free = free_planted,
    .explain = explain_planted,
    .get_usage = get_usage_planted,
    .close = close_planted,
    .open_thread = open_planted_thread,
    .alloc_in_thread = alloc_planted,
    .free_in_thread = free_planted,
    .explain_in_thread = explain_planted,
    .close_thread = close_planted_thread,
};

/* --- measuring it --------------------------------------------------------------------------------- */

static void need_device(void)
{
    tarn_backend backend;
    tarn_status status = tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend);
    if (status == TARN_STATUS_NO_DEVICE) skip();
    assert_int_equal(status, TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

/* A device runs what it was given when it likes, so what is wrong shows at times; these run it late. */
static bool runs_late(void)
{
    return strcmp(tarn_backend_name(), "host") == 0 || getenv("TARN_SIM_EXPECT_CLEAN");
}

struct measured {
    struct tn_workload_list list;
    struct tn_result result;
};

static double time_seconds; /* for the repetitions, as --time; 0: what most tests have */

static struct tn_options options_of(const struct tn_allocator *allocator, uint64_t stream_count)
{
    return (struct tn_options){
        .allocators = { allocator },
        .allocator_count = 1,
        .seed = 1,
        .repetitions = 3,
        .time_seconds = time_seconds > 0.0 ? time_seconds : 0.02,
        .settings = { .initial_bytes = (size_t)64 << 20 },
        .live_counts = { 1, { 4 } },
        .stream_counts = { 1, { stream_count } },
        .size_range = { 2, { 100, SIZE_BYTES_MAX } },
    };
}

/* The list has the streams' own and then the handed on. */
static struct measured measure(const struct tn_allocator *allocator, uint64_t stream_count,
                               bool hands_on)
{
    struct tn_options options = options_of(allocator, stream_count);
    struct measured measured = { .list = { NULL, 0 } };
    struct tn_machine machine = { .is_host = true };
    struct tn_reason reason;
    assert_true(tn_streams_make_workloads(&options, &machine, &measured.list, &reason));
    assert_int_equal(measured.list.count, stream_count > 1 ? 2 : 1);
    tn_measure(&measured.list.items[hands_on], 1, &options, &machine, &measured.result);
    assert_int_equal(planted.open_count, 0);
    return measured;
}

static void expect_measured(const struct tn_allocator *allocator, uint64_t stream_count,
                            bool hands_on, double host_waits)
{
    struct measured measured = measure(allocator, stream_count, hands_on);
    const struct tn_result *result = &measured.result;
    if (result->outcome != TN_OUTCOME_MEASURED) fail_msg("%s", result->reason.text);
    assert_int_equal(result->stream_count, stream_count);
    assert_true(result->pair_count >= 1024 && result->repetition_count >= 1);
    assert_true(result->pair_ns.median > 0.0 && result->harness_pair_ns > 0.0);
    assert_true(result->streams.total_ns.median >= result->pair_ns.median);
    assert_true(result->streams.work_total_ns >= result->harness_pair_ns);
    assert_int_equal(result->streams.counted_pair_count, result->pair_count);
    assert_true((double)result->streams.calls.block_count ==
                host_waits * (double)result->pair_count);
    tn_workload_list_fini(&measured.list);
}

static void expect_failed(bool hands_on, const char *part)
{
    struct measured measured = measure(&planted_allocator, 2, hands_on);
    assert_int_equal(measured.result.outcome, TN_OUTCOME_FAILED);
    if (!strstr(measured.result.reason.text, part)) fail_msg("%s", measured.result.reason.text);
    assert_non_null(strstr(measured.result.reason.text, "planted"));
    tn_workload_list_fini(&measured.list);
}

/* --- the tests ------------------------------------------------------------------------------------ */

static int plant_nothing(void **state)
{
    (void)state;
    memset(&planted, 0, sizeof planted);
    time_seconds = 0.0;
    planted_allocator.free_order = TN_FREE_IS_ORDERED;
    return 0;
}

/* It says that it keeps the streams' order, and does not. */
static void memory_that_comes_too_early_is_found(void **state)
{
    (void)state;
    need_device();
    if (!runs_late()) skip();
    expect_failed(true, "given to another stream too early");
}

/* On its own stream, or when the host has waited, what was freed may be had at once. */
static void the_same_is_right_for_one_stream_and_after_a_wait(void **state)
{
    (void)state;
    need_device();
    expect_measured(&planted_allocator, 1, false, 0.0);
    expect_measured(&planted_allocator, 2, false, 0.0);
    planted_allocator.free_order = TN_FREE_NEEDS_WAIT;
    expect_measured(&planted_allocator, 1, false, 0.0);
    expect_measured(&planted_allocator, 2, false, 1.0);
    expect_measured(&planted_allocator, 3, true, 1.0);
    planted_allocator.free_order = TN_FREE_IS_ORDERED;
}

static void a_block_given_twice_is_found(void **state)
{
    (void)state;
    need_device();
    planted.gives_twice = true;
    planted_allocator.free_order = TN_FREE_NEEDS_WAIT;
    expect_failed(false, "or twice");
}

static void a_call_that_fails_is_named(void **state)
{
    (void)state;
    need_device();
    planted.fail_alloc_at = 3; /* in the setup */
    expect_failed(false, ", operation 3: planted: TARN_STATUS_OUT_OF_MEMORY: as planted");
    planted.fail_alloc_at = 100;
    expect_failed(false, ", operation 190: planted: TARN_STATUS_OUT_OF_MEMORY: as planted");
    planted.fail_alloc_at = 0;
    planted.fail_free_at = 5;
    expect_failed(true, ", operation 18: planted: TARN_STATUS_NOT_LIVE: as planted");
}

/* Of the calls alone. */
static void single_calls_are_timed(void **state)
{
    (void)state;
    need_device();
    planted.free_ns = 50000;
    struct measured measured = measure(&planted_allocator, 2, false);
    const struct tn_result *result = &measured.result;
    if (result->outcome != TN_OUTCOME_MEASURED) fail_msg("%s", result->reason.text);
    assert_true(result->free_ns.p50 >= 50000 && result->free_ns.p50 <= result->free_ns.p99);
    assert_true(result->free_ns.p999 <= result->free_ns.max);
    assert_true(result->alloc_ns.p50 > 0 && result->alloc_ns.p50 < 50000);
    assert_true(result->alloc_ns.mean > 0.0 && result->free_ns.mean >= 50000.0);
    tn_workload_list_fini(&measured.list);
}

/* Without time they come after the setup, a pass to warm up and one repetition, of 1024 pairs each. */
static void a_single_call_that_fails_is_named(void **state)
{
    (void)state;
    need_device();
    time_seconds = 1e-9;
    expect_measured(&planted_allocator, 2, false, 0.0);
    assert_int_equal(planted.alloc_count, 9 + 3 * 1024);
    planted.fail_alloc_at = 9 + 2 * 1024 + 3;
    expect_failed(false, ", operation 14: planted: TARN_STATUS_OUT_OF_MEMORY: as planted");
    planted.fail_alloc_at = 0;
    planted.fail_free_at = 2 * 1024 + 3;
    expect_failed(false, ", operation 14: planted: TARN_STATUS_NOT_LIVE: as planted");
}

/* Otherwise a stream would find memory that nobody else has touched. */
static void a_pool_is_told_to_begin_with_room_for_what_is_live(void **state)
{
    (void)state;
    need_device();
    expect_measured(&planted_allocator, 2, false, 0.0);
    assert_int_equal(planted.initial_bytes, 2 << 20);
}

/* Which has no memory to spare, so one stream's is handed on by an event and a wait for it. */
static void tarn_hands_memory_on(void **state)
{
    (void)state;
    need_device();
    struct measured own = measure(&tn_allocator_tarn, 2, false);
    if (own.result.outcome != TN_OUTCOME_MEASURED) fail_msg("%s", own.result.reason.text);
    assert_int_equal(own.result.streams.calls.record_count, 0);
    assert_int_equal(own.result.streams.calls.wait_count, 0);
    tn_workload_list_fini(&own.list);

    struct measured handed = measure(&tn_allocator_tarn, 2, true);
    if (handed.result.outcome != TN_OUTCOME_MEASURED) fail_msg("%s", handed.result.reason.text);
    assert_true(handed.result.streams.calls.record_count > 0);
    assert_int_equal(handed.result.streams.calls.block_count, 0);
    tn_workload_list_fini(&handed.list);
}

/* Its steps are small, else it would have memory to spare; on a device whose own are larger it has. */
static void a_contiguous_pool_hands_memory_on(void **state)
{
    (void)state;
    need_device();
    struct measured handed = measure(&tn_allocator_tarn_contiguous, 2, true);
    if (handed.result.outcome == TN_OUTCOME_FAILED) fail_msg("%s", handed.result.reason.text);
    if (handed.result.outcome == TN_OUTCOME_MEASURED &&
        handed.result.usage.footprint_bytes_max == 2 << 20)
        assert_true(handed.result.streams.calls.record_count > 0);
    if (strcmp(tarn_backend_name(), "host") == 0)
        assert_int_equal(handed.result.usage.footprint_bytes_max, 2 << 20);
    tn_workload_list_fini(&handed.list);
}

static void all_allocators_play(void **state)
{
    (void)state;
    need_device();
    for (size_t i = 0; tn_allocator_table[i]; i++) {
        if (tn_allocator_table[i]->missing_because ||
            tn_allocator_must_be_named(tn_allocator_table[i]))
            continue;
        for (int hands_on = 0; hands_on < 2; hands_on++) {
            struct measured measured = measure(tn_allocator_table[i], 3, hands_on == 1);
            if (measured.result.outcome == TN_OUTCOME_FAILED)
                fail_msg("%s", measured.result.reason.text);
            tn_workload_list_fini(&measured.list);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(memory_that_comes_too_early_is_found, plant_nothing),
        cmocka_unit_test_setup(the_same_is_right_for_one_stream_and_after_a_wait, plant_nothing),
        cmocka_unit_test_setup(a_block_given_twice_is_found, plant_nothing),
        cmocka_unit_test_setup(a_call_that_fails_is_named, plant_nothing),
        cmocka_unit_test_setup(single_calls_are_timed, plant_nothing),
        cmocka_unit_test_setup(a_single_call_that_fails_is_named, plant_nothing),
        cmocka_unit_test_setup(a_pool_is_told_to_begin_with_room_for_what_is_live, plant_nothing),
        cmocka_unit_test_setup(tarn_hands_memory_on, plant_nothing),
        cmocka_unit_test_setup(a_contiguous_pool_hands_memory_on, plant_nothing),
        cmocka_unit_test_setup(all_allocators_play, plant_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
