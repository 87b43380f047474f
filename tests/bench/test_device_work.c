/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_device_work: fills and reads keep the order of their stream, on memory of allocators that share the backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "allocators/allocator.h"
#include "playing/device_work.h"

enum {
    SIZE_BYTES = 70000
};

static struct tn_device_work work;
static bool has_device;

static int open_work(void **state)
{
    (void)state;
    struct tn_reason reason;
    tarn_status status = tn_device_work_init(&work, 0, &reason);
    has_device = status == TARN_STATUS_OK;
    return has_device || status == TARN_STATUS_NO_DEVICE ? 0 : 1;
}

static int close_work(void **state)
{
    (void)state;
    if (has_device) tn_device_work_fini(&work);
    return 0;
}

static void need_device(void)
{
    if (!has_device) skip();
}

#define expect_ok(result) assert_int_equal((result).status, TARN_STATUS_OK)

static void expect_all_bytes(tarn_stream stream, const unsigned char *address, size_t size_bytes,
                             unsigned char pattern)
{
    static unsigned char bytes[SIZE_BYTES];
    memset(bytes, pattern + 1, sizeof bytes);
    expect_ok(tn_device_work_read(&work, stream, address, size_bytes, bytes));
    for (size_t i = 0; i < size_bytes; i++)
        assert_int_equal(bytes[i], pattern);
}

/* One block of an allocator that takes its memory from the work's backend. */
struct block {
    const struct tn_allocator *allocator;
    void *state;
    unsigned char *address;
};

static struct block take_block(const struct tn_allocator *allocator)
{
    const struct tn_allocator_settings settings = { .initial_bytes = (size_t)1 << 20,
                                                    .backend = &work.backend };
    struct block block = { allocator, NULL, NULL };
    struct tn_reason reason;
    void *address;
    assert_int_equal(allocator->open(&settings, &block.state, &reason), TARN_STATUS_OK);
    assert_int_equal(allocator->alloc(block.state, SIZE_BYTES, &address), TARN_STATUS_OK);
    block.address = address;
    return block;
}

static void give_block(const struct block *block)
{
    assert_int_equal(block->allocator->free(block->state, block->address, SIZE_BYTES),
                     TARN_STATUS_OK);
    block->allocator->close(block->state);
}

/* The backend is still good after an allocator on it was closed. */
static void fills_are_read_in_stream_order(void **state)
{
    (void)state;
    need_device();
    const struct tn_allocator *const allocators[] = { &tn_allocator_raw, &tn_allocator_tarn,
                                                      &tn_allocator_ordered_sets };
    for (size_t i = 0; i < sizeof allocators / sizeof allocators[0]; i++) {
        if (allocators[i]->missing_because) continue;
        struct block block = take_block(allocators[i]);
        tarn_stream stream;
        expect_ok(tn_device_work_stream_create(&work, &stream));
        expect_ok(tn_device_work_fill(&work, stream, block.address, SIZE_BYTES, 0x5a));
        expect_ok(tn_device_work_fill(&work, stream, block.address + 100, 1000, 0xff));
        expect_all_bytes(stream, block.address, 100, 0x5a);
        expect_all_bytes(stream, block.address + 100, 1000, 0xff);
        expect_all_bytes(stream, block.address + 1100, SIZE_BYTES - 1100, 0x5a);
        expect_ok(tn_device_work_stream_destroy(&work, stream));
        give_block(&block);
    }
}

/* What was waited for on one stream is there for another. */
static void a_wait_ends_when_the_work_has(void **state)
{
    (void)state;
    need_device();
    struct block block = take_block(&tn_allocator_raw);
    tarn_stream streams[2];
    for (size_t i = 0; i < 2; i++)
        expect_ok(tn_device_work_stream_create(&work, &streams[i]));
    for (unsigned round = 0; round < 20; round++) {
        unsigned char pattern = (unsigned char)(round + 1);
        expect_ok(
            tn_device_work_fill(&work, streams[round % 2], block.address, SIZE_BYTES, pattern));
        expect_ok(tn_device_work_wait(&work, streams[round % 2]));
        expect_all_bytes(streams[(round + 1) % 2], block.address, SIZE_BYTES, pattern);
    }
    for (size_t i = 0; i < 2; i++)
        expect_ok(tn_device_work_stream_destroy(&work, streams[i]));
    give_block(&block);
}

static void what_failed_is_told_in_the_vendors_words(void **state)
{
    (void)state;
    struct tn_reason reason;
    tn_device_work_explain((tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, 700, "vendorError" },
                           &reason);
    assert_non_null(strstr(reason.text, "vendorError, 700"));
    tn_device_work_explain((tarn_backend_result){ TARN_STATUS_OUT_OF_HOST_MEMORY, 0, NULL },
                           &reason);
    assert_string_equal(reason.text, tarn_status_sentence(TARN_STATUS_OUT_OF_HOST_MEMORY));
}

static void a_device_that_is_not_there_is_a_reason(void **state)
{
    (void)state;
    struct tn_device_work other;
    struct tn_reason reason = { "" };
    assert_int_not_equal(tn_device_work_init(&other, 99, &reason), TARN_STATUS_OK);
    assert_string_not_equal(reason.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_are_read_in_stream_order),
        cmocka_unit_test(a_wait_ends_when_the_work_has),
        cmocka_unit_test(what_failed_is_told_in_the_vendors_words),
        cmocka_unit_test(a_device_that_is_not_there_is_a_reason),
    };
    return cmocka_run_group_tests(tests, open_work, close_work);
}
