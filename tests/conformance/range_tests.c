/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * range_tests: reserved addresses, and memory that is mapped into them piece by piece.
 *
 * A range is drawn in units of the backend's granularity, a letter for each unit that is mapped:
 * "AA.B" is a piece of two units, a gap, and a piece of one.
 */
#include "conformance.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNITS_MAX 8

/* A range of UNITS_MAX units. */
struct strip {
    const struct fixture *fixture;
    unsigned char *start;
    size_t unit_bytes;
    tarn_mapping mappings[UNITS_MAX]; /* by the unit where they start */
};

/* Says why the test is skipped where there are no ranges. */
static const struct fixture *fixture_with_ranges(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    if (fixture->properties.range_granularity_bytes == 0) {
        print_message("%s: has no ranges\n", fixture->target->name);
        skip();
    }
    return fixture;
}

static void *reserve(const struct fixture *fixture, size_t size_bytes)
{
    void *address = NULL;
    EXPECT_OK(fixture->operations->range_reserve(fixture->state, size_bytes, &address));
    assert_non_null(address);
    assert_int_equal((uintptr_t)address % fixture->properties.range_granularity_bytes, 0);
    return address;
}

static void release_range(const struct fixture *fixture, void *address, size_t size_bytes)
{
    EXPECT_OK(fixture->operations->range_release(fixture->state, address, size_bytes));
}

static struct strip strip_begin(void **state)
{
    const struct fixture *fixture = fixture_with_ranges(state);
    require_streams(fixture);
    size_t unit_bytes = fixture->properties.range_granularity_bytes;
    return (struct strip){
        .fixture = fixture,
        .start = reserve(fixture, UNITS_MAX * unit_bytes),
        .unit_bytes = unit_bytes,
    };
}

static void strip_end(const struct strip *strip)
{
    release_range(strip->fixture, strip->start, UNITS_MAX * strip->unit_bytes);
}

static unsigned char *unit(const struct strip *strip, size_t number)
{
    return strip->start + number * strip->unit_bytes;
}

static tarn_backend_result try_map(struct strip *strip, size_t number, size_t count)
{
    const struct fixture *fixture = strip->fixture;
    return fixture->operations->range_map(fixture->state, unit(strip, number),
                                          count * strip->unit_bytes, &strip->mappings[number]);
}

static void map(struct strip *strip, size_t number, size_t count)
{
    EXPECT_OK(try_map(strip, number, count));
}

static tarn_backend_result try_unmap(const struct strip *strip, size_t number, size_t count,
                                     tarn_mapping mapping)
{
    const struct fixture *fixture = strip->fixture;
    return fixture->operations->range_unmap(fixture->state, unit(strip, number),
                                            count * strip->unit_bytes, mapping);
}

static void unmap(const struct strip *strip, size_t number, size_t count)
{
    EXPECT_OK(try_unmap(strip, number, count, strip->mappings[number]));
}

static void fill_units(const struct strip *strip, size_t number, size_t count, unsigned char value)
{
    fill(strip->fixture, unit(strip, number), value, count * strip->unit_bytes, NULL);
}

static void expect_units(const struct strip *strip, size_t number, size_t count,
                         unsigned char value)
{
    expect_bytes(strip->fixture, unit(strip, number), count * strip->unit_bytes, value);
}

/* --- whether there are any --------------------------------------------------------------------- */

static void a_backend_has_all_operations_or_says_that_it_has_none(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    const tarn_backend_operations *operations = fixture->operations;
    size_t granularity_bytes = fixture->properties.range_granularity_bytes;
    assert_int_equal(granularity_bytes & (granularity_bytes - 1), 0);
    if (granularity_bytes != 0) {
        assert_non_null(operations->range_reserve);
        assert_non_null(operations->range_release);
        assert_non_null(operations->range_map);
        assert_non_null(operations->range_unmap);
        return;
    }
    size_t size_bytes = (size_t)64 << 20;
    void *place = (void *)size_bytes; /* a multiple of whatever there could be */
    void *address = &size_bytes;
    tarn_mapping mapping = &size_bytes;
    if (operations->range_reserve) {
        EXPECT_STATUS(operations->range_reserve(fixture->state, size_bytes, &address),
                      TARN_STATUS_NOT_SUPPORTED);
    }
    if (operations->range_release) {
        EXPECT_STATUS(operations->range_release(fixture->state, place, size_bytes),
                      TARN_STATUS_NOT_SUPPORTED);
    }
    if (operations->range_map) {
        EXPECT_STATUS(operations->range_map(fixture->state, place, size_bytes, &mapping),
                      TARN_STATUS_NOT_SUPPORTED);
    }
    if (operations->range_unmap) {
        EXPECT_STATUS(operations->range_unmap(fixture->state, place, size_bytes, mapping),
                      TARN_STATUS_NOT_SUPPORTED);
    }
    assert_ptr_equal(address, &size_bytes);
    assert_ptr_equal(mapping, &size_bytes);
}

/* --- reserving --------------------------------------------------------------------------------- */

static void reserved_addresses_take_no_memory(void **state)
{
    const struct fixture *fixture = fixture_with_ranges(state);
    size_t unit_bytes = fixture->properties.range_granularity_bytes;
    size_t size_bytes = 2 * (fixture->properties.allocation_bytes_max / unit_bytes) * unit_bytes;
    void *address = reserve(fixture, size_bytes);
    if (fixture->target->memory_bytes != 0)
        assert_int_equal(memory_of(fixture).free_bytes, fixture->target->memory_bytes);
    release_range(fixture, address, size_bytes);
}

static void ranges_do_not_overlap(void **state)
{
    enum {
        COUNT = 16
    };
    const struct fixture *fixture = fixture_with_ranges(state);
    size_t unit_bytes = fixture->properties.range_granularity_bytes;
    uintptr_t starts[COUNT], ends[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        starts[i] = (uintptr_t)reserve(fixture, (i % 3 + 1) * unit_bytes);
        ends[i] = starts[i] + (i % 3 + 1) * unit_bytes;
        for (size_t k = 0; k < i; k++)
            assert_true(ends[k] <= starts[i] || ends[i] <= starts[k]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        size_t k = (i * 7) % COUNT;
        release_range(fixture, (void *)starts[k], ends[k] - starts[k]);
    }
}

/* --- mapping ----------------------------------------------------------------------------------- */

/* "AAB." in one fill, and copies that begin in A and end in B, both ways. */
static void neighbours_are_used_as_one_piece(void **state)
{
    struct strip strip = strip_begin(state);
    map(&strip, 0, 2);
    map(&strip, 2, 1);
    fill_units(&strip, 0, 3, 0x11);
    expect_units(&strip, 0, 3, 0x11);

    size_t size_bytes = 3 * strip.unit_bytes;
    unsigned char *piece = acquire(strip.fixture, size_bytes);
    fill(strip.fixture, piece, 0x22, size_bytes, NULL);
    copy(strip.fixture, strip.start + 1, piece, size_bytes - 2, NULL);
    expect_bytes(strip.fixture, strip.start, 1, 0x11);
    expect_bytes(strip.fixture, strip.start + 1, size_bytes - 2, 0x22);
    expect_bytes(strip.fixture, strip.start + size_bytes - 1, 1, 0x11);

    fill(strip.fixture, unit(&strip, 2) - 100, 0x33, 200, NULL);
    copy(strip.fixture, piece, unit(&strip, 2) - 200, 400, NULL);
    expect_bytes(strip.fixture, piece, 100, 0x22);
    expect_bytes(strip.fixture, piece + 100, 200, 0x33);
    expect_bytes(strip.fixture, piece + 300, 100, 0x22);

    release(strip.fixture, piece, size_bytes);
    unmap(&strip, 0, 2);
    unmap(&strip, 2, 1);
    strip_end(&strip);
}

/* "...CBBA." from the back to the front, then gone from the middle. */
static void pieces_come_and_go_in_any_order(void **state)
{
    struct strip strip = strip_begin(state);
    map(&strip, 6, 1);
    fill_units(&strip, 6, 1, 1);
    map(&strip, 4, 2);
    fill_units(&strip, 4, 2, 2);
    map(&strip, 3, 1);
    fill_units(&strip, 3, 1, 3);
    expect_units(&strip, 6, 1, 1);
    expect_units(&strip, 4, 2, 2);
    expect_units(&strip, 3, 1, 3);
    unmap(&strip, 4, 2);
    expect_units(&strip, 6, 1, 1);
    expect_units(&strip, 3, 1, 3);
    unmap(&strip, 6, 1);
    expect_units(&strip, 3, 1, 3);
    unmap(&strip, 3, 1);
    strip_end(&strip);
}

/* "ABBC", then "A..C", then "ADEC": new memory in the same place, cut in another way. */
static void a_gap_is_mapped_again(void **state)
{
    struct strip strip = strip_begin(state);
    map(&strip, 0, 1);
    map(&strip, 1, 2);
    map(&strip, 3, 1);
    fill_units(&strip, 0, 4, 0x44);
    for (unsigned char round = 1; round <= 5; round++) {
        unmap(&strip, 1, 2);
        map(&strip, 2, 1);
        map(&strip, 1, 1);
        fill_units(&strip, 1, 2, round);
        expect_units(&strip, 0, 1, 0x44);
        expect_units(&strip, 1, 2, round);
        expect_units(&strip, 3, 1, 0x44);
        unmap(&strip, 1, 1);
        unmap(&strip, 2, 1);
        map(&strip, 1, 2);
    }
    unmap(&strip, 0, 1);
    unmap(&strip, 1, 2);
    unmap(&strip, 3, 1);
    strip_end(&strip);
}

static void unmapping_waits_for_the_work_on_it(void **state)
{
    struct strip strip = strip_begin(state);
    const struct fixture *fixture = strip.fixture;
    tarn_stream stream = create_stream(fixture);
    tarn_event event = create_event(fixture);
    size_t size_bytes = UNITS_MAX * strip.unit_bytes;
    unsigned char *piece = acquire(fixture, size_bytes);
    for (unsigned char round = 1; round <= 10; round++) {
        map(&strip, 0, UNITS_MAX);
        fill(fixture, strip.start, round, size_bytes, stream);
        copy(fixture, piece, strip.start, size_bytes, stream);
        record_event(fixture, event, stream);
        unmap(&strip, 0, UNITS_MAX);
        EXPECT_OK(fixture->operations->event_query(fixture->state, event));
        expect_bytes(fixture, piece, size_bytes, round);
    }
    release(fixture, piece, size_bytes);
    destroy_event(fixture, event);
    destroy_stream(fixture, stream);
    strip_end(&strip);
}

/* With work under way on other memory, and on the mapping next to it. */
static void memory_that_no_work_uses_is_unmapped_without_a_wait(void **state)
{
    REQUIRE_OPERATION(fixture_of(state), range_unmap_idle);
    struct strip strip = strip_begin(state);
    const struct fixture *fixture = strip.fixture;
    const tarn_backend_operations *operations = fixture->operations;
    tarn_stream stream = create_stream(fixture);
    map(&strip, 0, 1);
    map(&strip, 1, 2);
    fill_units(&strip, 0, 1, 17);
    fill(fixture, unit(&strip, 1), 3, 2 * strip.unit_bytes, stream);
    EXPECT_OK(fixture->operations->stream_synchronize(fixture->state, stream));
    fill(fixture, unit(&strip, 0), 5, strip.unit_bytes, stream);
    EXPECT_OK(operations->range_unmap_idle(fixture->state, unit(&strip, 1), 2 * strip.unit_bytes,
                                           strip.mappings[1]));
    EXPECT_STATUS(operations->range_unmap_idle(fixture->state, unit(&strip, 1),
                                               2 * strip.unit_bytes, strip.mappings[1]),
                  TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->range_unmap_idle(fixture->state, unit(&strip, 0),
                                               strip.unit_bytes / 2, strip.mappings[0]),
                  TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_OK(fixture->operations->stream_synchronize(fixture->state, stream));
    expect_units(&strip, 0, 1, 5);
    map(&strip, 1, 2);
    unmap(&strip, 1, 2);
    unmap(&strip, 0, 1);
    destroy_stream(fixture, stream);
    strip_end(&strip);
}

/* --- how much is left -------------------------------------------------------------------------- */

static void what_is_mapped_is_not_left(void **state)
{
    const struct fixture *fixture = fixture_with_ranges(state);
    require_memory_info(fixture);
    struct strip strip = strip_begin(state);
    size_t size_bytes = UNITS_MAX * strip.unit_bytes;
    for (int round = 0; round < 3; round++) {
        tarn_memory_info before = memory_of(fixture);
        map(&strip, 0, UNITS_MAX);
        tarn_memory_info held = memory_of(fixture);
        unmap(&strip, 0, UNITS_MAX);
        tarn_memory_info after = memory_of(fixture);
        assert_int_equal(held.total_bytes, before.total_bytes);
        if (fixture->target->memory_bytes != 0) {
            assert_int_equal(before.free_bytes, fixture->target->memory_bytes);
            assert_int_equal(held.free_bytes, before.free_bytes - size_bytes);
            assert_int_equal(after.free_bytes, before.free_bytes);
        } else if (fixture->properties.kind == TARN_MEMORY_KIND_DEVICE &&
                   !fixture->target->is_host) {
            assert_true(held.free_bytes < before.free_bytes);
            assert_true(after.free_bytes > held.free_bytes);
        }
    }
    strip_end(&strip);
}

/* Pieces and what is mapped are of the same memory. */
static void pretended_memory_is_all_that_is_mapped(void **state)
{
    const struct fixture *fixture = fixture_with_ranges(state);
    if (fixture->target->memory_bytes == 0) skip();
    struct strip strip = strip_begin(state);
    size_t most_bytes = fixture->target->memory_bytes - 2 * strip.unit_bytes;
    void *most = acquire(fixture, most_bytes);
    EXPECT_STATUS(try_map(&strip, 0, 3), TARN_STATUS_OUT_OF_MEMORY);
    map(&strip, 0, 1);
    EXPECT_STATUS(try_map(&strip, 1, 2), TARN_STATUS_OUT_OF_MEMORY);
    map(&strip, 1, 1);
    EXPECT_STATUS(try_map(&strip, 2, 1), TARN_STATUS_OUT_OF_MEMORY);
    void *none = NULL;
    EXPECT_STATUS(fixture->operations->acquire(fixture->state, 1, &none),
                  TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(memory_of(fixture).free_bytes, 0);

    release(fixture, most, most_bytes);
    map(&strip, 2, 3);
    unmap(&strip, 0, 1);
    unmap(&strip, 1, 1);
    unmap(&strip, 2, 3);
    assert_int_equal(memory_of(fixture).free_bytes, fixture->target->memory_bytes);
    strip_end(&strip);
}

static void absurd_sizes_are_out_of_memory(void **state)
{
    struct strip strip = strip_begin(state);
    const struct fixture *fixture = strip.fixture;
    size_t unit_bytes = strip.unit_bytes;
    const size_t halves[] = { SIZE_MAX / 2, SIZE_MAX };
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        size_t size_bytes = halves[i] / unit_bytes * unit_bytes;
        void *address = &strip;
        EXPECT_STATUS(fixture->operations->range_reserve(fixture->state, size_bytes, &address),
                      TARN_STATUS_OUT_OF_MEMORY);
        assert_ptr_equal(address, &strip);
        assert_null(vendor.take_last_error());
    }
    strip_end(&strip);

    size_t more_bytes = (fixture->properties.allocation_bytes_max / unit_bytes + 1) * unit_bytes;
    void *address = reserve(fixture, more_bytes);
    tarn_mapping mapping = &strip;
    EXPECT_STATUS(fixture->operations->range_map(fixture->state, address, more_bytes, &mapping),
                  TARN_STATUS_OUT_OF_MEMORY);
    assert_ptr_equal(mapping, &strip);
    assert_null(vendor.take_last_error());
    release_range(fixture, address, more_bytes);
}

/* --- what is refused --------------------------------------------------------------------------- */

static void sizes_that_are_no_multiples_are_refused(void **state)
{
    struct strip strip = strip_begin(state);
    const struct fixture *fixture = strip.fixture;
    const tarn_backend_operations *operations = fixture->operations;
    size_t unit_bytes = strip.unit_bytes;
    const size_t sizes[] = { 0, 1, unit_bytes - 1, unit_bytes + 1, 2 * unit_bytes - 1, SIZE_MAX };
    map(&strip, 0, 2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *address = &strip;
        tarn_mapping mapping = &strip;
        EXPECT_STATUS(operations->range_reserve(fixture->state, sizes[i], &address),
                      TARN_STATUS_INVALID_ARGUMENT);
        EXPECT_STATUS(operations->range_map(fixture->state, unit(&strip, 2), sizes[i], &mapping),
                      TARN_STATUS_INVALID_ARGUMENT);
        EXPECT_STATUS(
            operations->range_unmap(fixture->state, strip.start, sizes[i], strip.mappings[0]),
            TARN_STATUS_INVALID_ARGUMENT);
        EXPECT_STATUS(operations->range_release(fixture->state, strip.start, sizes[i]),
                      TARN_STATUS_INVALID_ARGUMENT);
        assert_ptr_equal(address, &strip);
        assert_ptr_equal(mapping, &strip);
    }
    unmap(&strip, 0, 2);
    strip_end(&strip);
}

static void addresses_that_are_no_multiples_are_refused(void **state)
{
    struct strip strip = strip_begin(state);
    const struct fixture *fixture = strip.fixture;
    const tarn_backend_operations *operations = fixture->operations;
    size_t unit_bytes = strip.unit_bytes;
    void *const places[] = { NULL, strip.start + 1, strip.start + unit_bytes - 1,
                             strip.start + unit_bytes / 2 };
    map(&strip, 0, 1);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        tarn_mapping mapping = &strip;
        EXPECT_STATUS(operations->range_map(fixture->state, places[i], unit_bytes, &mapping),
                      TARN_STATUS_INVALID_ARGUMENT);
        EXPECT_STATUS(
            operations->range_unmap(fixture->state, places[i], unit_bytes, strip.mappings[0]),
            TARN_STATUS_INVALID_ARGUMENT);
        EXPECT_STATUS(operations->range_release(fixture->state, places[i], UNITS_MAX * unit_bytes),
                      TARN_STATUS_INVALID_ARGUMENT);
        assert_ptr_equal(mapping, &strip);
    }
    unmap(&strip, 0, 1);
    strip_end(&strip);
}

static void no_place_for_the_answer_is_refused(void **state)
{
    struct strip strip = strip_begin(state);
    const struct fixture *fixture = strip.fixture;
    const tarn_backend_operations *operations = fixture->operations;
    EXPECT_STATUS(operations->range_reserve(fixture->state, strip.unit_bytes, NULL),
                  TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->range_map(fixture->state, strip.start, strip.unit_bytes, NULL),
                  TARN_STATUS_INVALID_ARGUMENT);
    strip_end(&strip);
}

/* Over all of a piece, over its front, its back and its middle. */
static void mapping_what_is_mapped_is_refused(void **state)
{
    struct strip strip = strip_begin(state);
    map(&strip, 2, 3);
    tarn_mapping mapping = strip.mappings[2];
    fill_units(&strip, 2, 3, 0x55);
    const size_t overlaps[][2] = { { 2, 3 }, { 2, 1 }, { 3, 1 }, { 4, 1 }, { 1, 2 },
                                   { 4, 2 }, { 1, 5 }, { 0, 3 }, { 0, 8 } };
    for (size_t i = 0; i < sizeof overlaps / sizeof *overlaps; i++) {
        EXPECT_STATUS(try_map(&strip, overlaps[i][0], overlaps[i][1]),
                      TARN_STATUS_INVALID_ARGUMENT);
    }
    assert_ptr_equal(strip.mappings[2], mapping);
    expect_units(&strip, 2, 3, 0x55);
    map(&strip, 1, 1);
    map(&strip, 5, 1);
    expect_units(&strip, 2, 3, 0x55);
    unmap(&strip, 1, 1);
    unmap(&strip, 5, 1);
    unmap(&strip, 2, 3);
    if (strip.fixture->target->memory_bytes != 0)
        assert_int_equal(memory_of(strip.fixture).free_bytes, strip.fixture->target->memory_bytes);
    strip_end(&strip);
}

static void unmapping_what_is_not_mapped_is_refused(void **state)
{
    struct strip strip = strip_begin(state);
    map(&strip, 2, 1);
    tarn_mapping mapping = strip.mappings[2];
    unmap(&strip, 2, 1);
    EXPECT_STATUS(try_unmap(&strip, 2, 1, mapping), TARN_STATUS_INVALID_ARGUMENT);
    strip_end(&strip);
}

/* What vendors make of these differs, and so do the versions of their drivers. */
static void what_is_not_quite_the_piece_or_the_range_is_refused(void **state)
{
    const struct fixture *fixture = fixture_with_ranges(state);
    if (!fixture->target->is_host) skip();
    struct strip strip = strip_begin(state);
    const tarn_backend_operations *operations = fixture->operations;
    size_t unit_bytes = strip.unit_bytes;
    map(&strip, 0, 1);
    map(&strip, 2, 3);
    EXPECT_STATUS(try_unmap(&strip, 2, 2, strip.mappings[2]), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(try_unmap(&strip, 2, 4, strip.mappings[2]), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(try_unmap(&strip, 3, 2, strip.mappings[2]), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(try_unmap(&strip, 2, 3, strip.mappings[0]), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(try_unmap(&strip, 2, 3, NULL), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(try_unmap(&strip, 1, 1, NULL), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(try_unmap(&strip, UNITS_MAX, 1, strip.mappings[0]), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->range_release(fixture->state, strip.start, UNITS_MAX * unit_bytes),
                  TARN_STATUS_INVALID_ARGUMENT); /* in use */
    unmap(&strip, 0, 1);
    unmap(&strip, 2, 3);

    EXPECT_STATUS(try_map(&strip, UNITS_MAX, 1), TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(try_map(&strip, UNITS_MAX - 1, 2), TARN_STATUS_INVALID_ARGUMENT);
    const size_t counts[] = { 1, UNITS_MAX - 1, UNITS_MAX + 1 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        EXPECT_STATUS(
            operations->range_release(fixture->state, strip.start, counts[i] * unit_bytes),
            TARN_STATUS_INVALID_ARGUMENT);
    }
    EXPECT_STATUS(
        operations->range_release(fixture->state, unit(&strip, 1), (UNITS_MAX - 1) * unit_bytes),
        TARN_STATUS_INVALID_ARGUMENT);
    strip_end(&strip);
    EXPECT_STATUS(operations->range_release(fixture->state, strip.start, UNITS_MAX * unit_bytes),
                  TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(try_map(&strip, 0, 1), TARN_STATUS_INVALID_ARGUMENT);
}

/* --- sharing ----------------------------------------------------------------------------------- */

static const struct fixture *fixture_with_sharing(void **state)
{
    const struct fixture *fixture = fixture_with_ranges(state);
    if (!fixture->properties.has_shareable_ranges) {
        print_message("%s: ranges cannot be shared\n", fixture->target->name);
        skip();
    }
    return fixture;
}

static void *import_memory(const struct fixture *fixture, int file_descriptor, size_t size_bytes)
{
    if (!fixture->target->is_host) return vendor.import_memory(file_descriptor, size_bytes);
    void *address = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_descriptor, 0);
    assert_true(address != MAP_FAILED);
    return address;
}

static void forget_memory(const struct fixture *fixture, void *address, size_t size_bytes)
{
    if (!fixture->target->is_host) {
        vendor.forget_memory(address, size_bytes);
    } else {
        assert_int_equal(munmap(address, size_bytes), 0);
    }
}

/* What one writes the other reads. */
static void expect_same_memory(const struct fixture *fixture, void *here, void *there,
                               size_t size_bytes)
{
    fill(fixture, here, 0x51, size_bytes, NULL);
    expect_bytes(fixture, there, size_bytes, 0x51);
    fill(fixture, there, 0x52, size_bytes, NULL);
    expect_bytes(fixture, here, size_bytes, 0x52);
}

static tarn_backend_result map_shareable(struct strip *strip, size_t number, size_t count)
{
    const struct fixture *fixture = strip->fixture;
    return fixture->operations->range_map_shareable(
        fixture->state, unit(strip, number), count * strip->unit_bytes, &strip->mappings[number]);
}

static int export_units(const struct strip *strip, size_t number, size_t count)
{
    const struct fixture *fixture = strip->fixture;
    int file_descriptor = -1;
    EXPECT_OK(fixture->operations->range_export(fixture->state, unit(strip, number),
                                                count * strip->unit_bytes, strip->mappings[number],
                                                &file_descriptor));
    assert_true(fcntl(file_descriptor, F_GETFD) >= 0);
    return file_descriptor;
}

static void shareable_memory_is_as_good_as_other(void **state)
{
    fixture_with_sharing(state);
    struct strip strip = strip_begin(state);
    EXPECT_OK(map_shareable(&strip, 0, 2));
    map(&strip, 2, 1);
    EXPECT_OK(map_shareable(&strip, 3, 1));
    fill_units(&strip, 0, 4, 0x61);
    expect_units(&strip, 0, 4, 0x61);
    EXPECT_STATUS(map_shareable(&strip, 1, 1), TARN_STATUS_INVALID_ARGUMENT);
    unmap(&strip, 0, 2);
    map(&strip, 0, 2);
    fill_units(&strip, 0, 2, 0x62);
    expect_units(&strip, 2, 2, 0x61);
    unmap(&strip, 0, 2);
    unmap(&strip, 2, 1);
    unmap(&strip, 3, 1);
    strip_end(&strip);
}

/* By the vendor's own calls, in this process. */
static void what_was_exported_is_mapped_a_second_time(void **state)
{
    const struct fixture *fixture = fixture_with_sharing(state);
    struct strip strip = strip_begin(state);
    EXPECT_OK(map_shareable(&strip, 1, 2));
    int file_descriptor = export_units(&strip, 1, 2), another = export_units(&strip, 1, 2);
    assert_int_not_equal(file_descriptor, another);
    close(another);
    bool can_import = vendor.import_memory || fixture->target->is_host;
    if (can_import) {
        size_t size_bytes = 2 * strip.unit_bytes;
        void *there = import_memory(fixture, file_descriptor, size_bytes);
        expect_same_memory(fixture, unit(&strip, 1), there, size_bytes);
        unmap(&strip, 1, 2);
        expect_bytes(fixture, there, size_bytes, 0x52);
        forget_memory(fixture, there, size_bytes);
    } else {
        unmap(&strip, 1, 2);
    }
    close(file_descriptor);
    strip_end(&strip);
}

static const struct fixture *fixture_without_sharing(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    if (fixture->properties.has_shareable_ranges || !fixture->operations->range_export) skip();
    return fixture;
}

static void what_cannot_be_shared_says_so(void **state)
{
    const struct fixture *fixture = fixture_without_sharing(state);
    const tarn_backend_operations *operations = fixture->operations;
    size_t size_bytes = (size_t)64 << 20;
    void *place = (void *)size_bytes;
    tarn_mapping mapping = &size_bytes;
    int file_descriptor = -1;
    EXPECT_STATUS(operations->range_map_shareable(fixture->state, place, size_bytes, &mapping),
                  TARN_STATUS_NOT_SUPPORTED);
    EXPECT_STATUS(
        operations->range_export(fixture->state, place, size_bytes, mapping, &file_descriptor),
        TARN_STATUS_NOT_SUPPORTED);
    assert_ptr_equal(mapping, &size_bytes);
    assert_int_equal(file_descriptor, -1);
}

static void wrong_places_of_what_is_shared_are_refused(void **state)
{
    const struct fixture *fixture = fixture_with_sharing(state);
    const tarn_backend_operations *operations = fixture->operations;
    struct strip strip = strip_begin(state);
    EXPECT_OK(map_shareable(&strip, 0, 1));
    int file_descriptor = -1;
    tarn_mapping mapping = strip.mappings[0], other = &strip;
    EXPECT_STATUS(
        operations->range_export(fixture->state, strip.start, strip.unit_bytes, mapping, NULL),
        TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->range_export(fixture->state, strip.start + 1, strip.unit_bytes,
                                           mapping, &file_descriptor),
                  TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->range_export(fixture->state, strip.start, strip.unit_bytes - 1,
                                           mapping, &file_descriptor),
                  TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_STATUS(operations->range_map_shareable(fixture->state, unit(&strip, 1), 1, &other),
                  TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(file_descriptor, -1);
    assert_ptr_equal(other, &strip);
    unmap(&strip, 0, 1);
    strip_end(&strip);
}

/* --- the group --------------------------------------------------------------------------------- */

int run_range_tests(const struct target *target)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_backend_has_all_operations_or_says_that_it_has_none),
        TEST(reserved_addresses_take_no_memory),
        TEST(ranges_do_not_overlap),
        TEST(neighbours_are_used_as_one_piece),
        TEST(pieces_come_and_go_in_any_order),
        TEST(a_gap_is_mapped_again),
        TEST(unmapping_waits_for_the_work_on_it),
        TEST(memory_that_no_work_uses_is_unmapped_without_a_wait),
        TEST(what_is_mapped_is_not_left),
        TEST(pretended_memory_is_all_that_is_mapped),
        TEST(absurd_sizes_are_out_of_memory),
        TEST(sizes_that_are_no_multiples_are_refused),
        TEST(addresses_that_are_no_multiples_are_refused),
        TEST(no_place_for_the_answer_is_refused),
        TEST(mapping_what_is_mapped_is_refused),
        TEST(unmapping_what_is_not_mapped_is_refused),
        TEST(what_is_not_quite_the_piece_or_the_range_is_refused),
        TEST(shareable_memory_is_as_good_as_other),
        TEST(what_was_exported_is_mapped_a_second_time),
        TEST(what_cannot_be_shared_says_so),
        TEST(wrong_places_of_what_is_shared_are_refused),
    };
    fixture_set_target(target);
    return cmocka_run_group_tests_name(target->name, tests, NULL, NULL);
}
