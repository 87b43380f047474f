/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plain_host_backend: the system's mmap and munmap as a backend, and nothing around them. */
#include "plain_host_backend.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static tarn_backend_result failure(int error)
{
    bool is_full = error == ENOMEM;
    return (tarn_backend_result){ is_full ? TARN_STATUS_OUT_OF_MEMORY : TARN_STATUS_VENDOR_ERROR,
                                  error, is_full ? "ENOMEM" : "errno" };
}

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    void *address = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return failure(errno);
    *address_out = address;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    (void)state;
    return munmap(address, size_bytes) == 0 ? TARN_BACKEND_RESULT_OK : failure(errno);
}

/* Addresses that nobody may touch. */
static tarn_backend_result reserve_at(void *place, int flags, size_t size_bytes, void **address_out)
{
    void *address = mmap(place, size_bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (address == MAP_FAILED) return failure(errno);
    *address_out = address;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result range_reserve(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    return reserve_at(NULL, 0, size_bytes, address_out);
}

static tarn_backend_result range_map(void *state, void *address, size_t size_bytes,
                                     tarn_mapping *mapping_out)
{
    (void)state;
    if (mprotect(address, size_bytes, PROT_READ | PROT_WRITE) != 0) return failure(errno);
    *mapping_out = NULL;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result range_unmap(void *state, void *address, size_t size_bytes,
                                       tarn_mapping mapping)
{
    (void)state;
    (void)mapping;
    void *same;
    return reserve_at(address, MAP_FIXED, size_bytes, &same);
}

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    (void)state;
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    *properties_out = (tarn_device_properties){
        .device_name = "host memory",
        .kind = TARN_MEMORY_KIND_HOST,
        .is_host_accessible = true,
        .alignment_bytes = page_bytes,
        .granularity_bytes = page_bytes,
        .allocation_bytes_max = SIZE_MAX / 2,
        .range_granularity_bytes = page_bytes,
    };
    return TARN_BACKEND_RESULT_OK;
}

static const tarn_backend_operations operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = "host",
    .acquire = acquire,
    .release = release,
    .range_reserve = range_reserve,
    .range_release = release,
    .range_map = range_map,
    .range_unmap = range_unmap,
    .get_properties = get_properties,
};

tarn_backend tn_plain_host_backend(void)
{
    return (tarn_backend){ &operations, NULL };
}
