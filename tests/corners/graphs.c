/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * graphs: captures of streams, launches of what was captured, and the end of it.
 *
 * A graph's memory is that which was allocated on its streams during a capture, and that which was freed on them then,
 * until it is released. While such memory is not live it is a span: for one stream, in one graph.
 *
 *     lane    ── launch 1 ────────── launch 2 ──    the launches of a graph follow each other, on any streams
 *                  ▲  ╲                ▲  ╲
 *     L       ─────●───●── ··    M ────●───●──
 *
 * What a captured stream is given must wait for nothing but earlier launches; so the checker sees it as taken on the
 * lane.
 */
#include "plan.h"
#include "world.h"

#include <string.h>

static int find_unused(const struct world *world)
{
    for (int i = 0; i < GRAPHS_MAX; i++) {
        if (!world->graphs[i].is_there) return i;
    }
    return NONE;
}

/* NONE: there is none. */
static int choose(struct world *world, bool is_under_way)
{
    unsigned first = (unsigned)below(world, GRAPHS_MAX);
    for (unsigned i = 0; i < GRAPHS_MAX; i++) {
        int graph = (int)((first + i) % GRAPHS_MAX);
        if (world->graphs[graph].is_there && world->graphs[graph].is_under_way == is_under_way)
            return graph;
    }
    return NONE;
}

/* --- capturing ---------------------------------------------------------------------------------- */

static bool can_capture(const struct slot *slot)
{
    return slot->is_settled && !pool_is_over(slot) && slot->fallback == NONE &&
           !slot->options.identifies_streams;
}

/* Whether the capture may have the stream, and the pool has a number for it. */
static bool has_number(const struct world *world, const struct graph *graph, int stream)
{
    int count = 0;
    for (int i = 0; i < graph->stream_count; i++) {
        if (graph->streams[i] == stream) return true;
    }
    for (int i = 0; i < GRAPHS_MAX; i++) {
        const struct graph *other = &world->graphs[i];
        if (other->is_there && other->slot == graph->slot) count += other->stream_count;
    }
    return count < NUMBERS_MAX;
}

static void note_number(struct graph *graph, int stream)
{
    for (int i = 0; i < graph->stream_count; i++) {
        if (graph->streams[i] == stream) return;
    }
    graph->streams[graph->stream_count++] = stream;
}

void graph_begin(struct world *world)
{
    if (!plan_has(PART_CAPTURES) || world->stream_count == 1 ||
        world->device.captured_count == CAPTURED_MAX)
        return;
    int stream = 1 + (int)below(world, (uint64_t)world->stream_count - 1);
    if (world->streams[stream].graph != NONE) return;
    if (world->ended_count > 60) {
        if (device_is_capturing(&world->device)) return;
        stream_wait_for_all(world);
    }
    int index = one_in(world, 3) ? choose(world, one_in(world, 2)) : NONE;
    bool is_new = index == NONE;
    if (is_new) index = find_unused(world);
    if (index == NONE) return;
    struct graph *graph = &world->graphs[index];
    if (is_new) {
        memset(graph, 0, sizeof *graph);
        graph->slot = (int)below(world, (uint64_t)world->slot_count);
    }
    struct slot *slot = &world->slots[graph->slot];
    if (!can_capture(slot) || !has_number(world, graph, stream)) return;
    note("graph %d of pool %d begins on %d%s", index, graph->slot, stream, is_new ? "" : ", again");
    if (CALL(world, TARN_STATUS_OK,
             tarn_capture_begin(slot->pool, world->streams[stream].handle, &graph->capture)) !=
        TARN_STATUS_OK)
        return;
    if (is_new) graph->lane = stream_make(world);
    graph->is_there = graph->is_under_way = true;
    note_number(graph, stream);
    world->streams[stream].graph = index;
    device_begin_capture(&world->device, world->streams[stream].handle);
}

static void end(struct world *world, int index)
{
    struct graph *graph = &world->graphs[index];
    note("graph %d ends", index);
    for (int i = 0; i < world->stream_count; i++) {
        struct stream *stream = &world->streams[i];
        if (stream->graph != index) continue;
        stream->graph = NONE;
        device_end_capture(&world->device, stream->handle);
        device_order(&world->device, graph->lane,
                     stream->handle); /* which the launches come after */
    }
    graph->is_under_way = false;
    CALL(world, TARN_STATUS_OK, tarn_capture_end(world->slots[graph->slot].pool, graph->capture));
}

void graph_end(struct world *world)
{
    int index = choose(world, true);
    if (index != NONE) end(world, index);
}

void graph_add_part(struct world *world, int graph, const struct block *block)
{
    struct graph *of = &world->graphs[graph];
    if (of->part_count == PARTS_MAX) return;
    of->parts[of->part_count++] = (struct work){ (uintptr_t)block->address, block->size_bytes };
}

/* --- launching ---------------------------------------------------------------------------------- */

static bool works_on(const struct graph *graph, const struct block *block)
{
    uintptr_t start = (uintptr_t)block->address, end_of_block = start + block->size_bytes;
    for (int i = 0; i < graph->part_count; i++) {
        const struct work *part = &graph->parts[i];
        if (part->address < end_of_block && start < part->address + part->size_bytes) return true;
    }
    return false;
}

static void launch(struct world *world, struct graph *graph, int stream)
{
    tarn_stream handle = world->streams[stream].handle;
    device_order(&world->device, handle, graph->lane);
    for (int i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &world->blocks[i];
        if (!block->address || block->is_fixed || !works_on(graph, block)) continue;
        block_order_users(world, block, handle);
        block->user_count = 1;
        block->users[0] = stream;
    }
    for (int i = 0; i < graph->part_count; i++)
        order_checker_use(world->device.checker, handle, (const void *)graph->parts[i].address,
                          graph->parts[i].size_bytes);
    device_order(&world->device, graph->lane, handle);
}

/* No user of its memory is being captured. */
static bool can_launch(const struct world *world, const struct graph *graph)
{
    for (int i = 0; i < BLOCKS_MAX; i++) {
        const struct block *block = &world->blocks[i];
        if (block->address && works_on(graph, block) && !block_is_at_hand(world, block))
            return false;
    }
    return !graph->is_stale && graph->launch_count < LAUNCHES_MAX;
}

void graph_launch(struct world *world)
{
    int index = choose(world, false), stream = stream_choose(world);
    if (index == NONE || !can_launch(world, &world->graphs[index])) return;
    struct graph *graph = &world->graphs[index];
    note("graph %d runs on %d", index, stream);
    launch(world, graph, stream);
    for (int i = 0; i < graph->launch_count; i++) {
        if (graph->launches[i] == stream) return;
    }
    graph->launches[graph->launch_count++] = stream;
}

void graph_replace_launch(struct world *world, int stream, int other)
{
    for (int i = 0; i < GRAPHS_MAX; i++) {
        struct graph *graph = &world->graphs[i];
        for (int k = 0; k < graph->launch_count && graph->is_there; k++) {
            if (graph->launches[k] == stream) graph->launches[k] = other;
        }
    }
}

/* --- releasing ---------------------------------------------------------------------------------- */

static bool needs_a_wait(const struct graph *graph)
{
    return graph->launch_count == 0 && graph->has_other_work;
}

/* A launch may have used the memory of a block that no work has used: in an earlier part of the capture. */
static void add_launches(struct world *world, const struct graph *graph, struct block *block)
{
    for (int i = 0; i < graph->launch_count; i++) {
        if (block->user_count == USERS_MAX) {
            block_order_users(world, block, world->streams[graph->launches[i]].handle);
            block->user_count = 0;
        }
        block->users[block->user_count++] = graph->launches[i];
    }
}

/* The host waits itself, or names the streams. Naming none says that it has waited. */
static void release(struct world *world, int index, bool waits)
{
    struct graph *graph = &world->graphs[index];
    struct slot *slot = &world->slots[graph->slot];
    tarn_stream streams[LAUNCHES_MAX];
    size_t count = 0;
    note("graph %d is released%s, %d launches", index, waits ? " after a wait" : "",
         graph->launch_count);
    if (waits) stream_wait_for_all(world);
    for (int i = 0; i < graph->launch_count && !waits; i++)
        streams[count++] = world->streams[graph->launches[i]].handle;
    /* Before the call, since functions may have the memory during it. */
    size_t kept = 0;
    for (size_t i = 0; i < slot->span_count; i++) {
        if (slot->spans[i].graph != index) slot->spans[kept++] = slot->spans[i];
    }
    slot->span_count = kept;
    for (int i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &world->blocks[i];
        if (!block->address || block->graph != index) continue;
        block->graph = NONE;
        if (block->user_count == 0 && !waits) add_launches(world, graph, block);
    }
    tarn_status status = TARN_STATUS_VENDOR_ERROR;
    for (int i = 0; i < 3 && status != TARN_STATUS_OK; i++)
        status = CALL(world, TARN_STATUS_OK,
                      tarn_capture_release(slot->pool, graph->capture, streams, count));
    stream_unmake(world, graph->lane);
    graph->is_there = false;
}

void graph_release(struct world *world)
{
    int index = choose(world, false);
    if (index == NONE) return;
    const struct graph *graph = &world->graphs[index];
    for (int i = 0; i < graph->launch_count; i++) {
        if (world->streams[graph->launches[i]].graph != NONE) return;
    }
    bool may_wait = !device_is_capturing(&world->device), has_to_wait = needs_a_wait(graph);
    if (may_wait || !has_to_wait)
        release(world, index, has_to_wait || (may_wait && one_in(world, 4)));
}

void graph_finish_all(struct world *world, int slot)
{
    for (int i = 0; i < GRAPHS_MAX; i++) {
        const struct graph *graph = &world->graphs[i];
        if (graph->is_there && graph->is_under_way && (slot == NONE || graph->slot == slot))
            end(world, i);
    }
    for (int i = 0; i < GRAPHS_MAX; i++) {
        const struct graph *graph = &world->graphs[i];
        if (graph->is_there && (slot == NONE || graph->slot == slot))
            release(world, i, needs_a_wait(graph));
    }
}

/* Whether the spans are all memory that graphs have of the pool. */
bool graph_are_all_known(const struct world *world, const struct slot *slot)
{
    for (int i = 0; i < GRAPHS_MAX; i++) {
        const struct graph *graph = &world->graphs[i];
        if (graph->is_there && graph->slot == slot->index && graph->has_unknown_memory)
            return false;
    }
    return slot->span_count < SPANS_MAX;
}

/* --- spans -------------------------------------------------------------------------------------- */

static void add_span(struct slot *slot, struct span span)
{
    if (slot->span_count < SPANS_MAX) slot->spans[slot->span_count++] = span;
}

/* Other graphs than the one that has it now must not run any more. */
static void note_gone(struct world *world, const struct block *block, int owner)
{
    for (int i = 0; i < GRAPHS_MAX; i++) {
        struct graph *graph = &world->graphs[i];
        if (i != owner && graph->is_there && works_on(graph, block)) graph->is_stale = true;
    }
}

/* Freed on a stream that is being captured, or NONE. */
void graph_note_freed(struct world *world, const struct block *block, int stream)
{
    struct slot *slot = &world->slots[block->slot];
    uintptr_t start = (uintptr_t)block->address, end_of_block = start + block->size_bytes;
    if (block->graph != NONE) {
        add_span(slot, (struct span){ chunk_floor(slot, start), chunk_ceiling(slot, end_of_block),
                                      block->graph, block->graph_stream });
    } else if (stream != NONE) {
        world->graphs[world->streams[stream].graph].has_other_work = true;
        note_gone(world, block, world->streams[stream].graph);
        add_span(slot, (struct span){ start, end_of_block, world->streams[stream].graph, stream });
    } else {
        note_gone(world, block, NONE);
    }
}

/* Memory is given to a stream: all spans in it must be for that stream, in that capture. */
void graph_take_span(struct world *world, struct slot *slot, uintptr_t start,
                     uintptr_t end_of_taken, int stream)
{
    for (size_t i = slot->span_count; i-- > 0;) {
        struct span span = slot->spans[i];
        if (end_of_taken <= span.start || span.end <= start) continue;
        bool is_own = span.stream == stream && world->streams[stream].graph == span.graph;
        FIND_UNLESS(is_own, FINDING_OVERLAP,
                    "0x%zx to 0x%zx for stream %d are graph %d's, for stream %d", (size_t)start,
                    (size_t)end_of_taken, stream, span.graph, span.stream);
        slot->spans[i] = slot->spans[--slot->span_count];
        if (span.start < start)
            add_span(slot, (struct span){ span.start, start, span.graph, span.stream });
        if (end_of_taken < span.end)
            add_span(slot, (struct span){ end_of_taken, span.end, span.graph, span.stream });
    }
}
