/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stream_player: an allocator at work for several streams, on which its blocks are filled. */
#include "stream_player.h"

#include <stdlib.h>

#include "clock.h"

/* A stream, and the allocator as it is used there. */
struct tn_stream_lane {
    tarn_stream stream;
    struct tn_allocator_thread opened;
    bool is_open;
};

struct tn_stream_block {
    unsigned char *address; /* NULL: none */
    size_t size_bytes;
    size_t lane;
    unsigned char pattern;
};

/* What is copied aside of a block: all, or of a large one its first and last bytes. */
enum {
    SAMPLE_BYTES = 8192,
    SAMPLES_BYTES = 2 * SAMPLE_BYTES
};

/* --- what may fail --------------------------------------------------------------------------------- */

static bool stop_by_work(tarn_backend_result result, const char *what, struct tn_stop *stop_out)
{
    struct tn_reason why;
    tn_device_work_explain(result, &why);
    stop_out->status = result.status;
    tn_reason_set(&stop_out->reason, "%s: %.400s", what, why.text);
    return false;
}

static bool knows_streams(const struct tn_stream_player *player)
{
    return player->allocator->free_order == TN_FREE_IS_ORDERED;
}

static bool stop_by_allocator(const struct tn_stream_player *player, size_t lane,
                              tarn_status status, struct tn_stop *stop_out)
{
    struct tn_reason why;
    if (knows_streams(player))
        player->allocator->explain_in_thread(player->lanes[lane].opened.state, status, &why);
    else
        player->allocator->explain(player->state, status, &why);
    stop_out->status = status;
    tn_reason_set(&stop_out->reason, "%s: %.400s", tarn_status_name(status), why.text);
    return false;
}

/* --- one step -------------------------------------------------------------------------------------- */

static bool wait_for_all(const struct tn_stream_player *player, struct tn_stop *stop_out)
{
    for (size_t i = 0; i < player->workload->stream_count; i++) {
        tarn_backend_result result = tn_device_work_wait(player->work, player->lanes[i].stream);
        if (result.status != TARN_STATUS_OK)
            return stop_by_work(result, "waiting for a stream", stop_out);
    }
    return true;
}

static bool free_block(struct tn_stream_player *player, struct tn_stream_block *block,
                       struct tn_stop *stop_out)
{
    const struct tn_stream_lane *lane = &player->lanes[block->lane];
    if (player->waits_before_free) {
        player->host_wait_count++;
        tarn_backend_result result = tn_device_work_wait(player->work, lane->stream);
        if (result.status != TARN_STATUS_OK)
            return stop_by_work(result, "waiting for a stream", stop_out);
    }
    tarn_status status =
        knows_streams(player)
            ? player->allocator->free_in_thread(lane->opened.state, block->address,
                                                block->size_bytes)
            : player->allocator->free(player->state, block->address, block->size_bytes);
    if (status != TARN_STATUS_OK) return stop_by_allocator(player, block->lane, status, stop_out);
    block->address = NULL;
    return true;
}

static bool fill_block(struct tn_stream_player *player, struct tn_stream_block *block,
                       struct tn_stop *stop_out)
{
    block->pattern = (unsigned char)(1 + player->turn_count++ % 251);
    tarn_backend_result result =
        tn_device_work_fill(player->work, player->lanes[block->lane].stream, block->address,
                            block->size_bytes, block->pattern);
    return result.status == TARN_STATUS_OK || stop_by_work(result, "filling a block", stop_out);
}

static bool alloc_block(struct tn_stream_player *player, struct tn_stream_block *block,
                        size_t size_bytes, struct tn_stop *stop_out)
{
    void *address = NULL;
    tarn_status status = knows_streams(player)
                             ? player->allocator->alloc_in_thread(
                                   player->lanes[block->lane].opened.state, size_bytes, &address)
                             : player->allocator->alloc(player->state, size_bytes, &address);
    if (status != TARN_STATUS_OK) return stop_by_allocator(player, block->lane, status, stop_out);
    block->address = address;
    block->size_bytes = size_bytes;
    return fill_block(player, block, stop_out);
}

static void hand_on(const struct tn_stream_player *player, struct tn_stream_block *block)
{
    if (player->workload->hands_on)
        block->lane = (block->lane + 1) % player->workload->stream_count;
}

/* --- plays ----------------------------------------------------------------------------------------- */

typedef bool (*turn_function)(struct tn_stream_player *player, const struct tn_operation *turn,
                              struct tn_stop *stop_out);

static bool take_turn(struct tn_stream_player *player, const struct tn_operation *turn,
                      struct tn_stop *stop_out)
{
    struct tn_stream_block *block = &player->blocks[turn[0].slot];
    if (!free_block(player, block, stop_out)) return false;
    hand_on(player, block);
    return alloc_block(player, block, turn[1].size_bytes, stop_out);
}

static bool take_turn_of_work(struct tn_stream_player *player, const struct tn_operation *turn,
                              struct tn_stop *stop_out)
{
    struct tn_stream_block *block = &player->blocks[turn[0].slot];
    hand_on(player, block);
    return fill_block(player, block, stop_out);
}

static bool play(struct tn_stream_player *player, size_t count, turn_function take,
                 struct tn_stream_play *play_inout, struct tn_stop *stop_out)
{
    const struct tn_operation *operations = player->workload->body.items;
    for (size_t first = 0; first < count;) {
        uint64_t start_ns = tn_clock_now_ns();
        size_t end =
            first + 2 * TN_STREAM_TURNS_MAX < count ? first + 2 * TN_STREAM_TURNS_MAX : count;
        for (; first < end; first += 2) {
            stop_out->index = first;
            if (!take(player, &operations[first], stop_out)) return false;
        }
        uint64_t submitted_ns = tn_clock_now_ns();
        if (!wait_for_all(player, stop_out)) return false;
        play_inout->host_ns += (double)(submitted_ns - start_ns);
        play_inout->total_ns += (double)(tn_clock_now_ns() - start_ns);
    }
    return true;
}

bool tn_stream_player_play(struct tn_stream_player *player, size_t count,
                           struct tn_stream_play *play_inout, struct tn_stop *stop_out)
{
    return play(player, count, take_turn, play_inout, stop_out);
}

bool tn_stream_player_play_work(struct tn_stream_player *player, size_t count,
                                struct tn_stream_play *play_inout, struct tn_stop *stop_out)
{
    return play(player, count, take_turn_of_work, play_inout, stop_out);
}

/* --- a checked play -------------------------------------------------------------------------------- */

/* What is copied aside, in memory of the device, where a copy is not waited for. */
struct aside {
    void *device_bytes; /* SAMPLES_BYTES for each turn */
    unsigned char *host_bytes;
    size_t sample_bytes[TN_STREAM_TURNS_MAX];
    unsigned char patterns[TN_STREAM_TURNS_MAX];
    size_t count;
};

static bool copy_part(struct tn_stream_player *player, const struct tn_stream_block *block,
                      void *target, size_t offset, size_t size_bytes, struct tn_stop *stop_out)
{
    tarn_backend_result result =
        tn_device_work_copy(player->work, player->lanes[block->lane].stream, target,
                            block->address + offset, size_bytes);
    return result.status == TARN_STATUS_OK || stop_by_work(result, "copying a block", stop_out);
}

static bool set_aside(struct tn_stream_player *player, const struct tn_stream_block *block,
                      struct aside *aside, struct tn_stop *stop_out)
{
    unsigned char *target = (unsigned char *)aside->device_bytes + aside->count * SAMPLES_BYTES;
    size_t size_bytes = block->size_bytes;
    aside->patterns[aside->count] = block->pattern;
    aside->sample_bytes[aside->count] = size_bytes < SAMPLES_BYTES ? size_bytes : SAMPLES_BYTES;
    aside->count++;
    if (size_bytes <= SAMPLES_BYTES)
        return copy_part(player, block, target, 0, size_bytes, stop_out);
    return copy_part(player, block, target, 0, SAMPLE_BYTES, stop_out) &&
           copy_part(player, block, target + SAMPLE_BYTES, size_bytes - SAMPLE_BYTES, SAMPLE_BYTES,
                     stop_out);
}

static bool compare_sample(const struct aside *aside, size_t index, struct tn_stop *stop_out)
{
    const unsigned char *bytes = aside->host_bytes + index * SAMPLES_BYTES;
    for (size_t i = 0; i < aside->sample_bytes[index]; i++) {
        if (bytes[i] == aside->patterns[index]) continue;
        stop_out->status = TARN_STATUS_OK;
        tn_reason_set(&stop_out->reason,
                      "the block that it frees was filled with %u and has %u in it: its memory was "
                      "given to another stream too early, or twice",
                      aside->patterns[index], bytes[i]);
        return false;
    }
    return true;
}

/* Of the turns from the operation `first` on. */
static bool compare(struct tn_stream_player *player, struct aside *aside, size_t first,
                    struct tn_stop *stop_out)
{
    if (!wait_for_all(player, stop_out)) return false;
    tarn_backend_result result =
        tn_device_work_read(player->work, player->lanes[0].stream, aside->device_bytes,
                            aside->count * SAMPLES_BYTES, aside->host_bytes);
    if (result.status != TARN_STATUS_OK)
        return stop_by_work(result, "reading what was copied", stop_out);
    for (size_t i = 0; i < aside->count; i++) {
        stop_out->index = first + 2 * i;
        if (!compare_sample(aside, i, stop_out)) return false;
    }
    aside->count = 0;
    return true;
}

static bool play_aside(struct tn_stream_player *player, size_t count, struct aside *aside,
                       struct tn_stop *stop_out)
{
    const struct tn_operation *operations = player->workload->body.items;
    for (size_t i = 0; i < count; i += 2) {
        stop_out->index = i;
        if (!set_aside(player, &player->blocks[operations[i].slot], aside, stop_out) ||
            !take_turn(player, &operations[i], stop_out))
            return false;
        bool is_full = aside->count == TN_STREAM_TURNS_MAX || i + 2 >= count;
        if (is_full && !compare(player, aside, i + 2 - 2 * aside->count, stop_out)) return false;
    }
    return true;
}

bool tn_stream_player_play_checked(struct tn_stream_player *player, size_t count,
                                   struct tn_stop *stop_out)
{
    struct aside aside = { .count = 0 };
    const tarn_backend *backend = &player->work->backend;
    size_t all_bytes = (size_t)TN_STREAM_TURNS_MAX * SAMPLES_BYTES;
    stop_out->index = 0;
    tarn_backend_result result =
        backend->operations->acquire(backend->state, all_bytes, &aside.device_bytes);
    if (result.status != TARN_STATUS_OK)
        return stop_by_work(result, "memory to copy blocks to", stop_out);
    aside.host_bytes = calloc(1, all_bytes);
    bool is_ok =
        aside.host_bytes
            ? play_aside(player, count, &aside, stop_out)
            : stop_by_work((tarn_backend_result){ .status = TARN_STATUS_OUT_OF_HOST_MEMORY },
                           "memory to compare blocks in", stop_out);
    struct tn_stop ignored;
    wait_for_all(player, &ignored);
    backend->operations->release(backend->state, aside.device_bytes, all_bytes);
    free(aside.host_bytes);
    return is_ok;
}

/* --- life ------------------------------------------------------------------------------------------ */

static bool open_lane(struct tn_stream_player *player, struct tn_stream_lane *lane,
                      struct tn_stop *stop_out)
{
    tarn_backend_result result = tn_device_work_stream_create(player->work, &lane->stream);
    if (result.status != TARN_STATUS_OK) return stop_by_work(result, "no stream", stop_out);
    if (!knows_streams(player)) return true;
    lane->opened.stream = lane->stream;
    stop_out->status =
        player->allocator->open_thread(player->state, &lane->opened, &stop_out->reason);
    lane->is_open = stop_out->status == TARN_STATUS_OK;
    return lane->is_open;
}

static bool play_setup(struct tn_stream_player *player, struct tn_stop *stop_out)
{
    const struct tn_workload *workload = player->workload;
    for (size_t i = 0; i < workload->setup.count; i++) {
        struct tn_stream_block *block = &player->blocks[workload->setup.items[i].slot];
        block->lane = i % workload->stream_count;
        stop_out->index = i;
        if (!alloc_block(player, block, workload->setup.items[i].size_bytes, stop_out))
            return false;
    }
    return true;
}

static bool open_all(struct tn_stream_player *player, const struct tn_allocator_settings *settings,
                     struct tn_stop *stop_out)
{
    stop_out->index = 0;
    stop_out->status = player->allocator->open(settings, &player->state, &stop_out->reason);
    player->is_open = stop_out->status == TARN_STATUS_OK;
    if (!player->is_open) return false;
    for (size_t i = 0; i < player->workload->stream_count; i++)
        if (!open_lane(player, &player->lanes[i], stop_out)) return false;
    return true;
}

static void close_all(struct tn_stream_player *player)
{
    size_t lane_count = player->lanes ? player->workload->stream_count : 0;
    for (size_t i = 0; i < lane_count; i++)
        if (player->lanes[i].stream) tn_device_work_wait(player->work, player->lanes[i].stream);
    for (size_t i = 0; i < lane_count; i++)
        if (player->lanes[i].is_open)
            player->allocator->close_thread(player->lanes[i].opened.state);
    if (player->is_open) player->allocator->close(player->state);
    for (size_t i = 0; i < lane_count; i++)
        if (player->lanes[i].stream)
            tn_device_work_stream_destroy(player->work, player->lanes[i].stream);
    free(player->lanes);
    free(player->blocks);
}

static bool free_all(struct tn_stream_player *player, struct tn_reason *reason_out)
{
    bool is_ok = true;
    for (size_t slot = 0; slot < player->workload->slot_count; slot++) {
        struct tn_stop stop;
        if (!player->blocks[slot].address || free_block(player, &player->blocks[slot], &stop))
            continue;
        if (is_ok) *reason_out = stop.reason;
        is_ok = false;
    }
    return is_ok;
}

bool tn_stream_player_fini(struct tn_stream_player *player, struct tn_reason *reason_out)
{
    bool is_ok = free_all(player, reason_out);
    close_all(player);
    return is_ok;
}

tarn_status tn_stream_player_init(struct tn_stream_player *player,
                                  const struct tn_allocator *allocator,
                                  const struct tn_allocator_settings *settings,
                                  struct tn_device_work *work, const struct tn_workload *workload,
                                  struct tn_stop *stop_out)
{
    *player = (struct tn_stream_player){
        .workload = workload,
        .work = work,
        .allocator = allocator,
        .lanes = calloc(workload->stream_count, sizeof player->lanes[0]),
        .blocks = calloc(workload->slot_count, sizeof player->blocks[0]),
        .waits_before_free = tn_free_needs_wait(allocator->free_order, workload->stream_count),
    };
    if (!player->lanes || !player->blocks) {
        stop_by_work((tarn_backend_result){ .status = TARN_STATUS_OUT_OF_HOST_MEMORY },
                     "the streams and their blocks", stop_out);
        close_all(player);
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    if (open_all(player, settings, stop_out) && play_setup(player, stop_out)) return TARN_STATUS_OK;
    struct tn_reason ignored;
    tn_stream_player_fini(player, &ignored);
    return stop_out->status;
}
