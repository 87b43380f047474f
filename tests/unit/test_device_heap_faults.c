/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_device_heap_faults: device heaps when something fails or ends: each call of the backend, each host allocation,
 * the pool, the process.
 */
#include <string.h>

#include "core/care/pool_registry.h"
#include "harness/child.h"
#include "harness/host_memory_faults.h"
#include "heap_fixture.h"

/* --- the end of others ------------------------------------------------------------------------------ */

static void a_pool_that_is_destroyed_by_force_takes_its_heaps_with_it(void **state)
{
    for (int abandons = 0; abandons < 2; abandons++) {
        struct fixture fixture;
        fixture_init(&fixture);
        fixture_create_pool(&fixture);
        tarn_device_heap *heap = create_heap(&fixture, MIB, 0);
        tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
        wait_for_stream(&fixture);
        if (abandons) {
            void *memory = control_of(heap);
            tarn_allocation found = TARN_ALLOCATION_INIT;
            expect_ok(tarn_pool_find(memory, &found));
            expect_ok(tarn_pool_abandon(fixture.pool));
            fixture.host.operations->release(fixture.host.state, found.static_pool_base,
                                             found.static_pool_bytes);
        } else {
            expect_ok(tarn_pool_destroy_forced(fixture.pool, NULL));
        }
        fixture.pool = NULL;
        const tarn_status gone = TARN_STATUS_INVALID_POOL;
        expect_status(gone, tarn_device_heap_get_stats(heap, fixture.stream, &stats));
        expect_status(gone, tarn_device_heap_check(heap, fixture.stream));
        expect_status(gone, tarn_device_heap_reset(heap, fixture.stream));
        expect_status(gone, tarn_device_heap_add(heap, MIB, fixture.stream));
        expect_ok(tarn_device_heap_destroy(heap, fixture.stream));
        assert_int_equal(faulty_backend_event_count(), 1);
        faulty_backend_destroy_events(fixture.host.state);
        fixture_fini(&fixture);
    }
}

/* A heap of the parent's, of a pool or over memory. */
struct inherited {
    struct fixture *fixture;
    tarn_device_heap *heap;
};

static void use_in_vain(void *argument)
{
    struct inherited *inherited = argument;
    tarn_stream stream = inherited->fixture->stream;
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    tarn_device_heap *heap = NULL;
    CHILD_EXPECT(tarn_device_heap_create(inherited->fixture->pool, MIB, NULL, stream, &heap) ==
                 TARN_STATUS_FORKED);
    CHILD_EXPECT(heap == NULL);
    CHILD_EXPECT(tarn_device_heap_get_stats(inherited->heap, stream, &stats) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_device_heap_check(inherited->heap, stream) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_device_heap_reset(inherited->heap, stream) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_device_heap_destroy(inherited->heap, stream) == TARN_STATUS_OK);
}

static void a_forked_child_has_no_heaps(void **state)
{
    struct fixture *fixture = *state;
    char *memory = dirty_memory(MIB);
    struct inherited of_pool = { fixture, create_heap(fixture, MIB, 0) };
    struct inherited over = { fixture, create_over(fixture, memory, MIB, 0) };
    for (int round = 0; round < 2; round++) { /* before it is prepared, and after */
        expect_in_child(use_in_vain, &of_pool);
        expect_in_child(use_in_vain, &over);
        expect_empty(fixture, of_pool.heap);
        expect_empty(fixture, over.heap);
    }
    destroy_heap(fixture, of_pool.heap);
    destroy_heap(fixture, over.heap);
    free(memory);
}

/* --- failures --------------------------------------------------------------------------------------- */

static void a_heap_that_cannot_be_waited_for_stays(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, MIB, 0);
    faulty_backend_begin(1, 2); /* of the event, and of the stream */
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_device_heap_destroy(heap, fixture->stream));
    assert_int_equal(tarn_last_error().vendor_code, FAULTY_VENDOR_CODE);
    assert_int_equal(faulty_backend_end(), 2);
    assert_int_equal(stats_of(fixture->pool).live_count, 1);
    expect_empty(fixture, heap);
    destroy_heap(fixture, heap);
}

/* Where streams are identified each free asks for the stream's number, and one that gets none leaves its piece
 * allocated. */
static void pieces_that_could_not_be_given_back_are_the_next_time(void **state)
{
    unsigned refused_count = 0;
    for (unsigned n = 1; n <= 3; n++) {
        struct fixture fixture;
        fixture_init(&fixture);
        fixture.options.identifies_streams = true;
        fixture_create_pool(&fixture);
        tarn_device_heap *heap = create_heap(&fixture, 4 * MIB, 64 * MIB);
        expect_ok(tarn_device_heap_add(heap, MIB, fixture.stream));
        expect_ok(tarn_device_heap_add(heap, MIB, fixture.stream));
        faulty_backend_begin_call(FAULTY_CALL_STREAM_ID, n, 1);
        tarn_status status = tarn_device_heap_destroy(heap, fixture.stream);
        assert_int_equal(faulty_backend_end(), 1);
        if (status != TARN_STATUS_OK) {
            expect_status(TARN_STATUS_VENDOR_ERROR, status);
            assert_int_equal(stats_of(fixture.pool).live_count, 4 - n);
            destroy_heap(&fixture, heap);
            refused_count++;
        }
        assert_int_equal(stats_of(fixture.pool).live_count, 0);
        fixture_fini(&fixture);
    }
    assert_int_equal(refused_count, 3);
}

/* A large piece, of which something was written, and after it a small one. */
static void a_piece_that_could_not_be_added_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    unsigned refused_count = 0;
    bool has_failed = true;
    for (unsigned n = 1; has_failed; n++) {
        tarn_device_heap *heap = create_heap(fixture, 2 * MIB, 64 * MIB);
        wait_for_stream(fixture);
        faulty_backend_begin(n, 1);
        tarn_status status = tarn_device_heap_add(heap, 12 * MIB, fixture->stream);
        has_failed = faulty_backend_end() != 0;
        if (status != TARN_STATUS_OK) {
            refused_count++;
            expect_ok(tarn_device_heap_add(heap, MIB, fixture->stream));
        }
        expect_ok(tarn_device_heap_check(heap, fixture->stream));
        expect_empty(fixture, heap);
        destroy_heap(fixture, heap);
    }
    assert_true(refused_count >= 4); /* the words are cleared and written, and then the image */
}

static void an_event_that_fails_is_done_without(void **state)
{
    struct fixture *fixture = *state;
    faulty_backend_begin_call(FAULTY_CALL_EVENT_RECORD, 1, 1);
    take_waits();
    tarn_device_heap *heap = create_heap(fixture, MIB, 0);
    assert_int_equal(faulty_backend_end(), 1);
    assert_int_equal(take_waits(), 1);
    expect_ok(tarn_device_heap_reset(heap, fixture->stream));
    faulty_backend_begin_call(FAULTY_CALL_EVENT_SYNCHRONIZE, 1, 1);
    take_waits();
    destroy_heap(fixture, heap);
    assert_int_equal(faulty_backend_end(), 1);
    assert_int_equal(take_waits(), 2);
}

/* What goes wrong in a scenario. */
struct faults {
    tarn_status status;      /* of the call that meets it */
    unsigned (*count)(void); /* how often it has by now */
    unsigned seen_count;     /* the same when the last call ended */
    unsigned hidden_count;   /* of these, what no call has told */
};

/* Whether a call that gave that has met a fault. It does not fail without one. */
static bool has_met_fault(struct faults *faults, tarn_status status)
{
    unsigned met_count = faults->count() - faults->seen_count;
    faults->seen_count += met_count;
    if (status == TARN_STATUS_OK) {
        faults->hidden_count += met_count;
        return false;
    }
    expect_status(faults->status, status);
    assert_int_equal(met_count, 1);
    return true;
}

/* A call that fails does so for a reason, and works the second time, after what must be done in between. */
#define TWICE(faults, call, between)           \
    do {                                       \
        if (has_met_fault((faults), (call))) { \
            between;                           \
            expect_ok(call);                   \
        }                                      \
    } while (0)

static tarn_pool *create_scenario_pool(const struct fixture *fixture, struct faults *faults)
{
    tarn_pool *pool = NULL;
    TWICE(faults, tarn_pool_create(&fixture->options, &pool), assert_null(pool));
    return pool;
}

static void live_with_faults(struct fixture *fixture, struct faults *faults)
{
    tarn_stream stream = fixture->stream;
    tarn_device_heap *heap = NULL;
    tarn_device_heap_options options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    options.size_bytes_max = 64 * MIB;
    tarn_pool *pool = create_scenario_pool(fixture, faults);
    TWICE(faults, tarn_device_heap_create(pool, 5 * MIB, &options, stream, &heap),
          assert_null(heap));
    TWICE(faults, tarn_device_heap_check(heap, stream), (void)0);
    TWICE(faults, tarn_device_heap_add(heap, 3 * MIB, stream),
          expect_ok(tarn_device_heap_reset(heap, stream)));
    TWICE(faults, tarn_device_heap_check(heap, stream), (void)0);
    wait_for_stream(fixture);
    make_run(control_of(heap), 64, 1); /* so that headers are read, too */
    TWICE(faults, tarn_device_heap_get_stats(heap, stream, &stats),
          assert_int_equal(stats.size_bytes, 0));
    assert_int_equal(stats.large_count, 1);
    stats = (tarn_device_heap_stats)TARN_DEVICE_HEAP_STATS_INIT;
    TWICE(faults, tarn_device_heap_reset(heap, stream), (void)0);
    TWICE(faults, tarn_device_heap_get_stats(heap, stream, &stats),
          assert_int_equal(stats.size_bytes, 0));
    assert_int_equal(stats.size_bytes, 8 * MIB);
    assert_int_equal(stats.piece_count, 2);
    assert_int_equal(stats.free_page_count * PAGE, stats.capacity_bytes);
    TWICE(faults, tarn_device_heap_reset(heap, stream), (void)0);
    TWICE(faults, tarn_device_heap_destroy(heap, stream), (void)0);
    expect_ok(tarn_pool_check(pool));
    assert_int_equal(stats_of(pool).live_count, 0);
    expect_ok(tarn_pool_destroy(pool));
}

static void each_call_of_the_backend_fails(void **state)
{
    unsigned n = 1;
    for (;; n++) {
        struct fixture fixture;
        struct faults faults = { TARN_STATUS_VENDOR_ERROR, faulty_backend_failed_count, 0, 0 };
        fixture_init(&fixture);
        fixture.options.backend = &fixture.backend;
        faulty_backend_begin(n, 1);
        live_with_faults(&fixture, &faults);
        unsigned failed_count = faulty_backend_end();
        bool is_event = faulty_backend_failed_call() == FAULTY_CALL_EVENT_RECORD ||
                        faulty_backend_failed_call() == FAULTY_CALL_EVENT_SYNCHRONIZE;
        assert_int_equal(faults.hidden_count, failed_count == 1 && is_event);
        fixture_fini(&fixture);
        if (failed_count == 0) break;
    }
    print_message("%u calls, each failed once\n", n - 1);
    assert_true(n > 20);
}

static unsigned host_fault_count(void)
{
    return host_memory_faults_happened();
}

static void each_host_allocation_fails(void **state)
{
    unsigned n = 1;
    for (;; n++) {
        struct fixture fixture;
        struct faults faults = { TARN_STATUS_OUT_OF_HOST_MEMORY, host_fault_count, 0, 0 };
        fixture_init(&fixture);
        fixture.options.backend = &fixture.backend;
        wait_for_stream(&fixture);
        size_t resting_before = tn_pool_registry_resting_count();
        host_memory_faults_begin(n);
        live_with_faults(&fixture, &faults);
        wait_for_stream(&fixture);
        long rested = (long)(tn_pool_registry_resting_count() - resting_before);
        assert_int_equal(host_memory_faults_outstanding(), rested);
        bool has_failed = host_memory_faults_end();
        fixture_fini(&fixture);
        if (!has_failed) break;
    }
    print_message("%u host allocations, each failed once\n", n - 1);
    assert_true(n > 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_that_is_destroyed_by_force_takes_its_heaps_with_it),
        TEST(a_forked_child_has_no_heaps),
        TEST(a_heap_that_cannot_be_waited_for_stays),
        cmocka_unit_test(pieces_that_could_not_be_given_back_are_the_next_time),
        TEST(a_piece_that_could_not_be_added_leaves_nothing),
        TEST(an_event_that_fails_is_done_without),
        cmocka_unit_test(each_call_of_the_backend_fails),
        cmocka_unit_test(each_host_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
