/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap_tests: the host's half of device heaps on the backend's memory. What kernels would do to a heap is one
 * word that is written through the backend: a counter, which the statistics then tell.
 */
#include "conformance.h"

#include "tarn/device_heap.h"
#include "tarn/tarn.h"

#define MIB        ((size_t)1 << 20)
#define HEAP_BYTES (12 * MIB)

static void expect_heap_status(tarn_status status, const char *text, const char *file, int line)
{
    if (status == TARN_STATUS_OK) return;
    print_error("%s: %s: %s\n", text, tarn_status_name(status), tarn_last_error().message);
    _fail(file, line);
}

#define EXPECT_HEAP_OK(call) expect_heap_status(call, #call, __FILE__, __LINE__)

static tarn_pool *create_pool(const struct fixture *fixture, bool contiguous)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    tarn_pool *pool;
    options.backend = &fixture->backend;
    options.contiguous = contiguous;
    options.initial_bytes = 0;
    EXPECT_HEAP_OK(tarn_pool_create(&options, &pool));
    return pool;
}

/* Leaves memory in the pool that is not zero, as what was freed is. */
static void make_dirty(const struct fixture *fixture, tarn_pool *pool, tarn_stream stream)
{
    void *address;
    EXPECT_HEAP_OK(tarn_pool_alloc_on(pool, HEAP_BYTES, stream, &address));
    fill(fixture, address, 0xa5, HEAP_BYTES, stream);
    EXPECT_HEAP_OK(tarn_pool_free_on(pool, address, stream));
}

static tarn_device_heap_stats stats_of(tarn_device_heap *heap, tarn_stream stream)
{
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    EXPECT_HEAP_OK(tarn_device_heap_get_stats(heap, stream, &stats));
    return stats;
}

static void expect_empty(tarn_device_heap *heap, tarn_stream stream, size_t piece_count)
{
    EXPECT_HEAP_OK(tarn_device_heap_check(heap, stream));
    const tarn_device_heap_stats stats = stats_of(heap, stream);
    assert_int_equal(stats.piece_count, piece_count);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(stats.failed_count, 0);
    assert_int_equal(stats.free_page_count * TARN_DEVICE_HEAP_PAGE_BYTES, stats.capacity_bytes);
}

/* As a kernel that got nothing so many times. */
static void count_failures(const struct fixture *fixture, tarn_device_heap *heap, uint64_t count,
                           tarn_stream stream)
{
    uint64_t control = tarn_device_heap_get_handle(heap).layout.control;
    void *failed = (void *)(uintptr_t)(control + offsetof(struct tn_heap_control, counters.failed));
    copy(fixture, failed, &count, sizeof count, stream);
    synchronize_stream(fixture, stream);
    assert_int_equal(stats_of(heap, stream).failed_count, count);
}

static void live_through_a_heap(const struct fixture *fixture, tarn_device_heap *heap,
                                tarn_stream stream)
{
    expect_empty(heap, stream, 1);
    count_failures(fixture, heap, 77, stream);
    EXPECT_HEAP_OK(tarn_device_heap_add(heap, 5 * MIB, stream));
    EXPECT_HEAP_OK(tarn_device_heap_check(heap, stream));
    assert_int_equal(stats_of(heap, stream).failed_count, 77);
    EXPECT_HEAP_OK(tarn_device_heap_reset(heap, stream));
    expect_empty(heap, stream, 2);
    EXPECT_HEAP_OK(tarn_device_heap_add(heap, MIB, stream));
    expect_empty(heap, stream, 3);
}

static void expect_heap_in_pool(const struct fixture *fixture, bool contiguous)
{
    tarn_device_heap_options options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    tarn_pool *pool = create_pool(fixture, contiguous);
    tarn_stream stream = create_stream(fixture);
    tarn_device_heap *heap;
    options.size_bytes_max = 64 * MIB;
    make_dirty(fixture, pool, stream);
    EXPECT_HEAP_OK(tarn_device_heap_create(pool, HEAP_BYTES, &options, stream, &heap));
    live_through_a_heap(fixture, heap, stream);
    EXPECT_HEAP_OK(tarn_device_heap_destroy(heap, stream));
    EXPECT_HEAP_OK(tarn_device_heap_create(pool, HEAP_BYTES, NULL, stream, &heap));
    EXPECT_HEAP_OK(tarn_device_heap_destroy(heap, stream)); /* before it may be prepared */
    EXPECT_HEAP_OK(tarn_stream_retire(stream));
    destroy_stream(fixture, stream);
    EXPECT_HEAP_OK(tarn_pool_destroy(pool));
}

static void a_heap_lies_in_a_pool(void **state)
{
    struct fixture *fixture = fixture_of(state);
    require_streams(fixture);
    expect_heap_in_pool(fixture, false);
}

static void a_heap_lies_in_a_contiguous_pool(void **state)
{
    struct fixture *fixture = fixture_of(state);
    require_streams(fixture);
    if (fixture->properties.range_granularity_bytes == 0) skip();
    expect_heap_in_pool(fixture, true);
}

/* Also where the memory lies in the middle of what was acquired: nothing beside it is touched. */
static void a_heap_lies_over_memory_of_the_callers(void **state)
{
    struct fixture *fixture = fixture_of(state);
    require_streams(fixture);
    tarn_stream stream = create_stream(fixture);
    const size_t guard_bytes = 4096, all_bytes = HEAP_BYTES + 2 * guard_bytes;
    char *memory = acquire(fixture, all_bytes);
    tarn_device_heap *heap;
    fill(fixture, memory, 0xa5, all_bytes, stream);
    EXPECT_HEAP_OK(tarn_device_heap_create_over(&fixture->backend, memory + guard_bytes, HEAP_BYTES,
                                                NULL, stream, &heap));
    expect_empty(heap, stream, 1);
    count_failures(fixture, heap, 3, stream);
    EXPECT_HEAP_OK(tarn_device_heap_reset(heap, stream));
    expect_empty(heap, stream, 1);
    EXPECT_HEAP_OK(tarn_device_heap_destroy(heap, stream));
    synchronize_stream(fixture, stream);
    expect_bytes(fixture, memory, guard_bytes, 0xa5);
    expect_bytes(fixture, memory + guard_bytes + HEAP_BYTES, guard_bytes, 0xa5);
    destroy_stream(fixture, stream);
    release(fixture, memory, all_bytes);
}

int run_device_heap_tests(const struct target *target)
{
    const struct CMUnitTest tests[] = {
        TEST(a_heap_lies_in_a_pool),
        TEST(a_heap_lies_in_a_contiguous_pool),
        TEST(a_heap_lies_over_memory_of_the_callers),
    };
    fixture_set_target(target);
    return cmocka_run_group_tests_name(target->name, tests, NULL, NULL);
}
