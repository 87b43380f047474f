/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* also: a second file in C++ with the same headers and initial values. */
#include <tarn/device_heap.h>
#include <tarn/host.h>
#include <tarn/tarn.h>

tarn_pool_options options_of_also()
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.name = "also";
    return options;
}
