/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* faithful_player: what one thread of a faithful_team does in a play, and what the threads share. */
#ifndef TN_FAITHFUL_PLAYER_H
#define TN_FAITHFUL_PLAYER_H

#include <pthread.h>

#include "contents.h"
#include "faithful_team.h"
#include "gate.h"

/* If events wait for their time, the first one waits this long, so that all threads are awake by then. */
#define TN_FAITHFUL_HEAD_START_NS 2000000

struct tn_faithful_block {
    void *address; /* NULL: not live, or one of zero bytes */
    size_t size_bytes;
    uint32_t place;  /* of its allocation in the workload; as the next, where memory is touched */
    uint32_t stream; /* that it was allocated on */
};

/* Shared by all threads of a team. */
struct tn_faithful_stage {
    const struct tn_allocator *allocator;
    void *state;
    const struct tn_faithful_plan *plan; /* any of the workload: for what is the same in all */
    const tarn_backend *streams_from;
    tarn_stream *streams;
    size_t stream_count; /* that there are */
    struct tn_faithful_block *blocks;
    struct tn_gate *gates; /* one of each thread */
    pthread_mutex_t verifier_lock;
    const struct tn_faithful_play *play; /* the one under way */
    struct tn_contents *contents;        /* of a play that verifies them */
    size_t done_pass_count;              /* before it */
    uint64_t start_ns;                   /* of it */
    bool is_behind;                      /* allocations advance the clock of the late backend */
};

struct tn_faithful_member {
    struct tn_faithful_stage *stage; /* the team's */
    size_t number;                   /* of the thread, in the plan */
    void **lane_states; /* the allocator's, one for each stream that the thread names */
    size_t open_count;  /* of them */
    bool has_stopped;
    struct tn_faithful_stop stop; /* when it has */
    uint64_t *alloc_ns;           /* durations of clocked calls, as the next */
    uint64_t *free_ns;
    uint64_t *late_ns;
    size_t alloc_count; /* of these, and so on */
    size_t free_count;
    size_t late_count;
    uint64_t start_ns; /* of the last play, as the end */
    uint64_t end_ns;
};

/* Plays the thread's part of the play under way. */
void tn_faithful_member_play(struct tn_faithful_member *member);

/* Notes a failure of the allocator outside the plan's steps. */
void tn_faithful_member_stop(struct tn_faithful_member *member, tarn_status status);

/* Describes a block whose contents had changed or could not be checked. */
void tn_faithful_describe_contents(const struct tn_faithful_stage *stage,
                                   const struct tn_contents_finding *finding,
                                   struct tn_faithful_stop *stop_out);

#endif
