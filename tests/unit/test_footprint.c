/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_footprint: each part of a footprint is what it says. That the parts of random programs are those of a model:
 * property.footprint. */
#include "core/arenas/footprint.h"

#include <unistd.h>

#include "pool_fixture.h"
#include "tarn/debug.h"

#define REQUESTED   TARN_FOOTPRINT_PART_REQUESTED
#define ROUNDING    TARN_FOOTPRINT_PART_ROUNDING
#define SLICES      TARN_FOOTPRINT_PART_SLICES
#define QUARANTINED TARN_FOOTPRINT_PART_QUARANTINED
#define CAPTURED    TARN_FOOTPRINT_PART_CAPTURED
#define PENDING     TARN_FOOTPRINT_PART_PENDING
#define ARENAS      TARN_FOOTPRINT_PART_ARENAS
#define SHUT_IN     TARN_FOOTPRINT_PART_SHUT_IN
#define ON_HOLD     TARN_FOOTPRINT_PART_ON_HOLD
#define INITIAL     TARN_FOOTPRINT_PART_INITIAL
#define WHOLLY_FREE TARN_FOOTPRINT_PART_WHOLLY_FREE
#define EDGES       TARN_FOOTPRINT_PART_EDGES
#define UNRELEASED  TARN_FOOTPRINT_PART_UNRELEASED
#define TRANSIT     TARN_FOOTPRINT_PART_TRANSIT

struct parts {
    size_t bytes[TARN_FOOTPRINT_PARTS_MAX];
};

/* Bytes in KiB. */
#define EXPECT_PARTS(...)                                                   \
    expect_parts(stats_of(pool).part_bytes, stats_of(pool).footprint_bytes, \
                 (struct parts){ { __VA_ARGS__ } }, KIB)
#define EXPECT_PEAK(...)                                                             \
    expect_parts(stats_of(pool).peak_part_bytes, stats_of(pool).footprint_bytes_max, \
                 (struct parts){ { __VA_ARGS__ } }, KIB)

static void expect_parts(const size_t *bytes, size_t footprint_bytes, struct parts expected,
                         size_t unit_bytes)
{
    size_t sum = 0;
    for (size_t part = 0; part < TARN_FOOTPRINT_PARTS_MAX; part++) {
        if (bytes[part] != expected.bytes[part] * unit_bytes)
            fail_msg("%s is %zu, not %zu", tarn_footprint_part_name((tarn_footprint_part)part),
                     bytes[part], expected.bytes[part] * unit_bytes);
        sum += bytes[part];
    }
    assert_int_equal(sum, footprint_bytes);
}

static size_t part(tarn_footprint_part number)
{
    return stats_of(pool).part_bytes[number];
}

/* Pieces of 64 KiB, or as large as the request. */
static int set_up_pieces(void **state)
{
    begin_fixture(true);
    grow_by_pieces_of(64 * KIB);
    checks_every_step = true;
    create();
    return 0;
}

static int set_up_steps(void **state)
{
    begin_fixture(true);
    backend.range_granularity_bytes = 4 * KIB;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    options.step_bytes = 64 * KIB;
    options.initial_bytes = 128 * KIB;
    checks_every_step = true;
    create();
    return 0;
}

/* --- used ------------------------------------------------------------------------------------------ */

static void live_bytes_are_requested_and_the_rest_is_rounding(void **state)
{
    EXPECT_PARTS(0);
    free_one(alloc(1));
    EXPECT_PARTS([INITIAL] = 64);
    alloc(10 * KIB - 200);
    expect_parts(
        stats_of(pool).part_bytes, 64 * KIB,
        (struct parts){ { [REQUESTED] = 10 * KIB - 200, [ROUNDING] = 200, [SHUT_IN] = 54 * KIB } },
        1);
}

static void free_slices_beside_live_ones_are_slices(void **state)
{
    alloc_on(KIB, B);
    void *small[3] = { alloc(100), alloc(128), alloc(20) };
    expect_parts(stats_of(pool).part_bytes, 64 * KIB,
                 (struct parts){ { [REQUESTED] = KIB + 248,
                                   [ROUNDING] = 28 + 12,
                                   [SLICES] = 2 * KIB - 288,
                                   [SHUT_IN] = 61 * KIB } },
                 1);
    free_after(small[2], NULL, 0);
    free_on(small[0], B); /* as a slice that waits */
    expect_parts(
        stats_of(pool).part_bytes, 64 * KIB,
        (struct parts){ { [REQUESTED] = KIB + 128, [SLICES] = KIB - 128, [SHUT_IN] = 62 * KIB } },
        1);
}

static void blocks_that_debug_mode_keeps_are_quarantined(void **state)
{
    options.debug = TARN_DEBUG_ZONES | TARN_DEBUG_QUARANTINE;
    create_over_host_memory();
    void *block = alloc(3000);
    size_t zones_bytes = part(ROUNDING);
    assert_true(zones_bytes >= 2 * TARN_DEBUG_ZONE_BYTES);
    assert_int_equal(part(REQUESTED), 3000);
    assert_int_equal(part(QUARANTINED), 0);
    free_one(block);
    assert_int_equal(part(REQUESTED), 0);
    assert_int_equal(part(ROUNDING), 0);
    assert_int_equal(part(QUARANTINED), 3000 + zones_bytes);
    assert_int_equal(part(SHUT_IN), 64 * KIB - 3000 - zones_bytes);
    assert_int_equal(trim(0), 64 * KIB);
    EXPECT_PARTS(0);
}

static void an_allocation_that_is_passed_through_has_edges(void **state)
{
    backend.misalignment_bytes = 512;
    options.passes_through = true;
    create_anew();
    void *block;
    expect_ok(tarn_pool_alloc_aligned(pool, 5000, 4096, &block));
    size_t held_bytes = stats_of(pool).footprint_bytes;
    expect_parts(stats_of(pool).part_bytes, held_bytes,
                 (struct parts){ { [REQUESTED] = 5000, [EDGES] = held_bytes - 5000 } }, 1);
    assert_true(held_bytes > 5000);
    free_one(block);
    EXPECT_PARTS(0);
}

/* --- free ------------------------------------------------------------------------------------------ */

static void a_piece_is_shut_in_by_what_is_live_in_it(void **state)
{
    void *first = alloc(60 * KIB), *second = alloc(32 * KIB);
    EXPECT_PARTS([REQUESTED] = 92, [SHUT_IN] = 36);
    free_one(second);
    EXPECT_PARTS([REQUESTED] = 60, [SHUT_IN] = 4, [WHOLLY_FREE] = 64);
    second = alloc(32 * KIB);
    free_one(first);
    EXPECT_PARTS([REQUESTED] = 32, [SHUT_IN] = 32, [INITIAL] = 64);
    free_one(second);
    EXPECT_PARTS([INITIAL] = 64, [WHOLLY_FREE] = 64);
    assert_int_equal(trim(64 * KIB), 64 * KIB); /* the newest */
    EXPECT_PARTS([INITIAL] = 64);
}

/* A first piece that is larger is a request's. */
static void only_initial_bytes_are_initial(void **state)
{
    free_one(alloc(100 * KIB));
    EXPECT_PARTS([WHOLLY_FREE] = 100);
    options.initial_bytes = 0;
    create_anew();
    free_one(alloc(10 * KIB));
    assert_int_equal(part(INITIAL), 0);
    assert_int_equal(part(WHOLLY_FREE), stats_of(pool).footprint_bytes);
}

static void a_piece_on_hold_is_on_hold_unless_something_is_live(void **state)
{
    alloc(60 * KIB);
    void *second = alloc(32 * KIB);
    uint64_t id = found_at(second).static_pool_id;
    expect_ok(tarn_static_pool_hold(pool, id));
    EXPECT_PARTS([REQUESTED] = 92, [SHUT_IN] = 36);
    free_one(second);
    EXPECT_PARTS([REQUESTED] = 60, [SHUT_IN] = 4, [ON_HOLD] = 64);
    assert_int_equal(trim(0), 0);
    expect_ok(tarn_static_pool_unhold(pool, id));
    EXPECT_PARTS([REQUESTED] = 60, [SHUT_IN] = 4, [WHOLLY_FREE] = 64);
}

static void memory_that_waits_for_a_stream_is_pending(void **state)
{
    void *of_a = alloc_on(10 * KIB, A), *of_b = alloc_on(20 * KIB, B);
    alloc_on(1 * KIB, A);
    free_on(of_b, B);
    EXPECT_PARTS([REQUESTED] = 11, [PENDING] = 20, [SHUT_IN] = 33);
    free_on(of_a, A);
    EXPECT_PARTS([REQUESTED] = 1, [PENDING] = 30, [SHUT_IN] = 33);
    retire(B);
    test_backend_complete(&backend, B);
    alloc_on(33 * KIB, A);
    alloc_on(19 * KIB, A); /* in the memory that B has completed */
    EXPECT_PARTS([REQUESTED] = 53, [PENDING] = 10, [SHUT_IN] = 1);
}

static void memory_of_a_capture_is_captured_and_shuts_its_piece_in(void **state)
{
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    free_on(alloc_on(20 * KIB, A), A);
    expect_ok(tarn_capture_end(pool, capture));
    EXPECT_PARTS([CAPTURED] = 20, [SHUT_IN] = 44);
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    EXPECT_PARTS([INITIAL] = 64);
}

static void memory_lent_to_arenas_is_theirs_until_it_is_taken_back(void **state)
{
    options.initial_bytes = MIB;
    checks_every_step = false; /* a check takes arenas back */
    create_anew();
    warm_up();
    void *block = alloc(20 * KIB);
    alloc(30);
    expect_active(1);
    size_t lent_bytes = own_arena()->lent_chunk_count * KIB;
    tarn_stats stats = stats_of(pool); /* takes it back */
    expect_active(0);
    assert_true(lent_bytes > 21 * KIB);
    expect_parts(stats.part_bytes, MIB,
                 (struct parts){ { [REQUESTED] = 20 * KIB + 30,
                                   [ROUNDING] = 2,
                                   [SLICES] = KIB - 32,
                                   [ARENAS] = lent_bytes - 21 * KIB,
                                   [SHUT_IN] = MIB - lent_bytes } },
                 1);
    assert_int_equal(stats.free_bytes, MIB - 21 * KIB);
    assert_int_equal(part(ARENAS), 0);
    assert_int_equal(part(SHUT_IN), MIB - 21 * KIB);
    free_one(block);
}

/* --- steps ----------------------------------------------------------------------------------------- */

static void a_step_is_shut_in_by_what_is_live_in_it(void **state)
{
    void *first = alloc(100 * KIB), *second = alloc(60 * KIB);
    EXPECT_PARTS([REQUESTED] = 160, [SHUT_IN] = 32);
    free_one(first);
    /* Of the second step, 28 KiB are free beside the live block. */
    EXPECT_PARTS([REQUESTED] = 60, [SHUT_IN] = 36 + 32, [INITIAL] = 64);
    free_one(second);
    EXPECT_PARTS([INITIAL] = 128, [WHOLLY_FREE] = 64);
    assert_int_equal(trim(0), 192 * KIB);
    EXPECT_PARTS(0);
}

static void a_step_on_hold_is_on_hold(void **state)
{
    backend.has_sharing = true;
    opened = test_backend_open(&backend);
    options.is_shareable = true;
    create_anew();
    char *block = alloc(150 * KIB);
    tarn_exported_step step = TARN_EXPORTED_STEP_INIT;
    expect_ok(tarn_pool_export(pool, block + 130 * KIB, &step));
    close(step.file_descriptor);
    expect_ok(tarn_static_pool_hold(pool, step.id));
    free_one(block);
    EXPECT_PARTS([ON_HOLD] = 64, [INITIAL] = 128);
    expect_ok(tarn_static_pool_unhold(pool, step.id));
    EXPECT_PARTS([INITIAL] = 128, [WHOLLY_FREE] = 64);
}

/* Three regions that wait for different work cover the first step. Its idle bytes are no block's. */
static void a_step_may_be_wholly_free_in_several_regions(void **state)
{
    void *of_a = alloc_on(20 * KIB, A), *between = alloc_on(20 * KIB, A),
         *of_b = alloc_on(30 * KIB, B);
    alloc_on(58 * KIB, A);
    free_on(of_a, A);
    free_on(of_b, B);
    free_after(between, NULL, 0);
    EXPECT_PARTS([REQUESTED] = 58, [PENDING] = 50, [INITIAL] = 20);
}

/* --- no chunks ------------------------------------------------------------------------------------- */

static void the_ends_of_the_callers_memory_are_edges(void **state)
{
    options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    expect_ok(
        tarn_pool_create_over((void *)(((uintptr_t)1 << 56) + 100), 64 * KIB, &options, &pool));
    EXPECT_PARTS([INITIAL] = 63, [EDGES] = 1);
    alloc(KIB);
    EXPECT_PARTS([REQUESTED] = 1, [SHUT_IN] = 62, [EDGES] = 1);
}

static void memory_that_the_vendor_refuses_is_unreleased(void **state)
{
    free_one(alloc(64 * KIB));
    backend.fail_release = true;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, NULL));
    EXPECT_PARTS([UNRELEASED] = 64);
    backend.fail_release = false;
    assert_int_equal(trim(0), 64 * KIB);
    EXPECT_PARTS(0);
}

static void note_transit(void *user, void *base, size_t size_bytes, uint64_t id)
{
    tarn_stats stats = TARN_STATS_INIT; /* a pool that is being destroyed has none */
    if (tarn_pool_stats(pool, &stats) == TARN_STATUS_OK)
        *(size_t *)user = stats.part_bytes[TRANSIT];
}

static void memory_that_comes_or_goes_is_in_transit(void **state)
{
    size_t seen_bytes = 0;
    options.on_static_pool_created = options.on_static_pool_destroyed = note_transit;
    options.user = &seen_bytes;
    create_anew();
    alloc(64 * KIB);
    assert_int_equal(seen_bytes, 64 * KIB);
    free_one(alloc(100 * KIB));
    assert_int_equal(seen_bytes, 100 * KIB);
    EXPECT_PARTS([REQUESTED] = 64, [WHOLLY_FREE] = 100);
    seen_bytes = 0;
    assert_int_equal(trim(0), 100 * KIB);
    assert_int_equal(seen_bytes, 100 * KIB);
    EXPECT_PARTS([REQUESTED] = 64);
}

/* --- the largest footprint --------------------------------------------------------------------------- */

static void the_peak_tells_why_the_pool_grew(void **state)
{
    EXPECT_PEAK(0);
    void *first = alloc(60 * KIB);
    EXPECT_PEAK([TRANSIT] = 64);
    void *second = alloc(64 * KIB);
    EXPECT_PEAK([REQUESTED] = 60, [SHUT_IN] = 4, [TRANSIT] = 64);
    free_one(first);
    alloc(20 * KIB); /* in the first piece */
    void *third = alloc(64 * KIB);
    EXPECT_PEAK([REQUESTED] = 84, [SHUT_IN] = 44, [TRANSIT] = 64);
    free_one(second);
    free_one(third);
    assert_int_equal(trim(0), 128 * KIB);
    alloc(64 * KIB); /* no new peak */
    EXPECT_PEAK([REQUESTED] = 84, [SHUT_IN] = 44, [TRANSIT] = 64);
    expect_ok(tarn_pool_reset_peaks(pool));
    EXPECT_PEAK([REQUESTED] = 84, [SHUT_IN] = 44);
}

static void the_peak_of_steps_that_come_together_counts_them_all(void **state)
{
    alloc(100 * KIB);
    EXPECT_PEAK([TRANSIT] = 128);
    alloc(200 * KIB);
    EXPECT_PEAK([REQUESTED] = 100, [SHUT_IN] = 28, [TRANSIT] = 192);
}

static void the_peak_tells_of_arenas(void **state)
{
    options.initial_bytes = 8 * MIB;
    checks_every_step = false;
    create_anew();
    warm_up();
    alloc(20 * KIB);
    alloc(5 * MIB);
    expect_active(1);
    size_t lent_bytes = own_arena()->lent_chunk_count * KIB;
    alloc(30 * MIB); /* the pool grows for its arenas, which keep what they have */
    const size_t *peak = pool->peak.part_bytes;
    assert_int_equal(peak[REQUESTED], 5 * MIB + 20 * KIB);
    assert_int_equal(peak[ARENAS], lent_bytes - 5 * MIB - 20 * KIB);
    assert_int_equal(peak[TRANSIT], stats_of(pool).footprint_bytes - 8 * MIB);
}

/* A look takes long where much is free and some of it waits, so it waits for more allocations. */
static void the_peak_of_a_scattered_pool_may_be_an_earlier_one(void **state)
{
    enum {
        COUNT = 700
    };
    static void *blocks[2 * COUNT];
    checks_every_step = false;
    options.slices = false;
    create_anew();
    void *waits = alloc_on(KIB, B);
    for (size_t i = 0; i < 2 * COUNT; i++)
        blocks[i] = alloc_on(KIB, A);
    for (size_t i = 0; i < COUNT; i++)
        free_after(blocks[2 * i], NULL, 0);
    free_on(waits, B);
    tarn_stats before = stats_of(pool);
    alloc_on(64 * KIB, A);
    tarn_stats stats = stats_of(pool);
    size_t came = stats.footprint_bytes_max - before.footprint_bytes;
    assert_true(came > 0 && stats.part_bytes[SHUT_IN] >= COUNT * KIB);
    assert_int_equal(stats.peak_part_bytes[SHUT_IN], before.peak_part_bytes[SHUT_IN]);
    assert_int_equal(stats.peak_part_bytes[TRANSIT], before.peak_part_bytes[TRANSIT] + came);
    for (size_t i = 0; i < COUNT * 16; i++)
        free_after(alloc_on(KIB, A), NULL, 0);
    size_t shut_in_bytes = stats_of(pool).part_bytes[SHUT_IN];
    alloc_on(64 * KIB, A);
    stats = stats_of(pool);
    assert_int_equal(stats.peak_part_bytes[SHUT_IN], shut_in_bytes);
    assert_int_equal(stats.peak_part_bytes[PENDING], KIB);
}

/* --- names ----------------------------------------------------------------------------------------- */

static void each_part_has_a_name_of_its_own(void **state)
{
    for (int i = 0; i < TN_FOOTPRINT_PART_COUNT; i++) {
        const char *name = tarn_footprint_part_name((tarn_footprint_part)i);
        assert_string_not_equal(name, "unknown");
        for (int k = 0; k < i; k++)
            assert_string_not_equal(name, tarn_footprint_part_name((tarn_footprint_part)k));
    }
    assert_string_equal(tarn_footprint_part_name(SHUT_IN), "shut_in");
    assert_string_equal(tarn_footprint_part_name(TN_FOOTPRINT_PART_COUNT), "unknown");
    assert_string_equal(tarn_footprint_part_name((tarn_footprint_part)-1), "unknown");
}

#define PIECES(name) cmocka_unit_test_setup_teardown(name, set_up_pieces, tear_down)
#define STEPS(name)  cmocka_unit_test_setup_teardown(name, set_up_steps, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        PIECES(live_bytes_are_requested_and_the_rest_is_rounding),
        PIECES(free_slices_beside_live_ones_are_slices),
        PIECES(blocks_that_debug_mode_keeps_are_quarantined),
        PIECES(an_allocation_that_is_passed_through_has_edges),
        PIECES(a_piece_is_shut_in_by_what_is_live_in_it),
        PIECES(only_initial_bytes_are_initial),
        PIECES(a_piece_on_hold_is_on_hold_unless_something_is_live),
        PIECES(memory_that_waits_for_a_stream_is_pending),
        PIECES(memory_of_a_capture_is_captured_and_shuts_its_piece_in),
        PIECES(memory_lent_to_arenas_is_theirs_until_it_is_taken_back),
        STEPS(a_step_is_shut_in_by_what_is_live_in_it),
        STEPS(a_step_on_hold_is_on_hold),
        STEPS(a_step_may_be_wholly_free_in_several_regions),
        cmocka_unit_test_setup_teardown(the_ends_of_the_callers_memory_are_edges,
                                        set_up_without_pool, tear_down),
        PIECES(memory_that_the_vendor_refuses_is_unreleased),
        PIECES(memory_that_comes_or_goes_is_in_transit),
        PIECES(the_peak_tells_why_the_pool_grew),
        STEPS(the_peak_of_steps_that_come_together_counts_them_all),
        PIECES(the_peak_tells_of_arenas),
        STEPS(the_peak_of_a_scattered_pool_may_be_an_earlier_one),
        cmocka_unit_test(each_part_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests_name("footprint", tests, NULL, NULL);
}
