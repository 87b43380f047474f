/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Who finds nothing waits for what is on its way: a lane stands still before its n-th atomic operation, for each n that
 * there is, while it has more in its hands than it will keep; and another finds memory all the same, or where that is
 * the last of it waits until the first goes on.
 */
#include <atomic>

#include "heap_world.h"

namespace
{

constexpr size_t OBJECT_BYTES = 4096;
constexpr size_t PAGE_OBJECTS = 16;
constexpr size_t HEAP_BYTES = (size_t)144 << 10; /* two pages, with the metadata */
constexpr uint64_t OPERATIONS_MAX = 1000;

typedef std::vector<void *> objects;

/* `first` is done before the n-th operation of `body`. `other` begins m operations later, or there if m is 0; `body` goes on
 * when that is done, or has to pause, and it ends after `body` has. Whether there were so many operations. */
bool meanwhile(uint64_t n, uint64_t m, const std::function<void()> &body,
               const std::function<void()> &first, const std::function<void()> &other)
{
    std::atomic<bool> rests{ false }, is_over{ false };
    std::thread thread;
    bool was_interrupted = false, is_first = true;
    auto run_other = [&] {
        with_lane([&] {
            emulation::on_pause([&] {
                rests = true;
                while (!is_over)
                    std::this_thread::yield();
            });
            other();
        });
        rests = true;
    };
    with_lane([&] {
        emulation::send_off_unanswered();
        emulation::interrupt_at(
            n,
            [&] {
                if (is_first) with_lane(first);
                if (is_first && m != 0) {
                    is_first = false;
                    return;
                }
                thread = std::thread(run_other);
                while (!rests)
                    std::this_thread::yield();
            },
            m);
        body();
        emulation::stumble();
        was_interrupted = emulation::was_interrupted();
    });
    is_over = true;
    if (thread.joinable()) thread.join();
    return was_interrupted;
}

typedef std::function<void(heap_world *)> act;

/* What the others do while `moves` stands still. */
struct others {
    act first;
    std::function<void *(heap_world *)> take;
};

/* Whether there were so many operations; if so the others got something. */
bool gets_object_meanwhile(uint64_t n, uint64_t m, size_t heap_bytes, const act &prepare,
                           const act &moves, const others &others)
{
    scoped_world world(heap_bytes, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    with_lane([&] { prepare(&world); });
    void *object = nullptr;
    bool was_interrupted = meanwhile(
        n, m, [&] { moves(&world); },
        [&] {
            if (others.first) others.first(&world);
        },
        [&] { object = others.take(&world); });
    if (was_interrupted) assert_non_null(object);
    heap_world_check(&world);
    return was_interrupted;
}

/* Wherever `moves` stands still, once or twice. */
void expect_object_meanwhile(size_t heap_bytes, const act &prepare, const act &moves,
                             const others &others)
{
    uint64_t n = 1;
    while (gets_object_meanwhile(n, 0, heap_bytes, prepare, moves, others)) {
        uint64_t m = 1;
        while (others.first && gets_object_meanwhile(n, m, heap_bytes, prepare, moves, others))
            m++;
        assert_true(++n < OPERATIONS_MAX && m < OPERATIONS_MAX);
    }
    assert_true(n > 2);
}

void *take_page(heap_world *world)
{
    return heap_malloc(world, TARN_DEVICE_HEAP_PAGE_BYTES);
}

void expect_page_meanwhile(size_t heap_bytes, const act &prepare, const act &moves)
{
    expect_object_meanwhile(heap_bytes, prepare, moves, { nullptr, take_page });
}

constexpr size_t ONE_SPAN_BYTES = (size_t)5 << 20; /* a whole span, and a rest that is taken */
constexpr size_t SPAN_BYTES = (size_t)4 << 20;

/* A heap of so many whole free spans, and nothing else. */
void take_the_rest(heap_world *world, size_t span_count)
{
    objects spans;
    for (size_t i = 0; i < span_count; i++)
        spans.push_back(heap_malloc(world, SPAN_BYTES));
    while (take_page(world))
        continue;
    for (void *span : spans) {
        assert_non_null(span);
        heap_free(world, span);
    }
}

void who_begins_the_last_span_leaves_pages_of_it(void **)
{
    expect_page_meanwhile(
        ONE_SPAN_BYTES, [](heap_world *world) { take_the_rest(world, 1); },
        [](heap_world *world) {
            assert_non_null(heap_malloc(world, 2 * TARN_DEVICE_HEAP_PAGE_BYTES));
        });
}

/* Where the other is faster there are not two spans in a row any more. */
void who_takes_a_part_of_the_last_spans_leaves_the_rest(void **)
{
    expect_page_meanwhile(
        2 * SPAN_BYTES + (1 << 20), [](heap_world *world) { take_the_rest(world, 2); },
        [](heap_world *world) { heap_malloc(world, SPAN_BYTES + 1); });
}

void who_frees_the_last_page_of_a_span_leaves_pages_of_it(void **)
{
    void *last;
    expect_page_meanwhile(
        ONE_SPAN_BYTES,
        [&](heap_world *world) {
            take_the_rest(world, 1);
            last = heap_malloc(world, TARN_DEVICE_HEAP_PAGE_BYTES + 1);
        },
        [&](heap_world *world) { heap_free(world, last); });
}

void who_takes_a_span_hides_none_that_is_freed(void **)
{
    void *span;
    expect_object_meanwhile(
        2 * SPAN_BYTES + (1 << 20),
        [&](heap_world *world) {
            take_the_rest(world, 2);
            span = heap_malloc(world, SPAN_BYTES);
        },
        [](heap_world *world) { assert_non_null(heap_malloc(world, SPAN_BYTES)); },
        { [&](heap_world *world) { heap_free(world, span); },
          [](heap_world *world) { return heap_malloc(world, SPAN_BYTES); } });
}

/* The first of these that lies in a span, or none. */
void *one_in_span(heap_world *world, const objects &those, uint32_t span)
{
    for (void *one : those)
        if (tn_page_of(&world->handle.layout, (uint64_t)(uintptr_t)one) / TN_HEAP_SPAN_PAGES ==
            span)
            return one;
    return nullptr;
}

/* All that is free are two pages of a span. Who takes them makes the hint go away, while many pages of that span are freed,
 * and as many are wanted. */
void who_uses_a_span_up_hides_no_pages_that_are_freed(void **)
{
    constexpr size_t size_bytes = 40 * TARN_DEVICE_HEAP_PAGE_BYTES;
    void *many;
    expect_object_meanwhile(
        5 * SPAN_BYTES + (1 << 20),
        [&](heap_world *world) {
            objects pairs;
            many = heap_malloc(world, size_bytes);
            while (heap_malloc(world, SPAN_BYTES))
                continue;
            while (void *pair = heap_malloc(world, 2 * TARN_DEVICE_HEAP_PAGE_BYTES))
                pairs.push_back(pair);
            while (take_page(world))
                continue;
            uint32_t span =
                tn_page_of(&world->handle.layout, (uint64_t)(uintptr_t)many) / TN_HEAP_SPAN_PAGES;
            heap_free(world, one_in_span(world, pairs, span));
        },
        [](heap_world *world) { heap_malloc(world, 2 * TARN_DEVICE_HEAP_PAGE_BYTES); },
        { [&](heap_world *world) { heap_free(world, many); },
          [](heap_world *world) { return heap_malloc(world, size_bytes); } });
}

/* Level 2 of the tree of free spans says that there is one and level 1 that there is none: as it is after who frees a span
 * has stood still between the two, while another took pages of it. Leaves that span used. */
void leave_old_news(heap_world *world, void *span)
{
    tn_tree free = tn_free_spans(&world->handle.layout);
    for (uint64_t n = 1; n < OPERATIONS_MAX; n++) {
        void *pages = nullptr;
        emulation::interrupt_at(n, [&] {
            with_lane([&] { pages = heap_malloc(world, 2 * TARN_DEVICE_HEAP_PAGE_BYTES); });
        });
        heap_free(world, span);
        emulation::was_interrupted();
        if (*tn_tree_level(free, 2) != 0 && *tn_tree_level(free, 1) == 0) return;
        heap_free(world, pages);
        span = heap_malloc(world, SPAN_BYTES);
        assert_non_null(span);
    }
    fail();
}

/* A lane looks for a span where the tree has old news, while another frees two, and takes one. */
void who_mends_old_news_hides_no_span_that_is_freed(void **)
{
    void *spans[3];
    expect_object_meanwhile(
        70 * SPAN_BYTES,
        [&](heap_world *world) {
            while (void *span = heap_malloc(world, SPAN_BYTES)) {
                uint32_t number = tn_page_of(&world->handle.layout, (uint64_t)(uintptr_t)span) /
                                  TN_HEAP_SPAN_PAGES;
                if (number >= 64 && number < 67) spans[number - 64] = span;
            }
            while (take_page(world))
                continue;
            leave_old_news(world, spans[2]);
        },
        [](heap_world *world) { heap_malloc(world, SPAN_BYTES); },
        { [&](heap_world *world) {
             heap_free(world, spans[0]);
             heap_free(world, spans[1]);
         },
          [](heap_world *world) { return heap_malloc(world, SPAN_BYTES); } });
}

/* A slab of another class in slot 0, of so many pages. */
void *take_of_large_slab(heap_world *world, size_t size_bytes, uint32_t waiting,
                         uint32_t page_count)
{
    tn_heap heap = &world->handle.layout;
    tn_place_ask(tn_slot(heap, tn_heap_class_of((uint32_t)size_bytes), 0), waiting);
    void *object = heap_malloc(world, size_bytes);
    uint64_t header = *tn_header(heap, tn_page_of(heap, (uint64_t)(uintptr_t)object));
    assert_int_equal(tn_header_pages(header), page_count);
    return object;
}

/* All that the heap has is a slab of another class, in a slot and wholly free, and a page that is taken. */
void who_reclaims_leaves_what_it_does_not_take(void **)
{
    expect_page_meanwhile(
        (size_t)1 << 20,
        [](heap_world *world) {
            heap_free(world, take_of_large_slab(world, 57000, 11, 14));
            assert_non_null(take_page(world));
        },
        [](heap_world *world) { assert_non_null(heap_malloc(world, OBJECT_BYTES)); });
}

/* The slab in a slot is used up, and another page is free. While a lane gives the slot that, all of the slab is freed, and
 * its page is wanted. */
void who_refills_a_slot_leaves_what_was_in_it(void **)
{
    objects all;
    expect_object_meanwhile(
        HEAP_BYTES,
        [&](heap_world *world) {
            all.clear();
            for (size_t i = 0; i < PAGE_OBJECTS; i++)
                all.push_back(heap_malloc(world, OBJECT_BYTES));
        },
        [](heap_world *world) { assert_non_null(heap_malloc(world, OBJECT_BYTES)); },
        { nullptr, [&](heap_world *world) {
             for (void *object : all)
                 heap_free(world, object);
             return take_page(world);
         } });
}

/* What waits would fill a span, and there are only parts of one. */
void a_slab_is_as_large_as_there_is_room(void **)
{
    scoped_world world(ONE_SPAN_BYTES, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    with_lane([&] {
        take_the_rest(&world, 1);
        assert_non_null(take_page(&world));
        take_of_large_slab(&world, OBJECT_BYTES, 40 * PAGE_OBJECTS, 16);
    });
    heap_world_check(&world);
}

/* `body` stands still before its n-th operation while another lane does one thing, and m operations later, or at once if m
 * is 0, while that does one more. The heap is sound afterwards, and given back. Whether it came to that. */
bool is_interrupted(heap_world *world, uint64_t n, uint64_t m, const std::function<void()> &body,
                    const std::function<void()> &one, const std::function<void()> &more)
{
    bool is_first = true, was_interrupted = false;
    with_lane([&] {
        emulation::send_off_unanswered();
        emulation::interrupt_at(
            n,
            [&] {
                bool is_second = !is_first || m == 0;
                if (is_first) with_lane(one);
                if (is_second) with_lane(more);
                is_first = false;
            },
            m);
        body();
        emulation::stumble();
        was_interrupted = emulation::was_interrupted();
    });
    heap_world_check(world);
    heap_world_fini(world);
    return was_interrupted;
}

/* Wherever it stands still. */
void wherever(const std::function<bool(uint64_t)> &is_interrupted_at)
{
    uint64_t n = 1;
    while (is_interrupted_at(n))
        n++;
    assert_true(n > 2 && n < OPERATIONS_MAX);
}

void nothing()
{
}

/* A heap of so many free spans. */
heap_world world_of_spans(size_t span_count)
{
    heap_world world;
    heap_world_init(&world, span_count * SPAN_BYTES + (1 << 20), 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    with_lane([&] { take_the_rest(&world, span_count); });
    return world;
}

constexpr size_t TWO_PAGES = TARN_DEVICE_HEAP_PAGE_BYTES + 1;

/* A lane takes so much, while another takes two pages, and then frees them. */
bool span_is_used_meanwhile(uint64_t n, uint64_t m, size_t span_count, size_t size_bytes)
{
    heap_world world = world_of_spans(span_count);
    void *pages = nullptr;
    return is_interrupted(
        &world, n, m, [&] { heap_malloc(&world, size_bytes); },
        [&] { pages = heap_malloc(&world, TWO_PAGES); }, [&] { heap_free(&world, pages); });
}

void who_takes_a_span_that_was_used_meanwhile_puts_trees_right(void **)
{
    const size_t sizes[] = { SPAN_BYTES, 40 * TARN_DEVICE_HEAP_PAGE_BYTES, 2 * SPAN_BYTES };
    for (size_t size_bytes : sizes) {
        size_t span_count = size_bytes > SPAN_BYTES ? 2 : 1;
        wherever([&](uint64_t n) {
            if (!span_is_used_meanwhile(n, 0, span_count, size_bytes)) return false;
            uint64_t m = 1;
            while (span_is_used_meanwhile(n, m, span_count, size_bytes))
                m++;
            assert_true(m < OPERATIONS_MAX);
            return true;
        });
    }
}

/* In a heap of so many spans that the trees have a second word. All but small runs is taken; a lane frees one in the
 * first span of that word, while another frees one in the next span and takes that. */
bool run_is_freed_meanwhile(uint64_t n, size_t run_bytes)
{
    heap_world world;
    heap_world_init(&world, 66 * SPAN_BYTES + ((size_t)14 << 20), 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    void *one = nullptr, *two = nullptr, *got = nullptr;
    with_lane([&] {
        while (void *run = heap_malloc(&world, run_bytes)) {
            uint32_t page = tn_page_of(&world.handle.layout, (uint64_t)(uintptr_t)run);
            if (page / TN_HEAP_SPAN_PAGES == 64) one = run;
            if (page / TN_HEAP_SPAN_PAGES == 65) two = run;
        }
        while (take_page(&world))
            continue;
    });
    assert_true(one != nullptr && two != nullptr);
    bool was_interrupted = is_interrupted(
        &world, n, 0, [&] { heap_free(&world, one); }, [&] { heap_free(&world, two); },
        [&] { got = heap_malloc(&world, run_bytes); });
    if (was_interrupted) assert_non_null(got);
    return was_interrupted;
}

void who_frees_pages_hides_none_that_another_has_freed(void **)
{
    for (size_t page_count : { (size_t)2, (size_t)32 })
        wherever([&](uint64_t n) {
            return run_is_freed_meanwhile(n, page_count * TARN_DEVICE_HEAP_PAGE_BYTES);
        });
}

/* A lane frees an object of two spans, while another takes pages of them if it can. */
void spans_may_be_used_before_trees_say_that_they_are_free(void **)
{
    wherever([](uint64_t n) {
        heap_world world = world_of_spans(2);
        void *spans = nullptr;
        with_lane([&] { spans = heap_malloc(&world, 2 * SPAN_BYTES); });
        assert_non_null(spans);
        return is_interrupted(
            &world, n, 0, [&] { heap_free(&world, spans); },
            [&] { heap_malloc(&world, TWO_PAGES); }, nothing);
    });
}

/* A lane takes pages of one of two free spans, while another wants both spans, and is told that there are none such. */
void who_wants_spans_waits_for_nobody_who_has_pages_of_one(void **)
{
    wherever([](uint64_t n) {
        heap_world world = world_of_spans(2);
        return is_interrupted(
            &world, n, 0, [&] { assert_non_null(heap_malloc(&world, TWO_PAGES)); },
            [&] { heap_free(&world, heap_malloc(&world, 2 * SPAN_BYTES)); }, nothing);
    });
}

/* Two who free the spans of a heap stand still before their n-th and m-th operations, while another takes what it gets. No
 * more spans were ever used than there are. */
void spans_are_not_counted_twice(void **)
{
    constexpr uint64_t operations = 60; /* of a free of a span there are fewer */
    for (uint64_t n = 1; n < operations; n++)
        for (uint64_t m = 1; m < operations; m++) {
            heap_world world;
            heap_world_init(&world, 2 * SPAN_BYTES + (1 << 20), 0, TARN_DEVICE_HEAP_CHECKS_FREES);
            void *one = nullptr, *two = nullptr;
            auto take_both = [&] {
                one = heap_malloc(&world, SPAN_BYTES);
                two = heap_malloc(&world, SPAN_BYTES);
            };
            with_lane(take_both);
            void *first = one, *second = two;
            bool was_late = meanwhile(
                n, 0, [&] { heap_free(&world, first); }, [] {},
                [&] {
                    emulation::interrupt_at(m, [&] { with_lane(take_both); });
                    heap_free(&world, second);
                    emulation::was_interrupted();
                });
            tarn_device_heap_stats stats = heap_world_check(&world);
            assert_true(stats.span_bytes_max <= 2 * SPAN_BYTES);
            heap_world_fini(&world);
            if (!was_late) {
                assert_true(n > 2);
                return;
            }
        }
    fail();
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_begins_the_last_span_leaves_pages_of_it),
        cmocka_unit_test(who_takes_a_part_of_the_last_spans_leaves_the_rest),
        cmocka_unit_test(who_frees_the_last_page_of_a_span_leaves_pages_of_it),
        cmocka_unit_test(who_takes_a_span_hides_none_that_is_freed),
        cmocka_unit_test(who_uses_a_span_up_hides_no_pages_that_are_freed),
        cmocka_unit_test(who_mends_old_news_hides_no_span_that_is_freed),
        cmocka_unit_test(who_reclaims_leaves_what_it_does_not_take),
        cmocka_unit_test(who_refills_a_slot_leaves_what_was_in_it),
        cmocka_unit_test(a_slab_is_as_large_as_there_is_room),
        cmocka_unit_test(who_takes_a_span_that_was_used_meanwhile_puts_trees_right),
        cmocka_unit_test(who_frees_pages_hides_none_that_another_has_freed),
        cmocka_unit_test(spans_may_be_used_before_trees_say_that_they_are_free),
        cmocka_unit_test(who_wants_spans_waits_for_nobody_who_has_pages_of_one),
        cmocka_unit_test(spans_are_not_counted_twice),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
