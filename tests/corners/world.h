/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * world: all that one random program works on: a device, its pools, streams, blocks and graphs.
 *
 * A block's users are the streams whose work the device must have done before anybody else may have the block. The
 * program keeps to the rules of docs/semantics.md: it orders each new user after the others, and frees after all of
 * them; but the pool may be told of users, which are noted then and need not be named again. So whatever the order
 * checker reports is the pool's fault.
 *
 *     pools.c       pools begin and end, with random options
 *     blocks.c      blocks are allocated, used, resized and freed
 *     streams.c     streams begin and end, hang and go on
 *     graphs.c      captures, launches, releases
 *     functions.c   what the pools call: on_out_of_memory, on_static_pool_created and _destroyed
 *     model.c       what must be served
 *     look.c        what must hold after every step
 */
#ifndef CORNERS_WORLD_H
#define CORNERS_WORLD_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "finding.h"
#include "harness/random.h"
#include "tarn/tarn.h"
#include "watched.h"

enum {
    POOLS_MAX = 4,
    STREAMS_MAX = 100,
    BLOCKS_MAX = 160,
    USERS_MAX = 4,
    GRAPHS_MAX = 6,
    LAUNCHES_MAX = 6,
    NUMBERS_MAX =
        10,         /* that captures of one pool have of its 30; while captured, a stream has two */
    PARTS_MAX = 96, /* pieces of memory that a graph works on */
    SPANS_MAX = 512, /* free memory of the captures of a pool */
    DEPTH_MAX = 3,   /* functions of the user's within each other */
    LABEL_COUNT = 4,
    NONE = -1
};

struct world;

/* Memory that a capture has, and that is not live. */
struct span {
    uintptr_t start, end;
    int graph;
    int stream; /* for whom it is free */
};

struct slot {
    struct world *world;
    int index;
    tarn_pool *pool; /* NULL: there is none */
    tarn_pool_options options;
    struct watched watched;
    int fallback;           /* index of the pool, or NONE */
    bool is_shared;         /* over managed memory */
    int under;              /* the block that a pool over the caller's memory lies in, or NONE */
    size_t limit_bytes;     /* 0: none */
    size_t step_bytes;      /* of a contiguous pool */
    size_t alignment_bytes; /* of the vendor's pieces */
    bool is_settled;        /* functions may use it */
    bool is_asking;         /* its on_out_of_memory runs */
    unsigned asked_count;
    size_t span_count;
    struct span spans[SPANS_MAX];
    size_t told_count; /* static pools that have been created and not destroyed */
    uint64_t told[PIECES_MAX];
};

struct block {
    char *address; /* NULL: there is none */
    size_t size_bytes;
    int slot;       /* whose memory it is */
    int asked_slot; /* which was asked for it: another one where it is the fallback */
    int graph;      /* whose memory it is, or NONE */
    int graph_stream;
    bool is_fixed; /* a pool lies in it, or it is in use just now */
    int label;
    bool may_lack_label; /* host memory failed in its allocation */
    int user_count;
    int users[USERS_MAX];
    int noted_count;
    int noted[USERS_MAX];
    bool
        has_noted_others; /* users that are no longer among these, and that nobody is ordered after */
};

struct stream {
    tarn_stream handle;
    bool is_there;
    int graph; /* that it is being captured for, or NONE */
};

struct work {
    uintptr_t address;
    size_t size_bytes;
};

/* A capture of one pool, and the graphs that use its memory. */
struct graph {
    bool is_there;
    bool is_under_way;
    bool has_other_work;     /* than launches used its memory */
    bool has_unknown_memory; /* what a batch that failed had taken, or the rest of a step */
    bool is_stale; /* memory that it works on has been freed elsewhere: no more launches */
    int slot;
    tarn_capture capture;
    tarn_stream lane; /* its launches come one after the other, in the order of this stream */
    int part_count;
    struct work parts[PARTS_MAX];
    int stream_count; /* that have been captured for it; each has a number of the pool until the release */
    int streams[NUMBERS_MAX];
    int launch_count;
    int launches[LAUNCHES_MAX]; /* streams on which one may still run */
};

struct world {
    uint64_t seed;
    struct random random;
    bool is_over_vendor;
    bool has_uses; /* pools are told of users */
    struct device device;
    tarn_backend inner;  /* of the device; closed with it */
    tarn_backend shared; /* of managed memory; no operations: there is none */
    size_t granule_bytes;
    size_t capacity_bytes;
    struct slot slots[POOLS_MAX];
    int slot_count;
    struct stream streams[STREAMS_MAX]; /* the first is the default stream */
    int stream_count;
    int ended_count;      /* streams since the host has waited for all */
    bool has_lost_memory; /* of streams whose end was not recorded, and that cannot be waited for */
    struct block blocks[BLOCKS_MAX];
    struct graph graphs[GRAPHS_MAX];

    /* Of the call of a pool that is under way. */
    int depth;             /* functions of the user's that run */
    int static_pool_depth; /* of those, functions that are told of static pools */
    bool is_quiet;         /* functions do nothing */
    int requested_slot;    /* of the allocation that is served */
    bool is_in_batch;
    bool can_leave; /* by longjmp */
    jmp_buf way_out;
    unsigned act_count; /* of functions since the call began */
    unsigned callback_count;
    unsigned unanswered_count; /* acts after which the pool has not been asked to try again */
    enum fault next_fault;     /* of the next call; see has_next_fault */
    unsigned next_fault_after; /* 0: none */
    unsigned next_host_fault_after;
    bool is_host_armed, has_host_failed;

    /* Labels that the program has pushed. They are not drawn, so that a seed draws what it drew without them. */
    unsigned label_turn;
    int label_depth;
    int labels[DEPTH_MAX + 2];
};

/* --- chance ------------------------------------------------------------------------------------- */

static inline uint64_t below(struct world *world, uint64_t bound)
{
    return random_below(&world->random, bound);
}

static inline bool one_in(struct world *world, uint64_t count)
{
    return below(world, count) == 0;
}

/* --- calls -------------------------------------------------------------------------------------- */

/* Around each call of a pool. Faults are those that were planned; nested calls belong to the outermost. */
void world_begin_call(struct world *world);
void world_end_call(struct world *world);

/* A function of the user's begins: no host memory fails any more in this call, since the program needs some, too. */
void world_enter_function(struct world *world);

/* The next call of a pool meets a fault, perhaps. */
void world_plan_fault(struct world *world);

/* Whether a call failed that was made to, of the vendor or for host memory, since the call of the pool began. */
bool world_met_fault(const struct world *world);

/* Calls between world_begin_call and world_end_call, and takes any status that a fault explains; another one than OK
 * and `also` is a finding. */
#define CALL(world, also, call) \
    world_call_ended((world), (also), (world_begin_call(world), (call)), #call)
tarn_status world_call_ended(struct world *world, tarn_status also, tarn_status status,
                             const char *call);

/* --- pools.c ------------------------------------------------------------------------------------ */

void pools_begin(struct world *world);
void pools_end(struct world *world);
void pool_replace(struct world *world);
static inline bool pool_has_mapped_steps(const struct slot *slot)
{
    return slot->options.contiguous && !slot->options.passes_through;
}
static inline bool pool_is_over(const struct slot *slot)
{
    return slot->under != NONE;
}
/* In whole chunks, outwards. */
static inline uintptr_t chunk_floor(const struct slot *slot, uintptr_t address)
{
    return slot->options.passes_through ? address
                                        : address & ~(uintptr_t)(slot->options.chunk_bytes - 1);
}
static inline uintptr_t chunk_ceiling(const struct slot *slot, uintptr_t address)
{
    return slot->options.passes_through
               ? address
               : chunk_floor(slot, address + slot->options.chunk_bytes - 1);
}

/* --- blocks.c ----------------------------------------------------------------------------------- */

void block_alloc(struct world *world);
void block_alloc_from(struct world *world, int slot, size_t size_bytes);
void block_alloc_batch(struct world *world);
void block_use(struct world *world);
void block_resize(struct world *world);
void block_free(struct world *world);
void block_free_of(struct world *world, int slot); /* any of the pool's; NONE: of any pool */
void block_free_batch(struct world *world);
void block_free_all(struct world *world, int slot);
/* The stream ends, or is ordered no more: the pool has noted it as a user. False: it has not. */
bool block_leave_to_pool(struct block *block, int stream);
/* Whether no user is being captured. */
bool block_is_at_hand(const struct world *world, const struct block *block);
void block_order_users(struct world *world, const struct block *block, tarn_stream after);
/* Enters a block at the address that a pool has given, after all checks. NULL: there is no place for it. */
struct block *block_enter(struct world *world, int asked_slot, int stream, void *address,
                          size_t size_bytes, size_t alignment);
int block_count_unused(const struct world *world);
/* The text of a block's label; NULL for label 0, which is none. */
const char *block_label_name(int label);

/* --- streams.c ---------------------------------------------------------------------------------- */

void streams_begin(struct world *world);
void streams_end(struct world *world);
void stream_hang_or_go_on(struct world *world);
void stream_replace(struct world *world);
void stream_wait_for_all(struct world *world);
tarn_stream stream_make(struct world *world);
void stream_unmake(struct world *world, tarn_stream handle);
/* One that is not being captured. */
int stream_choose(struct world *world);

/* --- graphs.c ----------------------------------------------------------------------------------- */

void graph_begin(struct world *world);
void graph_end(struct world *world);
void graph_launch(struct world *world);
void graph_release(struct world *world);
bool graph_are_all_known(const struct world *world, const struct slot *slot);
void graph_finish_all(struct world *world, int slot); /* of a pool; NONE: of all */
void graph_add_part(struct world *world, int graph, const struct block *block);
void graph_note_freed(struct world *world, const struct block *block, int stream);
void graph_take_span(struct world *world, struct slot *slot, uintptr_t start, uintptr_t end,
                     int stream);
/* Another stream stands for one that is about to end. */
void graph_replace_launch(struct world *world, int stream, int other);

/* --- functions.c -------------------------------------------------------------------------------- */

bool function_out_of_memory(void *user, tarn_pool *pool, size_t size_bytes, unsigned attempt);
void function_created(void *user, void *base, size_t size_bytes, uint64_t id);
void function_destroyed(void *user, void *base, size_t size_bytes, uint64_t id);

/* --- model.c ------------------------------------------------------------------------------------ */

/* Why the pool must serve the request on the stream, as a sentence; NULL: it need not. */
const char *model_must_serve(struct world *world, const struct slot *slot, int stream,
                             size_t size_bytes, size_t alignment, enum finding *finding_out);
struct model_room {
    size_t largest_bytes; /* the largest run of memory that is neither live nor a graph's */
    size_t free_bytes;    /* in all of them */
    size_t releasable_bytes;
};
struct model_room model_room(struct world *world, const struct slot *slot, bool counts_refused);
size_t model_device_free_bytes(const struct world *world, const struct slot *slot);

/* --- look.c ------------------------------------------------------------------------------------- */

void look_at_order(struct world *world);
void look_at_pool(struct world *world, struct slot *slot);
void look_at_all(struct world *world);

#endif
