/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stream_player: an allocator at work for several streams, on which its blocks are filled.
 *
 * A turn is a free and an allocation. It frees the block of its slot, on the stream that filled it, and
 * allocates the next block, which it fills at once, on the same stream or the next one. The thread waits only
 * as the allocator requires: if the allocator knows no streams and there are several, the thread waits for
 * the stream before each free, as a program would.
 *
 * In a checked play the bytes of every block are copied aside before its free, in the order of its stream,
 * and compared when all streams are done. A block that another stream got too early has that stream's bytes.
 *
 * Threads: one at a time.
 */
#ifndef TN_STREAM_PLAYER_H
#define TN_STREAM_PLAYER_H

#include "device_work.h"
#include "player.h"

/* Turns that are submitted before the thread waits for the streams, whose queues are limited. */
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
    uint64_t turn_count;        /* so far; a block's pattern comes from it */
    struct tn_samples *samples; /* where a play of single calls notes them */
};

/* How long a play took. */
struct tn_stream_play {
    double host_ns;  /* of the thread that submits */
    double total_ns; /* until the streams had done all work */
};

/* Opens the allocator, with memory from the settings' backend and streams of the work's, and plays the setup.
 * On failure nothing is left open. */
tarn_status tn_stream_player_init(struct tn_stream_player *player,
                                  const struct tn_allocator *allocator,
                                  const struct tn_allocator_settings *settings,
                                  struct tn_device_work *work, const struct tn_workload *workload,
                                  struct tn_stop *stop_out);

/* Frees all blocks. Continues after a failed free, and reports the first. */
bool tn_stream_player_fini(struct tn_stream_player *player, struct tn_reason *reason_out);

/* Plays the first `count` operations of the body, and adds its times to those of the play so far. */
bool tn_stream_player_play(struct tn_stream_player *player, size_t count,
                           struct tn_stream_play *play_inout, struct tn_stop *stop_out);

/* The work of such a play without the allocator: each slot keeps its block, which is filled on the same
 * streams. */
bool tn_stream_player_play_work(struct tn_stream_player *player, size_t count,
                                struct tn_stream_play *play_inout, struct tn_stop *stop_out);

/* Adds the duration of every call to `samples`, whose arrays have room for `count` / 2 more each. Durations
 * contain neither waits for a stream before a free nor the fills. */
bool tn_stream_player_play_timed(struct tn_stream_player *player, size_t count,
                                 struct tn_samples *samples, struct tn_stop *stop_out);

/* Plays and verifies the contents of every block. */
bool tn_stream_player_play_checked(struct tn_stream_player *player, size_t count,
                                   struct tn_stop *stop_out);

#endif
