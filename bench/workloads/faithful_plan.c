/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * faithful_plan: a recorded workload, cut into one list of steps for each of its threads.
 *
 * One walk over the events counts them, a second one makes the plan. The scratch knows which block is in each
 * slot of the workload, which step allocated it, and how far each thread has already waited for each other
 * thread.
 */
#include "faithful_plan.h"

#include <stdlib.h>

enum {
    NO_LANE = UINT16_MAX
};

/* An allocation, while its block is live. */
struct maker {
    uint32_t block;
    uint32_t thread;
    uint32_t done_count; /* steps of the thread, when it is done */
    size_t size_bytes;
};

struct scratch {
    enum tn_order order;
    struct maker *makers;  /* by slot of the workload */
    uint32_t *waited;      /* by thread, and by thread that it waited for: how many steps */
    uint16_t *lanes;       /* by thread and stream; NO_LANE: not yet */
    uint32_t *next_blocks; /* by thread */
};

const char *tn_order_name(enum tn_order order)
{
    return order == TN_ORDER_STRICT ? "strict" : "depends";
}

bool tn_faithful_plan_is_possible(const struct tn_workload *workload, struct tn_reason *reason_out)
{
    bool has_room = workload->origin_thread_count <= TN_FAITHFUL_THREADS_MAX &&
                    workload->origin_stream_count <= TN_FAITHFUL_STREAMS_MAX;
    if (has_room && workload->body.count < UINT32_MAX) return true;
    struct tn_path_text source = tn_path_show(workload->source);
    if (has_room)
        tn_reason_set(reason_out, "%s: has more events than a faithful replay can number",
                      source.text);
    else
        tn_reason_set(reason_out,
                      "%s: has %zu threads and %zu streams; a faithful replay has at "
                      "most %d and %d",
                      source.text, workload->origin_thread_count, workload->origin_stream_count,
                      TN_FAITHFUL_THREADS_MAX, TN_FAITHFUL_STREAMS_MAX);
    return false;
}

void tn_faithful_plan_destroy(struct tn_faithful_plan *plan)
{
    if (!plan) return;
    free(plan->steps);
    free(plan->places);
    free(plan->lane_streams);
    free(plan);
}

static void count_steps(struct tn_faithful_plan *plan)
{
    const struct tn_workload *workload = plan->workload;
    for (size_t i = 0; i < workload->body.count; i++) {
        struct tn_plan_thread *thread = &plan->threads[workload->origins[i].thread];
        thread->step_count++;
        thread->block_count += workload->body.items[i].is_alloc;
    }
}

/* Gives each thread room for its steps. Sets the step counts back to 0: they count again as steps are filled
 * in. */
static bool allocate_threads(struct tn_faithful_plan *plan)
{
    size_t count = plan->workload->body.count;
    plan->steps = calloc(count + 1, sizeof plan->steps[0]);
    plan->places = calloc(count + 1, sizeof plan->places[0]);
    plan->lane_streams =
        calloc(plan->thread_count * plan->stream_count + 1, sizeof plan->lane_streams[0]);
    if (!plan->steps || !plan->places || !plan->lane_streams) return false;
    size_t first = 0;
    for (size_t i = 0; i < plan->thread_count; i++) {
        struct tn_plan_thread *thread = &plan->threads[i];
        thread->first_step = first;
        thread->steps = plan->steps + first;
        thread->places = plan->places + first;
        thread->lane_streams = plan->lane_streams + i * plan->stream_count;
        thread->first_block = (uint32_t)plan->block_count;
        first += thread->step_count;
        plan->block_count += thread->block_count;
        thread->step_count = 0;
    }
    return true;
}

static void scratch_fini(struct scratch *scratch)
{
    free(scratch->makers);
    free(scratch->waited);
    free(scratch->lanes);
    free(scratch->next_blocks);
}

static bool scratch_init(struct scratch *scratch, const struct tn_faithful_plan *plan,
                         enum tn_order order)
{
    size_t thread_count = plan->thread_count;
    size_t lane_count = thread_count * plan->stream_count;
    *scratch = (struct scratch){
        .order = order,
        .makers = calloc(plan->workload->slot_count, sizeof scratch->makers[0]),
        .waited = calloc(thread_count * thread_count, sizeof scratch->waited[0]),
        .lanes = calloc(lane_count, sizeof scratch->lanes[0]),
        .next_blocks = calloc(thread_count, sizeof scratch->next_blocks[0]),
    };
    if (!scratch->makers || !scratch->waited || !scratch->lanes || !scratch->next_blocks)
        return false;
    for (size_t i = 0; i < lane_count; i++)
        scratch->lanes[i] = NO_LANE;
    for (size_t i = 0; i < thread_count; i++)
        scratch->next_blocks[i] = plan->threads[i].first_block;
    return true;
}

static uint16_t find_lane(const struct scratch *scratch, struct tn_faithful_plan *plan,
                          const struct tn_origin *origin)
{
    uint16_t *lane = &scratch->lanes[origin->thread * plan->stream_count + origin->stream];
    struct tn_plan_thread *thread = &plan->threads[origin->thread];
    if (*lane == NO_LANE) {
        *lane = (uint16_t)thread->lane_count++;
        thread->lane_streams[*lane] = (uint16_t)origin->stream;
    }
    return *lane;
}

/* Makes a step of one thread wait until another thread has done so many steps, unless an earlier wait ensures
 * that. */
static void wait_for(const struct scratch *scratch, struct tn_faithful_plan *plan, size_t thread,
                     struct tn_step *step, size_t other, uint32_t done_count)
{
    uint32_t *waited = &scratch->waited[thread * plan->thread_count + other];
    if (other == thread || *waited >= done_count) return;
    *waited = done_count;
    step->wait_thread = (uint16_t)other;
    step->wait_count = done_count;
    plan->threads[other].steps[done_count - 1].is_awaited = true;
}

static void add_step(const struct scratch *scratch, struct tn_faithful_plan *plan, size_t place)
{
    const struct tn_workload *workload = plan->workload;
    const struct tn_operation *operation = &workload->body.items[place];
    const struct tn_origin *origin = &workload->origins[place];
    struct tn_plan_thread *thread = &plan->threads[origin->thread];
    struct maker *maker = &scratch->makers[operation->slot];
    size_t index = thread->first_step + thread->step_count++;
    struct tn_step *step = &plan->steps[index];
    plan->places[index] = (uint32_t)place;
    if (operation->is_alloc)
        *maker = (struct maker){ scratch->next_blocks[origin->thread]++, origin->thread,
                                 (uint32_t)thread->step_count, operation->size_bytes };
    *step = (struct tn_step){ .size_bytes = maker->size_bytes,
                              .block = maker->block,
                              .lane = find_lane(scratch, plan, origin),
                              .is_alloc = operation->is_alloc };
    if (scratch->order == TN_ORDER_STRICT && place > 0) {
        size_t other = workload->origins[place - 1].thread;
        wait_for(scratch, plan, origin->thread, step, other,
                 (uint32_t)plan->threads[other].step_count);
    } else if (!operation->is_alloc) {
        wait_for(scratch, plan, origin->thread, step, maker->thread, maker->done_count);
    }
}

static bool fill_in(struct tn_faithful_plan *plan, enum tn_order order)
{
    struct scratch scratch;
    bool has_memory = scratch_init(&scratch, plan, order);
    for (size_t i = 0; i < plan->workload->body.count && has_memory; i++)
        add_step(&scratch, plan, i);
    scratch_fini(&scratch);
    return has_memory;
}

struct tn_faithful_plan *tn_faithful_plan_create(const struct tn_workload *workload,
                                                 enum tn_order order)
{
    struct tn_faithful_plan *plan =
        calloc(1, sizeof *plan + workload->origin_thread_count * sizeof plan->threads[0]);
    if (!plan) return NULL;
    plan->workload = workload;
    plan->thread_count = workload->origin_thread_count;
    plan->stream_count = workload->origin_stream_count;
    count_steps(plan);
    if (allocate_threads(plan) && fill_in(plan, order)) return plan;
    tn_faithful_plan_destroy(plan);
    return NULL;
}
