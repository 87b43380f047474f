/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pool_fixture.h"

#include <math.h>

#include "base/thread_number.h"
#include "core/care/pool_registry.h"
#include "tarn/host.h"

char stream_handles[80];
struct test_backend backend;
tarn_backend opened;
tarn_pool_options options;
tarn_pool *pool;
bool checks_every_step;

/* --- beginning and end --------------------------------------------------------------------------- */

void begin_fixture(bool has_streams)
{
    test_backend_init(&backend);
    backend.has_streams = has_streams;
    opened = test_backend_open(&backend);
    options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    options.backend = &opened;
    options.alignment_bytes = TARN_ALIGNMENT_BYTES_MIN;
    pool = NULL;
    checks_every_step = false;
}

int set_up_without_pool(void **state)
{
    begin_fixture(false);
    options.initial_bytes = 64 * KIB;
    return 0;
}

int set_up_without_streams(void **state)
{
    set_up_without_pool(state);
    create();
    return 0;
}

int set_up(void **state)
{
    begin_fixture(true);
    options.initial_bytes = 64 * KIB;
    create();
    return 0;
}

int set_up_that_cannot_grow(void **state)
{
    begin_fixture(true);
    options.initial_bytes = 64 * KIB;
    options.limit_bytes = 64 * KIB;
    checks_every_step = true;
    create();
    return 0;
}

void grow_by_pieces_of(size_t size_bytes)
{
    options.initial_bytes = size_bytes;
    options.growth_factor = (double)INFINITY;
    options.growth_bytes_max = size_bytes;
}

int set_up_with_default_options(void **state)
{
    begin_fixture(true);
    create();
    return 0;
}

int set_up_with_64_mib(void **state)
{
    begin_fixture(true);
    options.initial_bytes = 64 * MIB;
    create();
    return 0;
}

void expect_nothing_left(void)
{
    assert_int_equal(backend.piece_count, 0);
    assert_int_equal(backend.held_bytes, 0);
    assert_int_equal(backend.range_count, 0);
    assert_int_equal(backend.event_count, 0);
    assert_int_equal(backend.misuse_count, 0);
}

int tear_down(void **state)
{
    if (pool) destroy();
    tarn_backend_close(&opened);
    expect_nothing_left();
    return 0;
}

int tear_down_empty(void **state)
{
    if (pool) assert_int_equal(stats_of(pool).live_count, 0);
    return tear_down(state);
}

void create(void)
{
    assert_null(pool);
    expect_ok(tarn_pool_create(&options, &pool));
    test_backend_take_calls(&backend);
}

void destroy(void)
{
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    pool = NULL;
}

void destroy_empty(void)
{
    expect_ok(tarn_pool_destroy(pool));
    pool = NULL;
}

void create_anew(void)
{
    destroy();
    opened = test_backend_open(&backend);
    create();
}

void create_over_host_memory(void)
{
    destroy();
    tarn_backend_close(&opened);
    expect_ok(tarn_host_backend_open(NULL, &opened));
    create();
}

/* --- steps ----------------------------------------------------------------------------------------- */

static void end_step(void)
{
    if (checks_every_step) expect_ok(tarn_pool_check(pool));
}

void *alloc(size_t size_bytes)
{
    void *address = new_block(pool, size_bytes);
    end_step();
    return address;
}

void *alloc_on(size_t size_bytes, tarn_stream stream)
{
    void *address;
    expect_ok(tarn_pool_alloc_on(pool, size_bytes, stream, &address));
    end_step();
    return address;
}

void free_one(void *address)
{
    expect_ok(tarn_pool_free(pool, address));
    end_step();
}

void free_on(void *address, tarn_stream stream)
{
    expect_ok(tarn_pool_free_on(pool, address, stream));
    end_step();
}

void free_after(void *address, const tarn_stream *streams, size_t stream_count)
{
    expect_ok(tarn_pool_free_after(pool, address, streams, stream_count));
    end_step();
}

void retire(tarn_stream stream)
{
    expect_ok(tarn_stream_retire(stream));
    end_step();
}

size_t trim(size_t keep_bytes)
{
    size_t released_bytes = 0;
    expect_ok(tarn_pool_trim(pool, keep_bytes, &released_bytes));
    end_step();
    return released_bytes;
}

/* --- claims --------------------------------------------------------------------------------------- */

void expect_refused(tarn_status status, size_t size_bytes)
{
    void *address = &backend;
    expect_status(status, tarn_pool_alloc(pool, size_bytes, &address));
    assert_ptr_equal(address, &backend);
}

void expect_refused_on(tarn_status status, size_t size_bytes, tarn_stream stream)
{
    void *address = &backend;
    expect_status(status, tarn_pool_alloc_on(pool, size_bytes, stream, &address));
    assert_ptr_equal(address, &backend);
    end_step();
}

void expect_options_refused(tarn_status status, const char *part)
{
    tarn_pool *never = (tarn_pool *)&backend;
    size_t resting = tn_pool_registry_resting_count();
    expect_status(status, tarn_pool_create(&options, &never));
    expect_message(part);
    assert_ptr_equal(never, &backend);
    assert_true(tn_pool_registry_resting_count() >= resting);
    assert_int_equal(backend.piece_count, 0);
}

void expect_fault(const char *part)
{
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_check(pool));
    expect_message(part);
}

tarn_allocation found_at(const void *address)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(address, &found));
    return found;
}

void expect_no_calls(void)
{
    assert_int_equal(test_backend_take_calls(&backend), 0);
}

void expect_records_and_waits(unsigned record_count, unsigned wait_count)
{
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], record_count);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], wait_count);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE], 0);
    test_backend_take_calls(&backend);
}

void expect_last_wait(tarn_stream stream, tarn_stream awaited)
{
    assert_in_range(backend.wait_count, 1, TEST_BACKEND_WAITS_MAX);
    assert_ptr_equal(backend.waits[backend.wait_count - 1].stream, stream);
    assert_ptr_equal(backend.waits[backend.wait_count - 1].awaited, awaited);
}

void expect_pending(size_t pending_bytes)
{
    assert_int_equal(stats_of(pool).pending_bytes, pending_bytes);
}

/* --- arenas --------------------------------------------------------------------------------------- */

void want_arenas(void)
{
    tn_pool_lock(pool);
    assert_true(tn_arenas_want(pool));
    tn_pool_unlock(pool);
}

void warm_up(void)
{
    free_on(alloc(MIB), NULL);
    want_arenas();
}

void expect_active(uint32_t count)
{
    assert_int_equal(atomic_load(&pool->arenas.active_count), count);
}

struct tn_arena *own_arena(void)
{
    return &pool->arenas.all[tn_thread_number() % TN_ARENA_COUNT];
}

void gather(void)
{
    tn_pool_lock_and_gather(pool);
    tn_pool_unlock(pool);
    expect_active(0);
    expect_ok(tarn_pool_check(pool));
}
