/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* player: an allocator at work on the operations of a workload. */
#include "player.h"

#include <stdlib.h>

#include "../common/clock.h"
#include "../common/interrupt.h"

tarn_status tn_player_init(struct tn_player *player, const struct tn_allocator *allocator,
                           const struct tn_allocator_settings *settings, size_t slot_count,
                           struct tn_reason *reason_out)
{
    *player = (struct tn_player){ .allocator = allocator, .slot_count = slot_count };
    player->blocks = calloc(slot_count, sizeof player->blocks[0]);
    if (!player->blocks) {
        tn_reason_set(reason_out, "there is not enough host memory for the live blocks");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    tarn_status status = allocator->open(settings, &player->state, reason_out);
    if (status != TARN_STATUS_OK) {
        free(player->blocks);
        player->blocks = NULL;
    }
    return status;
}

/* Opens a state for the player's stream, if it has one. */
static tarn_status open_thread(struct tn_player *player, struct tn_reason *reason_out)
{
    if (!player->thread.stream) return TARN_STATUS_OK;
    return player->allocator->open_thread(player->state, &player->thread, reason_out);
}

static void close_thread(struct tn_player *player)
{
    if (player->thread.state) player->allocator->close_thread(player->thread.state);
    player->thread.state = NULL;
}

tarn_status tn_player_begin_touch(struct tn_player *player, const struct tn_touch *touch,
                                  tarn_stream stream, struct tn_reason *reason_out)
{
    if (!tn_allocator_can_be_filled(player->allocator, reason_out))
        return TARN_STATUS_NOT_SUPPORTED;
    player->contents = tn_contents_create(touch, reason_out);
    if (!player->contents) return TARN_STATUS_OUT_OF_MEMORY;
    player->touch = touch;
    player->thread.stream = stream;
    return open_thread(player, reason_out);
}

/* Closes the thread's state first, since its counts are only known then. */
tarn_status tn_player_get_usage(struct tn_player *player, struct tn_allocator_usage *usage_out,
                                struct tn_reason *reason_out)
{
    close_thread(player);
    player->allocator->get_usage(player->state, usage_out);
    return open_thread(player, reason_out);
}

void tn_player_fini(struct tn_player *player)
{
    struct tn_reason ignored;
    if (player->thread.stream) tn_touch_wait(player->touch, player->thread.stream, &ignored);
    tn_contents_destroy(player->contents);
    close_thread(player);
    player->allocator->close(player->state);
    free(player->blocks);
    player->blocks = NULL;
}

static tarn_status play_one(struct tn_player *player, const struct tn_operation *operation)
{
    struct tn_block *block = &player->blocks[operation->slot];
    if (operation->is_alloc) {
        block->size_bytes = operation->size_bytes;
        return player->allocator->alloc(player->state, operation->size_bytes, &block->address);
    }
    tarn_status status = player->allocator->free(player->state, block->address, block->size_bytes);
    if (status == TARN_STATUS_OK) block->address = NULL;
    return status;
}

/* Plays one operation on the player's stream. */
static tarn_status play_one_on_stream(struct tn_player *player,
                                      const struct tn_operation *operation)
{
    const struct tn_allocator *allocator = player->allocator;
    void *state = player->thread.state;
    struct tn_block *block = &player->blocks[operation->slot];
    if (operation->is_alloc) {
        block->size_bytes = operation->size_bytes;
        return allocator->alloc_in_thread(state, operation->size_bytes, &block->address);
    }
    tarn_status status = allocator->free_in_thread(state, block->address, block->size_bytes);
    if (status == TARN_STATUS_OK) block->address = NULL;
    return status;
}

static bool stop_at(struct tn_player *player, size_t index, tarn_status status,
                    struct tn_stop *stop_out)
{
    *stop_out = (struct tn_stop){ .index = index, .status = status };
    struct tn_reason why;
    if (player->thread.state)
        player->allocator->explain_in_thread(player->thread.state, status, &why);
    else
        player->allocator->explain(player->state, status, &why);
    tn_reason_set(&stop_out->reason, "%s: %.400s", tarn_status_name(status), why.text);
    return false;
}

/* For a fault of the memory, or of the work on it; the caller has written the reason. */
static bool stop_for_memory(size_t index, struct tn_stop *stop_out)
{
    stop_out->index = index;
    stop_out->status = TARN_STATUS_OK;
    stop_out->is_interrupted = false;
    return false;
}

static bool stop_for_user(size_t index, struct tn_stop *stop_out)
{
    *stop_out = (struct tn_stop){ .index = index, .is_interrupted = true };
    tn_reason_set(&stop_out->reason, "interrupted");
    return false;
}

/* After so many operations the timed loop checks whether the user wants to end. */
enum {
    PART_COUNT = 1 << 16
};

static bool play_part(struct tn_player *player, const struct tn_operation *operations, size_t first,
                      size_t end, struct tn_stop *stop_out)
{
    for (size_t i = first; i < end; i++) {
        tarn_status status = play_one(player, &operations[i]);
        if (status != TARN_STATUS_OK) return stop_at(player, i, status, stop_out);
    }
    return true;
}

/* Writes into each block. Its pattern comes from its slot, which stays the same through all passes. */
static bool touch_block(struct tn_player *player, const struct tn_operation *operation,
                        size_t index, struct tn_stop *stop_out)
{
    const struct tn_block *block = &player->blocks[operation->slot];
    if (!operation->is_alloc || operation->size_bytes == 0 || !player->touch) return true;
    return tn_touch_write(player->touch, block->address, block->size_bytes, operation->slot,
                          player->thread.stream, &stop_out->reason) ||
           stop_for_memory(index, stop_out);
}

static tarn_status play_touched(struct tn_player *player, const struct tn_operation *operation)
{
    return player->thread.state ? play_one_on_stream(player, operation)
                                : play_one(player, operation);
}

static bool play_part_touched(struct tn_player *player, const struct tn_operation *operations,
                              size_t first, size_t end, struct tn_stop *stop_out)
{
    for (size_t i = first; i < end; i++) {
        tarn_status status = play_touched(player, &operations[i]);
        if (status != TARN_STATUS_OK) return stop_at(player, i, status, stop_out);
        if (!touch_block(player, &operations[i], i, stop_out)) return false;
    }
    return true;
}

bool tn_player_play(struct tn_player *player, const struct tn_operation *operations, size_t count,
                    struct tn_stop *stop_out)
{
    for (size_t first = 0; first < count; first += PART_COUNT) {
        size_t end = count - first < PART_COUNT ? count : first + PART_COUNT;
        bool is_ok = player->touch ? play_part_touched(player, operations, first, end, stop_out)
                                   : play_part(player, operations, first, end, stop_out);
        if (!is_ok) return false;
        if (tn_interrupt_is_wanted()) return stop_for_user(end, stop_out);
    }
    return true;
}

static bool is_time_to_look(size_t index)
{
    return index % 1024 == 0;
}

bool tn_player_play_timed(struct tn_player *player, const struct tn_operation *operations,
                          size_t count, struct tn_samples *samples, struct tn_stop *stop_out)
{
    for (size_t i = 0; i < count; i++) {
        if (is_time_to_look(i) && tn_interrupt_is_wanted()) return stop_for_user(i, stop_out);
        uint64_t start_ns = tn_clock_now_ns();
        tarn_status status = play_touched(player, &operations[i]);
        uint64_t duration_ns = tn_clock_now_ns() - start_ns;
        if (status != TARN_STATUS_OK) return stop_at(player, i, status, stop_out);
        if (operations[i].is_alloc)
            samples->alloc_ns[samples->alloc_count++] = duration_ns;
        else
            samples->free_ns[samples->free_count++] = duration_ns;
        if (!touch_block(player, &operations[i], i, stop_out)) return false;
    }
    return true;
}

static bool stop_for_contents(const struct tn_contents_finding *finding, struct tn_stop *stop_out)
{
    stop_out->reason = finding->reason;
    return stop_for_memory(finding->block.free_place, stop_out);
}

/* Whether the contents have survived until the free at this index. On a device, a later call may tell. */
static bool look_at_contents(struct tn_player *player, const struct tn_operation *operation,
                             size_t index, struct tn_stop *stop_out)
{
    const struct tn_block *block = &player->blocks[operation->slot];
    if (!player->touch || block->size_bytes == 0) return true;
    const struct tn_contents_block looked_at = { .address = block->address,
                                                 .size_bytes = block->size_bytes,
                                                 .pattern = tn_touch_pattern_of(operation->slot),
                                                 .stream = player->thread.stream,
                                                 .free_place = index };
    struct tn_contents_finding finding;
    return tn_contents_look(player->contents, &looked_at, &finding) ||
           stop_for_contents(&finding, stop_out);
}

static bool finish_contents(struct tn_player *player, struct tn_stop *stop_out)
{
    struct tn_contents_finding finding;
    return !player->touch || tn_contents_finish(player->contents, &finding) ||
           stop_for_contents(&finding, stop_out);
}

/* Before the free: from then on the addresses are not the program's. */
static bool leave_block(struct tn_player *player, const struct tn_operation *operation,
                        size_t index, struct tn_verifier *verifier, struct tn_stop *stop_out)
{
    if (operation->is_alloc) return true;
    if (!look_at_contents(player, operation, index, stop_out)) return false;
    tn_verifier_remove(verifier, operation->slot);
    return true;
}

bool tn_player_play_verified(struct tn_player *player, const struct tn_operation *operations,
                             size_t count, struct tn_verifier *verifier, size_t first_place,
                             struct tn_stop *stop_out)
{
    for (size_t i = 0; i < count; i++) {
        const struct tn_operation *operation = &operations[i];
        if (is_time_to_look(i) && tn_interrupt_is_wanted()) return stop_for_user(i, stop_out);
        if (!leave_block(player, operation, i, verifier, stop_out)) return false;
        tarn_status status = play_touched(player, operation);
        if (status != TARN_STATUS_OK) return stop_at(player, i, status, stop_out);
        if (!operation->is_alloc) continue;
        const struct tn_block *block = &player->blocks[operation->slot];
        if (!tn_verifier_add(verifier, operation->slot, block->address, block->size_bytes,
                             first_place + i, &stop_out->reason))
            return stop_for_memory(i, stop_out);
        if (!touch_block(player, operation, i, stop_out)) return false;
    }
    return finish_contents(player, stop_out);
}

static tarn_status free_block(struct tn_player *player, const struct tn_block *block)
{
    const struct tn_allocator *allocator = player->allocator;
    return player->thread.state
               ? allocator->free_in_thread(player->thread.state, block->address, block->size_bytes)
               : allocator->free(player->state, block->address, block->size_bytes);
}

bool tn_player_free_all(struct tn_player *player, struct tn_reason *reason_out)
{
    struct tn_stop stop;
    bool is_ok = true;
    for (size_t slot = 0; slot < player->slot_count; slot++) {
        struct tn_block *block = &player->blocks[slot];
        if (!block->address) continue;
        tarn_status status = free_block(player, block);
        if (status != TARN_STATUS_OK && is_ok) {
            is_ok = stop_at(player, 0, status, &stop);
            *reason_out = stop.reason;
        }
        block->address = NULL;
    }
    return is_ok;
}
