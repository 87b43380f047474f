/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sliced_play: slices make up whole passes, and what others take of them does not count. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "playing/sliced_play.h"

/* While it is true, only the planted allocator takes time, and nobody else wants the processor. */
static bool is_alone;
static uint64_t passed_ns; /* by the planted allocator */

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __real_getrusage(int who, struct rusage *usage);
int __wrap_getrusage(int who, struct rusage *usage);

/* The linker puts this function in the place of clock_gettime. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!is_alone) return __real_clock_gettime(clock, time);
    *time = (struct timespec){ .tv_sec = (time_t)(passed_ns / 1000000000),
                               .tv_nsec = (long)(passed_ns % 1000000000) };
    return 0;
}

/* The linker puts this function in the place of getrusage, which tells how often others had the processor. */
int __wrap_getrusage(int who, struct rusage *usage)
{
    if (!is_alone) return __real_getrusage(who, usage);
    *usage = (struct rusage){ 0 };
    return 0;
}

/* An allocator that is busy for a while in each call, and checks that calls come in order. A part of the calls is
 * disturbed: they take longer, and the machine is not quiet meanwhile. */
static struct {
    uint64_t busy_rounds;
    uint64_t disturbed_rounds;
    size_t disturbed_first; /* call, counted from 0 */
    size_t disturbed_count;
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

static bool is_disturbed(void)
{
    return planted.call_count >= planted.disturbed_first &&
           planted.call_count < planted.disturbed_first + planted.disturbed_count;
}

static bool is_quiet_planted(void)
{
    return !is_disturbed();
}

static bool is_quiet_always(void)
{
    return true;
}

static bool is_quiet_never(void)
{
    return false;
}

static void take_time(uint64_t rounds)
{
    passed_ns += rounds;
    if (is_alone) return;
    for (volatile uint64_t i = 0; i < rounds; i++)
        ;
}

/* Sizes are the numbers of slots. */
static tarn_status alloc_planted(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    assert_int_equal(size_bytes, planted.next_slot + 1);
    planted.next_slot = (planted.next_slot + 1) % planted.slot_count;
    uint64_t rounds = is_disturbed() ? planted.disturbed_rounds : planted.busy_rounds;
    take_time(rounds);
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
    struct tn_operations operations = { 0 };
    for (size_t i = 0; i < slot_count; i++) {
        assert_true(tn_operations_add_alloc(&operations, i, i + 1));
        assert_true(tn_operations_add_free(&operations, i));
    }
    return operations;
}

/* A player on a list of so many pairs. */
struct stage {
    struct tn_operations operations;
    struct tn_player player;
    struct tn_sliced_play sliced;
};

static void stage_init(struct stage *stage, size_t slot_count, size_t pass_count, double pass_ns)
{
    struct tn_allocator_settings settings = { .device = 0 };
    struct tn_reason reason;
    stage->operations = make_operations(slot_count);
    planted.call_count = planted.next_slot = 0;
    planted.slot_count = slot_count;
    assert_int_equal(
        tn_player_init(&stage->player, &planted_allocator, &settings, slot_count, &reason),
        TARN_STATUS_OK);
    assert_true(tn_sliced_play_init(&stage->sliced, stage->operations.count, pass_count, pass_ns));
}

static void stage_fini(struct stage *stage)
{
    tn_sliced_play_fini(&stage->sliced);
    tn_player_fini(&stage->player);
    free(stage->operations.items);
}

static bool (*machine_is_quiet)(void) = is_quiet_always;

/* Plays so many passes that are said to take pass_ns each. */
static bool play(size_t slot_count, size_t pass_count, double pass_ns,
                 struct tn_sliced_time *time_out, struct tn_stop *stop_out)
{
    struct stage stage;
    stage_init(&stage, slot_count, pass_count, pass_ns);
    stage.sliced.is_quiet = machine_is_quiet;
    size_t rounded = tn_sliced_play_round_passes(&stage.sliced, pass_count);
    assert_in_range(rounded, 1, pass_count);
    bool is_ok = tn_sliced_play_run(&stage.sliced, &stage.player, stage.operations.items, rounded,
                                    time_out, stop_out);
    if (is_ok) assert_int_equal(planted.call_count, rounded * slot_count);
    stage_fini(&stage);
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
                struct tn_sliced_time time = { 0.0, -1.0 };
                struct tn_stop stop;
                assert_true(play(slot_counts[i], pass_counts[k], passes_ns[n], &time, &stop));
                assert_true(time.pass_ns > 0.0);
                assert_true(time.counted_share >= 0.0 && time.counted_share <= 1.0);
            }
}

static void a_failed_call_has_its_place_in_the_pass(void **state)
{
    (void)state;
    memset(&planted, 0, sizeof planted);
    for (size_t call = 1; call <= SLOT_COUNT; call += 83) {
        struct tn_sliced_time time;
        struct tn_stop stop;
        planted.failing_call = SLOT_COUNT + call; /* in the second pass */
        assert_false(play(SLOT_COUNT, 2, 20e6, &time, &stop));
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
static void expect_rival_does_not_count(void)
{
    memset(&planted, 0, sizeof planted);
    planted.busy_rounds = 20000;
    pid_t rival = start_rival();
    struct tn_sliced_time time = { 0.0, 0.0 };
    struct tn_stop stop;
    uint64_t start_ns = tn_clock_now_ns();
    bool is_ok = play(SLOT_COUNT, 8, 20e6, &time, &stop);
    double taken_ns = (double)(tn_clock_now_ns() - start_ns);
    kill(rival, SIGKILL);
    waitpid(rival, NULL, 0);
    assert_true(is_ok);
    if (time.pass_ns * 8.0 > 0.8 * taken_ns)
        fail_msg("8 passes of %.0f ns have taken %.0f ns", time.pass_ns, taken_ns);
}

static void what_others_have_does_not_count(void **state)
{
    (void)state;
    expect_rival_does_not_count();
}

/* Nothing is quiet, so that is no matter; but whose the processor was is known. */
static void what_others_have_does_not_count_in_a_loud_machine(void **state)
{
    (void)state;
    machine_is_quiet = is_quiet_never;
    expect_rival_does_not_count();
    machine_is_quiet = is_quiet_always;
}

/* Runs one pass of some hundred slices, and returns how long it is said to take as a part of the time that passed. */
static double run_pass(struct stage *stage, struct tn_sliced_time *time_out)
{
    struct tn_stop stop;
    uint64_t start_ns = passed_ns;
    is_alone = true;
    assert_true(tn_sliced_play_run(&stage->sliced, &stage->player, stage->operations.items, 1,
                                   time_out, &stop));
    is_alone = false;
    return time_out->pass_ns / (double)(passed_ns - start_ns);
}

/* Of the pass half is a hundred times as slow as the rest, and is taken to be like it. */
static void what_is_disturbed_does_not_count(void **state)
{
    (void)state;
    struct stage stage;
    struct tn_sliced_time time;
    memset(&planted, 0, sizeof planted);
    planted.busy_rounds = 100;
    planted.disturbed_rounds = 10000;
    planted.disturbed_first = SLOT_COUNT / 4;
    planted.disturbed_count = SLOT_COUNT / 2;
    stage_init(&stage, SLOT_COUNT, 1, 20e6);
    stage.sliced.is_quiet = is_quiet_planted;
    assert_true(run_pass(&stage, &time) < 0.2);
    assert_true(time.counted_share > 0.4 && time.counted_share < 0.5);
    stage_fini(&stage);
}

/* Where all is disturbed, there is nothing else. */
static void what_is_disturbed_throughout_counts(void **state)
{
    (void)state;
    struct stage stage;
    struct tn_sliced_time time;
    memset(&planted, 0, sizeof planted);
    planted.disturbed_rounds = 10000;
    planted.disturbed_count = SLOT_COUNT + 1;
    stage_init(&stage, SLOT_COUNT, 1, 20e6);
    stage.sliced.is_quiet = is_quiet_planted;
    assert_true(run_pass(&stage, &time) > 0.5);
    assert_true(time.counted_share == 0.0);
    stage_fini(&stage);
}

/* The second half of the pass takes a hundred times as long as the first; it is disturbed in the second run and not in
 * the first. */
static void what_is_disturbed_was_seen_before(void **state)
{
    (void)state;
    struct stage stage;
    struct tn_sliced_time first;
    struct tn_sliced_time second;
    memset(&planted, 0, sizeof planted);
    planted.busy_rounds = 100;
    planted.disturbed_rounds = 10000;
    planted.disturbed_first = planted.disturbed_count = SLOT_COUNT / 2;
    stage_init(&stage, SLOT_COUNT, 1, 20e6);
    stage.sliced.is_quiet = is_quiet_always;
    run_pass(&stage, &first);
    assert_true(first.counted_share > 0.5);
    planted.disturbed_first += SLOT_COUNT;
    stage.sliced.is_quiet = is_quiet_planted;
    run_pass(&stage, &second);
    assert_true(second.counted_share > 0.4 && second.counted_share < 0.51);
    double ratio = second.pass_ns / first.pass_ns;
    if (ratio < 0.9 || ratio > 1.1) fail_msg("%f and then %f ns", first.pass_ns, second.pass_ns);
    stage_fini(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_make_up_whole_passes),
        cmocka_unit_test(a_failed_call_has_its_place_in_the_pass),
        cmocka_unit_test(what_others_have_does_not_count),
        cmocka_unit_test(what_others_have_does_not_count_in_a_loud_machine),
        cmocka_unit_test(what_is_disturbed_does_not_count),
        cmocka_unit_test(what_is_disturbed_throughout_counts),
        cmocka_unit_test(what_is_disturbed_was_seen_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
