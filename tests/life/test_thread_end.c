/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_thread_end: a thread ends and leaves blocks, streams and a pool behind. They are as before, for
 * whoever goes on with them.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "harness/claims.h"

#include "tarn/host.h"

#define MIB ((size_t)1 << 20)

enum {
    BLOCKS = 8,
    THREADS = 200
};

/* What a thread leaves. */
struct legacy {
    tarn_backend backend;
    tarn_pool *pool; /* NULL: the thread creates it */
    tarn_stream stream;
    void *blocks[BLOCKS];
    bool is_well;
};

static void *allocate_and_end(void *argument)
{
    struct legacy *legacy = argument;
    const tarn_backend_operations *operations = legacy->backend.operations;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &legacy->backend;
    options.initial_bytes = MIB;
    void *freed;
    bool is_well = legacy->pool || tarn_pool_create(&options, &legacy->pool) == TARN_STATUS_OK;
    is_well = is_well && operations->stream_create(legacy->backend.state, &legacy->stream).status ==
                             TARN_STATUS_OK;
    for (int i = 0; is_well && i < BLOCKS; i++) {
        is_well = tarn_pool_alloc_on(legacy->pool, 10000, legacy->stream, &legacy->blocks[i]) ==
                  TARN_STATUS_OK;
        if (is_well) memset(legacy->blocks[i], i, 10000);
    }
    is_well = is_well &&
              tarn_pool_alloc_on(legacy->pool, 10000, legacy->stream, &freed) == TARN_STATUS_OK;
    is_well = is_well && tarn_pool_free_on(legacy->pool, freed, legacy->stream) == TARN_STATUS_OK;
    /* A failure, so that it has a last error to leave behind. */
    legacy->is_well = is_well && tarn_pool_free(legacy->pool, argument) != TARN_STATUS_OK;
    return NULL;
}

static void run_to_its_end(void *(*body)(void *), struct legacy *legacy)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, legacy), 0);
    pthread_join(thread, NULL);
    assert_true(legacy->is_well);
}

static struct legacy make_legacy(void)
{
    struct legacy legacy = { .pool = NULL };
    expect_ok(tarn_host_backend_open(NULL, &legacy.backend));
    return legacy;
}

/* Takes over what the thread had, its stream too. */
static void inherit(struct legacy *legacy)
{
    const tarn_backend_operations *operations = legacy->backend.operations;
    for (int i = 0; i < BLOCKS; i++) {
        assert_int_equal(*(unsigned char *)legacy->blocks[i], i);
        tarn_allocation found = TARN_ALLOCATION_INIT;
        expect_ok(tarn_pool_find(legacy->blocks[i], &found));
        assert_ptr_equal(found.pool, legacy->pool);
        expect_ok(tarn_pool_free_on(legacy->pool, legacy->blocks[i], legacy->stream));
    }
    expect_ok(tarn_stream_retire(legacy->stream));
    assert_int_equal(operations->stream_destroy(legacy->backend.state, legacy->stream).status,
                     TARN_STATUS_OK);
    expect_ok(tarn_pool_check(legacy->pool));
}

static void end_legacy(struct legacy *legacy)
{
    expect_ok(tarn_pool_destroy(legacy->pool));
    tarn_backend_close(&legacy->backend);
}

static void what_a_thread_leaves_is_as_it_was(void **state)
{
    struct legacy legacy = make_legacy();
    run_to_its_end(allocate_and_end, &legacy);
    assert_int_equal(stats_of(legacy.pool).live_count, BLOCKS);
    inherit(&legacy);
    assert_int_equal(stats_of(legacy.pool).live_count, 0);
    void *address = new_block(legacy.pool, MIB);
    expect_ok(tarn_pool_free(legacy.pool, address));
    end_legacy(&legacy);
}

/* Nothing is kept for a thread that has ended: the pool stays as large as for one. */
static void many_threads_leave_no_more_than_one(void **state)
{
    struct legacy legacy = make_legacy();
    run_to_its_end(allocate_and_end, &legacy);
    inherit(&legacy);
    tarn_stats before = stats_of(legacy.pool);
    for (int i = 0; i < THREADS; i++) {
        run_to_its_end(allocate_and_end, &legacy);
        inherit(&legacy);
    }
    tarn_stats after = stats_of(legacy.pool);
    assert_int_equal(after.footprint_bytes, before.footprint_bytes);
    assert_int_equal(after.static_pool_count, before.static_pool_count);
    assert_int_equal(after.live_count, 0);
    end_legacy(&legacy);
}

/* --- at the thread's very end -------------------------------------------------------------------------- */

static pthread_key_t last_block;

/* As a thread_local object of C++ does. */
static void free_last(void *argument)
{
    struct legacy *legacy = argument;
    tarn_status freed = tarn_pool_free(legacy->pool, legacy->blocks[0]);
    tarn_status freed_twice = tarn_pool_free(legacy->pool, legacy->blocks[0]);
    legacy->is_well = freed == TARN_STATUS_OK && freed_twice == TARN_STATUS_NOT_LIVE &&
                      strstr(tarn_last_error().message, "not allocated");
}

static void *allocate_for_the_end(void *argument)
{
    struct legacy *legacy = argument;
    if (tarn_pool_alloc(legacy->pool, 1, &legacy->blocks[0]) != TARN_STATUS_OK) return NULL;
    pthread_setspecific(last_block, legacy);
    return NULL;
}

static void a_thread_frees_while_it_ends(void **state)
{
    struct legacy legacy = make_legacy();
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &legacy.backend;
    expect_ok(tarn_pool_create(&options, &legacy.pool));
    assert_int_equal(pthread_key_create(&last_block, free_last), 0);
    run_to_its_end(allocate_for_the_end, &legacy);
    pthread_key_delete(last_block);
    assert_int_equal(stats_of(legacy.pool).live_count, 0);
    end_legacy(&legacy);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_thread_leaves_is_as_it_was),
        cmocka_unit_test(many_threads_leave_no_more_than_one),
        cmocka_unit_test(a_thread_frees_while_it_ends),
    };
    return cmocka_run_group_tests_name("end of a thread", tests, NULL, NULL);
}
