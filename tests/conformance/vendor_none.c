/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_none: tarn was built for the host alone, and there is nothing to add. */
#include "conformance.h"

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
    .current_device = no_current_device,
    .take_last_error = no_last_error,
    .run_own_tests = no_tests,
};
