/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * memory_follow: plays operations one by one, and notes after each how many bytes are live and held.
 *
 * What is held the allocator is asked for, which may be a call of the vendor's: after every event, or of a
 * long list after every so many. Nothing of this is timed.
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
};

/* For up to so many events; the log is the caller's. False: no host memory. */
bool tn_memory_follow_init(struct tn_memory_follow *follow, size_t event_count_max,
                           struct tn_verifier *verifier);

/* May be called again and again, for one part of the list after the other. Stops as players do. */
bool tn_memory_follow_play(struct tn_memory_follow *follow, struct tn_player *player,
                           const struct tn_operation *operations, size_t count,
                           struct tn_stop *stop_out);

#endif
