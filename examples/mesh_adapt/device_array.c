/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_array: arrays in device memory, taken from tarn or from the vendor, and timed.
 *
 * The clock is read before and after each call. One reading is inside the time of the call: little beside a
 * vendor's call, about as much as a call of tarn takes. So the table tells what the readings took.
 */
#include "device_array.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

/* The device's default stream. One stream for all work is what makes array_free safe. */
#define DEFAULT_STREAM ((tarn_stream)NULL)

static void expect_status(tarn_status status, const char *what)
{
    if (status != TARN_STATUS_OK) {
        fail("%s: %s: %s", what, tarn_status_name(status), tarn_last_error().message);
    }
}

static void expect_result(tarn_backend_result result, const char *what)
{
    if (result.status != TARN_STATUS_OK) {
        fail("%s: %s (%s, %d)", what, tarn_status_sentence(result.status),
             result.vendor_name ? result.vendor_name : "no vendor error", result.vendor_code);
    }
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* --- memory --------------------------------------------------------------------------------- */

/* Vendors refuse zero bytes, so an empty array does not reach them. tarn takes any size. */
static void *take_raw(struct array_space *space, size_t size_bytes)
{
    if (size_bytes == 0) return NULL;
    const tarn_backend *backend = space->backend;
    void *address;
    expect_result(backend->operations->acquire(backend->state, size_bytes, &address), "acquire");
    space->statistics.vendor_count++;
    return address;
}

static void give_raw(struct array_space *space, void *address, size_t size_bytes)
{
    if (size_bytes == 0) return;
    const tarn_backend *backend = space->backend;
    expect_result(backend->operations->release(backend->state, address, size_bytes), "release");
    space->statistics.vendor_count++;
}

static void *take(struct array_space *space, size_t size_bytes)
{
    if (!space->pool) return take_raw(space, size_bytes);
    void *address;
    expect_status(tarn_pool_alloc(space->pool, size_bytes, &address), "tarn_pool_alloc");
    return address;
}

static void give(struct array_space *space, void *address, size_t size_bytes)
{
    if (!space->pool) {
        give_raw(space, address, size_bytes);
    } else {
        expect_status(tarn_pool_free(space->pool, address), "tarn_pool_free");
    }
}

static void count_alloc(struct array_statistics *statistics, size_t size_bytes)
{
    statistics->alloc_count++;
    statistics->zero_count += size_bytes == 0;
    statistics->live_count++;
    statistics->live_bytes += size_bytes;
    statistics->live_count_max = max_size(statistics->live_count_max, statistics->live_count);
    statistics->live_bytes_max = max_size(statistics->live_bytes_max, statistics->live_bytes);
}

struct array array_alloc(struct array_space *space, int32_t count, size_t element_bytes)
{
    size_t size_bytes = (size_t)count * element_bytes;
    int64_t begin_ns = clock_ns();
    void *device = take(space, size_bytes);
    space->statistics.alloc_ns += clock_ns() - begin_ns;

    count_alloc(&space->statistics, size_bytes);
    struct array array = { device, host_alloc(size_bytes), size_bytes };
    return array;
}

/* Keeps a twin until the copies that may still read it are done. */
static void retire_twin(struct array_space *space, void *twin)
{
    if (space->pending_count == 0) {
        free(twin);
        return;
    }
    space->retired = host_grow(space->retired, &space->retired_capacity, space->retired_count + 1,
                               sizeof(*space->retired));
    space->retired[space->retired_count++] = twin;
}

void array_free(struct array_space *space, struct array *array)
{
    /* A vendor's free waits for the device. Waiting before it moves that time to the transfers, where the run
     * with tarn has it too, and leaves the cost of the call itself. */
    if (!space->pool) array_wait(space);

    int64_t begin_ns = clock_ns();
    give(space, array->device, array->size_bytes);
    space->statistics.free_ns += clock_ns() - begin_ns;

    space->statistics.free_count++;
    space->statistics.live_count--;
    space->statistics.live_bytes -= array->size_bytes;
    retire_twin(space, array->host);
    *array = (struct array){ 0 };
}

/* --- labels and phases ---------------------------------------------------------------------- */

void array_label_begin(const char *label)
{
    tarn_label_push(label);
}

void array_label_end(void)
{
    tarn_label_pop();
}

void array_phase_end(struct array_space *space, enum array_phase phase)
{
    struct array_statistics *statistics = &space->statistics;
    tarn_label_stats stats = TARN_LABEL_STATS_INIT;
    if (!space->pool) return;
    for (size_t i = 0; i < ARRAY_PEAKS_MAX; i++) {
        if (tarn_pool_label_stats(space->pool, i, &stats) != TARN_STATUS_OK) break;
        struct array_peak *peak = &statistics->peaks[i];
        memcpy(peak->label, stats.label, sizeof(peak->label));
        peak->live_bytes_max[phase] = max_size(peak->live_bytes_max[phase], stats.live_bytes_max);
        statistics->peak_count = max_size(statistics->peak_count, i + 1);
    }
    expect_status(tarn_pool_reset_peaks(space->pool), "tarn_pool_reset_peaks");
}

/* --- contents ------------------------------------------------------------------------------- */

static void copy(struct array_space *space, void *destination, const void *source,
                 size_t size_bytes)
{
    if (size_bytes == 0) return;
    const tarn_backend *backend = space->backend;
    int64_t begin_ns = clock_ns();
    expect_result(
        backend->operations->copy(backend->state, destination, source, size_bytes, DEFAULT_STREAM),
        "copy");
    space->statistics.transfer_ns += clock_ns() - begin_ns;
    space->pending_count++;
}

void array_clear(struct array_space *space, struct array *array)
{
    if (array->size_bytes == 0) return;
    memset(array->host, 0, array->size_bytes);
    const tarn_backend *backend = space->backend;
    int64_t begin_ns = clock_ns();
    expect_result(backend->operations->fill(backend->state, array->device, 0, array->size_bytes,
                                            DEFAULT_STREAM),
                  "fill");
    space->statistics.transfer_ns += clock_ns() - begin_ns;
    space->pending_count++;
}

void array_upload(struct array_space *space, const struct array *array)
{
    copy(space, array->device, array->host, array->size_bytes);
}

void array_download(struct array_space *space, const struct array *array, void *host_out)
{
    copy(space, host_out, array->device, array->size_bytes);
}

void array_wait(struct array_space *space)
{
    if (space->pending_count == 0) return;
    const tarn_backend *backend = space->backend;
    int64_t begin_ns = clock_ns();
    expect_result(backend->operations->stream_synchronize(backend->state, DEFAULT_STREAM),
                  "stream_synchronize");
    space->statistics.transfer_ns += clock_ns() - begin_ns;

    space->pending_count = 0;
    while (space->retired_count > 0) {
        free(space->retired[--space->retired_count]);
    }
}

/* --- life ----------------------------------------------------------------------------------- */

static void expect_operations(const tarn_backend_operations *operations)
{
    if (!operations->copy || !operations->fill || !operations->stream_synchronize) {
        fail("backend %s lacks copy, fill or stream_synchronize", operations->name);
    }
}

void array_space_init(struct array_space *space, const tarn_backend *backend,
                      enum array_source source, size_t initial_bytes)
{
    expect_operations(backend->operations);
    *space = (struct array_space){ .backend = backend };
    if (source == ARRAY_SOURCE_RAW) return;

    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = backend;
    if (initial_bytes > 0) options.initial_bytes = initial_bytes;
    int64_t begin_ns = clock_ns();
    expect_status(tarn_pool_create(&options, &space->pool), "tarn_pool_create");
    space->statistics.pool_ns += clock_ns() - begin_ns;
}

static void destroy_pool(struct array_space *space)
{
    tarn_stats stats = TARN_STATS_INIT;
    expect_status(tarn_pool_stats(space->pool, &stats), "tarn_pool_stats");
    space->statistics.footprint_bytes_max = stats.footprint_bytes_max;
    /* Destroying the pool releases each static pool with one call. */
    space->statistics.vendor_count =
        stats.vendor_alloc_count + stats.vendor_free_count + stats.static_pool_count;

    int64_t begin_ns = clock_ns();
    expect_status(tarn_pool_destroy(space->pool), "tarn_pool_destroy");
    space->statistics.pool_ns += clock_ns() - begin_ns;
    space->pool = NULL;
}

void array_space_fini(struct array_space *space)
{
    array_wait(space);
    if (space->pool) {
        destroy_pool(space);
    } else {
        space->statistics.footprint_bytes_max = space->statistics.live_bytes_max;
    }
    free(space->retired);
    space->retired = NULL;
    if (space->statistics.live_count != 0) {
        fail("%zu arrays were not freed", space->statistics.live_count);
    }
}
