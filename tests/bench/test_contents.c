/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_contents: what has changed in a block is found, with its byte and its place, by the processor and on streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocators/counted_backend.h"
#include "playing/contents.h"

enum {
    STREAM_COUNT = 3,
    SIZE_BYTES_MAX = 1 << 20
};

static const size_t sizes[] = { 1, 2, 255, 16383, 16384, 16385, (1 << 19) + 1, SIZE_BYTES_MAX };

enum {
    SIZE_COUNT = sizeof sizes / sizeof sizes[0]
};

static struct {
    bool has_device;
    struct tn_device_work work;
    tarn_stream streams[STREAM_COUNT];
    unsigned char *bytes; /* a block's, of the device */
} the;

#define expect_ok(result) assert_int_equal((result).status, TARN_STATUS_OK)

static int open_device(void **state)
{
    (void)state;
    struct tn_reason reason;
    tarn_status status = tn_device_work_init(&the.work, 0, &reason);
    the.has_device = status == TARN_STATUS_OK;
    if (!the.has_device) return status == TARN_STATUS_NO_DEVICE ? 0 : 1;
    void *bytes;
    const tarn_backend *backend = &the.work.backend;
    expect_ok(backend->operations->acquire(backend->state, SIZE_BYTES_MAX, &bytes));
    the.bytes = bytes;
    for (size_t i = 0; i < STREAM_COUNT; i++)
        expect_ok(tn_device_work_stream_create(&the.work, &the.streams[i]));
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    if (!the.has_device) return 0;
    const tarn_backend *backend = &the.work.backend;
    for (size_t i = 0; i < STREAM_COUNT; i++)
        expect_ok(tn_device_work_stream_destroy(&the.work, the.streams[i]));
    expect_ok(backend->operations->release(backend->state, the.bytes, SIZE_BYTES_MAX));
    tn_device_work_fini(&the.work);
    return 0;
}

static void need_device(void)
{
    if (!the.has_device) skip();
}

static struct tn_contents *create(const struct tn_touch *touch)
{
    struct tn_reason reason = { "" };
    struct tn_contents *contents = tn_contents_create(touch, &reason);
    if (!contents) fail_msg("%s", reason.text);
    return contents;
}

static struct tn_contents_block block_of(size_t size_bytes, size_t place, tarn_stream stream)
{
    return (struct tn_contents_block){ .address = the.bytes,
                                       .size_bytes = size_bytes,
                                       .pattern = tn_touch_pattern_of(place),
                                       .stream = stream,
                                       .alloc_place = place,
                                       .free_place = place + 1 };
}

static void write_block(const struct tn_touch *touch, size_t size_bytes, size_t place,
                        tarn_stream stream)
{
    struct tn_reason reason = { "" };
    if (!tn_touch_write(touch, the.bytes, size_bytes, place, stream, &reason))
        fail_msg("%s", reason.text);
}

/* Others' bytes, in the order of the stream. */
static void spoil(tarn_stream stream, size_t offset, size_t size_bytes)
{
    expect_ok(tn_device_work_fill(&the.work, stream, the.bytes + offset, size_bytes, 0));
}

static void expect_good(struct tn_contents *contents)
{
    struct tn_contents_finding finding;
    if (!tn_contents_finish(contents, &finding)) fail_msg("%s", finding.reason.text);
}

/* Writes a block, has some of it changed, and looks at it. Returns whether that was found. */
static bool finds(const struct tn_touch *touch, size_t size_bytes, size_t offset,
                  size_t changed_bytes)
{
    const size_t place = 300;
    struct tn_contents *contents = create(touch);
    const struct tn_contents_block block = block_of(size_bytes, place, the.streams[0]);
    write_block(touch, size_bytes, place, the.streams[0]);
    spoil(the.streams[0], offset, changed_bytes);
    struct tn_contents_finding finding = { .has_changed = false };
    bool is_good =
        tn_contents_look(contents, &block, &finding) && tn_contents_finish(contents, &finding);
    tn_contents_destroy(contents);
    if (is_good) return false;
    assert_true(finding.has_changed);
    assert_int_equal(finding.block.alloc_place, place);
    assert_int_equal(finding.block.free_place, place + 1);
    assert_non_null(strstr(finding.reason.text, "is 0x00, and 0x32 was written"));
    return true;
}

/* More than are aside at a time, on several streams; each is written again when it was looked at. */
static void what_was_written_is_there(void **state)
{
    (void)state;
    need_device();
    static const size_t most[] = { SIZE_MAX, 1, 16384, 16386, 100000 };
    for (size_t k = 0; k < sizeof most / sizeof most[0]; k++) {
        const struct tn_touch touch = { &the.work, most[k] };
        struct tn_contents *contents = create(&touch);
        for (size_t i = 0; i < 2 * TN_CONTENTS_BLOCKS_MAX + 7; i++) {
            tarn_stream stream = the.streams[i / 100 % STREAM_COUNT];
            struct tn_contents_block block = block_of(sizes[i % SIZE_COUNT], i, stream);
            struct tn_contents_finding finding;
            if (i % 100 == 0) expect_good(contents); /* the streams have the same bytes */
            write_block(&touch, block.size_bytes, i, stream);
            if (!tn_contents_look(contents, &block, &finding)) fail_msg("%s", finding.reason.text);
        }
        expect_good(contents);
        tn_contents_destroy(contents);
    }
}

static void the_ends_are_always_looked_at(void **state)
{
    (void)state;
    need_device();
    const struct tn_touch touch = { &the.work, SIZE_MAX };
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        assert_true(finds(&touch, sizes[i], 0, 1));
        assert_true(finds(&touch, sizes[i], sizes[i] - 1, 1));
    }
    /* Whole blocks, as large as they may be. */
    for (size_t offset = 0; offset < TN_CONTENTS_SAMPLE_BYTES; offset += 97)
        assert_true(finds(&touch, TN_CONTENTS_SAMPLE_BYTES, offset, 1));
}

static void what_covers_half_of_a_block_is_found(void **state)
{
    (void)state;
    need_device();
    const struct tn_touch touch = { &the.work, SIZE_MAX };
    const size_t half_bytes = SIZE_BYTES_MAX / 2;
    for (size_t offset = 0; offset <= SIZE_BYTES_MAX - half_bytes; offset += 4099)
        assert_true(finds(&touch, SIZE_BYTES_MAX, offset, half_bytes));
}

/* A 32nd of the block, of which the samples in between hold an 128th: block by block it comes to be found. */
static void what_is_smaller_is_found_in_time(void **state)
{
    (void)state;
    need_device();
    const struct tn_touch touch = { &the.work, SIZE_MAX };
    struct tn_contents *contents = create(&touch);
    const struct tn_contents_block block = block_of(SIZE_BYTES_MAX, 7, the.streams[0]);
    struct tn_contents_finding finding = { .has_changed = false };
    write_block(&touch, SIZE_BYTES_MAX, 7, the.streams[0]);
    spoil(the.streams[0], SIZE_BYTES_MAX / 3, SIZE_BYTES_MAX / 32);
    bool is_good = true;
    for (size_t i = 0; i < 4 * TN_CONTENTS_BLOCKS_MAX && is_good; i++)
        is_good = tn_contents_look(contents, &block, &finding);
    assert_false(is_good);
    assert_true(finding.has_changed);
    tn_contents_destroy(contents);
}

/* Between the two ends that are written there is nothing to look at. */
static void what_was_not_written_is_not_looked_at(void **state)
{
    (void)state;
    need_device();
    const struct tn_touch few = { &the.work, 101 };
    assert_true(finds(&few, 1000, 50, 1));
    assert_false(finds(&few, 1000, 51, 899));
    assert_true(finds(&few, 1000, 950, 1));
    const struct tn_touch many = { &the.work, 100001 };
    assert_true(finds(&many, SIZE_BYTES_MAX, 0, 1));
    assert_false(finds(&many, SIZE_BYTES_MAX, 50001, SIZE_BYTES_MAX - 100001));
    assert_true(finds(&many, SIZE_BYTES_MAX, SIZE_BYTES_MAX - 50000, 50000));
}

/* What the stream does after the look is somebody else's affair. */
static void a_change_after_the_look_is_none(void **state)
{
    (void)state;
    need_device();
    const struct tn_touch touch = { &the.work, SIZE_MAX };
    struct tn_contents *contents = create(&touch);
    const struct tn_contents_block block = block_of(100000, 5, the.streams[1]);
    struct tn_contents_finding finding;
    write_block(&touch, 100000, 5, the.streams[1]);
    assert_true(tn_contents_look(contents, &block, &finding));
    spoil(the.streams[1], 0, 100000);
    expect_good(contents);
    tn_contents_destroy(contents);
}

/* But when so many are aside, and when what is aside is thrown away, at the latest. */
static void nobody_waits(void **state)
{
    (void)state;
    need_device();
    struct tn_device_work counted = { tn_counted_backend_begin(&the.work.backend) };
    const struct tn_touch touch = { &counted, SIZE_MAX };
    struct tn_contents *contents = create(&touch);
    struct tn_contents_finding finding;
    const struct tn_contents_block block = block_of(100, 9, the.streams[2]);
    write_block(&touch, 100, 9, the.streams[2]);
    for (size_t i = 1; i < TN_CONTENTS_BLOCKS_MAX; i++)
        assert_true(tn_contents_look(contents, &block, &finding));
    assert_int_equal(tn_counted_backend_calls().block_count, 0);
    assert_true(tn_contents_look(contents, &block, &finding));
    assert_int_equal(tn_counted_backend_calls().block_count, 2); /* for the stream, and the copy */
    assert_true(tn_contents_look(contents, &block, &finding));
    tn_contents_destroy(contents);
    assert_int_equal(tn_counted_backend_calls().block_count, 3);
}

/* The wrong one of many, whichever look it was that found it. */
static void the_block_that_has_changed_is_named(void **state)
{
    (void)state;
    need_device();
    const struct tn_touch touch = { &the.work, SIZE_MAX };
    struct tn_contents *contents = create(&touch);
    struct tn_contents_finding finding = { .has_changed = false };
    bool is_good = true;
    size_t look_count = 0;
    for (; look_count < TN_CONTENTS_BLOCKS_MAX && is_good; look_count++) {
        const struct tn_contents_block block = block_of(5000, look_count, the.streams[0]);
        write_block(&touch, 5000, look_count, the.streams[0]);
        if (look_count == 77) spoil(the.streams[0], 4321, 1);
        is_good = tn_contents_look(contents, &block, &finding);
    }
    assert_false(is_good);
    assert_int_equal(look_count, TN_CONTENTS_BLOCKS_MAX);
    assert_int_equal(finding.block.alloc_place, 77);
    assert_non_null(strstr(finding.reason.text, "byte 4321 is 0x00, and 0x4e was written"));
    expect_good(contents); /* nothing is left of it */
    tn_contents_destroy(contents);
}

static void the_processor_looks_at_every_byte(void **state)
{
    (void)state;
    const struct tn_touch touch = { NULL, 2000 };
    struct tn_contents *contents = create(&touch);
    unsigned char bytes[3000];
    struct tn_reason reason;
    struct tn_contents_finding finding;
    struct tn_contents_block block = block_of(sizeof bytes, 4, NULL);
    block.address = bytes;
    memset(bytes, 0, sizeof bytes);
    assert_true(tn_touch_write(&touch, bytes, sizeof bytes, 4, NULL, &reason));
    assert_true(tn_contents_look(contents, &block, &finding));
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 1;
        bool is_touched = i < 1000 || i >= 2000;
        assert_int_equal(tn_contents_look(contents, &block, &finding), !is_touched);
        bytes[i] ^= 1;
    }
    expect_good(contents);
    tn_contents_destroy(contents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_there),
        cmocka_unit_test(the_ends_are_always_looked_at),
        cmocka_unit_test(what_covers_half_of_a_block_is_found),
        cmocka_unit_test(what_is_smaller_is_found_in_time),
        cmocka_unit_test(what_was_not_written_is_not_looked_at),
        cmocka_unit_test(a_change_after_the_look_is_none),
        cmocka_unit_test(nobody_waits),
        cmocka_unit_test(the_block_that_has_changed_is_named),
        cmocka_unit_test(the_processor_looks_at_every_byte),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
