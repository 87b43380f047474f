/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_resize: growing into the free region behind an allocation, and freeing its end.
 *
 * Works in the part that has the allocation, under its lock: first alone, so that arenas keep what they have. If
 * chunks behind the allocation are another part's, or the arena's index has no room, the arenas are gathered and
 * the resize begins anew.
 */
#include "pool_resize.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../serve/any_stream.h"
#include "../arenas/gather.h"
#include "../arenas/pool_uses.h"
#include "../serve/serve.h"
#include "../supply/pool_trim.h"
#include "../supply/stream_reuse.h"

#include "ladder.h"
#include "pool.h"
#include "pool_parts.h"

struct resize {
    struct tarn_pool *pool;
    uintptr_t address;
    size_t size_bytes; /* the new size */
    tarn_stream stream;
    bool is_introduced;   /* this call has introduced the stream, and has held growth_lock since */
    uint32_t chunk_count; /* chunks that hold the new size */
    struct tn_part *part; /* has the allocation */
    bool is_gathered;     /* the part is the pool's own and has all chunks */
    /* Set by the attempt: */
    struct tn_place place;
    uint32_t stream_number;
    size_t old_bytes;
    size_t room_bytes; /* the largest size that would fit */
    bool has_freed;
    bool is_release_due;
};

enum outcome {
    RESIZED,
    NOT_LIVE,
    UNKNOWN_STREAM,
    NO_HOST_MEMORY,
    NO_ROOM,          /* too little is free behind it */
    NO_ROOM_YET,      /* enough is free behind it, but waits for other streams */
    NEEDS_GATHERING,  /* may have room, or host memory for it, once the arenas are gathered */
    OTHERS_CAPTURE,   /* the allocation or the stream belongs to a capture, the other does not */
    LARGER_THAN_GIVEN /* the pool passes through, and the vendor gave just the requested size */
};

/* --- growing ---------------------------------------------------------------------------------- */

/* Whether an allocation on the stream could have the free region without waiting. A captured stream has waited
 * for no other stream. */
static bool may_have(const struct resize *resize, uint32_t region)
{
    const struct tarn_pool *pool = resize->pool;
    struct tn_dependency dependency = tn_region_dependency(&resize->part->index.regions[region]);
    if (dependency.streams == 0) return true;
    return tn_stream_table_uncovered(pool->streams, resize->stream_number, dependency) == 0;
}

/* Whether an allocation on the stream would belong to the capture that this one belongs to, or both to none. */
static bool has_same_owner(const struct resize *resize)
{
    const struct tarn_pool *pool = resize->pool;
    uint32_t stream = resize->stream_number;
    uint32_t owner = tn_pool_is_captured(pool, stream) ? stream + 1 : 0;
    return tn_region_owner(&resize->part->index.regions[resize->place.region]) == owner;
}

/* The region where the chunks end that the allocation has or could have. */
static const struct tn_region *find_end(const struct resize *resize)
{
    const struct tn_region *regions = resize->part->index.regions;
    const struct tn_region *next = &regions[regions[resize->place.region].next];
    return next->state == TN_REGION_STATE_FREE ? &regions[next->next] : next;
}

/* Whether there is a slab that the part keeps, without a live slice. */
static bool is_kept_slab(const struct resize *resize, const struct tn_region *region)
{
    return region->state == TN_REGION_STATE_LIVE && tn_region_is_slab(region) &&
           tn_slices_is_empty(&resize->part->slices, tn_region_slab(region));
}

/* Whether another part may have free chunks from there on: the chunks that an arena has borrowed end there, or an
 * arena has borrowed the region. */
static bool is_of_other_part(const struct resize *resize, const struct tn_region *region)
{
    const struct tarn_pool *pool = resize->pool;
    if (resize->is_gathered) return false;
    if (resize->part != &pool->own) return tn_region_is_head(region);
    return region->state == TN_REGION_STATE_LIVE &&
           tn_arenas_find_loan(&pool->arenas, region->first_chunk) != NULL;
}

/* Counts the chunks that the allocation has or could have. */
static uint32_t count_room(struct resize *resize)
{
    const struct tn_region *regions = resize->part->index.regions;
    const struct tn_region *r = &regions[resize->place.region], *next = &regions[r->next];
    uint32_t room = r->chunk_count;
    if (next->state == TN_REGION_STATE_FREE) room += next->chunk_count;
    resize->room_bytes = (size_t)room << resize->pool->chunk_log2;
    return room;
}

static enum outcome grow(struct resize *resize, uint32_t slack_bytes)
{
    uint32_t room = count_room(resize);
    if (room < resize->chunk_count && is_kept_slab(resize, find_end(resize))) {
        tn_pool_free_kept(resize->pool, resize->part);
        room = count_room(resize);
    }
    if (room < resize->chunk_count)
        return is_of_other_part(resize, find_end(resize)) ? NEEDS_GATHERING : NO_ROOM;
    if (!has_same_owner(resize)) return OTHERS_CAPTURE;
    const struct tn_region *r = &resize->part->index.regions[resize->place.region];
    if (!may_have(resize, r->next)) return NO_ROOM_YET;
    tn_region_index_extend(&resize->part->index, resize->place.region, resize->chunk_count,
                           slack_bytes);
    return RESIZED;
}

/* --- shrinking -------------------------------------------------------------------------------- */

static enum outcome shrink(struct resize *resize, uint32_t slack_bytes)
{
    struct tarn_pool *pool = resize->pool;
    struct tn_part *part = resize->part;
    /* An arena has as much room as is promised in the pool's index. */
    if (part != &pool->own && !tn_region_index_has_room(&part->index)) return NEEDS_GATHERING;
    struct tn_dependency dependency = tn_pool_depend(pool, resize->stream_number);
    if (!tn_pool_add_uses(pool, resize->address, resize->is_introduced, &dependency))
        return UNKNOWN_STREAM;
    if (!tn_region_index_reserve(&part->index)) return NO_HOST_MEMORY;
    dependency =
        tn_pool_depend_as_owned(pool, &part->index.regions[resize->place.region], dependency);
    tn_region_index_shorten(&part->index, resize->place.region, resize->chunk_count, slack_bytes,
                            dependency);
    part->has_shrunk = true;
    resize->has_freed = true;
    return RESIZED;
}

/* --- both ------------------------------------------------------------------------------------- */

static bool find_stream(struct resize *resize)
{
    struct tarn_pool *pool = resize->pool;
    return resize->is_introduced
               ? tn_pool_find_introduced_stream(pool, resize->stream, &resize->stream_number)
               : tn_pool_find_stream(pool, resize->part, resize->stream, &resize->stream_number);
}

static enum outcome change(struct resize *resize, uint32_t slack_bytes)
{
    struct tn_region *r = &resize->part->index.regions[resize->place.region];
    if (resize->chunk_count == r->chunk_count) {
        tn_region_set_slack(r, resize->part->index.slack_mask, slack_bytes);
        return RESIZED;
    }
    if (!find_stream(resize)) return UNKNOWN_STREAM;
    return resize->chunk_count > r->chunk_count ? grow(resize, slack_bytes)
                                                : shrink(resize, slack_bytes);
}

/* Tells the address sanitizer the new size. */
static void watch(const struct resize *resize, size_t old_used_bytes, size_t used_bytes)
{
    size_t extent_bytes = tn_min(tn_max(old_used_bytes, used_bytes),
                                 resize->place.owner->end_address - resize->address);
    tn_pool_allow(resize->pool, (const void *)resize->address, resize->size_bytes);
    tn_pool_forbid(resize->pool, (const void *)(resize->address + resize->size_bytes),
                   extent_bytes - resize->size_bytes);
}

static void count_resize(const struct resize *resize, size_t old_used_bytes, size_t used_bytes)
{
    struct tn_part *part = resize->part;
    tn_stats_count_resize(&part->stats, resize->old_bytes, old_used_bytes, resize->size_bytes,
                          used_bytes);
    tn_part_count_label_resize(part, tn_place_label(&resize->place), resize->old_bytes,
                               resize->size_bytes);
}

/* Resizes within the slice. */
static enum outcome resize_slice(struct resize *resize)
{
    struct tn_part *part = resize->part;
    const struct tn_place *place = &resize->place;
    resize->room_bytes = tn_slices_slice_bytes(&part->slices, place->slab);
    if (resize->size_bytes > resize->room_bytes) return NO_ROOM;
    tn_slices_set_size(&part->slices, place->slab, place->slice, resize->size_bytes);
    count_resize(resize, 0, 0);
    watch(resize, resize->room_bytes, resize->room_bytes);
    return RESIZED;
}

static enum outcome resize_locked(struct resize *resize)
{
    struct tarn_pool *pool = resize->pool;
    struct tn_part *part = resize->part;
    TN_ASSERT(tn_pool_is_part_locked(pool, part));
    TN_ASSERT(!resize->is_introduced || tn_pool_is_growing(pool));
    if (!tn_place_locate(pool, resize->address, &resize->place) ||
        !tn_place_find_start(pool, part, &resize->place))
        return NOT_LIVE;
    resize->old_bytes = tn_place_size_bytes(pool, &resize->place);
    if (resize->place.slab != TN_SLAB_NONE) return resize_slice(resize);
    uint32_t old_chunk_count = part->index.regions[resize->place.region].chunk_count;
    size_t old_used_bytes = (size_t)old_chunk_count << pool->chunk_log2;
    size_t used_bytes = (size_t)resize->chunk_count << pool->chunk_log2;
    if (pool->passes_through &&
        (resize->chunk_count != old_chunk_count ||
         resize->size_bytes > resize->place.owner->end_address - resize->address))
        return LARGER_THAN_GIVEN;

    enum outcome outcome = change(resize, (uint32_t)(used_bytes - resize->size_bytes));
    if (outcome != RESIZED) return outcome;
    count_resize(resize, old_used_bytes, used_bytes);
    watch(resize, old_used_bytes, used_bytes);
    if (resize->has_freed && pool->releases_after_free)
        resize->is_release_due =
            tn_serve_note_free(pool, resize->place.owner) == TN_FREE_RESULT_RELEASE_IS_DUE;
    return outcome;
}

static enum outcome gather_and_resize(struct resize *resize)
{
    tn_pool_lock_and_gather(resize->pool);
    resize->part = &resize->pool->own;
    resize->is_gathered = true;
    enum outcome outcome = resize_locked(resize);
    tn_pool_unlock(resize->pool);
    return outcome;
}

static enum outcome lock_and_resize(struct resize *resize)
{
    resize->part = tn_pool_lock_part_of(resize->pool, resize->address);
    enum outcome outcome = resize_locked(resize);
    tn_pool_unlock_part(resize->pool, resize->part);
    return outcome == NEEDS_GATHERING ? gather_and_resize(resize) : outcome;
}

static TN_COLD tarn_status fail_in_place(const struct resize *resize, const char *why)
{
    return tn_fail(TARN_STATUS_NOT_IN_PLACE,
                   "%p of %zu bytes cannot become %zu bytes where it lies: %s",
                   (const void *)resize->address, resize->old_bytes, resize->size_bytes, why);
}

static tarn_status answer(const struct resize *resize, enum outcome outcome)
{
    switch (outcome) {
    case RESIZED:
        return TARN_STATUS_OK;
    case NOT_LIVE:
    case UNKNOWN_STREAM:
    case NEEDS_GATHERING:
        break;
    case NO_HOST_MEMORY:
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "the host has no memory to describe the free end of %p when %zu bytes "
                       "become %zu",
                       (const void *)resize->address, resize->old_bytes, resize->size_bytes);
    case NO_ROOM:
        return tn_fail(
            TARN_STATUS_NOT_IN_PLACE,
            "%p of %zu bytes cannot become %zu bytes where it lies: there is room for %zu",
            (const void *)resize->address, resize->old_bytes, resize->size_bytes,
            resize->room_bytes);
    case NO_ROOM_YET:
        return fail_in_place(resize, "the free memory behind it waits for other streams");
    case OTHERS_CAPTURE:
        return fail_in_place(resize, "it or the stream belongs to a capture, the other does not");
    case LARGER_THAN_GIVEN:
        return fail_in_place(resize, "the pool passes through, and the vendor gave just this size");
    }
    return TARN_STATUS_NOT_LIVE;
}

static TN_COLD tarn_status resize_slowly(struct resize *resize)
{
    struct tarn_pool *pool = resize->pool;
    tarn_stream refused = NULL;
    enum outcome outcome = NOT_LIVE;
    tn_pool_lock_growth(pool);
    tarn_backend_result result =
        tn_stream_reuse_introduce_users(pool, resize->address, &resize->stream, 1, &refused);
    if (result.status == TARN_STATUS_OK) {
        resize->is_introduced = true;
        outcome = gather_and_resize(resize);
        tn_stream_reuse_record_callers(pool, &resize->stream, 1, resize->has_freed ? SIZE_MAX : 0);
    }
    tn_pool_unlock_growth(pool);
    if (result.status != TARN_STATUS_OK) return tn_stream_reuse_fail(pool, refused, result);
    return answer(resize, outcome);
}

/* Of the made-up streams, shrinking frees on one and growing allocates on the other. */
static tarn_stream choose_stream(struct tarn_pool *pool, const void *address, size_t size_bytes,
                                 tarn_stream stream)
{
    struct tn_allocation_sizes sizes;
    if (!tn_is_any_stream(stream)) return stream;
    bool shrinks = tn_pool_find_sizes(pool, address, &sizes) && size_bytes < sizes.size_bytes;
    return shrinks ? TN_ANY_STREAM_FREES : TN_ANY_STREAM_ALLOCATES;
}

tarn_status tn_pool_resize(struct tarn_pool *pool, void *address, size_t size_bytes,
                           tarn_stream stream)
{
    stream = choose_stream(pool, address, size_bytes, stream);
    const struct tn_request wanted = tn_request_make(pool, size_bytes, 1, stream);
    if (wanted.is_too_large) return tn_pool_fail_for_size(pool, size_bytes);
    struct resize resize = {
        .pool = pool,
        .address = (uintptr_t)address,
        .size_bytes = size_bytes,
        .stream = stream,
        .chunk_count = wanted.chunk_count,
    };
    enum outcome outcome = lock_and_resize(&resize);
    tarn_status status =
        outcome == UNKNOWN_STREAM ? resize_slowly(&resize) : answer(&resize, outcome);
    if (resize.is_release_due) tn_pool_release_after_free(pool);
    return status;
}
