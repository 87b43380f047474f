/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_stream_callers: streams on which only a call that names them can record. Those that threads have of
 * their own under one handle, and those that end unannounced; and the two names of the default stream. Call
 * by call, over a backend whose work is done when the test says so.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/thread_number.h"
#include "core/supply/stream_reuse.h"

#include "tarn/debug.h"
#include "pool_fixture.h"

#define LEGACY     ((tarn_stream)1)
#define PER_THREAD ((tarn_stream)2)

/* A pool of 64 KiB that cannot grow. */
static int set_up_callers(bool identifies_streams, bool has_synchronize)
{
    begin_fixture(true);
    backend.has_ids = identifies_streams;
    backend.has_synchronize = has_synchronize;
    backend.thread_stream = PER_THREAD;
    backend.default_stream_alias = LEGACY;
    opened = test_backend_open(&backend);
    options.initial_bytes = 64 * KIB;
    options.limit_bytes = 64 * KIB;
    options.identifies_streams = identifies_streams;
    create();
    return 0;
}

static int set_up_announced(void **state)
{
    return set_up_callers(false, false);
}

static int set_up_with_wait(void **state)
{
    return set_up_callers(false, true);
}

static int set_up_unannounced(void **state)
{
    return set_up_callers(true, false);
}

static int set_up_unannounced_with_wait(void **state)
{
    return set_up_callers(true, true);
}

/* --- what is done, in this thread or another ----------------------------------------------------- */

/* No claims are made in other threads: cmocka cannot take their failures. */
struct deed {
    size_t size_kib; /* 0: a free, or a use */
    tarn_stream streams[2];
    size_t stream_count;
    void *address;
    tarn_status status;
    bool is_use;
};

static void do_deed(struct deed *deed)
{
    if (deed->size_kib > 0) {
        deed->status =
            tarn_pool_alloc_on(pool, deed->size_kib * KIB, deed->streams[0], &deed->address);
    } else if (deed->is_use) {
        deed->status = tarn_pool_use_on(pool, deed->address, deed->streams[0]);
    } else if (deed->address) {
        deed->status = tarn_pool_free_after(pool, deed->address, deed->streams, deed->stream_count);
    } else {
        deed->status = tarn_stream_retire(deed->streams[0]);
    }
}

/* A thread that does one deed after the other, while the test waits. */
struct worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct deed *deed;
    bool has_to_end;
    uint64_t number;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    pthread_mutex_lock(&worker->lock);
    worker->number = tn_thread_number();
    while (!worker->has_to_end) {
        if (worker->deed) {
            do_deed(worker->deed);
            worker->deed = NULL;
            pthread_cond_broadcast(&worker->changed);
        }
        if (!worker->has_to_end) pthread_cond_wait(&worker->changed, &worker->lock);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

/* Outlives a test that fails. */
static struct worker *begin_worker(void)
{
    struct worker *worker = calloc(1, sizeof *worker);
    assert_non_null(worker);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
    return worker;
}

static void end_worker(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    worker->has_to_end = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

/* In the worker's thread; NULL: in this one. */
static void let(struct worker *worker, struct deed *deed)
{
    if (!worker) {
        do_deed(deed);
    } else {
        pthread_mutex_lock(&worker->lock);
        worker->deed = deed;
        pthread_cond_broadcast(&worker->changed);
        while (worker->deed)
            pthread_cond_wait(&worker->changed, &worker->lock);
        pthread_mutex_unlock(&worker->lock);
    }
    expect_ok(tarn_pool_check(pool));
}

static void *alloc_in(struct worker *worker, size_t size_kib, tarn_stream stream)
{
    struct deed deed = { .size_kib = size_kib, .streams = { stream } };
    let(worker, &deed);
    assert_int_equal(deed.status, TARN_STATUS_OK);
    return deed.address;
}

static void expect_refused_in(struct worker *worker, size_t size_kib, tarn_stream stream)
{
    struct deed deed = { .size_kib = size_kib, .streams = { stream } };
    let(worker, &deed);
    assert_int_equal(deed.status, TARN_STATUS_OVER_LIMIT);
}

static void use_in(struct worker *worker, void *address, tarn_stream stream)
{
    struct deed deed = { .streams = { stream }, .address = address, .is_use = true };
    let(worker, &deed);
    assert_int_equal(deed.status, TARN_STATUS_OK);
}

static void free_in(struct worker *worker, void *address, tarn_stream stream)
{
    struct deed deed = { 0, { stream }, 1, address, TARN_STATUS_OK, false };
    let(worker, &deed);
    assert_int_equal(deed.status, TARN_STATUS_OK);
}

static void free_after_both(void *address, tarn_stream one, tarn_stream other)
{
    struct deed deed = { 0, { one, other }, 2, address, TARN_STATUS_OK, false };
    let(NULL, &deed);
    assert_int_equal(deed.status, TARN_STATUS_OK);
}

static void retire_in(struct worker *worker, tarn_stream stream)
{
    struct deed deed = { .streams = { stream } };
    let(worker, &deed);
    assert_int_equal(deed.status, TARN_STATUS_OK);
}

/* Whatever the pool still has goes to the default stream. */
static void fill_up(void)
{
    void *address;
    while (tarn_pool_alloc(pool, KIB, &address) == TARN_STATUS_OK) {
    }
    test_backend_take_calls(&backend);
}

static void expect_calls(unsigned id_count, unsigned record_count, unsigned wait_count)
{
    const unsigned *counts = backend.call_counts;
    assert_int_equal(counts[TEST_CALL_STREAM_ID], id_count);
    assert_int_equal(counts[TEST_CALL_EVENT_RECORD], record_count);
    assert_int_equal(counts[TEST_CALL_STREAM_WAIT_EVENT], wait_count);
    assert_int_equal(counts[TEST_CALL_STREAM_SYNCHRONIZE], 0);
    assert_int_equal(counts[TEST_CALL_SYNCHRONIZE], 0);
    test_backend_take_calls(&backend);
}

static void expect_last_wait_for(tarn_stream stream, tarn_stream awaited, uint64_t awaited_thread)
{
    assert_in_range(backend.wait_count, 1, TEST_BACKEND_WAITS_MAX);
    const struct test_wait *wait = &backend.waits[backend.wait_count - 1];
    assert_ptr_equal(wait->stream, stream);
    assert_ptr_equal(wait->awaited, awaited);
    assert_int_equal(wait->awaited_thread, awaited_thread);
}

/* As if so many records had been made that few more have a time. */
static void age(uint32_t records_left)
{
    pool->streams->now = TN_STREAM_TIME_MAX - records_left;
}

/* --- two names of the default stream --------------------------------------------------------------- */

static void both_names_of_the_default_stream_are_one_stream(void **state)
{
    for (int i = 0; i < 10; i++) {
        void *address = alloc_in(NULL, 60, i % 2 ? LEGACY : NULL);
        free_in(NULL, address, i % 3 ? LEGACY : NULL);
    }
    expect_no_calls();
    assert_null(pool->streams);
    /* And beside another one. */
    void *of_a = alloc_in(NULL, 4, A);
    test_backend_take_calls(&backend);
    for (int i = 0; i < 10; i++) {
        void *address = alloc_in(NULL, 60, i % 2 ? LEGACY : NULL);
        free_in(NULL, address, i % 3 ? LEGACY : NULL);
    }
    void *address = alloc_in(NULL, 60, NULL);
    free_after_both(address, NULL, LEGACY);
    assert_ptr_equal(alloc_in(NULL, 60, LEGACY), address);
    expect_no_calls();
    free_in(NULL, of_a, A);
    assert_ptr_equal(alloc_in(NULL, 4, LEGACY), of_a);
    expect_calls(0, 1, 1);
}

static void the_other_name_may_come_first_retire_and_be_captured(void **state)
{
    void *address = alloc_in(NULL, 60, LEGACY);
    assert_null(pool->only_stream);
    free_in(NULL, address, NULL);
    expect_no_calls();
    retire_in(NULL, LEGACY);
    expect_calls(0, 1, 0);
    assert_ptr_equal(alloc_in(NULL, 60, NULL), address);
    expect_calls(0, 0, 1);
    free_in(NULL, address, LEGACY);

    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, LEGACY, &capture));
    tarn_capture second = 0;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_begin(pool, NULL, &second));
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
}

/* --- streams that threads have of their own --------------------------------------------------------- */

static void a_thread_alone_makes_no_calls(void **state)
{
    void *address = alloc_in(NULL, 60, PER_THREAD);
    alloc_in(NULL, 1, PER_THREAD);
    test_backend_take_calls(&backend);
    for (int i = 0; i < 100; i++) {
        free_in(NULL, address, PER_THREAD);
        assert_ptr_equal(alloc_in(NULL, 60, PER_THREAD), address);
    }
    expect_no_calls();
    assert_null(pool->streams);
    /* The default stream is another one. */
    free_in(NULL, address, PER_THREAD);
    expect_refused_in(NULL, 60, NULL);
    expect_calls(0, 0, 0);
}

static void each_thread_has_its_own_at_once(void **state)
{
    struct worker *worker = begin_worker();
    void *mine = alloc_in(NULL, 20, PER_THREAD), *its = alloc_in(worker, 20, PER_THREAD);
    void *of_a = alloc_in(NULL, 24, A);
    test_backend_take_calls(&backend);
    for (int i = 0; i < 50; i++) {
        free_in(NULL, mine, PER_THREAD);
        free_in(worker, its, PER_THREAD);
        free_in(NULL, of_a, A);
        assert_ptr_equal(alloc_in(worker, 20, PER_THREAD), its);
        assert_ptr_equal(alloc_in(NULL, 24, A), of_a);
        assert_ptr_equal(alloc_in(NULL, 20, PER_THREAD), mine);
    }
    expect_no_calls();
    end_worker(worker);
}

/* Whoever allocated it: what the worker frees under the handle is the worker's stream's. */
static void the_handle_means_the_stream_of_the_thread_that_frees(void **state)
{
    struct worker *worker = begin_worker();
    void *address = alloc_in(NULL, 60, PER_THREAD);
    alloc_in(NULL, 4, PER_THREAD);
    test_backend_take_calls(&backend);
    free_in(worker, address, PER_THREAD);
    expect_calls(0, 0, 0);
    expect_refused_in(NULL, 60, PER_THREAD);
    expect_calls(0, 0, 0);
    end_worker(worker);
}

static void its_thread_records_when_others_have_wanted_it(void **state)
{
    struct worker *worker = begin_worker();
    void *x = alloc_in(worker, 16, PER_THREAD), *y = alloc_in(worker, 16, PER_THREAD);
    alloc_in(NULL, 1, PER_THREAD);
    void *its = alloc_in(worker, 1, PER_THREAD);
    fill_up();
    free_in(worker, x, PER_THREAD);
    free_in(worker, y, PER_THREAD);
    expect_no_calls();
    expect_refused_in(NULL, 16, PER_THREAD);
    expect_refused_in(NULL, 16, A);
    test_backend_take_calls(&backend);

    /* At its next call, whichever it is, and once. */
    free_in(worker, its, PER_THREAD);
    expect_calls(0, 1, 0);
    assert_ptr_equal(alloc_in(worker, 1, PER_THREAD), its);
    free_in(worker, its, PER_THREAD);
    expect_no_calls();

    /* One wait serves for all that was freed before. */
    assert_ptr_equal(alloc_in(NULL, 16, PER_THREAD), x);
    expect_calls(0, 0, 1);
    expect_last_wait_for(PER_THREAD, PER_THREAD, worker->number);
    assert_int_equal(backend.waits[0].thread, tn_thread_number());
    assert_ptr_equal(alloc_in(NULL, 16, PER_THREAD), y);
    expect_calls(0, 0, 0);

    /* What was freed later is not covered. */
    free_in(worker, alloc_in(worker, 1, PER_THREAD), PER_THREAD);
    test_backend_take_calls(&backend);
    expect_refused_in(NULL, 1, PER_THREAD);
    expect_calls(0, 0, 0);
    alloc_in(worker, 1, PER_THREAD);
    expect_calls(0, 1, 0);
    end_worker(worker);
}

static void what_is_recorded_and_done_is_everybodys(void **state)
{
    struct worker *worker = begin_worker();
    void *x = alloc_in(worker, 48, PER_THREAD), *its = alloc_in(worker, 1, PER_THREAD);
    alloc_in(NULL, 1, PER_THREAD);
    free_in(worker, x, PER_THREAD);
    expect_refused_in(NULL, 48, PER_THREAD);
    free_in(worker, its, PER_THREAD);
    test_backend_complete(&backend, PER_THREAD);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_in(NULL, 48, PER_THREAD), x);
    expect_calls(0, 0, 0);
    end_worker(worker);
}

/* What was freed while the pool knew one thread only, was freed on that one's stream. */
static void the_first_thread_keeps_its_own_when_others_come(void **state)
{
    struct worker *worker = begin_worker();
    alloc_in(worker, 1, PER_THREAD);
    void *kept = alloc_in(worker, 1, PER_THREAD), *x = alloc_in(worker, 60, PER_THREAD);
    free_in(worker, x, PER_THREAD);
    assert_null(pool->streams);
    expect_refused_in(NULL, 60, PER_THREAD);
    assert_non_null(pool->streams);
    free_in(worker, kept, PER_THREAD); /* records */
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_in(NULL, 60, PER_THREAD), kept);
    expect_calls(0, 0, 1);
    expect_last_wait_for(PER_THREAD, PER_THREAD, worker->number);
    end_worker(worker);
}

static void a_record_that_fails_is_made_when_wanted_again(void **state)
{
    struct worker *worker = begin_worker();
    void *x = alloc_in(worker, 48, PER_THREAD);
    alloc_in(NULL, 1, PER_THREAD);
    void *its = alloc_in(worker, 1, PER_THREAD);
    fill_up();
    free_in(worker, x, PER_THREAD);
    for (int i = 0; i < 2; i++) {
        expect_refused_in(NULL, 48, PER_THREAD);
        backend.fail_call_at[i == 0 ? TEST_CALL_EVENT_CREATE : TEST_CALL_EVENT_RECORD] = 1;
        test_backend_take_calls(&backend);
        free_in(worker, its, PER_THREAD);
        assert_ptr_equal(alloc_in(worker, 1, PER_THREAD), its);
        expect_calls(0, i == 0 ? 0 : 1, 0);
    }
    expect_refused_in(NULL, 48, PER_THREAD);
    free_in(worker, its, PER_THREAD);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_in(NULL, 48, PER_THREAD), x);
    expect_calls(0, 0, 1);
    end_worker(worker);
}

static void several_streams_may_be_a_threads_own_among_others(void **state)
{
    struct worker *worker = begin_worker();
    void *x = alloc_in(NULL, 60, PER_THREAD);
    alloc_in(worker, 1, PER_THREAD);
    alloc_in(NULL, 1, A);
    free_after_both(x, PER_THREAD, A);
    test_backend_take_calls(&backend);
    expect_refused_in(worker, 60, PER_THREAD);
    expect_refused_in(worker, 60, A); /* it has not waited for this thread's */
    expect_calls(0, 0, 0);
    assert_ptr_equal(alloc_in(NULL, 60, PER_THREAD), x);
    assert_true(backend.wait_count > 0);
    expect_last_wait_for(PER_THREAD, A, tn_thread_number());
    end_worker(worker);
}

/* Its regions stay apart from others' which cannot wait for it. */
static void what_nobody_can_record_is_not_united(void **state)
{
    struct worker *worker = begin_worker();
    void *x = alloc_in(worker, 16, PER_THREAD), *y = alloc_in(NULL, 16, A);
    void *z = alloc_in(NULL, 16, B);
    assert_ptr_equal(y, (char *)x + 16 * KIB);
    fill_up();
    free_in(worker, x, PER_THREAD);
    free_in(NULL, y, A);
    free_in(NULL, z, B);
    expect_refused_in(NULL, 48, C);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_in(NULL, 32, C), y);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 2);
    end_worker(worker);
}

/* --- threads that end ------------------------------------------------------------------------------ */

static void a_thread_that_retires_its_stream_leaves_a_record(void **state)
{
    struct worker *worker = begin_worker();
    void *x = alloc_in(worker, 48, PER_THREAD);
    alloc_in(NULL, 1, PER_THREAD);
    free_in(worker, x, PER_THREAD);
    test_backend_take_calls(&backend);
    retire_in(worker, PER_THREAD);
    expect_calls(0, 1, 0);
    uint64_t number = worker->number;
    end_worker(worker);
    assert_ptr_equal(alloc_in(NULL, 48, PER_THREAD), x);
    expect_calls(0, 0, 1);
    expect_last_wait_for(PER_THREAD, PER_THREAD, number);
    /* This thread's own is not the one that has ended. */
    free_in(NULL, x, PER_THREAD);
    assert_ptr_equal(alloc_in(NULL, 48, PER_THREAD), x);
    expect_no_calls();
}

static void the_only_thread_may_retire_its_stream(void **state)
{
    struct worker *worker = begin_worker();
    void *x = alloc_in(worker, 48, PER_THREAD);
    free_in(worker, x, PER_THREAD);
    retire_in(NULL, PER_THREAD); /* which the pool does not know */
    test_backend_take_calls(&backend);
    assert_null(pool->streams);
    retire_in(worker, PER_THREAD);
    expect_calls(0, 1, 0);
    end_worker(worker);
    assert_ptr_equal(alloc_in(NULL, 48, NULL), x);
    expect_calls(0, 0, 1);
}

/* The system gives the next thread the name and the place of the one that has ended. */
static void what_a_thread_that_has_ended_freed_is_not_the_next_ones(void **state)
{
    alloc_in(NULL, 1, PER_THREAD);
    for (int i = 0; i < 3; i++) {
        struct worker *worker = begin_worker();
        void *x = alloc_in(worker, 20, PER_THREAD);
        free_in(worker, x, PER_THREAD);
        end_worker(worker);
    }
    expect_pending(60 * KIB);
    struct worker *last = begin_worker();
    expect_refused_in(last, 20, PER_THREAD);
    expect_refused_in(NULL, 20, PER_THREAD);
    assert_int_equal(backend.wait_count, 0);
    end_worker(last);
}

static void waiting_for_the_device_brings_it_back(void **state)
{
    alloc_in(NULL, 1, PER_THREAD);
    for (int i = 0; i < 3; i++) {
        struct worker *worker = begin_worker();
        free_in(worker, alloc_in(worker, 20, PER_THREAD), PER_THREAD);
        end_worker(worker);
    }
    test_backend_take_calls(&backend);
    alloc_in(NULL, 20, PER_THREAD);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 1);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 0);
    alloc_in(NULL, 20, A);
    alloc_in(NULL, 20, PER_THREAD);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 1);
    expect_pending(0);
}

/* More threads come and go than a pool knows streams. */
static void there_is_always_room_for_one_more_thread(void **state)
{
    void *kept = alloc_in(NULL, 1, PER_THREAD);
    alloc_in(NULL, 1, A);
    test_backend_take_calls(&backend);
    for (int i = 0; i < 100; i++) {
        struct worker *worker = begin_worker();
        void *x = alloc_in(worker, 1, PER_THREAD);
        free_in(worker, x, PER_THREAD);
        if (i % 3 == 0) {
            x = alloc_in(worker, 1, PER_THREAD);
            free_after_both(x, PER_THREAD, A);
        }
        end_worker(worker);
    }
    /* At most a wait for each time that all 30 numbers were taken, and the 64 KiB. */
    assert_in_range(backend.call_counts[TEST_CALL_SYNCHRONIZE], 1, 10);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE], 0);
    free_in(NULL, kept, PER_THREAD);
}

/* Those that one call names make room for each other last. */
static void a_call_keeps_the_streams_that_it_names(void **state)
{
    enum {
        COUNT = TN_STREAM_COUNT_MAX - 2
    };
    struct worker *workers[COUNT];
    void *x = alloc_in(NULL, 1, A), *y = alloc_in(NULL, 1, A);
    void *pending = alloc_in(NULL, 1, A);
    for (int i = 0; i < COUNT; i++) {
        workers[i] = begin_worker();
        free_in(workers[i], alloc_in(workers[i], 1, PER_THREAD), PER_THREAD);
    }
    free_in(NULL, pending, A);
    expect_pending((COUNT + 1) * KIB);
    assert_int_equal(tn_stream_table_find_unused(pool->streams), TN_STREAM_COUNT_MAX - 1);
    test_backend_take_calls(&backend);
    free_after_both(x, PER_THREAD, B);
    expect_calls(0, 1, 0); /* A is evicted */
    expect_pending((COUNT + 2) * KIB);
    free_after_both(y, PER_THREAD, A);
    expect_calls(0, 1, 0);
    expect_pending((COUNT + 3) * KIB);
    for (int i = 0; i < COUNT; i++)
        end_worker(workers[i]);
}

static void times_begin_anew_for_threads(void **state)
{
    for (uint32_t left = 0; left < 4; left++) {
        struct worker *worker = begin_worker();
        void *x = alloc_in(worker, 16, PER_THREAD), *its = alloc_in(worker, 1, PER_THREAD);
        void *y = alloc_in(NULL, 1, A);
        age(left);
        free_in(worker, x, PER_THREAD);
        expect_refused_in(NULL, 56, B); /* wanted */
        free_in(worker, its, PER_THREAD);
        for (int i = 0; i < 6; i++) {
            free_in(NULL, y, i % 2 ? A : B);
            y = alloc_in(NULL, 1, i % 2 ? B : A);
        }
        /* Never without a wait for the record, be it of this time or the one before. */
        unsigned waits_before = backend.wait_count;
        struct deed deed = { .size_kib = 58, .streams = { C } };
        let(NULL, &deed);
        if (deed.status == TARN_STATUS_OK) {
            assert_true(backend.wait_count > waits_before);
            free_in(NULL, deed.address, C);
        }
        free_in(NULL, y, A);
        retire_in(worker, PER_THREAD);
        end_worker(worker);
        test_backend_complete(&backend, PER_THREAD);
        trim(0);
    }
}

/* --- memory that is used on a thread's own stream ----------------------------------------------------- */

/* 60 KiB of A's, used on the worker's own stream, which is done with it when the worker says so. */
static void *used_in(struct worker *worker)
{
    alloc_in(NULL, 1, A); /* so that the vendor has nothing back */
    void *address = alloc_in(NULL, 60, A);
    use_in(worker, address, PER_THREAD);
    test_backend_take_calls(&backend);
    return address;
}

static void a_use_is_of_the_stream_of_the_thread_that_told(void **state)
{
    struct worker *worker = begin_worker();
    void *address = used_in(worker), *its = alloc_in(worker, 1, PER_THREAD);
    free_in(NULL, address, A);
    expect_no_calls();
    expect_refused_in(NULL, 60, A);
    expect_refused_in(NULL, 60, PER_THREAD); /* this thread's is another one */
    expect_calls(0, 0, 0);
    free_in(worker, its, PER_THREAD); /* records, since others want it */
    expect_calls(0, 1, 0);
    assert_ptr_equal(alloc_in(NULL, 60, A), address);
    expect_calls(0, 0, 1);
    expect_last_wait_for(A, PER_THREAD, worker->number);
    end_worker(worker);
}

static void a_thread_that_frees_what_it_used_has_it_at_once(void **state)
{
    struct worker *worker = begin_worker();
    void *address = used_in(worker);
    free_in(worker, address, PER_THREAD);
    expect_no_calls();
    assert_ptr_equal(alloc_in(worker, 60, PER_THREAD), address);
    use_in(worker, address, A);
    free_in(worker, address, PER_THREAD);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_in(worker, 60, PER_THREAD), address);
    expect_calls(0, 1, 1);
    expect_last_wait_for(PER_THREAD, A, worker->number);
    end_worker(worker);
}

static void a_thread_may_retire_its_stream_before_the_free(void **state)
{
    struct worker *worker = begin_worker();
    void *address = used_in(worker);
    retire_in(worker, PER_THREAD);
    expect_calls(0, 1, 0);
    uint64_t number = worker->number;
    end_worker(worker);
    free_in(NULL, address, A);
    assert_ptr_equal(alloc_in(NULL, 60, A), address);
    expect_calls(0, 0, 1);
    expect_last_wait_for(A, PER_THREAD, number);
}

/* Nor does the handle mean the stream of the thread that frees. */
static void a_thread_that_has_ended_is_waited_for_with_the_device(void **state)
{
    struct worker *worker = begin_worker();
    void *address = used_in(worker);
    end_worker(worker);
    free_in(NULL, address, A);
    expect_no_calls();
    assert_ptr_equal(alloc_in(NULL, 60, A), address);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 1);
}

/* It is given a number again, by its name: the handle means another stream here. */
static void a_forgotten_thread_is_waited_for(void **state)
{
    struct worker *worker = begin_worker();
    void *address = used_in(worker);
    const struct tn_stream_name name = { PER_THREAD, worker->number };
    tn_mutex_lock(&pool->growth_lock);
    tn_stream_reuse_forget_idle(pool, tn_stream_table_search(pool->streams, name));
    tn_mutex_unlock(&pool->growth_lock);
    assert_int_equal(tn_stream_table_search(pool->streams, name), TN_STREAM_NONE);
    free_in(NULL, address, A);
    assert_int_not_equal(tn_stream_table_search(pool->streams, name), TN_STREAM_NONE);
    expect_no_calls();
    expect_refused_in(NULL, 60, A);
    alloc_in(worker, 1, PER_THREAD);
    expect_calls(0, 1, 0);
    assert_ptr_equal(alloc_in(NULL, 60, A), address);
    expect_last_wait_for(A, PER_THREAD, worker->number);
    end_worker(worker);
}

/* Frees evict some of the streams that they wait for, the thread's among them: nothing may be recorded on the stream
 * that the handle means in the freeing thread. */
static void a_use_on_a_threads_stream_may_be_one_of_many(void **state)
{
    struct worker *worker = begin_worker();
    void *addresses[2];
    alloc_in(NULL, 1, A); /* so that the vendor has nothing back */
    for (unsigned k = 0; k < 2; k++) {
        addresses[k] = alloc_in(NULL, 30, A);
        for (unsigned i = 1; i < 32; i++)
            use_in(NULL, addresses[k], STREAM(i));
        use_in(worker, addresses[k], PER_THREAD);
    }
    for (unsigned k = 0; k < 2; k++)
        free_in(NULL, addresses[k], A);
    backend.wait_count = 0;
    expect_refused_in(NULL, 30, A);
    assert_int_equal(backend.wait_count, 0);
    alloc_in(worker, 1, PER_THREAD);
    alloc_in(NULL, 60, A);
    bool has_waited = false;
    assert_in_range(backend.wait_count, 1, TEST_BACKEND_WAITS_MAX);
    for (unsigned i = 0; i < backend.wait_count; i++) {
        if (backend.waits[i].awaited != PER_THREAD) continue;
        assert_int_equal(backend.waits[i].awaited_thread, worker->number);
        has_waited = true;
    }
    assert_true(has_waited);
    end_worker(worker);
}

/* The thread's stream has lost its number, and nothing is recorded there: the free cannot do that either. */
static void a_use_on_an_evicted_threads_stream_is_not_recorded(void **state)
{
    struct worker *worker = begin_worker();
    void *freed = alloc_in(NULL, 4, A), *used = alloc_in(NULL, 4, A);
    use_in(worker, used, PER_THREAD);
    free_in(worker, freed, PER_THREAD);
    const struct tn_stream_name name = { PER_THREAD, worker->number };
    tn_mutex_lock(&pool->growth_lock);
    tarn_stream refused;
    for (unsigned i = 10; tn_stream_table_has_room(pool->streams); i++)
        (void)tn_stream_reuse_introduce(pool, &(tarn_stream){ STREAM(i) }, 1, &refused);
    uint32_t kept = ~((uint32_t)1 << tn_stream_table_search(pool->streams, name));
    assert_true(tn_stream_evict_make_room(pool, &kept));
    tn_mutex_unlock(&pool->growth_lock);
    assert_int_equal(tn_stream_table_search(pool->streams, name), TN_STREAM_NONE);
    assert_int_equal(pool->streams->evicted_count, 1);
    test_backend_take_calls(&backend);
    free_in(NULL, used, A);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 0);
    assert_int_not_equal(tn_stream_table_search(pool->streams, name), TN_STREAM_NONE);
    end_worker(worker);
}

/* --- threads and captures -------------------------------------------------------------------------- */

static void the_capture_of_a_threads_own_stream_is_that_threads(void **state)
{
    struct worker *worker = begin_worker();
    alloc_in(worker, 1, PER_THREAD);
    void *before = alloc_in(NULL, 8, PER_THREAD);
    free_in(NULL, before, PER_THREAD);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, PER_THREAD, &capture));
    void *x = alloc_in(NULL, 40, PER_THREAD);
    assert_ptr_not_equal(x, before);
    free_in(NULL, x, PER_THREAD);
    expect_refused_in(worker, 40, PER_THREAD);
    assert_ptr_equal(alloc_in(NULL, 40, PER_THREAD), x);
    /* The worker's is not captured, and neither serves the capture nor is it recorded. */
    void *its = alloc_in(worker, 4, PER_THREAD);
    free_in(worker, its, PER_THREAD);
    assert_ptr_equal(alloc_in(worker, 4, PER_THREAD), its);
    free_in(NULL, x, PER_THREAD);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 0);
    expect_ok(tarn_capture_end(pool, capture));

    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_in(NULL, 8, PER_THREAD), before);
    expect_no_calls();
    expect_refused_in(NULL, 40, PER_THREAD);
    expect_ok(tarn_capture_release(pool, capture, (tarn_stream[]){ PER_THREAD }, 1));
    expect_refused_in(worker, 40, PER_THREAD);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_in(NULL, 40, PER_THREAD), x);
    end_worker(worker);
}

/* A thread that is to record cannot while anything is captured, and goes on as ever. */
static void while_something_is_captured_a_thread_records_nothing(void **state)
{
    struct worker *worker = begin_worker();
    void *x = alloc_in(worker, 16, PER_THREAD);
    alloc_in(NULL, 1, A);
    void *its = alloc_in(worker, 1, PER_THREAD);
    fill_up();
    free_in(worker, x, PER_THREAD);
    expect_refused_in(NULL, 16, A);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, B, &capture));
    test_backend_take_calls(&backend);
    for (int i = 0; i < 3; i++) {
        free_in(worker, its, PER_THREAD);
        assert_ptr_equal(alloc_in(worker, 1, PER_THREAD), its);
    }
    expect_no_calls();
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    free_in(worker, its, PER_THREAD);
    expect_calls(0, 1, 0);
    assert_ptr_equal(alloc_in(NULL, 16, A), x);
    end_worker(worker);
}

/* --- beside other options ------------------------------------------------------------------------- */

static void use_both_ways(void)
{
    struct worker *worker = begin_worker();
    for (int i = 0; i < 5; i++) {
        void *x = alloc_in(NULL, 8, PER_THREAD), *y = alloc_in(worker, 8, PER_THREAD);
        void *z = alloc_in(NULL, 8, A);
        free_in(worker, x, PER_THREAD);
        free_in(NULL, y, i % 2 ? PER_THREAD : A);
        free_after_both(z, A, PER_THREAD);
    }
    retire_in(worker, PER_THREAD);
    end_worker(worker);
    assert_int_equal(stats_of(pool).live_count, 0);
}

static void a_pool_that_passes_through_takes_them_too(void **state)
{
    for (int i = 0; i < 2; i++) {
        destroy_empty();
        options.passes_through = true;
        options.identifies_streams = i == 1;
        create();
        use_both_ways();
        assert_int_equal(stats_of(pool).footprint_bytes, 0);
    }
}

static void a_pool_in_debug_mode_takes_them_too(void **state)
{
    for (int i = 0; i < 2; i++) {
        destroy_empty();
        options.debug = TARN_DEBUG_SITES;
        options.identifies_streams = i == 1;
        create();
        use_both_ways();
    }
}

/* Then nothing is recorded either, and each has what it freed itself. */
static void without_events_others_have_nothing_of_a_thread(void **state)
{
    destroy_empty();
    backend.operations.event_create = NULL;
    backend.operations.event_record = NULL;
    create();
    struct worker *worker = begin_worker();
    void *x = alloc_in(worker, 48, PER_THREAD), *its = alloc_in(worker, 1, PER_THREAD);
    alloc_in(NULL, 1, PER_THREAD);
    free_in(worker, x, PER_THREAD);
    for (int i = 0; i < 3; i++) {
        expect_refused_in(NULL, 48, PER_THREAD);
        free_in(worker, its, PER_THREAD);
        its = alloc_in(worker, 1, PER_THREAD);
    }
    assert_ptr_equal(alloc_in(worker, 47, PER_THREAD), x);
    end_worker(worker);
}

static char memory[128 * 1024];

/* Over memory of the caller's nobody knows the vendor, and the handle means the same. */
static void over_the_callers_memory_threads_are_told_apart(void **state)
{
    destroy();
    expect_ok(tarn_pool_create_over(memory, sizeof memory, NULL, &pool));
    struct worker *worker = begin_worker();
    void *x = alloc_in(worker, 100, PER_THREAD);
    alloc_in(NULL, 1, PER_THREAD);
    free_in(worker, x, PER_THREAD);
    expect_refused_in(NULL, 100, PER_THREAD);
    assert_ptr_equal(alloc_in(worker, 100, PER_THREAD), x);
    end_worker(worker);
}

static void over_the_callers_memory_the_default_stream_has_both_names(void **state)
{
    destroy();
    expect_ok(tarn_pool_create_over(memory, sizeof memory, NULL, &pool));
    alloc_in(NULL, 1, NULL);
    void *x = alloc_in(NULL, 100, NULL);
    free_in(NULL, x, LEGACY);
    assert_ptr_equal(alloc_in(NULL, 100, NULL), x);
}

/* --- streams that end unannounced ------------------------------------------------------------------- */

static void each_call_asks_which_stream_it_is_and_each_free_is_recorded(void **state)
{
    void *x = alloc_in(NULL, 16, A);
    alloc_in(NULL, 16, B);
    test_backend_take_calls(&backend);
    for (int i = 0; i < 20; i++) {
        free_in(NULL, x, A);
        expect_calls(1, 1, 0);
        assert_ptr_equal(alloc_in(NULL, 16, A), x);
        expect_calls(1, 0, 0);
    }
    assert_in_range(backend.event_count, 1, TN_STREAM_RECORDS_MAX);
    free_after_both(x, A, B);
    expect_calls(2, 2, 0);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_on(pool, x, A));
    expect_calls(1, 0, 0);
}

static void the_default_stream_never_ends(void **state)
{
    for (int i = 0; i < 10; i++)
        free_in(NULL, alloc_in(NULL, 16, i % 2 ? NULL : LEGACY), i % 3 ? NULL : LEGACY);
    expect_no_calls();
    alloc_in(NULL, 1, A);
    test_backend_take_calls(&backend);
    void *x = alloc_in(NULL, 16, NULL);
    free_in(NULL, x, LEGACY);
    alloc_in(NULL, 16, NULL);
    expect_no_calls();
}

/* Whoever uses the handle of a stream that has ended is counted. */
static void a_stream_that_has_ended_is_not_used(void **state)
{
    void *x = alloc_in(NULL, 16, A), *y = alloc_in(NULL, 16, A);
    alloc_in(NULL, 1, B);
    fill_up();
    free_in(NULL, x, A);
    free_in(NULL, y, A);
    test_backend_end_stream(&backend, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_in(NULL, 16, B), x);
    expect_calls(1, 0, 1);
    expect_last_wait_for(B, A, tn_thread_number());
    tn_stream_reuse_settle(pool, 0);
    trim(0);
    retire_in(NULL, A);
    assert_int_equal(backend.misuse_count, 0);
    assert_ptr_equal(alloc_in(NULL, 16, C), y);
}

static void an_old_handle_may_be_a_new_stream(void **state)
{
    void *x = alloc_in(NULL, 48, A);
    alloc_in(NULL, 1, B);
    for (int i = 0; i < 40; i++) {
        free_in(NULL, x, A);
        test_backend_end_stream(&backend, A);
        test_backend_begin_stream(&backend, A);
        test_backend_take_calls(&backend);
        assert_ptr_equal(alloc_in(NULL, 48, A), x);
        assert_int_equal(backend.call_counts[TEST_CALL_STREAM_ID], 1);
        assert_int_equal(backend.call_counts[TEST_CALL_STREAM_CHECK], 1);
        assert_int_equal(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], 1);
        if (i < TEST_BACKEND_WAITS_MAX) {
            assert_int_equal(backend.wait_count, i + 1);
            expect_last_wait_for(A, A, tn_thread_number());
        }
        if (i % 4 == 3) test_backend_complete(&backend, A);
    }
}

/* With a free for the first call that names it. */
static void a_new_stream_may_free_first(void **state)
{
    void *x = alloc_in(NULL, 30, A), *y = alloc_in(NULL, 30, A);
    free_in(NULL, x, A);
    test_backend_end_stream(&backend, A);
    test_backend_begin_stream(&backend, A);
    test_backend_take_calls(&backend);
    free_in(NULL, y, A);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_ID], 1);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_in(NULL, 30, A), y);
    expect_calls(1, 0, 0);
    assert_ptr_equal(alloc_in(NULL, 30, A), x);
    expect_calls(1, 0, 1);
}

static void what_is_united_is_covered_though_one_has_ended(void **state)
{
    void *x = alloc_in(NULL, 16, A), *y = alloc_in(NULL, 16, B);
    void *z = alloc_in(NULL, 1, B);
    assert_ptr_equal(y, (char *)x + 16 * KIB);
    fill_up();
    free_in(NULL, x, A);
    test_backend_end_stream(&backend, A);
    free_in(NULL, z, B);
    assert_ptr_equal(alloc_in(NULL, 1, B), z);
    free_in(NULL, y, B);
    test_backend_take_calls(&backend);
    void *both = alloc_in(NULL, 32, C);
    assert_ptr_equal(both, x);
    expect_calls(1, 0, 2);
    /* And what is left of it is everybody's when the work is done. */
    free_in(NULL, both, B);
    expect_pending(32 * KIB);
    test_backend_complete(&backend, A);
    test_backend_complete(&backend, B);
    tn_stream_reuse_poll(pool);
    expect_pending(0);
}

static void a_free_that_cannot_be_recorded_is_not_handed_out(void **state)
{
    void *x = alloc_in(NULL, 16, A), *y = alloc_in(NULL, 1, A);
    alloc_in(NULL, 1, B);
    fill_up();
    backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    free_in(NULL, x, A);
    test_backend_take_calls(&backend);
    expect_refused_in(NULL, 16, B);
    expect_calls(1, 0, 0);
    assert_ptr_equal(alloc_in(NULL, 16, A), x);
    backend.fail_call_at[TEST_CALL_EVENT_CREATE] = 1;
    free_in(NULL, x, A);
    /* The next record covers it. */
    free_in(NULL, y, A);
    test_backend_end_stream(&backend, A);
    assert_ptr_equal(alloc_in(NULL, 16, B), x);
}

/* It ended without any record: until the device has been waited for nobody has it. */
static void what_was_never_recorded_waits_for_the_device(void **state)
{
    void *x = alloc_in(NULL, 16, A);
    alloc_in(NULL, 1, B);
    fill_up();
    backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    free_in(NULL, x, A);
    test_backend_end_stream(&backend, A);
    test_backend_begin_stream(&backend, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_in(NULL, 16, A), x);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 1);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], 0);
}

static void a_vendor_that_does_not_tell_is_an_error_that_changes_nothing(void **state)
{
    void *x = alloc_in(NULL, 16, A);
    backend.fail_call_at[TEST_CALL_STREAM_ID] = 1;
    expect_refused_on(TARN_STATUS_VENDOR_ERROR, 16 * KIB, A);
    backend.fail_call_at[TEST_CALL_STREAM_ID] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_free_on(pool, x, A));
    assert_int_equal(stats_of(pool).live_count, 1);
    free_in(NULL, x, A);
}

static void there_is_always_room_for_one_more_stream(void **state)
{
    alloc_in(NULL, 1, NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 70; i++) {
            tarn_stream stream = STREAM(i);
            void *x = alloc_in(NULL, 1, stream);
            free_in(NULL, x, stream);
            if (i % 5 == 0) test_backend_complete(&backend, stream);
        }
    }
    assert_in_range(backend.call_counts[TEST_CALL_SYNCHRONIZE], 0, 10);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE], 0);
}

/* One call names more than there are numbers: what was recorded before does not stand for its work. */
static void a_free_may_name_more_unannounced_streams_than_numbers(void **state)
{
    tarn_stream streams[60];
    void *address = alloc_in(NULL, 60, A);
    for (int i = 0; i < 60; i++) {
        streams[i] = STREAM(i);
        if (i % 2 == 0) free_in(NULL, alloc_in(NULL, 1, STREAM(i)), STREAM(i));
        if (i % 4 == 0) test_backend_complete(&backend, STREAM(i));
    }
    expect_ok(tarn_pool_free_after(pool, address, streams, 60));
    test_backend_take_calls(&backend);
    alloc_in(NULL, 60, STREAM(70));
    assert_in_range(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], 60, 90);
}

/* Each ends with work under way, and its handle comes again at once. */
static void a_handle_may_come_again_any_number_of_times(void **state)
{
    for (int i = 0; i < 40; i++) {
        void *x = alloc_in(NULL, 1, A);
        free_in(NULL, x, A);
        test_backend_end_stream(&backend, A);
        test_backend_begin_stream(&backend, A);
    }
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 0);
}

/* Threads that end without a word, too. */
static void what_a_thread_frees_is_recorded_at_once(void **state)
{
    struct worker *worker = begin_worker();
    void *x = alloc_in(worker, 60, PER_THREAD);
    test_backend_take_calls(&backend);
    free_in(worker, x, PER_THREAD);
    expect_calls(0, 1, 0);
    uint64_t number = worker->number;
    end_worker(worker);
    assert_ptr_equal(alloc_in(NULL, 60, PER_THREAD), x);
    expect_calls(0, 0, 1);
    expect_last_wait_for(PER_THREAD, PER_THREAD, number);
}

static void times_begin_anew_for_those_that_have_ended(void **state)
{
    alloc_in(NULL, 1, NULL);
    for (uint32_t left = 0; left < 6; left++) {
        tarn_stream ended = STREAM(10 + left);
        void *x = alloc_in(NULL, 16, ended), *y = alloc_in(NULL, 1, B);
        age(left);
        free_in(NULL, x, ended);
        test_backend_end_stream(&backend, ended);
        for (int i = 0; i < 4; i++) {
            free_in(NULL, y, B);
            assert_ptr_equal(alloc_in(NULL, 1, B), y);
        }
        unsigned waits_before = backend.wait_count;
        free_in(NULL, y, B);
        void *all = alloc_in(NULL, 63, C);
        assert_true(backend.wait_count > waits_before);
        free_in(NULL, all, C);
        test_backend_complete(&backend, B);
        test_backend_complete(&backend, C);
        test_backend_complete(&backend, ended);
        tn_stream_reuse_poll(pool);
        expect_pending(0);
    }
}

/* A record from before times began anew covers nothing that is freed later. */
static void an_old_record_covers_nothing_in_a_new_time(void **state)
{
    void *x = alloc_in(NULL, 16, A), *y = alloc_in(NULL, 1, B);
    void *z = alloc_in(NULL, 8, A);
    alloc_in(NULL, 1, B);
    age(1);
    free_in(NULL, x, A);
    free_in(NULL, y, B);
    assert_in_range(pool->streams->now, 1, 2);
    test_backend_complete(&backend, A);
    test_backend_complete(&backend, B);
    free_in(NULL, z, A);
    tn_stream_reuse_poll(pool);
    expect_pending(8 * KIB);
    test_backend_complete(&backend, A);
    tn_stream_reuse_poll(pool);
    expect_pending(0);
}

static void captures_are_refused(void **state)
{
    tarn_capture capture = 0;
    alloc_in(NULL, 1, A);
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_capture_begin(pool, A, &capture));
    expect_message("identifies_streams");
    assert_int_equal(capture, 0);
}

static void a_backend_without_numbers_is_refused(void **state)
{
    destroy();
    options.identifies_streams = true;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "identifies_streams");
    expect_message("test backend");
    backend.has_ids = true;
    opened = test_backend_open(&backend);
    backend.fail_call_at[TEST_CALL_STREAM_ID] = 1;
    backend.call_failure = TARN_STATUS_NOT_SUPPORTED;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "");
    create();
}

#define TEST(name)             cmocka_unit_test_setup_teardown(name, set_up_announced, tear_down)
#define TEST_WITH_WAIT(name)   cmocka_unit_test_setup_teardown(name, set_up_with_wait, tear_down)
#define TEST_UNANNOUNCED(name) cmocka_unit_test_setup_teardown(name, set_up_unannounced, tear_down)
#define TEST_UNANNOUNCED_WITH_WAIT(name) \
    cmocka_unit_test_setup_teardown(name, set_up_unannounced_with_wait, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(both_names_of_the_default_stream_are_one_stream),
        TEST(the_other_name_may_come_first_retire_and_be_captured),
        TEST(a_thread_alone_makes_no_calls),
        TEST(each_thread_has_its_own_at_once),
        TEST(the_handle_means_the_stream_of_the_thread_that_frees),
        TEST(its_thread_records_when_others_have_wanted_it),
        TEST(what_is_recorded_and_done_is_everybodys),
        TEST(the_first_thread_keeps_its_own_when_others_come),
        TEST(a_record_that_fails_is_made_when_wanted_again),
        TEST(several_streams_may_be_a_threads_own_among_others),
        TEST(what_nobody_can_record_is_not_united),
        TEST(a_thread_that_retires_its_stream_leaves_a_record),
        TEST(the_only_thread_may_retire_its_stream),
        TEST(what_a_thread_that_has_ended_freed_is_not_the_next_ones),
        TEST_WITH_WAIT(waiting_for_the_device_brings_it_back),
        TEST_WITH_WAIT(there_is_always_room_for_one_more_thread),
        TEST(a_use_is_of_the_stream_of_the_thread_that_told),
        TEST(a_thread_that_frees_what_it_used_has_it_at_once),
        TEST(a_thread_may_retire_its_stream_before_the_free),
        TEST_WITH_WAIT(a_thread_that_has_ended_is_waited_for_with_the_device),
        TEST(a_forgotten_thread_is_waited_for),
        TEST(a_use_on_a_threads_stream_may_be_one_of_many),
        TEST(a_use_on_an_evicted_threads_stream_is_not_recorded),
        TEST(a_call_keeps_the_streams_that_it_names),
        TEST(times_begin_anew_for_threads),
        TEST(the_capture_of_a_threads_own_stream_is_that_threads),
        TEST(while_something_is_captured_a_thread_records_nothing),
        TEST_UNANNOUNCED(each_call_asks_which_stream_it_is_and_each_free_is_recorded),
        TEST_UNANNOUNCED(the_default_stream_never_ends),
        TEST_UNANNOUNCED(a_stream_that_has_ended_is_not_used),
        TEST_UNANNOUNCED(an_old_handle_may_be_a_new_stream),
        TEST_UNANNOUNCED(a_new_stream_may_free_first),
        TEST_UNANNOUNCED(what_is_united_is_covered_though_one_has_ended),
        TEST_UNANNOUNCED(a_free_that_cannot_be_recorded_is_not_handed_out),
        TEST_UNANNOUNCED_WITH_WAIT(what_was_never_recorded_waits_for_the_device),
        TEST_UNANNOUNCED(a_vendor_that_does_not_tell_is_an_error_that_changes_nothing),
        TEST_UNANNOUNCED_WITH_WAIT(there_is_always_room_for_one_more_stream),
        TEST_UNANNOUNCED_WITH_WAIT(a_free_may_name_more_unannounced_streams_than_numbers),
        TEST_UNANNOUNCED_WITH_WAIT(a_handle_may_come_again_any_number_of_times),
        TEST_UNANNOUNCED(what_a_thread_frees_is_recorded_at_once),
        TEST_UNANNOUNCED(times_begin_anew_for_those_that_have_ended),
        TEST_UNANNOUNCED(an_old_record_covers_nothing_in_a_new_time),
        TEST_UNANNOUNCED(captures_are_refused),
        TEST_UNANNOUNCED_WITH_WAIT(a_pool_that_passes_through_takes_them_too),
        TEST_UNANNOUNCED_WITH_WAIT(a_pool_in_debug_mode_takes_them_too),
        TEST(without_events_others_have_nothing_of_a_thread),
        TEST(over_the_callers_memory_threads_are_told_apart),
        TEST(over_the_callers_memory_the_default_stream_has_both_names),
        TEST(a_backend_without_numbers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
