/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* system_barrier: the system call, for which the C library has no function. */
#include "system_barrier.h"

#include "assert.h"
#include "compiler.h"
#include "sync.h"

#if TN_HAS_MEMBARRIER
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

/* errno is unchanged. */
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

/* The call can fail for lack of memory, or because it has been forbidden meanwhile. A processor's stores
 * become visible to the others in far less than a millisecond, though no manual says so. */
void tn_system_barrier(void)
{
    if (!call(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) tn_thread_sleep_shortly();
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
