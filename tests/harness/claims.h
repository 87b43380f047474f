/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* claims: what tests expect, said once. A failing line prints both values and the last error. */
#ifndef TEST_CLAIMS_H
#define TEST_CLAIMS_H

/* cmocka wants these four first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "tarn/host.h"
#include "tarn/tarn.h"

/* A macro, so that the failing line is the test's. */
#define expect_status(expected, call)                                              \
    do {                                                                           \
        tarn_status status_ = (call);                                              \
        if (status_ != (expected)) {                                               \
            fail_msg("%s: %s (%s), expected %s", #call, tarn_status_name(status_), \
                     tarn_last_error().message, tarn_status_name(expected));       \
        }                                                                          \
    } while (0)

#define expect_ok(call) expect_status(TARN_STATUS_OK, call)

/* The last error's message must name this. */
#define expect_message(part)                                                                   \
    do {                                                                                       \
        if (!strstr(tarn_last_error().message, (part))) {                                      \
            fail_msg("message \"%s\" does not say \"%s\"", tarn_last_error().message, (part)); \
        }                                                                                      \
    } while (0)

/* One operation of a backend's: expect_done(backend, acquire, 100, &address). */
#define expect_done(backend, ...) expect_operation(TARN_STATUS_OK, backend, __VA_ARGS__)
#define expect_operation(expected, backend, operation, ...)                                    \
    do {                                                                                       \
        tarn_backend_result result_ =                                                          \
            (backend).operations->operation((backend).state, ##__VA_ARGS__);                   \
        if (result_.status != (expected)) {                                                    \
            fail_msg("%s: %s (%s), expected %s", #operation, tarn_status_name(result_.status), \
                     result_.vendor_name ? result_.vendor_name : "no name",                    \
                     tarn_status_name(expected));                                              \
        }                                                                                      \
    } while (0)

static inline tarn_pool *new_pool(const tarn_pool_options *options)
{
    tarn_pool *pool;
    expect_ok(tarn_pool_create(options, &pool));
    return pool;
}

static inline void *new_block(tarn_pool *pool, size_t size_bytes)
{
    void *address;
    expect_ok(tarn_pool_alloc(pool, size_bytes, &address));
    return address;
}

static inline tarn_backend new_host_backend(const tarn_host_options *options)
{
    tarn_backend backend;
    expect_ok(tarn_host_backend_open(options, &backend));
    return backend;
}

static inline tarn_stats stats_of(tarn_pool *pool)
{
    tarn_stats stats = TARN_STATS_INIT;
    expect_ok(tarn_pool_stats(pool, &stats));
    return stats;
}

#endif
