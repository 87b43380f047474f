/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_every_call_fails: the n-th call of the vendor fails, for n = 1, 2, ... until the scenario ends
 * without reaching it; and the same with the n-th host allocation.
 *
 * Each time the step in which it happens answers with the right status, and with the vendor's code
 * and name; the pool's check holds; and the program that goes on gets all that it asks for. At the
 * end nothing is alive but what the vendor refused to take back: one thing for one refusal, and none
 * when the refused call was one that the backend can do without.
 */
#include <fcntl.h>
#include <string.h>

#include "harness/claims.h"
#include "core/care/pool_registry.h"
#include "harness/host_memory_faults.h"
#include "sim_scenario.h"
#include "sim_vendor.h"

static const tarn_memory_kind kinds[] = { TARN_MEMORY_KIND_DEVICE, TARN_MEMORY_KIND_PINNED,
                                          TARN_MEMORY_KIND_SHARED };

enum {
    KIND_COUNT = sizeof kinds / sizeof *kinds,
    CALLS_MIN = 50 /* a scenario that made fewer would not be the one above */
};

/* The thread's current device is the backend's own; another that has a context; another without. */
enum current_device {
    SAME_DEVICE,
    OTHER_DEVICE,
    OTHER_DEVICE_WITHOUT_CONTEXT,
    CURRENT_DEVICE_COUNT
};

/* Nothing but the handles of pools that are gone, which rest for a while. */
static void expect_no_host_memory(size_t resting_before)
{
    long rested = (long)(tn_pool_registry_resting_count() - resting_before);
    assert_int_equal(host_memory_faults_outstanding(), rested);
}

/* --- vendor calls ------------------------------------------------------------------------------ */

static sim_status injected;

static void fail_step(const struct sim_step *step, const char *what)
{
    fail_msg("%s\n    %s, when %s failed with %s: gave %s, vendor code %d, %s", step->text, what,
             sim_fault_name(), sim_status_name(injected), tarn_status_name(step->result.status),
             step->result.vendor_code,
             step->result.vendor_name ? step->result.vendor_name : "no name");
}

static void judge_vendor_fault(const struct sim_scenario *scenario, const struct sim_step *step)
{
    const tarn_backend_result *result = &step->result;
    if (!step->met_fault) {
        if (result->status != TARN_STATUS_OK) fail_step(step, "fails without a reason");
        return;
    }
    if (result->status == TARN_STATUS_OK) {
        /* The pool asks for less when there is not so much memory; destroying never fails. */
        bool is_ladder =
            injected == SIM_STATUS_OUT_OF_MEMORY &&
            (strstr(step->text, "tarn_pool_alloc(") || strstr(step->text, "create_contiguous("));
        if (!is_ladder && !sim_step_cannot_fail(step) && !sim_step_has_other_way(step) &&
            !sim_vendor_is_optional(step->text, sim_fault_name()))
            fail_step(step, "hides a failure");
        return;
    }
    const struct sim_vendor_error *error = sim_vendor_error_of(injected);
    int expected = sim_vendor_tarn_status_of(injected);
    /* A trim has one status for all refusals. */
    if (strstr(step->text, "tarn_pool_trim(") != NULL) expected = TARN_STATUS_VENDOR_ERROR;
    if (sim_step_is_of_stream(step)) expected = TARN_STATUS_VENDOR_ERROR;
    if ((int)result->status != expected) fail_step(step, "has the wrong status");
    if (result->vendor_code != error->code) fail_step(step, "has the wrong code");
    if (!result->vendor_name || strcmp(result->vendor_name, error->name) != 0)
        fail_step(step, "has the wrong name");
}

/* The devices are set before the faults, so that the scenario's calls alone are numbered. */
static bool prepare(enum current_device current, struct sim_scenario *scenario)
{
    sim_reset();
    if (!sim_vendor.set_current_device) return current == SAME_DEVICE;
    if (current == SAME_DEVICE) sim_vendor.set_current_device(0);
    if (current == OTHER_DEVICE) {
        sim_vendor.set_current_device(1);
        scenario->current_device = 1;
    }
    if (current == OTHER_DEVICE_WITHOUT_CONTEXT) scenario->device = 1;
    return true;
}

/* File descriptors that are open. */
static size_t count_descriptors(void)
{
    size_t count = 0;
    for (int i = 0; i < 256; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* Returns how many calls there were to fail. */
static size_t fail_each_call(enum current_device current, tarn_memory_kind kind, sim_status status)
{
    injected = status;
    for (size_t n = 1;; n++) {
        struct sim_scenario scenario = { .kind = kind, .judge = judge_vendor_fault };
        if (!prepare(current, &scenario)) return 0;
        size_t resting_before = tn_pool_registry_resting_count();
        host_memory_faults_begin(0);
        sim_fail_calls(NULL, n, 1, status);
        size_t descriptors_before = count_descriptors();
        sim_scenario_run(&scenario);
        host_memory_faults_end();
        expect_no_host_memory(resting_before);
        sim_scenario_expect_nothing_leaked(&scenario);
        /* A driver may keep one for memory that it refused to take back. */
        assert_in_range(count_descriptors() - descriptors_before, 0,
                        scenario.lost[SIM_THING_PHYSICAL]);
        if (sim_fault_count() > 0) continue;
        assert_int_equal(scenario.had_ranges, kind == TARN_MEMORY_KIND_DEVICE);
        assert_true(!sim_vendor.shares || scenario.had_sharing == scenario.had_ranges);
        assert_true(n > CALLS_MIN);
        return n - 1;
    }
}

static void fail_each_call_of_all_kinds(enum current_device current, sim_status status)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        size_t count = fail_each_call(current, kinds[i], status);
        if (count == 0) skip();
        print_message("%zu calls, each failed once with %s\n", count, sim_status_name(status));
    }
}

static void each_call_fails(void **state)
{
    fail_each_call_of_all_kinds(SAME_DEVICE, SIM_STATUS_UNKNOWN);
}

static void each_call_is_out_of_memory(void **state)
{
    fail_each_call_of_all_kinds(SAME_DEVICE, SIM_STATUS_OUT_OF_MEMORY);
}

static void each_call_fails_for_another_current_device(void **state)
{
    fail_each_call_of_all_kinds(OTHER_DEVICE, SIM_STATUS_UNKNOWN);
}

static void each_call_fails_for_a_current_device_without_context(void **state)
{
    fail_each_call_of_all_kinds(OTHER_DEVICE_WITHOUT_CONTEXT, SIM_STATUS_UNKNOWN);
}

/* --- host memory ------------------------------------------------------------------------------- */

static void judge_host_fault(const struct sim_scenario *scenario, const struct sim_step *step)
{
    tarn_status expected = step->met_fault ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK;
    if (step->met_fault && step->gives_back) fail_step(step, "needs host memory to give back");
    if (step->met_fault && step->result.status == TARN_STATUS_OK && sim_step_has_other_way(step))
        return;
    if (strstr(step->text, "retire(") && step->met_fault) expected = TARN_STATUS_VENDOR_ERROR;
    if (step->result.status != expected) fail_step(step, "host memory failed");
}

static void each_host_allocation_fails(void **state)
{
    injected = SIM_STATUS_OK;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        unsigned n = 1;
        for (;; n++) {
            struct sim_scenario scenario = {
                .kind = kinds[i],
                .judge = judge_host_fault,
                .has_host_fault = host_memory_faults_happened,
            };
            sim_reset();
            size_t resting_before = tn_pool_registry_resting_count();
            host_memory_faults_begin(n);
            sim_scenario_run(&scenario);
            bool happened = host_memory_faults_end();
            expect_no_host_memory(resting_before);
            sim_scenario_expect_nothing_leaked(&scenario);
            if (!happened) break;
        }
        assert_true(n > 5);
        print_message("%u host allocations, each failed once\n", n - 1);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_fails),
        cmocka_unit_test(each_call_is_out_of_memory),
        cmocka_unit_test(each_call_fails_for_another_current_device),
        cmocka_unit_test(each_call_fails_for_a_current_device_without_context),
        cmocka_unit_test(each_host_allocation_fails),
    };
    int failed_count = cmocka_run_group_tests_name("every call fails", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
