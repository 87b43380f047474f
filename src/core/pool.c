/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool: serving from the static pools that are held, and changing which are.
 *
 *     alloc ── fits somewhere? ── yes ──► carve, done                          under `lock`
 *                    │ no
 *                    ▼
 *     take growth_lock, look again, then ask the backend:
 *         the wish, half of it, ... the need ──► new static pool, carve        without `lock`
 *                    │ all refused
 *                    ▼
 *         give wholly free static pools back where that could help, and ask once more
 *                    │ refused
 *                    ▼
 *         look again at what is held, which others may have freed meanwhile
 */
#include "pool.h"

#include "../base/arith.h"
#include "../base/error.h"

#include "pool_backing.h"

/* --- life ----------------------------------------------------------------------------------- */

static struct tn_growth_policy growth_policy(const tarn_pool_options *options,
                                             const tarn_device_properties *properties)
{
    return (struct tn_growth_policy){
        .initial_bytes = options->initial_bytes,
        .factor = options->growth_factor,
        .growth_bytes_max = options->growth_bytes_max ? options->growth_bytes_max : SIZE_MAX,
        .limit_bytes = options->limit_bytes ? options->limit_bytes : SIZE_MAX,
        .allocation_bytes_max = properties->allocation_bytes_max,
        .granularity_bytes = properties->granularity_bytes,
    };
}

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

    if (!tn_region_index_init(&pool->index)) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory for a pool's index");
    }
    tn_mutex_init(&pool->lock);
    tn_mutex_init(&pool->growth_lock);
    pool->chunk_log2 = tn_lowest_bit(options->chunk_bytes);
    tn_static_pool_list_init(&pool->list);
    pool->stats = (struct tn_stats){ 0 };
    pool->refused_bytes = SIZE_MAX;
    pool->growths_since_refusal = 0;
    pool->growth = growth_policy(options, &properties);
    pool->backend_alignment_bytes = properties.alignment_bytes;
    pool->backend = *backend;
    pool->owns_backend = owns_backend;
    pool->is_process_wide = false;
    return TARN_STATUS_OK;
}

void tn_pool_fini(struct tarn_pool *pool)
{
    for (uint32_t i = 0; i < pool->list.count; i++) {
        struct tn_static_pool *static_pool = pool->list.by_chunk[i].static_pool;
        pool->backend.operations->release(pool->backend.state, static_pool->backing,
                                          static_pool->backing_bytes);
        tn_static_pool_destroy(static_pool);
    }
    tn_region_index_fini(&pool->index);
    tn_static_pool_list_fini(&pool->list);
    if (pool->owns_backend) tarn_backend_close(&pool->backend);
    tn_mutex_fini(&pool->growth_lock);
    tn_mutex_fini(&pool->lock);
}

/* --- the list of static pools ------------------------------------------------------------------ */

/* Adds a static pool; false: no host memory, or no numbers left for its chunks. Under both locks. */
static bool insert_static_pool(struct tarn_pool *pool, struct tn_static_pool *added)
{
    uint32_t first_chunk;
    if (!tn_static_pool_list_find_numbers(&pool->list, added->chunk_count, TN_START_GROUP_CHUNKS,
                                          TN_CHUNK_COUNT_MAX, &first_chunk) ||
        !tn_static_pool_list_reserve(&pool->list) ||
        !tn_region_index_reserve_span(&pool->index, first_chunk, added->chunk_count)) {
        return false;
    }
    added->first_chunk = first_chunk;
    added->head = tn_region_index_add_span(&pool->index, first_chunk, added->chunk_count);
    tn_static_pool_list_insert(&pool->list, added);
    tn_stats_count_growth(&pool->stats, added->backing_bytes);
    return true;
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
    NO_HOST_MEMORY
};

static bool request_init(struct tn_request *request, const struct tarn_pool *pool,
                         size_t size_bytes, size_t alignment_bytes)
{
    size_t chunk_count = tn_count_units(size_bytes, pool->chunk_log2);
    if (chunk_count > TN_CHUNK_COUNT_MAX) return false;
    request->size_bytes = size_bytes;
    request->alignment_bytes = alignment_bytes;
    request->chunk_count = (uint32_t)chunk_count;
    request->slack_bytes = (uint32_t)((chunk_count << pool->chunk_log2) - size_bytes);
    return true;
}

/* The best fit among the regions in which the request can lie as aligned as it asks. */
static TN_COLD struct fit find_aligned_fit(const struct tarn_pool *pool,
                                           const struct tn_request *request)
{
    uint32_t region = tn_region_index_find_best_fit(&pool->index, request->chunk_count);
    while (region != TN_REGION_NONE) {
        const struct tn_region *r = &pool->index.regions[region];
        const struct tn_static_pool *static_pool = static_pool_of_region(pool, region);
        uint64_t lead =
            tn_static_pool_lead_of(static_pool, r->first_chunk, request->alignment_bytes);
        if (lead + request->chunk_count <= r->chunk_count) {
            return (struct fit){ region, (uint32_t)lead };
        }
        region = tn_region_index_find_next_fit(&pool->index, region);
    }
    return (struct fit){ TN_REGION_NONE, 0 };
}

static struct fit find_fit(const struct tarn_pool *pool, const struct tn_request *request)
{
    /* Chunks are aligned to their own size. */
    if (TN_UNLIKELY(request->alignment_bytes >> pool->chunk_log2 > 1)) {
        return find_aligned_fit(pool, request);
    }
    return (struct fit){ tn_region_index_find_best_fit(&pool->index, request->chunk_count), 0 };
}

/* Under `lock`. */
static enum serve_result serve(struct tarn_pool *pool, const struct tn_request *request,
                               void **address_out)
{
    struct fit fit = find_fit(pool, request);
    if (TN_UNLIKELY(fit.region == TN_REGION_NONE)) return NOTHING_FITS;
    if (TN_UNLIKELY(!tn_region_index_reserve(&pool->index))) return NO_HOST_MEMORY;
    uint32_t region = tn_region_index_carve(&pool->index, fit.region, fit.lead,
                                            request->chunk_count, request->slack_bytes);
    const struct tn_static_pool *static_pool = static_pool_of_region(pool, region);
    /* Here a device address becomes a pointer. */
    *address_out =
        (void *)tn_static_pool_address_of(static_pool, pool->index.regions[region].first_chunk);
    tn_stats_count_alloc(&pool->stats, request->size_bytes,
                         (size_t)request->chunk_count << pool->chunk_log2);
    return SERVED;
}

/* --- growth ------------------------------------------------------------------------------------ */

/* Makes a static pool of the backing and serves the request from it. Under growth_lock. */
static enum serve_result serve_from_new(struct tarn_pool *pool, const struct tn_backing *backing,
                                        const struct tn_request *request, void **address_out)
{
    enum serve_result served = NO_HOST_MEMORY;
    struct tn_static_pool *added = tn_static_pool_create(backing->address, backing->size_bytes,
                                                         pool->chunk_log2, TN_CHUNK_COUNT_MAX);
    if (!added) goto no_static_pool;

    /* In one piece, so that no other thread takes the new chunks away in between. */
    tn_mutex_lock(&pool->lock);
    bool is_inserted = insert_static_pool(pool, added);
    if (is_inserted) served = serve(pool, request, address_out);
    tn_mutex_unlock(&pool->lock);
    if (is_inserted) return served;

    tn_static_pool_destroy(added);
no_static_pool:
    tn_pool_release_backing(pool, backing);
    return NO_HOST_MEMORY;
}

static tarn_status fail_for_host_memory(const struct tn_request *request)
{
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                   "the host has no memory to describe an allocation of %zu bytes",
                   request->size_bytes);
}

static enum serve_result lock_and_serve(struct tarn_pool *pool, const struct tn_request *request,
                                        void **address_out)
{
    tn_mutex_lock(&pool->lock);
    enum serve_result served = serve(pool, request, address_out);
    tn_mutex_unlock(&pool->lock);
    return served;
}

/* Under growth_lock. */
static tarn_status grow_and_serve(struct tarn_pool *pool, const struct tn_request *request,
                                  void **address_out)
{
    /* Another thread may have grown the pool, or freed, while this one waited. */
    enum serve_result served = lock_and_serve(pool, request, address_out);
    if (served == SERVED) return TARN_STATUS_OK;
    if (served == NO_HOST_MEMORY) return fail_for_host_memory(request);

    struct tn_backing backing;
    tarn_backend_result result = tn_pool_acquire_backing(pool, request, &backing);
    if (tn_pool_may_pass_later(pool, request, result) &&
        tn_pool_release_free(pool, 0).detached_bytes > 0) {
        result = tn_pool_acquire_backing(pool, request, &backing);
    }
    if (result.status == TARN_STATUS_OK) {
        served = serve_from_new(pool, &backing, request, address_out);
        return served == SERVED ? TARN_STATUS_OK : fail_for_host_memory(request);
    }
    /* Others may have freed enough while the vendor was being asked. */
    if (lock_and_serve(pool, request, address_out) == SERVED) return TARN_STATUS_OK;
    return tn_pool_fail_growth(pool, request, result);
}

/* --- alloc and free ---------------------------------------------------------------------------- */

static void count_failure(struct tarn_pool *pool)
{
    tn_mutex_lock(&pool->lock);
    pool->stats.failed_count++;
    tn_mutex_unlock(&pool->lock);
}

static TN_COLD tarn_status alloc_slowly(struct tarn_pool *pool, const struct tn_request *request,
                                        void **address_out)
{
    tn_mutex_lock(&pool->growth_lock);
    tarn_status status = grow_and_serve(pool, request, address_out);
    tn_mutex_unlock(&pool->growth_lock);
    if (status != TARN_STATUS_OK) count_failure(pool);
    return status;
}

static TN_COLD tarn_status fail_for_size(struct tarn_pool *pool, size_t size_bytes)
{
    count_failure(pool);
    return tn_fail(TARN_STATUS_SIZE_TOO_LARGE,
                   "%zu bytes are more than a static pool can have: %zu chunks of %zu bytes",
                   size_bytes, (size_t)TN_CHUNK_COUNT_MAX, (size_t)1 << pool->chunk_log2);
}

tarn_status tn_pool_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          void **address_out)
{
    struct tn_request request;
    if (!request_init(&request, pool, size_bytes, alignment_bytes)) {
        return fail_for_size(pool, size_bytes);
    }
    enum serve_result served = lock_and_serve(pool, &request, address_out);
    if (TN_LIKELY(served == SERVED)) return TARN_STATUS_OK;
    return alloc_slowly(pool, &request, address_out);
}

/* Frees what starts at the address. False, and nothing has changed: nothing does. Under `lock`. */
static bool free_locked(struct tarn_pool *pool, uintptr_t address)
{
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (TN_UNLIKELY(!owner)) return false;
    uint32_t chunk = tn_static_pool_chunk_of(owner, address);
    if (TN_UNLIKELY(tn_static_pool_address_of(owner, chunk) != address)) return false;
    struct tn_freed freed;
    if (TN_UNLIKELY(!tn_region_index_free(&pool->index, chunk, &freed))) return false;
    size_t used_bytes = (size_t)freed.chunk_count << pool->chunk_log2;
    tn_stats_count_free(&pool->stats, used_bytes - freed.slack_bytes, used_bytes);
    return true;
}

tarn_status tn_pool_free(struct tarn_pool *pool, void *address)
{
    tn_mutex_lock(&pool->lock);
    bool is_freed = free_locked(pool, (uintptr_t)address);
    if (TN_UNLIKELY(!is_freed)) pool->stats.failed_count++;
    tn_mutex_unlock(&pool->lock);
    /* Why it is not live is for the caller to find out, who may look into other pools. */
    return is_freed ? TARN_STATUS_OK : TARN_STATUS_NOT_LIVE;
}

void tn_pool_count_empty_alloc(struct tarn_pool *pool)
{
    tn_mutex_lock(&pool->lock);
    pool->stats.alloc_count++;
    tn_mutex_unlock(&pool->lock);
}

void tn_pool_count_empty_free(struct tarn_pool *pool)
{
    tn_mutex_lock(&pool->lock);
    pool->stats.free_count++;
    tn_mutex_unlock(&pool->lock);
}

/* --- trim -------------------------------------------------------------------------------------- */

tarn_status tn_pool_trim(struct tarn_pool *pool, size_t keep_bytes, size_t *released_bytes_out)
{
    tn_mutex_lock(&pool->growth_lock);
    struct tn_giving_back given = tn_pool_release_free(pool, keep_bytes);
    tn_mutex_unlock(&pool->growth_lock);
    if (given.refusal.status != TARN_STATUS_OK) {
        return tn_fail_vendor(TARN_STATUS_VENDOR_ERROR, given.refusal.vendor_code,
                              given.refusal.vendor_name,
                              "the %s backend did not take memory back; %zu bytes were given back",
                              pool->backend.operations->name, given.released_bytes);
    }
    *released_bytes_out = given.released_bytes;
    return TARN_STATUS_OK;
}

/* --- queries ----------------------------------------------------------------------------------- */

size_t tn_pool_live_count(struct tarn_pool *pool)
{
    tn_mutex_lock(&pool->lock);
    size_t live_count = pool->stats.live_count;
    tn_mutex_unlock(&pool->lock);
    return live_count;
}

static void describe(struct tarn_pool *pool, const struct tn_static_pool *owner, uint32_t region,
                     tarn_allocation *found_out)
{
    const struct tn_region *r = &pool->index.regions[region];
    size_t usable_bytes = (size_t)r->chunk_count << pool->chunk_log2;
    *found_out = (tarn_allocation){
        .struct_bytes = sizeof *found_out,
        .pool = pool,
        .address = (void *)tn_static_pool_address_of(owner, r->first_chunk),
        .size_bytes = usable_bytes - r->slack_bytes,
        .usable_bytes = usable_bytes,
        .static_pool_base = owner->backing,
        .static_pool_bytes = owner->backing_bytes,
        .static_pool_id = owner->id,
    };
}

/* Under `lock`. */
static enum tn_find_result find_locked(struct tarn_pool *pool, uintptr_t address,
                                       tarn_allocation *found_out)
{
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (!owner) {
        /* Beside the chunks there may be a few bytes of backing. */
        bool is_held = tn_static_pool_list_overlaps(&pool->list, address, 1);
        return is_held ? TN_FIND_RESULT_NOT_LIVE : TN_FIND_RESULT_FOREIGN;
    }
    uint32_t chunk = tn_static_pool_chunk_of(owner, address);
    uint32_t region = tn_region_index_find_live(&pool->index, chunk);
    if (region == TN_REGION_NONE) return TN_FIND_RESULT_NOT_LIVE;
    describe(pool, owner, region, found_out);
    return TN_FIND_RESULT_FOUND;
}

enum tn_find_result tn_pool_find(struct tarn_pool *pool, const void *address,
                                 tarn_allocation *found_out)
{
    tn_mutex_lock(&pool->lock);
    enum tn_find_result result = find_locked(pool, (uintptr_t)address, found_out);
    tn_mutex_unlock(&pool->lock);
    return result;
}

static void sum_up_free(const struct tarn_pool *pool, tarn_stats *stats)
{
    size_t held_bytes = 0;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        held_bytes += (size_t)pool->list.by_chunk[i].static_pool->chunk_count << pool->chunk_log2;
    }
    stats->free_bytes = held_bytes - pool->stats.used_bytes;
    stats->free_region_count = pool->index.by_size.region_count;
    stats->largest_free_bytes = (size_t)tn_region_index_largest_free(&pool->index)
                                << pool->chunk_log2;
    if (stats->free_bytes > 0) {
        stats->fragmentation = 1.0 - (double)stats->largest_free_bytes / (double)stats->free_bytes;
    }
}

static size_t metadata_bytes(const struct tarn_pool *pool)
{
    size_t list_bytes = ((size_t)pool->list.by_chunk_capacity + pool->list.by_address_capacity) *
                        sizeof *pool->list.by_chunk;
    return sizeof *pool + list_bytes + pool->list.count * sizeof(struct tn_static_pool) +
           tn_region_index_metadata_bytes(&pool->index);
}

void tn_pool_stats_locked(const struct tarn_pool *pool, tarn_stats *stats_out)
{
    const struct tn_stats *counted = &pool->stats;
    *stats_out = (tarn_stats){
        .struct_bytes = sizeof *stats_out,
        .requested_bytes = counted->requested_bytes,
        .requested_bytes_max = counted->requested_bytes_max,
        .used_bytes = counted->used_bytes,
        .used_bytes_max = counted->used_bytes_max,
        .footprint_bytes = counted->footprint_bytes,
        .footprint_bytes_max = counted->footprint_bytes_max,
        .live_count = counted->live_count,
        .live_count_max = counted->live_count_max,
        .static_pool_count = pool->list.count,
        .alloc_count = counted->alloc_count,
        .free_count = counted->free_count,
        .failed_count = counted->failed_count,
        .vendor_alloc_count = counted->vendor_alloc_count,
        .vendor_free_count = counted->vendor_free_count,
        .metadata_bytes = metadata_bytes(pool),
    };
    for (unsigned i = 0; i < TARN_STATS_HISTOGRAM_BINS; i++) {
        stats_out->size_histogram[i] = counted->size_histogram[i];
    }
    sum_up_free(pool, stats_out);
}

void tn_pool_stats(struct tarn_pool *pool, tarn_stats *stats_out)
{
    tn_mutex_lock(&pool->lock);
    tn_pool_stats_locked(pool, stats_out);
    tn_mutex_unlock(&pool->lock);
}

/* --- check ------------------------------------------------------------------------------------- */

/* Compares the counters with what the static pools hold. Under `lock`. */
static const char *check_sums(const struct tarn_pool *pool)
{
    const struct tn_region_index *index = &pool->index;
    size_t footprint = 0, used = 0, requested = 0;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        footprint += pool->list.by_chunk[i].static_pool->backing_bytes;
    }
    for (uint32_t region = 0; region < index->fresh; region++) {
        const struct tn_region *r = &index->regions[region];
        if (r->state != TN_REGION_STATE_LIVE) continue;
        used += (size_t)r->chunk_count << pool->chunk_log2;
        requested += ((size_t)r->chunk_count << pool->chunk_log2) - r->slack_bytes;
    }
    if (footprint != pool->stats.footprint_bytes) return "the footprint is not what is held";
    if (index->live.live_count != pool->stats.live_count) return "the live count is wrong";
    if (used != pool->stats.used_bytes) return "the used bytes are not those of the live regions";
    if (requested != pool->stats.requested_bytes) return "the requested bytes do not add up";
    return tn_stats_check(&pool->stats);
}

/* Under `lock`. NULL, or what is wrong, with the static pool that it is wrong in, if it is one. */
static const char *check_locked(const struct tarn_pool *pool, uint64_t *id_out)
{
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *static_pool = pool->list.by_chunk[i].static_pool;
        *id_out = static_pool->id;
        const char *fault = tn_region_index_check_span(
            &pool->index, static_pool->head, static_pool->first_chunk, static_pool->chunk_count);
        if (fault) return fault;
    }
    *id_out = 0;
    const char *fault = tn_region_index_check(&pool->index);
    if (!fault) fault = tn_static_pool_list_check(&pool->list);
    if (fault) return fault;
    if (pool->index.span_count != pool->list.count) {
        return "the list of static pools and the region index have lost count";
    }
    return check_sums(pool);
}

tarn_status tn_pool_check(struct tarn_pool *pool)
{
    uint64_t id = 0;
    tn_mutex_lock(&pool->lock);
    const char *fault = check_locked(pool, &id);
    tn_mutex_unlock(&pool->lock);
    if (!fault) return TARN_STATUS_OK;
    if (id == 0) return tn_fail(TARN_STATUS_CORRUPT, "%s", fault);
    return tn_fail(TARN_STATUS_CORRUPT, "static pool %llu: %s", (unsigned long long)id, fault);
}
