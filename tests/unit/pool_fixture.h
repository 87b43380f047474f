/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_fixture: a pool over a test_backend with streams, for tests of what threads have of their own in it: arenas,
 * caches, mailboxes. Arenas come by request, without a crowd of threads.
 */
#ifndef POOL_FIXTURE_H
#define POOL_FIXTURE_H

#include "base/thread_number.h"
#include "core/pool/pool_arenas.h"
#include "core/serve/gather.h"
#include "harness/claims.h"
#include "harness/test_backend.h"

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)
#define A   ((tarn_stream)0xa0)
#define B   ((tarn_stream)0xb0)

struct fixture {
    struct test_backend backend;
    tarn_backend handle;
    tarn_pool_options options;
    tarn_pool *pool;
};

/* With the options as they are. */
static inline void fixture_create_pool(struct fixture *fixture)
{
    fixture->options.backend = &fixture->handle;
    expect_ok(tarn_pool_create(&fixture->options, &fixture->pool));
}

/* All but the pool. */
static inline void fixture_init(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    test_backend_init(&fixture->backend);
    fixture->backend.has_streams = true;
    fixture->handle = test_backend_open(&fixture->backend);
    fixture->options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
}

/* With whatever is live in the pool, which is sound. */
static inline void fixture_fini(struct fixture *fixture)
{
    expect_ok(tarn_pool_check(fixture->pool));
    expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
    tarn_backend_close(&fixture->handle);
    assert_int_equal(fixture->backend.held_bytes, 0);
    assert_int_equal(fixture->backend.event_count, 0);
}

/* For cmocka: a pool with the default options. */
static inline int fixture_setup(void **state)
{
    static struct fixture fixture;
    fixture_init(&fixture);
    fixture_create_pool(&fixture);
    *state = &fixture;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    fixture_fini(*state);
    return 0;
}

/* The same for tests that free what they allocate. */
static inline int fixture_teardown_empty(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(stats_of(fixture->pool).live_count, 0);
    return fixture_teardown(state);
}

static inline char *alloc_on(struct fixture *fixture, size_t size_bytes, tarn_stream stream)
{
    void *address = NULL;
    expect_ok(tarn_pool_alloc_on(fixture->pool, size_bytes, stream, &address));
    return address;
}

static inline char *alloc(struct fixture *fixture, size_t size_bytes)
{
    return alloc_on(fixture, size_bytes, NULL);
}

static inline void free_on(struct fixture *fixture, void *address, tarn_stream stream)
{
    expect_ok(tarn_pool_free_on(fixture->pool, address, stream));
}

/* The next alloc of any thread takes an arena. */
static inline void want_arenas(struct fixture *fixture)
{
    tn_pool_lock(fixture->pool);
    assert_true(tn_arenas_want(fixture->pool));
    tn_pool_unlock(fixture->pool);
}

/* The same of a pool that holds its first static pool. */
static inline void warm_up(struct fixture *fixture)
{
    free_on(fixture, alloc(fixture, MIB), NULL);
    want_arenas(fixture);
}

static inline void expect_active(const struct fixture *fixture, uint32_t count)
{
    assert_int_equal(atomic_load(&fixture->pool->arenas.active_count), count);
}

static inline struct tn_arena *own_arena(const struct fixture *fixture)
{
    return &fixture->pool->arenas.all[tn_thread_number() % TN_ARENA_COUNT];
}

static inline void gather(struct fixture *fixture)
{
    tn_pool_lock_and_gather(fixture->pool);
    tn_pool_unlock(fixture->pool);
    expect_active(fixture, 0);
    expect_ok(tarn_pool_check(fixture->pool));
}

#endif
