/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_record: what record.h promises of one process: every form of allocation and free, several threads, beginnings
 * and ends in every order, and what cannot be written.
 */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "harness/child.h"
#include "harness/claims.h"
#include "harness/scratch_folder.h"

#include "tarn/host.h"
#include "tarn/record.h"

#include "lines_of_events.h"
#include "trace_lines.h"

#define MIB ((size_t)1 << 20)

#define STREAM(number) ((tarn_stream)(uintptr_t)(0x1000 * (number)))

/* A pool over addresses of which nobody touches any, where any handle is a stream. */
static tarn_pool *create_pool(void)
{
    tarn_pool *pool;
    expect_ok(tarn_pool_create_over((void *)((uintptr_t)1 << 40), (size_t)1 << 40, NULL, &pool));
    return pool;
}

static tarn_recording recording(void)
{
    tarn_recording found = TARN_RECORDING_INIT;
    expect_ok(tarn_record_stats(&found));
    return found;
}

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static void *alloc(tarn_pool *pool, size_t size_bytes)
{
    return new_block(pool, size_bytes);
}

/* --- what is recorded --------------------------------------------------------------------------------- */

static void test_each_call_is_recorded(void **state)
{
    tarn_pool *pool = create_pool();
    void *a[8], *failed = NULL;
    expect_ok(tarn_record_start("calls"));
    a[0] = alloc(pool, 1000);
    expect_ok(tarn_pool_alloc_on(pool, 2000, STREAM(1), &a[1]));
    expect_ok(tarn_pool_alloc_aligned(pool, 3000, 4096, &a[2]));
    expect_ok(tarn_pool_alloc_aligned_on(pool, 4000, 4096, STREAM(2), &a[3]));
    assert_null(alloc(pool, 0));
    assert_int_not_equal(tarn_pool_alloc(pool, SIZE_MAX, &failed), TARN_STATUS_OK);
    expect_ok(tarn_pool_free(pool, a[0]));
    assert_int_not_equal(tarn_pool_free(pool, a[0]), TARN_STATUS_OK);
    expect_ok(tarn_pool_free_on(pool, a[1], STREAM(1)));
    const tarn_stream streams[] = { STREAM(2), STREAM(1) };
    expect_ok(tarn_pool_free_after(pool, a[2], streams, 2));
    assert_int_equal(tarn_pool_free_sized(pool, a[3], 1), TARN_STATUS_WRONG_SIZE);
    expect_ok(tarn_pool_free_sized_on(pool, a[3], 4000, STREAM(2)));
    expect_ok(tarn_pool_free(pool, NULL));
    expect_ok(tarn_pool_free(pool, NULL));
    expect_ok(tarn_record_stop());
    expect_trace_lines("calls", "a 0 1000 0\n"
                                "a 1 2000 1\n"
                                "a 2 3000 0\n"
                                "a 3 4000 2\n"
                                "a 4 0 0\n"
                                "f 4 0 0\n" /* of no bytes nothing lives */
                                "f 0 1000 0\n"
                                "f 1 2000 1\n"
                                "f 2 3000 2\n"
                                "f 3 4000 2\n");
    assert_true(tn_trace_is_of_events("calls"));
    expect_ok(tarn_pool_destroy(pool));
}

static void test_batches_and_resizes_are_recorded(void **state)
{
    tarn_pool *pool = create_pool();
    const size_t sizes[] = { 5000, 0, 70000 };
    void *a[3], *twice[4];
    expect_ok(tarn_record_start("batches.gz"));
    expect_ok(tarn_pool_alloc_many(pool, 3, sizes, a));
    expect_ok(tarn_pool_resize(pool, a[2], 60000));
    assert_int_not_equal(tarn_pool_resize(pool, a[0], 6 * MIB), TARN_STATUS_OK);
    /* What can be is freed. */
    memcpy(twice, (void *[]){ a[0], a[0], a[1], a[2] }, sizeof twice);
    assert_int_equal(tarn_pool_free_many(pool, 4, twice), TARN_STATUS_NOT_LIVE);
    const size_t too_much[] = { 4096, (size_t)1 << 40 };
    assert_int_not_equal(tarn_pool_alloc_many(pool, 2, too_much, twice), TARN_STATUS_OK);
    expect_ok(tarn_record_stop());
    expect_trace_lines("batches.gz", "a 0 5000 0\n"
                                     "a 1 0 0\n"
                                     "f 1 0 0\n"
                                     "a 2 70000 0\n"
                                     "f 2 70000 0\n"
                                     "a 3 60000 0\n"
                                     "f 0 5000 0\n"
                                     "f 3 60000 0\n");
    expect_ok(tarn_pool_destroy(pool));
}

/* In every way to allocate; the label of a resize is that of the allocation. */
static void test_labels_are_recorded(void **state)
{
    const size_t sizes[] = { 5000, 6000 };
    void *a[4];
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    for (unsigned debug = 0; debug <= TARN_DEBUG_SITES; debug += TARN_DEBUG_SITES) {
        tarn_pool *pool;
        options.debug = debug;
        expect_ok(tarn_pool_create_over((void *)((uintptr_t)1 << 40), 64 * MIB, &options, &pool));
        expect_ok(tarn_record_start("labels"));
        tarn_label_push("the label of a view, of as many as 47 letters, ");
        a[0] = alloc(pool, 1000);
        tarn_label_push("batch \"x\"");
        expect_ok(tarn_pool_alloc_many_on(pool, 2, sizes, STREAM(1), a + 1));
        tarn_label_push(NULL);
        a[3] = alloc(pool, 100);
        tarn_label_pop();
        expect_ok(tarn_pool_resize(pool, a[0], 900));
        tarn_label_pop();
        tarn_label_pop();
        expect_ok(tarn_pool_resize_on(pool, a[2], 6100, STREAM(1)));
        expect_ok(tarn_pool_resize(pool, a[3], 101));
        expect_ok(tarn_record_stop());
        expect_trace_lines("labels", "a 0 1000 0 the label of a view, of as many as 47 letters, \n"
                                     "a 1 5000 1 batch \"x\"\n"
                                     "a 2 6000 1 batch \"x\"\n"
                                     "a 3 100 0\n"
                                     "f 0 1000 0\n"
                                     "a 4 900 0 the label of a view, of as many as 47 letters, \n"
                                     "f 2 6000 1\n"
                                     "a 5 6100 1 batch \"x\"\n"
                                     "f 3 100 0\n"
                                     "a 6 101 0\n");
        expect_ok(tarn_pool_destroy_forced(pool, NULL));
    }
}

/* With an address they live until that is freed, and have no bytes all the same. */
static void test_zero_bytes_with_an_address_are_recorded(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.zero_has_address = true;
    tarn_pool *pool;
    expect_ok(tarn_pool_create_over((void *)((uintptr_t)1 << 40), 64 * MIB, &options, &pool));
    const size_t sizes[] = { 0, 100 };
    void *a[4];
    expect_ok(tarn_record_start("zeros"));
    a[0] = alloc(pool, 0);
    expect_ok(tarn_pool_alloc_many(pool, 2, sizes, &a[1]));
    a[3] = alloc(pool, 0);
    expect_ok(tarn_pool_free_sized(pool, a[1], 0));
    expect_ok(tarn_pool_free_many(pool, 2, &a[2]));
    expect_ok(tarn_pool_free(pool, a[0]));
    expect_ok(tarn_record_stop());
    expect_trace_lines("zeros", "a 0 0 0\n"
                                "a 1 0 0\n"
                                "a 2 100 0\n"
                                "a 3 0 0\n"
                                "f 1 0 0\n"
                                "f 2 100 0\n"
                                "f 3 0 0\n"
                                "f 0 0 0\n");
    expect_ok(tarn_pool_destroy(pool));
}

/* What is freed of a batch that fails was never anybody's. */
static void test_a_batch_that_fails_is_not_recorded(void **state)
{
    tarn_pool *pool;
    const size_t sizes[] = { 32 * MIB, 0, 16 * MIB, 32 * MIB };
    void *a[4];
    expect_ok(tarn_pool_create_over((void *)((uintptr_t)1 << 40), 64 * MIB, NULL, &pool));
    expect_ok(tarn_record_start("undone"));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_many(pool, 4, sizes, a));
    expect_ok(tarn_record_stop());
    struct trace_lines trace = read_trace_lines("undone");
    assert_int_equal(trace.count, 0);
    assert_int_equal(trace.unknown_count, 0);
    free_trace_lines(&trace);
    expect_ok(tarn_pool_destroy(pool));
}

static void *use_the_threads_own_stream(void *pool)
{
    void *address;
    if (tarn_pool_alloc_on(pool, 1000, TARN_HOST_STREAM_PER_THREAD, &address) != TARN_STATUS_OK)
        abort();
    if (tarn_pool_free_on(pool, address, TARN_HOST_STREAM_PER_THREAD) != TARN_STATUS_OK) abort();
    return NULL;
}

/* Handles that mean another stream in each thread, and two that mean the same. */
static void test_streams_are_told_apart(void **state)
{
    void *a;
    tarn_pool *pool = new_pool(NULL);
    expect_ok(tarn_record_start("streams"));
    expect_ok(tarn_pool_alloc_on(pool, 500, TARN_HOST_STREAM_DEFAULT, &a));
    expect_ok(tarn_pool_free_on(pool, a, NULL));
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, use_the_threads_own_stream, pool), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    expect_ok(tarn_record_stop());
    expect_trace_lines("streams", "a 0 500 0\nf 0 500 0\n"
                                  "a 1 1000 1\nf 1 1000 1\n"
                                  "a 2 1000 2\nf 2 1000 2\n");
    expect_ok(tarn_pool_destroy(pool));
}

static void test_every_pool_takes_part(void **state)
{
    tarn_pool_options debug = TARN_POOL_OPTIONS_INIT;
    debug.debug = TARN_DEBUG_SITES;
    tarn_pool *before, *after, *watched;
    void *process_wide;
    expect_ok(tarn_pool_create(NULL, &before));
    void *earlier = alloc(before, 100);
    expect_ok(tarn_record_start("pools"));
    expect_ok(tarn_pool_create(NULL, &after));
    expect_ok(tarn_pool_create(&debug, &watched));
    void *a = alloc(before, 10000), *b = alloc(after, 20000), *c = alloc(watched, 30000);
    expect_ok(tarn_malloc(40000, &process_wide));
    expect_ok(tarn_pool_free(before, earlier));
    expect_ok(tarn_pool_free(before, a));
    expect_ok(tarn_pool_free(watched, c));
    expect_ok(tarn_free(process_wide));
    /* What is live in it goes with it. */
    alloc(after, 50000);
    tarn_pool_destroy_forced(after, NULL);
    (void)b;
    expect_ok(tarn_record_stop());
    expect_trace_lines("pools", "a 0 10000 0\na 1 20000 0\na 2 30000 0\na 3 40000 0\n"
                                "f 0 10000 0\nf 2 30000 0\nf 3 40000 0\n"
                                "a 4 50000 0\nf 1 20000 0\nf 4 50000 0\n");
    expect_ok(tarn_pool_destroy(before));
    expect_ok(tarn_pool_destroy(watched));
    expect_ok(tarn_default_pool_destroy());
}

/* Pools of every make. */
static void test_what_is_live_goes_with_its_pool(void **state)
{
    tarn_pool_options passing = TARN_POOL_OPTIONS_INIT, contiguous = TARN_POOL_OPTIONS_INIT;
    passing.passes_through = true;
    contiguous.contiguous = true;
    const tarn_pool_options *const makes[] = { &passing, &contiguous };
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        expect_ok(tarn_record_start("destroyed"));
        tarn_pool *pool = new_pool(makes[i]);
        alloc(pool, 1000);
        alloc(pool, 10 * MIB);
        expect_ok(tarn_pool_destroy_forced(pool, NULL));
        expect_ok(tarn_record_stop());
        struct trace_lines trace = read_trace_lines("destroyed");
        assert_int_equal(trace.count, 4);
        assert_int_equal(trace.live_count, 0);
        free_trace_lines(&trace);
    }
}

/* --- threads ------------------------------------------------------------------------------------------ */

#define THREADS        4
#define SHARED_BLOCKS  64
#define STEPS_A_THREAD 20000

struct team {
    tarn_pool *pool;
    void *_Atomic blocks[SHARED_BLOCKS]; /* everybody frees what anybody has put there */
    _Atomic uint32_t seed;
    _Atomic uint64_t alloc_count;
    atomic_bool is_over;
};

static void *replace_blocks(void *argument)
{
    struct team *team = argument;
    uint32_t random = atomic_fetch_add(&team->seed, 12345);
    for (unsigned i = 0; i < STEPS_A_THREAD && !atomic_load(&team->is_over); i++) {
        random = random * 1664525 + 1013904223;
        void *block;
        if (tarn_pool_alloc(team->pool, random >> 16, &block) != TARN_STATUS_OK) abort();
        atomic_fetch_add(&team->alloc_count, 1);
        void *old = atomic_exchange(&team->blocks[random >> 10 & (SHARED_BLOCKS - 1)], block);
        if (tarn_pool_free(team->pool, old) != TARN_STATUS_OK) abort();
    }
    return NULL;
}

static struct team create_team(void)
{
    struct team team = { .pool = NULL };
    expect_ok(tarn_pool_create(NULL, &team.pool));
    return team;
}

static void run_team(struct team *team, pthread_t *threads)
{
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, replace_blocks, team), 0);
}

static void join_team(pthread_t *threads)
{
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void free_blocks(struct team *team)
{
    for (int i = 0; i < SHARED_BLOCKS; i++)
        expect_ok(tarn_pool_free(team->pool, atomic_exchange(&team->blocks[i], NULL)));
}

/* Rounds, so that new threads go on where others have ended. */
static void test_threads_are_told_apart_and_in_order(void **state)
{
    struct team team = create_team();
    pthread_t threads[THREADS];
    expect_ok(tarn_record_start("threads.gz"));
    for (int round = 0; round < 2; round++) {
        run_team(&team, threads);
        join_team(threads);
    }
    free_blocks(&team);
    tarn_recording found = recording();
    assert_true(found.is_recording);
    assert_int_equal(found.lost_count, 0);
    assert_in_range(found.mapped_bytes, 1, (THREADS + 2) * 65536 + 4096);
    expect_ok(tarn_record_stop());
    assert_false(recording().is_recording);

    struct trace_lines trace = read_trace_lines("threads.gz");
    assert_int_equal(count_lines(&trace, 'a'), atomic_load(&team.alloc_count));
    assert_int_equal(trace.live_count, 0);
    uint64_t thread_max = 0;
    for (size_t i = 0; i < trace.count; i++)
        if (trace.lines[i].thread > thread_max) thread_max = trace.lines[i].thread;
    assert_int_equal(thread_max, 2 * THREADS); /* and the one that freed what was left */
    free_trace_lines(&trace);
    expect_ok(tarn_pool_destroy(team.pool));
}

static void test_a_recording_ends_while_others_allocate(void **state)
{
    struct team team = create_team();
    pthread_t threads[THREADS];
    run_team(&team, threads);
    for (int i = 0; i < 20; i++) {
        expect_ok(tarn_record_start("often"));
        /* Long enough for some events. */
        for (uint64_t begun = atomic_load(&team.alloc_count);
             atomic_load(&team.alloc_count) < begun + 100 &&
             atomic_load(&team.alloc_count) < THREADS * STEPS_A_THREAD;)
            sched_yield();
        expect_ok(tarn_record_stop());
        struct trace_lines trace = read_trace_lines("often");
        free_trace_lines(&trace);
    }
    atomic_store(&team.is_over, true);
    join_team(threads);
    free_blocks(&team);
    expect_ok(tarn_pool_destroy(team.pool));
}

/* --- beginnings and ends ------------------------------------------------------------------------------ */

static void test_start_and_stop_say_what_is_wrong(void **state)
{
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_record_stop());
    expect_message("nothing is being recorded");
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_record_start(NULL));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_record_start(""));
    expect_status(TARN_STATUS_FILE_ERROR, tarn_record_start("no/such/folder"));
    expect_message("no/such/folder");
    expect_status(TARN_STATUS_FILE_ERROR, tarn_record_start("."));
    expect_message(". cannot be written: it is no regular file");
    expect_status(TARN_STATUS_FILE_ERROR, tarn_record_start("/dev/null"));
    expect_message("/dev/null cannot be written: it is no regular file");
    assert_false(exists("/dev/null.old"));
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    expect_status(TARN_STATUS_FILE_ERROR, tarn_record_start("dangling"));
    expect_message("dangling cannot be written: No such file or directory");
    char *longest = calloc(1, 6000);
    assert_non_null(longest);
    memset(longest, 'x', 5999);
    expect_status(TARN_STATUS_FILE_ERROR, tarn_record_start(longest));
    free(longest);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_record_stats(NULL));
    tarn_recording wrong = { 0 };
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_record_stats(&wrong));

    expect_ok(tarn_record_start("twice"));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_record_start("other"));
    expect_message("already");
    assert_false(exists("other"));
    expect_ok(tarn_record_stop());
    expect_trace_lines("twice", "");
}

static void expect_text(const char *path, const char *expected)
{
    char text[32] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, expected);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Of the last two recordings into a file both are there; and what no recording has made is not lost either. */
static void test_what_is_there_is_set_aside(void **state)
{
    tarn_pool *pool = create_pool();
    write_text("again.gz", "left behind");
    expect_ok(tarn_record_start("again.gz"));
    expect_ok(tarn_pool_free(pool, alloc(pool, 100)));
    expect_ok(tarn_record_stop());
    expect_text("again.gz.old", "left behind");
    expect_ok(tarn_record_start("again.gz"));
    expect_ok(tarn_record_stop());
    expect_trace_lines("again.gz.old", "a 0 100 0\nf 0 100 0\n");
    expect_trace_lines("again.gz", "");

    write_text("linked", "linked");
    assert_int_equal(symlink("linked", "link"), 0);
    expect_ok(tarn_record_start("link"));
    expect_ok(tarn_record_stop());
    expect_text("linked", "linked");
    expect_text("link.old", "linked");
    expect_trace_lines("link", "");
    expect_ok(tarn_pool_destroy(pool));
}

static void test_the_folder_may_change(void **state)
{
    char folder[4096];
    assert_non_null(getcwd(folder, sizeof folder));
    expect_ok(tarn_record_start("here"));
    assert_int_equal(chdir("/"), 0);
    expect_ok(tarn_record_stop());
    assert_int_equal(chdir(folder), 0);
    expect_trace_lines("here", "");
}

/* --- what cannot be written --------------------------------------------------------------------------- */

static void allocate_beyond_a_limit(void *argument)
{
    /* Room for some chunks of 64 KiB. */
    const struct rlimit limit = { 200000, 200000 };
    tarn_pool *pool;
    CHILD_EXPECT(tarn_pool_create_over((void *)((uintptr_t)1 << 40), (size_t)1 << 40, NULL,
                                       &pool) == TARN_STATUS_OK);
    CHILD_EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHILD_EXPECT(tarn_record_start("limited") == TARN_STATUS_OK);
    for (int i = 0; i < 20000; i++) {
        void *address;
        CHILD_EXPECT(tarn_pool_alloc(pool, 1000, &address) == TARN_STATUS_OK);
    }
    tarn_recording found = TARN_RECORDING_INIT;
    CHILD_EXPECT(tarn_record_stats(&found) == TARN_STATUS_OK);
    CHILD_EXPECT(found.lost_count > 0 && found.event_count > 2000);
    CHILD_EXPECT(found.lost_count + found.event_count == 20000);
    CHILD_EXPECT(tarn_record_stop() == TARN_STATUS_OK);
}

static void test_a_limit_on_files_costs_events_and_no_more(void **state)
{
    expect_in_child(allocate_beyond_a_limit, NULL);
    struct trace_lines trace = read_trace_lines("limited");
    assert_true(trace.lost_count > 0);
    assert_int_equal(trace.lost_count + trace.count, 20000);
    free_trace_lines(&trace);
}

static void close_all_descriptors(void *argument)
{
    tarn_pool *pool;
    CHILD_EXPECT(tarn_pool_create_over((void *)((uintptr_t)1 << 40), (size_t)1 << 40, NULL,
                                       &pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_record_start("closed") == TARN_STATUS_OK);
    for (int descriptor = 3; descriptor < 1000; descriptor++)
        close(descriptor);
    int precious[10];
    for (int i = 0; i < 10; i++)
        precious[i] = open("precious", O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 10000; i++) {
        void *address;
        CHILD_EXPECT(tarn_pool_alloc(pool, 1000, &address) == TARN_STATUS_OK);
    }
    CHILD_EXPECT(tarn_record_stop() == TARN_STATUS_OK);
    struct stat status;
    for (int i = 0; i < 10; i++)
        CHILD_EXPECT(fstat(precious[i], &status) == 0 && status.st_size == 0);
}

static void test_a_program_may_close_all_descriptors(void **state)
{
    expect_in_child(close_all_descriptors, NULL);
    struct trace_lines trace = read_trace_lines("closed");
    assert_int_equal(trace.lost_count + trace.count, 10000);
    free_trace_lines(&trace);
}

/* --- other processes ---------------------------------------------------------------------------------- */

static void be_a_child(void *argument)
{
    tarn_pool *parents = argument, *own;
    void *address;
    tarn_recording found = TARN_RECORDING_INIT;
    CHILD_EXPECT(tarn_record_stats(&found) == TARN_STATUS_OK && !found.is_recording);
    CHILD_EXPECT(tarn_pool_free(parents, &found) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_create(NULL, &own) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc(own, 1, &address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_record_stop() == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_record_start("parent.gz") == TARN_STATUS_FILE_ERROR);
    CHILD_EXPECT(strstr(tarn_last_error().message, "another"));
    CHILD_EXPECT(tarn_record_start("child.gz") == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free(own, address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc(own, 77, &address) == TARN_STATUS_OK);
    /* Its exit writes its own. */
    exit(0);
}

static void test_a_forked_child_is_another_process(void **state)
{
    tarn_pool *pool = create_pool();
    expect_ok(tarn_record_start("parent.gz"));
    void *a = alloc(pool, 1000);
    expect_in_child(be_a_child, pool);
    void *b = alloc(pool, 2000);
    expect_ok(tarn_pool_free(pool, a));
    expect_ok(tarn_pool_free(pool, b));
    expect_ok(tarn_record_stop());
    expect_trace_lines("parent.gz", "a 0 1000 0\na 1 2000 0\nf 0 1000 0\nf 1 2000 0\n");
    expect_trace_lines("child.gz", "a 0 77 0\n");
    expect_ok(tarn_pool_destroy(pool));
}

/* This program anew, with TARN_TRACE; says in its exit status what went wrong. */
static void run_with_environment(const char *value, const char *argument)
{
    assert_int_equal(setenv("TARN_TRACE", value, 1), 0);
    expect_program_to_end_well(argument);
    assert_int_equal(unsetenv("TARN_TRACE"), 0);
}

static void *freed_at_exit;

static int allocate_and_exit(void)
{
    void *a, *b;
    if (tarn_malloc(1000, &a) != TARN_STATUS_OK || tarn_malloc(2000, &b) != TARN_STATUS_OK)
        return 1;
    return tarn_free(a) != TARN_STATUS_OK;
}

static void free_at_exit(void)
{
    (void)tarn_free(freed_at_exit);
}

/* A function that runs before the pool's own, as the destructor of a static object may. */
static int allocate_and_lose_the_folder(void)
{
    if (atexit(free_at_exit) != 0 || tarn_malloc(1000, &freed_at_exit) != TARN_STATUS_OK) return 1;
    return rename("folder", "moved");
}

/* With what it says on standard error in a file. */
static int run_and_write_down(int (*part)(void))
{
    return freopen("said", "w", stderr) ? part() : 1;
}

static void *allocate_for_ever(void *pool)
{
    for (;;) {
        void *address;
        if (tarn_pool_alloc(pool, 100, &address) == TARN_STATUS_OK) tarn_pool_free(pool, address);
    }
    return NULL;
}

static int exit_among_threads(void)
{
    tarn_pool *pool;
    pthread_t thread;
    if (tarn_pool_create(NULL, &pool) != TARN_STATUS_OK) return 1;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread, NULL, allocate_for_ever, pool) != 0) return 1;
    tarn_recording found = TARN_RECORDING_INIT;
    while (tarn_record_stats(&found) == TARN_STATUS_OK && found.event_count < 10000)
        sched_yield();
    return 0;
}

#define FIRST_POOLS 8

static bool is_disk_slow;

/* The system's call, on a disk that takes its time: so the others come while the first one begins. */
int flock(int fd, int operation)
{
    if (is_disk_slow) nanosleep(&(const struct timespec){ .tv_nsec = 50000000 }, NULL);
    return (int)syscall(SYS_flock, fd, operation);
}

static void *create_one_of_the_first_pools(void *argument)
{
    tarn_pool *pool;
    void *address;
    bool is_done = tarn_pool_create(NULL, &pool) == TARN_STATUS_OK &&
                   tarn_pool_alloc(pool, 1000, &address) == TARN_STATUS_OK;
    if (!is_done) fprintf(stderr, "%s\n", tarn_last_error().message);
    return is_done ? argument : NULL;
}

static int create_first_pools(void)
{
    pthread_t threads[FIRST_POOLS];
    void *done;
    int status = 0;
    is_disk_slow = true;
    for (int i = 0; i < FIRST_POOLS; i++)
        if (pthread_create(&threads[i], NULL, create_one_of_the_first_pools, threads) != 0)
            return 1;
    for (int i = 0; i < FIRST_POOLS; i++)
        status = pthread_join(threads[i], &done) != 0 || !done ? 1 : status;
    return status;
}

static int record_by_a_call(void)
{
    tarn_pool *pool;
    if (tarn_record_start("called") != TARN_STATUS_OK) return 1;
    for (int i = 0; i < 2; i++) {
        if (tarn_pool_create(NULL, &pool) != TARN_STATUS_OK) return 1;
        (void)tarn_record_stop();
    }
    return 0;
}

/* All that a program without a recording does. */
static int allocate_unrecorded(void)
{
    static char memory[8192];
    tarn_pool *pool, *over;
    tarn_recording found = TARN_RECORDING_INIT;
    void *address;
    if (tarn_pool_create(NULL, &pool) != TARN_STATUS_OK ||
        tarn_pool_create_over(memory, sizeof memory, NULL, &over) != TARN_STATUS_OK ||
        tarn_pool_alloc(pool, 1000, &address) != TARN_STATUS_OK ||
        tarn_pool_free(pool, address) != TARN_STATUS_OK)
        return 1;
    if (tarn_record_stats(&found) != TARN_STATUS_OK || found.is_recording) return 1;
    return allocate_and_exit();
}

/* Another copy of the library in this process records into the file. */
static int allocate_beside_another_copy(void)
{
    int events = open("copies.gz", O_RDWR | O_CREAT, 0600);
    if (events < 0 || flock(events, LOCK_EX) != 0) return 1;
    return allocate_unrecorded();
}

static void test_the_environment_records_a_whole_process(void **state)
{
    run_with_environment("whole.gz", "allocate");
    expect_trace_lines("whole.gz", "a 0 1000 0\na 1 2000 0\nf 0 1000 0\n");
    run_with_environment("threads-%p-%p", "threads");
    glob_t found;
    assert_int_equal(glob("threads-*", 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    /* Twice the same number, and no longer a pattern. */
    const char *number = found.gl_pathv[0] + strlen("threads-");
    const char *dash = strchr(number, '-');
    assert_non_null(dash);
    assert_int_equal(strncmp(number, dash + 1, (size_t)(dash - number)), 0);
    assert_true(strtol(number, NULL, 10) > 0);
    struct trace_lines trace = read_trace_lines(found.gl_pathv[0]);
    assert_true(trace.count >= 10000);
    free_trace_lines(&trace);
    globfree(&found);
}

/* One line, or nothing. */
static void expect_said(const char *first, const char *last)
{
    char text[1024];
    FILE *said = fopen("said", "r");
    assert_non_null(said);
    text[fread(text, 1, sizeof text - 1, said)] = '\0';
    fclose(said);
    const char *end = strchr(text, '\n');
    size_t length = strlen(text), last_length = strlen(last);
    bool is_one_line = end ? end[1] == '\0' : length == 0;
    if (!is_one_line || strncmp(text, first, strlen(first)) != 0 || length < last_length ||
        strcmp(text + length - last_length, last) != 0)
        fail_msg("not \"%s ... %s\", but \"%s\"", first, last, text);
}

static void test_a_program_goes_on_when_it_cannot_be_recorded(void **state)
{
    run_with_environment("no/such/folder", "unrecorded");
    expect_said("tarn: TARN_TRACE: process ",
                ": no/such/folder cannot be written: No such file or directory\n");
    run_with_environment("copies.gz", "another copy");
    expect_said("tarn: TARN_TRACE: process ",
                "copies.gz is being written by another process, or another recording: each "
                "needs a file of its own\n");
    assert_int_equal(unlink("copies.gz"), 0);

    tarn_pool *pool = create_pool();
    expect_ok(tarn_record_start("ranks.gz"));
    run_with_environment("ranks.gz", "unrecorded");
    expect_said("tarn: TARN_TRACE: process ", " each needs a file of its own\n");
    alloc(pool, 77);
    expect_ok(tarn_record_stop());
    expect_trace_lines("ranks.gz", "a 0 77 0\n");
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
}

static void test_each_rank_has_a_file(void **state)
{
    for (int rank = 0; rank < 2; rank++) {
        char name[2] = { (char)('0' + rank), '\0' };
        setenv("PMI_RANK", name, 1);
        run_with_environment("of-%r-%%r.gz", "allocate");
    }
    unsetenv("PMI_RANK");
    expect_trace_lines("of-0-%r.gz", "a 0 1000 0\na 1 2000 0\nf 0 1000 0\n");
    expect_trace_lines("of-1-%r.gz", "a 0 1000 0\na 1 2000 0\nf 0 1000 0\n");
}

/* Nothing is done at the end: what functions of the exit free is recorded, and the folder may be gone. */
static void test_the_end_needs_nothing(void **state)
{
    assert_int_equal(mkdir("folder", 0700), 0);
    run_with_environment("folder/gone.gz", "without a folder");
    expect_said("", "");
    expect_trace_lines("moved/gone.gz", "a 0 1000 0\nf 0 1000 0\n");
    assert_int_equal(unlink("moved/gone.gz"), 0);
    assert_int_equal(rmdir("moved"), 0);
}

static void test_of_several_first_pools_one_begins_to_record(void **state)
{
    run_with_environment("first.gz", "first pools");
    struct trace_lines trace = read_trace_lines("first.gz");
    assert_int_equal(trace.count, FIRST_POOLS);
    free_trace_lines(&trace);
}

/* For good: it would begin in the middle. */
static void test_a_recording_by_a_call_is_the_one(void **state)
{
    run_with_environment("not.gz", "called");
    expect_trace_lines("called", "");
    assert_false(exists("not.gz"));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "first pools") == 0) return create_first_pools();
    if (argc > 1 && strcmp(argv[1], "called") == 0) return record_by_a_call();
    if (argc > 1 && strcmp(argv[1], "allocate") == 0) return allocate_and_exit();
    if (argc > 1 && strcmp(argv[1], "threads") == 0) return exit_among_threads();
    if (argc > 1 && strcmp(argv[1], "unrecorded") == 0)
        return run_and_write_down(allocate_unrecorded);
    if (argc > 1 && strcmp(argv[1], "another copy") == 0)
        return run_and_write_down(allocate_beside_another_copy);
    if (argc > 1 && strcmp(argv[1], "without a folder") == 0)
        return run_and_write_down(allocate_and_lose_the_folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call_is_recorded),
        cmocka_unit_test(test_zero_bytes_with_an_address_are_recorded),
        cmocka_unit_test(test_batches_and_resizes_are_recorded),
        cmocka_unit_test(test_labels_are_recorded),
        cmocka_unit_test(test_a_batch_that_fails_is_not_recorded),
        cmocka_unit_test(test_streams_are_told_apart),
        cmocka_unit_test(test_every_pool_takes_part),
        cmocka_unit_test(test_what_is_live_goes_with_its_pool),
        cmocka_unit_test(test_threads_are_told_apart_and_in_order),
        cmocka_unit_test(test_a_recording_ends_while_others_allocate),
        cmocka_unit_test(test_start_and_stop_say_what_is_wrong),
        cmocka_unit_test(test_what_is_there_is_set_aside),
        cmocka_unit_test(test_the_folder_may_change),
        cmocka_unit_test(test_a_limit_on_files_costs_events_and_no_more),
        cmocka_unit_test(test_a_program_may_close_all_descriptors),
        cmocka_unit_test(test_a_forked_child_is_another_process),
        cmocka_unit_test(test_the_environment_records_a_whole_process),
        cmocka_unit_test(test_a_program_goes_on_when_it_cannot_be_recorded),
        cmocka_unit_test(test_each_rank_has_a_file),
        cmocka_unit_test(test_the_end_needs_nothing),
        cmocka_unit_test(test_of_several_first_pools_one_begins_to_record),
        cmocka_unit_test(test_a_recording_by_a_call_is_the_one),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, leave_scratch_folder);
}
