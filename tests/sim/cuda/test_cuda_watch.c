/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_cuda_watch: what a tool that NVTX loads is told of pools in debug mode. Whatever they allocate and free, the
 * tool lets kernels touch just what the program has; and debug mode itself, whose fills and copies the tool
 * would report, touches nothing else.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../sim_control.h"
#include "harness/claims.h"
#include "harness/random.h"
#include "sim_tool.h"
#include "tarn/cuda.h"

#define MIB ((size_t)1 << 20)

static const struct sim_tool *tool;

/* The CUDA backend, whose fills and copies ask the tool. */
static tarn_backend cuda, watched;
static tarn_backend_operations watched_operations;
static size_t touch_count;

static void expect_may_touch(const void *address, size_t size_bytes)
{
    touch_count++;
    if (!tool->may_touch(address, size_bytes))
        fail_msg("%zu bytes at %p are touched, and may not be", size_bytes, address);
}

static tarn_backend_result watched_fill(void *state, void *address, unsigned char value,
                                        size_t size_bytes, tarn_stream stream)
{
    expect_may_touch(address, size_bytes);
    return cuda.operations->fill(state, address, value, size_bytes, stream);
}

static tarn_backend_result watched_copy(void *state, void *destination, const void *source,
                                        size_t size_bytes, tarn_stream stream)
{
    expect_may_touch(destination, size_bytes);
    expect_may_touch(source, size_bytes);
    return cuda.operations->copy(state, destination, source, size_bytes, stream);
}

static void open_backend(tarn_memory_kind kind)
{
    sim_reset();
    tool->reset();
    touch_count = 0;
    expect_ok(tarn_cuda_backend_open(0, kind, &cuda));
    watched_operations = *cuda.operations;
    watched_operations.fill = watched_fill;
    watched_operations.copy = watched_copy;
    watched = (tarn_backend){ &watched_operations, cuda.state };
}

static void close_backend(void)
{
    assert_int_equal(tool->heap_count(), 0);
    assert_int_equal(tool->region_count(), 0);
    if (tool->first_fault()) fail_msg("the tool was told %s", tool->first_fault());
    tarn_backend_close(&cuda);
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
}

static tarn_pool_options debug_options(unsigned flags)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &watched;
    options.initial_bytes = MIB;
    options.debug = flags;
    return options;
}

static tarn_pool *create(unsigned flags)
{
    tarn_pool_options options = debug_options(flags);
    return new_pool(&options);
}

static char *alloc(tarn_pool *pool, size_t size_bytes)
{
    return new_block(pool, size_bytes);
}

static void expect_touchable(bool expected, const char *address, size_t size_bytes)
{
    if (tool->may_touch(address, size_bytes) == expected) return;
    fail_msg("%zu bytes at %p: the tool lets kernels touch them: %d", size_bytes,
             (const void *)address, !expected);
}

/* Every flag by itself, and all. */
static const unsigned all_flags[] = {
    TARN_DEBUG_SITES,
    TARN_DEBUG_ZONES,
    TARN_DEBUG_POISON,
    TARN_DEBUG_QUARANTINE,
    TARN_DEBUG_SITES | TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE,
};
#define FLAGS_COUNT (sizeof all_flags / sizeof all_flags[0])

/* --- what may be touched ------------------------------------------------------------------------ */

static void just_what_was_asked_for_may_be_touched(void **state)
{
    static const size_t sizes[] = { 1, 255, 256, 257, 1023, 1024, 1025, 100001 };
    for (size_t f = 0; f < FLAGS_COUNT; f++) {
        open_backend(TARN_MEMORY_KIND_DEVICE);
        tarn_pool *pool = create(all_flags[f]);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            char *before = alloc(pool, sizes[i]);
            char *address = alloc(pool, sizes[i]);
            assert_int_equal(tool->heap_count(), 1);
            assert_int_equal(tool->region_count(), 2);
            expect_touchable(true, address, sizes[i]);
            /* Without zones the neighbour of whole chunks is all that lies there. */
            bool touches_before = sizes[i] % 1024 == 0 && !(all_flags[f] & TARN_DEBUG_ZONES);
            expect_touchable(touches_before, address - 1, 1);
            expect_touchable(false, address + sizes[i], 1);
            expect_ok(tarn_pool_free(pool, address));
            expect_touchable(false, address, 1);
            expect_touchable(true, before, sizes[i]);
            expect_ok(tarn_pool_free(pool, before));
            expect_touchable(false, before, 1);
            assert_int_equal(tool->region_count(), 0);
        }
        expect_ok(tarn_pool_check(pool));
        expect_ok(tarn_pool_destroy(pool));
        assert_int_equal(touch_count, 0);
        close_backend();
    }
}

static void random_programs_are_followed(void **state)
{
    struct random random = random_init(random_seed(20261121));
    for (size_t f = 0; f < FLAGS_COUNT; f++) {
        char *live[16] = { NULL };
        size_t sizes[16] = { 0 };
        open_backend(TARN_MEMORY_KIND_DEVICE);
        tarn_pool_options options = debug_options(all_flags[f]);
        options.initial_bytes = 0;
        options.growth_bytes_max = 1;
        options.release_threshold_bytes = 1;
        options.quarantine_bytes = 3 * MIB;
        tarn_pool *pool = new_pool(&options);
        for (int step = 0; step < 400; step++) {
            size_t i = random_below(&random, 16);
            if (live[i]) {
                expect_ok(tarn_pool_free(pool, live[i]));
                live[i] = NULL;
            } else {
                sizes[i] = 1 + random_below(&random, MIB);
                live[i] = alloc(pool, sizes[i]);
            }
            size_t count = 0;
            for (i = 0; i < 16; i++) {
                if (!live[i]) continue;
                expect_touchable(true, live[i], sizes[i]);
                count++;
            }
            assert_int_equal(tool->region_count(), count);
            assert_int_equal(tool->heap_count(), stats_of(pool).static_pool_count);
        }
        expect_ok(tarn_pool_check(pool));
        expect_ok(tarn_pool_destroy_forced(pool, NULL));
        close_backend();
    }
}

static void a_refused_free_leaves_it_touchable(void **state)
{
    open_backend(TARN_MEMORY_KIND_DEVICE);
    tarn_pool *pool = create(TARN_DEBUG_SITES);
    char *address = alloc(pool, 100);
    assert_int_not_equal(tarn_pool_free(pool, address + 1), TARN_STATUS_OK);
    expect_touchable(true, address, 100);
    expect_ok(tarn_pool_free(pool, address));
    assert_int_not_equal(tarn_pool_free(pool, address), TARN_STATUS_OK);
    expect_touchable(false, address, 1);
    expect_ok(tarn_pool_destroy(pool));
    close_backend();
}

/* --- who is watched ----------------------------------------------------------------------------- */

static void expect_unwatched(const tarn_pool_options *options)
{
    tarn_pool *pool = new_pool(options);
    char *address = alloc(pool, 100);
    assert_int_equal(tool->heap_count(), 0);
    expect_touchable(true, address, 1000);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_destroy(pool));
    close_backend();
}

static void other_pools_are_not_watched(void **state)
{
    open_backend(TARN_MEMORY_KIND_DEVICE);
    tarn_pool_options options = debug_options(0);
    expect_unwatched(&options);
    open_backend(TARN_MEMORY_KIND_DEVICE);
    options = debug_options(TARN_DEBUG_SITES);
    options.contiguous = true;
    expect_unwatched(&options);
    open_backend(TARN_MEMORY_KIND_PINNED);
    options = debug_options(TARN_DEBUG_SITES);
    expect_unwatched(&options);
    open_backend(TARN_MEMORY_KIND_SHARED);
    options = debug_options(TARN_DEBUG_ZONES);
    expect_unwatched(&options);
}

/* What a graph uses is used after its free, too. */
static void after_a_capture_everything_may_be_touched(void **state)
{
    open_backend(TARN_MEMORY_KIND_DEVICE);
    tarn_pool *pool = create(TARN_DEBUG_ZONES);
    tarn_stream stream;
    tarn_capture capture = 0;
    expect_done(watched, stream_create, &stream);
    char *before = alloc(pool, 100);
    expect_touchable(false, before + 100, 1);
    expect_ok(tarn_capture_begin(pool, stream, &capture));
    expect_touchable(true, before + 100, 1);
    void *captured;
    expect_ok(tarn_pool_alloc_on(pool, 100, stream, &captured));
    expect_ok(tarn_pool_free_on(pool, captured, stream));
    expect_touchable(true, captured, 100);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    char *after = alloc(pool, 2 * MIB);
    expect_touchable(true, after, 2 * MIB);
    expect_ok(tarn_pool_free(pool, after));
    expect_ok(tarn_pool_free(pool, before));
    expect_ok(tarn_pool_destroy(pool));
    expect_done(watched, stream_destroy, stream);
    close_backend();
}

/* Freed while work is under way, memory is forbidden when that is done. */
static void a_free_waits_for_the_stream(void **state)
{
    open_backend(TARN_MEMORY_KIND_DEVICE);
    tarn_pool *pool = create(TARN_DEBUG_SITES);
    tarn_stream stream;
    tarn_event event;
    void *address;
    expect_done(watched, stream_create, &stream);
    expect_done(watched, event_create, &event);
    expect_ok(tarn_pool_alloc_on(pool, 100, stream, &address));
    expect_done(watched, fill, address, 1, 100, stream);
    expect_done(watched, event_record, event, stream);
    expect_operation(TARN_STATUS_NOT_READY, watched, event_query, event);
    expect_ok(tarn_pool_free_on(pool, address, stream));
    expect_done(watched, event_query, event);
    expect_touchable(false, address, 1);
    expect_done(watched, event_destroy, event);
    expect_done(watched, stream_destroy, stream);
    expect_ok(tarn_pool_destroy(pool));
    close_backend();
}

/* --- the tool ----------------------------------------------------------------------------------- */

static void find_tool(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library) exit(EXIT_FAILURE);
    tool = dlsym(library, "sim_tool");
    if (tool) return;
    printf("the toolkit has no nvtx3/nvToolsExtMem.h\n");
    exit(77);
}

int main(void)
{
    find_tool();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(just_what_was_asked_for_may_be_touched),
        cmocka_unit_test(random_programs_are_followed),
        cmocka_unit_test(a_refused_free_leaves_it_touchable),
        cmocka_unit_test(other_pools_are_not_watched),
        cmocka_unit_test(after_a_capture_everything_may_be_touched),
        cmocka_unit_test(a_free_waits_for_the_stream),
    };
    int failed_count = cmocka_run_group_tests_name("what a tool is told", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
