/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * touch: writes into memory that an allocator handed out. contents.h checks later whether the bytes are still
 * there.
 *
 * All bytes of a block get one value, which differs from those of its neighbours in time. Of a block larger
 * than bytes_max only that many bytes are written, half at either end. On the host the processor writes; on a
 * device, work is submitted to a stream (device_work.h), in the order that a program's kernels would have.
 *
 * Threads: any, on blocks of their own.
 */
#ifndef TN_TOUCH_H
#define TN_TOUCH_H

#include <stdbool.h>
#include <stddef.h>

#include "../common/reason.h"
#include "device_work.h"

struct tn_touch {
    struct tn_device_work *work; /* NULL: the processor */
    size_t bytes_max;            /* of a block; not 0 */
};

/* The written parts of a block: [0, head_bytes) and [tail_offset, its size), which may be empty. */
struct tn_touch_ends {
    size_t head_bytes;
    size_t tail_offset;
};

struct tn_touch_ends tn_touch_ends_of(const struct tn_touch *touch, size_t size_bytes);

/* The byte for the allocation at this place of the workload. */
unsigned char tn_touch_pattern_of(size_t place);

/* Does not wait for the stream. False: the vendor refused. */
bool tn_touch_write(const struct tn_touch *touch, void *address, size_t size_bytes, size_t place,
                    tarn_stream stream, struct tn_reason *reason_out);

/* Waits until all work on the stream is done. */
bool tn_touch_wait(const struct tn_touch *touch, tarn_stream stream, struct tn_reason *reason_out);

#endif
