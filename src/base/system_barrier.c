/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* system_barrier: the system call, which the C library has no function for. */
#include "system_barrier.h"

#include "assert.h"
#include "compiler.h"

#if TN_HAS_MEMBARRIER
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The caller's errno stays its own. */
static bool call(int command)
{
    int caller_errno = errno;
    bool is_done = syscall(SYS_membarrier, command, 0, 0) == 0;
    errno = caller_errno;
    return is_done;
}

bool tn_system_barrier_prepare(void)
{
    return call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

void tn_system_barrier(void)
{
    bool is_done = call(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    TN_ASSERT(is_done);
    (void)is_done;
}
#else
bool tn_system_barrier_prepare(void)
{
    return false;
}

void tn_system_barrier(void)
{
    TN_ASSERT(false);
}
#endif
