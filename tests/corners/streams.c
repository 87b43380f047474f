/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* streams: up to a hundred, which end and begin again. */
#include <stdlib.h>

#include "plan.h"
#include "world.h"

tarn_stream stream_make(struct world *world)
{
    tarn_stream handle;
    int mode = device_relax(&world->device);
    if (world->device.streams.operations->stream_create(world->device.streams.state, &handle)
            .status != TARN_STATUS_OK)
        abort();
    device_end_relaxing(&world->device, mode);
    return handle;
}

void stream_unmake(struct world *world, tarn_stream handle)
{
    int mode = device_relax(&world->device);
    device_go_on(&world->device, handle);
    world->device.streams.operations->stream_destroy(world->device.streams.state, handle);
    device_end_relaxing(&world->device, mode);
    world->ended_count++;
}

int stream_choose(struct world *world)
{
    for (int i = 0; i < 8; i++) {
        int stream = (int)below(world, (uint64_t)world->stream_count);
        if (one_in(world, 2)) stream %= 4; /* so that streams meet again */
        if (world->streams[stream].graph == NONE) return stream;
    }
    return 0; /* never captured */
}

void stream_wait_for_all(struct world *world)
{
    const tarn_backend_operations *operations = world->device.streams.operations;
    bool is_done = device_synchronize(&world->device);
    for (int i = 0; i < world->stream_count && !is_done; i++)
        operations->stream_synchronize(world->device.streams.state, world->streams[i].handle);
    world->ended_count = 0;
}

void streams_begin(struct world *world)
{
    static const int counts[] = { 1, 2, 3, 5, 12, 40, STREAMS_MAX };
    int kind_count = plan_has(PART_MANY_STREAMS) ? 7 : 5;
    world->stream_count = counts[below(world, (uint64_t)kind_count)];
    world->ended_count = 0;
    for (int i = 0; i < world->stream_count; i++)
        world->streams[i] = (struct stream){ i == 0 ? NULL : stream_make(world), true, NONE };
    note("%d streams", world->stream_count);
}

void streams_end(struct world *world)
{
    for (int i = 1; i < world->stream_count; i++)
        stream_unmake(world, world->streams[i].handle);
}

void stream_hang_or_go_on(struct world *world)
{
    int stream = stream_choose(world);
    if (!plan_has(PART_HANGING)) return;
    bool hangs = one_in(world, 2);
    note("stream %d %s", stream, hangs ? "hangs" : "goes on");
    if (hangs) {
        device_hang(&world->device, world->streams[stream].handle);
    } else {
        device_go_on(&world->device, world->streams[stream].handle);
    }
}

/* Another stream, which waits for this one, stands for it from now on. */
static void hand_over(struct world *world, int stream)
{
    int other = (int)below(world, world->stream_count < 3 ? 2 : 3); /* which all pools know */
    if (other == stream) other = 0;
    device_order(&world->device, world->streams[other].handle, world->streams[stream].handle);
    graph_replace_launch(world, stream, other);
    for (int i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &world->blocks[i];
        int place = NONE;
        bool has_other = false;
        if (block->address && block_leave_to_pool(block, stream)) continue;
        for (int k = 0; k < block->user_count && block->address; k++) {
            if (block->users[k] == stream) place = k;
            has_other = has_other || block->users[k] == other;
        }
        if (place == NONE) continue;
        /* As a new user: after all others. */
        if (!has_other) block_order_users(world, block, world->streams[other].handle);
        block->users[place] = has_other ? block->users[--block->user_count] : other;
    }
}

static bool all_identify(const struct world *world)
{
    for (int i = 0; i < world->slot_count; i++) {
        const struct slot *slot = &world->slots[i];
        if (slot->pool && (!slot->options.identifies_streams || pool_is_over(slot))) return false;
    }
    return true;
}

/* A pool over the caller's memory cannot learn that a stream's work is done, and never forgets one that has ended. */
static int first_mortal(const struct world *world)
{
    for (int i = 0; i < world->slot_count; i++) {
        if (world->slots[i].pool && pool_is_over(&world->slots[i])) return 3;
    }
    return 1;
}

void stream_replace(struct world *world)
{
    int first = first_mortal(world);
    if (!plan_has(PART_RETIRING) || world->stream_count <= first ||
        device_is_capturing(&world->device))
        return;
    if (world->ended_count > 40) stream_wait_for_all(world);
    int stream = first + (int)below(world, (uint64_t)(world->stream_count - first));
    hand_over(world, stream);
    struct stream *ended = &world->streams[stream];
    bool is_announced = !all_identify(world) || one_in(world, 2);
    note("stream %d ends%s", stream, is_announced ? "" : " unannounced");
    if (is_announced) {
        tarn_status status = CALL(world, TARN_STATUS_OK, tarn_stream_retire(ended->handle));
        if (status == TARN_STATUS_OUT_OF_HOST_MEMORY) /* nothing has changed */
            status = CALL(world, TARN_STATUS_OK, tarn_stream_retire(ended->handle));
        if (status != TARN_STATUS_OK && !world->device.can_synchronize)
            world->has_lost_memory = true;
    }
    stream_unmake(world, ended->handle);
    ended->handle = stream_make(world);
}
