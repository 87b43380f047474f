/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sliced_play: slices make up whole passes, and what the system gives to others does not count. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "sliced_play.h"

/* An allocator that is busy for a while in each call, and checks that calls come in order. */
static struct {
    uint64_t busy_rounds;
    size_t call_count;
    size_t failing_call; /* counted from 1; 0: none */
    size_t next_slot;
    size_t slot_count;
} planted;

static tarn_status open_planted(const struct tn_allocator_settings *settings, void **state_out,
                                struct tn_reason *reason_out)
{
    (void)settings;
    (void)reason_out;
    *state_out = &planted;
    return TARN_STATUS_OK;
}

/* Sizes are the numbers of slots. */
static tarn_status alloc_planted(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    assert_int_equal(size_bytes, planted.next_slot + 1);
    planted.next_slot = (planted.next_slot + 1) % planted.slot_count;
    for (volatile uint64_t i = 0; i < planted.busy_rounds; i++)
        ;
    *address_out = &planted;
    return ++planted.call_count == planted.failing_call ? TARN_STATUS_OUT_OF_MEMORY
                                                        : TARN_STATUS_OK;
}

static tarn_status free_planted(void *state, void *address, size_t size_bytes)
{
    (void)state;
    (void)address;
    (void)size_bytes;
    return TARN_STATUS_OK;
}

static void explain_planted(void *state, tarn_status status, struct tn_reason *reason_out)
{
    (void)state;
    (void)status;
    tn_reason_set(reason_out, "as planted");
}

static void close_planted(void *state)
{
    (void)state;
}

static const struct tn_allocator planted_allocator = {
    .name = "planted",
    .open = open_planted,
    .alloc = alloc_planted,
    .free = free_planted,
    .explain = explain_planted,
    .close = close_planted,
};

enum {
    SLOT_COUNT = 500
};

static struct tn_operations make_operations(size_t slot_count)
{
    struct tn_operations operations = { NULL, 0, 0 };
    for (size_t i = 0; i < slot_count; i++) {
        assert_true(tn_operations_add_alloc(&operations, i, i + 1));
        assert_true(tn_operations_add_free(&operations, i));
    }
    return operations;
}

/* Plays so many passes that are said to take pass_ns each. */
static bool play(size_t slot_count, size_t pass_count, double pass_ns, double *pass_ns_out,
                 struct tn_stop *stop_out)
{
    struct tn_operations operations = make_operations(slot_count);
    struct tn_player player;
    struct tn_allocator_settings settings = { .device = 0 };
    struct tn_reason reason;
    struct tn_sliced_play sliced;
    planted.call_count = planted.next_slot = 0;
    planted.slot_count = slot_count;
    assert_int_equal(tn_player_init(&player, &planted_allocator, &settings, slot_count, &reason),
                     TARN_STATUS_OK);
    assert_true(tn_sliced_play_init(&sliced, operations.count, pass_count, pass_ns));
    size_t rounded = tn_sliced_play_round_passes(&sliced, pass_count);
    assert_in_range(rounded, 1, pass_count);
    bool is_ok =
        tn_sliced_play_run(&sliced, &player, operations.items, rounded, pass_ns_out, stop_out);
    if (is_ok) assert_int_equal(planted.call_count, rounded * slot_count);
    tn_sliced_play_fini(&sliced);
    tn_player_fini(&player);
    free(operations.items);
    return is_ok;
}

/* Passes much shorter and much longer than a slice, of one operation and of many. */
static void slices_make_up_whole_passes(void **state)
{
    static const size_t slot_counts[] = { 1, 2, 3, SLOT_COUNT };
    static const size_t pass_counts[] = { 1, 2, 7, 40 };
    static const double passes_ns[] = {
        0.0, 1.0, 11.0, 1111.0, 111e3, 199e3, 200e3, 201e3, 1e6, 1e9
    };
    (void)state;
    memset(&planted, 0, sizeof planted);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++)
            for (size_t n = 0; n < sizeof passes_ns / sizeof passes_ns[0]; n++) {
                double measured_ns = 0.0;
                struct tn_stop stop;
                assert_true(
                    play(slot_counts[i], pass_counts[k], passes_ns[n], &measured_ns, &stop));
                assert_true(measured_ns > 0.0);
            }
}

static void a_failed_call_has_its_place_in_the_pass(void **state)
{
    (void)state;
    memset(&planted, 0, sizeof planted);
    for (size_t call = 1; call <= SLOT_COUNT; call += 83) {
        double measured_ns;
        struct tn_stop stop;
        planted.failing_call = SLOT_COUNT + call; /* in the second pass */
        assert_false(play(SLOT_COUNT, 2, 20e6, &measured_ns, &stop));
        assert_int_equal(stop.index, 2 * (call - 1));
        assert_int_equal(stop.status, TARN_STATUS_OUT_OF_MEMORY);
    }
}

/* A child that wants the same processor all the time. */
static pid_t start_rival(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) skip();
    pid_t parent = getpid();
    pid_t child = fork();
    assert_true(child >= 0);
    while (child == 0)
        if (getppid() != parent) _exit(EXIT_SUCCESS);
    return child;
}

/* It takes half of the time at least, of which hardly anything is in the time of a pass. */
static void what_others_have_does_not_count(void **state)
{
    (void)state;
    memset(&planted, 0, sizeof planted);
    planted.busy_rounds = 20000;
    pid_t rival = start_rival();
    double measured_ns = 0.0;
    struct tn_stop stop;
    uint64_t start_ns = tn_clock_now_ns();
    bool is_ok = play(SLOT_COUNT, 8, 20e6, &measured_ns, &stop);
    double passed_ns = (double)(tn_clock_now_ns() - start_ns);
    kill(rival, SIGKILL);
    waitpid(rival, NULL, 0);
    assert_true(is_ok);
    if (measured_ns * 8.0 > 0.8 * passed_ns)
        fail_msg("8 passes of %.0f ns have taken %.0f ns", measured_ns, passed_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_make_up_whole_passes),
        cmocka_unit_test(a_failed_call_has_its_place_in_the_pass),
        cmocka_unit_test(what_others_have_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
