/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * faithful_team: the threads of a recorded program at work again.
 *
 * The threads are a crew (crew.h). Until its free, the address of a block belongs to the thread that
 * allocated it; the freeing step waits for the allocation. A pass begins when all threads have ended the one
 * before. Step counts go on through all passes, so gates are never set back.
 */
#include "faithful_team.h"

#include <stdlib.h>
#include <string.h>

#include "../common/clock.h"
#include "crew.h"
#include "faithful_player.h"

struct tn_faithful_team {
    struct tn_faithful_stage stage;
    struct tn_crew *crew;
    struct tn_faithful_member *members;
};

/* --- a member ------------------------------------------------------------------------------------- */

static void open_lanes(void *context)
{
    struct tn_faithful_member *member = context;
    const struct tn_faithful_stage *stage = member->stage;
    const struct tn_plan_thread *part = &stage->plan->threads[member->number];
    for (; member->open_count < part->lane_count; member->open_count++) {
        struct tn_allocator_thread opened = {
            .stream = stage->streams[part->lane_streams[member->open_count]],
        };
        tarn_status status =
            stage->allocator->open_thread(stage->state, &opened, &member->stop.reason);
        if (status != TARN_STATUS_OK) {
            member->stop.status = status;
            member->has_stopped = true;
            return;
        }
        member->lane_states[member->open_count] = opened.state;
    }
}

static void free_left(void *context)
{
    struct tn_faithful_member *member = context;
    const struct tn_faithful_stage *stage = member->stage;
    const struct tn_plan_thread *part = &stage->plan->threads[member->number];
    for (size_t i = 0; i < part->block_count && member->open_count > 0; i++) {
        struct tn_faithful_block *block = &stage->blocks[part->first_block + i];
        if (!block->address) continue;
        tarn_status status = stage->allocator->free_in_thread(member->lane_states[0],
                                                              block->address, block->size_bytes);
        block->address = NULL;
        if (status != TARN_STATUS_OK && !member->has_stopped)
            tn_faithful_member_stop(member, status);
    }
}

static void play_member(void *context)
{
    tn_faithful_member_play(context);
}

/* --- the team ------------------------------------------------------------------------------------- */

static void stop_team(struct tn_faithful_stop *stop_out, const char *text)
{
    *stop_out = (struct tn_faithful_stop){ .status = TARN_STATUS_OK };
    tn_reason_set(&stop_out->reason, "%s", text);
}

/* False: a member has stopped. The stop of the first that failed is reported, or of the first if none failed.
 * */
static bool all_act(struct tn_faithful_team *team, tn_crew_act act,
                    struct tn_faithful_stop *stop_out)
{
    tn_crew_begin(team->crew, act);
    tn_crew_end(team->crew);
    const struct tn_faithful_stop *found = NULL;
    for (size_t i = 0; i < team->stage.plan->thread_count; i++) {
        const struct tn_faithful_member *member = &team->members[i];
        if (!member->has_stopped) continue;
        if (!found || (found->is_interrupted && !member->stop.is_interrupted))
            found = &member->stop;
    }
    if (found) *stop_out = *found;
    return !found;
}

static bool create_streams(struct tn_faithful_team *team, struct tn_faithful_stop *stop_out)
{
    struct tn_faithful_stage *stage = &team->stage;
    const tarn_backend *backend = stage->streams_from;
    for (; stage->stream_count < stage->plan->stream_count; stage->stream_count++) {
        tarn_backend_result result = backend->operations->stream_create(
            backend->state, &stage->streams[stage->stream_count]);
        if (result.status == TARN_STATUS_OK) continue;
        struct tn_reason why;
        tn_device_work_explain(result, &why);
        stop_team(stop_out, "");
        stop_out->status = result.status;
        tn_reason_set(&stop_out->reason, "stream %zu cannot be created: %.400s",
                      stage->stream_count, why.text);
        return false;
    }
    return true;
}

static bool allocate_member(struct tn_faithful_team *team, size_t number, size_t clocked_max)
{
    const struct tn_plan_thread *part = &team->stage.plan->threads[number];
    struct tn_faithful_member *member = &team->members[number];
    size_t alloc_max = part->block_count * clocked_max;
    size_t step_max = part->step_count * clocked_max;
    member->stage = &team->stage;
    member->number = number;
    tn_gate_init(&team->stage.gates[number]);
    member->lane_states = calloc(part->lane_count, sizeof member->lane_states[0]);
    member->alloc_ns = malloc((alloc_max + 1) * sizeof member->alloc_ns[0]);
    member->free_ns = malloc((step_max - alloc_max + 1) * sizeof member->free_ns[0]);
    member->late_ns = malloc((step_max + 1) * sizeof member->late_ns[0]);
    return member->lane_states && member->alloc_ns && member->free_ns && member->late_ns;
}

static void free_memory(struct tn_faithful_team *team)
{
    struct tn_faithful_stage *stage = &team->stage;
    for (size_t i = 0; team->members && i < stage->plan->thread_count; i++) {
        struct tn_faithful_member *member = &team->members[i];
        free(member->lane_states);
        free(member->alloc_ns);
        free(member->free_ns);
        free(member->late_ns);
        if (member->stage) tn_gate_fini(&stage->gates[i]);
    }
    for (size_t i = 0; stage->streams && i < stage->stream_count; i++)
        stage->streams_from->operations->stream_destroy(stage->streams_from->state,
                                                        stage->streams[i]);
    pthread_mutex_destroy(&stage->verifier_lock);
    free(stage->streams);
    free(stage->blocks);
    free(stage->gates);
    free(team->members);
    free(team);
}

/* Allocates a team that has no threads and streams yet. */
static struct tn_faithful_team *allocate_team(const struct tn_faithful_setup *setup)
{
    const struct tn_faithful_plan *plan = setup->plan;
    struct tn_faithful_team *team = calloc(1, sizeof *team);
    if (!team) return NULL;
    struct tn_faithful_stage *stage = &team->stage;
    stage->allocator = setup->allocator;
    stage->state = setup->state;
    stage->plan = plan;
    stage->streams_from = setup->streams_from;
    stage->is_behind = plan->workload->lag_bytes > 0;
    pthread_mutex_init(&stage->verifier_lock, NULL);
    stage->streams = calloc(plan->stream_count, sizeof stage->streams[0]);
    stage->blocks = calloc(plan->block_count, sizeof stage->blocks[0]);
    stage->gates =
        aligned_alloc(alignof(struct tn_gate), plan->thread_count * sizeof stage->gates[0]);
    team->members = calloc(plan->thread_count, sizeof team->members[0]);
    bool has_memory = stage->streams && stage->blocks && stage->gates && team->members;
    for (size_t i = 0; i < plan->thread_count && has_memory; i++)
        has_memory = allocate_member(team, i, setup->clocked_pass_count_max);
    if (has_memory) return team;
    free_memory(team);
    return NULL;
}

static bool start_threads(struct tn_faithful_team *team, struct tn_faithful_stop *stop_out)
{
    struct tn_reason why;
    team->crew = tn_crew_create(team->members, sizeof team->members[0],
                                team->stage.plan->thread_count, &why);
    if (!team->crew) stop_team(stop_out, why.text);
    return team->crew;
}

struct tn_faithful_team *tn_faithful_team_create(const struct tn_faithful_setup *setup,
                                                 struct tn_faithful_stop *stop_out)
{
    struct tn_faithful_team *team = allocate_team(setup);
    if (!team) {
        stop_team(stop_out, "there is not enough host memory for the threads");
        return NULL;
    }
    if (!create_streams(team, stop_out) || !start_threads(team, stop_out)) {
        free_memory(team);
        return NULL;
    }
    if (all_act(team, open_lanes, stop_out)) return team;
    struct tn_faithful_stop ignored;
    tn_faithful_team_destroy(team, &ignored);
    return NULL;
}

/* Also checks the copies of contents that are still aside after the play. */
static bool play_with_contents(struct tn_faithful_team *team, struct tn_faithful_stop *stop_out)
{
    struct tn_faithful_stage *stage = &team->stage;
    struct tn_contents_finding finding;
    struct tn_reason why;
    stage->contents = tn_contents_create(stage->play->touch, &why);
    if (!stage->contents) {
        stop_team(stop_out, why.text);
        return false;
    }
    bool is_ok = all_act(team, play_member, stop_out);
    if (is_ok && !tn_contents_finish(stage->contents, &finding)) {
        tn_faithful_describe_contents(stage, &finding, stop_out);
        is_ok = false;
    }
    tn_contents_destroy(stage->contents);
    stage->contents = NULL;
    return is_ok;
}

bool tn_faithful_team_play(struct tn_faithful_team *team, const struct tn_faithful_play *play,
                           double *duration_ns_out, struct tn_faithful_stop *stop_out)
{
    struct tn_faithful_stage *stage = &team->stage;
    stage->play = play;
    stage->start_ns = tn_clock_now_ns() + (play->speed > 0.0 ? TN_FAITHFUL_HEAD_START_NS : 0);
    bool is_ok = play->verifies_contents ? play_with_contents(team, stop_out)
                                         : all_act(team, play_member, stop_out);
    if (!is_ok) return false;
    stage->done_pass_count += play->pass_count;
    uint64_t start_ns = team->members[0].start_ns;
    uint64_t end_ns = team->members[0].end_ns;
    for (size_t i = 1; i < stage->plan->thread_count; i++) {
        const struct tn_faithful_member *member = &team->members[i];
        if (member->start_ns < start_ns) start_ns = member->start_ns;
        if (member->end_ns > end_ns) end_ns = member->end_ns;
    }
    *duration_ns_out = (double)(end_ns > start_ns ? end_ns - start_ns : 1);
    return true;
}

typedef uint64_t *samples_of(const struct tn_faithful_member *member, size_t *count_out);

static uint64_t *allocs_of(const struct tn_faithful_member *member, size_t *count_out)
{
    *count_out = member->alloc_count;
    return member->alloc_ns;
}

static uint64_t *frees_of(const struct tn_faithful_member *member, size_t *count_out)
{
    *count_out = member->free_count;
    return member->free_ns;
}

static uint64_t *lates_of(const struct tn_faithful_member *member, size_t *count_out)
{
    *count_out = member->late_count;
    return member->late_ns;
}

/* Over all members together. */
static bool compute_percentiles(const struct tn_faithful_team *team, samples_of *get,
                                double *sum_out, struct tn_percentiles *percentiles_out)
{
    size_t count = 0;
    size_t part_count;
    for (size_t i = 0; i < team->stage.plan->thread_count; i++) {
        get(&team->members[i], &part_count);
        count += part_count;
    }
    uint64_t *all = malloc((count + 1) * sizeof all[0]);
    if (!all) return false;
    count = 0;
    for (size_t i = 0; i < team->stage.plan->thread_count; i++) {
        const uint64_t *part = get(&team->members[i], &part_count);
        memcpy(all + count, part, part_count * sizeof all[0]);
        count += part_count;
    }
    *percentiles_out = tn_percentiles_compute(all, count);
    *sum_out = percentiles_out->mean * (double)count;
    free(all);
    return true;
}

bool tn_faithful_team_collect(const struct tn_faithful_team *team,
                              struct tn_faithful_samples *samples_out)
{
    double allocs_ns;
    double frees_ns;
    double lates_ns;
    bool has_memory = compute_percentiles(team, allocs_of, &allocs_ns, &samples_out->alloc_ns) &&
                      compute_percentiles(team, frees_of, &frees_ns, &samples_out->free_ns) &&
                      compute_percentiles(team, lates_of, &lates_ns, &samples_out->late_ns);
    if (has_memory) samples_out->calls_ns = allocs_ns + frees_ns;
    return has_memory;
}

/* Waits for the streams, which may still work on blocks that are about to be freed. */
static void finish_streams(const struct tn_faithful_stage *stage)
{
    const tarn_backend *backend = stage->streams_from;
    for (size_t i = 0; i < stage->stream_count; i++)
        backend->operations->stream_synchronize(backend->state, stage->streams[i]);
}

bool tn_faithful_team_destroy(struct tn_faithful_team *team, struct tn_faithful_stop *stop_out)
{
    struct tn_faithful_stage *stage = &team->stage;
    finish_streams(stage);
    bool is_ok = all_act(team, free_left, stop_out);
    tn_crew_destroy(team->crew);
    for (size_t i = 0; i < stage->plan->thread_count; i++)
        for (size_t lane = 0; lane < team->members[i].open_count; lane++)
            stage->allocator->close_thread(team->members[i].lane_states[lane]);
    free_memory(team);
    return is_ok;
}
