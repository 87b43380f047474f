/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* look: what must hold between any two calls. */
#include <string.h>

#include "world.h"

void look_at_order(struct world *world)
{
    if (order_checker_fault_count(world->device.checker) == 0) return;
    find(FINDING_ORDER, "%s", order_checker_first_fault(world->device.checker));
}

struct live {
    size_t count, requested_bytes;
};

static struct live live_of(const struct world *world, int slot)
{
    struct live live = { 0, 0 };
    for (int i = 0; i < BLOCKS_MAX; i++) {
        const struct block *block = &world->blocks[i];
        if (!block->address || block->slot != slot) continue;
        live.count++;
        live.requested_bytes += block->size_bytes;
    }
    return live;
}

static void expect_sums(const struct world *world, const struct slot *slot, const tarn_stats *stats)
{
    struct live live = live_of(world, slot->index);
    FIND_UNLESS(stats->live_count == live.count && stats->requested_bytes == live.requested_bytes,
                FINDING_STATISTICS, "pool %d has %zu live, %zu bytes; in truth %zu, %zu bytes",
                slot->index, stats->live_count, stats->requested_bytes, live.count,
                live.requested_bytes);
    FIND_UNLESS(stats->requested_bytes <= stats->used_bytes, FINDING_STATISTICS,
                "pool %d: requested %zu, used %zu", slot->index, stats->requested_bytes,
                stats->used_bytes);
    FIND_UNLESS(stats->pending_bytes <= stats->free_bytes &&
                    stats->largest_free_bytes <= stats->free_bytes,
                FINDING_STATISTICS, "pool %d: free %zu, pending %zu, largest %zu", slot->index,
                stats->free_bytes, stats->pending_bytes, stats->largest_free_bytes);
    /* A pool that passes through uses to the byte, and what it has not given back yet is whole chunks. */
    if (!slot->options.passes_through)
        FIND_UNLESS(stats->used_bytes + stats->free_bytes <= stats->footprint_bytes,
                    FINDING_STATISTICS, "pool %d: used %zu, free %zu, footprint %zu", slot->index,
                    stats->used_bytes, stats->free_bytes, stats->footprint_bytes);
    FIND_UNLESS(stats->footprint_bytes <= stats->footprint_bytes_max, FINDING_STATISTICS,
                "pool %d: footprint %zu, at most %zu", slot->index, stats->footprint_bytes,
                stats->footprint_bytes_max);
    if (slot->limit_bytes > 0 && !pool_is_over(slot))
        FIND_UNLESS(stats->footprint_bytes_max <= slot->limit_bytes, FINDING_LIMIT,
                    "pool %d: %zu above %zu", slot->index, stats->footprint_bytes_max,
                    slot->limit_bytes);
}

struct labelled {
    struct live sure, perhaps; /* blocks that have the label, and that may have none */
};

static struct labelled labelled_of(const struct world *world, const struct slot *slot, int label)
{
    struct labelled labelled = { { 0, 0 }, { 0, 0 } };
    bool has_labels = slot->options.debug != 0 || slot->options.chunk_bytes <= 65536;
    for (int i = 0; i < BLOCKS_MAX && has_labels; i++) {
        const struct block *block = &world->blocks[i];
        if (!block->address || block->slot != slot->index || block->label != label) continue;
        struct live *live = block->may_lack_label ? &labelled.perhaps : &labelled.sure;
        live->count++;
        live->requested_bytes += block->size_bytes;
    }
    return labelled;
}

/* A label that the pool has not met has nothing. */
static tarn_label_stats find_label(const struct slot *slot, const char *name)
{
    tarn_label_stats stats = TARN_LABEL_STATS_INIT;
    for (size_t i = 0; tarn_pool_label_stats(slot->pool, i, &stats) == TARN_STATUS_OK; i++) {
        if (strcmp(stats.label, name) == 0) return stats;
    }
    return (tarn_label_stats){ .struct_bytes = sizeof stats };
}

static void expect_labels(const struct world *world, const struct slot *slot)
{
    for (int label = 1; label < LABEL_COUNT; label++) {
        const char *name = block_label_name(label);
        tarn_label_stats stats = find_label(slot, name);
        struct labelled truth = labelled_of(world, slot, label);
        const struct live *sure = &truth.sure, *perhaps = &truth.perhaps;
        FIND_UNLESS(stats.live_count - sure->count <= perhaps->count &&
                        stats.live_bytes - sure->requested_bytes <= perhaps->requested_bytes,
                    FINDING_STATISTICS,
                    "pool %d has %zu live of \"%s\", %zu bytes; in truth %zu, %zu bytes, and "
                    "perhaps %zu more, %zu bytes",
                    slot->index, stats.live_count, name, stats.live_bytes, sure->count,
                    sure->requested_bytes, perhaps->count, perhaps->requested_bytes);
        FIND_UNLESS(stats.live_bytes <= stats.live_bytes_max, FINDING_STATISTICS,
                    "pool %d has %zu bytes of \"%s\", at most %zu", slot->index, stats.live_bytes,
                    name, stats.live_bytes_max);
    }
}

static void expect_footprint(const struct slot *slot, const tarn_stats *stats)
{
    size_t refused_bytes = watched_refused_bytes(&slot->watched);
    if (stats->footprint_bytes == slot->watched.held_bytes) return;
    enum finding finding = stats->footprint_bytes + refused_bytes == slot->watched.held_bytes
                               ? FINDING_LOST
                               : FINDING_FOOTPRINT;
    find(finding, "pool %d: %zu, the vendor has given %zu, and refused to take back %zu of them",
         slot->index, stats->footprint_bytes, slot->watched.held_bytes, refused_bytes);
}

/* Memory of graphs serves nobody else. */
static void expect_graphs_apart(struct world *world, struct slot *slot, const tarn_stats *stats)
{
    size_t available_bytes = 0, growth_bytes = model_device_free_bytes(world, slot);
    if (slot->options.debug != 0 || pool_is_over(slot) || slot->options.passes_through) return;
    struct model_room room = model_room(world, slot, true);
    enum finding finding = slot->span_count > 0 ? FINDING_GRAPH_FREE : FINDING_STATISTICS;
    FIND_UNLESS(stats->largest_free_bytes <= room.largest_bytes, finding,
                "pool %d: the largest free region has %zu bytes, in truth %zu", slot->index,
                stats->largest_free_bytes, room.largest_bytes);
    if (slot->is_shared) return; /* how much of it there is the vendors tell differently */
    if (tarn_pool_available(slot->pool, &available_bytes) != TARN_STATUS_OK) return;
    size_t left_bytes =
        slot->limit_bytes > stats->footprint_bytes ? slot->limit_bytes - stats->footprint_bytes : 0;
    if (slot->limit_bytes > 0 && left_bytes < growth_bytes) growth_bytes = left_bytes;
    FIND_UNLESS(available_bytes <= room.free_bytes + growth_bytes, finding,
                "pool %d: %zu bytes available; %zu are free, and it can grow by %zu", slot->index,
                available_bytes, room.free_bytes, growth_bytes);
}

static void expect_found(const struct slot *slot, const struct block *block)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    tarn_status status = tarn_pool_find(block->address + block->size_bytes - 1, &found);
    FIND_UNLESS(status == TARN_STATUS_OK, FINDING_STATUS, "%p is not found: %s",
                (void *)block->address, tarn_status_name(status));
    if (status != TARN_STATUS_OK) return;
    FIND_UNLESS(found.size_bytes == block->size_bytes || found.pool != slot->pool,
                FINDING_STATISTICS, "%p has %zu bytes, in truth %zu", (void *)block->address,
                found.size_bytes, block->size_bytes);
}

void look_at_pool(struct world *world, struct slot *slot)
{
    tarn_stats stats = TARN_STATS_INIT;
    if (!slot->pool) return;
    CALL(world, TARN_STATUS_OK, tarn_pool_stats(slot->pool, &stats));
    expect_footprint(slot, &stats);
    expect_sums(world, slot, &stats);
    expect_labels(world, slot);
    expect_graphs_apart(world, slot, &stats);
    /* In debug mode a check waits for the device. */
    bool can_check = slot->options.debug == 0 || !device_is_capturing(&world->device);
    if (world->label_turn % 64 == 0)
        FIND_UNLESS(tarn_pool_reset_peaks(slot->pool) == TARN_STATUS_OK, FINDING_STATUS,
                    "tarn_pool_reset_peaks: %s", tarn_last_error().message);
    if (!one_in(world, 4) || !can_check) return;
    tarn_status status = CALL(world, TARN_STATUS_CORRUPT, tarn_pool_check(slot->pool));
    FIND_UNLESS(status != TARN_STATUS_CORRUPT, FINDING_CHECK, "pool %d: %s", slot->index,
                tarn_last_error().message);
}

void look_at_all(struct world *world)
{
    look_at_order(world);
    for (int i = 0; i < world->slot_count; i++)
        look_at_pool(world, &world->slots[i]);
    const struct block *block = &world->blocks[below(world, BLOCKS_MAX)];
    if (block->address && !block->is_fixed) expect_found(&world->slots[block->slot], block);
}
