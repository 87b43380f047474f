/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stream_player: an allocator at work for several streams, on which its blocks are filled.
 *
 * A turn is a free and an allocation: of the block that its slot has, on the stream that filled it; and of the next
 * one, which is filled at once, on the same stream or the one after it. Nothing waits but what the
 * allocator needs: one that knows no streams is used as its users do, who wait for the stream before a free,
 * unless there is but one.
 *
 * Checked, every block is looked at before its free: in the order of its stream its bytes are copied aside, and
 * compared when all streams are done. A block that another stream was given too early has that stream's bytes.
 *
 * Threads: one at a time.
 */
#ifndef TN_STREAM_PLAYER_H
#define TN_STREAM_PLAYER_H

#include "device_work.h"
#include "player.h"

/* So many turns are submitted before somebody waits for the streams, whose queues are not endless. */
#define TN_STREAM_TURNS_MAX 256

struct tn_stream_lane;
struct tn_stream_block;

struct tn_stream_player {
    const struct tn_workload *workload;
    struct tn_device_work *work;
    const struct tn_allocator *allocator;
    void *state; /* the allocator's, when is_open */
    bool is_open;
    struct tn_stream_lane *lanes;
    struct tn_stream_block *blocks; /* one for each slot */
    bool waits_before_free;
    uint64_t host_wait_count;   /* for a stream, before frees */
    uint64_t turn_count;        /* so far; what a block is filled with comes from it */
    struct tn_samples *samples; /* where a play of single calls notes them */
};

/* How long a play took. */
struct tn_stream_play {
    double host_ns;  /* of the thread that submits */
    double total_ns; /* until the streams had done it all */
};

/* Opens the allocator, with memory from the settings' backend and streams of the work's, and plays the setup.
 * On failure nothing is left open. */
tarn_status tn_stream_player_init(struct tn_stream_player *player,
                                  const struct tn_allocator *allocator,
                                  const struct tn_allocator_settings *settings,
                                  struct tn_device_work *work, const struct tn_workload *workload,
                                  struct tn_stop *stop_out);

/* Frees all blocks; a free that fails is passed over, and the first one reported. */
bool tn_stream_player_fini(struct tn_stream_player *player, struct tn_reason *reason_out);

/* The first so many operations of the body, added to what the play took before. */
bool tn_stream_player_play(struct tn_stream_player *player, size_t count,
                           struct tn_stream_play *play_inout, struct tn_stop *stop_out);

/* The same without the allocator: each slot keeps its block, which is filled on the same streams. */
bool tn_stream_player_play_work(struct tn_stream_player *player, size_t count,
                                struct tn_stream_play *play_inout, struct tn_stop *stop_out);

/* Adds the duration of every call to `samples`, whose arrays have room for `count` / 2 more each. What the thread waits
 * for a stream before a free is not in it, and neither is the work. */
bool tn_stream_player_play_timed(struct tn_stream_player *player, size_t count,
                                 struct tn_samples *samples, struct tn_stop *stop_out);

/* The contents of every block are verified. */
bool tn_stream_player_play_checked(struct tn_stream_player *player, size_t count,
                                   struct tn_stop *stop_out);

#endif
