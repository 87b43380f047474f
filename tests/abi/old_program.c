/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * old_program: a program of an older tarn. scripts/check_abi compiles it with the baseline's headers, and runs it with the
 * library of this tree. It uses each struct that may grow, with guards behind it; options, statistics, streams, a
 * capture, a backend of its own and a device heap. Exits 0 when all worked; otherwise a line says which did not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tarn/debug.h>
#include <tarn/device_heap.h>
#include <tarn/host.h>
#include <tarn/record.h>
#include <tarn/tarn.h>

#define EXPECT(condition) expect((condition), #condition, __LINE__)
#define EXPECT_OK(call)   EXPECT((call) == TARN_STATUS_OK)

static void expect(bool holds, const char *text, int line)
{
    if (holds) return;
    printf("old_program.c:%d: %s does not hold; the last error is: %s\n", line, text,
           tarn_last_error().message);
    exit(1);
}

/* A struct that the library writes, and bytes behind it that are the program's. */
#define GUARD_BYTES 64
#define GUARDED(type)                     \
    struct {                              \
        type value;                       \
        unsigned char guard[GUARD_BYTES]; \
    }
#define SET_GUARD(guarded) memset((guarded).guard, 0x5a, GUARD_BYTES)
#define EXPECT_GUARD(guarded)                \
    for (size_t i = 0; i < GUARD_BYTES; i++) \
    EXPECT((guarded).guard[i] == 0x5a)

/* --- structs that the library writes ---------------------------------------------------------------- */

static void use_stats(tarn_pool *pool, size_t live_count, size_t live_bytes)
{
    GUARDED(tarn_stats) stats = { .value = TARN_STATS_INIT };
    SET_GUARD(stats);
    EXPECT_OK(tarn_pool_stats(pool, &stats.value));
    EXPECT_GUARD(stats);
    EXPECT(stats.value.struct_bytes == sizeof(tarn_stats));
    EXPECT(stats.value.live_count == live_count);
    EXPECT(stats.value.requested_bytes == live_bytes);
    EXPECT(stats.value.footprint_bytes >= stats.value.used_bytes + stats.value.free_bytes);
    uint64_t counted = 0;
    for (size_t bin = 0; bin < TARN_STATS_HISTOGRAM_BINS; bin++)
        counted += stats.value.size_histogram[bin];
    EXPECT(counted == stats.value.alloc_count);
}

static void use_find(tarn_pool *pool, char *address, size_t size_bytes)
{
    GUARDED(tarn_allocation) found = { .value = TARN_ALLOCATION_INIT };
    SET_GUARD(found);
    EXPECT_OK(tarn_pool_find(address + size_bytes / 2, &found.value));
    EXPECT_GUARD(found);
    EXPECT(found.value.pool == pool && found.value.address == address &&
           found.value.size_bytes == size_bytes);
}

static void use_shortage(tarn_pool *pool, size_t limit_bytes)
{
    GUARDED(tarn_shortage) shortage = { .value = TARN_SHORTAGE_INIT };
    SET_GUARD(shortage);
    void *address;
    EXPECT(tarn_pool_alloc(pool, limit_bytes * 2, &address) == TARN_STATUS_OVER_LIMIT);
    EXPECT_OK(tarn_last_shortage(&shortage.value));
    EXPECT_GUARD(shortage);
    EXPECT(shortage.value.limit_bytes == limit_bytes && shortage.value.fits_without_limit);
}

static void use_leaks(tarn_pool *pool, size_t leaked_bytes)
{
    GUARDED(tarn_leaks) leaks = { .value = TARN_LEAKS_INIT };
    SET_GUARD(leaks);
    void *address;
    EXPECT_OK(tarn_pool_alloc(pool, leaked_bytes, &address));
    EXPECT(tarn_pool_destroy(pool) == TARN_STATUS_LIVE_REGIONS);
    EXPECT_OK(tarn_pool_destroy_forced(pool, &leaks.value));
    EXPECT_GUARD(leaks);
    EXPECT(leaks.value.allocation_count == 1 && leaks.value.requested_bytes == leaked_bytes);
}

static void use_recording(void)
{
    GUARDED(tarn_recording) recording = { .value = TARN_RECORDING_INIT };
    SET_GUARD(recording);
    EXPECT_OK(tarn_record_stats(&recording.value));
    EXPECT_GUARD(recording);
    EXPECT(!recording.value.is_recording);
}

/* --- streams ---------------------------------------------------------------------------------------- */

static void use_streams(tarn_pool *pool, const tarn_backend *backend)
{
    tarn_stream a, b;
    void *x, *y;
    EXPECT(backend->operations->stream_create(backend->state, &a).status == TARN_STATUS_OK);
    EXPECT(backend->operations->stream_create(backend->state, &b).status == TARN_STATUS_OK);
    EXPECT_OK(tarn_pool_alloc_on(pool, 100000, a, &x));
    EXPECT(backend->operations->fill(backend->state, x, 1, 100000, a).status == TARN_STATUS_OK);
    EXPECT_OK(tarn_pool_free_on(pool, x, a));
    EXPECT_OK(tarn_pool_alloc_on(pool, 100000, a, &y));
    EXPECT(x == y);
    EXPECT_OK(tarn_pool_free_after(pool, y, (tarn_stream[]){ a, b }, 2));

    tarn_capture capture = 0;
    EXPECT_OK(tarn_capture_begin(pool, b, &capture));
    EXPECT_OK(tarn_pool_alloc_on(pool, 5000, b, &x));
    EXPECT_OK(tarn_pool_free_on(pool, x, b));
    EXPECT_OK(tarn_capture_end(pool, capture));
    EXPECT_OK(tarn_capture_release(pool, capture, &b, 1));

    EXPECT_OK(tarn_stream_retire(a));
    EXPECT_OK(tarn_stream_retire(b));
    EXPECT(backend->operations->stream_destroy(backend->state, a).status == TARN_STATUS_OK);
    EXPECT(backend->operations->stream_destroy(backend->state, b).status == TARN_STATUS_OK);
}

/* --- options ---------------------------------------------------------------------------------------- */

#define LIMIT_BYTES ((size_t)64 << 20)

static unsigned static_pool_count;

static void count_static_pool(void *user, void *base, size_t size_bytes, uint64_t id)
{
    EXPECT(user == &static_pool_count && base && size_bytes > 0);
    (void)id;
    static_pool_count++;
}

static void use_options(const tarn_backend *backend)
{
    GUARDED(tarn_pool_options) options = { .value = TARN_POOL_OPTIONS_INIT };
    SET_GUARD(options);
    options.value.backend = backend;
    options.value.initial_bytes = (size_t)1 << 20;
    options.value.limit_bytes = LIMIT_BYTES;
    options.value.chunk_bytes = 4096;
    options.value.fit = TARN_FIT_FIRST;
    options.value.on_static_pool_created = count_static_pool;
    options.value.user = &static_pool_count;
    options.value.debug = TARN_DEBUG_SITES;
    tarn_pool *pool;
    EXPECT_OK(tarn_pool_create(&options.value, &pool));
    void *address;
    EXPECT_OK(tarn_pool_alloc(pool, 100000, &address));
    EXPECT(static_pool_count == 1);
    use_stats(pool, 1, 100000);
    use_find(pool, address, 100000);
    use_shortage(pool, LIMIT_BYTES);
    EXPECT_OK(tarn_pool_free(pool, address));
    EXPECT_OK(tarn_pool_check(pool));
    use_leaks(pool, 3000);

    tarn_pool_options refused = TARN_POOL_OPTIONS_INIT;
    refused.chunk_bytes = 5;
    EXPECT(tarn_pool_create(&refused, &pool) == TARN_STATUS_INVALID_OPTIONS);
}

/* --- a backend of the program's own ----------------------------------------------------------------- */

static unsigned acquired_count;

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    *address_out = aligned_alloc(4096, size_bytes);
    acquired_count++;
    return (tarn_backend_result){ .status =
                                      *address_out ? TARN_STATUS_OK : TARN_STATUS_OUT_OF_MEMORY };
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    (void)state;
    (void)size_bytes;
    free(address);
    acquired_count--;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    (void)state;
    *properties_out = (tarn_device_properties){
        .device_name = "mine",
        .kind = TARN_MEMORY_KIND_HOST,
        .is_host_accessible = true,
        .alignment_bytes = 4096,
        .granularity_bytes = 4096,
        .allocation_bytes_max = LIMIT_BYTES,
    };
    return TARN_BACKEND_RESULT_OK;
}

static void use_own_backend(void)
{
    static const tarn_backend_operations operations = {
        .struct_bytes = sizeof(tarn_backend_operations),
        .name = "mine",
        .acquire = acquire,
        .release = release,
        .get_properties = get_properties,
    };
    const tarn_backend backend = { &operations, NULL };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = (size_t)1 << 20;
    tarn_pool *pool;
    void *address;
    EXPECT_OK(tarn_pool_create(&options, &pool));
    EXPECT_OK(tarn_pool_alloc(pool, 1000, &address));
    EXPECT(acquired_count == 1);
    EXPECT_OK(tarn_pool_free(pool, address));
    EXPECT_OK(tarn_pool_destroy(pool));
    EXPECT(acquired_count == 0);
}

/* --- a step for other processes, and a device heap -------------------------------------------------- */

/* The table is the program's, and as long as the baseline's. */
static void use_export(const tarn_backend *host)
{
    static tarn_backend_operations operations;
    operations = *host->operations;
    operations.struct_bytes = sizeof operations;
    const tarn_backend backend = { &operations, host->state };
    tarn_device_properties properties;
    EXPECT(operations.get_properties(backend.state, &properties).status == TARN_STATUS_OK);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.contiguous = true;
    options.is_shareable = properties.has_shareable_ranges;
    tarn_pool *pool;
    void *address;
    EXPECT_OK(tarn_pool_create(&options, &pool));
    EXPECT_OK(tarn_pool_alloc(pool, 1000, &address));
    GUARDED(tarn_exported_step) step = { .value = TARN_EXPORTED_STEP_INIT };
    SET_GUARD(step);
    tarn_status status = tarn_pool_export(pool, address, &step.value);
    EXPECT(status == (options.is_shareable ? TARN_STATUS_OK : TARN_STATUS_NOT_SUPPORTED));
    EXPECT_GUARD(step);
    EXPECT_OK(tarn_pool_free(pool, address));
    EXPECT_OK(tarn_pool_destroy(pool));
}

static void use_device_heap(tarn_pool *pool)
{
    tarn_device_heap_options options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    options.size_bytes_max = (size_t)8 << 20;
    tarn_device_heap *heap;
    EXPECT_OK(tarn_device_heap_create(pool, (size_t)4 << 20, &options, NULL, &heap));
    EXPECT_OK(tarn_device_heap_add(heap, (size_t)1 << 20, NULL));
    GUARDED(tarn_device_heap_handle) handle = { .value = tarn_device_heap_get_handle(heap) };
    EXPECT(handle.value.layout.control != 0);
    GUARDED(tarn_device_heap_stats) stats = { .value = TARN_DEVICE_HEAP_STATS_INIT };
    SET_GUARD(stats);
    EXPECT_OK(tarn_device_heap_get_stats(heap, NULL, &stats.value));
    EXPECT_GUARD(stats);
    EXPECT(stats.value.piece_count == 2 && stats.value.classes[0].object_bytes == 16);
    EXPECT_OK(tarn_device_heap_check(heap, NULL));
    EXPECT_OK(tarn_device_heap_destroy(heap, NULL));
}

int main(void)
{
    tarn_host_options host = TARN_HOST_OPTIONS_INIT;
    host.memory_bytes = (size_t)1 << 30;
    tarn_backend backend;
    EXPECT_OK(tarn_host_backend_open(&host, &backend));
    use_options(&backend);
    use_own_backend();
    use_export(&backend);
    use_recording();

    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    tarn_pool *pool;
    EXPECT_OK(tarn_pool_create(&options, &pool));
    use_streams(pool, &backend);
    use_device_heap(pool);
    use_stats(pool, 0, 0);
    EXPECT_OK(tarn_pool_destroy(pool));
    tarn_backend_close(&backend);

    void *address;
    EXPECT_OK(tarn_malloc(1000, &address));
    EXPECT_OK(tarn_free(address));
    return 0;
}
