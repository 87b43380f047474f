/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_event_file: a file of events on disks that are full, slow, interrupted or without locks, and in programs that
 * close what they did not open. The system's calls that it makes are this test's, which makes them fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/claims.h"

#include "record/event_file.h"

static char path[64], old_path[80];
static struct tn_event_file file;

/* --- the system's calls ------------------------------------------------------------------------------- */

/* What the next calls answer, before they do as always. Their parameters have the names that the system gives them. */
static struct {
    int flock_error;
    int fallocate_error;
    int interruptions;      /* so often EINTR */
    size_t write_bytes_max; /* 0: any */
    int write_error;
} faults;

int flock(int fd, int operation)
{
    errno = faults.flock_error;
    if (faults.flock_error != 0) return -1;
    return (int)syscall(SYS_flock, fd, operation);
}

int posix_fallocate(int fd, off_t offset, off_t len)
{
    if (faults.interruptions > 0 && faults.interruptions--) return EINTR;
    if (faults.fallocate_error != 0) return faults.fallocate_error;
    return syscall(SYS_fallocate, fd, 0, offset, len) == 0 ? 0 : errno;
}

/* A point at which threads are cancelled, as the C library's. */
ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
    pthread_testcancel();
    errno = EINTR;
    if (faults.interruptions > 0 && faults.interruptions--) return -1;
    errno = faults.write_error;
    if (faults.write_error != 0) return -1;
    if (faults.write_bytes_max > 0 && n > faults.write_bytes_max) n = faults.write_bytes_max;
    return syscall(SYS_pwrite64, fd, buf, n, offset);
}

static int begin(void **state)
{
    memset(&faults, 0, sizeof faults);
    snprintf(path, sizeof path, "/tmp/tarn-event-file-%d", (int)getpid());
    snprintf(old_path, sizeof old_path, "%s.old", path);
    file.descriptor = -1;
    return 0;
}

static int end(void **state)
{
    if (file.descriptor >= 0) tn_event_file_close(&file);
    unlink(path);
    unlink(old_path);
    return 0;
}

static void open_file(void)
{
    expect_ok(tn_event_file_open(&file, path, "a test", false));
}

static off_t bytes_of(const char *name)
{
    struct stat status;
    return stat(name, &status) == 0 ? status.st_size : -1;
}

static struct tn_event_chunk *add_full_chunk(void)
{
    struct tn_event_chunk *chunk = tn_event_file_add_chunk(&file, 1);
    assert_non_null(chunk);
    for (size_t i = 0; i < TN_EVENTS_PER_CHUNK; i++) {
        chunk->events[i].address = i;
        atomic_store(&chunk->events[i].stamp, tn_event_stamp(i, TN_EVENT_ALLOC));
    }
    return chunk;
}

/* --- disks -------------------------------------------------------------------------------------------- */

static void test_a_chunk_is_written_in_parts(void **state)
{
    open_file();
    faults.interruptions = 2;
    struct tn_event_chunk *chunk = add_full_chunk();
    assert_int_equal(faults.interruptions, 0);
    faults.interruptions = 3;
    faults.write_bytes_max = 1000;
    errno = 4711;
    assert_true(tn_event_file_turn_chunk(&file, chunk));
    assert_int_equal(errno, 4711);
    assert_int_equal(faults.interruptions, 0);

    struct tn_event_chunk copy;
    int descriptor = open(path, O_RDONLY);
    assert_int_equal(
        pread(descriptor, &copy, sizeof copy, TN_EVENT_FILE_HEADER_BYTES + TN_EVENT_CHUNK_BYTES),
        sizeof copy);
    close(descriptor);
    assert_int_equal(copy.number, 0);
    assert_int_equal(copy.events[TN_EVENTS_PER_CHUNK - 1].address, TN_EVENTS_PER_CHUNK - 1);
    assert_int_equal(chunk->number, 1);
    assert_int_equal(atomic_load(&chunk->events[0].stamp), 0);
    tn_event_file_leave_chunk(chunk);
}

static void test_a_full_disk(void **state)
{
    faults.fallocate_error = ENOSPC;
    expect_status(TARN_STATUS_FILE_ERROR, tn_event_file_open(&file, path, "a test", false));
    expect_message("has no room: No space left on device");
    assert_int_equal(bytes_of(path), -1);

    faults.fallocate_error = 0;
    open_file();
    struct tn_event_chunk *chunk = add_full_chunk();
    faults.write_error = ENOSPC;
    assert_false(tn_event_file_turn_chunk(&file, chunk));
    /* It stays as it was, and what comes later is refused, room or not: else the order would have a gap. */
    assert_int_equal(chunk->number, 0);
    assert_int_equal(chunk->events[7].address, 7);
    faults.write_error = 0;
    assert_false(tn_event_file_turn_chunk(&file, chunk));
    assert_null(tn_event_file_add_chunk(&file, 2));
    tn_event_file_leave_chunk(chunk);
}

static void test_no_room_for_a_chunk(void **state)
{
    open_file();
    faults.fallocate_error = EDQUOT;
    errno = 4711;
    assert_null(tn_event_file_add_chunk(&file, 1));
    assert_int_equal(errno, 4711);
}

/* --- locks -------------------------------------------------------------------------------------------- */

static void test_who_writes_is_left_alone(void **state)
{
    struct tn_event_file second = { .descriptor = -1 };
    open_file();
    expect_status(TARN_STATUS_FILE_ERROR, tn_event_file_open(&second, path, "a test", false));
    expect_message("is being written by another process");
    tn_event_file_close(&file);
    expect_ok(tn_event_file_open(&second, path, "a test", false));
    assert_int_equal(bytes_of(old_path), TN_EVENT_FILE_HEADER_BYTES);
    expect_status(TARN_STATUS_FILE_ERROR, tn_event_file_open(&file, path, "a test", true));
    expect_message("File exists");
    tn_event_file_close(&second);
}

/* As on disks of clusters: one can record, and what is there may be somebody's. */
static void test_a_disk_without_locks(void **state)
{
    struct tn_event_file second = { .descriptor = -1 };
    faults.flock_error = ENOSYS;
    open_file();
    expect_status(TARN_STATUS_FILE_ERROR, tn_event_file_open(&second, path, "a test", false));
    expect_message("is there already, and on this disk no lock tells");
    assert_int_equal(bytes_of(old_path), -1);
    assert_int_equal(bytes_of(path), TN_EVENT_FILE_HEADER_BYTES);
}

/* --- descriptors -------------------------------------------------------------------------------------- */

static void test_another_file_in_the_descriptors_place_is_not_touched(void **state)
{
    open_file();
    struct tn_event_chunk *chunk = add_full_chunk();
    int precious = open(old_path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(dup2(precious, file.descriptor), file.descriptor);
    assert_false(tn_event_file_turn_chunk(&file, chunk));
    assert_null(tn_event_file_add_chunk(&file, 2));
    int descriptor = file.descriptor;
    tn_event_file_leave_chunk(chunk);
    tn_event_file_close(&file);
    assert_int_equal(bytes_of(old_path), 0);
    assert_int_not_equal(fcntl(descriptor, F_GETFD), -1);
    close(descriptor);
    close(precious);
}

static void test_the_descriptor_is_none_of_the_standard_ones(void **state)
{
    int kept = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    open_file();
    assert_true(file.descriptor > STDERR_FILENO);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    assert_int_equal(fcntl(file.descriptor, F_GETFD), FD_CLOEXEC);
    assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
    close(kept);
}

/* --- cancellation ------------------------------------------------------------------------------------- */

static void *turn_and_be_cancelled(void *chunk)
{
    pthread_cancel(pthread_self());
    bool is_turned = tn_event_file_turn_chunk(&file, chunk);
    return is_turned ? chunk : NULL;
}

static void test_a_thread_is_not_cancelled_in_the_middle(void **state)
{
    pthread_t thread;
    void *result;
    open_file();
    struct tn_event_chunk *chunk = add_full_chunk();
    assert_int_equal(pthread_create(&thread, NULL, turn_and_be_cancelled, chunk), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, chunk);
    assert_int_equal(chunk->number, 1);
    tn_event_file_leave_chunk(chunk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_chunk_is_written_in_parts, begin, end),
        cmocka_unit_test_setup_teardown(test_a_full_disk, begin, end),
        cmocka_unit_test_setup_teardown(test_no_room_for_a_chunk, begin, end),
        cmocka_unit_test_setup_teardown(test_who_writes_is_left_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_a_disk_without_locks, begin, end),
        cmocka_unit_test_setup_teardown(test_another_file_in_the_descriptors_place_is_not_touched,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_the_descriptor_is_none_of_the_standard_ones, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_thread_is_not_cancelled_in_the_middle, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
