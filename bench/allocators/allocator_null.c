/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_null: does nothing, so that the harness can be timed by itself. */
#include "allocator.h"

static tarn_status open_null(const struct tn_allocator_settings *settings, void **state_out,
                             struct tn_reason *reason_out)
{
    (void)settings;
    (void)reason_out;
    *state_out = NULL;
    return TARN_STATUS_OK;
}

static tarn_status alloc_null(void *state, size_t size_bytes, void **address_out)
{
    static char somewhere;
    (void)state;
    (void)size_bytes;
    *address_out = &somewhere;
    return TARN_STATUS_OK;
}

static tarn_status free_null(void *state, void *address, size_t size_bytes)
{
    (void)state;
    (void)address;
    (void)size_bytes;
    return TARN_STATUS_OK;
}

static void explain_null(void *state, tarn_status status, struct tn_reason *reason_out)
{
    (void)state;
    tn_reason_set(reason_out, "%s", tarn_status_sentence(status));
}

static void get_usage_null(void *state, struct tn_allocator_usage *usage_out)
{
    (void)state;
    *usage_out = (struct tn_allocator_usage){ .footprint_bytes = 0 };
}

static void close_null(void *state)
{
    (void)state;
}

static tarn_status open_null_thread(void *state, struct tn_allocator_thread *thread_inout,
                                    struct tn_reason *reason_out)
{
    (void)reason_out;
    thread_inout->state = state;
    thread_inout->has_stream = false;
    return TARN_STATUS_OK;
}

const struct tn_allocator tn_allocator_null = {
    .name = "null",
    .open = open_null,
    .alloc = alloc_null,
    .free = free_null,
    .explain = explain_null,
    .get_usage = get_usage_null,
    .close = close_null,
    .open_thread = open_null_thread,
    .alloc_in_thread = alloc_null,
    .free_in_thread = free_null,
    .explain_in_thread = explain_null,
    .close_thread = close_null,
};
