/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * player: an allocator at work on the operations of a workload, in three ways: as fast as possible,
 * with a clock around every call, and with a check of every address.
 *
 * Each way stops at the first call that fails, and, within some operations, when the user wants to end. A
 * block stays noted in its slot until its free has succeeded, so the live blocks are always known.
 *
 * If memory is touched, all three ways write into every block after its allocation, and the third checks the
 * contents before the free. All blocks are then for one stream, on which that work runs.
 *
 * Threads: one at a time.
 */
#ifndef TN_PLAYER_H
#define TN_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../allocators/allocator.h"
#include "../workloads/workload.h"
#include "contents.h"
#include "touch.h"
#include "verifier.h"

struct tn_block {
    void *address; /* NULL: no block, or one of zero bytes */
    size_t size_bytes;
};

struct tn_player {
    const struct tn_allocator *allocator;
    void *state;             /* the allocator's */
    struct tn_block *blocks; /* one for each slot */
    size_t slot_count;
    const struct tn_touch *touch;      /* NULL: memory is not touched */
    struct tn_contents *contents;      /* checks them, if memory is touched */
    struct tn_allocator_thread thread; /* when it has a stream: as which the calls are made */
};

/* What stopped a player. */
struct tn_stop {
    size_t index;        /* of the operation, in the array that was played */
    tarn_status status;  /* the allocator's; OK if the stop has another cause */
    bool is_interrupted; /* no failure: the user wants to end */
    struct tn_reason reason;
};

/* Durations of single calls. */
struct tn_samples {
    uint64_t *alloc_ns;
    uint64_t *free_ns;
    size_t alloc_count;
    size_t free_count;
};

/* Opens the allocator. On failure nothing is left open, and the reason is written. */
tarn_status tn_player_init(struct tn_player *player, const struct tn_allocator *allocator,
                           const struct tn_allocator_settings *settings, size_t slot_count,
                           struct tn_reason *reason_out);
void tn_player_fini(struct tn_player *player);

/* From now on memory is touched, by work on the stream, or by the processor if the stream is NULL. */
tarn_status tn_player_begin_touch(struct tn_player *player, const struct tn_touch *touch,
                                  tarn_stream stream, struct tn_reason *reason_out);

/* The allocator's usage so far. */
tarn_status tn_player_get_usage(struct tn_player *player, struct tn_allocator_usage *usage_out,
                                struct tn_reason *reason_out);

/* As fast as possible. */
bool tn_player_play(struct tn_player *player, const struct tn_operation *operations, size_t count,
                    struct tn_stop *stop_out);

/* Adds the duration of every call to `samples`, whose arrays have room for `count` more each. The
 * clock's own cost is inside every one. */
bool tn_player_play_timed(struct tn_player *player, const struct tn_operation *operations,
                          size_t count, struct tn_samples *samples, struct tn_stop *stop_out);

/* Reports every block to the verifier, and stops if it finds a fault. `first_place` is the place of the
 * first operation in the workload, for messages. On a device, a change of contents may be reported some
 * operations after the block's free, and at the end at the latest. */
bool tn_player_play_verified(struct tn_player *player, const struct tn_operation *operations,
                             size_t count, struct tn_verifier *verifier, size_t first_place,
                             struct tn_stop *stop_out);

/* Frees all live blocks. Continues after a failed free, and reports the first. */
bool tn_player_free_all(struct tn_player *player, struct tn_reason *reason_out);

#endif
