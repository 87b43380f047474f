/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A lane stands still before its n-th atomic operation, for each n that there is, while another does much in the same
 * places: gives whole slabs back, has their pages made into slabs anew, fills and empties those. After that every
 * structure of the heap agrees with every other, and all of its memory can be had.
 */
#include "heap_world.h"

namespace
{

constexpr size_t OBJECT_BYTES = 4096; /* 16 to a page; a slab is good from 4 free ones on */
constexpr size_t PAGE_OBJECTS = 16;
constexpr size_t HEAP_BYTES = (size_t)144 << 10; /* two pages, with the metadata */
constexpr uint64_t OPERATIONS_MAX = 1000;

typedef std::vector<void *> objects;

objects take_all(heap_world *world)
{
    objects taken;
    with_lane([&] {
        while (void *object = heap_malloc(world, OBJECT_BYTES))
            taken.push_back(object);
    });
    return taken;
}

void take_one(heap_world *world)
{
    with_lane([&] { heap_malloc(world, OBJECT_BYTES); });
}

void free_some(heap_world *world, const objects &those, size_t first, size_t count)
{
    with_lane([&] {
        for (size_t i = 0; i < count && first + i < those.size(); i++)
            heap_free(world, those[first + i]);
    });
}

/* No tree of the class has a slab that is in another state: who looks for one would go through those in vain. */
void expect_no_old_hints(heap_world *world)
{
    tn_heap heap = &world->handle.layout;
    uint32_t size_class = tn_heap_class_of(OBJECT_BYTES);
    for (uint32_t state : { (uint32_t)TN_HEAP_STATE_GOOD, (uint32_t)TN_HEAP_STATE_SPARSE }) {
        tn_tree tree = tn_class_tree(heap, size_class, state);
        for (uint32_t page = 0; tn_tree_next(tree, &page, false); page++)
            assert_true(tn_header_is(*tn_header(heap, page), size_class, state));
    }
}

/* Whether the one that frees object `number` came to its n-th operation, where it stood still while the slab around
 * that object went and came back. The first `free_count` objects are free before. */
bool free_is_interrupted(uint64_t n, size_t free_count, size_t freed_after_count)
{
    scoped_world world(HEAP_BYTES, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    objects all = take_all(&world);
    assert_int_equal(all.size(), 2 * PAGE_OBJECTS);
    free_some(&world, all, 0, free_count);

    bool is_over = false;
    with_lane([&] {
        emulation::send_off_unanswered();
        emulation::interrupt_at(n, [&] {
            free_some(&world, all, free_count + 1, PAGE_OBJECTS - free_count - 1);
            objects again = take_all(&world);
            free_some(&world, all, PAGE_OBJECTS, 1);
            take_one(&world);
            free_some(&world, again, 0, freed_after_count);
        });
        heap_free(&world, all[free_count]);
        emulation::stumble();
        is_over = !emulation::was_interrupted();
    });

    tarn_device_heap_stats stats = heap_world_check(&world);
    expect_no_old_hints(&world);
    size_t rest = take_all(&world).size();
    assert_int_equal(stats.double_free_count + stats.foreign_free_count, 0);
    assert_int_equal(stats.live_count + rest, 2 * PAGE_OBJECTS);
    return !is_over;
}

void a_free_may_stand_still_anywhere(void **)
{
    for (size_t free_count = 0; free_count < PAGE_OBJECTS; free_count++)
        for (size_t freed_after_count = 0; freed_after_count <= PAGE_OBJECTS; freed_after_count++) {
            uint64_t n = 1;
            while (free_is_interrupted(n, free_count, freed_after_count))
                n++;
            assert_true(n > 1 && n < OPERATIONS_MAX);
        }
}

/* Likewise, whoever frees an object of two pages, all that the heap has. */
bool large_free_is_interrupted(uint64_t n)
{
    scoped_world world(HEAP_BYTES, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    bool is_over = false;
    objects taken;
    with_lane([&] {
        void *object = heap_malloc(&world, PAGE_OBJECTS * OBJECT_BYTES + 1);
        assert_non_null(object);
        emulation::send_off_unanswered();
        emulation::interrupt_at(n, [&] { taken = take_all(&world); });
        heap_free(&world, object);
        emulation::stumble();
        is_over = !emulation::was_interrupted();
    });
    tarn_device_heap_stats stats = heap_world_check(&world);
    assert_int_equal(stats.live_count, taken.size());
    free_some(&world, taken, 0, taken.size());
    stats = heap_world_check(&world);
    assert_int_equal(stats.live_count + stats.double_free_count + stats.foreign_free_count, 0);
    return !is_over;
}

void a_free_of_a_large_object_may_stand_still_anywhere(void **)
{
    uint64_t n = 1;
    while (large_free_is_interrupted(n))
        n++;
    assert_true(n > 1 && n < OPERATIONS_MAX);
}

/* Takes one object of so many bytes, which is to come from a heap with this many free objects in the first slab and in the
 * second one, and stands still before its n-th operation. Whether it came to that. */
bool malloc_is_interrupted(uint64_t n, size_t size_bytes, size_t first_count, size_t second_count)
{
    scoped_world world(HEAP_BYTES, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    objects all = take_all(&world);
    free_some(&world, all, 0, first_count);
    free_some(&world, all, PAGE_OBJECTS, second_count);

    bool is_over = false;
    void *object = nullptr;
    with_lane([&] {
        emulation::send_off_unanswered();
        emulation::interrupt_at(n, [&] {
            objects more = take_all(&world);
            free_some(&world, more, 0, more.size());
            free_some(&world, all, first_count, PAGE_OBJECTS - first_count);
            objects again = take_all(&world);
            free_some(&world, again, 0, again.size());
        });
        object = heap_malloc(&world, size_bytes);
        emulation::stumble();
        is_over = !emulation::was_interrupted();
    });

    tarn_device_heap_stats stats = heap_world_check(&world);
    assert_int_equal(stats.double_free_count + stats.foreign_free_count, 0);
    assert_int_equal(stats.live_count, PAGE_OBJECTS - second_count +
                                           (is_over ? PAGE_OBJECTS - first_count : 0) +
                                           (object != nullptr ? 1 : 0));
    with_lane([&] { heap_free(&world, object); });
    free_some(&world, all, PAGE_OBJECTS + second_count, PAGE_OBJECTS - second_count);
    if (is_over) free_some(&world, all, first_count, PAGE_OBJECTS - first_count);
    assert_int_equal(heap_world_check(&world).live_count, 0);
    assert_int_equal(take_all(&world).size(), 2 * PAGE_OBJECTS);
    return !is_over;
}

void a_malloc_may_stand_still_anywhere(void **)
{
    const size_t counts[] = { 0, 1, PAGE_OBJECTS / 4, PAGE_OBJECTS };
    for (size_t size_bytes : { OBJECT_BYTES, OBJECT_BYTES / 2, PAGE_OBJECTS * OBJECT_BYTES + 1 })
        for (size_t first_count : counts)
            for (size_t second_count : counts) {
                uint64_t n = 1;
                while (malloc_is_interrupted(n, size_bytes, first_count, second_count))
                    n++;
                assert_true(n > 1 && n < OPERATIONS_MAX);
            }
}

/* A wave of so many lanes, which fill more than a page, makes a slab of its own, and stands still while others take what it
 * leaves and free that; such a slab is there before. Whether it came to its n-th operation. */
bool own_slab_is_interrupted(uint64_t n, uint32_t lane_count)
{
    scoped_world world(2 * HEAP_BYTES, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    objects before(lane_count), taken(lane_count);
    with_waves(1, lane_count, 0,
               [&](uint32_t, uint32_t lane) { before[lane] = heap_malloc(&world, OBJECT_BYTES); });
    bool is_begun = false;
    bool was_interrupted = false;
    with_waves(1, lane_count, 0, [&](uint32_t, uint32_t lane) {
        if (!is_begun) {
            is_begun = true;
            emulation::send_off_unanswered();
            emulation::interrupt_at(n, [&] {
                was_interrupted = true;
                objects rest = take_all(&world);
                free_some(&world, rest, 0, rest.size());
            });
        }
        taken[lane] = heap_malloc(&world, OBJECT_BYTES);
        emulation::stumble();
    });
    tarn_device_heap_stats stats = heap_world_check(&world);
    assert_int_equal(stats.double_free_count + stats.foreign_free_count, 0);
    free_some(&world, before, 0, before.size());
    free_some(&world, taken, 0, taken.size());
    assert_int_equal(heap_world_check(&world).live_count, 0);
    return was_interrupted;
}

void a_slab_of_a_waves_own_may_be_found_at_once(void **)
{
    for (uint32_t lane_count = PAGE_OBJECTS; lane_count <= 2 * PAGE_OBJECTS; lane_count++) {
        uint64_t n = 1;
        while (own_slab_is_interrupted(n, lane_count))
            n++;
        assert_true(n > 1 && n < OPERATIONS_MAX);
    }
}

/* A lane that takes a page stands still before its n-th operation, while others take those of a span and a half. Nobody
 * waits for it, then or later. Whether it came to that. */
bool page_is_interrupted(uint64_t n, size_t pages_before)
{
    constexpr size_t pages_meanwhile = 1 + 64 + 32, pages_after = 65;
    scoped_world world((size_t)28 << 20, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    auto take_pages = [&](size_t count) {
        for (size_t i = 0; i < count; i++)
            assert_non_null(heap_malloc(&world, TARN_DEVICE_HEAP_PAGE_BYTES));
    };
    bool is_over = false;
    with_lane([&] {
        take_pages(pages_before);
        emulation::send_off_unanswered();
        emulation::interrupt_at(n, [&] {
            with_lane([&] {
                uint64_t pauses = emulation::pause_count();
                take_pages(pages_meanwhile);
                assert_int_equal(emulation::pause_count(), pauses);
            });
        });
        take_pages(1);
        emulation::stumble();
        is_over = !emulation::was_interrupted();
    });
    with_lane([&] {
        uint64_t pauses = emulation::pause_count();
        take_pages(pages_after);
        assert_int_equal(emulation::pause_count(), pauses);
    });
    assert_int_equal(heap_world_check(&world).live_count,
                     pages_before + 1 + pages_after + (is_over ? 0 : pages_meanwhile));
    return !is_over;
}

/* A heap that was empty of memory has all of it again; a lane takes most of a span, and stands still before its n-th
 * operation, while another takes and frees pages. Whether it came to that. */
bool search_is_interrupted(uint64_t n)
{
    constexpr size_t page = TARN_DEVICE_HEAP_PAGE_BYTES;
    scoped_world world((size_t)5 << 20, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    bool is_over = false;
    with_lane([&] {
        objects all;
        while (void *object = heap_malloc(&world, page))
            all.push_back(object);
        for (void *object : all)
            heap_free(&world, object);
        emulation::send_off_unanswered();
        emulation::interrupt_at(n, [&] {
            with_lane([&] {
                void *two = heap_malloc(&world, 2 * page), *one = heap_malloc(&world, page);
                heap_free(&world, two);
                heap_free(&world, one);
            });
        });
        assert_non_null(heap_malloc(&world, 30 * page));
        emulation::stumble();
        is_over = !emulation::was_interrupted();
    });
    assert_int_equal(heap_world_check(&world).live_count, 1);
    return !is_over;
}

/* The heap's first slab is used up; its second page is free, or, where the next slab is always prepared, that. A lane takes
 * of it, and stands still before its n-th operation, while another wants the page for another class and has such slabs given
 * back. One of them gets it. Whether it came to that. */
bool refill_is_interrupted(uint64_t n)
{
    scoped_world world(HEAP_BYTES, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    void *other = nullptr, *object = nullptr;
    bool is_over = false;
    with_lane([&] {
        for (size_t i = 0; i < PAGE_OBJECTS; i++)
            assert_non_null(heap_malloc(&world, OBJECT_BYTES));
        emulation::send_off_unanswered();
        emulation::interrupt_at(
            n, [&] { with_lane([&] { other = heap_malloc(&world, 2 * OBJECT_BYTES); }); });
        object = heap_malloc(&world, OBJECT_BYTES);
        emulation::stumble();
        is_over = !emulation::was_interrupted();
    });
    assert_true(object != nullptr || other != nullptr);
    assert_int_equal(heap_world_check(&world).live_count,
                     PAGE_OBJECTS + (object != nullptr) + (other != nullptr));
    with_lane([&] {
        heap_free(&world, object);
        heap_free(&world, other);
    });
    assert_int_equal(take_all(&world).size(), PAGE_OBJECTS);
    return !is_over;
}

void who_refills_a_slot_may_stand_still_anywhere(void **)
{
    uint64_t n = 1;
    while (refill_is_interrupted(n))
        n++;
    assert_true(n > 1 && n < OPERATIONS_MAX);
}

void who_looks_for_a_span_may_stand_still_anywhere(void **)
{
    uint64_t n = 1;
    while (search_is_interrupted(n))
        n++;
    assert_true(n > 1 && n < OPERATIONS_MAX);
}

void who_takes_a_page_may_stand_still_anywhere(void **)
{
    for (size_t pages_before : { (size_t)0, (size_t)63, (size_t)64 }) {
        uint64_t n = 1;
        while (page_is_interrupted(n, pages_before))
            n++;
        assert_true(n > 1 && n < OPERATIONS_MAX);
    }
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_may_stand_still_anywhere),
        cmocka_unit_test(a_free_of_a_large_object_may_stand_still_anywhere),
        cmocka_unit_test(a_slab_of_a_waves_own_may_be_found_at_once),
        cmocka_unit_test(a_malloc_may_stand_still_anywhere),
        cmocka_unit_test(who_takes_a_page_may_stand_still_anywhere),
        cmocka_unit_test(who_looks_for_a_span_may_stand_still_anywhere),
        cmocka_unit_test(who_refills_a_slot_may_stand_still_anywhere),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
