/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_fixture: a pool over host memory, and device heaps in it, whose memory a test may read, and write as kernels
 * would: slabs and large objects made by hand.
 *
 * Host memory does late what it is asked to do on a stream; a test that looks at it waits for the stream before.
 */
#ifndef HEAP_FIXTURE_H
#define HEAP_FIXTURE_H

#include <stdlib.h>

#include "device_heap/heap_view.h"
#include "harness/claims.h"
#include "harness/faulty_backend.h"
#include "tarn/device_heap.h"
#include "tarn/host.h"

#define KIB  ((size_t)1 << 10)
#define MIB  ((size_t)1 << 20)
#define PAGE TARN_DEVICE_HEAP_PAGE_BYTES

struct fixture {
    tarn_backend host;
    tarn_backend backend; /* the same, of which calls can fail */
    tarn_pool_options options;
    tarn_pool *pool;
    tarn_stream stream;
};

static inline void fixture_create_pool(struct fixture *fixture)
{
    fixture->options.backend = &fixture->backend;
    expect_ok(tarn_pool_create(&fixture->options, &fixture->pool));
}

/* All but the pool. */
static inline void fixture_init(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    expect_ok(tarn_host_backend_open(NULL, &fixture->host));
    fixture->backend = faulty_backend_open(&fixture->host);
    fixture->options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture->options.initial_bytes = MIB;
    assert_int_equal(
        fixture->host.operations->stream_create(fixture->host.state, &fixture->stream).status,
        TARN_STATUS_OK);
}

/* Fails when the pool has live allocations, or an event is left. */
static inline void fixture_fini(struct fixture *fixture)
{
    if (fixture->pool) {
        expect_ok(tarn_pool_check(fixture->pool));
        expect_ok(tarn_pool_destroy(fixture->pool));
    }
    fixture->host.operations->stream_destroy(fixture->host.state, fixture->stream);
    assert_int_equal(faulty_backend_event_count(), 0);
    tarn_backend_close(&fixture->host);
}

static inline int fixture_setup(void **state)
{
    static struct fixture fixture;
    fixture_init(&fixture);
    fixture_create_pool(&fixture);
    *state = &fixture;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    fixture_fini(*state);
    return 0;
}

static inline void wait_for_stream(const struct fixture *fixture)
{
    tarn_backend_result result =
        fixture->host.operations->stream_synchronize(fixture->host.state, fixture->stream);
    assert_int_equal(result.status, TARN_STATUS_OK);
}

/* Waits of the heap's, or its pool's, since the last time that this was asked. */
static inline unsigned take_waits(void)
{
    return faulty_backend_take_calls(FAULTY_CALL_STREAM_SYNCHRONIZE) +
           faulty_backend_take_calls(FAULTY_CALL_EVENT_SYNCHRONIZE);
}

static inline tarn_device_heap *create_heap(const struct fixture *fixture, size_t size_bytes,
                                            size_t size_bytes_max)
{
    tarn_device_heap_options options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    options.size_bytes_max = size_bytes_max;
    tarn_device_heap *heap;
    expect_ok(tarn_device_heap_create(fixture->pool, size_bytes, &options, fixture->stream, &heap));
    return heap;
}

static inline void destroy_heap(const struct fixture *fixture, tarn_device_heap *heap)
{
    expect_ok(tarn_device_heap_destroy(heap, fixture->stream));
}

/* A dirty piece of memory, as a pool's is. */
static inline void *dirty_memory(size_t size_bytes)
{
    void *memory = aligned_alloc(256, (size_bytes + 255) / 256 * 256);
    assert_non_null(memory);
    memset(memory, 0xa5, size_bytes);
    return memory;
}

static inline tarn_device_heap *create_over(const struct fixture *fixture, void *memory,
                                            size_t size_bytes, size_t size_bytes_max)
{
    tarn_device_heap_options options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    options.size_bytes_max = size_bytes_max;
    tarn_device_heap *heap;
    expect_ok(tarn_device_heap_create_over(&fixture->backend, memory, size_bytes, &options,
                                           fixture->stream, &heap));
    return heap;
}

static inline tarn_device_heap_stats heap_stats_of(const struct fixture *fixture,
                                                   tarn_device_heap *heap)
{
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    expect_ok(tarn_device_heap_get_stats(heap, fixture->stream, &stats));
    return stats;
}

/* That it is sound, and nothing in it is live. */
static inline void expect_empty(const struct fixture *fixture, tarn_device_heap *heap)
{
    expect_ok(tarn_device_heap_check(heap, fixture->stream));
    const tarn_device_heap_stats stats = heap_stats_of(fixture, heap);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(stats.live_bytes, 0);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.span_bytes, 0);
    assert_int_equal(stats.free_page_count * PAGE, stats.capacity_bytes);
}

/* --- what the device sees -------------------------------------------------------------------------- */

/* After a wait for the stream, as all below. */
static inline struct tn_heap_control *control_of(const tarn_device_heap *heap)
{
    return (struct tn_heap_control *)(uintptr_t)tarn_device_heap_get_handle(heap).layout.control;
}

static inline uint64_t *words_at(uint64_t address)
{
    return (uint64_t *)(uintptr_t)address;
}

static inline uint64_t *header_at(struct tn_heap_control *control, uint64_t page)
{
    return words_at(control->layout.headers) + page * TN_HEAP_HEADER_WORDS;
}

static inline uint64_t *label_at(struct tn_heap_control *control, uint64_t page)
{
    return header_at(control, page) + TN_HEAP_LABEL_WORD;
}

/* The bitmap of a slab of few objects. */
static inline uint64_t *bits_word_at(struct tn_heap_control *control, uint64_t page)
{
    return header_at(control, page) + TN_HEAP_BITS_WORD;
}

static inline uint64_t *bitmap_at(struct tn_heap_control *control, uint64_t page)
{
    return words_at(control->layout.bitmaps) + page * TN_HEAP_BITMAP_WORDS;
}

static inline uint32_t *slot_at(struct tn_heap_control *control, uint32_t size_class,
                                uint32_t number)
{
    uint32_t slot = size_class * control->layout.slot_count + number;
    return (uint32_t *)words_at(control->layout.slots) + slot * TN_HEAP_PLACE_WORDS;
}

static inline uint64_t *class_tree_at(struct tn_heap_control *control, uint32_t size_class,
                                      enum tn_heap_state state)
{
    uint64_t tree = 2 * (uint64_t)size_class + (state == TN_HEAP_STATE_GOOD ? 0 : 1);
    return words_at(control->layout.class_trees) +
           tree * tn_heap_tree_words(&control->layout.page_shape);
}

static inline uint64_t bit_of(uint64_t number)
{
    return (uint64_t)1 << number % 64;
}

static inline void tree_insert(uint64_t *tree, const struct tn_heap_tree_shape *shape,
                               uint64_t number)
{
    for (int level = 0; level < TN_HEAP_TREE_LEVELS; level++, number /= 64) {
        tree[number / 64] |= bit_of(number);
        tree += shape->words[level];
    }
}

static inline void tree_remove(uint64_t *tree, const struct tn_heap_tree_shape *shape,
                               uint64_t number)
{
    for (int level = 0; level < TN_HEAP_TREE_LEVELS; level++, number /= 64) {
        tree[number / 64] &= ~bit_of(number);
        if (tree[number / 64] != 0) return;
        tree += shape->words[level];
    }
}

/* --- objects made by hand --------------------------------------------------------------------------- */

/* Says that a span is not free any more. */
static inline void begin_span(struct tn_heap_control *control, uint64_t span)
{
    const struct tn_heap_layout *layout = &control->layout;
    uint64_t *word = words_at(layout->free_spans) + span / 64;
    if ((*word & bit_of(span)) == 0) return;
    tree_remove(words_at(layout->free_spans), &layout->span_shape, span);
    control->counters.spans_used++;
    if (control->counters.spans_used > control->counters.spans_used_max)
        control->counters.spans_used_max = control->counters.spans_used;
}

static inline void take_page(struct tn_heap_control *control, uint64_t page)
{
    const struct tn_heap_layout *layout = &control->layout;
    begin_span(control, page / 64);
    uint64_t *free_pages = words_at(layout->span_pages) + page / 64;
    assert_true((*free_pages & bit_of(page)) != 0);
    *free_pages &= ~bit_of(page);
    if (*free_pages == 0) tree_remove(words_at(layout->open_spans), &layout->span_shape, page / 64);
}

static inline void begin_on(struct tn_heap_control *control, uint64_t page, uint64_t page_count)
{
    for (uint64_t i = 0; i < page_count; i++)
        take_page(control, page + i);
}

static inline uint64_t make_header(uint32_t size_class, enum tn_heap_state state, uint64_t pages,
                                   uint64_t capacity, uint64_t credits)
{
    return (size_class + 1) | (uint64_t)state << TN_HEAP_STATE_SHIFT |
           pages << TN_HEAP_PAGES_SHIFT | capacity << TN_HEAP_CAPACITY_SHIFT |
           credits << TN_HEAP_CREDIT_SHIFT;
}

/* A slab of so many objects that are live, in the structures that its state wants it in; a current one in the slot of
 * that number. */
static inline void make_slab(struct tn_heap_control *control, uint64_t page, uint32_t size_class,
                             uint64_t pages, enum tn_heap_state state, uint32_t live_count,
                             uint32_t slot)
{
    uint64_t capacity = pages * PAGE / tn_heap_class_bytes(size_class);
    begin_on(control, page, pages);
    *header_at(control, page) =
        make_header(size_class, state, pages, capacity, capacity - live_count);
    for (uint64_t i = 0; i < pages; i++)
        *label_at(control, page + i) = (size_class + 1) | capacity << TN_HEAP_LABEL_CAPACITY_SHIFT |
                                       page << TN_HEAP_LABEL_PAGE_SHIFT;
    uint64_t *bits =
        capacity <= TN_HEAP_BITS_OBJECTS ? bits_word_at(control, page) : bitmap_at(control, page);
    for (uint32_t i = 0; i < live_count; i++)
        bits[i / 64] |= bit_of(i);
    if (state == TN_HEAP_STATE_CURRENT) *slot_at(control, size_class, slot) = (uint32_t)page + 1;
    if (state == TN_HEAP_STATE_GOOD || state == TN_HEAP_STATE_SPARSE)
        tree_insert(class_tree_at(control, size_class, state), &control->layout.page_shape, page);
}

/* A large object. */
static inline void make_run(struct tn_heap_control *control, uint64_t page, uint64_t pages)
{
    begin_on(control, page, pages);
    header_at(control, page)[0] = TN_HEAP_CLASS_RUN;
    *label_at(control, page) = TN_HEAP_CLASS_RUN;
    header_at(control, page)[TN_HEAP_RUN_PAGES_WORD] = pages;
}

#endif
