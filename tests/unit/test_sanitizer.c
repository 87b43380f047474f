/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Under the address sanitizer a program may touch of a pool over host memory what it has allocated, and
 * nothing else. The planted faults are in child processes, which the sanitizer must end. */
#include "base/compiler.h"
#include "base/sanitizer.h"
#include "harness/child.h"
#include "harness/claims.h"
#include "tarn/host.h"

static tarn_backend backend;
static tarn_pool *pool;

static int set_up_pool(bool contiguous)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    expect_ok(tarn_host_backend_open(NULL, &backend));
    options.backend = &backend;
    options.initial_bytes = 1 << 20;
    options.contiguous = contiguous;
    options.step_bytes = 1 << 20;
    options.limit_bytes = 16 << 20;
    expect_ok(tarn_pool_create(&options, &pool));
    return 0;
}

static int set_up(void **state)
{
    return set_up_pool(false);
}

static int set_up_contiguous(void **state)
{
    return set_up_pool(true);
}

static int tear_down(void **state)
{
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    tarn_backend_close(&backend);
    return 0;
}

static char *alloc(size_t size_bytes)
{
    return new_block(pool, size_bytes);
}

static void touch(void *address)
{
    *(volatile char *)address = 1;
}

/* Over a backend of the child's own, since the parent's does not work there. */
static void submit_too_much(void *unused)
{
    set_up(NULL);
    backend.operations->fill(backend.state, alloc(100), 0, 101, NULL);
}

/* What the child wrote to its standard error, if the sanitizer ended it. */
static const char *said_by_child(void (*function)(void *), void *argument)
{
    static char said[4096];
    int ends[2], ended;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(CHILD_SECONDS_MAX);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        function(argument);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (;;) {
        char rest[4096];
        ssize_t count = read(ends[0], rest, sizeof rest);
        if (count <= 0) break;
        size_t taken = (size_t)count;
        if (taken > sizeof said - 1 - length) taken = sizeof said - 1 - length;
        memcpy(said + length, rest, taken);
        length += taken;
    }
    said[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &ended, 0), child);
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return "";
    return said;
}

static void expect_reported(void (*function)(void *), void *address)
{
    if (!TN_HAS_ADDRESS_SANITIZER) skip();
    const char *said = said_by_child(function, address);
    if (!strstr(said, "use-after-poison")) fail_msg("the sanitizer said \"%s\"", said);
}

static void all_that_was_asked_for_may_be_used(void **state)
{
    static const size_t sizes[] = { 1, 7, 8, 9, 255, 256, 257, 1023, 1024, 1025, 100001 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *address = alloc(sizes[i]);
        memset(address, 1, sizes[i]);
        expect_ok(tarn_pool_free(pool, address));
        void *aligned;
        expect_ok(tarn_pool_alloc_aligned(pool, sizes[i], 8192, &aligned));
        memset(aligned, 1, sizes[i]);
    }
}

/* All usable bytes may be touched: those of the chunk or slice, or under the sanitizer those that were asked for. */
static void all_usable_bytes_may_be_used(void **state)
{
    static const size_t sizes[] = { 1, 17, 100, 512, 513, 1023, 1024, 1025, 100001 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *address = alloc(sizes[i]);
        tarn_allocation found = TARN_ALLOCATION_INIT;
        expect_ok(tarn_pool_find(address, &found));
        if (TN_HAS_ADDRESS_SANITIZER) {
            assert_int_equal(found.usable_bytes, sizes[i]);
        } else {
            assert_true(found.usable_bytes >= sizes[i]);
            if (sizes[i] == 1025) assert_int_equal(found.usable_bytes, 2048);
        }
        memset(address, 1, found.usable_bytes);
    }
}

static void the_byte_after_is_reported(void **state)
{
    static const size_t sizes[] = { 1, 100, 1023, 1024, 5000 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        expect_reported(touch, alloc(sizes[i]) + sizes[i]);
}

static void the_byte_before_is_reported(void **state)
{
    void *before = alloc(100);
    char *address = alloc(100);
    expect_reported(touch, address - 1);
    expect_ok(tarn_pool_free(pool, before));
}

static void what_was_freed_is_reported(void **state)
{
    char *address = alloc(5000);
    expect_ok(tarn_pool_free(pool, address));
    expect_reported(touch, address);
    expect_reported(touch, address + 4999);
}

static void what_was_resized_is_reported_where_it_ends_now(void **state)
{
    static const size_t sizes[] = { 100, 20001, 20002, 19999, 3, 4096, 1025, 1024, 1 };
    char *address = alloc(5000);
    size_t old_bytes = 5000;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        expect_ok(tarn_pool_resize(pool, address, sizes[i]));
        memset(address, 1, sizes[i]);
        expect_reported(touch, address + sizes[i]);
        if (old_bytes > sizes[i]) expect_reported(touch, address + old_bytes - 1);
        old_bytes = sizes[i];
    }
}

static void a_batch_is_reported_as_one_by_one(void **state)
{
    const size_t sizes[] = { 100, 5000 };
    void *addresses[2];
    expect_ok(tarn_pool_alloc_many(pool, 2, sizes, addresses));
    for (size_t i = 0; i < 2; i++) {
        memset(addresses[i], 1, sizes[i]);
        expect_reported(touch, (char *)addresses[i] + sizes[i]);
    }
    expect_ok(tarn_pool_free_many(pool, 2, addresses));
    expect_reported(touch, addresses[0]);
    expect_reported(touch, addresses[1]);
}

static void what_was_never_handed_out_is_reported(void **state)
{
    expect_reported(touch, alloc(100) + 500000);
}

static void work_on_what_is_not_allocated_is_reported_when_submitted(void **state)
{
    expect_reported(submit_too_much, NULL);
}

/* In stream order it is a use before the free. */
static void work_may_run_after_the_free(void **state)
{
    static char copied[5000];
    char *address = alloc(sizeof copied);
    assert_int_equal(
        backend.operations->fill(backend.state, address, 7, sizeof copied, NULL).status,
        TARN_STATUS_OK);
    assert_int_equal(
        backend.operations->copy(backend.state, copied, address, sizeof copied, NULL).status,
        TARN_STATUS_OK);
    expect_ok(tarn_pool_free(pool, address));
    assert_int_equal(backend.operations->stream_synchronize(backend.state, NULL).status,
                     TARN_STATUS_OK);
    assert_int_equal(copied[0], 7);
    assert_int_equal(copied[4999], 7);
}

static void read_later(void *argument)
{
    char *address = *(char **)argument;
    touch(address);
    touch(address + 4999);
}

static void a_function_may_run_after_the_free(void **state)
{
    char *address = alloc(5000);
    expect_ok(tarn_host_launch(read_later, &address, sizeof address, NULL));
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_host_stream_synchronize(NULL));
    address = alloc(5000);
    expect_ok(tarn_pool_free(pool, address));
    expect_reported(touch, address);
}

/* The next to have it may use all of it. */
static void what_went_back_is_nobodys(void **state)
{
    enum {
        ROUNDS = 8
    };
    size_t released;
    for (int i = 0; i < ROUNDS; i++) {
        void *raw;
        expect_ok(tarn_pool_free(pool, alloc(100)));
        expect_ok(tarn_pool_trim(pool, 0, &released));
        assert_true(released > 0);
        assert_int_equal(backend.operations->acquire(backend.state, 1 << 20, &raw).status,
                         TARN_STATUS_OK);
        memset(raw, 1, 1 << 20);
        backend.operations->release(backend.state, raw, 1 << 20);
    }
}

/* The same addresses may be anybody's later. */
static void steps_that_went_back_are_nobodys(void **state)
{
    enum {
        STEPS = 5
    };
    size_t released;
    char *address = alloc(STEPS << 20);
    expect_ok(tarn_pool_free(pool, address));
    expect_reported(touch, address + ((STEPS - 1) << 20));
    expect_ok(tarn_pool_trim(pool, 0, &released));
    assert_int_equal(released, STEPS << 20);
    tn_sanitizer_claim(address, STEPS << 20);
    assert_ptr_equal(alloc(STEPS << 20), address);
    memset(address, 1, STEPS << 20);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_destroy(pool));
    tn_sanitizer_claim(address, STEPS << 20);
    tarn_backend_close(&backend);
    set_up_contiguous(state);
}

static void an_abandoned_range_may_be_used(void **state)
{
    char *address = alloc(3 << 20);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_abandon(pool));
    memset(address, 1, 3 << 20);
    set_up_contiguous(state);
}

static void an_abandoned_pools_memory_may_be_used(void **state)
{
    char *address = alloc(100);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_abandon(pool));
    touch(address);
    /* The backend still has the piece, so it stays open, and another takes its place. */
    backend.operations->release(backend.state, address, 1 << 20);
    tarn_backend_close(&backend);
    set_up(state);
}

static void a_pool_over_the_callers_memory_leaves_it_alone(void **state)
{
    static char memory[8192];
    tarn_pool *over;
    expect_ok(tarn_pool_create_over(memory, sizeof memory, NULL, &over));
    void *address = new_block(over, 10);
    memset(memory, 1, sizeof memory);
    expect_ok(tarn_pool_free(over, address));
    memset(memory, 1, sizeof memory);
    expect_ok(tarn_pool_destroy(over));
}

static void fill_and_move_are_memset_and_memmove(void **state)
{
    enum {
        AREA_BYTES = 64,
        SIZE_MAX_BYTES = 32
    };
    unsigned char moved[AREA_BYTES], expected[AREA_BYTES];
    for (size_t size = 0; size <= SIZE_MAX_BYTES; size++) {
        for (size_t from = 0; from <= SIZE_MAX_BYTES; from++) {
            for (size_t i = 0; i < AREA_BYTES; i++)
                moved[i] = expected[i] = (unsigned char)i;
            const size_t to = SIZE_MAX_BYTES / 2;
            tn_sanitizer_move(moved + to, moved + from, size);
            memmove(expected + to, expected + from, size);
            assert_memory_equal(moved, expected, AREA_BYTES);
            tn_sanitizer_fill(moved + from, 0xa5, size);
            memset(expected + from, 0xa5, size);
            assert_memory_equal(moved, expected, AREA_BYTES);
        }
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define CONTIGUOUS(name)                                               \
    {                                                                  \
#name ", contiguous", name, set_up_contiguous, tear_down, NULL \
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill_and_move_are_memset_and_memmove),
        CASE(all_that_was_asked_for_may_be_used),
        CASE(all_usable_bytes_may_be_used),
        CASE(the_byte_after_is_reported),
        CASE(the_byte_before_is_reported),
        CASE(what_was_freed_is_reported),
        CASE(what_was_resized_is_reported_where_it_ends_now),
        CASE(a_batch_is_reported_as_one_by_one),
        CASE(what_was_never_handed_out_is_reported),
        CASE(work_on_what_is_not_allocated_is_reported_when_submitted),
        CASE(work_may_run_after_the_free),
        CASE(a_function_may_run_after_the_free),
        CASE(what_went_back_is_nobodys),
        CASE(an_abandoned_pools_memory_may_be_used),
        CASE(a_pool_over_the_callers_memory_leaves_it_alone),
        CONTIGUOUS(all_that_was_asked_for_may_be_used),
        CONTIGUOUS(all_usable_bytes_may_be_used),
        CONTIGUOUS(the_byte_after_is_reported),
        CONTIGUOUS(what_was_freed_is_reported),
        CONTIGUOUS(what_was_resized_is_reported_where_it_ends_now),
        CONTIGUOUS(what_was_never_handed_out_is_reported),
        CONTIGUOUS(steps_that_went_back_are_nobodys),
        CONTIGUOUS(an_abandoned_range_may_be_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
