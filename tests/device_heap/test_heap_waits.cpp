/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A wave whose slot another wave is at work on: what it does meanwhile, and how long it waits; and one whose slot is not
 * what it was. */
#include "heap_world.h"

#include <set>

#include "tarn/device_heap/bits.cuh"

namespace
{

constexpr size_t MIB = (size_t)1 << 20;
constexpr uint32_t LANES = 32;

/* All slots of a class. */
void set_slots(tn_heap heap, uint32_t size_class, uint32_t content)
{
    for (uint32_t i = 0; i < tn_heap_class_slots(size_class, heap->slot_count); i++)
        tn_store(tn_slot(heap, size_class, i), content);
}

bool has_filled_slot(tn_heap heap, uint32_t size_class)
{
    bool has = false;
    for (uint32_t i = 0; i < tn_heap_class_slots(size_class, heap->slot_count); i++)
        has |= tn_place_holds(tn_load(tn_slot(heap, size_class, i)));
    return has;
}

uint32_t asked_of_slots(tn_heap heap, uint32_t size_class)
{
    uint32_t asked = 0;
    for (uint32_t i = 0; i < tn_heap_class_slots(size_class, heap->slot_count); i++)
        asked += tn_place_demand(tn_slot(heap, size_class, i)).asked;
    return asked;
}

constexpr size_t FIRST_BYTES = 64,
                 SECOND_BYTES = 256; /* what every other lane of a wave wants, and each other one */

/* A heap in which all slots of the first size are busy, and what a wave has got of it. */
struct busy_heap {
    heap_world world;
    tn_heap heap;
    uint32_t first, second; /* size classes */
    void *objects[LANES];
};

void busy_heap_init(busy_heap *busy)
{
    heap_world_init(&busy->world, 64 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    busy->heap = &busy->world.handle.layout;
    busy->first = tn_heap_class_of(FIRST_BYTES);
    busy->second = tn_heap_class_of(SECOND_BYTES);
    set_slots(busy->heap, busy->first, TN_PLACE_BUSY);
}

/* Each lane has got an object, and gives it back. No slot may be busy any more. */
void busy_heap_fini(busy_heap *busy)
{
    std::set<void *> different(busy->objects, busy->objects + LANES);
    assert_int_equal(different.size(), LANES);
    assert_int_equal(different.count(nullptr), 0);
    with_waves(1, LANES, 1,
               [&](uint32_t, uint32_t lane) { heap_free(&busy->world, busy->objects[lane]); });
    assert_int_equal(heap_world_check(&busy->world).live_count, 0);
    heap_world_fini(&busy->world);
}

/* Runs a wave, does `on_first_pause` when it pauses for the first time, and gives how often its lanes have. */
uint64_t busy_heap_run(busy_heap *busy, const std::function<void()> &on_first_pause)
{
    uint64_t pauses = 0;
    std::thread thread([&] {
        bool has_paused = false;
        emulation::on_pause([&] {
            if (!has_paused) on_first_pause();
            has_paused = true;
        });
        emulation::run_wave(0, LANES, 1, [&](uint32_t lane) {
            size_t size_bytes = lane % 2 == 0 ? FIRST_BYTES : SECOND_BYTES;
            busy->objects[lane] = heap_malloc(&busy->world, size_bytes);
        });
        pauses = emulation::pause_count();
    });
    thread.join();
    return pauses;
}

/* Lanes with another size have filled their slot before anybody waits: on some devices a lane that waits holds up all of its
 * wave, and whoever waits for what that wave has claimed. What it waits for it has asked for once. */
void others_of_a_wave_that_waits_go_on(void **)
{
    busy_heap busy;
    busy_heap_init(&busy);
    bool has_filled = false;
    uint32_t asked = 0;
    uint64_t pauses = busy_heap_run(&busy, [&] {
        has_filled = has_filled_slot(busy.heap, busy.second);
        asked = asked_of_slots(busy.heap, busy.first);
        set_slots(busy.heap, busy.first, TN_PLACE_EMPTY);
    });
    assert_true(has_filled);
    assert_int_equal(asked, LANES / 2);
    assert_in_range(pauses, 1, LANES);
    busy_heap_fini(&busy);
}

/* Nobody depends on a wave that does not go on. */
void who_has_waited_long_makes_a_slab_of_its_own(void **)
{
    busy_heap busy;
    busy_heap_init(&busy);
    uint64_t pauses = busy_heap_run(&busy, [] {});
    assert_int_equal(pauses, (uint64_t)TN_PLACE_PAUSES * LANES);
    assert_false(has_filled_slot(busy.heap, busy.first));
    set_slots(busy.heap, busy.first, TN_PLACE_EMPTY);
    busy_heap_fini(&busy);
}

/* Both sizes wait, for different slots, and the one that is free first goes on first. */
void a_wave_wakes_up_for_the_first_slot_that_is_free(void **)
{
    busy_heap busy;
    busy_heap_init(&busy);
    set_slots(busy.heap, busy.second, TN_PLACE_BUSY);
    uint64_t pauses =
        busy_heap_run(&busy, [&] { set_slots(busy.heap, busy.second, TN_PLACE_EMPTY); });
    assert_int_equal(pauses, (uint64_t)TN_PLACE_PAUSES * LANES);
    assert_true(has_filled_slot(busy.heap, busy.second));
    assert_int_equal(asked_of_slots(busy.heap, busy.first), LANES / 2);
    set_slots(busy.heap, busy.first, TN_PLACE_EMPTY);
    busy_heap_fini(&busy);
}

/* Takes all memory in objects of 4 KiB, and frees every other one. */
void fill_with_others(heap_world *world, std::vector<void *> *others)
{
    emulation::run_wave(1, 1, 0, [&](uint32_t) {
        std::vector<void *> objects;
        for (void *object; (object = heap_malloc(world, 4096)) != nullptr;)
            objects.push_back(object);
        for (size_t i = 0; i < objects.size(); i++) {
            if (i % 2 == 0)
                others->push_back(objects[i]);
            else
                heap_free(world, objects[i]);
        }
    });
}

/* A lane stands still between its look at the slot and its addition to the slab there, which is another size's by then. */
void a_slab_of_another_size_gives_nothing(void **)
{
    scoped_world world(2 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    std::vector<void *> others;
    void *object = nullptr;
    bool was_interrupted = false;
    std::thread thread([&] {
        emulation::run_wave(0, 1, 0, [&](uint32_t) {
            heap_free(&world, heap_malloc(&world, 64));
            emulation::interrupt_at(2, [&] { fill_with_others(&world, &others); });
            object = heap_malloc(&world, 64);
            was_interrupted = emulation::was_interrupted();
        });
    });
    thread.join();
    assert_true(was_interrupted);
    assert_true(others.size() > 16);
    heap_world_check(&world);
    with_lane([&] {
        assert_int_equal(tarn_dsize(world.handle, object), object != nullptr ? 64 : 0);
        for (void *other : others)
            assert_int_equal(tarn_dsize(world.handle, other), 4096);
        heap_free(&world, object);
        for (void *other : others)
            heap_free(&world, other);
    });
    assert_int_equal(heap_world_check(&world).live_count, 0);
}

void the_nth_one_is_found_in_a_row_or_not(void **)
{
    uint64_t words[] = { 1,
                         3,
                         ~(uint64_t)0,
                         (uint64_t)1 << 63,
                         (uint64_t)3 << 62,
                         0xFFFFFFFF00000000,
                         0x00FFFFFF00000000,
                         0x5555555555555555,
                         0x80000000FFFFFFFF,
                         0xF00000000000000F,
                         0x123456789ABCDEF0 };
    for (uint64_t word : words)
        for (uint32_t place = 0, n = 0; place < 64; place++)
            if ((word >> place & 1) != 0) assert_int_equal(tn_nth_one(word, n++), place);
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(others_of_a_wave_that_waits_go_on),
        cmocka_unit_test(who_has_waited_long_makes_a_slab_of_its_own),
        cmocka_unit_test(a_wave_wakes_up_for_the_first_slot_that_is_free),
        cmocka_unit_test(a_slab_of_another_size_gives_nothing),
        cmocka_unit_test(the_nth_one_is_found_in_a_row_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
