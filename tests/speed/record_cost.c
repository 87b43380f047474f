/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * record_cost: what recording an event costs the thread that does it: rounds of allocations and frees with and without
 * recording in turns, and the difference of each two. Prints the median and the quartiles of the rounds. The time is the
 * thread's on a processor, the system's work for it included, so that other programs disturb less.
 *
 * Usage: record_cost FOLDER [ROUNDS]     the events are written in the folder, and with them the disk is measured
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tarn/record.h"
#include "tarn/tarn.h"

#define PAIRS      20000
#define BLOCKS     100
#define ROUNDS     501
#define ROUNDS_MAX 10001

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void must(tarn_status status)
{
    if (status == TARN_STATUS_OK) return;
    fprintf(stderr, "record_cost: %s\n", tarn_last_error().message);
    exit(2);
}

/* The time of one call, of an allocation or a free. */
static double play(tarn_pool *pool, void **blocks)
{
    unsigned random = 1;
    double begun = now_ns();
    for (int i = 0; i < PAIRS; i++) {
        random = random * 1664525 + 1013904223;
        void **block = &blocks[(random >> 16) % BLOCKS];
        must(tarn_pool_free(pool, *block));
        must(tarn_pool_alloc(pool, 1024 + (random >> 12), block));
    }
    return (now_ns() - begun) / (2 * PAIRS);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void print(const char *what, double *times, int rounds)
{
    qsort(times, (size_t)rounds, sizeof *times, compare);
    printf("%-22s %7.1f ns  (quartiles %.1f to %.1f, range %.1f to %.1f)\n", what,
           times[rounds / 2], times[rounds / 4], times[rounds * 3 / 4], times[0],
           times[rounds - 1]);
}

int main(int argc, char **argv)
{
    long wanted = argc > 2 ? strtol(argv[2], NULL, 10) : ROUNDS;
    char path[4096];
    if (argc < 2 || wanted < 1 || wanted > ROUNDS_MAX) return 2;
    int rounds = (int)wanted;
    snprintf(path, sizeof path, "%s/record-cost-%ld", argv[1], (long)getpid());
    static double times[3][ROUNDS_MAX];

    tarn_pool *pool;
    void *blocks[BLOCKS];
    must(tarn_pool_create(NULL, &pool));
    for (int i = 0; i < BLOCKS; i++)
        must(tarn_pool_alloc(pool, 1024, &blocks[i]));
    play(pool, blocks);
    for (int round = 0; round < rounds; round++) {
        times[0][round] = play(pool, blocks);
        must(tarn_record_start(path));
        times[1][round] = play(pool, blocks);
        must(tarn_record_stop());
        unlink(path);
        times[2][round] = times[1][round] - times[0][round];
    }
    printf("%d rounds of %d events each, with and without recording\n", rounds, 2 * PAIRS);
    print("a call, not recorded", times[0], rounds);
    print("a call, recorded", times[1], rounds);
    print("an event", times[2], rounds);
    return 0;
}
