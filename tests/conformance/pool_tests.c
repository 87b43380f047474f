/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_tests: a pool over the backend. Every allocation is filled with a value of its own, through
 * the backend, and holds it until it is freed; and the same calls give the same places on every
 * backend, which are compared with those on the host.
 *
 * The calls are drawn by a generator that starts from TARN_SEED, or from 1.
 */
#include "conformance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tarn/host.h"
#include "tarn/tarn.h"

enum {
    STEP_COUNT = 1500,
    LIVE_COUNT_MAX = 96,
    STATIC_POOL_COUNT_MAX = 16
};

/* Vendors round the sizes of static pools up, each in its own way. So they are made of steps that
 * all of them leave alone, and no request is larger than the first. */
#define INITIAL_BYTES ((size_t)2 << 20)

/* --- the calls --------------------------------------------------------------------------------- */

static uint64_t seed(void)
{
    const char *text = getenv("TARN_SEED");
    uint64_t value = text ? strtoull(text, NULL, 0) : 1;
    return value ? value : 1;
}

/* xorshift64: the same numbers everywhere. */
static uint64_t draw(uint64_t *generator)
{
    uint64_t x = *generator;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *generator = x;
    return x;
}

/* Many small ones, few large ones; from 1 byte to 512 KiB. */
static size_t draw_size(uint64_t *generator)
{
    static const size_t sizes_max[] = { 1 << 10, 1 << 10, 1 << 14, 1 << 14, 1 << 17, 1 << 19 };
    uint64_t which = draw(generator) % (sizeof sizes_max / sizeof *sizes_max);
    return (size_t)(draw(generator) % sizes_max[which]) + 1;
}

/* --- what comes of them ------------------------------------------------------------------------ */

/* Where an allocation lies, without addresses, which differ from run to run. */
struct place {
    size_t static_pool; /* 0 is the first that the pool made */
    size_t offset_bytes;
};

struct live {
    void *address;
    size_t size_bytes;
    unsigned char value;
};

struct run {
    const struct fixture *fixture;
    size_t step_bytes; /* of a contiguous pool; 0: it is none */
    tarn_pool *pool;
    tarn_stream stream;
    uint64_t generator;
    struct live live[LIVE_COUNT_MAX];
    size_t live_count;
    uint64_t static_pool_ids[STATIC_POOL_COUNT_MAX]; /* in the order in which they came */
    size_t static_pool_count;
    struct place places[STEP_COUNT];
    size_t place_count;
};

static size_t number_of_static_pool(struct run *run, uint64_t id)
{
    size_t i = 0;
    while (i < run->static_pool_count && run->static_pool_ids[i] != id)
        i++;
    if (i == run->static_pool_count) {
        assert_true(i < STATIC_POOL_COUNT_MAX);
        run->static_pool_ids[run->static_pool_count++] = id;
    }
    return i;
}

static struct place place_of(struct run *run, const struct live *live)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    assert_int_equal(tarn_pool_find(live->address, &found), TARN_STATUS_OK);
    assert_ptr_equal(found.pool, run->pool);
    assert_ptr_equal(found.address, live->address);
    assert_int_equal(found.size_bytes, live->size_bytes);

    /* Chunks begin at the first multiple of their size. */
    uintptr_t chunk_bytes = TARN_CHUNK_BYTES_DEFAULT;
    uintptr_t first = ((uintptr_t)found.static_pool_base + chunk_bytes - 1) & ~(chunk_bytes - 1);
    uintptr_t offset = (uintptr_t)live->address - first;
    /* Of at most half a chunk there are slices. */
    if (live->size_bytes > chunk_bytes / 2) assert_int_equal(offset % chunk_bytes, 0);
    return (struct place){ number_of_static_pool(run, found.static_pool_id), offset };
}

static void expect_pool_ok(tarn_status status)
{
    if (status != TARN_STATUS_OK)
        fail_msg("%s: %s", tarn_status_name(status), tarn_last_error().message);
}

static void step_alloc(struct run *run)
{
    struct live *live = &run->live[run->live_count++];
    live->size_bytes = draw_size(&run->generator);
    live->value = (unsigned char)draw(&run->generator);
    size_t alignment_bytes = (size_t)1 << (draw(&run->generator) % 11);
    expect_pool_ok(
        tarn_pool_alloc_aligned(run->pool, live->size_bytes, alignment_bytes, &live->address));
    assert_int_equal((uintptr_t)live->address % alignment_bytes, 0);
    assert_int_equal((uintptr_t)live->address % TARN_ALIGNMENT_BYTES_DEFAULT, 0);
    run->places[run->place_count++] = place_of(run, live);
    fill(run->fixture, live->address, live->value, live->size_bytes, run->stream);
}

/* What it holds stays where it is, as much as there is of it then. */
static void step_resize(struct run *run, size_t which)
{
    struct live *live = &run->live[which];
    size_t size_bytes = draw_size(&run->generator);
    size_t kept_bytes = size_bytes < live->size_bytes ? size_bytes : live->size_bytes;
    tarn_status status = tarn_pool_resize(run->pool, live->address, size_bytes);
    if (status == TARN_STATUS_NOT_IN_PLACE) return;
    expect_pool_ok(status);
    synchronize_stream(run->fixture, run->stream);
    expect_bytes(run->fixture, live->address, kept_bytes, live->value);
    live->size_bytes = size_bytes;
    fill(run->fixture, live->address, live->value, size_bytes, run->stream);
}

static void step_free(struct run *run, size_t which)
{
    struct live *live = &run->live[which];
    synchronize_stream(run->fixture, run->stream);
    expect_bytes(run->fixture, live->address, live->size_bytes, live->value);
    expect_pool_ok(tarn_pool_free(run->pool, live->address));
    *live = run->live[--run->live_count];
}

static void run_begin(struct run *run, const struct fixture *fixture, size_t step_bytes)
{
    *run = (struct run){ .fixture = fixture, .step_bytes = step_bytes, .generator = seed() };
    run->stream = create_stream(fixture);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &fixture->backend;
    options.initial_bytes = INITIAL_BYTES;
    options.contiguous = step_bytes > 0;
    options.step_bytes = step_bytes;
    expect_pool_ok(tarn_pool_create(&options, &run->pool));
}

/* What is trimmed away is mapped again when it is needed. */
static void trim_now_and_then(struct run *run, int step)
{
    if (run->step_bytes > 0 && step % 200 == 199)
        expect_pool_ok(tarn_pool_trim(run->pool, 0, NULL));
}

static void run_steps(struct run *run)
{
    for (int step = 0; step < STEP_COUNT; step++) {
        bool may_alloc = run->live_count < LIVE_COUNT_MAX;
        bool may_free = run->live_count > 0;
        if (may_alloc && (!may_free || draw(&run->generator) % 100 < 52)) {
            step_alloc(run);
        } else {
            step_free(run, (size_t)(draw(&run->generator) % run->live_count));
        }
        if (run->live_count > 0 && step % 4 == 0)
            step_resize(run, (size_t)(draw(&run->generator) % run->live_count));
        trim_now_and_then(run, step);
        if (step % 100 == 0) expect_pool_ok(tarn_pool_check(run->pool));
    }
}

static void run_end(struct run *run)
{
    while (run->live_count > 0)
        step_free(run, run->live_count - 1);
    expect_pool_ok(tarn_pool_check(run->pool));
    expect_pool_ok(tarn_pool_destroy(run->pool));
    destroy_stream(run->fixture, run->stream);
}

static void run_all(struct run *run, const struct fixture *fixture, size_t step_bytes)
{
    run_begin(run, fixture, step_bytes);
    run_steps(run);
    run_end(run);
}

/* --- tests ------------------------------------------------------------------------------------- */

/* The same on a host backend of its own. */
static void run_all_on_host(struct run *run, const struct fixture *fixture, size_t step_bytes)
{
    struct fixture host = { .target = fixture->target };
    assert_int_equal(tarn_host_backend_open(NULL, &host.backend), TARN_STATUS_OK);
    host.operations = host.backend.operations;
    host.state = host.backend.state;
    run_all(run, &host, step_bytes);
    tarn_backend_close(&host.backend);
}

static void expect_same_places(const struct run *there, const struct run *here)
{
    assert_int_equal(there->static_pool_count, here->static_pool_count);
    assert_int_equal(there->place_count, here->place_count);
    for (size_t i = 0; i < there->place_count; i++) {
        const struct place *a = &there->places[i], *b = &here->places[i];
        if (a->static_pool != b->static_pool || a->offset_bytes != b->offset_bytes) {
            fail_msg("allocation %zu: static pool %zu, chunk %zu; on the host %zu, %zu", i,
                     a->static_pool, a->offset_bytes, b->static_pool, b->offset_bytes);
        }
    }
}

static void data_stays_and_places_are_the_same_as_on_the_host(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    require_streams(fixture);
    static struct run there, here;
    print_message("TARN_SEED=%" PRIu64 "\n", seed());
    run_all(&there, fixture, 0);
    run_all_on_host(&here, fixture, 0);
    assert_true(there.static_pool_count > 1);
    expect_same_places(&there, &here);
}

static void contiguous_data_stays_and_places_are_the_same_as_on_the_host(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    require_streams(fixture);
    if (fixture->properties.range_granularity_bytes == 0) skip();
    static struct run there, here;
    print_message("TARN_SEED=%" PRIu64 "\n", seed());
    /* No step is smaller than what the vendor maps. */
    size_t granularity_bytes = fixture->properties.range_granularity_bytes;
    size_t step_bytes = granularity_bytes > INITIAL_BYTES ? granularity_bytes : INITIAL_BYTES;
    run_all(&there, fixture, step_bytes);
    run_all_on_host(&here, fixture, step_bytes);
    assert_int_equal(there.static_pool_count, 1);
    expect_same_places(&there, &here);
}

static void without_ranges_no_pool_is_contiguous(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    if (fixture->properties.range_granularity_bytes > 0) skip();
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &fixture->backend;
    options.contiguous = true;
    tarn_pool *pool;
    assert_int_equal(tarn_pool_create(&options, &pool), TARN_STATUS_NOT_SUPPORTED);
}

static void trim_gives_the_memory_back(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    require_memory_info(fixture);
    size_t before_bytes = memory_of(fixture).free_bytes;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &fixture->backend;
    options.initial_bytes = 16 * INITIAL_BYTES;
    tarn_pool *pool;
    expect_pool_ok(tarn_pool_create(&options, &pool));
    void *address;
    expect_pool_ok(tarn_pool_alloc(pool, 1, &address));
    size_t held_bytes = memory_of(fixture).free_bytes;
    expect_pool_ok(tarn_pool_free(pool, address));
    size_t released_bytes = 0;
    expect_pool_ok(tarn_pool_trim(pool, 0, &released_bytes));
    assert_int_equal(released_bytes, options.initial_bytes);
    size_t after_bytes = memory_of(fixture).free_bytes;
    expect_pool_ok(tarn_pool_destroy(pool));

    if (fixture->target->memory_bytes != 0) {
        assert_int_equal(held_bytes, before_bytes - options.initial_bytes);
        assert_int_equal(after_bytes, before_bytes);
    } else if (fixture->properties.kind == TARN_MEMORY_KIND_DEVICE && !fixture->target->is_host) {
        assert_true(after_bytes > held_bytes);
    }
}

/* Takes all that there is, in pieces that get smaller as the backend runs out. */
static void a_pool_takes_all_pretended_memory(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    if (fixture->target->memory_bytes == 0) skip();
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &fixture->backend;
    options.initial_bytes = INITIAL_BYTES;
    tarn_pool *pool;
    expect_pool_ok(tarn_pool_create(&options, &pool));
    size_t taken_bytes = 0;
    tarn_status status;
    for (;;) {
        void *address;
        status = tarn_pool_alloc(pool, INITIAL_BYTES, &address);
        if (status != TARN_STATUS_OK) break;
        taken_bytes += INITIAL_BYTES;
    }
    assert_int_equal(status, TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(taken_bytes, fixture->target->memory_bytes);
    expect_pool_ok(tarn_pool_check(pool));
    expect_pool_ok(tarn_pool_destroy_forced(pool, NULL));
    assert_int_equal(memory_of(fixture).free_bytes, fixture->target->memory_bytes);
}

/* The same calls, each one of the backend. */
static void a_pool_that_passes_through_holds_what_is_live(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    require_streams(fixture);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &fixture->backend;
    options.passes_through = true;
    struct run run = { .fixture = fixture, .generator = seed() };
    run.stream = create_stream(fixture);
    expect_pool_ok(tarn_pool_create(&options, &run.pool));
    for (int step = 0; step < 200; step++) {
        bool may_alloc = run.live_count < LIVE_COUNT_MAX;
        if (may_alloc && (run.live_count == 0 || draw(&run.generator) % 100 < 52)) {
            struct live *live = &run.live[run.live_count++];
            live->size_bytes = draw_size(&run.generator);
            live->value = (unsigned char)draw(&run.generator);
            expect_pool_ok(tarn_pool_alloc(run.pool, live->size_bytes, &live->address));
            fill(fixture, live->address, live->value, live->size_bytes, run.stream);
        } else {
            step_free(&run, (size_t)(draw(&run.generator) % run.live_count));
        }
        tarn_stats stats = TARN_STATS_INIT;
        expect_pool_ok(tarn_pool_stats(run.pool, &stats));
        assert_int_equal(stats.footprint_bytes, stats.requested_bytes);
        assert_int_equal(stats.static_pool_count, run.live_count);
    }
    run_end(&run);
}

/* A step of a shareable pool, mapped again by the vendor's own calls, has the pool's data in it. */
static void a_step_of_a_shareable_pool_is_exported(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    require_streams(fixture);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &fixture->backend;
    options.contiguous = true;
    options.is_shareable = true;
    tarn_pool *pool;
    tarn_status created = tarn_pool_create(&options, &pool);
    if (!fixture->properties.has_shareable_ranges) {
        assert_int_equal(created, TARN_STATUS_NOT_SUPPORTED);
        skip();
    }
    expect_pool_ok(created);
    void *before, *field;
    expect_pool_ok(tarn_pool_alloc(pool, 5000, &before));
    expect_pool_ok(tarn_pool_alloc(pool, 3000, &field));
    fill(fixture, field, 0x71, 3000, NULL);
    synchronize_stream(fixture, NULL);
    tarn_exported_step step = TARN_EXPORTED_STEP_INIT;
    expect_pool_ok(tarn_pool_export(pool, field, &step));
    assert_ptr_equal((char *)step.base + step.offset_bytes, field);
    if (vendor.import_memory && fixture->properties.kind == TARN_MEMORY_KIND_DEVICE) {
        unsigned char *there = vendor.import_memory(step.file_descriptor, step.size_bytes);
        expect_bytes(fixture, there + step.offset_bytes, 3000, 0x71);
        vendor.forget_memory(there, step.size_bytes);
    }
    assert_int_equal(close(step.file_descriptor), 0);
    expect_pool_ok(tarn_pool_destroy_forced(pool, NULL));
}

int run_pool_tests(const struct target *target)
{
    static const struct CMUnitTest tests[] = {
        TEST(data_stays_and_places_are_the_same_as_on_the_host),
        TEST(contiguous_data_stays_and_places_are_the_same_as_on_the_host),
        TEST(without_ranges_no_pool_is_contiguous),
        TEST(trim_gives_the_memory_back),
        TEST(a_pool_takes_all_pretended_memory),
        TEST(a_pool_that_passes_through_holds_what_is_live),
        TEST(a_step_of_a_shareable_pool_is_exported),
    };
    fixture_set_target(target);
    return cmocka_run_group_tests_name(target->name, tests, NULL, NULL);
}
