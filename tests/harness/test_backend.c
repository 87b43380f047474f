/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_backend: made-up addresses, each piece in a place of its own, lowest free place first. */
#include "harness/test_backend.h"

#include <string.h>

/* No system maps user memory here: x86-64 and arm64 addresses of this form are not canonical. */
#define FIRST_ADDRESS ((uintptr_t)1 << 56)
#define PLACE_BYTES   ((uintptr_t)1 << 22)

static tarn_backend_result answer(tarn_status status)
{
    return (tarn_backend_result){ status, status == TARN_STATUS_OK ? 0 : -7,
                                  status == TARN_STATUS_OK ? NULL : "testError" };
}

void test_backend_init(struct test_backend *state)
{
    memset(state, 0, sizeof *state);
    state->alignment_bytes = 256;
    state->granularity_bytes = 4096;
    state->allocation_bytes_max = SIZE_MAX / 4;
    state->failure = TARN_STATUS_OUT_OF_MEMORY;
    state->next_address = FIRST_ADDRESS;
    pthread_mutex_init(&state->lock, NULL);
}

/* Under the lock. */
static tarn_status acquire_locked(struct test_backend *state, size_t size_bytes, void **address_out)
{
    if (state->acquire_count < sizeof state->asked_bytes / sizeof state->asked_bytes[0]) {
        state->asked_bytes[state->acquire_count] = size_bytes;
    }
    state->acquire_count++;
    if (state->fail_acquire_at > 0 && --state->fail_acquire_at == 0) return state->failure;
    if (state->capacity_bytes > 0 && size_bytes > state->capacity_bytes - state->held_bytes) {
        return TARN_STATUS_OUT_OF_MEMORY;
    }
    if (state->piece_count == TEST_BACKEND_PIECES_MAX) return TARN_STATUS_OUT_OF_MEMORY;

    if (state->give_null || state->give_address) {
        *address_out = (void *)state->give_address;
        return TARN_STATUS_OK;
    }
    uintptr_t address = state->next_address + state->misalignment_bytes;
    state->next_address += (size_bytes / PLACE_BYTES + 2) * PLACE_BYTES;
    state->pieces[state->piece_count++] = (struct test_piece){ address, size_bytes };
    state->held_bytes += size_bytes;
    *address_out = (void *)address;
    return TARN_STATUS_OK;
}

static tarn_backend_result acquire(void *opaque, size_t size_bytes, void **address_out)
{
    struct test_backend *state = opaque;
    if (state->while_acquiring) state->while_acquiring(state->context);
    pthread_mutex_lock(&state->lock);
    tarn_status status = acquire_locked(state, size_bytes, address_out);
    pthread_mutex_unlock(&state->lock);
    return answer(status);
}

/* Under the lock. Takes back only what is out, whole. */
static tarn_status release_locked(struct test_backend *state, uintptr_t address, size_t size_bytes)
{
    state->release_count++;
    for (size_t i = 0; i < state->piece_count; i++) {
        if (state->pieces[i].address != address) continue;
        if (state->pieces[i].size_bytes != size_bytes) return TARN_STATUS_INVALID_ARGUMENT;
        state->held_bytes -= size_bytes;
        state->pieces[i] = state->pieces[--state->piece_count];
        return state->fail_release ? TARN_STATUS_VENDOR_ERROR : TARN_STATUS_OK;
    }
    return TARN_STATUS_INVALID_ARGUMENT;
}

static tarn_backend_result release(void *opaque, void *address, size_t size_bytes)
{
    struct test_backend *state = opaque;
    if (state->while_releasing) state->while_releasing(state->context);
    pthread_mutex_lock(&state->lock);
    tarn_status status = release_locked(state, (uintptr_t)address, size_bytes);
    pthread_mutex_unlock(&state->lock);
    return answer(status);
}

static tarn_backend_result get_properties(void *opaque, tarn_device_properties *properties_out)
{
    const struct test_backend *state = opaque;
    if (state->fail_properties) return answer(TARN_STATUS_VENDOR_ERROR);
    *properties_out = (tarn_device_properties){
        .device_name = "made-up addresses",
        .kind = TARN_MEMORY_KIND_DEVICE,
        .alignment_bytes = state->alignment_bytes,
        .granularity_bytes = state->granularity_bytes,
        .allocation_bytes_max = state->allocation_bytes_max,
    };
    return answer(TARN_STATUS_OK);
}

tarn_backend test_backend_open(struct test_backend *state)
{
    static const tarn_backend_operations operations = {
        .struct_bytes = sizeof operations,
        .name = "test",
        .acquire = acquire,
        .release = release,
        .get_properties = get_properties,
    };
    return (tarn_backend){ &operations, state };
}
