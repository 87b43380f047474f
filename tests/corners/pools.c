/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pools: how they begin, with random options, and how they end. */
#include <string.h>

#include "plan.h"
#include "world.h"

#define KIB ((size_t)1024)

/* About so many bytes: a multiple of nothing, or of the granularity. */
static size_t about(struct world *world, size_t size_bytes)
{
    size_t bytes = 1 + size_bytes / 2 + (size_t)below(world, size_bytes / 2 + 1);
    if (plan_has(PART_ODD_SIZES) && one_in(world, 2)) return bytes;
    return (bytes + world->granule_bytes - 1) / world->granule_bytes * world->granule_bytes;
}

static void choose_sizes(struct world *world, tarn_pool_options *options)
{
    static const size_t chunks[] = { 256, 512, 1 * KIB, 1 * KIB, 1 * KIB, 4 * KIB, 64 * KIB };
    size_t capacity = world->capacity_bytes;
    options->chunk_bytes = chunks[below(world, sizeof chunks / sizeof *chunks)];
    options->alignment_bytes = (size_t)16 << below(world, 7);
    if (options->alignment_bytes > options->chunk_bytes)
        options->alignment_bytes = options->chunk_bytes;
    options->slices = !one_in(world, 4);
    options->free_waits = one_in(world, 4);
    if (one_in(world, 3)) options->stream_slack = (double)(1 + below(world, 8)) / 8;
    options->fit = (tarn_fit)below(world, TARN_FIT_TLSF + 1);
    options->growth_factor = 1.0 + (double)below(world, 5) / 2;
    options->growth_bytes_max = one_in(world, 2) ? 0 : about(world, capacity / 8);
    options->initial_bytes = 0;
    if (plan_has(PART_LIMITS) && !one_in(world, 4)) {
        options->limit_bytes = about(world, capacity >> below(world, 5));
        if (options->limit_bytes < options->chunk_bytes)
            options->limit_bytes = options->chunk_bytes;
        if (one_in(world, 8)) options->limit_percent = 1 + (unsigned)below(world, 100);
    }
    if (!plan_has(PART_INITIAL) || one_in(world, 3)) return;
    options->initial_bytes = about(world, capacity >> (1 + below(world, 6)));
    if (one_in(world, 6) && options->limit_bytes > 0) options->initial_bytes = options->limit_bytes;
    if (one_in(world, 12)) options->initial_bytes = TARN_INITIAL_ALL;
    options->takes_initial_at_once = one_in(world, 4);
}

static void choose_functions(struct world *world, struct slot *slot)
{
    tarn_pool_options *options = &slot->options;
    options->user = slot;
    if (plan_has(PART_OUT_OF_MEMORY) && one_in(world, 2))
        options->on_out_of_memory = function_out_of_memory;
    if (one_in(world, 2)) {
        options->on_static_pool_created = function_created;
        options->on_static_pool_destroyed = function_destroyed;
    }
}

static void choose_fallback(struct world *world, struct slot *slot)
{
    if (!plan_has(PART_FALLBACK) || slot->index == 0 || !one_in(world, 5)) return;
    int fallback = (int)below(world, (uint64_t)slot->index);
    if (!world->slots[fallback].pool || pool_is_over(&world->slots[fallback])) return;
    slot->fallback = fallback;
    slot->options.fallback = world->slots[fallback].pool;
}

static void choose_ways(struct world *world, tarn_pool_options *options, size_t range_granule_bytes)
{
    if (plan_has(PART_CONTIGUOUS) && one_in(world, 3) && range_granule_bytes > 0) {
        options->contiguous = true;
        options->step_bytes = one_in(world, 8) ? 0 : range_granule_bytes << below(world, 4);
        if (plan_has(PART_LIMITS) && one_in(world, 2)) /* a few steps */
            options->limit_bytes =
                (range_granule_bytes << below(world, 4)) * (2 + (size_t)below(world, 5));
    }
    options->passes_through = plan_has(PART_PASS_THROUGH) && one_in(world, 12);
    options->identifies_streams = plan_has(PART_IDENTIFYING) && one_in(world, 8);
    if (plan_has(PART_DEBUG) && one_in(world, 16)) {
        options->debug = (unsigned)below(world, 16);
        options->quarantine_bytes = about(world, world->capacity_bytes / 16);
    }
    if (!plan_has(PART_GIVING_BACK)) return;
    if (one_in(world, 5))
        options->release_threshold_bytes = 1 + (size_t)below(world, world->capacity_bytes / 4);
    options->returns_when_empty = one_in(world, 6);
}

static tarn_device_properties properties_of(const struct slot *slot)
{
    tarn_device_properties properties = { 0 };
    slot->watched.operations.get_properties((void *)&slot->watched, &properties);
    return properties;
}

/* What the model has to know of the options. */
static void note_options(struct world *world, struct slot *slot)
{
    const tarn_pool_options *options = &slot->options;
    slot->limit_bytes = options->limit_bytes;
    tarn_memory_info info;
    if (options->limit_percent > 0 &&
        slot->watched.operations.query_memory(&slot->watched, &info).status == TARN_STATUS_OK) {
        size_t share_bytes = info.total_bytes * options->limit_percent / 100;
        if (slot->limit_bytes == 0 || share_bytes < slot->limit_bytes)
            slot->limit_bytes = share_bytes;
    }
    slot->step_bytes = options->step_bytes;
    slot->alignment_bytes = properties_of(slot).alignment_bytes;
    size_t least_bytes = properties_of(slot).range_granularity_bytes;
    if (least_bytes < options->chunk_bytes) least_bytes = options->chunk_bytes;
    if (slot->step_bytes > 0 && slot->step_bytes < least_bytes) slot->step_bytes = least_bytes;
    note("pool %d: chunks %zu%s, alignment %zu, limit %zu, initial %zu%s, growth %.1f to %zu, "
         "slack %.3f, threshold %zu%s%s",
         slot->index, options->chunk_bytes, options->slices ? " in slices" : "",
         options->alignment_bytes, slot->limit_bytes, options->initial_bytes,
         options->takes_initial_at_once ? " at once" : "", options->growth_factor,
         options->growth_bytes_max, options->stream_slack, options->release_threshold_bytes,
         options->returns_when_empty ? ", returns when empty" : "",
         options->passes_through ? ", passes through" : "");
    note("pool %d: fit %d, debug %u%s%s%s%s, steps %zu, fallback %d, granules %zu, %zu in all",
         slot->index, (int)options->fit, options->debug, options->contiguous ? ", contiguous" : "",
         options->identifies_streams ? ", identifies" : "",
         options->on_out_of_memory ? ", asks" : "",
         options->on_static_pool_created ? ", tells" : "", slot->step_bytes, slot->fallback,
         world->granule_bytes, world->capacity_bytes);
}

/* What the backend may lack, and what the device may not have. */
static bool make_simpler(tarn_pool_options *options, tarn_status status)
{
    if (options->takes_initial_at_once &&
        (status == TARN_STATUS_OUT_OF_MEMORY || status == TARN_STATUS_OVER_LIMIT)) {
        options->takes_initial_at_once = false;
        return true;
    }
    if (status == TARN_STATUS_INVALID_OPTIONS && options->limit_percent > 0) {
        options->limit_percent = 0; /* it was less than a chunk */
        return true;
    }
    if (status == TARN_STATUS_INVALID_OPTIONS && options->limit_bytes < 2 * options->chunk_bytes &&
        options->limit_bytes > 0) {
        options->limit_bytes = 2 * options->chunk_bytes; /* no piece would surely hold a chunk */
        return true;
    }
    if (status == TARN_STATUS_INVALID_OPTIONS && options->contiguous) {
        options->contiguous = false; /* the limit was less than a step */
        return true;
    }
    if (status != TARN_STATUS_NOT_SUPPORTED) return false;
    options->identifies_streams = options->free_waits = options->contiguous = false;
    options->debug = options->limit_percent = 0;
    if (options->initial_bytes == TARN_INITIAL_ALL) options->initial_bytes = 0;
    if (options->initial_bytes == 0) options->takes_initial_at_once = false;
    return true;
}

/* All that a pool is to take at once is there, and under its limit. */
static void expect_no_room(struct world *world, struct slot *slot, tarn_status status)
{
    const tarn_pool_options *options = &slot->options;
    size_t initial_bytes = options->initial_bytes, granule_bytes = world->granule_bytes;
    bool is_for_memory = status == TARN_STATUS_OUT_OF_MEMORY || status == TARN_STATUS_OVER_LIMIT;
    bool can_tell = options->takes_initial_at_once && initial_bytes < SIZE_MAX / 2 &&
                    options->limit_percent == 0 && !options->contiguous &&
                    initial_bytes >= 2 * options->chunk_bytes;
    if (!is_for_memory || !can_tell || world_met_fault(world) || world->act_count > 0) return;
    if (options->limit_bytes > 0 && initial_bytes > options->limit_bytes) return;
    size_t taken_bytes = (initial_bytes + granule_bytes - 1) / granule_bytes * granule_bytes;
    FIND_UNLESS(taken_bytes > model_device_free_bytes(world, slot), FINDING_INITIAL,
                "a pool is to take %zu bytes at once: %s; limit %zu, the device has %zu",
                initial_bytes, tarn_status_name(status), options->limit_bytes,
                model_device_free_bytes(world, slot));
}

static void create(struct world *world, struct slot *slot)
{
    for (int i = 0; i < 6; i++) {
        world_begin_call(world);
        tarn_status status = tarn_pool_create(&slot->options, &slot->pool);
        world_end_call(world);
        if (status == TARN_STATUS_OK) break;
        slot->pool = NULL;
        expect_no_room(world, slot, status);
        if (!make_simpler(&slot->options, status) && !world_met_fault(world)) {
            find(FINDING_STATUS, "tarn_pool_create: %s, \"%s\"", tarn_status_name(status),
                 tarn_last_error().message);
            break;
        }
    }
    slot->is_settled = slot->pool != NULL;
    if (slot->pool) note_options(world, slot);
}

static void begin_anew(struct world *world, int index)
{
    struct slot *slot = &world->slots[index];
    memset(slot, 0, sizeof *slot);
    slot->world = world;
    slot->index = index;
    slot->fallback = slot->under = NONE;
    slot->options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
}

static void pool_begin(struct world *world, int index, bool is_shared)
{
    struct slot *slot = &world->slots[index];
    begin_anew(world, index);
    watched_init(&slot->watched, &world->device, is_shared ? world->shared : world->inner);
    slot->watched.told_memory_id = is_shared ? 4712 : 4711;
    slot->watched.is_of_other_device = is_shared && !world->is_over_vendor;
    slot->is_shared = is_shared;
    tarn_backend backend = watched_backend(&slot->watched);
    slot->options.backend = &backend;
    choose_sizes(world, &slot->options);
    choose_ways(world, &slot->options, properties_of(slot).range_granularity_bytes);
    if (is_shared)
        slot->options.debug &= TARN_DEBUG_SITES; /* its fills would be another backend's */
    choose_functions(world, slot);
    choose_fallback(world, slot);
    create(world, slot);
    slot->options.backend = NULL;
}

/* A pool over a block of the first pool, whose place in the checker its own blocks take. */
static void pool_begin_over(struct world *world, int index)
{
    struct slot *slot = &world->slots[index];
    void *address;
    size_t size_bytes = world->granule_bytes + (size_t)below(world, world->capacity_bytes / 8);
    begin_anew(world, index);
    world_begin_call(world);
    tarn_status status = tarn_pool_alloc(world->slots[0].pool, size_bytes, &address);
    world_end_call(world);
    if (status != TARN_STATUS_OK) return;
    struct block *block = block_enter(world, 0, 0, address, size_bytes, 1);
    block->is_fixed = true;
    stream_wait_for_all(world);
    order_checker_drop(world->device.checker, address);
    watched_init(&slot->watched, &world->device, world->inner);
    slot->watched.piece_count = 1;
    slot->watched.pieces[0] =
        (struct piece){ .start = (uintptr_t)address, .size_bytes = size_bytes };
    slot->watched.held_bytes = size_bytes;
    slot->under = (int)(block - world->blocks);
    slot->options.chunk_bytes = (size_t)256 << below(world, 3);
    choose_functions(world, slot);
    note("pool %d: over %zu bytes of pool 0, chunks %zu", index, size_bytes,
         slot->options.chunk_bytes);
    status = CALL(world, TARN_STATUS_OK,
                  tarn_pool_create_over(address, size_bytes, &slot->options, &slot->pool));
    slot->is_settled = status == TARN_STATUS_OK;
    if (status != TARN_STATUS_OK) slot->pool = NULL;
}

void pools_begin(struct world *world)
{
    for (int i = 0; i < POOLS_MAX; i++)
        begin_anew(world, i);
    world->slot_count = plan_has(PART_SECOND_POOL) ? 2 : 1;
    for (int i = 0; i < world->slot_count; i++)
        pool_begin(world, i, false);
    if (!plan_has(PART_SECOND_POOL)) return;
    if (world->shared.operations && one_in(world, 2)) pool_begin(world, world->slot_count++, true);
    if (plan_has(PART_CALLERS_MEMORY) && one_in(world, 4) && world->slots[0].pool &&
        !world->slots[0].options.debug)
        pool_begin_over(world, world->slot_count++);
}

/* All pools that need it have ended. Nobody is being captured. */
static void pool_end(struct world *world, struct slot *slot)
{
    if (!slot->pool) return;
    note("pool %d ends", slot->index);
    slot->is_settled = false; /* functions leave it alone from now on */
    graph_finish_all(world, slot->index);
    block_free_all(world, slot->index);
    tarn_status status = CALL(world, TARN_STATUS_OK, tarn_pool_destroy(slot->pool));
    FIND_UNLESS(status == TARN_STATUS_OK, FINDING_STATUS, "tarn_pool_destroy: %s, \"%s\"",
                tarn_status_name(status), tarn_last_error().message);
    slot->pool = NULL;
    bool is_over = pool_is_over(slot);
    if (!is_over && !world_met_fault(world)) {
        size_t refused_bytes = watched_refused_bytes(&slot->watched);
        FIND_UNLESS(slot->watched.held_bytes == 0,
                    slot->watched.held_bytes == refused_bytes ? FINDING_LOST : FINDING_LEAK,
                    "%zu bytes of pool %d are left with the vendor", slot->watched.held_bytes,
                    slot->index);
        FIND_UNLESS(slot->watched.range_count == 0, FINDING_LEAK, "a range of pool %d is left",
                    slot->index);
    }
    FIND_UNLESS(slot->told_count == 0, FINDING_CALLBACK,
                "%zu static pools of pool %d were never destroyed", slot->told_count, slot->index);
    if (!is_over) {
        watched_fini(&slot->watched);
        return;
    }
    struct block *block = &world->blocks[slot->under];
    slot->under = NONE;
    block->is_fixed = false;
    stream_wait_for_all(world);
    order_checker_take(world->device.checker, NULL, block->address, block->size_bytes);
}

void pools_end(struct world *world)
{
    stream_wait_for_all(world);
    for (int i = world->slot_count; i-- > 0;)
        pool_end(world, &world->slots[i]);
}

static bool is_needed(const struct world *world, int index)
{
    for (int i = 0; i < world->slot_count; i++) {
        const struct slot *slot = &world->slots[i];
        if (slot->fallback == index || (index == 0 && pool_is_over(slot))) return true;
    }
    return false;
}

void pool_replace(struct world *world)
{
    int index = (int)below(world, (uint64_t)world->slot_count);
    struct slot *slot = &world->slots[index];
    if (device_is_capturing(&world->device) || is_needed(world, index) || pool_is_over(slot))
        return;
    bool is_shared = slot->watched.memory.state != world->inner.state;
    pool_end(world, slot);
    stream_wait_for_all(world);
    pool_begin(world, index, is_shared);
}
