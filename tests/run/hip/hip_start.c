/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_start: a program of HIP begins with nothing: device 0 is current in each thread. */
#include "../preload/program_calls.h"

void program_start(void)
{
}

void program_enter_thread(void)
{
}

int program_reset(void)
{
    return vendor.reset_device();
}

int program_copy(address to, address from, size_t size_bytes, void *stream)
{
    return vendor.copy_of_kind(to, from, size_bytes, 4, stream);
}
