/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_measure: what the benchmark finds out about allocators that are planted here. They hand out
 * addresses that nobody touches, one after the other, and go wrong at a call that is told to them.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
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
#include "common/gauge.h"
#include "common/interrupt.h"
#include "measuring/measure.h"
#include "playing/thread_team.h"
#include "playing/verifier.h"
#include "scratch.h"
#include "workloads/commands.h"

/* --- the clock ----------------------------------------------------------------------------------- */

static atomic_llong passed_ns;

static void pass_time(long duration_ns)
{
    passed_ns += duration_ns;
}

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

/* The linker puts this function in the place of clock_gettime. It gives the processor time of this process, and adds the
 * time that the planted allocators say has passed. So it is the same on a busy machine, where others compute most of the
 * time. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    int error = __real_clock_gettime(CLOCK_PROCESS_CPUTIME_ID, time);
    long long ns = time->tv_nsec + passed_ns;
    time->tv_sec += (time_t)(ns / 1000000000);
    time->tv_nsec = (long)(ns % 1000000000);
    return error;
}

/* --- planted allocators -------------------------------------------------------------------------- */

enum fault {
    FAULT_NONE,
    FAULT_OVERLAP_BEFORE, /* a block that begins inside an earlier one */
    FAULT_OVERLAP_AFTER,  /* a block that ends inside a later one */
    FAULT_SAME_ADDRESS,
    FAULT_FIRST_ADDRESS, /* the address of the very first block */
    FAULT_UNALIGNED,
    FAULT_NO_ADDRESS,
    FAULT_END_OF_MEMORY, /* a block that ends past the last address */
    FAULT_ALLOC_FAILS,
    FAULT_FREE_FAILS,
    FAULT_FREES_IN_A_ROW /* a free that comes after a free fails */
};

#define FIRST_ADDRESS ((uintptr_t)0x100000)

static struct {
    enum fault fault;
    size_t fault_call; /* counted from 1 since opening, allocations or frees */
    bool fault_lasts;  /* and all such calls after it */
    tarn_status open_status;
    tarn_status open_thread_status;
    double time_seconds;
    size_t alloc_count;
    size_t free_count;
    long first_alloc_ns; /* that the first allocation takes at least */
    bool was_free;       /* the last call */
    size_t open_count;   /* opened and not closed */
    size_t open_count_max;
    size_t opening_count;
    size_t first_alloc_count; /* of the first opening */
    size_t fault_opening;     /* faults are of this opening, counted from 1; 0: of all */
    size_t interrupt_opening; /* in which the user wants to end; 0: in none */
    long alloc_ns;            /* that each allocation takes at least */
    long close_ns;            /* that closing takes at least */
    unsigned slow_openings;   /* a bit for each from the first: every allocation takes 10 ms */
    bool tells_slow;          /* then the machine says that it was disturbed, when asked once */
    bool was_slow;
    size_t faster_opening; /* from which on the machine is known to be faster; 0: never */
    char first_sizes[64];  /* of the first block of each opening, a digit */
    size_t open_thread_count;
    uintptr_t next;
    uintptr_t last;
    size_t foreign_free_count; /* by another thread than allocated it */
} planted;

static tarn_status open_planted(const struct tn_allocator_settings *settings, void **state_out,
                                struct tn_reason *reason_out)
{
    (void)settings;
    tn_reason_set(reason_out, "planted");
    if (planted.open_status != TARN_STATUS_OK) return planted.open_status;
    planted.alloc_count = 0;
    planted.free_count = 0;
    planted.foreign_free_count = 0;
    planted.next = FIRST_ADDRESS;
    planted.open_count++;
    planted.opening_count++;
    if (planted.open_count > planted.open_count_max) planted.open_count_max = planted.open_count;
    if (planted.opening_count == planted.interrupt_opening) raise(SIGINT);
    *state_out = NULL;
    return TARN_STATUS_OK;
}

static uintptr_t spoil(uintptr_t address)
{
    switch (planted.fault) {
    case FAULT_OVERLAP_BEFORE:
        return planted.last + 256;
    case FAULT_OVERLAP_AFTER:
        return planted.last - 256;
    case FAULT_SAME_ADDRESS:
        return planted.last;
    case FAULT_FIRST_ADDRESS:
        return FIRST_ADDRESS;
    case FAULT_UNALIGNED:
        return address + 128;
    case FAULT_NO_ADDRESS:
        return 0;
    case FAULT_END_OF_MEMORY:
        return UINTPTR_MAX - 255;
    default:
        return address;
    }
}

static bool is_slow(void)
{
    size_t opening = planted.opening_count;
    return opening > 0 && opening <= 32 && (planted.slow_openings >> (opening - 1) & 1);
}

static bool is_faulty_call(size_t call)
{
    if (planted.fault_opening > 0 && planted.fault_opening != planted.opening_count) return false;
    return call == planted.fault_call || (planted.fault_lasts && call > planted.fault_call);
}

static tarn_status alloc_planted(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    uintptr_t address = planted.next;
    planted.next += (size_bytes + 1023) / 512 * 512;
    planted.was_free = false;
    planted.alloc_count++;
    size_t opening = planted.opening_count;
    if (planted.alloc_count == 1 && opening > 0 && opening < sizeof planted.first_sizes)
        planted.first_sizes[opening - 1] = (char)('0' + size_bytes % 10);
    long least_ns = planted.alloc_count == 1 ? planted.first_alloc_ns : planted.alloc_ns;
    if (is_slow()) {
        least_ns = 10000000;
        planted.was_slow = true;
    }
    pass_time(least_ns);
    if (is_faulty_call(planted.alloc_count)) {
        if (planted.fault == FAULT_ALLOC_FAILS) return TARN_STATUS_OUT_OF_MEMORY;
        address = spoil(address);
    }
    planted.last = address;
    *address_out = (void *)address;
    return TARN_STATUS_OK;
}

static tarn_status free_planted(void *state, void *address, size_t size_bytes)
{
    (void)state;
    (void)address;
    (void)size_bytes;
    bool was_free = planted.was_free;
    planted.was_free = true;
    bool is_faulty = is_faulty_call(++planted.free_count);
    if (was_free && planted.fault == FAULT_FREES_IN_A_ROW) return TARN_STATUS_NOT_LIVE;
    return is_faulty && planted.fault == FAULT_FREE_FAILS ? TARN_STATUS_NOT_LIVE : TARN_STATUS_OK;
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
    *usage_out = (struct tn_allocator_usage){ 4096, 4096, planted.alloc_count, 64 };
}

/* The gauge is planted as well, in place of the benchmark's, which asks the machine. */

bool tn_gauge_is_quiet(void)
{
    bool is_disturbed = planted.tells_slow && planted.was_slow;
    planted.was_slow = false;
    return !is_disturbed;
}

double tn_gauge_least_ns(void)
{
    return planted.opening_count < planted.faster_opening ? 2.0 : 1.0;
}

bool tn_gauge_still_holds(double least_then_ns)
{
    return least_then_ns <= tn_gauge_least_ns();
}

/* Threads take turns; each state is the number of a thread, from 1 in the order of opening. */

static pthread_mutex_t planted_lock = PTHREAD_MUTEX_INITIALIZER;

static char thread_states[8];

/* Without faults an address tells who has allocated it. */
static uintptr_t signature_of(const void *state)
{
    size_t number = (size_t)((const char *)state - thread_states);
    return planted.fault == FAULT_NONE ? (uintptr_t)(number + 1) << 44 : 0;
}

static tarn_status open_planted_thread(void *state, struct tn_allocator_thread *thread_inout,
                                       struct tn_reason *reason_out)
{
    (void)state;
    pthread_mutex_lock(&planted_lock);
    tarn_status status = planted.open_thread_status;
    if (status == TARN_STATUS_OK)
        *thread_inout =
            (struct tn_allocator_thread){ &thread_states[planted.open_thread_count++], true, NULL };
    else
        tn_reason_set(reason_out, "planted in a thread");
    pthread_mutex_unlock(&planted_lock);
    return status;
}

static tarn_status alloc_in_planted_thread(void *state, size_t size_bytes, void **address_out)
{
    pthread_mutex_lock(&planted_lock);
    tarn_status status = alloc_planted(state, size_bytes, address_out);
    if (status == TARN_STATUS_OK) *address_out = (char *)*address_out + signature_of(state);
    pthread_mutex_unlock(&planted_lock);
    return status;
}

static tarn_status free_in_planted_thread(void *state, void *address, size_t size_bytes)
{
    pthread_mutex_lock(&planted_lock);
    planted.foreign_free_count += (uintptr_t)address >> 44 != signature_of(state) >> 44;
    tarn_status status = free_planted(state, address, size_bytes);
    pthread_mutex_unlock(&planted_lock);
    return status;
}

static void close_planted_thread(void *state)
{
    (void)state;
    planted.open_thread_count--;
}

static void close_planted(void *state)
{
    (void)state;
    planted.open_count--;
    if (planted.opening_count == 1) planted.first_alloc_count = planted.alloc_count;
    pass_time(planted.close_ns);
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
};

static const struct tn_allocator missing_allocator = { .name = "missing",
                                                       .missing_because = "it is not there" };

/* --- the workload -------------------------------------------------------------------------------- */

static const char trace[] = "# tarn-trace 1\n"
                            "a 0 1000 0 0 0\n" /* line 2 */
                            "a 1 2000 0 0 1\n" /* line 3 */
                            "f 0 0 0 2\n"      /* line 4 */
                            "a 2 3000 0 0 3\n" /* line 5 */
                            "a 3 0 0 0 4\n"    /* line 6 */
                            "f 2 0 0 5\n";     /* line 7 */

static struct tn_machine machine_with(size_t free_bytes, bool is_host)
{
    struct tn_machine machine = { .is_host = is_host };
    machine.device_free_bytes = free_bytes;
    return machine;
}

static struct tn_options options_for(const struct tn_allocator *allocator)
{
    struct tn_options options = { .repetitions = 3, .time_seconds = planted.time_seconds };
    options.allocators[0] = allocator;
    options.allocator_count = 1;
    return options;
}

static struct tn_result measure_with(const struct tn_options *options,
                                     const struct tn_workload *workload,
                                     const struct tn_machine *machine)
{
    struct tn_result result;
    tn_measure(workload, 1, options, machine, &result);
    assert_int_equal(planted.open_count, 0);
    return result;
}

static struct tn_result measure(const struct tn_allocator *allocator,
                                const struct tn_workload *workload,
                                const struct tn_machine *machine)
{
    struct tn_options options = options_for(allocator);
    return measure_with(&options, workload, machine);
}

static struct tn_result replay(void)
{
    struct tn_options options = options_for(&planted_allocator);
    const char *path = scratch_write_text("planted.trace", trace);
    options.traces = &path;
    options.trace_count = 1;
    struct tn_machine machine = machine_with(0, true);
    struct tn_workload_list list = { NULL, 0 };
    struct tn_reason reason = { "" };
    if (!tn_replay_make_workloads(&options, &machine, &list, &reason)) fail_msg("%s", reason.text);
    list.items[0].shows_memory = false; /* which opens another instance at the end */
    struct tn_result result = measure(&planted_allocator, &list.items[0], &machine);
    result.workload = NULL; /* it goes away here */
    tn_workload_list_fini(&list);
    return result;
}

/* Some blocks of one to four kilobytes, until 16 are live or the device, which has as many, is full. */
static struct tn_result grow_until(bool is_until_full)
{
    struct tn_options options = options_for(&planted_allocator);
    options.growth_sizes = (struct tn_number_list){ 1, { 16 << 10 } };
    options.is_until_full = is_until_full;
    options.has_latency = is_until_full;
    options.size_range = (struct tn_number_list){ 2, { 1 << 10, 4 << 10 } };
    struct tn_machine machine = machine_with(16 << 10, true);
    struct tn_workload_list list = { NULL, 0 };
    struct tn_reason reason = { "" };
    if (!tn_growth_make_workloads(&options, &machine, &list, &reason)) fail_msg("%s", reason.text);
    struct tn_result result = measure_with(&options, &list.items[0], &machine);
    result.workload = NULL;
    if (result.latency) assert_in_range(result.latency->alloc.count, 1, result.pair_count);
    assert_int_equal(result.latency != NULL,
                     is_until_full && result.outcome == TN_OUTCOME_MEASURED);
    tn_results_fini(&result, 1);
    tn_workload_list_fini(&list);
    return result;
}

static struct tn_result grow(void)
{
    return grow_until(false);
}

static void plant(enum fault fault, size_t call)
{
    memset(&planted, 0, sizeof planted);
    planted.fault = fault;
    planted.fault_call = call;
    planted.time_seconds = 0.05; /* enough for three repetitions */
}

static void expect_reported_failure(const char *line, const char *part)
{
    struct tn_result result = replay();
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    char place[64];
    snprintf(place, sizeof place, "planted.trace%s: planted: ", line);
    if (!strstr(result.reason.text, place) || !strstr(result.reason.text, part))
        fail_msg("'%s' has not both '%s' and '%s'", result.reason.text, place, part);
}

static void expect_failure(enum fault fault, size_t call, const char *line, const char *part)
{
    plant(fault, call);
    expect_reported_failure(line, part);
}

/* --- tests --------------------------------------------------------------------------------------- */

static void a_good_allocator_is_measured(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_result result = replay();
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(result.pair_count, 4);
    assert_int_equal(result.live_bytes_max, 5000);
    assert_int_equal(result.live_count_max, 2);
    assert_int_equal(result.repetition_count, 3);
    assert_int_equal(result.usage.footprint_bytes_max, 4096);
    assert_int_equal(result.usage.vendor_calls, 4); /* of the first pass, and no more */
    assert_true(result.pair_ns.min > 0.0);
    assert_true(result.pair_ns.min <= result.pair_ns.median);
    assert_true(result.pair_ns.median <= result.pair_ns.max);
    assert_true(result.harness_pair_ns > 0.0);
    assert_true(result.alloc_ns.p50 <= result.alloc_ns.max);
}

static void an_overlap_names_both_lines(void **state)
{
    (void)state;
    expect_failure(FAULT_OVERLAP_BEFORE, 2, ":3",
                   "the new block of 2000 bytes at 0x100100 overlaps "
                   "the live block of 1000 bytes at 0x100000");
    expect_failure(FAULT_OVERLAP_BEFORE, 2, ":3", "planted.trace:2");
    expect_failure(FAULT_OVERLAP_AFTER, 3, ":5", "overlaps");
    expect_failure(FAULT_OVERLAP_AFTER, 3, ":5", "planted.trace:3");
    expect_failure(FAULT_SAME_ADDRESS, 2, ":3", "overlaps");
}

/* The address of a freed block may be handed out again. */
static void an_address_of_a_freed_block_is_no_overlap(void **state)
{
    (void)state;
    struct tn_workload workload = { .name = "again", .slot_count = 2 };
    struct tn_verifier *verifier = tn_verifier_create(&workload, 0);
    struct tn_reason reason = { "" };
    assert_non_null(verifier);
    assert_true(tn_verifier_add(verifier, 0, (void *)0x1000, 256, 0, &reason));
    assert_true(tn_verifier_add(verifier, 1, (void *)0x1100, 256, 1, &reason));
    tn_verifier_remove(verifier, 0);
    assert_true(tn_verifier_add(verifier, 0, (void *)0xf00, 512, 2, &reason));
    tn_verifier_remove(verifier, 0);
    assert_false(tn_verifier_add(verifier, 0, (void *)0xf00, 513, 3, &reason));
    assert_non_null(strstr(reason.text, "again, operation 2"));
    tn_verifier_destroy(verifier);
}

static void a_bad_address_names_its_line(void **state)
{
    (void)state;
    expect_failure(FAULT_UNALIGNED, 1, ":2", "is not aligned to 256 bytes");
    expect_failure(FAULT_NO_ADDRESS, 3, ":5", "the new block of 3000 bytes has no address");
    expect_failure(FAULT_END_OF_MEMORY, 2, ":3", "ends past all addresses");
}

static void a_failed_call_names_its_line(void **state)
{
    (void)state;
    expect_failure(FAULT_ALLOC_FAILS, 2, ":3", "TARN_STATUS_OUT_OF_MEMORY: as planted");
    expect_failure(FAULT_FREE_FAILS, 2, ":7", "TARN_STATUS_NOT_LIVE: as planted");
    expect_failure(FAULT_FREE_FAILS, 3, ", freeing what was left live", "TARN_STATUS_NOT_LIVE");
}

/* With no time at all, a run is four passes: the first, one repetition, single calls, the last.
 * Each has 4 allocations and 4 frees here. */
static void plant_without_time(enum fault fault, size_t call)
{
    plant(fault, call);
    planted.time_seconds = 1e-9;
}

static void a_run_without_time_has_four_passes(void **state)
{
    (void)state;
    plant_without_time(FAULT_NONE, 0);
    assert_int_equal(replay().outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(planted.alloc_count, 16);
    assert_int_equal(planted.free_count, 16);
}

static void expect_growth_fails(enum fault fault, size_t call, const char *part)
{
    plant(fault, call);
    struct tn_result result = grow();
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    if (!strstr(result.reason.text, part)) fail_msg("%s", result.reason.text);
}

static void growth_is_measured_from_nothing_each_time(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_result result = grow();
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_true(result.repetition_count >= 1 && result.pair_count >= 4);
    assert_int_equal(planted.alloc_count, result.pair_count); /* of the last instance */
    assert_int_equal(planted.free_count, result.pair_count);
    assert_int_equal(result.usage.vendor_calls, result.pair_count); /* after the last allocation */
    assert_false(result.growth.can_trim);
    expect_growth_fails(FAULT_OVERLAP_BEFORE, 3, ", operation 3: planted: ");
    expect_growth_fails(FAULT_ALLOC_FAILS, 2, ", operation 2: planted: TARN_STATUS_OUT_OF_MEMORY");
    expect_growth_fails(FAULT_FREE_FAILS, 1, "planted: TARN_STATUS_NOT_LIVE: as planted");
}

/* An allocator that refuses blocks from some call on has those before it; the benchmark does not fail. */
static void growth_until_full_ends_where_a_block_is_refused(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_result all = grow_until(true);
    assert_int_equal(all.outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(all.live_bytes_max, 16 << 10);
    assert_true(all.pair_count > 4);

    plant(FAULT_ALLOC_FAILS, 4);
    planted.fault_lasts = true;
    struct tn_result result = grow_until(true);
    if (result.outcome != TN_OUTCOME_MEASURED) fail_msg("%s", result.reason.text);
    assert_int_equal(result.pair_count, 3);
    assert_int_equal(result.live_count_max, 3);
    assert_in_range(result.live_bytes_max, 3 << 10, 12 << 10);
    assert_int_equal(planted.alloc_count, 3); /* no later pass asks for the fourth */
    assert_int_equal(planted.free_count, 3);

    /* Refused earlier than in the first pass, in each of the next ones: these are played again with fewer. The figures of
     * memory stay those of the first. */
    for (size_t opening = 2; opening <= 8; opening++) {
        plant(FAULT_ALLOC_FAILS, 3);
        planted.fault_opening = opening;
        result = grow_until(true);
        if (result.outcome != TN_OUTCOME_MEASURED) fail_msg("%zu: %s", opening, result.reason.text);
        assert_int_equal(result.pair_count, all.pair_count);
        assert_int_equal(result.live_bytes_max, 16 << 10);
        assert_true(planted.opening_count <= opening || planted.alloc_count == 2);
    }

    plant(FAULT_ALLOC_FAILS, 1); /* nothing was served */
    result = grow_until(true);
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    plant(FAULT_FREE_FAILS, 2);
    result = grow_until(true);
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
}

/* --- the time of each call ------------------------------------------------------------------------ */

static const struct tn_operation few_setup[] = { { 1, 0, 1 }, { 5, 1, 1 } };
static const struct tn_operation few_body[] = {
    { 0, 0, 0 }, { 64, 0, 1 }, { 0, 1, 0 }, { 0, 0, 0 }
};
static const struct tn_latency_list few_calls = { few_setup, 2, few_body, 4, 2 };

static struct tn_latency *measure_latency(const struct tn_latency_list *list,
                                          tarn_status *status_out, struct tn_stop *stop_out)
{
    struct tn_allocator_settings settings = { .device = 0 };
    struct tn_latency *latency =
        tn_latency_measure(list, &planted_allocator, &settings, status_out, stop_out);
    assert_int_equal(planted.open_count, 0);
    return latency;
}

static void expect_part(const struct tn_latency_part *part, uint64_t first, size_t alloc_count,
                        size_t free_count)
{
    assert_int_equal(part->first, first);
    assert_int_equal(part->alloc.count, alloc_count);
    assert_int_equal(part->free.count, free_count);
    assert_true(part->alloc.p50_ns <= part->alloc.worst_ns);
    assert_true(part->free.p50_ns <= part->free.worst_ns);
}

/* A call that is slow in each pass is the worst; one that is slow in a single pass is that once. */
static void the_worst_call_is_one_that_is_slow_each_time(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    planted.first_alloc_ns = 2000000;
    planted.slow_openings = 2; /* in the second pass each allocation takes 10 ms */
    tarn_status status;
    struct tn_stop stop;
    struct tn_latency *latency = measure_latency(&few_calls, &status, &stop);
    assert_non_null(latency);
    assert_int_equal(latency->pass_count, 3);
    assert_int_equal(planted.opening_count, 3);
    assert_in_range(latency->alloc.worst_ns, 2000000, 9000000);
    assert_true(latency->alloc_worst_once_ns >= 10000000);
    assert_true(latency->free.worst_ns <= latency->free_worst_once_ns);
    assert_true(latency->free_worst_once_ns < 10000000);

    assert_int_equal(latency->over_time_count, 6);
    for (size_t i = 0; i < 6; i++)
        expect_part(&latency->over_time[i], i, i == 0 || i == 1 || i == 3, i == 2 || i > 3);
    assert_true(latency->over_time[0].alloc.worst_ns >= 2000000);
    assert_true(latency->over_time[3].alloc.worst_ns < 2000000);
    assert_int_equal(latency->by_size_count, 3);
    expect_part(&latency->by_size[0], 1, 1, 1);
    expect_part(&latency->by_size[1], 4, 1, 1);
    expect_part(&latency->by_size[2], 64, 1, 1);
    free(latency);
}

static void many_calls_are_few_parts(void **state)
{
    (void)state;
    enum {
        COUNT = 1001
    };
    plant(FAULT_NONE, 0);
    static struct tn_operation calls[2 * COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        calls[i] = (struct tn_operation){ (size_t)1 << i % 46, i, 1 };
        calls[2 * COUNT - 1 - i] = (struct tn_operation){ 0, i, 0 };
    }
    const struct tn_latency_list list = { NULL, 0, calls, 2 * COUNT, COUNT };
    tarn_status status;
    struct tn_stop stop;
    struct tn_latency *latency = measure_latency(&list, &status, &stop);
    assert_non_null(latency);
    assert_in_range(latency->over_time_count, 100, TN_LATENCY_PARTS_MAX);
    size_t alloc_count = 0;
    size_t free_count = 0;
    for (size_t i = 0; i < latency->over_time_count; i++) {
        assert_int_equal(latency->over_time[i].first, alloc_count + free_count);
        alloc_count += latency->over_time[i].alloc.count;
        free_count += latency->over_time[i].free.count;
    }
    assert_int_equal(alloc_count, COUNT);
    assert_int_equal(free_count, COUNT);
    assert_int_equal(latency->by_size_count, 23);
    assert_int_equal(latency->by_size[22].first, (uint64_t)1 << 44);
    free(latency);
}

static void what_stops_the_calls_is_told(void **state)
{
    (void)state;
    tarn_status status;
    struct tn_stop stop;
    plant(FAULT_FREE_FAILS, 2);
    assert_null(measure_latency(&few_calls, &status, &stop));
    assert_int_equal(status, TARN_STATUS_OK);
    assert_int_equal(stop.status, TARN_STATUS_NOT_LIVE);
    assert_int_equal(stop.index, 4);
    plant(FAULT_ALLOC_FAILS, 2);
    planted.fault_opening = 3;
    assert_null(measure_latency(&few_calls, &status, &stop));
    assert_int_equal(stop.status, TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(stop.index, 1);
    plant(FAULT_NONE, 0);
    planted.open_status = TARN_STATUS_NOT_SUPPORTED;
    assert_null(measure_latency(&few_calls, &status, &stop));
    assert_int_equal(status, TARN_STATUS_NOT_SUPPORTED);
    assert_string_equal(stop.reason.text, "planted");
}

static void a_failed_call_is_found_in_every_pass(void **state)
{
    (void)state;
    for (size_t pass = 0; pass < 4; pass++) {
        plant_without_time(FAULT_ALLOC_FAILS, 4 * pass + 2);
        expect_reported_failure(":3", "TARN_STATUS_OUT_OF_MEMORY: as planted");
        plant_without_time(FAULT_FREE_FAILS, 4 * pass + 1);
        expect_reported_failure(":4", "TARN_STATUS_NOT_LIVE: as planted");
    }
}

static void an_overlap_in_the_last_pass_is_found(void **state)
{
    (void)state;
    plant_without_time(FAULT_OVERLAP_BEFORE, 14);
    expect_reported_failure(":3", "planted.trace:2");
}

/* Against a block of the setup, whose operation is long past by then. */
static void an_overlap_with_an_old_block_is_found(void **state)
{
    (void)state;
    struct tn_workload workload = { .bench = "test", .name = "two", .slot_count = 2 };
    workload.unit_count = 2;
    assert_true(tn_operations_add_alloc(&workload.setup, 0, 1000));
    assert_true(tn_operations_add_alloc(&workload.body, 1, 2000));
    assert_true(tn_operations_add_free(&workload.body, 1));
    struct tn_machine machine = machine_with(0, true);
    plant_without_time(FAULT_FIRST_ADDRESS, 5);
    struct tn_result result = measure(&planted_allocator, &workload, &machine);
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    assert_string_equal(result.reason.text,
                        "two, operation 2: planted: the new block of 2000 bytes at 0x100000 "
                        "overlaps the live block of 1000 bytes at 0x100000, allocated here: before "
                        "this pass");
    free(workload.setup.items);
    free(workload.body.items);
}

static void opening_may_fail(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    planted.open_status = TARN_STATUS_NO_DEVICE;
    struct tn_result result = replay();
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    assert_non_null(strstr(result.reason.text, "planted cannot be opened: planted"));
    planted.open_status = TARN_STATUS_NOT_SUPPORTED;
    result = replay();
    assert_int_equal(result.outcome, TN_OUTCOME_NOT_FOUND);
    assert_string_equal(result.reason.text, "planted");
}

static void a_missing_allocator_is_not_found(void **state)
{
    (void)state;
    struct tn_workload workload = { .bench = "test", .slot_count = 1 };
    struct tn_machine machine = machine_with(0, true);
    assert_true(tn_operations_add_alloc(&workload.body, 0, 8));
    assert_true(tn_operations_add_free(&workload.body, 0));
    workload.unit_count = 2;
    struct tn_result result = measure(&missing_allocator, &workload, &machine);
    assert_int_equal(result.outcome, TN_OUTCOME_NOT_FOUND);
    assert_string_equal(result.reason.text, "it is not there");
    free(workload.body.items);
}

/* Pairs of blocks of so many bytes, one at a time. */
static struct tn_workload pairs_of(size_t size_bytes, size_t count)
{
    struct tn_workload workload = { .bench = "test", .slot_count = 1, .unit_count = 2 };
    snprintf(workload.name, sizeof workload.name, "of %zu", size_bytes);
    for (size_t i = 0; i < count; i++) {
        assert_true(tn_operations_add_alloc(&workload.body, 0, size_bytes));
        assert_true(tn_operations_add_free(&workload.body, 0));
    }
    return workload;
}

static void what_does_not_fit_the_device_is_skipped(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_workload workload = pairs_of(1 << 20, 1);
    struct tn_machine machine = machine_with((1 << 20) - 1, false);
    assert_int_equal(measure(&planted_allocator, &workload, &machine).outcome, TN_OUTCOME_SKIPPED);
    machine.device_free_bytes = 1 << 20;
    assert_int_equal(measure(&planted_allocator, &workload, &machine).outcome, TN_OUTCOME_MEASURED);
    free(workload.body.items);
}

/* The memory of the host counts where it is touched, and some workloads never touch it. */
static void what_is_not_touched_needs_no_memory(void **state)
{
    (void)state;
    struct tn_options options = options_for(&planted_allocator);
    options.touch_bytes = 100;
    struct tn_machine machine = machine_with(1, true);
    struct tn_workload workload = pairs_of(1000, 1);
    struct tn_result result;
    plant(FAULT_NONE, 0);
    options.time_seconds = planted.time_seconds;
    tn_measure(&workload, 1, &options, &machine, &result);
    assert_int_equal(result.outcome, TN_OUTCOME_SKIPPED);
    workload.method = TN_METHOD_GROWTH;
    tn_measure(&workload, 1, &options, &machine, &result);
    if (result.outcome != TN_OUTCOME_MEASURED) fail_msg("%s", result.reason.text);
    tn_results_fini(&result, 1);
    free(workload.body.items);
}

/* --- rounds --------------------------------------------------------------------------------------- */

struct rounds {
    struct tn_workload workloads[3];
    struct tn_options options;
    struct tn_result results[3];
};

/* Three workloads of blocks of 1, 2 and 3 bytes, and as much time as they want. */
static struct rounds plant_rounds(void)
{
    plant(FAULT_NONE, 0);
    planted.time_seconds = 100.0;
    struct rounds rounds = { .options = options_for(&planted_allocator) };
    for (size_t i = 0; i < 3; i++)
        rounds.workloads[i] = pairs_of(i + 1, 10);
    return rounds;
}

static size_t measure_rounds(struct rounds *rounds)
{
    struct tn_machine machine = machine_with(0, true);
    size_t count = tn_measure(rounds->workloads, 3, &rounds->options, &machine, rounds->results);
    assert_int_equal(planted.open_count, 0);
    return count;
}

static void rounds_fini(struct rounds *rounds)
{
    for (size_t i = 0; i < 3; i++)
        free(rounds->workloads[i].body.items);
}

static void workloads_take_turns_on_new_instances(void **state)
{
    (void)state;
    struct rounds rounds = plant_rounds();
    assert_int_equal(measure_rounds(&rounds), 3);
    assert_string_equal(planted.first_sizes, "123123123");
    assert_int_equal(planted.open_count_max, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rounds.results[i].outcome, TN_OUTCOME_MEASURED);
        assert_ptr_equal(rounds.results[i].workload, &rounds.workloads[i]);
        assert_int_equal(rounds.results[i].repetition_count, 3);
        assert_int_equal(rounds.results[i].instance_count, 3);
        assert_true(rounds.results[i].is_interleaved);
        assert_true(rounds.results[i].harness_pair_ns > 0.0);
    }
    rounds_fini(&rounds);
}

/* Opening takes most of the time that there is, so all repetitions are on the first instance; or there is time for
 * another. */
static void repetitions_share_an_instance_that_takes_long_to_open(void **state)
{
    (void)state;
    struct rounds rounds = plant_rounds();
    planted.first_alloc_ns = 60000000;
    rounds.options.time_seconds = 0.06;
    measure_rounds(&rounds);
    assert_string_equal(planted.first_sizes, "123");
    assert_int_equal(rounds.results[1].repetition_count, 3);
    assert_int_equal(rounds.results[1].instance_count, 1);
    assert_false(rounds.results[1].is_interleaved);
    rounds_fini(&rounds);

    rounds = plant_rounds();
    planted.first_alloc_ns = 900000000;
    rounds.options.time_seconds = 1.86; /* the repetitions, and once more 900 ms for opening */
    measure_rounds(&rounds);
    assert_string_equal(planted.first_sizes, "123123");
    assert_int_equal(rounds.results[1].repetition_count, 3);
    assert_int_equal(rounds.results[1].instance_count, 2);
    assert_true(rounds.results[1].is_interleaved);
    rounds_fini(&rounds);
}

/* Which nobody knows before the first is closed. */
static void instances_that_take_long_to_close_are_fewer(void **state)
{
    (void)state;
    struct rounds rounds = plant_rounds();
    planted.close_ns = 300000000;
    rounds.options.time_seconds = 0.5; /* for one that is closed after 0.3 s, and not for two */
    measure_rounds(&rounds);
    assert_string_equal(planted.first_sizes, "123123");
    assert_int_equal(rounds.results[2].outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(rounds.results[2].repetition_count, 2);
    assert_int_equal(rounds.results[2].instance_count, 2);
    rounds_fini(&rounds);
}

/* A third of those asked for are done whatever they take, if --time has room for them. */
static void long_passes_are_repeated_less_often(void **state)
{
    (void)state;
    struct rounds rounds = plant_rounds();
    planted.alloc_ns = 10000000;
    rounds.options.repetitions = 6;
    measure_rounds(&rounds);
    assert_int_equal(rounds.results[0].repetition_count, 2);
    assert_int_equal(rounds.results[0].instance_count, 2);
    assert_int_equal(rounds.results[0].pass_count, 1);
    rounds_fini(&rounds);
}

/* In each of the three visits to the second workload. The others are not touched by it. */
static void a_failure_is_found_in_every_visit(void **state)
{
    (void)state;
    for (size_t visit = 0; visit < 3; visit++) {
        struct rounds rounds = plant_rounds();
        planted.fault = FAULT_FREE_FAILS;
        planted.fault_call = 4;
        planted.fault_opening = 3 * visit + 2;
        assert_int_equal(measure_rounds(&rounds), 3);
        assert_int_equal(rounds.results[0].outcome, TN_OUTCOME_MEASURED);
        assert_int_equal(rounds.results[1].outcome, TN_OUTCOME_FAILED);
        assert_string_equal(rounds.results[1].reason.text,
                            "of 2, operation 8: planted: TARN_STATUS_NOT_LIVE: as planted");
        assert_int_equal(rounds.results[2].outcome, TN_OUTCOME_MEASURED);
        rounds_fini(&rounds);
    }
}

/* Returns what is wrong when the user ends it in so many openings. */
static const char *end_in(size_t opening)
{
    struct rounds rounds = plant_rounds();
    tn_interrupt_watch();
    planted.interrupt_opening = opening;
    size_t begun = opening < 3 ? opening : 3;
    if (measure_rounds(&rounds) != begun) return "another number of workloads has begun";
    for (size_t i = 0; i < begun; i++) {
        const struct tn_result *result = &rounds.results[i];
        size_t done = (opening + 1 - i) / 3; /* rounds before this workload's turn, or in it */
        bool is_ended = opening > 7 + i;     /* its third */
        if (result->outcome != (is_ended ? TN_OUTCOME_MEASURED : TN_OUTCOME_INTERRUPTED))
            return "the outcome is wrong";
        if (result->repetition_count != done) return "the number of repetitions is wrong";
        if (done > 0 && !(result->pair_ns.median > 0.0)) return "a repetition has no time";
    }
    rounds_fini(&rounds);
    return planted.open_count == 0 ? NULL : "something is open";
}

/* In a process of its own, since nobody takes such a wish back. */
static void an_end_leaves_the_repetitions_that_were_done(void **state)
{
    (void)state;
    for (size_t opening = 1; opening <= 9; opening++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            const char *wrong = end_in(opening);
            if (wrong) fprintf(stderr, "ended in opening %zu: %s\n", opening, wrong);
            _exit(wrong ? EXIT_FAILURE : EXIT_SUCCESS);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), EXIT_SUCCESS);
    }
}

/* Of three repetitions two are disturbed, the first and the second: openings 3 and 5, after one that is verified, one to
 * warm up, and between them that of single calls. */
static struct tn_result grow_disturbed(void)
{
    planted.slow_openings = 1U << 2 | 1U << 4;
    planted.time_seconds = 100.0;
    struct tn_result result = grow();
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(planted.opening_count, 6);
    assert_int_equal(result.repetition_count, 3);
    assert_true(result.pair_ns.min < 5e6 && result.pair_ns.max >= 10e6);
    return result;
}

static void a_disturbed_repetition_has_no_weight(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_result result = grow_disturbed(); /* as far as the machine knows it is not */
    assert_true(result.counted_share == 1.0);
    assert_true(result.pair_ns.median >= 10e6);

    plant(FAULT_NONE, 0);
    planted.tells_slow = true;
    result = grow_disturbed();
    assert_true(result.counted_share > 0.33 && result.counted_share < 0.34);
    assert_true(result.pair_ns.median == result.pair_ns.min);
    assert_true(result.growth.alloc_ns.median == result.growth.alloc_ns.min);

    plant(FAULT_NONE, 0);
    planted.faster_opening = 6;
    result = grow_disturbed();
    assert_true(result.counted_share > 0.33 && result.counted_share < 0.34);
    assert_true(result.pair_ns.median == result.pair_ns.min);
}

static void workloads_of_one_command_are_measured_together(void **state)
{
    (void)state;
    struct tn_workload workloads[4] = {
        { .bench = "live" }, { .bench = "live" }, { .bench = "churn" }, { .bench = "churn" }
    };
    workloads[3].method = TN_METHOD_THREADS;
    assert_int_equal(tn_measure_count_together(workloads, 4), 2);
    assert_int_equal(tn_measure_count_together(workloads, 1), 1);
    assert_int_equal(tn_measure_count_together(workloads + 2, 2), 1);
    assert_int_equal(tn_measure_count_together(workloads + 3, 1), 1);
}

/* A body of many units is cut when the first pass takes its share of the time; a recorded one is
 * not, and then has fewer repetitions. */
static void little_time_means_less_work(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    struct tn_workload workload = pairs_of(1, 100000);
    struct tn_machine machine = machine_with(0, true);
    struct tn_options options = options_for(&planted_allocator);
    options.time_seconds = 1e-6; /* less than one pass, more than nothing */
    struct tn_result result;
    tn_measure(&workload, 1, &options, &machine, &result);
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_true(result.pair_count < 100000);

    workload.unit_count = workload.body.count;
    tn_measure(&workload, 1, &options, &machine, &result);
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(result.pair_count, 100000);
    assert_int_equal(result.repetition_count, 1);
    free(workload.body.items);
}

/* What an allocator takes from the vendor at first says nothing of the passes that follow. */
static void a_slow_start_leaves_many_passes(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    planted.first_alloc_ns = 60000000;
    struct tn_workload workload = pairs_of(1, 1000);
    struct tn_machine machine = machine_with(0, true);
    struct tn_options options = options_for(&planted_allocator);
    options.time_seconds = 0.05; /* the first allocation takes more */
    struct tn_result result;
    tn_measure(&workload, 1, &options, &machine, &result);
    assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
    assert_int_equal(result.pair_count, 1);
    assert_int_equal(result.repetition_count, 3);
    assert_true(result.pass_count > 100);
    free(workload.body.items);
}

/* --- several threads, each with 3 blocks ---------------------------------------------------------- */

static bool threads_share; /* their blocks, in the workloads that follow */

static struct tn_workload_list make_threads(size_t thread_count)
{
    struct tn_options options = options_for(&planted_allocator);
    options.live_counts = (struct tn_number_list){ 1, { 3 } };
    options.size_range = (struct tn_number_list){ 2, { 1024, 4096 } };
    options.thread_counts = (struct tn_number_list){ 1, { thread_count } };
    options.is_shared = threads_share;
    struct tn_machine machine = machine_with(0, true);
    struct tn_workload_list list = { NULL, 0 };
    struct tn_reason reason = { "" };
    assert_true(tn_threads_make_workloads(&options, &machine, &list, &reason));
    return list;
}

static struct tn_result measure_threads(size_t thread_count)
{
    struct tn_workload_list list = make_threads(thread_count);
    struct tn_machine machine = machine_with(0, true);
    struct tn_result result = measure(&planted_allocator, &list.items[0], &machine);
    assert_int_equal(planted.open_thread_count, 0);
    result.workload = NULL; /* it goes away here */
    tn_workload_list_fini(&list);
    return result;
}

static void expect_threads_fail(enum fault fault, size_t call, bool lasts, const char *part)
{
    plant(fault, call);
    planted.fault_lasts = lasts;
    struct tn_result result = measure_threads(2);
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    const char *begin =
        threads_share ? "2 x 3 of 1K to 4K, shared: planted: " : "2 x 3 of 1K to 4K: planted: ";
    if (strncmp(result.reason.text, begin, strlen(begin)) != 0 || !strstr(result.reason.text, part))
        fail_msg("'%s' has not '%s'", result.reason.text, part);
}

static void the_parts_of_threads_are_apart(void **state)
{
    (void)state;
    struct tn_workload_list list = make_threads(2);
    const struct tn_workload *workload = &list.items[0];
    assert_int_equal(workload->slot_count, 6);
    assert_int_equal(workload->setup.count, 6);
    assert_int_equal(workload->body.count % 4, 0);
    for (size_t i = 0; i < workload->setup.count; i++)
        assert_int_equal(workload->setup.items[i].slot, i);
    for (size_t i = 0; i < workload->body.count; i++) {
        const struct tn_operation *operation = &workload->body.items[i];
        assert_int_equal(operation->slot / 3, i / (workload->body.count / 2));
        assert_int_equal(operation->is_alloc, i % 2);
        if (operation->is_alloc) assert_int_equal(operation->slot, operation[-1].slot);
    }
    tn_workload_list_fini(&list);
}

static void threads_are_measured(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 3; count++) {
        plant(FAULT_NONE, 0);
        planted.time_seconds = 1.0;
        struct tn_result result = measure_threads(count);
        assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
        assert_int_equal(result.repetition_count, 3);
        assert_int_equal(result.stream_count, count);
        assert_int_equal(result.live_count_max, 3 * count);
        assert_true(result.pairs_per_s.min > 0.0);
        assert_true(result.pairs_per_s.min <= result.pairs_per_s.median);
        assert_true(result.pairs_per_s.median <= result.pairs_per_s.max);
        double ratio = result.pair_ns.median * result.pairs_per_s.median / (1e9 * (double)count);
        assert_true(ratio > 0.999999 && ratio < 1.000001);
        assert_int_equal(planted.alloc_count, planted.free_count);
        assert_int_equal(result.usage.vendor_calls, planted.first_alloc_count); /* at its end */
        /* Each thread plays to warm up and once more, a pair at least. */
        assert_true(planted.first_alloc_count >= 3 * count + 2 * count);
        assert_int_equal(planted.foreign_free_count, 0);
    }
}

/* Whatever a thread allocates, some thread frees, once; and with three of them most often another. */
static void threads_that_share_free_each_others_blocks(void **state)
{
    (void)state;
    threads_share = true;
    plant(FAULT_NONE, 0);
    struct tn_workload_list list = make_threads(3);
    struct tn_team_stop stop;
    struct tn_team_play play;
    struct tn_thread_team *team =
        tn_thread_team_create(&planted_allocator, NULL, &list.items[0], &stop);
    assert_non_null(team);
    assert_true(tn_thread_team_play(team, 0.05, &play, &stop));
    assert_int_equal(planted.alloc_count, 9 + play.pair_count);
    assert_int_equal(planted.free_count, play.pair_count);
    /* A thread that the system lets run alone finds its own blocks in all places, but not at first. */
    assert_true(planted.foreign_free_count >= 3);
    assert_true(tn_thread_team_destroy(team, &stop));
    assert_int_equal(planted.alloc_count, planted.free_count);
    tn_workload_list_fini(&list);

    for (size_t count = 1; count <= 3; count++) {
        struct tn_result result = measure_threads(count);
        assert_int_equal(result.outcome, TN_OUTCOME_MEASURED);
        assert_int_equal(planted.alloc_count, planted.free_count);
    }
    expect_threads_fail(FAULT_OVERLAP_BEFORE, 2, false, "overlaps the live block");
    expect_threads_fail(FAULT_FIRST_ADDRESS, 7, true, "overlaps the live block");
    expect_threads_fail(FAULT_ALLOC_FAILS, 7, false, ": TARN_STATUS_OUT_OF_MEMORY: as planted");
    assert_int_equal(planted.free_count, planted.alloc_count - 1);
    expect_threads_fail(FAULT_FREE_FAILS, 1, false, ": TARN_STATUS_NOT_LIVE: as planted");
    threads_share = false;
}

/* What a play says that it did is what the allocator was asked for, and took as long as it did. */
static void a_play_counts_the_pairs_of_all_threads(void **state)
{
    (void)state;
    struct tn_workload_list list = make_threads(3);
    plant(FAULT_NONE, 0);
    struct tn_team_stop stop;
    uint64_t start_ns = tn_clock_now_ns();
    struct tn_thread_team *team =
        tn_thread_team_create(&planted_allocator, NULL, &list.items[0], &stop);
    assert_non_null(team);
    size_t done = planted.alloc_count;
    assert_int_equal(done, 9);
    double duration_ns = 0.0;
    for (unsigned i = 0; i < 3; i++) {
        struct tn_team_play play;
        assert_true(tn_thread_team_play(team, 0.005, &play, &stop));
        assert_true(play.pair_count >= 3);
        assert_int_equal(play.pair_count, planted.alloc_count - done);
        done = planted.alloc_count;
        duration_ns += play.duration_ns;
    }
    assert_true(duration_ns > 0.0 && duration_ns <= (double)(tn_clock_now_ns() - start_ns));
    assert_int_equal(tn_thread_team_count_streams(team), 3);
    assert_true(tn_thread_team_destroy(team, &stop));
    assert_int_equal(planted.alloc_count, planted.free_count);
    tn_workload_list_fini(&list);
}

static void an_overlap_between_threads_is_found(void **state)
{
    (void)state;
    expect_threads_fail(FAULT_OVERLAP_BEFORE, 2, false, "overlaps the live block");
    expect_threads_fail(FAULT_FIRST_ADDRESS, 7, true, "overlaps the live block");
    expect_threads_fail(FAULT_UNALIGNED, 7, true, "is not aligned to 256 bytes");
}

static void a_failed_call_in_a_thread_is_found(void **state)
{
    (void)state;
    const char *no_memory = ": TARN_STATUS_OUT_OF_MEMORY: as planted";
    const char *not_live = ": TARN_STATUS_NOT_LIVE: as planted";
    expect_threads_fail(FAULT_ALLOC_FAILS, 2, false, no_memory);
    expect_threads_fail(FAULT_ALLOC_FAILS, 6, true, no_memory);
    expect_threads_fail(FAULT_ALLOC_FAILS, 7, false, no_memory);
    expect_threads_fail(FAULT_ALLOC_FAILS, 14, true, no_memory);
    expect_threads_fail(FAULT_FREE_FAILS, 1, false, not_live);
    expect_threads_fail(FAULT_FREE_FAILS, 7, true, not_live);
}

/* One thread alone frees twice in a row at the end, and not before. */
static void a_failed_free_at_the_end_is_found(void **state)
{
    (void)state;
    plant(FAULT_FREES_IN_A_ROW, 0);
    struct tn_result result = measure_threads(1);
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    assert_string_equal(result.reason.text, "1 x 3 of 1K to 4K: planted: thread 0: "
                                            "TARN_STATUS_NOT_LIVE: as planted");
    assert_true(planted.free_count > 3);
}

static void a_thread_may_not_open(void **state)
{
    (void)state;
    plant(FAULT_NONE, 0);
    planted.open_thread_status = TARN_STATUS_VENDOR_ERROR;
    struct tn_result result = measure_threads(2);
    assert_int_equal(result.outcome, TN_OUTCOME_FAILED);
    assert_string_equal(result.reason.text,
                        "2 x 3 of 1K to 4K: planted: thread 0: planted in a thread");
    assert_int_equal(planted.alloc_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_threads_are_apart),
        cmocka_unit_test(threads_are_measured),
        cmocka_unit_test(threads_that_share_free_each_others_blocks),
        cmocka_unit_test(a_play_counts_the_pairs_of_all_threads),
        cmocka_unit_test(an_overlap_between_threads_is_found),
        cmocka_unit_test(a_failed_call_in_a_thread_is_found),
        cmocka_unit_test(a_failed_free_at_the_end_is_found),
        cmocka_unit_test(a_thread_may_not_open),
        cmocka_unit_test(a_good_allocator_is_measured),
        cmocka_unit_test(an_overlap_names_both_lines),
        cmocka_unit_test(an_address_of_a_freed_block_is_no_overlap),
        cmocka_unit_test(a_bad_address_names_its_line),
        cmocka_unit_test(a_failed_call_names_its_line),
        cmocka_unit_test(a_run_without_time_has_four_passes),
        cmocka_unit_test(growth_is_measured_from_nothing_each_time),
        cmocka_unit_test(growth_until_full_ends_where_a_block_is_refused),
        cmocka_unit_test(the_worst_call_is_one_that_is_slow_each_time),
        cmocka_unit_test(many_calls_are_few_parts),
        cmocka_unit_test(what_stops_the_calls_is_told),
        cmocka_unit_test(a_failed_call_is_found_in_every_pass),
        cmocka_unit_test(an_overlap_in_the_last_pass_is_found),
        cmocka_unit_test(an_overlap_with_an_old_block_is_found),
        cmocka_unit_test(opening_may_fail),
        cmocka_unit_test(a_missing_allocator_is_not_found),
        cmocka_unit_test(what_does_not_fit_the_device_is_skipped),
        cmocka_unit_test(what_is_not_touched_needs_no_memory),
        cmocka_unit_test(workloads_take_turns_on_new_instances),
        cmocka_unit_test(repetitions_share_an_instance_that_takes_long_to_open),
        cmocka_unit_test(instances_that_take_long_to_close_are_fewer),
        cmocka_unit_test(long_passes_are_repeated_less_often),
        cmocka_unit_test(a_failure_is_found_in_every_visit),
        cmocka_unit_test(an_end_leaves_the_repetitions_that_were_done),
        cmocka_unit_test(a_disturbed_repetition_has_no_weight),
        cmocka_unit_test(workloads_of_one_command_are_measured_together),
        cmocka_unit_test(little_time_means_less_work),
        cmocka_unit_test(a_slow_start_leaves_many_passes),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_destroy);
}
