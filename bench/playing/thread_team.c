/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * thread_team: several threads at work on one allocator.
 *
 * The threads are a crew (crew.h). They share only the places of blocks: in a shared workload a thread
 * exchanges the block in a place for one of its own, so that each block always belongs to one thread or lies
 * in one place.
 */
#include "thread_team.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "../common/clock.h"
#include "crew.h"
#include "player.h"

/* No two threads' blocks share a cache line, nor two lines that are fetched together. */
enum {
    APART_BYTES = 128
};

/* Holds a slot's block. */
struct place {
    alignas(64) _Atomic(struct tn_block *) block;
};

struct member {
    struct tn_thread_team *team;
    const struct tn_operation *setup; /* this thread's part, as all that follows */
    const struct tn_operation *body;
    size_t setup_count;
    size_t body_count;
    size_t next; /* operation of the body */
    size_t first_slot;
    size_t slot_count;
    struct tn_block *blocks;           /* one for each slot, and one more */
    struct tn_block *spare;            /* which stands in no place */
    size_t turn;                       /* shared: whose part is next */
    struct tn_allocator_thread opened; /* valid when is_open */
    bool is_open;
    bool has_failed;
    struct tn_team_stop stop; /* when it has failed */
    size_t pair_count;        /* of the last play, as the times */
    uint64_t start_ns;
    uint64_t end_ns;
};

struct tn_thread_team {
    const struct tn_allocator *allocator;
    void *state; /* the allocator's */
    struct tn_crew *crew;
    atomic_bool is_over; /* the play */
    bool is_shared;
    struct place *places; /* by slot */
    size_t member_count;
    struct member members[];
};

/* --- a member ------------------------------------------------------------------------------------- */

static void stop_member(struct member *member, tarn_status status)
{
    struct tn_reason why;
    member->team->allocator->explain_in_thread(member->opened.state, status, &why);
    tn_reason_set(&member->stop.reason, "%s: %.400s", tarn_status_name(status), why.text);
    member->stop.status = status;
    member->has_failed = true;
}

static inline tarn_status play_one(const struct tn_allocator *allocator, struct member *member,
                                   const struct tn_operation *operation)
{
    struct tn_block *block = &member->blocks[operation->slot - member->first_slot];
    if (operation->is_alloc) {
        block->size_bytes = operation->size_bytes;
        return allocator->alloc_in_thread(member->opened.state, operation->size_bytes,
                                          &block->address);
    }
    tarn_status status =
        allocator->free_in_thread(member->opened.state, block->address, block->size_bytes);
    if (status == TARN_STATUS_OK) block->address = NULL;
    return status;
}

/* Puts the new block in the place of another one, most likely another thread's, and frees that. */
static inline tarn_status play_shared(const struct tn_allocator *allocator, struct member *member,
                                      const struct tn_operation *operation)
{
    struct tn_thread_team *team = member->team;
    size_t whose = member->turn++ % team->member_count;
    size_t slot = whose * member->slot_count + (operation->slot - member->first_slot);
    struct tn_block *block = member->spare;
    block->size_bytes = operation->size_bytes;
    tarn_status status =
        allocator->alloc_in_thread(member->opened.state, operation->size_bytes, &block->address);
    if (status != TARN_STATUS_OK) return status;
    block = atomic_exchange_explicit(&team->places[slot].block, block, memory_order_acq_rel);
    member->spare = block;
    status = allocator->free_in_thread(member->opened.state, block->address, block->size_bytes);
    if (status == TARN_STATUS_OK) block->address = NULL;
    return status;
}

static inline tarn_status play_pair(const struct tn_allocator *allocator, struct member *member,
                                    const struct tn_operation *pair)
{
    if (member->team->is_shared) return play_shared(allocator, member, &pair[1]);
    tarn_status status = play_one(allocator, member, &pair[0]);
    return status == TARN_STATUS_OK ? play_one(allocator, member, &pair[1]) : status;
}

static void play_setup(void *context)
{
    struct member *member = context;
    const struct tn_allocator *allocator = member->team->allocator;
    tarn_status status =
        allocator->open_thread(member->team->state, &member->opened, &member->stop.reason);
    member->is_open = status == TARN_STATUS_OK;
    member->has_failed = !member->is_open;
    member->stop.status = status;
    for (size_t i = 0; i < member->setup_count && !member->has_failed; i++) {
        status = play_one(allocator, member, &member->setup[i]);
        if (status != TARN_STATUS_OK) stop_member(member, status);
    }
}

/* Operations come in pairs, a free and the allocation in its place. Plays at least one pair, so that there is
 * a rate. */
static void play_body(void *context)
{
    struct member *member = context;
    const struct tn_allocator *allocator = member->team->allocator;
    size_t next = member->next;
    size_t pair_count = 0;
    tarn_status status = TARN_STATUS_OK;
    member->start_ns = tn_clock_now_ns();
    do {
        status = play_pair(allocator, member, &member->body[next]);
        if (status != TARN_STATUS_OK) break;
        next = next + 2 < member->body_count ? next + 2 : 0;
        pair_count++;
    } while (!atomic_load_explicit(&member->team->is_over, memory_order_relaxed));
    member->end_ns = tn_clock_now_ns();
    member->next = next;
    member->pair_count = pair_count;
    if (status != TARN_STATUS_OK) stop_member(member, status);
}

static void free_block(struct member *member, struct tn_block *block)
{
    if (!block->address) return;
    tarn_status status = member->team->allocator->free_in_thread(member->opened.state,
                                                                 block->address, block->size_bytes);
    if (status != TARN_STATUS_OK && !member->has_failed) stop_member(member, status);
    block->address = NULL;
}

static void free_blocks(void *context)
{
    struct member *member = context;
    if (!member->is_open) return;
    for (size_t i = 0; i < member->slot_count; i++)
        free_block(member, member->team->places[member->first_slot + i].block);
    free_block(member, member->spare); /* after a failure */
}

/* --- the team ------------------------------------------------------------------------------------- */

static void sleep_for(double seconds)
{
    struct timespec left = { .tv_sec = (time_t)seconds };
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0)
        ;
}

/* False: a member has failed; the stop of the first is reported. */
static bool all_act(struct tn_thread_team *team, tn_crew_act act, double seconds,
                    struct tn_team_stop *stop_out)
{
    atomic_store(&team->is_over, false);
    tn_crew_begin(team->crew, act);
    if (seconds > 0.0) sleep_for(seconds);
    atomic_store(&team->is_over, true);
    tn_crew_end(team->crew);
    for (size_t i = 0; i < team->member_count; i++) {
        const struct member *member = &team->members[i];
        if (!member->has_failed) continue;
        stop_out->status = member->stop.status;
        tn_reason_set(&stop_out->reason, "thread %zu: %.480s", i, member->stop.reason.text);
        return false;
    }
    return true;
}

static bool init_member(struct member *member, struct tn_thread_team *team,
                        const struct tn_workload *workload, size_t number)
{
    size_t count = workload->thread_count;
    *member = (struct member){
        .team = team,
        .setup_count = workload->setup.count / count,
        .body_count = workload->body.count / count,
        .slot_count = workload->slot_count / count,
    };
    member->setup = workload->setup.items + number * member->setup_count;
    member->body = workload->body.items + number * member->body_count;
    member->first_slot = number * member->slot_count;
    size_t bytes = (member->slot_count + 1) * sizeof member->blocks[0];
    member->blocks =
        aligned_alloc(APART_BYTES, (bytes + APART_BYTES - 1) / APART_BYTES * APART_BYTES);
    if (!member->blocks) return false;
    for (size_t i = 0; i <= member->slot_count; i++)
        member->blocks[i] = (struct tn_block){ NULL, 0 };
    for (size_t i = 0; i < member->slot_count; i++)
        atomic_init(&team->places[member->first_slot + i].block, &member->blocks[i]);
    member->spare = &member->blocks[member->slot_count];
    return true;
}

static void free_memory(struct tn_thread_team *team)
{
    for (size_t i = 0; i < team->member_count; i++)
        free(team->members[i].blocks);
    free(team->places);
    free(team);
}

static struct tn_thread_team *allocate_team(const struct tn_workload *workload)
{
    struct tn_thread_team *team =
        calloc(1, sizeof *team + workload->thread_count * sizeof team->members[0]);
    if (!team) return NULL;
    team->member_count = workload->thread_count;
    team->is_shared = workload->is_shared;
    team->places =
        aligned_alloc(alignof(struct place), workload->slot_count * sizeof team->places[0]);
    bool has_memory = team->places != NULL;
    for (size_t i = 0; i < team->member_count; i++)
        has_memory = has_memory && init_member(&team->members[i], team, workload, i);
    if (has_memory) return team;
    free_memory(team);
    return NULL;
}

struct tn_thread_team *tn_thread_team_create(const struct tn_allocator *allocator, void *state,
                                             const struct tn_workload *workload,
                                             struct tn_team_stop *stop_out)
{
    struct tn_thread_team *team = allocate_team(workload);
    stop_out->status = TARN_STATUS_OK;
    if (!team) {
        tn_reason_set(&stop_out->reason, "there is not enough host memory for the threads");
        return NULL;
    }
    team->allocator = allocator;
    team->state = state;
    team->crew = tn_crew_create(team->members, sizeof team->members[0], team->member_count,
                                &stop_out->reason);
    if (!team->crew) {
        free_memory(team);
        return NULL;
    }
    if (all_act(team, play_setup, 0.0, stop_out)) return team;
    struct tn_team_stop ignored;
    tn_thread_team_destroy(team, &ignored);
    return NULL;
}

bool tn_thread_team_play(struct tn_thread_team *team, double seconds, struct tn_team_play *play_out,
                         struct tn_team_stop *stop_out)
{
    if (!all_act(team, play_body, seconds, stop_out)) return false;
    uint64_t start_ns = team->members[0].start_ns;
    uint64_t end_ns = team->members[0].end_ns;
    size_t pair_count = 0;
    for (size_t i = 0; i < team->member_count; i++) {
        const struct member *member = &team->members[i];
        if (member->start_ns < start_ns) start_ns = member->start_ns;
        if (member->end_ns > end_ns) end_ns = member->end_ns;
        pair_count += member->pair_count;
    }
    uint64_t duration_ns = end_ns > start_ns ? end_ns - start_ns : 1;
    *play_out = (struct tn_team_play){ pair_count, (double)duration_ns };
    return true;
}

bool tn_thread_team_verify(const struct tn_thread_team *team, struct tn_verifier *verifier,
                           struct tn_reason *reason_out)
{
    for (size_t i = 0; i < team->member_count; i++) {
        const struct member *member = &team->members[i];
        for (size_t k = 0; k < member->slot_count; k++) {
            const struct tn_block *block = team->places[member->first_slot + k].block;
            if (!tn_verifier_add(verifier, member->first_slot + k, block->address,
                                 block->size_bytes, TN_VERIFIER_NO_PLACE, reason_out))
                return false;
        }
    }
    return true;
}

size_t tn_thread_team_count_streams(const struct tn_thread_team *team)
{
    size_t count = 0;
    for (size_t i = 0; i < team->member_count; i++)
        count += team->members[i].opened.has_stream;
    return count;
}

bool tn_thread_team_destroy(struct tn_thread_team *team, struct tn_team_stop *stop_out)
{
    bool is_ok = all_act(team, free_blocks, 0.0, stop_out);
    tn_crew_destroy(team->crew);
    for (size_t i = 0; i < team->member_count; i++)
        if (team->members[i].is_open) team->allocator->close_thread(team->members[i].opened.state);
    free_memory(team);
    return is_ok;
}
