/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory_tests: properties, acquire and release, and how much is left. */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static bool is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static size_t round_up(size_t value, size_t power_of_two)
{
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

/* Fills the piece and looks whether all of it holds the value, where the backend can do so. */
static void expect_usable(const struct fixture *fixture, void *address, size_t size_bytes,
                          unsigned char value)
{
    if (!fixture->operations->fill || !fixture->operations->copy) return;
    fill(fixture, address, value, size_bytes, NULL);
    expect_bytes(fixture, address, size_bytes, value);
}

/* --- properties -------------------------------------------------------------------------------- */

static void properties_are_sane(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    const tarn_device_properties *properties = &fixture->properties;
    assert_int_equal(fixture->operations->struct_bytes, sizeof(tarn_backend_operations));
    assert_string_equal(fixture->operations->name, fixture->target->is_host ? "host" : vendor.name);
    assert_non_null(properties->device_name);
    assert_true(strlen(properties->device_name) > 0);
    assert_int_equal(properties->kind, fixture->target->kind);
    assert_int_equal(properties->is_host_accessible,
                     properties->kind != TARN_MEMORY_KIND_DEVICE || fixture->target->is_host);
    assert_true(is_power_of_two(properties->alignment_bytes));
    assert_true(properties->alignment_bytes >= 256);
    assert_true(is_power_of_two(properties->granularity_bytes));
    assert_true(properties->allocation_bytes_max >= properties->granularity_bytes);
    assert_int_equal(properties->driver_version > 0, !fixture->target->is_host);
}

static void properties_stay_the_same(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    tarn_device_properties again;
    void *address = acquire(fixture, 1);
    EXPECT_OK(fixture->operations->get_properties(fixture->state, &again));
    assert_string_equal(again.device_name, fixture->properties.device_name);
    assert_int_equal(again.kind, fixture->properties.kind);
    assert_int_equal(again.alignment_bytes, fixture->properties.alignment_bytes);
    assert_int_equal(again.granularity_bytes, fixture->properties.granularity_bytes);
    assert_int_equal(again.allocation_bytes_max, fixture->properties.allocation_bytes_max);
    assert_int_equal(again.range_granularity_bytes, fixture->properties.range_granularity_bytes);
    release(fixture, address, 1);
}

/* --- acquire and release ----------------------------------------------------------------------- */

static void sizes_around_each_edge_are_given(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    const size_t edges[] = { 2, 256, 4096, fixture->properties.granularity_bytes, 4 * MIB };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        for (size_t size_bytes = edges[i] - 1; size_bytes <= edges[i] + 1; size_bytes++) {
            void *address = acquire(fixture, size_bytes);
            assert_int_equal((uintptr_t)address % fixture->properties.alignment_bytes, 0);
            expect_usable(fixture, address, size_bytes, (unsigned char)(size_bytes + i));
            release(fixture, address, size_bytes);
        }
    }
}

struct piece {
    unsigned char *address;
    size_t size_bytes;
};

static void expect_apart(const struct piece *a, const struct piece *b)
{
    uintptr_t a_start = (uintptr_t)a->address, b_start = (uintptr_t)b->address;
    if (a_start < b_start + b->size_bytes && b_start < a_start + a->size_bytes) {
        fail_msg("%zu bytes at %p and %zu bytes at %p overlap", a->size_bytes, (void *)a->address,
                 b->size_bytes, (void *)b->address);
    }
}

/* All at once: each keeps its own value, and goes in another order than it came. */
static void pieces_do_not_overlap(void **state)
{
    enum {
        COUNT = 24
    };
    const struct fixture *fixture = fixture_of(state);
    struct piece pieces[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        pieces[i].size_bytes = (i % 3 + 1) * (i % 5 == 0 ? 64 * 1024 : 1000) + i;
        pieces[i].address = acquire(fixture, pieces[i].size_bytes);
        for (size_t k = 0; k < i; k++)
            expect_apart(&pieces[k], &pieces[i]);
        if (fixture->operations->fill)
            fill(fixture, pieces[i].address, (unsigned char)(i + 1), pieces[i].size_bytes, NULL);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const struct piece *piece = &pieces[(i * 7) % COUNT];
        if (fixture->operations->fill && fixture->operations->copy) {
            expect_bytes(fixture, piece->address, piece->size_bytes,
                         (unsigned char)((i * 7) % COUNT + 1));
        }
        release(fixture, piece->address, piece->size_bytes);
    }
}

static void host_reads_what_the_properties_say_it_can(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    if (!fixture->properties.is_host_accessible) skip();
    size_t size_bytes = 3 * 4096 + 1;
    unsigned char *address = acquire(fixture, size_bytes);
    memset(address, 0x5A, size_bytes);
    assert_int_equal(address[0], 0x5A);
    assert_int_equal(address[size_bytes - 1], 0x5A);
    release(fixture, address, size_bytes);
}

/* --- what cannot be had ------------------------------------------------------------------------ */

static void absurd_sizes_are_out_of_memory(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    size_t total_bytes = fixture->properties.allocation_bytes_max;
    if (tells_memory(fixture)) {
        size_t told_bytes = memory_of(fixture).total_bytes;
        total_bytes = told_bytes > total_bytes ? told_bytes : total_bytes;
    }
    const size_t sizes[] = { total_bytes + 1, 2 * total_bytes, SIZE_MAX / 4, SIZE_MAX / 2 - 1,
                             SIZE_MAX / 2,    SIZE_MAX - 4095, SIZE_MAX - 1, SIZE_MAX };
    char nowhere;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *address = &nowhere;
        EXPECT_STATUS(fixture->operations->acquire(fixture->state, sizes[i], &address),
                      TARN_STATUS_OUT_OF_MEMORY);
        assert_ptr_equal(address, &nowhere);
        assert_null(vendor.take_last_error());
    }

    void *address = acquire(fixture, 1 * MIB);
    expect_usable(fixture, address, 1 * MIB, 0xA5);
    release(fixture, address, 1 * MIB);
    if (fixture->target->memory_bytes != 0)
        assert_int_equal(memory_of(fixture).free_bytes, fixture->target->memory_bytes);
}

static void zero_bytes_are_refused(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    char nowhere;
    void *address = &nowhere;
    EXPECT_STATUS(fixture->operations->acquire(fixture->state, 0, &address),
                  TARN_STATUS_INVALID_ARGUMENT);
    assert_ptr_equal(address, &nowhere);
}

static void release_of_what_is_not_held_is_refused(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    char foreign[16];
    EXPECT_STATUS(fixture->operations->release(fixture->state, NULL, 1),
                  TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(fixture->operations->release(fixture->state, foreign, sizeof foreign),
                  TARN_STATUS_INVALID_ARGUMENT);

    void *address = acquire(fixture, 8192);
    release(fixture, address, 8192);
    EXPECT_STATUS(fixture->operations->release(fixture->state, address, 8192),
                  TARN_STATUS_INVALID_ARGUMENT);
}

static void release_of_a_wrong_size_changes_nothing(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    if (!fixture->target->is_host) skip(); /* vendors know the size themselves and are not told */
    unsigned char *address = acquire(fixture, 8192);
    const size_t sizes[] = { 0, 1, 4096, 8191, 8193, SIZE_MAX };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        EXPECT_STATUS(fixture->operations->release(fixture->state, address, sizes[i]),
                      TARN_STATUS_INVALID_ARGUMENT);
    }
    EXPECT_STATUS(fixture->operations->release(fixture->state, address + 4096, 4096),
                  TARN_STATUS_INVALID_ARGUMENT);
    memset(address, 1, 8192);
    release(fixture, address, 8192);
}

/* --- how much is left -------------------------------------------------------------------------- */

static void what_is_held_is_not_left(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    require_memory_info(fixture);
    tarn_memory_info before = memory_of(fixture);
    size_t size_bytes = 64 * MIB + 1;
    void *address = acquire(fixture, size_bytes);
    tarn_memory_info held = memory_of(fixture);
    release(fixture, address, size_bytes);
    tarn_memory_info after = memory_of(fixture);

    assert_int_equal(held.total_bytes, before.total_bytes);
    assert_int_equal(after.total_bytes, before.total_bytes);
    if (fixture->target->memory_bytes != 0) {
        size_t counted_bytes = round_up(size_bytes, fixture->properties.granularity_bytes);
        assert_int_equal(before.total_bytes, fixture->target->memory_bytes);
        assert_int_equal(before.free_bytes, fixture->target->memory_bytes);
        assert_int_equal(held.free_bytes, before.free_bytes - counted_bytes);
        assert_int_equal(after.free_bytes, before.free_bytes);
    } else if (fixture->properties.kind == TARN_MEMORY_KIND_DEVICE && !fixture->target->is_host) {
        /* Others may use the device too, so no more than the direction is sure. The other kinds
         * come from the host, or are committed by touch. */
        assert_true(held.free_bytes < before.free_bytes);
        assert_true(after.free_bytes > held.free_bytes);
    }
}

static void pretended_memory_is_all_there_is(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    if (fixture->target->memory_bytes == 0) skip();
    size_t page_bytes = fixture->properties.granularity_bytes;
    size_t most_bytes = fixture->target->memory_bytes - page_bytes;
    assert_int_equal(fixture->properties.allocation_bytes_max, fixture->target->memory_bytes);
    void *most = acquire(fixture, most_bytes);
    void *none = NULL;
    EXPECT_STATUS(fixture->operations->acquire(fixture->state, page_bytes + 1, &none),
                  TARN_STATUS_OUT_OF_MEMORY);
    void *last = acquire(fixture, page_bytes);
    EXPECT_STATUS(fixture->operations->acquire(fixture->state, 1, &none),
                  TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(memory_of(fixture).free_bytes, 0);

    release(fixture, most, most_bytes);
    release(fixture, last, page_bytes);
    void *all = acquire(fixture, fixture->target->memory_bytes);
    release(fixture, all, fixture->target->memory_bytes);
}

/* --- the group --------------------------------------------------------------------------------- */

int run_memory_tests(const struct target *target)
{
    static const struct CMUnitTest tests[] = {
        TEST(properties_are_sane),
        TEST(properties_stay_the_same),
        TEST(sizes_around_each_edge_are_given),
        TEST(pieces_do_not_overlap),
        TEST(host_reads_what_the_properties_say_it_can),
        TEST(absurd_sizes_are_out_of_memory),
        TEST(zero_bytes_are_refused),
        TEST(release_of_what_is_not_held_is_refused),
        TEST(release_of_a_wrong_size_changes_nothing),
        TEST(what_is_held_is_not_left),
        TEST(pretended_memory_is_all_there_is),
    };
    fixture_set_target(target);
    return cmocka_run_group_tests_name(target->name, tests, NULL, NULL);
}
