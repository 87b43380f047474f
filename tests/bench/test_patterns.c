/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_patterns: the workloads of patterns are what their families say, for several seeds; what is measured on allocators
 * that hold a known part; the backend whose device is behind; and the program from outside.
 *
 * Argument: the program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocators/late_backend.h"
#include "allocators/plain_host_backend.h"
#include "measuring/family.h"
#include "measuring/measure.h"
#include "program.h"
#include "scratch.h"
#include "workloads/commands.h"
#include "workloads/patterns.h"

enum {
    PLAIN,
    LASTING,
    STREAMS,
    BEHIND,
    THREADS,
    ANEW = 1,
    ROBSON = 8,
    SEED = 20261128 /* the first of those that are tested */
};

static const size_t live_bytes_max = (size_t)8 << 30;

static struct tn_workload_list make(uint64_t seed, uint32_t families, uint32_t variants,
                                    size_t draw_count)
{
    const struct tn_options options = {
        .seed = seed, .families = families, .variants = variants, .draw_count = draw_count
    };
    const struct tn_machine machine = { .is_host = true };
    struct tn_workload_list list = { NULL, 0 };
    struct tn_reason reason;
    if (!tn_patterns_make_workloads(&options, &machine, &list, &reason))
        fail_msg("%s", reason.text);
    return list;
}

static bool are_equal(const struct tn_workload *a, const struct tn_workload *b)
{
    return strcmp(a->name, b->name) == 0 && a->body.count == b->body.count &&
           memcmp(a->body.items, b->body.items, a->body.count * sizeof a->body.items[0]) == 0;
}

/* --- what is made --------------------------------------------------------------------------------- */

static void a_seed_makes_the_same_workloads(void **state)
{
    (void)state;
    struct tn_workload_list all = make(SEED, 0, 0, 2);
    struct tn_workload_list again = make(SEED, 0, 0, 2);
    struct tn_workload_list other = make(SEED + 1, 0, 0, 2);
    assert_int_equal(all.count, 9 * 5 * 2);
    for (size_t i = 0; i < all.count; i++) {
        assert_true(are_equal(&all.items[i], &again.items[i]));
        assert_false(are_equal(&all.items[i], &other.items[i]));
        assert_int_equal(tn_family_count_draws(&all.items[i], all.count - i), 2 - i % 2);
    }
    tn_workload_list_fini(&again);
    tn_workload_list_fini(&other);

    /* Whatever else is asked for. */
    struct tn_workload_list one = make(SEED, 1 << ANEW, 1 << LASTING, 3);
    assert_int_equal(one.count, 3);
    assert_true(are_equal(&one.items[1], &all.items[(9 + ANEW) * 2 + 1]));
    assert_string_equal(one.items[0].family, "anew lasting");
    assert_int_equal(strncmp(one.items[2].name, "anew lasting 3: +", 17), 0);
    tn_workload_list_fini(&one);
    tn_workload_list_fini(&all);
}

/* The figure that is the same on every machine, for one seed. Those of the page depend on it. */
static void the_page_has_these_workloads(void **state)
{
    (void)state;
    struct tn_workload_list list = make(1, 1, 1 << PLAIN, 1);
    assert_string_equal(list.items[0].name, "mesh 1: +0.81 %");
    assert_int_equal(list.items[0].body.count, 13812);
    tn_workload_list_fini(&list);
}

/* Each block is allocated once, has bytes, and is freed afterwards; returns the most that was live. */
static size_t expect_whole(const struct tn_workload *workload)
{
    struct tn_workload_extent extent;
    unsigned char *states = calloc(workload->slot_count, 1);
    assert_non_null(states);
    assert_int_equal(workload->setup.count, 0);
    assert_int_equal(workload->body.count, 2 * workload->slot_count);
    for (size_t i = 0; i < workload->body.count; i++) {
        const struct tn_operation *operation = &workload->body.items[i];
        if (states[operation->slot] != (operation->is_alloc ? 0 : 1) ||
            (operation->is_alloc && operation->size_bytes == 0))
            fail_msg("%s: operation %zu", workload->name, i + 1);
        states[operation->slot]++;
    }
    free(states);
    assert_true(tn_workload_measure(workload, workload->body.count, &extent));
    return extent.live_bytes_max;
}

static void no_more_is_live_than_families_say(void **state)
{
    (void)state;
    for (uint64_t seed = SEED; seed < SEED + 5; seed++) {
        struct tn_workload_list list = make(seed, 0, 0, 4);
        for (size_t i = 0; i < list.count; i++)
            assert_in_range(expect_whole(&list.items[i]), (size_t)20 << 20, live_bytes_max);
        tn_workload_list_fini(&list);
    }
}

/* Where blocks that last are left out, the sequence is that of the plain one. They are freed after all others. */
static void expect_lasting(const struct tn_workload *lasting, const struct tn_workload *plain)
{
    size_t next = 0;
    size_t lasting_count = 0;
    for (size_t i = 0; i < lasting->body.count; i++) {
        const struct tn_operation *operation = &lasting->body.items[i];
        const struct tn_operation *other =
            next < plain->body.count ? &plain->body.items[next] : NULL;
        if (other && operation->is_alloc == other->is_alloc &&
            operation->size_bytes == other->size_bytes) {
            next++;
        } else if (operation->is_alloc) {
            assert_in_range(operation->size_bytes, 256, 8 << 10);
            lasting_count++;
        } else {
            assert_null(other);
            lasting_count--;
        }
    }
    assert_int_equal(next, plain->body.count);
    assert_int_equal(lasting_count, 0);
}

static void blocks_that_last_do(void **state)
{
    (void)state;
    struct tn_workload_list plain = make(SEED, 0, 1 << PLAIN, 5);
    struct tn_workload_list lasting = make(SEED, 0, 1 << LASTING, 5);
    size_t more_count = 0;
    for (size_t i = 0; i < plain.count; i++) {
        expect_lasting(&lasting.items[i], &plain.items[i]);
        more_count += lasting.items[i].body.count > plain.items[i].body.count;
    }
    assert_true(more_count > plain.count / 2); /* of few steps some have none */
    tn_workload_list_fini(&plain);
    tn_workload_list_fini(&lasting);
}

/* Live memory is full, half of it goes, and blocks of twice the size fill it again. */
static void expect_robson(const struct tn_workload *workload)
{
    size_t size_bytes = workload->body.items[0].size_bytes;
    size_t full_bytes = expect_whole(workload);
    size_t live_bytes = 0;
    size_t *sizes = calloc(workload->slot_count, sizeof sizes[0]);
    assert_non_null(sizes);
    for (size_t i = 0; i < workload->body.count; i++) {
        const struct tn_operation *operation = &workload->body.items[i];
        if (operation->is_alloc && operation->size_bytes != size_bytes) {
            assert_int_equal(operation->size_bytes, 2 * size_bytes);
            assert_int_equal(live_bytes, full_bytes / 2);
            size_bytes = operation->size_bytes;
        } else if (!operation->is_alloc && workload->body.items[i - 1].is_alloc) {
            assert_int_equal(live_bytes, full_bytes);
        }
        live_bytes += operation->size_bytes - (operation->is_alloc ? 0 : sizes[operation->slot]);
        sizes[operation->slot] = operation->size_bytes;
    }
    assert_true(size_bytes >= workload->body.items[0].size_bytes << 6);
    free(sizes);
}

/* After the first doubling every second block stays, after the next every fourth. */
static void the_first_block_of_each_place_stays(void **state)
{
    (void)state;
    struct tn_workload_list list = make(SEED, 1 << ROBSON, 1 << PLAIN, 5);
    for (size_t k = 0; k < list.count; k++) {
        const struct tn_operations *body = &list.items[k].body;
        size_t unit_count = 0;
        expect_robson(&list.items[k]);
        while (body->items[unit_count].is_alloc)
            unit_count++;
        for (size_t i = 0; i < unit_count / 2; i++)
            assert_int_equal(body->items[unit_count + i].slot, 2 * i + 1);
        size_t second = unit_count + unit_count / 2 + unit_count / 4;
        for (size_t i = 0; i < unit_count / 4; i++)
            assert_int_equal(body->items[second + i].slot, 4 * i + 2);
    }
    tn_workload_list_fini(&list);
}

static void blocks_stay_with_their_streams(void **state)
{
    (void)state;
    struct tn_workload_list list = make(SEED, 0, 1 << STREAMS | 1 << BEHIND, 2);
    for (size_t k = 0; k < list.count; k++) {
        const struct tn_workload *workload = &list.items[k];
        bool is_behind = k >= list.count / 2;
        assert_int_equal(workload->method, TN_METHOD_FAITHFUL);
        assert_int_equal(workload->origin_thread_count, 1);
        assert_in_range(workload->origin_stream_count, is_behind ? 1 : 2, is_behind ? 4 : 8);
        assert_int_equal(workload->lag_bytes > 0, is_behind);
        for (size_t i = 0; i < workload->body.count; i++)
            assert_int_equal(workload->origins[i].stream,
                             workload->body.items[i].slot % workload->origin_stream_count);
    }
    tn_workload_list_fini(&list);
}

static void threads_do_the_same_with_a_part_each(void **state)
{
    (void)state;
    struct tn_workload_list list = make(SEED, 0, 1 << THREADS, 2);
    for (size_t k = 0; k < list.count; k++) {
        const struct tn_workload *workload = &list.items[k];
        size_t count = workload->origin_thread_count;
        assert_true(count == 2 || count == 4);
        for (size_t i = 0; i < workload->body.count; i++) {
            const struct tn_operation *operation = &workload->body.items[i];
            const struct tn_operation *first = &workload->body.items[i - i % count];
            assert_int_equal(workload->origins[i].thread, i % count);
            assert_int_equal(workload->origins[i].stream, i % count);
            assert_int_equal(operation->is_alloc, first->is_alloc);
            assert_int_equal(operation->size_bytes, first->size_bytes);
            assert_int_equal(operation->slot,
                             first->slot + i % count * (workload->slot_count / count));
        }
    }
    tn_workload_list_fini(&list);
}

/* --- a device that is behind ---------------------------------------------------------------------- */

static bool has_completed(const tarn_backend *backend, tarn_event event)
{
    tarn_status status = backend->operations->event_query(backend->state, event).status;
    assert_true(status == TARN_STATUS_OK || status == TARN_STATUS_NOT_READY);
    return status == TARN_STATUS_OK;
}

static void events_complete_after_the_lag(void **state)
{
    (void)state;
    tarn_backend plain = tn_plain_host_backend();
    tarn_backend late = tn_late_backend_begin(&plain, 1000);
    tarn_event events[2];
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(late.operations->event_create(late.state, &events[i]).status,
                         TARN_STATUS_OK);
    assert_true(has_completed(&late, events[0])); /* it was never recorded */
    late.operations->event_record(late.state, events[0], NULL);
    assert_false(has_completed(&late, events[0]));
    tn_late_backend_advance(999);
    late.operations->event_record(late.state, events[1], NULL);
    assert_false(has_completed(&late, events[0]));
    tn_late_backend_advance(1);
    assert_true(has_completed(&late, events[0]));
    assert_false(has_completed(&late, events[1]));

    assert_int_equal(late.operations->synchronize(late.state).status, TARN_STATUS_OK);
    assert_true(has_completed(&late, events[1]));
    late.operations->event_record(late.state, events[1], NULL);
    assert_false(has_completed(&late, events[1]));
    late.operations->event_synchronize(late.state, events[1]);
    assert_true(has_completed(&late, events[1]));
    for (size_t i = 0; i < 2; i++)
        late.operations->event_destroy(late.state, events[i]);
}

/* --- what is measured ----------------------------------------------------------------------------- */

/* Holds three times what is live, of which it keeps the most for as long as something is live. */
static struct {
    size_t live_bytes;
    size_t live_bytes_max;
    uintptr_t next;
} triple;

static tarn_status triple_open(const struct tn_allocator_settings *settings, void **state_out,
                               struct tn_reason *reason_out)
{
    (void)settings;
    (void)reason_out;
    triple.live_bytes = triple.live_bytes_max = 0;
    triple.next = 1 << 20;
    *state_out = &triple;
    return TARN_STATUS_OK;
}

static tarn_status triple_alloc(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    *address_out = (void *)triple.next; /* NOLINT(performance-no-int-to-ptr) */
    triple.next += (size_bytes + 4095) / 4096 * 4096;
    triple.live_bytes += size_bytes;
    if (triple.live_bytes > triple.live_bytes_max) triple.live_bytes_max = triple.live_bytes;
    return TARN_STATUS_OK;
}

static tarn_status triple_free(void *state, void *address, size_t size_bytes)
{
    (void)state;
    (void)address;
    triple.live_bytes -= size_bytes;
    return TARN_STATUS_OK;
}

static void triple_get_usage(void *state, struct tn_allocator_usage *usage_out)
{
    (void)state;
    *usage_out = (struct tn_allocator_usage){ .footprint_bytes = 3 * triple.live_bytes_max,
                                              .footprint_bytes_max = 3 * triple.live_bytes_max };
}

static void triple_close(void *state)
{
    (void)state;
}

static const struct tn_allocator triple_allocator = {
    .name = "triple",
    .open = triple_open,
    .alloc = triple_alloc,
    .free = triple_free,
    .get_usage = triple_get_usage,
    .close = triple_close,
};

static void held_by_live_is_that_of_the_allocator(void **state)
{
    (void)state;
    struct tn_workload_list list = make(SEED, 1 << ANEW, 1 << PLAIN, 3);
    const struct tn_options options = { .allocators = { &triple_allocator },
                                        .allocator_count = 1,
                                        .repetitions = 1,
                                        .time_seconds = 0.01 };
    const struct tn_machine machine = { .is_host = true };
    struct tn_result results[3];
    struct tn_family_figures figures;
    assert_int_equal(tn_measure(list.items, 3, &options, &machine, results), 3);
    assert_true(tn_family_summarise(results, 1, 3, &figures));
    assert_int_equal(figures.measured_count, 3);
    assert_true(figures.held_by_live.min == 3.0 && figures.held_by_live.max == 3.0);
    assert_true(figures.held_by_peak.min == 3.0 && figures.held_by_peak.max == 3.0);
    tn_results_fini(results, 3);
    tn_workload_list_fini(&list);
}

/* --- the program ---------------------------------------------------------------------------------- */

static json_t *run_patterns(const char *json, const char *family, const char *variant,
                            const char *allocators)
{
    struct outcome outcome =
        RUN("patterns", "--family", family, "--variant", variant, "--draws=2", "--seed=11",
            "--allocator", allocators, "--repetitions=1", "--time=0.01", "--json", json, "--force");
    if (outcome.exit_status != 0) fail_msg("%s", outcome.errors);
    expect_part(outcome.output, "held/    live   at any");
    expect_part(outcome.output, "patterns: worst and median of the draws");
    outcome_fini(&outcome);
    return load_json(json);
}

static double number_of(const json_t *row, const char *key)
{
    if (!json_is_number(json_object_get(row, key))) fail_msg("no number '%s'", key);
    return json_number_value(json_object_get(row, key));
}

static const json_t *family_of(const json_t *root, const char *family, const char *allocator)
{
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(root, "families"), index, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "family")), family) == 0 &&
            strcmp(json_string_value(json_object_get(row, "allocator")), allocator) == 0)
            return row;
    }
    fail_msg("no family %s of %s", family, allocator);
    return NULL;
}

/* The vendor's calls hold what is live, in pages. */
static void raw_holds_what_is_live(void **state)
{
    (void)state;
    if (strcmp(tarn_backend_name(), "host") != 0) skip();
    json_t *root =
        run_patterns(scratch_path("raw.json"), "mesh,copied,robson", "plain,streams,behind", "raw");
    assert_int_equal(json_array_size(json_object_get(root, "families")), 9);
    assert_int_equal(json_array_size(json_object_get(root, "results")), 18);
    const json_t *row = family_of(root, "mesh", "raw");
    assert_true(number_of(row, "draws") == 2.0);
    assert_in_range(number_of(json_object_get(row, "held_by_peak_max"), "worst") * 1000, 1000,
                    1010);
    row = family_of(root, "robson behind", "raw");
    assert_null(json_object_get(row, "held_by_peak_max"));
    for (size_t i = 0; i < 9; i++) {
        row = json_array_get(json_object_get(root, "families"), i);
        const json_t *held = json_object_get(row, "held_by_live");
        assert_in_range(number_of(held, "best") * 1000, 1000, 1010);
        assert_in_range(number_of(held, "worst") * 1000, 1000, 1010);
    }
    json_decref(root);
}

/* Each of their pieces is twice as large as the one before, if no block is larger. */
static void ordered_sets_hold_pieces_that_double(void **state)
{
    (void)state;
    if (tn_allocator_ordered_sets.missing_because) skip();
    need_device();
    json_t *root = run_patterns(scratch_path("sets.json"), "doubling", "plain", "ordered-sets");
    uint64_t first_piece_bytes = 8 << 20;
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = json_array_get(json_object_get(root, "results"), i);
        uint64_t held_bytes = (uint64_t)number_of(row, "peak_footprint_bytes");
        uint64_t pieces = held_bytes / first_piece_bytes + 1;
        assert_int_equal(held_bytes % first_piece_bytes, 0);
        assert_int_equal(pieces & (pieces - 1), 0);
        assert_true(pieces > 2);
    }
    json_decref(root);
}

static void threads_and_streams_are_played(void **state)
{
    (void)state;
    need_device();
    json_t *root =
        run_patterns(scratch_path("threads.json"), "phases", "lasting,behind,threads", "raw,tarn");
    assert_true(
        number_of(json_object_get(family_of(root, "phases threads", "tarn"), "held_by_live"),
                  "best") >= 1.0);
    assert_int_equal(json_array_size(json_object_get(root, "families")), 6);
    json_decref(root);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    expect_usage_error(RUN("patterns", "--family=meshes"),
                       "--family: there is no 'meshes'; there are mesh, anew, copied, walk, "
                       "refine, phases, rates, doubling, robson");
    expect_usage_error(RUN("patterns", "--family=mesh,"), "--family: there is no ''");
    expect_usage_error(RUN("patterns", "--family=mesh,walk,mesh"),
                       "--family: 'mesh' is named twice");
    expect_usage_error(RUN("patterns", "--variant=fast"),
                       "--variant: there is no 'fast'; there are plain, lasting, streams, behind, "
                       "threads");
    expect_usage_error(RUN("patterns", "--draws=0"), "--draws 0: ");
    expect_usage_error(RUN("patterns", "--draws=101"), "--draws 101: ");
    expect_usage_error(RUN("patterns", "--draws=99999999999999999999"), "--draws ");
    expect_usage_error(RUN("patterns", "--draws=1,2"), "--draws 1,2: takes one number");
    expect_usage_error(RUN("patterns", "more"), "'more' is one argument too many");
    expect_usage_error(RUN("growth", "--draws=1"), "--draws is an option of patterns only");
    expect_usage_error(RUN("all", "--family=mesh"), "--family is an option of patterns only");
    expect_usage_error(RUN("patterns", "--until=1M"), "--until is an option of growth only");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_makes_the_same_workloads),
        cmocka_unit_test(the_page_has_these_workloads),
        cmocka_unit_test(no_more_is_live_than_families_say),
        cmocka_unit_test(blocks_that_last_do),
        cmocka_unit_test(the_first_block_of_each_place_stays),
        cmocka_unit_test(blocks_stay_with_their_streams),
        cmocka_unit_test(threads_do_the_same_with_a_part_each),
        cmocka_unit_test(events_complete_after_the_lag),
        cmocka_unit_test(held_by_live_is_that_of_the_allocator),
        cmocka_unit_test(raw_holds_what_is_live),
        cmocka_unit_test(ordered_sets_hold_pieces_that_double),
        cmocka_unit_test(threads_and_streams_are_played),
        cmocka_unit_test(bad_options_are_refused),
    };
    if (argc != 2) return EXIT_FAILURE;
    program = argv[1];
    return cmocka_run_group_tests(tests, scratch_create, scratch_destroy);
}
