/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_none: tarn was built for the host alone, and serves the kinds of a device as host memory. They
 * differ by name alone, so one of them is enough. */
#include "conformance.h"

static tarn_status open_device(tarn_backend *backend_out)
{
    return tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, backend_out);
}

static const struct target targets[] = {
    {
        .name = "host memory as device memory",
        .kind = TARN_MEMORY_KIND_DEVICE,
        .is_host = true,
        .open = open_device,
    },
};

static int no_current_device(void)
{
    return -1;
}

static const char *no_last_error(void)
{
    return NULL;
}

static int no_tests(void)
{
    return 0;
}

const struct vendor vendor = {
    .name = "host",
    .targets = targets,
    .target_count = sizeof targets / sizeof *targets,
    .current_device = no_current_device,
    .take_last_error = no_last_error,
    .run_own_tests = no_tests,
};
