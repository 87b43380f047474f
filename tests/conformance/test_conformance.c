/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_conformance: runs the suite over the host backend and over the vendor's. */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

#include "tarn/host.h"

#define PRETENDED_BYTES ((size_t)256 << 20)

static tarn_status open_host(tarn_backend *backend_out)
{
    return tarn_host_backend_open(NULL, backend_out);
}

static tarn_status open_host_with_pretended_memory(tarn_backend *backend_out)
{
    tarn_host_options options = TARN_HOST_OPTIONS_INIT;
    options.memory_bytes = PRETENDED_BYTES;
    return tarn_host_backend_open(&options, backend_out);
}

static const struct target host_targets[] = {
    {
        .name = "host, the machine's memory",
        .kind = TARN_MEMORY_KIND_HOST,
        .is_host = true,
        .open = open_host,
    },
    {
        .name = "host, pretended memory",
        .kind = TARN_MEMORY_KIND_HOST,
        .is_host = true,
        .memory_bytes = PRETENDED_BYTES,
        .open = open_host_with_pretended_memory,
    },
};

/* Says so when the target's tests will all be skipped, and whether that counts as a failure. */
static int announce(const struct target *target)
{
    tarn_backend backend;
    tarn_status status = target->open(&backend);
    if (status == TARN_STATUS_OK) {
        tarn_backend_close(&backend);
        print_message("\n%s\n", target->name);
        return 0;
    }
    print_message("\n%s: not here, its tests are skipped: %s\n", target->name,
                  tarn_last_error().message);
    return getenv("TARN_EXPECT_DEVICE") ? 1 : 0;
}

static int run_suite(const struct target *targets, size_t target_count)
{
    int failed_count = 0;
    for (size_t i = 0; i < target_count; i++) {
        failed_count += announce(&targets[i]);
        failed_count += run_memory_tests(&targets[i]);
        failed_count += run_range_tests(&targets[i]);
        failed_count += run_stream_tests(&targets[i]);
        failed_count += run_thread_tests(&targets[i]);
        failed_count += run_pool_tests(&targets[i]);
        failed_count += run_pool_stream_tests(&targets[i]);
        failed_count += run_device_heap_tests(&targets[i]);
    }
    return failed_count;
}

int main(void)
{
    int failed_count = vendor.run_own_tests();
    failed_count += run_open_tests();
    failed_count += run_suite(host_targets, sizeof host_targets / sizeof *host_targets);
    failed_count += run_suite(vendor.targets, vendor.target_count);
    return failed_count != 0;
}
