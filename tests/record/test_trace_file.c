/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_trace_file: traces take their places whole, compressed or not, and events go only when there is a trace. */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "harness/claims.h"
#include "harness/scratch_folder.h"

#include "record/recorder.h"

#include "../../recorders/trace_file.h"
#include "lines_of_events.h"

#define ALLOCS 10000

static void record(const char *event_path, size_t count)
{
    expect_ok(tn_recorder_start(event_path, "a test", false));
    for (size_t i = 1; i <= count; i++)
        tn_recorder_note_alloc((const void *)(i << 8), i, NULL, "");
    assert_true(tn_recorder_stop());
}

static void expect_made(const char *event_path, const char *trace_path, bool keeps_events)
{
    struct tn_trace_summary summary;
    struct tn_failure failure;
    if (!tn_trace_file_make(event_path, trace_path, keeps_events, &summary, &failure))
        fail_msg("%s", failure.text);
}

static void expect_failure(const char *event_path, const char *trace_path, const char *text)
{
    struct tn_trace_summary summary;
    struct tn_failure failure;
    assert_false(tn_trace_file_make(event_path, trace_path, false, &summary, &failure));
    assert_string_equal(failure.text, text);
}

static bool exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static char *read_text(const char *path, bool *is_gzip_out)
{
    static char text[ALLOCS * 40];
    gzFile file = gzopen(path, "rb");
    assert_non_null(file);
    int length = gzread(file, text, sizeof text - 1);
    assert_in_range(length, 1, sizeof text - 2);
    text[length] = '\0';
    *is_gzip_out = gzdirect(file) == 0;
    assert_int_equal(gzclose_r(file), Z_OK);
    return text;
}

static long size_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (long)status.st_size;
}

/* Exactly the lines, with either ending. */
static void test_the_ending_decides_on_compression(void **state)
{
    bool is_gzip;
    record("kinds", ALLOCS);
    write_lines_of_events("kinds", "expected");
    char *expected = strdup(read_text("expected", &is_gzip));
    assert_non_null(expected);
    expect_made("kinds", "kinds.txt", true);
    assert_string_equal(read_text("kinds.txt", &is_gzip), expected);
    assert_false(is_gzip);
    expect_made("kinds", "kinds.gz", true);
    assert_string_equal(read_text("kinds.gz", &is_gzip), expected);
    assert_true(is_gzip);
    assert_true(size_of("kinds.gz") < size_of("kinds.txt") * 6 / 10);
    free(expected);
    assert_true(tn_trace_is_of_events("kinds"));
}

static void test_a_trace_takes_the_place_of_its_events(void **state)
{
    bool is_gzip;
    record("place.gz", 10);
    assert_int_equal(link("place.gz", "linked"), 0);
    expect_made("place.gz", "place.gz", false);
    assert_non_null(strstr(read_text("place.gz", &is_gzip), "# events: 10\n"));
    assert_true(is_gzip);
    /* Another name of the file is replaced as well, and the first one stays. */
    expect_made("linked", "linked", false);
    assert_non_null(strstr(read_text("linked", &is_gzip), "# events: 10\n"));
    assert_false(is_gzip);
}

static void test_the_events_go_when_the_trace_is_there(void **state)
{
    record("going.events", 10);
    expect_failure("going.events", "/dev/full",
                   "/dev/full cannot be written: No space left on device; the events are kept in "
                   "going.events");
    expect_failure("going.events", "no/such/folder",
                   "no/such/folder cannot be written: No such file or directory; the events are "
                   "kept in going.events");
    assert_int_equal(symlink("going.events", "link"), 0);
    expect_failure("going.events", "link", "link would be written over the events");
    expect_failure("none.events", "trace", "none.events cannot be read: No such file or directory");
    assert_true(tn_trace_is_of_events("going.events"));
    expect_made("going.events", "going", false);
    assert_false(exists("going.events"));
}

/* What is in its place stays, and nothing else is left. */
static void test_a_limit_on_files_keeps_what_is_there(void **state)
{
    record("limited.events", ALLOCS);
    FILE *old = fopen("limited", "w");
    assert_non_null(old);
    assert_int_equal(fputs("old", old) >= 0, 1);
    assert_int_equal(fclose(old), 0);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){ 100000, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    expect_failure("limited.events", "limited",
                   "limited cannot be written: File too large; the events are kept in "
                   "limited.events");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(size_of("limited"), 3);
    glob_t left;
    assert_int_equal(glob("*partial*", 0, NULL, &left), GLOB_NOMATCH);
    expect_made("limited.events", "limited", false);
}

static void test_a_link_stays(void **state)
{
    bool is_gzip;
    record("behind.events", 10);
    assert_int_equal(symlink("behind", "before"), 0);
    expect_made("behind.events", "before", false);
    struct stat status;
    assert_int_equal(lstat("before", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_non_null(strstr(read_text("behind", &is_gzip), "# events: 10\n"));
    /* Nor is the file behind it touched for what is no file of events. */
    expect_failure("expected", "before", "expected is not a file of events");
    assert_non_null(strstr(read_text("behind", &is_gzip), "# events: 10\n"));
}

/* Into a pipe, whose reader is the program that begins anew meanwhile. */
static void *set_aside_and_read(void *argument)
{
    char bytes[4096];
    int pipe_end = open("pipe", O_RDONLY);
    if (pipe_end < 0 || read(pipe_end, bytes, 1) != 1 ||
        rename("anew.events", "anew.events.old") != 0)
        return NULL;
    FILE *anew = fopen("anew.events", "w");
    if (!anew || fclose(anew) != 0) return NULL;
    while (read(pipe_end, bytes, sizeof bytes) > 0) {
    }
    close(pipe_end);
    return argument;
}

static void test_a_recording_that_began_meanwhile_keeps_its_events(void **state)
{
    pthread_t reader;
    void *result;
    record("anew.events", ALLOCS); /* more than a pipe holds */
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(pthread_create(&reader, NULL, set_aside_and_read, "read"), 0);
    expect_made("anew.events", "pipe", false);
    assert_int_equal(pthread_join(reader, &result), 0);
    assert_non_null(result);
    assert_int_equal(size_of("anew.events"), 0);
    assert_true(exists("pipe"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_ending_decides_on_compression),
        cmocka_unit_test(test_a_trace_takes_the_place_of_its_events),
        cmocka_unit_test(test_the_events_go_when_the_trace_is_there),
        cmocka_unit_test(test_a_limit_on_files_keeps_what_is_there),
        cmocka_unit_test(test_a_link_stays),
        cmocka_unit_test(test_a_recording_that_began_meanwhile_keeps_its_events),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, leave_scratch_folder);
}
