/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * api: the public functions of a pool. Checks arguments, each with its own message, and calls down;
 * no logic.
 */
#include "../../base/arith.h"
#include "../../base/error.h"

#include "../care/batch.h"
#include "../supply/capture.h"
#include "../care/debug_pool.h"
#include "../care/dump.h"
#include "../care/elsewhere.h"
#include "environment.h"
#include "../care/leak_report.h"
#include "../care/out_of_memory.h"
#include "over_backend.h"
#include "../pool/pool.h"
#include "../pool/pool_fast.h"
#include "../supply/pool_initial.h"
#include "../care/pool_registry.h"
#include "../supply/pool_steps.h"
#include "../supply/pool_trim.h"
#include "../care/recording.h"

#define DEBUG_FLAGS_ALL \
    (TARN_DEBUG_SITES | TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE)

/* --- checks --------------------------------------------------------------------------------------- */

static TN_COLD tarn_status fail_for_pool(const tarn_pool *pool)
{
    if (!pool) return tn_fail(TARN_STATUS_INVALID_POOL, "the pool is NULL");
    if (tn_pool_is_forked(pool)) {
        return tn_fail(TARN_STATUS_FORKED,
                       "the pool at %p was created before the fork, and is the parent's",
                       (const void *)pool);
    }
    return tn_fail(TARN_STATUS_INVALID_POOL,
                   "at %p there is no pool: it has been destroyed, or never was one",
                   (const void *)pool);
}

/* The same for what gives something back: in a child there is nothing that could be given back. */
static TN_COLD tarn_status return_to_pool(const tarn_pool *pool)
{
    return tn_pool_is_forked(pool) ? TARN_STATUS_OK : fail_for_pool(pool);
}

static TN_COLD tarn_status fail_for_null(const char *argument)
{
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%s is NULL", argument);
}

static tarn_status check_struct_bytes(const char *name, size_t struct_bytes, size_t expected)
{
    if (struct_bytes == expected) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                   "%s says it has %zu bytes, this library knows %zu: was it initialised, and do "
                   "header and library match?",
                   name, struct_bytes, expected);
}

/* What a table has at least: sharing came later. */
#define OPERATIONS_BYTES_MIN offsetof(tarn_backend_operations, range_map_shareable)

static tarn_status check_backend(const tarn_backend *backend)
{
    const tarn_backend_operations *operations = backend->operations;
    if (!operations) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "backend: its table of operations is NULL");
    }
    if (operations->struct_bytes < OPERATIONS_BYTES_MIN) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "backend: its table of operations says it has %zu bytes, not %zu",
                       operations->struct_bytes, sizeof *operations);
    }
    if (!operations->name || !operations->acquire || !operations->release ||
        !operations->get_properties) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "backend: it lacks a name, acquire, release or get_properties");
    }
    return TARN_STATUS_OK;
}

static tarn_status check_options(const tarn_pool_options *options)
{
    if (options->struct_bytes != sizeof *options) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "struct_bytes is %zu, not %zu: start from TARN_POOL_OPTIONS_INIT",
                       options->struct_bytes, sizeof *options);
    }
    size_t chunk_bytes = options->chunk_bytes;
    if (!tn_is_power_of_two(chunk_bytes) || chunk_bytes < TARN_CHUNK_BYTES_MIN ||
        chunk_bytes > TARN_CHUNK_BYTES_MAX) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "chunk_bytes is %zu, not a power of two from %d to %zu", chunk_bytes,
                       TARN_CHUNK_BYTES_MIN, TARN_CHUNK_BYTES_MAX);
    }
    /* Written so that a NaN is refused too. */
    if (!(options->growth_factor >= 1.0)) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "growth_factor is %g, not 1 or more",
                       options->growth_factor);
    }
    if (options->limit_bytes != 0 && options->limit_bytes < chunk_bytes) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "limit_bytes is %zu, less than one chunk of %zu bytes", options->limit_bytes,
                       chunk_bytes);
    }
    if (options->takes_initial_at_once && options->initial_bytes == 0) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "takes_initial_at_once is set, but initial_bytes is 0");
    }
    if (options->step_bytes != 0 && !tn_is_power_of_two(options->step_bytes)) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "step_bytes is %zu, not 0 or a power of two",
                       options->step_bytes);
    }
    if (options->is_shareable && !options->contiguous && !options->passes_through) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "is_shareable is set, but contiguous is not: other pools are shared by the "
                       "vendor's own handles");
    }
    if (options->limit_percent > 100) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "limit_percent is %u, not 0 to 100",
                       options->limit_percent);
    }
    if ((options->debug & ~DEBUG_FLAGS_ALL) != 0) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "debug is 0x%x, which has flags that are none",
                       options->debug);
    }
    if ((options->debug & TARN_DEBUG_QUARANTINE) && options->quarantine_bytes == 0)
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "quarantine_bytes is 0");
    if (!tn_fit_name(options->fit)) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS, "fit is %d, which is no placement policy",
                       (int)options->fit);
    }
    return options->backend ? check_backend(options->backend) : TARN_STATUS_OK;
}

/* --- pool ------------------------------------------------------------------------------------------ */

/* With checked options and an open backend. What is taken at once is the caller's memory, if there is an
 * address. */
static tarn_status create(const tarn_pool_options *options, const tarn_backend *backend,
                          bool owns_backend, void *address, tarn_pool **pool_out)
{
    tarn_pool *pool = tn_pool_registry_take_handle();
    if (!pool) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory for a pool");
    }
    tarn_status status = tn_pool_init(pool, options, backend, owns_backend);
    if (status != TARN_STATUS_OK) goto no_pool;
    status = tn_debug_init(pool, options);
    if (status != TARN_STATUS_OK) goto no_memory;
    pool->notes_callers = pool->debug || pool->fallback;
    if (options->contiguous) status = tn_pool_reserve_range(pool, options);
    if (status != TARN_STATUS_OK) goto no_memory;
    if (address) {
        status = tn_pool_take_over(pool, address, options->initial_bytes);
    } else if (options->takes_initial_at_once) {
        status = tn_pool_take_initial(pool, options->initial_bytes);
    }
    if (status != TARN_STATUS_OK) goto no_memory;
    tn_pool_registry_open(pool);
    tn_recording_add_pool(pool);
    *pool_out = pool;
    return TARN_STATUS_OK;

no_memory:
    pool->owns_backend = false; /* it stays the caller's */
    tn_pool_fini(pool);
    tn_debug_fini(pool);
no_pool:
    tn_pool_registry_return_handle(pool);
    return status;
}

/* What options mean to a pool that keeps nothing. */
static tarn_pool_options options_passing_through(const tarn_pool_options *options)
{
    tarn_pool_options passing = *options;
    passing.passes_through = true;
    passing.initial_bytes = 0;
    passing.takes_initial_at_once = false;
    passing.release_threshold_bytes = 0;
    passing.returns_when_empty = false;
    passing.contiguous = false;
    passing.is_shareable = false;
    passing.debug &= TARN_DEBUG_SITES;
    return passing;
}

/* With checked options. */
static tarn_status open_and_create(const tarn_pool_options *options, tarn_pool **pool_out)
{
    if (options->backend) return create(options, options->backend, false, NULL, pool_out);

    tarn_backend backend;
    tarn_status status = tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend);
    if (status != TARN_STATUS_OK) return status;
    status = create(options, &backend, true, NULL, pool_out);
    if (status != TARN_STATUS_OK) tarn_backend_close(&backend);
    return status;
}

tarn_status tarn_pool_create(const tarn_pool_options *options, tarn_pool **pool_out)
{
    const tarn_pool_options defaults = TARN_POOL_OPTIONS_INIT;
    if (!pool_out) return fail_for_null("pool_out");
    if (!options) options = &defaults;
    tarn_status status = check_options(options);
    if (status != TARN_STATUS_OK) return status;
    bool passes_through = options->passes_through;
    status = tn_environment_read_disable(&passes_through);
    if (status == TARN_STATUS_OK) status = tn_recording_read_environment();
    if (status != TARN_STATUS_OK) return status;
    if (!passes_through) return open_and_create(options, pool_out);
    const tarn_pool_options passing = options_passing_through(options);
    return open_and_create(&passing, pool_out);
}

/* A NULL address is no memory. */
static tarn_status check_memory(const void *address, size_t size_bytes, size_t chunk_bytes)
{
    size_t lead = -(uintptr_t)address & (chunk_bytes - 1), needed, end;
    if (!address) return fail_for_null("address");
    if (!tn_add_fits((uintptr_t)address, size_bytes, &end)) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "%zu bytes from %p on reach beyond the last address", size_bytes, address);
    }
    if (!tn_add_fits(lead, chunk_bytes, &needed) || size_bytes < needed) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "in the %zu bytes from %p on is no whole chunk of %zu", size_bytes, address,
                       chunk_bytes);
    }
    return TARN_STATUS_OK;
}

/* What the caller's options mean where there is no growth. */
static tarn_pool_options options_over(const tarn_pool_options *options, size_t size_bytes)
{
    tarn_pool_options over = TARN_POOL_OPTIONS_INIT;
    over.chunk_bytes = options->chunk_bytes;
    over.initial_bytes = size_bytes;
    over.limit_bytes = size_bytes;
    over.debug = options->debug;
    over.quarantine_bytes = options->quarantine_bytes;
    over.fit = options->fit;
    over.slices = options->slices;
    over.on_static_pool_created = options->on_static_pool_created;
    over.on_static_pool_destroyed = options->on_static_pool_destroyed;
    over.user = options->user;
    return over;
}

tarn_status tarn_pool_create_over(void *address, size_t size_bytes,
                                  const tarn_pool_options *options, tarn_pool **pool_out)
{
    const tarn_pool_options defaults = TARN_POOL_OPTIONS_INIT;
    if (!pool_out) return fail_for_null("pool_out");
    if (!options) options = &defaults;
    tarn_status status = check_options(options);
    if (status == TARN_STATUS_OK && options->backend) {
        status = tn_fail(TARN_STATUS_INVALID_OPTIONS,
                         "backend is set, but the memory comes from the caller");
    }
    if (status == TARN_STATUS_OK) status = check_memory(address, size_bytes, options->chunk_bytes);
    if (status == TARN_STATUS_OK) status = tn_recording_read_environment();
    if (status != TARN_STATUS_OK) return status;
    const tarn_backend backend = tn_over_backend();
    const tarn_pool_options over = options_over(options, size_bytes);
    return create(&over, &backend, false, address, pool_out);
}

/* Which of its own ends the process-wide pool has; otherwise tarn_malloc would be left with a handle of
 * nothing. */
static tarn_status check_endable(const tarn_pool *pool, const char *instead)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    if (pool->is_process_wide) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "this is the process-wide pool: use %s",
                       instead);
    }
    return TARN_STATUS_OK;
}

/* The parent's pool: the handle ends, and what it stands for stays as the fork found it. */
static tarn_status end_forked(tarn_pool *pool)
{
    atomic_store_explicit(&pool->state, TN_POOL_STATE_CLOSED, memory_order_release);
    return TARN_STATUS_OK;
}

static tarn_status end(tarn_pool *pool, void (*fini)(struct tarn_pool *pool))
{
    tn_pool_registry_close(pool);
    fini(pool);
    tn_debug_fini(pool);
    tn_pool_registry_rest_handle(pool);
    return TARN_STATUS_OK;
}

tarn_status tarn_pool_destroy(tarn_pool *pool)
{
    if (!pool) return TARN_STATUS_OK;
    if (tn_pool_is_forked(pool)) return end_forked(pool);
    tarn_status status = check_endable(pool, "tarn_default_pool_destroy");
    if (status != TARN_STATUS_OK) return status;
    size_t live_count = tn_debug_leaks(pool).allocation_count;
    if (live_count > 0) {
        return tn_fail(TARN_STATUS_LIVE_REGIONS, "the pool still has %zu live allocations",
                       live_count);
    }
    return end(pool, tn_pool_fini);
}

tarn_status tarn_pool_destroy_forced(tarn_pool *pool, tarn_leaks *leaks_out)
{
    tarn_leaks leaks = TARN_LEAKS_INIT;
    tarn_status status = TARN_STATUS_OK;
    if (leaks_out)
        status = check_struct_bytes("leaks_out", leaks_out->struct_bytes, sizeof *leaks_out);
    bool is_ours = pool && !tn_pool_is_forked(pool);
    if (status == TARN_STATUS_OK && is_ours)
        status = check_endable(pool, "tarn_default_pool_destroy");
    if (status != TARN_STATUS_OK) return status;
    if (is_ours) {
        leaks = tn_debug_leaks(pool);
        tn_recording_note_destruction(pool);
        end(pool, tn_pool_fini);
    } else if (pool) {
        end_forked(pool);
    }
    if (leaks_out) *leaks_out = leaks;
    return TARN_STATUS_OK;
}

tarn_status tarn_pool_abandon(tarn_pool *pool)
{
    if (!pool) return TARN_STATUS_OK;
    if (tn_pool_is_forked(pool)) return end_forked(pool);
    tarn_status status = check_endable(pool, "tarn_default_pool_abandon");
    return status == TARN_STATUS_OK ? end(pool, tn_pool_abandon) : status;
}

/* --- alloc and free --------------------------------------------------------------------------------- */

/* Somebody wants to know of each call, and has to be told. */
static inline bool needs_care(const tarn_pool *pool)
{
    return atomic_load_explicit(&pool->needs_care, memory_order_relaxed);
}

/* For debug mode, of the pool and of those that it falls back to. */
static void note_caller(const tarn_pool *pool, const void *caller)
{
    if (pool->debug) tn_debug_note_caller(pool, caller);
    if (pool->fallback) tn_note_caller_of_fallbacks(pool, caller);
}

static TN_COLD tarn_status alloc_slowly(tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                        tarn_stream stream, void **address_out)
{
    tarn_status status =
        tn_pool_alloc_slowly(pool, size_bytes, alignment_bytes, stream, address_out);
    if (status == TARN_STATUS_OK) return status;
    return tn_alloc_under_shortage(pool, size_bytes, alignment_bytes, stream, status, address_out);
}

/* With arguments that are right, in a pool that need not know who calls. */
static TN_NOINLINE tarn_status alloc_quickly(tarn_pool *pool, size_t size_bytes,
                                             size_t alignment_bytes, tarn_stream stream,
                                             void **address_out)
{
    void *address = tn_pool_try_alloc(pool, size_bytes, alignment_bytes, stream);
    if (TN_UNLIKELY(!address))
        return alloc_slowly(pool, size_bytes, alignment_bytes, stream, address_out);
    *address_out = address;
    return TARN_STATUS_OK;
}

static tarn_status alloc_noting(tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                tarn_stream stream, const void *caller, void **address_out)
{
    note_caller(pool, caller);
    tarn_status status = tn_pool_alloc_any(pool, size_bytes, alignment_bytes, stream, address_out);
    if (status == TARN_STATUS_OK) return status;
    return tn_alloc_under_shortage(pool, size_bytes, alignment_bytes, stream, status, address_out);
}

/* Whatever is not as it usually is. */
static TN_COLD tarn_status alloc_with_care(tarn_pool *pool, size_t size_bytes,
                                           size_t alignment_bytes, tarn_stream stream,
                                           const void *caller, void **address_out)
{
    tarn_status status = TARN_STATUS_OK;
    if (!address_out) return fail_for_null("address_out");
    if (!tn_is_power_of_two(alignment_bytes)) {
        return tn_fail(TARN_STATUS_INVALID_ALIGNMENT, "the alignment %zu is not a power of two",
                       alignment_bytes);
    }
    if (size_bytes == 0) {
        tn_pool_count_empty_alloc(pool);
        *address_out = NULL;
    } else if (pool->notes_callers) {
        status = alloc_noting(pool, size_bytes, alignment_bytes, stream, caller, address_out);
    } else {
        status = alloc_quickly(pool, size_bytes, alignment_bytes, stream, address_out);
    }
    if (status == TARN_STATUS_OK && tn_recorder_is_on())
        tn_recorder_note_alloc(*address_out, size_bytes, tn_recording_stream(pool, stream));
    return status;
}

/* In each of its callers, so that debug mode learns whom they return to. */
TN_HOT tarn_status alloc_on(tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                            tarn_stream stream, void **address_out)
{
    if (TN_UNLIKELY(!address_out || !tn_is_power_of_two(alignment_bytes) || size_bytes == 0 ||
                    needs_care(pool)))
        return alloc_with_care(pool, size_bytes, alignment_bytes, stream, TN_CALLER, address_out);
    return alloc_quickly(pool, size_bytes, alignment_bytes, stream, address_out);
}

tarn_status tarn_pool_alloc(tarn_pool *pool, size_t size_bytes, void **address_out)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return fail_for_pool(pool);
    return alloc_on(pool, size_bytes, 1, pool->default_stream, address_out);
}

tarn_status tarn_pool_alloc_aligned(tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                    void **address_out)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return fail_for_pool(pool);
    return alloc_on(pool, size_bytes, alignment_bytes, pool->default_stream, address_out);
}

tarn_status tarn_pool_alloc_on(tarn_pool *pool, size_t size_bytes, tarn_stream stream,
                               void **address_out)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return fail_for_pool(pool);
    return alloc_on(pool, size_bytes, 1, stream, address_out);
}

tarn_status tarn_pool_alloc_aligned_on(tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                       tarn_stream stream, void **address_out)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return fail_for_pool(pool);
    return alloc_on(pool, size_bytes, alignment_bytes, stream, address_out);
}

static TN_COLD tarn_status finish_free(tarn_pool *pool, void *address, tarn_stream stream,
                                       enum tn_free_result freed)
{
    tarn_status status = tn_pool_finish_free(pool, (uintptr_t)address, &stream, 1, freed);
    if (status != TARN_STATUS_NOT_LIVE) return status;
    return tn_free_elsewhere(pool, address, &stream, 1);
}

static TN_NOINLINE tarn_status free_quickly(tarn_pool *pool, void *address, tarn_stream stream)
{
    enum tn_free_result freed = tn_pool_try_free(pool, (uintptr_t)address, &stream, 1);
    if (TN_LIKELY(freed == TN_FREE_RESULT_FREED)) return TARN_STATUS_OK;
    return finish_free(pool, address, stream, freed);
}

static tarn_status free_noting(tarn_pool *pool, void *address, const tarn_stream *streams,
                               size_t stream_count, const void *caller)
{
    note_caller(pool, caller);
    tarn_status status = tn_pool_free_any(pool, address, streams, stream_count);
    if (status != TARN_STATUS_NOT_LIVE) return status;
    return tn_free_elsewhere(pool, address, streams, stream_count);
}

/* Whatever is not as it usually is. */
static TN_COLD tarn_status free_with_care(tarn_pool *pool, void *address,
                                          const tarn_stream *streams, size_t stream_count,
                                          const void *caller)
{
    bool is_recorded = tn_recorder_is_on();
    uint64_t begun_ns = is_recorded ? tn_recorder_now() : 0;
    tarn_status status = TARN_STATUS_OK;
    if (!address) {
        tn_pool_count_empty_free(pool);
    } else if (pool->notes_callers || stream_count != 1) {
        status = free_noting(pool, address, streams, stream_count, caller);
    } else {
        status = free_quickly(pool, address, streams[0]);
    }
    if (status == TARN_STATUS_OK && is_recorded) {
        tarn_stream stream = stream_count > 0 ? streams[0] : pool->default_stream;
        tn_recorder_note_free(address, tn_recording_stream(pool, stream), begun_ns);
    }
    return status;
}

/* A call of its own, so that its caller has no stream in memory, and can jump. */
static TN_COLD tarn_status free_on_with_care(tarn_pool *pool, void *address, tarn_stream stream,
                                             const void *caller)
{
    return free_with_care(pool, address, &stream, 1, caller);
}

/* In each of its callers, as alloc_on is. */
TN_HOT tarn_status free_on(tarn_pool *pool, void *address, tarn_stream stream)
{
    if (TN_UNLIKELY(!address || needs_care(pool)))
        return free_on_with_care(pool, address, stream, TN_CALLER);
    return free_quickly(pool, address, stream);
}

tarn_status tarn_pool_free(tarn_pool *pool, void *address)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return return_to_pool(pool);
    return free_on(pool, address, pool->default_stream);
}

tarn_status tarn_pool_free_on(tarn_pool *pool, void *address, tarn_stream stream)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return return_to_pool(pool);
    return free_on(pool, address, stream);
}

tarn_status tarn_pool_free_after(tarn_pool *pool, void *address, const tarn_stream *streams,
                                 size_t stream_count)
{
    if (TN_UNLIKELY(!tn_pool_is_open(pool))) return return_to_pool(pool);
    if (TN_UNLIKELY(!streams && stream_count > 0)) return fail_for_null("streams");
    if (TN_UNLIKELY(!address || needs_care(pool)))
        return free_with_care(pool, address, streams, stream_count, TN_CALLER);
    tarn_status status = tn_pool_free(pool, address, streams, stream_count);
    if (TN_LIKELY(status != TARN_STATUS_NOT_LIVE)) return status;
    return tn_free_elsewhere(pool, address, streams, stream_count);
}

/* --- sizes and batches ------------------------------------------------------------------------------- */

/* In each of its callers, as alloc_on is. */
TN_HOT tarn_status free_sized(tarn_pool *pool, void *address, size_t size_bytes, tarn_stream stream)
{
    if (!address && size_bytes > 0) {
        return tn_fail(TARN_STATUS_WRONG_SIZE, "NULL is an allocation of 0 bytes, not of %zu",
                       size_bytes);
    }
    bool is_recorded = tn_recorder_is_on();
    uint64_t begun_ns = is_recorded ? tn_recorder_now() : 0;
    tarn_status status = TARN_STATUS_OK;
    if (address) {
        note_caller(pool, TN_CALLER);
        status = tn_free_sized_anywhere(pool, address, size_bytes, stream);
    } else {
        tn_pool_count_empty_free(pool);
    }
    if (status == TARN_STATUS_OK && is_recorded)
        tn_recorder_note_free(address, tn_recording_stream(pool, stream), begun_ns);
    return status;
}

tarn_status tarn_pool_free_sized(tarn_pool *pool, void *address, size_t size_bytes)
{
    if (!tn_pool_is_open(pool)) return return_to_pool(pool);
    return free_sized(pool, address, size_bytes, pool->default_stream);
}

tarn_status tarn_pool_free_sized_on(tarn_pool *pool, void *address, size_t size_bytes,
                                    tarn_stream stream)
{
    if (!tn_pool_is_open(pool)) return return_to_pool(pool);
    return free_sized(pool, address, size_bytes, stream);
}

/* Likewise. */
TN_HOT tarn_status resize(tarn_pool *pool, void *address, size_t size_bytes, tarn_stream stream)
{
    if (!address) return fail_for_null("address");
    if (size_bytes == 0) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "size_bytes is 0: what is not needed any more is freed");
    }
    note_caller(pool, TN_CALLER);
    bool is_recorded = tn_recorder_is_on();
    uint64_t begun_ns = is_recorded ? tn_recorder_now() : 0;
    tarn_status status = tn_resize_anywhere(pool, address, size_bytes, stream);
    if (status == TARN_STATUS_OK && is_recorded) {
        tn_recorder_note_resize(address, size_bytes, tn_recording_stream(pool, stream), begun_ns);
    }
    return status;
}

tarn_status tarn_pool_resize(tarn_pool *pool, void *address, size_t size_bytes)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    return resize(pool, address, size_bytes, pool->default_stream);
}

tarn_status tarn_pool_resize_on(tarn_pool *pool, void *address, size_t size_bytes,
                                tarn_stream stream)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    return resize(pool, address, size_bytes, stream);
}

/* Likewise. */
TN_HOT tarn_status alloc_many(tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                              tarn_stream stream, void **addresses_out)
{
    if (count == 0) return TARN_STATUS_OK;
    if (!sizes_bytes) return fail_for_null("sizes_bytes");
    if (!addresses_out) return fail_for_null("addresses_out");
    note_caller(pool, TN_CALLER);
    return tn_batch_alloc(pool, count, sizes_bytes, stream, addresses_out);
}

tarn_status tarn_pool_alloc_many(tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                                 void **addresses_out)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    return alloc_many(pool, count, sizes_bytes, pool->default_stream, addresses_out);
}

tarn_status tarn_pool_alloc_many_on(tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                                    tarn_stream stream, void **addresses_out)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    return alloc_many(pool, count, sizes_bytes, stream, addresses_out);
}

/* Likewise. */
TN_HOT tarn_status free_many(tarn_pool *pool, size_t count, void *const *addresses,
                             tarn_stream stream)
{
    if (count == 0) return TARN_STATUS_OK;
    if (!addresses) return fail_for_null("addresses");
    note_caller(pool, TN_CALLER);
    return tn_batch_free(pool, count, addresses, stream);
}

tarn_status tarn_pool_free_many(tarn_pool *pool, size_t count, void *const *addresses)
{
    if (!tn_pool_is_open(pool)) return return_to_pool(pool);
    return free_many(pool, count, addresses, pool->default_stream);
}

tarn_status tarn_pool_free_many_on(tarn_pool *pool, size_t count, void *const *addresses,
                                   tarn_stream stream)
{
    if (!tn_pool_is_open(pool)) return return_to_pool(pool);
    return free_many(pool, count, addresses, stream);
}

/* --- streams ----------------------------------------------------------------------------------------- */

/* Goes on when a pool fails: the others must not be left with a handle that has ended. */
tarn_status tarn_stream_retire(tarn_stream stream)
{
    tarn_status status = TARN_STATUS_OK;
    for (tarn_pool *pool = tn_pool_registry_pin_next(NULL); pool;
         pool = tn_pool_registry_pin_next(pool)) {
        tarn_status retired = tn_pool_retire_stream(pool, stream);
        if (retired != TARN_STATUS_OK) status = retired;
    }
    return status;
}

tarn_status tarn_capture_begin(tarn_pool *pool, tarn_stream stream, tarn_capture *capture)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    if (!capture) return fail_for_null("capture");
    tn_mutex_lock(&pool->growth_lock);
    tarn_status status = tn_capture_begin(pool, stream, capture);
    tn_mutex_unlock(&pool->growth_lock);
    return status;
}

tarn_status tarn_capture_end(tarn_pool *pool, tarn_capture capture)
{
    if (!tn_pool_is_open(pool)) return return_to_pool(pool);
    tn_mutex_lock(&pool->growth_lock);
    tarn_status status = tn_capture_end(pool, capture);
    tn_mutex_unlock(&pool->growth_lock);
    if (pool->passes_through) tn_pool_release_freed(pool);
    return status;
}

tarn_status tarn_capture_release(tarn_pool *pool, tarn_capture capture, const tarn_stream *streams,
                                 size_t stream_count)
{
    if (!tn_pool_is_open(pool)) return return_to_pool(pool);
    if (!streams && stream_count > 0) return fail_for_null("streams");
    tn_mutex_lock(&pool->growth_lock);
    tarn_status status = tn_capture_release(pool, capture, streams, stream_count);
    tn_mutex_unlock(&pool->growth_lock);
    if (pool->passes_through) tn_pool_release_freed(pool);
    return status;
}

tarn_status tarn_pool_trim(tarn_pool *pool, size_t keep_bytes, size_t *released_bytes_out)
{
    size_t released_bytes = 0;
    tarn_status status;
    if (tn_pool_is_open(pool)) {
        tn_debug_empty_quarantine(pool);
        status = tn_pool_trim(pool, keep_bytes, &released_bytes);
    } else {
        status = return_to_pool(pool);
    }
    if (status == TARN_STATUS_OK && released_bytes_out) *released_bytes_out = released_bytes;
    return status;
}

/* --- queries ------------------------------------------------------------------------------------------ */

tarn_status tarn_pool_find(const void *address, tarn_allocation *found_out)
{
    if (!found_out) return fail_for_null("found_out");
    tarn_status status =
        check_struct_bytes("found_out", found_out->struct_bytes, sizeof *found_out);
    if (status != TARN_STATUS_OK) return status;
    switch (tn_pool_registry_find(address, NULL, found_out)) {
    case TN_FIND_RESULT_FOUND:
        return TARN_STATUS_OK;
    case TN_FIND_RESULT_NOT_LIVE:
        return tn_fail(TARN_STATUS_NOT_LIVE, "%p is in a pool but in no live allocation", address);
    case TN_FIND_RESULT_FOREIGN:
        break;
    }
    return tn_fail_for_foreign(address);
}

tarn_status tarn_pool_get_backend(const tarn_pool *pool, tarn_backend *backend_out)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    if (!backend_out) return fail_for_null("backend_out");
    if (pool->is_over_callers_memory) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "the pool is over memory of the caller's, and has no backend");
    }
    *backend_out = pool->backend;
    return TARN_STATUS_OK;
}

/* Says why the pool has no step for an address that is in no live allocation of it. */
static tarn_status fail_to_export(const tarn_pool *pool, const void *address)
{
    tarn_pool *owner;
    tarn_allocation found;
    if (tn_pool_registry_find(address, &owner, &found) == TN_FIND_RESULT_FOREIGN)
        return tn_fail_for_foreign(address);
    if (owner != pool) return tn_fail_for_owner(address, owner, pool);
    return tn_fail(TARN_STATUS_NOT_LIVE, "%p is in no live allocation", address);
}

tarn_status tarn_pool_export(tarn_pool *pool, const void *address, tarn_exported_step *step_out)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    if (!step_out) return fail_for_null("step_out");
    tarn_status status = check_struct_bytes("step_out", step_out->struct_bytes, sizeof *step_out);
    if (status != TARN_STATUS_OK) return status;
    if (!pool->is_shareable) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       pool->passes_through
                           ? "the pool passes through, and has no steps that could be shared"
                           : "the pool was created without is_shareable");
    }
    status = tn_debug_has_lost(pool, address) ? TARN_STATUS_NOT_LIVE
                                              : tn_pool_export(pool, address, step_out);
    return status == TARN_STATUS_NOT_LIVE ? fail_to_export(pool, address) : status;
}

tarn_status tarn_pool_stats(tarn_pool *pool, tarn_stats *stats_out)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    if (!stats_out) return fail_for_null("stats_out");
    tarn_status status =
        check_struct_bytes("stats_out", stats_out->struct_bytes, sizeof *stats_out);
    if (status != TARN_STATUS_OK) return status;
    tn_pool_stats(pool, stats_out);
    tn_debug_adjust_stats(pool, stats_out);
    return status;
}

tarn_status tarn_pool_available(tarn_pool *pool, size_t *available_bytes_out)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    if (!available_bytes_out) return fail_for_null("available_bytes_out");
    return tn_debug_available(pool, available_bytes_out);
}

tarn_status tarn_pool_check(tarn_pool *pool)
{
    return tn_pool_is_open(pool) ? tn_debug_check(pool) : fail_for_pool(pool);
}

tarn_status tarn_pool_dump(tarn_pool *pool, tarn_dump_format format, FILE *file)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    if (!file) return fail_for_null("file");
    if (format != TARN_DUMP_FORMAT_TEXT && format != TARN_DUMP_FORMAT_JSON) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%d is no dump format", (int)format);
    }
    return tn_dump_pool(pool, format, file);
}

tarn_status tarn_pool_report_leaks(tarn_pool *pool, FILE *file)
{
    if (!tn_pool_is_open(pool)) return fail_for_pool(pool);
    return file ? tn_leak_report_write(pool, file) : fail_for_null("file");
}
