/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_capture: whether a stream is being captured into a graph, and what may be called meanwhile.
 *
 * There is no graph: work on the stream runs as ever. There is one capture at a time, and what spoils one
 * when several are under way spoils them all.
 */
#include <pthread.h>

#include "sim_state.h"

static struct {
    sim_capture_state state;
    sim_capture_mode mode; /* in which it was begun */
    pthread_t thread;      /* which began it */
} capture;

static _Thread_local struct {
    unsigned generation; /* of the simulation when the mode was written */
    sim_capture_mode mode;
} of_thread;

static sim_capture_mode *thread_mode_locked(void)
{
    if (of_thread.generation != sim_machine.generation) {
        of_thread.generation = sim_machine.generation;
        of_thread.mode = SIM_CAPTURE_MODE_GLOBAL;
    }
    return &of_thread.mode;
}

/* The rule that CUDA's manual has for what is potentially unsafe. */
static bool is_prohibited_locked(void)
{
    bool is_own = pthread_equal(capture.thread, pthread_self()) != 0;
    switch (*thread_mode_locked()) {
    case SIM_CAPTURE_MODE_GLOBAL:
        return is_own ? capture.mode != SIM_CAPTURE_MODE_RELAXED
                      : capture.mode == SIM_CAPTURE_MODE_GLOBAL;
    case SIM_CAPTURE_MODE_THREAD_LOCAL:
        return is_own && capture.mode != SIM_CAPTURE_MODE_RELAXED;
    case SIM_CAPTURE_MODE_RELAXED:
        break;
    }
    return false;
}

sim_status sim_capture_check(sim_capture_rule rule)
{
    sim_lock();
    bool is_refused = capture.state != SIM_CAPTURE_NONE &&
                      (rule == SIM_CAPTURE_RULE_CONFLICTS || is_prohibited_locked());
    if (is_refused) capture.state = SIM_CAPTURE_SPOILT;
    sim_unlock();
    return is_refused ? SIM_STATUS_CAPTURING : SIM_STATUS_OK;
}

bool sim_capture_begin(sim_capture_mode mode)
{
    sim_lock();
    bool is_first = capture.state == SIM_CAPTURE_NONE;
    if (is_first) {
        capture.state = SIM_CAPTURE_VALID;
        capture.mode = mode;
        capture.thread = pthread_self();
    }
    sim_unlock();
    return is_first;
}

sim_capture_state sim_capture_end(void)
{
    sim_lock();
    sim_capture_state state = capture.state;
    capture.state = SIM_CAPTURE_NONE;
    sim_unlock();
    return state;
}

sim_capture_state sim_capture_get(void)
{
    sim_lock();
    sim_capture_state state = capture.state;
    sim_unlock();
    return state;
}

sim_capture_mode sim_capture_exchange_mode(sim_capture_mode mode)
{
    sim_lock();
    sim_capture_mode *of_this_thread = thread_mode_locked();
    sim_capture_mode before = *of_this_thread;
    *of_this_thread = mode;
    sim_unlock();
    return before;
}

void sim_capture_reset_locked(void)
{
    capture.state = SIM_CAPTURE_NONE;
}
