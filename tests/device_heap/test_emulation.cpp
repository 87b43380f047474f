/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The emulation: lanes that come together, in groups, and the mistakes that it is there to find. */
#include "emulation.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}

#include <vector>

namespace
{

void lanes_agree_on_what_they_say(void **)
{
    std::vector<uint64_t> ballots(32), groups(32), ors(32), values(32);
    for (uint64_t seed = 0; seed < 20; seed++)
        emulation::run_wave(7, 32, seed, [&](uint32_t lane) {
            tn_mask lanes = tn_wave_active();
            assert_true(lanes >> lane & 1);
            assert_int_equal(tn_lane(), lane);
            assert_int_equal(tn_place(), 7);
            assert_int_equal(tn_wave_ballot(lanes, lane < 5), lanes & 31);
            tn_mask group = tn_wave_match(lanes, lane % 3);
            assert_int_equal(group, lanes & (0x49249249U << lane % 3));
            assert_int_equal(tn_wave_or(lanes, group, (uint64_t)1 << lane), group);
            uint32_t last = 63 - tn_leading_zeros(group);
            assert_int_equal(tn_wave_shuffle(lanes, lane * 10, last), last * 10);
            tn_wave_sync(lanes);
        });
}

void a_wave_of_one_lane_is_alone(void **)
{
    emulation::run_wave(3, 1, 1, [&](uint32_t) {
        assert_int_equal(tn_wave_active(), 1);
        assert_int_equal(tn_wave_ballot(1, true), 1);
        assert_int_equal(tn_wave_match(1, 9), 1);
        assert_int_equal(tn_wave_or(1, 1, 6), 6);
        assert_int_equal(tn_wave_shuffle(1, 42, 0), 42);
    });
}

/* The signal that ends a process which runs a wave of 4 lanes. */
int signal_of(const std::function<void(uint32_t)> &lane)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        freopen("/dev/null", "w", stderr);
        emulation::run_wave(0, 4, 1, lane);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void lanes_in_different_places_are_found(void **)
{
    assert_int_equal(signal_of([](uint32_t) { tn_wave_sync(15); }), 0);
    assert_int_equal(signal_of([](uint32_t lane) {
                         if (lane == 0)
                             tn_wave_sync(15);
                         else
                             (void)tn_wave_ballot(15, true);
                     }),
                     SIGABRT);
    assert_int_equal(signal_of([](uint32_t lane) { tn_wave_sync(lane == 0 ? 14 : 15); }), SIGABRT);
}

/* A lane that waits for another of its wave in a loop does so for ever: here until the alarm. */
void a_lane_that_waits_for_another_is_found(void **)
{
    assert_int_equal(signal_of([](uint32_t) {
                         static uint32_t come;
                         alarm(1);
                         tn_fetch_add(&come, 1U);
                         while (tn_load(&come) != 4)
                             tn_pause(1);
                     }),
                     SIGALRM);
}

} // namespace

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_agree_on_what_they_say),
        cmocka_unit_test(a_wave_of_one_lane_is_alone),
        cmocka_unit_test(lanes_in_different_places_are_found),
        cmocka_unit_test(a_lane_that_waits_for_another_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
