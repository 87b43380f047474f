/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* world: calls of a pool, and the faults that they meet. */
#include "world.h"

#include "harness/host_memory_faults.h"
#include "plan.h"

/* In debug mode a pool copies to its own stack, which a wait that fails would leave to be written later. */
static bool may_fail(const struct world *world, enum fault fault)
{
    for (int i = 0; i < world->slot_count && fault == FAULT_SYNCHRONIZE; i++) {
        if (world->slots[i].options.debug & ~TARN_DEBUG_SITES) return false;
    }
    bool refuses = fault == FAULT_RELEASE || fault == FAULT_UNMAP;
    return !refuses || plan_has(PART_REFUSED_RELEASES);
}

void world_plan_fault(struct world *world)
{
    if (plan_has(PART_VENDOR_FAULTS)) {
        world->next_fault = (enum fault)below(world, FAULT_COUNT);
        world->next_fault_after = 1 + (unsigned)below(world, 3);
        if (!may_fail(world, world->next_fault)) world->next_fault_after = 0;
    }
    if (plan_has(PART_HOST_FAULTS) && one_in(world, 4)) {
        world->next_fault_after = 0;
        world->next_host_fault_after = 1 + (unsigned)below(world, 6);
    }
}

void world_begin_call(struct world *world)
{
    if (world->depth > 0) return;
    device_begin_call(&world->device);
    world->act_count = world->callback_count = world->unanswered_count = 0;
    world->has_host_failed = false;
    if (world->next_fault_after > 0)
        device_arm(&world->device, world->next_fault, world->next_fault_after);
    world->is_host_armed = world->next_host_fault_after > 0;
    if (world->is_host_armed) host_memory_faults_begin(world->next_host_fault_after);
    world->next_fault_after = world->next_host_fault_after = 0;
}

void world_end_call(struct world *world)
{
    if (world->depth > 0) return;
    device_disarm(&world->device);
    if (world->is_host_armed) world->has_host_failed = host_memory_faults_end();
    world->is_host_armed = false;
    if (!world->has_host_failed) return;
    note("    the host has failed");
    world->device.has_lost_record = true; /* a vendor may need host memory for an event */
}

void world_enter_function(struct world *world)
{
    if (world->is_host_armed) world->has_host_failed = host_memory_faults_end();
    world->is_host_armed = false;
}

bool world_met_fault(const struct world *world)
{
    bool has_host_failed =
        world->is_host_armed ? host_memory_faults_happened() : world->has_host_failed;
    return has_host_failed || world->device.fired_count > 0;
}

tarn_status world_call_ended(struct world *world, tarn_status also, tarn_status status,
                             const char *call)
{
    world_end_call(world);
    if (status != TARN_STATUS_OK && status != also && !world_met_fault(world))
        find(FINDING_STATUS, "%s: %s, \"%s\"", call, tarn_status_name(status),
             tarn_last_error().message);
    return status;
}
