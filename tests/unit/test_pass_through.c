/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A pool that passes through: one acquire for each allocation, one release for each free, and all else as
 * ever. And TARN_DISABLE, which makes every pool such a one.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"
#include "harness/test_backend.h"

#include "tarn/host.h"

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

struct fixture {
    struct test_backend backend;
    tarn_backend opened;
    tarn_pool_options options;
    tarn_pool *pool;
};

static tarn_stream stream_number(uintptr_t number)
{
    return (tarn_stream)(number << 8);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    unsetenv("TARN_DISABLE");
    memset(&fixture, 0, sizeof fixture);
    test_backend_init(&fixture.backend);
    fixture.backend.has_streams = true;
    fixture.opened = test_backend_open(&fixture.backend);
    fixture.options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture.options.backend = &fixture.opened;
    fixture.options.passes_through = true;
    *state = &fixture;
    return 0;
}

static void create(struct fixture *fixture)
{
    expect_ok(tarn_pool_create(&fixture->options, &fixture->pool));
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    unsetenv("TARN_DISABLE");
    if (fixture->pool) {
        expect_ok(tarn_pool_check(fixture->pool));
        expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
    }
    assert_int_equal(fixture->backend.piece_count, 0);
    assert_int_equal(fixture->backend.misuse_count, 0);
    return 0;
}

static char *alloc(struct fixture *fixture, size_t size_bytes)
{
    void *address;
    expect_ok(tarn_pool_alloc(fixture->pool, size_bytes, &address));
    expect_ok(tarn_pool_check(fixture->pool));
    return address;
}

static void give_back(struct fixture *fixture, void *address)
{
    expect_ok(tarn_pool_free(fixture->pool, address));
    expect_ok(tarn_pool_check(fixture->pool));
}

/* So many calls of the vendor were made, and so many bytes are out. */
static void expect_calls(const struct fixture *fixture, unsigned acquire_count,
                         unsigned release_count, size_t held_bytes)
{
    assert_int_equal(fixture->backend.acquire_count, acquire_count);
    assert_int_equal(fixture->backend.release_count, release_count);
    assert_int_equal(fixture->backend.held_bytes, held_bytes);
    tarn_stats stats = stats_of(fixture->pool);
    assert_int_equal(stats.vendor_alloc_count, acquire_count);
    assert_int_equal(stats.vendor_free_count, release_count);
    assert_int_equal(stats.footprint_bytes, held_bytes);
    assert_int_equal(stats.static_pool_count, acquire_count - release_count);
    assert_int_equal(stats.free_bytes, 0);
    assert_int_equal(stats.free_region_count, 0);
}

/* --- one call for one ------------------------------------------------------------------------ */

static void each_allocation_is_one_of_the_vendor_of_just_its_size(void **state)
{
    struct fixture *fixture = *state;
    const size_t sizes[] = { 1, 255, 256, 257, 1023, 1024, 1025, 5 * MIB + 3, 64 * MIB };
    enum {
        COUNT = sizeof sizes / sizeof *sizes
    };
    void *addresses[COUNT];
    size_t held_bytes = 0;
    create(fixture);
    expect_calls(fixture, 0, 0, 0);
    for (unsigned i = 0; i < COUNT; i++) {
        addresses[i] = alloc(fixture, sizes[i]);
        held_bytes += sizes[i];
        expect_calls(fixture, i + 1, 0, held_bytes);
        assert_int_equal(fixture->backend.asked_bytes[i], sizes[i]);
        assert_int_equal(fixture->backend.pieces[i].address, (uintptr_t)addresses[i]);
    }
    assert_int_equal(stats_of(fixture->pool).requested_bytes, held_bytes);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned freed = (i * 5) % COUNT;
        give_back(fixture, addresses[freed]);
        held_bytes -= sizes[freed];
        expect_calls(fixture, COUNT, i + 1, held_bytes);
    }
    assert_int_equal(stats_of(fixture->pool).live_count, 0);
    assert_int_equal(stats_of(fixture->pool).used_bytes, 0);
}

/* As large ones are kept apart by the vendor, small ones are close: a chunk of one would reach into the next. */
static void allocations_that_are_nearer_than_a_chunk_are_told_apart(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *addresses[8];
    uintptr_t base = (uintptr_t)1 << 57;
    for (unsigned i = 0; i < 8; i++) {
        fixture->backend.next_address = base + (uintptr_t)(7 - i) * 256;
        addresses[i] = alloc(fixture, 200);
        assert_int_equal((uintptr_t)addresses[i], base + (uintptr_t)(7 - i) * 256);
    }
    for (unsigned i = 0; i < 8; i++) {
        tarn_allocation found = TARN_ALLOCATION_INIT;
        expect_ok(tarn_pool_find(addresses[i] + 199, &found));
        assert_ptr_equal(found.address, addresses[i]);
        assert_int_equal(found.size_bytes, 200);
        assert_int_equal(found.usable_bytes, 200);
        assert_ptr_equal(found.static_pool_base, addresses[i]);
        assert_int_equal(found.static_pool_bytes, 200);
        expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_find(addresses[i] + 200, &found));
        expect_status(TARN_STATUS_INTERIOR_ADDRESS,
                      tarn_pool_free(fixture->pool, addresses[i] + 100));
    }
    FILE *nowhere = fopen("/dev/null", "w");
    expect_ok(tarn_pool_dump(fixture->pool, TARN_DUMP_FORMAT_JSON, nowhere));
    fclose(nowhere);
    for (unsigned i = 0; i < 8; i += 2)
        give_back(fixture, addresses[i]);
    for (unsigned i = 1; i < 8; i += 2)
        give_back(fixture, addresses[i]);
    expect_calls(fixture, 8, 8, 0);
}

static void nothing_that_was_freed_is_handed_out(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    for (unsigned i = 0; i < 100; i++) {
        give_back(fixture, alloc(fixture, 1000));
        expect_calls(fixture, i + 1, i + 1, 0);
    }
}

static void alignments_take_one_call_too(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.misalignment_bytes = 256;
    create(fixture);
    unsigned count = 0;
    for (size_t alignment = 1; alignment <= 2 * MIB; alignment *= 2) {
        void *address;
        expect_ok(tarn_pool_alloc_aligned(fixture->pool, 1000, alignment, &address));
        expect_ok(tarn_pool_check(fixture->pool));
        assert_int_equal((uintptr_t)address % (alignment > 256 ? alignment : 256), 0);
        size_t wanted = alignment > 256 ? 1000 + alignment - 256 : 1000;
        assert_int_equal(fixture->backend.asked_bytes[count], wanted);
        tarn_allocation found = TARN_ALLOCATION_INIT;
        expect_ok(tarn_pool_find((char *)address + 999, &found));
        assert_ptr_equal(found.address, address);
        assert_int_equal(found.usable_bytes, 1000);
        assert_int_equal(found.static_pool_bytes, wanted);
        count++;
        expect_calls(fixture, count, count - 1, wanted);
        give_back(fixture, address);
        expect_calls(fixture, count, count, 0);
    }
    void *address;
    expect_status(TARN_STATUS_OUT_OF_MEMORY,
                  tarn_pool_alloc_aligned(fixture->pool, 4 * KIB, (size_t)1 << 63, &address));
}

static void a_vendor_that_aligns_to_less_is_asked_for_more(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.alignment_bytes = 64;
    fixture->backend.misalignment_bytes = 64;
    create(fixture);
    char *address = alloc(fixture, 100);
    assert_int_equal((uintptr_t)address % 256, 0);
    expect_calls(fixture, 1, 0, 100 + 256 - 64);
    give_back(fixture, address);
}

static void zero_bytes_are_no_call(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    assert_null(alloc(fixture, 0));
    give_back(fixture, NULL);
    expect_calls(fixture, 0, 0, 0);
    assert_int_equal(stats_of(fixture->pool).alloc_count, 1);
}

/* --- options that mean nothing ----------------------------------------------------------------- */

static void options_of_growth_and_of_giving_back_mean_nothing(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.range_granularity_bytes = 4 * KIB;
    fixture->opened = test_backend_open(&fixture->backend);
    fixture->options.initial_bytes = TARN_INITIAL_ALL; /* of which this backend tells nothing */
    fixture->options.takes_initial_at_once = true;
    fixture->options.growth_factor = 8;
    fixture->options.release_threshold_bytes = SIZE_MAX;
    fixture->options.returns_when_empty = true;
    fixture->options.contiguous = true;
    fixture->options.is_shareable = true;
    create(fixture);
    assert_int_equal(fixture->backend.range_count, 0);
    char *one = alloc(fixture, 3000), *other = alloc(fixture, 300);
    expect_calls(fixture, 2, 0, 3300);
    give_back(fixture, one);
    expect_calls(fixture, 2, 1, 300);
    give_back(fixture, other);
    expect_calls(fixture, 2, 2, 0);
    size_t released_bytes = 1;
    expect_ok(tarn_pool_trim(fixture->pool, 0, &released_bytes));
    assert_int_equal(released_bytes, 0);
}

/* --- what goes on as before ------------------------------------------------------------------ */

static void the_limit_holds_to_the_byte(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 10000;
    create(fixture);
    char *one = alloc(fixture, 6001);
    void *address;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(fixture->pool, 4000, &address));
    expect_calls(fixture, 1, 0, 6001);
    char *other = alloc(fixture, 3999);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(fixture->pool, 1, &address));
    give_back(fixture, one);
    give_back(fixture, alloc(fixture, 6001));
    give_back(fixture, other);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(fixture->pool, 10001, &address));
    give_back(fixture, alloc(fixture, 10000));
    assert_int_equal(stats_of(fixture->pool).failed_count, 3);
}

static void what_the_vendor_refuses_is_refused(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    void *address;
    fixture->backend.capacity_bytes = 5000;
    fixture->backend.allocation_bytes_max = 8000;
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc(fixture->pool, 5001, &address));
    give_back(fixture, alloc(fixture, 5000));
    fixture->backend.fail_acquire_at = 1;
    fixture->backend.failure = TARN_STATUS_VENDOR_ERROR;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_alloc(fixture->pool, 10, &address));
    expect_ok(tarn_pool_check(fixture->pool));
    assert_int_equal(stats_of(fixture->pool).footprint_bytes, 0);
}

static void wrong_frees_are_told(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *address = alloc(fixture, 2000);
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(fixture->pool, address + 1));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(fixture->pool, address + 1024));
    give_back(fixture, address);
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(fixture->pool, address));
    expect_calls(fixture, 1, 1, 0);
    assert_int_equal(stats_of(fixture->pool).failed_count, 3);
}

static void leaks_are_told(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    alloc(fixture, 2000);
    alloc(fixture, 3);
    expect_status(TARN_STATUS_LIVE_REGIONS, tarn_pool_destroy(fixture->pool));
    tarn_leaks leaks = TARN_LEAKS_INIT;
    expect_ok(tarn_pool_destroy_forced(fixture->pool, &leaks));
    fixture->pool = NULL;
    assert_int_equal(leaks.allocation_count, 2);
    assert_int_equal(leaks.requested_bytes, 2003);
    assert_int_equal(fixture->backend.release_count, 2);
}

struct told {
    unsigned created_count, destroyed_count;
    size_t size_bytes; /* of the last */
    void *base;
};

static void note_created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct told *told = user;
    told->created_count++;
    told->base = base;
    told->size_bytes = size_bytes;
}

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct told *told = user;
    told->destroyed_count++;
    told->base = base;
    told->size_bytes = size_bytes;
}

static void each_one_is_told_of(void **state)
{
    struct fixture *fixture = *state;
    struct told told = { 0 };
    fixture->options.on_static_pool_created = note_created;
    fixture->options.on_static_pool_destroyed = note_destroyed;
    fixture->options.user = &told;
    create(fixture);
    for (unsigned i = 0; i < 3; i++) {
        char *address = alloc(fixture, 700 + i);
        assert_int_equal(told.created_count, i + 1);
        assert_int_equal(told.destroyed_count, i);
        assert_int_equal(told.size_bytes, 700 + i);
        assert_ptr_equal(told.base, address);
        told.base = NULL;
        give_back(fixture, address);
        assert_int_equal(told.destroyed_count, i + 1);
        assert_ptr_equal(told.base, address);
    }
}

static void a_piece_that_the_vendor_does_not_take_is_lost_and_the_free_succeeds(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *address = alloc(fixture, 700);
    fixture->backend.fail_release = true;
    give_back(fixture, address);
    fixture->backend.fail_release = false;
    assert_int_equal(stats_of(fixture->pool).footprint_bytes, 0);
    give_back(fixture, alloc(fixture, 700));
}

/* Where an allocation was made is remembered, and nothing lies beside it. */
static void debug_mode_remembers_sites_alone(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.debug =
        TARN_DEBUG_SITES | TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE;
    create(fixture);
    tarn_label_push("here");
    char *address = alloc(fixture, 700);
    tarn_label_pop();
    expect_calls(fixture, 1, 0, 700);
    char text[4096] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    expect_ok(tarn_pool_report_leaks(fixture->pool, file));
    fclose(file);
    assert_non_null(strstr(text, "here"));
    assert_int_equal(stats_of(fixture->pool).used_bytes, 700);
    give_back(fixture, address);
    expect_calls(fixture, 1, 1, 0);
}

/* Under the address sanitizer what is free is forbidden: no byte beside it, nor when it has gone back. */
static void host_memory_is_as_good_as_new_when_it_comes_again(void **state)
{
    struct fixture *fixture = *state;
    expect_ok(tarn_host_backend_open(NULL, &fixture->opened));
    fixture->options.chunk_bytes = 64 * KIB;
    create(fixture);
    for (size_t size_bytes = 1; size_bytes < 20000; size_bytes += 777) {
        char *one = alloc(fixture, size_bytes), *other = alloc(fixture, 5000);
        memset(one, 1, size_bytes);
        memset(other, 2, 5000);
        give_back(fixture, one);
        memset(other, 3, 5000);
        give_back(fixture, other);
        char *plain = malloc(200000);
        memset(plain, 4, 200000);
        free(plain);
    }
    expect_ok(tarn_pool_destroy(fixture->pool));
    fixture->pool = NULL;
    tarn_backend_close(&fixture->opened);
}

/* --- streams --------------------------------------------------------------------------------- */

static void frees_on_any_streams_give_back_at_once(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    const tarn_stream streams[] = { stream_number(1), stream_number(2), stream_number(3) };
    unsigned count = 0;
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 3; i++) {
            void *address;
            expect_ok(tarn_pool_alloc_on(fixture->pool, 1000, streams[i], &address));
            count++;
            if (round == 0) expect_ok(tarn_pool_free_on(fixture->pool, address, streams[i]));
            if (round == 1) expect_ok(tarn_pool_free_on(fixture->pool, address, streams[2 - i]));
            if (round == 2) expect_ok(tarn_pool_free_after(fixture->pool, address, streams, 3));
            if (round == 3) expect_ok(tarn_pool_free_after(fixture->pool, address, NULL, 0));
            expect_ok(tarn_pool_check(fixture->pool));
            expect_calls(fixture, count, count, 0);
        }
    }
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_EVENT_RECORD], 0);
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], 0);
    for (unsigned i = 0; i < 3; i++)
        expect_ok(tarn_stream_retire(streams[i]));
}

static void more_streams_than_a_pool_knows_are_served(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    for (unsigned i = 1; i <= 100; i++) {
        void *address;
        expect_ok(tarn_pool_alloc_on(fixture->pool, 1000, stream_number(i), &address));
        expect_ok(tarn_pool_free_on(fixture->pool, address, stream_number(i)));
        expect_calls(fixture, i, i, 0);
        expect_ok(tarn_stream_retire(stream_number(i)));
    }
}

/* The vendor would call the capture off, and the graph uses what was freed there. */
static void what_a_capture_freed_goes_back_with_the_graph(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    tarn_stream captured = stream_number(1), other = stream_number(2);
    void *before, *addresses[3], *meanwhile;
    expect_ok(tarn_pool_alloc_on(fixture->pool, 100, other, &before));
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(fixture->pool, captured, &capture));
    for (unsigned i = 0; i < 3; i++) {
        expect_ok(tarn_pool_alloc_on(fixture->pool, 1000, captured, &addresses[i]));
        if (i < 2) expect_ok(tarn_pool_free_on(fixture->pool, addresses[i], captured));
        expect_ok(tarn_pool_check(fixture->pool));
    }
    expect_ok(tarn_pool_alloc_on(fixture->pool, 10, other, &meanwhile));
    expect_ok(tarn_pool_free_on(fixture->pool, meanwhile, other));
    assert_int_equal(fixture->backend.acquire_count, 5);
    assert_int_equal(fixture->backend.release_count, 0);
    expect_ok(tarn_capture_end(fixture->pool, capture));
    assert_int_equal(fixture->backend.release_count, 1); /* what the other stream freed */
    expect_ok(tarn_pool_free_on(fixture->pool, before, other));
    assert_int_equal(fixture->backend.release_count, 2);
    expect_ok(tarn_pool_check(fixture->pool));
    expect_ok(tarn_capture_release(fixture->pool, capture, &captured, 1));
    assert_int_equal(fixture->backend.release_count, 4);
    assert_int_equal(fixture->backend.held_bytes, 1000);
    expect_ok(tarn_pool_free_on(fixture->pool, addresses[2], captured));
    assert_int_equal(fixture->backend.release_count, 5);
}

/* --- host memory ----------------------------------------------------------------------------- */

static void host_memory_may_fail_at_any_allocation(void **state)
{
    struct fixture *fixture = *state;
    unsigned n = 1;
    for (;; n++) {
        create(fixture);
        unsigned acquired_before = fixture->backend.acquire_count;
        host_memory_faults_begin(n);
        void *addresses[40] = { NULL };
        tarn_status status = TARN_STATUS_OK;
        for (unsigned i = 0; i < 40 && status == TARN_STATUS_OK; i++)
            status = tarn_pool_alloc_on(fixture->pool, 1000, stream_number(i % 3), &addresses[i]);
        bool happened = host_memory_faults_end();
        assert_int_equal(status, happened ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        expect_ok(tarn_pool_check(fixture->pool));
        tarn_stats stats = stats_of(fixture->pool);
        assert_int_equal(fixture->backend.piece_count, stats.live_count);
        assert_int_equal(stats.footprint_bytes, 1000 * stats.live_count);
        for (unsigned i = 0; i < 40; i++)
            expect_ok(tarn_pool_free_on(fixture->pool, addresses[i], stream_number(i % 3)));
        assert_int_equal(fixture->backend.piece_count, 0);
        assert_true(fixture->backend.acquire_count - acquired_before <= 40);
        expect_ok(tarn_pool_destroy(fixture->pool));
        fixture->pool = NULL;
        if (!happened) break;
    }
    assert_true(n > 5);
}

/* --- at random, and by several threads -------------------------------------------------------- */

enum {
    SLOT_COUNT = 60,
    STEP_COUNT = 4000
};

static void what_is_out_is_what_is_live(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    struct random random = random_init(random_seed(1));
    struct {
        char *address;
        size_t size_bytes, alignment_bytes;
    } slots[SLOT_COUNT] = { { NULL, 0, 0 } };
    unsigned alloc_count = 0, free_count = 0;
    size_t live_bytes = 0, live_count = 0;
    for (unsigned i = 0; i < STEP_COUNT; i++) {
        unsigned slot = (unsigned)random_below(&random, SLOT_COUNT);
        tarn_stream stream = stream_number(random_below(&random, 4));
        if (slots[slot].address) {
            expect_ok(tarn_pool_free_on(fixture->pool, slots[slot].address, stream));
            expect_status(TARN_STATUS_FOREIGN_ADDRESS,
                          tarn_pool_free_on(fixture->pool, slots[slot].address, stream));
            slots[slot].address = NULL;
            free_count++;
            live_bytes -= slots[slot].size_bytes;
            live_count--;
        } else {
            size_t size_bytes = random_size(&random, 24);
            size_t alignment_bytes = (size_t)1 << random_below(&random, 9);
            void *address;
            expect_ok(tarn_pool_alloc_aligned_on(fixture->pool, size_bytes, alignment_bytes, stream,
                                                 &address));
            slots[slot].address = address;
            slots[slot].size_bytes = size_bytes;
            alloc_count++;
            live_bytes += size_bytes;
            live_count++;
        }
        expect_calls(fixture, alloc_count, free_count, live_bytes);
        assert_int_equal(fixture->backend.piece_count, live_count);
        assert_int_equal(stats_of(fixture->pool).requested_bytes, live_bytes);
        if (i % 16 == 0) expect_ok(tarn_pool_check(fixture->pool));
    }
}

static void *churn(void *argument)
{
    struct fixture *fixture = argument;
    for (unsigned i = 0; i < 2000; i++) {
        void *address;
        if (tarn_pool_alloc(fixture->pool, 100 + i, &address) != TARN_STATUS_OK) return argument;
        if (tarn_pool_free(fixture->pool, address) != TARN_STATUS_OK) return argument;
    }
    return NULL;
}

/* Whoever finds another at the vendor leaves the giving back to that one. */
static void nothing_is_left_when_all_threads_have_freed(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, fixture), 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    expect_calls(fixture, 8000, 8000, 0);
}

struct meanwhile {
    struct fixture *fixture;
    void *address;
};

static void *free_it(void *argument)
{
    const struct meanwhile *meanwhile = argument;
    tarn_status status = tarn_pool_free(meanwhile->fixture->pool, meanwhile->address);
    return status == TARN_STATUS_OK ? NULL : argument;
}

/* The other thread does not wait for the vendor, which would wait for it here. */
static void free_in_another_thread(void *context)
{
    struct meanwhile *meanwhile = context;
    pthread_t thread;
    void *failed;
    meanwhile->fixture->backend.while_acquiring = NULL;
    assert_int_equal(pthread_create(&thread, NULL, free_it, meanwhile), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(meanwhile->fixture->backend.release_count, 0);
}

static void what_is_freed_while_another_allocates_goes_back_after_that(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    struct meanwhile meanwhile = { fixture, alloc(fixture, 500) };
    fixture->backend.context = &meanwhile;
    fixture->backend.while_acquiring = free_in_another_thread;
    char *address = alloc(fixture, 500);
    expect_calls(fixture, 2, 1, 500);
    give_back(fixture, address);
}

static unsigned fail_at_something_else_calls;

static void fail_at_something_else(void *user, void *base, size_t size_bytes, uint64_t id)
{
    (void)user, (void)base, (void)size_bytes, (void)id;
    (void)tarn_free(&fail_at_something_else_calls);
    fail_at_something_else_calls++;
}

/* What a free has left is given back by an allocation that fails, which is still the last error. */
static void what_is_given_back_after_a_failure_does_not_hide_it(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.on_static_pool_destroyed = fail_at_something_else;
    create(fixture);
    static struct meanwhile meanwhile;
    meanwhile = (struct meanwhile){ fixture, alloc(fixture, 1000) };
    void *refused;
    fixture->backend.while_acquiring = free_in_another_thread;
    fixture->backend.context = &meanwhile;
    fixture->backend.fail_acquire_at = 1;
    fixture->backend.failure = TARN_STATUS_VENDOR_ERROR;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_alloc(fixture->pool, 1000, &refused));
    assert_int_equal(fail_at_something_else_calls, 1);
    assert_int_equal(tarn_last_error().status, TARN_STATUS_VENDOR_ERROR);
}

/* --- the environment ------------------------------------------------------------------------- */

static void the_environment_disables_every_pool(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.passes_through = false;
    fixture->options.initial_bytes = MIB;
    setenv("TARN_DISABLE", "1", 1);
    create(fixture);
    unsetenv("TARN_DISABLE"); /* which counts when the pool is created */
    give_back(fixture, alloc(fixture, 100));
    expect_calls(fixture, 1, 1, 0);
}

static void the_environment_enables_nothing(void **state)
{
    struct fixture *fixture = *state;
    setenv("TARN_DISABLE", "0", 1);
    create(fixture);
    give_back(fixture, alloc(fixture, 100));
    expect_calls(fixture, 1, 1, 0);
    expect_ok(tarn_pool_destroy(fixture->pool));

    setenv("TARN_DISABLE", "", 1);
    fixture->options.passes_through = false;
    create(fixture);
    give_back(fixture, alloc(fixture, 100));
    assert_int_equal(fixture->backend.release_count, 1);
    assert_int_equal(stats_of(fixture->pool).footprint_bytes, TARN_INITIAL_BYTES_DEFAULT);
}

static void a_value_that_does_not_parse_is_named(void **state)
{
    struct fixture *fixture = *state;
    const char *const values[] = { "2", "yes", "01", " 1", "1 " };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        setenv("TARN_DISABLE", values[i], 1);
        expect_status(TARN_STATUS_INVALID_ENVIRONMENT,
                      tarn_pool_create(&fixture->options, &fixture->pool));
        expect_message("TARN_DISABLE");
        assert_null(fixture->pool);
    }
}

/* There is nothing that it could pass through to. */
static void a_pool_over_memory_of_the_callers_stays_one(void **state)
{
    struct fixture *fixture = *state;
    setenv("TARN_DISABLE", "1", 1);
    expect_ok(tarn_pool_create_over((void *)((uintptr_t)1 << 56), MIB, NULL, &fixture->pool));
    char *one = alloc(fixture, 100);
    give_back(fixture, one);
    assert_ptr_equal(alloc(fixture, 100), one);
    assert_int_equal(stats_of(fixture->pool).footprint_bytes, MIB);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(each_allocation_is_one_of_the_vendor_of_just_its_size),
        TEST(allocations_that_are_nearer_than_a_chunk_are_told_apart),
        TEST(nothing_that_was_freed_is_handed_out),
        TEST(alignments_take_one_call_too),
        TEST(a_vendor_that_aligns_to_less_is_asked_for_more),
        TEST(zero_bytes_are_no_call),
        TEST(options_of_growth_and_of_giving_back_mean_nothing),
        TEST(the_limit_holds_to_the_byte),
        TEST(what_the_vendor_refuses_is_refused),
        TEST(wrong_frees_are_told),
        TEST(leaks_are_told),
        TEST(each_one_is_told_of),
        TEST(a_piece_that_the_vendor_does_not_take_is_lost_and_the_free_succeeds),
        TEST(debug_mode_remembers_sites_alone),
        TEST(host_memory_is_as_good_as_new_when_it_comes_again),
        TEST(frees_on_any_streams_give_back_at_once),
        TEST(more_streams_than_a_pool_knows_are_served),
        TEST(what_a_capture_freed_goes_back_with_the_graph),
        TEST(host_memory_may_fail_at_any_allocation),
        TEST(what_is_out_is_what_is_live),
        TEST(nothing_is_left_when_all_threads_have_freed),
        TEST(what_is_freed_while_another_allocates_goes_back_after_that),
        TEST(what_is_given_back_after_a_failure_does_not_hide_it),
        TEST(the_environment_disables_every_pool),
        TEST(the_environment_enables_nothing),
        TEST(a_value_that_does_not_parse_is_named),
        TEST(a_pool_over_memory_of_the_callers_stays_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
