/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* touch: writes into memory that an allocator handed out. */
#include "touch.h"

#include <string.h>

/* Neighbours differ, and no value is 0. 251 is prime, so that values do not repeat with a program's periods.
 * */
unsigned char tn_touch_pattern_of(size_t place)
{
    return (unsigned char)(1 + place % 251);
}

struct tn_touch_ends tn_touch_ends_of(const struct tn_touch *touch, size_t size_bytes)
{
    if (size_bytes <= touch->bytes_max) return (struct tn_touch_ends){ size_bytes, size_bytes };
    size_t tail_bytes = touch->bytes_max / 2;
    return (struct tn_touch_ends){ touch->bytes_max - tail_bytes, size_bytes - tail_bytes };
}

static bool write_range(const struct tn_touch *touch, void *address, size_t size_bytes,
                        unsigned char pattern, tarn_stream stream, struct tn_reason *reason_out)
{
    if (size_bytes == 0) return true;
    if (!touch->work) {
        memset(address, pattern, size_bytes);
        return true;
    }
    return tn_device_work_is_ok(
        tn_device_work_fill(touch->work, stream, address, size_bytes, pattern),
        "the memory cannot be written", reason_out);
}

bool tn_touch_write(const struct tn_touch *touch, void *address, size_t size_bytes, size_t place,
                    tarn_stream stream, struct tn_reason *reason_out)
{
    struct tn_touch_ends ends = tn_touch_ends_of(touch, size_bytes);
    unsigned char pattern = tn_touch_pattern_of(place);
    return write_range(touch, address, ends.head_bytes, pattern, stream, reason_out) &&
           write_range(touch, (char *)address + ends.tail_offset, size_bytes - ends.tail_offset,
                       pattern, stream, reason_out);
}

bool tn_touch_wait(const struct tn_touch *touch, tarn_stream stream, struct tn_reason *reason_out)
{
    return !touch->work || tn_device_work_is_ok(tn_device_work_wait(touch->work, stream),
                                                "the stream cannot be waited for", reason_out);
}
