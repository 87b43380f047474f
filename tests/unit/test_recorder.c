/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_recorder: a recording that does not go as it should: no host memory, a disk that hangs, a thread that is
 * cancelled. What is written down is tested through the library, in tests/record.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/claims.h"
#include "harness/host_memory_faults.h"

#include "base/sync.h"
#include "record/event.h"
#include "record/recorder.h"
#include "record/trace_writer.h"
#include "tarn/record.h"

static char path[64], trace_path[64];

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
    (void)state;
    snprintf(path, sizeof path, "/tmp/tarn-recorder-%d", (int)getpid());
    snprintf(trace_path, sizeof trace_path, "/tmp/tarn-recorder-%d.trace", (int)getpid());
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    unlink(trace_path);
    return 0;
}

static void start(void)
{
    expect_ok(tn_recorder_start(path, "a test", false));
}

static struct tn_trace_summary stop_and_write(void)
{
    struct tn_trace_summary summary;
    assert_true(tn_recorder_stop());
    expect_ok(tn_trace_write(path, trace_path, &summary));
    return summary;
}

static void note_allocs(uintptr_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tn_recorder_note_alloc((const void *)(first + i), 1, NULL);
}

/* --- host memory -------------------------------------------------------------------------------------- */

/* More than there are. */
#define HOST_ALLOCATIONS 40

/* In a process of its own, whose threads have no writers yet. */
static void record_while_memory_fails(void *fail_at)
{
    tarn_recording recording = TARN_RECORDING_INIT;
    host_memory_faults_begin(*(unsigned *)fail_at);
    tarn_status started = tarn_record_start(trace_path);
    if (started == TARN_STATUS_OK) note_allocs(1, 10);
    CHILD_EXPECT(tarn_record_stats(&recording) == TARN_STATUS_OK);
    tarn_status stopped = tarn_record_stop();
    bool has_failed = host_memory_faults_end();
    if (started != TARN_STATUS_OK) {
        CHILD_EXPECT(has_failed && started == TARN_STATUS_OUT_OF_HOST_MEMORY);
        CHILD_EXPECT(stopped == TARN_STATUS_INVALID_ARGUMENT);
    } else {
        CHILD_EXPECT(recording.event_count + recording.lost_count == 10);
        CHILD_EXPECT(stopped == TARN_STATUS_OK || has_failed);
    }
    /* Once more, with memory. */
    CHILD_EXPECT(tarn_record_start(trace_path) == TARN_STATUS_OK);
    note_allocs(1, 10);
    CHILD_EXPECT(tarn_record_stop() == TARN_STATUS_OK);
}

static void test_host_memory_fails(void **state)
{
    (void)state;
    char old_path[80];
    snprintf(old_path, sizeof old_path, "%s.events.old", trace_path);
    for (unsigned n = 1; n <= HOST_ALLOCATIONS; n++) {
        expect_in_child(record_while_memory_fails, &n);
        unlink(old_path);
    }
}

/* --- events ------------------------------------------------------------------------------------------- */

static void test_frees_of_nothing_are_no_events(void **state)
{
    (void)state;
    start();
    note_allocs(1, 3);
    tn_recorder_note_free(NULL, NULL, tn_recorder_now());
    tn_recorder_note_free((const void *)1, NULL, tn_recorder_now());
    assert_int_equal(tn_recorder_count().event_count, 4);
    struct tn_trace_summary summary = stop_and_write();
    assert_int_equal(summary.free_count, 1);
    assert_int_equal(summary.unknown_count, 0);
    assert_int_equal(summary.live_count, 2);
}

/* --- threads ------------------------------------------------------------------------------------------ */

static void *note_more_than_a_chunk(void *argument)
{
    note_allocs(1, 2 * TN_EVENTS_PER_CHUNK);
    return argument;
}

/* The thread keeps what it is at, the events are somebody's still, and the next recording is none of its business. */
static void test_a_disk_that_hangs_holds_nobody_up_for_ever(void **state)
{
    (void)state;
    struct tn_trace_summary summary;
    pthread_t thread;
    start();
    atomic_store(&is_hanging, true);
    assert_int_equal(pthread_create(&thread, NULL, note_more_than_a_chunk, NULL), 0);
    while (!atomic_load(&has_been_reached))
        tn_thread_sleep_shortly();
    assert_true(tn_recorder_stop());
    expect_status(TARN_STATUS_FILE_ERROR, tn_trace_write(path, trace_path, &summary));
    expect_message("still being written");
    atomic_store(&is_hanging, false);
    assert_int_equal(pthread_join(thread, NULL), 0);

    unlink(path);
    start();
    note_allocs(1, 10);
    assert_int_equal(stop_and_write().alloc_count, 10);
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
    (void)state;
    struct tn_trace_summary summary;
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, record_and_be_cancelled, trace_path), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, trace_path);
    expect_ok(tn_trace_write(path, trace_path, &summary));
    assert_int_equal(summary.alloc_count, 2 * TN_EVENTS_PER_CHUNK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_host_memory_fails, begin, end),
        cmocka_unit_test_setup_teardown(test_frees_of_nothing_are_no_events, begin, end),
        cmocka_unit_test_setup_teardown(test_a_disk_that_hangs_holds_nobody_up_for_ever, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_thread_is_not_cancelled_in_the_middle, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
