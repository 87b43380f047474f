/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_host_calls: streams by the public calls of tarn/host.h: what they refuse, launched functions, pools of each kind
 * that share a stream, and threads. When tasks run is tested by test_host_stream.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "harness/child.h"
#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "tarn/host.h"

static tarn_stream a, b;
static tarn_event event;

static int set_up(void **state)
{
    expect_ok(tarn_host_stream_create(&a));
    expect_ok(tarn_host_stream_create(&b));
    expect_ok(tarn_host_event_create(&event));
    return 0;
}

static int tear_down(void **state)
{
    expect_ok(tarn_stream_retire(a));
    expect_ok(tarn_stream_retire(b));
    expect_ok(tarn_host_event_destroy(event));
    expect_ok(tarn_host_stream_destroy(a));
    expect_ok(tarn_host_stream_destroy(b));
    expect_ok(tarn_default_pool_destroy());
    return 0;
}

/* --- functions --------------------------------------------------------------------------------- */

struct addition {
    int *sum;
    int value;
};

static void add(void *argument)
{
    const struct addition *addition = argument;
    *addition->sum = 10 * *addition->sum + addition->value;
}

/* The argument ends with this call. */
static void launch_add(int *sum, int value, tarn_stream stream)
{
    struct addition addition = { .value = value };
    addition.sum = sum;
    expect_ok(tarn_host_launch(add, &addition, sizeof addition, stream));
}

static void functions_run_in_order_when_they_are_waited_for(void **state)
{
    int sum = 0;
    launch_add(&sum, 1, a);
    launch_add(&sum, 2, a);
    launch_add(&sum, 3, b);
    assert_int_equal(sum, 0);
    expect_ok(tarn_host_stream_synchronize(a));
    assert_int_equal(sum, 12);
    expect_ok(tarn_host_synchronize());
    assert_int_equal(sum, 123);
}

static void add_one(void *argument)
{
    ++*(int *)argument;
}

static void without_bytes_the_function_gets_the_address(void **state)
{
    int sum = 0;
    expect_ok(tarn_host_launch(add_one, &sum, 0, a));
    expect_ok(tarn_host_stream_synchronize(a));
    assert_int_equal(sum, 1);
}

static void note_alignment(void *argument)
{
    uintptr_t *found = *(uintptr_t **)argument;
    *found = (uintptr_t)argument % _Alignof(max_align_t);
}

static void the_copy_is_aligned_for_any_type(void **state)
{
    uintptr_t found = 1, *argument = &found;
    expect_ok(tarn_host_launch(note_alignment, &argument, sizeof argument, a));
    expect_ok(tarn_host_stream_synchronize(a));
    assert_int_equal(found, 0);
}

static void a_stream_waits_for_an_event(void **state)
{
    int sum = 0;
    launch_add(&sum, 1, a);
    expect_ok(tarn_host_event_record(event, a));
    launch_add(&sum, 3, a);
    expect_ok(tarn_host_stream_wait_event(b, event));
    launch_add(&sum, 2, b);
    expect_ok(tarn_host_stream_synchronize(b));
    assert_int_equal(sum, 12);
    expect_ok(tarn_host_event_synchronize(event));
    assert_int_equal(sum, 12);
    expect_ok(tarn_host_stream_synchronize(a));
    assert_int_equal(sum, 123);
}

static void a_query_that_is_not_ready_is_no_error(void **state)
{
    int sum = 0;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_host_event_query(NULL));
    launch_add(&sum, 1, a);
    expect_ok(tarn_host_event_record(event, a));
    assert_int_equal(tarn_host_event_query(event), TARN_STATUS_NOT_READY);
    assert_int_equal(sum, 1);
    expect_message("event is NULL");
    assert_int_equal(tarn_host_event_query(event), TARN_STATUS_NOT_READY);
    expect_ok(tarn_host_event_query(event));
}

static void copies_and_fills_are_in_order_with_functions(void **state)
{
    unsigned char from[4] = { 1, 2, 3, 4 }, to[4] = { 0 };
    expect_ok(tarn_host_copy(to, from, 4, a));
    expect_ok(tarn_host_fill(to, 9, 2, a));
    expect_ok(tarn_host_copy(NULL, NULL, 0, a));
    expect_ok(tarn_host_fill(NULL, 1, 0, a));
    assert_int_equal(to[3], 0);
    expect_ok(tarn_host_stream_synchronize(a));
    const unsigned char expected[] = { 9, 9, 3, 4 };
    assert_memory_equal(to, expected, 4);
}

/* --- functions that wait ----------------------------------------------------------------------- */

static tarn_status waits[6];

static void wait_in_all_ways(void *unused)
{
    waits[0] = tarn_host_stream_synchronize(a);
    waits[1] = tarn_host_stream_synchronize(b);
    waits[2] = tarn_host_synchronize();
    waits[3] = tarn_host_event_synchronize(event);
    waits[4] = tarn_host_event_query(event);
    waits[5] = tarn_host_stream_destroy(b);
}

static void a_function_cannot_wait(void **state)
{
    int sum = 0;
    expect_ok(tarn_host_launch(wait_in_all_ways, NULL, 0, a));
    expect_ok(tarn_host_event_record(event, a));
    launch_add(&sum, 1, b);
    expect_ok(tarn_host_stream_synchronize(a));
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(waits[i], i == 4 ? TARN_STATUS_NOT_READY : TARN_STATUS_INVALID_ARGUMENT);
    expect_message("a function that runs on a stream cannot wait");
    assert_int_equal(sum, 0);
    expect_ok(tarn_host_stream_synchronize(b));
    assert_int_equal(sum, 1);
}

static tarn_status trimmed;

/* Giving memory back waits for all streams, so the pool keeps it. */
static void trim_inside(void *argument)
{
    size_t released_bytes;
    trimmed = tarn_pool_trim(*(tarn_pool **)argument, 0, &released_bytes);
}

static void a_function_that_trims_gives_nothing_back(void **state)
{
    tarn_pool *pool;
    void *address;
    size_t released_bytes;
    expect_ok(tarn_malloc(1000, &address));
    expect_ok(tarn_default_pool(&pool));
    expect_ok(tarn_free(address));
    expect_ok(tarn_host_launch(trim_inside, &pool, sizeof pool, a));
    expect_ok(tarn_host_stream_synchronize(a));
    assert_int_not_equal(trimmed, TARN_STATUS_OUT_OF_MEMORY);
    assert_true(stats_of(pool).footprint_bytes > 0);
    expect_ok(tarn_pool_trim(pool, 0, &released_bytes));
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
}

/* --- pools ------------------------------------------------------------------------------------- */

static tarn_pool *pool_of(tarn_memory_kind kind)
{
    tarn_pool *pool;
    expect_ok(tarn_device_pool(TARN_DEVICE_CURRENT, kind, &pool));
    return pool;
}

static void each_kind_has_a_pool_that_tells_it(void **state)
{
    tarn_pool *pools[TARN_MEMORY_KIND_HOST + 1];
    for (int kind = 0; kind <= TARN_MEMORY_KIND_HOST; kind++) {
        tarn_backend backend;
        tarn_device_properties properties;
        pools[kind] = pool_of((tarn_memory_kind)kind);
        for (int other = 0; other < kind; other++)
            assert_ptr_not_equal(pools[kind], pools[other]);
        expect_ok(tarn_pool_get_backend(pools[kind], &backend));
        expect_done(backend, get_properties, &properties);
        assert_int_equal(properties.kind, kind);
        void *address = new_block(pools[kind], 1000);
        assert_int_equal(stats_of(pools[kind]).live_count, 1);
        memset(address, 1, 1000);
        expect_ok(tarn_free(address));
    }
    assert_ptr_equal(pool_of(TARN_MEMORY_KIND_DEVICE), pools[TARN_MEMORY_KIND_DEVICE]);
}

static void increment(void *argument)
{
    unsigned char *bytes = *(unsigned char **)argument;
    for (size_t i = 0; i < 4096; i++)
        bytes[i]++;
}

/* Staging: pinned memory to the device, a kernel, and back, all freed before any of it has run. */
static void a_stream_serves_pools_of_all_kinds(void **state)
{
    static unsigned char result[4096];
    void *staging, *values;
    expect_ok(tarn_pool_alloc_on(pool_of(TARN_MEMORY_KIND_PINNED), 4096, a, &staging));
    expect_ok(tarn_malloc_on(4096, a, &values));
    memset(staging, 7, 4096);
    expect_ok(tarn_host_copy(values, staging, 4096, a));
    expect_ok(tarn_host_launch(increment, &values, sizeof values, a));
    expect_ok(tarn_host_copy(result, values, 4096, a));
    expect_ok(tarn_free_on(values, a));
    expect_ok(tarn_free_on(staging, a));
    assert_int_equal(result[0], 0);
    expect_ok(tarn_host_stream_synchronize(a));
    assert_int_equal(result[0], 8);
    assert_int_equal(result[4095], 8);
}

/* Another stream gets freed memory after the work of the stream that freed it. */
static void a_pool_makes_a_stream_wait(void **state)
{
    void *first, *second;
    int sum = 0;
    setenv("TARN_LIMIT", "1M", 1);
    expect_ok(tarn_malloc_on(800 << 10, a, &first));
    unsetenv("TARN_LIMIT");
    launch_add(&sum, 1, a);
    expect_ok(tarn_free_on(first, a));
    expect_ok(tarn_malloc_on(800 << 10, b, &second));
    assert_ptr_equal(first, second);
    launch_add(&sum, 2, b);
    expect_ok(tarn_free_on(second, b));
    expect_ok(tarn_host_stream_synchronize(b));
    assert_int_equal(sum, 12);
}

static void a_stream_serves_a_device_of_ones_own(void **state)
{
    tarn_host_options host = TARN_HOST_OPTIONS_INIT;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    tarn_backend backend;
    tarn_pool *pool;
    void *address, *none;
    int sum = 0;
    host.memory_bytes = 1 << 20;
    expect_ok(tarn_host_backend_open(&host, &backend));
    options.backend = &backend;
    expect_ok(tarn_pool_create(&options, &pool));
    expect_ok(tarn_pool_alloc_on(pool, 800 << 10, a, &address));
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc_on(pool, 800 << 10, a, &none));
    launch_add(&sum, 1, a);
    expect_ok(tarn_pool_free_on(pool, address, a));
    expect_ok(tarn_pool_destroy(pool));
    assert_int_equal(sum, 1);
    tarn_backend_close(&backend);
    launch_add(&sum, 2, a); /* the stream outlives it */
    expect_ok(tarn_host_stream_synchronize(a));
    assert_int_equal(sum, 12);
}

static void a_stream_of_a_backend_is_one_for_all_calls(void **state)
{
    tarn_backend backend;
    tarn_stream own = NULL;
    int sum = 0;
    expect_ok(tarn_host_backend_open(NULL, &backend));
    expect_done(backend, stream_create, &own);
    launch_add(&sum, 1, own);
    expect_ok(tarn_host_stream_synchronize(own));
    assert_int_equal(sum, 1);
    expect_done(backend, stream_synchronize, a);
    expect_done(backend, stream_destroy, own);
    tarn_backend_close(&backend);
}

/* --- arguments --------------------------------------------------------------------------------- */

static void all_names_of_the_default_stream_are_one(void **state)
{
    int sum = 0;
    launch_add(&sum, 1, NULL);
    launch_add(&sum, 2, TARN_HOST_STREAM_DEFAULT);
    launch_add(&sum, 3, TARN_HOST_STREAM_PER_THREAD);
    expect_ok(tarn_host_stream_synchronize(NULL));
    assert_int_equal(sum, 12);
    expect_ok(tarn_host_stream_synchronize(TARN_HOST_STREAM_PER_THREAD));
    assert_int_equal(sum, 123);
}

static void what_is_no_stream_is_refused(void **state)
{
    int nothing = 0;
    tarn_stream gone;
    expect_ok(tarn_host_stream_create(&gone));
    expect_ok(tarn_host_stream_destroy(gone));
    tarn_stream wrong[] = { &nothing, (tarn_stream)3, (tarn_stream)UINTPTR_MAX, gone };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const tarn_status refused = TARN_STATUS_INVALID_ARGUMENT;
        expect_status(refused, tarn_host_stream_destroy(wrong[i]));
        expect_message("is no stream of the host");
        expect_status(refused, tarn_host_stream_synchronize(wrong[i]));
        expect_status(refused, tarn_host_launch(add_one, &nothing, 0, wrong[i]));
        expect_status(refused, tarn_host_copy(&nothing, &nothing, 1, wrong[i]));
        expect_status(refused, tarn_host_fill(&nothing, 1, 1, wrong[i]));
        expect_status(refused, tarn_host_event_record(event, wrong[i]));
        expect_status(refused, tarn_host_stream_wait_event(wrong[i], event));
        expect_message("tarn_host_stream_wait_event: ");
    }
    assert_int_equal(nothing, 0);
}

static void null_is_refused_by_name(void **state)
{
    static const tarn_status refused = TARN_STATUS_INVALID_ARGUMENT;
    int x = 0;
    expect_status(refused, tarn_host_stream_create(NULL));
    expect_message("tarn_host_stream_create: stream_out is NULL");
    expect_status(refused, tarn_host_event_create(NULL));
    expect_message("event_out is NULL");
    expect_status(refused, tarn_host_launch(NULL, &x, 0, a));
    expect_message("function is NULL");
    expect_status(refused, tarn_host_launch(add_one, NULL, 1, a));
    expect_message("argument is NULL");
    expect_status(refused, tarn_host_copy(NULL, &x, 1, a));
    expect_message("destination is NULL");
    expect_status(refused, tarn_host_copy(&x, NULL, 1, a));
    expect_message("source is NULL");
    expect_status(refused, tarn_host_fill(NULL, 0, 1, a));
    expect_message("address is NULL");
    expect_status(refused, tarn_host_event_record(NULL, a));
    expect_status(refused, tarn_host_stream_wait_event(a, NULL));
    expect_status(refused, tarn_host_event_synchronize(NULL));
    expect_status(refused, tarn_host_event_query(NULL));
    expect_status(refused, tarn_host_event_destroy(NULL));
    expect_message("tarn_host_event_destroy: event is NULL");
    for (uintptr_t i = 0; i < 3; i++) {
        expect_status(refused, tarn_host_stream_destroy((tarn_stream)i));
        expect_message("the default stream or a thread's own");
    }
}

static void an_absurd_argument_is_no_host_memory(void **state)
{
    int x = 0;
    expect_status(TARN_STATUS_OUT_OF_HOST_MEMORY, tarn_host_launch(add_one, &x, SIZE_MAX, a));
    expect_message("tarn_host_launch: the host has no memory");
}

/* --- no host memory ---------------------------------------------------------------------------- */

/* OK, or OUT_OF_HOST_MEMORY if an allocation of this call was made to fail. */
static bool went_well(tarn_status status)
{
    if (status != TARN_STATUS_OK) {
        assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
        expect_message("the host has no memory for it");
    }
    return status == TARN_STATUS_OK;
}

/* What was submitted happens, what was refused does not. Returns how many calls were refused. */
static unsigned use_all(void)
{
    int sum = 0, copied = 0;
    tarn_stream stream;
    tarn_event own;
    struct addition one = { &sum, 1 };
    if (!went_well(tarn_host_stream_create(&stream))) return 1;
    if (!went_well(tarn_host_event_create(&own))) {
        expect_ok(tarn_host_stream_destroy(stream));
        return 1;
    }
    bool is_launched = went_well(tarn_host_launch(add, &one, sizeof one, a));
    bool is_recorded = went_well(tarn_host_event_record(own, a));
    bool is_waited = went_well(tarn_host_stream_wait_event(stream, own));
    bool is_copied = went_well(tarn_host_copy(&copied, &sum, sizeof sum, stream));
    bool is_filled = went_well(tarn_host_fill(&sum, 0, 0, a));
    bool is_own = went_well(tarn_host_fill(&sum, 0, 1, TARN_HOST_STREAM_PER_THREAD));
    expect_ok(tarn_host_stream_synchronize(stream));
    assert_int_equal(copied, is_launched && is_recorded && is_waited && is_copied);
    expect_ok(tarn_host_stream_destroy(stream));
    expect_ok(tarn_host_event_destroy(own));
    expect_ok(tarn_host_stream_synchronize(a));
    if (is_own) expect_ok(tarn_host_stream_synchronize(TARN_HOST_STREAM_PER_THREAD));
    return (unsigned)!is_launched + !is_recorded + !is_waited + !is_copied + !is_filled + !is_own;
}

static void *use_all_in_a_thread(void *refused_count)
{
    *(unsigned *)refused_count = use_all();
    return NULL;
}

static void no_host_memory_is_reported_and_changes_nothing(void **state)
{
    unsigned number = 1;
    for (;; number++) {
        pthread_t
            thread; /* its own stream is one that an ended thread had, but for the first time */
        unsigned refused_count = 0;
        host_memory_faults_begin(number);
        assert_int_equal(pthread_create(&thread, NULL, use_all_in_a_thread, &refused_count), 0);
        pthread_join(thread, NULL);
        bool has_failed = host_memory_faults_happened();
        assert_int_equal(refused_count, has_failed);
        /* The thread's own stream alone. */
        assert_in_range(host_memory_faults_outstanding(), 0, 1);
        host_memory_faults_end();
        if (!has_failed) break;
    }
    assert_int_equal(number, 7 + 1); /* stream, event, five tasks */
}

/* --- threads ----------------------------------------------------------------------------------- */

enum {
    THREAD_COUNT = 4,
    ROUND_COUNT = 200
};

static pthread_barrier_t both_run;

static void meet(void *unused)
{
    pthread_barrier_wait(&both_run);
}

static void *synchronize_in_thread(void *stream)
{
    return (void *)(uintptr_t)tarn_host_stream_synchronize(stream);
}

/* Each waits for the other within its function: they only end if they run at the same time. */
static void functions_of_two_streams_run_at_once(void **state)
{
    pthread_t thread;
    void *answer;
    pthread_barrier_init(&both_run, NULL, 2);
    expect_ok(tarn_host_launch(meet, NULL, 0, a));
    expect_ok(tarn_host_launch(meet, NULL, 0, b));
    assert_int_equal(pthread_create(&thread, NULL, synchronize_in_thread, a), 0);
    expect_ok(tarn_host_stream_synchronize(b));
    assert_int_equal(pthread_join(thread, &answer), 0);
    assert_int_equal((uintptr_t)answer, TARN_STATUS_OK);
    pthread_barrier_destroy(&both_run);
}

/* While a function runs, a query answers, and a second thread that waits for its stream goes on after it. */
static void a_query_does_not_wait_for_a_running_function(void **state)
{
    pthread_t thread;
    void *answer;
    pthread_barrier_init(&both_run, NULL, 2);
    expect_ok(tarn_host_launch(meet, NULL, 0, a));
    expect_ok(tarn_host_launch(meet, NULL, 0, a));
    expect_ok(tarn_host_event_record(event, a));
    assert_int_equal(pthread_create(&thread, NULL, synchronize_in_thread, a), 0);
    pthread_barrier_wait(&both_run);
    for (int i = 0; i < 100; i++)
        assert_int_equal(tarn_host_event_query(event), TARN_STATUS_NOT_READY);
    pthread_barrier_wait(&both_run);
    expect_ok(tarn_host_stream_synchronize(a));
    assert_int_equal(pthread_join(thread, &answer), 0);
    assert_int_equal((uintptr_t)answer, TARN_STATUS_OK);
    expect_ok(tarn_host_event_query(event));
    pthread_barrier_destroy(&both_run);
}

static void count(void *argument)
{
    ++**(unsigned **)argument; /* no atomic: tasks of one stream run one after another */
}

static unsigned shared_count;

/* Returns the first status that is not OK. */
static tarn_status work(unsigned *own_count)
{
    tarn_stream own;
    tarn_event done;
    unsigned *shared = &shared_count;
    void *memory;
    tarn_status status = tarn_host_stream_create(&own);
    if (status == TARN_STATUS_OK) status = tarn_host_event_create(&done);
    for (int i = 0; i < ROUND_COUNT && status == TARN_STATUS_OK; i++) {
        status = tarn_malloc_on(5000, own, &memory);
        if (status == TARN_STATUS_OK)
            status = tarn_host_launch(count, &own_count, sizeof own_count, own);
        if (status == TARN_STATUS_OK) status = tarn_host_fill(memory, 1, 5000, own);
        if (status == TARN_STATUS_OK) status = tarn_free_on(memory, own);
        if (status == TARN_STATUS_OK) status = tarn_host_launch(count, &shared, sizeof shared, a);
        if (status == TARN_STATUS_OK) status = tarn_host_event_record(done, a);
        if (status == TARN_STATUS_OK) status = tarn_host_stream_wait_event(own, done);
        if (i % 7 == 0 && status == TARN_STATUS_OK) status = tarn_host_stream_synchronize(own);
        if (i % 50 == 0 && status == TARN_STATUS_OK) status = tarn_host_synchronize();
    }
    if (status == TARN_STATUS_OK) status = tarn_stream_retire(own);
    if (status == TARN_STATUS_OK) status = tarn_host_stream_destroy(own);
    if (status == TARN_STATUS_OK) status = tarn_host_event_destroy(done);
    return status;
}

static void *work_in_thread(void *own_count)
{
    return (void *)(uintptr_t)work(own_count);
}

static void threads_share_streams(void **state)
{
    pthread_t threads[THREAD_COUNT];
    unsigned counts[THREAD_COUNT] = { 0 };
    shared_count = 0;
    for (size_t i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work_in_thread, &counts[i]), 0);
    for (size_t i = 0; i < THREAD_COUNT; i++) {
        void *answer;
        assert_int_equal(pthread_join(threads[i], &answer), 0);
        assert_int_equal((uintptr_t)answer, TARN_STATUS_OK);
        assert_int_equal(counts[i], ROUND_COUNT);
    }
    expect_ok(tarn_host_synchronize());
    assert_int_equal(shared_count, THREAD_COUNT * ROUND_COUNT);
}

/* --- forks ------------------------------------------------------------------------------------- */

static int child_sum;

static void use_in_child(void *unused)
{
    tarn_stream own;
    CHILD_EXPECT(tarn_host_stream_synchronize(a) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_host_launch(add_one, &child_sum, 0, a) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_host_event_record(event, NULL) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_host_event_query(event) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_host_event_synchronize(event) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_host_stream_wait_event(NULL, event) == TARN_STATUS_FORKED);
    CHILD_EXPECT(tarn_host_synchronize() == TARN_STATUS_OK);
    CHILD_EXPECT(child_sum == 0);
    CHILD_EXPECT(tarn_host_stream_destroy(a) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_host_event_destroy(event) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_host_stream_create(&own) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_host_launch(add_one, &child_sum, 0, own) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_host_launch(add_one, &child_sum, 0, NULL) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_host_synchronize() == TARN_STATUS_OK);
    CHILD_EXPECT(child_sum == 2);
    CHILD_EXPECT(tarn_host_stream_destroy(own) == TARN_STATUS_OK);
}

static void a_child_has_streams_of_its_own(void **state)
{
    child_sum = 0;
    expect_ok(tarn_host_launch(add_one, &child_sum, 0, a));
    expect_ok(tarn_host_launch(add_one, &child_sum, 0, NULL));
    expect_ok(tarn_host_event_record(event, a));
    expect_in_child(use_in_child, NULL);
    assert_int_equal(child_sum, 0);
    expect_ok(tarn_host_synchronize());
    assert_int_equal(child_sum, 2);
}

/* The child is what comes back from the function, too. It has no part in the parent's queue. */
static void fork_inside(void *argument)
{
    *(pid_t *)argument = fork();
}

static void a_function_may_fork(void **state)
{
    static pid_t child;
    int sum = 0;
    fflush(NULL);
    expect_ok(tarn_host_launch(fork_inside, &child, 0, a));
    launch_add(&sum, 1, a);
    tarn_status status = tarn_host_stream_synchronize(a);
    if (child == 0) {
        begin_child();
        CHILD_EXPECT(status == TARN_STATUS_FORKED);
        CHILD_EXPECT(sum == 0);
        _exit(0);
    }
    expect_child_to_end_well(child);
    assert_int_equal(status, TARN_STATUS_OK);
    assert_int_equal(sum, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(functions_run_in_order_when_they_are_waited_for),
        TEST(without_bytes_the_function_gets_the_address),
        TEST(the_copy_is_aligned_for_any_type),
        TEST(a_stream_waits_for_an_event),
        TEST(a_query_that_is_not_ready_is_no_error),
        TEST(copies_and_fills_are_in_order_with_functions),
        TEST(a_function_cannot_wait),
        TEST(a_function_that_trims_gives_nothing_back),
        TEST(each_kind_has_a_pool_that_tells_it),
        TEST(a_stream_serves_pools_of_all_kinds),
        TEST(a_pool_makes_a_stream_wait),
        TEST(a_stream_serves_a_device_of_ones_own),
        TEST(a_stream_of_a_backend_is_one_for_all_calls),
        TEST(all_names_of_the_default_stream_are_one),
        TEST(what_is_no_stream_is_refused),
        TEST(null_is_refused_by_name),
        TEST(an_absurd_argument_is_no_host_memory),
        TEST(no_host_memory_is_reported_and_changes_nothing),
        TEST(functions_of_two_streams_run_at_once),
        TEST(a_query_does_not_wait_for_a_running_function),
        TEST(threads_share_streams),
        TEST(a_child_has_streams_of_its_own),
        TEST(a_function_may_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
