/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_start: what the runtime does at its start, with the primary context. */
#include <stdio.h>
#include <unistd.h>

#include "../preload/program_calls.h"

static void require(int error)
{
    if (error == 0) return;
    fprintf(stderr, "the start fails with %d\n", error);
    _exit(1);
}

void *program_primary;

void program_start(void)
{
    require(vendor.init(0));
    require(vendor.primary_retain(&program_primary, 0));
    require(vendor.context_set(program_primary));
}

void program_enter_thread(void)
{
    require(vendor.context_set(program_primary));
}

int program_copy(address to, address from, size_t size_bytes, void *stream)
{
    return vendor.copy(to, from, size_bytes, stream);
}

int program_reset(void)
{
    return vendor.primary_reset(0);
}
