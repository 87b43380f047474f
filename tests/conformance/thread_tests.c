/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * thread_tests: several threads on one backend at once. Each has memory and a stream of its own and
 * must find its own data; meant to be run under the thread sanitizer too.
 *
 * A claim of the test library may not fail in a thread that it does not know, so threads note what
 * went wrong and the test claims that nothing did.
 */
#include "conformance.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define AREA_BYTES ((size_t)32 << 10)

enum {
    THREAD_COUNT = 4,
    ROUND_COUNT = 50
};

struct worker {
    const struct fixture *fixture;
    pthread_t thread;
    unsigned char value;        /* that it writes; no two workers have the same */
    tarn_event shared_event;    /* recorded and waited for by all */
    tarn_stream shared_stream;  /* filled by all */
    unsigned char *shared_area; /* one byte, or one granule of a range, for each */
    unsigned char found[AREA_BYTES];
    char failure[160]; /* "": none */
};

/* Whether the operation succeeded; if not, the worker's failure says so. */
static bool went_well(struct worker *worker, const char *operation, tarn_backend_result result)
{
    if (result.status == TARN_STATUS_OK || worker->failure[0] != '\0')
        return result.status == TARN_STATUS_OK;
    snprintf(worker->failure, sizeof worker->failure, "thread %d: %s gave %s (%s)", worker->value,
             operation, tarn_status_name(result.status),
             result.vendor_name ? result.vendor_name : "no name");
    return false;
}

#define TRY(worker, operation, ...) \
    went_well(worker, #operation,   \
              (worker)->fixture->operations->operation((worker)->fixture->state, __VA_ARGS__))

static void check_found(struct worker *worker, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++) {
        if (worker->found[i] != worker->value) {
            snprintf(worker->failure, sizeof worker->failure, "thread %d: byte %zu is %d",
                     worker->value, i, worker->found[i]);
            return;
        }
    }
}

/* Polls as a pool does, then waits. */
static bool finish(struct worker *worker, tarn_event event)
{
    const struct fixture *fixture = worker->fixture;
    tarn_backend_result result = fixture->operations->event_query(fixture->state, event);
    if (result.status != TARN_STATUS_NOT_READY && !went_well(worker, "event_query", result))
        return false;
    return TRY(worker, event_synchronize, event);
}

static void use_own_stream(struct worker *worker, tarn_stream stream, tarn_event event)
{
    void *area;
    if (!TRY(worker, acquire, AREA_BYTES, &area)) return;
    memset(worker->found, 0, AREA_BYTES);
    if (TRY(worker, fill, area, worker->value, AREA_BYTES, stream) &&
        TRY(worker, copy, worker->found, area, AREA_BYTES, stream) &&
        TRY(worker, event_record, event, stream) && finish(worker, event))
        check_found(worker, AREA_BYTES);
    TRY(worker, release, area, AREA_BYTES);
}

static void use_what_is_shared(struct worker *worker, tarn_stream stream)
{
    TRY(worker, fill, worker->shared_area + worker->value, worker->value, 1, worker->shared_stream);
    TRY(worker, event_record, worker->shared_event, worker->shared_stream);
    TRY(worker, stream_wait_event, stream, worker->shared_event);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int round = 0; round < ROUND_COUNT && worker->failure[0] == '\0'; round++) {
        tarn_stream stream;
        tarn_event event;
        if (!TRY(worker, stream_create, &stream)) return NULL;
        if (TRY(worker, event_create, &event)) {
            use_what_is_shared(worker, stream);
            use_own_stream(worker, stream, event);
            TRY(worker, event_destroy, event);
        }
        TRY(worker, stream_destroy, stream);
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    require_streams(fixture);
    static struct worker workers[THREAD_COUNT];
    tarn_event event = create_event(fixture);
    tarn_stream stream = create_stream(fixture);
    unsigned char *area = acquire(fixture, THREAD_COUNT + 1);
    for (size_t i = 0; i < THREAD_COUNT; i++) {
        workers[i] = (struct worker){
            .fixture = fixture,
            .value = (unsigned char)(i + 1),
            .shared_event = event,
            .shared_stream = stream,
            .shared_area = area,
        };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);

    destroy_stream(fixture, stream);
    for (size_t i = 0; i < THREAD_COUNT; i++) {
        assert_string_equal(workers[i].failure, "");
        expect_bytes(fixture, area + workers[i].value, 1, workers[i].value);
    }
    destroy_event(fixture, event);
    release(fixture, area, THREAD_COUNT + 1);
}

/* Each maps into a place of its own in a range that all have. */
static void *map_and_unmap(void *argument)
{
    struct worker *worker = argument;
    size_t size_bytes = worker->fixture->properties.range_granularity_bytes;
    tarn_stream stream;
    if (!TRY(worker, stream_create, &stream)) return NULL;
    for (int round = 0; round < ROUND_COUNT && worker->failure[0] == '\0'; round++) {
        unsigned char *area = worker->shared_area + worker->value * size_bytes;
        tarn_mapping mapping;
        if (!TRY(worker, range_map, area, size_bytes, &mapping)) break;
        memset(worker->found, 0, AREA_BYTES);
        size_t used_bytes = size_bytes < AREA_BYTES ? size_bytes : AREA_BYTES;
        if (TRY(worker, fill, area, worker->value, used_bytes, stream) &&
            TRY(worker, copy, worker->found, area, used_bytes, stream) &&
            TRY(worker, stream_synchronize, stream))
            check_found(worker, used_bytes);
        TRY(worker, range_unmap, area, size_bytes, mapping);
    }
    TRY(worker, stream_destroy, stream);
    return NULL;
}

static void threads_map_into_one_range(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    require_streams(fixture);
    size_t unit_bytes = fixture->properties.range_granularity_bytes;
    if (unit_bytes == 0) skip();
    static struct worker workers[THREAD_COUNT];
    size_t size_bytes = (THREAD_COUNT + 1) * unit_bytes;
    void *range = NULL;
    EXPECT_OK(fixture->operations->range_reserve(fixture->state, size_bytes, &range));
    for (size_t i = 0; i < THREAD_COUNT; i++) {
        workers[i] = (struct worker){
            .fixture = fixture,
            .value = (unsigned char)(i + 1),
            .shared_area = range,
        };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, map_and_unmap, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_string_equal(workers[i].failure, "");
    }
    EXPECT_OK(fixture->operations->range_release(fixture->state, range, size_bytes));
    if (fixture->target->memory_bytes != 0)
        assert_int_equal(memory_of(fixture).free_bytes, fixture->target->memory_bytes);
}

/* Whoever loses the race for the last memory is told so, and no more is given than there is. */
static void *take_and_give_back(void *argument)
{
    struct worker *worker = argument;
    const struct fixture *fixture = worker->fixture;
    size_t size_bytes = fixture->target->memory_bytes / 2;
    for (int round = 0; round < ROUND_COUNT && worker->failure[0] == '\0'; round++) {
        void *address;
        tarn_backend_result result =
            fixture->operations->acquire(fixture->state, size_bytes, &address);
        if (result.status == TARN_STATUS_OUT_OF_MEMORY) continue;
        if (went_well(worker, "acquire", result)) TRY(worker, release, address, size_bytes);
    }
    return NULL;
}

static void pretended_memory_is_not_given_twice(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    if (fixture->target->memory_bytes == 0) skip();
    static struct worker workers[THREAD_COUNT];
    for (size_t i = 0; i < THREAD_COUNT; i++) {
        workers[i] = (struct worker){ .fixture = fixture, .value = (unsigned char)(i + 1) };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, take_and_give_back, &workers[i]),
                         0);
    }
    for (size_t i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_string_equal(workers[i].failure, "");
    }
    assert_int_equal(memory_of(fixture).free_bytes, fixture->target->memory_bytes);
}

int run_thread_tests(const struct target *target)
{
    static const struct CMUnitTest tests[] = {
        TEST(threads_do_not_disturb_each_other),
        TEST(threads_map_into_one_range),
        TEST(pretended_memory_is_not_given_twice),
    };
    fixture_set_target(target);
    return cmocka_run_group_tests_name(target->name, tests, NULL, NULL);
}
