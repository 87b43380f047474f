/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * faithful_player: what one thread of a faithful_team does in a play.
 *
 * There are two loops. The swift one only makes the calls, since it is timed as a whole. The careful one may
 * wait for an event's time, read the clock around each call, check addresses, and touch memory.
 *
 * The verifier gets a block after its allocation has returned, and loses it before its free is called. So two
 * blocks that overlap there were both live at one time, whatever the order of the threads.
 */
#include "faithful_player.h"

#include <time.h>

#include "../allocators/late_backend.h"
#include "../common/clock.h"
#include "../common/interrupt.h"

enum {
    LOOK_INTERVAL_STEPS = 1024, /* after so many an interruption is noticed; a power of two */
    SLEEP_NS_MAX = 50000000,    /* an interruption is noticed after so long, in a sleep */
    AWAKE_BEFORE_NS =
        100000, /* what waking up may take: the last part of a wait is spent looking */
};

/* Longer than any run, and still within the range of nanoseconds in 64 bits. */
static const double century_ns = 3.2e18;

/* From now on no thread waits for another: the play is to end. */
static void abandon_gates(struct tn_faithful_stage *stage)
{
    for (size_t i = 0; i < stage->plan->thread_count; i++)
        tn_gate_abandon(&stage->gates[i]);
}

/* The stop functions always return false, which ends the play. */
static bool stop_member(struct tn_faithful_member *member, const struct tn_faithful_stop *stop)
{
    member->stop = *stop;
    member->has_stopped = true;
    abandon_gates(member->stage);
    return false;
}

static bool stop_at(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                    size_t step, const struct tn_reason *why)
{
    struct tn_faithful_stop stop = { .status = TARN_STATUS_OK };
    tn_workload_describe_place(member->stage->plan->workload, part->places[step], &stop.place);
    tn_reason_set(&stop.reason, "thread %zu: %.450s", member->number, why->text);
    return stop_member(member, &stop);
}

static bool stop_for_call(struct tn_faithful_member *member, void *lane_state,
                          const struct tn_reason *place, tarn_status status)
{
    struct tn_reason why;
    struct tn_faithful_stop stop = { .status = status, .place = *place };
    member->stage->allocator->explain_in_thread(lane_state, status, &why);
    tn_reason_set(&stop.reason, "thread %zu: %s: %.400s", member->number, tarn_status_name(status),
                  why.text);
    return stop_member(member, &stop);
}

static bool stop_for_step(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                          size_t step, tarn_status status)
{
    struct tn_reason place;
    tn_workload_describe_place(member->stage->plan->workload, part->places[step], &place);
    return stop_for_call(member, member->lane_states[part->steps[step].lane], &place, status);
}

void tn_faithful_member_stop(struct tn_faithful_member *member, tarn_status status)
{
    const struct tn_reason nowhere = { "" };
    stop_for_call(member, member->lane_states[0], &nowhere, status);
}

static bool stop_for_user(struct tn_faithful_member *member)
{
    struct tn_faithful_stop stop = { .is_interrupted = true };
    tn_reason_set(&stop.reason, "interrupted");
    return stop_member(member, &stop);
}

void tn_faithful_describe_contents(const struct tn_faithful_stage *stage,
                                   const struct tn_contents_finding *finding,
                                   struct tn_faithful_stop *stop_out)
{
    const struct tn_workload *workload = stage->plan->workload;
    struct tn_reason origin;
    tn_workload_describe_place(workload, finding->block.alloc_place, &origin);
    *stop_out = (struct tn_faithful_stop){ .status = TARN_STATUS_OK };
    tn_workload_describe_place(workload, finding->block.free_place, &stop_out->place);
    tn_reason_set(&stop_out->reason, "thread %u: %.300s; it was allocated here: %.160s",
                  workload->origins[finding->block.free_place].thread, finding->reason.text,
                  origin.text);
}

static inline tarn_status call(const struct tn_faithful_stage *stage, void *state,
                               const struct tn_step *step)
{
    const struct tn_allocator *allocator = stage->allocator;
    struct tn_faithful_block *block = &stage->blocks[step->block];
    if (step->is_alloc) {
        if (stage->is_behind) tn_late_backend_advance(step->size_bytes);
        block->size_bytes = step->size_bytes;
        return allocator->alloc_in_thread(state, step->size_bytes, &block->address);
    }
    tarn_status status = allocator->free_in_thread(state, block->address, step->size_bytes);
    if (status == TARN_STATUS_OK) block->address = NULL;
    return status;
}

/* Waits for the step's predecessor in another thread. `pass` counts all passes of the team. False: the play
 * has been stopped. */
static inline bool await(const struct tn_faithful_stage *stage, const struct tn_step *step,
                         size_t pass)
{
    if (step->wait_count == 0) return true;
    size_t before = pass * stage->plan->threads[step->wait_thread].step_count;
    return tn_gate_wait(&stage->gates[step->wait_thread], before + step->wait_count);
}

/* Returns whether the whole part was played. */
static bool play_swiftly(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                         size_t pass)
{
    const struct tn_faithful_stage *stage = member->stage;
    struct tn_gate *own = &stage->gates[member->number];
    size_t before = pass * part->step_count;
    for (size_t i = 0; i < part->step_count; i++) {
        const struct tn_step *step = &part->steps[i];
        if (!await(stage, step, pass)) return false;
        tarn_status status = call(stage, member->lane_states[step->lane], step);
        if (status != TARN_STATUS_OK) return stop_for_step(member, part, i, status);
        if (step->is_awaited) tn_gate_advance(own, before + i + 1);
        if (i % LOOK_INTERVAL_STEPS == 0 && tn_interrupt_is_wanted()) return stop_for_user(member);
    }
    return true;
}

/* --- with care ------------------------------------------------------------------------------------ */

/* Sleeps, and polls the clock for the last stretch. False: the user wants to end. */
static bool wait_until(uint64_t time_ns)
{
    for (;;) {
        uint64_t now_ns = tn_clock_now_ns();
        if (now_ns >= time_ns) return true;
        if (tn_interrupt_is_wanted()) return false;
        uint64_t left_ns = time_ns - now_ns;
        if (left_ns <= AWAKE_BEFORE_NS) continue;
        left_ns -= AWAKE_BEFORE_NS;
        if (left_ns > SLEEP_NS_MAX) left_ns = SLEEP_NS_MAX;
        struct timespec interval = { .tv_nsec = (long)left_ns };
        nanosleep(&interval, NULL);
    }
}

/* The time at which this event is to begin. */
static uint64_t time_of(const struct tn_faithful_member *member, const struct tn_plan_thread *part,
                        size_t index)
{
    const struct tn_faithful_stage *stage = member->stage;
    double recorded_ns = (double)stage->plan->workload->origins[part->places[index]].time_ns;
    double time_ns = recorded_ns / stage->play->speed;
    return stage->start_ns + (uint64_t)(time_ns < century_ns ? time_ns : century_ns);
}

/* Waits for the event's time and for its predecessor, and notes how late the event is then. */
static bool begin_step(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                       size_t index, size_t pass)
{
    const struct tn_faithful_stage *stage = member->stage;
    if (stage->play->speed <= 0.0) return await(stage, &part->steps[index], pass);
    uint64_t time_ns = time_of(member, part, index);
    if (!wait_until(time_ns)) return stop_for_user(member);
    if (!await(stage, &part->steps[index], pass)) return false;
    member->late_ns[member->late_count++] = tn_clock_now_ns() - time_ns;
    return true;
}

static bool take_in(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                    size_t index, struct tn_reason *reason_out)
{
    struct tn_faithful_stage *stage = member->stage;
    const struct tn_step *step = &part->steps[index];
    const struct tn_faithful_block *block = &stage->blocks[step->block];
    pthread_mutex_lock(&stage->verifier_lock);
    bool is_good = tn_verifier_add(stage->play->verifier, step->block, block->address,
                                   step->size_bytes, part->places[index], reason_out);
    pthread_mutex_unlock(&stage->verifier_lock);
    return is_good;
}

static void let_go(struct tn_faithful_member *member, const struct tn_step *step)
{
    struct tn_faithful_stage *stage = member->stage;
    pthread_mutex_lock(&stage->verifier_lock);
    tn_verifier_remove(stage->play->verifier, step->block);
    pthread_mutex_unlock(&stage->verifier_lock);
}

static bool write_block(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                        size_t index, struct tn_reason *reason_out)
{
    const struct tn_faithful_stage *stage = member->stage;
    const struct tn_step *step = &part->steps[index];
    struct tn_faithful_block *block = &stage->blocks[step->block];
    block->place = part->places[index];
    block->stream = part->lane_streams[step->lane];
    return step->size_bytes == 0 ||
           tn_touch_write(stage->play->touch, block->address, step->size_bytes, block->place,
                          stage->streams[block->stream], reason_out);
}

/* The block that it finds changed may be an earlier one of another thread. */
static bool look_at_contents(struct tn_faithful_member *member,
                             const struct tn_faithful_block *block, size_t free_place)
{
    const struct tn_faithful_stage *stage = member->stage;
    const struct tn_contents_block looked_at = { .address = block->address,
                                                 .size_bytes = block->size_bytes,
                                                 .pattern = tn_touch_pattern_of(block->place),
                                                 .stream = stage->streams[block->stream],
                                                 .alloc_place = block->place,
                                                 .free_place = free_place };
    struct tn_contents_finding finding;
    struct tn_faithful_stop stop;
    if (tn_contents_look(stage->contents, &looked_at, &finding)) return true;
    tn_faithful_describe_contents(stage, &finding, &stop);
    return stop_member(member, &stop);
}

/* Whether a program would have to wait for the block's work before this free: if the free is for another
 * stream, or if there are several streams and the allocator keeps no order of them. */
static bool needs_wait(const struct tn_faithful_stage *stage, const struct tn_faithful_block *block,
                       uint32_t free_stream)
{
    return block->stream != free_stream ||
           tn_free_needs_wait(stage->allocator->free_order, stage->plan->stream_count);
}

static bool leave_block(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                        size_t index)
{
    const struct tn_faithful_stage *stage = member->stage;
    const struct tn_step *step = &part->steps[index];
    const struct tn_faithful_block *block = &stage->blocks[step->block];
    struct tn_reason why;
    if (step->size_bytes == 0) return true;
    if (stage->contents && !look_at_contents(member, block, part->places[index])) return false;
    return !needs_wait(stage, block, part->lane_streams[step->lane]) ||
           tn_touch_wait(stage->play->touch, stage->streams[block->stream], &why) ||
           stop_at(member, part, index, &why);
}

static bool before_call(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                        size_t index)
{
    const struct tn_faithful_play *play = member->stage->play;
    const struct tn_step *step = &part->steps[index];
    if (step->is_alloc) return true;
    if (play->touch && !leave_block(member, part, index)) return false;
    if (play->verifier) let_go(member, step);
    return true;
}

static bool after_call(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                       size_t index)
{
    const struct tn_faithful_play *play = member->stage->play;
    struct tn_reason why;
    if (!part->steps[index].is_alloc) return true;
    if ((play->verifier && !take_in(member, part, index, &why)) ||
        (play->touch && !write_block(member, part, index, &why)))
        return stop_at(member, part, index, &why);
    return true;
}

static tarn_status call_clocked(struct tn_faithful_member *member, const struct tn_step *step)
{
    const struct tn_faithful_stage *stage = member->stage;
    uint64_t start_ns = tn_clock_now_ns();
    tarn_status status = call(stage, member->lane_states[step->lane], step);
    uint64_t duration_ns = tn_clock_now_ns() - start_ns;
    if (step->is_alloc)
        member->alloc_ns[member->alloc_count++] = duration_ns;
    else
        member->free_ns[member->free_count++] = duration_ns;
    return status;
}

static bool play_step(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                      size_t index, size_t pass)
{
    const struct tn_faithful_stage *stage = member->stage;
    const struct tn_step *step = &part->steps[index];
    if (!begin_step(member, part, index, pass) || !before_call(member, part, index)) return false;
    tarn_status status = stage->play->is_clocked
                             ? call_clocked(member, step)
                             : call(stage, member->lane_states[step->lane], step);
    if (status != TARN_STATUS_OK) return stop_for_step(member, part, index, status);
    return after_call(member, part, index);
}

static bool play_carefully(struct tn_faithful_member *member, const struct tn_plan_thread *part,
                           size_t pass)
{
    struct tn_gate *own = &member->stage->gates[member->number];
    size_t before = pass * part->step_count;
    for (size_t i = 0; i < part->step_count; i++) {
        if (!play_step(member, part, i, pass)) return false;
        if (part->steps[i].is_awaited) tn_gate_advance(own, before + i + 1);
        if (i % LOOK_INTERVAL_STEPS == 0 && tn_interrupt_is_wanted()) return stop_for_user(member);
    }
    return true;
}

/* --- a play --------------------------------------------------------------------------------------- */

/* Waits until all threads have ended the pass. */
static bool meet(const struct tn_faithful_stage *stage, size_t pass)
{
    const struct tn_faithful_plan *plan = stage->plan;
    for (size_t i = 0; i < plan->thread_count; i++)
        if (!tn_gate_wait(&stage->gates[i], (pass + 1) * plan->threads[i].step_count)) return false;
    return true;
}

void tn_faithful_member_play(struct tn_faithful_member *member)
{
    const struct tn_faithful_stage *stage = member->stage;
    const struct tn_faithful_play *play = stage->play;
    const struct tn_plan_thread *part = &play->plan->threads[member->number];
    bool is_swift = !play->verifier && !play->touch && !play->is_clocked;
    bool is_going = true;
    member->start_ns = tn_clock_now_ns();
    for (size_t i = 0; i < play->pass_count && is_going; i++) {
        size_t pass = stage->done_pass_count + i;
        is_going = is_swift ? play_swiftly(member, part, pass) : play_carefully(member, part, pass);
        if (!is_going) break;
        tn_gate_advance(&stage->gates[member->number], (pass + 1) * part->step_count);
        if (i + 1 < play->pass_count) is_going = meet(stage, pass);
    }
    member->end_ns = tn_clock_now_ns();
}
