/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* functions: what the pools call, and what it then does. */
#include "plan.h"
#include "world.h"

enum {
    CALLBACKS_EAGER =
        300, /* in one call; later ones only trim, so that what has an end comes to it */
    CALLBACKS_MAX = 3000 /* in one call: it has no end */
};

/* Whether a function may do anything now. */
static bool may_act(struct world *world, const struct slot *slot)
{
    world_enter_function(world);
    if (++world->callback_count == CALLBACKS_MAX)
        find(FINDING_ENDLESS, "%d functions of the user's were called in one call of a pool",
             CALLBACKS_MAX);
    return !world->is_quiet && slot->is_settled && world->depth < DEPTH_MAX;
}

static void trim(struct world *world, struct slot *slot)
{
    if (!plan_has(PART_TRIMMING_IN_CALLBACKS) || !slot->is_settled) return;
    note("    trim pool %d in a function", slot->index);
    CALL(world, TARN_STATUS_OK, tarn_pool_trim(slot->pool, 0, NULL));
}

/* Something that any function may do. Whether it did. */
static bool act(struct world *world, struct slot *slot)
{
    struct slot *any = &world->slots[below(world, (uint64_t)world->slot_count)];
    uint64_t kind = below(world, 8);
    bool is_late = world->callback_count > CALLBACKS_EAGER;
    if (kind > 4 || (is_late && kind != 2)) return false;
    world->depth++;
    world->act_count++;
    switch (kind) {
    case 0:
        block_free_of(world, slot->index);
        break;
    case 1:
        block_free_of(world, any->index);
        break;
    case 2:
        trim(world, one_in(world, 2) ? slot : any);
        break;
    case 3:
        block_alloc_from(world, any->index, 1 + (size_t)below(world, 2 * world->granule_bytes));
        break;
    default:
        block_alloc_from(world, slot->index, 1 + (size_t)below(world, world->granule_bytes));
        break;
    }
    world->depth--;
    world->unanswered_count++;
    return true;
}

bool function_out_of_memory(void *user, tarn_pool *pool, size_t size_bytes, unsigned attempt)
{
    struct slot *slot = user;
    struct world *world = slot->world;
    (void)size_bytes;
    slot->asked_count++;
    FIND_UNLESS(pool == slot->pool, FINDING_CALLBACK, "pool %d asks for another one", slot->index);
    FIND_UNLESS(!slot->is_asking, FINDING_CALLBACK, "pool %d asks within its own function",
                slot->index);
    if (!may_act(world, slot) || attempt > 2) return false;
    note("    pool %d asks, attempt %u", slot->index, attempt);
    if (world->can_leave && world->static_pool_depth == 0 && one_in(world, 10))
        longjmp(world->way_out, 1);
    slot->is_asking = true;
    bool has_acted = act(world, slot);
    slot->is_asking = false;
    bool tries_again = has_acted && !one_in(world, 6);
    /* A pool that asks as the fallback of another tries again itself, and the other does not. */
    if (tries_again && slot->index == world->requested_slot) world->unanswered_count = 0;
    return tries_again;
}

static void act_of_static_pool(struct world *world, struct slot *slot, enum part part)
{
    if (!may_act(world, slot) || !plan_has(part)) return;
    world->static_pool_depth++;
    act(world, slot);
    world->static_pool_depth--;
}

void function_created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct slot *slot = user;
    const struct piece *piece = watched_find(&slot->watched, base);
    FIND_UNLESS(piece && piece->size_bytes >= size_bytes, FINDING_CALLBACK,
                "pool %d tells of %zu bytes at %p, which the vendor has not given", slot->index,
                size_bytes, base);
    for (size_t i = 0; i < slot->told_count; i++)
        FIND_UNLESS(slot->told[i] != id, FINDING_CALLBACK, "static pool %zu is created twice",
                    (size_t)id);
    if (slot->told_count < PIECES_MAX) slot->told[slot->told_count++] = id;
    act_of_static_pool(slot->world, slot, PART_CREATED);
}

void function_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct slot *slot = user;
    size_t i = 0;
    while (i < slot->told_count && slot->told[i] != id)
        i++;
    FIND_UNLESS(i < slot->told_count, FINDING_CALLBACK,
                "static pool %zu was never created, or destroyed before", (size_t)id);
    FIND_UNLESS(watched_find(&slot->watched, base), FINDING_CALLBACK,
                "%zu bytes at %p are told of after the vendor has them back", size_bytes, base);
    if (i < slot->told_count) slot->told[i] = slot->told[--slot->told_count];
    act_of_static_pool(slot->world, slot, PART_DESTROYED);
}
