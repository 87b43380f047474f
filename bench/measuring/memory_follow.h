/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * memory_follow: plays operations one by one, and notes after each how many bytes are live and held.
 *
 * The allocator is asked how much it holds, which may be a call to the vendor: after every event, or, in a
 * long list, after every few events. Nothing of this is timed.
 */
#ifndef TN_MEMORY_FOLLOW_H
#define TN_MEMORY_FOLLOW_H

#include "../playing/player.h"
#include "memory_log.h"

struct tn_memory_follow {
    struct tn_memory_log *log;
    struct tn_verifier *verifier; /* NULL: addresses are not checked */
    size_t event_count;           /* that were played */
    size_t stride;                /* events from one question to the next */
    size_t live_bytes;
    size_t live_bytes_max; /* so far */
    double
        held_by_peak_max; /* the most bytes held by live_bytes_max at a time, of those that count; 0: none did */
};

/* A moment counts once so many bytes have been live. Before, a pool's first piece is most of what it holds. */
#define TN_MEMORY_WARM_BYTES ((size_t)32 << 20)

/* For at most event_count_max events. The caller owns the log. False: no host memory. */
bool tn_memory_follow_init(struct tn_memory_follow *follow, size_t event_count_max,
                           struct tn_verifier *verifier);

/* Plays one part of the list after the other. Stops as players do. */
bool tn_memory_follow_play(struct tn_memory_follow *follow, struct tn_player *player,
                           const struct tn_operation *operations, size_t count,
                           struct tn_stop *stop_out);

#endif
