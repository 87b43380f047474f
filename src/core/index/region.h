/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * region: the record of one run of chunks, and its states.
 *
 * Chunks are numbered through the whole pool; each static pool has a span of the numbers. Its regions tile
 * the span and form a ring with a record of no chunks, the head:
 *
 *     chunk            0         3                  9      11
 *             head ──► ┌─────────┬──────────────────┬──────┬──── ... ──► head
 *                  ◄── │ live    │ free             │ live │         ◄──
 *                      └─────────┴──────────────────┴──────┴────
 *
 * So every region has two neighbours; the head is a neighbour that is never free. An unused record describes
 * nothing. If a span is larger than its memory, its voids are the chunks without memory. The head counts as a
 * void of no chunks.
 *
 * All records of a pool are in one array, and their number in it identifies them. So a record is 24 bytes,
 * and the array can move. Device memory is never read or written: the record holds all that is known of a
 * region.
 */
#ifndef TN_REGION_H
#define TN_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/assert.h"

#include "dependency.h"

#define TN_REGION_NONE UINT32_MAX

/* Chunk numbers are below this, so they fit in 31 bits. So do record numbers: there are no more regions than
 * chunks. */
#define TN_CHUNK_COUNT_MAX ((uint32_t)INT32_MAX)

enum tn_region_state {
    TN_REGION_STATE_UNUSED = 0,
    TN_REGION_STATE_VOID = 1, /* no memory: the head, and chunks without memory */
    TN_REGION_STATE_FREE = 2,
    TN_REGION_STATE_LIVE = 3
};

struct tn_region {
    uint32_t first_chunk;
    uint32_t chunk_count;
    uint32_t previous; /* the neighbours in the ring of the span */
    uint32_t next;
    /* live: next in its bucket of the live map; unused: next unused; free: its dependency's time; void: next
     * void at rest */
    uint32_t link;
    /* tn_region_mark writes this as one word: a load right after a store of a part of it would wait for the
     * cache, about 15 cycles. */
    union {
        struct {
            /* live: its payload, and above it its owner; free: its dependency's streams; void: whether it is
             * taken */
            uint32_t extra : 30;
            uint32_t state : 2;
        };
        uint32_t state_and_extra;
    };
};

_Static_assert(sizeof(struct tn_region) == 24, "a region's record is 24 bytes");

static inline void tn_region_mark(struct tn_region *region, enum tn_region_state state,
                                  uint32_t extra)
{
    TN_ASSERT(extra >> 30 == 0);
    region->state_and_extra = (uint32_t)state << 30 | extra;
    TN_ASSERT(region->state == state && region->extra == extra);
}

/* The payload of a live region is the number of a slab, or the slack: bytes of its chunks that were not requested.
 * Where chunks have at most 64 KiB, slack takes 16 bits, and the bits above are a label, see label.h. Larger chunks
 * have no labels. So each index has a mask of the bits that slack takes. */
#define TN_REGION_PAYLOAD_BITS 25
#define TN_REGION_LABEL_SHIFT  16

#define TN_REGION_PAYLOAD_MASK (((uint32_t)1 << TN_REGION_PAYLOAD_BITS) - 1)

#define TN_REGION_SLACK_MASK_UNLABELLED TN_REGION_PAYLOAD_MASK
#define TN_REGION_SLACK_MASK_LABELLED   (((uint32_t)1 << TN_REGION_LABEL_SHIFT) - 1)

_Static_assert(TN_STREAM_COUNT_MAX <= 30, "a bit for each stream fits into `extra`");

/* In place of an owner: the region is a slab of slices, see slices.h, and is never freed as a whole. */
#define TN_REGION_OWNER_SLAB ((1U << (30 - TN_REGION_PAYLOAD_BITS)) - 1)

_Static_assert(TN_STREAM_COUNT_MAX < TN_REGION_OWNER_SLAB, "and so does an owner");

static inline uint32_t tn_region_payload(const struct tn_region *region)
{
    TN_ASSERT(region->state == TN_REGION_STATE_LIVE);
    return region->extra & TN_REGION_PAYLOAD_MASK;
}

/* Returns 1 + the number of the stream whose private memory it is, or 0. */
static inline uint32_t tn_region_owner(const struct tn_region *region)
{
    TN_ASSERT(region->state == TN_REGION_STATE_LIVE);
    return region->extra >> TN_REGION_PAYLOAD_BITS;
}

/* Keeps the payload. */
static inline void tn_region_set_owner(struct tn_region *region, uint32_t owner)
{
    tn_region_mark(region, TN_REGION_STATE_LIVE,
                   tn_region_payload(region) | owner << TN_REGION_PAYLOAD_BITS);
}

static inline bool tn_region_is_slab(const struct tn_region *region)
{
    return tn_region_owner(region) == TN_REGION_OWNER_SLAB;
}

/* Returns the number of the slab. */
static inline uint32_t tn_region_slab(const struct tn_region *region)
{
    TN_ASSERT(tn_region_is_slab(region));
    return tn_region_payload(region);
}

static inline void tn_region_mark_slab(struct tn_region *region, uint32_t slab)
{
    TN_ASSERT(tn_region_payload(region) == 0 && tn_region_owner(region) == 0);
    TN_ASSERT(slab >> TN_REGION_PAYLOAD_BITS == 0);
    tn_region_mark(region, TN_REGION_STATE_LIVE,
                   slab | TN_REGION_OWNER_SLAB << TN_REGION_PAYLOAD_BITS);
}

/* Makes a slab a plain live region, to be freed. Requires: none of its slices is live. */
static inline void tn_region_unmark_slab(struct tn_region *region)
{
    TN_ASSERT(tn_region_is_slab(region));
    tn_region_mark(region, TN_REGION_STATE_LIVE, 0);
}

/* Returns whether a live region is no slab, has neither an owner nor a label, and less slack than a label would add.
 * Then its payload is its slack. */
static inline bool tn_region_is_plain(const struct tn_region *region)
{
    TN_ASSERT(region->state == TN_REGION_STATE_LIVE);
    return region->extra >> TN_REGION_LABEL_SHIFT == 0;
}

/* Here and below, slack_mask is that of the index, and the region is no slab. */
static inline uint32_t tn_region_slack_bytes(const struct tn_region *region, uint32_t slack_mask)
{
    TN_ASSERT(!tn_region_is_slab(region));
    return region->extra & slack_mask;
}

/* Keeps the owner and the label. */
static inline void tn_region_set_slack(struct tn_region *region, uint32_t slack_mask,
                                       uint32_t slack_bytes)
{
    TN_ASSERT(!tn_region_is_slab(region) && (slack_bytes & ~slack_mask) == 0);
    tn_region_mark(region, TN_REGION_STATE_LIVE, (region->extra & ~slack_mask) | slack_bytes);
}

/* Returns the number of the label, or 0. */
static inline uint32_t tn_region_label(const struct tn_region *region, uint32_t slack_mask)
{
    TN_ASSERT(!tn_region_is_slab(region));
    return (region->extra & TN_REGION_PAYLOAD_MASK & ~slack_mask) >> TN_REGION_LABEL_SHIFT;
}

/* Requires: the region has no label, and the index has labels. */
static inline void tn_region_set_label(struct tn_region *region, uint32_t label)
{
    TN_ASSERT(tn_region_label(region, TN_REGION_SLACK_MASK_LABELLED) == 0);
    tn_region_mark(region, TN_REGION_STATE_LIVE, region->extra | label << TN_REGION_LABEL_SHIFT);
}

static inline struct tn_dependency tn_region_dependency(const struct tn_region *region)
{
    TN_ASSERT(region->state == TN_REGION_STATE_FREE);
    return (struct tn_dependency){ region->extra, region->link };
}

static inline void tn_region_set_dependency(struct tn_region *region,
                                            struct tn_dependency dependency)
{
    TN_ASSERT(region->state == TN_REGION_STATE_FREE);
    tn_region_mark(region, TN_REGION_STATE_FREE, dependency.streams);
    region->link = dependency.time;
}

/* Returns whether a region is free and depends on exactly these streams. */
static inline bool tn_region_is_free_on(const struct tn_region *region, uint32_t streams)
{
    return region->state_and_extra == ((uint32_t)TN_REGION_STATE_FREE << 30 | streams);
}

/* Returns whether a region is free and depends on none of these streams. */
static inline bool tn_region_is_free_without(const struct tn_region *region, uint32_t streams)
{
    return region->state == TN_REGION_STATE_FREE &&
           (tn_region_dependency(region).streams & streams) == 0;
}

/* Raises the region's time to that of chunks that join it. */
static inline void tn_region_put_off(struct tn_region *region, uint32_t time)
{
    TN_ASSERT(region->state == TN_REGION_STATE_FREE);
    if (time > region->link) region->link = time;
}

static inline void tn_region_mark_free(struct tn_region *region, struct tn_dependency dependency)
{
    TN_ASSERT(region->state != TN_REGION_STATE_FREE);
    tn_region_mark(region, TN_REGION_STATE_FREE, dependency.streams);
    region->link = dependency.time;
}

static inline void tn_region_mark_live(struct tn_region *region, uint32_t slack_bytes)
{
    TN_ASSERT(region->state == TN_REGION_STATE_FREE || region->state == TN_REGION_STATE_UNUSED);
    TN_ASSERT(slack_bytes >> TN_REGION_PAYLOAD_BITS == 0);
    tn_region_mark(region, TN_REGION_STATE_LIVE, slack_bytes);
}

static inline bool tn_region_is_head(const struct tn_region *region)
{
    return region->state == TN_REGION_STATE_VOID && region->chunk_count == 0;
}

/* Returns whether the chunks are a void that no caller has taken. */
static inline bool tn_region_is_void_at_rest(const struct tn_region *region)
{
    return region->state == TN_REGION_STATE_VOID && region->chunk_count > 0 && region->extra == 0;
}

static inline void tn_region_mark_void(struct tn_region *region, bool is_taken)
{
    TN_ASSERT(region->state != TN_REGION_STATE_LIVE);
    tn_region_mark(region, TN_REGION_STATE_VOID, is_taken);
}

static inline uint32_t tn_region_end_chunk(const struct tn_region *region)
{
    return region->first_chunk + region->chunk_count;
}

#endif
