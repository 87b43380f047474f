/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_measure: what the benchmark finds out about allocators that are planted here. They hand out
 * addresses that nobody touches, one after the other, and go wrong at a call that is told to them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands.h"
#include "measure.h"
#include "scratch.h"
#include "verifier.h"

/* --- planted allocators -------------------------------------------------------------------------- */

enum fault {
    FAULT_NONE,
    FAULT_OVERLAP_BEFORE, /* a block that begins inside an earlier one */
    FAULT_OVERLAP_AFTER,  /* a block that ends inside a later one */
    FAULT_SAME_ADDRESS,
    FAULT_FIRST_ADDRESS, /* the address of the very first block */
    FAULT_UNALIGNED,
    FAULT_NO_ADDRESS,
    FAULT_END_OF_MEMORY, /* a block that ends past the last address */
    FAULT_ALLOC_FAILS,
    FAULT_FREE_FAILS
};

#define FIRST_ADDRESS ((uintptr_t)0x100000)

static struct {
    enum fault fault;
    size_t fault_call; /* counted from 1 since opening, allocations or frees */
    tarn_status open_status;
    double time_seconds;
    size_t alloc_count;
    size_t free_count;
    size_t open_count; /* opened and not closed */
    uintptr_t next;
    uintptr_t last;
} planted;

static tarn_status open_planted(const struct tn_allocator_settings *settings, void **state_out,
                                struct tn_reason *reason_out)
{
    (void)settings;
    tn_reason_set(reason_out, "planted");
    if (planted.open_status != TARN_STATUS_OK) return planted.open_status;
    planted.alloc_count = 0;
    planted.free_count = 0;
    planted.next = FIRST_ADDRESS;
    planted.open_count++;
    *state_out = NULL;
    return TARN_STATUS_OK;
}

static uintptr_t spoil(uintptr_t address)
{
    switch (planted.fault) {
    case FAULT_OVERLAP_BEFORE:
        return planted.last + 256;
    case FAULT_OVERLAP_AFTER:
        return planted.last - 256;
    case FAULT_SAME_ADDRESS:
        return planted.last;
    case FAULT_FIRST_ADDRESS:
        return FIRST_ADDRESS;
    case FAULT_UNALIGNED:
        return address + 128;
    case FAULT_NO_ADDRESS:
        return 0;
    case FAULT_END_OF_MEMORY:
        return UINTPTR_MAX - 255;
    default:
        return address;
    }
}

static tarn_status alloc_planted(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    uintptr_t address = planted.next;
    planted.next += (size_bytes + 1023) / 512 * 512;
    if (++planted.alloc_count == planted.fault_call) {
        if (planted.fault == FAULT_ALLOC_FAILS) return TARN_STATUS_OUT_OF_MEMORY;
        address = spoil(address);
    }
    planted.last = address;
    *address_out = (void *)address;
    return TARN_STATUS_OK;
}

static tarn_status free_planted(void *state, void *address, size_t size_bytes)
{
    (void)state;
    (void)address;
    (void)size_bytes;
    bool is_faulty = ++planted.free_count == planted.fault_call;
    return is_faulty && planted.fault == FAULT_FREE_FAILS ? TARN_STATUS_NOT_LIVE : TARN_STATUS_OK;
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
    *usage_out = (struct tn_allocator_usage){ 4096, planted.alloc_count, 64 };
}

static void close_planted(void *state)
{
    (void)state;
    planted.open_count--;
}

static const struct tn_allocator planted_allocator = {
    .name = "planted",
    .open = open_planted,
    .alloc = alloc_planted,
    .free = free_planted,
    .explain = explain_planted,
    .get_usage = get_usage_planted,
    .close = close_planted,
};

static const struct tn_allocator missing_allocator = { .name = "missing",
                                                       .missing_because = "it is not there" };

/* --- the workload -------------------------------------------------------------------------------- */

static const char trace[] = "# tarn-trace 1\n"
                            "a 0 1000 0 0 0\n" /* line 2 */
                            "a 1 2000 0 0 1\n" /* line 3 */
                            "f 0 0 0 2\n"      /* line 4 */
                            "a 2 3000 0 0 3\n" /* line 5 */
                            "a 3 0 0 0 4\n"    /* line 6 */
                            "f 2 0 0 5\n";     /* line 7 */

static struct tn_machine machine_with(size_t free_bytes, bool is_host)
{
    struct tn_machine machine = { .is_host = is_host };
    machine.device_free_bytes = free_bytes;
    return machine;
}

static struct tn_options options_for(const struct tn_allocator *allocator)
{
    struct tn_options options = { .repetitions = 3, .time_seconds = planted.time_seconds };
    options.allocators[0] = allocator;
    options.allocator_count = 1;
    return options;
}

static struct tn_result measure(const struct tn_allocator *allocator,
                                const struct tn_workload *workload,
                                const struct tn_machine *machine)
{
    struct tn_options options = options_for(allocator);
    struct tn_result result;
    tn_measure(workload, &options, machine, &result);
    assert_int_equal(planted.open_count, 0);
    return result;
}

static struct tn_result replay(void)
{
    struct tn_options options = options_for(&planted_allocator);
    const char *path = scratch_write_text("planted.trace", trace);
    options.traces = &path;
    options.trace_count = 1;
    struct tn_machine machine = machine_with(0, true);
    struct tn_workload_list list = { NULL, 0 };
    struct tn_reason reason = { "" };
    if (!tn_replay_make_workloads(&options, &machine, &list, &reason)) fail_msg("%s", reason.text);
    struct tn_result result = measure(&planted_allocator, &list.items[0], &machine);
    result.workload = NULL; /* it goes away here */
    tn_workload_list_fini(&list);
    return result;
}

static void plant(enum fault fault, size_t call)
{
    memset(&planted, 0, sizeof planted);
    planted.fault = fault;
    planted.fault_call = call;
    planted.time_seconds = 0.01;
}

static void expect_reported_failure(const char *line, const char *part)
{
    struct tn_result result = replay();
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    char place[64];
    snprintf(place, sizeof place, "planted.trace%s: planted: ", line);
    if (!strstr(result.reason.text, place) || !strstr(result.reason.text, part))
        fail_msg("'%s' has not both '%s' and '%s'", result.reason.text, place, part);
}

static void expect_failure(enum fault fault, size_t call, const char *line, const char *part)
{
    plant(fault, call);
    expect_reported_failure(line, part);
}

/* --- tests --------------------------------------------------------------------------------------- */

static void a_good_allocator_is_measured(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_result result = replay();
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(result.pair_count, 4);
    assert_int_equal(result.live_bytes_max, 5000);
    assert_int_equal(result.live_count_max, 2);
    assert_int_equal(result.repetition_count, 3);
    assert_int_equal(result.usage.footprint_bytes_max, 4096);
    assert_int_equal(result.usage.vendor_calls, 4); /* of the first pass, and no more */
    assert_true(result.pair_ns.min > 0.0);
    assert_true(result.pair_ns.min <= result.pair_ns.median);
    assert_true(result.pair_ns.median <= result.pair_ns.max);
    assert_true(result.harness_pair_ns > 0.0);
    assert_true(result.alloc_ns.p50 <= result.alloc_ns.max);
}

static void an_overlap_names_both_lines(void **state)
{
    (void)state;
    expect_failure(FAULT_OVERLAP_BEFORE, 2, ":3",
                   "the new block of 2000 bytes at 0x100100 overlaps "
                   "the live block of 1000 bytes at 0x100000");
    expect_failure(FAULT_OVERLAP_BEFORE, 2, ":3", "planted.trace:2");
    expect_failure(FAULT_OVERLAP_AFTER, 3, ":5", "overlaps");
    expect_failure(FAULT_OVERLAP_AFTER, 3, ":5", "planted.trace:3");
    expect_failure(FAULT_SAME_ADDRESS, 2, ":3", "overlaps");
}

/* The address of a freed block may be handed out again. */
static void an_address_of_a_freed_block_is_no_overlap(void **state)
{
    (void)state;
    struct tn_workload workload = { .name = "again", .slot_count = 2 };
    struct tn_verifier *verifier = tn_verifier_create(&workload);
    struct tn_reason reason = { "" };
    assert_non_null(verifier);
    assert_true(tn_verifier_add(verifier, 0, (void *)0x1000, 256, 0, &reason));
    assert_true(tn_verifier_add(verifier, 1, (void *)0x1100, 256, 1, &reason));
    tn_verifier_remove(verifier, 0);
    assert_true(tn_verifier_add(verifier, 0, (void *)0xf00, 512, 2, &reason));
    tn_verifier_remove(verifier, 0);
    assert_false(tn_verifier_add(verifier, 0, (void *)0xf00, 513, 3, &reason));
    assert_non_null(strstr(reason.text, "again, operation 2"));
    tn_verifier_destroy(verifier);
}

static void a_bad_address_names_its_line(void **state)
{
    (void)state;
    expect_failure(FAULT_UNALIGNED, 1, ":2", "is not aligned to 256 bytes");
    expect_failure(FAULT_NO_ADDRESS, 3, ":5", "the new block of 3000 bytes has no address");
    expect_failure(FAULT_END_OF_MEMORY, 2, ":3", "ends past all addresses");
}

static void a_failed_call_names_its_line(void **state)
{
    (void)state;
    expect_failure(FAULT_ALLOC_FAILS, 2, ":3", "TARN_STATUS_OUT_OF_MEMORY: as planted");
    expect_failure(FAULT_FREE_FAILS, 2, ":7", "TARN_STATUS_NOT_LIVE: as planted");
    expect_failure(FAULT_FREE_FAILS, 3, ", freeing what was left live", "TARN_STATUS_NOT_LIVE");
}

/* With no time at all, a run is four passes: the first, one repetition, single calls, the last.
 * Each has 4 allocations and 4 frees here. */
static void plant_without_time(enum fault fault, size_t call)
{
    plant(fault, call);
    planted.time_seconds = 1e-9;
}

static void a_run_without_time_has_four_passes(void **state)
{
    (void)state;
    plant_without_time(FAULT_NONE, 0);
    assert_int_equal(replay().outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(planted.alloc_count, 16);
    assert_int_equal(planted.free_count, 16);
}

static void a_failed_call_is_found_in_every_pass(void **state)
{
    (void)state;
    for (size_t pass = 0; pass < 4; pass++) {
        plant_without_time(FAULT_ALLOC_FAILS, 4 * pass + 2);
        expect_reported_failure(":3", "TARN_STATUS_OUT_OF_MEMORY: as planted");
        plant_without_time(FAULT_FREE_FAILS, 4 * pass + 1);
        expect_reported_failure(":4", "TARN_STATUS_NOT_LIVE: as planted");
    }
}

static void an_overlap_in_the_last_pass_is_found(void **state)
{
    (void)state;
    plant_without_time(FAULT_OVERLAP_BEFORE, 14);
    expect_reported_failure(":3", "planted.trace:2");
}

/* Against a block of the setup, whose operation is long past by then. */
static void an_overlap_with_an_old_block_is_found(void **state)
{
    (void)state;
    struct tn_workload workload = { .bench = "test", .name = "two", .slot_count = 2 };
    workload.unit_count = 2;
    assert_true(tn_operations_add_alloc(&workload.setup, 0, 1000));
    assert_true(tn_operations_add_alloc(&workload.body, 1, 2000));
    assert_true(tn_operations_add_free(&workload.body, 1));
    struct tn_machine machine = machine_with(0, true);
    plant_without_time(FAULT_FIRST_ADDRESS, 5);
    struct tn_result result = measure(&planted_allocator, &workload, &machine);
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    assert_string_equal(result.reason.text,
                        "two, operation 2: planted: the new block of 2000 bytes at 0x100000 "
                        "overlaps the live block of 1000 bytes at 0x100000, allocated here: before "
                        "this pass");
    free(workload.setup.items);
    free(workload.body.items);
}

static void opening_may_fail(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    planted.open_status = TARN_STATUS_NO_DEVICE;
    struct tn_result result = replay();
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    assert_non_null(strstr(result.reason.text, "planted cannot be opened: planted"));
    planted.open_status = TARN_STATUS_NOT_SUPPORTED;
    result = replay();
    assert_int_equal(result.outcome, TN_OUTCOME_NOT_FOUND);
    assert_string_equal(result.reason.text, "planted");
}

static void a_missing_allocator_is_not_found(void **state)
{
    (void)state;
    struct tn_workload workload = { .bench = "test", .slot_count = 1 };
    struct tn_machine machine = machine_with(0, true);
    assert_true(tn_operations_add_alloc(&workload.body, 0, 8));
    assert_true(tn_operations_add_free(&workload.body, 0));
    workload.unit_count = 2;
    struct tn_result result = measure(&missing_allocator, &workload, &machine);
    assert_int_equal(result.outcome, TN_OUTCOME_NOT_FOUND);
    assert_string_equal(result.reason.text, "it is not there");
    free(workload.body.items);
}

static void what_does_not_fit_the_device_is_skipped(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_workload workload = { .bench = "test", .slot_count = 1, .unit_count = 2 };
    assert_true(tn_operations_add_alloc(&workload.body, 0, 1 << 20));
    assert_true(tn_operations_add_free(&workload.body, 0));
    struct tn_machine machine = machine_with((1 << 20) - 1, false);
    assert_int_equal(measure(&planted_allocator, &workload, &machine).outcome, TN_OUTCOME_SKIPPED);
    machine.device_free_bytes = 1 << 20;
    struct tn_result result = measure(&planted_allocator, &workload, &machine);
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_false(result.is_interleaved);
    machine.device_free_bytes = 8 << 20;
    result = measure(&planted_allocator, &workload, &machine);
    assert_true(result.is_interleaved);
    free(workload.body.items);
}

/* A body of many units is cut when the first pass takes its share of the time; a recorded one is
 * not, and then has fewer repetitions. */
static void little_time_means_less_work(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_workload workload = { .bench = "test", .slot_count = 1, .unit_count = 2 };
    for (size_t i = 0; i < 100000; i++) {
        assert_true(tn_operations_add_alloc(&workload.body, 0, 1));
        assert_true(tn_operations_add_free(&workload.body, 0));
    }
    struct tn_machine machine = machine_with(0, true);
    struct tn_options options = options_for(&planted_allocator);
    options.time_seconds = 1e-6; /* less than one pass, more than nothing */
    struct tn_result result;
    tn_measure(&workload, &options, &machine, &result);
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_true(result.pair_count < 100000);

    workload.unit_count = workload.body.count;
    tn_measure(&workload, &options, &machine, &result);
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(result.pair_count, 100000);
    assert_int_equal(result.repetition_count, 1);
    free(workload.body.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_allocator_is_measured),
        cmocka_unit_test(an_overlap_names_both_lines),
        cmocka_unit_test(an_address_of_a_freed_block_is_no_overlap),
        cmocka_unit_test(a_bad_address_names_its_line),
        cmocka_unit_test(a_failed_call_names_its_line),
        cmocka_unit_test(a_run_without_time_has_four_passes),
        cmocka_unit_test(a_failed_call_is_found_in_every_pass),
        cmocka_unit_test(an_overlap_in_the_last_pass_is_found),
        cmocka_unit_test(an_overlap_with_an_old_block_is_found),
        cmocka_unit_test(opening_may_fail),
        cmocka_unit_test(a_missing_allocator_is_not_found),
        cmocka_unit_test(what_does_not_fit_the_device_is_skipped),
        cmocka_unit_test(little_time_means_less_work),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_destroy);
}
