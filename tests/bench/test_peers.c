/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_peers: the adapters of others' allocators, each by itself. One that is not there is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocators/allocator.h"
#include "playing/verifier.h"
#include "tarn/backend.h"

#define MEBIBYTE ((size_t)1 << 20)

static void *open_one(const struct tn_allocator *allocator)
{
    if (allocator->missing_because) skip();
    struct tn_allocator_settings settings = { .initial_bytes = 4 * MEBIBYTE };
    struct tn_reason reason;
    void *state = NULL;
    tarn_status status = allocator->open(&settings, &state, &reason);
    /* Without a device some runtimes say that there is no device of number 0. */
    if (status == TARN_STATUS_NOT_SUPPORTED || status == TARN_STATUS_NO_DEVICE ||
        status == TARN_STATUS_INVALID_DEVICE)
        skip();
    if (status != TARN_STATUS_OK) fail_msg("%s: %s", allocator->name, reason.text);
    return state;
}

/* Whether a device can have it is only known once it was opened. */
static bool is_there(const struct tn_allocator *allocator)
{
    struct tn_allocator_settings settings = { .initial_bytes = 4 * MEBIBYTE };
    struct tn_reason reason;
    void *state;
    if (allocator->missing_because) return false;
    if (allocator->open(&settings, &state, &reason) != TARN_STATUS_OK) return false;
    allocator->close(state);
    return true;
}

static struct tn_allocator_usage usage_of(const struct tn_allocator *allocator, void *state)
{
    struct tn_allocator_usage usage;
    allocator->get_usage(state, &usage);
    return usage;
}

/* --- malloc's kind -------------------------------------------------------------------------------- */

enum {
    BLOCK_COUNT = 300
};

static size_t size_of(size_t index)
{
    return index % 3 == 0 ? index : index * index * 7;
}

/* Every byte belongs to its block alone. */
static void expect_own_memory(const struct tn_allocator *allocator)
{
    void *state = open_one(allocator);
    unsigned char *blocks[BLOCK_COUNT];
    for (size_t i = 0; i < BLOCK_COUNT; i++) {
        void *address;
        assert_int_equal(allocator->alloc(state, size_of(i), &address), TARN_STATUS_OK);
        blocks[i] = address;
        memset(address, (int)(i % 251), size_of(i));
    }
    for (size_t i = 0; i < BLOCK_COUNT; i++) {
        for (size_t k = 0; k < size_of(i); k++)
            assert_int_equal(blocks[i][k], i % 251);
        assert_int_equal(allocator->free(state, blocks[i], size_of(i)), TARN_STATUS_OK);
    }
    allocator->close(state);
}

static void what_they_hand_out_is_memory(void **state)
{
    (void)state;
    if (tn_allocator_libc_malloc.missing_because) skip();
    expect_own_memory(&tn_allocator_libc_malloc);
    if (!tn_allocator_jemalloc.missing_because) expect_own_memory(&tn_allocator_jemalloc);
    if (!tn_allocator_mimalloc.missing_because) expect_own_memory(&tn_allocator_mimalloc);
}

static void too_much_is_out_of_memory(void **state)
{
    (void)state;
    static const struct tn_allocator *const all[] = { &tn_allocator_jemalloc,
                                                      &tn_allocator_mimalloc };
    for (size_t i = 0; i < 2; i++) {
        void *mine = open_one(all[i]);
        void *address = &mine;
        assert_int_equal(all[i]->alloc(mine, SIZE_MAX / 2, &address), TARN_STATUS_OUT_OF_MEMORY);
        assert_ptr_equal(address, &mine);
        struct tn_reason reason = { "" };
        all[i]->explain(mine, TARN_STATUS_OUT_OF_MEMORY, &reason);
        assert_string_not_equal(reason.text, "");
        all[i]->close(mine);
    }
}

/* The most that was held, though it is held no longer when it is asked for; then only a question adds to it. */
static void jemalloc_tells_the_most_that_it_held(void **state)
{
    (void)state;
    const struct tn_allocator *allocator = &tn_allocator_jemalloc;
    void *mine = open_one(allocator);
    void *blocks[10];
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(allocator->alloc(mine, 10 * MEBIBYTE, &blocks[i]), TARN_STATUS_OK);
    for (size_t i = 0; i < 10; i++)
        allocator->free(mine, blocks[i], 10 * MEBIBYTE);
    struct tn_allocator_usage usage = usage_of(allocator, mine);
    assert_in_range(usage.footprint_bytes_max, 100 * MEBIBYTE, 130 * MEBIBYTE);
    assert_in_range(usage.metadata_bytes, 1, 64 * MEBIBYTE);
    assert_int_equal(usage.vendor_calls, 0);

    assert_int_equal(allocator->alloc(mine, 500 * MEBIBYTE, &blocks[0]), TARN_STATUS_OK);
    allocator->free(mine, blocks[0], 500 * MEBIBYTE);
    allocator->trim(mine);
    assert_int_equal(usage_of(allocator, mine).footprint_bytes_max, usage.footprint_bytes_max);
    assert_in_range(usage_of(allocator, mine).footprint_bytes, 0, 4 * MEBIBYTE);
    assert_int_equal(allocator->alloc(mine, 500 * MEBIBYTE, &blocks[0]), TARN_STATUS_OK);
    assert_in_range(usage_of(allocator, mine).footprint_bytes, 500 * MEBIBYTE, 530 * MEBIBYTE);
    assert_in_range(usage_of(allocator, mine).footprint_bytes_max, 500 * MEBIBYTE, 530 * MEBIBYTE);
    allocator->free(mine, blocks[0], 500 * MEBIBYTE);
    allocator->close(mine);

    /* And what the last one held is not this one's. */
    mine = open_one(allocator);
    assert_in_range(usage_of(allocator, mine).footprint_bytes_max, 0, 2 * MEBIBYTE);
    allocator->close(mine);
}

static void who_cannot_tell_says_nothing(void **state)
{
    (void)state;
    static const struct tn_allocator *const all[] = { &tn_allocator_libc_malloc,
                                                      &tn_allocator_mimalloc };
    for (size_t i = 0; i < 2; i++) {
        void *mine = open_one(all[i]);
        void *address;
        assert_int_equal(all[i]->alloc(mine, MEBIBYTE, &address), TARN_STATUS_OK);
        struct tn_allocator_usage usage = usage_of(all[i], mine);
        assert_int_equal(usage.footprint_bytes_max, 0);
        assert_int_equal(usage.metadata_bytes, 0);
        assert_int_equal(usage.vendor_calls, 0);
        all[i]->free(mine, address, MEBIBYTE);
        all[i]->close(mine);
    }
}

/* What keeps the books of the others is the C library's malloc, whichever peers are there. */
static void malloc_stays_the_c_librarys(void **state)
{
    (void)state;
    if (!tn_allocator_mimalloc.missing_because)
        tn_allocator_mimalloc.close(open_one(&tn_allocator_mimalloc));
    static const char *const theirs[] = { "mi_malloc", "mallctl", "mallocx", "je_malloc" };
    for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++)
        assert_null(dlsym(RTLD_DEFAULT, theirs[i]));
    Dl_info info;
    assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info), 0);
    if (strstr(info.dli_fname, "jemalloc") || strstr(info.dli_fname, "mimalloc"))
        fail_msg("malloc is that of %s", info.dli_fname);
    /* Of the whole program: linked with jemalloc, it would have a malloc of its own. */
    Dl_info self;
    assert_int_not_equal(dladdr((void *)(uintptr_t)&tn_allocator_jemalloc, &self), 0);
    assert_ptr_not_equal(info.dli_fbase, self.dli_fbase);
}

/* --- pools ---------------------------------------------------------------------------------------- */

/* Before and after there is nothing; in between at least what is live, and not much more. */
static void expect_footprint(const struct tn_allocator *allocator)
{
    void *state = open_one(allocator);
    assert_int_equal(usage_of(allocator, state).footprint_bytes_max, 0);
    void *blocks[10];
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(allocator->alloc(state, MEBIBYTE, &blocks[i]), TARN_STATUS_OK);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal((uintptr_t)blocks[i] % 256, 0);
        assert_int_equal(allocator->free(state, blocks[i], MEBIBYTE), TARN_STATUS_OK);
    }
    assert_in_range(usage_of(allocator, state).footprint_bytes_max, 10 * MEBIBYTE, 20 * MEBIBYTE);
    void *nothing = state;
    assert_int_equal(allocator->alloc(state, 0, &nothing), TARN_STATUS_OK);
    assert_int_equal(allocator->free(state, nothing, 0), TARN_STATUS_OK);
    assert_int_not_equal(allocator->alloc(state, (size_t)1 << 60, &nothing), TARN_STATUS_OK);
    struct tn_reason reason = { "" };
    allocator->explain(state, TARN_STATUS_OUT_OF_MEMORY, &reason);
    assert_string_not_equal(reason.text, "");
    allocator->close(state);
}

static void umpire_tells_what_it_held(void **state)
{
    (void)state;
    expect_footprint(&tn_allocator_umpire);
    expect_footprint(&tn_allocator_umpire_list);
}

/* In pieces the system promises more than it has, but not in one: which Umpire would take when all is free again. */
static void expect_more_than_one_block_could_be(const struct tn_allocator *allocator)
{
    const size_t piece_bytes = 256 * MEBIBYTE;
    size_t memory_bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    size_t count = memory_bytes / piece_bytes * 5 / 4 + 2;
    void *state = open_one(allocator);
    void **pieces = calloc(count, sizeof pieces[0]);
    assert_non_null(pieces);
    size_t given = 0;
    while (given < count && allocator->alloc(state, piece_bytes, &pieces[given]) == TARN_STATUS_OK)
        given++;
    for (size_t i = 0; i < given; i++)
        assert_int_equal(allocator->free(state, pieces[i], piece_bytes), TARN_STATUS_OK);
    allocator->close(state);
    free(pieces);
    if (given < count) skip(); /* this system promises no more than it has */
}

static void umpire_takes_back_more_than_one_block_could_be(void **state)
{
    (void)state;
    if (strcmp(tarn_backend_name(), "host") != 0) skip();
    expect_more_than_one_block_could_be(&tn_allocator_umpire);
    expect_more_than_one_block_could_be(&tn_allocator_umpire_list);
}

static void umf_tells_what_it_held(void **state)
{
    (void)state;
    expect_footprint(&tn_allocator_umf);
}

/* --- the vendor's pool, and CUB ------------------------------------------------------------------- */

static void take(const struct tn_allocator *allocator, void *state, size_t size_bytes)
{
    void *address;
    struct tn_reason reason;
    tarn_status status = allocator->alloc(state, size_bytes, &address);
    if (status == TARN_STATUS_OK) status = allocator->free(state, address, size_bytes);
    if (status == TARN_STATUS_OK) return;
    allocator->explain(state, status, &reason);
    fail_msg("%s: %s", allocator->name, reason.text);
}

/* Both at once, each with an account of its own. */
static void each_pool_of_the_vendor_is_its_own(void **state)
{
    (void)state;
    const struct tn_allocator *keeps = &tn_allocator_vendor_pool;
    const struct tn_allocator *releases = &tn_allocator_vendor_pool_release;
    void *first = open_one(keeps);
    void *second = open_one(releases);
    take(keeps, first, 3 * MEBIBYTE);
    assert_true(usage_of(keeps, first).footprint_bytes_max >= 3 * MEBIBYTE);
    assert_int_equal(usage_of(keeps, first).vendor_calls, 2);
    assert_int_equal(usage_of(releases, second).footprint_bytes_max, 0);
    take(releases, second, MEBIBYTE);
    assert_true(usage_of(releases, second).footprint_bytes_max >= MEBIBYTE);
    releases->close(second);
    take(keeps, first, 3 * MEBIBYTE);
    keeps->close(first);
}

/* CUB takes an error that somebody else has left in the runtime for one of its own. */
static void nobody_leaves_an_error_behind(void **state)
{
    (void)state;
    static const struct tn_allocator *const others[] = {
        &tn_allocator_raw,          &tn_allocator_tarn,
        &tn_allocator_vendor_pool,  &tn_allocator_vendor_pool_release,
        &tn_allocator_cub,          &tn_allocator_torch,
        &tn_allocator_ordered_sets, &tn_allocator_torch_expandable,
    };
    void *cub = open_one(&tn_allocator_cub);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (!is_there(others[i])) continue;
        void *other = open_one(others[i]);
        take(&tn_allocator_cub, cub, 1000);
        void *address;
        assert_int_not_equal(others[i]->alloc(other, (size_t)1 << 60, &address), TARN_STATUS_OK);
        take(&tn_allocator_cub, cub, (size_t)1000 << i);
        usage_of(others[i], other);
        others[i]->close(other);
        take(&tn_allocator_cub, cub, 1000);
    }
    tn_allocator_cub.close(cub);
}

/* --- threads -------------------------------------------------------------------------------------- */

struct thread_work {
    const struct tn_allocator *allocator;
    void *whole;
    void *taken; /* over from the one before */
    void *left;  /* for the one after */
    bool is_ok;
};

/* Fails with what the allocator says. */
static bool succeeds(const struct thread_work *work, void *state, tarn_status status)
{
    struct tn_reason reason;
    if (status == TARN_STATUS_OK) return true;
    work->allocator->explain_in_thread(state, status, &reason);
    print_error("%s: %s\n", work->allocator->name, reason.text);
    return false;
}

static bool take_many(const struct thread_work *work, void *state)
{
    for (int i = 0; i < 1000; i++) {
        void *address;
        if (!succeeds(work, state, work->allocator->alloc_in_thread(state, 5000, &address)) ||
            !succeeds(work, state, work->allocator->free_in_thread(state, address, 5000)))
            return false;
    }
    return true;
}

static bool leave_and_take(struct thread_work *work, void *state)
{
    if (!succeeds(work, state, work->allocator->alloc_in_thread(state, 5000, &work->left)))
        return false;
    return !work->taken ||
           succeeds(work, state, work->allocator->free_in_thread(state, work->taken, 5000));
}

static void *take_and_leave(void *argument)
{
    struct thread_work *work = argument;
    struct tn_allocator_thread own = { .stream = NULL };
    struct tn_reason reason;
    if (work->allocator->open_thread(work->whole, &own, &reason) != TARN_STATUS_OK) return NULL;
    work->is_ok = take_many(work, own.state);
    /* A block of a stream may not outlive it. */
    if (work->is_ok && !own.has_stream) work->is_ok = leave_and_take(work, own.state);
    work->allocator->close_thread(own.state);
    return NULL;
}

/* What the first thread leaves, one of the next two frees, and what the second leaves, this one. */
static void expect_threads(const struct tn_allocator *allocator)
{
    void *state = open_one(allocator);
    void *left = NULL;
    for (int round = 0; round < 2; round++) {
        struct thread_work works[2] = { { .allocator = allocator, .whole = state, .taken = left },
                                        { .allocator = allocator, .whole = state } };
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, take_and_leave, &works[i]), 0);
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
            assert_true(works[i].is_ok);
        }
        if (works[1].left)
            assert_int_equal(allocator->free(state, works[1].left, 5000), TARN_STATUS_OK);
        left = works[0].left;
    }
    if (left) assert_int_equal(allocator->free(state, left, 5000), TARN_STATUS_OK);
    allocator->close(state);
}

static const struct tn_allocator *const peers[] = {
    &tn_allocator_jemalloc,
    &tn_allocator_mimalloc,
    &tn_allocator_libc_malloc,
    &tn_allocator_vendor_pool,
    &tn_allocator_vendor_pool_release,
    &tn_allocator_cub,
    &tn_allocator_torch,
    &tn_allocator_torch_expandable,
    &tn_allocator_umpire,
    &tn_allocator_umpire_list,
    &tn_allocator_umf,
};

/* What one has freed the other may have once it is done: an allocator that asks, and hears that it is not, goes on. */
static void expect_two_streams(const struct tn_allocator *allocator)
{
    enum {
        COUNT = 4
    };
    void *state = open_one(allocator);
    struct tn_allocator_thread users[2] = { { .stream = NULL } };
    struct tn_reason reason;
    const struct thread_work work = { .allocator = allocator };
    for (int i = 0; i < 2; i++)
        assert_int_equal(allocator->open_thread(state, &users[i], &reason), TARN_STATUS_OK);
    for (int round = 0; round < 200; round++) {
        void *user = users[round % 3 == 0].state;
        void *blocks[COUNT];
        for (int i = 0; i < COUNT; i++)
            assert_true(succeeds(&work, user, allocator->alloc_in_thread(user, 5000, &blocks[i])));
        for (int i = 0; i < COUNT; i++)
            assert_true(succeeds(&work, user, allocator->free_in_thread(user, blocks[i], 5000)));
    }
    for (int i = 0; i < 2; i++)
        allocator->close_thread(users[i].state);
    allocator->close(state);
}

static void streams_take_from_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++)
        if (is_there(peers[i])) expect_two_streams(peers[i]);
}

static void threads_use_them_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++)
        if (is_there(peers[i])) expect_threads(peers[i]);
}

/* --- what they promise ---------------------------------------------------------------------------- */

static bool takes(const struct tn_allocator *allocator, uintptr_t address, size_t size_bytes)
{
    struct tn_workload workload = { .name = "alignment", .slot_count = 1 };
    struct tn_verifier *verifier = tn_verifier_create(&workload, allocator->alignment_bytes_max);
    struct tn_reason reason;
    assert_non_null(verifier);
    bool is_taken = tn_verifier_add(verifier, 0, (void *)address, size_bytes, 0, &reason);
    tn_verifier_destroy(verifier);
    return is_taken;
}

/* tarn's alignment is asked of all but those that say so. */
static void the_verifier_asks_what_was_promised(void **state)
{
    (void)state;
    static const struct tn_allocator malloc_like = { .name = "like malloc",
                                                     .alignment_bytes_max = 16 };
    static const struct tn_allocator other = { .name = "other" };
    assert_true(takes(&malloc_like, 0x1008, 8));
    assert_false(takes(&malloc_like, 0x1004, 8));
    assert_false(takes(&malloc_like, 0x1008, 9));
    assert_true(takes(&malloc_like, 0x1010, 5000));
    assert_false(takes(&malloc_like, 0x1008, 5000));
    assert_false(takes(&other, 0x1008, 8));
    assert_true(takes(&other, 0x1010, 16));
    assert_false(takes(&other, 0x1010, 17));
    assert_false(takes(&other, 0x1080, 129));
    assert_true(takes(&other, 0x1100, 129));
}

static void who_is_missing_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; tn_allocator_table[i]; i++) {
        const struct tn_allocator *allocator = tn_allocator_table[i];
        if (allocator->missing_because)
            assert_true(strlen(allocator->missing_because) > 10);
        else
            assert_non_null(allocator->open);
        assert_ptr_equal(tn_allocator_find(allocator->name), allocator);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_they_hand_out_is_memory),
        cmocka_unit_test(too_much_is_out_of_memory),
        cmocka_unit_test(jemalloc_tells_the_most_that_it_held),
        cmocka_unit_test(who_cannot_tell_says_nothing),
        cmocka_unit_test(malloc_stays_the_c_librarys),
        cmocka_unit_test(umpire_tells_what_it_held),
        cmocka_unit_test(umpire_takes_back_more_than_one_block_could_be),
        cmocka_unit_test(umf_tells_what_it_held),
        cmocka_unit_test(each_pool_of_the_vendor_is_its_own),
        cmocka_unit_test(nobody_leaves_an_error_behind),
        cmocka_unit_test(threads_use_them_at_once),
        cmocka_unit_test(streams_take_from_each_other),
        cmocka_unit_test(the_verifier_asks_what_was_promised),
        cmocka_unit_test(who_is_missing_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
