/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dump: a copy of one instant, then two ways to write it. */
#include "dump.h"

#include <inttypes.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../../base/host_memory.h"
#include "../../base/text/escape.h"
#include "../arenas/gather.h"
#include "../serve/pool_streams.h"

#include "debug_pool.h"

struct dumped_region {
    uintptr_t address;
    size_t size_bytes;
    size_t requested_bytes; /* 0 unless live */
    const char *state;
    uint32_t label;   /* if live, and the pool is not in debug mode */
    uint32_t streams; /* if free: the streams that it waits for, a bit each */
};

struct dumped_static_pool {
    uint64_t id;
    uintptr_t backing;
    size_t backing_bytes;
    size_t region_count;
};

/* Static pools in the order of the list, and their regions one after the other in address order. */
struct picture {
    const struct tarn_pool *pool; /* for the records of its debug mode */
    tarn_stats stats;
    size_t chunk_bytes;
    const char *backend_name;
    struct dumped_static_pool *static_pools;
    struct dumped_region *regions;
    size_t static_pool_count;
    size_t region_count;
};

/* --- taking the picture --------------------------------------------------------------------------- */

static void picture_fini(struct picture *picture)
{
    tn_host_memory_free(picture->static_pools);
    tn_host_memory_free(picture->regions);
}

/* Each live slice is one entry, and each run of other slices. */
static size_t copy_slab(const struct tarn_pool *pool, uint32_t slab, uintptr_t address,
                        struct dumped_region *to)
{
    const struct tn_slices *slices = &pool->own.slices;
    unsigned slice_log2 = tn_slices_slice_log2(slices, tn_slab_class(slab));
    unsigned slice_count = 1U << tn_slices_per_slab_log2(slices, tn_slab_class(slab));
    size_t slice_bytes = (size_t)1 << slice_log2, count = 0;
    bool was_live = true;
    for (unsigned slice = 0; slice < slice_count; slice++) {
        bool is_live = tn_slices_is_live(slices, slab, slice);
        if (!is_live && !was_live) {
            to[count - 1].size_bytes += slice_bytes;
            continue;
        }
        was_live = is_live;
        to[count++] = (struct dumped_region){
            .address = address + ((uintptr_t)slice << slice_log2),
            .size_bytes = slice_bytes,
            .requested_bytes = is_live ? tn_slices_size_of(slices, slab, slice) : 0,
            .state = is_live ? "live" : "sliced",
            .label = is_live ? tn_slices_label_of(slices, slab, slice) : TN_LABEL_NONE,
        };
    }
    return count;
}

static size_t copy_region(const struct tarn_pool *pool, const struct tn_static_pool *static_pool,
                          const struct tn_region *region, struct dumped_region *to)
{
    size_t chunk_bytes = (size_t)region->chunk_count << pool->chunk_log2;
    uint32_t slack_mask = pool->own.index.slack_mask;
    uintptr_t address = tn_static_pool_address_of(static_pool, region->first_chunk);
    bool is_live = region->state == TN_REGION_STATE_LIVE;
    bool is_void = region->state == TN_REGION_STATE_VOID;
    bool is_captured =
        !is_live && !is_void && !tn_region_is_free_without(region, tn_pool_held_streams(pool));
    if (is_live && tn_region_is_slab(region))
        return copy_slab(pool, tn_region_slab(region), address, to);
    *to = (struct dumped_region){
        .address = address,
        .size_bytes = tn_min(chunk_bytes, static_pool->end_address - address),
        .requested_bytes = is_live ? chunk_bytes - tn_region_slack_bytes(region, slack_mask) : 0,
        .state = is_live       ? "live"
                 : is_void     ? "unmapped"
                 : is_captured ? "captured"
                               : "free",
        .label = is_live ? tn_region_label(region, slack_mask) : TN_LABEL_NONE,
        .streams = is_live || is_void ? 0 : tn_region_dependency(region).streams,
    };
    return 1;
}

static size_t copy_regions(const struct tarn_pool *pool, const struct tn_static_pool *static_pool,
                           struct dumped_region *to)
{
    const struct tn_region *regions = pool->own.index.regions;
    size_t count = 0;
    for (uint32_t r = regions[static_pool->head].next; r != static_pool->head; r = regions[r].next)
        count += copy_region(pool, static_pool, &regions[r], to + count);
    return count;
}

/* An upper bound of the entries of a pool: a slab has at most one more run of other slices than it has live
 * slices. */
static size_t region_count_max(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    return pool->own.index.region_count + 2 * (size_t)tn_slices_live_count(&pool->own.slices);
}

static void copy_static_pools(const struct tarn_pool *pool, struct picture *picture)
{
    size_t region_count = 0;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *static_pool = pool->list.by_chunk[i].static_pool;
        size_t count = copy_regions(pool, static_pool, picture->regions + region_count);
        picture->static_pools[i] = (struct dumped_static_pool){
            .id = static_pool->piece.id,
            .backing = (uintptr_t)static_pool->piece.base,
            .backing_bytes = static_pool->piece.size_bytes,
            .region_count = count,
        };
        region_count += count;
    }
}

/* Allocates room for all that the pool has now. False: no host memory, and nothing is allocated. */
static bool make_room(struct picture *picture, struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    picture->static_pool_count = pool->list.count;
    picture->region_count = region_count_max(pool);
    tn_pool_unlock(pool);
    /* A little more, because other threads may allocate before the copy. */
    picture->static_pool_count += 4;
    picture->region_count += picture->region_count / 8 + 64;
    picture->static_pools =
        tn_host_memory_alloc(picture->static_pool_count * sizeof *picture->static_pools);
    picture->regions = tn_host_memory_alloc(picture->region_count * sizeof *picture->regions);
    if (picture->static_pools && picture->regions) return true;
    picture_fini(picture);
    return false;
}

/* Copies the pool at one instant. False: the room is too small. */
static bool copy_at_once(struct picture *picture, struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    bool fits = pool->list.count <= picture->static_pool_count &&
                region_count_max(pool) <= picture->region_count;
    if (fits) {
        picture->static_pool_count = pool->list.count;
        tn_pool_stats_locked(pool, &picture->stats);
        copy_static_pools(pool, picture);
    }
    tn_pool_unlock(pool);
    return fits;
}

static bool picture_init(struct picture *picture, struct tarn_pool *pool)
{
    *picture = (struct picture){
        .pool = pool,
        .chunk_bytes = (size_t)1 << pool->chunk_log2,
        .backend_name = pool->backend_name, /* the backend's own may be gone with its library */
    };
    for (;;) {
        if (!make_room(picture, pool)) return false;
        tn_debug_hold(pool);
        bool is_copied = copy_at_once(picture, pool);
        if (is_copied) tn_debug_adjust_stats(pool, &picture->stats);
        tn_debug_release(pool);
        if (is_copied) return true;
        picture_fini(picture);
    }
}

/* Writes the numbers of the streams, if there are any, between `before` and `after`. */
static void write_streams(uint32_t streams, const char *before, const char *after, FILE *file)
{
    if (streams == 0) return;
    for (const char *text = before; streams != 0; streams &= streams - 1, text = ", ")
        fprintf(file, "%s%u", text, tn_lowest_bit(streams));
    fprintf(file, "%s", after);
}

/* --- text --------------------------------------------------------------------------------------- */

static const char *const state_names[] = {
    [TN_DEBUG_STATE_LIVE] = "live",
    [TN_DEBUG_STATE_QUARANTINED] = "quarantined",
    [TN_DEBUG_STATE_DAMAGED] = "damaged",
};

/* Ends a line, with a label unless it is "". */
static void write_text_label(const char *label, FILE *file)
{
    char text[256];
    tn_escape_text(text, sizeof text, label);
    if (text[0] != '\0') fprintf(file, ", \"%s\"", text);
    fprintf(file, "\n");
}

static void write_text_record(const struct tn_debug_record *record, FILE *file)
{
    char text[256];
    const struct tn_debug_origin *origin = &record->allocated;
    fprintf(file, "%s, %zu asked for", state_names[record->state], record->range.size_bytes);
    if (record->range.address != record->range.block)
        fprintf(file, " at 0x%" PRIxPTR, record->range.address);
    write_text_label(origin->label, file);
    for (unsigned i = 0; i < origin->site.frame_count; i++) {
        tn_call_site_describe(origin->site.frames[i], text, sizeof text);
        fprintf(file, "        %s\n", text);
    }
}

static void write_text_region(const struct picture *picture, const struct dumped_region *region,
                              FILE *file)
{
    struct tn_debug_record record;
    fprintf(file, "    0x%" PRIxPTR " %12zu bytes ", region->address, region->size_bytes);
    if (region->requested_bytes == 0) {
        fprintf(file, "%s", region->state);
        write_streams(region->streams, ", waits for stream ", "", file);
        fprintf(file, "\n");
    } else if (!tn_debug_look_up(picture->pool, region->address, &record)) {
        fprintf(file, "live, %zu asked for", region->requested_bytes);
        write_text_label(tn_label_text(region->label), file);
    } else {
        write_text_record(&record, file);
    }
}

/* Those that are there: "  held: requested 102100, rounding 1324, shut_in 64512" */
static void write_text_parts(const tarn_stats *stats, FILE *file)
{
    const char *before = "  held: ";
    for (size_t part = 0; part < TN_FOOTPRINT_PART_COUNT; part++) {
        if (stats->part_bytes[part] == 0) continue;
        fprintf(file, "%s%s %zu", before, tarn_footprint_part_name((tarn_footprint_part)part),
                stats->part_bytes[part]);
        before = ", ";
    }
    if (stats->footprint_bytes > 0) fprintf(file, "\n");
}

static void write_text(const struct picture *picture, FILE *file)
{
    const tarn_stats *stats = &picture->stats;
    char backend_name[256], name[256];
    tn_escape_text(backend_name, sizeof backend_name, picture->backend_name);
    tn_escape_text(name, sizeof name, picture->pool->name);
    fprintf(file, "tarn pool%s%s%s", name[0] ? " \"" : "", name, name[0] ? "\"" : "");
    fprintf(file,
            " on %s memory, chunks of %zu bytes, %s\n"
            "  requested %zu, used %zu, footprint %zu bytes (most: %zu, %zu, %zu)\n"
            "  %zu live, %zu free regions, the largest of %zu bytes, fragmentation %.3f\n",
            backend_name, picture->chunk_bytes, tn_fit_name(picture->pool->own.index.fit),
            stats->requested_bytes, stats->used_bytes, stats->footprint_bytes,
            stats->requested_bytes_max, stats->used_bytes_max, stats->footprint_bytes_max,
            stats->live_count, stats->free_region_count, stats->largest_free_bytes,
            stats->fragmentation);
    write_text_parts(stats, file);
    const struct dumped_region *regions = picture->regions;
    for (size_t i = 0; i < picture->static_pool_count; i++) {
        const struct dumped_static_pool *static_pool = &picture->static_pools[i];
        fprintf(file, "  static pool %" PRIu64 ": 0x%" PRIxPTR ", %zu bytes\n", static_pool->id,
                static_pool->backing, static_pool->backing_bytes);
        for (size_t k = 0; k < static_pool->region_count; k++)
            write_text_region(picture, regions++, file);
    }
}

/* --- JSON --------------------------------------------------------------------------------------- */

/* A label, or the name of a user's backend, may have any bytes. Each byte that is not UTF-8 becomes the replacement
 * character. */
static void write_json_string(const char *text, FILE *file)
{
    fputc('"', file);
    while (*text != '\0') {
        unsigned char first = (unsigned char)*text;
        size_t length = tn_escape_printable_bytes(text);
        if (first == '"' || first == '\\') {
            fprintf(file, "\\%c", first);
        } else if (length > 0) {
            fwrite(text, 1, length, file);
        } else {
            fprintf(file, "\\u%04x", first < 0x80 ? first : 0xfffd);
        }
        text += length > 0 ? length : 1;
    }
    fputc('"', file);
}

static void write_json_label(const char *label, FILE *file)
{
    fprintf(file, ", \"label\": ");
    write_json_string(label, file);
}

static void write_json_record(const struct tn_debug_record *record, FILE *file)
{
    char text[256];
    const struct tn_debug_origin *origin = &record->allocated;
    write_json_label(origin->label, file);
    fprintf(file, ", \"serial\": %" PRIu64 ", \"site\": [", record->serial);
    for (unsigned i = 0; i < origin->site.frame_count; i++) {
        tn_call_site_describe(origin->site.frames[i], text, sizeof text);
        fprintf(file, "%s", i == 0 ? "" : ", ");
        write_json_string(text, file);
    }
    fprintf(file, "]");
}

static void write_json_region(const struct picture *picture, const struct dumped_region *region,
                              FILE *file)
{
    struct tn_debug_record record;
    bool is_live = region->requested_bytes > 0;
    bool has_record = is_live && tn_debug_look_up(picture->pool, region->address, &record);
    fprintf(file, "\n      {\"address\": \"0x%" PRIxPTR "\", \"bytes\": %zu, ", region->address,
            region->size_bytes);
    fprintf(file, "\"state\": \"%s\", \"requested_bytes\": %zu",
            has_record ? state_names[record.state] : region->state,
            has_record ? record.range.size_bytes : region->requested_bytes);
    if (has_record)
        write_json_record(&record, file);
    else if (is_live)
        write_json_label(tn_label_text(region->label), file);
    write_streams(region->streams, ", \"streams\": [", "]", file);
    fprintf(file, "}");
}

static void write_json_stats(const tarn_stats *stats, FILE *file)
{
    fprintf(file,
            "  \"requested_bytes\": %zu,\n  \"used_bytes\": %zu,\n  \"footprint_bytes\": %zu,\n"
            "  \"requested_bytes_max\": %zu,\n  \"used_bytes_max\": %zu,\n"
            "  \"footprint_bytes_max\": %zu,\n  \"live_count\": %zu,\n"
            "  \"free_region_count\": %zu,\n  \"largest_free_bytes\": %zu,\n"
            "  \"captured_bytes\": %zu,\n",
            stats->requested_bytes, stats->used_bytes, stats->footprint_bytes,
            stats->requested_bytes_max, stats->used_bytes_max, stats->footprint_bytes_max,
            stats->live_count, stats->free_region_count, stats->largest_free_bytes,
            stats->captured_bytes);
    for (size_t part = 0; part < TN_FOOTPRINT_PART_COUNT; part++) {
        fprintf(file, "%s\"%s\": %zu", part == 0 ? "  \"footprint_parts\": {" : ", ",
                tarn_footprint_part_name((tarn_footprint_part)part), stats->part_bytes[part]);
    }
    fprintf(file, "},\n");
}

static void write_json(const struct picture *picture, FILE *file)
{
    fprintf(file, "{\n  \"tarn_dump\": 1,\n  \"backend\": ");
    write_json_string(picture->backend_name, file);
    fprintf(file, ",\n  \"name\": ");
    write_json_string(picture->pool->name, file);
    fprintf(file, ",\n  \"fit\": \"%s\",\n  \"chunk_bytes\": %zu,\n",
            tn_fit_name(picture->pool->own.index.fit), picture->chunk_bytes);
    write_json_stats(&picture->stats, file);
    fprintf(file, "  \"static_pools\": [");
    const struct dumped_region *regions = picture->regions;
    for (size_t i = 0; i < picture->static_pool_count; i++) {
        const struct dumped_static_pool *static_pool = &picture->static_pools[i];
        fprintf(file,
                "%s\n    {\"id\": %" PRIu64 ", \"base\": \"0x%" PRIxPTR
                "\", \"bytes\": %zu, \"regions\": [",
                i == 0 ? "" : ",", static_pool->id, static_pool->backing,
                static_pool->backing_bytes);
        for (size_t k = 0; k < static_pool->region_count; k++) {
            fprintf(file, "%s", k == 0 ? "" : ",");
            write_json_region(picture, regions++, file);
        }
        fprintf(file, "]}");
    }
    fprintf(file, "]\n}\n");
}

/* --- both --------------------------------------------------------------------------------------- */

tarn_status tn_dump_pool(struct tarn_pool *pool, tarn_dump_format format, FILE *file)
{
    struct picture picture;
    if (!picture_init(&picture, pool)) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "no host memory for a copy of the pool's map");
    }
    if (format == TARN_DUMP_FORMAT_JSON) {
        write_json(&picture, file);
    } else {
        write_text(&picture, file);
    }
    picture_fini(&picture);
    if (fflush(file) != 0 || ferror(file)) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "the dump could not be written to the file");
    }
    return TARN_STATUS_OK;
}
