/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_trace_writer: traces of files of events that are made by hand: orders that threads rarely produce, and what a
 * killed process leaves in the middle of something.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#include "base/host_memory.h"
#include "record/event.h"
#include "record/recorder.h"

#include "lines_of_events.h"

static char event_path[64], trace_path[64];

static int create_paths(void **state)
{
    snprintf(event_path, sizeof event_path, "/tmp/tarn-events-%d", (int)getpid());
    snprintf(trace_path, sizeof trace_path, "/tmp/tarn-trace-%d", (int)getpid());
    return 0;
}

static int remove_files(void **state)
{
    unlink(event_path);
    unlink(trace_path);
    return 0;
}

/* --- files by hand ------------------------------------------------------------------------------------ */

static FILE *events;
static struct tn_event_chunk chunk;
static size_t event_count;

static void begin_file(void)
{
    union {
        struct tn_event_file_header header;
        char bytes[TN_EVENT_FILE_HEADER_BYTES];
    } head = { .header = { TN_EVENT_FILE_MAGIC, sizeof(struct tn_event), TN_EVENT_CHUNK_BYTES, 4711,
                           0, "program", "by hand" } };
    events = fopen(event_path, "wb");
    assert_non_null(events);
    assert_int_equal(fwrite(&head, sizeof head, 1, events), 1);
}

static void begin_chunk(uint64_t writer, uint64_t number)
{
    memset(&chunk, 0, sizeof chunk);
    chunk.writer = writer;
    chunk.number = number;
    atomic_init(&chunk.ready, TN_EVENT_CHUNK_READY);
    event_count = 0;
}

static void add(enum tn_event_kind kind, uint64_t time_ns, uint64_t address, uint64_t size_bytes)
{
    struct tn_event *event = &chunk.events[event_count++];
    event->address = address;
    event->size_bytes = size_bytes;
    event->stream = 0;
    atomic_init(&event->stamp, tn_event_stamp(time_ns, kind));
}

static void end_chunk(void)
{
    assert_int_equal(fwrite(&chunk, sizeof chunk, 1, events), 1);
}

static void end_file(void)
{
    assert_int_equal(fclose(events), 0);
}

/* The lines of the trace between head and tail. */
static void expect_trace(const char *expected)
{
    char text[4096] = "", line[1024];
    size_t length = 0;
    write_lines_of_events(event_path, trace_path);
    FILE *trace = fopen(trace_path, "r");
    assert_non_null(trace);
    while (fgets(line, sizeof line, trace)) {
        if (line[0] == '#' && strncmp(line, "# label", 7) != 0) continue;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s", line);
        assert_true(length < sizeof text);
    }
    fclose(trace);
    assert_string_equal(text, expected);
}

/* --- order -------------------------------------------------------------------------------------------- */

/* One thread frees what another allocates at the same address, and a third what it got before, all at once. */
static void test_events_of_one_moment_are_in_an_order_that_can_be(void **state)
{
    begin_file();
    begin_chunk(1, 0);
    add(TN_EVENT_THREAD, 1, 10, 0);
    add(TN_EVENT_ALLOC, 5, 0x2000, 200); /* after the free of the other */
    end_chunk();
    begin_chunk(2, 0);
    add(TN_EVENT_THREAD, 1, 20, 0);
    add(TN_EVENT_ALLOC, 1, 0x2000, 100);
    add(TN_EVENT_FREE, 5, 0x1000, 0); /* of what the third allocates at that moment */
    add(TN_EVENT_FREE, 5, 0x2000, 0);
    end_chunk();
    begin_chunk(3, 0);
    add(TN_EVENT_THREAD, 2, 30, 0);
    add(TN_EVENT_ALLOC, 5, 0x1000, 300);
    end_chunk();
    end_file();
    expect_trace("a 0 100 0 0 1\n"
                 "f 0 0 0 5\n"
                 "a 1 300 0 1 5\n"
                 "a 2 200 0 2 5\n"
                 "f 1 0 0 5\n");
}

/* A free that calls back, which allocates, is written after that, with the time at which it began. */
static void test_a_writer_is_sorted(void **state)
{
    begin_file();
    begin_chunk(1, 0);
    add(TN_EVENT_THREAD, 1, 1, 0);
    add(TN_EVENT_ALLOC, 1, 0x1000, 100);
    add(TN_EVENT_ALLOC, 4, 0x3000, 200);
    add(TN_EVENT_ALLOC, 5, 0x1000, 300);
    add(TN_EVENT_FREE, 3, 0x1000, 0);
    end_chunk();
    end_file();
    expect_trace("a 0 100 0 0 1\n"
                 "f 0 0 0 3\n"
                 "a 1 200 0 0 4\n"
                 "a 2 300 0 0 5\n");
}

#define HOSTILE_CHUNKS 150
#define HOSTILE_EVENTS (HOSTILE_CHUNKS * (uint64_t)TN_EVENTS_PER_CHUNK)

/* A file in the reverse order, with pairs of equal times, which the address tells apart. The live chunk, with the last
 * number, is the first one in the file. */
static void write_hostile_file(void)
{
    uint64_t count = 0;
    begin_file();
    for (uint64_t i = 0; i <= HOSTILE_CHUNKS; i++) {
        begin_chunk(1, i == 0 ? HOSTILE_CHUNKS : i - 1);
        for (size_t k = 0; i > 0 && k < TN_EVENTS_PER_CHUNK; k++, count++)
            add(TN_EVENT_ALLOC, (HOSTILE_EVENTS - count) / 2 + 1, 0x1000 + count, count + 1);
        end_chunk();
    }
    end_file();
}

/* Seconds and not hours: events that are far from their places are not moved one by one. */
static void test_a_hostile_order_takes_no_longer(void **state)
{
    unsigned long long numbers[5], last_bytes = 0, last_ns = 0, count = 0;
    char line[200];
    write_hostile_file();
    clock_t begun = clock();
    struct tn_trace_summary summary = write_lines_of_events(event_path, trace_path);
    double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    if (seconds > 20.0) fail_msg("%.0f s", seconds);
    assert_int_equal(summary.alloc_count, HOSTILE_EVENTS);
    FILE *trace = fopen(trace_path, "r");
    assert_non_null(trace);
    while (fgets(line, sizeof line, trace)) {
        if (line[0] != 'a') continue;
        char *rest = line + 1;
        for (size_t i = 0; i < 5; i++)
            numbers[i] = strtoull(rest, &rest, 10);
        const unsigned long long id = numbers[0], bytes = numbers[1], time_ns = numbers[4];
        if (id != count || time_ns < last_ns || (time_ns == last_ns && bytes != last_bytes + 1))
            fail_msg("after %llu bytes at %llu: %s", last_bytes, last_ns, line);
        last_ns = time_ns;
        last_bytes = bytes;
        count++;
    }
    fclose(trace);
    assert_int_equal(count, HOSTILE_EVENTS);
}

/* Half of the events allocate, and each of the others says that a range is gone in which nothing is live. */
static void test_hostile_ranges_take_no_longer(void **state)
{
    const uint64_t alloc_count = HOSTILE_EVENTS / 2;
    uint64_t count = 0;
    begin_file();
    for (uint64_t i = 0; i <= HOSTILE_CHUNKS; i++) {
        begin_chunk(1, i == 0 ? HOSTILE_CHUNKS : i - 1);
        for (size_t k = 0; i > 0 && k < TN_EVENTS_PER_CHUNK; k++, count++) {
            if (count < alloc_count)
                add(TN_EVENT_ALLOC, count + 1, 0x1000 * (count + 1), 16);
            else if (count + 1 < HOSTILE_EVENTS)
                add(TN_EVENT_GONE, count + 1, 0x1000 * (HOSTILE_EVENTS - count) + 1, 0xfff);
            else
                add(TN_EVENT_GONE, count + 1, 0x1000, 0x1000 * (alloc_count - 1));
        }
        end_chunk();
    }
    end_file();
    clock_t begun = clock();
    struct tn_trace_summary summary = write_lines_of_events(event_path, trace_path);
    double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    if (seconds > 20.0) fail_msg("%.0f s", seconds);
    assert_int_equal(summary.alloc_count, alloc_count);
    assert_int_equal(summary.free_count, alloc_count - 1);
    assert_int_equal(summary.live_count, 1);
}

/* What a thread does in the middle of its first free of all comes before that in the file. */
static void test_a_threads_first_event_may_be_out_of_order(void **state)
{
    begin_file();
    begin_chunk(1, 0);
    add(TN_EVENT_THREAD, 1, 1, 0);
    add(TN_EVENT_ALLOC, 1, 0x1000, 100);
    add(TN_EVENT_ALLOC, 4, 0x1000, 300);
    end_chunk();
    begin_chunk(2, 0);
    add(TN_EVENT_THREAD, 5, 2, 0);
    add(TN_EVENT_ALLOC, 5, 0x3000, 200);
    add(TN_EVENT_FREE, 3, 0x1000, 0);
    end_chunk();
    end_file();
    expect_trace("a 0 100 0 0 1\n"
                 "f 0 0 1 3\n"
                 "a 1 300 0 0 4\n"
                 "a 2 200 0 1 5\n");
}

static void test_what_began_earlier_or_is_missing(void **state)
{
    begin_file();
    begin_chunk(1, 0);
    add(TN_EVENT_THREAD, 1, 1, 0);
    add(TN_EVENT_FREE, 1, 0x9000, 0); /* of an earlier time */
    add(TN_EVENT_ALLOC, 2, 0x1000, 100);
    add(TN_EVENT_ALLOC, 3, 0x1000, 200); /* the free before it was not recorded */
    add(TN_EVENT_ALLOC, 4, 0, 0);        /* of no bytes, and over at once */
    add(TN_EVENT_ALLOC, 4, 0, 0);
    add(TN_EVENT_ALLOC, 7, 0x2000, 300);
    add(TN_EVENT_ALLOC, 8, 0x5000, 400);
    add(TN_EVENT_GONE, 9, 0x1000, 0x4000);
    end_chunk();
    end_file();
    expect_trace("a 0 100 0 0 2\n"
                 "f 0 0 0 3\n"
                 "a 1 200 0 0 3\n"
                 "a 2 0 0 0 4\n"
                 "f 2 0 0 4\n"
                 "a 3 0 0 0 4\n"
                 "f 3 0 0 4\n"
                 "a 4 300 0 0 7\n"
                 "a 5 400 0 0 8\n"
                 "f 1 0 0 9\n"
                 "f 4 0 0 9\n");
}

static void test_labels_are_lines_of_their_own(void **state)
{
    uint64_t text[3];
    begin_file();
    begin_chunk(1, 0);
    add(TN_EVENT_THREAD, 1, 1, 0);
    memcpy(text, "twenty-four letters long", 24);
    add(TN_EVENT_LABEL, 1, text[0], text[1]);
    chunk.events[event_count - 1].stream = text[2];
    memcpy(text, ", and\nmore\0\0\0\0\0", 16);
    add(TN_EVENT_LABEL, 1, text[0], text[1]);
    add(TN_EVENT_ALLOC, 1, 0x1000, 100);
    add(TN_EVENT_ALLOC, 2, 0x2000, 200);
    add(TN_EVENT_LABEL, 3, text[0], text[1]); /* without its allocation */
    end_chunk();
    end_file();
    expect_trace("# label: 0 twenty-four letters long, and?more\n"
                 "a 0 100 0 0 1\n"
                 "a 1 200 0 0 2\n");
}

/* --- crashes ------------------------------------------------------------------------------------------ */

static void fill_chunk(uint64_t number)
{
    begin_chunk(1, number);
    if (number == 0) add(TN_EVENT_THREAD, 1, 1, 0);
    while (event_count < TN_EVENTS_PER_CHUNK)
        add(TN_EVENT_ALLOC, 1 + number, 0x1000 * (10000 * number + event_count + 1), 1);
}

static uint64_t count_allocs(void)
{
    return write_lines_of_events(event_path, NULL).alloc_count;
}

static void test_an_event_half_written_is_none(void **state)
{
    begin_file();
    begin_chunk(1, 0);
    add(TN_EVENT_THREAD, 1, 1, 0);
    add(TN_EVENT_ALLOC, 2, 0x1000, 100);
    add(TN_EVENT_ALLOC, 3, 0x2000, 200);
    atomic_init(&chunk.events[event_count - 1].stamp, 0);
    end_chunk();
    end_file();
    expect_trace("a 0 100 0 0 2\n");
}

/* The live chunk comes first in the file, then the copies. */
static void test_a_chunk_that_was_being_copied_counts_once(void **state)
{
    /* The copy is whole, and the live one not emptied yet. */
    begin_file();
    fill_chunk(0);
    end_chunk();
    end_chunk();
    end_file();
    assert_int_equal(count_allocs(), TN_EVENTS_PER_CHUNK - 1);

    /* The copy is cut. */
    begin_file();
    fill_chunk(0);
    end_chunk();
    assert_int_equal(fwrite(&chunk, sizeof chunk / 2, 1, events), 1);
    end_file();
    assert_int_equal(count_allocs(), TN_EVENTS_PER_CHUNK - 1);

    /* The live one is being emptied. */
    begin_file();
    fill_chunk(0);
    atomic_init(&chunk.ready, 0);
    memset(chunk.events, 0, sizeof chunk.events / 2);
    end_chunk();
    fill_chunk(0);
    end_chunk();
    end_file();
    assert_int_equal(count_allocs(), TN_EVENTS_PER_CHUNK - 1);

    /* It has been, and has gone on. */
    begin_file();
    begin_chunk(1, 1);
    add(TN_EVENT_ALLOC, 9, 8, 1);
    end_chunk();
    fill_chunk(0);
    end_chunk();
    end_file();
    assert_int_equal(count_allocs(), TN_EVENTS_PER_CHUNK);
}

/* --- damage ------------------------------------------------------------------------------------------- */

/* A part that the machine had not written when it went down, in the middle of many. */
static void test_a_hole_costs_what_was_in_it(void **state)
{
    begin_file();
    begin_chunk(1, 2);
    end_chunk();
    for (uint64_t number = 0; number < 2; number++) {
        fill_chunk(number);
        if (number == 0) memset((void *)&chunk.events[100], 0, 128 * sizeof *chunk.events);
        end_chunk();
    }
    end_file();
    assert_int_equal(count_allocs(), 2 * TN_EVENTS_PER_CHUNK - 1 - 128);
}

/* Longer than any that is written, in pieces of odd lengths; and a number that no writer comes to. */
static void test_what_no_recorder_writes(void **state)
{
    begin_file();
    begin_chunk(1, 0);
    add(TN_EVENT_THREAD, 1, 1, 0);
    for (int i = 0; i < 30; i++) {
        add(TN_EVENT_LABEL, 1, 0x4141414141414141, 0x4141414141414141);
        chunk.events[event_count - 1].stream = i == 0 ? 0x41 : 0x4141414141414141;
    }
    add(TN_EVENT_ALLOC, 1, 0x1000, 100);
    add((enum tn_event_kind)200, 2, 0x1000, 100);
    end_chunk();
    begin_chunk(2, UINT64_MAX);
    add(TN_EVENT_ALLOC, 1, 0x2000, 100);
    end_chunk();
    end_file();
    char letters[TN_RECORDER_LABEL_BYTES_MAX + 1] = "", expected[1024];
    memset(letters, 'A', TN_RECORDER_LABEL_BYTES_MAX);
    snprintf(expected, sizeof expected, "# label: 0 %s\na 0 100 0 0 1\n", letters);
    expect_trace(expected);
}

static void write_damaged_file(struct random *random)
{
    begin_file();
    for (uint64_t writer = 1; writer <= 3; writer++) {
        for (uint64_t number = 0; number < 2; number++) {
            fill_chunk(number);
            chunk.writer = writer;
            for (int i = 0; i < 20; i++) {
                size_t place = random_below(random, 20) * 32 + random_below(random, 32);
                ((unsigned char *)&chunk)[place] = (unsigned char)random_next(random);
            }
            end_chunk();
        }
    }
    end_file();
}

/* The sanitizers see more of it. What becomes of it is a trace, of whatever. */
static void test_damage_harms_nobody(void **state)
{
    struct random random = random_init(random_seed(1));
    for (int i = 0; i < 100; i++) {
        write_damaged_file(&random);
        (void)count_allocs();
    }
}

static void test_what_is_no_file_of_events_is_refused(void **state)
{
    unlink(event_path);
    expect_no_lines_of_events(event_path, "cannot be read: No such file or directory");
    assert_false(tn_trace_is_of_events(event_path));
    events = fopen(event_path, "wb");
    assert_non_null(events);
    end_file();
    expect_no_lines_of_events(event_path, "is not a file of events");
    assert_false(tn_trace_is_of_events(event_path));
    expect_no_lines_of_events("/tmp", "is not a file of events");
    assert_false(tn_trace_is_of_events("/tmp"));
    expect_no_lines_of_events("/dev/zero", "is not a file of events");

    begin_file();
    end_file();
    assert_true(tn_trace_is_of_events(event_path));
    int descriptor = open(event_path, O_RDWR);
    assert_int_equal(flock(descriptor, LOCK_EX), 0);
    expect_no_lines_of_events(event_path, "still being written");
    close(descriptor);
    assert_int_equal(write_lines_of_events(event_path, NULL).process, 4711);
}

/* Such as that of a machine with another order of bytes. */
static void test_another_format_is_refused(void **state)
{
    begin_file();
    assert_int_equal(fseek(events, offsetof(struct tn_event_file_header, event_bytes), SEEK_SET),
                     0);
    assert_int_equal(fwrite("\0\0\0 ", 4, 1, events), 1);
    end_file();
    expect_no_lines_of_events(event_path, "has events of an unknown format");
    assert_true(tn_trace_is_of_events(event_path));
}

/* Wants three lines. */
static bool take_three(void *to, const char *line, size_t length)
{
    return ++*(int *)to < 3;
}

static void test_a_sink_may_have_enough(void **state)
{
    struct tn_trace_summary summary;
    struct tn_failure failure;
    int count = 0;
    const struct tn_trace_sink sink = { take_three, &count };
    begin_file();
    fill_chunk(0);
    end_chunk();
    end_file();
    assert_true(tn_trace_write(event_path, &sink, &summary, &failure));
    assert_int_equal(count, 3);
}

static void test_host_memory_fails(void **state)
{
    begin_file();
    for (uint64_t writer = 1; writer < 40; writer++) {
        begin_chunk(writer, 0);
        add(TN_EVENT_THREAD, 1, writer, 0);
        add(TN_EVENT_LABEL, 2, 0x41, 0);
        for (uint64_t i = 0; i < 4; i++)
            add(TN_EVENT_ALLOC, 2, i == 0 ? 0 : 0x1000 * writer + i, i);
        add(TN_EVENT_GONE, 4, 0x1000 * writer, 0x1000);
        end_chunk();
    }
    end_file();
    for (unsigned n = 1;; n++) {
        struct tn_trace_summary summary;
        struct tn_failure failure = { "" };
        int count = -1000;
        const struct tn_trace_sink sink = { take_three, &count };
        host_memory_faults_begin(n);
        bool is_written = tn_trace_write(event_path, &sink, &summary, &failure);
        assert_int_equal(host_memory_faults_outstanding(), 0);
        if (!host_memory_faults_end()) break;
        assert_false(is_written);
        assert_non_null(strstr(failure.text, "the host has no memory to"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_of_one_moment_are_in_an_order_that_can_be),
        cmocka_unit_test(test_a_writer_is_sorted),
        cmocka_unit_test(test_a_hostile_order_takes_no_longer),
        cmocka_unit_test(test_hostile_ranges_take_no_longer),
        cmocka_unit_test(test_a_threads_first_event_may_be_out_of_order),
        cmocka_unit_test(test_what_began_earlier_or_is_missing),
        cmocka_unit_test(test_labels_are_lines_of_their_own),
        cmocka_unit_test(test_an_event_half_written_is_none),
        cmocka_unit_test(test_a_chunk_that_was_being_copied_counts_once),
        cmocka_unit_test(test_a_hole_costs_what_was_in_it),
        cmocka_unit_test(test_what_no_recorder_writes),
        cmocka_unit_test(test_damage_harms_nobody),
        cmocka_unit_test(test_what_is_no_file_of_events_is_refused),
        cmocka_unit_test(test_another_format_is_refused),
        cmocka_unit_test(test_a_sink_may_have_enough),
        cmocka_unit_test(test_host_memory_fails),
    };
    return cmocka_run_group_tests(tests, create_paths, remove_files);
}
