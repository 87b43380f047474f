/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What one lane or one wave gets of a device heap and gives back: sizes, limits, bad frees, growth. */
#include "heap_world.h"

#include <string.h>

#include <algorithm>
#include <set>

namespace
{

constexpr size_t MIB = (size_t)1 << 20;

void every_size_is_served(void **)
{
    scoped_world world(64 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    with_lane([&] {
        for (size_t edge = 16; edge <= 16 * MIB; edge *= 2)
            for (size_t size = edge - 1; size <= edge + 1; size++) {
                char *object = (char *)heap_malloc(&world, size);
                assert_non_null(object);
                assert_int_equal((uintptr_t)object % 16, 0);
                assert_true(tarn_dsize(world.handle, object) >= size);
                memset(object, 1, size);
                heap_free(&world, object);
                assert_int_equal(tarn_dsize(world.handle, object), 0);
            }
    });
    tarn_device_heap_stats stats = heap_world_check(&world);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(stats.failed_count + stats.double_free_count + stats.foreign_free_count, 0);
}

void sizes_are_rounded_by_less_than_a_quarter(void **)
{
    for (uint32_t size = 1; size <= TN_HEAP_OBJECT_MAX; size++) {
        uint32_t size_class = tn_heap_class_of(size);
        uint32_t bytes = tn_heap_class_bytes(size_class);
        assert_true(bytes >= size && bytes % 16 == 0 && size_class < TN_HEAP_CLASS_COUNT);
        assert_true(size_class == 0 || tn_heap_class_bytes(size_class - 1) < size);
        if (size > 64) assert_true((bytes - size) * 4 < size);
        uint32_t page_bytes = (uint32_t)TN_HEAP_PAGE_BYTES;
        uint32_t slab_bytes = tn_heap_class_unit_pages(size_class) * page_bytes;
        assert_true(slab_bytes % bytes * 64 <= slab_bytes);
        assert_int_equal(slab_bytes == page_bytes, page_bytes % bytes * 64 <= page_bytes);
    }
}

/* The quotients only grow, so all are right where they are right at both ends of each object. */
void numbers_of_objects_are_quotients(void **)
{
    const uint32_t span_bytes = TN_HEAP_SPAN_PAGES * (uint32_t)TN_HEAP_PAGE_BYTES;
    for (uint32_t size_class = 0; size_class < TN_HEAP_CLASS_COUNT; size_class++) {
        uint32_t bytes = tn_heap_class_bytes(size_class);
        for (uint32_t i = 0; i < span_bytes / bytes; i++) {
            if (tn_heap_class_index(size_class, i * bytes) == i &&
                tn_heap_class_index(size_class, i * bytes + bytes - 1) == i)
                continue;
            fail_msg("object %u of class %u", i, size_class);
        }
    }
}

void what_cannot_be_is_null(void **)
{
    scoped_world world(8 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_CONTENTS);
    with_lane([&] {
        assert_null(heap_malloc(&world, 0));
        assert_null(tarn_dmalloc_wave(world.handle, 0));
        for (size_t size : { 8 * MIB, (size_t)1 << 40, ((size_t)1 << 40) + 1, SIZE_MAX - 16,
                             SIZE_MAX - 1, SIZE_MAX }) {
            assert_null(heap_malloc(&world, size));
            assert_null(tarn_dmalloc_wave(world.handle, size));
        }
    });
    assert_int_equal(heap_world_check(&world).failed_count, 12);
}

void bad_frees_are_counted_and_change_nothing(void **)
{
    char elsewhere[16];
    scoped_world world(16 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    with_lane([&] {
        char *object = (char *)heap_malloc(&world, 100);
        char *run = (char *)heap_malloc(&world, 3 * TARN_DEVICE_HEAP_PAGE_BYTES);
        char *large = (char *)heap_malloc(&world, 5 * MIB);
        heap_free(&world, nullptr);
        for (char *bad :
             { elsewhere, object + 1, object + 16, run + 16, run + TARN_DEVICE_HEAP_PAGE_BYTES,
               large + MIB, large + 4 * MIB + 65536 }) {
            heap_free(&world, bad);
            assert_int_equal(tarn_dsize(world.handle, bad), 0);
        }
        assert_false(tarn_downs(world.handle, elsewhere));
        assert_true(tarn_downs(world.handle, object + 1));
        assert_true(tarn_dsize(world.handle, object) >= 100);
        for (char *once : { object, run, large }) {
            heap_free(&world, once);
            heap_free(&world, once);
        }
    });
    tarn_device_heap_stats stats = heap_world_check(&world);
    assert_int_equal(stats.foreign_free_count + stats.double_free_count, 7 + 3);
    assert_true(stats.double_free_count >= 1);
    assert_int_equal(stats.live_count, 0);
}

void lanes_that_free_the_same_object_free_it_once(void **)
{
    void *object = nullptr;
    scoped_world world(8 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    with_lane([&] { object = heap_malloc(&world, 64); });
    with_waves(1, 32, 1, [&](uint32_t, uint32_t) { heap_free(&world, object); });
    tarn_device_heap_stats stats = heap_world_check(&world);
    assert_int_equal(stats.double_free_count, 31);
    assert_int_equal(stats.live_count, 0);
}

void a_damaged_end_is_counted(void **)
{
    scoped_world world(8 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_CONTENTS);
    with_lane([&] {
        for (size_t size : { (size_t)1, (size_t)100, (size_t)65536, (size_t)200000 }) {
            char *object = (char *)heap_malloc(&world, size);
            assert_int_equal(tarn_dsize(world.handle, object), size);
            memset(object, 0, size);
            heap_free(&world, object);
            assert_int_equal(tarn_dsize(world.handle, object), 0);
        }
        assert_int_equal(heap_world_check(&world).damaged_free_count, 0);
        for (size_t size : { (size_t)1, (size_t)100, (size_t)65536, (size_t)200000 }) {
            char *object = (char *)heap_malloc(&world, size);
            assert_int_equal((unsigned char)object[0], TN_POISON_TAKEN);
            memset(object, 0, size + 1);
            heap_free(&world, object);
        }
    });
    tarn_device_heap_stats stats = heap_world_check(&world);
    assert_int_equal(stats.damaged_free_count, 4);
    assert_int_equal(stats.live_count, 0);
}

void the_largest_object_is_what_the_statistics_say(void **)
{
    for (auto checks : { TARN_DEVICE_HEAP_CHECKS_FREES, TARN_DEVICE_HEAP_CHECKS_CONTENTS })
        for (size_t heap_bytes : { MIB, 8 * MIB, 20 * MIB }) {
            scoped_world world(heap_bytes, 0, checks);
            size_t largest = heap_world_check(&world).largest_free_bytes;
            with_lane([&] {
                assert_null(heap_malloc(&world, largest + 1));
                void *object = heap_malloc(&world, largest);
                assert_non_null(object);
                assert_int_equal(tarn_dsize(world.handle, object), largest);
            });
        }
}

bool is_of_one_page(size_t size_bytes)
{
    return size_bytes <= TN_HEAP_OBJECT_MAX &&
           tn_heap_class_unit_pages(tn_heap_class_of((uint32_t)size_bytes)) == 1;
}

/* Takes objects until there are none, and gives how many there were. */
size_t exhaust(heap_world *world, size_t size_bytes, std::vector<void *> *objects)
{
    size_t count = 0;
    while (void *object = heap_malloc(world, size_bytes)) {
        objects->push_back(object);
        count++;
    }
    return count;
}

void a_full_heap_recovers_whole(void **)
{
    scoped_world world(32 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    size_t capacity = heap_world_check(&world).capacity_bytes;
    with_lane([&] {
        for (size_t size : { (size_t)64, (size_t)1024, (size_t)3000, (size_t)24576, (size_t)65536,
                             16 * (size_t)65536 }) {
            std::vector<void *> objects;
            size_t first = exhaust(&world, size, &objects);
            size_t object_bytes = tarn_dsize(world.handle, objects[0]);
            /* Slabs and runs of several pages leave some at the end of each span. */
            assert_true(first * object_bytes * 100 >= capacity * (is_of_one_page(size) ? 98 : 85));
            assert_int_equal(std::set<void *>(objects.begin(), objects.end()).size(), first);
            for (void *object : objects)
                heap_free(&world, object);
            objects.clear();
            assert_true(exhaust(&world, size, &objects) >= first);
            for (void *object : objects)
                heap_free(&world, object);
        }
        void *all = heap_malloc(&world, capacity / (4 * MIB) * (4 * MIB));
        assert_non_null(all);
        heap_free(&world, all);
    });
    assert_int_equal(heap_world_check(&world).live_count, 0);
}

void one_free_object_among_many_is_found(void **)
{
    scoped_world world(4 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    with_lane([&] {
        std::vector<void *> objects;
        exhaust(&world, 32, &objects);
        for (size_t i = 0; i < objects.size(); i += objects.size() / 50) {
            heap_free(&world, objects[i]);
            assert_ptr_equal(heap_malloc(&world, 32), objects[i]);
            assert_null(heap_malloc(&world, 32));
        }
    });
    heap_world_check(&world);
}

void slabs_of_another_class_give_way(void **)
{
    scoped_world world(4 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    with_lane([&] {
        std::vector<void *> objects;
        for (size_t size = 16; size <= 65536; size *= 2) {
            exhaust(&world, size, &objects);
            for (void *object : objects)
                heap_free(&world, object);
            objects.clear();
        }
        for (size_t i = 0; i < 100; i++) {
            void *run = heap_malloc(&world, 3 * MIB);
            assert_non_null(run);
            heap_free(&world, run);
        }
    });
    assert_int_equal(heap_world_check(&world).used_bytes, 0);
}

/* In one wave after the other; wave numbers choose slots and cursors. */
void *malloc_in_wave(heap_world *world, uint32_t wave, size_t size_bytes)
{
    void *object = nullptr;
    std::thread thread([&] {
        emulation::run_wave(wave, 1, 0, [&](uint32_t) { object = heap_malloc(world, size_bytes); });
    });
    thread.join();
    return object;
}

/* What one slot has, and what is prepared for it, is had by who comes to another one. */
void waves_of_other_slots_get_what_is_left(void **)
{
    constexpr size_t size_bytes = 4096, of_a_page = 16;
    std::vector<char *> all;
    scoped_world world(16 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    while (void *object = malloc_in_wave(&world, 0, size_bytes))
        all.push_back((char *)object);
    std::set<uintptr_t> pages;
    for (char *object : all) {
        bool is_one_of_two = pages.size() < 2 || pages.count((uintptr_t)object / 65536) != 0;
        if (!is_one_of_two || (uintptr_t)object % 65536 >= 65536 / of_a_page * 4) continue;
        pages.insert((uintptr_t)object / 65536);
        with_lane([&] { heap_free(&world, object); });
    }
    assert_int_equal(pages.size(), 2);
    assert_non_null(malloc_in_wave(&world, 0, size_bytes));
    for (int left = 7; left > 0; left--)
        assert_non_null(malloc_in_wave(&world, 1, size_bytes));
    assert_null(malloc_in_wave(&world, 1, size_bytes));
    heap_world_check(&world);
}

/* A slab that was prepared for a slot and that nobody has used is no page lost. */
void what_is_prepared_for_one_class_another_gets(void **)
{
    scoped_world world(8 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    size_t page_count = heap_world_check(&world).capacity_bytes / TARN_DEVICE_HEAP_PAGE_BYTES;
    assert_non_null(malloc_in_wave(&world, 0, 48));
    size_t count = 0;
    while (malloc_in_wave(&world, 0, 65536) != nullptr)
        count++;
    assert_int_equal(count, page_count - 1);
    heap_world_check(&world);
}

/* Runs of pages of every length, in a heap that is full in the end: what one length leaves another gets. */
void no_page_is_lost_to_lengths_that_differ(void **)
{
    scoped_world world(40 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    size_t page_count = heap_world_check(&world).capacity_bytes / TARN_DEVICE_HEAP_PAGE_BYTES;
    std::vector<void *> taken;
    size_t used = 0;
    for (size_t length = 63; length > 0;) {
        void *object = malloc_in_wave(&world, (uint32_t)used, length * TARN_DEVICE_HEAP_PAGE_BYTES);
        if (object == nullptr) {
            length--;
            continue;
        }
        taken.push_back(object);
        used += length;
        if (length > 1 && taken.size() % 2 == 0) length--;
    }
    assert_int_equal(used, page_count);
    heap_world_check(&world);
    for (void *object : taken)
        with_lane([&] { heap_free(&world, object); });
    tarn_device_heap_stats stats = heap_world_check(&world);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(stats.free_page_count, page_count);
}

uint32_t span_of(const heap_world &world, const void *object)
{
    return tn_page_of(&world.handle.layout, (uint64_t)(uintptr_t)object) / TN_HEAP_SPAN_PAGES;
}

/* Pages for waves of all cursors; gives the last span that has one. */
uint32_t take_pages(heap_world *world, size_t count, std::vector<void *> *taken)
{
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++) {
        void *page = malloc_in_wave(world, (uint32_t)i, TARN_DEVICE_HEAP_PAGE_BYTES);
        assert_non_null(page);
        taken->push_back(page);
        last = std::max(last, span_of(*world, page));
    }
    return last;
}

/* Cursors go through the spans together, and return when a quarter of what they went through is free again. */
void pages_lie_in_the_first_spans(void **)
{
    constexpr size_t span_pages = TN_HEAP_SPAN_PAGES;
    scoped_world world(128 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    std::vector<void *> taken;
    assert_int_equal(take_pages(&world, 20 * span_pages, &taken), 19);
    with_lane([&] {
        for (size_t i = 0; i < 8 * span_pages; i++)
            heap_free(&world, taken[i]);
    });
    taken.erase(taken.begin(), taken.begin() + 8 * span_pages);
    assert_in_range(take_pages(&world, 8 * span_pages, &taken), 0,
                    20); /* one part on before they return */
    assert_int_equal(heap_world_check(&world).live_count, 20 * span_pages);
}

/* Tickets and returns are numbers of 32 bits. When those run out pages are found all the same, each once. */
void counts_of_cursors_may_run_out(void **)
{
    const uint64_t words[] = { 0xFFFFFFFF00000000U, 0xFFFFFFFFFFFFFFF0U, 0x00000000FFFFFFF0U,
                               0xFFFFFFFF00000400U };
    for (uint64_t word : words) {
        scoped_world world(64 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
        tn_heap heap = &world.handle.layout;
        size_t page_count = heap_world_check(&world).capacity_bytes / TARN_DEVICE_HEAP_PAGE_BYTES;
        assert_true(heap->cursor_count > 1);
        for (uint32_t i = 0; i < heap->cursor_count; i++)
            *tn_cursor(heap, i) = word;
        for (int round = 0; round < 3; round++) {
            std::vector<void *> taken;
            take_pages(&world, page_count, &taken);
            assert_null(malloc_in_wave(&world, 1, TARN_DEVICE_HEAP_PAGE_BYTES));
            assert_int_equal(heap_world_check(&world).live_count, page_count);
            with_lane([&] {
                for (void *page : taken)
                    heap_free(&world, page);
            });
            assert_int_equal(heap_world_check(&world).free_page_count, page_count);
        }
    }
}

/* Where a page is used by who has nothing else to do with its span, too. */
void a_span_that_is_used_up_is_not_said_to_be_open(void **)
{
    scoped_world world(16 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    uint64_t page_count = heap_world_check(&world).free_page_count;
    with_lane([&] {
        for (uint64_t i = 0; i < page_count; i++)
            assert_non_null(heap_malloc(&world, TARN_DEVICE_HEAP_PAGE_BYTES));
    });
    tn_tree open = tn_open_spans(&world.handle.layout);
    for (uint32_t i = 0; i < open.shape->words[0]; i++)
        assert_int_equal(open.words[i], 0);
}

/* Slabs become sparse, good and free pages again: trees, and what is above their words, name none of them then. */
void slabs_that_are_free_leave_no_hint(void **)
{
    scoped_world world(64 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    tn_heap heap = &world.handle.layout;
    const uint32_t size_class = tn_heap_class_of(1024);
    uint64_t hints = 0;
    with_lane([&] {
        std::vector<void *> objects(20000);
        for (void *&object : objects)
            assert_non_null(object = heap_malloc(&world, 1024));
        for (void *object : objects) {
            heap_free(&world, object);
            hints |= tn_class_tree(heap, size_class, TN_HEAP_STATE_GOOD).words[0];
        }
    });
    assert_int_not_equal(hints, 0);
    for (uint32_t state : { TN_HEAP_STATE_GOOD, TN_HEAP_STATE_SPARSE }) {
        tn_tree tree = tn_class_tree(heap, size_class, state);
        const uint32_t *words = tree.shape->words;
        for (uint32_t i = 0; i < words[0] + words[1] + words[2]; i++)
            assert_int_equal(tree.words[i], 0);
    }
}

/* From 4 GiB on. Each wave goes to a slot of its own, as long as the class has as many. */
void large_heaps_have_more_slots_for_some_sizes(void **)
{
    constexpr uint32_t some = TN_HEAP_SLOTS_SOME, all = TN_HEAP_SLOTS_MAX;
    struct {
        uint32_t size_bytes, slots;
    } const classes[] = { { 16, some },   { 256, some },  { 257, all },  { 1024, all },
                          { 1025, some }, { 4096, some }, { 4097, all }, { 32768, all } };
    scoped_world world(4096 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    tn_heap heap = &world.handle.layout;
    assert_int_equal(heap->slot_count, all);
    std::vector<void *> objects;
    for (const auto &its : classes) {
        uint32_t size_class = tn_heap_class_of(its.size_bytes), filled = 0;
        for (uint32_t wave = 0; wave < 2 * all; wave++)
            objects.push_back(malloc_in_wave(&world, wave, its.size_bytes));
        const uint32_t *slots = tn_slot(heap, size_class, 0);
        for (uint32_t i = 0; i < all; i++)
            if (tn_place_holds(slots[i * TN_HEAP_PLACE_WORDS])) filled++;
        assert_int_equal(filled, its.slots);
    }
    assert_int_equal(heap_world_check(&world).live_count, objects.size());
    with_lane([&] {
        for (void *object : objects)
            heap_free(&world, object);
    });
    /* All slabs that are free leave their slots for one object of all spans. */
    size_t span_bytes = TN_HEAP_SPAN_PAGES * TN_HEAP_PAGE_BYTES;
    with_lane([&] {
        void *object =
            heap_malloc(&world, heap->first_region.page_count / TN_HEAP_SPAN_PAGES * span_bytes);
        assert_non_null(object);
        heap_free(&world, object);
    });
    assert_int_equal(heap_world_check(&world).live_count, 0);
}

/* When there is no page left, also what is in the last of many slots is had by a wave that comes to another. */
void waves_of_other_slots_get_what_is_left_in_large_heaps(void **)
{
    scoped_world world(4096 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    std::vector<void *> objects;
    objects.push_back(malloc_in_wave(&world, TN_HEAP_SLOTS_MAX - 1, 1024));
    for (size_t size_bytes = 2048 * MIB; size_bytes >= TN_HEAP_PAGE_BYTES; size_bytes /= 2)
        while (void *object = malloc_in_wave(&world, 0, size_bytes))
            objects.push_back(object);
    assert_int_equal(heap_world_check(&world).free_page_count, 0);
    size_t count = 0;
    while (void *object = malloc_in_wave(&world, 0, 1024)) {
        objects.push_back(object);
        count++;
    }
    assert_int_equal(count, TN_HEAP_PAGE_BYTES / 1024 - 1);
    with_lane([&] {
        for (void *object : objects)
            heap_free(&world, object);
    });
    assert_int_equal(heap_world_check(&world).live_count, 0);
}

/* As many words for pages that came back as the plan has room for, apart from each other and from tickets. */
void counts_of_cursors_lie_apart(void **)
{
    for (size_t size_bytes : { MIB, 512 * MIB }) {
        scoped_world world(size_bytes, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
        tn_heap heap = &world.handle.layout;
        std::set<uint64_t *> words;
        for (uint32_t i = 0; i < heap->cursor_count; i++)
            words.insert(tn_cursor(heap, i));
        for (uint32_t i = 0; i < heap->cursor_count * TN_HEAP_CURSOR_FREED_LINES; i++)
            words.insert(tn_cursors_freed_word(tn_cursor(heap, 0), i));
        assert_int_equal(words.size(), heap->cursor_count * TN_HEAP_CURSOR_LINES);
        uint64_t *last = tn_cursor(heap, heap->cursor_count) - TN_HEAP_CURSOR_LINE_WORDS;
        assert_ptr_equal(*words.begin(), tn_cursor(heap, 0));
        assert_ptr_equal(*words.rbegin(), last);
    }
}

/* A cursor that comes to no span before another one does looks back all the same: pages that come and go stay in front. */
void a_cursor_looks_back_in_spans_that_others_use(void **)
{
    scoped_world world(512 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    tn_heap heap = &world.handle.layout;
    assert_true(heap->cursor_count > 1);
    with_lane([&] {
        for (uint32_t i = 0; i < 32 * TN_CURSOR_PART_PAGES; i++)
            assert_int_not_equal(tn_pages_take(heap, 1, 0), TN_NO_PAGE);
        uint32_t last = 0;
        for (uint32_t i = 0; i < 32 * TN_CURSOR_PART_PAGES; i++) {
            uint32_t page = tn_pages_take(heap, 1, 1);
            tn_pages_put(heap, page, 1);
            last = std::max(last, page);
        }
        assert_true(last < 2 * heap->cursor_count * TN_CURSOR_PART_PAGES);
    });
}

/* Somebody has pages of a span that the tree still has: of what it lost there, the lane tells no more than it knows. */
void who_loses_spans_looks_past_those_of_a_wave(void **)
{
    constexpr uint32_t run = 2;
    scoped_world world(512 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    tn_heap heap = &world.handle.layout;
    with_lane([&] {
        uint32_t lost = 0, got = 0;
        assert_true(tn_spans_find(heap, run, &lost));
        tn_store(tn_span_pages(heap, lost), (uint64_t)0);
        assert_true(tn_spans_take(heap, run, 0, &got));
        tn_move_end(heap);
        assert_int_equal(got, lost + TN_SPANS_RUNS_APART * run);
        uint32_t found = 0;
        assert_true(tn_spans_find(heap, 1, &found));
        assert_int_equal(found, lost + 1);
        tn_spans_put(heap, got, run);
        tn_spans_put(heap, lost, 1);
    });
    heap_world_check(&world);
}

/* Pages come and go, eight at a time, and one in 64 stays: those that stay must not each keep a span open. */
void a_few_pages_that_stay_leave_spans_free(void **)
{
    constexpr size_t live_max = 8, rounds = 4096;
    scoped_world world(64 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    with_lane([&] {
        void *live[live_max] = {};
        for (size_t i = 0; i < rounds; i++) {
            void *object = heap_malloc(&world, TARN_DEVICE_HEAP_PAGE_BYTES);
            assert_non_null(object);
            if (i % 64 == 5) continue;
            heap_free(&world, live[i % live_max]);
            live[i % live_max] = object;
        }
        for (void *object : live)
            heap_free(&world, object);
    });
    tarn_device_heap_stats stats = heap_world_check(&world);
    assert_int_equal(stats.live_count, rounds / 64);
    assert_true(stats.free_span_count >= 8);
    with_lane([&] { assert_non_null(heap_malloc(&world, 8 * MIB)); });
}

/* There are free pages and no two in a row: an object of a class that has slabs of several pages, to waste less, gets one. */
void a_small_object_fits_where_a_page_is_free(void **)
{
    for (size_t size_bytes : { (size_t)2500, (size_t)5000, (size_t)20000, (size_t)40000 }) {
        scoped_world world(5 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
        std::vector<void *> pages, objects;
        with_lane([&] {
            exhaust(&world, TARN_DEVICE_HEAP_PAGE_BYTES, &pages);
            for (size_t i = 0; i < pages.size(); i += 2)
                heap_free(&world, pages[i]);
            size_t count = exhaust(&world, size_bytes, &objects);
            assert_in_range(count, (pages.size() + 1) / 2, SIZE_MAX);
        });
        assert_int_equal(heap_world_check(&world).free_page_count, 0);
        with_lane([&] {
            for (void *object : objects)
                heap_free(&world, object);
        });
        heap_world_check(&world);
    }
}

/* Spans that have something of 60 MiB of objects. */
size_t spans_of_live(heap_world *world, size_t size_bytes)
{
    std::vector<void *> objects;
    with_lane([&] {
        for (size_t bytes = 0; bytes < 60 * MIB; bytes += size_bytes)
            objects.push_back(heap_malloc(world, size_bytes));
    });
    tarn_device_heap_stats stats = heap_world_check(world);
    with_lane([&] {
        for (void *object : objects)
            heap_free(world, object);
    });
    return stats.span_bytes / (4 * MIB);
}

/* Only objects of many pages come and go, until all that there is was used: those that come next take no more spans than
 * in a new heap. */
void large_objects_lie_in_the_first_spans_again(void **)
{
    for (size_t size_bytes : { MIB, 2 * MIB, 17 * (size_t)TARN_DEVICE_HEAP_PAGE_BYTES }) {
        scoped_world world(260 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
        size_t span_count = spans_of_live(&world, size_bytes);
        for (int round = 0; round < 4; round++) {
            std::vector<void *> objects;
            with_lane([&] {
                exhaust(&world, size_bytes, &objects);
                for (void *object : objects)
                    heap_free(&world, object);
            });
            assert_in_range(spans_of_live(&world, size_bytes), 15, span_count + 2);
        }
    }
}

/* Slots are filled with good slabs for long, while waves ask: what they asked for then was served, and no new slab is
 * made for it. */
void what_was_served_is_not_asked_for_again(void **)
{
    constexpr size_t size_bytes = 1024, count = 64 * 40;
    scoped_world world(64 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    with_lane([&] {
        std::vector<void *> objects(count);
        uint32_t *slot = tn_slot(&world.handle.layout, tn_heap_class_of(size_bytes), 0);
        for (void *&object : objects)
            object = heap_malloc(&world, size_bytes);
        for (int round = 0; round < 100; round++) {
            for (size_t i = 0; i < count; i += 2)
                heap_free(&world, objects[i]);
            tn_place_ask(slot, 64); /* as waves do that wait for the slot */
            for (size_t i = 0; i < count; i += 2)
                objects[i] = heap_malloc(&world, size_bytes);
        }
        uint64_t free_page_count = heap_world_check(&world).free_page_count;
        for (int i = 0; i < 128; i++)
            assert_non_null(heap_malloc(&world, size_bytes));
        assert_in_range(heap_world_check(&world).free_page_count, free_page_count - 16,
                        free_page_count);
    });
}

void memory_that_is_added_is_used(void **)
{
    scoped_world world(2 * MIB, 64 * MIB, TARN_DEVICE_HEAP_CHECKS_FREES);
    std::vector<void *> objects;
    size_t before = 0, after = 0;
    with_lane([&] { before = exhaust(&world, 4096, &objects); });
    for (int i = 0; i < 3; i++)
        expect_ok(tarn_device_heap_add(world.heap, 5 * MIB, world.stream));
    heap_world_wait(&world);
    with_lane([&] {
        after = exhaust(&world, 4096, &objects);
        assert_true(after * 4096 >= 14 * MIB);
        for (void *object : objects) {
            assert_true(tarn_dsize(world.handle, object) == 4096);
            heap_free(&world, object);
        }
        assert_non_null(heap_malloc(&world, 4 * MIB));
        assert_null(heap_malloc(&world, 6 * MIB)); /* pieces do not touch each other */
    });
    assert_int_equal(heap_world_check(&world).live_count, 1);
    assert_true(before > 0);
}

void a_wave_gets_objects_side_by_side(void **)
{
    scoped_world world(16 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    for (uint32_t lanes : { 2U, 32U, 64U })
        for (size_t size :
             { (size_t)16, (size_t)200, (size_t)4096, (size_t)40000, (size_t)70000 }) {
            std::vector<void *> objects(lanes);
            with_waves(1, lanes, size, [&](uint32_t, uint32_t lane) {
                objects[lane] = lane % 2 == 0 ? heap_malloc(&world, size)
                                              : tarn_dmalloc_wave(world.handle, size);
                assert_non_null(objects[lane]);
                memset(objects[lane], (int)lane, size);
            });
            for (uint32_t lane = 0; lane < lanes; lane++)
                for (size_t i = 0; i < size; i++)
                    assert_int_equal(((unsigned char *)objects[lane])[i], lane);
            with_waves(1, lanes, size,
                       [&](uint32_t, uint32_t lane) { heap_free(&world, objects[lane]); });
        }
    assert_int_equal(heap_world_check(&world).live_count, 0);
}

/* Each wave gets an object of its own, and each of its lanes the address; also where lanes have ended before. */
void a_whole_wave_gets_one_object(void **)
{
    constexpr uint32_t wave_count = 4;
    scoped_world world(64 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    for (uint32_t lanes : { 1U, 32U, 64U })
        for (size_t size : { (size_t)100, (size_t)70000, 5 * MIB }) {
            std::vector<void *> objects(wave_count * lanes);
            with_waves(wave_count, lanes, size, [&](uint32_t wave, uint32_t lane) {
                if (lane % 5 != 3)
                    objects[wave * lanes + lane] = tarn_dmalloc_coop(world.handle, size);
            });
            std::set<void *> different(objects.begin(), objects.end());
            different.erase(nullptr);
            assert_int_equal(different.size(), wave_count);
            for (uint32_t i = 0; i < wave_count * lanes; i++)
                assert_ptr_equal(objects[i],
                                 i % lanes % 5 != 3 ? objects[i / lanes * lanes] : NULL);
            with_lane([&] {
                for (void *object : different)
                    heap_free(&world, object);
            });
            assert_int_equal(heap_world_check(&world).live_count, 0);
        }
    with_waves(1, 32, 1, [&](uint32_t, uint32_t) {
        assert_null(tarn_dmalloc_coop(world.handle, 0));
        assert_null(tarn_dmalloc_coop(world.handle, 65 * MIB));
    });
    assert_int_equal(heap_world_check(&world).failed_count, 1);
}

/* No lane of a wave ever waits for another of the same wave, which on some devices would never go on. */
void a_wave_alone_never_pauses(void **)
{
    scoped_world world(64 * MIB, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    uint64_t paused = 0;
    std::thread thread([&] {
        for (uint64_t seed = 0; seed < 50; seed++)
            emulation::run_wave(0, 64, seed, [&](uint32_t lane) {
                void *objects[8];
                for (uint32_t i = 0; i < 8; i++)
                    objects[i] = heap_malloc(&world, 1 + (seed * 977 + lane * 131 + i * 31) % 3000);
                for (void *object : objects) {
                    assert_non_null(object);
                    heap_free(&world, object);
                }
            });
        paused = emulation::pause_count();
    });
    thread.join();
    assert_int_equal(paused, 0);
    assert_int_equal(heap_world_check(&world).live_count, 0);
}

/* Pages of the next slab of a slot that so many objects are asked of, in a heap of so many bytes. */
uint32_t pages_of_a_storm(size_t heap_bytes, uint32_t object_bytes, uint32_t asked)
{
    scoped_world world(heap_bytes, 0, TARN_DEVICE_HEAP_CHECKS_NONE);
    tn_heap heap = &world.handle.layout;
    uint32_t size_class = tn_heap_class_of(object_bytes), pages = 0;
    with_lane([&] {
        uint32_t *slot = tn_slot(heap, size_class, 0);
        tn_place_ask(slot, asked);
        pages = tn_slot_pages(heap, slot, size_class, 0, 0);
    });
    return pages;
}

void a_storm_gets_more_than_it_asked_for(void **)
{
    assert_int_equal(pages_of_a_storm(1024 * MIB, 64, 95), 1);
    assert_int_equal(pages_of_a_storm(1024 * MIB, 64, 96), 1 * 2);
    assert_int_equal(pages_of_a_storm(1024 * MIB, 64, 511), 1 * 2);
    assert_int_equal(pages_of_a_storm(1024 * MIB, 64, 512), 1 * 4);
    assert_int_equal(pages_of_a_storm(1024 * MIB, 64, 1025), 2 * 4);
    assert_int_equal(pages_of_a_storm(32 * MIB, 256, 1024),
                     4); /* as many for all slots would be too much */
}

} // namespace

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_served),
        cmocka_unit_test(sizes_are_rounded_by_less_than_a_quarter),
        cmocka_unit_test(numbers_of_objects_are_quotients),
        cmocka_unit_test(what_cannot_be_is_null),
        cmocka_unit_test(bad_frees_are_counted_and_change_nothing),
        cmocka_unit_test(lanes_that_free_the_same_object_free_it_once),
        cmocka_unit_test(a_damaged_end_is_counted),
        cmocka_unit_test(the_largest_object_is_what_the_statistics_say),
        cmocka_unit_test(a_full_heap_recovers_whole),
        cmocka_unit_test(one_free_object_among_many_is_found),
        cmocka_unit_test(slabs_of_another_class_give_way),
        cmocka_unit_test(waves_of_other_slots_get_what_is_left),
        cmocka_unit_test(what_is_prepared_for_one_class_another_gets),
        cmocka_unit_test(no_page_is_lost_to_lengths_that_differ),
        cmocka_unit_test(pages_lie_in_the_first_spans),
        cmocka_unit_test(counts_of_cursors_may_run_out),
        cmocka_unit_test(a_span_that_is_used_up_is_not_said_to_be_open),
        cmocka_unit_test(slabs_that_are_free_leave_no_hint),
        cmocka_unit_test(large_heaps_have_more_slots_for_some_sizes),
        cmocka_unit_test(waves_of_other_slots_get_what_is_left_in_large_heaps),
        cmocka_unit_test(counts_of_cursors_lie_apart),
        cmocka_unit_test(a_cursor_looks_back_in_spans_that_others_use),
        cmocka_unit_test(who_loses_spans_looks_past_those_of_a_wave),
        cmocka_unit_test(a_few_pages_that_stay_leave_spans_free),
        cmocka_unit_test(large_objects_lie_in_the_first_spans_again),
        cmocka_unit_test(a_small_object_fits_where_a_page_is_free),
        cmocka_unit_test(what_was_served_is_not_asked_for_again),
        cmocka_unit_test(memory_that_is_added_is_used),
        cmocka_unit_test(a_wave_gets_objects_side_by_side),
        cmocka_unit_test(a_whole_wave_gets_one_object),
        cmocka_unit_test(a_wave_alone_never_pauses),
        cmocka_unit_test(a_storm_gets_more_than_it_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
