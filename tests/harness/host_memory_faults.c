/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* host_memory_faults: two hooks around malloc and free. */
#include "harness/host_memory_faults.h"

#include <stdlib.h>

#include "base/host_memory.h"

static unsigned countdown;
static bool has_failed;
static long outstanding;

static void *counted_alloc(size_t size_bytes)
{
    if (countdown > 0 && --countdown == 0) {
        has_failed = true;
        return NULL;
    }
    outstanding++;
    return malloc(size_bytes);
}

static void counted_free(void *address)
{
    outstanding--;
    free(address);
}

void host_memory_faults_begin(unsigned fail_at)
{
    static const struct tn_host_memory_hooks hooks = { counted_alloc, counted_free };
    countdown = fail_at;
    has_failed = false;
    outstanding = 0;
    tn_host_memory_set_hooks(&hooks);
}

bool host_memory_faults_end(void)
{
    tn_host_memory_set_hooks(NULL);
    return has_failed;
}

bool host_memory_faults_happened(void)
{
    return has_failed;
}

long host_memory_faults_outstanding(void)
{
    return outstanding;
}
