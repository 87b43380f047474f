/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * program: what somebody else would write against an installed tarn. Uses a pool of its own, a device heap in it, and
 * the process-wide pool, and exits 0 when all worked.
 *
 * Where tarn was built for a device and this machine has none, the answer NO_DEVICE is the right
 * one; then the pool runs on the host backend, which every tarn has.
 */
#include <stdio.h>
#include <string.h>
#include <tarn/device_heap.h>
#include <tarn/host.h>
#include <tarn/tarn.h>

#define FIELD_BYTES 100000
#define HEAP_BYTES  ((size_t)1 << 20)

/* Says which call went wrong and why, and gives the program's exit status. */
static int fail(const char *call)
{
    fprintf(stderr, "%s: %s\n", call, tarn_last_error().message);
    return 1;
}

static int use_device_heap(tarn_pool *pool)
{
    tarn_device_heap *heap;
    if (tarn_device_heap_create(pool, HEAP_BYTES, NULL, NULL, &heap) != TARN_STATUS_OK) {
        return fail("tarn_device_heap_create");
    }
    if (tarn_device_heap_check(heap, NULL) != TARN_STATUS_OK) {
        return fail("tarn_device_heap_check");
    }
    if (tarn_device_heap_destroy(heap, NULL) != TARN_STATUS_OK) {
        return fail("tarn_device_heap_destroy");
    }
    return 0;
}

static int use_pool(const tarn_backend *backend)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = backend;

    tarn_pool *pool;
    if (tarn_pool_create(&options, &pool) != TARN_STATUS_OK) {
        return fail("tarn_pool_create");
    }
    void *field;
    if (tarn_pool_alloc(pool, FIELD_BYTES, &field) != TARN_STATUS_OK) {
        return fail("tarn_pool_alloc");
    }
    if (tarn_pool_free(pool, field) != TARN_STATUS_OK) {
        return fail("tarn_pool_free");
    }
    if (use_device_heap(pool)) {
        return 1;
    }
    if (tarn_pool_destroy(pool) != TARN_STATUS_OK) {
        return fail("tarn_pool_destroy");
    }
    return 0;
}

static int use_process_wide_pool(void)
{
    void *field;
    if (tarn_malloc(FIELD_BYTES, &field) != TARN_STATUS_OK) {
        return fail("tarn_malloc");
    }
    if (tarn_free(field) != TARN_STATUS_OK) {
        return fail("tarn_free");
    }
    return 0;
}

static int use_host_backend(void)
{
    tarn_backend host;
    if (tarn_host_backend_open(NULL, &host) != TARN_STATUS_OK) {
        return fail("tarn_host_backend_open");
    }
    int exit_status = use_pool(&host);
    tarn_backend_close(&host);
    return exit_status;
}

int main(void)
{
    tarn_backend backend;
    tarn_status status = tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend);
    if (status == TARN_STATUS_NO_DEVICE && strcmp(tarn_backend_name(), "host") != 0) {
        printf("backend %s, and no device for it\n", tarn_backend_name());
        return use_host_backend();
    }
    if (status != TARN_STATUS_OK) {
        return fail("tarn_backend_open");
    }
    printf("backend %s\n", tarn_backend_name());
    int exit_status = use_pool(&backend) || use_process_wide_pool() || use_host_backend();
    tarn_backend_close(&backend);
    return exit_status;
}
