/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * slices: classes, masks, what slabs wait for; and random programs beside a model that remembers of every
 * slice for itself which work it waits for.
 */
#include "core/parts/slices.h"

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#define NO_STREAM UINT32_MAX /* as in pools that know one */
#define NONE      TN_DEPENDENCY_NONE

static struct tn_slices slices;

static void expect_valid(void)
{
    const char *fault = tn_slices_check(&slices);
    if (fault) fail_msg("%s", fault);
}

static int set_up(void **state)
{
    tn_slices_init(&slices, 10, TN_SLICE_BYTES_MIN);
    return 0;
}

static int tear_down(void **state)
{
    expect_valid();
    tn_slices_fini(&slices);
    return 0;
}

static struct tn_dependency on(uint32_t streams, uint32_t time)
{
    return (struct tn_dependency){ streams, time };
}

#define A 0U
#define B 1U
#define C 2U

#define BIT(stream) ((uint32_t)1 << (stream))

/* A slab of 512-byte slices, of which there are two, given to the stream. */
static uint32_t add_pair(uint32_t stream)
{
    static uint32_t chunk;
    assert_true(tn_slices_reserve(&slices, 5));
    uint32_t slab = tn_slices_add(&slices, 5, chunk++, NONE);
    tn_slices_give(&slices, slab, stream, true);
    return slab;
}

/* The same, both live. */
static uint32_t add_full_pair(uint32_t stream)
{
    uint32_t slab = add_pair(stream);
    assert_int_equal(tn_slices_take(&slices, slab, 512), 0);
    assert_int_equal(tn_slices_take(&slices, slab, 257), 1);
    expect_valid();
    return slab;
}

static void expect_dependency(uint32_t slab, uint32_t streams, uint32_t time)
{
    struct tn_dependency dependency = tn_slices_dependency(&slices, slab);
    assert_int_equal(dependency.streams, streams);
    if (streams != 0) assert_int_equal(dependency.time, time);
}

static void expect_ready(uint32_t stream, uint32_t slab)
{
    assert_int_equal(tn_slices_find_ready(&slices, 5, stream), slab);
    expect_valid();
}

/* --- classes ------------------------------------------------------------------------------------ */

static void expect_class(size_t size, size_t alignment, unsigned expected)
{
    unsigned slice_class = tn_slices_class_for(&slices, size, alignment);
    if (slice_class != expected)
        fail_msg("%zu bytes aligned to %zu: class %u, expected %u", size, alignment, slice_class,
                 expected);
}

static void a_class_is_the_smallest_that_holds_the_request(void **state)
{
    expect_class(1, 1, 0);
    expect_class(16, 1, 0);
    expect_class(17, 1, 1);
    expect_class(32, 1, 1);
    expect_class(33, 1, 2);
    expect_class(256, 1, 4);
    expect_class(257, 1, 5);
    expect_class(512, 1, 5);
    expect_class(513, 1, TN_SLICE_CLASS_NONE);
    expect_class(SIZE_MAX, 1, TN_SLICE_CLASS_NONE);
    expect_class(1, 16, 0);
    expect_class(1, 32, 1);
    expect_class(100, 512, 5);
    expect_class(1, 1024, TN_SLICE_CLASS_NONE);
    expect_class(1, (size_t)1 << 63, TN_SLICE_CLASS_NONE);
}

static void expect_classes(unsigned chunk_log2, unsigned least_log2, unsigned count)
{
    struct tn_slices other;
    tn_slices_init(&other, chunk_log2, TN_SLICE_BYTES_MIN);
    assert_int_equal(other.class_count, count);
    assert_int_equal(other.size_max, count > 0 ? (size_t)1 << (chunk_log2 - 1) : 0);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(tn_slices_slice_log2(&other, i), least_log2 + i);
        assert_int_equal(tn_slices_per_slab_log2(&other, i) + least_log2 + i, chunk_log2);
    }
    if (count == 0) assert_int_equal(tn_slices_class_for(&other, 1, 1), TN_SLICE_CLASS_NONE);
    tn_slices_fini(&other);
}

static void classes_go_from_a_64th_of_a_chunk_to_half(void **state)
{
    expect_classes(8, 4, 4);
    expect_classes(9, 4, 5);
    expect_classes(10, 4, 6);
    expect_classes(11, 5, 6);
    expect_classes(16, 10, 6);
    expect_classes(17, 0, 0);
    expect_classes(25, 0, 0);
}

/* --- slices ------------------------------------------------------------------------------------- */

static void the_first_free_slice_is_taken(void **state)
{
    assert_true(tn_slices_reserve(&slices, 0));
    uint32_t slab = tn_slices_add(&slices, 0, 7, NONE);
    assert_true(tn_slices_is_empty(&slices, slab));
    tn_slices_give(&slices, slab, NO_STREAM, true);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(tn_slices_find_ready(&slices, 0, NO_STREAM), slab);
        assert_int_equal(tn_slices_take(&slices, slab, 1 + i % 16), i);
        expect_valid();
    }
    assert_int_equal(tn_slices_find_ready(&slices, 0, NO_STREAM), TN_SLAB_NONE);
    assert_int_equal(tn_slices_free(&slices, slab, 40, NONE), 1 + 40 % 16);
    assert_int_equal(tn_slices_free(&slices, slab, 21, NONE), 1 + 21 % 16);
    assert_false(tn_slices_is_live(&slices, slab, 21));
    assert_true(tn_slices_is_live(&slices, slab, 22));
    assert_int_equal(tn_slices_take(&slices, slab, 16), 21);
    assert_int_equal(tn_slices_size_of(&slices, slab, 21), 16);
    assert_int_equal(tn_slices_take(&slices, slab, 16), 40);
    for (unsigned i = 0; i < 64; i++)
        tn_slices_free(&slices, slab, i, NONE);
    assert_true(tn_slices_is_empty(&slices, slab));
    tn_slices_remove(&slices, slab);
    assert_int_equal(slices.slab_count, 0);
    assert_int_equal(tn_slices_live_count(&slices), 0);
}

static void numbers_and_memory_are_used_again(void **state)
{
    slices.slab_count_max = 2;
    uint32_t first = add_pair(A), second = add_pair(A);
    assert_false(tn_slices_can_add(&slices, 5));
    assert_true(tn_slices_can_add(&slices, 4));
    size_t bytes = tn_slices_metadata_bytes(&slices);
    assert_int_equal(bytes, 2 * (sizeof(struct tn_slab) + 2 * sizeof(uint32_t)));
    tn_slices_remove(&slices, first);
    tn_slices_remove(&slices, second);
    assert_true(tn_slices_can_add(&slices, 5));
    assert_int_equal(add_full_pair(B), second);
    assert_int_equal(add_full_pair(B), first);
    assert_int_equal(tn_slices_metadata_bytes(&slices), bytes);
}

static void no_room_changes_nothing(void **state)
{
    unsigned failed_count = 0;
    for (unsigned n = 1;; n++) {
        host_memory_faults_begin(n);
        tn_slices_init(&slices, 10, TN_SLICE_BYTES_MIN);
        bool has_room = true;
        for (unsigned i = 0; i < 40 && has_room; i++) {
            has_room = tn_slices_reserve(&slices, 5);
            expect_valid();
            if (has_room) tn_slices_add(&slices, 5, i, NONE);
        }
        failed_count += !has_room;
        tn_slices_fini(&slices);
        assert_int_equal(host_memory_faults_outstanding(), 0);
        if (!host_memory_faults_end()) break;
    }
    assert_true(failed_count > 2);
}

/* --- what slabs wait for ------------------------------------------------------------------------ */

static void what_its_stream_frees_it_has_again(void **state)
{
    uint32_t slab = add_full_pair(A);
    tn_slices_free(&slices, slab, 1, on(BIT(A), 3));
    expect_ready(A, slab);
    assert_int_equal(tn_slices_find_ready(&slices, 5, B), TN_SLAB_NONE);
    expect_dependency(slab, BIT(A), 3);
    tn_slices_free(&slices, slab, 0, on(BIT(A), 5));
    expect_dependency(slab, BIT(A), 5);
    tn_slices_remove(&slices, slab);
}

static void what_others_free_is_pending(void **state)
{
    uint32_t slab = add_full_pair(A);
    tn_slices_free(&slices, slab, 1, on(BIT(B), 3));
    assert_int_equal(tn_slices_find_ready(&slices, 5, A), TN_SLAB_NONE);
    assert_int_equal(tn_slices_find_ready(&slices, 5, B), TN_SLAB_NONE);
    assert_int_equal(tn_slices_find_waiting(&slices, 5, A), slab);
    assert_true(tn_slices_depend_on(&slices, B));
    assert_false(tn_slices_depend_on(&slices, A));
    assert_false(tn_slices_complete(&slices, BIT(A), UINT32_MAX));
    assert_false(tn_slices_complete(&slices, BIT(B), 2));
    assert_true(tn_slices_complete(&slices, BIT(B), 3));
    expect_ready(A, slab);
    expect_dependency(slab, 0, 0);
    assert_false(tn_slices_depend_on(&slices, B));
}

static void of_several_streams_the_last_counts(void **state)
{
    uint32_t slab = add_full_pair(A);
    tn_slices_free(&slices, slab, 0, on(BIT(A) | BIT(B) | BIT(C), 3));
    expect_dependency(slab, BIT(A) | BIT(B) | BIT(C), 3);
    tn_slices_complete(&slices, BIT(B), 3);
    assert_int_equal(tn_slices_find_ready(&slices, 5, A), TN_SLAB_NONE);
    tn_slices_complete(&slices, BIT(C), 3);
    expect_ready(A, slab);
    expect_dependency(slab, BIT(A), 3);
    assert_true(tn_slices_complete(&slices, BIT(A), 3));
    expect_dependency(slab, 0, 0);
}

static void what_was_waited_for_is_accepted_and_still_known(void **state)
{
    uint32_t slab = add_full_pair(A);
    tn_slices_free(&slices, slab, 1, on(BIT(B), 3));
    tn_slices_accept(&slices, slab);
    expect_ready(A, slab);
    /* Others have not waited. */
    expect_dependency(slab, BIT(B), 3);
    tn_slices_take(&slices, slab, 300);
    expect_dependency(slab, 0, 0);
    expect_valid();
}

/* --- lending ------------------------------------------------------------------------------------ */

static struct tn_slices borrower;

/* A pair in the borrower, both live, whose sizes and address say which it is. */
static uint32_t borrow_pair(uint32_t stream, uint16_t number)
{
    assert_true(tn_slices_reserve(&borrower, 5));
    uint32_t slab = tn_slices_add(&borrower, 5, number, NONE);
    tn_slices_take(&borrower, slab, number);
    tn_slices_take(&borrower, slab, number + 1U);
    tn_slices_give(&borrower, slab, stream, true);
    return slab;
}

static uint32_t adopt_pair(uint32_t slab, uint16_t number)
{
    uint32_t adopted = tn_slices_adopt(&slices, &borrower, slab);
    assert_int_equal(tn_slices_slab(&slices, adopted)->address, number);
    expect_valid();
    return adopted;
}

static void a_borrowers_slabs_are_adopted_as_they_are(void **state)
{
    tn_slices_init(&borrower, 10, TN_SLICE_BYTES_MIN);
    uint32_t own = add_pair(A);
    tn_slices_take(&slices, own, 7);
    uint32_t waiting_own = add_full_pair(B);
    tn_slices_free(&slices, waiting_own, 1, on(BIT(A), 2));

    uint32_t full = borrow_pair(A, 100), ready = borrow_pair(A, 200), waiting = borrow_pair(B, 300);
    tn_slices_free(&borrower, ready, 0, on(BIT(A), 4));
    tn_slices_free(&borrower, waiting, 1, on(BIT(C), 5));
    assert_null(tn_slices_check(&borrower));
    assert_true(tn_slices_promise(&slices, 5, 3));
    full = adopt_pair(full, 100);
    ready = adopt_pair(ready, 200);
    waiting = adopt_pair(waiting, 300);
    tn_slices_take_promise_back(&slices, 5, 3);
    tn_slices_forget_all(&borrower);
    assert_null(tn_slices_check(&borrower));
    assert_int_equal(borrower.slab_count, 0);

    assert_int_equal(slices.slab_count, 5);
    assert_int_equal(tn_slices_live_count(&slices), 6);
    assert_int_equal(tn_slices_size_of(&slices, full, 0), 100);
    assert_int_equal(tn_slices_size_of(&slices, full, 1), 101);
    assert_int_equal(tn_slices_size_of(&slices, ready, 1), 201);
    assert_int_equal(tn_slices_size_of(&slices, waiting, 0), 300);
    assert_false(tn_slices_is_live(&slices, ready, 0));
    assert_false(tn_slices_is_live(&slices, waiting, 1));
    expect_dependency(full, 0, 0);
    expect_dependency(ready, BIT(A), 4);
    expect_dependency(waiting, BIT(C), 5);
    /* What was here waits longer. */
    assert_int_equal(tn_slices_find_waiting(&slices, 5, B), waiting_own);
    assert_true(tn_slices_depend_on(&slices, C));
    assert_true(tn_slices_complete(&slices, BIT(C), 5));
    expect_ready(B, waiting);
    expect_ready(A, ready);
    assert_int_equal(tn_slices_take(&slices, ready, 5), 0);
    expect_ready(A, own);
    tn_slices_fini(&borrower);
}

static void a_borrower_that_forgot_all_begins_anew(void **state)
{
    tn_slices_init(&borrower, 10, TN_SLICE_BYTES_MIN);
    uint32_t first = borrow_pair(A, 100);
    tn_slices_free(&borrower, first, 0, on(BIT(A) | BIT(C), 1));
    tn_slices_free(&borrower, borrow_pair(B, 200), 1, on(BIT(B), 1));
    tn_slices_forget_all(&borrower);
    assert_false(tn_slices_has_room(&borrower, 5));
    assert_false(tn_slices_depend_on(&borrower, A));
    for (uint32_t stream = A; stream <= C; stream++) {
        assert_int_equal(tn_slices_find_ready(&borrower, 5, stream), TN_SLAB_NONE);
        assert_int_equal(tn_slices_find_waiting(&borrower, 5, stream), TN_SLAB_NONE);
    }
    assert_int_equal(borrow_pair(C, 300), first);
    assert_null(tn_slices_check(&borrower));
    tn_slices_fini(&borrower);
}

static void what_is_promised_nobody_else_gets(void **state)
{
    tn_slices_init(&borrower, 10, TN_SLICE_BYTES_MIN);
    slices.slab_count_max = 40;
    uint32_t slab = add_pair(A);
    tn_slices_take(&slices, slab, 1);
    assert_true(tn_slices_promise(&slices, 5, 30));
    assert_false(tn_slices_promise(&slices, 5, 10));
    assert_int_equal(slices.classes[5].promised_count, 30);
    uint32_t count = 1;
    for (; tn_slices_can_add(&slices, 5); count++)
        tn_slices_take(&slices, add_pair(A), 1);
    assert_int_equal(count, 10);
    expect_valid();
    for (uint16_t i = 0; i < 30; i++)
        tn_slices_adopt(&slices, &borrower, borrow_pair(A, i + 1));
    tn_slices_take_promise_back(&slices, 5, 30);
    assert_int_equal(slices.slab_count, 40);
    expect_valid();
    assert_false(tn_slices_promise(&slices, 5, 1));
    assert_true(tn_slices_promise(&slices, 5, 0));
    tn_slices_fini(&borrower);
}

static void a_promise_that_fails_changes_nothing(void **state)
{
    unsigned failed_count = 0;
    for (unsigned n = 1;; n++) {
        tn_slices_init(&slices, 10, TN_SLICE_BYTES_MIN);
        host_memory_faults_begin(n);
        bool is_promised = tn_slices_promise(&slices, 2, 100);
        bool has_failed = host_memory_faults_end();
        assert_int_equal(is_promised, !has_failed);
        assert_int_equal(slices.classes[2].promised_count, is_promised ? 100 : 0);
        expect_valid();
        if (is_promised) assert_true(slices.classes[2].reserved_count >= 100);
        tn_slices_fini(&slices);
        if (!has_failed) break;
        failed_count++;
    }
    assert_int_equal(failed_count, 2);
}

/* --- what is kept ------------------------------------------------------------------------------- */

static void free_pair(uint32_t slab, uint32_t streams)
{
    tn_slices_free(&slices, slab, 0, on(streams, 1));
    tn_slices_free(&slices, slab, 1, on(streams, 1));
    assert_true(tn_slices_is_empty(&slices, slab));
}

static void an_empty_slab_is_kept_for_a_stream_without_another(void **state)
{
    uint32_t first = add_full_pair(A), second = add_full_pair(A), of_b = add_full_pair(B);
    free_pair(first, BIT(A));
    assert_true(tn_slices_keep(&slices, first));
    free_pair(second, 0);
    assert_false(tn_slices_keep(&slices, second));
    tn_slices_remove(&slices, second);
    free_pair(of_b, 0);
    assert_true(tn_slices_keep(&slices, of_b));
    assert_int_equal(slices.kept_count, 2);
    expect_valid();
    /* What is taken is kept no more. */
    assert_int_equal(tn_slices_find_kept(&slices), first);
    expect_ready(A, first);
    tn_slices_take(&slices, first, 512);
    assert_int_equal(slices.kept_count, 1);
    assert_int_equal(tn_slices_find_kept(&slices), of_b);
    expect_valid();
    tn_slices_remove(&slices, of_b);
    assert_int_equal(slices.kept_count, 0);
    assert_int_equal(tn_slices_find_kept(&slices), TN_SLAB_NONE);
    expect_valid();
    tn_slices_free(&slices, first, 0, NONE);
    tn_slices_remove(&slices, first);
}

static void what_its_stream_may_not_have_is_not_kept(void **state)
{
    uint32_t of_a = add_full_pair(A), nobodys = add_full_pair(B);
    tn_slices_free(&slices, of_a, 0, NONE);
    tn_slices_free(&slices, of_a, 1, on(BIT(B), 1));
    assert_true(tn_slices_is_empty(&slices, of_a));
    assert_false(tn_slices_keep(&slices, of_a));
    tn_slices_remove(&slices, of_a);
    tn_slices_forget(&slices, B);
    free_pair(nobodys, 0);
    assert_false(tn_slices_keep(&slices, nobodys));
    tn_slices_remove(&slices, nobodys);
    assert_int_equal(slices.kept_count, 0);
}

static void check_knows_what_is_kept(void **state)
{
    uint32_t slab = add_full_pair(A);
    free_pair(slab, 0);
    assert_string_equal(tn_slices_check(&slices), "a slab has no live slices");
    assert_true(tn_slices_keep(&slices, slab));
    expect_valid();
    slices.kept_count++;
    assert_string_equal(tn_slices_check(&slices), "the counts of slabs are wrong");
    slices.kept_count--;
    slices.classes[5].kept[B] = tn_slab_index(slab);
    assert_string_equal(tn_slices_check(&slices), "a kept slab is not free for its stream");
    slices.classes[5].kept[B] = TN_SLAB_INDEX_NONE;
    tn_slices_remove(&slices, slab);
}

static void what_waits_longest_comes_first(void **state)
{
    uint32_t slabs[3];
    for (unsigned i = 0; i < 3; i++)
        slabs[i] = add_full_pair(A);
    for (unsigned i = 0; i < 3; i++)
        tn_slices_free(&slices, slabs[i], 0, on(BIT(B), i));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(tn_slices_find_waiting(&slices, 5, A), slabs[i]);
        tn_slices_accept(&slices, slabs[i]);
        expect_valid();
    }
    assert_int_equal(tn_slices_find_waiting(&slices, 5, A), TN_SLAB_NONE);
}

static void a_new_slab_waits_for_what_its_chunk_waited_for(void **state)
{
    assert_true(tn_slices_reserve(&slices, 5));
    uint32_t slab = tn_slices_add(&slices, 5, 0, on(BIT(A) | BIT(B), 4));
    expect_dependency(slab, BIT(A) | BIT(B), 4);
    assert_int_equal(tn_slices_take(&slices, slab, 300), 0);
    tn_slices_give(&slices, slab, A, true);
    expect_ready(A, slab);
    expect_dependency(slab, BIT(A) | BIT(B), 4);
    tn_slices_free(&slices, slab, 0, NONE);
    expect_dependency(slab, BIT(A) | BIT(B), 4);
    tn_slices_remove(&slices, slab);
}

static void a_slab_changes_hands(void **state)
{
    uint32_t slab = add_full_pair(A);
    tn_slices_free(&slices, slab, 0, on(BIT(A), 3));
    tn_slices_withhold(&slices, slab);
    expect_dependency(slab, BIT(A), 3);
    assert_int_equal(tn_slices_find_ready(&slices, 5, A), TN_SLAB_NONE);
    assert_int_equal(tn_slices_find_next(&slices, 5, TN_SLAB_NONE), TN_SLAB_NONE);
    assert_int_equal(tn_slices_take(&slices, slab, 400), 0);
    /* Freed meanwhile: not part of what B waits for. */
    tn_slices_free(&slices, slab, 1, on(BIT(A), 4));
    tn_slices_give(&slices, slab, B, true);
    assert_int_equal(tn_slices_find_ready(&slices, 5, B), TN_SLAB_NONE);
    assert_int_equal(tn_slices_find_waiting(&slices, 5, B), slab);
    tn_slices_free(&slices, slab, 0, on(BIT(B), 5));
    assert_int_equal(tn_slices_find_ready(&slices, 5, B), slab);
    expect_dependency(slab, BIT(A) | BIT(B), 5);
    tn_slices_remove(&slices, slab);
}

static void a_slab_that_could_not_change_hands_is_as_it_was(void **state)
{
    uint32_t slab = add_full_pair(A);
    tn_slices_free(&slices, slab, 0, on(BIT(A), 3));
    tn_slices_withhold(&slices, slab);
    assert_int_equal(tn_slices_take(&slices, slab, 400), 0);
    tn_slices_free(&slices, slab, 0, NONE);
    tn_slices_give(&slices, slab, A, false);
    expect_ready(A, slab);
    expect_dependency(slab, BIT(A), 3);
    /* Nobody else may have what was not ordered. */
    tn_slices_withhold(&slices, slab);
    tn_slices_give(&slices, slab, B, false);
    assert_int_equal(tn_slices_find_ready(&slices, 5, B), TN_SLAB_NONE);
    assert_int_equal(tn_slices_find_waiting(&slices, 5, B), slab);
}

static void slabs_of_a_stream_that_ended_are_the_next_ones(void **state)
{
    uint32_t slab = add_full_pair(A), full = add_full_pair(A);
    tn_slices_free(&slices, slab, 0, on(BIT(A), 3));
    tn_slices_forget(&slices, A);
    expect_dependency(slab, 0, 0);
    expect_ready(B, slab);
    assert_int_equal(tn_slices_find_ready(&slices, 5, C), TN_SLAB_NONE);
    assert_int_equal(tn_slices_slab(&slices, full)->stream, TN_SLAB_STREAM_NOBODY);
    /* What is freed of nobody's slab waits for all. */
    tn_slices_free(&slices, full, 0, on(BIT(C), 4));
    assert_int_equal(tn_slices_find_ready(&slices, 5, C), TN_SLAB_NONE);
    tn_slices_free(&slices, full, 1, NONE);
    tn_slices_remove(&slices, full);
}

static void what_a_stream_that_ended_had_waited_for_others_have_not(void **state)
{
    uint32_t slab = add_full_pair(A);
    tn_slices_free(&slices, slab, 0, on(BIT(B), 3));
    tn_slices_accept(&slices, slab);
    tn_slices_forget(&slices, A);
    assert_int_equal(tn_slices_find_ready(&slices, 5, C), TN_SLAB_NONE);
    assert_int_equal(tn_slices_find_next(&slices, 5, TN_SLAB_NONE), slab);
    expect_dependency(slab, BIT(B), 3);
    tn_slices_complete(&slices, BIT(B), 3);
    expect_ready(C, slab);
}

static void division_stamps_what_was_freed_before(void **state)
{
    uint32_t slab = add_full_pair(NO_STREAM), full = add_full_pair(NO_STREAM);
    tn_slices_free(&slices, slab, 0, NONE);
    expect_dependency(slab, 0, 0);
    tn_slices_divide(&slices, on(BIT(0), 1));
    expect_dependency(slab, BIT(0), 1);
    expect_dependency(full, 0, 0);
    expect_ready(0, slab);
    assert_int_equal(tn_slices_find_ready(&slices, 5, B), TN_SLAB_NONE);
}

static void a_capture_is_replaced_by_who_launched_it(void **state)
{
    uint32_t slab = add_full_pair(A);
    tn_slices_free(&slices, slab, 0, on(BIT(9), 3));
    tn_slices_replace(&slices, 9, on(BIT(A) | BIT(B), 7));
    expect_dependency(slab, BIT(A) | BIT(B), 7);
    tn_slices_replace(&slices, B, NONE);
    expect_dependency(slab, BIT(A), 7);
    expect_ready(A, slab);
}

/* Another number stands for the slab's own stream, and for others: nobody may have its slices without a wait. */
static void a_slabs_own_stream_is_replaced(void **state)
{
    uint32_t slab = add_full_pair(A);
    tn_slices_free(&slices, slab, 0, on(BIT(A), 3));
    tn_slices_replace(&slices, A, on(BIT(9), 7));
    tn_slices_forget(&slices, A);
    expect_dependency(slab, BIT(9), 7);
    assert_int_equal(tn_slices_find_ready(&slices, 5, B), TN_SLAB_NONE);
    tn_slices_complete(&slices, BIT(9), 7);
    assert_int_equal(tn_slices_find_ready(&slices, 5, B), slab);
}

static void times_begin_anew(void **state)
{
    uint32_t slab = add_full_pair(A);
    tn_slices_free(&slices, slab, 0, on(BIT(A) | BIT(B), 1000));
    tn_slices_begin_anew(&slices);
    expect_dependency(slab, BIT(A) | BIT(B), 0);
    tn_slices_complete(&slices, BIT(A) | BIT(B), 0);
    expect_dependency(slab, 0, 0);
}

/* --- beside a model ----------------------------------------------------------------------------- */

enum {
    STREAMS = 4,
    SLABS = 24,
    STEPS = 20000
};

/* What one slice waits for, exactly. */
struct model_slice {
    bool is_live;
    size_t size_bytes;
    uint32_t streams; /* it waits for */
    uint32_t times[STREAMS];
    uint32_t ordered; /* streams that come after all of it, a bit each */
};

struct model_slab {
    bool is_there;
    uint32_t slab;
    uint32_t stream; /* or NOBODY */
    struct model_slice slices[64];
};

static struct model_slab model[SLABS];
static struct random dice;
static uint32_t now;

static unsigned slices_of(const struct model_slab *m)
{
    return 1U << tn_slices_per_slab_log2(&slices, tn_slab_class(m->slab));
}

static void model_complete(uint32_t streams, uint32_t time)
{
    for (unsigned i = 0; i < SLABS; i++) {
        for (unsigned k = 0; k < 64; k++) {
            struct model_slice *slice = &model[i].slices[k];
            for (unsigned stream = 0; stream < STREAMS; stream++) {
                if ((streams >> stream & 1) && slice->times[stream] <= time)
                    slice->streams &= ~BIT(stream);
            }
        }
    }
}

/* Whether whatever is free in the slab is so for its stream, and the slab waits for all that its slices wait for. */
static void expect_safe(const struct model_slab *m)
{
    const struct tn_slab *s = tn_slices_slab(&slices, m->slab);
    struct tn_dependency dependency = tn_slices_dependency(&slices, m->slab);
    assert_int_equal(s->stream, m->stream);
    for (unsigned k = 0; k < slices_of(m); k++) {
        const struct model_slice *slice = &m->slices[k];
        assert_int_equal(tn_slices_is_live(&slices, m->slab, k), slice->is_live);
        if (slice->is_live) {
            assert_int_equal(tn_slices_size_of(&slices, m->slab, k), slice->size_bytes);
            continue;
        }
        uint32_t own = m->stream == TN_SLAB_STREAM_NOBODY ? 0 : BIT(m->stream);
        bool is_ordered = (slice->ordered & own) != 0 || (slice->streams & ~own) == 0;
        if ((s->free >> k & 1) && !is_ordered)
            fail_msg("slice %u of slab %u is free, and waits for 0x%x", k, m->slab, slice->streams);
        assert_int_equal(slice->streams & ~dependency.streams, 0);
        for (unsigned stream = 0; stream < STREAMS; stream++) {
            if (slice->streams >> stream & 1) assert_true(slice->times[stream] <= dependency.time);
        }
    }
}

static void expect_all_safe(void)
{
    expect_valid();
    for (unsigned i = 0; i < SLABS; i++) {
        if (model[i].is_there) expect_safe(&model[i]);
    }
}

static void wait_for(struct model_slice *slice, uint32_t streams)
{
    slice->streams = streams;
    slice->ordered = 0;
    for (unsigned stream = 0; stream < STREAMS; stream++)
        slice->times[stream] = now;
}

static uint32_t some_streams(void)
{
    uint32_t streams = BIT(random_below(&dice, STREAMS));
    if (random_below(&dice, 4) == 0) streams |= BIT(random_below(&dice, STREAMS));
    return random_below(&dice, 8) == 0 ? 0 : streams;
}

static void take_one(struct model_slab *m)
{
    const struct tn_slab *s = tn_slices_slab(&slices, m->slab);
    if (s->free == 0) return;
    size_t size = 1 + (size_t)random_below(&dice, (size_t)1 << tn_slices_slice_log2(
                                                      &slices, tn_slab_class(m->slab)));
    unsigned slice = tn_slices_take(&slices, m->slab, size);
    m->slices[slice].is_live = true;
    m->slices[slice].size_bytes = size;
}

static void add_one(struct model_slab *m)
{
    unsigned slice_class = (unsigned)random_below(&dice, slices.class_count);
    uint32_t streams = some_streams();
    assert_true(tn_slices_reserve(&slices, slice_class));
    m->is_there = true;
    m->slab = tn_slices_add(&slices, slice_class, (uint32_t)(m - model), on(streams, now));
    m->stream = (uint32_t)random_below(&dice, STREAMS);
    for (unsigned k = 0; k < slices_of(m); k++) {
        m->slices[k].is_live = false;
        wait_for(&m->slices[k], streams);
        m->slices[k].ordered = BIT(m->stream);
    }
    take_one(m);
    tn_slices_give(&slices, m->slab, m->stream, true);
}

static void free_one(struct model_slab *m)
{
    unsigned k = (unsigned)random_below(&dice, slices_of(m));
    if (!m->slices[k].is_live) return;
    uint32_t streams = some_streams();
    size_t size_bytes = tn_slices_free(&slices, m->slab, k, on(streams, now));
    assert_int_equal(size_bytes, m->slices[k].size_bytes);
    m->slices[k].is_live = false;
    wait_for(&m->slices[k], streams);
    if (!tn_slices_is_empty(&slices, m->slab)) return;
    expect_safe(m);
    if (random_below(&dice, 4) != 0 && tn_slices_keep(&slices, m->slab)) return;
    tn_slices_remove(&slices, m->slab);
    m->is_there = false;
}

/* As a pool does before it looks at slabs. */
static void remove_kept(void)
{
    while (slices.kept_count > 0) {
        uint32_t slab = tn_slices_find_kept(&slices);
        struct model_slab *m = &model[tn_slices_slab(&slices, slab)->address];
        assert_true(tn_slices_is_empty(&slices, slab));
        expect_safe(m);
        tn_slices_remove(&slices, slab);
        m->is_there = false;
    }
}

/* The slab goes to another stream, or not; and something may be freed meanwhile. */
static void hand_over(struct model_slab *m)
{
    const struct tn_slab *s = tn_slices_slab(&slices, m->slab);
    uint32_t taker = (uint32_t)random_below(&dice, STREAMS), former = m->stream;
    bool is_ordered = random_below(&dice, 2) == 0;
    if ((s->free | s->pending) == 0) return;
    remove_kept();
    if (!m->is_there) return;
    for (unsigned k = 0; k < slices_of(m); k++) {
        if (!m->slices[k].is_live && is_ordered) m->slices[k].ordered |= BIT(taker);
    }
    tn_slices_withhold(&slices, m->slab);
    unsigned taken = tn_slices_take(&slices, m->slab, 1);
    const struct model_slice before = m->slices[taken];
    m->slices[taken].is_live = true;
    m->slices[taken].size_bytes = 1;
    for (unsigned i = (unsigned)random_below(&dice, 3); i > 0; i--) {
        unsigned k = (unsigned)random_below(&dice, slices_of(m));
        uint32_t streams = some_streams();
        if (!m->slices[k].is_live || k == taken) continue;
        tn_slices_free(&slices, m->slab, k, on(streams, now));
        m->slices[k].is_live = false;
        wait_for(&m->slices[k], streams);
    }
    if (!is_ordered) {
        tn_slices_free(&slices, m->slab, taken, NONE);
        m->slices[taken] = before;
    }
    if (tn_slices_is_empty(&slices, m->slab)) {
        tn_slices_remove(&slices, m->slab);
        m->is_there = false;
        return;
    }
    m->stream = is_ordered ? taker : former;
    tn_slices_give(&slices, m->slab, m->stream, is_ordered);
}

/* Its stream has waited for what is pending. */
static void accept_one(struct model_slab *m)
{
    const struct tn_slab *s = tn_slices_slab(&slices, m->slab);
    if (s->pending == 0 || m->stream == TN_SLAB_STREAM_NOBODY) return;
    for (unsigned k = 0; k < slices_of(m); k++) {
        if (s->pending >> k & 1) m->slices[k].ordered |= BIT(m->stream);
    }
    tn_slices_accept(&slices, m->slab);
}

static void forget_one(void)
{
    uint32_t stream = (uint32_t)random_below(&dice, STREAMS);
    remove_kept();
    tn_slices_forget(&slices, stream);
    model_complete(BIT(stream), UINT32_MAX);
    for (unsigned i = 0; i < SLABS; i++) {
        if (model[i].is_there && model[i].stream == stream) model[i].stream = TN_SLAB_STREAM_NOBODY;
        for (unsigned k = 0; k < 64; k++)
            model[i].slices[k].ordered &= ~BIT(stream);
    }
}

static void complete_some(void)
{
    uint32_t streams = some_streams(), time = now - (uint32_t)random_below(&dice, 4);
    tn_slices_complete(&slices, streams, time);
    model_complete(streams, time);
}

static void find_one(void)
{
    unsigned slice_class = (unsigned)random_below(&dice, slices.class_count);
    uint32_t stream = (uint32_t)random_below(&dice, STREAMS);
    uint32_t slab = tn_slices_find_ready(&slices, slice_class, stream);
    if (slab == TN_SLAB_NONE) return;
    struct model_slab *m = &model[tn_slices_slab(&slices, slab)->address];
    assert_int_equal(m->slab, slab);
    assert_true(m->stream == stream || m->stream == TN_SLAB_STREAM_NOBODY);
    m->stream = stream;
    expect_safe(m);
    take_one(m);
}

static void one_step(void)
{
    struct model_slab *m = &model[random_below(&dice, SLABS)];
    unsigned die = (unsigned)random_below(&dice, 100);
    if (die < 4) {
        now++;
    } else if (die < 8) {
        complete_some();
    } else if (die < 9) {
        forget_one();
    } else if (die < 35) {
        find_one();
    } else if (!m->is_there) {
        add_one(m);
    } else if (die < 45) {
        hand_over(m);
    } else if (die < 50) {
        accept_one(m);
    } else {
        free_one(m);
    }
}

static void is_as_safe_as_the_model(void **state)
{
    dice = random_init(random_seed(20261122));
    now = 10;
    uint32_t kept_max = 0;
    for (int step = 0; step < STEPS; step++) {
        one_step();
        expect_all_safe();
        kept_max = slices.kept_count > kept_max ? slices.kept_count : kept_max;
        if (step % 512 != 0) continue;
        /* What is done with is pending no more. */
        tn_slices_complete(&slices, BIT(STREAMS) - 1, now);
        model_complete(BIT(STREAMS) - 1, now);
        for (unsigned i = 0; i < SLABS; i++) {
            if (!model[i].is_there) continue;
            assert_int_equal(tn_slices_slab(&slices, model[i].slab)->pending, 0);
            expect_dependency(model[i].slab, 0, 0);
        }
    }
    remove_kept();
    assert_true(kept_max > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_class_is_the_smallest_that_holds_the_request, set_up,
                                        tear_down),
        cmocka_unit_test(classes_go_from_a_64th_of_a_chunk_to_half),
        cmocka_unit_test_setup_teardown(the_first_free_slice_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_and_memory_are_used_again, set_up, tear_down),
        cmocka_unit_test(no_room_changes_nothing),
        cmocka_unit_test_setup_teardown(what_its_stream_frees_it_has_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_others_free_is_pending, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_several_streams_the_last_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_waited_for_is_accepted_and_still_known, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_waits_longest_comes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_borrowers_slabs_are_adopted_as_they_are, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_borrower_that_forgot_all_begins_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_promised_nobody_else_gets, set_up, tear_down),
        cmocka_unit_test(a_promise_that_fails_changes_nothing),
        cmocka_unit_test_setup_teardown(an_empty_slab_is_kept_for_a_stream_without_another, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_its_stream_may_not_have_is_not_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(check_knows_what_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_slab_waits_for_what_its_chunk_waited_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_slab_changes_hands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slab_that_could_not_change_hands_is_as_it_was, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(slabs_of_a_stream_that_ended_are_the_next_ones, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_a_stream_that_ended_had_waited_for_others_have_not,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(division_stamps_what_was_freed_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_capture_is_replaced_by_who_launched_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_slabs_own_stream_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(times_begin_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_as_safe_as_the_model, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
