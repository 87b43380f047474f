/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Two waves that take and give back in a small heap, in every order in which one gives way to the other before an atomic
 * operation, and that later to the first, wherever that may be. In each order what was handed out lies apart; afterwards
 * every structure of the heap agrees with every other, and all of its pages can be had. Where the heap has room for both at
 * any time, each gets what it wants.
 *
 * Usage: test_heap_schedules [1]: of those orders the ones in which one wave gives way once.
 */
#include <string.h>

#include "turns.h"

namespace
{

constexpr size_t MIB = (size_t)1 << 20;
constexpr size_t PAGE_BYTES = TARN_DEVICE_HEAP_PAGE_BYTES;
constexpr size_t SPAN_BYTES = 64 * PAGE_BYTES;
constexpr size_t TWO_PAGES = (size_t)144 << 10; /* of a heap, with the metadata */
constexpr size_t ONE_SPAN = SPAN_BYTES + MIB;   /* likewise, and a rest */
constexpr size_t TWO_SPANS = 2 * SPAN_BYTES + MIB;

size_t switch_max = 2;

struct object {
    char *address;
    size_t size_bytes;
};

typedef std::vector<object> objects;

/* What a wave does: sizes are those of objects that it takes, and 0 gives the oldest back that it has. */
typedef std::vector<size_t> script;

struct scene {
    size_t heap_bytes;
    size_t span_count; /* that are free in the beginning, and nothing else is; 0: all is */
    size_t
        held_bytes; /* objects that each wave has in the beginning, `held_count` of them, in turns */
    size_t held_count;
    script scripts[2];
    bool has_room;
};

/* One order of a scene. */
struct play {
    heap_world *world;
    objects held[2];
    size_t null_count;
    bool overlaps;
};

bool is_apart(const object &one, const objects &others)
{
    for (const object &other : others)
        if (one.address < other.address + other.size_bytes &&
            other.address < one.address + one.size_bytes)
            return false;
    return true;
}

void take(play *own, size_t wave, size_t size_bytes)
{
    object one = { (char *)heap_malloc(own->world, size_bytes), size_bytes };
    if (one.address == nullptr) {
        own->null_count++;
        return;
    }
    if (!is_apart(one, own->held[0]) || !is_apart(one, own->held[1])) own->overlaps = true;
    own->held[wave].push_back(one);
}

void give_oldest(play *own, size_t wave)
{
    objects *held = &own->held[wave];
    if (held->empty()) return; /* what it was to have was null */
    char *address = held->front().address;
    held->erase(held->begin());
    heap_free(own->world, address);
}

void perform(play *own, size_t wave, const script &lines)
{
    for (size_t size_bytes : lines)
        if (size_bytes != 0)
            take(own, wave, size_bytes);
        else
            give_oldest(own, wave);
}

size_t take_pages(heap_world *world, std::vector<void *> *pages)
{
    while (void *page = heap_malloc(world, PAGE_BYTES))
        pages->push_back(page);
    return pages->size();
}

/* What stays taken, and what the waves hold. */
std::vector<void *> prepare(play *own, const scene &of)
{
    std::vector<void *> spans, rest;
    for (size_t i = 0; i < of.span_count; i++)
        spans.push_back(heap_malloc(own->world, SPAN_BYTES));
    if (of.span_count > 0) take_pages(own->world, &rest);
    for (void *span : spans)
        heap_free(own->world, span);
    for (size_t i = 0; i < 2 * of.held_count; i++)
        take(own, i % 2, of.held_bytes);
    return rest;
}

void expect_all_back(play *own, const std::vector<void *> &rest, size_t page_count)
{
    std::vector<void *> pages;
    with_lane([&] {
        for (void *page : rest)
            heap_free(own->world, page);
        for (size_t wave = 0; wave < 2; wave++)
            while (!own->held[wave].empty())
                give_oldest(own, wave);
        assert_int_equal(take_pages(own->world, &pages), page_count);
    });
    heap_world_check(own->world);
}

/* Gives how many switches of the plan came about. What is sent off comes as late as the other wave takes for what it does
 * meanwhile, which is later than on any device; so null may be the answer then. */
size_t run(const scene &of, heap_world *world, const std::vector<uint64_t> &plan, bool sends_off)
{
    play own = {};
    std::vector<void *> rest;
    own.world = world;
    expect_ok(tarn_device_heap_reset(world->heap, world->stream));
    size_t page_count = heap_world_check(world).free_page_count;
    with_lane([&] { rest = prepare(&own, of); });
    own.null_count = 0;
    size_t switches = take_turns(
        { [&] { perform(&own, 0, of.scripts[0]); }, [&] { perform(&own, 1, of.scripts[1]); } },
        plan, sends_off);
    assert_false(own.overlaps);
    if (of.has_room && !sends_off) assert_int_equal(own.null_count, 0);
    tarn_device_heap_stats stats = heap_world_check(own.world);
    assert_int_equal(stats.live_count, rest.size() + own.held[0].size() + own.held[1].size());
    assert_int_equal(stats.double_free_count + stats.foreign_free_count, 0);
    expect_all_back(&own, rest, page_count);
    return switches;
}

/* Every plan that begins so. */
void run_all(const scene &of, heap_world *world, std::vector<uint64_t> plan, bool sends_off)
{
    plan.push_back(1);
    while (run(of, world, plan, sends_off) == plan.size()) {
        if (plan.size() < switch_max) run_all(of, world, plan, sends_off);
        plan.back()++;
    }
}

void expect_sound(const scene &of)
{
    scoped_world world(of.heap_bytes, 0, TARN_DEVICE_HEAP_CHECKS_FREES);
    for (bool sends_off : { false, true })
        run_all(of, &world, {}, sends_off);
}

/* --- slabs ------------------------------------------------------------------------------------------ */

void the_last_objects_of_slabs(void **)
{
    expect_sound({ TWO_PAGES, 0, 16384, 4, { { 0, 0, 16384 }, { 0, 0, 16384 } }, false });
}

void slabs_that_others_want_as_pages(void **)
{
    expect_sound({ TWO_PAGES, 0, 16384, 2, { { 0, 0, 16384 }, { 0, 0, PAGE_BYTES } }, false });
}

void slabs_of_two_classes(void **)
{
    expect_sound({ TWO_PAGES, 0, 0, 0, { { 32768, 0, 16384, 0 }, { 16384, 0, 32768, 0 } }, true });
}

void slabs_of_a_page_and_of_objects(void **)
{
    expect_sound({ TWO_PAGES, 0, 0, 0, { { 4096, 0, PAGE_BYTES, 0 }, { PAGE_BYTES, 0 } }, true });
}

/* --- spans ------------------------------------------------------------------------------------------ */

void a_span_for_each(void **)
{
    expect_sound(
        { TWO_SPANS, 2, 0, 0, { { SPAN_BYTES, 0 }, { SPAN_BYTES, 0, SPAN_BYTES, 0 } }, true });
}

void a_span_and_pages_of_another(void **)
{
    expect_sound(
        { TWO_SPANS, 2, 0, 0, { { SPAN_BYTES, 0 }, { 2 * PAGE_BYTES, 0, 4096, 0 } }, true });
}

void parts_of_one_span(void **)
{
    expect_sound({ ONE_SPAN,
                   1,
                   0,
                   0,
                   { { 32 * PAGE_BYTES, 0, PAGE_BYTES, 0 }, { 32 * PAGE_BYTES, 0 } },
                   true });
}

void most_of_a_span_and_a_few_pages(void **)
{
    expect_sound(
        { ONE_SPAN, 1, 0, 0, { { 40 * PAGE_BYTES, 0 }, { 2 * PAGE_BYTES, 0, 4096, 0 } }, true });
}

void spans_in_a_row_for_one_of_two(void **)
{
    expect_sound({ TWO_SPANS,
                   2,
                   0,
                   0,
                   { { 2 * SPAN_BYTES, 0 }, { 2 * SPAN_BYTES, 0, SPAN_BYTES } },
                   false });
}

void spans_in_a_row_or_pages_of_them(void **)
{
    expect_sound({ TWO_SPANS,
                   2,
                   0,
                   0,
                   { { SPAN_BYTES + 1, 0 }, { 2 * PAGE_BYTES, 0, 40 * PAGE_BYTES } },
                   false });
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "1") == 0) switch_max = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_objects_of_slabs),
        cmocka_unit_test(slabs_that_others_want_as_pages),
        cmocka_unit_test(slabs_of_two_classes),
        cmocka_unit_test(slabs_of_a_page_and_of_objects),
        cmocka_unit_test(a_span_for_each),
        cmocka_unit_test(a_span_and_pages_of_another),
        cmocka_unit_test(parts_of_one_span),
        cmocka_unit_test(most_of_a_span_and_a_few_pages),
        cmocka_unit_test(spans_in_a_row_for_one_of_two),
        cmocka_unit_test(spans_in_a_row_or_pages_of_them),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
