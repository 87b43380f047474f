/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * model: what a pool must be able to serve, from what the vendor has given it, what is live in it, and what graphs
 * have of it.
 *
 *     piece     │ live │     gap     │ graph's │  gap  │ live │
 *
 * A gap is free, whatever it waits for: docs/semantics.md, "Out of memory", promises that it serves. A piece that is one
 * gap can be given back. The model claims nothing while a stream is being captured, in debug mode, in memory of the
 * caller's, where alignment could be in the way, and in functions that a batch calls, since it does not know what the
 * batch has by then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_control.h"
#include "world.h"

struct extent {
    uintptr_t start, end;
};

enum {
    EXTENTS_MAX = BLOCKS_MAX + SPANS_MAX,
    STEPS_MAX = 8192
};

static int compare(const void *a, const void *b)
{
    const struct extent *one = a, *other = b;
    return (one->start > other->start) - (one->start < other->start);
}

/* What is live or a graph's, in whole chunks, in order. */
static size_t collect_occupied(const struct world *world, const struct slot *slot,
                               struct extent *extents)
{
    size_t count = 0;
    for (int i = 0; i < BLOCKS_MAX; i++) {
        const struct block *block = &world->blocks[i];
        if (!block->address || block->slot != slot->index) continue;
        uintptr_t start = (uintptr_t)block->address;
        extents[count++] = (struct extent){ chunk_floor(slot, start),
                                            chunk_ceiling(slot, start + block->size_bytes) };
    }
    for (size_t i = 0; i < slot->span_count; i++)
        extents[count++] = (struct extent){ chunk_floor(slot, slot->spans[i].start),
                                            chunk_ceiling(slot, slot->spans[i].end) };
    qsort(extents, count, sizeof *extents, compare);
    return count;
}

/* Memory that the pool has, in order; mapped steps that touch are one. What the vendor has refused to take back may
 * serve the pool again, or not. */
static size_t collect_pieces(const struct slot *slot, bool counts_refused, struct extent *extents)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < slot->watched.piece_count; i++) {
        const struct piece *piece = &slot->watched.pieces[i];
        if (!piece->is_refused || counts_refused)
            extents[count++] = (struct extent){ piece->start, piece->start + piece->size_bytes };
    }
    qsort(extents, count, sizeof *extents, compare);
    for (size_t i = 0; i < count; i++) {
        bool touches =
            kept > 0 && pool_has_mapped_steps(slot) && extents[kept - 1].end == extents[i].start;
        if (touches) {
            extents[kept - 1].end = extents[i].end;
        } else {
            extents[kept++] = extents[i];
        }
    }
    return kept;
}

static void add_gap(struct model_room *room, const struct slot *slot, uintptr_t start,
                    uintptr_t end)
{
    start = chunk_ceiling(slot, start);
    end = chunk_floor(slot, end);
    if (end <= start) return;
    room->free_bytes += end - start;
    if (end - start > room->largest_bytes) room->largest_bytes = end - start;
}

static bool is_occupied(const struct extent *occupied, size_t count, uintptr_t start, uintptr_t end)
{
    for (size_t i = 0; i < count; i++) {
        if (occupied[i].start < end && start < occupied[i].end) return true;
    }
    return false;
}

struct model_room model_room(struct world *world, const struct slot *slot, bool counts_refused)
{
    static struct extent occupied[EXTENTS_MAX], pieces[PIECES_MAX];
    struct model_room room = { 0, 0, 0 };
    size_t occupied_count = collect_occupied(world, slot, occupied);
    size_t piece_count = collect_pieces(slot, counts_refused, pieces), at = 0;
    for (size_t i = 0; i < piece_count; i++) {
        uintptr_t from = pieces[i].start;
        while (at < occupied_count && occupied[at].end <= from)
            at++;
        for (size_t k = at; k < occupied_count && occupied[k].start < pieces[i].end; k++) {
            add_gap(&room, slot, from, occupied[k].start);
            if (occupied[k].end > from) from = occupied[k].end;
        }
        add_gap(&room, slot, from, pieces[i].end);
    }
    for (size_t i = 0; i < slot->watched.piece_count; i++) {
        const struct piece *piece = &slot->watched.pieces[i];
        if (!piece->is_refused &&
            !is_occupied(occupied, occupied_count, piece->start, piece->start + piece->size_bytes))
            room.releasable_bytes += piece->size_bytes;
    }
    return room;
}

/* Of managed memory the host's is sure to be there, whatever the device has. */
size_t model_device_free_bytes(const struct world *world, const struct slot *slot)
{
    if (slot->is_shared && world->is_over_vendor) {
        size_t held_bytes = sim_held_bytes(0, SIM_MEMORY_KIND_SHARED);
        size_t host_bytes = sim_get_settings().host_memory_bytes;
        return held_bytes < host_bytes ? host_bytes - held_bytes : 0;
    }
    tarn_memory_info info;
    const tarn_backend *memory = &slot->watched.memory;
    if (memory->operations->query_memory(memory->state, &info).status != TARN_STATUS_OK) return 0;
    return info.free_bytes;
}

/* On the device, when all pools on the same memory have given back what they can. */
static size_t reachable_bytes(struct world *world, const struct slot *slot)
{
    size_t bytes = model_device_free_bytes(world, slot);
    for (int i = 0; i < world->slot_count; i++) {
        const struct slot *other = &world->slots[i];
        bool is_beside = other->pool && graph_are_all_known(world, other) && !pool_is_over(other) &&
                         other->options.debug == 0 &&
                         other->watched.memory.state == slot->watched.memory.state;
        if (is_beside) bytes += model_room(world, other, false).releasable_bytes;
    }
    return bytes;
}

static size_t round_up(size_t bytes, size_t unit_bytes)
{
    return (bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
}

static bool fits_in_new_piece(struct world *world, const struct slot *slot, size_t need_bytes,
                              size_t alignment)
{
    size_t piece_bytes = need_bytes;
    if (alignment < slot->options.chunk_bytes) alignment = slot->options.chunk_bytes;
    if (alignment > slot->alignment_bytes) piece_bytes += alignment;
    if (slot->limit_bytes > 0) {
        size_t kept_bytes =
            slot->watched.held_bytes - model_room(world, slot, false).releasable_bytes;
        if (kept_bytes > slot->limit_bytes || piece_bytes > slot->limit_bytes - kept_bytes)
            return false;
    }
    return round_up(piece_bytes, world->granule_bytes) <= reachable_bytes(world, slot);
}

/* Steps in a row that are not mapped or wholly free, and of which there can be so many. */
static bool fits_in_new_steps(struct world *world, const struct slot *slot, size_t need_bytes)
{
    static struct extent occupied[EXTENTS_MAX];
    static bool is_taken[STEPS_MAX];
    const struct watched *watched = &slot->watched;
    size_t step_bytes = slot->step_bytes;
    if (step_bytes == 0 || watched->range_count != 1) return false;
    /* The first step begins where the pool likes. */
    uintptr_t base = watched->ranges[0].start;
    if (watched->piece_count > 0) base += (watched->pieces[0].start - base) % step_bytes;
    size_t step_count =
        (watched->ranges[0].start + watched->ranges[0].size_bytes - base) / step_bytes;
    if (step_count > STEPS_MAX) step_count = STEPS_MAX;
    memset(is_taken, 0, sizeof is_taken);
    size_t occupied_count = collect_occupied(world, slot, occupied), taken_bytes = 0;
    for (size_t i = 0; i < occupied_count; i++) {
        for (size_t k = (occupied[i].start - base) / step_bytes;
             k < step_count && base + k * step_bytes < occupied[i].end; k++)
            is_taken[k] = true;
    }
    for (size_t i = 0; i < watched->piece_count; i++) {
        size_t step = (watched->pieces[i].start - base) / step_bytes;
        if (watched->pieces[i].size_bytes != step_bytes || step >= step_count) return false;
        if (watched->pieces[i].is_refused) is_taken[step] = true;
        if (is_taken[step]) taken_bytes += step_bytes;
    }
    size_t wanted = (need_bytes + step_bytes - 1) / step_bytes, run = 0, longest = 0;
    for (size_t k = 0; k < step_count; k++) {
        run = is_taken[k] ? 0 : run + 1;
        if (run > longest) longest = run;
    }
    if (longest < wanted) return false;
    size_t limit_bytes = slot->limit_bytes / step_bytes * step_bytes;
    if (slot->limit_bytes > 0 &&
        (taken_bytes > limit_bytes || wanted * step_bytes > limit_bytes - taken_bytes))
        return false;
    return wanted * step_bytes <= reachable_bytes(world, slot);
}

/* Nothing is live and no graph has any of it. Steps of the pool's own choice fill the limit, but for less than a
 * granule or a thousandth. */
static bool fits_in_empty_range(struct world *world, const struct slot *slot, size_t need_bytes)
{
    struct model_room room = model_room(world, slot, false);
    size_t limit_bytes = slot->limit_bytes, granule_bytes = world->granule_bytes;
    if (room.releasable_bytes != slot->watched.held_bytes || slot->options.step_bytes != 0)
        return false;
    if (slot->options.chunk_bytes > granule_bytes) granule_bytes = slot->options.chunk_bytes;
    size_t rest_bytes = limit_bytes / 1000 > granule_bytes ? limit_bytes / 1000 : granule_bytes;
    return limit_bytes > 0 && limit_bytes <= reachable_bytes(world, slot) &&
           round_up(need_bytes, granule_bytes) + rest_bytes <= limit_bytes;
}

const char *model_must_serve(struct world *world, const struct slot *slot, int stream,
                             size_t size_bytes, size_t alignment, enum finding *finding_out)
{
    static char reason[160];
    const struct device *device = &world->device;
    bool has_lost_memory =
        world->has_lost_memory || (device->has_lost_record && !device->can_synchronize);
    bool can_tell = !world->is_in_batch && !has_lost_memory && graph_are_all_known(world, slot) &&
                    !pool_is_over(slot) && slot->options.debug == 0 &&
                    world->streams[stream].graph == NONE && !device_is_capturing(&world->device) &&
                    alignment <= slot->options.chunk_bytes;
    if (!can_tell) return NULL;
    size_t need_bytes =
        slot->options.passes_through ? size_bytes : round_up(size_bytes, slot->options.chunk_bytes);
    struct model_room room = model_room(world, slot, false);
    *finding_out = FINDING_REFUSED;
    if (!slot->options.passes_through && room.largest_bytes >= need_bytes) {
        snprintf(reason, sizeof reason, "%zu bytes in a row are free in the pool",
                 room.largest_bytes);
        return reason;
    }
    bool has_steps = pool_has_mapped_steps(slot);
    if (has_steps ? fits_in_new_steps(world, slot, need_bytes)
                  : fits_in_new_piece(world, slot, need_bytes, alignment)) {
        if (slot->is_shared) *finding_out = FINDING_MANAGED;
        snprintf(reason, sizeof reason,
                 "holds %zu, of which %zu can be given back; limit %zu, the device can have %zu",
                 slot->watched.held_bytes, room.releasable_bytes, slot->limit_bytes,
                 reachable_bytes(world, slot));
        return reason;
    }
    *finding_out = FINDING_WHOLE_STEPS;
    return has_steps && fits_in_empty_range(world, slot, need_bytes)
               ? "nothing is live, and the limit and the device have as much"
               : NULL;
}
