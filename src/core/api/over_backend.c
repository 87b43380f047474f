/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* over_backend: operations that do nothing. The backend has no streams or events, because the memory may be of
 * any kind. */
#include "over_backend.h"

#include <stdint.h>

#include "tarn/tarn.h"

/* The vendor of the memory is unknown. All vendors that have such special handles use these values, and no
 * stream of another vendor has one of them. */
#define ANY_DEFAULT_STREAM ((tarn_stream)1)
#define ANY_THREAD_STREAM  ((tarn_stream)2)

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    (void)size_bytes;
    (void)address_out;
    return (tarn_backend_result){ TARN_STATUS_OUT_OF_MEMORY, 0, NULL };
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    (void)state;
    (void)address;
    (void)size_bytes;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    (void)state;
    *properties_out = (tarn_device_properties){
        .device_name = "the caller's memory",
        .kind = TARN_MEMORY_KIND_DEVICE,
        .alignment_bytes = TARN_CHUNK_BYTES_MAX, /* of acquired memory, which there is none */
        .granularity_bytes = 1,
        .allocation_bytes_max = SIZE_MAX,
        .thread_stream = ANY_THREAD_STREAM,
        .default_stream_alias = ANY_DEFAULT_STREAM,
    };
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend tn_over_backend(void)
{
    static const tarn_backend_operations operations = {
        .struct_bytes = sizeof operations,
        .name = "over",
        .acquire = acquire,
        .release = release,
        .get_properties = get_properties,
    };
    return (tarn_backend){ &operations, NULL };
}
