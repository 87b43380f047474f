/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stream_player: an allocator at work for several streams, on which its blocks are filled. */
#include "stream_player.h"

#include <stdlib.h>

#include "../common/clock.h"
#include "contents.h"

/* A stream, and the allocator's state for it. */
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

static bool wait_before_free(struct tn_stream_player *player, const struct tn_stream_block *block,
                             struct tn_stop *stop_out)
{
    if (!player->waits_before_free) return true;
    player->host_wait_count++;
    tarn_backend_result result =
        tn_device_work_wait(player->work, player->lanes[block->lane].stream);
    return result.status == TARN_STATUS_OK ||
           stop_by_work(result, "waiting for a stream", stop_out);
}

static tarn_status call_free(struct tn_stream_player *player, const struct tn_stream_block *block)
{
    return knows_streams(player)
               ? player->allocator->free_in_thread(player->lanes[block->lane].opened.state,
                                                   block->address, block->size_bytes)
               : player->allocator->free(player->state, block->address, block->size_bytes);
}

static bool note_free(struct tn_stream_player *player, struct tn_stream_block *block,
                      tarn_status status, struct tn_stop *stop_out)
{
    if (status != TARN_STATUS_OK) return stop_by_allocator(player, block->lane, status, stop_out);
    block->address = NULL;
    return true;
}

static bool free_block(struct tn_stream_player *player, struct tn_stream_block *block,
                       struct tn_stop *stop_out)
{
    return wait_before_free(player, block, stop_out) &&
           note_free(player, block, call_free(player, block), stop_out);
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

static tarn_status call_alloc(struct tn_stream_player *player, const struct tn_stream_block *block,
                              size_t size_bytes, void **address_out)
{
    return knows_streams(player)
               ? player->allocator->alloc_in_thread(player->lanes[block->lane].opened.state,
                                                    size_bytes, address_out)
               : player->allocator->alloc(player->state, size_bytes, address_out);
}

/* Notes the new block, and fills it. */
static bool note_alloc(struct tn_stream_player *player, struct tn_stream_block *block,
                       tarn_status status, void *address, size_t size_bytes,
                       struct tn_stop *stop_out)
{
    if (status != TARN_STATUS_OK) return stop_by_allocator(player, block->lane, status, stop_out);
    block->address = address;
    block->size_bytes = size_bytes;
    return fill_block(player, block, stop_out);
}

static bool alloc_block(struct tn_stream_player *player, struct tn_stream_block *block,
                        size_t size_bytes, struct tn_stop *stop_out)
{
    void *address = NULL;
    tarn_status status = call_alloc(player, block, size_bytes, &address);
    return note_alloc(player, block, status, address, size_bytes, stop_out);
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

/* Reads the clock before and after each call; no other work lies between the two readings. */
static bool take_turn_timed(struct tn_stream_player *player, const struct tn_operation *turn,
                            struct tn_stop *stop_out)
{
    struct tn_samples *samples = player->samples;
    struct tn_stream_block *block = &player->blocks[turn[0].slot];
    if (!wait_before_free(player, block, stop_out)) return false;
    uint64_t start_ns = tn_clock_now_ns();
    tarn_status status = call_free(player, block);
    samples->free_ns[samples->free_count++] = tn_clock_now_ns() - start_ns;
    if (!note_free(player, block, status, stop_out)) return false;

    hand_on(player, block);
    void *address = NULL;
    size_t size_bytes = turn[1].size_bytes;
    start_ns = tn_clock_now_ns();
    status = call_alloc(player, block, size_bytes, &address);
    samples->alloc_ns[samples->alloc_count++] = tn_clock_now_ns() - start_ns;
    return note_alloc(player, block, status, address, size_bytes, stop_out);
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

bool tn_stream_player_play_timed(struct tn_stream_player *player, size_t count,
                                 struct tn_samples *samples, struct tn_stop *stop_out)
{
    struct tn_stream_play ignored = { 0.0, 0.0 };
    player->samples = samples;
    return play(player, count, take_turn_timed, &ignored, stop_out);
}

/* --- a checked play -------------------------------------------------------------------------------- */

static bool stop_by_contents(const struct tn_contents_finding *finding, struct tn_stop *stop_out)
{
    stop_out->index = finding->block.free_place;
    stop_out->status = TARN_STATUS_OK;
    tn_reason_set(
        &stop_out->reason, "%.400s%s", finding->reason.text,
        finding->has_changed ? ": its memory was given to another stream too early, or twice" : "");
    return false;
}

/* Whether blocks that were freed still had their contents; a change may be reported some turns later. */
static bool look_at(struct tn_stream_player *player, const struct tn_stream_block *block,
                    size_t turn, struct tn_contents *contents, struct tn_stop *stop_out)
{
    const struct tn_contents_block looked_at = { .address = block->address,
                                                 .size_bytes = block->size_bytes,
                                                 .pattern = block->pattern,
                                                 .stream = player->lanes[block->lane].stream,
                                                 .free_place = turn };
    struct tn_contents_finding finding;
    return tn_contents_look(contents, &looked_at, &finding) || stop_by_contents(&finding, stop_out);
}

static bool play_looking(struct tn_stream_player *player, size_t count,
                         struct tn_contents *contents, struct tn_stop *stop_out)
{
    const struct tn_operation *operations = player->workload->body.items;
    for (size_t i = 0; i < count; i += 2) {
        stop_out->index = i;
        if (!look_at(player, &player->blocks[operations[i].slot], i, contents, stop_out) ||
            !take_turn(player, &operations[i], stop_out))
            return false;
    }
    struct tn_contents_finding finding;
    return tn_contents_finish(contents, &finding) || stop_by_contents(&finding, stop_out);
}

bool tn_stream_player_play_checked(struct tn_stream_player *player, size_t count,
                                   struct tn_stop *stop_out)
{
    const struct tn_touch touch = { player->work, SIZE_MAX };
    stop_out->index = 0;
    struct tn_contents *contents = tn_contents_create(&touch, &stop_out->reason);
    if (!contents) {
        stop_out->status = TARN_STATUS_OUT_OF_MEMORY;
        return false;
    }
    bool is_ok = play_looking(player, count, contents, stop_out);
    tn_contents_destroy(contents);
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
    stop_out->status = TARN_STATUS_NOT_SUPPORTED;
    if (!tn_allocator_can_be_filled(player->allocator, &stop_out->reason)) return false;
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
