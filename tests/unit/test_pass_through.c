/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A pool that passes through: one acquire for each allocation, one release for each free, and all else as
 * ever. And TARN_DISABLE, which makes every pool such a one.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/host_memory_faults.h"
#include "harness/random.h"

#include "tarn/host.h"
#include "pool_fixture.h"

static tarn_stream stream_number(uintptr_t number)
{
    return (tarn_stream)(number << 8);
}

static int set_up_passing(void **state)
{
    unsetenv("TARN_DISABLE");
    begin_fixture(true);
    options.passes_through = true;
    checks_every_step = true;
    return 0;
}

static int tear_down_passing(void **state)
{
    unsetenv("TARN_DISABLE");
    return tear_down(state);
}

/* So many calls of the vendor were made, and so many bytes are out. */
static void expect_calls(unsigned acquire_count, unsigned release_count, size_t held_bytes)
{
    assert_int_equal(backend.acquire_count, acquire_count);
    assert_int_equal(backend.release_count, release_count);
    assert_int_equal(backend.held_bytes, held_bytes);
    tarn_stats stats = stats_of(pool);
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
    const size_t sizes[] = { 1, 255, 256, 257, 1023, 1024, 1025, 5 * MIB + 3, 64 * MIB };
    enum {
        COUNT = sizeof sizes / sizeof *sizes
    };
    void *addresses[COUNT];
    size_t held_bytes = 0;
    create();
    expect_calls(0, 0, 0);
    for (unsigned i = 0; i < COUNT; i++) {
        addresses[i] = alloc(sizes[i]);
        held_bytes += sizes[i];
        expect_calls(i + 1, 0, held_bytes);
        assert_int_equal(backend.asked_bytes[i], sizes[i]);
        assert_int_equal(backend.pieces[i].address, (uintptr_t)addresses[i]);
    }
    assert_int_equal(stats_of(pool).requested_bytes, held_bytes);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned freed = (i * 5) % COUNT;
        free_one(addresses[freed]);
        held_bytes -= sizes[freed];
        expect_calls(COUNT, i + 1, held_bytes);
    }
    assert_int_equal(stats_of(pool).live_count, 0);
    assert_int_equal(stats_of(pool).used_bytes, 0);
}

/* As large ones are kept apart by the vendor, small ones are close: a chunk of one would reach into the next. */
static void allocations_that_are_nearer_than_a_chunk_are_told_apart(void **state)
{
    create();
    char *addresses[8];
    uintptr_t base = (uintptr_t)1 << 57;
    for (unsigned i = 0; i < 8; i++) {
        backend.next_address = base + (uintptr_t)(7 - i) * 256;
        addresses[i] = alloc(200);
        assert_int_equal((uintptr_t)addresses[i], base + (uintptr_t)(7 - i) * 256);
    }
    for (unsigned i = 0; i < 8; i++) {
        tarn_allocation found = found_at(addresses[i] + 199);
        assert_ptr_equal(found.address, addresses[i]);
        assert_int_equal(found.size_bytes, 200);
        assert_int_equal(found.usable_bytes, 200);
        assert_ptr_equal(found.static_pool_base, addresses[i]);
        assert_int_equal(found.static_pool_bytes, 200);
        expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_find(addresses[i] + 200, &found));
        expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, addresses[i] + 100));
    }
    FILE *nowhere = fopen("/dev/null", "w");
    expect_ok(tarn_pool_dump(pool, TARN_DUMP_FORMAT_JSON, nowhere));
    fclose(nowhere);
    for (unsigned i = 0; i < 8; i += 2)
        free_one(addresses[i]);
    for (unsigned i = 1; i < 8; i += 2)
        free_one(addresses[i]);
    expect_calls(8, 8, 0);
}

static void nothing_that_was_freed_is_handed_out(void **state)
{
    create();
    for (unsigned i = 0; i < 100; i++) {
        free_one(alloc(1000));
        expect_calls(i + 1, i + 1, 0);
    }
}

static void alignments_take_one_call_too(void **state)
{
    backend.misalignment_bytes = 256;
    create();
    unsigned count = 0;
    for (size_t alignment = 1; alignment <= 2 * MIB; alignment *= 2) {
        void *address;
        expect_ok(tarn_pool_alloc_aligned(pool, 1000, alignment, &address));
        expect_ok(tarn_pool_check(pool));
        assert_int_equal((uintptr_t)address % (alignment > 256 ? alignment : 256), 0);
        size_t wanted = alignment > 256 ? 1000 + alignment - 256 : 1000;
        assert_int_equal(backend.asked_bytes[count], wanted);
        tarn_allocation found = found_at((char *)address + 999);
        assert_ptr_equal(found.address, address);
        assert_int_equal(found.usable_bytes, 1000);
        assert_int_equal(found.static_pool_bytes, wanted);
        count++;
        expect_calls(count, count - 1, wanted);
        free_one(address);
        expect_calls(count, count, 0);
    }
    void *address;
    expect_status(TARN_STATUS_OUT_OF_MEMORY,
                  tarn_pool_alloc_aligned(pool, 4 * KIB, (size_t)1 << 63, &address));
}

static void a_vendor_that_aligns_to_less_is_asked_for_more(void **state)
{
    backend.alignment_bytes = 64;
    backend.misalignment_bytes = 64;
    create();
    char *address = alloc(100);
    assert_int_equal((uintptr_t)address % 256, 0);
    expect_calls(1, 0, 100 + 256 - 64);
    free_one(address);
}

static void zero_bytes_are_no_call(void **state)
{
    create();
    assert_null(alloc(0));
    free_one(NULL);
    expect_calls(0, 0, 0);
    assert_int_equal(stats_of(pool).alloc_count, 1);
}

/* --- options that mean nothing ----------------------------------------------------------------- */

static void options_of_growth_and_of_giving_back_mean_nothing(void **state)
{
    backend.range_granularity_bytes = 4 * KIB;
    opened = test_backend_open(&backend);
    options.initial_bytes = TARN_INITIAL_ALL; /* of which this backend tells nothing */
    options.takes_initial_at_once = true;
    options.growth_factor = 8;
    options.release_threshold_bytes = SIZE_MAX;
    options.returns_when_empty = true;
    options.contiguous = true;
    options.is_shareable = true;
    create();
    assert_int_equal(backend.range_count, 0);
    char *one = alloc(3000), *other = alloc(300);
    expect_calls(2, 0, 3300);
    free_one(one);
    expect_calls(2, 1, 300);
    free_one(other);
    expect_calls(2, 2, 0);
    assert_int_equal(trim(0), 0);
}

/* --- what goes on as before ------------------------------------------------------------------ */

static void the_limit_holds_to_the_byte(void **state)
{
    options.limit_bytes = 10000;
    create();
    char *one = alloc(6001);
    expect_refused(TARN_STATUS_OVER_LIMIT, 4000);
    expect_calls(1, 0, 6001);
    char *other = alloc(3999);
    expect_refused(TARN_STATUS_OVER_LIMIT, 1);
    free_one(one);
    free_one(alloc(6001));
    free_one(other);
    expect_refused(TARN_STATUS_OVER_LIMIT, 10001);
    free_one(alloc(10000));
    assert_int_equal(stats_of(pool).failed_count, 3);
}

static void what_the_vendor_refuses_is_refused(void **state)
{
    create();
    backend.capacity_bytes = 5000;
    backend.allocation_bytes_max = 8000;
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 5001);
    free_one(alloc(5000));
    backend.fail_acquire_at = 1;
    backend.failure = TARN_STATUS_VENDOR_ERROR;
    expect_refused(TARN_STATUS_VENDOR_ERROR, 10);
    expect_ok(tarn_pool_check(pool));
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
}

static void wrong_frees_are_told(void **state)
{
    create();
    char *address = alloc(2000);
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, address + 1));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, address + 1024));
    free_one(address);
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, address));
    expect_calls(1, 1, 0);
    assert_int_equal(stats_of(pool).failed_count, 3);
}

static void leaks_are_told(void **state)
{
    create();
    alloc(2000);
    alloc(3);
    expect_status(TARN_STATUS_LIVE_REGIONS, tarn_pool_destroy(pool));
    tarn_leaks leaks = TARN_LEAKS_INIT;
    expect_ok(tarn_pool_destroy_forced(pool, &leaks));
    pool = NULL;
    assert_int_equal(leaks.allocation_count, 2);
    assert_int_equal(leaks.requested_bytes, 2003);
    assert_int_equal(backend.release_count, 2);
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
    struct told told = { 0 };
    options.on_static_pool_created = note_created;
    options.on_static_pool_destroyed = note_destroyed;
    options.user = &told;
    create();
    for (unsigned i = 0; i < 3; i++) {
        char *address = alloc(700 + i);
        assert_int_equal(told.created_count, i + 1);
        assert_int_equal(told.destroyed_count, i);
        assert_int_equal(told.size_bytes, 700 + i);
        assert_ptr_equal(told.base, address);
        told.base = NULL;
        free_one(address);
        assert_int_equal(told.destroyed_count, i + 1);
        assert_ptr_equal(told.base, address);
    }
}

static void a_piece_that_the_vendor_does_not_take_is_used_again(void **state)
{
    create();
    char *address = alloc(700);
    backend.fail_release = true;
    free_one(address);
    assert_int_equal(stats_of(pool).footprint_bytes, 700);
    assert_int_equal(stats_of(pool).vendor_refusal_count, 1);
    assert_ptr_equal(alloc(650), address);
    backend.fail_release = false;
    free_one(address);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
}

/* Where an allocation was made is remembered, and nothing lies beside it. */
static void debug_mode_remembers_sites_alone(void **state)
{
    options.debug = TARN_DEBUG_SITES | TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE;
    create();
    tarn_label_push("here");
    char *address = alloc(700);
    tarn_label_pop();
    expect_calls(1, 0, 700);
    char text[4096] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    expect_ok(tarn_pool_report_leaks(pool, file));
    fclose(file);
    assert_non_null(strstr(text, "here"));
    assert_int_equal(stats_of(pool).used_bytes, 700);
    free_one(address);
    expect_calls(1, 1, 0);
}

/* Under the address sanitizer what is free is forbidden: no byte beside it, nor when it has gone back. */
static void host_memory_is_as_good_as_new_when_it_comes_again(void **state)
{
    expect_ok(tarn_host_backend_open(NULL, &opened));
    options.chunk_bytes = 64 * KIB;
    create();
    for (size_t size_bytes = 1; size_bytes < 20000; size_bytes += 777) {
        char *one = alloc(size_bytes), *other = alloc(5000);
        memset(one, 1, size_bytes);
        memset(other, 2, 5000);
        free_one(one);
        memset(other, 3, 5000);
        free_one(other);
        char *plain = malloc(200000);
        memset(plain, 4, 200000);
        free(plain);
    }
    destroy_empty();
    tarn_backend_close(&opened);
}

/* --- streams --------------------------------------------------------------------------------- */

static void frees_on_any_streams_give_back_at_once(void **state)
{
    create();
    const tarn_stream streams[] = { stream_number(1), stream_number(2), stream_number(3) };
    unsigned count = 0;
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 3; i++) {
            void *address = alloc_on(1000, streams[i]);
            count++;
            if (round == 0) free_on(address, streams[i]);
            if (round == 1) free_on(address, streams[2 - i]);
            if (round == 2) free_after(address, streams, 3);
            if (round == 3) free_after(address, NULL, 0);
            expect_ok(tarn_pool_check(pool));
            expect_calls(count, count, 0);
        }
    }
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 0);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], 0);
    for (unsigned i = 0; i < 3; i++)
        expect_ok(tarn_stream_retire(streams[i]));
}

static void more_streams_than_a_pool_knows_are_served(void **state)
{
    create();
    for (unsigned i = 1; i <= 100; i++) {
        void *address = alloc_on(1000, stream_number(i));
        free_on(address, stream_number(i));
        expect_calls(i, i, 0);
        expect_ok(tarn_stream_retire(stream_number(i)));
    }
}

/* The vendor would call the capture off, and the graph uses what was freed there. */
static void what_a_capture_freed_goes_back_with_the_graph(void **state)
{
    create();
    tarn_stream captured = stream_number(1), other = stream_number(2);
    void *before, *addresses[3], *meanwhile;
    before = alloc_on(100, other);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, captured, &capture));
    for (unsigned i = 0; i < 3; i++) {
        addresses[i] = alloc_on(1000, captured);
        if (i < 2) free_on(addresses[i], captured);
        expect_ok(tarn_pool_check(pool));
    }
    meanwhile = alloc_on(10, other);
    free_on(meanwhile, other);
    assert_int_equal(backend.acquire_count, 5);
    assert_int_equal(backend.release_count, 0);
    expect_ok(tarn_capture_end(pool, capture));
    assert_int_equal(backend.release_count, 1); /* what the other stream freed */
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.captured_bytes, 2000);
    assert_int_equal(stats.free_bytes, 0);
    assert_int_equal(stats.pending_bytes, 0);
    assert_true(stats.used_bytes + stats.captured_bytes <= stats.footprint_bytes);
    backend.capacity_bytes = backend.held_bytes;
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 500);
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    expect_ok(tarn_last_shortage(&shortage));
    assert_int_equal(shortage.captured_bytes, 2000);
    assert_int_equal(shortage.pending_bytes, 0);
    free_on(before, other);
    assert_int_equal(backend.release_count, 2);
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_capture_release(pool, capture, &captured, 1));
    assert_int_equal(backend.release_count, 4);
    assert_int_equal(backend.held_bytes, 1000);
    free_on(addresses[2], captured);
    assert_int_equal(backend.release_count, 5);
}

/* --- host memory ----------------------------------------------------------------------------- */

static void host_memory_may_fail_at_any_allocation(void **state)
{
    unsigned n = 1;
    for (;; n++) {
        create();
        unsigned acquired_before = backend.acquire_count;
        host_memory_faults_begin(n);
        void *addresses[40] = { NULL };
        tarn_status status = TARN_STATUS_OK;
        for (unsigned i = 0; i < 40 && status == TARN_STATUS_OK; i++)
            status = tarn_pool_alloc_on(pool, 1000, stream_number(i % 3), &addresses[i]);
        bool happened = host_memory_faults_end();
        assert_int_equal(status, happened ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        expect_ok(tarn_pool_check(pool));
        tarn_stats stats = stats_of(pool);
        assert_int_equal(backend.piece_count, stats.live_count);
        assert_int_equal(stats.footprint_bytes, 1000 * stats.live_count);
        for (unsigned i = 0; i < 40; i++)
            free_on(addresses[i], stream_number(i % 3));
        assert_int_equal(backend.piece_count, 0);
        assert_true(backend.acquire_count - acquired_before <= 40);
        destroy_empty();
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
    create();
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
            free_on(slots[slot].address, stream);
            expect_status(TARN_STATUS_FOREIGN_ADDRESS,
                          tarn_pool_free_on(pool, slots[slot].address, stream));
            slots[slot].address = NULL;
            free_count++;
            live_bytes -= slots[slot].size_bytes;
            live_count--;
        } else {
            size_t size_bytes = random_size(&random, 24);
            size_t alignment_bytes = (size_t)1 << random_below(&random, 9);
            void *address;
            expect_ok(
                tarn_pool_alloc_aligned_on(pool, size_bytes, alignment_bytes, stream, &address));
            slots[slot].address = address;
            slots[slot].size_bytes = size_bytes;
            alloc_count++;
            live_bytes += size_bytes;
            live_count++;
        }
        expect_calls(alloc_count, free_count, live_bytes);
        assert_int_equal(backend.piece_count, live_count);
        assert_int_equal(stats_of(pool).requested_bytes, live_bytes);
        if (i % 16 == 0) expect_ok(tarn_pool_check(pool));
    }
}

static void *churn(void *argument)
{
    for (unsigned i = 0; i < 2000; i++) {
        void *address;
        if (tarn_pool_alloc(pool, 100 + i, &address) != TARN_STATUS_OK) return argument;
        if (tarn_pool_free(pool, address) != TARN_STATUS_OK) return argument;
    }
    return NULL;
}

/* Whoever finds another at the vendor leaves the giving back to that one. */
static void nothing_is_left_when_all_threads_have_freed(void **state)
{
    create();
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, NULL), 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    expect_calls(8000, 8000, 0);
}

static void *free_it(void *address)
{
    return tarn_pool_free(pool, address) == TARN_STATUS_OK ? NULL : address;
}

/* In one snapshot, whatever is under way. */
static void expect_sums_within_footprint(const tarn_stats *stats)
{
    if (stats->used_bytes + stats->free_bytes > stats->footprint_bytes ||
        stats->requested_bytes > stats->used_bytes || stats->pending_bytes > stats->free_bytes ||
        stats->largest_free_bytes > stats->free_bytes || !(stats->fragmentation >= 0.0) ||
        stats->fragmentation > 1.0)
        fail_msg("requested %zu, used %zu, free %zu (pending %zu, largest %zu), footprint %zu",
                 stats->requested_bytes, stats->used_bytes, stats->free_bytes, stats->pending_bytes,
                 stats->largest_free_bytes, stats->footprint_bytes);
}

static tarn_stats while_acquiring;

static void *free_and_count(void *address)
{
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_stats(pool, &while_acquiring));
    return NULL;
}

static void free_and_count_in_another_thread(void *context)
{
    pthread_t thread;
    backend.while_acquiring = NULL;
    assert_int_equal(pthread_create(&thread, NULL, free_and_count, context), 0);
    pthread_join(thread, NULL);
}

/* Memory that waits to go back has the bytes that the vendor gave, and not those of whole chunks. */
static void what_waits_to_go_back_is_no_more_than_is_held(void **state)
{
    const unsigned modes[] = { 0, TARN_DEBUG_SITES };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        options.debug = modes[i];
        create();
        char *kept = alloc(300);
        backend.context = alloc(500);
        backend.while_acquiring = free_and_count_in_another_thread;
        while_acquiring = (tarn_stats)TARN_STATS_INIT;
        char *address = alloc(200);
        expect_sums_within_footprint(&while_acquiring);
        assert_int_equal(while_acquiring.free_bytes, 500);
        assert_int_equal(while_acquiring.largest_free_bytes, 500);
        assert_int_equal(while_acquiring.used_bytes, 300);
        free_one(address);
        free_one(kept);
        destroy_empty();
    }
}

static atomic_bool is_churning;

static void *look_at_sums(void *worst)
{
    tarn_stats stats = TARN_STATS_INIT, *kept = worst;
    while (atomic_load(&is_churning) && tarn_pool_stats(pool, &stats) == TARN_STATUS_OK) {
        *kept = stats;
        if (stats.used_bytes + stats.free_bytes > stats.footprint_bytes ||
            stats.requested_bytes > stats.used_bytes)
            break;
    }
    return NULL;
}

static void each_snapshot_among_threads_is_of_one_instant(void **state)
{
    const unsigned modes[] = { 0, TARN_DEBUG_SITES };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        options.debug = modes[i];
        create();
        pthread_t looking, threads[2];
        tarn_stats worst = TARN_STATS_INIT;
        atomic_store(&is_churning, true);
        assert_int_equal(pthread_create(&looking, NULL, look_at_sums, &worst), 0);
        for (size_t k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, churn, NULL), 0);
        for (size_t k = 0; k < 2; k++) {
            void *failed;
            pthread_join(threads[k], &failed);
            assert_null(failed);
        }
        atomic_store(&is_churning, false);
        pthread_join(looking, NULL);
        expect_sums_within_footprint(&worst);
        destroy_empty();
    }
}

/* The other thread does not wait for the vendor, which would wait for it here. */
static void free_in_another_thread(void *context)
{
    pthread_t thread;
    void *failed;
    backend.while_acquiring = NULL;
    assert_int_equal(pthread_create(&thread, NULL, free_it, context), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(backend.release_count, 0);
}

static void what_is_freed_while_another_allocates_goes_back_after_that(void **state)
{
    create();
    backend.context = alloc(500);
    backend.while_acquiring = free_in_another_thread;
    char *address = alloc(500);
    expect_calls(2, 1, 500);
    free_one(address);
}

static unsigned fail_at_something_else_calls;

static void fail_at_something_else(void *user, void *base, size_t size_bytes, uint64_t id)
{
    (void)tarn_free(&fail_at_something_else_calls);
    fail_at_something_else_calls++;
}

/* What a free has left is given back by an allocation that fails, which is still the last error. */
static void what_is_given_back_after_a_failure_does_not_hide_it(void **state)
{
    options.on_static_pool_destroyed = fail_at_something_else;
    create();
    backend.context = alloc(1000);
    backend.while_acquiring = free_in_another_thread;
    backend.fail_acquire_at = 1;
    backend.failure = TARN_STATUS_VENDOR_ERROR;
    expect_refused(TARN_STATUS_VENDOR_ERROR, 1000);
    assert_int_equal(fail_at_something_else_calls, 1);
    assert_int_equal(tarn_last_error().status, TARN_STATUS_VENDOR_ERROR);
}

/* --- the environment ------------------------------------------------------------------------- */

static void the_environment_disables_every_pool(void **state)
{
    options.passes_through = false;
    options.initial_bytes = MIB;
    setenv("TARN_DISABLE", "1", 1);
    create();
    unsetenv("TARN_DISABLE"); /* which counts when the pool is created */
    free_one(alloc(100));
    expect_calls(1, 1, 0);
}

static void the_environment_enables_nothing(void **state)
{
    setenv("TARN_DISABLE", "0", 1);
    create();
    free_one(alloc(100));
    expect_calls(1, 1, 0);
    destroy_empty();

    setenv("TARN_DISABLE", "", 1);
    options.passes_through = false;
    create();
    free_one(alloc(100));
    assert_int_equal(backend.release_count, 1);
    assert_int_equal(stats_of(pool).footprint_bytes, TARN_INITIAL_BYTES_DEFAULT);
}

static void a_value_that_does_not_parse_is_named(void **state)
{
    const char *const values[] = { "2", "yes", "01", " 1", "1 " };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        setenv("TARN_DISABLE", values[i], 1);
        expect_options_refused(TARN_STATUS_INVALID_ENVIRONMENT, "TARN_DISABLE");
        assert_null(pool);
    }
}

/* There is nothing that it could pass through to. */
static void a_pool_over_memory_of_the_callers_stays_one(void **state)
{
    setenv("TARN_DISABLE", "1", 1);
    expect_ok(tarn_pool_create_over((void *)((uintptr_t)1 << 56), MIB, NULL, &pool));
    char *one = alloc(100);
    free_one(one);
    assert_ptr_equal(alloc(100), one);
    assert_int_equal(stats_of(pool).footprint_bytes, MIB);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_passing, tear_down_passing)

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
        TEST(a_piece_that_the_vendor_does_not_take_is_used_again),
        TEST(debug_mode_remembers_sites_alone),
        TEST(host_memory_is_as_good_as_new_when_it_comes_again),
        TEST(frees_on_any_streams_give_back_at_once),
        TEST(more_streams_than_a_pool_knows_are_served),
        TEST(what_a_capture_freed_goes_back_with_the_graph),
        TEST(host_memory_may_fail_at_any_allocation),
        TEST(what_is_out_is_what_is_live),
        TEST(nothing_is_left_when_all_threads_have_freed),
        TEST(what_waits_to_go_back_is_no_more_than_is_held),
        TEST(each_snapshot_among_threads_is_of_one_instant),
        TEST(what_is_freed_while_another_allocates_goes_back_after_that),
        TEST(what_is_given_back_after_a_failure_does_not_hide_it),
        TEST(the_environment_disables_every_pool),
        TEST(the_environment_enables_nothing),
        TEST(a_value_that_does_not_parse_is_named),
        TEST(a_pool_over_memory_of_the_callers_stays_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
