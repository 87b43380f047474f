/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_call_counts: exactly which calls of the vendor each step makes.
 *
 * A hit in the pool makes none. Growth makes the allocation itself, and besides only what the
 * vendor's own file documents. The steps are the same for all vendors, the numbers are in the table
 * of each, and every row of the table is used.
 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <pthread.h>

#include "harness/claims.h"
#include "sim_control.h"
#include "sim_vendor.h"
#include "tarn/backend.h"

#define MIB ((size_t)1 << 20)

enum {
    ROWS_MAX = 64
};

static bool is_used[ROWS_MAX];

/* Compares what was called since the last comparison with the table's rows of this step. Several rows
 * are alternatives. */
static void expect_calls(const char *step)
{
    const char *found = sim_describe_calls(), *wanted = NULL;
    bool is_right = false;
    for (size_t row = 0; sim_vendor.calls[row].step; row++) {
        if (strcmp(sim_vendor.calls[row].step, step) != 0) continue;
        wanted = sim_vendor.calls[row].calls;
        is_right = is_right || strcmp(wanted, found) == 0;
        is_used[row] = true;
    }
    if (!wanted) fail_msg("%s: no row for \"%s\", which calls: %s", sim_vendor.name, step, found);
    if (!is_right) fail_msg("%s calls: %s\n    not: %s", step, found, wanted);
    sim_forget_calls();
}

static void expect_result(tarn_backend_result result)
{
    assert_int_equal(result.status, TARN_STATUS_OK);
}

static tarn_backend open_backend(int device, tarn_memory_kind kind)
{
    tarn_backend backend;
    expect_ok(tarn_backend_open(device, kind, &backend));
    return backend;
}

/* The device is the thread's current one, as in most programs. */
static tarn_backend open_current(tarn_memory_kind kind)
{
    if (sim_vendor.set_current_device) sim_vendor.set_current_device(0);
    sim_forget_calls();
    return open_backend(0, kind);
}

/* --- the pool ---------------------------------------------------------------------------------- */

static void a_pool_calls_only_to_grow_and_to_shrink(void **state)
{
    sim_reset();
    tarn_backend backend = open_current(TARN_MEMORY_KIND_DEVICE);
    expect_calls("open");

    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 4 * MIB;
    tarn_pool *pool = new_pool(&options);
    expect_calls("create a pool");

    void *first, *second, *hit;
    expect_ok(tarn_pool_alloc(pool, MIB, &first));
    expect_calls("first allocation");
    for (size_t i = 0; i < 1000; i++) {
        expect_ok(tarn_pool_alloc_aligned(pool, i + 1, i % 2 ? 1 : 4096, &hit));
        expect_ok(tarn_pool_free(pool, hit));
    }
    expect_calls("a thousand hits");
    expect_ok(tarn_pool_alloc(pool, 6 * MIB, &second));
    expect_calls("growth");
    expect_ok(tarn_pool_free(pool, first));
    expect_ok(tarn_pool_free(pool, second));
    expect_calls("frees that empty the pool");
    expect_ok(tarn_pool_trim(pool, 4 * MIB, NULL));
    expect_calls("trim of one static pool");
    expect_ok(tarn_pool_destroy(pool));
    expect_calls("destroy a pool of one static pool");
    tarn_backend_close(&backend);
    expect_calls("close");
}

static void a_pool_that_passes_through_calls_for_each(void **state)
{
    sim_reset();
    tarn_backend backend = open_current(TARN_MEMORY_KIND_DEVICE);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.passes_through = true;
    sim_forget_calls();
    tarn_pool *pool = new_pool(&options);
    expect_calls("create a pool");
    void *addresses[10];
    for (size_t i = 0; i < 10; i++)
        expect_ok(tarn_pool_alloc(pool, (size_t)100 << i, &addresses[i]));
    expect_calls("ten allocations that pass through");
    assert_int_equal(sim_alive(SIM_THING_MEMORY), 10);
    for (size_t i = 0; i < 10; i++)
        expect_ok(tarn_pool_free(pool, addresses[i]));
    expect_calls("ten frees that pass through");
    assert_int_equal(sim_alive(SIM_THING_MEMORY), 0);
    expect_ok(tarn_pool_destroy(pool));
    tarn_backend_close(&backend);
    assert_int_equal(sim_misuse_count(), 0);
}

/* --- the pool's streams ------------------------------------------------------------------------ */

enum {
    PIECE_COUNT = 8
};

#define PIECE_BYTES ((size_t)500 << 10)

static void *alloc_piece(tarn_pool *pool, tarn_stream stream)
{
    void *address;
    expect_ok(tarn_pool_alloc_on(pool, PIECE_BYTES, stream, &address));
    return address;
}

/* So much work that a query or two find it under way. */
static void submit_work(const tarn_backend *backend, void *address, tarn_stream stream)
{
    for (int i = 0; i < 4; i++)
        expect_done(*backend, fill, address, 1, 500, stream);
    sim_forget_calls();
}

static void a_pool_calls_only_to_hand_over_between_streams(void **state)
{
    sim_reset();
    tarn_backend backend = open_current(TARN_MEMORY_KIND_DEVICE);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 4 * MIB;
    options.limit_bytes = 4 * MIB;
    tarn_pool *pool = new_pool(&options);
    tarn_stream a, b, c;
    expect_done(backend, stream_create, &a);
    expect_done(backend, stream_create, &b);
    expect_done(backend, stream_create, &c);
    void *pieces[PIECE_COUNT];
    expect_ok(tarn_pool_alloc(pool, PIECE_BYTES, &pieces[0]));

    sim_forget_calls();
    pieces[1] = alloc_piece(pool, a);
    expect_calls("first sight of a stream");
    pieces[2] = alloc_piece(pool, b);
    pieces[3] = alloc_piece(pool, c);
    for (int i = 4; i < PIECE_COUNT; i++)
        pieces[i] = alloc_piece(pool, i % 2 ? a : NULL);

    sim_forget_calls();
    for (int i = 0; i < 1000; i++) {
        tarn_stream stream = i % 3 == 0 ? NULL : i % 3 == 1 ? a : b;
        expect_ok(tarn_pool_free_on(pool, pieces[i % PIECE_COUNT], stream));
        pieces[i % PIECE_COUNT] = alloc_piece(pool, stream);
    }
    expect_calls("hits on streams that need no wait");

    submit_work(&backend, pieces[1], a);
    for (int i = 1; i < 5; i++)
        expect_ok(tarn_pool_free_on(pool, pieces[i], a));
    expect_calls("hits on streams that need no wait");
    pieces[1] = alloc_piece(pool, b);
    expect_calls("hit that another stream freed");
    pieces[2] = alloc_piece(pool, b);
    expect_calls("hits on streams that need no wait");
    pieces[3] = alloc_piece(pool, c);
    expect_calls("hit that another stream freed, on a third one");
    expect_done(backend, stream_synchronize, a);
    sim_forget_calls();
    pieces[4] = alloc_piece(pool, NULL);
    expect_calls("hit that another stream freed, whose work is done");

    expect_ok(tarn_stream_retire(b));
    expect_calls("retire a stream on which nothing was freed");
    submit_work(&backend, pieces[3], c);
    expect_ok(tarn_pool_free_on(pool, pieces[3], c));
    expect_ok(tarn_stream_retire(c));
    expect_calls("retire a stream");
    pieces[3] = alloc_piece(pool, a);
    expect_calls("hit that a retired stream freed");
    for (int i = 0; i < PIECE_COUNT; i++)
        expect_ok(tarn_pool_free_after(pool, pieces[i], (tarn_stream[]){ a, NULL }, 2));
    expect_calls("hits on streams that need no wait");

    expect_done(backend, stream_destroy, b);
    expect_done(backend, stream_destroy, c);
    sim_forget_calls();
    expect_ok(tarn_pool_destroy(pool));
    expect_calls("destroy a pool with an event");
    expect_done(backend, stream_destroy, a);
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
}

/* --- streams of threads' own ------------------------------------------------------------------------ */

struct other_thread {
    tarn_pool *pool;
    tarn_stream stream;
    void *address;
    tarn_status status;
};

static void *alloc_in_thread(void *argument)
{
    struct other_thread *other = argument;
    other->status = tarn_pool_alloc_on(other->pool, PIECE_BYTES, other->stream, &other->address);
    return NULL;
}

/* Under the same handle, on a stream of that thread's. */
static tarn_status alloc_elsewhere(tarn_pool *pool, tarn_stream stream, void **address_out)
{
    pthread_t thread;
    struct other_thread other = { pool, stream, NULL, TARN_STATUS_OK };
    assert_int_equal(pthread_create(&thread, NULL, alloc_in_thread, &other), 0);
    pthread_join(thread, NULL);
    *address_out = other.address;
    return other.status;
}

static void a_thread_records_only_what_others_have_wanted(void **state)
{
    sim_reset();
    tarn_backend backend = open_current(TARN_MEMORY_KIND_DEVICE);
    tarn_device_properties properties;
    expect_done(backend, get_properties, &properties);
    tarn_stream own = properties.thread_stream;
    if (!own) {
        tarn_backend_close(&backend);
        skip();
    }
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 4 * MIB;
    tarn_pool *pool = new_pool(&options);
    void *pieces[PIECE_COUNT], *theirs;
    for (int i = 0; i < PIECE_COUNT; i++)
        pieces[i] = alloc_piece(pool, own);
    sim_forget_calls();
    for (int i = 0; i < 1000; i++) {
        expect_ok(tarn_pool_free_on(pool, pieces[i % PIECE_COUNT], own));
        pieces[i % PIECE_COUNT] = alloc_piece(pool, own);
    }
    expect_calls("hits on streams that need no wait");

    submit_work(&backend, pieces[1], own);
    for (int i = 1; i < 5; i++)
        expect_ok(tarn_pool_free_on(pool, pieces[i], own));
    expect_calls("hits on streams that need no wait");
    expect_ok(alloc_elsewhere(pool, own, &theirs)); /* grows */
    expect_ok(tarn_pool_free_after(pool, theirs, NULL, 0));
    sim_forget_calls();
    expect_ok(tarn_pool_free_on(pool, pieces[5], own));
    expect_calls("free on a thread's stream that another wants");
    pieces[5] = alloc_piece(pool, own);
    expect_ok(tarn_pool_free_on(pool, pieces[5], own));
    expect_calls("hits on streams that need no wait");
    expect_ok(tarn_stream_retire(own));
    sim_forget_calls();
    pieces[1] = alloc_piece(pool, NULL);
    expect_done(backend, synchronize);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
}

/* --- streams that end unannounced -------------------------------------------------------------------- */

static void where_streams_end_unannounced_each_call_asks(void **state)
{
    sim_reset();
    SIM_SET(reuses_streams, true);
    tarn_backend backend = open_current(TARN_MEMORY_KIND_DEVICE);
    tarn_pool *pool;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 4 * MIB;
    options.limit_bytes = 4 * MIB;
    options.identifies_streams = true;
    if (!backend.operations->stream_id) {
        assert_int_equal(tarn_pool_create(&options, &pool), TARN_STATUS_NOT_SUPPORTED);
        tarn_backend_close(&backend);
        skip();
    }
    sim_forget_calls();
    expect_ok(tarn_pool_create(&options, &pool));
    expect_calls("create a pool that identifies streams");
    tarn_stream a, b;
    expect_done(backend, stream_create, &a);
    expect_done(backend, stream_create, &b);
    void *pieces[PIECE_COUNT];
    for (int i = 0; i < PIECE_COUNT; i++)
        pieces[i] = alloc_piece(pool, i % 2 ? a : NULL);
    sim_forget_calls();
    for (int i = 0; i < 100; i++) {
        expect_ok(tarn_pool_free(pool, pieces[0]));
        pieces[0] = alloc_piece(pool, NULL);
    }
    expect_calls("hits on streams that need no wait");

    submit_work(&backend, pieces[1], a);
    expect_ok(tarn_pool_free_on(pool, pieces[1], a));
    expect_calls("first free in a pool that identifies streams");
    pieces[1] = alloc_piece(pool, a);
    expect_calls("hit in a pool that identifies streams");

    /* The handle comes again, and the old stream's work is not done. */
    expect_ok(tarn_pool_free_on(pool, pieces[1], a));
    expect_ok(tarn_pool_free_on(pool, pieces[3], a));
    for (int i = 0; i < 4; i++) {
        tarn_stream old = a;
        submit_work(&backend, pieces[2], b);
        expect_ok(tarn_pool_free_on(pool, pieces[2], b));
        expect_done(backend, stream_destroy, a);
        expect_done(backend, stream_create, &a);
        assert_ptr_equal(a, old);
        pieces[1] = alloc_piece(pool, a);
        pieces[2] = alloc_piece(pool, a);
        expect_ok(tarn_pool_free_on(pool, pieces[1], a));
    }
    expect_done(backend, stream_destroy, a);
    expect_done(backend, stream_destroy, b);
    pieces[1] = alloc_piece(pool, NULL);
    expect_ok(tarn_pool_trim(pool, 0, NULL));
    assert_int_equal(sim_misuse_count(), 0);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    tarn_backend_close(&backend);
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
}

/* --- the operations ---------------------------------------------------------------------------- */

static void memory_operations_call_what_is_documented(void **state)
{
    static const struct {
        tarn_memory_kind kind;
        const char *acquire, *release, *query;
    } kinds[] = {
        { TARN_MEMORY_KIND_DEVICE, "acquire", "release", "query_memory" },
        { TARN_MEMORY_KIND_PINNED, "acquire pinned", "release pinned", "query_memory pinned" },
        { TARN_MEMORY_KIND_SHARED, "acquire shared", "release shared", "query_memory shared" },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        sim_reset();
        tarn_backend backend = open_current(kinds[i].kind);
        sim_forget_calls();
        tarn_device_properties properties;
        expect_done(backend, get_properties, &properties);
        expect_calls("get_properties");
        void *address;
        expect_done(backend, acquire, 1000, &address);
        expect_calls(kinds[i].acquire);
        tarn_memory_info info;
        expect_done(backend, query_memory, &info);
        expect_calls(kinds[i].query);
        expect_done(backend, release, address, 1000);
        expect_calls(kinds[i].release);
        tarn_backend_close(&backend);
    }
}

static void stream_operations_call_what_is_documented(void **state)
{
    sim_reset();
    tarn_backend backend = open_current(TARN_MEMORY_KIND_DEVICE);
    const tarn_backend_operations *operations = backend.operations;
    void *device = backend.state, *address;
    tarn_stream stream;
    tarn_event event;
    expect_result(operations->acquire(device, 1000, &address));
    sim_forget_calls();
    expect_result(operations->stream_create(device, &stream));
    expect_calls("stream_create");
    expect_result(operations->stream_check(device, stream));
    expect_calls("stream_check");
    expect_result(operations->stream_check(device, NULL));
    expect_calls("stream_check, the default stream");
    if (operations->stream_id) {
        uint64_t id;
        expect_result(operations->stream_id(device, stream, &id));
        expect_calls("stream_id");
    }
    expect_result(operations->event_create(device, &event));
    expect_calls("event_create");
    expect_result(operations->fill(device, address, 1, 500, stream));
    expect_calls("fill");
    expect_result(operations->copy(device, (char *)address + 500, address, 500, stream));
    expect_calls("copy");
    expect_result(operations->event_record(device, event, stream));
    expect_calls("event_record");
    assert_int_equal(operations->event_query(device, event).status, TARN_STATUS_NOT_READY);
    expect_calls("event_query, not ready");
    expect_result(operations->stream_wait_event(device, NULL, event));
    expect_calls("stream_wait_event");
    expect_result(operations->event_synchronize(device, event));
    expect_calls("event_synchronize");
    expect_result(operations->event_query(device, event));
    expect_calls("event_query, complete");
    expect_result(operations->stream_synchronize(device, stream));
    expect_calls("stream_synchronize");
    expect_result(operations->event_record(device, event, stream));
    expect_calls("event_record again");
    if (operations->event_record_device) {
        expect_result(operations->event_record_device(device, event));
        expect_calls("event_record_device");
    }
    tarn_status synchronized = operations->synchronize(device).status;
    assert_true(synchronized == TARN_STATUS_OK || synchronized == TARN_STATUS_NOT_SUPPORTED);
    expect_calls("synchronize");
    expect_result(operations->stream_synchronize(device, stream));
    sim_forget_calls();
    expect_result(operations->event_destroy(device, event));
    expect_calls("event_destroy");
    expect_result(operations->stream_destroy(device, stream));
    expect_calls("stream_destroy");
    expect_result(operations->release(device, address, 1000));
    tarn_backend_close(&backend);
}

static void range_operations_call_what_is_documented(void **state)
{
    sim_reset();
    tarn_backend backend = open_current(TARN_MEMORY_KIND_DEVICE);
    const tarn_backend_operations *operations = backend.operations;
    tarn_device_properties properties;
    expect_done(backend, get_properties, &properties);
    size_t granule_bytes = properties.range_granularity_bytes;
    assert_true(granule_bytes > 0);
    void *range;
    tarn_mapping mapping;
    sim_forget_calls();
    expect_done(backend, range_reserve, 4 * granule_bytes, &range);
    expect_calls("range_reserve");
    expect_done(backend, range_map, range, granule_bytes, &mapping);
    expect_calls("range_map");
    int file_descriptor = -1;
    tarn_backend_result plain =
        operations->range_export(backend.state, range, granule_bytes, mapping, &file_descriptor);
    assert_int_not_equal(plain.status, TARN_STATUS_OK);
    sim_forget_calls();
    expect_done(backend, range_unmap, range, granule_bytes, mapping);
    expect_calls("range_unmap");
    if (operations->range_unmap_idle) {
        expect_done(backend, range_map, range, granule_bytes, &mapping);
        sim_forget_calls();
        expect_done(backend, range_unmap_idle, range, granule_bytes, mapping);
        expect_calls("range_unmap_idle");
    }
    tarn_status shared =
        operations->range_map_shareable(backend.state, range, granule_bytes, &mapping).status;
    expect_calls("range_map_shareable");
    assert_int_equal(shared,
                     properties.has_shareable_ranges ? TARN_STATUS_OK : TARN_STATUS_NOT_SUPPORTED);
    tarn_status exported =
        operations->range_export(backend.state, range, granule_bytes, mapping, &file_descriptor)
            .status;
    expect_calls("range_export");
    assert_int_equal(exported, shared);
    if (shared == TARN_STATUS_OK) {
        close(file_descriptor);
        expect_done(backend, range_unmap, range, granule_bytes, mapping);
        sim_forget_calls();
    }
    expect_done(backend, range_release, range, 4 * granule_bytes);
    expect_calls("range_release");
    tarn_backend_close(&backend);
}

/* --- on a device that is not the thread's current one ------------------------------------------- */

static void acquire_and_release(int device, const char *acquire, const char *release)
{
    tarn_backend backend = open_backend(device, TARN_MEMORY_KIND_DEVICE);
    void *address;
    sim_forget_calls();
    expect_done(backend, acquire, 1000, &address);
    expect_calls(acquire);
    expect_done(backend, release, address, 1000);
    expect_calls(release);
    tarn_backend_close(&backend);
}

static void another_current_device_costs_what_is_documented(void **state)
{
    if (!sim_vendor.set_current_device) skip();
    sim_reset();
    acquire_and_release(1, "acquire, a device without context is current",
                        "release, a device without context is current");
    assert_int_equal(sim_vendor.current_device(), 0);

    sim_reset();
    sim_vendor.set_current_device(1);
    acquire_and_release(0, "acquire, another device is current",
                        "release, another device is current");
    assert_int_equal(sim_vendor.current_device(), 1);
}

/* --- the table --------------------------------------------------------------------------------- */

/* Runs last. */
static void every_row_is_used(void **state)
{
    for (size_t row = 0; sim_vendor.calls[row].step; row++) {
        if (!is_used[row])
            fail_msg("%s: nothing does \"%s\"", sim_vendor.name, sim_vendor.calls[row].step);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_calls_only_to_grow_and_to_shrink),
        cmocka_unit_test(a_pool_that_passes_through_calls_for_each),
        cmocka_unit_test(a_pool_calls_only_to_hand_over_between_streams),
        cmocka_unit_test(a_thread_records_only_what_others_have_wanted),
        cmocka_unit_test(where_streams_end_unannounced_each_call_asks),
        cmocka_unit_test(memory_operations_call_what_is_documented),
        cmocka_unit_test(stream_operations_call_what_is_documented),
        cmocka_unit_test(range_operations_call_what_is_documented),
        cmocka_unit_test(another_current_device_costs_what_is_documented),
        cmocka_unit_test(every_row_is_used),
    };
    return cmocka_run_group_tests_name("counts of calls", tests, NULL, NULL);
}
