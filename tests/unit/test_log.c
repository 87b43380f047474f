/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_log: what is told, when, to whom, and what a function that takes messages may do. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/call_site.h"
#include "base/text/escape.h"
#include "core/care/pool_registry.h"
#include "harness/child.h"
#include "harness/host_memory_faults.h"
#include "pool_fixture.h"

enum {
    TAKEN_MAX = 256,
    THREADS = 4
};

/* The messages that the test's function has taken. */
static struct {
    pthread_mutex_t lock;
    size_t count;
    struct {
        tarn_log_level level;
        char text[TN_LOG_MESSAGE_BYTES];
    } messages[TAKEN_MAX];
    void (*meanwhile)(void); /* called by the function */
} taken;

/* No lock of the library is held: another thread can use the pool and log, and so can this one. */
static void take(void *user, tarn_log_level level, const char *message)
{
    assert_ptr_equal(user, &taken);
    assert_true(tn_escape_printable_bytes(message) > 0);
    assert_null(strchr(message, '\n'));
    pthread_mutex_lock(&taken.lock);
    assert_true(taken.count < TAKEN_MAX);
    taken.messages[taken.count].level = level;
    snprintf(taken.messages[taken.count].text, TN_LOG_MESSAGE_BYTES, "%s", message);
    taken.count++;
    pthread_mutex_unlock(&taken.lock);
    if (taken.meanwhile) taken.meanwhile();
}

static void take_at(tarn_log_level level)
{
    expect_ok(tarn_set_log(level, take, &taken));
    taken.count = 0;
}

static void begin_taking(void)
{
    memset(&taken, 0, sizeof taken);
    pthread_mutex_init(&taken.lock, NULL);
    take_at(TARN_LOG_LEVEL_INFO);
}

static int set_up_taking(void **state)
{
    begin_fixture(true);
    opened = test_backend_open(&backend);
    options.initial_bytes = 64 * KIB;
    begin_taking();
    return 0;
}

static int tear_down_taking(void **state)
{
    taken.meanwhile = NULL;
    tear_down(state);
    return tarn_set_log(TARN_LOG_LEVEL_OFF, NULL, NULL) == TARN_STATUS_OK ? 0 : -1;
}

/* A message with both parts was taken, of that level. */
static void expect_taken(tarn_log_level level, const char *part, const char *other_part)
{
    for (size_t i = 0; i < taken.count; i++) {
        if (taken.messages[i].level == level && strstr(taken.messages[i].text, part) &&
            strstr(taken.messages[i].text, other_part))
            return;
    }
    for (size_t i = 0; i < taken.count; i++)
        fprintf(stderr, "taken: %d %s\n", taken.messages[i].level, taken.messages[i].text);
    fail_msg("no message says \"%s\" and \"%s\"", part, other_part);
}

static size_t count_taken(const char *part)
{
    size_t count = 0;
    for (size_t i = 0; i < taken.count; i++)
        count += strstr(taken.messages[i].text, part) != NULL;
    return count;
}

/* --- levels ---------------------------------------------------------------------------------------- */

static void nothing_is_told_until_it_is_asked_for(void **state)
{
    expect_ok(tarn_set_log(TARN_LOG_LEVEL_OFF, take, &taken));
    create();
    expect_refused(TARN_STATUS_OVER_LIMIT, 8 * KIB);
    assert_int_equal(taken.count, 0);
    take_at(TARN_LOG_LEVEL_WARNING);
    expect_refused(TARN_STATUS_OVER_LIMIT, 8 * KIB);
    expect_taken(TARN_LOG_LEVEL_WARNING, "out of memory", "");
    assert_int_equal(taken.count, 1);
    destroy();
    assert_int_equal(taken.count, 1);
    take_at(TARN_LOG_LEVEL_INFO);
    create();
    assert_int_equal(taken.count, 1);
}

static int set_up_without_room(void **state)
{
    set_up_taking(state);
    options.limit_bytes = 4 * KIB;
    backend.capacity_bytes = 64 * KIB;
    options.initial_bytes = 4 * KIB;
    return 0;
}

static void another_level_is_refused(void **state)
{
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_set_log((tarn_log_level)3, NULL, NULL));
    expect_message("level is 3");
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_set_log((tarn_log_level)-1, NULL, NULL));
    tn_log(TARN_LOG_LEVEL_INFO, "still here");
    expect_taken(TARN_LOG_LEVEL_INFO, "still here", "");
}

/* --- what is told ---------------------------------------------------------------------------------- */

static void a_pool_is_told_with_its_options(void **state)
{
    options.name = "mesh";
    options.limit_bytes = 10 * MIB;
    options.growth_factor = 1.5;
    options.fit = TARN_FIT_TLSF;
    create();
    assert_int_equal(taken.count, 1);
    expect_taken(TARN_LOG_LEVEL_INFO, " \"mesh\": created at 0x",
                 "test backend, made-up addresses");
    expect_taken(TARN_LOG_LEVEL_INFO, "starts with 64 KiB, grows by factor 1.50 up to 512 MiB",
                 "limit 10 MiB, tlsf");
    free_one(alloc(1000));
    destroy_empty();
    expect_taken(TARN_LOG_LEVEL_INFO, "\"mesh\": destroyed after 1 allocations",
                 "at most 1000 bytes live and 64 KiB held");
    assert_null(strstr(taken.messages[taken.count - 1].text, "still live"));
}

static void pools_without_a_name_have_numbers(void **state)
{
    char expected[64];
    create();
    tarn_pool *other = new_pool(&options);
    assert_true(pool->number > 0);
    assert_int_equal(other->number, pool->number + 1);
    snprintf(expected, sizeof expected, "pool %llu: created", (unsigned long long)pool->number);
    expect_taken(TARN_LOG_LEVEL_INFO, expected, "");
    snprintf(expected, sizeof expected, "pool %llu: created", (unsigned long long)other->number);
    expect_taken(TARN_LOG_LEVEL_INFO, expected, "");
    expect_ok(tarn_pool_destroy(other));
}

static void a_message_is_one_line_of_text_whatever_the_name_is(void **state)
{
    options.name = "a\nb\x1b[1m\xff";
    create();
    expect_taken(TARN_LOG_LEVEL_INFO, "\"a\\x0ab\\x1b[1m\\xff\": created", "");
}

static void a_pool_that_ends_otherwise_says_so(void **state)
{
    create();
    alloc(3000);
    alloc(40000);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    pool = NULL;
    expect_taken(TARN_LOG_LEVEL_INFO, "destroyed by force after 2 allocations",
                 "still live: 2 allocations, 42.0 KiB");
    create();
    alloc(1);
    expect_ok(tarn_pool_abandon(pool));
    pool = NULL;
    expect_taken(TARN_LOG_LEVEL_INFO, "abandoned after 1 allocations", "still live: 1 allocations");
    backend.held_bytes = backend.piece_count = 0; /* what was abandoned */

    static char memory[4096];
    tarn_pool *over;
    expect_ok(tarn_pool_create_over(memory, sizeof memory, NULL, &over));
    expect_taken(TARN_LOG_LEVEL_INFO, "created at 0x", "over 4096 bytes of the caller's memory");
    expect_ok(tarn_pool_destroy(over));
}

static void growth_is_told_once_with_its_figures(void **state)
{
    create();
    alloc(1000);
    assert_int_equal(taken.count, 2);
    expect_taken(TARN_LOG_LEVEL_INFO,
                 "grew by 64 KiB for a request of 1000 bytes, and holds 64 KiB",
                 "the vendor took ");
    alloc(100 * KIB);
    assert_int_equal(taken.count, 3);
    expect_taken(TARN_LOG_LEVEL_INFO, "grew by 100 KiB for a request of 100 KiB, and holds 164 KiB",
                 "");
    alloc(1000);
    assert_int_equal(taken.count, 3);
}

static void a_first_static_pool_that_comes_with_the_pool_is_told(void **state)
{
    options.takes_initial_at_once = true;
    create();
    expect_taken(TARN_LOG_LEVEL_INFO, "grew by 64 KiB for a request of 64 KiB, and holds 64 KiB",
                 "");
    assert_int_equal(taken.count, 2);
}

static void steps_are_told_together(void **state)
{
    backend.range_granularity_bytes = 4 * KIB;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    options.step_bytes = 16 * KIB;
    options.limit_bytes = 256 * KIB;
    create();
    expect_taken(TARN_LOG_LEVEL_INFO, "contiguous in steps of 16 KiB", "created");
    free_one(alloc(100 * KIB));
    assert_int_equal(taken.count, 2);
    expect_taken(TARN_LOG_LEVEL_INFO, "grew by 112 KiB for a request of 100 KiB", "holds 112 KiB");
    trim(0);
    expect_taken(TARN_LOG_LEVEL_INFO, "gave 112 KiB back (tarn_pool_trim)", "holds 0 bytes");
    assert_int_equal(taken.count, 3);
    backend.fail_call_at[TEST_CALL_RANGE_MAP] = 2;
    backend.call_failure = TARN_STATUS_OUT_OF_MEMORY;
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 100 * KIB);
    expect_taken(TARN_LOG_LEVEL_WARNING, "the test backend refused 16 KiB of memory", "");
    assert_int_equal(count_taken("grew by"), 1);
}

static void refusals_of_one_growth_are_told_together(void **state)
{
    backend.capacity_bytes = 300 * KIB;
    options.growth_factor = 16.0;
    create();
    alloc(60 * KIB);
    alloc(100 * KIB);
    expect_taken(TARN_LOG_LEVEL_WARNING,
                 "the test backend refused memory 2 times, from 800 KiB down to 400 KiB", "");
    expect_taken(TARN_LOG_LEVEL_INFO, "grew by 200 KiB for a request of 100 KiB", "");
    assert_int_equal(count_taken("refused"), 1);
    assert_int_equal(count_taken("grew"), 2);
}

static void a_pool_that_passes_through_tells_refusals_alone(void **state)
{
    options.passes_through = true;
    backend.capacity_bytes = 100 * KIB;
    create();
    expect_taken(TARN_LOG_LEVEL_INFO, "created", "passes through");
    free_one(alloc(90 * KIB));
    assert_int_equal(taken.count, 1);
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 110 * KIB);
    expect_taken(TARN_LOG_LEVEL_WARNING, "the test backend refused 110 KiB of memory", "");
}

static void memory_that_goes_back_is_told_with_the_reason(void **state)
{
    options.growth_factor = 1.0;
    options.release_threshold_bytes = 64 * KIB;
    create();
    void *a = alloc(60 * KIB), *b = alloc(60 * KIB);
    free_one(a);
    free_one(b);
    expect_taken(TARN_LOG_LEVEL_INFO, "gave 60 KiB back (release_threshold_bytes)", "holds 64 KiB");
    trim(0);
    expect_taken(TARN_LOG_LEVEL_INFO, "gave 64 KiB back (tarn_pool_trim)", "holds 0 bytes");
    destroy();
    options.release_threshold_bytes = 0;
    options.returns_when_empty = true;
    create();
    free_one(alloc(1));
    expect_taken(TARN_LOG_LEVEL_INFO, "gave 64 KiB back (returns_when_empty)", "holds 0 bytes");
    trim(0);
    assert_int_equal(count_taken("(tarn_pool_trim)"), 1);
}

static void memory_that_goes_back_for_growth_is_told(void **state)
{
    backend.capacity_bytes = 128 * KIB;
    options.growth_factor = 1.0;
    create();
    free_one(alloc(60 * KIB));
    alloc(100 * KIB);
    expect_taken(TARN_LOG_LEVEL_INFO, "gave 64 KiB back (to have room for growth)", "");
    free_one(alloc(1000));
    tarn_pool *other = new_pool(&options);
    destroy();
    create();
    free_one(alloc(100 * KIB));
    new_block(other, 100 * KIB);
    expect_taken(TARN_LOG_LEVEL_INFO, "gave 100 KiB back (another pool is out of memory)", "");
    expect_ok(tarn_pool_destroy_forced(other, NULL));
}

static void memory_that_the_vendor_does_not_take_back_is_told(void **state)
{
    create();
    free_one(alloc(1000));
    backend.fail_release = true;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, NULL));
    expect_taken(TARN_LOG_LEVEL_WARNING, "the test backend did not take 64 KiB back",
                 "the pool keeps them");
    expect_ok(tarn_pool_destroy(pool));
    pool = NULL;
    expect_taken(TARN_LOG_LEVEL_WARNING, "did not take 64 KiB back at the end of the pool",
                 "they are lost");
    backend.fail_release = false;
    backend.held_bytes = backend.piece_count = 0;
}

static void a_shortage_is_told_with_its_figures(void **state)
{
    options.limit_bytes = 64 * KIB;
    create();
    alloc(10 * KIB);
    expect_refused(TARN_STATUS_OVER_LIMIT, 60 * KIB);
    expect_taken(TARN_LOG_LEVEL_WARNING, "out of memory: no free region holds 60 KiB",
                 "Holds 64 KiB: used 10 KiB, free 54 KiB (the largest region 54 KiB, pending 0 "
                 "bytes, wholly free 0 bytes), captured 0 bytes; other pools hold 0 bytes");
    assert_int_equal(count_taken("out of memory"), 1);
}

static void captures_are_told(void **state)
{
    tarn_capture capture = 0;
    char begun[64], number[64];
    create();
    expect_ok(tarn_capture_begin(pool, A, &capture));
    snprintf(number, sizeof number, "capture %llu ", (unsigned long long)capture);
    snprintf(begun, sizeof begun, "of stream %p has begun", A);
    expect_taken(TARN_LOG_LEVEL_INFO, number, begun);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_release(pool, capture, NULL, 0));
    assert_int_equal(count_taken("was released"), 0);
    expect_ok(tarn_capture_end(pool, capture));
    expect_taken(TARN_LOG_LEVEL_INFO, number, "has ended");
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    expect_taken(TARN_LOG_LEVEL_INFO, number, "was released");
}

static void the_first_stream_that_is_evicted_is_told(void **state)
{
    create();
    void *blocks[40];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 40; i++)
            blocks[i] = alloc_on(1000, STREAM(i));
        for (int i = 0; i < 40; i++)
            free_on(blocks[i], STREAM(i));
    }
    assert_int_equal(count_taken("more streams than it has numbers, 29"), 1);
}

/* --- functions that call the library ------------------------------------------------------------- */

static size_t function_calls;

/* Grows the pool, fails, frees, trims and looks. */
static void use_the_pool(void)
{
    void *address;
    function_calls++;
    size_t before = taken.count;
    if (!pool) return;
    if (tarn_pool_alloc(pool, 200 * KIB, &address) != TARN_STATUS_OK) return;
    expect_ok(tarn_pool_check(pool));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, (char *)address + 1));
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_trim(pool, 0, NULL));
    tn_log(TARN_LOG_LEVEL_WARNING, "not told");
    errno = ERANGE;
    assert_int_equal(taken.count, before);
}

static void a_function_may_allocate_from_the_same_pool(void **state)
{
    create();
    taken.meanwhile = use_the_pool;
    function_calls = 0;
    errno = 0;
    void *a = alloc(1000);
    assert_int_equal(errno, 0);
    assert_int_equal(function_calls, 1);
    void *b = alloc(MIB);
    assert_int_equal(function_calls, 2);
    expect_ok(tarn_pool_check(pool));
    free_one(a);
    free_one(b);
    trim(0);
    assert_true(function_calls > 2);
    assert_int_equal(count_taken("not told"), 0);
}

static void the_call_answers_as_without_the_function(void **state)
{
    options.limit_bytes = 64 * KIB;
    create();
    alloc(10 * KIB);
    taken.meanwhile = use_the_pool; /* which fails for 200 KiB */
    void *address = &address;
    assert_int_equal(tarn_pool_alloc(pool, 60 * KIB, &address), TARN_STATUS_OVER_LIMIT);
    assert_ptr_equal(address, &address);
    expect_message("60 KiB");
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    expect_ok(tarn_last_shortage(&shortage));
    assert_int_equal(shortage.size_bytes, 60 * KIB);
}

static void note_another_site(void)
{
    *tn_call_site_noted() = (struct tn_call_site){ .frame_count = 1 };
}

/* The site of a batch's entries is noted once, before the first of them grows the pool. */
static void a_call_site_is_kept(void **state)
{
    *tn_call_site_noted() = (struct tn_call_site){ .frame_count = 3 };
    taken.meanwhile = note_another_site;
    tn_log(TARN_LOG_LEVEL_INFO, "now");
    assert_int_equal(taken.count, 1);
    assert_int_equal(tn_call_site_noted()->frame_count, 3);
}

static void created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    size_t *count = user;
    ++*count;
    assert_int_equal(count_taken("grew by"), 1);
}

/* It would wait for the callback, which runs after it in the same thread, if it did not count as one. */
static void a_function_that_runs_before_a_callback_does_not_wait_for_it(void **state)
{
    size_t count = 0;
    options.on_static_pool_created = created;
    options.user = &count;
    options.limit_bytes = 64 * KIB;
    create();
    taken.meanwhile = use_the_pool; /* which needs more than there is */
    alloc(1000);
    assert_int_equal(count, 1);
}

/* --- locks of other pools ------------------------------------------------------------------------ */

static tarn_pool *inner;

static tarn_backend_result acquire_from_pool(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    size_t before = taken.count;
    tarn_status status = tarn_pool_alloc(inner, size_bytes, address_out);
    assert_int_equal(taken.count, before);
    return (tarn_backend_result){ status, 0, NULL };
}

static tarn_backend_result release_to_pool(void *state, void *address, size_t size_bytes)
{
    (void)state, (void)size_bytes;
    return (tarn_backend_result){ tarn_pool_free(inner, address), 0, NULL };
}

/* The pool below grows while the one above holds its lock. */
static void messages_wait_for_the_last_lock(void **state)
{
    tarn_backend_operations operations = *opened.operations;
    operations.acquire = acquire_from_pool;
    operations.release = release_to_pool;
    const tarn_backend above = { &operations, opened.state };
    inner = new_pool(&options);
    options.backend = &above;
    create();
    taken.meanwhile = use_the_pool;
    function_calls = 0;
    alloc(1000);
    assert_int_equal(count_taken("grew by"), 2);
    assert_int_equal(function_calls, 2);
    taken.meanwhile = NULL;
    destroy();
    expect_ok(tarn_pool_destroy(inner));
}

static void use_tarn_malloc(void)
{
    void *address;
    function_calls++;
    if (tarn_malloc(100, &address) == TARN_STATUS_OK) expect_ok(tarn_free(address));
}

static void a_function_may_use_the_process_wide_pool_that_the_message_is_about(void **state)
{
    void *address;
    setenv("TARN_KIND", "host", 1);
    setenv("TARN_INITIAL", "1M", 1);
    function_calls = 0;
    taken.meanwhile = use_tarn_malloc;
    expect_ok(tarn_malloc(1000, &address));
    expect_taken(TARN_LOG_LEVEL_INFO, "created at 0x", "host backend, host memory");
    expect_taken(TARN_LOG_LEVEL_INFO, ": is a process-wide pool", "pool ");
    expect_ok(tarn_free(address));
    size_t calls_before = function_calls;
    assert_true(calls_before >= 2);
    expect_ok(tarn_default_pool_destroy());
    expect_taken(TARN_LOG_LEVEL_INFO, "process-wide pool, host: destroyed", "");
    assert_int_equal(function_calls, calls_before + 1);
    taken.meanwhile = NULL;
    expect_ok(tarn_default_pool_destroy()); /* the one that the function has made */
    unsetenv("TARN_KIND");
    unsetenv("TARN_INITIAL");
}

/* --- the queue ------------------------------------------------------------------------------------ */

static void messages_without_room_are_counted(void **state)
{
    enum {
        MANY = 100
    };
    tn_log_hold();
    tn_log_hold();
    for (int i = 0; i < MANY; i++)
        tn_log(TARN_LOG_LEVEL_INFO, "message number %d, of some length, that takes room", i);
    tn_log_release();
    assert_int_equal(taken.count, 0);
    tn_log_release();
    expect_taken(TARN_LOG_LEVEL_INFO, "message number 0,", "");
    char dropped[64];
    snprintf(dropped, sizeof dropped, "%zu more messages of this call were dropped",
             MANY - (taken.count - 1));
    assert_string_equal(taken.messages[taken.count - 1].text, dropped);
    taken.count = 0;
    tn_log(TARN_LOG_LEVEL_INFO, "as before");
    assert_int_equal(taken.count, 1);
}

static void a_message_that_is_too_long_is_cut(void **state)
{
    char text[2 * TN_LOG_MESSAGE_BYTES];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tn_log(TARN_LOG_LEVEL_INFO, "%s", text);
    assert_int_equal(strlen(taken.messages[0].text), TN_LOG_MESSAGE_BYTES - 1);
}

static void messages_and_frees_need_no_host_memory(void **state)
{
    options.growth_factor = 1.0;
    options.release_threshold_bytes = 1;
    create();
    void *a = alloc(60 * KIB), *b = alloc(60 * KIB);
    taken.count = 0;
    host_memory_faults_begin(1);
    expect_ok(tarn_pool_free(pool, a));
    expect_ok(tarn_pool_free(pool, b));
    tn_log(TARN_LOG_LEVEL_WARNING, "told");
    assert_false(host_memory_faults_end());
    expect_taken(TARN_LOG_LEVEL_INFO, "gave 60 KiB back", "");
    expect_taken(TARN_LOG_LEVEL_WARNING, "told", "");
}

static void a_host_without_memory_changes_nothing(void **state)
{
    for (unsigned n = 1;; n++) {
        void *address;
        size_t resting_before = tn_pool_registry_resting_count();
        host_memory_faults_begin(n);
        tarn_status status = tarn_pool_create(&options, &pool);
        if (status == TARN_STATUS_OK) {
            status = tarn_pool_alloc(pool, 1000, &address);
            expect_ok(tarn_pool_destroy_forced(pool, NULL));
        }
        size_t handles = tn_pool_registry_resting_count() - resting_before;
        assert_int_equal(host_memory_faults_outstanding(), handles);
        bool has_failed = host_memory_faults_end();
        assert_int_equal(status, has_failed ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        taken.count = 0;
        if (!has_failed) break;
    }
    pool = NULL;
}

/* --- threads and forks ------------------------------------------------------------------------------ */

static void count_only(void *user, tarn_log_level level, const char *message)
{
    atomic_fetch_add((atomic_size_t *)user, strlen(message) > 0);
}

static void *grow_and_trim(void *argument)
{
    size_t *failures = argument;
    for (int i = 0; i < 200; i++) {
        void *address;
        *failures += tarn_pool_alloc(pool, 70 * KIB, &address) != TARN_STATUS_OK;
        *failures += tarn_pool_free(pool, address) != TARN_STATUS_OK;
        *failures += tarn_pool_trim(pool, 0, NULL) != TARN_STATUS_OK;
    }
    return NULL;
}

static void several_threads_tell_at_once_while_the_log_changes(void **state)
{
    static atomic_size_t counts[2];
    pthread_t threads[THREADS];
    size_t failures[THREADS] = { 0 };
    atomic_store(&counts[0], 0);
    atomic_store(&counts[1], 0);
    expect_ok(tarn_set_log(TARN_LOG_LEVEL_INFO, count_only, &counts[0]));
    create();
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, grow_and_trim, &failures[i]), 0);
    for (size_t i = 0; i < 1000; i++)
        expect_ok(tarn_set_log(i % 3 == 0 ? TARN_LOG_LEVEL_OFF : TARN_LOG_LEVEL_INFO, count_only,
                               &counts[i % 2]));
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(failures[i], 0);
    }
    assert_true(atomic_load(&counts[0]) > 0);
}

static void tell_in_child(void *unused)
{
    size_t before = taken.count;
    tarn_pool *of_child;
    tarn_backend host;
    CHILD_EXPECT(tn_log_is_on(TARN_LOG_LEVEL_INFO));
    CHILD_EXPECT(tarn_host_backend_open(NULL, &host) == TARN_STATUS_OK);
    tarn_pool_options of_host = TARN_POOL_OPTIONS_INIT;
    of_host.backend = &host;
    CHILD_EXPECT(tarn_pool_create(&of_host, &of_child) == TARN_STATUS_OK);
    CHILD_EXPECT(taken.count == before + 1);
    CHILD_EXPECT(tarn_set_log(TARN_LOG_LEVEL_OFF, NULL, NULL) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_destroy(of_child) == TARN_STATUS_OK);
    CHILD_EXPECT(taken.count == before + 1);
}

static void *set_all_the_time(void *is_over)
{
    while (!atomic_load((atomic_bool *)is_over))
        tarn_set_log(TARN_LOG_LEVEL_INFO, take, &taken);
    return NULL;
}

/* Also while another thread of the parent is setting it. */
static void a_forked_child_goes_on(void **state)
{
    pthread_t thread;
    atomic_bool is_over = false;
    create();
    assert_int_equal(pthread_create(&thread, NULL, set_all_the_time, &is_over), 0);
    for (int i = 0; i < 50; i++)
        expect_in_child(tell_in_child, NULL);
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* --- standard error and the environment --------------------------------------------------------------- */

static void tell_both_levels(void *unused)
{
    tarn_set_log(TARN_LOG_LEVEL_INFO, NULL, NULL);
    tn_log(TARN_LOG_LEVEL_INFO, "one");
    tn_log(TARN_LOG_LEVEL_WARNING, "two");
}

static void without_a_function_lines_go_to_standard_error(void **state)
{
    assert_string_equal(error_output_of_child(tell_both_levels), "tarn: one\ntarn: warning: two\n");
}

static void use_a_pool_over_memory(void)
{
    tarn_pool *over;
    void *address;
    CHILD_EXPECT(tarn_pool_create_over(&taken, sizeof taken, NULL, &over) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc(over, MIB, &address) == TARN_STATUS_OVER_LIMIT);
    CHILD_EXPECT(tarn_pool_destroy(over) == TARN_STATUS_OK);
}

static void tell_by_environment(void *unused)
{
    CHILD_EXPECT(execl("/proc/self/exe", "test", "use", (char *)NULL) == 0);
}

static const char *output_with(const char *value)
{
    setenv("TARN_LOG", value, 1);
    const char *output = error_output_of_child(tell_by_environment);
    unsetenv("TARN_LOG");
    return output;
}

static void the_environment_sets_the_level(void **state)
{
    const char *output = output_with("info");
    assert_non_null(strstr(output, "tarn: pool 1: created at 0x"));
    assert_non_null(strstr(output, "tarn: warning: pool 1: out of memory: "));
    assert_non_null(strstr(output, "tarn: pool 1: destroyed after 0 allocations"));
    output = output_with("warning");
    assert_int_equal(strncmp(output, "tarn: warning: pool 1: out of memory: ", 38), 0);
    assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
    assert_string_equal(output_with("off"), "");
    assert_string_equal(output_with(""), "");
}

static void the_program_goes_before_the_environment(void **state)
{
    setenv("TARN_LOG", "off", 1);
    create();
    unsetenv("TARN_LOG");
    assert_int_equal(count_taken("created"), 1);
}

static void a_level_that_does_not_parse_is_refused(void **state)
{
    setenv("TARN_LOG", "verbose", 1);
    expect_options_refused(TARN_STATUS_INVALID_ENVIRONMENT,
                           "TARN_LOG is \"verbose\", not off, warning or info");
    tarn_pool *over;
    expect_status(TARN_STATUS_INVALID_ENVIRONMENT,
                  tarn_pool_create_over(&taken, sizeof taken, NULL, &over));
    unsetenv("TARN_LOG");
}

/* --- values ------------------------------------------------------------------------------------------ */

static void expect_bytes_text(size_t bytes, const char *text)
{
    assert_string_equal(tn_bytes_text(bytes).text, text);
}

static void bytes_are_written_for_people(void **state)
{
    expect_bytes_text(0, "0 bytes");
    expect_bytes_text(1024, "1024 bytes");
    expect_bytes_text(10 * KIB - 1, "10239 bytes");
    expect_bytes_text(10 * KIB, "10 KiB");
    expect_bytes_text(10 * KIB + 1, "10.0 KiB");
    expect_bytes_text(MIB - 1, "1024.0 KiB");
    expect_bytes_text(MIB, "1 MiB");
    expect_bytes_text(MIB + MIB / 2, "1.5 MiB");
    expect_bytes_text((size_t)3 << 40, "3 TiB");
    expect_bytes_text(SIZE_MAX, "16.0 EiB");
}

static void the_clock_stands_while_nothing_is_told(void **state)
{
    assert_true(tn_log_clock_ns(TARN_LOG_LEVEL_INFO) > 0);
    take_at(TARN_LOG_LEVEL_WARNING);
    assert_int_equal(tn_log_clock_ns(TARN_LOG_LEVEL_INFO), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_taking, tear_down_taking)

int main(int argc, char **argv)
{
    if (argc == 2) {
        use_a_pool_over_memory();
        return 0;
    }
    unsetenv("TARN_LOG");
    unsetenv("TARN_STATS");
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_told_until_it_is_asked_for, set_up_without_room,
                                        tear_down_taking),
        TEST(another_level_is_refused),
        TEST(a_pool_is_told_with_its_options),
        TEST(pools_without_a_name_have_numbers),
        TEST(a_message_is_one_line_of_text_whatever_the_name_is),
        TEST(a_pool_that_ends_otherwise_says_so),
        TEST(growth_is_told_once_with_its_figures),
        TEST(a_first_static_pool_that_comes_with_the_pool_is_told),
        TEST(steps_are_told_together),
        TEST(refusals_of_one_growth_are_told_together),
        TEST(a_pool_that_passes_through_tells_refusals_alone),
        TEST(memory_that_goes_back_is_told_with_the_reason),
        TEST(memory_that_goes_back_for_growth_is_told),
        TEST(memory_that_the_vendor_does_not_take_back_is_told),
        TEST(a_shortage_is_told_with_its_figures),
        TEST(captures_are_told),
        TEST(the_first_stream_that_is_evicted_is_told),
        TEST(a_function_may_allocate_from_the_same_pool),
        TEST(the_call_answers_as_without_the_function),
        TEST(a_call_site_is_kept),
        TEST(a_function_that_runs_before_a_callback_does_not_wait_for_it),
        TEST(messages_wait_for_the_last_lock),
        TEST(a_function_may_use_the_process_wide_pool_that_the_message_is_about),
        TEST(messages_without_room_are_counted),
        TEST(a_message_that_is_too_long_is_cut),
        TEST(messages_and_frees_need_no_host_memory),
        TEST(a_host_without_memory_changes_nothing),
        TEST(several_threads_tell_at_once_while_the_log_changes),
        TEST(a_forked_child_goes_on),
        TEST(without_a_function_lines_go_to_standard_error),
        TEST(the_environment_sets_the_level),
        TEST(the_program_goes_before_the_environment),
        TEST(a_level_that_does_not_parse_is_refused),
        TEST(bytes_are_written_for_people),
        TEST(the_clock_stands_while_nothing_is_told),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
