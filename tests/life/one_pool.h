/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* one_pool: a pool over the host backend with one live allocation, in a program that a test runs as a child. */
#ifndef TEST_ONE_POOL_H
#define TEST_ONE_POOL_H

#include "harness/child.h"
#include "harness/claims.h"

static tarn_backend backend;
static tarn_pool *pool;
static void *address;

static inline void begin(const char *name)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    CHILD_EXPECT(tarn_host_backend_open(NULL, &backend) == TARN_STATUS_OK);
    options.backend = &backend;
    options.initial_bytes = (size_t)1 << 20;
    options.name = name;
    CHILD_EXPECT(tarn_pool_create(&options, &pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc(pool, 1000, &address) == TARN_STATUS_OK);
}

#endif
