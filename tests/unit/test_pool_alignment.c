/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* alignment_bytes: every address of a pool is a multiple of it, whichever way the address comes; and its price. */
#include "harness/random.h"
#include "pool_fixture.h"

/* Alignments of a chunk, and chunks of all kinds: too small for slices, with slices, too large for slices. */
static const size_t chunks[] = { 256, 1024, 16384, 262144 };

static int set_up_alignment(void **state)
{
    begin_fixture(true);
    backend.misalignment_bytes = 768;
    backend.range_granularity_bytes = 4096;
    opened = test_backend_open(&backend);
    return 0;
}

static void expect_aligned(const void *address)
{
    if ((uintptr_t)address % options.alignment_bytes != 0)
        fail_msg("%p is no multiple of %zu", address, options.alignment_bytes);
}

/* One of each way to get an address. Frees some, so that later ones come into holes. */
static void expect_all_aligned(void)
{
    struct random dice = random_init(random_seed(20261126));
    void *held[64] = { NULL };
    for (int i = 0; i < 400; i++) {
        size_t sizes[] = { (size_t)random_size(&dice, 12), (size_t)random_size(&dice, 8),
                           (size_t)random_size(&dice, 16) };
        tarn_stream stream = random_below(&dice, 3) == 0 ? B : A;
        void *addresses[3];
        switch (random_below(&dice, 4)) {
        case 0:
            expect_ok(tarn_pool_alloc_many_on(pool, 3, sizes, stream, addresses));
            break;
        case 1:
            for (int k = 0; k < 3; k++)
                expect_ok(tarn_pool_alloc_aligned_on(
                    pool, sizes[k], (size_t)1 << random_below(&dice, 14), stream, &addresses[k]));
            break;
        case 2:
            for (int k = 0; k < 3; k++)
                addresses[k] = alloc(sizes[k]);
            break;
        default:
            for (int k = 0; k < 3; k++)
                addresses[k] = alloc_on(sizes[k], stream);
        }
        for (int k = 0; k < 3; k++) {
            expect_aligned(addresses[k]);
            void **place = &held[random_below(&dice, 64)];
            if (*place) free_after(*place, NULL, 0);
            *place = addresses[k];
        }
    }
    expect_ok(tarn_pool_check(pool));
}

static void for_each_alignment(void (*expect)(void))
{
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        options.chunk_bytes = chunks[i];
        for (options.alignment_bytes = 16; options.alignment_bytes <= chunks[i];
             options.alignment_bytes *= 4) {
            create();
            expect();
            destroy();
        }
    }
    options.alignment_bytes = 16; /* of no pool */
}

static void every_address_has_it(void **state)
{
    for_each_alignment(expect_all_aligned);
}

static void by_default_every_address_is_a_multiple_of_256(void **state)
{
    const tarn_pool_options plain = TARN_POOL_OPTIONS_INIT;
    assert_int_equal(plain.alignment_bytes, 256);
    options.alignment_bytes = plain.alignment_bytes;
    create();
    expect_all_aligned();
}

static void in_one_range(void **state)
{
    backend.misalignment_bytes = 0;
    options.contiguous = true;
    options.initial_bytes = 0;
    options.limit_bytes = 64 * MIB;
    for_each_alignment(expect_all_aligned);
}

static void in_debug_mode(void **state)
{
    options.debug = TARN_DEBUG_SITES;
    for_each_alignment(expect_all_aligned);
}

/* Zones lie before the address. They are written, so there has to be memory. */
static void behind_zones(void **state)
{
    create();
    options.debug = TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE;
    for (options.alignment_bytes = 16; options.alignment_bytes <= KIB;
         options.alignment_bytes *= 2) {
        create_over_host_memory();
        for (size_t size = 1; size < 3000; size += 1 + size / 2)
            expect_aligned(alloc(size));
    }
    options.alignment_bytes = 16;
}

/* The backend aligns to 256 bytes here, and no better. */
static void passing_through(void **state)
{
    options.passes_through = true;
    for_each_alignment(expect_all_aligned);
}

static void over_memory_of_the_callers(void **state)
{
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        options.chunk_bytes = chunks[i];
        for (options.alignment_bytes = 16; options.alignment_bytes <= chunks[i];
             options.alignment_bytes *= 4) {
            options.backend = NULL;
            expect_ok(tarn_pool_create_over((void *)(((uintptr_t)1 << 56) + 72), 64 * MIB, &options,
                                            &pool));
            for (size_t size = 1; size < 100000; size += 1 + size / 2) {
                expect_aligned(alloc(size));
                expect_aligned(alloc(size));
            }
            destroy();
        }
    }
    options.alignment_bytes = 16;
}

static void of_a_capture(void **state)
{
    options.alignment_bytes = 512;
    create();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    for (size_t size = 1; size < 3000; size += 1 + size / 2)
        expect_aligned(alloc_on(size, A));
    expect_ok(tarn_capture_end(pool, capture));
}

static void of_arenas(void **state)
{
    options.alignment_bytes = 512;
    create();
    warm_up();
    for (size_t size = 1; size < 3000; size += 1 + size / 8)
        expect_aligned(alloc(size));
    assert_true(tn_slices_live_count(&own_arena()->part.slices) > 0);
    expect_active(1);
    gather();
    for (size_t size = 1; size < 600; size++)
        expect_aligned(alloc(size));
}

static void of_a_fallback_it_is_the_fallbacks(void **state)
{
    backend.misalignment_bytes = 0;
    options.alignment_bytes = 16;
    create();
    tarn_pool *fallback = pool;
    pool = NULL;
    options.alignment_bytes = 1024;
    options.limit_bytes = 64 * KIB;
    options.initial_bytes = 64 * KIB;
    options.fallback = fallback;
    create();
    expect_aligned(alloc(64 * KIB));
    void *first = alloc(8), *second = alloc(8);
    assert_int_equal((char *)second - (char *)first, 16);
    free_one(first);
    free_one(second);
    destroy();
    pool = fallback;
    options.fallback = NULL;
}

/* --- the price ------------------------------------------------------------------------------------ */

static void expect_used(size_t alignment_bytes, size_t used_bytes)
{
    options.alignment_bytes = alignment_bytes;
    create();
    for (int i = 0; i < 100000; i++)
        alloc(8);
    assert_in_range(stats_of(pool).used_bytes, used_bytes, used_bytes + KIB);
    destroy();
}

static void small_requests_take_at_least_the_alignment(void **state)
{
    expect_used(16, 1600000);
    expect_used(64, 6400000);
    expect_used(256, 25600000);
    expect_used(512, 51200000);
    expect_used(1024, 102400000);
    options.slices = false;
    expect_used(16, 102400000);
}

/* --- values --------------------------------------------------------------------------------------- */

static void other_values_are_refused(void **state)
{
    static const size_t wrong[] = { 0, 1, 8, 15, 17, 24, 255, 257, 1023, 1025, 2048, SIZE_MAX };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.alignment_bytes = wrong[i];
        expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "alignment_bytes is");
    }
    options.chunk_bytes = 256;
    options.alignment_bytes = 512;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "alignment_bytes is 512");
    options.alignment_bytes = 256;
    create();
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_alignment, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(every_address_has_it),
        CASE(by_default_every_address_is_a_multiple_of_256),
        CASE(in_one_range),
        CASE(in_debug_mode),
        CASE(behind_zones),
        CASE(passing_through),
        CASE(over_memory_of_the_callers),
        CASE(of_a_capture),
        CASE(of_arenas),
        CASE(of_a_fallback_it_is_the_fallbacks),
        CASE(small_requests_take_at_least_the_alignment),
        CASE(other_values_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
