/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_heap_check: each fault of a heap is planted, found, named, and taken back. */
#include <sys/mman.h>

#include "heap_fixture.h"

/* A heap in which everything is that there can be:
 *
 *     page  0  a current slab of class 0, in slot 1       page 10  a large object of 5 pages
 *           1  a good slab of class 3, of 2 pages         page 64  a large object of 70 pages
 *           3  a sparse slab of class 7                   page 192 nothing: a free span
 *           4  a full slab of class 0
 *           5  a sparse slab of class 19, which has 64 objects
 *
 * The second region is free. */
struct sample {
    struct fixture *fixture;
    tarn_device_heap *heap;
    struct tn_heap_control *control;
    const struct tn_heap_layout *layout;
    uint64_t second_page; /* first of the second region */
};

#define FEW_OBJECTS 19 /* a class of 1 KiB: a page has 64 */

static struct sample begin(struct fixture *fixture)
{
    tarn_device_heap *heap = create_heap(fixture, 20 * MIB, 64 * MIB);
    expect_ok(tarn_device_heap_add(heap, 66 * PAGE, fixture->stream));
    wait_for_stream(fixture);
    struct tn_heap_control *control = control_of(heap);
    make_slab(control, 0, 0, 1, TN_HEAP_STATE_CURRENT, 1000, 1);
    make_slab(control, 1, 3, 2, TN_HEAP_STATE_GOOD, 1000, 0);
    make_slab(control, 3, 7, 1, TN_HEAP_STATE_SPARSE, 500, 0);
    make_slab(control, 4, 0, 1, TN_HEAP_STATE_FULL, 4096, 0);
    make_slab(control, 5, FEW_OBJECTS, 1, TN_HEAP_STATE_SPARSE, 60, 0);
    make_run(control, 10, 5);
    make_run(control, 64, 70);
    expect_ok(tarn_device_heap_check(heap, fixture->stream));
    return (struct sample){ fixture, heap, control, &control->layout,
                            control->regions[1].first_page };
}

static void end(const struct sample *sample)
{
    expect_ok(tarn_device_heap_check(sample->heap, sample->fixture->stream));
    destroy_heap(sample->fixture, sample->heap);
}

static void expect_fault(const struct sample *sample, const char *message)
{
    expect_status(TARN_STATUS_CORRUPT,
                  tarn_device_heap_check(sample->heap, sample->fixture->stream));
    expect_message(message);
}

/* With another value in a word, of 64 bits or of 32. */
static void expect_fault_with(const struct sample *sample, uint64_t *word, uint64_t value,
                              const char *message)
{
    uint64_t was = *word;
    assert_true(was != value);
    *word = value;
    expect_fault(sample, message);
    *word = was;
}

static void expect_fault_with_32(const struct sample *sample, uint32_t *word, uint32_t value,
                                 const char *message)
{
    uint32_t was = *word;
    assert_true(was != value);
    *word = value;
    expect_fault(sample, message);
    *word = was;
}

static void what_the_host_has_written_is_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    struct tn_heap_layout *layout = &sample.control->layout;
    const char *message = "control block 0: it has been overwritten";
    expect_fault_with(&sample, &layout->headers, layout->headers + 1, message);
    expect_fault_with_32(&sample, &sample.control->region_count, 1, message);
    expect_fault_with_32(&sample, &sample.control->span_end, 1, message);
    expect_fault_with_32(&sample, &sample.control->regions[15].page_count, 1, message);
    end(&sample);
}

static void trees_are_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    uint64_t *free_spans = words_at(sample.layout->free_spans);
    uint64_t *open_spans = words_at(sample.layout->open_spans);
    uint64_t *good = class_tree_at(sample.control, 3, TN_HEAP_STATE_GOOD);
    uint64_t *sparse = class_tree_at(sample.control, 7, TN_HEAP_STATE_SPARSE);
    uint32_t above = sample.layout->page_shape.words[0];
    const char *message = "a word of its tree has no bit above";
    expect_fault_with(&sample, free_spans + 1, 0, "free spans 0: a word of its tree has no bit");
    expect_fault_with(&sample, free_spans + 2, 0, message);
    expect_fault_with(&sample, open_spans + 1, 0, "open spans 0: a word of its tree has no bit");
    expect_fault_with(&sample, good + above, 0, "class 3: a word of its tree has no bit above");
    expect_fault_with(&sample, sparse + above + 1, 0, "class 7: a word of its tree has no bit");
    expect_fault_with(&sample, good, 0, "page 1: its slab is not in the tree of its class");
    expect_fault_with(&sample, sparse, 0, "page 3: its slab is not in the tree of its class");
    expect_fault_with(&sample, good + sample.second_page / 64 + 1, bit_of(2),
                      "class 3: a page that does not exist is in a tree");
    /* Hints may be old, and bits above too many. */
    *class_tree_at(sample.control, 0, TN_HEAP_STATE_GOOD) |= bit_of(60);
    *(class_tree_at(sample.control, 0, TN_HEAP_STATE_GOOD) + above) |= 3;
    *(class_tree_at(sample.control, 0, TN_HEAP_STATE_GOOD) + above + 1) |= 3;
    end(&sample);
}

static void slots_are_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    uint32_t *slot = slot_at(sample.control, 0, 1), *other = slot_at(sample.control, 0, 0);
    const char *no_slab = "it is in a slot, but is not a current slab of its class";
    expect_fault_with_32(&sample, slot, UINT32_MAX, "class 0: a slot is busy");
    expect_fault_with_32(&sample, slot, 0, "page 0: its slab is current but in no slot");
    expect_fault_with_32(&sample, other, 1, "page 0: two slots have it");
    expect_fault_with_32(&sample, slot + TN_HEAP_PLACE_NEXT, 1, "page 0: two slots have it");
    expect_fault_with_32(&sample, other + TN_HEAP_PLACE_NEXT, UINT32_MAX,
                         "class 0: a slot is busy");
    expect_fault_with_32(&sample, other, 5, no_slab);  /* full */
    expect_fault_with_32(&sample, other, 11, no_slab); /* a run */
    expect_fault_with_32(&sample, other, 9, no_slab);  /* a free page */
    expect_fault_with_32(&sample, slot_at(sample.control, 1, 0), 1, no_slab);
    expect_fault_with_32(&sample, other, (uint32_t)sample.second_page + 67,
                         "class 0: a slot has a page that does not exist");
    expect_fault_with_32(&sample, other, UINT32_MAX - 1, "that does not exist");
    end(&sample);
}

/* Of a heap so large that some classes have more slots than others; its objects are never touched. */
static void slots_that_no_class_uses_are_looked_at(void **state)
{
    struct fixture *fixture = *state;
    const size_t size_bytes = (size_t)4096 * MIB;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    assert_true(memory != MAP_FAILED);
    tarn_device_heap *heap = create_over(fixture, memory, size_bytes, 0);
    wait_for_stream(fixture);
    const struct sample sample = { .fixture = fixture, .heap = heap, .control = control_of(heap) };
    uint32_t few = 0, many = 12; /* of 16 and of 320 bytes */
    make_slab(sample.control, 0, many, 1, TN_HEAP_STATE_CURRENT, 0, TN_HEAP_SLOTS_MAX - 1);
    make_slab(sample.control, 1, few, 1, TN_HEAP_STATE_CURRENT, 0, TN_HEAP_SLOTS_SOME - 1);
    expect_ok(tarn_device_heap_check(heap, fixture->stream));
    uint32_t *unused = slot_at(sample.control, few, TN_HEAP_SLOTS_SOME);
    const char *message = "class 0: a slot that it does not use is not empty";
    expect_fault_with_32(&sample, unused, 2, message);
    expect_fault_with_32(&sample, unused + TN_HEAP_PLACE_NEXT, 2, message);
    destroy_heap(fixture, heap);
    assert_int_equal(munmap(memory, size_bytes), 0);
}

/* Another header for a page. */
static void expect_fault_with_header(const struct sample *sample, uint64_t page, uint64_t header,
                                     const char *message)
{
    expect_fault_with(sample, header_at(sample->control, page), header, message);
}

static void headers_are_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    expect_fault_with_header(&sample, 9, (uint64_t)1 << TN_HEAP_CREDIT_SHIFT,
                             "page 9: the header of a page without slab or run is not 0");
    expect_fault_with_header(&sample, 9, TN_HEAP_CLASS_COUNT + 1, "its header is invalid");
    expect_fault_with_header(&sample, 9, TN_HEAP_CLASS_RUN,
                             "page 9: its run has no pages, or leaves its span");
    end(&sample);
}

static void labels_are_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    struct tn_heap_control *control = sample.control;
    const char *slab = "page 1: a page of its slab has a wrong label";
    const char *run = "page 10: a page of its run has a wrong label";
    uint64_t label = *label_at(control, 1);
    expect_fault_with(&sample, label_at(control, 1), 0, slab);
    expect_fault_with(&sample, label_at(control, 2), 0, slab);
    expect_fault_with(&sample, label_at(control, 1), label + 1, slab);
    expect_fault_with(&sample, label_at(control, 2),
                      label + ((uint64_t)1 << TN_HEAP_LABEL_CAPACITY_SHIFT), slab);
    expect_fault_with(&sample, label_at(control, 2),
                      label + ((uint64_t)1 << TN_HEAP_LABEL_PAGE_SHIFT), slab);
    expect_fault_with(&sample, label_at(control, 10), 0, run);
    expect_fault_with(&sample, label_at(control, 10), TN_HEAP_CLASS_RUN + 64, run);
    expect_fault_with(&sample, label_at(control, 11), TN_HEAP_CLASS_RUN, run);
    expect_fault_with(&sample, label_at(control, 64 + 69), 1,
                      "page 64: a page of its run has a wrong label");
    expect_fault_with(&sample, label_at(control, 6), label, "span 0: a free page has a label");
    expect_fault_with(&sample, label_at(control, 200), 1, "span 3: a free page has a label");
    end(&sample);
}

static void slabs_are_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    const enum tn_heap_state good = TN_HEAP_STATE_GOOD, full = TN_HEAP_STATE_FULL;
    const enum tn_heap_state sparse = TN_HEAP_STATE_SPARSE;
    /* Page 1: class 3, 64 bytes, 2 pages, 2048 objects, 1048 credits. Page 3: class 7, 512 objects, 12 credits. */
    expect_fault_with_header(&sample, 1, make_header(3, good, 0, 0, 0), "has no pages");
    expect_fault_with_header(&sample, 1, make_header(3, good, 64, 65536, 1048),
                             "page 1: its slab has no pages, or leaves its span");
    expect_fault_with_header(&sample, 1, make_header(3, good, 2, 2047, 1048),
                             "page 1: its slab's capacity does not match its pages");
    expect_fault_with_header(&sample, 1, make_header(3, good, 2, 2048, (uint64_t)-1),
                             "page 1: its slab has negative credits");
    expect_fault_with_header(&sample, 1, make_header(3, good, 2, 2048, 2049),
                             "page 1: its slab has negative credits, or more than objects");
    expect_fault_with_header(&sample, 1, make_header(3, good, 2, 2048, 1049),
                             "page 1: its slab has a wrong number of credits");
    expect_fault_with_header(&sample, 0, make_header(0, TN_HEAP_STATE_CURRENT, 2, 8192, 6192),
                             "page 0: a page of its slab has a wrong label");
    expect_fault_with_header(&sample, 4, make_header(0, full, 7, 28672, 24576),
                             "page 4: a page of its slab has a wrong label");
    expect_fault_with_header(&sample, 1, make_header(3, full, 2, 2048, 1048),
                             "page 1: its slab is in the wrong state");
    expect_fault_with_header(&sample, 1, make_header(3, sparse, 2, 2048, 1048),
                             "page 1: its slab is in the wrong state");
    expect_fault_with_header(&sample, 1, make_header(3, TN_HEAP_STATE_IDLE, 2, 2048, 1048),
                             "page 1: its slab is in the wrong state");
    expect_fault_with_header(&sample, 3, make_header(7, good, 1, 512, 12),
                             "page 3: its slab is not in the tree of its class");
    expect_fault_with_header(&sample, 3, make_header(7, TN_HEAP_STATE_CURRENT, 1, 512, 12),
                             "page 3: its slab is current but in no slot");
    end(&sample);
}

static void a_slab_that_is_wholly_free_is_none(void **state)
{
    const struct sample sample = begin(*state);
    uint64_t *bitmap = bitmap_at(sample.control, 1);
    uint64_t was[16];
    memcpy(was, bitmap, sizeof was);
    memset(bitmap, 0, sizeof was);
    expect_fault_with_header(&sample, 1, make_header(3, TN_HEAP_STATE_GOOD, 2, 2048, 2048),
                             "page 1: its slab is in the wrong state");
    memcpy(bitmap, was, sizeof was);
    end(&sample);
}

static void bitmaps_are_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    const char *credits = "page 1: its slab has a wrong number of credits";
    uint64_t *bitmap = bitmap_at(sample.control, 1);
    expect_fault_with(&sample, &bitmap[0], ~(uint64_t)1, credits);
    expect_fault_with(&sample, &bitmap[31], bit_of(63), credits);
    expect_fault_with(&sample, &bitmap[32], 1,
                      "page 1: the bitmap of its slab has bits beyond its objects");
    expect_fault_with(&sample, &bitmap[127], bit_of(63), "page 1: the bitmap of its slab has bits");
    expect_fault_with(&sample, bitmap_at(sample.control, 11), 1,
                      "page 10: the bitmap of its run has bits");
    expect_fault_with(&sample, bitmap_at(sample.control, 64 + 69) + 63, 1,
                      "page 64: the bitmap of its run has bits");
    expect_fault_with(&sample, bitmap_at(sample.control, 6), 1,
                      "span 0: the bitmap of a free page has bits");
    expect_fault_with(&sample, bitmap_at(sample.control, 200), 1,
                      "span 3: the bitmap of a free page has bits");
    end(&sample);
}

static void bits_beside_headers_are_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    uint64_t *bits = bits_word_at(sample.control, 5);
    assert_int_equal(*bits, ((uint64_t)1 << 60) - 1);
    expect_fault_with(&sample, bits, *bits - 1, "page 5: its slab has a wrong number of credits");
    expect_fault_with(&sample, bitmap_at(sample.control, 5), 1,
                      "page 5: the bitmap of its slab has bits beyond its objects");
    expect_fault_with(&sample, bits_word_at(sample.control, 1), 1,
                      "page 1: the bitmap of its slab has bits beyond its objects");
    expect_fault_with(&sample, bits_word_at(sample.control, 2), 1,
                      "page 1: the bitmap of its slab has bits beyond its objects");
    expect_fault_with(&sample, bits_word_at(sample.control, 11), 1,
                      "page 10: the bitmap of its run has bits");
    expect_fault_with(&sample, bits_word_at(sample.control, 200), 1,
                      "span 3: the bitmap of a free page has bits");
    end(&sample);
}

static void runs_are_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    uint64_t *pages = header_at(sample.control, 10) + 1;
    uint64_t *spans = header_at(sample.control, 64) + 1;
    expect_fault_with(&sample, pages, 0, "page 10: its run has no pages, or leaves its span");
    expect_fault_with(&sample, pages, 55, "page 10: its run has no pages, or leaves its span");
    expect_fault_with(&sample, pages, 4, "span 0: pages are neither free nor in use");
    expect_fault_with(&sample, pages, 6, "span 0: pages are free that belong to a slab or run");
    expect_fault_with(&sample, spans, 71, "span 2: pages are free that belong to a slab or run");
    expect_fault_with(&sample, spans, 69, "span 2: pages are neither free nor in use");
    expect_fault_with(&sample, spans, 10000,
                      "page 64: pages of its run belong to another, or do not exist");
    expect_fault_with(&sample, spans, UINT64_MAX,
                      "page 64: pages of its run belong to another, or do not exist");
    expect_fault_with(&sample, header_at(sample.control, 10), make_header(62, 1, 0, 0, 0),
                      "page 10: the header of its run has other bits");
    /* From the one region into the other, or within pages of others. */
    uint64_t to_the_second = sample.second_page - 64 + 1;
    expect_fault_with(&sample, spans, to_the_second, "page 64: pages of its run belong to another");
    expect_fault_with(&sample, pages, 1, "span 0: pages are neither free nor in use");
    end(&sample);
}

static void spans_are_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    uint64_t *free_spans = words_at(sample.layout->free_spans);
    uint64_t *open_spans = words_at(sample.layout->open_spans);
    uint64_t *free_pages = words_at(sample.layout->span_pages);
    uint64_t short_span = sample.second_page / 64 + 1;
    const char *not_free = "it is in the tree of free spans, but not all its pages are free";
    assert_true(~free_pages[3] == 0);
    expect_fault_with(&sample, free_spans, *free_spans | bit_of(short_span), not_free);
    expect_fault_with(&sample, free_spans, *free_spans | bit_of(short_span + 1), not_free);
    expect_fault_with(&sample, free_spans, *free_spans | bit_of(1), not_free);
    expect_fault_with(&sample, free_spans, *free_spans & ~bit_of(3),
                      "span 3: all its pages are free, but it is not in the tree of free spans");
    expect_fault_with(&sample, open_spans, *open_spans | bit_of(short_span + 1),
                      "it is in the tree of open spans, but has no pages");
    expect_fault_with(&sample, open_spans, *open_spans & ~bit_of(0),
                      "span 0: it has free pages, but is not in");
    expect_fault_with(&sample, open_spans, *open_spans & ~bit_of(3),
                      "span 3: it has free pages, but is not in");
    expect_fault_with(&sample, free_pages, free_pages[0] | 1,
                      "span 0: pages are free that belong to a slab or run");
    expect_fault_with(&sample, free_pages, free_pages[0] & ~bit_of(50),
                      "span 0: pages are neither free nor in use");
    expect_fault_with(&sample, free_pages + short_span, 7, "pages that do not exist are free");
    *open_spans |= bit_of(1); /* old hints */
    end(&sample);
}

static void counters_are_looked_at(void **state)
{
    const struct sample sample = begin(*state);
    struct tn_heap_counters *counters = &sample.control->counters;
    assert_int_equal(counters->spans_used, 3);
    expect_fault_with_32(&sample, &counters->spans_used, 2, "spans 3: this many are used");
    expect_fault_with_32(&sample, &counters->spans_used_max, 2,
                         "spans 3: their high-water mark is lower");
    expect_fault_with_32(&sample, &counters->spans_used_max, UINT32_MAX,
                         "there are no more, but their high-water mark is higher");
    expect_fault_with(&sample, &counters->moves, 7 * ((uint64_t)1 << 32) + 2,
                      "moves 2: this many are counted as under way");
    expect_fault_with_32(&sample, &counters->span_takers, 3,
                         "takers 3: this many are counted as looking for a span");
    counters->moves = 7 * ((uint64_t)1 << 32); /* that there were moves is no fault */
    end(&sample);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_the_host_has_written_is_looked_at),
        TEST(trees_are_looked_at),
        TEST(slots_are_looked_at),
        TEST(slots_that_no_class_uses_are_looked_at),
        TEST(headers_are_looked_at),
        TEST(labels_are_looked_at),
        TEST(slabs_are_looked_at),
        TEST(a_slab_that_is_wholly_free_is_none),
        TEST(bitmaps_are_looked_at),
        TEST(bits_beside_headers_are_looked_at),
        TEST(runs_are_looked_at),
        TEST(spans_are_looked_at),
        TEST(counters_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
