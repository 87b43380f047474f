/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gauge: whether the machine runs as fast just now as it can. */
#include "gauge.h"

#include <stdint.h>

#include "clock.h"

enum {
    ROUND_COUNT = 2000,
    FIRST_LOOK_NS = 50000000
};

/* More than readings of the clock differ by, less than what a busy hyperthread costs. */
static const double tolerance = 1.05;

/* Of this machine, so one for the program. 0: not known. */
static double least_ns;

/* Takes the result, so that the compiler keeps the loop. */
static volatile uint64_t sink;

/* Independent chains, which keep all arithmetic units of the core busy. */
static double time_loop(void)
{
    uint64_t a = sink;
    uint64_t b = a + 1;
    uint64_t c = a + 2;
    uint64_t d = a + 3;
    uint64_t e = a + 4;
    uint64_t f = a + 5;
    uint64_t start_ns = tn_clock_now_ns();
    for (unsigned i = 0; i < ROUND_COUNT; i++) {
        a = a * 3 + 1;
        b ^= b << 1;
        c += a;
        d = d * 5 + b;
        e += d ^ c;
        f ^= e >> 3;
    }
    double duration_ns = (double)(tn_clock_now_ns() - start_ns);
    sink = a + b + c + d + e + f;
    return duration_ns;
}

static double look(void)
{
    double duration_ns = time_loop();
    if (least_ns <= 0.0 || duration_ns < least_ns) least_ns = duration_ns;
    return duration_ns;
}

bool tn_gauge_is_quiet(void)
{
    if (least_ns <= 0.0)
        for (uint64_t end_ns = tn_clock_now_ns() + FIRST_LOOK_NS; tn_clock_now_ns() < end_ns;)
            look();
    return look() <= tolerance * least_ns;
}

double tn_gauge_least_ns(void)
{
    return least_ns;
}

bool tn_gauge_still_holds(double least_then_ns)
{
    return least_then_ns <= tolerance * least_ns;
}
