/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* player: an allocator at work on the operations of a workload. */
#include "player.h"

#include <stdlib.h>

#include "clock.h"

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

void tn_player_fini(struct tn_player *player)
{
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

static bool stop_at(struct tn_player *player, size_t index, tarn_status status,
                    struct tn_stop *stop_out)
{
    stop_out->index = index;
    stop_out->status = status;
    struct tn_reason why;
    player->allocator->explain(player->state, status, &why);
    tn_reason_set(&stop_out->reason, "%s: %s", tarn_status_name(status), why.text);
    return false;
}

bool tn_player_play(struct tn_player *player, const struct tn_operation *operations, size_t count,
                    struct tn_stop *stop_out)
{
    for (size_t i = 0; i < count; i++) {
        tarn_status status = play_one(player, &operations[i]);
        if (status != TARN_STATUS_OK) return stop_at(player, i, status, stop_out);
    }
    return true;
}

bool tn_player_play_timed(struct tn_player *player, const struct tn_operation *operations,
                          size_t count, struct tn_samples *samples, struct tn_stop *stop_out)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t start_ns = tn_clock_now_ns();
        tarn_status status = play_one(player, &operations[i]);
        uint64_t duration_ns = tn_clock_now_ns() - start_ns;
        if (status != TARN_STATUS_OK) return stop_at(player, i, status, stop_out);
        if (operations[i].is_alloc)
            samples->alloc_ns[samples->alloc_count++] = duration_ns;
        else
            samples->free_ns[samples->free_count++] = duration_ns;
    }
    return true;
}

bool tn_player_play_verified(struct tn_player *player, const struct tn_operation *operations,
                             size_t count, struct tn_verifier *verifier, size_t first_place,
                             struct tn_stop *stop_out)
{
    for (size_t i = 0; i < count; i++) {
        const struct tn_operation *operation = &operations[i];
        if (!operation->is_alloc) tn_verifier_remove(verifier, operation->slot);
        tarn_status status = play_one(player, operation);
        if (status != TARN_STATUS_OK) return stop_at(player, i, status, stop_out);
        if (!operation->is_alloc) continue;
        const struct tn_block *block = &player->blocks[operation->slot];
        if (!tn_verifier_add(verifier, operation->slot, block->address, block->size_bytes,
                             first_place + i, &stop_out->reason)) {
            stop_out->index = i;
            stop_out->status = TARN_STATUS_OK;
            return false;
        }
    }
    return true;
}

bool tn_player_free_all(struct tn_player *player, struct tn_reason *reason_out)
{
    bool is_ok = true;
    for (size_t slot = 0; slot < player->slot_count; slot++) {
        struct tn_block *block = &player->blocks[slot];
        if (!block->address) continue;
        tarn_status status =
            player->allocator->free(player->state, block->address, block->size_bytes);
        if (status != TARN_STATUS_OK && is_ok) {
            player->allocator->explain(player->state, status, reason_out);
            is_ok = false;
        }
        block->address = NULL;
    }
    return is_ok;
}
