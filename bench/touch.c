/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* touch: writes into memory that an allocator handed out, and looks later whether that is still there. */
#include "touch.h"

#include <string.h>

enum {
    READ_BYTES = 1 << 16 /* copied back and compared at a time */
};

/* Neighbours differ, no value is 0, and 251 is prime, so that what repeats in a program does not here. */
static unsigned char pattern_of(size_t place)
{
    return (unsigned char)(1 + place % 251);
}

size_t tn_touch_count_bytes(const struct tn_touch *touch, size_t size_bytes)
{
    return size_bytes < touch->bytes_max ? size_bytes : touch->bytes_max;
}

/* The two ends of a block: [0, head_bytes) and [tail_offset, size_bytes). */
struct ends {
    size_t head_bytes;
    size_t tail_offset;
};

static struct ends ends_of(const struct tn_touch *touch, size_t size_bytes)
{
    if (size_bytes <= touch->bytes_max) return (struct ends){ size_bytes, size_bytes };
    size_t head_bytes = touch->bytes_max - touch->bytes_max / 2;
    return (struct ends){ head_bytes, size_bytes - touch->bytes_max / 2 };
}

static bool take_result(tarn_backend_result result, const char *what, struct tn_reason *reason_out)
{
    if (result.status == TARN_STATUS_OK) return true;
    struct tn_reason why;
    tn_device_work_explain(result, &why);
    tn_reason_set(reason_out, "%s: %.400s", what, why.text);
    return false;
}

static bool write_range(const struct tn_touch *touch, void *address, size_t size_bytes,
                        unsigned char pattern, tarn_stream stream, struct tn_reason *reason_out)
{
    if (size_bytes == 0) return true;
    if (!touch->work) {
        memset(address, pattern, size_bytes);
        return true;
    }
    return take_result(tn_device_work_fill(touch->work, stream, address, size_bytes, pattern),
                       "the memory cannot be written", reason_out);
}

bool tn_touch_write(const struct tn_touch *touch, void *address, size_t size_bytes, size_t place,
                    tarn_stream stream, struct tn_reason *reason_out)
{
    struct ends ends = ends_of(touch, size_bytes);
    unsigned char pattern = pattern_of(place);
    return write_range(touch, address, ends.head_bytes, pattern, stream, reason_out) &&
           write_range(touch, (char *)address + ends.tail_offset, size_bytes - ends.tail_offset,
                       pattern, stream, reason_out);
}

bool tn_touch_wait(const struct tn_touch *touch, tarn_stream stream, struct tn_reason *reason_out)
{
    return !touch->work || take_result(tn_device_work_wait(touch->work, stream),
                                       "the stream cannot be waited for", reason_out);
}

/* The index of the first byte that is another, or `count`. All are equal where each is like the one before it. */
static size_t find_other(const unsigned char *bytes, size_t count, unsigned char pattern)
{
    if (bytes[0] == pattern && memcmp(bytes, bytes + 1, count - 1) == 0) return count;
    size_t i = 0;
    while (i < count && bytes[i] == pattern)
        i++;
    return i;
}

/* `offset` bytes into the block, of at most READ_BYTES. */
static bool verify_part(const struct tn_touch *touch, const unsigned char *block, size_t offset,
                        size_t count, unsigned char pattern, tarn_stream stream,
                        struct tn_reason *reason_out)
{
    unsigned char copied[READ_BYTES];
    const unsigned char *bytes = block + offset;
    if (touch->work) {
        if (!take_result(tn_device_work_read(touch->work, stream, bytes, count, copied),
                         "the memory cannot be read", reason_out))
            return false;
        bytes = copied;
    }
    size_t other = find_other(bytes, count, pattern);
    if (other == count) return true;
    tn_reason_set(reason_out, "byte %zu is 0x%02x, and 0x%02x was written", offset + other,
                  bytes[other], pattern);
    return false;
}

static bool verify_range(const struct tn_touch *touch, const void *block, size_t first, size_t end,
                         unsigned char pattern, tarn_stream stream, struct tn_reason *reason_out)
{
    for (size_t offset = first; offset < end; offset += READ_BYTES) {
        size_t count = end - offset < READ_BYTES ? end - offset : READ_BYTES;
        if (!verify_part(touch, block, offset, count, pattern, stream, reason_out)) return false;
    }
    return true;
}

bool tn_touch_verify(const struct tn_touch *touch, const void *address, size_t size_bytes,
                     size_t place, tarn_stream stream, struct tn_reason *reason_out)
{
    struct ends ends = ends_of(touch, size_bytes);
    unsigned char pattern = pattern_of(place);
    struct tn_reason why;
    if (verify_range(touch, address, 0, ends.head_bytes, pattern, stream, &why) &&
        verify_range(touch, address, ends.tail_offset, size_bytes, pattern, stream, &why))
        return true;
    tn_reason_set(reason_out,
                  "the contents of the block of %zu bytes at 0x%zx did not survive: %.300s",
                  size_bytes, (size_t)address, why.text);
    return false;
}
