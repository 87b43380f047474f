/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * killed_program: uses tarn, and is killed in the middle of it.
 *
 *     killed_program COUNT          after so many allocations, by itself
 *     killed_program COUNT ends     not at all: it ends after so many allocations
 *     killed_program COUNT alive    by somebody else, when it has said that it has made them
 *     killed_program count FILE     likewise, while its threads allocate; each counts in the file what it has done
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tarn/tarn.h"

#include "killed_program.h"

static void must(int is_done)
{
    if (!is_done) _exit(1);
}

static void *allocate_and_count(void *count)
{
    _Atomic uint64_t *done = count;
    for (size_t i = 1;; i++) {
        void *address;
        must(tarn_malloc(i % 5000 + 1, &address) == TARN_STATUS_OK);
        atomic_fetch_add(done, 1);
        must(tarn_free(address) == TARN_STATUS_OK);
        atomic_fetch_add(done, 1);
    }
    return NULL;
}

static void count_until_killed(const char *path)
{
    int descriptor = open(path, O_RDWR);
    _Atomic uint64_t *counts = mmap(NULL, KILLED_THREADS * sizeof *counts, PROT_READ | PROT_WRITE,
                                    MAP_SHARED, descriptor, 0);
    must(counts != MAP_FAILED);
    for (int i = 0; i < KILLED_THREADS; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, allocate_and_count, &counts[i]) == 0);
    }
    sleep(60);
}

static void allocate(long count)
{
    for (long i = 0; i < count; i++) {
        void *address;
        must(tarn_malloc((size_t)i, &address) == TARN_STATUS_OK);
        if (i % 2 == 0) must(tarn_free(address) == TARN_STATUS_OK);
    }
}

int main(int argc, char **argv)
{
    must(argc > 1);
    if (strcmp(argv[1], "count") == 0) count_until_killed(argv[2]);
    allocate(strtol(argv[1], NULL, 10));
    if (argc > 2 && strcmp(argv[2], "ends") == 0) return 0;
    if (argc > 2) {
        must(write(STDOUT_FILENO, "+", 1) == 1);
        sleep(60);
    }
    kill(getpid(), SIGKILL);
    return 1;
}
