/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_hip: HIP's kinds of memory, and what only its runtime can tell. */
#include "vendor_runtime.h"

static const char *take_last_error(void)
{
    hipError_t error = hipGetLastError();
    /* Without a device some error is the answer to every question, the one just asked included. */
    return error == hipSuccess || device_count() == 0 ? NULL : hipGetErrorName(error);
}

static int run_vendor_tests(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_current_device_stays_current),
        cmocka_unit_test(a_stream_of_another_device_is_told),
    };
    return cmocka_run_group_tests_name("hip, two devices", tests, NULL, NULL);
}

const struct vendor vendor = {
    .name = "hip",
    .targets = runtime_targets,
    .target_count = sizeof runtime_targets / sizeof *runtime_targets,
    .current_device = current_device,
    .take_last_error = take_last_error,
    .run_own_tests = run_vendor_tests,
};
