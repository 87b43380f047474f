/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_faithful: the plan of a faithful replay, and what its threads do, seen by an allocator that is planted here: it
 * notes every call, and goes wrong at one that is told to it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "measuring/measure.h"
#include "playing/gate.h"
#include "scratch.h"
#include "tarn/backend.h"
#include "workloads/commands.h"
#include "workloads/faithful_plan.h"

/* Two threads; streams 5 and 9; the second thread frees on the first one's stream what that has allocated. */
static const char trace[] = "# tarn-trace 1\n"
                            "# name: two\n"
                            "a 0 1000 5 70 0\n"     /* line 3 */
                            "a 1 2000 5 70 1000\n"  /* line 4 */
                            "a 2 3000 9 71 2000\n"  /* line 5 */
                            "f 0 5 71 3000\n"       /* line 6 */
                            "a 3 0 9 70 20000000\n" /* line 7 */
                            "f 2 9 71 30000000\n"   /* line 8 */
                            "f 1 5 70 40000000\n";  /* line 9; id 3 stays live */

enum {
    EVENT_COUNT = 8,
    PAIR_COUNT = 4
};

/* --- the planted allocator ----------------------------------------------------------------------- */

enum fault {
    FAULT_NONE,
    FAULT_OVERLAP, /* a block has the place of the one before */
    FAULT_ALLOC_FAILS,
    FAULT_FREE_FAILS,
    FAULT_SCRIBBLES,     /* an allocation writes into the block before */
    FAULT_OPENING_FAILS, /* in the second thread */
    FAULT_INTERRUPTED    /* none of the allocator's: the user wants to end */
};

struct call {
    bool is_alloc;
    size_t size_bytes;
    pthread_t thread;
    tarn_stream stream;
};

enum {
    CALL_COUNT_MAX = 1 << 16,
    PLACE_BYTES = 4096,
    PLACE_COUNT = 1 << 12
};

static struct {
    enum fault fault;
    size_t fault_call;    /* counted from 1, allocations or frees */
    pthread_mutex_t lock; /* of all that follows */
    struct call calls[CALL_COUNT_MAX];
    size_t call_count;
    size_t alloc_count;
    size_t free_count;
    size_t open_count;
    size_t open_thread_count;
    size_t opened_thread_count; /* ever */
    char *memory;
    size_t next_place;
    char *last;
    const tarn_backend *backend; /* NULL: the processor touches memory */
} planted = { .lock = PTHREAD_MUTEX_INITIALIZER };

static tarn_status open_planted(const struct tn_allocator_settings *settings, void **state_out,
                                struct tn_reason *reason_out)
{
    (void)reason_out;
    planted.backend = settings->backend;
    planted.open_count++;
    *state_out = &planted;
    return TARN_STATUS_OK;
}

struct planted_thread {
    tarn_stream stream;
};

static tarn_status open_planted_thread(void *state, struct tn_allocator_thread *thread_inout,
                                       struct tn_reason *reason_out)
{
    (void)state;
    tn_reason_set(reason_out, "planted in a thread");
    pthread_mutex_lock(&planted.lock);
    planted.opened_thread_count++;
    bool fails = planted.fault == FAULT_OPENING_FAILS && planted.opened_thread_count > 1;
    planted.open_thread_count += !fails;
    pthread_mutex_unlock(&planted.lock);
    if (fails) return TARN_STATUS_VENDOR_ERROR;
    struct planted_thread *self = malloc(sizeof *self);
    assert_non_null(self);
    self->stream = thread_inout->stream;
    thread_inout->state = self;
    return TARN_STATUS_OK;
}

static void note_call(const struct planted_thread *self, bool is_alloc, size_t size_bytes)
{
    if (planted.call_count == CALL_COUNT_MAX) return;
    planted.calls[planted.call_count++] =
        (struct call){ is_alloc, size_bytes, pthread_self(), self->stream };
}

static bool is_faulty(enum fault fault, size_t call)
{
    return planted.fault == fault && planted.fault_call == call;
}

/* Into the block before, in the order of the stream if there is one. */
static void scribble(const struct planted_thread *self)
{
    const tarn_backend *backend = planted.backend;
    if (backend)
        backend->operations->fill(backend->state, planted.last + 700, 0, 1, self->stream);
    else
        planted.last[700] = 0;
}

static tarn_status alloc_in_planted_thread(void *state, size_t size_bytes, void **address_out)
{
    pthread_mutex_lock(&planted.lock);
    note_call(state, true, size_bytes);
    size_t call = ++planted.alloc_count;
    if (is_faulty(FAULT_INTERRUPTED, call)) raise(SIGINT);
    char *address = planted.memory + planted.next_place++ % PLACE_COUNT * PLACE_BYTES;
    if (is_faulty(FAULT_OVERLAP, call)) address = planted.last;
    if (is_faulty(FAULT_SCRIBBLES, call)) scribble(state);
    planted.last = address;
    pthread_mutex_unlock(&planted.lock);
    if (is_faulty(FAULT_ALLOC_FAILS, call)) return TARN_STATUS_OUT_OF_MEMORY;
    *address_out = address;
    return TARN_STATUS_OK;
}

static tarn_status free_in_planted_thread(void *state, void *address, size_t size_bytes)
{
    pthread_mutex_lock(&planted.lock);
    note_call(state, false, size_bytes);
    size_t call = ++planted.free_count;
    pthread_mutex_unlock(&planted.lock);
    assert_non_null(address);
    return is_faulty(FAULT_FREE_FAILS, call) ? TARN_STATUS_NOT_LIVE : TARN_STATUS_OK;
}

/* For one thread alone. */

static tarn_status alloc_planted(void *state, size_t size_bytes, void **address_out)
{
    static struct planted_thread self;
    (void)state;
    return alloc_in_planted_thread(&self, size_bytes, address_out);
}

static tarn_status free_planted(void *state, void *address, size_t size_bytes)
{
    static struct planted_thread self;
    (void)state;
    return free_in_planted_thread(&self, address, size_bytes);
}

static void explain_planted(void *state, tarn_status status, struct tn_reason *reason_out)
{
    (void)state;
    (void)status;
    tn_reason_set(reason_out, "as planted");
}

static void get_usage_planted(void *state, struct tn_allocator_usage *usage_out)
{
    (void)state;
    *usage_out = (struct tn_allocator_usage){ .footprint_bytes_max = 4096,
                                              .vendor_calls = planted.alloc_count };
}

static void close_planted(void *state)
{
    (void)state;
    planted.open_count--;
}

static void close_planted_thread(void *state)
{
    planted.open_thread_count--;
    free(state);
}

static const struct tn_allocator planted_allocator = {
    .name = "planted",
    .open = open_planted,
    .alloc = alloc_planted,
    .free = free_planted,
    .explain = explain_planted,
    .get_usage = get_usage_planted,
    .close = close_planted,
    .open_thread = open_planted_thread,
    .alloc_in_thread = alloc_in_planted_thread,
    .free_in_thread = free_in_planted_thread,
    .explain_in_thread = explain_planted,
    .close_thread = close_planted_thread,
    .free_order = TN_FREE_IS_ORDERED,
};

/* --- playing it ---------------------------------------------------------------------------------- */

static struct tn_options options;

static void plant_with_options(enum fault fault, size_t call)
{
    planted.fault = fault;
    planted.fault_call = call;
    planted.call_count = planted.alloc_count = planted.free_count = 0;
    planted.opened_thread_count = planted.next_place = 0;
    planted.last = planted.memory;
}

static void plant(enum fault fault, size_t call)
{
    plant_with_options(fault, call);
    options = (struct tn_options){ .repetitions = 2, .time_seconds = 1e-9, .is_faithful = true };
    options.allocators[0] = &planted_allocator;
    options.allocator_count = 1;
}

static struct tn_workload_list load(const char *text)
{
    static const char *path;
    path = scratch_write_text("two.trace", text);
    options.traces = &path;
    options.trace_count = 1;
    struct tn_machine machine = { .is_host = true };
    struct tn_workload_list list = { NULL, 0 };
    struct tn_reason reason = { "" };
    if (!tn_replay_make_workloads(&options, &machine, &list, &reason)) fail_msg("%s", reason.text);
    return list;
}

/* As on a device: streams run what they are given, by tarn's host backend. */
static bool has_streams;

static struct tn_result replay(const char *text)
{
    struct tn_workload_list list = load(text);
    struct tn_machine machine = { .is_host = !has_streams, .device_free_bytes = (size_t)1 << 30 };
    struct tn_result result;
    tn_measure(&list.items[0], 1, &options, &machine, &result);
    assert_int_equal(planted.open_count, 0);
    assert_int_equal(planted.open_thread_count, 0);
    tn_results_fini(&result, 1);
    result.workload = NULL; /* it goes away here */
    tn_workload_list_fini(&list);
    return result;
}

static void expect_reported(const char *text, const char *begin, const char *part)
{
    struct tn_result result = replay(text);
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    char place[64];
    snprintf(place, sizeof place, "two.trace%s", begin);
    if (!strstr(result.reason.text, place) || !strstr(result.reason.text, part))
        fail_msg("'%s' has not both '%s' and '%s'", result.reason.text, place, part);
}

/* --- the plan ------------------------------------------------------------------------------------ */

static void expect_step(const struct tn_faithful_plan *plan, size_t thread, size_t index,
                        size_t place, uint32_t wait_count, bool is_awaited)
{
    const struct tn_plan_thread *part = &plan->threads[thread];
    const struct tn_step *step = &part->steps[index];
    assert_int_equal(part->places[index], place);
    assert_int_equal(step->wait_count, wait_count);
    if (wait_count > 0) assert_int_equal(step->wait_thread, 1 - thread);
    assert_int_equal(step->is_awaited, is_awaited);
}

static void a_free_waits_for_its_allocation_alone(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_workload_list list = load(trace);
    struct tn_faithful_plan *plan = tn_faithful_plan_create(&list.items[0], TN_ORDER_DEPENDS);
    assert_non_null(plan);
    assert_int_equal(plan->thread_count, 2);
    assert_int_equal(plan->stream_count, 2);
    assert_int_equal(plan->block_count, 4);
    assert_int_equal(plan->threads[0].step_count, 5); /* with what was left live */
    assert_int_equal(plan->threads[1].step_count, 3);
    assert_int_equal(plan->threads[0].lane_count, 2);
    assert_int_equal(plan->threads[1].lane_count, 2);
    expect_step(plan, 0, 0, 0, 0, true);
    expect_step(plan, 0, 1, 1, 0, false);
    expect_step(plan, 0, 2, 4, 0, false);
    expect_step(plan, 0, 3, 6, 0, false);
    expect_step(plan, 0, 4, 7, 0, false);
    expect_step(plan, 1, 0, 2, 0, false);
    expect_step(plan, 1, 1, 3, 1, false);
    expect_step(plan, 1, 2, 5, 0, false);
    assert_int_equal(plan->threads[0].steps[0].block, plan->threads[1].steps[1].block);
    assert_int_equal(plan->threads[1].steps[1].size_bytes, 1000);
    tn_faithful_plan_destroy(plan);
    tn_workload_list_fini(&list);
}

static void in_strict_order_each_change_of_thread_waits(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_workload_list list = load(trace);
    struct tn_faithful_plan *plan = tn_faithful_plan_create(&list.items[0], TN_ORDER_STRICT);
    assert_non_null(plan);
    expect_step(plan, 0, 0, 0, 0, false);
    expect_step(plan, 0, 1, 1, 0, true);
    expect_step(plan, 1, 0, 2, 2, false);
    expect_step(plan, 1, 1, 3, 0, true);
    expect_step(plan, 0, 2, 4, 2, true);
    expect_step(plan, 1, 2, 5, 3, true);
    expect_step(plan, 0, 3, 6, 3, false);
    expect_step(plan, 0, 4, 7, 0, false);
    tn_faithful_plan_destroy(plan);
    tn_workload_list_fini(&list);
}

static void too_many_threads_are_refused(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_workload workload = { .source = (char *)"many.trace",
                                    .origin_thread_count = TN_FAITHFUL_THREADS_MAX,
                                    .origin_stream_count = TN_FAITHFUL_STREAMS_MAX };
    struct tn_reason reason = { "" };
    assert_true(tn_faithful_plan_is_possible(&workload, &reason));
    workload.origin_thread_count++;
    assert_false(tn_faithful_plan_is_possible(&workload, &reason));
    assert_string_equal(reason.text, "many.trace: has 1025 threads and 1024 streams; a faithful "
                                     "replay has at most 1024 and 1024");
    workload.origin_thread_count--;
    workload.origin_stream_count++;
    assert_false(tn_faithful_plan_is_possible(&workload, &reason));
}

/* --- who does what, and when --------------------------------------------------------------------- */

/* In strict order every pass has the calls in the order of the trace, each in its thread, on its stream. */
static void strict_order_is_the_recorded_one(void **state)
{
    static const size_t sizes[EVENT_COUNT] = { 1000, 2000, 3000, 1000, 0, 3000, 2000, 0 };
    static const size_t threads[EVENT_COUNT] = { 0, 0, 1, 1, 0, 1, 0, 0 };
    static const size_t streams[EVENT_COUNT] = { 0, 0, 1, 0, 1, 1, 0, 1 };
    static const bool are_allocs[EVENT_COUNT] = { 1, 1, 1, 0, 1, 0, 0, 0 };
    (void)state;
    plant(FAULT_NONE, 0);
    options.order = TN_ORDER_STRICT;
    struct tn_result result = replay(trace);
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(planted.call_count % EVENT_COUNT, 0);
    assert_true(planted.call_count >= 4 * EVENT_COUNT);
    for (size_t i = 0; i < planted.call_count; i++) {
        const struct call *pass = &planted.calls[i / EVENT_COUNT * EVENT_COUNT];
        const struct call *call = &planted.calls[i];
        size_t event = i % EVENT_COUNT;
        assert_int_equal(call->is_alloc, are_allocs[event]);
        assert_int_equal(call->size_bytes, sizes[event]);
        assert_int_equal(pthread_equal(call->thread, pass[0].thread) == 0, threads[event]);
        assert_int_equal(call->stream != pass[0].stream, streams[event]);
    }
}

/* Each thread's own calls are in order, and no free comes before its allocation. Sizes tell blocks apart. */
static void depending_order_keeps_what_must_be(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_result result = replay(trace);
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(result.thread_count, 2);
    assert_int_equal(result.stream_count, 2);
    assert_int_equal(result.pair_count, PAIR_COUNT);
    assert_int_equal(result.usage.vendor_calls, PAIR_COUNT); /* of the first pass, and no more */
    assert_true(result.pair_ns.median > 0.0);
    assert_true(result.harness_pair_ns > 0.0);
    assert_true(result.alloc_ns.max > 0);
    assert_int_equal(planted.alloc_count, planted.free_count);
    assert_int_equal(planted.call_count % EVENT_COUNT, 0);
    int live[4] = { 0, 0, 0, 0 };
    for (size_t i = 0; i < planted.call_count; i++) {
        const struct call *call = &planted.calls[i];
        live[call->size_bytes / 1000] += call->is_alloc ? 1 : -1;
        assert_in_range(live[call->size_bytes / 1000], 0, 1);
    }
}

/* The clock of an event is its time, from the first one on; factors make it shorter. */
static void events_wait_for_their_time(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    options.speed = 1.0;
    options.time_seconds = 10.0;
    uint64_t start_ns = tn_clock_now_ns();
    struct tn_result result = replay(trace);
    double twice_ns = (double)(tn_clock_now_ns() - start_ns);
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(result.repetition_count, 2);
    assert_int_equal(result.pass_count, 1);
    assert_true(twice_ns >= 2 * 40e6 * 2); /* the allocator that does nothing as well */
    assert_true(result.late_ns.max > 0);
    assert_true(result.late_ns.p50 <= result.late_ns.max);
    /* The pauses are not the calls'. */
    assert_true(result.pair_ns.median < 10e6);

    plant(FAULT_NONE, 0);
    options.speed = 8.0;
    options.repetitions = 1;
    options.time_seconds = 10.0;
    start_ns = tn_clock_now_ns();
    result = replay(trace);
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_true((double)(tn_clock_now_ns() - start_ns) >= 2 * 5e6);
}

/* --- faults -------------------------------------------------------------------------------------- */

static void an_overlap_names_both_lines_and_the_thread(void **state)
{
    (void)state;
    plant(FAULT_OVERLAP, 2);
    expect_reported(trace, ":4: planted: thread 0: ", "overlaps the live block of 1000 bytes");
    plant(FAULT_OVERLAP, 2);
    expect_reported(trace, ":4: planted: ", "two.trace:3");
    plant(FAULT_OVERLAP, 3);
    expect_reported(trace, ":5: planted: thread 1: ", "two.trace:4");
}

/* In the last pass, where threads overtake each other: but no block is freed before all are live. */
static void an_overlap_between_running_threads_is_found(void **state)
{
    static const char all_live[] =
        "# tarn-trace 1\na 0 9 0 0 0\na 1 9 0 0 0\na 2 9 0 1 0\na 3 9 0 1 0\n"
        "f 3 0 0 0\nf 2 0 0 0\nf 1 0 1 0\nf 0 0 1 0\n";
    (void)state;
    for (size_t i = 2; i <= 4; i++) {
        plant(FAULT_NONE, 0);
        assert_int_equal(replay(all_live).outcome, TN_OUTCOME_MEASURED);
        size_t last_pass = planted.alloc_count - PAIR_COUNT;
        plant(FAULT_OVERLAP, last_pass + i);
        struct tn_result result = replay(all_live);
        assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
        assert_non_null(strstr(result.reason.text, "overlaps the live block"));
    }
}

/* In each of the passes; nothing is left live but what was refused to be freed. */
static void a_failed_call_names_its_line_in_every_pass(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    options.order = TN_ORDER_STRICT;
    replay(trace);
    size_t pass_count = planted.alloc_count / PAIR_COUNT;
    for (size_t pass = 0; pass < pass_count; pass++) {
        plant(FAULT_ALLOC_FAILS, pass * PAIR_COUNT + 3);
        options.order = TN_ORDER_STRICT;
        expect_reported(trace, ":5: planted: thread 1: ", "TARN_STATUS_OUT_OF_MEMORY: as planted");
        assert_int_equal(planted.alloc_count - 1, planted.free_count);
        plant(FAULT_FREE_FAILS, pass * PAIR_COUNT + 1);
        options.order = TN_ORDER_STRICT;
        expect_reported(trace, ":6: planted: thread 1: ", "TARN_STATUS_NOT_LIVE: as planted");
        plant(FAULT_FREE_FAILS, pass * PAIR_COUNT + 4);
        options.order = TN_ORDER_STRICT;
        expect_reported(trace, ", freeing what was left live: planted: thread 0: ", "NOT_LIVE");
    }
}

static void a_thread_may_not_open(void **state)
{
    (void)state;
    plant(FAULT_OPENING_FAILS, 0);
    struct tn_result result = replay(trace);
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    assert_non_null(strstr(result.reason.text, "two, faithful: planted: "));
    assert_non_null(strstr(result.reason.text, "planted in a thread"));
    assert_int_equal(planted.alloc_count, 0);
}

/* --- contents ------------------------------------------------------------------------------------ */

/* Planted memory is the host's. */
static void begin_streams(void)
{
    if (strcmp(tarn_backend_name(), "host") != 0) skip();
    has_streams = true;
}

static int end_streams(void **state)
{
    (void)state;
    has_streams = false;
    return 0;
}

static void contents_that_survive_are_no_fault(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes <= 4096; bytes *= 64) {
        plant(FAULT_NONE, 0);
        options.touch_bytes = bytes;
        struct tn_result result = replay(trace);
        assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
        assert_int_equal(result.touch_bytes, bytes);
    }
}

/* In the first pass and in the last: the line is that of the free, where it shows, and then that of the allocation. */
static void contents_that_were_changed_are_found(void **state)
{
    (void)state;
    plant(FAULT_SCRIBBLES, 2);
    options.touch_bytes = SIZE_MAX;
    expect_reported(trace, ":6: planted: thread 1: the contents of the block of 1000 bytes",
                    "byte 700 is 0x00, and 0x01 was written; it was allocated here: ");
    plant(FAULT_SCRIBBLES, 2);
    options.touch_bytes = SIZE_MAX;
    expect_reported(trace, ":6: planted: ", "two.trace:3");
    /* Byte 700 lies between the two ends that are touched. */
    plant(FAULT_SCRIBBLES, 2);
    options.touch_bytes = 598;
    assert_int_equal(replay(trace).outcome, TN_OUTCOME_MEASURED);
    plant(FAULT_SCRIBBLES, 2);
    options.touch_bytes = 600;
    expect_reported(trace, ":6: planted: ", "byte 700 is");

    plant(FAULT_NONE, 0);
    options.order = TN_ORDER_STRICT;
    options.touch_bytes = SIZE_MAX;
    replay(trace);
    size_t last_pass = planted.alloc_count - PAIR_COUNT;
    plant(FAULT_SCRIBBLES, last_pass + 2);
    options.order = TN_ORDER_STRICT;
    options.touch_bytes = SIZE_MAX;
    expect_reported(trace, ":6: planted: ", "byte 700 is");
}

/* In the first pass and in the last, of a replay in one thread. */
static void one_thread_looks_at_contents_too(void **state)
{
    (void)state;
    for (size_t pass = 0; pass < 2; pass++) {
        plant(FAULT_NONE, 0);
        options.is_faithful = false;
        options.touch_bytes = SIZE_MAX;
        struct tn_options chosen = options;
        assert_int_equal(replay(trace).outcome, TN_OUTCOME_MEASURED);
        /* After the last pass comes one that notes what is held. */
        size_t before = pass == 0 ? 0 : planted.alloc_count - 2 * PAIR_COUNT;
        plant(FAULT_SCRIBBLES, before + 2);
        options = chosen;
        expect_reported(trace, ":6: planted: the contents of the block of 1000 bytes",
                        "byte 700 is 0x00, and 0x01 was written");
    }
}

static void one_thread_looks_at_contents_on_a_stream_too(void **state)
{
    begin_streams();
    one_thread_looks_at_contents_too(state);
}

static void contents_survive_on_streams_too(void **state)
{
    begin_streams();
    contents_that_survive_are_no_fault(state);
}

static void contents_that_were_changed_on_streams_are_found(void **state)
{
    begin_streams();
    contents_that_were_changed_are_found(state);
}

/* --- interruption -------------------------------------------------------------------------------- */

/* In a process of its own, since nobody takes such a wish back. Two allocators, of which the second may not
 * have begun. Returns what is wrong. */
static const char *end_at(size_t call)
{
    struct tn_allocator second = planted_allocator;
    options.allocators[1] = &second;
    options.allocator_count = 2;
    plant_with_options(FAULT_INTERRUPTED, call);
    tn_interrupt_watch();
    struct tn_workload_list list = load(trace);
    struct tn_machine machine = { .is_host = true, .device_free_bytes = (size_t)1 << 30 };
    struct tn_result results[2];
    tn_measure(&list.items[0], 1, &options, &machine, results);
    tn_results_fini(results, 2);
    tn_workload_list_fini(&list);
    if (planted.open_count != 0 || planted.open_thread_count != 0) return "something is open";
    if (planted.alloc_count < call) return "there are not so many calls";
    for (size_t i = 0; i < 2; i++) {
        if (results[i].outcome != TN_OUTCOME_INTERRUPTED &&
            results[i].outcome != TN_OUTCOME_MEASURED)
            return "it failed";
        if (results[i].repetition_count > 0 && !(results[i].pair_ns.median > 0.0))
            return "a repetition has no time";
    }
    if (results[1].outcome != TN_OUTCOME_INTERRUPTED) return "the second was not interrupted";
    return planted.free_count == planted.alloc_count ? NULL : "something is live";
}

static void expect_end_at(size_t call)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const char *wrong = end_at(call);
        if (wrong) fprintf(stderr, "interrupted in allocation %zu: %s\n", call, wrong);
        _exit(wrong ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_SUCCESS);
}

/* In each allocation of all passes, the first of the first allocator to the last of the last. */
static void an_end_may_come_at_any_time(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 3; kind++) {
        plant(FAULT_NONE, 0);
        options.is_faithful = kind > 0;
        options.touch_bytes = kind == 2 ? 100 : 0;
        struct tn_options chosen = options;
        replay(trace);
        size_t last = planted.alloc_count; /* of one allocator; that of two are twice as many */
        for (size_t call = 1; call <= 2 * last - PAIR_COUNT; call++) {
            options = chosen;
            expect_end_at(call);
        }
    }
}

/* --- gates --------------------------------------------------------------------------------------- */

enum {
    TURN_COUNT = 20000
};

static struct tn_gate gates[2];
static size_t turns; /* each thread's by turns, so that a race here is a fault of the gates */

static void *take_turns(void *own_number)
{
    size_t own = *(const size_t *)own_number;
    for (size_t i = 0; i < TURN_COUNT; i++) {
        /* The second waits for as many as it makes, the first for one less. */
        if (!tn_gate_wait(&gates[1 - own], own == 0 ? i : i + 1)) return NULL;
        turns++;
        tn_gate_advance(&gates[own], i + 1);
    }
    return own_number;
}

static void gates_hand_over(void **state)
{
    (void)state;
    size_t numbers[2] = { 0, 1 };
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++)
        tn_gate_init(&gates[i]);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &numbers[i]), 0);
    for (size_t i = 0; i < 2; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &numbers[i]);
    }
    assert_int_equal(turns, 2 * TURN_COUNT);
    for (size_t i = 0; i < 2; i++)
        tn_gate_fini(&gates[i]);
}

static void *wait_for_nothing(void *gate)
{
    return tn_gate_wait(gate, 1) ? gate : NULL;
}

static void who_waits_at_an_abandoned_gate_goes_on(void **state)
{
    (void)state;
    struct tn_gate *gate = &gates[0];
    pthread_t thread;
    void *result = gate;
    tn_gate_init(gate);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_nothing, gate), 0);
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL); /* by now it sleeps, as a rule */
    tn_gate_abandon(gate);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    assert_false(tn_gate_wait(gate, 1));
    tn_gate_fini(gate);
}

/* --- all ------------------------------------------------------------------------------------------ */

static int create(void **state)
{
    planted.memory = aligned_alloc(PLACE_BYTES, (size_t)PLACE_COUNT * PLACE_BYTES);
    return planted.memory ? scratch_create(state) : -1;
}

static int destroy(void **state)
{
    free(planted.memory);
    return scratch_destroy(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_hand_over),
        cmocka_unit_test(who_waits_at_an_abandoned_gate_goes_on),
        cmocka_unit_test(a_free_waits_for_its_allocation_alone),
        cmocka_unit_test(in_strict_order_each_change_of_thread_waits),
        cmocka_unit_test(too_many_threads_are_refused),
        cmocka_unit_test(strict_order_is_the_recorded_one),
        cmocka_unit_test(depending_order_keeps_what_must_be),
        cmocka_unit_test(events_wait_for_their_time),
        cmocka_unit_test(an_overlap_names_both_lines_and_the_thread),
        cmocka_unit_test(an_overlap_between_running_threads_is_found),
        cmocka_unit_test(a_failed_call_names_its_line_in_every_pass),
        cmocka_unit_test(a_thread_may_not_open),
        cmocka_unit_test(contents_that_survive_are_no_fault),
        cmocka_unit_test(contents_that_were_changed_are_found),
        cmocka_unit_test(one_thread_looks_at_contents_too),
        cmocka_unit_test_teardown(one_thread_looks_at_contents_on_a_stream_too, end_streams),
        cmocka_unit_test_teardown(contents_survive_on_streams_too, end_streams),
        cmocka_unit_test_teardown(contents_that_were_changed_on_streams_are_found, end_streams),
        cmocka_unit_test(an_end_may_come_at_any_time),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
