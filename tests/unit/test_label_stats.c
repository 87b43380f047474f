/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Labels in pools of every kind: what tarn_pool_label_stats counts, and peaks of each phase. */
#include <pthread.h>

#include "core/parts/label.h"
#include "core/pool/pool_arenas.h"
#include "harness/host_memory_faults.h"
#include "pool_fixture.h"

/* --- steps and claims ----------------------------------------------------------------------------- */

static void *alloc_labelled(const char *label, size_t size_bytes)
{
    tarn_label_push(label);
    void *address = alloc(size_bytes);
    tarn_label_pop();
    return address;
}

static void *alloc_labelled_on(const char *label, size_t size_bytes, tarn_stream stream)
{
    tarn_label_push(label);
    void *address = alloc_on(size_bytes, stream);
    tarn_label_pop();
    return address;
}

/* All zero if the pool has not seen the label. */
static tarn_label_stats stats_of_label(tarn_pool *of, const char *label)
{
    tarn_label_stats stats = TARN_LABEL_STATS_INIT;
    for (size_t i = 0; tarn_pool_label_stats(of, i, &stats) == TARN_STATUS_OK; i++) {
        if (strcmp(stats.label, label) == 0) return stats;
    }
    return (tarn_label_stats)TARN_LABEL_STATS_INIT;
}

static size_t count_labels(tarn_pool *of)
{
    tarn_label_stats stats = TARN_LABEL_STATS_INIT;
    size_t count = 0;
    while (tarn_pool_label_stats(of, count, &stats) == TARN_STATUS_OK)
        count++;
    return count;
}

#define expect_label(label, live_count_, live_bytes_, live_bytes_max_, alloc_count_) \
    do {                                                                             \
        tarn_label_stats found_ = stats_of_label(pool, label);                       \
        assert_int_equal(found_.live_count, live_count_);                            \
        assert_int_equal(found_.live_bytes, live_bytes_);                            \
        assert_int_equal(found_.live_bytes_max, live_bytes_max_);                    \
        assert_int_equal(found_.alloc_count, alloc_count_);                          \
        expect_ok(tarn_pool_check(pool));                                            \
    } while (0)

/* --- counting --------------------------------------------------------------------------------------- */

static void allocations_count_under_their_label(void **state)
{
    void *mesh = alloc_labelled("mesh", 5000);
    void *other_mesh = alloc_labelled("mesh", 3000);
    void *field = alloc_labelled("field", 700);
    void *none = alloc(100);
    expect_label("mesh", 2, 8000, 8000, 2);
    expect_label("field", 1, 700, 700, 1);
    assert_int_equal(count_labels(pool), 2);
    free_one(mesh);
    expect_label("mesh", 1, 3000, 8000, 2);
    /* The label at the time of a free is nothing to it. */
    tarn_label_push("field");
    free_one(other_mesh);
    free_one(none);
    tarn_label_pop();
    expect_label("mesh", 0, 0, 8000, 2);
    expect_label("field", 1, 700, 700, 1);
    free_one(field);
}

static void slices_count_as_whole_chunks_do(void **state)
{
    void *small[40];
    for (size_t i = 0; i < 40; i++)
        small[i] = alloc_labelled(i % 2 == 0 ? "even" : NULL, 10 + i % 3);
    expect_label("even", 20, 10 * 7 + 11 * 6 + 12 * 7, 10 * 7 + 11 * 6 + 12 * 7, 20);
    for (size_t i = 0; i < 40; i++)
        free_one(small[i]);
    expect_label("even", 0, 0, 220, 20);
    /* The slices serve others now. */
    for (size_t i = 0; i < 40; i++)
        small[i] = alloc_labelled(i % 2 == 0 ? NULL : "odd", 12);
    expect_label("even", 0, 0, 220, 20);
    expect_label("odd", 20, 240, 240, 20);
    for (size_t i = 0; i < 40; i++)
        free_one(small[i]);
}

static void an_allocation_of_nothing_has_no_label(void **state)
{
    assert_null(alloc_labelled("nothing", 0));
    assert_int_equal(count_labels(pool), 0);
}

/* The largest slack there is, and a slack of none. */
static void a_label_leaves_the_size_alone(void **state)
{
    static const size_t chunk_sizes[] = { 256, 1024, 65536 };
    for (size_t i = 0; i < sizeof chunk_sizes / sizeof chunk_sizes[0]; i++) {
        options.chunk_bytes = chunk_sizes[i];
        options.slices = false;
        create_anew();
        for (size_t wanted = 1; wanted <= 2 * chunk_sizes[i]; wanted += chunk_sizes[i] / 4) {
            void *address = alloc_labelled("sized", wanted);
            assert_int_equal(found_at(address).size_bytes, wanted);
            assert_int_equal(stats_of_label(pool, "sized").live_bytes, wanted);
            expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, address, wanted + 1));
            expect_label("sized", 1, wanted, wanted, stats_of_label(pool, "sized").alloc_count);
            expect_ok(tarn_pool_free_sized(pool, address, wanted));
            assert_int_equal(stats_of_label(pool, "sized").live_count, 0);
        }
    }
}

static void large_chunks_have_no_labels(void **state)
{
    options.chunk_bytes = 131072;
    options.initial_bytes = MIB;
    create_anew();
    void *address = alloc_labelled("mesh", 1000);
    assert_int_equal(found_at(address).size_bytes, 1000);
    expect_ok(tarn_pool_resize(pool, address, 100));
    assert_int_equal(found_at(address).size_bytes, 100);
    assert_int_equal(count_labels(pool), 0);
    expect_ok(tarn_pool_free_sized(pool, address, 100));
    expect_ok(tarn_pool_check(pool));
}

/* Larger and smaller, in its chunks and beyond them, under whatever label. */
static void a_resize_keeps_the_label(void **state)
{
    void *small = alloc_labelled("mesh", 100), *address = alloc_labelled("mesh", 3000);
    tarn_label_push("other");
    expect_ok(tarn_pool_resize(pool, address, 3050));
    expect_label("mesh", 2, 3150, 3150, 2);
    expect_ok(tarn_pool_resize(pool, small, 120));
    expect_label("mesh", 2, 3170, 3170, 2);
    expect_ok(tarn_pool_resize(pool, small, 3));
    expect_ok(tarn_pool_resize(pool, address, 1000));
    expect_label("mesh", 2, 1003, 3170, 2);
    expect_ok(tarn_pool_resize(pool, address, 9000));
    expect_label("mesh", 2, 9003, 9003, 2);
    expect_status(TARN_STATUS_NOT_IN_PLACE, tarn_pool_resize(pool, address, MIB));
    expect_label("mesh", 2, 9003, 9003, 2);
    assert_int_equal(count_labels(pool), 1);
    tarn_label_pop();
    free_one(address);
    free_one(small);
    expect_label("mesh", 0, 0, 9003, 2);
}

static void a_batch_has_the_label(void **state)
{
    const size_t sizes[] = { 5000, 0, 60, 2000, 60 }, too_many[] = { 500, 60, 1000 * KIB };
    void *addresses[5];
    tarn_label_push("batch");
    expect_ok(tarn_pool_alloc_many(pool, 5, sizes, addresses));
    tarn_label_pop();
    expect_label("batch", 4, 7120, 7120, 4);
    expect_ok(tarn_pool_free_many(pool, 5, addresses));
    expect_label("batch", 0, 0, 7120, 4);
    /* Entries of a batch that fails count as allocated and freed. */
    backend.capacity_bytes = 64 * KIB;
    tarn_label_push("batch");
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc_many(pool, 3, too_many, addresses));
    tarn_label_pop();
    expect_label("batch", 0, 0, 7120, 6);
}

static void a_pool_that_passes_through_counts_too(void **state)
{
    options.passes_through = true;
    create_anew();
    void *large = alloc_labelled("mesh", 100000), *small = alloc_labelled("mesh", 3);
    expect_label("mesh", 2, 100003, 100003, 2);
    expect_ok(tarn_pool_resize(pool, large, 99990));
    expect_label("mesh", 2, 99993, 100003, 2);
    free_one(large);
    free_one(small);
    expect_label("mesh", 0, 0, 100003, 2);
}

static void memory_of_the_caller_counts_too(void **state)
{
    static char memory[16384];
    destroy();
    options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    expect_ok(tarn_pool_create_over(memory, sizeof memory, &options, &pool));
    void *address = alloc_labelled("over", 3000);
    expect_label("over", 1, 3000, 3000, 1);
    free_one(address);
}

/* It counts where it lies. */
static void a_fallback_counts_its_own(void **state)
{
    tarn_pool *fallback = pool;
    pool = NULL;
    options.limit_bytes = options.initial_bytes = 4 * KIB;
    options.fallback = fallback;
    create();
    void *large = alloc_labelled("mesh", 20000), *small = alloc_labelled("mesh", 2000);
    expect_label("mesh", 1, 2000, 2000, 1);
    assert_int_equal(stats_of_label(fallback, "mesh").live_bytes, 20000);
    free_one(large);
    assert_int_equal(stats_of_label(fallback, "mesh").live_bytes, 0);
    free_one(small);
    destroy_empty();
    expect_ok(tarn_pool_destroy(fallback));
}

/* --- streams ---------------------------------------------------------------------------------------- */

static void a_capture_has_labels_beside_its_owner(void **state)
{
    tarn_capture capture = 0;
    create_anew();
    alloc_on(KIB, B);
    expect_ok(tarn_capture_begin(pool, A, &capture));
    void *first = alloc_labelled_on("graph", 3000, A), *second = alloc_labelled_on("graph", 100, A);
    expect_label("graph", 2, 3100, 3100, 2);
    free_on(first, A);
    expect_label("graph", 1, 100, 3100, 2);
    assert_int_equal(stats_of(pool).captured_bytes, 3 * KIB);
    expect_ok(tarn_pool_resize_on(pool, second, 1000, A));
    expect_label("graph", 1, 1000, 3100, 2);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    expect_label("graph", 1, 1000, 3100, 2);
    assert_int_equal(found_at(second).size_bytes, 1000);
    free_on(second, A);
    expect_label("graph", 0, 0, 3100, 2);
}

/* Memory that waits for another stream is taken before the vendor refuses the wait: it counts as not allocated. */
static void memory_that_is_put_back_does_not_count(void **state)
{
    options.limit_bytes = 64 * KIB;
    create_anew();
    void *large = alloc_on(60 * KIB, A), *small[64];
    size_t small_count = 0;
    for (; small_count < 64; small_count++)
        small[small_count] = alloc_on(32, A);
    void *rest = alloc_on(stats_of(pool).largest_free_bytes, A);
    free_on(large, A);
    free_on(small[0], A);
    backend.fail_call_at[TEST_CALL_STREAM_WAIT_EVENT] = 1;
    backend.fail_call_count = 1000;
    tarn_label_push("put back");
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 50 * KIB, B);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 20, B);
    tarn_label_pop();
    backend.fail_call_at[TEST_CALL_STREAM_WAIT_EVENT] = 0;
    backend.fail_call_count = 0;
    expect_label("put back", 0, 0, 50 * KIB, 0);
    void *again = alloc_labelled_on("put back", 50 * KIB, B);
    void *small_again = alloc_labelled_on("put back", 20, B);
    expect_label("put back", 2, 50 * KIB + 20, 50 * KIB + 20, 2);
    free_on(again, B);
    free_on(small_again, B);
    free_on(rest, A);
    for (size_t i = 1; i < small_count; i++)
        free_on(small[i], A);
    expect_label("put back", 0, 0, 50 * KIB + 20, 2);
}

/* --- peaks ------------------------------------------------------------------------------------------ */

static void peaks_of_a_phase_begin_with_what_is_live(void **state)
{
    void *kept = alloc_labelled("mesh", 2000), *gone = alloc_labelled("mesh", 9000);
    void *small = alloc_labelled("field", 100);
    free_one(gone);
    free_one(small);
    tarn_stats before = stats_of(pool);
    assert_int_equal(before.requested_bytes_max, 11100);
    expect_ok(tarn_pool_reset_peaks(pool));
    tarn_stats after = stats_of(pool);
    assert_int_equal(after.requested_bytes_max, 2000);
    assert_int_equal(after.used_bytes_max, after.used_bytes);
    assert_int_equal(after.used_bytes, 2 * KIB);
    assert_int_equal(after.footprint_bytes_max, after.footprint_bytes);
    assert_int_equal(after.live_count_max, 1);
    assert_int_equal(after.alloc_count, before.alloc_count);
    expect_label("mesh", 1, 2000, 2000, 2);
    expect_label("field", 0, 0, 0, 1);
    free_one(alloc_labelled("mesh", 50));
    expect_label("mesh", 1, 2000, 2050, 3);
    assert_int_equal(stats_of(pool).requested_bytes_max, 2050);
    free_one(kept);
}

static void a_footprint_that_went_back_is_no_peak_any_more(void **state)
{
    free_one(alloc(MIB));
    size_t most = stats_of(pool).footprint_bytes_max;
    assert_true(trim(0) > 0);
    assert_int_equal(stats_of(pool).footprint_bytes_max, most);
    expect_ok(tarn_pool_reset_peaks(pool));
    assert_int_equal(stats_of(pool).footprint_bytes_max, 0);
}

/* --- arguments -------------------------------------------------------------------------------------- */

/* And the order is that of the first allocations, whatever comes later. */
static void an_index_stays_that_of_its_label(void **state)
{
    static const char *const labels[] = { "z", "a", "m" };
    tarn_label_stats stats = TARN_LABEL_STATS_INIT;
    for (size_t i = 0; i < 3; i++) {
        free_one(alloc_labelled(labels[i], 1000 * (i + 1)));
        for (size_t k = 0; k <= i; k++) {
            expect_ok(tarn_pool_label_stats(pool, k, &stats));
            assert_string_equal(stats.label, labels[k]);
            assert_int_equal(stats.live_bytes_max, 1000 * (k + 1));
        }
    }
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_label_stats(pool, 3, &stats));
    expect_message("index is 3");
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_label_stats(pool, SIZE_MAX, &stats));
    assert_string_equal(stats.label, "m");
    stats.struct_bytes = sizeof stats - 1;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_label_stats(pool, 0, &stats));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_label_stats(pool, 0, NULL));
    tarn_pool *gone = pool;
    destroy_empty();
    stats.struct_bytes = sizeof stats;
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_label_stats(gone, 0, &stats));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_reset_peaks(gone));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_reset_peaks(NULL));
}

/* --- messages --------------------------------------------------------------------------------------- */

static void messages_name_the_pool_and_the_label(void **state)
{
    tarn_pool *other = pool;
    pool = NULL;
    options.name = "fields";
    options.limit_bytes = 64 * KIB;
    create();
    void *address = alloc(5000);
    tarn_label_push("mesh");
    expect_refused(TARN_STATUS_OVER_LIMIT, MIB);
    expect_message("no free region holds 1 MiB labelled \"mesh\", and the pool \"fields\" cannot");
    tarn_label_pop();
    expect_refused(TARN_STATUS_OVER_LIMIT, MIB);
    expect_message("no free region holds 1 MiB, and the pool \"fields\" cannot");
    expect_status(TARN_STATUS_LIVE_REGIONS, tarn_pool_destroy(pool));
    expect_message("the pool \"fields\" still has 1 live");
    expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free(other, address));
    expect_message("belongs to the pool \"fields\" at 0x");
    expect_message("not to the one at 0x");
    void *of_other = new_block(other, 100);
    expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free(pool, of_other));
    expect_message("belongs to the pool at 0x");
    expect_message("not to the one \"fields\" at 0x");
    free_one(address);
    destroy_empty();
    pool = other;
    free_one(of_other);
    expect_refused(TARN_STATUS_SIZE_TOO_LARGE, SIZE_MAX);
    backend.capacity_bytes = 64 * KIB;
    tarn_label_push("solver");
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, MIB);
    expect_message(
        "1 MiB labelled \"solver\", and the test backend has no more memory: the pool holds");
    tarn_label_pop();
}

/* --- debug mode ------------------------------------------------------------------------------------- */

static void create_in_debug_mode(unsigned debug)
{
    options.debug = debug;
    create_over_host_memory();
    options.backend = &opened;
}

/* Not those of blocks with zones, nor those in the quarantine. */
static void debug_mode_counts_the_programs_sizes(void **state)
{
    create_in_debug_mode(TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE);
    void *first = alloc_labelled("mesh", 5000), *second = alloc_labelled("mesh", 10);
    alloc(100);
    expect_label("mesh", 2, 5010, 5010, 2);
    free_one(first);
    expect_label("mesh", 1, 10, 5010, 2);
    expect_ok(tarn_pool_reset_peaks(pool));
    assert_int_equal(stats_of(pool).requested_bytes_max, 110);
    assert_int_equal(stats_of(pool).live_count_max, 2);
    expect_label("mesh", 1, 10, 10, 2);
    free_one(second);
    expect_label("mesh", 0, 0, 10, 2);
}

static void debug_mode_counts_resizes(void **state)
{
    create_in_debug_mode(TARN_DEBUG_SITES);
    void *address = alloc_labelled("mesh", 5000);
    expect_ok(tarn_pool_resize(pool, address, 4000));
    expect_label("mesh", 1, 4000, 5000, 1);
    expect_ok(tarn_pool_resize(pool, address, 5100));
    expect_label("mesh", 1, 5100, 5100, 1);
    free_one(address);
    expect_label("mesh", 0, 0, 5100, 1);
}

/* Larger chunks too: its records have the labels. */
static void debug_mode_has_labels_with_any_chunk(void **state)
{
    options.chunk_bytes = MIB;
    create_in_debug_mode(TARN_DEBUG_SITES);
    void *address = alloc_labelled("mesh", 5000);
    expect_label("mesh", 1, 5000, 5000, 1);
    free_one(address);
}

/* --- arenas ----------------------------------------------------------------------------------------- */

static void arenas_count_for_the_pool(void **state)
{
    warm_up();
    void *first = alloc_labelled("mesh", 5000), *small = alloc_labelled("mesh", 30);
    expect_active(1);
    assert_int_equal(own_arena()->part.stats.live_count, 2);
    expect_label("mesh", 2, 5030, 5030, 2);
    expect_active(0);
    /* They are the pool's now, and an arena has others. */
    want_arenas();
    void *second = alloc_labelled("mesh", 7000);
    free_one(first);
    expect_active(1);
    expect_label("mesh", 2, 7030, 7030, 3);
    want_arenas();
    void *other = alloc_labelled("other", 40);
    expect_ok(tarn_pool_resize(pool, other, 45));
    expect_active(1);
    expect_label("other", 1, 45, 45, 1);
    free_one(second);
    free_one(small);
    free_one(other);
    expect_label("mesh", 0, 0, 7030, 3);
}

static void *free_all_given(void *addresses)
{
    for (void **next = addresses; *next; next++) {
        if (tarn_pool_free(pool, *next) != TARN_STATUS_OK) return pool;
    }
    return NULL;
}

static void free_in_other_thread(void **addresses)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, free_all_given, addresses);
    pthread_join(thread, &result);
    assert_null(result);
}

/* By the lock of the arena, and by its mailbox once there are bytes for that. */
static void another_thread_may_free_a_labelled_block(void **state)
{
    enum {
        COUNT = 2000
    };
    static void *addresses[COUNT + 1];
    warm_up();
    for (int round = 0; round < 3; round++) {
        want_arenas();
        for (int i = 0; i < COUNT; i++)
            addresses[i] = alloc_labelled("mesh", i % 5 == 0 ? 100 : 3000);
        expect_active(1);
        free_in_other_thread(addresses);
        /* Nothing was live when the arena was taken back, so there is no peak. */
        expect_label("mesh", 0, 0, 0, COUNT * (round + 1));
    }
    assert_true(pool->arenas.remote.chunk_count > 0); /* there have been mailboxes */
}

static void peaks_are_reset_in_arenas_too(void **state)
{
    warm_up();
    void *kept = alloc_labelled("mesh", 2000);
    free_one(alloc_labelled("mesh", 9000));
    expect_active(1);
    expect_ok(tarn_pool_reset_peaks(pool));
    expect_label("mesh", 1, 2000, 2000, 2);
    free_one(kept);
}

/* --- no host memory --------------------------------------------------------------------------------- */

/* The allocation succeeds without a label, and the next one that finds memory has it. */
static void without_host_memory_an_allocation_has_no_label(void **state)
{
    void *plain = alloc(3000), *small = alloc(50), *labelled[4];
    host_memory_faults_begin(1);
    labelled[0] = alloc_labelled("mesh", 3000);
    labelled[1] = alloc_labelled("mesh", 50);
    assert_true(host_memory_faults_end());
    assert_int_equal(stats_of(pool).live_count, 4);
    labelled[2] = alloc_labelled("mesh", 2000);
    labelled[3] = alloc_labelled("mesh", 40);
    tarn_label_stats stats = stats_of_label(pool, "mesh");
    assert_true(stats.alloc_count == 3 && stats.live_bytes == 2000 + 40 + 50);
    for (int i = 0; i < 4; i++)
        free_one(labelled[i]);
    free_one(plain);
    free_one(small);
    expect_label("mesh", 0, 0, 2090, 3);
}

/* The n-th host allocation fails: of the counters of the pool, then of those of the arena. */
static void without_host_memory_an_arena_counts_none(void **state)
{
    for (unsigned n = 1; n <= 2; n++) {
        create_anew();
        warm_up();
        void *warm = alloc(3000);
        expect_active(1);
        host_memory_faults_begin(n);
        void *unlabelled = alloc_labelled("mesh", 3000);
        assert_true(host_memory_faults_end());
        void *labelled = alloc_labelled("mesh", 3000);
        expect_active(1);
        expect_label("mesh", 1, 3000, 3000, 1);
        free_one(unlabelled);
        free_one(labelled);
        free_one(warm);
        expect_label("mesh", 0, 0, 3000, 1);
    }
}

static void without_host_memory_debug_mode_counts_none(void **state)
{
    create_in_debug_mode(TARN_DEBUG_SITES);
    void *plain = alloc(100), *address;
    host_memory_faults_begin(2); /* the first is the record */
    tarn_label_push("mesh");
    expect_ok(tarn_pool_alloc(pool, 100, &address));
    tarn_label_pop();
    assert_true(host_memory_faults_end());
    assert_int_equal(count_labels(pool), 0);
    expect_ok(tarn_pool_check(pool));
    free_one(address);
    free_one(plain);
    expect_ok(tarn_pool_check(pool));
}

/* --- the check -------------------------------------------------------------------------------------- */

static uint32_t number_of(const char *label)
{
    tarn_label_push(label);
    uint32_t number = tn_label_current();
    tarn_label_pop();
    return number;
}

static struct tn_region *region_of(void *address)
{
    struct tn_place place = { 0 };
    assert_true(tn_place_locate(pool, (uintptr_t)address, &place));
    uint32_t region = tn_region_index_find_start(&pool->own.index, place.chunk);
    return &pool->own.index.regions[region];
}

static void the_check_finds_wrong_labels(void **state)
{
    void *address = alloc_labelled("mesh", 3000);
    uint32_t mesh = number_of("mesh");
    struct tn_label_counts *counts = &tn_label_stats_get(&pool->own.labels)->counts[mesh];
    counts->live_bytes++;
    counts->live_bytes_max++;
    expect_fault("counters of a label");
    counts->live_bytes--;
    counts->live_bytes_max--;
    counts->live_count++;
    expect_fault("counters of a label");
    counts->live_count--;
    counts->live_bytes_max--;
    expect_fault("a label's high-water mark");
    counts->live_bytes_max++;

    struct tn_region *region = region_of(address);
    uint32_t extra = region->extra;
    region->extra &= TN_REGION_SLACK_MASK_LABELLED;
    expect_fault("counters of a label");
    region->extra = extra & ((1u << 30) - 1);
    expect_ok(tarn_pool_check(pool));

    void *small = alloc_labelled("mesh", 30);
    uint32_t slab = tn_region_slab(region_of(small));
    uint32_t *note = tn_slices_place_of_note(&pool->own.slices.classes[tn_slab_class(slab)],
                                             tn_slab_index(slab), 0);
    assert_int_equal(*note, 30 | mesh << TN_SLICE_LABEL_SHIFT);
    *note = 30;
    expect_fault("counters of a label");
    *note |= mesh << TN_SLICE_LABEL_SHIFT;
    free_one(small);
    free_one(address);
}

/* A region with a label in a pool that has never counted one. */
static void the_check_finds_a_label_that_was_never_counted(void **state)
{
    struct tn_region *region = region_of(alloc(3000));
    tn_region_set_label(region, 1);
    expect_fault("counters of a label");
    tn_region_mark(region, TN_REGION_STATE_LIVE, tn_region_slack_bytes(region, 0xffff));
}

int main(void)
{
#define CASE(name)  cmocka_unit_test_setup_teardown(name, set_up_without_streams, tear_down)
#define TEST(name)  cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define ARENA(name) cmocka_unit_test_setup_teardown(name, set_up_with_default_options, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(allocations_count_under_their_label),
        CASE(slices_count_as_whole_chunks_do),
        CASE(an_allocation_of_nothing_has_no_label),
        CASE(a_label_leaves_the_size_alone),
        CASE(large_chunks_have_no_labels),
        CASE(a_resize_keeps_the_label),
        CASE(a_batch_has_the_label),
        CASE(a_pool_that_passes_through_counts_too),
        CASE(memory_of_the_caller_counts_too),
        CASE(a_fallback_counts_its_own),
        TEST(a_capture_has_labels_beside_its_owner),
        TEST(memory_that_is_put_back_does_not_count),
        CASE(peaks_of_a_phase_begin_with_what_is_live),
        CASE(a_footprint_that_went_back_is_no_peak_any_more),
        CASE(an_index_stays_that_of_its_label),
        CASE(messages_name_the_pool_and_the_label),
        CASE(debug_mode_counts_the_programs_sizes),
        CASE(debug_mode_counts_resizes),
        CASE(debug_mode_has_labels_with_any_chunk),
        ARENA(arenas_count_for_the_pool),
        ARENA(another_thread_may_free_a_labelled_block),
        ARENA(peaks_are_reset_in_arenas_too),
        CASE(without_host_memory_an_allocation_has_no_label),
        ARENA(without_host_memory_an_arena_counts_none),
        CASE(without_host_memory_debug_mode_counts_none),
        CASE(the_check_finds_wrong_labels),
        CASE(the_check_finds_a_label_that_was_never_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
