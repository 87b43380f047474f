/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory_follow: plays operations one by one, and notes how many bytes are live and held. */
#include "memory_follow.h"

enum {
    QUESTION_COUNT_MAX = 100000
};

bool tn_memory_follow_init(struct tn_memory_follow *follow, size_t event_count_max,
                           struct tn_verifier *verifier)
{
    *follow = (struct tn_memory_follow){
        .log = tn_memory_log_create(event_count_max),
        .verifier = verifier,
        .stride = event_count_max / QUESTION_COUNT_MAX + 1,
    };
    return follow->log != NULL;
}

static bool play_one(struct tn_memory_follow *follow, struct tn_player *player,
                     const struct tn_operation *operation, struct tn_stop *stop_out)
{
    size_t freed_bytes = operation->is_alloc ? 0 : player->blocks[operation->slot].size_bytes;
    bool is_played = follow->verifier
                         ? tn_player_play_verified(player, operation, 1, follow->verifier,
                                                   follow->event_count, stop_out)
                         : tn_player_play(player, operation, 1, stop_out);
    if (is_played) follow->live_bytes += operation->size_bytes - freed_bytes;
    return is_played;
}

static void note(struct tn_memory_follow *follow, const struct tn_player *player)
{
    struct tn_allocator_usage usage = { .footprint_bytes = 0 };
    player->allocator->get_usage(player->state, &usage);
    if (follow->live_bytes > follow->live_bytes_max) follow->live_bytes_max = follow->live_bytes;
    if (follow->live_bytes_max >= TN_MEMORY_WARM_BYTES) {
        double ratio = (double)usage.footprint_bytes / (double)follow->live_bytes_max;
        if (ratio > follow->held_by_peak_max) follow->held_by_peak_max = ratio;
    }
    tn_memory_log_add(
        follow->log,
        (struct tn_memory_point){ follow->event_count, follow->live_bytes, usage.footprint_bytes });
}

bool tn_memory_follow_play(struct tn_memory_follow *follow, struct tn_player *player,
                           const struct tn_operation *operations, size_t count,
                           struct tn_stop *stop_out)
{
    if (follow->event_count == 0) note(follow, player);
    for (size_t i = 0; i < count; i++) {
        if (!play_one(follow, player, &operations[i], stop_out)) {
            stop_out->index = i;
            return false;
        }
        follow->event_count++;
        if (follow->event_count % follow->stride == 0 || i + 1 == count) note(follow, player);
    }
    return true;
}
