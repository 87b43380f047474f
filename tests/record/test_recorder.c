/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_recorder: a recording that does not go as it should: no host memory, a disk that hangs, a thread that is
 * cancelled or gets a signal. What is written down is tested through the library, in test_record.c.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/claims.h"
#include "harness/host_memory_faults.h"

#include "base/host_memory.h"
#include "base/sync.h"
#include "record/event.h"
#include "record/recorder.h"
#include "tarn/record.h"

#include "lines_of_events.h"

static char path[64];

/* A disk that hangs for as long as this is so, and then says that it is broken. */
static atomic_bool is_hanging;
static atomic_bool has_been_reached;

ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
    if (!atomic_load(&is_hanging)) return syscall(SYS_pwrite64, fd, buf, n, offset);
    atomic_store(&has_been_reached, true);
    while (atomic_load(&is_hanging))
        tn_thread_sleep_shortly();
    errno = EIO;
    return -1;
}

static int begin(void **state)
{
    snprintf(path, sizeof path, "/tmp/tarn-recorder-%d", (int)getpid());
    return 0;
}

static int end(void **state)
{
    unlink(path);
    return 0;
}

static void start(void)
{
    expect_ok(tn_recorder_start(path, "a test", false));
}

static struct tn_trace_summary stop_and_read(void)
{
    assert_true(tn_recorder_stop());
    return write_lines_of_events(path, NULL);
}

static void note_allocs(uintptr_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tn_recorder_note_alloc((const void *)(first + i), 1, NULL, "");
}

/* --- host memory -------------------------------------------------------------------------------------- */

/* More than there are. */
#define HOST_ALLOCATIONS 40

/* In a process of its own, whose threads have no writers yet. */
static void record_while_memory_fails(void *fail_at)
{
    tarn_recording recording = TARN_RECORDING_INIT;
    host_memory_faults_begin(*(unsigned *)fail_at);
    tarn_status started = tarn_record_start(path);
    if (started == TARN_STATUS_OK) note_allocs(1, 10);
    CHILD_EXPECT(tarn_record_stats(&recording) == TARN_STATUS_OK);
    tarn_status stopped = tarn_record_stop();
    bool has_failed = host_memory_faults_end();
    if (started != TARN_STATUS_OK) {
        CHILD_EXPECT(has_failed && started == TARN_STATUS_OUT_OF_HOST_MEMORY);
        CHILD_EXPECT(stopped == TARN_STATUS_INVALID_ARGUMENT);
    } else {
        CHILD_EXPECT(recording.event_count + recording.lost_count == 10);
        CHILD_EXPECT(stopped == TARN_STATUS_OK);
    }
    /* Once more, with memory. */
    CHILD_EXPECT(tarn_record_start(path) == TARN_STATUS_OK);
    note_allocs(1, 10);
    CHILD_EXPECT(tarn_record_stop() == TARN_STATUS_OK);
}

static void test_host_memory_fails(void **state)
{
    char old_path[80];
    snprintf(old_path, sizeof old_path, "%s.old", path);
    for (unsigned n = 1; n <= HOST_ALLOCATIONS; n++) {
        expect_in_child(record_while_memory_fails, &n);
        unlink(old_path);
    }
}

/* --- events ------------------------------------------------------------------------------------------- */

static void test_frees_of_nothing_are_no_events(void **state)
{
    start();
    note_allocs(1, 3);
    tn_recorder_note_free(NULL, NULL, tn_recorder_now());
    tn_recorder_note_free((const void *)1, NULL, tn_recorder_now());
    assert_int_equal(tn_recorder_count().event_count, 4);
    struct tn_trace_summary summary = stop_and_read();
    assert_int_equal(summary.free_count, 1);
    assert_int_equal(summary.unknown_count, 0);
    assert_int_equal(summary.live_count, 2);
}

/* --- threads ------------------------------------------------------------------------------------------ */

static void *note_three(void *argument)
{
    note_allocs(100, 3);
    return NULL;
}

static void *note_free_begun_before(void *begun_ns)
{
    tn_recorder_note_free((const void *)1, NULL, *(uint64_t *)begun_ns);
    return NULL;
}

static void run_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* It has read the clock, and another thread comes and goes before it has its place in the file. */
static void test_a_thread_that_stands_still_takes_nobodys_events(void **state)
{
    start();
    note_allocs(1, 1);
    uint64_t begun_ns = tn_recorder_now();
    run_thread(note_three, NULL);
    run_thread(note_free_begun_before, &begun_ns);
    run_thread(note_three, NULL);
    struct tn_trace_summary summary = stop_and_read();
    assert_int_equal(summary.thread_count, 4);
    assert_int_equal(tn_recorder_count().lost_count, 0);
}

static void *note_more_than_a_chunk(void *argument)
{
    note_allocs(1, 2 * TN_EVENTS_PER_CHUNK);
    return argument;
}

/* The thread keeps what it is at, the events are somebody's still, and the next recording is none of its business. */
static void test_a_disk_that_hangs_holds_nobody_up_for_ever(void **state)
{
    pthread_t thread;
    start();
    atomic_store(&is_hanging, true);
    assert_int_equal(pthread_create(&thread, NULL, note_more_than_a_chunk, NULL), 0);
    while (!atomic_load(&has_been_reached))
        tn_thread_sleep_shortly();
    assert_true(tn_recorder_stop());
    expect_no_lines_of_events(path, "still being written");
    atomic_store(&is_hanging, false);
    assert_int_equal(pthread_join(thread, NULL), 0);

    unlink(path);
    start();
    note_allocs(1, 10);
    assert_int_equal(stop_and_read().alloc_count, 10);
}

static void *record_and_be_cancelled(void *argument)
{
    pthread_cancel(pthread_self());
    if (tn_recorder_start(path, "a test", false) != TARN_STATUS_OK) return NULL;
    note_allocs(1, 2 * TN_EVENTS_PER_CHUNK);
    return tn_recorder_stop() ? argument : NULL;
}

static void test_a_thread_is_not_cancelled_in_the_middle(void **state)
{
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, record_and_be_cancelled, path), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, path);
    assert_int_equal(write_lines_of_events(path, NULL).alloc_count, 2 * TN_EVENTS_PER_CHUNK);
}

/* --- signals ------------------------------------------------------------------------------------------ */

/* Long for what must not wait at all. */
#define SIGNAL_SECONDS_MAX 30

static _Atomic uint64_t handled_count;

static void note_in_handler(int signal_number)
{
    atomic_fetch_add(&handled_count, 1);
    note_allocs(1, 1);
}

static void begin_signals(void)
{
    const struct sigaction action = { .sa_handler = note_in_handler, .sa_flags = SA_RESTART };
    alarm(SIGNAL_SECONDS_MAX);
    CHILD_EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
    CHILD_EXPECT(tn_recorder_start(path, "a test", false) == TARN_STATUS_OK);
}

static void *raise_and_alloc(size_t size_bytes)
{
    raise(SIGUSR1);
    return malloc(size_bytes);
}

/* In a process of its own, as above, which need not stop. */
static void get_a_signal_at_the_first_event(void *stops)
{
    const struct tn_host_memory_hooks hooks = { raise_and_alloc, free };
    begin_signals();
    tn_host_memory_set_hooks(&hooks);
    note_allocs(1, 1);
    tn_host_memory_set_hooks(NULL);
    CHILD_EXPECT(atomic_load(&handled_count) == 1);
    raise(SIGUSR1);
    struct tn_recorder_counts counts = tn_recorder_count();
    CHILD_EXPECT(counts.lost_count == 1 && counts.event_count == 2);
    if (*(bool *)stops) CHILD_EXPECT(tn_recorder_stop());
}

static void test_a_handler_at_the_first_event_loses_its_own(void **state)
{
    for (int i = 0; i < 2; i++) {
        bool stops = i == 1;
        expect_in_child(get_a_signal_at_the_first_event, &stops);
        struct tn_trace_summary summary = write_lines_of_events(path, NULL);
        assert_int_equal(summary.lost_count, 1);
        assert_int_equal(summary.alloc_count, 2);
        assert_int_equal(unlink(path), 0);
    }
}

#define IDLE_WRITERS  8
#define SHORT_THREADS 1000

static atomic_bool are_over;

static void *note_with_others(void *barrier)
{
    note_allocs(1, 1);
    pthread_barrier_wait(barrier);
    return barrier;
}

/* More than are in use at any time, so that no handler takes host memory, for which that is no place. */
static void leave_idle_writers(void)
{
    pthread_barrier_t barrier;
    pthread_t threads[IDLE_WRITERS];
    pthread_barrier_init(&barrier, NULL, IDLE_WRITERS);
    for (int i = 0; i < IDLE_WRITERS; i++)
        CHILD_EXPECT(pthread_create(&threads[i], NULL, note_with_others, &barrier) == 0);
    for (int i = 0; i < IDLE_WRITERS; i++)
        CHILD_EXPECT(pthread_join(threads[i], NULL) == 0);
    pthread_barrier_destroy(&barrier);
}

/* Begins, asks and ends: whatever a thread does with the lock of all. */
static void *note_once(void *argument)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    for (int i = 0; i < 1000; i++)
        (void)tn_recorder_count();
    note_allocs(1, 1);
    return argument;
}

static void *run_short_threads(void *argument)
{
    for (int i = 0; i < SHORT_THREADS; i++) {
        pthread_t thread;
        CHILD_EXPECT(pthread_create(&thread, NULL, note_once, NULL) == 0);
        CHILD_EXPECT(pthread_join(thread, NULL) == 0);
    }
    atomic_store(&are_over, true);
    return argument;
}

/* The short threads alone take signals, one after the other. */
static void get_signals_at_any_moment(void *argument)
{
    pthread_t thread;
    sigset_t signals;
    begin_signals();
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    CHILD_EXPECT(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
    leave_idle_writers();
    CHILD_EXPECT(pthread_create(&thread, NULL, run_short_threads, NULL) == 0);
    /* Not so many that nothing but the handler runs. */
    while (!atomic_load(&are_over) &&
           nanosleep(&(const struct timespec){ .tv_nsec = 1 }, NULL) == 0)
        kill(getpid(), SIGUSR1);
    CHILD_EXPECT(pthread_join(thread, NULL) == 0);
    struct tn_recorder_counts counts = tn_recorder_count();
    CHILD_EXPECT(counts.event_count + counts.lost_count ==
                 IDLE_WRITERS + SHORT_THREADS + atomic_load(&handled_count));
    CHILD_EXPECT(tn_recorder_stop());
}

static void test_handlers_at_any_moment_hold_nobody_up(void **state)
{
    expect_in_child(get_signals_at_any_moment, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_host_memory_fails, begin, end),
        cmocka_unit_test_setup_teardown(test_a_handler_at_the_first_event_loses_its_own, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_handlers_at_any_moment_hold_nobody_up, begin, end),
        cmocka_unit_test_setup_teardown(test_frees_of_nothing_are_no_events, begin, end),
        cmocka_unit_test_setup_teardown(test_a_thread_that_stands_still_takes_nobodys_events, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_disk_that_hangs_holds_nobody_up_for_ever, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_thread_is_not_cancelled_in_the_middle, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
