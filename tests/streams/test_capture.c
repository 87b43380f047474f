/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capture: memory of captured streams, over the host backend with a checker around it. */
#include "harness/claims.h"

#include "streams/order_checker.h"

#include "tarn/host.h"

#define KIB ((size_t)1024)

struct scene {
    struct order_checker *checker;
    tarn_backend backend;
    tarn_pool *pool;
    tarn_stream a, b;
};

static tarn_stream make_stream(const struct scene *scene)
{
    tarn_stream stream;
    assert_int_equal(scene->backend.operations->stream_create(scene->backend.state, &stream).status,
                     TARN_STATUS_OK);
    return stream;
}

static void destroy_stream(const struct scene *scene, tarn_stream stream)
{
    scene->backend.operations->stream_destroy(scene->backend.state, stream);
}

/* A pool of 64 KiB and no more, in static pools of 16. */
static struct scene scene_begin(void)
{
    struct scene scene = { 0 };
    struct order_checker_options options = { .seed = 1 };
    expect_ok(tarn_host_backend_open(NULL, &options.inner));
    scene.checker = order_checker_create(&options);
    assert_non_null(scene.checker);
    scene.backend = order_checker_backend(scene.checker);
    tarn_pool_options pool_options = TARN_POOL_OPTIONS_INIT;
    pool_options.backend = &scene.backend;
    pool_options.initial_bytes = 16 * KIB;
    pool_options.growth_factor = 1.0;
    pool_options.limit_bytes = 64 * KIB;
    expect_ok(tarn_pool_create(&pool_options, &scene.pool));
    scene.a = make_stream(&scene);
    scene.b = make_stream(&scene);
    return scene;
}

static void scene_end(struct scene *scene)
{
    expect_ok(tarn_pool_check(scene->pool));
    expect_ok(tarn_pool_destroy(scene->pool));
    assert_int_equal(order_checker_fault_count(scene->checker), 0);
    destroy_stream(scene, scene->a);
    destroy_stream(scene, scene->b);
    tarn_backend_close(&scene->backend);
}

static void *alloc_on(const struct scene *scene, size_t size_bytes, tarn_stream stream)
{
    void *address = NULL;
    expect_ok(tarn_pool_alloc_on(scene->pool, size_bytes, stream, &address));
    expect_ok(tarn_pool_check(scene->pool));
    return address;
}

static void free_on(const struct scene *scene, void *address, tarn_stream stream)
{
    expect_ok(tarn_pool_free_on(scene->pool, address, stream));
    expect_ok(tarn_pool_check(scene->pool));
}

/* All work is done, and the pool has seen that: a capture records what it may ask for at the next. */
static void wait_for_all(const struct scene *scene)
{
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(scene->pool, scene->a, &capture));
    expect_ok(tarn_capture_end(scene->pool, capture));
    expect_ok(tarn_capture_release(scene->pool, capture, NULL, 0));
    scene->backend.operations->stream_synchronize(scene->backend.state, scene->a);
    scene->backend.operations->stream_synchronize(scene->backend.state, scene->b);
}

/* The stream gets `count` static pools and no more. */
static void expect_left(const struct scene *scene, tarn_stream stream, unsigned count)
{
    void *taken[8], *none;
    for (unsigned i = 0; i < count; i++)
        taken[i] = alloc_on(scene, 16 * KIB, stream);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(scene->pool, 16 * KIB, stream, &none));
    for (unsigned i = 0; i < count; i++)
        free_on(scene, taken[i], stream);
}

static void captured_memory_is_nobody_elses(void **state)
{
    struct scene scene = scene_begin();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
    assert_true(capture != 0);
    void *x = alloc_on(&scene, 16 * KIB, scene.a);
    free_on(&scene, x, scene.a);
    expect_left(&scene, scene.b, 3);
    expect_ok(tarn_capture_end(scene.pool, capture));
    expect_left(&scene, scene.b, 3);
    expect_left(&scene, scene.a, 3); /* not even the stream itself, outside the capture */
    expect_ok(tarn_capture_release(scene.pool, capture, &scene.a, 1));
    expect_left(&scene, scene.b, 4);
    scene_end(&scene);
}

static void the_capture_has_its_own_again(void **state)
{
    struct scene scene = scene_begin();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
    void *x = alloc_on(&scene, 4 * KIB, scene.a);
    free_on(&scene, x, scene.a);
    assert_ptr_equal(alloc_on(&scene, 4 * KIB, scene.a), x);
    expect_ok(tarn_capture_end(scene.pool, capture));
    free_on(&scene, x, scene.b); /* it stays the capture's, and waits for the stream, too */
    void *y = alloc_on(&scene, 4 * KIB, scene.b);
    assert_ptr_not_equal(y, x);
    wait_for_all(&scene);

    /* One more graph in the same memory, and on another stream of the same capture. */
    expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
    expect_ok(tarn_capture_begin(scene.pool, scene.b, &capture));
    assert_ptr_equal(alloc_on(&scene, 4 * KIB, scene.a), x);
    void *z = alloc_on(&scene, 4 * KIB, scene.b);
    free_on(&scene, z, scene.b);
    void *w = alloc_on(&scene, 4 * KIB, scene.a);
    assert_ptr_not_equal(w, z); /* the streams are two */
    assert_ptr_equal(alloc_on(&scene, 4 * KIB, scene.b), z);
    expect_ok(tarn_capture_end(scene.pool, capture));
    expect_ok(tarn_capture_release(scene.pool, capture, NULL, 0));
    void *const live[] = { w, x, y, z };
    for (size_t i = 0; i < sizeof live / sizeof *live; i++)
        free_on(&scene, live[i], scene.a);
    scene_end(&scene);
}

/* What a captured stream may not do, or what would end the capture, is not done. */
static void nothing_is_asked_meanwhile(void **state)
{
    struct scene scene = scene_begin();
    void *x = alloc_on(&scene, 16 * KIB, scene.b);
    void *y = alloc_on(&scene, 16 * KIB, NULL);
    order_checker_use(scene.checker, scene.b, x, 16 * KIB);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
    free_on(&scene, x, scene.b);
    free_on(&scene, y, NULL);
    struct order_checker_counts before = order_checker_counts(scene.checker);
    void *p = alloc_on(&scene, 16 * KIB, scene.a), *q = alloc_on(&scene, 16 * KIB, scene.a), *none;
    assert_ptr_not_equal(p, x);
    assert_ptr_not_equal(q, x);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(scene.pool, 16 * KIB, scene.a, &none));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(scene.pool, 32 * KIB, scene.b, &none));
    size_t released_bytes = 1;
    expect_ok(tarn_pool_trim(scene.pool, 0, &released_bytes));
    assert_int_equal(released_bytes, 0);
    struct order_checker_counts after = order_checker_counts(scene.checker);
    assert_int_equal(after.queries, before.queries);
    assert_int_equal(after.records, before.records);
    assert_int_equal(after.waits, before.waits);
    assert_int_equal(after.releases, before.releases);
    free_on(&scene, p, scene.a);
    free_on(&scene, q, scene.a);
    expect_ok(tarn_capture_end(scene.pool, capture));

    /* A graph still uses what is free and the capture's own. */
    expect_ok(tarn_pool_trim(scene.pool, 0, &released_bytes));
    assert_int_equal(released_bytes, 32 * KIB);
    expect_ok(tarn_capture_release(scene.pool, capture, NULL, 0));
    expect_ok(tarn_pool_trim(scene.pool, 0, &released_bytes));
    assert_int_equal(released_bytes, 32 * KIB);
    scene_end(&scene);
}

/* After the release others have it when the work on the streams of the launches is done. */
static void a_release_waits_for_the_launches(void **state)
{
    struct scene scene = scene_begin();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
    void *x = alloc_on(&scene, 64 * KIB, scene.a);
    free_on(&scene, x, scene.a);
    expect_ok(tarn_capture_end(scene.pool, capture));
    order_checker_use(scene.checker, scene.b, x, 64 * KIB); /* a launch */
    expect_ok(tarn_capture_release(scene.pool, capture, &scene.b, 1));
    struct order_checker_counts before = order_checker_counts(scene.checker);
    void *y = alloc_on(&scene, 64 * KIB, scene.a);
    order_checker_take(scene.checker, scene.a, y, 64 * KIB);
    struct order_checker_counts after = order_checker_counts(scene.checker);
    assert_int_equal(after.records, before.records + 1);
    assert_int_equal(after.waits, before.waits + 1);
    order_checker_drop(scene.checker, y);
    free_on(&scene, y, scene.a);
    scene_end(&scene);
}

/* A stream fills the pool: all that it gets must be ordered after the work that used it. */
static void expect_all_in_order(const struct scene *scene, tarn_stream stream)
{
    void *taken[4];
    for (unsigned i = 0; i < 4; i++) {
        taken[i] = alloc_on(scene, 16 * KIB, stream);
        order_checker_take(scene->checker, stream, taken[i], 16 * KIB);
    }
    for (unsigned i = 0; i < 4; i++) {
        order_checker_drop(scene->checker, taken[i]);
        free_on(scene, taken[i], stream);
    }
}

/* The capture does not get memory that its stream has used before, because a launch may be on another stream. After
 * the release, other streams wait for that work. */
static void work_before_a_capture_is_waited_for(void **state)
{
    struct scene scene = scene_begin();
    tarn_stream c = make_stream(&scene);
    void *x = alloc_on(&scene, 16 * KIB, scene.a);
    order_checker_use(scene.checker, scene.a, x, 16 * KIB);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
    order_checker_drop(scene.checker, x);
    free_on(&scene, x, scene.a);
    void *y = alloc_on(&scene, 16 * KIB, scene.a);
    assert_ptr_not_equal(y, x);
    free_on(&scene, y, scene.a);
    expect_ok(tarn_capture_end(scene.pool, capture));
    expect_ok(tarn_capture_release(scene.pool, capture, &scene.b, 1));
    expect_all_in_order(&scene, c);
    expect_ok(tarn_stream_retire(c));
    destroy_stream(&scene, c);
    scene_end(&scene);
}

/* The pool does not know of the work on a stream that it meets at its capture. */
static void work_before_a_capture_of_a_new_stream_is_waited_for(void **state)
{
    struct scene scene = scene_begin();
    tarn_capture capture = 0;
    void *x = alloc_on(&scene, 16 * KIB, NULL);
    order_checker_use(scene.checker, scene.a, x, 16 * KIB);
    expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
    order_checker_drop(scene.checker, x);
    free_on(&scene, x, scene.a);
    expect_ok(tarn_capture_end(scene.pool, capture));
    expect_ok(tarn_capture_release(scene.pool, capture, NULL, 0));
    expect_all_in_order(&scene, scene.b);
    scene_end(&scene);
}

/* A stream in a capture does not wait for another one of the capture. */
static void memory_freed_on_another_captured_stream_stays(void **state)
{
    struct scene scene = scene_begin();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
    expect_ok(tarn_capture_begin(scene.pool, scene.b, &capture));
    void *x = alloc_on(&scene, 16 * KIB, scene.a);
    free_on(&scene, x, scene.b);
    void *y = alloc_on(&scene, 16 * KIB, scene.a), *z = alloc_on(&scene, 16 * KIB, scene.b);
    assert_ptr_not_equal(y, x);
    assert_ptr_not_equal(z, x);
    free_on(&scene, y, scene.a);
    free_on(&scene, z, scene.b);
    expect_ok(tarn_capture_end(scene.pool, capture));
    expect_ok(tarn_capture_release(scene.pool, capture, NULL, 0));
    scene_end(&scene);
}

/* Memory of a capture that is used and freed outside of it waits for that use, too. */
static void use_outside_of_the_capture_is_waited_for(void **state)
{
    struct scene scene = scene_begin();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
    void *x = alloc_on(&scene, 16 * KIB, scene.a);
    void *y = alloc_on(&scene, 16 * KIB, scene.a);
    expect_ok(tarn_capture_end(scene.pool, capture));
    order_checker_use(scene.checker, scene.b, x, 16 * KIB);
    order_checker_use(scene.checker, scene.b, y, 16 * KIB);
    order_checker_drop(scene.checker, x);
    free_on(&scene, x, scene.b);
    order_checker_drop(scene.checker, y);
    expect_ok(tarn_pool_resize_on(scene.pool, y, 8 * KIB, scene.b));
    free_on(&scene, y, scene.b);
    expect_ok(tarn_capture_release(scene.pool, capture, NULL, 0));
    expect_all_in_order(&scene, scene.a);
    scene_end(&scene);
}

static void what_is_no_capture_is_refused(void **state)
{
    struct scene scene = scene_begin();
    tarn_capture capture = 0, wrong = 123456;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &scene.backend;
    tarn_pool *other = new_pool(&options);
    expect_status(TARN_STATUS_INVALID_POOL, tarn_capture_begin(NULL, scene.a, &capture));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_begin(scene.pool, scene.a, NULL));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_begin(scene.pool, scene.a, &wrong));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_end(scene.pool, 0));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_release(scene.pool, 0, NULL, 0));
    expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
    tarn_capture second = 0;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_begin(scene.pool, scene.a, &second));
    assert_int_equal(second, 0);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_end(other, capture));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_release(scene.pool, capture, NULL, 0));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_stream_retire(scene.a));
    expect_ok(tarn_capture_end(scene.pool, capture));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_end(scene.pool, capture));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_release(scene.pool, capture, NULL, 1));
    tarn_stream no_stream = &scene;
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_capture_release(scene.pool, capture, &no_stream, 1));
    expect_ok(tarn_capture_release(scene.pool, capture, NULL, 0));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_release(scene.pool, capture, NULL, 0));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_begin(scene.pool, scene.a, &capture));
    expect_ok(tarn_pool_destroy(other));
    scene_end(&scene);
}

static void captures_come_and_go(void **state)
{
    struct scene scene = scene_begin();
    for (int i = 0; i < 100; i++) {
        tarn_capture capture = 0;
        expect_ok(tarn_capture_begin(scene.pool, scene.a, &capture));
        void *x = alloc_on(&scene, 16 * KIB, scene.a);
        if (i % 2 == 0) free_on(&scene, x, scene.a);
        expect_ok(tarn_capture_end(scene.pool, capture));
        expect_ok(tarn_capture_release(scene.pool, capture, NULL, 0));
        if (i % 2 != 0) free_on(&scene, x, scene.a);
    }
    tarn_capture captures[64] = { 0 };
    tarn_status status = TARN_STATUS_OK;
    size_t count = 0;
    while (count < 64 && status == TARN_STATUS_OK) {
        status = tarn_capture_begin(scene.pool, scene.a, &captures[count]);
        if (status == TARN_STATUS_OK) expect_ok(tarn_capture_end(scene.pool, captures[count++]));
    }
    assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
    assert_in_range(count, 20, 30);
    while (count > 0)
        expect_ok(tarn_capture_release(scene.pool, captures[--count], NULL, 0));
    scene_end(&scene);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_memory_is_nobody_elses),
        cmocka_unit_test(the_capture_has_its_own_again),
        cmocka_unit_test(nothing_is_asked_meanwhile),
        cmocka_unit_test(a_release_waits_for_the_launches),
        cmocka_unit_test(work_before_a_capture_is_waited_for),
        cmocka_unit_test(work_before_a_capture_of_a_new_stream_is_waited_for),
        cmocka_unit_test(memory_freed_on_another_captured_stream_stays),
        cmocka_unit_test(use_outside_of_the_capture_is_waited_for),
        cmocka_unit_test(what_is_no_capture_is_refused),
        cmocka_unit_test(captures_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
