/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool: serving from the static pools that are held, and changing which are.
 *
 *     alloc ── fits somewhere? ── yes ──► carve, done                          under `lock`
 *                    │ no
 *                    ▼
 *     take growth_lock, look again, also at what other streams have freed,
 *     which this one can wait for; then ask the backend:
 *         the wish, half of it, ... the need ──► new static pool, carve        without `lock`
 *                    │ all refused
 *                    ▼
 *         give wholly free static pools back where that could help, and ask once more
 *                    │ refused
 *                    ▼
 *         look again at what is held, which others may have freed meanwhile
 *
 * Where the user wants to be told of static pools, growth_lock is let go for that.
 */
#include "pool.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/error.h"

#include "../supply/pool_backing.h"
#include "../supply/pool_callbacks.h"
#include "../serve/hand_out.h"
#include "../supply/pool_members.h"
#include "../supply/pool_options.h"
#include "pool_parts.h"
#include "../serve/pool_slices.h"
#include "../supply/pool_steps.h"
#include "../supply/pool_trim.h"
#include "../serve/pool_watch.h"
#include "../supply/stream_reuse.h"

/* --- life ----------------------------------------------------------------------------------- */

tarn_status tn_pool_init(struct tarn_pool *pool, const tarn_pool_options *options,
                         const tarn_backend *backend, bool owns_backend)
{
    tarn_device_properties properties = { 0 };
    tarn_backend_result result = backend->operations->get_properties(backend->state, &properties);
    if (result.status != TARN_STATUS_OK) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "the %s backend does not tell its properties",
                              backend->operations->name);
    }
    if (!tn_is_power_of_two(properties.alignment_bytes) ||
        !tn_is_power_of_two(properties.granularity_bytes) || properties.allocation_bytes_max == 0) {
        return tn_fail(TARN_STATUS_INVALID_OPTIONS,
                       "the %s backend's properties make no sense: alignment %zu, granularity %zu, "
                       "largest allocation %zu bytes",
                       backend->operations->name, properties.alignment_bytes,
                       properties.granularity_bytes, properties.allocation_bytes_max);
    }

    tarn_status status = tn_pool_options_resolve(options, backend, &properties, &pool->growth);
    if (status != TARN_STATUS_OK) return status;
    if (!tn_region_index_init(&pool->index, options->fit)) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory for a pool's index");
    }
    tn_biased_mutex_init(&pool->lock);
    tn_mutex_init(&pool->growth_lock);
    tn_mutex_init(&pool->watch_lock);
    pool->is_unwatched = false;
    pool->chunk_log2 = tn_lowest_bit(options->chunk_bytes);
    pool->plain_alignment_max = options->passes_through ? 0 : options->chunk_bytes;
    pool->release_threshold_bytes = options->release_threshold_bytes;
    pool->returns_when_empty = options->returns_when_empty;
    pool->passes_through = options->passes_through;
    pool->is_shareable = options->is_shareable;
    pool->releases_after_free = options->release_threshold_bytes > 0 ||
                                options->returns_when_empty || options->passes_through;
    tn_static_pool_list_init(&pool->list);
    tn_arenas_init(&pool->arenas);
    tn_pool_init_slices(pool, options);
    pool->stats = (struct tn_stats){ 0 };
    pool->debug = NULL;
    pool->notes_callers = false;
    atomic_store_explicit(&pool->needs_care, false, memory_order_relaxed);
    /* Device work on this memory is the host backend's, which tells the sanitizer; of other backends nobody
     * knows who touches the memory late. */
    pool->forbids_free_memory = TN_HAS_ADDRESS_SANITIZER &&
                                strcmp(backend->operations->name, "host") == 0 &&
                                properties.kind == TARN_MEMORY_KIND_HOST;
    pool->refused_bytes = SIZE_MAX;
    pool->growths_since_refusal = 0;
    pool->backend_alignment_bytes = properties.alignment_bytes;
    pool->range_granularity_bytes = properties.range_granularity_bytes;
    pool->has_shareable_ranges = properties.has_shareable_ranges;
    pool->memory_id = properties.memory_id;
    pool->fallback = options->fallback;
    pool->on_out_of_memory = options->on_out_of_memory;
    pool->user = options->user;
    pool->backend = *backend;
    pool->owns_backend = owns_backend;
    pool->is_over_callers_memory = false;
    pool->identifies_streams = options->identifies_streams;
    pool->thread_stream = properties.thread_stream;
    pool->default_stream_alias = properties.default_stream_alias;
    pool->default_stream = NULL;
    pool->only_stream = NULL;
    pool->only_thread = 0;
    pool->streams = NULL;
    pool->spare_event_count = 0;
    pool->range = NULL;
    pool->is_process_wide = false;
    pool->succeeds_parent = false;
    pool->on_static_pool_created = options->on_static_pool_created;
    pool->on_static_pool_destroyed = options->on_static_pool_destroyed;
    pool->transit_bytes = 0;
    pool->is_release_due = false;
    pool->has_shrunk = false;
    pool->callback_count = 0;
    pool->arriving_count = 0;
    pool->callback_end_count = 0;
    tn_condition_init(&pool->callback_ended);
    return TARN_STATUS_OK;
}

/* Everything but what is the vendor's. */
static void metadata_fini(struct tarn_pool *pool)
{
    for (uint32_t i = 0; i < pool->list.count; i++)
        tn_static_pool_destroy(pool->list.by_chunk[i].static_pool);
    tn_step_range_destroy(pool->range);
    tn_arenas_fini(&pool->arenas);
    tn_slices_fini(&pool->slices);
    tn_region_index_fini(&pool->index);
    tn_static_pool_list_fini(&pool->list);
    tn_condition_fini(&pool->callback_ended);
    tn_mutex_fini(&pool->watch_lock);
    tn_mutex_fini(&pool->growth_lock);
    tn_biased_mutex_fini(&pool->lock);
}

static void release_static_pools(struct tarn_pool *pool)
{
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *static_pool = pool->list.by_chunk[i].static_pool;
        tn_pool_allow(pool, static_pool->backing, static_pool->backing_bytes);
        tn_pool_tell_destroyed(pool, static_pool->backing, static_pool->backing_bytes,
                               static_pool->id);
        tn_pool_watch_end(pool, static_pool);
        pool->backend.operations->release(pool->backend.state, static_pool->backing,
                                          static_pool->backing_bytes);
    }
}

void tn_pool_fini(struct tarn_pool *pool)
{
    tn_stream_reuse_fini(pool);
    tn_mutex_lock(&pool->growth_lock);
    if (pool->range) {
        tn_pool_release_range(pool);
    } else {
        release_static_pools(pool);
    }
    tn_mutex_unlock(&pool->growth_lock);
    if (pool->owns_backend) tarn_backend_close(&pool->backend);
    metadata_fini(pool);
}

static void allow_all(const struct tarn_pool *pool)
{
    if (pool->range) {
        tn_pool_allow_steps(pool);
        return;
    }
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *static_pool = pool->list.by_chunk[i].static_pool;
        tn_pool_allow(pool, static_pool->backing, static_pool->backing_bytes);
    }
}

/* Closing the backend would call the vendor, so it stays open. */
void tn_pool_abandon(struct tarn_pool *pool)
{
    tn_stream_reuse_abandon(pool);
    allow_all(pool);
    metadata_fini(pool);
}

static struct tn_static_pool *static_pool_of_region(const struct tarn_pool *pool, uint32_t region)
{
    return tn_static_pool_list_find_chunk(&pool->list, pool->index.regions[region].first_chunk);
}

/* --- alloc from what is held ------------------------------------------------------------------- */

/* Where a request can have its chunks. */
struct fit {
    uint32_t region; /* or TN_REGION_NONE */
    uint32_t lead;   /* chunks of it to leave free before */
};

enum serve_result {
    SERVED,
    NOTHING_FITS,
    NO_HOST_MEMORY,
    UNKNOWN_STREAM
};

static bool request_init(struct tn_request *request, const struct tarn_pool *pool,
                         size_t size_bytes, size_t alignment_bytes, tarn_stream stream)
{
    size_t chunk_count = tn_count_units(size_bytes, pool->chunk_log2);
    if (chunk_count > TN_CHUNK_COUNT_MAX) return false;
    request->size_bytes = size_bytes;
    request->alignment_bytes = alignment_bytes;
    request->stream = stream;
    request->is_introduced = false;
    request->chunk_count = (uint32_t)chunk_count;
    request->slack_bytes = (uint32_t)((chunk_count << pool->chunk_log2) - size_bytes);
    request->slice_class = tn_slices_class_for(&pool->slices, size_bytes, alignment_bytes);
    return true;
}

#define NO_FIT ((struct fit){ TN_REGION_NONE, 0 })

/* Whose regions a search may take. */
struct reach {
    uint32_t stream;  /* the request's, or TN_STREAM_NONE */
    uint32_t awaited; /* streams that it need not have waited for yet, a bit each */
    bool may_wait;    /* nor for what else is recorded. Under growth_lock */
};

/* Where the request can lie in a region, as aligned as it asks. */
static struct fit fit_in_region(const struct tarn_pool *pool, const struct tn_request *request,
                                uint32_t region)
{
    const struct tn_region *r = &pool->index.regions[region];
    uint64_t lead = tn_static_pool_lead_of(static_pool_of_region(pool, region), r->first_chunk,
                                           request->alignment_bytes);
    if (lead + request->chunk_count > r->chunk_count) return NO_FIT;
    return (struct fit){ region, (uint32_t)lead };
}

static bool is_in_reach(const struct tarn_pool *pool, const struct reach *reach, uint32_t region)
{
    struct tn_dependency dependency = tn_region_dependency(&pool->index.regions[region]);
    if (dependency.streams == 0) return true;
    uint32_t rest = tn_stream_table_uncovered(pool->streams, reach->stream, dependency);
    rest &= ~reach->awaited;
    if (rest != 0 && reach->may_wait)
        rest = tn_stream_reuse_unrecorded(pool, rest, dependency.time);
    return rest == 0;
}

/* The best fit of one set, by the policy, among the regions that the request can have. */
static struct fit find_fit_in_set(const struct tarn_pool *pool, const struct tn_request *request,
                                  const struct reach *reach, unsigned set)
{
    uint32_t region =
        tn_free_set_find(&pool->index.by_size[set], pool->index.regions, request->chunk_count);
    while (region != TN_REGION_NONE) {
        struct fit fit = fit_in_region(pool, request, region);
        if (fit.region != TN_REGION_NONE && is_in_reach(pool, reach, region)) return fit;
        region = tn_region_index_find_next_fit(&pool->index, region, request->chunk_count);
    }
    return NO_FIT;
}

/* The same of several sets, a bit each. */
static TN_COLD struct fit find_fit_slowly(const struct tarn_pool *pool,
                                          const struct tn_request *request,
                                          const struct reach *reach, uint32_t sets)
{
    struct fit best = NO_FIT;
    for (; sets != 0; sets &= sets - 1) {
        unsigned set = tn_lowest_bit(sets);
        if (!tn_region_index_has_set(&pool->index, set)) continue;
        struct fit fit = find_fit_in_set(pool, request, reach, set);
        if (fit.region == TN_REGION_NONE) continue;
        if (best.region == TN_REGION_NONE ||
            tn_region_index_is_better(&pool->index, fit.region, best.region))
            best = fit;
    }
    return best;
}

/* The best fit among what the stream may have without waiting: what waits for nothing and what was freed
 * on it; and where there is none, what was freed on streams that it has waited for since. */
static struct fit find_fit(const struct tarn_pool *pool, const struct tn_request *request,
                           uint32_t stream)
{
    const struct reach reach = { stream, 0, false };
    uint32_t own_sets = tn_pool_own_sets(stream);
    struct fit fit = find_fit_slowly(pool, request, &reach, own_sets);
    if (fit.region != TN_REGION_NONE || stream == TN_STREAM_NONE) return fit;
    if (tn_pool_is_captured(pool, stream)) return fit;
    return find_fit_slowly(pool, request, &reach, TN_FREE_SETS_ALL & ~own_sets);
}

/* Makes the chunks live. Room is reserved. Under `lock`. */
static void *carve(struct tarn_pool *pool, const struct tn_request *request, uint32_t stream,
                   struct fit fit)
{
    uint32_t region = tn_region_index_carve(&pool->index, fit.region, fit.lead,
                                            request->chunk_count, request->slack_bytes);
    if (tn_pool_is_captured(pool, stream))
        tn_region_set_owner(&pool->index.regions[region], stream + 1);
    return tn_pool_hand_out(pool, tn_pool_part(pool), region, request->size_bytes,
                            (size_t)request->chunk_count << pool->chunk_log2);
}

/* Under `lock`. */
static TN_COLD bool find_introduced(const struct tarn_pool *pool, const struct tn_request *request,
                                    uint32_t *stream_out)
{
    return request->is_introduced &&
           tn_stream_reuse_find_introduced(pool, request->stream, stream_out);
}

/* Under `lock`. */
static enum serve_result serve_chunks(struct tarn_pool *pool, const struct tn_request *request,
                                      uint32_t stream, void **address_out)
{
    struct fit fit = find_fit(pool, request, stream);
    if (TN_UNLIKELY(fit.region == TN_REGION_NONE)) return NOTHING_FITS;
    if (TN_UNLIKELY(!tn_region_index_reserve(&pool->index))) return NO_HOST_MEMORY;
    *address_out = carve(pool, request, stream, fit);
    return SERVED;
}

/* Whether a chunk may be cut for the request. Else it has the chunk to itself. Under `lock`. */
static bool can_cut(const struct tarn_pool *pool, const struct tn_request *request)
{
    return request->slice_class != TN_SLICE_CLASS_NONE &&
           tn_slices_can_add(&pool->slices, request->slice_class);
}

/* Under `lock`. */
static bool reserve_slab(struct tarn_pool *pool, const struct tn_request *request)
{
    return tn_region_index_reserve(&pool->index) &&
           tn_slices_reserve(&pool->slices, request->slice_class);
}

/* Cuts a chunk. Returns its first slice; the slab is withheld. Room is reserved. Under `lock`. */
static void *carve_slab(struct tarn_pool *pool, const struct tn_request *request, struct fit fit,
                        uint32_t *slab_out)
{
    *slab_out =
        tn_pool_cut_slab(pool, tn_pool_part(pool), request->slice_class, fit.region, fit.lead);
    return tn_pool_hand_out_slice(pool, tn_pool_part(pool), *slab_out, request->size_bytes);
}

/* A capture's memory is its own in whole chunks. Under `lock`. */
static enum serve_result serve_small(struct tarn_pool *pool, const struct tn_request *request,
                                     uint32_t stream, void **address_out)
{
    if (tn_pool_is_captured(pool, stream)) return serve_chunks(pool, request, stream, address_out);
    void *address = tn_pool_take_slice(pool, tn_pool_part(pool), request->slice_class,
                                       request->size_bytes, stream);
    if (!address) {
        if (!can_cut(pool, request)) return serve_chunks(pool, request, stream, address_out);
        struct fit fit = find_fit(pool, request, stream);
        if (fit.region == TN_REGION_NONE) return NOTHING_FITS;
        if (!reserve_slab(pool, request)) return NO_HOST_MEMORY;
        uint32_t slab;
        address = carve_slab(pool, request, fit, &slab);
        tn_slices_give(&pool->slices, slab, stream, true);
    }
    *address_out = address;
    return SERVED;
}

/* Under `lock`. */
static enum serve_result serve(struct tarn_pool *pool, const struct tn_request *request,
                               void **address_out)
{
    uint32_t stream;
    if (TN_UNLIKELY(!tn_pool_find_stream(pool, request->stream, &stream) &&
                    !find_introduced(pool, request, &stream)))
        return UNKNOWN_STREAM;
    if (TN_UNLIKELY(request->slice_class != TN_SLICE_CLASS_NONE))
        return serve_small(pool, request, stream, address_out);
    return serve_chunks(pool, request, stream, address_out);
}

static enum serve_result lock_and_serve(struct tarn_pool *pool, const struct tn_request *request,
                                        void **address_out)
{
    tn_pool_lock(pool);
    enum serve_result served = serve(pool, request, address_out);
    tn_pool_unlock(pool);
    return served;
}

/* --- reuse of what other streams freed ----------------------------------------------------------- */

/* Makes one region of free ones that touch and only together hold the request. What nobody can wait for
 * stays apart, since the whole would wait for it too. Under `lock`. */
static bool unite_for(struct tarn_pool *pool, const struct tn_request *request, uint32_t reachable)
{
    struct tn_region_run best = { TN_REGION_NONE, 0, UINT32_MAX };
    /* Chunks are aligned to their own size; beyond that all but one may lie before the request. */
    uint64_t alignment_chunks = tn_max(request->alignment_bytes >> pool->chunk_log2, 1);
    uint64_t wanted = request->chunk_count + alignment_chunks - 1;
    if (wanted > TN_CHUNK_COUNT_MAX) return false;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        struct tn_region_run run = tn_region_index_find_run(
            &pool->index, pool->list.by_chunk[i].static_pool->head, reachable, (uint32_t)wanted);
        if (run.first != TN_REGION_NONE && run.chunk_count < best.chunk_count) best = run;
    }
    if (best.first == TN_REGION_NONE) return false;
    tn_region_index_unite_run(&pool->index, &best);
    return true;
}

/* The best fit of all that the stream can be made to wait for. Under `lock`. */
static struct fit find_awaited_fit(struct tarn_pool *pool, const struct tn_request *request,
                                   uint32_t stream)
{
    const struct reach reach = { stream, tn_stream_reuse_reachable(pool), true };
    uint32_t own = (uint32_t)1 << stream;
    struct fit fit = find_fit_slowly(pool, request, &reach, TN_FREE_SETS_ALL);
    if (fit.region != TN_REGION_NONE || !unite_for(pool, request, reach.awaited | own)) return fit;
    return find_fit_slowly(pool, request, &reach, TN_FREE_SETS_ALL);
}

/* What a request takes that others have freed. It is live from then on, so that nobody else gets it while the
 * vendor is called. */
struct taken {
    void *address;
    struct tn_dependency dependency; /* which the request's stream must come after */
    uint32_t stream;
    uint32_t slab;        /* that the address is a slice of, withheld; or TN_SLAB_NONE */
    uint32_t slab_stream; /* whose it was */
};

/* Takes chunks. */
static enum serve_result take_awaited(struct tarn_pool *pool, const struct tn_request *request,
                                      struct taken *taken)
{
    enum serve_result served = NOTHING_FITS;
    tn_pool_lock(pool);
    bool is_known = tn_stream_reuse_find_introduced(pool, request->stream, &taken->stream);
    struct fit fit = is_known ? find_awaited_fit(pool, request, taken->stream) : NO_FIT;
    bool cuts = can_cut(pool, request);
    if (fit.region == TN_REGION_NONE) tn_stream_reuse_want(pool, taken->stream);
    if (fit.region != TN_REGION_NONE) {
        bool has_room = cuts ? reserve_slab(pool, request) : tn_region_index_reserve(&pool->index);
        served = has_room ? SERVED : NO_HOST_MEMORY;
    }
    if (served == SERVED) {
        taken->dependency = tn_region_dependency(&pool->index.regions[fit.region]);
        taken->slab = TN_SLAB_NONE;
        taken->slab_stream = TN_SLAB_STREAM_NOBODY;
        taken->address = cuts ? carve_slab(pool, request, fit, &taken->slab)
                              : carve(pool, request, taken->stream, fit);
    }
    tn_pool_unlock(pool);
    return served;
}

/* Takes a slice of a slab that another stream has. Under `lock`. */
static bool take_awaited_slice(struct tarn_pool *pool, unsigned slice_class, size_t size_bytes,
                               struct taken *taken)
{
    uint32_t slab = tn_pool_find_other_slab(pool, slice_class, taken->stream, false);
    if (slab == TN_SLAB_NONE)
        slab = tn_pool_find_other_slab(pool, slice_class, taken->stream, true);
    if (slab == TN_SLAB_NONE) return false;
    taken->slab = slab;
    taken->slab_stream = tn_slices_slab(&pool->slices, slab)->stream;
    taken->dependency = tn_slices_dependency(&pool->slices, slab);
    tn_slices_withhold(&pool->slices, slab);
    taken->address = tn_pool_hand_out_slice(pool, tn_pool_part(pool), slab, size_bytes);
    return true;
}

/* Takes a slice wherever there is one that is large enough: a larger one, or another stream's. Under `lock`. */
static bool take_any_slice(struct tarn_pool *pool, const struct tn_request *request,
                           struct taken *taken)
{
    if (!tn_stream_reuse_find_introduced(pool, request->stream, &taken->stream)) return false;
    if (tn_pool_is_captured(pool, taken->stream)) return false;
    bool may_wait = pool->streams && !tn_pool_is_capturing(pool);
    for (unsigned i = request->slice_class; i < pool->slices.class_count; i++) {
        taken->slab = TN_SLAB_NONE;
        taken->dependency = TN_DEPENDENCY_NONE;
        taken->address =
            tn_pool_take_slice(pool, tn_pool_part(pool), i, request->size_bytes, taken->stream);
        if (taken->address) return true;
        if (may_wait && take_awaited_slice(pool, i, request->size_bytes, taken)) return true;
    }
    return false;
}

/* Undoes either. */
static void put_back(struct tarn_pool *pool, const struct tn_request *request,
                     const struct taken *taken)
{
    struct tn_freed freed;
    struct tn_dependency dependency = taken->dependency;
    tn_pool_lock(pool);
    if (taken->slab != TN_SLAB_NONE) {
        tn_pool_put_slice_back(pool, taken->slab, taken->address, taken->slab_stream);
        tn_pool_unlock(pool);
        return;
    }
    /* Times have begun anew meanwhile. */
    if (dependency.time > pool->streams->now) dependency.time = 0;
    const struct tn_static_pool *owner =
        tn_static_pool_list_find_address(&pool->list, (uintptr_t)taken->address);
    uint32_t chunk = tn_static_pool_chunk_of(owner, (uintptr_t)taken->address);
    bool is_freed = tn_region_index_free(&pool->index, chunk, dependency, &freed);
    TN_ASSERT(is_freed);
    (void)is_freed;
    tn_pool_forbid(pool, taken->address, request->size_bytes);
    tn_stats_take_alloc_back(&pool->stats, request->size_bytes,
                             (size_t)request->chunk_count << pool->chunk_log2);
    tn_pool_unlock(pool);
}

/* Lets the request's stream come after what others did with what was taken, and hands it out. */
static enum serve_result hand_out(struct tarn_pool *pool, const struct tn_request *request,
                                  const struct taken *taken, void **address_out)
{
    tarn_backend_result result = tn_stream_reuse_order(pool, request->stream, taken->dependency);
    if (result.status != TARN_STATUS_OK) {
        put_back(pool, request, taken);
        return NOTHING_FITS;
    }
    if (taken->slab != TN_SLAB_NONE) {
        tn_pool_lock(pool);
        tn_slices_give(&pool->slices, taken->slab, taken->stream, true);
        tn_pool_unlock(pool);
    }
    *address_out = taken->address;
    return SERVED;
}

/* Serves the request with what other streams have freed: what has completed, and what its stream can
 * wait for. Under growth_lock. */
static enum serve_result serve_from_others(struct tarn_pool *pool, const struct tn_request *request,
                                           void **address_out)
{
    struct taken taken;
    if (!pool->streams || tn_pool_is_capturing(pool)) return NOTHING_FITS;
    enum serve_result served = NOTHING_FITS;
    if (tn_stream_reuse_poll(pool)) served = lock_and_serve(pool, request, address_out);
    if (served != NOTHING_FITS) return served;
    served = take_awaited(pool, request, &taken);
    return served == SERVED ? hand_out(pool, request, &taken, address_out) : served;
}

/* Serves a small request where no chunk is left to cut. Under growth_lock. */
static enum serve_result serve_from_slabs(struct tarn_pool *pool, const struct tn_request *request,
                                          void **address_out)
{
    struct taken taken;
    if (request->slice_class == TN_SLICE_CLASS_NONE) return NOTHING_FITS;
    tn_pool_lock(pool);
    bool is_taken = take_any_slice(pool, request, &taken);
    tn_pool_unlock(pool);
    return is_taken ? hand_out(pool, request, &taken, address_out) : NOTHING_FITS;
}

/* --- growth ------------------------------------------------------------------------------------ */

static tarn_status fail_for_host_memory(const struct tn_request *request)
{
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                   "the host has no memory to describe an allocation of %zu bytes",
                   request->size_bytes);
}

/* What the backend gave, before anybody can have of it. */
struct arrival {
    struct tn_backing backing;
    struct tn_step_plan plan; /* of a contiguous pool, in place of the backing */
};

static tarn_backend_result acquire(struct tarn_pool *pool, const struct tn_request *request,
                                   struct arrival *arrival)
{
    return pool->range ? tn_pool_map_steps(pool, request, &arrival->plan)
                       : tn_pool_acquire_backing(pool, request, &arrival->backing);
}

/* Serves the request from the static pool that came for it alone. One that it cannot have
 * goes back after that. Under `lock`. */
static TN_COLD enum serve_result serve_alone(struct tarn_pool *pool,
                                             const struct tn_static_pool *added,
                                             const struct tn_request *request, void **address_out)
{
    uint32_t stream;
    bool is_known = tn_stream_reuse_find_introduced(pool, request->stream, &stream);
    if (!is_known || !tn_region_index_reserve(&pool->index)) {
        pool->is_release_due = true;
        return is_known ? NO_HOST_MEMORY : UNKNOWN_STREAM;
    }
    const struct fit whole = { pool->index.regions[added->head].next, 0 };
    *address_out = carve(pool, request, stream, whole);
    return SERVED;
}

/* Inserts what arrived and serves the request, if it can: steps serve it together with what lies beside them, which
 * others may have taken. Under growth_lock. */
static enum serve_result insert_and_serve(struct tarn_pool *pool, struct tn_static_pool *added,
                                          const struct arrival *arrival,
                                          const struct tn_request *request, void **address_out)
{
    /* In one piece, so that no other thread takes the new chunks away in between. */
    tn_pool_lock(pool);
    enum serve_result served = NO_HOST_MEMORY;
    bool is_inserted = true;
    if (pool->range) {
        tn_pool_insert_steps(pool, request, &arrival->plan);
    } else {
        is_inserted = tn_pool_insert(pool, added);
    }
    if (is_inserted) {
        served = pool->passes_through ? serve_alone(pool, added, request, address_out)
                                      : serve(pool, request, address_out);
    }
    tn_pool_unlock(pool);
    if (!is_inserted) tn_pool_withdraw(pool, added);
    return served;
}

/* Makes a static pool of the backing, or steps of a contiguous pool free, and serves the request from them.
 * NOT_READY: others were faster. Under growth_lock. */
static tarn_status serve_from_new(struct tarn_pool *pool, const struct arrival *arrival,
                                  const struct tn_request *request, void **address_out)
{
    struct tn_static_pool *added = NULL;
    if (!pool->range) {
        added = tn_pool_announce(pool, &arrival->backing, request);
        if (!added) return fail_for_host_memory(request);
    }

    /* As long as nothing is allocated a pool knows one stream, the last that came: while the user was
     * told it may have been another thread's. */
    tarn_stream refused = NULL;
    tarn_backend_result known = tn_stream_reuse_introduce(pool, &request->stream, 1, &refused);
    enum serve_result served = insert_and_serve(pool, added, arrival, request, address_out);
    if (served == SERVED) return TARN_STATUS_OK;
    if (served == NOTHING_FITS) return TARN_STATUS_NOT_READY;
    if (served == UNKNOWN_STREAM) return tn_stream_reuse_fail(pool, refused, known);
    return fail_for_host_memory(request);
}

/* Serves the request from what is held, if it can, by all means but growth. Under growth_lock. */
static enum serve_result serve_from_held(struct tarn_pool *pool, const struct tn_request *request,
                                         void **address_out)
{
    if (pool->passes_through) return NOTHING_FITS;
    /* Another thread may have grown the pool, or freed, while this one waited. */
    enum serve_result served = lock_and_serve(pool, request, address_out);
    if (served == NOTHING_FITS) served = serve_from_others(pool, request, address_out);
    return served == NOTHING_FITS ? serve_from_slabs(pool, request, address_out) : served;
}

/* Under growth_lock. */
static tarn_status grow_and_serve(struct tarn_pool *pool, const struct tn_request *request,
                                  void **address_out)
{
    tarn_stream refused = NULL;
    for (;;) {
        tarn_backend_result result = tn_stream_reuse_introduce(pool, &request->stream, 1, &refused);
        if (result.status != TARN_STATUS_OK) return tn_stream_reuse_fail(pool, refused, result);
        tn_stream_reuse_record_callers(pool, &request->stream, 1, false);
        enum serve_result served = serve_from_held(pool, request, address_out);
        if (served == SERVED) return TARN_STATUS_OK;
        if (served == NO_HOST_MEMORY) return fail_for_host_memory(request);

        struct arrival arrival;
        result = acquire(pool, request, &arrival);
        const struct tn_release_rule all = { 0 };
        if (tn_pool_may_pass_later(pool, request, result) &&
            tn_pool_release_free(pool, &all).detached_bytes > 0) {
            result = acquire(pool, request, &arrival);
        }
        if (result.status == TARN_STATUS_OK) {
            tarn_status status = serve_from_new(pool, &arrival, request, address_out);
            if (status != TARN_STATUS_NOT_READY) return status;
            continue;
        }
        /* Others may have freed enough while the vendor was being asked. */
        if (serve_from_held(pool, request, address_out) == SERVED) return TARN_STATUS_OK;
        if (!tn_pool_await_callback(pool)) return tn_pool_fail_growth(pool, request, result);
    }
}

/* --- alloc and free ---------------------------------------------------------------------------- */

void tn_pool_count_failure(struct tarn_pool *pool)
{
    tn_pool_lock_as_it_is(pool);
    pool->stats.failed_count++;
    tn_pool_unlock(pool);
}

static tarn_status alloc_by_growth(struct tarn_pool *pool, const struct tn_request *request,
                                   void **address_out)
{
    struct tn_request introduced = *request;
    introduced.is_introduced = true;
    tn_mutex_lock(&pool->growth_lock);
    tarn_status status = grow_and_serve(pool, &introduced, address_out);
    tn_mutex_unlock(&pool->growth_lock);
    if (!pool->passes_through) return status;
    /* Frees of other threads have left to this one what they could not give back meanwhile. The user is told, whose
     * function may leave a later failure there. */
    struct tn_saved_error saved = tn_error_save();
    tn_pool_release_after_free(pool);
    tn_error_restore(&saved);
    return status;
}

TN_COLD tarn_status tn_pool_fail_for_size(const struct tarn_pool *pool, size_t size_bytes)
{
    return tn_fail(TARN_STATUS_SIZE_TOO_LARGE,
                   "%zu bytes are more than a static pool can have: %zu chunks of %zu bytes",
                   size_bytes, (size_t)TN_CHUNK_COUNT_MAX, (size_t)1 << pool->chunk_log2);
}

tarn_status tn_pool_alloc_slowly(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                 tarn_stream stream, void **address_out)
{
    struct tn_request request;
    if (!request_init(&request, pool, size_bytes, alignment_bytes, stream))
        return tn_pool_fail_for_size(pool, size_bytes);
    if (!pool->passes_through && lock_and_serve(pool, &request, address_out) == SERVED)
        return TARN_STATUS_OK;
    return alloc_by_growth(pool, &request, address_out);
}

/* Waits for streams for which there is no room, here and now, so that the memory is free for all. */
static tarn_backend_result synchronize_all(struct tarn_pool *pool, const tarn_stream *streams,
                                           size_t stream_count)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    tarn_backend_result result = { TARN_STATUS_OK, 0, NULL };
    if (!operations->stream_synchronize) result.status = TARN_STATUS_NOT_SUPPORTED;
    for (size_t i = 0; i < stream_count && result.status == TARN_STATUS_OK; i++)
        result = operations->stream_synchronize(pool->backend.state, streams[i]);
    return result;
}

/* Frees after streams that the caller has introduced. Under growth_lock. */
static enum tn_free_result free_after_introduced(struct tarn_pool *pool, uintptr_t address,
                                                 const tarn_stream *streams, size_t stream_count)
{
    struct tn_dependency dependency;
    enum tn_free_result freed = TN_FREE_RESULT_NOT_LIVE;
    tn_pool_lock(pool);
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    bool is_known =
        tn_stream_reuse_find_introduced_dependency(pool, streams, stream_count, &dependency);
    TN_ASSERT(is_known);
    if (is_known && owner)
        freed = tn_pool_take_back(pool, tn_pool_part(pool), owner, address, dependency);
    tn_pool_unlock(pool);
    return freed;
}

tarn_status tn_pool_free_slowly(struct tarn_pool *pool, uintptr_t address,
                                const tarn_stream *streams, size_t stream_count)
{
    tn_mutex_lock(&pool->growth_lock);
    tarn_stream refused = NULL;
    tarn_backend_result result = tn_stream_reuse_introduce(pool, streams, stream_count, &refused);
    if (result.status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
        result = synchronize_all(pool, streams, stream_count);
        if (result.status == TARN_STATUS_OK) stream_count = 0;
    }
    enum tn_free_result freed = TN_FREE_RESULT_NOT_LIVE;
    if (result.status == TARN_STATUS_OK)
        freed = free_after_introduced(pool, address, streams, stream_count);
    if (freed == TN_FREE_RESULT_FREED || freed == TN_FREE_RESULT_RELEASE_IS_DUE)
        tn_stream_reuse_record_callers(pool, streams, stream_count, true);
    tn_mutex_unlock(&pool->growth_lock);
    if (result.status != TARN_STATUS_OK) return tn_stream_reuse_fail(pool, refused, result);
    if (freed == TN_FREE_RESULT_RELEASE_IS_DUE) tn_pool_release_after_free(pool);
    return freed == TN_FREE_RESULT_NOT_LIVE ? TARN_STATUS_NOT_LIVE : TARN_STATUS_OK;
}

/* --- parts -------------------------------------------------------------------------------------- */

bool tn_pool_serve_now(struct tarn_pool *pool, size_t size_bytes, tarn_stream stream,
                       void **address_out)
{
    struct tn_request request;
    return request_init(&request, pool, size_bytes, 1, stream) &&
           serve(pool, &request, address_out) == SERVED;
}

/* Another thread's stream may have taken its place meanwhile. Under growth_lock. */
static bool is_introduced(struct tarn_pool *pool, tarn_stream stream)
{
    uint32_t number;
    tn_pool_lock(pool);
    bool is_known = tn_stream_reuse_find_introduced(pool, stream, &number);
    tn_pool_unlock(pool);
    return is_known;
}

void tn_pool_undo_alloc(struct tarn_pool *pool, void *address, tarn_stream stream)
{
    enum tn_free_result freed = TN_FREE_RESULT_UNKNOWN_STREAM;
    tn_mutex_lock(&pool->growth_lock);
    if (is_introduced(pool, stream))
        freed = free_after_introduced(pool, (uintptr_t)address, &stream, 1);
    if (freed == TN_FREE_RESULT_FREED || freed == TN_FREE_RESULT_RELEASE_IS_DUE)
        tn_stream_reuse_record_callers(pool, &stream, 1, true);
    tn_mutex_unlock(&pool->growth_lock);
    if (freed == TN_FREE_RESULT_RELEASE_IS_DUE) tn_pool_release_after_free(pool);
}

/* --- streams and counts -------------------------------------------------------------------------- */

tarn_status tn_pool_retire_stream(struct tarn_pool *pool, tarn_stream stream)
{
    tn_mutex_lock(&pool->growth_lock);
    tarn_backend_result result = tn_stream_reuse_retire(pool, stream);
    tn_mutex_unlock(&pool->growth_lock);
    if (result.status == TARN_STATUS_OK) return TARN_STATUS_OK;
    if (result.status == TARN_STATUS_NOT_READY)
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "stream %p is being captured", stream);
    if (result.status == TARN_STATUS_OUT_OF_HOST_MEMORY) {
        return tn_fail(result.status, "the host has no memory to tell what was freed on stream %p",
                       stream);
    }
    return tn_fail_vendor(TARN_STATUS_VENDOR_ERROR, result.vendor_code, result.vendor_name,
                          "the %s backend could not record the end of stream %p: what was freed "
                          "there is not handed out any more",
                          pool->backend.operations->name, stream);
}

void tn_pool_count_empty_alloc(struct tarn_pool *pool)
{
    tn_pool_lock_as_it_is(pool);
    pool->stats.alloc_count++;
    tn_pool_unlock(pool);
}

void tn_pool_count_empty_free(struct tarn_pool *pool)
{
    tn_pool_lock_as_it_is(pool);
    pool->stats.free_count++;
    tn_pool_unlock(pool);
}
