/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_backend: a source of memory for tests, of addresses that nothing can touch.
 *
 * The pool must never read or write what it manages, so this backend hands out address ranges
 * without memory behind them: a pool that touches one dies at once. Capacity, alignment and failures
 * are the test's to set, and every piece that is out is counted.
 *
 * Threads: any, but for the fields, which the test sets while nobody else is in the pool.
 */
#ifndef TEST_BACKEND_H
#define TEST_BACKEND_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/tarn.h"

enum {
    TEST_BACKEND_PIECES_MAX = 4096
};

struct test_backend {
    /* For the test to set before use. */
    size_t capacity_bytes;     /* acquire answers OUT_OF_MEMORY beyond; 0: no limit */
    size_t alignment_bytes;    /* what the properties promise */
    size_t misalignment_bytes; /* what addresses are off by from a multiple of 4 MiB */
    size_t granularity_bytes;
    size_t allocation_bytes_max;
    unsigned fail_acquire_at; /* the n-th acquire from now on fails; 0: none */
    tarn_status failure;      /* with this */
    bool fail_release;
    uintptr_t give_address; /* acquire gives this one, whatever lies there; 0: a place of its own */
    bool give_null;         /* acquire gives NULL and says OK */
    bool fail_properties;
    void (*while_acquiring)(void *context); /* called by acquire, as a slow vendor is waited for */
    void (*while_releasing)(void *context);
    void *context;

    /* For the test to read. */
    size_t held_bytes;
    size_t piece_count;
    unsigned acquire_count;
    unsigned release_count;
    size_t asked_bytes[64]; /* by the first acquires, failed ones included */

    pthread_mutex_t lock;
    uintptr_t next_address;
    struct test_piece {
        uintptr_t address;
        size_t size_bytes;
    } pieces[TEST_BACKEND_PIECES_MAX];
};

/* 256-byte alignment, 4 KiB granularity, no limits, no failures. */
void test_backend_init(struct test_backend *state);

/* The backend to put into pool options. */
tarn_backend test_backend_open(struct test_backend *state);

#endif
